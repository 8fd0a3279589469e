/*
 * warpaes: AES (FIPS 197) at the speed of the hardware. This is the C ABI, the only ABI of the library: engines, keys,
 * messages, batches and contexts. files.h declares files, planning.h declares plans and calibrations. docs/abi.md
 * explains the design.
 *
 * Rules for every function and struct:
 *  - Every function that can fail returns a warpaes_status. An error message that names the argument accompanies it: in
 *    the call's result if it has one (`error`), or in the handle (warpaes_context_error and similar functions), and
 *    always in warpaes_last_error() on the same thread. No exception crosses this boundary. No function prints or
 *    exits.
 *  - A call's input is const. Output other than the status is written to a separate struct. The pointer to this struct
 *    may be NULL where the function's comment allows it.
 *  - Initialise a struct that has a `struct_size` with its macro WARPAES_*_INIT. The macro sets the size, and each
 *    input field to its default. The default is 0 or NULL, so `= {0}` with `struct_size` set to the struct's sizeof is
 *    equivalent, except: `device` is -1 in warpaes_engine_options and warpaes_tuning; `entry_size` and `result_size` in
 *    warpaes_batch_options are the sizes in this header; warpaes_work describes one message of AES-128-CTR encryption
 *    under one key; `second` is 1 in warpaes_numbers; WARPAES_SCRYPT_INIT is a cost. A `struct_size` of 0 is refused.
 *  - Newer libraries accept older, smaller structs: they read missing fields as 0 and write nothing beyond the caller's
 *    size. The first version of every struct is always accepted. If a newer caller passes a larger struct or batch
 *    entry, the fields unknown to this library must be 0; otherwise the call is refused.
 *  - A message, batch entry or context is refused if a field that its mode or the call does not use is not 0 or NULL.
 *    These fields are not read: `range_offset` and `range_len` without WARPAES_RANGE, the output of CMAC, an `iv` whose
 *    length is 0 (but see SIV), and elements of a batch whose length is 0.
 *  - The _destroy function of a handle's type frees the handle and accepts NULL.
 *  - Many threads may use the same engine or key at once. Only one thread at a time may use a context.
 *  - Lengths and offsets are in bytes, except for CFB1 with WARPAES_LENGTH_IN_BITS.
 *  - Not supported, and refused: lengths in bits in a context (warpaes_crypt accepts the complete message); XTS and CTR
 *    messages whose length is not a whole number of bytes (with CTR, encrypt complete bytes and ignore the last bits);
 *    CBC with ciphertext stealing, CS1 to CS3 (WARPAES_PKCS7 accepts any length; CTR output is as long as the
 *    plaintext).
 *  - Buffers may be in pageable, page-locked or device memory, at any alignment; the library detects the kind of
 *    memory. Input and output may be the same buffer; any other overlap is refused.
 *  - The library wipes keys and every internal copy of data before it releases their memory.
 *  - Every function works on a machine without a GPU or a GPU driver; only requests for a GPU fail there.
 *  - No buffer that a call reads may change until the call has returned, or the batch is finished. GCM and CCM read the
 *    text twice, as other libraries do: once for the tag and once for the output. If a process or thread writes to the
 *    text between the two reads (to a file mapped by mmap, to a shared arena), altered plaintext may be returned as
 *    authentic. If another process or thread can write to the data, copy it to private memory first.
 *  - After fork(), the child may use the parent's engines, keys, keysets, readers, arenas and finished batches; they
 *    compute on the CPU, with the child's own threads. For the following handles, calls return WARPAES_ERROR_STATE with
 *    a message that names the owning process: writers; contexts that encrypt under an IV, until they get another IV;
 *    unfinished batches, and new batches of the parent's engine; and GPUs that the parent has used. Every handle may be
 *    destroyed in the child, which does not affect the parent's files and shared memory. docs/abi.md lists all handles.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WARPAES_WARPAES_H
#define WARPAES_WARPAES_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define WARPAES_API
#else
#define WARPAES_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define WARPAES_VERSION "1.0.0"
/** The major version: the first number of WARPAES_VERSION, and the number in the library's soname. It grows when
   something that callers rely on is removed or changed, and never when something is added. */
#define WARPAES_ABI_VERSION 1

/** Returns the version of the loaded library, for example "1.0.0". Static storage. */
WARPAES_API const char* warpaes_version(void);
/** Returns the WARPAES_ABI_VERSION of the loaded library. */
WARPAES_API uint32_t warpaes_abi_version(void);

/* ------------------------------------------------------------------------------------------------ status and errors */

