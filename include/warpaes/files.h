/*
 * warpaes: keysets, complete files and streams, readers and writers.
 * Part of the C ABI; warpaes.h states its rules.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WARPAES_FILES_H
#define WARPAES_FILES_H

#include <stdio.h>
#include <warpaes/warpaes.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --------------------------------------------------------------------------------------------------------- keysets */

/**
 * Keys for files, in the format of other libraries: a cleartext Tink keyset. A keyset contains several keys, one of
 * which is the primary key. Encryption uses the primary key; decryption tries every enabled key. Threads may share a
 * keyset while no thread changes it. The keyset is wiped when it is destroyed.
 *
 * A template is a format with its parameters (warpaes_template_query). The templates of Tink's streaming AEAD have
 * Tink's names, such as AES256_GCM_HKDF_1MB. C2SP_CHUNKED_128 and C2SP_CHUNKED_256 (c2sp.org/chunked-encryption) have
 * only raw keys, which a keyset file cannot contain.
 */
typedef struct warpaes_keyset warpaes_keyset;

typedef enum warpaes_key_state {
    WARPAES_KEY_ENABLED = 1,
    WARPAES_KEY_DISABLED = 2, /**< Kept, but not used. */
    WARPAES_KEY_DESTROYED = 3 /**< Only its ID remains. */
} warpaes_key_state;

typedef struct warpaes_key_info {
    uint32_t struct_size;
    uint32_t key_id;
    warpaes_key_state state;
    int32_t primary;           /**< 1 if it is the primary key. */
    const char* template_name; /**< Name of the key's template; "" if the key's parameters match no template. Static
                                    storage. */
    uint32_t key_bits;         /**< AES key size; 0 for a destroyed key, and for a Tink key of another primitive */
    uint32_t segment_bytes;    /**< size of a segment's ciphertext in bytes; 0 in the same cases as key_bits */
} warpaes_key_info;

#define WARPAES_KEY_INFO_INIT \
    { sizeof(warpaes_key_info), 0, (warpaes_key_state)0, 0, NULL, 0, 0 }

/** warpaes_template_count returns the number of templates, and warpaes_template_name the name of template `index` (NULL
 * beyond the last). */
WARPAES_API size_t warpaes_template_count(void);
WARPAES_API const char* warpaes_template_name(size_t index);

/** A template and its format. */
typedef struct warpaes_template_info {
    uint32_t struct_size;
    uint32_t key_bits;      /**< AES key size */
    const char* format;     /**< The format's name, such as "Tink streaming AEAD". Static storage. */
    uint64_t header_bytes;  /**< Bytes of a file before its first segment's ciphertext. */
    uint64_t segment_bytes; /**< Bytes of a full segment's ciphertext, with its tag. */
    uint32_t raw_only;      /**< 1: the format's keys are raw, and a keyset file cannot contain them. */
    uint32_t has_mark;      /**< 1: warpaes_file_inspect recognises files of this format without a template. */
} warpaes_template_info;

#define WARPAES_TEMPLATE_INFO_INIT \
    { sizeof(warpaes_template_info), 0, NULL, 0, 0, 0, 0 }

/** Describes the template called `template_name`. WARPAES_ERROR_ARGUMENT for an unknown name. */
WARPAES_API warpaes_status warpaes_template_query(const char* template_name, warpaes_template_info* info);

/** Creates an empty keyset. */
WARPAES_API warpaes_status warpaes_keyset_create(warpaes_keyset** keyset);
/** Parses `length` bytes of Tink's JSON in UTF-8, with or without a byte order mark. The message for
 * WARPAES_ERROR_KEYSET describes the fault without quoting the JSON. */
WARPAES_API warpaes_status warpaes_keyset_parse(const char* json, size_t length, warpaes_keyset** keyset);
/** Creates a keyset of one raw key of `length` bytes: 16 or 32 for C2SP's templates (the size of the AES key); from the
 * size of the AES key up to 4096 bytes for Tink's templates. WARPAES_ERROR_KEY_LENGTH for other lengths. */
