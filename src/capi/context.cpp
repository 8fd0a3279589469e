#include "message/context.hpp"

#include <algorithm>

#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "message/checks.hpp"

using namespace warpaes;
using namespace warpaes::capi;

namespace {

/// Calls `step(written)`. If it fails, `*output_len` is 0, or the required capacity if the buffer was too small.
template <typename Step>
void run_step(std::size_t* output_len, Step step) {
    *output_len = 0;
    std::size_t written = 0;
    try {
        step(written);
        *output_len = written;
    } catch (const Error& e) {
        if (e.status() == WARPAES_ERROR_BUFFER_TOO_SMALL) *output_len = written;
        throw;
    }
}

/// Like guarded(), but also stores the message in the context. `refusal` is the fault that the body found in the data.
template <typename Body>
warpaes_status kept(const warpaes_context* context, const Body& body, const Refusal& refusal) {
    if (context == nullptr) return guarded([] { require(nullptr, "context"); });
    const warpaes_status done = guarded(body);
    const warpaes_status status = verdict(done, refusal);
    if (status != WARPAES_OK) write_error(status, context->error);
    return status;
}

template <typename Body>
warpaes_status kept(const warpaes_context* context, const Body& body) {
    return kept(context, body, Refusal{});
}

std::span<const std::uint8_t> iv_of(const std::uint8_t* iv, std::uint64_t length) {
    if (iv == nullptr && length != 0) throw Error(WARPAES_ERROR_ARGUMENT, "iv: is null");
    return {iv, static_cast<std::size_t>(length)};
}

/// Only one process may continue a message that is encrypted under an IV, because a child would encrypt other text with
/// the same key stream.
void require_here(const warpaes_context& context) {
    const ContextKind& kind = context.impl.kind();
    if (kind.direction == Direction::decrypt || !uses_iv(kind.mode)) return;
    context.home.require("context", "its message ends there; start another with set_iv");
}

ContextKind to_kind(const warpaes_context_options& o) {
    if ((o.flags & WARPAES_LENGTH_IN_BITS) != 0) {
        throw Error(
            WARPAES_ERROR_ARGUMENT,
            "flags: a context does not support lengths in bits; warpaes_crypt accepts a complete CFB1 message in bits");
    }
    if ((o.flags & ~static_cast<std::uint32_t>(WARPAES_PKCS7)) != 0) {
        throw Error(WARPAES_ERROR_ARGUMENT, "flags: a context accepts only WARPAES_PKCS7");
    }
    const Mode mode = checked_mode(o.mode);
    check_fields(static_cast<Mode>(o.mode),
                 {.data_units = o.tweak_key != nullptr || (o.data_unit_len | o.data_unit_step) != 0});
    return {.mode = mode,
            .direction = checked_direction(o.direction),
            .pkcs7 = (o.flags & WARPAES_PKCS7) != 0,
            .data_units = {o.data_unit_len, o.data_unit_step != 0 ? o.data_unit_step : 1},
            .lengths = {.text = o.text_len, .aad = o.aad_len, .tag = o.tag_len}};
}

}  // namespace

extern "C" {

warpaes_status warpaes_context_create(warpaes_engine* engine, warpaes_context** context) {
    return created(context, "context", [&] {
        require(engine, "engine");
        return new warpaes_context{.impl = Context(engine->impl), .home = {}};
    });
}

void warpaes_context_destroy(warpaes_context* context) {
    delete context;
}

warpaes_status warpaes_context_copy(const warpaes_context* context, warpaes_context** copy) {
    return created(copy, "copy", [&] {
        require(context, "context");
        return new warpaes_context(*context);
    });
}

const char* warpaes_context_error(const warpaes_context* context) {
    return context != nullptr ? context->error : "";
}

warpaes_status warpaes_context_init(warpaes_context* context, const warpaes_context_options* options) {
    return kept(context, [&] {
        const auto o = read_struct(options, "options");
        const auto iv = iv_of(o.iv, o.iv_len);
        Context next = context->impl;
        next.init(to_kind(o));
        if (o.key == nullptr && (o.iv != nullptr || o.tweak_key != nullptr)) require(o.key, "key");
        if (o.key != nullptr) next.set_key(o.key->impl, o.tweak_key != nullptr ? &o.tweak_key->impl : nullptr);
        const bool without_iv = !uses_iv(next.kind().mode);
        if (o.key != nullptr && (o.iv != nullptr || without_iv)) next.set_iv(iv);
        context->impl = next;
        context->home.take_over();
    });
}

warpaes_status warpaes_context_set_key(warpaes_context* context, const warpaes_key* key, const warpaes_key* tweak_key) {
    return kept(context, [&] {
        require(key, "key");
        context->impl.set_key(key->impl, tweak_key != nullptr ? &tweak_key->impl : nullptr);
    });
}

warpaes_status warpaes_context_set_iv(warpaes_context* context, const uint8_t* iv, size_t iv_len) {
    return kept(context, [&] {
        context->impl.set_iv(iv_of(iv, iv_len));
        context->home.take_over();
    });
}

warpaes_status warpaes_context_get_iv(const warpaes_context* context, uint8_t iv[16]) {
    return kept(context, [&] {
        require(iv, "iv");
        const Block now = context->impl.iv();
        std::copy(now.begin(), now.end(), iv);
    });
}

warpaes_status warpaes_context_update(warpaes_context* context, const void* input, size_t input_len, void* output,
                                      size_t output_capacity, size_t* output_len) {
    return kept(context, [&] {
        require(output_len, "output_len");
        require_here(*context);
        run_step(output_len, [&](std::size_t& written) {
            context->impl.update(static_cast<const std::uint8_t*>(input), input_len, static_cast<std::uint8_t*>(output),
                                 output_capacity, written);
        });
    });
}

warpaes_status warpaes_context_final(warpaes_context* context, void* output, size_t output_capacity,
                                     size_t* output_len) {
    Refusal refusal;
    return kept(
        context,
        [&] {
            require(output_len, "output_len");
            require_here(*context);
            run_step(output_len, [&](std::size_t& written) {
                refusal = context->impl.final(static_cast<std::uint8_t*>(output), output_capacity, written);
            });
        },
        refusal);
}

warpaes_status warpaes_context_seek(warpaes_context* context, uint64_t offset) {
    return kept(context, [&] { context->impl.seek(offset); });
}

warpaes_status warpaes_context_aad(warpaes_context* context, const void* aad, size_t length) {
    return kept(context, [&] {
        require_here(*context);
        context->impl.aad(static_cast<const std::uint8_t*>(aad), length);
    });
}

warpaes_status warpaes_context_get_tag(warpaes_context* context, uint8_t* tag, size_t length) {
    return kept(context, [&] {
        require(tag, "tag");
        context->impl.get_tag({tag, length});
    });
}

warpaes_status warpaes_context_set_tag(warpaes_context* context, const uint8_t* tag, size_t length) {
    return kept(context, [&] {
        require(tag, "tag");
        context->impl.set_tag({tag, length});
    });
}

}  // extern "C"
