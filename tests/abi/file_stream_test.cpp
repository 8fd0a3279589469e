// Tests FILE* streams on top of readers and writers. Compares the streams with plain files, opens altered files, and
// passes the streams to functions of the C library.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>
#include <warpaes/streams.hpp>

#include "folder.hpp"

namespace {

using Bytes = std::vector<unsigned char>;

Bytes random_bytes(std::size_t n, unsigned seed) {
    std::mt19937 random(seed);
    Bytes bytes(n);
    for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random());
    return bytes;
}

void write_file(const std::string& path, const Bytes& bytes) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

Bytes file_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class FileStream : public testing::Test {
protected:
    void use(const char* name) {
        keyset_ = warpaes::Keyset();
        keyset_.add(name);
    }
    std::string sealed(const Bytes& text, const std::string& name = "sealed") {
        auto writer = warpaes::Writer::to_file(engine_, keyset_, folder_ / name, {}, true);
        writer.write(text);
        writer.finish();
        return folder_ / name;
    }
    FILE* open(const std::string& path) {
        FILE* stream = nullptr;
        warpaes_source source = WARPAES_SOURCE_INIT;
        source.path = path.c_str();
        EXPECT_EQ(warpaes_open_stream(engine_.get(), &source, keyset_.get(), nullptr, 0, &stream), WARPAES_OK)
            << warpaes_last_error();
        return stream;
    }
    FILE* create(const std::string& path) {
        FILE* stream = nullptr;
        warpaes_sink sink = WARPAES_SINK_INIT;
        sink.path = path.c_str();
        EXPECT_EQ(warpaes_create_stream(engine_.get(), &sink, keyset_.get(), nullptr, 0, &stream), WARPAES_OK)
            << warpaes_last_error();
        return stream;
    }
    Bytes opened(const std::string& path) {
        const auto reader = warpaes::Reader::of_file(engine_, keyset_, path);
        Bytes text(reader.size());
        reader.read(0, text);
        return text;
    }

    warpaes::Engine engine_;
    warpaes::Keyset keyset_;
    oracle::Folder folder_;
};

/// Checks that identical calls on both streams return identical results.
void compare(FILE* ours, FILE* theirs, std::size_t size, unsigned seed, int calls) {
    std::mt19937 random(seed);
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % (n + 1); };
    for (int i = 0; i < calls; ++i) {
        switch (random() % 8) {
        case 0: {
            const long to = static_cast<long>(below(size + 100));
            ASSERT_EQ(std::fseek(ours, to, SEEK_SET), std::fseek(theirs, to, SEEK_SET));
            break;
        }
        case 1: {
            const long by = static_cast<long>(below(20000)) - 10000;
            ASSERT_EQ(std::fseek(ours, by, SEEK_CUR), std::fseek(theirs, by, SEEK_CUR)) << by;
            break;
        }
        case 2: {
            const long by = 50 - static_cast<long>(below(size + 100));
            ASSERT_EQ(std::fseek(ours, by, SEEK_END), std::fseek(theirs, by, SEEK_END)) << by;
            break;
        }
        case 3:
            ASSERT_EQ(std::getc(ours), std::getc(theirs));
            break;
        case 4: {
            const int a = std::getc(ours), b = std::getc(theirs);
            ASSERT_EQ(a, b);
            if (a != EOF) {
                ASSERT_EQ(std::ungetc('x', ours), std::ungetc('x', theirs));
            }
            break;
        }
        case 5:
            if (random() % 10 == 0) {
                std::rewind(ours);
                std::rewind(theirs);
            }
            break;
        default: {
            const std::size_t item = 1 + below(3), n = random() % 4 == 0 ? below(size) : below(5000);
            Bytes a(item * n + 1), b(item * n + 1);
            ASSERT_EQ(std::fread(a.data(), item, n, ours), std::fread(b.data(), item, n, theirs));
            ASSERT_EQ(a, b);
        }
        }
        ASSERT_EQ(std::ftell(ours), std::ftell(theirs));
        ASSERT_EQ(std::feof(ours) != 0, std::feof(theirs) != 0);
        ASSERT_EQ(std::ferror(ours), 0);
    }
}

