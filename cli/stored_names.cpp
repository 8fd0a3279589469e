#include "stored_names.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <optional>
#include <system_error>
#include <tuple>

#include "crypt_options.hpp"
#include "output_directory.hpp"

namespace cli {

namespace fs = std::filesystem;

StoredNames::StoredNames(const std::vector<const warpaes_keyset*>& keysets) : engine_(create_engine("", -1, 1)) {
    for (const warpaes_keyset* keyset : keysets) {
        warpaes_names* made = nullptr;
        check(warpaes_names_create(engine_.get(), keyset, &made));
        names_.emplace_back(made);
        for (std::size_t i = 0; i < warpaes_names_count(made); ++i) keys_.push_back({made, i});
    }
}

fs::path StoredNames::encrypt(const std::string& folder, const std::string& name, std::size_t key) const {
    char stored[WARPAES_STORED_NAME_BYTES];
    std::size_t length = 0;
    check(warpaes_names_encrypt(keys_[key].names, keys_[key].index, folder.data(), folder.size(), name.data(),
                                name.size(), stored, sizeof stored, &length));
    return {std::string(stored, length)};
}

fs::path StoredNames::place(const fs::path& root, const fs::path& plain) {
    fs::path at;
    std::string folder;
    for (auto step = plain.begin(); step != plain.end(); ++step) {
        const std::string& name = step->native();
        const std::string whole = folder.empty() ? name : folder + "/" + name;
        const auto found = places_.find(whole);
        fs::path known = found != places_.end() ? found->second : fs::path();
        if (known.empty()) {
            fs::path chosen = at / encrypt(folder, name);
            struct stat status {};
            for (std::size_t key = 0; keys_.size() > 1 && key < keys_.size(); ++key) {
                const fs::path there = at / encrypt(folder, name, key);
                if (::lstat((root / there).c_str(), &status) != 0) continue;
                chosen = there;
                break;
            }
            known = std::move(chosen);
            if (std::next(step) != plain.end()) places_.emplace(whole, known);
        }
        at = std::move(known);
        folder = whole;
    }
    return at;
}

void StoredNames::decrypt(StoredEntry& entry, const std::string& folder) const {
    const std::string stored = entry.parts.string();
    char plain[WARPAES_NAME_BYTES];
    for (const Names& names : names_) {
        std::size_t length = 0;
        entry.status = warpaes_names_decrypt(names.get(), folder.data(), folder.size(), stored.data(), stored.size(),
                                             plain, sizeof plain, &length, nullptr);
        if (entry.status == WARPAES_OK) {
            entry.name.assign(plain, length);
            return;
        }
        entry.error = warpaes_last_error();
        if (entry.status != WARPAES_ERROR_AUTHENTICATION) break;
    }
    constexpr std::string_view subject = "stored: ";
    if (entry.error.starts_with(subject)) entry.error.erase(0, subject.size());
    if (!entry.error.starts_with("the name")) entry.error.insert(0, "the name ");
    if (entry.status == WARPAES_ERROR_AUTHENTICATION) {
        entry.error = "the name is not authentic; no key opens it in this folder";
    }
}

void StoredNames::list_part(std::vector<StoredEntry>& entries, const fs::path& directory, const std::string& folder,
                            const fs::path& before) const {
    std::error_code error;
    std::vector<fs::directory_entry> found;
    for (fs::directory_iterator at(directory / before, error), end; !error && at != end; at.increment(error))
        found.push_back(*at);
    if (error) throw Failure(WARPAES_ERROR_NOT_FOUND, fmt::format("cannot read the directory: {}", error.message()));
    for (const fs::directory_entry& each : found) {
        StoredEntry entry{.parts = before / each.path().filename()};
        const bool link = each.is_symlink(error);
        entry.folder = !link && each.is_directory(error);
        if (entry.folder && entry.parts.native().ends_with('-') &&
            entry.parts.native().size() < WARPAES_STORED_NAME_BYTES) {
            try {
                list_part(entries, directory, folder, entry.parts);
            } catch (const Failure& failure) {
                entry.status = failure.status();
                entry.error = failure.what();
                entries.push_back(std::move(entry));
            }
            continue;
        }
        decrypt(entry, folder);
        if (entry.status == WARPAES_OK && !entry.folder && (link || !each.is_regular_file(error))) {
            entry.status = WARPAES_ERROR_FORMAT;
            entry.error = link ? "a symbolic link, which warpaes never creates" : "not a regular file";
        }
        entries.push_back(std::move(entry));
    }
}

std::vector<StoredEntry> StoredNames::list(const fs::path& directory, const std::string& folder) const {
    std::vector<StoredEntry> entries;
    list_part(entries, directory, folder, {});
    std::sort(entries.begin(), entries.end(), [](const StoredEntry& a, const StoredEntry& b) {
        return std::tie(a.name, a.parts) < std::tie(b.name, b.parts);
    });
    for (std::size_t i = 0, next = 0; i < entries.size(); i = next) {
        for (next = i + 1; next < entries.size() && entries[next].name == entries[i].name;) ++next;
        if (next - i == 1 || entries[i].name.empty()) continue;
        for (std::size_t k = i; k < next; ++k) {
            entries[k].status = WARPAES_ERROR_FORMAT;
            entries[k].error =
                fmt::format("{} entries have this plain name; keep one and move the others away", next - i);
        }
    }
    return entries;
}

std::unique_ptr<StoredNames> stored_names(const CryptOptions& options,
                                          const std::vector<const warpaes_keyset*>& keysets) {
    return options.encrypted_names ? std::make_unique<StoredNames>(keysets) : nullptr;
}

std::string bound_aad(const std::string& plain, const std::string& aad) {
    std::string bound = "warpaes-names-1";
    bound += '\0';
    bound += plain;
    bound += '\0';
    return bound + aad;
}

bool looks_like_stored_name(const std::string& name) {
    constexpr std::size_t least = 28, most = 143;  // lengths of an encrypted one-byte name and of a part
    return name.size() >= least && name.size() <= most && std::all_of(name.begin(), name.end(), [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'v');
           });
}

