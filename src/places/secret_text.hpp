// Secret text in memory that does not move and is wiped.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace warpaes::places {

class Host;

/// Less than 1 MiB of secret text, wiped on destruction.
class SecretText {
public:
    static constexpr std::size_t capacity = 1 << 20;

    SecretText() : bytes_(new char[capacity]) {}
    SecretText(SecretText&&) = default;
    SecretText& operator=(SecretText&&) = delete;
    ~SecretText();
    /// Reads everything from `fd` to its end. Throws Error{KEYSET} if the text has `capacity` bytes or more, and
    /// Error{READ} or Error{CANCELLED} if reading fails.
    void read(const std::string& what, int fd, Host& host);
    void copy(const std::string& what, std::string_view text);
    /// `fill` receives a buffer of `capacity` bytes and returns the number of bytes that it wrote.
    template <typename Fill>
    void fill(Fill fill) {
        size_ = fill(bytes_.get());
    }
    [[nodiscard]] std::string_view view() const noexcept { return {bytes_.get(), size_}; }

private:
    std::unique_ptr<char[]> bytes_;
    std::size_t size_ = 0;
};

}  // namespace warpaes::places
