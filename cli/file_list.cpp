#include "file_list.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fnmatch.h>
#include <linux/limits.h>
#include <sys/stat.h>
#include <unistd.h>
#include <warpaes/files.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <tuple>

#include "output_directory.hpp"
#include "own_keyset.hpp"

namespace cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* suffix = ".warpaes";

/// Returns the name of a result: the input's name with the suffix added or removed.
fs::path result_name(const fs::path& name, Action action) {
    if (action == Action::encrypt) return name.native() + suffix;
    return name.extension() == suffix && name.stem() != "" ? fs::path(name).replace_extension() : name;
}

/// Returns the name that a file or directory from the command line gets in the output directory. The name is empty for
/// ".", ".." and "/", whose content is placed directly in the output directory.
fs::path own_name(const fs::path& path) {
    fs::path name = path.lexically_normal();
    if (!name.has_filename()) name = name.parent_path();  // "photos/"
    name = name.filename();
    return name == "." || name == ".." || name == "/" ? fs::path() : name;
}

/// Returns the file system's limit for a name, in bytes.
std::size_t longest_name(const fs::path& path) {
    const long limit = ::pathconf(nearest_directory(path.parent_path()).c_str(), _PC_NAME_MAX);
    return limit > 0 ? static_cast<std::size_t>(limit) : NAME_MAX;
}

std::uint64_t size_of(const fs::path& path) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return 0;
    const std::uintmax_t size = fs::file_size(path, error);
    return error ? 0 : size;
}

/// Whether the file is encrypted, according to its name or, failing that, its header.
bool looks_encrypted(const fs::path& path) {
    if (path.extension() == suffix || has_own_keyset(path)) return true;
    warpaes_file_info info{};
    info.struct_size = sizeof info;
    return warpaes_file_inspect(path.c_str(), nullptr, &info) == WARPAES_OK &&
           info.format == WARPAES_FORMAT_STREAMING_AEAD;
}

class Lister {
public:
    Lister(const CryptOptions& options, bool unmarked, StoredNames* names)
        : options_(options), unmarked_(unmarked), names_(names) {}

    void add(const std::string& argument) {
        const fs::path path(argument);
        std::error_code error;
        if (names_ != nullptr && options_.action != Action::encrypt) {
            add_tree(path);
        } else if (argument == "-") {
            list_.files.push_back({.output = options_.output.value_or("-")});
            if (list_.files.back().output == "-") list_.files.back().output.clear();
        } else if (fs::is_directory(path, error)) {
            if (options_.action == Action::cat) {
                throw Failure(WARPAES_ERROR_ARGUMENT,
                              fmt::format("'{}' is a directory; give the files in it", argument));
            }
            if (!options_.output_dir && makes_files(options_.action)) {
                throw Failure(
                    WARPAES_ERROR_ARGUMENT,
                    fmt::format("'{}' is a directory; give --output-dir DIRECTORY for the results", argument));
            }
            root_ = path;
            add_directory(path, own_name(path), options_.include.empty());
            root_.clear();
        } else {
            add_file(path, own_name(path));
        }
    }

    FileList take() { return std::move(list_); }

private:
    void add_file(const fs::path& path, const fs::path& name) {
        FileTask task{.input = path.string(), .bytes = size_of(path)};
        if (!root_.empty()) {
            task.root = root_;
            task.below = path.lexically_relative(root_);
        }
        if (names_ != nullptr) {
            task.plain = name.string();
            const fs::path folder = path.parent_path();
            task.stored_output = place_of(folder.empty() ? "." : folder, name);
            task.output = (fs::path(*options_.output_dir) / task.stored_output).string();
        } else if (makes_files(options_.action) && options_.output_dir) {
            task.output = (fs::path(*options_.output_dir) / result_name(name, options_.action)).string();
        } else if (makes_files(options_.action) && options_.output) {
            if (*options_.output != "-") task.output = *options_.output;
        } else if (options_.action == Action::encrypt) {
            task.output = result_name(path, Action::encrypt).string();
        }
        refuse_long_name(task);
        list_.files.push_back(std::move(task));
    }

