"""Unbuffered access to the plaintext of a sealed file, given as a path, a file object or a buffer."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
from collections.abc import Callable
from typing import Any

from ._file_objects import (
    after,
    can_seek,
    check_binary,
    keeps_no_view,
    named,
    position_of,
    read_at,
    read_next,
    why_not_opened,
)
from ._native import Keyset, Reader
from ._typing import Buffer
from .exceptions import FormatError, InvalidTag

# Number of bytes that SealedReader reads ahead: the maximum, after a jump, and in the next sequential read.
BUFFER_BYTES = 128 << 10
FIRST_BYTES = 4 << 10
SECOND_BYTES = 64 << 10
# Number of bytes to read at a time from a source of unknown length.
PIECE_BYTES = 4 << 20


def path_of(file: Any) -> str | None:
    """Return an argument's path, or None if it is not a path."""
    return os.fsdecode(file) if isinstance(file, (str, os.PathLike)) else None


class RawReader(io.RawIOBase):
    """Unbuffered access to the plaintext of a sealed file."""

    def __init__(self, file: Any, keyset: Keyset, associated_data: Buffer | None, start: int | None = None) -> None:
        # ``start`` is the offset of the sealed file in a seekable file object, if the offset is known.
        super().__init__()
        self._position = 0
        self._next = 0  # where the last read ended
        self._ahead = 0  # number of bytes to read if the next read begins at _next; 0: the number after a jump
        self._again: Callable[[], Reader] | None = None
        self._own: io.FileIO | None = None
        self._process = os.getpid()
        self._path = path = path_of(file)
        if path is not None:
            self.name = path
            try:
                self._reader = self._open_path(path, keyset, associated_data)
            except (FormatError, InvalidTag) as error:
                raise named(error, path) from None
            except OSError as error:
                raise why_not_opened(error, path) from None
        elif hasattr(file, "read") or hasattr(file, "readinto"):
            self._reader = _open_object(file, keyset, associated_data, start)
        else:
            self._reader = _open_buffer(file, keyset, associated_data)
        self._seekable = self._reader.seekable()
        self._size = self._reader.size if self._seekable else 0
        self._segments = min((BUFFER_BYTES, BUFFER_BYTES), self._reader.segments)

    def _open_path(self, path: str, keyset: Keyset, associated_data: Buffer | None) -> Reader:
        if not path:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        with contextlib.suppress(OSError):
            mode = os.stat(path).st_mode
            if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode):
                self._own = io.FileIO(path)  # a signal can interrupt its reads, but not those of the library
        if self._own is None:
            kept = None if associated_data is None else bytes(associated_data)
            self._again = lambda: Reader(path, keyset, kept)
            return self._again()
        try:
            return Reader(read_next(self._own), keyset, associated_data, _own=True)
        except BaseException:
            self._own.close()
            raise

    @property
    def reader(self) -> Reader:
        """The underlying reader, which any number of threads may use. In a process created by ``fork``, a path is
        opened again."""
        if self._process != os.getpid() and self._again is not None:
            self._reader = self._again()
            self._process = os.getpid()
        return self._reader

    def readable(self) -> bool:
        self._check_open()
        return True

    def seekable(self) -> bool:
        self._check_open()
        return self._seekable

    def tell(self) -> int:
        self._check_open()
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._check_open()
        if not self._seekable:
            raise io.UnsupportedOperation("the source of this file cannot seek, so it can only be read forward")
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}.get(whence)
        if start is None:
            raise ValueError(f"whence must be 0, 1 or 2, not {whence}")
        if start + offset < 0:
            raise ValueError("the position would be before the start of the file")
        self._position = start + offset
        return self._position

    def readinto(self, buffer: Any) -> int:
        self._check_open()
        at = self._position
        if self._seekable and at >= self._size:
            return 0
        try:
            got = self._read_into(at, buffer)
        except InvalidTag as error:
            raise self._named(error) from None
        self._position = self._next = at + got
        return got

    def fill(self, at: int, tensor: Any) -> int:
        """Fill a tensor with the plaintext at byte ``at``, and return the number of bytes."""
        self._check_open()
        if at >= self._size:
            return 0
        try:
            return self.reader.read_into(at, tensor)
        except InvalidTag as error:
            raise self._named(error) from None

    def _named(self, error: Exception) -> Exception:
        return error if self._path is None else named(error, self._path)

    def _read_into(self, at: int, buffer: Any) -> int:
        # Views are released, because a stored exception keeps this frame alive and must not keep the caller's buffer
        # alive.
        with memoryview(buffer) as view:
            if self._seekable and view.nbytes <= BUFFER_BYTES:  # fills BufferedReader's buffer, maybe partly
                if at != self._next:
                    self._ahead = 0
                limit = self._ahead or self._rest(at)
                self._ahead = BUFFER_BYTES if self._ahead else SECOND_BYTES
                with view.cast("B") as whole, whole[:limit] as part:
                    return self.reader.read_into(at, part)
            return self.reader.read_into(at, view)

    def _rest(self, at: int) -> int:
        """Return the number of bytes to read after a jump: the rest of the segment that contains byte ``at``, up to a
        limit."""
        first, other = self._segments
        rest = first - at if at < first else other - (at - first) % other
        return min(rest, FIRST_BYTES)

    def readall(self) -> bytes:
        self._check_open()
        try:
            return self._read_rest()
        except InvalidTag as error:
            raise self._named(error) from None

    def _read_rest(self) -> bytes:
        if self._seekable:
            rest = self.reader.read(self._position, max(0, self._size - self._position))
            self._position += len(rest)
            return rest
        pieces = []
        while piece := self.reader.read(self._position, PIECE_BYTES):
            self._position += len(piece)
            pieces.append(piece)
        return b"".join(pieces)

    def close(self) -> None:
        reader = getattr(self, "_reader", None)
        if reader is not None and not self.closed:
            reader.close()
            if self._own is not None:
                self._own.close()
        super().close()

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file")


def _open_object(file: Any, keyset: Keyset, associated_data: Buffer | None, at: int | None) -> Reader:
    """Open a file object at its beginning or, if no sealed file begins there, at its current position. A file object
    that cannot seek is opened at its current position."""
    check_binary(file, "read", "readinto")
    own = keeps_no_view(file)
    if not can_seek(file):
        return Reader(read_next(file), keyset, associated_data, _own=own)
    start = position_of(file)
    found = read_at(file)
    if found is None:
        return Reader(read_next(file), keyset, associated_data, _own=own)
    read, size = found
    try:
        if at is not None:
            return Reader(after(read, at), keyset, associated_data, size=size - at, _own=own)
        try:
            return Reader(read, keyset, associated_data, size=size, _own=own)
        except (FormatError, InvalidTag):
            if 0 < start < size:
                with contextlib.suppress(FormatError, InvalidTag):
                    return Reader(after(read, start), keyset, associated_data, size=size - start, _own=own)
            raise
    except BaseException:
        file.seek(start)
        raise


def _open_buffer(file: Any, keyset: Keyset, associated_data: Buffer | None) -> Reader:
    """Open the content of a sealed file in memory."""
    try:
        memoryview(file).release()
    except TypeError:
        check_binary(file, "read")
        raise
    try:
        return Reader(file, keyset, associated_data)
    except FormatError as error:
        if isinstance(file, bytes) and len(file) < 4096 and b"\0" not in file and os.path.exists(file):
            raise FormatError(
                f"{error}; bytes are interpreted as the content of a file; pass a path as os.fsdecode(path)"
            ) from None
        raise
