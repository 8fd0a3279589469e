#include "message/gcm_stream.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "engine/chain.hpp"
#include "engine/run/executor.hpp"
#include "engine/run/group.hpp"
#include "message/checks.hpp"

namespace warpaes {

GcmStream::GcmStream(Engine& engine, const ExpandedKey& key, Direction direction, std::span<const std::uint8_t> iv)
    : engine_(&engine), key_(&key), direction_(direction) {
    check_iv_length(Mode::gcm, iv.size(), "iv");
    state_->j0 = first_counter(engine, key, iv);
    state_->public_counters = iv.size() == gcm_nonce_bytes;
}

void GcmStream::take(const std::uint8_t* bytes, std::size_t used, std::size_t n) {
    State& state = *state_;
    std::copy_n(bytes, n, state.partial.begin() + static_cast<std::ptrdiff_t>(used));
    if (used + n != block_bytes) return;
    state.digest = multiply(state.digest ^ load_element(state.partial), h());
    state.partial = {};
}

void GcmStream::close_block(State& state, std::uint64_t bytes, FieldElement h) {
    if (bytes % block_bytes == 0) return;
    state.digest = multiply(state.digest ^ load_element(state.partial), h);
    state.partial = {};
}

void GcmStream::append(FieldElement digest, std::uint64_t blocks) {
    State& state = *state_;
    if (state.aad_bytes == 0 && state.text_bytes == 0) {
        state.digest = digest;
        return;
    }
    if (state.blocks != blocks) {
        state.blocks = blocks;
        state.power = power(key_->hash_key(), blocks);
    }
    state.digest = multiply(state.digest, state.power) ^ digest;
}

void GcmStream::aad(const std::uint8_t* data, std::uint64_t length) {
    State& state = *state_;
    if (state.text_bytes != 0) {
        throw Error(WARPAES_ERROR_STATE, "context: associated data comes before the first byte of the message");
    }
    if (length > gcm_most_aad_bytes - state.aad_bytes) {
        throw Error(WARPAES_ERROR_DATA_LENGTH, "length: at most 2^61 - 1 bytes of associated data in total");
    }
    const MemoryPlace place = place_of(data);
    Executor executor(*engine_, data, data);
    Secret<Block> piece;
    const auto take_next = [&](std::size_t n) {
        executor.copy(piece->data(), data, n);
        take(piece->data(), state.aad_bytes % block_bytes, n);
        state.aad_bytes += n;
        data += n;
    };
    by_blocks(state.aad_bytes % block_bytes, length, take_next, [&](std::uint64_t whole) {
        append(load_element(gcm_digest(*engine_, *key_, data, whole, place)), whole / block_bytes);
        state.aad_bytes += whole;
        data += whole;
    });
}

void GcmStream::next_key_stream_block() {
    State& state = *state_;
    const Block counter = inc32(state.j0, 1 + state.text_bytes / block_bytes);
    encrypt_block(*engine_, *key_, counter, state.key_stream);
}

void GcmStream::update(const std::uint8_t* input, std::uint64_t length, std::uint8_t* output) {
    State& state = *state_;
    if (length == 0) return;
    if (length > gcm_most_bytes - state.text_bytes) {
        throw Error(WARPAES_ERROR_DATA_LENGTH, "input: at most 2^36 - 32 bytes in total for GCM");
    }
    if (state.text_bytes == 0) close_block(state, state.aad_bytes, h());
    Executor executor(*engine_, input, output);

    const auto take_next = [&](std::size_t n) {
        const std::size_t used = state.text_bytes % block_bytes;
        if (used == 0) next_key_stream_block();
        Secret<Block> in, out;
        executor.copy(in->data(), input, n);
        for (std::size_t i = 0; i < n; ++i) {
            (*out)[i] = static_cast<std::uint8_t>((*in)[i] ^ state.key_stream[used + i]);
        }
        executor.copy(output, out->data(), n);
        take(direction_ == Direction::encrypt ? out->data() : in->data(), used, n);
        state.text_bytes += n;
        input += n;
        output += n;
    };
    by_blocks(state.text_bytes % block_bytes, length, take_next, [&](std::uint64_t whole) {
        Secret<Block> digest;
        MessageGroup stretch = stretch_of(Mode::gcm, direction_, *key_, state.j0, input, output, whole);
        if (state.public_counters) {
            stretch.iv_length = gcm_nonce_bytes;  // J0 begins with the nonce
        } else {
            stretch.j0 = &state.j0;
        }
        stretch.digest = &*digest;
        stretch.first_block = state.text_bytes / block_bytes;
        executor.run(stretch);
        append(load_element(*digest), whole / block_bytes);
        state.text_bytes += whole;
        input += whole;
        output += whole;
    });
}

Secret<Block> GcmStream::tag() const {
    Secret<State> state = state_;
    close_block(*state, state->text_bytes != 0 ? state->text_bytes : state->aad_bytes, h());
    Secret<Block> mask;
    encrypt_block(*engine_, *key_, state->j0, *mask);
    const FieldElement digest = multiply(state->digest ^ length_block(state->aad_bytes, state->text_bytes), h());
    return Secret<Block>(store_element(digest ^ load_element(*mask)));
}

}  // namespace warpaes
