#include "format/base64.hpp"

#include <algorithm>
#include <cctype>
#include <new>

#include "base/error.hpp"

namespace warpaes {

namespace {

constexpr std::size_t text_chunk = 64 * 1024;

constexpr const char* text_lines = "; remove lines of other text around it (openssl skips some of them)";

[[noreturn]] void refuse(const std::string& why) {
    throw Error(WARPAES_ERROR_FORMAT, "input: is not valid base64: " + why);
}

}  // namespace

Base64Source::Base64Source(Source& encoded)
    : encoded_(encoded), context_(EVP_ENCODE_CTX_new(), &EVP_ENCODE_CTX_free), text_(text_chunk) {
    if (context_ == nullptr) throw std::bad_alloc();
    EVP_DecodeInit(context_.get());
}

std::size_t Base64Source::read(std::uint64_t /*offset*/, std::span<std::uint8_t> buffer) {
    std::size_t have = 0;
    while (have < buffer.size()) {
        if (used_ == decoded_.size() && !decode_more()) break;
        const std::size_t n = std::min(buffer.size() - have, decoded_.size() - used_);
        std::copy_n(decoded_.begin() + static_cast<std::ptrdiff_t>(used_), n, buffer.data() + have);
        used_ += n;
        have += n;
    }
    return have;
}

bool Base64Source::decode_more() {
    decoded_.clear();
    used_ = 0;
    if (ended_) return false;
    std::span<const std::uint8_t> text(text_.data(), encoded_.read(text_offset_, text_));
    text_offset_ += text.size();
    ended_ = text.size() < text_.size();
    if (std::find(text.begin(), text.end(), '-') != text.end())
        refuse(std::string("unexpected '-'") + text_lines);  // libcrypto treats '-' as the end of the data
    if (closed_ && !std::all_of(text.begin(), text.end(), [](std::uint8_t c) { return std::isspace(c) != 0; })) {
        refuse("there is data after the final '='");
    }
    decoded_.resize(text.size() + 64);  // also has room for up to 64 pending characters
    int bytes = 0, last = 0;
    if (!closed_) {
        const int status =
            EVP_DecodeUpdate(context_.get(), decoded_.data(), &bytes, text.data(), static_cast<int>(text.size()));
        if (status < 0) refuse(std::string("it has an invalid character") + text_lines);
        closed_ = status == 0 && bytes != 0;
    }
    if (ended_ && EVP_DecodeFinal(context_.get(), decoded_.data() + bytes, &last) < 0) {
        refuse("it ends within a group of four characters, so it may be truncated");
    }
    decoded_.resize(static_cast<std::size_t>(bytes) + static_cast<std::size_t>(last));
    return !decoded_.empty() || !ended_;
}

void Base64Sink::write(std::uint64_t /*offset*/, std::span<const std::uint8_t> bytes) {
    if (rest_bytes_ != 0) {
        const std::size_t n = std::min(line_bytes - rest_bytes_, bytes.size());
        std::copy_n(bytes.begin(), n, rest_.begin() + static_cast<std::ptrdiff_t>(rest_bytes_));
        rest_bytes_ += n;
        bytes = bytes.subspan(n);
        if (rest_bytes_ < line_bytes) return;
        encode(rest_);
        rest_bytes_ = 0;
    }
    for (; bytes.size() >= line_bytes; bytes = bytes.subspan(line_bytes)) {
        encode(bytes.first(line_bytes));
        if (text_.size() >= text_chunk) flush();
    }
    std::copy(bytes.begin(), bytes.end(), rest_.begin());
    rest_bytes_ = bytes.size();
}

void Base64Sink::finish() {
    if (rest_bytes_ != 0) encode(std::span(rest_).first(rest_bytes_));
    rest_bytes_ = 0;
    flush();
    encoded_.finish();
}

void Base64Sink::encode(std::span<const std::uint8_t> line) {
    std::array<std::uint8_t, line_bytes / 3 * 4 + 1> characters;  // libcrypto appends a NUL
    const int n = EVP_EncodeBlock(characters.data(), line.data(), static_cast<int>(line.size()));
    text_.insert(text_.end(), characters.begin(), characters.begin() + n);
    if (!one_line_) text_.push_back('\n');
}

void Base64Sink::flush() {
    if (!text_.empty()) encoded_.write(text_offset_, text_);
    text_offset_ += text_.size();
    text_.clear();
}

}  // namespace warpaes