WARPAES_API warpaes_status warpaes_keyset_from_raw(const char* template_name, const uint8_t* key, size_t length,
                                                   warpaes_keyset** keyset);
/** Checks bytes that were read from a file, a variable or a program; call it before warpaes_keyset_from_raw. Returns
 * WARPAES_ERROR_KEYSET if the bytes are text (ASCII, UTF-8, UTF-16, UTF-32, or Latin-1 that is mostly ASCII, possibly
 * followed by zeros). Such text is a passphrase or a damaged hexadecimal key and not a raw key. The error message never
 * quotes the text. About one in 100,000 random 16-byte keys is mistaken for text, and practically no random 32-byte
 * key. */
WARPAES_API warpaes_status warpaes_keyset_check_raw(const void* key, size_t length);
WARPAES_API void warpaes_keyset_destroy(warpaes_keyset* keyset);
/** Adds a new random key. The first key of a keyset becomes its primary key. `key_id` receives the new key's ID; may be
 * NULL. */
WARPAES_API warpaes_status warpaes_keyset_add(warpaes_keyset* keyset, const char* template_name, uint32_t* key_id);
/** Makes an enabled key the primary key. */
WARPAES_API warpaes_status warpaes_keyset_promote(warpaes_keyset* keyset, uint32_t key_id);
/** Enables, disables or destroys a key. The primary key must stay enabled. */
WARPAES_API warpaes_status warpaes_keyset_set_state(warpaes_keyset* keyset, uint32_t key_id, warpaes_key_state state);
/** Removes a key that is not the primary key. */
WARPAES_API warpaes_status warpaes_keyset_remove(warpaes_keyset* keyset, uint32_t key_id);
/** Copies the enabled keys of `other` into `keyset` for decryption, which tries them after the keyset's own keys. The
 * copied keys are neither listed nor written. */
WARPAES_API warpaes_status warpaes_keyset_append(warpaes_keyset* keyset, const warpaes_keyset* other);
WARPAES_API size_t warpaes_keyset_count(const warpaes_keyset* keyset);
WARPAES_API warpaes_status warpaes_keyset_query(const warpaes_keyset* keyset, size_t index, warpaes_key_info* info);
/** Writes Tink's JSON with the secret keys, without a terminating NUL. `*length` receives the length of the JSON. If
 * `capacity` is smaller, the call returns WARPAES_ERROR_BUFFER_TOO_SMALL. */
WARPAES_API warpaes_status warpaes_keyset_write(const warpaes_keyset* keyset, char* json, size_t capacity,
                                                size_t* length);

/* ------------------------------------------------------------------------------------ keysets under a passphrase */

/** The cost of one guess at a passphrase: scrypt's parameters (RFC 7914). A guess fills 128 n r bytes of memory p
 * times. */
typedef struct warpaes_scrypt {
    uint32_t struct_size;
    uint32_t r;
    uint32_t p;
    uint32_t reserved;
    uint64_t n; /**< a power of two */
} warpaes_scrypt;

/** 128 MiB, the minimum cost for a new keyset. */
#define WARPAES_SCRYPT_INIT \
    { sizeof(warpaes_scrypt), 8, 1, 0, 131072 }

/** Finds the cost that takes about `seconds` on this machine, between the cost in INIT and 1 GiB, with r = 8 and p =
 * 1. */
WARPAES_API warpaes_status warpaes_scrypt_choose(double seconds, warpaes_scrypt* cost);

/** Writes the keyset encrypted under a passphrase of any bytes: Tink's JSON for an encrypted keyset, plus the
 * parameters that derive its key from the passphrase (docs/formats.md). Every call uses a new salt. If `cost` is NULL,
 * a guess takes about a second. `*length` is as for warpaes_keyset_write; if `capacity` is too small, no key is
 * derived. */
WARPAES_API warpaes_status warpaes_keyset_wrap(const warpaes_keyset* keyset, const char* passphrase,
                                               size_t passphrase_len, const warpaes_scrypt* cost, char* json,
                                               size_t capacity, size_t* length);
