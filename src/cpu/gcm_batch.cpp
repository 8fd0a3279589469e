#include <algorithm>
#include <bit>

#include "aes/ghash.hpp"
#include "backend/tag.hpp"
#include "cpu/batch.hpp"

namespace warpaes::cpu {

namespace {

/// Below this length, messages with the same key do not use the key's tables: computing them takes as long as hashing a
/// few kilobytes.
constexpr std::uint64_t short_bytes = 8192;
/// Below this length, messages with the same key that fit in the caches are processed like single messages. The path
/// for longer messages takes about 200 ns more per message.
constexpr std::uint64_t short_bytes_with_tables = 65536;
/// The cost of a message in addition to the cost of its text, expressed as a length of text.
constexpr std::uint64_t least_message = 64;
/// In a batch that is larger than the caches, messages of at least this length are encrypted by the kernels with stores
/// that bypass the caches, not with the key's tables.
constexpr std::uint64_t least_far = 1024;
/// Like short_bytes, but for keys that are used for only one message and have no tables yet.
constexpr std::uint64_t short_bytes_of_own_key = std::uint64_t{1} << 19;

}  // namespace

bool GcmBatch::takes(const MessageGroup& group) {
    if (group.mode != Mode::gcm || group.digest != nullptr || group.aad_digest != nullptr) return false;
    if (group.key == nullptr) return group.length < short_bytes_of_own_key;
    const bool like_single = group.iv_length == gcm_nonce_bytes && !group.beyond_caches;
    return group.length < (like_single ? short_bytes_with_tables : short_bytes);
}

void GcmBatch::make_powers(const MessageGroup& g, const std::uint8_t* round_keys, std::size_t count) {
    // The maximum number of blocks hashed with one reduction: the text and the lengths, the associated data, or an IV.
    const std::uint64_t longest = std::max({blocks_of(g.length) + 1, blocks_of(g.aad_length), blocks_of(g.iv_length)});
    const auto needed =
        static_cast<std::size_t>(std::bit_ceil(std::min<std::uint64_t>(longest, kernels_.gcm_step_blocks)));
    if (g.key != nullptr && g.key == made_for_ && power_count_ >= needed) return;
    made_for_ = g.key;
    power_count_ = needed;
    kernels_.make_powers({.round_keys = round_keys,
                          .rounds = g.rounds(),
                          .count = count,
                          .powers = needed,
                          .out = powers_.data(),
                          .stride = stride});
}

void GcmBatch::run(const MessageGroup& g) {
    keys_.take(g);
    Secret<std::array<Block, MessageKeys::window>> tags;
    for (std::uint64_t first = 0; first < g.count; first += MessageKeys::window) {
        const auto n = static_cast<std::size_t>(std::min(MessageKeys::window, g.count - first));
        const bool own = g.key == nullptr;
        const std::uint8_t* const round_keys = keys_.encrypt_from(first);
        make_powers(g, round_keys, own ? n : 1);
        kernels_.run_gcm_messages({.encrypt = g.direction == Direction::encrypt,
                                   .rounds = g.rounds(),
                                   .count = n,
                                   .length = static_cast<std::size_t>(g.length),
                                   .keys = round_keys,
                                   .key_stride = own ? round_keys_bytes : 0,
                                   .powers = powers_.data(),
                                   .power_stride = own ? stride : 0,
                                   .power_count = power_count_,
                                   .input = g.input.at(first),
                                   .output = g.output.at(first),
                                   .input_stride = static_cast<std::size_t>(g.input.stride),
                                   .output_stride = static_cast<std::size_t>(g.output.stride),
                                   .iv = g.iv.at(first),
                                   .iv_stride = static_cast<std::size_t>(g.iv.stride),
                                   .iv_length = g.iv_length,
                                   .aad = g.aad.at(first),
                                   .aad_stride = static_cast<std::size_t>(g.aad.stride),
                                   .aad_length = static_cast<std::size_t>(g.aad_length),
                                   .beyond_caches = g.beyond_caches && g.direction == Direction::encrypt,
                                   .tags = (*tags)[0].data()});
        for (std::size_t i = 0; i < n; ++i) settle_tag(g, first + i, (*tags)[i]);
    }
}

bool run_gcm_with_tables(ShortGcmFunction short_gcm, const MessageGroup& g) {
    if (g.key == nullptr) return false;
    const AlikeGroup same{g.input.first, g.output.first, g.iv.first, g.aad.first, g.tag.first, g.key, g.count};
    return run_gcm_with_tables(short_gcm, g, same, g.failed);
}

bool run_gcm_with_tables(ShortGcmFunction short_gcm, const MessageGroup& form, const AlikeGroup& group,
                         std::uint8_t* failed) {
    const ExpandedKey& key = *group.key;
    const bool is_far = form.direction == Direction::encrypt && form.beyond_caches && form.length >= least_far;
    if (form.iv_length != gcm_nonce_bytes || is_far ||
        key.hash_key_if_worth(group.count * (form.length + least_message)) == nullptr) {
        return false;
    }
    const ShortFunction crypt = short_gcm(form.direction, key.rounds());
    ShortMessage m{.mode = Mode::gcm,
                   .direction = form.direction,
                   .key = &key,
                   .round_keys = round_keys_of(key),
                   .iv = nullptr,
                   .input = nullptr,
                   .output = nullptr,
                   .length = form.length,
                   .aad_length = form.aad_length,
                   .tag_length = form.tag_length};
    for (std::uint64_t i = 0; i < group.count; ++i) {
        m.iv = group.iv + i * form.iv.stride;
        m.input = group.input + i * form.input.stride;
        m.output = group.output + i * form.output.stride;
        m.aad = group.aad + i * form.aad.stride;
        m.tag = group.tag + i * form.tag.stride;
        if (crypt(m)) continue;
        wipe({m.output, static_cast<std::size_t>(m.length)});
        if (failed != nullptr) failed[i] = 1;
    }
    return true;
}

}  // namespace warpaes::cpu
