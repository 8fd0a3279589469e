// Device memory that lives from one point of a stream to another.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace warpaes::cuda {

class StreamScratch {
public:
    /// Whatever kernel reads a secret there for the last time overwrites it.
    StreamScratch(std::size_t bytes, cudaStream_t stream);
    StreamScratch(const StreamScratch&) = delete;
    StreamScratch& operator=(const StreamScratch&) = delete;
    ~StreamScratch();
    [[nodiscard]] void* get() const noexcept { return pointer_; }

private:
    void* pointer_ = nullptr;
    cudaStream_t stream_;
};

}  // namespace warpaes::cuda
