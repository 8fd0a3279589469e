"""CMAC with the API of ``cryptography.hazmat.primitives.cmac``."""

from __future__ import annotations

from ._native import Mac
from .ciphers.algorithms import BlockCipherAlgorithm
from .exceptions import UnsupportedAlgorithm

__all__ = ["CMAC"]


class CMAC(Mac):
    """Computes the CMAC (SP 800-38B) of a message in pieces. Only one thread at a time may use the object."""

    def __new__(cls, algorithm: BlockCipherAlgorithm, backend: object = None) -> CMAC:
        """Begin a message.

        Args:
            algorithm: AES with a key of 16, 24 or 32 bytes.
            backend: Ignored.

        Raises:
            TypeError: ``algorithm`` is not a block cipher algorithm.
            UnsupportedAlgorithm: ``algorithm`` is not AES, or its key is an XTS key of 64 bytes.
        """
        if not isinstance(algorithm, BlockCipherAlgorithm):
            raise TypeError("Expected instance of BlockCipherAlgorithm.")
        if algorithm.name != "AES" or algorithm.key_size == 512:
            raise UnsupportedAlgorithm("CMAC is not supported with this algorithm")
        return super().__new__(cls, algorithm.key)
