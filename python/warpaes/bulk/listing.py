"""What there is to do: the rows of a job, by listing, by a list, or by the manifest of what is to be decrypted."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, TextIO

from .keys import parse_records
from .lock import EXPIRY
from .manifest import DONE, ERROR, REMOVED, Manifest, Row, read_list
from .storage import FOLDER, KEY_SUFFIX, Storage, open_storage
from .worker import BESIDE


@dataclass
class Options:
    """What the command line says."""

    command: str
    source: str
    target: str
    key: list[str] = field(default_factory=list)
    new_key: list[str] = field(default_factory=list)
    envelope: str = ""
    template: str = "AES256_GCM_HKDF_1MB"
    bind_names: bool = False
    suffix: str = ""
    names: str | None = None
    update: bool = False
    overwrite: bool = False
    verify: bool = False
    remove_source: bool = False
    drop_old_keys: bool = False
    source_options: dict[str, Any] = field(default_factory=dict)
    target_options: dict[str, Any] = field(default_factory=dict)
    address: str | None = None
    workers: int = 0
    cpus: float = 1
    gpus: float = 0
    backend: str | None = None
    threads: int = 32
    requests: int = 16
    memory: int = 256 << 20
    attempts: int = 5
    max_errors: int | None = None
    checkpoint: float = 30
    metrics: str | None = None
    lock_expiry: float = EXPIRY
    progress: TextIO | None = None


class Refused(Exception):  # noqa: N818
    """The job cannot be begun; the sentence says what to do."""


class Listing:
    """Makes rows of a source for a target; `records` are those of shared data keys that lie in a source."""

    def __init__(self, options: Options, source: Storage, target: Storage) -> None:
        """Nothing is listed yet."""
        self.options, self.source, self.target = options, source, target
        self.records: dict[str, dict[str, Any]] = {}

    def refuse(self, rows: list[Row], envelope: str) -> None:
        """Let rows end in errors whose objects would take the place of another, or of what is bulk's own."""
        names = Counter(row.key for row in rows)
        for row in rows:
            if row.state in (DONE, REMOVED):
                continue
            error = ""
            if row.key.startswith(FOLDER):
                error = f"names that begin with {FOLDER} are bulk's own: rename the object, or leave it out"
            elif envelope == "object" and row.key.endswith(KEY_SUFFIX):
                error = f"with --envelope object no name may end in {KEY_SUFFIX}"
            elif names[row.key] > 1:
                error = f"{names[row.key]} objects of the source would be {row.key!r} in the target: rename all but one"
            if error:
                row.state, row.error = ERROR, error

    def rows(self, sealed: Manifest | None) -> list[Row]:
        """Return the rows; `sealed`: the manifest of what is to be decrypted."""
        if sealed is not None and self.options.names is None:
            rows = []
            for row in sealed.rows:
                name = self._name(row.key)
                rows.append(
                    Row(name, row.key, row.out_size, row.out_version, wrapped=row.wrapped, old_key_id=row.key_id)
                    if row.state in (DONE, REMOVED)
                    else Row(name, row.key, -1, "", ERROR, error="it was never encrypted")
                )
            return rows
        if self.options.names is not None:
            known = {row.key: row for row in sealed.rows} if sealed is not None else {}
            rows = self._listed(self.options.names)
            for row in rows:
                if row.source in known:
                    row.wrapped, row.old_key_id = known[row.source].wrapped, known[row.source].key_id
            return rows
        entries = {entry.key: entry for entry in self.source.list() if not entry.key.startswith(FOLDER)}
        rows = []
        for key, entry in entries.items():
            try:
                key.encode()
            except UnicodeEncodeError:
                shown = os.fsencode(key).decode(errors="backslashreplace")
                sentence = "its name is not UTF-8: rename it"
                rows.append(Row(shown, shown, entry.size, entry.version, ERROR, error=sentence))
                continue
            row = Row(self._name(key), key, entry.size, entry.version)
            if self.options.command == "encrypt":
                in_place, suffix = self.source.place() == self.target.place(), self.options.suffix
                if in_place and (key.endswith((suffix, suffix + KEY_SUFFIX))):
                    continue
            elif key.endswith(KEY_SUFFIX) and key.removesuffix(KEY_SUFFIX) in entries:
                continue
            elif key + KEY_SUFFIX in entries:
                row.wrapped = BESIDE
            rows.append(row)
        if self.options.command != "encrypt":
            self._find_records()
        return rows

    def _find_records(self) -> None:
        """Without a manifest: the data keys that lie there, of which each object is opened by whichever does."""
        for entry in self.source.list(FOLDER + "keys/"):
            if entry.key:  # else the source is one object
                (record, *_) = parse_records(self.source.get(entry.key)[0], entry.key)
                self.records[record["key_id"]] = record

    def _listed(self, place: str) -> list[Row]:
        data, _ = open_storage(place, self.options.source_options).get("")
        rows = {}
        for key, size, version in read_list(data, place):
            unknown = size is None or version is None
            size, version = (-1, "") if unknown else (int(size or 0), str(version))
            rows[key] = Row(self._name(key), key, size, version)
        return list(rows.values())

    def _name(self, key: str) -> str:
        key = key or self.source.url.rpartition("/")[2]  # the source is one object
        if self.options.command == "decrypt":
            return key.removesuffix(self.options.suffix) if self.options.suffix else key
        return key + self.options.suffix
