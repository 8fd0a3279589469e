// Tests altered, truncated and recombined files, wrong keys and failing sources. Readers must not return an
// unauthenticated byte.
#include <gtest/gtest.h>

#include <algorithm>

#include "stream_support.hpp"

namespace stream_tests {
namespace {

class TamperingTest : public StreamTest {
protected:
    /// Opens `bytes` and, if this succeeds, reads everything. Failed reads must wipe their output. Returns OK only if
    /// everything was read.
    warpaes_status status_of(const TestFile& file, const Bytes& bytes) {
        warpaes_status status = WARPAES_OK;
        const Reader reader = open_reader(engine_, memory_source(bytes), file.keyset, file.aad, &status);
        if (reader == nullptr) return status;
        const std::uint64_t size = warpaes_reader_size(reader.get());
        EXPECT_LE(size, bytes.size());
        return size == 0 ? WARPAES_OK : failing_read(reader, 0, static_cast<std::size_t>(size));
    }
    void expect_refused(const TestFile& file, const Bytes& bytes, const std::string& what) {
        const warpaes_status status = status_of(file, bytes);
        EXPECT_TRUE(status == WARPAES_ERROR_AUTHENTICATION || status == WARPAES_ERROR_FORMAT)
            << file.format.name << ", " << what << ": " << warpaes_status_message(status);
    }
    /// Returns `file` with only these segments.
    static Bytes put_together(const TestFile& file, const std::vector<Bytes>& segments) {
        Bytes bytes(file.file.begin(), file.file.begin() + static_cast<std::ptrdiff_t>(file.format.header_bytes()));
        for (const Bytes& segment : segments) bytes.insert(bytes.end(), segment.begin(), segment.end());
        return bytes;
    }
    /// Returns the step for a loop over a file's bytes, so that the loop's time is limited.
    static std::size_t step(const TestFile& file) {
        const std::size_t most = abi_tests::simulated() ? 12 : 400;
        return std::max<std::size_t>(1, file.file.size() / most);
    }
};

TEST_P(TamperingTest, EveryFlippedBitIsNoticed) {
    for (const SegmentFormat& format : oracle::segment_formats()) {
        const TestFile file(format, format.first_text() + 2 * format.text() + 5);
        const std::size_t header = format.header_bytes();
        for (std::size_t at = 0; at < file.file.size(); at += at < header ? 1 : step(file)) {
            Bytes altered = file.file;
            altered[at] = static_cast<std::uint8_t>(altered[at] ^ (1U << (at % 8)));
            expect_refused(file, altered, "bit flipped in byte " + std::to_string(at));
        }
    }
}

TEST_P(TamperingTest, OneAlteredSegmentLeavesTheOthersReadable) {
    for (const SegmentFormat& format : oracle::segment_formats()) {
        SCOPED_TRACE(format.name);
        const TestFile file(format, format.first_text() + 5 * format.text() + 5);
        Bytes altered = file.file;
        altered[format.begin(2) + 3] ^= 1;
        const Reader reader = open_reader(engine_, memory_source(altered), file.keyset, file.aad);
        ASSERT_NE(reader, nullptr);
        const std::size_t begin = format.first_text() + format.text(), end = begin + format.text();
        EXPECT_TRUE(read(reader, 0, begin) == Bytes(file.text.begin(), file.text.begin() + static_cast<long>(begin)));
        EXPECT_TRUE(file.is_the_text(read(reader, end, file.text.size()), end));
        EXPECT_EQ(failing_read(reader, begin + 5, 1), WARPAES_ERROR_AUTHENTICATION);
        EXPECT_EQ(failing_read(reader, begin, format.text()), WARPAES_ERROR_AUTHENTICATION);
        EXPECT_EQ(failing_read(reader, begin - 1, 2), WARPAES_ERROR_AUTHENTICATION);
        EXPECT_EQ(failing_read(reader, 0, file.text.size()), WARPAES_ERROR_AUTHENTICATION);
        EXPECT_NE(std::string(warpaes_last_error()).find("2"), std::string::npos) << warpaes_last_error();
    }
}

TEST_P(TamperingTest, TruncationAtAnyByteIsNoticedWhenOpening) {
    for (const SegmentFormat& format : oracle::segment_formats()) {
        const TestFile file(format, format.first_text() + 2 * format.text() + 5);
        std::vector<std::size_t> lengths{0, 1, format.header_bytes() - 1, format.header_bytes()};
        for (std::size_t i = 0; i < 3; ++i) {
            for (const std::size_t more : {std::size_t{0}, std::size_t{1}, format.tag_bytes, format.tag_bytes + 1}) {
                lengths.push_back(format.begin(i + 1) + more);
                lengths.push_back(format.begin(i + 1) - more);
            }
        }
        for (std::size_t n = 0; n < file.file.size(); n += step(file)) lengths.push_back(n);
        for (const std::size_t n : lengths) {
            if (n >= file.file.size()) continue;
            const Bytes cut(file.file.begin(), file.file.begin() + static_cast<std::ptrdiff_t>(n));
            warpaes_status status = WARPAES_OK;
            EXPECT_EQ(open_reader(engine_, memory_source(cut), file.keyset, file.aad, &status), nullptr)
                << format.name << " " << n;
            EXPECT_TRUE(status == WARPAES_ERROR_AUTHENTICATION || status == WARPAES_ERROR_FORMAT)
                << format.name << " " << n << ": " << warpaes_last_error();
        }
    }
}

TEST_P(TamperingTest, BytesBehindTheEndAreNoticedWhenOpening) {
    for (const SegmentFormat& format : oracle::segment_formats()) {
        for (const std::size_t bytes : {format.first_text() + format.text(), format.first_text() + format.text() + 5}) {
            const TestFile file(format, bytes);
            for (const std::size_t more :
                 {std::size_t{1}, format.tag_bytes, format.tag_bytes + 1, format.segment_bytes}) {
                Bytes longer = file.file;
                longer.resize(longer.size() + more);
                warpaes_status status = WARPAES_OK;
                EXPECT_EQ(open_reader(engine_, memory_source(longer), file.keyset, file.aad, &status), nullptr)
                    << format.name << " " << more;
                EXPECT_TRUE(status == WARPAES_ERROR_AUTHENTICATION || status == WARPAES_ERROR_FORMAT);
            }
        }
    }
}

TEST_P(TamperingTest, SegmentsDroppedDoubledSwappedOrFromAnotherFile) {
    for (const SegmentFormat& format : oracle::segment_formats()) {
        const std::size_t bytes = format.first_text() + 3 * format.text() + 5;
        const TestFile file(format, bytes);
        TestFile other(format, bytes, 2);
        // The other file uses the same key with a different salt.
        other.file = oracle::seal_segments(format, file.key, file.aad, other.text, Random(9).bytes(64));
        const std::vector<Bytes> s{file.segment(0), file.segment(1), file.segment(2), file.segment(3), file.segment(4)};
        ASSERT_TRUE(put_together(file, s) == file.file);
        expect_refused(file, put_together(file, {s[0], s[2], s[3], s[4]}), "dropped");
        expect_refused(file, put_together(file, {s[0], s[1], s[2], s[4]}), "dropped before the last");
        expect_refused(file, put_together(file, {s[0], s[1], s[2], s[3]}), "the last dropped");
        expect_refused(file, put_together(file, {s[0], s[1], s[1], s[2], s[3], s[4]}), "doubled");
        expect_refused(file, put_together(file, {s[0], s[2], s[1], s[3], s[4]}), "swapped");
        expect_refused(file, put_together(file, {s[0], s[1], s[2], s[3], s[4], s[4]}), "the last doubled");
        expect_refused(file, put_together(file, {s[0], other.segment(1), s[2], s[3], s[4]}), "from another file");
        expect_refused(file, put_together(file, {s[0], s[1], s[2], s[3], other.segment(4)}), "another file's end");
    }
}

TEST_P(TamperingTest, WrongKeyWrongAssociatedDataWrongFormat) {
    const auto& formats = oracle::segment_formats();
    for (const SegmentFormat& format : formats) {
        const TestFile file(format, 2 * format.text() + 5);
        const auto status_of = [&](const Keyset& keyset, const Bytes& aad) {
            warpaes_status status = WARPAES_OK;
            EXPECT_EQ(open_reader(engine_, memory_source(file.file), keyset, aad, &status), nullptr);
            return status;
        };
        Bytes other_key = file.key, other_aad = file.aad;
        other_key[15] ^= 0x80;
        other_aad.back() ^= 1;
        EXPECT_EQ(status_of(make_keyset(format, other_key), file.aad), WARPAES_ERROR_AUTHENTICATION) << format.name;
        EXPECT_EQ(status_of(file.keyset, other_aad), WARPAES_ERROR_AUTHENTICATION) << format.name;
        EXPECT_EQ(status_of(file.keyset, {}), WARPAES_ERROR_AUTHENTICATION) << format.name;
        for (const SegmentFormat& other : formats) {
            if (other.name == format.name) continue;
            const warpaes_status status = status_of(make_keyset(other, file.key), file.aad);
            EXPECT_TRUE(status == WARPAES_ERROR_AUTHENTICATION || status == WARPAES_ERROR_FORMAT)
                << format.name << " as " << other.name << ": " << warpaes_status_message(status);
        }
    }
}

/// Each read fails in turn, while the file is opened and while it is read. After the source has recovered, the reader
/// also works again.
TEST_P(TamperingTest, AFailingSourceIsAnErrorAndNothingElse) {
    for (const SegmentFormat& format : oracle::segment_formats()) {
        SCOPED_TRACE(format.name);
        const TestFile file(format, format.first_text() + 7 * format.text() + 5);
        Store store(file.file);
        for (int n = 0; n < 2; ++n) {
            store.fail_at(n);
            warpaes_status status = WARPAES_OK;
            EXPECT_EQ(open_reader(engine_, store.source(), file.keyset, file.aad, &status), nullptr) << n;
            EXPECT_EQ(status, WARPAES_ERROR_READ);
            EXPECT_EQ(store.calls().size(), static_cast<std::size_t>(n) + 1) << "continued after the failure";
        }
        store.forget_calls();
        const Reader reader = open_reader(engine_, store.source(), file.keyset, file.aad);
        ASSERT_NE(reader, nullptr);
        const std::size_t bytes = file.text.size() - 2;
        store.forget_calls();
        read(reader, 1, bytes);
        const int calls = static_cast<int>(store.calls().size());
        EXPECT_GT(calls, 0);
        for (int n = 0; n < calls; ++n) {
            // A new reader starts with an empty cache.
            store.forget_calls();
            const Reader fresh = open_reader(engine_, store.source(), file.keyset, file.aad);
            store.fail_at(n, true);
            EXPECT_EQ(failing_read(fresh, 1, bytes), WARPAES_ERROR_READ) << n;
            store.forget_calls();
            EXPECT_TRUE(file.is_the_text(read(fresh, 1, bytes), 1));
        }
    }
}

WARPAES_FOR_EVERY_BACKEND(TamperingTest);

}  // namespace
}  // namespace stream_tests
