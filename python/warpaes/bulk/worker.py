"""A worker: many objects at once within a bounded memory, and nothing that a driver would miss if it dies."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from .. import _native
from .._native import Keyset
from ..exceptions import FormatError, InvalidTag, KeysetError
from . import keys, transfer
from .attributes import NAMES, Attributes, from_text, of_sealed, to_text
from .local import LocalStorage
from .rows import DONE, REMOVED, Row
from .storage import (
    KEY_SUFFIX,
    WINDOW,
    Attempt,
    ChangedError,
    Entry,
    ExistsError,
    MissingError,
    PermanentError,
    is_local,
    open_storage,
    part_bytes,
)

#: In place of a row's key records, if no manifest has them: they lie in the file next to the object.
BESIDE = "beside"
#: Of data keys, if nothing else is said.
TEMPLATE = "AES256_GCM_HKDF_1MB"
#: How an object's name is bound to it: not at all, as the bare name (warpaes 1.0), or as keys.name_data.
UNBOUND, BARE, BOUND = "", "name", "object"

#: What another try would not change.
FINAL = (
    ChangedError,
    ExistsError,
    FormatError,
    InvalidTag,
    KeysetError,
    MissingError,
    PermanentError,
    PermissionError,
    TypeError,
    ValueError,
)


_backends: list[str] = []


def use_backend(name: str | None) -> None:
    """Let this process compute there, before it does anything else."""
    if name and name not in _backends:
        _native.configure(backend=name)
        _backends.append(name)


def named_backend(name: str | None) -> str:
    """Return what computes in this process, if it was asked for by its name: nothing takes its place."""
    if name != "cuda":
        return name or ""
    gpus = [each["device"] for each in _native.backends() if each["device"] >= 0]
    return transfer.computed_on(name, gpus[0]) if len(gpus) == 1 else name


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0))


@dataclass
class Config:
    """What a worker is to do with every row; it goes to other processes and machines, keys included."""

    command: str
    source: str
    target: str
    source_options: dict[str, Any] = field(default_factory=dict)
    target_options: dict[str, Any] = field(default_factory=dict)
    key: list[keys.KeySpec] = field(default_factory=list)  #: opens, and seals if there is no new one
    new_key: list[keys.KeySpec] = field(default_factory=list)  #: of rekey and rewrap
    envelope: str = ""  #: "job", "object", or "": the keyset itself
    template: str = TEMPLATE
    key_id: str = ""  #: the key of new objects, if they have no keys of their own
    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    dataset: str = ""  #: of the encrypted objects
    named_dataset: str = ""  #: the same, if the command line names it
    job: str = ""
    record_key: bytes = field(default=b"", repr=False)  #: authenticates records of this dataset
    old_binding: str = UNBOUND  #: of objects that are read
    binding: str = UNBOUND  #: of objects that are written
    overwrite: bool = False
    verify: bool = False  #: read again what was written
    drop_old_keys: bool = False
    given: list[str] = field(default_factory=list)  #: of verify: attributes that the command line gave to all objects
    threads: int = 32  #: objects at once
    requests: int = 16  #: ranges and parts of large objects at once
    memory: int = 256 << 20
    backend: str | None = None

    @property
    def by_files(self) -> bool:
        """Whether the library's jobs on files do the work: from file to file, where nobody has to see the plaintext."""
        whole = self.command in ("encrypt", "decrypt") and not self.verify
        return whole and is_local(self.source) and is_local(self.target)

    def memory_of(self, what: str, size: int) -> int:
        """Return the most memory that an object takes on its way, on one thread where it is the library's file job."""
        if self.by_files and what == self.command:
            return transfer.memory_of_file(size, 1)
        return transfer.memory_of(size, part_bytes(size))


class Budget:
    """Bytes that objects on their way may hold together; who asks first is served first."""

    def __init__(self, size: int) -> None:
        """Take the limit."""
        self.size = self.free = size
        self._turn = threading.Lock()
        self._changed = threading.Condition()

    def take(self, wanted: int) -> int:
        """Wait for so much; an object that is larger than all of it goes alone."""
        wanted = min(wanted, self.size)
        with self._turn, self._changed:
            self._changed.wait_for(lambda: self.free >= wanted)
            self.free -= wanted
        return wanted

    def give(self, taken: int) -> None:
        """Return it."""
        with self._changed:
            self.free += taken
            self._changed.notify_all()


