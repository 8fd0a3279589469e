#include "enc_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>

#include "command.hpp"
#include "numbers.hpp"
#include "secrets.hpp"

namespace cli {

namespace {

struct Flag {
    const char* name;
    bool takes_value;
    std::function<void(EncOptions&, char*)> apply;
};

std::uint32_t number32(const char* what, const char* text) {
    return parse_number<std::uint32_t>(what, text, std::numeric_limits<std::int32_t>::max());
}

/// Parses a number as openssl does: hexadecimal after 0x, octal after 0.
std::uint32_t iterations(const char* text) {
    char* end = nullptr;
    errno = 0;
    const long number = std::strtol(text, &end, 0);
    if (end == text || *end != '\0' || errno != 0 || number < 1 || number > std::numeric_limits<std::int32_t>::max()) {
        throw UsageError(fmt::format("-iter: '{}' is not a number from 1 to 2147483647", text));
    }
    return static_cast<std::uint32_t>(number);
}

char* named(const char* what, char* name) {
    if (*name == '\0') throw UsageError(fmt::format("{}: the name is empty; '-' is standard input or output", what));
    return name;
}

const Flag flags[] = {
    {"e", false, [](EncOptions& o, char*) { o.decrypt = false; }},
    {"d", false, [](EncOptions& o, char*) { o.decrypt = true; }},
    {"in", true, [](EncOptions& o, char* v) { o.input = named("-in", v); }},
    {"out", true, [](EncOptions& o, char* v) { o.output = named("-out", v); }},
    {"a", false, [](EncOptions& o, char*) { o.base64 = true; }},
    {"base64", false, [](EncOptions& o, char*) { o.base64 = true; }},
    {"A", false, [](EncOptions& o, char*) { o.one_line = true; }},
    {"nopad", false, [](EncOptions& o, char*) { o.no_padding = true; }},
    {"K", true,
     [](EncOptions& o, char* v) {
         conceal(o.key);  // a later -K overrides this value, but it is still a secret
         o.key = v;
     }},
    {"iv", true, [](EncOptions& o, char* v) { o.iv = v; }},
    {"pass", true,
     [](EncOptions& o, char* v) {
         conceal(o.pass);
         o.pass = v;
     }},
    {"k", true,
     [](EncOptions& o, char* v) {
         conceal(o.passphrase);
         o.passphrase = v;
     }},
    {"kfile", true, [](EncOptions& o, char* v) { o.passphrase_file = v; }},
    {"pbkdf2", false, [](EncOptions& o, char*) { o.pbkdf2 = true; }},
    {"iter", true, [](EncOptions& o, char* v) { o.iterations = iterations(v); }},
    {"md", true, [](EncOptions& o, char* v) { o.digest = v; }},
    {"S", true, [](EncOptions& o, char* v) { o.salt = v; }},
    {"salt", false, [](EncOptions& o, char*) { o.no_salt = false; }},
    {"nosalt", false, [](EncOptions& o, char*) { o.no_salt = true; }},
    {"bufsize", true, [](EncOptions&, char*) {}},
    {"v", false, [](EncOptions& o, char*) { o.summary = true; }},
    {"p", false,
     [](EncOptions&, char*) { throw UsageError("-p: not supported, because warpaes does not print keys"); }},
    {"P", false,
     [](EncOptions&, char*) { throw UsageError("-P: not supported, because warpaes does not print keys"); }},

    {"range", true, [](EncOptions& o, char* v) { o.range = v; }},
    {"backend", true, [](EncOptions& o, char* v) { o.backend = v; }},
    {"device", true, [](EncOptions& o, char* v) { o.device = number32("--device", v); }},
    {"threads", true, [](EncOptions& o, char* v) { o.threads = number32("--threads", v); }},
    {"depth", true, [](EncOptions& o, char* v) { o.depth = number32("--depth", v); }},
    {"chunk", true, [](EncOptions& o, char* v) { o.chunk = parse_bytes("--chunk", v); }},
    {"f", false, [](EncOptions& o, char*) { o.force = true; }},
    {"force", false, [](EncOptions& o, char*) { o.force = true; }},
    {"progress", false, [](EncOptions& o, char*) { o.progress = true; }},
    {"no-progress", false, [](EncOptions& o, char*) { o.progress = false; }},
    {"raw", false, [](EncOptions& o, char*) { o.raw = true; }},
    {"json", false, [](EncOptions& o, char*) { o.json = true; }},
    {"h", false, [](EncOptions& o, char*) { o.help = true; }},
    {"help", false, [](EncOptions& o, char*) { o.help = true; }},
};

struct EncMode {
    const char* name;
    warpaes_mode mode;
};
constexpr EncMode enc_modes[] = {{"ecb", WARPAES_ECB},       {"cbc", WARPAES_CBC},   {"cfb", WARPAES_CFB128},
                                 {"cfb128", WARPAES_CFB128}, {"cfb8", WARPAES_CFB8}, {"cfb1", WARPAES_CFB1},
                                 {"ofb", WARPAES_OFB},       {"ctr", WARPAES_CTR}};

/// Returns a flag's name for messages. Text that is attached to a flag for a secret is hidden, because it is part of
/// the secret.
std::string without_secret(const std::string& name) {
    for (const char* flag : {"pass", "kfile", "k", "K"}) {
        if (name.starts_with(flag)) return std::string(flag) + "…";
    }
    return name;
}

/// Parses names such as aes-256-ctr and aes256 (CBC, as in openssl) in upper or lower case. Returns false if
/// `flag` is not the name of an AES cipher.
bool parse_cipher(const std::string& flag, EncOptions& options) {
    std::string name = flag;
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    if (name.compare(0, 3, "aes") != 0) return false;
    name.erase(0, 3);
    if (!name.empty() && name.front() == '-') name.erase(0, 1);
    const std::string bits = name.substr(0, 3), mode = name.size() > 4 && name[3] == '-' ? name.substr(4) : "";
    if (bits != "128" && bits != "192" && bits != "256") {
        throw UsageError(fmt::format("-{}: AES keys have 128, 192 or 256 bits", flag));
    }
    options.key_bits = static_cast<unsigned>(std::stoul(bits));
    if (name.size() == 3) {
        options.mode = WARPAES_CBC;
        return true;
    }
    const auto* found =
        std::find_if(std::begin(enc_modes), std::end(enc_modes), [&](const EncMode& m) { return mode == m.name; });
    if (mode.size() > 4 && mode.substr(mode.size() - 4) == "-cts") {
        throw UsageError(fmt::format(
            "-{}: ciphertext stealing is not supported; use cbc, which pads, or ctr, which needs no padding", flag));
    }
    if (found == std::end(enc_modes)) {
        std::vector<std::string> names;
        for (const EncMode& m : enc_modes) names.emplace_back(m.name);
        if (mode == "gcm" || mode == "ccm") {
            throw UsageError(
                fmt::format("-{}: `enc`, like `openssl enc`, does not authenticate; use `warpaes encrypt`", flag));
        }
        throw UsageError(fmt::format("-{}: unknown mode; choose ecb, cbc, cfb, cfb8, cfb1, ofb or ctr{}", flag,
                                     did_you_mean(mode, names)));
    }
    options.mode = found->mode;
    return true;
}

}  // namespace

EncOptions parse_enc_options(int argc, char** argv) {
    EncOptions options;
    for (int i = 1; i < argc; ++i) {
        char* argument = argv[i];
        if (argument[0] != '-' || argument[1] == '\0') {
            // After a secret, the argument may be the rest of the secret, which a shell has split into words.
            const bool secret = options.key != nullptr || options.pass != nullptr || options.passphrase != nullptr ||
                                after(argument, "pass:") != nullptr;
            throw UsageError(
                fmt::format("'{}': unexpected argument; give files with -in and -out", secret ? "…" : argument));
        }
        char* begin = argument + (argument[1] == '-' ? 2 : 1);
        char* value = std::strchr(begin, '=');
        const std::string name(begin, value != nullptr ? static_cast<std::size_t>(value - begin) : std::strlen(begin));
        if (value != nullptr) ++value;
        const auto* flag =
            std::find_if(std::begin(flags), std::end(flags), [&](const Flag& f) { return name == f.name; });
        if (flag == std::end(flags)) {
            if (value == nullptr && parse_cipher(name, options)) continue;
            std::vector<std::string> names;
            for (const Flag& f : flags) names.push_back(std::string("-") + f.name);
            for (const EncMode& m : enc_modes) {
                for (const char* bits : {"128", "192", "256"}) names.push_back(fmt::format("-aes-{}-{}", bits, m.name));
            }
            const std::string shown = without_secret(name), hint = shown == name ? did_you_mean("-" + name, names) : "";
            throw UsageError(
                fmt::format("-{}: unknown option{} see `warpaes enc -help`", shown, hint.empty() ? ";" : hint));
        }
        if (!flag->takes_value && value != nullptr) throw UsageError(fmt::format("-{}: accepts no value", name));
        if (flag->takes_value && value == nullptr) {
            if (++i == argc) throw UsageError(fmt::format("-{}: requires a value", name));
            value = argv[i];
        }
        flag->apply(options, value);
    }
    if (options.input == "-") options.input.clear();
    if (options.output == "-") options.output.clear();
    return options;
}

FirstLast parse_range(const std::string& text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos) {
        throw UsageError(
            fmt::format("--range: '{}' is not FIRST:LAST; '{}:{}' selects one byte, and '{}:' selects everything from "
                        "that byte to the end",
                        text, text, text, text));
    }
    constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();
    FirstLast range;
    range.first = parse_number<std::uint64_t>("--range", text.substr(0, colon), largest);
    if (colon + 1 < text.size()) {
        range.last = parse_number<std::uint64_t>("--range", text.substr(colon + 1), largest);
    }
    return range;
}

