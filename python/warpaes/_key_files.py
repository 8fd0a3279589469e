"""Reading of key files, with the same limits and the same warning as in the command.

All key files are read through this module, so that every file that other users can open causes the warning.
"""

from __future__ import annotations

import logging
import os
import re
import stat
from collections.abc import Iterable

from .exceptions import KeysetError

MOST_BYTES = 1 << 20  # the command's limit; a keyset is far smaller

#: A variable as a place, or in a keyset's place after passphrase=, kek= or a prefix.
_NAMED = re.compile(r"(?:^|[=;:])env:([^;]*)")
_secret_variables: set[str] = set()
_warned_of: set[str] = set()


def keep_from_programs(places: Iterable[str]) -> None:
    """Remove the variables that places name from the environment of every program that this process starts.

    ``read_secret`` does this for its own place. A command passes all its places to this function before it reads the
    first one.
    """
    for place in places:
        _secret_variables.update(_NAMED.findall(place))


def environment_of_programs() -> dict[str, str]:
    """Return this process's environment without the variables that contain keys."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in _secret_variables and not name.startswith("WARPAES_KEYSET")
    }


def read_file(path: str) -> bytes:
    """Read a key file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return read_descriptor(f"'{path}'", descriptor)
    finally:
        os.close(descriptor)


def warn_if_others_can_read(name: str, file: int | str) -> None:
    """Warn once, as the command does, if other users of the machine can open a key file.

    Args:
        name: The file's name in the warning.
        file: The open file, or its path.
    """
    found = os.stat(file)
    if stat.S_ISREG(found.st_mode) and found.st_mode & 0o077 and name not in _warned_of:
        _warned_of.add(name)
        logging.getLogger("warpaes").warning(
            "warpaes: warning: %s is open to other users of this machine (mode %03o); `chmod 600` closes it",
            name,
            found.st_mode & 0o777,
        )


def read_descriptor(name: str, descriptor: int) -> bytes:
    """Read an open key file. ``name`` is the file's name in messages."""
    warn_if_others_can_read(name, descriptor)
    content = bytearray()
    while len(content) <= MOST_BYTES and (piece := os.read(descriptor, MOST_BYTES + 1 - len(content))):
        content += piece
    if len(content) > MOST_BYTES:
        raise KeysetError(f"{name}: has more than {MOST_BYTES} bytes and is not a key")
    return bytes(content)
