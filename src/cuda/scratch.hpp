// Device memory that lives from one point of a stream to another.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace warpaes::cuda {

class StreamScratch {
public:
    /// The last `secret` bytes are overwritten before the memory goes back.
    StreamScratch(std::size_t bytes, cudaStream_t stream, std::size_t secret = 0);
    StreamScratch(const StreamScratch&) = delete;
    StreamScratch& operator=(const StreamScratch&) = delete;
    ~StreamScratch();
    [[nodiscard]] void* get() const noexcept { return pointer_; }

private:
    void* pointer_ = nullptr;
    std::size_t bytes_;
    std::size_t secret_;
    cudaStream_t stream_;
};

}  // namespace warpaes::cuda
