// A file of authenticated segments, written from front to back in pieces of any size.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/process.hpp"
#include "engine/pipeline/memory.hpp"
#include "format/segment_cipher.hpp"

namespace warpaes {

/// Not thread-safe. After an exception, and in a child of fork(), every call throws Error{STATE}; the object can only
/// be destroyed.
class SegmentWriter {
public:
    /// Writes the header. `commit` is called after everything has been written.
    SegmentWriter(Engine& engine, std::unique_ptr<Sink> sink, std::function<void()> commit, const StreamKey& key,
                  std::span<const std::uint8_t> aad);
    SegmentWriter(const SegmentWriter&) = delete;
    SegmentWriter& operator=(const SegmentWriter&) = delete;
    ~SegmentWriter();

    /// Encrypts and writes the next bytes, from memory of any kind. Throws Error{DATA_LENGTH} if the format does not
    /// allow this many segments.
    void write(const std::uint8_t* input, std::uint64_t length);
    void finish();

private:
    enum class State { open, failed, finished };

    void begin_step();
    void take(Located input, std::uint64_t length);
    [[nodiscard]] std::uint64_t room_from(std::uint64_t segment) const noexcept;
    void seal(const Located& input, std::uint64_t bytes, bool ends);
    void seal_pending(bool ends);

    const Home home_;  ///< a child would encrypt other text under the same nonces
    Engine& engine_;
    std::unique_ptr<Sink> sink_;
    std::function<void()> commit_;
    std::unique_ptr<SegmentCipher> cipher_;
    const SegmentFormat& format_;
    State state_ = State::open;
    std::uint64_t next_ = 0;   ///< number of the next segment
    std::uint64_t total_ = 0;  ///< number of plaintext bytes so far
    /// Pending plaintext, starting with the next segment. It is encrypted when more plaintext follows, because only
    /// then is it certain that none of its segments is the last.
    std::unique_ptr<std::uint8_t[]> pending_;
    std::uint64_t pending_segments_;
    std::size_t pending_bytes_ = 0;
    std::size_t pending_most_ = 0;  ///< the maximum size so far, which is wiped at the end
};

}  // namespace warpaes
