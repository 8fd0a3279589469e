"""A file system that shows the objects of ``warpaes bulk`` under their plaintext names, for ``warpaes.fs``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fsspec import AbstractFileSystem

from ._fs_names import NamedFileSystem, again
from ._printable import printable
from .exceptions import FormatError, InvalidTag
from .names import EncryptedNames

__all__ = ["BULK_FOLDER", "BULK_SUFFIX", "DatasetFileSystem"]

#: The files of ``warpaes bulk`` in a dataset: its own folder, and files with wrapped keys next to objects.
BULK_FOLDER, BULK_SUFFIX = ".warpaes-bulk", ".warpaes-key"
#: Methods that list folders.
LISTINGS = ("du", "expand_path", "find", "glob", "ls")


class _Objects(NamedFileSystem):
    """The objects of a dataset with encrypted names."""

    def _is_left_out(self, path: str) -> bool:
        return path == f"{self.root}/{BULK_FOLDER}"

    def ls(self, path: str, detail: bool = True, **options: Any) -> Any:
        """List a folder without wrapped keys. Raises the same exceptions as NamedFileSystem."""
        found = [each for each in super().ls(path, True, **options) if not each["name"].endswith(BULK_SUFFIX)]
        return found if detail else [entry["name"] for entry in found]


class _Outside(AbstractFileSystem):  # type: ignore[misc]
    """Lists folders outside datasets, and the datasets in these folders.

    A file outside datasets is refused, because it cannot be opened and anyone may have chosen its name. The files of a
    dataset that has lost its manifest are also outside datasets.
    """

    cachable = False

    def __init__(self, datasets: DatasetFileSystem) -> None:
        super().__init__()
        self._datasets, self.fs = datasets, datasets.fs
        self.root_marker = self.fs.root_marker
        self._strip_protocol = self.fs._strip_protocol

    def ls(self, path: str, detail: bool = True, **options: Any) -> Any:
        """List a folder.

        Raises:
            InvalidTag: The folder contains a file.
        """
        entries = self.fs.ls(path, detail=True, **options)
        for entry in entries:
            if entry["type"] != "directory":
                raise InvalidTag(
                    f"{printable(entry['name'])} is not an object of a dataset, because no folder above it has a "
                    "manifest of warpaes bulk"
                )
        return entries if detail else [entry["name"] for entry in entries]

    def walk(self, path: str, *positions: Any, **options: Any) -> Any:
        """Walk the folders below a path. Raises the same exceptions as ``ls``."""
        there = self._datasets.listing_of(path)
        if there is self:
            yield from super().walk(path, *positions, **options)
        else:
            yield from there.walk(path, *positions, **options)

    def info(self, path: str, **options: Any) -> Any:
        """Return the entry of a path."""
        return self.fs.info(path, **options)


def _by_path(name: str) -> Any:
    """Return a method that forwards a call to the file system of the first path in its arguments."""

    def method(self: DatasetFileSystem, path: Any, *positions: Any, **options: Any) -> Any:
        return getattr(self.of(path), name)(path, *positions, **options)

    method.__name__ = name
    method.__doc__ = f"Call ``{name}`` of the path's file system."
    return method


def _found_by_path(name: str) -> Any:
    """Return a method like ``_by_path``. If it finds nothing and a job has replaced the dataset, it tries again."""

    def method(self: DatasetFileSystem, path: Any, *positions: Any, **options: Any) -> Any:
        of = self.listing_of if name in LISTINGS else self.of
        before = of(path)
        try:
            if found := getattr(before, name)(path, *positions, **options):
                return found
        except (FileNotFoundError, FormatError, InvalidTag):
            self.look_again(path)
            if (now := of(path)) is before:
                raise
        else:
            self.look_again(path)
            if (now := of(path)) is before:
                return found
        return getattr(now, name)(path, *positions, **options)

    method.__name__ = name
    method.__doc__ = f"Call ``{name}`` of the path's file system."
    return method


class DatasetFileSystem(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Wraps a file system, and shows the objects of datasets with encrypted names under their plaintext paths."""

    cachable = False

    def __init__(
        self,
        fs: AbstractFileSystem,
        names_of: Callable[[str], tuple[str, EncryptedNames | None] | None],
        refresh: Callable[[str], None],
    ) -> None:
        """Wrap a file system.

        Args:
            fs: The file system.
            names_of: Returns the root of the dataset that contains a path, and the dataset's names if they are
                encrypted. Returns None outside datasets.
            refresh: Discards the dataset that contains a path if its manifest was replaced.
        """
        super().__init__()
        self.fs, self._names_of, self._refresh = fs, names_of, refresh
        self.protocol = fs.protocol
        self.async_impl = getattr(fs, "async_impl", False)
        self.root_marker = fs.root_marker
        self._strip_protocol = fs._strip_protocol
        self._parent = fs._parent
        self._objects: dict[str, _Objects] = {}
        self._outside = _Outside(self)

    def again(self) -> DatasetFileSystem:
        """Return an equivalent file system for a process created by ``fork``, where an asynchronous file system does
        not work."""
        return DatasetFileSystem(again(self.fs), self._names_of, self._refresh)

    def of(self, path: Any) -> AbstractFileSystem:
        """Return the file system for a path, or for the first path in a list.

        Raises:
            InvalidTag: The manifest of the path's dataset is not authentic.
        """
        found = self._names_of(self._first(path))
        return self.fs if found is None else self._objects_of(*found)

    def listing_of(self, path: Any) -> AbstractFileSystem:
        """Return the file system that lists a path. It differs from ``of`` only in that it refuses files outside
        datasets."""
        found = self._names_of(self._first(path))
        return self._outside if found is None else self._objects_of(*found)

    def _objects_of(self, root: str, names: EncryptedNames | None) -> AbstractFileSystem:
        if names is None:
            return self.fs
        objects = self._objects.get(root)
        if objects is None or objects.names is not names:
            objects = self._objects[root] = _Objects(self.fs, root, names)
        return objects

    def _first(self, path: Any) -> str:
        first = next(iter(path), "") if isinstance(path, (list, dict)) else path
        return str(self._strip_protocol(first))

    def look_again(self, path: Any) -> None:
        """Discard a path's dataset if a job has replaced its manifest. Raises the same exceptions as ``of``."""
        self._refresh(f"{self._first(path)}/")

    checksum, created, du, exists = map(_found_by_path, ("checksum", "created", "du", "exists"))
    expand_path, find, glob, info = map(_found_by_path, ("expand_path", "find", "glob", "info"))
    isdir, isfile, lexists, ls = map(_found_by_path, ("isdir", "isfile", "lexists", "ls"))
    modified, ukey = map(_found_by_path, ("modified", "ukey"))
    cat_file, copy, cp_file, makedirs, mkdir = map(_by_path, ("cat_file", "copy", "cp_file", "makedirs", "mkdir"))
    mv, open, rm, rm_file, rmdir, touch = map(_by_path, ("mv", "open", "rm", "rm_file", "rmdir", "touch"))

    def walk(self, path: Any, *positions: Any, **options: Any) -> Any:
        """Walk the folders below a path."""
        self.exists(path)  # discards a replaced dataset
        yield from self.listing_of(path).walk(path, *positions, **options)

    def unstrip_protocol(self, name: str) -> str:
        """Return the URL of a path."""
        url: str = self.fs.unstrip_protocol(name)
        return url

    def invalidate_cache(self, path: str | None = None) -> None:
        """Clear the cached listings."""
        self.fs.invalidate_cache()
