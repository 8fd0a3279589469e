"""Footers of encrypted Parquet files. They are decrypted or verified, and converted to the footer of the plain view."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .. import _native
from ..exceptions import FormatError
from . import _modules, _thrift
from ._keys import KeyRing, checked_key
from ._modules import OVERHEAD, Place
from ._thrift import BINARY, I32, I64, STRUCT, Struct

#: A function that reads a number of bytes from an offset in the file.
ReadAt = Callable[[int, int], bytes]

_MAX_ORDINALS = 1 << 15
#: The maximum length of the paths of all columns together. Without it, a small schema of nested groups could produce
#: much longer paths.
_MAX_PATH_BYTES = 64 << 20
_TAIL_BYTES = 8
# FileMetaData
SCHEMA, NUM_ROWS, ROW_GROUPS, ALGORITHM, SIGNING_KEY_METADATA = 2, 3, 4, 8, 9
# RowGroup
COLUMNS, RG_ROWS, RG_ORDINAL = 1, 3, 7
# ColumnChunk
FILE_PATH, FILE_OFFSET, META_DATA = 1, 2, 3
OFFSET_INDEX_OFFSET, OFFSET_INDEX_LENGTH, COLUMN_INDEX_OFFSET, COLUMN_INDEX_LENGTH = 4, 5, 6, 7
CRYPTO, ENCRYPTED_META_DATA = 8, 9
# ColumnMetaData
TYPE, ENCODINGS, PATH, CODEC, NUM_VALUES, UNCOMPRESSED_SIZE, COMPRESSED_SIZE = 1, 2, 3, 4, 5, 6, 7
DATA_OFFSET, INDEX_PAGE_OFFSET, DICTIONARY_OFFSET, BLOOM_OFFSET, BLOOM_LENGTH = 9, 10, 11, 14, 15


@dataclass(slots=True)
class Chunk:
    """A column chunk: its position in the file and, if it is encrypted, its key."""

    place: Place
    encrypted: bool
    key: bytes | None  #: None if the chunk is not encrypted or its key is missing
    start: int = 0
    length: int = 0
    dictionary: bool = False
    own_key: bool = False
    key_metadata: bytes = b""


@dataclass(slots=True)
class Span:
    """The position of a module outside the chunks, or of the two modules of a Bloom filter."""

    start: int
    length: int
    chunk: Chunk
    kind: int


@dataclass
class Footer:
    """The content of a file's footer."""

    file_size: int
    start: int  #: offset of the footer, which is the end of the data
    encrypted_footer: bool
    encrypted: bool  #: False for a file without any encryption
    ctr: bool
    aad: bytes = b""
    stored_prefix: bool = False
    key: bytes | None = field(default=None, repr=False)
    key_metadata: bytes = b""
    #: FileMetaData of the plain file, if it is not parsed yet.
    plain: bytes = b""
    chunks: list[list[Chunk]] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    _metadata: Struct | None = None

    @property
    def metadata(self) -> Struct:
        """FileMetaData of the plain file."""
        if self._metadata is None:
            self._metadata = _thrift.Reader(self.plain, "the footer").struct()
        return self._metadata

    def write(self) -> bytes:
        """Return the bytes of FileMetaData of the plain file."""
        return self.plain if self._metadata is None else _thrift.write(self._metadata)


def read_footer(read_at: ReadAt, size: int, keys: KeyRing, aad_prefix: bytes | None, allow_plaintext: bool) -> Footer:
    """Read a footer, decrypt or verify it, and convert it to the footer of the plain view.

    Raises:
        FormatError: The file is not a Parquet file, or is damaged.
        InvalidTag: A module is not authentic.
        KeyError: The footer's key is missing.
        ValueError: The AAD prefix is missing or differs from the prefix in the file, or the file is not encrypted and
            ``allow_plaintext`` is False.
    """
    data = read_end(read_at, size)
    encrypted, plaintext, ctr, supply, stored, unique, key_metadata, length = _native.parquet_footer(data)
    start = size - len(data)
    if not encrypted and not allow_plaintext:
        raise ValueError("file: is not encrypted; pass allow_plaintext=True to open it")
    if read_at(0, 4) != data[-4:]:
        raise FormatError("the file is damaged: it begins and ends with different magic bytes")
    footer = Footer(size, start, not plaintext, encrypted, ctr)
    if encrypted:
        _bind(footer, stored, unique or b"", supply, aad_prefix)
        key = _footer_key(footer, keys, key_metadata or b"")
        # Only authentic bytes are parsed into objects. Otherwise, an attacker could exhaust the memory.
        text = _native.parquet_open_footer(key, footer.aad, data, length)
    else:
        text = data[:length]
    simple = _native.parquet_simple_footer(text, "the footer", _thrift.List, _thrift.Map) if encrypted else None
    if simple is not None:
        _read_simple(footer, *simple)
    else:
        footer.plain = text
        _rewrite(footer, read_at, keys)
    _check_overlaps(footer)
    return footer


