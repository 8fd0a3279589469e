"""What every key source is, and how it fails."""

from __future__ import annotations

import abc
import secrets
from types import TracebackType
from typing import Self

from .._fork_lock import ForkLock
from ..exceptions import Error, InvalidUnwrap


class KeySourceError(Error):
    """A key source failed; the subclasses below name the reason."""


class DeniedError(KeySourceError):
    """It knows us and says no, or does not know us: a token, a PIN, a certificate, a policy."""


class UnavailableError(KeySourceError):
    """It cannot be reached, is not installed, is sealed, or said that it is out of order: try again later."""


class UnknownKeyError(KeySourceError):
    """It has no such key, or no longer: never made, expired, revoked, disabled, deleted, or handed out already."""


class ExhaustedError(KeySourceError):
    """It has no more keys now, or its key has wrapped as many as it may."""


class BadAnswerError(KeySourceError):
    """What it answered is cut off, or not what the protocol says."""


class KeySource(abc.ABC):
    """Wraps data keys under a key that does not leave it. Any thread may call it."""

    #: The name of the source in messages and manifests. Never a secret.
    name: str

    @abc.abstractmethod
    def wrap(self, data_key: bytes, associated_data: bytes = b"") -> bytes:
        """Encrypt a data key, or a keyset, of up to 4 KiB; ``associated_data`` have to be the same to unwrap it."""

    @abc.abstractmethod
    def unwrap(self, wrapped: bytes, associated_data: bytes = b"") -> bytes:
        """Decrypt it again. ``InvalidUnwrap``: another key, other associated data, or altered."""

    @property
    def wraps(self) -> int:
        """How many keys this object has wrapped, where a key may wrap only 2^32 (docs/keys.md); otherwise 0."""
        return 0

    def close(self) -> None:  # noqa: B027 (most have nothing to close)
        """Close sessions and connections."""

    def __enter__(self) -> Self:
        """Use it in a ``with`` block, which closes it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()


class ProvingSource(KeySource):
    """A source that passes associated data on, and could be answered as if there were none.

    Vault before 1.13 does not know them, and a token's module may leave them out. So the first use proves that a
    wrapped key does not open under others.
    """

    def __init__(self) -> None:
        """Start without proof."""
        self._proof = ForkLock()
        self._proven = False

    @abc.abstractmethod
    def _wrap(self, data_key: bytes, associated_data: bytes) -> bytes:
        """Encrypt a data key."""

    @abc.abstractmethod
    def _unwrap(self, wrapped: bytes, associated_data: bytes) -> bytes:
        """Decrypt it."""

    def wrap(self, data_key: bytes, associated_data: bytes = b"") -> bytes:
        """Encrypt a data key; first, a probe."""
        check_length(data_key)
        with self._proof:
            if not self._proven:
                self._prove_with_probe()
                self._proven = True
        return self._wrap(data_key, associated_data)

    def unwrap(self, wrapped: bytes, associated_data: bytes = b"") -> bytes:
        """Decrypt a data key; the first one has to be refused under other associated data."""
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
            raise BadAnswerError(f"{self.name}: it does not unwrap the key that it has just wrapped")
        self._must_refuse(wrapped, purpose)

    def _must_refuse(self, wrapped: bytes, associated_data: bytes) -> None:
        try:
            self._unwrap(wrapped, associated_data + b" of another")
        except InvalidUnwrap:
            return
        raise self._ignores("it unwraps a key under other associated data than it was wrapped with")

    def _ignores(self, how: str) -> BadAnswerError:
        return BadAnswerError(f"{self.name}: it ignores associated data: {how}; nothing is wrapped or unwrapped by it")


class WrapCount:
    """How often a key for AES-GCM with random nonces has wrapped, up to the limit of such keys (NIST SP 800-38D, 8.3).

    It counts for one source object. Several objects, processes and jobs with the same key add up.
    """

    def __init__(self) -> None:
        """Start at 0."""
        self._lock = ForkLock()
        self.value = 0

    def add(self, name: str) -> None:
        """Count one more wrap by the source ``name``, or refuse it."""
        with self._lock:
            if self.value >= MOST_WRAPS:
                raise ExhaustedError(
                    f"{name}: its key has wrapped {MOST_WRAPS} keys, the limit for AES-GCM with random nonces: "
                    "wrap with a new key"
                )
            self.value += 1


def printable(text: str, length: int = 300) -> str:
    """Return the beginning of a text from a server, without what a terminal would not show as it is."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:length])


MOST_BYTES = 4096
MOST_WRAPS = 2**32


def check_length(data_key: bytes) -> None:
    """What AWS KMS takes is what all take, so that sources can be exchanged."""
    if not 0 < len(data_key) <= MOST_BYTES:
        raise ValueError(f"data_key: must have 1 to {MOST_BYTES} bytes, has {len(data_key)}; wrap a key, not the data")