class Share:
    """What one object holds of a budget."""

    def __init__(self, budget: Budget) -> None:
        """Hold nothing yet."""
        self._budget, self._taken = budget, 0

    def take(self, wanted: int) -> None:
        """Return what it holds, and wait for so much."""
        self.give()
        self._taken = self._budget.take(wanted)

    def give(self) -> None:
        """Return what it holds."""
        taken, self._taken = self._taken, 0
        self._budget.give(taken)


@dataclass
class OwnKey:
    """An object's own data key: its keyset, the records of this job's attempts at it, and those that it replaces."""

    keyset: Keyset
    records: list[dict[str, Any]]  #: that of the keyset first
    old: list[dict[str, Any]]


class Worker:
    """Takes rows, and hands out events: (row's number, what became of it)."""

    def __init__(self, config: Config, host: str = "") -> None:
        """Open both ends. `host`: what to say where, before what computed."""
        self.config, self.host = config, host
        use_backend(config.backend)
        self.source = open_storage(config.source, config.source_options)
        self.target = open_storage(config.target, config.target_options)
        self.source.collects = config.command == "encrypt"
        sources: list[keys.KeySource] = [spec.open() for spec in config.key]
        self.new_sources: list[keys.KeySource] = [spec.open() for spec in config.new_key]
        self.old_keys = keys.Keyring(keys.merged(config.key), sources, config.records)
        if config.new_key:
            self.new_keys = keys.Keyring(keys.merged(config.new_key), self.new_sources, config.records)
        else:
            self.new_keys, self.new_sources = self.old_keys, sources
        self.budget = Budget(config.memory)
        self._named_backend = named_backend(config.backend)
        self._has_attributes = self.source.has_attributes or self.target.has_attributes
        self._in_hand = 0  #: rows that have come and not gone
        self._lock = threading.Lock()
        self._closing = False
        self._events: queue.SimpleQueue[tuple[int, dict[str, Any]]] = queue.SimpleQueue()
        self._rows = ThreadPoolExecutor(config.threads, "row")
        self.requests = ThreadPoolExecutor(config.requests, "request")

    # ---------------------------------------------------------------------------------------- rows in, events out

    def submit(self, tasks: list[tuple[int, str, Row]]) -> None:
        """Begin with rows: number, what to do, row."""
        with self._lock:
            self._in_hand += len(tasks)
        for task in tasks:
            self._rows.submit(self._run, *task)

    def poll(self, timeout: float) -> list[tuple[int, dict[str, Any]]]:
        """Return what has happened, after waiting until something has."""
        events = []
        try:
            events.append(self._events.get(timeout=timeout))
            while True:
                events.append(self._events.get_nowait())
        except queue.Empty:
            return events

    def close(self) -> None:
        """Begin nothing any more: what is small is done to its end, what is large is given up at its next range."""
        self._closing = True
        self.requests.shutdown(wait=False, cancel_futures=True)
        self._rows.shutdown(cancel_futures=True)
        self.requests.shutdown()

    def _run(self, number: int, what: str, row: Row) -> None:
        begin, share = time.monotonic(), Share(self.budget)
        try:
            listed = {}
            if row.size < 0:  # of a list of names
                entry = self.source.stat(row.source)
                row.size, row.version = entry.size, entry.version
                listed = {"size": entry.size, "version": entry.version}
            result = {**listed, **getattr(self, "_" + what)(number, row, share)}
        except Exception as error:
            final = isinstance(error, FINAL)
            said = str(error) or type(error).__name__
            if isinstance(error, InvalidTag):
                said = f"{row.source}: not authentic: a wrong key or name, or it was altered"
            result = {"error": said, "final": final, "kind": type(error).__name__}
        finally:
            share.give()
            with self._lock:
                self._in_hand -= 1
        self._events.put((number, {"seconds": time.monotonic() - begin, **result}))

    # ------------------------------------------------------------------------------------------- keys of an object

    def _associated(self, name: str, binding: str) -> bytes:
        # The source may be one object, which then has no name below itself.
        name = name or self.source.name
        if binding == BOUND:
            return keys.name_data(self.config.dataset, name)
        return name.encode() if binding == BARE else b""

    def _old_keyset(self, row: Row) -> Keyset:
        """Return the key of an object that a manifest has."""
        if row.wrapped:
            return self.old_keys.open(json.loads(row.wrapped)[0])
        return self.old_keys.get(row.old_key_id if self.config.command == "decrypt" else row.key_id)

    def _own_key(self, row: Row) -> OwnKey:
        """Make an object's own data key, and put its record next to the object.

        Attempts that were given up may live on and write the object, so the records of this job's attempts stay there.
        These are authentic, and so are those of the row; nothing else that lies there is kept or used.
        """
        name = row.key + KEY_SUFFIX
        place = keys.Place(self.config.dataset, row.key, self.config.job)
        record, keyset = keys.new_record(self.new_sources[0], self.config.template, place)
        record = keys.signed(record, self.config.record_key)
        known = json.loads(row.wrapped) if row.wrapped and self.config.command == "rekey" else []
        old = [keys.signed(keys.replaced(each), self.config.record_key) for each in known]
        while True:
            found: list[dict[str, Any]] = []
            version = None
            try:
                text, version = self.target.get(name)
                found = keys.parse_records(text, name)
            except MissingError:
                pass
            except PermanentError:
                found = [{}]  # it is not authentic
            earlier = [each for each in found if keys.is_signed(each, self.config.record_key, place)]
            if any(each not in earlier and each not in known for each in found):
                self._check_records(row, name, earlier)
            try:
                self.target.put(name, keys.to_json([record, *earlier, *old]).encode(), version)
            except ExistsError:  # another attempt was first
                continue
            return OwnKey(keyset, [record, *earlier], old)

    def _check_records(self, row: Row, name: str, earlier: list[dict[str, Any]]) -> None:
        """Refuse to replace records that are not authentic, if one of them may be the only copy of a key in use.

        It is not, if there is no object, or the object that the manifest has, or one that opens with another record.
        """
        try:
            entry = self.target.stat(row.key)
        except MissingError:
            return
        if self.config.command == "rekey":
            try:
                with closing(self._opened(row)) as there:
                    for _ in there.pieces():
                        pass
                return
            except (ChangedError, InvalidTag, FormatError):
                pass
        for record in earlier:
            try:
                self._there(entry, self.new_keys.open(record)).close()
                return
            except (InvalidTag, FormatError, PermanentError):
                continue
        if self.config.command == "encrypt" and self.config.overwrite:
            return
        mended = "restore it, or remove both"
        if self.config.command == "encrypt":
            mended = "restore it, or encrypt the object again with --overwrite"
        raise PermanentError(f"{name} was altered, and may have contained the key of {row.key}: {mended}")

    # ------------------------------------------------------------------------------------------ what is done to rows

    def _sealed_entry(self, row: Row) -> tuple[Entry, str]:
        """Return the sealed object that a row is about, and its digest, if a manifest has it.

        A digest tells more than a version, which copies and backups do not keep: what lies there now is read.
        """
        decrypts = self.config.command == "decrypt"
        entry, expected = (row.source_entry, row.old_sha256) if decrypts else (row.target_entry, row.sha256)
        if expected and isinstance(self.source, LocalStorage):
            entry = self._now(entry)
        return entry, expected

    def _now(self, entry: Entry) -> Entry:
        now = self.source.stat(entry.key)
        if now.size != entry.size:
            raise ChangedError(f"{entry.key} has {now.size} bytes, and {entry.size} by the manifest")
        return now

    def _key_of(self, row: Row, entry: Entry) -> tuple[Keyset, str, dict[str, Any] | None]:
        """Return an object's key with its id, and the record that contains it, if no manifest has that.

        An object that no manifest has is opened with every key there is.
        """
        if row.wrapped != BESIDE and (row.wrapped or row.key_id or row.old_key_id):
            return self._old_keyset(row), row.key_id or row.old_key_id, None
        records = []
        if row.wrapped == BESIDE:
            beside = entry.key + KEY_SUFFIX
            records = keys.parse_records(self.source.get(beside)[0], beside)
            if self.config.named_dataset:  # a record of another dataset may be of a key that others know
                records = [each for each in records if keys.is_of(each, self.config.named_dataset, entry.key)]
        associated = self._associated(entry.key, self.config.old_binding)
        refused: Exception | None = None
        for key_id, open_keyset in self.old_keys.any_of(records):
            try:
                keyset = open_keyset()
                transfer.Opened(self.source, entry, self.requests, keyset, associated).close()
            except (InvalidTag, FormatError, KeysetError, PermanentError) as error:
                refused = error if refused is None or isinstance(error, InvalidTag) else refused
                continue
            return keyset, key_id, next((each for each in records if each["key_id"] == key_id), None)
        raise refused or PermanentError("there is no key that may have encrypted it: give -k")

    def _opened(self, row: Row) -> transfer.Opened:
        """Open the sealed object that a row is about."""
        entry, expected = self._sealed_entry(row)

        def opened(entry: Entry) -> transfer.Opened:
            keyset, _, _ = self._key_of(row, entry)
            associated = self._associated(entry.key, self.config.old_binding)
            return transfer.Opened(self.source, entry, self.requests, keyset, associated, expected)

        try:
            return opened(entry)
        except ChangedError:
            if not expected:
                raise
            return opened(self._now(entry))

    def _pieces(self, row: Row) -> transfer.Plain | transfer.Opened:
        if self.config.command == "encrypt":
            return transfer.Plain(self.source, row.source_entry, self.requests)
        return self._opened(row)

    def _transform(self, number: int, row: Row, share: Share) -> dict[str, Any]:
        """Encrypt, decrypt or re-encrypt, by the command."""
        config = self.config
        computed_on = ""
        self.target.check_key(row.key)
        own = self._own_key(row) if config.command != "decrypt" and config.envelope == "object" else None
        keyset, key_id = None, ""
        if own is not None:
            keyset, key_id = own.keyset, own.records[0]["key_id"]
        elif config.command != "decrypt":
            keyset, key_id = self.new_keys.get(config.key_id), config.key_id
        attributes = functools.cache(partial(self._attributes, row)) if self._has_attributes else dict
        attempt = Attempt(
            key_id=key_id,
            attributes=lambda: of_sealed(attributes()) if keyset is not None else attributes(),
            uploading=lambda upload: self._events.put((number, {"upload_id": upload})),
            mode=None if config.command == "rekey" or config.by_files else self.source.mode_of(row.source_entry),
        )
        plain = hashlib.sha256() if config.verify and keyset is not None else None

        def write(replace: str | None) -> tuple[Entry, str]:
            nonlocal computed_on
            if config.by_files:
                entry, digest, computed_on = self._from_file_to_file(row, replace, attempt, share, keyset)
                return entry, digest
            share.take(transfer.memory_of(row.size, part_bytes(row.size)))
            computed_on = self._named_backend
            with closing(self._pieces(row)) as source:
                if config.command == "rekey":
                    replace = source.entry.version
                entry = Entry(row.key, row.size, "")
                return transfer.write(
                    source.pieces(), self.target, entry, replace, attempt, self.requests, keyset,
                    self._associated(row.key, config.binding), plain, keyset is not None or config.verify,
                )  # fmt: skip

        adopted = False
        try:
            written, digest = write(None)
        except (ExistsError, ChangedError, MissingError, InvalidTag, FormatError) as error:
            # Under the old key a replaced object is not authentic.
            if isinstance(error, (InvalidTag, FormatError)) and config.command != "rekey":
                raise
            share.take(transfer.memory_of(row.size, part_bytes(row.size)))
            found = self._found(row, keyset, own)
            if found is not None:
                (written, digest, key_id), adopted = found, True
            elif isinstance(error, ExistsError) and config.overwrite and config.command != "rekey":
                plain = hashlib.sha256() if plain is not None else None
                written, digest = write(self.target.stat(row.key).version)
            elif isinstance(error, ExistsError) and config.command != "rekey":
                raise ExistsError(f"{error}, and this job has not written it: --overwrite replaces it") from error
            else:
                raise
        if config.verify and not adopted:
            self._verify_written(written, digest, keyset, plain)
        result: dict[str, Any] = {
            "out_size": written.size,
            "out_version": written.version,
            "adopted": adopted,
            "computed_on": computed_on and self.host + computed_on,
            "todo": "",
        }
        if keyset is None:
            return result
        if config.command == "encrypt":
            result["attributes"] = to_text(attributes())
        return {**result, "key_id": key_id, "wrapped": self._settle(row, own, key_id), "sha256": digest}

    _encrypt = _decrypt = _rekey = _transform

    def _attributes(self, row: Row) -> Attributes:
        """Return the attributes of the original: of the source when it is encrypted, then by the manifest."""
        if self.config.command == "encrypt":
            return self.source.attributes(row.source_entry)
        return from_text(row.attributes)

    def _check_attributes(self, row: Row) -> None:
        """Raise if an encrypted object does not have the attributes of the manifest."""
        expected = of_sealed(from_text(row.attributes))
        if not expected or not self.target.has_attributes:
            return
        found = self.target.attributes(self.target.stat(row.key))
        for name in NAMES:
            if found.get(name) != expected.get(name) and name in expected and name not in self.config.given:
                raise ChangedError(f"{row.key} is authentic, but its {name} is not the one that the manifest has")

    def _settle(self, row: Row, own: OwnKey | None, key_id: str) -> str:
        """Leave next to a written object only the record in use, and those that it replaced; return them."""
        if own is None:
            return ""
        kept = [record for record in own.records if record["key_id"] == key_id] + (
            [] if self.config.drop_old_keys else own.old
        )
        text = keys.to_json(kept)
        if len(kept) < len(own.records) + len(own.old):
            name = row.key + KEY_SUFFIX
            self.target.put(name, text.encode(), self.target.stat(name).version)
        return text

    def _from_file_to_file(
        self, row: Row, replace: str | None, attempt: Attempt, share: Share, keyset: Keyset | None
    ) -> tuple[Entry, str, str]:
        """Let the library's own job do it: it holds less memory, and no lock of Python's."""
        assert isinstance(self.source, LocalStorage) and isinstance(self.target, LocalStorage)
        with self._lock:
            others = min(self._in_hand, self.config.threads)
        threads = max(1, min(transfer.FILE_THREADS, processors() // others))
        share.take(transfer.memory_of_file(row.size, threads))
        small = row.size <= WINDOW
        if keyset is not None:
            return transfer.crypt_file(
                "encrypt", self.source, row.source_entry, self.target, row.key, replace, attempt, keyset,
                self._associated(row.key, self.config.binding), threads, lambda: small or not self._closing, "",
            )  # fmt: skip
        entry, expected = self._sealed_entry(row)
        keyset, _, _ = self._key_of(row, entry)
        return transfer.crypt_file(
            "decrypt", self.source, entry, self.target, row.key, replace, attempt, keyset,
            self._associated(entry.key, self.config.old_binding), threads, lambda: small or not self._closing, expected,
        )  # fmt: skip

    def _there(self, entry: Entry, keyset: Keyset | None) -> transfer.Plain | transfer.Opened:
        """Read an object of the target that this job has written."""
        if keyset is None:
            return transfer.Plain(self.target, entry, self.requests)
        name = self._associated(entry.key, self.config.binding)
        return transfer.Opened(self.target, entry, self.requests, keyset, name, digest=True)

    def _found(self, row: Row, keyset: Keyset | None, own: OwnKey | None) -> tuple[Entry, str, str] | None:
        """Return an object with its digest and its key's id, if an earlier attempt of this job has written it.

        It opens with a key of this job under its own name in this dataset, and has the content of the source. In a
        rekey the source is gone, and the key suffices: nothing else of this dataset was ever under it.
        """
        config = self.config
        candidates: list[tuple[str, Callable[[], Keyset]]] = []
        if own is not None:
            candidates = [(each["key_id"], partial(self.new_keys.open, each)) for each in own.records]
        elif keyset is not None:
            earlier = [key_id for key_id, record in config.records.items() if record.get("job") == config.job]
            shared = dict.fromkeys([config.key_id, *(earlier if config.envelope else [])])
            candidates = [(key_id, partial(self.new_keys.get, key_id)) for key_id in shared]
        if keyset is None:
            found = self._found_under(row, None)
            return (*found, "") if found is not None else None
        for key_id, open_keyset in candidates:
            found = self._found_under(row, open_keyset())
            if found is not None:
                return (*found, key_id)
        return None

    def _found_under(self, row: Row, keyset: Keyset | None) -> tuple[Entry, str] | None:
        try:
            entry = self.target.stat(row.key)
            with closing(self._there(entry, keyset)) as there:
                if self.config.command == "rekey":
                    for _ in there.pieces():
                        pass
                else:
                    with closing(self._pieces(row)) as source:
                        if not transfer.same(there.pieces(), source.pieces()):
                            return None
                return entry, there.ahead.sha256() if keyset is not None else ""
        except (InvalidTag, FormatError, MissingError):
            return None

    def _verify_written(self, entry: Entry, digest: str, keyset: Keyset | None, plain: Any) -> None:
        """Read again what was written, and compare."""
        again = hashlib.sha256()
        with closing(self._there(entry, keyset)) as there:
            for piece in there.pieces():
                again.update(piece)
            written = there.ahead.sha256() if keyset is not None else again.hexdigest()
            if written != digest or (plain is not None and again.digest() != plain.digest()):
                raise PermanentError(f"{entry.key} is not what was written: the storage has altered it")

    def _verify(self, number: int, row: Row, share: Share) -> dict[str, Any]:
        """Authenticate an object, and compare it with the manifest."""
        share.take(transfer.memory_of(row.out_size, part_bytes(row.out_size)))
        with closing(self._opened(row)) as there:
            for _ in there.pieces():
                pass
        self._check_attributes(row)
        return {}

    def _adopt(self, number: int, row: Row, share: Share) -> dict[str, Any]:
        """Authenticate an object for a new manifest, and bind the record of its own data key, if it has one, to it."""
        share.take(transfer.memory_of(row.out_size, part_bytes(row.out_size)))
        entry = self.target.stat(row.key)
        keyset, key_id, record = self._key_of(row, entry)
        if row.wrapped and row.wrapped != BESIDE:
            record = json.loads(row.wrapped)[0]
        associated = self._associated(row.key, self.config.old_binding)
        with closing(transfer.Opened(self.target, entry, self.requests, keyset, associated, digest=True)) as there:
            for _ in there.pieces():
                pass
            digest = there.ahead.sha256()
        if row.sha256 and digest != row.sha256:
            raise ChangedError(f"{row.key} is authentic, but not the object that the old manifest has (SHA-256)")
        wrapped = ""
        if record is not None:
            place = keys.Place(self.config.dataset, row.key, self.config.job)
            record = keys.rewrap(record, self.old_keys.sources, self.new_sources[0], place)
            key_id, wrapped = record["key_id"], self._put_records(row.key, [record])
        return {
            "key_id": key_id,
            "wrapped": wrapped,
            "sha256": digest,
            "out_size": entry.size,
            "out_version": entry.version,
            "state": REMOVED if row.state == REMOVED else DONE,
            "todo": "",
        }

    def _rewrap(self, number: int, row: Row, share: Share) -> dict[str, Any]:
        """Wrap an object's data keys with another key."""
        # An earlier attempt may have come so far.
        sources = [*self.old_keys.sources, *self.new_sources]
        records, _ = keys.rewrap_all(json.loads(row.wrapped), sources, self.new_sources[0])
        return {"wrapped": self._put_records(row.key, records), "todo": ""}

    def _put_records(self, key: str, records: list[dict[str, Any]]) -> str:
        """Write an object's records next to it, in the place of any that are there."""
        text = keys.to_json([keys.signed(each, self.config.record_key) for each in records])
        name = key + KEY_SUFFIX
        try:
            version = self.target.stat(name).version
        except MissingError:
            version = None
        self.target.put(name, text.encode(), version)
        return text

    def _remove(self, number: int, row: Row, share: Share) -> dict[str, Any]:
        """Remove an original, after comparing it with its copy byte by byte, as both lie there now."""
        share.take(transfer.memory_of(row.size, part_bytes(row.size)))
        if self.config.command == "decrypt":
            keyset = None
        else:
            keyset = self.new_keys.open(json.loads(row.wrapped)[0]) if row.wrapped else self.new_keys.get(row.key_id)
        # A copy that was restored has another version, and the same content.
        with closing(self._there(self.target.stat(row.key), keyset)) as there:
            try:
                with closing(self._pieces(row)) as source:
                    equal = transfer.same(there.pieces(), source.pieces())
            except MissingError:  # by an earlier attempt
                return {}
            if not equal or (keyset is not None and there.ahead.sha256() != row.sha256):
                raise PermanentError(f"{row.key} is not what {row.source} contains: the original is kept")
        self.source.remove(row.source_entry)
        return {}
