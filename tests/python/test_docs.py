#!/usr/bin/env python3
"""The blocks of Python in docs/python.md run, one after the other in one process."""

from __future__ import annotations

import contextlib
import io
import os
import pathlib
import re
import tempfile
import unittest

from support import needed

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md"


class Blocks(unittest.TestCase):
    def test_all(self) -> None:
        for name in ("cryptography", "fsspec", "numpy"):
            needed(name)
        import fsspec
        from warpaes.fs import WarpaesFileSystem

        fsspec.register_implementation("warpaes", WarpaesFileSystem, clobber=True)  # a wheel's entry point does it
        page = PAGE.read_text()
        blocks = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        self.assertGreater(len(blocks), 5)
        names: dict[str, object] = {}
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as said:
            os.chdir(folder)
            try:
                for block in blocks:
                    line = page[: page.index(block)].count("\n")
                    exec(compile("\n" * line + block, PAGE, "exec"), names)
            finally:
                os.chdir(before)
        self.assertIn("was altered", said.getvalue())


if __name__ == "__main__":
    unittest.main()
