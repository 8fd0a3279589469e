// Runs a file job on files in memory, with any kind of input and output and with injected faults.
#pragma once

#include <cstdint>
#include <optional>

#include "handles.hpp"
#include "memory_os.hpp"

namespace fuzz {

/// The kinds of a job's input and output, and the faults to inject.
struct Circumstances {
    bool input_is_path = false;
    bool input_is_pipe = false;
    bool output_is_path = false;
    bool output_is_pipe = false;
    unsigned failing_call = 0;  ///< number of the system call that fails, or 0 for none
    int error = 0;
    std::size_t step = 0;

    static Circumstances any(Input& in);
    static Circumstances calm() { return {}; }
};

struct JobResult {
    warpaes_status status = WARPAES_OK;
    bool disturbed = false;
    Bytes output;  ///< if the output is a descriptor, includes the bytes written before a failure
};

/// Runs `job` on `input`. Reports a finding if a file remains after a failure, a descriptor stays open, or an error has
/// no message. A failure without an injected fault is not a finding, because the input may be invalid.
JobResult run_job(warpaes_engine* engine, warpaes_file_job job, const Bytes& input, const Circumstances& how);

}  // namespace fuzz
