// Reads locations: a path, file:PATH, env:NAME, fd:N or exec:COMMAND. The text is kept in memory that does not move and
// is wiped.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "places/host.hpp"

namespace warpaes::places {

/// Less than 1 MiB of secret text, wiped on destruction.
class SecretText {
public:
    static constexpr std::size_t capacity = 1 << 20;

    SecretText() : bytes_(new char[capacity]) {}
    SecretText(SecretText&&) = default;
    SecretText& operator=(SecretText&&) = delete;
    ~SecretText();
    /// Reads `fd` up to the end of the file. Throws Error{KEYSET} if the text has `capacity` bytes or more, and
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

struct PlacedKey {
    std::string name;  ///< name of the location, for messages
    SecretText text;
};

/// Reads the file, variable or program output at `location`, the value of the argument `option`. Throws Error.
PlacedKey read_location(const std::string& option, const std::string& location, Host& host);

/// Reads a passphrase: one line of any bytes, without its line ending. No message repeats `location`, which may be the
/// passphrase itself. Throws Error.
PlacedKey read_passphrase_at(const std::string& option, const std::string& location, Host& host);

/// Maximum length of a passphrase in bytes.
inline constexpr std::size_t most_passphrase = 4096;

/// Returns the passphrase in `text`: one line, without its line ending. Throws Error{ARGUMENT} if there are several
/// lines or none; the message begins with `option`.
std::string_view passphrase_in(const std::string& option, std::string_view text);

/// Throws Error{ARGUMENT} if `location`, which is not a file, has a kind that does not exist, or that only the Python
/// package supports.
void refuse_unknown_kind(const std::string& option, const std::string& location);

/// Throws Error{ARGUMENT} if `location` is the key itself, because shell histories and process lists would show it.
void refuse_key(const std::string& option, const char* location);

}  // namespace warpaes::places
