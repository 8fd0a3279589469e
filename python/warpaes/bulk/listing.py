"""Creation of a job's rows from a listing, a list of names, or the manifest of the dataset to decrypt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TextIO

from .attributes import names_in
from .config import BESIDE
from .keys import MAX_RECORDS, is_of, parse_records
from .lock import EXPIRY
from .manifest import Manifest
from .names import refused_names
from .patterns import Patterns
from .rows import DONE, ERROR, PENDING, Row, order
from .storage import FOLDER, KEY_SUFFIX, Entry, Storage
from .stores import open_storage


@dataclass
class Options:
    """Command-line options."""

    command: str
    source: str
    target: str
    key: list[str] = field(default_factory=list)
    new_key: list[str] = field(default_factory=list)
    envelope: str = ""
    template: str | None = None  #: None means the manifest's template, or the default template
    bind_names: bool | None = None  #: None if not specified
    keep_key: str | None = None
    pin: str | None = None
    at_least: int = 0
    no_manifest: bool = False
    dataset: str = ""  #: the required ID of the dataset
    name: list[str] = field(default_factory=list)  #: verify: only these objects
    suffix: str = ""
    encrypt_names: bool = False
    encrypted_names: bool = False  #: whether the names of the dataset must be encrypted
    names: str | None = None
    include: list[str] = field(default_factory=list)
    exclude: list[str] = field(default_factory=list)
    dry_run: bool = False
    update: bool = False
    share: bool = False
    drop_missing: bool = False
    overwrite: bool = False
    verify: bool = False
    remove_source: bool = False
    accept_loss: bool = False
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
    limit_rate: int = 0
    attempts: int = 5
    max_errors: int | None = None
    checkpoint: float = 30
    metrics: str | None = None
    lock_expiry: float = EXPIRY
    follow: bool = False
    progress: TextIO | None = None


class Refused(Exception):  # noqa: N818
    """The job cannot start. The message suggests a solution."""


class Listing:
    """Creates the rows for a source and a target.

    `records` contains the records of shared data keys in the source, and `attributes` the names of attributes in the
    rows of a manifest. `unwanted` is the number of objects that --include and --exclude skipped.
    """

    def __init__(self, options: Options, source: Storage, target: Storage) -> None:
        """Store the arguments without reading anything."""
        self.options, self.source, self.target = options, source, target
        self.records: dict[str, dict[str, Any]] = {}
        self.attributes: frozenset[str] = frozenset()
        self.patterns = Patterns(options.include, options.exclude)
        self.unwanted = 0

    def rows(self, sealed: Manifest | None = None, there: Manifest | None = None) -> Iterator[Row]:
        """Yield the rows in the order of their plaintext names.

        A row is marked as an error if its object would replace another object or one of bulk's own files.

        Args:
            sealed: The manifest of the dataset to decrypt.
            there: The manifest of the dataset that new objects are added to.
        """
        before: Row | None = None
        for row in self.wanted(self._unchecked(sealed, there)):
            if row.state == PENDING and (error := self._refused(row.key)):
                row.state, row.error = ERROR, error
            if before is not None and before.key == row.key:
                for each in (before, row):
                    each.state = ERROR
                    each.error = f"several source objects would become {row.key!r}; rename all but one"
            if before is not None:
                yield before
            before = row
        if before is not None:
            yield before

    def wanted(self, rows: Iterable[Row], suffix: str = "") -> Iterator[Row]:
        """Yield the rows that --include and --exclude select. Refuse the job if no row is selected.

        A pattern can match the encrypted or the plaintext name of an encrypted object.
        """
        taken = not self.patterns
        for row in rows:
            source = row.source or self.source.name
            encrypts = self.options.command == "encrypt"
            if not self.patterns or self.patterns.take(source, source if encrypts else row.key.removesuffix(suffix)):
                taken = True
                yield row
            else:
                self.unwanted += 1
        if not taken and self.unwanted:
            raise Refused(f"--include and --exclude exclude all {self.unwanted} objects in {self.source.url}")

    def _refused(self, key: str) -> str:
        if key.startswith(FOLDER):
            return f"names that begin with {FOLDER} are reserved for bulk; rename the object, or exclude it"
        if self.options.envelope == "object" and key.endswith(KEY_SUFFIX):
            return f"with --envelope object, a name must not end in {KEY_SUFFIX}"
        return ""

    def _unchecked(self, sealed: Manifest | None, there: Manifest | None) -> Iterable[Row]:
        if self.options.names is not None:
            rows = self._named(self.options.names, sealed)
        elif sealed is not None:
            rows = (self._of_sealed(row) for _, each in sealed.each() for row in each)
            if self.options.suffix == (sealed.job.options.get("suffix") or ""):
                return rows  # the rows are already in order
        else:
            rows = self._listed(there)
        return sorted(rows, key=lambda row: order(row.source if self.options.command == "encrypt" else row.key))

    def _of_sealed(self, row: Row) -> Row:
        """Return the row for decrypting the object of a manifest row."""
        name = self._name(row.key)
        if not row.is_sealed:
            return Row(name, row.key, -1, "", ERROR, error="the object was never encrypted")
        self.attributes |= names_in(row.attributes)
        return Row(
            name, row.key, row.out_size, row.out_version, wrapped=row.wrapped, old_key_id=row.key_id,
            old_sha256=row.sha256, attributes=row.attributes,
        )  # fmt: skip

    def _named(self, place: str, sealed: Manifest | None) -> Iterator[Row]:
        from .tables import read_list

        data, _ = open_storage(place, self.options.source_options).get("")
        for key, size, version in {each[0]: each for each in read_list(data, place)}.values():
            if sealed is not None:
                row = sealed.find(key.removesuffix(sealed.job.options.get("suffix") or ""))
                if row is None or row.key != key:
                    yield Row(self._name(key), key, -1, "", ERROR, error="the manifest does not contain this object")
                else:
                    yield self._of_sealed(row)
            elif size is not None and version is not None:
                yield Row(self._name(key), key, int(size), str(version))
            else:
                yield Row(self._name(key), key, -1, "")

    def _listed(self, there: Manifest | None) -> Iterator[Row]:
        encrypts = self.options.command == "encrypt"
        entries: Iterable[Entry] = (entry for entry in self.source.list() if not entry.key.startswith(FOLDER))
        in_place = self.source.place() == self.target.place()
        beside: set[str] = set()
        if not encrypts:
            entries = list(entries)
            names = {entry.key for entry in entries}
            beside = {name for name in names if name.endswith(KEY_SUFFIX) and name.removesuffix(KEY_SUFFIX) in names}
            self._find_records()
        for entry in entries:
            key = entry.key
            try:
                (key or self.source.name).encode()
            except UnicodeEncodeError:
                # No valid file name begins with "./", and different names remain distinct.
                readable = "./" + order((key or self.source.name).replace("\\", "\\\\")).decode(
                    errors="backslashreplace"
                )
                sentence = "its name is not UTF-8; rename the object"
                yield Row(self._name(readable), readable, entry.size, entry.version, ERROR, error=sentence)
                continue
            row = Row(self._name(key), key, entry.size, entry.version)
            if encrypts:
                suffix = self.options.suffix
                if in_place and key.endswith((suffix, suffix + KEY_SUFFIX)):
                    if there is None or (key not in there and key.removesuffix(KEY_SUFFIX) not in there):
                        self.source.left_out[key] = f"its name ends with {suffix}, as the names of encrypted objects do"
                    continue
            elif key in beside:
                continue
            else:
                row.wrapped = BESIDE if key + KEY_SUFFIX in beside else ""
                if self.options.command != "decrypt":
                    row.out_size, row.out_version, row.state = entry.size, entry.version, DONE
                    row.todo = "adopt" if self.options.command == "adopt" else ""
            yield row
        for stored, sentence in refused_names(self.source):
            readable = "./" + stored  # as above
            yield Row(self._name(readable), readable, -1, "", ERROR, error=sentence)

    def _find_records(self) -> None:
        """Collect the records of shared data keys in the source."""
        for entry in self.source.list(FOLDER + "keys/"):
            if entry.key:  # otherwise, the source is a single object
                (record, *_) = parse_records(self.source.get(entry.key, MAX_RECORDS)[0], entry.key)
                if not self.options.dataset or is_of(record, self.options.dataset, ""):
                    self.records[record["key_id"]] = record

    def _name(self, key: str) -> str:
        key = key or self.source.name
        if self.options.command == "decrypt":
            return key.removesuffix(self.options.suffix) if self.options.suffix else key
        return key + self.options.suffix if self.options.command == "encrypt" else key
