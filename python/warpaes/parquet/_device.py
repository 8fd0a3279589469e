"""Column chunks in GPU memory, in the form that cuDF's HybridScanReader accepts."""

from __future__ import annotations

import bisect
import concurrent.futures
import os
import threading
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from .. import _native
from ._footer import Footer, check_inside
from ._pages import Mover, Pages

#: Number of bytes that a thread copies at a time.
_PIECE_BYTES = 8 << 20
#: Sizes are multiples of this, because cuDF's decompressors read complete words at the end of a span.
_PADDING_BYTES = 256
#: Maximum number of threads. Each thread reads a few GB/s from the page cache.
_MOST_THREADS = 16


class View(Protocol):
    """The part of a plain view's interface that this module uses."""

    footer: Footer

    @property
    def size(self) -> int: ...
    def column_pages(self) -> list[Pages]: ...
    def read_at(self, offset: int, length: int) -> bytes: ...


class DeviceSpan:
    """Bytes of the plain view in device memory or in page-locked host memory.

    Like pylibcudf's spans, it has ``ptr`` and ``size``. In device memory, it also has ``__cuda_array_interface__``. The
    span keeps the memory alive.
    """

    def __init__(self, memory: _native.Memory, base: int, size: int, offset: int) -> None:
        """Wrap the bytes at offset ``base`` of a memory object. ``offset`` is the offset of the bytes in the view."""
        self._memory, self._base = memory, base
        self.size = size
        self.offset = offset

    @property
    def memory(self) -> _native.Memory:
        """The memory, which other spans may share."""
        return self._memory

    @property
    def base(self) -> int:
        """The offset of the span in its memory."""
        return self._base

    @property
    def ptr(self) -> int:
        """The address."""
        return self._memory.address + self._base

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The CUDA array interface, which describes the span as a one-dimensional array of bytes."""
        interface = self._memory.__cuda_array_interface__
        return {**interface, "data": (self.ptr, interface["data"][1]), "shape": (self.size,)}


class _Staging:
    """Page-locked buffers and movers that are reused, because allocating them takes longer than using them."""

    def __init__(self) -> None:
        self._free: list[_native.Memory] = []
        self._movers: list[Mover] = []
        self._lock = threading.Lock()

    def take_mover(self, device: int) -> Mover:
        with self._lock:
            for number, mover in enumerate(self._movers):
                if mover.device == device:
                    return self._movers.pop(number)
        return Mover(device)

    def give_mover(self, mover: Mover) -> None:
        with self._lock:
            if len(self._movers) < _MOST_THREADS:
                self._movers.append(mover)

    def take(self) -> _native.Memory:
        size = _PIECE_BYTES + 16
        with self._lock:
            while self._free:
                memory = self._free.pop()
                if len(memory) == size:
                    return memory
        return _native.Memory(size)

    def give(self, memory: _native.Memory) -> None:
        """Keep a buffer, which contains only ciphertext, unless there are too many buffers."""
        with self._lock:
            if len(self._free) < _MOST_THREADS:
                self._free.append(memory)


class _Threads:
    """A pool of threads that is reused, because each thread has its own stream on a device, and creating a stream takes
    long."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: concurrent.futures.ThreadPoolExecutor | None = None

    def pool(self) -> concurrent.futures.ThreadPoolExecutor:
        """Return the threads of this process."""
        with self._lock:
            if self._kept is None:
                self._kept = concurrent.futures.ThreadPoolExecutor(_MOST_THREADS, "warpaes")
            return self._kept


_staging, _threads = _Staging(), _Threads()


def _after_fork() -> None:
    """Forget the parent's memory and threads, which a child cannot use, and the locks, which a thread may hold."""
    global _staging, _threads
    _staging, _threads = _Staging(), _Threads()


os.register_at_fork(after_in_child=_after_fork)


