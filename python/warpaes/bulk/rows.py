"""Rows of a manifest: one for each object, and how a shard of them is stored."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from dataclasses import dataclass, fields

import pyarrow as pa
import pyarrow.parquet as pq

from .storage import Entry

#: States of a row: nothing was written yet; the object is there; and its original is removed; it failed.
PENDING, DONE, REMOVED, ERROR = "pending", "done", "removed", "error"


@dataclass(slots=True)
class Row:
    """An object: where it comes from, where it goes, and its state."""

    key: str  #: its name in the target
    source: str  #: its name in the source
    size: int  #: of the source, when it was listed
    version: str  #: of the source: ETag, or a file system's equivalent
    state: str = PENDING
    attempt: int = 0  #: how often it was begun
    key_id: str = ""  #: the key of the object in the target
    wrapped: str = ""  #: key records of an object with a data key of its own; of decrypt, those of the source
    sha256: str = ""  #: of the ciphertext in the target
    out_size: int = 0
    out_version: str = ""
    upload_id: str = ""  #: of the last multipart upload that was begun
    error: str = ""
    old_key_id: str = ""  #: of decrypt: the key of the source
    old_sha256: str = ""  #: of decrypt: of the ciphertext in the source; "" if no manifest has it
    todo: str = ""  #: the command that has still to process the object in the target, apart from the first
    attributes: str = ""  #: of the original in an object store (attributes.py)

    @property
    def source_entry(self) -> Entry:
        """The version of the source that was listed."""
        return Entry(self.source, self.size, self.version)

    @property
    def target_entry(self) -> Entry:
        """The version of the target that was written."""
        return Entry(self.key, self.out_size, self.out_version)

    @property
    def is_sealed(self) -> bool:
        """Whether the object is in the target."""
        return self.state in (DONE, REMOVED)


def order(name: str) -> bytes:
    """Return what names are sorted by: their bytes."""
    return name.encode(errors="surrogateescape")


NUMBERS = {"size", "attempt", "out_size"}
SCHEMA = pa.schema([(column.name, pa.int64() if column.name in NUMBERS else pa.string()) for column in fields(Row)])
#: Rows of a shard. A save writes those shards that have changed, which takes 0.1 s each.
SHARD_ROWS = 1 << 15


def pack(rows: list[Row]) -> bytes:
    """Return rows as a Parquet file."""
    columns = {name: [getattr(row, name) for row in rows] for name in SCHEMA.names}
    out = io.BytesIO()
    pq.write_table(pa.table(columns, schema=SCHEMA), out, compression="zstd", use_dictionary=["state", "todo"])
    return out.getvalue()


def unpack(data: bytes) -> list[Row]:
    """Return the rows of an authentic Parquet file.

    Arrow's threads take no part: one that lets go of `data` while Python ends would end the process with SIGABRT.
    """
    table = pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False)
    # Versions before 1.2 have no attributes.
    columns = [table[name].to_pylist() if name in table.column_names else [""] * len(table) for name in SCHEMA.names]
    return [Row(*values) for values in zip(*columns, strict=True)]


def open_table(data: bytes, name: str) -> pq.ParquetFile:
    """Open a Parquet file that anyone can have written; one that claims far more content than it has is refused."""
    file = pq.ParquetFile(pa.BufferReader(data))
    groups = (file.metadata.row_group(number) for number in range(file.metadata.num_row_groups))
    size = sum(group.total_byte_size for group in groups)
    if size > (64 << 20) + 100 * len(data) or file.metadata.num_rows > len(data):
        rows = file.metadata.num_rows
        raise ValueError(f"{name} has {len(data)} bytes, and claims {rows} rows of {size} bytes: it is refused")
    return file


def read_list(data: bytes, name: str) -> Iterator[tuple[str, int | None, str | None]]:
    """Yield names, with sizes and versions if the list has them: Parquet, or text with one name a line.

    Columns of Parquet: key, size, and version, etag or e_tag, as in inventories of S3.
    """
    if not name.endswith(".parquet"):
        try:
            text = data.removeprefix(codecs.BOM_UTF8).decode()
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise ValueError(
                f"{name}: line {line} is not UTF-8, which names are: rename the object, or leave it out"
            ) from None
        # Other ends of lines that Python knows may be in names.
        lines = (line.removesuffix("\r") for line in text.split("\n"))
        yield from ((line, None, None) for line in lines if line)
        return
    try:
        yield from _read_table(data, name)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{name} is not a list of names in Parquet: {error}") from None


def _read_table(data: bytes, name: str) -> Iterator[tuple[str, int | None, str | None]]:
    file = open_table(data, name)
    known = file.schema_arrow.names
    if "key" not in known:
        raise ValueError(f"{name} has no column `key`")
    column = next((each for each in ("version", "etag", "e_tag") if each in known), None)
    columns = ["key", *(["size"] if "size" in known else []), *([column] if column else [])]
    for batch in file.iter_batches(batch_size=SHARD_ROWS, columns=columns, use_threads=False):
        keys = batch["key"].to_pylist()
        sizes = batch["size"].to_pylist() if "size" in known else [None] * len(keys)
        versions = batch[column].to_pylist() if column else [None] * len(keys)
        if column in ("etag", "e_tag"):
            versions = [
                f'"{each}"' if isinstance(each, str) and each and not each.startswith('"') else each
                for each in versions
            ]
        for key, size, version in zip(keys, sizes, versions, strict=True):
            if not isinstance(key, str) or not key:
                raise ValueError(f"{name}: {key!r:.60} in the column `key` is not a name")
            if not (size is None or (type(size) is int and 0 <= size < 1 << 63)):
                raise ValueError(f"{name}: {size!r:.60} in the column `size` is not a number of bytes")
            if not (version is None or isinstance(version, str)):
                raise ValueError(f"{name}: {version!r:.60} in the column `{column}` is not text")
            yield key, size, version
