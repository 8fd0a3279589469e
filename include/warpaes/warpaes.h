/*
 * warpaes: AES (FIPS 197) at the speed of the hardware. The C ABI, the only ABI: engines, keys, messages, batches and
 * contexts. Files are in files.h, plans and calibrations in planning.h. Why it is as it is: docs/abi.md.
 *
 * Rules that hold everywhere:
 *  - Every function that can fail returns a warpaes_status. The sentence that goes with it, naming the argument, is in
 *    the call's result, if it has one (`error`); or the handle has it (warpaes_context_error and the like); and it is
 *    warpaes_last_error() on the same thread. No exception crosses this boundary, nothing prints, nothing exits.
 *  - What a call reads is const. What it says besides its status is a struct of its own, which may be NULL.
 *  - Structs with a `struct_size` begin with their macro WARPAES_*_INIT. It sets the size, and every field that is read
 *    to what goes for who says nothing: 0 or NULL, so that `= {0}` with `struct_size` set to sizeof the struct is as
 *    good; but in warpaes_engine_options `device` is -1, in warpaes_batch_options `entry_size` and `result_size` are
 *    those of this header, and warpaes_work is CTR encryption with 128 bits. A `struct_size` of 0 is refused.
 *  - Newer libraries accept older, smaller structs: what is missing is 0, and nothing is written beyond their size. The
 *    first version of every struct is accepted for ever.
 *  - A handle is freed by the _destroy function of its type, which accepts NULL.
 *  - Engines and keys may be used by many threads at once. A context belongs to one thread at a time.
 *  - Lengths and offsets are in bytes, except for CFB1 with WARPAES_LENGTH_IN_BITS.
 *  - Not there, and refused: lengths in bits in a context (warpaes_crypt takes the whole message); XTS and CTR of a
 *    number of bits (of CTR, take whole bytes and leave the last bits aside); CBC with ciphertext stealing, CS1 to CS3
 *    (WARPAES_PKCS7 takes any length; CTR has the length of the plaintext).
 *  - Buffers may lie in pageable, page-locked or device memory (recognised), at any alignment. Input and output may be
 *    the same buffer; any other overlap is refused.
 *  - Keys and every internal copy of data are wiped before their memory is released.
 *  - A machine without a GPU or a GPU driver is an ordinary machine.
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
/** The first number of WARPAES_VERSION and the library's soname. It grows when something that callers rely on goes, and
    never when something is added. */
#define WARPAES_ABI_VERSION 1

/** Version of the library that is running, for example "1.0.0". Static storage. */
WARPAES_API const char* warpaes_version(void);
/** WARPAES_ABI_VERSION of the library that is running. */
WARPAES_API uint32_t warpaes_abi_version(void);

/* ------------------------------------------------------------------------------------------------ status and errors */

/** Stable values; new ones are only ever added at the end. The command line exits with the same numbers. */
typedef enum warpaes_status {
    WARPAES_OK = 0,
    WARPAES_ERROR_INTERNAL = 1,         /**< A bug, or a failure that no other value describes. */
    WARPAES_ERROR_ARGUMENT = 2,         /**< A null pointer, an unknown value, fields that contradict each other. */
    WARPAES_ERROR_KEY_LENGTH = 3,       /**< A key is 16, 24 or 32 bytes. */
    WARPAES_ERROR_IV_LENGTH = 4,        /**< An IV, counter or tweak is 16 bytes, for ECB 0; for GCM 1 or more. */
    WARPAES_ERROR_DATA_LENGTH = 5,      /**< ECB and CBC without padding take whole 16-byte blocks. */
    WARPAES_ERROR_PADDING = 6,          /**< PKCS#7 padding is wrong: wrong key, wrong IV or damaged data. */
    WARPAES_ERROR_BUFFER_TOO_SMALL = 7, /**< The output does not fit; output_len says what it needs. */
    WARPAES_ERROR_OVERLAP = 8,          /**< Input and output overlap without being the same buffer. */
    WARPAES_ERROR_RANGE = 9,            /**< A range or position outside the message, or one the mode cannot reach. */
    WARPAES_ERROR_BACKEND = 10,         /**< No such backend, or it cannot run on this machine or do this. */
    WARPAES_ERROR_OUT_OF_MEMORY = 11,   /**< Host memory. */
    WARPAES_ERROR_DEVICE_MEMORY = 12,   /**< Device memory. */
    WARPAES_ERROR_DEVICE = 13,          /**< A CUDA call failed. */
    WARPAES_ERROR_STATE = 14,           /**< Called out of order, for example update after final. */
    WARPAES_ERROR_CANCELLED = 15,       /**< The caller's callback asked to stop. */
    WARPAES_ERROR_NOT_FOUND = 16,       /**< The input file does not exist or cannot be opened. */
    WARPAES_ERROR_EXISTS = 17,          /**< The output exists and overwriting was not asked for. */
    WARPAES_ERROR_SAME_FILE = 18,       /**< Input and output are the same file. */
    WARPAES_ERROR_READ = 19,            /**< Reading failed. */
    WARPAES_ERROR_WRITE = 20,           /**< Writing failed: disk full, closed pipe, no permission. */
    WARPAES_ERROR_FORMAT = 21,          /**< Not a file of the expected format, or a truncated one. */
    WARPAES_ERROR_AUTHENTICATION = 22,  /**< A tag is wrong: wrong key, wrong associated data, or data that was altered
                                             or cut off. No unauthenticated byte was handed out. */
    WARPAES_ERROR_KEYSET = 23,          /**< Not a keyset, or none of its keys can be used for this. */
    WARPAES_ERROR_TIMEOUT = 24,         /**< The batch is not finished yet. */
    WARPAES_ERROR_IV_REUSED = 25        /**< GCM, CCM: two encryptions of a batch have the same key and IV. */
} warpaes_status;

