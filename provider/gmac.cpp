// GMAC (GCM without text) as an EVP_MAC. AES uses this provider's GCM, and other ciphers use OpenSSL's own code.
#include "provider/delegate.hpp"
#include "provider/gcm.hpp"

namespace warpaes::provider {

namespace {

struct Gmac : Context {
    Gcm* gcm;            ///< set after an AES cipher has been chosen
    EVP_MAC_CTX* other;  ///< OpenSSL's context, set after any other cipher has been chosen
};

void* new_gmac(void* provider) noexcept {
    return make_context<Gmac>(provider, Kind::gmac);
}

void free_gmac(void* context) noexcept {
    auto* const c = static_cast<Gmac*>(context);
    if (c != nullptr) {
        free_context(c->gcm);
        EVP_MAC_CTX_free(c->other);
    }
    free_context(c);
}

void* copy_gmac(void* context) noexcept {
    const auto* const c = static_cast<const Gmac*>(context);
    if (c->gcm == nullptr && c->other == nullptr) return nullptr;
    Gmac* const copy = copy_context(c);
    if (copy == nullptr) return nullptr;
    copy->gcm = c->gcm != nullptr ? copy_context(c->gcm) : nullptr;
    copy->other = c->other != nullptr ? EVP_MAC_CTX_dup(c->other) : nullptr;
    if ((copy->gcm != nullptr) == (c->gcm != nullptr) && (copy->other != nullptr) == (c->other != nullptr)) return copy;
    free_gmac(copy);
    return nullptr;
}

int set_key(Gmac& c, const Byte* key, std::size_t bytes) noexcept {
    if (c.gcm == nullptr || bytes != c.gcm->keylen) return WARPAES_RAISE(&c, PROV_R_INVALID_KEY_LENGTH);
    return gcm_encrypt_init(c.gcm, key, bytes, nullptr, 0, nullptr);
}

int gmac_set_ctx_params(void* context, const OSSL_PARAM params[]) noexcept {
    Gmac& c = *static_cast<Gmac*>(context);
    if (params == nullptr) return 1;
    if (const OSSL_PARAM* const p = OSSL_PARAM_locate_const(params, OSSL_MAC_PARAM_CIPHER)) {
        if (p->data_type != OSSL_PARAM_UTF8_STRING || p->data == nullptr) return 0;
        const Algorithm* const found = find_algorithm(gcm_ciphers(), static_cast<const char*>(p->data));
        const bool ours = found != nullptr && OSSL_PARAM_locate_const(params, OSSL_MAC_PARAM_PROPERTIES) == nullptr;
        if (ours) {
            auto* const made = static_cast<Gcm*>(new_gcm(c.provider, *found));
            if (made == nullptr) return 0;
            made->tally.kind = Kind::gmac;
            free_context(c.gcm);
            EVP_MAC_CTX_free(c.other);
            c.other = nullptr;
            c.gcm = made;
            c.gcm->enc = true;
        } else {
            if (c.other == nullptr) c.other = open_mac("GMAC");
            if (c.other == nullptr) return 0;
            free_context(c.gcm);
            c.gcm = nullptr;
        }
    }
    if (c.other != nullptr) return EVP_MAC_CTX_set_params(c.other, params);
    if (const OSSL_PARAM* const p = OSSL_PARAM_locate_const(params, OSSL_MAC_PARAM_KEY)) {
        if (p->data_type != OSSL_PARAM_OCTET_STRING ||
            set_key(c, static_cast<const Byte*>(p->data), p->data_size) == 0) {
            return 0;
        }
    }
    if (const OSSL_PARAM* const p = OSSL_PARAM_locate_const(params, OSSL_MAC_PARAM_IV)) {
        if (p->data_type != OSSL_PARAM_OCTET_STRING || c.gcm == nullptr) return 0;
        return gcm_encrypt_init(c.gcm, nullptr, 0, static_cast<const Byte*>(p->data), p->data_size, nullptr);
    }
    return 1;
}

int gmac_init(void* context, const Byte* key, std::size_t keylen, const OSSL_PARAM params[]) noexcept {
    Gmac& c = *static_cast<Gmac*>(context);
    if (gmac_set_ctx_params(context, params) == 0) return 0;
    if (c.other != nullptr) return EVP_MAC_init(c.other, key, keylen, nullptr);
    if (key != nullptr) return set_key(c, key, keylen);
    return c.gcm != nullptr ? 1 : 0;
}

int gmac_update(void* context, const Byte* data, std::size_t bytes) noexcept {
    Gmac& c = *static_cast<Gmac*>(context);
    if (bytes == 0) return 1;
    if (c.other != nullptr) {
        count(Kind::gmac, Where::delegated, 1, bytes);
        return EVP_MAC_update(c.other, data, bytes);
    }
    std::size_t read = 0;
    if (c.gcm == nullptr || gcm_update(c.gcm, nullptr, &read, bytes, data, bytes) == 0) return 0;
    c.tally.add(bytes);
    return 1;
}

int gmac_final(void* context, Byte* out, std::size_t* outl, std::size_t outsize) noexcept {
    Gmac& c = *static_cast<Gmac*>(context);
    if (c.other != nullptr) return EVP_MAC_final(c.other, out, outl, outsize);
    std::size_t written = 0;
    if (c.gcm == nullptr || gcm_final(c.gcm, out, &written, 0) == 0) return 0;
    std::memcpy(out, c.gcm->buf, 16);
    *outl = 16;
    return 1;
}

int gmac_get_params(OSSL_PARAM params[]) noexcept {
    OSSL_PARAM* const p = OSSL_PARAM_locate(params, OSSL_MAC_PARAM_SIZE);
    return p == nullptr ? 1 : OSSL_PARAM_set_size_t(p, 16);
}

const OSSL_PARAM* gmac_gettable_params(void* /*provider*/) noexcept {
    static const OSSL_PARAM list[] = {OSSL_PARAM_size_t(OSSL_MAC_PARAM_SIZE, nullptr), OSSL_PARAM_END};
    return list;
}

const OSSL_PARAM* gmac_settable_ctx_params(void* /*context*/, void* /*provider*/) noexcept {
    static const OSSL_PARAM list[] = {OSSL_PARAM_utf8_string(OSSL_MAC_PARAM_CIPHER, nullptr, 0),
                                      OSSL_PARAM_utf8_string(OSSL_MAC_PARAM_PROPERTIES, nullptr, 0),
                                      OSSL_PARAM_octet_string(OSSL_MAC_PARAM_KEY, nullptr, 0),
                                      OSSL_PARAM_octet_string(OSSL_MAC_PARAM_IV, nullptr, 0), OSSL_PARAM_END};
    return list;
}

}  // namespace

const OSSL_DISPATCH* gmac_functions() noexcept {
    static const OSSL_DISPATCH list[] = {{OSSL_FUNC_MAC_NEWCTX, dispatched(new_gmac)},
                                         {OSSL_FUNC_MAC_DUPCTX, dispatched(copy_gmac)},
                                         {OSSL_FUNC_MAC_FREECTX, dispatched(free_gmac)},
                                         {OSSL_FUNC_MAC_INIT, dispatched(gmac_init)},
                                         {OSSL_FUNC_MAC_UPDATE, dispatched(gmac_update)},
                                         {OSSL_FUNC_MAC_FINAL, dispatched(gmac_final)},
                                         {OSSL_FUNC_MAC_GETTABLE_PARAMS, dispatched(gmac_gettable_params)},
                                         {OSSL_FUNC_MAC_GET_PARAMS, dispatched(gmac_get_params)},
                                         {OSSL_FUNC_MAC_SETTABLE_CTX_PARAMS, dispatched(gmac_settable_ctx_params)},
                                         {OSSL_FUNC_MAC_SET_CTX_PARAMS, dispatched(gmac_set_ctx_params)},
                                         {0, nullptr}};
    return list;
}

}  // namespace warpaes::provider
