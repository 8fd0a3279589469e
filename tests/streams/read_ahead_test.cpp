// Tests sequential readers. Reading ahead returns the same bytes as direct reads, and an invalid segment causes a
// failure at its position.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "stream_support.hpp"

namespace stream_tests {
namespace {

/// Returns a length of several windows, of which the first two have 0.5 MiB and 1 MiB. On a simulated GPU, which is
/// slow, returns a short length.
std::size_t some_windows() {
    return abi_tests::simulated() ? std::size_t{120} << 10 : std::size_t{1800} << 10;
}

class ReadAheadTest : public StreamTest {
protected:
    /// Returns one format of each kind. Tink's formats have segments of 4 KiB, because the oracle is fast for long
    /// segments.
    static std::vector<SegmentFormat> formats() {
        std::vector<SegmentFormat> chosen;
        for (SegmentFormat format : oracle::segment_formats()) {
            if (format.kind != SegmentFormat::Kind::c2sp) format.segment_bytes = 4096;
            if (chosen.empty() || chosen.back().kind != format.kind) chosen.push_back(format);
        }
        return chosen;
    }
};

/// Reads consecutive pieces. Each call of go_on() continues after the last piece.
struct Pieces {
    std::size_t piece;
    std::size_t at = 0;
    bool ended = false;

