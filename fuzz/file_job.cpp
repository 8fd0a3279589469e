#include "file_job.hpp"

#include <cerrno>

namespace fuzz {

Circumstances Circumstances::any(Input& in) {
    static constexpr int errors[] = {EIO, EINTR, ENOSPC, EACCES, EINVAL, EEXIST};
    Circumstances how;
    const std::uint8_t bits = in.byte();
    how.input_is_path = (bits & 1) != 0;
    how.input_is_pipe = (bits & 2) != 0 && !how.input_is_path;
    how.output_is_path = (bits & 4) != 0;
    how.output_is_pipe = (bits & 8) != 0 && !how.output_is_path;
    if ((bits & 16) != 0) how.step = 1 + in.below(40);
    if ((bits & 32) != 0) {
        how.failing_call = 1 + static_cast<unsigned>(in.below(40));
        how.error = in.pick(errors);
    }
    return how;
}

JobResult run_job(warpaes_engine* engine, warpaes_file_job job, const Bytes& input, const Circumstances& how) {
    memory_os::reset();
    const auto in = std::make_shared<memory_os::File>(memory_os::File{input, how.input_is_pipe});
    auto out = std::make_shared<memory_os::File>(memory_os::File{{}, how.output_is_pipe});
    std::size_t descriptors = 0, names = 0;
    job.input_fd = job.output_fd = -1;
    job.input_path = job.output_path = nullptr;
    if (how.input_is_path) {
        memory_os::files()["/in"] = in;
        job.input_path = "/in";
        ++names;
    } else {
        job.input_fd = memory_os::descriptor(in);
        ++descriptors;
    }
    if (how.output_is_path) {
        job.output_path = "/out";
    } else {
        job.output_fd = memory_os::descriptor(out);
        ++descriptors;
    }
    memory_os::disturb(how.failing_call, how.error, how.step);

    JobResult result;
    warpaes_file_result told = WARPAES_FILE_RESULT_INIT;
    result.status = warpaes_file_run(engine, &job, &told);
    require(told.status == result.status, "the result's status differs from the returned status");
    require((told.error[0] == '\0') == (result.status == WARPAES_OK),
            "an error without a message, or a message without an error");
    result.disturbed = memory_os::disturbed();
    if (result.status != WARPAES_OK) require(*warpaes_last_error() != '\0', "an error without a message");
    require(memory_os::open_descriptors() == descriptors, "a descriptor stays open");
    require(in->bytes == input, "the input was changed");
    const auto found = memory_os::files().find("/out");
    const bool named = found != memory_os::files().end();
    if (named) out = found->second;
    if (how.output_is_path) {
        require(named == (result.status == WARPAES_OK),
                named ? "a failure leaves its output" : "success without output");
    }
    // A temporary file may remain only if an injected fault prevented its removal.
    require(memory_os::files().size() == names + (named ? 1 : 0) || result.disturbed, "a temporary file stays");
    if (!how.output_is_path || named) result.output = out->bytes;
    return result;
}

}  // namespace fuzz
