"""An encrypted model folder, and its manifest: every file, by its hash, under one authentication code."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import stat
import struct
from collections.abc import Iterator
from typing import Any

from .._native import Keyset
from .._to_host import authenticate
from ..exceptions import FormatError, InvalidTag, KeysetError
from ..safetensors import safe_open
from ._keys import ModelKeys, keys_of

MANIFEST = "warpaes-model.json"
FORMAT = "warpaes model 1"
WEIGHTS = ".safetensors"
INDEX = ".safetensors.index.json"
MOST_MANIFEST = 16 << 20
MOST_HEADER = 100_000_000
#: A hub client's own files next to a model. Nothing loads them, so they are neither copied nor checked.
OF_A_HUB = (".cache/", ".git/", ".gitattributes", ".gitignore")
_PIECE = 1 << 20


def files_of(folder: str, follow: bool = False) -> Iterator[str]:
    """Return the names of all files below a folder, with slashes; ``follow``: links to files are files.

    Raises: FormatError: There is an entry that is neither a file nor a folder, such as a link.
    """
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if f"{entry.name}/" in OF_A_HUB:
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from (f"{entry.name}/{name}" for name in files_of(entry.path, follow))
        elif entry.is_file(follow_symlinks=follow):
            yield entry.name
        else:
            raise FormatError(f"{entry.path} is not a regular file or a folder, and a model has nothing else")


def header_of(path: str) -> bytes:
    """Return the header of a file of tensors, preceded by its length. It has the tags of all tensors."""
    with open(path, "rb") as file:
        start = file.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        if not 0 < length <= MOST_HEADER:
            raise FormatError(f"{path} is not a file of tensors")
        header = start + file.read(length)
    if len(header) != 8 + length:
        raise FormatError(f"{path} is cut off in its header")
    return header


def hash_of(path: str, encrypted: bool) -> str:
    """Return the SHA-256 of a file; of an encrypted one, that of its header, which authenticates the rest."""
    if encrypted:
        return hashlib.sha256(header_of(path)).hexdigest()
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


def sealed_manifest(keys: ModelKeys, files: dict[str, dict[str, Any]]) -> bytes:
    """Return the text of a manifest with its authentication code."""
    about = {"format": FORMAT, "key_id": keys.key_id, "model": os.urandom(16).hex(), "files": files}
    text = json.dumps(about, indent=1, ensure_ascii=False).replace("\n", " ").encode()
    return text + b"\n" + _code(keys, text)


def _code(keys: ModelKeys, text: bytes) -> bytes:
    return json.dumps({"hmac_sha256": hmac.new(keys.mac, text, "sha256").hexdigest()}).encode() + b"\n"


class Folder:
    """An encrypted model folder with an authentic manifest and the files in clear that it names.

    A shard is compared with the manifest when it is opened.
    """

    def __init__(self, folder: str | os.PathLike[str], keys: Keyset | str) -> None:
        """Read the manifest, and check the names of all files and the content of those in clear.

        Args:
            folder: The path.
            keys: A Keyset, or its place as for ``Keyset.load``.

        Raises:
            FileNotFoundError: There is no manifest, so the folder is not an encrypted model.
            InvalidTag: The manifest was altered; a file in clear was altered or exchanged.
            FormatError: A file is missing, or was added or renamed; the manifest is not one.
            KeysetError: No key of the keyset made the manifest.
            OSError: A file cannot be read.
        """
        self.path = os.fspath(folder)
        place = os.path.join(self.path, MANIFEST)
        if not stat.S_ISREG(os.lstat(place).st_mode):
            raise FormatError(f"{place} is not a file")
        with open(place, "rb") as file:
            data = file.read(MOST_MANIFEST + 1)
        text, _, code = data.partition(b"\n")
        try:
            about = json.loads(text)
            self.files: dict[str, dict[str, Any]] = about["files"]
            key_id, found = about["key_id"], about["format"]
            if len(data) > MOST_MANIFEST or not isinstance(self.files, dict) or type(key_id) is not int:
                raise ValueError
        except (KeyError, TypeError, ValueError, RecursionError):
            raise FormatError(f"{place} is not a manifest of a model: restore it") from None
        if found != FORMAT:
            raise FormatError(f"{place} is of another version, {found!r:.40}: use the warpaes that made it")
        every = keys_of(keys)
        if key_id not in every:
            raise KeysetError(f"{place}: the keyset has no enabled key {key_id!r:.20}, which encrypts this model")
        self.keys = every[key_id]
        if not hmac.compare_digest(_code(self.keys, text), code):
            raise InvalidTag(f"{place} is not authentic: it was altered, or this is another key")
        self._check_names()
        self.check_clear()

    def _check_names(self) -> None:
        there = {name for name in files_of(self.path) if not name.startswith(OF_A_HUB)} - {MANIFEST}
        for name in sorted(there ^ set(self.files)):
            what = "was added: its manifest does not have it" if name in there else "is missing"
            raise FormatError(f"{os.path.join(self.path, name)} {what}")

    def check_clear(self) -> None:
        """Compare the files in clear with the manifest.

        Raises:
            InvalidTag: One was altered, or exchanged for another.
        """
        for name, about in self.files.items():
            path = os.path.join(self.path, name)
            if not about["encrypted"] and hash_of(path, False) != about["sha256"]:
                raise InvalidTag(f"{path} was altered: it is not the file that the manifest has")

    @property
    def shards(self) -> list[str]:
        """The names of the encrypted files."""
        return [name for name, about in self.files.items() if about["encrypted"]]

    def open(self, name: str, framework: str = "torch", device: Any = "cpu") -> safe_open:
        """Open an encrypted file of the folder, as ``warpaes.safetensors.safe_open`` does.

        Raises:
            FormatError: The manifest has no encrypted file of this name.
            InvalidTag: It is not the file that the manifest has.
        """
        path = os.path.join(self.path, name)
        about = self.files.get(name)
        if about is None or not about["encrypted"]:
            raise FormatError(f"{path} is not an encrypted file of the model")
        if hash_of(path, True) != about["sha256"]:
            raise InvalidTag(f"{path} was altered or exchanged: it is not the file that the manifest has")
        if os.stat(path).st_size != about["bytes"]:
            raise FormatError(f"{path} has {os.stat(path).st_size} bytes, and {about['bytes']} were written")
        file = safe_open(path, framework, device, enc_key=self.keys.enc, sign_key=self.keys.sign)
        try:
            # Checked again with the open file, because another file may have been at the path.
            descriptor = file._file.descriptor()
            size = os.fstat(descriptor).st_size
            if hashlib.sha256(_header_in(descriptor)).hexdigest() != about["sha256"]:
                raise InvalidTag(f"{path} was altered or exchanged: it is not the file that the manifest has")
            if size != about["bytes"]:
                raise FormatError(f"{path} has {size} bytes, and {about['bytes']} were written")
        except BaseException:
            file.close()
            raise
        return file

    def check_shards(self) -> None:
        """Compare the headers of all encrypted files with the manifest; exceptions are those of ``open``."""
        for name in self.shards:
            self.open(name, "numpy").close()


def _header_in(descriptor: int) -> bytes:
    length = struct.unpack("<Q", os.pread(descriptor, 8, 0))[0]
    return os.pread(descriptor, 8 + length, 0)


def verify(folder: str | os.PathLike[str], keys: Keyset | str) -> int:
    """Authenticate every byte of an encrypted model folder; return the number of its tensors.

    Raises:
        InvalidTag, FormatError, KeysetError, OSError: As for ``Folder`` and ``Folder.open``.
    """
    there, count = Folder(folder, keys), 0
    for name in there.shards:
        with there.open(name, "numpy") as file:
            for tensor in file._file.entries:
                authenticate(file._file, tensor)
                count += 1
    return count


def inspect(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the contents of a folder's manifest without a key, unauthenticated.

    Raises:
        FileNotFoundError: There is no manifest.
        FormatError: The file is not a manifest.
    """
    with open(os.path.join(os.fspath(folder), MANIFEST), "rb") as file:
        text = file.read(MOST_MANIFEST).partition(b"\n")[0]
    try:
        about = json.loads(text)
        files = about["files"]
        return {
            "format": about["format"],
            "key_id": about["key_id"],
            "encrypted": {name: each["bytes"] for name, each in files.items() if each["encrypted"]},
            "in_clear": {name: each["bytes"] for name, each in files.items() if not each["encrypted"]},
        }
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise FormatError(f"{os.fspath(folder)}/{MANIFEST} is not a manifest of a model") from None
