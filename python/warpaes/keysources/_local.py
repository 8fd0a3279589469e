"""Key-encryption keys that are read into this process from a file or from a program's output."""

from __future__ import annotations

import base64
import codecs
import io
import json
import re
import secrets
from collections.abc import Callable
from typing import Any

from .. import aead
from .._fork_lock import ForkLock
from .._key_files import read_file
from .._native import Keyset, Reader, Writer
from ..exceptions import FormatError, InvalidTag, InvalidUnwrap, KeysetError
from ._program import program_name, run_program
from ._source import KeySource, UnavailableError, WrapCount, check_length
from ._tink import PREFIXES, STATES, decode_base64, fields, parse_object

AEAD_URL = "type.googleapis.com/google.crypto.tink.AesGcmKey"
NONCE_BYTES, TAG_BYTES = 12, 16


def generate_kek() -> bytes:
    """Return a new key-encryption key: a keyset in Tink's JSON format with one key of Tink's AEAD template
    ``AES256_GCM``."""
    key_id = secrets.randbelow(2**32 - 1) + 1
    value = b"\x1a\x20" + secrets.token_bytes(32)  # AesGcmKey: key_value = 3
    keyset = {
        "primaryKeyId": key_id,
        "key": [
            {
                "keyData": {
                    "typeUrl": AEAD_URL,
                    "value": base64.b64encode(value).decode(),
                    "keyMaterialType": "SYMMETRIC",
                },
                "status": "ENABLED",
                "keyId": key_id,
                "outputPrefixType": "TINK",
            }
        ],
    }
    return json.dumps(keyset, indent=2).encode() + b"\n"


def _aes_key(value: Any) -> aead.AESGCM:
    for number, part in fields(decode_base64(value)):
        if number == 3 and isinstance(part, bytes) and len(part) in (16, 32):
            return aead.AESGCM(part)
    raise KeysetError("does not contain an AES key of 128 or 256 bits")


class _Keks:
    """AES-GCM keys, each with a prefix for its ciphertexts, like Tink's AEADs. The first key encrypts."""

    def __init__(self, keys: list[tuple[bytes, aead.AESGCM]]) -> None:
        self._keys = keys

    def wrap(self, data_key: bytes, associated_data: bytes) -> bytes:
        prefix, cipher = self._keys[0]
        nonce = secrets.token_bytes(NONCE_BYTES)
        return prefix + nonce + cipher.encrypt(nonce, data_key, associated_data)

    def unwrap(self, wrapped: bytes, associated_data: bytes) -> bytes:
        for prefix, cipher in self._keys:
            sealed = wrapped[len(prefix) :]
            if not wrapped.startswith(prefix) or len(sealed) < NONCE_BYTES + TAG_BYTES:
                continue
            try:
                return cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], associated_data)
            except InvalidTag:
                continue
        raise InvalidTag


class StreamingKeys:
    """Keys for files, as created by `warpaes keygen`. A wrapped key is a small sealed file."""

    def __init__(self, keyset: Keyset) -> None:
        self._keyset = keyset

    def wrap(self, data_key: bytes, associated_data: bytes) -> bytes:
        sealed = io.BytesIO()
        writer = Writer(sealed.write, self._keyset, associated_data)
        writer.write(data_key)
        writer.finish()
        return sealed.getvalue()

    def unwrap(self, wrapped: bytes, associated_data: bytes) -> bytes:
        reader = Reader(wrapped, self._keyset, associated_data)
        return reader.read(0, reader.size)


def _field(holder: Any, name: str, kind: type) -> Any:
    if not isinstance(holder, dict) or type(holder.get(name)) is not kind:
        raise KeysetError(f"has no valid '{name}'")
    return holder[name]


def _kek(key: Any) -> tuple[bytes, aead.AESGCM]:
    """Return the prefix and the cipher of an enabled key."""
    prefix_type = _field(key, "outputPrefixType", str)
    if prefix_type not in PREFIXES[1:]:
        raise KeysetError("has no valid 'outputPrefixType'")
    number = _field(key, "keyId", int)
    if not 0 < number < 2**32:
        raise KeysetError("has no valid 'keyId'")
    first = {"TINK": b"\1", "CRUNCHY": b"\0", "LEGACY": b"\0"}.get(prefix_type)
    try:
        cipher = _aes_key(_field(key["keyData"], "value", str))
    except KeysetError as error:
        raise KeysetError(f"'value': {error}") from None
    return b"" if first is None else first + number.to_bytes(4, "big"), cipher


