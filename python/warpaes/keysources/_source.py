"""The interface and the exceptions of key sources."""

from __future__ import annotations

import abc
import secrets
from types import TracebackType
from typing import Self

from .._fork_lock import ForkLock
from ..exceptions import Error, InvalidUnwrap


class KeySourceError(Error):
    """A key source failed. The subclasses name the reason."""


class DeniedError(KeySourceError):
    """The source denied access because of a token, a PIN, a certificate or a policy."""


class UnavailableError(KeySourceError):
    """The source is unreachable, not installed, sealed or out of service. Try again later."""


class UnknownKeyError(KeySourceError):
    """The source does not have the key: it was never created, or is expired, revoked, disabled, deleted or already
    delivered."""


class ExhaustedError(KeySourceError):
    """The source currently has no more keys, or its key has reached the limit for wrapping."""


class BadAnswerError(KeySourceError):
    """The source's answer is truncated or violates the protocol."""


class KeySource(abc.ABC):
    """Wraps data keys under a key that does not leave the source. The class is thread-safe."""

    #: The name of the source in messages and manifests. It is never secret.
    name: str

    @abc.abstractmethod
    def wrap(self, data_key: bytes, associated_data: bytes = b"") -> bytes:
        """Encrypt a data key or a keyset of up to 4 KiB. Unwrapping requires the same ``associated_data``."""

    @abc.abstractmethod
    def unwrap(self, wrapped: bytes, associated_data: bytes = b"") -> bytes:
        """Decrypt a wrapped key. Raises InvalidUnwrap if the key or the associated data differ, or the wrapped key was
        altered."""

    @property
    def wraps(self) -> int:
        """Number of keys that this object has wrapped if the limit of 2^32 keys applies (docs/keys.md), otherwise 0."""
        return 0

    def close(self) -> None:  # noqa: B027 (most have nothing to close)
        """Close sessions and connections."""

    def __enter__(self) -> Self:
        """Return the source, which the ``with`` block closes."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the source."""
        self.close()


class ProvingSource(KeySource):
    """A source that passes associated data to a service that might ignore the data.

    Vault before 1.13 does not support associated data, and a token's module may ignore it. Therefore, the first use
    tests that a wrapped key does not open under other associated data.
    """

    def __init__(self) -> None:
        """Start in the untested state."""
        self._proof = ForkLock()
        self._proven = False

    @abc.abstractmethod
    def _wrap(self, data_key: bytes, associated_data: bytes) -> bytes:
        """Encrypt a data key."""

    @abc.abstractmethod
    def _unwrap(self, wrapped: bytes, associated_data: bytes) -> bytes:
        """Decrypt a data key."""

    def wrap(self, data_key: bytes, associated_data: bytes = b"") -> bytes:
        """Encrypt a data key. The first use also tests the source."""
        check_length(data_key)
        with self._proof:
            if not self._proven:
                self._prove_with_probe()
                self._proven = True
        return self._wrap(data_key, associated_data)

    def unwrap(self, wrapped: bytes, associated_data: bytes = b"") -> bytes:
        """Decrypt a data key. At first use, the source must refuse to decrypt the key under other associated data."""
        data_key = self._unwrap(wrapped, associated_data)
        with self._proof:
            if not self._proven:
                self._must_refuse(wrapped, associated_data)
                self._proven = True
        return data_key

    def _prove_with_probe(self) -> None:
        probe, purpose = secrets.token_bytes(32), b"warpaes probe"
        wrapped = self._wrap(probe, purpose)
        if self._unwrap(wrapped, purpose) != probe:
            raise BadAnswerError(f"{self.name}: the source cannot unwrap the key that it has just wrapped")
        self._must_refuse(wrapped, purpose)

    def _must_refuse(self, wrapped: bytes, associated_data: bytes) -> None:
        try:
            self._unwrap(wrapped, associated_data + b" of another")
        except InvalidUnwrap:
            return
        raise self._ignores("it unwraps a key under associated data that differ from those used for wrapping")

    def _ignores(self, how: str) -> BadAnswerError:
        return BadAnswerError(f"{self.name}: the source ignores associated data: {how}; it cannot be used")


class WrapCount:
    """Counts the wraps under an AES-GCM key with random nonces, up to the limit in NIST SP 800-38D, 8.3.

    The count covers one source object, but the limit applies to the total of all objects, processes and jobs with the
    key.
    """

    def __init__(self) -> None:
        """Start at 0."""
        self._lock = ForkLock()
        self.value = 0

    def add(self, name: str) -> None:
        """Count a wrap by the source ``name``, or raise an exception if the limit is reached."""
        with self._lock:
            if self.value >= MOST_WRAPS:
                raise ExhaustedError(
                    f"{name}: its key has wrapped {MOST_WRAPS} keys, the limit for AES-GCM with random nonces; "
                    "wrap with a new key"
                )
            self.value += 1


def printable(text: str, length: int = 300) -> str:
    """Return the beginning of a server's text, escaped for a terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:length])


MOST_BYTES = 4096
MOST_WRAPS = 2**32


def check_length(data_key: bytes) -> None:
    """Check the length of a data key. AWS KMS's limits apply to all sources, so that one source can replace another."""
    if not 0 < len(data_key) <= MOST_BYTES:
        raise ValueError(
            f"data_key: must have 1 to {MOST_BYTES} bytes, but has {len(data_key)}; wrap a key, not the data"
        )
