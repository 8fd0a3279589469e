// Files of keys: for their owner alone, whole or not there, and changed by one process at a time.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "command.hpp"
#include "descriptor.hpp"
#include "keyset_source.hpp"

namespace cli {

/// Throws Failure{EXISTS}: for before anybody is asked for a passphrase.
void refuse_existing_key_file(const std::string& path);
/// A new file with mode 0600. Throws Failure{EXISTS} rather than replace one.
void create_key_file(const std::string& path, std::string_view content);

/// A keyset that is being changed; other processes that change it wait until this one is done.
class KeysetFile {
public:
    /// `options`: how to open it.
    KeysetFile(const std::string& path, const KeyOptions& options);
    [[nodiscard]] warpaes_keyset* keyset() const noexcept { return keys_.keyset.get(); }
    /// What it is encrypted with when it is saved.
    [[nodiscard]] std::optional<Lock>& lock() noexcept { return keys_.lock; }
    /// Puts the keyset in the file's place, whole, with mode 0600.
    void save();

private:
    std::string path_;  ///< symbolic links resolved: they stay
    Descriptor file_;
    Keys keys_;
};

}  // namespace cli
