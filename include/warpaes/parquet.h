/*
 * warpaes: column chunks of encrypted Parquet files. The rules in warpaes.h also apply here.
 *
 * Parquet's modular encryption (parquet-format, Encryption.md) makes a column chunk a chain of modules: a page header,
 * its page, the next header, and so on. A module consists of its length (4 bytes, little-endian), a nonce of 12 bytes,
 * the ciphertext and a tag of 16 bytes (pages of AES_GCM_CTR_V1 have no tag).
 *
 * The functions below convert a chunk to its plain view: bytes of the same length, in which every page header and page
 * is located where its module was. In each header, `compressed_page_size` becomes the length of the plain page, and
 * `crc`, which covers the ciphertext, is left out. A binary field that every reader ignores fills the bytes that
 * lengths, nonces and tags leave free. Offsets and sizes in footers and indexes therefore stay valid, and any Parquet
 * reader can read the view.
 *
 * These functions do no cryptography, except warpaes_parquet_decrypt, warpaes_parquet_stage and
 * warpaes_parquet_decrypt_staged. They write batch entries or tables, which the caller submits (host memory) or
 * enqueues (device memory). All are thread-safe.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WARPAES_PARQUET_H
#define WARPAES_PARQUET_H

#include "warpaes/warpaes.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Flags of a chunk. */
enum {
    WARPAES_PARQUET_CTR_PAGES =
        1u << 0, /**< AES_GCM_CTR_V1: pages are AES-CTR and not authenticated; headers are GCM. */
    WARPAES_PARQUET_DICTIONARY = 1u << 1 /**< The first page of `modules` is the chunk's dictionary page. */
};

/** Whole or partial modules of a column chunk, and the inputs of their associated data. */
typedef struct warpaes_parquet_chunk {
    uint32_t struct_size;
    uint32_t flags;         /**< WARPAES_PARQUET_* */
    const warpaes_key* key; /**< The column's key: the footer's key, or the column's own key. Not read by
                                 warpaes_parquet_walk. */
    const void* aad;        /**< The AAD prefix followed by aad_file_unique, in host memory. */
    uint64_t aad_len;       /**< at most 65,536 bytes */
    const void* modules;    /**< In host memory; must begin with the header module of a page. */
    uint64_t modules_len;
    uint32_t row_group; /**< ordinal of the row group: 0 to 32,767 */
    uint32_t column;    /**< ordinal of the column: 0 to 32,767 */
    uint32_t
        first_page; /**< ordinal of the first data page of `modules`: 0 to 32,767. Dictionary pages do not count. */
    uint32_t reserved;
} warpaes_parquet_chunk;

#define WARPAES_PARQUET_CHUNK_INIT \
    { sizeof(warpaes_parquet_chunk), 0, NULL, NULL, 0, NULL, 0, 0, 0, 0, 0 }

/** The position of a page in `modules`. */
typedef struct warpaes_parquet_page {
    uint64_t offset;       /**< offset of its header module */
    uint32_t header_bytes; /**< size of the header module, including length, nonce and tag */
    uint32_t page_bytes;   /**< size of the page module, including length, nonce and tag */
    int32_t ordinal;       /**< ordinal of the data page; -1 for the dictionary page */
    uint32_t reserved;
} warpaes_parquet_page;

/**
 * Lists the pages whose two modules are completely in `modules`, using only the modules' lengths. `*count` becomes the
 * number of pages and `*walked` the number of bytes in their modules; either pointer may be NULL. If there are more
 * than `capacity` pages, the call returns WARPAES_ERROR_BUFFER_TOO_SMALL, and `pages` contains the first `capacity`
 * pages. WARPAES_ERROR_FORMAT: a module is too short for its nonce and tag, or a data page would have an ordinal above
 * 32,767.
 */
WARPAES_API warpaes_status warpaes_parquet_walk(const warpaes_parquet_chunk* chunk, warpaes_parquet_page* pages,
                                                uint64_t capacity, uint64_t* count, uint64_t* walked);

