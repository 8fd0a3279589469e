"""Modes of operation, compatible with pyca/cryptography."""

from __future__ import annotations

import abc
from typing import ClassVar

from .._typing import Buffer
from ..exceptions import UnsupportedAlgorithm
from .algorithms import AES128, AES256, BlockCipherAlgorithm, CipherAlgorithm

__all__ = [
    "CBC",
    "CFB",
    "CFB8",
    "CTR",
    "ECB",
    "GCM",
    "OFB",
    "XTS",
    "Mode",
    "ModeWithAuthenticationTag",
    "ModeWithInitializationVector",
    "ModeWithNonce",
    "ModeWithTweak",
]


def _byteslike(name: str, value: Buffer) -> Buffer:
    try:
        memoryview(value)
    except TypeError:
        raise TypeError(f"{name} must be bytes-like") from None
    return value


def _length(value: Buffer) -> int:
    return memoryview(value).nbytes


class Mode(abc.ABC):
    """A mode of operation."""

    name: str
    #: The mode's number in the C ABI.
    _number: ClassVar[int]

    @abc.abstractmethod
    def validate_for_algorithm(self, algorithm: CipherAlgorithm) -> None:
        """Raise ValueError, TypeError or UnsupportedAlgorithm if the mode cannot use the algorithm."""

    @property
    def _iv(self) -> Buffer | None:
        return None

    def _check_key(self, algorithm: CipherAlgorithm) -> None:
        if algorithm.key_size > 256 and algorithm.name == "AES":
            raise ValueError("Only 128, 192, and 256 bit keys are allowed for this AES mode")


class ModeWithInitializationVector(Mode):
    """A mode with an initialization vector."""

    def __init__(self, initialization_vector: Buffer) -> None:
        """Store a reference to the initialization vector, which has the length of a block."""
        self._initialization_vector = _byteslike("initialization_vector", initialization_vector)

    @property
    def initialization_vector(self) -> Buffer:
        """The initialization vector."""
        return self._initialization_vector

    @property
    def _iv(self) -> Buffer:
        return self._initialization_vector

    def validate_for_algorithm(self, algorithm: CipherAlgorithm) -> None:
        """Raise ValueError if the key or the initialization vector has the wrong length."""
        self._check_key(algorithm)
        if not isinstance(algorithm, BlockCipherAlgorithm):
            raise UnsupportedAlgorithm(f"{self.name} requires a block cipher algorithm")
        if _length(self._iv) * 8 != algorithm.block_size:
            raise ValueError(f"Invalid IV size ({_length(self._iv)}) for {self.name}.")


class ModeWithTweak(Mode):
    """A mode with a tweak."""

    @property
    @abc.abstractmethod
    def tweak(self) -> Buffer:
        """The tweak."""


class ModeWithNonce(Mode):
    """A mode with a nonce."""

    @property
    @abc.abstractmethod
    def nonce(self) -> Buffer:
        """The nonce."""


class ModeWithAuthenticationTag(Mode):
    """A mode with an authentication tag."""

    @property
    @abc.abstractmethod
    def tag(self) -> bytes | None:
        """The expected tag, or None."""


class ECB(Mode):
    """Electronic codebook: each block is encrypted independently, so equal blocks stay recognizable."""

    name = "ECB"
    _number = 1

    def validate_for_algorithm(self, algorithm: CipherAlgorithm) -> None:
        """Raise ValueError if the key has the wrong length."""
        self._check_key(algorithm)


class CBC(ModeWithInitializationVector):
    """Cipher block chaining."""

    name = "CBC"
    _number = 2


class CFB(ModeWithInitializationVector):
    """Cipher feedback with 128-bit segments."""

    name = "CFB"
    _number = 3


class CFB8(ModeWithInitializationVector):
    """Cipher feedback with 8-bit segments."""

    name = "CFB8"
    _number = 4


class OFB(ModeWithInitializationVector):
    """Output feedback."""

    name = "OFB"
    _number = 6


