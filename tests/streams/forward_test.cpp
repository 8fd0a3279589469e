// Tests readers whose source cannot seek: pipes, and functions that return the next bytes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "stream_support.hpp"

namespace stream_tests {
namespace {

/// A source that returns a file's bytes in pieces of at most `piece` bytes.
class Stream {
public:
    Stream(Bytes bytes, std::size_t piece) : bytes_(std::move(bytes)), piece_(piece) {}

    warpaes_source source() {
        warpaes_source source = WARPAES_SOURCE_INIT;
        source.user = this;
        source.next = [](void* user, void* buffer, std::uint64_t length, std::uint64_t* got) {
            auto& stream = *static_cast<Stream*>(user);
            EXPECT_FALSE(stream.ended_) << "called again after the end";
            EXPECT_NE(length, 0U) << "called for zero bytes";
            if (stream.at_ >= stream.fail_at_) return 5;
            const std::size_t n = std::min({static_cast<std::size_t>(length), stream.piece_,
                                            stream.bytes_.size() - stream.at_, stream.fail_at_ - stream.at_});
            std::memcpy(buffer, stream.bytes_.data() + stream.at_, n);
            stream.at_ += n;
            stream.ended_ = n == 0;
            *got = n + stream.more_;
            return 0;
        };
        return source;
    }
    void fail_at(std::size_t at) { fail_at_ = at; }
    void say_more(std::size_t bytes) { more_ = bytes; }
    [[nodiscard]] std::size_t given() const { return at_; }

private:
    Bytes bytes_;
    std::size_t piece_, at_ = 0, fail_at_ = ~std::size_t{0}, more_ = 0;
    bool ended_ = false;
};

/// Reads to the end in pieces of at most `piece` bytes. `text` receives all bytes that were read before a failure.
warpaes_status read_all(const Reader& reader, std::size_t piece, Bytes& text) {
    text.clear();
    for (;;) {
        Bytes output(piece + 1, 0xa5);
        std::uint64_t got = 99;
        const warpaes_status status = warpaes_reader_read(reader.get(), text.size(), output.data(), piece, &got);
        EXPECT_LE(got, piece);
        EXPECT_EQ(output[piece], 0xa5) << "a byte past the end of the output";
        if (status != WARPAES_OK) {
            EXPECT_EQ(got, 0U);
            EXPECT_TRUE(std::all_of(output.begin(), output.end() - 1, [](auto b) { return b == 0; })) << "not wiped";
            return status;
        }
        if (got == 0) return WARPAES_OK;
        text.insert(text.end(), output.begin(), output.begin() + static_cast<std::ptrdiff_t>(got));
    }
}

class ForwardTest : public StreamTest {};

TEST_P(ForwardTest, EveryLengthInPiecesOfEverySize) {
    for (const SegmentFormat& format : oracle::segment_formats()) {
        for (const std::size_t bytes : lengths_round_segments(format)) {
            const TestFile file(format, bytes);
            for (const std::size_t given : {std::size_t{1}, std::size_t{1000}, std::size_t{1} << 20}) {
                if (given == 1 && bytes > 2 * format.text()) continue;
                for (const std::size_t piece : {std::size_t{7}, format.text(), bytes + 100}) {
                    if (piece == 7 && (bytes > 2 * format.text() || bytes > 10000)) continue;
                    SCOPED_TRACE(format.name + " " + std::to_string(bytes) + " " + std::to_string(piece));
                    Stream stream(file.file, given);
                    const Reader reader = open_reader(engine_, stream.source(), file.keyset, file.aad);
                    ASSERT_NE(reader, nullptr);
                    EXPECT_EQ(warpaes_reader_size(reader.get()), WARPAES_UNKNOWN);
                    Bytes text;
                    ASSERT_EQ(read_all(reader, piece, text), WARPAES_OK) << warpaes_last_error();
                    EXPECT_TRUE(text == file.text);
                    EXPECT_EQ(warpaes_reader_size(reader.get()), bytes);
                    EXPECT_EQ(stream.given(), file.file.size());
                }
            }
        }
    }
}

/// A segment is returned as soon as it and one byte after it have arrived. The reader does not request more bytes.
TEST_P(ForwardTest, WhatHasComeIsReturned) {
    for (const SegmentFormat& format : oracle::segment_formats()) {
        SCOPED_TRACE(format.name);
        const TestFile file(format, format.first_text() + 2 * format.text() + 5);
        for (std::size_t segments = 1; segments <= 2; ++segments) {
            Stream stream(file.file, format.begin(segments) + 1);
            stream.fail_at(format.begin(segments) + 1);
            const Reader reader = open_reader(engine_, stream.source(), file.keyset, file.aad);
            ASSERT_NE(reader, nullptr) << warpaes_last_error();
            Bytes text;
            EXPECT_EQ(read_all(reader, 1 << 20, text), WARPAES_ERROR_READ);
            EXPECT_EQ(text.size(), format.first_text() + (segments - 1) * format.text());
            EXPECT_TRUE(file.is_the_text(text, 0));
        }
    }
}

/// After any alteration, truncation, repetition or addition, only authentic text is returned, and the end is not
/// reached.
TEST_P(ForwardTest, NothingElseIsReturned) {
    for (const SegmentFormat& format : oracle::segment_formats()) {
        const TestFile file(format, format.first_text() + 4 * format.text() + 5);
        const auto check = [&](const Bytes& bytes, std::size_t authentic_segments, const std::string& what) {
            SCOPED_TRACE(format.name + ", " + what);
            Stream stream(bytes, 1 << 20);
            warpaes_status status = WARPAES_OK;
            const Reader reader = open_reader(engine_, stream.source(), file.keyset, file.aad, &status);
            Bytes text;
            if (reader != nullptr) {
                status = read_all(reader, 1 << 20, text);
                EXPECT_EQ(read_all(reader, 10, text) == WARPAES_OK, false) << "a failure is permanent";
                text.clear();
                Stream again(bytes, 1 << 20);
                const Reader second = open_reader(engine_, again.source(), file.keyset, file.aad);
                (void)read_all(second, 1 << 20, text);
                EXPECT_EQ(warpaes_reader_size(reader.get()), WARPAES_UNKNOWN);
            }
            EXPECT_TRUE(status == WARPAES_ERROR_AUTHENTICATION || status == WARPAES_ERROR_FORMAT) << status;
            EXPECT_TRUE(file.is_the_text(text, 0));
            const std::size_t expected =
                authentic_segments == 0 ? 0 : format.first_text() + (authentic_segments - 1) * format.text();
            EXPECT_EQ(text.size(), expected) << "all segments before the damage";
        };
        for (std::size_t segment = 0; segment < 6; ++segment) {
            const std::size_t begin = format.begin(segment);
            Bytes altered = file.file;
            altered[begin + 1] ^= 1;
            check(altered, segment, "altered segment " + std::to_string(segment));
            if (segment == 0) continue;
            const auto cut = [&](std::size_t bytes) {
                return Bytes(file.file.begin(), file.file.begin() + static_cast<std::ptrdiff_t>(bytes));
            };
            // The last remaining segment is full but does not end a file.
            check(cut(begin), segment - 1, "cut before " + std::to_string(segment));
            check(cut(begin + 3), segment, "cut in " + std::to_string(segment));
            Bytes twice = cut(begin);
            twice.insert(twice.end(), file.file.begin() + static_cast<std::ptrdiff_t>(format.begin(segment - 1)),
                         file.file.end());
            if (segment > 1) check(twice, segment, "repeated " + std::to_string(segment - 1));
        }
        Bytes more = file.file;
        more.push_back(0);
        check(more, 5, "appended");
        check({}, 0, "empty");
        check(Bytes(file.file.begin(), file.file.begin() + 5), 0, "cut in the header");
    }
}

TEST_P(ForwardTest, WrongKeysAndTheRightOneAmongThem) {
    Random random(3);
    const SegmentFormat format = oracle::segment_formats()[1];
    const TestFile file(format, 3 * format.text());
    const Keyset several = parse_keyset(
        oracle::tink_keyset({oracle::tink_key(format, random.bytes(32), 1), oracle::tink_key(format, file.key, 3)}, 1));
    Stream stream(file.file, 100);
    const Reader reader = open_reader(engine_, stream.source(), several, file.aad);
    ASSERT_NE(reader, nullptr);
    Bytes text;
    EXPECT_EQ(read_all(reader, 5000, text), WARPAES_OK);
    EXPECT_TRUE(text == file.text);

    const Keyset wrong = parse_keyset(oracle::tink_keyset({oracle::tink_key(format, random.bytes(32), 1)}, 1));
    for (const Bytes& aad : {file.aad, Bytes{1}}) {
        Stream other(file.file, 100);
        warpaes_status status = WARPAES_OK;
        EXPECT_EQ(open_reader(engine_, other.source(), aad == file.aad ? wrong : file.keyset, aad, &status), nullptr);
        EXPECT_EQ(status, WARPAES_ERROR_AUTHENTICATION) << "when it is opened, not later";
    }
}

TEST_P(ForwardTest, OffsetsFollowOneAnother) {
    const TestFile file(oracle::segment_formats().front(), 300);
    Stream stream(file.file, 100);
    const Reader reader = open_reader(engine_, stream.source(), file.keyset, file.aad);
    ASSERT_NE(reader, nullptr);
    Bytes output(300, 0xa5);
    std::uint64_t got = 9;
    for (const std::uint64_t offset : {std::uint64_t{1}, std::uint64_t{300}, ~std::uint64_t{0}}) {
        EXPECT_EQ(warpaes_reader_read(reader.get(), offset, output.data(), 10, &got), WARPAES_ERROR_RANGE);
        EXPECT_EQ(got, 0U);
        EXPECT_EQ(output[0], 0xa5);
    }
    EXPECT_EQ(warpaes_reader_read(reader.get(), 0, output.data(), 10, &got), WARPAES_OK) << "and no byte was lost";
    EXPECT_EQ(got, 10U);
    EXPECT_EQ(warpaes_reader_read(reader.get(), 0, output.data(), 10, &got), WARPAES_ERROR_RANGE);
    EXPECT_EQ(warpaes_reader_read(reader.get(), 10, nullptr, 0, &got), WARPAES_OK);
    expect_refused(warpaes_reader_read(reader.get(), 10, nullptr, 1, &got), "output");
}

TEST_P(ForwardTest, FunctionsThatFail) {
    const TestFile file(oracle::segment_formats().front(), 3000);
    const auto expect_said = [](const std::string& part) {
        EXPECT_NE(std::string(warpaes_last_error()).find(part), std::string::npos) << warpaes_last_error();
    };
    for (const bool early : {true, false}) {
        Stream stream(file.file, early ? 10 : file.file.size() - 10);
        stream.fail_at(early ? 10 : file.file.size() - 10);
        warpaes_status status = WARPAES_OK;
        const Reader reader = open_reader(engine_, stream.source(), file.keyset, file.aad, &status);
        Bytes text;
        if (reader != nullptr) status = read_all(reader, 1 << 20, text);
        EXPECT_EQ(status, WARPAES_ERROR_READ);
        expect_said("its function returned 5 for the next ");
        EXPECT_TRUE(file.is_the_text(text, 0));
    }
    Stream stream(file.file, 100);
    stream.say_more(1 << 20);
    warpaes_status status = WARPAES_OK;
    EXPECT_EQ(open_reader(engine_, stream.source(), file.keyset, file.aad, &status), nullptr);
    EXPECT_EQ(status, WARPAES_ERROR_READ);
    expect_said("reports ");
    warpaes_source both = stream.source();
    both.path = "file";
    EXPECT_EQ(open_reader(engine_, both, file.keyset, file.aad, &status), nullptr);
    EXPECT_EQ(status, WARPAES_ERROR_ARGUMENT);
}

TEST_P(ForwardTest, PathsOfPipes) {
    const Folder folder;
    for (const SegmentFormat& format : oracle::segment_formats()) {
        const TestFile file(format, format.first_text() + 40 * format.text() + 5);
        const std::string path = folder / ("pipe" + format.name);
        ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
        std::thread writer([&] {
            const int fd = open(path.c_str(), O_WRONLY);
            std::size_t at = 0;
            while (at < file.file.size()) {
                const ssize_t n = write(fd, file.file.data() + at, std::min<std::size_t>(file.file.size() - at, 5000));
                if (n <= 0) break;
                at += static_cast<std::size_t>(n);
            }
            close(fd);
        });
        const Reader reader = open_reader(engine_, path_source(path), file.keyset, file.aad);
        Bytes text;
        if (reader != nullptr) {
            EXPECT_EQ(read_all(reader, 100000, text), WARPAES_OK) << warpaes_last_error();
        }
        writer.join();
        ASSERT_NE(reader, nullptr);
        EXPECT_TRUE(text == file.text);
        warpaes_sink sink = path_sink(path, WARPAES_FILE_OVERWRITE);
        sink.replaces = reader.get();
        warpaes_writer* none = nullptr;
        expect_refused(warpaes_writer_open(engine_.get(), &sink, file.keyset.get(), nullptr, 0, &none), "sink");
    }
}

TEST_P(ForwardTest, AChildOfForkTakesNothingFromTheStream) {
    const TestFile file(oracle::segment_formats().front(), 3000);
    Stream stream(file.file, 100);
    const Reader reader = open_reader(engine_, stream.source(), file.keyset, file.aad);
    ASSERT_NE(reader, nullptr);
    const pid_t child = fork();
    if (child == 0) {
        std::uint8_t byte = 0;
        std::uint64_t got = 0;
        _exit(warpaes_reader_read(reader.get(), 0, &byte, 1, &got) == WARPAES_ERROR_STATE ? 0 : 1);
    }
    int status = 1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    Bytes text;
    EXPECT_EQ(read_all(reader, 1000, text), WARPAES_OK);
    EXPECT_TRUE(text == file.text);
}

WARPAES_FOR_EVERY_BACKEND(ForwardTest);

}  // namespace
}  // namespace stream_tests