TEST_F(FileStream, ReadsAsTheFileInClear) {
    unsigned seed = 1;
    for (const char* name : {"AES128_GCM_HKDF_4KB", "AES256_GCM_HKDF_1MB", "AES128_CTR_HMAC_SHA256_4KB"}) {
        use(name);
        for (const std::size_t size : {0u, 1u, 4055u, 4096u, 65536u, 200001u, 3000000u}) {
            const Bytes text = random_bytes(size, ++seed);
            write_file(folder_ / "plain", text);
            const std::string path = sealed(text);
            for (const std::size_t buffer : {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{1} << 21}) {
                FILE *ours = open(path), *theirs = std::fopen((folder_ / "plain").c_str(), "r");
                ASSERT_TRUE(ours != nullptr && theirs != nullptr);
                Bytes memory(buffer);
                if (buffer == 1) {
                    std::setvbuf(ours, nullptr, _IONBF, 0);
                } else if (buffer != 0) {
                    ASSERT_EQ(std::setvbuf(ours, reinterpret_cast<char*>(memory.data()), _IOFBF, buffer), 0);
                }
                compare(ours, theirs, size, ++seed, size > 1000000 ? 60 : 200);
                EXPECT_EQ(std::fclose(ours), 0);
                std::fclose(theirs);
                if (HasFatalFailure()) FAIL() << name << " " << size << " " << buffer;
            }
        }
    }
}

TEST_F(FileStream, AnAlteredSegmentIsAnErrorAndNoText) {
    use("AES128_GCM_HKDF_4KB");
    constexpr std::size_t segment = 4096 - 16, header = 24;
    const Bytes text = random_bytes(20 * segment, 5);
    const std::string path = sealed(text);
    const Bytes good = file_of(path);
    for (const std::size_t altered : {1u, 2u, 7u, 15u}) {
        Bytes bad = good;
        bad[altered * 4096 + 100] ^= 1;
        write_file(path, bad);
        const std::size_t begin = altered * segment - header, end = begin + segment;
        for (const std::size_t piece : {text.size(), std::size_t{1000}, std::size_t{1}}) {
            FILE* const stream = open(path);
            ASSERT_NE(stream, nullptr);
            Bytes read(text.size(), 0xee);
            std::size_t got = 0;
            errno = 0;
            for (std::size_t n = 1; n != 0 && got < read.size(); got += n) {
                n = std::fread(read.data() + got, 1, std::min(piece, read.size() - got), stream);
            }
            EXPECT_EQ(errno, EIO);
            EXPECT_NE(std::ferror(stream), 0);
            EXPECT_EQ(std::feof(stream), 0);
            EXPECT_EQ(got, begin);
            EXPECT_NE(std::strstr(warpaes_last_error(), "authentic"), nullptr) << warpaes_last_error();
            EXPECT_TRUE(std::equal(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(got), read.begin()));
            std::clearerr(stream);  // the rest of the file is authentic
            ASSERT_EQ(std::fseek(stream, static_cast<long>(end), SEEK_SET), 0);
            Bytes rest(text.size() - end);
            EXPECT_EQ(std::fread(rest.data(), 1, rest.size(), stream), rest.size());
            EXPECT_TRUE(std::equal(rest.begin(), rest.end(), text.begin() + static_cast<std::ptrdiff_t>(end)));
            EXPECT_EQ(std::ferror(stream), 0);
            std::fclose(stream);
        }
    }
    // A truncated file does not open, because its last segment is not authentic.
    write_file(path, Bytes(good.begin(), good.begin() + 4096 * 3));
    warpaes_source source = WARPAES_SOURCE_INIT;
    source.path = path.c_str();
    FILE* stream = stdin;
    EXPECT_EQ(warpaes_open_stream(engine_.get(), &source, keyset_.get(), nullptr, 0, &stream),
              WARPAES_ERROR_AUTHENTICATION);
    EXPECT_EQ(stream, nullptr);
}

/// Makes the same calls as llama.cpp's llama_file (src/llama-mmap.cpp) on a stream without mmap and direct I/O.
class LlamaFile {
public:
    explicit LlamaFile(FILE* stream) : stream_(stream) {
        seek(0, SEEK_END);
        size_ = tell();
        seek(0, SEEK_SET);
    }
    LlamaFile(const LlamaFile&) = delete;
    LlamaFile& operator=(const LlamaFile&) = delete;
    ~LlamaFile() { std::fclose(stream_); }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] std::size_t tell() const {
        const long at = std::ftell(stream_);
        EXPECT_NE(at, -1);
        return static_cast<std::size_t>(at);
    }
    void seek(std::size_t offset, int whence) const {
        EXPECT_EQ(std::fseek(stream_, static_cast<long>(offset), whence), 0);
    }
    /// Reads a whole tensor in one call. Returns "" or the reason for the failure.
    [[nodiscard]] std::string read(void* to, std::size_t length) const {
        if (length == 0) return {};
        errno = 0;
        const std::size_t got = std::fread(to, length, 1, stream_);
        if (std::ferror(stream_) != 0) return std::strerror(errno);
        return got == 1 ? std::string() : "unexpectedly reached end of file";
    }
    [[nodiscard]] std::string read_at(void* to, std::size_t length, std::size_t offset) const {
        seek(offset, SEEK_SET);
        return read(to, length);
    }

