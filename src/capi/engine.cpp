#include "engine/engine.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "engine/memory.hpp"
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

}  // namespace

const BackendInfo& capi::backend_at(std::size_t index) {
    std::size_t rest = index;
    for (const Backend* backend : all_backends()) {
        const auto& entries = backend->info();
        if (rest < entries.size()) return entries[rest];
        rest -= entries.size();
    }
    throw Error(WARPAES_ERROR_ARGUMENT,
                "index: there are " + std::to_string(index - rest) + " entries, got " + std::to_string(index));
}

/// Returns the description of a backend. If the library has detected that the driver refuses to lock pages, the
/// description of a GPU mentions this refusal.
const char* description_of(const BackendInfo& entry) {
    if (entry.device < 0 || !entry.usable() || locks_ordinary_memory()) return entry.description.c_str();
    static std::mutex mutex;
    static std::map<const BackendInfo*, std::string> longer;
    const std::lock_guard lock(mutex);
    const auto at =
        longer.emplace(&entry, entry.description + ", page-locks only memory that the driver allocates").first;
    return at->second.c_str();
}

extern "C" {

warpaes_status warpaes_engine_create(const warpaes_engine_options* options, warpaes_engine** engine) {
    const warpaes_status status = created(engine, "engine", [&] { return new warpaes_engine(to_options(options)); });
    if (options != nullptr && options->struct_size >= struct_facts<warpaes_engine_options>.least &&
        options->error != nullptr) {
        write_error(status, options->error);
    }
    return status;
}

void warpaes_engine_destroy(warpaes_engine* engine) {
    delete engine;
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
        const BackendInfo& entry = backend_at(index);
        const auto size = out.struct_size;
        out = {.struct_size = size,
               .usable = entry.usable() ? 1 : 0,
               .name = entry.name.c_str(),
               .description = description_of(entry),
               .reason = entry.reason.c_str(),
               .device = entry.device,
               .multiprocessors = entry.multiprocessors,
               .memory_bytes = entry.memory_bytes};
        write_struct(out, info, size);
    });
}

const char* warpaes_backend_name(size_t index) {
    const auto& backends = all_backends();
    return index < backends.size() ? backends[index]->name().data() : nullptr;
}

int32_t warpaes_backend_is_gpu(const char* name) {
    if (name == nullptr) return 0;
    const auto& backends = all_backends();
    return std::any_of(backends.begin(), backends.end(),
                       [&](const Backend* backend) { return backend->is_gpu() && backend->name() == name; })
               ? 1
               : 0;
}

const char* warpaes_memory_name(warpaes_memory memory) {
    const auto value = static_cast<std::size_t>(memory);
    return value < memory_kinds.size() ? memory_kinds[value].name : nullptr;
}

warpaes_status warpaes_alloc(warpaes_engine* engine, warpaes_memory memory, int32_t device, uint64_t bytes,
                             void** pointer) {
    return created(pointer, "pointer", [&] {
        require(engine, "engine");
        if (memory == WARPAES_MEMORY_SHARED) {
            throw Error(WARPAES_ERROR_ARGUMENT, "memory: only an arena's memory can be mapped by other processes");
        }
        return engine->memory.add(
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
