/*
 * warpaes: predicts how an engine would carry out work and how long the work would take, and measures this machine: the
 * costs of work, and the best launch parameters of a GPU's kernels. Part of the C ABI; warpaes.h states its rules.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WARPAES_PLANNING_H
#define WARPAES_PLANNING_H

#include <warpaes/warpaes.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The work that a plan is for. */
typedef struct warpaes_work {
    uint32_t struct_size;
    uint32_t key_bits; /**< 128, 192 or 256 */
    warpaes_mode mode;
    warpaes_direction direction;
    warpaes_memory memory; /**< The kind of memory that contains the data; if input and output differ, the slower kind.
                                Not SHARED. */
    int32_t batch;         /**< 1: submitted as a batch; 0: one message, and `messages` is 1. */
    uint64_t messages;     /**< 0 means 1 */
    uint64_t message_len;  /**< bytes per message; at most 2^60 for all messages together */
    uint64_t keys;         /**< number of distinct keys; 0 means 1 */
} warpaes_work;

#define WARPAES_WORK_INIT \
    { sizeof(warpaes_work), 128, WARPAES_CTR, WARPAES_ENCRYPT, WARPAES_MEMORY_PAGEABLE, 0, 1, 0, 1 }

/** An engine's current plan for the work. The library fills every field except struct_size. */
typedef struct warpaes_plan {
    uint32_t struct_size;
    int32_t device;      /**< CUDA device number, or the first number if several devices are used; -1: the CPU. */
    const char* backend; /**< Static storage. */
    const char* beside; /**< A CPU backend that processes a part of a batch in addition to the GPU; otherwise "". Static
                             storage. */
    double seconds;     /**< predicted time, including the creation of a GPU's context if it does not exist yet */
    uint64_t chunk_bytes; /**< bytes that a worker processes at a time */
    uint32_t lanes;       /**< number of workers */
    int32_t calibrated;   /**< 1 if the prediction is based on measurements of this machine. */
    char reason[256];     /**< A human-readable sentence, NUL-terminated. */
} warpaes_plan;

#define WARPAES_PLAN_INIT \
    { sizeof(warpaes_plan), -1, NULL, NULL, 0, 0, 0, 0, "" }

/** The predicted time on one backend or device. The library fills every field except struct_size. */
typedef struct warpaes_prediction {
    uint32_t struct_size;
    int32_t possible;    /**< 0: the backend or device cannot run here, or cannot reach the data; the other fields are
                              then 0. */
    double seconds;      /**< predicted time once the backend or device is running */
    double cold_seconds; /**< additional time if this is the process's first work on a GPU */
    uint32_t lanes;
    int32_t calibrated;
} warpaes_prediction;

#define WARPAES_PREDICTION_INIT \
    { sizeof(warpaes_prediction), 0, 0, 0, 0, 0 }

/** Plans `work` without doing it. An engine with a backend requested by name plans only for that backend. The first
 * call is slow because it looks for GPUs, but it does not initialise any GPU. Thread-safe. */
WARPAES_API warpaes_status warpaes_engine_plan(warpaes_engine* engine, const warpaes_work* work, warpaes_plan* plan);
/** Like warpaes_engine_plan, but predicts the time of `work` on entry `index` of warpaes_backend_query's list. */
WARPAES_API warpaes_status warpaes_engine_predict(warpaes_engine* engine, const warpaes_work* work, size_t index,
                                                  warpaes_prediction* prediction);

/** Flags of a calibration. */
enum {
    WARPAES_CALIBRATE_QUICK = 1u << 0,    /**< Finishes in a few seconds; AES-256 is estimated from AES-128. */
    WARPAES_CALIBRATE_CPU_ONLY = 1u << 1, /**< Measures no GPU; stored costs of GPUs are kept. */
    WARPAES_CALIBRATE_KEEP = 1u << 2      /**< Use the costs only in this engine: nothing is stored. */
};

typedef struct warpaes_calibration {
    uint32_t struct_size;
    uint32_t flags; /**< WARPAES_CALIBRATE_* */
    /** Called at intervals with the number of completed measurements and their total number. May be NULL. */
    int (*progress)(void* user, uint64_t done, uint64_t total);
    void* progress_user;
} warpaes_calibration;

#define WARPAES_CALIBRATION_INIT \
    { sizeof(warpaes_calibration), 0, NULL, NULL }

/** The result of a calibration. The library fills every field except struct_size. */
typedef struct warpaes_calibration_result {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t measurements;
    double median_error; /**< median relative error of the predictions at the measured points: 0.05 is 5 % */
    double seconds;      /**< duration of the calibration */
} warpaes_calibration_result;

#define WARPAES_CALIBRATION_RESULT_INIT \
    { sizeof(warpaes_calibration_result), 0, 0, 0, 0 }

