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
    std::string name{};                  ///< plain; empty if unknown
    std::filesystem::path parts{};       ///< below the directory; a long name has several
    bool folder = false;                 ///< else a regular file
    warpaes_status status = WARPAES_OK;  ///< false: not used; `error` is the reason
    std::string error{};
};

/// Not thread-safe.
class StoredNames {
public:
    /// The first key of the first keyset encrypts names; decryption tries all keys in order. The keysets may be freed
    /// afterwards.
    explicit StoredNames(const std::vector<const warpaes_keyset*>& keysets);

    /// The parts of the encrypted form of `name` in the plain path `folder`.
    [[nodiscard]] std::filesystem::path encrypt(const std::string& folder, const std::string& name,
                                                std::size_t key = 0) const;

    /// The stored path below `root` of the plain path `plain`. Each part keeps the name that exists already, under any
    /// of the keys; other parts are encrypted under the first key. Throws Failure.
    std::filesystem::path place(const std::filesystem::path& root, const std::filesystem::path& plain);

    /// The content of a directory of the plain path `folder`, sorted by plain names. Two entries with the same plain
    /// name are both refused. Throws Failure if the directory cannot be read.
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

/// Of --encrypt-names and --encrypted-names, else null.
std::unique_ptr<StoredNames> stored_names(const CryptOptions& options,
                                          const std::vector<const warpaes_keyset*>& keysets);

/// The associated data of a file with an encrypted name: its plain path and the associated data of the command line.
std::string bound_aad(const std::string& plain, const std::string& aad);

/// Whether a file's name looks like an encrypted name.
bool looks_like_stored_name(const std::string& name);

}  // namespace cli
