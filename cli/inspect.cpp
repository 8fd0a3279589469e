// `warpaes inspect`: shows the properties of an encrypted file that are readable without a key.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "base/descriptor.hpp"
#include "command.hpp"
#include "crypt_options.hpp"
#include "keyset_source.hpp"
#include "own_keyset.hpp"
#include "record.hpp"
#include "templates.hpp"

namespace cli {

using warpaes::Descriptor;

namespace {

using nlohmann::json;

constexpr const char* inspect_help = R"(Usage: warpaes inspect [-k KEYS] [--template NAME] FILE...

Shows a file's format, header, segments and plaintext length, without a key.
Files of Tink's streaming AEAD contain neither the key's ID nor the segment
size, so the command lists every template that fits. Nothing is authenticated:
anyone could have written the header.

  -k, --keys PLACE       keys as for `warpaes decrypt`. The command finds the
                         key that opens the file, so that the result is exact
  --aad TEXT, --aad-file FILE
                         with -k: the associated data of the file
  --passphrase-from PLACE
                         with -k: the passphrase of a keyset, as for
                         `warpaes decrypt`
  --kek PLACE, --kek-aad TEXT
                         with -k: the key-encryption key of a keyset, as for
                         `warpaes decrypt`
  --raw                  with -k: use a key of 16 or 32 bytes unchanged, even
                         if it is text
  -t, --template NAME    assume this template (`warpaes keygen --help` lists
                         the templates)
  --json                 print a JSON record
)";

struct InspectOptions {
    std::vector<std::string> files;
    KeyOptions keys;
    std::optional<std::string> aad, aad_file;
    bool json = false;
};

struct Fact {
    const char* name;
    std::string text;
};

warpaes_file_info inspect(const std::string& path, const char* format) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
        throw Failure(WARPAES_ERROR_FORMAT, fmt::format("'{}' is a directory; give the files in it", path));
    }
    if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error)) {
        throw Failure(WARPAES_ERROR_FORMAT, fmt::format("'{}' is not a regular file, so its length is unknown", path));
    }
    if (has_own_keyset(path)) {
        throw Failure(WARPAES_ERROR_FORMAT, fmt::format("'{}' begins with its own keyset, which this command does not "
                                                        "open; `warpaes verify` authenticates the file",
                                                        path));
    }
    warpaes_file_info info{};
    info.struct_size = sizeof info;
    check(warpaes_file_inspect(path.c_str(), format, &info));
    return info;
}

/// Returns all templates that fit a file with this length and header.
std::vector<warpaes_file_info> candidates(const std::string& path, const warpaes_file_info& seen) {
    std::vector<warpaes_file_info> list;
    for (std::size_t i = 0; i < warpaes_template_count(); ++i) {
        const char* const name = warpaes_template_name(i);
        const warpaes_template_info known = template_info(name);
        if (known.has_mark == 0 || known.key_bits != seen.key_bits) continue;
        warpaes_file_info info = WARPAES_FILE_INFO_INIT;
        if (warpaes_file_inspect(path.c_str(), name, &info) == WARPAES_OK) list.push_back(info);
    }
    return list;
}

/// The facts that are known once the file is open: its key and, from the last segment, the length of the plaintext.
struct Opened {
    warpaes_key_info key{};
    std::uint64_t plaintext_bytes = 0;
};

Opened open_with(const std::string& path, const Keys& keys, const std::string& aad, warpaes_engine* engine) {
    Opened opened;
    warpaes_source source{};
    source.struct_size = sizeof source;
    source.path = path.c_str();
    warpaes_reader* made = nullptr;
    check(warpaes_reader_open(engine, &source, keys.keyset.get(), aad.data(), aad.size(), &made));
    const Reader reader(made);
    opened.plaintext_bytes = warpaes_reader_size(reader.get());

    const Descriptor nowhere("/dev/null", O_WRONLY);
    warpaes_file_job job = WARPAES_FILE_JOB_INIT;
    job.format = WARPAES_FORMAT_STREAMING_AEAD;
    job.direction = WARPAES_DECRYPT;
    job.keyset = keys.keyset.get();
    job.aad = aad.data();
    job.aad_len = aad.size();
    job.input_path = path.c_str();
    job.output_fd = nowhere.get();
    job.flags = opened.plaintext_bytes == 0 ? WARPAES_FILE_VERIFY : WARPAES_FILE_RANGE;  // a range: only the first byte
    warpaes_file_result result = WARPAES_FILE_RESULT_INIT;
    check(warpaes_file_run(engine, &job, &result));
    for (std::size_t i = 0; i < warpaes_keyset_count(keys.keyset.get()); ++i) {
        opened.key.struct_size = sizeof opened.key;
        check(warpaes_keyset_query(keys.keyset.get(), i, &opened.key));
        if (opened.key.key_id == result.key_id) return opened;
    }
    throw Failure(WARPAES_ERROR_INTERNAL, "the key that opened the file is not in the keyset");
}

json to_json(const warpaes_file_info& info) {
    const auto known = [](std::uint64_t value) { return value == 0 ? json() : json(value); };
    return {{"format", info.format_name},
            {"template", *info.template_name != '\0' ? json(info.template_name) : json()},
            {"key_bits", known(info.key_bits)},
            {"file_bytes", info.file_bytes},
            {"header_bytes", info.header_bytes},
            {"segment_bytes", known(info.segment_bytes)},
            {"segments", known(info.segments)},
            {"plaintext_bytes", info.plaintext_bytes == WARPAES_UNKNOWN ? json() : json(info.plaintext_bytes)}};
}

void print_facts(const std::string& path, const std::vector<Fact>& facts) {
    fmt::print("{}\n", one_line(path));
    for (const Fact& fact : facts) fmt::print("  {:<10}  {}\n", fact.name, fact.text);
}

