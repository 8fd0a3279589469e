// SIV (RFC 5297) with the interface of OpenSSL 3.0's default provider: any number of updates with associated data, one
// component in each update, and one update with the text.
#include "aes/siv.hpp"

#include <openssl/crypto.h>

#include "base/clean_stack.hpp"
#include "provider/generic.hpp"
#include "provider/macs.hpp"

namespace warpaes::provider {

namespace {

struct Siv : Context {
    Key mac_key, key;
    const cpu::UpdateKernels* kernels;
    CmacState mac;  ///< state before the text
    alignas(16) std::uint8_t d[16];
    alignas(16) std::uint8_t tag[16];
    std::size_t keylen;
    int final_result;  ///< 0 if the text has been processed and is authentic
    int left;          ///< number of texts that may follow, or -1 for any number (for benchmarks)
    bool enc, key_set;
};

Block block_at(const Byte* bytes) noexcept {
    Block block;
    std::memcpy(block.data(), bytes, 16);
    return block;
}

Block mac_of(const Siv& c, const Byte* data, std::size_t bytes) noexcept {
    CmacState mac = c.mac;
    Block tag;
    mac.update(c.mac_key, data, bytes);
    mac.final(c.mac_key, tag.data());
    return tag;
}

void add_aad(Siv& c, const Byte* data, std::size_t bytes) noexcept {
    const Block next = siv_next(block_at(c.d), mac_of(c, data, bytes));
    std::memcpy(c.d, next.data(), 16);
}

Block synthetic_iv(Siv& c, const Byte* text, std::size_t bytes) noexcept {
    const std::size_t before = bytes >= 16 ? bytes - 16 : 0;
    const Block end = siv_end(block_at(c.d), {text + before, bytes - before});
    // The doubled value is stored, as in the default provider. It affects a second text, which benchmarks may pass.
    if (bytes < 16) {
        const Block d = doubled(block_at(c.d));
        std::memcpy(c.d, d.data(), 16);
    }
    CmacState mac = c.mac;
    Block tag;
    mac.update(c.mac_key, text, before);
    mac.update(c.mac_key, end.data(), 16);
    mac.final(c.mac_key, tag.data());
    return tag;
}

void add_key_stream(Siv& c, const Block& v, const Byte* in, Byte* out, std::size_t bytes) noexcept {
    if (bytes == 0) return;
    const Block counter = siv_counter(v);
    c.kernels->run({.mode = Mode::ctr,
                    .direction = Direction::encrypt,
                    .rounds = static_cast<int>(c.key.rounds),
                    .keys = c.key.schedule,
                    .input = in,
                    .output = out,
                    .length = bytes,
                    .chain = counter.data()});
}

bool crypt(Siv& c, const Byte* in, Byte* out, std::size_t bytes) noexcept {
    c.final_result = -1;
    if (c.left == 0) return false;
    --c.left;
    if (c.enc) {
        const Block v = synthetic_iv(c, in, bytes);
        std::memcpy(c.tag, v.data(), 16);
        add_key_stream(c, v, in, out, bytes);
    } else {
        add_key_stream(c, block_at(c.tag), in, out, bytes);
        const Block v = synthetic_iv(c, out, bytes);
        if (CRYPTO_memcmp(v.data(), c.tag, tag_bytes) != 0) {
            if (bytes != 0) wipe({out, bytes});
            return false;
        }
    }
    c.final_result = 0;
    c.tally.add(bytes);
    return true;
}

template <const Algorithm& A>
void* new_siv(void* provider) noexcept {
    auto* const c = make_context<Siv>(provider, A.kind);
    if (c == nullptr) return nullptr;
    c->kernels = c->provider->settings()->kernels;
    c->keylen = A.key_bits / 8;
    return c;
}

void* copy_siv(void* context) noexcept {
    const auto* const c = static_cast<const Siv*>(context);
    return c->key_set ? copy_context(c) : nullptr;
}

int siv_set_ctx_params(void* context, const OSSL_PARAM params[]) noexcept {
    Siv& c = *static_cast<Siv*>(context);
    if (params == nullptr) return 1;
    // An earlier success does not apply to a new tag.
    c.final_result = -1;
    if (const OSSL_PARAM* const p = OSSL_PARAM_locate_const(params, OSSL_CIPHER_PARAM_AEAD_TAG)) {
        if (c.enc) return 1;
        if (p->data_type != OSSL_PARAM_OCTET_STRING || p->data_size != tag_bytes || p->data == nullptr) {
            return WARPAES_RAISE(&c, PROV_R_FAILED_TO_GET_PARAMETER);
        }
        std::memcpy(c.tag, p->data, tag_bytes);
    }
    unsigned speed = 0;
    bool given = false;
    if (!get_uint(&c, params, OSSL_CIPHER_PARAM_SPEED, speed, given)) return 0;
    if (given) c.left = speed == 1 ? -1 : 1;
    std::size_t keylen = 0;
    if (!get_size(&c, params, OSSL_CIPHER_PARAM_KEYLEN, keylen, given)) return 0;
    return given && keylen != c.keylen ? 0 : 1;
}

int siv_init(void* context, const Byte* key, std::size_t keylen, const Byte* /*iv*/, std::size_t /*ivlen*/,
             const OSSL_PARAM params[], bool enc) noexcept {
    Siv& c = *static_cast<Siv*>(context);
    c.enc = enc;
    c.final_result = -1;
    if (key != nullptr) {
        if (keylen != c.keylen) return WARPAES_RAISE(&c, PROV_R_INVALID_KEY_LENGTH);
        c.mac_key.set(key, keylen / 2, false);
        c.key.set(key + keylen / 2, keylen / 2, false);
        c.mac.set_key(c.mac_key);
        constexpr Byte zeros[16] = {};
        const Block d = mac_of(c, zeros, sizeof zeros);
        std::memcpy(c.d, d.data(), 16);
        clear_registers();
        c.left = 1;
        c.key_set = true;
    }
    return siv_set_ctx_params(context, params);
}

int siv_final(void* context, Byte* /*out*/, std::size_t* outl, std::size_t /*outsize*/) noexcept {
    const Siv& c = *static_cast<const Siv*>(context);
    if (c.final_result != 0) return 0;
    if (outl != nullptr) *outl = 0;
    return 1;
}

int siv_cipher(void* context, Byte* out, std::size_t* outl, std::size_t outsize, const Byte* in,
               std::size_t inl) noexcept {
    Siv& c = *static_cast<Siv*>(context);
    if (out != nullptr) {
        // Before OpenSSL 3.5, an empty text did not count as a text.
        if (inl == 0 && c.provider->openssl < 305) {
            if (outl != nullptr) *outl = 0;
            return 1;
        }
        if (outsize < inl) return WARPAES_RAISE(&c, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    }
    if (in == nullptr) {
        if (c.final_result != 0) return 0;
    } else {
        if (!c.key_set) return 0;
        if (out == nullptr) {
            clean_stack([&] { add_aad(c, in, inl); });
        } else {
            WARPAES_REFUSE_OVERLAP(&c, in, inl, out, inl);
            if (!clean_stack([&] { return crypt(c, in, out, inl); })) return 0;
        }
    }
    if (outl != nullptr) *outl = inl;
    return 1;
}

int siv_get_ctx_params(void* context, OSSL_PARAM params[]) noexcept {
    const Siv& c = *static_cast<const Siv*>(context);
    OSSL_PARAM* const p = OSSL_PARAM_locate(params, OSSL_CIPHER_PARAM_AEAD_TAG);
    if (p != nullptr && p->data_type == OSSL_PARAM_OCTET_STRING) {
        if (!c.enc || p->data_size != tag_bytes || OSSL_PARAM_set_octet_string(p, c.tag, tag_bytes) != 1) {
            return WARPAES_RAISE(&c, PROV_R_FAILED_TO_SET_PARAMETER);
        }
    }
    return set_size(&c, params, OSSL_CIPHER_PARAM_AEAD_TAGLEN, tag_bytes) &&
                   set_size(&c, params, OSSL_CIPHER_PARAM_KEYLEN, c.keylen)
               ? 1
               : 0;
}

const OSSL_PARAM* siv_gettable_ctx_params(void* /*context*/, void* /*provider*/) noexcept {
    static const OSSL_PARAM list[] = {OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_KEYLEN, nullptr),
                                      OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_AEAD_TAGLEN, nullptr),
                                      OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, nullptr, 0), OSSL_PARAM_END};
    return list;
}

