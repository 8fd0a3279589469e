"""Sources of keys for encrypted Parquet files."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, Union

from ..aead import AESGCM
from ..exceptions import FormatError, InvalidTag

#: A function that returns the key for given key metadata, or None.
KeyFunction = Callable[[bytes], "bytes | None"]


class KeyRing(Protocol):
    """Finds keys. A method returns None for a missing key, so that other columns stay readable."""

    def footer(self, metadata: bytes) -> bytes | None:
        """Return the footer key for its key metadata, which may be empty."""

    def column(self, path: str, metadata: bytes) -> bytes | None:
        """Return a column's own key for its dotted path and its key metadata, which may be empty."""


@dataclass(frozen=True)
class Keys:
    """The footer key, and the keys of columns that have their own keys.

    Args:
        footer_key: The footer key, 16, 24 or 32 bytes, or None if it is unknown.
        columns: The keys of columns that have their own keys, by dotted path (``"a.list.element"``).
    """

    footer_key: bytes | None = field(repr=False)
    columns: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    def footer(self, metadata: bytes) -> bytes | None:
        """Return the footer key."""
        return self.footer_key

    def column(self, path: str, metadata: bytes) -> bytes | None:
        """Return the key of a column, or of the nearest group that contains it."""
        while path not in self.columns:
            path, dot, _ = path.rpartition(".")
            if not dot:
                return None
        return self.columns[path]


@dataclass(frozen=True)
class MetadataKeys:
    """Keys from a function of the key metadata in the file."""

    function: KeyFunction

    def footer(self, metadata: bytes) -> bytes | None:
        """Return the footer key."""
        return self.function(metadata)

    def column(self, path: str, metadata: bytes) -> bytes | None:
        """Return a column's key."""
        return self.function(metadata)


class KmsClient(Protocol):
    """Unwraps keys that a KMS has wrapped. pyarrow's ``KmsClient`` has the same method."""

    def unwrap_key(self, wrapped_key: bytes, master_key_identifier: str) -> bytes:
        """Unwrap a key with a master key."""


class SourceKms:
    """A KMS client that uses a key source of ``warpaes.keysources`` for each master key.

    Wrapped keys are in base64, as pyarrow and parquet-mr store them.
    """

    def __init__(self, sources: Mapping[str, Any]) -> None:
        """Store the sources, by master key identifier."""
        self._sources = dict(sources)

    def _source(self, identifier: str) -> Any:
        try:
            return self._sources[identifier]
        except KeyError:
            raise KeyError(f"no key source for the master key '{identifier}'") from None

    def wrap_key(self, key_bytes: bytes, master_key_identifier: str) -> bytes:
        """Wrap a key under a master key."""
        return base64.b64encode(self._source(master_key_identifier).wrap(bytes(key_bytes)))

    def unwrap_key(self, wrapped_key: bytes, master_key_identifier: str) -> bytes:
        """Unwrap a key with a master key."""
        wrapped = wrapped_key if isinstance(wrapped_key, bytes) else str(wrapped_key).encode()
        return bytes(self._source(master_key_identifier).unwrap(base64.b64decode(wrapped, validate=True)))


def _text(material: dict[str, Any], name: str) -> str:
    value = material.get(name)
    if not isinstance(value, str):
        raise FormatError(f"key material: '{name}' is missing or is not a string")
    try:
        value.encode()
    except UnicodeEncodeError:  # JSON can contain half of a surrogate pair
        raise FormatError(f"key material: '{name}' cannot be encoded as UTF-8") from None
    return value


