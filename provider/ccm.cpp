// CCM with the default provider's interface, which requires the complete text in one update.
#include <openssl/crypto.h>

#include "aes/cmac.hpp"
#include "provider/generic.hpp"

namespace warpaes::provider {

namespace {

struct Ccm : Context {
    Key key;
    const cpu::UpdateKernels* kernels;
    alignas(16) std::uint8_t nonce[16];  ///< block B0 or a counter block: flags, nonce, and length or block number
    alignas(16) std::uint8_t mac[16];
    alignas(16) std::uint8_t buf[16];  ///< the tag or, before a TLS record, its associated data
    std::uint8_t iv[16];
    std::uint64_t blocks;  ///< number of blocks processed by the cipher under this key
    std::size_t keylen, l, m, tls_aad_len, tls_aad_pad;
    bool enc, key_set, iv_set, tag_set, len_set;
};

std::size_t iv_length(const Ccm& c) noexcept {
    return 15 - c.l;
}

/// Creates block B0 in `nonce` from the IV and the text length.
void set_nonce(Ccm& c, std::size_t length) noexcept {
    const unsigned l = c.nonce[0] & 7u;
    std::memset(c.nonce + 8, 0, 4);
    if (l >= 3) {
        for (unsigned i = 0; i < 4; ++i) c.nonce[8 + i] = static_cast<Byte>(length >> (56 - 8 * i));
    }
    for (unsigned i = 0; i < 4; ++i) c.nonce[12 + i] = static_cast<Byte>(length >> (24 - 8 * i));
    c.nonce[0] &= static_cast<Byte>(~0x40u);
    std::memcpy(c.nonce + 1, c.iv, 14 - l);
}

bool set_iv(Ccm& c, std::size_t length) noexcept {
    if (iv_length(c) < 14u - (c.nonce[0] & 7u)) return false;
    set_nonce(c, length);
    c.len_set = true;
    return true;
}

/// Adds B0 and the associated data, preceded by its encoded length, to the MAC. Does nothing if there is no associated
/// data.
void add_aad(Ccm& c, const Byte* aad, std::size_t bytes) noexcept {
    if (bytes == 0) return;
    c.nonce[0] |= 0x40;
    c.key.block(c.nonce, c.mac);
    ++c.blocks;
    const CcmAadPrefix prefix = ccm_aad_prefix(bytes);
    Byte first[16] = {};
    std::memcpy(first, prefix.bytes.data(), prefix.size);
    const std::size_t n = std::min(bytes, sizeof first - prefix.size);
    std::memcpy(first + prefix.size, aad, n);
    aad += n;
    bytes -= n;
    c.key.serial->mac(c.key.schedule, c.mac, first, 1);
    if (bytes >= 16) c.key.serial->mac(c.key.schedule, c.mac, aad, bytes / 16);
    c.blocks += 1 + (bytes + 15) / 16;
    if (bytes % 16 != 0) {
        Byte last[16] = {};
        std::memcpy(last, aad + bytes / 16 * 16, bytes % 16);
        c.key.serial->mac(c.key.schedule, c.mac, last, 1);
    }
}

/// Processes the complete text and stores the tag in `mac`.
bool crypt(Ccm& c, const Byte* in, Byte* out, std::size_t bytes) noexcept {
    const Byte flags = c.nonce[0];
    if ((flags & 0x40) == 0) {
        c.key.block(c.nonce, c.mac);
        ++c.blocks;
    }
    const unsigned l = flags & 7u;
    c.nonce[0] = static_cast<Byte>(l);
    std::size_t length = 0;
    for (unsigned i = 15 - l; i < 16; ++i) {
        length = length << 8 | c.nonce[i];
        c.nonce[i] = 0;
    }
    c.nonce[15] = 1;
    if (length != bytes) return false;
    c.blocks += ((bytes + 15) >> 3) | 1;
    if (c.blocks > std::uint64_t{1} << 61) return false;

    const auto text = [&] {
        const std::size_t blocks = bytes / 16;
        const auto kernel = c.enc ? c.key.serial->ccm_encrypt : c.key.serial->ccm_decrypt;
        kernel(c.key.schedule, c.nonce, c.mac, in, out, blocks);
        if (const std::size_t rest = bytes % 16; rest != 0) {
            Secret<Block> stream, plain;
            c.key.block(c.nonce, stream->data());
            for (std::size_t i = 0; i < rest; ++i) {
                const Byte from = in[16 * blocks + i], to = static_cast<Byte>(from ^ (*stream)[i]);
                out[16 * blocks + i] = to;
                (*plain)[i] = c.enc ? from : to;
            }
            c.key.serial->mac(c.key.schedule, c.mac, plain->data(), 1);
        }
    };
    text();
    for (unsigned i = 15 - l; i < 16; ++i) c.nonce[i] = 0;
    Block mask;
    c.key.block(c.nonce, mask.data());
    for (std::size_t i = 0; i < 16; ++i) c.mac[i] ^= mask[i];
    c.nonce[0] = flags;
    c.tally.add(bytes);
    return true;
}

bool write_tag(const Ccm& c, Byte* tag, std::size_t bytes) noexcept {
    const std::size_t length = 2 * ((c.nonce[0] >> 3) & 7u) + 2;
    if (bytes != length) return false;
    std::memcpy(tag, c.mac, length);
    return true;
}

bool encrypt(Ccm& c, const Byte* in, Byte* out, std::size_t bytes, Byte* tag, std::size_t taglen) noexcept {
    return crypt(c, in, out, bytes) && (tag == nullptr || write_tag(c, tag, taglen));
}

bool decrypt(Ccm& c, const Byte* in, Byte* out, std::size_t bytes, const Byte* expected, std::size_t taglen) noexcept {
    Block tag;
    const bool right = crypt(c, in, out, bytes) && write_tag(c, tag.data(), taglen) &&
                       CRYPTO_memcmp(tag.data(), expected, taglen) == 0;
    if (!right && bytes != 0) wipe({out, bytes});
    return right;
}

bool tls_record(Ccm& c, Byte* out, std::size_t* written, const Byte* in, std::size_t bytes) noexcept {
    *written = 0;
    if (in == nullptr || out != in || bytes < tls_explicit_bytes + c.m) return false;
    if (c.enc) std::memcpy(out, c.buf, tls_explicit_bytes);
    std::memcpy(c.iv + tls_fixed_bytes, in, tls_explicit_bytes);
    const std::size_t length = bytes - tls_explicit_bytes - c.m;
    if (!set_iv(c, length)) return false;
    add_aad(c, c.buf, c.tls_aad_len);
    Byte* const text = out + tls_explicit_bytes;
    if (c.enc ? !encrypt(c, text, text, length, text + length, c.m)
              : !decrypt(c, text, text, length, text + length, c.m)) {
        return false;
    }
    *written = c.enc ? bytes : length;
    return true;
}

bool crypt_some(Ccm& c, Byte* out, std::size_t* written, const Byte* in, std::size_t bytes) noexcept {
    *written = 0;
    if (!c.key_set) return false;
    if (c.tls_aad_len != not_set) return tls_record(c, out, written, in, bytes);
    if (in == nullptr && out != nullptr) return true;  // a final call has no output
    if (!c.iv_set) return false;
    if (out == nullptr) {
        if (in == nullptr) {
            if (!set_iv(c, bytes)) return false;
        } else {
            if (!c.len_set && bytes != 0) return false;
            add_aad(c, in, bytes);
        }
    } else {
        if (overlap_in_part(in, bytes, out, bytes)) {
            WARPAES_RAISE_LIB(&c, ERR_LIB_EVP, EVP_R_PARTIALLY_OVERLAPPING);
            return false;
        }
        if (!c.len_set && !set_iv(c, bytes)) return false;
        if (c.enc) {
            if (!encrypt(c, in, out, bytes, nullptr, 0)) return false;
            c.tag_set = true;
        } else {
            if (!c.tag_set || !decrypt(c, in, out, bytes, c.buf, c.m)) return false;
            c.iv_set = c.tag_set = c.len_set = false;
        }
    }
    *written = bytes;
    return true;
}

bool crypt_any(Ccm& c, Byte* out, std::size_t* written, const Byte* in, std::size_t bytes) noexcept {
    return cleaned(bytes, [&] { return crypt_some(c, out, written, in, bytes); });
}

template <const Algorithm& A>
void* new_ccm(void* provider) noexcept {
    auto* const c = make_context<Ccm>(provider, A.kind);
    if (c == nullptr) return nullptr;
    c->kernels = c->provider->settings()->kernels;
    c->keylen = A.key_bits / 8;
    c->l = 8;
    c->m = 12;
    c->tls_aad_len = not_set;
    return c;
}

int ccm_set_ctx_params(void* context, const OSSL_PARAM params[]) noexcept {
    Ccm& c = *static_cast<Ccm*>(context);
    if (params == nullptr) return 1;
    if (const OSSL_PARAM* const p = OSSL_PARAM_locate_const(params, OSSL_CIPHER_PARAM_AEAD_TAG)) {
        if (p->data_type != OSSL_PARAM_OCTET_STRING) return WARPAES_RAISE(&c, PROV_R_FAILED_TO_GET_PARAMETER);
        if ((p->data_size & 1) != 0 || p->data_size < 4 || p->data_size > 16) {
            return WARPAES_RAISE(&c, PROV_R_INVALID_TAG_LENGTH);
        }
        if (p->data != nullptr) {
            if (c.enc) return WARPAES_RAISE(&c, PROV_R_TAG_NOT_NEEDED);
            std::memcpy(c.buf, p->data, p->data_size);
            c.tag_set = true;
        }
        c.m = p->data_size;
    }
    std::size_t ivlen = 0;
    bool given = false;
    if (!get_size(&c, params, OSSL_CIPHER_PARAM_AEAD_IVLEN, ivlen, given)) return 0;
    if (given) {
        const std::size_t l = 15 - ivlen;
        if (l < 2 || l > 8) return WARPAES_RAISE(&c, PROV_R_INVALID_IV_LENGTH);
        if (c.l != l) {
            c.l = l;
            c.iv_set = false;
        }
    }
    if (!set_tls_aad(c, params, c.m, PROV_R_INVALID_DATA)) return 0;
    if (const OSSL_PARAM* const p = OSSL_PARAM_locate_const(params, OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED)) {
        if (p->data_type != OSSL_PARAM_OCTET_STRING || p->data == nullptr)
            return WARPAES_RAISE(&c, PROV_R_FAILED_TO_GET_PARAMETER);
        if (p->data_size != tls_fixed_bytes) return WARPAES_RAISE(&c, PROV_R_INVALID_IV_LENGTH);
        std::memcpy(c.iv, p->data, tls_fixed_bytes);
    }
    return 1;
}

int ccm_get_ctx_params(void* context, OSSL_PARAM params[]) noexcept {
    Ccm& c = *static_cast<Ccm*>(context);
    if (answer_length(params, c.keylen, iv_length(c)) == 1) return 1;
    if (!set_size(&c, params, OSSL_CIPHER_PARAM_IVLEN, iv_length(c))) return 0;
    if (!set_size(&c, params, OSSL_CIPHER_PARAM_AEAD_TAGLEN, c.m)) return 0;
    for (const char* const name : {OSSL_CIPHER_PARAM_IV, OSSL_CIPHER_PARAM_UPDATED_IV}) {
        OSSL_PARAM* const p = OSSL_PARAM_locate(params, name);
        if (p == nullptr) continue;
        if (iv_length(c) > p->data_size) return WARPAES_RAISE(&c, PROV_R_INVALID_IV_LENGTH);
        // Copies as many bytes as fit. Unlike the default provider, never reads past the end of the IV.
        const std::size_t bytes = p->data_size < sizeof c.iv ? p->data_size : sizeof c.iv;
        if (OSSL_PARAM_set_octet_string(p, c.iv, bytes) != 1 && OSSL_PARAM_set_octet_ptr(p, c.iv, bytes) != 1) {
            return WARPAES_RAISE(&c, PROV_R_FAILED_TO_SET_PARAMETER);
        }
    }
    if (!set_size(&c, params, OSSL_CIPHER_PARAM_KEYLEN, c.keylen)) return 0;
    if (!set_size(&c, params, OSSL_CIPHER_PARAM_AEAD_TLS1_AAD_PAD, c.tls_aad_pad)) return 0;
    if (OSSL_PARAM* const p = OSSL_PARAM_locate(params, OSSL_CIPHER_PARAM_AEAD_TAG)) {
        if (!c.enc || !c.tag_set) return WARPAES_RAISE(&c, PROV_R_TAG_NOT_SET);
        if (p->data_type != OSSL_PARAM_OCTET_STRING || p->data == nullptr)
            return WARPAES_RAISE(&c, PROV_R_FAILED_TO_SET_PARAMETER);
        if (!write_tag(c, static_cast<Byte*>(p->data), p->data_size)) return 0;
        c.tag_set = c.iv_set = c.len_set = false;
    }
    return 1;
}

int ccm_init(void* context, const Byte* key, std::size_t keylen, const Byte* iv, std::size_t ivlen,
             const OSSL_PARAM params[], bool enc) noexcept {
    Ccm& c = *static_cast<Ccm*>(context);
    c.enc = enc;
    if (iv != nullptr) {
        if (ivlen != iv_length(c)) return WARPAES_RAISE(&c, PROV_R_INVALID_IV_LENGTH);
        std::memcpy(c.iv, iv, ivlen);
        c.iv_set = true;
    }
    if (key != nullptr) {
        if (keylen != c.keylen) return WARPAES_RAISE(&c, PROV_R_INVALID_KEY_LENGTH);
        c.key.set(key, keylen, false);
        std::memset(c.nonce, 0, sizeof c.nonce);
        c.nonce[0] = static_cast<Byte>(((c.l - 1) & 7) | ((c.m - 2) / 2 & 7) << 3);
        c.blocks = 0;
        c.key_set = true;
    }
    return ccm_set_ctx_params(context, params);
}

int ccm_update(void* context, Byte* out, std::size_t* outl, std::size_t outsize, const Byte* in,
               std::size_t inl) noexcept {
    Ccm& c = *static_cast<Ccm*>(context);
    if (outsize < inl) return WARPAES_RAISE(&c, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    if (!crypt_any(c, out, outl, in, inl)) return WARPAES_RAISE(&c, PROV_R_CIPHER_OPERATION_FAILED);
    return 1;
}

/// Ends the message. If it has no text, computes its tag or compares the expected tag, as OpenSSL 3.0.22, 3.5.9 and
/// later releases do. Earlier releases accept any tag for a message without text.
int ccm_final(void* context, Byte* /*out*/, std::size_t* outl, std::size_t /*outsize*/) noexcept {
    Ccm& c = *static_cast<Ccm*>(context);
    const Byte in = 0;
    Byte out = 0;
    *outl = 0;
    if (!c.key_set) return 0;
    // The message is open until its text has been processed: encryption then sets `tag_set`, and decryption resets
    // `iv_set`.
    const bool open = c.iv_set && !(c.enc && c.tag_set);
    if (open && !crypt_any(c, &out, outl, &in, 0)) return 0;
    *outl = 0;
    return 1;
}

int ccm_cipher(void* context, Byte* out, std::size_t* outl, std::size_t outsize, const Byte* in,
               std::size_t inl) noexcept {
    Ccm& c = *static_cast<Ccm*>(context);
    if (in == nullptr) return ccm_final(context, out, outl, outsize);
    if (outsize < inl) return WARPAES_RAISE(&c, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    if (!crypt_any(c, out, outl, in, inl)) return 0;
    *outl = inl;
    return 1;
}

template <const Algorithm& A>
constexpr CipherCalls ccm_calls{new_ccm<A>,
                                free_plain<Ccm>,
                                copy_plain<Ccm>,
                                ccm_init,
                                ccm_update,
                                ccm_final,
                                ccm_cipher,
                                ccm_get_ctx_params,
                                ccm_set_ctx_params,
                                aead_gettable_ctx_params,
                                aead_settable_ctx_params};

constexpr Algorithm ccm256{
    "AES-256-CCM:id-aes256-CCM:2.16.840.1.101.3.4.1.47", Kind::ccm, EVP_CIPH_CCM_MODE, true, true, 256, 8, 96};
constexpr Algorithm ccm192{
    "AES-192-CCM:id-aes192-CCM:2.16.840.1.101.3.4.1.27", Kind::ccm, EVP_CIPH_CCM_MODE, true, true, 192, 8, 96};
constexpr Algorithm ccm128{
    "AES-128-CCM:id-aes128-CCM:2.16.840.1.101.3.4.1.7", Kind::ccm, EVP_CIPH_CCM_MODE, true, true, 128, 8, 96};

}  // namespace

std::span<const Entry> ccm_ciphers() noexcept {
    static const Entry list[] = {{&ccm256, cipher_functions<ccm256, ccm_calls<ccm256>>()},
                                 {&ccm192, cipher_functions<ccm192, ccm_calls<ccm192>>()},
                                 {&ccm128, cipher_functions<ccm128, ccm_calls<ccm128>>()}};
    return list;
}

}  // namespace warpaes::provider
