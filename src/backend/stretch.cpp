#include "backend/stretch.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "aes/cipher.hpp"
#include "backend/mac.hpp"
#include "backend/tag.hpp"

namespace warpaes {

namespace {

Block load(const std::uint8_t* from, std::size_t bytes) {
    Block block{};
    std::copy_n(from, std::min(bytes, block_bytes), block.begin());
    return block;
}

/// Returns the GHASH digest of the data, hashed from zero.
FieldElement digest_of(StretchLane& lane, const ExpandedKey& key, const std::uint8_t* data, std::uint64_t bytes) {
    if (bytes == 0) return {};
    Secret<Block> digest;
    lane.run_gcm({.direction = Direction::encrypt,
                  .key = &key,
                  .input = data,
                  .output = nullptr,
                  .segment_bytes = bytes,
                  .last_bytes = bytes,
                  .results = &*digest});
    return load_element(*digest);
}

/// An array of blocks that is wiped on destruction. A single block needs no allocation.
class Blocks {
public:
    explicit Blocks(std::size_t n) : n_(n), more_(n > 1 ? std::make_unique_for_overwrite<Block[]>(n) : nullptr) {}
    ~Blocks() {
        if (more_) wipe({more_[0].data(), n_ * block_bytes});
    }
    Blocks(const Blocks&) = delete;
    Blocks& operator=(const Blocks&) = delete;
    [[nodiscard]] Block* data() noexcept { return more_ ? more_.get() : &*one_; }

private:
    std::size_t n_;
    std::unique_ptr<Block[]> more_;
    Secret<Block> one_;
};

/// A GCM run over one stretch, one message, or several messages under the same key with 12-byte IVs and the same
/// associated data.
class GcmMessages {
public:
    static bool takes(const MessageGroup& g) {
        const bool alike =
            g.iv_length == gcm_nonce_bytes && (g.aad_length == 0 || g.aad_digest != nullptr || g.aad.stride == 0);
        return g.mode == Mode::gcm && (g.count == 1 || (alike && g.key != nullptr));
    }

    /// `last` is null, or one more message to process after the group's messages. It starts where the group's next
    /// message would start, and is at most as long as the group's messages.
    GcmMessages(StretchLane& lane, const MessageGroup& group, const MessageGroup* last, const ExpandedKey& key)
        : lane_(lane),
          g_(group),
          last_(last),
          key_(key),
          count_(static_cast<std::size_t>(group.count) + (last != nullptr ? 1 : 0)) {}

    void run() {
        const bool stretch = g_.digest != nullptr, hashes = stretch && g_.output.first == nullptr;
        Blocks j0s(hashes ? 0 : count_), tags(stretch ? 0 : count_), expected(settles() ? count_ : 0);
        if (!hashes) make_j0s(j0s.data());
        Secret<Block> aad;
        if (!stretch) *aad = aad_digest();
        const std::uint64_t last_bytes = last_ != nullptr ? last_->length : g_.length;
        // The expected tags are copied before the run, because an in-place run may overwrite them.
        if (settles()) each([&](const MessageGroup& g, std::size_t first) { fetch_tags(g, expected.data() + first); });
        if (lane_.device() >= 0 && !stretch && count_ == 1 && last_bytes == 0) {
            // A launch costs more than encrypting one block on the CPU.
            *tags.data() = gcm_tag(key_, *j0s.data(), *aad, g_.aad_length, {}, 0);
        } else {
            lane_.run_gcm({.direction = g_.direction,
                           .key = &key_,
                           .input = g_.input.first,
                           .output = g_.output.first,
                           .count = count_,
                           .segment_bytes = g_.length,
                           .last_bytes = last_bytes,
                           .input_stride = count_ == 1 ? g_.length : g_.input.stride,
                           .output_stride = count_ == 1 ? g_.length : g_.output.stride,
                           .j0 = hashes ? nullptr : j0s.data(),
                           .first_block = g_.first_block,
                           .beyond_caches = g_.beyond_caches,
                           .public_counters = g_.iv_length == gcm_nonce_bytes && g_.j0 == nullptr,
                           .result = stretch ? GcmRun::Result::digest : GcmRun::Result::tag,
                           .aad_digest = *aad,
                           .aad_bytes = stretch ? 0 : g_.aad_length,
                           .results = stretch ? g_.digest : tags.data()});
        }
        if (stretch) return;
        each([&](const MessageGroup& g, std::size_t first) {
            if (g.direction == Direction::encrypt) {
                lane_.copy_rows(g.tag.first, static_cast<std::size_t>(g.tag.stride), tags.data() + first, block_bytes,
                                g.tag_length, static_cast<std::size_t>(g.count));
            } else {
                settle_tags(g, tags.data() + first, expected.data() + first, [&](std::span<const std::uint8_t> wrong) {
                    lane_.clear_rows(g.output.first, static_cast<std::size_t>(g.output.stride),
                                     static_cast<std::size_t>(g.length), wrong, g.beyond_caches);
                });
            }
        });
    }

private:
    /// Whether the messages' tags are compared with the expected tags.
    [[nodiscard]] bool settles() const { return g_.digest == nullptr && g_.direction == Direction::decrypt; }

