// Computes the SHA-256 of a job's output or input while the job runs.
#pragma once

#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <memory>

#include "engine/pipeline/stream.hpp"

namespace warpaes {

using Sha256 = std::array<std::uint8_t, 32>;

/// A SHA-256 computation in progress.
class RunningDigest {
public:
    RunningDigest();
    void update(std::span<const std::uint8_t> bytes);
    /// Must be called after the last update.
    [[nodiscard]] Sha256 finish();

private:
    std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

/// A sink that receives bytes in order, and hashes each piece on the thread that has just produced it, whose cache
/// still contains the piece.
class DigestSink final : public Sink {
public:
    explicit DigestSink(Sink& sink) : sink_(sink) {}
    bool is_sequential() const noexcept override { return true; }
    void write(std::uint64_t offset, std::span<const std::uint8_t> bytes) override;
    void finish() override { sink_.finish(); }
    void on_wait(WaitHook hook) override { sink_.on_wait(std::move(hook)); }
    /// Must be called after the last write.
    [[nodiscard]] Sha256 digest() { return digest_.finish(); }

private:
    Sink& sink_;
    RunningDigest digest_;
};

/// A source that is read in order and hashes each piece on the thread that has just read it. Bytes that are read again
/// are hashed only once.
class DigestSource final : public Source {
public:
    /// Begins by hashing the first `before` bytes of `file`, which precede `source`. Throws Error{ARGUMENT} if the file
    /// is a pipe.
    DigestSource(Source& source, Source& file, std::uint64_t before);
    std::uint64_t size() const noexcept override { return source_.size(); }
    bool is_sequential() const noexcept override { return true; }
    std::size_t read(std::uint64_t offset, std::span<std::uint8_t> buffer) override;
    void on_wait(WaitHook hook) override { source_.on_wait(std::move(hook)); }
    /// Throws unless the whole source has been read.
    [[nodiscard]] Sha256 digest();

private:
    Source& source_;
    RunningDigest digest_;
    std::uint64_t hashed_ = 0;
};

}  // namespace warpaes