def _json(text: bytes, what: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise FormatError(f"{what} is not JSON; it may be key metadata of a different kind") from None
    if not isinstance(value, dict):
        raise FormatError(f"{what} is not a JSON object")
    return value


class KeyMaterial:
    """Keys from pyarrow's and parquet-mr's key material: wrapped keys in JSON, in or next to the file.

    The KMS client unwraps each wrapped key only once.
    """

    def __init__(self, kms: KmsClient, external: bytes | None = None) -> None:
        """Store a KMS client.

        Args:
            kms: The client that unwraps keys: a ``SourceKms``, or any pyarrow ``KmsClient``.
            external: The content of the file ``_KEY_MATERIAL_FOR_….json``, if the key material is not in the Parquet
                file.
        """
        self._kms = kms
        self._external = _json(external, "external key material") if external is not None else {}
        self._unwrapped: dict[tuple[str, str], bytes] = {}

    def _unwrap(self, wrapped: str, master: str) -> bytes:
        found = self._unwrapped.get((wrapped, master))
        if found is None:
            found = self._unwrapped[wrapped, master] = bytes(self._kms.unwrap_key(wrapped.encode(), master))
        return found

    def _key(self, metadata: bytes) -> bytes | None:
        material = _json(metadata, "key metadata")
        if _text(material, "keyMaterialType") != "PKMT1":
            raise FormatError("key material: 'keyMaterialType' must be PKMT1")
        if material.get("internalStorage") is False:
            name = _text(material, "keyReference")
            if name not in self._external:
                raise KeyError(
                    f"the key '{name}' is in external key material; pass the content of the JSON file as external="
                )
            material = _json(str(self._external[name]).encode(), f"external key material '{name}'")
        wrapped, master = _text(material, "wrappedDEK"), _text(material, "masterKeyID")
        if not material.get("doubleWrapping", False):
            return self._unwrap(wrapped, master)
        kek_id = _decode(_text(material, "keyEncryptionKeyID"), "keyEncryptionKeyID")
        kek = self._unwrap(_text(material, "wrappedKEK"), master)
        sealed = _decode(wrapped, "wrappedDEK")
        try:
            return AESGCM(kek).decrypt(sealed[:12], sealed[12:], kek_id)
        except (InvalidTag, ValueError):
            raise InvalidTag("key material: the wrapped data key is not authentic") from None

    def footer(self, metadata: bytes) -> bytes | None:
        """Return the footer key."""
        return self._key(metadata)

    def column(self, path: str, metadata: bytes) -> bytes | None:
        """Return a column's key."""
        return self._key(metadata)


def _decode(text: str, name: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise FormatError(f"key material: '{name}' is not base64") from None


@dataclass(frozen=True)
class IcebergKeyMetadata:
    """Iceberg's StandardKeyMetadata: a file's key, its AAD prefix and, if recorded, its length."""

    encryption_key: bytes = field(repr=False)
    aad_prefix: bytes = b""
    file_length: int | None = None

    @classmethod
    def parse(cls, data: bytes) -> IcebergKeyMetadata:
        """Parse the key metadata in a manifest entry: a version byte of 1, followed by Avro's binary encoding.

        Raises:
            FormatError: The version is not supported, or the metadata is damaged.
        """
        if data[:1] != b"\x01":
            raise FormatError("Iceberg key metadata: only version 1 is supported")
        avro = _Avro(data, 1)
        key = avro.bytes()
        prefix = avro.bytes() if avro.union() else b""
        length = avro.long() if avro.at < len(data) and avro.union() else None
        if avro.at != len(data) or len(key) not in (16, 24, 32) or (length is not None and length < 0):
            raise FormatError("Iceberg key metadata is damaged")
        return cls(key, prefix, length)

    def to_bytes(self) -> bytes:
        """Return the encoded key metadata."""
        out = b"\x01" + _avro_bytes(self.encryption_key)
        out += _avro_long(1) + _avro_bytes(self.aad_prefix) if self.aad_prefix else _avro_long(0)
        return out + (_avro_long(0) if self.file_length is None else _avro_long(1) + _avro_long(self.file_length))

    def footer(self, metadata: bytes) -> bytes | None:
        """Return the file's key."""
        return self.encryption_key

    def column(self, path: str, metadata: bytes) -> bytes | None:
        """Return None, because Iceberg files have a single key."""
        return None


class _Avro:
    def __init__(self, data: bytes, at: int) -> None:
        self._data, self.at = data, at

    def long(self) -> int:
        value = shift = 0
        while True:
            if self.at >= len(self._data) or shift > 63:
                raise FormatError("Iceberg key metadata is damaged")
            byte = self._data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)

    def bytes(self) -> bytes:
        length = self.long()
        if not 0 <= length <= len(self._data) - self.at:
            raise FormatError("Iceberg key metadata is damaged")
        self.at += length
        return self._data[self.at - length : self.at]

    def union(self) -> bool:
        branch = self.long()
        if branch not in (0, 1):
            raise FormatError("Iceberg key metadata is damaged")
        return branch == 1


def _avro_long(value: int) -> bytes:
    value = (value << 1 ^ value >> 63) & (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _avro_bytes(value: bytes) -> bytes:
    return _avro_long(len(value)) + value


KeysLike = Union[bytes, KeyFunction, KeyRing]


def key_ring(keys: KeysLike) -> KeyRing:
    """Return a key ring for an argument ``keys``: a key, a function of the key metadata, or a key ring.

    Raises:
        TypeError: The argument has the wrong type.
    """
    if isinstance(keys, (bytes, bytearray, memoryview)):
        return Keys(bytes(keys))
    if hasattr(keys, "footer") and hasattr(keys, "column"):
        return keys
    if callable(keys):
        return MetadataKeys(keys)
    raise TypeError("keys: must be a key of 16, 24 or 32 bytes, a function of the key metadata, Keys or KeyMaterial")


def checked_key(key: bytes | None, what: str) -> bytes | None:
    """Check a key from a key ring and return it.

    Raises:
        ValueError: The key does not have the length of an AES key.
    """
    if key is not None and len(key) not in (16, 24, 32):
        raise ValueError(f"keys: the key of {what} has {len(key)} bytes, but AES keys have 16, 24 or 32 bytes")
    return key
