#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "format/keyset.hpp"

namespace warpaes {

namespace {

constexpr std::uint32_t small = 4096, large = 1 << 20;

constexpr StreamParameters gcm_hkdf(std::size_t key_bytes, std::uint32_t segment) {
    return {SegmentFormat::gcm_hkdf, key_bytes, segment, Hash::sha256, Hash::sha256, 16};
}
constexpr StreamParameters ctr_hmac(std::size_t key_bytes, std::uint32_t segment) {
    return {SegmentFormat::ctr_hmac, key_bytes, segment, Hash::sha256, Hash::sha256, 32};
}
/// Chunks of 16 KiB of plaintext and a tag.
constexpr StreamParameters c2sp(std::size_t key_bytes) {
    return {SegmentFormat::c2sp, key_bytes, 16384 + 16, Hash::sha512, Hash::sha512, 16};
}

constexpr std::array templates = {
    StreamTemplate{"AES256_GCM_HKDF_1MB", gcm_hkdf(32, large)},
    StreamTemplate{"AES256_GCM_HKDF_4KB", gcm_hkdf(32, small)},
    StreamTemplate{"AES128_GCM_HKDF_1MB", gcm_hkdf(16, large)},
    StreamTemplate{"AES128_GCM_HKDF_4KB", gcm_hkdf(16, small)},
    StreamTemplate{"AES256_CTR_HMAC_SHA256_1MB", ctr_hmac(32, large)},
    StreamTemplate{"AES256_CTR_HMAC_SHA256_4KB", ctr_hmac(32, small)},
    StreamTemplate{"AES128_CTR_HMAC_SHA256_1MB", ctr_hmac(16, large)},
    StreamTemplate{"AES128_CTR_HMAC_SHA256_4KB", ctr_hmac(16, small)},
    StreamTemplate{"C2SP_CHUNKED_256", c2sp(32)},
    StreamTemplate{"C2SP_CHUNKED_128", c2sp(16)},
};

}  // namespace

std::span<const StreamTemplate> stream_templates() {
    return templates;
}

const StreamTemplate& find_template(std::string_view name) {
    const auto found = std::find_if(templates.begin(), templates.end(), [&](const auto& t) { return t.name == name; });
    if (found != templates.end()) return *found;
    std::string choices;
    for (const StreamTemplate& t : templates) choices += (choices.empty() ? "" : ", ") + std::string(t.name);
    throw Error(WARPAES_ERROR_ARGUMENT, "template: unknown template '" + std::string(name) + "'; choose " + choices);
}

std::string_view template_name_of(const StreamParameters& parameters) {
    for (const StreamTemplate& t : templates) {
        if (t.parameters == parameters) return t.name;
    }
    return "";
}

}  // namespace warpaes
