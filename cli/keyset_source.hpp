// Where the keys for files come from: a file, a descriptor, the environment or a program; a Tink keyset, or a key and
// nothing else.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"
#include "passphrase.hpp"

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
    bool raw = false;            ///< a key and nothing else: it has no number
    std::string format{};        ///< of a raw key, its template
    std::optional<Lock> lock{};  ///< of a keyset under a passphrase
    bool other_raw = false;      ///< there are others that are tried, and among them raw keys, whose number is 1
    bool peeked = false;         ///< it stayed closed: numbers and states of its keys, and the lock's cost
};

/// Where keys are, as the command line says it.
struct KeyOptions {
    std::vector<std::string> keys;  ///< a path, env:NAME, fd:N or exec:COMMAND; none: what WARPAES_KEYSET says
    std::optional<std::string> template_name;    ///< of a raw key; nothing: by its length
    std::optional<std::string> passphrase_from;  ///< of a keyset under a passphrase; nothing: asked for
    /// It, once it was read: a descriptor gives it once.
    std::shared_ptr<std::optional<SecretBytes>> passphrase = std::make_shared<std::optional<SecretBytes>>();
    bool peek = false;  ///< without that, what can be seen is enough
};
void add_key_options(CLI::App& app, KeyOptions& options);

/// A key where its place belongs is refused and hidden in `argv`, before anything copies it. Throws UsageError.
void refuse_keys_in_arguments(int argc, char** argv);

/// Each by itself. Throws Failure. Warns of a file that others can read.
std::vector<Keys> load_each(const KeyOptions& options);

/// As one: the first, with which is encrypted, and then all others are tried, too.
Keys load_keys(const KeyOptions& options);

/// The same from an open file of a keyset, which `name` names.
Keys load_keyset_file(const std::string& name, int fd, const KeyOptions& options);

/// Whether it is a keyset that is encrypted, under whatever.
bool is_wrapped(std::string_view text);

/// Whether a file that key `id` opened was opened by a raw key.
inline bool is_raw(const Keys& keys, std::uint32_t id) {
    return keys.raw || (keys.other_raw && id == 1);
}

/// `keys` with no key enabled but its primary.
Keyset primary_of(const Keys& keys);

/// The number of a disabled key that a file would open with, if there is one: for who wonders why none does.
std::optional<std::uint32_t> disabled_key_of(warpaes_engine* engine, const warpaes_keyset* keyset,
                                             const std::string& path, const std::string& aad);

/// A keyset as JSON, for a file; encrypted if there is a lock.
SecretText keyset_text(const warpaes_keyset* keyset, const std::optional<Lock>& lock = std::nullopt);

}  // namespace cli
