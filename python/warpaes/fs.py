"""A file system of sealed files on top of any other of fsspec.

For example ``fsspec.open("warpaes::s3://bucket/key", keyset=…)``.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from typing import Any

from fsspec import AbstractFileSystem
from fsspec.core import url_to_fs
from fsspec.implementations.chained import ChainedFileSystem

from ._native import Keyset, Reader
from ._typing import Buffer
from .exceptions import FormatError, InvalidTag
from .files import SealedReader, SealedWriter

__all__ = ["WarpaesFileSystem"]


def _discard(below: Any) -> None:
    try:
        below.close()
    finally:
        below.discard()


class _ClosingReader(SealedReader):
    def __init__(self, below: Any, keyset: Keyset, associated_data: Buffer | None) -> None:
        self._below = below
        try:
            super().__init__(below, keyset, associated_data)
        except BaseException:
            below.close()
            raise

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._below.close()


class _ClosingWriter(SealedWriter):
    def __init__(
        self, below: Any, keyset: Keyset, associated_data: Buffer | None, check: Callable[[], None] | None
    ) -> None:
        self._below = below
        self._check = check
        try:
            super().__init__(below, keyset, associated_data)
        except BaseException:
            _discard(below)
            raise

    def close(self) -> None:
        if self.closed:
            return
        try:
            super().close()
            if self._check is not None:
                self._check()
        except BaseException:
            _discard(self._below)
            raise
        self._below.close()
        self._below.commit()

    def abort(self) -> None:
        if not self.closed:
            super().abort()
            _discard(self._below)


class WarpaesFileSystem(ChainedFileSystem):  # type: ignore[misc]  # fsspec has no types
    """The plaintexts of another file system's sealed files, under the same paths.

    Sizes are those of plaintexts. To find a size, and to check that the file is complete, the file system opens the
    file with two reads: of a few bytes, and of a segment. A file that the keyset does not open is listed with the size
    None.
    """

    protocol = "warpaes"
    cachable = False

    def __init__(
        self,
        keyset: Keyset | str | bytes | None = None,
        associated_data: bytes | Callable[[str], bytes] | None = None,
        fs: AbstractFileSystem | None = None,
        target_protocol: str | None = None,
        target_options: dict[str, Any] | None = None,
        fo: str = "",
        **options: Any,
    ) -> None:
        """Make a file system on top of ``fs``, or of a protocol with its options.

        Args:
            keyset: A Keyset, or its JSON; required.
            associated_data: The associated data of all files, or a function that returns it for a path.
            fs: The underlying file system.
            target_protocol: The protocol of the underlying file system, if ``fs`` is None.
            target_options: The options of that protocol.
            fo: Ignored; fsspec passes it for chained URLs.
            options: Further options of fsspec.

        Raises:
            ValueError: There is no keyset, or no underlying file system.
            KeysetError: The JSON is not a keyset.
        """
        super().__init__(**options)
        if keyset is None:
            raise ValueError("keyset is missing: fsspec.open(url, keyset=warpaes.Keyset.parse(...))")
        self.keyset = keyset if isinstance(keyset, Keyset) else Keyset.parse(keyset)
        self.associated_data = associated_data
        if fs is None:
            if target_protocol is None:
                raise ValueError("the file system beneath is missing: fs, or target_protocol")
            fs = url_to_fs(f"{target_protocol}://", **(target_options or {}))[0]
        self.fs = fs

        def strip(path: Any) -> Any:
            """Strip the prefixes of both file systems. It is set on the instance, because the underlying one
            differs."""
            plain = type(self)._strip_protocol(path)
            return fs._strip_protocol(plain)

        self._strip_protocol = strip  # type: ignore[method-assign]
        self._sizes: dict[tuple[Any, ...], int | None] = {}

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        return path.removeprefix("warpaes::").removeprefix("warpaes://")

    def _associated_data(self, path: str) -> Buffer | None:
        if callable(self.associated_data):
            return self.associated_data(path)
        return self.associated_data

    def _reader(self, path: str, size: int) -> Reader:
        def read_at(offset: int, buffer: memoryview) -> None:
            data = self.fs.cat_file(path, start=offset, end=offset + len(buffer))
            if len(data) != len(buffer):
                raise OSError(f"{path}: {len(data)} of {len(buffer)} bytes came; it is shorter than it was")
            buffer[:] = data

        return Reader(read_at, self.keyset, self._associated_data(path), size=size)

    def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        path = self._strip_protocol(path)
        associated_data = self._associated_data(path)
        if mode == "rb":
            return _ClosingReader(self.fs.open(path, "rb"), self.keyset, associated_data)
        if mode in ("wb", "xb"):
            # The file appears only when it is complete: the writer commits it, or discards it. The underlying "xb"
            # would create it at once, so this code checks for an existing file instead, here and again at the end.
            check = (lambda: self._refuse_existing(path)) if mode == "xb" else None
            if check is not None:
                check()
            below = self.fs.open(path, "wb", autocommit=False)
            return _ClosingWriter(below, self.keyset, associated_data, check)
        raise ValueError(f"mode must be rb, wb or xb, not {mode!r}: nothing can be added to a sealed file")

    def _refuse_existing(self, path: str) -> None:
        self.fs.invalidate_cache(path)
        if self.fs.exists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)

    def _plain(self, entry: dict[str, Any]) -> dict[str, Any]:
        """Return the entry of a listing with the size of the plaintext."""
        if entry["type"] != "file":
            return entry
        path, size = entry["name"], entry["size"]
        stamps = [entry.get(name) for name in ("ETag", "mtime", "LastModified", "created")]
        version = (path, size, str(next((stamp for stamp in stamps if stamp), None)))
        if version not in self._sizes:
            try:
                reader = self._reader(path, size)
                self._sizes[version] = reader.size
                reader.close()
            except (FormatError, InvalidTag):
                self._sizes[version] = None
        return {**entry, "size": self._sizes[version], "sealed_size": size}

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        """Return the entry of a path: ``size`` is that of the plaintext, ``sealed_size`` that of the file."""
        return self._plain(self.fs.info(self._strip_protocol(path), **options))

    def ls(self, path: str, detail: bool = True, **options: Any) -> Any:
        """List a folder, with sizes as in ``info``."""
        entries = self.fs.ls(self._strip_protocol(path), detail=detail, **options)
        return [self._plain(entry) for entry in entries] if detail else entries

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **options: Any) -> bytes:
        """Return the plaintext of a file, or its range [start, end).

        Raises:
            InvalidTag: No key of the keyset opens the file, or it was altered.
        """
        return self._ranges(self._strip_protocol(path), [(start, end)])[0]

    def cat_ranges(
        self,
        paths: list[str],
        starts: Any,
        ends: Any,
        max_gap: int | None = None,
        on_error: str = "return",
        **options: Any,
    ) -> list[Any]:
        """Return ranges of plaintexts. Only the segments under them are fetched, and each file is opened once.

        Args:
            paths: The files; a path may occur several times.
            starts: The first byte of each range, or one for all.
            ends: The end of each range, or one for all.
            max_gap: Ignored.
            on_error: ``raise`` raises the first exception; otherwise it stands in the list in place of the file's
                ranges.
            options: Ignored.

        Raises:
            ValueError: The lists differ in length.
        """
        if not isinstance(starts, (list, tuple)):
            starts = [starts] * len(paths)
        if not isinstance(ends, (list, tuple)):
            ends = [ends] * len(paths)
        if len(starts) != len(paths) or len(ends) != len(paths):
            raise ValueError("paths, starts and ends must be of the same length")
        wanted: dict[str, list[int]] = {}
        for i, path in enumerate(paths):
            wanted.setdefault(self._strip_protocol(path), []).append(i)
        results: list[Any] = [None] * len(paths)
        for path, places in wanted.items():
            try:
                found: list[Any] = self._ranges(path, [(starts[i], ends[i]) for i in places])
            except Exception as error:
                if on_error == "raise":
                    raise
                found = [error] * len(places)
            for i, data in zip(places, found):
                results[i] = data
        return results

    def _ranges(self, path: str, ranges: list[tuple[int | None, int | None]]) -> list[bytes]:
        reader = self._reader(path, self.fs.info(path)["size"])
        try:
            pieces = []
            for start, end in ranges:
                first, last, _ = slice(start, end).indices(reader.size)
                pieces.append(reader.read(first, max(0, last - first)))
            return pieces
        finally:
            reader.close()

    # Operations that do not touch content are passed to the underlying file system.

    def mkdir(self, path: str, *positions: Any, **options: Any) -> Any:
        """Create a folder."""
        return self.fs.mkdir(self._strip_protocol(path), *positions, **options)

    def makedirs(self, path: str, exist_ok: bool = False) -> Any:
        """Create a folder and its parents."""
        return self.fs.makedirs(self._strip_protocol(path), exist_ok=exist_ok)

    def rmdir(self, path: str) -> Any:
        """Remove a folder."""
        return self.fs.rmdir(self._strip_protocol(path))

    def _rm(self, path: str) -> Any:
        return self.fs.rm_file(self._strip_protocol(path))

    def rm_file(self, path: str) -> Any:
        """Remove a file."""
        return self._rm(path)

    def cp_file(self, path1: str, path2: str, **options: Any) -> Any:
        """Copy a file. If ``associated_data`` is a function of the path, the copy is encrypted anew."""
        if not callable(self.associated_data):
            return self.fs.cp_file(self._strip_protocol(path1), self._strip_protocol(path2), **options)
        with self.open(path1, "rb") as source, self.open(path2, "wb") as target:
            shutil.copyfileobj(source, target, 16 << 20)
        return None

    def mv(self, path1: str, path2: str, **options: Any) -> Any:
        """Move a file. If ``associated_data`` is a function of the path, the file is encrypted anew."""
        if callable(self.associated_data):
            return super().mv(path1, path2, **options)
        return self.fs.mv(self._strip_protocol(path1), self._strip_protocol(path2), **options)

    def created(self, path: str) -> Any:
        """Return the creation time of a file."""
        return self.fs.created(self._strip_protocol(path))

    def modified(self, path: str) -> Any:
        """Return the modification time of a file."""
        return self.fs.modified(self._strip_protocol(path))

    def invalidate_cache(self, path: str | None = None) -> None:
        """Forget the cached sizes and listings."""
        self._sizes.clear()
        self.fs.invalidate_cache(path)
