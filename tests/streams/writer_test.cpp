// Tests writers of authenticated segments. Their files must equal the oracle's files for the same plaintext and header.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "stream_support.hpp"

namespace stream_tests {
namespace {

class WriterTest : public StreamTest {
protected:
    void SetUp() override {
        StreamTest::SetUp();
        Random random(1);
        key_ = random.bytes(32);
        aad_ = random.bytes(13);
    }

    [[nodiscard]] bool is_the_file(const SegmentFormat& format, const Bytes& file, const Bytes& text) const {
        if (file.size() < format.header_bytes()) return false;
        const Bytes header(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(format.header_bytes()));
        return oracle::seal_segments(format, key_, aad_, text, header) == file;
    }
    void write(const Writer& writer, const Bytes& text, std::size_t piece) {
        for (std::size_t at = 0; at < text.size(); at += piece) {
            ASSERT_EQ(warpaes_writer_write(writer.get(), text.data() + at, std::min(piece, text.size() - at)),
                      WARPAES_OK)
                << warpaes_last_error();
        }
    }
    void finish(const Writer& writer) {
        ASSERT_EQ(warpaes_writer_finish(writer.get()), WARPAES_OK) << warpaes_last_error();
    }
    Writer open(const SegmentFormat& format, const warpaes_sink& sink) {
        return open_writer(engine_, sink, make_keyset(format, key_), aad_);
    }
    warpaes_status refusal(const warpaes_sink& sink) {
        warpaes_writer* writer = nullptr;
        const Keyset keyset = make_keyset(small_, key_);
        const warpaes_status status = warpaes_writer_open(engine_.get(), &sink, keyset.get(), nullptr, 0, &writer);
        EXPECT_EQ(writer, nullptr);
        return status;
    }

