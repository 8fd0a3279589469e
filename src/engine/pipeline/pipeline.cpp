#include "engine/pipeline/pipeline.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clean_stack.hpp"
#include "base/error.hpp"
#include "engine/chain.hpp"
#include "engine/pipeline/worker_lane.hpp"

namespace warpaes {

namespace {

/// Numbered turns, by which different workers perform a step in the order of the chunks.
class Turns {
public:
    /// Waits for the turn of `number`; returns false if stop() has been called.
    [[nodiscard]] bool wait(std::uint64_t number) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stopped_ || next_ == number; });
        return !stopped_;
    }
    /// Ends the current turn.
    void pass() {
        {
            const std::lock_guard lock(mutex_);
            ++next_;
        }
        changed_.notify_all();
    }
    /// Ends all waits, which then return false.
    void stop() noexcept {
        {
            const std::lock_guard lock(mutex_);
            stopped_ = true;
        }
        changed_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t next_ = 0;
    bool stopped_ = false;
};

/// Counts the processed bytes and reports them to the caller at intervals.
class Reporter {
public:
    Reporter(const Progress& progress, std::uint64_t total) : progress_(progress), total_(total) {}

    void add(std::uint64_t bytes) {
        done_.fetch_add(bytes, std::memory_order_relaxed);
        tell();
    }
    /// Throws Error{CANCELLED} if the caller cancels. Calls the caller's function at most 50 times a second, so that
    /// frequent calls of tell() cost little.
    void tell() {
        if (!progress_) return;
        const std::unique_lock lock(mutex_, std::try_to_lock);
        if (!lock.owns_lock()) return;
        const auto now = std::chrono::steady_clock::now();
        if (told_ && now - *told_ < std::chrono::milliseconds(20)) return;
        told_ = now;
        call();
    }
    void tell_the_end() {
        if (progress_) call();
    }

private:
    void call() {
        if (!progress_(done_.load(std::memory_order_relaxed), total_)) {
            throw Error(WARPAES_ERROR_CANCELLED, "cancelled by the caller");
        }
    }

    const Progress& progress_;
    const std::uint64_t total_;
    std::atomic<std::uint64_t> done_{0};
    std::mutex mutex_;
    std::optional<std::chrono::steady_clock::time_point> told_;
};

class Pipeline {
public:
    Pipeline(Engine& engine, const Plan& plan, Stage& stage, Source& source, Sink& sink, const Progress& progress);
    Totals run();

    // The steps of run().
    void work(unsigned worker) noexcept;
    /// Prevents further chunks from starting.
    void stop() noexcept;
    /// Must be called after the last call of work() has returned.
    Totals end();

private:
    void process_chunks(unsigned worker);
    void loop(WorkerLane& lane);
    /// Claims and reads the next chunk; false if there is none.
    bool take(Chunk& chunk, WorkerLane& lane);
    bool read_any(Chunk& chunk, WorkerLane& lane);
    bool read_in_turn(Chunk& chunk, WorkerLane& lane);
    /// Reads a chunk and, if it is full, one more byte to find out whether it is the last.
    void fill(Chunk& chunk, std::span<std::uint8_t> staging);
    void read_before(Chunk& chunk);
    bool process(Chunk& chunk, WorkerLane& lane);
    bool write(const Chunk& chunk);
    void save_before();
    void fail(std::exception_ptr error) noexcept;
    /// Must be called after every callback of the caller, because the callback may have forked. The child would reuse
    /// the parent's nonces and wait for threads that it does not have.
    void require_home() const { home_.require("callback", "a callback that forks must not return in the child"); }

    const Home home_;
    Engine& engine_;
    const Plan& plan_;
    Stage& stage_;
    const StageNeeds& needs_;
    Source& source_;
    Sink& sink_;

    const bool in_turn_;  ///< whether the workers read in turn
    const std::uint8_t* const direct_input_;
    std::uint8_t* const direct_output_;
    const std::uint64_t size_;
    std::uint64_t chunks_ = Engine::unknown_length;
    Reporter reporter_;

    std::atomic<std::uint64_t> next_{0};
    std::atomic<bool> stopped_{false};
    std::atomic<bool> device_failed_{false};
    std::atomic<std::uint64_t> read_{0};
    std::atomic<std::uint64_t> written_{0};
    Turns read_turns_, process_turns_, write_turns_;

    // Used only by the worker whose turn it is to read:
    bool ended_ = false;
    std::optional<std::uint8_t> ahead_;  ///< one byte read beyond the last chunk; if present, more chunks follow
    Block tail_{};

