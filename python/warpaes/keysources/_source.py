"""The interface and the exceptions of key sources."""

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
    """The source refused the caller: a token, a PIN, a certificate, a policy."""


class UnavailableError(KeySourceError):
    """The source is unreachable, not installed, sealed or out of order: try again later."""


class UnknownKeyError(KeySourceError):
    """The source has no such key: never created, expired, revoked, disabled, deleted, or already delivered."""


class ExhaustedError(KeySourceError):
    """The source has no more keys now, or its key has reached its limit of wraps."""


class BadAnswerError(KeySourceError):
    """The source's answer is truncated or violates the protocol."""


class KeySource(abc.ABC):
    """Wraps data keys under a key that does not leave it. Any thread may call it."""

    #: The name of the source in messages and manifests. Never a secret.
    name: str

    @abc.abstractmethod
    def wrap(self, data_key: bytes, associated_data: bytes = b"") -> bytes:
        """Encrypt a data key or a keyset of up to 4 KiB; unwrapping needs the same ``associated_data``."""

    @abc.abstractmethod
    def unwrap(self, wrapped: bytes, associated_data: bytes = b"") -> bytes:
        """Decrypt it again. ``InvalidUnwrap``: another key, other associated data, or altered."""

    @property
    def wraps(self) -> int:
        """Number of keys that this object has wrapped, if a key may wrap only 2^32 (docs/keys.md); otherwise 0."""
        return 0

    def close(self) -> None:  # noqa: B027 (most have nothing to close)
        """Close sessions and connections."""

    def __enter__(self) -> Self:
        """Return the source; the ``with`` block closes it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()


class ProvingSource(KeySource):
    """A source that passes associated data on to a service that might ignore it.

    Vault before 1.13 does not support it, and a token's module may ignore it. So the first use proves that a wrapped
    key does not open under other associated data.
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
        """Encrypt a data key, after a probe at the first use."""
        check_length(data_key)
        with self._proof:
            if not self._proven:
                self._prove_with_probe()
                self._proven = True
        return self._wrap(data_key, associated_data)

    def unwrap(self, wrapped: bytes, associated_data: bytes = b"") -> bytes:
        """Decrypt a data key; at the first use the source must refuse it under other associated data."""
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
            raise BadAnswerError(f"{self.name}: it cannot unwrap the key that it has just wrapped")
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
    """Counts the wraps of a key for AES-GCM with random nonces, up to the limit of such keys (NIST SP 800-38D, 8.3).

    It counts for one source object. Wraps by several objects, processes and jobs with the same key add up.
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
    """Return the beginning of a text from a server, safe for a terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:length])


MOST_BYTES = 4096
MOST_WRAPS = 2**32


def check_length(data_key: bytes) -> None:
    """AWS KMS's limits apply to all sources, so that sources can be exchanged."""
    if not 0 < len(data_key) <= MOST_BYTES:
        raise ValueError(f"data_key: must have 1 to {MOST_BYTES} bytes, has {len(data_key)}; wrap a key, not the data")