/** What `status` means, in a few words. Static storage; never NULL. */
WARPAES_API const char* warpaes_status_message(warpaes_status status);
/** The sentence for the last call that failed on this thread; "" if none has. Valid until the next call here. */
WARPAES_API const char* warpaes_last_error(void);
/** Bytes that a result has for such a sentence, its NUL included; a longer one is cut. */
#define WARPAES_ERROR_BYTES 256

/** A length that is not known, a time without a limit. */
#define WARPAES_UNKNOWN UINT64_MAX

/* ----------------------------------------------------------------------------------------------------------- modes */

typedef enum warpaes_mode {
    WARPAES_ECB = 1,     /**< SP 800-38A 6.1 */
    WARPAES_CBC = 2,     /**< SP 800-38A 6.2 */
    WARPAES_CFB128 = 3,  /**< SP 800-38A 6.3, 128-bit segments */
    WARPAES_CFB8 = 4,    /**< the same, 8-bit segments */
    WARPAES_CFB1 = 5,    /**< the same, 1-bit segments, most significant bit of a byte first */
    WARPAES_OFB = 6,     /**< SP 800-38A 6.4 */
    WARPAES_CTR = 7,     /**< SP 800-38A 6.5, 128-bit big-endian increment (appendix B.1) */
    WARPAES_XTS = 8,     /**< SP 800-38E, IEEE 1619: AES-128 and AES-256 */
    WARPAES_GCM = 9,     /**< SP 800-38D; with associated data alone it is GMAC */
    WARPAES_CCM = 10,    /**< SP 800-38C */
    WARPAES_CMAC = 11,   /**< SP 800-38B: a tag and no output; decryption compares it */
    WARPAES_KW = 12,     /**< SP 800-38F, RFC 3394: key wrapping. From here on for warpaes_crypt alone, on CPUs */
    WARPAES_KWP = 13,    /**< SP 800-38F, RFC 5649: the same with padding */
    WARPAES_SIV = 14,    /**< RFC 5297: deterministic, or with a nonce that may repeat */
    WARPAES_GCM_SIV = 15 /**< RFC 8452: AES-128 and AES-256; an IV that repeats tells equal messages, nothing else */
} warpaes_mode;

typedef enum warpaes_direction { WARPAES_ENCRYPT = 1, WARPAES_DECRYPT = 2 } warpaes_direction;

/** Flags of a message or a context. */
enum {
    WARPAES_PKCS7 = 1u << 0,          /**< ECB, CBC: pad to whole blocks (RFC 5652, 6.3) and check it on decryption. */
    WARPAES_LENGTH_IN_BITS = 1u << 1, /**< CFB1, not in contexts: input_len and output_len count bits. Unused low bits
                                         of the last byte of output are zero. */
    WARPAES_RANGE = 1u << 2           /**< Only bytes [range_offset, range_offset + range_len) of the result. */
};

/** Notes: things worth telling about a call that succeeded. */
enum {
    WARPAES_NOTE_COUNTER_WRAPPED =
        1u << 0 /**< The CTR counter passed 2^128 - 1 and went on at 0, as SP 800-38A B.1 and
                     OpenSSL do. Correct, but the counters above 0 are used up for this key. */
    ,
    WARPAES_NOTE_DEVICE_FAILED = 1u << 1, /**< A GPU failed midway; the CPU did the rest. The output is complete. */
    WARPAES_NOTE_INPUT_GREW = 1u << 2 /**< The input file is longer than when it was opened. The output is that of the
                                           length it had then. */
};

