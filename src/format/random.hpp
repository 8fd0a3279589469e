// Random bytes from libcrypto. Throws Error{INTERNAL} if it has none.
#pragma once

#include <cstdint>
#include <span>

namespace warpaes {

/// For public values.
void make_salt(std::span<std::uint8_t> bytes);
/// For secret values. Uses a separate generator, so that salts reveal nothing about keys.
void make_key(std::span<std::uint8_t> bytes);

}  // namespace warpaes
