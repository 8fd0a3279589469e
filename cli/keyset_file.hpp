// Files of keys: for their owner alone, whole or not there, and changed by one process at a time.
#pragma once

#include <string>
#include <string_view>

#include "command.hpp"
#include "descriptor.hpp"

namespace cli {

/// A new file with mode 0600. Throws Failure{EXISTS} rather than replace one.
void create_key_file(const std::string& path, std::string_view content);

/// A keyset that is being changed; other processes that change it wait until this one is done.
class KeysetFile {
public:
    explicit KeysetFile(const std::string& path);
    [[nodiscard]] warpaes_keyset* keyset() const noexcept { return keyset_.get(); }
    /// Puts the keyset in the file's place, whole, with mode 0600.
    void save();

private:
    std::string path_;  ///< symbolic links resolved: they stay
    Descriptor file_;
    Keyset keyset_;
};

}  // namespace cli
