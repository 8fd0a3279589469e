"""Opens files below a folder without following any link in the path (openat2 in Linux 5.6)."""

from __future__ import annotations

import ctypes

_OPENAT2 = 437  # the same on all architectures
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 2, 4, 8


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_syscall = ctypes.CDLL(None).syscall
_syscall.restype = ctypes.c_long
_syscall.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(_How), ctypes.c_size_t]
_hows: dict[int, _How] = {}


def open_beneath(folder: int, path: bytes, flags: int) -> int:
    """Open a file by its path below a folder. Return -1 on any failure; the caller then opens folder by folder to
    determine the reason.

    Kernels before 5.6 and some sandboxes do not support the system call.
    """
    how = _hows.get(flags)
    if how is None:
        how = _hows[flags] = _How(flags, 0, _NO_MAGICLINKS | _NO_SYMLINKS | _BENEATH)
    return int(_syscall(_OPENAT2, folder, path, how, ctypes.sizeof(_How)))
