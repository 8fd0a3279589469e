// A file of authenticated segments that is read from front to back: from a pipe, a socket, or another source that
// cannot seek.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "base/process.hpp"
#include "base/secret.hpp"
#include "engine/pipeline/memory.hpp"
#include "format/key_trial.hpp"
#include "format/reader.hpp"

namespace warpaes {

class ForwardReader final : public FileReader {
public:
    /// Reads the beginning of `source`, which is sequential, and opens the first segment, which identifies the key
    /// among `keys`. Throws Error{KEYSET} if `keys` is empty, and also Error{FORMAT}, Error{AUTHENTICATION} or
    /// Error{READ}.
    ForwardReader(Engine& engine, std::unique_ptr<Source> source, std::span<const StreamKey* const> keys,
                  std::span<const std::uint8_t> aad);

    /// Engine::unknown_length until the end has been read and authenticated.
    [[nodiscard]] std::uint64_t size() const noexcept override { return known_size_.load(); }
    [[nodiscard]] const SegmentLayout& layout() const noexcept override { return cipher_->layout(); }

    /// Returns the next bytes, at least one unless the file ends there. `offset` must be the end of the previous read;
    /// otherwise throws Error{RANGE}. All returned bytes have been authenticated. After any other error, every later
    /// call throws the same error.
    std::uint64_t read(std::uint64_t offset, std::uint8_t* output, std::uint64_t length) override;

private:
    void fetch(std::uint64_t least, std::uint64_t most);
    [[nodiscard]] SegmentRange next_range(std::uint64_t most_segments);
    [[nodiscard]] std::uint64_t whole_segments() const noexcept;
    std::uint64_t take(const Located& output, std::uint64_t length);
    std::uint64_t open_next(const Located& output, std::uint64_t length);
    void open(SegmentRange& range, std::uint8_t* output);

    const Home home_;  ///< a child would consume bytes of the parent's stream
    Engine& engine_;
    std::unique_ptr<Source> source_;
    RewoundSource beginning_;
    std::unique_ptr<SegmentCipher> cipher_;
    const SegmentFormat* format_ = nullptr;

    std::atomic<std::uint64_t> known_size_ = Engine::unknown_length;

    std::mutex mutex_;  // guards everything below
    std::optional<Error> failure_;
    std::vector<std::uint8_t> sealed_;  ///< `have_` bytes of ciphertext, starting with segment `next_`
    std::size_t have_ = 0;
    std::uint64_t fetched_ = 0;  ///< number of bytes of the file that have been read, including its header
    bool ended_ = false;         ///< the source has no more data
    std::uint64_t next_ = 0;
    std::uint64_t position_ = 0;  ///< offset of the next byte of plaintext that a read returns
    std::unique_ptr<SecretBuffer>
        text_;  ///< plaintext that has been opened but not returned yet: [text_at_, text_end_)
    std::size_t text_at_ = 0, text_end_ = 0;
    std::optional<std::uint64_t> size_;  ///< set once the last segment has been opened
};

}  // namespace warpaes
