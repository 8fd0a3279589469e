// Tink's AES-CTR-HMAC streaming: CTR encryption with the counter nonce || 0^4, then an HMAC over counter and
// ciphertext.
#include <openssl/crypto.h>

#include <algorithm>

#include "engine/chain.hpp"
#include "format/segment_formats.hpp"
#include "format/segments.hpp"

namespace warpaes {

namespace {

constexpr std::size_t tink_mac_key_bytes = 32;

class CtrHmacSegments final : public SegmentCipher {
public:
    CtrHmacSegments(const SegmentLayout& layout, TinkFile file, std::size_t key_bytes, Hash hash)
        : SegmentCipher(layout, std::move(file.header)),
          key_(std::span(file.derived).first(key_bytes)),
          mac_(hash, std::span(file.derived).subspan(key_bytes)) {}

    /// Decrypts nothing until the whole range is authenticated.
    void process(Lane& lane, Direction direction, const SegmentRange& range, std::uint8_t* plaintext,
                 std::uint8_t* ciphertext) const override;

private:
    ExpandedKey key_;
    Hmac mac_;
};

void CtrHmacSegments::process(Lane& lane, Direction direction, const SegmentRange& range, std::uint8_t* plaintext,
                              std::uint8_t* ciphertext) const {
    check_range(layout(), range);
    Hmac mac = mac_;
    std::array<std::uint8_t, Hmac::most_bytes> computed{};
    const auto tag = std::span(computed).first(static_cast<std::size_t>(layout().tag));

    /// Calls `work(i, counter, text, sealed, bytes)` for each segment.
    const auto for_each = [&](const auto& work) {
        std::uint8_t* text = plaintext;
        std::uint8_t* sealed = ciphertext;
        for (std::uint64_t i = 0; i < range.count; ++i) {
            Block counter{};
            const auto nonce = tink_nonce(header(), range.first + i, range.ends && i + 1 == range.count);
            std::copy(nonce.begin(), nonce.end(), counter.begin());
            const std::uint64_t bytes = text_of(layout(), range, i);
            work(i, counter, text, sealed, bytes);
            text += bytes;
            sealed += bytes + layout().tag;
        }
    };
    const auto crypt = [&](const Block& counter, const std::uint8_t* input, std::uint8_t* output, std::uint64_t bytes) {
        MessageGroup segment = stretch_of(Mode::ctr, direction, key_, counter, input, output, bytes);
        segment.direct = true;
        lane.run(segment);
    };
    const auto authenticate = [&](const Block& counter, const std::uint8_t* sealed, std::uint64_t bytes) {
        mac.compute({counter, {sealed, static_cast<std::size_t>(bytes)}}, tag);
    };

    if (direction == Direction::encrypt) {
        for_each(
            [&](std::uint64_t, const Block& counter, std::uint8_t* text, std::uint8_t* sealed, std::uint64_t bytes) {
                crypt(counter, text, sealed, bytes);
                authenticate(counter, sealed, bytes);
                std::copy(tag.begin(), tag.end(), sealed + bytes);
            });
        return;
    }
    for_each([&](std::uint64_t i, const Block& counter, std::uint8_t*, std::uint8_t* sealed, std::uint64_t bytes) {
        authenticate(counter, sealed, bytes);
        if (CRYPTO_memcmp(tag.data(), sealed + bytes, tag.size()) != 0) {
            refuse_segment(layout(), range, i, plaintext);
        }
    });
    for_each([&](std::uint64_t, const Block& counter, std::uint8_t* text, std::uint8_t* sealed, std::uint64_t bytes) {
        crypt(counter, sealed, text, bytes);
    });
}

std::unique_ptr<SegmentCipher> ctr_hmac_cipher(const StreamKey& key, std::span<const std::uint8_t> aad,
                                               std::span<const std::uint8_t> header) {
    const StreamParameters& p = key.parameters;
    return std::make_unique<CtrHmacSegments>(tink_layout(p), tink_file(key, aad, header, tink_mac_key_bytes),
                                             p.aes_key_bytes, p.hmac_hash);
}

constexpr StreamParameters ctr_hmac_parameters(std::size_t key_bytes, std::uint32_t segment) {
    return {&ctr_hmac, key_bytes, segment, Hash::sha256, Hash::sha256, 32};
}

constexpr StreamTemplate ctr_hmac_templates[] = {{"AES256_CTR_HMAC_SHA256_1MB", ctr_hmac_parameters(32, 1 << 20)},
                                                 {"AES256_CTR_HMAC_SHA256_4KB", ctr_hmac_parameters(32, 4096)},
                                                 {"AES128_CTR_HMAC_SHA256_1MB", ctr_hmac_parameters(16, 1 << 20)},
                                                 {"AES128_CTR_HMAC_SHA256_4KB", ctr_hmac_parameters(16, 4096)}};

}  // namespace

constexpr SegmentFormat ctr_hmac{.name = "Tink streaming AEAD",
                                 .tink_type = "type.googleapis.com/google.crypto.tink.AesCtrHmacStreamingKey",
                                 .hmac = true,
                                 .marked = true,
                                 .commits = false,
                                 .cpu_bound = true,
                                 .templates = ctr_hmac_templates,
                                 .layout = tink_layout,
                                 .cipher = ctr_hmac_cipher};

}  // namespace warpaes
