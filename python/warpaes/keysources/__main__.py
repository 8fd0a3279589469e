"""The command ``warpaes keysources``: keysets wrapped by key sources, for scripts and for ``warpaes -k exec:…``."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator, Sequence

from .. import exceptions
from .._command import failed, prepare_streams, secure_process
from .._key_files import MOST_BYTES, read_file
from .._native import Keyset
from .._output import Output
from . import KeySourceError, from_url, generate_kek, read_keyset, write_keyset

# The command's exit statuses (docs/command-line.md).
EXIT_STATUSES: list[tuple[type[BaseException], int]] = [
    (exceptions.InvalidUnwrap, 22),
    (exceptions.KeysetError, 23),
    (KeySourceError, 19),
    (FileExistsError, 17),
    (FileNotFoundError, 16),
    (ValueError, 2),
    (OSError, 20),
]


DESCRIPTION = """\
Creates and opens keysets that are wrapped under a key in a key manager, a
token, a TPM or a file, for scripts and for `warpaes -k exec:…`.
SOURCE: aws-kms://…, vault-transit://…, pkcs11:…, tpm2:…, file:PATH or
exec:COMMAND
"""

EXAMPLES = """\
examples:
  warpaes keysources new-kek -o kek.json
  warpaes keysources new aws-kms://alias/files -o keyset.wrapped.json
  warpaes keysources wrap tpm2: keyset.json -o keys.tpm
  warpaes encrypt -k exec:'warpaes keysources open tpm2: keys.tpm' disk.img"""


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(MOST_BYTES)


@contextlib.contextmanager
def _named(path: str) -> Iterator[None]:
    """Add the file's name to errors about its content."""
    try:
        yield
    except (exceptions.InvalidUnwrap, exceptions.KeysetError) as error:
        raise type(error)(f"'{path}': {error}") from None


def _put(path: str | None, content: bytes) -> None:
    if path is None:
        if sys.stdout.isatty():
            raise ValueError("keys are not written to a terminal; use -o FILE, or write to a pipe")
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    with Output(path, secret=True) as file:
        file.write(content)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(
        "warpaes keysources",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    words = parser.add_subparsers(dest="word", required=True, metavar="WORD")
    for name, text in (
        ("new", "create a new keyset, wrapped by the source"),
        ("wrap", "wrap an unencrypted keyset"),
        ("open", "unwrap a keyset, for use with `warpaes -k exec:…`"),
        ("new-kek", "create a new key-encryption key, for use with file:PATH"),
    ):
        word = words.add_parser(name, help=text)
        if name != "new-kek":
            word.add_argument("source", metavar="SOURCE", help="the URL of a key source")
            word.add_argument("--aad", default="", help="associated data, which is also required to open the keyset")
        if name in ("wrap", "open"):
            word.add_argument("keyset", metavar="KEYSET")
        if name == "new":
            word.add_argument("-t", "--template", default="AES256_GCM_HKDF_1MB")
        word.add_argument("-o", "--output", metavar="FILE", help="a new file, readable only by its owner")
    options = parser.parse_args(arguments)
    try:
        if options.output is not None and os.path.lexists(options.output):
            raise FileExistsError(17, "exists, and keys are never overwritten; choose a different name", options.output)
        if options.word == "new-kek":
            content = generate_kek()
        else:
            with from_url(options.source) as source:
                aad = options.aad.encode()
                if options.word == "open":
                    with _named(options.keyset):
                        content = read_keyset(_read(options.keyset), source, aad).to_json()
                elif options.word == "wrap":
                    with _named(options.keyset):
                        keyset = Keyset.parse(read_file(options.keyset))
                    content = write_keyset(keyset, source, aad)
                else:
                    content = write_keyset(Keyset.generate(options.template), source, aad)
        _put(options.output, content)
    except tuple(kind for kind, _ in EXIT_STATUSES) as error:
        return failed(error, EXIT_STATUSES)
    return 0


if __name__ == "__main__":
    secure_process()
    prepare_streams()
    sys.exit(main())
