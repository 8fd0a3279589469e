#include "message/context.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "aes/counter.hpp"
#include "aes/pkcs7.hpp"
#include "base/error.hpp"
#include "engine/chain.hpp"
#include "message/checks.hpp"
#include "message/executor.hpp"
#include "message/tagged.hpp"

namespace warpaes {

namespace {

void check_capacity(std::size_t needed, std::size_t capacity) {
    if (capacity < needed) {
        throw Error(WARPAES_ERROR_BUFFER_TOO_SMALL, "output_capacity: this call writes " + std::to_string(needed) +
                                                        " bytes, there is room for " + std::to_string(capacity));
    }
}

bool has_key_stream(Mode mode) {
    return mode == Mode::ctr || mode == Mode::ofb || mode == Mode::cfb128;
}

/// Runs `run` and gives the chaining value after it, wherever its buffers lie.
Block run_and_chain(Executor& executor, const MessageGroup& run) {
    if (!executor.on_device()) {
        const ChainAfter after(run);
        executor.run(run);
        return after.value(run);
    }
    // The last 16 bytes on either side, fetched to where the host can look at them.
    const std::uint64_t bytes = run.mode == Mode::cfb1 ? run.length / 8 : run.length;
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, block_bytes));
    Secret<Block> in, out;
    MessageGroup tail = run;
    tail.input = Elements::of(in->data());
    tail.output = Elements::of(out->data());
    tail.length = run.mode == Mode::cfb1 ? 8 * n : n;
    executor.read(in->data(), run.input.first + (bytes - n), n);
    executor.run(run);
    executor.read(out->data(), run.output.first + (bytes - n), n);
    if (run.mode == Mode::ctr) return ChainAfter(run).value(run);
    return ChainAfter(tail).value(tail);
}

}  // namespace

void Context::init(Mode mode, Direction direction, const ExpandedKey& key, std::span<const std::uint8_t> iv,
                   bool pkcs7) {
    if (mode == Mode::ccm || mode == Mode::cmac) {
        throw Error(WARPAES_ERROR_ARGUMENT,
                    "mode: there are no contexts for CCM and CMAC; warpaes_crypt takes the whole message at once");
    }
    if (mode == Mode::xts) {
        throw Error(WARPAES_ERROR_ARGUMENT,
                    "mode: there are no contexts for XTS; warpaes_crypt takes any number of whole data units at once");
    }
    if (pkcs7 && !needs_whole_blocks(mode)) {
        throw Error(WARPAES_ERROR_ARGUMENT, "flags: WARPAES_PKCS7 is for ECB and CBC");
    }
    Context next(*engine_);
    next.mode_ = mode;
    next.direction_ = direction;
    next.key_ = &key;
    next.pkcs7_ = pkcs7;
    next.start(iv);
    *this = next;
}

void Context::reset(std::span<const std::uint8_t> iv) {
    if (phase_ == Phase::idle) throw Error(WARPAES_ERROR_STATE, "context: reset before init");
    start(iv);
}

void Context::start(std::span<const std::uint8_t> iv) {
    if (mode_ == Mode::gcm) {
        gcm_ = GcmStream(*engine_, *key_, direction_, iv);
    } else {
        iv_ = checked_iv(mode_, iv);
        *state_ = State{.chain = iv_};
    }
    tag_length_ = 0;
    phase_ = Phase::open;
}

void Context::require_open() const {
    if (phase_ == Phase::idle) throw Error(WARPAES_ERROR_STATE, "context: not initialised; call init first");
    if (phase_ == Phase::done) throw Error(WARPAES_ERROR_STATE, "context: the message has ended; call reset or init");
}

void Context::seek(std::uint64_t offset) {
    require_open();
    if (mode_ != Mode::ctr) throw Error(WARPAES_ERROR_RANGE, "context: only CTR can seek");
    Secret<State> next(State{.chain = add(iv_, offset / block_bytes)});
    if (offset % block_bytes != 0) {
        next_key_stream_block(*next);
        next->used = static_cast<std::size_t>(offset % block_bytes);
    }
    *state_ = *next;
}

MessageGroup Context::run_from(const State& state, const std::uint8_t* input, std::uint8_t* output,
                               std::uint64_t bytes) const {
    return stretch_of(mode_, direction_, *key_, state.chain, input, output, mode_ == Mode::cfb1 ? 8 * bytes : bytes);
}