class CTR(ModeWithNonce):
    """Counter mode. The nonce is the first counter block."""

    name = "CTR"
    _number = 7

    def __init__(self, nonce: Buffer) -> None:
        """Store a reference to the first counter block, which has 16 bytes."""
        self._nonce = _byteslike("nonce", nonce)

    @property
    def nonce(self) -> Buffer:
        """The first counter block."""
        return self._nonce

    @property
    def _iv(self) -> Buffer:
        return self._nonce

    def validate_for_algorithm(self, algorithm: CipherAlgorithm) -> None:
        """Raise ValueError if the key or the nonce has the wrong length."""
        self._check_key(algorithm)
        if not isinstance(algorithm, BlockCipherAlgorithm):
            raise UnsupportedAlgorithm(f"{self.name} requires a block cipher algorithm")
        if _length(self._nonce) * 8 != algorithm.block_size:
            raise ValueError(f"Invalid nonce size ({_length(self._nonce)}) for {self.name}.")


class XTS(ModeWithTweak):
    """XEX with ciphertext stealing, for storage. The tweak is the number of the data unit as 16 little-endian bytes."""

    name = "XTS"
    _number = 8

    def __init__(self, tweak: Buffer) -> None:
        """Store a reference to the tweak, which has 16 bytes.

        Raises:
            ValueError: ``tweak`` has the wrong length.
        """
        self._tweak = _byteslike("tweak", tweak)
        if _length(tweak) != 16:
            raise ValueError("tweak must be 128-bits (16 bytes)")

    @property
    def tweak(self) -> Buffer:
        """The tweak."""
        return self._tweak

    @property
    def _iv(self) -> Buffer:
        return self._tweak

    def validate_for_algorithm(self, algorithm: CipherAlgorithm) -> None:
        """Raise ValueError unless the key consists of two 128-bit or 256-bit keys. Raise TypeError for AES128 and
        AES256."""
        if isinstance(algorithm, (AES128, AES256)):
            raise TypeError(
                "The AES128 and AES256 classes do not support XTS, please use the standard AES class instead."
            )
        if algorithm.key_size not in (256, 512):
            raise ValueError(
                "The XTS specification requires a 256-bit key for AES-128-XTS and 512-bit key for AES-256-XTS"
            )


class GCM(ModeWithInitializationVector, ModeWithAuthenticationTag):
    """Galois/counter mode."""

    name = "GCM"
    _number = 9

    def __init__(self, initialization_vector: Buffer, tag: bytes | None = None, min_tag_length: int = 16) -> None:
        """Store a reference to the initialization vector.

        Args:
            initialization_vector: 8 to 128 bytes, preferably 12.
            tag: The expected tag for decryption, at most 16 bytes. None for encryption, or if the tag will be passed to
                ``finalize_with_tag``.
            min_tag_length: The minimum accepted length of a tag in bytes, at least 4.

        Raises:
            ValueError: A length is out of range.
            TypeError: ``initialization_vector`` is not a buffer, or ``tag`` is not bytes.
        """
        super().__init__(initialization_vector)
        if not 8 <= _length(initialization_vector) <= 128:
            raise ValueError("initialization_vector must be between 8 and 128 bytes (64 and 1024 bits).")
        if min_tag_length < 4:
            raise ValueError("min_tag_length must be >= 4")
        if tag is not None:
            if not isinstance(tag, bytes):
                raise TypeError("tag must be bytes")
            if len(tag) < min_tag_length:
                raise ValueError(f"Authentication tag must be {min_tag_length} bytes or longer.")
        self._tag = tag
        self._min_tag_length = min_tag_length

    @property
    def tag(self) -> bytes | None:
        """The expected tag, or None."""
        return self._tag

    def validate_for_algorithm(self, algorithm: CipherAlgorithm) -> None:
        """Raise ValueError if the key has the wrong length or the tag is too long."""
        self._check_key(algorithm)
        if not isinstance(algorithm, BlockCipherAlgorithm):
            raise UnsupportedAlgorithm("GCM requires a block cipher algorithm")
        if self._tag is not None and len(self._tag) > 16:
            raise ValueError("Authentication tag cannot be more than 16 bytes.")
