"""What the package's commands have in common."""

from __future__ import annotations

import ctypes
import os
import resource
import sys
from collections.abc import Sequence

from ._printable import printable

Statuses = Sequence[tuple[type[BaseException], int]]


_PR_SET_DUMPABLE = 4


def secure_process() -> None:
    """Keep this process's memory, which has keys, out of core files and away from other processes of the same user.

    The program ``warpaes`` does the same. A program that is executed starts without it, so spawned workers call this
    too.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def failed(error: BaseException, statuses: Statuses, otherwise: str = "") -> int:
    """Say what went wrong, or `otherwise` if the error has no words; return its exit status, the first that fits."""
    said = str(error) or otherwise
    if isinstance(error, OSError) and error.filename is not None:
        said = f"'{error.filename}': {error.strerror}"
    print(f"warpaes: {printable(said)}", file=sys.stderr)
    return next(status for kind, status in statuses if isinstance(error, kind))
