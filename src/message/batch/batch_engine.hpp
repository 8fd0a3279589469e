// The threads that execute batches: one per CPU thread of the engine, and a few per GPU.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "message/batch/batch.hpp"

namespace warpaes {

/// Threads are started when they are first needed and joined at the end. Workers claim tasks from all active batches in
/// turn. If a batch begins in device memory and a worker of that GPU is idle, that worker prepares the batch; otherwise
/// a worker of the CPU prepares it. A client that waits replaces an idle worker, because waking a worker takes up to
/// 100 us. Thread-safe. After fork(), a child process has none of the threads, and may only wipe keys.
class BatchEngine {
public:
    explicit BatchEngine(Engine& engine) : engine_(engine), gpu_(engine.gpu()) {}
    BatchEngine(const BatchEngine&) = delete;
    BatchEngine& operator=(const BatchEngine&) = delete;
    ~BatchEngine() { stop(); }

    /// Sets `batch` before any worker touches it. Throws Error{OUT_OF_MEMORY} if no thread can be started.
    void submit(BatchRequest request, std::shared_ptr<Batch>& batch);
    /// Waits for a batch of this engine. Returns false if it did not finish in time.
    bool wait(const std::shared_ptr<Batch>& batch, std::uint64_t milliseconds);
    /// Wipes the keys kept for later batches, in host memory and on devices. Throws Error{DEVICE}.
    void flush_keys();
    /// Wipes the keys kept in host memory.
    void flush_keys_of_host() noexcept;
    /// Finishes all submitted batches. Afterwards, nothing may be submitted, but callers may still wait for finished
    /// batches.
    void stop() noexcept;

private:
    /// Workers of the CPU or of one GPU. They sleep until an event wakes them.
    struct Team {
        std::condition_variable wake;
        std::deque<std::shared_ptr<Batch>> fresh;      ///< not prepared yet
        unsigned idle = 0;                             ///< sleeping or polling workers
        bool polls = false;                            ///< whether one idle worker is awake and polls for news
        std::vector<std::optional<unsigned>> numbers;  ///< free worker numbers; a thread needs a number to work
        BatchScratch scratch;                          ///< for a client that helps; without a lane between two clients
        bool scratch_is_used = false;  ///< other clients that help at the same time use scratch memory of their own
    };
    /// Owns a worker number while a thread works. Created and destroyed with the lock held.
    class Duty {
    public:
        explicit Duty(Team& team);
        ~Duty();
        Duty(const Duty&) = delete;
        Duty& operator=(const Duty&) = delete;
        explicit operator bool() const noexcept { return held_; }
        /// Set for the CPU and for a GPU of the plan.
        [[nodiscard]] std::optional<unsigned> number() const noexcept { return number_; }

    private:
        Team& team_;
        bool held_;
        std::optional<unsigned> number_;
    };
    struct Gpu : Team {
        unsigned workers = 0;
    };

    void start_cpu_workers();
    /// Throws Error{OUT_OF_MEMORY} if not even one worker thread can be started for a GPU.
    void start_gpu_workers(const Batch& batch);
    /// A worker's main loop. `step(batch, number, scratch)` is Batch::work_on_cpu or work_on_gpu.
    template <typename Step>
    void serve(Team& team, const Step& step) noexcept;
    /// Prepares a batch or executes steps of an active batch. Returns false if there is nothing to do. The lock is held
    /// on entry and on return.
    template <typename Step>
    bool work(std::unique_lock<std::mutex>& lock, Team& team, BatchScratch& scratch, std::size_t& turn,
              const Step& step);
    template <typename Step>
    bool work_on(std::unique_lock<std::mutex>& lock, const std::shared_ptr<Batch>& batch, const Step& step);
    /// Lets a client process the tasks of its batch that are available at the moment.
    void lend_a_hand(const std::shared_ptr<Batch>& batch);
    /// Like the overload above, in place of one of the team's workers.
    template <typename Step>
    void lend_a_hand(std::unique_lock<std::mutex>& lock, Team& team, const std::shared_ptr<Batch>& batch,
                     const Step& step);
    /// Polls for a short time, then sleeps until `news_` differs from `seen`.
    void wait_for_news(std::unique_lock<std::mutex>& lock, Team& team, BatchScratch& scratch, std::uint64_t seen);
    /// Wipes keys that have not been used for a long time, if the next check is due. Releases the lock while it wipes.
    void look_after_keys(std::unique_lock<std::mutex>& lock) noexcept;
    [[nodiscard]] bool keeps_keys() const;
    /// Prepares a batch without holding the lock, then announces its tasks, or ends the batch if there are none.
    void prepare(std::unique_lock<std::mutex>& lock, Team& team, const std::shared_ptr<Batch>& batch);
    /// Returns the team that prepares the request.
    [[nodiscard]] Team& team_for(const BatchRequest& request);
    /// Wakes the workers that have work to do, except the caller, a member of `team`, which is already awake.
    void announce(const Batch& batch, const Team& team);
    static void wake(Team& team, std::uint64_t workers) noexcept;
    /// Removes a finished batch.
    void end(const std::shared_ptr<Batch>& batch);
    void wake_all() noexcept;
    [[nodiscard]] bool may_leave() const noexcept { return stopping_ && open_ == 0; }

    Engine& engine_;    ///< may be destroyed once stop() has returned
    CudaBackend& gpu_;  ///< remains valid, because the last batch destroys this object after the engine
    KeyTable keys_;
    std::mutex mutex_;
    Team cpu_;
    std::map<int, Gpu> gpus_;
    std::vector<std::shared_ptr<Batch>> active_;         ///< batches with waiting or running tasks
    std::atomic<std::size_t> open_{0};                   ///< number of batches that are submitted but not finished
    std::atomic<std::uint64_t> news_{0};                 ///< number of events, so that a worker can detect events that
                                                         ///< it missed
    std::chrono::steady_clock::time_point next_look_{};  ///< time of the next check of the keys
    bool watched_ = false;                               ///< whether a worker sleeps until next_look_
    bool stopping_ = false;
    unsigned helpers_ = 0;  ///< number of clients that help
    std::condition_variable helpers_left_;
    std::vector<std::thread> threads_;
    unsigned cpu_workers_ = 0;
};

}  // namespace warpaes
