// The help of `warpaes encrypt`, `decrypt`, `cat`, `verify` and `reencrypt`.
#include "crypt_options.hpp"

namespace cli {

namespace {

constexpr const char* encrypt_text = R"(Usage: warpaes encrypt [--passphrase | --to KEK | -k KEYS] [-o RESULT] [FILE...]

Encrypts files in authenticated segments: decryption detects modification,
truncation and reordering, and can read any part without the rest. The key
determines the format: Tink's streaming AEAD or C2SP chunked encryption.

Data
  FILE                   becomes FILE.warpaes. Without FILE, or with '-', reads
                         standard input and writes standard output
  -o, --output FILE      name of the result; '-': standard output
  --output-dir DIR       encrypt files, and directories with everything below
                         them, into DIR. Each result keeps its path,
                         permissions and times and gets the suffix .warpaes.
                         Owners, links and attributes are lost; tar keeps them
  --encrypt-names        also encrypt names in DIR (with -k): see `warpaes list`
  --include PATTERN, --exclude PATTERN
                         in directories: take only, or skip, files whose name
                         ('*.tmp', .git) or path ('photos/raw/*') matches
  --skip-existing        with --output-dir: skip files whose result exists
  -n, --dry-run          only print which files would be made
  --aad TEXT, --aad-file FILE
                         associated data: not stored in the file, and required
                         to decrypt it
  -f, --force            overwrite results; write ciphertext to a terminal

Keys
  -k, --keys PLACE       a keyset (`warpaes keygen` makes one) or a raw key: a
                         path, env:NAME, fd:N or exec:'COMMAND ...' (a program
                         that prints it). The first of several encrypts.
                         Default: the place in WARPAES_KEYSET
  --passphrase           ask for a passphrase, and put a keyset under it at the
                         start of each file. Nothing else is needed to decrypt.
                         `warpaes keys passphrase FILE` changes the passphrase
  --to PLACE             the same with a key-encryption key (see --help-all);
                         may be repeated, and combined with --passphrase. Any
                         one of them opens the files
)";
constexpr const char* encrypt_more =
    R"(  --passphrase-seconds S with --passphrase: seconds that one guess takes on
                         this machine. Default: 1. A guess always needs at
                         least 128 MiB of memory
  -d, --decrypt          decrypt, as `warpaes decrypt` does: for
                         tar -I 'warpaes encrypt -k keyset.json'
)";
constexpr const char* encrypt_examples = R"(
Examples
  warpaes encrypt --passphrase photos.tar          # makes photos.tar.warpaes
  warpaes keygen -o keyset.json
  warpaes encrypt -k keyset.json photos.tar
  tar c photos | warpaes encrypt -k keyset.json > photos.tar.warpaes
  warpaes encrypt -k keyset.json --output-dir backup photos letters
)";

constexpr const char* decrypt_text = R"(Usage: warpaes decrypt [--passphrase | -k KEYS] [-r RANGE] [-o FILE] [FILE...]

Decrypts files of `warpaes encrypt` and of Tink's libraries. A named result
appears only after everything was authenticated. A pipe receives authenticated
segments; only exit status 0 means that it has received all of them.

Data
  FILE                   files to decrypt; default, or '-': standard input
  -o, --output FILE      name of the result. Default, or '-': standard output
  --output-dir DIR       decrypt files, and directories with everything below
                         them, into DIR. Each result keeps its path,
                         permissions and times and loses the suffix .warpaes.
                         Files in directories that do not look encrypted are
                         skipped
  --encrypted-names      FILE is a directory of `encrypt --encrypt-names`
  --name PATH            with --encrypted-names: only this file (plain path)
  --include PATTERN, --exclude PATTERN, --skip-existing, -n, --dry-run
                         as for `warpaes encrypt`
  -r, --range FIRST:LAST only bytes FIRST to LAST of the plaintext, both
                         included; LAST is optional. Reads and authenticates
                         only the segments that contain them
  --aad TEXT, --aad-file FILE
                         the associated data that the file was encrypted with
  --salvage              for damaged files: write every authentic segment, and
                         zeros in place of the others. Lists the damaged ranges;
                         exit status 26 if there are any
  -f, --force            overwrite results

Keys
  -k, --keys PLACE       a keyset, whose enabled keys are tried, or a raw key: a
                         path, env:NAME, fd:N or exec:'COMMAND ...'; may be
                         repeated. Default: the place in WARPAES_KEYSET, or if
                         there is none, the keyset at the start of each file
  --passphrase           require files with a keyset of their own, and ask for
                         its passphrase, even if WARPAES_KEYSET is set
)";
constexpr const char* decrypt_examples = R"(
Examples
  warpaes decrypt -o photos.tar photos.tar.warpaes # asks for the passphrase
  warpaes decrypt -k keyset.json -o photos.tar photos.tar.warpaes
  warpaes decrypt -k keyset.json photos.tar.warpaes | tar x
  warpaes decrypt -k keyset.json -r 1000000:1000099 disk.img.warpaes
  warpaes decrypt -k keyset.json --output-dir restored backup/photos
  warpaes decrypt -k keyset.json --salvage -o recovered disk.img.warpaes
)";

constexpr const char* cat_text = R"(Usage: warpaes cat [--passphrase | -k KEYS] [-r RANGE] FILE...

Writes the plaintext of encrypted files, one after the other, to standard
output, which receives authenticated segments only. Only exit status 0 means
that it has received all of them. The first failure ends the command.

