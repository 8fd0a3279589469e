"""Ciphers: an algorithm combined with a mode."""

from __future__ import annotations

import abc
from typing import Any

from .. import _native
from .._typing import Buffer, Data
from ..exceptions import UnsupportedAlgorithm
from .algorithms import CipherAlgorithm
from .modes import Mode, ModeWithAuthenticationTag

__all__ = ["AEADCipherContext", "AEADDecryptionContext", "AEADEncryptionContext", "Cipher", "CipherContext"]


class CipherContext(abc.ABC):
    """A message that is processed in pieces. Only one thread at a time may use the object."""

    @abc.abstractmethod
    def update(self, data: Buffer) -> bytes:
        """Encrypt or decrypt the next piece and return the output. In ECB and CBC modes, only complete blocks are
        returned."""

    @abc.abstractmethod
    def update_into(self, data: Buffer, buf: Buffer) -> int:
        """Encrypt or decrypt the next piece into a buffer and return the number of bytes written.

        ``buf`` must have at least ``len(data)`` bytes or, in ECB and CBC modes, ``len(data) + 15`` bytes.
        """

    @abc.abstractmethod
    def finalize(self) -> bytes:
        """End the message and return empty bytes, because ``update`` has already returned all output."""

    @abc.abstractmethod
    def reset_nonce(self, nonce: Buffer) -> None:
        """Begin another message in CTR mode, under the same key."""


class AEADCipherContext(CipherContext):
    """A message with associated data and a tag."""

    @abc.abstractmethod
    def authenticate_additional_data(self, data: Buffer) -> None:
        """Add associated data, before the first ``update``."""


class AEADEncryptionContext(AEADCipherContext):
    """A message that is encrypted with a tag."""

    @property
    @abc.abstractmethod
    def tag(self) -> bytes:
        """The tag, available once the message is finalized."""


class AEADDecryptionContext(AEADCipherContext):
    """A message that is decrypted and whose tag is verified."""

    @abc.abstractmethod
    def finalize_with_tag(self, tag: Buffer) -> bytes:
        """End the message and compare its tag with ``tag``. Raises InvalidTag if they differ."""


CipherContext.register(_native.CipherContext)
AEADEncryptionContext.register(_native.AEADEncryptionContext)
AEADDecryptionContext.register(_native.AEADDecryptionContext)


class Cipher:
    """An algorithm combined with a mode. Any number of threads may use the same object."""

    def __init__(self, algorithm: CipherAlgorithm, mode: Mode | None, backend: Any = None) -> None:
        """Combine an algorithm with a mode.

        Args:
            algorithm: The algorithm with its key.
            mode: A mode of ``warpaes.ciphers.modes``.
            backend: Ignored.

        Raises:
            TypeError: An argument has the wrong type.
            ValueError: The key, the IV, the nonce or the tag has a length that the mode does not accept.
        """
        if not isinstance(algorithm, CipherAlgorithm):
            raise TypeError("Expected interface of CipherAlgorithm.")
        if mode is not None:
            if not isinstance(mode, Mode):
                raise TypeError("Expected a mode of warpaes.ciphers.modes.")
            mode.validate_for_algorithm(algorithm)
        self.algorithm = algorithm
        self.mode = mode

    def encryptor(self) -> Any:
        """Begin an encryption in pieces.

        Returns:
            A CipherContext or, for GCM, an AEADEncryptionContext.

        Raises:
            ValueError: The mode is GCM, and a tag was passed with it.
            UnsupportedAlgorithm: The algorithm or the mode is not supported.
        """
        if isinstance(self.mode, ModeWithAuthenticationTag) and self.mode.tag is not None:
            raise ValueError("Authentication tag must be None when encrypting.")
        return self._context(True)

    def decryptor(self) -> Any:
        """Begin a decryption in pieces.

        Returns:
            A CipherContext or, for GCM, an AEADDecryptionContext.

        Raises:
            UnsupportedAlgorithm: The algorithm or the mode is not supported.
        """
        return self._context(False)

    def encrypt_into(self, data: Data, buf: Data, *, data_unit_bytes: int = 0, stream: Any = None) -> int:
        """Encrypt a complete message in one call, in any mode except GCM.

        Args:
            data: The plaintext: a buffer or tensor without gaps between its elements, in host or device memory. The
                bytes are processed in memory order.
            buf: The output, of the same size and in the same kind of memory. Its shape and strides must equal those of
                ``data``, unless both are contiguous. It may be the same memory as ``data``.
            data_unit_bytes: The size of an XTS data unit in bytes, or 0 if the message is one data unit. The tweak is
                incremented for each data unit.
            stream: The CUDA stream for data in device memory, or None for the current stream of the tensor's library.
                The work runs in stream order, and the call returns as soon as it is enqueued.

        Returns:
            The number of bytes written.

        Raises:
            ValueError: ``buf`` has the wrong length, the mode does not accept the length of ``data``, or ``stream`` is
                given for host memory.
            BufferError: A buffer or tensor has gaps, the element orders of ``data`` and ``buf`` differ, or ``buf`` is
                read-only or requires grad.
            UnsupportedAlgorithm: The mode is not supported, or it is GCM; use the one-shot methods of
                ``warpaes.aead.AESGCM``.
        """
        return self._crypt(True, data, buf, data_unit_bytes, stream)

    def decrypt_into(self, data: Data, buf: Data, *, data_unit_bytes: int = 0, stream: Any = None) -> int:
        """Decrypt a complete message in one call. See ``encrypt_into`` for the arguments, the result and the
        exceptions."""
        return self._crypt(False, data, buf, data_unit_bytes, stream)

    def _supported_mode(self) -> Mode:
        if self.mode is None or self.algorithm.name != "AES" or not hasattr(self.mode, "_number"):
            name = None if self.mode is None else self.mode.name
            raise UnsupportedAlgorithm(f"cipher {self.algorithm.name} in {name} mode is not supported")
        return self.mode

    def _context(self, encrypt: bool) -> Any:
        mode = self._supported_mode()
        tag = mode.tag if isinstance(mode, ModeWithAuthenticationTag) else None
        least_tag = getattr(mode, "_min_tag_length", 16)
        return _native.context(mode._number, encrypt, self.algorithm.key, mode._iv, tag, least_tag)

    def _crypt(self, encrypt: bool, data: Data, buf: Data, data_unit_bytes: int, stream: Any) -> int:
        mode = self._supported_mode()
        if isinstance(mode, ModeWithAuthenticationTag):
            raise UnsupportedAlgorithm("use warpaes.aead.AESGCM for complete GCM messages")
        return _native.crypt(mode._number, encrypt, self.algorithm.key, mode._iv, data, buf, data_unit_bytes, stream)
