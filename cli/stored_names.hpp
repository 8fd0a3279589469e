// Encrypted names of an output directory (docs/formats.md, "Encrypted names").
#pragma once

#include <warpaes/names.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "command.hpp"

namespace cli {

struct CryptOptions;

/// An entry of a directory with encrypted names.
struct StoredEntry {
    std::string name{};                  ///< plain name; empty if unknown
    std::filesystem::path parts{};       ///< path below the directory; a long name consists of several parts
    bool folder = false;                 ///< otherwise a regular file
    warpaes_status status = WARPAES_OK;  ///< not WARPAES_OK: the entry is unusable, and `error` is the reason
    std::string error{};
};

/// Encrypts and decrypts names. Not thread-safe.
class StoredNames {
public:
    /// The first key of the first keyset encrypts names; decryption tries all keys in order. The keysets can be freed
    /// after the constructor returns.
    explicit StoredNames(const std::vector<const warpaes_keyset*>& keysets);

    /// Returns the parts of the encrypted form of `name` in the folder with the plain path `folder`.
    [[nodiscard]] std::filesystem::path encrypt(const std::string& folder, const std::string& name,
                                                std::size_t key = 0) const;

    /// Returns the stored path, below `root`, of the plain path `plain`. A part whose encrypted name already exists
    /// under any of the keys keeps this name. Other parts are encrypted under the first key. Throws Failure.
    std::filesystem::path place(const std::filesystem::path& root, const std::filesystem::path& plain);

    /// Returns the content of a directory with the plain path `folder`, sorted by plain name. Entries that share a
    /// plain name are refused. Throws Failure if the directory cannot be read.
    [[nodiscard]] std::vector<StoredEntry> list(const std::filesystem::path& directory,
                                                const std::string& folder) const;

    /// Renames the entry at the stored path `below`, whose plain path is `plain`, to its name under the first key.
    /// `root` is the root of the tree. Does not follow links below the root and does not replace anything. Throws
    /// Failure.
    void rename(const std::filesystem::path& root, const std::filesystem::path& below, const std::string& plain) const;

private:
    struct NamesDestroy {
        void operator()(warpaes_names* names) const { warpaes_names_destroy(names); }
    };
    using Names = std::unique_ptr<warpaes_names, NamesDestroy>;
    struct Numbered {
        const warpaes_names* names;
        std::size_t index;
    };

    void list_part(std::vector<StoredEntry>& entries, const std::filesystem::path& directory, const std::string& folder,
                   const std::filesystem::path& before) const;
    void decrypt(StoredEntry& entry, const std::string& folder) const;

    Engine engine_;
    std::vector<Names> names_;
    std::vector<Numbered> keys_;
    std::map<std::string, std::filesystem::path> places_;  ///< stored paths of folders, below the root
};

/// Returns the object for --encrypt-names and --encrypted-names, or null without these options.
std::unique_ptr<StoredNames> stored_names(const CryptOptions& options,
                                          const std::vector<const warpaes_keyset*>& keysets);

/// Returns the associated data of a file with an encrypted name: its plain path and the associated data from the
/// command line.
std::string bound_aad(const std::string& plain, const std::string& aad);

/// Whether a file's name looks like an encrypted name.
bool looks_like_stored_name(const std::string& name);

}  // namespace cli
