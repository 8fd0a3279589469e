// Tests files as sources and sinks of a pipeline: their state after success and after failure, and paths that are
// refused.
#include "engine/pipeline/file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/os.hpp"
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
    /// Returns the file's mode, including the bits other than rwx.
    mode_t mode_of(const std::string& name) const { return status_of_file(name).st_mode & 07777; }
    struct stat status_of_file(const std::string& name) const {
        struct stat status {};
        EXPECT_EQ(::stat(path(name).c_str(), &status), 0) << name;
        return status;
    }
    warpaes_status try_sink(const std::string& name, bool overwrite = false) const {
        return status_of([&] {
            const FileSource input(path("in"));
            const FileSink sink(path(name), overwrite, input);
        });
    }
    void write_through_sink(const std::string& name, const std::string& text, bool overwrite = false) const {
        const FileSource input(path("in"));
        FileSink sink(path(name), overwrite, input);
        // Writes the pieces out of order, as workers do.
        const auto bytes = std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
        sink.write(2, bytes.subspan(2));
        sink.write(0, bytes.first(2));
        EXPECT_FALSE(sink.is_sequential());
        sink.commit();
    }

    void write_to_closed_pipe() const {
        int ends[2];
        ASSERT_EQ(::pipe(ends), 0);
        ::close(ends[0]);
        const Descriptor writer(ends[1], true);
        const FileSource input(path("in"));
        FileSink sink(writer.get(), "pipe", input);
        EXPECT_TRUE(sink.is_sequential());
        EXPECT_EQ(status_of([&] { sink.write(0, Bytes(10, 1)); }), WARPAES_ERROR_WRITE);
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
        EXPECT_LE(entries(), 2u);
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

/// If unnamed files are not supported, the parent's temporary file has a name, and a child must not remove the file.
TEST_F(FileTest, AChildRemovesNoTemporaryFileOfItsParents) {
    write_file("temporary", "the parent's");
    const Descriptor folder(open(path("").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC), true);
    ASSERT_GE(folder.get(), 0);
    auto name = std::make_unique<TemporaryName>(folder);
    name->set("temporary");
    const pid_t child = fork();
    if (child == 0) {
        name.reset();
        TemporaryName its(folder);
        its.set("its");
        write_file("its", "the child's");
        its.~TemporaryName();
        _exit(0);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(read_file("temporary"), "the parent's");
    EXPECT_FALSE(fs::exists(path("its")));
    name.reset();
    EXPECT_FALSE(fs::exists(path("temporary")));
}

TEST_F(FileTest, AnExistingFileIsKeptUnlessOverwritingIsAskedFor) {
    write_file("out", "old");
    EXPECT_EQ(try_sink("out"), WARPAES_ERROR_EXISTS);
    EXPECT_EQ(try_sink("out", true), WARPAES_OK);
    EXPECT_EQ(read_file("out"), "old");  // the new file was not committed
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

TEST_F(FileTest, PermissionsAreThoseThatTheDirectorysAccessListGivesToANewFile) {
    // An access list of version 2: owner rwx, user 1 rw-, group r-x, mask rw-, others r--.
    constexpr std::array<std::uint32_t, 11> list{2, 0x70001, ~0u, 0x60002, 1, 0x50004, ~0u, 0x60010, ~0u, 0x40020, ~0u};
    if (::setxattr(folder_.path().c_str(), "system.posix_acl_default", list.data(), sizeof list, 0) != 0) {
        GTEST_SKIP() << "no access lists on this file system; ext4, xfs and tmpfs run this test";
    }
    const Descriptor plain(::open(path("plain").c_str(), O_WRONLY | O_CREAT, 0666), true);
    write_through_sink("fresh", "text");
    EXPECT_EQ(mode_of("fresh"), mode_of("plain"));
    EXPECT_EQ(mode_of("fresh"), 0664u);
    std::array<char, 100> expected{}, found{};
    const ssize_t n = ::getxattr(path("plain").c_str(), "system.posix_acl_access", expected.data(), expected.size());
    EXPECT_EQ(::getxattr(path("fresh").c_str(), "system.posix_acl_access", found.data(), found.size()), n);
    EXPECT_GT(n, 0);
    EXPECT_EQ(found, expected);
}

TEST_F(FileTest, TheAccessListIsTheReplacedFilesAndNotTheDirectorys) {
    constexpr const char* of_file = "system.posix_acl_access";
    const auto list = [](std::uint32_t user) {  // owner rw-, this user rw-, group ---, mask rw-, others ---
        return std::array<std::uint32_t, 11>{2, 0x60001, ~0u, 0x60002, user, 0x4, ~0u, 0x60010, ~0u, 0x20, ~0u};
    };
    const auto of_directory = list(1), its_own = list(2);
    for (const char* name : {"without", "with"}) write_file(name, "old");
    fs::permissions(path("without"), static_cast<fs::perms>(0640));
    if (::setxattr(folder_.path().c_str(), "system.posix_acl_default", of_directory.data(), sizeof of_directory, 0) !=
            0 ||
        ::setxattr(path("with").c_str(), of_file, its_own.data(), sizeof its_own, 0) != 0) {
        GTEST_SKIP() << "no access lists on this file system; ext4, xfs and tmpfs run this test";
    }
    write_through_sink("without", "text", true);
    write_through_sink("with", "text", true);
    std::array<std::uint32_t, 20> found{};
    EXPECT_EQ(::getxattr(path("without").c_str(), of_file, found.data(), sizeof found), -1);
    EXPECT_EQ(mode_of("without"), 0640u);
    ASSERT_EQ(::getxattr(path("with").c_str(), of_file, found.data(), sizeof found), ssize_t{sizeof its_own});
    EXPECT_TRUE(std::equal(its_own.begin(), its_own.end(), found.begin()));
}

TEST_F(FileTest, WhoeverReplacesAFileDoesNotHandOnItsSetIdBits) {
    for (const mode_t mode : {04755u, 02755u, 01755u, 06711u}) {
        write_file("old", "old");
        ASSERT_EQ(::chmod(path("old").c_str(), mode), 0);
        write_through_sink("old", "text", true);
        EXPECT_EQ(mode_of("old"), mode & 0777) << std::oct << mode;
    }
}

TEST_F(FileTest, WhoeverReplacesAFileKeepsItsOwnerOrGivesNobodyMore) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can change a file's owner; root on any machine runs this test";
    const auto make = [&](mode_t mode) {
        write_file("old", "old");
        ASSERT_EQ(::chown(path("old").c_str(), 12345, 23456), 0);
        ASSERT_EQ(::chmod(path("old").c_str(), mode), 0);
    };
    make(0640);
    write_through_sink("old", "text", true);
    EXPECT_EQ(status_of_file("old").st_uid, 12345u);
    EXPECT_EQ(status_of_file("old").st_gid, 23456u);
    EXPECT_EQ(mode_of("old"), 0640u);

    fs::permissions(folder_.path(), static_cast<fs::perms>(0777));
    constexpr std::pair<mode_t, mode_t> narrowed[] = {{0640, 0600}, {0644, 0644}, {0664, 0644}, {0604, 0600}};
    for (const auto& [before, after] : narrowed) {
        make(before);
        ::setfsgid(34567);
        ::setfsuid(34567);  // this user cannot give a file to the old owner and group
        write_through_sink("old", "text", true);
        ::setfsuid(0);
        ::setfsgid(0);
        EXPECT_EQ(status_of_file("old").st_uid, 34567u);
        EXPECT_EQ(mode_of("old"), after) << std::oct << before;
        fs::remove(path("old"));
    }
}

TEST_F(FileTest, WhoeverReplacesAnothersFileHasNothingOfTheDirectorysAccessListInIt) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can change a file's owner; root on any machine runs this test";
    // An access list: owner rwx, user 1 rw-, group r-x, mask rw-, others r--.
    constexpr std::array<std::uint32_t, 11> list{2, 0x70001, ~0u, 0x60002, 1, 0x50004, ~0u, 0x60010, ~0u, 0x40020, ~0u};
    write_file("old", "old");
    ASSERT_EQ(::chown(path("old").c_str(), 12345, 23456), 0);
    ASSERT_EQ(::chmod(path("old").c_str(), 0644), 0);
    fs::permissions(folder_.path(), static_cast<fs::perms>(0777));
    if (::setxattr(folder_.path().c_str(), "system.posix_acl_default", list.data(), sizeof list, 0) != 0) {
        GTEST_SKIP() << "no access lists on this file system; ext4, xfs and tmpfs run this test";
    }
    ::setfsgid(34567);
    ::setfsuid(34567);
    write_through_sink("old", "text", true);
    ::setfsuid(0);
    ::setfsgid(0);
    std::array<char, 100> found{};
    EXPECT_EQ(::getxattr(path("old").c_str(), "system.posix_acl_access", found.data(), found.size()), -1);
    EXPECT_EQ(mode_of("old"), 0644u);
}

TEST_F(FileTest, AnIncompleteFileIsNobodyElsesToRead) {
    const FileSource input(path("in"));
    const FileSink sink(path("out"), false, input);
    int seen = 0;
    for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        const std::string target = fs::read_symlink(entry.path(), gone).string();
        if (!target.starts_with(folder_.path().string() + "/") || target == path("in")) continue;
        struct stat status {};
        ASSERT_EQ(::stat(entry.path().c_str(), &status), 0);
        EXPECT_EQ(status.st_mode & 07777, 0600u) << target;
        ++seen;
    }
    EXPECT_EQ(seen, 1);
}

