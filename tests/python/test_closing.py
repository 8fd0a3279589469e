#!/usr/bin/env python3
"""Tests that a sealed file is completed when it is closed after success. It is not completed after an exception,
whatever closes it, or by the garbage collector."""

from __future__ import annotations

import _pyio
import bz2
import codecs
import contextlib
import gc
import gzip
import io
import lzma
import os
import sys
import tarfile
import tempfile
import unittest
import warnings
import weakref
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import warpaes
from support import needed, new_folder, run_python
from warpaes import Keyset


class BrokenError(Exception):
    pass


class Case(unittest.TestCase):
    keyset = Keyset.generate("AES256_GCM_HKDF_4KB")

    def setUp(self) -> None:
        self.folder = new_folder(self)
        self.path = self.folder / "file"

    def open(self, mode: str = "wb", **options: Any) -> Any:
        return warpaes.open(self.path, mode, keyset=self.keyset, **options)

    def content(self) -> bytes | None:
        self.assertLessEqual(os.listdir(self.folder), ["file"])
        if not self.path.exists():
            return None
        with warpaes.open(self.path, keyset=self.keyset) as file:
            return file.read()


def in_zip(file: Any) -> Any:
    archive = zipfile.ZipFile(file, "w")
    archive.write = lambda data: archive.writestr("name", data)  # type: ignore[method-assign,assignment,misc]
    return archive


def in_tar(file: Any) -> Any:
    archive = tarfile.open(fileobj=file, mode="w|")  # noqa: SIM115
    archive.write = lambda data: archive.addfile(tarfile.TarInfo("name"))  # type: ignore[attr-defined]
    return archive


# Wrappers for text and for bytes that close the underlying file.
AROUND: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "nothing": (lambda file: file, b"half"),
    "text": (lambda file: io.TextIOWrapper(file, "utf-8"), "half"),
    "text at once": (lambda file: io.TextIOWrapper(file, "utf-8", write_through=True), "half"),
    "buffered": (io.BufferedWriter, b"half"),
    "text, buffered": (lambda file: io.TextIOWrapper(io.BufferedWriter(file), "utf-8"), "half"),
    "codec": (lambda file: codecs.getwriter("utf-8")(file), "half"),
    "closing": (lambda file: file, b"half"),
}
# Wrappers that do not close the underlying file.
WITHIN: dict[str, Callable[[Any], Any]] = {
    "gzip": lambda file: gzip.GzipFile(fileobj=file, mode="w"),
    "bz2": lambda file: bz2.BZ2File(file, "w"),
    "lzma": lambda file: lzma.LZMAFile(file, "w"),  # noqa: SIM115
    "zip": in_zip,
    "tar": in_tar,
}


class AfterAnException(Case):
    def test_around(self) -> None:
        for existing in (False, True):
            for name, (around, data) in AROUND.items():
                if existing:
                    with self.open() as file:
                        file.write(b"before")
                error = BrokenError()
                block = around(self.open())
                block = contextlib.closing(block) if name == "closing" else block
                with self.subTest(name), self.assertRaises(BrokenError) as raised, block as file:
                    file.write(data)
                    raise error
                self.assertIs(raised.exception, error)
                self.assertEqual(self.content(), b"before" if existing else None)
                del block, file

    def test_finally(self) -> None:
        for name, (around, data) in AROUND.items():
            with self.subTest(name), self.assertRaises(BrokenError):
                file = around(self.open())
                try:
                    file.write(data)
                    raise BrokenError
                finally:
                    file.close()
            self.assertIsNone(self.content())

    def test_within(self) -> None:
        for name, within in WITHIN.items():
            with self.subTest(name), self.assertRaises(BrokenError), self.open() as file, within(file) as inner:
                inner.write(b"half")
                raise BrokenError
            self.assertIsNone(self.content())
            with self.subTest(name), self.assertRaises(BrokenError):
                file = self.open()
                try:
                    with within(file) as inner:
                        inner.write(b"half")
                        raise BrokenError
                finally:
                    file.close()
            self.assertIsNone(self.content())

    def test_exit_stacks_and_generators(self) -> None:
        with self.assertRaises(BrokenError), contextlib.ExitStack() as stack:
            file = stack.enter_context(io.TextIOWrapper(self.open()))
            stack.callback(file.flush)
            raise BrokenError
        self.assertIsNone(self.content())
        stack = contextlib.ExitStack()
        with self.assertRaises(BrokenError):
            try:
                stack.enter_context(self.open())
                raise BrokenError
            finally:
                stack.close()
        self.assertIsNone(self.content())

        @contextlib.contextmanager
        def opened() -> Iterator[Any]:
            file = self.open()
            try:
                yield file
            finally:
                file.close()

        with self.assertRaises(BrokenError), opened() as file:
            raise BrokenError
        self.assertIsNone(self.content())
        with opened() as file:
            file.write(b"whole")
        self.assertEqual(self.content(), b"whole")
        self.path.unlink()

        def pieces() -> Iterator[None]:
            with io.BufferedWriter(self.open()) as file:
                file.write(b"half")
                yield

        started = pieces()
        next(started)
        started.close()
        self.assertIsNone(self.content())

    def test_every_kind_of_exception(self) -> None:
        for kind in (KeyboardInterrupt, SystemExit, GeneratorExit, StopIteration, OSError, MemoryError):
            with self.assertRaises(kind), io.TextIOWrapper(self.open()) as file:
                file.write("half")
                raise kind
            self.assertIsNone(self.content())

    def test_text_that_cannot_be_encoded(self) -> None:
        for make in (lambda: self.open("wt", encoding="ascii"), lambda: io.TextIOWrapper(self.open(), "ascii")):
            with self.assertRaises(UnicodeEncodeError), make() as file:
                file.write("half\n")
                file.write("ä")
            self.assertIsNone(self.content())

    def test_it_is_said(self) -> None:
        """If the file is closed in the handler, the exception that is being handled is raised again, so the missing
        file is reported."""
        file = self.open()
        with self.assertRaises(BrokenError) as raised:
            try:
                raise BrokenError
            except BrokenError:
                file.close()
        if sys.version_info >= (3, 11):
            self.assertIn("was aborted", "".join(raised.exception.__notes__))
        self.assertTrue(file.closed)
        self.assertIsNone(self.content())
        file.close()
        with self.assertRaises(ValueError):
            file.write(b"x")


