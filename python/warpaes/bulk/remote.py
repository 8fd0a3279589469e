"""Storage in fsspec file systems, for reading and, if uploads are atomic, for writing."""

from __future__ import annotations

import threading
import urllib.parse
from collections.abc import Container, Iterator, Sequence
from concurrent.futures import Executor
from typing import Any

from .storage import (
    Attempt,
    ChangedError,
    Entry,
    ExistsError,
    MissingError,
    Names,
    PermanentError,
    Storage,
    Upload,
    part_bytes,
)

#: Object stores that show an object only after its upload is complete.
WHOLE = {"memory", "gs", "gcs", "abfs", "abfss", "az"}


def _version(info: dict[str, Any]) -> str:
    names = ("ETag", "etag", "generation", "mtime", "LastModified", "Last-Modified", "last_modified", "created")
    stamp = next((info[name] for name in names if info.get(name)), "")
    if hasattr(stamp, "timestamp"):
        stamp = stamp.timestamp()  # because listings and single requests may round times differently
    return f"{stamp:.3f}-{info.get('size')}" if isinstance(stamp, float) else f"{stamp}-{info.get('size')}"


class RemoteStorage(Storage):
    """Storage at a URL that fsspec opens. fsspec file systems can create objects conditionally but cannot replace them
    conditionally: another program may change an object between the check and the write.
    """

    can_replace = False
    _turn = threading.Lock()

    def __init__(self, url: str) -> None:
        """Open the URL of a file or a folder."""
        from fsspec.core import url_to_fs

        super().__init__()
        if url.partition("://")[2].endswith("//"):
            raise ValueError(f"{url}: fsspec cannot access a folder whose name ends with a slash")
        self.url = url.rstrip("/")
        self._fs, root = url_to_fs(url)
        self._root = root.rstrip("/")
        protocol = url.partition("://")[0]
        self.can_write, self.is_shared = protocol in WHOLE, protocol != "memory"
        # A web server does not report whether an address is a folder. An address that ends with a slash is treated as a
        # folder.
        self._web, self._is_folder = protocol in ("http", "https"), url.endswith("/")

    def _path(self, key: str) -> str:
        return f"{self._root}/{urllib.parse.quote(key) if self._web else key}" if key else self._root

    def not_kept(self, replaced: Container[str]) -> Sequence[str]:
        """Return the attributes that are lost because fsspec does not read them."""
        return ["content types, metadata and tags, which fsspec does not read"]

    def check_key(self, key: str) -> None:
        """Refuse a name that a client or a server may interpret as outside the root."""
        if not key or "\0" in key or any(part in (".", "..") for part in key.split("/")):
            raise PermanentError(f"{key!r} cannot be the name of an object; rename it, or exclude it")

    def list(self, key: str = "") -> Iterator[Entry]:
        """Find all files below the root."""
        self._fs.invalidate_cache()
        if not (self._web and self._is_folder) and self._fs.isfile(self._root):
            yield self.stat("")
            return
        if not self._fs.exists(self._root + "/" * self._web):
            raise MissingError(f"{self.url}: no such file or folder")
        for path, info in self._fs.find(self._root + "/" * self._web, detail=True).items():
            if not path.startswith(self._root):
                raise OSError(f"{self.url}: the file system lists {path!r}, which is outside this folder")
            name = path[len(self._root) :].removeprefix("/")
            if self._web and ("?" in name or "#" in name):  # a link that only changes the order of a listing
                continue
            name = urllib.parse.unquote(name) if self._web else name
            if name.startswith(key):
                # Listings from web servers contain only names.
                yield self._entry(name, info) if info.get("size") is not None else self.stat(name)

    def _entry(self, key: str, info: dict[str, Any]) -> Entry:
        size = info.get("size")
        if not isinstance(size, int) or size < 0:
            raise OSError(
                f"{self._path(key)} does not report its size; pass a list with sizes, or copy the object first"
            )
        return Entry(key, size, _version(info))

    def stat(self, key: str) -> Entry:
        """Query a file's entry."""
        self._fs.invalidate_cache()
        try:
            info = self._fs.info(self._path(key))
        except FileNotFoundError:
            raise MissingError(f"{self._path(key)}: no such file") from None
        if info.get("type") == "directory":
            raise MissingError(f"{self._path(key)} is not a file")
        return self._entry(key, info)

    def read(self, entry: Entry, offset: int, length: int) -> bytes:
        """Read a byte range. After reading the end of a file, check its version again."""
        try:
            data: bytes = self._fs.cat_file(self._path(entry.key), start=offset, end=offset + length) if length else b""
        except FileNotFoundError:
            raise MissingError(f"{self._path(entry.key)}: no such file") from None
        if offset + length >= entry.size:
            now = self.stat(entry.key)
            if (now.size, now.version) != (entry.size, entry.version):
                raise ChangedError(f"{self._path(entry.key)} has changed since it was listed")
        if len(data) != length:
            raise OSError(f"{self._path(entry.key)} returned {len(data)} of {length} bytes")
        return data

    def create(self, key: str, size: int, replace: str | None, attempt: Attempt, threads: Executor) -> Upload:
        """Start an upload. Data that fits in one part is sent in one request."""
        return _RemoteUpload(self, key, part_bytes(size), replace)

    def put(self, key: str, data: bytes, replace: str | None = None) -> str:
        """Write a small object."""
        with self._turn:
            if replace is not None:
                self._compare(key, replace)
            try:
                self._fs.pipe_file(self._path(key), data, mode="create" if replace is None else "overwrite")
            except FileExistsError:
                raise ExistsError(f"{self._path(key)} exists") from None
            return self.stat(key).version

    def _compare(self, key: str, version: str) -> None:
        try:
            now = self.stat(key).version
        except MissingError:
            now = ""
        if now != version:
            raise ExistsError(f"{self._path(key)} has changed and was not replaced")

    def remove(self, entry: Entry) -> None:
        """Remove a file if it is this version."""
        with self._turn:
            try:
                if self.stat(entry.key).version != entry.version:
                    raise ChangedError(f"{self._path(entry.key)} has changed and was not removed")
                self._fs.rm_file(self._path(entry.key))
            except (FileNotFoundError, MissingError):
                return

    def sweep(self, keys: Names) -> int:
        """Do nothing. Unfinished uploads cannot be listed through fsspec, and the store aborts them."""
        return 0


