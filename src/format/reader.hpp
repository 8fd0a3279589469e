// Random access to a file of authenticated segments.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/process.hpp"
#include "base/secret.hpp"
#include "engine/pipeline/memory.hpp"
#include "format/read_ahead.hpp"
#include "format/segment_cipher.hpp"

namespace warpaes {

/// Recently opened segments, so that small sequential reads open each segment only once. Thread-safe.
class SegmentCache {
public:
    using Text = std::shared_ptr<const SecretBuffer>;

    /// Null if the segment is not cached.
    [[nodiscard]] Text find(std::uint64_t segment);
    void keep(std::uint64_t segment, Text text);

private:
    /// One segment is always kept, regardless of its size.
    static constexpr std::size_t most_bytes = std::size_t{16} << 20;
    static constexpr std::size_t most_segments = 16;
    struct Entry {
        std::uint64_t segment;
        Text text;
    };
    ForkSafe<> mutex_;
    std::vector<Entry> entries_;  ///< most recently used last
    std::size_t bytes_ = 0;
};

/// The plaintext of a file of authenticated segments.
class FileReader {
public:
    FileReader() = default;
    FileReader(const FileReader&) = delete;
    FileReader& operator=(const FileReader&) = delete;
    virtual ~FileReader() = default;

    [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;
    [[nodiscard]] virtual const SegmentLayout& layout() const noexcept = 0;
    virtual std::uint64_t read(std::uint64_t offset, std::uint8_t* output, std::uint64_t length) = 0;
};

/// A file of authenticated segments, whose plaintext can be read at any position.
class SegmentReader final : public FileReader {
public:
    /// Reads the header, and opens the last segment, which identifies the key among `keys` and proves that the end of
    /// the file is present. `source` must not be sequential; a source in host memory may be read in place. Throws
    /// Error{KEYSET} if `keys` is empty, and also Error{FORMAT}, Error{AUTHENTICATION} or Error{READ}.
    SegmentReader(Engine& engine, std::unique_ptr<Source> source, std::span<const StreamKey* const> keys,
                  std::span<const std::uint8_t> aad);

    /// Size of the plaintext.
    [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
    [[nodiscard]] const SegmentLayout& layout() const noexcept override { return cipher_->layout(); }

    /// Reads up to `length` bytes, starting at `offset`, into `output`, in memory of any kind. Returns the number of
    /// bytes, which is less than `length` only at the end. Apart from read-ahead, only the segments that contain these
    /// bytes are read and opened. Thread-safe. Throws Error{RANGE} if the offset is beyond the end. If the call
    /// throws, `output` is zeroed.
    std::uint64_t read(std::uint64_t offset, std::uint8_t* output, std::uint64_t length) override;

private:
    class Tail;

    void try_key(const StreamKey& key, std::span<const std::uint8_t> aad, std::span<const std::uint8_t> header,
                 Tail& tail);
    void fill(std::uint64_t offset, const Located& output, std::uint64_t length);
    void open(const SegmentRange& range, const Located& output);
    [[nodiscard]] SegmentCache::Text text_of(std::uint64_t segment);
    [[nodiscard]] std::uint64_t text_end(std::uint64_t segment) const noexcept;
    void check_overlap(const std::uint8_t* output, std::uint64_t length) const;

    Engine& engine_;
    std::unique_ptr<Source> source_;
    std::unique_ptr<SegmentCipher> cipher_;
    std::uint64_t size_ = 0;
    std::uint64_t segments_ = 0;
    const SegmentFormat* format_ = nullptr;
    SegmentCache cache_;
    std::unique_ptr<ReadAhead> ahead_;  ///< may be null
};

}  // namespace warpaes