/** Bytes of `scratch` that the functions below require per page, for its associated data and counter block. */
#define WARPAES_PARQUET_SCRATCH_BYTES(aad_len) ((aad_len) + 24)

/**
 * Writes `count` batch entries that decrypt the page headers from `modules` to `view` + the page's offset. `view` is in
 * host memory and as long as the pages' modules. `scratch` (WARPAES_PARQUET_SCRATCH_BYTES for each page, in host
 * memory) contains the data that the entries point to, and must stay valid until the batch is finished.
 */
WARPAES_API warpaes_status warpaes_parquet_header_entries(const warpaes_parquet_chunk* chunk,
                                                          const warpaes_parquet_page* pages, uint64_t count, void* view,
                                                          void* scratch, warpaes_batch_entry* entries);

/**
 * Rewrites decrypted page headers in `view`, in host memory, to the headers of plain pages. WARPAES_ERROR_FORMAT: the
 * bytes are not a page header, or the header's kind or length does not match its page. The message names the row group,
 * column and page.
 */
WARPAES_API warpaes_status warpaes_parquet_rewrite_headers(const warpaes_parquet_chunk* chunk,
                                                           const warpaes_parquet_page* pages, uint64_t count,
                                                           void* view);

/**
 * Writes `count` batch entries that decrypt pages from `input` to `view`. `input` is `modules`, or a copy in device
 * memory; `view` is in the same kind of memory and overlaps neither. `statuses` is NULL, or receives one status for
 * each page. `scratch` is as for warpaes_parquet_header_entries, but must not be the same memory. The header of page i
 * fills the bytes of `view` from the page's offset up to the entry's output.
 */
WARPAES_API warpaes_status warpaes_parquet_page_entries(const warpaes_parquet_chunk* chunk,
                                                        const warpaes_parquet_page* pages, uint64_t count,
                                                        const void* input, void* view, void* scratch,
                                                        warpaes_status* statuses, warpaes_batch_entry* entries);

/**
 * Like warpaes_parquet_page_entries, but writes a table, which costs the host of a GPU much less than entries: writes
 * `count` rows to `messages` and sets `*table`, for warpaes_batch_enqueue_table or warpaes_batch_submit_table.
 * `statuses`, one for each page, must not be NULL. `scratch` and `messages` are in host memory and must stay valid
 * until warpaes_batch_enqueue_table returns, or the submitted batch is finished.
 */
WARPAES_API warpaes_status warpaes_parquet_page_table(const warpaes_parquet_chunk* chunk,
                                                      const warpaes_parquet_page* pages, uint64_t count,
                                                      const void* input, void* view, void* scratch,
                                                      warpaes_status* statuses, warpaes_table_message* messages,
                                                      warpaes_batch_table* table);

/**
 * Decrypts pages that warpaes_parquet_walk has listed, in host memory, and writes their plain view: each page's part of
 * the view starts at `view` + the page's offset and is as long as the page's two modules. `view` has `view_len` bytes
 * and does not overlap `modules`. If a module is not authentic, the call returns WARPAES_ERROR_AUTHENTICATION with a
 * message that names the row group, column and page. After any failure all of `view` is wiped.
 */
WARPAES_API warpaes_status warpaes_parquet_decrypt(warpaes_engine* engine, const warpaes_parquet_chunk* chunk,
                                                   const warpaes_parquet_page* pages, uint64_t count, void* view,
                                                   uint64_t view_len);

/*
 * For a GPU, with a single copy of a chunk and a single buffer on the GPU:
 *
 *  1. Read the modules into host memory, WARPAES_PARQUET_SHIFT(flags) bytes after the start of an image of
 *     modules_len + 16 bytes (page-locked memory is the fastest to copy).
 *  2. warpaes_parquet_walk, and warpaes_parquet_stage: the image becomes the plain view, except that the pages in it
 *     are still ciphertext.
 *  3. Copy modules_len bytes of the image to device memory.
 *  4. warpaes_parquet_staged_table and warpaes_batch_enqueue_table on the stream of the copy, with statuses on the
 *     device; or warpaes_parquet_decrypt_staged, which waits and names the page that is not authentic.
 */