    /// Marks a file as failed if the name of its result is too long.
    void refuse_long_name(FileTask& task) const {
        const fs::path output(task.output);
        const std::size_t length = output.filename().native().size();
        constexpr std::size_t always_fits = 128;
        if (length <= always_fits || options_.output || length <= longest_name(output)) return;
        task.status = WARPAES_ERROR_WRITE;
        const bool has_suffix = names_ == nullptr && options_.action == Action::encrypt;
        task.error = fmt::format(
            "output: the name is too long{}; it has {} bytes, and its file system allows {}. Give this file with -o "
            "and a shorter name, or {}",
            has_suffix ? fmt::format(" for {}", suffix) : "", length, longest_name(output),
            has_suffix ? "encrypt a tar archive, or use --encrypt-names" : "another file system");
    }

    /// Adds a directory from the command line, or a directory below it. If `whole` is set, everything in the directory
    /// is included.
    void add_directory(const fs::path& directory, const fs::path& name, bool whole) {
        const std::size_t files = list_.files.size(), directories = list_.directories.size();
        std::vector<fs::directory_entry> entries;
        std::error_code error;
        for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
            entries.push_back(*at);
        if (error) {
            list_.files.push_back({.input = directory.string(),
                                   .status = WARPAES_ERROR_NOT_FOUND,
                                   .error = fmt::format("cannot read the directory: {}", error.message())});
        } else if (options_.output_dir && makes_files(options_.action) && !name.empty()) {
            if (names_ != nullptr) {
                add_stored_directory(directory, place_of(directory, name));
            } else {
                list_.directories.push_back({directory.string(), (fs::path(*options_.output_dir) / name).string()});
            }
        }
        std::sort(entries.begin(), entries.end());
        for (const auto& entry : entries) {
            const fs::path below = name / entry.path().filename();
            const bool link = entry.is_symlink(error), folder = !link && entry.is_directory(error);
            if (is_matched(options_.exclude, below, folder)) continue;
            const bool wanted = whole || is_matched(options_.include, below, folder);
            if (!wanted && !folder) continue;
            if (link) {
                warn(fmt::format("'{}' is a symbolic link and was skipped", entry.path().string()));
            } else if (folder) {
                if (!is_output_directory(entry.path())) add_directory(entry.path(), below, wanted);
            } else if (entry.is_regular_file(error)) {
                if (options_.action == Action::encrypt || unmarked_ || looks_encrypted(entry.path())) {
                    add_file(entry.path(), below);
                } else {
                    ++list_.foreign;
                }
            } else {
                warn(fmt::format("'{}' is not a regular file and was skipped", entry.path().string()));
            }
        }
        if (!whole && list_.files.size() == files) list_.directories.resize(directories);
    }

    /// Returns the path, below the output directory, of a result with an encrypted name. Directories that hold the
    /// parts of a long name get the attributes of `folder`.
    fs::path place_of(const fs::path& folder, const fs::path& name) {
        const fs::path root(*options_.output_dir), parent = name.parent_path();
        fs::path place = names_->place(root, name);
        const std::size_t above = parent.empty() ? 0 : names_->place(root, parent).native().size() + 1;
        for (std::size_t slash = above; (slash = place.native().find('/', slash)) != std::string::npos; ++slash)
            add_stored_directory(folder, place.native().substr(0, slash));
        return place;
    }

    void add_stored_directory(const fs::path& input, const fs::path& below) {
        const fs::path root(*options_.output_dir);
        list_.directories.push_back({input.string(), (root / below).string(), "", root, below});
    }

    /// Adds a directory with encrypted names, or selected files in it.
    void add_tree(const fs::path& root) {
        std::error_code error;
        if (!fs::is_directory(root, error)) {
            throw Failure(WARPAES_ERROR_NOT_FOUND,
                          fmt::format("'{}': not a directory; --encrypted-names requires the directory that `encrypt "
                                      "--output-dir` wrote, and --name selects a file in it",
                                      root.string()));
        }
        root_ = root;
        if (options_.names.empty()) add_stored({}, "", options_.include.empty());
        for (const std::string& name : options_.names) {
            const fs::path below = names_->place(root, name);
            if (fs::is_directory(fs::symlink_status(root / below, error))) {
                throw Failure(WARPAES_ERROR_ARGUMENT,
                              fmt::format("--name: '{}' is a folder; --include '{}/' selects its content", name, name));
            }
            if (!fs::exists(fs::symlink_status(root / below, error))) {
                throw Failure(
                    WARPAES_ERROR_NOT_FOUND,
                    fmt::format("--name: '{}' does not exist in '{}' under these keys; `warpaes list` prints the names",
                                name, root.string()));
            }
            add_stored_file(below, name);
        }
        root_.clear();
    }

