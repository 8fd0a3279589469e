"""Encrypted tensors from a file to a GPU: threads read into page-locked memory, from where they are decrypted in place.

Nothing but ciphertext comes into host memory. Reading takes longest, as the page cache gives a thread some GB/s; so
several read, each a piece at a time, and what the GPU does to one piece passes while others are read.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import torch

from .aead import AESGCM
from .exceptions import InvalidTag

if TYPE_CHECKING:
    from .safetensors import safe_open

#: Long enough for the GPU to be busy with, short enough for page-locked memory to be made quickly.
PIECE_BYTES = 16 << 20
MOST_THREADS = 8


class _Tensor(NamedTuple):
    """A tensor to be filled, and what it is encrypted with; a plain one has no cipher."""

    name: str
    data: torch.Tensor
    at: int
    cipher: AESGCM | None
    base: bytes
    tags: memoryview


class _Piece(NamedTuple):
    tensor: _Tensor
    begin: int
    end: int


def _cut(tensors: list[_Tensor], length: int) -> Iterator[_Piece]:
    for tensor in tensors:
        size = tensor.data.numel()
        for begin in range(0, max(size, 1), length):
            yield _Piece(tensor, begin, min(begin + length, size))


def load(file: safe_open, names: list[str]) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield tensors, all of which have been read and decrypted before the first one."""
    from .safetensors import _DTYPES  # which imports this where a GPU is asked for

    results, tensors = [], []
    for name in names:
        entry = file._entries[name]
        dtype = getattr(torch, _DTYPES[entry["dtype"]][0])
        made = torch.empty(entry["shape"], dtype=dtype, device=file._device)
        results.append((name, made))
        cipher, base, tags = file._cipher(name) if name in file._encryption else (None, b"", b"")
        at = file._begin + entry["data_offsets"][0]
        tensors.append(_Tensor(name, made.reshape(-1).view(torch.uint8), at, cipher, base, memoryview(tags)))
    if not tensors:
        return
    chunk = file._chunk
    length = max(1, PIECE_BYTES // chunk) * chunk
    longest = max(tensor.data.numel() for tensor in tensors)
    pieces = _cut(tensors, length)
    turn = threading.Lock()
    # Memory that PyTorch hands out again may still be in use by what was enqueued before.
    torch.cuda.current_stream(tensors[0].data.device).synchronize()

    def work() -> None:
        staging = torch.empty(min(length, longest), dtype=torch.uint8, pin_memory=True)
        room = memoryview(staging.numpy())
        while True:
            with turn:
                piece = next(pieces, None)
            if piece is None:
                return
            try:
                _fill(file, piece, room, staging)
            except BaseException:
                with turn:
                    for _ in pieces:  # for nobody
                        pass
                raise

    threads = min(MOST_THREADS, len(os.sched_getaffinity(0)))
    with ThreadPoolExecutor(threads, "warpaes") as pool:
        running = [pool.submit(work) for _ in range(threads)]
    for each in running:
        each.result()
    yield from results


def _fill(file: safe_open, piece: _Piece, room: memoryview, staging: torch.Tensor) -> None:
    from .safetensors import _begin, _chunks

    tensor, begin, end = piece
    data = room[: end - begin]
    file._fill(tensor.at + begin, data)
    if tensor.cipher is None:
        tensor.data[begin:end].copy_(staging[: end - begin])
        return
    first = begin // file._chunk
    tags = tensor.tags[16 * first : 16 * (first + _chunks(end - begin, file._chunk))]
    out = tensor.data[begin:end] if end > begin else data  # of nothing there is a tag, too
    try:
        _begin(tensor.cipher, "decrypt", tensor.base, first, file._chunk, data, out, tags).result()
    except InvalidTag as error:
        raise InvalidTag(f"{tensor.name}: {error}") from None
