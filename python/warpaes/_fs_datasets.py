"""A file system of the objects of ``warpaes bulk`` under their plain names; ``warpaes.fs`` uses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fsspec import AbstractFileSystem

from ._fs_names import NamedFileSystem, again
from ._printable import printable
from .exceptions import FormatError, InvalidTag
from .names import EncryptedNames

__all__ = ["BULK_FOLDER", "BULK_SUFFIX", "DatasetFileSystem"]

#: The files of ``warpaes bulk`` in a dataset: its folder, and files of wrapped keys next to objects.
BULK_FOLDER, BULK_SUFFIX = ".warpaes-bulk", ".warpaes-key"
#: Methods that list folders.
LISTINGS = ("du", "expand_path", "find", "glob", "ls")


class _Objects(NamedFileSystem):
    """The objects of a dataset whose names are encrypted."""

    def _is_left_out(self, path: str) -> bool:
        return path == f"{self.root}/{BULK_FOLDER}"

    def ls(self, path: str, detail: bool = True, **options: Any) -> Any:
        """List a folder without wrapped keys. Exceptions are those of NamedFileSystem."""
        found = [each for each in super().ls(path, True, **options) if not each["name"].endswith(BULK_SUFFIX)]
        return found if detail else [entry["name"] for entry in found]


class _Outside(AbstractFileSystem):  # type: ignore[misc]
    """Lists folders outside datasets, and the datasets below them.

    A file outside datasets is refused, because it cannot be opened and anyone may have chosen its name. A dataset
    without its manifest also contains such files.
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
                    f"{printable(entry['name'])} is not an object of a dataset: no folder above it has a manifest of "
                    "warpaes bulk"
                )
        return entries if detail else [entry["name"] for entry in entries]

    def walk(self, path: str, *positions: Any, **options: Any) -> Any:
        """Walk the folders below a path. Raises the exceptions of ``ls``."""
        there = self._datasets.listing_of(path)
        if there is self:
            yield from super().walk(path, *positions, **options)
        else:
            yield from there.walk(path, *positions, **options)

    def info(self, path: str, **options: Any) -> Any:
        """Return the entry of a path."""
        return self.fs.info(path, **options)


def _by_path(name: str) -> Any:
    """Return a method that forwards a call to the file system of its first path."""

    def method(self: DatasetFileSystem, path: Any, *positions: Any, **options: Any) -> Any:
        return getattr(self.of(path), name)(path, *positions, **options)

    method.__name__ = name
    method.__doc__ = f"Call ``{name}`` of the file system of the path."
    return method


def _found_by_path(name: str) -> Any:
    """Return a method as ``_by_path`` does. It looks again if it finds nothing and a job has replaced the dataset."""

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
    method.__doc__ = f"Call ``{name}`` of the file system of the path."
    return method


class DatasetFileSystem(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Wraps a file system, and shows the objects of datasets with encrypted names under their plain paths."""

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
            names_of: Returns the root of the dataset at a path, if there is one, and its names, if they are encrypted.
            refresh: Forgets the dataset at a path if its manifest was replaced.
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
        """Return the same file system for a child of ``fork``, where an asynchronous one does not work."""
        return DatasetFileSystem(again(self.fs), self._names_of, self._refresh)

    def of(self, path: Any) -> AbstractFileSystem:
        """Return the file system of a path, or of the first path in a list.

        Raises:
            InvalidTag: The manifest of the path's dataset is not authentic.
        """
        found = self._names_of(self._first(path))
        return self.fs if found is None else self._objects_of(*found)

    def listing_of(self, path: Any) -> AbstractFileSystem:
        """Return the file system that lists a path. It is that of ``of``, but refuses files outside datasets."""
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
        """Forget the dataset of a path if a job has replaced its manifest. Raises the exceptions of ``of``."""
        self._refresh(f"{self._first(path)}/")

    checksum, created, du, exists = map(_found_by_path, ("checksum", "created", "du", "exists"))
    expand_path, find, glob, info = map(_found_by_path, ("expand_path", "find", "glob", "info"))
    isdir, isfile, lexists, ls = map(_found_by_path, ("isdir", "isfile", "lexists", "ls"))
    modified, ukey = map(_found_by_path, ("modified", "ukey"))
    cat_file, copy, cp_file, makedirs, mkdir = map(_by_path, ("cat_file", "copy", "cp_file", "makedirs", "mkdir"))
    mv, open, rm, rm_file, rmdir, touch = map(_by_path, ("mv", "open", "rm", "rm_file", "rmdir", "touch"))

    def walk(self, path: Any, *positions: Any, **options: Any) -> Any:
        """Walk the folders below a path."""
        self.exists(path)  # which looks again
        yield from self.listing_of(path).walk(path, *positions, **options)

    def unstrip_protocol(self, name: str) -> str:
        """Return the URL of a path."""
        url: str = self.fs.unstrip_protocol(name)
        return url

    def invalidate_cache(self, path: str | None = None) -> None:
        """Clear the cached listings."""
        self.fs.invalidate_cache()
