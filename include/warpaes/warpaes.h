/*
 * warpaes: AES (FIPS 197) at the speed of the hardware. The C ABI, the only ABI.
 *
 * Rules that hold everywhere:
 *  - Every function that can fail returns a warpaes_status; the sentence that goes with it, naming the argument, is
 *    warpaes_last_error() on the same thread. No exception crosses this boundary, nothing prints, nothing exits.
 *  - Structs with a `struct_size` begin with their macro WARPAES_*_INIT. It sets the size, and every field that is read
 *    to what goes for who says nothing: 0 or NULL, so that `= {0}` with `struct_size` set to sizeof the struct is as
 *    good; but in warpaes_engine_options `device` is -1, in warpaes_batch_options `entry_size` is
 *    sizeof(warpaes_batch_entry), and warpaes_work is CTR encryption with 128 bits. A `struct_size` of 0 is refused.
 *  - Newer libraries accept older, smaller structs: what is missing is 0, and nothing is written beyond their size.
 *  - A handle is freed by the _destroy function of its type, which accepts NULL.
 *  - Engines and keys may be used by many threads at once. A context belongs to one thread at a time.
 *  - Lengths and offsets are in bytes, except for CFB1 with WARPAES_LENGTH_IN_BITS.
 *  - Not there, and refused: contexts for XTS, CCM and CMAC, and lengths in bits in a context (warpaes_crypt takes the
 *    whole message); XTS and CTR of a number of bits (of CTR, take whole bytes and leave the last bits aside); CBC with
 *    ciphertext stealing, CS1 to CS3 (WARPAES_PKCS7 takes any length; CTR has the length of the plaintext).
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

#define WARPAES_VERSION "0.1.0"
/** Grows when something is added; a change that breaks callers changes the library's soname instead. */
#define WARPAES_ABI_VERSION 1

/** Version of the library that is running, for example "0.1.0". Static storage. */
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

/* ----------------------------------------------------------------------------------------------------------- modes */

typedef enum warpaes_mode {
    WARPAES_ECB = 1,    /**< SP 800-38A 6.1 */
    WARPAES_CBC = 2,    /**< SP 800-38A 6.2 */
    WARPAES_CFB128 = 3, /**< SP 800-38A 6.3, 128-bit segments */
    WARPAES_CFB8 = 4,   /**< the same, 8-bit segments */
    WARPAES_CFB1 = 5,   /**< the same, 1-bit segments, most significant bit of a byte first */
    WARPAES_OFB = 6,    /**< SP 800-38A 6.4 */
    WARPAES_CTR = 7,    /**< SP 800-38A 6.5, 128-bit big-endian increment (appendix B.1) */
    WARPAES_XTS = 8,    /**< SP 800-38E, IEEE 1619: AES-128 and AES-256 */
    WARPAES_GCM = 9,    /**< SP 800-38D; with associated data alone it is GMAC */
    WARPAES_CCM = 10,   /**< SP 800-38C */
    WARPAES_CMAC = 11   /**< SP 800-38B: a tag and no output; decryption compares it */
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
    /** "libcrypto", "aesni", "vaes" or "cuda": use this one for everything, or fail. NULL: the environment variable
        WARPAES_BACKEND if it is set and not empty, else "auto": the best for each call. */
    const char* backend;
    /** CUDA device number; -1: every device. WARPAES_ENGINE_OPTIONS_INIT sets -1. */
    int32_t device;
    /** Chunks in flight; 0: the measured default for the backend. */
    uint32_t depth;
    /** Bytes per chunk of staging, a multiple of 4096; 0: the measured default for the backend. */
    uint64_t chunk_bytes;
} warpaes_engine_options;

#define WARPAES_ENGINE_OPTIONS_INIT \
    { sizeof(warpaes_engine_options), 0, NULL, -1, 0, 0 }

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
    const char* name;        /**< "libcrypto", "aesni", "vaes", "cuda" */
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

/** `bytes` of memory that copies to and from a GPU at full speed (page-locked; ordinary aligned memory without a GPU).
 */
WARPAES_API warpaes_status warpaes_host_alloc(warpaes_engine* engine, size_t bytes, void** pointer);
/** Wipes and releases what warpaes_host_alloc gave. NULL is allowed. */
WARPAES_API void warpaes_host_free(warpaes_engine* engine, void* pointer);

