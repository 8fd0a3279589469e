// Sources and sinks of every kind, and their expected results.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "engine/engine.hpp"
#include "engine/pipeline/cipher_stage.hpp"
#include "evp_oracle.hpp"

namespace warpaes::test {

using oracle::Bytes;

inline Bytes random_bytes(std::size_t n, unsigned seed) {
    std::mt19937 generator(seed);
    Bytes bytes(n);
    std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::uint8_t>(generator()); });
    return bytes;
}

struct ModeCase {
    Mode mode;
    const char* name;
};
inline constexpr ModeCase all_modes[] = {{Mode::ecb, "ECB"},   {Mode::cbc, "CBC"},   {Mode::cfb128, "CFB128"},
                                         {Mode::cfb8, "CFB8"}, {Mode::cfb1, "CFB1"}, {Mode::ofb, "OFB"},
                                         {Mode::ctr, "CTR"}};

/// Counts calls, and makes call number `at` and all later calls throw an exception.
class Fault {
public:
    explicit Fault(std::optional<int> at = std::nullopt) : at_(at) {}
    void call() {
        const int n = calls_++;
        if (at_ && n >= *at_) throw Error(WARPAES_ERROR_READ, "injected");
    }
    [[nodiscard]] int calls() const { return calls_; }

private:
    std::optional<int> at_;
    std::atomic<int> calls_{0};
};

class TestSource final : public Source {
public:
    enum class Kind { positional, sequential };
    TestSource(Bytes bytes, Kind kind, Fault* fault = nullptr) : bytes_(std::move(bytes)), kind_(kind), fault_(fault) {}
    std::uint64_t size() const noexcept override { return is_sequential() ? Engine::unknown_length : bytes_.size(); }
    bool is_sequential() const noexcept override { return kind_ == Kind::sequential; }
    std::size_t read(std::uint64_t offset, std::span<std::uint8_t> buffer) override {
        if (fault_ != nullptr) fault_->call();
        if (is_sequential()) {
            // The pipeline must read from start to end, and never after the end, because a terminal would then wait for
            // more input.
            if (offset != position_ || ended_) throw Error(WARPAES_ERROR_INTERNAL, "source was read out of order");
        }
        const std::size_t at = static_cast<std::size_t>(std::min<std::uint64_t>(offset, bytes_.size()));
        const std::size_t n = std::min(buffer.size(), bytes_.size() - at);
        std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(at), n, buffer.begin());
        if (is_sequential()) {
            position_ += n;
            ended_ = n < buffer.size();
        }
        return n;
    }

private:
    Bytes bytes_;
    Kind kind_;
    Fault* fault_;
    std::uint64_t position_ = 0;
    bool ended_ = false;
};

class TestSink final : public Sink {
public:
    enum class Kind { positional, sequential };
    explicit TestSink(Kind kind, Fault* fault = nullptr) : kind_(kind), fault_(fault) {}
    bool is_sequential() const noexcept override { return kind_ == Kind::sequential; }
    void write(std::uint64_t offset, std::span<const std::uint8_t> bytes) override {
        if (fault_ != nullptr) fault_->call();
        const std::lock_guard lock(mutex_);
        if (is_sequential() && offset != bytes_.size()) {
            throw Error(WARPAES_ERROR_INTERNAL, "sink was written out of order");
        }
        if (bytes_.size() < offset + bytes.size()) bytes_.resize(static_cast<std::size_t>(offset + bytes.size()), 0xa5);
        std::copy(bytes.begin(), bytes.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
    }
    void finish() override { finished_ = true; }
    [[nodiscard]] const Bytes& bytes() const { return bytes_; }
    [[nodiscard]] bool finished() const { return finished_; }

private:
    Kind kind_;
    Fault* fault_;
    std::mutex mutex_;
    Bytes bytes_;
    bool finished_ = false;
};

#ifndef WARPAES_TEST_BACKEND
#define WARPAES_TEST_BACKEND "auto"
#endif

/// Returns an engine with three workers and chunks of 4 KiB, so that short messages also have many chunks.
inline EngineOptions small_chunks() {
    return {.backend = WARPAES_TEST_BACKEND, .device = -1, .threads = 3, .depth = 0, .chunk_bytes = 4096};
}

/// Returns the status of the exception that `body` throws, or WARPAES_OK.
inline warpaes_status status_of(const std::function<void()>& body) {
    try {
        body();
    } catch (const Error& e) {
        return e.status();
    }
    return WARPAES_OK;
}

}  // namespace warpaes::test
