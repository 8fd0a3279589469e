#include "message/message.hpp"

#include "capi/handles.hpp"
#include "capi/result.hpp"
#include "message/checks.hpp"
#include "message/short.hpp"

namespace {

using namespace warpaes;
using namespace warpaes::capi;

/// Checks the flags. Lengths in bits are converted in this file: inside the library, CFB1 messages consist of bytes,
/// and the last byte may have unused bits.
void check_flags(const warpaes_message& m, Mode mode) {
    if (is_composed(mode) && m.flags != 0) {
        throw Error(WARPAES_ERROR_ARGUMENT, std::string("flags: ") + traits_of(mode).name + " supports no flags");
    }
    refuse_unknown_flags(m.flags, WARPAES_PKCS7 | WARPAES_LENGTH_IN_BITS | WARPAES_RANGE);
    if ((m.flags & WARPAES_LENGTH_IN_BITS) == 0) return;
    if (mode != Mode::cfb1) {
        throw Error(WARPAES_ERROR_ARGUMENT,
                    "flags: WARPAES_LENGTH_IN_BITS applies only to CFB1; for CTR, process complete bytes and ignore "
                    "the last bits of the result; XTS does not support lengths in bits");
    }
    if ((m.flags & WARPAES_RANGE) != 0) {
        throw Error(WARPAES_ERROR_ARGUMENT, "flags: WARPAES_RANGE cannot be combined with PKCS7 or LENGTH_IN_BITS");
    }
}

/// Returns the components of SIV's associated data that are given as a list.
std::span<const warpaes_part> aad_list_of(const warpaes_message& m) {
    if (m.aad_list == nullptr && m.aad_count == 0) return {};
    if (m.aad != nullptr) throw Error(WARPAES_ERROR_ARGUMENT, "aad, aad_list: set only one of them");
    require(m.aad_list, "aad_list");
    return {m.aad_list, static_cast<std::size_t>(m.aad_count)};
}

Request to_request(const warpaes_message& m, Mode mode, int input_device = -1) {
    require(m.key, "key");
    if (m.iv == nullptr && m.iv_len != 0) throw Error(WARPAES_ERROR_ARGUMENT, "iv: is null");
    check_flags(m, mode);
    check_fields(mode, {.tagged = m.aad != nullptr || m.tag != nullptr || (m.aad_len | m.tag_len) != 0,
                        .data_units = m.tweak_key != nullptr || (m.data_unit_len | m.data_unit_step) != 0,
                        .siv = m.mac_key != nullptr || m.aad_list != nullptr || m.aad_count != 0});
    const bool bits = (m.flags & WARPAES_LENGTH_IN_BITS) != 0;
    Request request{.message = {.mode = mode,
                                .direction = checked_direction(m.direction),
                                .length = bits ? m.input_len / 8 + (m.input_len % 8 != 0) : m.input_len,
                                .unused_bits = bits ? static_cast<std::uint32_t>(-m.input_len % 8) : 0,
                                .input = Elements::of(m.input),
                                .output = Elements::of(m.output),
                                .iv = Elements::of(m.iv),
                                .iv_length = m.iv_len,
                                .aad_length = m.aad_len,
                                .aad = Elements::of(m.aad),
                                .tag = Elements::of(m.tag),
                                .tag_length = m.tag_len,
                                .key = &m.key->impl,
                                .tweak_key = m.tweak_key != nullptr ? &m.tweak_key->impl : nullptr,
                                .statuses = reinterpret_cast<std::int32_t*>(m.device_status)},
                    .output_capacity = m.output_capacity,
                    .pkcs7 = (m.flags & WARPAES_PKCS7) != 0,
                    .input_device = input_device,
                    .mac_key = m.mac_key != nullptr ? &m.mac_key->impl : nullptr,
                    .aad_list = aad_list_of(m)};
    if (mode == Mode::xts) request.message.data_units = {m.data_unit_len, m.data_unit_step};
    if ((m.flags & WARPAES_RANGE) != 0) request.range = Range{m.range_offset, m.range_len};
    return request;
}

/// Uses caught(), not guarded(), because crypt() cleans the stack itself, and for a short message cleans only the part
/// that was used.
template <typename Crypt>
warpaes_status run(warpaes_engine* engine, const warpaes_message* message, warpaes_result* result, const Crypt& crypt) {
    MessageResult made;
    std::uint64_t bits = 0;  // the length of the output in bits, if the caller measures lengths in bits
    const warpaes_status done = caught([&] {
        require(engine, "engine");
        if (result != nullptr) check_size(*result, "result");
        std::optional<warpaes_message> own;  // a copy, if the caller uses a header of a different version
        if (message == nullptr || message->struct_size != sizeof(warpaes_message)) {
            own = read_struct(message, "message");
        }
        const warpaes_message& m = own ? *own : *message;
        if ((m.flags & WARPAES_LENGTH_IN_BITS) != 0) bits = m.input_len;
        crypt(m, made);
    });
    if (bits != 0) made.output_length = bits;
    const warpaes_status status = verdict(done, made.refusal);
    tell(result, status, made);
    return status;
}

/// crypt_checked() and crypted_plain() are separate functions, so that the code path of short messages does not save
/// registers for them.
[[gnu::noinline]] warpaes_status crypt_checked(warpaes_engine* engine, const warpaes_message* message,
                                               warpaes_result* result, int input_device) {
    return run(engine, message, result, [engine, input_device](const warpaes_message& m, MessageResult& made) {
        if (input_device < 0 && m.key != nullptr && crypt_plain_or_fail(engine->impl, m, m.key->impl, made)) return;
        crypt(engine->impl, to_request(m, checked_message_mode(m.mode), input_device), made);
    });
}

[[gnu::noinline]] warpaes_status crypted_plain(const warpaes_message& m, const PlainOutcome& plain,
                                               warpaes_result* result) {
    const warpaes_status status = verdict(WARPAES_OK, plain.tag_is_right ? Refusal{} : wrong_tag);
    if (result != nullptr) fill(*result, status, MessageResult{{.backend = plain.way->backend}, m.input_len});
    return status;
}

}  // namespace

extern "C" {

warpaes_status warpaes_crypt(warpaes_engine* engine, const warpaes_message* message, warpaes_result* result) {
    int input_device = -1;
    if (engine != nullptr && message != nullptr && message->struct_size == sizeof(warpaes_message) &&
        message->key != nullptr && (result == nullptr || result->struct_size == sizeof(warpaes_result))) {
        const PlainOutcome plain = crypt_plain(engine->impl, *message, message->key->impl);
        if (plain.way != nullptr) {
            if (plain.tag_is_right && result == nullptr) return WARPAES_OK;
            return crypted_plain(*message, plain, result);
        }
        input_device = plain.input_device;
    }
    return crypt_checked(engine, message, result, input_device);
}

warpaes_status warpaes_crypt_async(warpaes_engine* engine, const warpaes_message* message, void* cuda_stream,
                                   warpaes_result* result) {
    return run(engine, message, result, [engine, cuda_stream](const warpaes_message& m, MessageResult& made) {
        crypt_async(engine->impl, to_request(m, checked_mode(m.mode)), made, CallerStream{cuda_stream});
    });
}

}  // extern "C"