/** `bytes` of memory of CUDA device `device`, for callers that do not use CUDA themselves. */
WARPAES_API warpaes_status warpaes_device_alloc(warpaes_engine* engine, int32_t device, size_t bytes, void** pointer);
/** Wipes and releases what warpaes_device_alloc gave. NULL is allowed. */
WARPAES_API void warpaes_device_free(warpaes_engine* engine, void* pointer);
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
 * range. An asynchronous call encrypts only: whether a decryption is authentic is not known when it returns. It writes
 * all 16 bytes of the tag, and waits for `cuda_stream` first if `aad` lies in device memory.
 *
 * CCM: as GCM, but `iv` of 7 to 13 bytes (the shorter it is, the longer a message may be: 2^16 - 1 bytes with 13),
 * `tag` of 4, 6, 8, 10, 12, 14 or 16. CMAC: `tag`, of 4 to 16 bytes, of `input`; no IV, and `output` is ignored;
 * decryption compares. Neither takes asynchronous calls or comes in pieces.
 *
 * XTS: `key` and `tweak_key`, both AES-128 or both AES-256 and different (FIPS 140-3 IG C.I). The message is
 * consecutive data units of `data_unit_len` bytes (16 to 2^24; 0: the whole message is one), of which the last may be
 * shorter but not below 16 bytes; a unit that is not whole blocks is handled by ciphertext stealing. `iv` is the tweak
 * of the first unit: its number as 16 little-endian bytes; it grows by one from unit to unit. A range consists of whole
 * units.
 */
typedef struct warpaes_message {
    uint32_t struct_size;
    uint32_t flags;
    warpaes_mode mode;
    warpaes_direction direction;
    const warpaes_key* key;
    const uint8_t*
        iv; /**< 16 bytes: IV, or for CTR the initial counter block. NULL for ECB. GCM, CCM, XTS: see above. */
    uint64_t iv_len;
    const void* input;
    uint64_t input_len;
    void* output;
    uint64_t output_capacity; /**< At least input_len; with PKCS7 encryption, the next multiple of 16 above it. */
    uint64_t range_offset;
    uint64_t range_len;
    /* Written by the call: */
    uint64_t output_len;   /**< What was written; if the capacity was too small, what it must be. */
    warpaes_status status; /**< Also returned. */
    uint32_t notes;        /**< WARPAES_NOTE_* */
    const char* backend;   /**< Which backend ran it. Static storage. */
    int32_t device;        /**< Which CUDA device ran it; -1 for the CPU. */
    int32_t reserved;
    /* GCM, CCM, CMAC, input: */
    const void* aad; /**< Associated data, in host or device memory. */
    uint64_t aad_len;
    void* tag; /**< Encryption: written; decryption: the tag to expect. Host memory; of an asynchronous call, memory
                    that the device can write. */
    uint64_t tag_len; /**< GCM: 16, 15, 14, 13 or 12; 8 and 4 only with the limits of SP 800-38D, appendix C. */
    /* XTS, input: */
    const warpaes_key* tweak_key;
    uint64_t data_unit_len;
} warpaes_message;

#define WARPAES_MESSAGE_INIT                                                                                         \
    {                                                                                                                \
        sizeof(warpaes_message), 0, (warpaes_mode)0, (warpaes_direction)0, NULL, NULL, 0, NULL, 0, NULL, 0, 0, 0, 0, \
            WARPAES_OK, 0, NULL, -1, 0, NULL, 0, NULL, 0, NULL, 0                                                    \
    }

/**
 * Encrypts or decrypts one message and returns when it is done. Thread-safe. Whatever fills a buffer in device memory
 * must be complete, or enqueued on its device's default stream.
 * With PKCS7 decryption and WARPAES_ERROR_PADDING the output is wiped.
 */
WARPAES_API warpaes_status warpaes_crypt(warpaes_engine* engine, warpaes_message* message);

/**
 * The same for buffers in device memory, enqueued on `cuda_stream` (a cudaStream_t of the buffers' device; NULL: the
 * default stream). Returns at once; the output is complete when the stream gets there. The fields written by the call
 * are final on return. Not with PKCS7; a range must consist of whole blocks, and one of CBC or CFB decryption first
 * waits for `cuda_stream` to fetch the 16 bytes before it. The key may be destroyed once the call has returned.
 */
