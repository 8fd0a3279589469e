// Handles for the C ABI, for programs that measure it. Failures are reported as exceptions.
#pragma once

#include <warpaes/warpaes.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>

#ifdef WARPAES_WITH_CUDA
#include <cuda_runtime.h>
#endif

namespace bench {

inline void expect(bool right, const std::string& what) {
    if (!right) throw std::runtime_error(what);
}
inline void check(warpaes_status status) {
    if (status != WARPAES_OK) throw std::runtime_error(warpaes_last_error());
}
#ifdef WARPAES_WITH_CUDA
inline void check(cudaError_t status) {
    if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}
#endif

class Engine {
public:
    /// If `threads` is 0, the library chooses the number.
    explicit Engine(const char* backend, unsigned threads = 0) {
        warpaes_engine_options options = WARPAES_ENGINE_OPTIONS_INIT;
        options.backend = backend;
        options.threads = threads;
        check(warpaes_engine_create(&options, &engine_));
        threads_ = threads != 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
    }
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    ~Engine() { warpaes_engine_destroy(engine_); }
    [[nodiscard]] warpaes_engine* get() const { return engine_; }
    [[nodiscard]] unsigned threads() const { return threads_; }

private:
    warpaes_engine* engine_ = nullptr;
    unsigned threads_ = 1;
};

/// Memory of at least 16 bytes, on device 0 or in the host's memory.
class Memory {
public:
    Memory(const Engine& engine, warpaes_memory kind, std::uint64_t bytes) : engine_(engine.get()) {
        const int device = kind == WARPAES_MEMORY_DEVICE ? 0 : -1;
        check(warpaes_alloc(engine_, kind, device, std::max<std::uint64_t>(bytes, 16), &data_));
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    ~Memory() { warpaes_free(engine_, data_); }
    [[nodiscard]] std::uint8_t* get() const { return static_cast<std::uint8_t*>(data_); }

private:
    warpaes_engine* engine_;
    void* data_ = nullptr;
};

}  // namespace bench