    void add_stored_file(const fs::path& below, const std::string& plain) {
        const fs::path path = root_ / below;
        FileTask task{.input = path.string(),
                      .root = root_,
                      .below = below,
                      .plain = plain,
                      .stored = true,
                      .bytes = size_of(path)};
        if (makes_files(options_.action) && options_.output_dir) {
            task.output = (fs::path(*options_.output_dir) / plain).string();
        } else if (makes_files(options_.action) && options_.output && *options_.output != "-") {
            task.output = *options_.output;
        }
        refuse_long_name(task);
        list_.files.push_back(std::move(task));
    }

    /// Adds the content of the directory `below` the root, whose plain path is `folder`.
    void add_stored(const fs::path& below, const std::string& folder, bool whole) {
        const std::size_t files = list_.files.size(), directories = list_.directories.size();
        const fs::path directory = root_ / below;
        if (!folder.empty()) {
            const fs::path output = makes_files(options_.action) ? fs::path(*options_.output_dir) / folder : fs::path();
            list_.directories.push_back({directory.string(), output.string(), folder, root_, below});
        }
        std::vector<StoredEntry> entries;
        try {
            entries = names_->list(directory, folder);
        } catch (const Failure& failure) {
            list_.files.push_back({.input = directory.string(), .status = failure.status(), .error = failure.what()});
        }
        for (const StoredEntry& entry : entries) {
            const fs::path place = below / entry.parts;
            const std::string plain = folder.empty() ? entry.name : folder + "/" + entry.name;
            // A name that does not decrypt is matched in its stored form.
            const fs::path name = entry.name.empty() ? place : fs::path(plain);
            if (is_matched(options_.exclude, name, entry.folder)) continue;
            const bool wanted = whole || is_matched(options_.include, name, entry.folder);
            if (entry.status != WARPAES_OK) {
                if (!wanted) continue;
                list_.files.push_back({.input = (root_ / place).string(),
                                       .plain = entry.name.empty() ? "" : plain,
                                       .stored = true,
                                       .status = entry.status,
                                       .error = entry.error});
            } else if (entry.folder) {
                if (!is_output_directory(root_ / place)) add_stored(place, plain, wanted);
            } else if (wanted) {
                add_stored_file(place, plain);
            }
        }
        if (!whole && list_.files.size() == files) list_.directories.resize(directories);
    }

    /// Whether the directory is the output directory, which may be inside an input and contain results of an earlier
    /// run.
    [[nodiscard]] bool is_output_directory(const fs::path& path) const {
        std::error_code error;
        return options_.output_dir && fs::equivalent(path, *options_.output_dir, error) && !error;
    }

    /// A pattern with a slash matches the path, and one without a slash matches the name. A pattern that ends with a
    /// slash matches only directories. For encrypted files, the pattern may also match the name of the result.
    [[nodiscard]] bool is_matched(const std::vector<std::string>& patterns, const fs::path& below,
                                  bool directory) const {
        const fs::path plain = directory || names_ != nullptr ? below : result_name(below, Action::decrypt);
        return std::any_of(patterns.begin(), patterns.end(), [&](std::string_view pattern) {
            while (pattern.starts_with("./")) pattern.remove_prefix(2);
            const bool only_directories = pattern.ends_with('/');
            while (pattern.ends_with('/')) pattern.remove_suffix(1);
            if (only_directories && !directory) return false;
            const std::string wanted(pattern);
            const auto matches = [&](const fs::path& path) {
                const fs::path name = wanted.find('/') == std::string::npos ? path.filename() : path;
                return ::fnmatch(wanted.c_str(), name.c_str(), 0) == 0;
            };
            return matches(below) || (options_.action != Action::encrypt && matches(plain));
        });
    }

    const CryptOptions& options_;
    const bool unmarked_;
    StoredNames* const names_;
    fs::path root_;  ///< the directory from the command line that is being listed
    FileList list_;
};

/// Identifies the target of any path: a file or, if it does not exist, the nearest existing directory and the rest of
/// the path.
using Identity = std::tuple<dev_t, ino_t, std::string>;

std::optional<Identity> identity(const fs::path& path) {
    struct stat status {};
    if (path.native().size() >= PATH_MAX) return std::nullopt;  // the path cannot name a file
    if (::stat(path.c_str(), &status) == 0) return Identity(status.st_dev, status.st_ino, "");
    const fs::path name = path.filename(), parent = path.parent_path();
    if (parent == path) return std::nullopt;
    auto above = identity(parent.empty() ? "." : parent);
    if (above && name != "." && !name.empty()) std::get<std::string>(*above) += "/" + name.string();
    return above;
}

