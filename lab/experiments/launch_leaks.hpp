// Whether the time of whole launches tells something about text or key.
#pragma once

#include <string>

#include "lab/experiment.hpp"
#include "lab/leak_test.hpp"

namespace lab::experiments {

/// What is launched, and what is fixed in the one class and random in the other.
struct LaunchSubject {
    enum class Secret {
        text,
        key,
        equal_blocks  ///< the fixed text is one block again and again, so that all lanes do the same
    };
    std::string name;
    Secret secret = Secret::text;
    bool counter = false, encrypt = true;
    unsigned key_bytes = 16;
    bool tables =
        false;  ///< T-tables in shared memory instead of production's kernels: the control, which has to be found
};

/// "text" or "key".
const char* name_of(LaunchSubject::Secret secret);

/// Of `count` launches of 64 KiB each, by events. Every text and key is verified first. Throws Mismatch.
LeakTest::Outcome test_launches(const Context& context, const LaunchSubject& subject, std::size_t count, double from,
                                double to);

}  // namespace lab::experiments
