// Authenticated files with tiny segments, each sealed once per process, and functions that damage them.
#pragma once

#include "handles.hpp"

namespace fuzz {

inline constexpr char aad[] = "associated";

struct SealedFile {
    Bytes text;
    Bytes file;
};

/// A keyset with a single key, and the layout of its files.
struct StreamKey {
    const warpaes_keyset* keyset;
    std::size_t header;  ///< bytes before the first segment; 0 in Tink's formats, where the header is part of the first
                         ///< segment
    std::size_t segment;
    std::size_t most_text;
    bool is_in_all;  ///< see keyset_of_all()
};

const StreamKey& any_stream_key(Input& in);
/// Returns a keyset with several keys, including that of one StreamKey.
const warpaes_keyset* keyset_of_all();
/// Returns the bytes `first` to `first + length` of the common text. Every sealed file contains a prefix of that text.
Bytes text_from(std::size_t first, std::size_t length);
/// Returns the file of the first `length` bytes of the text. `other`: a second file, sealed separately.
const SealedFile& sealed_file(warpaes_engine* engine, const StreamKey& key, std::size_t length, bool other = false);
/// Returns the sealed file with exactly these bytes, or null.
const SealedFile* find_sealed(const StreamKey& key, const Bytes& file);
/// Returns whether a sealed file has the same length, header and end, which are all that a reader checks when it opens
/// a file.
bool has_our_ends(const StreamKey& key, const Bytes& file);
/// Returns whether the file begins with the salt of a sealed file. libFuzzer traces comparisons, so it learns sealed
/// files from find_sealed().
bool begins_like_ours(const Bytes& file);
/// Returns a length. For the format with large segments, it is near a segment boundary.
std::size_t any_length(Input& in, const StreamKey& key);

/// Flips bits, and drops, duplicates, swaps or replaces bytes and segments, including with those of a different file.
/// It may change nothing.
Bytes spoil(Input& in, warpaes_engine* engine, const StreamKey& key, const SealedFile& sealed);

}  // namespace fuzz
