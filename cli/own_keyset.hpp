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

/// The beginning of such a file.
inline constexpr std::string_view own_mark = "warpaes-own-1 ";

/// The front of a file: the same keyset in several slots, encrypted under a different passphrase or key in each.
struct Front {
    struct Slot {
        std::size_t at;                             ///< in `text`
        std::string json;                           ///< an encrypted keyset
        warpaes_scrypt cost = WARPAES_SCRYPT_INIT;  ///< n = 0: not under a passphrase
        [[nodiscard]] bool has_passphrase() const noexcept { return cost.n != 0; }
    };
    std::string text;
    std::vector<Slot> slots;
};

/// Whether the file at `path`, which must be readable more than once, has its own keyset.
bool has_own_keyset(const std::string& path);

/// Reads the keyset at the position of `fd`, which is then at the ciphertext. Before deriving any key, refuses a cost
/// beyond the limit for one keyset. `option` is the option that requires an own keyset, for messages. Throws Failure.
Front read_front(const std::string& what, int fd, const std::string& option);

/// Opens the keysets of many files, each only once. Thread-safe.
class OwnKeysets {
public:
    explicit OwnKeysets(KeyOptions options) : options_(std::move(options)) {}
    /// Throws Failure.
    std::shared_ptr<const Keys> open(const std::string& what, const Front& front);
    /// Names the option or the place that requires an own keyset.
    [[nodiscard]] std::string option() const;

private:
    std::shared_ptr<const Keys> open_slot(const std::string& what, const Front::Slot& slot);

    KeyOptions options_;
    std::mutex mutex_;
    std::map<std::string, std::shared_ptr<const Keys>> opened_;  ///< keyed by the text of the slot
};

/// A new keyset, and the front for files that it encrypts.
struct NewOwnKeyset {
    Keys keys;
    std::string front;
};

/// Encrypts a new keyset under the passphrase, if `options` has or asks for one, under its key-encryption key, and
/// under those at the places `to`; one of them must be given. Throws Failure.
NewOwnKeyset make_own_keyset(const KeyOptions& options, const std::vector<std::string>& to,
                             std::optional<double> seconds);

/// Re-encrypts the keyset at the start of the file under a new passphrase, replacing the one that opens it. This is
/// done in place, without reading the ciphertext. A crash leaves the old passphrase, the new one, or both. Throws
/// Failure.
void change_own_passphrase(const std::string& path, const KeyOptions& options, const NewPassphrase& passphrase);

}  // namespace cli
