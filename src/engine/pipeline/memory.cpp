#include "engine/pipeline/memory.hpp"

#include <algorithm>
#include <new>
#include <span>

#include "backend/group.hpp"
#include "base/secret.hpp"

namespace warpaes {

namespace {

/// The driver copies pageable memory up to this size through its own staging buffer, which is faster than a worker that
/// copies to a staging buffer.
constexpr std::uint64_t copied_by_the_driver = 64 * 1024;

}  // namespace

void clear_memory(Engine& engine, void* memory, std::size_t bytes, int device) {
    if (device >= 0 || bytes < least_shared_bytes) return clear_memory(memory, bytes, device);
    constexpr std::size_t least_part = std::size_t{1} << 18;
    const std::size_t parts = std::min<std::size_t>(std::max(engine.options().threads, 1U), bytes / least_part);
    auto* const first = static_cast<std::uint8_t*>(memory);
    const auto wipe_part = [far = bytes >= cached_bytes()](std::span<std::uint8_t> part) {
        far ? wipe_far(part) : wipe(part);
    };
    try {
        engine.pool().for_each(parts, [&](std::size_t i) {
            const std::size_t begin = bytes / parts * i, end = i + 1 == parts ? bytes : bytes / parts * (i + 1);
            wipe_part({first + begin, end - begin});
        });
    } catch (const std::bad_alloc&) {  // thrown before any part was started
        wipe_part({first, bytes});
    }
}

void clear_after_failure(Engine& engine, void* memory, std::size_t bytes, int device) noexcept {
    try {
        clear_memory(engine, memory, bytes, device);
    } catch (const std::exception&) {
        // The device failed, and its memory is lost.
    }
}

MemoryBuffer locate(const Plan& plan, const std::uint8_t* data, std::uint64_t bytes, bool parallel) {
    MemoryBuffer buffer{const_cast<std::uint8_t*>(data), bytes, true, -1};
    if (!plan.backend->is_gpu()) return buffer;
    const MemoryPlace place = place_of(data);
    buffer.device = place.device;
    if (is_on_device(place.kind)) {
        buffer.direct = parallel;  // in a serial mode, the host reads the chaining value from the data
    } else {
        buffer.direct = is_direct(place.kind) || bytes <= copied_by_the_driver;
    }
    return buffer;
}

Ends plan_ends(Engine& engine, Work work, std::span<const std::uint8_t> input, std::span<std::uint8_t> output,
               const int& device) {
    const bool in_place = input.data() == output.data();
    const bool apart = in_place && engine.forced() == nullptr && work.memory == Memory::page_locked;
    work.bytes = input.size();
    if (apart) work.memory = Memory::pageable;
    Ends ends{.plan = engine.plan(work), .in = {}, .out = {}, .parallel = is_parallel(work.mode, work.direction)};
    if (device >= 0) ends.plan.devices = {&device, 1};
    ends.in = locate(ends.plan, input.data(), input.size(), ends.parallel);
    ends.out = locate(ends.plan, output.data(), output.size(), ends.parallel);
    if (in_place && ends.plan.replaceable) ends.out.direct = false;
    return ends;
}

std::size_t MemorySource::read(std::uint64_t offset, std::span<std::uint8_t> to) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(to.size(), buffer_.bytes - offset));
    copy_memory(to.data(), buffer_.data + offset, n, buffer_.device);
    return n;
}

void MemorySink::write(std::uint64_t offset, std::span<const std::uint8_t> bytes) {
    copy_memory(buffer_.data + offset, bytes.data(), bytes.size(), buffer_.device);
}

}  // namespace warpaes
