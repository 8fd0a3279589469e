#include "message/mac_stream.hpp"

#include <algorithm>
#include <string>

#include "aes/cmac.hpp"
#include "aes/counter.hpp"
#include "base/error.hpp"
#include "message/checks.hpp"
#include "message/executor.hpp"

namespace warpaes {

void MacStream::encrypt(const Block& in, Block& out) const {
    Executor executor(*engine_, nullptr, nullptr, std::nullopt);
    executor.encrypt_block(*key_, in, out);
}

/// A MAC is CBC encryption of which only the last block counts. `data` lies in host memory.
void MacStream::add_blocks(State& state, const std::uint8_t* data, std::uint64_t bytes) const {
    constexpr std::uint64_t most = 32 << 10;  // small enough for the first-level cache
    SecretBuffer sink(static_cast<std::size_t>(std::min(bytes, most)));
    Executor executor(*engine_, nullptr, nullptr, std::nullopt);
    while (bytes != 0) {
        const std::uint64_t n = std::min(bytes, most);
        const Block chain = state.chain;
        executor.run(stretch_of(Mode::cbc, Direction::encrypt, *key_, chain, data, sink.data(), n));
        std::copy_n(sink.data() + n - block_bytes, block_bytes, state.chain.begin());
        data += n;
        bytes -= n;
    }
}

void MacStream::update(const std::uint8_t* data, std::uint64_t length) {
    if (length == 0) return;
    State& state = *state_;
    Executor executor(*engine_, data, data, std::nullopt);
    const auto fill = [&] {
        const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(block_bytes - state.used, length));
        executor.read(state.partial.data() + state.used, data, n);
        state.used += n;
        data += n;
        length -= n;
    };
    if (state.used != 0 || length <= block_bytes) fill();
    if (length == 0) return;
    if (state.used != 0) add_blocks(state, state.partial.data(), block_bytes);
    state.used = 0;
    std::uint64_t whole = (length - 1) / block_bytes * block_bytes;
    if (!executor.on_device()) {
        if (whole != 0) add_blocks(state, data, whole);
        data += whole;
        length -= whole;
        whole = 0;
    }
    constexpr std::uint64_t most = 1 << 20;
    SecretBuffer copy(static_cast<std::size_t>(std::min(whole, most)));
    while (whole != 0) {
        const std::uint64_t n = std::min(whole, most);
        executor.read(copy.data(), data, static_cast<std::size_t>(n));
        add_blocks(state, copy.data(), n);
        data += n;
        length -= n;
        whole -= n;
    }
    fill();
}

void MacStream::fill_block() {
    State& state = *state_;
    if (state.used == 0) return;
    std::fill(state.partial.begin() + static_cast<std::ptrdiff_t>(state.used), state.partial.end(), std::uint8_t{0});
    state.used = block_bytes;
}

Secret<Block> MacStream::chain() const {
    Secret<State> state = state_;
    if (state->used != 0) add_blocks(*state, state->partial.data(), block_bytes);
    return Secret<Block>(state->chain);
}

Secret<Block> MacStream::cmac() const {
    const State& state = *state_;
    Secret<Block> l, tag;
    encrypt({}, *l);
    const Secret<CmacSubkeys> subkeys(cmac_subkeys(*l));
    Secret<Block> last(cmac_last_block(*subkeys, std::span(state.partial).first(state.used)));
    *last ^= state.chain;
    encrypt(*last, *tag);
    return tag;
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
        throw Error(WARPAES_ERROR_STATE, "context: of " + std::to_string(lengths_.aad) +
                                             " bytes of associated data (aad_len) only " + std::to_string(aad_bytes_) +
                                             " have come");
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
    Executor executor(*engine_, nullptr, nullptr, std::nullopt);
    executor.encrypt_block(*key_, counter0_, *mask);
    *tag ^= *mask;
    return tag;
}

Block CcmStream::first_counter() const {
    return add(counter0_, 1);
}

}  // namespace warpaes
