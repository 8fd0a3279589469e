// Tags in host memory: how they are made, compared and written, and what happens to the output if one is wrong.
#pragma once

#include <openssl/crypto.h>

#include <span>

#include "backend/group.hpp"

namespace warpaes {

/// Whether a tag of `expected.size()` bytes equals the beginning of `tag`. The time does not depend on the bytes.
[[nodiscard]] inline bool is_tag(const Block& tag, std::span<const std::uint8_t> expected) {
    return CRYPTO_memcmp(tag.data(), expected.data(), expected.size()) == 0;
}

/// The tag of a message of GCM (SP 800-38D, 7.1) from the digests of its associated data and of its ciphertext.
[[nodiscard]] Block gcm_tag(const ExpandedKey& key, const Block& j0, const Block& aad_digest, std::uint64_t aad_bytes,
                            FieldElement digest, std::uint64_t bytes);

/// Finishes message `index` of a group with tags. `tag` is the computed tag: encryption writes it; decryption compares
/// it with the given one and, on a mismatch, wipes the output and reports it in `failed`. In host memory.
void settle_tag(const MessageGroup& group, std::uint64_t index, const Block& tag);

}  // namespace warpaes
