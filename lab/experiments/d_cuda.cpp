// [D]'s CUDA implementation for D.surfaces. Each thread processes complete AES blocks. Tables, keys and text are in
// shared memory, and 16 persistent thread blocks have 256 threads each. A call copies the page-locked buffer to the
// device, encrypts or decrypts it in place, and copies it back. The time includes all three steps.
#include "lab/gpu/catalogue.hpp"
#include "lab/gpu/device.hpp"
#include "lab/gpu/variants.hpp"
#include "lab/published.hpp"
#include "lab/surfaces.hpp"

namespace lab {

namespace {

class CudaCipher final : public BufferCipher {
public:
    CudaCipher(int device, std::span<const std::uint8_t> key, Direction direction, std::size_t bytes)
        : entry_{gpu::damjanovic,
                 {.rounds = static_cast<int>(key.size() / 4) + 6, .inverse = direction == Direction::decrypt}} {
        gpu::use(device);
        variants_.emplace(key);
        stream_.emplace();
        buffer_ = gpu::HostMemory(bytes, gpu::HostMemory::Kind::page_locked);
        text_ = gpu::DeviceMemory(bytes);
    }
    std::span<std::uint8_t> buffer() override { return buffer_.bytes(); }
    void run(std::size_t bytes) override {
        gpu::copy(text_.get(), buffer_.get(), bytes, *stream_);
        variants_->run(entry_, geometry, text_.get(), text_.get(), bytes, {}, *stream_);
        gpu::copy(buffer_.get(), text_.get(), bytes, *stream_);
        stream_->synchronize();
    }

private:
    static constexpr gpu::Geometry geometry{published::damjanovic::threads, published::damjanovic::thread_blocks};
    gpu::Entry entry_;
    std::optional<gpu::Variants> variants_;
    std::optional<gpu::Stream> stream_;
    gpu::HostMemory buffer_;
    gpu::DeviceMemory text_;
};

}  // namespace

const Implementation on_cuda{"CUDA",
                             [](const Context& context, std::span<const std::uint8_t> key, Direction direction,
                                std::size_t bytes) -> std::unique_ptr<BufferCipher> {
                                 return std::make_unique<CudaCipher>(context.gpu, key, direction, bytes);
                             }};

}  // namespace lab
