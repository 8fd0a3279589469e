// Random access to a file of authenticated segments.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/secret.hpp"
#include "engine/pipeline/memory.hpp"
#include "format/read_ahead.hpp"
#include "format/segment_cipher.hpp"

namespace warpaes {

/// The segments that were opened last, so that reading on in small pieces opens each only once. Thread-safe.
class SegmentCache {
public:
    using Text = std::shared_ptr<const SecretBuffer>;

    /// Null if it is not here.
    [[nodiscard]] Text find(std::uint64_t segment);
    void keep(std::uint64_t segment, Text text);

private:
    /// At least one segment is kept, however large.
    static constexpr std::size_t most_bytes = std::size_t{16} << 20;
    static constexpr std::size_t most_segments = 16;
    struct Entry {
        std::uint64_t segment;
        Text text;
    };
    std::mutex mutex_;
    std::vector<Entry> entries_;  ///< the one used last at the end
    std::size_t bytes_ = 0;
};

class SegmentReader {
public:
    /// Reads the header, and the last segment to find the right one among `keys` and to see that the end is there.
    /// `source` is not sequential; in host memory it may be read as it lies. Throws Error{KEYSET} without keys,
    /// Error{FORMAT}, Error{AUTHENTICATION}, Error{READ}.
    SegmentReader(Engine& engine, std::unique_ptr<Source> source, std::span<const StreamKey* const> keys,
                  std::span<const std::uint8_t> aad);

    /// Bytes of plaintext.
    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

    /// Fills `output`, in memory of any kind, with what begins at `offset`, and returns how much that was: less than
    /// asked for only at the end. Reads and opens only the segments under it, but for what ReadAhead does. Thread-safe.
    /// What is thrown leaves zeros in `output`; Error{RANGE} for an offset beyond the end.
    std::uint64_t read(std::uint64_t offset, std::uint8_t* output, std::uint64_t length);

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
    SegmentFormat format_{};
    SegmentCache cache_;
    std::unique_ptr<ReadAhead> ahead_;  ///< may be null
};

}  // namespace warpaes