/** Reads JSON that warpaes_keyset_wrap wrote. WARPAES_ERROR_AUTHENTICATION: the passphrase is wrong, or the JSON was
 * altered. WARPAES_ERROR_KEYSET: the JSON is not valid, or its cost exceeds 1 GiB of memory or eight times the work of
 * filling 1 GiB; the cost is checked before any memory is allocated for it. */
WARPAES_API warpaes_status warpaes_keyset_unwrap(const char* json, size_t length, const char* passphrase,
                                                 size_t passphrase_len, warpaes_keyset** keyset);
/** Reads the public part of an encrypted keyset's JSON, without its passphrase or key. This part is not authenticated.
 * `cost` receives the cost of a guess: n, r and p are 0 if the keyset is not encrypted under a passphrase. `keyset`
 * receives the IDs and states of the keys: the result can be queried, and is refused for any other use. Either pointer
 * may be NULL. */
WARPAES_API warpaes_status warpaes_keyset_peek(const char* json, size_t length, warpaes_scrypt* cost,
                                               warpaes_keyset** keyset);

/* ----------------------------------------------------------------------------- keysets under a key-encryption key */

/**
 * Writes the keyset encrypted under a key-encryption key, as Tink's JSON for an encrypted keyset. Tink's libraries open
 * it with that key as the AEAD. `kek` is the content of the key's file: a cleartext keyset of AesGcmKeys in Tink's
 * JSON, whose primary key encrypts; or one key as 16 or 32 bytes that are not text (warpaes_keyset_check_raw), or as 32
 * or 64 hexadecimal digits. `aad` is associated data, which is not part of the result and must be the same when the
 * keyset is opened. `kek` and `aad` are each at most 1 MiB. `*length` is as for warpaes_keyset_write.
 * WARPAES_ERROR_KEYSET: `kek` is not such a key.
 */
WARPAES_API warpaes_status warpaes_keyset_wrap_under(const warpaes_keyset* keyset, const void* kek, size_t kek_len,
                                                     const void* aad, size_t aad_len, char* json, size_t capacity,
                                                     size_t* length);
/** Reads JSON that warpaes_keyset_wrap_under or a Tink library wrote, and tries every enabled key of `kek`.
 * WARPAES_ERROR_AUTHENTICATION: the key or the associated data is wrong, or the JSON was altered. WARPAES_ERROR_KEYSET:
 * the key or the keyset is not valid. */
WARPAES_API warpaes_status warpaes_keyset_unwrap_under(const char* json, size_t length, const void* kek, size_t kek_len,
                                                       const void* aad, size_t aad_len, warpaes_keyset** keyset);

/* ----------------------------------------------------------------------------------------------- places of keysets */

/** Asks for a passphrase. `question` names the keyset in one line. The function writes the passphrase, at most
 * `capacity` bytes, to `passphrase`, and the number of bytes to `*length`. The library wipes `passphrase`. The function
 * returns 0, or any other value to cancel. It must return: neither longjmp nor a C++ exception may leave it. */
typedef int (*warpaes_ask_passphrase)(void* user, const char* question, char* passphrase, size_t capacity,
                                      size_t* length);
/** Receives a warning without secrets, for example that other users of the machine can open a key file. */
typedef void (*warpaes_warning)(void* user, const char* sentence);

typedef struct warpaes_place_options {
    uint32_t struct_size;
    uint32_t reserved;
    warpaes_ask_passphrase ask; /**< NULL: a place that requires an answer is refused. */
    warpaes_warning warning;    /**< NULL: warnings are dropped. */
    void* user;                 /**< the first argument of both functions */
    const char* template_name;  /**< load: the template of a raw key; NULL: AES128_GCM_HKDF_1MB or AES256_GCM_HKDF_1MB,
                                   depending on the length of the key. Refused if the keys are not raw. */
    const warpaes_scrypt* cost; /**< save: the cost of a guess at the passphrase; NULL: a guess takes about a second */
} warpaes_place_options;

#define WARPAES_PLACE_OPTIONS_INIT \
    { sizeof(warpaes_place_options), 0, NULL, NULL, NULL, NULL, NULL }

