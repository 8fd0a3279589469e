"""Ciphers: an algorithm in a mode."""

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
    """A message that arrives in pieces."""

    @abc.abstractmethod
    def update(self, data: Buffer) -> bytes:
        """Encrypt or decrypt the next piece; of ECB and CBC whole blocks come out."""

    @abc.abstractmethod
    def update_into(self, data: Buffer, buf: Buffer) -> int:
        """Do the same into a buffer, which must have room for 15 bytes more in ECB and CBC."""

    @abc.abstractmethod
    def finalize(self) -> bytes:
        """End the message."""

    @abc.abstractmethod
    def reset_nonce(self, nonce: Buffer) -> None:
        """Begin another message under the same key, in CTR."""


class AEADCipherContext(CipherContext):
    """One with a tag."""

    @abc.abstractmethod
    def authenticate_additional_data(self, data: Buffer) -> None:
        """Add associated data, before any other."""


class AEADEncryptionContext(AEADCipherContext):
    """One that gets its tag."""

    @property
    @abc.abstractmethod
    def tag(self) -> bytes:
        """The tag, once the message has ended."""


class AEADDecryptionContext(AEADCipherContext):
    """One whose tag is compared."""

    @abc.abstractmethod
    def finalize_with_tag(self, tag: Buffer) -> bytes:
        """End the message, of which this is the tag."""


CipherContext.register(_native.CipherContext)
AEADEncryptionContext.register(_native.AEADEncryptionContext)
AEADDecryptionContext.register(_native.AEADDecryptionContext)


class Cipher:
    """An algorithm in a mode."""

    def __init__(self, algorithm: CipherAlgorithm, mode: Mode | None, backend: Any = None) -> None:
        """Check that they fit. ``backend`` is ignored."""
        if not isinstance(algorithm, CipherAlgorithm):
            raise TypeError("Expected interface of CipherAlgorithm.")
        if mode is not None:
            if not isinstance(mode, Mode):
                raise TypeError("Expected a mode of warpaes.ciphers.modes.")
            mode.validate_for_algorithm(algorithm)
        self.algorithm = algorithm
        self.mode = mode

    def encryptor(self) -> Any:
        """Begin an encryption: a CipherContext, of GCM an AEADEncryptionContext."""
        if isinstance(self.mode, ModeWithAuthenticationTag) and self.mode.tag is not None:
            raise ValueError("Authentication tag must be None when encrypting.")
        return self._context(True)

    def decryptor(self) -> Any:
        """Begin a decryption: a CipherContext, of GCM an AEADDecryptionContext."""
        return self._context(False)

    def encrypt_into(self, data: Data, buf: Data, *, data_unit_bytes: int = 0, stream: Any = None) -> int:
        """Encrypt a whole message, in host or device memory, into one of the same length; not in GCM.

        ``data_unit_bytes``: of XTS, whose tweak grows by one from unit to unit; 0: the message is one unit.
        ``stream``: for tensors in device memory; None: the one their library works on now. Returns at once then.
        """
        return self._crypt(True, data, buf, data_unit_bytes, stream)

    def decrypt_into(self, data: Data, buf: Data, *, data_unit_bytes: int = 0, stream: Any = None) -> int:
        """Decrypt a whole message; see encrypt_into."""
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
            raise UnsupportedAlgorithm("whole messages of GCM: warpaes.aead.AESGCM")
        return _native.crypt(mode._number, encrypt, self.algorithm.key, mode._iv, data, buf, data_unit_bytes, stream)