    std::vector<Block> saved_;  ///< input before each chunk, saved before it is overwritten
    std::mutex error_mutex_;
    std::exception_ptr error_;
};

Pipeline::Pipeline(Engine& engine, const Plan& plan, Stage& stage, Source& source, Sink& sink, const Progress& progress)
    : engine_(engine),
      plan_(plan),
      stage_(stage),
      needs_(stage.needs()),
      source_(source),
      sink_(sink),
      in_turn_(source.is_sequential()),
      direct_input_(needs_.direct ? source.data() : nullptr),
      direct_output_(needs_.direct ? sink.data() : nullptr),
      size_(source.size()),
      reporter_(progress, source.size()) {
    if (size_ != Engine::unknown_length) {
        stage.check_length(size_);
        chunks_ = stage.chunks(size_);
    }
    if (needs_.before == Before::saved) save_before();
}

void Pipeline::save_before() {
    saved_.resize(static_cast<std::size_t>(chunks_));
    for (std::uint64_t i = 1; i < chunks_; ++i) {
        (void)source_.read(stage_.input_offset(i) - block_bytes, saved_[static_cast<std::size_t>(i)]);
    }
}

Totals Pipeline::run() {
    const WaitHook hook = [this] {
        if (stopped_)
            throw Error(WARPAES_ERROR_CANCELLED, "cancelled");  // never reported, because the earlier error is reported
        reporter_.tell();
    };
    source_.on_wait(hook);
    sink_.on_wait(hook);
    engine_.pool().share(static_cast<unsigned>(std::min<std::uint64_t>(plan_.lanes, chunks_)),
                         [this](unsigned worker) { work(worker); });
    return end();
}

Totals Pipeline::end() {
    source_.on_wait({});
    if (!error_) sink_.finish();
    sink_.on_wait({});
    if (error_) std::rethrow_exception(error_);
    reporter_.tell_the_end();
    const auto notes = device_failed_ ? std::uint32_t{WARPAES_NOTE_DEVICE_FAILED} : 0;
    return {{plan_.backend->name(), plan_.devices.front(), notes}, read_, written_};
}

void Pipeline::work(unsigned worker) noexcept {
    try {
        clean_stack([&] { process_chunks(worker); });
    } catch (...) {
        fail(std::current_exception());
    }
}

void Pipeline::process_chunks(unsigned worker) {
    const bool staged = direct_input_ == nullptr || direct_output_ == nullptr;
    WorkerLane lane(engine_, plan_, worker, staged ? needs_.staging_bytes : 0);
    try {
        loop(lane);
    } catch (...) {
        lane.used(needs_.staging_bytes);
        throw;
    }
    if (lane.device_failed()) device_failed_ = true;
}

void Pipeline::fail(std::exception_ptr error) noexcept {
    {
        const std::lock_guard lock(error_mutex_);
        if (!error_) error_ = std::move(error);
    }
    stop();
}

void Pipeline::stop() noexcept {
    stopped_ = true;
    for (Turns* turns : {&read_turns_, &process_turns_, &write_turns_}) turns->stop();
}

void Pipeline::loop(WorkerLane& lane) {
    Chunk chunk;
    while (!stopped_) {
        require_home();
        try {
            if (!take(chunk, lane)) return;
            lane.used(chunk.input_bytes);
            const bool processed = process(chunk, lane);
            lane.used(chunk.output_bytes);
            if (!processed) return;
        } catch (...) {
            // A pipe must receive exactly the chunks before the first failed chunk, so wait until all earlier chunks
            // are written.
            if (sink_.is_sequential() && home_.is_here()) (void)write_turns_.wait(chunk.index);
            throw;
        }
        if (!write(chunk)) return;
        reporter_.add(chunk.input_bytes);
    }
}

bool Pipeline::take(Chunk& chunk, WorkerLane& lane) {
    chunk = {};
    chunk.index = next_++;
    if (!in_turn_) return read_any(chunk, lane);
    if (!read_turns_.wait(chunk.index)) return false;
    const bool more = read_in_turn(chunk, lane);
    read_turns_.pass();
    return more;
}

bool Pipeline::read_any(Chunk& chunk, WorkerLane& lane) {
    if (chunk.index >= chunks_) return false;
    chunk.last = chunk.index + 1 == chunks_;
    chunk.input_offset = stage_.input_offset(chunk.index);
    const std::uint64_t end = chunk.last ? size_ : stage_.input_offset(chunk.index + 1);
    chunk.input_bytes = static_cast<std::size_t>(end - chunk.input_offset);
    if (needs_.before != Before::unneeded) read_before(chunk);
    if (direct_input_ != nullptr) {
        chunk.input = direct_input_ + chunk.input_offset;
    } else {
        const auto staging = lane.input_staging();
        if (source_.read(chunk.input_offset, staging.first(chunk.input_bytes)) != chunk.input_bytes) {
            throw Error(WARPAES_ERROR_READ, "input: became shorter while it was read");
        }
        chunk.input = staging.data();
    }
    read_ += chunk.input_bytes;
    return true;
}

