"""Loading of encrypted tensors to a GPU. Threads read into page-locked memory, and the GPU decrypts from there.

Host memory only ever contains ciphertext. Reading is the bottleneck, because a single thread copies only a few GB/s
from the page cache. Therefore, several threads read one piece each, and the GPU decrypts a piece while other pieces are
read.
"""

from __future__ import annotations

import array
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ._cryptotensors import framework_name, framework_shape
from ._pieces import MOST_THREADS, Part, Tensor, chunks_of, cut, nonces, share, workers
from ._sealed_file import SealedFile
from .aead import AESGCM, Batch
from .exceptions import InvalidTag

#: The size is large enough to keep the GPU busy, and small enough for page-locked memory to be allocated quickly.
PIECE_BYTES = 16 << 20


def empty_tensors(file: SealedFile, names: list[str]) -> tuple[list[tuple[str, torch.Tensor]], list[Tensor]]:
    """Allocate tensors on the file's device. Return them by name, and the descriptions of their bytes in the file."""
    results, tensors = [], []
    for name in names:
        entry = file.entries[name]
        dtype = getattr(torch, framework_name(entry["dtype"], False))
        made = torch.empty(framework_shape(name, entry), dtype=dtype, device=file.device)
        results.append((name, made))
        tensors.append(file.sealed(name, made.reshape(-1).view(torch.uint8)))
    return results, tensors


def load(file: SealedFile, names: list[str]) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the named tensors. All of them are read and decrypted before the first tensor is yielded."""
    results, tensors = empty_tensors(file, names)
    if not tensors:
        return
    pieces = list(cut(tensors, file.chunk, PIECE_BYTES, PIECE_BYTES))
    longest = max(piece[-1].at + piece[-1].size - piece[0].at for piece in pieces)
    # PyTorch's allocator reuses memory in stream order, but the batches below do not run on the current stream.
    torch.cuda.current_stream(tensors[0].data.device).synchronize()

    def make_work() -> Callable[[list[Part]], None]:
        staging = torch.empty(longest, dtype=torch.uint8, pin_memory=True)
        room = memoryview(staging.numpy())
        return lambda piece: _fill(file, piece, room, staging)

    try:
        share(make_work, pieces, max(workers(MOST_THREADS), min(file.threads, len(pieces))))
    except BaseException:
        for _, made in results:
            made.zero_()
        raise
    yield from results


def _fill(file: SealedFile, piece: list[Part], room: memoryview, staging: torch.Tensor) -> None:
    begin = piece[0].at
    file.fill(begin, room[: piece[-1].at + piece[-1].size - begin])
    begun: list[tuple[Part, Batch]] = []
    try:
        for part in piece:
            here = slice(part.at - begin, part.at - begin + part.size)
            if part.tensor.key:
                begun.append((part, _begin(part, file.chunk, room[here])))
            else:
                part.data.copy_(staging[here])
    finally:  # after this function returns or raises, nothing writes to the tensors any more
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
