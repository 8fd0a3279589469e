// Encrypted keysets as Tink's JSON. Under a passphrase, the JSON also contains the parameters that derive the
// encryption key from the passphrase (docs/formats.md).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "format/keyset.hpp"

namespace warpaes {

/// scrypt's parameters (RFC 7914). scrypt uses 128 n r bytes of memory, which it fills p times.
struct Scrypt {
    std::uint64_t n = 0;  ///< a power of two
    std::uint32_t r = 8;
    std::uint32_t p = 1;

    [[nodiscard]] std::uint64_t memory() const noexcept { return 128 * n * r; }
};

/// The minimum memory for new keysets, and the maximum memory for any keyset. The maximum prevents a file from another
/// source from using up all memory or taking hours.
inline constexpr std::uint64_t least_scrypt_memory = 128u << 20, most_scrypt_memory = 1u << 30;
inline constexpr std::uint64_t most_scrypt_work = 8 * most_scrypt_memory;  ///< 128 n r p

/// Returns the cost with r = 8 and p = 1 with which the derivation takes about `seconds` on this machine; n is a power
/// of two within the bounds above. Throws Error{ARGUMENT} for an invalid time.
Scrypt choose_scrypt(double seconds);

/// Throws Error{ARGUMENT} for an empty passphrase or a cost out of bounds, and Error{KEYSET} like Keyset::to_json.
/// `room` is the maximum size of the text. If `room` is too small, no key is derived, and only the result's size is
/// valid.
SecretVector wrap_keyset(const Keyset& keyset, std::span<const std::uint8_t> passphrase, const Scrypt& cost,
                         std::size_t room);
/// Throws Error{AUTHENTICATION}, always with the same message, for a wrong passphrase or an altered keyset, and
/// Error{KEYSET}, before any derivation, if the text is not an encrypted keyset.
Keyset unwrap_keyset(std::string_view json, std::span<const std::uint8_t> passphrase);

/// Returns Tink's JSON, encrypted with the primary key of parse_keks(kek). Throws Error{KEYSET} if `kek` is not a
/// key-encryption key, and for the same reasons as Keyset::to_json.
SecretVector wrap_keyset_under(const Keyset& keyset, std::span<const std::uint8_t> kek,
                               std::span<const std::uint8_t> aad);
/// Throws Error{AUTHENTICATION}, always with the same message, if no key of `kek` opens the keyset with this `aad`, and
/// Error{KEYSET} if `kek` is not a key-encryption key or the text is not a keyset encrypted under a key.
Keyset unwrap_keyset_under(std::string_view json, std::span<const std::uint8_t> kek, std::span<const std::uint8_t> aad);

struct PeekedKeyset {
    Scrypt cost;    ///< zeros for a keyset that is not encrypted under a passphrase
    Keyset keyset;  ///< locked; contains only unauthenticated IDs and states
};
/// Reads the parts that are visible without a passphrase or key. Throws Error{KEYSET}.
PeekedKeyset peek_keyset(std::string_view json);

}  // namespace warpaes
