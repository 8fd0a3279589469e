# Sources of the CUDA backend, relative to src/cuda; the simulated GPU of the tests compiles the same list for the host.
set(WARPAES_CUDA_SOURCES
    cuda_backend.cpp
    run.cu
    kernels/blocks.cu
    kernels/ctr.cu
    kernels/segments.cu
    kernels/serial.cu)
