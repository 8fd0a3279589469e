#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "command.hpp"
#include "crypt_file.hpp"
#include "file_list.hpp"
#include "keyset_source.hpp"
#include "own_keyset.hpp"
#include "progress.hpp"
#include "record.hpp"
#include "secrets.hpp"
#include "stored_names.hpp"
#include "templates.hpp"

namespace cli {

namespace {

using nlohmann::json;

struct Planned {
    warpaes_status status = WARPAES_OK;
    bool skipped = false;
    std::string error{};
};

Planned plan(const CryptOptions& o, const FileTask& task, const std::string& raw_template) {
    if (task.status != WARPAES_OK) return {task.status, false, task.error};
    if (::access(task.input.c_str(), R_OK) != 0) {
        return {WARPAES_ERROR_NOT_FOUND, false, fmt::format("cannot open: {}", std::strerror(errno))};
    }
    struct stat status {};
    if (task.output.empty() || ::lstat(task.output.c_str(), &status) != 0) return {};
    if (o.skip_existing) {
        const std::string why = objection_to_result(o, task.output, raw_template);
        if (why.empty()) return {WARPAES_OK, true, ""};
        return {WARPAES_ERROR_EXISTS, false,
                fmt::format("output: '{}' already exists and {}; move it away", task.output, why)};
    }
    const bool replaced = o.force && !S_ISDIR(status.st_mode);
    if (replaced || S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode)) return {};
    return {WARPAES_ERROR_EXISTS, false,
            fmt::format("output: '{}' exists{}", task.output, o.force ? "" : "; overwrite it with -f")};
}

}  // namespace

void dry_run(const CryptOptions& o) {
    const Keys keys = o.own ? Keys{} : load_keys(o.keys);
    const std::string raw_template = is_raw_only(keys.format) ? keys.format : "";
    const auto names = stored_names(o, {keys.keyset.get()});
    const FileList list = list_files(o, !raw_template.empty(), names.get());
    json files = json::array();
    std::uint64_t bytes = 0;
    std::size_t planned = 0, skipped = 0, failed = 0;
    Planned first;
    for (const FileTask& task : list.files) {
        const Planned one = plan(o, task, raw_template);
        const std::string output = task.output.empty() ? "standard output" : task.output;
        if (o.json) {
            json file = {{"status", one.status}};
            put_name(file, "input", without_keys(task.input));
            put_name(file, "output", task.output);
            if (!task.plain.empty()) put_name(file, "name", task.plain);
            file["bytes"] = task.bytes;
            if (one.skipped) file["skipped"] = true;
            if (one.status != WARPAES_OK) file["error"] = one.error;
            files.push_back(std::move(file));
        }
        if (one.status != WARPAES_OK) {
            if (failed++ == 0) first = one;
            if (list.files.size() > 1)
                say(one_line(without_keys(fmt::format("warpaes: '{}': {}", task.called(), one.error))) + "\n");
        } else if (one.skipped) {
            ++skipped;
        } else {
            ++planned;
            bytes += task.bytes;
            if (!o.json) fmt::print("{}\n", one_line(without_keys(fmt::format("{} -> {}", task.called(), output))));
        }
    }
    if (o.json) {
        print_json({{"status", first.status}, {"dry_run", true}, {"files", std::move(files)}, {"bytes", bytes}});
    }
    flush_output();
    note(fmt::format("{} files to {}, {}; {} results already exist; nothing was written\n", planned,
                     o.action == Action::encrypt ? "encrypt" : "decrypt", human_bytes(static_cast<double>(bytes)),
                     skipped));
    if (failed == 0) return;
    throw Failure(first.status, list.files.size() == 1
                                    ? fmt::format("'{}': {}", list.files[0].called(), first.error)
                                    : fmt::format("{} of {} files would fail", failed, list.files.size()));
}

}  // namespace cli
