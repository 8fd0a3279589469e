// GCM-SIV (RFC 8452).
#include "aes/gcm_siv.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/secret.hpp"
#include "engine/short_ways.hpp"
#include "message/composed.hpp"

namespace warpaes {

namespace {

/// GCM-SIV under the keys derived from a nonce (RFC 8452, 4 and 5).
class GcmSiv {
public:
    /// `encrypt(blocks)` encrypts under the key-generating key. `run` is the backend's function for GCM-SIV, or null.
    template <typename Cipher>
    GcmSiv(GcmSivNonce nonce, std::size_t key_bytes, const Cipher& encrypt, GcmSivFunction run)
        : key_(derive(nonce, key_bytes, encrypt)), run_(run) {}

    [[nodiscard]] const ExpandedKey& key() const noexcept { return key_.key; }
    [[nodiscard]] FieldElement h() const noexcept { return *key_.h; }

    /// Runs digest() or crypt() for the whole text, in memory of `device`. Without an output, only the digest is
    /// computed.
    FieldElement on_device(CudaBackend& gpu, int device, const Block& tag, const std::uint8_t* input,
                           std::uint8_t* output, std::uint64_t bytes, bool hashed) const {
        Secret<Block> sum;
        Block first;
        gcm_siv_counters(tag, 0, first.data(), 1);
        gpu.run({&key(), first, input, output, bytes, hashed ? &*sum : nullptr}, device);
        return load_element(*sum);
    }

    [[nodiscard]] FieldElement digest(Lane& lane, const std::uint8_t* data, std::uint64_t bytes) const {
        if (bytes <= by_hand) return digest_by_hand(data, bytes);
        if (run_ != nullptr) return run(Block{}, data, nullptr, bytes, true);
        Secret<Piece> piece;
        FieldElement digest;
        for (std::uint64_t at = 0; at < bytes; at += piece_bytes) {
            digest = add_piece(lane, digest, data + at, std::min<std::uint64_t>(piece_bytes, bytes - at), *piece);
        }
        return digest;
    }

    /// Encrypts or decrypts `bytes` bytes starting at byte `at` of the message; if `hashed` is set, returns the digest
    /// of the output.
    FieldElement crypt(Lane& lane, const Block& tag, std::uint64_t at, const std::uint8_t* input, std::uint8_t* output,
                       std::uint64_t bytes, bool hashed) const {
        if (run_ != nullptr) {
            const bool beside = hashed && bytes > by_hand;
            Block first;
            gcm_siv_counters(tag, at / block_bytes, first.data(), 1);
            const FieldElement sum = run(first, input, output, bytes, beside);
            return hashed && !beside ? digest(lane, output, bytes) : sum;
        }
        Secret<Piece> stream;
        FieldElement digest;
        for (std::uint64_t done = 0; done < bytes; done += piece_bytes) {
            const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(piece_bytes, bytes - done));
            const std::uint64_t blocks = blocks_of(n);
            gcm_siv_counters(tag, (at + done) / block_bytes, stream->data(), static_cast<std::size_t>(blocks));
            MessageGroup group = stretch_of(Mode::ecb, Direction::encrypt, key(), tag, stream->data(), stream->data(),
                                            blocks * block_bytes);
            group.direct = true;
            lane.run(group);
            exclusive_or(output + done, input + done, stream->data(), n);
            if (hashed) digest = add_piece(lane, digest, output + done, n, *stream);
        }
        return digest;
    }

private:
    /// A piece is small enough to stay in the first-level cache together with the input and the output.
    static constexpr std::size_t piece_bytes = 8192;
    using Piece = std::array<std::uint8_t, piece_bytes>;
    /// Up to this length, computing a table of powers takes longer than the time that the table saves.
    static constexpr std::size_t by_hand = 256;

    struct Derived {
        Derived(std::span<const std::uint8_t> bytes, FieldElement subkey) : key(bytes, subkey), h(subkey) {}
        ExpandedKey key;
        Secret<FieldElement> h;
    };

    template <typename Cipher>
    static Derived derive(GcmSivNonce nonce, std::size_t key_bytes, const Cipher& encrypt) {
        Secret<Block> authentication;
        Secret<std::array<std::uint8_t, 32>> encryption;
        Secret<std::array<Block, 6>> blocks;
        const std::size_t count = 2 + key_bytes / 8;
        for (unsigned i = 0; i < count; ++i) (*blocks)[i] = gcm_siv_key_block(nonce, i);
        encrypt(std::span(blocks->front().data(), count * block_bytes));
        for (unsigned i = 0; i < count; ++i) {
            const auto half = (*blocks)[i].begin();
            std::copy_n(half, 8, i < 2 ? authentication->begin() + 8 * i : encryption->begin() + 8 * (i - 2));
        }
        return {std::span<const std::uint8_t>(*encryption).first(key_bytes), polyval_subkey(*authentication)};
    }

    FieldElement run(const Block& counter, const std::uint8_t* input, std::uint8_t* output, std::uint64_t bytes,
                     bool hashed) const {
        Secret<Block> sum;
        run_({&key(), counter, input, output, bytes, hashed ? &*sum : nullptr});
        return load_element(*sum);
    }

