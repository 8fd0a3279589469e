/*
 * warpaes: what an engine would do with some work, what it would take, and what this machine measures.
 * Part of the C ABI; its rules stand in warpaes.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WARPAES_PLANNING_H
#define WARPAES_PLANNING_H

#include <warpaes/warpaes.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a plan is asked for. */
typedef struct warpaes_work {
    uint32_t struct_size;
    uint32_t key_bits; /**< 128, 192 or 256 */
    warpaes_mode mode;
    warpaes_direction direction;
    warpaes_memory memory; /**< Where the data lies; of input and output, the slower of both. Not SHARED. */
    int32_t batch;         /**< 1: handed over as a batch; 0: as one message, and `messages` is 1. */
    uint64_t messages;     /**< 0 means 1 */
    uint64_t message_len;  /**< bytes of each */
    uint64_t keys;         /**< different keys; 0 means 1 */
} warpaes_work;

#define WARPAES_WORK_INIT \
    { sizeof(warpaes_work), 128, WARPAES_CTR, WARPAES_ENCRYPT, WARPAES_MEMORY_PAGEABLE, 0, 1, 0, 1 }

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
} warpaes_calibration;

#define WARPAES_CALIBRATION_INIT \
    { sizeof(warpaes_calibration), 0, NULL, NULL }

/** What a calibration came to. Filled by the library, but for struct_size. */
typedef struct warpaes_calibration_result {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t measurements;
    double median_error; /**< of the predictions at what was measured, relative: 0.05 is 5 % */
    double seconds;      /**< what it took */
} warpaes_calibration_result;

#define WARPAES_CALIBRATION_RESULT_INIT \
    { sizeof(warpaes_calibration_result), 0, 0, 0, 0 }

/**
 * Measures every backend and GPU of this machine, whatever the engine was made for, plans this engine's work by that,
 * and stores it for engines to come, of any process: in the file that the environment variable WARPAES_CALIBRATION
 * names, else below $XDG_CACHE_HOME or ~/.cache. WARPAES_CALIBRATION=none: nothing is stored, and nothing read. An
 * engine reads it when it first has to choose. On a machine that does other things meanwhile the figures are worth
 * little. WARPAES_ERROR_CANCELLED if `progress` returns anything but 0; WARPAES_ERROR_WRITE if it cannot be stored:
 * this engine goes by it nevertheless. `result` may be NULL. Thread-safe.
 */
WARPAES_API warpaes_status warpaes_engine_calibrate(warpaes_engine* engine, const warpaes_calibration* calibration,
                                                    warpaes_calibration_result* result);
/** Where a calibration is stored, `capacity` bytes with the NUL; "" if nowhere. */
WARPAES_API warpaes_status warpaes_calibration_path(char* path, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif
