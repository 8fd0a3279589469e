// The executor: runs the blocks of a grid one after the other, and the threads of a block in turns, each on its own
// fiber.
//
// A thread runs until it must wait for its block or for lanes of its warp. The last thread to arrive at a barrier or
// warp function completes it and continues, so the order and all results are the same in each run. If no thread can
// continue, the kernel has a divergent barrier or waits for a missing lane. In this case, a message lists where each
// thread waits, and the process aborts.
#include "simt.hpp"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "executor.hpp"
#include "fiber.hpp"

constinit thread_local uint3 threadIdx{};
constinit thread_local uint3 blockIdx{};
constinit thread_local dim3 blockDim{};
constinit thread_local dim3 gridDim{};

namespace simt {
namespace {

constexpr unsigned max_threads = 1024;
constexpr unsigned warp_lanes = 32;
constexpr std::uint64_t undefined_value = 0xa5a5a5a5a5a5a5a5;

/// For fuzzers with short launches, shared memory is kept from launch to launch, with room for any launch.
#ifdef WARPAES_SIMT_QUICK
constexpr bool keeps_shared = true;
#else
constexpr bool keeps_shared = false;
#endif
constexpr std::size_t most_shared = 256 * 1024;

constexpr const char* name_of(WarpFunction function) {
    constexpr std::array names{"__syncwarp",    "__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync",
                               "__ballot_sync", "__any_sync",  "__all_sync",     "mma.sync"};
    return names[static_cast<std::size_t>(function)];
}

constexpr bool is_vote(WarpFunction function) {
    return function >= WarpFunction::ballot && function <= WarpFunction::all;
}
constexpr bool is_shuffle(WarpFunction function) {
    return function >= WarpFunction::shfl && function <= WarpFunction::shfl_xor;
}

/// The PTX ISA defines the fragment layout. Lane 4g + q holds words q and q + 4 of the 256 bits in rows g and g + 8 and
/// in column g. It also holds columns 2q and 2q + 1 of the product in these rows.
[[gnu::noinline]] void multiply_binary(const std::array<std::uint64_t, warp_lanes>& lanes) {
    const auto of = [&](unsigned lane) -> BinaryProduct& { return *reinterpret_cast<BinaryProduct*>(lanes[lane]); };
    // Rows and columns have 256 bits each.
    std::uint32_t rows[16][8], columns[8][8];
    for (unsigned lane = 0; lane < warp_lanes; ++lane) {
        const unsigned g = lane / 4, q = lane % 4;
        for (unsigned half = 0; half < 2; ++half) {
            rows[g][q + 4 * half] = of(lane).a[2 * half];
            rows[g + 8][q + 4 * half] = of(lane).a[2 * half + 1];
            columns[g][q + 4 * half] = of(lane).b[half];
        }
    }
    for (unsigned row = 0; row < 16; ++row) {
        for (unsigned column = 0; column < 8; ++column) {
            int common = 0;
            for (unsigned w = 0; w < 8; w += 2) {
                const auto pair = [w](const std::uint32_t* words) {
                    return std::uint64_t{words[w + 1]} << 32 | words[w];
                };
                common += std::popcount(pair(rows[row]) & pair(columns[column]));
            }
            of(row % 8 * 4 + column / 2).d[row / 8 * 2 + column % 2] += static_cast<unsigned>(common);
        }
    }
}

bool same_line(const Where& a, const Where& b) {
    return a.line() == b.line() && (a.file_name() == b.file_name() || std::strcmp(a.file_name(), b.file_name()) == 0);
}

/// This object is not destroyed, because a static object's destructor may still launch a kernel.
std::function<void()>& block_observer() {
    static auto& observer = *new std::function<void()>;
    return observer;
}

class Executor;

enum class State { ready, at_block_barrier, at_warp_barrier, exited };

struct Thread {
    Thread(Executor& owner, unsigned thread_number);

    Executor& executor;
    unsigned number;
    uint3 index{};
    State state = State::exited;
    Where where;
    // The warp function that makes the thread wait, if any.
    WarpFunction function = WarpFunction::sync;
    unsigned mask = 0;
    std::uint64_t value = 0;  ///< first the operand, then the result
    unsigned source = 0;
    Fiber fiber;

