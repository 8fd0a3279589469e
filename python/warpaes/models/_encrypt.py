"""Encryption of a model folder."""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import shutil
import tempfile
from collections.abc import Collection
from typing import Any

from .._native import Keyset
from .._output import Output
from ..exceptions import FormatError
from ..safetensors import Stored, save_file
from ._folder import INDEX, MANIFEST, WEIGHTS, header_of, sealed_manifest
from ._keys import ModelKeys, keys_of
from ._places import LocalPlace, files_of

#: The lower-case suffixes of files that contain no weights and are copied unencrypted.
IN_CLEAR = (
    ".jinja", ".jpeg", ".jpg", ".json", ".jsonl", ".md", ".model", ".png", ".py", ".spm", ".svg", ".tiktoken", ".txt",
    ".vocab", ".webp", ".yaml", ".yml", "copying", "license", "notice", "readme", "use_policy",
)  # fmt: skip
_PIECE = 1 << 20


def encrypt(
    source: str | os.PathLike[str], target: str | os.PathLike[str], keys: Keyset | str, *, clear: Collection[str] = ()
) -> dict[str, int]:
    """Encrypt the weights of a model folder into a new folder, which appears only when it is complete.

    Every ``*.safetensors`` becomes an encrypted file with the same name, which readers without the key refuse.
    Configurations, tokenizers, programs, texts and pictures are copied unencrypted, and the manifest authenticates
    their content. Any other file is refused, because it may contain weights. Subfolders are kept, and a hub client's
    own files are skipped.

    Args:
        source: The unencrypted folder. It must not change during the call.
        target: The new folder, which must not exist.
        keys: A Keyset, or a location that ``Keyset.load`` accepts. Its primary key encrypts.
        clear: The names of other files to copy unencrypted, with slashes.

    Returns:
        The size in bytes of each unencrypted file in the target, by name.

    Raises:
        FileExistsError: The target exists.
        FormatError: The folder contains no ``*.safetensors``, is an encrypted model, or contains a file that may have
            weights in another format, a link to a file outside the model, or an index that does not match its shards.
        OSError: A file cannot be read or written.
    """
    source, target = os.path.abspath(source), os.path.abspath(target)
    # A snapshot in Hugging Face's cache consists of links to blobs.
    names = list(files_of(source, follow=True))
    _check(source, names, clear)
    if os.path.lexists(target):
        raise FileExistsError(f"{target} exists; name a new folder")
    made = next(iter(keys_of(keys).values()))
    partial = tempfile.mkdtemp(prefix=f".{os.path.basename(target)}.", dir=os.path.dirname(target))
    try:
        files = {name: _write(os.path.join(source, name), os.path.join(partial, name), made) for name in names}
        with Output(os.path.join(partial, MANIFEST), replace=False) as output:
            output.write(sealed_manifest(made, files))
        os.chmod(partial, 0o700)
        os.rename(partial, target)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return {name: about["bytes"] for name, about in files.items() if not about["encrypted"]}


def _places(source: str) -> list[str]:
    """Return the folders that a model's links may point to: the model itself, and the blobs of the cache that contains
    the model."""
    found, folder = [os.path.realpath(source)], source
    while (parent := os.path.dirname(folder)) != folder:
        if os.path.basename(parent) == "snapshots":
            found.append(os.path.realpath(os.path.join(os.path.dirname(parent), "blobs")))
        folder = parent
    return found


def _check_link(path: str, places: list[str]) -> None:
    """Refuse a link to a file outside the model, such as a key, because the file would be copied unencrypted."""
    real = os.path.realpath(path)
    if not any(os.path.commonpath([place, real]) == place for place in places):
        raise FormatError(
            f"{path} is a link to a file outside the model, which would be copied unencrypted; "
            f"replace the link with the file, or name it with --in-clear"
        )


def _check(source: str, names: list[str], clear: Collection[str]) -> None:
    places = _places(source)
    if MANIFEST in names:
        raise FormatError(f"{source} is already an encrypted model")
    weights = [name for name in names if name.endswith(WEIGHTS)]
    if not weights:
        raise FormatError(f"{source} has no *{WEIGHTS}; convert its weights first, for example with save_pretrained")
    for name in names:
        if not name.endswith(WEIGHTS) and not name.lower().endswith(IN_CLEAR) and name not in clear:
            raise FormatError(
                f"{os.path.join(source, name)} may contain weights and would be copied unencrypted; convert "
                f"it to *{WEIGHTS}, remove it, or name it with --in-clear"
            )
        if not name.endswith(WEIGHTS) and name not in clear:
            _check_link(os.path.join(source, name), places)
        if name.endswith(INDEX):
            _check_index(source, name, weights)


def _check_index(source: str, name: str, weights: list[str]) -> None:
    """Check that an index and the shards that it names contain the same tensors."""
    path = os.path.join(source, name)
    folder = name.rpartition("/")[0]
    try:
        with open(path, "rb") as file:
            found = json.load(file)["weight_map"]
        wanted: dict[str, set[str]] = {}
        for tensor, shard in found.items():
            wanted.setdefault(f"{folder}/{shard}" if folder else shard, set()).add(tensor)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise FormatError(f"{path} is not an index of shards") from None
    for shard, tensors in wanted.items():
        if shard not in weights:
            raise FormatError(f"{path} names {shard}, which is missing")
        there = set(_entries(os.path.join(source, shard))[0])
        if there != tensors:
            other = sorted(there ^ tensors)[0]
            raise FormatError(f"{path}: the tensor {other!r:.80} must be in both the index and {shard}")


def _entries(path: str) -> tuple[dict[str, Any], dict[str, str], int]:
    """Return an unencrypted file's tensors, its metadata, and the offset of the data."""
    header = header_of(path)
    try:
        entries = json.loads(header[8:])
        metadata = entries.pop("__metadata__", {})
        size = os.path.getsize(path) - len(header)
        for entry in entries.values():
            first, end = entry["data_offsets"]
            if not 0 <= first <= end <= size or not isinstance(entry["dtype"], str):
                raise ValueError
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise FormatError(f"{path} is not a safetensors file") from None
    if any(name.startswith("__") for name in metadata):
        raise FormatError(f"{path} is already encrypted")
    return entries, metadata, len(header)


def _write(source: str, target: str, keys: ModelKeys) -> dict[str, Any]:
    """Write a file and return its entry in the manifest."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    encrypted = source.endswith(WEIGHTS)
    if encrypted:
        entries, metadata, begin = _entries(source)
        with open(source, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            whole = memoryview(content)
            try:
                tensors: dict[str, Any] = {}
                for name, entry in entries.items():
                    first, end = entry["data_offsets"]
                    data = whole[begin + first : begin + end]
                    tensors[name] = Stored(name, entry["dtype"], entry["shape"], data)
                save_file(tensors, target, metadata, enc_key=keys.enc, sign_key=keys.sign, guard="header")
                for tensor in tensors.values():
                    tensor.data.release()
            finally:
                del tensors
                whole.release()
    else:
        with open(source, "rb") as file, Output(target, replace=False) as output:
            while piece := file.read(_PIECE):
                output.write(piece)
        shutil.copymode(source, target)
    # For an encrypted file, only the header is hashed, because the header authenticates the rest of the file.
    digest = hashlib.sha256(header_of(target)).hexdigest() if encrypted else LocalPlace("").sha256(target)
    return {"bytes": os.path.getsize(target), "sha256": digest, "encrypted": encrypted}
