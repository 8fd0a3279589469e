"""Plaintext as a seekable file object."""

from __future__ import annotations

import abc
import io
from typing import NoReturn

from .._typing import Buffer


class PlainFile(io.RawIOBase):
    """A file object that is based on ``read_at``."""

    def __init__(self) -> None:
        """Start at position 0."""
        super().__init__()
        self._position = 0
        self._size = 0

    @abc.abstractmethod
    def read_at(self, offset: int, length: int) -> bytes:
        """Read up to ``length`` bytes from an offset without changing the position."""

    @property
    def size(self) -> int:
        """The size in bytes."""
        return self._size

    def readable(self) -> bool:
        """Return True, because the file object can be read."""
        return True

    def seekable(self) -> bool:
        """Return True, because any position can be read."""
        return True

    def tell(self) -> int:
        """Return the current position."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set the current position."""
        self._check_open()
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self.tell(), io.SEEK_END: self._size}.get(whence)
        if base is None:
            raise ValueError(f"whence: must be 0, 1 or 2, not {whence}")
        if base + offset < 0:
            raise ValueError(f"offset: position {base + offset} is before the start of the file")
        self._position = base + offset
        return base + offset

    def read(self, size: int | None = -1) -> bytes:
        """Read up to ``size`` bytes from the current position, or all remaining bytes if ``size`` is negative or
        None."""
        position = self.tell()
        data = self.read_at(position, self._size if size is None or size < 0 else size)
        self._position = position + len(data)
        return data

    def readall(self) -> bytes:
        """Read all remaining bytes."""
        return self.read()

    def readinto(self, buffer: Buffer) -> int:
        """Read into a buffer, and return the number of bytes."""
        with memoryview(buffer).cast("B") as to:
            data = self.read(len(to))
            to[: len(data)] = data
            return len(data)

    def __reduce__(self) -> NoReturn:
        """Raise TypeError, because a pickle would contain keys."""
        raise TypeError(
            "an open file cannot be pickled; send its path and the place of its keys, and open it in the other process"
        )

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError("the file object is closed")
