"""A file system of sealed files over any other of fsspec's: ``fsspec.open("warpaes::s3://bucket/key", keyset=…)``."""

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
    """Plaintexts of the sealed files of another file system, by the same paths.

    ``keyset``: a Keyset, or the JSON of one. ``associated_data``: bytes for all files, or a function of a path.
    Sizes are those of plaintexts; to tell them, and that the end is there, a file is opened, which takes two reads, of
    a few bytes and of a segment. What is no sealed file of the keyset is listed with the size None.
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
        """Take the file system beneath: ``fs``, or a protocol and its options."""
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
            """Strip what each file system puts in front; a method, because the one beneath is the instance's."""
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
            # It appears when it is whole: the store is told so, or to forget it. Of its own "xb" it would be there at
            # once, so that whether there is one is asked here, in the end again.
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
        """The entry of a listing, with the size of the plaintext."""
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
        """Tell about a path, with the size of the plaintext."""
        return self._plain(self.fs.info(self._strip_protocol(path), **options))

    def ls(self, path: str, detail: bool = True, **options: Any) -> Any:
        """List a folder, with the sizes of plaintexts."""
        entries = self.fs.ls(self._strip_protocol(path), detail=detail, **options)
        return [self._plain(entry) for entry in entries] if detail else entries

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **options: Any) -> bytes:
        """Read the plaintext of a file, or a range of it."""
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
        """Read ranges of plaintexts; only the segments under them are fetched, and every file is opened once."""
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

    # What has nothing to do with content is the other file system's.

    def mkdir(self, path: str, *positions: Any, **options: Any) -> Any:
        """Make a folder."""
        return self.fs.mkdir(self._strip_protocol(path), *positions, **options)

    def makedirs(self, path: str, exist_ok: bool = False) -> Any:
        """Make a folder and those above it."""
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
        """Copy a file; where associated data are those of its path, sealed anew."""
        if not callable(self.associated_data):
            return self.fs.cp_file(self._strip_protocol(path1), self._strip_protocol(path2), **options)
        with self.open(path1, "rb") as source, self.open(path2, "wb") as target:
            shutil.copyfileobj(source, target, 16 << 20)
        return None

    def mv(self, path1: str, path2: str, **options: Any) -> Any:
        """Move a file; where associated data are those of its path, sealed anew."""
        if callable(self.associated_data):
            return super().mv(path1, path2, **options)
        return self.fs.mv(self._strip_protocol(path1), self._strip_protocol(path2), **options)

    def created(self, path: str) -> Any:
        """Tell when a file was made."""
        return self.fs.created(self._strip_protocol(path))

    def modified(self, path: str) -> Any:
        """Tell when a file was changed."""
        return self.fs.modified(self._strip_protocol(path))

    def invalidate_cache(self, path: str | None = None) -> None:
        """Forget what is known of sizes and listings."""
        self._sizes.clear()
        self.fs.invalidate_cache(path)
