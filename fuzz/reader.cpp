// Tests readers and writers with arbitrary sequences of calls on a known text. The pieces have any size and position.
// The storage may fail, and the files may be damaged.
#include <cstring>

#include "sealed_files.hpp"

namespace {

using namespace fuzz;

struct Destroy {
    void operator()(warpaes_reader* reader) const { warpaes_reader_close(reader); }
    void operator()(warpaes_writer* writer) const { warpaes_writer_close(writer); }
};

/// The source of a reader or the sink of a writer: memory whose callbacks fail after `calls_left` calls.
struct Storage {
    Bytes bytes;
    std::size_t calls_left = SIZE_MAX;
    bool failed = false;

    int call() {
        if (calls_left == 0) {
            failed = true;
            return 5;
        }
        --calls_left;
        return 0;
    }
    static int read(void* user, std::uint64_t offset, void* buffer, std::uint64_t length) {
        auto& self = *static_cast<Storage*>(user);
        require(offset + length <= self.bytes.size(), "a read past the end");
        std::memcpy(buffer, self.bytes.data() + offset, length);
        return self.call();
    }
    static int write(void* user, const void* bytes, std::uint64_t length) {
        auto& self = *static_cast<Storage*>(user);
        if (self.call() != 0) return 5;
        const auto* from = static_cast<const std::uint8_t*>(bytes);
        self.bytes.insert(self.bytes.end(), from, from + length);
        return 0;
    }
};

void read(Input& in, warpaes_engine* engine) {
    const StreamKey& key = any_stream_key(in);
    const SealedFile& sealed = sealed_file(engine, key, any_length(in, key));
    const bool right_aad = in.below(16) != 0, own_keys = in.below(4) != 0;
    Storage storage{in.flag() ? sealed.file : spoil(in, engine, key, sealed)};
    const SealedFile* const authentic =
        right_aad && (own_keys || key.is_in_all) ? find_sealed(key, storage.bytes) : nullptr;
    warpaes_source source{};
    source.struct_size = sizeof source;
    if (in.flag()) {
        source.memory = storage.bytes.data();
        source.memory_len = storage.bytes.size();
        if (storage.bytes.empty()) return;
    } else {
        source.read = Storage::read;
        source.size = storage.bytes.size();
        source.user = &storage;
        if (in.below(4) == 0) storage.calls_left = in.below(12);
    }
    warpaes_reader* opened = nullptr;
    const warpaes_status status = warpaes_reader_open(engine, &source, own_keys ? key.keyset : keyset_of_all(), aad,
                                                      right_aad ? sizeof aad : sizeof aad - 1, &opened);
    const std::unique_ptr<warpaes_reader, Destroy> reader(opened);
    if (status != WARPAES_OK) {
        require(authentic == nullptr || storage.failed, "our own file is refused");
        require(opened == nullptr, "a failure and a reader");
        return;
    }
    require(right_aad, "wrong associated data were accepted");
    require(has_our_ends(key, storage.bytes), "a file with a foreign end was opened");
    const std::uint64_t size = warpaes_reader_size(opened);
    if (authentic != nullptr) require(size == authentic->text.size(), "another length");
    for (int steps = 0; steps < 8 && !in.empty(); ++steps) {
        const std::uint64_t offset =
            in.below(8) == 0 ? in.number() : in.below(static_cast<std::size_t>(size % 65536) + 2);
        const std::size_t length = in.below(in.below(8) == 0 ? 35000 : 300);
        Bytes output(length, 0xa5);
        std::uint64_t n = 99;
        static std::uint8_t nothing = 0;
        const warpaes_status result =
            warpaes_reader_read(opened, offset, output.empty() ? &nothing : output.data(), length, &n);
        if (result == WARPAES_OK) {
            require(offset <= size && n == std::min<std::uint64_t>(length, size - offset),
                    "a different number of bytes");
            output.resize(n);
            require(output == text_from(static_cast<std::size_t>(offset), n), "another text");
            continue;
        }
        if (offset > size) {
            require(result == WARPAES_ERROR_RANGE, "a position past the end");
            continue;
        }
        require(authentic == nullptr || storage.failed, "our own segments are refused");
        // Expects zeros up to the end of the text. Bytes past the end must not be written.
        const auto reach = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(length, size - offset));
        require(std::all_of(output.begin(), output.begin() + reach, [](auto b) { return b == 0; }),
                "a failure leaves bytes in the output");
    }
}

void write(Input& in, warpaes_engine* engine) {
    const StreamKey& key = any_stream_key(in);
    Storage storage;
    if (in.below(4) == 0) storage.calls_left = in.below(12);
    warpaes_sink sink{};
    sink.struct_size = sizeof sink;
    sink.write = Storage::write;
    sink.user = &storage;
    warpaes_writer* opened = nullptr;
    warpaes_status status = warpaes_writer_open(engine, &sink, key.keyset, aad, sizeof aad, &opened);
    const std::unique_ptr<warpaes_writer, Destroy> writer(opened);
    std::size_t total = 0;
    for (int steps = 0; steps < 8 && status == WARPAES_OK && !in.empty(); ++steps) {
        const Bytes piece = text_from(total, in.below(in.below(16) == 0 ? 20000 : 300));
        static const std::uint8_t nothing = 0;
        status = warpaes_writer_write(opened, piece.empty() ? &nothing : piece.data(), piece.size());
        total += piece.size();
    }
    if (status == WARPAES_OK) status = warpaes_writer_finish(opened);
    if (status != WARPAES_OK) {
        require(storage.failed, "a write is refused");
        if (opened != nullptr)
            require(warpaes_writer_finish(opened) == WARPAES_ERROR_STATE, "a failed writer continues");
        return;
    }
    require(!storage.failed, "a failure of the sink was not reported");
    warpaes_source source{};
    source.struct_size = sizeof source;
    source.memory = storage.bytes.data();
    source.memory_len = storage.bytes.size();
    warpaes_reader* again = nullptr;
    expect_ok(warpaes_reader_open(engine, &source, key.keyset, aad, sizeof aad, &again), "our own file");
    const std::unique_ptr<warpaes_reader, Destroy> reader(again);
    Bytes output(total + 1);
    std::uint64_t n = 0;
    expect_ok(warpaes_reader_read(again, 0, output.data(), output.size(), &n), "reading our own file");
    output.resize(n);
    require(output == text_from(0, total), "the round trip changes the text");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input in(data, size);
    warpaes_engine* const engine = any_engine(in);
    in.below(4) == 0 ? write(in, engine) : read(in, engine);
    return 0;
}