def read_end(read_at: ReadAt, size: int) -> bytes:
    """Return the end of a file, starting with the footer's first byte.

    Raises:
        FormatError: The file is not a Parquet file, or is damaged.
    """
    if size < 12:
        raise FormatError("not a Parquet file: the file is shorter than 12 bytes")
    tail = read_at(size - _TAIL_BYTES, _TAIL_BYTES)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] not in (b"PAR1", b"PARE"):
        raise FormatError("not a Parquet file: the file does not end with PAR1 or PARE")
    if length > size - 12:
        raise FormatError(f"the footer is damaged: its length is {length} bytes, but the file has only {size}")
    return read_at(size - _TAIL_BYTES - length, length) + tail


def _bind(footer: Footer, stored: bytes | None, unique: bytes, supply: bool, aad_prefix: bytes | None) -> None:
    """Check the AAD prefix, and store the file's associated data in the footer object."""
    if stored is not None and aad_prefix is not None and stored != aad_prefix:
        raise ValueError(
            "aad_prefix: differs from the prefix in the file, so the file was moved or is a different file"
        )
    if stored is None and aad_prefix is None and supply:
        raise ValueError("aad_prefix: the prefix is not stored in the file; pass it")
    footer.stored_prefix = stored is not None
    footer.aad = (stored if stored is not None else aad_prefix or b"") + unique
    if len(footer.aad) > 65536:
        raise FormatError("the footer: the AAD prefix and aad_file_unique have more than 65,536 bytes")


def _footer_key(footer: Footer, keys: KeyRing, metadata: bytes) -> bytes:
    footer.key_metadata = metadata
    key = checked_key(keys.footer(metadata), "the footer")
    if key is None:
        raise KeyError(f"keys: the footer's key is missing; its key metadata is {metadata!r}")
    footer.key = key
    return key


def _read_simple(
    footer: Footer,
    plain: bytes,
    schema: _thrift.List,
    groups: list[tuple[int | None, list[tuple[int, int | None, int]]]],
) -> None:
    """Find all chunks of a file whose chunks are all encrypted under the footer's key."""
    footer.plain = plain
    paths = [path for path, _ in _leaves({SCHEMA: (_thrift.LIST, schema)})]
    ordinals: set[int] = set()
    for index, (stored, columns) in enumerate(groups):
        ordinal = _ordinal(footer, ordinals, index, stored, len(columns), len(paths))
        row = []
        for number, (path, position) in enumerate(zip(paths, columns, strict=True)):
            chunk = Chunk(Place(ordinal, number, path), True, footer.key)
            _locate(footer, chunk, *position)
            row.append(chunk)
        footer.chunks.append(row)


def _ordinal(footer: Footer, ordinals: set[int], index: int, stored: int | None, columns: int, leaves: int) -> int:
    """Return a row group's ordinal, and add it to the ordinals of other row groups. Check the number of columns."""
    ordinal = index if stored is None else stored
    taken = not 0 <= ordinal < _MAX_ORDINALS or ordinal in ordinals
    if taken and footer.encrypted:
        raise FormatError(f"row group {index}: the ordinal {ordinal} repeats or is out of range")
    ordinals.add(ordinal)
    if columns != leaves or columns > _MAX_ORDINALS:
        raise FormatError(f"row group {index}: has {columns} columns, but the schema has {leaves}")
    return ordinal


def _inside(footer: Footer, chunk: Chunk, start: int, length: int, what: str) -> None:
    """Check that a part of a column lies inside the file's data."""
    if start < 4 or length < 0 or start + length > footer.start:
        raise FormatError(f"{chunk.place}: the {what} is outside the file's data")


def _locate(footer: Footer, chunk: Chunk, start: int, dictionary: int | None, length: int) -> None:
    """Store a chunk's position: the offsets of its first data page and its dictionary page, and its length."""
    chunk.dictionary = dictionary is not None and dictionary > 0 and not 0 < start <= dictionary
    chunk.start = dictionary if chunk.dictionary and dictionary is not None else start
    chunk.length = length
    hidden = chunk.key is None and (start, dictionary, length) == (HIDDEN_OFFSET, None, HIDDEN_BYTES)
    if chunk.encrypted and length and not hidden:
        _inside(footer, chunk, chunk.start, length, "column chunk")


