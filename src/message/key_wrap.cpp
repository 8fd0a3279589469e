// KW and KWP (SP 800-38F).
#include "aes/key_wrap.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <cstring>

#include "base/secret.hpp"
#include "engine/short_ways.hpp"
#include "message/checks.hpp"
#include "message/composed.hpp"

namespace warpaes {

namespace {

auto cipher_of(const ComposedMessage& m) {
    return [&m](Block& block) { run_blocks(*m.plan.backend, m.direction, m.key, block); };
}

/// Returns the check value of KW, or for KWP its first four bytes.
Semiblock check_value(const ComposedMessage& m) {
    Semiblock icv = kw_icv;
    if (m.mode == Mode::kwp) std::copy(kwp_icv.begin(), kwp_icv.end(), icv.begin());
    std::copy(m.iv.begin(), m.iv.end(), icv.begin());
    return icv;
}

std::uint64_t wrap_key(const ComposedMessage& m) {
    const auto cipher = cipher_of(m);
    const std::uint64_t n = m.length, padded = round_up(n, semiblock_bytes);
    std::uint8_t* const text = m.output + semiblock_bytes;
    Secret<Semiblock> a(check_value(m));
    if (m.mode == Mode::kwp) *a = kwp_first(std::span<const std::uint8_t>(*a).first<4>(), n);
    std::memmove(text, m.input, static_cast<std::size_t>(n));
    std::fill(text + n, text + padded, std::uint8_t{0});
    Secret<Block> work;
    if (padded == semiblock_bytes) {  // a single block, which is allowed only for KWP
        std::copy(a->begin(), a->end(), work->begin());
        std::copy_n(text, semiblock_bytes, work->begin() + semiblock_bytes);
        cipher(*work);
        std::copy(work->begin(), work->end(), m.output);
    } else {
        wrap(*a, text, padded / semiblock_bytes, cipher, *work);
        std::copy(a->begin(), a->end(), m.output);
    }
    return padded + semiblock_bytes;
}

std::optional<std::uint64_t> unwrap_key(const ComposedMessage& m) {
    const auto cipher = cipher_of(m);
    const std::uint64_t padded = m.length - semiblock_bytes;
    const Semiblock icv = check_value(m);  // copied, because the check value may be inside the output
    Secret<Semiblock> a;
    Secret<Block> work;
    std::copy_n(m.input, semiblock_bytes, a->begin());
    if (padded == semiblock_bytes) {
        std::copy_n(m.input, block_bytes, work->begin());
        cipher(*work);
        std::copy_n(work->begin(), semiblock_bytes, a->begin());
        std::copy_n(work->begin() + semiblock_bytes, semiblock_bytes, m.output);
    } else {
        std::memmove(m.output, m.input + semiblock_bytes, static_cast<std::size_t>(padded));
        unwrap(*a, m.output, padded / semiblock_bytes, cipher, *work);
    }
    if (m.mode == Mode::kw) {
        if (CRYPTO_memcmp(a->data(), icv.data(), semiblock_bytes) != 0) return std::nullopt;
        return padded;
    }
    using Last = std::span<const std::uint8_t, semiblock_bytes>;
    const Secret<KwpEnd> end(kwp_end(*a, std::span<const std::uint8_t>(icv).first<4>(),
                                     Last(m.output + padded - semiblock_bytes, semiblock_bytes), padded));
    const std::uint8_t right = 0;
    if (CRYPTO_memcmp(&end->wrong, &right, 1) != 0) return std::nullopt;
    return end->bytes;
}

}  // namespace

std::optional<std::uint64_t> crypt_key_wrap(const ComposedMessage& m) {
    return m.encrypts() ? wrap_key(m) : unwrap_key(m);
}

}  // namespace warpaes