/** Values are stable; new values are only added at the end. The `warpaes` command exits with the same numbers. */
typedef enum warpaes_status {
    WARPAES_OK = 0,
    WARPAES_ERROR_INTERNAL = 1,         /**< A bug, or a failure that no other value describes. */
    WARPAES_ERROR_ARGUMENT = 2,         /**< A null pointer, an unknown value, or fields that contradict each other. */
    WARPAES_ERROR_KEY_LENGTH = 3,       /**< A key's length is not 16, 24 or 32 bytes. */
    WARPAES_ERROR_IV_LENGTH = 4,        /**< The mode does not accept an IV of this length. Most modes require 16 bytes,
                                             ECB and CMAC require 0, and GCM requires at least 1; for the other modes
                                             see warpaes_message. */
    WARPAES_ERROR_DATA_LENGTH = 5,      /**< The mode does not accept a message of this length. For example, ECB and CBC
                                             without padding require whole 16-byte blocks. */
    WARPAES_ERROR_PADDING = 6,          /**< PKCS#7 padding is wrong: the key or the IV is wrong, or the data is
                                             damaged. */
    WARPAES_ERROR_BUFFER_TOO_SMALL = 7, /**< The output does not fit. output_len is the required size. */
    WARPAES_ERROR_OVERLAP = 8,          /**< Input and output overlap without being the same buffer. */
    WARPAES_ERROR_RANGE = 9,            /**< A range or position is outside the message, or the mode cannot reach it. */
    WARPAES_ERROR_BACKEND = 10, /**< The backend does not exist, cannot run on this machine, or cannot do this work. */
    WARPAES_ERROR_OUT_OF_MEMORY = 11, /**< Not enough host memory. */
    WARPAES_ERROR_DEVICE_MEMORY = 12, /**< Not enough device memory. */
    WARPAES_ERROR_DEVICE = 13,        /**< A CUDA call failed. */
    WARPAES_ERROR_STATE = 14,         /**< Called out of order, for example update after final; or the handle belongs to
                                           the parent of this forked process. */
    WARPAES_ERROR_CANCELLED = 15,     /**< The caller's callback or warpaes_batch_cancel stopped the work. */
    WARPAES_ERROR_NOT_FOUND = 16,     /**< The input file does not exist or cannot be opened. */
    WARPAES_ERROR_EXISTS = 17,        /**< The output exists, and the caller has not allowed it to be overwritten. */
    WARPAES_ERROR_SAME_FILE = 18,     /**< Input and output are the same file. */
    WARPAES_ERROR_READ = 19,          /**< Reading failed. */
    WARPAES_ERROR_WRITE = 20,         /**< Writing failed: disk full, closed pipe, no permission. */
    WARPAES_ERROR_FORMAT = 21,        /**< The file does not have the expected format, or is truncated. */
    WARPAES_ERROR_AUTHENTICATION = 22, /**< A tag is wrong: the key or the associated data is wrong, or the data was
                                            altered or truncated. The output contains no unauthenticated byte (contexts:
                                            see warpaes_context_set_tag). */
    WARPAES_ERROR_KEYSET = 23,         /**< Not a keyset, or a keyset without a key for this operation. */
    WARPAES_ERROR_TIMEOUT = 24,        /**< The batch is not finished yet. */
    WARPAES_ERROR_IV_REUSED = 25,      /**< GCM, CCM: two encryptions in a batch use the same key and IV. */
    WARPAES_ERROR_HOLES = 26 /**< WARPAES_FILE_SALVAGE: the output is kept, with zeros wherever the input is not
                                  authentic. */
} warpaes_status;

/** Returns a short description of `status`. Static storage; never NULL. */
WARPAES_API const char* warpaes_status_message(warpaes_status status);
/** Returns the error message of the last failed call on this thread; "" if none has failed. Valid until this thread's
 * next call. */
WARPAES_API const char* warpaes_last_error(void);
/** Bytes that a result reserves for an error message, including its NUL. A longer message is truncated. */
#define WARPAES_ERROR_BYTES 256

/** An unknown length, or a time without a limit. */
#define WARPAES_UNKNOWN UINT64_MAX

/* ----------------------------------------------------------------------------------------------------------- modes */

typedef enum warpaes_mode {
    WARPAES_ECB = 1,     /**< SP 800-38A 6.1 */
    WARPAES_CBC = 2,     /**< SP 800-38A 6.2 */
    WARPAES_CFB128 = 3,  /**< SP 800-38A 6.3, 128-bit segments */
    WARPAES_CFB8 = 4,    /**< SP 800-38A 6.3, 8-bit segments */
    WARPAES_CFB1 = 5,    /**< SP 800-38A 6.3, 1-bit segments, the most significant bit of a byte first */
    WARPAES_OFB = 6,     /**< SP 800-38A 6.4 */
    WARPAES_CTR = 7,     /**< SP 800-38A 6.5, 128-bit big-endian increment (appendix B.1) */
    WARPAES_XTS = 8,     /**< SP 800-38E, IEEE 1619: AES-128 and AES-256 */
    WARPAES_GCM = 9,     /**< SP 800-38D; with associated data and no text it is GMAC */
    WARPAES_CCM = 10,    /**< SP 800-38C */
    WARPAES_CMAC = 11,   /**< SP 800-38B: encryption writes a tag and no output; decryption compares the tag */
    WARPAES_KW = 12,     /**< SP 800-38F, RFC 3394: key wrapping. Only warpaes_crypt supports KW and the modes below. */
    WARPAES_KWP = 13,    /**< SP 800-38F, RFC 5649: key wrapping with padding */
    WARPAES_SIV = 14,    /**< RFC 5297: deterministic, or with a nonce that may repeat */
    WARPAES_GCM_SIV = 15 /**< RFC 8452: AES-128 and AES-256; a repeated IV reveals only which messages are equal */
} warpaes_mode;

typedef enum warpaes_direction { WARPAES_ENCRYPT = 1, WARPAES_DECRYPT = 2 } warpaes_direction;

/** Flags of a message or a context. */
enum {
    WARPAES_PKCS7 = 1u << 0,          /**< ECB, CBC: add padding to a complete block (RFC 5652, 6.3) and check it on
                                           decryption. */
    WARPAES_LENGTH_IN_BITS = 1u << 1, /**< CFB1, not in contexts: input_len and output_len count bits. The unused low
                                         bits of the last output byte are zero. */
    WARPAES_RANGE = 1u << 2           /**< Produce only bytes [range_offset, range_offset + range_len) of the result. */
};

/** Notes: information in addition to the status. Only the last note is for a failed call. */
enum {
    WARPAES_NOTE_COUNTER_WRAPPED =
        1u << 0 /**< The CTR counter passed 2^128 - 1 and continued at 0, as in SP 800-38A B.1 and OpenSSL. The output
                   is correct, but this key has also used counter blocks starting at 0. A batch sets this note only for
                   messages whose IVs are in host memory. */
    ,
    WARPAES_NOTE_DEVICE_FAILED = 1u << 1, /**< A GPU failed midway and the CPU finished the work. The output is
                                               complete. */
    WARPAES_NOTE_INPUT_GREW =
        1u << 2, /**< The input file grew after it was opened. The output covers its length at that time. */
    WARPAES_NOTE_ATTRIBUTES = 1u << 3, /**< The output is complete, but its file system refused or ignored permissions
                                            or times: other users may be able to open the file, or users who could open
                                            the replaced file may be unable to open the new file. */
    WARPAES_NOTE_NAME_EARLY = 1u << 4, /**< The output is complete, but its name was visible while the file was being
                                          written, because the file system cannot rename files. */
    WARPAES_NOTE_KEY_OPENS = 1u << 5   /**< For a file job that failed with WARPAES_ERROR_AUTHENTICATION: the key is
                                            right, because a segment before the refused segment is authentic under it. */
};

/* ---------------------------------------------------------------------------------------------------------- engine */

/** An engine runs all work. It owns this machine's backends, their devices, workers and staging memory. Create one
 * engine and share it. */
