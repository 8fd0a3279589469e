"""A file system that shows plaintext paths of a tree with encrypted names, for ``warpaes.fs``."""

from __future__ import annotations

import contextlib
import pickle
import re
from collections.abc import Callable, Iterator
from typing import Any

from fsspec import AbstractFileSystem
from fsspec.core import has_magic, url_to_fs

from ._printable import printable
from .exceptions import FormatError, InvalidTag
from .names import EncryptedNames

__all__ = ["LastingArguments", "NamedFileSystem", "again", "underlying"]

#: Length of each part of a long name except the last, including the hyphen at its end.
PART_BYTES = 143
#: The names of warpaes's temporary files, which are not part of the tree.
_TEMPORARY = re.compile(r"\.(warpaes-[0-9a-z]{10,16}|.*\.warpaes-part-[0-9a-f]{32})", re.DOTALL)


def underlying(fs: AbstractFileSystem | None, protocol: str | None, options: dict[str, Any] | None) -> Any:
    """Return the underlying file system: ``fs``, or the file system of ``protocol``. Raise ValueError if both are
    None."""
    if fs is None:
        if protocol is None:
            raise ValueError("the underlying file system is missing; pass fs or target_protocol")
        fs = url_to_fs(f"{protocol}://", **(options or {}))[0]
    if getattr(fs, "asynchronous", False):
        raise ValueError("the underlying file system is asynchronous; create it without asynchronous=True")
    return fs


class LastingArguments:
    """The arguments that fsspec pickles, and sets after the object is created. They contain no text of an unencrypted
    key, because the first argument, ``_secret``, is replaced by ``_lasting()``."""

    _secret: str
    _storage_options: dict[str, Any]
    _storage_args: tuple[Any, ...]

    def _lasting(self) -> Any:
        """Return the key's place, or a value without text of the key if it has no place."""
        raise NotImplementedError

    @property
    def storage_options(self) -> dict[str, Any]:
        """The options with which the file system was created."""
        return self._storage_options

    @storage_options.setter
    def storage_options(self, options: dict[str, Any]) -> None:
        self._storage_options = {**options, self._secret: self._lasting()} if self._secret in options else options

    @property
    def storage_args(self) -> tuple[Any, ...]:
        """The positional arguments with which the file system was created."""
        return self._storage_args

    @storage_args.setter
    def storage_args(self, arguments: tuple[Any, ...]) -> None:
        self._storage_args = (self._lasting(), *arguments[1:]) if arguments else arguments


def again(fs: AbstractFileSystem) -> AbstractFileSystem:
    """Return an equivalent file system for a process created by ``fork``, where an asynchronous file system does not
    work."""
    if isinstance(fs, NamedFileSystem):
        return NamedFileSystem(again(fs.fs), fs.root, fs.names)
    return pickle.loads(pickle.dumps(fs)) if getattr(fs, "async_impl", False) else fs


