"""The command ``warpaes``, as the wheel brings it."""

from __future__ import annotations

import importlib
import os
import pathlib
import sys


def main() -> None:
    """Become the command, or run what is Python."""
    if sys.argv[1:2] == ["qkd"]:
        sys.exit(importlib.import_module("warpaes.qkd").main(sys.argv[2:]))
    command = pathlib.Path(__file__).parent / "bin" / "warpaes"
    if not command.exists():
        sys.exit("warpaes: this package was built without the command")
    os.execv(command, ["warpaes", *sys.argv[1:]])


if __name__ == "__main__":
    main()