const OSSL_PARAM* siv_settable_ctx_params(void* /*context*/, void* /*provider*/) noexcept {
    static const OSSL_PARAM list[] = {OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_KEYLEN, nullptr),
                                      OSSL_PARAM_uint(OSSL_CIPHER_PARAM_SPEED, nullptr),
                                      OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, nullptr, 0), OSSL_PARAM_END};
    return list;
}

template <const Algorithm& A>
constexpr CipherCalls siv_calls{new_siv<A>,
                                free_plain<Siv>,
                                copy_siv,
                                siv_init,
                                siv_cipher,
                                siv_final,
                                siv_cipher,
                                siv_get_ctx_params,
                                siv_set_ctx_params,
                                siv_gettable_ctx_params,
                                siv_settable_ctx_params};

constexpr Algorithm siv128{"AES-128-SIV", Kind::siv, EVP_CIPH_SIV_MODE, true, true, 256, 8, 0};
constexpr Algorithm siv192{"AES-192-SIV", Kind::siv, EVP_CIPH_SIV_MODE, true, true, 384, 8, 0};
constexpr Algorithm siv256{"AES-256-SIV", Kind::siv, EVP_CIPH_SIV_MODE, true, true, 512, 8, 0};

}  // namespace

std::span<const Entry> siv_ciphers() noexcept {
    static const Entry list[] = {{&siv128, cipher_functions<siv128, siv_calls<siv128>>()},
                                 {&siv192, cipher_functions<siv192, siv_calls<siv192>>()},
                                 {&siv256, cipher_functions<siv256, siv_calls<siv256>>()}};
    return list;
}

}  // namespace warpaes::provider