const char* enc_help() {
    return R"(Usage: warpaes enc -aes-BITS-MODE [-e|-d] [options]

Encrypts or decrypts a file in the format of `openssl enc`; each program reads
the other's files. BITS is 128, 192 or 256; MODE is ecb, cbc, cfb, cfb8, cfb1,
ofb or ctr. These modes do not authenticate: anyone who can modify the file can
modify the plaintext. `warpaes encrypt` authenticates.

Data
  -in FILE, -out FILE    default: standard input, standard output
  -e, -d                 encrypt (default), decrypt
  -a, -base64            ciphertext in base64
  -A                     with -a: on a single line
  -nopad                 ECB, CBC: do not pad (PKCS#7); the length of the
                         input must be a multiple of 16 bytes
  --range FIRST:LAST     write only bytes FIRST to LAST of the result, both
                         included; LAST is optional. Reads only the blocks that
                         contain them. For ECB and CTR; with -d also CBC and CFB
  -f, --force            overwrite -out; write ciphertext to a terminal

Key and IV
  -K KEY                 hexadecimal digits, or their place: file:PATH,
                         env:NAME, fd:N, prompt. A file can also contain the raw
                         bytes
  --raw                  use the bytes in the file of -K as the key, even if
                         they are text; without this option, text is refused
  -iv HEX                16 bytes; for CTR the first counter block

Passphrase instead of a key (if neither is given, the command prompts for one)
  -pass SOURCE           pass:PASSWORD, env:NAME, file:PATH, fd:N, stdin
  -k PASSWORD, -kfile F  the passphrase, or a file with the passphrase as its
                         first line. Like openssl, -kfile uses at most 127 bytes
                         of the line, and -pass at most 1023
  -pbkdf2, -iter N       use PBKDF2 with 10000 rounds, or with N. Without these
                         options: openssl's old, weak key derivation
  -md DIGEST             default: sha256
  -S HEX                 use this salt of 8 bytes, and do not store it
  -nosalt                use no salt

How
  --backend NAME         auto (default) or one that `warpaes devices` lists
  --device N             use this CUDA device; default: all
  --threads N, --chunk BYTES, --depth N
                         workers, bytes per chunk, chunks in flight; the
                         defaults come from measurements
  --progress, --no-progress
                         default: only if standard error is a terminal
  --json                 print a JSON record of the run: to standard output if
                         -out names a file, otherwise to standard error

Accepted for compatibility with openssl: -salt (the default), -bufsize N (no
effect), -v (a summary on standard error). docs/command-line.md lists the
differences.

Examples
  warpaes enc -aes-256-ctr -pbkdf2 -in disk.img -out disk.img.enc
  warpaes enc -aes-256-ctr -pbkdf2 -d -in disk.img.enc -out disk.img
  tar c photos | warpaes enc -aes-256-cbc -pbkdf2 -pass file:pw > photos.enc
  warpaes enc -aes-128-ctr -d -K file:key -iv $IV -in a --range 1000:1099

Exit status: 0, or the warpaes_status of the failure (see `warpaes --help-all`);
128 + N after signal N. A failed run leaves no output file.
)";
}

}  // namespace cli
