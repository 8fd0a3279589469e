// The location of a key, as the command line says it: a path, file:PATH, env:NAME, fd:N or exec:COMMAND.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace cli {

/// Up to 1 MiB of secret text, wiped on destruction.
class SecretText {
public:
    static constexpr std::size_t capacity = 1 << 20;

    SecretText() : bytes_(new char[capacity]) {}
    SecretText(SecretText&&) = default;
    SecretText& operator=(SecretText&&) = delete;
    ~SecretText();
    /// Reads everything from `fd` to its end. Throws Failure.
    void read(const std::string& what, int fd);
    void copy(const std::string& what, std::string_view text);
    /// `fill` gets room for `capacity` bytes and returns how many it has written.
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
    std::string name;  ///< of the place, for messages
    SecretText text;
};

/// Reads what lies at `place`, which `option` gave. Throws Failure. A file is noted as one that the command needs, with
/// a warning if others can read it.
PlacedKey read_key_place(const std::string& option, const std::string& place);

/// Throws Failure{NOT_FOUND} if there is no file `place` and the text may be a passphrase; the sentence does not repeat
/// it.
void refuse_passphrase(const std::string& option, const std::string& place);

/// Throws UsageError for a place of a kind that there is not, if no file has this name.
void refuse_unknown_kind(const std::string& option, const std::string& place);

/// Throws UsageError for a key in place of its location, because shell histories and process lists show it.
void refuse_key(const std::string& option, const char* place);

}  // namespace cli
