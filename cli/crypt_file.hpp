// One file of `warpaes encrypt`, `decrypt`, `cat`, `verify` and `reencrypt`, and the keys of all files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "crypt_options.hpp"
#include "file_list.hpp"
#include "keyset_source.hpp"
#include "output_notes.hpp"
#include "own_keyset.hpp"
#include "progress.hpp"
#include "stored_names.hpp"
#include "templates.hpp"

namespace cli {

/// A range of zeros in a result, where the file is not authentic.
struct Hole {
    std::uint64_t first, length;
};

/// The outcome of one file.
struct FileOutcome {
    warpaes_status status = WARPAES_ERROR_CANCELLED;
    bool skipped = false;
    std::string error = "not begun";
    std::uint64_t bytes_read = 0;
    std::uint64_t bytes_written = 0;
    std::uint32_t key_id = 0;
    std::string backend;
    int device = -1;
    std::vector<Hole> holes;  ///< ranges found by --salvage
};

/// The keys that a command uses for files, with their names and the associated data.
class CryptKeys {
public:
    /// Loads them. Throws Failure, UsageError.
    explicit CryptKeys(const CryptOptions& options);
    CryptKeys(const CryptKeys&) = delete;
    CryptKeys& operator=(const CryptKeys&) = delete;
    /// Makes the keyset of files that get their own, or chooses the key for re-encryption. Call it before the first
    /// file and after all checks. Throws Failure, UsageError.
    void settle();

    [[nodiscard]] std::string aad_of(const FileTask& task) const {
        return names == nullptr ? aad : bound_aad(task.plain, aad);
    }
    /// Whether the key with ID `id`, which was used for a file, is a raw key.
    [[nodiscard]] bool is_raw(std::uint32_t id) const {
        return options.to.keys.empty() ? cli::is_raw(keys, id) : to.raw;
    }
    /// The template of raw keys whose files have no mark; otherwise nothing.
    [[nodiscard]] std::string raw_template() const { return is_raw_only(keys.format) ? keys.format : ""; }

    const CryptOptions& options;
    OwnKeysets own;  ///< keys of files to decrypt
    Keys keys;
    std::string front{};   ///< front with the keyset of files to encrypt, if they get their own keyset
    Keys to;               ///< reencrypt: of --to
    Keyset new_primary{};  ///< reencrypt: holds only the new key, unless that is raw
    const warpaes_keyset* new_key = nullptr;  ///< reencrypt
    std::uint32_t new_id = 0;
    std::string aad;
    std::unique_ptr<StoredNames> names;  ///< if they are encrypted

private:
    void choose_new_key();
};

/// Processes single files.
class FileCrypt {
public:
    FileCrypt(CryptKeys& keys, SharedProgress& progress, OutputNotes& notes)
        : o_(keys.options), k_(keys), progress_(progress), notes_(notes) {}

    /// Never throws, so that the other files are still processed if one fails. Thread-safe.
    void run(warpaes_engine* engine, const FileTask& task, FileOutcome& outcome) noexcept;

private:
    void crypt(warpaes_engine* engine, const FileTask& task, FileOutcome& outcome);
    void reencrypt(warpaes_engine* engine, const FileTask& task, FileOutcome& outcome);
    void note_of(const FileTask& task, const warpaes_file_result& result);
    [[nodiscard]] Failure with_hint(warpaes_status status, std::string sentence, bool key_opens, warpaes_engine* engine,
                                    const FileTask& task) const;

    const CryptOptions& o_;
    CryptKeys& k_;
    SharedProgress& progress_;
    OutputNotes& notes_;
};

}  // namespace cli
