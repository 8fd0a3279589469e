"""Places of keys, as named on command lines: a path, ``env:NAME``, ``fd:N`` or ``exec:COMMAND``.

Files and descriptors are read by ``_key_files``.
"""

from __future__ import annotations

import os
import re

from ._key_files import keep_from_programs, read_descriptor, read_file
from .exceptions import KeysetError

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def read_secret(place: str) -> bytes:
    """Read a keyset or a key from its place."""
    kind, separator, rest = place.partition(":")
    if separator and kind == "exec":
        from .keysources._program import run_program

        if not rest.strip():
            raise ValueError("exec: must be followed by a command that prints a key")
        return run_program(shown(place), rest)
    if separator and kind == "env":
        keep_from_programs([place])
        if rest not in os.environ:
            raise ValueError(f"{shown(place)}: this environment variable is not set")
        return os.environ[rest].encode(errors="surrogateescape")
    if separator and kind == "fd":
        if not re.fullmatch("[0-9]{1,9}", rest):
            raise ValueError("fd: must be followed by the number of an open descriptor")
        return read_descriptor(shown(place), int(rest))
    return read_file(rest if separator and kind == "file" else place)


def shown(place: str) -> str:
    """Return the part of a place that cannot be secret, which messages, manifests and records may contain."""
    kind, separator, rest = place.partition(":")
    if separator and kind == "exec":
        from .keysources._program import program_name

        return program_name(rest)
    if separator and kind in ("env", "fd"):
        return place if re.fullmatch("[0-9]+" if kind == "fd" else _VARIABLE, rest) else f"{kind}:"
    return "file:" + os.path.basename(rest if separator and kind == "file" else place)


# ------------------------------------------------------------------------- keys by place, for objects that are loaded


def _check_named(place: str) -> None:
    """Check that a place begins with its kind. The error message does not quote the place, which may be a key."""
    if not isinstance(place, str) or place.partition(":")[0] not in ("file", "env", "fd", "exec"):
        raise ValueError("place must be file:PATH, env:NAME, fd:NUMBER or exec:COMMAND")


def read_key(place: str) -> bytes:
    """Read a key from a place that contains hexadecimal digits or raw bytes.

    Raises:
        ValueError: The place does not begin with its kind, or the environment variable is not set.
        KeysetError: The place contains text that is not hexadecimal, such as a passphrase.
        OSError: The place cannot be read.
    """
    from ._native import Keyset

    _check_named(place)
    content = read_secret(place)
    text = content.removeprefix(b"\xef\xbb\xbf").strip()
    if re.fullmatch(rb"(?:[0-9a-fA-F]{2}){1,128}", text):
        return bytes.fromhex(text.decode())
    try:
        Keyset.check_raw(content)
    except KeysetError as error:
        raise KeysetError(f"{shown(place)}: {error}") from None
    return content


def lasting_place(place: str) -> str | None:
    """Return a place in a form that other processes can use, or None for a descriptor, which only this process has."""
    kind, _, rest = place.partition(":")
    return None if kind == "fd" else f"file:{os.path.abspath(rest)}" if kind == "file" else place
