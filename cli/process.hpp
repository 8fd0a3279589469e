// What the process settles before it does anything else.
#pragma once

namespace cli {

/// Standard descriptors that are closed are opened, so that no file of the command's own takes their numbers: input and
/// output so that using them is an error as before, standard error so that it goes nowhere.
///
/// No core dump is made, and no other process of the same user may look into this one's memory: keys are there.
void secure_process();

}  // namespace cli
