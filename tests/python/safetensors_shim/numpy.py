"""Implements safetensors.numpy with warpaes.safetensors."""

from __future__ import annotations

from functools import partial

from . import load as _load
from . import load_file as _load_file
from . import save, save_file

load = partial(_load, framework="np")
load_file = partial(_load_file, framework="np")
__all__ = ["load", "load_file", "save", "save_file"]