/* ---------------------------------------------------------------------------------------------------------- engine */

/** Where work runs: the backends found on this machine, their devices, workers and staging. Create one and share it. */
typedef struct warpaes_engine warpaes_engine;

typedef struct warpaes_engine_options {
    uint32_t struct_size;
    /** Host threads that work on one call; 0: one per processor available to this process. */
    uint32_t threads;
    /** "libcrypto", "aesni", "vaes", "armv8" or "cuda": use this one for everything, or fail. NULL: the environment
        variable WARPAES_BACKEND if it is set and not empty, else "auto": the best for each call. */
    const char* backend;
    /** CUDA device number; -1: every device. WARPAES_ENGINE_OPTIONS_INIT sets -1. */
    int32_t device;
    /** Chunks in flight; 0: the measured default for the backend. */
    uint32_t depth;
    /** Bytes per chunk of staging, a multiple of 4096; 0: the measured default for the backend. */
    uint64_t chunk_bytes;
    /** Room for the sentence if the engine cannot be created, WARPAES_ERROR_BYTES bytes; or NULL. */
    char* error;
} warpaes_engine_options;

#define WARPAES_ENGINE_OPTIONS_INIT \
    { sizeof(warpaes_engine_options), 0, NULL, -1, 0, 0, NULL }

/** `options` may be NULL. A backend that is unknown or cannot run here is WARPAES_ERROR_BACKEND, never a fallback. */
WARPAES_API warpaes_status warpaes_engine_create(const warpaes_engine_options* options, warpaes_engine** engine);
/** Every call on the engine must have returned, and asynchronous work must have completed. */
WARPAES_API void warpaes_engine_destroy(warpaes_engine* engine);

/**
 * Wipes what is kept of keys from batch to batch, for whoever uses a key again: keys that came as bytes, expanded, and
 * expanded keys in the memory of GPUs, of all engines of the process. None of it is left in memory when this returns,
 * but for what batches at work use, of which nothing stays when they have ended and it is called again. Without it keys
 * that no batch has used for ten seconds are wiped by the engine's threads as soon as one has nothing else to do, and
 * all of them when the engine is destroyed. Later batches expand the keys anew. Thread-safe. WARPAES_ERROR_DEVICE if a
 * GPU does not answer.
 */
WARPAES_API warpaes_status warpaes_engine_flush_keys(warpaes_engine* engine);

/** One backend as this machine sees it, or one of its devices. Strings live as long as the process. */
typedef struct warpaes_backend_info {
    uint32_t struct_size;
    int32_t usable;          /**< 1 if it can run here. */
    const char* name;        /**< "libcrypto", "aesni", "vaes", "armv8", "cuda" */
    const char* description; /**< "OpenSSL 3.0.19", the instruction sets in use, the GPU's name, … */
    const char* reason;      /**< Why it cannot run here; "" if it can. */
    int32_t device;          /**< CUDA device number; -1 for a CPU backend or if there is no device. */
    int32_t multiprocessors; /**< CUDA: streaming multiprocessors; else 0. */
    uint64_t memory_bytes;   /**< CUDA: device memory; else 0. */
} warpaes_backend_info;

#define WARPAES_BACKEND_INFO_INIT \
    { sizeof(warpaes_backend_info), 0, NULL, NULL, NULL, -1, 0, 0 }

/** Number of entries for warpaes_backend_query: one a CPU backend, one a CUDA device (one for `cuda` if none). */
WARPAES_API size_t warpaes_backend_count(void);
/** Entry `index` of the list, best CPU backend last, CUDA devices after it. */
WARPAES_API warpaes_status warpaes_backend_query(size_t index, warpaes_backend_info* info);

/** Kinds of memory: where data lies, or is to lie. */
typedef enum warpaes_memory {
    WARPAES_MEMORY_PAGEABLE = 0,    /**< Ordinary memory. */
    WARPAES_MEMORY_PAGE_LOCKED = 1, /**< Copies to and from a GPU at full speed; ordinary memory where there is none. */
    WARPAES_MEMORY_DEVICE = 2,      /**< Of a CUDA device. */
    WARPAES_MEMORY_SHARED = 3       /**< As PAGE_LOCKED, and other processes may map it: arenas alone. */
} warpaes_memory;

/** `bytes` of memory of a kind, zeroed and aligned to 4096 (DEVICE: to 256). `device`: its number, for DEVICE alone. */
WARPAES_API warpaes_status warpaes_alloc(warpaes_engine* engine, warpaes_memory memory, int32_t device, uint64_t bytes,
                                         void** pointer);