/// Removes "x/.." if the directory x does not exist yet. The path means the same once x has been created.
fs::path without_detours(const fs::path& path) {
    fs::path way;
    std::error_code error;
    for (const fs::path& step : path) {
        if (step == ".." && way.has_filename() && way.filename() != ".." &&
            !fs::exists(fs::symlink_status(way, error))) {
            way = way.parent_path();
        } else {
            way /= step;
        }
    }
    return way;
}

/// Throws Failure if a result would replace an input or another result.
void refuse_clashes(const std::vector<FileTask>& tasks) {
    std::map<Identity, const FileTask*> inputs, outputs;
    for (const FileTask& task : tasks) {
        if (const auto id = identity(task.input); id && std::get<std::string>(*id).empty()) inputs.emplace(*id, &task);
    }
    for (const FileTask& task : tasks) {
        if (task.output.empty()) continue;
        const auto id = identity(without_detours(task.output));
        if (!id) continue;
        if (const auto input = inputs.find(*id); input != inputs.end()) {
            throw Failure(WARPAES_ERROR_SAME_FILE,
                          fmt::format("the result of '{}' would replace '{}', which is also an input; nothing was done",
                                      task.input, input->second->input));
        }
        const auto [other, fresh] = outputs.emplace(*id, &task);
        if (!fresh) {
            throw Failure(WARPAES_ERROR_ARGUMENT, fmt::format("'{}' and '{}' would both become '{}'; nothing was done",
                                                              other->second->input, task.input, task.output));
        }
    }
}

}  // namespace

FileList list_files(const CryptOptions& options, bool unmarked, StoredNames* names) {
    Lister lister(options, unmarked, names);
    for (const std::string& file : options.files) lister.add(file);
    FileList list = lister.take();
    if (list.files.empty() && list.foreign == 0 && (!options.include.empty() || !options.exclude.empty())) {
        throw Failure(WARPAES_ERROR_NOT_FOUND, "--include and --exclude exclude every file; change the patterns");
    }
    if (list.files.empty()) {
        throw Failure(WARPAES_ERROR_NOT_FOUND,
                      list.foreign == 0 ? "the arguments name no files"
                                        : fmt::format("no file looks encrypted (of {} file{}); to process a file "
                                                      "anyway, name it on the command line instead of its directory",
                                                      list.foreign, list.foreign == 1 ? "" : "s"));
    }
    if (std::count_if(list.files.begin(), list.files.end(), [](const FileTask& t) { return t.input.empty(); }) > 1) {
        throw UsageError("'-': standard input can be read only once");
    }
    if (options.output_dir || list.files.size() > 1) refuse_clashes(list.files);
    if (list.foreign != 0) {
        warn(fmt::format("{} file{} not look encrypted and {} skipped", list.foreign,
                         list.foreign == 1 ? " does" : "s do", list.foreign == 1 ? "was" : "were"));
    }
    return list;
}

ListedFile open_listed(const FileTask& task) {
    const auto fail = [&](const std::string& why) {
        throw Failure(WARPAES_ERROR_NOT_FOUND, fmt::format("cannot open '{}': {}", task.input, why));
    };
    Descriptor at = open_below(task.root, task.below.parent_path());
    if (at.get() < 0) fail(std::strerror(errno));
    Descriptor file(
        ::openat(at.get(), task.below.filename().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    struct stat status {};
    if (file.get() < 0 || ::fstat(file.get(), &status) != 0) fail(std::strerror(errno));
    if (!S_ISREG(status.st_mode)) fail("the file is no longer a regular file");
    return {std::move(at), std::move(file), task.below.filename()};
}

std::string objection_to_result(const CryptOptions& options, const std::string& output,
                                const std::string& raw_template) {
    struct stat status {};
    if (::stat(output.c_str(), &status) != 0) return {};
    if (S_ISDIR(status.st_mode)) return "is a directory";
    if (!S_ISREG(status.st_mode)) return "is not a regular file";
    if (options.action != Action::encrypt) return {};
    warpaes_file_info info = WARPAES_FILE_INFO_INIT;
    const char* name = raw_template.empty() ? nullptr : raw_template.c_str();
    const bool ours = options.own ? has_own_keyset(output)
                                  : warpaes_file_inspect(output.c_str(), name, &info) == WARPAES_OK &&
                                        info.format == WARPAES_FORMAT_STREAMING_AEAD;
    return ours ? "" : "does not look encrypted";
}

}  // namespace cli
