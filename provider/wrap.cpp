// Key wrap (RFC 3394, RFC 5649) with the interface of the default provider. Algorithms with INV in their names exchange
// the cipher and its inverse.
#include <openssl/crypto.h>

#include "aes/key_wrap.hpp"
#include "base/clean_stack.hpp"
#include "provider/generic.hpp"

namespace warpaes::provider {

namespace {

/// The limit for the length of a text, equal to libcrypto's CRYPTO128_WRAP_MAX.
constexpr std::size_t most_wrapped_bytes = std::size_t{1} << 31;

struct Wrap : Generic {
    bool inverted;  ///< the algorithm has INV in its name
};

auto cipher_of(const Key& key) noexcept {
    return [&key](Block& block) { key.block(block.data(), block.data()); };
}

/// Wraps `bytes` bytes of text, which start 8 bytes after `out`, in place.
void wrap_in_place(const Key& key, Semiblock a, Byte* out, std::size_t bytes) noexcept {
    Block work;
    wrap(a, out + semiblock_bytes, bytes / semiblock_bytes, cipher_of(key), work);
    std::copy(a.begin(), a.end(), out);
}

/// Returns the first 8 unwrapped bytes and writes the rest to `out`.
Semiblock unwrap_all(const Key& key, Byte* out, const Byte* in, std::size_t bytes) noexcept {
    Semiblock a;
    Block work;
    std::copy_n(in, semiblock_bytes, a.begin());
    std::memmove(out, in + semiblock_bytes, bytes - semiblock_bytes);
    unwrap(a, out, bytes / semiblock_bytes - 1, cipher_of(key), work);
    return a;
}

std::size_t wrap_whole(const Key& key, const Byte* iv, Byte* out, const Byte* in, std::size_t bytes) noexcept {
    if (bytes % 8 != 0 || bytes < 16 || bytes > most_wrapped_bytes) return 0;
    Semiblock a = kw_icv;
    if (iv != nullptr) std::copy_n(iv, a.size(), a.begin());
    std::memmove(out + 8, in, bytes);
    wrap_in_place(key, a, out, bytes);
    return bytes + 8;
}

std::size_t unwrap_whole(const Key& key, const Byte* iv, Byte* out, const Byte* in, std::size_t bytes) noexcept {
    if (bytes % 8 != 0 || bytes < 24 || bytes - 8 > most_wrapped_bytes) return 0;
    const Semiblock a = unwrap_all(key, out, in, bytes);
    if (CRYPTO_memcmp(a.data(), iv != nullptr ? iv : kw_icv.data(), a.size()) == 0) return bytes - 8;
    wipe({out, bytes - 8});
    return 0;
}

std::array<Byte, 4> padded_icv(const Byte* icv) noexcept {
    std::array<Byte, 4> start = kwp_icv;
    if (icv != nullptr) std::copy_n(icv, start.size(), start.begin());
    return start;
}

std::size_t wrap_padded(const Key& key, const Byte* icv, Byte* out, const Byte* in, std::size_t bytes) noexcept {
    if (bytes == 0 || bytes >= most_wrapped_bytes) return 0;
    const std::size_t padded = (bytes + 7) / 8 * 8;
    const Semiblock a = kwp_first(padded_icv(icv), bytes);
    std::memmove(out + 8, in, bytes);
    std::memset(out + 8 + bytes, 0, padded - bytes);
    if (padded == 8) {
        std::copy(a.begin(), a.end(), out);
        key.block(out, out);
    } else {
        wrap_in_place(key, a, out, padded);
    }
    return padded + 8;
}

std::size_t unwrap_padded(const Key& key, const Byte* icv, Byte* out, const Byte* in, std::size_t bytes) noexcept {
    if (bytes % 8 != 0 || bytes < 16 || bytes >= most_wrapped_bytes) return 0;
    const std::size_t padded = bytes - 8;
    Semiblock a;
    if (bytes == 16) {
        Secret<Block> block;
        key.block(in, block->data());
        std::copy_n(block->begin(), a.size(), a.begin());
        std::copy_n(block->begin() + 8, 8, out);
    } else {
        a = unwrap_all(key, out, in, bytes);
    }
    const KwpEnd end =
        kwp_end(a, padded_icv(icv), std::span<const Byte, semiblock_bytes>(out + padded - 8, semiblock_bytes), padded);
    if (end.wrong == 0) return end.bytes;
    wipe({out, padded});
    return 0;
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

int wrap_set_ctx_params(void* context, const OSSL_PARAM params[]) noexcept {
    Wrap& c = *static_cast<Wrap*>(context);
    if (params == nullptr) return 1;
    std::size_t keylen = 0;
    bool given = false;
    if (!get_size(&c, params, OSSL_CIPHER_PARAM_KEYLEN, keylen, given)) return 0;
    return given && keylen != c.keylen ? WARPAES_RAISE(&c, PROV_R_INVALID_KEY_LENGTH) : 1;
}

int wrap_init(void* context, const Byte* key, std::size_t keylen, const Byte* iv, std::size_t ivlen,
              const OSSL_PARAM params[], bool enc) noexcept {
    Wrap& c = *static_cast<Wrap*>(context);
    c.enc = enc;
    if (iv != nullptr && generic_set_iv(c, iv, ivlen) == 0) return 0;
    if (key != nullptr) {
        if (keylen != c.keylen) return WARPAES_RAISE(&c, PROV_R_INVALID_KEY_LENGTH);
        c.key.set(key, keylen, enc == c.inverted);
        c.key_set = true;
    }
    return wrap_set_ctx_params(context, params);
}

int wrap_cipher(void* context, Byte* out, std::size_t* outl, std::size_t outsize, const Byte* in,
                std::size_t inl) noexcept {
    Wrap& c = *static_cast<Wrap*>(context);
    if (inl == 0) {
        *outl = 0;
        return 1;
    }
    if (outsize < inl) return WARPAES_RAISE(&c, PROV_R_OUTPUT_BUFFER_TOO_SMALL);
    if (in == nullptr || !c.key_set) return 0;
    if (!c.enc && (inl < 16 || inl % 8 != 0)) return WARPAES_RAISE(&c, PROV_R_INVALID_INPUT_LENGTH);
    if (!c.pad && inl % 8 != 0) return WARPAES_RAISE(&c, PROV_R_INVALID_INPUT_LENGTH);
    if (out == nullptr) {  // a query for the output size
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

int wrap_final(void* /*context*/, Byte* /*out*/, std::size_t* outl, std::size_t /*outsize*/) noexcept {
    *outl = 0;
    return 1;
}

template <const Algorithm& A, bool Inverted>
constexpr CipherCalls wrap_calls{new_wrap<A, Inverted>,
                                 free_plain<Wrap>,
                                 copy_plain<Wrap>,
                                 wrap_init,
                                 wrap_cipher,
                                 wrap_final,
                                 nullptr,
                                 generic_get_ctx_params,
                                 wrap_set_ctx_params,
                                 generic_gettable_ctx_params,
                                 generic_settable_ctx_params};

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
    static const Entry list[] = {{&kw256, cipher_functions<kw256, wrap_calls<kw256, false>>()},
                                 {&kw192, cipher_functions<kw192, wrap_calls<kw192, false>>()},
                                 {&kw128, cipher_functions<kw128, wrap_calls<kw128, false>>()},
                                 {&kwp256, cipher_functions<kwp256, wrap_calls<kwp256, false>>()},
                                 {&kwp192, cipher_functions<kwp192, wrap_calls<kwp192, false>>()},
                                 {&kwp128, cipher_functions<kwp128, wrap_calls<kwp128, false>>()},
                                 {&kwi256, cipher_functions<kwi256, wrap_calls<kwi256, true>>()},
                                 {&kwi192, cipher_functions<kwi192, wrap_calls<kwi192, true>>()},
                                 {&kwi128, cipher_functions<kwi128, wrap_calls<kwi128, true>>()},
                                 {&kwpi256, cipher_functions<kwpi256, wrap_calls<kwpi256, true>>()},
                                 {&kwpi192, cipher_functions<kwpi192, wrap_calls<kwpi192, true>>()},
                                 {&kwpi128, cipher_functions<kwpi128, wrap_calls<kwpi128, true>>()}};
    return list;
}

}  // namespace warpaes::provider
