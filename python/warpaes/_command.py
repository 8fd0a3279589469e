"""What the package's commands have in common."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ._printable import printable

Statuses = Sequence[tuple[type[BaseException], int]]


def failed(error: BaseException, statuses: Statuses, otherwise: str = "") -> int:
    """Say what went wrong, or `otherwise` if the error has no words; return its exit status, the first that fits."""
    said = str(error) or otherwise
    if isinstance(error, OSError) and error.filename is not None:
        said = f"'{error.filename}': {error.strerror}"
    print(f"warpaes: {printable(said)}", file=sys.stderr)
    return next(status for kind, status in statuses if isinstance(error, kind))
