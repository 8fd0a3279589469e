"""A file system of the objects of ``warpaes bulk`` under their plain names; ``warpaes.fs`` uses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fsspec import AbstractFileSystem

from ._fs_names import NamedFileSystem, again
from .names import EncryptedNames

__all__ = ["BULK_FOLDER", "BULK_SUFFIX", "DatasetFileSystem"]

#: The files of ``warpaes bulk`` in a dataset: its folder, and files of wrapped keys next to objects.
BULK_FOLDER, BULK_SUFFIX = ".warpaes-bulk", ".warpaes-key"


class _Objects(NamedFileSystem):
    """The objects of a dataset whose names are encrypted."""

    def _is_left_out(self, path: str) -> bool:
        return path == f"{self.root}/{BULK_FOLDER}"

    def ls(self, path: str, detail: bool = True, **options: Any) -> Any:
        """List a folder without wrapped keys. Exceptions are those of NamedFileSystem."""
        found = [each for each in super().ls(path, True, **options) if not each["name"].endswith(BULK_SUFFIX)]
        return found if detail else [entry["name"] for entry in found]


def _by_path(name: str) -> Any:
    """Return a method that forwards a call to the file system of its first path."""

    def method(self: DatasetFileSystem, path: Any, *positions: Any, **options: Any) -> Any:
        return getattr(self.of(path), name)(path, *positions, **options)

    method.__name__ = name
    method.__doc__ = f"Call ``{name}`` of the file system of the path."
    return method


class DatasetFileSystem(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Wraps a file system, and shows the objects of datasets with encrypted names under their plain paths."""

    cachable = False

    def __init__(self, fs: AbstractFileSystem, names_of: Callable[[str], tuple[str, EncryptedNames] | None]) -> None:
        """Wrap a file system. ``names_of`` returns the root and the names of the dataset at a path, if its names are
        encrypted."""
        super().__init__()
        self.fs, self._names_of = fs, names_of
        self.protocol = fs.protocol
        self.async_impl = getattr(fs, "async_impl", False)
        self.root_marker = fs.root_marker
        self._strip_protocol = fs._strip_protocol
        self._parent = fs._parent
        self._objects: dict[str, _Objects] = {}

    def again(self) -> DatasetFileSystem:
        """Return the same file system for a child of ``fork``, where an asynchronous one does not work."""
        return DatasetFileSystem(again(self.fs), self._names_of)

    def of(self, path: Any) -> AbstractFileSystem:
        """Return the file system of a path, or of the first path in a list.

        Raises:
            InvalidTag: The manifest of the path's dataset is not authentic.
        """
        first = next(iter(path), "") if isinstance(path, (list, dict)) else path
        found = self._names_of(self._strip_protocol(first))
        if found is None:
            return self.fs
        root, names = found
        objects = self._objects.get(root)
        if objects is None or objects.names is not names:
            objects = self._objects[root] = _Objects(self.fs, root, names)
        return objects

    cat_file, checksum, copy, cp_file = map(_by_path, ("cat_file", "checksum", "copy", "cp_file"))
    created, du, exists, expand_path = map(_by_path, ("created", "du", "exists", "expand_path"))
    find, glob, info, isdir, isfile = map(_by_path, ("find", "glob", "info", "isdir", "isfile"))
    lexists, ls, makedirs, mkdir, modified = map(_by_path, ("lexists", "ls", "makedirs", "mkdir", "modified"))
    mv, open, rm, rm_file, rmdir = map(_by_path, ("mv", "open", "rm", "rm_file", "rmdir"))
    touch, ukey, walk = map(_by_path, ("touch", "ukey", "walk"))

    def unstrip_protocol(self, name: str) -> str:
        """Return the URL of a path."""
        url: str = self.fs.unstrip_protocol(name)
        return url

    def invalidate_cache(self, path: str | None = None) -> None:
        """Clear the cached listings."""
        self.fs.invalidate_cache()