/**
 * Loads a keyset or a raw key from its place. A place is a string with the grammar of docs/keys.md, which the command
 * and the Python package also use: PATH, file:PATH, env:NAME, fd:N or exec:COMMAND, optionally preceded by passphrase:,
 * passphrase=PLACE;, kek=PLACE;, kek-aad=TEXT; or clear:. `options` may be NULL. The call waits until a program ends, a
 * pipe is closed or `ask` returns.
 *
 * WARPAES_ERROR_ARGUMENT: not a place, or a place that this call cannot open (own:, and the URLs of key managers, which
 * exec: can open through `warpaes keysources open`). WARPAES_ERROR_NOT_FOUND: the file does not exist.
 * WARPAES_ERROR_READ: the file could not be read, or the program failed. WARPAES_ERROR_KEYSET: not a keyset; a keyset
 * that is unencrypted although the place requires an encrypted keyset, or vice versa; more than 1 MiB; or a cost beyond
 * warpaes_keyset_unwrap's limits, which is refused before any question. WARPAES_ERROR_AUTHENTICATION: the passphrase or
 * the key is wrong. WARPAES_ERROR_CANCELLED: `ask` cancelled. No error message repeats a secret, or any part of a place
 * other than file names, variable names and kinds, because that part may be a secret.
 *
 * A program receives neither the variables that the place or WARPAES_KEYSET names, nor any variable WARPAES_KEYSET…,
 * and no descriptors except standard error; its standard input is empty. Thread-safe, unless a thread changes the
 * environment.
 */
WARPAES_API warpaes_status warpaes_keyset_load(const char* place, const warpaes_place_options* options,
                                               warpaes_keyset** keyset);
/** Writes the keyset to a new file at its place, PATH or file:PATH. Only the file's owner can open the file (mode
 * 0600). The keyset is encrypted under the passphrase or key that the place names, or unencrypted. `options` may be
 * NULL. `ask` is called once. WARPAES_ERROR_EXISTS if the file exists, because keys are never overwritten. After a
 * failure, no file remains. */
WARPAES_API warpaes_status warpaes_keyset_save(const warpaes_keyset* keyset, const char* place,
                                               const warpaes_place_options* options);

/* ------------------------------------------------------------------------------------------------ files and streams */

typedef enum warpaes_format {
    WARPAES_FORMAT_RAW = 0,           /**< Only ciphertext; the caller supplies the key and the IV. */
    WARPAES_FORMAT_OPENSSL_ENC = 1,   /**< `openssl enc`: derives the key and the IV from a passphrase; the file starts
                                         with "Salted__" and the salt. */
    WARPAES_FORMAT_STREAMING_AEAD = 2 /**< Authenticated segments: Tink's streaming AEAD or C2SP chunked encryption,
                                           depending on the keyset's key. */
} warpaes_format;

typedef enum warpaes_kdf {
    WARPAES_KDF_PBKDF2 = 0,        /**< PBKDF2-HMAC (RFC 8018), as `openssl enc -pbkdf2` */
    WARPAES_KDF_EVP_BYTESTOKEY = 1 /**< The older derivation of `openssl enc`: one hash iteration. Weak. */
} warpaes_kdf;