/**
 * Measures every backend and GPU of this machine, regardless of the engine's options. The engine then plans its work
 * with these costs, and stores them for later engines of any process. The environment variable WARPAES_CALIBRATION
 * names the file; by default, the file is below $XDG_CACHE_HOME or ~/.cache. With WARPAES_CALIBRATION=none nothing is
 * stored or read. An engine reads the file when it first has to choose a backend. Other work on the machine during a
 * calibration makes the costs unreliable. WARPAES_ERROR_CANCELLED if `progress` returns a value other than 0.
 * WARPAES_ERROR_WRITE if the costs cannot be stored; this engine still uses the costs. `result` may be NULL.
 * Thread-safe.
 */
WARPAES_API warpaes_status warpaes_engine_calibrate(warpaes_engine* engine, const warpaes_calibration* calibration,
                                                    warpaes_calibration_result* result);
/** Writes the path of the stored calibration, with its NUL, to `path`; "" if nothing is stored.
 * WARPAES_ERROR_BUFFER_TOO_SMALL if the path and its NUL exceed `capacity` bytes. Thread-safe. */
WARPAES_API warpaes_status warpaes_calibration_path(char* path, size_t capacity);

/** The value of a launch figure that is a limit, if the limit is never reached. */
#define WARPAES_NEVER 0xffffffffu

/** One launch parameter of a GPU's kernels, such as a number of threads, a number of tables or a limit. The parameters
 * do not change any byte of the results. The library fills every field except struct_size. */
typedef struct warpaes_launch_figure {
    uint32_t struct_size;
    uint32_t value;    /**< value in use */
    uint32_t built_in; /**< value for the GPU's architecture, before any tuning */
    uint32_t reserved;
    const char* name;    /**< Static storage. */
    const char* meaning; /**< Static storage. */
    char note[512];      /**< Why the stored figures of this GPU are not used; "" if they are used, or if no figures are
                            stored. */
} warpaes_launch_figure;

#define WARPAES_LAUNCH_FIGURE_INIT \
    { sizeof(warpaes_launch_figure), 0, 0, 0, NULL, NULL, "" }

/** Number of launch figures of a GPU. */
WARPAES_API size_t warpaes_launch_figure_count(void);
/** Describes figure `index` of CUDA device `device`; -1 is the first device. WARPAES_ERROR_BACKEND if the engine cannot
 * use that device. The call creates no CUDA context. Thread-safe. */
WARPAES_API warpaes_status warpaes_engine_launch_figure(warpaes_engine* engine, int32_t device, size_t index,
                                                        warpaes_launch_figure* figure);

/** One value that a tuning run has tried. */
typedef struct warpaes_tuning_step {
    uint32_t struct_size;
    uint32_t value;
    const char* name;  /**< name of the figure; static storage */
    const char* works; /**< a noun phrase that describes the measured work; static storage */
    double relative;   /**< Time divided by the time with the value in use; 0 means that this GPU refuses launches with
                            `value`. */
    uint64_t done;     /**< values tried so far */
    uint64_t total;    /**< values to try */
} warpaes_tuning_step;

typedef struct warpaes_tuning {
    uint32_t struct_size;
    uint32_t flags; /**< WARPAES_CALIBRATE_QUICK, WARPAES_CALIBRATE_KEEP */
    int32_t device; /**< CUDA device number; -1: the first */
    uint32_t reserved;
    /** Called for every value; a return value other than 0 cancels the run. May be NULL. */
    int (*progress)(void* user, const warpaes_tuning_step* step);
    void* progress_user;
} warpaes_tuning;

#define WARPAES_TUNING_INIT \
    { sizeof(warpaes_tuning), 0, -1, 0, NULL, NULL }

/** The result of a tuning run. The library fills every field except struct_size. */
typedef struct warpaes_tuning_result {
    uint32_t struct_size;
    int32_t device;   /**< device that was tuned */
    uint32_t changed; /**< number of figures that differ from the architecture's defaults */
    uint32_t reserved;
    uint64_t measurements;
    double seconds; /**< duration of the tuning run */
} warpaes_tuning_result;

#define WARPAES_TUNING_RESULT_INIT \
    { sizeof(warpaes_tuning_result), -1, 0, 0, 0, 0 }

/** Finds the best launch parameters for a GPU's kernels by measuring one figure after another. Before measuring a
 * value, the call compares the kernels' output with the CPU's output. This process then uses the best values. They are
 * also stored with the calibration, for later processes with this GPU. Workers that are already open keep their values.
 * Tune before calibrating, because costs depend on launch parameters. WARPAES_ERROR_CANCELLED if `progress` returns a
 * value other than 0, and WARPAES_ERROR_DEVICE if the outputs differ: in both cases nothing is changed.
 * WARPAES_ERROR_WRITE if the values cannot be stored. `result` may be NULL. Thread-safe.
 */
WARPAES_API warpaes_status warpaes_engine_tune(warpaes_engine* engine, const warpaes_tuning* tuning,
                                               warpaes_tuning_result* result);

#ifdef __cplusplus
}
#endif

#endif
