/*
 * warpaes: files: keysets, whole files and streams, readers and writers.
 * Part of the C ABI; its rules stand in warpaes.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WARPAES_FILES_H
#define WARPAES_FILES_H

#include <warpaes/warpaes.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --------------------------------------------------------------------------------------------------------- keysets */

/**
 * Keys for files, as other people's libraries keep them: a cleartext Tink keyset, several keys of which one is primary.
 * Encryption uses the primary; decryption tries every enabled key. Not to be changed while another thread uses it;
 * otherwise shareable. Wiped when destroyed.
 *
 * Templates, by Tink's names: AES128_GCM_HKDF_4KB, AES128_GCM_HKDF_1MB, AES256_GCM_HKDF_4KB, AES256_GCM_HKDF_1MB,
 * AES128_CTR_HMAC_SHA256_4KB, AES128_CTR_HMAC_SHA256_1MB, AES256_CTR_HMAC_SHA256_4KB, AES256_CTR_HMAC_SHA256_1MB; and
 * C2SP_CHUNKED_128, C2SP_CHUNKED_256 (c2sp.org/chunked-encryption), which have raw keys only and no keyset file.
 */
typedef struct warpaes_keyset warpaes_keyset;

typedef enum warpaes_key_state {
    WARPAES_KEY_ENABLED = 1,
    WARPAES_KEY_DISABLED = 2, /**< Kept, but not used. */
    WARPAES_KEY_DESTROYED = 3 /**< Only its number is left. */
} warpaes_key_state;

typedef struct warpaes_key_info {
    uint32_t struct_size;
    uint32_t key_id;
    warpaes_key_state state;
    int32_t primary;           /**< 1 if it is the primary. */
    const char* template_name; /**< One of the above; "" if its parameters are those of none. Static storage. */
    uint32_t key_bits;         /**< of AES; 0 for a destroyed key and one that Tink has for other things than files */
    uint32_t segment_bytes;    /**< of ciphertext */
} warpaes_key_info;

#define WARPAES_KEY_INFO_INIT \
    { sizeof(warpaes_key_info), 0, (warpaes_key_state)0, 0, NULL, 0, 0 }

/** Number of templates, and the name of template `index` (NULL beyond the last). */
WARPAES_API size_t warpaes_template_count(void);
WARPAES_API const char* warpaes_template_name(size_t index);

/** An empty keyset. */
WARPAES_API warpaes_status warpaes_keyset_create(warpaes_keyset** keyset);
/** From Tink's JSON, `length` bytes. WARPAES_ERROR_KEYSET says what is wrong with it, and repeats nothing of it. */
WARPAES_API warpaes_status warpaes_keyset_parse(const char* json, size_t length, warpaes_keyset** keyset);
/** A keyset of one raw key of `length` bytes: as many as the AES key has, 16 or 32; for Tink's templates at least. */
WARPAES_API warpaes_status warpaes_keyset_from_raw(const char* template_name, const uint8_t* key, size_t length,
                                                   warpaes_keyset** keyset);
WARPAES_API void warpaes_keyset_destroy(warpaes_keyset* keyset);
/** Adds a new random key; the first key of a keyset becomes its primary. `key_id` may be NULL. */
WARPAES_API warpaes_status warpaes_keyset_add(warpaes_keyset* keyset, const char* template_name, uint32_t* key_id);
/** Makes an enabled key the primary. */
WARPAES_API warpaes_status warpaes_keyset_promote(warpaes_keyset* keyset, uint32_t key_id);
/** Enables, disables or destroys a key; the primary stays enabled. */
WARPAES_API warpaes_status warpaes_keyset_set_state(warpaes_keyset* keyset, uint32_t key_id, warpaes_key_state state);
/** Removes a key that is not the primary. */
WARPAES_API warpaes_status warpaes_keyset_remove(warpaes_keyset* keyset, uint32_t key_id);
/** Decryption with `keyset` tries the enabled keys of `other` too, after its own; they are copied, neither listed nor
    written. */
WARPAES_API warpaes_status warpaes_keyset_append(warpaes_keyset* keyset, const warpaes_keyset* other);
WARPAES_API size_t warpaes_keyset_count(const warpaes_keyset* keyset);
WARPAES_API warpaes_status warpaes_keyset_query(const warpaes_keyset* keyset, size_t index, warpaes_key_info* info);
/** As Tink's JSON, with the secret keys, not ended by a NUL. `*length`: what it takes; with too small a capacity
    WARPAES_ERROR_BUFFER_TOO_SMALL. */
WARPAES_API warpaes_status warpaes_keyset_write(const warpaes_keyset* keyset, char* json, size_t capacity,
                                                size_t* length);