TEST_F(FileTest, ALinkThatLeadsNowhereIsRefusedAndStays) {
    fs::create_symlink("nowhere", path("dangling"));
    fs::create_symlink("loop", path("loop"));
    for (const char* name : {"dangling", "loop"}) {
        for (const bool overwrite : {false, true}) {
            EXPECT_EQ(try_sink(name, overwrite), WARPAES_ERROR_WRITE) << name;
            EXPECT_TRUE(fs::is_symlink(path(name))) << name;
        }
    }
    EXPECT_EQ(entries(), 3u);
    try {
        const FileSource input(path("in"));
        const FileSink sink(path("dangling"), false, input);
    } catch (const Error& e) {
        EXPECT_NE(std::string(e.what()).find("symbolic link"), std::string::npos) << e.what();
    }
}

TEST_F(FileTest, ADiskIsNotOverwrittenUnlessThatIsAskedFor) {
    // No such device exists, so opening it would produce a different error.
    if (::mknod(path("disk").c_str(), S_IFBLK | 0600, makedev(240, 250)) != 0) {
        GTEST_SKIP() << "only root can create devices; root outside a container runs this test";
    }
    EXPECT_EQ(try_sink("disk"), WARPAES_ERROR_EXISTS);
    EXPECT_EQ(try_sink("disk", true), WARPAES_ERROR_WRITE);
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

TEST_F(FileTest, AnEarlierErrorIsNoErrorOfOpening) {
    const std::string name = path("in");
    errno = EINTR;
    EXPECT_EQ(status_of([&] { (void)FileSource(name); }), WARPAES_OK);
}

TEST_F(FileTest, AFullDeviceIsAWriteError) {
    const FileSource input(path("in"));
    FileSink full("/dev/full", false, input);
    const Bytes bytes(100000, 1);
    EXPECT_EQ(status_of([&] { full.write(0, bytes); }), WARPAES_ERROR_WRITE);
}

TEST_F(FileTest, ALimitOnFileSizesIsAWriteErrorAndLeavesNothing) {
    std::signal(SIGXFSZ, SIG_DFL);  // by default, SIGXFSZ would end the process
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
    std::signal(SIGPIPE, SIG_DFL);  // by default, SIGPIPE would end the process
    write_to_closed_pipe();
}

TEST_F(FileTest, ASignalThatWasBlockedAndPendingStaysSo) {
    sigset_t one, pending;
    sigemptyset(&one);
    sigaddset(&one, SIGPIPE);
    ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &one, nullptr), 0);
    ASSERT_EQ(::raise(SIGPIPE), 0);
    write_to_closed_pipe();
    ASSERT_EQ(::sigpending(&pending), 0);
    EXPECT_EQ(sigismember(&pending, SIGPIPE), 1);
    std::signal(SIGPIPE, SIG_IGN);
    ASSERT_EQ(pthread_sigmask(SIG_UNBLOCK, &one, nullptr), 0);
}