Data
  FILE                   one or more files; '-': standard input
  --encrypted-names --name PATH
                         FILE is a directory with encrypted names, and PATH is
                         the plain path of a file in it; --name may be repeated
  -r, --range FIRST:LAST only these bytes of a single file, as for
                         `warpaes decrypt`
  --aad TEXT, --aad-file FILE
                         the associated data that the files were encrypted with

Keys
  -k, --keys PLACE, --passphrase
                         as for `warpaes decrypt`
)";
constexpr const char* cat_examples = R"(
Example
  warpaes cat -k keyset.json january.log.warpaes february.log.warpaes | less
)";

constexpr const char* verify_text = R"(Usage: warpaes verify [--passphrase | -k KEYS] [FILE...]

Authenticates complete files and writes no output.

Data
  FILE                   files, and directories with everything below them that
                         looks encrypted. Without FILE, or with '-': standard
                         input
  --encrypted-names, --name PATH
                         as for `warpaes decrypt`; also authenticates every name
  --include PATTERN, --exclude PATTERN
                         as for `warpaes encrypt`
  --aad TEXT, --aad-file FILE
                         the associated data that the file was encrypted with

Keys
  -k, --keys PLACE, --passphrase
                         as for `warpaes decrypt`
)";
constexpr const char* verify_examples = R"(
Example
  warpaes verify -k keyset.json backup/photos backup/notes.txt.warpaes
)";

constexpr const char* reencrypt_text = R"(Usage: warpaes reencrypt [-k KEYS] [--to KEYS] FILE...

Re-encrypts files in place, under another key or in another format. No plaintext
is written to the disk. A file is replaced only if all of it was authentic and
the new one is complete; after a failure it is unchanged. Files that the new key
already opens are skipped.

Data
  FILE                   files, and directories with everything below them that
                         looks encrypted
  --encrypted-names      FILE is a directory with encrypted names; they are
                         encrypted under the new key, after the files
  --include PATTERN, --exclude PATTERN
                         as for `warpaes encrypt`
  --aad TEXT, --aad-file FILE
                         the associated data of the files, before and after
  -f, --force            also replace files that the new key opens

Keys
  -k, --keys PLACE       keys that open the files, as for `warpaes decrypt`
  --to PLACE             keys whose primary key encrypts. Default: the primary
                         key of the first -k, after `keys add --primary`
  --to-template NAME     the template of --to, if that is a raw key
)";
constexpr const char* reencrypt_examples = R"(
Examples
  warpaes keys add --primary keyset.json
  warpaes reencrypt -k keyset.json backup
  warpaes reencrypt -k old.json --to new.json photos.tar.warpaes
)";

/// Options that few users need; only --help-all and the man pages have them.
constexpr const char* keys_more =
    R"(  -t, --template NAME    the template of a raw key, which has 16 or 32 bytes or
                         twice as many hexadecimal digits (`warpaes keygen
                         --help` lists templates). Default: AES256_GCM_HKDF_1MB
                         or, for 16 bytes, AES128_GCM_HKDF_1MB
  --raw                  use a key of 16 or 32 bytes as it is even if it is
                         text; without this option text is refused
  --passphrase-from PLACE
                         the passphrase of a keyset that has one: a path,
                         env:NAME, fd:N or exec:COMMAND. Default: ask
  --kek PLACE, --kek-aad TEXT
                         the key-encryption key of an encrypted keyset (same
                         places), and its associated data
                         With --passphrase-from or --kek every keyset must be
                         encrypted, so that nobody can put another in its place;
                         -k clear:PLACE allows a keyset in clear
                         A place can contain these options for one keyset:
                         -k passphrase:FILE asks, and passphrase=PLACE;FILE and
                         kek=PLACE;kek-aad=TEXT;FILE read it from a place
                         own: instead of FILE is the keyset at the start of each
                         encrypted file (not for reencrypt), as in
                         -k 'passphrase=env:WORD;own:'
)";
constexpr const char* how = R"(
How
  --backend NAME         auto (default), libcrypto, aesni, vaes, armv8 or cuda;
                         `warpaes devices` lists them
  --device N             use this CUDA device; default: all
  --threads N            workers for a large file; default: one per processor
  -j, --jobs N           number of small files processed at a time; default: one
                         per processor
  --no-sync              do not wait for the disk: a power failure can lose
                         results
  --progress, --no-progress
                         default: only if standard error is a terminal
  -q, --quiet            print no progress, notes or warnings
  -v, --verbose          print a line for each file: result, key, backend
  --json                 print a record of the run: to standard output, or to
                         standard error if the data goes to standard output
)";
constexpr const char* end = R"(
Exit status: 0, or the warpaes_status of the first failure (`warpaes --help-all`
lists them); 128 + N after signal N. A failed run leaves no output file.
)";

}  // namespace

Help help_of(Action action) {
    const auto help = [](const char* text, const char* more, const char* examples, const char* name) {
        return Help{std::string(text) + examples + "\nMore options: `warpaes " + name + " --help-all`, man warpaes-" +
                        name + "\n",
                    std::string(text) + keys_more + more + how + examples + end};
    };
    switch (action) {
    case Action::encrypt:
        return help(encrypt_text, encrypt_more, encrypt_examples, "encrypt");
    case Action::decrypt:
        return help(decrypt_text, "", decrypt_examples, "decrypt");
    case Action::cat:
        return help(cat_text, "", cat_examples, "cat");
    case Action::reencrypt:
        return help(reencrypt_text, "", reencrypt_examples, "reencrypt");
    case Action::verify:
        break;
    }
    return help(verify_text, "", verify_examples, "verify");
}

}  // namespace cli
