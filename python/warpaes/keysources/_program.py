"""Other people's programs: what they print is a secret, and what they say of errors is told."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence

from ._source import KeySourceError, UnavailableError

# As the command: a keyset is smaller by far.
MOST_OUTPUT = 1 << 20


def run_program(
    name: str,
    arguments: Sequence[str] | str,
    *,
    stdin: bytes | None = None,
    environment: Mapping[str, str] | None = None,
    quiet: bool = False,
) -> bytes:
    """Return what a program prints, which a string of ``arguments`` starts by the shell.

    Its standard error is passed on, or with ``quiet`` stands in the exception. Anything but exit status 0 is a
    ``KeySourceError``, and what it printed is not used.
    """
    try:
        process = subprocess.Popen(
            arguments,
            shell=isinstance(arguments, str),
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if quiet else None,
            env=environment,
        )
    except OSError as error:
        raise UnavailableError(f"{name}: cannot start {arguments[0]}: {error.strerror}") from None
    with process:
        try:
            if stdin is None and not quiet:
                assert process.stdout is not None
                output, errors = process.stdout.read(MOST_OUTPUT + 1), b""
                if len(output) > MOST_OUTPUT:
                    raise KeySourceError(f"{name}: printed more than {MOST_OUTPUT} bytes, which is no key")
            else:
                output, errors = process.communicate(stdin)
        except BaseException:
            process.kill()
            raise
        process.wait()
    if process.returncode != 0:
        end = f"exit status {process.returncode}" if process.returncode > 0 else f"signal {-process.returncode}"
        said = (errors or b"").decode(errors="replace").strip().replace("\n", "; ")
        raise KeySourceError(f"{name}: failed with {end}{': ' if said else ''}{said}; nothing of it was taken")
    return output


def program_name(command: str) -> str:
    """Return what of a command may stand in messages and manifests: its program, as in `NAME=SECRET program SECRET`."""
    words = (word for word in command.split() if "=" not in word)
    return f"exec:{os.path.basename(next(words, 'program'))}"


def environment_without_keyset() -> dict[str, str]:
    """Ours, but for what could make a program that is asked for a keyset ask for it again."""
    return {key: value for key, value in os.environ.items() if key != "WARPAES_KEYSET"}
