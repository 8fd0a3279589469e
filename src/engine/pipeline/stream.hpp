// Where data comes from and where it goes: the two ends of a pipeline.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "engine/engine.hpp"

namespace warpaes {

/// Called now and then while an end waits for its other side; throws to give up waiting.
using WaitHook = std::function<void()>;

class Source {
public:
    virtual ~Source() = default;

    /// Engine::unknown_length if only reading to the end tells.
    [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;
    /// Sequential: read front to back by one thread at a time. Otherwise anywhere, by many at once.
    [[nodiscard]] virtual bool is_sequential() const noexcept = 0;
    /// Fills `buffer` with what begins at `offset`, and returns how much that was: less than asked for only at the end.
    virtual std::size_t read(std::uint64_t offset, std::span<std::uint8_t> buffer) = 0;
    /// The whole of it, where a lane may work on it as it lies; else null.
    [[nodiscard]] virtual const std::uint8_t* data() const noexcept { return nullptr; }
    /// It may be read while no call of the caller's is in progress: nothing of his is called.
    [[nodiscard]] virtual bool can_be_read_ahead() const noexcept { return false; }
    virtual void on_wait(WaitHook /*hook*/) {}
};

class Sink {
public:
    virtual ~Sink() = default;

    /// Sequential: written front to back by one thread at a time. Otherwise anywhere, by many at once.
    [[nodiscard]] virtual bool is_sequential() const noexcept = 0;
    /// Takes all of `bytes` or throws.
    virtual void write(std::uint64_t offset, std::span<const std::uint8_t> bytes) = 0;
    /// Everything has been written.
    virtual void finish() {}
    virtual void on_wait(WaitHook /*hook*/) {}
    /// Room for the whole of it, where a lane may work on it as it lies; else null.
    [[nodiscard]] virtual std::uint8_t* data() noexcept { return nullptr; }
};

/// `source` without its first `skip` bytes, and if `size` is given only so much of it.
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

/// A source whose beginning was read already, and is read once more.
class RewoundSource final : public Source {
public:
    /// Reads the first `bytes` bytes of `source`, or all that it has.
    RewoundSource(Source& source, std::size_t bytes);

    std::uint64_t size() const noexcept override { return source_.size(); }
    bool is_sequential() const noexcept override { return source_.is_sequential(); }
    std::size_t read(std::uint64_t offset, std::span<std::uint8_t> buffer) override;
    void on_wait(WaitHook hook) override { source_.on_wait(std::move(hook)); }

    [[nodiscard]] std::span<const std::uint8_t> beginning() const noexcept { return beginning_; }
    [[nodiscard]] bool is_whole() const noexcept { return whole_; }

private:
    Source& source_;
    std::vector<std::uint8_t> beginning_;
    bool whole_;
};

/// Passes on what is written to it from byte `first` on, `size` bytes at the most, to byte `to` of `sink` and on. One
/// without a size ends with the sink.
class SinkSlice final : public Sink {
public:
    /// `sink`: null if nothing is to be kept. `in_order`: it is written front to back, whatever it could.
    SinkSlice(Sink* sink, std::uint64_t to, std::uint64_t first = 0, std::uint64_t size = Engine::unknown_length,
              bool in_order = false)
        : sink_(sink), to_(to), first_(first), size_(size), in_order_(in_order) {}
    bool is_sequential() const noexcept override { return in_order_ || (sink_ != nullptr && sink_->is_sequential()); }
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