void Pipeline::read_before(Chunk& chunk) {
    if (chunk.index == 0) return;
    if (!saved_.empty()) {
        chunk.before = saved_[static_cast<std::size_t>(chunk.index)];
    } else if (source_.read(chunk.input_offset - block_bytes, chunk.before) != block_bytes) {
        throw Error(WARPAES_ERROR_READ, "input: became shorter while it was read");
    }
}

bool Pipeline::read_in_turn(Chunk& chunk, WorkerLane& lane) {
    if (ended_) return false;
    chunk.input_offset = stage_.input_offset(chunk.index);
    const std::uint64_t full = stage_.input_offset(chunk.index + 1) - chunk.input_offset;
    const auto staging = lane.input_staging().first(static_cast<std::size_t>(full));
    chunk.input = staging.data();
    fill(chunk, staging);
    chunk.before = tail_;
    tail_ = last_block(tail_, staging.first(chunk.input_bytes));
    read_ += chunk.input_bytes;
    if (ended_) stage_.check_length(chunk.input_offset + chunk.input_bytes);
    return true;
}

void Pipeline::fill(Chunk& chunk, std::span<std::uint8_t> staging) {
    std::size_t have = 0;
    if (ahead_) staging[have++] = *ahead_;
    have += source_.read(chunk.input_offset + have, staging.subspan(have));
    ahead_.reset();
    if (have == staging.size()) {
        std::uint8_t byte = 0;
        if (source_.read(chunk.input_offset + have, {&byte, 1}) == 1) ahead_ = byte;
    }
    chunk.input_bytes = have;
    chunk.last = ended_ = !ahead_;
}

bool Pipeline::process(Chunk& chunk, WorkerLane& lane) {
    require_home();
    chunk.output_offset = stage_.output_offset(chunk.index);
    if (direct_output_ != nullptr) {
        chunk.output = direct_output_ + chunk.output_offset;
    } else if (direct_input_ == nullptr && needs_.in_place && !lane.may_repeat()) {
        chunk.output = lane.input_staging().data();  // the cache contains the chunk once instead of twice
    } else {
        chunk.output = lane.output_staging().data();
    }
    if (needs_.in_turn && !process_turns_.wait(chunk.index)) return false;
    lane.run([&](Lane& l) { stage_.process(l, chunk); });
    if (needs_.in_turn) process_turns_.pass();
    return true;
}

bool Pipeline::write(const Chunk& chunk) {
    const bool in_turn = sink_.is_sequential();
    if (in_turn && !write_turns_.wait(chunk.index)) return false;
    if (direct_output_ == nullptr && chunk.output_bytes != 0) {
        sink_.write(chunk.output_offset, {chunk.output, chunk.output_bytes});
    }
    if (in_turn) write_turns_.pass();
    written_ += chunk.output_bytes;
    return true;
}

}  // namespace

Totals run_pipeline(Engine& engine, const Plan& plan, Stage& stage, Source& source, Sink& sink,
                    const Progress& progress) {
    return Pipeline(engine, plan, stage, source, sink, progress).run();
}

class BegunPipeline::Work {
public:
    Work(Engine& engine, const Plan& plan, Stage& stage, Source& source, Sink& sink)
        : pipeline_(engine, plan, stage, source, sink, no_progress_),
          work_([this](unsigned worker) { pipeline_.work(worker); }),
          others_(std::in_place, engine.pool(), work_, 1, plan.lanes) {}
    ~Work() { pipeline_.stop(); }

    Totals finish() {
        pipeline_.work(0);
        others_.reset();
        return pipeline_.end();
    }

private:
    const Progress no_progress_;
    Pipeline pipeline_;
    const std::function<void(unsigned)> work_;
    std::optional<Pool::Offered> others_;
};

BegunPipeline::BegunPipeline(Engine& engine, const Plan& plan, Stage& stage, Source& source, Sink& sink)
    : work_(std::make_unique<Work>(engine, plan, stage, source, sink)) {}

BegunPipeline::~BegunPipeline() {
    if (!home_.is_here()) (void)work_.release();
}

Totals BegunPipeline::finish() {
    return work_->finish();
}

}  // namespace warpaes