/* ------------------------------------------------------------------------------------ keysets under a passphrase */

/** What a guess at a passphrase costs: scrypt's parameters (RFC 7914). 128 n r bytes of memory, p times over. */
typedef struct warpaes_scrypt {
    uint32_t struct_size;
    uint32_t r;
    uint32_t p;
    uint32_t reserved;
    uint64_t n; /**< a power of two */
} warpaes_scrypt;

/** 128 MiB, the least for a new keyset. */
#define WARPAES_SCRYPT_INIT \
    { sizeof(warpaes_scrypt), 8, 1, 0, 131072 }

/** The cost that takes about `seconds` on this machine, which is measured: from INIT's to 1 GiB, with r = 8, p = 1. */
WARPAES_API warpaes_status warpaes_scrypt_choose(double seconds, warpaes_scrypt* cost);

/** The keyset encrypted under a passphrase, of any bytes: Tink's JSON of an encrypted keyset, and beside it how the
    passphrase becomes its key (docs/formats.md). `cost`: NULL for what takes a second; a new salt every time. `*length`
    as for warpaes_keyset_write; with too small a capacity nothing is derived. */
WARPAES_API warpaes_status warpaes_keyset_wrap(const warpaes_keyset* keyset, const char* passphrase,
                                               size_t passphrase_len, const warpaes_scrypt* cost, char* json,
                                               size_t capacity, size_t* length);
/** From such JSON. WARPAES_ERROR_AUTHENTICATION: another passphrase, or altered. WARPAES_ERROR_KEYSET, before any
   memory is taken, for a cost beyond 1 GiB and some seconds. */
WARPAES_API warpaes_status warpaes_keyset_unwrap(const char* json, size_t length, const char* passphrase,
                                                 size_t passphrase_len, warpaes_keyset** keyset);
/** What such JSON says without its passphrase, which nothing has authenticated: the numbers and states of its keys, in
   a keyset that can be queried and is refused for all else, and the cost of a guess. Either may be NULL. */
WARPAES_API warpaes_status warpaes_keyset_peek(const char* json, size_t length, warpaes_scrypt* cost,
                                               warpaes_keyset** keyset);

/* ------------------------------------------------------------------------------------------------ files and streams */

typedef enum warpaes_format {
    WARPAES_FORMAT_RAW = 0, /**< Ciphertext and nothing else; key and IV come from the caller. */
    WARPAES_FORMAT_OPENSSL_ENC =
        1, /**< `openssl enc`: key and IV from a passphrase; "Salted__" and the salt in front. */
    WARPAES_FORMAT_STREAMING_AEAD = 2 /**< Authenticated segments, as the keyset's key says: Tink's streaming AEAD or
                                           C2SP chunked encryption. */
} warpaes_format;

typedef enum warpaes_kdf {
    WARPAES_KDF_PBKDF2 = 0,        /**< PBKDF2-HMAC (RFC 8018), as `openssl enc -pbkdf2` */
    WARPAES_KDF_EVP_BYTESTOKEY = 1 /**< The older derivation of `openssl enc`: one round of a hash. Weak. */
} warpaes_kdf;

/** Flags of a file job. */
enum {
    WARPAES_FILE_PKCS7 = 1u << 0,           /**< ECB, CBC: pad. */
    WARPAES_FILE_BASE64 = 1u << 1,          /**< Ciphertext as base64 in lines of 64 characters (`openssl enc -a`). */
    WARPAES_FILE_BASE64_ONE_LINE = 1u << 2, /**< With BASE64: a single line (`-A`). */
    WARPAES_FILE_OVERWRITE = 1u << 3,       /**< Replace an existing output file. */
    WARPAES_FILE_NO_SALT = 1u << 4,         /**< OPENSSL_ENC: no salt and no header. */
    WARPAES_FILE_RANGE = 1u << 5,  /**< Only bytes range_first … range_last of the result (ECB, CTR, and decryption of
                                        CBC, CFB and STREAMING_AEAD); only the blocks or segments under them are read. */
    WARPAES_FILE_VERIFY = 1u << 6, /**< STREAMING_AEAD decryption: authenticate everything and write nothing. */
    WARPAES_FILE_NO_SYNC = 1u << 7, /**< Do not wait until the disk has the file: who loses power may lose it. */
    WARPAES_FILE_SHA256 = 1u << 8 /**< The result has the SHA-256 of the output, which is written in order for that. */
};

/** What a running job tells; called now and then, from one thread at a time. `bytes_total`: WARPAES_UNKNOWN of a pipe.
    Return 0 to go on, anything else to cancel. */
typedef int (*warpaes_progress)(void* user, uint64_t bytes_done, uint64_t bytes_total);