    [[nodiscard]] unsigned lane() const { return number % warp_lanes; }
};

/// In all masks, bit i stands for lane i.
struct Warp {
    unsigned alive = 0;
    unsigned ready = 0;
    unsigned yielded = 0;
    unsigned waiting = 0;  ///< the lanes that wait in a warp function
    // `united`: all waiting lanes wait in the same function with the same mask, which are given here.
    bool united = true;
    WarpFunction function = WarpFunction::sync;
    unsigned mask = 0;
};

class Executor {
public:
    void run(const dim3& grid, const dim3& block, std::size_t shared_bytes, const Launch& launch);

    // These functions run on a fiber.
    unsigned block_barrier(bool predicate, const Where& where);
    std::uint64_t warp_barrier(WarpFunction function, unsigned mask, std::uint64_t value, unsigned source,
                               const Where& where);
    void yield();
    [[noreturn]] void fail(const char* what, const Where& where);

    [[nodiscard]] unsigned lane() const { return running_->lane(); }
    [[nodiscard]] unsigned char* shared() const { return shared_.get(); }
    [[nodiscard]] std::size_t shared_bytes() const { return shared_bytes_; }

    [[noreturn]] static void thread_main(void* argument);

private:
    void run_block();
    bool run_warp(unsigned number);
    [[nodiscard]] Thread& next_ready(Warp& warp);
    void suspend();
    void exit(Thread& thread);
    [[nodiscard]] bool complete(Warp& warp, Thread& last);
    [[nodiscard]] Thread& thread_of(const Warp& warp, unsigned lane) {
        return *threads_[static_cast<std::size_t>(&warp - warps_.data()) * warp_lanes + lane];
    }
    [[nodiscard]] Warp& warp_of(const Thread& thread) { return warps_[thread.number / warp_lanes]; }
    void describe(const Thread& thread) const;
    [[noreturn]] void report(const char* what);
    [[noreturn]] void report_stuck();

    std::vector<std::unique_ptr<Thread>> threads_;  ///< the threads are kept from launch to launch
    std::array<Warp, max_threads / warp_lanes> warps_;
    Context host_;
    Thread* running_ = nullptr;
    Launch launch_{};
    uint3 block_index_{};
    bool backwards_ = false;
    bool bit_products_ = true;  ///< whether the machine supports products of bits
    unsigned block_threads_ = 0;
    unsigned exited_ = 0;

    unsigned arrived_ = 0;
    unsigned predicates_ = 0;
    unsigned barrier_result_ = 0;
    Where barrier_;

