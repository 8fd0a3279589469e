// Sources and sinks: the two ends of a pipeline.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "engine/engine.hpp"

namespace warpaes {

/// Called at intervals while a source or sink waits for another process. It may throw to stop waiting.
using WaitHook = std::function<void()>;

class Source {
public:
    virtual ~Source() = default;

    /// Returns Engine::unknown_length if the size is known only after reading to the end.
    [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;
    /// A sequential source is read from front to back by one thread at a time; any other source is read at any offset,
    /// by many threads at once.
    [[nodiscard]] virtual bool is_sequential() const noexcept = 0;
    /// Fills `buffer` with the data starting at `offset` and returns the number of bytes, which is less than requested
    /// only at the end.
    virtual std::size_t read(std::uint64_t offset, std::span<std::uint8_t> buffer) = 0;
    /// Like read(), but does not wait for more than one byte. Only for sequential sources. Returns 0 only at the end.
    virtual std::size_t read_some(std::uint64_t offset, std::span<std::uint8_t> buffer) { return read(offset, buffer); }
    /// The whole data, if a lane may access it in place; otherwise null.
    [[nodiscard]] virtual const std::uint8_t* data() const noexcept { return nullptr; }
    /// Whether threads may read the source between the caller's calls. A source that calls the caller's functions may
    /// not be read then.
    [[nodiscard]] virtual bool can_be_read_ahead() const noexcept { return false; }
    virtual void on_wait(WaitHook /*hook*/) {}
};

class Sink {
public:
    virtual ~Sink() = default;

    /// A sequential sink is written from front to back by one thread at a time; any other sink is written at any
    /// offset, by many threads at once.
    [[nodiscard]] virtual bool is_sequential() const noexcept = 0;
    /// Must be called before several threads start to write, with the number of threads that can run at once. Returns
    /// the minimum size of the pieces that these threads should write, or 0 if pieces may have any size.
    virtual std::uint64_t prepare_for(unsigned /*writers*/) { return 0; }
    /// Writes all of `bytes` or throws.
    virtual void write(std::uint64_t offset, std::span<const std::uint8_t> bytes) = 0;
    /// Called after all data has been written.
    virtual void finish() {}
    virtual void on_wait(WaitHook /*hook*/) {}
    /// Memory for the whole output, if a lane may access it in place; otherwise null.
    [[nodiscard]] virtual std::uint8_t* data() noexcept { return nullptr; }
};

/// `source` without its first `skip` bytes, limited to `size` bytes if `size` is set.
class SourceSlice final : public Source {
public:
    SourceSlice(Source& source, std::uint64_t skip, std::uint64_t size = Engine::unknown_length)
        : source_(source), skip_(skip), size_(size) {
        if (size == Engine::unknown_length && source.size() != Engine::unknown_length) size_ = source.size() - skip;
    }
    std::uint64_t size() const noexcept override { return size_; }
    bool is_sequential() const noexcept override { return source_.is_sequential(); }
    std::size_t read(std::uint64_t offset, std::span<std::uint8_t> buffer) override {
        if (size_ != Engine::unknown_length && buffer.size() > size_ - offset) {
            buffer = buffer.first(static_cast<std::size_t>(size_ - offset));
        }
        return source_.read(skip_ + offset, buffer);
    }
    void on_wait(WaitHook hook) override { source_.on_wait(std::move(hook)); }

private:
    Source& source_;
    std::uint64_t skip_;
    std::uint64_t size_;
};

/// A source whose beginning has already been read and can be read again.
class RewoundSource final : public Source {
public:
    /// Reads the first `bytes` bytes of `source`, or all of it if the source is shorter.
    RewoundSource(Source& source, std::size_t bytes);

    std::uint64_t size() const noexcept override { return source_.size(); }
    bool is_sequential() const noexcept override { return source_.is_sequential(); }
    std::size_t read(std::uint64_t offset, std::span<std::uint8_t> buffer) override;
    std::size_t read_some(std::uint64_t offset, std::span<std::uint8_t> buffer) override;
    void on_wait(WaitHook hook) override { source_.on_wait(std::move(hook)); }

    [[nodiscard]] std::span<const std::uint8_t> beginning() const noexcept { return beginning_; }
    [[nodiscard]] bool is_whole() const noexcept { return whole_; }

private:
    Source& source_;
    std::vector<std::uint8_t> beginning_;
    bool whole_;
};

/// Forwards the written bytes starting at byte `first`, at most `size` bytes, to `sink` starting at byte `to`. Without
/// a size, finish() also finishes `sink`.
class SinkSlice final : public Sink {
public:
    /// `sink` is null if nothing is kept. `in_order` means that this object must be written from front to back, even if
    /// `sink` need not be.
    SinkSlice(Sink* sink, std::uint64_t to, std::uint64_t first = 0, std::uint64_t size = Engine::unknown_length,
              bool in_order = false)
        : sink_(sink), to_(to), first_(first), size_(size), in_order_(in_order) {}
    bool is_sequential() const noexcept override { return in_order_ || (sink_ != nullptr && sink_->is_sequential()); }
    std::uint64_t prepare_for(unsigned writers) override { return sink_ != nullptr ? sink_->prepare_for(writers) : 0; }
    void write(std::uint64_t offset, std::span<const std::uint8_t> bytes) override;
    void finish() override {
        if (sink_ != nullptr && size_ == Engine::unknown_length) sink_->finish();
    }
    void on_wait(WaitHook hook) override {
        if (sink_ != nullptr) sink_->on_wait(std::move(hook));
    }

private:
    Sink* sink_;
    std::uint64_t to_, first_, size_;
    bool in_order_;
};

}  // namespace warpaes
