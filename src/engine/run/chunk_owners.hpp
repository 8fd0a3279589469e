// Records which thread processed which chunk of a message, so that later work on a chunk runs on the core whose cache
// contains the chunk.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <vector>

#include "base/pool.hpp"
#include "base/secret.hpp"
#include "engine/engine.hpp"

namespace warpaes {

class ChunkOwners {
public:
    /// `threads` is the number of threads that may process the chunks again.
    ChunkOwners(std::uint64_t chunks, unsigned threads)
        : most_(std::max(threads, 1U)),
          threads_(static_cast<std::size_t>(chunks)),
          begun_(static_cast<std::size_t>(chunks)) {}

    /// Records that the calling thread processes this chunk.
    void note(std::uint64_t chunk) noexcept { threads_[static_cast<std::size_t>(chunk)] = pthread_self(); }

    /// Wipes a message that was cut into these chunks: each thread first wipes its own chunks, then chunks that no
    /// other thread has started. May be called once.
    void wipe(Engine& engine, std::span<std::uint8_t> output, std::size_t chunk_bytes, bool beyond_caches) noexcept {
        const auto wipe_chunk = [&](std::size_t i) {
            const std::size_t first = i * chunk_bytes;
            const auto chunk = output.subspan(first, std::min(chunk_bytes, output.size() - first));
            beyond_caches ? wipe_far(chunk) : warpaes::wipe(chunk);
        };
        const std::size_t threads = std::min(most_, threads_.size());
        if (threads <= 1) return take_all(wipe_chunk);
        try {
            engine.pool().for_each(threads, [&](std::size_t) { take_all(wipe_chunk); });
        } catch (const std::exception&) {  // wiped without other threads
            take_all(wipe_chunk);
        }
    }

private:
    template <typename Work>
    void take_all(const Work& work) {
        const auto take = [&](std::size_t i) {
            if (!begun_[i].exchange(true, std::memory_order_relaxed)) work(i);
        };
        for (std::size_t i = 0; i < threads_.size(); ++i) {
            if (pthread_equal(threads_[i], pthread_self()) != 0) take(i);
        }
        // Other threads start within a microsecond if they are awake, and accessing data in another core's cache is
        // slow.
        (void)poll(std::chrono::microseconds(10), [&] {
            return std::all_of(begun_.begin(), begun_.end(),
                               [](const auto& begun) { return begun.load(std::memory_order_relaxed); });
        });
        for (std::size_t i = 0; i < threads_.size(); ++i) take(i);
    }

    const std::size_t most_;
    std::vector<pthread_t> threads_;
    std::vector<std::atomic<bool>> begun_;
};

}  // namespace warpaes
