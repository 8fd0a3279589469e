#include "message/message.hpp"

#include <algorithm>
#include <string>

#include "aes/counter.hpp"
#include "aes/ghash.hpp"
#include "aes/pkcs7.hpp"
#include "base/clean_stack.hpp"
#include "base/error.hpp"
#include "engine/chain.hpp"
#include "engine/pipeline/memory.hpp"
#include "message/checks.hpp"
#include "message/executor.hpp"
#include "message/short.hpp"
#include "message/tagged.hpp"
#include "message/xts.hpp"

namespace warpaes {

namespace {

void check_flags(const MessageRequest& r) {
    const auto address = [](const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); };
    check_fields(static_cast<int>(r.mode),
                 {.tagged = (address(r.aad) | r.aad_length | address(r.tag) | r.tag_length) != 0,
                  .data_units = (address(r.tweak_key) | r.data_unit_length | r.data_unit_step) != 0});
    if (!r.pkcs7 && !r.length_in_bits && !r.range) return;
    if (r.pkcs7 && !needs_whole_blocks(r.mode)) {
        throw Error(WARPAES_ERROR_ARGUMENT, "flags: WARPAES_PKCS7 is for ECB and CBC");
    }
    if (r.length_in_bits && r.mode != Mode::cfb1) {
        throw Error(WARPAES_ERROR_ARGUMENT,
                    "flags: WARPAES_LENGTH_IN_BITS is for CFB1; XTS and CTR of a number of bits are not there: of CTR "
                    "take whole bytes, and leave the last bits of the result aside");
    }
    if (!r.range) return;
    if (uses_tag(r.mode)) {
        throw Error(WARPAES_ERROR_RANGE, "range: a message with a tag is authenticated as a whole");
    }
    if (r.pkcs7 || r.length_in_bits) {
        throw Error(WARPAES_ERROR_ARGUMENT, "flags: WARPAES_RANGE goes with neither PKCS7 nor LENGTH_IN_BITS");
    }
    if (!is_parallel(r.mode, r.direction)) {
        throw Error(WARPAES_ERROR_RANGE, "range: this mode and direction can only start at the beginning of a message");
    }
    if (r.range->offset > r.input_length || r.range->length > r.input_length - r.range->offset) {
        throw Error(WARPAES_ERROR_RANGE, "range: bytes " + std::to_string(r.range->offset) + " + " +
                                             std::to_string(r.range->length) + " are outside the message of " +
                                             std::to_string(r.input_length) + " bytes");
    }
}

void check_data_length(const MessageRequest& r) {
    if (r.length_in_bits) return;
    check_longest(r.mode, r.input_length, r.iv.size(), "input_len");
    if (!needs_whole_blocks(r.mode)) return;
    if (r.pkcs7 && r.direction == Direction::encrypt) return;
    if (r.input_length % block_bytes != 0) {
        throw Error(WARPAES_ERROR_DATA_LENGTH, "input_len: must be a multiple of 16 for ECB and CBC, got " +
                                                   std::to_string(r.input_length) +
                                                   " (WARPAES_PKCS7 pads a message when encrypting; CBC with "
                                                   "ciphertext stealing is not there)");
    }
    if (r.pkcs7 && r.input_length == 0) {
        throw Error(WARPAES_ERROR_DATA_LENGTH, "input_len: a padded message has at least one block, got 0 bytes");
    }
}

/// The size of the output in the unit of input_length. Decrypted padding makes the real output 1 to 16 bytes shorter.
std::uint64_t output_length(const MessageRequest& r) {
    if (r.range) return r.range->length;
    if (r.mode == Mode::cmac) return 0;
    if (r.pkcs7 && r.direction == Direction::encrypt) return r.input_length / block_bytes * block_bytes + block_bytes;
    return r.input_length;
}

/// The group for the whole message; `chain` must outlive it.
MessageGroup whole(const MessageRequest& r, const Block& chain) {
    return stretch_of(r.mode, r.direction, *r.key, chain, r.input, r.output, r.input_length);
}

/// Processes a whole message of ECB or CBC with PKCS#7 padding.
void crypt_padded(Executor& executor, const MessageRequest& r, const Block& iv, MessageResult& result) {
    const bool encrypt = r.direction == Direction::encrypt;
    const std::uint64_t body = encrypt ? r.input_length / block_bytes * block_bytes : r.input_length - block_bytes;
    const auto rest = static_cast<std::size_t>(r.input_length - body);

    Secret<Block> chain(iv), last, out;
    MessageGroup run = whole(r, *chain);
    run.length = body;
    executor.read(last->data(), r.input + body, rest);
    if (encrypt) pkcs7_pad(*last, rest);

    // The last block chains on the ciphertext block before it. That block is input on decryption, which may overwrite
    // it, and output on encryption.
    const bool chained = body != 0 && r.mode == Mode::cbc;
    Block previous{};
    if (chained && !encrypt) executor.read(previous.data(), r.input + body - block_bytes, block_bytes);
    const ReadyToClear ready = executor.ready_to_clear(r.direction, body);
    executor.run(run);
    if (chained && encrypt) executor.read(previous.data(), r.output + body - block_bytes, block_bytes);
    if (chained) *chain = previous;
    executor.run_local(run, *last, *out);
    if (encrypt) {
        executor.write(r.output + body, out->data(), block_bytes);
        result.output_length = body + block_bytes;
        return;
    }
    const std::size_t kept = pkcs7_unpad(*out);
    if (kept == block_bytes) {
        executor.clear(r.output, r.input_length);
        result.refusal = wrong_padding;
        return;
    }
    executor.write(r.output + body, out->data(), kept);
    result.output_length = body + kept;
}

/// Produces bytes [offset, offset + length) of the result: whole blocks go straight to the output, the partial block at
/// either end goes through a local block.
void crypt_range(Executor& executor, const MessageRequest& r, const Block& iv, bool may_wait) {
    const std::uint64_t unit = (r.mode == Mode::cfb8 || r.mode == Mode::cfb1) ? 1 : block_bytes;
    std::uint64_t at = r.range->offset;
    const std::uint64_t end = at + r.range->length;
    std::uint8_t* out = r.output;

    const auto chain_for = [&](std::uint64_t offset) {
        std::array<std::uint8_t, block_bytes> before{};
        const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(offset, block_bytes));
        if (chains_on_ciphertext(r.mode, r.direction)) executor.read(before.data(), r.input + offset - n, n);
        return chain_at(r.mode, iv, offset, {before.data(), n});
    };
    Block chain{};
    const auto partial_block = [&](std::uint64_t start, std::uint64_t stop) {
        const std::uint64_t block_at = start / block_bytes * block_bytes;
        const auto available =
            static_cast<std::size_t>(std::min<std::uint64_t>(block_bytes, r.input_length - block_at));
        Secret<Block> in, plain;
        executor.read(in->data(), r.input + block_at, available);
        chain = chain_for(block_at);
        executor.run_local(whole(r, chain), *in, *plain);
        executor.write(out, plain->data() + (start - block_at), static_cast<std::size_t>(stop - start));
        out += stop - start;
    };

