// Encrypted Parquet files: the modules of column chunks, associated data, page headers of the plain view, and footers
// (include/warpaes/parquet.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "warpaes/parquet.h"

namespace warpaes::parquet {

inline constexpr std::uint32_t length_bytes = 4, nonce_bytes = 12, tag_bytes = 16;
inline constexpr std::uint32_t gcm_overhead = length_bytes + nonce_bytes + tag_bytes;
inline constexpr std::uint32_t ctr_overhead = length_bytes + nonce_bytes;
inline constexpr std::uint32_t signature_bytes = nonce_bytes + tag_bytes, tail_bytes = 8;
inline constexpr std::uint32_t most_ordinals = 32768;

/// Types of modules: the byte after aad_file_unique in the associated data.
enum class Module : std::uint8_t { data_page = 2, dictionary_page = 3, data_header = 4, dictionary_header = 5 };

/// Returns for example "row group 0, column 2, page 7".
std::string place(const warpaes_parquet_chunk& chunk, std::int32_t ordinal);

/// Returns the number of bytes that a page module has in addition to the page.
inline std::uint32_t page_overhead(const warpaes_parquet_chunk& chunk) {
    return (chunk.flags & WARPAES_PARQUET_CTR_PAGES) != 0 ? ctr_overhead : gcm_overhead;
}

/// Throws Error{FORMAT} unless a page is in the chunk's modules and is long enough for both modules.
void check_page(const warpaes_parquet_chunk& chunk, const warpaes_parquet_page& page);

/// Returns the next page at `offset`; empty if the rest of the modules does not contain it completely. Throws
/// Error{FORMAT}.
std::optional<warpaes_parquet_page> page_at(const warpaes_parquet_chunk& chunk, std::uint64_t offset,
                                            std::int32_t ordinal);

/// Writes the associated data of a page or of its header, and returns its length: at most aad_len + 7.
std::uint64_t write_aad(const warpaes_parquet_chunk& chunk, const warpaes_parquet_page& page, bool header,
                        std::uint8_t* to);

/// Writes the associated data of a module, up to the column's number, and returns its end: at most aad.size() + 5
/// bytes.
std::uint8_t* write_module_aad(std::span<const std::uint8_t> aad, std::uint32_t kind, std::uint32_t row_group,
                               std::uint32_t column, std::uint8_t* to);

std::uint32_t little_endian(const std::uint8_t* bytes);

/// Rewrites the plain header at the beginning of `room` to a header that fills `room`, whose size is the size of the
/// two modules minus the size of the plain page. Throws Error{FORMAT}, with a message that names the page.
void rewrite_header(const warpaes_parquet_chunk& chunk, const warpaes_parquet_page& page, std::span<std::uint8_t> room);

/// A chunk and some of its pages. Throws like check_page().
struct Pages {
    Pages(const warpaes_parquet_chunk& of, std::span<const warpaes_parquet_page> pages) : chunk(of), list(pages) {
        for (const auto& page : list) check_page(chunk, page);
    }
    [[nodiscard]] const std::uint8_t* modules() const { return static_cast<const std::uint8_t*>(chunk.modules); }
    [[nodiscard]] bool ctr() const { return (chunk.flags & WARPAES_PARQUET_CTR_PAGES) != 0; }
    /// Returns the size of the page's header in the view.
    [[nodiscard]] std::uint64_t header_room(const warpaes_parquet_page& page) const {
        return page.header_bytes + page_overhead(chunk);
    }
    [[nodiscard]] std::uint32_t plain_bytes(const warpaes_parquet_page& page) const {
        return page.page_bytes - page_overhead(chunk);
    }
    [[nodiscard]] std::uint64_t scratch_bytes() const { return WARPAES_PARQUET_SCRATCH_BYTES(chunk.aad_len); }
    /// Returns the end of the last page.
    [[nodiscard]] std::uint64_t end() const;
    /// Throws Error{ARGUMENT} unless the pages are in order and do not overlap.
    void check_order() const;
    /// Writes the seal of each page: its counter block, or its nonce and tag.
    void save_seals(std::uint8_t* seals) const;

    warpaes_parquet_chunk chunk;
    std::span<const warpaes_parquet_page> list;
};

/// Calls `step(number, page, the page's part of scratch)` for each page.
template <typename Step>
void for_each(const Pages& pages, void* scratch, const Step& step) {
    auto* own = static_cast<std::uint8_t*>(scratch);
    for (std::size_t i = 0; i < pages.list.size(); ++i, own += pages.scratch_bytes()) step(i, pages.list[i], own);
}

/// The parts of a footer that are readable without a key.
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

}  // namespace warpaes::parquet
