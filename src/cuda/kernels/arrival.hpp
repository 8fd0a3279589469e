// What the thread blocks of a launch leave for each other, and how the last of them tells the host.
#pragma once

namespace warpaes::cuda {

/// A field element, and how many have added to it; zeros before and after a launch.
struct GcmSum {
    unsigned long long high, low;
    unsigned arrived;
};

/// Who waits for a word of page-locked memory instead of the stream has the result a microsecond earlier.
struct Notice {
    unsigned* arrived = nullptr;  ///< on the device: thread blocks; 0 before and after a launch
    unsigned* word = nullptr;     ///< null: nobody waits for it
    unsigned value = 0;           ///< what is written there when all that the launch writes can be seen by everybody
};

}  // namespace warpaes::cuda
