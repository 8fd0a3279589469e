"""Encrypted names of files and folders, as ``warpaes encrypt --encrypt-names`` writes them (docs/formats.md)."""

from __future__ import annotations

import os
from typing import Union

from ._keyset_places import as_keyset, lasting_keyset_place
from ._native import Keyset, Names
from ._typing import Buffer

__all__ = ["EncryptedNames"]

#: Names are text. Bytes that are not UTF-8 are surrogate escapes, as in the module ``os``.
_Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
_MARK = b"warpaes-names-1"


def _bytes_of(path: _Path) -> bytes:
    path = os.fspath(path)
    return path.encode("utf-8", "surrogateescape") if isinstance(path, str) else path


class EncryptedNames:
    """Encrypts and decrypts the names in a tree.

    A plaintext path is the path of a file or folder below the root of the tree: names joined by ``/``. The class is
    thread-safe. An object can be pickled if its keyset can be pickled.
    """

    def __init__(self, keyset: Keyset | str) -> None:
        """Derive the keys for names from the enabled keys of a keyset.

        Args:
            keyset: The keyset, or a location that ``Keyset.load`` accepts. Later changes to the keyset have no effect.

        Raises:
            KeysetError: The keyset has no primary key for files.
        """
        self._keyset = keyset
        self._names = Names(as_keyset(keyset))

    def __len__(self) -> int:
        """Return the number of keys."""
        return len(self._names)

    def __reduce__(self) -> tuple[type[EncryptedNames], tuple[Keyset | str]]:
        """Return the state, which contains the keyset or its place."""
        if isinstance(self._keyset, Keyset):
            return EncryptedNames, (self._keyset,)
        place = lasting_keyset_place(self._keyset)
        if place is None:
            raise TypeError(
                "these names cannot be pickled, because another process cannot read the place of the keyset"
            )
        return EncryptedNames, (place,)

    def encrypt_name(self, folder: _Path, name: _Path, key: int = 0) -> str:
        """Return the encrypted form of a name in a folder.

        Args:
            folder: The plaintext path of the folder; empty for the root of the tree.
            name: The plaintext name.
            key: The index of the key: 0 is the primary key, and the other enabled keys follow in keyset order.

        Returns:
            One part or, for a long name, several parts joined by ``/``.

        Raises:
            ValueError: The name is empty, ``.``, ``..`` or too long, contains ``/`` or NUL, or the key does not exist.
        """
        return self._names.encrypt(_bytes_of(folder), _bytes_of(name), key)

    def decrypt_name(self, folder: _Path, stored: str) -> str:
        """Return the plaintext of an encrypted name in a folder.

        Raises:
            FormatError: ``stored`` is not an encrypted name, or the decrypted name is not a valid file name.
            InvalidTag: No key decrypts the name in this folder.
        """
        name = self._names.decrypt(_bytes_of(folder), stored.encode("utf-8", "surrogateescape"))
        return name.decode("utf-8", "surrogateescape")

    def encrypt(self, path: _Path) -> str:
        """Return a path with its names encrypted under the primary key.

        Raises:
            ValueError: The path has an empty name, ``.`` or ``..``.
        """
        steps = _bytes_of(path).split(b"/")
        return "/".join(self.encrypt_name(b"/".join(steps[:i]), step) for i, step in enumerate(steps))

    def decrypt(self, stored: str) -> str:
        """Return the plaintext of an encrypted path below the root.

        Raises:
            FormatError: A part of the path is not an encrypted name.
            InvalidTag: No key decrypts a name in its folder.
        """
        folder, before = "", ""
        for part in stored.split("/"):
            if part.endswith("-"):
                before += part + "/"
                continue
            name = self.decrypt_name(folder, before + part)
            folder, before = (f"{folder}/{name}" if folder else name), ""
        if before:
            self.decrypt_name(folder, before)  # raises an exception for an incomplete name
        return folder

    @staticmethod
    def associated_data(path: _Path, associated_data: Buffer | None = None) -> bytes:
        """Return the associated data that binds a file to its plaintext path.

        Args:
            path: The plaintext path of the file.
            associated_data: The associated data given on the command line, or None.
        """
        return _MARK + b"\0" + _bytes_of(path) + b"\0" + bytes(associated_data or b"")
