"""Exceptions, by the names that pyca/cryptography gives them.

Where a mistake is the caller's, ``TypeError``, ``ValueError`` and ``BufferError`` are raised; where a file is missing
or cannot be read or written, ``OSError`` and its kinds.
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
    """What no other exception describes: a backend that is not there, a GPU that fails, a call out of order."""


class InvalidTag(Exception):  # noqa: N818 (pyca's name)
    """Not authentic: wrong key, wrong associated data, or altered data."""


class InvalidSignature(Exception):  # noqa: N818
    """A tag that was to be verified is not the message's."""


class InvalidUnwrap(Exception):  # noqa: N818
    """A wrapped key is not authentic."""


class AlreadyFinalized(Exception):  # noqa: N818
    """The message has ended."""


class AlreadyUpdated(Exception):  # noqa: N818
    """Associated data come before any data."""


class NotYetFinalized(Exception):  # noqa: N818
    """The tag is known only when the message has ended."""


class UnsupportedAlgorithm(Exception):  # noqa: N818
    """No such algorithm, or it cannot do this."""


class FormatError(ValueError):
    """Not a file of the expected format, or a truncated one."""


class KeysetError(ValueError):
    """Not a keyset, or none of its keys can be used for this."""
