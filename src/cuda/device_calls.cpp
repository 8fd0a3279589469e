#include "cuda/device_calls.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <span>

#include "backend/tag.hpp"
#include "base/secret.hpp"
#include "cuda/tuning/gcm.hpp"
#include "cuda/tuning/host.hpp"
#include "cuda/tuning/shapes.hpp"
#include "cuda/tuning/wipe.hpp"

namespace warpaes::cuda {

namespace {

/// Called between two reads of a word that a GPU will write.
void relax() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#endif
}

/// Reads a word that a GPU may be writing.
template <typename Word>
Word load(Word& word) noexcept {
    return std::atomic_ref<Word>(word).load(std::memory_order_acquire);
}

/// Waits for the enqueued work of the stream. With `polls`, first polls `has_come()` for as long as a short kernel may
/// take. The time is limited because a kernel that fails never writes the polled word.
template <typename HasCome>
void wait(cudaStream_t stream, bool polls, const HasCome& has_come) {
    for (int i = 0; polls && i < Polling::looks; ++i) {
        if (has_come()) return;
        relax();
    }
    check(cudaStreamSynchronize(stream), "waiting for the device");
}

}  // namespace

GcmSum* GcmMemory::sum_on(cudaStream_t stream) {
    if (sum.get() == nullptr) {
        void* const zeros = sum.reserve(sizeof(GcmSum));
        const cudaError_t error = cudaMemsetAsync(zeros, 0, sizeof(GcmSum), stream);
        if (error != cudaSuccess) sum.release();
        check(error, "clearing scratch memory");
    }
    return reinterpret_cast<GcmSum*>(sum.get());
}

struct DeviceCalls::Memory {
    /// Words in page-locked memory that kernels write for the host.
    struct Mail {
        alignas(block_bytes) Block result;  ///< used by GCM if the kernels report no shares
        unsigned word;                      ///< used by Notice
        alignas(64) unsigned long long shares[HostShares::words_each * GcmMessage::radix * GcmMessage::radix];
    };

    static constexpr std::size_t shares_bytes =
        HostShares::words_each * GcmMessage::radix * GcmMessage::radix * sizeof(unsigned);

    GcmMemory gcm;
    DeviceBuffer shares;  ///< HostShares::kept
    unsigned turn = 0;

    /// Allocates the memory that most messages need, so that they work even if the device is full.
    explicit Memory(cudaStream_t stream) {
        constexpr std::size_t most_scratch = std::size_t{1} << 20;
        wipe({gcm.results.reserve(sizeof(Mail)), sizeof(Mail)});
        gcm.scratch.keep(most_scratch);
        shares.reserve(shares_bytes);
        gcm.sum_on(stream);
    }

    Mail& mail() { return *reinterpret_cast<Mail*>(gcm.results.get()); }
    /// The result is never 0, because wiped memory is 0.
    unsigned next_turn() { return turn = std::max(turn + 1, 1u); }

    /// Returns the sum of all shares.
    static Block sum_of(std::span<const unsigned long long> shares) {
        std::array<std::uint32_t, HostShares::words_each> sum{};
        for (std::size_t i = 0; i < shares.size(); ++i) sum[i % sum.size()] ^= static_cast<std::uint32_t>(shares[i]);
        return std::bit_cast<Block>(sum);
    }
};

DeviceCalls::DeviceCalls() {
    keep_some();
}

DeviceCalls::~DeviceCalls() = default;

void DeviceCalls::keep_some() noexcept {
    try {
        const DefaultStream stream;
        give_back(take(stream.get()));
    } catch (const std::exception&) {
        // Calls that need the memory will report the failure.
    }
}

std::unique_ptr<DeviceCalls::Memory> DeviceCalls::take(cudaStream_t stream) {
    std::unique_lock lock(mutex_);
    if (free_.empty()) {
        lock.unlock();
        try {
            auto memory = std::make_unique<Memory>(stream);
            lock.lock();
            ++made_;
            return memory;
        } catch (const Error& error) {
            if (error.status() != WARPAES_ERROR_DEVICE_MEMORY) throw;
            lock.lock();
            changed_.wait(lock, [this] { return made_ == 0 || !free_.empty(); });
            if (made_ == 0) throw;
        }
    }
    std::unique_ptr<Memory> memory = std::move(free_.back());
    free_.pop_back();
    return memory;
}

