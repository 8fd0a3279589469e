// A replacement for the CUDA toolkit's header of this name. With this folder first on the include path, CUDA kernels
// and the host code that launches them compile with any C++20 compiler and run on the CPU. ../README.md describes how
// closely the simulation follows a GPU.
#pragma once

/// Defined when a source is compiled for the simulator. `__CUDA_ARCH__` and `__CUDACC__` stay undefined.
#define WARPAES_SIMT 1
/// nvcc defines this macro as the list of architectures that it compiles for.
#define __CUDA_ARCH_LIST__ 750, 800, 900
#define WARPAES_CUDA_PTX 90

#include "simt_device.h"
#include "simt_runtime.h"
#include "simt_types.h"
