"""Rows of a manifest, one for each object, and the storage of shards."""

from __future__ import annotations

import io
from array import array
from dataclasses import dataclass, fields
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from .storage import Entry

#: States of a row: pending, written, written with the original removed, and failed.
PENDING, DONE, REMOVED, ERROR = "pending", "done", "removed", "error"


@dataclass(slots=True)
class Row:
    """An object in a job: its source, its target and its state."""

    key: str  #: name in the target
    source: str  #: name in the source
    size: int  #: size of the source when it was listed
    version: str  #: version of the source: its ETag, or the equivalent in a file system
    state: str = PENDING
    attempt: int = 0  #: number of attempts
    key_id: str = ""  #: ID of the key of the object in the target
    wrapped: str = ""  #: key records of an object that has its own data key; for decrypt, the source's records
    sha256: str = ""  #: hash of the ciphertext in the target
    out_size: int = 0
    out_version: str = ""
    upload_id: str = ""  #: ID of the last multipart upload
    error: str = ""
    old_key_id: str = ""  #: decrypt: ID of the source's key
    old_sha256: str = ""  #: decrypt: hash of the ciphertext in the source; "" if no manifest contains it
    todo: str = ""  #: a later command that must still process the object in the target
    attributes: str = ""  #: the original's attributes in an object store (attributes.py)

    @property
    def source_entry(self) -> Entry:
        """The listed version of the source."""
        return Entry(self.source, self.size, self.version)

    @property
    def target_entry(self) -> Entry:
        """The written version of the target."""
        return Entry(self.key, self.out_size, self.out_version)

    @property
    def is_sealed(self) -> bool:
        """Whether the object is in the target."""
        return self.state in (DONE, REMOVED)

    @property
    def is_adopted(self) -> bool:
        """Whether the object is in the target, and adopt need not authenticate it any more and has not refused it."""
        return self.is_sealed and self.todo != "adopt"


def order(name: str) -> bytes:
    """Return the sort key of a name: its bytes."""
    return name.encode(errors="surrogateescape")


NUMBERS = {"size", "attempt", "out_size"}
SCHEMA = pa.schema([(column.name, pa.int64() if column.name in NUMBERS else pa.string()) for column in fields(Row)])
#: Number of rows in a shard. A save writes the changed shards, which takes 0.1 s for each.
SHARD_ROWS = 1 << 15


def _column(name: str, values: list[Any]) -> pa.Array:
    """Return values as an array. ``pa.array`` would first import pandas, if it is installed, which takes 0.2 s."""
    if name in NUMBERS:
        return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(array("q", values))])
    texts = [value.encode() for value in values]
    ends = array("i", accumulate(map(len, texts), initial=0))
    return pa.Array.from_buffers(pa.string(), len(values), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(texts))])


def pack(rows: list[Row]) -> bytes:
    """Return rows as a Parquet file."""
    columns = [_column(name, [getattr(row, name) for row in rows]) for name in SCHEMA.names]
    out = io.BytesIO()
    pq.write_table(pa.table(columns, schema=SCHEMA), out, compression="zstd", use_dictionary=["state", "todo"])
    return out.getvalue()


def unpack(data: bytes) -> list[Row]:
    """Return the rows of an authentic Parquet file.

    Arrow's threads are not used, because a thread that releases `data` during interpreter shutdown would abort the
    process.
    """
    table = pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False)
    # Versions of warpaes before 1.2 do not write attributes.
    columns = [table[name].to_pylist() if name in table.column_names else [""] * len(table) for name in SCHEMA.names]
    return [Row(*values) for values in zip(*columns, strict=True)]
