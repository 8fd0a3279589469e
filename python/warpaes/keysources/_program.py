"""Programs that print keys. Their output and the arguments on their command lines are secret."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence

from .._key_files import MOST_BYTES, environment_of_programs
from ._source import KeySourceError, UnavailableError

# A variable that is set for the program: NAME=VALUE, where the shell does not expand VALUE.
_SETTING = r"""[A-Za-z_][A-Za-z0-9_]*=(?:[\w@%+=:,./-]|'[^']*'|"[^"$`\\!]*")*+"""
_COMMAND = re.compile(rf"\s*+(?:{_SETTING}[ \t]++)*+([\w@%+:,./-]++)(?=[\s;&|]|$)", re.ASCII)
_LONGEST_NAME = 40


def run_program(
    name: str,
    arguments: Sequence[str] | str,
    *,
    stdin: bytes | None = None,
    environment: Mapping[str, str] | None = None,
    quiet: bool = False,
) -> bytes:
    """Return the output of a program. If ``arguments`` is a string, the shell runs it.

    The program's standard error is inherited or, with ``quiet``, included in the exception. Any exit status other than
    0 raises ``KeySourceError``, and the output is not used. The program inherits no descriptor except standard error,
    and no variable that contains a key. ``environment`` contains additional variables.
    """
    try:
        process = subprocess.Popen(
            arguments,
            shell=isinstance(arguments, str),
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if quiet else None,
            env=environment_of_programs() | dict(environment or {}),
            close_fds=True,
        )
    except OSError as error:
        raise UnavailableError(f"{name}: cannot start the program: {error.strerror}") from None
    with process:
        try:
            if stdin is None and not quiet:
                assert process.stdout is not None
                output, errors = process.stdout.read(MOST_BYTES + 1), b""
                if len(output) > MOST_BYTES:
                    raise KeySourceError(f"{name}: printed more than {MOST_BYTES} bytes, which is too long for a key")
            else:
                output, errors = process.communicate(stdin)
        except BaseException:
            process.kill()
            raise
        process.wait()
    if process.returncode != 0:
        end = f"exit status {process.returncode}" if process.returncode > 0 else f"signal {-process.returncode}"
        said = (errors or b"").decode(errors="replace").strip().replace("\n", "; ")
        raise KeySourceError(f"{name}: failed with {end}{': ' if said else ''}{said}; its output was not used")
    return output


def program_name(command: str) -> str:
    """Return the name of the program in a shell command such as ``NAME='A SECRET' program SECRET``, or ``exec:`` if the
    name is uncertain.

    Messages, manifests and records must not contain any other part of a command.
    """
    try:
        shlex.split(command)  # raises ValueError for unbalanced quotes
        found = _COMMAND.match(command)
    except ValueError:
        found = None
    name = os.path.basename(found[1]) if found else ""
    looks_like_key = len(name) > _LONGEST_NAME or re.fullmatch("[0-9a-fA-F]{32,}", name)
    return "exec:" if looks_like_key else f"exec:{name}"
