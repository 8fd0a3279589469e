"""Implements safetensors.torch with warpaes.safetensors. Without PyTorch, the tests that use it are skipped."""

from __future__ import annotations

import unittest
from functools import partial
from typing import Any

from . import load as _load
from . import load_file as _load_file
from . import save, save_file

load = partial(_load, framework="pt")
__all__ = ["load", "load_file", "save", "save_file"]


def load_file(filename: Any, device: Any = "cpu", *, backend: str = "mmap") -> dict[str, Any]:
    return _load_file(filename, "pt", device, backend)


def __getattr__(name: str) -> Any:
    """Return safetensors' own function if it neither reads nor writes files."""
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        import safetensors.torch as theirs
    except (ModuleNotFoundError, unittest.SkipTest):  # the replacement module for PyTorch raises SkipTest
        return skipped
    return getattr(theirs, name)


def skipped(*_: Any) -> None:
    raise unittest.SkipTest("the Python package torch is missing")
