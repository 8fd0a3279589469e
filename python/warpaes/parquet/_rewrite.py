"""Encryption, decryption and re-encryption of Parquet files, page by page and without decoding pages.

The source is always a plain view, so a single loop serves all three purposes.
"""

from __future__ import annotations

import io
import secrets
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from ..aead import AESGCM
from ..ciphers import Cipher, algorithms, modes
from ..exceptions import FormatError
from . import _footer, _modules, _thrift
from ._footer import Chunk
from ._keys import checked_key
from ._modules import CTR_OVERHEAD, OVERHEAD, Place
from ._thrift import BINARY, I16, I32, I64, LIST, STRUCT, Struct
from ._view import PlainView

#: Number of bytes to rewrite at a time.
_WINDOW_BYTES = 4 << 20
_MAX_PAGES = 1 << 15
_PAGE_TYPE, _PAGE_COMPRESSED, _PAGE_CRC, _PAGE_LAST = 1, 3, 4, 8
_DICTIONARY_PAGE = 2
_BLOOM_BYTES, _BLOOM_LAST = 1, 4
_STATISTICS = 12

Progress = Callable[[int, int], None]


class Sink(Protocol):
    """Receives the new file's bytes in order."""

    def write(self, data: Any, /) -> Any:
        """Write all of a buffer."""


