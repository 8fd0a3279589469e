"""The plain view of an encrypted Parquet file: a file object with the same offsets as the file."""

from __future__ import annotations

import bisect
import io
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .. import _native
from .._typing import Buffer
from ..exceptions import FormatError
from . import _device, _footer, _modules, _prune, _thrift
from ._device import DeviceSpan
from ._footer import Chunk, Footer, Span
from ._keys import KeyRing
from ._pages import Pages, copy, read_chunks, read_job
from ._plain import PlainFile
from ._source import Source

#: Number of zeros before the view's footer. Readers read up to this many bytes from the end to find the footer. Without
#: the zeros, they would fetch and decrypt unused pages.
_GAP_BYTES = 64 << 10


@dataclass
class _Part:
    """A part of the view whose bytes differ from the file: pages, an index, a Bloom filter or a missing column."""

    start: int
    length: int
    chunk: Chunk
    span: Span | None = None
    #: The OffsetIndex of a chunk.
    index: Span | None = None
    #: The pages of a chunk, once they have been read.
    pages: Pages | None = None
    #: The decrypted bytes.
    plain: bytes | None = None


class PlainView(PlainFile):
    """Shows an encrypted Parquet file as the unencrypted file that readers expect.

    Every page keeps its offset, so only the parts that a reader requests are fetched and decrypted. Only authentic
    bytes are returned, except for AES_GCM_CTR_V1 pages, which the format does not authenticate. Any thread may read.
    """

    def __init__(
        self,
        source: Source,
        keys: KeyRing,
        aad_prefix: bytes | None = None,
        require_gcm: bool = False,
        allow_plaintext: bool = False,
        drop_missing: bool = False,
    ) -> None:
        """Read and verify the footer; see ``warpaes.parquet.open``."""
        super().__init__()
        self._source = source
        self._own = threading.local()  # the position and the window of each thread
        self.footer: Footer = _footer.read_footer(
            lambda offset, length: bytes(source.read(offset, length)), source.size, keys, aad_prefix, allow_plaintext
        )
        if require_gcm and self.footer.ctr:
            raise ValueError("require_gcm: the file uses AES_GCM_CTR_V1, which does not authenticate pages")
        self._missing = sorted(
            {one.place.path for row in self.footer.chunks for one in row if one.encrypted and one.key is None}
        )
        if drop_missing:
            _prune.drop_missing(self.footer)
        self._parts = self._make_parts()
        self._offsets = [part.start for part in self._parts]
        footer = self.footer.write()
        self._tail = bytes(_GAP_BYTES) + footer + len(footer).to_bytes(4, "little") + b"PAR1"
        self._size = self._data_end + len(self._tail)

    def _make_parts(self) -> list[_Part]:
        self._data_end = self.footer.start
        parts = [_Part(span.start, span.length, span.chunk, span) for span in self.footer.spans]
        indexes = {id(span.chunk): span for span in self.footer.spans if span.kind == _modules.OFFSET_INDEX}
        for index, row in enumerate(self.footer.chunks):
            group_bytes = sum(one.length for one in row)  # before chunks get larger sizes
            for number, chunk in enumerate(row):
                if not chunk.encrypted or not chunk.length:
                    continue
                if chunk.key is None:
                    self._move_away(self._column(index, number), chunk, group_bytes)
                    parts.append(_Part(chunk.start, chunk.length, chunk))
                else:
                    parts.append(_Part(chunk.start, chunk.length, chunk, index=indexes.get(id(chunk))))
        return sorted((part for part in parts if part.length), key=lambda part: part.start)

    def _pages(self, part: _Part) -> Pages | None:
        """Return the pages of a part, or None for an index, a Bloom filter or a missing column."""
        if part.pages is None and part.span is None and part.chunk.key is not None:
            part.pages = Pages(self._source, self.footer, part.chunk, part.index)
        return part.pages

    def _column(self, group: int, number: int) -> _thrift.Struct:
        """Return a column chunk in the footer."""
        groups = _thrift.structs(self.footer.metadata, _footer.ROW_GROUPS, "the footer")
        return _thrift.structs(groups[group], _footer.COLUMNS, "row group")[number]

    def _move_away(self, column: _thrift.Struct, chunk: Chunk, group_bytes: int) -> None:
        """Move a chunk without a key after all other chunks, and give it a large size.

        Readers also read small gaps between the columns that they need, and DuckDB reads a complete row group if it
        needs most of the group. Therefore, gaps must not contain an unreadable column.
        """
        meta: _thrift.Struct = column[_footer.META_DATA][1]
        moved = self._data_end - chunk.start
        for number in (_footer.DATA_OFFSET, _footer.DICTIONARY_OFFSET, _footer.INDEX_PAGE_OFFSET):
            if number not in meta:
                continue
            moved_to = _thrift.need(meta, number, _thrift.I64, chunk.place) + moved
            if not -(1 << 63) <= moved_to < 1 << 63:
                raise FormatError(f"{chunk.place}: a page is outside the file's data")
            meta[number] = (_thrift.I64, moved_to)
        if column.get(_footer.FILE_OFFSET, (_thrift.I64, 0))[1]:
            column[_footer.FILE_OFFSET] = (_thrift.I64, self._data_end)
        chunk.start, chunk.length = self._data_end, group_bytes
        meta[_footer.COMPRESSED_SIZE] = (_thrift.I64, chunk.length)
        self._data_end += chunk.length

    @property
    def encrypted(self) -> bool:
        """Whether the file is encrypted."""
        return self.footer.encrypted

    @property
    def missing_columns(self) -> list[str]:
        """The paths of the columns without a key. Reading such a column raises KeyError, unless ``drop_missing`` has
        removed it."""
        return list(self._missing)

    def __len__(self) -> int:
        """Return the size of the unencrypted file in bytes."""
        return self._size

    def tell(self) -> int:
        """Return the current position."""
        position: int = getattr(self._own, "at", self._position)
        return position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set this thread's position.

        Readers with several threads seek and read in two calls, so each thread that seeks has its own position.
        """
        self._own.at = at = super().seek(offset, whence)
        return at

    def read(self, size: int | None = -1) -> bytes:
        """Read up to ``size`` bytes from the current position, or all remaining bytes if ``size`` is negative or
        None."""
        data = super().read(size)
        if hasattr(self._own, "at"):
            self._own.at += len(data)
        return data

    def close(self) -> None:
        """Close this object, and the file if ``open`` opened it."""
        if not self.closed:
            for part in getattr(self, "_parts", []):
                part.plain = None
                if part.pages is not None:
                    part.pages.forget()
            self._source.close()
        super().close()

    def own_source(self) -> None:
        """Make ``close`` also close the encrypted file, even if it was passed as a file object."""
        self._source.own()

    def read_at(self, offset: int, length: int) -> bytes:
        """Read up to ``length`` bytes from an offset in the unencrypted file without changing the position.

        Raises:
            InvalidTag: A module is not authentic.
            FormatError: The file is damaged.
            KeyError: The key of a column that contains these bytes is missing.
            ValueError: The offset is negative.
        """
        data, view = _native.parquet_buffer(self._rest(offset, length))
        with view:
            self._fill(offset, view)
        return data

    def read_buffer(self, size: int | None = -1) -> Any:
        """Read up to ``size`` bytes from the current position into a ``pyarrow.Buffer``. pyarrow calls this method
        instead of ``read``.

        The memory comes from pyarrow's allocator, which reuses it for later reads: faulting in fresh memory for a read
        takes half as long as the decryption. Raises the same exceptions as ``read_at``.
        """
        import pyarrow

        at = self.tell()
        data = pyarrow.allocate_buffer(self._rest(at, self._size if size is None or size < 0 else size))
        with memoryview(data) as whole, whole.cast("B") as view:
            self._fill(at, view)
        self.seek(at + data.size)
        return data

    def readinto(self, buffer: Buffer) -> int:
        """Read into a buffer, and return the number of bytes."""
        at = self.tell()
        with memoryview(buffer).cast("B") as whole, whole[: self._rest(at, len(whole))] as to:
            try:
                self._fill(at, to)
            except BaseException:
                to[:] = bytes(len(to))
                raise
            self.seek(at + len(to))
            return len(to)

    def _rest(self, offset: int, length: int) -> int:
        self._check_open()
        if offset < 0:
            raise ValueError(f"offset: must not be negative, but is {offset}")
        return max(0, min(length, self._size - offset))

    def _fill(self, offset: int, view: memoryview) -> None:
        complete = self._read_chunks(offset, view)
        at = 0
        while at < len(view):
            at += complete.get(offset + at) or self._piece(offset + at, view[at:])

    def _read_chunks(self, offset: int, view: memoryview) -> dict[int, int]:
        """Write the complete column chunks in a range of a local file, on several threads. Return the length of each
        such chunk by its offset. A damaged chunk is left to ``_piece``, which finds the error."""
        end = offset + len(view)
        jobs = []
        for index in range(bisect.bisect_left(self._offsets, offset), len(self._parts)):
            part = self._parts[index]
            if part.start + part.length > end:
                break
            if part.span is None and part.chunk.key is not None and self._streamable(part):
                jobs.append(read_job(part.chunk, 0, 0, part.start - offset, part.length))
        if len(jobs) < 2:
            return {}
        read = zip(jobs, read_chunks(self._source, self.footer, jobs, view), strict=True)
        return {offset + job[3]: job[4] for job, sizes in read if sum(sizes) == job[4]}

    def _streamable(self, part: _Part) -> bool:
        pages = self._pages(part) if self.footer.ctr else None
        return self._source.descriptor() is not None if pages is None else pages.streamable

    def _piece(self, offset: int, to: memoryview) -> int:
        """Write one or more bytes from an offset, either from a single part or from the bytes between parts."""
        if offset < 4:
            return copy(b"PAR1"[offset:], to)
        if offset >= self._data_end:
            return copy(memoryview(self._tail)[offset - self._data_end :], to)
        index = bisect.bisect_right(self._offsets, offset) - 1
        if index >= 0:
            part = self._parts[index]
            if offset < part.start + part.length:
                return self._of_part(part, offset - part.start, to[: part.start + part.length - offset])
        after = self._offsets[index + 1] if index + 1 < len(self._parts) else self._data_end
        to = to[: min(after, self._data_end) - offset]
        self._source.read_into(offset, to)
        return len(to)

    def _of_part(self, part: _Part, begin: int, to: memoryview) -> int:
        if part.chunk.key is None:
            raise KeyError(
                f"keys: the key of {part.chunk.place} is missing; its key metadata is {part.chunk.key_metadata!r}"
            )
        pages = self._pages(part)
        if pages is not None:
            return pages.read(begin, to)
        plain = part.plain
        if plain is None and part.span is not None:
            plain = part.plain = self._plain_span(part.span, part.chunk.key)
        return copy(memoryview(plain or b"")[begin:], to)

    # ------------------------------------------------------------------------------------------------------- for GPUs

    @property
    def footer_bytes(self) -> bytes:
        """The unencrypted footer (FileMetaData) without length and magic bytes, in the form that cuDF's
        HybridScanReader accepts."""
        return self._tail[_GAP_BYTES:-8]

    def column_chunks(
        self,
        row_groups: Sequence[int] | None = None,
        columns: Sequence[str] | None = None,
        device: int | str = "cuda",
    ) -> list[DeviceSpan]:
        """Copy column chunks as ciphertext to GPU memory, and decrypt them on the GPU.

        The spans have ``ptr`` and ``size`` and are complete on return. They are ordered by row group, and then by
        column as in the file, like HybridScanReader's ``all_column_chunks_byte_ranges``.

        Args:
            row_groups: The indices of row groups, or None for all.
            columns: The paths of columns, or of groups that contain them, or None for all.
            device: ``"cuda"``, ``"cuda:1"``, a device number, or ``"cpu"`` for page-locked host memory.

        Raises:
            InvalidTag: A module is not authentic.
            KeyError: The key of a column is missing.
            ValueError: The row group or column does not exist, or ``device`` is not a device name.
            Error: The device does not exist.
        """
        return self.to_device(_device.chosen(self, row_groups, columns), device)

    def to_device(self, ranges: Iterable[tuple[int, int]], device: int | str = "cuda") -> list[DeviceSpan]:
        """Fetch ranges of the unencrypted file, such as the ranges that HybridScanReader requests, to GPU memory.

        A complete column chunk is decrypted on the GPU. Other ranges are decrypted on the CPU and copied. Raises the
        same exceptions as ``column_chunks``.

        Args:
            ranges: The offset and the size in bytes of each range.
            device: See ``column_chunks``.
        """
        self._check_open()
        return _device.spans(self, ranges, device)

    def column_pages(self) -> list[Pages]:
        """Return the encrypted chunks whose keys are available, in file order."""
        return [pages for part in self._parts if (pages := self._pages(part)) is not None]

    def _plain_span(self, span: Span, key: bytes) -> bytes:
        """Decrypt an index, or the two modules of a Bloom filter. The result is padded to the size of the modules."""
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


def _padded(header: _thrift.Struct, size: int, where: str) -> bytes:
    """Return a struct of exactly ``size`` bytes, padded with binary fields that readers ignore."""
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
    raise FormatError(f"{where}: the Bloom filter header is too small for padding")