/** Flags of a file job. */
enum {
    WARPAES_FILE_PKCS7 = 1u << 0,           /**< ECB, CBC: add padding. */
    WARPAES_FILE_BASE64 = 1u << 1,          /**< Ciphertext as base64 in lines of 64 characters (`openssl enc -a`). */
    WARPAES_FILE_BASE64_ONE_LINE = 1u << 2, /**< With BASE64: a single line (`-A`). */
    WARPAES_FILE_OVERWRITE = 1u << 3,       /**< Replace an existing output file. */
    WARPAES_FILE_NO_SALT = 1u << 4,         /**< OPENSSL_ENC: no salt and no header. */
    WARPAES_FILE_RANGE = 1u << 5,   /**< Produce only bytes range_first … range_last of the result, and read only the
                                         blocks or segments that contain them (ECB, CTR, and decryption of CBC, CFB and
                                         STREAMING_AEAD). */
    WARPAES_FILE_VERIFY = 1u << 6,  /**< STREAMING_AEAD decryption: authenticate everything and write nothing. */
    WARPAES_FILE_NO_SYNC = 1u << 7, /**< Do not wait until the file is on the disk; a power failure may lose the file.
                                     */
    WARPAES_FILE_SHA256 = 1u << 8,  /**< Return the SHA-256 of the output in the result. The output is then written in
                                         order. */
    WARPAES_FILE_SHA256_INPUT = 1u << 9,     /**< STREAMING_AEAD decryption of a file: return the SHA-256 of the input
                                                  in the result. The input is then read in order. Cannot be combined
                                                  with SHA256 or RANGE. */
    WARPAES_FILE_KEEP_ATTRIBUTES = 1u << 10, /**< A new or replaced output file gets the permissions and times of the
                                                  input file. */
    WARPAES_FILE_SALVAGE = 1u << 11          /**< STREAMING_AEAD decryption of a damaged file, from an input that can
                                                  seek: write every segment that is authentic, and zeros in place of the
                                                  other segments. If any segment is not authentic, or the end of the
                                                  file is missing, the job ends with WARPAES_ERROR_HOLES and the output
                                                  is kept. If no segment is authentic, the job ends with
                                                  WARPAES_ERROR_AUTHENTICATION and without an output. Cannot be combined
                                                  with RANGE, VERIFY or SHA256_INPUT. */
};

/** SALVAGE: `length` bytes of the output starting at `first` are zeros, because the input is not authentic there.
 * Called in order, once for each range; adjacent ranges are merged. If `length` is WARPAES_UNKNOWN, nothing from
 * `first` onwards is authentic, and the original length is unknown. */
typedef void (*warpaes_hole)(void* user, uint64_t first, uint64_t length);

/** Reports the progress of a running job. Called at intervals, from one thread at a time. `bytes_total` is
 * WARPAES_UNKNOWN for a pipe. Return 0 to continue, and any other value to cancel. */
typedef int (*warpaes_progress)(void* user, uint64_t bytes_done, uint64_t bytes_total);

/**
 * A file or stream to encrypt or decrypt in bounded memory. The output file appears under `output_path` only when it is
 * complete. Until then it has no name, or a temporary name in the same directory if the file system does not support
 * unnamed files. After a failure no output file remains, except for WARPAES_ERROR_HOLES. A failed write is an error and
 * raises no signal (SIGPIPE, SIGXFSZ).
 *
 * STREAMING_AEAD uses `keyset`, and `aad` if the file was written with associated data; it ignores `mode`, `key` and
 * `iv`. In decryption, an output at `output_path` appears only after all of it has been authenticated, except for the
 * ranges of zeros of SALVAGE. A pipe receives only authenticated segments, in order; if the data after them is altered
 * or missing, the job then fails.
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
    /* RAW. With OPENSSL_ENC, these fields are optional and replace the key and IV derived from the passphrase. */
    const warpaes_key* key;
    const uint8_t* iv;
    uint64_t iv_len;
    /* OPENSSL_ENC */
    uint32_t key_bits;      /**< 128, 192 or 256 */
    uint32_t iterations;    /**< PBKDF2 iterations; 0: 10000 */
    const char* passphrase; /**< passphrase_len bytes, at most 1 MiB; need not be NUL-terminated. */
    uint64_t passphrase_len;
    const char* digest; /**< NULL: "sha256"; otherwise any digest that libcrypto supports. */
    /** NULL: the file starts with "Salted__" and a random salt. 8 bytes: a salt that both sides know and that is not in
     * the file, as with `openssl enc -S` of OpenSSL 3. */
    const uint8_t* salt;
    uint64_t salt_len;
    /* RANGE: both ends are inclusive; range_last = WARPAES_UNKNOWN: to the end. The input must be able to seek. */
    uint64_t range_first;
    uint64_t range_last;
    warpaes_progress progress; /**< May be NULL. */
    void* progress_user;
    /* STREAMING_AEAD */
    const warpaes_keyset* keyset;
    const void* aad; /**< Associated data: not in the file, and the same for encryption and decryption; at most 1
                          MiB. */
    uint64_t aad_len;
    uint32_t threads; /**< The maximum number of host threads for the job; 0: all threads of the engine. */
    uint32_t reserved;
    warpaes_hole hole; /**< SALVAGE; may be NULL. */
    void* hole_user;
    /** STREAMING_AEAD encryption: bytes to write at the start of the file, for example its keyset encrypted under a
     * passphrase (docs/formats.md); at most 1 MiB. They are not authenticated. To decrypt such a file, use a descriptor
     * whose position is after these bytes. */
    const void* prefix;
    uint64_t prefix_len;
} warpaes_file_job;