    void go_on(const Reader& reader, const TestFile& file, std::size_t until = ~std::size_t{0}) {
        while (!ended && at < until) {
            const Bytes got = read(reader, at, piece);
            ASSERT_EQ(got.size(), std::min(piece, file.text.size() - at));
            ASSERT_TRUE(file.is_the_text(got, at)) << at;
            at += got.size();
            ended = got.empty();
        }
    }
};

TEST_P(ReadAheadTest, PiecesOfEveryLengthInOrder) {
    const Folder folder;
    for (const SegmentFormat& format : formats()) {
        const TestFile file(format, some_windows() + 5);
        const std::string path = folder / "file";
        write_file(path, file.file);
        for (const warpaes_source& source : {memory_source(file.file), path_source(path)}) {
            const Reader reader = open_reader(engine_, source, file.keyset, file.aad);
            ASSERT_NE(reader, nullptr);
            for (const std::size_t piece :
                 {format.text() - 1, 30 * format.text(), std::size_t{65536}, some_windows() / 3}) {
                SCOPED_TRACE(format.name + ", pieces of " + std::to_string(piece));
                Pieces{piece}.go_on(reader, file);
            }
        }
    }
}

TEST_P(ReadAheadTest, SequencesThatBreakOffAndGoOnElsewhere) {
    Random random(11);
    for (const SegmentFormat& format : formats()) {
        SCOPED_TRACE(format.name);
        const TestFile file(format, some_windows());
        const Reader reader = open_reader(engine_, memory_source(file.file), file.keyset, file.aad);
        ASSERT_NE(reader, nullptr);
        for (int i = 0; i < (abi_tests::simulated() ? 5 : 30); ++i) {
            Pieces pieces{1 + random.below(100'000), random.below(file.text.size())};
            const std::size_t until = pieces.at + random.below(some_windows());
            pieces.go_on(reader, file, until);
        }
    }
}

/// Closes the reader while other threads are still working for it.
TEST_P(ReadAheadTest, AReaderIsClosedInTheMiddle) {
    const SegmentFormat format = formats().front();
    const TestFile file(format, some_windows());
    for (std::size_t pieces = 1; pieces < 12; ++pieces) {
        const Reader reader = open_reader(engine_, memory_source(file.file), file.keyset, file.aad);
        ASSERT_NE(reader, nullptr);
        Pieces{10'000}.go_on(reader, file, pieces * 10'000);
    }
}

TEST_P(ReadAheadTest, SeveralSequencesAtOnce) {
    const Folder folder;
    for (const SegmentFormat& format : formats()) {
        SCOPED_TRACE(format.name);
        const TestFile file(format, some_windows());
        const std::string path = folder / "file";
        write_file(path, file.file);
        const Reader reader = open_reader(engine_, path_source(path), file.keyset, file.aad);
        ASSERT_NE(reader, nullptr);
        std::vector<int> wrong(4, 0);
        std::vector<std::thread> threads;
        for (std::size_t t = 0; t < wrong.size(); ++t) {
            threads.emplace_back([&, t] {
                // Some reads are concurrent, and some are sequential.
                Bytes output(20'000 + 5'000 * (t / 2));
                for (std::size_t at = 0; at < file.text.size();) {
                    std::uint64_t got = 0;
                    const warpaes_status status =
                        warpaes_reader_read(reader.get(), at, output.data(), output.size(), &got);
                    const Bytes part(output.begin(), output.begin() + static_cast<long>(got));
                    if (status != WARPAES_OK || got == 0 || !file.is_the_text(part, at)) {
                        ++wrong[t];
                        return;
                    }
                    at += got;
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
        EXPECT_EQ(wrong, std::vector<int>(wrong.size(), 0));
    }
}

/// The altered segment lies in the first window or in a later window. All bytes before and after it can be read, and
/// reads that include it fail.
TEST_P(ReadAheadTest, AnAlteredSegmentFailsWhereItLies) {
    for (const SegmentFormat& format : formats()) {
        const TestFile file(format, some_windows());
        const std::size_t count = format.segments(file.text.size());
        for (const std::size_t segment : {std::size_t{0}, std::size_t{1}, count / 4, count / 2, count - 2}) {
            SCOPED_TRACE(format.name + ", segment " + std::to_string(segment));
            Bytes altered = file.file;
            altered[format.begin(segment) + 1] ^= 1;
            const Reader reader = open_reader(engine_, memory_source(altered), file.keyset, file.aad);
            ASSERT_NE(reader, nullptr);
            const std::size_t begin = segment == 0 ? 0 : format.first_text() + (segment - 1) * format.text();
            const std::size_t end = format.first_text() + segment * format.text();
            const std::size_t piece = 9'007;
            int failed = 0;
            for (std::size_t at = 0; at < file.text.size(); at += piece) {
                if (at < end && at + piece > begin) {
                    EXPECT_EQ(failing_read(reader, at, std::min(piece, file.text.size() - at)),
                              WARPAES_ERROR_AUTHENTICATION)
                        << at;
                    const std::string sentence = warpaes_last_error();
                    EXPECT_NE(sentence.find("segment " + std::to_string(segment) + ","), std::string::npos) << sentence;
                    ++failed;
                } else {
                    ASSERT_TRUE(file.is_the_text(read(reader, at, std::min(piece, file.text.size() - at)), at)) << at;
                }
            }
            EXPECT_GT(failed, 0);
        }
    }
}

TEST_P(ReadAheadTest, AFileThatShrinksIsAReadErrorWhereItEnds) {
    const Folder folder;
    const TestFile file(formats().front(), some_windows() + (256 << 10));
    const std::string path = folder / "file";
    write_file(path, file.file);
    const Reader reader = open_reader(engine_, path_source(path), file.keyset, file.aad);
    ASSERT_NE(reader, nullptr);
    Pieces pieces{10'000};
    pieces.go_on(reader, file, 160'000);
    ASSERT_EQ(truncate(path.c_str(), 100), 0);
    // Data that was read ahead is authentic. No data follows it.
    warpaes_status status = WARPAES_OK;
    int read_ahead = 0;
    for (std::size_t at = pieces.at; at + 10'000 < file.text.size() && status == WARPAES_OK; at += 10'000) {
        Bytes output(10'000, 0xa5);
        std::uint64_t got = 0;
        status = warpaes_reader_read(reader.get(), at, output.data(), output.size(), &got);
        if (status == WARPAES_OK) {
            ASSERT_TRUE(file.is_the_text(output, at));
            ++read_ahead;
        } else {
            EXPECT_EQ(output, Bytes(10'000));
        }
    }
    EXPECT_EQ(status, WARPAES_ERROR_READ);
    if (GetParam() != "cuda") {
        EXPECT_GT(read_ahead, 1);
    }
    write_file(path, file.file);
    Pieces{10'000}.go_on(reader, file);
}

/// The caller's function is called only for the segments that a read needs.
TEST_P(ReadAheadTest, FunctionsAreNotReadAhead) {
    const TestFile file(formats().front(), some_windows());
    Store store(file.file);
    const Reader reader = open_reader(engine_, store.source(), file.keyset, file.aad);
    ASSERT_NE(reader, nullptr);
    Pieces pieces{10'000};
    pieces.go_on(reader, file, 50'000);
    std::uint64_t end = 0;
    const std::vector<Store::Call> calls = store.calls();
    for (std::size_t i = 2; i < calls.size(); ++i) end = std::max(end, calls[i].offset + calls[i].length);
    const SegmentFormat& format = file.format;
    EXPECT_LE(end, format.begin(1 + (pieces.at - format.first_text()) / format.text() + 1));
}

WARPAES_FOR_EVERY_BACKEND(ReadAheadTest);

}  // namespace
}  // namespace stream_tests
