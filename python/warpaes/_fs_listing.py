"""The listings of ``warpaes.fs``: plaintext paths and sizes of files in another file system."""

from __future__ import annotations

import contextlib
import datetime
import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from fsspec import AbstractFileSystem
from fsspec.implementations.chained import ChainedFileSystem
from fsspec.utils import stringify_path

from ._file_objects import after
from ._fs_datasets import BULK_FOLDER, BULK_SUFFIX
from ._native import Keyset, Reader
from ._own_keysets import PAGE, OwnKeysets, read_front
from ._typing import Buffer
from .exceptions import FormatError, InvalidTag, KeysetError

__all__ = ["Listing"]

#: Maximum number of cached plaintext sizes for a file system.
_MAX_SIZES = 1 << 16
#: Number of threads that read sizes from a network file system.
_THREADS = 16


_Opened = TypeVar("_Opened")


def _is_of_bulk(path: str) -> bool:
    return path.endswith(BULK_SUFFIX) or BULK_FOLDER in path.split("/")


class DatasetKeys(Protocol):
    """The keys of objects written by ``warpaes bulk``."""

    def of(self, path: str) -> tuple[Keyset, bytes]:
        """Return the keyset and the associated data of an object."""

    def refresh(self, path: str) -> None:
        """Discard cached information about an object that may have been replaced."""


