#include "cuda/stream_copies.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "cuda/memory_place.hpp"
#include "cuda/tuning/host.hpp"

namespace warpaes::cuda {

namespace {

std::uint64_t bytes_of(const MessageGroup& g) {
    return g.count * g.length;
}

bool encrypts(const MessageGroup& g) {
    return g.direction == Direction::encrypt;
}

/// Returns the end of each part, as a number of groups. If the groups continue an encryption, the first part has
/// already been enqueued.
std::vector<std::size_t> part_ends(std::span<const MessageGroup> groups, bool continues) {
    const std::size_t all = groups.size();
    const bool shortest_first = encrypts(groups.front());
    std::uint64_t left = 0, step = CopiedParts::least;
    if (continues && shortest_first) step *= CopiedParts::growth;
    for (const MessageGroup& g : groups) {
        if (encrypts(g) != shortest_first) return {all};  // encryption needs the reverse order of copies
        left += bytes_of(g);
    }
    std::vector<std::size_t> ends;
    for (std::size_t done = 0; done < all;) {
        std::size_t next = done;
        std::uint64_t part = 0;
        while (next < all && part < step) part += bytes_of(groups[shortest_first ? next++ : all - 1 - next++]);
        if (left - part < step) next = all;  // the rest would be shorter than this part
        left -= part;
        ends.push_back(shortest_first ? next : all - done);
        done = next;
        step *= CopiedParts::growth;
    }
    if (!shortest_first) std::reverse(ends.begin(), ends.end());
    return ends;
}

/// Copies the texts of some groups in one direction. Adjacent texts are copied together.
class TextCopies {
public:
    TextCopies(Direction direction, cudaStream_t stream) : direction_(direction), stream_(stream) {}

    void enqueue(std::span<const MessageGroup> groups, std::span<std::uint8_t* const> copies) {
        for (std::size_t i = 0; i < groups.size(); ++i) {
            const MessageGroup& g = groups[i];
            if (copies[i] != nullptr && g.direction == direction_) {
                add(encrypts(g) ? g.output.first : g.input.first, copies[i], bytes_of(g));
            }
        }
        flush();
    }

private:
    void add(std::uint8_t* on_device, std::uint8_t* host, std::uint64_t bytes) {
        (void)devices_.of(on_device);
        (void)hosts_.of(host);
        // A copy may not extend from one allocation into another, even if they are adjacent.
        if (bytes_ == 0 || on_device != on_device_ + bytes_ || host != host_ + bytes_ ||
            devices_.first() != device_in_ || hosts_.first() != host_in_) {
            flush();
            on_device_ = on_device;
            host_ = host;
            device_in_ = devices_.first();
            host_in_ = hosts_.first();
        }
        bytes_ += bytes;
    }
    void flush() {
        if (bytes_ == 0) return;
        if (direction_ == Direction::encrypt) {
            check(cudaMemcpyAsync(host_, on_device_, bytes_, cudaMemcpyDeviceToHost, stream_), "copying texts");
        } else {
            check(cudaMemcpyAsync(on_device_, host_, bytes_, cudaMemcpyHostToDevice, stream_), "copying texts");
        }
        bytes_ = 0;
    }

