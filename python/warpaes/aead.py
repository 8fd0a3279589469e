"""One-shot authenticated encryption with AES, with the API of ``cryptography.hazmat.primitives.ciphers.aead``."""

from __future__ import annotations

from ._native import AESCCM, AESGCM, AESGCMSIV, AESSIV, Batch

__all__ = ["AESCCM", "AESGCM", "AESGCMSIV", "AESSIV", "Batch"]
