#!/usr/bin/env python3
"""Runs `mypy --strict` on the package, and runs stubtest, which compares the stubs with the extension."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile


def main() -> int:
    if importlib.util.find_spec("mypy") is None:
        print("mypy is not installed; `tools/setup test` installs it")
        return 77
    folder = pathlib.Path(sys.argv[1]).resolve()
    settings = ["--config-file", str(folder / "mypy.ini")]
    allowed = ["--concise", "--allowlist", str(folder / "stubtest-allowlist.txt")]
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"MYPYPATH": str(folder)}
        subprocess.run(
            [sys.executable, "-m", "mypy", *settings, "--cache-dir", cache, str(folder / "warpaes")],
            env=environment,
            check=True,
        )
        subprocess.run(
            [sys.executable, "-m", "mypy.stubtest", "--mypy-config-file", settings[1], *allowed, "warpaes._native"],
            env=environment,
            cwd=cache,
            check=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
