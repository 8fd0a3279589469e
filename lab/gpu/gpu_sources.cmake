# The lab's sources that use CUDA, relative to lab/gpu; the simulated GPU of the tests compiles the same list for the host.
set(WARPAES_LAB_GPU_SOURCES
    bitsliced.cu
    cached_counter.cu
    device.cpp
    dpf.cu
    grouped.cu
    leakage.cu
    memory_reads.cu
    payload.cu
    stream_reads.cu
    variants.cu)
