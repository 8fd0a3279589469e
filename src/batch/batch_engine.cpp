#include "batch/batch_engine.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <system_error>

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
    fresh_.push_back(batch);
    ++open_;
    ++news_;
    cpu_wake_.notify_one();
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
    cpu_wake_.notify_all();
    for (auto& [device, gpu] : gpus_) gpu.wake.notify_all();
}

void BatchEngine::prepare(std::unique_lock<std::mutex>& lock) {
    const std::shared_ptr<Batch> batch = std::move(fresh_.front());
    fresh_.pop_front();
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
        wake_all();
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
void BatchEngine::work_or_wait(std::unique_lock<std::mutex>& lock, std::condition_variable& wake, BatchScratch& scratch,
                               std::size_t& turn, const Step& step) {
    const std::uint64_t news = news_;
    if (work(lock, turn, step)) return;
    lock.unlock();
    scratch.let_go();
    OPENSSL_thread_stop();  // at the end of the process a thread that sleeps would come too late
    lock.lock();
    wake.wait(lock, [&] { return news_ != news || may_leave(); });
}

void BatchEngine::work_on_cpu(unsigned worker) noexcept {
    BatchScratch scratch;
    std::size_t turn = worker;
    std::unique_lock lock(mutex_);
    while (!may_leave()) {
        if (!fresh_.empty()) {
            prepare(lock);
        } else {
            work_or_wait(lock, cpu_wake_, scratch, turn,
                         [&](Batch& batch) { return batch.work_on_cpu(worker, scratch); });
        }
    }
}

void BatchEngine::work_on_gpu(int device, std::optional<unsigned> worker, Gpu& gpu) noexcept {
    BatchScratch scratch;
    std::size_t turn = 0;
    std::unique_lock lock(mutex_);
    while (!may_leave()) {
        work_or_wait(lock, gpu.wake, scratch, turn,
                     [&](Batch& batch) { return batch.work_on_gpu(device, worker, scratch); });
    }
}

}  // namespace warpaes
