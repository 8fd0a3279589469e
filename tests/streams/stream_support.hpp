// Helpers for the tests of readers and writers, in addition to the helpers for the C ABI's tests.
#pragma once

#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "folder.hpp"
#include "segment_formats.hpp"
#include "support.hpp"

namespace stream_tests {

using abi_tests::Bytes;
using abi_tests::Engine;
using abi_tests::Random;
using oracle::Folder;
using oracle::SegmentFormat;

struct Destroy {
    void operator()(warpaes_keyset* keyset) const { warpaes_keyset_destroy(keyset); }
    void operator()(warpaes_reader* reader) const { warpaes_reader_close(reader); }
    void operator()(warpaes_writer* writer) const { warpaes_writer_close(writer); }
};
using Keyset = std::unique_ptr<warpaes_keyset, Destroy>;
using Reader = std::unique_ptr<warpaes_reader, Destroy>;
using Writer = std::unique_ptr<warpaes_writer, Destroy>;

Keyset parse_keyset(const std::string& json);
Keyset make_keyset(const SegmentFormat& format, const Bytes& key);

/// A plaintext and its encrypted file, created by the oracle.
struct TestFile {
    TestFile(const SegmentFormat& format, std::size_t bytes, std::uint64_t seed = 1);
    [[nodiscard]] bool is_the_text(const Bytes& bytes, std::size_t offset) const;
    /// Returns the bytes of segment `i` in the file.
    [[nodiscard]] Bytes segment(std::size_t i) const;

    SegmentFormat format;
    Bytes key, aad, text, file;
    Keyset keyset;
};

/// Returns plaintext lengths near the ends of the first segments, and some longer lengths.
std::vector<std::size_t> lengths_round_segments(const SegmentFormat& format);

/// A file in memory, with the callbacks of a source and of a sink. It records every call.
class Store {
public:
    struct Call {
        std::uint64_t offset;
        std::uint64_t length;
    };
    Store() = default;
    explicit Store(Bytes bytes) : bytes_(std::move(bytes)) {}

    warpaes_source source();
    warpaes_sink sink();

    /// Makes the n-th call from now fail, counted from 0. All later calls also fail unless `once` is set.
    void fail_at(int n, bool once = false);
    std::vector<Call> calls();
    void forget_calls();
    [[nodiscard]] const Bytes& bytes() const { return bytes_; }

private:
    bool fails();

    std::mutex mutex_;
    Bytes bytes_;
    std::vector<Call> calls_;
    int fail_at_ = -1;
    bool fail_once_ = false;
};

warpaes_source memory_source(const Bytes& bytes);
warpaes_source path_source(const std::string& path);
warpaes_sink path_sink(const std::string& path, std::uint32_t flags = 0);

/// Opens a reader. If the call is refused, returns null and sets `*status`.
Reader open_reader(const Engine& engine, const warpaes_source& source, const Keyset& keyset, const Bytes& aad,
                   warpaes_status* status = nullptr);
/// Opens a writer. Fails the test if the call is refused.
Writer open_writer(const Engine& engine, const warpaes_sink& sink, const Keyset& keyset, const Bytes& aad);

/// Returns the bytes that a read returns. Fails the test if the read fails or writes outside its output.
Bytes read(const Reader& reader, std::uint64_t offset, std::size_t length);
/// Returns the status of a read. Fails the test unless the output is all zeros afterwards.
warpaes_status failing_read(const Reader& reader, std::uint64_t offset, std::size_t length);

/// Checks the status for a wrong argument, and that the error message begins with the argument's name.
void expect_refused(warpaes_status status, const std::string& argument);

/// Returns an engine with three workers and chunks of 4 KiB, so that short files have many chunks.
Engine small_chunks(const std::string& backend);

void write_file(const std::string& path, const Bytes& bytes);
Bytes read_file(const std::string& path);

/// The base class of suites whose tests run once for each backend, on an engine with small chunks.
class StreamTest : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        engine_ = small_chunks(GetParam());
        ASSERT_NE(engine_, nullptr);
    }
    Engine engine_;
};

}  // namespace stream_tests
