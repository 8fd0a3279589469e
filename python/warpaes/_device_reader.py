"""Reading of encrypted tensors with KvikIO into device memory, where the GPU decrypts them on the current stream.

KvikIO uses GPUDirect Storage if the file system supports it, and otherwise its own threads. The ciphertext of a long
tensor is read into the tensor's memory and decrypted in place. Several short tensors are read together into a landing
buffer. The header contains the tags.
"""

from __future__ import annotations

import array
import collections
import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from . import _native
from ._pieces import Part, chunks_of, cut, nonces
from ._sealed_file import SealedFile
from ._to_gpu import empty_tensors
from .aead import AESGCM
from .exceptions import FormatError

#: The size of a read in bytes, and the maximum number of reads in flight.
PIECE_BYTES, MOST_READS = 16 << 20, 16
#: Number of landing buffers for short tensors.
_LANDINGS = 4
_STATUS_BYTES = 4


def load(file: SealedFile, names: list[str]) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the named tensors. All of them are read and decrypted before the first tensor is yielded."""
    results, tensors = empty_tensors(file, names)
    try:
        _check_empty(file, [tensor for tensor in tensors if not tensor.size])
        filled = [tensor for tensor in tensors if tensor.size]
        if filled:
            _Load(file, filled[0].data.device).run(list(cut(filled, file.chunk, PIECE_BYTES, PIECE_BYTES)))
    except BaseException:
        for _, made in results:
            made.zero_()
        raise
    yield from results


def _check_empty(file: SealedFile, tensors: list[Any]) -> None:
    """Authenticate tensors without data, which have a tag."""
    for tensor in tensors:
        if tensor.key:
            part = (tensor.key, tensor.base, 0, b"", bytearray(), tensor.tags)
            if _native._chunks("decrypt", file.chunk, [part]) is not None:
                raise Part(tensor, 0, 0, 0, tensor.tags).refused(0)


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
        landing = torch.empty(PIECE_BYTES, dtype=torch.uint8, device=self._device)
        self._stream.synchronize()  # as in _Load.run, because other threads may have freed this memory in the meantime
        return landing

    def give(self, landing: Any) -> None:
        """Return a buffer whose decryption has been enqueued."""
        self._arrived.append(landing)


class _Load:
    """Reads pieces ahead, and enqueues the decryption of each piece when it has arrived."""

    def __init__(self, file: SealedFile, device: Any) -> None:
        self._file, self._device = file, device
        self._stream = torch.cuda.current_stream(device)
        self._landings = _Landings(device, self._stream)
        self._under_way: collections.deque[tuple[list[Part], Any, Any]] = collections.deque()
        self._checks: list[tuple[Part, int]] = []  # parts, each with the index of its first status

    def run(self, pieces: list[list[Part]]) -> None:
        """Read and decrypt all pieces.

        Raises:
            InvalidTag: A part is not authentic. The message names the first such part in the file.
            FormatError: The file was truncated.
        """
        count = sum(chunks_of(part.size, self._file.chunk) for piece in pieces for part in piece if part.tensor.key)
        self._statuses = torch.empty(_STATUS_BYTES * max(1, count), dtype=torch.uint8, device=self._device)
        self._used = 0
        # PyTorch's allocator reuses memory in stream order, but KvikIO does not read in stream order.
        self._stream.synchronize()
        try:
            for piece in pieces:
                if len(self._under_way) == MOST_READS:
                    self._arrive()
                self._begin(piece)
            while self._under_way:
                self._arrive()
        finally:  # after this method returns or raises, nothing writes to the tensors any more
            for _, _, future in self._under_way:
                _end(future)
            self._stream.synchronize()
        self._check()

    def _begin(self, piece: list[Part]) -> None:
        """Begin to read a piece: a single part into its tensor, or several parts into a landing buffer."""
        if len(piece) == 1:
            self._under_way.append((piece, None, self._file.begin_fill(piece[0].at, piece[0].data)))
            return
        while (landing := self._landings.take()) is None:
            self._arrive()
        self._under_way.append((piece, landing, self._file.begin_fill(piece[0].at, landing[: _size(piece)])))

    def _arrive(self) -> None:
        """Wait for the oldest read, and enqueue the decryption of its parts."""
        piece, landing, future = self._under_way[0]  # stays in the queue if the wait is interrupted
        got, begin = future.get(), piece[0].at
        self._under_way.popleft()
        if got != _size(piece):
            raise FormatError(f"the file ends at byte {begin + got}, so it was truncated")
        for part in piece:
            data = part.data if landing is None else landing[part.at - begin : part.at - begin + part.size]
            if part.tensor.key:
                self._decrypt(part, data)
            elif landing is not None:
                part.data.copy_(data)
        if landing is not None:
            self._landings.give(landing)

    def _decrypt(self, part: Part, data: Any) -> None:
        chunk = self._file.chunk
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
            statuses=self._statuses[_STATUS_BYTES * self._used : _STATUS_BYTES * (self._used + count)],
            stream=self._stream,
        )
        self._checks.append((part, self._used))
        self._used += count

    def _check(self) -> None:
        """Read all statuses, after everything has been decrypted."""
        found = array.array("i", [0] * max(1, self._used))
        _native.copy(found, self._statuses)
        for part, first in sorted(self._checks, key=lambda check: check[0].at):
            for chunk in range(chunks_of(part.size, self._file.chunk)):
                if found[first + chunk] != 0:
                    raise part.refused(part.first + chunk)


def _size(piece: list[Part]) -> int:
    return piece[-1].at + piece[-1].size - piece[0].at


def _end(future: Any) -> None:
    """Wait for a read whose result is no longer needed."""
    with contextlib.suppress(Exception):
        future.get()
