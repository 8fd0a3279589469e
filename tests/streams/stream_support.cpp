#include "stream_support.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace stream_tests {

Keyset parse_keyset(const std::string& json) {
    warpaes_keyset* keyset = nullptr;
    EXPECT_EQ(warpaes_keyset_parse(json.data(), json.size(), &keyset), WARPAES_OK) << warpaes_last_error();
    return Keyset(keyset);
}

Keyset make_keyset(const SegmentFormat& format, const Bytes& key) {
    if (format.kind != SegmentFormat::Kind::c2sp) {
        return parse_keyset(oracle::tink_keyset({oracle::tink_key(format, key, 7)}, 7));
    }
    warpaes_keyset* keyset = nullptr;
    const char* name = format.key_bytes == 16 ? "C2SP_CHUNKED_128" : "C2SP_CHUNKED_256";
    const Bytes raw = format.input_key(key);
    EXPECT_EQ(warpaes_keyset_from_raw(name, raw.data(), raw.size(), &keyset), WARPAES_OK) << warpaes_last_error();
    return Keyset(keyset);
}

void expect_refused(warpaes_status status, const std::string& argument) {
    const std::string sentence = warpaes_last_error();
    EXPECT_EQ(status, WARPAES_ERROR_ARGUMENT) << argument;
    EXPECT_EQ(sentence.rfind(argument, 0), 0U) << argument << ": " << sentence;
}

TestFile::TestFile(const SegmentFormat& f, std::size_t bytes, std::uint64_t seed) : format(f) {
    Random random(seed);
    key = random.bytes(32);
    aad = random.bytes(13);
    text = random.bytes(bytes);
    file = oracle::seal_segments(format, key, aad, text, random.bytes(format.header_bytes()));
    keyset = make_keyset(format, key);
}

bool TestFile::is_the_text(const Bytes& bytes, std::size_t offset) const {
    return offset + bytes.size() <= text.size() &&
           std::equal(bytes.begin(), bytes.end(), text.begin() + static_cast<std::ptrdiff_t>(offset));
}

Bytes TestFile::segment(std::size_t i) const {
    const auto first = file.begin() + static_cast<std::ptrdiff_t>(format.begin(i));
    const auto end = file.begin() + static_cast<std::ptrdiff_t>(std::min(format.begin(i + 1), file.size()));
    return {first, end};
}

std::vector<std::size_t> lengths_round_segments(const SegmentFormat& format) {
    std::vector<std::size_t> lengths{0, 1};
    for (std::size_t segments = 0; segments < 4; ++segments) {
        const std::size_t end = format.first_text() + segments * format.text();
        lengths.insert(lengths.end(), {end - 1, end, end + 1});
    }
    lengths.push_back(format.first_text() + 9 * format.text() + format.text() / 3);
    return lengths;
}

// ------------------------------------------------------------------------------------------------------------- store

warpaes_source Store::source() {
    warpaes_source source{};
    source.struct_size = sizeof source;
    source.size = bytes_.size();
    source.user = this;
    source.read = [](void* user, std::uint64_t offset, void* buffer, std::uint64_t length) {
        auto& store = *static_cast<Store*>(user);
        const std::lock_guard lock(store.mutex_);
        store.calls_.push_back({offset, length});
        if (length == 0) ADD_FAILURE() << "called for zero bytes";
        if (store.fails() || offset > store.bytes_.size() || length > store.bytes_.size() - offset) return 5;
        std::memcpy(buffer, store.bytes_.data() + offset, length);
        return 0;
    };
    return source;
}

warpaes_sink Store::sink() {
    warpaes_sink sink{};
    sink.struct_size = sizeof sink;
    sink.user = this;
    sink.write = [](void* user, const void* bytes, std::uint64_t length) {
        auto& store = *static_cast<Store*>(user);
        const std::unique_lock lock(store.mutex_, std::try_to_lock);
        if (!lock.owns_lock()) return 6;  // two calls are concurrent
        store.calls_.push_back({store.bytes_.size(), length});
        if (store.fails()) return 5;
        const auto* first = static_cast<const std::uint8_t*>(bytes);
        store.bytes_.insert(store.bytes_.end(), first, first + length);
        return 0;
    };
    return sink;
}