/** Bytes between the start of the image and the modules in it: the distance by which a page's text moves. */
#define WARPAES_PARQUET_SHIFT(flags) (((flags)&WARPAES_PARQUET_CTR_PAGES) != 0 ? 0 : 16)
/** Bytes of `seals` for each page: its IV and its tag. */
#define WARPAES_PARQUET_SEAL_BYTES 32

/**
 * Decrypts the page headers of `image`, in host memory, in which the chunk's modules are at WARPAES_PARQUET_SHIFT, and
 * replaces them with the headers of plain pages. `seals` receives WARPAES_PARQUET_SEAL_BYTES for each page, because the
 * headers overwrite the page's IV and tag in the image. `chunk->modules` is overwritten. The errors are those of
 * warpaes_parquet_decrypt; after an error, the image and `seals` are unusable.
 */
WARPAES_API warpaes_status warpaes_parquet_stage(warpaes_engine* engine, const warpaes_parquet_chunk* chunk,
                                                 const warpaes_parquet_page* pages, uint64_t count, void* image,
                                                 void* seals);

/**
 * Writes `count` batch entries that decrypt the pages of a staged image in place. `image` is the staged image or a copy
 * of it, in device or host memory. `scratch` and `statuses` are as for warpaes_parquet_page_entries. `seals` are the
 * seals of warpaes_parquet_stage, or a copy in device memory. `chunk->modules` must not be NULL but is not read.
 */
WARPAES_API warpaes_status warpaes_parquet_staged_entries(const warpaes_parquet_chunk* chunk,
                                                          const warpaes_parquet_page* pages, uint64_t count,
                                                          void* image, const void* seals, void* scratch,
                                                          warpaes_status* statuses, warpaes_batch_entry* entries);

/** Like warpaes_parquet_staged_entries, but writes a table: `scratch`, `statuses`, `messages` and `table` are as for
 * warpaes_parquet_page_table. */
WARPAES_API warpaes_status warpaes_parquet_staged_table(const warpaes_parquet_chunk* chunk,
                                                        const warpaes_parquet_page* pages, uint64_t count, void* image,
                                                        const void* seals, void* scratch, warpaes_status* statuses,
                                                        warpaes_table_message* messages, warpaes_batch_table* table);

/**
 * Decrypts the pages of a staged image, in device or host memory, and returns when the image is the plain view. If a
 * page is not authentic, the call returns WARPAES_ERROR_AUTHENTICATION with a message that names the page. After any
 * failure, the image is wiped.
 */
WARPAES_API warpaes_status warpaes_parquet_decrypt_staged(warpaes_engine* engine, const warpaes_parquet_chunk* chunk,
                                                          const warpaes_parquet_page* pages, uint64_t count,
                                                          void* image, const void* seals);

/* ------------------------------------------------------------------------------------- footers, indexes, Bloom filters
 */

/*
 * A file's key metadata and AAD parts are read without a key: warpaes_parquet_footer_bytes, then
 * warpaes_parquet_inspect_footer. warpaes_parquet_open_footer then provides FileMetaData, which any reader of Thrift's
 * compact protocol decodes; it contains the positions of the modules for warpaes_parquet_open_module. Associated data
 * (`aad`) is always the AAD prefix, stored or supplied, followed by aad_file_unique.
 */

/** Flags of a footer, in addition to WARPAES_PARQUET_CTR_PAGES. */
enum {
    WARPAES_PARQUET_ENCRYPTED = 1u << 8,         /**< The file is encrypted. */
    WARPAES_PARQUET_PLAINTEXT_FOOTER = 1u << 9,  /**< The footer is plaintext, and signed if the file is encrypted. */
    WARPAES_PARQUET_SUPPLY_AAD_PREFIX = 1u << 10 /**< The file has an AAD prefix but does not store it. */
};