/** Wipes and releases what warpaes_alloc of this engine gave, and nothing else. NULL is allowed. */
WARPAES_API void warpaes_free(warpaes_engine* engine, void* pointer);
/** Copies between any two memories, after all work enqueued on the default stream; complete on return. */
WARPAES_API warpaes_status warpaes_copy(warpaes_engine* engine, void* to, const void* from, size_t bytes);

/* ------------------------------------------------------------------------------------------------------------- key */

/** An expanded AES key. Immutable, shareable between threads; wiped when destroyed. */
typedef struct warpaes_key warpaes_key;

/** `bytes`: 16, 24 or 32 bytes, copied. Expansion takes the same time for every key of a length. */
WARPAES_API warpaes_status warpaes_key_create(const uint8_t* bytes, size_t length, warpaes_key** key);
/** No message, context or asynchronous call may use it any more. */
WARPAES_API void warpaes_key_destroy(warpaes_key* key);

/* --------------------------------------------------------------------------------------------------------- message */

/** Bytes, in host or device memory. */
typedef struct warpaes_part {
    const void* data;
    uint64_t length;
} warpaes_part;

/**
 * The central notion: one message, whole, with everything that is needed to process it.
 *
 * `input` is the whole message. With WARPAES_RANGE (ECB, CTR, and decryption of CBC and CFB) only the blocks
 * under the range are read, and `output` receives the range alone, `range_len` bytes; not together with PKCS7.
 * In place means output == input; a range is never in place.
 *
 * GCM: `iv` of any length from 1 byte (12 is the usual and the fast one; never twice with the same key, and at most
 * 2^32 random ones of 12 bytes, SP 800-38D 8.3), `aad` and `tag`; at most 2^36 - 32 bytes. Encryption writes `tag`,
 * decryption compares it in constant time and, if it is wrong, wipes the output: WARPAES_ERROR_AUTHENTICATION. No
 * range.
 *
 * CCM: as GCM, but `iv` of 7 to 13 bytes (the shorter it is, the longer a message may be: 2^16 - 1 bytes with 13),
 * `tag` of 4, 6, 8, 10, 12, 14 or 16. CMAC: `tag`, of 4 to 16 bytes, of `input`; no IV, and `output` is ignored;
 * decryption compares.
 *
 * XTS: `key` and `tweak_key`, both AES-128 or both AES-256 and different (FIPS 140-3 IG C.I). The message is
 * consecutive data units of `data_unit_len` bytes (16 to 2^24; 0: the whole message is one), of which the last may be
 * shorter but not below 16 bytes; a unit that is not whole blocks is handled by ciphertext stealing. `iv` is the tweak
 * of the first unit: its number as 16 little-endian bytes; it grows by `data_unit_step` from unit to unit (at most
 * 2^20; 0: by one, as IEEE 1619 has it; LUKS with units of 4096 bytes counts sectors of 512, which is 8). A range
 * consists of whole units.
 *
 * KW: encryption wraps `input` of 16 bytes or more, a multiple of 8, and writes 8 bytes more; KWP takes 1 to 2^32 - 1
 * bytes and writes them rounded up to a multiple of 8, and 8 more. `iv`: NULL, or a check value of one's own instead of
 * the standard's, 8 bytes for KW and 4 for KWP. Decryption writes 8 bytes less than it reads, of which the result's
 * output_len, of KWP up to 7 fewer, are the message; a wrong check value is WARPAES_ERROR_AUTHENTICATION, and the
 * output is wiped.
 *
 * SIV: `mac_key` (K1 of RFC 5297) and `key` (K2), of the same length; `tag` of 16 bytes, V, which a file of RFC 5297
 * has before its ciphertext. `aad` is one component of what is authenticated besides, and none if it is NULL; with
 * `aad_list` there are `aad_count`. `iv`, of any length, comes after them, or is NULL; the list and it are 126 at most.
 *
 * GCM-SIV: as GCM, but AES-128 or AES-256, `iv` of 12 bytes, `tag` of 16, message and `aad` of at most 2^36 bytes.
 *
 * GCM-SIV whose input and output lie in the memory of one GPU is computed there, after what its default stream held
 * before. Else KW and the modes after it are computed on CPUs, whole: data in device memory is copied to host memory
 * and back, and an engine that was asked for "cuda" refuses them with WARPAES_ERROR_BACKEND.
 */
