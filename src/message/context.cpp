#include "message/context.hpp"

#include <algorithm>
#include <string>

#include "aes/counter.hpp"
#include "aes/pkcs7.hpp"
#include "aes/xts.hpp"
#include "base/error.hpp"
#include "engine/chain.hpp"
#include "engine/run/executor.hpp"
#include "message/checks.hpp"
#include "message/xts.hpp"

namespace warpaes {

namespace {

void check_capacity(std::size_t needed, std::size_t capacity) {
    if (capacity < needed) {
        throw Error(WARPAES_ERROR_BUFFER_TOO_SMALL, "output_capacity: this call writes " + std::to_string(needed) +
                                                        " bytes, but the buffer has " + std::to_string(capacity));
    }
}

Contexts contexts_of(Mode mode) {
    return traits_of(mode).kind.contexts;
}

bool has_key_stream(Mode mode) {
    return mode == Mode::ctr || mode == Mode::ofb || mode == Mode::cfb128;
}

}  // namespace

void Context::init(const ContextKind& kind) {
    if (contexts_of(kind.mode) == Contexts::none) refuse_mode(static_cast<int>(kind.mode));
    if (kind.pkcs7 && !needs_whole_blocks(kind.mode)) {
        throw Error(WARPAES_ERROR_ARGUMENT, "flags: WARPAES_PKCS7 applies only to ECB and CBC");
    }
    check_xts_step(kind.data_units.step);
    if (kind.data_units.bytes != 0 && !is_xts_unit(kind.data_units.bytes)) {
        throw Error(WARPAES_ERROR_ARGUMENT, "data_unit_len: must be 16 to 2^24 bytes, or 0 for one unit, got " +
                                                std::to_string(kind.data_units.bytes));
    }
    const CcmStream::Lengths& l = kind.lengths;
    if (kind.mode != Mode::ccm && (l.text | l.aad | l.tag) != 0) {
        throw Error(WARPAES_ERROR_ARGUMENT, "text_len, aad_len, tag_len: apply only to CCM");
    }
    if (kind.mode == Mode::ccm) check_tag_length(Mode::ccm, l.tag);
    Context next(*engine_);
    next.kind_ = kind;
    next.phase_ = Phase::ready;
    *this = next;
}

void Context::set_key(const ExpandedKey& key, const ExpandedKey* tweak_key) {
    if (phase_ == Phase::idle) throw Error(WARPAES_ERROR_STATE, "context: is not initialised; call init first");
    if (kind_.mode == Mode::xts) {
        check_xts_keys(key, tweak_key);
    } else if (tweak_key != nullptr) {
        throw Error(WARPAES_ERROR_ARGUMENT, "tweak_key: applies only to XTS");
    }
    Context next(*engine_);
    next.kind_ = kind_;
    next.key_ = &key;
    next.tweak_key_ = tweak_key;
    next.phase_ = Phase::ready;
    *this = next;
}

void Context::set_iv(std::span<const std::uint8_t> iv) {
    if (phase_ == Phase::idle) throw Error(WARPAES_ERROR_STATE, "context: is not initialised; call init first");
    if (key_ == nullptr) throw Error(WARPAES_ERROR_STATE, "context: has no key; call set_key first");
    switch (contexts_of(kind_.mode)) {
    case Contexts::gcm:
        gcm_ = GcmStream(*engine_, *key_, kind_.direction, iv);
        break;
    case Contexts::ccm:
        ccm_ = CcmStream(*engine_, *key_, iv, kind_.lengths);
        *state_ = State{.chain = ccm_.first_counter()};
        break;
    case Contexts::mac:
        check_iv_length(kind_.mode, iv.size(), "iv");
        mac_ = MacStream(*engine_, *key_);
        break;
    case Contexts::units: {
        const Block chain = checked_iv(kind_.mode, iv);
        MessageGroup shape = stretch_of(kind_.mode, kind_.direction, *key_, chain, nullptr, nullptr, 0);
        shape.tweak_key = tweak_key_;
        shape.data_units = kind_.data_units;
        units_ = UnitStream(*engine_, shape, chain, kind_.pkcs7 && kind_.direction == Direction::decrypt);
        break;
    }
    case Contexts::stream:
        iv_ = checked_iv(kind_.mode, iv);
        *state_ = State{.chain = iv_};
        break;
    case Contexts::none:
        break;
    }
    tag_length_ = 0;
    phase_ = Phase::open;
}

Block Context::iv() const {
    require_open();
    const Contexts contexts = contexts_of(kind_.mode);
    if (!uses_iv(kind_.mode) || (contexts != Contexts::units && contexts != Contexts::stream)) {
        throw Error(WARPAES_ERROR_STATE, "context: this mode has no IV with which a message could continue");
    }
    if (contexts == Contexts::units) return units_.chain();
    if (state_->used != 0) {
        throw Error(WARPAES_ERROR_STATE,
                    "context: is " + std::to_string(state_->used) + " bytes into a block, so there is no current IV");
    }
    return state_->chain;
}

void Context::require_open() const {
    if (phase_ == Phase::idle) throw Error(WARPAES_ERROR_STATE, "context: is not initialised; call init first");
    if (phase_ == Phase::ready) throw Error(WARPAES_ERROR_STATE, "context: has no message; call set_iv first");
    if (phase_ == Phase::done) throw Error(WARPAES_ERROR_STATE, "context: the message has ended; call set_iv or init");
}

void Context::seek(std::uint64_t offset) {
    require_open();
    if (kind_.mode != Mode::ctr) throw Error(WARPAES_ERROR_RANGE, "context: only CTR can seek");
    Secret<State> next(State{.chain = add(iv_, offset / block_bytes)});
    if (offset % block_bytes != 0) {
        next_key_stream_block(*next);
        next->used = static_cast<std::size_t>(offset % block_bytes);
    }
    *state_ = *next;
}

MessageGroup Context::run_from(const State& state, const std::uint8_t* input, std::uint8_t* output,
                               std::uint64_t bytes) const {
    return stretch_of(stretch_mode(), kind_.direction, *key_, state.chain, input, output, bytes);
}

void Context::update(const std::uint8_t* input, std::size_t length, std::uint8_t* output, std::size_t capacity,
                     std::size_t& written) {
    require_open();
    if (length != 0 && input == nullptr) throw Error(WARPAES_ERROR_ARGUMENT, "input: is null");
    check_memory(input, length, "input");
    const Contexts contexts = contexts_of(kind_.mode);
    if (contexts == Contexts::mac) return change(mac_, [&](auto& next) { next.update(input, length); });
    written = contexts == Contexts::units ? static_cast<std::size_t>(units_.output_of(length)) : length;
    check_capacity(written, capacity);
    if (written != 0 && output == nullptr) throw Error(WARPAES_ERROR_ARGUMENT, "output: is null");
    check_overlap(input, length, output, written);
    if (length == 0) return;
    const auto step = [&](auto& next) { next.update(input, length, output); };
    switch (contexts) {
    case Contexts::gcm:
        return change(gcm_, step);
    case Contexts::ccm:
        return change(ccm_, [&](auto& next) { update_ccm(next, input, length, output); });
    case Contexts::units:
        return change(units_, step);
    case Contexts::stream:
        return change(state_, [&](auto& next) { update_stream(*next, input, length, output); });
    case Contexts::mac:
    case Contexts::none:
        break;
    }
}

/// The MAC covers the plaintext. When working in place, the plaintext exists before encryption and after decryption.
void Context::update_ccm(CcmStream& ccm, const std::uint8_t* input, std::size_t length, std::uint8_t* output) {
    ccm.check_text(length);
    if (kind_.direction == Direction::encrypt) ccm.text(input, length);
    change(state_, [&](auto& next) {
        update_stream(*next, input, length, output);
        if (kind_.direction == Direction::decrypt) ccm.text(output, length);
    });
}

void Context::next_key_stream_block(State& state) const {
    encrypt_block(*engine_, *key_, state.chain, state.partial);
    if (stretch_mode() == Mode::ctr) state.chain = add(state.chain, 1);
    if (kind_.mode == Mode::ofb) state.chain = state.partial;
}

void Context::update_stream(State& state, const std::uint8_t* input, std::size_t length, std::uint8_t* output) const {
    Executor executor(*engine_, input, output);

    // Processes the next `n` bytes of the current block; `partial` contains its unused key stream, starting at `used`.
    const auto spend = [&](std::size_t n) {
        if (state.used == 0) next_key_stream_block(state);
        Secret<Block> in, out;
        executor.copy(in->data() + state.used, input, n);
        *out = *in ^ state.partial;
        executor.copy(output, out->data() + state.used, n);
        if (kind_.mode == Mode::cfb128) {
            const Block& ciphertext = kind_.direction == Direction::encrypt ? *out : *in;
            std::copy_n(ciphertext.begin() + static_cast<std::ptrdiff_t>(state.used), n,
                        state.partial.begin() + static_cast<std::ptrdiff_t>(state.used));
        }
        state.used += n;
        if (state.used == block_bytes) {
            if (kind_.mode == Mode::cfb128) state.chain = state.partial;
            state.used = 0;
        }
        input += n;
        output += n;
    };
    const auto run = [&](std::uint64_t n) {
        state.chain = executor.run_and_chain(run_from(state, input, output, n));
        input += n;
        output += n;
    };
    has_key_stream(stretch_mode()) ? by_blocks(state.used, length, spend, run) : run(length);
}

Refusal Context::final(std::uint8_t* output, std::size_t capacity, std::size_t& written) {
    require_open();
    if (uses_tag(kind_.mode)) return final_tagged();
    if (kind_.mode == Mode::xts) {
        written = units_.waiting().size();
        check_capacity(written, capacity);
        if (written != 0 && output == nullptr) throw Error(WARPAES_ERROR_ARGUMENT, "output: is null");
        UnitStream last = units_;
        last.final(output);
    }
    if (needs_whole_blocks(kind_.mode)) {
        if (const Refusal refusal = final_block(output, capacity, written)) return refusal;
    }
    phase_ = Phase::done;
    return {};
}

Refusal Context::final_block(std::uint8_t* output, std::size_t capacity, std::size_t& written) const {
    const bool encrypt = kind_.direction == Direction::encrypt;
    const auto waiting = units_.waiting();
    if (kind_.pkcs7 ? !encrypt && waiting.size() != block_bytes : !waiting.empty()) {
        throw Error(WARPAES_ERROR_DATA_LENGTH, "input: the message ends " + std::to_string(waiting.size()) +
                                                   " bytes into a block; it must be complete 16-byte blocks" +
                                                   (kind_.pkcs7 ? ", at least one" : ""));
    }
    if (!kind_.pkcs7) return {};
    Secret<Block> last, result;
    std::copy(waiting.begin(), waiting.end(), last->begin());
    if (encrypt) {
        written = block_bytes;
        check_capacity(block_bytes, capacity);
        pkcs7_pad(*last, waiting.size());
    }
    units_.last_block(*last, *result, output);
    std::size_t n = block_bytes;
    if (!encrypt) {
        n = pkcs7_unpad(*result);
        if (n == block_bytes) return wrong_padding;
        written = n;
        check_capacity(n, capacity);
    }
    if (n != 0 && output == nullptr) throw Error(WARPAES_ERROR_ARGUMENT, "output: is null");
    copy_anywhere(output, result->data(), n);
    return {};
}

void Context::require_tagged() const {
    if (phase_ == Phase::idle) throw Error(WARPAES_ERROR_STATE, "context: is not initialised; call init first");
    if (!uses_tag(kind_.mode))
        throw Error(WARPAES_ERROR_STATE, "context: has no tag; only " + names_of_tagged(true) + " have one");
}

void Context::aad(const std::uint8_t* data, std::size_t length) {
    require_tagged();
    const ModeTraits& mode = traits_of(kind_.mode);
    if (mode.most_aad == 0)
        throw Error(WARPAES_ERROR_STATE, std::string("context: ") + mode.name + " has no associated data");
    require_open();
    if (length != 0 && data == nullptr) throw Error(WARPAES_ERROR_ARGUMENT, "aad: is null");
    check_memory(data, length, "aad");
    const auto add = [&](auto& next) { next.aad(data, length); };
    kind_.mode == Mode::ccm ? change(ccm_, add) : change(gcm_, add);
}

/// Throws Error{ARGUMENT} if the mode does not allow the length or, for CCM, if the length differs from the announced
/// length.
void Context::check_tag(std::size_t length) const {
    check_tag_length(kind_.mode, length);
    if (kind_.mode == Mode::ccm && length != kind_.lengths.tag) {
        throw Error(WARPAES_ERROR_ARGUMENT, "length: tag_len is " + std::to_string(kind_.lengths.tag) + " bytes, got " +
                                                std::to_string(length));
    }
}

void Context::get_tag(std::span<std::uint8_t> tag) const {
    require_tagged();
    check_tag(tag.size());
    if (kind_.direction == Direction::decrypt) {
        throw Error(WARPAES_ERROR_STATE, "context: decryption returns no tag; set_tag sets the expected one");
    }
    if (phase_ != Phase::done) throw Error(WARPAES_ERROR_STATE, "context: the tag is available after final");
    std::copy_n(tag_->begin(), tag.size(), tag.begin());
}

void Context::set_tag(std::span<const std::uint8_t> tag) {
    require_tagged();
    require_open();
    check_tag(tag.size());
    if (kind_.direction == Direction::encrypt) {
        throw Error(WARPAES_ERROR_STATE, "context: encryption computes the tag; get_tag returns it after final");
    }
    std::copy(tag.begin(), tag.end(), tag_->begin());
    tag_length_ = tag.size();
}

Secret<Block> Context::made_tag() const {
    const Contexts contexts = contexts_of(kind_.mode);
    return contexts == Contexts::gcm ? gcm_.tag() : contexts == Contexts::ccm ? ccm_.tag() : mac_.cmac();
}

Refusal Context::final_tagged() {
    if (kind_.direction == Direction::encrypt) {
        tag_ = made_tag();
        phase_ = Phase::done;
        return {};
    }
    if (tag_length_ == 0) throw Error(WARPAES_ERROR_STATE, "context: set_tag must come before final");
    const Secret<Block> tag = made_tag();
    phase_ = Phase::done;
    return is_tag(*tag, std::span(*tag_).first(tag_length_)) ? Refusal{} : wrong_tag;
}

}  // namespace warpaes
