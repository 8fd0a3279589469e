#!/usr/bin/env python3
"""Runs CPython's own tests of buffered and text file objects (test_io) on sealed files, by changing the imports.

The tests' readers read the content of the mocks from a sealed file, at any position and forward. ``open`` is
``warpaes.open``, and text is read from sealed files. EXCEPTIONS lists the tests that do not apply, with reasons. ``-v``
lists the tests that pass.
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
import unittest
from typing import Any

import warpaes
from support import needed
from warpaes import Keyset, SealedReader

test_io = needed("test.test_io")

KEYSET = Keyset.generate("AES256_GCM_HKDF_4KB")


def setUpModule() -> None:
    """Change to a temporary folder, because these tests write to the working directory."""
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    unittest.addModuleCleanup(os.chdir, os.getcwd())
    os.chdir(folder.name)


def sealed(data: bytes) -> bytes:
    file = io.BytesIO()
    with warpaes.open(file, "wb", keyset=KEYSET) as writer:
        writer.write(data)
    return file.getvalue()


def content(raw: Any) -> bytes:
    """Return everything that can be read from a mock."""
    data, buffer = b"", bytearray(1 << 16)
    try:
        while 0 < (got := raw.readinto(buffer) or 0) <= len(buffer):
            data += buffer[:got]
    except io.UnsupportedOperation:  # this mock is only for writing
        return b""
    return data


class Forward(io.RawIOBase):
    """A stream that cannot seek."""

    def __init__(self, data: bytes) -> None:
        self._file = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._file.readinto(buffer)


class OfSealed(SealedReader):
    """Reads a mock's content from a sealed file, at any position."""

    source: Any = io.BytesIO

    def __init__(self, raw: Any = None, buffer_size: int = 8192) -> None:
        super().__init__(type(self).source(sealed(content(raw) if raw is not None else b"")), KEYSET)


class OfSealedStream(OfSealed):
    """Reads a mock's content from a sealed file, forward."""

    source = Forward


def sealed_open(file: Any, mode: str = "r", buffering: int = -1, *text: Any, **options: Any) -> Any:
    """Open a file like ``open``, whose modes without ``b`` are for text."""
    for name, value in zip(("encoding", "errors", "newline"), text):
        options[name] = value
    options = {name: value for name, value in options.items() if name not in ("closefd", "opener")}
    return warpaes.open(file, mode if "b" in mode else mode + "t", keyset=KEYSET, **options)


class SealedBytes(io.BytesIO):
    """Reads the content of a sealed file. If there is no content, writes to memory first."""

    def __new__(cls, data: bytes = b"") -> Any:
        if cls is SealedBytes and data:
            return OfSealed(io.BytesIO(data))
        return super().__new__(cls, data)


MOCK = "tests the underlying mock (its calls, errors, pieces or name), which a sealed file does not have"
BUFFER = "tests the size of the buffer, which a sealed file chooses itself"
WRITING = "a sealed file is written from front to back, without seeking, concurrent reads or appending"
DESCRIPTOR = "a sealed file has no descriptor and is opened by a path or a file object"
CLEAR = "reads its output by other means, but the output is encrypted"
STREAM = "the position of a stream is known, though it cannot be changed"

#: For each class, the tests that do not apply, with reasons.
READERS = {
    "test_buffering": BUFFER,
    "test_close_error_on_close": MOCK,
    "test_constructor": MOCK,
    "test_detach": MOCK,
    "test_fileno": DESCRIPTOR,
    "test_flush_error_on_close": MOCK,
    "test_misbehaved_io": MOCK,
    "test_no_extraneous_read": MOCK,
    "test_nonnormalized_close_error_on_close": MOCK,
    "test_read1": MOCK,
    "test_read1_arbitrary": MOCK,
    "test_read_non_blocking": MOCK,
    "test_readinto1": MOCK,
    "test_repr": MOCK,
    "test_unseekable": STREAM,
}
EXCEPTIONS: dict[str, dict[str, str]] = {
    "Readers": READERS,
    "Streams": READERS,
    "Opened": {
        "test_append_mode_tell": WRITING,
        "test_buffered_file_io": WRITING,
        "test_closefd": DESCRIPTOR,
        "test_closefd_attr": DESCRIPTOR,
        "test_destructor": CLEAR,
        "test_fileio_closefd": CLEAR,
        "test_flush_error_on_close": DESCRIPTOR,
        "test_fspath_support": DESCRIPTOR,
        "test_garbage_collection": CLEAR,
        "test_large_file_ops": WRITING,
        "test_no_closefd_with_filename": DESCRIPTOR,
        "test_nonbuffered_textio": BUFFER,
        "test_opener": DESCRIPTOR,
        "test_opener_invalid_fd": DESCRIPTOR,
        "test_raw_file_io": WRITING,
        "test_read_closed": DESCRIPTOR,
        "test_unbounded_file": "applies to machines with 32-bit addresses",
    },
    "Texts": {
        "test_append_bom": WRITING,
        "test_basic_io": WRITING,
        "test_issue25862": WRITING,
        "test_repr": MOCK,
        "test_seek_append_bom": WRITING,
        "test_seek_bom": WRITING,
        "test_seek_with_encoder_state": WRITING,
        "test_telling": WRITING,
    },
}


if sys.version_info >= (3, 12):  # Python 3.12 has different tests
    READERS |= {
        "test_error_through_destructor": MOCK,
        "test_recursive_repr": MOCK,
        "test_seek_character_device_file": MOCK,
        "test_tell_character_device_file": MOCK,
    }
    EXCEPTIONS["Texts"]["test_illegal_encoder"] = WRITING


def prepared(case: type[unittest.TestCase], **members: Any) -> type[unittest.TestCase]:
    """Add the members that test_io's load_tests adds to a test class, and our own members."""
    for name in (*io.__all__, "IncrementalNewlineDecoder"):
        setattr(case, name, getattr(io, name))
    for name in dir(test_io):
        if name.startswith("C") and name.endswith(("IO", "WithoutRead")):
            setattr(case, name[1:], getattr(test_io, name))
    for name, member in members.items():
        setattr(case, name, member)
    return case


class Opened(test_io.IOTest):
    """Tests of ``open`` and of file objects on disk."""


class Readers(test_io.BufferedReaderTest):
    """Tests of readers at any position."""


class Streams(test_io.BufferedReaderTest):
    """Tests of readers of sources that cannot seek."""


class Texts(test_io.TextIOWrapperTest):
    """Tests of text."""


prepared(Opened, open=staticmethod(sealed_open))
prepared(Readers, tp=OfSealed, open=staticmethod(io.open))
prepared(Streams, tp=OfSealedStream, open=staticmethod(io.open))
prepared(Texts, BytesIO=SealedBytes, io=io, is_C=True, open=staticmethod(sealed_open))

for _case in (Opened, Readers, Streams, Texts):
    for _name in EXCEPTIONS[_case.__name__]:
        setattr(_case, _name, None)
del _case  # otherwise, its tests would run twice


if __name__ == "__main__":
    unittest.main()
