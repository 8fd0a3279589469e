"""Modes of operation, in pieces or whole: ``cryptography.hazmat.primitives.ciphers``, for AES."""

from __future__ import annotations

from . import algorithms, base, modes
from .algorithms import BlockCipherAlgorithm, CipherAlgorithm
from .base import AEADCipherContext, AEADDecryptionContext, AEADEncryptionContext, Cipher, CipherContext

__all__ = [
    "AEADCipherContext",
    "AEADDecryptionContext",
    "AEADEncryptionContext",
    "BlockCipherAlgorithm",
    "Cipher",
    "CipherAlgorithm",
    "CipherContext",
    "algorithms",
    "base",
    "modes",
]
