// `warpaes list`: prints the plain names of a directory with encrypted names.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "command.hpp"
#include "elsewhere.hpp"
#include "keyset_source.hpp"
#include "record.hpp"
#include "stored_names.hpp"

namespace cli {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* list_help = R"(Usage: warpaes list [-k KEYS] DIR

Prints the plain names in a directory of `warpaes encrypt --encrypt-names`, in
order; folders end with '/'. The command authenticates the names but not the
files, which `warpaes verify --encrypted-names` authenticates. The exit status
is 0 if every name decrypts. With -k dataset:PLACE, DIR is a path or URL of a
dataset, and `warpaes bulk list` prints the names of its objects.

  -k, --keys PLACE       keys as for `warpaes decrypt`, or dataset:PLACE
  --passphrase-from PLACE
                         the passphrase of a keyset, as for `warpaes decrypt`
  --kek PLACE, --kek-aad TEXT
                         the key-encryption key of a keyset, as for
                         `warpaes decrypt`
  --raw                  use a key of 16 or 32 bytes unchanged, even if it is
                         text
  -t, --template NAME    the template of a raw key
  --json                 print a JSON record of plain names and stored paths

Example
  warpaes list -k keyset.json backup
)";

/// The prefix of the place that holds the key of a `warpaes bulk` dataset.
constexpr std::string_view dataset_prefix = "dataset:";

/// Refuses options that would have no effect on a dataset's key, because its place contains them.
void refuse_options_of_files(const KeyOptions& options) {
    const char* option = options.kek.place         ? "--kek"
                         : options.passphrase_from ? "--passphrase-from"
                         : options.raw             ? "--raw"
                         : options.template_name   ? "--template"
                                                   : nullptr;
    if (option == nullptr) return;
    throw UsageError(
        fmt::format("{}: has no effect on the key of a dataset; omit it. To open an encrypted keyset, use -k "
                    "'dataset:kek=PLACE;PLACE' or -k 'dataset:passphrase=PLACE;PLACE'",
                    option));
}

[[noreturn]] void list_dataset(std::string place, std::string target, bool as_json) {
    std::string command = "bulk", list = "list", option = "-k", json = "--json", end = "--";
    std::vector<char*> arguments{command.data(), list.data(), option.data(), place.data()};
    if (as_json) arguments.push_back(json.data());
    arguments.insert(arguments.end(), {end.data(), target.data()});
    run_in_package(static_cast<int>(arguments.size()), arguments.data());
}

class Listing {
public:
    Listing(const StoredNames& names, fs::path root, bool as_json)
        : names_(names), root_(std::move(root)), as_json_(as_json) {}

    void add(const fs::path& below, const std::string& folder) {
        std::vector<StoredEntry> entries;
        try {
            entries = names_.list(root_ / below, folder);
        } catch (const Failure& failure) {
            if (below.empty()) throw;
            refuse((root_ / below).string(), failure.status(), failure.what());
        }
        for (const StoredEntry& entry : entries) {
            const fs::path stored = below / entry.parts;
            const std::string plain = folder.empty() ? entry.name : folder + "/" + entry.name;
            if (entry.status != WARPAES_OK) {
                refuse(entry.name.empty() ? (root_ / stored).string() : plain, entry.status, entry.error);
                continue;
            }
            if (as_json_) {
                json record = {{"status", WARPAES_OK}, {"folder", entry.folder}};
                put_name(record, "name", plain);
                put_name(record, "stored", stored.string());
                records_.push_back(std::move(record));
            } else {
                fmt::print("{}{}\n", one_line(plain), entry.folder ? "/" : "");
            }
            if (entry.folder) add(stored, plain);
        }
    }

    void finish() const {
        if (as_json_) print_json(records_, 2);
        flush_output();
        if (refused_ == 0) return;
        throw Failure(first_, refused_ == 1 ? sentence_ : fmt::format("{} names were refused", refused_));
    }

private:
    void refuse(const std::string& name, warpaes_status status, const std::string& error) {
        const std::string sentence = one_line(fmt::format("'{}': {}", name, error));
        if (refused_++ == 0) {
            first_ = status;
            sentence_ = sentence;
        } else {
            if (refused_ == 2) say(fmt::format("warpaes: {}\n", sentence_));
            say(fmt::format("warpaes: {}\n", sentence));
        }
        if (!as_json_) return;
        json record = {{"status", status}, {"error", error}};
        put_name(record, "name", name);
        records_.push_back(std::move(record));
    }

    const StoredNames& names_;
    const fs::path root_;
    const bool as_json_;
    json records_ = json::array();
    std::size_t refused_ = 0;
    warpaes_status first_ = WARPAES_OK;
    std::string sentence_;
};

}  // namespace

int run_list(int argc, char** argv) {
    CLI::App app{"", "warpaes list"};
    KeyOptions options;
    std::string directory;
    bool as_json = false;
    app.add_option("DIR", directory)->required();
    add_key_options(app, options);
    app.add_flag("--json", as_json);
    refuse_keys_in_arguments(argc, argv);
    if (!parse_options(app, argc, argv, list_help)) return 0;
    if (options.keys.size() == 1 && options.keys.front().starts_with(dataset_prefix)) {
        refuse_options_of_files(options);
        list_dataset(options.keys.front(), directory, as_json);
    }
    std::error_code error;
    if (!fs::is_directory(directory, error)) {
        throw Failure(WARPAES_ERROR_NOT_FOUND, fmt::format("'{}': not a directory", directory));
    }
    const Keys keys = load_keys(options);
    refuse_unused_locks(options);
    const StoredNames names({keys.keyset.get()});
    Listing listing(names, directory, as_json);
    listing.add({}, "");
    listing.finish();
    return 0;
}

}  // namespace cli
