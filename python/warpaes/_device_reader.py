"""Encrypted tensors that KvikIO reads into device memory, where the GPU decrypts them on a separate stream.

KvikIO uses GPUDirect Storage if the file system supports it, and otherwise its own threads. The ciphertext of a long
tensor is read into the tensor's memory and decrypted in place. Several short tensors are read together into a landing
buffer. The header contains the tags.
"""

from __future__ import annotations

import array
import contextlib
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import torch

from . import _native
from ._pieces import Part, chunks_of, nonces
from ._shards import Shard, in_order
from .aead import AESGCM
from .exceptions import FormatError

#: The size of a read in bytes, and the maximum number of reads in flight. Each read is shared by KvikIO's threads.
PIECE_BYTES, MOST_READS = 64 << 20, 16
#: Landing buffers for short tensors, and their size.
_LANDINGS, LANDING_BYTES = 4, 16 << 20
_STATUS_BYTES = 4


def load(shards: Sequence[Shard]) -> Iterator[list[tuple[str, torch.Tensor]]]:
    """Yield the tensors of each shard. All tensors of a shard are read and decrypted before they are yielded."""
    waiting = list(shards)
    try:
        with contextlib.closing(_Load(shards).run()) as loading:
            for shard in loading:
                waiting.remove(shard)
                yield shard.made
    except BaseException:  # nothing writes to the tensors any more
        for shard in waiting:
            shard.wipe()
        raise


class _Landings:
    """Landing buffers. A buffer is reused after its entire content has been decrypted."""

    def __init__(self, device: Any, stream: Any) -> None:
        self._device, self._stream = device, stream
        self._count = 0
        self._free: list[Any] = []
        self._arrived: list[Any] = []

    def take(self) -> Any:
        """Return a free buffer, or None if other pieces must arrive first."""
        if not self._free and self._arrived:
            self._stream.synchronize()
            self._free, self._arrived = self._arrived, []
        if self._free:
            return self._free.pop()
        if self._count == _LANDINGS:
            return None
        self._count += 1
        landing = torch.empty(LANDING_BYTES, dtype=torch.uint8, device=self._device)
        torch.cuda.current_stream(self._device).synchronize()  # this stream may still use the memory
        return landing

    def give(self, landing: Any) -> None:
        """Return a buffer whose decryption has been enqueued."""
        self._arrived.append(landing)


class _Load:
    """Reads pieces ahead, and enqueues the decryption of each piece when it has arrived.

    The decryption has a separate stream: KvikIO's copies and the default stream would wait for one another.
    """

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._shards, self._device = shards, shards[0].file.device
        self._stream: Any = torch.cuda.Stream(self._device)
        self._landings = _Landings(self._device, self._stream)
        self._pending: list[Any] = []  # reads whose result was not requested yet
        self._statuses: dict[Shard, Any] = {}
        self._checks: list[
            tuple[Part, int]
        ] = []  # the current shard's parts, and the index of each part's first status
        self._used = 0

    def run(self) -> Generator[Shard, None, None]:
        """Read and decrypt all pieces, and yield each shard when it is complete.

        Raises:
            InvalidTag: A part is not authentic. The message names the first such part in the file.
            FormatError: The file was truncated.
        """
        try:
            for shard in in_order(self._shards, PIECE_BYTES, LANDING_BYTES, MOST_READS, self._begin, self._arrive):
                self._check(shard)
                yield shard
        finally:  # when this returns or raises, nothing writes to the tensors any more
            for future in self._pending:
                _end(future)
            self._stream.synchronize()

    def _begin(self, shard: Shard, piece: list[Part]) -> tuple[Any, Any] | None:
        """Begin to read a piece: one part into its tensor, several into a landing buffer if there is a free one."""
        if not _size(piece):
            return None, None
        landing = None if len(piece) == 1 else self._landings.take()
        if landing is None and len(piece) > 1:
            return None
        room = piece[0].data if landing is None else landing[: _size(piece)]
        future = shard.file.begin_fill(piece[0].at, room)
        self._pending.append(future)
        return landing, future

    def _arrive(self, shard: Shard, piece: list[Part], begun: tuple[Any, Any]) -> None:
        """Wait for a read, and enqueue the decryption of its parts."""
        landing, future = begun
        begin = piece[0].at
        if future is not None:
            got = future.get()
            self._pending.remove(future)
            if got != _size(piece):
                raise FormatError(f"the file ends at byte {begin + got}: it was truncated")
        for part in piece:
            data = part.data if landing is None else landing[part.at - begin : part.at - begin + part.size]
            if not part.tensor.key:
                if landing is not None:
                    with torch.cuda.stream(self._stream):
                        part.data.copy_(data)
            elif part.size:
                self._decrypt(shard, part, data)
            else:
                _check_empty(part, shard.file.chunk)
        if landing is not None:
            self._landings.give(landing)

    def _decrypt(self, shard: Shard, part: Part, data: Any) -> None:
        chunk = shard.file.chunk
        count = chunks_of(part.size, chunk)
        offsets = array.array("Q", range(0, count * chunk, chunk))
        lengths = array.array("Q", [min(chunk, part.size - offset) for offset in offsets])
        AESGCM.enqueue_into(
            "decrypt",
            [AESGCM(part.tensor.key)] * count,
            nonces(part.tensor.base, part.first, count),
            data,
            offsets,
            lengths,
            part.data,
            part.tags,
            statuses=self._statuses_of(shard)[_STATUS_BYTES * self._used : _STATUS_BYTES * (self._used + count)],
            stream=self._stream,
        )
        self._checks.append((part, self._used))
        self._used += count

    def _statuses_of(self, shard: Shard) -> Any:
        """Return the memory for the statuses of a shard's chunks."""
        if shard not in self._statuses:
            made = torch.empty(_STATUS_BYTES * shard.chunks, dtype=torch.uint8, device=self._device)
            torch.cuda.current_stream(self._device).synchronize()
            self._statuses[shard] = made
        return self._statuses[shard]

    def _check(self, shard: Shard) -> None:
        """Wait for a shard's decryption, and read all statuses."""
        self._stream.synchronize()
        statuses = self._statuses.pop(shard, None)
        if statuses is not None:
            found = array.array("i", [0] * shard.chunks)
            _native.copy(found, statuses)
            for part, first in sorted(self._checks, key=lambda check: check[0].at):
                for chunk in range(chunks_of(part.size, shard.file.chunk)):
                    if found[first + chunk] != 0:
                        raise part.refused(part.first + chunk)
        self._checks, self._used = [], 0


def _check_empty(part: Part, chunk: int) -> None:
    """Authenticate a tensor without data, which has a tag."""
    tensor = part.tensor
    if _native._chunks("decrypt", chunk, [(tensor.key, tensor.base, 0, b"", bytearray(), tensor.tags)]) is not None:
        raise part.refused(0)


def _size(piece: list[Part]) -> int:
    return piece[-1].at + piece[-1].size - piece[0].at


def _end(future: Any) -> None:
    """Wait for a read whose result is no longer needed."""
    with contextlib.suppress(Exception):
        future.get()
