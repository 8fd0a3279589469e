// What the thread blocks of a launch share in device memory, and how the last of them notifies the host.
#pragma once

namespace warpaes::cuda {

/// A field element, and the number of thread blocks that have added to it. Both are zero before and after a launch.
struct GcmSum {
    unsigned long long high, low;
    unsigned arrived;
};

/// A caller that polls a word of page-locked memory, instead of waiting for the stream, has the result a microsecond
/// earlier.
struct Notice {
    unsigned* arrived = nullptr;  ///< in device memory: thread blocks that are done; 0 before and after a launch
    unsigned* word = nullptr;     ///< null: nobody polls
    unsigned value = 0;  ///< stored to `word` when everything that the launch writes is visible to host and device
};

}  // namespace warpaes::cuda