    struct Free {
        void operator()(unsigned char* pointer) const { std::free(pointer); }
    };
    std::unique_ptr<unsigned char, Free> shared_;
    std::size_t shared_bytes_ = 0;
};

constinit thread_local Executor* current = nullptr;

Executor& executor(const char* function) {
    if (current == nullptr) {
        std::fprintf(stderr, "simt: %s outside of a kernel\n", function);
        std::abort();
    }
    return *current;
}

Thread::Thread(Executor& owner, unsigned thread_number)
    : executor(owner), number(thread_number), fiber(&Executor::thread_main, this, thread_number) {}

// A fiber outlives its launch and may continue on a different host thread, so this function does not use thread_local
// variables.
void Executor::thread_main(void* argument) {
    auto& thread = *static_cast<Thread*>(argument);
    Executor& self = thread.executor;
    for (;;) {
        self.launch_.run(self.launch_.arguments);
        self.exit(thread);
    }
}

void Executor::run(const dim3& grid, const dim3& block, std::size_t shared_bytes, const Launch& launch) {
    block_threads_ = block.x * block.y * block.z;
    while (threads_.size() < block_threads_) {
        threads_.push_back(std::make_unique<Thread>(*this, static_cast<unsigned>(threads_.size())));
    }
    if (shared_ == nullptr || !keeps_shared || shared_bytes > most_shared) {
        // Allocates exactly this many bytes, so that AddressSanitizer detects accesses past the end.
        void* memory = nullptr;
        const std::size_t bytes = keeps_shared ? std::max(shared_bytes, most_shared) : shared_bytes;
        if (posix_memalign(&memory, 128, bytes) != 0) throw std::bad_alloc();
        shared_.reset(static_cast<unsigned char*>(memory));
    }
    shared_bytes_ = shared_bytes;
    launch_ = launch;
    backwards_ = machine().backwards;
    bit_products_ = machine().major >= 8;
    current = this;
    gridDim = grid;
    blockDim = block;
    for (unsigned i = 0; i < block_threads_; ++i) {
        threads_[i]->index = {i % block.x, i / block.x % block.y, i / block.x / block.y};
    }
    const std::uint64_t blocks = std::uint64_t{grid.x} * grid.y * grid.z;
    for (std::uint64_t i = 0; i < blocks; ++i) {
        const std::uint64_t b = backwards_ ? blocks - 1 - i : i;
        block_index_ = {static_cast<unsigned>(b % grid.x), static_cast<unsigned>(b / grid.x % grid.y),
                        static_cast<unsigned>(b / grid.x / grid.y)};
        run_block();
        if (block_observer()) block_observer()();
    }
    current = nullptr;
    if (keeps_shared) return;
    // Leaves no contents in host memory.
    std::memset(shared_.get(), 0xa5, shared_bytes_);
    shared_.reset();
}

void Executor::run_block() {
    blockIdx = block_index_;
    std::memset(shared_.get(), 0xa5, shared_bytes_);
    const unsigned warps = (block_threads_ + warp_lanes - 1) / warp_lanes;
    for (unsigned i = 0; i < block_threads_; ++i) threads_[i]->state = State::ready;
    for (unsigned w = 0; w < warps; ++w) {
        const unsigned lanes = std::min(warp_lanes, block_threads_ - w * warp_lanes);
        warps_[w] = {};
        warps_[w].alive = warps_[w].ready = ~0u >> (warp_lanes - lanes);
    }
    exited_ = arrived_ = predicates_ = 0;
    while (exited_ < block_threads_) {
        bool progress = false;
        for (unsigned w = 0; w < warps; ++w) progress |= run_warp(backwards_ ? warps - 1 - w : w);
        if (!progress) report_stuck();
    }
}

bool Executor::run_warp(unsigned number) {
    Warp& warp = warps_[number];
    bool progress = false;
    while (warp.ready != 0) {
        running_ = &next_ready(warp);
        threadIdx = running_->index;
        Context::switch_to(host_, running_->fiber);
        progress = true;
    }
    warp.ready = std::exchange(warp.yielded, 0);
    return progress;
}

Thread& Executor::next_ready(Warp& warp) {
    const int first = backwards_ ? 31 - std::countl_zero(warp.ready) : std::countr_zero(warp.ready);
    warp.ready &= ~(1u << first);
    return thread_of(warp, static_cast<unsigned>(first));
}

/// Switches directly to the warp's next ready lane, or to `run_warp` if there is none.
void Executor::suspend() {
    Thread& self = *running_;
    Warp& warp = warp_of(self);
    if (warp.ready == 0) {
        Context::switch_to(self.fiber, host_);
        return;
    }
    running_ = &next_ready(warp);
    threadIdx = running_->index;
    Context::switch_to(self.fiber, running_->fiber);
}

void Executor::yield() {
    warp_of(*running_).yielded |= 1u << lane();
    suspend();
}

void Executor::exit(Thread& thread) {
    thread.state = State::exited;
    ++exited_;
    Warp& warp = warp_of(thread);
    warp.alive &= ~(1u << thread.lane());
    // Warp functions do not wait for lanes that have exited, so this exit may complete a function.
    for (unsigned lanes = warp.waiting; lanes != 0; lanes &= lanes - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
        if ((warp.waiting >> lane & 1) == 0) continue;
        Thread& waiting = thread_of(warp, lane);
        if ((waiting.mask >> thread.lane() & 1) != 0 && complete(warp, waiting)) warp.ready |= 1u << lane;
    }
    suspend();
}

unsigned Executor::block_barrier(bool predicate, const Where& where) {
    Thread& self = *running_;
    self.where = where;
    self.state = State::at_block_barrier;
    if (arrived_ == 0) barrier_ = where;
    if (!same_line(barrier_, where)) report("divergent barrier: threads of one block wait at different __syncthreads");
    predicates_ += predicate;
    if (++arrived_ < block_threads_) {
        suspend();
        return barrier_result_;
    }
    barrier_result_ = std::exchange(predicates_, 0);
    arrived_ = 0;
    for (unsigned i = 0; i < block_threads_; ++i) threads_[i]->state = State::ready;
    for (unsigned i = 0; i < block_threads_; i += warp_lanes)
        warps_[i / warp_lanes].ready = warps_[i / warp_lanes].alive;
    warp_of(self).ready &= ~(1u << self.lane());
    return barrier_result_;
}

std::uint64_t Executor::warp_barrier(WarpFunction function, unsigned mask, std::uint64_t value, unsigned source,
                                     const Where& where) {
    Thread& self = *running_;
    Warp& warp = warp_of(self);
    self.where = where;
    self.state = State::at_warp_barrier;
    self.function = function;
    self.mask = mask;
    self.value = value;
    self.source = source;
    const unsigned bit = 1u << self.lane();
    if ((mask & bit) == 0) report("a lane calls a warp function with a mask that does not name it");
    if (function == WarpFunction::mma && !bit_products_) report("products of bits need compute capability 8.0");
    if (warp.waiting == 0) {
        warp.united = true;
        warp.function = function;
        warp.mask = mask;
    }
    warp.united &= warp.function == function && warp.mask == mask;
    warp.waiting |= bit;
    const bool somebody_is_missing = warp.united && (mask & warp.alive & ~warp.waiting) != 0;
    if (somebody_is_missing || !complete(warp, self)) suspend();
    return self.value;
}

/// If all lanes that `last` waits for have arrived at the same call, stores each lane's result and makes all of them
/// except `last` ready.
bool Executor::complete(Warp& warp, Thread& last) {
    const unsigned lanes = last.mask & warp.alive;
    const unsigned here = lanes & warp.waiting;
    for (unsigned rest = warp.united ? 0 : here; rest != 0; rest &= rest - 1) {
        const Thread& other = thread_of(warp, static_cast<unsigned>(std::countr_zero(rest)));
        if (other.function == last.function && other.mask == last.mask) continue;
        // The other lane may first synchronize with different lanes, unless it also waits for this lane.
        if ((other.mask >> last.lane() & 1) != 0) report("lanes of one warp wait for each other at different calls");
        return false;
    }
    if (here != lanes) return false;

    std::uint64_t votes = 0;
    std::array<std::uint64_t, warp_lanes> values;
    values.fill(undefined_value);
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(rest));
        values[lane] = thread_of(warp, lane).value;
        votes |= static_cast<std::uint64_t>(values[lane] != 0) << lane;
    }
    if (last.function == WarpFunction::mma) {
        if (lanes != ~0u) report("mma.sync without all lanes of the warp");
        multiply_binary(values);
    }
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1) {
        Thread& thread = thread_of(warp, static_cast<unsigned>(std::countr_zero(rest)));
        if (is_vote(thread.function)) thread.value = votes;
        if (is_shuffle(thread.function)) thread.value = values[thread.source];
        thread.state = State::ready;
    }
    warp.waiting &= ~lanes;
    warp.ready |= lanes & ~(1u << last.lane());
    return true;
}