typedef struct warpaes_message {
    uint32_t struct_size;
    uint32_t flags;
    warpaes_mode mode;
    warpaes_direction direction;
    const warpaes_key* key;
    /** 16 bytes: IV, or for CTR the initial counter block. NULL for ECB. GCM, CCM, XTS: see above. */
    const uint8_t* iv;
    uint64_t iv_len;
    const void* input;
    uint64_t input_len;
    void* output;
    uint64_t output_capacity; /**< At least input_len; with PKCS7 encryption, the next multiple of 16 above it. */
    uint64_t range_offset;
    uint64_t range_len;
    const void* aad; /**< GCM, CCM: associated data, in host or device memory. */
    uint64_t aad_len;
    /** GCM, CCM, CMAC. Encryption: written; decryption: the tag to expect, only read. Host memory; of an asynchronous
        call, memory that the device can write. */
    void* tag;
    uint64_t tag_len; /**< GCM: 16, 15, 14, 13 or 12; 8 and 4 only with the limits of SP 800-38D, appendix C. */
    const warpaes_key* tweak_key; /**< XTS */
    uint64_t data_unit_len;       /**< XTS */
    /** Asynchronous decryption with a tag: where its status goes, in the memory of the buffers' device: WARPAES_OK or
        WARPAES_ERROR_AUTHENTICATION. Else NULL. */
    warpaes_status* device_status;
    const warpaes_key* mac_key;   /**< SIV */
    const warpaes_part* aad_list; /**< SIV: instead of `aad` */
    uint64_t aad_count;           /**< of its parts */
    uint64_t data_unit_step;      /**< XTS */
} warpaes_message;

#define WARPAES_MESSAGE_INIT                                                                                      \
    {                                                                                                             \
        sizeof(warpaes_message), 0, (warpaes_mode)0, (warpaes_direction)0, NULL, NULL, 0, NULL, 0, NULL, 0, 0, 0, \
            NULL, 0, NULL, 0, NULL, 0, NULL, NULL, NULL, 0, 0                                                     \
    }

/** What became of a message. Filled by the library, but for struct_size. */
typedef struct warpaes_result {
    uint32_t struct_size;
    warpaes_status status;           /**< Also returned. */
    uint64_t output_len;             /**< What was written; if the capacity was too small, what it must be. */
    uint32_t notes;                  /**< WARPAES_NOTE_* */
    int32_t device;                  /**< Which CUDA device ran it; -1 for the CPU. */
    const char* backend;             /**< Which backend ran it; "" if none did. Static storage. */
    char error[WARPAES_ERROR_BYTES]; /**< The sentence for the status; "" for WARPAES_OK. */
} warpaes_result;

#define WARPAES_RESULT_INIT \
    { sizeof(warpaes_result), WARPAES_OK, 0, 0, -1, NULL, "" }

/**
 * Encrypts or decrypts one message and returns when it is done. Thread-safe. Whatever fills a buffer in device memory
 * must be complete, or enqueued on its device's default stream.
 * With PKCS7 decryption and WARPAES_ERROR_PADDING the output is wiped.
 */
WARPAES_API warpaes_status warpaes_crypt(warpaes_engine* engine, const warpaes_message* message,
                                         warpaes_result* result);

/**
 * The same for buffers in device memory, enqueued on `cuda_stream` (a cudaStream_t of the buffers' device; NULL: the
 * default stream). Returns at once; the output is complete when the stream gets there. The result is final on return.
 * Not with PKCS7; a range must consist of whole blocks, and one of CBC or CFB decryption first waits for `cuda_stream`
 * to fetch the 16 bytes before it. The key may be destroyed once the call has returned.
 *
 * GCM, CCM, CMAC: a tag that is written lies in memory of the buffers' device (16 bytes of GCM without associated data
 * in device memory: or in page-locked memory). Decryption tells `device_status`, and wipes an output that is not
 * authentic; `tag` may lie in host memory, of which a copy is taken. `cuda_stream` may be in capture, as with
 * warpaes_batch_enqueue.
 */
WARPAES_API warpaes_status warpaes_crypt_async(warpaes_engine* engine, const warpaes_message* message,
                                               void* cuda_stream, warpaes_result* result);

/* --------------------------------------------------------------------------------------------------------- batches */

/** Memory that the library hands out for many messages, addressed by offsets if you like: a batch that speaks in
   offsets can be made by another process or in another language, and copied from one arena to the next. */
typedef struct warpaes_arena warpaes_arena;

/** `bytes` bytes, 1 or more, zeroed, of a kind; otherwise as warpaes_alloc. */
WARPAES_API warpaes_status warpaes_arena_create(warpaes_engine* engine, warpaes_memory memory, int32_t device,
                                                uint64_t bytes, warpaes_arena** arena);
/** Wipes and releases it. No batch may be using it. NULL is allowed. */
WARPAES_API void warpaes_arena_destroy(warpaes_arena* arena);
/** Where it begins in this process (or on the device). */
WARPAES_API void* warpaes_arena_data(const warpaes_arena* arena);
WARPAES_API uint64_t warpaes_arena_size(const warpaes_arena* arena);
/** SHARED: a descriptor to map (MAP_SHARED) or to send to another process; the arena's own, not to be closed. Else -1.
 */
