#include <cstdlib>
#include <cstring>
#include <memory>

#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "cuda/cuda_backend.hpp"
#include "pipeline/memory.hpp"

namespace {

using namespace warpaes;
using namespace warpaes::capi;

EngineOptions to_options(const warpaes_engine_options* given) {
    if (given == nullptr) return {};
    const auto o = read_struct(given, "options");
    if (o.device < -1) throw Error(WARPAES_ERROR_ARGUMENT, "device: must be -1 (every device) or a device number");
    return {.backend = o.backend != nullptr ? o.backend : "",
            .device = o.device,
            .threads = o.threads,
            .depth = o.depth,
            .chunk_bytes = o.chunk_bytes};
}

const BackendInfo* info_at(std::size_t index) {
    for (const Backend* backend : all_backends()) {
        const auto& entries = backend->info();
        if (index < entries.size()) return &entries[index];
        index -= entries.size();
    }
    return nullptr;
}

/// Memory for callers on a machine without a GPU; the size stands in front so that it can be wiped.
constexpr std::size_t host_alignment = 4096;

void* plain_alloc(std::size_t bytes) {
    const std::size_t whole = (bytes + 2 * host_alignment - 1) / host_alignment * host_alignment;
    auto* base = whole < bytes ? nullptr : static_cast<std::uint8_t*>(std::aligned_alloc(host_alignment, whole));
    if (base == nullptr) throw std::bad_alloc();
    std::memcpy(base, &whole, sizeof whole);
    return base + host_alignment;
}

void plain_free(void* pointer) noexcept {
    auto* base = static_cast<std::uint8_t*>(pointer) - host_alignment;
    std::size_t whole = 0;
    std::memcpy(&whole, base, sizeof whole);
    wipe({base, whole});
    std::free(base);
}

}  // namespace

extern "C" {

warpaes_status warpaes_engine_create(const warpaes_engine_options* options, warpaes_engine** engine) {
    return guarded([&] {
        require(engine, "engine");
        *engine = nullptr;
        *engine = new warpaes_engine(to_options(options));
    });
}

void warpaes_engine_destroy(warpaes_engine* engine) {
    delete engine;
}

warpaes_status warpaes_engine_flush_keys(warpaes_engine* engine) {
    return guarded([&] {
        require(engine, "engine");
        engine->batches->flush_keys();
    });
}

size_t warpaes_backend_count(void) {
    std::size_t count = 0;
    (void)guarded([&] {
        for (const Backend* backend : all_backends()) count += backend->info().size();
    });
    return count;
}

warpaes_status warpaes_backend_query(size_t index, warpaes_backend_info* info) {
    return guarded([&] {
        auto out = read_struct(info, "info");
        const BackendInfo* entry = info_at(index);
        if (entry == nullptr) {
            throw Error(WARPAES_ERROR_ARGUMENT, "index: there are " + std::to_string(warpaes_backend_count()) +
                                                    " entries, got " + std::to_string(index));
        }
        const auto size = out.struct_size;
        out = {.struct_size = size,
               .usable = entry->usable() ? 1 : 0,
               .name = entry->name.c_str(),
               .description = entry->description.c_str(),
               .reason = entry->reason.c_str(),
               .device = entry->device,
               .multiprocessors = entry->multiprocessors,
               .memory_bytes = entry->memory_bytes};
        write_struct(out, info, size);
    });
}

warpaes_status warpaes_host_alloc(warpaes_engine* engine, size_t bytes, void** pointer) {
    return guarded([&] {
        require(engine, "engine");
        require(pointer, "pointer");
        *pointer = nullptr;
        *pointer = cuda_backend().usable() ? cuda_backend().host_alloc(bytes) : plain_alloc(bytes);
    });
}

void warpaes_host_free(warpaes_engine* engine, void* pointer) {
    if (engine == nullptr || pointer == nullptr) return;
    (void)guarded([&] {
        if (cuda_backend().usable()) {
            cuda_backend().host_free(pointer);
        } else {
            plain_free(pointer);
        }
    });
}

warpaes_status warpaes_device_alloc(warpaes_engine* engine, int32_t device, size_t bytes, void** pointer) {
    return guarded([&] {
        require(engine, "engine");
        require(pointer, "pointer");
        *pointer = nullptr;
        *pointer = cuda_backend().device_alloc(device, bytes);
    });
}

void warpaes_device_free(warpaes_engine* engine, void* pointer) {
    if (engine == nullptr || pointer == nullptr) return;
    (void)guarded([&] { cuda_backend().device_free(pointer); });
}

warpaes_status warpaes_copy(warpaes_engine* engine, void* to, const void* from, size_t bytes) {
    return guarded([&] {
        require(engine, "engine");
        if (bytes == 0) return;
        require(to, "to");
        require(from, "from");
        copy_anywhere(to, from, bytes);
    });
}

}  // extern "C"
