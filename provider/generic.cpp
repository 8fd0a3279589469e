// ECB, CBC, CFB, CFB8, CFB1, OFB and CTR with the same interface as in the default provider.
#include "provider/generic.hpp"

#include "provider/bulk.hpp"
#include "provider/delegate.hpp"

namespace warpaes::provider {

namespace {

void drop_tls(Generic& c) noexcept {
    EVP_CIPHER_CTX_free(c.tls);
    c.tls = nullptr;
}

int text(Generic& c, Byte* out, const Byte* in, std::size_t length) noexcept {
    return cleaned(length, [&] { return c.text(c, out, in, length); });
}

bool is_cfb(const Generic& c) noexcept {
    return c.algorithm->mode == EVP_CIPH_CFB_MODE;
}

int generic_init(void* context, const Byte* key, std::size_t keylen, const Byte* iv, std::size_t ivlen,
                 const OSSL_PARAM params[], bool enc) noexcept {
    Generic& c = *static_cast<Generic*>(context);
    c.num = 0;
    c.bufsz = 0;
    c.enc = enc;
    if (c.tls != nullptr) drop_tls(c);
    const unsigned mode = c.algorithm->mode;
    if (iv != nullptr && mode != EVP_CIPH_ECB_MODE && generic_set_iv(c, iv, ivlen) == 0) return 0;
    if (iv == nullptr && c.iv_set && (mode == EVP_CIPH_CBC_MODE || is_cfb(c) || mode == EVP_CIPH_OFB_MODE)) {
        std::memcpy(c.iv, c.oiv, c.ivlen);
    }
    if (key != nullptr) {
        if (keylen != c.keylen) return WARPAES_RAISE(&c, PROV_R_INVALID_KEY_LENGTH);
        const bool blocks = mode == EVP_CIPH_ECB_MODE || mode == EVP_CIPH_CBC_MODE;
        c.key.set(key, keylen, blocks && !enc);
        c.key_set = true;
    }
    return generic_set_ctx_params(context, params);
}

/// Processes a TLS record (up to TLS 1.2) with OpenSSL's own code.
int tls_record(Generic& c, Byte* out, std::size_t* outl, const Byte* in, std::size_t inl) noexcept {
    if (in == nullptr || in != out || !c.pad || c.algorithm->kind != Kind::cbc) {
        return WARPAES_RAISE(&c, PROV_R_CIPHER_OPERATION_FAILED);
    }
    if (c.tls == nullptr) {
        char name[16] = "AES-128-CBC";
        if (c.keylen == 24) std::memcpy(name + 4, "192", 3);
        if (c.keylen == 32) std::memcpy(name + 4, "256", 3);
        c.tls = open_tls_records({name, c.key.bytes, c.iv, c.enc, c.tlsversion, c.tlsmacsize});
    }
    int written = 0;
    if (c.tls == nullptr || inl > INT32_MAX || EVP_CipherUpdate(c.tls, out, &written, in, static_cast<int>(inl)) != 1) {
        return WARPAES_RAISE(&c, PROV_R_CIPHER_OPERATION_FAILED);
    }
    (void)EVP_CIPHER_CTX_get_updated_iv(c.tls, c.iv, c.ivlen);
    count(Kind::cbc, Where::delegated, 1, inl);
    *outl = static_cast<std::size_t>(written);
    return 1;
}

int block_update(void* context, Byte* out, std::size_t* outl, std::size_t outsize, const Byte* in,
                 std::size_t inl) noexcept {
    Generic& c = *static_cast<Generic*>(context);
    constexpr std::size_t block = 16;
    if (!c.key_set) [[unlikely]]
        return WARPAES_RAISE(&c, PROV_R_NO_KEY_SET);
    if (c.tlsversion > 0) [[unlikely]]
        return outsize < inl ? WARPAES_RAISE(&c, PROV_R_CIPHER_OPERATION_FAILED) : tls_record(c, out, outl, in, inl);
    // The common case: complete blocks, and no waiting input.
    if (c.bufsz == 0 && inl % block == 0 && (c.enc || !c.pad) && inl != 0) [[likely]] {
        if (outsize < inl) return WARPAES_RAISE(&c, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
        WARPAES_REFUSE_OVERLAP(&c, in, inl, out, inl);
        if (text(c, out, in, inl) == 0) return WARPAES_RAISE(&c, PROV_R_CIPHER_OPERATION_FAILED);
        *outl = inl;
        return 1;
    }

    // Waiting input is copied by the CPU, which cannot read device memory.
    if (c.device_memory && c.provider->settings()->bulk->on_device(in, out)) {
        return WARPAES_RAISE(&c, PROV_R_CIPHER_OPERATION_FAILED);
    }
    std::size_t written = 0, next = inl / block * block;
    if (c.bufsz != 0) {
        const std::size_t n = inl < block - c.bufsz ? inl : block - c.bufsz;
        if (n != 0) std::memcpy(c.buf + c.bufsz, in, n);
        in += n;
        inl -= n;
        c.bufsz += n;
        next = inl / block * block;
    }
    // Decryption holds back the last block, because it may contain padding.
    if (c.bufsz == block && (c.enc || inl > 0 || !c.pad)) {
        if (outsize < block) return WARPAES_RAISE(&c, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
        if (inl != 0 && (overlap_in_part(in, inl, out, block) || in == out)) {
            WARPAES_RAISE_LIB(&c, ERR_LIB_EVP, EVP_R_PARTIALLY_OVERLAPPING);
            return 0;
        }
        if (c.text(c, out, c.buf, block) == 0) return WARPAES_RAISE(&c, PROV_R_CIPHER_OPERATION_FAILED);
        c.bufsz = 0;
        written = block;
        out += block;
    }
    if (next > 0) {
        if (!c.enc && c.pad && next == inl) next -= block;
        if (outsize < written + next) return WARPAES_RAISE(&c, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
        written += next;
    }
    if (next > 0) {
        WARPAES_REFUSE_OVERLAP(&c, in, inl, out, next);
        if (text(c, out, in, next) == 0) return WARPAES_RAISE(&c, PROV_R_CIPHER_OPERATION_FAILED);
        in += next;
        inl -= next;
    }
    if (inl != 0) {
        if (c.bufsz + inl > block) return WARPAES_RAISE(&c, ERR_R_INTERNAL_ERROR);
        std::memcpy(c.buf + c.bufsz, in, inl);
        c.bufsz += inl;
    }
    *outl = written;
    return 1;
}

/// Removes the padding, but not in constant time: like the default provider, assumes that the ciphertext has been
/// authenticated.
int unpad(Generic& c) noexcept {
    const unsigned pad = c.buf[15];
    if (pad == 0 || pad > 16) return WARPAES_RAISE(&c, PROV_R_BAD_DECRYPT);
    for (unsigned i = 0; i < pad; ++i) {
        if (c.buf[15 - i] != pad) return WARPAES_RAISE(&c, PROV_R_BAD_DECRYPT);
    }
    c.bufsz = 16 - pad;
    return 1;
}

int block_final(void* context, Byte* out, std::size_t* outl, std::size_t outsize) noexcept {
    Generic& c = *static_cast<Generic*>(context);
    constexpr std::size_t block = 16;
    if (!c.key_set) return WARPAES_RAISE(&c, PROV_R_NO_KEY_SET);
    if (c.tlsversion > 0) return WARPAES_RAISE(&c, PROV_R_CIPHER_OPERATION_FAILED);
    if (c.enc) {
        if (c.pad) {
            std::memset(c.buf + c.bufsz, static_cast<int>(block - c.bufsz), block - c.bufsz);
        } else if (c.bufsz == 0) {
            *outl = 0;
            return 1;
        } else if (c.bufsz != block) {
            return WARPAES_RAISE(&c, PROV_R_WRONG_FINAL_BLOCK_LENGTH);
        }
        if (outsize < block) return WARPAES_RAISE(&c, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
        if (c.text(c, out, c.buf, block) == 0) return WARPAES_RAISE(&c, PROV_R_CIPHER_OPERATION_FAILED);
        c.bufsz = 0;
        *outl = block;
        return 1;
    }
    if (c.bufsz != block) {
        if (c.bufsz == 0 && !c.pad) {
            *outl = 0;
            return 1;
        }
        return WARPAES_RAISE(&c, PROV_R_WRONG_FINAL_BLOCK_LENGTH);
    }
    if (c.text(c, c.buf, c.buf, block) == 0) return WARPAES_RAISE(&c, PROV_R_CIPHER_OPERATION_FAILED);
    if (c.pad && unpad(c) == 0) return 0;
    if (outsize < c.bufsz) return WARPAES_RAISE(&c, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    std::memcpy(out, c.buf, c.bufsz);
    *outl = c.bufsz;
    c.bufsz = 0;
    return 1;
}

/// Returns the number of bytes of a text. `length` is in bits if CFB1 uses bit lengths (`use_bits`).
std::size_t bytes_of(const Generic& c, std::size_t length) noexcept {
    return c.use_bits && c.tally.kind == Kind::cfb1 ? length / 8 + (length % 8 != 0 ? 1 : 0) : length;
}

int stream_update(void* context, Byte* out, std::size_t* outl, std::size_t outsize, const Byte* in,
                  std::size_t inl) noexcept {
    Generic& c = *static_cast<Generic*>(context);
    if (!c.key_set) [[unlikely]]
        return WARPAES_RAISE(&c, PROV_R_NO_KEY_SET);
    if (inl == 0) {
        *outl = 0;
        return 1;
    }
    if (outsize < inl) return WARPAES_RAISE(&c, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    if (overlap_in_part(in, inl, out, inl)) [[unlikely]]  // lengths may be in bits for CFB1
        WARPAES_REFUSE_OVERLAP(&c, in, bytes_of(c, inl), out, bytes_of(c, inl));
    if (text(c, out, in, inl) == 0) return WARPAES_RAISE(&c, PROV_R_CIPHER_OPERATION_FAILED);
    *outl = inl;
    return 1;
}

int stream_final(void* context, Byte* /*out*/, std::size_t* outl, std::size_t /*outsize*/) noexcept {
    Generic& c = *static_cast<Generic*>(context);
    if (!c.key_set) return WARPAES_RAISE(&c, PROV_R_NO_KEY_SET);
    *outl = 0;
    return 1;
}

/// Implements EVP_Cipher(), which adds no padding and holds back no input. ECB and CBC ignore an incomplete block.
int generic_cipher(void* context, Byte* out, std::size_t* outl, std::size_t outsize, const Byte* in,
                   std::size_t inl) noexcept {
    Generic& c = *static_cast<Generic*>(context);
    if (!c.key_set) [[unlikely]]
        return WARPAES_RAISE(&c, PROV_R_NO_KEY_SET);
    if (outsize < inl) return WARPAES_RAISE(&c, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    WARPAES_REFUSE_OVERLAP(&c, in, bytes_of(c, inl), out, bytes_of(c, inl));
    if (inl != 0 && text(c, out, in, inl) == 0) return WARPAES_RAISE(&c, PROV_R_CIPHER_OPERATION_FAILED);
    *outl = inl;
    return 1;
}

}  // namespace

Generic* make_generic(void* provider, const Algorithm& algorithm) noexcept {
    auto* const c = make_context<Generic>(provider, algorithm.kind);
    if (c == nullptr) return nullptr;
    c->algorithm = &algorithm;
    c->kernels = c->provider->settings()->kernels;
    c->device_memory = c->provider->settings()->device_memory;
    c->text = text_function(algorithm.kind, c->device_memory);
    c->pad = true;
    c->keylen = algorithm.key_bits / 8;
    c->ivlen = algorithm.iv_bits / 8;
    c->blocksize = algorithm.block_bits / 8;
    return c;
}

void free_generic(void* context) noexcept {
    auto* const c = static_cast<Generic*>(context);
    if (c != nullptr && c->tls != nullptr) drop_tls(*c);
    free_context(c);
}

void* copy_generic(void* context) noexcept {
    Generic* const copy = copy_context(static_cast<const Generic*>(context));
    if (copy == nullptr || copy->tls == nullptr) return copy;
    EVP_CIPHER_CTX* const tls = EVP_CIPHER_CTX_new();
    const bool copied = tls != nullptr && EVP_CIPHER_CTX_copy(tls, copy->tls) == 1;
    copy->tls = tls;
    if (copied) return copy;
    free_generic(copy);
    return nullptr;
}

int generic_set_iv(Generic& c, const unsigned char* iv, std::size_t ivlen) noexcept {
    if (ivlen != c.ivlen || ivlen > sizeof c.iv) return WARPAES_RAISE(&c, PROV_R_INVALID_IV_LENGTH);
    c.iv_set = true;
    std::memcpy(c.iv, iv, ivlen);
    std::memcpy(c.oiv, iv, ivlen);
    return 1;
}

int generic_get_ctx_params(void* context, OSSL_PARAM params[]) noexcept {
    Generic& c = *static_cast<Generic*>(context);
    if (answer_length(params, c.keylen, c.ivlen) == 1) return 1;
    if (!set_size(&c, params, OSSL_CIPHER_PARAM_IVLEN, c.ivlen)) return 0;
    if (!set_uint(&c, params, OSSL_CIPHER_PARAM_PADDING, c.pad ? 1 : 0)) return 0;
    const auto set_block = [&](const char* name, const std::uint8_t(&block)[16]) {
        OSSL_PARAM* const p = OSSL_PARAM_locate(params, name);
        return p == nullptr || OSSL_PARAM_set_octet_ptr(p, block, c.ivlen) == 1 ||
               OSSL_PARAM_set_octet_string(p, block, c.ivlen) == 1;
    };
    if (!set_block(OSSL_CIPHER_PARAM_IV, c.oiv)) return WARPAES_RAISE(&c, PROV_R_FAILED_TO_SET_PARAMETER);
    if (!set_block(OSSL_CIPHER_PARAM_UPDATED_IV, c.iv)) return WARPAES_RAISE(&c, PROV_R_FAILED_TO_SET_PARAMETER);
    if (!set_uint(&c, params, OSSL_CIPHER_PARAM_NUM, c.num)) return 0;
    if (!set_size(&c, params, OSSL_CIPHER_PARAM_KEYLEN, c.keylen)) return 0;
    if (OSSL_PARAM* const p = OSSL_PARAM_locate(params, OSSL_CIPHER_PARAM_TLS_MAC)) {
        if (c.tls != nullptr) {
            OSSL_PARAM inner[] = {*p, OSSL_PARAM_construct_end()};
            const int result = EVP_CIPHER_CTX_get_params(c.tls, inner);
            *p = inner[0];
            return result;
        }
        if (OSSL_PARAM_set_octet_ptr(p, nullptr, c.tlsmacsize) != 1) {
            return WARPAES_RAISE(&c, PROV_R_FAILED_TO_SET_PARAMETER);
        }
    }
    return 1;
}

int generic_set_ctx_params(void* context, const OSSL_PARAM params[]) noexcept {
    Generic& c = *static_cast<Generic*>(context);
    if (params == nullptr) return 1;
    unsigned value = 0;
    std::size_t size = 0;
    bool given = false;
    if (!get_uint(&c, params, OSSL_CIPHER_PARAM_PADDING, value, given)) return 0;
    if (given) c.pad = value != 0;
    if (!get_uint(&c, params, OSSL_CIPHER_PARAM_USE_BITS, value, given)) return 0;
    if (given) c.use_bits = value != 0;
    if (!get_uint(&c, params, OSSL_CIPHER_PARAM_TLS_VERSION, value, given)) return 0;
    if (given) {
        c.tlsversion = value;
        if (c.tls != nullptr) drop_tls(c);
    }
    if (!get_size(&c, params, OSSL_CIPHER_PARAM_TLS_MAC_SIZE, size, given)) return 0;
    if (given) {
        c.tlsmacsize = size;
        if (c.tls != nullptr) drop_tls(c);
    }
    if (!get_uint(&c, params, OSSL_CIPHER_PARAM_NUM, value, given)) return 0;
    if (given) {
        // Some OpenSSL releases accept any number and read past the end of the block.
        if (value >= sizeof c.buf) return WARPAES_RAISE(&c, PROV_R_FAILED_TO_GET_PARAMETER);
        c.num = value;
    }
    return 1;
}

const OSSL_PARAM* generic_gettable_ctx_params(void* /*context*/, void* /*provider*/) noexcept {
    static const OSSL_PARAM list[] = {
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_KEYLEN, nullptr),
        OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_IVLEN, nullptr),
        OSSL_PARAM_uint(OSSL_CIPHER_PARAM_PADDING, nullptr),
        OSSL_PARAM_uint(OSSL_CIPHER_PARAM_NUM, nullptr),
        OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_IV, nullptr, 0),
        OSSL_PARAM_octet_string(OSSL_CIPHER_PARAM_UPDATED_IV, nullptr, 0),
        {OSSL_CIPHER_PARAM_TLS_MAC, OSSL_PARAM_OCTET_PTR, nullptr, 0, OSSL_PARAM_UNMODIFIED},
        OSSL_PARAM_END};
    return list;
}

const OSSL_PARAM* generic_settable_ctx_params(void* /*context*/, void* /*provider*/) noexcept {
    static const OSSL_PARAM list[] = {OSSL_PARAM_uint(OSSL_CIPHER_PARAM_PADDING, nullptr),
                                      OSSL_PARAM_uint(OSSL_CIPHER_PARAM_NUM, nullptr),
                                      OSSL_PARAM_uint(OSSL_CIPHER_PARAM_USE_BITS, nullptr),
                                      OSSL_PARAM_uint(OSSL_CIPHER_PARAM_TLS_VERSION, nullptr),
                                      OSSL_PARAM_size_t(OSSL_CIPHER_PARAM_TLS_MAC_SIZE, nullptr),
                                      OSSL_PARAM_END};
    return list;
}

namespace {

template <const Algorithm& A>
constexpr CipherCalls generic_calls{new_generic<A>,
                                    free_generic,
                                    copy_generic,
                                    generic_init,
                                    A.block_bits == 128 ? block_update : stream_update,
                                    A.block_bits == 128 ? block_final : stream_final,
                                    generic_cipher,
                                    generic_get_ctx_params,
                                    generic_set_ctx_params,
                                    generic_gettable_ctx_params,
                                    generic_settable_ctx_params};

#define CIPHER(name, names, kind, mode, key_bits, block_bits, iv_bits) \
    constexpr Algorithm name {                                         \
        names, kind, mode, false, false, key_bits, block_bits, iv_bits \
    }

CIPHER(ecb256, "AES-256-ECB:2.16.840.1.101.3.4.1.41", Kind::ecb, EVP_CIPH_ECB_MODE, 256, 128, 0);
CIPHER(ecb192, "AES-192-ECB:2.16.840.1.101.3.4.1.21", Kind::ecb, EVP_CIPH_ECB_MODE, 192, 128, 0);
CIPHER(ecb128, "AES-128-ECB:2.16.840.1.101.3.4.1.1", Kind::ecb, EVP_CIPH_ECB_MODE, 128, 128, 0);
CIPHER(cbc256, "AES-256-CBC:AES256:2.16.840.1.101.3.4.1.42", Kind::cbc, EVP_CIPH_CBC_MODE, 256, 128, 128);
CIPHER(cbc192, "AES-192-CBC:AES192:2.16.840.1.101.3.4.1.22", Kind::cbc, EVP_CIPH_CBC_MODE, 192, 128, 128);
CIPHER(cbc128, "AES-128-CBC:AES128:2.16.840.1.101.3.4.1.2", Kind::cbc, EVP_CIPH_CBC_MODE, 128, 128, 128);
CIPHER(ofb256, "AES-256-OFB:2.16.840.1.101.3.4.1.43", Kind::ofb, EVP_CIPH_OFB_MODE, 256, 8, 128);
CIPHER(ofb192, "AES-192-OFB:2.16.840.1.101.3.4.1.23", Kind::ofb, EVP_CIPH_OFB_MODE, 192, 8, 128);
CIPHER(ofb128, "AES-128-OFB:2.16.840.1.101.3.4.1.3", Kind::ofb, EVP_CIPH_OFB_MODE, 128, 8, 128);
CIPHER(cfb256, "AES-256-CFB:2.16.840.1.101.3.4.1.44", Kind::cfb, EVP_CIPH_CFB_MODE, 256, 8, 128);
CIPHER(cfb192, "AES-192-CFB:2.16.840.1.101.3.4.1.24", Kind::cfb, EVP_CIPH_CFB_MODE, 192, 8, 128);
CIPHER(cfb128, "AES-128-CFB:2.16.840.1.101.3.4.1.4", Kind::cfb, EVP_CIPH_CFB_MODE, 128, 8, 128);
CIPHER(cfb1_256, "AES-256-CFB1", Kind::cfb1, EVP_CIPH_CFB_MODE, 256, 8, 128);
CIPHER(cfb1_192, "AES-192-CFB1", Kind::cfb1, EVP_CIPH_CFB_MODE, 192, 8, 128);
CIPHER(cfb1_128, "AES-128-CFB1", Kind::cfb1, EVP_CIPH_CFB_MODE, 128, 8, 128);
CIPHER(cfb8_256, "AES-256-CFB8", Kind::cfb8, EVP_CIPH_CFB_MODE, 256, 8, 128);
CIPHER(cfb8_192, "AES-192-CFB8", Kind::cfb8, EVP_CIPH_CFB_MODE, 192, 8, 128);
CIPHER(cfb8_128, "AES-128-CFB8", Kind::cfb8, EVP_CIPH_CFB_MODE, 128, 8, 128);
CIPHER(ctr256, "AES-256-CTR", Kind::ctr, EVP_CIPH_CTR_MODE, 256, 8, 128);
CIPHER(ctr192, "AES-192-CTR", Kind::ctr, EVP_CIPH_CTR_MODE, 192, 8, 128);
CIPHER(ctr128, "AES-128-CTR", Kind::ctr, EVP_CIPH_CTR_MODE, 128, 8, 128);

template <const Algorithm&... A>
std::span<const Entry> entries() noexcept {
    static const Entry list[] = {{&A, cipher_functions<A, generic_calls<A>>()}...};
    return list;
}

}  // namespace

std::span<const Entry> generic_ciphers() noexcept {
    return entries<ecb256, ecb192, ecb128, ofb256, ofb192, ofb128, cfb256, cfb192, cfb128, cfb1_256, cfb1_192, cfb1_128,
                   cfb8_256, cfb8_192, cfb8_128, ctr256, ctr192, ctr128>();
}

std::span<const Entry> cbc_ciphers() noexcept {
    return entries<cbc256, cbc192, cbc128>();
}

}  // namespace warpaes::provider
