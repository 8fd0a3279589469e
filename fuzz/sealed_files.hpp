// Provides authenticated files with tiny segments, each sealed once per process, and functions that damage them.
#pragma once

#include "handles.hpp"

namespace fuzz {

inline constexpr char aad[] = "associated";

struct SealedFile {
    Bytes text;
    Bytes file;
};

/// A keyset with a single key, and the layout of the files that it encrypts.
struct StreamKey {
    const warpaes_keyset* keyset;
    std::size_t header;  ///< bytes before the first segment; 0 in Tink's formats, because their first segment includes
                         ///< the header
    std::size_t segment;
    std::size_t most_text;
    bool is_in_all;  ///< see keyset_of_all()
};

const StreamKey& any_stream_key(Input& in);
/// Returns a keyset with several keys, including those of the StreamKeys with `is_in_all`.
const warpaes_keyset* keyset_of_all();
/// Returns `length` bytes of the common text, starting at `first`. The text of every sealed file is a prefix of the
/// common text.
Bytes text_from(std::size_t first, std::size_t length);
/// Returns a sealed file with the first `length` bytes of the text. With `other`, returns a second file, which was
/// sealed separately.
const SealedFile& sealed_file(warpaes_engine* engine, const StreamKey& key, std::size_t length, bool other = false);
/// Returns the sealed file with exactly these bytes, or null.
const SealedFile* find_sealed(const StreamKey& key, const Bytes& file);
/// Returns whether a sealed file has the same length, header and end. A reader checks only these when it opens a file.
bool has_our_ends(const StreamKey& key, const Bytes& file);
/// Returns whether the file begins with the salt of a sealed file. libFuzzer traces comparisons, so calls to
/// find_sealed() would teach it the content of sealed files.
bool begins_like_ours(const Bytes& file);
/// Returns a length. For the format with large segments, it is near a segment boundary.
std::size_t any_length(Input& in, const StreamKey& key);

/// Damages a file: flips bits, and drops, duplicates, swaps or replaces bytes and segments, sometimes with those of a
/// different file. The result may be unchanged.
Bytes spoil(Input& in, warpaes_engine* engine, const StreamKey& key, const SealedFile& sealed);

}  // namespace fuzz