def _rewrite(footer: Footer, read_at: ReadAt, keys: KeyRing) -> None:
    """Find all chunks and their keys, and convert the footer to the footer of an unencrypted file."""
    metadata = footer.metadata
    metadata.pop(ALGORITHM, None)
    metadata.pop(SIGNING_KEY_METADATA, None)
    leaves = _leaves(metadata)
    ordinals: set[int] = set()
    for index, group in enumerate(_thrift.structs(metadata, ROW_GROUPS, "the footer")):
        stored = _thrift.get(group, RG_ORDINAL, _thrift.I16, f"row group {index}")
        columns = _thrift.structs(group, COLUMNS, f"row group {index}")
        ordinal = _ordinal(footer, ordinals, index, stored, len(columns), len(leaves))
        row = []
        for number, (column, (path, leaf)) in enumerate(zip(columns, leaves, strict=True)):
            row.append(_Column(footer, read_at, keys, group, column, Place(ordinal, number, path), leaf).chunk)
        footer.chunks.append(row)


def _leaves(metadata: Struct) -> list[tuple[str, Struct]]:
    """Return the path and the schema element of each leaf, in order."""
    elements = _thrift.structs(metadata, SCHEMA, "the footer")
    leaves: list[tuple[str, Struct]] = []
    above: list[tuple[str, int]] = []  # groups for which children are still expected
    path_bytes = 0
    for index, element in enumerate(elements):
        name = (_thrift.get(element, 4, BINARY, "the schema") or b"").decode("utf-8", "replace")
        children = _thrift.get(element, 5, I32, "the schema") or 0
        while above and above[-1][1] == 0:
            above.pop()
        if index and not above:
            raise FormatError("the schema is damaged: it has several roots")
        if above:
            above[-1] = (above[-1][0], above[-1][1] - 1)
        path = ".".join([one for one, _ in above[1:]] + [name])
        if children > 0:
            if len(above) > 500:
                raise FormatError("the schema is damaged: it is nested too deeply")
            above.append((name, children))
        elif index:
            path_bytes += len(path)
            if path_bytes > _MAX_PATH_BYTES:
                raise FormatError("the schema is damaged: the paths of its columns are too long")
            leaves.append((path, element))
    if any(left for _, left in above):
        raise FormatError("the schema is damaged: it ends too early")
    return leaves


