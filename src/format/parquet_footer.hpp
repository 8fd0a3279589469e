// Footers of encrypted Parquet files: the parts that are readable without a key (include/warpaes/parquet.h).
#pragma once

#include <cstdint>
#include <span>

#include "warpaes/parquet.h"

namespace warpaes::parquet {

inline constexpr std::uint32_t signature_bytes = 28, tail_bytes = 8;

struct FooterFacts {
    bool encrypted = false;  ///< false: an unencrypted file
    bool plaintext = false;  ///< whether FileMetaData is plaintext; with `encrypted`, it is signed
    bool ctr = false;
    bool supply_prefix = false;
    std::span<const std::uint8_t> prefix, unique, key_metadata;
    /// Plaintext FileMetaData, or the footer module with its length field.
    std::span<const std::uint8_t> body;
    std::span<const std::uint8_t> signature;  ///< nonce and tag
};

/// Returns the number of bytes of a file's footer, including length and magic bytes; `last` contains the file's last 8
/// bytes. Throws Error{FORMAT}.
std::uint64_t footer_bytes(std::span<const std::uint8_t> last, std::uint64_t file_bytes);

/// Reads a footer, from its first byte to the end of the file. The spans in the result point into `footer`. Throws
/// Error{FORMAT}.
FooterFacts read_footer(std::span<const std::uint8_t> footer);

/// Writes the associated data of a module outside column pages, and returns its length: at most aad.size() + 5.
std::size_t write_module_aad(std::span<const std::uint8_t> aad, std::uint32_t kind, std::uint32_t row_group,
                             std::uint32_t column, std::uint8_t* to);

}  // namespace warpaes::parquet
