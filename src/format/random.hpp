// Random bytes from libcrypto. Throws Error{INTERNAL} if it has none.
#pragma once

#include <cstdint>
#include <span>

namespace warpaes {

/// For everyone to see.
void make_salt(std::span<std::uint8_t> bytes);
/// For nobody to see: from another generator, so that no salt says anything of a key.
void make_key(std::span<std::uint8_t> bytes);

}  // namespace warpaes
