#include "lab/cpu/pipelines.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

namespace lab {

namespace {

struct Chunk {
    std::vector<std::uint8_t> memory;
    std::uint64_t offset = 0;
    std::size_t bytes = 0;
};

/// Passes chunks in order from one thread to another.
class Queue {
public:
    void push(Chunk chunk) {
        const std::lock_guard lock(mutex_);
        chunks_.push_back(std::move(chunk));
        changed_.notify_one();
    }
    /// Waits for a chunk. Returns none if the queue is closed and empty, or after stop().
    std::optional<Chunk> pop() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !chunks_.empty() || closed_; });
        if (chunks_.empty()) return std::nullopt;
        std::optional<Chunk> chunk(std::move(chunks_.front()));
        chunks_.pop_front();
        return chunk;
    }
    void close() {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        changed_.notify_all();
    }
    void stop() {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        chunks_.clear();
        changed_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Chunk> chunks_;
    bool closed_ = false;
};

std::size_t length_at(std::uint64_t offset, std::uint64_t size, std::size_t chunk_bytes) {
    return static_cast<std::size_t>(std::min<std::uint64_t>(chunk_bytes, size - offset));
}

}  // namespace

void run_by_one_thread(const File& input, const File& output, std::size_t chunk_bytes, const ChunkWork& work) {
    if (chunk_bytes == 0) throw std::invalid_argument("chunk_bytes: must not be 0");
    std::vector<std::uint8_t> memory(chunk_bytes);
    const std::uint64_t size = input.size();
    for (std::uint64_t offset = 0; offset < size; offset += chunk_bytes) {
        const auto chunk = std::span(memory).first(length_at(offset, size, chunk_bytes));
        input.read(offset, chunk);
        work(chunk);
        output.write(offset, chunk);
    }
}

void run_by_three_threads(const File& input, const File& output, std::size_t chunk_bytes, std::size_t buffers,
                          const ChunkWork& work) {
    if (chunk_bytes == 0) throw std::invalid_argument("chunk_bytes: must not be 0");
    if (buffers == 0) throw std::invalid_argument("buffers: must not be 0");
    Queue empty, full, done;
    for (std::size_t i = 0; i < buffers; ++i) empty.push({std::vector<std::uint8_t>(chunk_bytes), 0, 0});
    std::exception_ptr failure;
    std::mutex failure_mutex;
    const auto guarded = [&](const std::function<void()>& step) {
        try {
            step();
        } catch (...) {
            const std::lock_guard lock(failure_mutex);
            if (!failure) failure = std::current_exception();
            for (Queue* queue : {&empty, &full, &done}) queue->stop();
        }
    };

    std::thread reader([&] {
        guarded([&] {
            const std::uint64_t size = input.size();
            for (std::uint64_t offset = 0; offset < size; offset += chunk_bytes) {
                auto chunk = empty.pop();
                if (!chunk) return;
                chunk->offset = offset;
                chunk->bytes = length_at(offset, size, chunk_bytes);
                input.read(offset, std::span(chunk->memory).first(chunk->bytes));
                full.push(std::move(*chunk));
            }
            full.close();
        });
    });
    std::thread writer([&] {
        guarded([&] {
            while (auto chunk = done.pop()) {
                output.write(chunk->offset, std::span(chunk->memory).first(chunk->bytes));
                empty.push(std::move(*chunk));
            }
        });
    });
    guarded([&] {
        while (auto chunk = full.pop()) {
            work(std::span(chunk->memory).first(chunk->bytes));
            done.push(std::move(*chunk));
        }
        done.close();
    });
    reader.join();
    writer.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace lab