    Direction direction_;
    cudaStream_t stream_;
    PlaceFinder devices_, hosts_;
    std::uint8_t *on_device_ = nullptr, *host_ = nullptr;
    std::uintptr_t device_in_ = 0, host_in_ = 0;
    std::uint64_t bytes_ = 0;
};

}  // namespace

/// Exclusive use of a queue by one call, until the destructor runs.
class StreamCopies::Lease {
public:
    Lease(StreamCopies& owner, cudaStream_t caller) : owner_(owner), caller_(caller) {
        const std::lock_guard lock(owner_.mutex_);
        queue_ = owner_.find(caller);
        continues_ = queue_->open;
        queue_->taken = true;
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() {
        const std::lock_guard lock(owner_.mutex_);
        queue_->taken = false;
        queue_->open = left_open_;
    }
    [[nodiscard]] Queue& queue() const noexcept { return *queue_; }
    /// Whether an earlier call has left the queue open.
    [[nodiscard]] bool continues() const noexcept { return continues_; }
    void leave_open() {
        const std::lock_guard lock(owner_.mutex_);
        queue_->open = left_open_ = true;
        queue_->caller = caller_;
    }
    /// Makes the caller's stream wait for all its copies. If several threads use the stream, one of them may have left
    /// copies in a queue that another one uses now.
    void close() {
        const std::lock_guard lock(owner_.mutex_);
        for (const auto& each : owner_.queues_) {
            if (each->open && each->caller == caller_ && each.get() != queue_) {
                queue_->event.order(each->stream.get(), caller_);
            }
        }
        queue_->event.order(queue_->stream.get(), caller_);
    }

private:
    StreamCopies& owner_;
    cudaStream_t caller_;
    Queue* queue_;
    bool continues_, left_open_ = false;
};

StreamCopies::Queue* StreamCopies::find(cudaStream_t caller) {
    constexpr std::size_t enough = 8;
    Queue* found = nullptr;
    for (const auto& queue : queues_) {
        if (queue->open && !queue->taken && queue->caller == caller) return queue.get();
    }
    for (const auto& queue : queues_) {
        if (queue->taken || queue->open) continue;
        found = queue.get();
        if (try_to(cudaEventQuery(queue->event.get()))) return found;
    }
    // The copies of a queue that is not idle would delay the copies of this batch.
    if (found == nullptr || queues_.size() < enough) found = queues_.emplace_back(std::make_unique<Queue>()).get();
    return found;
}

void StreamCopies::enqueue(std::span<const MessageGroup> groups, std::span<std::uint8_t* const> copies, bool more,
                           cudaStream_t stream, const Enqueue& enqueue) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(stream, &status), "querying the capture status");
    std::optional<Lease> lease;
    if (status == cudaStreamCaptureStatusNone) lease.emplace(*this, stream);
    const cudaStream_t own = lease ? lease->queue().stream.get() : stream;
    const bool continues = lease && lease->continues();
    const auto order = [&](cudaStream_t earlier, cudaStream_t later) {
        if (lease) lease->queue().event.order(earlier, later);
    };
    const auto has = [&](Direction direction) {
        return std::any_of(groups.begin(), groups.end(),
                           [&](const MessageGroup& g) { return g.direction == direction; });
    };
    const bool in = has(Direction::decrypt), out = has(Direction::encrypt);
    TextCopies copies_in(Direction::decrypt, own), copies_out(Direction::encrypt, own);
    try {
        if (in) order(stream, own);
        std::size_t begin = 0;
        for (const std::size_t end : part_ends(groups, continues)) {
            const auto part = groups.subspan(begin, end - begin);
            const auto its_copies = copies.subspan(begin, end - begin);
            begin = end;
            if (in) {
                copies_in.enqueue(part, its_copies);
                order(own, stream);
            }
            enqueue(part);
            if (out) {
                order(stream, own);
                copies_out.enqueue(part, its_copies);
            }
        }
        if (!lease) return;
        if (more) return lease->leave_open();
        if (out || continues) lease->close();
    } catch (...) {
        // The caller may free the memory of earlier parts.
        try_to(cudaStreamSynchronize(own));
        try_to(cudaStreamSynchronize(stream));
        throw;
    }
}

void StreamCopies::finish(cudaStream_t stream) {
    {
        const std::lock_guard lock(mutex_);
        const auto is_its = [&](const auto& queue) { return queue->open && queue->caller == stream; };
        if (std::none_of(queues_.begin(), queues_.end(), is_its)) return;
    }
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(stream, &status), "querying the capture status");
    if (status == cudaStreamCaptureStatusNone) Lease(*this, stream).close();
}

}  // namespace warpaes::cuda