WARPAES_API warpaes_status warpaes_crypt_async(warpaes_engine* engine, warpaes_message* message, void* cuda_stream);

/**
 * Many AES-GCM messages of one key at equal distances: the segments of a file or of a table, processed as one batch.
 *
 * Segment i is `segment_len` bytes of plaintext (the last: `last_len`, at most segment_len). Plaintext of segment i
 * begins `i * plaintext_stride` bytes into the plaintext buffer, ciphertext `i * ciphertext_stride` into the other (0:
 * the segments, with their inline tags, follow each other without gaps). In place, both strides are equal. What lies in
 * the gaps of the output may be overwritten.
 */
typedef struct warpaes_segments {
    uint32_t struct_size;
    uint32_t flags; /**< 0 */
    warpaes_direction direction;
    int32_t reserved;
    const warpaes_key* key;
    const uint8_t*
        nonces; /**< count times 12 bytes, one after the other, in host memory. All different: nobody checks. */
    uint64_t count;
    uint64_t segment_len;
    uint64_t last_len;
    const void* aad; /**< The same for every segment. */
    uint64_t aad_len;
    const void* input;
    void* output;
    uint64_t plaintext_stride;
    uint64_t ciphertext_stride;
    /** count times 16 bytes in host memory: written or expected. NULL: inline, the 16 bytes behind each ciphertext. */
    void* tags;
    /* Written by the call: */
    uint64_t failures; /**< Decryption: segments that are not authentic. Their output is wiped; the others stand. */
    uint64_t first_failure; /**< The first of them. */
    const char* backend;
    int32_t device;
    uint32_t notes;
} warpaes_segments;

#define WARPAES_SEGMENTS_INIT                                                                                          \
    {                                                                                                                  \
        sizeof(warpaes_segments), 0, (warpaes_direction)0, 0, NULL, NULL, 0, 0, 0, NULL, 0, NULL, NULL, 0, 0, NULL, 0, \
            0, NULL, -1, 0                                                                                             \
    }

/** Runs all segments and returns when they are done. Thread-safe. WARPAES_ERROR_AUTHENTICATION if any is not authentic.
 */
WARPAES_API warpaes_status warpaes_crypt_segments(warpaes_engine* engine, warpaes_segments* segments);

/* --------------------------------------------------------------------------------------------------------- batches */

/** Memory that the library hands out for many messages, addressed by offsets if you like: a batch that speaks in
   offsets can be made by another process or in another language, and copied from one arena to the next. */
typedef struct warpaes_arena warpaes_arena;

typedef enum warpaes_memory {
    WARPAES_MEMORY_HOST = 0,   /**< Page-locked where there is a GPU that the engine may use, else ordinary memory. */
    WARPAES_MEMORY_DEVICE = 1, /**< Of CUDA device `device`. */
    WARPAES_MEMORY_SHARED = 2  /**< As HOST, and other processes may map it: see warpaes_arena_fd. */
} warpaes_memory;

/** `bytes` bytes, 1 or more, zeroed, aligned to 4096 (DEVICE: 256). `device` matters for DEVICE alone. */
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
 * Data, IVs, associated data, tags and `keys` of an entry lie all in host memory or all on one device. Their layout is
 * the same on every 64-bit machine (200 bytes; offsets in docs/batches.md).
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
    uint32_t reserved;
    const warpaes_key* key;
    const warpaes_key* tweak_key;
    uint64_t data_unit_len;
    /* Written until the batch is finished: */
    /** WARPAES_OK; what is wrong with the entry, of which nothing was then done; WARPAES_ERROR_AUTHENTICATION if
        `failures` is not 0; or why work on it ended, CANCELLED included: then its outputs are undefined, but hold no
        plaintext that is not authentic. */
    warpaes_status status;
    uint32_t reserved2;
    uint64_t failures;        /**< Messages that are not authentic; their output is wiped, the others stand. */
    uint64_t first_failure;   /**< The first of them. */
    warpaes_status* statuses; /**< Input: NULL, or room for one status a message, in host memory of this process:
                                   WARPAES_OK or WARPAES_ERROR_AUTHENTICATION; or, if `status` is another, that. */
} warpaes_batch_entry;

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
    /** Called once from a thread of the library, when all is done and just before the batch counts as finished; it must
        not wait for batches, nor destroy this one. May be NULL. */
    void (*finished)(void* user, warpaes_batch* batch);
    void* user;
} warpaes_batch_options;

