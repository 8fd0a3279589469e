"""The plain view of an encrypted Parquet file: a file object with the same offsets."""

from __future__ import annotations

import bisect
import contextlib
import io
import threading
from dataclasses import dataclass, field
from typing import Any

from .. import _native
from .._file_objects import can_seek, check_binary
from .._file_objects import read_at as positional
from ..exceptions import FormatError, InvalidTag
from . import _footer, _modules, _thrift
from ._footer import Chunk, Footer, Span
from ._keys import KeyRing
from ._plain import PlainFile

#: Bytes of pages that are read and decrypted at a time, if pages are shorter: they stay in a processor's caches.
_WINDOW_BYTES = 2 << 20
_MAX_ORDINAL = 32767
#: Bytes that usually hold a header module and the next length field.
_HEADER_BYTES = 256
#: Zeros before the view's footer. Readers read up to this many bytes from the end to find the footer; without the gap
#: such a read would fetch and decrypt pages that nobody uses.
_GAP_BYTES = 64 << 10


@dataclass
class _Part:
    """A stretch of the view that is not the file's own bytes."""

    start: int
    length: int
    chunk: Chunk
    span: Span | None = None
    #: Where pages begin, as far as known, and the end of the last one.
    starts: list[int] = field(default_factory=lambda: [0])
    #: Whether a page of AES_GCM_CTR_V1 was checked not to be a renamed one of AES_GCM_V1.
    checked: bool = False
    #: The last page read, by its number, or the plain span.
    kept: tuple[int, bytes] | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


class Source:
    """The encrypted file, read at any position."""

    def __init__(self, file: Any, owned: bool) -> None:
        check_binary(file, "read", "readinto")
        if not can_seek(file):
            raise ValueError("file: a Parquet file is read from its end; this file object cannot seek")
        found = positional(file)
        if found is None:
            raise ValueError("file: a Parquet file is read from its end; this file object cannot seek")
        self._read_at, self.size = found
        self._file, self._owned = file, owned

    def read(self, offset: int, length: int) -> bytes:
        """Read exactly so many bytes."""
        data = bytearray(length)
        with memoryview(data) as view:
            self.read_into(offset, view)
        return bytes(data)

    def read_into(self, offset: int, to: memoryview) -> None:
        """Fill a buffer."""
        if len(to):
            self._read_at(offset, to)

    def own(self) -> None:
        """Close the file with this object."""
        self._owned = True

    def close(self) -> None:
        """Close the file if this object owns it."""
        if self._owned:
            self._file.close()