typedef struct warpaes_engine warpaes_engine;

typedef struct warpaes_engine_options {
    uint32_t struct_size;
    /** Host threads that work on one call. 0: one per processor available to this process. */
    uint32_t threads;
    /** "libcrypto", "aesni", "vaes", "armv8" or "cuda": use this backend for everything, or fail. NULL: use the
     * environment variable WARPAES_BACKEND if it is set and not empty, otherwise "auto", the best backend for each
     * call. "vaes" uses 256-bit registers, even on a processor with AVX-512, if the environment variable
     * WARPAES_VECTOR_BITS is 256 when the process first uses the library. */
    const char* backend;
    /** CUDA device number. -1: every device; WARPAES_ENGINE_OPTIONS_INIT sets -1. */
    int32_t device;
    /** Number of chunks in flight. 0: the measured default for the backend. */
    uint32_t depth;
    /** Bytes per staging chunk, a multiple of 4096. 0: the measured default for the backend. */
    uint64_t chunk_bytes;
    /** Receives the error message if the engine cannot be created: WARPAES_ERROR_BYTES bytes, or NULL. */
    char* error;
} warpaes_engine_options;

#define WARPAES_ENGINE_OPTIONS_INIT \
    { sizeof(warpaes_engine_options), 0, NULL, -1, 0, 0, NULL }

/** `options` may be NULL. If a backend is unknown or cannot run here, the call returns WARPAES_ERROR_BACKEND and does
 * not use a different backend. */
WARPAES_API warpaes_status warpaes_engine_create(const warpaes_engine_options* options, warpaes_engine** engine);
/** Frees the engine. Every call on the engine must have returned, and its asynchronous work must have completed. In a
 * child of fork(), the call wipes kept keys and does not touch data that the parent's threads use. */
WARPAES_API void warpaes_engine_destroy(warpaes_engine* engine);

/**
 * Wipes the expanded keys that the library keeps between batches in case a key is used again: keys that entries
 * contained as bytes, and expanded keys in GPU memory, for all engines of the process. When the call returns, no such
 * expanded key is left in memory, except keys that running batches use; call it again when these batches are finished.
 * Without this call, an idle thread of the engine wipes each key that no batch has used for ten seconds, and destroying
 * the engine wipes all such keys. Later batches expand their keys again. Thread-safe, including during batches,
 * captures and other flushes. WARPAES_ERROR_DEVICE if a GPU fails.
 */
WARPAES_API warpaes_status warpaes_engine_flush_keys(warpaes_engine* engine);

/** One backend on this machine, or one of its devices. Strings live as long as the process. */
typedef struct warpaes_backend_info {
    uint32_t struct_size;
    int32_t usable;          /**< 1 if the backend or device can run here */
    const char* name;        /**< "libcrypto", "aesni", "vaes", "armv8", "cuda" */
    const char* description; /**< "OpenSSL 3.0.19", the instruction sets in use, the GPU's name, …; changes if CUDA
                                  cannot lock pages, as in confidential computing. */
    const char* reason;      /**< Why the backend or device cannot run here; "" if it can. */
    int32_t device;          /**< CUDA device number; -1 for a CPU backend or if there is no device. */
    int32_t multiprocessors; /**< CUDA: number of streaming multiprocessors; otherwise 0. */
    uint64_t memory_bytes;   /**< CUDA: size of device memory; otherwise 0. */
} warpaes_backend_info;

#define WARPAES_BACKEND_INFO_INIT \
    { sizeof(warpaes_backend_info), 0, NULL, NULL, NULL, -1, 0, 0 }

/** Returns the number of entries for warpaes_backend_query: one per CPU backend and one per CUDA device (or one for
 * `cuda` without a device). */
WARPAES_API size_t warpaes_backend_count(void);
/** Describes entry `index` of the list: first the CPU backends, ending with the best, then the CUDA devices.
 * Thread-safe. */
WARPAES_API warpaes_status warpaes_backend_query(size_t index, warpaes_backend_info* info);

/** Returns name `index` in the list of all backends: first the CPU backends, then the GPU backend. NULL beyond the last
 * name. The call does not load the GPU driver. */
WARPAES_API const char* warpaes_backend_name(size_t index);
/** Returns 1 if the backend of this name computes on GPUs, and 0 for all other names and NULL. The call does not load
 * the GPU driver. */
WARPAES_API int32_t warpaes_backend_is_gpu(const char* name);

/** The kind of memory that contains existing data, or that is to be allocated. */
typedef enum warpaes_memory {
    WARPAES_MEMORY_PAGEABLE = 0,    /**< Ordinary memory. */
    WARPAES_MEMORY_PAGE_LOCKED = 1, /**< Copies to and from a GPU at full speed. Pageable on machines without a GPU. */
    WARPAES_MEMORY_DEVICE = 2,      /**< Memory of a CUDA device. */
    WARPAES_MEMORY_SHARED = 3       /**< Like PAGE_LOCKED, but other processes may map it. Only for arenas. Pageable
                                         where CUDA cannot lock pages of ordinary memory (confidential computing). */
} warpaes_memory;

/** Returns "pageable", "page-locked", "device" or "shared"; NULL for other values. */
WARPAES_API const char* warpaes_memory_name(warpaes_memory memory);

/** Allocates `bytes` of zeroed memory, aligned to 4096 bytes (DEVICE: to 256). `device` is the device number and is
    used only for DEVICE. SHARED is refused. Thread-safe. */
WARPAES_API warpaes_status warpaes_alloc(warpaes_engine* engine, warpaes_memory memory, int32_t device, uint64_t bytes,
                                         void** pointer);
/** Wipes and releases memory that warpaes_alloc allocated for this engine. Ignores NULL and any other pointer.
 * Thread-safe. */
WARPAES_API void warpaes_free(warpaes_engine* engine, void* pointer);
/** Copies between any two kinds of memory, after all work enqueued on the default stream. The copy is complete on
 * return. */
WARPAES_API warpaes_status warpaes_copy(warpaes_engine* engine, void* to, const void* from, size_t bytes);

/* ------------------------------------------------------------------------------------------------------------- key */

/** An expanded AES key. Immutable; threads may share it; wiped when destroyed. */
typedef struct warpaes_key warpaes_key;

