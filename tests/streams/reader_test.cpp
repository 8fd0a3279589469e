// Tests readers of authenticated segments on files that the oracle creates.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "stream_support.hpp"

namespace stream_tests {
namespace {

class ReaderTest : public StreamTest {};

TEST_P(ReaderTest, EveryLengthFromEverySource) {
    const Folder folder;
    for (const SegmentFormat& format : oracle::segment_formats()) {
        for (const std::size_t bytes : lengths_round_segments(format)) {
            SCOPED_TRACE(format.name + " " + std::to_string(bytes));
            const TestFile file(format, bytes);
            const std::string path = folder / "file";
            write_file(path, file.file);
            Store store(file.file);
            for (const warpaes_source& source : {memory_source(file.file), path_source(path), store.source()}) {
                const Reader reader = open_reader(engine_, source, file.keyset, file.aad);
                ASSERT_NE(reader, nullptr);
                EXPECT_EQ(warpaes_reader_size(reader.get()), bytes);
                EXPECT_TRUE(read(reader, 0, bytes) == file.text);
                EXPECT_TRUE(read(reader, 0, bytes + 100) == file.text) << "all bytes that remain";
            }
        }
    }
}

TEST_P(ReaderTest, AnyRange) {
    Random random(5);
    for (const SegmentFormat& format : oracle::segment_formats()) {
        const TestFile file(format, format.first_text() + 11 * format.text() + 5);
        const Reader reader = open_reader(engine_, memory_source(file.file), file.keyset, file.aad);
        ASSERT_NE(reader, nullptr);
        std::uint64_t first = 0, others = 0;
        EXPECT_EQ(warpaes_reader_segments(reader.get(), &first, &others), WARPAES_OK);
        EXPECT_EQ(first, format.first_text());
        EXPECT_EQ(others, format.text());
        for (int i = 0; i < (abi_tests::simulated() ? 20 : 200); ++i) {
            const std::size_t offset = random.below(file.text.size() + 1);
            const std::size_t length = random.below(i % 2 == 0 ? 3 * format.text() : file.text.size() + 50);
            SCOPED_TRACE(format.name + " " + std::to_string(offset) + " + " + std::to_string(length));
            const Bytes got = read(reader, offset, length);
            EXPECT_EQ(got.size(), std::min(length, file.text.size() - offset));
            EXPECT_TRUE(file.is_the_text(got, offset));
        }
    }
}

TEST_P(ReaderTest, RangesThatBeginAndEndWithSegments) {
    for (const SegmentFormat& format : oracle::segment_formats()) {
        const TestFile file(format, format.first_text() + 5 * format.text());
        const Reader reader = open_reader(engine_, memory_source(file.file), file.keyset, file.aad);
        ASSERT_NE(reader, nullptr);
        std::vector<std::size_t> ends{0};
        for (std::size_t i = 0; i < 6; ++i) ends.push_back(format.first_text() + i * format.text());
        for (const std::size_t from : ends) {
            for (const std::size_t to : ends) {
                if (from >= to) continue;
                SCOPED_TRACE(format.name + " " + std::to_string(from) + " to " + std::to_string(to));
                EXPECT_TRUE(file.is_the_text(read(reader, from, to - from), from));
                EXPECT_TRUE(file.is_the_text(read(reader, from + 1, to - from - 2), from + 1));
            }
        }
    }
}

/// Opening a file needs two reads. Reading a piece needs only the reads of its segments.
TEST_P(ReaderTest, ReadsOnlyTheSegmentsItNeeds) {
    for (const SegmentFormat& format : oracle::segment_formats()) {
        SCOPED_TRACE(format.name);
        const TestFile file(format, format.first_text() + 7 * format.text() + 5);
        Store store(file.file);
        const Reader reader = open_reader(engine_, store.source(), file.keyset, file.aad);
        ASSERT_NE(reader, nullptr);
        const std::size_t last = format.segments(file.text.size()) - 1;
        std::vector<Store::Call> calls = store.calls();
        ASSERT_EQ(calls.size(), 2U);
        EXPECT_EQ(calls[0].offset, 0U);
        EXPECT_EQ(calls[0].length, format.header_bytes());
        EXPECT_EQ(calls[1].offset, format.begin(last));
        EXPECT_EQ(calls[1].length, file.file.size() - format.begin(last));

        store.forget_calls();
        const std::size_t from = format.first_text() + 2 * format.text() - 3;  // the end of segment 2 and all of
                                                                               // segment 3
        EXPECT_TRUE(file.is_the_text(read(reader, from, format.text() + 3), from));
        std::uint64_t bytes = 0;
        for (const Store::Call& call : store.calls()) {
            EXPECT_GE(call.offset, format.begin(2));
            EXPECT_LE(call.offset + call.length, format.begin(4));
            bytes += call.length;
        }
        EXPECT_EQ(bytes, 2 * format.segment_bytes);
    }
}

TEST_P(ReaderTest, SmallPiecesInOrderReadEverySegmentOnce) {
    for (const SegmentFormat& format : oracle::segment_formats()) {
        SCOPED_TRACE(format.name);
        const TestFile file(format, format.first_text() + 3 * format.text() + 5);
        Store store(file.file);
        const Reader reader = open_reader(engine_, store.source(), file.keyset, file.aad);
        ASSERT_NE(reader, nullptr);
        const std::size_t piece = format.text() / 7 + 1;
        for (std::size_t at = 0; at < file.text.size(); at += piece) {
            EXPECT_TRUE(file.is_the_text(read(reader, at, std::min(piece, file.text.size() - at)), at));
        }
        EXPECT_EQ(store.calls().size(), 1 + format.segments(file.text.size()));
    }
}

/// Reads pieces at random positions in more segments than the reader caches.
TEST_P(ReaderTest, PiecesHereAndThere) {
    const SegmentFormat& format = oracle::segment_formats().front();
    const TestFile file(format, 40 * format.text());
    const Reader reader = open_reader(engine_, memory_source(file.file), file.keyset, file.aad);
    ASSERT_NE(reader, nullptr);
    Random random(8);
    for (int i = 0; i < (abi_tests::simulated() ? 50 : 1000); ++i) {
        const std::size_t offset = random.below(file.text.size() - 10);
        EXPECT_TRUE(file.is_the_text(read(reader, offset, 10), offset)) << offset;
    }
}

TEST_P(ReaderTest, ManyThreadsAtOnce) {
    const Folder folder;
    for (const SegmentFormat& format : oracle::segment_formats()) {
        const TestFile file(format, format.first_text() + 30 * format.text() + 5);
        write_file(folder / "file", file.file);
        Store store(file.file);
        const std::string path = folder / "file";
        for (const warpaes_source& source : {path_source(path), store.source()}) {
            const Reader reader = open_reader(engine_, source, file.keyset, file.aad);
            ASSERT_NE(reader, nullptr);
            std::vector<std::thread> threads;
            std::vector<int> wrong(8, 0);
            for (std::size_t t = 0; t < wrong.size(); ++t) {
                threads.emplace_back([&, t] {
                    Random random(t);
                    for (int i = 0; i < (abi_tests::simulated() ? 3 : 40); ++i) {
                        const std::size_t offset = random.below(file.text.size());
                        Bytes output(std::min(random.below(12 * format.text()), file.text.size() - offset));
                        std::uint64_t got = 0;
                        const warpaes_status status =
                            warpaes_reader_read(reader.get(), offset, output.data(), output.size(), &got);
                        const bool right =
                            status == WARPAES_OK && got == output.size() && file.is_the_text(output, offset);
                        wrong[t] += right ? 0 : 1;
                    }
                });
            }
            for (std::thread& thread : threads) thread.join();
            EXPECT_EQ(wrong, std::vector<int>(wrong.size(), 0)) << format.name;
        }
    }
}

TEST_P(ReaderTest, TheKeyIsFoundAmongSeveral) {
    const SegmentFormat small = oracle::segment_formats()[1], large = oracle::segment_formats()[2];
    Random random(3);
    const Bytes other = random.bytes(32);
    for (const SegmentFormat& format : {small, large}) {
        const TestFile file(format, 3 * format.text());
        const Keyset keyset = parse_keyset(
            oracle::tink_keyset({oracle::tink_key(small, other, 1), oracle::tink_key(large, other, 2),
                                 oracle::tink_key(format, file.key, 3), oracle::tink_key(small, random.bytes(32), 4)},
                                1));
        Store store(file.file);
        const Reader reader = open_reader(engine_, store.source(), keyset, file.aad);
        ASSERT_NE(reader, nullptr);
        EXPECT_TRUE(read(reader, 0, file.text.size()) == file.text);
        store.forget_calls();

        const Keyset without = parse_keyset(oracle::tink_keyset(
            {oracle::tink_key(format, other, 1), oracle::tink_key(format, file.key, 3, "DISABLED")}, 1));
        warpaes_status status = WARPAES_OK;
        EXPECT_EQ(open_reader(engine_, store.source(), without, file.aad, &status), nullptr);
        EXPECT_EQ(status, WARPAES_ERROR_AUTHENTICATION);

        // If there is only one key, the message does not mention other keys.
        for (const bool several : {false, true}) {
            std::vector<std::string> wrong{oracle::tink_key(format, other, 1)};
            if (several) wrong.push_back(oracle::tink_key(format, random.bytes(32), 2));
            const Keyset none = parse_keyset(oracle::tink_keyset(wrong, 1));
            EXPECT_EQ(open_reader(engine_, store.source(), none, file.aad, &status), nullptr);
            EXPECT_EQ(status, WARPAES_ERROR_AUTHENTICATION);
            const std::string sentence = warpaes_last_error();
            EXPECT_EQ(sentence.find("no key of the keyset") != std::string::npos, several) << sentence;
        }
    }
}

/// Many keys of the same kind require only one read of the end of the file.
TEST_P(ReaderTest, KeysThatAgreeShareTheReadsOfOpening) {
    const TestFile file(oracle::segment_formats().front(), 300);
    std::vector<std::string> keys;
    Random random(4);
    for (std::uint32_t id = 1; id < 6; ++id) keys.push_back(oracle::tink_key(file.format, random.bytes(32), id));
    keys.push_back(oracle::tink_key(file.format, file.key, 6));
    Store store(file.file);
    EXPECT_NE(open_reader(engine_, store.source(), parse_keyset(oracle::tink_keyset(keys, 1)), file.aad), nullptr);
    EXPECT_EQ(store.calls().size(), 2U);
}

TEST_P(ReaderTest, OffsetsAtAndBeyondTheEnd) {
    const TestFile file(oracle::segment_formats().front(), 300);
    const Reader reader = open_reader(engine_, memory_source(file.file), file.keyset, file.aad);
    ASSERT_NE(reader, nullptr);
    EXPECT_EQ(read(reader, 300, 10).size(), 0U);
    EXPECT_EQ(read(reader, 299, 10).size(), 1U);
    EXPECT_EQ(read(reader, 0, 0).size(), 0U);
    std::uint8_t byte = 0xa5;
    std::uint64_t got = 9;
    for (const std::uint64_t offset : {std::uint64_t{301}, ~std::uint64_t{0}}) {
        EXPECT_EQ(warpaes_reader_read(reader.get(), offset, &byte, 1, &got), WARPAES_ERROR_RANGE);
        EXPECT_EQ(got, 0U);
        EXPECT_EQ(byte, 0xa5);
    }
    Bytes output(300);
    EXPECT_EQ(warpaes_reader_read(reader.get(), 100, output.data(), ~std::uint64_t{0}, &got), WARPAES_OK);
    EXPECT_EQ(got, 200U);
    EXPECT_EQ(warpaes_reader_read(reader.get(), 0, nullptr, 0, &got), WARPAES_OK);
    expect_refused(warpaes_reader_read(reader.get(), 0, nullptr, 1, &got), "output");
    expect_refused(warpaes_reader_read(reader.get(), 0, &byte, 1, nullptr), "read");
    expect_refused(warpaes_reader_read(nullptr, 0, &byte, 1, &got), "reader");
    EXPECT_EQ(warpaes_reader_size(nullptr), 0U);
    warpaes_reader_close(nullptr);
}

TEST_P(ReaderTest, TheOutputMayNotLieInTheSource) {
    TestFile file(oracle::segment_formats().front(), 300);
    const Bytes before = file.file;
    const Reader reader = open_reader(engine_, memory_source(file.file), file.keyset, file.aad);
    ASSERT_NE(reader, nullptr);
    std::uint64_t got = 9;
    EXPECT_EQ(warpaes_reader_read(reader.get(), 0, file.file.data(), 10, &got), WARPAES_ERROR_OVERLAP);
    EXPECT_EQ(warpaes_reader_read(reader.get(), 0, file.file.data() + file.file.size() - 1, 300, &got),
              WARPAES_ERROR_OVERLAP);
    EXPECT_TRUE(file.file == before);
}

TEST_P(ReaderTest, SourcesThatAreNone) {
    const Folder folder;
    const TestFile file(oracle::segment_formats().front(), 300);
    const auto status_of = [&](const warpaes_source& source) {
        warpaes_status status = WARPAES_OK;
        EXPECT_EQ(open_reader(engine_, source, file.keyset, file.aad, &status), nullptr);
        return status;
    };
    warpaes_source source{};
    EXPECT_EQ(status_of(source), WARPAES_ERROR_ARGUMENT) << "no struct_size";
    source.struct_size = sizeof source;
    EXPECT_EQ(status_of(source), WARPAES_ERROR_ARGUMENT) << "no place";
    source = memory_source(file.file);
    source.path = "file";
    EXPECT_EQ(status_of(source), WARPAES_ERROR_ARGUMENT) << "two places";

    std::string path = folder / "missing";
    EXPECT_EQ(status_of(path_source(path)), WARPAES_ERROR_NOT_FOUND);
    path = folder / "";
    EXPECT_EQ(status_of(path_source(path)), WARPAES_ERROR_NOT_FOUND) << "a folder";
    path = folder / "empty";
    write_file(path, {});
    EXPECT_EQ(status_of(path_source(path)), WARPAES_ERROR_FORMAT);
    EXPECT_EQ(status_of(memory_source({})), WARPAES_ERROR_FORMAT);
    EXPECT_EQ(status_of(path_source("")), WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(status_of(path_source("/dev/zero")), WARPAES_ERROR_FORMAT) << "read forward";

    warpaes_reader* reader = nullptr;
    source = memory_source(file.file);
    EXPECT_EQ(warpaes_reader_open(nullptr, &source, file.keyset.get(), nullptr, 0, &reader), WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(warpaes_reader_open(engine_.get(), nullptr, file.keyset.get(), nullptr, 0, &reader),
              WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(warpaes_reader_open(engine_.get(), &source, nullptr, nullptr, 0, &reader), WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(warpaes_reader_open(engine_.get(), &source, file.keyset.get(), nullptr, 1, &reader),
              WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(warpaes_reader_open(engine_.get(), &source, file.keyset.get(), nullptr, 0, nullptr),
              WARPAES_ERROR_ARGUMENT);
    warpaes_keyset* empty = nullptr;
    ASSERT_EQ(warpaes_keyset_create(&empty), WARPAES_OK);
    EXPECT_EQ(warpaes_reader_open(engine_.get(), &source, empty, nullptr, 0, &reader), WARPAES_ERROR_KEYSET);
    warpaes_keyset_destroy(empty);
}

TEST_P(ReaderTest, AFileThatShrinksIsAReadError) {
    const Folder folder;
    const TestFile file(oracle::segment_formats().front(), 1000);
    const std::string path = folder / "file";
    write_file(path, file.file);
    const Reader reader = open_reader(engine_, path_source(path), file.keyset, file.aad);
    ASSERT_NE(reader, nullptr);
    ASSERT_EQ(truncate(path.c_str(), 100), 0);
    EXPECT_EQ(failing_read(reader, 0, 900), WARPAES_ERROR_READ);
    EXPECT_EQ(failing_read(reader, 500, 3), WARPAES_ERROR_READ);
}

WARPAES_FOR_EVERY_BACKEND(ReaderTest);

}  // namespace
}  // namespace stream_tests