    const SegmentFormat& small_ = oracle::segment_formats().front();
    const Folder folder_;
    const std::string path_ = folder_ / "file";
    Bytes key_, aad_;
};

TEST_P(WriterTest, PiecesOfAnySize) {
    Random random(2);
    for (const SegmentFormat& format : oracle::segment_formats()) {
        for (const std::size_t bytes : lengths_round_segments(format)) {
            const Bytes text = random.bytes(bytes);
            for (const std::size_t piece : {std::size_t{1}, format.text() - 1, format.text(), format.first_text(),
                                            3 * format.text() + 1, std::size_t{1} << 30}) {
                if (piece == 1 && (bytes > 1000 || abi_tests::simulated())) continue;
                SCOPED_TRACE(format.name + " " + std::to_string(bytes) + " in pieces of " + std::to_string(piece));
                Store store;
                const Writer writer = open(format, store.sink());
                write(writer, text, piece);
                finish(writer);
                EXPECT_TRUE(is_the_file(format, store.bytes(), text));
            }
        }
    }
}

/// A writer that replaces a reader's file must not replace a different file at the same path, neither when it is opened
/// nor when it is finished.
TEST_P(WriterTest, OnlyTheFileThatIsRead) {
    const TestFile file(small_, 9000);
    const std::string other = folder_ / "other", link = folder_ / "link";
    const auto reader_of = [&](const std::string& path) {
        return open_reader(engine_, path_source(path), file.keyset, file.aad);
    };
    const auto begin = [&] {
        write_file(path_, file.file);
        write_file(other, file.file);
        std::filesystem::remove(link);
        std::filesystem::create_symlink(path_, link);
    };
    warpaes_sink sink = path_sink(link, WARPAES_FILE_OVERWRITE);
    const Bytes text(100, 7);
    begin();
    {
        const Reader reader = reader_of(link);
        sink.replaces = reader.get();
        const Writer writer = open(small_, sink);
        write(writer, text, 100);
        finish(writer);
        EXPECT_TRUE(is_the_file(small_, read_file(path_), text));
        EXPECT_TRUE(std::filesystem::is_symlink(link));
    }
    const std::vector<std::pair<const char*, std::function<void()>>> changes{
        {"link", [&] { std::filesystem::remove(link), std::filesystem::create_symlink(other, link); }},
        {"file", [&] { std::filesystem::rename(other, path_); }},
        {"hard link", [&] { std::filesystem::remove(link), std::filesystem::create_hard_link(other, link); }},
        {"content", [&] { write_file(path_, text); }},
        {"nothing", [&] { std::filesystem::remove(path_); }},
        {"folder", [&] { std::filesystem::remove(link), std::filesystem::create_directory(link); }}};
    for (const auto& [name, change] : changes) {
        SCOPED_TRACE(name);
        begin();
        const Reader reader = reader_of(link);
        sink.replaces = reader.get();
        change();
        EXPECT_EQ(refusal(sink), WARPAES_ERROR_READ) << warpaes_last_error();
    }
    // The writer also fails if the file is replaced, altered or removed after the writer was opened.
    for (const std::size_t i : {1U, 3U, 4U}) {
        SCOPED_TRACE(changes[i].first);
        begin();
        const Reader reader = reader_of(link);
        sink.replaces = reader.get();
        const Writer writer = open(small_, sink);
        write(writer, text, 100);
        changes[i].second();
        const Bytes before = std::filesystem::exists(path_) ? read_file(path_) : Bytes();
        EXPECT_EQ(warpaes_writer_finish(writer.get()), WARPAES_ERROR_READ) << warpaes_last_error();
        EXPECT_EQ(std::filesystem::exists(path_) ? read_file(path_) : Bytes(), before);
    }
    begin();
    const Reader reader = reader_of(path_),
                 of_memory = open_reader(engine_, memory_source(file.file), file.keyset, file.aad);
    sink = path_sink(path_);
    sink.replaces = reader.get();
    expect_refused(refusal(sink), "sink");
    sink = path_sink(path_, WARPAES_FILE_OVERWRITE);
    sink.replaces = of_memory.get();
    expect_refused(refusal(sink), "sink");
    Store store;
    sink = store.sink();
    sink.replaces = reader.get();
    expect_refused(refusal(sink), "sink");
    EXPECT_EQ(read_file(path_), file.file);
}

/// Writes texts that exceed the writer's buffer, so that part of the text is sealed in place and by several workers.
TEST_P(WriterTest, LongPieces) {
    Random random(3);
    for (const SegmentFormat& format : oracle::segment_formats()) {
        for (const std::size_t bytes : {40000U, 100000U}) {
            const Bytes text = random.bytes(bytes + 10 * format.text());
            for (const std::size_t piece : {std::size_t{13000}, std::size_t{39999}, text.size()}) {
                SCOPED_TRACE(format.name + " " + std::to_string(bytes) + " in pieces of " + std::to_string(piece));
                Store store;
                Writer writer = open(format, store.sink());
                write(writer, text, piece);
                finish(writer);
                EXPECT_TRUE(is_the_file(format, store.bytes(), text));

                writer = open(format, path_sink(path_, WARPAES_FILE_OVERWRITE));
                write(writer, text, piece);
                finish(writer);
                EXPECT_TRUE(is_the_file(format, read_file(path_), text));
            }
        }
    }
}

TEST_P(WriterTest, RandomPieces) {
    Random random(4);
    for (const SegmentFormat& format : oracle::segment_formats()) {
        for (int i = 0; i < (abi_tests::simulated() ? 1 : 10); ++i) {
            const Bytes text = random.bytes(random.below(20 * format.text() + 30000));
            Store store;
            const Writer writer = open(format, store.sink());
            for (std::size_t at = 0; at < text.size();) {
                const std::size_t n = std::min(random.below(i % 2 == 0 ? 2 * format.text() : 20000), text.size() - at);
                ASSERT_EQ(warpaes_writer_write(writer.get(), text.data() + at, n), WARPAES_OK);
                at += n;
            }
            finish(writer);
            EXPECT_TRUE(is_the_file(format, store.bytes(), text)) << format.name << " " << text.size();
        }
    }
}

TEST_P(WriterTest, WhatIsWrittenCanBeRead) {
    for (const SegmentFormat& format : oracle::segment_formats()) {
        const Bytes text = Random(5).bytes(5 * format.text() + 3);
        const Keyset keyset = make_keyset(format, key_);
        const Writer writer = open_writer(engine_, path_sink(path_, WARPAES_FILE_OVERWRITE), keyset, aad_);
        write(writer, text, 1000);
        finish(writer);
        const Reader reader = open_reader(engine_, path_source(path_), keyset, aad_);
        ASSERT_NE(reader, nullptr);
        EXPECT_TRUE(read(reader, 0, text.size() + 1) == text) << format.name;
    }
}

TEST_P(WriterTest, EveryFileHasASaltOfItsOwn) {
    for (const SegmentFormat& format : oracle::segment_formats()) {
        Store a, b;
        for (Store* store : {&a, &b}) finish(open(format, store->sink()));
        EXPECT_FALSE(a.bytes() == b.bytes()) << format.name;
    }
}

TEST_P(WriterTest, TheFileAppearsWhenItIsComplete) {
    const Bytes text = Random(6).bytes(30000);
    {
        const Writer writer = open(small_, path_sink(path_));
        write(writer, text, 9999);
        EXPECT_FALSE(std::filesystem::exists(path_));
    }
    EXPECT_EQ(folder_.names(), std::vector<std::string>()) << "closed without finish";

    write_file(path_, {1, 2, 3});
    EXPECT_EQ(refusal(path_sink(path_)), WARPAES_ERROR_EXISTS);
    {
        const Writer writer = open(small_, path_sink(path_, WARPAES_FILE_OVERWRITE));
        write(writer, text, 9999);
    }
    EXPECT_TRUE(read_file(path_) == Bytes({1, 2, 3})) << "closed without finish";
    EXPECT_EQ(folder_.names(), std::vector<std::string>{"file"});
    {
        const Writer writer = open(small_, path_sink(path_, WARPAES_FILE_OVERWRITE));
        write(writer, text, 9999);
        EXPECT_TRUE(read_file(path_) == Bytes({1, 2, 3}));
        finish(writer);
        EXPECT_TRUE(is_the_file(small_, read_file(path_), text));
    }
    EXPECT_EQ(folder_.names(), std::vector<std::string>{"file"});
}

TEST_P(WriterTest, AnotherFileThatAppearedMeanwhileStays) {
    const Writer writer = open(small_, path_sink(path_));
    write_file(path_, {1, 2, 3});
    EXPECT_EQ(warpaes_writer_finish(writer.get()), WARPAES_ERROR_EXISTS);
    EXPECT_EQ(warpaes_writer_finish(writer.get()), WARPAES_ERROR_STATE);
    EXPECT_STREQ(warpaes_last_error(), "writer: failed earlier; only close is possible");
    EXPECT_TRUE(read_file(path_) == Bytes({1, 2, 3}));
}

TEST_P(WriterTest, OutOfOrder) {
    Store store;
    const Writer writer = open(small_, store.sink());
    finish(writer);
    const std::size_t bytes = store.bytes().size();
    EXPECT_EQ(warpaes_writer_finish(writer.get()), WARPAES_ERROR_STATE);
    EXPECT_STREQ(warpaes_last_error(), "writer: has finished; only close is possible");
    EXPECT_EQ(warpaes_writer_write(writer.get(), "x", 1), WARPAES_ERROR_STATE);
    EXPECT_STREQ(warpaes_last_error(), "writer: has finished; only close is possible");
    EXPECT_EQ(store.bytes().size(), bytes);
}

/// Every call to the function fails in turn. After a failure, the writer can only be closed, and the function is not
/// called again.
TEST_P(WriterTest, AFailingSinkIsTheEnd) {
    const Bytes text = Random(7).bytes(60000);
    for (const SegmentFormat& format : oracle::segment_formats()) {
        Store whole;
        {
            const Writer writer = open(format, whole.sink());
            write(writer, text, 25000);
            finish(writer);
        }
        const int calls = static_cast<int>(whole.calls().size());
        ASSERT_GT(calls, 2);
        for (int n = 0; n < calls; n += 1 + calls / 8) {
            SCOPED_TRACE(format.name + " call " + std::to_string(n));
            Store store;
            store.fail_at(n, true);
            if (n == 0) {
                EXPECT_EQ(refusal(store.sink()), WARPAES_ERROR_WRITE);
                continue;
            }
            const Writer writer = open(format, store.sink());
            warpaes_status status = WARPAES_OK;
            for (std::size_t at = 0; at < text.size() && status == WARPAES_OK; at += 25000) {
                const std::size_t piece = std::min<std::size_t>(25000, text.size() - at);
                status = warpaes_writer_write(writer.get(), text.data() + at, piece);
            }
            if (status == WARPAES_OK) status = warpaes_writer_finish(writer.get());
            EXPECT_EQ(status, WARPAES_ERROR_WRITE);
            EXPECT_EQ(warpaes_writer_write(writer.get(), text.data(), 1), WARPAES_ERROR_STATE);
            EXPECT_EQ(warpaes_writer_finish(writer.get()), WARPAES_ERROR_STATE);
            EXPECT_EQ(store.calls().size(), static_cast<std::size_t>(n) + 1);
        }
    }
}

TEST_P(WriterTest, AFullDiskIsAnErrorAndLeavesNothing) {
    const Bytes text = Random(8).bytes(50000);
    const auto status_of = [&](const Writer& writer) {
        const warpaes_status status = warpaes_writer_write(writer.get(), text.data(), text.size());
        return status != WARPAES_OK ? status : warpaes_writer_finish(writer.get());
    };
    EXPECT_EQ(refusal(path_sink("/dev/full")), WARPAES_ERROR_WRITE) << "the header";

    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);  // by default, SIGXFSZ would end the process
    for (const rlim_t limit : {4096U, 50000U}) {
        const Writer writer = open(small_, path_sink(path_));
        const rlimit low{limit, before.rlim_max};
        ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
        const warpaes_status status = status_of(writer);
        ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
        EXPECT_EQ(status, WARPAES_ERROR_WRITE) << limit;
        EXPECT_EQ(warpaes_writer_finish(writer.get()), WARPAES_ERROR_STATE);
    }
    EXPECT_EQ(folder_.names(), std::vector<std::string>());
}

TEST_P(WriterTest, MoreThanTheFormatHasSegmentsIsRefusedBeforeItIsTouched) {
    for (const SegmentFormat& format : oracle::segment_formats()) {
        Store store;
        const Writer writer = open(format, store.sink());
        const std::uint64_t most =
            format.kind == SegmentFormat::Kind::c2sp ? std::uint64_t{1} << 38 : std::uint64_t{1} << 32;
        EXPECT_EQ(warpaes_writer_write(writer.get(), key_.data(), most * format.text()), WARPAES_ERROR_DATA_LENGTH)
            << format.name;
        EXPECT_EQ(warpaes_writer_finish(writer.get()), WARPAES_ERROR_STATE);
        const Writer other = open(format, store.sink());
        ASSERT_EQ(warpaes_writer_write(other.get(), key_.data(), 1), WARPAES_OK);
        EXPECT_EQ(warpaes_writer_write(other.get(), key_.data(), ~std::uint64_t{0}), WARPAES_ERROR_DATA_LENGTH);
    }
}

TEST_P(WriterTest, SinksThatAreNone) {
    warpaes_sink sink{};
    EXPECT_EQ(refusal(sink), WARPAES_ERROR_ARGUMENT) << "no struct_size";
    sink.struct_size = sizeof sink;
    EXPECT_EQ(refusal(sink), WARPAES_ERROR_ARGUMENT) << "no place";
    Store store;
    sink = store.sink();
    sink.path = "file";
    EXPECT_EQ(refusal(sink), WARPAES_ERROR_ARGUMENT) << "two places";
    EXPECT_EQ(refusal(path_sink(path_, 1U << 30)), WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(refusal(path_sink("")), WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(refusal(path_sink("/no such folder/file")), WARPAES_ERROR_WRITE);

    sink = store.sink();
    warpaes_writer* writer = nullptr;
    const Keyset keyset = make_keyset(small_, key_);
    expect_refused(warpaes_writer_open(nullptr, &sink, keyset.get(), nullptr, 0, &writer), "engine");
    expect_refused(warpaes_writer_open(engine_.get(), nullptr, keyset.get(), nullptr, 0, &writer), "sink");
    expect_refused(warpaes_writer_open(engine_.get(), &sink, nullptr, nullptr, 0, &writer), "keyset");
    expect_refused(warpaes_writer_open(engine_.get(), &sink, keyset.get(), nullptr, 1, &writer), "aad");
    expect_refused(warpaes_writer_open(engine_.get(), &sink, keyset.get(), nullptr, 0, nullptr), "writer");
    warpaes_keyset* empty = nullptr;
    ASSERT_EQ(warpaes_keyset_create(&empty), WARPAES_OK);
    EXPECT_EQ(warpaes_writer_open(engine_.get(), &sink, empty, nullptr, 0, &writer), WARPAES_ERROR_KEYSET);
    warpaes_keyset_destroy(empty);
    expect_refused(warpaes_writer_write(nullptr, "x", 1), "writer");
    expect_refused(warpaes_writer_finish(nullptr), "writer");
    warpaes_writer_close(nullptr);
    EXPECT_EQ(store.calls().size(), 0U);
}

WARPAES_FOR_EVERY_BACKEND(WriterTest);

}  // namespace
}  // namespace stream_tests
