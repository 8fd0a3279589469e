// AES-GCM and AES-XTS with libcrypto, one message per call.
#pragma once

#include "evp_oracle.hpp"
#include "input.hpp"

namespace fuzz {

struct Sealed {
    Bytes text;  ///< ciphertext
    Bytes tag;   ///< 16 bytes
};
Sealed gcm(const Bytes& key, const Bytes& iv, const Bytes& aad, const Bytes& text);

/// Processes `text` in data units of `unit` bytes (0: a single unit). `tweak` belongs to the first unit, and grows by
/// `step` from unit to unit.
Bytes xts(bool encrypt, const Bytes& key, const Bytes& tweak_key, Bytes tweak, std::size_t unit, const Bytes& text,
          std::uint64_t step = 1);

}  // namespace fuzz
