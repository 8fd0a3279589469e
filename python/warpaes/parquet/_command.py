"""The command ``warpaes parquet``, for encrypted Parquet files."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from .. import exceptions
from .._command import failed, prepare_streams, print_report, secure_process
from .._places import read_key
from .._printable import printable
from . import _trees
from ._inspect import describe, describe_view, verify
from ._keys import Keys
from ._open import open as open_view
from ._rewrite import Encryption, rewrite
from ._source import open_source
from ._tables import buffered

# The command's exit statuses (docs/command-line.md).
EXIT_STATUSES: list[tuple[type[BaseException], int]] = [
    (exceptions.InvalidTag, 22),
    (exceptions.FormatError, 21),
    (exceptions.KeysetError, 23),
    (KeyError, 23),
    (FileExistsError, 17),
    (FileNotFoundError, 16),
    (ValueError, 2),
    (OSError, 20),
]

DESCRIPTION = """\
Encrypts and decrypts Parquet files with Parquet modular encryption, like Spark,
parquet-mr and pyarrow. Pages are copied without decoding.
PLACE of a key: file:PATH, env:NAME, fd:NUMBER or exec:COMMAND, which contains
or prints 16, 24 or 32 bytes, raw or as hexadecimal digits
"""

EXAMPLES = """\
examples:
  warpaes parquet inspect trips.parquet
  warpaes parquet encrypt -k file:footer.key -o trips.enc.parquet trips.parquet
  warpaes parquet verify -k file:footer.key trips.enc.parquet
  warpaes parquet rekey -k file:old --new-key file:new -o new trips.enc.parquet
  warpaes parquet decrypt -k file:footer.key -o trips.parquet trips.enc.parquet
  warpaes parquet encrypt -r --bind-names -k file:footer.key -o sealed/ trips/"""

WORDS = {
    "inspect": "show the algorithm, keys and columns; without a key, show only the unencrypted parts",
    "verify": "authenticate every module without writing any output",
    "decrypt": "decrypt a file",
    "encrypt": "encrypt an unencrypted file",
    "rekey": "re-encrypt a file under different keys",
}


def _pair(text: str) -> tuple[str, str]:
    path, separator, rest = text.partition("=")
    if not separator or not path or not rest:
        raise argparse.ArgumentTypeError(f"{text!r} is not COLUMN=VALUE")
    return path, rest


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="warpaes parquet",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    words = parser.add_subparsers(dest="word", required=True, metavar="WORD")
    for name, text in WORDS.items():
        word = words.add_parser(name, help=text, description=text.capitalize() + ".")
        word.add_argument("files", nargs="+", metavar="FILE")
        writes = name in ("decrypt", "encrypt", "rekey")
        word.add_argument("-k", "--key", metavar="PLACE", required=name != "inspect", help="the footer key")
        word.add_argument(
            "--column-key",
            metavar="COLUMN=PLACE",
            type=_pair,
            action="append",
            default=[],
            help="the key of a column that has its own key",
        )
        word.add_argument("--aad-prefix", metavar="TEXT", help="the AAD prefix, if it is not stored in the file")
        if name != "inspect":
            word.add_argument("-r", "--recursive", action="store_true", help="process the Parquet files in folders")
            word.add_argument(
                "--bind-names", action="store_true", help="include each file's path in the folder in its AAD prefix"
            )
        if name != "encrypt":
            word.add_argument("--require-gcm", action="store_true", help="refuse AES_GCM_CTR_V1")
        if writes:
            word.add_argument(
                "-o",
                "--output",
                metavar="PATH",
                required=True,
                help="the output file, or a directory for several files",
            )
            word.add_argument("-f", "--force", action="store_true", help="replace existing files")
            word.add_argument("--resume", action="store_true", help="skip files whose output already exists")
        else:
            word.add_argument("--json", action="store_true", help="print JSON, one object per line")
        if name in ("encrypt", "rekey"):
            new = "new-" if name == "rekey" else ""
            if new:
                word.add_argument("--new-key", metavar="PLACE", required=True, help="the new footer key")
                word.add_argument("--new-column-key", metavar="COLUMN=PLACE", type=_pair, action="append", default=[])
                word.add_argument("--new-aad-prefix", metavar="TEXT")
                word.add_argument("--bind-new-names", action="store_true", help="bind names that are not bound yet")
            word.add_argument(
                "--key-metadata", metavar="TEXT", default="", help="key metadata that readers use to find the key"
            )
            word.add_argument("--column-key-metadata", metavar="COLUMN=TEXT", type=_pair, action="append", default=[])
            word.add_argument(
                "--supply-aad-prefix", action="store_true", help="do not store the AAD prefix in the file"
            )
            word.add_argument(
                "--ctr", action="store_true", help="use AES_GCM_CTR_V1, which does not authenticate pages"
            )
            word.add_argument(
                "--plaintext-footer", action="store_true", help="sign the footer instead of encrypting it"
            )
    return parser


def _keys(key: str, columns: list[tuple[str, str]]) -> Keys:
    return Keys(read_key(key), {path: read_key(place) for path, place in columns})


def _encryption(options: argparse.Namespace) -> Encryption:
    new = options.word == "rekey"
    keys = _keys(*((options.new_key, options.new_column_key) if new else (options.key, options.column_key)))
    return Encryption(
        keys.footer_key or b"",
        keys.columns,
        footer_key_metadata=options.key_metadata.encode(),
        column_key_metadata={path: text.encode() for path, text in options.column_key_metadata},
        store_aad_prefix=not options.supply_aad_prefix,
        algorithm="AES_GCM_CTR_V1" if options.ctr else "AES_GCM_V1",
        plaintext_footer=options.plaintext_footer,
    )


class _Progress:
    """Shows the percentage on standard error if it is a terminal."""

    def __init__(self, name: str) -> None:
        self._name, self._last = printable(os.path.basename(name)), -1

    def __call__(self, done: int, total: int) -> None:
        percent = 100 * done // max(total, 1)
        if percent != self._last and sys.stderr.isatty():
            self._last = percent
            end = "\n" if percent >= 100 else ""
            print(f"\r{self._name}: {percent} %", end=end, file=sys.stderr, flush=True)


def _described(file: Any) -> dict[str, Any]:
    source = open_source(file)
    try:
        return describe(source)
    finally:
        source.close()


def _expected(options: argparse.Namespace, job: _trees.Job) -> bytes | None:
    """Return the AAD prefix that an encrypted input must have."""
    return _trees.prefix(options.aad_prefix, job.name, options.bind_names)


def _write(options: argparse.Namespace, job: _trees.Job, keys: Keys | None, encryption: Encryption | None) -> None:
    path, target = job.path, job.target
    assert target is not None
    if os.path.exists(target):
        if os.path.samefile(path, target):
            raise ValueError(f"--output: '{target}' is the input")
        if options.resume:
            return
    clear = options.word == "encrypt"
    if encryption is not None:
        bound = options.bind_names or (not clear and options.bind_new_names)
        text = options.aad_prefix if clear else options.new_aad_prefix
        encryption = dataclasses.replace(encryption, aad_prefix=_trees.prefix(text, job.name, bound) or b"")
    with job.opened() as file:
        if clear and _described(file)["algorithm"] is not None:
            raise ValueError(f"'{path}' is already encrypted; use `warpaes parquet rekey` to change its keys")
        with (
            open_view(
                file,
                keys or Keys(None),
                None if clear else _expected(options, job),
                not clear and options.require_gcm,
                clear,
            ) as view,
            job.result(replace=options.force, secret=encryption is None) as output,
            buffered(output) as sink,
        ):
            rewrite(view, sink, encryption, _Progress(path))


def _inspect(options: argparse.Namespace, path: str, keys: Keys | None) -> dict[str, Any]:
    found: dict[str, Any] = {"file": path, **_described(path)}
    if found["algorithm"] is not None and keys is not None:
        with open_view(path, keys, _trees.prefix(options.aad_prefix, "", False), options.require_gcm) as view:
            found |= describe_view(view)
    return found


def _verify(options: argparse.Namespace, job: _trees.Job, keys: Keys | None) -> dict[str, Any]:
    with (
        job.opened() as file,
        open_view(file, keys or Keys(None), _expected(options, job), options.require_gcm) as view,
    ):
        done = verify(view, _Progress(job.path))
        return {
            "file": job.path,
            "authenticated_bytes": done,
            "pages_authenticated": not view.footer.ctr,
            "columns_without_key": view.missing_columns,
        }


def _text(found: dict[str, Any]) -> str:
    lines = []
    for name, value in found.items():
        if isinstance(value, dict):
            lines += [f"  {printable(path)}: {printable(json.dumps(one))}" for path, one in value.items()]
        elif value not in (None, [], ""):
            shown = ", ".join(value) if isinstance(value, list) else str(value)
            lines.append(f"{name.replace('_', ' ')}: {printable(shown)}")
    return "\n".join(lines)


def _run(options: argparse.Namespace) -> int:
    reads_clear = options.word == "encrypt"
    keys = None if options.key is None or reads_clear else _keys(options.key, options.column_key)
    encryption = _encryption(options) if options.word in ("encrypt", "rekey") else None
    if options.word == "inspect":
        found, others = [_trees.Job(path, None, path) for path in options.files], list[str]()
    else:
        output = options.output if options.word in ("decrypt", "encrypt", "rekey") else None
        found, others = _trees.jobs(options.files, output, options.recursive)

    def work(job: _trees.Job) -> None:
        try:
            if options.word in ("inspect", "verify"):
                what = _inspect(options, job.path, keys) if options.word == "inspect" else _verify(options, job, keys)
                why = print_report(json.dumps(what) if options.json else _text(what))
                if why:
                    raise OSError(f"standard output: {why}")
            else:
                _write(options, job, keys, encryption)
        except (exceptions.InvalidTag, exceptions.FormatError, KeyError) as error:
            raise type(error)(f"'{job.path}': {error.args[0] if error.args else error}") from None
        except ValueError as error:
            said = str(error).replace("; pass allow_plaintext=True to open it", "")
            raise ValueError(said if job.path in said else f"'{job.path}': {said.removeprefix('file: ')}") from None

    _trees.each(work, found, 1 if options.word in ("inspect", "verify") else os.cpu_count() or 1)
    if others:
        some = ", ".join(printable(one) for one in others[:3]) + (", …" if len(others) > 3 else "")
        print(
            f"warpaes: {len(others)} files were skipped, because they are links or not Parquet files: {some}",
            file=sys.stderr,
        )
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    secure_process()
    prepare_streams()
    options = _parser().parse_args(arguments)
    try:
        return _run(options)
    except KeyError as error:
        return failed(exceptions.KeysetError(error.args[0]), EXIT_STATUSES)
    except tuple(kind for kind, _ in EXIT_STATUSES) as error:
        return failed(error, EXIT_STATUSES)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
