// AES-GCM and AES-XTS by libcrypto, message by message.
#pragma once

#include "evp_oracle.hpp"
#include "input.hpp"

namespace fuzz {

struct Sealed {
    Bytes text;  ///< ciphertext
    Bytes tag;   ///< 16 bytes
};
Sealed gcm(const Bytes& key, const Bytes& iv, const Bytes& aad, const Bytes& text);

/// `text` in data units of `unit` bytes (0: it is one), the first of which has this tweak.
Bytes xts(bool encrypt, const Bytes& key, const Bytes& tweak_key, Bytes tweak, std::size_t unit, const Bytes& text,
          std::uint64_t step = 1);

}  // namespace fuzz