TEST_F(FileTest, DescriptorsThatAreOpenForTheOtherDirectionAreRefused) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const Descriptor reader(ends[0], true), writer(ends[1], true);
    const FileSource input(path("in"));
    // The read end can be opened for writing. The job would then wait for itself.
    EXPECT_EQ(status_of([&] { const FileSink sink(reader.get(), "pipe", input); }), WARPAES_ERROR_WRITE);
    EXPECT_EQ(status_of([&] { const FileSource source(writer.get(), "pipe"); }), WARPAES_ERROR_NOT_FOUND);
    const Descriptor only_read(::open(path("in").c_str(), O_RDONLY), true);
    const FileSource other("/dev/null");
    EXPECT_EQ(status_of([&] { const FileSink sink(only_read.get(), "file", other); }), WARPAES_ERROR_WRITE);
    const std::string name = "/dev/fd/" + std::to_string(only_read.get());
    EXPECT_EQ(status_of([&] { const FileSink sink(name, true, other); }), WARPAES_ERROR_WRITE);
    const FileSource source(reader.get(), "pipe");
    EXPECT_EQ(status_of([&] { const FileSink sink(writer.get(), "pipe", source); }), WARPAES_ERROR_SAME_FILE);
}

TEST_F(FileTest, WaitingForTheOtherEndOfANamedPipeCanBeCancelled) {
    ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
    int calls = 0;
    const WaitHook enough = [&] {
        if (++calls == 2) throw Error(WARPAES_ERROR_CANCELLED, "enough");
    };
    const FileSource input(path("in"));
    EXPECT_EQ(status_of([&] { const FileSink sink(path("fifo"), false, input, enough); }), WARPAES_ERROR_CANCELLED);
    calls = 0;
    Bytes bytes(10);
    EXPECT_EQ(status_of([&] { (void)FileSource(path("fifo"), enough).read(0, bytes); }), WARPAES_ERROR_CANCELLED);
    EXPECT_EQ(calls, 2);
}

