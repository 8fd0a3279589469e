#include "message/mac_stream.hpp"

#include <algorithm>
#include <string>

#include "aes/cmac.hpp"
#include "aes/counter.hpp"
#include "base/error.hpp"
#include "engine/run/executor.hpp"
#include "message/checks.hpp"

namespace warpaes {

auto MacStream::mac(std::uint64_t bytes) const {
    return CbcMac(
        [this](const Block& chain, std::uint8_t* blocks, std::size_t n) {
            Executor(*engine_).run(stretch_of(Mode::cbc, Direction::encrypt, *key_, chain, blocks, blocks, n));
        },
        bytes, *state_);
}

void MacStream::update(const std::uint8_t* data, std::uint64_t length) {
    if (length == 0) return;
    Executor executor(*engine_, data, data);
    auto mac = this->mac(length);
    if (executor.on_device()) {
        constexpr std::uint64_t most = 1 << 20;
        SecretBuffer copy(static_cast<std::size_t>(std::min(length, most)));
        for (std::uint64_t at = 0; at < length; at += copy.size()) {
            const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(length - at, copy.size()));
            executor.copy(copy.data(), data + at, n);
            mac.add({copy.data(), n});
        }
    } else {
        mac.add({data, static_cast<std::size_t>(length)});
    }
    *state_ = *Secret<MacState>(mac.state());
}

void MacStream::fill_block() {
    auto mac = this->mac(block_bytes);
    mac.pad();
    *state_ = *Secret<MacState>(mac.state());
}

Secret<Block> MacStream::chain() const {
    return Secret<Block>(mac(block_bytes).value());
}

Secret<Block> MacStream::cmac() const {
    Secret<Block> l;
    encrypt_block(*engine_, *key_, {}, *l);
    const Secret<CmacSubkeys> subkeys(cmac_subkeys(*l));
    return Secret<Block>(mac(block_bytes).cmac(*subkeys));
}

CcmStream::CcmStream(Engine& engine, const ExpandedKey& key, std::span<const std::uint8_t> nonce,
                     const Lengths& lengths)
    : mac_(engine, key), engine_(&engine), key_(&key), lengths_(lengths) {
    check_iv_length(Mode::ccm, nonce.size(), "iv");
    check_tag_length(Mode::ccm, lengths.tag);
    check_aad_length(Mode::ccm, lengths.aad);
    check_longest(Mode::ccm, lengths.text, nonce.size(), "text_len");
    const CcmStart start(nonce, lengths.aad, lengths.text, lengths.tag);
    counter0_ = start.counter0;
    mac_.update(start.head.data(), start.head_bytes);
}

void CcmStream::aad(const std::uint8_t* data, std::uint64_t length) {
    if (text_bytes_ != 0) {
        throw Error(WARPAES_ERROR_STATE, "context: associated data comes before the first byte of the message");
    }
    if (length > lengths_.aad - aad_bytes_) {
        throw Error(WARPAES_ERROR_DATA_LENGTH,
                    "length: more associated data than the " + std::to_string(lengths_.aad) + " bytes of aad_len");
    }
    mac_.update(data, length);
    aad_bytes_ += length;
}

void CcmStream::check_text(std::uint64_t length) const {
    if (aad_bytes_ != lengths_.aad) {
        throw Error(WARPAES_ERROR_STATE, "context: only " + std::to_string(aad_bytes_) + " of " +
                                             std::to_string(lengths_.aad) +
                                             " bytes of associated data (aad_len) were passed");
    }
    if (length > lengths_.text - text_bytes_) {
        throw Error(WARPAES_ERROR_DATA_LENGTH,
                    "input_len: more text than the " + std::to_string(lengths_.text) + " bytes of text_len");
    }
}

void CcmStream::text(const std::uint8_t* data, std::uint64_t length) {
    check_text(length);
    if (length == 0) return;
    if (text_bytes_ == 0) mac_.fill_block();
    mac_.update(data, length);
    text_bytes_ += length;
}

Secret<Block> CcmStream::tag() const {
    check_text(0);
    if (text_bytes_ != lengths_.text) {
        throw Error(WARPAES_ERROR_DATA_LENGTH, "context: the message ends after " + std::to_string(text_bytes_) +
                                                   " of the " + std::to_string(lengths_.text) + " bytes of text_len");
    }
    MacStream mac = mac_;
    mac.fill_block();
    Secret<Block> tag = mac.chain(), mask;
    encrypt_block(*engine_, *key_, counter0_, *mask);
    *tag ^= *mask;
    return tag;
}

Block CcmStream::first_counter() const {
    return add(counter0_, 1);
}

}  // namespace warpaes
