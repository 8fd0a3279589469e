"""The package's exceptions, with pyca/cryptography's names.

Invalid arguments raise ``TypeError``, ``ValueError`` or ``BufferError``. A file that is missing or cannot be read or
written raises ``OSError`` or one of its subclasses.
"""

from __future__ import annotations

__all__ = [
    "AlreadyFinalized",
    "AlreadyUpdated",
    "Error",
    "FormatError",
    "InvalidSignature",
    "InvalidTag",
    "InvalidUnwrap",
    "KeysetError",
    "NotYetFinalized",
    "UnsupportedAlgorithm",
]


class Error(RuntimeError):
    """A failure that has no exception class, such as a missing backend, a failed GPU or a call out of order."""


class InvalidTag(Exception):  # noqa: N818 (pyca's name)
    """The message is not authentic: the key, the nonce or the associated data is wrong, or the data was altered."""


class InvalidSignature(Exception):  # noqa: N818
    """The tag or signature to verify does not match the message."""


class InvalidUnwrap(Exception):  # noqa: N818
    """The wrapped key is not authentic."""


class AlreadyFinalized(Exception):  # noqa: N818
    """The message has already ended."""


class AlreadyUpdated(Exception):  # noqa: N818
    """Associated data was added after the first ``update``."""


class NotYetFinalized(Exception):  # noqa: N818
    """The tag was requested before the message ended."""


class UnsupportedAlgorithm(Exception):  # noqa: N818
    """The algorithm does not exist or does not support the operation."""


class FormatError(ValueError):
    """The file does not have the expected format, or is truncated."""


class KeysetError(ValueError):
    """The input is not a keyset, or no key in the keyset supports the operation."""