void Executor::describe(const Thread& thread) const {
    std::fprintf(stderr, "simt:   thread (%u,%u,%u) ", thread.index.x, thread.index.y, thread.index.z);
    switch (thread.state) {
    case State::exited:
        std::fprintf(stderr, "has exited\n");
        return;
    case State::ready:
        std::fprintf(stderr, "runs\n");
        return;
    case State::at_block_barrier:
        std::fprintf(stderr, "waits at __syncthreads");
        break;
    case State::at_warp_barrier:
        std::fprintf(stderr, "waits at %s of the lanes 0x%08x", name_of(thread.function), thread.mask);
        break;
    }
    std::fprintf(stderr, ", %s:%u in %s\n", thread.where.file_name(), static_cast<unsigned>(thread.where.line()),
                 thread.where.function_name());
}

void Executor::report(const char* what) {
    std::fprintf(stderr, "simt: %s; block (%u,%u,%u):\n", what, block_index_.x, block_index_.y, block_index_.z);
    // Prints only the first of consecutive threads that are in the same state.
    const Thread* previous = nullptr;
    for (unsigned i = 0; i < block_threads_; ++i) {
        const Thread& thread = *threads_[i];
        const bool same = previous != nullptr && previous->state == thread.state &&
                          (thread.state == State::exited || thread.state == State::ready ||
                           (same_line(previous->where, thread.where) &&
                            (thread.state == State::at_block_barrier ||
                             (previous->mask == thread.mask && previous->function == thread.function))));
        if (!same) describe(thread);
        previous = &thread;
    }
    std::fprintf(stderr, "simt:   (of neighbours that do the same, the first is shown)\n");
    std::fflush(stderr);
    std::abort();
}

