# Enables the CUDA language for every directory with CUDA code, and chooses the architectures to compile for.
option(WARPAES_EVERY_GPU "Build machine code for every architecture since 7.5, as in releases; otherwise, only for 8.0 and 9.0" OFF)
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  # 75: T4, RTX 20, GTX 16; 80: A100; 86: RTX 30, A10, A40; 89: RTX 40, L4, L40; 100: B200; 120: RTX 50. 90a: H100 and
  # H200, with the instructions specific to 9.0 (src/cuda/kernels/mma.cuh). PTX for 9.0 works on all later
  # architectures. PTX for 12.0 would not work on 11.0, and the kernels do not need newer PTX features.
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90a-real 90-virtual)
  if(WARPAES_EVERY_GPU)
    set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 86-real 89-real 90a-real 100-real 120-real 90-virtual)
  endif()
endif()
set(WARPAES_CUDA_PTX 0)  # the oldest PTX that the driver can compile for later architectures
foreach(architecture IN LISTS CMAKE_CUDA_ARCHITECTURES)
  if(architecture MATCHES "^([0-9]+)(-virtual)?$" AND (WARPAES_CUDA_PTX EQUAL 0 OR CMAKE_MATCH_1 LESS WARPAES_CUDA_PTX))
    set(WARPAES_CUDA_PTX ${CMAKE_MATCH_1})
  endif()
endforeach()
enable_language(CUDA)
if(WARPAES_EVERY_GPU AND CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.8)
  message(FATAL_ERROR "WARPAES_EVERY_GPU needs nvcc 12.8 or later, which supports 12.0, but this is nvcc ${CMAKE_CUDA_COMPILER_VERSION}. "
                      "Omit WARPAES_EVERY_GPU, or set CMAKE_CUDA_ARCHITECTURES.")
endif()
if(WARPAES_EVERY_GPU AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13.0)
  string(APPEND CMAKE_CUDA_FLAGS " --compress-mode=size")  # reduces the binaries to a tenth of their size
elseif(WARPAES_EVERY_GPU)
  string(APPEND CMAKE_CUDA_FLAGS " -Xfatbin=-compress-all")
endif()
foreach(standard 17 20)
  if(NOT CMAKE_CUDA${standard}_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA${standard}_STANDARD_COMPILE_OPTION -std=c++${standard})  # CMake 3.25 does not set this option for this version of nvcc
  endif()
endforeach()
find_package(CUDAToolkit REQUIRED)