private:
    FILE* stream_;
    std::size_t size_ = 0;
};

TEST_F(FileStream, LlamaCppsCallsReadTensors) {
    use("AES256_GCM_HKDF_1MB");
    constexpr std::size_t header = 4096 + 17, alignment = 32;
    const std::vector<std::size_t> lengths = {5'000'000, 3, 1 << 20, 0, 2'300'001};
    std::vector<std::size_t> offsets;
    std::size_t end = header;
    for (const std::size_t length : lengths) {
        offsets.push_back((end + alignment - 1) / alignment * alignment);
        end = offsets.back() + length;
    }
    const Bytes model = random_bytes(end, 45);
    const std::string path = sealed(model);
    {
        const LlamaFile file(open(path));
        ASSERT_EQ(file.size(), model.size());
        EXPECT_EQ(file.tell(), 0);
        Bytes word(4);
        for (std::size_t at = 0; at < header; at += 4) {  // reads the header field by field
            ASSERT_EQ(file.read(word.data(), 4), "");
            ASSERT_TRUE(std::equal(word.begin(), word.end(), model.begin() + static_cast<std::ptrdiff_t>(at)));
        }
        for (const std::size_t i : {4u, 0u, 3u, 2u, 1u, 0u}) {
            Bytes tensor(lengths[i]);
            ASSERT_EQ(file.read_at(tensor.data(), tensor.size(), offsets[i]), "");
            ASSERT_TRUE(
                std::equal(tensor.begin(), tensor.end(), model.begin() + static_cast<std::ptrdiff_t>(offsets[i])));
        }
        Bytes tensor(lengths[4] + 1);
        EXPECT_EQ(file.read_at(tensor.data(), tensor.size(), offsets[4]), "unexpectedly reached end of file");
    }
    Bytes altered = file_of(path);
    altered[3 << 20] ^= 1;  // in the first tensor
    write_file(path, altered);
    const LlamaFile file(open(path));
    Bytes tensor(lengths[0]);
    EXPECT_EQ(file.read_at(tensor.data(), tensor.size(), offsets[0]), std::strerror(EIO));
}

TEST_F(FileStream, ReadingHasNoDescriptorAndDoesNotWrite) {
    use("AES128_GCM_HKDF_4KB");
    FILE* const stream = open(sealed(random_bytes(100, 6)));
    EXPECT_EQ(::fileno(stream), -1);
    EXPECT_EQ(std::fputc('a', stream), EOF);
    EXPECT_NE(std::ferror(stream), 0);
    std::clearerr(stream);
    EXPECT_EQ(std::fseek(stream, -1, SEEK_SET), -1);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(::fseeko(stream, std::numeric_limits<off_t>::max(), SEEK_SET), 0);
    EXPECT_EQ(std::getc(stream), EOF);
    EXPECT_NE(std::feof(stream), 0);
    EXPECT_EQ(std::fclose(stream), 0);
}

TEST_F(FileStream, ASourceThatCannotSeekIsReadForward) {
    use("AES128_GCM_HKDF_4KB");
    const Bytes text = random_bytes(100000, 7);
    struct Feed {
        Bytes bytes;
        std::size_t at = 0;
    } feed{file_of(sealed(text))};
    warpaes_source source = WARPAES_SOURCE_INIT;
    source.user = &feed;
    source.next = [](void* user, void* buffer, std::uint64_t length, std::uint64_t* got) {
        auto& feed = *static_cast<Feed*>(user);
        *got = std::min<std::uint64_t>({length, feed.bytes.size() - feed.at, 1000});
        std::memcpy(buffer, feed.bytes.data() + feed.at, *got);
        feed.at += *got;
        return 0;
    };
    for (const std::size_t cut : {0u, 5000u}) {
        feed.at = 0;
        feed.bytes.erase(feed.bytes.end() - static_cast<std::ptrdiff_t>(cut), feed.bytes.end());
        FILE* stream = nullptr;
        ASSERT_EQ(warpaes_open_stream(engine_.get(), &source, keyset_.get(), nullptr, 0, &stream), WARPAES_OK);
        Bytes read(text.size() + 1);
        EXPECT_EQ(std::fread(read.data(), 1, 10, stream), 10u);
        EXPECT_EQ(std::ftell(stream), 10);
        EXPECT_EQ(std::fseek(stream, 0, SEEK_END), -1);
        EXPECT_EQ(errno, ESPIPE);
        const std::size_t n = 10 + std::fread(read.data() + 10, 1, text.size() - 9, stream);
        EXPECT_EQ(n == text.size(), cut == 0);
        EXPECT_EQ(std::ferror(stream) == 0, cut == 0);
        EXPECT_EQ(std::feof(stream) != 0, cut == 0);
        EXPECT_TRUE(std::equal(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(n), read.begin()));
        std::fclose(stream);
    }
}