class _RemoteUpload(Upload):
    def __init__(self, storage: RemoteStorage, key: str, part: int, replace: str | None) -> None:
        self._storage, self._key, self._part, self._replace = storage, key, part, replace
        self._buffer = bytearray()
        self._file: Any = None

    def write(self, data: memoryview) -> None:
        self._buffer += data
        # In memory://, the data stays in memory in any case, so it is collected here.
        if len(self._buffer) > self._part and self._storage.is_shared:
            if self._file is None:
                if self._replace is not None:
                    self._storage._compare(self._key, self._replace)
                path, mode = self._storage._path(self._key), "xb" if self._replace is None else "wb"
                try:
                    self._file = self._storage._fs.open(path, mode, block_size=self._part)
                except FileExistsError:
                    raise ExistsError(f"{path} exists") from None
            self._file.write(self._buffer)
            self._buffer = bytearray()

    def commit(self) -> str:
        if self._file is None:
            return self._storage.put(self._key, bytes(self._buffer), self._replace)
        self._file.write(self._buffer)
        try:
            self._file.close()
        except FileExistsError:
            raise ExistsError(f"{self._storage._path(self._key)} exists") from None
        return self._storage.stat(self._key).version

    def abort(self) -> None:
        self._buffer = bytearray()
        if self._file is not None and not self._file.closed:
            self._file.discard()
            self._file.closed = True
