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
    std::uint64_t part_bytes = std::uint64_t{1} << 20;  ///< minimum number of bytes for which a thread is worthwhile
};

struct PagesRead {
    std::vector<std::uint64_t> sizes;  ///< number of bytes of each page, including its header
    warpaes_status status = WARPAES_OK;
    std::string sentence;    ///< error message for `status`
    int read_error = 0;      ///< errno if the file could not be read, otherwise 0
    bool no_memory = false;  ///< whether memory could not be allocated
    [[nodiscard]] bool failed() const { return status != WARPAES_OK || read_error != 0 || no_memory; }
};

/// Reads and decrypts as many complete pages as fit in `to`, on up to `threads` threads. Reading stops before a page
/// that is truncated or has a wrong length, and at the end of a file that was truncated during the call. On failure,
/// `to` is wiped. `chunk` contains the key, the AAD and the ordinals of the first page.
PagesRead read_pages(warpaes_engine* engine, const warpaes_parquet_chunk& chunk, const PagesInFile& pages,
                     unsigned threads);

}  // namespace warpaes::python
