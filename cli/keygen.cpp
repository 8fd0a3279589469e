// `warpaes keygen`: creates a keyset, or a raw key if the format has no keysets.
#include <fmt/format.h>
#include <sys/random.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>

#include "command.hpp"
#include "key_place.hpp"
#include "keyset_file.hpp"
#include "keyset_source.hpp"
#include "passphrase.hpp"
#include "secrets.hpp"
#include "templates.hpp"

namespace cli {

namespace {

constexpr const char* keygen_help = R"(Usage: warpaes keygen [-t TEMPLATE] [--passphrase | --kek PLACE] [-o FILE]

Creates a keyset with one new key, in Tink's JSON format.

  -o, --output FILE      a new file with mode 0600; existing files are never
                         overwritten. Default: standard output
  --passphrase           ask for a passphrase and encrypt the keyset under it;
                         without the passphrase, the keyset cannot be used
  --passphrase-from PLACE
                         read this passphrase from a file, env:NAME, fd:N or
                         exec:COMMAND
  --passphrase-seconds S the time in seconds that one guess takes on this
                         machine. Default: 1. A guess always needs at least
                         128 MiB of memory
  --kek PLACE            encrypt the keyset under a key-encryption key, as Tink
                         does: a Tink keyset of AES-GCM keys, or a key of 16 or
                         32 bytes; a file, env:NAME, fd:N or exec:COMMAND
  --kek-aad TEXT         associated data of this encryption, which is also
                         required to open the keyset
  -t, --template NAME    the kind of key; default: the first in the list. C2SP
                         chunked encryption has no keysets: for these templates
                         the command writes the template's name and the key in
                         hexadecimal

Examples
  warpaes keygen -o keyset.json
  warpaes keygen --passphrase -o keyset.json

)";

/// Returns a line with the template's name and the key in hexadecimal.
SecretText random_raw_key(const std::string& format, std::size_t bytes) {
    SecretText text;
    text.fill([&format, bytes](char* room) {
        unsigned char key[32];
        if (::getrandom(key, bytes, 0) != static_cast<ssize_t>(bytes)) {
            throw Failure(WARPAES_ERROR_INTERNAL, "cannot obtain random numbers from the system");
        }
        char* at = fmt::format_to(room, "{} ", format);
        for (std::size_t i = 0; i < bytes; ++i) at = fmt::format_to(at, "{:02x}", key[i]);
        explicit_bzero(key, sizeof key);
        *at++ = '\n';
        return static_cast<std::size_t>(at - room);
    });
    return text;
}

bool is_file(const std::string& path) {
    return !path.empty() && path != "-";
}

/// Fails if the output cannot be written, before the passphrase prompt and the key derivation.
void check_output(const std::string& path) {
    if (is_file(path)) {
        refuse_existing_key_file(path);
    } else if (::isatty(STDOUT_FILENO) != 0) {
        throw UsageError("keys are not written to a terminal; give -o FILE, or write to a pipe");
    }
}

void put(const std::string& path, std::string_view text, const std::string& what) {
    if (is_file(path)) {
        create_key_file(path, text);
        say(fmt::format(
            "{}.\nWritten to '{}'. Keep a copy in another place; without the key, the encrypted files are lost.\n",
            what, one_line(path)));
        return;
    }
    warn_if_others_can_read("the file of standard output", STDOUT_FILENO);
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
        throw Failure(WARPAES_ERROR_WRITE, fmt::format("cannot write to standard output: {}", std::strerror(errno)));
    }
    say(what + "\n");
}

}  // namespace

int run_keygen(int argc, char** argv) {
    CLI::App app{"", "warpaes keygen"};
    std::string output, format = default_template();
    NewPassphrase passphrase("--passphrase-from");
    KekOptions kek;
    bool ask = false;
    app.add_option("-t,--template", format);
    app.add_option("-o,--output", output);
    app.add_flag("--passphrase", ask);
    passphrase.add_options(app);
    kek.add(app);
    refuse_passphrase_in_argument(argc, argv);
    refuse_keys_in_arguments(argc, argv);
    if (!parse_options(app, argc, argv, (std::string(keygen_help) + template_list()).c_str())) return 0;

    const bool wrapped = ask || passphrase.is_given();
    if (wrapped && kek.place) throw UsageError("--kek: cannot be combined with --passphrase");
    if ((wrapped || kek.place) && is_raw_only(format)) {
        throw UsageError(fmt::format("{}: the template {} uses raw keys, so there is no keyset to encrypt",
                                     wrapped ? "--passphrase" : "--kek", format));
    }
    if (!wrapped) passphrase.refuse_cost();
    refuse_unknown_template(format);
    check_output(output);
    warpaes_keyset* made = nullptr;
    check(warpaes_keyset_create(&made));
    const Keyset keyset(made);
    std::uint32_t id = 0;
    check(warpaes_keyset_add(keyset.get(), format.c_str(), &id));
    if (is_raw_only(format)) {
        warpaes_key_info info{};
        info.struct_size = sizeof info;
        check(warpaes_keyset_query(keyset.get(), 0, &info));
        put(output, random_raw_key(format, info.key_bits / 8).view(), "A raw key for " + format);
        return 0;
    }
    std::string what = fmt::format("Keyset with key {} ({})", id, format);
    std::optional<Lock> lock;
    if (wrapped) {
        lock = passphrase.take("the new keyset");
        what += ", encrypted under a passphrase";
    } else if (kek.place) {
        lock = Lock{.kek = kek.take()};
        what += ", encrypted under a key-encryption key";
    }
    const auto begin = std::chrono::steady_clock::now();
    const SecretText text = keyset_text(keyset.get(), lock);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    put(output, text.view(), what);
    if (kek.place) say("If you lose the key-encryption key or its associated data, you lose the files\n");
    if (wrapped) {
        say(fmt::format(
            "A passphrase guess takes {:.2f} s here and {}. If you forget the passphrase, you lose the files\n",
            taken.count(), cost_text(lock->cost)));
    }
    return 0;
}

}  // namespace cli
