#include <string>

#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "engine/engine.hpp"
#include "engine/pipeline/file.hpp"
#include "engine/pipeline/memory.hpp"
#include "format/forward_reader.hpp"

namespace {

using namespace warpaes;
using namespace warpaes::capi;

std::span<const std::uint8_t> checked_aad(const void* aad, std::size_t length) {
    if (length != 0) require(aad, "aad");
    return {static_cast<const std::uint8_t*>(aad), length};
}

std::string checked_path(const char* path, const char* name) {
    if (*path == '\0') throw Error(WARPAES_ERROR_ARGUMENT, std::string(name) + ": the path is empty");
    return path;
}

/// Throws unless exactly one place is given.
void require_one_place(int given, const char* name, const char* places) {
    if (given == 1) return;
    throw Error(WARPAES_ERROR_ARGUMENT,
                std::string(name) + (given == 0 ? ": has no " : ": has more than one of ") + places);
}

/// A source that calls the caller's function.
class CallerSource final : public Source {
public:
    explicit CallerSource(const warpaes_source& source) : source_(source) {}
    std::uint64_t size() const noexcept override { return source_.size; }
    bool is_sequential() const noexcept override { return false; }
    std::size_t read(std::uint64_t offset, std::span<std::uint8_t> buffer) override {
        const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), source_.size - offset));
        if (n == 0) return 0;
        const int result = call_back([&] { return source_.read(source_.user, offset, buffer.data(), n); });
        if (result != 0) {
            throw Error(WARPAES_ERROR_READ, "source: its function returned " + std::to_string(result) + " for " +
                                                std::to_string(n) + " bytes at " + std::to_string(offset));
        }
        return n;
    }

private:
    warpaes_source source_;
};

/// A source that cannot seek and calls the caller's function.
class SequentialSource final : public Source {
public:
    explicit SequentialSource(const warpaes_source& source) : source_(source) {}
    std::uint64_t size() const noexcept override { return Engine::unknown_length; }
    bool is_sequential() const noexcept override { return true; }
    std::size_t read(std::uint64_t offset, std::span<std::uint8_t> buffer) override {
        std::size_t have = 0;
        while (have < buffer.size()) {
            const std::size_t n = read_some(offset + have, buffer.subspan(have));
            if (n == 0) break;
            have += n;
        }
        return have;
    }
    std::size_t read_some(std::uint64_t /*offset*/, std::span<std::uint8_t> buffer) override {
        if (ended_ || buffer.empty()) return 0;
        std::uint64_t got = 0;
        const int result = call_back([&] { return source_.next(source_.user, buffer.data(), buffer.size(), &got); });
        if (result != 0) {
            throw Error(WARPAES_ERROR_READ, "source: its function returned " + std::to_string(result) +
                                                " for the next " + std::to_string(buffer.size()) + " bytes");
        }
        if (got > buffer.size()) {
            throw Error(WARPAES_ERROR_READ, "source: its function reports " + std::to_string(got) +
                                                " bytes, but at most " + std::to_string(buffer.size()));
        }
        ended_ = got == 0;
        return static_cast<std::size_t>(got);
    }

private:
    warpaes_source source_;
    bool ended_ = false;  ///< a second read would make a terminal wait for a second end of file
};

/// A sink that calls the caller's function.
class CallerSink final : public Sink {
public:
    explicit CallerSink(const warpaes_sink& sink) : sink_(sink) {}
    bool is_sequential() const noexcept override { return true; }
    void write(std::uint64_t /*offset*/, std::span<const std::uint8_t> bytes) override {
        const int result = call_back([&] { return sink_.write(sink_.user, bytes.data(), bytes.size()); });
        if (result != 0) {
            throw Error(WARPAES_ERROR_WRITE, "sink: its function returned " + std::to_string(result) + " for " +
                                                 std::to_string(bytes.size()) + " bytes");
        }
    }

private:
    warpaes_sink sink_;
};

std::unique_ptr<Source> open_file(const std::string& path) {
    note_stack_depth(files_stack);
    auto file = std::make_unique<FileSource>(path);
    if (S_ISREG(file->status().st_mode) && file->status().st_size == 0) {
        throw Error(WARPAES_ERROR_FORMAT, "source: " + file->name() + " is empty");
    }
    return file;
}