void Context::update(const std::uint8_t* input, std::size_t length, std::uint8_t* output, std::size_t capacity,
                     std::size_t& written) {
    require_open();
    if (length != 0 && input == nullptr) throw Error(WARPAES_ERROR_ARGUMENT, "input: is null");
    check_memory(input, length, "input");
    Secret<State> next = state_;
    if (needs_whole_blocks(mode_)) {
        update_blocks(*next, input, length, output, capacity, written);
    } else {
        written = length;
        check_capacity(length, capacity);
        if (length != 0 && output == nullptr) throw Error(WARPAES_ERROR_ARGUMENT, "output: is null");
        check_overlap(input, length, output, length);
        if (mode_ == Mode::gcm) {
            GcmStream gcm = gcm_;
            gcm.update(input, length, output);
            gcm_ = gcm;
        } else if (length != 0) {
            update_stream(*next, input, length, output);
        }
    }
    *state_ = *next;
}

void Context::update_blocks(State& state, const std::uint8_t* input, std::size_t length, std::uint8_t* output,
                            std::size_t capacity, std::size_t& written) const {
    const std::size_t total = state.used + length;
    std::size_t whole = total / block_bytes * block_bytes;
    const bool hold_back = pkcs7_ && direction_ == Direction::decrypt;
    if (hold_back && whole == total && whole != 0) whole -= block_bytes;
    written = whole;
    check_capacity(whole, capacity);
    if (whole != 0 && output == nullptr) throw Error(WARPAES_ERROR_ARGUMENT, "output: is null");
    check_overlap(input, length, output, whole);
    if (length == 0) return;
    Executor executor(*engine_, input, whole != 0 ? output : input, std::nullopt);

    const std::size_t kept = total - whole;
    if (whole == 0) {
        executor.read(state.partial.data() + state.used, input, length);
        state.used = kept;
        return;
    }
    Secret<Block> tail;
    executor.read(tail->data(), input + (length - std::min(kept, length)), std::min(kept, length));

    if (state.used == 0) {
        state.chain = run_and_chain(executor, run_from(state, input, output, whole));
    } else if (input == output && !executor.on_device()) {
        // In place, but the blocks lie `used` bytes further on than their input: move it there first.
        std::memmove(output + state.used, input, whole - state.used);
        std::memcpy(output, state.partial.data(), state.used);
        state.chain = run_and_chain(executor, run_from(state, output, output, whole));
    } else if (input == output) {
        throw Error(WARPAES_ERROR_OVERLAP, "output: device memory can be in place only on block boundaries");
    } else {
        const std::size_t missing = block_bytes - state.used;
        Secret<Block> first, result;
        *first = state.partial;
        executor.read(first->data() + state.used, input, missing);
        const MessageGroup run = run_from(state, first->data(), result->data(), block_bytes);
        executor.run_local(run, *first, *result);
        executor.write(output, result->data(), block_bytes);
        state.chain = ChainAfter(run).value(run);
        if (whole > block_bytes) {
            state.chain =
                run_and_chain(executor, run_from(state, input + missing, output + block_bytes, whole - block_bytes));
        }
    }
    state.partial = *tail;
    state.used = kept;
}

void Context::next_key_stream_block(State& state) const {
    Executor executor(*engine_, nullptr, nullptr, std::nullopt);
    executor.encrypt_block(*key_, state.chain, state.partial);
    if (mode_ == Mode::ctr) state.chain = add(state.chain, 1);
    if (mode_ == Mode::ofb) state.chain = state.partial;
}

void Context::update_stream(State& state, const std::uint8_t* input, std::size_t length, std::uint8_t* output) const {
    Executor executor(*engine_, input, output, std::nullopt);

    // The next bytes of the block in hand: `partial` is its key stream from `used` on.
    const auto spend = [&](std::size_t n) {
        Secret<Block> in, out;
        executor.read(in->data() + state.used, input, n);
        for (std::size_t i = 0; i < block_bytes; ++i) {
            (*out)[i] = static_cast<std::uint8_t>((*in)[i] ^ state.partial[i]);
        }
        executor.write(output, out->data() + state.used, n);
        if (mode_ == Mode::cfb128) {
            const Block& ciphertext = direction_ == Direction::encrypt ? *out : *in;
            std::copy_n(ciphertext.begin() + static_cast<std::ptrdiff_t>(state.used), n,
                        state.partial.begin() + static_cast<std::ptrdiff_t>(state.used));
        }
        state.used += n;
        if (state.used == block_bytes) {
            if (mode_ == Mode::cfb128) state.chain = state.partial;
            state.used = 0;
        }
        input += n;
        output += n;
        length -= n;
    };

    if (state.used != 0) spend(std::min(block_bytes - state.used, length));
    const std::size_t whole = has_key_stream(mode_) ? length / block_bytes * block_bytes : length;
    if (whole != 0) {
        state.chain = run_and_chain(executor, run_from(state, input, output, whole));
        input += whole;
        output += whole;
        length -= whole;
    }
    if (length != 0) {
        next_key_stream_block(state);
        spend(length);
    }
}