    /// Calls `work(group, index of its first message)` for the group and for the additional message.
    template <typename Work>
    void each(const Work& work) const {
        work(g_, 0);
        if (last_ != nullptr) work(*last_, static_cast<std::size_t>(g_.count));
    }

    /// SP 800-38D, 7.1, step 2.
    void make_j0s(Block* j0s) {
        if (g_.j0 != nullptr || g_.iv_length == gcm_nonce_bytes) {
            each([&](const MessageGroup& g, std::size_t first) {
                for (std::size_t i = 0; i < g.count; ++i) j0s[first + i] = j0_of(g, i);
            });
        } else {
            const FieldElement digest = digest_of(lane_, key_, g_.iv.first, g_.iv_length);
            *j0s = store_element(multiply(digest ^ length_block(0, g_.iv_length), key_.hash_key().powers[0]));
        }
    }

    [[nodiscard]] Block aad_digest() {
        if (g_.aad_digest != nullptr) return *g_.aad_digest;
        return store_element(digest_of(lane_, key_, g_.aad.first, g_.aad_length));
    }

    void fetch_tags(const MessageGroup& g, Block* expected) {
        lane_.copy_rows(expected, block_bytes, g.tag.first, static_cast<std::size_t>(g.tag.stride), g.tag_length,
                        static_cast<std::size_t>(g.count));
    }

    StretchLane& lane_;
    const MessageGroup& g_;
    const MessageGroup* last_;
    const ExpandedKey& key_;
    std::size_t count_;
};

/// One message of a group in any mode except GCM, under the message's key.
class OneMessage {
public:
    OneMessage(StretchLane& lane, const MessageGroup& group, std::uint64_t index, const ExpandedKey& key)
        : lane_(lane),
          g_(group),
          index_(index),
          key_(key),
          encrypt_(group.direction == Direction::encrypt),
          input_(group.input.at(index)),
          output_(group.output.at(index)),
          iv_(group.iv.at(index), group.iv_length),
          aad_(group.aad.at(index), static_cast<std::size_t>(group.aad_length)) {}

    void run() {
        if (g_.mode == Mode::ccm) return ccm();
        if (g_.mode == Mode::cmac) return cmac();
        run(g_.mode, g_.mode == Mode::ecb ? Block{} : load(iv_.data(), iv_.size()), input_, output_);
    }

private:
    void run(Mode mode, const Block& chain, const std::uint8_t* input, std::uint8_t* output) {
        if (g_.length == 0) return;
        lane_.run_stretch({.mode = mode,
                           .direction = g_.direction,
                           .key = &key_,
                           .input = input,
                           .output = output,
                           .length = g_.length,
                           .chain = chain,
                           .tweak_key = g_.tweak_key,
                           .data_units = g_.data_units,
                           .beyond_caches = g_.beyond_caches,
                           .zero_copy = g_.zero_copy,
                           .unused_bits = g_.unused_bits});
    }

    /// Returns an object that computes the MAC of an input of about `bytes` bytes.
    auto mac(std::uint64_t bytes) {
        return CbcMac(
            [this](const Block& chain, std::uint8_t* blocks, std::size_t n) {
                lane_.run_stretch({.mode = Mode::cbc,
                                   .direction = Direction::encrypt,
                                   .key = &key_,
                                   .input = blocks,
                                   .output = blocks,
                                   .length = n,
                                   .chain = chain});
            },
            bytes);
    }

