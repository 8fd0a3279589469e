"""Code shared by the package's commands."""

from __future__ import annotations

import contextlib
import ctypes
import io
import os
import resource
import sys
from collections.abc import Sequence

from ._printable import printable

Statuses = Sequence[tuple[type[BaseException], int]]


_PR_SET_DUMPABLE = 4


def secure_process() -> None:
    """Exclude this process's memory, which contains keys, from core dumps, and prevent other processes of the same user
    from reading it.

    The ``warpaes`` binary does the same. The setting is lost on exec, so spawned workers also call this function.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def prepare_streams() -> None:
    """Open /dev/null for closed standard streams, and let open streams accept any text.

    Without /dev/null, the first file that is opened would get the descriptor of standard output or standard error, and
    libraries would print to it. Characters that a stream's encoding lacks are written as escapes.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # gets the lowest free number
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def print_report(text: str) -> str:
    """Print the report of a finished command. Return the reason if this fails, otherwise ""."""
    try:
        print(text, flush=True)
    except (OSError, ValueError) as error:  # ValueError: the stream was closed
        with contextlib.suppress(OSError, ValueError):  # otherwise, Python would try to print again at exit
            descriptor = os.open(os.devnull, os.O_WRONLY)
            os.dup2(descriptor, sys.stdout.fileno())
            os.close(descriptor)
        return (error.strerror if isinstance(error, OSError) else None) or str(error)
    return ""


def failed(error: BaseException, statuses: Statuses, otherwise: str = "") -> int:
    """Print an error, or ``otherwise`` if the error has no text. Return the exit status of the first matching exception
    type."""
    said = str(error) or otherwise
    if isinstance(error, OSError) and error.filename is not None:
        said = f"'{error.filename}': {error.strerror}"
    print(f"warpaes: {printable(said)}", file=sys.stderr)
    return next(status for kind, status in statuses if isinstance(error, kind))
