"""Manifests of warpaes 1.0: one Parquet file without authentication. `warpaes bulk adopt` converts them."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from .keys import parse_records
from .manifest import NAME_1
from .rows import Row
from .storage import MissingError, PermanentError, Storage
from .tables import read_columns

#: The maximum size of a warpaes 1.0 manifest in bytes. A manifest of 5 million objects has 420 MB.
MAX_BYTES = 4 << 30

COLUMNS = {
    "key": str,
    "source": str,
    "size": int,
    "version": str,
    "state": str,
    "key_id": str,
    "wrapped": str,
    "sha256": str,
    "out_size": int,
    "out_version": str,
}


@dataclass
class Manifest1:
    """The content of a warpaes 1.0 manifest. It is not authenticated: anyone who can write to the target can forge
    it."""

    command: str
    source: str
    options: dict[str, Any]
    keys: dict[str, dict[str, Any]]
    rows: list[Row]


def exists(storage: Storage) -> bool:
    """Return whether a target contains a warpaes 1.0 manifest."""
    try:
        storage.stat(NAME_1)
    except MissingError:
        return False
    return True


def load(storage: Storage) -> Manifest1 | None:
    """Read a target's warpaes 1.0 manifest. Return None if there is no such manifest."""
    place = f"{storage.url}/{NAME_1}"
    try:
        data, _ = storage.get(NAME_1, MAX_BYTES)
    except MissingError:
        return None
    try:
        job = json.loads((pq.read_schema(pa.BufferReader(data)).metadata or {})[b"warpaes"])
        found = Manifest1(job["command"], job["source"], job["options"] or {}, job["keys"], [])
        if job["version"] != 1 or not isinstance(found.options, dict) or not isinstance(found.keys, dict):
            raise ValueError("its version is not supported")
        if not isinstance(found.command, str) or not isinstance(found.source, str):
            raise TypeError("its command or its source is not text")
        for key_id, record in found.keys.items():
            if parse_records(json.dumps(record), f"{place}: keys")[0]["key_id"] != key_id:
                raise ValueError("the ID of a wrapped key does not match")
        every = (zip(*columns, strict=True) for columns in read_columns(data, place, list(COLUMNS)))
        for values in itertools.chain.from_iterable(every):
            row = dict(zip(COLUMNS, values, strict=True))
            if not all(type(row[name]) is kind for name, kind in COLUMNS.items()) or row["out_size"] < 0:
                raise ValueError(f"the row of {row['key']!r:.80} has a field of the wrong type")
            if row["wrapped"]:
                parse_records(row["wrapped"], f"{place}: {row['key']!r:.80}")
            found.rows.append(Row(**row))
    except PermanentError:
        raise
    except (pa.ArrowException, KeyError, TypeError, ValueError, RecursionError, OSError) as error:
        raise PermanentError(f"{place} is not a warpaes bulk manifest: {error}") from None
    return found
