// The threads that carry out batches: one for each of the engine's CPU threads, a few for each GPU.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "batch/batch.hpp"

namespace warpaes {

/// Threads are started when they are first needed and joined at the end. Of several batches each worker takes a task at
/// a time in turn. A GPU's worker that has nothing to do prepares what lies on its device, else a worker of the CPU
/// does. Thread-safe. A child process of fork() has none of the threads: it makes an engine of its own.
class BatchEngine {
public:
    explicit BatchEngine(Engine& engine) : engine_(engine) {}
    BatchEngine(const BatchEngine&) = delete;
    BatchEngine& operator=(const BatchEngine&) = delete;
    /// Finishes all that was submitted.
    ~BatchEngine();

    /// `batch` is there before anybody works on it. Throws Error{OUT_OF_MEMORY} if no thread can be had.
    void submit(BatchRequest request, std::shared_ptr<Batch>& batch);

private:
    /// Workers that sleep until there is news.
    struct Team {
        std::condition_variable wake;
        std::deque<std::shared_ptr<Batch>> fresh;  ///< not prepared yet
        unsigned idle = 0;                         ///< of the workers
        bool polls = false;                        ///< one of the idle is still awake and looks for news
    };
    struct Gpu : Team {
        unsigned workers = 0;
    };

    void start_cpu_workers();
    /// Throws Error{OUT_OF_MEMORY} if a GPU would have none.
    void start_gpu_workers(const Batch& batch);
    void work_on_cpu(unsigned worker) noexcept;
    void work_on_gpu(int device, std::optional<unsigned> worker, Gpu& gpu) noexcept;
    /// Steps of whatever batches there are, until there is nothing to do. With the lock held, as it is on return.
    template <typename Step>
    bool work(std::unique_lock<std::mutex>& lock, std::size_t& turn, const Step& step);
    template <typename Step>
    void work_or_wait(std::unique_lock<std::mutex>& lock, Team& team, BatchScratch& scratch, std::size_t& turn,
                      const Step& step);
    void wait_for_news(std::unique_lock<std::mutex>& lock, Team& team, BatchScratch& scratch, std::uint64_t seen);
    void prepare(std::unique_lock<std::mutex>& lock, Team& team);
    /// Who is to prepare it.
    [[nodiscard]] Team& team_for(const BatchRequest& request);
    /// Wakes those that have something to do now; the caller, of `team`, goes on by itself.
    void announce(const Batch& batch, const Team& team);
    static void wake(Team& team, std::uint64_t workers) noexcept;
    void end(const std::shared_ptr<Batch>& batch);
    void wake_all() noexcept;
    [[nodiscard]] bool may_leave() const noexcept { return stopping_ && open_ == 0; }

    Engine& engine_;
    KeyTable keys_;
    std::mutex mutex_;
    Team cpu_;
    std::map<int, Gpu> gpus_;
    std::vector<std::shared_ptr<Batch>> active_;  ///< with work to be done or being done
    std::atomic<std::size_t> open_{0};            ///< submitted and not finished
    std::atomic<std::uint64_t> news_{0};          ///< counts what workers may have missed while they were at work
    bool stopping_ = false;
    std::vector<std::thread> threads_;
    unsigned cpu_workers_ = 0;
};

}  // namespace warpaes
