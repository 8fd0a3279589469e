// Determines which of several keys encrypted a file. Uses only the beginning of the file, because the file may be a
// pipe.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/pipeline/stream.hpp"
#include "format/segment_cipher.hpp"

namespace warpaes {

/// Calls `attempt` with one key after another until a call does not throw Error{FORMAT} or Error{AUTHENTICATION}. If
/// all calls throw, rethrows the most informative error. Throws Error{KEYSET} if there are no keys.
void try_keys(std::span<const StreamKey* const> keys, const std::function<void(const StreamKey&)>& attempt);

struct OpenedFile {
    const StreamKey* key = nullptr;
    std::unique_ptr<SegmentCipher> cipher;
};

/// Whether the first segment is opened only to choose among several keys, or also to verify a single key.
enum class KeyTrial { choice, first_segment };

/// Returns the number of bytes at the beginning of a file that open_file() requires.
std::size_t beginning_needed(std::span<const StreamKey* const> keys, KeyTrial trial = KeyTrial::choice);

/// Returns the first of `keys` that opens the file, judged by the header, by the length if known, and by the first
/// segment, as `trial` specifies. A header that commits to the key is sufficient. Throws Error{KEYSET} if there are no
/// keys, and Error{FORMAT} or Error{AUTHENTICATION} if no key opens the file.
OpenedFile open_file(Engine& engine, std::span<const StreamKey* const> keys, std::span<const std::uint8_t> aad,
                     const RewoundSource& source, KeyTrial trial = KeyTrial::choice);

/// Opens the segments starting at `sealed`, and discards the plaintext. Throws Error{AUTHENTICATION}.
void authenticate(Engine& engine, const SegmentCipher& cipher, const SegmentRange& range,
                  std::span<const std::uint8_t> sealed);

}  // namespace warpaes
