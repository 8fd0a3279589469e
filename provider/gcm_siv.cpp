// GCM-SIV (RFC 8452) with the parameters that OpenSSL has defined for it since version 3.2: associated data in any
// number of updates, and the text in one update.
#include <openssl/crypto.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/clean_stack.hpp"
#include "base/error.hpp"
#include "message/message.hpp"
#include "provider/bulk.hpp"
#include "provider/generic.hpp"
#include "warpaes/warpaes.h"

namespace warpaes::provider {

namespace {

constexpr std::size_t nonce_bytes = 12;

struct GcmSiv : Context {
    std::uint8_t key[32];
    std::uint8_t iv[nonce_bytes];
    std::uint8_t tag[tag_bytes];
    std::uint8_t* aad;  ///< all associated data so far
    std::size_t aad_bytes, aad_room, keylen;
    bool enc, key_set, iv_set, tag_set, done, speed;
    bool failed;  ///< processing the text failed, so the final call also fails instead of processing an empty text
};

void drop_aad(GcmSiv& c) noexcept {
    if (c.aad != nullptr) wipe({c.aad, c.aad_bytes});
    std::free(c.aad);
    c.aad = nullptr;
    c.aad_bytes = c.aad_room = 0;
}

bool add_aad(GcmSiv& c, const Byte* data, std::size_t bytes) noexcept {
    if (bytes == 0) return true;
    const std::size_t whole = c.aad_bytes + bytes;
    if (whole < bytes) return false;
    if (whole > c.aad_room) {
        // realloc() is not used, because it could leave a copy of the data.
        const std::size_t room = std::max(whole, c.aad_bytes <= SIZE_MAX / 2 ? 2 * c.aad_bytes : whole);
        auto* const all = static_cast<Byte*>(std::malloc(room));
        if (all == nullptr) return false;
        if (c.aad != nullptr) std::memcpy(all, c.aad, c.aad_bytes);
        const std::size_t before = c.aad_bytes;
        drop_aad(c);
        c.aad = all;
        c.aad_bytes = before;
        c.aad_room = room;
    }
    std::memcpy(c.aad + c.aad_bytes, data, bytes);
    c.aad_bytes = whole;
    return true;
}

/// Processes the complete message. `bytes` may be 0.
bool crypt(GcmSiv& c, const Byte* in, Byte* out, std::size_t bytes) noexcept {
    if (!c.key_set || !c.iv_set || (c.done && !c.speed) || (!c.enc && !c.tag_set)) return false;
    c.failed = true;
    Engine* const engine = c.provider->settings()->bulk->engine_of_cpus();
    if (engine == nullptr) return false;
    MessageResult result;
    try {
        clean_stack([&] {
            const ExpandedKey key({c.key, c.keylen});
            const MessageGroup message{.mode = Mode::gcm_siv,
                                       .direction = c.enc ? Direction::encrypt : Direction::decrypt,
                                       .length = bytes,
                                       .input = Elements::of(in),
                                       .output = {out, 0},
                                       .iv = {c.iv, 0},
                                       .iv_length = nonce_bytes,
                                       .aad_length = c.aad_bytes,
                                       .aad = {c.aad, 0},
                                       .tag = {c.tag, 0},
                                       .tag_length = tag_bytes,
                                       .key = &key,
                                       .keys = {}};
            warpaes::crypt(*engine, {.message = message, .output_capacity = bytes}, result);
        });
    } catch (...) {
        return false;
    }
    if (result.refusal) return false;
    c.done = true;
    c.failed = false;
    c.tally.add(bytes);
    return true;
}

template <const Algorithm& A>
void* new_gcm_siv(void* provider) noexcept {
    auto* const c = make_context<GcmSiv>(provider, A.kind);
    if (c != nullptr) c->keylen = A.key_bits / 8;
    return c;
}

void free_gcm_siv(void* context) noexcept {
    auto* const c = static_cast<GcmSiv*>(context);
    if (c != nullptr) drop_aad(*c);
    free_context(c);
}

void* copy_gcm_siv(void* context) noexcept {
    const auto* const c = static_cast<const GcmSiv*>(context);
    GcmSiv* const copy = copy_context(c);
    if (copy == nullptr) return nullptr;
    copy->aad = nullptr;
    copy->aad_bytes = copy->aad_room = 0;
    if (add_aad(*copy, c->aad, c->aad_bytes)) return copy;
    free_gcm_siv(copy);
    return nullptr;
}

int gcm_siv_set_ctx_params(void* context, const OSSL_PARAM params[]) noexcept {
    GcmSiv& c = *static_cast<GcmSiv*>(context);
    if (params == nullptr) return 1;
    if (const OSSL_PARAM* const p = OSSL_PARAM_locate_const(params, OSSL_CIPHER_PARAM_AEAD_TAG)) {
        if (p->data_type != OSSL_PARAM_OCTET_STRING || p->data_size != tag_bytes || p->data == nullptr || c.enc) {
            return WARPAES_RAISE(&c, PROV_R_FAILED_TO_GET_PARAMETER);
        }
        std::memcpy(c.tag, p->data, tag_bytes);
        c.tag_set = true;
    }
    unsigned speed = 0;
    bool given = false;
    if (!get_uint(&c, params, OSSL_CIPHER_PARAM_SPEED, speed, given)) return 0;
    if (given) c.speed = speed != 0;
    std::size_t length = 0;
    if (!get_size(&c, params, OSSL_CIPHER_PARAM_KEYLEN, length, given)) return 0;
    if (given && length != c.keylen) return WARPAES_RAISE(&c, PROV_R_INVALID_KEY_LENGTH);
    if (!get_size(&c, params, OSSL_CIPHER_PARAM_AEAD_IVLEN, length, given)) return 0;
    if (given && length != nonce_bytes) return WARPAES_RAISE(&c, PROV_R_INVALID_IV_LENGTH);
    return 1;
}

int gcm_siv_init(void* context, const Byte* key, std::size_t keylen, const Byte* iv, std::size_t ivlen,
                 const OSSL_PARAM params[], bool enc) noexcept {
    GcmSiv& c = *static_cast<GcmSiv*>(context);
    c.enc = enc;
    c.done = c.tag_set = c.failed = false;
    drop_aad(c);
    if (key != nullptr) {
        if (keylen != c.keylen) return WARPAES_RAISE(&c, PROV_R_INVALID_KEY_LENGTH);
        std::memcpy(c.key, key, keylen);
        clear_registers();
        c.key_set = true;
    }
    if (iv != nullptr) {
        if (ivlen != nonce_bytes) return WARPAES_RAISE(&c, PROV_R_INVALID_IV_LENGTH);
        std::memcpy(c.iv, iv, nonce_bytes);
        c.iv_set = true;
    }
    return gcm_siv_set_ctx_params(context, params);
}

/// Ends the message, and processes it if it has no text.
int gcm_siv_final(void* context, Byte* /*out*/, std::size_t* outl, std::size_t /*outsize*/) noexcept {
    GcmSiv& c = *static_cast<GcmSiv*>(context);
    if (outl != nullptr) *outl = 0;
    return !c.failed && (c.done || crypt(c, nullptr, nullptr, 0)) ? 1 : 0;
}

int gcm_siv_cipher(void* context, Byte* out, std::size_t* outl, std::size_t outsize, const Byte* in,
                   std::size_t inl) noexcept {
    GcmSiv& c = *static_cast<GcmSiv*>(context);
    if (in == nullptr) return gcm_siv_final(context, out, outl, outsize);
    if (out == nullptr) {
        if (c.done || !add_aad(c, in, inl)) return 0;
    } else {
        if (outsize < inl) return WARPAES_RAISE(&c, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
        WARPAES_REFUSE_OVERLAP(&c, in, inl, out, inl);
        if (!crypt(c, in, out, inl)) return WARPAES_RAISE(&c, PROV_R_CIPHER_OPERATION_FAILED);
    }
    if (outl != nullptr) *outl = inl;
    return 1;
}

int gcm_siv_get_ctx_params(void* context, OSSL_PARAM params[]) noexcept {
    const GcmSiv& c = *static_cast<const GcmSiv*>(context);
    OSSL_PARAM* const p = OSSL_PARAM_locate(params, OSSL_CIPHER_PARAM_AEAD_TAG);
    if (p != nullptr && p->data_type == OSSL_PARAM_OCTET_STRING) {
        if (!c.enc || !c.done || p->data_size != tag_bytes || OSSL_PARAM_set_octet_string(p, c.tag, tag_bytes) != 1) {
            return WARPAES_RAISE(&c, PROV_R_FAILED_TO_SET_PARAMETER);
        }
    }
    return set_size(&c, params, OSSL_CIPHER_PARAM_AEAD_TAGLEN, tag_bytes) &&
                   set_size(&c, params, OSSL_CIPHER_PARAM_IVLEN, nonce_bytes) &&
                   set_size(&c, params, OSSL_CIPHER_PARAM_KEYLEN, c.keylen)
               ? 1
               : 0;
}

const OSSL_PARAM* gcm_siv_gettable_ctx_params(void* /*context*/, void* /*provider*/) noexcept {
    static const OSSL_PARAM list[] = {OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_KEYLEN, nullptr),
                                      OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_IVLEN, nullptr),
                                      OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_AEAD_TAGLEN, nullptr),
                                      OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, nullptr, 0), OSSL_PARAM_END};
    return list;
}

