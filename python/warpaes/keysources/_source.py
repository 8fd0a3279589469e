"""What every key source is, and how it fails."""

from __future__ import annotations

import abc
from types import TracebackType
from typing import Self

from ..exceptions import Error


class KeySourceError(Error):
    """A key source did not do what it was asked for; the kinds below say why."""


class DeniedError(KeySourceError):
    """It knows us and says no, or does not know us: a token, a PIN, a certificate, a policy."""


class UnavailableError(KeySourceError):
    """It cannot be reached, is not installed, is sealed, or said that it is out of order: try again later."""


class UnknownKeyError(KeySourceError):
    """It has no such key, or no longer: never made, expired, revoked, disabled, deleted, or handed out already."""


class ExhaustedError(KeySourceError):
    """It has no more keys now."""


class BadAnswerError(KeySourceError):
    """What it answered is cut off, or not what the protocol says."""


class KeySource(abc.ABC):
    """Wraps data keys under a key that does not leave it. Any thread may call it."""

    #: By what it is called in messages and manifests. Never a secret.
    name: str

    @abc.abstractmethod
    def wrap(self, data_key: bytes, associated_data: bytes = b"") -> bytes:
        """Encrypt a data key, or a keyset, of up to 4 KiB; ``associated_data`` have to be the same to unwrap it."""

    @abc.abstractmethod
    def unwrap(self, wrapped: bytes, associated_data: bytes = b"") -> bytes:
        """Decrypt it again. ``InvalidUnwrap``: another key, other associated data, or altered."""

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


MOST_BYTES = 4096


def check_length(data_key: bytes) -> None:
    """What AWS KMS takes is what all take, so that sources can be exchanged."""
    if not 0 < len(data_key) <= MOST_BYTES:
        raise ValueError(f"data_key: must have 1 to {MOST_BYTES} bytes, has {len(data_key)}; wrap a key, not the data")
