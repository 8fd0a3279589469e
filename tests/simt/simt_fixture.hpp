// Shared code for the simulator's own tests: device memory, launches, a kernel, and a new machine for every test.
#pragma once

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "simt.hpp"

namespace simt_test {

inline constexpr unsigned full = 0xffffffff;

/// Device memory and a copy of it in host memory.
template <typename T>
class Buffer {
public:
    explicit Buffer(std::size_t size) : values_(size) {
        EXPECT_EQ(cudaMalloc(&device_, size * sizeof(T)), cudaSuccess);
        EXPECT_EQ(cudaMemset(device_, 0, size * sizeof(T)), cudaSuccess);
    }
    ~Buffer() { EXPECT_EQ(cudaFree(device_), cudaSuccess); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    [[nodiscard]] T* device() const { return device_; }
    const std::vector<T>& fetch() {
        EXPECT_EQ(cudaMemcpy(values_.data(), device_, values_.size() * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
        return values_;
    }

private:
    T* device_ = nullptr;
    std::vector<T> values_;
};

template <typename... Expected, typename... Actual>
cudaError_t launch(void (*kernel)(Expected...), dim3 grid, dim3 block, std::size_t shared_bytes, Actual&&... actual) {
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared_bytes;
    return cudaLaunchKernelEx(&config, kernel, std::forward<Actual>(actual)...);
}

template <typename T>
T* shared() {
    return reinterpret_cast<T*>(simt::dynamic_shared());
}

class Simt : public testing::Test {
protected:
    Simt() { simt::reset(simt::Machine{}); }
    ~Simt() override {
        simt::on_free({});
        simt::reset();
    }
};
/// The parameters of sum_block. Each block adds up its threads' numbers, which are `scale` times the thread's index in
/// the grid.
struct Block {
    unsigned* sums;
    unsigned scale;
};

inline __global__ void __launch_bounds__(1024) sum_block(const __grid_constant__ Block p) {
    auto* values = shared<unsigned>();
    values[threadIdx.x] = p.scale * (blockIdx.x * blockDim.x + threadIdx.x);
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) values[threadIdx.x] += values[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) p.sums[blockIdx.x] = values[0];
}

}  // namespace simt_test
