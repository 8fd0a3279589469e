#include "provider/gcm.hpp"

#include <openssl/crypto.h>

#include "aes/ghash.hpp"
#include "provider/bulk.hpp"
#include "provider/generic.hpp"

namespace warpaes::provider {

namespace {

void hash(Gcm& c, const Byte* data, std::size_t blocks) noexcept {
    if (blocks <= cpu::few_powers || c.hash.few(*c.kernels, blocks)) {
        return c.key.serial->hash(c.hash.powers, c.message.digest, data, blocks);
    }
    c.kernels->hash(c.hash.powers, c.message.digest, data, blocks);
}

/// Multiplies the digest by H, which completes the current block.
void close_block(Gcm& c) noexcept {
    constexpr Byte zeros[16] = {};
    hash(c, zeros, 1);
}

void add_lengths(Gcm& c, std::uint64_t first, std::uint64_t second) noexcept {
    const Block block = store_element(length_block(first, second));
    hash(c, block.data(), 1);
}

/// Begins a message.
void set_iv(Gcm& c) noexcept {
    GcmMessage& m = c.message;
    std::memset(m.digest, 0, sizeof m.digest);
    m.aad_bytes = m.text_bytes = 0;
    m.spoiled = false;
    if (c.ivlen == gcm_nonce_bytes) {
        std::memcpy(m.j0, c.iv, gcm_nonce_bytes);
        std::memset(m.j0 + 12, 0, 3);
        m.j0[15] = 1;
    } else {
        hash(c, c.iv, c.ivlen / 16);
        if (c.ivlen % 16 != 0) {
            Byte last[16] = {};
            std::memcpy(last, c.iv + c.ivlen / 16 * 16, c.ivlen % 16);
            hash(c, last, 1);
        }
        add_lengths(c, 0, c.ivlen);
        std::memcpy(m.j0, m.digest, 16);
        std::memset(m.digest, 0, sizeof m.digest);
    }
    c.key.block(m.j0, m.mask);
    std::memcpy(m.counter, m.j0, 16);
    Block counter;
    std::memcpy(counter.data(), m.j0, 16);
    counter = inc32(counter);
    std::memcpy(m.counter, counter.data(), 16);
}

bool add_aad(Gcm& c, const Byte* data, std::size_t bytes) noexcept {
    GcmMessage& m = c.message;
    if (m.text_bytes != 0) return false;
    if (bytes > (std::uint64_t{1} << 61) - m.aad_bytes) return false;
    std::size_t used = m.aad_bytes % 16;
    m.aad_bytes += bytes;
    if (used != 0) {
        for (; used < 16 && bytes != 0; ++used, ++data, --bytes) m.digest[used] ^= *data;
        if (used < 16) return true;
        close_block(c);
    }
    if (bytes >= 16) hash(c, data, bytes / 16);
    data += bytes / 16 * 16;
    for (std::size_t i = 0; i < bytes % 16; ++i) m.digest[i] ^= data[i];
    return true;
}

/// Processes complete blocks.
bool crypt_blocks(Gcm& c, const Byte* in, Byte* out, std::size_t blocks) noexcept {
    GcmMessage& m = c.message;
    const std::size_t bytes = 16 * blocks;
    const cpu::GcmUpdate update{.encrypt = c.enc,
                                .public_counters = c.ivlen == gcm_nonce_bytes,
                                .rounds = static_cast<int>(c.key.rounds),
                                .keys = c.key.schedule,
                                .powers = c.hash.powers,
                                .input = in,
                                .output = out,
                                .blocks = blocks,
                                .counter = m.counter,
                                .digest = m.digest};
    Bulk& bulk = *c.provider->settings()->bulk;
    const bool on_device = c.provider->settings()->device_memory && bulk.on_device(in, out);
    if (bytes < cleaned_bytes && !on_device) {
        (c.hash.few(*c.kernels, blocks) ? c.key.serial->gcm : c.kernels->gcm)(update);
        c.tally.add(bytes);
        return true;
    }
    (void)c.hash.few(*c.kernels, blocks);
    // Messages of 2^32 blocks or more are refused earlier, so a block number fits in 32 bits.
    if (on_device || bulk.wants(bytes)) [[unlikely]] {
        Secret<Block> digest;
        const Bulked outcome = bulk.run(c.tally.kind, {.mode = Mode::gcm,
                                                       .direction = c.enc ? Direction::encrypt : Direction::decrypt,
                                                       .key = &c.key,
                                                       .tweak_key = nullptr,
                                                       .chain = m.j0,
                                                       .input = in,
                                                       .output = out,
                                                       .bytes = bytes,
                                                       .first_block = m.text_bytes / 16,
                                                       .digest = digest->data()});
        if (outcome == Bulked::failed) {
            // Part of the text may have been output, so no other text may be encrypted under the same counters.
            c.iv_state = IvState::finished;
            m.spoiled = true;
            return false;
        }
        if (outcome == Bulked::done) {
            Block h{}, before, counter;
            c.key.block(h.data(), h.data());
            std::memcpy(before.data(), m.digest, 16);
            const FieldElement sum = multiply(load_element(before), power(load_element(h), blocks));
            const Block after = store_element(sum ^ load_element(*digest));
            std::memcpy(m.digest, after.data(), 16);
            std::memcpy(counter.data(), m.counter, 16);
            counter = inc32(counter, blocks);
            std::memcpy(m.counter, counter.data(), 16);
            return true;
        }
    }
    c.kernels->gcm(update);
    c.tally.add(bytes);
    return true;
}

bool crypt(Gcm& c, const Byte* in, Byte* out, std::size_t bytes) noexcept {
    GcmMessage& m = c.message;
    if (bytes > gcm_most_bytes || m.text_bytes > gcm_most_bytes - bytes) return false;
    // Text in device memory must consist of complete blocks.
    const bool odd = (bytes | m.text_bytes) % 16 != 0 && c.provider->settings()->device_memory;
    if (odd && c.provider->settings()->bulk->on_device(in, out)) return false;
    if (m.text_bytes == 0 && bytes != 0 && m.aad_bytes % 16 != 0) close_block(c);
    std::size_t used = m.text_bytes % 16;
    const auto in_hand = [&] {
        const Byte text = *in++, made = static_cast<Byte>(text ^ m.key_stream[used]);
        *out++ = made;
        m.digest[used++] ^= c.enc ? made : text;
    };
    const std::size_t all = bytes;
    if (used != 0) {
        for (; used < 16 && bytes != 0; --bytes) in_hand();
        if (used == 16) close_block(c);
    }
    if (const std::size_t blocks = bytes / 16; blocks != 0) {
        m.text_bytes += all - bytes;
        if (!crypt_blocks(c, in, out, blocks)) return false;
        m.text_bytes -= all - bytes;
        in += 16 * blocks;
        out += 16 * blocks;
        bytes %= 16;
    }
    if (bytes != 0) {
        Block counter;
        std::memcpy(counter.data(), m.counter, 16);
        c.key.block(m.counter, m.key_stream);
        counter = inc32(counter);
        std::memcpy(m.counter, counter.data(), 16);
        for (used = 0; used < bytes;) in_hand();
    }
    m.text_bytes += all;
    return true;
}

/// Converts the digest to the tag.
void finish(Gcm& c) noexcept {
    GcmMessage& m = c.message;
    const std::uint64_t last = m.text_bytes != 0 ? m.text_bytes : m.aad_bytes;
    // The first block completes the current block, whose bytes are already in the digest. The second block contains the
    // lengths.
    Byte blocks[32] = {};
    const Block lengths = store_element(length_block(m.aad_bytes, m.text_bytes));
    std::memcpy(blocks + 16, lengths.data(), 16);
    const bool open = last % 16 != 0;
    hash(c, open ? blocks : blocks + 16, open ? 2 : 1);
    for (std::size_t i = 0; i < 16; ++i) m.digest[i] ^= m.mask[i];
}

/// Writes the tag to `tag`, or compares it with `tag`.
bool final_tag(Gcm& c, Byte* tag) noexcept {
    finish(c);
    if (c.enc) {
        std::memcpy(tag, c.message.digest, tag_bytes);
        c.taglen = tag_bytes;
        return true;
    }
    const bool right =
        !c.message.spoiled && c.taglen <= tag_bytes && CRYPTO_memcmp(c.message.digest, tag, c.taglen) == 0;
    c.message.spoiled = true;
    return right;
}

bool generate_iv(Gcm& c) noexcept {
    if (c.ivlen < gcm_nonce_bytes || !random_bytes(c.iv, c.ivlen)) return false;
    c.iv_state = IvState::buffered;
    c.iv_random = true;
    return true;
}

/// Produces the next IV in the sequence that tlsivfixed started.
bool next_iv(Gcm& c, Byte* out, std::size_t bytes) noexcept {
    if (!c.iv_gen || !c.key_set) return false;
    set_iv(c);
    if (bytes == 0 || bytes > c.ivlen) bytes = c.ivlen;
    std::memcpy(out, c.iv + c.ivlen - bytes, bytes);
    for (std::size_t i = 1; i <= 8 && i <= c.ivlen && ++c.iv[c.ivlen - i] == 0; ++i) {
    }
    c.iv_state = IvState::copied;
    return true;
}

bool set_iv_end(Gcm& c, const Byte* in, std::size_t bytes) noexcept {
    if (!c.iv_gen || !c.key_set || c.enc || bytes > c.ivlen) return false;
    std::memcpy(c.iv + c.ivlen - bytes, in, bytes);
    set_iv(c);
    c.iv_state = IvState::copied;
    return true;
}

bool set_iv_fixed(Gcm& c, const Byte* iv, std::size_t bytes) noexcept {
    if (bytes == not_set) {  // restores the complete IV
        std::memcpy(c.iv, iv, c.ivlen);
    } else {
        if (bytes < tls_fixed_bytes || c.ivlen < bytes || c.ivlen - bytes < tls_explicit_bytes) return false;
        std::memcpy(c.iv, iv, bytes);
        if (c.enc && !random_bytes(c.iv + bytes, c.ivlen - bytes)) return false;
    }
    c.iv_gen = true;
    c.iv_state = IvState::buffered;
    return true;
}

/// Processes a TLS 1.2 record in place. The record consists of the explicit part of the IV, the text and the tag.
bool tls_record(Gcm& c, Byte* out, std::size_t* written, const Byte* in, std::size_t bytes) noexcept {
    const auto crypt_record = [&]() -> bool {
        if (!c.key_set || out != in || bytes < tls_explicit_bytes + tag_bytes) return false;
        if (c.enc && ++c.tls_enc_records == 0) {
            WARPAES_RAISE(&c, PROV_R_TOO_MANY_RECORDS);
            return false;
        }
        if (c.enc ? !next_iv(c, out, tls_explicit_bytes) : !set_iv_end(c, out, tls_explicit_bytes)) return false;
        Byte* const text = out + tls_explicit_bytes;
        const std::size_t length = bytes - tls_explicit_bytes - tag_bytes;
        c.taglen = tag_bytes;
        const bool right = add_aad(c, c.buf, c.tls_aad_len) && crypt(c, text, text, length);
        if (!right || !final_tag(c, text + length)) {
            if (!c.enc) wipe({text, length});
            return false;
        }
        *written = c.enc ? bytes : length;
        return true;
    };
    *written = 0;
    const bool done = crypt_record();
    c.iv_state = IvState::finished;
    c.tls_aad_len = not_set;
    return done;
}

bool crypt_some(Gcm& c, Byte* out, std::size_t* written, const Byte* in, std::size_t bytes) noexcept {
    if (c.tls_aad_len != not_set) return tls_record(c, out, written, in, bytes);
    *written = 0;
    if (!c.key_set || c.iv_state == IvState::finished) return false;
    if (c.iv_state == IvState::none && (!c.enc || !generate_iv(c))) return false;
    if (c.iv_state == IvState::buffered) {
        set_iv(c);
        c.iv_state = IvState::copied;
    }
    if (in == nullptr) {
        if (!c.enc && c.taglen == not_set) return false;
        if (!final_tag(c, c.buf)) return false;
        c.iv_state = IvState::finished;
        return true;
    }
    if (out == nullptr) {
        if (c.provider->settings()->device_memory && c.provider->settings()->bulk->on_device(in, nullptr)) return false;
        if (!add_aad(c, in, bytes)) return false;
    } else {
        if (overlap_in_part(in, bytes, out, bytes)) {
            WARPAES_RAISE_LIB(&c, ERR_LIB_EVP, EVP_R_PARTIALLY_OVERLAPPING);
            return false;
        }
        if (!crypt(c, in, out, bytes)) return false;
    }
    *written = bytes;
    return true;
}

bool crypt_any(Gcm& c, Byte* out, std::size_t* written, const Byte* in, std::size_t bytes) noexcept {
    return cleaned(bytes, [&] { return crypt_some(c, out, written, in, bytes); });
}

int gcm_set_ctx_params(void* context, const OSSL_PARAM params[]) noexcept {
    Gcm& c = *static_cast<Gcm*>(context);
    if (params == nullptr) return 1;
    if (const OSSL_PARAM* const p = OSSL_PARAM_locate_const(params, OSSL_CIPHER_PARAM_AEAD_TAG)) {
        void* to = c.buf;
        std::size_t bytes = 0;
        if (OSSL_PARAM_get_octet_string(p, &to, tag_bytes, &bytes) != 1) {
            return WARPAES_RAISE(&c, PROV_R_FAILED_TO_GET_PARAMETER);
        }
        if (bytes == 0 || c.enc) return WARPAES_RAISE(&c, PROV_R_INVALID_TAG);
        c.taglen = bytes;
    }
    std::size_t ivlen = 0;
    bool given = false;
    if (!get_size(&c, params, OSSL_CIPHER_PARAM_AEAD_IVLEN, ivlen, given)) return 0;
    if (given) {
        if (ivlen == 0 || ivlen > sizeof c.iv) return WARPAES_RAISE(&c, PROV_R_INVALID_IV_LENGTH);
        if (c.ivlen != ivlen) {
            if (c.iv_state != IvState::none) c.iv_state = IvState::finished;
            c.ivlen = ivlen;
        }
    }
    if (!set_tls_aad(c, params, tag_bytes, PROV_R_INVALID_AAD)) return 0;
    if (const OSSL_PARAM* const p = OSSL_PARAM_locate_const(params, OSSL_CIPHER_PARAM_AEAD_TLS1_IV_FIXED)) {
        if (p->data_type != OSSL_PARAM_OCTET_STRING || p->data == nullptr ||
            !set_iv_fixed(c, static_cast<const Byte*>(p->data), p->data_size)) {
            return WARPAES_RAISE(&c, PROV_R_FAILED_TO_GET_PARAMETER);
        }
    }
    if (const OSSL_PARAM* const p = OSSL_PARAM_locate_const(params, OSSL_CIPHER_PARAM_AEAD_TLS1_SET_IV_INV)) {
        if (p->data == nullptr || p->data_type != OSSL_PARAM_OCTET_STRING ||
            !set_iv_end(c, static_cast<const Byte*>(p->data), p->data_size)) {
            return 0;
        }
    }
    return 1;
}

int gcm_get_ctx_params(void* context, OSSL_PARAM params[]) noexcept {
    Gcm& c = *static_cast<Gcm*>(context);
    if (answer_length(params, c.keylen, c.ivlen) == 1) return 1;
    if (!set_size(&c, params, OSSL_CIPHER_PARAM_IVLEN, c.ivlen)) return 0;
    if (!set_size(&c, params, OSSL_CIPHER_PARAM_KEYLEN, c.keylen)) return 0;
    if (!set_size(&c, params, OSSL_CIPHER_PARAM_AEAD_TAGLEN, c.taglen != not_set ? c.taglen : tag_bytes)) return 0;
    for (const char* const name : {OSSL_CIPHER_PARAM_IV, OSSL_CIPHER_PARAM_UPDATED_IV}) {
        OSSL_PARAM* const p = OSSL_PARAM_locate(params, name);
        if (p == nullptr) continue;
        if (c.iv_state == IvState::none) return 0;
        if (c.ivlen > p->data_size) return WARPAES_RAISE(&c, PROV_R_INVALID_IV_LENGTH);
        if (OSSL_PARAM_set_octet_string(p, c.iv, c.ivlen) != 1 && OSSL_PARAM_set_octet_ptr(p, c.iv, c.ivlen) != 1) {
            return WARPAES_RAISE(&c, PROV_R_FAILED_TO_SET_PARAMETER);
        }
    }
    if (!set_uint(&c, params, iv_generated, c.iv_random ? 1 : 0)) return 0;
    if (!set_size(&c, params, OSSL_CIPHER_PARAM_AEAD_TLS1_AAD_PAD, c.tls_aad_pad)) return 0;
    if (OSSL_PARAM* const p = OSSL_PARAM_locate(params, OSSL_CIPHER_PARAM_AEAD_TAG)) {
        const std::size_t bytes = p->data_size;
        if (bytes == 0 || bytes > tag_bytes || !c.enc || c.taglen == not_set) {
            return WARPAES_RAISE(&c, PROV_R_INVALID_TAG);
        }
        if (OSSL_PARAM_set_octet_string(p, c.buf, bytes) != 1) return WARPAES_RAISE(&c, PROV_R_FAILED_TO_SET_PARAMETER);
    }
    if (OSSL_PARAM* const p = OSSL_PARAM_locate(params, OSSL_CIPHER_PARAM_AEAD_TLS1_GET_IV_GEN)) {
        if (p->data == nullptr || p->data_type != OSSL_PARAM_OCTET_STRING ||
            !next_iv(c, static_cast<Byte*>(p->data), p->data_size)) {
            return 0;
        }
    }
    return 1;
}

int gcm_init(void* context, const Byte* key, std::size_t keylen, const Byte* iv, std::size_t ivlen,
             const OSSL_PARAM params[], bool enc) noexcept {
    Gcm& c = *static_cast<Gcm*>(context);
    c.enc = enc;
    if (iv != nullptr) {
        if (ivlen == 0 || ivlen > sizeof c.iv) return WARPAES_RAISE(&c, PROV_R_INVALID_IV_LENGTH);
        c.ivlen = ivlen;
        std::memcpy(c.iv, iv, ivlen);
        c.iv_state = IvState::buffered;
    }
    if (key != nullptr) {
        if (keylen != c.keylen) return WARPAES_RAISE(&c, PROV_R_INVALID_KEY_LENGTH);
        c.key.set(key, keylen, false);
        c.hash.set(c.key);
        clear_registers();
        c.key_set = true;
        c.tls_enc_records = 0;
        // A new key ends the message. The default provider would continue it with a counter of zero.
        if (c.iv_state == IvState::copied) c.iv_state = IvState::finished;
    }
    return gcm_set_ctx_params(context, params);
}

int gcm_cipher(void* context, Byte* out, std::size_t* outl, std::size_t outsize, const Byte* in,
               std::size_t inl) noexcept {
    Gcm& c = *static_cast<Gcm*>(context);
    if (outsize < inl) return WARPAES_RAISE(&c, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    if (!crypt_any(c, out, outl, in, inl)) return 0;
    *outl = inl;
    return 1;
}

template <const Algorithm& A>
void* new_gcm_of(void* provider) noexcept {
    return new_gcm(provider, A);
}

template <const Algorithm& A>
constexpr CipherCalls gcm_calls{new_gcm_of<A>,
                                free_plain<Gcm>,
                                copy_plain<Gcm>,
                                gcm_init,
                                gcm_update,
                                gcm_final,
                                gcm_cipher,
                                gcm_get_ctx_params,
                                gcm_set_ctx_params,
                                aead_gettable_ctx_params,
                                aead_settable_ctx_params};

constexpr Algorithm gcm256{
    "AES-256-GCM:id-aes256-GCM:2.16.840.1.101.3.4.1.46", Kind::gcm, EVP_CIPH_GCM_MODE, true, true, 256, 8, 96};
constexpr Algorithm gcm192{
    "AES-192-GCM:id-aes192-GCM:2.16.840.1.101.3.4.1.26", Kind::gcm, EVP_CIPH_GCM_MODE, true, true, 192, 8, 96};
constexpr Algorithm gcm128{
    "AES-128-GCM:id-aes128-GCM:2.16.840.1.101.3.4.1.6", Kind::gcm, EVP_CIPH_GCM_MODE, true, true, 128, 8, 96};

}  // namespace

void* new_gcm(void* provider, const Algorithm& algorithm) noexcept {
    auto* const c = make_context<Gcm>(provider, algorithm.kind);
    if (c == nullptr) return nullptr;
    c->algorithm = &algorithm;
    c->kernels = c->provider->settings()->kernels;
    c->keylen = algorithm.key_bits / 8;
    c->ivlen = gcm_nonce_bytes;
    c->taglen = c->tls_aad_len = not_set;
    return c;
}

int gcm_encrypt_init(void* context, const unsigned char* key, std::size_t keylen, const unsigned char* iv,
                     std::size_t ivlen, const OSSL_PARAM params[]) noexcept {
    return gcm_init(context, key, keylen, iv, ivlen, params, true);
}

int gcm_update(void* context, unsigned char* out, std::size_t* outl, std::size_t outsize, const unsigned char* in,
               std::size_t inl) noexcept {
    Gcm& c = *static_cast<Gcm*>(context);
    if (inl == 0) {
        *outl = 0;
        return 1;
    }
    if (outsize < inl) return WARPAES_RAISE(&c, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    if (!crypt_any(c, out, outl, in, inl)) return WARPAES_RAISE(&c, PROV_R_CIPHER_OPERATION_FAILED);
    return 1;
}

int gcm_final(void* context, unsigned char* out, std::size_t* outl, std::size_t /*outsize*/) noexcept {
    Gcm& c = *static_cast<Gcm*>(context);
    if (!crypt_any(c, out, outl, nullptr, 0)) return 0;
    *outl = 0;
    return 1;
}

std::span<const Entry> gcm_ciphers() noexcept {
    static const Entry list[] = {{&gcm256, cipher_functions<gcm256, gcm_calls<gcm256>>()},
                                 {&gcm192, cipher_functions<gcm192, gcm_calls<gcm192>>()},
                                 {&gcm128, cipher_functions<gcm128, gcm_calls<gcm128>>()}};
    return list;
}

}  // namespace warpaes::provider
