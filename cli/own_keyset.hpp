// The keyset at the start of an encrypted file. docs/formats.md, "A file with its own keyset", describes the format.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "keyset_source.hpp"

namespace cli {

/// The first bytes of a file with its own keyset.
inline constexpr std::string_view own_mark = "warpaes-own-1 ";

/// The front of a file: the same keyset in several slots, each encrypted under a different passphrase or key.
struct Front {
    struct Slot {
        std::size_t at;                             ///< position in `text`
        std::string json;                           ///< an encrypted keyset
        warpaes_scrypt cost = WARPAES_SCRYPT_INIT;  ///< n = 0: not encrypted under a passphrase
        [[nodiscard]] bool has_passphrase() const noexcept { return cost.n != 0; }
    };
    std::string text;
    std::vector<Slot> slots;
};

/// Whether the file at `path` has its own keyset. False for files that cannot be read twice.
bool has_own_keyset(const std::string& path);

/// Reads the front at the position of `fd`. Afterwards, `fd` is positioned at the ciphertext. Refuses a front whose
/// total cost exceeds the limit for one keyset, before any key is derived. For messages, `option` is the option that
/// requires files with their own keysets. Throws Failure.
Front read_front(const std::string& what, int fd, const std::string& option);

/// Opens the keysets of many files, but each keyset only once. Thread-safe.
class OwnKeysets {
public:
    explicit OwnKeysets(KeyOptions options) : options_(std::move(options)) {}
    /// Throws Failure.
    std::shared_ptr<const Keys> open(const std::string& what, const Front& front);
    /// Returns the name of the option or place that requires files with their own keysets.
    [[nodiscard]] std::string option() const;

private:
    std::shared_ptr<const Keys> open_slot(const std::string& what, const Front::Slot& slot);

    KeyOptions options_;
    std::mutex mutex_;
    std::map<std::string, std::shared_ptr<const Keys>> opened_;  ///< keyed by the text of the slot
};

/// A new keyset and the front of the files that it encrypts.
struct NewOwnKeyset {
    Keys keys;
    std::string front;
};

/// Creates a keyset and encrypts it under each of these secrets that is given: the passphrase of `options`, the
/// key-encryption key of `options`, and the keys at the places `to`. At least one must be given. Throws Failure.
NewOwnKeyset make_own_keyset(const KeyOptions& options, const std::vector<std::string>& to,
                             std::optional<double> seconds);

/// Re-encrypts the keyset at the start of the file under a new passphrase. The new passphrase replaces the old
/// passphrase that opened the keyset. The file is changed in place, and the ciphertext is not read. After a crash, the
/// old passphrase, the new passphrase or both open the file. Throws Failure.
void change_own_passphrase(const std::string& path, const KeyOptions& options, const NewPassphrase& passphrase);

}  // namespace cli
