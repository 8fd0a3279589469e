"""Frames of encrypted KV caches: LMCache's frame, and a frame that binds the object's key. Does not import LMCache.

    1: version (1) | IV (12) | ciphertext | tag (16)                LMCache's serde `aesgcm`
    2: version (1) | key id (4) | IV (12) | ciphertext | tag (16)   the object's key is associated data

Each tenant has a key that HKDF-SHA-256 derives. IVs are random, so a tenant's key encrypts at most 2^32 objects.
"""

from __future__ import annotations

import base64
import json
import os
import struct
from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from ._fork_lock import ForkLock
from ._native import Keyset
from .aead import AESGCM
from .exceptions import Error, FormatError

IV_BYTES, TAG_BYTES = 12, 16
#: Number of bytes before the ciphertext, by version.
HEADERS = {1: 1 + IV_BYTES, 2: 1 + 4 + IV_BYTES}
#: Maximum number of objects under one tenant's key (NIST SP 800-38D, 8.3, for random 96-bit IVs).
MOST_OBJECTS = 1 << 32
#: Maximum number of expanded tenant keys that are kept. The number is limited, because clients choose the tenants.
MOST_TENANTS = 4096
_INFO = {1: b"lmcache-l2-aesgcm-v1", 2: b"warpaes kv 2 "}
_LABEL = b"warpaes kv 2 "
_length, _numbers = struct.Struct(">Q").pack, struct.Struct(">qq").pack


class ObjectName(NamedTuple):
    """The parts of an object's key, which version 2 of the frame authenticates."""

    chunk_hash: bytes
    model_name: str
    kv_rank: int
    object_group_id: int
    cache_salt: str  #: the tenant

    def associated_data(self) -> bytes:
        """Return bytes that identify the object's key uniquely.

        Raises:
            ValueError: A part has the wrong type, cannot be encoded as UTF-8, or is a number of more than 64 bits.
        """
        if not isinstance(self.chunk_hash, bytes):
            raise ValueError("name: chunk_hash must be bytes")
        try:
            rest = _after_hash(*self[1:])
        except TypeError:
            raise ValueError("name: a part has the wrong type") from None
        return _LABEL + _length(len(self.chunk_hash)) + self.chunk_hash + rest


@lru_cache(1024, typed=True)
def _after_hash(model_name: str, kv_rank: int, object_group_id: int, cache_salt: str) -> bytes:
    """Return the part of the associated data that consecutive blocks share."""
    model, tenant = _text("model_name", model_name), _text("cache_salt", cache_salt)
    try:
        numbers = _numbers(kv_rank, object_group_id)
    except struct.error:
        raise ValueError("name: kv_rank and object_group_id must be 64-bit integers") from None
    return b"".join((_length(len(model)), model, _length(len(tenant)), tenant, numbers))


def _text(name: str, value: str) -> bytes:
    try:
        return value.encode()
    except (AttributeError, UnicodeEncodeError):
        raise ValueError(f"name: {name} must be a string that UTF-8 can encode") from None


class _TenantKey:
    def __init__(self, key: bytes, count: int) -> None:
        self.cipher, self.count = AESGCM(key), count


