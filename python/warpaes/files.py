"""Sealed files as file objects: Tink's streaming AEAD and C2SP chunked encryption."""

from __future__ import annotations

import io
import os
import stat
import threading
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any, Literal, Union, overload

from ._native import Keyset, Reader, Writer
from ._typing import Buffer

__all__ = ["Keyset", "Reader", "SealedReader", "SealedWriter", "Writer", "open"]

Path = Union[str, "os.PathLike[str]"]

# What small reads are gathered to: reading on in pieces of a few bytes costs a call of the library every so often.
BUFFER_BYTES = 128 << 10


def _fill(file: Any, buffer: memoryview) -> None:
    """Read until the buffer is full; files may give less than was asked for."""
    at = 0
    while at < len(buffer):
        if hasattr(file, "readinto"):
            got = file.readinto(buffer[at:])
        else:
            data = file.read(len(buffer) - at)
            got = None if data is None else len(data)
            buffer[at : at + len(data or b"")] = data or b""
        if not got:
            raise OSError(f"the file gave {at} of {len(buffer)} bytes: it is shorter than it was, or not ready")
        at += got


def _read_at(file: Any) -> tuple[Callable[[int, memoryview], None], int]:
    """Return a function that fills a buffer from an offset of a file object on, and the file's size."""
    try:
        descriptor = file.fileno()
        regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
    except (AttributeError, OSError):
        regular = False
    if regular:  # no position to share
        size = os.fstat(descriptor).st_size

        def read_descriptor(offset: int, buffer: memoryview) -> None:
            at = 0
            while at < len(buffer):
                got = os.preadv(file.fileno(), [buffer[at:]], offset + at)
                if got == 0:
                    raise OSError(f"the file ends at byte {offset + at}: it is shorter than it was")
                at += got

        return read_descriptor, size

    lock = threading.Lock()
    size = file.seek(0, io.SEEK_END)
    if size is None:
        size = file.tell()

    def read_object(offset: int, buffer: memoryview) -> None:
        with lock:
            file.seek(offset)
            _fill(file, buffer)

    return read_object, size


class _RawReader(io.RawIOBase):
    """The plaintext of a sealed file, unbuffered."""

    def __init__(self, file: Any, keyset: Keyset, associated_data: Buffer | None) -> None:
        super().__init__()
        self._position = 0
        self._again: Callable[[], Reader] | None = None
        self._process = os.getpid()
        if isinstance(file, (str, os.PathLike)):
            path = os.fspath(file)
            kept = None if associated_data is None else bytes(associated_data)
            self._again = lambda: Reader(path, keyset, kept)
            self._reader = self._again()
            self.name = path
        elif hasattr(file, "seek"):
            read_at, size = _read_at(file)
            self._reader = Reader(read_at, keyset, associated_data, size=size)
        else:
            self._reader = Reader(file, keyset, associated_data)

    @property
    def reader(self) -> Reader:
        """What any number of threads may read from at once; in a child of fork, opened again there."""
        if self._process != os.getpid() and self._again is not None:
            self._reader = self._again()
            self._process = os.getpid()
        return self._reader

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        self._check_open()
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._check_open()
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.reader.size}.get(whence)
        if start is None:
            raise ValueError(f"whence must be 0, 1 or 2, not {whence}")
        if start + offset < 0:
            raise ValueError("the position would be before the beginning")
        self._position = start + offset
        return self._position

    def readinto(self, buffer: Any) -> int:
        self._check_open()
        if self._position >= self.reader.size:
            return 0
        got = self.reader.read_into(self._position, buffer)
        self._position += got
        return got

    def readall(self) -> bytes:
        self._check_open()
        rest = self.reader.read(self._position, max(0, self.reader.size - self._position))
        self._position += len(rest)
        return rest

    def close(self) -> None:
        reader = getattr(self, "_reader", None)
        if reader is not None and not self.closed:
            reader.close()
        super().close()

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file")