#define WARPAES_BATCH_OPTIONS_INIT \
    { sizeof(warpaes_batch_options), 0, sizeof(warpaes_batch_entry), NULL, NULL, NULL }

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
                                                warpaes_batch_entry* entries, uint64_t count, warpaes_batch** batch);
/** 1 if it is finished, else 0. */
WARPAES_API int warpaes_batch_poll(const warpaes_batch* batch);
/** Waits until it is finished, at most `milliseconds` (WARPAES_UNKNOWN: as long as it takes). The status of the first
    entry that failed; WARPAES_ERROR_TIMEOUT if it is not finished. Any thread, any number of times. Who waits without a
    limit carries out tasks of the batch meanwhile, in the place of one of the engine's threads. */
WARPAES_API warpaes_status warpaes_batch_wait(warpaes_batch* batch, uint64_t milliseconds);
/** Leaves out what has not begun; entries of which a part is left out get WARPAES_ERROR_CANCELLED. Returns at once. */
WARPAES_API void warpaes_batch_cancel(warpaes_batch* batch);
/** WARPAES_ERROR_STATE if it is not finished. */
WARPAES_API warpaes_status warpaes_batch_query(const warpaes_batch* batch, warpaes_batch_result* result);
/** The sentence that goes with the status of entry `index` of a finished batch; "" for WARPAES_OK. Of very many failed
    entries the later ones have only what warpaes_status_message says. Lives as long as the batch. */
WARPAES_API const char* warpaes_batch_entry_error(const warpaes_batch* batch, uint64_t index);
/** Waits until it is finished, and frees it. NULL is allowed. */
WARPAES_API void warpaes_batch_destroy(warpaes_batch* batch);

/* -------------------------------------------------------------------------------------------------------- planning */

/** Where the data of a call lies; of input and output, the slower of both. */
typedef enum warpaes_place {
    WARPAES_PLACE_PAGEABLE = 0,    /**< Ordinary memory. */
    WARPAES_PLACE_PAGE_LOCKED = 1, /**< Of warpaes_host_alloc, or page-locked by CUDA. */
    WARPAES_PLACE_DEVICE = 2
} warpaes_place;

/** What a plan is asked for. */
typedef struct warpaes_work {
    uint32_t struct_size;
    uint32_t key_bits; /**< 128, 192 or 256 */
    warpaes_mode mode;
    warpaes_direction direction;
    warpaes_place place;
    int32_t batch;        /**< 1: handed over as a batch; 0: as one message, and `messages` is 1. */
    uint64_t messages;    /**< 0 means 1 */
    uint64_t message_len; /**< bytes of each */
    uint64_t keys;        /**< different keys; 0 means 1 */
} warpaes_work;

#define WARPAES_WORK_INIT \
    { sizeof(warpaes_work), 128, WARPAES_CTR, WARPAES_ENCRYPT, WARPAES_PLACE_PAGEABLE, 0, 1, 0, 1 }

/** How an engine would carry work out now. Filled by the library, but for struct_size. */
typedef struct warpaes_plan {
    uint32_t struct_size;
    int32_t device;       /**< CUDA device number, the first of several; -1: the CPU. */
    const char* backend;  /**< Static storage. */
    const char* beside;   /**< A CPU backend that does its part of a batch beside the GPU; else "". Static storage. */
    double seconds;       /**< predicted, a GPU's context included if there is none yet */
    uint64_t chunk_bytes; /**< what a worker takes at a time */
    uint32_t lanes;       /**< workers */
    int32_t calibrated;   /**< 1 if the prediction comes from measurements of this machine. */
    char reason[256];     /**< A sentence for people, ended by a NUL. */
} warpaes_plan;

#define WARPAES_PLAN_INIT \
    { sizeof(warpaes_plan), -1, NULL, NULL, 0, 0, 0, 0, "" }

/** What one backend or device would take. Filled by the library, but for struct_size. */
typedef struct warpaes_prediction {
    uint32_t struct_size;
    int32_t possible;    /**< 0: it cannot run here, or cannot reach the data; the rest is then 0. */
    double seconds;      /**< once it is at work */
    double cold_seconds; /**< besides, because this would be the process's first work on a GPU */
    uint32_t lanes;
    int32_t calibrated;
} warpaes_prediction;

