// The help texts of `warpaes encrypt`, `decrypt`, `cat`, `verify` and `reencrypt`.
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
                         in directories: process only, or skip, files whose name
                         ('*.tmp', .git) or path ('photos/raw/*') matches
  --skip-existing        with --output-dir: skip files whose result exists
  -n, --dry-run          print the files that would be created; write nothing
  --aad TEXT, --aad-file FILE
                         associated data: not stored in the file, but required
                         to decrypt it
  -f, --force            overwrite results; write ciphertext to a terminal

Keys
  -k, --keys PLACE       a keyset (`warpaes keygen` creates it) or a raw key: a
                         path, env:NAME, fd:N or exec:'COMMAND ...' (a program
                         that prints it). If -k is repeated, the first keyset
                         encrypts. Default: the place in WARPAES_KEYSET
  --passphrase           ask for a passphrase, and store a keyset under it at
                         the start of each file. Decryption needs only the
                         passphrase. `warpaes keys passphrase FILE` changes it
  --to PLACE             like --passphrase, but with a key-encryption key (see
                         --help-all); can be repeated, also with --passphrase.
                         Any one of the keys, or the passphrase, opens a file
)";
constexpr const char* encrypt_more =
    R"(  --passphrase-seconds S with --passphrase: the time in seconds that one guess
                         takes on this machine. Default: 1. A guess always needs
                         at least 128 MiB of memory
  -d, --decrypt          decrypt, as `warpaes decrypt` does: for
                         tar -I 'warpaes encrypt -k keyset.json'
)";
constexpr const char* encrypt_examples = R"(
Examples
  warpaes encrypt --passphrase photos.tar          # creates photos.tar.warpaes
  warpaes keygen -o keyset.json
  warpaes encrypt -k keyset.json photos.tar
  tar c photos | warpaes encrypt -k keyset.json > photos.tar.warpaes
  warpaes encrypt -k keyset.json --output-dir backup photos letters
)";

constexpr const char* decrypt_text = R"(Usage: warpaes decrypt [--passphrase | -k KEYS] [-r RANGE] [-o FILE] [FILE...]

Decrypts files that `warpaes encrypt` or a Tink library wrote. A named result
appears only after the whole file is authenticated. A pipe receives each segment
once it is authenticated; it received all segments only if the exit status is 0.

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
  -r, --range FIRST:LAST decrypt only bytes FIRST to LAST, both included; LAST
                         is optional. Reads and authenticates only the segments
                         that contain these bytes
  --aad TEXT, --aad-file FILE
                         the associated data that the file was encrypted with
  --salvage              for damaged files: write every authentic segment, and
                         zeros in place of the others; list the damaged ranges.
                         The exit status is 26 if a range is damaged
  -f, --force            overwrite results

Keys
  -k, --keys PLACE       a keyset, whose enabled keys are tried, or a raw key: a
                         path, env:NAME, fd:N or exec:'COMMAND ...'; can be
                         repeated. Default: the place in WARPAES_KEYSET, or if
                         it is not set, the keyset at the start of each file
  --passphrase           use the keyset at the start of each file, and ask for
                         its passphrase, even if WARPAES_KEYSET is set
)";
constexpr const char* decrypt_examples = R"(
Examples
  warpaes decrypt -o photos.tar photos.tar.warpaes # prompts for a passphrase
  warpaes decrypt -k keyset.json -o photos.tar photos.tar.warpaes
  warpaes decrypt -k keyset.json photos.tar.warpaes | tar x
  warpaes decrypt -k keyset.json -r 1000000:1000099 disk.img.warpaes
  warpaes decrypt -k keyset.json --output-dir restored backup/photos
  warpaes decrypt -k keyset.json --salvage -o recovered disk.img.warpaes
)";

constexpr const char* cat_text = R"(Usage: warpaes cat [--passphrase | -k KEYS] [-r RANGE] FILE...

