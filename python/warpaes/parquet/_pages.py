"""The pages of a column chunk, with their positions and their plain view."""

from __future__ import annotations

import array
import bisect
import contextlib
import os
from typing import Any

from .. import _native
from .._fork_lock import ForkLock
from ..aead import AESGCM
from ..exceptions import FormatError, InvalidTag
from . import _modules, _thrift
from ._footer import Chunk, Footer, Span
from ._source import Source

_MAX_ORDINAL = 32767
#: Number of bytes that usually suffice for the module of a page header and the length field of the page's module.
_HEADER_BYTES = 256
#: Maximum number of threads for a read. C++ readers call Python for one read at a time, so reads should be fast.
_MOST_THREADS = 4
#: Minimum length of a read for which reading complete pages directly is worthwhile.
_LEAST_STREAM = 4096
#: Number of statuses that a thread keeps on the device.
_STATUSES, _STATUS_BYTES = 16 << 10, 4
#: The minimum length of a header module, for a header of one byte.
_LEAST_HEADER = _modules.OVERHEAD + 1

#: The arguments of ``parquet_read`` for a column chunk.
_Job = tuple[bytes, int, int, int, int, bool, int, int, int]


def copy(data: bytes | memoryview, to: memoryview) -> int:
    """Copy as many bytes as fit, and return their number."""
    count = min(len(data), len(to))
    to[:count] = data[:count]
    return count


def read_job(chunk: Chunk, page: int, low: int, at: int, room: int) -> _Job:
    """Return the arguments of ``read_chunks`` for a chunk that has a key.

    Args:
        chunk: The chunk.
        page: The number of the first page.
        low: The offset of the first page in the chunk.
        at: The offset of the chunk's part of the buffer.
        room: The size of the chunk's part of the buffer.
    """
    place, dictionary = chunk.place, chunk.dictionary and page == 0
    ordinal = max(page - 1, 0) if chunk.dictionary else page
    position = (chunk.start + low, chunk.length - low, at, room)
    return (chunk.key or b"", *position, dictionary, place.row_group, place.column, ordinal)


def read_chunks(source: Source, footer: Footer, jobs: list[_Job], to: memoryview) -> list[list[int]]:
    """Write complete pages of column chunks of a local file to a buffer, in one call without the GIL. Return the sizes
    of the pages of each chunk."""
    descriptor = source.descriptor()
    if descriptor is None:
        return [[] for _ in jobs]
    threads = min(_MOST_THREADS, len(os.sched_getaffinity(0)))
    return _native.parquet_read(footer.aad, descriptor, source.window_bytes, to, threads, footer.ctr, jobs)


class Mover:
    """Moves pages to a device for one thread, and checks their statuses later, because a check waits for the device."""

    def __init__(self, device: int) -> None:
        """Allocate memory for the statuses on a device."""
        self.device = device
        self._statuses = _native.Memory(_STATUS_BYTES * _STATUSES, "device", device)
        self._ciphers: dict[bytes, AESGCM] = {}
        self._begun: list[tuple[Pages, int, int]] = []  # chunk, its first page, and the number of pages
        self._used = 0

    def enqueue(
        self, pages: Pages, page: int, image: memoryview, to: Any, base: int, ordinals: tuple[bool, bool, int, int, int]
    ) -> tuple[int, int] | None:
        """Enqueue the complete pages of an image. Return the size and the number of these pages, or None if there are
        too many pages."""
        key = pages.chunk.key or b""
        cipher = self._ciphers.get(key)
        if cipher is None:
            cipher = self._ciphers[key] = AESGCM(key)
        while True:
            moved = _native.parquet_enqueue(cipher, pages.aad, image, to, base, *ordinals, self._statuses, self._used)
            if moved is not None:
                self._begun.append((pages, page, moved[1]))
                self._used += moved[1]
            if moved is not None or not self._used:
                return moved
            self.check()

    def check(self) -> None:
        """Wait for all pages, and raise InvalidTag if one is not authentic."""
        begun, self._begun, used, self._used = self._begun, [], self._used, 0
        if not used:
            return
        found = array.array("i", bytes(len(self._statuses)))
        _native.copy(found, self._statuses)
        if not any(found[:used]):
            return
        at = 0
        for pages, page, count in begun:
            for number in range(count):
                if found[at + number]:
                    raise pages.not_authentic(page + number)
            at += count

    def end(self) -> None:
        """Wait for all pages, and discard the keys."""
        with contextlib.suppress(InvalidTag):
            self.check()
        self._ciphers.clear()


