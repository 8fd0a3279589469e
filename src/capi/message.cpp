#include "message/message.hpp"

#include <cstddef>

#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "message/checks.hpp"
#include "message/segments.hpp"

namespace {

using namespace warpaes;
using namespace warpaes::capi;

MessageRequest to_request(const warpaes_message& m) {
    require(m.key, "key");
    if (m.iv == nullptr && m.iv_len != 0) throw Error(WARPAES_ERROR_ARGUMENT, "iv: is null");
    constexpr std::uint32_t known = WARPAES_PKCS7 | WARPAES_LENGTH_IN_BITS | WARPAES_RANGE;
    if ((m.flags & ~known) != 0) throw Error(WARPAES_ERROR_ARGUMENT, "flags: has bits that this version does not know");
    MessageRequest request{.mode = checked_mode(m.mode),
                           .direction = checked_direction(m.direction),
                           .key = &m.key->impl,
                           .iv = {m.iv, static_cast<std::size_t>(m.iv_len)},
                           .input = static_cast<const std::uint8_t*>(m.input),
                           .input_length = m.input_len,
                           .output = static_cast<std::uint8_t*>(m.output),
                           .output_capacity = m.output_capacity,
                           .range = std::nullopt,
                           .pkcs7 = (m.flags & WARPAES_PKCS7) != 0,
                           .length_in_bits = (m.flags & WARPAES_LENGTH_IN_BITS) != 0,
                           .aad = static_cast<const std::uint8_t*>(m.aad),
                           .aad_length = m.aad_len,
                           .tag = static_cast<std::uint8_t*>(m.tag),
                           .tag_length = m.tag_len,
                           .tweak_key = m.tweak_key != nullptr ? &m.tweak_key->impl : nullptr,
                           .data_unit_length = m.data_unit_len};
    if ((m.flags & WARPAES_RANGE) != 0) request.range = Range{m.range_offset, m.range_len};
    return request;
}

/// `m`: the message, or what an older or newer header's comes to. crypt() itself cleans the stack, of a short message
/// no more than that has used.
template <typename Crypt>
warpaes_status run(const warpaes_message& m, warpaes_message& message, const Crypt& crypt) {
    MessageResult result;
    const warpaes_status status = caught([&] { crypt(to_request(m), result); });
    // All of it lies in what the first version had.
    message.output_len = status == WARPAES_OK || status == WARPAES_ERROR_BUFFER_TOO_SMALL ? result.output_length : 0;
    message.status = status;
    message.notes = result.notes;
    message.backend = result.backend.empty() ? "" : result.backend.data();
    message.device = result.device;
    return status;
}

template <typename Crypt>
[[gnu::noinline]] warpaes_status run_copy(warpaes_engine* engine, warpaes_message* message, const Crypt& crypt) {
    warpaes_message copy{};
    const warpaes_status refused = caught([&] {
        require(engine, "engine");
        copy = read_struct(message, "message");
    });
    return refused != WARPAES_OK ? refused : run(copy, *message, crypt);
}

template <typename Crypt>
warpaes_status run(warpaes_engine* engine, warpaes_message* message, const Crypt& crypt) {
    const bool of_this_version = message != nullptr && message->struct_size == sizeof(warpaes_message);
    if (engine == nullptr || !of_this_version) return run_copy(engine, message, crypt);
    return run(*message, *message, crypt);
}
static_assert(offsetof(warpaes_message, device) + sizeof(warpaes_message::device) <=
              struct_facts<warpaes_message>.least);

SegmentsRequest to_request(const warpaes_segments& s) {
    require(s.key, "key");
    if (s.flags != 0) throw Error(WARPAES_ERROR_ARGUMENT, "flags: must be 0");
    return {.direction = checked_direction(s.direction),
            .key = &s.key->impl,
            .nonces = s.nonces,
            .count = s.count,
            .segment_bytes = s.segment_len,
            .last_bytes = s.last_len,
            .aad = static_cast<const std::uint8_t*>(s.aad),
            .aad_bytes = s.aad_len,
            .input = static_cast<const std::uint8_t*>(s.input),
            .output = static_cast<std::uint8_t*>(s.output),
            .plaintext_stride = s.plaintext_stride,
            .ciphertext_stride = s.ciphertext_stride,
            .tags = static_cast<std::uint8_t*>(s.tags)};
}

}  // namespace

extern "C" {

warpaes_status warpaes_crypt(warpaes_engine* engine, warpaes_message* message) {
    return run(engine, message,
               [engine](const MessageRequest& r, MessageResult& result) { crypt(engine->impl, r, result); });
}

warpaes_status warpaes_crypt_async(warpaes_engine* engine, warpaes_message* message, void* cuda_stream) {
    return run(engine, message, [engine, cuda_stream](const MessageRequest& r, MessageResult& result) {
        crypt_async(engine->impl, r, result, CallerStream{cuda_stream});
    });
}

warpaes_status warpaes_crypt_segments(warpaes_engine* engine, warpaes_segments* segments) {
    return guarded([&] {
        require(engine, "engine");
        warpaes_segments s = read_struct(segments, "segments");
        SegmentsResult result;
        const auto write_back = [&] {
            s.failures = result.failures;
            s.first_failure = result.first_failure;
            s.backend = result.backend.empty() ? "" : result.backend.data();
            s.device = result.device;
            s.notes = result.notes;
            write_struct(s, segments, s.struct_size);
        };
        write_back();
        try {
            crypt_segments(engine->impl, to_request(s), result);
        } catch (const Error&) {
            write_back();
            throw;
        }
        write_back();
    });
}

}  // extern "C"
