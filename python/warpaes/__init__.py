"""AES at the speed of the hardware, on GPUs and CPUs.

Nothing is looked for and no GPU is woken by importing this: the process's engine is made when it is first needed, and
again in a child of ``fork``, which computes on the CPU.
"""

from __future__ import annotations

import pathlib

from . import aead, ciphers, cmac, exceptions, keywrap
from ._native import Memory, _refuse_subinterpreters, backends, configure, copy, inspect
from ._native import version as __version__
from .files import Keyset, Reader, SealedReader, SealedWriter, Writer, open
from .random import Generator

_refuse_subinterpreters()

__all__ = [
    "Generator",
    "Keyset",
    "Memory",
    "Reader",
    "SealedReader",
    "SealedWriter",
    "Writer",
    "__version__",
    "aead",
    "backends",
    "ciphers",
    "cmac",
    "configure",
    "copy",
    "exceptions",
    "get_include",
    "get_library",
    "inspect",
    "keywrap",
    "open",
]


def get_include() -> str:
    """The folder for ``-I`` that has the headers of the library: ``warpaes/warpaes.h`` and the others."""
    return str(pathlib.Path(__file__).parent / "include")


def get_library() -> str:
    """The path of ``libwarpaes.so``, to link with."""
    return str(pathlib.Path(__file__).parent / "lib" / "libwarpaes.so.1")
