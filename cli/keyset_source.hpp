// Where the keys for files come from: a file, a descriptor or the environment; a Tink keyset, or a key and nothing
// else.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "command.hpp"

namespace cli {

/// Up to 1 MiB of secret text, wiped.
class SecretText {
public:
    static constexpr std::size_t capacity = 1 << 20;

    SecretText() : bytes_(new char[capacity]) {}
    SecretText(SecretText&&) = default;
    SecretText& operator=(SecretText&&) = delete;
    ~SecretText();
    /// Everything from `fd` to its end. Throws Failure.
    void read(const std::string& what, int fd);
    /// Room for `capacity` bytes, of which `fill` says how many it has taken.
    template <typename Fill>
    void fill(Fill fill) {
        size_ = fill(bytes_.get());
    }
    [[nodiscard]] std::string_view view() const noexcept { return {bytes_.get(), size_}; }

private:
    std::unique_ptr<char[]> bytes_;
    std::size_t size_ = 0;
};

struct Keys {
    Keyset keyset;
    bool raw = false;      ///< a key and nothing else: it has no number
    std::string format{};  ///< of a raw key, its template
};

/// `source`: a path, env:NAME or fd:N; nothing: what the environment variable WARPAES_KEYSET says in the same way.
/// `format`: the template of a raw key; nothing: by its length. Throws Failure; a key where its place belongs is
/// refused and hidden in `argv`. Warns of a file that others can read.
Keys load_keys(const std::optional<std::string>& source, const std::optional<std::string>& format, int argc,
               char** argv);

/// The same from an open file, which `name` names.
Keyset load_keyset_file(const std::string& name, int fd);

/// The number of a disabled key that a file would open with, if there is one: for who wonders why none does.
std::optional<std::uint32_t> disabled_key_of(warpaes_engine* engine, const warpaes_keyset* keyset,
                                             const std::string& path, const std::string& aad);

/// A keyset as JSON, for a file.
SecretText keyset_text(const warpaes_keyset* keyset);

}  // namespace cli
