// The VAES backend with selected kernels. The global vaes_backend() is the fastest one that runs here; a caller that
// needs a certain one, such as a test or a measurement, selects it here.
#pragma once

#include "backend/backend.hpp"

namespace warpaes::cpu {

/// Named by register width; `folding`: with fewer products in GCM (FoldingZmm in vaes512_vector.hpp).
enum class VaesKernels { bits256, bits512, bits512_folding };

Backend& vaes_backend(VaesKernels kernels);

}  // namespace warpaes::cpu