void Executor::report_stuck() {
    report(arrived_ != 0 ? "divergent barrier: not every thread of the block comes to __syncthreads"
                         : "a warp function waits for lanes that do not come");
}

void Executor::fail(const char* what, const Where& where) {
    std::fprintf(stderr, "simt: %s; block (%u,%u,%u), thread (%u,%u,%u), %s:%u in %s\n", what, block_index_.x,
                 block_index_.y, block_index_.z, running_->index.x, running_->index.y, running_->index.z,
                 where.file_name(), static_cast<unsigned>(where.line()), where.function_name());
    std::fflush(stderr);
    std::abort();
}

/// A pool of executors with a thousand stacks each. It contains one executor for each host thread in a launch, up to a
/// limit.
class Pool {
public:
    std::unique_ptr<Executor> take() {
        std::unique_lock lock(mutex_);
        returned_.wait(lock, [this] { return !free_.empty() || made_ < limit; });
        if (free_.empty()) {
            ++made_;
            return std::make_unique<Executor>();
        }
        auto taken = std::move(free_.back());
        free_.pop_back();
        return taken;
    }
    void give(std::unique_ptr<Executor> executor) {
        {
            const std::lock_guard lock(mutex_);
            free_.push_back(std::move(executor));
        }
        returned_.notify_one();
    }

private:
    static constexpr unsigned limit = 4;
    std::mutex mutex_;
    std::condition_variable returned_;
    std::vector<std::unique_ptr<Executor>> free_;
    unsigned made_ = 0;
};

}  // namespace

void on_block(std::function<void()> observer) {
    block_observer() = std::move(observer);
}

void execute(const dim3& grid, const dim3& block, std::size_t shared_bytes, const Launch& launch) {
    if (current != nullptr) executor("launch").fail("a kernel launches a kernel", Where::current());
    static auto& pool = *new Pool;  // a static object's destructor may still launch a kernel
    auto executor = pool.take();
    executor->run(grid, block, shared_bytes, launch);
    pool.give(std::move(executor));
}

bool in_kernel() {
    return current != nullptr;
}

unsigned char* dynamic_shared() {
    return executor("dynamic_shared").shared();
}
std::size_t dynamic_shared_bytes() {
    return executor("dynamic_shared_bytes").shared_bytes();
}
unsigned lane() {
    return executor("a warp function").lane();
}
void yield() {
    executor("__nanosleep").yield();
}
unsigned block_barrier(bool predicate, const Where& where) {
    return executor("__syncthreads").block_barrier(predicate, where);
}
std::uint64_t warp_barrier(WarpFunction function, unsigned mask, std::uint64_t value, unsigned source,
                           const Where& where) {
    return executor(name_of(function)).warp_barrier(function, mask, value, source, where);
}
void fail(const char* what, const Where& where) {
    executor(what).fail(what, where);
}

}  // namespace simt