#define WARPAES_FILE_JOB_INIT                                                                                       \
    {                                                                                                               \
        sizeof(warpaes_file_job), 0, (warpaes_mode)0, (warpaes_direction)0, WARPAES_FORMAT_RAW, WARPAES_KDF_PBKDF2, \
            NULL, NULL, 0, 0, NULL, NULL, 0, 0, 0, NULL, 0, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, 0, 0, 0,   \
            NULL, NULL, NULL, 0                                                                                     \
    }

/** The outcome of a file job. The library fills every field except struct_size. */
typedef struct warpaes_file_result {
    uint32_t struct_size;
    warpaes_status status;  /**< The status that the call returned. */
    uint64_t bytes_read;    /**< Bytes that the cipher read, including the header; for base64, decoded bytes. */
    uint64_t bytes_written; /**< Bytes written to the output. */
    uint32_t notes;         /**< WARPAES_NOTE_* */
    int32_t device;         /**< The CUDA device that ran the job; -1: the CPU. */
    const char* backend;    /**< The backend that ran the job. Static storage. */
    uint32_t key_id;        /**< STREAMING_AEAD: the ID of the key that was used. */
    uint32_t reserved;
    char error[WARPAES_ERROR_BYTES]; /**< The error message; "" for WARPAES_OK. */
    uint8_t sha256[32];              /**< With WARPAES_FILE_SHA256 or SHA256_INPUT after success; otherwise zeros. */
} warpaes_file_result;

#define WARPAES_FILE_RESULT_INIT                                                \
    {                                                                           \
        sizeof(warpaes_file_result), WARPAES_OK, 0, 0, 0, -1, NULL, 0, 0, "", { \
            0                                                                   \
        }                                                                       \
    }

/** Runs the job and returns when its output is complete. `result` may be NULL. Thread-safe. A progress function that
    forks must not return in the child; if it does, the child's call returns WARPAES_ERROR_STATE. */
WARPAES_API warpaes_status warpaes_file_run(warpaes_engine* engine, const warpaes_file_job* job,
                                            warpaes_file_result* result);

/** Information about an encrypted file that is available without a key. */
typedef struct warpaes_file_info {
    uint32_t struct_size;
    warpaes_format format;
    const char* template_name; /**< The requested template; "" if none was requested. Static storage. */
    uint64_t file_bytes;
    uint64_t header_bytes;
    uint64_t segment_bytes;   /**< bytes of a segment's ciphertext, including its tag; 0 if unknown */
    uint64_t segments;        /**< 0 if unknown */
    uint64_t plaintext_bytes; /**< WARPAES_UNKNOWN if unknown: OPENSSL_ENC, or no template was requested */
    uint32_t key_bits;        /**< AES key size; 0 if unknown */
    uint32_t reserved;
    const char* format_name; /**< The format's name, such as "Tink streaming AEAD". Static storage. */
} warpaes_file_info;

#define WARPAES_FILE_INFO_INIT \
    { sizeof(warpaes_file_info), (warpaes_format)0, NULL, 0, 0, 0, 0, 0, 0, 0, NULL }

/**
 * Reads the header of the file at `path` and computes the other facts from the file's length. `template_name` is the
 * template to assume. If it is NULL, the format is recognised by the first bytes of the file. The segment size is then
 * unknown, because Tink's header does not contain it; C2SP files have no magic number and are not recognised.
 * WARPAES_ERROR_FORMAT if the file cannot have that format, for example because its length is impossible. Thread-safe.
 */
