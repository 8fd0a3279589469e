"""The commands of ``warpaes bulk`` that run a job. A command's module is loaded only when the command is used."""

from __future__ import annotations

import importlib

from .job import Run
from .listing import Options

#: The module and class of each command.
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
    """Create the run of the command that the options name."""
    module, name = COMMANDS[options.command]
    run: Run = getattr(importlib.import_module(f".{module}", __package__), name)(options)
    return run
