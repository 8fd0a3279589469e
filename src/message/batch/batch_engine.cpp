#include "message/batch/batch_engine.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "base/clean_stack.hpp"
#include "base/pool.hpp"

namespace warpaes {

namespace {

Batch::Step on_cpu(Batch& batch, std::optional<unsigned> number, BatchScratch& scratch) {
    return batch.work_on_cpu(*number, scratch);
}

auto on_gpu(int device) {
    return [device](Batch& batch, std::optional<unsigned> number, BatchScratch& scratch) {
        return batch.work_on_gpu(device, number, scratch);
    };
}

}  // namespace

BatchEngine::Duty::Duty(Team& team) : team_(team), held_(!team.numbers.empty()) {
    if (!held_) return;
    number_ = team.numbers.back();
    team.numbers.pop_back();
}

BatchEngine::Duty::~Duty() {
    if (held_) team_.numbers.push_back(number_);  // never allocates, because the number was taken from this list
}

void BatchEngine::stop() noexcept {
    {
        std::unique_lock lock(mutex_);
        stopping_ = true;
        wake_all();
        helpers_left_.wait(lock, [&] { return helpers_ == 0; });
    }
    // A worker that has not ended yet may start more workers.
    for (;;) {
        std::thread thread;
        {
            const std::lock_guard lock(mutex_);
            if (threads_.empty()) break;
            thread = std::move(threads_.back());
            threads_.pop_back();
        }
        thread.join();
    }
    try {
        flush_keys();
    } catch (...) {
        // The device has failed, so its memory is no longer accessible.
    }
}

void BatchEngine::flush_keys() {
    const auto now = KeyTable::Clock::now();
    flush_keys_of_host();
    gpu_.wipe_keys_before(now);
}

void BatchEngine::flush_keys_of_host() noexcept {
    // Keys that active batches use after this moment are kept, because such use may never end.
    keys_.let_go_before(KeyTable::Clock::now());
}

bool BatchEngine::keeps_keys() const {
    return keys_.size() != 0 || gpu_.keeps_keys();
}

void BatchEngine::look_after_keys(std::unique_lock<std::mutex>& lock) noexcept {
    const auto now = KeyTable::Clock::now();
    if (now < next_look_) return;
    const auto kept = engine_.options().keys_kept;
    next_look_ = now + kept;
    lock.unlock();
    keys_.let_go_before(now - kept);
    try {
        gpu_.wipe_keys_before(now - kept);
    } catch (...) {
        // The next check tries again.
    }
    lock.lock();
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
    const int device = request.offsets && request.table == nullptr
                           ? request.arena->device()
                           : device_of(request.elements(request.entry(0), &warpaes_batch_entry::input).first);
    const auto gpu = gpus_.find(device);
    return gpu != gpus_.end() && gpu->second.fresh.size() < gpu->second.idle ? gpu->second : cpu_;
}

bool BatchEngine::wait(const std::shared_ptr<Batch>& batch, std::uint64_t milliseconds) {
    // A client helps only if it waits without a limit, because tasks do not check the time, and only if the batch has
    // no callback, because callbacks are called from the engine's threads.
    if (milliseconds >= Batch::forever && !batch->finished() && !batch->request().finished) lend_a_hand(batch);
    return batch->wait(milliseconds);
}

void BatchEngine::lend_a_hand(const std::shared_ptr<Batch>& batch) {
    std::unique_lock lock(mutex_);
    ++helpers_;
    for (auto& [device, gpu] : gpus_) lend_a_hand(lock, gpu, batch, on_gpu(device));
    lend_a_hand(lock, cpu_, batch, on_cpu);
    if (--helpers_ == 0) helpers_left_.notify_all();
}

void BatchEngine::start_cpu_workers() {
    while (cpu_workers_ < engine_.options().threads) {
        try {
            cpu_.numbers.reserve(cpu_workers_ + 1);
            threads_.emplace_back([this] { serve(cpu_, on_cpu); });
        } catch (const std::system_error&) {
            if (cpu_workers_ == 0) throw Error(WARPAES_ERROR_OUT_OF_MEMORY, "no thread can be started");
            return;  // The running workers do all the work.
        }
        cpu_.numbers.push_back(cpu_workers_++);
    }
}

void BatchEngine::start_gpu_workers(const Batch& batch) {
    const std::span<const int> planned = engine_.gpus();
    for (const int device : batch.devices()) {
        Gpu& gpu = gpus_[device];
        const auto place = std::find(planned.begin(), planned.end(), device);
        const auto index = static_cast<unsigned>(place - planned.begin());
        while (gpu.workers < batch.crew().gpu_lanes) {
            std::optional<unsigned> worker;
            if (place != planned.end()) worker = gpu_worker(engine_.options().threads, index, gpu.workers);
            try {
                gpu.numbers.reserve(gpu.workers + 1);
                threads_.emplace_back([this, device, &gpu] { serve(gpu, on_gpu(device)); });
            } catch (const std::system_error&) {
                if (gpu.workers == 0) throw Error(WARPAES_ERROR_OUT_OF_MEMORY, "no thread can be started");
                break;
            }
            ++gpu.workers;
            gpu.numbers.push_back(worker);
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
    if (batch.needs_cpu()) wake(cpu_, cpu_.numbers.size());
    for (auto& [device, gpu] : gpus_) {
        const std::uint64_t tasks = batch.wants_of(device);
        wake(gpu, &team == &gpu && tasks != 0 ? tasks - 1 : tasks);
    }
}

void BatchEngine::prepare(std::unique_lock<std::mutex>& lock, Team& team, const std::shared_ptr<Batch>& batch) {
    if (!team.fresh.empty()) wake(team, 1);
    look_after_keys(lock);
    lock.unlock();
    bool ready = !clean_stack([&] { return batch->prepare(); });
    lock.lock();
    if (ready) {
        try {
            start_gpu_workers(*batch);
        } catch (...) {
            const Error error = current_error();
            batch->abandon(error.status(), error.what());
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
    if (may_leave()) return wake_all();
    // A client may have done all the work while the workers slept, so a worker must wake up to watch the keys.
    if (watched_ || !keeps_keys()) return;
    ++news_;
    wake(cpu_, 1);
}

template <typename Step>
bool BatchEngine::work_on(std::unique_lock<std::mutex>& lock, const std::shared_ptr<Batch>& batch, const Step& step) {
    lock.unlock();
    Batch::Step did = step(*batch);
    const bool worked = did != Batch::Step::nothing;
    // There is no other batch, so the worker continues without acquiring the lock.
    while (did == Batch::Step::worked && open_ == 1 && !batch->returned()) did = step(*batch);
    if (did == Batch::Step::last) batch->finish();
    lock.lock();
    if (did == Batch::Step::last) end(batch);
    if (batch->take_returned_note()) wake_all();
    return worked;
}

template <typename Step>
bool BatchEngine::work(std::unique_lock<std::mutex>& lock, Team& team, BatchScratch& scratch, std::size_t& turn,
                       const Step& step) {
    const Duty duty(team);
    if (!duty) return false;
    if (!team.fresh.empty()) {
        const std::shared_ptr<Batch> batch = std::move(team.fresh.front());
        team.fresh.pop_front();
        prepare(lock, team, batch);
        return true;
    }
    for (std::size_t tried = 0; tried < active_.size(); ++tried) {
        const std::shared_ptr<Batch> batch = active_[turn++ % active_.size()];
        if (work_on(lock, batch, [&](Batch& b) { return step(b, duty.number(), scratch); })) {
            scratch.worked = true;
            return true;
        }
    }
    return false;
}

template <typename Step>
void BatchEngine::lend_a_hand(std::unique_lock<std::mutex>& lock, Team& team, const std::shared_ptr<Batch>& batch,
                              const Step& step) {
    const auto fresh = std::find(team.fresh.begin(), team.fresh.end(), batch);
    const bool prepared = &team == &cpu_ && std::find(active_.begin(), active_.end(), batch) != active_.end();
    if (fresh == team.fresh.end() && !prepared) return;
    {
        const Duty duty(team);
        if (!duty) return;
        if (!prepared) {
            team.fresh.erase(fresh);
            prepare(lock, team, batch);
        }
        BatchScratch own;
        const bool uses_own = std::exchange(team.scratch_is_used, true);
        BatchScratch& scratch = uses_own ? own : team.scratch;
        const auto its = [&](Batch& b) { return step(b, duty.number(), scratch); };
        while (!batch->complete() && work_on(lock, batch, its)) {
        }
        scratch.let_go();
        if (!uses_own) team.scratch_is_used = false;
    }
    // While this client held a number, a worker that woke up may have found no free number and gone back to sleep.
    const bool others = std::any_of(active_.begin(), active_.end(), [&](const auto& b) { return b != batch; });
    if (!others && team.fresh.empty()) return;
    ++news_;
    wake(team, 1);
}

void BatchEngine::wait_for_news(std::unique_lock<std::mutex>& lock, Team& team, BatchScratch& scratch,
                                std::uint64_t seen) {
    // A client that submits batches one after another submits the next batch immediately, so polling is worthwhile.
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
    OPENSSL_thread_stop();  // at process exit, a sleeping thread would do this too late
    lock.lock();
    const auto called = [&] { return news_ != seen || may_leave(); };
    if (&team != &cpu_ || watched_ || !keeps_keys()) return team.wake.wait(lock, called);
    watched_ = true;
    (void)team.wake.wait_until(lock, next_look_, called);
    watched_ = false;
    look_after_keys(lock);
}

template <typename Step>
void BatchEngine::serve(Team& team, const Step& step) noexcept {
    BatchScratch scratch;
    std::size_t turn = 0;
    std::unique_lock lock(mutex_);
    while (!may_leave()) {
        const std::uint64_t seen = news_;
        if (work(lock, team, scratch, turn, step)) continue;
        ++team.idle;
        wait_for_news(lock, team, scratch, seen);
        --team.idle;
    }
}

}  // namespace warpaes
