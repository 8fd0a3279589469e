#include "backend/tag.hpp"

#include <algorithm>

#include "aes/cipher.hpp"
#include "backend/backend.hpp"

namespace warpaes {

Block gcm_tag(const ExpandedKey& key, const Block& j0, const Block& aad_digest, std::uint64_t aad_bytes,
              FieldElement digest, std::uint64_t bytes) {
    const Secret<Block> mask(encrypt_block(key.encrypt(), key.rounds(), j0));
    return store_element(whole_digest(key.hash_key().powers[0], load_element(aad_digest), aad_bytes, digest, bytes) ^
                         load_element(*mask));
}

void settle_tag(const MessageGroup& group, std::uint64_t index, const Block& tag) {
    const MessageGroup one = group.slice(index, 1);
    settle_tag(one, tag, [&](auto) { wipe({one.output.first, static_cast<std::size_t>(one.length)}); });
}

}  // namespace warpaes
