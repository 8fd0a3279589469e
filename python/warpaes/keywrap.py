"""AES key wrapping with the API of ``cryptography.hazmat.primitives.keywrap``."""

from __future__ import annotations

from ._native import aes_key_unwrap, aes_key_unwrap_with_padding, aes_key_wrap, aes_key_wrap_with_padding
from .exceptions import InvalidUnwrap

__all__ = [
    "InvalidUnwrap",
    "aes_key_unwrap",
    "aes_key_unwrap_with_padding",
    "aes_key_wrap",
    "aes_key_wrap_with_padding",
]
