#include "batch/batch_engine.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "base/threads.hpp"

namespace warpaes {

BatchEngine::~BatchEngine() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        wake_all();
    }
    // Whoever is still at work may start others.
    for (std::size_t i = 0;; ++i) {
        std::thread thread;
        {
            const std::lock_guard lock(mutex_);
            if (i == threads_.size()) break;
            thread = std::move(threads_[i]);
        }
        thread.join();
    }
}

void BatchEngine::submit(BatchRequest request, std::shared_ptr<Batch>& batch) {
    batch = std::make_shared<Batch>(engine_, keys_, std::move(request));
    const std::lock_guard lock(mutex_);
    start_cpu_workers();
    active_.reserve(open_ + 1);
    Team& team = team_for(batch->request());
    team.fresh.push_back(batch);
    ++open_;
    ++news_;
    wake(team, 1);
}

BatchEngine::Team& BatchEngine::team_for(const BatchRequest& request) {
    if (gpus_.empty() || request.count == 0) return cpu_;
    const int device =
        request.offsets ? request.arena->device() : device_of(cuda_backend().place(request.entry(0).input.at.pointer));
    const auto gpu = gpus_.find(device);
    return gpu != gpus_.end() && gpu->second.fresh.size() < gpu->second.idle ? gpu->second : cpu_;
}

void BatchEngine::start_cpu_workers() {
    while (cpu_workers_ < engine_.options().threads) {
        try {
            threads_.emplace_back([this, worker = cpu_workers_] { work_on_cpu(worker); });
        } catch (const std::system_error&) {
            if (cpu_workers_ == 0) throw Error(WARPAES_ERROR_OUT_OF_MEMORY, "no thread can be started");
            return;  // Those that run do all the work.
        }
        ++cpu_workers_;
    }
}

void BatchEngine::start_gpu_workers(const Batch& batch) {
    const std::span<const int> planned = engine_.gpus();
    for (const int device : batch.devices()) {
        Gpu& gpu = gpus_[device];
        const auto place = std::find(planned.begin(), planned.end(), device);
        const auto index = static_cast<unsigned>(place - planned.begin());
        while (gpu.workers < batch.plan().gpu_lanes) {
            std::optional<unsigned> worker;
            if (place != planned.end()) worker = gpu_worker(engine_.options().threads, index, gpu.workers);
            try {
                threads_.emplace_back([this, device, worker, &gpu] { work_on_gpu(device, worker, gpu); });
            } catch (const std::system_error&) {
                if (gpu.workers == 0) throw Error(WARPAES_ERROR_OUT_OF_MEMORY, "no thread can be started");
                break;
            }
            ++gpu.workers;
        }
    }
}

void BatchEngine::wake_all() noexcept {
    ++news_;
    cpu_.wake.notify_all();
    for (auto& [device, gpu] : gpus_) gpu.wake.notify_all();
}

void BatchEngine::wake(Team& team, std::uint64_t workers) noexcept {
    if (team.polls && workers != 0) --workers;
    if (workers >= team.idle) return team.wake.notify_all();
    for (; workers != 0; --workers) team.wake.notify_one();
}

void BatchEngine::announce(const Batch& batch, const Team& team) {
    ++news_;
    if (batch.needs_cpu()) cpu_.wake.notify_all();
    for (auto& [device, gpu] : gpus_) {
        const std::uint64_t tasks = batch.wants_of(device);
        wake(gpu, &team == &gpu && tasks != 0 ? tasks - 1 : tasks);
    }
}

void BatchEngine::prepare(std::unique_lock<std::mutex>& lock, Team& team) {
    const std::shared_ptr<Batch> batch = std::move(team.fresh.front());
    team.fresh.pop_front();
    if (!team.fresh.empty()) wake(team, 1);
    lock.unlock();
    bool ready = !batch->prepare();
    lock.lock();
    if (ready) {
        try {
            start_gpu_workers(*batch);
        } catch (const Error& e) {
            batch->abandon(e);
            ready = false;
        }
    }
    if (ready) {
        active_.push_back(batch);
        announce(*batch, team);
        return;
    }
    lock.unlock();
    batch->finish();
    lock.lock();
    end(batch);
}

void BatchEngine::end(const std::shared_ptr<Batch>& batch) {
    std::erase(active_, batch);
    --open_;
    if (may_leave()) wake_all();
}

template <typename Step>
bool BatchEngine::work(std::unique_lock<std::mutex>& lock, std::size_t& turn, const Step& step) {
    for (std::size_t tried = 0; tried < active_.size(); ++tried) {
        const std::shared_ptr<Batch> batch = active_[turn++ % active_.size()];
        lock.unlock();
        Batch::Step did = step(*batch);
        const bool worked = did != Batch::Step::nothing;
        // Nobody else waits for this worker: it goes on without asking.
        while (did == Batch::Step::worked && open_ == 1 && !batch->returned()) did = step(*batch);
        if (did == Batch::Step::last) batch->finish();
        lock.lock();
        if (did == Batch::Step::last) end(batch);
        if (batch->take_returned_note()) wake_all();
        if (worked) return true;
    }
    return false;
}

template <typename Step>
void BatchEngine::work_or_wait(std::unique_lock<std::mutex>& lock, Team& team, BatchScratch& scratch, std::size_t& turn,
                               const Step& step) {
    const std::uint64_t seen = news_;
    if (work(lock, turn, step)) {
        scratch.worked = true;
        return;
    }
    ++team.idle;
    wait_for_news(lock, team, scratch, seen);
    --team.idle;
}

void BatchEngine::wait_for_news(std::unique_lock<std::mutex>& lock, Team& team, BatchScratch& scratch,
                                std::uint64_t seen) {
    // A client that hands over one batch after the other does so at once.
    if (&team != &cpu_ && !team.polls && std::exchange(scratch.worked, false)) {
        team.polls = true;
        lock.unlock();
        (void)poll(std::chrono::microseconds(100), [&] { return news_ != seen; });
        lock.lock();
        team.polls = false;
        if (news_ != seen) return;
    }
    lock.unlock();
    scratch.let_go();
    OPENSSL_thread_stop();  // at the end of the process a thread that sleeps would come too late
    lock.lock();
    team.wake.wait(lock, [&] { return news_ != seen || may_leave(); });
}

void BatchEngine::work_on_cpu(unsigned worker) noexcept {
    BatchScratch scratch;
    std::size_t turn = worker;
    std::unique_lock lock(mutex_);
    while (!may_leave()) {
        if (!cpu_.fresh.empty()) {
            prepare(lock, cpu_);
        } else {
            work_or_wait(lock, cpu_, scratch, turn, [&](Batch& batch) { return batch.work_on_cpu(worker, scratch); });
        }
    }
}

void BatchEngine::work_on_gpu(int device, std::optional<unsigned> worker, Gpu& gpu) noexcept {
    BatchScratch scratch;
    std::size_t turn = 0;
    std::unique_lock lock(mutex_);
    while (!may_leave()) {
        if (!gpu.fresh.empty()) {
            prepare(lock, gpu);
        } else {
            work_or_wait(lock, gpu, scratch, turn,
                         [&](Batch& batch) { return batch.work_on_gpu(device, worker, scratch); });
        }
    }
}

}  // namespace warpaes
