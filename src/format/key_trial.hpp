// Which of several keys a file was encrypted with, from its beginning alone: a pipe has nothing else yet.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/pipeline/stream.hpp"
#include "format/segment_cipher.hpp"

namespace warpaes {

/// A source whose beginning was read already, and is read once more.
class RewoundSource final : public Source {
public:
    /// Reads the first `bytes` bytes of `source`, or all that it has.
    RewoundSource(Source& source, std::size_t bytes);

    std::uint64_t size() const noexcept override { return source_.size(); }
    bool is_sequential() const noexcept override { return source_.is_sequential(); }
    std::size_t read(std::uint64_t offset, std::span<std::uint8_t> buffer) override;
    void on_wait(WaitHook hook) override { source_.on_wait(std::move(hook)); }

    [[nodiscard]] std::span<const std::uint8_t> beginning() const noexcept { return beginning_; }
    [[nodiscard]] bool is_whole() const noexcept { return whole_; }

private:
    Source& source_;
    std::vector<std::uint8_t> beginning_;
    bool whole_;
};

/// Calls `attempt` with one key after the other until it does not throw Error{FORMAT, AUTHENTICATION}. If it always
/// does, throws what says most; Error{KEYSET} without keys.
void try_keys(std::span<const StreamKey* const> keys, const std::function<void(const StreamKey&)>& attempt);

struct OpenedFile {
    const StreamKey* key = nullptr;
    std::unique_ptr<SegmentCipher> cipher;
};

/// How much of a file's beginning `open_file` wants to see.
std::size_t beginning_needed(std::span<const StreamKey* const> keys);

/// The first of `keys` that opens the file: by the header, its length if it is known, and where there is a choice by
/// the first segment. Throws Error{KEYSET} without keys, Error{FORMAT, AUTHENTICATION} if none does.
OpenedFile open_file(Engine& engine, std::span<const StreamKey* const> keys, std::span<const std::uint8_t> aad,
                     const RewoundSource& source);

/// Opens the segments, which begin at `sealed`, and keeps nothing of them. Throws Error{AUTHENTICATION}.
void authenticate(Engine& engine, const SegmentCipher& cipher, const SegmentRange& range,
                  std::span<const std::uint8_t> sealed);

}  // namespace warpaes
