#!/usr/bin/env python3
"""Runs the Python blocks in docs/python.md, in order, in one process. The docstrings and signatures in the extension
must equal those in its stub, which is the reference.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import os
import pathlib
import re
import tempfile
import unittest

from support import needed

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/python.md"
STUB = ROOT / "python/warpaes/_native.pyi"
#: Classes in the stub that have different names in the extension, because several classes share them.
SHARED = {"_Single": "AESGCMSIV", "_Many": "AESGCM", "_Pieces": "CipherContext"}
#: Functions that only the package's other modules call.
PRIVATE = {"_refuse_subinterpreters", "context", "crypt", "shape"}


class Blocks(unittest.TestCase):
    def test_all(self) -> None:
        for name in ("cryptography", "fsspec", "numpy"):
            needed(name)
        import fsspec
        from warpaes.fs import WarpaesFileSystem

        # A wheel's entry point does the same.
        fsspec.register_implementation("warpaes", WarpaesFileSystem, clobber=True)
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


def declared(node: ast.Module | ast.ClassDef, prefix: str = "") -> list[tuple[str, str]]:
    """Return the names and docstrings of the stub's functions and classes."""
    found = []
    for child in node.body:
        if isinstance(child, (ast.FunctionDef, ast.ClassDef)) and child.name not in PRIVATE:
            if isinstance(child, ast.ClassDef):
                found += declared(child, f"{child.name}.")
            if not child.name.startswith("_"):
                found.append((prefix + child.name, ast.get_docstring(child) or ""))
    return found


class Stub(unittest.TestCase):
    def test_says_what_the_extension_says_and_more(self) -> None:
        from warpaes import _native

        names = declared(ast.parse(STUB.read_text()))
        self.assertGreater(len(names), 60)
        for name, said in names:
            first, _, rest = name.partition(".")
            thing = getattr(_native, SHARED.get(first, first), None)
            if thing is None:  # the type of a dictionary
                self.assertTrue(said, name)
                continue
            thing = inspect.getattr_static(thing, rest) if rest else thing
            thing = getattr(thing, "__func__", thing)
            short = re.sub(r"\A.*\n--\n\n", "", thing.__doc__)
            with self.subTest(name):
                self.assertTrue(" ".join(said.split()).startswith(" ".join(short.split())) and said, (short, said))


if __name__ == "__main__":
    unittest.main()
