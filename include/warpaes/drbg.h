/*
 * warpaes: random bits by CTR_DRBG with AES (SP 800-90A Rev. 1, 10.2.1). The rules in warpaes.h also apply here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WARPAES_DRBG_H
#define WARPAES_DRBG_H

#include "warpaes/warpaes.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A generator and its state. Only one thread at a time may use a generator. */
typedef struct warpaes_drbg warpaes_drbg;

/**
 * The inputs of a new generator. With the derivation function, `entropy` must have at least as many bytes as the key,
 * `nonce` at least half as many, and every input fewer than 2^32. Without the derivation function, `entropy` must be
 * exactly key_bits / 8 + 16 bytes, personalization and additional input must be no longer than that, and `nonce` must
 * be NULL.
 */
typedef struct warpaes_drbg_options {
    uint32_t struct_size;
    uint32_t flags;    /**< WARPAES_DRBG_* */
    uint32_t key_bits; /**< 128, 192 or 256; 0 means 256. This is also the security strength. */
    uint32_t reserved; /**< 0 */
    const void*
        entropy; /**< NULL: entropy from the kernel (getrandom); a NULL nonce then also comes from the kernel. */
    uint64_t entropy_len;
    const void* nonce; /**< Required with the derivation function if `entropy` is not NULL. */
    uint64_t nonce_len;
    const void* personalization; /**< May be NULL. */
    uint64_t personalization_len;
    /** Receives the error message if the generator cannot be created: WARPAES_ERROR_BYTES bytes, or NULL. */
    char* error;
} warpaes_drbg_options;

#define WARPAES_DRBG_OPTIONS_INIT \
    { sizeof(warpaes_drbg_options), 0, 0, 0, NULL, 0, NULL, 0, NULL, 0, NULL }

/** Flags of warpaes_drbg_options and of warpaes_drbg_generate. */
enum {
    WARPAES_DRBG_WITHOUT_DF = 1u << 0,           /**< options: no derivation function */
    WARPAES_DRBG_PREDICTION_RESISTANCE = 1u << 1 /**< generate: reseed from the kernel first */
};

/** The maximum number of bytes in a request, and the maximum number of requests between two seedings. */
#define WARPAES_DRBG_MOST_BYTES 65536
#define WARPAES_DRBG_MOST_REQUESTS (UINT64_C(1) << 48)

/** Creates a generator. `options` may be NULL. The generator uses the engine's CPU backend, and the engine must outlive
 * the generator. WARPAES_ERROR_BACKEND if the engine's backend is "cuda". WARPAES_ERROR_KEY_LENGTH or
 * WARPAES_ERROR_DATA_LENGTH for a wrong length. */
WARPAES_API warpaes_status warpaes_drbg_create(warpaes_engine* engine, const warpaes_drbg_options* options,
                                               warpaes_drbg** drbg);
/** Wipes the state and frees the generator. NULL is allowed. */
WARPAES_API void warpaes_drbg_destroy(warpaes_drbg* drbg);
/** Reseeds from `entropy` (NULL: entropy from the kernel) and additional input (may be NULL). The lengths must satisfy
 * the rules for a new generator. */
WARPAES_API warpaes_status warpaes_drbg_reseed(warpaes_drbg* drbg, const void* entropy, uint64_t entropy_len,
                                               const void* additional, uint64_t additional_len);
/**
 * Writes `output_len` random bytes to host memory, at most WARPAES_DRBG_MOST_BYTES (otherwise
 * WARPAES_ERROR_DATA_LENGTH). `flags` is 0 or WARPAES_DRBG_PREDICTION_RESISTANCE. After WARPAES_DRBG_MOST_REQUESTS
 * requests, the call returns WARPAES_ERROR_STATE until the generator is reseeded. In a child of fork(), or of a raw
 * clone(), the generator reseeds from the kernel before it produces any output, even if the child has reseeded it with
 * other entropy. The generator does not detect that a machine is resumed twice from the same snapshot; with
 * WARPAES_DRBG_PREDICTION_RESISTANCE, it reseeds from the kernel for each request. A call that fails does not change
 * the output.
 */
WARPAES_API warpaes_status warpaes_drbg_generate(warpaes_drbg* drbg, void* output, uint64_t output_len,
                                                 const void* additional, uint64_t additional_len, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