class _Column:
    """The part of the footer that describes a column chunk."""

    def __init__(
        self,
        footer: Footer,
        read_at: ReadAt,
        keys: KeyRing,
        group: Struct,
        column: Struct,
        place: Place,
        leaf: Struct,
    ) -> None:
        self._footer, self._read_at, self._column = footer, read_at, column
        crypto = column.pop(CRYPTO, None)
        sealed = column.pop(ENCRYPTED_META_DATA, None)
        chunk = self.chunk = Chunk(place, crypto is not None and footer.encrypted, None)
        if FILE_PATH in column and chunk.encrypted:
            raise FormatError(f"{place}: the data is in another file, which is not supported")
        if chunk.encrypted:
            self._find_key(keys, crypto)
        if sealed is not None:
            if chunk.key is not None:
                if sealed[0] != BINARY:
                    raise FormatError(f"{place}: the encrypted metadata is damaged")
                module = sealed[1]
                text = _modules.open_module(chunk.key, footer.aad, module, _modules.COLUMN_META_DATA, place)
                column[META_DATA] = (STRUCT, _thrift.Reader(text, f"{place}: the column metadata").struct())
            elif META_DATA not in column:
                column[META_DATA] = (STRUCT, _hidden(group, place, leaf))
        meta = _thrift.need(column, META_DATA, STRUCT, place)
        self._locate(meta)
        self._indexes()
        self._bloom(meta)

    def _find_key(self, keys: KeyRing, crypto: Any) -> None:
        chunk, place = self.chunk, self.chunk.place
        if crypto is None or crypto[0] != STRUCT or len(crypto[1]) != 1:
            raise FormatError(f"{place}: the crypto metadata is damaged")
        number = next(iter(crypto[1]))
        if number == 1:
            chunk.key = self._footer.key
            return
        if number != 2:
            raise FormatError(f"{place}: the type of the crypto metadata is unknown")
        own = _thrift.need(crypto[1], 2, STRUCT, str(place))
        chunk.own_key = True
        chunk.key_metadata = _thrift.get(own, 2, BINARY, str(place)) or b""
        chunk.key = checked_key(keys.column(place.path, chunk.key_metadata), f"column {place.path}")

    def _locate(self, meta: Struct) -> None:
        place = self.chunk.place
        start = _thrift.need(meta, DATA_OFFSET, I64, place)
        dictionary = _thrift.get(meta, DICTIONARY_OFFSET, I64, place)
        _locate(self._footer, self.chunk, start, dictionary, _thrift.need(meta, COMPRESSED_SIZE, I64, place))

    def _span(self, offset: int, length: int, start_field: int, length_field: int, kind: int) -> None:
        chunk = self.chunk
        if chunk.key is None:
            self._column.pop(start_field, None)
            self._column.pop(length_field, None)
            return
        _inside(self._footer, chunk, offset, length, "index")
        if length < OVERHEAD:
            raise FormatError(f"{chunk.place}: an index is shorter than its nonce and tag")
        self._footer.spans.append(Span(offset, length, chunk, kind))
        self._column[length_field] = (I32, length - OVERHEAD)

    def _indexes(self) -> None:
        if not self.chunk.encrypted:
            return
        for start_field, length_field, kind in (
            (OFFSET_INDEX_OFFSET, OFFSET_INDEX_LENGTH, _modules.OFFSET_INDEX),
            (COLUMN_INDEX_OFFSET, COLUMN_INDEX_LENGTH, _modules.COLUMN_INDEX),
        ):
            start = _thrift.get(self._column, start_field, I64, self.chunk.place)
            length = _thrift.get(self._column, length_field, I32, self.chunk.place)
            if start is not None:
                self._span(start, length or 0, start_field, length_field, kind)

    def _bloom(self, meta: Struct) -> None:
        chunk, footer = self.chunk, self._footer
        start = _thrift.get(meta, BLOOM_OFFSET, I64, chunk.place)
        if start is None or not chunk.encrypted:
            return
        length = _thrift.get(meta, BLOOM_LENGTH, I32, chunk.place)
        if chunk.key is None:
            meta.pop(BLOOM_OFFSET, None)
            meta.pop(BLOOM_LENGTH, None)
            return
        if length is None:
            length = 0
            for _ in range(2):
                _inside(footer, chunk, start, length + 4, "Bloom filter")
                length += 4 + int.from_bytes(self._read_at(start + length, 4), "little")
        _inside(footer, chunk, start, length, "Bloom filter")
        footer.spans.append(Span(start, length, chunk, _modules.BLOOM_HEADER))


#: The offset of a chunk without metadata. The view places all chunks without a key after the data, and refuses to read
#: them.
HIDDEN_OFFSET = 1 << 62
HIDDEN_BYTES = 64


def _hidden(group: Struct, place: Place, leaf: Struct) -> Struct:
    """Return substitute metadata for a column whose metadata is encrypted under a missing key."""
    rows = _thrift.get(group, RG_ROWS, I64, str(place)) or 0
    return {
        TYPE: (I32, _thrift.need(leaf, 1, I32, "the schema")),
        ENCODINGS: (_thrift.LIST, _thrift.List(I32, [0])),
        PATH: (_thrift.LIST, _thrift.List(BINARY, [part.encode() for part in place.path.split(".")])),
        CODEC: (I32, 0),
        NUM_VALUES: (I64, rows),
        UNCOMPRESSED_SIZE: (I64, HIDDEN_BYTES),
        COMPRESSED_SIZE: (I64, HIDDEN_BYTES),
        DATA_OFFSET: (I64, HIDDEN_OFFSET),
    }


def check_inside(footer: Footer, start: int, length: int, what: str) -> None:
    """Check that a part lies inside the file's data. Parts of unencrypted chunks are not checked when a file is opened.

    Raises:
        FormatError: The part lies outside the file's data.
    """
    if start < 4 or not 0 <= length <= footer.start - start:
        raise FormatError(f"{what} is outside the file's data")


def _check_overlaps(footer: Footer) -> None:
    parts = [(one.start, one.length, one.place, "") for row in footer.chunks for one in row if one.encrypted]
    parts += [(one.start, one.length, one.chunk.place, ": an index or a Bloom filter") for one in footer.spans]
    end, before = 4, None
    for part in sorted(parts, key=lambda part: part[:2]):
        start, length, place, what = part
        if start < end and before is not None and length:
            raise FormatError(f"{place}{what} overlaps {before[2]}{before[3]}")
        if length and start != HIDDEN_OFFSET:
            end, before = start + length, part
