/*
 * warpaes: random bits by CTR_DRBG with AES (SP 800-90A Rev. 1, 10.2.1). The rules of warpaes.h hold here too.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WARPAES_DRBG_H
#define WARPAES_DRBG_H

#include "warpaes/warpaes.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A generator and its state. One thread at a time. */
typedef struct warpaes_drbg warpaes_drbg;

/**
 * What a generator is made of. With the derivation function entropy has as many bytes as the key or more, a nonce half
 * as many or more, and both, personalization and additional input fewer than 2^32. Without it entropy has key_bits / 8
 * + 16 bytes, personalization and additional input at most as many, and there is no nonce.
 */
typedef struct warpaes_drbg_options {
    uint32_t struct_size;
    uint32_t flags;      /**< WARPAES_DRBG_* */
    uint32_t key_bits;   /**< 128, 192 or 256; 0: 256. The security strength, too. */
    uint32_t reserved;   /**< 0 */
    const void* entropy; /**< NULL: the kernel's (getrandom), and its nonce, if there is none. */
    uint64_t entropy_len;
    const void* nonce; /**< Must be there if entropy is. */
    uint64_t nonce_len;
    const void* personalization; /**< May be NULL. */
    uint64_t personalization_len;
    /** Room for the sentence if the generator cannot be created, WARPAES_ERROR_BYTES bytes; or NULL. */
    char* error;
} warpaes_drbg_options;

#define WARPAES_DRBG_OPTIONS_INIT \
    { sizeof(warpaes_drbg_options), 0, 0, 0, NULL, 0, NULL, 0, NULL, 0, NULL }

/** Flags of a generator, and of what it is asked for. */
enum {
    WARPAES_DRBG_WITHOUT_DF = 1u << 0,           /**< create: without the derivation function */
    WARPAES_DRBG_PREDICTION_RESISTANCE = 1u << 1 /**< generate: reseeded from the kernel before */
};

/** Bytes that one request may ask for, and requests before it must be reseeded. */
#define WARPAES_DRBG_MOST_BYTES 65536
#define WARPAES_DRBG_MOST_REQUESTS (UINT64_C(1) << 48)

/** `options` may be NULL. The engine, whose CPU backend computes, must outlive the generator; one that was asked for
    "cuda" is WARPAES_ERROR_BACKEND. */
WARPAES_API warpaes_status warpaes_drbg_create(warpaes_engine* engine, const warpaes_drbg_options* options,
                                               warpaes_drbg** drbg);
/** Wipes the state. NULL is allowed. */
WARPAES_API void warpaes_drbg_destroy(warpaes_drbg* drbg);
/** Fresh entropy, NULL for the kernel's, and additional input, which may be NULL. */
WARPAES_API warpaes_status warpaes_drbg_reseed(warpaes_drbg* drbg, const void* entropy, uint64_t entropy_len,
                                               const void* additional, uint64_t additional_len);
/**
 * `output_len` random bytes, at most WARPAES_DRBG_MOST_BYTES (WARPAES_ERROR_DATA_LENGTH), in host memory. `flags`: 0 or
 * WARPAES_DRBG_PREDICTION_RESISTANCE. After WARPAES_DRBG_MOST_REQUESTS requests WARPAES_ERROR_STATE until it is
 * reseeded. A child of fork() reseeds from the kernel before it gives anything. If a call fails, the output is as it
 * was.
 */
WARPAES_API warpaes_status warpaes_drbg_generate(warpaes_drbg* drbg, void* output, uint64_t output_len,
                                                 const void* additional, uint64_t additional_len, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
