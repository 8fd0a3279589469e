// A keyset encrypted under a passphrase: Tink's JSON of an encrypted keyset, and beside it how the passphrase becomes
// the key that encrypts it (docs/formats.md).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "format/keyset.hpp"

namespace warpaes {

/// scrypt's parameters (RFC 7914). It takes 128 n r bytes, and as many p times over.
struct Scrypt {
    std::uint64_t n = 0;  ///< a power of two
    std::uint32_t r = 8;
    std::uint32_t p = 1;

    [[nodiscard]] std::uint64_t memory() const noexcept { return 128 * n * r; }
};

/// What new keysets cost at least, and the most that is paid for any: that nobody's file takes all memory, or hours.
inline constexpr std::uint64_t least_scrypt_memory = 128u << 20, most_scrypt_memory = 1u << 30;
inline constexpr std::uint64_t most_scrypt_work = 8 * most_scrypt_memory;  ///< 128 n r p

/// The cost with r = 8, p = 1 whose derivation takes `seconds` here, as nearly as powers of two can; within the bounds
/// above. Throws Error{ARGUMENT} for what is no time.
Scrypt choose_scrypt(double seconds);

/// Throws Error{ARGUMENT} for an empty passphrase and for a cost out of bounds, Error{KEYSET} as Keyset::to_json.
/// `room`: how much text there may be; nothing is derived if it is too little, and then only the size is right.
SecretVector wrap_keyset(const Keyset& keyset, std::span<const std::uint8_t> passphrase, const Scrypt& cost,
                         std::size_t room);
/// Throws Error{AUTHENTICATION}, always with the same sentence, for another passphrase and an altered keyset;
/// Error{KEYSET} for what is none, before anything is derived.
Keyset unwrap_keyset(std::string_view json, std::span<const std::uint8_t> passphrase);

struct PeekedKeyset {
    Scrypt cost;
    Keyset keyset;  ///< locked: numbers and states, which nothing has authenticated
};
/// What can be read without the passphrase. Throws Error{KEYSET}.
PeekedKeyset peek_keyset(std::string_view json);

}  // namespace warpaes