/** Expands a copy of the `length` bytes (16, 24 or 32) at `bytes`. Expansion takes the same time for all keys of the
 * same length. */
WARPAES_API warpaes_status warpaes_key_create(const uint8_t* bytes, size_t length, warpaes_key** key);
/** Wipes and frees the key. No call, context or unfinished batch may use the key after that; enqueued work has its own
 * copy. A batch refuses an entry with a destroyed key, unless a new key has the same address. NULL is allowed. */
WARPAES_API void warpaes_key_destroy(warpaes_key* key);

/* --------------------------------------------------------------------------------------------------------- message */

/** Bytes, in host or device memory. */
typedef struct warpaes_part {
    const void* data;
    uint64_t length;
} warpaes_part;

/**
 * One complete message, with all of its parameters.
 *
 * `input` is the complete message. With WARPAES_RANGE (ECB, CTR, XTS, and decryption of CBC and CFB) the library reads
 * only the blocks that contain the range, and `output` receives only the range, `range_len` bytes. A range cannot be
 * combined with PKCS7. In place means output == input; a range cannot be processed in place.
 *
 * GCM: `iv` of 1 byte or more (12 bytes is usual and fastest), `aad` and `tag`; `input` of at most 2^36 - 32 bytes.
 * Never use an IV twice with the same key, and use at most 2^32 random IVs of 12 bytes per key (SP 800-38D, 8.3).
 * Encryption writes `tag`. Decryption compares it in constant time; if it is wrong, decryption wipes the output and
 * returns WARPAES_ERROR_AUTHENTICATION. Ranges are not supported.
 *
 * CCM: like GCM, but with an `iv` of 7 to 13 bytes and a `tag` of 4, 6, 8, 10, 12, 14 or 16 bytes. A shorter IV allows
 * a longer message; with 13 bytes, a message has at most 2^16 - 1 bytes. CMAC: `tag`, of 4 to 16 bytes, authenticates
 * `input`; there is no IV, and `output` is ignored. Decryption compares the tag.
 *
 * XTS: `key` and `tweak_key` are both AES-128 or both AES-256, and must differ (FIPS 140-3 IG C.I). The message
 * consists of consecutive data units of `data_unit_len` bytes (16 to 2^24; 0: the complete message is one unit). The
 * last unit may be shorter, but has at least 16 bytes. A unit whose length is not a multiple of 16 uses ciphertext
 * stealing. `iv` is the tweak of the first unit: its number as 16 little-endian bytes. The number grows by
 * `data_unit_step` from unit to unit (at most 2^20; 0 means 1, as in IEEE 1619; use 8 for LUKS with 4096-byte units,
 * because LUKS counts 512-byte sectors). A range consists of complete units.
 *
 * KW: encryption wraps `input` of 16 bytes or more, a multiple of 8, and writes 8 more bytes than it reads. KWP wraps 1
 * to 2^32 - 1 bytes, and writes the length rounded up to a multiple of 8, plus 8 bytes. `iv` is NULL, or a check value
 * that replaces the standard's check value: 8 bytes for KW and 4 bytes for KWP. Decryption writes 8 bytes fewer than it
 * reads. The result's output_len is the length of the message, which for KWP may be up to 7 bytes less than the bytes
 * written. If the check value is wrong, decryption wipes the output and returns WARPAES_ERROR_AUTHENTICATION.
 *
 * SIV: `mac_key` (K1 of RFC 5297) and `key` (K2), of the same length. `tag` is V, 16 bytes, which RFC 5297 puts before
 * the ciphertext. The associated data is either one component, `aad` (none if NULL), or the `aad_count` components of
 * `aad_list`. `iv`, of any length, is an additional component after the associated data; NULL means that there is no
 * such component. At most 126 components are allowed, including `iv`.
 *
 * GCM-SIV: like GCM, but only AES-128 or AES-256, with an `iv` of 12 bytes and a `tag` of 16 bytes. `input` and `aad`
 * have at most 2^36 bytes each.
 *
 * If the input and output of GCM-SIV are in the memory of one GPU, that GPU computes the message, after the work on its
 * default stream. CPUs process all other messages of KW, KWP, SIV and GCM-SIV, as a whole: data in device memory is
 * copied to host memory and back. An engine with the backend "cuda" refuses these messages with WARPAES_ERROR_BACKEND,
 * except for GCM-SIV without text.
 */
typedef struct warpaes_message {
    uint32_t struct_size;
    uint32_t flags;
    warpaes_mode mode;
    warpaes_direction direction;
    const warpaes_key* key;
    /** 16 bytes: the IV, or for CTR the initial counter block. NULL for ECB and CMAC. Other modes: above. */
    const uint8_t* iv;
    uint64_t iv_len;
    const void* input;
    uint64_t input_len;
    void* output;
    /** In bytes; at least the number of bytes that are written. Usually input_len; PKCS7 encryption: the next multiple
     * of 16 above input_len; with WARPAES_RANGE: range_len; lengths in bits: rounded up to bytes; KW and KWP: above.
     * CMAC: not read. */
    uint64_t output_capacity;
    uint64_t range_offset;
    uint64_t range_len;
    const void* aad; /**< GCM, CCM, SIV, GCM-SIV: associated data, in host or device memory. */
    uint64_t aad_len;
    /** GCM, CCM, CMAC, SIV, GCM-SIV. Encryption writes the tag; decryption only reads it, as the expected tag. The tag
     * is in host or device memory; for asynchronous calls, see warpaes_crypt_async. */
    void* tag;
    uint64_t tag_len; /**< GCM: 16, 15, 14, 13 or 12; 8 and 4 only with the limits of SP 800-38D, appendix C. */
    const warpaes_key* tweak_key; /**< XTS */
    uint64_t data_unit_len;       /**< XTS */
    /** Asynchronous decryption with a tag: receives the message's status, WARPAES_OK or WARPAES_ERROR_AUTHENTICATION.
     * The status is in the memory of the buffers' device (without text: any device). Otherwise NULL. */
    warpaes_status* device_status;
    const warpaes_key* mac_key;   /**< SIV */
    const warpaes_part* aad_list; /**< SIV: components, instead of `aad` */
    uint64_t aad_count;           /**< number of components in aad_list */
    uint64_t data_unit_step;      /**< XTS */
} warpaes_message;

