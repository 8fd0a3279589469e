// The VAES backend by its kernels. vaes_backend() is the fastest that runs here; a caller who wants a certain one, such
// as a test or a measurement, names it.
#pragma once

#include "backend/backend.hpp"

namespace warpaes::cpu {

/// By the registers' width; `folding`: with fewer products in GCM (simd_vector.hpp).
enum class VaesKernels { bits256, bits512, bits512_folding };

Backend& vaes_backend(VaesKernels kernels);

}  // namespace warpaes::cpu
