#include "segment_formats.hpp"

#include <openssl/evp.h>

#include <algorithm>

#include "../format/segment_oracle.hpp"

namespace oracle {

namespace {

using Kind = SegmentFormat::Kind;

Bytes join(std::initializer_list<Bytes> parts) {
    Bytes all;
    for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
}

/// The oracle reads only the name and `hmac`. The library does not export its formats.
warpaes::SegmentFormat format_of(const char* name, bool hmac) {
    warpaes::SegmentFormat format{};
    format.name = name;
    format.hmac = hmac;
    return format;
}

warpaes::StreamParameters parameters_of(const SegmentFormat& f) {
    static const warpaes::SegmentFormat gcm = format_of("Tink streaming AEAD", false),
                                        ctr = format_of("Tink streaming AEAD", true),
                                        c2sp = format_of("C2SP chunked encryption", false);
    warpaes::StreamParameters p;
    p.format = f.kind == Kind::gcm_hkdf ? &gcm : f.kind == Kind::ctr_hmac ? &ctr : &c2sp;
    p.aes_key_bytes = f.key_bytes;
    p.segment_bytes = static_cast<std::uint32_t>(f.segment_bytes);
    p.tag_bytes = f.tag_bytes;
    return p;
}

void append_varint(Bytes& to, std::uint64_t value) {
    for (; value >= 128; value >>= 7) to.push_back(static_cast<std::uint8_t>(value | 128));
    to.push_back(static_cast<std::uint8_t>(value));
}

std::string base64(const Bytes& bytes) {
    std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
    const int n =
        EVP_EncodeBlock(reinterpret_cast<std::uint8_t*>(text.data()), bytes.data(), static_cast<int>(bytes.size()));
    text.resize(static_cast<std::size_t>(n));
    return text;
}

}  // namespace

std::size_t SegmentFormat::begin(std::size_t i) const {
    if (kind != Kind::c2sp && i != 0) return i * segment_bytes;
    return header_bytes() + i * segment_bytes;
}

std::size_t SegmentFormat::segments(std::size_t bytes) const {
    if (kind == Kind::c2sp) return bytes / text() + 1;
    if (bytes <= first_text()) return 1;
    return 1 + (bytes - first_text() + text() - 1) / text();
}

const std::vector<SegmentFormat>& segment_formats() {
    static const std::vector<SegmentFormat> formats{
        {"gcm128_64", Kind::gcm_hkdf, 16, 64},         {"gcm256_100", Kind::gcm_hkdf, 32, 100},
        {"gcm256_4096", Kind::gcm_hkdf, 32, 4096},     {"ctr128_100", Kind::ctr_hmac, 16, 100, 20},
        {"ctr256_4096", Kind::ctr_hmac, 32, 4096, 32}, {"c2sp128", Kind::c2sp, 16, 16384 + 16},
        {"c2sp256", Kind::c2sp, 32, 16384 + 16},
    };
    return formats;
}

Bytes seal_segments(const SegmentFormat& format, const Bytes& key, const Bytes& aad, const Bytes& plaintext,
                    Bytes header) {
    header.resize(format.header_bytes());
    if (format.kind != Kind::c2sp) header[0] = static_cast<std::uint8_t>(header.size());
    const Bytes input_key = format.input_key(key);
    return warpaes::test::seal({parameters_of(format), {input_key.begin(), input_key.end()}, 0}, aad, header,
                               plaintext);
}

std::string tink_key(const SegmentFormat& format, const Bytes& key, std::uint32_t id, const std::string& status) {
    const bool mac = format.kind == Kind::ctr_hmac;
    Bytes parameters{0x08};
    append_varint(parameters, format.segment_bytes);
    for (const std::size_t byte : {std::size_t{0x10}, format.key_bytes, std::size_t{0x18}, std::size_t{3}}) {
        parameters.push_back(static_cast<std::uint8_t>(byte));
    }
    if (mac) {
        parameters = join({parameters, {0x22, 4, 0x08, 3, 0x10, static_cast<std::uint8_t>(format.tag_bytes)}});
    }
    const Bytes value = join({{0x12, static_cast<std::uint8_t>(parameters.size())},
                              parameters,
                              {0x1a, static_cast<std::uint8_t>(key.size())},
                              key});
    return R"({"keyData":{"typeUrl":"type.googleapis.com/google.crypto.tink.)" +
           std::string(mac ? "AesCtrHmacStreamingKey" : "AesGcmHkdfStreamingKey") + R"(","value":")" + base64(value) +
           R"(","keyMaterialType":"SYMMETRIC"},"status":")" + status + R"(","keyId":)" + std::to_string(id) +
           R"(,"outputPrefixType":"RAW"})";
}

std::string tink_keyset(const std::vector<std::string>& keys, std::uint32_t primary) {
    std::string text = R"({"primaryKeyId":)" + std::to_string(primary) + R"(,"key":[)";
    for (std::size_t i = 0; i < keys.size(); ++i) text += (i == 0 ? "" : ",") + keys[i];
    return text + "]}";
}

}  // namespace oracle
