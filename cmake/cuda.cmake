# The CUDA language for every directory that has CUDA code, and what such code is compiled for.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  # Machine code for A100 and H100/H200, PTX for everything newer. 90a: with the instructions that only 9.0 has
  # (src/cuda/kernels/mma.cuh); code for 90 works there too.
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90a-real 90-virtual)
endif()
enable_language(CUDA)
foreach(standard 17 20)
  if(NOT CMAKE_CUDA${standard}_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA${standard}_STANDARD_COMPILE_OPTION -std=c++${standard})  # which CMake 3.25 does not know of this nvcc
  endif()
endforeach()
find_package(CUDAToolkit REQUIRED)
