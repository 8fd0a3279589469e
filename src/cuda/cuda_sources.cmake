# Sources of the CUDA backend, relative to src/cuda; the simulated GPU of the tests compiles the same list for the host.
set(WARPAES_CUDA_SOURCES
    cuda_backend.cpp
    gcm.cu
    run.cu
    scratch.cpp
    xts.cu
    kernels/blocks.cu
    kernels/ctr.cu
    kernels/gcm_ctr.cu
    kernels/ghash.cu
    kernels/ghash_mma.cu
    kernels/segments.cu
    kernels/serial.cu
    kernels/xts.cu)