WARPAES_API int warpaes_arena_fd(const warpaes_arena* arena);

/**
 * What each message of an entry has of its own: that of message i is `i * stride` bytes behind `at`, a pointer, or with
 * WARPAES_BATCH_OFFSETS an offset in the batch's arena. With stride 0 all messages of the entry share it. Not looked at
 * where its length is 0.
 */
typedef struct warpaes_elements {
    union {
        void* pointer;
        uint64_t offset;
    } at;
    uint64_t stride;
} warpaes_elements;

/**
 * `count` messages of one shape, often one. Modes, lengths and IVs as in warpaes_message, without padding and ranges;
 * besides, CCM: IV of 7 to 13 bytes, tag of 4 to 16, even; CMAC: no IV and no output, a tag of 4 to 16 bytes, and
 * decryption compares it. GCM decryption compares, too.
 *
 * `key`, one for all; or NULL, and `keys`: `key_len` bytes for each message. XTS: `key` and `tweak_key`.
 *
 * Each part of an entry lies in host memory or on one device, which is then the one that does the work. The layout is
 * the same on every 64-bit machine (176 bytes; offsets in docs/batches.md).
 */
typedef struct warpaes_batch_entry {
    warpaes_mode mode;
    warpaes_direction direction;
    uint64_t count;  /**< 0: nothing to do */
    uint64_t length; /**< of each message, bytes; CFB1: bits */
    warpaes_elements input;
    warpaes_elements output; /**< Where the input is, in place; or disjoint from all that the batch reads and writes. */
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
    /** NULL, or room for one status a message, in host memory of this process, or for warpaes_batch_enqueue on the
        data's device: WARPAES_OK or WARPAES_ERROR_AUTHENTICATION; or, if the entry's status is another, that. */
    warpaes_status* statuses;
} warpaes_batch_entry;

/** What became of an entry. Written while the batch is carried out, final when it is finished. */
typedef struct warpaes_entry_result {
    /** WARPAES_OK; what is wrong with the entry, of which nothing was then done; WARPAES_ERROR_AUTHENTICATION if
        `failures` is not 0; or why work on it ended, CANCELLED included: then its outputs are undefined, but hold no
        plaintext that is not authentic. */
    warpaes_status status;
    uint32_t reserved;
    uint64_t failures;      /**< Messages that are not authentic; their output is wiped, the others stand. */
    uint64_t first_failure; /**< The first of them. */
} warpaes_entry_result;

/** Flags of a batch. */
enum {
    WARPAES_BATCH_OFFSETS = 1u << 0,     /**< Elements are offsets in `arena`. */
    WARPAES_BATCH_CHECK_NONCES = 1u << 1 /**< Refuse GCM and CCM encryptions that repeat an IV under a key within the
                                              batch: all entries that take part get WARPAES_ERROR_IV_REUSED. */
};

typedef struct warpaes_batch warpaes_batch;

typedef struct warpaes_batch_options {
    uint32_t struct_size;
    uint32_t flags;      /**< WARPAES_BATCH_* */
    uint64_t entry_size; /**< sizeof(warpaes_batch_entry); how far apart the entries lie. */
    const warpaes_arena* arena;
    /** NULL, or one for each entry, which must stay until the batch is finished. */
    warpaes_entry_result* results;
    uint64_t result_size; /**< sizeof(warpaes_entry_result); how far apart they lie. */
    /** Called once from a thread of the library, when all is done and just before the batch counts as finished; it must
        not wait for batches, nor destroy this one. May be NULL. */
    void (*finished)(void* user, warpaes_batch* batch);
    void* user;
} warpaes_batch_options;

#define WARPAES_BATCH_OPTIONS_INIT                                                                                     \
    {                                                                                                                  \
        sizeof(warpaes_batch_options), 0, sizeof(warpaes_batch_entry), NULL, NULL, sizeof(warpaes_entry_result), NULL, \
            NULL                                                                                                       \
    }

/** How a batch was carried out. */
typedef struct warpaes_batch_result {
    uint32_t struct_size;
    uint32_t notes;           /**< WARPAES_NOTE_* */
    uint64_t messages;        /**< in all, those of refused entries included */
    uint64_t failed_entries;  /**< entries whose status is not WARPAES_OK */
    uint64_t messages_on_cpu; /**< done there, empty ones included */
    uint64_t messages_on_gpu;
    warpaes_status status; /**< of the first entry that failed */
    int32_t reserved;
    const char* reason; /**< Why the work was shared out as it was. Lives as long as the batch. */
} warpaes_batch_result;