    void ccm() {
        const CcmStart start(iv_, g_.aad_length, g_.length, g_.tag_length);
        const Block pad = encrypt_block(key_.encrypt(), key_.rounds(), start.counter0);
        if (!encrypt_) run(Mode::ctr, start.counter1, input_, output_);
        auto mac = this->mac(sizeof start.head + g_.aad_length + g_.length);
        mac.add(start.mac_head());
        mac.add(aad_);
        mac.pad();
        mac.add({encrypt_ ? input_ : output_, static_cast<std::size_t>(g_.length)});
        mac.pad();
        Secret<Block> tag(mac.value());
        *tag ^= pad;
        if (encrypt_) run(Mode::ctr, start.counter1, input_, output_);
        settle_tag(g_, index_, *tag);
    }

    void cmac() {
        const Secret<CmacSubkeys> subkeys(cmac_subkeys(encrypt_block(key_.encrypt(), key_.rounds(), Block{})));
        auto mac = this->mac(g_.length);
        mac.add({input_, static_cast<std::size_t>(g_.length)});
        settle_tag(g_, index_, *Secret<Block>(mac.cmac(*subkeys)));
    }

    StretchLane& lane_;
    const MessageGroup& g_;
    std::uint64_t index_;
    const ExpandedKey& key_;
    bool encrypt_;
    const std::uint8_t* input_;
    std::uint8_t* output_;
    std::span<const std::uint8_t> iv_, aad_;
};

/// Whether `next` can be appended to the group: it is a single message, at most as long as the group's messages.
bool continues(const MessageGroup& g, const MessageGroup& next) {
    const auto follows = [&](const Elements& e, const Elements& its) { return its.first == e.at(g.count); };
    return g.count != 0 && next.count == 1 && next.mode == g.mode && next.direction == g.direction &&
           next.key == g.key && next.length <= g.length && g.digest == nullptr && next.digest == nullptr &&
           g.iv_length == gcm_nonce_bytes && next.iv_length == gcm_nonce_bytes && follows(g.iv, next.iv) &&
           follows(g.input, next.input) && follows(g.output, next.output) && next.aad_length == g.aad_length &&
           (g.aad_length == 0 || (next.aad_digest == g.aad_digest && g.aad_digest != nullptr) ||
            (next.aad.first == g.aad.first && g.aad.stride == 0)) &&
           next.tag_length == g.tag_length && GcmMessages::takes(g);
}

}  // namespace

Run run_of(const MessageGroup& g) {
    return {.mode = g.mode,
            .direction = g.direction,
            .key = g.key,
            .input = g.input.first,
            .output = g.output.first,
            .length = g.length,
            .chain = g.mode == Mode::ecb ? Block{} : load(g.iv.first, block_bytes),
            .tweak_key = g.tweak_key,
            .data_units = g.data_units,
            .tweaks = g.tweaks,
            .beyond_caches = g.beyond_caches,
            .zero_copy = g.zero_copy,
            .unused_bits = g.unused_bits};
}

void StretchLane::copy_rows(void* to, std::size_t to_stride, const void* from, std::size_t from_stride,
                            std::size_t bytes, std::size_t rows) {
    warpaes::copy_rows(static_cast<std::uint8_t*>(to), to_stride, static_cast<const std::uint8_t*>(from), from_stride,
                       bytes, rows);
}

void StretchLane::clear_rows(std::uint8_t* memory, std::size_t stride, std::size_t bytes,
                             std::span<const std::uint8_t> marks, bool beyond_caches) {
    for (std::size_t i = 0; i < marks.size(); ++i) {
        if (marks[i] == 0) continue;
        const std::span row(memory + i * stride, bytes);
        beyond_caches ? wipe_far(row) : wipe(row);
    }
}

void StretchLane::run_one_by_one(std::span<const MessageGroup> groups) {
    for (auto g = groups.begin(); g != groups.end(); ++g) {
        if (GcmMessages::takes(*g) && g->key != nullptr) {
            const auto next = g + 1;
            const bool two = next != groups.end() && continues(*g, *next);
            if (g->count != 0) GcmMessages(*this, *g, two ? &*next : nullptr, *g->key).run();
            if (two) ++g;
            continue;
        }
        for (std::uint64_t i = 0; i < g->count; ++i) {
            std::optional<ExpandedKey> own;
            if (g->key == nullptr) own.emplace(std::span<const std::uint8_t>(g->keys.at(i), g->key_bytes));
            const ExpandedKey& key = own ? *own : *g->key;
            if (g->mode == Mode::gcm) {
                GcmMessages(*this, g->slice(i, 1), nullptr, key).run();
            } else {
                OneMessage(*this, *g, i, key).run();
            }
        }
    }
}

}  // namespace warpaes