#define WARPAES_PREDICTION_INIT \
    { sizeof(warpaes_prediction), 0, 0, 0, 0, 0 }

/** The plan for `work`, without doing it. The engine's choice is its own: that of its backend if one was asked for.
    Looks for GPUs, which takes long the first time, and wakes none. Thread-safe. */
WARPAES_API warpaes_status warpaes_engine_plan(warpaes_engine* engine, const warpaes_work* work, warpaes_plan* plan);
/** The same for entry `index` of warpaes_backend_query's list. */
WARPAES_API warpaes_status warpaes_engine_predict(warpaes_engine* engine, const warpaes_work* work, size_t index,
                                                  warpaes_prediction* prediction);

/** Flags of a calibration. */
enum {
    WARPAES_CALIBRATE_QUICK = 1u << 0,    /**< A few seconds; AES-256 is reckoned from AES-128. */
    WARPAES_CALIBRATE_CPU_ONLY = 1u << 1, /**< No GPU; what is stored of GPUs stays. */
    WARPAES_CALIBRATE_KEEP = 1u << 2      /**< For this engine alone: nothing is stored. */
};

typedef struct warpaes_calibration {
    uint32_t struct_size;
    uint32_t flags; /**< WARPAES_CALIBRATE_* */
    /** Told now and then: measurements done, and how many there are. May be NULL. */
    int (*progress)(void* user, uint64_t done, uint64_t total);
    void* progress_user;
    /* Written by the call: */
    uint64_t measurements;
    double median_error; /**< of the predictions at what was measured, relative: 0.05 is 5 % */
    double seconds;      /**< what it took */
} warpaes_calibration;

#define WARPAES_CALIBRATION_INIT \
    { sizeof(warpaes_calibration), 0, NULL, NULL, 0, 0, 0 }

/**
 * Measures every backend and GPU of this machine, whatever the engine was made for, plans this engine's work by that,
 * and stores it for engines to come, of any process: in the file that the environment variable WARPAES_CALIBRATION
 * names, else below $XDG_CACHE_HOME or ~/.cache. WARPAES_CALIBRATION=none: nothing is stored, and nothing read. An
 * engine reads it when it first has to choose. On a machine that does other things meanwhile the figures are worth
 * little. WARPAES_ERROR_CANCELLED if `progress` returns anything but 0; WARPAES_ERROR_WRITE if it cannot be stored:
 * this engine goes by it nevertheless. Thread-safe.
 */
WARPAES_API warpaes_status warpaes_engine_calibrate(warpaes_engine* engine, warpaes_calibration* calibration);
/** Where a calibration is stored, `capacity` bytes with the NUL; "" if nowhere. */
WARPAES_API warpaes_status warpaes_calibration_path(char* path, size_t capacity);

/* --------------------------------------------------------------------------------------------------------- context */

/** A message that arrives in pieces. One thread at a time. */
typedef struct warpaes_context warpaes_context;

WARPAES_API warpaes_status warpaes_context_create(warpaes_engine* engine, warpaes_context** context);
WARPAES_API void warpaes_context_destroy(warpaes_context* context);
/** A second context that goes on independently from where `context` stands. */
WARPAES_API warpaes_status warpaes_context_copy(const warpaes_context* context, warpaes_context** copy);

/** Starts a message. `flags`: WARPAES_PKCS7 or 0. The key must outlive the context's use of it. Not for XTS, CCM and
    CMAC. */
WARPAES_API warpaes_status warpaes_context_init(warpaes_context* context, warpaes_mode mode,
                                                warpaes_direction direction, const warpaes_key* key, const uint8_t* iv,
                                                size_t iv_len, uint32_t flags);
/**
 * The next `input_len` bytes, any number. `*output_len` receives what was written: for ECB and CBC whole blocks, so up
 * to 15 bytes more than input_len (16 with padding), otherwise input_len. Nothing is consumed if the call fails; with
 * WARPAES_ERROR_BUFFER_TOO_SMALL `*output_len` says what there must be room for. In place (output == input): any sizes
 * in host memory, whole blocks in device memory.
 */
WARPAES_API warpaes_status warpaes_context_update(warpaes_context* context, const void* input, size_t input_len,
                                                  void* output, size_t output_capacity, size_t* output_len);