TEST_F(FileStream, WritesAFileThatAppearsWhenItIsClosed) {
    use("AES256_GCM_HKDF_4KB");
    Bytes text = random_bytes(50000, 8);
    const std::string path = folder_ / "written";
    FILE* stream = create(path);
    ASSERT_NE(stream, nullptr);
    EXPECT_EQ(std::fwrite(text.data(), 1, 20000, stream), 20000u);
    EXPECT_EQ(std::ftell(stream), 20000);
    EXPECT_EQ(std::fflush(stream), 0);
    EXPECT_EQ(std::fseek(stream, 0, SEEK_SET), -1);
    std::clearerr(stream);
    EXPECT_EQ(std::fwrite(text.data() + 20000, 1, 30000, stream), 30000u);
    EXPECT_GT(std::fprintf(stream, "%d", 43), 0);
    EXPECT_EQ(std::getc(stream), EOF);
    EXPECT_NE(::access(path.c_str(), F_OK), 0);
    EXPECT_EQ(std::fclose(stream), 0);
    text.insert(text.end(), {'4', '3'});
    EXPECT_EQ(opened(path), text);
    warpaes_sink sink = WARPAES_SINK_INIT;
    sink.path = path.c_str();
    stream = stdout;
    EXPECT_EQ(warpaes_create_stream(engine_.get(), &sink, keyset_.get(), nullptr, 0, &stream), WARPAES_ERROR_EXISTS);
    EXPECT_EQ(stream, nullptr);
}

TEST_F(FileStream, AWriteThatFailsLeavesNoFile) {
    use("AES256_GCM_HKDF_4KB");
    for (const int allowed : {1, 3}) {
        int left = allowed;
        warpaes_sink sink = WARPAES_SINK_INIT;
        sink.user = &left;
        sink.write = [](void* user, const void*, std::uint64_t) { return --*static_cast<int*>(user) < 0 ? 1 : 0; };
        FILE* stream = nullptr;
        ASSERT_EQ(warpaes_create_stream(engine_.get(), &sink, keyset_.get(), nullptr, 0, &stream), WARPAES_OK);
        const Bytes text = random_bytes(8 << 20, 9);
        errno = 0;
        EXPECT_LT(std::fwrite(text.data(), 1, text.size(), stream), text.size());
        EXPECT_EQ(errno, EIO);
        EXPECT_NE(std::ferror(stream), 0);
        EXPECT_EQ(std::fclose(stream), EOF);
    }
}

TEST_F(FileStream, FcloseTellsWhyThereIsNoFile) {
    use("AES256_GCM_HKDF_4KB");
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    rlimit small = before;
    small.rlim_cur = 1 << 20;
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    FILE* const stream = create(folder_ / "large");
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const Bytes text = random_bytes(16 << 20, 14);
    EXPECT_LT(std::fwrite(text.data(), 1, text.size(), stream), text.size());
    errno = 0;
    EXPECT_EQ(std::fclose(stream), EOF);
    EXPECT_EQ(errno, EIO);
    EXPECT_NE(::access((folder_ / "large").c_str(), F_OK), 0);
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    std::signal(SIGXFSZ, handler);
}

