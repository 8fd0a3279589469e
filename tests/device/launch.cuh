// Shared code for the tests' kernels: buffers, launches and dynamic shared memory, on a real GPU or the simulated GPU.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "kernels.hpp"

namespace device_test {

#if defined(WARPAES_SIMT)
inline unsigned char* dynamic_shared() {
    return simt::dynamic_shared();
}
#else
extern __shared__ __align__(128) unsigned char dynamic_shared_memory[];
__device__ __forceinline__ unsigned char* dynamic_shared() {
    return dynamic_shared_memory;
}
#endif

inline void check(cudaError_t error, const char* what) {
    if (error == cudaSuccess) return;
    (void)cudaGetLastError();
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

/// Device memory that contains a copy of host memory or poison. When the bytes are fetched, the guard after them must
/// be unchanged.
class Buffer {
public:
    explicit Buffer(const Bytes& from) : Buffer(from.size()) {
        check(cudaMemcpy(data_, from.data(), from.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
    }
    explicit Buffer(std::size_t size) : size_(size) {
        check(cudaMalloc(reinterpret_cast<void**>(&data_), size + guard), "cudaMalloc");
        check(cudaMemset(data_, poison, size + guard), "cudaMemset");
    }
    ~Buffer() { (void)cudaFree(data_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    uint4* blocks() const { return reinterpret_cast<uint4*>(data_); }
    unsigned char* bytes() const { return data_; }
    std::uint32_t* words() const { return reinterpret_cast<std::uint32_t*>(data_); }
    Bytes fetch() const {
        Bytes out(size_ + guard);
        check(cudaMemcpy(out.data(), data_, out.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
        if (std::any_of(out.begin() + static_cast<std::ptrdiff_t>(size_), out.end(),
                        [](std::uint8_t byte) { return byte != poison; })) {
            throw std::runtime_error("a kernel wrote beyond its output");
        }
        out.resize(size_);
        return out;
    }

private:
    static constexpr std::size_t guard = 256;
    static constexpr std::uint8_t poison = 0xb7;
    unsigned char* data_ = nullptr;
    std::size_t size_;
};

template <typename... Expected, typename... Actual>
void launch(void (*kernel)(Expected...), const Shape& shape, unsigned shared_bytes, Actual&&... arguments) {
    check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(shared_bytes)),
          "shared memory");
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(shape.grid);
    config.blockDim = dim3(shape.threads[0], shape.threads[1], shape.threads[2]);
    config.dynamicSmemBytes = shared_bytes;
    check(cudaLaunchKernelEx(&config, kernel, std::forward<Actual>(arguments)...), "launch");
    check(cudaDeviceSynchronize(), "kernel");
}

}  // namespace device_test