class Frames:
    """Encrypts and decrypts objects from buffer to buffer. Any number of threads and forked processes may use an
    instance.

    An instance counts its own encryptions. The counts of all instances and processes with the same keyset must be
    added. If a tenant's key is discarded and used again, its count continues from the highest count of any discarded
    key, so it is never too low.
    """

    def __init__(self, version: int, secrets: Sequence[tuple[int, bytes]], key_bytes: int = 32) -> None:
        """Store the version and the secrets.

        Args:
            version: 1 or 2.
            secrets: The secrets that tenant keys are derived from, and their IDs. The first secret encrypts.
            key_bytes: The length of tenant keys in bytes, 16 or 32.

        Raises:
            ValueError: ``version`` or ``key_bytes`` has an unsupported value, or ``secrets`` contains no secret or an
                empty secret.
        """
        if version not in HEADERS:
            raise ValueError(f"version must be 1 or 2, not {version}")
        if key_bytes not in (16, 32):
            raise ValueError(f"key_bytes must be 16 or 32, not {key_bytes}")
        if not secrets or not all(secret for _, secret in secrets):
            raise ValueError("secrets: must contain at least one secret, and no secret may be empty")
        self.version, self._header = version, HEADERS[version]
        self.primary, self._secrets, self._key_bytes = secrets[0][0], dict(secrets), key_bytes
        self._lock = ForkLock()
        self._keys: OrderedDict[tuple[int, str], _TenantKey] = OrderedDict()  # the most recently used key is last
        self._forgotten = dict.fromkeys(self._secrets, 0)  # the highest count of a discarded key

    @staticmethod
    def of_keyset(keyset: Keyset) -> Frames:
        """Return an instance for version 2 with a keyset's enabled keys. The primary key encrypts."""
        found = json.loads(keyset.to_json())
        enabled = [key for key in found["key"] if key["status"] == "ENABLED"]
        enabled.sort(key=lambda key: bool(key["keyId"] != found["primaryKeyId"]))
        return Frames(
            2,
            [
                (key["keyId"], key["keyData"]["typeUrl"].encode() + b"\0" + base64.b64decode(key["keyData"]["value"]))
                for key in enabled
            ],
        )

    @property
    def overhead(self) -> int:
        """The number of bytes that a frame adds to its plaintext."""
        return self._header + TAG_BYTES

    def has_key(self, number: int) -> bool:
        """Return whether the keyset has an enabled key with this ID."""
        return number in self._secrets

    def check_key_id(self, number: int) -> None:
        """Raise FormatError unless the keyset has an enabled key with this ID."""
        if not self.has_key(number):
            raise FormatError(f"the frame was encrypted under the key {number}, which is not in the keyset")

    def cipher(self, number: int, tenant: str, encryptions: int = 0) -> AESGCM:
        """Return a tenant's cipher, and add ``encryptions`` to the count of its encryptions."""
        return self.ciphers([(number, tenant)], encryptions)[0]

    def ciphers(self, keys: Sequence[tuple[int, str]], encryptions: int = 0) -> list[AESGCM]:
        """Return the ciphers of key IDs and tenants, and add ``encryptions`` to each count as often as it occurs."""
        counts: dict[tuple[int, str], int] = {}
        for key in keys:
            counts[key] = counts.get(key, 0) + encryptions
        with self._lock:
            found = {key: self._cipher(key, count) for key, count in counts.items()}
        return [found[key] for key in keys]

    def _cipher(self, number_and_tenant: tuple[int, str], encryptions: int) -> AESGCM:
        key = self._keys.get(number_and_tenant)
        if key is None:
            number, tenant = number_and_tenant
            info = _INFO[self.version] + _text("cache_salt", tenant)
            derived = HKDF(hashes.SHA256(), self._key_bytes, None, info).derive(self._secrets[number])
            while len(self._keys) >= MOST_TENANTS:
                (other, _), oldest = next(iter(self._keys.items()))
                self._forgotten[other] = max(self._forgotten[other], oldest.count)
                self._keys.popitem(last=False)
            key = self._keys[number_and_tenant] = _TenantKey(derived, self._forgotten[number])
        self._keys.move_to_end(number_and_tenant)
        if key.count + encryptions > MOST_OBJECTS:
            raise Error("a tenant's key has encrypted 2^32 objects, the limit for random IVs; rotate the keyset")
        key.count += encryptions
        return key.cipher

    def seal(self, plain: Any, frame: Any, name: ObjectName) -> int:
        """Encrypt a buffer into a frame, and return the number of bytes written.

        Raises:
            ValueError: ``frame`` is too short, or ``name`` is not a valid object key.
            Error: The tenant's key has reached the limit of encryptions.
        """
        source, target = memoryview(plain).cast("B"), memoryview(frame).cast("B")
        size = len(source) + self.overhead
        if len(target) < size:
            raise ValueError(f"frame: has {len(target)} bytes, but the encrypted object requires {size}")
        bound = self._bound(name)
        cipher = self.cipher(self.primary, name.cache_salt, encryptions=1)
        iv = os.urandom(IV_BYTES)
        target[0] = self.version
        if self.version == 2:
            target[1:5] = struct.pack(">I", self.primary)
        target[self._header - IV_BYTES : self._header] = iv
        cipher.encrypt_into(iv, source, bound, target[self._header : size])
        return size

    def open(self, frame: Any, plain: Any, name: ObjectName) -> None:
        """Decrypt a frame into a buffer of the plaintext's length. Other bytes may follow the frame.

        Raises:
            FormatError: The input is not a frame of this version, or its key is unknown. ``plain`` is wiped.
            InvalidTag: The frame is not authentic, or belongs to another object. ``plain`` is wiped.
        """
        source, target = memoryview(frame).cast("B"), memoryview(plain).cast("B")
        size, bound = len(target) + self.overhead, self._bound(name)
        if len(source) < size or source[0] != self.version:
            target[:] = bytes(len(target))
            raise FormatError(f"not a frame of version {self.version} with {len(target)} bytes of plaintext")
        number = struct.unpack(">I", source[1:5])[0] if self.version == 2 else self.primary
        try:
            self.check_key_id(number)
        except FormatError:
            target[:] = bytes(len(target))
            raise
        iv = bytes(source[self._header - IV_BYTES : self._header])
        cipher = self.cipher(number, name.cache_salt)
        cipher.decrypt_into(iv, source[self._header : size], bound, target)

    def _bound(self, name: ObjectName) -> bytes | None:
        return name.associated_data() if self.version == 2 else None
