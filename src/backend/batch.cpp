#include "backend/batch.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <array>
#include <optional>

#include "aes/cipher.hpp"
#include "aes/cmac.hpp"
#include "backend/backend.hpp"

namespace warpaes {

namespace {

Block load(const std::uint8_t* from, std::size_t bytes) {
    Block block{};
    std::copy_n(from, std::min(bytes, block_bytes), block.begin());
    return block;
}

/// CBC-MAC (SP 800-38C, 6.1): blocks that arrive in pieces, through CBC encryption.
class CbcMac {
public:
    CbcMac(Lane& lane, const ExpandedKey& key) : lane_(lane), key_(key) {}

    void add(std::span<const std::uint8_t> bytes) {
        while (!bytes.empty()) {
            const std::size_t n = std::min(bytes.size(), buffer_->size() - used_);
            std::copy_n(bytes.begin(), n, buffer_->begin() + static_cast<std::ptrdiff_t>(used_));
            used_ += n;
            bytes = bytes.subspan(n);
            if (used_ == buffer_->size()) flush();
        }
    }
    /// Zeros up to a whole block.
    void pad() {
        static constexpr Block zeros{};
        add(std::span(zeros).first((block_bytes - used_ % block_bytes) % block_bytes));
    }
    [[nodiscard]] Block value() {
        flush();
        return *chain_;
    }

private:
    void flush() {
        if (used_ == 0) return;
        lane_.run({.mode = Mode::cbc,
                   .direction = Direction::encrypt,
                   .key = &key_,
                   .input = buffer_->data(),
                   .output = buffer_->data(),
                   .length = used_,
                   .chain = *chain_});
        *chain_ = load(buffer_->data() + used_ - block_bytes, block_bytes);
        used_ = 0;
    }

    Lane& lane_;
    const ExpandedKey& key_;
    Secret<std::array<std::uint8_t, 4096>> buffer_;
    std::size_t used_ = 0;
    Secret<Block> chain_;
};

/// One message of a group under its key.
class OneMessage {
public:
    OneMessage(Lane& lane, const MessageGroup& group, std::uint64_t index, const ExpandedKey& key)
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
        switch (g_.mode) {
        case Mode::gcm:
            return gcm();
        case Mode::ccm:
            return ccm();
        case Mode::cmac:
            return settle_tag(g_, index_, *cmac());
        default:
            run(g_.mode, g_.mode == Mode::ecb ? Block{} : load(iv_.data(), iv_.size()), input_, output_);
        }
    }

private:
    void run(Mode mode, const Block& chain, const std::uint8_t* input, std::uint8_t* output) {
        if (g_.length == 0) return;
        lane_.run({.mode = mode,
                   .direction = g_.direction,
                   .key = &key_,
                   .input = input,
                   .output = output,
                   .length = g_.length,
                   .chain = chain,
                   .tweak_key = g_.tweak_key,
                   .data_unit = g_.data_unit});
    }

    FieldElement digest(std::span<const std::uint8_t> data) {
        if (data.empty()) return {};
        Secret<Block> digest;
        lane_.run_gcm({.direction = Direction::encrypt,
                       .key = &key_,
                       .input = data.data(),
                       .output = nullptr,
                       .segment_bytes = data.size(),
                       .last_bytes = data.size(),
                       .results = &*digest});
        return load_element(*digest);
    }

    /// SP 800-38D, 7.1, step 2.
    Block j0() {
        if (iv_.size() == gcm_nonce_bytes) return pre_counter(iv_.first<gcm_nonce_bytes>());
        return store_element(multiply(digest(iv_) ^ length_block(0, iv_.size()), key_.hash_key().powers[0]));
    }

