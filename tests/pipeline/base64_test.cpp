// Compares base64 in pieces of any size with libcrypto's one-shot encoder, and tests invalid base64.
#include "format/base64.hpp"

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include "support.hpp"

namespace warpaes::test {
namespace {

std::string encoded_by_libcrypto(const Bytes& bytes, bool one_line) {
    std::string text(bytes.size() / 3 * 4 + 5, '\0');
    const int n =
        EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes.data(), static_cast<int>(bytes.size()));
    text.resize(static_cast<std::size_t>(n));
    if (one_line) return text;
    std::string lines;
    for (std::size_t i = 0; i < text.size(); i += 64) lines += text.substr(i, 64) + "\n";
    return lines;
}

Bytes decode(const std::string& text, std::size_t step = 1000) {
    TestSource source(Bytes(text.begin(), text.end()), TestSource::Kind::sequential);
    Base64Source decoded(source);
    Bytes out, piece(step);
    for (std::size_t n = step; n == step;) {
        n = decoded.read(out.size(), piece);
        out.insert(out.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(n));
    }
    return out;
}

TEST(Base64, BothWaysInPiecesOfAnySize) {
    for (const std::size_t length : {0u, 1u, 2u, 3u, 47u, 48u, 49u, 95u, 96u, 1000u, 70000u, 200000u}) {
        const Bytes bytes = random_bytes(length, 20);
        for (const bool one_line : {false, true}) {
            for (const std::size_t step : {1u, 7u, 48u, 100000u}) {
                if (length > 1000 && step == 1) continue;
                TestSink sink(TestSink::Kind::sequential);
                Base64Sink encoder(sink, one_line);
                for (std::size_t at = 0; at < length; at += step) {
                    encoder.write(at, std::span(bytes).subspan(at, std::min(step, length - at)));
                }
                encoder.finish();
                const std::string text(sink.bytes().begin(), sink.bytes().end());
                ASSERT_EQ(text, encoded_by_libcrypto(bytes, one_line)) << length << " by " << step;
                ASSERT_EQ(decode(text, step), bytes) << length << " by " << step;
            }
        }
    }
}

TEST(Base64, WhiteSpaceIsSkipped) {
    EXPECT_EQ(decode(" Y W\nJ\r\nj\tZA = =\n\n"), (Bytes{'a', 'b', 'c', 'd'}));
}

TEST(Base64, AnythingElseIsRefused) {
    for (const char* text : {"YWJj!", "YW-Jj", "YWJ", "Y", "YWJjZA=", "YWJjZA==YWJj", "YQ==\nYQ==", "====", "=",
                             "YWJj\x01", "YW=j", "\xff\xfe"}) {
        EXPECT_EQ(status_of([&] { decode(text); }), WARPAES_ERROR_FORMAT) << text;
    }
}

TEST(Base64, DataBehindTheEndIsRefusedAcrossReadsToo) {
    // The end of the data lies at the boundary between two reads of the decoder, after 64 KiB of text.
    const Bytes bytes = random_bytes(65536 / 4 * 3 - 1, 21);
    const std::string text = encoded_by_libcrypto(bytes, true);
    ASSERT_EQ(text.size(), 65536u);
    EXPECT_EQ(decode(text), bytes);
    EXPECT_EQ(decode(text + "\n"), bytes);
    EXPECT_EQ(status_of([&] { decode(text + "YWJj"); }), WARPAES_ERROR_FORMAT);
}

}  // namespace
}  // namespace warpaes::test
