// Which thread worked on which chunk of a message, so that what follows runs where the chunk lies in a cache.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/engine.hpp"

namespace warpaes {

class ChunkOwners {
public:
    /// `threads`: how many may work on them again.
    ChunkOwners(std::uint64_t chunks, unsigned threads)
        : most_(std::max(threads, 1U)),
          threads_(static_cast<std::size_t>(chunks)),
          begun_(static_cast<std::size_t>(chunks)) {}

    /// The calling thread has this chunk in hand.
    void note(std::uint64_t chunk) noexcept { threads_[static_cast<std::size_t>(chunk)] = pthread_self(); }

    /// Calls `work(i)` once for each chunk from `first` on, by several threads: each takes its own chunks, then what no
    /// other thread has begun. Throws what `work` throws. May be called once.
    template <typename Work>
    void again(Engine& engine, std::size_t first, const Work& work) {
        const std::size_t threads = std::min(most_, threads_.size() - first);
        if (threads <= 1) return take_all(first, work);
        engine.pool().for_each(threads, [&](std::size_t) { take_all(first, work); });
    }

    /// Wipes a message that has been cut into these chunks. For again(), instead of that or after it has failed.
    void wipe(Engine& engine, std::span<std::uint8_t> output, std::size_t chunk_bytes, bool beyond_caches) noexcept;

private:
    template <typename Work>
    void take_all(std::size_t first, const Work& work) {
        const auto take = [&](std::size_t i) {
            if (!begun_[i].exchange(true, std::memory_order_relaxed)) work(i);
        };
        for (std::size_t i = first; i < threads_.size(); ++i) {
            if (pthread_equal(threads_[i], pthread_self()) != 0) take(i);
        }
        for (std::size_t i = first; i < threads_.size(); ++i) take(i);
    }

    const std::size_t most_;
    std::vector<pthread_t> threads_;
    std::vector<std::atomic<bool>> begun_;
};

}  // namespace warpaes
