// Read-ahead for a file of segments that is read from front to back in pieces too short to occupy all threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "engine/pipeline/memory.hpp"
#include "format/segment_cipher.hpp"
#include "format/segment_stage.hpp"

namespace warpaes {

/// Memory for a window, in large pages if the system supports them, because the first access to small pages takes about
/// as long as opening the segments. Its initial contents are undefined. It is wiped before it is released.
class WindowMemory {
public:
    /// Throws std::bad_alloc.
    explicit WindowMemory(std::size_t size);
    WindowMemory(const WindowMemory&) = delete;
    WindowMemory& operator=(const WindowMemory&) = delete;
    ~WindowMemory();

    [[nodiscard]] std::uint8_t* data() const noexcept { return data_; }
    /// Announces that the first `bytes` bytes will be written.
    void use(std::size_t bytes) noexcept { used_ = std::max(used_, bytes); }

private:
    void* mapped_;
    std::size_t mapped_bytes_;
    std::uint8_t* data_;
    std::size_t used_ = 0;
};

/// Keeps a window of opened segments, from which it serves reads, and the next window, which the engine's threads open
/// in the meantime. A reader that needs the next window before it is ready helps to open it. Thread-safe, but intended
/// for a single sequential reader: concurrent readers, and reads at other offsets, receive nothing.
class ReadAhead {
public:
    /// Returns null if read-ahead would not help: with a single thread, a source that calls the caller's functions, or
    /// huge segments. The arguments must outlive the result. `size` is the plaintext size.
    static std::unique_ptr<ReadAhead> over(Engine& engine, const SegmentCipher& cipher, const SegmentFormat& format,
                                           Source& source, std::uint64_t size);

    ReadAhead(Engine& engine, const SegmentCipher& cipher, const SegmentFormat& format, Source& source,
              std::uint64_t size);
    ReadAhead(const ReadAhead&) = delete;
    ReadAhead& operator=(const ReadAhead&) = delete;
    ~ReadAhead();

    /// Announces a read of `length` bytes at `offset`. Windows are opened only if the read follows earlier sequential
    /// reads.
    void expect(std::uint64_t offset, std::uint64_t length);
    /// Copies the available part of the `length` bytes at `offset` to `output`, in host memory, and returns the number
    /// of bytes. Returns 0 if none of the bytes are available, or if a segment does not open; opening that segment
    /// again throws the error.
    std::uint64_t read(std::uint64_t offset, std::uint8_t* output, std::uint64_t length);

private:
    struct Next;
    /// Segments that are open or being opened. Their plaintext begins at byte `begin`.
    struct Window {
        std::uint64_t first = 0, count = 0;
        std::uint64_t begin = 0, bytes = 0;
        std::unique_ptr<WindowMemory> text;
        [[nodiscard]] bool covers(std::uint64_t offset) const noexcept {
            return offset >= begin && offset - begin < bytes;
        }
    };

    /// Makes the next window the current window and begins another; returns false if a segment does not open.
    bool advance();
    /// Begins to open the window that starts at `segment`, if that segment exists.
    void begin(std::uint64_t segment);

    Engine& engine_;
    const SegmentCipher& cipher_;
    const SegmentFormat& format_;
    Source& source_;
    const std::uint64_t size_;
    const std::uint64_t segments_;
    const std::size_t room_;  ///< size of a window's memory

    std::mutex mutex_;  // guards everything below
    std::uint64_t expected_;
    std::uint64_t run_bytes_ = 0;  ///< total bytes of the consecutive reads so far
    bool in_sequence_ = false;
    bool refused_ = false;  ///< whether read-ahead is disabled for the rest of this sequence
    std::uint64_t window_bytes_;
    Window window_;
    std::unique_ptr<WindowMemory> spare_;
    std::unique_ptr<Next> next_;
};

}  // namespace warpaes