class Listing(ChainedFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Lists sealed files with their plaintext sizes. ``WarpaesFileSystem`` reads and writes the files."""

    fs: AbstractFileSystem
    keyset: Keyset
    own: OwnKeysets | None  #: the keysets at the start of the files, which replace ``keyset``
    datasets: DatasetKeys | None  #: the keys of ``warpaes bulk`` objects, which replace ``keyset``
    associated_data: bytes | Callable[[str], bytes] | None
    _sizes: dict[str, tuple[Any, int | None]]

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        path = stringify_path(path)
        return path.removeprefix("warpaes::").removeprefix("warpaes://")

    def _below(self, path: Any) -> Any:
        """Return a path in the form of the underlying file system: without our prefix, but with a trailing slash if the
        path has one."""
        return type(self)._strip_protocol(path)

    def unstrip_protocol(self, name: str) -> str:
        """Return the URL of a path: ``warpaes://`` and the URL of the underlying file system.

        It is a single URL, because DuckDB passes only URLs that begin with a registered file system's name and ``://``
        to that file system.
        """
        return f"warpaes://{self.fs.unstrip_protocol(self._strip_protocol(name))}"

    @staticmethod
    def _get_kwargs_from_urls(path: str) -> dict[str, Any]:
        """Return the underlying protocol if a URL names it; for example, s3 for ``warpaes://s3://bucket/key``."""
        beneath, separator, _ = path.removeprefix("warpaes://").partition("://")
        return {"target_protocol": beneath} if separator and path.startswith("warpaes://") else {}

    def _associated_data(self, path: str) -> Buffer | None:
        if callable(self.associated_data):
            return self.associated_data(path)
        return self.associated_data

    def _keys_of(self, path: str) -> tuple[Keyset, Buffer | None]:
        """Return the keyset and the associated data of a file."""
        if self.datasets is not None:
            keyset, associated_data = self.datasets.of(path)
            return keyset, associated_data
        return self.keyset, self._associated_data(path)

    def _again_if_replaced(self, path: str, open: Callable[[], _Opened]) -> _Opened:
        """Open a file. After a failure, retry if a job may have replaced the file since the manifest was read."""
        try:
            return open()
        except (FileNotFoundError, FormatError, InvalidTag, KeysetError):
            if self.datasets is None:
                raise
            self.datasets.refresh(path)
            return open()

    def _reader(self, path: str, size: int | None) -> Reader:
        """Open a file of ``size`` bytes. A file of unknown size is read completely."""
        return self._again_if_replaced(path, lambda: self._reader_of(path, size))

    def _reader_of(self, path: str, size: int | None) -> Reader:
        keyset, associated_data = self._keys_of(path)
        if size is None:
            content = self.fs.cat_file(path)  # raises an exception for folders
            if self.own is None:
                return Reader(content, keyset, associated_data)
            front = read_front(io.BytesIO(content).read)
            return Reader(content[len(front) :], self.own.open(front), associated_data)

        whole = b""

        def read_at(offset: int, buffer: memoryview) -> None:
            nonlocal whole
            end = offset + len(buffer)
            data = whole[offset:end] or self.fs.cat_file(path, start=offset, end=end)
            if len(data) == size > len(buffer):  # an HTTP server that does not support ranges sends the whole file
                whole, data = data, data[offset:end]
            if len(data) != len(buffer):
                raise OSError(f"{path}: {len(data)} of {len(buffer)} bytes were received; the file was truncated")
            buffer[:] = data

        if self.own is None:
            return Reader(read_at, keyset, associated_data, size=size, _own=True)
        front = self._front(path, size)
        start = len(front)
        return Reader(after(read_at, start), self.own.open(front), associated_data, size=size - start, _own=True)

    def _front(self, path: str, size: int) -> bytes:
        """Read the keyset at the beginning of a file, usually with one request."""
        beginning, at = self.fs.cat_file(path, start=0, end=min(size, PAGE)), 0

        def read(count: int) -> bytes:
            nonlocal beginning, at
            if at + count > len(beginning) < size:
                beginning += self.fs.cat_file(path, start=len(beginning), end=min(size, at + count))
            at += count
            return bytes(beginning[at - count : at])

        return read_front(read)

    def _current_reader(self, path: str) -> Reader:
        """Open a file. If this fails, query its entry again, because a cached listing may be outdated."""
        size = self._sealed_size(path)
        try:
            return self._reader(path, size)
        except (FormatError, InvalidTag, OSError):
            self.fs.invalidate_cache(path)
            again = self._sealed_size(path)
            if size == again:
                raise
            return self._reader(path, again)

    def _sealed_size(self, path: str) -> int | None:
        """Return a file's size, or None for a folder. In object stores, a path may be both a folder and a file."""
        entry = self.fs.info(path)
        size: int | None = entry["size"]
        return None if entry["type"] == "directory" else size

    def _size(self, entry: dict[str, Any]) -> int | None:
        """Return the size of a file's plaintext, or None if the file cannot be opened."""
        path = entry["name"]
        stamps = (entry.get(name) for name in ("ETag", "mtime", "LastModified", "created"))
        stamp = next((stamp for stamp in stamps if stamp), None)
        if isinstance(stamp, datetime.datetime):
            stamp = stamp.timestamp()  # some file systems return different types in listings and in info
        version = (entry["size"], entry.get("ino"), str(stamp))
        known = self._sizes.get(path)
        if known is not None and known[0] == version:
            return known[1]
        size = None
        try:
            reader = self._reader(path, entry["size"])
            size = reader.size
            reader.close()
        except FileNotFoundError:
            raise
        except (FormatError, InvalidTag):
            pass
        except Exception:  # may be a temporary error of the file system or of associated_data, so it is not cached
            return None
        while len(self._sizes) >= _MAX_SIZES:
            self._sizes.pop(next(iter(self._sizes)), None)
        self._sizes[path] = (version, size)
        return size

    def _plain(self, entry: dict[str, Any]) -> dict[str, Any]:
        """Return a listing's entry with the size of the plaintext."""
        if entry.get("type") != "file":
            return entry
        return {**entry, "size": self._size(entry), "sealed_size": entry["size"]}

    def _plain_or_gone(self, entry: dict[str, Any]) -> dict[str, Any] | None:
        with contextlib.suppress(FileNotFoundError):
            return self._plain(entry)
        return None

    def _plain_all(self, entries: dict[Any, dict[str, Any]]) -> dict[Any, dict[str, Any]]:
        """Return entries with plaintext sizes. Files that were removed since the listing are omitted."""
        if self.fs.async_impl and len(entries) > 1:  # each size requires a few requests, which wait for the network
            with ThreadPoolExecutor(min(_THREADS, len(entries))) as threads:
                plain = list(threads.map(self._plain_or_gone, entries.values()))
        else:
            plain = [self._plain_or_gone(entry) for entry in entries.values()]
        return {name: entry for name, entry in zip(entries, plain) if entry is not None}

    def _without_own(self, entries: Any) -> Any:
        """Return a listing without the files that ``warpaes bulk`` stores in a dataset."""
        if self.datasets is None:
            return entries
        if isinstance(entries, dict):
            return {path: entry for path, entry in entries.items() if not _is_of_bulk(path)}
        return [each for each in entries if not _is_of_bulk(each if isinstance(each, str) else each["name"])]

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        """Return the entry of a path. ``size`` is the plaintext's size, and ``sealed_size`` is the file's size."""
        return self._plain(self.fs.info(self._strip_protocol(path), **options))

    def ls(self, path: str, detail: bool = True, **options: Any) -> Any:
        """List a folder, with sizes as in ``info``. Without ``detail``, no files are read."""
        entries = self._without_own(self.fs.ls(self._below(path), detail=detail, **options))
        if not detail:
            return entries
        return list(self._plain_all(dict(enumerate(entries))).values())

    def walk(
        self, path: str, maxdepth: int | None = None, topdown: bool = True, on_error: Any = "omit", **options: Any
    ) -> Any:
        """Walk folders. Sizes are included only with ``detail``, because they must be read from the files."""
        detail = options.pop("detail", False)
        options |= {"maxdepth": maxdepth, "topdown": topdown, "on_error": on_error, "detail": detail}
        walk = self.fs.walk(self._below(path), **options)
        for folder, folders, files in walk:
            if self.datasets is not None:
                for names in (folders, files):  # changed in place, so that the walk does not enter these folders
                    for name in [name for name in names if _is_of_bulk(name)]:
                        names.pop(name) if isinstance(names, dict) else names.remove(name)
            yield folder, folders, self._plain_all(files) if detail else files

    def find(
        self, path: str, maxdepth: int | None = None, withdirs: bool = False, detail: bool = False, **options: Any
    ) -> Any:
        """List the files below a path. Sizes are included only with ``detail``, because they must be read from the
        files."""
        found = self.fs.find(self._below(path), maxdepth=maxdepth, withdirs=withdirs, detail=detail, **options)
        found = self._without_own(found)
        return self._plain_all(found) if detail else found

    def glob(self, path: str, maxdepth: int | None = None, **options: Any) -> Any:
        """List the paths that match a pattern. Sizes are included only with ``detail``, because they must be read from
        the files."""
        found = self._without_own(self.fs.glob(self._below(path), maxdepth=maxdepth, **options))
        return self._plain_all(found) if options.get("detail") else found

    def du(
        self, path: str, total: bool = True, maxdepth: int | None = None, withdirs: bool = False, **options: Any
    ) -> Any:
        """Return the number of plaintext bytes below a path, in total or for each file. Files that cannot be opened are
        omitted."""
        found = self.find(path, maxdepth, withdirs=withdirs, detail=True, **options)
        entries = (entry or self.info(name) for name, entry in found.items())
        sizes = {entry["name"]: entry["size"] for entry in entries if entry["size"] is not None}
        return sum(sizes.values()) if total else sizes

    def exists(self, path: str, **options: Any) -> Any:
        """Return whether a path exists."""
        return self.fs.exists(self._strip_protocol(path), **options)

    def lexists(self, path: str, **options: Any) -> Any:
        """Return whether a path exists or is a dangling link."""
        return self.fs.lexists(self._strip_protocol(path), **options)

    def isdir(self, path: str) -> Any:
        """Return whether a folder exists at a path."""
        return self.fs.isdir(self._strip_protocol(path))

    def isfile(self, path: str) -> Any:
        """Return whether a file exists at a path, even if the keyset does not open it."""
        return self.fs.isfile(self._strip_protocol(path))

    def checksum(self, path: str) -> Any:
        """Return a number that changes when the sealed file changes."""
        return self.fs.checksum(self._strip_protocol(path))

    def ukey(self, path: str) -> Any:
        """Return a string that changes when the sealed file changes."""
        return self.fs.ukey(self._strip_protocol(path))