#define WARPAES_BATCH_RESULT_INIT \
    { sizeof(warpaes_batch_result), 0, 0, 0, 0, 0, WARPAES_OK, 0, NULL }

/**
 * Starts work on `count` entries, fewer than 2^32, and returns. They, and everything that they point to, must stay
 * until the batch is finished. Entries are independent: what is wrong with one is said in its status and disturbs no
 * other. Host memory may be of any kind; an arena's is the fastest. Whatever fills device memory is complete, or
 * enqueued on its default stream. Thread-safe.
 *
 * Refused, besides what warpaes_crypt refuses: elements that reach beyond the arena; outputs (and tags that are
 * written) that overlap each other, in an entry or between entries; an output that overlaps what its entry reads
 * without being its input; GCM and CCM encryption of several messages with one key and one IV. Not looked for: an
 * output that another entry reads, and overlaps of entries whose messages lie between each other's at different
 * strides.
 */
WARPAES_API warpaes_status warpaes_batch_submit(warpaes_engine* engine, const warpaes_batch_options* options,
                                                const warpaes_batch_entry* entries, uint64_t count,
                                                warpaes_batch** batch);
/**
 * The same on a caller's stream, where nobody waits: enqueues the entries on `cuda_stream` (a cudaStream_t of the
 * data's device; NULL: its default stream) and returns. Data lies in the memory of one device, and so do tags that are
 * written; IVs, associated data, keys and expected tags lie there, or in host memory, of which a copy is taken before
 * this returns. Key handles may be destroyed then. Entries that decrypt with a tag need `statuses`, in the memory of
 * the same device: written in the order of the stream, WARPAES_OK or WARPAES_ERROR_AUTHENTICATION for each message;
 * outputs that are not authentic are wiped. What is wrong with an entry is the status of the call, names it, and
 * nothing of the batch is then done. Of the options `results`, `finished` and WARPAES_BATCH_CHECK_NONCES are refused.
 *
 * `cuda_stream` may be in capture: the graph holds copies of keys and of what lay in host memory until it is destroyed,
 * and reads all else when it is launched. It must not be launched again before it has ended. Thread-safe.
 */
WARPAES_API warpaes_status warpaes_batch_enqueue(warpaes_engine* engine, const warpaes_batch_options* options,
                                                 const warpaes_batch_entry* entries, uint64_t count, void* cuda_stream);
/** 1 if it is finished, else 0. */
WARPAES_API int warpaes_batch_poll(const warpaes_batch* batch);
/** Waits until it is finished, at most `milliseconds` (WARPAES_UNKNOWN: as long as it takes). The status of the first
    entry that failed; WARPAES_ERROR_TIMEOUT if it is not finished. Any thread, any number of times. Who waits without a
    limit carries out tasks of the batch meanwhile, in the place of one of the engine's threads. */
WARPAES_API warpaes_status warpaes_batch_wait(warpaes_batch* batch, uint64_t milliseconds);
/** A descriptor that can be read from (poll, epoll, select) once the batch is finished; the batch's own, not to be read
    or closed. -1 if none is to be had. Thread-safe. */
WARPAES_API int warpaes_batch_fd(warpaes_batch* batch);
/** Leaves out what has not begun; entries of which a part is left out get WARPAES_ERROR_CANCELLED. Returns at once. */
WARPAES_API void warpaes_batch_cancel(warpaes_batch* batch);
/** WARPAES_ERROR_STATE if it is not finished. */
WARPAES_API warpaes_status warpaes_batch_query(const warpaes_batch* batch, warpaes_batch_result* result);
/** What became of entry `index` of a finished batch. WARPAES_ERROR_STATE if it is not finished. */
WARPAES_API warpaes_status warpaes_batch_query_entry(const warpaes_batch* batch, uint64_t index,
                                                     warpaes_entry_result* result);
/** The sentence that goes with the status of entry `index` of a finished batch; "" for WARPAES_OK. Of very many failed
    entries the later ones have only what warpaes_status_message says. Lives as long as the batch. */
WARPAES_API const char* warpaes_batch_entry_error(const warpaes_batch* batch, uint64_t index);
/** Waits until it is finished, and frees it. NULL is allowed. */
WARPAES_API void warpaes_batch_destroy(warpaes_batch* batch);

/* --------------------------------------------------------------------------------------------------------- context */

/** A message that arrives in pieces. One thread at a time. */
typedef struct warpaes_context warpaes_context;

