// Tests whether the duration of whole kernel launches depends on the text or the key.
#pragma once

#include <string>

#include "lab/experiment.hpp"
#include "lab/leak_test.hpp"

namespace lab::experiments {

/// A kernel and its secret, which is fixed in one class of launches and random in the other.
struct LaunchSubject {
    enum class Secret {
        text,  ///< every text repeats the 32 blocks of a warp, so that all warps take equally long; among many
               ///< candidates, the fixed text causes the most bank conflicts in T-tables
        key,   ///< every launch encrypts the same repeated text; among many candidates, the fixed key causes the most
               ///< bank conflicts
        equal_blocks  ///< the secret is a text; the fixed text repeats one block, so that all lanes do the same, and
                      ///< the random texts do not repeat blocks
    };
    std::string name;
    Secret secret = Secret::text;
    bool counter = false, encrypt = true;
    unsigned key_bytes = 16;
    bool tables = false;  ///< true: T-tables in shared memory instead of production's kernels; the test must find their
                          ///< leak, as a control
};

/// The number of random texts or keys from which the fixed text or key is chosen.
inline constexpr std::size_t launch_candidates = 4096;

/// Returns "text" or "key".
const char* name_of(LaunchSubject::Secret secret);

/// Times `count` launches of 64 KiB each by events. Verifies the output for every text and key first. Throws Mismatch.
/// `from`, `to`: the range of the experiment's progress to report.
LeakTest::Outcome test_launches(const Context& context, const LaunchSubject& subject, std::size_t count, double from,
                                double to);

}  // namespace lab::experiments
