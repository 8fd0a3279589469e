#include "message/message.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "aes/counter.hpp"
#include "aes/ghash.hpp"
#include "aes/siv.hpp"
#include "base/clean_stack.hpp"
#include "base/error.hpp"
#include "engine/run/executor.hpp"
#include "message/checks.hpp"
#include "message/composed.hpp"
#include "message/short.hpp"
#include "message/xts.hpp"

namespace warpaes {

namespace {

void check_padding_and_range(const Request& r) {
    const MessageGroup& m = r.message;
    if (r.pkcs7 && !needs_whole_blocks(m.mode)) {
        throw Error(WARPAES_ERROR_ARGUMENT, "flags: WARPAES_PKCS7 applies only to ECB and CBC");
    }
    if (!r.range) return;
    if (uses_tag(m.mode)) {
        throw Error(WARPAES_ERROR_RANGE,
                    "range: does not apply to a mode with a tag, which authenticates the complete message");
    }
    if (r.pkcs7)
        throw Error(WARPAES_ERROR_ARGUMENT, "flags: WARPAES_RANGE cannot be combined with PKCS7 or LENGTH_IN_BITS");
    if (!is_parallel(m.mode, m.direction)) {
        throw Error(WARPAES_ERROR_RANGE, "range: this mode and direction can only start at the beginning of a message");
    }
    if (r.range->offset > m.length || r.range->length > m.length - r.range->offset) {
        throw Error(WARPAES_ERROR_RANGE, "range: bytes " + std::to_string(r.range->offset) + " + " +
                                             std::to_string(r.range->length) + " are outside the message of " +
                                             std::to_string(m.length) + " bytes");
    }
}

/// Checks the keys for modes that no backend implements.
void check_keys(const Request& r) {
    const MessageGroup& m = r.message;
    if (m.key->bits() == 192 && !traits_of(m.mode).aes_192 && m.mode != Mode::xts) {
        throw Error(WARPAES_ERROR_KEY_LENGTH, std::string("key: is an AES-192 key, which ") + traits_of(m.mode).name +
                                                  " does not support; use 16 or 32 bytes");
    }
    if (m.mode != Mode::siv) return;
    if (r.mac_key == nullptr) throw Error(WARPAES_ERROR_ARGUMENT, "mac_key: is null; SIV requires two keys");
    if (r.mac_key->bits() != m.key->bits()) {
        throw Error(WARPAES_ERROR_KEY_LENGTH, "mac_key: has " + std::to_string(r.mac_key->bytes().size()) +
                                                  " bytes, but key has " + std::to_string(m.key->bytes().size()));
    }
}

void check_data_length(const Request& r) {
    const MessageGroup& m = r.message;
    if (is_composed(m.mode)) return check_composed_length(m.mode, m.direction, m.length);
    // 2^64 - 1 bits would be more bytes than any buffer has; check_all_memory() reports that fault.
    if (m.unused_bits == 0) check_longest(m.mode, m.length, m.iv_length, "input_len");
    if (!needs_whole_blocks(m.mode)) return;
    if (r.pkcs7 && m.direction == Direction::encrypt) return;
    if (m.length % block_bytes != 0) {
        throw Error(
            WARPAES_ERROR_DATA_LENGTH,
            "input_len: must be a multiple of 16 for ECB and CBC, got " + std::to_string(m.length) +
                " (WARPAES_PKCS7 pads a message when encrypting; CBC with ciphertext stealing is not supported)");
    }
    if (r.pkcs7 && m.length == 0) {
        throw Error(WARPAES_ERROR_DATA_LENGTH,
                    "input_len: must be at least one block for a padded message, got 0 bytes");
    }
}

/// Returns the maximum size of the output, which is shorter if padding is removed.
std::uint64_t output_length(const Request& r) {
    const MessageGroup& m = r.message;
    const ModeTraits& mode = traits_of(m.mode);
    if (r.range) return r.range->length;
    if (!has_output(m.mode)) return 0;
    if (m.direction == Direction::decrypt) return m.length - mode.growth;
    if (r.pkcs7) return m.length / block_bytes * block_bytes + block_bytes;
    return round_up(m.length, mode.sealed_unit) + mode.growth;
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

/// Checks that no buffer extends past the end of memory. If all addresses and lengths are below 2^48, one comparison
/// covers all of them.
void check_all_memory(const Request& r, std::uint64_t output_bytes) {
    const MessageGroup& m = r.message;
    const auto address = [](const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); };
    const std::uint64_t all = address(m.input.first) | address(m.output.first) | address(m.iv.first) |
                              address(m.aad.first) | address(m.tag.first) | m.length | output_bytes | m.iv_length |
                              m.aad_length | m.tag_length;
    if (all >> 48 == 0) return;
    check_memory(m.input.first, m.length, "input");
    check_memory(m.output.first, output_bytes, "output");
    check_memory(m.iv.first, m.iv_length, "iv");
    check_memory(m.aad.first, m.aad_length, "aad");
    check_memory(m.tag.first, m.tag_length, "tag");
}

/// Throws Error{ARGUMENT}, Error{OVERLAP} or Error{DATA_LENGTH} if the associated data or the tag is missing or
/// invalid, or if the tag is inside the output.
void check_tagged(const Request& r) {
    const MessageGroup& m = r.message;
    if (m.aad.first == nullptr && m.aad_length != 0) throw Error(WARPAES_ERROR_ARGUMENT, "aad: is null");
    if (m.tag.first == nullptr) throw Error(WARPAES_ERROR_ARGUMENT, "tag: is null");
    if (has_output(m.mode) && overlap(m.tag.first, m.tag_length, m.output.first, m.length)) {
        throw Error(WARPAES_ERROR_OVERLAP, "tag: is inside the output");
    }
    const std::uint64_t most = siv_most_components - 1 - (m.iv.first != nullptr ? 1 : 0);
    if (r.aad_list.size() > most) {
        throw Error(WARPAES_ERROR_ARGUMENT, "aad_count: at most " + std::to_string(most) + " parts, with iv " +
                                                std::to_string(siv_most_components - 1) + ", got " +
                                                std::to_string(r.aad_list.size()));
    }
    for (const warpaes_part& part : r.aad_list) {
        check_aad_length(m.mode, part.length);
        if (part.data == nullptr && part.length != 0) throw Error(WARPAES_ERROR_ARGUMENT, "aad: is null");
        check_memory(part.data, part.length, "aad");
    }
}

/// Performs all checks that do not depend on the location of the buffers. Sets `result.output_length`.
void check(const Request& r, MessageResult& result, bool may_wait) {
    const MessageGroup& m = r.message;
    check_iv_length(m.mode, m.iv_length, "iv");
    if (uses_tag(m.mode)) {
        check_tag_length(m.mode, m.tag_length);
        check_aad_length(m.mode, m.aad_length);
    }
    check_padding_and_range(r);
    check_keys(r);
    check_data_length(r);
    if (m.mode == Mode::xts) {
        check_xts(m.key, m.tweak_key, m.data_units, m.length, "input_len");
        if (r.range) check_xts_range(r);
    }
    const std::uint64_t output_bytes = result.output_length = output_length(r);
    if (m.input.first == nullptr && m.length != 0) throw Error(WARPAES_ERROR_ARGUMENT, "input: is null");
    if (m.output.first == nullptr && output_bytes != 0) throw Error(WARPAES_ERROR_ARGUMENT, "output: is null");
    check_all_memory(r, output_bytes);
    if (r.output_capacity < output_bytes) {
        throw Error(WARPAES_ERROR_BUFFER_TOO_SMALL, "output_capacity: the output needs " +
                                                        std::to_string(output_bytes) + " bytes, but the buffer has " +
                                                        std::to_string(r.output_capacity));
    }
    if (r.range && m.input.first == m.output.first && output_bytes != 0) {
        throw Error(WARPAES_ERROR_OVERLAP, "output: a range cannot be in place; use a separate buffer");
    }
    check_overlap(m.input.first, m.length, m.output.first, output_bytes);
    if (!may_wait && r.pkcs7) {
        throw Error(WARPAES_ERROR_ARGUMENT, "flags: an asynchronous call does not support WARPAES_PKCS7");
    }
    if (uses_tag(m.mode)) check_tagged(r);
    if (m.statuses != nullptr && is_composed(m.mode)) {
        throw Error(WARPAES_ERROR_ARGUMENT,
                    std::string("device_status: applies only to warpaes_crypt_async, which does not support ") +
                        traits_of(m.mode).name);
    }
    if (m.statuses != nullptr && (may_wait || !uses_tag(m.mode) || m.direction == Direction::encrypt)) {
        throw Error(WARPAES_ERROR_ARGUMENT,
                    "device_status: applies only to warpaes_crypt_async when it decrypts a message with a tag; this "
                    "call returns the status");
    }
}

/// Returns WARPAES_NOTE_COUNTER_WRAPPED or 0. Must be called before the output is written, because the output may
/// overwrite the IV.
std::uint32_t wrapped_counter(const Request& r) {
    const MessageGroup& m = r.message;
    if (m.mode != Mode::ctr || m.iv.first[0] != 0xff) return 0;
    const std::uint64_t end = r.range ? r.range->offset + r.range->length : m.length;
    Block first;
    std::copy_n(m.iv.first, block_bytes, first.begin());
    return wraps(first, blocks_of(end)) ? std::uint32_t{WARPAES_NOTE_COUNTER_WRAPPED} : 0;
}

/// Processes a checked message of any length in host or device memory.
void crypt_any(Engine& engine, const Request& r, MessageResult& result, std::optional<CallerStream> stream) {
    const MessageGroup& m = r.message;
    const Places places(m, r.input_device);
    if (is_composed(m.mode)) return crypt_composed(engine, r, places, result);
    if (!uses_tag(m.mode)) return crypt_parts(engine, r, places, result, stream);
    const TaggedOutcome ran = run_tagged(engine, m, places, stream);
    if (!ran.authentic) result.refusal = wrong_tag;
    result.merge(ran);
}

}  // namespace

void crypt(Engine& engine, const Request& r, MessageResult& result) {
    check(r, result, true);
    const std::uint32_t note = wrapped_counter(r);
    if (!crypt_short(engine, r, result)) clean_stack([&] { crypt_any(engine, r, result, std::nullopt); });
    result.notes |= note;
}

void crypt_async(Engine& engine, const Request& r, MessageResult& result, CallerStream stream) {
    check(r, result, false);
    if (result.output_length == 0 && !uses_tag(r.message.mode)) return;  // no buffer determines the device
    const std::uint32_t note = wrapped_counter(r);
    clean_stack([&] { crypt_any(engine, r, result, stream); });
    result.notes |= note;
}

}  // namespace warpaes
