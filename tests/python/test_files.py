#!/usr/bin/env python3
"""Tests sealed files as file objects: positions, misbehaving sources, layers from other packages, and Tink's
library."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import pathlib
import random
import re
import tarfile
import threading
import traceback
import unittest
import unittest.mock
import warnings
import zipfile
from typing import Any

import warpaes
from support import LENGTHS, growth, needed, new_folder, run_python
from warpaes import Keyset, exceptions

TEMPLATE = "AES256_GCM_HKDF_4KB"
TEXT = random.Random(1).randbytes(max(LENGTHS))
LONG = random.Random(2).randbytes((9 << 19) + 5)  # several read-ahead windows


class Files(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = new_folder(self)
        self.keyset = Keyset.generate(TEMPLATE)
        self.path = self.folder / "file"

    def write(self, data: bytes, path: Any = None, **options: Any) -> None:
        with warpaes.open(path or self.path, "wb", keyset=options.pop("keyset", self.keyset), **options) as file:
            file.write(data)


class Reading(Files):
    def test_every_length_by_every_way(self) -> None:
        for length in LENGTHS:
            self.write(TEXT[:length], associated_data=b"aad")
            sealed = self.path.read_bytes()
            for source in (self.path, str(self.path), sealed, io.BytesIO(sealed), open(self.path, "rb")):  # noqa: SIM115
                with warpaes.open(source, keyset=self.keyset, associated_data=b"aad") as file:
                    self.assertEqual(file.size, length)
                    self.assertEqual(file.read(), TEXT[:length])
                if isinstance(source, io.IOBase):
                    self.assertFalse(source.closed)
                    source.close()

    def test_positions(self) -> None:
        self.write(TEXT)
        plain = io.BytesIO(TEXT)
        choose = random.Random(2)
        with warpaes.open(self.path, keyset=self.keyset) as file:
            for _ in range(500):
                kind = choose.randrange(5)
                length = choose.choice([0, 1, 10, 5000, 200_000])
                if kind == 0:
                    whence, offset = choose.choice([(0, choose.randrange(len(TEXT) * 2)), (2, -choose.randrange(99))])
                    self.assertEqual(file.seek(offset, whence), plain.seek(offset, whence))
                elif kind == 1:
                    self.assertEqual(file.read(length), plain.read(length))
                elif kind == 2:
                    buffer, other = bytearray(length), bytearray(length)
                    self.assertEqual(file.readinto(buffer), plain.readinto(other))
                    self.assertEqual(buffer, other)
                elif kind == 3:
                    self.assertEqual(file.readline(), plain.readline())
                else:
                    at = file.tell()
                    self.assertEqual(at, plain.tell())
                    self.assertTrue(TEXT[at:].startswith(file.peek(10)))
            with self.assertRaises(ValueError):
                file.seek(-1)

    def test_several_readers_at_once(self) -> None:
        self.write(TEXT)
        for source in (self.path, io.BytesIO(self.path.read_bytes())):
            with warpaes.open(source, keyset=self.keyset) as file:
                wrong: list[int] = []

                def read(seed: int, reader: Any = file.reader, wrong: list[int] = wrong) -> None:
                    choose = random.Random(seed)
                    for _ in range(100):
                        at = choose.randrange(len(TEXT))
                        if reader.read(at, 5000) != TEXT[at : at + 5000]:
                            wrong.append(at)

                threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                self.assertEqual(wrong, [])

    def test_front_to_back_in_pieces(self) -> None:
        """Windows are read ahead from paths and buffers, but not from the caller's file objects."""
        for template in ("AES256_GCM_HKDF_4KB", "AES256_GCM_HKDF_1MB", "C2SP_CHUNKED_256"):
            self.keyset = Keyset.generate(template)
            self.write(LONG)
            sealed = self.path.read_bytes()
            for source in (self.path, sealed, memoryview(sealed), io.BytesIO(sealed), open(self.path, "rb")):  # noqa: SIM115
                for piece in (1 << 20, 300_000, 70_001):
                    with warpaes.open(source, keyset=self.keyset) as file:
                        read = [data for data in iter(lambda f=file, n=piece: f.read(n), b"")]
                        self.assertTrue(b"".join(read) == LONG)
                        file.seek(5)
                        buffer, at = bytearray(piece), 5
                        while got := file.readinto(buffer):
                            self.assertTrue(buffer[:got] == LONG[at : at + got], at)
                            at += got
                        self.assertEqual(at, len(LONG))
                if isinstance(source, io.IOBase):
                    source.close()

    def test_front_to_back_by_several_threads(self) -> None:
        self.write(LONG)
        wrong: list[int] = []
        with warpaes.open(self.path, keyset=self.keyset) as file:

            def read(piece: int, reader: Any = file.reader) -> None:
                for at in range(0, len(LONG), piece):
                    if reader.read(at, piece) != LONG[at : at + piece]:
                        wrong.append(at)

            threads = [threading.Thread(target=read, args=(piece,)) for piece in (50_000, 50_000, 90_000, 200_000)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(wrong, [])

    def test_front_to_back_to_an_altered_segment(self) -> None:
        """All bytes before the altered segment are read, but none of the segment's own bytes."""
        self.write(LONG)
        sealed = self.path.read_bytes()
        for segment in (1, 100, 200, 700, 1000):
            altered = bytearray(sealed)
            altered[segment * 4096 + 9] ^= 1
            self.path.write_bytes(altered)
            for source in (self.path, bytes(altered), io.BytesIO(altered)):
                with warpaes.open(source, keyset=self.keyset) as file:
                    at = 0
                    with self.assertRaisesRegex(exceptions.InvalidTag, f"segment {segment},"):
                        while data := file.reader.read(at, 10_000):
                            self.assertTrue(LONG.startswith(data, at))
                            at += len(data)
                    self.assertLessEqual(at, segment * 4080)
                    self.assertGreater(at + 10_000, segment * 4080 - 40)

    def test_a_child_of_fork_while_it_is_read_ahead(self) -> None:
        self.write(LONG)
        keyset = self.folder / "keyset"
        keyset.write_bytes(self.keyset.to_json())
        said = run_python(
            f"import os, warpaes\n"
            f"keyset = warpaes.Keyset.parse(open({str(keyset)!r}).read())\n"
            f"file = warpaes.open({str(self.path)!r}, keyset=keyset)\n"
            f"before = b''.join(file.read(100_000) for _ in range(10))\n"
            f"child = os.fork()\n"
            f"rest = b''.join(iter(lambda: file.read(100_000), b''))\n"
            f"os.write(1, b'%d %d\\n' % (len(before), len(rest)))\n"
            f"if child == 0: os._exit(0)\n"
            f"print(os.waitpid(child, 0)[1])\n"
        )
        both = f"1000000 {len(LONG) - 1_000_000}"
        self.assertEqual(sorted(said.splitlines()), sorted([both, both, "0"]))

    def test_closed_while_it_is_read_ahead(self) -> None:
        self.write(LONG)
        sealed = bytearray(self.path.read_bytes())
        for pieces in range(1, 20):
            file = warpaes.open(sealed, keyset=self.keyset)
            for _ in range(pieces):
                file.read(131_072)
            file.close()
            sealed += b"x"  # no reference remains
            del sealed[-1:]

    def test_closed(self) -> None:
        self.write(TEXT)
        file = warpaes.open(self.path, keyset=self.keyset)
        reader = file.reader
        file.close()
        for action in (file.read, file.tell, lambda: file.seek(0), lambda: reader.read(0, 1), lambda: reader.size):
            with self.assertRaises(ValueError):
                action()

    def test_altered(self) -> None:
        self.write(TEXT)
        sealed = bytearray(self.path.read_bytes())
        sealed[50_000] ^= 1
        with warpaes.open(bytes(sealed), keyset=self.keyset) as file:
            self.assertEqual(file.reader.read(0, 4000), TEXT[:4000])
            buffer = bytearray(b"x" * len(TEXT))
            with self.assertRaisesRegex(exceptions.InvalidTag, "segment 12"):
                file.read()
            with self.assertRaisesRegex(exceptions.InvalidTag, "segment 12"):
                file.reader.read_into(0, buffer)
            self.assertEqual(bytes(buffer), bytes(len(TEXT)))
        for wrong in (bytes(sealed[:-1]), bytes(sealed[:4096]), bytes(10), b""):
            with self.assertRaises((exceptions.InvalidTag, exceptions.FormatError)):
                warpaes.open(wrong, keyset=self.keyset)

    def test_another_key_or_other_associated_data(self) -> None:
        self.write(b"text", associated_data=b"aad")
        with self.assertRaises(exceptions.InvalidTag):
            warpaes.open(self.path, keyset=Keyset.generate(TEMPLATE), associated_data=b"aad")
        with self.assertRaises(exceptions.InvalidTag):
            warpaes.open(self.path, keyset=self.keyset)

    def test_errors_name_the_file(self) -> None:
        """Errors of the operating system keep their error number and path."""
        self.write(TEXT)
        sealed = bytearray(self.path.read_bytes())
        sealed[50_000] ^= 1
        self.path.write_bytes(sealed)
        name = re.escape(f"'{self.path}': ")
        with warpaes.open(self.path, keyset=self.keyset) as file:
            for read in (file.read, lambda: file.readinto(bytearray(90_000)), file.raw.readall):
                file.seek(0)
                with self.assertRaisesRegex(exceptions.InvalidTag, name + "segment 12,"):
                    read()
        with self.assertRaisesRegex(exceptions.InvalidTag, name + "segment "):
            warpaes.open(self.path, keyset=Keyset.generate(TEMPLATE))
        self.path.write_bytes(b"short")
        with self.assertRaisesRegex(exceptions.FormatError, name + "is truncated"):
            warpaes.open(self.path, keyset=self.keyset)
        none = str(self.folder / "none")
        cases: list[tuple[type[OSError], str, str]] = [
            (FileNotFoundError, none, "rb"),
            (FileNotFoundError, "", "rb"),
            (FileNotFoundError, "", "wb"),
            (FileNotFoundError, f"{none}/x", "wb"),
            (IsADirectoryError, str(self.folder), "rb"),
            (IsADirectoryError, str(self.folder), "wb"),
            (NotADirectoryError, f"{self.path}/x", "rb"),
            (NotADirectoryError, f"{self.path}/x", "wb"),
            (FileExistsError, str(self.path), "xb"),
        ]
        if os.geteuid() != 0:  # root is never denied access
            (self.folder / "closed").mkdir(0o000)
            cases += [(PermissionError, f"{self.folder}/closed/x", mode) for mode in ("rb", "wb")]
        for kind, path, mode in cases:
            with self.subTest(path, mode=mode), self.assertRaises(kind) as raised:
                warpaes.open(path, mode, keyset=self.keyset)
            found = raised.exception
            self.assertEqual((found.filename, found.strerror), (path, os.strerror(found.errno or 0)))

    def test_not_there(self) -> None:
        with self.assertRaises(FileNotFoundError) as raised:
            warpaes.open(self.path, keyset=self.keyset)
        self.assertEqual(raised.exception.errno, 2)

    def test_arguments(self) -> None:
        with self.assertRaisesRegex(ValueError, "for text, rt, wt or xt"):
            warpaes.open(self.path, "a", keyset=self.keyset)
        for wrong in (b"json", unittest.mock.Mock(spec=Keyset)):
            with self.assertRaisesRegex(TypeError, r"warpaes\.Keyset"):
                warpaes.open(self.path, keyset=wrong)
            with self.assertRaisesRegex(TypeError, r"warpaes\.Keyset"):
                warpaes.open(self.path, "wb", keyset=wrong)

    def test_a_child_of_fork_opens_a_path_again(self) -> None:
        self.write(TEXT)
        keyset = self.folder / "keyset"
        keyset.write_bytes(self.keyset.to_json())
        said = run_python(
            f"import os, warpaes\n"
            f"file = warpaes.open({str(self.path)!r}, keyset=warpaes.Keyset.parse(open({str(keyset)!r}).read()))\n"
            f"first = file.read(10)\n"
            f"child = os.fork()\n"
            f"if child: os.waitpid(child, 0)\n"
            f"print(file.read(10).hex(), flush=True)"
        )
        self.assertEqual(said.split(), [TEXT[10:20].hex()] * 2)


class Sources(Files):
    """Tests of file objects that misbehave."""

    def sealed(self) -> bytes:
        self.write(TEXT)
        return self.path.read_bytes()

    def test_short_reads(self) -> None:
        class Few(io.BytesIO):
            def readinto(self, buffer: Any) -> int:
                return super().readinto(memoryview(buffer)[:100])

        with warpaes.open(Few(self.sealed()), keyset=self.keyset) as file:
            self.assertEqual(file.read(), TEXT)

    def test_only_read(self) -> None:
        class Small:
            def __init__(self, data: bytes) -> None:
                self.file = io.BytesIO(data)

            def seek(self, *to: int) -> int:
                return self.file.seek(*to)

            def read(self, length: int) -> bytes:
                return self.file.read(length)

        with warpaes.open(Small(self.sealed()), keyset=self.keyset) as file:
            self.assertEqual(file.read(), TEXT)

    def test_one_that_raises(self) -> None:
        class Broken(io.BytesIO):
            good = 2

            def readinto(self, buffer: Any) -> int:
                self.good -= 1
                if self.good < 0:
                    raise ConnectionError("the store is gone")
                return super().readinto(buffer)

        source = Broken(self.sealed())
        with warpaes.open(source, keyset=self.keyset) as file:
            with self.assertRaisesRegex(ConnectionError, "gone"):
                file.read()
            source.good = 1000
            self.assertEqual(file.read(), TEXT)

    def test_one_that_ends_early_or_is_closed(self) -> None:
        source = io.BytesIO(self.sealed())
        file = warpaes.open(source, keyset=self.keyset)
        source.truncate(50_000)
        with self.assertRaisesRegex(OSError, "truncated"):
            file.reader.read(0, len(TEXT))
        source.close()
        with self.assertRaises(ValueError):
            file.reader.read(20_000, 10)

    def test_a_view_that_is_kept(self) -> None:
        kept: list[memoryview] = []
        sealed = self.sealed()

        def read(offset: int, buffer: memoryview) -> None:
            buffer[:] = sealed[offset : offset + len(buffer)]
            kept.append(buffer)

        reader = warpaes.Reader(read, self.keyset, size=len(sealed))
        self.assertEqual(reader.read(0, len(TEXT)), TEXT)
        with self.assertRaisesRegex(ValueError, "released"):
            bytes(kept[0])

    def test_a_view_that_an_exception_keeps(self) -> None:
        sealed = self.sealed()
        broken = False

        def read(offset: int, buffer: memoryview) -> None:
            if broken:
                raise ConnectionError("gone")
            buffer[:] = sealed[offset : offset + len(buffer)]

        reader = warpaes.Reader(read, self.keyset, size=len(sealed))
        broken = True
        with self.assertRaisesRegex(ValueError, "released"):
            bytes(self.kept_by_exception(lambda: reader.read(0, len(TEXT)), "buffer"))

        def write(piece: memoryview) -> None:
            raise ConnectionError("gone")

        with self.assertRaisesRegex(ValueError, "released"):
            bytes(self.kept_by_exception(lambda: warpaes.Writer(write, self.keyset), "piece"))

    def kept_by_exception(self, action: Any, name: str) -> Any:
        """Return a local variable of a function that raised an exception. assertRaises would clear the variable."""
        try:
            action()
        except ConnectionError as error:
            for frame, _ in traceback.walk_tb(error.__traceback__):
                if name in frame.f_locals:
                    return frame.f_locals[name]
        raise AssertionError("nothing was raised")

    def test_a_view_that_is_kept_reads_no_freed_memory(self) -> None:
        """The view keeps its bytes. If the library later reuses its memory, the view does not change, and changing the
        view does not change other bytes."""
        np = needed("numpy")
        sealed, seen, kept = self.sealed(), [], []

        def array(view: memoryview) -> Any:
            return np.frombuffer(view, np.uint8)

        def read(offset: int, buffer: memoryview) -> None:
            buffer[:] = sealed[offset : offset + len(buffer)]
            if keep:
                kept.append(keep(buffer))
                seen.append(bytes(buffer))

        def write(piece: memoryview) -> None:
            if keep:
                kept.append(keep(piece))
                seen.append(bytes(piece))

        for keep in (array, lambda view: view[:-1], lambda view: memoryview(view.obj)):
            for _ in range(5):
                with self.assertRaises(BufferError):
                    warpaes.Reader(read, self.keyset, size=len(sealed))
                with self.assertRaises(BufferError):
                    warpaes.Writer(write, self.keyset)
            keep = None
            reader = warpaes.Reader(read, self.keyset, size=len(sealed))
            writer = warpaes.Writer(write, self.keyset)
            writer.write(LONG)
            keep = array
            with self.assertRaises(BufferError):
                reader.read(0, len(TEXT))
            with self.assertRaises(BufferError):
                writer.finish()
            del reader, writer
        keep = None
        for _ in range(20):  # uses any memory that was freed
            reader = warpaes.Reader(read, self.keyset, size=len(sealed))
            self.assertEqual(reader.read(0, len(TEXT)), TEXT)
            writer = warpaes.Writer(write, self.keyset)
            writer.write(LONG)
            writer.finish()
        for view, data in zip(kept, seen):
            self.assertEqual(bytes(view), data[: len(bytes(view))])
        for view in kept:
            if not memoryview(view).readonly:
                memoryview(view).cast("B")[:] = bytes(memoryview(view).nbytes)
        self.assertEqual(reader.read(0, len(TEXT)), TEXT)

    def test_a_part_of_a_view_that_is_kept(self) -> None:
        """Only the function can release the view, so the library must pass it a copy, which the function may keep."""
        np = needed("numpy")
        sealed = self.sealed()
        for keep in (lambda view: view[1:], np.frombuffer, memoryview, lambda view: memoryview(view.obj)):
            kept: list[Any] = []

            def read(offset: int, buffer: memoryview, keep: Any = keep, kept: list[Any] = kept) -> None:
                buffer[:] = sealed[offset : offset + len(buffer)]
                kept.append(keep(buffer))

            with self.assertRaisesRegex(BufferError, "kept a view"):
                warpaes.Reader(read, self.keyset, size=len(sealed))
            with self.assertRaisesRegex(BufferError, "kept a view"):
                warpaes.Writer(lambda piece, keep=keep, kept=kept: kept.append(keep(piece)), self.keyset)
        lent: list[Any] = []
        writer = warpaes.Writer(lambda piece: lent.append(piece.obj), self.keyset)
        writer.abort()
        with self.assertRaisesRegex(BufferError, "has returned"):
            memoryview(lent[0])

    def test_a_part_of_a_view_in_a_cycle_of_references(self) -> None:
        sealed = self.sealed()

        def read(offset: int, buffer: memoryview) -> None:
            part = buffer[:]
            try:
                raise ConnectionError("once")
            except ConnectionError as error:
                failed = error  # a reference cycle: the error refers to this frame, and the frame refers to the error
            part[:] = sealed[offset : offset + len(part)]
            assert failed

        reader = warpaes.Reader(read, self.keyset, size=len(sealed))
        self.assertEqual(reader.read(0, len(TEXT)), TEXT)

    def test_whose_exception_it_is(self) -> None:
        """One read fails while another thread's read succeeds. Only the failed read raises the function's exception."""
        size = 32 << 20  # large enough that wiping it after the failure takes until the other read ends
        self.write(bytes(size))
        sealed = self.path.read_bytes()
        other_reads, raised = threading.Event(), threading.Event()
        armed = False

        def read(offset: int, buffer: memoryview) -> None:
            buffer[:] = sealed[offset : offset + len(buffer)]
            if armed and offset > 1 << 19:
                other_reads.wait(60)
                raised.set()
                raise ConnectionError("the rest is gone")
            if armed:
                other_reads.set()
                raised.wait(60)

        reader = warpaes.Reader(read, self.keyset, size=len(sealed))
        armed = True
        found: list[BaseException] = []

        def fail() -> None:
            try:
                reader.read_into(1 << 20, bytearray(size))
            except BaseException as error:
                found.append(error)

        thread = threading.Thread(target=fail)
        thread.start()
        self.assertEqual(reader.read(0, 100), bytes(100))
        thread.join()
        self.assertEqual([type(error) for error in found], [ConnectionError])
        armed = False
        self.assertEqual(reader.read(1 << 20, 100), bytes(100))

    def test_closed_by_another_thread_while_arguments_are_converted(self) -> None:
        reader = warpaes.Reader(self.sealed(), self.keyset)

        class Closes:
            def __index__(self) -> int:
                reader.close()
                return 0

        with self.assertRaisesRegex(ValueError, "closed reader"):
            reader.read(Closes(), 10)  # type: ignore[arg-type]
        reader = warpaes.Reader(self.sealed(), self.keyset)
        with self.assertRaisesRegex(ValueError, "closed reader"):
            reader.read(0, Closes())  # type: ignore[arg-type]
        reader = warpaes.Reader(self.sealed(), self.keyset)
        with self.assertRaisesRegex(ValueError, "closed reader"):
            reader.read_into(Closes(), bytearray(10))  # type: ignore[arg-type]

    def test_compressed_file_objects(self) -> None:
        """The descriptor of a compressed file object belongs to the compressed file."""
        import bz2
        import gzip
        import lzma

        sealed = self.sealed()
        for module in (gzip, bz2, lzma):
            with module.open(self.folder / "packed", "wb") as file:
                file.write(sealed)
            with module.open(self.folder / "packed") as packed, warpaes.open(packed, keyset=self.keyset) as opened:
                self.assertEqual(opened.read(), TEXT)

    def test_nothing_leaks(self) -> None:
        sealed = self.sealed()

        def once() -> None:
            with warpaes.open(io.BytesIO(sealed), keyset=self.keyset) as file:
                file.read()
            try:
                warpaes.open(io.BytesIO(sealed[:-1]), keyset=self.keyset)
            except exceptions.InvalidTag:
                gc.collect(0)

        self.assertLess(growth(once, 100), 2 << 20)


class Writing(Files):
    def test_pieces(self) -> None:
        choose = random.Random(3)
        for sink in (self.path, io.BytesIO()):
            with warpaes.open(sink, "wb", keyset=self.keyset) as file:
                at = 0
                while at < len(TEXT):
                    step = choose.choice([0, 1, 100, 5000])
                    at += file.write(TEXT[at : at + step])
                    self.assertEqual(file.tell(), at)
            with warpaes.open(sink, keyset=self.keyset) as file:
                self.assertEqual(file.read(), TEXT)

    def test_nothing_appears_after_an_exception(self) -> None:
        self.write(b"before")
        with self.assertRaises(KeyError), warpaes.open(self.path, "wb", keyset=self.keyset) as file:
            file.write(TEXT)
            raise KeyError
        with warpaes.open(self.path, keyset=self.keyset) as file:
            self.assertEqual(file.read(), b"before")
        self.assertEqual(os.listdir(self.folder), ["file"])

    def test_not_closed(self) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            file = warpaes.open(self.path, "wb", keyset=self.keyset)
            file.write(b"text")
            del file
            gc.collect()
        self.assertEqual([warning.category for warning in caught], [ResourceWarning])
        self.assertFalse(self.path.exists())

    def test_exclusive(self) -> None:
        self.write(b"before")
        with self.assertRaises(FileExistsError), warpaes.open(self.path, "xb", keyset=self.keyset) as file:
            file.write(b"after")
        with warpaes.open(self.path, keyset=self.keyset) as file:
            self.assertEqual(file.read(), b"before")

    def test_a_file_object_that_takes_little_or_raises(self) -> None:
        class Little(io.BytesIO):
            def write(self, data: Any) -> int:
                return super().write(memoryview(data)[:1000])

        sink = Little()
        self.write(TEXT, sink)
        with warpaes.open(sink, keyset=self.keyset) as file:
            self.assertEqual(file.read(), TEXT)

        class Full(io.BytesIO):
            def write(self, data: Any) -> int:
                if len(self.getbuffer()) > 10:
                    raise OSError(28, "No space left on device")
                return super().write(data)

        with self.assertRaisesRegex(OSError, "No space left"):
            self.write(TEXT, Full())

    def test_after_closing(self) -> None:
        file = warpaes.open(self.path, "wb", keyset=self.keyset)
        file.close()
        file.close()
        with self.assertRaises(ValueError):
            file.write(b"x")


class Keysets(Files):
    def test_errors_name_the_method_that_was_called(self) -> None:
        for name in ("enable", "disable", "destroy", "promote", "remove"):
            method = getattr(self.keyset, name)
            with self.assertRaisesRegex(TypeError, rf"^{name}\(\) missing required argument: 'key_id'"):
                method()
            with self.assertRaisesRegex(TypeError, rf"^{name}\(\) takes 1 positional"):
                method(1, 2)
            with self.assertRaisesRegex(ValueError, "^key_id: key 5 is not in the keyset"):
                method(5)
            with self.assertRaisesRegex(ValueError, r"^key_id must be less than 2\^32"):
                method(1 << 32)

    def test_it_is_not_changed_once_another_uses_it(self) -> None:
        """While a call converts its arguments, another thread can begin the same call."""
        keyset, begun, go_on = Keyset.generate(TEMPLATE), threading.Event(), threading.Event()
        number = keyset.add(TEMPLATE)

        def read(offset: int, buffer: memoryview) -> None:
            begun.set()
            go_on.wait(60)
            raise ConnectionError

        def use() -> None:
            with contextlib.suppress(ConnectionError):
                warpaes.Reader(read, keyset, size=1000)

        class Waits:
            def __index__(self) -> int:
                thread.start()
                begun.wait(60)
                return number

        for name in ("disable", "enable", "promote", "remove", "destroy"):
            begun.clear()
            go_on.clear()
            thread = threading.Thread(target=use)
            with self.assertRaisesRegex(exceptions.Error, "after that thread has finished"):
                getattr(keyset, name)(Waits())
            go_on.set()
            thread.join()

    def test_rotation(self) -> None:
        first = self.keyset.keys()[0]
        self.write(b"old")
        number = self.keyset.rotate()
        self.assertEqual(len(self.keyset), 2)
        every = self.keyset.keys()
        primary = [key for key in every if key["primary"]]
        self.assertEqual([(key["key_id"], key["template"]) for key in primary], [(number, TEMPLATE)])
        again = Keyset.parse(self.keyset.to_json())
        self.assertEqual(again.keys(), self.keyset.keys())
        with warpaes.open(self.path, keyset=again) as file:
            self.assertEqual(file.read(), b"old")
        again.disable(first["key_id"])
        with self.assertRaises(exceptions.InvalidTag):
            warpaes.open(self.path, keyset=again)
        again.enable(first["key_id"])
        again.remove(first["key_id"])
        with self.assertRaises(exceptions.InvalidTag):
            warpaes.open(self.path, keyset=again)

    def test_raw_keys_of_c2sp(self) -> None:
        keyset = Keyset.from_raw("C2SP_CHUNKED_256", bytes(32))
        self.write(TEXT, keyset=keyset)
        with warpaes.open(self.path, keyset=Keyset.from_raw("C2SP_CHUNKED_256", bytearray(32))) as file:
            self.assertEqual(file.read(), TEXT)

    def test_mistakes(self) -> None:
        with self.assertRaises(exceptions.KeysetError):
            Keyset.parse("{}")
        with self.assertRaises(ValueError):
            Keyset.generate("AES_OF_SOME_KIND")
        with self.assertRaises(ValueError):
            self.keyset.promote(1 << 40)
        self.assertIn("C2SP_CHUNKED_128", Keyset.templates())

    def test_inspect(self) -> None:
        self.write(TEXT)
        found = warpaes.inspect(self.path, TEMPLATE)
        self.assertEqual(found["file_bytes"], self.path.stat().st_size)
        self.assertEqual((found["format"], found["format_name"]), ("streaming AEAD", "Tink streaming AEAD"))


class WithTink(Files):
    def setUp(self) -> None:
        super().setUp()
        needed("tink")
        from tink import json_proto_keyset_format, secret_key_access, streaming_aead

        streaming_aead.register()
        handle = json_proto_keyset_format.parse(self.keyset.to_json().decode(), secret_key_access.TOKEN)
        self.primitive = handle.primitive(streaming_aead.StreamingAead)

    def test_both_directions(self) -> None:
        class KeepOpen(io.BytesIO):
            def close(self) -> None:
                """Do nothing. Tink closes its arguments."""

        sealed = KeepOpen()
        self.write(TEXT, sealed, associated_data=b"aad")
        with self.primitive.new_decrypting_stream(io.BytesIO(sealed.getvalue()), b"aad") as stream:
            self.assertEqual(stream.read(), TEXT)
        sealed = KeepOpen()
        with self.primitive.new_encrypting_stream(sealed, b"aad") as stream:
            stream.write(TEXT)
        with warpaes.open(sealed, keyset=self.keyset, associated_data=b"aad") as file:
            self.assertEqual(file.read(), TEXT)


class Users(Files):
    """Tests with layers from other packages on top of file objects."""

    def test_zip(self) -> None:
        with warpaes.open(self.path, "wb", keyset=self.keyset) as file, zipfile.ZipFile(file, "w") as archive:
            archive.writestr("a", TEXT)
            archive.writestr("b", b"text")
        with warpaes.open(self.path, keyset=self.keyset) as file, zipfile.ZipFile(file) as archive:
            self.assertEqual(archive.read("b"), b"text")
            self.assertEqual(archive.read("a"), TEXT)

    def test_tar(self) -> None:
        with warpaes.open(self.path, "wb", keyset=self.keyset) as file, tarfile.open(fileobj=file, mode="w|") as tar:
            member = tarfile.TarInfo("a")
            member.size = len(TEXT)
            tar.addfile(member, io.BytesIO(TEXT))
        with warpaes.open(self.path, keyset=self.keyset) as file, tarfile.open(fileobj=file) as tar:
            content = tar.extractfile("a")
            assert content is not None
            self.assertEqual(content.read(), TEXT)

    def test_text(self) -> None:
        self.write(b"eins\nzwei\n")
        with io.TextIOWrapper(warpaes.open(self.path, keyset=self.keyset), "utf-8") as lines:
            self.assertEqual(list(lines), ["eins\n", "zwei\n"])

    def test_numpy(self) -> None:
        numpy = needed("numpy")
        array = numpy.arange(100_000, dtype="f8").reshape(100, -1)
        with warpaes.open(self.path, "wb", keyset=self.keyset) as file:
            numpy.save(file, array)
        with warpaes.open(self.path, keyset=self.keyset) as file:
            self.assertTrue((numpy.load(file) == array).all())

    def test_hdf5(self) -> None:
        h5py = needed("h5py")
        plain = io.BytesIO()
        with h5py.File(plain, "w") as hdf:
            hdf["a/b"] = numpy = needed("numpy").arange(100_000)
        self.write(plain.getvalue())
        with warpaes.open(self.path, keyset=self.keyset) as file, h5py.File(file, "r") as hdf:
            self.assertTrue((hdf["a/b"][:] == numpy).all())
            self.assertEqual(hdf["a/b"][77_777], 77_777)

    def test_arrow(self) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ModuleNotFoundError:
            return  # pyarrow is large, so this part runs only if it is installed
        table = pyarrow.table({"a": list(range(10_000))})
        with warpaes.open(self.path, "wb", keyset=self.keyset) as file:
            pyarrow.parquet.write_table(table, file)
        with warpaes.open(self.path, keyset=self.keyset) as file:
            self.assertEqual(pyarrow.parquet.read_table(file), table)


class Fsspec(Files):
    def setUp(self) -> None:
        super().setUp()
        self.fsspec = needed("fsspec")
        from warpaes.fs import WarpaesFileSystem

        # An installed wheel's entry point does the same.
        self.fsspec.register_implementation("warpaes", WarpaesFileSystem, clobber=True)

    def test_chained_urls(self) -> None:
        for below in (f"file://{self.path}", "memory://folder/file"):
            with self.fsspec.open(f"warpaes::{below}", "wb", keyset=self.keyset) as file:
                file.write(TEXT)
            with self.fsspec.open(f"warpaes::{below}", keyset=self.keyset) as file:
                file.seek(1000)
                self.assertEqual(file.read(), TEXT[1000:])
        with warpaes.open(self.path, keyset=self.keyset) as file:
            self.assertEqual(file.read(), TEXT)

    def test_listing(self) -> None:
        files = self.fsspec.filesystem("warpaes", keyset=self.keyset, target_protocol="file")
        self.write(TEXT)
        (self.folder / "foreign").write_bytes(b"not sealed, and long enough for a header of any kind")
        (self.folder / "folder").mkdir()
        sizes = {pathlib.Path(entry["name"]).name: entry["size"] for entry in files.ls(str(self.folder))}
        self.assertEqual((sizes["file"], sizes["foreign"]), (len(TEXT), None))
        self.assertEqual(files.info(str(self.path))["sealed_size"], self.path.stat().st_size)
        self.write(b"shorter")
        self.assertEqual(files.size(str(self.path)), 7)
        self.assertTrue(files.isdir(str(self.folder / "folder")))

    def test_ranges_fetch_only_what_they_need(self) -> None:
        class Counting(self.fsspec.get_filesystem_class("file")):  # type: ignore[misc]
            fetched = 0

            def cat_file(self, path: str, start: Any = None, end: Any = None, **options: Any) -> Any:
                Counting.fetched += end - start
                return super().cat_file(path, start, end, **options)

        self.write(TEXT)
        files = self.fsspec.filesystem("warpaes", keyset=self.keyset, fs=Counting(), skip_instance_cache=True)
        path, other = str(self.path), str(self.folder / "other")
        found = files.cat_ranges([path, path, other, path], [0, 50_000, 0, -5], [10, 50_010, 1, None])
        self.assertEqual([found[0], found[1], found[3]], [TEXT[:10], TEXT[50_000:50_010], TEXT[-5:]])
        self.assertIsInstance(found[2], FileNotFoundError)
        self.assertLess(Counting.fetched, 5 * 4096)
        with self.assertRaises(FileNotFoundError):
            files.cat_ranges([other], [0], [1], on_error="raise")

    def test_associated_data_of_a_path(self) -> None:
        files = self.fsspec.filesystem(
            "warpaes", keyset=self.keyset, target_protocol="file", associated_data=lambda path: path.encode()
        )
        files.pipe_file(str(self.path), b"text")
        self.assertEqual(files.cat_file(str(self.path)), b"text")
        files.mv(str(self.path), str(self.folder / "moved"))
        self.assertEqual(files.cat_file(str(self.folder / "moved")), b"text")
        os.rename(self.folder / "moved", self.path)
        os.rename(self.path, self.folder / "elsewhere")
        with self.assertRaises(exceptions.InvalidTag):
            files.cat_file(str(self.folder / "elsewhere"))

    def test_an_exception_leaves_nothing_that_opens(self) -> None:
        files = self.fsspec.filesystem("warpaes", keyset=self.keyset, target_protocol="file")
        with self.assertRaises(KeyError), files.open(str(self.path), "wb") as file:
            file.write(TEXT)
            raise KeyError
        with self.assertRaises((OSError, exceptions.FormatError, exceptions.InvalidTag)):
            warpaes.open(self.path, keyset=self.keyset)

    def test_a_new_file_appears_when_it_is_whole(self) -> None:
        files = self.fsspec.filesystem("warpaes", keyset=self.keyset, target_protocol="file")
        file = files.open(str(self.path), "xb")
        file.write(TEXT)
        self.assertFalse(self.path.exists())
        file.abort()
        self.assertEqual(os.listdir(self.folder), [])
        with files.open(str(self.path), "xb") as file:
            file.write(TEXT)
        self.assertEqual(files.cat_file(str(self.path)), TEXT)
        with self.assertRaises(FileExistsError):
            files.open(str(self.path), "xb")
        # A file that was created in the meantime must not be replaced either.
        self.path.unlink()
        file = files.open(str(self.path), "xb")
        self.path.write_bytes(b"theirs")
        with self.assertRaises(FileExistsError):
            file.close()
        self.assertEqual(self.path.read_bytes(), b"theirs")
        self.assertTrue(file.closed)

    def test_whatever_fails_nothing_is_left_beside(self) -> None:
        class Opener:
            """The underlying file."""

            def __init__(self, room: int) -> None:
                self.room, self.seen = room, []

            def write(self, data: bytes) -> int:
                self.room -= len(data)
                if self.room < 0:
                    raise OSError("no room")
                return len(data)

            def __getattr__(self, name: str) -> Any:
                return lambda: self.seen.append(name)

        class Narrow(self.fsspec.AbstractFileSystem):  # type: ignore[misc,name-defined]
            cachable = False

            def open(self, path: str, mode: str = "rb", **options: Any) -> Any:
                return opener

        files = self.fsspec.filesystem("warpaes", keyset=self.keyset, fs=Narrow(), skip_instance_cache=True)
        for room, data in ((0, b""), (100, TEXT), (100, b"x" * 100)):
            opener = Opener(room)
            with self.assertRaisesRegex(OSError, "no room"), files.open("/file", "wb") as file:
                file.write(data)
            self.assertEqual(opener.seen, ["close", "discard"])
        opener = Opener(1 << 20)
        wrong = self.fsspec.filesystem(
            "warpaes", keyset=self.keyset, fs=Narrow(), skip_instance_cache=True, associated_data=lambda path: 17
        )
        with self.assertRaises(TypeError):
            wrong.open("/file", "wb")
        self.assertEqual(opener.seen, ["close", "discard"])

    def test_arguments(self) -> None:
        with self.assertRaisesRegex(ValueError, "keyset is missing"):
            self.fsspec.filesystem("warpaes", target_protocol="file")
        files = self.fsspec.filesystem("warpaes", keyset=self.keyset, target_protocol="memory")
        with self.assertRaisesRegex(ValueError, "cannot be appended to"):
            files.open("/a", "ab")


if __name__ == "__main__":
    unittest.main()
