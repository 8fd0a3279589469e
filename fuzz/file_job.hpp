// A file job over files in memory: whatever its ends are and whatever fails under it.
#pragma once

#include <cstdint>
#include <optional>

#include "handles.hpp"
#include "memory_os.hpp"

namespace fuzz {

/// How a job meets its data, and what goes wrong.
struct Circumstances {
    bool input_is_path = false;
    bool input_is_pipe = false;
    bool output_is_path = false;
    bool output_is_pipe = false;
    unsigned failing_call = 0;  ///< 0: none
    int error = 0;
    std::size_t step = 0;

    static Circumstances any(Input& in);
    static Circumstances calm() { return {}; }
};

struct JobResult {
    warpaes_status status = WARPAES_OK;
    bool disturbed = false;
    Bytes output;  ///< of a descriptor also what was written before a failure
};

/// Runs `job` on `input`. A finding: a file that a failure leaves behind, a descriptor that stays open, an error
/// without a sentence, a failure where nothing failed is not.
JobResult run_job(warpaes_engine* engine, warpaes_file_job job, const Bytes& input, const Circumstances& how);

}  // namespace fuzz
