"""Rows of a manifest: one for each object, and how a shard of them is stored."""

from __future__ import annotations

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
    """Return the rows of an authentic Parquet file."""
    table = pq.read_table(pa.BufferReader(data))
    columns = [table[name].to_pylist() for name in SCHEMA.names]
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
        # Other ends of lines that Python knows may be in names.
        lines = (line.removesuffix("\r") for line in data.decode().split("\n"))
        yield from ((line, None, None) for line in lines if line)
        return
    file = open_table(data, name)
    known = file.schema_arrow.names
    if "key" not in known:
        raise ValueError(f"{name} has no column `key`")
    column = next((each for each in ("version", "etag", "e_tag") if each in known), None)
    columns = ["key", *(["size"] if "size" in known else []), *([column] if column else [])]
    for batch in file.iter_batches(batch_size=SHARD_ROWS, columns=columns):
        keys = batch["key"].to_pylist()
        sizes = batch["size"].to_pylist() if "size" in known else [None] * len(keys)
        versions = batch[column].to_pylist() if column else [None] * len(keys)
        if column in ("etag", "e_tag"):
            versions = [f'"{each}"' if each and not each.startswith('"') else each for each in versions]
        yield from zip(keys, sizes, versions, strict=True)