bool Store::fails() {
    if (fail_at_ < 0 || static_cast<int>(calls_.size()) <= fail_at_) return false;
    return !fail_once_ || static_cast<int>(calls_.size()) == fail_at_ + 1;
}

void Store::fail_at(int n, bool once) {
    calls_.clear();
    fail_at_ = n;
    fail_once_ = once;
}

std::vector<Store::Call> Store::calls() {
    const std::lock_guard lock(mutex_);
    return calls_;
}

void Store::forget_calls() {
    fail_at(-1);
}

warpaes_source memory_source(const Bytes& bytes) {
    warpaes_source source{};
    source.struct_size = sizeof source;
    static const std::uint8_t nothing = 0;
    source.memory = bytes.empty() ? &nothing : bytes.data();
    source.memory_len = bytes.size();
    return source;
}

warpaes_source path_source(const std::string& path) {
    warpaes_source source{};
    source.struct_size = sizeof source;
    source.path = path.c_str();
    return source;
}

warpaes_sink path_sink(const std::string& path, std::uint32_t flags) {
    warpaes_sink sink{};
    sink.struct_size = sizeof sink;
    sink.flags = flags;
    sink.path = path.c_str();
    return sink;
}

// ----------------------------------------------------------------------------------------------- readers and writers

Reader open_reader(const Engine& engine, const warpaes_source& source, const Keyset& keyset, const Bytes& aad,
                   warpaes_status* status) {
    warpaes_reader* reader = nullptr;
    const warpaes_status result =
        warpaes_reader_open(engine.get(), &source, keyset.get(), aad.data(), aad.size(), &reader);
    EXPECT_EQ(result == WARPAES_OK, reader != nullptr);
    if (status != nullptr) {
        *status = result;
    } else {
        EXPECT_EQ(result, WARPAES_OK) << warpaes_last_error();
    }
    return Reader(reader);
}

Writer open_writer(const Engine& engine, const warpaes_sink& sink, const Keyset& keyset, const Bytes& aad) {
    warpaes_writer* writer = nullptr;
    EXPECT_EQ(warpaes_writer_open(engine.get(), &sink, keyset.get(), aad.data(), aad.size(), &writer), WARPAES_OK)
        << warpaes_last_error();
    return Writer(writer);
}

Bytes read(const Reader& reader, std::uint64_t offset, std::size_t length) {
    abi_tests::PoisonedBuffer output(length, offset % 17);
    std::uint64_t got = 77;
    EXPECT_EQ(warpaes_reader_read(reader.get(), offset, output.data(), length, &got), WARPAES_OK)
        << warpaes_last_error();
    EXPECT_LE(got, length);
    EXPECT_TRUE(output.intact_after(got)) << "wrote outside its output";
    return output.bytes(got);
}

warpaes_status failing_read(const Reader& reader, std::uint64_t offset, std::size_t length) {
    abi_tests::PoisonedBuffer output(length);
    std::uint64_t got = 77;
    const warpaes_status status = warpaes_reader_read(reader.get(), offset, output.data(), length, &got);
    EXPECT_EQ(got, 0U);
    const Bytes bytes = output.bytes(length);
    EXPECT_TRUE(std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t b) { return b == 0; })) << "not wiped";
    EXPECT_TRUE(output.intact_after(length)) << "wrote outside its output";
    return status;
}

Engine small_chunks(const std::string& backend) {
    return abi_tests::make_engine(backend, 4096, 3);
}

// ------------------------------------------------------------------------------------------------------------- files

void write_file(const std::string& path, const Bytes& bytes) {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

Bytes read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace stream_tests