@dataclass(frozen=True)
class Encryption:
    """The parameters of a Parquet file's encryption.

    Args:
        footer_key: The key of the footer and of all columns that do not have their own keys: 16, 24 or 32 bytes. Use a
            new key for each file, as key managers do, because a key with random nonces may encrypt at most 2^32
            modules.
        columns: The keys of columns that have their own keys, by dotted path.
        footer_key_metadata: Metadata that readers use to find the footer key. It is stored unencrypted.
        column_key_metadata: Metadata that readers use to find the keys of columns that have their own keys.
        aad_prefix: Associated data that binds the file to its location, for example a table and a file name.
        store_aad_prefix: Whether to store the prefix in the file. Otherwise, readers must supply it.
        algorithm: ``"AES_GCM_V1"``, or ``"AES_GCM_CTR_V1"``, which does not authenticate pages.
        plaintext_footer: Whether the footer is only signed, so that the schema, row counts and sizes stay readable.
    """

    footer_key: bytes = field(repr=False)
    columns: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    footer_key_metadata: bytes = b""
    column_key_metadata: Mapping[str, bytes] = field(default_factory=dict)
    aad_prefix: bytes = b""
    store_aad_prefix: bool = True
    algorithm: str = "AES_GCM_V1"
    plaintext_footer: bool = False

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            ValueError: A key has the wrong length, or the algorithm is unknown.
        """
        checked_key(self.footer_key, "the footer")
        for path, key in self.columns.items():
            checked_key(key, f"column {path}")
        if self.algorithm not in ("AES_GCM_V1", "AES_GCM_CTR_V1"):
            raise ValueError(f"algorithm: must be AES_GCM_V1 or AES_GCM_CTR_V1, not {self.algorithm!r}")
        for path in self.column_key_metadata:
            if path not in self.columns:
                raise ValueError(f"column_key_metadata: columns does not contain a key for column {path}")

    @property
    def ctr(self) -> bool:
        """Whether pages are encrypted with AES-CTR."""
        return self.algorithm == "AES_GCM_CTR_V1"


class _Page(NamedTuple):
    header: Struct
    offset: int  #: offset of the header in the source
    old_bytes: int
    body: memoryview


class _Writer:
    def __init__(
        self,
        source: PlainView,
        sink: Sink,
        encryption: Encryption | None,
        progress: Progress | None,
        keep_crc: bool = True,
    ) -> None:
        self._source, self._sink, self._encryption, self._progress = source, sink, encryption, progress
        #: In an encrypted file, a crc would have to cover the ciphertext, which already has tags.
        self._keep_crc = keep_crc and encryption is None and not source.footer.encrypted
        self._at = 0
        unique = secrets.token_bytes(8)
        self._unique = unique
        self._aad = encryption.aad_prefix + unique if encryption is not None else b""
        self._modules = 0

    def _write(self, data: bytes | memoryview) -> None:
        self._sink.write(data)
        self._at += len(data)

    def run(self) -> Iterator[None]:
        """Write the file, and yield after each window of pages."""
        source, encryption = self._source, self._encryption
        if source.missing_columns:
            raise KeyError(f"keys: the key of column {source.missing_columns[0]} is missing")
        magic = b"PARE" if encryption is not None and not encryption.plaintext_footer else b"PAR1"
        self._write(magic)
        metadata = source.footer.metadata
        groups = _thrift.structs(metadata, _footer.ROW_GROUPS, "the footer")
        moved: list[tuple[Struct, Place, dict[int, tuple[int, int]]]] = []
        known = {one.place.path for row in source.footer.chunks for one in row}
        for path in encryption.columns if encryption is not None else ():
            if known and path not in known:
                raise ValueError(f"columns: the file has no column {path}; it has {', '.join(sorted(known)[:20])}")
        for index, (group, row) in enumerate(zip(groups, source.footer.chunks, strict=True)):
            first = self._at
            for column, chunk in zip(_thrift.structs(group, _footer.COLUMNS, "row group"), row, strict=True):
                place = Place(index, chunk.place.column, chunk.place.path)
                places = yield from self._chunk(column, chunk, place)
                moved.append((column, place, places))
            group[_footer.RG_ORDINAL] = (I16, index)
            if 5 in group:
                group[5] = (I64, first)
            if 6 in group:
                group[6] = (I64, self._at - first)
        for column, place, _ in moved:
            self._bloom(column, place)
            yield
        for column, place, places in moved:
            self._indexes(column, place, places)
        for column, place, _ in moved:
            self._seal_metadata(column, place)
        self._finish(metadata, magic)

    # ------------------------------------------------------------------------------------------------------- chunks

    def _key(self, place: Place) -> bytes:
        assert self._encryption is not None
        return self._encryption.columns.get(place.path, self._encryption.footer_key)

    def _chunk(self, column: Struct, chunk: Chunk, place: Place) -> Generator[None, None, dict[int, tuple[int, int]]]:
        """Write a chunk's pages. Return each data page's new position, by its old offset."""
        meta: Struct = column[_footer.META_DATA][1]
        begin = self._at
        places: dict[int, tuple[int, int]] = {}
        ordinal = 0
        dictionary_at = data_at = None
        for pages in self._pages(chunk, place):
            for page, modules in zip(pages, self._sealed(pages, place, ordinal), strict=True):
                size = sum(len(one) for one in modules)
                if page.header[_PAGE_TYPE][1] == _DICTIONARY_PAGE:
                    dictionary_at = self._at
                else:
                    data_at = self._at if data_at is None else data_at
                    places[page.offset] = (self._at, size)
                    ordinal += 1
                for one in modules:
                    self._write(one)
            if self._progress is not None:
                self._progress(pages[-1].offset + pages[-1].old_bytes, self._source.footer.start)
            yield
        if data_at is not None:
            meta[_footer.DATA_OFFSET] = (I64, data_at)
        if dictionary_at is not None:
            meta[_footer.DICTIONARY_OFFSET] = (I64, dictionary_at)
        else:
            meta.pop(_footer.DICTIONARY_OFFSET, None)
        meta.pop(_footer.INDEX_PAGE_OFFSET, None)
        meta[_footer.COMPRESSED_SIZE] = (I64, self._at - begin)
        if column.get(_footer.FILE_OFFSET, (I64, 0))[1]:
            column[_footer.FILE_OFFSET] = (I64, begin)
        return places

    def _pages(self, chunk: Chunk, place: Place) -> Any:
        """Yield lists of a chunk's unencrypted pages."""
        at, end, want, count = chunk.start, chunk.start + chunk.length, _WINDOW_BYTES, 0
        if chunk.length:
            _footer.check_inside(self._source.footer, at, chunk.length, f"{place}: the column chunk")
        while at < end:
            data = memoryview(self._source.read_at(at, min(want, end - at)))
            pages: list[_Page] = []
            used = 0
            while used < len(data):
                try:
                    reader = _thrift.Reader(data[used:], f"{place}: a page header")
                    header = reader.struct()
                except FormatError:
                    if at + len(data) == end:
                        raise
                    break
                size = _thrift.need(header, _PAGE_COMPRESSED, I32, f"{place}: a page header")
                _thrift.need(header, _PAGE_TYPE, I32, f"{place}: a page header")
                if size < 0 or at + used + reader.at + size > end:
                    raise FormatError(f"{place}: a page extends past the column chunk")
                if used + reader.at + size > len(data):
                    want = max(want, reader.at + size)
                    break
                body = data[used + reader.at : used + reader.at + size]
                pages.append(_Page(header, at + used, reader.at + size, body))
                used += reader.at + size
            count += len(pages)
            if count > _MAX_PAGES + 1:
                raise FormatError(f"{place}: a column chunk with more than 32,768 pages cannot be encrypted")
            if not pages and want <= len(data):
                want = min(2 * want, end - at)
            if pages:
                yield pages
            at += used

    def _sealed(self, pages: list[_Page], place: Place, ordinal: int) -> list[list[bytes | memoryview]]:
        """Return the modules of pages, or unencrypted headers and pages if there is no encryption."""
        encryption = self._encryption
        overhead = 0 if encryption is None else CTR_OVERHEAD if encryption.ctr else OVERHEAD
        headers, kinds, bodies = [], [], []
        for page in pages:
            header = {number: value for number, value in page.header.items() if number <= _PAGE_LAST}
            if not self._keep_crc:
                header.pop(_PAGE_CRC, None)
            header[_PAGE_COMPRESSED] = (I32, len(page.body) + overhead)
            headers.append(_thrift.write(header))
            dictionary = header[_PAGE_TYPE][1] == _DICTIONARY_PAGE
            kinds.append(None if dictionary else ordinal)
            ordinal += not dictionary
            bodies.append(page.body)
        if ordinal > _MAX_PAGES and encryption is not None:
            raise FormatError(f"{place}: a column chunk with more than 32,768 pages cannot be encrypted")
        if encryption is None:
            return [[header, body] for header, body in zip(headers, bodies, strict=True)]
        key = self._key(place)
        sealed_headers = self._gcm(
            key,
            headers,
            [
                _modules.module_aad(self._aad, _modules.DICTIONARY_PAGE_HEADER, place)
                if page is None
                else _modules.module_aad(self._aad, _modules.DATA_PAGE_HEADER, place, page)
                for page in kinds
            ],
        )
        if encryption.ctr:
            sealed_bodies = [self._ctr(key, body) for body in bodies]
        else:
            sealed_bodies = self._gcm(
                key,
                bodies,
                [
                    _modules.module_aad(self._aad, _modules.DICTIONARY_PAGE, place)
                    if page is None
                    else _modules.module_aad(self._aad, _modules.DATA_PAGE, place, page)
                    for page in kinds
                ],
            )
        return [[*header, *body] for header, body in zip(sealed_headers, sealed_bodies, strict=True)]

    def _count(self, modules: int) -> None:
        self._modules += modules
        if self._modules > _modules.MAX_MODULES:
            raise ValueError("the file has more than 2^32 modules, which is the limit for a key with random nonces")

    def _gcm(self, key: bytes, texts: list[Any], aads: list[bytes]) -> list[list[bytes]]:
        self._count(len(texts))
        nonces = [secrets.token_bytes(_modules.NONCE_BYTES) for _ in texts]
        sealed = AESGCM(key).encrypt_batch(nonces, texts, aads)
        return [
            [(_modules.NONCE_BYTES + len(text)).to_bytes(4, "little") + nonce, text]
            for nonce, text in zip(nonces, sealed, strict=True)
        ]

    def _ctr(self, key: bytes, text: memoryview) -> list[bytes]:
        self._count(1)
        nonce = secrets.token_bytes(_modules.NONCE_BYTES)
        cipher = Cipher(algorithms.AES(key), modes.CTR(nonce + b"\0\0\0\1")).encryptor()
        return [
            (_modules.NONCE_BYTES + len(text)).to_bytes(4, "little") + nonce,
            cipher.update(text) + cipher.finalize(),
        ]

    def _module(self, text: bytes, kind: int, place: Place) -> bytes:
        """Return a module, or the text unchanged if there is no encryption."""
        if self._encryption is None:
            return text
        self._count(1)
        return _modules.seal_module(self._key(place), self._aad, text, kind, place)

    # ------------------------------------------------------------------------------------------- indexes and footers

    def _bloom(self, column: Struct, place: Place) -> None:
        meta: Struct = column[_footer.META_DATA][1]
        start = _thrift.get(meta, _footer.BLOOM_OFFSET, I64, str(place))
        if start is None:
            return
        length = _thrift.get(meta, _footer.BLOOM_LENGTH, I32, str(place))
        what = f"{place}: the Bloom filter header"
        _footer.check_inside(self._source.footer, start, length or 0, what)
        data = self._source.read_at(start, length or 1024)
        reader = _thrift.Reader(data, what)
        header = {number: value for number, value in reader.struct().items() if number <= _BLOOM_LAST}
        count = _thrift.need(header, _BLOOM_BYTES, I32, what)
        bits = self._source.read_at(start + reader.at, max(count, 0))
        if count < 0 or len(bits) != count or start + reader.at + count > self._source.footer.start:
            raise FormatError(f"{what} contains a wrong length")
        at = self._at
        self._write(self._module(_thrift.write(header), _modules.BLOOM_HEADER, place))
        self._write(self._module(bits, _modules.BLOOM_BITSET, place))
        meta[_footer.BLOOM_OFFSET] = (I64, at)
        meta[_footer.BLOOM_LENGTH] = (I32, self._at - at)

    def _indexes(self, column: Struct, place: Place, places: dict[int, tuple[int, int]]) -> None:
        for start_field, length_field, kind in (
            (_footer.COLUMN_INDEX_OFFSET, _footer.COLUMN_INDEX_LENGTH, _modules.COLUMN_INDEX),
            (_footer.OFFSET_INDEX_OFFSET, _footer.OFFSET_INDEX_LENGTH, _modules.OFFSET_INDEX),
        ):
            start = _thrift.get(column, start_field, I64, str(place))
            length = _thrift.get(column, length_field, I32, str(place))
            if start is None or length is None:
                continue
            _footer.check_inside(self._source.footer, start, length, f"{place}: an index")
            text = self._source.read_at(start, length)
            if kind == _modules.OFFSET_INDEX:
                index = _thrift.Reader(text, f"{place}: the offset index").struct()
                for location in _thrift.structs(index, 1, f"{place}: the offset index"):
                    old = _thrift.need(location, 1, I64, f"{place}: the offset index")
                    if old not in places:
                        raise FormatError(f"{place}: the offset index refers to a page at {old}, where no page begins")
                    location[1], location[2] = (I64, places[old][0]), (I32, places[old][1])
                text = _thrift.write(index)
            column[start_field] = (I64, self._at)
            self._write(self._module(text, kind, place))
            column[length_field] = (I32, self._at - column[start_field][1])

    def _seal_metadata(self, column: Struct, place: Place) -> None:
        encryption = self._encryption
        if encryption is None:
            return
        own = place.path in encryption.columns
        if own:
            crypto: Struct = {1: (LIST, _thrift.List(BINARY, [part.encode() for part in place.path.split(".")]))}
            if place.path in encryption.column_key_metadata:
                crypto[2] = (BINARY, encryption.column_key_metadata[place.path])
            column[_footer.CRYPTO] = (STRUCT, {2: (STRUCT, crypto)})
        else:
            column[_footer.CRYPTO] = (STRUCT, {1: (STRUCT, {})})
        if not own and not encryption.plaintext_footer:
            return
        meta: Struct = column[_footer.META_DATA][1]
        sealed = self._module(_thrift.write(meta), _modules.COLUMN_META_DATA, place)
        column[_footer.ENCRYPTED_META_DATA] = (BINARY, sealed)
        if encryption.plaintext_footer:
            column[_footer.META_DATA] = (STRUCT, {n: v for n, v in meta.items() if n < _STATISTICS})
        else:
            del column[_footer.META_DATA]

    def _finish(self, metadata: Struct, magic: bytes) -> None:
        encryption = self._encryption
        data = _thrift.write(metadata) if encryption is None else self._sealed_footer(encryption, metadata)
        self._write(data)
        self._write(len(data).to_bytes(4, "little") + magic)

    def _sealed_footer(self, encryption: Encryption, metadata: Struct) -> bytes:
        one: Struct = {2: (BINARY, self._unique)}
        if encryption.aad_prefix and encryption.store_aad_prefix:
            one[1] = (BINARY, encryption.aad_prefix)
        one[3] = (_thrift.BOOL_TRUE, bool(encryption.aad_prefix) and not encryption.store_aad_prefix)
        algorithm = (STRUCT, {2 if encryption.ctr else 1: (STRUCT, one)})
        key_metadata = encryption.footer_key_metadata
        self._count(1)
        if not encryption.plaintext_footer:
            crypto: Struct = {1: algorithm}
            if key_metadata:
                crypto[2] = (BINARY, key_metadata)
            footer = _thrift.write(metadata)
            return _thrift.write(crypto) + _modules.seal_module(
                encryption.footer_key, self._aad, footer, _modules.FOOTER
            )
        metadata[_footer.ALGORITHM] = algorithm
        if key_metadata:
            metadata[_footer.SIGNING_KEY_METADATA] = (BINARY, key_metadata)
        footer = _thrift.write(metadata)
        nonce = secrets.token_bytes(_modules.NONCE_BYTES)
        return footer + nonce + _modules.footer_signature(encryption.footer_key, self._aad, nonce, footer)