#define WARPAES_MESSAGE_INIT                                                                                      \
    {                                                                                                             \
        sizeof(warpaes_message), 0, (warpaes_mode)0, (warpaes_direction)0, NULL, NULL, 0, NULL, 0, NULL, 0, 0, 0, \
            NULL, 0, NULL, 0, NULL, 0, NULL, NULL, NULL, 0, 0                                                     \
    }

/** The outcome of a message. The library fills every field except struct_size. */
typedef struct warpaes_result {
    uint32_t struct_size;
    warpaes_status status; /**< The status that the call returned. */
    uint64_t output_len;   /**< Length written (CFB1 in bits: in bits); if the capacity was too small, the required
                              size. */
    uint32_t notes;        /**< WARPAES_NOTE_* */
    int32_t device;        /**< The CUDA device that ran the call; -1: the CPU. */
    const char* backend;   /**< The backend that ran the call; "" if none did. Static storage. */
    char error[WARPAES_ERROR_BYTES]; /**< The error message; "" for WARPAES_OK. */
} warpaes_result;

#define WARPAES_RESULT_INIT \
    { sizeof(warpaes_result), WARPAES_OK, 0, 0, -1, NULL, "" }

/**
 * Encrypts or decrypts one message and returns when the output is complete. `result` may be NULL. Thread-safe. Before
 * the call, the caller must complete any work that fills a buffer in device memory, or enqueue it on that device's
 * default stream. On WARPAES_ERROR_PADDING (decryption with PKCS7) the output is wiped.
 */
WARPAES_API warpaes_status warpaes_crypt(warpaes_engine* engine, const warpaes_message* message,
                                         warpaes_result* result);

/**
 * Encrypts or decrypts buffers in device memory: enqueues the work on `cuda_stream` (a cudaStream_t of the buffers'
 * device; NULL: the default stream) and returns at once. The output is complete when the stream has completed the work;
 * the result is final on return. PKCS7 is refused. A range must consist of complete blocks. A range of CBC or CFB
 * decryption first waits for `cuda_stream`, to fetch the 16 bytes before the range; it is refused with
 * WARPAES_ERROR_STATE if the stream is being captured. The default stream is also refused while CUDA does not allow its
 * use because a blocking stream is being captured. The key may be destroyed after the call. A message of 0 bytes in a
 * mode without tags succeeds, and nothing is enqueued. `result` may be NULL. Thread-safe.
 *
 * GCM, CCM, CMAC: encryption writes the tag to memory of the buffers' device; a 16-byte GCM tag may also be in
 * page-locked memory if the associated data is in host memory. Decryption writes its status to `device_status`, and
 * wipes an output that is not authentic; its `tag` may be in host memory, which the call copies. Without text, the
 * memory of `tag` (for decryption, of `device_status`) determines the device. `cuda_stream` may be in capture, as with
 * warpaes_batch_enqueue.
 */
WARPAES_API warpaes_status warpaes_crypt_async(warpaes_engine* engine, const warpaes_message* message,
                                               void* cuda_stream, warpaes_result* result);

/* --------------------------------------------------------------------------------------------------------- batches */

/** Memory for many messages, which entries can address by offsets. Another process, or a program in another language,
 * can create a batch that uses offsets, and such a batch can be copied from one arena to another. */
typedef struct warpaes_arena warpaes_arena;

/** Creates an arena of `bytes` zeroed bytes, at least 1. `memory` and `device` are as for warpaes_alloc, but SHARED is
 * allowed. Thread-safe. */
WARPAES_API warpaes_status warpaes_arena_create(warpaes_engine* engine, warpaes_memory memory, int32_t device,
                                                uint64_t bytes, warpaes_arena** arena);
/** Wipes and releases the arena. No unfinished batch may use the arena. NULL is allowed. A child of fork() does not
 * wipe memory that it shares with its parent. */
WARPAES_API void warpaes_arena_destroy(warpaes_arena* arena);
/** Returns the address of the arena's first byte, in this process or on the device. */
WARPAES_API void* warpaes_arena_data(const warpaes_arena* arena);
WARPAES_API uint64_t warpaes_arena_size(const warpaes_arena* arena);
/** Returns, for SHARED, a descriptor that can be mapped (MAP_SHARED) or sent to another process. The arena owns the
 * descriptor: do not close it. -1 for other kinds of memory. */
WARPAES_API int warpaes_arena_fd(const warpaes_arena* arena);

/**
 * One part (such as the input or the IV) of every message in an entry. The part of message i is `i * stride` bytes
 * after `at`, which is a pointer or, with WARPAES_BATCH_OFFSETS, an offset in the batch's arena. With stride 0, all
 * messages of the entry share the part. Ignored if the part's length is 0.
 */
typedef struct warpaes_elements {
    union {
        void* pointer;
        uint64_t offset;
    } at;
    uint64_t stride;
} warpaes_elements;

/**
 * `count` messages of the same shape, often only one. The rules of warpaes_message for modes, lengths and IVs apply,
 * but padding and ranges are not supported. CCM requires an IV of 7 to 13 bytes and a tag of an even number of bytes
 * from 4 to 16. CMAC has no IV and no output, and a tag of 4 to 16 bytes. Decryption of GCM, CCM and CMAC compares the
 * tag.
 *
 * `key` is the key for all messages. If it is NULL, `keys` contains `key_len` bytes for each message. XTS requires
 * `key` and `tweak_key`.
 *
 * Each part of an entry is in host memory or on one device. If any part is on a device, that device does the work.
 * The layout is the same on every 64-bit machine (176 bytes; docs/batches.md lists the offsets).
 */
typedef struct warpaes_batch_entry {
    warpaes_mode mode;
    warpaes_direction direction;
    uint64_t count;  /**< 0: nothing to do; at most 2^48 */
    uint64_t length; /**< length of each message, in bytes; CFB1: in bits */
    warpaes_elements input;
    warpaes_elements output; /**< Equal to the input, or disjoint from everything that the batch reads and writes. */
    warpaes_elements iv;
    warpaes_elements aad;
    warpaes_elements tag;
    warpaes_elements keys;
    uint64_t aad_len;
    uint32_t iv_len;
    uint32_t tag_len;
    uint32_t key_len;
    uint32_t data_unit_step; /**< XTS */
    const warpaes_key* key;
    const warpaes_key* tweak_key;
    uint64_t data_unit_len;
    /** NULL, or one status per message: in host memory of this process, or on the data's device for
     * warpaes_batch_enqueue. Each status is WARPAES_OK or WARPAES_ERROR_AUTHENTICATION, or, if the entry failed for
     * another reason, the entry's status. */
    warpaes_status* statuses;
} warpaes_batch_entry;

