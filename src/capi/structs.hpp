// Minimum sizes of the ABI's structs.
#pragma once

#include <cstddef>
#include <tuple>

#include "warpaes/drbg.h"
#include "warpaes/files.h"
#include "warpaes/numbers.h"
#include "warpaes/parquet.h"
#include "warpaes/planning.h"

namespace warpaes::capi {

/// `least` is the smallest struct_size that is accepted: the struct's size in the first version of ABI 1, or the
/// beginning of a struct that is only written. The values are literals, because they never change when a struct grows.
struct StructFacts {
    std::size_t least = 0;
    const char* init = "";  ///< the macro that sets struct_size
};

/// Minimum sizes of array elements, whose actual sizes are passed as `entry_size` and `result_size`. Nothing beyond
/// these sizes may be accessed.
inline constexpr std::size_t first_entry_bytes = 176, first_entry_result_bytes = 24;
static_assert(sizeof(warpaes_batch_entry) == first_entry_bytes, "a new field is 0 for callers that do not have it");
static_assert(sizeof(warpaes_entry_result) == first_entry_result_bytes,
              "a new field is written only for callers that have it");

template <typename Struct>
struct FactsOf : StructFacts {};

inline constexpr std::tuple all_struct_facts{
    FactsOf<warpaes_engine_options>{{40, "WARPAES_ENGINE_OPTIONS_INIT"}},
    FactsOf<warpaes_backend_info>{{32, "WARPAES_BACKEND_INFO_INIT"}},
    FactsOf<warpaes_message>{{136, "WARPAES_MESSAGE_INIT"}},
    FactsOf<warpaes_result>{{32, "WARPAES_RESULT_INIT"}},
    FactsOf<warpaes_batch_options>{{56, "WARPAES_BATCH_OPTIONS_INIT"}},
    FactsOf<warpaes_batch_table>{{144, "WARPAES_BATCH_TABLE_INIT"}},
    FactsOf<warpaes_batch_result>{{24, "WARPAES_BATCH_RESULT_INIT"}},
    FactsOf<warpaes_context_options>{{80, "WARPAES_CONTEXT_OPTIONS_INIT"}},
    FactsOf<warpaes_work>{{48, "WARPAES_WORK_INIT"}},
    FactsOf<warpaes_plan>{{24, "WARPAES_PLAN_INIT"}},
    FactsOf<warpaes_prediction>{{16, "WARPAES_PREDICTION_INIT"}},
    FactsOf<warpaes_calibration>{{24, "WARPAES_CALIBRATION_INIT"}},
    FactsOf<warpaes_calibration_result>{{16, "WARPAES_CALIBRATION_RESULT_INIT"}},
    FactsOf<warpaes_launch_figure>{{32, "WARPAES_LAUNCH_FIGURE_INIT"}},
    FactsOf<warpaes_tuning>{{32, "WARPAES_TUNING_INIT"}},
    FactsOf<warpaes_tuning_result>{{24, "WARPAES_TUNING_RESULT_INIT"}},
    FactsOf<warpaes_key_info>{{24, "WARPAES_KEY_INFO_INIT"}},
    FactsOf<warpaes_template_info>{{40, "WARPAES_TEMPLATE_INFO_INIT"}},
    FactsOf<warpaes_scrypt>{{24, "WARPAES_SCRYPT_INIT"}},
    FactsOf<warpaes_place_options>{{48, "WARPAES_PLACE_OPTIONS_INIT"}},
    FactsOf<warpaes_file_job>{{176, "WARPAES_FILE_JOB_INIT"}},
    FactsOf<warpaes_file_result>{{40, "WARPAES_FILE_RESULT_INIT"}},
    FactsOf<warpaes_file_info>{{24, "WARPAES_FILE_INFO_INIT"}},
    FactsOf<warpaes_source>{{56, "WARPAES_SOURCE_INIT"}},
    FactsOf<warpaes_sink>{{32, "WARPAES_SINK_INIT"}},
    FactsOf<warpaes_drbg_options>{{72, "WARPAES_DRBG_OPTIONS_INIT"}},
    FactsOf<warpaes_numbers>{{72, "WARPAES_NUMBERS_INIT"}},
    FactsOf<warpaes_parquet_chunk>{{64, "WARPAES_PARQUET_CHUNK_INIT"}},
    FactsOf<warpaes_parquet_footer>{{64, "WARPAES_PARQUET_FOOTER_INIT"}},
    FactsOf<warpaes_parquet_module>{{56, "WARPAES_PARQUET_MODULE_INIT"}}};

template <typename Struct>
inline constexpr StructFacts struct_facts = std::get<FactsOf<Struct>>(all_struct_facts);

}  // namespace warpaes::capi
