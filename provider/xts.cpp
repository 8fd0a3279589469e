// XTS: each update is one data unit.
#include <openssl/crypto.h>

#include "provider/bulk.hpp"
#include "provider/generic.hpp"

namespace warpaes::provider {

namespace {

struct Xts : Generic {
    Key tweak_key;
};

/// The limit for a data unit in IEEE 1619-2018 and SP 800-38E.
constexpr std::size_t most_unit_bytes = (std::size_t{1} << 20) * 16;

template <const Algorithm& A>
void* new_xts(void* provider) noexcept {
    auto* const c = make_context<Xts>(provider, A.kind);
    if (c == nullptr) return nullptr;
    c->algorithm = &A;
    c->kernels = c->provider->settings()->kernels;
    c->device_memory = c->provider->settings()->device_memory;
    c->pad = true;
    c->keylen = A.key_bits / 8;
    c->ivlen = A.iv_bits / 8;
    c->blocksize = A.block_bits / 8;
    return c;
}

int xts_set_ctx_params(void* context, const OSSL_PARAM params[]) noexcept {
    Xts& c = *static_cast<Xts*>(context);
    if (params == nullptr) return 1;
    std::size_t keylen = 0;
    bool given = false;
    if (!get_size(&c, params, OSSL_CIPHER_PARAM_KEYLEN, keylen, given)) return 0;
    return given && keylen != c.keylen ? 0 : 1;
}

int xts_init(void* context, const Byte* key, std::size_t keylen, const Byte* iv, std::size_t ivlen,
             const OSSL_PARAM params[], bool enc) noexcept {
    Xts& c = *static_cast<Xts*>(context);
    c.enc = enc;
    if (iv != nullptr && generic_set_iv(c, iv, ivlen) == 0) return 0;
    if (key != nullptr) {
        if (keylen != c.keylen) return WARPAES_RAISE(&c, PROV_R_INVALID_KEY_LENGTH);
        const std::size_t half = keylen / 2;
        if (enc && CRYPTO_memcmp(key, key + half, half) == 0) return WARPAES_RAISE(&c, PROV_R_XTS_DUPLICATED_KEYS);
        c.key.set(key, half, !enc);
        c.tweak_key.set(key + half, half, false);
        c.key_set = true;
    }
    return xts_set_ctx_params(context, params);
}

int xts_cipher(void* context, Byte* out, std::size_t* outl, std::size_t /*outsize*/, const Byte* in,
               std::size_t inl) noexcept {
    Xts& c = *static_cast<Xts*>(context);
    if (!c.key_set || !c.iv_set || out == nullptr || in == nullptr || inl < 16) return 0;
    if (inl > most_unit_bytes) return WARPAES_RAISE(&c, PROV_R_XTS_DATA_UNIT_IS_TOO_LARGE);
    WARPAES_REFUSE_OVERLAP(&c, in, inl, out, inl);
    // The key's schedule determines the direction, even if a different direction was set after the key.
    const Direction direction = c.key.inverse ? Direction::decrypt : Direction::encrypt;
    const bool on_device = c.device_memory && c.provider->settings()->bulk->on_device(in, out);
    if (inl % 16 == 0 && inl <= 16 * cpu::serial::few_blocks && !on_device) {
        (c.key.inverse ? c.key.serial->xts_inverse : c.key.serial->xts)(c.key.schedule, c.tweak_key.schedule, c.iv, in,
                                                                        out, inl / 16);
        c.tally.add(inl);
        *outl = inl;
        return 1;
    }
    if (on_device || c.provider->settings()->bulk->wants(inl)) [[unlikely]] {
        const Bulked outcome = c.provider->settings()->bulk->run(c.tally.kind, {.mode = Mode::xts,
                                                                                .direction = direction,
                                                                                .key = &c.key,
                                                                                .tweak_key = &c.tweak_key,
                                                                                .chain = c.iv,
                                                                                .input = in,
                                                                                .output = out,
                                                                                .bytes = inl,
                                                                                .first_block = 0,
                                                                                .digest = nullptr});
        if (outcome == Bulked::failed) return 0;
        *outl = inl;
        if (outcome == Bulked::done) return 1;
    }
    const cpu::SimdRun run{.mode = Mode::xts,
                           .direction = direction,
                           .rounds = static_cast<int>(c.key.rounds),
                           .keys = c.key.schedule,
                           .input = in,
                           .output = out,
                           .length = inl,
                           .chain = c.iv,
                           .tweak_keys = c.tweak_key.schedule,
                           .data_units = {.bytes = inl}};
    cleaned(inl, [&] { c.kernels->run(run); });
    c.tally.add(inl);
    *outl = inl;
    return 1;
}

int xts_update(void* context, Byte* out, std::size_t* outl, std::size_t outsize, const Byte* in,
               std::size_t inl) noexcept {
    Xts& c = *static_cast<Xts*>(context);
    if (outsize < inl) return WARPAES_RAISE(&c, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    if (xts_cipher(context, out, outl, outsize, in, inl) == 0) return WARPAES_RAISE(&c, PROV_R_CIPHER_OPERATION_FAILED);
    return 1;
}

int xts_final(void* /*context*/, Byte* /*out*/, std::size_t* outl, std::size_t /*outsize*/) noexcept {
    *outl = 0;
    return 1;
}

const OSSL_PARAM* xts_settable_ctx_params(void* /*context*/, void* /*provider*/) noexcept {
    static const OSSL_PARAM list[] = {OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_KEYLEN, nullptr), OSSL_PARAM_END};
    return list;
}

template <const Algorithm& A>
constexpr CipherCalls xts_calls{new_xts<A>,
                                free_plain<Xts>,
                                copy_plain<Xts>,
                                xts_init,
                                xts_update,
                                xts_final,
                                xts_cipher,
                                generic_get_ctx_params,
                                xts_set_ctx_params,
                                generic_gettable_ctx_params,
                                xts_settable_ctx_params};

constexpr Algorithm xts256{"AES-256-XTS:1.3.111.2.1619.0.1.2", Kind::xts, EVP_CIPH_XTS_MODE, false, true, 512, 8, 128};
constexpr Algorithm xts128{"AES-128-XTS:1.3.111.2.1619.0.1.1", Kind::xts, EVP_CIPH_XTS_MODE, false, true, 256, 8, 128};

}  // namespace

std::span<const Entry> xts_ciphers() noexcept {
    static const Entry list[] = {{&xts256, cipher_functions<xts256, xts_calls<xts256>>()},
                                 {&xts128, cipher_functions<xts128, xts_calls<xts128>>()}};
    return list;
}

}  // namespace warpaes::provider
