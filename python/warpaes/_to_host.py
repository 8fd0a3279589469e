"""Encrypted tensors from a file into host memory: each piece is read where its plaintext will lie, and decrypted there
while it is still in the cache, by as many threads as have use for it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

from ._native import large_pages
from .aead import AESGCM
from .exceptions import InvalidTag

if TYPE_CHECKING:
    from .safetensors import safe_open

#: What a thread takes at a time: whole chunks, at least one.
PIECE_BYTES = 2 << 20
MOST_THREADS = 8
_LARGE_PAGE = 2 << 20


class _Piece(NamedTuple):
    """Bytes of a tensor, from chunk ``first`` on; a plain one has no cipher."""

    name: str
    data: memoryview
    at: int
    cipher: AESGCM | None
    base: bytes
    first: int
    tags: memoryview


def load(file: safe_open, names: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield tensors, all of which have been read and decrypted before the first one."""
    if not file._torch or str(file._device) == "cpu":
        yield from _load(file, names)
        return
    for name in names:  # here only on their way to another device: one at a time
        for _, tensor in _load(file, [name]):
            yield name, tensor.to(file._device)


def _load(file: safe_open, names: list[str]) -> list[tuple[str, Any]]:
    results: list[tuple[str, Any]] = []
    pieces: list[_Piece] = []
    for name in names:
        entry = file._entries[name]
        cipher, base, tags = file._cipher(name) if name in file._encryption else (None, b"", b"")
        tensor, data = _empty(file, entry)
        results.append((name, tensor))
        pieces += _cut(file, name, data, cipher, base, memoryview(tags))
    _share(lambda piece: _fill(file, piece), pieces, sum(piece.data.nbytes for piece in pieces))
    return results


def _share(work: Callable[[Any], None], pieces: list[Any], size: int) -> None:
    """Call ``work`` for every piece, on this thread and others. What the first of them that fails raises is raised."""
    threads = min(MOST_THREADS, len(os.sched_getaffinity(0)), -(-size // (2 * PIECE_BYTES)))
    left = iter(enumerate(pieces))
    turn = threading.Lock()
    failed: list[tuple[int, BaseException]] = []

    def go() -> None:
        while not failed:
            with turn:
                number, piece = next(left, (0, None))
            if piece is None:
                return
            try:
                work(piece)
            except BaseException as error:
                failed.append((number, error))

    if threads > 1:
        with ThreadPoolExecutor(threads - 1, "warpaes") as pool:
            for _ in range(threads - 1):
                pool.submit(go)
            go()
    else:
        go()
    # They are taken in order, so all before the first that fails have been done.
    if failed:
        raise min(failed, key=lambda failure: failure[0])[1]


def _cut(
    file: safe_open, name: str, data: memoryview, cipher: AESGCM | None, base: bytes, tags: memoryview
) -> Iterator[_Piece]:
    chunk = file._chunk
    length = max(1, PIECE_BYTES // chunk) * chunk
    start = file._begin + file._entries[name]["data_offsets"][0]
    for begin in range(0, max(data.nbytes, 1), length):
        part = data[begin : begin + length]
        first = begin // chunk
        count = max(1, -(-part.nbytes // chunk))
        yield _Piece(name, part, start + begin, cipher, base, first, tags[16 * first : 16 * (first + count)])


def _fill(file: safe_open, piece: _Piece) -> None:
    from .safetensors import _begin, _nonces

    file._fill(piece.at, piece.data)
    if piece.cipher is None:
        return
    data, tags = piece.data, piece.tags
    errors: list[Any] = []
    if tags.nbytes == 16:
        try:
            piece.cipher.decrypt_into(_nonces(piece.base, piece.first, 1), data, None, data, tag=tags)
        except InvalidTag as refused:
            errors = [refused]
    else:
        batch = _begin(piece.cipher, "decrypt", piece.base, piece.first, file._chunk, data, data, tags)
        errors = batch.result(return_exceptions=True)
    for number, error in enumerate(errors, piece.first):
        if isinstance(error, InvalidTag):
            raise InvalidTag(f"{piece.name}: message {number}: it was altered, or is another file's") from None
        if error is not None:
            raise error


def _empty(file: safe_open, entry: Any) -> tuple[Any, memoryview]:
    """Make a tensor that nobody has written to, and return its bytes with it."""
    from .safetensors import _DTYPES

    name = _DTYPES[entry["dtype"]][0]
    if file._torch:
        import torch

        made = torch.empty(entry["shape"], dtype=getattr(torch, name))
        data = memoryview(made.reshape(-1).view(torch.uint8).numpy())
        large_pages(data)
        return made, data
    import numpy as np

    try:
        dtype = np.dtype(name).newbyteorder("<")
    except TypeError:
        raise TypeError(f"NumPy has no dtype {name}: read it with framework='torch'") from None
    first, end = entry["data_offsets"]
    length = end - first
    # Large pages begin at multiples of their size; small ones beside them cost more than their bytes. What is too much
    # is never touched.
    spare = _LARGE_PAGE if length >= 4 * _LARGE_PAGE else 0
    room: Any = np.empty(length + spare, np.uint8)
    skip = -room.ctypes.data % _LARGE_PAGE if spare else 0
    plain = room[skip : skip + length]
    return plain.view(dtype).reshape(entry["shape"]), memoryview(plain)
