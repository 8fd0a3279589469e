#include "warpaes/drbg.h"

#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "message/checks.hpp"
#include "message/drbg.hpp"

struct warpaes_drbg {
    warpaes::Drbg impl;
};

using namespace warpaes;
using namespace warpaes::capi;

namespace {

Drbg::Input input_of(const void* data, std::uint64_t length, const char* name) {
    if (data == nullptr && length != 0) refuse_null(name);
    check_memory(data, length, name);
    return {static_cast<const std::uint8_t*>(data), static_cast<std::size_t>(length)};
}

}  // namespace

extern "C" {

warpaes_status warpaes_drbg_create(warpaes_engine* engine, const warpaes_drbg_options* options, warpaes_drbg** drbg) {
    char* error = nullptr;
    const warpaes_status status = created(drbg, "drbg", [&] {
        warpaes_drbg_options o = WARPAES_DRBG_OPTIONS_INIT;
        if (options != nullptr) o = read_struct(options, "options");
        error = o.error;
        require(engine, "engine");
        refuse_unknown_flags(o.flags, WARPAES_DRBG_WITHOUT_DF);
        if (o.reserved != 0) throw Error(WARPAES_ERROR_ARGUMENT, "reserved: must be 0");
        return new warpaes_drbg{Drbg(
            engine->impl, {.key_bits = o.key_bits,
                           .derives = (o.flags & WARPAES_DRBG_WITHOUT_DF) == 0,
                           .entropy = input_of(o.entropy, o.entropy_len, "entropy"),
                           .nonce = input_of(o.nonce, o.nonce_len, "nonce"),
                           .personalization = input_of(o.personalization, o.personalization_len, "personalization")})};
    });
    if (error != nullptr) write_error(status, error);
    return status;
}

void warpaes_drbg_destroy(warpaes_drbg* drbg) {
    delete drbg;
}

warpaes_status warpaes_drbg_reseed(warpaes_drbg* drbg, const void* entropy, uint64_t entropy_len,
                                   const void* additional, uint64_t additional_len) {
    return guarded([&] {
        require(drbg, "drbg");
        drbg->impl.reseed(input_of(entropy, entropy_len, "entropy"),
                          input_of(additional, additional_len, "additional"));
    });
}

warpaes_status warpaes_drbg_generate(warpaes_drbg* drbg, void* output, uint64_t output_len, const void* additional,
                                     uint64_t additional_len, uint32_t flags) {
    return guarded([&] {
        require(drbg, "drbg");
        refuse_unknown_flags(flags, WARPAES_DRBG_PREDICTION_RESISTANCE);
        (void)input_of(output, output_len, "output");
        drbg->impl.generate({static_cast<std::uint8_t*>(output), static_cast<std::size_t>(output_len)},
                            input_of(additional, additional_len, "additional"),
                            (flags & WARPAES_DRBG_PREDICTION_RESISTANCE) != 0);
    });
}

}  // extern "C"