def rewrite(source: PlainView, sink: Sink, encryption: Encryption | None, progress: Progress | None = None) -> None:
    """Rewrite a Parquet file as an encrypted file or, if ``encryption`` is None, as an unencrypted file.

    Pages are copied without decoding, so compression, encodings, statistics, indexes and Bloom filters are kept. The
    source's footer is modified, so the view cannot be read afterwards.

    Args:
        source: An open view of an encrypted or unencrypted file.
        sink: Receives the new file.
        encryption: The keys and the algorithm of the new file, or None.
        progress: A function that is called with the number of processed source bytes and their total number.

    Raises:
        InvalidTag: The source is not authentic. The sink's contents must be discarded.
        FormatError: The source is damaged, or has more pages than an encrypted file may have.
        KeyError: The key of a column in the source is missing.
        ValueError: ``encryption`` names a column that the file does not have.
    """
    for _ in _Writer(source, sink, encryption, progress).run():
        pass


def rewritten(source: PlainView, encryption: Encryption | None) -> Iterator[memoryview]:
    """Yield the pieces of the file that ``rewrite`` would write, without ``crc`` fields, which encryption removes.

    A piece is valid until the next piece is requested. The same pages always decrypt to the same bytes, however often
    they have been encrypted and decrypted. Raises the same exceptions as ``rewrite``.
    """
    held = io.BytesIO()
    writer = _Writer(source, held, encryption, None, keep_crc=False)
    for _ in writer.run():
        if held.tell() >= _WINDOW_BYTES:
            yield from _taken(held)
    yield from _taken(held)


def _taken(held: io.BytesIO) -> Iterator[memoryview]:
    yield memoryview(held.getvalue())
    held.seek(0)
    held.truncate()