    [[nodiscard]] FieldElement digest_by_hand(const std::uint8_t* data, std::uint64_t bytes) const {
        FieldElement digest;
        if (bytes == 0) return digest;
        Secret<std::array<std::uint8_t, by_hand>> reversed;
        reverse_blocks(reversed->data(), data, static_cast<std::size_t>(bytes));
        hash_blocks(h(), reversed->data(), blocks_of(bytes) * block_bytes, digest);
        return digest;
    }

    FieldElement add_piece(Lane& lane, FieldElement digest, const std::uint8_t* data, std::uint64_t bytes,
                           Piece& work) const {
        reverse_blocks(work.data(), data, static_cast<std::size_t>(bytes));
        const std::uint64_t blocks = blocks_of(bytes);
        Secret<Block> sum;
        lane.run({.mode = Mode::gcm,
                  .direction = Direction::encrypt,
                  .length = blocks * block_bytes,
                  .input = Elements::of(work.data()),
                  .key = &key(),
                  .digest = &*sum,
                  .direct = true});
        const bool whole = bytes == piece_bytes;
        return multiply(digest, whole ? *piece_power_ : power(h(), blocks)) ^ load_element(*sum);
    }

    /// `to` may equal `a`. The two cases use separate functions, because the compiler does not vectorize a function
    /// that handles both.
    static void exclusive_or(std::uint8_t* to, const std::uint8_t* a, const std::uint8_t* b, std::size_t bytes) {
        if (to == a) {
            add_to(to, b, bytes);
        } else {
            add(to, a, b, bytes);
        }
    }
    static void add_to(std::uint8_t* __restrict to, const std::uint8_t* __restrict b, std::size_t bytes) {
        for (std::size_t i = 0; i < bytes; ++i) to[i] = static_cast<std::uint8_t>(to[i] ^ b[i]);
    }
    static void add(std::uint8_t* __restrict to, const std::uint8_t* __restrict a, const std::uint8_t* __restrict b,
                    std::size_t bytes) {
        for (std::size_t i = 0; i < bytes; ++i) to[i] = static_cast<std::uint8_t>(a[i] ^ b[i]);
    }

    Derived key_;
    const GcmSivFunction run_;
    const Secret<FieldElement> piece_power_{run_ == nullptr ? power(*key_.h, piece_bytes / block_bytes)
                                                            : FieldElement{}};
};

}  // namespace

std::optional<std::uint64_t> crypt_gcm_siv(const ComposedMessage& m) {
    std::array<std::uint8_t, gcm_siv_nonce_bytes> nonce;  // copied, because the nonce may be inside the output
    std::copy_n(m.iv.begin(), nonce.size(), nonce.begin());
    const auto encrypt_blocks = [&m](std::span<std::uint8_t> blocks) {
        run_blocks(*m.plan.backend, Direction::encrypt, m.key, blocks);
    };
    const GcmSiv siv(nonce, m.key.bytes().size(), encrypt_blocks, m.plan.backend->gcm_siv_function());
    const std::uint64_t n = m.length, chunk = m.chunk_bytes();
    const auto aad = m.aad.empty() ? std::span<const std::uint8_t>() : m.aad.front();
    Secret<FieldElement> digest;
    *digest = siv.digest(*m.engine.lease(m.plan, 0, 0), aad.data(), aad.size());
    // Each chunk has its own digest. GCM-SIV hashes the plaintext, so for decryption the output is hashed.
    SecretVector digests(static_cast<std::size_t>((n / chunk + 1) * sizeof(FieldElement)));
    const auto add = [&] {
        for (std::uint64_t at = 0; at < n; at += chunk) {
            FieldElement part;
            std::memcpy(&part, digests.data() + at / chunk * sizeof part, sizeof part);
            *digest = multiply(*digest, power(siv.h(), blocks_of(std::min(chunk, n - at)))) ^ part;
        }
        *digest = multiply(*digest ^ gcm_siv_lengths(aad.size(), n), siv.h());
        Secret<Block> tag(gcm_siv_tag_block(*digest, nonce));
        run_blocks(*m.plan.backend, Direction::encrypt, siv.key(), *tag);
        return tag;
    };
    const auto note = [&](std::uint64_t i, FieldElement part) {
        std::memcpy(digests.data() + i * sizeof part, &part, sizeof part);
    };
    if (m.encrypts()) {
        m.for_each_chunk([&](Lane& lane, std::uint64_t i, std::uint64_t at, std::uint64_t bytes) {
            note(i, m.device >= 0 ? siv.on_device(m.engine.gpu(), m.device, {}, m.input, nullptr, bytes, true)
                                  : siv.digest(lane, m.input + at, bytes));
        });
        m.tag = *add();
    }
    m.for_each_chunk([&](Lane& lane, std::uint64_t i, std::uint64_t at, std::uint64_t bytes) {
        const FieldElement part =
            m.device >= 0 ? siv.on_device(m.engine.gpu(), m.device, m.tag, m.input, m.output, bytes, !m.encrypts())
                          : siv.crypt(lane, m.tag, at, m.input + at, m.output + at, bytes, !m.encrypts());
        if (!m.encrypts()) note(i, part);
    });
    const bool authentic = m.encrypts() || is_tag(*add(), m.tag);
    return authentic ? std::optional(m.length) : std::nullopt;
}

}  // namespace warpaes
