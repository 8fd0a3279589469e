// Processes one message of any mode with libcrypto's EVP.
#pragma once

#include <string>
#include <utility>

#include "evp_oracle.hpp"

namespace oracle {

struct Message {
    std::string mode;
    Bytes key{}, tweak_key{}, iv{}, aad{}, text{};
    std::size_t tag_bytes = 16;
    std::size_t data_unit = 0;  ///< XTS
    std::uint64_t unit_step = 1;
    std::optional<std::size_t> bits = {};  ///< CFB1: the length
};

/// Modes without a tag.
Bytes crypt(const Message& message, bool encrypt);
/// GCM, CCM and CMAC: ciphertext and tag; `text` is the plaintext.
std::pair<Bytes, Bytes> seal(const Message& message);

}  // namespace oracle
