// The VAES backend by register width. vaes_backend() is the wider one that runs here; a caller who wants a certain one,
// such as a test or a measurement, names it.
#pragma once

#include "backend/backend.hpp"

namespace warpaes::cpu {

enum class VaesWidth { bits256, bits512 };

Backend& vaes_backend(VaesWidth width);

}  // namespace warpaes::cpu