/** The outcome of an entry. The library writes the outcome while it works on the batch; the outcome is final when the
 * batch is finished. */
typedef struct warpaes_entry_result {
    /** WARPAES_OK; or the entry's fault, and then the entry was not processed; or WARPAES_ERROR_AUTHENTICATION if
     * `failures` is not 0; or the reason why work on the entry stopped, for example CANCELLED. In the last case, the
     * entry's outputs are undefined, but contain no plaintext that is not authentic. */
    warpaes_status status;
    uint32_t reserved;
    uint64_t failures; /**< Number of messages that are not authentic. Their outputs are wiped; the other outputs are
                            valid. */
    uint64_t first_failure; /**< Index of the first message that is not authentic; UINT64_MAX if `failures` is 0. */
} warpaes_entry_result;

/** Flags of a batch. */
enum {
    WARPAES_BATCH_OFFSETS = 1u << 0,      /**< The elements' `at` is an offset in `arena`. */
    WARPAES_BATCH_CHECK_NONCES = 1u << 1, /**< Refuse GCM and CCM encryptions that repeat an IV under the same key
                                             within the batch: every entry involved gets WARPAES_ERROR_IV_REUSED. */
    WARPAES_BATCH_MORE_COPIES = 1u << 2   /**< Only with `copies`: `cuda_stream` does not wait for the copies yet, but
                                               at the end of the next successful call with `copies` and without this
                                               flag, which may have no entries. */
};

typedef struct warpaes_batch warpaes_batch;

typedef struct warpaes_batch_options {
    uint32_t struct_size;
    uint32_t flags;      /**< WARPAES_BATCH_* */
    uint64_t entry_size; /**< Distance between entries in bytes: sizeof(warpaes_batch_entry). Any further bytes of an
                              entry must be 0. */
    const warpaes_arena* arena;
    /** NULL, or one result per entry, which must stay valid until the batch is finished. */
    warpaes_entry_result* results;
    uint64_t result_size; /**< Distance between results in bytes: sizeof(warpaes_entry_result). */
    /** Called once, from a thread of the library, when all work is done and just before the batch counts as finished.
     * The function must not wait for batches or destroy this batch. May be NULL. */
    void (*finished)(void* user, warpaes_batch* batch);
    void* user;
    /** NULL; or, only for warpaes_batch_enqueue, one pointer per entry to page-locked memory for the text of all its
     * messages, or NULL for a text that is not copied. Encryption also copies the output there. Decryption first copies
     * the input from there to the memory on the device that `input` describes, which other entries must not use. The
     * text on the device must have no gaps. CMAC is refused. Texts are copied while other entries are processed, on
     * another stream, and `cuda_stream` waits for the copies: the memory must stay valid and unchanged until then. */
    void* const* copies;
} warpaes_batch_options;

#define WARPAES_BATCH_OPTIONS_INIT                                                                                     \
    {                                                                                                                  \
        sizeof(warpaes_batch_options), 0, sizeof(warpaes_batch_entry), NULL, NULL, sizeof(warpaes_entry_result), NULL, \
            NULL, NULL                                                                                                 \
    }

/** The result of a batch as a whole. */
typedef struct warpaes_batch_result {
    uint32_t struct_size;
    uint32_t notes;           /**< WARPAES_NOTE_* */
    uint64_t messages;        /**< all messages, including those of refused entries */
    uint64_t failed_entries;  /**< entries whose status is not WARPAES_OK */
    uint64_t messages_on_cpu; /**< messages that CPUs processed, including empty messages */
    uint64_t messages_on_gpu;
    warpaes_status status; /**< the status of the first entry that failed */
    int32_t reserved;
    const char* reason; /**< Why the work is divided as it is. Lives as long as the batch. */
} warpaes_batch_result;

#define WARPAES_BATCH_RESULT_INIT \
    { sizeof(warpaes_batch_result), 0, 0, 0, 0, 0, WARPAES_OK, 0, NULL }

/**
 * Submits `count` entries, at most 2^32 - 2, and returns at once. `options` may be NULL. The entries, and everything
 * that they point to, must stay valid until the batch is finished. Entries are independent: the status of an entry
 * describes its fault, and other entries are not affected. Host memory may be of any kind; an arena's memory is the
 * fastest. Before the call, the caller must complete any work that fills device memory, or enqueue it on the device's
 * default stream. Thread-safe.
 *
 * The library refuses everything that warpaes_crypt refuses, and also: elements that reach beyond the arena; outputs
 * (and tags that are written) that overlap each other, within an entry or between entries; an output that overlaps
 * another part that its entry reads, unless the output is the entry's input; GCM and CCM encryption of several messages
 * with the same key and IV. The library does not detect an output that another entry reads, or overlaps between entries
 * whose messages interleave at different strides.
 */
WARPAES_API warpaes_status warpaes_batch_submit(warpaes_engine* engine, const warpaes_batch_options* options,
                                                const warpaes_batch_entry* entries, uint64_t count,
                                                warpaes_batch** batch);
/**
 * Enqueues `count` entries on the caller's stream and returns without waiting for them. `cuda_stream` is a cudaStream_t
 * of the data's device (NULL: its default stream). The data, and tags that are written, are in the memory of one
 * device, even for entries without text. IVs, associated data, keys and expected tags are in the same memory or in host
 * memory, which the call copies. Key handles may be destroyed after the call. Entries that decrypt with a tag require
 * `statuses` in the memory of the same device: in stream order, each message's status (WARPAES_OK or
 * WARPAES_ERROR_AUTHENTICATION) is written there, and outputs that are not authentic are wiped. If an entry is refused,
 * the call returns the entry's status with a message that names the entry, and nothing is enqueued. The options
 * `results`, `finished` and WARPAES_BATCH_CHECK_NONCES are refused.
 *
 * `cuda_stream` may be in capture. Until it is destroyed, the graph holds copies of the keys and of the parts in host
 * memory. The graph reads all other parts at every launch. Launch a graph again only after its last launch has
 * completed. Thread-safe.
 */
