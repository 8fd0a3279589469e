// Base64 (RFC 4648, section 4) as a filter around a source or a sink. Encoded text consists of lines of 64 characters
// or of a single line.
#pragma once

#include <openssl/evp.h>

#include <array>
#include <memory>
#include <vector>

#include "engine/pipeline/stream.hpp"

namespace warpaes {

/// Decodes base64 and skips white space anywhere. Throws Error{FORMAT} for any other character that is not base64, or
/// if the text ends in the middle of a group.
class Base64Source final : public Source {
public:
    explicit Base64Source(Source& encoded);
    std::uint64_t size() const noexcept override { return Engine::unknown_length; }
    bool is_sequential() const noexcept override { return true; }
    std::size_t read(std::uint64_t offset, std::span<std::uint8_t> buffer) override;
    void on_wait(WaitHook hook) override { encoded_.on_wait(std::move(hook)); }

private:
    bool decode_more();

    Source& encoded_;
    std::unique_ptr<EVP_ENCODE_CTX, decltype(&EVP_ENCODE_CTX_free)> context_;
    std::vector<std::uint8_t> text_;
    std::vector<std::uint8_t> decoded_;
    std::size_t used_ = 0;
    std::uint64_t text_offset_ = 0;
    bool closed_ = false;  ///< '=' has been read, so the data has ended
    bool ended_ = false;
};

class Base64Sink final : public Sink {
public:
    Base64Sink(Sink& encoded, bool one_line) : encoded_(encoded), one_line_(one_line) {}
    bool is_sequential() const noexcept override { return true; }
    void write(std::uint64_t offset, std::span<const std::uint8_t> bytes) override;
    void finish() override;
    void on_wait(WaitHook hook) override { encoded_.on_wait(std::move(hook)); }

private:
    /// Number of bytes encoded in a line of 64 characters.
    static constexpr std::size_t line_bytes = 48;
    void encode(std::span<const std::uint8_t> line);
    void flush();

    Sink& encoded_;
    const bool one_line_;
    std::array<std::uint8_t, line_bytes> rest_{};
    std::size_t rest_bytes_ = 0;
    std::vector<std::uint8_t> text_;
    std::uint64_t text_offset_ = 0;
};

}  // namespace warpaes
