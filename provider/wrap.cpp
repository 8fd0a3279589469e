// Key wrap (RFC 3394, RFC 5649) as the default provider offers it; INV exchanges the cipher with its inverse.
#include <openssl/crypto.h>

#include "aes/key_wrap.hpp"
#include "base/clean_stack.hpp"
#include "provider/generic.hpp"

namespace warpaes::provider {

namespace {

using Byte = unsigned char;

/// CRYPTO128_WRAP_MAX.
constexpr std::size_t most_bytes = std::size_t{1} << 31;

struct Wrap : Generic {
    bool inverted;  ///< an algorithm with INV in its name
};

void add_step(Byte* a, std::size_t t) noexcept {
    for (unsigned i = 0; i < 4; ++i) a[7 - i] ^= static_cast<Byte>(t >> (8 * i));
}

/// `bytes` bytes behind the first 8 of `out`, where they are already.
void wrap_steps(const Key& key, const Byte* iv, Byte* out, std::size_t bytes) noexcept {
    alignas(16) Byte b[16];
    std::memcpy(b, iv, 8);
    std::size_t t = 1;
    for (int j = 0; j < 6; ++j) {
        for (Byte* r = out + 8; r != out + 8 + bytes; r += 8, ++t) {
            std::memcpy(b + 8, r, 8);
            key.block(b, b);
            add_step(b, t);
            std::memcpy(r, b + 8, 8);
        }
    }
    std::memcpy(out, b, 8);
}

std::size_t wrap_whole(const Key& key, const Byte* iv, Byte* out, const Byte* in, std::size_t bytes) noexcept {
    if (bytes % 8 != 0 || bytes < 16 || bytes > most_bytes) return 0;
    std::memmove(out + 8, in, bytes);
    wrap_steps(key, iv != nullptr ? iv : kw_icv.data(), out, bytes);
    return bytes + 8;
}

/// `bytes`: without the first 8. What those were when wrapped goes to `iv`.
void unwrap_steps(const Key& key, Byte* iv, Byte* out, const Byte* in, std::size_t bytes) noexcept {
    alignas(16) Byte b[16];
    std::memcpy(b, in, 8);
    std::memmove(out, in + 8, bytes);
    std::size_t t = 6 * (bytes / 8);
    for (int j = 0; j < 6; ++j) {
        for (Byte* r = out + bytes - 8;; r -= 8, --t) {
            add_step(b, t);
            std::memcpy(b + 8, r, 8);
            key.block(b, b);
            std::memcpy(r, b + 8, 8);
            if (r == out) {
                --t;
                break;
            }
        }
    }
    std::memcpy(iv, b, 8);
}

std::size_t unwrap_whole(const Key& key, const Byte* iv, Byte* out, const Byte* in, std::size_t bytes) noexcept {
    if (bytes % 8 != 0 || bytes < 24 || bytes - 8 > most_bytes) return 0;
    Byte got[8];
    unwrap_steps(key, got, out, in, bytes - 8);
    if (CRYPTO_memcmp(got, iv != nullptr ? iv : kw_icv.data(), 8) == 0) return bytes - 8;
    wipe({out, bytes - 8});
    return 0;
}

std::size_t wrap_padded(const Key& key, const Byte* icv, Byte* out, const Byte* in, std::size_t bytes) noexcept {
    if (bytes == 0 || bytes >= most_bytes) return 0;
    const std::size_t padded = (bytes + 7) / 8 * 8;
    std::array<Byte, 4> start = kwp_icv;
    if (icv != nullptr) std::memcpy(start.data(), icv, 4);
    const Semiblock aiv = kwp_first(start, bytes);
    std::memmove(out + 8, in, bytes);
    std::memset(out + 8 + bytes, 0, padded - bytes);
    if (padded == 8) {
        std::memcpy(out, aiv.data(), 8);
        key.block(out, out);
        return 16;
    }
    wrap_steps(key, aiv.data(), out, padded);
    return padded + 8;
}

std::size_t unwrap_padded(const Key& key, const Byte* icv, Byte* out, const Byte* in, std::size_t bytes) noexcept {
    if (bytes % 8 != 0 || bytes < 16 || bytes >= most_bytes) return 0;
    const std::size_t padded = bytes - 8;
    Byte aiv[8];
    if (bytes == 16) {
        Secret<Block> block;
        key.block(in, block->data());
        std::memcpy(aiv, block->data(), 8);
        std::memcpy(out, block->data() + 8, 8);
    } else {
        unwrap_steps(key, aiv, out, in, padded);
    }
    std::size_t length = 0;
    for (unsigned i = 4; i < 8; ++i) length = length << 8 | aiv[i];
    constexpr Byte zeros[8] = {};
    if (CRYPTO_memcmp(aiv, icv != nullptr ? icv : kwp_icv.data(), 4) != 0 || length <= padded - 8 || length > padded ||
        CRYPTO_memcmp(out + length, zeros, padded - length) != 0) {
        wipe({out, padded});
        return 0;
    }
    return length;
}

template <const Algorithm& A, bool Inverted>
void* new_wrap(void* provider) noexcept {
    auto* const c = make_context<Wrap>(provider, A.kind);
    if (c == nullptr) return nullptr;
    c->algorithm = &A;
    c->kernels = c->provider->settings()->kernels;
    c->keylen = A.key_bits / 8;
    c->ivlen = A.iv_bits / 8;
    c->blocksize = A.block_bits / 8;
    c->pad = c->ivlen == 4;
    c->inverted = Inverted;
    return c;
}

void free_wrap(void* context) noexcept {
    free_context(static_cast<Wrap*>(context));
}

void* copy_wrap(void* context) noexcept {
    return copy_context(static_cast<const Wrap*>(context));
}

int set_params(void* context, const OSSL_PARAM params[]) noexcept {
    Wrap& c = *static_cast<Wrap*>(context);
    if (params == nullptr) return 1;
    std::size_t keylen = 0;
    bool given = false;
    if (!get_size(&c, params, OSSL_CIPHER_PARAM_KEYLEN, keylen, given)) return 0;
    return given && keylen != c.keylen ? WARPAES_RAISE(&c, PROV_R_INVALID_KEY_LENGTH) : 1;
}

int init(void* context, const Byte* key, std::size_t keylen, const Byte* iv, std::size_t ivlen,
         const OSSL_PARAM params[], bool enc) noexcept {
    Wrap& c = *static_cast<Wrap*>(context);
    c.enc = enc;
    if (iv != nullptr && generic_set_iv(c, iv, ivlen) == 0) return 0;
    if (key != nullptr) {
        if (keylen != c.keylen) return WARPAES_RAISE(&c, PROV_R_INVALID_KEY_LENGTH);
        c.key.set(key, keylen, enc == c.inverted);
        c.key_set = true;
    }
    return set_params(context, params);
}

int encrypt_init(void* context, const Byte* key, std::size_t keylen, const Byte* iv, std::size_t ivlen,
                 const OSSL_PARAM params[]) noexcept {
    return init(context, key, keylen, iv, ivlen, params, true);
}
int decrypt_init(void* context, const Byte* key, std::size_t keylen, const Byte* iv, std::size_t ivlen,
                 const OSSL_PARAM params[]) noexcept {
    return init(context, key, keylen, iv, ivlen, params, false);
}

int cipher(void* context, Byte* out, std::size_t* outl, std::size_t outsize, const Byte* in, std::size_t inl) noexcept {
    Wrap& c = *static_cast<Wrap*>(context);
    if (inl == 0) {
        *outl = 0;
        return 1;
    }
    if (outsize < inl) return WARPAES_RAISE(&c, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    if (in == nullptr || !c.key_set) return 0;
    if (!c.enc && (inl < 16 || inl % 8 != 0)) return WARPAES_RAISE(&c, PROV_R_INVALID_INPUT_LENGTH);
    if (!c.pad && inl % 8 != 0) return WARPAES_RAISE(&c, PROV_R_INVALID_INPUT_LENGTH);
    if (out == nullptr) {  // how much room it takes
        *outl = c.enc ? (c.pad ? (inl + 7) / 8 * 8 : inl) + 8 : inl - 8;
        return 1;
    }
    const Byte* const iv = c.iv_set ? c.iv : nullptr;
    const std::size_t made = clean_stack([&] {
        if (c.enc) return c.pad ? wrap_padded(c.key, iv, out, in, inl) : wrap_whole(c.key, iv, out, in, inl);
        return c.pad ? unwrap_padded(c.key, iv, out, in, inl) : unwrap_whole(c.key, iv, out, in, inl);
    });
    if (made == 0) return WARPAES_RAISE(&c, PROV_R_CIPHER_OPERATION_FAILED);
    c.tally.add(inl);
    *outl = made;
    return 1;
}

int final(void* /*context*/, Byte* /*out*/, std::size_t* outl, std::size_t /*outsize*/) noexcept {
    *outl = 0;
    return 1;
}

template <const Algorithm& A, bool Inverted>
const OSSL_DISPATCH* functions() noexcept {
    static const OSSL_DISPATCH list[] = {
        {OSSL_FUNC_CIPHER_NEWCTX, dispatched(new_wrap<A, Inverted>)},
        {OSSL_FUNC_CIPHER_FREECTX, dispatched(free_wrap)},
        {OSSL_FUNC_CIPHER_DUPCTX, dispatched(copy_wrap)},
        {OSSL_FUNC_CIPHER_ENCRYPT_INIT, dispatched(encrypt_init)},
        {OSSL_FUNC_CIPHER_DECRYPT_INIT, dispatched(decrypt_init)},
        {OSSL_FUNC_CIPHER_UPDATE, dispatched(cipher)},
        {OSSL_FUNC_CIPHER_FINAL, dispatched(final)},
        {OSSL_FUNC_CIPHER_GET_PARAMS, dispatched(get_params_of<A>)},
        {OSSL_FUNC_CIPHER_GETTABLE_PARAMS, dispatched(gettable_params)},
        {OSSL_FUNC_CIPHER_GET_CTX_PARAMS, dispatched(generic_get_ctx_params)},
        {OSSL_FUNC_CIPHER_SET_CTX_PARAMS, dispatched(set_params)},
        {OSSL_FUNC_CIPHER_GETTABLE_CTX_PARAMS, dispatched(generic_gettable_ctx_params)},
        {OSSL_FUNC_CIPHER_SETTABLE_CTX_PARAMS, dispatched(generic_settable_ctx_params)},
        {0, nullptr}};
    return list;
}

#define WRAP(name, names, bits, iv_bits)                                      \
    constexpr Algorithm name {                                                \
        names, Kind::wrap, EVP_CIPH_WRAP_MODE, false, true, bits, 64, iv_bits \
    }

WRAP(kw256, "AES-256-WRAP:id-aes256-wrap:AES256-WRAP:2.16.840.1.101.3.4.1.45", 256, 64);
WRAP(kw192, "AES-192-WRAP:id-aes192-wrap:AES192-WRAP:2.16.840.1.101.3.4.1.25", 192, 64);
WRAP(kw128, "AES-128-WRAP:id-aes128-wrap:AES128-WRAP:2.16.840.1.101.3.4.1.5", 128, 64);
WRAP(kwp256, "AES-256-WRAP-PAD:id-aes256-wrap-pad:AES256-WRAP-PAD:2.16.840.1.101.3.4.1.48", 256, 32);
WRAP(kwp192, "AES-192-WRAP-PAD:id-aes192-wrap-pad:AES192-WRAP-PAD:2.16.840.1.101.3.4.1.28", 192, 32);
WRAP(kwp128, "AES-128-WRAP-PAD:id-aes128-wrap-pad:AES128-WRAP-PAD:2.16.840.1.101.3.4.1.8", 128, 32);
WRAP(kwi256, "AES-256-WRAP-INV:AES256-WRAP-INV", 256, 64);
WRAP(kwi192, "AES-192-WRAP-INV:AES192-WRAP-INV", 192, 64);
WRAP(kwi128, "AES-128-WRAP-INV:AES128-WRAP-INV", 128, 64);
WRAP(kwpi256, "AES-256-WRAP-PAD-INV:AES256-WRAP-PAD-INV", 256, 32);
WRAP(kwpi192, "AES-192-WRAP-PAD-INV:AES192-WRAP-PAD-INV", 192, 32);
WRAP(kwpi128, "AES-128-WRAP-PAD-INV:AES128-WRAP-PAD-INV", 128, 32);

}  // namespace

std::span<const Entry> wrap_ciphers() noexcept {
    static const Entry list[] = {{&kw256, functions<kw256, false>()},    {&kw192, functions<kw192, false>()},
                                 {&kw128, functions<kw128, false>()},    {&kwp256, functions<kwp256, false>()},
                                 {&kwp192, functions<kwp192, false>()},  {&kwp128, functions<kwp128, false>()},
                                 {&kwi256, functions<kwi256, true>()},   {&kwi192, functions<kwi192, true>()},
                                 {&kwi128, functions<kwi128, true>()},   {&kwpi256, functions<kwpi256, true>()},
                                 {&kwpi192, functions<kwpi192, true>()}, {&kwpi128, functions<kwpi128, true>()}};
    return list;
}

}  // namespace warpaes::provider
