// This library is preloaded into the command. It records the calls that make a file durable and name it, in order, in
// the file $RECORDED_CALLS. With $OLD_FILE_SYSTEM, renameat2() fails. With $LITTLE_MEMORY=N, allocations of 100,000
// bytes or more fail, starting with the N-th. When the command ends, its memory is written to the file $MEMORY_LEFT.
// Call number $WRONG_CALL to warpaes_crypt() returns a wrong result. A call to warpaes_reader_read() makes the file
// $CHANGED_MEANWHILE half a second newer. Three variables contain shell commands of another user, who acts at the worst
// moment. $BEFORE_WRITER and $AFTER_WRITER run before and after the first call to warpaes_writer_open(), and
// $BEFORE_NAME runs before the first call that names a file.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "warpaes/files.h"
#include "warpaes/warpaes.h"

namespace {

void record(const std::string& call, const char* name) {
    const std::string line = call + " " + name + "\n";
    const int fd = ::open(std::getenv("RECORDED_CALLS"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || ::write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::abort();
    ::close(fd);
}

void run_once(const char* variable) {
    const char* const command = std::getenv(variable);
    if (command == nullptr) return;
    const std::string text = std::string("unset LD_PRELOAD; ") + command;
    ::unsetenv(variable);
    if (std::system(text.c_str()) != 0) std::abort();
}

template <typename Call>
Call* real(const char* name) {
    return reinterpret_cast<Call*>(::dlsym(RTLD_NEXT, name));
}

/// Runs after the command's destructors. Writes the command's heap and stacks, including their unused parts.
[[gnu::destructor]] void write_memory() {
    const char* const path = std::getenv("MEMORY_LEFT");
    if (path == nullptr) return;
    const int fd = ::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FILE* const maps = ::fopen("/proc/self/maps", "re");
    if (fd < 0 || maps == nullptr) std::abort();
    char line[4352];
    while (::fgets(line, sizeof line, maps) != nullptr) {
        std::uintptr_t begin = 0, end = 0;
        char access[8] = "";
        if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s", &begin, &end, access) != 3) std::abort();
        if (std::strncmp(access, "rw", 2) != 0) continue;
        while (begin < end) {
            const ssize_t n = ::write(fd, reinterpret_cast<const void*>(begin), end - begin);
            if (n <= 0) break;
            begin += static_cast<std::uintptr_t>(n);
        }
    }
    ::close(fd);
}

}  // namespace

extern "C" {

int fsync(int fd) {
    char name[4096] = "";
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    if (::readlink(link.c_str(), name, sizeof name - 1) < 0) std::abort();
    record("fsync", name);
    return real<int(int)>("fsync")(fd);
}

int rename(const char* from, const char* to) noexcept {
    record("rename", to);
    return real<int(const char*, const char*)>("rename")(from, to);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
    if (std::getenv("OLD_FILE_SYSTEM") != nullptr) {
        errno = EINVAL;
        return -1;
    }
    struct stat status {};
    const bool is_probe = ::fstatat(from_folder, from, &status, 0) == 0 && status.st_size == 0;
    if (!is_probe) {
        run_once("BEFORE_NAME");
        record("rename", to);
    }
    return real<int(int, const char*, int, const char*, unsigned)>("renameat2")(from_folder, from, to_folder, to,
                                                                                flags);
}

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
    struct stat status {};
    const bool is_probe = ::fstatat(from_folder, from, &status, 0) == 0 && status.st_size == 0;
    if (is_probe)
        return real<int(int, const char*, int, const char*, int)>("linkat")(from_folder, from, to_folder, to, flags);
    run_once("BEFORE_NAME");
    if (std::strncmp(from, "/proc/", 6) != 0) record("link", to);
    return real<int(int, const char*, int, const char*, int)>("linkat")(from_folder, from, to_folder, to, flags);
}

warpaes_status warpaes_crypt(warpaes_engine* engine, const warpaes_message* m, warpaes_result* result) {
    static const char* const wrong = std::getenv("WRONG_CALL");
    static std::atomic<int> calls{0};
    const auto crypt = real<warpaes_status(warpaes_engine*, const warpaes_message*, warpaes_result*)>("warpaes_crypt");
    const warpaes_status status = crypt(engine, m, result);
    if (wrong == nullptr || ++calls != std::atoi(wrong)) return status;
    if (status == WARPAES_ERROR_AUTHENTICATION) return WARPAES_OK;
    if (m->input_len != 0 && m->mode != WARPAES_CMAC) {
        static_cast<unsigned char*>(m->output)[m->input_len - 1] ^= 1;
    } else if (m->direction == WARPAES_ENCRYPT) {
        static_cast<unsigned char*>(m->tag)[0] ^= 1;
    } else {
        return WARPAES_ERROR_AUTHENTICATION;
    }
    return status;
}

warpaes_status warpaes_writer_open(warpaes_engine* engine, const warpaes_sink* sink, const warpaes_keyset* keyset,
                                   const void* aad, size_t aad_len, warpaes_writer** writer) {
    using Open = warpaes_status(warpaes_engine*, const warpaes_sink*, const warpaes_keyset*, const void*, size_t,
                                warpaes_writer**);
    run_once("BEFORE_WRITER");
    const warpaes_status status = real<Open>("warpaes_writer_open")(engine, sink, keyset, aad, aad_len, writer);
    run_once("AFTER_WRITER");
    return status;
}

warpaes_status warpaes_reader_read(warpaes_reader* reader, uint64_t offset, void* output, uint64_t length,
                                   uint64_t* read) {
    const auto read_it =
        real<warpaes_status(warpaes_reader*, uint64_t, void*, uint64_t, uint64_t*)>("warpaes_reader_read");
    const warpaes_status status = read_it(reader, offset, output, length, read);
    if (const char* const path = std::getenv("CHANGED_MEANWHILE"); path != nullptr) {
        struct stat now {};
        if (::stat(path, &now) != 0) std::abort();
        timespec times[] = {now.st_atim, now.st_mtim};
        times[1].tv_nsec = 500'000'000;
        if (::utimensat(AT_FDCWD, path, times, 0) != 0) std::abort();
    }
    return status;
}

}  // extern "C"

void* operator new(std::size_t bytes) {
    static std::atomic<long> blocks{0};
    const char* const little = std::getenv("LITTLE_MEMORY");
    if (bytes >= 100000 && little != nullptr && ++blocks >= std::atol(little)) throw std::bad_alloc();
    return real<void*(std::size_t)>("_Znwm")(bytes);
}
