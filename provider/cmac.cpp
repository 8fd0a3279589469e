// CMAC as an EVP_MAC. AES uses this provider's code, and other ciphers use OpenSSL's own code.
#include "base/clean_stack.hpp"
#include "provider/algorithm.hpp"
#include "provider/delegate.hpp"
#include "provider/generic.hpp"
#include "provider/macs.hpp"

namespace warpaes::provider {

namespace {

struct Cmac : Context {
    Key key;
    CmacState state;
    const Algorithm* chosen;  ///< AES cipher that does not have a key yet
    const Algorithm* cipher;  ///< AES cipher that already has a key
    EVP_MAC_CTX* other;       ///< OpenSSL's context, which handles all calls if the cipher is not AES
    bool ready;
};

void* new_cmac(void* provider) noexcept {
    return make_context<Cmac>(provider, Kind::cmac);
}

void free_cmac(void* context) noexcept {
    auto* const c = static_cast<Cmac*>(context);
    if (c != nullptr) EVP_MAC_CTX_free(c->other);
    free_context(c);
}

void* copy_cmac(void* context) noexcept {
    const auto* const c = static_cast<const Cmac*>(context);
    if (c->other == nullptr && !c->ready) return nullptr;
    Cmac* const copy = copy_context(c);
    if (copy == nullptr || c->other == nullptr) return copy;
    copy->other = EVP_MAC_CTX_dup(c->other);
    if (copy->other != nullptr) return copy;
    free_cmac(copy);
    return nullptr;
}

int set_key(Cmac& c, const Byte* key, std::size_t bytes) noexcept {
    const Algorithm* const cipher = c.chosen != nullptr ? c.chosen : c.cipher;
    c.chosen = nullptr;
    c.ready = false;
    c.cipher = cipher;
    if (cipher == nullptr || bytes != cipher->key_bits / 8) return 0;
    c.key.set(key, bytes, false);
    c.state.set_key(c.key);
    clear_registers();
    c.ready = true;
    return 1;
}

int cmac_set_ctx_params(void* context, const OSSL_PARAM params[]) noexcept {
    Cmac& c = *static_cast<Cmac*>(context);
    if (params == nullptr) return 1;
    if (const OSSL_PARAM* const p = OSSL_PARAM_locate_const(params, OSSL_MAC_PARAM_CIPHER)) {
        if (p->data_type != OSSL_PARAM_UTF8_STRING || p->data == nullptr) return 0;
        const Algorithm* const found = find_algorithm(cbc_ciphers(), static_cast<const char*>(p->data));
        // Properties may request a different provider.
        const bool ours = found != nullptr && OSSL_PARAM_locate_const(params, OSSL_MAC_PARAM_PROPERTIES) == nullptr;
        if (!ours) {
            if (c.other == nullptr) c.other = open_mac("CMAC");
            if (c.other == nullptr) return 0;
        } else if (c.other != nullptr) {
            EVP_MAC_CTX_free(c.other);
            c.other = nullptr;
        }
        if (ours) c.chosen = found;
    }
    if (c.other != nullptr) return EVP_MAC_CTX_set_params(c.other, params);
    const OSSL_PARAM* const p = OSSL_PARAM_locate_const(params, OSSL_MAC_PARAM_KEY);
    if (p == nullptr) return 1;
    if (p->data_type != OSSL_PARAM_OCTET_STRING) return 0;
    return set_key(c, static_cast<const Byte*>(p->data), p->data_size);
}

int cmac_init(void* context, const Byte* key, std::size_t keylen, const OSSL_PARAM params[]) noexcept {
    Cmac& c = *static_cast<Cmac*>(context);
    if (cmac_set_ctx_params(context, params) == 0) return 0;
    if (c.other != nullptr) return EVP_MAC_init(c.other, key, keylen, nullptr);
    if (key != nullptr) return set_key(c, key, keylen);
    if (!c.ready) return 0;
    c.state.begin();
    return 1;
}

int cmac_update(void* context, const Byte* data, std::size_t bytes) noexcept {
    Cmac& c = *static_cast<Cmac*>(context);
    if (c.other != nullptr) {
        count(Kind::cmac, Where::delegated, 1, bytes);
        return EVP_MAC_update(c.other, data, bytes);
    }
    if (!c.ready) return 0;
    cleaned(bytes, [&] { c.state.update(c.key, data, bytes); });
    c.tally.add(bytes);
    return 1;
}

int cmac_final(void* context, Byte* out, std::size_t* outl, std::size_t outsize) noexcept {
    Cmac& c = *static_cast<Cmac*>(context);
    if (c.other != nullptr) return EVP_MAC_final(c.other, out, outl, outsize);
    if (!c.ready) return 0;
    if (outl != nullptr) *outl = 16;
    if (out != nullptr) c.state.final(c.key, out);
    return 1;
}

int cmac_get_ctx_params(void* context, OSSL_PARAM params[]) noexcept {
    const Cmac& c = *static_cast<const Cmac*>(context);
    if (c.other != nullptr) return EVP_MAC_CTX_get_params(c.other, params);
    const std::size_t size = c.cipher != nullptr ? 16 : 0;
    for (const char* const name : {OSSL_MAC_PARAM_SIZE, OSSL_MAC_PARAM_BLOCK_SIZE}) {
        OSSL_PARAM* const p = OSSL_PARAM_locate(params, name);
        if (p != nullptr && OSSL_PARAM_set_size_t(p, size) != 1) return 0;
    }
    return 1;
}

const OSSL_PARAM* cmac_gettable_ctx_params(void* /*context*/, void* /*provider*/) noexcept {
    static const OSSL_PARAM list[] = {OSSL_PARAM_size_t(OSSL_MAC_PARAM_SIZE, nullptr),
                                      OSSL_PARAM_size_t(OSSL_MAC_PARAM_BLOCK_SIZE, nullptr), OSSL_PARAM_END};
    return list;
}

const OSSL_PARAM* cmac_settable_ctx_params(void* /*context*/, void* /*provider*/) noexcept {
    static const OSSL_PARAM list[] = {OSSL_PARAM_utf8_string(OSSL_MAC_PARAM_CIPHER, nullptr, 0),
                                      OSSL_PARAM_utf8_string(OSSL_MAC_PARAM_PROPERTIES, nullptr, 0),
                                      OSSL_PARAM_octet_string(OSSL_MAC_PARAM_KEY, nullptr, 0), OSSL_PARAM_END};
    return list;
}

}  // namespace

const OSSL_DISPATCH* cmac_functions() noexcept {
    static const OSSL_DISPATCH list[] = {{OSSL_FUNC_MAC_NEWCTX, dispatched(new_cmac)},
                                         {OSSL_FUNC_MAC_DUPCTX, dispatched(copy_cmac)},
                                         {OSSL_FUNC_MAC_FREECTX, dispatched(free_cmac)},
                                         {OSSL_FUNC_MAC_INIT, dispatched(cmac_init)},
                                         {OSSL_FUNC_MAC_UPDATE, dispatched(cmac_update)},
                                         {OSSL_FUNC_MAC_FINAL, dispatched(cmac_final)},
                                         {OSSL_FUNC_MAC_GETTABLE_CTX_PARAMS, dispatched(cmac_gettable_ctx_params)},
                                         {OSSL_FUNC_MAC_GET_CTX_PARAMS, dispatched(cmac_get_ctx_params)},
                                         {OSSL_FUNC_MAC_SETTABLE_CTX_PARAMS, dispatched(cmac_settable_ctx_params)},
                                         {OSSL_FUNC_MAC_SET_CTX_PARAMS, dispatched(cmac_set_ctx_params)},
                                         {0, nullptr}};
    return list;
}

}  // namespace warpaes::provider
