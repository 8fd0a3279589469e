"""An encrypted model folder and its manifest, which lists every file with its hash and has an authentication code."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import struct
from typing import Any

from .._native import Keyset
from .._to_host import authenticate
from ..exceptions import FormatError, InvalidTag, KeysetError
from ..safetensors import safe_open
from ._keys import ModelKeys, keys_of
from ._places import place_of

MANIFEST = "warpaes-model.json"
FORMAT = "warpaes model 1"
WEIGHTS = ".safetensors"
INDEX = ".safetensors.index.json"
MOST_MANIFEST = 16 << 20
MOST_HEADER = 100_000_000


def header_of(path: str) -> bytes:
    """Return the header of a safetensors file, preceded by its length. The header contains the tags of all tensors."""
    with open(path, "rb") as file:
        start = file.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        if not 0 < length <= MOST_HEADER:
            raise FormatError(f"{path} is not a safetensors file")
        header = start + file.read(length)
    if len(header) != 8 + length:
        raise FormatError(f"{path} ends inside its header")
    return header


def sealed_manifest(keys: ModelKeys, files: dict[str, dict[str, Any]]) -> bytes:
    """Return the text of a manifest with its authentication code."""
    about = {"format": FORMAT, "key_id": keys.key_id, "model": os.urandom(16).hex(), "files": files}
    text = json.dumps(about, indent=1, ensure_ascii=False).replace("\n", " ").encode()
    return text + b"\n" + _code(keys, text)


def _code(keys: ModelKeys, text: bytes) -> bytes:
    return json.dumps({"hmac_sha256": hmac.new(keys.mac, text, "sha256").hexdigest()}).encode() + b"\n"


class Folder:
    """An encrypted model folder with an authentic manifest and the unencrypted files that the manifest lists.

    A shard is compared with the manifest when it is opened.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        keys: Keyset | str,
        storage_options: dict[str, Any] | None = None,
        reader: str = "threads",
    ) -> None:
        """Read the manifest, and check the names of all files and the content of the unencrypted files.

        Args:
            folder: The path, or a URL that fsspec opens, such as ``s3://bucket/model``.
            keys: A Keyset, or a location that ``Keyset.load`` accepts.
            storage_options: Options for the URL's file system.
            reader: How the ciphertext of the shards is read for a GPU; see ``safetensors.safe_open``.

        Raises:
            FileNotFoundError: The manifest is missing, so the folder is not an encrypted model.
            InvalidTag: The manifest or an unencrypted file was altered or replaced.
            FormatError: A file is missing, added or renamed, or the manifest is damaged.
            KeysetError: No key of the keyset belongs to the manifest.
            OSError: A file cannot be read.
        """
        self._place = place_of(folder, storage_options, reader)
        self.path = self._place.path
        place = self._place.shown(MANIFEST)
        data = self._place.read(MANIFEST, MOST_MANIFEST + 1)
        text, _, code = data.partition(b"\n")
        try:
            about = json.loads(text)
            self.files: dict[str, dict[str, Any]] = about["files"]
            key_id, found = about["key_id"], about["format"]
            if len(data) > MOST_MANIFEST or not isinstance(self.files, dict) or type(key_id) is not int:
                raise ValueError
        except (KeyError, TypeError, ValueError, RecursionError):
            raise FormatError(f"{place} is not the manifest of a model; restore the manifest") from None
        if found != FORMAT:
            raise FormatError(
                f"{place} has the unsupported version {found!r:.40}; use the warpaes version that wrote it"
            )
        every = keys_of(keys)
        if key_id not in every:
            raise KeysetError(f"{place}: the keyset has no enabled key {key_id!r:.20}, which encrypted this model")
        self.keys = every[key_id]
        if not hmac.compare_digest(_code(self.keys, text), code):
            raise InvalidTag(f"{place} is not authentic: it was altered, or the key is wrong")
        self.identity = hashlib.sha256(text).hexdigest()  #: identifies this version of the model
        self.check_clear()

    def _check_names(self) -> None:
        there = set(self._place.names()) - {MANIFEST}
        for name in sorted(there ^ set(self.files)):
            what = "was added, because the manifest does not contain it" if name in there else "is missing"
            raise FormatError(f"{self._place.shown(name)} {what}")

    def check_clear(self) -> None:
        """Compare the names of all files, and the content of the unencrypted files, with the manifest.

        Raises:
            FormatError: A file is missing or was added.
            InvalidTag: An unencrypted file was altered or replaced.
        """
        self._check_names()
        for name, about in self.files.items():
            if not about["encrypted"] and self._place.sha256(name) != about["sha256"]:
                raise InvalidTag(f"{self._place.shown(name)} was altered: it differs from the file in the manifest")

    @property
    def shards(self) -> list[str]:
        """The names of the encrypted files."""
        return [name for name, about in self.files.items() if about["encrypted"]]

    def open(self, name: str, framework: str = "torch", device: Any = "cpu") -> safe_open:
        """Open an encrypted file in the folder, as ``warpaes.safetensors.safe_open`` does.

        Raises:
            FormatError: The manifest does not contain an encrypted file with this name.
            InvalidTag: The file differs from the file in the manifest.
        """
        path, about = self._place.shown(name), self.files.get(name)
        if about is None or not about["encrypted"]:
            raise FormatError(f"{path} is not an encrypted file of the model")
        file = self._place.open(name)
        try:
            if file.size != about["bytes"]:
                raise FormatError(f"{path} has {file.size} bytes, but {about['bytes']} according to the manifest")
            enc, sign = self.keys.enc, self.keys.sign
            return safe_open(file, framework, device, enc_key=enc, sign_key=sign, _header_sha256=about["sha256"])
        except BaseException:
            file.close()
            raise

    def check_shards(self) -> None:
        """Compare the headers of all encrypted files with the manifest. Raises the same exceptions as ``open``."""
        for name in self.shards:
            self.open(name, "numpy").close()


