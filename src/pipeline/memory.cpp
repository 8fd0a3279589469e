#include "pipeline/memory.hpp"

#include <algorithm>
#include <cstring>

#include "cuda/cuda_backend.hpp"

namespace warpaes {

namespace {

/// Pageable memory up to this size is left to the driver's own staging, which costs less than a worker's copy.
constexpr std::uint64_t copied_by_the_driver = 64 * 1024;

}  // namespace

void MemoryBuffer::copy(void* to, const void* from, std::size_t n) const {
    if (device >= 0) {
        cuda_backend().copy(to, from, n, device, nullptr);
    } else {
        std::memcpy(to, from, n);
    }
}

MemoryBuffer locate(const Plan& plan, const std::uint8_t* data, std::uint64_t bytes, bool parallel) {
    MemoryBuffer buffer{const_cast<std::uint8_t*>(data), bytes, true, -1};
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

Ends plan_ends(Engine& engine, Mode mode, Direction direction, std::span<const std::uint8_t> input,
               std::span<std::uint8_t> output, Memory memory, const int& device) {
    const bool in_place = input.data() == output.data();
    const bool apart = in_place && engine.forced() == nullptr && memory == Memory::page_locked;
    Ends ends{
        .plan = engine.plan(mode, direction, input.size(), apart ? Memory::pageable : memory), .in = {}, .out = {}};
    if (device >= 0) ends.plan.devices = {&device, 1};
    const bool parallel = is_parallel(mode, direction);
    ends.in = locate(ends.plan, input.data(), input.size(), parallel);
    ends.out = locate(ends.plan, output.data(), output.size(), parallel);
    if (in_place && ends.plan.replaceable) ends.out.direct = false;
    return ends;
}

std::size_t MemorySource::read(std::uint64_t offset, std::span<std::uint8_t> to) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(to.size(), buffer_.bytes - offset));
    if (n != 0) buffer_.copy(to.data(), buffer_.data + offset, n);
    return n;
}

void MemorySink::write(std::uint64_t offset, std::span<const std::uint8_t> bytes) {
    buffer_.copy(buffer_.data + offset, bytes.data(), bytes.size());
}

}  // namespace warpaes
