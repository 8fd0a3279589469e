// Reading on, where a file of segments is read front to back in pieces that are shorter than what all threads together
// have use for.
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

/// Room for a window, in large pages where the system has them: touching small ones for the first time takes about as
/// long as opening what goes there. Begins undefined or zero, and is overwritten before it is released.
class WindowMemory {
public:
    /// Throws std::bad_alloc.
    explicit WindowMemory(std::size_t size);
    WindowMemory(const WindowMemory&) = delete;
    WindowMemory& operator=(const WindowMemory&) = delete;
    ~WindowMemory();

    [[nodiscard]] std::uint8_t* data() const noexcept { return data_; }
    /// So much of it is going to be written to.
    void use(std::size_t bytes) noexcept { used_ = std::max(used_, bytes); }

private:
    void* mapped_;
    std::size_t mapped_bytes_;
    std::uint8_t* data_;
    std::size_t used_ = 0;
};

/// A window of segments that are open, from which reads are served, and the window behind it, which the engine's
/// threads open meanwhile. Whoever gets there before it is ready opens the rest of it with them. Thread-safe, for one
/// reader in sequence: others that come meanwhile, or read elsewhere, are told that there is nothing.
class ReadAhead {
public:
    /// Null where nothing would come of it: one thread, a source that calls the caller's functions, huge segments. What
    /// it is given must outlive it. `size`: of the plaintext.
    static std::unique_ptr<ReadAhead> over(Engine& engine, const SegmentCipher& cipher, SegmentFormat format,
                                           Source& source, std::uint64_t size);

    ReadAhead(Engine& engine, const SegmentCipher& cipher, SegmentFormat format, Source& source, std::uint64_t size);
    ReadAhead(const ReadAhead&) = delete;
    ReadAhead& operator=(const ReadAhead&) = delete;
    ~ReadAhead();

    /// A read of `length` bytes at `offset` is about to come. Only if it follows the one before are windows opened.
    void expect(std::uint64_t offset, std::uint64_t length);
    /// Copies to `output`, in host memory, what it has of the `length` bytes from `offset` on, and returns how much
    /// that is. 0: none of them, or a segment there does not open, and whoever opens it is told why.
    std::uint64_t read(std::uint64_t offset, std::uint8_t* output, std::uint64_t length);

private:
    struct Next;
    /// Segments that are open, or going to be: their plaintext lies at `begin`.
    struct Window {
        std::uint64_t first = 0, count = 0;
        std::uint64_t begin = 0, bytes = 0;
        std::unique_ptr<WindowMemory> text;
        [[nodiscard]] bool covers(std::uint64_t offset) const noexcept {
            return offset >= begin && offset - begin < bytes;
        }
    };

    /// Makes the next window the present one, and begins another; false if one of its segments does not open.
    bool advance();
    /// Begins with the window at `segment`, if there is one.
    void begin(std::uint64_t segment);

    Engine& engine_;
    const SegmentCipher& cipher_;
    const SegmentFormat format_;
    Source& source_;
    const std::uint64_t size_;
    const std::uint64_t segments_;
    const std::size_t room_;  ///< of a window

    std::mutex mutex_;  // of all that follows
    std::uint64_t expected_;
    bool in_sequence_ = false;
    bool refused_ = false;  ///< of this sequence
    std::uint64_t window_bytes_;
    Window window_;
    std::unique_ptr<WindowMemory> spare_;
    std::unique_ptr<Next> next_;
};

}  // namespace warpaes
