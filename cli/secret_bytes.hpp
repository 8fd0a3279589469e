// Keys and passphrases in memory that is never reallocated, and is wiped on destruction.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace cli {

/// Up to `capacity` secret bytes, stored in the object and wiped on destruction.
class SecretBytes {
public:
    static constexpr std::size_t capacity = 4096;

    SecretBytes() = default;
    SecretBytes(const SecretBytes& other) : bytes_(other.bytes_), size_(other.size_) {}
    SecretBytes& operator=(const SecretBytes&) = default;
    ~SecretBytes() { explicit_bzero(bytes_.data(), bytes_.size()); }

    /// Returns false if the object is full.
    bool push_back(char c) noexcept {
        if (size_ == capacity) return false;
        bytes_[size_++] = c;
        return true;
    }
    void truncate(std::size_t size) noexcept { size_ = size; }
    [[nodiscard]] const char* data() const noexcept { return bytes_.data(); }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::string_view view() const noexcept { return {bytes_.data(), size_}; }
    [[nodiscard]] const unsigned char* bytes() const noexcept {
        return reinterpret_cast<const unsigned char*>(bytes_.data());
    }

private:
    std::array<char, capacity> bytes_{};
    std::size_t size_ = 0;
};

}  // namespace cli
