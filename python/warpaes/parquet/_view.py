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
from .._typing import Buffer
from ..exceptions import FormatError, InvalidTag
from . import _footer, _modules, _thrift
from ._footer import Chunk, Footer, Span
from ._keys import KeyRing

#: Bytes that are read at a time where pages are passed over.
_STRIDE = 8 << 20
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
        if length == 0:
            return b""
        data = bytearray(length)
        with memoryview(data) as view:
            self._read_at(offset, view)
        return data  # type: ignore[return-value]

    def close(self) -> None:
        """Close the file if this object has opened it."""
        if self._owned:
            self._file.close()


class PlainView(io.RawIOBase):
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
        self._lock = threading.RLock()
        self._position = 0
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

    def readable(self) -> bool:
        """Whether the file object can be read: always."""
        return True

    def seekable(self) -> bool:
        """Whether the file object can seek: always."""
        return True

    def __len__(self) -> int:
        """Return the size of the plain file in bytes."""
        return self._size

    @property
    def size(self) -> int:
        """The size of the plain file in bytes."""
        return self._size

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set the position."""
        self._check_open()
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}.get(whence)
        if base is None:
            raise ValueError(f"whence: must be 0, 1 or 2, got {whence}")
        if base + offset < 0:
            raise ValueError(f"offset: position {base + offset} lies before the file")
        self._position = base + offset
        return self._position

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError("the file object is closed")

    def read(self, size: int | None = -1) -> bytes:
        """Read up to ``size`` bytes from the position; all of the rest if it is negative or None."""
        with self._lock:
            size = self._size if size is None or size < 0 else size
            data = self.read_at(self._position, size)
            self._position += len(data)
            return data

    def readall(self) -> bytes:
        """Read the rest."""
        return self.read()

    def readinto(self, buffer: Buffer) -> int:
        """Read into a buffer, and return how many bytes."""
        with memoryview(buffer).cast("B") as to:
            data = self.read(len(to))
            to[: len(data)] = data
            return len(data)

    def close(self) -> None:
        """Close the file object, and the file if ``open`` has opened it."""
        if not self.closed:
            for part in self._parts_or_none():
                part.kept = None
            self._source.close()
        super().close()

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
        end = min(offset + length, self._size)
        pieces: list[bytes] = []
        with self._lock:
            while offset < end:
                pieces.append(self._piece(offset, end, not pieces))
                offset += len(pieces[-1])
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _piece(self, offset: int, end: int, first: bool) -> bytes:
        """Return one or more bytes at an offset: of one part, or between parts. ``first``: the read begins here."""
        if offset < 4:
            return b"PAR1"[offset : min(end, 4)]
        if offset >= self._data_end:
            return self._tail[offset - self._data_end : end - self._data_end]
        index = bisect.bisect_right(self._offsets, offset) - 1
        if index >= 0:
            part = self._parts[index]
            if offset < part.start + part.length:
                return self._of_part(part, offset - part.start, min(end - part.start, part.length), first)
        after = self._offsets[index + 1] if index + 1 < len(self._parts) else self._data_end
        return bytes(self._source.read(offset, min(end, after, self._data_end) - offset))

    def _of_part(self, part: _Part, begin: int, end: int, first: bool) -> bytes:
        if part.chunk.key is None:
            if first:
                raise KeyError(
                    f"keys: there is no key for {part.chunk.place}, whose key metadata is {part.chunk.key_metadata!r}"
                )
            # A read of other columns that passes over this one. Readers refuse zeros as a page header.
            return bytes(end - begin)
        if part.span is None:
            return self._of_pages(part, begin, end)
        if part.kept is None:
            part.kept = (0, self._plain_span(part.span, part.chunk.key))
        return part.kept[1][begin:end]

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

    def _of_pages(self, part: _Part, begin: int, end: int) -> bytes:
        """Decrypt the pages under [begin, end) of a chunk."""
        held, held_from = self._map(part, begin, end)
        starts = part.starts
        first = bisect.bisect_right(starts, begin) - 1
        last = bisect.bisect_left(starts, end)  # pages first to last - 1
        pieces = []
        at = first
        if part.kept is not None and part.kept[0] == first:
            pieces.append(part.kept[1])
            at += 1
        if at < last:
            low, high = starts[at], starts[last]
            have = held is not None and held_from <= low
            if have and held is not None:
                modules: Any = memoryview(held)[low - held_from : high - held_from]
            else:
                modules = self._source.read(part.start + low, high - low)
            data = self._decrypt(part, modules, at)
            pieces.append(data)
            if end != high:  # the last page is needed again
                part.kept = (last - 1, data[starts[last - 1] - low :])
        base = starts[first]
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        return data if base == begin and len(data) == end - begin else data[begin - base : end - base]

    def _decrypt(self, part: _Part, modules: Any, page: int) -> bytes:
        chunk = part.chunk
        first = max(page - 1, 0) if chunk.dictionary else page
        if self.footer.ctr and not part.checked:
            self._refuse_renamed(part, modules, page, first)
        return _native.parquet_decrypt(
            chunk.key or b"",
            self.footer.aad,
            modules,
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

    def _map(self, part: _Part, begin: int, end: int) -> tuple[bytes | None, int]:
        """Find the pages up to ``end``. Return bytes read for this, from ``begin``'s page on, and where they begin."""
        chunk, starts = part.chunk, part.starts
        if starts[-1] >= end:
            return None, 0
        held = bytearray()
        held_from = starts[-1]
        while starts[-1] < end:
            known = held_from + len(held)
            want = min(
                part.length, max(end if end - known <= _STRIDE or begin <= known else known + _STRIDE, known + 1)
            )
            want = max(want, min(part.length, starts[-1] + self._needed(held, starts[-1] - held_from)))
            if want <= known:
                raise FormatError(f"{chunk.place}: the last page reaches beyond the column chunk")
            held += self._source.read(part.start + known, want - known)
            with memoryview(held) as view:
                pages = _native.parquet_walk(
                    view[starts[-1] - held_from :],
                    self.footer.ctr,
                    chunk.dictionary and len(starts) == 1,
                    chunk.place.row_group,
                    chunk.place.column,
                    self._next_ordinal(part),
                )
            for header, page in pages:
                starts.append(starts[-1] + header + page)
            passed = starts[bisect.bisect_right(starts, begin) - 1]  # what lies before the page of `begin`
            if passed > held_from:
                del held[: passed - held_from]
                held_from = passed
        return held, held_from  # type: ignore[return-value]

    def _next_ordinal(self, part: _Part) -> int:
        ordinal = len(part.starts) - 1
        ordinal = max(ordinal - 1, 0) if part.chunk.dictionary else ordinal
        if ordinal > 32767:
            raise FormatError(f"{part.chunk.place}: a column chunk has at most 32,768 data pages")
        return ordinal

    def _needed(self, held: bytearray, at: int) -> int:
        """Return how many bytes the page at ``at`` takes, as far as its length fields are there."""
        if len(held) < at + 4:
            return 4
        header = 4 + int.from_bytes(held[at : at + 4], "little")
        if len(held) < at + header + 4:
            return header + 4
        return header + 4 + int.from_bytes(held[at + header : at + header + 4], "little")


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