class Pages:
    """The pages of a column chunk. Any number of threads may read."""

    def __init__(self, source: Source, footer: Footer, chunk: Chunk, index: Span | None) -> None:
        """Store a chunk that has a key. ``index`` is its OffsetIndex, which makes the search for pages before a read
        unnecessary."""
        self._source, self._footer, self._chunk, self._index = source, footer, chunk, index
        self._starts = [0]  # the offsets of the known pages, and the end of the last known page
        self._checked = False  # whether AES_GCM_CTR_V1 pages are known not to be renamed AES_GCM_V1 pages
        self._kept: tuple[int, memoryview] | None = None  # decrypted pages that were not read to their end
        self._next = -1  # where the last read ended
        self._closed = False
        self._lock = ForkLock()
        self._overhead = _modules.CTR_OVERHEAD if footer.ctr else _modules.OVERHEAD

    @property
    def aad(self) -> bytes:
        """The AAD prefix and aad_file_unique."""
        return self._footer.aad

    @property
    def chunk(self) -> Chunk:
        """The chunk that contains the pages."""
        return self._chunk

    def move(self, to: Any, base: int, staging: Any, mover: Mover | None = None) -> None:
        """Create the plain view of the complete chunk in host or device memory, starting at byte ``base`` of ``to``.

        Ciphertext is copied through ``staging``, page-locked memory; the plaintext of pages exists only in the result.
        ``mover`` is given only for device memory. The result is then complete when the mover has checked it.

        Raises:
            InvalidTag: A module is not authentic. ``to`` then contains no plaintext that is not authentic, except for
                pages of AES_GCM_CTR_V1.
            FormatError: The chunk is damaged.
        """
        chunk, shift = self._chunk, 0 if self._footer.ctr else _modules.TAG_BYTES
        piece_bytes = len(staging) - _modules.TAG_BYTES
        at, page, want = 0, 0, piece_bytes
        memory = staging
        while at < chunk.length:
            if self._ordinal(page) > _MAX_ORDINAL:
                raise FormatError(f"{chunk.place}: a column chunk must not have more than 32,768 data pages")
            size = min(want, chunk.length - at)
            if len(memory) < shift + size:  # for a longer page
                memory = _native.Memory(shift + size)
            image = memoryview(memory)[: shift + size]
            self._source.read_into(chunk.start + at, image[shift:])
            self._refuse_renamed(image[shift:], page)
            ordinals = (
                self._footer.ctr,
                chunk.dictionary and page == 0,
                chunk.place.row_group,
                chunk.place.column,
                self._ordinal(page),
            )
            moved = None if mover is None else mover.enqueue(self, page, image, to, base + at, ordinals)
            if moved is None:
                key = chunk.key or b""
                moved = _native.parquet_move(key, self._footer.aad, image, to, base + at, *ordinals)
            done, pages = moved
            if not done and size == chunk.length - at:
                raise FormatError(f"{chunk.place}: the last page extends past the column chunk")
            want = piece_bytes if done else 2 * want
            at, page = at + done, page + pages

    def not_authentic(self, page: int) -> InvalidTag:
        """Return the exception for a page whose tag is wrong."""
        name = "dictionary page" if self._chunk.dictionary and page == 0 else f"page {self._ordinal(page)}"
        place = self._chunk.place
        return InvalidTag(
            f"row group {place.row_group}, column {place.column}, {name}: the page is not authentic: the key or the "
            f"AAD prefix is wrong, or the file was altered"
        )

    def forget(self) -> None:
        """Discard the decrypted page that is kept, and keep no other page."""
        with self._lock:
            self._closed, self._kept = True, None

    def starts(self) -> list[int]:
        """Return the offsets of all pages, and the end of the last page."""
        with self._lock:
            self._find(self._chunk.length)
            return list(self._starts)

    def read(self, begin: int, to: memoryview) -> int:
        """Write bytes of the view from offset ``begin`` on, as many as the pages that are decrypted at a time contain.
        Return the number of bytes, which is at least one."""
        with self._lock:
            count = self._of_kept(begin, to) or self._read(begin, to)
            self._next = begin + count
            if self._closed:
                self._kept = None
            return count

    def _of_kept(self, begin: int, to: memoryview) -> int:
        if self._kept is None:
            return 0
        low, data = self._kept
        if not low <= begin < low + len(data):
            return 0
        count = copy(data[begin - low :], to)
        if begin - low + count == len(data):
            self._kept = None
        return count

    def _read(self, begin: int, to: memoryview) -> int:
        starts, end = self._starts, begin + len(to)
        self._find(begin)
        page = bisect.bisect_right(starts, begin) - 1
        low = starts[page]
        if begin == self._next and len(to) <= self._source.window_bytes // 4 and self._read_ahead(page):
            return self._of_kept(begin, to)
        if begin == low and (count := self._stream(page, to)):
            return count
        modules = self._from(page, end)
        last = bisect.bisect_right(starts, low + len(modules)) - 1  # pages page to last - 1 are in `modules`
        whole = last
        if begin == low:  # pages that are read completely are written directly to their final location
            while whole > page and starts[whole] > end:
                whole -= 1
            if whole > page:
                count = starts[whole] - low
                self._decrypt(modules[:count], to[:count], page)
                return count
        size = starts[page + 1] - low
        data, view = _native.parquet_buffer(size)
        with view:
            self._decrypt(modules[:size], view, page)
        self._kept = (low, memoryview(data))
        return self._of_kept(begin, to)

    def _read_ahead(self, page: int) -> bool:
        """Decrypt a window of pages of a local file, because short reads follow one another. Return whether it contains
        a page."""
        low = self._starts[page]
        data, view = _native.parquet_buffer(min(self._source.window_bytes, self._chunk.length - low))
        with view:
            count = self._stream(page, view)
        if count:
            self._kept = (low, memoryview(data)[:count])
        return count > 0

    @property
    def streamable(self) -> bool:
        """Whether ``read_chunks`` can read the pages: the file is local, and no check needs a page's ciphertext."""
        return self._source.descriptor() is not None and (not self._footer.ctr or self._checked)

    def _stream(self, page: int, to: memoryview) -> int:
        """Write as many complete pages of a local file as fit, in one call. Return the number of bytes."""
        starts = self._starts
        low = starts[page]
        fits = len(to) >= _LEAST_STREAM and (page + 1 == len(starts) or starts[page + 1] - low <= len(to))
        if not fits or not self.streamable or self._ordinal(page) > _MAX_ORDINAL:
            return 0
        job = read_job(self._chunk, page, low, 0, len(to))
        (sizes,) = read_chunks(self._source, self._footer, [job], to)
        count = 0
        for number, size in enumerate(sizes, page + 1):
            count += size
            if number == len(starts):
                starts.append(low + count)
        return count

    # ------------------------------------------------------------------------------------------- where pages lie

    def _find(self, begin: int) -> None:
        """Find the offsets of all pages up to a given byte of the chunk."""
        starts = self._starts
        if starts[-1] >= begin:
            return
        if self._index is not None:
            index, self._index = self._index, None
            found = self._indexed(index)
            if found is not None:
                self._starts[:] = found
        while starts[-1] < begin:
            if self._source.local:
                self._hop()
            else:  # a request takes longer than the transfer of several pages
                self._from(len(starts) - 1, begin)

    def _indexed(self, index: Span) -> list[int] | None:
        """Return the offsets of the pages in the OffsetIndex, or None if the index does not cover the chunk without
        gaps."""
        chunk = self._chunk
        what = f"{chunk.place}: the offset index"
        module = self._source.read(index.start, index.length)
        text = _modules.open_module(chunk.key or b"", self._footer.aad, module, _modules.OFFSET_INDEX, chunk.place)
        starts = [0]
        for location in _thrift.structs(_thrift.Reader(text, what).struct(), 1, what):
            at = _thrift.need(location, 1, _thrift.I64, what) - chunk.start
            size = _thrift.need(location, 2, _thrift.I32, what)
            if chunk.dictionary and len(starts) == 1:
                starts.append(at)
            if at != starts[-1] or size < _LEAST_HEADER + self._overhead:
                return None
            starts.append(at + size)
        fits = starts[-1] == chunk.length and starts == sorted(starts) and self._starts == starts[: len(self._starts)]
        return starts if fits and len(starts) <= _MAX_ORDINAL + 2 + chunk.dictionary else None

    def _hop(self) -> None:
        """Find the end of the next page from the page's two length fields."""
        at, length = self._starts[-1], self._chunk.length
        self._check_ordinal()
        held = self._source.read(self._chunk.start + at, min(_HEADER_BYTES, length - at))
        header = _modules.LENGTH_BYTES + int.from_bytes(held[:4], "little")
        if len(held) < 4 or header < _LEAST_HEADER or header + 4 > length - at:
            raise self._damaged()
        more = held[header : header + 4]
        if len(more) < 4:
            more = self._source.read(self._chunk.start + at + header, 4)
        page = _modules.LENGTH_BYTES + int.from_bytes(more, "little")
        if page < self._overhead or page > length - at - header:
            raise self._damaged()
        self._starts.append(at + header + page)

    def _from(self, page: int, end: int) -> memoryview:
        """Read complete pages, starting with ``page``: about one window, or up to ``end``, but at least one page."""
        starts, low, chunk = self._starts, self._starts[page], self._chunk
        limit = min(end, low + self._source.window_bytes)
        if starts[-1] >= limit:
            known = bisect.bisect_right(starts, limit) - 1
            return self._source.fetch(chunk.start + low, starts[max(known, page + 1)] - low)
        want = min(max(limit - low, starts[-1] - low + _HEADER_BYTES), chunk.length - low)
        held = self._source.fetch(chunk.start + low, want)
        while True:
            self._walk(held[starts[-1] - low :])
            if starts[-1] >= limit:
                return held[: starts[-1] - low]
            # Read only the rest of the last page in the window, so that no byte is read twice.
            want = starts[-1] - low + self._needed(held[starts[-1] - low :])
            held = self._source.fetch(chunk.start + low, want, len(held))

    def _walk(self, held: memoryview) -> None:
        """Add the complete pages in ``held``, which begins at the end of the last known page."""
        starts, chunk = self._starts, self._chunk
        pages = _native.parquet_walk(
            held,
            self._footer.ctr,
            chunk.dictionary and len(starts) == 1,
            chunk.place.row_group,
            chunk.place.column,
            self._check_ordinal(),
        )
        for header, page in pages:
            starts.append(starts[-1] + header + page)

    def _check_ordinal(self) -> int:
        """Return the ordinal of the next page."""
        ordinal = self._ordinal(len(self._starts) - 1)
        if ordinal > _MAX_ORDINAL:
            raise FormatError(f"{self._chunk.place}: a column chunk must not have more than 32,768 data pages")
        return ordinal

    def _ordinal(self, page: int) -> int:
        return max(page - 1, 0) if self._chunk.dictionary else page

    def _needed(self, held: memoryview) -> int:
        """Return the number of bytes needed for the page at the beginning of ``held``, as far as its length fields are
        known."""
        need = 4
        if len(held) >= 4:
            header = 4 + int.from_bytes(held[:4], "little")
            need = header + 4
            if len(held) >= need:
                need += int.from_bytes(held[header:need], "little")
        if need <= len(held) or need > self._chunk.length - self._starts[-1]:
            raise self._damaged()
        return need

    def _damaged(self) -> FormatError:
        page = len(self._starts) - 1
        name = "the dictionary page" if self._chunk.dictionary and page == 0 else f"page {self._ordinal(page)}"
        return FormatError(f"{self._chunk.place}, {name} has a wrong length, or extends past the column chunk")

    # -------------------------------------------------------------------------------------------------- cryptography

    def _decrypt(self, modules: memoryview, to: memoryview, page: int) -> None:
        chunk = self._chunk
        self._refuse_renamed(modules, page)
        _native.parquet_decrypt(
            chunk.key or b"",
            self._footer.aad,
            modules,
            to,
            self._footer.ctr,
            chunk.dictionary and page == 0,
            chunk.place.row_group,
            chunk.place.column,
            self._ordinal(page),
        )

    def _refuse_renamed(self, modules: Any, page: int) -> None:
        """Refuse AES_GCM_V1 pages in a file whose unauthenticated algorithm field was changed to AES_GCM_CTR_V1."""
        chunk = self._chunk
        header = 4 + int.from_bytes(modules[:4], "little")
        end = header + 4 + int.from_bytes(modules[header : header + 4], "little")
        if not self._footer.ctr or self._checked or end > len(modules):
            return
        dictionary = chunk.dictionary and page == 0
        kind = _modules.DICTIONARY_PAGE if dictionary else _modules.DATA_PAGE
        module = bytes(modules[header:end])
        with contextlib.suppress(InvalidTag, FormatError):
            _modules.open_module(
                chunk.key or b"",
                self._footer.aad,
                module,
                kind,
                chunk.place,
                None if dictionary else self._ordinal(page),
            )
            raise ValueError(f"{chunk.place}: the pages are AES_GCM_V1, but the footer was altered to AES_GCM_CTR_V1")
        self._checked = True