WARPAES_API warpaes_status warpaes_file_inspect(const char* path, const char* template_name, warpaes_file_info* info);

/* ------------------------------------------------------------------------------------------------ readers and writers
 */

/** The source of a reader's ciphertext: exactly one of a path, memory, and a function supplied by the caller. A pipe,
 * terminal or socket, such as /dev/stdin, cannot seek: its path is read like a source with `next`. */
typedef struct warpaes_source {
    uint32_t struct_size;
    uint32_t reserved;
    const char* path;
    const void* memory; /**< If path is NULL. Must stay valid as long as the reader. */
    uint64_t memory_len;
    /** If path and memory are NULL: fills `buffer` with the `length` bytes at `offset`; returns 0, or any other value
     * for failure. Several threads may call the function at once. */
    int (*read)(void* user, uint64_t offset, void* buffer, uint64_t length);
    uint64_t size; /**< For `read`: size of the file in bytes. */
    void* user;
    /** If path, memory and read are NULL, the source cannot seek: the function writes the next bytes of the file to
     * `buffer`, at least one and at most `length`, and their number to `*got`; 0 means the end of the file. The
     * function waits only for the first byte. It returns 0, or any other value for failure. The library makes one call
     * at a time. */
    int (*next)(void* user, void* buffer, uint64_t length, uint64_t* got);
} warpaes_source;

#define WARPAES_SOURCE_INIT \
    { sizeof(warpaes_source), 0, NULL, NULL, 0, NULL, 0, NULL, NULL }

/** Random access to a file of authenticated segments. Several threads may read at once. A source that cannot seek is
 * read forward: each read begins where the previous read ended, by one thread at a time, in the process that opened the
 * reader. */
typedef struct warpaes_reader warpaes_reader;

/** The destination of a writer's ciphertext: a path, or a function supplied by the caller. */
typedef struct warpaes_sink {
    uint32_t struct_size;
    uint32_t flags;   /**< WARPAES_FILE_OVERWRITE, WARPAES_FILE_NO_SYNC */
    const char* path; /**< The file appears under this name when the writer has finished. */
    /** If path is NULL: accepts the next `length` bytes; returns 0, or any other value for failure. The library makes
     * one call at a time. */
    int (*write)(void* user, const void* bytes, uint64_t length);
    void* user;
    /** With WARPAES_FILE_OVERWRITE and path: the writer may replace only the file that this reader has opened. If the
     * path now names a different file, or if the file has changed, opening or finishing the writer fails with
     * WARPAES_ERROR_READ. The reader is only needed while the writer is being opened. */
    const warpaes_reader* replaces;
} warpaes_sink;

#define WARPAES_SINK_INIT \
    { sizeof(warpaes_sink), 0, NULL, NULL, NULL, NULL }

/** Reads the header and the last segment. Authenticating the last segment determines the right key and shows that the
 * end of the file is present. If the source cannot seek, the call reads the header and the first segment; reading the
 * last segment later shows that the file is complete. The keyset and the associated data may be freed after the call.
 * Errors: WARPAES_ERROR_KEYSET, WARPAES_ERROR_FORMAT, WARPAES_ERROR_AUTHENTICATION, WARPAES_ERROR_READ. */
WARPAES_API warpaes_status warpaes_reader_open(warpaes_engine* engine, const warpaes_source* source,
                                               const warpaes_keyset* keyset, const void* aad, size_t aad_len,
                                               warpaes_reader** reader);
/** Returns the number of bytes of plaintext; 0 for NULL. For a source that cannot seek: WARPAES_UNKNOWN until
 * everything has been read. */
WARPAES_API uint64_t warpaes_reader_size(const warpaes_reader* reader);
/** Writes the numbers of bytes of plaintext in the first segment and in every other full segment to `*first` and
 * `*others`. Reads authenticate whole segments. */
