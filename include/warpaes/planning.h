/*
 * warpaes: what an engine would do with some work, what it would take, and what this machine measures: costs, and how a
 * GPU's kernels are best launched.
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

/** A limit that nothing reaches, as a figure of a launch. */
#define WARPAES_NEVER 0xffffffffu

/** One figure of how a GPU's kernels are launched: threads, tables, limits. None of them changes a byte of any result.
    Filled by the library, but for struct_size. */
typedef struct warpaes_launch_figure {
    uint32_t struct_size;
    uint32_t value;    /**< in use */
    uint32_t built_in; /**< of the GPU's architecture, before any tuning */
    uint32_t reserved;
    const char* name;    /**< Static storage. */
    const char* meaning; /**< Static storage. */
    char note[512];      /**< Why what is stored for this GPU is not used; "" if it is, or if there is nothing. */
} warpaes_launch_figure;

#define WARPAES_LAUNCH_FIGURE_INIT \
    { sizeof(warpaes_launch_figure), 0, 0, 0, NULL, NULL, "" }

/** How many figures there are. */
WARPAES_API size_t warpaes_launch_figure_count(void);
/** Figure `index` of CUDA device `device`, -1 for the first. WARPAES_ERROR_BACKEND if it cannot be used here. Creates
    no context. Thread-safe. */
WARPAES_API warpaes_status warpaes_engine_launch_figure(warpaes_engine* engine, int32_t device, size_t index,
                                                        warpaes_launch_figure* figure);

/** A value that a tuning has tried. */
typedef struct warpaes_tuning_step {
    uint32_t struct_size;
    uint32_t value;
    const char* name;  /**< of the figure; static storage, as is: */
    const char* works; /**< what was measured, a sentence's subject */
    double relative;   /**< The time it took, that of the value in use being 1; 0: this GPU refuses such launches. */
    uint64_t done;     /**< values so far, of */
    uint64_t total;
} warpaes_tuning_step;

typedef struct warpaes_tuning {
    uint32_t struct_size;
    uint32_t flags; /**< WARPAES_CALIBRATE_QUICK, WARPAES_CALIBRATE_KEEP */
    int32_t device; /**< CUDA device number; -1: the first */
    uint32_t reserved;
    /** Told of every value. May be NULL. */
    int (*progress)(void* user, const warpaes_tuning_step* step);
    void* progress_user;
} warpaes_tuning;

#define WARPAES_TUNING_INIT \
    { sizeof(warpaes_tuning), 0, -1, 0, NULL, NULL }

/** What a tuning came to. Filled by the library, but for struct_size. */
typedef struct warpaes_tuning_result {
    uint32_t struct_size;
    int32_t device;   /**< which it was */
    uint32_t changed; /**< figures that are not the architecture's any more */
    uint32_t reserved;
    uint64_t measurements;
    double seconds; /**< what it took */
} warpaes_tuning_result;

#define WARPAES_TUNING_RESULT_INIT \
    { sizeof(warpaes_tuning_result), -1, 0, 0, 0, 0 }

/**
 * Measures, figure after figure, how a GPU's kernels are best launched, compares the bytes that come of every value
 * with the CPU's before measuring it, uses the best in this process from then on, and stores it where calibrations are
 * stored, for this GPU, for processes to come. Workers that an engine has already keep what they have. Tune before
 * calibrating: costs depend on launches. WARPAES_ERROR_CANCELLED if `progress` returns anything but 0;
 * WARPAES_ERROR_DEVICE if bytes differ: then nothing has changed. WARPAES_ERROR_WRITE if it cannot be stored. `result`
 * may be NULL. Thread-safe.
 */
WARPAES_API warpaes_status warpaes_engine_tune(warpaes_engine* engine, const warpaes_tuning* tuning,
                                               warpaes_tuning_result* result);

#ifdef __cplusplus
}
#endif

#endif
