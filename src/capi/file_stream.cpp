// FILE* streams over readers and writers.
#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "format/forward_reader.hpp"

#if defined(__linux__)
#define WARPAES_HAS_COOKIES 1  // glibc and musl
#endif

namespace {

using namespace warpaes;
using namespace warpaes::capi;

#if defined(WARPAES_HAS_COOKIES)

constexpr std::size_t buffer_bytes = 65536;

/// The cookie that stdio passes to the functions below. It owns the stream's buffer, which contains plaintext and which
/// stdio would free without wiping.
struct Cookie {
    warpaes_reader* reader = nullptr;
    warpaes_writer* writer = nullptr;
    std::uint64_t position = 0;
    bool seekable = false;
    bool failed = false;  ///< a write has failed
    SecretBuffer buffer{buffer_bytes};

    Cookie() = default;
    Cookie(const Cookie&) = delete;
    Cookie& operator=(const Cookie&) = delete;
    ~Cookie() {
        warpaes_reader_close(reader);
        warpaes_writer_close(writer);
    }
};

int error_number(warpaes_status status) {
    return status == WARPAES_ERROR_OUT_OF_MEMORY ? ENOMEM : EIO;
}

/// Reads up to `length` authentic bytes from the position. Each call of the reader returns either all requested bytes
/// or none.
ssize_t read_cookie(void* user, char* buffer, std::size_t length) {
    auto& cookie = *static_cast<Cookie*>(user);
    if (cookie.position >= warpaes_reader_size(cookie.reader)) return 0;  // also after a seek beyond the end
    length = std::min(length, std::size_t{1} << 30);
    for (;;) {
        std::uint64_t got = 0;
        const warpaes_status status = warpaes_reader_read(cookie.reader, cookie.position, buffer, length, &got);
        if (status == WARPAES_OK) {
            cookie.position += got;
            return static_cast<ssize_t>(got);
        }
        if (status != WARPAES_ERROR_AUTHENTICATION || length <= 1) {
            errno = error_number(status);
            return -1;
        }
        length /= 2;
    }
}

ssize_t write_cookie(void* user, const char* bytes, std::size_t length) {
    auto& cookie = *static_cast<Cookie*>(user);
    const warpaes_status status =
        cookie.failed ? WARPAES_ERROR_STATE : warpaes_writer_write(cookie.writer, bytes, length);
    if (status == WARPAES_OK) {
        cookie.position += length;
        return static_cast<ssize_t>(length);
    }
    cookie.failed = true;
    errno = error_number(status);
    return 0;  // these functions report errors by returning 0
}

int seek_cookie(void* user, off_t* offset, int whence) {
    auto& cookie = *static_cast<Cookie*>(user);
    const std::uint64_t size = cookie.reader != nullptr ? warpaes_reader_size(cookie.reader) : WARPAES_UNKNOWN;
    if (!cookie.seekable && whence == SEEK_END) {
        errno = ESPIPE;
        return -1;
    }
    std::int64_t from = 0, to = 0;
    if (whence == SEEK_CUR) from = static_cast<std::int64_t>(cookie.position);
    if (whence == SEEK_END) from = static_cast<std::int64_t>(size);
    if ((whence != SEEK_SET && whence != SEEK_CUR && whence != SEEK_END) ||
        __builtin_add_overflow(from, *offset, &to) || to < 0) {
        errno = EINVAL;
        return -1;
    }
    // ftell() also calls this function, to query the position.
    if (!cookie.seekable && static_cast<std::uint64_t>(to) != cookie.position) {
        errno = ESPIPE;
        return -1;
    }
    cookie.position = static_cast<std::uint64_t>(to);
    *offset = to;
    return 0;
}

int close_cookie(void* user) {
    const std::unique_ptr<Cookie> cookie(static_cast<Cookie*>(user));
    if (cookie->writer == nullptr) return 0;
    const warpaes_status status = cookie->failed ? WARPAES_ERROR_STATE : warpaes_writer_finish(cookie->writer);
    if (status == WARPAES_OK) return 0;
    errno = error_number(status);
    return EOF;
}

FILE* stream_of(std::unique_ptr<Cookie> cookie) {
    cookie_io_functions_t functions{};
    const bool reads = cookie->reader != nullptr;
    cookie->seekable = reads && dynamic_cast<const ForwardReader*>(cookie->reader->impl.get()) == nullptr;
    if (reads) functions.read = read_cookie;
    if (!reads) functions.write = write_cookie;
    functions.seek = seek_cookie;
    functions.close = close_cookie;
    FILE* const stream = ::fopencookie(cookie.get(), reads ? "r" : "w", functions);
    if (stream == nullptr) throw std::bad_alloc();
    std::setvbuf(stream, reinterpret_cast<char*>(cookie->buffer.data()), _IOFBF, cookie->buffer.size());
    (void)cookie.release();  // close_cookie() deletes it
    return stream;
}

#else

struct Cookie {
    warpaes_reader* reader = nullptr;
    warpaes_writer* writer = nullptr;
};

#endif

/// `open(cookie)` opens the reader or the writer and returns a status; its message is this thread's last error.
template <typename Open>
warpaes_status open_stream(FILE** stream, const Open& open) {
    warpaes_status opened = WARPAES_OK;
    const warpaes_status status = guarded([&] {
        require(stream, "stream");
        *stream = nullptr;
#if defined(WARPAES_HAS_COOKIES)
        auto cookie = std::make_unique<Cookie>();
        opened = open(*cookie);
        if (opened == WARPAES_OK) *stream = stream_of(std::move(cookie));
#else
        throw Error(WARPAES_ERROR_BACKEND, "stream: this C library does not have fopencookie");
#endif
    });
    return status != WARPAES_OK ? status : opened;
}

}  // namespace

extern "C" {

warpaes_status warpaes_open_stream(warpaes_engine* engine, const warpaes_source* source, const warpaes_keyset* keyset,
                                   const void* aad, size_t aad_len, FILE** stream) {
    return open_stream(stream, [&](auto& cookie) {
        return warpaes_reader_open(engine, source, keyset, aad, aad_len, &cookie.reader);
    });
}

warpaes_status warpaes_create_stream(warpaes_engine* engine, const warpaes_sink* sink, const warpaes_keyset* keyset,
                                     const void* aad, size_t aad_len, FILE** stream) {
    return open_stream(
        stream, [&](auto& cookie) { return warpaes_writer_open(engine, sink, keyset, aad, aad_len, &cookie.writer); });
}

}  // extern "C"
