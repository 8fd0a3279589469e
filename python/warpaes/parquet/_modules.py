"""Modules other than pages, and the associated data of all modules (parquet-format, Encryption.md)."""

from __future__ import annotations

import secrets
import struct
from collections.abc import Sequence
from typing import NamedTuple

from ..aead import AESGCM
from ..exceptions import FormatError, InvalidTag

LENGTH_BYTES, NONCE_BYTES, TAG_BYTES = 4, 12, 16
OVERHEAD = LENGTH_BYTES + NONCE_BYTES + TAG_BYTES
CTR_OVERHEAD = LENGTH_BYTES + NONCE_BYTES
#: The maximum number of modules under a key with random 12-byte nonces (SP 800-38D, 8.3).
MAX_MODULES = 1 << 32

(
    FOOTER,
    COLUMN_META_DATA,
    DATA_PAGE,
    DICTIONARY_PAGE,
    DATA_PAGE_HEADER,
    DICTIONARY_PAGE_HEADER,
    COLUMN_INDEX,
    OFFSET_INDEX,
    BLOOM_HEADER,
    BLOOM_BITSET,
) = range(10)

_NAMES = {
    FOOTER: "footer",
    COLUMN_META_DATA: "column metadata",
    DATA_PAGE: "page",
    DICTIONARY_PAGE: "dictionary page",
    COLUMN_INDEX: "column index",
    OFFSET_INDEX: "offset index",
    BLOOM_HEADER: "Bloom filter header",
    BLOOM_BITSET: "Bloom filter",
}


class Place(NamedTuple):
    """Identifies a column chunk in associated data and messages."""

    row_group: int
    column: int
    path: str

    def __str__(self) -> str:
        """Return the row group and the column for messages."""
        return f"row group {self.row_group}, column {self.column} ({self.path})"


def module_aad(aad: bytes, kind: int, place: Place | None = None, page: int | None = None) -> bytes:
    """Return the associated data of a module. ``aad`` is the AAD prefix followed by aad_file_unique."""
    ordinals: Sequence[int] = () if place is None else (place.row_group, place.column)
    if page is not None:
        ordinals = (*ordinals, page)
    return aad + bytes([kind]) + struct.pack(f"<{len(ordinals)}H", *ordinals)


def open_module(
    key: bytes, aad: bytes, module: bytes, kind: int, place: Place | None = None, page: int | None = None
) -> bytes:
    """Decrypt a complete GCM module, including its length field.

    Raises:
        FormatError: The module has the wrong length.
        InvalidTag: The module is not authentic.
    """
    name = f"{place}: the {_NAMES[kind]}" if place is not None else f"the {_NAMES[kind]}"
    if len(module) < OVERHEAD or int.from_bytes(module[:4], "little") != len(module) - LENGTH_BYTES:
        raise FormatError(f"{name} has a wrong length, so the file is damaged or truncated")
    try:
        return AESGCM(key).decrypt(module[4:16], module[16:], module_aad(aad, kind, place, page))
    except InvalidTag:
        raise InvalidTag(
            f"{name} is not authentic: the key or the AAD prefix is wrong, or the file was altered"
        ) from None


def seal_module(key: bytes, aad: bytes, text: bytes, kind: int, place: Place | None = None) -> bytes:
    """Encrypt a GCM module under a random nonce, and return it with its length field."""
    nonce = secrets.token_bytes(NONCE_BYTES)
    sealed = AESGCM(key).encrypt(nonce, text, module_aad(aad, kind, place))
    return (NONCE_BYTES + len(sealed)).to_bytes(4, "little") + nonce + sealed


def footer_signature(key: bytes, aad: bytes, nonce: bytes, footer: bytes) -> bytes:
    """Return the tag of a plaintext footer."""
    return AESGCM(key).encrypt(nonce, footer, module_aad(aad, FOOTER))[-TAG_BYTES:]
