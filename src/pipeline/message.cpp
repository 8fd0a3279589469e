#include "pipeline/message.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "cuda/cuda_backend.hpp"
#include "pipeline/cipher_stage.hpp"

namespace warpaes {

namespace {

/// One of the message's buffers. A CPU works on host memory as it lies, and so does a GPU on page-locked memory and on
/// its own; pageable memory is copied to page-locked staging and back by the workers.
struct Buffer {
    std::uint8_t* data;
    std::uint64_t bytes;
    bool direct;
    int device;  ///< where it lies in device memory, or -1

    void copy(void* to, const void* from, std::size_t n) const {
        if (device >= 0) {
            cuda_backend().copy(to, from, n, device, nullptr);
        } else {
            std::memcpy(to, from, n);
        }
    }
};

/// Pageable memory up to this size is left to the driver's own staging, which costs less than a worker's copy.
constexpr std::uint64_t copied_by_the_driver = 64 * 1024;

Buffer locate(const Plan& plan, const std::uint8_t* data, std::uint64_t bytes, bool parallel) {
    Buffer buffer{const_cast<std::uint8_t*>(data), bytes, true, -1};
    if (plan.backend != &cuda_backend()) return buffer;
    const MemoryPlace place = cuda_backend().place(data);
    if (place.kind == Memory::device) buffer.device = place.device;
    if (place.kind == Memory::device) {
        buffer.direct = parallel;  // a serial mode's chaining value is taken from the data by the host
    } else {
        buffer.direct = place.kind == Memory::page_locked || bytes <= copied_by_the_driver;
    }
    return buffer;
}

class MemorySource final : public Source {
public:
    explicit MemorySource(const Buffer& buffer) : buffer_(buffer) {}
    std::uint64_t size() const noexcept override { return buffer_.bytes; }
    bool is_sequential() const noexcept override { return false; }
    std::size_t read(std::uint64_t offset, std::span<std::uint8_t> to) override {
        const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(to.size(), buffer_.bytes - offset));
        if (n != 0) buffer_.copy(to.data(), buffer_.data + offset, n);
        return n;
    }
    const std::uint8_t* data() const noexcept override { return buffer_.direct ? buffer_.data : nullptr; }

private:
    Buffer buffer_;
};

class MemorySink final : public Sink {
public:
    explicit MemorySink(const Buffer& buffer) : buffer_(buffer) {}
    bool is_sequential() const noexcept override { return false; }
    void write(std::uint64_t offset, std::span<const std::uint8_t> bytes) override {
        buffer_.copy(buffer_.data + offset, bytes.data(), bytes.size());
    }
    std::uint8_t* data() noexcept override { return buffer_.direct ? buffer_.data : nullptr; }

private:
    Buffer buffer_;
};

}  // namespace

Outcome run_message(Engine& engine, const HostMessage& m) {
    const bool bits = m.mode == Mode::cfb1;
    const std::uint64_t bytes = bits ? m.length / 8 + (m.length % 8 != 0) : m.length;
    Plan plan = engine.plan(m.mode, m.direction, bytes, m.memory);
    if (m.device >= 0) plan.devices = {&m.device, 1};

    const bool parallel = is_parallel(m.mode, m.direction);
    const Buffer in = locate(plan, m.input, bytes, parallel);
    const Buffer out = locate(plan, m.output, bytes, parallel);
    const Outcome outcome{plan.backend->name(), plan.devices.front()};
    // Cutting a message pays if the pieces run side by side.
    const bool on_cpu = plan.backend != &cuda_backend();
    if (in.direct && out.direct && (bytes <= plan.chunk_bytes || (on_cpu && !parallel))) {
        engine.lease(plan, 0, 0)->run({m.mode, m.direction, m.key, m.input, m.output, m.length, m.iv});
        return outcome;
    }
    const Cipher cipher{.mode = m.mode,
                        .direction = m.direction,
                        .key = m.key,
                        .iv = m.iv,
                        .pkcs7 = false,
                        .unused_bits = bits ? static_cast<unsigned>(bytes * 8 - m.length) : 0,
                        .in_place = m.input == m.output};
    MemorySource source(in);
    MemorySink sink(out);
    run_cipher(engine, plan, cipher, source, sink);
    return outcome;
}

}  // namespace warpaes