WARPAES_API warpaes_status warpaes_batch_enqueue(warpaes_engine* engine, const warpaes_batch_options* options,
                                                 const warpaes_batch_entry* entries, uint64_t count, void* cuda_stream);

/** Memory that contains the messages of a table. If `bytes` is 0, there is no such memory. */
typedef struct warpaes_extent {
    void* pointer;
    uint64_t bytes;
} warpaes_extent;

/** One message of a table: offsets in the table's extents, and lengths. Offsets of parts whose length is 0 are ignored.
 * The size of this struct is 64 bytes. */
typedef struct warpaes_table_message {
    uint64_t input;
    uint64_t output;
    uint64_t length; /**< in bytes; CFB1: in bits */
    uint64_t iv;
    uint64_t aad;
    uint64_t aad_len;
    uint64_t tag;
    uint64_t reserved; /**< 0 */
} warpaes_table_message;

/**
 * `count` messages in the same mode and under the same key, scattered over a few extents of memory, with any lengths
 * and at any addresses: pages, packets, cache blocks. The extents may be the same memory, for messages in place and for
 * records that contain their own IV and tag. `iv` is read for all messages; `tag` is written by encryption.
 *
 * The messages may come from an untrusted source. Each message has its own status; a fault of one message does not
 * affect other messages, and no byte outside the extents is read or written:
 *  - WARPAES_ERROR_RANGE: a part is outside its extent.
 *  - WARPAES_ERROR_OVERLAP: the message writes memory that another message writes or reads, or that the message itself
 *    reads (except for output in place of its own input). If several messages write the same bytes, none of them is
 *    processed.
 *  - WARPAES_ERROR_IV_REUSED: GCM or CCM encryption of two messages whose IVs are at the same offset.
 *  - WARPAES_ERROR_DATA_LENGTH, WARPAES_ERROR_ARGUMENT: the mode does not allow the length, or `reserved` is not 0.
 *  - WARPAES_ERROR_AUTHENTICATION: the message is not authentic; its output is wiped.
 */
typedef struct warpaes_batch_table {
    uint32_t struct_size;
    warpaes_mode mode;
    warpaes_direction direction;
    uint32_t iv_len;
    uint32_t tag_len;
    uint32_t data_unit_step; /**< XTS */
    uint64_t data_unit_len;  /**< XTS */
    const warpaes_key* key;
    const warpaes_key* tweak_key; /**< XTS */
    /** In host memory, or on a device. The call copies the messages, and checks and uses only the copy. */
    const warpaes_table_message* messages;
    uint64_t count;
    warpaes_extent input;
    warpaes_extent output;
    warpaes_extent iv;
    warpaes_extent aad;
    warpaes_extent tag;
    /** One status for each message, outside the extents that are written: in host memory for
     * warpaes_batch_submit_table; on the data's device for warpaes_batch_enqueue_table. */
    warpaes_status* statuses;
} warpaes_batch_table;

