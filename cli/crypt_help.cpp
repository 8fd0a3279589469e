// The help of `warpaes encrypt`, `decrypt`, `cat`, `verify` and `reencrypt`.
#include "crypt_options.hpp"

namespace cli {

namespace {

constexpr const char* encrypt_text = R"(Usage: warpaes encrypt [-k KEYS] [-o RESULT] [FILE...]

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
  -k, --keys PLACE       a keyset (`warpaes keygen` makes one) or a raw key; a path, env:NAME, fd:N, or
                         exec:'COMMAND ...', a program that prints one. Of several the first encrypts.
                         Default: what WARPAES_KEYSET says
)";
constexpr const char* encrypt_more =
    R"(  -d, --decrypt          decrypt, as `warpaes decrypt`: for tar -I 'warpaes encrypt -k keyset.json'
)";
constexpr const char* encrypt_examples = R"(
Examples
  warpaes keygen -o keyset.json
  warpaes encrypt -k keyset.json photos.tar          # makes photos.tar.warpaes
  tar c photos | warpaes encrypt -k keyset.json > photos.tar.warpaes
  warpaes encrypt -k keyset.json --output-dir backup photos letters notes.txt
)";

constexpr const char* decrypt_text = R"(Usage: warpaes decrypt [-k KEYS] [-r RANGE] [-o FILE] [FILE...]

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
  -k, --keys PLACE       a keyset, of which every enabled key is tried, or a raw key; a path, env:NAME,
                         fd:N or exec:'COMMAND ...'; may be repeated. Default: what WARPAES_KEYSET says
)";
constexpr const char* decrypt_examples = R"(
Examples
  warpaes decrypt -k keyset.json -o photos.tar photos.tar.warpaes
  warpaes decrypt -k keyset.json photos.tar.warpaes | tar x
  warpaes decrypt -k keyset.json -r 1000000:1000099 disk.img.warpaes
  warpaes decrypt -k keyset.json --output-dir restored backup/photos backup/notes.txt.warpaes
)";

constexpr const char* cat_text = R"(Usage: warpaes cat [-k KEYS] [-r RANGE] FILE...

Writes the plaintext of encrypted files, one behind the other, to standard output. It receives
authenticated segments only; exit status 0 says that they were all. The first failure ends it.

Data
  FILE                   one or several; '-': standard input
  -r, --range FIRST:LAST of one file only these bytes, as for `warpaes decrypt`
  --aad TEXT, --aad-file FILE
                         associated data, as it was when the files were encrypted

Keys
  -k, --keys PLACE       as for `warpaes decrypt`
)";
constexpr const char* cat_examples = R"(
Example
  warpaes cat -k keyset.json january.log.warpaes february.log.warpaes | grep error
)";

constexpr const char* verify_text = R"(Usage: warpaes verify [-k KEYS] [FILE...]

Authenticates files to their ends and writes nothing.

Data
  FILE                   files, and directories with everything below them that looks like an
                         encrypted file; none, or '-': standard input
  --exclude PATTERN      as for `warpaes encrypt`
  --aad TEXT, --aad-file FILE
                         associated data, as it was when the file was encrypted

Keys
  -k, --keys PLACE       as for `warpaes decrypt`
)";
constexpr const char* verify_examples = R"(
Example
  warpaes verify -k keyset.json backup/photos backup/notes.txt.warpaes
)";

constexpr const char* reencrypt_text = R"(Usage: warpaes reencrypt [-k KEYS] [--to KEYS] FILE...

Encrypts encrypted files anew, with another key or in another format, in their places. Plaintext is
never on the disk. A file is replaced when its successor is complete and all of it was authentic: until
then, and after any failure, it is as it was. What has the new key already is left alone.

Data
  FILE                   files, and directories with everything below them that looks encrypted
  --exclude PATTERN      as for `warpaes encrypt`
  --aad TEXT, --aad-file FILE
                         associated data, as it was when the files were encrypted; it stays the same
  -f, --force            also what has the new key already

Keys
  -k, --keys PLACE       what opens the files, as for `warpaes decrypt`
  --to PLACE             whose primary encrypts them; default: the first of -k, after `keys add --primary`
  --to-template NAME     of --to, where that is a raw key
)";
constexpr const char* reencrypt_examples = R"(
Examples
  warpaes keys add --primary keyset.json
  warpaes reencrypt -k keyset.json backup
  warpaes reencrypt -k old.json --to new.json photos.tar.warpaes
)";

/// Options that few users need; only --help-all and the man pages have them.
constexpr const char* keys_more =
    R"(  -t, --template NAME    of a raw key (16 or 32 bytes or twice as many hexadecimal digits), as in
                         `warpaes keygen --help`; default AES256_GCM_HKDF_1MB, for 16 bytes
                         AES128_GCM_HKDF_1MB
  --passphrase-from PLACE
                         of a keyset under a passphrase: a path, env:NAME, fd:N or exec:COMMAND.
                         Default: asked for
  --kek PLACE, --kek-aad TEXT
                         of a keyset under a key-encryption key: where that key is, likewise, and the
                         associated data that the keyset was encrypted with.
                         With one of these options every keyset must be encrypted, so that no other can
                         take its place; -k clear:PLACE marks one that is in clear on purpose
)";
constexpr const char* how = R"(
How
  --backend NAME         auto (default), libcrypto, aesni, vaes, armv8, cuda: see `warpaes devices`
  --device N             this CUDA device; default: all
  --threads N            workers on a large file; default: one per processor
  -j, --jobs N           small files at a time; default: one per processor
  --no-sync              do not wait until the disk has the results: who loses power may lose them
  --progress, --no-progress
                         default: if standard error is a terminal
  -q, --quiet            no progress, no notes, no warnings
  -v, --verbose          a line for each file: what became of it, by which key, on what
  --json                 a record of the run; on standard output unless the data goes there
)";
constexpr const char* end = R"(
Exit status: 0, or the warpaes_status of what went wrong (`warpaes --help-all` lists them), of several
files that of the first; 128 + N after signal N. A failed run leaves no output file.
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