def _padded(size: int) -> int:
    return -(-size // _PADDING_BYTES) * _PADDING_BYTES


def make_memory(size: int, device: int | str) -> _native.Memory:
    """Allocate memory on a device: ``"cuda"``, ``"cuda:1"``, a number, or ``"cpu"`` for page-locked host memory.

    Raises:
        ValueError: ``device`` has a different form.
        Error: The device does not exist.
    """
    size = _padded(max(size, 1))
    if device == "cpu":
        return _native.Memory(size, "page-locked")
    name = str(device)
    number = name.removeprefix("cuda").removeprefix(":") if name != "cuda" else "0"
    if not number.isdecimal() or name == "cuda:":
        raise ValueError(f"device: must be 'cuda', 'cuda:N', a device's number or 'cpu', not {device!r}")
    return _native.Memory(size, "device", int(number))


def spans(view: View, ranges: Iterable[tuple[int, int]], device: int | str) -> list[DeviceSpan]:
    """Fetch ranges of the view, each given by its offset and size, to a device."""
    wanted = list(ranges)
    for offset, size in wanted:
        if offset < 0 or size < 0 or offset + size > view.size:
            raise ValueError(f"ranges: {size} bytes at {offset} extend past the view of {view.size} bytes")
    known = view.column_pages()
    starts = [pages.chunk.start for pages in known]

    def chunk_of(offset: int, size: int) -> Pages | None:
        index = bisect.bisect_right(starts, offset) - 1
        whole = index >= 0 and size and (known[index].chunk.start, known[index].chunk.length) == (offset, size)
        return known[index] if whole else None

    chunks = [chunk_of(offset, size) for offset, size in wanted]
    bases, total = [], 0
    for pages, (_, size) in zip(chunks, wanted, strict=True):
        bases.append(total)
        total += _padded(size) if pages is not None else 0
    shared = make_memory(total, device)  # one allocation for all chunks
    queue = [number for number, pages in enumerate(chunks) if pages is not None][::-1]

    def work() -> None:
        staging = _staging.take()
        mover = _staging.take_mover(shared.device) if shared.device >= 0 else None
        try:
            while True:
                try:
                    number = queue.pop()  # atomic in CPython
                except IndexError:
                    if mover is not None:
                        mover.check()
                    return
                pages = chunks[number]
                if pages is not None:
                    pages.move(shared, bases[number], staging, mover)
        finally:
            queue.clear()  # after a failure, no thread may begin another chunk
            _staging.give(staging)
            if mover is not None:
                mover.end()
                _staging.give_mover(mover)

    threads = min(_MOST_THREADS, max(len(os.sched_getaffinity(0)), 4), len(queue))
    if threads == 1:
        work()
    elif threads:
        begun = [_threads.pool().submit(work) for _ in range(threads)]
        concurrent.futures.wait(begun)
        for done in begun:
            done.result()
    result = []
    for pages, base, (offset, size) in zip(chunks, bases, wanted, strict=True):
        memory = shared if pages is not None else _copied(view, offset, size, device)
        result.append(DeviceSpan(memory, base if pages is not None else 0, size, offset))
    return result


def _copied(view: View, offset: int, size: int, device: int | str) -> _native.Memory:
    """Return a range that is not a complete column chunk with a key, such as an index or an unencrypted column, in
    memory on the device. Encrypted bytes are decrypted on the CPU."""
    memory = make_memory(size, device)
    if size:
        _native.copy(memory, view.read_at(offset, size).ljust(len(memory), b"\0"))
    return memory


def chosen(view: View, row_groups: Sequence[int] | None, columns: Sequence[str] | None) -> list[tuple[int, int]]:
    """Return the offsets and sizes of column chunks, row group by row group, with the columns in file order.

    Raises:
        ValueError: The row group or column does not exist.
        FormatError: An unencrypted chunk lies outside the file's data.
    """
    rows = view.footer.chunks
    groups = range(len(rows)) if row_groups is None else row_groups
    for group in groups:
        if not 0 <= group < len(rows):
            raise ValueError(f"row_groups: there is no row group {group}; the file has {len(rows)} row groups")
    for name in columns or ():
        if rows and not any(_names(chunk.place.path, name) for chunk in rows[0]):
            raise ValueError(f"columns: the file has no column {name}")
    found = [
        chunk
        for group in groups
        for chunk in rows[group]
        if columns is None or any(_names(chunk.place.path, name) for name in columns)
    ]
    for chunk in found:
        if not chunk.encrypted and chunk.length:
            check_inside(view.footer, chunk.start, chunk.length, f"{chunk.place}: the column chunk")
    return [(chunk.start, chunk.length) for chunk in found]


def _names(path: str, name: str) -> bool:
    """Return whether a name is the path of a column or of a group that contains it."""
    return path == name or path.startswith(name + ".")


__all__ = ["DeviceSpan", "Pages", "chosen", "make_memory", "spans"]
