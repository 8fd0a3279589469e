// SHA-256 of what is written, in passing.
#pragma once

#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <memory>

#include "engine/pipeline/stream.hpp"

namespace warpaes {

using Sha256 = std::array<std::uint8_t, 32>;

/// Takes bytes in order, and hashes each piece in the thread that has just made it and still has it in its cache.
class DigestSink final : public Sink {
public:
    explicit DigestSink(Sink& sink);
    bool is_sequential() const noexcept override { return true; }
    void write(std::uint64_t offset, std::span<const std::uint8_t> bytes) override;
    void finish() override { sink_.finish(); }
    void on_wait(WaitHook hook) override { sink_.on_wait(std::move(hook)); }
    /// After the last write.
    [[nodiscard]] Sha256 digest();

private:
    Sink& sink_;
    std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace warpaes
