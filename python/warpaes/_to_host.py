"""Loading of encrypted tensors from a file into host memory.

Threads read each piece directly to the final location of its plaintext, and decrypt it in place while it is still in
the cache.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from . import _native
from ._cryptotensors import framework_name, framework_shape
from ._pieces import Part, Tensor, cut, share, workers
from ._sealed_file import SealedFile

#: Number of bytes that a thread processes at a time, rounded down to complete chunks, but at least one chunk.
PIECE_BYTES = 2 << 20
#: Maximum total size of short tensors in one read, so that they stay in a core's private cache until decryption.
TOGETHER_BYTES = 512 << 10
_LARGE_PAGE = 2 << 20
_ROOM_BYTES = 4 * _LARGE_PAGE


def load(file: SealedFile, names: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield the named tensors. On the CPU, all of them are read and decrypted before the first tensor is yielded."""
    if not file.is_torch or str(file.device) == "cpu":
        yield from _load(file, names)
        return
    for name in names:  # the host copy is temporary, so tensors are read one at a time
        for _, tensor in _load(file, [name]):
            yield name, tensor.to(file.device)


def _load(file: SealedFile, names: list[str]) -> list[tuple[str, Any]]:
    results: list[tuple[str, Any]] = []

    tensors: list[Tensor] = []
    places = (file.entries[name]["data_offsets"] for name in names)
    sizes = [end - first for first, end in places]
    rooms = _Rooms(sizes)
    for name in names:
        tensor, data = _empty(file, name, rooms)
        results.append((name, tensor))
        tensors.append(file.sealed(name, data))
    _decrypt(file, tensors, sum(sizes))
    return results


def authenticate(file: SealedFile, name: str) -> None:
    """Decrypt a tensor of any dtype without returning it. Raises the same exceptions as ``load``."""
    first, end = file.entries[name]["data_offsets"]
    _decrypt(file, [file.sealed(name, memoryview(bytearray(end - first)))], end - first)


def _decrypt(file: SealedFile, tensors: list[Tensor], size: int) -> None:
    """Read and decrypt tensors of ``size`` bytes in total. After an exception, the memory of all of them is wiped."""
    length = max(PIECE_BYTES, file.piece_bytes)
    pieces = list(cut(tensors, file.chunk, length, max(TOGETHER_BYTES, file.piece_bytes)))
    threads = max(workers(-(-size // (2 * length))), min(file.threads, len(pieces)))
    try:
        share(lambda: lambda piece: _fill(file, piece), pieces, threads)
    except BaseException:
        for tensor in tensors:
            if tensor.size:
                ctypes.memset(ctypes.addressof(ctypes.c_char.from_buffer(tensor.data)), 0, tensor.size)
        raise


def _fill(file: SealedFile, piece: list[Part]) -> None:
    rooms = [part.data for part in piece]
    file.fill(piece[0].at, *rooms)
    sealed = [(part, room) for part, room in zip(piece, rooms) if part.tensor.key]
    refused = _native._chunks(
        "decrypt",
        file.chunk,
        [(part.tensor.key, part.tensor.base, part.first, room, room, part.tags) for part, room in sealed],
    )
    if refused is not None:
        number, chunk = refused
        part = sealed[number][0]
        raise part.refused(part.first + chunk)


class _Rooms:
    """Untouched memory for NumPy arrays in large pages. Page faults for small pages would take longer than all other
    work.

    Large pages begin at multiples of their size. A long array has its own large pages. Short arrays share a block,
    which stays alive as long as any of them.
    """

    def __init__(self, sizes: list[int]) -> None:
        """Prepare memory for arrays of these sizes. Call ``take`` once for each array."""
        self._rest = sum(self._step(size) for size in sizes if size < _LARGE_PAGE)
        self._room: Any = None
        self._at = 0

    def take(self, size: int) -> Any:
        import numpy as np

        if size >= _LARGE_PAGE:
            return self._in_large_pages(size) if size >= 4 * _LARGE_PAGE else np.empty(size, np.uint8)
        step = self._step(size)
        if self._room is None or self._at + step > self._room.nbytes:
            self._at = 0
            self._room = self._in_large_pages(min(_ROOM_BYTES, self._rest)) if self._rest >= _ROOM_BYTES // 2 else None
        self._rest -= step
        if self._room is None:
            return np.empty(size, np.uint8)
        self._at += step
        return self._room[self._at - step : self._at - step + size]

    @staticmethod
    def _step(size: int) -> int:
        return -(-size // 64) * 64

    @staticmethod
    def _in_large_pages(size: int) -> Any:
        import numpy as np

        room: Any = np.empty(size + _LARGE_PAGE, np.uint8)  # the excess is never touched
        skip = -room.ctypes.data % _LARGE_PAGE
        return room[skip : skip + size]


def _empty(file: SealedFile, name: str, rooms: _Rooms) -> tuple[Any, memoryview]:
    """Allocate a tensor in untouched memory. Return the tensor and a view of its bytes."""
    entry = file.entries[name]
    if file.is_torch:
        import torch

        dtype = getattr(torch, framework_name(entry["dtype"], False))
        made = torch.empty(framework_shape(name, entry), dtype=dtype)
        data = memoryview(made.reshape(-1).view(torch.uint8).numpy())
        _native.large_pages(data)
        return made, data
    first, end = entry["data_offsets"]
    plain = rooms.take(end - first)
    return plain.view(_numpy_dtype(entry["dtype"])).reshape(entry["shape"]), memoryview(plain)


@lru_cache(64)
def _numpy_dtype(dtype: str) -> Any:
    import numpy as np

    name = framework_name(dtype, True)
    try:
        return np.dtype(name).newbyteorder("<")
    except TypeError:
        raise TypeError(f"NumPy does not support the dtype {name}; read the tensor with framework='torch'") from None
