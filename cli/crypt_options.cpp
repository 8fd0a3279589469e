#include "crypt_options.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/descriptor.hpp"
#include "command.hpp"
#include "secrets.hpp"
#include "templates.hpp"

namespace cli {

using warpaes::Descriptor;

namespace {

const char* command_name(Action action) {
    switch (action) {
    case Action::encrypt:
        return "warpaes encrypt";
    case Action::decrypt:
        return "warpaes decrypt";
    case Action::cat:
        return "warpaes cat";
    case Action::reencrypt:
        return "warpaes reencrypt";
    case Action::verify:
        break;
    }
    return "warpaes verify";
}

/// Refuses the passphrase options of other programs, and names the alternative.
void refuse_passphrase_options(Action action, int argc, char** argv) {
    for (int i = 1; i < argc && std::strcmp(argv[i], "--") != 0; ++i) {
        for (const char* name : {"--passphrase", "--password", "--pass", "-p"}) {
            const char* rest = after(argv[i], name);
            if (rest == nullptr || (*rest != '\0' && *rest != '=')) continue;
            const bool is_flag = std::strcmp(name, "--passphrase") == 0 && action != Action::reencrypt;
            if (is_flag && *rest == '\0') {
                char* next = i + 1 < argc ? argv[i + 1] : nullptr;
                if (next == nullptr || *next == '-' || ::access(next, F_OK) == 0) continue;
                conceal(next);
                throw Failure(
                    WARPAES_ERROR_NOT_FOUND,
                    "--passphrase: accepts no value, because the command prompts on the terminal. The next argument "
                    "does "
                    "not name an existing file. It is not shown here, because it may be a passphrase. To read a "
                    "passphrase from a place, give --passphrase-from FILE, env:NAME, fd:N or exec:COMMAND");
            }
            conceal(argv[i] + std::strlen(name) + (*rest == '=' ? 1 : 0));
            throw UsageError(fmt::format(
                "{}: {}", name,
                action == Action::reencrypt
                    ? "not an option of `warpaes reencrypt`; give -k a keyset that `warpaes keygen --passphrase -o "
                      "keyset.json` created, or change the passphrase of a file with `warpaes keys passphrase FILE`"
                    : "accepts no passphrase, because other processes can read command lines; --passphrase prompts for "
                      "it, and --passphrase-from reads it from FILE, env:NAME, fd:N or exec:COMMAND"));
        }
    }
}

/// Returns the options that open or encrypt the files' own keysets, or nothing if the files contain no keysets.
std::optional<KeyOptions> own_keyset_of(const CryptOptions& o) {
    const bool makes_own = o.passphrase || !o.to_keks.empty();
    const char* flag = o.passphrase ? "--passphrase" : "--to";
    const char* variable = std::getenv("WARPAES_KEYSET");
    const bool is_set = variable != nullptr && *variable != '\0';
    std::optional<KeyOptions> own;
    for (const std::string& text : o.keys.keys) {
        const KeysetPlace place = parse_keyset_place("-k", text);
        if (place.is_own() && o.keys.keys.size() > 1)
            throw UsageError("-k: 'own:' cannot be combined with another keyset");
        if (place.is_own()) own = options_at(place, o.keys);
    }
    if (o.keys.keys.empty() && is_set && !makes_own) {
        const KeysetPlace place = parse_keyset_place("WARPAES_KEYSET", variable);
        if (place.is_own()) own = options_at(place, o.keys);
    }
    if (makes_own && !o.keys.keys.empty() && !own) {
        throw UsageError(fmt::format(
            "{}: stores a keyset in each file, but -k names a separate keyset; use only one of them", flag));
    }
    const bool has_opener = o.keys.passphrase_from || o.keys.kek.place;
    const bool needs_none = o.action == Action::encrypt ? makes_own || has_opener : o.action != Action::reencrypt;
    if (!own && (makes_own || (o.keys.keys.empty() && !is_set && needs_none))) own = o.keys;
    if (own) own->asks |= o.passphrase && !own->passphrase_from;
    if (own && o.action == Action::reencrypt) {
        throw UsageError(
            "-k: own: applies only to encrypt, decrypt, cat and verify; `warpaes keys passphrase FILE` changes a "
            "passphrase in place");
    }
    if (own && own->raw)
        throw UsageError("--raw: not applicable, because the files contain their own keysets; omit it");
    if (own && o.action != Action::encrypt && own->template_name) {
        throw UsageError("--template: not applicable, because the keysets in the files determine the formats; omit it");
    }
    if (!own && o.passphrase_seconds) throw UsageError("--passphrase-seconds: requires --passphrase");
    return own;
}

void check_encrypted_names(const CryptOptions& o, bool reads_stdin) {
    if (!o.names.empty() && !o.encrypted_names) throw UsageError("--name: requires --encrypted-names");
    if (!o.encrypted_names) return;
    const bool encrypts = o.action == Action::encrypt;
    const std::string option = encrypts ? "--encrypt-names: " : "--encrypted-names: ";
    if (encrypts && !o.output_dir) {
        throw UsageError(option + "requires --output-dir DIRECTORY, whose names it encrypts");
    }
    if (o.own) {
        throw UsageError(
            option +
            "requires a separate keyset (-k KEYSET), because names are decrypted before the keysets in the "
            "files; `warpaes keygen --passphrase -o keyset.json` creates one");
    }
    if (reads_stdin) throw UsageError(option + "cannot be used with standard input, which has no name");
    if (encrypts) return;
    if (!o.names.empty() && o.files.size() != 1) {
        throw UsageError("--name: requires exactly one FILE argument, which must be the encrypted directory");
    }
    if (!o.names.empty() && !(o.include.empty() && o.exclude.empty())) {
        throw UsageError("--name: cannot be combined with --include or --exclude");
    }
    for (const std::string& name : o.names) {
        const std::filesystem::path path(name);
        if (name.empty() || name.back() == '/' || path.is_absolute() || path.lexically_normal().native() != name) {
            throw UsageError(fmt::format(
                "--name: '{}' is not the plain path of a file; `warpaes list` prints the plain paths", name));
        }
    }
    const bool one_output = o.action == Action::cat || (o.action == Action::decrypt && !o.output_dir);
    if (one_output && o.names.empty()) {
        throw UsageError(option + (o.action == Action::cat
                                       ? "give --name PATH to select a file in the directory"
                                       : "give --output-dir DIRECTORY for the results, or --name PATH for one file"));
    }
    if (o.action == Action::decrypt && !o.output_dir && o.names.size() != 1) {
        throw UsageError("--name: there are several files; give --output-dir DIRECTORY for the results");
    }
    if (o.range && o.names.size() != 1) throw UsageError("--range: requires exactly one --name");
}

void check_options(const CryptOptions& o) {
    const auto refuse_empty = [](const char* what) {
        throw UsageError(fmt::format("{}: the name is empty; check whether a shell variable is unset", what));
    };
    if (std::find(o.files.begin(), o.files.end(), "") != o.files.end()) refuse_empty("FILE");
    if (o.output == "") refuse_empty("-o");
    if (o.output_dir == "") refuse_empty("--output-dir");
    if (o.output && o.output_dir) throw UsageError("--output-dir: cannot be combined with -o");
    const bool reads_stdin = std::find(o.files.begin(), o.files.end(), "-") != o.files.end();
    const auto takes_stdin = [](const std::string& at) {
        return at == "fd:0" || at == "/dev/stdin" || at == "file:/dev/stdin";
    };
    const auto keyset_takes_stdin = [&](const std::string& text) {
        const KeysetPlace place = parse_keyset_place("-k", text);
        return takes_stdin(place.location) || takes_stdin(place.passphrase.value_or("")) ||
               takes_stdin(place.kek.value_or(""));
    };
    check_encrypted_names(o, reads_stdin);
    if (reads_stdin && std::any_of(o.keys.keys.begin(), o.keys.keys.end(), keyset_takes_stdin)) {
        throw UsageError("-k: standard input cannot be both the keys and the data");
    }
    if (reads_stdin && o.keys.kek.place && takes_stdin(*o.keys.kek.place)) {
        throw UsageError("--kek: standard input cannot be both the key and the data");
    }
    if (o.to.keys.size() > 1) throw UsageError("--to: cannot be repeated for reencrypt");
    if (o.to.template_name && o.to.keys.empty()) throw UsageError("--to-template: requires --to");
    if (o.action == Action::reencrypt && reads_stdin) {
        throw UsageError("FILE: standard input cannot be replaced; use `warpaes decrypt | warpaes encrypt`");
    }
    if (o.action == Action::cat && o.range && o.files.size() != 1) {
        throw UsageError("--range: requires exactly one FILE");
    }
    if (!makes_files(o.action)) return;
    if (o.dry_run && reads_stdin) throw UsageError("--dry-run: requires files, not standard input");
    if (o.skip_existing && o.force) throw UsageError("--skip-existing: cannot be combined with -f");
    if (o.skip_existing && !o.output_dir) throw UsageError("--skip-existing: requires --output-dir");
    if (o.files.size() > 1 && !o.output_dir && (o.action == Action::decrypt || o.output || reads_stdin)) {
        throw UsageError("there are several files; give --output-dir DIRECTORY for the results");
    }
    if (o.salvage && o.range) throw UsageError("--salvage: cannot be combined with --range");
    if (o.salvage && o.skip_existing) throw UsageError("--salvage: cannot be combined with --skip-existing");
    if (o.range && (o.files.size() != 1 || o.output_dir)) {
        throw UsageError("--range: requires exactly one FILE, and writes to -o or to standard output");
    }
    if (o.output_dir && reads_stdin) {
        throw UsageError("--output-dir: cannot be used with standard input, which has no name");
    }
}

}  // namespace

std::optional<CryptOptions> parse_crypt_options(Action action, int argc, char** argv) {
    CLI::App app{"", command_name(action)};
    refuse_passphrase_options(action, argc, argv);
    refuse_keys_in_arguments(argc, argv);
    CryptOptions o;
    o.action = action;
    app.add_option("FILE", o.files);
    add_key_options(app, o.keys);
    if (action == Action::reencrypt) {
        app.add_option("--to", o.to.keys)->allow_extra_args(false);
        app.add_option("--to-template", o.to.template_name);
    }
    if (action == Action::encrypt) {
        app.add_option("--to", o.to_keks)->allow_extra_args(false);
        app.add_option("--passphrase-seconds", o.passphrase_seconds);
    }
    if (action != Action::reencrypt) app.add_flag("--passphrase", o.passphrase);
    bool quiet = false;
    app.add_flag("-q,--quiet", quiet);
    app.add_flag("-v,--verbose", o.verbose);
    app.add_option("--aad", o.aad);
    app.add_option("--aad-file", o.aad_file);
    if (makes_files(action)) {
        app.add_option("-o,--output", o.output);
        app.add_option("--output-dir", o.output_dir);
        app.add_flag("--skip-existing", o.skip_existing);
        app.add_flag("-n,--dry-run", o.dry_run);
        app.add_flag("-d,--decrypt", [](std::int64_t) {});  // run_encrypt handled it earlier
    }
    if (makes_files(action) || action == Action::reencrypt) {
        app.add_flag("-f,--force", o.force);
        app.add_flag("--no-sync", o.no_sync);
    }
    if (action == Action::encrypt) {
        app.add_flag("--encrypt-names", o.encrypted_names);
    } else {
        app.add_flag("--encrypted-names", o.encrypted_names);
        if (action != Action::reencrypt) app.add_option("--name", o.names)->allow_extra_args(false);
    }
    if (action != Action::cat) {
        app.add_option("--include", o.include)->allow_extra_args(false);
        app.add_option("--exclude", o.exclude)->allow_extra_args(false);
    }
    if (action == Action::decrypt || action == Action::cat) app.add_option("-r,--range", o.range);
    if (action == Action::decrypt) app.add_flag("--salvage", o.salvage);
    app.add_option("--backend", o.backend);
    app.add_option("--device", o.device);
    app.add_option("--threads", o.threads);
    app.add_option("-j,--jobs", o.jobs);
    // CLI11 sets an absent flag of type std::optional to false, so this flag uses a function.
    app.add_flag_function("--progress,!--no-progress", [&o](std::int64_t given) { o.progress = given > 0; });
    app.add_flag("--json", o.json);
    if (!parse_options(app, argc, argv, help_of(action))) return std::nullopt;
    if (o.files.empty() && (action == Action::cat || action == Action::reencrypt)) {
        throw UsageError("FILE: missing; give at least one file");
    }
    if (o.files.empty()) o.files = {"-"};
    if (quiet && (o.verbose || o.progress.value_or(false)))
        throw UsageError("-q: cannot be combined with -v or --progress");
    if (quiet) {
        be_quiet();
        o.progress = false;
    }
    o.own = own_keyset_of(o);
    o.to.passphrase_from = o.keys.passphrase_from;
    o.to.passphrase = o.keys.passphrase;
    o.to.kek = o.keys.kek;
    o.to.raw = o.keys.raw;
    check_options(o);
    return o;
}

std::string read_aad(const std::optional<std::string>& text, const std::optional<std::string>& file) {
    constexpr std::size_t most = 1 << 20;  // the same limit as in the library
    if (text && file) throw UsageError("--aad-file: cannot be combined with --aad");
    if (text) return *text;
    if (!file) return {};
    const Descriptor source(file->c_str(), O_RDONLY);
    note_needed_file("'" + *file + "'", source.get());
    std::string aad;
    char buffer[4096];
    ssize_t n = source.get() < 0 ? -1 : 1;
    while (n > 0 && aad.size() <= most) {
        n = ::read(source.get(), buffer, sizeof buffer);
        if (n > 0) aad.append(buffer, static_cast<std::size_t>(n));
    }
    if (n < 0) {
        throw Failure(WARPAES_ERROR_NOT_FOUND,
                      fmt::format("--aad-file: cannot read '{}': {}", *file, std::strerror(errno)));
    }
    return aad;
}

}  // namespace cli
