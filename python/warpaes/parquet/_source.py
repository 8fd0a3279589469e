"""The encrypted file that underlies a view."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import threading
from typing import Any

from .._file_objects import can_seek, check_binary
from .._file_objects import read_at as positional

#: Number of bytes to read and decrypt at a time, if no page is longer. The bytes of a local file then fit in a
#: processor's caches, and few requests are needed for a remote file.
_LOCAL_BYTES, _REMOTE_BYTES = 256 << 10, 16 << 20


class Source:
    """The encrypted file. Any thread can read at any position."""

    def __init__(self, file: Any, owned: bool, near: bool = False) -> None:
        """Store a file object. ``owned``: whether ``close`` closes it. ``near``: whether reads have low latency, as
        with a local file."""
        check_binary(file, "read", "readinto")
        found = positional(file) if can_seek(file) else None
        if found is None:
            raise ValueError("file: is not seekable, but a Parquet file is read from its end")
        self._read_at, self.size = found
        self._file, self._owned = file, owned
        self._own = threading.local()
        self.local = near or isinstance(getattr(file, "raw", file), (io.FileIO, io.BytesIO))
        # The descriptor is used only if the file object has no write buffer and does not change the bytes.
        plain = file.raw if type(file) is io.BufferedReader else file
        regular = type(plain) is io.FileIO and stat.S_ISREG(os.fstat(plain.fileno()).st_mode)
        self._raw = plain if regular else None
        self.window_bytes = _LOCAL_BYTES if self.local else _REMOTE_BYTES

    def read(self, offset: int, length: int) -> bytes:
        """Read exactly this many bytes."""
        data = bytearray(length)
        with memoryview(data) as view:
            self.read_into(offset, view)
        return bytes(data)

    def read_into(self, offset: int, to: memoryview) -> None:
        """Fill a buffer."""
        if len(to):
            self._read_at(offset, to)

    def fetch(self, offset: int, length: int, held: int = 0) -> memoryview:
        """Read into this thread's window. The thread's next call overwrites it.

        ``held`` is the number of bytes from the offset that are already in the window.
        """
        window: bytearray | None = getattr(self._own, "window", None)
        if window is None or len(window) < length:
            # A quarter larger than needed, because windows end where pages end.
            larger = bytearray(max(length, min(self.window_bytes, self.size)) * 5 // 4)
            if window is not None and held:
                larger[:held] = memoryview(window)[:held]
            window = self._own.window = larger
        view = memoryview(window)[:length]
        self.read_into(offset + held, view[held:])
        return view

    def descriptor(self) -> int | None:
        """Return the descriptor of a regular file, or None for other file objects."""
        return None if self._raw is None else self._raw.fileno()

    def own(self) -> None:
        """Make ``close`` also close the file."""
        self._owned = True

    def close(self) -> None:
        """Close the file if this object owns it."""
        if self._owned:
            self._file.close()


def open_source(file: Any) -> Source:
    """Open a path, an fsspec URL or a file object."""
    if isinstance(file, str) and "://" in file:
        import fsspec

        return Source(fsspec.open(file, "rb", cache_type="none").open(), owned=True)
    if hasattr(file, "read") or hasattr(file, "readinto"):
        return Source(file, owned=False)
    opened = io.FileIO(file, "rb")
    with contextlib.ExitStack() as stack:
        stack.callback(opened.close)
        source = Source(opened, owned=True)
        stack.pop_all()
    return source
