"""Keys from where keys are kept: files, programs, key managers, tokens and TPMs, behind one interface.

A **key source** wraps data keys under a key that it keeps; ``from_url`` makes one. A keyset wrapped by a source is
Tink's encrypted keyset (``write_keyset``, ``read_keyset``). docs/keys.md says what each source is, and who sees keys.
"""

from __future__ import annotations

from ._local import LocalSource, file_source, generate_kek, program_source
from ._source import (
    BadAnswerError,
    DeniedError,
    ExhaustedError,
    KeySource,
    KeySourceError,
    UnavailableError,
    UnknownKeyError,
)
from ._tink import read_keyset, write_keyset

__all__ = [
    "BadAnswerError",
    "DeniedError",
    "ExhaustedError",
    "KeySource",
    "KeySourceError",
    "LocalSource",
    "UnavailableError",
    "UnknownKeyError",
    "from_url",
    "generate_kek",
    "read_keyset",
    "write_keyset",
]

KINDS = "file:PATH or exec:COMMAND"


def from_url(url: str) -> KeySource:
    """Return the source that a URL names. Nothing is read and nobody is asked before it is used."""
    scheme, _, rest = url.partition(":")
    if scheme == "file":
        return file_source(rest.removeprefix("//"))
    if scheme == "exec":
        return program_source(rest)
    raise ValueError(f"key source: must be {KINDS}, not {scheme or 'nothing'}:…")
