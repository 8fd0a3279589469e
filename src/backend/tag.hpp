// Computes, compares and writes tags, and wipes the output if a tag is wrong. All backends use this code, except that
// some GPU kernels compare tags themselves.
#pragma once

#include <openssl/crypto.h>

#include <algorithm>
#include <span>
#include <vector>

#include "backend/group.hpp"

namespace warpaes {

/// Whether a tag of `expected.size()` bytes equals the beginning of `tag`. The time does not depend on the bytes.
[[nodiscard]] inline bool is_tag(const Block& tag, std::span<const std::uint8_t> expected) {
    return CRYPTO_memcmp(tag.data(), expected.data(), expected.size()) == 0;
}

/// Returns the tag of a GCM message (SP 800-38D, 7.1), computed from the digests of its associated data and of its
/// ciphertext.
[[nodiscard]] Block gcm_tag(const ExpandedKey& key, const Block& j0, const Block& aad_digest, std::uint64_t aad_bytes,
                            FieldElement digest, std::uint64_t bytes);

/// Compares the computed tags of a decrypted group with the expected tags. Marks the messages whose tag is wrong in
/// `failed`, and calls `wipe(marks)` for their outputs. `marks` has one byte per message, which is not 0 for these
/// messages.
template <typename Wipe>
void settle_tags(const MessageGroup& g, const Block* tags, const Block* expected, const Wipe& wipe) {
    std::vector<std::uint8_t> wrong;
    for (std::size_t i = 0; i < g.count; ++i) {
        if (is_tag(tags[i], std::span(expected[i]).first(static_cast<std::size_t>(g.tag_length)))) continue;
        if (wrong.empty()) wrong.resize(static_cast<std::size_t>(g.count));
        wrong[i] = 1;
        if (g.failed != nullptr) g.failed[i] = 1;
    }
    if (!wrong.empty() && g.length != 0 && g.output.first != nullptr) wipe(std::span<const std::uint8_t>(wrong));
}

/// Finishes a message with its computed tag, in host memory: encryption writes the tag; decryption compares it with the
/// expected tag, like settle_tags().
template <typename Wipe>
void settle_tag(const MessageGroup& one, const Block& tag, const Wipe& wipe) {
    const auto bytes = static_cast<std::size_t>(one.tag_length);
    if (one.direction == Direction::encrypt) {
        std::copy_n(tag.begin(), bytes, one.tag.first);
    } else {
        Block expected{};
        std::copy_n(one.tag.first, bytes, expected.begin());
        settle_tags(one, &tag, &expected, wipe);
    }
}
/// Finishes message `index` of a group whose outputs are in host memory.
void settle_tag(const MessageGroup& group, std::uint64_t index, const Block& tag);

}  // namespace warpaes
