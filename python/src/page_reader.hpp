// Reads complete pages of an encrypted Parquet file from a descriptor and decrypts them, in one call, without Python.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <warpaes/parquet.h>

#include <cstdint>
#include <string>
#include <vector>

namespace warpaes::python {

/// Pages of a column chunk in a file, and the buffer for their decrypted view.
struct PagesInFile {
    int descriptor = -1;
    std::uint64_t offset = 0;  ///< offset of the first page in the file
    std::uint64_t length = 0;  ///< number of bytes from `offset` to the end of the column chunk
    std::uint8_t* to = nullptr;
    std::uint64_t room = 0;          ///< size of `to` in bytes
    std::uint64_t window_bytes = 0;  ///< number of ciphertext bytes to read and decrypt at a time, if no page is longer
    std::uint64_t part_bytes = std::uint64_t{1} << 20;  ///< minimum number of bytes for each thread
    /// Several threads find pages of this length by their length fields, before they read the pages. Shorter pages are
    /// read by one thread at a time, because finding them takes longer than decryption.
    std::uint64_t found_bytes = 32 << 10;
};

/// A column chunk: its key, its AAD, the ordinals of its first page, and the location of its pages.
struct ChunkInFile {
    warpaes_parquet_chunk chunk;
    PagesInFile pages;
};

struct PagesRead {
    /// For each column chunk, the number of bytes of each page, including its header.
    std::vector<std::vector<std::uint64_t>> sizes;
    warpaes_status status = WARPAES_OK;
    std::string sentence;    ///< error message for `status`
    int read_error = 0;      ///< errno if the file could not be read, otherwise 0
    bool no_memory = false;  ///< whether memory could not be allocated
    [[nodiscard]] bool failed() const { return status != WARPAES_OK || read_error != 0 || no_memory; }
};

/// Reads and decrypts as many complete pages of each column chunk as fit in its `to`, on up to `threads` threads.
/// Reading stops before a page that is truncated or has a wrong length, and at the end of a file that was truncated
/// during the call. On failure, the `to` of every column chunk is wiped.
PagesRead read_pages(warpaes_engine* engine, const std::vector<ChunkInFile>& chunks, unsigned threads);

}  // namespace warpaes::python