const OSSL_PARAM* gcm_siv_settable_ctx_params(void* /*context*/, void* /*provider*/) noexcept {
    static const OSSL_PARAM list[] = {OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_KEYLEN, nullptr),
                                      OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_AEAD_IVLEN, nullptr),
                                      OSSL_PARAM_uint(OSSL_CIPHER_PARAM_SPEED, nullptr),
                                      OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, nullptr, 0), OSSL_PARAM_END};
    return list;
}

template <const Algorithm& A>
constexpr CipherCalls gcm_siv_calls{new_gcm_siv<A>,
                                    free_gcm_siv,
                                    copy_gcm_siv,
                                    gcm_siv_init,
                                    gcm_siv_cipher,
                                    gcm_siv_final,
                                    gcm_siv_cipher,
                                    gcm_siv_get_ctx_params,
                                    gcm_siv_set_ctx_params,
                                    gcm_siv_gettable_ctx_params,
                                    gcm_siv_settable_ctx_params};

constexpr unsigned gcm_siv_mode = 0x10005;  // EVP_CIPH_GCM_SIV_MODE, which OpenSSL 3.0 does not define
constexpr Algorithm gcm_siv128{"AES-128-GCM-SIV", Kind::gcm_siv, gcm_siv_mode, true, true, 128, 8, 96};
constexpr Algorithm gcm_siv256{"AES-256-GCM-SIV", Kind::gcm_siv, gcm_siv_mode, true, true, 256, 8, 96};

}  // namespace

std::span<const Entry> gcm_siv_ciphers() noexcept {
    static const Entry list[] = {{&gcm_siv128, cipher_functions<gcm_siv128, gcm_siv_calls<gcm_siv128>>()},
                                 {&gcm_siv256, cipher_functions<gcm_siv256, gcm_siv_calls<gcm_siv256>>()}};
    return list;
}

}  // namespace warpaes::provider