void print(const std::string& path, const warpaes_file_info& info, const std::vector<warpaes_file_info>& guesses,
           const std::string& key) {
    std::string what = info.format_name;
    if (*info.template_name != '\0') what += fmt::format(", {}", info.template_name);
    if (*info.template_name == '\0' && info.key_bits != 0) what += fmt::format(", AES-{}", info.key_bits);
    std::vector<Fact> facts = {
        {"format", what}, {"length", fmt::format("{} bytes, {} of them header", info.file_bytes, info.header_bytes)}};
    if (info.segments != 0) {
        facts.push_back({"segments", fmt::format("{} of {} bytes", info.segments, info.segment_bytes)});
    }
    if (info.plaintext_bytes != WARPAES_UNKNOWN) {
        facts.push_back({"plaintext", fmt::format("{} bytes", info.plaintext_bytes)});
    }
    if (info.format == WARPAES_FORMAT_STREAMING_AEAD) facts.push_back({"key", key});
    print_facts(path, facts);
    if (guesses.empty()) return;
    fmt::print("  {:<26}  {:>12}  {:>18}\n", "if the key is one of", "segments", "plaintext bytes");
    for (const warpaes_file_info& guess : guesses) {
        fmt::print("    {:<26}{:>12}  {:>18}\n", guess.template_name, guess.segments, guess.plaintext_bytes);
    }
}

/// Opens the file with the first keyset in `all` that can open it.
std::pair<Opened, const Keys*> open_with_any(const std::string& path, const std::vector<Keys>& all,
                                             const std::string& aad, warpaes_engine* engine) {
    for (const Keys& keys : all) {
        try {
            return {open_with(path, keys, aad, engine), &keys};
        } catch (const Failure& failure) {
            const bool other_key =
                failure.status() == WARPAES_ERROR_AUTHENTICATION || failure.status() == WARPAES_ERROR_FORMAT;
            if (!other_key || &keys == &all.back()) throw;
        }
    }
    throw UsageError("no keys");
}

json inspect_file(const std::string& path, const InspectOptions& o, const std::vector<Keys>& all,
                  const std::string& aad, warpaes_engine* engine) {
    std::string key = "unknown, because files of this format do not name their key";
    json key_id;
    warpaes_file_info info{};
    std::vector<warpaes_file_info> guesses;
    if (!all.empty()) {
        const auto [opened, keys] = open_with_any(path, all, aad, engine);
        if (!keys->raw) key_id = opened.key.key_id;
        key = keys->raw ? "the key that was given" : fmt::format("{}, which opens it", opened.key.key_id);
        const char* name = opened.key.template_name;
        info = inspect(path, *name != '\0' ? name : nullptr);
        info.key_bits = opened.key.key_bits;
        info.segment_bytes = opened.key.segment_bytes;
        info.plaintext_bytes = opened.plaintext_bytes;
        // Tink counts the header as part of the first segment. A key whose parameters match no template is a Tink key.
        if (*name == '\0') info.segments = (info.file_bytes + info.segment_bytes - 1) / info.segment_bytes;
    } else {
        info = inspect(path, o.keys.template_name ? o.keys.template_name->c_str() : nullptr);
        if (!o.keys.template_name && info.key_bits != 0) guesses = candidates(path, info);
    }
    if (!o.json) print(path, info, guesses, key);
    json record = to_json(info);
    put_name(record, "file", path);
    record["status"] = WARPAES_OK;
    record["key_id"] = key_id;
    record["candidates"] = json::array();
    for (const warpaes_file_info& guess : guesses) record["candidates"].push_back(to_json(guess));
    return record;
}

}  // namespace

int run_inspect(int argc, char** argv) {
    CLI::App app{"", "warpaes inspect"};
    InspectOptions o;
    app.add_option("FILE", o.files)->required();
    add_key_options(app, o.keys);
    app.add_option("--aad", o.aad);
    app.add_option("--aad-file", o.aad_file);
    app.add_flag("--json", o.json);
    refuse_keys_in_arguments(argc, argv);
    if (!parse_options(app, argc, argv, inspect_help)) return 0;

    std::vector<Keys> keys;
    Engine engine;
    if (o.keys.keys.empty()) {
        const char* idle = o.keys.kek.place         ? "--kek"
                           : o.keys.passphrase_from ? "--passphrase-from"
                           : o.aad                  ? "--aad"
                           : o.aad_file             ? "--aad-file"
                                                    : nullptr;
        if (idle != nullptr) throw UsageError(fmt::format("{}: requires -k", idle));
    }
    const std::string aad = read_aad(o.aad, o.aad_file);
    if (!o.keys.keys.empty()) {
        keys = load_each(o.keys);
        refuse_unused_locks(o.keys);
        engine = create_engine("", -1, 1);
    }
    json records = json::array();
    warpaes_status status = WARPAES_OK;
    std::string sentence;
    for (const std::string& path : o.files) {
        try {
            records.push_back(inspect_file(path, o, keys, aad, engine.get()));
        } catch (const Failure& failure) {
            json record = {{"status", failure.status()}, {"error", failure.what()}};
            put_name(record, "file", without_keys(path));
            records.push_back(std::move(record));
            if (o.files.size() > 1) {
                say(fmt::format("warpaes: {}\n",
                                one_line(without_keys(fmt::format("'{}': {}", path, failure.what())))));
            }
            if (status == WARPAES_OK) sentence = failure.what();
            if (status == WARPAES_OK) status = failure.status();
        }
    }
    if (o.json) print_json(records, 2);
    if (status == WARPAES_OK) return 0;
    throw Failure(status, o.files.size() == 1 ? sentence : "some files could not be identified");
}

}  // namespace cli
