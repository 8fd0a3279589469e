"""AES at the speed of the hardware, on GPUs and CPUs.

Importing the package neither looks for backends nor initializes a GPU. The first operation creates the process's
engine. A process created by ``fork`` creates its own engine at its first operation. That engine runs on the CPU.
"""

from __future__ import annotations

import pathlib

from . import aead, ciphers, cmac, exceptions, keywrap
from ._native import Memory, _refuse_subinterpreters, backends, configure, copy, inspect
from ._native import version as __version__
from ._open import open
from .files import Keyset, Reader, SealedReader, SealedTextWriter, SealedWriter, Writer
from .random import Generator

_refuse_subinterpreters()

__all__ = [
    "Generator",
    "Keyset",
    "Memory",
    "Reader",
    "SealedReader",
    "SealedTextWriter",
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
    """Return the include folder for ``-I``, which contains ``warpaes/warpaes.h`` and the library's other headers."""
    return str(pathlib.Path(__file__).parent / "include")


def get_library() -> str:
    """Return the path of ``libwarpaes.so``, for the linker."""
    return str(pathlib.Path(__file__).parent / "lib" / "libwarpaes.so.1")
