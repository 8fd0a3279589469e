#include "engine/engine.hpp"

#include <algorithm>
#include <memory>

#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "engine/pipeline/memory.hpp"

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

}  // namespace

extern "C" {

warpaes_status warpaes_engine_create(const warpaes_engine_options* options, warpaes_engine** engine) {
    const warpaes_status status = guarded([&] {
        require(engine, "engine");
        *engine = nullptr;
        *engine = new warpaes_engine(to_options(options));
    });
    if (options != nullptr && options->struct_size >= struct_facts<warpaes_engine_options>.least &&
        options->error != nullptr) {
        write_error(status, options->error);
    }
    return status;
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

warpaes_status warpaes_alloc(warpaes_engine* engine, warpaes_memory memory, int32_t device, uint64_t bytes,
                             void** pointer) {
    return guarded([&] {
        require(pointer, "pointer");
        *pointer = nullptr;
        require(engine, "engine");
        if (memory == WARPAES_MEMORY_SHARED) {
            throw Error(WARPAES_ERROR_ARGUMENT, "memory: what other processes may map is an arena's");
        }
        *pointer = engine->memory.add(
            std::make_unique<Arena>(engine->impl, checked_memory(memory), false, device, std::max(bytes, 1UL)));
    });
}

void warpaes_free(warpaes_engine* engine, void* pointer) {
    if (engine == nullptr || pointer == nullptr) return;
    clean_stack([&] { engine->memory.remove(pointer); });
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
