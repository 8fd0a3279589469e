// Code for both cleartext and encrypted keysets: names in JSON, numbers in protobuf, and base64.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_reader.hpp"
#include "format/keyset.hpp"

namespace warpaes::keyset_parts {

inline constexpr std::size_t most_text = 1 << 20;

/// Indexed by the values in protobuf.
inline constexpr std::array<std::string_view, 4> states = {"UNKNOWN_STATUS", "ENABLED", "DISABLED", "DESTROYED"};
inline constexpr std::array<std::string_view, 5> materials = {"UNKNOWN_KEYMATERIAL", "SYMMETRIC", "ASYMMETRIC_PRIVATE",
                                                              "ASYMMETRIC_PUBLIC", "REMOTE"};
inline constexpr std::array<std::string_view, 6> prefixes = {"UNKNOWN_PREFIX",     "TINK", "LEGACY", "RAW", "CRUNCHY",
                                                             "WITH_ID_REQUIREMENT"};

[[noreturn]] void refuse(const std::string& why);
[[noreturn]] void refuse_key(const Keyset::Entry& entry, const std::string& why);

/// Reads a name and returns its index in `choices`. Refuses the first choice, which means "unknown".
template <std::size_t N>
std::size_t read_choice(JsonReader& json, const std::array<std::string_view, N>& choices, const char* what) {
    const SecretVector text = json.string();
    const auto found = std::find(choices.begin() + 1, choices.end(), JsonReader::as_text(text));
    if (found == choices.end()) json.refuse(std::string(what) + " before it");
    return static_cast<std::size_t>(found - choices.begin());
}

template <std::size_t N>
std::uint32_t index_of(const std::array<std::string_view, N>& choices, std::string_view name) {
    return static_cast<std::uint32_t>(std::find(choices.begin(), choices.end(), name) - choices.begin());
}

/// Decodes base64 (RFC 4648, section 4) in canonical form: whole groups, with unused bits zero.
SecretVector decode_base64(std::string_view text, const JsonReader& json);
std::size_t base64_length(const SecretVector& bytes);
void append_base64(SecretVector& text, const SecretVector& bytes);
void append(SecretVector& text, std::string_view part);

/// Checks the members of an entry and fills in its key. Throws Error{KEYSET}.
void interpret(Keyset::Entry& entry);

/// The content of a cleartext keyset with keys of any kind.
struct ClearKeyset {
    std::vector<Keyset::Entry> entries;
    std::optional<std::uint32_t> primary;
};
/// Parses Tink's JSON. Throws Error{KEYSET}.
ClearKeyset read_clear(std::string_view json);
/// Throws Error{KEYSET} unless all IDs differ and the primary key is among the keys and enabled.
void check_keys(std::span<const Keyset::Entry> entries, std::optional<std::uint32_t> primary);

}  // namespace warpaes::keyset_parts
