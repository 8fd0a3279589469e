"""Any file system that fsspec knows, to read from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .storage import ChangedError, Entry, MissingError, Storage


def _version(info: dict[str, Any]) -> str:
    names = ("ETag", "etag", "generation", "mtime", "LastModified", "last_modified", "created")
    stamp = next((info[name] for name in names if info.get(name)), "")
    if hasattr(stamp, "timestamp"):
        stamp = stamp.timestamp()  # listings and single questions differ in what they make of times
    return f"{stamp:.3f}-{info.get('size')}" if isinstance(stamp, float) else f"{stamp}-{info.get('size')}"


class RemoteStorage(Storage):
    """A URL that fsspec opens. Its file systems promise nothing about conditions, so nothing is written there."""

    can_write = False

    def __init__(self, url: str) -> None:
        """Take a URL of a file or a folder."""
        from fsspec.core import url_to_fs

        self.url = url
        self._fs, root = url_to_fs(url)
        self._root = root.rstrip("/")

    def _path(self, key: str) -> str:
        return f"{self._root}/{key}" if key else self._root

    def list(self, key: str = "") -> Iterator[Entry]:
        """Find all files below the root."""
        self._fs.invalidate_cache()
        if self._fs.isfile(self._root):
            yield self.stat("")
            return
        for path, info in self._fs.find(self._root, detail=True).items():
            name = path[len(self._root) :].lstrip("/")
            if name.startswith(key):
                yield self._entry(name, info)

    def _entry(self, key: str, info: dict[str, Any]) -> Entry:
        if info.get("size") is None:
            raise OSError(f"{self._path(key)} does not tell its size: give a manifest, or copy it first")
        return Entry(key, info["size"], _version(info))

    def stat(self, key: str) -> Entry:
        """Ask for a file's entry."""
        self._fs.invalidate_cache()
        try:
            return self._entry(key, self._fs.info(self._path(key)))
        except FileNotFoundError:
            raise MissingError(f"{self._path(key)}: no such file") from None

    def read(self, entry: Entry, offset: int, length: int) -> bytes:
        """Read a range; the end of a file is followed by another look at what it is."""
        try:
            data: bytes = self._fs.cat_file(self._path(entry.key), start=offset, end=offset + length) if length else b""
        except FileNotFoundError:
            raise MissingError(f"{self._path(entry.key)}: no such file") from None
        if offset + length >= entry.size and self.stat(entry.key).version != entry.version:
            raise ChangedError(f"{self._path(entry.key)} has changed since it was listed")
        if len(data) != length:
            raise OSError(f"{self._path(entry.key)} gave {len(data)} of {length} bytes")
        return data