class AfterSuccess(Case):
    def test_around(self) -> None:
        for name, (around, data) in AROUND.items():
            block = around(self.open())
            with self.subTest(name), contextlib.closing(block) if name == "closing" else block as file:
                file.write(data)
            self.assertEqual(self.content(), b"half")
            self.path.unlink()
            file = around(self.open())
            file.write(data)
            file.close()
            self.assertEqual(self.content(), b"half")
            self.path.unlink()

    def test_in_a_handler(self) -> None:
        """The file is opened while one or two exceptions are being handled."""
        for make in (self.open, lambda: io.BufferedWriter(self.open())):
            try:
                raise BrokenError
            except BrokenError:
                with make() as file:
                    file.write(b"inner")
                self.assertEqual(self.content(), b"inner")
                try:
                    raise KeyError
                except KeyError:
                    file = make()
                file.write(b"outer")
                file.close()
            self.assertEqual(self.content(), b"outer")
            try:
                raise BrokenError
            except BrokenError:
                file = make()
            file.write(b"after")
            file.close()
            self.assertEqual(self.content(), b"after")

    def test_a_handler_within_the_block(self) -> None:
        def write() -> None:
            with self.open() as file:
                file.write(b"whole")
                try:
                    raise BrokenError
                except BrokenError:
                    return

        write()
        self.assertEqual(self.content(), b"whole")
        for _ in range(2):
            with self.open() as file:
                try:
                    raise BrokenError
                except BrokenError:
                    file.write(b"next")
                    continue
        self.assertEqual(self.content(), b"next")