void DeviceCalls::give_back(std::unique_ptr<Memory> memory) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(memory));
    changed_.notify_one();
}

void DeviceCalls::give_up(std::unique_ptr<Memory> memory) noexcept {
    memory.reset();
    {
        const std::lock_guard lock(mutex_);
        if (--made_ != 0) return;
        changed_.notify_all();
    }
    keep_some();
}

template <typename Call>
void DeviceCalls::with_memory(const Call& call) {
    const DefaultStream stream;
    std::unique_ptr<Memory> memory;
    try {
        memory = take(stream.get());
        call(*memory, stream.get());
        // The next call may use a different stream.
        if (stream.get() != nullptr) check(cudaStreamSynchronize(stream.get()), "waiting for the device");
    } catch (...) {
        // The memory is freed, because its contents are unknown. Afterwards, enqueued work, including earlier work,
        // must not access it or the caller's buffers.
        try_to(cudaStreamSynchronize(stream.get()));
        if (memory != nullptr) give_up(std::move(memory));
        throw;
    }
    give_back(std::move(memory));
}

void DeviceCalls::run(const Run& run, const DeviceLimits& limits) {
    with_memory([&](Memory& memory, cudaStream_t stream) {
        const Notice notice{&memory.gcm.sum_on(stream)->arrived, &memory.mail().word, memory.next_turn()};
        const bool polls = enqueue(run, limits, stream, notice);
        wait(stream, polls, [&] { return load(memory.mail().word) == notice.value; });
        memory.mail().word = 0;
    });
}

bool DeviceCalls::run(const GcmRun& run, const DeviceLimits& limits, std::span<const std::uint8_t> expected) {
    bool right = true;
    with_memory([&](Memory& memory, cudaStream_t stream) {
        Memory::Mail& mail = memory.mail();
        GcmRun here = run;
        here.results = &mail.result;
        const std::uint64_t bytes = expected.empty() ? 0 : run.last_bytes;
        const bool ahead = bytes >= WipeIfWrong::least_ahead;
        auto* const kept = ahead ? reinterpret_cast<unsigned*>(memory.shares.reserve(memory.shares_bytes)) : nullptr;
        const GcmScratch scratch{
            memory.gcm.scratch, memory.gcm.sum_on(stream), {mail.shares, memory.next_turn(), kept}};
        const unsigned thread_blocks = enqueue(here, limits, stream, &scratch);
        const Notice notice{&scratch.sum->arrived, &mail.word, scratch.shares.turn};
        const auto wipe_output = [&](unsigned share_count) {
            enqueue_wipe({run.output, bytes, kept, share_count, check_of(expected, false, nullptr)}, limits, stream,
                         notice);
        };
        if (ahead && thread_blocks != 0) wipe_output(thread_blocks);
        const std::span shares = std::span(mail.shares).first(HostShares::words_each * thread_blocks);
        std::size_t come = 0;
        wait(stream, thread_blocks != 0, [&] {
            while (come < shares.size() && load(shares[come]) >> 32 == scratch.shares.turn) ++come;
            return come == shares.size();
        });
        const Secret<Block> tag(thread_blocks != 0 ? Memory::sum_of(shares) : mail.result);
        right = expected.empty() || is_tag(*tag, expected);
        if (!right && bytes != 0) {
            if (!ahead || thread_blocks == 0) wipe_output(0);
            wait(stream, true, [&] { return load(mail.word) == notice.value; });
            mail.word = 0;
        }
        if (expected.empty()) *run.results = *tag;
        wipe({reinterpret_cast<std::uint8_t*>(shares.data()), shares.size_bytes()});
        wipe(mail.result);
    });
    return right;
}

}  // namespace warpaes::cuda
