// Tests the blocks that precede a CCM message (SP 800-38C, appendix A), for lengths of every width, without allocating
// messages of these lengths.
#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "aes/cmac.hpp"

namespace warpaes {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t kib = 1 << 10, mib = kib << 10, gib = mib << 10;

TEST(Ccm, HowTheLengthOfAssociatedDataIsWritten) {
    const struct {
        std::uint64_t length;
        Bytes written;
    } table[] = {
        {0, {}},
        {1, {0, 1}},
        {0xfeff, {0xfe, 0xff}},
        {0xff00, {0xff, 0xfe, 0, 0, 0xff, 0}},
        {64 * kib, {0xff, 0xfe, 0, 1, 0, 0}},
        {4 * gib - 1, {0xff, 0xfe, 0xff, 0xff, 0xff, 0xff}},
        {4 * gib, {0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, 0}},
        {0x123456789abcdef0, {0xff, 0xff, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0}},
    };
    for (const auto& t : table) {
        const CcmAadPrefix prefix = ccm_aad_prefix(t.length);
        EXPECT_EQ(Bytes(prefix.bytes.begin(), prefix.bytes.begin() + static_cast<std::ptrdiff_t>(prefix.size)),
                  t.written)
            << t.length;
    }
}

TEST(Ccm, TheFirstBlockHoldsTheWholeLengthOfTheText) {
    const Bytes nonce{0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c};
    const struct {
        std::size_t nonce;
        std::uint64_t aad, text, tag;
        std::uint8_t flags;
        Bytes length;  ///< the bytes after the nonce
    } table[] = {
        {7, 8, 4, 4, 0x4f, {0, 0, 0, 0, 0, 0, 0, 4}},  // example 1
        {8, 16, 16, 6, 0x56, {0, 0, 0, 0, 0, 0, 16}},  // example 2
        {12, 20, 24, 8, 0x5a, {0, 0, 24}},             // example 3
        {13, 0, 0xffff, 16, 0x39, {0xff, 0xff}},
        {12, 1, 16 * mib - 1, 16, 0x7a, {0xff, 0xff, 0xff}},
        {11, 0, 16 * mib, 14, 0x33, {1, 0, 0, 0}},
        {10, 0, 4 * gib, 12, 0x2c, {1, 0, 0, 0, 0}},
        {7, 0, 0x123456789abcdef0, 10, 0x27, {0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0}},
    };
    for (const auto& t : table) {
        Bytes expected{t.flags};
        expected.insert(expected.end(), nonce.begin(), nonce.begin() + static_cast<std::ptrdiff_t>(t.nonce));
        expected.insert(expected.end(), t.length.begin(), t.length.end());
        const Block b0 = ccm_b0(std::span(nonce).first(t.nonce), t.aad, t.text, t.tag);
        EXPECT_EQ(Bytes(b0.begin(), b0.end()), expected) << t.nonce << " bytes of nonce, " << t.text << " of text";
    }
}

}  // namespace
}  // namespace warpaes