class PlainView(PlainFile):
    """An encrypted Parquet file as the plain file that its readers expect.

    Every page stays at its offset, so that a reader fetches and decrypts only what it reads. Nothing is returned that
    is not authentic, except pages of AES_GCM_CTR_V1, which the format does not authenticate. Any thread may read.
    """

    def __init__(
        self,
        source: Source,
        keys: KeyRing,
        aad_prefix: bytes | None = None,
        require_gcm: bool = False,
        allow_plaintext: bool = False,
    ) -> None:
        """Read and verify the footer; see ``warpaes.parquet.open``."""
        super().__init__()
        self._source = source
        self._own = threading.local()  # a thread's position and window
        self.footer: Footer = _footer.read_footer(
            lambda offset, length: bytes(source.read(offset, length)), source.size, keys, aad_prefix
        )
        if not self.footer.encrypted and not allow_plaintext:
            raise ValueError("file: it is not encrypted; with allow_plaintext=True it is opened as it is")
        if require_gcm and self.footer.ctr:
            raise ValueError("require_gcm: the file's pages are AES_GCM_CTR_V1, which does not authenticate them")
        self._parts = self._make_parts()
        self._offsets = [part.start for part in self._parts]
        footer = _thrift.write(self.footer.metadata)
        self._tail = bytes(_GAP_BYTES) + footer + len(footer).to_bytes(4, "little") + b"PAR1"
        self._size = self._data_end + len(self._tail)

    def _make_parts(self) -> list[_Part]:
        self._data_end = self.footer.start
        parts = [_Part(span.start, span.length, span.chunk, span) for span in self.footer.spans]
        groups = _thrift.structs(self.footer.metadata, _footer.ROW_GROUPS, "the footer")
        for group, row in zip(groups, self.footer.chunks, strict=True):
            for column, chunk in zip(_thrift.structs(group, _footer.COLUMNS, "row group"), row, strict=True):
                if chunk.encrypted and chunk.start == _footer.HIDDEN_OFFSET:
                    chunk.start = self._data_end
                    column[_footer.META_DATA][1][_footer.DATA_OFFSET] = (_thrift.I64, chunk.start)
                    self._data_end += _footer.HIDDEN_BYTES
                if chunk.encrypted and chunk.length:
                    parts.append(_Part(chunk.start, chunk.length, chunk))
        return sorted((part for part in parts if part.length), key=lambda part: part.start)

    @property
    def encrypted(self) -> bool:
        """Whether the file is encrypted at all."""
        return self.footer.encrypted

    @property
    def missing_columns(self) -> list[str]:
        """Paths of the columns for which there is no key: reading one raises KeyError."""
        return sorted(
            {one.place.path for row in self.footer.chunks for one in row if one.encrypted and one.key is None}
        )

    def __len__(self) -> int:
        """Return the size of the plain file in bytes."""
        return self._size

    def tell(self) -> int:
        """Return the position."""
        position: int = getattr(self._own, "at", self._position)
        return position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set the position, for this thread if another one uses the file object at the same time.

        Readers with several threads seek and read in two calls; so a thread that seeks keeps a position of its own.
        """
        self._own.at = at = super().seek(offset, whence)
        return at

    def read(self, size: int | None = -1) -> bytes:
        """Read up to ``size`` bytes from the position; all of the rest if it is negative or None."""
        data = super().read(size)
        if hasattr(self._own, "at"):
            self._own.at += len(data)
        return data

    def close(self) -> None:
        """Close the file object, and the file if ``open`` has opened it."""
        if not self.closed:
            for part in self._parts_or_none():
                part.kept = None
            self._source.close()
        super().close()

    def own_source(self) -> None:
        """Close the encrypted file with this object, although ``open`` got it as a file object."""
        self._source.own()

    def _parts_or_none(self) -> list[_Part]:
        return getattr(self, "_parts", [])

    def read_at(self, offset: int, length: int) -> bytes:
        """Read up to ``length`` bytes from an offset of the plain file, without the position.

        Raises:
            InvalidTag: A module is not authentic.
            FormatError: The file is damaged.
            KeyError: There is no key for a column.
        """
        self._check_open()
        length = max(0, min(length, self._size - offset))
        data, view = _native.parquet_buffer(length)
        with view:
            at = 0
            while at < length:
                at += self._piece(offset + at, view[at:], at == 0)
        return data

    def _piece(self, offset: int, to: memoryview, first: bool) -> int:
        """Write one or more bytes from an offset: of one part, or between parts. ``first``: the read begins here."""
        if offset < 4:
            return _copy(b"PAR1"[offset:], to)
        if offset >= self._data_end:
            return _copy(memoryview(self._tail)[offset - self._data_end :], to)
        index = bisect.bisect_right(self._offsets, offset) - 1
        if index >= 0:
            part = self._parts[index]
            if offset < part.start + part.length:
                return self._of_part(part, offset - part.start, to[: part.start + part.length - offset], first)
        after = self._offsets[index + 1] if index + 1 < len(self._parts) else self._data_end
        to = to[: min(after, self._data_end) - offset]
        self._source.read_into(offset, to)
        return len(to)

    def _of_part(self, part: _Part, begin: int, to: memoryview, first: bool) -> int:
        if part.chunk.key is None:
            if first:
                raise KeyError(
                    f"keys: there is no key for {part.chunk.place}, whose key metadata is {part.chunk.key_metadata!r}"
                )
            # A read of other columns that passes over this one. Readers refuse zeros as a page header.
            return _copy(bytes(len(to)), to)
        with part.lock:
            if part.span is None:
                return self._of_pages(part, begin, to)
            if part.kept is None:
                part.kept = (0, self._plain_span(part.span, part.chunk.key))
            return _copy(memoryview(part.kept[1])[begin:], to)

    def _plain_span(self, span: Span, key: bytes) -> bytes:
        """Decrypt an index, or a Bloom filter's two modules, to as many bytes."""
        data = bytes(self._source.read(span.start, span.length))
        place = span.chunk.place
        if span.kind != _modules.BLOOM_HEADER:
            text = _modules.open_module(key, self.footer.aad, data, span.kind, place)
            return text + bytes(span.length - len(text))
        cut = 4 + int.from_bytes(data[:4], "little")
        text = _modules.open_module(key, self.footer.aad, data[:cut], _modules.BLOOM_HEADER, place)
        bits = _modules.open_module(key, self.footer.aad, data[cut:], _modules.BLOOM_BITSET, place)
        header = _thrift.Reader(text, f"{place}: the Bloom filter header").struct()
        return _padded(header, span.length - len(bits), str(place)) + bits

    def _of_pages(self, part: _Part, begin: int, to: memoryview) -> int:
        """Write bytes of a chunk's pages, of as many pages as are decrypted at a time."""
        starts, end = part.starts, begin + len(to)
        while starts[-1] < begin:  # find where pages begin, by the lengths of modules
            self._pages_from(part, len(starts) - 1, begin)
        page = bisect.bisect_right(starts, begin) - 1
        low = starts[page]
        if part.kept is not None and part.kept[0] == page:
            return _copy(memoryview(part.kept[1])[begin - low :], to)
        modules = self._pages_from(part, page, end)
        last = bisect.bisect_right(starts, low + len(modules)) - 1  # pages page to last - 1 are in `modules`
        whole = last
        if begin == low:  # pages that are read completely go to their place
            while whole > page and starts[whole] > end:
                whole -= 1
            if whole > page:
                count = starts[whole] - low
                self._decrypt(part, modules[:count], to[:count], page)
                return count
        size = starts[page + 1] - low
        data, view = _native.parquet_buffer(size)
        with view:
            self._decrypt(part, modules[:size], view, page)
        part.kept = (page, data)
        return _copy(memoryview(data)[begin - low :], to)

    def _pages_from(self, part: _Part, page: int, end: int) -> memoryview:
        """Read whole pages from a page on, about a window or up to ``end``, and at least one."""
        starts, low = part.starts, part.starts[page]
        limit = min(end, low + _WINDOW_BYTES)
        known = bisect.bisect_right(starts, limit) - 1
        if starts[-1] >= limit:
            high = starts[max(known, page + 1)]
            return self._fetch(part, low, high)
        held = self._fetch(part, low, min(max(limit, starts[-1] + _HEADER_BYTES), part.length))
        while True:
            self._walk(part, held, low)
            if starts[-1] > low:
                return held[: starts[-1] - low]
            need = self._needed(part, held)
            held = self._fetch(part, low, low + need)

    def _fetch(self, part: _Part, low: int, high: int) -> memoryview:
        window: bytearray | None = getattr(self._own, "window", None)
        if window is None or len(window) < high - low:
            window = self._own.window = bytearray(high - low)
        view = memoryview(window)[: high - low]
        self._source.read_into(part.start + low, view)
        return view

    def _walk(self, part: _Part, held: memoryview, low: int) -> None:
        """Add the pages in bytes that begin at the last known end of a page, or before it."""
        starts, chunk = part.starts, part.chunk
        ordinal = len(starts) - 2 if chunk.dictionary and len(starts) > 1 else len(starts) - 1
        if ordinal > _MAX_ORDINAL:
            raise FormatError(f"{chunk.place}: a column chunk has at most 32,768 data pages")
        pages = _native.parquet_walk(
            held[starts[-1] - low :],
            self.footer.ctr,
            chunk.dictionary and len(starts) == 1,
            chunk.place.row_group,
            chunk.place.column,
            ordinal,
        )
        for header, page in pages:
            starts.append(starts[-1] + header + page)

    def _needed(self, part: _Part, held: memoryview) -> int:
        """Return how many bytes the page at the front of ``held`` takes, as far as its length fields are there."""
        need = 4
        if len(held) >= 4:
            header = 4 + int.from_bytes(held[:4], "little")
            need = header + 4
            if len(held) >= need:
                need += int.from_bytes(held[header:need], "little")
        if need <= len(held) or need > part.length - part.starts[-1]:
            raise FormatError(f"{part.chunk.place}: the last page reaches beyond the column chunk")
        return need

    def _decrypt(self, part: _Part, modules: memoryview, to: memoryview, page: int) -> None:
        chunk = part.chunk
        first = max(page - 1, 0) if chunk.dictionary else page
        if self.footer.ctr and not part.checked:
            self._refuse_renamed(part, modules, page, first)
        _native.parquet_decrypt(
            chunk.key or b"",
            self.footer.aad,
            modules,
            to,
            self.footer.ctr,
            chunk.dictionary and page == 0,
            chunk.place.row_group,
            chunk.place.column,
            first,
        )

    def _refuse_renamed(self, part: _Part, modules: Any, page: int, ordinal: int) -> None:
        """Refuse pages of AES_GCM_V1 in a file whose algorithm, which nothing authenticates, was changed to CTR."""
        chunk = part.chunk
        dictionary = chunk.dictionary and page == 0
        kind = _modules.DICTIONARY_PAGE if dictionary else _modules.DATA_PAGE
        header = 4 + int.from_bytes(modules[:4], "little")
        module = bytes(modules[header : part.starts[page + 1] - part.starts[page]])
        part.checked = True
        with contextlib.suppress(InvalidTag, FormatError):
            _modules.open_module(
                chunk.key or b"", self.footer.aad, module, kind, chunk.place, None if dictionary else ordinal
            )
            raise ValueError(f"{chunk.place}: its pages are AES_GCM_V1; the footer was altered to AES_GCM_CTR_V1")


