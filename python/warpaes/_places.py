"""Places of keys, as command lines name them: a path, ``env:NAME``, ``fd:N`` or ``exec:COMMAND``.

Every file of keys is read here, so that each one that other users can open causes the command's warning.
"""

from __future__ import annotations

import logging
import os
import re
import stat
from collections.abc import Iterable

from .exceptions import KeysetError

MOST_BYTES = 1 << 20  #: the command's limit too; a keyset is far smaller

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: As a place, or in the place of a keyset after passphrase=, kek= or a mark.
_NAMED = re.compile(r"(?:^|[=;:])env:([^;]*)")
_secret_variables: set[str] = set()
_warned_of: set[str] = set()


def keep_from_programs(places: Iterable[str]) -> None:
    """Keep the variables that places name out of the environment of every program that this process starts.

    ``read_secret`` does so for its own place. A command passes all of its places here before it reads the first.
    """
    for place in places:
        _secret_variables.update(_NAMED.findall(place))


def environment_of_programs() -> dict[str, str]:
    """Return this process's environment without the variables of keys."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in _secret_variables and not name.startswith("WARPAES_KEYSET")
    }


def read_secret(place: str) -> bytes:
    """Read a keyset or a key from its place."""
    kind, separator, rest = place.partition(":")
    if separator and kind == "exec":
        from .keysources._program import run_program

        if not rest.strip():
            raise ValueError("exec: is followed by no command: one that prints a key belongs there")
        return run_program(shown(place), rest)
    if separator and kind == "env":
        keep_from_programs([place])
        if rest not in os.environ:
            raise ValueError(f"{shown(place)}: the environment has no such variable")
        return os.environ[rest].encode(errors="surrogateescape")
    if separator and kind == "fd":
        if not re.fullmatch("[0-9]{1,9}", rest):
            raise ValueError("fd: must be followed by the number of an open descriptor")
        return _read(shown(place), int(rest))
    return read_file(rest if separator and kind == "file" else place)


def read_file(path: str) -> bytes:
    """Read a file of keys."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return _read(f"'{path}'", descriptor)
    finally:
        os.close(descriptor)


def shown(place: str) -> str:
    """Return the part of a place that may stand in messages, manifests and records: nothing that may be secret."""
    kind, separator, rest = place.partition(":")
    if separator and kind == "exec":
        from .keysources._program import program_name

        return program_name(rest)
    if separator and kind in ("env", "fd"):
        return place if re.fullmatch("[0-9]+" if kind == "fd" else _VARIABLE, rest) else f"{kind}:"
    return "file:" + os.path.basename(rest if separator and kind == "file" else place)


def warn_if_others_can_read(name: str, file: int | str) -> None:
    """Warn once, in the command's words, if other users of the machine can open a file of keys.

    Args:
        name: The file's name in the sentence.
        file: The file, open, or its path.
    """
    found = os.stat(file)
    if stat.S_ISREG(found.st_mode) and found.st_mode & 0o077 and name not in _warned_of:
        _warned_of.add(name)
        logging.getLogger("warpaes").warning(
            "warpaes: warning: %s is open to other users of this machine (mode %03o); `chmod 600` closes it",
            name,
            found.st_mode & 0o777,
        )


def _read(name: str, descriptor: int) -> bytes:
    warn_if_others_can_read(name, descriptor)
    content = bytearray()
    while len(content) <= MOST_BYTES and (piece := os.read(descriptor, MOST_BYTES + 1 - len(content))):
        content += piece
    if len(content) > MOST_BYTES:
        raise KeysetError(f"{name}: has more than {MOST_BYTES} bytes, and is not a key")
    return bytes(content)


# ------------------------------------------------------------------------- keys by their place, for objects that load


def _check_named(place: str) -> None:
    """Check that a place is named with its kind; the sentence does not repeat what may be a key."""
    if not isinstance(place, str) or place.partition(":")[0] not in ("file", "env", "fd", "exec"):
        raise ValueError("place must be file:PATH, env:NAME, fd:NUMBER or exec:COMMAND")


def read_key(place: str) -> bytes:
    """Read one key: hexadecimal digits, or raw bytes.

    Raises:
        ValueError: The place is not named with its kind, or the environment has no such variable.
        KeysetError: There is text that is no hexadecimal number: a passphrase, or another thing than a key.
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
    """Return a place as another process finds it; None for a descriptor, which only this process has."""
    kind, _, rest = place.partition(":")
    return None if kind == "fd" else f"file:{os.path.abspath(rest)}" if kind == "file" else place