    const std::uint64_t first_whole = (at + unit - 1) / unit * unit;
    const bool ends_in_block = needs_whole_blocks(r.mode) && end % unit != 0;
    if (!may_wait && (at % unit != 0 || ends_in_block)) {
        throw Error(WARPAES_ERROR_RANGE, "range: an asynchronous call takes ranges of whole 16-byte blocks");
    }
    if (at < first_whole && at < end) {
        const std::uint64_t stop = std::min(first_whole, end);
        partial_block(at, stop);
        at = stop;
    }
    const std::uint64_t whole_end = ends_in_block ? end / unit * unit : end;
    if (at < whole_end) {
        chain = chain_for(at);
        executor.run(stretch_of(r.mode, r.direction, *r.key, chain, r.input + at, out,
                                (whole_end - at) * (r.mode == Mode::cfb1 ? 8 : 1)));
        out += whole_end - at;
        at = whole_end;
    }
    if (at < end) partial_block(at, end);
}

}  // namespace

Block checked_iv(Mode mode, std::span<const std::uint8_t> iv) {
    check_iv_length(mode, iv.size(), "iv");
    Block block{};
    std::copy(iv.begin(), iv.end(), block.begin());
    return block;
}

void refuse_overlap() {
    throw Error(WARPAES_ERROR_OVERLAP,
                "output: overlaps input without being the same buffer; use equal or separate buffers");
}

namespace {

/// Where all addresses and lengths are below 2^48, no buffer reaches beyond the end of memory: one comparison covers
/// all of them.
void check_all_memory(const MessageRequest& r, std::uint64_t input_bytes, std::uint64_t output_bytes) {
    const auto address = [](const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); };
    const std::uint64_t all = address(r.input) | address(r.output) | address(r.iv.data()) | address(r.aad) |
                              address(r.tag) | input_bytes | output_bytes | r.iv.size() | r.aad_length | r.tag_length;
    if (all >> 48 == 0) return;
    check_memory(r.input, input_bytes, "input");
    check_memory(r.output, output_bytes, "output");
    check_memory(r.iv.data(), r.iv.size(), "iv");
    check_memory(r.aad, r.aad_length, "aad");
    check_memory(r.tag, r.tag_length, "tag");
}

