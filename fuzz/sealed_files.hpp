// Files of authenticated segments with tiny segments, each sealed once a process, and ways to spoil them.
#pragma once

#include "handles.hpp"

namespace fuzz {

inline constexpr char aad[] = "associated";

struct SealedFile {
    Bytes text;
    Bytes file;
};

/// A key, alone in its keyset, and where its segments lie in a file.
struct StreamKey {
    const warpaes_keyset* keyset;
    std::size_t header;  ///< bytes before the first segment, in Tink's formats a part of it
    std::size_t segment;
    std::size_t most_text;
    bool is_in_all;  ///< see keyset_of_all()
};

const StreamKey& any_stream_key(Input& in);
/// All keys of keysets that can be written, in one.
const warpaes_keyset* keyset_of_all();
/// Bytes first … first + length of the text, of which every file of ours holds the beginning.
Bytes text_from(std::size_t first, std::size_t length);
/// The file of so much of the text. `other`: another one.
const SealedFile& sealed_file(warpaes_engine* engine, const StreamKey& key, std::size_t length, bool other = false);
/// The one among those that have been sealed which has exactly these bytes, or null.
const SealedFile* find_sealed(const StreamKey& key, const Bytes& file);
/// Whether one of them has this length, this header and this end, which is all that a reader looks at first.
bool has_our_ends(const StreamKey& key, const Bytes& file);
/// Whether it begins with the salt of one of them. libFuzzer watches comparisons, and learns our files from
/// find_sealed.
bool begins_like_ours(const Bytes& file);
/// Lengths around the borders of segments as often as others.
std::size_t any_length(Input& in, const StreamKey& key);

/// Bits turned over, bytes and segments dropped, doubled, swapped or taken from another file. May change nothing.
Bytes spoil(Input& in, warpaes_engine* engine, const StreamKey& key, const SealedFile& sealed);

}  // namespace fuzz