namespace {

Descriptor open_folder(const fs::path& root, const fs::path& below, std::optional<mode_t> mode = {}) {
    Descriptor at = open_below(root, below, mode);
    if (at.get() >= 0) return at;
    throw Failure(WARPAES_ERROR_NOT_FOUND,
                  fmt::format("cannot open the folder '{}': {}", (root / below).string(), std::strerror(errno)));
}

/// Renames without replacing anything. Returns false and sets errno on failure.
bool rename_only(const Descriptor& from, const std::string& old_name, const Descriptor& to,
                 const std::string& new_name) {
    if (::renameat2(from.get(), old_name.c_str(), to.get(), new_name.c_str(), RENAME_NOREPLACE) == 0) return true;
    if (errno != EINVAL && errno != ENOSYS) return false;
    // The file system does not support RENAME_NOREPLACE: check whether the new name exists, and then rename.
    struct stat status {};
    if (::fstatat(to.get(), new_name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
        errno = EEXIST;
        return false;
    }
    return ::renameat(from.get(), old_name.c_str(), to.get(), new_name.c_str()) == 0;
}

}  // namespace

void StoredNames::rename(const fs::path& root, const fs::path& below, const std::string& plain) const {
    fs::path from = below.filename(), folder = below.parent_path();
    for (; folder.native().ends_with('-'); folder = folder.parent_path()) from = folder.filename() / from;
    const fs::path whole(plain);
    const fs::path to = encrypt(whole.parent_path(), whole.filename());
    if (from == to) return;
    const Descriptor at = open_folder(root, folder);
    struct stat status {};
    const mode_t mode = ::fstat(at.get(), &status) == 0 ? status.st_mode & 0777 : 0700;
    if (!rename_only(open_folder(root, folder / from.parent_path()), from.filename(),
                     open_folder(root, folder / to.parent_path(), mode | 0700), to.filename())) {
        throw Failure(WARPAES_ERROR_WRITE, fmt::format("cannot rename '{}' to '{}': {}", (root / below).string(),
                                                       to.string(), std::strerror(errno)));
    }
    for (fs::path part = from.parent_path(); !part.empty(); part = part.parent_path()) {
        const Descriptor above = open_below(root, folder / part.parent_path());
        if (::unlinkat(above.get(), part.filename().c_str(), AT_REMOVEDIR) != 0) break;  // readers skip empty parts
    }
}

}  // namespace cli
