"""The locations of encrypted model folders: a local file system, or a URL that fsspec opens."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from typing import Any

from .._kvikio import RemoteDeviceRanges, check_reader, ranges_of
from .._sealed_file import Ranges
from ..exceptions import FormatError

#: Folders and files that hub clients store next to a model. No reader loads them, so they are neither copied nor
#: checked.
_FOLDERS_OF_A_HUB, _FILES_OF_A_HUB = (".cache", ".git"), (".gitattributes", ".gitignore")
_PIECE = 1 << 20


def files_of(folder: str, follow: bool = False) -> Iterator[str]:
    """Yield the names, with slashes, of all files below a folder except those of hub clients. ``follow``: whether links
    to files count as files.

    Raises:
        FormatError: The folder contains something other than files and folders, such as a link.
    """
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        is_folder = entry.is_dir(follow_symlinks=False)
        if entry.name in (_FOLDERS_OF_A_HUB if is_folder else _FILES_OF_A_HUB):
            continue
        if is_folder:
            yield from (f"{entry.name}/{name}" for name in files_of(entry.path, follow))
        elif entry.is_file(follow_symlinks=follow):
            yield entry.name
        else:
            raise FormatError(f"{entry.path} is neither a regular file nor a folder")


class LocalPlace:
    """A folder in a local file system."""

    def __init__(self, path: str, reader: str = "threads") -> None:
        """Store a path and the name of a reader."""
        self.path, self._reader = path, reader

    def shown(self, name: str) -> str:
        """Return a file's path for messages."""
        return os.path.join(self.path, name)

    def names(self) -> Iterator[str]:
        """Return the names of all files. Raises the same exceptions as ``files_of``."""
        return files_of(self.path)

    def read(self, name: str, most: int) -> bytes:
        """Return the first ``most`` bytes of a regular file."""
        path = self.shown(name)
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise FormatError(f"{path} is not a file")
        with open(path, "rb") as file:
            return file.read(most)

    def sha256(self, name: str) -> str:
        """Return the SHA-256 of a file."""
        digest = hashlib.sha256()
        with open(self.shown(name), "rb") as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
        return digest.hexdigest()

    def open(self, name: str) -> Ranges:
        """Open a file for reading at any offset."""
        return ranges_of(self.shown(name), self._reader)


class _Remote(Ranges):
    """A file in an fsspec file system. Each read is a separate request."""

    piece_bytes, threads = 16 << 20, 8

    def __init__(self, files: Any, path: str, shown: str) -> None:
        self._files, self._path, self.name = files, path, shown
        self._open = True
        self.size = files.size(path)

    def check_open(self) -> None:
        if not self._open:
            raise ValueError("I/O operation on closed file")

    def _read(self, at: int, rooms: list[memoryview]) -> int:
        data = memoryview(self._files.cat_file(self._path, start=at, end=at + sum(room.nbytes for room in rooms)))
        size = data.nbytes
        for room in rooms:
            part = data[: room.nbytes]
            room.cast("B")[: part.nbytes] = part
            data = data[part.nbytes :]
        if data.nbytes:
            raise OSError(f"{self.name}: the file system returned {data.nbytes} bytes more than requested")
        return size

    def close(self) -> None:
        self._open = False


class RemotePlace:
    """A folder at a URL, such as ``s3://bucket/model``."""

    def __init__(self, url: str, options: dict[str, Any] | None, reader: str) -> None:
        """Create the file system of a URL. ``reader`` is the name of the reader for shards.

        Raises:
            ImportError: fsspec, or the package for the URL's protocol, is not installed.
        """
        from fsspec.core import url_to_fs

        self.path, self._options, self._reader = url.rstrip("/"), options, reader
        self._files, root = url_to_fs(self.path, **(options or {}))
        self._root = root.rstrip("/")
        self._files.invalidate_cache()

    def shown(self, name: str) -> str:
        """Return a file's URL for messages."""
        return f"{self.path}/{name}"

    def _at(self, name: str) -> str:
        return f"{self._root}/{name}"

    def names(self) -> Iterator[str]:
        """Return the names of all files except those of hub clients. Empty objects that represent folders are
        omitted."""
        for path, about in self._files.find(self._root, detail=True).items():
            name = path.removeprefix(f"{self._root}/")
            *folders, last = name.split("/")
            if last in _FILES_OF_A_HUB or any(folder in _FOLDERS_OF_A_HUB for folder in folders):
                continue
            if path != self._root and about["type"] == "file" and not (name.endswith("/") and about["size"] == 0):
                yield name

    def read(self, name: str, most: int) -> bytes:
        """Return the first ``most`` bytes of a file."""
        data: bytes = self._files.cat_file(self._at(name), start=0, end=most)
        return data

    def sha256(self, name: str) -> str:
        """Return the SHA-256 of a file."""
        digest = hashlib.sha256()
        with self._files.open(self._at(name), "rb") as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
        return digest.hexdigest()

    def open(self, name: str) -> Ranges:
        """Open a file for reading at any offset."""
        if self._reader == "threads":
            return _Remote(self._files, self._at(name), self.shown(name))
        return RemoteDeviceRanges(self.shown(name), self._options)


def place_of(
    folder: str | os.PathLike[str], options: dict[str, Any] | None = None, reader: str = "threads"
) -> LocalPlace | RemotePlace:
    """Return the location for a path, or for a URL with options for its file system.

    ``reader`` is ``threads`` or ``kvikio``; see ``safetensors.safe_open``.

    Raises:
        ValueError: Options are given for a path, or ``reader`` is unknown.
        ImportError: fsspec, or the package for the URL's protocol, is not installed.
    """
    check_reader(reader)
    path = os.fspath(folder)
    if "://" in path and not os.path.isdir(path):
        return RemotePlace(path, options, reader)
    if options:
        raise ValueError("storage_options: allowed only for URLs, but the folder is a path")
    return LocalPlace(path, reader)
