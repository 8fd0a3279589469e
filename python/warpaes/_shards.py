"""Shards of encrypted tensors that are read to a GPU one after the other, without a pause between them."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from ._cryptotensors import framework_name, framework_shape
from ._pieces import Part, Tensor, chunks_of, cut
from ._sealed_file import SealedFile

#: Sizes in bytes of the groups in which tensors are allocated: the first group's size and the maximum. Each group is
#: twice as large as the previous group.
FIRST_BYTES, MOST_BYTES = 64 << 20, 1 << 30


class Shard:
    """The tensors to read from a file. They are allocated in groups shortly before their data are read."""

    def __init__(self, file: SealedFile, names: list[str]) -> None:
        """Store the names of the tensors without allocating or reading anything."""
        self.file, self._names = file, names
        self.made: list[tuple[str, torch.Tensor]] = []
        places = [file.entries[name]["data_offsets"] for name in names]
        self.sizes = [end - first for first, end in places]

    @property
    def chunks(self) -> int:
        """The number of chunks of all tensors."""
        return sum(chunks_of(size, self.file.chunk) for size in self.sizes)

    def pieces(self, length: int, together: int) -> Iterator[list[Part]]:
        """Allocate the tensors and divide them into pieces, as ``cut`` does."""
        return cut(self._tensors(), self.file.chunk, length, together)

    def _tensors(self) -> Iterator[Tensor]:
        for names in self._groups():
            group = [(name, self._empty(name)) for name in names]
            # PyTorch's allocator reuses memory in stream order, but the data arrive on other streams, so the new memory
            # may still be in use. Waiting once for each group is faster than waiting for each tensor, because the
            # default stream also waits for copies on other streams, such as KvikIO's.
            torch.cuda.current_stream(self.file.device).synchronize()
            for name, made in group:
                yield self.file.sealed(name, made.reshape(-1).view(torch.uint8))

    def _groups(self) -> Iterator[list[str]]:
        """Divide the names of the tensors into groups of growing size."""
        group: list[str] = []
        size, enough = 0, FIRST_BYTES
        for name, its in zip(self._names, self.sizes):
            group.append(name)
            size += its
            if size >= enough:
                yield group
                group, size, enough = [], 0, min(2 * enough, MOST_BYTES)
        if group:
            yield group

    def _empty(self, name: str) -> torch.Tensor:
        entry = self.file.entries[name]
        dtype = getattr(torch, framework_name(entry["dtype"], False))
        made = torch.empty(framework_shape(name, entry), dtype=dtype, device=self.file.device)
        self.made.append((name, made))
        return made

    def wipe(self) -> None:
        """Overwrite the tensors."""
        for _, made in self.made:
            made.zero_()


def in_order(
    shards: Sequence[Shard],
    length: int,
    together: int,
    most: int,
    begin: Callable[[Shard, list[Part]], Any],
    arrive: Callable[[Shard, list[Part], Any], None],
) -> Iterator[Shard]:
    """Yield each shard when all of its pieces have arrived. Up to ``most`` pieces are under way, some of which
    may belong to later shards.

    ``begin`` begins a piece and returns an object for ``arrive``, which waits for the piece. It returns None if other
    pieces must arrive first. Pieces arrive in order.
    """
    under_way: collections.deque[tuple[Shard, list[Part], Any]] = collections.deque()
    left = ((shard, piece) for shard in shards for piece in shard.pieces(length, together))
    held: tuple[Shard, list[Part]] | None = None
    for shard in shards:
        while True:
            while len(under_way) < most and (item := held or next(left, None)) is not None:
                begun = begin(*item)
                held = item if begun is None else None
                if begun is None:
                    break
                under_way.append((*item, begun))
            if not under_way or under_way[0][0] is not shard:
                break
            arrive(*under_way[0])  # stays in the queue if the wait is interrupted
            under_way.popleft()
        yield shard