Writes the plaintext of encrypted files, one after the other, to standard
output. Each segment is authenticated before it is written. The command stops at
the first failure; all segments were written only if the exit status is 0.

Data
  FILE                   one or more files; '-': standard input
  --encrypted-names --name PATH
                         FILE is a directory with encrypted names, and PATH is
                         the plain path of a file in it; --name can be repeated
  -r, --range FIRST:LAST write only these bytes of a single file, as for
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
  FILE                   a file, or a directory: all files below it that look
                         encrypted. Without FILE, or with '-': standard input
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

Re-encrypts files in place, under a different key or in a different format. No
plaintext is written to the disk. A file is replaced only after all of it is
authenticated and the new file is complete. After a failure, the file is
unchanged. Files that the new key already opens are skipped.

Data
  FILE                   a file, or a directory: all files below it that look
                         encrypted
  --encrypted-names      FILE is a directory with encrypted names; they are
                         encrypted under the new key, after the files
  --include PATTERN, --exclude PATTERN
                         as for `warpaes encrypt`
  --aad TEXT, --aad-file FILE
                         the associated data of the files; it does not change
  -f, --force            also replace files that the new key opens

Keys
  -k, --keys PLACE       keys that open the files, as for `warpaes decrypt`
  --to PLACE             the keyset whose primary key encrypts. Default: the
                         first -k, for example after `keys add --primary`
  --to-template NAME     the template of --to, if it is a raw key
)";
constexpr const char* reencrypt_examples = R"(
Examples
  warpaes keys add --primary keyset.json
  warpaes reencrypt -k keyset.json backup
  warpaes reencrypt -k old.json --to new.json photos.tar.warpaes
)";

/// Options that few users need. Only --help-all and the man pages list them.
constexpr const char* keys_more =
    R"(  -t, --template NAME    the template of a raw key, which has 16 or 32 bytes or
                         twice as many hexadecimal digits (`warpaes keygen
                         --help` lists templates). Default: AES256_GCM_HKDF_1MB
                         or, for 16 bytes, AES128_GCM_HKDF_1MB
  --raw                  use a key of 16 or 32 bytes unchanged, even if it is
                         text; without this option, text is refused
  --passphrase-from PLACE
                         the passphrase of a keyset that has one: a path,
                         env:NAME, fd:N or exec:COMMAND. Default: ask
  --kek PLACE, --kek-aad TEXT
                         the key-encryption key of an encrypted keyset, in a
                         place as for --passphrase-from, and its associated
                         data.
                         With --passphrase-from or --kek, every keyset must be
                         encrypted, so that an attacker cannot replace it;
                         -k clear:PLACE allows an unencrypted keyset.
                         A place can contain these options for one keyset:
                         -k passphrase:FILE prompts for the passphrase;
                         passphrase=PLACE;FILE and kek=PLACE;kek-aad=TEXT;FILE
                         read the passphrase or key from a place.
                         own: in place of FILE means the keyset at the start of
                         each encrypted file (not for reencrypt), as in
                         -k 'passphrase=env:WORD;own:'
)";
constexpr const char* how = R"(
How
  --backend NAME         auto (default) or one that `warpaes devices` lists
  --device N             use this CUDA device; default: all
  --threads N            workers for a large file; default: one per processor
  -j, --jobs N           number of small files processed in parallel; default:
                         one per processor
  --no-sync              do not wait for the disk: a power failure can lose
                         results
  --progress, --no-progress
                         default: only if standard error is a terminal
  -q, --quiet            print no progress, notes or warnings
  -v, --verbose          print a line for each file: result, key, backend
  --json                 print a JSON record of the run: to standard output, or
                         to standard error if the data goes to standard output
)";
constexpr const char* end = R"(
Exit status: 0, or the warpaes_status of the first failure (`warpaes --help-all`
lists them); 128 + N after signal N. No output file remains for an input that
fails, except with --salvage.
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