class SealedReader(io.BufferedReader):
    """The plaintext of a sealed file, at any position. Every byte that is returned is authentic."""

    def __init__(self, file: Any, keyset: Keyset, associated_data: Buffer | None = None) -> None:
        """Open a path, a file object that can seek, or a buffer; the file object stays the caller's to close."""
        super().__init__(_RawReader(file, keyset, associated_data), BUFFER_BYTES)

    @property
    def size(self) -> int:
        """Bytes of plaintext."""
        return self.reader.size

    @property
    def reader(self) -> Reader:
        """The reader beneath, for reads at offsets, by several threads at once."""
        raw: Any = self.raw
        reader: Reader = raw.reader
        return reader


class SealedWriter(io.BufferedIOBase):
    """Writes a sealed file. It ends with ``close``, and not if the ``with`` block is left by an exception."""

    def __init__(
        self, file: Any, keyset: Keyset, associated_data: Buffer | None = None, *, overwrite: bool = False
    ) -> None:
        """Begin a file at a path, where it appears when it is complete, or in a file object, which stays open."""
        super().__init__()
        self._position = 0
        self._writer: Writer | None = None
        if isinstance(file, (str, os.PathLike)):
            self._writer = Writer(os.fspath(file), keyset, associated_data, overwrite=overwrite)
        else:
            self._writer = Writer(lambda piece: _write_all(file, piece), keyset, associated_data)

    def writable(self) -> bool:
        """Say that it can be written to."""
        return True

    def tell(self) -> int:
        """Return how many bytes have been written."""
        return self._position

    def write(self, data: Any) -> int:
        """Write bytes, or a tensor in host or device memory."""
        if self._writer is None:
            raise ValueError("I/O operation on closed file")
        written = self._writer.write(data)
        self._position += written
        return written

    def close(self) -> None:
        """Seal the last segment. A path appears under its name only now."""
        writer, self._writer = self._writer, None
        if writer is not None:
            try:
                writer.finish()
            except BaseException:
                writer.abort()
                raise
            finally:
                super().close()

    def abort(self) -> None:
        """Give the file up: at a path nothing appears, and what was there stays."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.abort()
            super().close()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the file, or give it up after an exception."""
        if kind is None:
            self.close()
        else:
            self.abort()

    def __del__(self) -> None:
        """Give the file up: who wants it closes it."""
        if getattr(self, "_writer", None) is not None:
            warnings.warn(f"{self!r} was not closed, so there is no file", ResourceWarning, stacklevel=2, source=self)
            self.abort()


def _write_all(file: Any, piece: memoryview) -> None:
    while len(piece) > 0:
        written = file.write(piece)
        if written is None:
            raise BlockingIOError("the file object would block: give one that waits")
        if written <= 0:
            raise OSError("the file object takes no more bytes")
        piece = piece[written:]


@overload
def open(
    file: Any, mode: Literal["r", "rb"] = "rb", *, keyset: Keyset, associated_data: Buffer | None = None
) -> SealedReader: ...
@overload
def open(
    file: Any, mode: Literal["w", "wb", "x", "xb"], *, keyset: Keyset, associated_data: Buffer | None = None
) -> SealedWriter: ...
@overload
def open(
    file: Any, mode: str, *, keyset: Keyset, associated_data: Buffer | None = None
) -> SealedReader | SealedWriter: ...


def open(
    file: Any, mode: str = "rb", *, keyset: Keyset, associated_data: Buffer | None = None
) -> SealedReader | SealedWriter:
    """Open a sealed file: a path, a file object, or for reading a buffer.

    ``rb`` reads, ``wb`` replaces a file, ``xb`` makes a new one; all are binary. Keys are found by trying them on the
    last segment, which also shows that the end is there. ``associated_data``: the same for writer and reader; they are
    not in the file.
    """
    kind = mode.replace("b", "", 1)
    if kind == "r":
        return SealedReader(file, keyset, associated_data)
    if kind in ("w", "x"):
        return SealedWriter(file, keyset, associated_data, overwrite=kind == "w")
    raise ValueError(f"mode must be rb, wb or xb, not {mode!r}; for text, put an io.TextIOWrapper around it")
