"""Column chunks in the memory of a GPU, as cuDF's HybridScanReader takes them."""

from __future__ import annotations

import bisect
import concurrent.futures
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .. import _native
from ._pages import Pages

if TYPE_CHECKING:
    from ._view import PlainView

#: Long enough to keep a GPU busy, short enough for a quick allocation of page-locked memory.
_PIECE_BYTES = 16 << 20
#: cuDF's decompressors read whole words at a span's end.
_PADDING_BYTES = 64
#: One thread reads some GB/s from the page cache.
_MOST_THREADS = 8


class DeviceSpan:
    """Bytes of the plain view in device memory, or in page-locked host memory.

    It has ``ptr`` and ``size``, as pylibcudf's spans, and ``__cuda_array_interface__`` if it is device memory. It keeps
    the memory alive.
    """

    def __init__(self, memory: _native.Memory, size: int, offset: int) -> None:
        """Take memory that is filled; ``offset``: of the bytes in the view."""
        self._memory = memory
        self.size = size
        self.offset = offset

    @property
    def memory(self) -> _native.Memory:
        """The memory, which may be longer than the span."""
        return self._memory

    @property
    def ptr(self) -> int:
        """The address."""
        return self._memory.address

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The CUDA array interface, as a one-dimensional array of bytes."""
        return {**self._memory.__cuda_array_interface__, "shape": (self.size,)}


def make_memory(size: int, device: int | str) -> _native.Memory:
    """Allocate memory of a device: ``"cuda"``, ``"cuda:1"``, a number, or ``"cpu"`` for page-locked host memory.

    Raises:
        ValueError: ``device`` is something else.
        Error: There is no such device.
    """
    size = -(-max(size, 1) // _PADDING_BYTES) * _PADDING_BYTES
    if device == "cpu":
        return _native.Memory(size, "page-locked")
    name = str(device)
    number = name.removeprefix("cuda").removeprefix(":") if name != "cuda" else "0"
    if not number.isdecimal() or name == "cuda:":
        raise ValueError(f"device: must be 'cuda', 'cuda:N', a device's number or 'cpu', not {device!r}")
    return _native.Memory(size, "device", int(number))


def spans(view: PlainView, ranges: Iterable[tuple[int, int]], device: int | str) -> list[DeviceSpan]:
    """Fetch ranges of the view, offset and size each, to a device."""
    wanted = list(ranges)
    for offset, size in wanted:
        if offset < 0 or size < 0 or offset + size > view.size:
            raise ValueError(f"ranges: {size} bytes at {offset} are not in a view of {view.size} bytes")
    known = view.column_pages()
    starts = [pages.chunk.start for pages in known]

    def fetch(one: tuple[int, int]) -> DeviceSpan:
        offset, size = one
        memory = make_memory(size, device)
        index = bisect.bisect_right(starts, offset) - 1
        if index >= 0 and size and (known[index].chunk.start, known[index].chunk.length) == one:
            known[index].move(memory, _PIECE_BYTES)
        else:
            _copy(view, offset, size, memory)
        return DeviceSpan(memory, size, offset)

    threads = min(_MOST_THREADS, len(wanted))
    if threads < 2:
        return [fetch(one) for one in wanted]
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        return list(pool.map(fetch, wanted))


def _copy(view: PlainView, offset: int, size: int, memory: _native.Memory) -> None:
    """Decrypt on the processor: indexes, Bloom filters, single pages, and columns that are not encrypted."""
    if size:
        _native.copy(memory, view.read_at(offset, size).ljust(len(memory), b"\0"))


def chosen(view: PlainView, row_groups: Sequence[int] | None, columns: Sequence[str] | None) -> list[tuple[int, int]]:
    """Return offset and size of column chunks: row group by row group, in each the columns in the order of the file.

    Raises:
        ValueError: There is no such row group or column.
    """
    rows = view.footer.chunks
    groups = range(len(rows)) if row_groups is None else row_groups
    for group in groups:
        if not 0 <= group < len(rows):
            raise ValueError(f"row_groups: there is no row group {group}; the file has {len(rows)}")
    for name in columns or ():
        if rows and not any(_names(chunk.place.path, name) for chunk in rows[0]):
            raise ValueError(f"columns: the file has no column {name}")
    return [
        (chunk.start, chunk.length)
        for group in groups
        for chunk in rows[group]
        if columns is None or any(_names(chunk.place.path, name) for name in columns)
    ]


def _names(path: str, name: str) -> bool:
    """Whether a column or a group above it has a name."""
    return path == name or path.startswith(name + ".")


__all__ = ["DeviceSpan", "Pages", "chosen", "make_memory", "spans"]