/** The content of a footer before it is authenticated. Pointers point into the footer; NULL: the field is absent. */
typedef struct warpaes_parquet_footer {
    uint32_t struct_size;
    uint32_t flags; /**< WARPAES_PARQUET_* */
    const void*
        aad_prefix; /**< Compare it with the expected prefix; otherwise the file is not bound to its location. */
    uint64_t aad_prefix_len;
    const void* aad_file_unique;
    uint64_t aad_file_unique_len;
    const void* key_metadata; /**< metadata of the footer's key */
    uint64_t key_metadata_len;
    uint64_t metadata_len; /**< bytes of FileMetaData */
} warpaes_parquet_footer;

#define WARPAES_PARQUET_FOOTER_INIT \
    { sizeof(warpaes_parquet_footer), 0, NULL, 0, NULL, 0, NULL, 0, 0 }

/** Kinds of modules outside column pages. */
enum {
    WARPAES_PARQUET_FOOTER = 0,
    WARPAES_PARQUET_COLUMN_METADATA = 1, /**< field encrypted_column_metadata, for columns with their own key */
    WARPAES_PARQUET_COLUMN_INDEX = 6,
    WARPAES_PARQUET_OFFSET_INDEX = 7,
    WARPAES_PARQUET_BLOOM_HEADER = 8,
    WARPAES_PARQUET_BLOOM_BITSET = 9 /**< follows the header's module */
};

/** A module outside column pages, and the inputs of its associated data. */
typedef struct warpaes_parquet_module {
    uint32_t struct_size;
    uint32_t kind;          /**< WARPAES_PARQUET_FOOTER to WARPAES_PARQUET_BLOOM_BITSET */
    const warpaes_key* key; /**< the footer's key, or the column's own key */
    const void* aad;
    uint64_t aad_len;   /**< at most 65,536 bytes */
    const void* module; /**< Including its length field; for warpaes_parquet_open_footer, the footer up to the file's
                             end. */
    uint64_t module_len;
    uint32_t row_group; /**< ordinal: 0 to 32,767; like `column`, not read for footers */
    uint32_t column;
} warpaes_parquet_module;

#define WARPAES_PARQUET_MODULE_INIT \
    { sizeof(warpaes_parquet_module), 0, NULL, NULL, 0, NULL, 0, 0, 0 }

/**
 * Computes the length of a file's footer, including the last 8 bytes, from the file's last 8 bytes and its size.
 * WARPAES_ERROR_FORMAT: not a Parquet file, or the footer would be longer than the file.
 */
WARPAES_API warpaes_status warpaes_parquet_footer_bytes(const void* last, uint64_t file_bytes, uint64_t* bytes);

/** Reads a footer, which ends with the file, without a key. The content is not authenticated. */
WARPAES_API warpaes_status warpaes_parquet_inspect_footer(const void* footer, uint64_t footer_len,
                                                          warpaes_parquet_footer* facts);

/**
 * Decrypts an encrypted footer, or verifies the signature of a plaintext footer, and writes FileMetaData to `metadata`:
 * metadata_len bytes, as reported by warpaes_parquet_inspect_footer. WARPAES_ERROR_AUTHENTICATION: the key or the AAD
 * prefix is wrong, or the file was altered; `metadata` then contains no byte of FileMetaData. An unencrypted file is
 * refused with WARPAES_ERROR_FORMAT.
 */
WARPAES_API warpaes_status warpaes_parquet_open_footer(warpaes_engine* engine, const warpaes_parquet_module* module,
                                                       void* metadata, uint64_t capacity);

/**
 * Decrypts another module outside column pages and writes module_len - 32 bytes. The errors are those of
 * warpaes_parquet_open_footer; the message also names the row group and column.
 */
WARPAES_API warpaes_status warpaes_parquet_open_module(warpaes_engine* engine, const warpaes_parquet_module* module,
                                                       void* output, uint64_t capacity);

#ifdef __cplusplus
}
#endif

#endif
