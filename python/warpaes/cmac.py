"""CMAC: ``cryptography.hazmat.primitives.cmac``."""

from __future__ import annotations

from ._native import Mac
from .ciphers.algorithms import BlockCipherAlgorithm
from .exceptions import UnsupportedAlgorithm

__all__ = ["CMAC"]


class CMAC(Mac):
    """CMAC of a message that arrives in pieces."""

    def __new__(cls, algorithm: BlockCipherAlgorithm, backend: object = None) -> CMAC:
        """Begin a message. ``backend`` is ignored."""
        if not isinstance(algorithm, BlockCipherAlgorithm):
            raise TypeError("Expected instance of BlockCipherAlgorithm.")
        if algorithm.name != "AES" or algorithm.key_size == 512:
            raise UnsupportedAlgorithm("CMAC is not supported with this algorithm")
        return super().__new__(cls, algorithm.key)
