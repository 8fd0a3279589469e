// C2SP chunked encryption (c2sp.org/chunked-encryption).
//
//   header = salt(24) || commitment(32), HKDF-Expand-SHA512, nonce = base XOR i
#include <openssl/crypto.h>

#include <algorithm>
#include <string_view>

#include "base/error.hpp"
#include "base/kernel_random.hpp"
#include "base/secret.hpp"
#include "format/hkdf.hpp"
#include "format/segment_formats.hpp"
#include "format/segments.hpp"

namespace warpaes {

namespace {

constexpr std::size_t c2sp_salt_bytes = 24, c2sp_nonce_bytes = 12, c2sp_commitment_bytes = 32, c2sp_chunk_bytes = 16384;

class C2spSegments final : public GcmSegments {
public:
    C2spSegments(const SegmentLayout& layout, std::vector<std::uint8_t> header, std::span<const std::uint8_t> key,
                 std::span<const std::uint8_t> base)
        : GcmSegments(layout, std::move(header), key) {
        std::copy(base.begin(), base.end(), base_->begin());
    }

private:
    /// Returns the base nonce XOR the segment number in big-endian order.
    Nonce nonce(std::uint64_t segment, bool /*last*/) const override {
        Nonce nonce = *base_;
        for (unsigned i = 0; i < 8; ++i) {
            nonce[11 - i] = static_cast<std::uint8_t>(nonce[11 - i] ^ (segment >> (8 * i)));
        }
        return nonce;
    }

    Secret<Nonce> base_;
};

SegmentLayout c2sp_layout(const StreamParameters& parameters) {
    SegmentLayout layout;
    layout.tag = parameters.tag_bytes;
    layout.header_bytes = c2sp_salt_bytes + c2sp_commitment_bytes;
    layout.first_text = layout.text = c2sp_chunk_bytes;
    layout.most_segments = std::uint64_t{1} << 38;
    layout.last_is_shorter = true;
    return layout;
}

/// Derives key || base nonce || commitment.
SecretVector derive_c2sp(const StreamKey& key, std::span<const std::uint8_t> aad, std::span<const std::uint8_t> salt) {
    constexpr std::string_view protocol = "c2sp.org/chunked-encryption@v1+";
    const std::string_view algorithm = key.parameters.aes_key_bytes == 32 ? "AEAD_AES_256_GCM" : "AEAD_AES_128_GCM";
    const std::uint8_t zero = 0;
    return hkdf_expand(Hash::sha512, key.key, {bytes_of(protocol), bytes_of(algorithm), {&zero, 1}, salt, aad},
                       key.parameters.aes_key_bytes + c2sp_nonce_bytes + c2sp_commitment_bytes);
}

std::unique_ptr<SegmentCipher> c2sp_cipher(const StreamKey& key, std::span<const std::uint8_t> aad,
                                           std::span<const std::uint8_t> header) {
    const SegmentLayout layout = c2sp_layout(key.parameters);
    std::vector<std::uint8_t> own(header.begin(), header.end());
    own.resize(static_cast<std::size_t>(layout.header_bytes));
    const auto salt = std::span(own).first(c2sp_salt_bytes), commitment = std::span(own).subspan(c2sp_salt_bytes);
    if (header.empty()) fill_from_kernel(salt, "salt");
    const SecretVector derived = derive_c2sp(key, aad, salt);
    const auto computed = std::span<const std::uint8_t>(derived).last(c2sp_commitment_bytes);
    if (header.empty()) {
        std::copy(computed.begin(), computed.end(), commitment.begin());
    } else if (CRYPTO_memcmp(computed.data(), commitment.data(), c2sp_commitment_bytes) != 0) {
        throw Error(
            WARPAES_ERROR_AUTHENTICATION,
            "input: the key or the associated data differ from those of the encryption, or the header was altered, "
            "or the file has a different format");
    }
    const std::size_t n = key.parameters.aes_key_bytes;
    return std::make_unique<C2spSegments>(layout, std::move(own), std::span(derived).first(n),
                                          std::span(derived).subspan(n, c2sp_nonce_bytes));
}

/// Returns parameters with chunks of 16 KiB of plaintext and a tag.
constexpr StreamParameters c2sp_parameters(std::size_t key_bytes) {
    return {&c2sp, key_bytes, c2sp_chunk_bytes + 16, Hash::sha512, Hash::sha512, 16};
}

constexpr StreamTemplate c2sp_templates[] = {{"C2SP_CHUNKED_256", c2sp_parameters(32)},
                                             {"C2SP_CHUNKED_128", c2sp_parameters(16)}};

}  // namespace

constexpr SegmentFormat c2sp{.name = "C2SP chunked encryption",
                             .tink_type = "",
                             .hmac = false,
                             .marked = false,
                             .commits = true,
                             .cpu_bound = false,
                             .templates = c2sp_templates,
                             .layout = c2sp_layout,
                             .cipher = c2sp_cipher};

}  // namespace warpaes