/** What the messages of a context have in common, and the IV of the first. */
typedef struct warpaes_context_options {
    uint32_t struct_size;
    uint32_t flags; /**< WARPAES_PKCS7 or 0 */
    warpaes_mode mode;
    warpaes_direction direction;
    const warpaes_key* key; /**< Must outlive the context's use of it. NULL: warpaes_context_set_key gives it. */
    const uint8_t* iv;      /**< As in warpaes_message. NULL: warpaes_context_set_iv gives it; for ECB and CMAC NULL. */
    uint64_t iv_len;
    const warpaes_key* tweak_key; /**< XTS */
    uint64_t data_unit_len;       /**< XTS; 0: the whole message is one data unit, and comes in one update. */
    uint64_t text_len;            /**< CCM: bytes of the text, all updates together; */
    uint64_t aad_len;             /**< of the associated data; */
    uint64_t tag_len;             /**< and of the tag. */
    uint64_t data_unit_step;      /**< XTS: as in warpaes_message */
} warpaes_context_options;

#define WARPAES_CONTEXT_OPTIONS_INIT \
    { sizeof(warpaes_context_options), 0, (warpaes_mode)0, (warpaes_direction)0, NULL, NULL, 0, NULL, 0, 0, 0, 0, 0 }

WARPAES_API warpaes_status warpaes_context_create(warpaes_engine* engine, warpaes_context** context);
WARPAES_API void warpaes_context_destroy(warpaes_context* context);
/** A second context that goes on independently from where `context` stands. */
WARPAES_API warpaes_status warpaes_context_copy(const warpaes_context* context, warpaes_context** copy);
/** The sentence for the last call on this context that failed; "" if none has. Valid until the next call on it. */
WARPAES_API const char* warpaes_context_error(const warpaes_context* context);

/** Sets mode, direction, key and what belongs to them; with an IV, it also starts a message. What was before is gone.
 */
WARPAES_API warpaes_status warpaes_context_init(warpaes_context* context, const warpaes_context_options* options);
/** Another key; `tweak_key` for XTS, else NULL. It ends what message there was: set_iv starts the next. */
WARPAES_API warpaes_status warpaes_context_set_key(warpaes_context* context, const warpaes_key* key,
                                                   const warpaes_key* tweak_key);
/** Starts a message with this IV; for ECB and CMAC NULL and 0. What message there was is given up. */
WARPAES_API warpaes_status warpaes_context_set_iv(warpaes_context* context, const uint8_t* iv, size_t iv_len);
/**
 * The IV as it stands, 16 bytes: what set_iv must be given for another context to go on from here. CBC, CFB, OFB: the
 * chaining value; CTR: the next counter block; XTS: the number of the next data unit. WARPAES_ERROR_STATE amid a block
 * or a data unit, and for other modes.
 */
WARPAES_API warpaes_status warpaes_context_get_iv(const warpaes_context* context, uint8_t iv[16]);
/**
 * The next `input_len` bytes, any number. `*output_len` receives what was written: for ECB and CBC whole blocks, so up
 * to 15 bytes more than input_len (16 with padding); for XTS whole data units, so up to data_unit_len - 1 more; for
 * CMAC nothing; otherwise input_len. Nothing is consumed if the call fails; with WARPAES_ERROR_BUFFER_TOO_SMALL
 * `*output_len` says what there must be room for. In place (output == input): any sizes in host memory, whole blocks
 * (XTS: data units) in device memory.
 */
WARPAES_API warpaes_status warpaes_context_update(warpaes_context* context, const void* input, size_t input_len,
                                                  void* output, size_t output_capacity, size_t* output_len);
/** Ends the message: writes the padding, or checks it, up to 16 bytes; of XTS the last data unit, if it is a shorter
    one. Afterwards only set_key, set_iv or init is allowed. */
WARPAES_API warpaes_status warpaes_context_final(warpaes_context* context, void* output, size_t output_capacity,
                                                 size_t* output_len);
/** CTR: goes to byte `offset` of the message. */
WARPAES_API warpaes_status warpaes_context_seek(warpaes_context* context, uint64_t offset);
/** GCM, CCM: the next `length` bytes of associated data, any number of times before the first update with data. */
WARPAES_API warpaes_status warpaes_context_aad(warpaes_context* context, const void* aad, size_t length);
/** GCM, CCM, CMAC encryption, after final: the tag, cut to `length` bytes (see warpaes_message; CCM: tag_len). */
WARPAES_API warpaes_status warpaes_context_get_tag(warpaes_context* context, uint8_t* tag, size_t length);
/**
 * GCM, CCM, CMAC decryption, before final: the tag to expect. final then succeeds or returns
 * WARPAES_ERROR_AUTHENTICATION; what the updates have written until then is not authenticated and must not be used
 * before final has succeeded.
 */
WARPAES_API warpaes_status warpaes_context_set_tag(warpaes_context* context, const uint8_t* tag, size_t length);

#ifdef __cplusplus
}
#endif

#endif
