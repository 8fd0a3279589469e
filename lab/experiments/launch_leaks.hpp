// Tests whether the time of whole kernel launches depends on text or key.
#pragma once

#include <string>

#include "lab/experiment.hpp"
#include "lab/leak_test.hpp"

namespace lab::experiments {

/// What is launched, and what is secret: fixed in one class of launches, random in the other.
struct LaunchSubject {
    enum class Secret {
        text,
        key,
        equal_blocks  ///< text, where the fixed text repeats one block, so that all lanes do the same
    };
    std::string name;
    Secret secret = Secret::text;
    bool counter = false, encrypt = true;
    unsigned key_bytes = 16;
    bool tables = false;  ///< true: T-tables in shared memory instead of production's kernels. This is the control,
                          ///< whose leak the test must find
};

/// "text" or "key".
const char* name_of(LaunchSubject::Secret secret);

/// Times `count` launches of 64 KiB each by events. Verifies the output for every text and key first. Throws Mismatch.
/// `from`, `to`: the range of the experiment's progress to report.
LeakTest::Outcome test_launches(const Context& context, const LaunchSubject& subject, std::size_t count, double from,
                                double to);

}  // namespace lab::experiments
