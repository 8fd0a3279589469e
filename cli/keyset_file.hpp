// Key files. Only their owner can read them, they are complete or absent, and only one process changes a file at a
// time.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/descriptor.hpp"
#include "command.hpp"
#include "keyset_source.hpp"

namespace cli {

using warpaes::Descriptor;

/// Throws Failure{EXISTS} if the file exists. Must be called before the prompt for a passphrase.
void refuse_existing_key_file(const std::string& path);
/// Creates a file with mode 0600. Throws Failure{EXISTS} if the file exists.
void create_key_file(const std::string& path, std::string_view content);

/// A keyset file that is being changed. Other processes that want to change the file wait until this object is
/// destroyed.
class KeysetFile {
public:
    /// `place` is the place of a file. Unless it determines how to open the keyset, `options` do.
    KeysetFile(const KeysetPlace& place, const KeyOptions& options);
    [[nodiscard]] warpaes_keyset* keyset() const noexcept { return keys_.keyset.get(); }
    /// The lock with which save() encrypts the keyset.
    [[nodiscard]] std::optional<Lock>& lock() noexcept { return keys_.lock; }
    /// Atomically replaces the file with the keyset, with mode 0600.
    void save();

private:
    std::string path_;  ///< with symbolic links resolved, so that links are kept
    Descriptor file_;
    Keys keys_;
};

}  // namespace cli
