#include "format/read_ahead.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/error.hpp"
#include "base/process.hpp"
#include "base/secret.hpp"
#include "engine/engine.hpp"

namespace warpaes {

namespace {

/// The window size at the beginning of a sequence, and the maximum size. Two windows of the maximum size, and the
/// ciphertext being opened, fit in the last-level cache of most processors.
constexpr std::uint64_t first_window_bytes = std::uint64_t{512} << 10, most_window_bytes = std::uint64_t{8} << 20;
/// Adjacent reads count as sequential after this many bytes. Fewer bytes may be a single record that is read in pieces.
constexpr std::uint64_t least_run_bytes = std::uint64_t{128} << 10;
/// Longer reads are split among the threads directly, and are written directly to the caller's memory.
constexpr std::uint64_t most_read_bytes = most_window_bytes / 2;
/// A window has at least two segments.
constexpr std::uint64_t most_segment_bytes = most_window_bytes / 2;

constexpr std::uint64_t nowhere = ~std::uint64_t{0};

std::uint64_t offset_of(const SegmentCipher& cipher, const SegmentRange& range) {
    return cipher.layout().file_offset(range.first);
}

}  // namespace

WindowMemory::WindowMemory(std::size_t size) {
    constexpr std::size_t large = std::size_t{2} << 20;
    mapped_bytes_ = size + large;
    mapped_ = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped_ == MAP_FAILED) throw std::bad_alloc();
    const auto begin = reinterpret_cast<std::uintptr_t>(mapped_);
    data_ = static_cast<std::uint8_t*>(mapped_) + (large - begin % large) % large;
    madvise(data_, size, MADV_HUGEPAGE);  // only a hint
}

WindowMemory::~WindowMemory() {
    wipe({data_, used_});
    munmap(mapped_, mapped_bytes_);
}

/// A window being opened. `pipeline` is the last member, so that it is destroyed before the members that it uses.
struct ReadAhead::Next {
    Next(Engine& engine, const SegmentCipher& cipher, const SegmentRange& range, Source& source, const Plan& its_plan,
         Window its_window)
        : window(std::move(its_window)),
          plan(its_plan),
          ciphertext(source, offset_of(cipher, range), sealed_bytes(cipher.layout(), range)),
          in_memory(locate(plan, source.data() == nullptr ? nullptr : source.data() + offset_of(cipher, range),
                           ciphertext.size())),
          stage(cipher, Direction::decrypt, {plan.chunk_bytes, range.first, range.ends, ciphertext.size()}),
          sink({window.text->data(), window.bytes, true, -1}),
          pipeline(engine, plan, stage, source.data() != nullptr ? static_cast<Source&>(in_memory) : ciphertext, sink) {
    }

    const Home home;
    Window window;
    Plan plan;
    SourceSlice ciphertext;
    MemorySource in_memory;
    SegmentStage stage;
    MemorySink sink;
    BegunPipeline pipeline;
};

std::unique_ptr<ReadAhead> ReadAhead::over(Engine& engine, const SegmentCipher& cipher, const SegmentFormat& format,
                                           Source& source, std::uint64_t size) {
    if (engine.options().threads < 2 || !source.can_be_read_ahead() || cipher.layout().text > most_segment_bytes) {
        return nullptr;
    }
    return std::make_unique<ReadAhead>(engine, cipher, format, source, size);
}

ReadAhead::ReadAhead(Engine& engine, const SegmentCipher& cipher, const SegmentFormat& format, Source& source,
                     std::uint64_t size)
    : engine_(engine),
      cipher_(cipher),
      format_(format),
      source_(source),
      size_(size),
      segments_(cipher.layout().segments_of(size)),
      room_(static_cast<std::size_t>(std::min(size, std::max(most_window_bytes, 2 * cipher.layout().text)))),
      expected_(nowhere),
      window_bytes_(first_window_bytes) {}

ReadAhead::~ReadAhead() = default;

void ReadAhead::expect(std::uint64_t offset, std::uint64_t length) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return;
    if (offset != expected_) run_bytes_ = 0;
    in_sequence_ = offset == expected_ && run_bytes_ >= least_run_bytes && length <= most_read_bytes;
    run_bytes_ += length;
    expected_ = offset + length;
    if (in_sequence_) return;
    refused_ = false;
    window_bytes_ = first_window_bytes;
}

std::uint64_t ReadAhead::read(std::uint64_t offset, std::uint8_t* output, std::uint64_t length) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return 0;
    if (next_ != nullptr && !next_->home.is_here()) next_.reset();  // after fork() the threads belong to the parent
    std::uint64_t done = 0;
    while (done < length) {
        const std::uint64_t at = offset + done;
        if (window_.covers(at)) {
            const std::uint64_t n = std::min(length - done, window_.begin + window_.bytes - at);
            std::memcpy(output + done, window_.text->data() + (at - window_.begin), static_cast<std::size_t>(n));
            done += n;
        } else if (next_ != nullptr && next_->window.covers(at)) {
            if (!advance()) break;
        } else if (in_sequence_ && !refused_) {
            begin(cipher_.layout().segment_at(at));
            if (next_ == nullptr) break;
        } else {
            break;
        }
    }
    return done;
}

bool ReadAhead::advance() {
    try {
        next_->pipeline.finish();
    } catch (const std::exception&) {
        refused_ = true;
        next_.reset();
        return false;
    }
    spare_ = std::exchange(window_, std::move(next_->window)).text;
    next_.reset();
    begin(window_.first + window_.count);
    return true;
}

void ReadAhead::begin(std::uint64_t segment) {
    next_.reset();
    if (segment >= segments_ || refused_) return;
    const SegmentLayout& layout = cipher_.layout();
    const std::uint64_t count = std::min(std::max<std::uint64_t>(2, window_bytes_ / layout.text), segments_ - segment);
    const SegmentRange range = layout.range(segment, count, size_);
    Window window{.first = segment,
                  .count = count,
                  .begin = layout.text_offset(segment),
                  .bytes = text_bytes(layout, range),
                  .text = std::move(spare_)};
    try {
        Plan plan = plan_segments(engine_, format_, Direction::decrypt, sealed_bytes(layout, range));
        if (plan.backend->is_gpu()) {
            refused_ = true;  // the chunks are longer than one read
            return;
        }
        // The reader's own thread joins only when it needs the window, which may be later.
        plan.lanes = std::max(plan.lanes, 2U);
        if (window.text == nullptr) window.text = std::make_unique<WindowMemory>(room_);
        window.text->use(static_cast<std::size_t>(window.bytes));
        next_ = std::make_unique<Next>(engine_, cipher_, range, source_, plan, std::move(window));
        window_bytes_ = std::min(2 * window_bytes_, most_window_bytes);
    } catch (const std::exception&) {
        refused_ = true;  // out of memory, or no backend: the read reports the error
    }
}

}  // namespace warpaes
