#include "message/message.hpp"

#include "capi/handles.hpp"
#include "capi/result.hpp"
#include "message/checks.hpp"
#include "message/composed.hpp"
#include "message/short.hpp"
#include "message/tagged.hpp"

namespace {

using namespace warpaes;
using namespace warpaes::capi;

[[noreturn, gnu::cold]] void refuse_siv_fields(const warpaes_message& m) {
    (void)checked_mode(m.mode);  // gives a better message for an unknown mode
    throw Error(WARPAES_ERROR_ARGUMENT, "mac_key, aad_list, aad_count: are for SIV");
}

MessageRequest to_request(const warpaes_message& m, int input_device = -1) {
    require(m.key, "key");
    if (m.iv == nullptr && m.iv_len != 0) throw Error(WARPAES_ERROR_ARGUMENT, "iv: is null");
    constexpr std::uint32_t known = WARPAES_PKCS7 | WARPAES_LENGTH_IN_BITS | WARPAES_RANGE;
    if ((m.flags & ~known) != 0) throw Error(WARPAES_ERROR_ARGUMENT, "flags: has bits that this version does not know");
    if (m.mac_key != nullptr || m.aad_list != nullptr || m.aad_count != 0) refuse_siv_fields(m);
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
                           .data_unit_step = m.data_unit_step,
                           .device_status = reinterpret_cast<std::int32_t*>(m.device_status),
                           .input_device = input_device};
    if ((m.flags & WARPAES_RANGE) != 0) request.range = Range{m.range_offset, m.range_len};
    return request;
}

/// Throws if the fields that `name` names are set, because the message's mode does not use them.
void refuse_extra(bool some, const warpaes_message& m, const char* name) {
    if (!some) return;
    const char* const mode = traits_of(static_cast<ComposedMode>(m.mode)).name;
    throw Error(WARPAES_ERROR_ARGUMENT, std::string(name) + " nothing that " + mode + " has");
}

/// The components of the associated data; `one` must outlive the result.
std::span<const warpaes_part> aad_of(const warpaes_message& m, warpaes_part& one) {
    if (m.aad == nullptr && m.aad_len != 0) throw Error(WARPAES_ERROR_ARGUMENT, "aad: is null");
    if (m.aad_list != nullptr || m.aad_count != 0) {
        refuse_extra(m.mode != WARPAES_SIV, m, "aad_list, aad_count: are");
        if (m.aad != nullptr) throw Error(WARPAES_ERROR_ARGUMENT, "aad, aad_list: one of them, not both");
        require(m.aad_list, "aad_list");
        return {m.aad_list, static_cast<std::size_t>(m.aad_count)};
    }
    one = {m.aad, m.aad_len};
    return {&one, m.aad != nullptr ? 1u : 0u};
}

ComposedRequest to_composed_request(const warpaes_message& m, warpaes_part& aad) {
    const auto mode = static_cast<ComposedMode>(m.mode);
    require(m.key, "key");
    if (m.iv == nullptr && m.iv_len != 0) throw Error(WARPAES_ERROR_ARGUMENT, "iv: is null");
    refuse_extra(m.flags != 0, m, "flags: are");
    refuse_extra(m.tweak_key != nullptr || (m.data_unit_len | m.data_unit_step) != 0, m,
                 "tweak_key, data_unit_len, data_unit_step: are");
    refuse_extra(m.device_status != nullptr, m, "device_status: is");
    const bool has_tag = traits_of(mode).tags != 0;
    refuse_extra(!has_tag && (m.tag != nullptr || m.tag_len != 0), m, "tag: is");
    refuse_extra(!has_tag && (m.aad != nullptr || m.aad_len != 0), m, "aad: is");
    return {.mode = mode,
            .direction = checked_direction(m.direction),
            .key = &m.key->impl,
            .mac_key = m.mac_key != nullptr ? &m.mac_key->impl : nullptr,
            .iv = {m.iv, static_cast<std::size_t>(m.iv_len)},
            .input = static_cast<const std::uint8_t*>(m.input),
            .input_length = m.input_len,
            .output = static_cast<std::uint8_t*>(m.output),
            .output_capacity = m.output_capacity,
            .aad = aad_of(m, aad),
            .tag = static_cast<std::uint8_t*>(m.tag),
            .tag_length = m.tag_len};
}

/// Uses caught(), not guarded(): crypt() cleans the stack itself, for a short message only as much as was used.
template <typename Crypt>
warpaes_status run(warpaes_engine* engine, const warpaes_message* message, warpaes_result* result, const Crypt& crypt) {
    MessageResult made;
    const warpaes_status status = caught([&] {
        require(engine, "engine");
        if (result != nullptr) check_size(*result, "result");
        std::optional<warpaes_message> own;  // copy, if the caller has another version's header
        if (message == nullptr || message->struct_size != sizeof(warpaes_message)) {
            own = read_struct(message, "message");
        }
        crypt(own ? *own : *message, made);
    });
    tell(result, status, made);
    return status;
}

/// Separate functions, so that the path of a short message saves no registers for them.
[[gnu::noinline]] warpaes_status crypt_checked(warpaes_engine* engine, const warpaes_message* message,
                                               warpaes_result* result, int input_device) {
    return run(engine, message, result, [engine, input_device](const warpaes_message& m, MessageResult& made) {
        if (input_device < 0 && m.key != nullptr && crypt_plain_or_fail(engine->impl, m, m.key->impl, made)) return;
        if (is_composed(m.mode)) {
            warpaes_part aad{};
            crypt_composed(engine->impl, to_composed_request(m, aad), made);
        } else {
            crypt(engine->impl, to_request(m, input_device), made);
        }
    });
}

[[gnu::noinline]] warpaes_status crypted_plain(const warpaes_message& m, const PlainOutcome& plain,
                                               warpaes_result* result) {
    // Without an exception, which takes longer than a short message.
    const warpaes_status status = plain.tag_is_right ? WARPAES_OK : WARPAES_ERROR_AUTHENTICATION;
    if (!plain.tag_is_right) remember_error(wrong_tag_sentence);
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
        crypt_async(engine->impl, to_request(m), made, CallerStream{cuda_stream});
    });
}

}  // extern "C"
