/*
 * warpaes: random numbers from a key, in host or device memory. The rules in warpaes.h also apply here.
 *
 * The numbers are a function of AES-CTR's key stream: the key and the counter determine every bit, and every machine
 * computes the same bits. The generator has no state. It is intended for simulations, noise and initial weights that
 * must be secret, reproducible, or started at any position. Use drbg.h or the operating system for keys and nonces.
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
 * The kind of number that a block of the key stream, read as little-endian words, is converted to. Each operation is
 * rounded separately, as in IEEE 754: multiplications and additions are not contracted.
 *
 * Uniform: `first` + `second` * u. For a word w, u is floor(w / 2^11) * 2^-53 for 64-bit words (FLOAT64), floor(w /
 * 2^8) * 2^-24 for 32-bit words (FLOAT32), and floor(w / 2^5) * 2^-11 or floor(w / 2^8) * 2^-8 for 16-bit words
 * (FLOAT16, BFLOAT16). `first` and `second` are rounded to the format first, 16-bit formats through float; then the
 * product and the sum are rounded.
 *
 * Normal: `first` + `second` * n. The Box-Muller transform computes each pair of values n from two words: from 64-bit
 * words in double (FLOAT64), or from 32-bit words in float (the other kinds; 16-bit results are rounded at the end).
 * docs/python.md describes the arithmetic. No value is more than 8.6 (FLOAT64) or 6.7 standard deviations from the
 * mean.
 *
 * Integers: `low` + floor(x * `range` / 2^128) modulo 2^64, where x is the complete block.
 */
typedef enum warpaes_number {
    WARPAES_BITS = 0,             /**< the key stream itself; 16 bytes per block */
    WARPAES_UNIFORM_FLOAT64 = 1,  /**< 2 numbers, 16 bytes per block */
    WARPAES_UNIFORM_FLOAT32 = 2,  /**< 4 numbers, 16 bytes per block */
    WARPAES_UNIFORM_FLOAT16 = 3,  /**< 8 numbers, 16 bytes per block: binary16 */
    WARPAES_UNIFORM_BFLOAT16 = 4, /**< 8 numbers, 16 bytes per block: the upper half of a float */
    WARPAES_NORMAL_FLOAT64 = 5,   /**< 2 numbers, 16 bytes per block */
    WARPAES_NORMAL_FLOAT32 = 6,   /**< 4 numbers, 16 bytes per block */
    WARPAES_NORMAL_FLOAT16 = 7,   /**< 4 numbers, 8 bytes per block */
    WARPAES_NORMAL_BFLOAT16 = 8,  /**< 4 numbers, 8 bytes per block */
    WARPAES_INTEGER_UINT64 = 9    /**< 1 number, 8 bytes per block */
} warpaes_number;

/** The numbers to produce, the key stream to use, and where to write the output. */
typedef struct warpaes_numbers {
    uint32_t struct_size;
    warpaes_number kind;
    const warpaes_key* key;
    const void* counter; /**< The first counter block, 16 bytes in host memory. The counter wraps modulo 2^128. */
    /** In host or device memory, aligned to the size of a number. A block of the key stream is consumed even if the
     * output uses only a part of it. */
    void* output;
    uint64_t output_len; /**< In bytes, a multiple of the size of a number. */
    double first;        /**< Uniform: the lower bound. Normal: the mean. Others: 0. */
    double second;  /**< Uniform: the upper bound minus the lower bound. Normal: the standard deviation. Others: 0 or
                         1. */
    uint64_t low;   /**< Integers: the smallest value. Others: 0. */
    uint64_t range; /**< Integers: the number of values, 0 for 2^64. Others: 0. */
} warpaes_numbers;

#define WARPAES_NUMBERS_INIT \
    { sizeof(warpaes_numbers), WARPAES_BITS, NULL, NULL, NULL, 0, 0.0, 1.0, 0, 0 }

/**
 * Fills the output and returns when it is complete. The CPU fills host memory, with all of the engine's threads if the
 * output is long; an engine with the backend "cuda" generates the numbers on the GPU and copies them. Device memory is
 * filled by its GPU; only work on the default stream may be using the memory. `result` may be NULL. After a failure the
 * output is undefined. Thread-safe.
 */
WARPAES_API warpaes_status warpaes_numbers_fill(warpaes_engine* engine, const warpaes_numbers* numbers,
                                                warpaes_result* result);
/**
 * Enqueues the filling of device memory on `cuda_stream` (a cudaStream_t of the memory's device; NULL: the default
 * stream) and returns at once. The stream may be in capture; every replay then produces the same numbers. The key may
 * be destroyed after the call. `result` may be NULL. Thread-safe.
 */
WARPAES_API warpaes_status warpaes_numbers_fill_async(warpaes_engine* engine, const warpaes_numbers* numbers,
                                                      void* cuda_stream, warpaes_result* result);

#ifdef __cplusplus
}
#endif

#endif
