"""Authenticated encryption in one call: ``cryptography.hazmat.primitives.ciphers.aead``, for AES."""

from __future__ import annotations

from ._native import AESCCM, AESGCM, AESGCMSIV, AESSIV, Batch

__all__ = ["AESCCM", "AESGCM", "AESGCMSIV", "AESSIV", "Batch"]