def _copy(data: bytes | memoryview, to: memoryview) -> int:
    """Copy as much as there is room for, and return how much."""
    count = min(len(data), len(to))
    to[:count] = data[:count]
    return count


def _padded(header: _thrift.Struct, size: int, where: str) -> bytes:
    """Return a struct of exactly ``size`` bytes: binary fields that no reader knows fill the rest."""
    last = max(header, default=0)
    plain = len(_thrift.write(header))
    if plain == size:
        return _thrift.write(header)
    left = size - plain
    fillers = [left - 2] if left <= 129 else [left - 8]
    for count in fillers:
        if count < 0:
            break
        padded = header | {last + 7: (_thrift.BINARY, bytes(count))}
        rest = size - len(_thrift.write(padded))
        if rest >= 2:
            padded[last + 14] = (_thrift.BINARY, bytes(rest - 2))
        data = _thrift.write(padded)
        if len(data) == size:
            return data
    raise FormatError(f"{where}: the Bloom filter header leaves no room for its view")


def open_source(file: Any) -> Source:
    """Open a path, a URL of fsspec or a file object."""
    if isinstance(file, str) and "://" in file:
        import fsspec

        return Source(fsspec.open(file, "rb", cache_type="none").open(), owned=True)
    if hasattr(file, "read") or hasattr(file, "readinto"):
        return Source(file, owned=False)
    opened = io.FileIO(file, "rb")
    with contextlib.ExitStack() as stack:
        stack.callback(opened.close)
        source = Source(opened, owned=True)
        stack.pop_all()
    return source
