/*
 * warpaes: random numbers of a key, in host or device memory. The rules of warpaes.h hold here too.
 *
 * They are made of AES-CTR's key stream: who has the key and the counter has all of them, on every machine the same to
 * the last bit. A generator without state is for simulations, noise and initial weights that must be secret,
 * reproducible, or begun anywhere; keys and nonces come from drbg.h or the operating system.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WARPAES_NUMBERS_H
#define WARPAES_NUMBERS_H

#include "warpaes/warpaes.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * What a block of the key stream, as little-endian words, is made into. Each operation is rounded by itself, as IEEE
 * 754 has it: no multiplication and addition are contracted.
 *
 * Uniform: `first` + `second` * u, of u = floor(w / 2^11) * 2^-53 for words w of 64 bits (FLOAT64), floor(w / 2^8) *
 * 2^-24 for 32 (FLOAT32), floor(w / 2^5) * 2^-11 and floor(w / 2^8) * 2^-8 for 16 (FLOAT16, BFLOAT16). Both steps are
 * rounded to the format, and before them `first` and `second`, those of 16 bits by way of float.
 *
 * Normal: `first` + `second` * n, of the pairs n that Box and Muller make of two words of 64 bits in double (FLOAT64)
 * or of 32 bits in float (the others, those of 16 bits rounded in the end). docs/python.md has the arithmetic. Nothing
 * is further out than 8.6 (FLOAT64) or 6.7 standard deviations.
 *
 * Integers: `low` + floor(x * `range` / 2^128) modulo 2^64, x being the whole block.
 */
typedef enum warpaes_number {
    WARPAES_BITS = 0,             /**< the key stream; 16 bytes a block */
    WARPAES_UNIFORM_FLOAT64 = 1,  /**< 2 numbers, 16 bytes a block */
    WARPAES_UNIFORM_FLOAT32 = 2,  /**< 4 numbers, 16 bytes a block */
    WARPAES_UNIFORM_FLOAT16 = 3,  /**< 8 numbers, 16 bytes a block: binary16 */
    WARPAES_UNIFORM_BFLOAT16 = 4, /**< 8 numbers, 16 bytes a block: the upper half of a float */
    WARPAES_NORMAL_FLOAT64 = 5,   /**< 2 numbers, 16 bytes a block */
    WARPAES_NORMAL_FLOAT32 = 6,   /**< 4 numbers, 16 bytes a block */
    WARPAES_NORMAL_FLOAT16 = 7,   /**< 4 numbers, 8 bytes a block */
    WARPAES_NORMAL_BFLOAT16 = 8,  /**< 4 numbers, 8 bytes a block */
    WARPAES_INTEGER_UINT64 = 9    /**< 1 number, 8 bytes a block */
} warpaes_number;

/** What is to be made, of which key stream, and where to. */
typedef struct warpaes_numbers {
    uint32_t struct_size;
    warpaes_number kind;
    const warpaes_key* key;
    const void* counter; /**< The first counter block, 16 bytes in host memory. It counts modulo 2^128. */
    /** In host or device memory, of any alignment that the numbers have. What does not fill a block of the key stream
        uses it up all the same. */
    void* output;
    uint64_t output_len; /**< In bytes: whole numbers. */
    double first;        /**< Uniform: the lower bound. Normal: the mean. Others: 0. */
    double second;       /**< Uniform: upper less lower bound. Normal: the standard deviation. Others: 0 or 1. */
    uint64_t low;        /**< Integers: the lowest. Others: 0. */
    uint64_t range;      /**< Integers: how many, 0 for 2^64. Others: 0. */
} warpaes_numbers;

#define WARPAES_NUMBERS_INIT \
    { sizeof(warpaes_numbers), WARPAES_BITS, NULL, NULL, NULL, 0, 0.0, 1.0, 0, 0 }

/**
 * Fills the output and returns when that is done. Host memory is filled by the CPU, on all of the engine's threads
 * where it is long, device memory by its GPU. `result` may be NULL. Thread-safe. Output in device memory must not be in
 * use by any stream but the default one. After a failure the output is undefined.
 */
WARPAES_API warpaes_status warpaes_numbers_fill(warpaes_engine* engine, const warpaes_numbers* numbers,
                                                warpaes_result* result);
/**
 * The same for output in device memory, enqueued on `cuda_stream` (a cudaStream_t of its device; NULL: the default
 * stream), which may be in capture: every replay then makes the same numbers. Returns at once. The key may be destroyed
 * once the call has returned.
 */
WARPAES_API warpaes_status warpaes_numbers_fill_async(warpaes_engine* engine, const warpaes_numbers* numbers,
                                                      void* cuda_stream, warpaes_result* result);

#ifdef __cplusplus
}
#endif

#endif
