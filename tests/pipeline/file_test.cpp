// Files as ends of a pipeline: what is there after success, after failure, and who is refused.
#include "pipeline/file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "folder.hpp"
#include "support.hpp"

namespace warpaes::test {
namespace {

namespace fs = std::filesystem;

class FileTest : public testing::Test {
protected:
    void SetUp() override { write_file("in", "input"); }

    std::string path(const std::string& name) const { return folder_ / name; }
    void write_file(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
    std::string read_file(const std::string& name) const {
        std::ifstream file(path(name), std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    std::size_t entries() const { return folder_.names().size(); }
    warpaes_status try_sink(const std::string& name, bool overwrite = false) const {
        return status_of([&] {
            const FileSource input(path("in"));
            const FileSink sink(path(name), overwrite, input);
        });
    }
    void write_through_sink(const std::string& name, const std::string& text, bool overwrite = false) const {
        const FileSource input(path("in"));
        FileSink sink(path(name), overwrite, input);
        // Out of order, as the workers do.
        const auto bytes = std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
        sink.write(2, bytes.subspan(2));
        sink.write(0, bytes.first(2));
        EXPECT_FALSE(sink.is_sequential());
        sink.commit();
    }

    const oracle::Folder folder_;
};

TEST_F(FileTest, TheNameAppearsWithTheWholeContent) {
    {
        const FileSource input(path("in"));
        FileSink sink(path("out"), false, input);
        const std::uint8_t byte = 'x';
        sink.write(0, {&byte, 1});
        EXPECT_FALSE(fs::exists(path("out")));
        EXPECT_EQ(entries(), 2u);
        sink.commit();
        EXPECT_EQ(read_file("out"), "x");
        EXPECT_EQ(sink.bytes_written(), 1u);
    }
    EXPECT_EQ(entries(), 2u);
}

TEST_F(FileTest, NothingIsLeftOfASinkThatWasNotCommitted) {
    EXPECT_EQ(try_sink("out"), WARPAES_OK);
    EXPECT_EQ(entries(), 1u);
}

TEST_F(FileTest, AnExistingFileIsKeptUnlessOverwritingIsAskedFor) {
    write_file("out", "old");
    EXPECT_EQ(try_sink("out"), WARPAES_ERROR_EXISTS);
    EXPECT_EQ(try_sink("out", true), WARPAES_OK);
    EXPECT_EQ(read_file("out"), "old");  // never committed
    write_through_sink("out", "newer", true);
    EXPECT_EQ(read_file("out"), "newer");
    EXPECT_EQ(entries(), 2u);
}

TEST_F(FileTest, AFileThatAppearsMeanwhileIsNotOverwritten) {
    const FileSource input(path("in"));
    FileSink sink(path("out"), false, input);
    write_file("out", "theirs");
    EXPECT_EQ(status_of([&] { sink.commit(); }), WARPAES_ERROR_EXISTS);
    EXPECT_EQ(read_file("out"), "theirs");
}

TEST_F(FileTest, PermissionsAreThoseOfTheOldFileOrOfTheUmask) {
    const mode_t before = ::umask(027);
    write_through_sink("fresh", "text");
    ::umask(before);
    EXPECT_EQ(fs::status(path("fresh")).permissions(), static_cast<fs::perms>(0640));
    write_file("old", "old");
    fs::permissions(path("old"), static_cast<fs::perms>(0604));
    write_through_sink("old", "text", true);
    EXPECT_EQ(fs::status(path("old")).permissions(), static_cast<fs::perms>(0604));
}

TEST_F(FileTest, AnIncompleteFileIsNobodyElsesToRead) {
    const FileSource input(path("in"));
    const FileSink sink(path("out"), false, input);
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
        if (entry.path().filename() == "in") continue;
        EXPECT_EQ(entry.status().permissions(), static_cast<fs::perms>(0600));
    }
    EXPECT_EQ(entries(), 2u);
}

TEST_F(FileTest, WritingThroughALinkReplacesTheFileAndKeepsTheLink) {
    write_file("real", "old");
    fs::create_symlink("real", path("link"));
    write_through_sink("link", "fresh", true);
    EXPECT_TRUE(fs::is_symlink(path("link")));
    EXPECT_EQ(read_file("real"), "fresh");
}

TEST_F(FileTest, TheInputIsRefusedAsOutputUnderAnyName) {
    fs::create_symlink("in", path("soft"));
    fs::create_hard_link(path("in"), path("hard"));
    for (const char* name : {"in", "soft", "hard", "./in"}) {
        EXPECT_EQ(try_sink(name, true), WARPAES_ERROR_SAME_FILE) << name;
    }
    const FileSource input(path("in"));
    const Descriptor same(::open(path("in").c_str(), O_WRONLY | O_APPEND), true);
    EXPECT_EQ(status_of([&] { const FileSink sink(same.get(), "descriptor", input); }), WARPAES_ERROR_SAME_FILE);
    EXPECT_EQ(read_file("in"), "input");
}

TEST_F(FileTest, WhatCannotBeOpenedIsNamed) {
    fs::create_directory(path("dir"));
    const auto sentence = [&](const std::function<void()>& body) -> std::string {
        try {
            body();
        } catch (const Error& e) {
            return e.what();
        }
        return "";
    };
    EXPECT_EQ(status_of([&] { FileSource(path("none")); }), WARPAES_ERROR_NOT_FOUND);
    EXPECT_EQ(status_of([&] { FileSource(path("dir")); }), WARPAES_ERROR_NOT_FOUND);
    EXPECT_EQ(status_of([&] { FileSource(1000, "descriptor 1000"); }), WARPAES_ERROR_NOT_FOUND);
    EXPECT_EQ(try_sink("dir", true), WARPAES_ERROR_WRITE);
    EXPECT_EQ(try_sink("nowhere/out"), WARPAES_ERROR_WRITE);
    EXPECT_NE(sentence([&] { FileSource(path("none")); }).find(path("none")), std::string::npos);
    const FileSource input(path("in"));
    EXPECT_NE(sentence([&] { const FileSink sink(path("nowhere/out"), false, input); }).find(path("nowhere")),
              std::string::npos);
}

TEST_F(FileTest, AFullDeviceIsAWriteError) {
    const FileSource input(path("in"));
    FileSink full("/dev/full", false, input);
    const Bytes bytes(100000, 1);
    EXPECT_EQ(status_of([&] { full.write(0, bytes); }), WARPAES_ERROR_WRITE);
}

TEST_F(FileTest, ALimitOnFileSizesIsAWriteErrorAndLeavesNothing) {
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    rlimit small = before;
    small.rlim_cur = 4096;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const warpaes_status status = status_of([&] {
        const FileSource input(path("in"));
        FileSink sink(path("out"), false, input);
        sink.write(0, Bytes(10000, 1));
    });
    ::setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_EQ(status, WARPAES_ERROR_WRITE);
    EXPECT_EQ(entries(), 1u);
}

TEST_F(FileTest, AClosedPipeIsAWriteError) {
    std::signal(SIGPIPE, SIG_IGN);
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    ::close(ends[0]);
    const Descriptor writer(ends[1], true);
    const FileSource input(path("in"));
    FileSink sink(writer.get(), "pipe", input);
    EXPECT_TRUE(sink.is_sequential());
    EXPECT_EQ(status_of([&] { sink.write(0, Bytes(10, 1)); }), WARPAES_ERROR_WRITE);
}

TEST_F(FileTest, ADescriptorGoesOnFromWhereItStands) {
    write_file("data", "0123456789");
    const Descriptor in(::open(path("data").c_str(), O_RDONLY), true);
    ASSERT_EQ(::lseek(in.get(), 4, SEEK_SET), 4);
    FileSource source(in.get(), "descriptor");
    EXPECT_EQ(source.size(), 6u);
    Bytes bytes(10, 0xa5);
    EXPECT_EQ(source.read(1, bytes), 5u);
    EXPECT_EQ(bytes[0], '5');

    const Descriptor out(::open(path("out").c_str(), O_RDWR | O_CREAT, 0600), true);
    ASSERT_EQ(::write(out.get(), "head", 4), 4);
    FileSink sink(out.get(), "descriptor", source);
    EXPECT_FALSE(sink.is_sequential());
    sink.write(0, Bytes{'b', 'o', 'd', 'y'});
    sink.commit();
    ASSERT_EQ(::write(out.get(), "tail", 4), 4);
    EXPECT_EQ(read_file("out"), "headbodytail");
}

TEST_F(FileTest, ADescriptorThatAppendsIsWrittenInOrder) {
    write_file("log", "old");
    const FileSource input(path("in"));
    const Descriptor out(::open(path("log").c_str(), O_WRONLY | O_APPEND), true);
    FileSink sink(out.get(), "descriptor", input);
    EXPECT_TRUE(sink.is_sequential());
    sink.write(0, Bytes{'n', 'e', 'w'});
    sink.commit();
    EXPECT_EQ(read_file("log"), "oldnew");
}

TEST_F(FileTest, DescriptorsHaveNames) {
    EXPECT_EQ(descriptor_named_by("/dev/stdin"), 0);
    EXPECT_EQ(descriptor_named_by("/dev/fd/17"), 17);
    EXPECT_EQ(descriptor_named_by("/dev/fd/"), std::nullopt);
    EXPECT_EQ(descriptor_named_by("/dev/fd/1x"), std::nullopt);
    EXPECT_EQ(descriptor_named_by("/dev/null"), std::nullopt);
}

TEST_F(FileTest, AFileThatClaimsToBeEmptyIsReadToItsEnd) {
    FileSource source("/proc/self/status");
    EXPECT_TRUE(source.is_sequential());
    Bytes bytes(100000);
    EXPECT_GT(source.read(0, bytes), 100u);
}

/// Feeds a pipe byte by byte from another thread while `use` reads it.
void with_slow_pipe(const Bytes& bytes, const std::function<void(int fd)>& use) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const Descriptor reader(ends[0], true);
    std::jthread feeder([&bytes, fd = ends[1]] {
        for (const std::uint8_t byte : bytes) {
            if (::write(fd, &byte, 1) != 1) break;
        }
        ::close(fd);
    });
    use(reader.get());
}

TEST_F(FileTest, APipeThatGivesOneByteAtATime) {
    const Bytes input = random_bytes(3 * 4096 + 5, 30), key_bytes = random_bytes(16, 31), iv(16, 0);
    const ExpandedKey key(key_bytes);
    Engine engine(small_chunks());
    for (const ModeCase& m : all_modes) {
        const Bytes expected = *oracle::evp(m.name, true, key_bytes, iv, input, needs_whole_blocks(m.mode));
        with_slow_pipe(input, [&](int fd) {
            FileSource source(fd, "pipe");
            TestSink sink(TestSink::Kind::sequential);
            const Plan plan = engine.plan(m.mode, Direction::encrypt, source.size());
            run_cipher(engine, plan, {m.mode, Direction::encrypt, &key, {}, needs_whole_blocks(m.mode), 0}, source,
                       sink);
            EXPECT_EQ(sink.bytes(), expected) << m.name;
        });
    }
}

TEST_F(FileTest, WaitingForAFullPipeCanBeCancelled) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const Descriptor reader(ends[0], true), writer(ends[1], true);
    const FileSource input(path("in"));
    FileSink sink(writer.get(), "pipe", input);
    int calls = 0;
    sink.on_wait([&] {
        if (++calls == 2) throw Error(WARPAES_ERROR_CANCELLED, "enough");
    });
    EXPECT_EQ(status_of([&] { sink.write(0, Bytes(1 << 20, 1)); }), WARPAES_ERROR_CANCELLED);
}

TEST_F(FileTest, WaitingForASilentPipeCanBeCancelled) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const Descriptor reader(ends[0], true), silent(ends[1], true);
    const ExpandedKey key(Bytes(16, 1));
    Engine engine(small_chunks());
    FileSource source(reader.get(), "pipe");
    TestSink sink(TestSink::Kind::sequential);
    int calls = 0;
    EXPECT_EQ(status_of([&] {
                  run_cipher(engine, engine.plan(Mode::ctr, Direction::encrypt, source.size()),
                             {Mode::ctr, Direction::encrypt, &key, {}, false, 0}, source, sink,
                             [&](std::uint64_t, std::uint64_t) { return ++calls < 3; });
              }),
              WARPAES_ERROR_CANCELLED);
    EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace warpaes::test