def _from_keyset(text: bytes) -> _Keks | StreamingKeys:
    parsed = parse_object(text)
    if "encryptedKeyset" in parsed:
        raise KeysetError("is encrypted, but a key-encryption key must be unencrypted")
    primary = _field(parsed, "primaryKeyId", int)
    found: list[tuple[bytes, aead.AESGCM]] = []
    primary_url = None
    for position, key in enumerate(_field(parsed, "key", list)):
        try:
            status = _field(key, "status", str)
            if status not in STATES[1:]:
                raise KeysetError("has no valid 'status'")
            is_primary = _field(key, "keyId", int) == primary
            if status == "ENABLED":
                url = _field(_field(key, "keyData", dict), "typeUrl", str)
                if is_primary:
                    primary_url = url
                if url == AEAD_URL:
                    found.insert(0 if is_primary else len(found), _kek(key))
            elif is_primary:
                raise KeysetError("is its primary key and is not enabled")
        except KeysetError as error:
            raise KeysetError(f"its key {position + 1} {error}") from None
    if primary_url is None:
        raise KeysetError("has no key with the ID in 'primaryKeyId'")
    return _Keks(found) if primary_url == AEAD_URL else StreamingKeys(Keyset.parse(text))


def _read(name: str, content: bytes) -> _Keks | StreamingKeys:
    text = content.removeprefix(codecs.BOM_UTF8).strip()
    if re.fullmatch(rb"(?:[0-9a-fA-F]{32}|[0-9a-fA-F]{64})", text):
        return _Keks([(b"", aead.AESGCM(bytes.fromhex(text.decode())))])
    if len(content) in (16, 32):
        try:
            Keyset.check_raw(content)
        except KeysetError as error:
            raise KeysetError(f"{name}: {error}") from None
        return _Keks([(b"", aead.AESGCM(content))])
    try:
        return _from_keyset(text)
    except ValueError as error:
        raise KeysetError(
            f"{name}: is neither a hexadecimal key nor a keyset in Tink's JSON format that can wrap keys: {error}; "
            "`warpaes keysources new-kek` creates one"
        ) from None


def wraps_keys(content: bytes) -> bool:
    """Return whether a key is only for wrapping keys: a Tink AEAD keyset or a raw key, but not a keyset for files."""
    try:
        return isinstance(_read("", content), _Keks)
    except KeysetError:
        return False


class LocalSource(KeySource):
    """Wraps keys with AES-GCM in this process, under a key that is read at first use."""

    def __init__(self, name: str, read: Callable[[], bytes]) -> None:
        """Store ``read``, a function that returns a Tink keyset or a raw key."""
        self.name = name
        self._read = read
        self._keys: _Keks | StreamingKeys | None = None
        self._count = WrapCount()
        self._lock = ForkLock()

    @property
    def wraps(self) -> int:
        """Number of keys that this object has wrapped with AES-GCM and random nonces. A key may wrap at most 2^32 keys.

        The number is always 0 for a keyset for files, which derives a new key from a random salt each time.
        """
        return self._count.value

    def _opened(self) -> _Keks | StreamingKeys:
        with self._lock:
            if self._keys is None:
                self._keys = _read(self.name, self._read())
            return self._keys

    def wrap(self, data_key: bytes, associated_data: bytes = b"") -> bytes:
        """Encrypt a data key as Tink's AEAD does or, with a keyset for files, as a small sealed file."""
        check_length(data_key)
        keys = self._opened()
        if isinstance(keys, _Keks):
            self._count.add(self.name)
        return keys.wrap(data_key, associated_data)

    def unwrap(self, wrapped: bytes, associated_data: bytes = b"") -> bytes:
        """Decrypt a data key, trying every enabled key."""
        try:
            return self._opened().unwrap(wrapped, associated_data)
        except (InvalidTag, FormatError):
            raise InvalidUnwrap(
                f"{self.name}: cannot open the wrapped key: it was altered, or the key or the associated data differ"
            ) from None

    def close(self) -> None:
        """Discard the key."""
        self._keys = None


def file_source(path: str) -> LocalSource:
    """Return a source whose key is read from a file."""
    name = f"file:{path}"

    def read() -> bytes:
        try:
            return read_file(path)
        except OSError as error:
            raise UnavailableError(f"{name}: cannot read the key: {error.strerror}") from None

    return LocalSource(name, read)


def program_source(command: str) -> LocalSource:
    """Return a source whose key is printed by a program. The shell runs the program once."""
    if not command.strip():
        raise ValueError("exec: must be followed by a command that prints a key")
    name = program_name(command)

    def read() -> bytes:
        return run_program(name, command)

    return LocalSource(name, read)