/**
 * A file or stream to encrypt or decrypt through bounded memory. A file named by `output_path` appears under its name
 * only when it is complete; until then it has no name, or on file systems without such files a temporary one beside it.
 * After a failure there is none. A write that fails raises no signal (SIGPIPE, SIGXFSZ): it is an error.
 *
 * STREAMING_AEAD: `keyset`, and `aad` if the writer gave some; `mode`, `key` and `iv` are ignored. A named file appears
 * when everything was authenticated; a pipe receives authenticated segments only, in order, and an error after them if
 * what follows is altered or missing.
 */
typedef struct warpaes_file_job {
    uint32_t struct_size;
    uint32_t flags; /**< WARPAES_FILE_* */
    warpaes_mode mode;
    warpaes_direction direction;
    warpaes_format format;
    warpaes_kdf kdf;
    const char* input_path;  /**< NULL: read input_fd. */
    const char* output_path; /**< NULL: write output_fd. */
    int32_t input_fd;
    int32_t output_fd;
    /* RAW; with OPENSSL_ENC they may be given too and then replace the passphrase's. */
    const warpaes_key* key;
    const uint8_t* iv;
    uint64_t iv_len;
    /* OPENSSL_ENC */
    uint32_t key_bits;      /**< 128, 192 or 256 */
    uint32_t iterations;    /**< PBKDF2; 0: 10000 */
    const char* passphrase; /**< passphrase_len bytes; need not end in a NUL. */
    uint64_t passphrase_len;
    const char* digest; /**< NULL: "sha256"; any digest that libcrypto knows. */
    /** NULL: "Salted__" and a random salt are written in front, and expected there. 8 bytes: a salt that both sides
        know, with nothing in front, as `openssl enc -S` of OpenSSL 3. */
    const uint8_t* salt;
    uint64_t salt_len;
    /* RANGE, inclusive on both ends; range_last = WARPAES_UNKNOWN: to the end. Needs an input that can seek. */
    uint64_t range_first;
    uint64_t range_last;
    warpaes_progress progress; /**< May be NULL. */
    void* progress_user;
    /* STREAMING_AEAD */
    const warpaes_keyset* keyset;
    const void* aad; /**< Associated data: not in the file, the same on both sides. */
    uint64_t aad_len;
    uint32_t threads; /**< Host threads that work on it, at most; 0: all that the engine has. */
    uint32_t reserved;
} warpaes_file_job;

#define WARPAES_FILE_JOB_INIT                                                                                       \
    {                                                                                                               \
        sizeof(warpaes_file_job), 0, (warpaes_mode)0, (warpaes_direction)0, WARPAES_FORMAT_RAW, WARPAES_KDF_PBKDF2, \
            NULL, NULL, 0, 0, NULL, NULL, 0, 0, 0, NULL, 0, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, 0, 0, 0    \
    }

/** What became of a file job. Filled by the library, but for struct_size. */
typedef struct warpaes_file_result {
    uint32_t struct_size;
    warpaes_status status;  /**< Also returned. */
    uint64_t bytes_read;    /**< As the cipher saw them, with the header: base64 counts decoded. */
    uint64_t bytes_written; /**< To the output. */
    uint32_t notes;         /**< WARPAES_NOTE_* */
    int32_t device;         /**< Which CUDA device ran it; -1 for the CPU. */
    const char* backend;    /**< Which backend ran it. Static storage. */
    uint32_t key_id;        /**< STREAMING_AEAD: the key that was used. */
    uint32_t reserved;
    char error[WARPAES_ERROR_BYTES]; /**< The sentence for the status; "" for WARPAES_OK. */
    uint8_t sha256[32];              /**< With WARPAES_FILE_SHA256 after success; else zeros. */
} warpaes_file_result;

#define WARPAES_FILE_RESULT_INIT                                                \
    {                                                                           \
        sizeof(warpaes_file_result), WARPAES_OK, 0, 0, 0, -1, NULL, 0, 0, "", { \
            0                                                                   \
        }                                                                       \
    }

/** Runs the job and returns when its output is complete. `result` may be NULL. Thread-safe. */
WARPAES_API warpaes_status warpaes_file_run(warpaes_engine* engine, const warpaes_file_job* job,
                                            warpaes_file_result* result);

/** What can be said about an encrypted file without a key. */
typedef struct warpaes_file_info {
    uint32_t struct_size;
    warpaes_format format;
    const char* template_name; /**< The one asked for, or "" where only a key can tell. Static storage. */
    uint64_t file_bytes;
    uint64_t header_bytes;
    uint64_t segment_bytes;   /**< of ciphertext, tag included; 0 if not known */
    uint64_t segments;        /**< 0 if not known */
    uint64_t plaintext_bytes; /**< WARPAES_UNKNOWN if not known: OPENSSL_ENC, or no template was asked for */
    uint32_t key_bits;        /**< of AES; 0 if not known */
    uint32_t reserved;
} warpaes_file_info;