void Context::final(std::uint8_t* output, std::size_t capacity, std::size_t& written) {
    require_open();
    const State& state = *state_;
    if (!needs_whole_blocks(mode_)) {
        if (mode_ == Mode::gcm) final_gcm();
        phase_ = Phase::done;
        return;
    }
    const bool encrypt = direction_ == Direction::encrypt;
    if (!pkcs7_ || (!encrypt && state.used != block_bytes)) {
        if (pkcs7_ || state.used != 0) {
            throw Error(WARPAES_ERROR_DATA_LENGTH, "input: the message ends " + std::to_string(state.used) +
                                                       " bytes into a block; it must be whole 16-byte blocks" +
                                                       (pkcs7_ ? ", at least one" : ""));
        }
        phase_ = Phase::done;
        return;
    }
    Secret<Block> last(state.partial), result;
    if (encrypt) {
        written = block_bytes;
        check_capacity(block_bytes, capacity);
        pkcs7_pad(*last, state.used);
    }
    Executor executor(*engine_, output, output, std::nullopt);
    executor.run_local(run_from(state, last->data(), result->data(), block_bytes), *last, *result);
    std::size_t n = block_bytes;
    if (!encrypt) {
        n = pkcs7_unpad(*result);
        if (n == block_bytes) {
            throw Error(WARPAES_ERROR_PADDING, "input: the padding is wrong: wrong key, wrong IV or damaged data");
        }
        written = n;
        check_capacity(n, capacity);
    }
    if (n != 0 && output == nullptr) throw Error(WARPAES_ERROR_ARGUMENT, "output: is null");
    executor.write(output, result->data(), n);
    phase_ = Phase::done;
}

void Context::require_gcm() const {
    if (phase_ == Phase::idle) throw Error(WARPAES_ERROR_STATE, "context: not initialised; call init first");
    if (mode_ != Mode::gcm) throw Error(WARPAES_ERROR_STATE, "context: only GCM has associated data and a tag");
}

void Context::aad(const std::uint8_t* data, std::size_t length) {
    require_gcm();
    require_open();
    if (length != 0 && data == nullptr) throw Error(WARPAES_ERROR_ARGUMENT, "aad: is null");
    check_memory(data, length, "aad");
    GcmStream next = gcm_;
    next.aad(data, length);
    gcm_ = next;
}

void Context::get_tag(std::span<std::uint8_t> tag) const {
    require_gcm();
    check_tag_length(Mode::gcm, tag.size());
    if (direction_ == Direction::decrypt) {
        throw Error(WARPAES_ERROR_STATE, "context: decryption gives no tag; set_tag says which to expect");
    }
    if (phase_ != Phase::done) throw Error(WARPAES_ERROR_STATE, "context: the tag is there after final");
    std::copy_n(tag_->begin(), tag.size(), tag.begin());
}

void Context::set_tag(std::span<const std::uint8_t> tag) {
    require_gcm();
    require_open();
    check_tag_length(Mode::gcm, tag.size());
    if (direction_ == Direction::encrypt) {
        throw Error(WARPAES_ERROR_STATE, "context: encryption makes the tag; get_tag gives it after final");
    }
    std::copy(tag.begin(), tag.end(), tag_->begin());
    tag_length_ = tag.size();
}

void Context::final_gcm() {
    if (direction_ == Direction::encrypt) {
        tag_ = gcm_.tag();
        return;
    }
    if (tag_length_ == 0) throw Error(WARPAES_ERROR_STATE, "context: set_tag must come before final");
    const Secret<Block> tag = gcm_.tag();
    phase_ = Phase::done;
    compare_tags(*tag, std::span(*tag_).first(tag_length_));
}

}  // namespace warpaes
