// Computes the SHA-256 of a job's output or input while the job runs.
#pragma once

#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <memory>

#include "engine/pipeline/stream.hpp"

namespace warpaes {

using Sha256 = std::array<std::uint8_t, 32>;

/// A SHA-256 that is being computed.
class RunningDigest {
public:
    RunningDigest();
    void update(std::span<const std::uint8_t> bytes);
    /// After the last update.
    [[nodiscard]] Sha256 finish();

private:
    std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

/// Takes bytes in order, and hashes each piece in the thread that has just produced it and still has it in its cache.
class DigestSink final : public Sink {
public:
    explicit DigestSink(Sink& sink) : sink_(sink) {}
    bool is_sequential() const noexcept override { return true; }
    void write(std::uint64_t offset, std::span<const std::uint8_t> bytes) override;
    void finish() override { sink_.finish(); }
    void on_wait(WaitHook hook) override { sink_.on_wait(std::move(hook)); }
    /// After the last write.
    [[nodiscard]] Sha256 digest() { return digest_.finish(); }

private:
    Sink& sink_;
    RunningDigest digest_;
};

/// A source that is read in order and hashes each piece in the thread that has just read it. Bytes that are read again
/// are hashed once.
class DigestSource final : public Source {
public:
    /// Hashes the first `before` bytes of `file` first, which are in front of `source`. Throws Error{ARGUMENT} if the
    /// file is a pipe.
    DigestSource(Source& source, Source& file, std::uint64_t before);
    std::uint64_t size() const noexcept override { return source_.size(); }
    bool is_sequential() const noexcept override { return true; }
    std::size_t read(std::uint64_t offset, std::span<std::uint8_t> buffer) override;
    void on_wait(WaitHook hook) override { source_.on_wait(std::move(hook)); }
    /// May be called once all of the source has been read; otherwise throws.
    [[nodiscard]] Sha256 digest();

private:
    Source& source_;
    RunningDigest digest_;
    std::uint64_t hashed_ = 0;
};

}  // namespace warpaes
