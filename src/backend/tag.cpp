#include "backend/tag.hpp"

#include <algorithm>

#include "backend/backend.hpp"

namespace warpaes {

Block gcm_tag(const ExpandedKey& key, const Block& j0, const Block& aad_digest, std::uint64_t aad_bytes,
              FieldElement digest, std::uint64_t bytes) {
    const Secret<Block> mask(encrypt_block(key.encrypt(), key.rounds(), j0));
    return store_element(whole_digest(key.hash_key().powers[0], load_element(aad_digest), aad_bytes, digest, bytes) ^
                         load_element(*mask));
}

void settle_tag(const MessageGroup& group, std::uint64_t index, const Block& tag) {
    std::uint8_t* const place = group.tag.at(index);
    if (group.direction == Direction::encrypt) {
        std::copy_n(tag.begin(), group.tag_length, place);
        return;
    }
    if (is_tag(tag, {place, group.tag_length})) return;
    if (group.mode != Mode::cmac) wipe({group.output.at(index), static_cast<std::size_t>(group.length)});
    if (group.failed != nullptr) group.failed[index] = 1;
}

}  // namespace warpaes
