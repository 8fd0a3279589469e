"""Rows of a manifest: one for each object, and how a shard of them is stored."""

from __future__ import annotations

import io
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
