"""AES modes of operation for messages in pieces or one-shot, with the API of
``cryptography.hazmat.primitives.ciphers``."""

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