/** Ends the message: writes the padding, or checks it; up to 16 bytes. Afterwards only reset or init is allowed. */
WARPAES_API warpaes_status warpaes_context_final(warpaes_context* context, void* output, size_t output_capacity,
                                                 size_t* output_len);
/** Starts another message with the same mode, direction, key and flags. */
WARPAES_API warpaes_status warpaes_context_reset(warpaes_context* context, const uint8_t* iv, size_t iv_len);
/** CTR: goes to byte `offset` of the message. */
WARPAES_API warpaes_status warpaes_context_seek(warpaes_context* context, uint64_t offset);
/** GCM: the next `length` bytes of associated data, any number of times before the first update with data. */
WARPAES_API warpaes_status warpaes_context_aad(warpaes_context* context, const void* aad, size_t length);
/** GCM encryption, after final: the tag, cut to `length` bytes (see warpaes_message). */
WARPAES_API warpaes_status warpaes_context_get_tag(warpaes_context* context, uint8_t* tag, size_t length);
/**
 * GCM decryption, before final: the tag to expect. final then succeeds or returns WARPAES_ERROR_AUTHENTICATION; what
 * the updates have written until then is not authenticated and must not be used before final has succeeded.
 */
WARPAES_API warpaes_status warpaes_context_set_tag(warpaes_context* context, const uint8_t* tag, size_t length);

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
WARPAES_API size_t warpaes_keyset_count(const warpaes_keyset* keyset);
WARPAES_API warpaes_status warpaes_keyset_query(const warpaes_keyset* keyset, size_t index, warpaes_key_info* info);
/** As Tink's JSON, with the secret keys, not ended by a NUL. `*length`: what it takes; with too small a capacity
    WARPAES_ERROR_BUFFER_TOO_SMALL. */
WARPAES_API warpaes_status warpaes_keyset_write(const warpaes_keyset* keyset, char* json, size_t capacity,
                                                size_t* length);

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
    WARPAES_FILE_RANGE = 1u << 5, /**< Only bytes range_first … range_last of the result (ECB, CTR, and decryption of
                                       CBC, CFB and STREAMING_AEAD); only the blocks or segments under them are read. */
    WARPAES_FILE_VERIFY = 1u << 6 /**< STREAMING_AEAD decryption: authenticate everything and write nothing. */
};

/** What a running job tells; called now and then, from one thread at a time. Return 0 to go on, anything else to
 * cancel. */
typedef int (*warpaes_progress)(void* user, uint64_t bytes_done, uint64_t bytes_total);
/** `bytes_total` when the length is unknown (a pipe). */
#define WARPAES_UNKNOWN UINT64_MAX

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
    /* Written by the call: */
    uint64_t bytes_read;    /**< As the cipher saw them, with the header: base64 counts decoded. */
    uint64_t bytes_written; /**< To the output. */
    uint32_t notes;         /**< WARPAES_NOTE_* */
    int32_t device;
    const char* backend;
    /* STREAMING_AEAD */
    const warpaes_keyset* keyset;
    const void* aad; /**< Associated data: not in the file, the same on both sides. */
    uint64_t aad_len;
    uint32_t key_id; /**< Written by the call: the key that was used. */
    uint32_t reserved;
} warpaes_file_job;

#define WARPAES_FILE_JOB_INIT                                                                                        \
    {                                                                                                                \
        sizeof(warpaes_file_job), 0, (warpaes_mode)0, (warpaes_direction)0, WARPAES_FORMAT_RAW, WARPAES_KDF_PBKDF2,  \
            NULL, NULL, 0, 0, NULL, NULL, 0, 0, 0, NULL, 0, NULL, NULL, 0, 0, 0, NULL, NULL, 0, 0, 0, 0, NULL, NULL, \
            NULL, 0, 0, 0                                                                                            \
    }

/** Runs the job and returns when its output is complete. Thread-safe. */
WARPAES_API warpaes_status warpaes_file_run(warpaes_engine* engine, warpaes_file_job* job);

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
    uint32_t flags;   /**< 0 or WARPAES_FILE_OVERWRITE */
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
 * only at the end. Reads and authenticates just the segments under them. After an error the output is wiped and `*read`
 * is 0; the next call may succeed. WARPAES_ERROR_RANGE for an offset beyond the end.
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
