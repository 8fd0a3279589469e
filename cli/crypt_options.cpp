#include "crypt_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstring>

#include "command.hpp"
#include "descriptor.hpp"
#include "key_files.hpp"
#include "secrets.hpp"
#include "templates.hpp"

namespace cli {

namespace {

constexpr const char* help_encrypt = R"(Usage: warpaes encrypt [-k KEYS] [-o RESULT] [FILE...]

Encrypts files in segments with tags: whatever is altered, cut off or swapped is noticed, and any
part can be read alone. The key says the format: Tink's streaming AEAD, or C2SP chunked encryption.

Data
  FILE                   becomes FILE.warpaes; none, or '-': standard input, to standard output
  -o, --output FILE      another name for the result; '-': standard output
  --output-dir DIR       for directories with everything below them, and for files: each result
                         keeps its path, permissions and time and gets .warpaes behind its name.
                         Not kept: owners, links, attributes; tar keeps them
  --exclude PATTERN      leave out of directories what is called so ('*.tmp', .git), or lies there
                         ('photos/raw/*'); may be repeated
  --skip-existing        with --output-dir: leave results that are there already as they are
  --aad TEXT, --aad-file FILE
                         associated data: not in the file, the same on both sides
  -f, --force            overwrite; write ciphertext to a terminal

Keys
  -k, --keys PLACE       a keyset (Tink's JSON; `warpaes keygen` makes one) or a raw key of 16 or 32
                         bytes or twice as many hexadecimal digits; a path, env:NAME or fd:N.
                         Default: what WARPAES_KEYSET says
  -t, --template NAME    of a raw key, as in `warpaes keygen --help`; default AES256_GCM_HKDF_1MB,
                         for 16 bytes AES128_GCM_HKDF_1MB
  --passphrase-from PLACE
                         of a keyset under a passphrase: a path, env:NAME or fd:N. Default: asked for
)";

constexpr const char* help_decrypt = R"(Usage: warpaes decrypt [-k KEYS] [-r RANGE] [-o FILE] [FILE...]

Decrypts what `warpaes encrypt` or a Tink library has written. A named file appears when everything
was authenticated. A pipe receives authenticated segments only; exit status 0 says that they were all.

Data
  FILE                   none, or '-': standard input
  -o, --output FILE      default, or '-': standard output
  --output-dir DIR       for several files, and for directories with everything below them: each
                         result keeps its path, permissions and time and loses .warpaes behind its
                         name. What does not look like an encrypted file is left out of directories
  --exclude PATTERN, --skip-existing
                         as for `warpaes encrypt`
  -r, --range FIRST:LAST only these bytes, both included (LAST may be left out); reads and checks
                         only the segments under them
  --aad TEXT, --aad-file FILE
                         associated data, as it was when the file was encrypted
  -f, --force            overwrite

Keys
  -k, --keys PLACE       a keyset (Tink's JSON), of which every enabled key is tried, or a raw key of
                         16 or 32 bytes or twice as many hexadecimal digits; a path, env:NAME or fd:N.
                         Default: what WARPAES_KEYSET says
  -t, --template NAME    of a raw key, as in `warpaes keygen --help`; default AES256_GCM_HKDF_1MB,
                         for 16 bytes AES128_GCM_HKDF_1MB
  --passphrase-from PLACE
                         of a keyset under a passphrase: a path, env:NAME or fd:N. Default: asked for
)";

constexpr const char* help_verify = R"(Usage: warpaes verify [-k KEYS] [FILE...]

Authenticates files to their ends and writes nothing.

Data
  FILE                   files, and directories with everything below them that looks like an
                         encrypted file; none, or '-': standard input
  --exclude PATTERN      as for `warpaes encrypt`
  --aad TEXT, --aad-file FILE
                         associated data, as it was when the file was encrypted

Keys
  -k, --keys PLACE, -t, --template NAME, --passphrase-from PLACE
                         as for `warpaes decrypt`
)";

constexpr const char* help_how = R"(
How
  --backend NAME         auto (default), libcrypto, aesni, vaes, cuda: see `warpaes devices`
  --device N             this CUDA device; default: all
  --threads N            workers on a large file; default: one per processor
  -j, --jobs N           small files at a time; default: one per processor
  --progress, --no-progress
                         default: if standard error is a terminal
  --json                 a record of the run; on standard output unless the data goes there

)";

constexpr const char* examples_encrypt = R"(Examples
  warpaes keygen -o keyset.json
  warpaes encrypt -k keyset.json photos.tar          # makes photos.tar.warpaes
  tar c photos | warpaes encrypt -k keyset.json > photos.tar.warpaes
  warpaes encrypt -k keyset.json --output-dir backup photos letters notes.txt
)";
constexpr const char* examples_decrypt = R"(Examples
  warpaes decrypt -k keyset.json -o photos.tar photos.tar.warpaes
  warpaes decrypt -k keyset.json photos.tar.warpaes | tar x
  warpaes decrypt -k keyset.json -r 1000000:1000099 disk.img.warpaes
  warpaes decrypt -k keyset.json --output-dir restored backup/photos backup/notes.txt.warpaes
)";
constexpr const char* examples_verify = R"(Example
  warpaes verify -k keyset.json backup/photos backup/notes.txt.warpaes
)";

