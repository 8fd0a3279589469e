#include "reencrypt.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "interrupt.hpp"

namespace cli {

namespace {

struct WriterClose {
    void operator()(warpaes_writer* writer) const { warpaes_writer_close(writer); }
};
using Writer = std::unique_ptr<warpaes_writer, WriterClose>;

/// A buffer for plaintext that is large enough to keep all workers busy. It is wiped on destruction.
class Piece {
public:
    explicit Piece(std::uint64_t bytes)
        : size_(static_cast<std::size_t>(std::min(bytes, most))), bytes_(new unsigned char[size_]) {}
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;
    ~Piece() { explicit_bzero(bytes_.get(), size_); }
    [[nodiscard]] unsigned char* data() noexcept { return bytes_.get(); }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
    static constexpr std::uint64_t most = 32u << 20;
    std::size_t size_;
    std::unique_ptr<unsigned char[]> bytes_;
};

warpaes_status open_reader(warpaes_engine* engine, const warpaes_keyset* keyset, const std::string& path,
                           const std::string& aad, Reader& reader) {
    warpaes_source source = WARPAES_SOURCE_INIT;
    source.path = path.c_str();
    warpaes_reader* made = nullptr;
    const warpaes_status status = warpaes_reader_open(engine, &source, keyset, aad.data(), aad.size(), &made);
    reader.reset(made);
    return status;
}

}  // namespace

void refuse_irregular(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
        throw Failure(WARPAES_ERROR_NOT_FOUND, fmt::format("cannot open '{}': {}", path, std::strerror(errno)));
    }
    if (!S_ISREG(status.st_mode)) {
        throw Failure(WARPAES_ERROR_ARGUMENT, "not a regular file, so it cannot be replaced");
    }
}

bool opens(warpaes_engine* engine, const warpaes_keyset* keyset, const std::string& path, const std::string& aad) {
    Reader reader;
    return open_reader(engine, keyset, path, aad, reader) == WARPAES_OK;
}

std::uint64_t reencrypt_file(const Reencryption& how, const std::string& opened, const std::string& path) {
    Reader reader;
    check(open_reader(how.engine, how.from, opened, how.aad, reader));
    warpaes_sink sink = WARPAES_SINK_INIT;
    sink.path = path.c_str();
    sink.replaces = reader.get();  // the path may now refer to another file
    sink.flags = WARPAES_FILE_OVERWRITE | (how.durable ? 0u : std::uint32_t{WARPAES_FILE_NO_SYNC});
    warpaes_writer* made = nullptr;
    check(warpaes_writer_open(how.engine, &sink, how.to, how.aad.data(), how.aad.size(), &made));
    const Writer writer(made);
    const std::uint64_t size = warpaes_reader_size(reader.get());
    Piece piece(size);
    for (std::uint64_t done = 0; done < size;) {
        std::uint64_t got = 0;
        check(warpaes_reader_read(reader.get(), done, piece.data(), piece.size(), &got));
        check(warpaes_writer_write(writer.get(), piece.data(), got));
        done += got;
        if (!how.progress(done, size)) throw Failure(WARPAES_ERROR_CANCELLED, "interrupted");
    }
    check(warpaes_writer_finish(writer.get()));
    return size;
}

}  // namespace cli
