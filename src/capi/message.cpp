#include "message/message.hpp"

#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "message/checks.hpp"

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
                           .data_unit_length = m.data_unit_len,
                           .device_status = reinterpret_cast<std::int32_t*>(m.device_status)};
    if ((m.flags & WARPAES_RANGE) != 0) request.range = Range{m.range_offset, m.range_len};
    return request;
}

void fill(warpaes_result& to, warpaes_status status, const MessageResult& result) {
    to.status = status;
    to.output_len = status == WARPAES_OK || status == WARPAES_ERROR_BUFFER_TOO_SMALL ? result.output_length : 0;
    to.notes = result.notes;
    to.device = result.device;
    to.backend = result.backend.empty() ? "" : result.backend.data();
    if (status == WARPAES_OK) {
        to.error[0] = '\0';
    } else {
        write_error(status, to.error);
    }
}

/// crypt() itself cleans the stack, of a short message no more than that has used.
template <typename Crypt>
warpaes_status run(warpaes_engine* engine, const warpaes_message* message, warpaes_result* result, const Crypt& crypt) {
    MessageResult made;
    const warpaes_status status = caught([&] {
        require(engine, "engine");
        if (result != nullptr) check_size(*result, "result");
        if (message != nullptr && message->struct_size == sizeof(warpaes_message)) {
            crypt(to_request(*message), made);
        } else {
            crypt(to_request(read_struct(message, "message")), made);
        }
    });
    if (result != nullptr && result->struct_size == sizeof(warpaes_result)) {
        fill(*result, status, made);
    } else {
        warpaes_result copy{};
        fill(copy, status, made);
        write_result(copy, result);
    }
    return status;
}

}  // namespace

extern "C" {

warpaes_status warpaes_crypt(warpaes_engine* engine, const warpaes_message* message, warpaes_result* result) {
    return run(engine, message, result,
               [engine](const MessageRequest& r, MessageResult& made) { crypt(engine->impl, r, made); });
}

warpaes_status warpaes_crypt_async(warpaes_engine* engine, const warpaes_message* message, void* cuda_stream,
                                   warpaes_result* result) {
    return run(engine, message, result, [engine, cuda_stream](const MessageRequest& r, MessageResult& made) {
        crypt_async(engine->impl, r, made, CallerStream{cuda_stream});
    });
}

}  // extern "C"
