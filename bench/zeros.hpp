// Measures the time to clear memory without the library, which is the minimum cost of wiping an output.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#ifdef __x86_64__
#include <emmintrin.h>
#endif

/// The host memory that a call writes, and the number of threads that may clear it.
struct Output {
    std::uint8_t* data = nullptr;
    std::uint64_t bytes = 0;
    unsigned threads = 1;
};

inline void clear_around_caches(std::uint8_t* data, std::uint64_t bytes) {
#ifdef __x86_64__
    // Memory from warpaes_alloc() is aligned, so parts begin at multiples of 64 bytes.
    const __m128i zero = _mm_setzero_si128();
    std::uint64_t i = 0;
    for (; i + 16 <= bytes; i += 16) _mm_stream_si128(reinterpret_cast<__m128i*>(data + i), zero);
    std::memset(data + i, 0, bytes - i);
    _mm_sfence();
#else
    std::memset(data, 0, bytes);
#endif
}

/// Returns the time in seconds that running threads need to clear a call's output. Cached and non-temporal stores are
/// both measured, and the faster kind counts.
inline double seconds_of_zeros(const Output& output, const std::function<void()>& call) {
    double best = 1e9;
    for (unsigned sample = 0; sample < 10; ++sample) {
        call();
        const auto clear = sample % 2 == 0 ? [](std::uint8_t* data, std::uint64_t n) { std::memset(data, 0, n); }
                                           : clear_around_caches;
        const std::uint64_t part = (output.bytes / output.threads + 63) / 64 * 64;
        std::atomic<unsigned> ready{0}, done{0};
        std::atomic<bool> go{false};
        const auto clear_part = [&](unsigned i) {
            const std::uint64_t begin = std::min(i * part, output.bytes);
            clear(output.data + begin, std::min(part, output.bytes - begin));
        };
        std::vector<std::thread> others;
        for (unsigned i = 1; i < output.threads; ++i) {
            others.emplace_back([&, i] {
                ++ready;
                while (!go.load()) std::this_thread::yield();
                clear_part(i);
                ++done;
            });
        }
        while (ready.load() != output.threads - 1) std::this_thread::yield();
        const auto begin = std::chrono::steady_clock::now();
        go = true;
        clear_part(0);
        while (done.load() != output.threads - 1) std::this_thread::yield();
        best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        for (std::thread& other : others) other.join();
    }
    return best;
}
