// Tink's cleartext keysets: several keys, one of them primary; read from and written as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/stream_key.hpp"

namespace warpaes {

/// Every template by name, Tink's and C2SP's.
std::span<const StreamTemplate> stream_templates();
/// Throws Error{ARGUMENT} naming the choices.
const StreamTemplate& find_template(std::string_view name);
/// Its name, or "" if no template has these parameters.
std::string_view template_name_of(const StreamParameters& parameters);

/// Values are those of `warpaes_key_state`.
enum class KeyState { enabled = 1, disabled = 2, destroyed = 3 };

class Keyset {
public:
    /// A key as the keyset holds it: written back as it was read, with whatever warpaes does not know of it.
    struct KeyData {
        std::string type_url;  ///< empty for a key that Tink has no type for
        std::string material = "SYMMETRIC";
        std::string output_prefix = "RAW";  ///< files have none
        SecretVector value;
    };
    struct Entry {
        StreamKey key;  ///< of a key of another kind, or a destroyed one, only its number
        KeyState state = KeyState::enabled;
        KeyData data{};
        bool for_files = true;  ///< false: a Tink key of another kind, or a destroyed one; kept, but of no use here

        [[nodiscard]] bool usable() const noexcept { return for_files && state == KeyState::enabled; }
    };

    /// Throws Error{KEYSET}, with what is wrong and nothing of the text.
    static Keyset parse(std::string_view json);
    /// Of entries that have been interpreted. Throws Error{KEYSET} if they are no keyset together.
    static Keyset of(std::vector<Entry> entries, std::optional<std::uint32_t> primary_id);
    /// Of what can be seen of an encrypted one: to be looked at, and refused by whatever would use or change it.
    static Keyset locked(std::vector<Entry> entries, std::optional<std::uint32_t> primary_id);
    /// One key, which is the primary. Throws Error{ARGUMENT, KEY_LENGTH}.
    static Keyset from_raw(std::string_view template_name, std::span<const std::uint8_t> key);
    /// Throws Error{KEYSET} if the keyset holds keys that Tink's format has no room for (C2SP) or is empty.
    [[nodiscard]] SecretVector to_json() const;

    /// Adds a random key and returns its number.
    std::uint32_t add(std::string_view template_name);
    void promote(std::uint32_t key_id);
    void set_state(std::uint32_t key_id, KeyState state);
    void remove(std::uint32_t key_id);

    /// usable() has those of `other` too, behind its own; entries() has not, and they are not written.
    void extend(const Keyset& other);

    [[nodiscard]] std::span<const Entry> entries() const noexcept { return entries_; }
    [[nodiscard]] std::optional<std::uint32_t> primary_id() const noexcept { return primary_; }
    /// What encryption uses. Throws Error{KEYSET} if there is none.
    [[nodiscard]] const StreamKey& primary() const;
    /// What decryption tries: the enabled keys, the primary first.
    [[nodiscard]] std::vector<const StreamKey*> usable() const;

private:
    /// Throws Error{KEYSET} if it is locked.
    void require_open() const;
    Entry& find(std::uint32_t key_id);
    void insert(Entry entry);

    std::vector<Entry> entries_;
    std::vector<StreamKey> appended_;
    std::optional<std::uint32_t> primary_;
    bool locked_ = false;
};

}  // namespace warpaes