def verify(folder: str | os.PathLike[str], keys: Keyset | str, storage_options: dict[str, Any] | None = None) -> int:
    """Authenticate every byte of an encrypted model folder, and return the number of tensors.

    Args:
        folder: The path, or a URL that fsspec opens.
        keys: A Keyset, or a location that ``Keyset.load`` accepts.
        storage_options: Options for the URL's file system.

    Raises:
        InvalidTag, FormatError, KeysetError, OSError: For the same reasons as ``Folder`` and ``Folder.open``.
    """
    there, count = Folder(folder, keys, storage_options), 0
    for name in there.shards:
        with there.open(name, "numpy") as file:
            for tensor in file._file.entries:
                authenticate(file._file, tensor)
                count += 1
    return count


def inspect(folder: str | os.PathLike[str], storage_options: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the content of a folder's manifest without a key. Nothing is authenticated.

    Args:
        folder: The path, or a URL that fsspec opens.
        storage_options: Options for the URL's file system.

    Raises:
        FileNotFoundError: The manifest is missing.
        FormatError: The file is not a manifest.
    """
    text = place_of(folder, storage_options).read(MANIFEST, MOST_MANIFEST).partition(b"\n")[0]
    try:
        about = json.loads(text)
        files, key_id = about["files"], about["key_id"]
        types = {(type(each["bytes"]), type(each["encrypted"])) for each in files.values()}
        if type(key_id) is not int or types - {(int, bool)}:
            raise ValueError
        return {
            "format": about["format"],
            "key_id": key_id,
            "encrypted": {name: each["bytes"] for name, each in files.items() if each["encrypted"]},
            "in_clear": {name: each["bytes"] for name, each in files.items() if not each["encrypted"]},
        }
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise FormatError(f"{os.fspath(folder)}/{MANIFEST} is not the manifest of a model") from None