TEST_F(FileTest, AFileThatGrowsIsReadToItsFirstLengthAndTold) {
    FileSource source(path("in"));
    EXPECT_FALSE(source.has_grown());
    std::ofstream(path("in"), std::ios::app) << "more";
    EXPECT_EQ(source.size(), 5u);
    EXPECT_TRUE(source.has_grown());
}

TEST_F(FileTest, ADescriptorGrowsBehindTheEndOfItsFile) {
    for (const off_t position : {4, 5, 6}) {
        write_file("in", "input");
        const Descriptor in(::open(path("in").c_str(), O_RDONLY), true);
        ASSERT_EQ(::lseek(in.get(), position, SEEK_SET), position);
        FileSource source(in.get(), "descriptor");
        EXPECT_EQ(source.size(), position == 4 ? 1U : 0U);
        EXPECT_FALSE(source.has_grown()) << position;
        Bytes bytes(10);
        EXPECT_EQ(source.read(0, bytes), position == 4 ? 1U : 0U);
        std::ofstream(path("in"), std::ios::app) << "more";
        EXPECT_TRUE(source.has_grown()) << position;
    }
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
    EXPECT_EQ(descriptor_named_by("/dev/stdout"), 1);
    EXPECT_EQ(descriptor_named_by("/dev/stderr"), 2);
    EXPECT_EQ(descriptor_named_by("/proc/self/fd/5"), 5);
    for (const char* const name : {"", "5", "fd/5", "dev/fd/5", "/dev/fd/-1", "/dev/fd/+1", "/dev/fd/ 1", "/dev/fd/5/",
                                   "/proc/self/fd/", "/proc/self/fd", "/dev/fd/99999999999"}) {
        EXPECT_EQ(descriptor_named_by(name), std::nullopt) << name;
    }
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

/// Several threads write to each page of a file in memory. Their pieces start and end anywhere.
TEST(SharedFile, InMemoryGetsWhatEachThreadWrites) {
    constexpr unsigned writers = 4;
    for (const std::size_t piece : {(std::size_t{4} << 20) + 40, (std::size_t{2} << 20) + 4095}) {
        const oracle::Folder folder("/dev/shm");
        FileSink sink(folder / "out", false, nullptr);
        if (sink.prepare_for(writers) == 0) GTEST_SKIP() << "no tmpfs at /dev/shm; runs where there is one";
        std::string text(3 * piece + 5, '\0');
        for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 151 >> 7);
        const auto bytes = std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
        {
            std::vector<std::jthread> threads;
            for (std::size_t at = 0; at < text.size(); at += piece) {
                threads.emplace_back([&, at] { sink.write(at, bytes.subspan(at, std::min(piece, text.size() - at))); });
            }
        }
        sink.commit();
        std::ifstream file(folder / "out", std::ios::binary);
        EXPECT_TRUE(std::equal(text.begin(), text.end(), std::istreambuf_iterator<char>(file))) << piece;
        EXPECT_EQ(fs::file_size(folder / "out"), text.size());
    }
}

TEST_F(FileTest, PagesAreCopiedOnlyWhereTheFileIs) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    constexpr std::size_t pages = 5;
    write_file("pages", std::string(pages * page, 'a'));
    const Descriptor file(::open(path("pages").c_str(), O_RDWR | O_CLOEXEC), true);
    const std::string text(2 * page, 'b');
    if (os::copy_to_pages(file.get(), text.data(), text.size(), static_cast<off_t>(page)) != 0 && errno == EINVAL) {
        GTEST_SKIP() << "no MADV_POPULATE_WRITE; Linux 5.14 or later runs this test";
    }
    EXPECT_EQ(read_file("pages"), std::string(page, 'a') + text + std::string(2 * page, 'a'));
    // If a page cannot be allocated, as on a full file system, the result is an error rather than a SIGBUS.
    EXPECT_EQ(os::copy_to_pages(file.get(), text.data(), text.size(), static_cast<off_t>((pages - 1) * page)), -1);
    EXPECT_EQ(fs::file_size(path("pages")), pages * page);
    const Descriptor closed;
    EXPECT_EQ(os::copy_to_pages(closed.get(), text.data(), text.size(), 0), -1);
    EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace warpaes::test
