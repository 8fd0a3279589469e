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

MessageRequest to_request(const warpaes_message& m, int input_device = -1) {
    require(m.key, "key");
    if (m.iv == nullptr && m.iv_len != 0) throw Error(WARPAES_ERROR_ARGUMENT, "iv: is null");
    constexpr std::uint32_t known = WARPAES_PKCS7 | WARPAES_LENGTH_IN_BITS | WARPAES_RANGE;
    if ((m.flags & ~known) != 0) throw Error(WARPAES_ERROR_ARGUMENT, "flags: has bits that this version does not know");
    const Mode mode = checked_mode(m.mode);
    check_fields(m.mode, {.siv = m.mac_key != nullptr || m.aad_list != nullptr || m.aad_count != 0});
    MessageRequest request{.mode = mode,
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

/// The components of the associated data; `one` must outlive the result.
std::span<const warpaes_part> aad_of(const warpaes_message& m, warpaes_part& one) {
    if (m.aad == nullptr && m.aad_len != 0) throw Error(WARPAES_ERROR_ARGUMENT, "aad: is null");
    if (m.aad_list != nullptr || m.aad_count != 0) {
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
    if (m.flags != 0) {
        throw Error(WARPAES_ERROR_ARGUMENT, std::string("flags: ") + traits_of(mode).name + " has none");
    }
    if (m.device_status != nullptr) {
        throw Error(WARPAES_ERROR_ARGUMENT,
                    std::string("device_status: is for warpaes_crypt_async, which has no ") + traits_of(mode).name);
    }
    check_fields(m.mode, {.tagged = m.aad != nullptr || m.tag != nullptr || (m.aad_len | m.tag_len) != 0,
                          .data_units = m.tweak_key != nullptr || (m.data_unit_len | m.data_unit_step) != 0,
                          .siv = m.mac_key != nullptr || m.aad_list != nullptr || m.aad_count != 0});
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
    const warpaes_status done = caught([&] {
        require(engine, "engine");
        if (result != nullptr) check_size(*result, "result");
        std::optional<warpaes_message> own;  // copy, if the caller has another version's header
        if (message == nullptr || message->struct_size != sizeof(warpaes_message)) {
            own = read_struct(message, "message");
        }
        crypt(own ? *own : *message, made);
    });
    const warpaes_status status = verdict(done, made.refusal);
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
        crypt_async(engine->impl, to_request(m), made, CallerStream{cuda_stream});
    });
}

}  // extern "C"