#define WARPAES_FILE_INFO_INIT \
    { sizeof(warpaes_file_info), (warpaes_format)0, NULL, 0, 0, 0, 0, 0, 0, 0 }

/**
 * Reads the header of the file at `path` and computes the rest from its length. `template_name`: what to take it for;
 * NULL: what the header says, which for Tink's formats leaves the segment size open (not written in the file), and by
 * which C2SP's files are not recognised (they have no mark). WARPAES_ERROR_FORMAT if it cannot be such a file, for
 * example because its length is impossible.
 */
WARPAES_API warpaes_status warpaes_file_inspect(const char* path, const char* template_name, warpaes_file_info* info);

/* ------------------------------------------------------------------------------------------------ readers and writers
 */

/** Where a reader's ciphertext comes from: a path, memory, or functions of the caller. */
typedef struct warpaes_source {
    uint32_t struct_size;
    uint32_t reserved;
    const char* path;
    const void* memory; /**< If path is NULL; must stay as long as the reader. */
    uint64_t memory_len;
    /** If both are NULL: fills `buffer` with the `length` bytes at `offset`; returns 0, or anything else for failure.
        Called from several threads at once. */
    int (*read)(void* user, uint64_t offset, void* buffer, uint64_t length);
    uint64_t size; /**< For `read`: bytes in all. */
    void* user;
} warpaes_source;

#define WARPAES_SOURCE_INIT \
    { sizeof(warpaes_source), 0, NULL, NULL, 0, NULL, 0, NULL }

/** Where a writer's ciphertext goes: a path, or a function of the caller. */
typedef struct warpaes_sink {
    uint32_t struct_size;
    uint32_t flags;   /**< WARPAES_FILE_OVERWRITE, WARPAES_FILE_NO_SYNC */
    const char* path; /**< Appears under its name when the writer has finished. */
    /** If path is NULL: takes the next `length` bytes; returns 0, or anything else for failure. One call at a time. */
    int (*write)(void* user, const void* bytes, uint64_t length);
    void* user;
} warpaes_sink;

#define WARPAES_SINK_INIT \
    { sizeof(warpaes_sink), 0, NULL, NULL, NULL }

/** Random access to a file of authenticated segments. Reading is thread-safe. */
typedef struct warpaes_reader warpaes_reader;

/** Reads the header, finds the key by authenticating the last segment, which also proves that the end is there. Keyset
    and associated data are not needed afterwards. */
WARPAES_API warpaes_status warpaes_reader_open(warpaes_engine* engine, const warpaes_source* source,
                                               const warpaes_keyset* keyset, const void* aad, size_t aad_len,
                                               warpaes_reader** reader);
/** Bytes of plaintext. */
WARPAES_API uint64_t warpaes_reader_size(const warpaes_reader* reader);
/**
 * Bytes [offset, offset + length) of the plaintext into `output`, in host or device memory; `*read` is less than length
 * only at the end. Reads and authenticates just the segments under them; of a path and of memory, if short reads follow
 * one another, the engine's threads go on with the next until the reader is closed. After an error the output is wiped
 * and `*read` is 0; the next call may succeed. WARPAES_ERROR_RANGE for an offset beyond the end.
 */
WARPAES_API warpaes_status warpaes_reader_read(warpaes_reader* reader, uint64_t offset, void* output, uint64_t length,
                                               uint64_t* read);
/** Frees the reader; NULL is allowed. */
WARPAES_API void warpaes_reader_close(warpaes_reader* reader);

/** Writes a file of authenticated segments, front to back. One thread at a time. */
typedef struct warpaes_writer warpaes_writer;

WARPAES_API warpaes_status warpaes_writer_open(warpaes_engine* engine, const warpaes_sink* sink,
                                               const warpaes_keyset* keyset, const void* aad, size_t aad_len,
                                               warpaes_writer** writer);
/** The next `length` bytes of plaintext, in host or device memory. After an error only close is allowed. */
WARPAES_API warpaes_status warpaes_writer_write(warpaes_writer* writer, const void* input, uint64_t length);
/** Ends the file: the last segment, and for a path fsync and its name. */
WARPAES_API warpaes_status warpaes_writer_finish(warpaes_writer* writer);
/** Frees the writer; without finish, nothing appears at the path. NULL is allowed. */
WARPAES_API void warpaes_writer_close(warpaes_writer* writer);

#ifdef __cplusplus
}
#endif

#endif
