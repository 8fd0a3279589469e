// What the thread blocks of a launch add up.
#pragma once

namespace warpaes::cuda {

/// A field element, and how many have added to it; zeros before and after a launch.
struct GcmSum {
    unsigned long long high, low;
    unsigned arrived;
};

}  // namespace warpaes::cuda
