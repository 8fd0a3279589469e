// Tink's AES-GCM-HKDF streaming, and the header, nonces and file key that both Tink formats use.
//
//   header = H || salt || prefix(7), HKDF-HMAC, nonce = prefix || BE32(i) || last
#include <algorithm>
#include <array>
#include <string>

#include "base/error.hpp"
#include "base/kernel_random.hpp"
#include "format/hkdf.hpp"
#include "format/segment_formats.hpp"
#include "format/segments.hpp"

namespace warpaes {

namespace {

constexpr std::size_t tink_prefix_bytes = 7;

class TinkGcmSegments final : public GcmSegments {
public:
    TinkGcmSegments(const SegmentLayout& layout, TinkFile file, std::size_t key_bytes)
        : GcmSegments(layout, std::move(file.header), std::span(file.derived).first(key_bytes)) {}

private:
    Nonce nonce(std::uint64_t segment, bool last) const override { return tink_nonce(header(), segment, last); }
};

std::unique_ptr<SegmentCipher> gcm_hkdf_cipher(const StreamKey& key, std::span<const std::uint8_t> aad,
                                               std::span<const std::uint8_t> header) {
    return std::make_unique<TinkGcmSegments>(tink_layout(key.parameters), tink_file(key, aad, header, 0),
                                             key.parameters.aes_key_bytes);
}

constexpr StreamParameters gcm_hkdf_parameters(std::size_t key_bytes, std::uint32_t segment) {
    return {&gcm_hkdf, key_bytes, segment, Hash::sha256, Hash::sha256, 16};
}

constexpr StreamTemplate gcm_hkdf_templates[] = {{"AES256_GCM_HKDF_1MB", gcm_hkdf_parameters(32, 1 << 20)},
                                                 {"AES256_GCM_HKDF_4KB", gcm_hkdf_parameters(32, 4096)},
                                                 {"AES128_GCM_HKDF_1MB", gcm_hkdf_parameters(16, 1 << 20)},
                                                 {"AES128_GCM_HKDF_4KB", gcm_hkdf_parameters(16, 4096)}};

}  // namespace

constexpr SegmentFormat gcm_hkdf{.name = "Tink streaming AEAD",
                                 .tink_type = "type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey",
                                 .hmac = false,
                                 .marked = true,
                                 .commits = false,
                                 .cpu_bound = false,
                                 .templates = gcm_hkdf_templates,
                                 .layout = tink_layout,
                                 .cipher = gcm_hkdf_cipher};

std::size_t tink_header_bytes(std::size_t aes_key_bytes) noexcept {
    return 1 + aes_key_bytes + tink_prefix_bytes;
}

SegmentLayout tink_layout(const StreamParameters& parameters) {
    SegmentLayout layout;
    layout.tag = parameters.tag_bytes;
    layout.header_bytes = tink_header_bytes(parameters.aes_key_bytes);
    if (parameters.segment_bytes <= layout.header_bytes + layout.tag) {
        throw Error(WARPAES_ERROR_KEYSET, "keyset: a key has segments of " + std::to_string(parameters.segment_bytes) +
                                              " bytes, too small for the header");
    }
    layout.first_text = parameters.segment_bytes - layout.header_bytes - layout.tag;
    layout.text = parameters.segment_bytes - layout.tag;
    layout.most_segments = std::uint64_t{1} << 32;
    return layout;
}

TinkFile tink_file(const StreamKey& key, std::span<const std::uint8_t> aad, std::span<const std::uint8_t> header,
                   std::size_t mac_key_bytes) {
    const StreamParameters& p = key.parameters;
    TinkFile file{{header.begin(), header.end()}, {}};
    if (header.empty()) {
        file.header.resize(tink_header_bytes(p.aes_key_bytes));
        file.header[0] = static_cast<std::uint8_t>(file.header.size());
        fill_from_kernel(std::span(file.header).subspan(1), "salt");
    }
    const auto salt = std::span<const std::uint8_t>(file.header).subspan(1, p.aes_key_bytes);
    file.derived = hkdf(p.hkdf_hash, key.key, salt, aad, p.aes_key_bytes + mac_key_bytes);
    return file;
}

std::array<std::uint8_t, 12> tink_nonce(std::span<const std::uint8_t> header, std::uint64_t segment, bool last) {
    std::array<std::uint8_t, 12> nonce{};
    std::copy(header.end() - tink_prefix_bytes, header.end(), nonce.begin());
    for (unsigned i = 0; i < 4; ++i) nonce[tink_prefix_bytes + i] = static_cast<std::uint8_t>(segment >> (24 - 8 * i));
    nonce[11] = last ? 1 : 0;
    return nonce;
}

}  // namespace warpaes