WARPAES_API warpaes_status warpaes_reader_segments(const warpaes_reader* reader, uint64_t* first, uint64_t* others);
/**
 * Copies bytes [offset, offset + length) of the plaintext to `output`, in host or device memory. `*read` is less than
 * `length` only at the end. The call reads and authenticates only the segments that contain these bytes. For sequential
 * short reads of a path or of memory, the engine's threads open the next segments in advance until the reader is
 * closed. After an error `output` is wiped and `*read` is 0; the next call may succeed. WARPAES_ERROR_RANGE for an
 * offset beyond the end. Thread-safe. If the source cannot seek, `*read` is 0 only at the end, which has then been
 * authenticated, and may be less than `length` anywhere: a segment is returned when the segment and the first byte
 * after it have arrived. WARPAES_ERROR_RANGE for an offset other than the end of the previous read. After any other
 * error, every call returns that error.
 */
WARPAES_API warpaes_status warpaes_reader_read(warpaes_reader* reader, uint64_t offset, void* output, uint64_t length,
                                               uint64_t* read);
/** Frees the reader; NULL is allowed. */
WARPAES_API void warpaes_reader_close(warpaes_reader* reader);

/** Writes a file of authenticated segments from front to back. Only one thread at a time may use a writer, in the
 * process that opened it. In a child of fork(), which would encrypt other text under the same nonces, write and finish
 * return WARPAES_ERROR_STATE. (The library does not detect that a virtual machine is resumed twice from the same
 * snapshot: open writers after the resumption.) */
typedef struct warpaes_writer warpaes_writer;

WARPAES_API warpaes_status warpaes_writer_open(warpaes_engine* engine, const warpaes_sink* sink,
                                               const warpaes_keyset* keyset, const void* aad, size_t aad_len,
                                               warpaes_writer** writer);
/** Encrypts the next `length` bytes of plaintext, from host or device memory. After an error only close is allowed. */
WARPAES_API warpaes_status warpaes_writer_write(warpaes_writer* writer, const void* input, uint64_t length);
/** Ends the file: writes the last segment, and for a path syncs the file and makes it visible under its name. */
WARPAES_API warpaes_status warpaes_writer_finish(warpaes_writer* writer);
/** Frees the writer. Without finish, no file appears at the path. NULL is allowed. In a child of fork(), the call does
 * not affect the parent's file. */
WARPAES_API void warpaes_writer_close(warpaes_writer* writer);

/* -------------------------------------------------------------------------------------------- streams of the C library
 */

/**
 * Opens an encrypted file as a FILE* for fread, fseek, ftell, getc and similar functions, with the same arguments as
 * warpaes_reader_open. fclose frees the stream, and the engine must exist until then. fread returns only authentic
 * bytes. If the file is altered or cannot be read, fread returns fewer bytes than requested, ferror is true, errno is
 * EIO (ENOMEM: out of memory), and warpaes_last_error describes the reason. The stream has no descriptor: fileno
 * returns -1, so the file cannot be mapped. If the source cannot seek, neither can the stream (ESPIPE). The stream's
 * buffer of 64 KiB is wiped by fclose; the caller must wipe a buffer that was set with setvbuf. As for other streams of
 * fopencookie, glibc does not support freopen or the wide-character functions (fgetws): they crash.
 * WARPAES_ERROR_BACKEND if the C library has no fopencookie.
 */
WARPAES_API warpaes_status warpaes_open_stream(warpaes_engine* engine, const warpaes_source* source,
                                               const warpaes_keyset* keyset, const void* aad, size_t aad_len,
                                               FILE** stream);
/**
 * Opens a FILE* that encrypts the data written to it, front to back, with the same arguments as warpaes_writer_open.
 * fclose ends the file and makes it visible under its name. If fclose or an earlier write fails, fclose returns EOF,
 * errno is EIO (ENOMEM: out of memory), and no file appears. If fclose is not called, for example at exit, no file
 * appears either. In a child of fork(), the stream cannot be written to. WARPAES_ERROR_BACKEND if the C library has no
 * fopencookie.
 */
WARPAES_API warpaes_status warpaes_create_stream(warpaes_engine* engine, const warpaes_sink* sink,
                                                 const warpaes_keyset* keyset, const void* aad, size_t aad_len,
                                                 FILE** stream);

#ifdef __cplusplus
}
#endif

#endif
