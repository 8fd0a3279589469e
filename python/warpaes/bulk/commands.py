"""The commands of warpaes bulk that run a job."""

from __future__ import annotations

from .adopt import Adopt
from .encrypt import Decrypt, Encrypt
from .job import Run
from .listing import Options
from .rekey import Rekey, Rewrap
from .verify import Verify

COMMANDS: dict[str, type[Run]] = {
    "adopt": Adopt,
    "decrypt": Decrypt,
    "encrypt": Encrypt,
    "rekey": Rekey,
    "rewrap": Rewrap,
    "verify": Verify,
}


def make_run(options: Options) -> Run:
    """Return a run of the command that the options name."""
    return COMMANDS[options.command](options)
