"""The command ``warpaes model``, for encrypted model folders."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from .. import exceptions
from .._command import failed, prepare_streams, print_report, secure_process
from .._printable import printable
from ._encrypt import encrypt
from ._folder import inspect, verify

# The command's exit statuses (docs/command-line.md).
EXIT_STATUSES: list[tuple[type[BaseException], int]] = [
    (exceptions.InvalidTag, 22),
    (exceptions.InvalidSignature, 22),
    (exceptions.FormatError, 21),
    (exceptions.KeysetError, 23),
    (exceptions.Error, 20),
    (FileExistsError, 17),
    (FileNotFoundError, 16),
    (ValueError, 2),
    (OSError, 20),
    (ImportError, 20),
]

DESCRIPTION = """\
Encrypts and authenticates model folders in Hugging Face's layout. *.safetensors
are encrypted, all other files are copied unencrypted, and a manifest
authenticates all files. PLACE of a keyset: PATH, env:NAME, fd:NUMBER or
exec:COMMAND (docs/keys.md)
"""

EXAMPLES = """\
examples:
  warpaes keygen -o keyset.json
  warpaes model encrypt -k keyset.json ./Llama-3-8B ./Llama-3-8B.encrypted
  warpaes model verify -k keyset.json ./Llama-3-8B.encrypted
  warpaes model inspect ./Llama-3-8B.encrypted"""


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("warpaes model", description=DESCRIPTION, epilog=EXAMPLES, formatter_class=raw)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, words in (
        ("encrypt", "encrypt the weights of a folder into a new folder"),
        ("verify", "authenticate every byte of an encrypted folder"),
        ("inspect", "show which files are encrypted, without authenticating them"),
    ):
        each = commands.add_parser(name, help=words, description=words, epilog=EXAMPLES, formatter_class=raw)
        if name != "inspect":
            each.add_argument("-k", "--key", required=True, metavar="PLACE", help="the keyset")
        each.add_argument("folder", metavar="FOLDER")
        if name == "encrypt":
            each.add_argument(
                "--in-clear",
                action="append",
                default=[],
                metavar="NAME",
                help="also copy the file NAME unencrypted, although it may contain weights",
            )
            each.add_argument("target", metavar="TARGET", help="the new folder, which must not exist")
        each.add_argument("--json", action="store_true", help="print the result as JSON")
    return parser


def _run(given: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Run a command. Return its report and the readable form of the report."""
    if given.command == "encrypt":
        in_clear = encrypt(given.folder, given.target, given.key, clear=given.in_clear)
        text = "".join(f"unencrypted: {printable(name)} ({size} bytes)\n" for name, size in in_clear.items())
        return {"target": given.target, "in_clear": in_clear}, f"{text}encrypted: {printable(given.target)}"
    if given.command == "verify":
        count = verify(given.folder, given.key)
        return {"tensors": count}, f"{printable(given.folder)}: {count} tensors and all files are authentic"
    found = inspect(given.folder)
    lines = [f"{what.replace('_', ' ')}: {printable(name)} ({size} bytes)" for what in ("encrypted", "in_clear")
             for name, size in found[what].items()]  # fmt: skip
    return found, "\n".join([f"key: {found['key_id']}", *lines, "nothing was authenticated"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``warpaes model`` and return its exit status."""
    secure_process()
    prepare_streams()
    given = _parser().parse_args(arguments)
    try:
        report, text = _run(given)
    except tuple(kind for kind, _ in EXIT_STATUSES) as error:
        return failed(error, EXIT_STATUSES)
    why = print_report(json.dumps(report) if given.json else text)
    if why:
        print(f"warpaes: standard output: {why}", file=sys.stderr)
        return 20
    return 0