std::unique_ptr<Source> to_source(const warpaes_source& s) {
    require_one_place((s.path != nullptr) + (s.memory != nullptr) + (s.read != nullptr) + (s.next != nullptr), "source",
                      "path, memory or function");
    if (s.path != nullptr) return open_file(checked_path(s.path, "source"));
    if (s.read != nullptr) return std::make_unique<CallerSource>(s);
    if (s.next != nullptr) return std::make_unique<SequentialSource>(s);
    const int device = device_of(s.memory);
    // Lanes require ciphertext in host memory, so ciphertext on a device is copied to the host.
    return std::make_unique<MemorySource>(
        MemoryBuffer{static_cast<std::uint8_t*>(const_cast<void*>(s.memory)), s.memory_len, device < 0, device});
}

}  // namespace

extern "C" {

warpaes_status warpaes_reader_open(warpaes_engine* engine, const warpaes_source* source, const warpaes_keyset* keyset,
                                   const void* aad, size_t aad_len, warpaes_reader** reader) {
    return created(reader, "reader", [&] {
        require(engine, "engine");
        require(keyset, "keyset");
        const auto s = read_struct(source, "source");
        const auto text = checked_aad(aad, aad_len);
        std::unique_ptr<Source> from = to_source(s);
        std::optional<struct stat> file;
        if (from->is_sequential()) {
            return new warpaes_reader{
                std::make_unique<ForwardReader>(engine->impl, std::move(from), keyset->impl.usable(), text)};
        }
        if (const auto* named = dynamic_cast<const FileSource*>(from.get())) file = named->status();
        return new warpaes_reader{
            std::make_unique<SegmentReader>(engine->impl, std::move(from), keyset->impl.usable(), text), file};
    });
}

uint64_t warpaes_reader_size(const warpaes_reader* reader) {
    return reader != nullptr ? reader->impl->size() : 0;
}

warpaes_status warpaes_reader_segments(const warpaes_reader* reader, uint64_t* first, uint64_t* others) {
    return guarded([&] {
        require(reader, "reader");
        require(first, "first");
        require(others, "others");
        *first = reader->impl->layout().first_text;
        *others = reader->impl->layout().text;
    });
}

warpaes_status warpaes_reader_read(warpaes_reader* reader, uint64_t offset, void* output, uint64_t length,
                                   uint64_t* read) {
    return guarded([&] {
        require(read, "read");
        *read = 0;
        require(reader, "reader");
        if (length != 0) require(output, "output");
        *read = reader->impl->read(offset, static_cast<std::uint8_t*>(output), length);
    });
}

void warpaes_reader_close(warpaes_reader* reader) {
    delete reader;
}

warpaes_status warpaes_writer_open(warpaes_engine* engine, const warpaes_sink* sink, const warpaes_keyset* keyset,
                                   const void* aad, size_t aad_len, warpaes_writer** writer) {
    return created(writer, "writer", [&] {
        require(engine, "engine");
        require(keyset, "keyset");
        const auto s = read_struct(sink, "sink");
        require_one_place((s.path != nullptr) + (s.write != nullptr), "sink", "path or function");
        refuse_unknown_flags(s.flags, WARPAES_FILE_OVERWRITE | WARPAES_FILE_NO_SYNC);
        const auto text = checked_aad(aad, aad_len);
        const StreamKey& key = keyset->impl.primary();
        const bool overwrite = (s.flags & WARPAES_FILE_OVERWRITE) != 0;
        if (s.replaces != nullptr && (!overwrite || s.path == nullptr || !s.replaces->file)) {
            throw Error(WARPAES_ERROR_ARGUMENT,
                        "sink: replaces requires WARPAES_FILE_OVERWRITE, a path, and a reader of a file");
        }
        if (s.write != nullptr) {
            return new warpaes_writer{{engine->impl, std::make_unique<CallerSink>(s), [] {}, key, text}};
        }
        note_stack_depth(files_stack);
        const std::string path = checked_path(s.path, "sink");
        auto file = s.replaces != nullptr ? FileSink::replacing(path, *s.replaces->file)
                                          : std::make_unique<FileSink>(path, overwrite, nullptr);
        FileSink* const output = file.get();
        output->set_durable((s.flags & WARPAES_FILE_NO_SYNC) == 0);
        return new warpaes_writer{{engine->impl, std::move(file),
                                   [output] {
                                       note_stack_depth(files_stack);
                                       output->commit();
                                   },
                                   key, text}};
    });
}

warpaes_status warpaes_writer_write(warpaes_writer* writer, const void* input, uint64_t length) {
    return guarded([&] {
        require(writer, "writer");
        if (length != 0) require(input, "input");
        writer->impl.write(static_cast<const std::uint8_t*>(input), length);
    });
}

warpaes_status warpaes_writer_finish(warpaes_writer* writer) {
    return guarded([&] {
        require(writer, "writer");
        writer->impl.finish();
    });
}

void warpaes_writer_close(warpaes_writer* writer) {
    delete writer;
}

}  // extern "C"
