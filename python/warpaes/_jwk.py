"""JSON Web Keys for encrypted tensors, Ed25519 signatures, and the encodings in the CryptoTensors header."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

from .aead import AESGCM
from .exceptions import FormatError, InvalidSignature, KeysetError

Key = Mapping[str, Any]

KEY_BYTES = {"aes128gcm": 16, "aes256gcm": 32}
SIGNATURE_BYTES = 64


def b64(data: Any) -> str:
    return binascii.b2a_base64(data, newline=False).decode()


def unb64(text: Any, what: str) -> bytes:
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except (TypeError, ValueError):
        raise FormatError(f"{what} is not base64") from None


def signature(text: Any) -> bytes:
    """Decode a signature. A signature does not cover its own encoding, so only the canonical encoding is accepted."""
    data = unb64(text, "__signature__")
    if b64(data) != text:
        raise FormatError("__signature__ is not base64")
    return data


def compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def wrapping_key(key: Key) -> AESGCM:
    algorithm = key.get("alg")
    if key.get("kty") != "oct" or algorithm not in KEY_BYTES:
        raise KeysetError(f"enc_key: kty must be oct, and alg aes128gcm or aes256gcm, not {algorithm!r}")
    try:
        secret = base64.b64decode(key["k"], validate=True)
    except (KeyError, TypeError, ValueError):
        raise KeysetError("enc_key: k is missing, or not base64") from None
    if len(secret) != KEY_BYTES[algorithm]:
        raise KeysetError(f"enc_key: k has {len(secret)} bytes, but {algorithm} requires {KEY_BYTES[algorithm]}")
    return AESGCM(secret)


def public(key: Key) -> dict[str, Any]:
    """Return the fields of a key that are stored in the header."""
    return {name: key[name] for name in ("alg", "jku", "kid", "kty") if key.get(name) is not None}


def signature_key(key: Key, name: str) -> bytes:
    if key.get("kty") != "okp" or key.get("alg") != "ed25519":
        raise KeysetError("sign_key: kty must be okp, and alg ed25519")
    try:
        data = base64.b64decode(key[name], validate=True)
    except (KeyError, TypeError, ValueError):
        raise KeysetError(f"sign_key: {name} is missing, or not base64") from None
    if len(data) != 32:
        raise KeysetError(f"sign_key: {name} must have 32 bytes")
    return data


def ed25519() -> Any:
    """Return the module that creates and verifies signatures."""
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519 as module
    except ModuleNotFoundError:
        raise ModuleNotFoundError("signatures require the package cryptography; run pip install cryptography") from None
    return module


def sign(key: Key, message: bytes) -> bytes:
    made: bytes = ed25519().Ed25519PrivateKey.from_private_bytes(signature_key(key, "d")).sign(message)
    return made


def verify(key: Key, made: bytes, message: bytes | bytearray) -> None:
    public_key = ed25519().Ed25519PublicKey.from_public_bytes(signature_key(key, "x"))
    try:
        public_key.verify(made, message)
    except Exception:
        raise InvalidSignature(
            "the signature does not match sign_key; the header was altered, or was signed with a different key"
        ) from None
