// Tink's AES-CTR-HMAC segments: CTR encryption, then an HMAC over counter and ciphertext.
#pragma once

#include "format/hkdf.hpp"
#include "format/segment_cipher.hpp"

namespace warpaes {

class CtrHmacSegments final : public SegmentCipher {
public:
    CtrHmacSegments(const SegmentLayout& layout, std::vector<std::uint8_t> header, std::span<const std::uint8_t> key,
                    Hash hash, std::span<const std::uint8_t> mac_key)
        : SegmentCipher(layout, std::move(header)), key_(key), mac_(hash, mac_key) {}

    /// Decrypts nothing until the whole range is authenticated.
    void process(Lane& lane, Direction direction, const SegmentRange& range, std::uint8_t* plaintext,
                 std::uint8_t* ciphertext) const override;

private:
    ExpandedKey key_;
    Hmac mac_;
};

}  // namespace warpaes