constexpr const char* help_end = R"(
Exit status: 0, or the warpaes_status of what went wrong (`warpaes --help` lists them), of several
files that of the first; 128 + N after signal N. A failed run leaves no output file.
)";

std::string help_for(Action action) {
    switch (action) {
    case Action::encrypt:
        return std::string(help_encrypt) + help_how + examples_encrypt + help_end;
    case Action::decrypt:
        return std::string(help_decrypt) + help_how + examples_decrypt + help_end;
    case Action::verify:
        break;
    }
    return std::string(help_verify) + help_how + examples_verify + help_end;
}

const char* name_of(Action action) {
    return action == Action::encrypt   ? "warpaes encrypt"
           : action == Action::decrypt ? "warpaes decrypt"
                                       : "warpaes verify";
}

/// What other programs have, and what there is instead.
void refuse_passphrase(int argc, char** argv) {
    for (int i = 1; i < argc && std::strcmp(argv[i], "--") != 0; ++i) {
        for (const char* name : {"--passphrase", "--password", "--pass"}) {
            const char* rest = after(argv[i], name);
            if (rest == nullptr || (*rest != '\0' && *rest != '=')) continue;
            conceal(argv[i] + std::strlen(name) + (*rest == '=' ? 1 : 0));
            throw UsageError(
                fmt::format("{}: it is the keyset that has a passphrase: `warpaes keygen --passphrase -o "
                            "keyset.json` makes one, which -k then asks for",
                            name));
        }
    }
}

void check_options(const CryptOptions& o) {
    const bool unnamed = std::find(o.files.begin(), o.files.end(), "") != o.files.end();
    if (unnamed || o.output == "" || o.output_dir == "") {
        throw UsageError("a name of a file or directory is empty; '-' is standard input or output");
    }
    if (o.output && o.output_dir) throw UsageError("--output-dir: contradicts -o");
    const bool reads_stdin = std::find(o.files.begin(), o.files.end(), "-") != o.files.end();
    if (reads_stdin && (o.keys.keys == "fd:0" || o.keys.keys == "/dev/stdin")) {
        throw UsageError("-k: standard input cannot be both the keys and the data");
    }
    if (o.action == Action::verify) return;
    if (o.skip_existing && o.force) throw UsageError("--skip-existing: contradicts -f");
    if (o.skip_existing && !o.output_dir) throw UsageError("--skip-existing: is for --output-dir");
    if (o.files.size() > 1 && !o.output_dir && (o.action == Action::decrypt || o.output || reads_stdin)) {
        throw UsageError("several files: give --output-dir DIRECTORY to put the results in");
    }
    if (o.range && (o.files.size() != 1 || o.output_dir)) {
        throw UsageError("--range: takes one FILE, which goes to -o or to standard output");
    }
    if (o.output_dir && reads_stdin) {
        throw UsageError("--output-dir: takes files that have names");
    }
}

}  // namespace

std::optional<CryptOptions> parse_crypt_options(Action action, int argc, char** argv) {
    CLI::App app{"", name_of(action)};
    refuse_passphrase(argc, argv);
    CryptOptions o;
    o.action = action;
    app.add_option("FILE", o.files);
    add_key_options(app, o.keys);
    app.add_option("--aad", o.aad);
    app.add_option("--aad-file", o.aad_file);
    if (action != Action::verify) {
        app.add_option("-o,--output", o.output);
        app.add_option("--output-dir", o.output_dir);
        app.add_flag("-f,--force", o.force);
    }
    if (action != Action::verify) app.add_flag("--skip-existing", o.skip_existing);
    app.add_option("--exclude", o.exclude)->allow_extra_args(false);
    if (action == Action::decrypt) app.add_option("-r,--range", o.range);
    app.add_option("--backend", o.backend);
    app.add_option("--device", o.device);
    app.add_option("--threads", o.threads);
    app.add_option("-j,--jobs", o.jobs);
    // Of a flag that is a std::optional CLI11 makes false where it is not given.
    app.add_flag_function("--progress,!--no-progress", [&o](std::int64_t given) { o.progress = given > 0; });
    app.add_flag("--json", o.json);
    if (!parse_options(app, argc, argv, help_for(action).c_str())) return std::nullopt;
    if (o.files.empty()) o.files = {"-"};
    check_options(o);
    return o;
}

std::string read_aad(const std::optional<std::string>& text, const std::optional<std::string>& file) {
    constexpr std::size_t most = 1 << 20;  // as the library
    if (text && file) throw UsageError("--aad-file: contradicts --aad");
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