class WithoutClose(Case):
    def test_the_garbage_collector(self) -> None:
        makers: dict[str, Callable[[], Any]] = {
            name: lambda around=around: around(self.open()) for name, (around, _) in AROUND.items()
        }
        makers["text mode"] = lambda: self.open("wt")
        for existing in (False, True):
            for name, make in makers.items():
                if existing:
                    with self.open() as file:
                        file.write(b"before")
                with self.subTest(name), warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    file = make()
                    file.write("half" if isinstance(file, (io.TextIOWrapper, codecs.StreamWriter)) else b"half")
                    del file
                    gc.collect()
                self.assertIn("was not closed", str(caught[0].message))
                self.assertEqual(self.content(), b"before" if existing else None)

    def test_a_cycle(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            file = self.open("wt")
            file.write("half")
            file.itself = file
            del file
            gc.collect()
        self.assertIsNone(self.content())

    def test_a_wrapper_that_goes_takes_the_file_with_it(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with self.assertRaisesRegex(ValueError, "close or detach"), self.open() as file:
                io.TextIOWrapper(file).write("half")
        self.assertIsNone(self.content())
        with self.open() as file:
            around = io.TextIOWrapper(file)
            around.write("whole")
            around.detach()
            del around
        self.assertEqual(self.content(), b"whole")

    def test_the_end_of_the_interpreter(self) -> None:
        for mode in ("'wb'", "'wt'"):
            run_python(
                "import io, warpaes\n"
                f"file = warpaes.open({str(self.path)!r}, {mode}, keyset=warpaes.Keyset.generate())\n"
                "around = io.TextIOWrapper(file) if isinstance(file, io.BufferedIOBase) else file\n"
                "around.write('half')\n"
            )
            self.assertIsNone(self.content())

    def test_an_exception_that_ends_the_program(self) -> None:
        with self.assertRaises(AssertionError):
            run_python(
                "import io, warpaes\n"
                f"file = io.TextIOWrapper(warpaes.open({str(self.path)!r}, 'wb', keyset=warpaes.Keyset.generate()))\n"
                "file.write('half')\n"
                "raise RuntimeError\n"
            )
        self.assertIsNone(self.content())


class Forwards(io.RawIOBase):
    """A file object from a package that closes the underlying file."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:  # type: ignore[override]
        return self.file.write(data)

    def close(self) -> None:
        self.file.close()
        super().close()


class WithDel:
    """Closes the file in its destructor, like zipfile.ZipFile, wave and other modules."""

    def __init__(self, file: Any) -> None:
        self.file, self.write, self.close = file, file.write, file.close

    def __del__(self) -> None:
        self.finish()

    def finish(self) -> None:
        self.file.close()


class Finalized:
    def __init__(self, file: Any) -> None:
        self.write, self.close = file.write, file.close
        weakref.finalize(self, file.close)


class NotIO:
    """The destructor of an object written in C closes the file. Here, the object is an iterator that a generator closes
    at its end."""

    def __init__(self, file: Any) -> None:
        self.write = file.write

        def hold() -> Iterator[None]:
            with contextlib.closing(file):
                yield

        self.held = hold()
        next(self.held)

    def close(self) -> None:
        with contextlib.suppress(StopIteration):
            next(self.held)


#: Objects that close the underlying file when they are destroyed.
CLOSERS: dict[str, Callable[[Any], Any]] = {
    "a RawIOBase": Forwards,
    "text over a RawIOBase": lambda file: io.TextIOWrapper(io.BufferedWriter(Forwards(file))),
    "text of Python": lambda file: _pyio.TextIOWrapper(_pyio.BufferedWriter(file)),
    "buffered by Python": _pyio.BufferedWriter,
    "a pair": lambda file: io.BufferedRWPair(io.BytesIO(), file),  # type: ignore[arg-type]
    "__del__": WithDel,
    "weakref.finalize": Finalized,
    "a temporary file's wrapper": lambda file: tempfile._TemporaryFileWrapper(file, "none", delete=False),
    "a generator": NotIO,
}


def is_text(file: Any) -> bool:
    return isinstance(file, (io.TextIOBase, _pyio.TextIOBase))


class Closers(Case):
    """Wrappers outside the module io that close the file when they are destroyed."""

    def write(self, around: Callable[[Any], Any]) -> Any:
        file = around(self.open())
        file.write("half" if is_text(file) else b"half")
        return file

    def test_they_go(self) -> None:
        for name, around in CLOSERS.items():
            for way in ("del", "rebound", "returned", "cycle", "in a list"):
                if (name, way) == ("text over a RawIOBase", "in a list"):
                    continue  # not detected, because the call destroys a wrapper that does not inform the RawIOBase
                with self.subTest(name, way=way), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    if way == "del":
                        file = self.write(around)
                        del file
                    elif way == "rebound":
                        file = self.write(around)
                        file = None
                    elif way == "returned":
                        self.write(around)
                    elif way == "cycle":
                        holder = [self.write(around)]
                        holder.append(holder)
                        del holder
                    else:
                        holder = [self.write(around)]
                        holder.clear()
                    gc.collect()
                self.assertIsNone(self.content(), (name, way))

    def test_they_are_closed(self) -> None:
        for name, around in CLOSERS.items():
            with self.subTest(name):
                file = self.write(around)
                file.close()
                self.assertEqual(self.content(), b"half")
                self.path.unlink()
                del file

    def test_an_exception(self) -> None:
        for name, around in CLOSERS.items():
            with self.subTest(name):
                with self.assertRaises(BrokenError), contextlib.closing(self.write(around)):
                    raise BrokenError
                gc.collect()
                self.assertIsNone(self.content())

    def test_a_file_that_a_finalizer_writes(self) -> None:
        """The file is complete when the finalizer closes it."""
        case = self

        class Saves:
            def __del__(self) -> None:
                with case.open() as file:
                    file.write(b"state")

        saves = Saves()
        del saves
        self.assertEqual(self.content(), b"state")
        self.path.unlink()

        def write() -> None:
            with self.open() as file:
                file.write(b"state")

        holder = Saves()
        weakref.finalize(holder, write)
        del holder
        self.assertEqual(self.content(), b"state")

    def test_what_ends_meanwhile(self) -> None:
        """A finalizer that runs during the block or during close is not the finalizer that closes the file."""
        seen: list[str] = []

        class Ends:
            def __del__(self) -> None:
                seen.append("ended")

        with self.open() as file:
            ends = Ends()
            file.write(b"whole")
            del ends
        self.assertEqual((self.content(), seen), (b"whole", ["ended"]))

    def test_the_end_of_the_program(self) -> None:
        makers = {
            "atexit": "atexit.register(file.close)",
            "atexit, in a function": "atexit.register(lambda: file.close())",
            "finalize": "weakref.finalize(Forwards, file.close)",
            "a wrapper": "around = Forwards(file)",
            "a module": "sys.modules['elsewhere'] = file",
        }
        for name, make in makers.items():
            for end in ("raise RuntimeError", "import signal; signal.raise_signal(signal.SIGINT)", ""):
                program = (
                    "import atexit, io, sys, warnings, weakref, warpaes\n"
                    "warnings.simplefilter('ignore')\n"
                    "class Forwards(io.RawIOBase):\n"
                    "    def __init__(self, file): self.file = file\n"
                    "    def close(self): self.file.close()\n"
                    f"keyset = warpaes.Keyset.parse({self.keyset.to_json().decode()!r})\n"
                    f"file = warpaes.open({str(self.path)!r}, 'wb', keyset=keyset)\n"
                    f"{make}\n"
                    "file.write(b'half')\n"
                    f"{end}\n"
                )
                with self.subTest(name, end=end), contextlib.suppress(AssertionError if end else BrokenError):
                    run_python(program)
                # A program that ends normally and has registered this function at exit closes the file.
                self.assertEqual(self.content(), b"half" if not end and name.startswith("atexit") else None)
                self.path.unlink(missing_ok=True)

    def test_archives_and_columns(self) -> None:
        pyarrow = needed("pyarrow")
        parquet = needed("pyarrow.parquet")
        table = pyarrow.table({"a": list(range(1000))})

        def column(file: Any) -> Any:
            writer = parquet.ParquetWriter(file, table.schema)
            writer.write_table(table)
            return writer

        def packed(file: Any) -> Any:
            stream = pyarrow.CompressedOutputStream(file, "gzip")
            stream.write(b"half")
            return stream

        def stream(file: Any) -> Any:
            writer = pyarrow.ipc.new_stream(file, table.schema)
            writer.write_table(table)
            return writer

        for make in (column, packed, stream):
            with self.subTest(make.__name__), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with self.assertRaises(BrokenError), make(self.open()):
                    raise BrokenError
                gc.collect()
                self.assertIsNone(self.content())
                writer = make(self.open())
                del writer
                gc.collect()
                self.assertIsNone(self.content())
                with self.open() as file, make(file):
                    pass
                self.assertTrue(self.content())
                self.path.unlink()


class Text(Case):
    def test_modes(self) -> None:
        for newline, written in ((None, b"\xc3\xa4\nb"), ("\r\n", b"\xc3\xa4\r\nb")):
            with self.open("wt", newline=newline) as file:
                file.write("ä\nb")
                self.assertFalse(self.path.exists() and newline is None)
            self.assertEqual(self.content(), written)
            with self.open("rt") as file:
                self.assertEqual(file.read(), "ä\nb")
            with self.open("rt", newline="") as file:
                self.assertEqual(file.read(), written.decode())
        with self.assertRaises(FileExistsError):
            self.open("xt")
        self.path.unlink()
        with self.open("xt", encoding="utf-16") as file:
            file.write("ä")
        with self.open("rt", encoding="utf-16") as file:
            self.assertEqual(file.read(), "ä")
        with self.open("rt") as file, self.assertRaises(UnicodeDecodeError):
            file.read()
        with self.open("rt", errors="replace") as file:
            self.assertIn("\ufffd", file.read())

    def test_exceptions_and_abort(self) -> None:
        with self.assertRaises(BrokenError), self.open("wt") as file:
            file.write("half")
            file.flush()
            raise BrokenError
        self.assertTrue(file.closed)
        self.assertIsNone(self.content())
        file = self.open("wt")
        file.write("half")
        file.abort()
        file.close()
        self.assertIsNone(self.content())

    def test_wrong_arguments_begin_no_file(self) -> None:
        for mode in ("wt", "rt"):
            for wrong in ({"encoding": "none"}, {"newline": "x"}, {"errors": 5}):
                with self.assertRaises((LookupError, ValueError, TypeError)):
                    self.open(mode, **wrong)
        for mode in ("wb", "xb", "rb"):
            for name in ("encoding", "errors", "newline"):
                with self.assertRaisesRegex(ValueError, "apply only to text"):
                    self.open(mode, **{name: "strict"})
        for mode in ("r", "w", "x", "", "b", "t", "ab", "at", "r+", "rbt", "rw", "bb", "rU"):
            with self.assertRaisesRegex(ValueError, "mode must be rb, wb or xb"):
                self.open(mode)
        self.assertIsNone(self.content())


if __name__ == "__main__":
    unittest.main()
