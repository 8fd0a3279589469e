#include "file_list.hpp"

#include <fmt/format.h>
#include <linux/limits.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <tuple>

namespace cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* suffix = ".warpaes";

/// What a result is called: the suffix is added, or removed if it is there.
fs::path result_name(const fs::path& name, Action action) {
    if (action == Action::encrypt) return name.native() + suffix;
    return name.extension() == suffix && name.stem() != "" ? fs::path(name).replace_extension() : name;
}

/// The name under which a file or directory of the command line appears in the output directory; none for "." and the
/// like, whose content appears there itself.
fs::path own_name(const fs::path& path) {
    fs::path name = path.lexically_normal();
    if (!name.has_filename()) name = name.parent_path();  // "photos/"
    name = name.filename();
    return name == "." || name == ".." || name == "/" ? fs::path() : name;
}

std::uint64_t size_of(const fs::path& path) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return 0;
    const std::uintmax_t size = fs::file_size(path, error);
    return error ? 0 : size;
}

class Lister {
public:
    explicit Lister(const CryptOptions& options) : options_(options) {}

    void add(const std::string& argument) {
        const fs::path path(argument);
        std::error_code error;
        if (argument == "-") {
            tasks_.push_back({.output = options_.output.value_or("-")});
            if (tasks_.back().output == "-") tasks_.back().output.clear();
        } else if (fs::is_directory(path, error)) {
            if (!options_.output_dir && options_.action != Action::verify) {
                throw Failure(
                    WARPAES_ERROR_ARGUMENT,
                    fmt::format("'{}' is a directory: give --output-dir DIRECTORY to put the results in", argument));
            }
            add_directory(path, own_name(path));
        } else {
            add_file(path, own_name(path));
        }
    }

    std::vector<FileTask> take() { return std::move(tasks_); }

private:
    void add_file(const fs::path& path, const fs::path& name) {
        FileTask task{.input = path.string(), .bytes = size_of(path)};
        if (options_.action != Action::verify && options_.output_dir) {
            task.output = (fs::path(*options_.output_dir) / result_name(name, options_.action)).string();
        } else if (options_.action != Action::verify && options_.output && *options_.output != "-") {
            task.output = *options_.output;
        }
        tasks_.push_back(std::move(task));
    }

    void add_directory(const fs::path& directory, const fs::path& name) {
        std::vector<fs::directory_entry> entries;
        std::error_code error;
        for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
            entries.push_back(*at);
        if (error) {
            tasks_.push_back({.input = directory.string(),
                              .status = WARPAES_ERROR_NOT_FOUND,
                              .error = fmt::format("cannot read the directory: {}", error.message())});
        }
        std::sort(entries.begin(), entries.end());
        for (const auto& entry : entries) {
            const fs::path below = name / entry.path().filename();
            if (entry.is_symlink(error)) {
                warn(fmt::format("'{}' is a symbolic link: left out", entry.path().string()));
            } else if (entry.is_directory(error)) {
                if (!is_output_directory(entry.path())) add_directory(entry.path(), below);
            } else if (entry.is_regular_file(error)) {
                add_file(entry.path(), below);
            } else {
                warn(fmt::format("'{}' is no regular file: left out", entry.path().string()));
            }
        }
    }

    /// Results of an earlier run, when the output directory lies in one of the inputs.
    [[nodiscard]] bool is_output_directory(const fs::path& path) const {
        std::error_code error;
        return options_.output_dir && fs::equivalent(path, *options_.output_dir, error) && !error;
    }

    const CryptOptions& options_;
    std::vector<FileTask> tasks_;
};

/// What a path leads to, whatever ways there are to it: a file, or as long as there is none, the nearest directory that
/// exists and the way on from there.
using Identity = std::tuple<dev_t, ino_t, std::string>;

std::optional<Identity> identity(const fs::path& path) {
    struct stat status {};
    if (path.native().size() >= PATH_MAX) return std::nullopt;  // nothing will be there either
    if (::stat(path.c_str(), &status) == 0) return Identity(status.st_dev, status.st_ino, "");
    const fs::path name = path.filename(), parent = path.parent_path();
    if (parent == path) return std::nullopt;
    auto above = identity(parent.empty() ? "." : parent);
    if (above && name != "." && !name.empty()) std::get<std::string>(*above) += "/" + name.string();
    return above;
}

/// Without the detours "x/.." over directories that are still to be made: once they are, they lead back.
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

/// A result replaces what is at its place when it is complete: nothing that is still to be read, and no other result.
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
            throw Failure(WARPAES_ERROR_SAME_FILE, fmt::format("the result of '{}' would take the place of '{}', which "
                                                               "is to be read too; nothing was done",
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

std::vector<FileTask> list_files(const CryptOptions& options) {
    Lister lister(options);
    for (const std::string& file : options.files) lister.add(file);
    std::vector<FileTask> tasks = lister.take();
    if (tasks.empty()) throw Failure(WARPAES_ERROR_NOT_FOUND, "there are no files in what was given");
    if (std::count_if(tasks.begin(), tasks.end(), [](const FileTask& task) { return task.input.empty(); }) > 1) {
        throw UsageError("'-': standard input can be read only once");
    }
    if (options.output_dir) refuse_clashes(tasks);
    return tasks;
}

}  // namespace cli
