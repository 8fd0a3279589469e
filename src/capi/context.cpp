#include "message/context.hpp"

#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "message/checks.hpp"

using namespace warpaes;
using namespace warpaes::capi;

namespace {

/// Calls `step(written)`; a step that fails has written nothing, unless it says what there must be room for.
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

}  // namespace

extern "C" {

warpaes_status warpaes_context_create(warpaes_engine* engine, warpaes_context** context) {
    return guarded([&] {
        require(context, "context");
        *context = nullptr;
        require(engine, "engine");
        *context = new warpaes_context{Context(engine->impl)};
    });
}

void warpaes_context_destroy(warpaes_context* context) {
    delete context;
}

warpaes_status warpaes_context_copy(const warpaes_context* context, warpaes_context** copy) {
    return guarded([&] {
        require(copy, "copy");
        *copy = nullptr;
        require(context, "context");
        *copy = new warpaes_context(*context);
    });
}

warpaes_status warpaes_context_init(warpaes_context* context, warpaes_mode mode, warpaes_direction direction,
                                    const warpaes_key* key, const uint8_t* iv, size_t iv_len, uint32_t flags) {
    return guarded([&] {
        require(context, "context");
        require(key, "key");
        if (iv == nullptr && iv_len != 0) throw Error(WARPAES_ERROR_ARGUMENT, "iv: is null");
        if ((flags & WARPAES_LENGTH_IN_BITS) != 0) {
            throw Error(WARPAES_ERROR_ARGUMENT,
                        "flags: a context has no lengths in bits; warpaes_crypt takes a whole message of CFB1 in bits");
        }
        if ((flags & ~static_cast<std::uint32_t>(WARPAES_PKCS7)) != 0) {
            throw Error(WARPAES_ERROR_ARGUMENT, "flags: a context takes WARPAES_PKCS7 or 0");
        }
        context->impl.init(checked_mode(mode), checked_direction(direction), key->impl, {iv, iv_len},
                           (flags & WARPAES_PKCS7) != 0);
    });
}

warpaes_status warpaes_context_update(warpaes_context* context, const void* input, size_t input_len, void* output,
                                      size_t output_capacity, size_t* output_len) {
    return guarded([&] {
        require(context, "context");
        require(output_len, "output_len");
        run_step(output_len, [&](std::size_t& written) {
            context->impl.update(static_cast<const std::uint8_t*>(input), input_len, static_cast<std::uint8_t*>(output),
                                 output_capacity, written);
        });
    });
}

warpaes_status warpaes_context_final(warpaes_context* context, void* output, size_t output_capacity,
                                     size_t* output_len) {
    return guarded([&] {
        require(context, "context");
        require(output_len, "output_len");
        run_step(output_len, [&](std::size_t& written) {
            context->impl.final(static_cast<std::uint8_t*>(output), output_capacity, written);
        });
    });
}

warpaes_status warpaes_context_reset(warpaes_context* context, const uint8_t* iv, size_t iv_len) {
    return guarded([&] {
        require(context, "context");
        if (iv == nullptr && iv_len != 0) throw Error(WARPAES_ERROR_ARGUMENT, "iv: is null");
        context->impl.reset({iv, iv_len});
    });
}

warpaes_status warpaes_context_seek(warpaes_context* context, uint64_t offset) {
    return guarded([&] {
        require(context, "context");
        context->impl.seek(offset);
    });
}

warpaes_status warpaes_context_aad(warpaes_context* context, const void* aad, size_t length) {
    return guarded([&] {
        require(context, "context");
        context->impl.aad(static_cast<const std::uint8_t*>(aad), length);
    });
}

warpaes_status warpaes_context_get_tag(warpaes_context* context, uint8_t* tag, size_t length) {
    return guarded([&] {
        require(context, "context");
        require(tag, "tag");
        context->impl.get_tag({tag, length});
    });
}

warpaes_status warpaes_context_set_tag(warpaes_context* context, const uint8_t* tag, size_t length) {
    return guarded([&] {
        require(context, "context");
        require(tag, "tag");
        context->impl.set_tag({tag, length});
    });
}

}  // extern "C"
