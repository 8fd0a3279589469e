"""The manifest: what a dataset consists of, and how far a job has come. It is all that a restart believes."""

from __future__ import annotations

import io
import json
import secrets
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from .storage import FOLDER, Entry, ExistsError, MissingError, Storage

NAME = FOLDER + "manifest.parquet"
VERSION = 1
#: Rows that are written at once: there are several times as many objects of Python's as rows meanwhile.
GROUP = 1 << 15

#: States of a row.
PENDING, DONE, REMOVED, ERROR = "pending", "done", "removed", "error"


@dataclass(slots=True)
class Row:
    """An object: where it comes from, where it goes, and what became of it."""

    key: str  #: its name in the target
    source: str  #: its name in the source
    size: int  #: of the source, when it was listed
    version: str  #: of the source: ETag, or what a file system has instead
    state: str = PENDING
    attempt: int = 0  #: how often it was begun
    key_id: str = ""  #: what the target is encrypted with
    wrapped: str = (
        ""  #: key records of an object with a key of its own, as beside it; before a rekey those of the source
    )
    sha256: str = ""  #: of what was written
    out_size: int = 0
    out_version: str = ""
    upload_id: str = ""  #: of the last multipart upload that was begun
    error: str = ""
    old_key_id: str = ""  #: what the source is encrypted with, of decrypt and rekey; "": whatever key opens it

    @property
    def source_entry(self) -> Entry:
        """The version of the source that was listed."""
        return Entry(self.source, self.size, self.version)

    @property
    def target_entry(self) -> Entry:
        """The version of the target that was written."""
        return Entry(self.key, self.out_size, self.out_version)


NUMBERS = {"size", "attempt", "out_size"}
SCHEMA = pa.schema([(column.name, pa.int64() if column.name in NUMBERS else pa.string()) for column in fields(Row)])


@dataclass
class Job:
    """What is being done, or was done last, to make the target what it is."""

    id: str
    command: str
    source: str
    target: str
    #: Of the command line, what a restart must not change.
    options: dict[str, Any] = field(default_factory=dict)
    #: Records of keys that are not an object's own (keys.py), by their ids.
    keys: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: Of the keys, what new objects are written with; "" where every object has its own.
    key_id: str = ""
    listed: bool = True
    finished: bool = False
    saved: str = ""  #: another one in each manifest that is written


class Manifest:
    """Rows and the job, in a Parquet file beside the objects."""

    def __init__(self, job: Job, rows: list[Row], version: str | None = None) -> None:
        """Take a job with its rows; `version` is that of the file that it was read from."""
        self.job, self.rows, self.version = job, rows, version
        self._saved: set[str] = set()

    def to_bytes(self) -> bytes:
        """Return the Parquet file."""
        schema = SCHEMA.with_metadata({b"warpaes": json.dumps({"version": VERSION, **asdict(self.job)}).encode()})
        out = io.BytesIO()
        with pq.ParquetWriter(out, schema, compression="zstd") as writer:
            for begin in range(0, len(self.rows), GROUP):
                rows = self.rows[begin : begin + GROUP]
                columns = {name: [getattr(row, name) for row in rows] for name in schema.names}
                writer.write_table(pa.table(columns, schema=schema))
        return out.getvalue()

    @staticmethod
    def parse(data: bytes, version: str | None = None) -> Manifest:
        """Read one."""
        try:
            table = pq.read_table(pa.BufferReader(data))
            job = json.loads(table.schema.metadata[b"warpaes"])
            if job.pop("version") != VERSION:
                raise ValueError("it is of another version")
            columns = [table[name].to_pylist() for name in SCHEMA.names]
            return Manifest(Job(**job), [Row(*values) for values in zip(*columns, strict=True)], version)
        except (pa.ArrowException, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"this is no manifest of warpaes bulk: {error}") from error

    @staticmethod
    def load(storage: Storage) -> Manifest | None:
        """Return a target's manifest, if it has one."""
        try:
            data, version = storage.get(NAME)
        except MissingError:
            return None
        return Manifest.parse(data, version)

    def save(self, storage: Storage) -> None:
        """Write it in the place of what it was read from or saved as last, and of nothing else."""
        self.job.saved = secrets.token_hex(8)
        self._saved.add(self.job.saved)
        data = self.to_bytes()
        try:
            self.version = storage.put(NAME, data, self.version)
        except ExistsError:
            # What was saved before may lie there though nobody heard so: no answer came, or an interruption.
            there = Manifest.load(storage)
            if there is None or there.job.saved not in self._saved:
                raise
            self.version = storage.put(NAME, data, there.version)


def read_list(data: bytes, name: str) -> Iterable[tuple[str, int | None, str | None]]:
    """Names, and where known sizes and versions, of a list of objects: Parquet, or text with a name a line.

    Columns of Parquet: key, size, and version, etag or e_tag, as in inventories of S3.
    """
    if not name.endswith(".parquet"):
        # Other ends of lines that Python knows may be in names.
        lines = (line.removesuffix("\r") for line in data.decode().split("\n"))
        return [(line, None, None) for line in lines if line]
    table = pq.read_table(pa.BufferReader(data))
    if "key" not in table.column_names:
        raise ValueError(f"{name} has no column `key`")
    keys = table["key"].to_pylist()
    sizes = table["size"].to_pylist() if "size" in table.column_names else [None] * len(keys)
    column = next((each for each in ("version", "etag", "e_tag") if each in table.column_names), None)
    versions = table[column].to_pylist() if column else [None] * len(keys)
    if column in ("etag", "e_tag"):
        versions = [f'"{each}"' if each and not each.startswith('"') else each for each in versions]
    return list(zip(keys, sizes, versions, strict=True))
