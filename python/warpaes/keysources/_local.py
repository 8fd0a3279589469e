"""Key-encryption keys that are read into this process: from a file, or from what a program prints."""

from __future__ import annotations

import base64
import io
import json
import re
import secrets
from collections.abc import Callable
from typing import Any

from .. import aead, files
from .._native import Keyset
from ..exceptions import FormatError, InvalidTag, InvalidUnwrap, KeysetError
from ._program import MOST_OUTPUT, environment_without_keyset, program_name, run_program
from ._source import KeySource, UnavailableError, check_length
from ._tink import fields

AEAD_URL = "type.googleapis.com/google.crypto.tink.AesGcmKey"
NONCE_BYTES, TAG_BYTES = 12, 16


def generate_kek() -> bytes:
    """Return a new key-encryption key: Tink's JSON of a keyset with one ``AES256_GCM`` key, its template for AEADs."""
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


def _aes_key(value: str) -> bytes:
    for number, part in fields(base64.b64decode(value)):
        if number == 3 and isinstance(part, bytes):
            return part
    raise KeysetError("an AES-GCM key has no key in it")


class _Keks:
    """AES-GCM keys, each with its prefix in front of what it encrypts, as Tink's AEADs. The first encrypts."""

    def __init__(self, keys: list[tuple[bytes, bytes]]) -> None:
        self._keys = [(prefix, aead.AESGCM(key)) for prefix, key in keys]

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
    """Keys for files, as `warpaes keygen` makes them: what is wrapped is a small file."""

    def __init__(self, keyset: Keyset) -> None:
        self._keyset = keyset

    def wrap(self, data_key: bytes, associated_data: bytes) -> bytes:
        sealed = io.BytesIO()
        with files.open(sealed, "wb", keyset=self._keyset, associated_data=associated_data) as file:
            file.write(data_key)
        return sealed.getvalue()

    def unwrap(self, wrapped: bytes, associated_data: bytes) -> bytes:
        with files.open(wrapped, keyset=self._keyset, associated_data=associated_data) as file:
            return file.read()


def _from_keyset(text: bytes) -> _Keks | StreamingKeys:
    try:
        parsed: Any = json.loads(text)
        if "encryptedKeyset" in parsed:
            raise KeysetError("is encrypted itself: a key-encryption key has to be in clear here")
        primary = parsed["primaryKeyId"]
        found: list[tuple[bytes, bytes]] = []
        for key in parsed["key"]:
            if key["status"] != "ENABLED" or key["keyData"]["typeUrl"] != AEAD_URL:
                continue
            number = key["keyId"].to_bytes(4, "big")
            prefixes = {"TINK": b"\1" + number, "CRUNCHY": b"\0" + number, "LEGACY": b"\0" + number, "RAW": b""}
            entry = (prefixes[key["outputPrefixType"]], _aes_key(key["keyData"]["value"]))
            if key["keyId"] == primary:
                found.insert(0, entry)
            else:
                found.append(entry)
        first = next(key for key in parsed["key"] if key["keyId"] == primary)
        if first["status"] != "ENABLED":
            raise KeysetError("its primary key is not enabled")
        primary_url = first["keyData"]["typeUrl"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, StopIteration) as error:
        if isinstance(error, KeysetError):
            raise
        raise KeysetError("is neither a keyset in Tink's JSON nor a key in hexadecimal") from None
    return _Keks(found) if primary_url == AEAD_URL else StreamingKeys(Keyset.parse(text))


def _read(name: str, content: bytes) -> _Keks | StreamingKeys:
    text = content.strip()
    if re.fullmatch(rb"(?:[0-9a-fA-F]{32}|[0-9a-fA-F]{64})", text):
        return _Keks([(b"", bytes.fromhex(text.decode()))])
    if len(content) in (16, 32):
        return _Keks([(b"", content)])
    try:
        return _from_keyset(text)
    except (KeysetError, ValueError) as error:
        raise KeysetError(f"{name}: {error}; `python -m warpaes.keysources new-kek` makes one") from None


def wraps_keys(content: bytes) -> bool:
    """Say whether this is a key that only wraps keys: a keyset of Tink's AEAD or a raw key, and no keyset for files."""
    try:
        return isinstance(_read("", content), _Keks)
    except KeysetError:
        return False


class LocalSource(KeySource):
    """Wraps with AES-GCM in this process, under a key that is read when it is first needed."""

    def __init__(self, name: str, read: Callable[[], bytes]) -> None:
        """``read``: gives a keyset of Tink's or a raw key."""
        self.name = name
        self._read = read
        self._keys: _Keks | StreamingKeys | None = None

    def _opened(self) -> _Keks | StreamingKeys:
        if self._keys is None:
            self._keys = _read(self.name, self._read())
        return self._keys

    def wrap(self, data_key: bytes, associated_data: bytes = b"") -> bytes:
        """Encrypt as Tink's AEAD of the keyset; under keys for files as a small file."""
        check_length(data_key)
        return self._opened().wrap(data_key, associated_data)

    def unwrap(self, wrapped: bytes, associated_data: bytes = b"") -> bytes:
        """Try every enabled key."""
        try:
            return self._opened().unwrap(wrapped, associated_data)
        except (InvalidTag, FormatError):
            raise InvalidUnwrap(
                f"{self.name}: opens no such wrapped key: another key, other associated data, or altered"
            ) from None

    def close(self) -> None:
        """Forget the key."""
        self._keys = None


def file_source(path: str) -> LocalSource:
    """Return a source whose key lies in a file."""
    name = f"file:{path}"

    def read() -> bytes:
        try:
            with open(path, "rb") as file:
                return file.read(MOST_OUTPUT)
        except OSError as error:
            raise UnavailableError(f"{name}: cannot read it: {error.strerror}") from None

    return LocalSource(name, read)


def program_source(command: str) -> LocalSource:
    """Return a source whose key a program prints; run by the shell, once."""
    if not command.strip():
        raise ValueError("exec: is followed by no command")
    name = program_name(command)

    def read() -> bytes:
        return run_program(name, command, environment=environment_without_keyset())

    return LocalSource(name, read)