#define WARPAES_BATCH_TABLE_INIT                                                                             \
    {                                                                                                        \
        sizeof(warpaes_batch_table), (warpaes_mode)0, (warpaes_direction)0, 0, 0, 0, 0, NULL, NULL, NULL, 0, \
            {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, NULL                                      \
    }

/**
 * Submits the messages of a table as warpaes_batch_submit submits entries: entry i of the batch is message i. The call
 * copies the table; the extents and `statuses` must stay valid until the batch is finished. If the table itself is
 * faulty (a null extent, or an extent that is written and overlaps `statuses`), the call returns the fault's status.
 * The option WARPAES_BATCH_OFFSETS is refused. The host reads every row. Thread-safe.
 */
WARPAES_API warpaes_status warpaes_batch_submit_table(warpaes_engine* engine, const warpaes_batch_options* options,
                                                      const warpaes_batch_table* table, warpaes_batch** batch);
/**
 * Enqueues the messages of a table as warpaes_batch_enqueue enqueues entries. Input, output, written tags and
 * `statuses` are on one device. In stream order, each message's status is written. If the table is on a device, or a
 * message is refused, the call waits for earlier work on the stream; in both cases, a stream in capture is refused with
 * WARPAES_ERROR_STATE. If only individual messages have faults, the call still returns WARPAES_OK. Thread-safe.
 */
WARPAES_API warpaes_status warpaes_batch_enqueue_table(warpaes_engine* engine, const warpaes_batch_table* table,
                                                       void* cuda_stream);
/** Returns 1 if the batch is finished, otherwise 0. Thread-safe. */
WARPAES_API int warpaes_batch_poll(const warpaes_batch* batch);
/** Waits until the batch is finished, at most `milliseconds` (WARPAES_UNKNOWN: without a limit). Returns the status of
 * the first entry that failed, or WARPAES_ERROR_TIMEOUT if the batch is not finished. Any thread may call this
 * function, any number of times. While a call without a limit waits, it executes tasks of the batch in place of one of
 * the engine's threads. */
WARPAES_API warpaes_status warpaes_batch_wait(warpaes_batch* batch, uint64_t milliseconds);
/** Returns a descriptor that becomes readable (poll, epoll, select) when the batch is finished. The batch owns the
 * descriptor; do not read from it or close it. -1 if the system cannot create a descriptor. Thread-safe. */
WARPAES_API int warpaes_batch_fd(warpaes_batch* batch);
/** Drops the work that has not started. An entry gets WARPAES_ERROR_CANCELLED if any part of it is dropped. Returns
 * immediately. */
WARPAES_API void warpaes_batch_cancel(warpaes_batch* batch);
/** Writes the result of a finished batch to `*result`. WARPAES_ERROR_STATE if the batch is not finished. */
WARPAES_API warpaes_status warpaes_batch_query(const warpaes_batch* batch, warpaes_batch_result* result);
/** Writes the outcome of entry `index` of a finished batch to `*result`. WARPAES_ERROR_STATE if the batch is not
 * finished. */
WARPAES_API warpaes_status warpaes_batch_query_entry(const warpaes_batch* batch, uint64_t index,
                                                     warpaes_entry_result* result);
/** Returns the error message of entry `index` of a finished batch; "" for WARPAES_OK, for an index beyond the last
 * entry, and if the batch is not finished. The batch keeps the messages of the first 4096 entries that failed, in the
 * order of their failures; an entry with a wrong tag counts when its error message is first requested. For the other
 * entries that failed, the call returns the text of warpaes_status_message. The text lives as long as the batch. */
WARPAES_API const char* warpaes_batch_entry_error(const warpaes_batch* batch, uint64_t index);
/** Waits until the batch is finished, and frees it. NULL is allowed. */
WARPAES_API void warpaes_batch_destroy(warpaes_batch* batch);

/* --------------------------------------------------------------------------------------------------------- context */

/** A message that arrives in pieces. Only one thread at a time may use a context. In a child of fork(), update, final
 * and aad of a context that encrypts under an IV return WARPAES_ERROR_STATE until init or set_iv sets a new IV. */
typedef struct warpaes_context warpaes_context;

/** The common properties of all messages of a context, and the IV of the first message. */
typedef struct warpaes_context_options {
    uint32_t struct_size;
    uint32_t flags; /**< WARPAES_PKCS7 or 0 */
    warpaes_mode mode;
    warpaes_direction direction;
    const warpaes_key* key; /**< Must live until the context stops using it. NULL: set by warpaes_context_set_key. */
    const uint8_t* iv;      /**< As in warpaes_message. NULL: set by warpaes_context_set_iv. Always NULL for ECB and
                                 CMAC. */
    uint64_t iv_len;
    const warpaes_key* tweak_key; /**< XTS */
    uint64_t data_unit_len;       /**< XTS; 0: the complete message is one data unit, and must arrive in one update. */
    uint64_t text_len;            /**< CCM: total bytes of text in all updates */
    uint64_t aad_len;             /**< CCM: total bytes of associated data */
    uint64_t tag_len;             /**< CCM: length of the tag */
    uint64_t data_unit_step;      /**< XTS: as in warpaes_message */
} warpaes_context_options;

#define WARPAES_CONTEXT_OPTIONS_INIT \
    { sizeof(warpaes_context_options), 0, (warpaes_mode)0, (warpaes_direction)0, NULL, NULL, 0, NULL, 0, 0, 0, 0, 0 }

WARPAES_API warpaes_status warpaes_context_create(warpaes_engine* engine, warpaes_context** context);
WARPAES_API void warpaes_context_destroy(warpaes_context* context);
/** Creates a second context, which continues independently from the state of `context`. */
WARPAES_API warpaes_status warpaes_context_copy(const warpaes_context* context, warpaes_context** copy);
/** Returns the error message of the last failed call on this context; "" if none has failed. Valid until the next call
 * on this context. */
WARPAES_API const char* warpaes_context_error(const warpaes_context* context);

/** Sets the mode, the direction, the key and their options. With an IV (ECB, CMAC: with a key) the call also starts a
 * message. An IV or a tweak key without a key is refused with WARPAES_ERROR_ARGUMENT. Any previous state is discarded;
 * a call that fails changes nothing. */
WARPAES_API warpaes_status warpaes_context_init(warpaes_context* context, const warpaes_context_options* options);
/** Sets a new key; `tweak_key` for XTS, otherwise NULL. Discards the current message; set_iv starts the next
 * message. */
WARPAES_API warpaes_status warpaes_context_set_key(warpaes_context* context, const warpaes_key* key,
                                                   const warpaes_key* tweak_key);
/** Starts a message with this IV; NULL and 0 for ECB and CMAC. Discards the current message. Returns
 * WARPAES_ERROR_STATE if no key is set. */
WARPAES_API warpaes_status warpaes_context_set_iv(warpaes_context* context, const uint8_t* iv, size_t iv_len);
/**
 * Writes the current IV, 16 bytes, to `iv`. Another context that is started with this IV through set_iv continues from
 * the same position. CBC, CFB, OFB: the chaining value; CTR: the next counter block; XTS: the number of the next data
 * unit. Returns WARPAES_ERROR_STATE within a block or a data unit, and for other modes.
 */
WARPAES_API warpaes_status warpaes_context_get_iv(const warpaes_context* context, uint8_t iv[16]);
/** Processes the next `input_len` bytes, which can be any number. `*output_len` receives the number of bytes written.
 * ECB and CBC write complete blocks, so up to 15 bytes more than input_len (16 with padding); XTS writes complete data
 * units, so up to data_unit_len - 1 bytes more; CMAC writes nothing; other modes write input_len bytes. A call that
 * fails consumes nothing; with WARPAES_ERROR_BUFFER_TOO_SMALL, `*output_len` is the required capacity. When working in
 * place (output == input), pieces may be of any size. */
WARPAES_API warpaes_status warpaes_context_update(warpaes_context* context, const void* input, size_t input_len,
                                                  void* output, size_t output_capacity, size_t* output_len);
/** Ends the message. It writes or checks the padding (up to 16 bytes), or for XTS writes a shorter last data unit;
 * decryption with a tag compares the tag (WARPAES_ERROR_STATE without set_tag). Afterwards only set_key, set_iv, init
 * and get_tag are allowed. */
WARPAES_API warpaes_status warpaes_context_final(warpaes_context* context, void* output, size_t output_capacity,
                                                 size_t* output_len);
/** CTR: moves to byte `offset` of the message. WARPAES_ERROR_RANGE for other modes. */
WARPAES_API warpaes_status warpaes_context_seek(warpaes_context* context, uint64_t offset);
/** GCM, CCM: adds `length` bytes of associated data. May be called any number of times before the first update with
 * data. */
WARPAES_API warpaes_status warpaes_context_aad(warpaes_context* context, const void* aad, size_t length);
/** GCM, CCM, CMAC encryption, after final: writes the tag, truncated to `length` bytes (see warpaes_message; CCM:
 * tag_len). */
WARPAES_API warpaes_status warpaes_context_get_tag(warpaes_context* context, uint8_t* tag, size_t length);
/**
 * GCM, CCM, CMAC decryption, before final: sets the expected tag. final then succeeds or returns
 * WARPAES_ERROR_AUTHENTICATION. Until final has succeeded, the output of the updates is not authenticated and must not
 * be used.
 */
WARPAES_API warpaes_status warpaes_context_set_tag(warpaes_context* context, const uint8_t* tag, size_t length);

#ifdef __cplusplus
}
#endif

#endif
