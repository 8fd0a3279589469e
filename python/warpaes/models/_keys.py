"""The keys of a model, which are derived from a keyset: a key that wraps tensors' keys, a key that signs headers, and a
key that authenticates the manifest."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any

from .._jwk import ed25519
from .._keyset_places import as_keyset
from .._native import Keyset

_LABEL = b"warpaes model 1 "


@dataclass(frozen=True)
class ModelKeys:
    """The keys that are derived from one key in a keyset."""

    key_id: int
    enc: dict[str, str] = field(repr=False)  #: the JSON Web Key that wraps tensors' keys
    sign: dict[str, str] = field(repr=False)  #: the JSON Web Key that signs headers
    mac: bytes = field(repr=False)  #: authenticates the manifest

    def __reduce__(self) -> Any:
        """Raise TypeError, because a pickle would contain the keys."""
        raise TypeError(
            "the keys of a model cannot be pickled; open the folder in each process, with the place of the keyset"
        )


def _derived(secret: bytes, purpose: bytes) -> bytes:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    made: bytes = HKDF(hashes.SHA256(), 32, None, _LABEL + purpose).derive(secret)
    return made


def _of_key(key: dict[str, Any]) -> ModelKeys:
    secret = key["keyData"]["typeUrl"].encode() + b"\0" + base64.b64decode(key["keyData"]["value"])
    seed = _derived(secret, b"signature")
    public = ed25519().Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
    kid = str(key["keyId"])
    wrapping = base64.b64encode(_derived(secret, b"encryption")).decode()
    enc = {"kty": "oct", "alg": "aes256gcm", "kid": kid, "k": wrapping}
    pair = {"d": base64.b64encode(seed).decode(), "x": base64.b64encode(public).decode()}
    return ModelKeys(
        key["keyId"], enc, {"kty": "okp", "alg": "ed25519", "kid": kid, **pair}, _derived(secret, b"manifest")
    )


def keys_of(keyset: Keyset | str) -> dict[int, ModelKeys]:
    """Return the keys that are derived from a keyset's enabled keys, by ID, with the primary key first.

    ``keyset`` is a Keyset, or a location that ``Keyset.load`` accepts.
    """
    found = json.loads(as_keyset(keyset).to_json())
    enabled = [key for key in found["key"] if key["status"] == "ENABLED"]
    enabled.sort(key=lambda key: bool(key["keyId"] != found["primaryKeyId"]))
    return {key["keyId"]: _of_key(key) for key in enabled}
