"""The encrypted file of a view."""

from __future__ import annotations

import contextlib
import io
import threading
from typing import Any

from .._file_objects import can_seek, check_binary
from .._file_objects import read_at as positional

#: Number of bytes to read and decrypt at a time, if pages are shorter: small enough for a processor's caches for local
#: files, large enough to hide a request's latency for others.
_LOCAL_BYTES, _REMOTE_BYTES = 1 << 20, 16 << 20


class Source:
    """The encrypted file, read at any position, by any thread."""

    def __init__(self, file: Any, owned: bool) -> None:
        """Take a file object; ``owned``: ``close`` closes it."""
        check_binary(file, "read", "readinto")
        found = positional(file) if can_seek(file) else None
        if found is None:
            raise ValueError("file: a Parquet file is read from its end; this file object cannot seek")
        self._read_at, self.size = found
        self._file, self._owned = file, owned
        self._own = threading.local()
        self.local = isinstance(getattr(file, "raw", file), (io.FileIO, io.BytesIO))
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
        """Read into this thread's window, which the thread's next call overwrites.

        ``held``: this many bytes from the offset are already in the window.
        """
        window: bytearray | None = getattr(self._own, "window", None)
        if window is None or len(window) < length:
            # A quarter more, because windows end where pages end.
            larger = bytearray(max(length, min(self.window_bytes, self.size)) * 5 // 4)
            if window is not None and held:
                larger[:held] = memoryview(window)[:held]
            window = self._own.window = larger
        view = memoryview(window)[:length]
        self.read_into(offset + held, view[held:])
        return view

    def own(self) -> None:
        """Close the file with this object."""
        self._owned = True

    def close(self) -> None:
        """Close the file if this object owns it."""
        if self._owned:
            self._file.close()


def open_source(file: Any) -> Source:
    """Open a path, a URL of fsspec or a file object."""
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
