// The threads that carry out batches: one for each of the engine's CPU threads, a few for each GPU.
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

/// Threads are started when they are first needed and joined at the end. Of several batches each worker takes a task at
/// a time in turn. A GPU's worker that has nothing to do prepares what lies on its device, else a worker of the CPU
/// does. A client that waits stands in for a worker that has nothing to do yet: waking one takes up to 100 us.
/// Thread-safe. A child process of fork() has none of the threads: it makes an engine of its own.
class BatchEngine {
public:
    explicit BatchEngine(Engine& engine) : engine_(engine) {}
    BatchEngine(const BatchEngine&) = delete;
    BatchEngine& operator=(const BatchEngine&) = delete;
    ~BatchEngine() { stop(); }

    /// `batch` is there before anybody works on it. Throws Error{OUT_OF_MEMORY} if no thread can be had.
    void submit(BatchRequest request, std::shared_ptr<Batch>& batch);
    /// Waits for a batch of this engine. False if it is not finished in time.
    bool wait(const std::shared_ptr<Batch>& batch, std::uint64_t milliseconds);
    /// Wipes what is kept of keys for batches to come, in host memory and on devices. Throws Error{DEVICE}.
    void flush_keys();
    /// Finishes all that was submitted. After that nothing may be submitted, but finished batches be waited for.
    void stop() noexcept;

private:
    /// Workers that sleep until there is news.
    struct Team {
        std::condition_variable wake;
        std::deque<std::shared_ptr<Batch>> fresh;      ///< not prepared yet
        unsigned idle = 0;                             ///< of the workers
        bool polls = false;                            ///< one of the idle is still awake and looks for news
        std::vector<std::optional<unsigned>> numbers;  ///< free ones: nobody works without one
    };
    /// A number that somebody holds while at work. Taken and given back with the lock held.
    class Duty {
    public:
        explicit Duty(Team& team);
        ~Duty();
        Duty(const Duty&) = delete;
        Duty& operator=(const Duty&) = delete;
        explicit operator bool() const noexcept { return held_; }
        /// For a GPU of the plan and for the CPU.
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
    /// Throws Error{OUT_OF_MEMORY} if a GPU would have none.
    void start_gpu_workers(const Batch& batch);
    /// What a worker does all its life. `step(batch, number, scratch)` is one of Batch's.
    template <typename Step>
    void serve(Team& team, const Step& step) noexcept;
    /// Steps of whatever batches there are. False if there is nothing to do. With the lock held, as it is on return.
    template <typename Step>
    bool work(std::unique_lock<std::mutex>& lock, Team& team, BatchScratch& scratch, std::size_t& turn,
              const Step& step);
    template <typename Step>
    bool work_on(std::unique_lock<std::mutex>& lock, const std::shared_ptr<Batch>& batch, const Step& step);
    /// What a client can do for its batch now.
    void lend_a_hand(const std::shared_ptr<Batch>& batch);
    /// In the place of one of the team.
    template <typename Step>
    void lend_a_hand(std::unique_lock<std::mutex>& lock, Team& team, const std::shared_ptr<Batch>& batch,
                     const Step& step);
    void wait_for_news(std::unique_lock<std::mutex>& lock, Team& team, BatchScratch& scratch, std::uint64_t seen);
    /// Without the lock for a while, if it is time: wipes keys that nobody has used for long.
    void look_after_keys(std::unique_lock<std::mutex>& lock) noexcept;
    [[nodiscard]] bool keeps_keys() const;
    void prepare(std::unique_lock<std::mutex>& lock, Team& team, const std::shared_ptr<Batch>& batch);
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
    std::chrono::steady_clock::time_point next_look_{};  ///< at the keys
    bool watched_ = false;                               ///< somebody sleeps until then
    bool stopping_ = false;
    unsigned helpers_ = 0;  ///< clients
    std::condition_variable helpers_left_;
    std::vector<std::thread> threads_;
    unsigned cpu_workers_ = 0;
};

}  // namespace warpaes