    void gcm() {
        const Block counter = j0();
        Secret<Block> tag;
        lane_.run_gcm({.direction = g_.direction,
                       .key = &key_,
                       .input = input_,
                       .output = output_,
                       .segment_bytes = g_.length,
                       .last_bytes = g_.length,
                       .input_stride = g_.length,
                       .output_stride = g_.length,
                       .j0 = &counter,
                       .public_counters = iv_.size() == gcm_nonce_bytes,
                       .result = GcmRun::Result::tag,
                       .aad_digest = store_element(digest(aad_)),
                       .aad_bytes = g_.aad_length,
                       .results = &*tag});
        settle_tag(g_, index_, *tag);
    }

    void ccm() {
        Block counter = ccm_counter0(iv_);
        const Block pad = encrypt_block(key_.encrypt(), key_.rounds(), counter);
        counter[15] = 1;
        if (!encrypt_) run(Mode::ctr, counter, input_, output_);
        CbcMac mac(lane_, key_);
        mac.add(ccm_b0(iv_, g_.aad_length, g_.length, g_.tag_length));
        const CcmAadPrefix prefix = ccm_aad_prefix(g_.aad_length);
        mac.add(std::span(prefix.bytes).first(prefix.size));
        mac.add(aad_);
        mac.pad();
        mac.add({encrypt_ ? input_ : output_, static_cast<std::size_t>(g_.length)});
        mac.pad();
        Secret<Block> tag(mac.value());
        for (std::size_t i = 0; i < block_bytes; ++i) (*tag)[i] = static_cast<std::uint8_t>((*tag)[i] ^ pad[i]);
        if (encrypt_) run(Mode::ctr, counter, input_, output_);
        settle_tag(g_, index_, *tag);
    }

    Secret<Block> cmac() {
        const Secret<CmacSubkeys> subkeys(cmac_subkeys(encrypt_block(key_.encrypt(), key_.rounds(), Block{})));
        const std::uint64_t rest = g_.length == 0 ? 0 : (g_.length - 1) % block_bytes + 1;
        const std::uint64_t before = g_.length - rest;
        CbcMac mac(lane_, key_);
        mac.add({input_, static_cast<std::size_t>(before)});
        mac.add(cmac_last_block(*subkeys, {input_ + before, static_cast<std::size_t>(rest)}));
        return Secret<Block>(mac.value());
    }

    Lane& lane_;
    const MessageGroup& g_;
    std::uint64_t index_;
    const ExpandedKey& key_;
    bool encrypt_;
    const std::uint8_t* input_;
    std::uint8_t* output_;
    std::span<const std::uint8_t> iv_, aad_;
};

}  // namespace

MessageGroup MessageGroup::slice(std::uint64_t first, std::uint64_t n) const {
    MessageGroup part = *this;
    part.count = n;
    for (Elements* e : {&part.input, &part.output, &part.iv, &part.aad, &part.tag, &part.keys}) *e = e->from(first);
    if (failed != nullptr) part.failed = failed + first;
    return part;
}

int MessageGroup::rounds() const noexcept {
    return key != nullptr ? key->rounds() : rounds_for_key_bytes(key_bytes);
}

void settle_tag(const MessageGroup& group, std::uint64_t index, const Block& tag) {
    std::uint8_t* const place = group.tag.at(index);
    if (group.direction == Direction::encrypt) {
        std::copy_n(tag.begin(), group.tag_length, place);
        return;
    }
    if (CRYPTO_memcmp(tag.data(), place, group.tag_length) == 0) return;
    if (group.mode != Mode::cmac) wipe({group.output.at(index), static_cast<std::size_t>(group.length)});
    if (group.failed != nullptr) group.failed[index] = 1;
}

void run_one_by_one(Lane& lane, const MessageGroup& group) {
    for (std::uint64_t i = 0; i < group.count; ++i) {
        std::optional<ExpandedKey> own;
        if (group.key == nullptr) own.emplace(std::span<const std::uint8_t>(group.keys.at(i), group.key_bytes));
        OneMessage(lane, group, i, own ? *own : *group.key).run();
    }
}

void Lane::run_batch(std::span<const MessageGroup> groups) {
    for (const MessageGroup& group : groups) run_one_by_one(*this, group);
}

}  // namespace warpaes
