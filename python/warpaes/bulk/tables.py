"""Reading of untrusted Parquet files: lists of names, and warpaes 1.0 manifests.

The footer of an untrusted file contains unverified sizes, and a dictionary can expand one long text to many rows.
Therefore, sizes are taken from the page headers before Arrow decompresses any page, and equal texts share one object.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

#: The decompressed pages of a file may have up to `LEAST` bytes plus `RATIO` times the size of the file.
LEAST, RATIO = 64 << 20, 100
#: Maximum length of a name in characters. No file system or store supports longer names.
MAX_NAME = 4096
#: Maximum nesting of structures in a page header.
MAX_DEPTH = 16
_STRUCT = 12


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError("a number is too long")


def _value(data: bytes, at: int, kind: int, depth: int = 0) -> tuple[Any, int]:
    """Parse a value of Thrift's compact protocol. Return the value and the position of its end. A structure becomes a
    dict with field numbers as keys."""
    if depth > MAX_DEPTH:
        raise ValueError("structures are nested too deeply")
    if kind in (3, 7):
        return None, at + (1 if kind == 3 else 8)
    if kind in (4, 5, 6):
        zigzag, at = _varint(data, at)
        return (zigzag >> 1) ^ -(zigzag & 1), at
    if kind == 8:
        size, at = _varint(data, at)
        return data[at : at + size], at + size
    if kind in (9, 10):
        size, inner = data[at] >> 4, data[at] & 15
        at += 1
        if size == 15:
            size, at = _varint(data, at)
        if size > len(data) - at:
            raise ValueError("a list is too long")
        every = []
        for _ in range(size):
            each, at = (None, at + 1) if inner in (1, 2) else _value(data, at, inner, depth + 1)
            every.append(each)
        return every, at
    if kind == _STRUCT:
        fields: dict[int, Any] = {}
        field = 0
        while (head := data[at]) != 0:
            at += 1
            if head >> 4:
                field += head >> 4
            else:
                field, at = _value(data, at, 4, depth)
            if head & 15 in (1, 2):  # a boolean value, which is encoded in the type
                fields[field] = head & 15 == 1
            else:
                fields[field], at = _value(data, at, head & 15, depth + 1)
        return fields, at + 1
    raise ValueError(f"type {kind} is unknown")


def _size_of_pages(data: bytes, columns: Sequence[str]) -> int:
    """Return the total number of decompressed bytes in the pages of these columns.

    This function parses the footer itself, because pyarrow crashes the process on some damaged footers.
    """
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    if footer < 0:
        raise ValueError("the footer is longer than the file")
    total = 0
    for group in _value(data, footer, _STRUCT)[0][4]:
        for chunk in group[1]:
            about = chunk[3]
            if about[3][0].decode() not in columns:
                continue
            at = min(offset for offset in (about[9], about.get(11)) if offset)
            end = at + about[7]
            if not 0 <= at <= end <= len(data):
                raise ValueError("a column is outside the file")
            while at < end:
                page, at = _value(data, at, _STRUCT)
                if min(page[2], page[3]) < 0:
                    raise ValueError("a page has no size")
                total += page[2]
                at += page[3]
    return total


def read_columns(data: bytes, name: str, columns: Sequence[str]) -> Iterator[list[list[Any]]]:
    """Yield the values of columns, one row group at a time. Equal texts in a row group share one object.

    Raises:
        ValueError: The file lacks a column, or claims far more content than it can contain.
        ArrowException: The file is not a Parquet file.
        OSError: The file is not a Parquet file.
    """
    if missing := [column for column in columns if column not in names_of_columns(data)]:
        raise ValueError(f"{name} has no column `{missing[0]}`")
    file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=list(columns))
    rows = file.metadata.num_rows
    try:
        size = _size_of_pages(data, columns)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{name} is not Parquet: {error}") from None
    if size > LEAST + RATIO * len(data) or rows > len(data):
        raise ValueError(f"{name} is refused: it has {len(data)} bytes, but claims {rows} rows of {size} bytes")
    # Arrow's threads are not used, because a thread that releases `data` during interpreter shutdown would abort the
    # process.
    for number in range(file.metadata.num_row_groups):
        # `iter_batches` is not used, because it crashes the process if a dictionary is damaged.
        table = file.read_row_group(number, columns=list(columns), use_threads=False)
        try:
            yield [[value for chunk in table[column].chunks for value in _values(chunk)] for column in columns]
        except ValueError as error:
            raise ValueError(f"{name} is not Parquet: {error}") from None


def _values(column: pa.Array) -> list[Any]:
    if not isinstance(column, pa.DictionaryArray):
        return list(column.to_pylist())
    texts = column.dictionary.to_pylist()
    if not all(place is None or 0 <= place < len(texts) for place in column.indices.to_pylist()):
        raise ValueError("a row refers to a text that the column does not contain")
    return [None if place is None else texts[place] for place in column.indices.to_pylist()]


def names_of_columns(data: bytes) -> list[str]:
    """Return the names of a table's columns."""
    return list(pq.ParquetFile(pa.BufferReader(data)).schema_arrow.names)


def read_list(data: bytes, name: str) -> Iterator[tuple[str, int | None, str | None]]:
    """Yield the names in a list, and the sizes and versions if the list contains them. A list is Parquet, or text with
    a name per line.

    A Parquet list has the columns key, size, and version, etag or e_tag, as in S3 inventories.

    Raises:
        ValueError: The list is neither UTF-8 nor Parquet, has no names, or contains a value of the wrong type in a
            column.
    """
    if name.endswith(".parquet"):
        try:
            yield from _read_table(data, name)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise ValueError(f"{name} is not a list of names in Parquet: {error}") from None
        return
    try:
        text = data.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        sentence = f"{name}: line {line} is not UTF-8; rename the object, or remove the line"
        raise ValueError(sentence) from None
    # Lines are separated only by "\n", because other separators that Python recognizes may be part of names.
    lines = (line.removesuffix("\r") for line in text.split("\n"))
    yield from ((line, None, None) for line in lines if line)


def _read_table(data: bytes, name: str) -> Iterator[tuple[str, int | None, str | None]]:
    known = names_of_columns(data)
    column = next((each for each in ("version", "etag", "e_tag") if each in known), None)
    columns = ["key", *(["size"] if "size" in known else []), *([column] if column else [])]
    for keys, *more in read_columns(data, name, columns):
        sizes = more[0] if "size" in known else [None] * len(keys)
        versions = more[-1] if column else [None] * len(keys)
        for key, size, version in zip(keys, sizes, versions, strict=True):
            if not isinstance(key, str) or not 0 < len(key) <= MAX_NAME:
                raise ValueError(f"{name}: {key!r:.60} in the column `key` is not a name")
            if not (size is None or (type(size) is int and 0 <= size < 1 << 63)):
                raise ValueError(f"{name}: {size!r:.60} in the column `size` is not a number of bytes")
            if not (version is None or (isinstance(version, str) and len(version) <= MAX_NAME)):
                raise ValueError(f"{name}: {version!r:.60} in the column `{column}` is not text")
            if version and column in ("etag", "e_tag") and not version.startswith('"'):
                version = f'"{version}"'
            yield key, size, version
