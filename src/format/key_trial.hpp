// Which of several keys a file was encrypted with, from its beginning alone: a pipe has nothing else yet.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/pipeline/stream.hpp"
#include "format/segment_cipher.hpp"

namespace warpaes {

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