/// Makes all checks that do not depend on where the buffers lie. Sets `result.output_length`.
void check(const MessageRequest& r, MessageResult& result, bool may_wait) {
    check_iv_length(r.mode, r.iv.size(), "iv");
    if (uses_tag(r.mode)) {
        check_tag_length(r.mode, r.tag_length);
        check_aad_length(r.mode, r.aad_length);
    }
    check_flags(r);
    check_data_length(r);
    if (r.mode == Mode::xts) {
        check_xts(r.key, r.tweak_key, {r.data_unit_length, r.data_unit_step}, r.input_length, "input_len");
        if (r.range) check_xts_range(r);
    }
    result.output_length = output_length(r);
    const auto bytes_of = [&](std::uint64_t length) {
        return r.length_in_bits ? length / 8 + (length % 8 != 0) : length;
    };
    const std::uint64_t input_bytes = bytes_of(r.input_length), output_bytes = bytes_of(result.output_length);
    if (r.input == nullptr && input_bytes != 0) throw Error(WARPAES_ERROR_ARGUMENT, "input: is null");
    if (r.output == nullptr && output_bytes != 0) throw Error(WARPAES_ERROR_ARGUMENT, "output: is null");
    check_all_memory(r, input_bytes, output_bytes);
    if (r.output_capacity < output_bytes) {
        throw Error(WARPAES_ERROR_BUFFER_TOO_SMALL, "output_capacity: the output takes " +
                                                        std::to_string(output_bytes) + " bytes, there is room for " +
                                                        std::to_string(r.output_capacity));
    }
    if (r.range && r.input == r.output && output_bytes != 0) {
        throw Error(WARPAES_ERROR_OVERLAP, "output: a range is never in place; use a separate buffer");
    }
    check_overlap(r.input, input_bytes, r.output, output_bytes);
    if (!may_wait && r.pkcs7) {
        throw Error(WARPAES_ERROR_ARGUMENT, "flags: an asynchronous call does not pad");
    }
    if (uses_tag(r.mode)) check_tagged(r);
    if (r.device_status != nullptr && (may_wait || !uses_tag(r.mode) || r.direction == Direction::encrypt)) {
        throw Error(WARPAES_ERROR_ARGUMENT,
                    "device_status: is for warpaes_crypt_async, where it decrypts a message with a tag; here the call "
                    "returns the status");
    }
}

/// Returns WARPAES_NOTE_COUNTER_WRAPPED or 0. Must be called before the output is written, because the IV may lie in
/// it.
std::uint32_t wrapped_counter(const MessageRequest& r) {
    if (r.mode != Mode::ctr || r.iv[0] != 0xff) return 0;
    const std::uint64_t end = r.range ? r.range->offset + r.range->length : r.input_length;
    Block first;
    std::copy_n(r.iv.data(), block_bytes, first.begin());
    return wraps(first, blocks_of(end)) ? std::uint32_t{WARPAES_NOTE_COUNTER_WRAPPED} : 0;
}

/// Carries out a checked message of any length in memory of any kind.
void crypt_any(Engine& engine, const MessageRequest& r, MessageResult& result, std::optional<CallerStream> stream) {
    if (uses_tag(r.mode)) return crypt_tagged(engine, r, result, stream);
    const Block iv = checked_iv(r.mode, r.iv);
    Executor executor(engine, r.input, r.output, stream, r.input_device);
    if (r.pkcs7) {
        crypt_padded(executor, r, iv, result);
    } else if (r.mode == Mode::xts) {
        const Block number = xts_chain_at(iv, r.range ? r.range->offset : 0, xts_units_of(r));
        executor.run(xts_units(r, number));
    } else if (r.range) {
        crypt_range(executor, r, iv, !stream);
    } else {
        MessageGroup message = whole(r, iv);
        if (r.mode == Mode::cfb1 && !r.length_in_bits) message.length *= 8;
        executor.run(message);
    }
    result.add(executor.ran());
}

}  // namespace

void crypt(Engine& engine, const MessageRequest& r, MessageResult& result) {
    check(r, result, true);
    const std::uint32_t note = wrapped_counter(r);
    if (!crypt_short(engine, r, result)) clean_stack([&] { crypt_any(engine, r, result, std::nullopt); });
    result.notes |= note;
}

void crypt_async(Engine& engine, const MessageRequest& r, MessageResult& result, CallerStream stream) {
    check(r, result, false);
    if (result.output_length == 0 && !uses_tag(r.mode)) return;  // nothing to enqueue, and no buffer that says where
    const std::uint32_t note = wrapped_counter(r);
    clean_stack([&] { crypt_any(engine, r, result, stream); });
    result.notes |= note;
}

}  // namespace warpaes