TEST_F(FileStream, AProcessThatForksOrExits) {
    use("AES256_GCM_HKDF_4KB");
    const Bytes text = random_bytes(300000, 10);
    const std::string read_path = sealed(text), path = folder_ / "parents";
    FILE *reads = open(read_path), *writes = create(path);
    Bytes begin(1000), rest(text.size());
    ASSERT_EQ(std::fread(begin.data(), 1, begin.size(), reads), begin.size());
    ASSERT_EQ(std::fwrite(text.data(), 1, 100, writes), 100u);
    ASSERT_EQ(std::fflush(writes), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(60);
        const std::size_t n = std::fread(rest.data(), 1, rest.size(), reads);
        bool right = n == text.size() - 1000 && std::memcmp(rest.data(), text.data() + 1000, n) == 0;
        std::fwrite(text.data(), 1, 70000, writes);  // more than fits in the stream's buffer
        right = right && std::ferror(writes) != 0 && std::fclose(writes) == EOF;
        FILE* const unfinished = create(folder_ / "unfinished");
        std::fwrite(text.data(), 1, 70000, unfinished);
        std::fflush(nullptr);  // as exit() does
        ::_exit(right ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(std::fread(rest.data(), 1, rest.size(), reads), text.size() - 1000);
    EXPECT_EQ(std::fwrite(text.data() + 100, 1, 70000, writes), 70000u);
    EXPECT_EQ(std::fclose(writes), 0);
    std::fclose(reads);
    EXPECT_EQ(opened(path), Bytes(text.begin(), text.begin() + 70100));
    EXPECT_NE(::access((folder_ / "unfinished").c_str(), F_OK), 0);
}

TEST_F(FileStream, SixThreadsReadOneStreamAndTheirOwn) {
    use("AES128_GCM_HKDF_4KB");
    const Bytes text = random_bytes(600000, 11);
    const std::string path = sealed(text);
    FILE* const shared = open(path);
    std::mutex mutex;
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 6; ++i) {
        threads.emplace_back([&, i] {
            FILE* const own = open(path);
            std::mutex own_mutex;
            std::mt19937 random(i);
            for (int n = 0; n < 300; ++n) {
                for (FILE* stream : {shared, own}) {
                    Bytes piece(1 + random() % 9000);
                    const std::size_t at = random() % (text.size() - piece.size());
                    // Has the same effect as flockfile(), which ThreadSanitizer does not intercept.
                    const std::lock_guard lock(stream == shared ? mutex : own_mutex);
                    std::fseek(stream, static_cast<long>(at), SEEK_SET);
                    const std::size_t got = std::fread(piece.data(), 1, piece.size(), stream);
                    EXPECT_EQ(got, piece.size());
                    EXPECT_EQ(std::memcmp(piece.data(), text.data() + at, piece.size()), 0);
                }
            }
            std::fclose(own);
        });
    }
    for (std::thread& thread : threads) thread.join();
    std::fclose(shared);
}

TEST_F(FileStream, TheWrapperInCpp) {
    use("AES128_GCM_HKDF_4KB");
    const Bytes text = random_bytes(10000, 12);
    const std::string path = sealed(text);
    const warpaes::Stream stream = warpaes::open_stream(engine_, keyset_, path);
    Bytes read(text.size());
    EXPECT_EQ(std::fread(read.data(), 1, read.size(), stream.get()), read.size());
    EXPECT_EQ(read, text);
    EXPECT_THROW((void)warpaes::open_stream(engine_, keyset_, folder_ / "none"), warpaes::Error);
    const Bytes aad(3, 'a');
    EXPECT_THROW((void)warpaes::open_stream(engine_, keyset_, path, aad), warpaes::Error);
}

TEST_F(FileStream, NullsAreNamed) {
    use("AES128_GCM_HKDF_4KB");
    const std::string path = sealed(random_bytes(10, 13));
    warpaes_source source = WARPAES_SOURCE_INIT;
    source.path = path.c_str();
    warpaes_sink sink = WARPAES_SINK_INIT;
    sink.path = path.c_str();
    FILE* stream = nullptr;
    const auto named = [](warpaes_status status, const char* sentence) {
        EXPECT_EQ(status, WARPAES_ERROR_ARGUMENT);
        EXPECT_STREQ(warpaes_last_error(), sentence);
    };
    named(warpaes_open_stream(engine_.get(), &source, keyset_.get(), nullptr, 0, nullptr), "stream: is null");
    named(warpaes_open_stream(nullptr, &source, keyset_.get(), nullptr, 0, &stream), "engine: is null");
    named(warpaes_open_stream(engine_.get(), nullptr, keyset_.get(), nullptr, 0, &stream), "source: is null");
    named(warpaes_open_stream(engine_.get(), &source, nullptr, nullptr, 0, &stream), "keyset: is null");
    named(warpaes_open_stream(engine_.get(), &source, keyset_.get(), nullptr, 1, &stream), "aad: is null");
    named(warpaes_create_stream(engine_.get(), &sink, keyset_.get(), nullptr, 0, nullptr), "stream: is null");
    named(warpaes_create_stream(nullptr, &sink, keyset_.get(), nullptr, 0, &stream), "engine: is null");
    named(warpaes_create_stream(engine_.get(), nullptr, keyset_.get(), nullptr, 0, &stream), "sink: is null");
    named(warpaes_create_stream(engine_.get(), &sink, nullptr, nullptr, 0, &stream), "keyset: is null");
}

}  // namespace