class NamedFileSystem(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """The files of a tree with encrypted names, under their plaintext paths. The content of files is not changed."""

    cachable = False

    def __init__(self, fs: AbstractFileSystem, root: str, names: EncryptedNames) -> None:
        """Wrap the tree at the path ``root`` of ``fs``."""
        super().__init__()
        self.fs, self.names = fs, names
        self.protocol = fs.protocol
        self.async_impl = getattr(fs, "async_impl", False)
        self.root_marker = fs.root_marker
        self._strip_protocol = fs._strip_protocol
        self._parent = fs._parent
        self.root: str = fs._strip_protocol(root).rstrip("/")

    def plain(self, path: str) -> str:
        """Return the plaintext path below the root of the tree, which is empty for the root.

        Raises:
            ValueError: The path is not in the tree.
        """
        path = self._strip_protocol(path).rstrip("/")
        if path == self.root:
            return ""
        if not path.startswith(self.root + "/"):
            raise ValueError(f"{printable(path)!r} is not in the tree with encrypted names, {printable(self.root)!r}")
        below: str = path[len(self.root) + 1 :]
        return below

    def stored(self, path: str) -> str:
        """Return the path in the underlying file system.

        Existing entries keep their names, encrypted under any of the keys. New names are encrypted under the primary
        key.
        """
        plain = self.plain(path)
        if not plain:
            return self.root or str(self.root_marker)
        whole = f"{self.root}/{self.names.encrypt(plain)}"
        if len(self.names) == 1 or self.fs.exists(whole):
            return whole
        at, folder = self.root, ""
        for name in plain.split("/"):
            places = [f"{at}/{self.names.encrypt_name(folder, name, key)}" for key in range(len(self.names))]
            at = next((place for place in places if self.fs.exists(place)), places[0])
            folder = f"{folder}/{name}" if folder else name
        return at

    def make_parts(self, stored: str) -> None:
        """Create the folders that represent the parts of a long name."""
        folder = self.fs._parent(stored)
        if folder.endswith("-"):
            self.fs.makedirs(folder, exist_ok=True)

    def _remove_parts(self, stored: str) -> None:
        while (stored := self.fs._parent(stored)).endswith("-"):
            with contextlib.suppress(OSError):
                if not self.fs.isdir(stored):
                    return
                self.fs.rmdir(stored)
                continue
            return

    def _is_left_out(self, path: str) -> bool:
        """Return whether an entry of the underlying file system is not part of the tree."""
        return False

    def _entries(self, directory: str, folder: str, before: str, options: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for entry in self.fs.ls(directory, detail=True, **options):
            path = entry["name"].rstrip("/")
            if path == directory.rstrip("/"):
                continue  # a folder marker in an object store, or a file
            part = path.rsplit("/", 1)[-1]
            if self._is_left_out(path) or _TEMPORARY.fullmatch(part):
                continue
            if part.endswith("-") and len(part) == PART_BYTES and entry["type"] == "directory" and len(before) < 2000:
                yield from self._entries(path, folder, f"{before}{part}/", options)
                continue
            try:
                name = self.names.decrypt_name(folder, before + part)
            except (FormatError, InvalidTag) as error:
                raise type(error)(f"{printable(path)!r}: {error}") from None
            yield {**entry, "name": f"{self.root}/{folder}/{name}" if folder else f"{self.root}/{name}"}

    def ls(self, path: str, detail: bool = True, **options: Any) -> Any:
        """List a folder, sorted by plaintext names.

        Raises:
            InvalidTag: A name in the folder is not authentic.
            FormatError: A name in the folder is not an encrypted name, or two names decrypt to the same plaintext name.
        """
        folder, stored = self.plain(path), self.stored(path)
        if folder and not self.fs.isdir(stored):
            entry = self.info(path, **options)
            return [entry] if detail else [entry["name"]]
        found = sorted(self._entries(stored, folder, "", options), key=lambda entry: str(entry["name"]))
        for one, next_one in zip(found, found[1:]):
            if one["name"] == next_one["name"]:
                raise FormatError(
                    f"{printable(one['name'])!r}: two entries have this plaintext name; move one of them away"
                )
        return found if detail else [entry["name"] for entry in found]

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        """Return the underlying entry with its plaintext path."""
        entry: dict[str, Any] = self.fs.info(self.stored(path), **options)
        return {**entry, "name": self._strip_protocol(path)}

    def open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        """Open the underlying file."""
        stored = self.stored(path)
        if "r" not in mode:
            self.make_parts(stored)
        return self.fs.open(stored, mode, **options)

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **options: Any) -> Any:
        """Return bytes of the underlying file."""
        return self.fs.cat_file(self.stored(path), start=start, end=end, **options)

    def pipe_file(self, path: str, value: Any, **options: Any) -> Any:
        """Write bytes to the underlying file."""
        stored = self.stored(path)
        self.make_parts(stored)
        return self.fs.pipe_file(stored, value, **options)

    def mkdir(self, path: str, *positions: Any, **options: Any) -> Any:
        """Create a folder."""
        stored = self.stored(path)
        self.make_parts(stored)
        return self.fs.mkdir(stored, *positions, **options)

    def makedirs(self, path: str, exist_ok: bool = False) -> Any:
        """Create a folder and its parents."""
        return self.fs.makedirs(self.stored(path), exist_ok=exist_ok)

    def rmdir(self, path: str) -> None:
        """Remove an empty folder."""
        stored = self.stored(path)
        self.fs.rmdir(stored)
        self._remove_parts(stored)

    def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> None:
        """Remove files. With ``recursive``, also remove folders and everything below them."""
        if maxdepth is None:
            paths = path if isinstance(path, list) else [path]
            exact = [[each] if not has_magic(each) or self.exists(each) else self.expand_path(each) for each in paths]
            stored = [self.stored(each) for some in exact for each in some]
            self.fs.rm(stored, recursive=recursive)
            for each in stored:
                self._remove_parts(each)
            return
        for each in reversed(self.expand_path(path, recursive=recursive, maxdepth=maxdepth)):
            if self.isdir(each):
                self.rmdir(each)
            elif self.exists(each):  # a folder in an object store disappears with its last file
                self.rm_file(each)

    def rm_file(self, path: str) -> None:
        """Remove a file."""
        stored = self.stored(path)
        self.fs.rm_file(stored)
        self._remove_parts(stored)

    def cp_file(self, path1: str, path2: str, **options: Any) -> Any:
        """Copy the underlying file. The copy does not open at its new path, so ``warpaes.fs`` re-encrypts files and
        does not call this method."""
        return self.fs.cp_file(self.stored(path1), self.stored(path2), **options)

    def exists(self, path: str, **options: Any) -> Any:
        """Return whether a file or folder exists at a path."""
        return self._ask(path, lambda stored: self.fs.exists(stored, **options))

    def lexists(self, path: str, **options: Any) -> Any:
        """Return whether a file, a folder or a dangling link exists at a path."""
        return self._ask(path, lambda stored: self.fs.lexists(stored, **options))

    def isdir(self, path: str) -> Any:
        """Return whether a folder exists at a path."""
        return self._ask(path, self.fs.isdir)

    def isfile(self, path: str) -> Any:
        """Return whether a file exists at a path."""
        return self._ask(path, self.fs.isfile)

    def _ask(self, path: str, question: Callable[[str], Any]) -> Any:
        """Call ``question`` with the underlying path. Return False if no file can have this path."""
        try:
            stored = self.stored(path)
        except ValueError:
            return False
        return question(stored)

    def touch(self, path: str, truncate: bool = True, **options: Any) -> Any:
        """Set the modification time of the underlying file."""
        return self.fs.touch(self.stored(path), truncate=truncate, **options)

    def created(self, path: str) -> Any:
        """Return the creation time of a file."""
        return self.fs.created(self.stored(path))

    def modified(self, path: str) -> Any:
        """Return the modification time of a file."""
        return self.fs.modified(self.stored(path))

    def checksum(self, path: str) -> Any:
        """Return a number that changes when the underlying file changes."""
        return self.fs.checksum(self.stored(path))

    def ukey(self, path: str) -> Any:
        """Return a string that changes when the underlying file changes."""
        return self.fs.ukey(self.stored(path))

    def unstrip_protocol(self, name: str) -> str:
        """Return the URL of a plaintext path."""
        url: str = self.fs.unstrip_protocol(name)
        return url

    def invalidate_cache(self, path: str | None = None) -> None:
        """Clear the cached listings."""
        self.fs.invalidate_cache()
