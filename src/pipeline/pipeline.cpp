#include "pipeline/pipeline.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "aes/pkcs7.hpp"
#include "base/error.hpp"
#include "base/secret.hpp"
#include "engine/chain.hpp"
#include "pipeline/turns.hpp"

namespace warpaes {

namespace {

/// Counts what is done and tells the caller now and then.
class Reporter {
public:
    Reporter(const Progress& progress, std::uint64_t total) : progress_(progress), total_(total) {}

    void add(std::uint64_t bytes) {
        done_.fetch_add(bytes, std::memory_order_relaxed);
        tell();
    }
    /// Throws Error{CANCELLED} if the caller wants no more. Cheap: the caller hears of it 50 times a second at most.
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

struct Chunk {
    std::uint64_t index = 0;
    std::uint64_t offset = 0;
    std::size_t bytes = 0;
    bool last = false;
    const std::uint8_t* input = nullptr;
    std::uint8_t* output = nullptr;
    Block before{};  ///< ciphertext just before it, as much as there is, right-aligned
};

class Pipeline {
public:
    Pipeline(Engine& engine, const Plan& plan, const Cipher& cipher, Source& source, Sink& sink,
             const Progress& progress);
    Totals run();

private:
    void work(unsigned worker) noexcept;
    void loop(Lane& lane);
    bool take(Chunk& chunk, Lane& lane);
    bool read_any(Chunk& chunk, Lane& lane);
    bool read_in_turn(Chunk& chunk, Lane& lane);
    void fill(Chunk& chunk, std::span<std::uint8_t> staging);
    void read_before(Chunk& chunk);
    bool process(Chunk& chunk, Lane& lane);
    bool run(const Chunk& chunk, Lane& lane);
    void pad(Chunk& chunk, Lane& lane);
    void unpad(Chunk& chunk);
    bool write(const Chunk& chunk);
    void check_length(std::uint64_t bytes) const;
    void remember_boundaries();
    void fail(std::exception_ptr error) noexcept;

    Engine& engine_;
    const Plan& plan_;
    const Cipher& cipher_;
    Source& source_;
    Sink& sink_;

    const bool in_turn_;  ///< reading
    const bool serial_;   ///< processing
    const bool needs_before_;
    const std::uint8_t* const direct_input_;
    std::uint8_t* const direct_output_;
    const std::uint64_t size_;
    std::uint64_t chunks_ = Engine::unknown_length;
    Reporter reporter_;

    std::atomic<std::uint64_t> next_{0};
    std::atomic<bool> stopped_{false};
    std::atomic<std::uint64_t> read_{0};
    std::atomic<std::uint64_t> written_{0};
    Turns read_turns_, process_turns_, write_turns_;

    // Whoever has the turn to read:
    bool ended_ = false;
    std::uint64_t read_offset_ = 0;
    std::optional<std::uint8_t> ahead_;  ///< one byte read beyond the last chunk, which so is known not to be the last
    Block tail_{};
    // Whoever has the turn to process:
    Secret<Block> chain_;  ///< for OFB a block of the key stream

