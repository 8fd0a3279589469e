"""Tink keysets as JSON, and as the protobuf messages that are encrypted under key-encryption keys."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Iterator
from typing import Any

from .._native import Keyset
from ..exceptions import KeysetError
from ._source import KeySource

MATERIALS = ["UNKNOWN_KEYMATERIAL", "SYMMETRIC", "ASYMMETRIC_PRIVATE", "ASYMMETRIC_PUBLIC", "REMOTE"]
STATES = ["UNKNOWN_STATUS", "ENABLED", "DISABLED", "DESTROYED"]
#: The maximum length of a keyset, as in the command and the library.
MOST_TEXT = 1 << 20
PREFIXES = ["UNKNOWN_PREFIX", "TINK", "LEGACY", "RAW", "CRUNCHY"]


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the field numbers and values of a protobuf message that contains integers and bytes."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            if at >= len(message) or shift > 63:
                raise KeysetError("a protobuf message in the keyset is truncated or malformed")
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        elif tag & 7 == 2:
            length = varint()
            if length > len(message) - at:
                raise KeysetError("a protobuf message in the keyset is truncated or malformed")
            yield tag >> 3, message[at : at + length]
            at += length
        else:
            raise KeysetError("a protobuf message in the keyset has a field of an unexpected type")


def _serialize(keyset: dict[str, Any]) -> bytes:
    message = _field(1, keyset["primaryKeyId"])
    for key in keyset["key"]:
        entry = b""
        if "keyData" in key:
            data = key["keyData"]
            entry = _field(
                1,
                _field(1, data["typeUrl"].encode())
                + _field(2, base64.b64decode(data["value"]))
                + _field(3, MATERIALS.index(data["keyMaterialType"])),
            )
        entry += _field(2, STATES.index(key["status"])) + _field(3, key["keyId"])
        message += _field(2, entry + _field(4, PREFIXES.index(key["outputPrefixType"])))
    return message


def _name(names: list[str], value: Any) -> str:
    if not isinstance(value, int) or not 0 < value < len(names):
        raise KeysetError("a key in the keyset has an unknown status, prefix or material")
    return names[value]


def _parse(message: bytes) -> dict[str, Any]:
    keyset: dict[str, Any] = {"key": []}
    try:
        for number, value in fields(message):
            if number == 1:
                keyset["primaryKeyId"] = value
                continue
            key: dict[str, Any] = {}
            for inner, part in fields(value if isinstance(value, bytes) else b"\x07"):
                if inner == 1:
                    data = dict(fields(part if isinstance(part, bytes) else b"\x07"))
                    url, material, secret = data[1], data[3], data.get(2, b"")
                    if not isinstance(url, bytes) or not isinstance(secret, bytes):
                        raise KeysetError("a key in the keyset has fields of unexpected types")
                    key["keyData"] = {
                        "typeUrl": url.decode(),
                        "value": base64.b64encode(secret).decode(),
                        "keyMaterialType": _name(MATERIALS, material),
                    }
                elif inner == 2:
                    key["status"] = _name(STATES, part)
                elif inner == 3:
                    key["keyId"] = part
                elif inner == 4:
                    key["outputPrefixType"] = _name(PREFIXES, part)
            if not isinstance(key.get("keyId"), int) or not {"status", "outputPrefixType"} <= key.keys():
                raise KeysetError("a key in the keyset has no ID, status or prefix")
            keyset["key"].append(key)
        if not isinstance(keyset["primaryKeyId"], int):
            raise KeysetError("the keyset's primary key ID is not a number")
    except (KeyError, UnicodeDecodeError):
        raise KeysetError("encryptedKeyset does not contain a Tink keyset") from None
    return keyset


def _info(keyset: dict[str, Any]) -> dict[str, Any]:
    """Return the ``keysetInfo`` of a keyset: all public information about its keys."""
    keys = []
    for key in keyset["key"]:
        info = {"status": key["status"], "keyId": key["keyId"], "outputPrefixType": key["outputPrefixType"]}
        if "keyData" in key:
            info = {"typeUrl": key["keyData"]["typeUrl"], **info}
        keys.append(info)
    return {"primaryKeyId": keyset["primaryKeyId"], "keyInfo": keys}


def _agrees(info: Any, other: dict[str, Any]) -> bool:
    """Return whether two ``keysetInfo`` are equal. Some writers omit the type of a destroyed key."""
    if not isinstance(info, dict) or not isinstance(info.get("keyInfo"), list):
        return False

    def without_type(key: Any) -> Any:
        destroyed = isinstance(key, dict) and key.get("status") == "DESTROYED"
        return {name: value for name, value in key.items() if name != "typeUrl"} if destroyed else key

    one, two = ({**each, "keyInfo": [without_type(key) for key in each["keyInfo"]]} for each in (info, other))
    return one == two


def write_keyset(keyset: Keyset, source: KeySource, associated_data: bytes = b"") -> bytes:
    """Return a keyset that is encrypted by a source, in Tink's JSON format.

    Tink's libraries open the result with the same key manager, using ``parse_encrypted`` with the manager's AEAD.
    """
    clear = json.loads(keyset.to_json())
    wrapped = {
        "encryptedKeyset": base64.b64encode(source.wrap(_serialize(clear), associated_data)).decode(),
        "keysetInfo": _info(clear),
    }
    return json.dumps(wrapped, indent=2).encode() + b"\n"


def parse_object(text: bytes | str) -> dict[str, Any]:
    """Parse a JSON object without duplicate fields. Raise ``KeysetError`` for any other text."""
    if len(text) > MOST_TEXT:
        raise KeysetError("is longer than 1 MiB")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) != len(pairs):
            raise KeysetError("contains a field twice")
        return dict(pairs)

    try:
        if isinstance(text, str):  # json.loads removes the byte-order mark only from bytes
            text = text.removeprefix("\ufeff")
        parsed = json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise error if isinstance(error, KeysetError) else KeysetError("is not JSON") from None
    if not isinstance(parsed, dict):
        raise KeysetError("is not a JSON object")
    return parsed


def decode_base64(text: Any) -> bytes:
    """Decode canonical base64. Raise ``KeysetError`` for any other text."""
    with contextlib.suppress(ValueError, TypeError):
        content = base64.b64decode(text, validate=True)
        if base64.b64encode(content).decode() == text:
            return content
    raise KeysetError("is not base64")


def read_keyset(text: bytes | str, source: KeySource, associated_data: bytes = b"") -> Keyset:
    """Open an encrypted keyset that ``write_keyset`` or one of Tink's libraries wrote.

    Raises:
        InvalidUnwrap: The key or the associated data differ, or the keyset was altered.
        KeysetError: The text is not an encrypted keyset, or the unencrypted ``keysetInfo`` does not match the keys.
    """
    try:
        wrapped = parse_object(text)
    except KeysetError as error:
        raise KeysetError(f"not an encrypted keyset in Tink's JSON format: the text {error}") from None
    if "keyEncryptionKey" in wrapped:
        raise KeysetError("the keyset is encrypted under a passphrase, not by a key source; open it with `warpaes -k`")
    if "encryptedKeyset" not in wrapped:
        raise KeysetError("not an encrypted keyset in Tink's JSON format: the text has no encryptedKeyset")
    if unknown := sorted(wrapped.keys() - {"encryptedKeyset", "keysetInfo"}):
        raise KeysetError(f"not an encrypted keyset in Tink's JSON format: {unknown[0]!a} is not a valid field")
    try:
        sealed = decode_base64(wrapped["encryptedKeyset"])
    except KeysetError as error:
        raise KeysetError(f"not an encrypted keyset in Tink's JSON format: encryptedKeyset {error}") from None
    keyset = _parse(source.unwrap(sealed, associated_data))
    # keysetInfo is checked because commands show it without opening the keyset.
    if "keysetInfo" in wrapped and not _agrees(wrapped["keysetInfo"], _info(keyset)):
        raise KeysetError("keysetInfo does not match the encrypted keys, so it was altered")
    return Keyset.parse(json.dumps(keyset))
