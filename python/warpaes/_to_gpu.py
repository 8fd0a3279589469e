"""Loads encrypted tensors from files to a GPU: threads read into page-locked memory, and the GPU decrypts from there.

Host memory only ever contains ciphertext. Reading is the bottleneck, because a single thread copies only a few GB/s
from the page cache. Therefore, several threads read one piece each, and the GPU decrypts a piece while other pieces are
read.
"""

from __future__ import annotations

import array
import collections
import contextlib
import os
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import torch

from ._pieces import Ahead, Part, chunks_of, nonces
from ._sealed_file import SealedFile
from ._shards import Shard, in_order
from .aead import AESGCM, Batch
from .exceptions import InvalidTag

#: Number of bytes in a piece: large enough to keep the GPU busy, and small enough for page-locked memory to be
#: allocated quickly.
PIECE_BYTES = 16 << 20
#: Maximum number of threads that read, and of pieces that are decrypted or wait for earlier pieces. On a machine with
#: 16 processors, 12 threads leave some processors for the threads that wait for the GPU.
MOST_THREADS, MOST_DECRYPTED = 12, 6


class _Rooms:
    """Page-locked buffers, one for each piece under way. They are used again for later pieces."""

    def __init__(self, length: int) -> None:
        self._length = length
        self._free: list[torch.Tensor] = []

    def take(self, size: int) -> torch.Tensor:
        while self._free:
            room = self._free.pop()  # CPython's lists need no lock for this
            if room.nbytes >= size:
                return room
        return torch.empty(max(size, self._length), dtype=torch.uint8, pin_memory=True)

    def give(self, room: torch.Tensor) -> None:
        self._free.append(room)


def load(shards: Sequence[Shard]) -> Iterator[list[tuple[str, torch.Tensor]]]:
    """Yield the tensors of each shard. All tensors of a shard are read and decrypted before they are yielded."""
    total = sum(sum(shard.sizes) for shard in shards)
    pieces = total // PIECE_BYTES + 1
    threads = min(MOST_THREADS, max([len(os.sched_getaffinity(0)), *(shard.file.threads for shard in shards)]), pieces)
    rooms = _Rooms(min(total, PIECE_BYTES))
    waiting = list(shards)
    under_way: collections.deque[Any] = collections.deque()
    try:
        with Ahead(threads if threads > 1 else 0) as ahead:

            def begin(shard: Shard, piece: list[Part]) -> Any:
                under_way.append(ahead.submit(partial(_fill, shard.file, piece, rooms)))
                return under_way[-1]

            def arrive(shard: Shard, piece: list[Part], job: Any) -> None:
                staging, begun = job.result()
                _end(begun)
                under_way.popleft()
                rooms.give(staging)

            for shard in in_order(shards, PIECE_BYTES, PIECE_BYTES, threads + MOST_DECRYPTED, begin, arrive):
                waiting.remove(shard)
                yield shard.made
    except BaseException:
        for job in under_way:
            with contextlib.suppress(Exception):
                _end(job.finished()[1])
        # Nothing writes to the tensors any more.
        for shard in waiting:
            shard.wipe()
        raise


def _fill(file: SealedFile, piece: list[Part], rooms: _Rooms) -> tuple[torch.Tensor, list[tuple[Part, Batch]]]:
    """Read a piece and submit its decryption. Return the buffer, which the decryption reads, and the batches."""
    begin, size = piece[0].at, piece[-1].at + piece[-1].size - piece[0].at
    staging = rooms.take(size)
    room = memoryview(staging.numpy())
    file.fill(begin, room[:size])
    begun: list[tuple[Part, Batch]] = []
    try:
        for part in piece:
            here = slice(part.at - begin, part.at - begin + part.size)
            if part.tensor.key:
                begun.append((part, _begin(part, file.chunk, room[here])))
            else:
                part.data.copy_(staging[here])
    except BaseException:
        for _, batch in begun:
            batch.result(return_exceptions=True)
        raise
    return staging, begun


def _end(begun: list[tuple[Part, Batch]]) -> None:
    """Wait for the decryption of a piece, and refuse its first chunk that is not authentic."""
    ended = [(part, batch.result(return_exceptions=True)) for part, batch in begun]
    for part, outcomes in ended:
        for chunk, error in enumerate(outcomes):
            if isinstance(error, InvalidTag):
                raise part.refused(part.first + chunk) from None
            if error is not None:
                raise error


def _begin(part: Part, chunk: int, data: memoryview) -> Batch:
    """Submit the decryption of a part's chunks, from page-locked memory to the tensor."""
    tensor, size = part.tensor, data.nbytes
    count = chunks_of(size, chunk)
    offsets = array.array("Q", range(0, count * chunk, chunk))
    lengths = array.array("Q", [min(chunk, size - offset) for offset in offsets])
    out: Any = part.data if size else data  # an empty tensor has a tag, but no device memory
    return AESGCM(tensor.key).submit_into(
        "decrypt", nonces(tensor.base, part.first, count), data, offsets, lengths, out, part.tags
    )
