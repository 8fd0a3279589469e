"""The commands of warpaes bulk that run a job. A command's module is loaded when it is used."""

from __future__ import annotations

import importlib

from .job import Run
from .listing import Options

#: Module and class of each command.
COMMANDS = {
    "adopt": ("adopt", "Adopt"),
    "decrypt": ("encrypt", "Decrypt"),
    "encrypt": ("encrypt", "Encrypt"),
    "list": ("contents", "Contents"),
    "rekey": ("rekey", "Rekey"),
    "rewrap": ("rekey", "Rewrap"),
    "verify": ("verify", "Verify"),
}


def make_run(options: Options) -> Run:
    """Return a run of the command in the options."""
    module, name = COMMANDS[options.command]
    run: Run = getattr(importlib.import_module(f".{module}", __package__), name)(options)
    return run