    std::vector<Block> boundaries_;  ///< in place: the ciphertext before each chunk, saved from being overwritten
    std::mutex error_mutex_;
    std::exception_ptr error_;
};

/// The last 16 bytes of `block` followed by `bytes`.
void shift_in(Block& block, std::span<const std::uint8_t> bytes) {
    const std::size_t n = std::min(bytes.size(), block_bytes);
    std::copy(block.begin() + static_cast<std::ptrdiff_t>(n), block.end(), block.begin());
    std::copy(bytes.end() - static_cast<std::ptrdiff_t>(n), bytes.end(), block.end() - static_cast<std::ptrdiff_t>(n));
}

Pipeline::Pipeline(Engine& engine, const Plan& plan, const Cipher& cipher, Source& source, Sink& sink,
                   const Progress& progress)
    : engine_(engine),
      plan_(plan),
      cipher_(cipher),
      source_(source),
      sink_(sink),
      in_turn_(source.is_sequential()),
      serial_(!is_parallel(cipher.mode, cipher.direction)),
      needs_before_(chains_on_ciphertext(cipher.mode, cipher.direction)),
      direct_input_(cipher.pkcs7 ? nullptr : source.data()),  // padding needs room behind the data
      direct_output_(cipher.pkcs7 ? nullptr : sink.data()),
      size_(source.size()),
      reporter_(progress, source.size()),
      chain_(cipher.iv) {
    if (size_ != Engine::unknown_length) {
        check_length(size_);
        chunks_ = std::max<std::uint64_t>(1, size_ / plan.chunk_bytes + (size_ % plan.chunk_bytes != 0));
    }
    if (needs_before_ && cipher.in_place) remember_boundaries();
}

void Pipeline::check_length(std::uint64_t bytes) const {
    if (!needs_whole_blocks(cipher_.mode)) return;
    const bool encrypt = cipher_.direction == Direction::encrypt;
    if (cipher_.pkcs7 && encrypt) return;
    if (bytes % block_bytes != 0) {
        throw Error(
            WARPAES_ERROR_DATA_LENGTH,
            "input: is " + std::to_string(bytes) + " bytes, but " +
                (encrypt ? "ECB and CBC without padding take whole 16-byte blocks"
                         : "a ciphertext of ECB or CBC is whole 16-byte blocks: truncated, or not such a file"));
    }
    if (cipher_.pkcs7 && bytes == 0) {
        throw Error(WARPAES_ERROR_DATA_LENGTH, "input: is empty, but a padded ciphertext has at least 16 bytes");
    }
}

void Pipeline::remember_boundaries() {
    boundaries_.resize(static_cast<std::size_t>(chunks_));
    for (std::uint64_t i = 1; i < chunks_; ++i) {
        (void)source_.read(i * plan_.chunk_bytes - block_bytes, boundaries_[static_cast<std::size_t>(i)]);
    }
}

Totals Pipeline::run() {
    const WaitHook hook = [this] {
        if (stopped_) throw Error(WARPAES_ERROR_CANCELLED, "cancelled");  // never seen: an earlier error stopped us
        reporter_.tell();
    };
    source_.on_wait(hook);
    sink_.on_wait(hook);
    {
        std::vector<std::jthread> threads;
        for (unsigned worker = 1; worker < plan_.lanes; ++worker) {
            try {
                threads.emplace_back([this, worker] { work(worker); });
            } catch (const std::system_error&) {
                break;  // No more threads to be had: those that run do all the work.
            }
        }
        work(0);
    }
    source_.on_wait({});
    if (!error_) sink_.finish();
    sink_.on_wait({});
    if (error_) std::rethrow_exception(error_);
    reporter_.tell_the_end();
    return {read_, written_};
}

void Pipeline::work(unsigned worker) noexcept {
    try {
        const bool staged = direct_input_ == nullptr || direct_output_ == nullptr;
        // Padding may add a block to a chunk.
        LaneLease lane =
            engine_.lease(plan_, worker, staged ? static_cast<std::size_t>(plan_.chunk_bytes) + block_bytes : 0);
        lane.used(static_cast<std::size_t>(std::min(size_, plan_.chunk_bytes)) + block_bytes);
        loop(*lane);
    } catch (...) {
        fail(std::current_exception());
    }
}

void Pipeline::fail(std::exception_ptr error) noexcept {
    {
        const std::lock_guard lock(error_mutex_);
        if (!error_) error_ = std::move(error);
    }
    stopped_ = true;
    for (Turns* turns : {&read_turns_, &process_turns_, &write_turns_}) turns->stop();
}

void Pipeline::loop(Lane& lane) {
    Chunk chunk;
    while (!stopped_ && take(chunk, lane)) {
        const std::size_t bytes = chunk.bytes;
        if (!process(chunk, lane) || !write(chunk)) return;
        reporter_.add(bytes);
    }
}

bool Pipeline::take(Chunk& chunk, Lane& lane) {
    chunk.index = next_++;
    if (!in_turn_) return read_any(chunk, lane);
    if (!read_turns_.wait(chunk.index)) return false;
    const bool more = read_in_turn(chunk, lane);
    read_turns_.pass();
    return more;
}

bool Pipeline::read_any(Chunk& chunk, Lane& lane) {
    if (chunk.index >= chunks_) return false;
    chunk.offset = chunk.index * plan_.chunk_bytes;
    chunk.bytes = static_cast<std::size_t>(std::min(plan_.chunk_bytes, size_ - chunk.offset));
    chunk.last = chunk.index + 1 == chunks_;
    if (needs_before_) read_before(chunk);
    if (direct_input_ != nullptr) {
        chunk.input = direct_input_ + chunk.offset;
    } else {
        const auto staging = lane.input_staging();
        if (source_.read(chunk.offset, staging.first(chunk.bytes)) != chunk.bytes) {
            throw Error(WARPAES_ERROR_READ, "input: became shorter while it was read");
        }
        chunk.input = staging.data();
    }
    read_ += chunk.bytes;
    return true;
}

void Pipeline::read_before(Chunk& chunk) {
    if (chunk.index == 0) return;
    if (!boundaries_.empty()) {
        chunk.before = boundaries_[static_cast<std::size_t>(chunk.index)];
    } else if (source_.read(chunk.offset - block_bytes, chunk.before) != block_bytes) {
        throw Error(WARPAES_ERROR_READ, "input: became shorter while it was read");
    }
}

bool Pipeline::read_in_turn(Chunk& chunk, Lane& lane) {
    if (ended_) return false;
    const auto staging = lane.input_staging().first(static_cast<std::size_t>(plan_.chunk_bytes));
    chunk.offset = read_offset_;
    chunk.input = staging.data();
    fill(chunk, staging);
    chunk.before = tail_;
    shift_in(tail_, staging.first(chunk.bytes));
    read_offset_ += chunk.bytes;
    read_ += chunk.bytes;
    if (ended_) check_length(read_offset_);
    return true;
}

void Pipeline::fill(Chunk& chunk, std::span<std::uint8_t> staging) {
    std::size_t have = 0;
    if (ahead_) staging[have++] = *ahead_;
    have += source_.read(read_offset_ + have, staging.subspan(have));
    ahead_.reset();
    if (have == staging.size()) {
        std::uint8_t byte = 0;
        if (source_.read(read_offset_ + have, {&byte, 1}) == 1) ahead_ = byte;
    }
    chunk.bytes = have;
    chunk.last = ended_ = !ahead_;
}

bool Pipeline::process(Chunk& chunk, Lane& lane) {
    const bool encrypt = cipher_.direction == Direction::encrypt;
    const bool padded = cipher_.pkcs7 && chunk.last;
    // In place within the staging: the chunk stays in the cache once instead of twice.
    if (direct_output_ != nullptr) {
        chunk.output = direct_output_ + chunk.offset;
    } else {
        chunk.output = direct_input_ != nullptr ? lane.output_staging().data() : lane.input_staging().data();
    }
    if (padded && encrypt) pad(chunk, lane);
    if (!run(chunk, lane)) return false;
    if (padded && !encrypt) unpad(chunk);
    return true;
}

bool Pipeline::run(const Chunk& chunk, Lane& lane) {
    Run run{cipher_.mode, cipher_.direction, cipher_.key, chunk.input, chunk.output, chunk.bytes, cipher_.iv};
    if (cipher_.mode == Mode::cfb1) run.length = run.length * 8 - (chunk.last ? cipher_.unused_bits : 0);
    if (serial_) {
        if (!process_turns_.wait(chunk.index)) return false;
        run.chain = *chain_;
        const ChainAfter after(run);
        lane.run(run);
        if (!chunk.last) *chain_ = after.value(run);
        process_turns_.pass();
    } else {
        const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(chunk.offset, block_bytes));
        run.chain = chain_at(cipher_.mode, cipher_.iv, chunk.offset, std::span(chunk.before).last(n));
        lane.run(run);
    }
    return true;
}

void Pipeline::pad(Chunk& chunk, Lane& lane) {
    const std::size_t used = chunk.bytes % block_bytes;
    std::uint8_t* at = lane.input_staging().data() + (chunk.bytes - used);
    Secret<Block> block;
    std::copy_n(at, used, block->begin());
    pkcs7_pad(*block, used);
    std::copy(block->begin(), block->end(), at);
    chunk.bytes += block_bytes - used;
}

void Pipeline::unpad(Chunk& chunk) {
    Secret<Block> block;
    std::copy_n(chunk.output + chunk.bytes - block_bytes, block_bytes, block->begin());
    const std::size_t kept = pkcs7_unpad(*block);
    if (kept == block_bytes) refuse_padding();
    chunk.bytes -= block_bytes - kept;
}

bool Pipeline::write(const Chunk& chunk) {
    const bool in_turn = sink_.is_sequential();
    if (in_turn && !write_turns_.wait(chunk.index)) return false;
    if (direct_output_ == nullptr && chunk.bytes != 0) sink_.write(chunk.offset, {chunk.output, chunk.bytes});
    if (in_turn) write_turns_.pass();
    written_ += chunk.bytes;
    return true;
}

}  // namespace

void refuse_padding() {
    throw Error(WARPAES_ERROR_PADDING,
                "input: the padding is wrong: wrong key or passphrase, wrong IV or damaged data");
}

Totals run_pipeline(Engine& engine, const Plan& plan, const Cipher& cipher, Source& source, Sink& sink,
                    const Progress& progress) {
    return Pipeline(engine, plan, cipher, source, sink, progress).run();
}

}  // namespace warpaes
