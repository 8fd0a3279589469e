"""Encrypted LMCache KV caches: the serde ``warpaes`` for LMCache's storage tiers.

LMCache's serde ``aesgcm`` encrypts objects before they leave the machine. The serde ``warpaes`` encrypts directly into
LMCache's buffers, and writes the same frame, or a frame that binds the object's key. Importing this module registers
the serde:

    {"type": "fs", "base_path": "/cache", "serde": {"type": "warpaes", "keyset": "/etc/kv.json"}}

``python -m warpaes.lmcache MODULE ARGUMENTS`` registers the serde and runs a module of LMCache. It also adds
``encrypted`` to the backends of LMCache's GDS L1. This backend encrypts on the GPU. docs/kv-caches.md describes both.
"""

from __future__ import annotations

import contextlib
import math
import os
import pathlib
from typing import Any

from lmcache.v1.distributed.serde.async_processor import AsyncSerdeProcessor
from lmcache.v1.distributed.serde.base import Deserializer, Serializer
from lmcache.v1.distributed.serde.factory import get_registered_serde_types, register_serde_factory

from .._key_files import read_file
from .._keyset_places import as_keyset
from .._kv_frames import Frames, ObjectName
from .._native import Keyset

__all__ = ["WarpaesDeserializer", "WarpaesSerializer", "create_serde"]


def _name(key: Any) -> ObjectName:
    return ObjectName(key.chunk_hash, key.model_name, key.kv_rank, key.object_group_id, key.cache_salt)


class WarpaesSerializer(Serializer):  # type: ignore[misc]  # LMCache has no types
    """Encrypts KV data in LMCache's threads."""

    def __init__(self, frames: Frames) -> None:
        """Store the frames, which determine the version and the keys."""
        self._frames = frames

    def serialize(self, src: Any, dst: Any, key: Any) -> int:
        """Encrypt ``src`` into ``dst``, and return the number of bytes written."""
        return self._frames.seal(src.byte_array, dst.byte_array, _name(key))

    def estimate_serialized_size(self, layout_desc: Any) -> int:
        """Return the exact size of a frame for KV data with a given layout."""
        sizes = zip(layout_desc.shapes, layout_desc.dtypes, strict=True)
        plain: int = sum(math.prod(map(int, shape)) * dtype.itemsize for shape, dtype in sizes)
        return plain + self._frames.overhead


class WarpaesDeserializer(Deserializer):  # type: ignore[misc]
    """Decrypts the output of ``WarpaesSerializer``. LMCache treats any exception as a cache miss."""

    def __init__(self, frames: Frames) -> None:
        """Store the frames, which determine the version and the keys."""
        self._frames = frames

    def deserialize(self, src: Any, dst: Any, key: Any) -> None:
        """Decrypt the frame in ``src`` into ``dst``, which is wiped if the frame is not authentic.

        Raises:
            FormatError: ``src`` does not contain a frame of this version, or the frame's key is unknown.
            InvalidTag: The frame is not authentic, or belongs to another object or tenant.
        """
        self._frames.open(src.byte_array, dst.byte_array, _name(key))


def create_serde(options: dict[str, Any]) -> AsyncSerdeProcessor:
    """Create the serde that an adapter's configuration describes.

    Args:
        options: Either ``keyset``, the place of a keyset, for frames that bind the object's key; or ``master_key_path``
            and ``aes_bits`` (128 or 256), for LMCache's own frame and keys, and ``key_provider``, which must be
            ``hkdf``. ``max_workers`` is the number of threads; the default is one for each core, at most 4.

    Raises:
        ValueError: An option is unknown or missing, or two options contradict each other.
        OSError: The key cannot be read.
    """
    unknown = options.keys() - {"keyset", "master_key_path", "aes_bits", "max_workers", "key_provider"}
    if unknown:
        raise ValueError(f"warpaes serde: the option {sorted(unknown)[0]} is unknown")
    keyset, path = options.get("keyset"), options.get("master_key_path")
    if (keyset is None) == (path is None):
        raise ValueError("warpaes serde: requires keyset, or master_key_path for LMCache's own frame")
    workers = options.get("max_workers", min(4, len(os.sched_getaffinity(0))))
    if type(workers) is not int or workers < 1:
        raise ValueError("warpaes serde: max_workers must be a positive integer")
    if keyset is not None:
        for name in ("aes_bits", "key_provider"):
            if name in options:
                raise ValueError(
                    f"warpaes serde: {name} applies only to master_key_path; omit it, because frames of a keyset "
                    "use 256-bit keys"
                )
        if not isinstance(keyset, (str, Keyset)):
            raise ValueError("warpaes serde: keyset must be the place of a keyset")
        frames = Frames.of_keyset(as_keyset(keyset))
    else:
        if options.get("key_provider", "hkdf") != "hkdf":
            raise ValueError("warpaes serde: key_provider must be hkdf")
        if not isinstance(path, (str, os.PathLike)):
            raise ValueError("warpaes serde: master_key_path must be a path")
        bits = options.get("aes_bits", 128)
        if bits not in (128, 256):
            raise ValueError("warpaes serde: aes_bits must be 128 or 256")
        frames = Frames(1, [(0, read_file(os.fspath(path)))], bits // 8)
    return AsyncSerdeProcessor(WarpaesSerializer(frames), WarpaesDeserializer(frames), max_workers=workers)


if "warpaes" not in get_registered_serde_types():
    register_serde_factory("warpaes", create_serde)

with contextlib.suppress(ImportError):  # an LMCache without GDS backends, or without their packages
    from lmcache.v1.gpu_connector import gds_backends

    _folder = str(pathlib.Path(__file__).with_name("gds_backends"))
    if _folder not in gds_backends.__path__:
        gds_backends.__path__.append(_folder)
