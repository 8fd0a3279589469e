"""The wheel's ``warpaes`` command."""

from __future__ import annotations

import importlib
import os
import pathlib
import sys

from ._command import prepare_streams, secure_process


def main() -> None:
    """Run a subcommand that is written in Python, or replace this process with the ``warpaes`` binary."""
    secure_process()
    if sys.argv[1:2] in (["bulk"], ["keysources"], ["model"], ["parquet"], ["qkd"]):
        prepare_streams()
    if sys.argv[1:2] == ["qkd"]:
        sys.exit(importlib.import_module("warpaes.qkd").main(sys.argv[2:]))
    if sys.argv[1:2] == ["keysources"]:
        sys.exit(importlib.import_module("warpaes.keysources.__main__").main(sys.argv[2:]))
    if sys.argv[1:2] == ["model"]:
        sys.exit(importlib.import_module("warpaes.models._command").main(sys.argv[2:]))
    if sys.argv[1:2] == ["parquet"]:
        sys.exit(importlib.import_module("warpaes.parquet._command").main(sys.argv[2:]))
    if sys.argv[1:2] == ["bulk"]:
        try:
            from .bulk.cli import main as bulk
        except ModuleNotFoundError as error:
            sys.exit(
                f"warpaes bulk: {error.name} is not installed; run pip install 'warpaes[bulk]', "
                "or 'warpaes[ray]' for clusters"
            )
        sys.exit(bulk(sys.argv[2:]))
    command = pathlib.Path(__file__).parent / "bin" / "warpaes"
    if not command.exists():
        sys.exit("warpaes: this package was built without the warpaes binary")
    os.execv(command, ["warpaes", *sys.argv[1:]])


if __name__ == "__main__":
    main()
