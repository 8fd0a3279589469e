"""A worker: many objects at once within a bounded memory, and nothing that a driver would miss if it dies."""

from __future__ import annotations

import hashlib
import json
import os
import queue
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from .. import _native
from .._native import Keyset
from ..exceptions import FormatError, InvalidTag, KeysetError
from . import keys, transfer
from .manifest import Row
from .storage import (
    KEY_SUFFIX,
    WINDOW,
    Attempt,
    ChangedError,
    Entry,
    ExistsError,
    LocalStorage,
    MissingError,
    PermanentError,
    is_local,
    open_storage,
    part_bytes,
)

#: Of a row whose key records are known to lie beside the object alone.
BESIDE = "beside"

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
    template: str = "AES256_GCM_HKDF_1MB"
    key_id: str = ""  #: what new objects are written with, if not with keys of their own
    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    bind_names: bool = False
    overwrite: bool = False
    verify: bool = False  #: read again what was written
    drop_old_keys: bool = False
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


class Worker:
    """Takes rows, and hands out events: (row's number, what became of it)."""

    def __init__(self, config: Config, host: str = "") -> None:
        """Open both ends. `host`: what to say where, before what computed."""
        self.config, self.host = config, host
        use_backend(config.backend)
        self.source = open_storage(config.source, config.source_options)
        self.target = open_storage(config.target, config.target_options)
        sources: list[keys.KeySource] = [spec.open() for spec in config.key]
        self.new_sources: list[keys.KeySource] = [spec.open() for spec in config.new_key]
        self.old_keys = keys.Keyring(keys.merged(config.key), sources, config.records)
        if config.new_key:
            self.new_keys = keys.Keyring(keys.merged(config.new_key), self.new_sources, config.records)
        else:
            self.new_keys, self.new_sources = self.old_keys, sources
        self.budget = Budget(config.memory)
        self._named_backend = named_backend(config.backend)
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

    def _associated(self, key: str) -> bytes:
        # The source may be one object, which then has no name below itself.
        return (key or self.source.url.rpartition("/")[2]).encode() if self.config.bind_names else b""

    def _old_keyset(self, row: Row) -> Keyset:
        if row.wrapped == BESIDE:
            name = row.source + KEY_SUFFIX
            return self.old_keys.any_of(keys.parse_records(self.source.get(name)[0], name))
        if row.wrapped:
            return self.old_keys.open(json.loads(row.wrapped)[0])
        if row.old_key_id:
            return self.old_keys.get(row.old_key_id)
        if self.old_keys.keyset is None or self.old_keys.records:
            return self.old_keys.any_of([])
        return self.old_keys.keyset

    def _new_keyset(self, row: Row) -> tuple[Keyset, str, str]:
        """Keyset, its id, and where it is the object's own the records that lie beside it."""
        if self.config.envelope != "object":
            return self.new_keys.get(self.config.key_id), self.config.key_id, ""
        name = row.key + KEY_SUFFIX
        old = json.loads(row.wrapped) if row.wrapped else []
        while True:
            try:
                # An earlier attempt's: the file decides, so that all attempts have one key.
                text, version = self.target.get(name)
                records = keys.parse_records(text, name)
                if not old or records[0]["key_id"] != old[0]["key_id"]:
                    return self.new_keys.open(records[0]), records[0]["key_id"], text.decode()
            except MissingError:
                version = None
            record, keyset = keys.new_record(self.new_sources[0], self.config.template)
            wrapped = keys.to_json([record, *old])
            try:
                self.target.put(name, wrapped.encode(), version)
            except ExistsError:  # an attempt that was given up lives on, and was first
                continue
            return keyset, record["key_id"], wrapped

    # ------------------------------------------------------------------------------------------ what is done to rows

    def _pieces(self, row: Row) -> transfer.Plain | transfer.Opened:
        if self.config.command == "encrypt":
            return transfer.Plain(self.source, row.source_entry, self.requests)
        name = self._associated(row.source)
        return transfer.Opened(self.source, row.source_entry, self.requests, self._old_keyset(row), name)

    def _transform(self, number: int, row: Row, share: Share) -> dict[str, Any]:
        """Encrypt, decrypt or re-encrypt, by the command."""
        config = self.config
        computed_on = ""
        self.target.check_key(row.key)
        keyset, key_id, wrapped = (None, "", "") if config.command == "decrypt" else self._new_keyset(row)
        replace = row.version if config.command == "rekey" else None
        attempt = Attempt(key_id=key_id, uploading=lambda upload: self._events.put((number, {"upload_id": upload})))
        plain = hashlib.sha256() if config.verify and keyset is not None else None

        def write(replace: str | None) -> tuple[Entry, str]:
            nonlocal computed_on
            if config.by_files:
                entry, digest, computed_on = self._from_file_to_file(row, replace, attempt, share, keyset)
                return entry, digest
            share.take(transfer.memory_of(row.size, part_bytes(row.size)))
            computed_on = self._named_backend
            with closing(self._pieces(row)) as source:
                entry = Entry(row.key, row.size, "")
                return transfer.write(
                    source.pieces(), self.target, entry, replace, attempt, self.requests, keyset,
                    self._associated(row.key), plain,
                )  # fmt: skip

        adopted = False
        try:
            written, digest = write(replace)
        except (ExistsError, ChangedError, MissingError) as error:
            share.take(transfer.memory_of(row.size, part_bytes(row.size)))
            found = self._adopt(row, keyset)
            if found is not None:
                (written, digest), adopted = found, True
            elif isinstance(error, ExistsError) and config.overwrite and config.command != "rekey":
                plain = hashlib.sha256() if plain is not None else None
                written, digest = write(self.target.stat(row.key).version)
            else:
                raise
        if config.verify and not adopted:
            self._verify_written(written, digest, keyset, plain)
        if config.drop_old_keys and wrapped and len(records := json.loads(wrapped)) > 1:
            wrapped = keys.to_json(records[:1])
            self.target.put(row.key + KEY_SUFFIX, wrapped.encode(), self.target.stat(row.key + KEY_SUFFIX).version)
        return {
            "key_id": key_id,
            "wrapped": wrapped,
            "sha256": digest,
            "out_size": written.size,
            "out_version": written.version,
            "adopted": adopted,
            "computed_on": computed_on and self.host + computed_on,
        }

    _encrypt = _decrypt = _rekey = _transform

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
                self._associated(row.key), threads, lambda: small or not self._closing,
            )  # fmt: skip
        return transfer.crypt_file(
            "decrypt", self.source, row.source_entry, self.target, row.key, replace, attempt, self._old_keyset(row),
            self._associated(row.source), threads, lambda: small or not self._closing,
        )  # fmt: skip

    def _there(self, entry: Entry, keyset: Keyset | None) -> transfer.Plain | transfer.Opened:
        """Read what lies in the target."""
        if keyset is None:
            return transfer.Plain(self.target, entry, self.requests, digest=True)
        return transfer.Opened(self.target, entry, self.requests, keyset, self._associated(entry.key), digest=True)

    def _adopt(self, row: Row, keyset: Keyset | None) -> tuple[Entry, str] | None:
        """What an earlier attempt has made, if that is what lies there: it opens with the key, and has the content."""
        try:
            entry = self.target.stat(row.key)
            with closing(self._there(entry, keyset)) as there:
                if self.config.command == "rekey":
                    # The source is gone. This key is the job's, and it replaced nothing but the source.
                    for _ in there.pieces():
                        pass
                else:
                    with closing(self._pieces(row)) as source:
                        if not transfer.same(there.pieces(), source.pieces()):
                            return None
                return entry, there.ahead.sha256()
        except (InvalidTag, FormatError, MissingError):
            return None

    def _verify_written(self, entry: Entry, digest: str, keyset: Keyset | None, plain: Any) -> None:
        """Read again what was written, and compare."""
        again = hashlib.sha256()
        with closing(self._there(entry, keyset)) as there:
            for piece in there.pieces():
                again.update(piece)
            if there.ahead.sha256() != digest or (plain is not None and again.digest() != plain.digest()):
                raise PermanentError(f"{entry.key} is not what was written: the storage has altered it")

    def _verify(self, number: int, row: Row, share: Share) -> dict[str, Any]:
        """Authenticate an object, and compare it with the manifest."""
        share.take(transfer.memory_of(row.size, part_bytes(row.size)))
        entry = self.source.stat(row.source)
        if row.size >= 0 and entry.size != row.size:
            raise ChangedError(f"{row.source} has {entry.size} bytes, and had {row.size}")
        name = self._associated(row.source)
        keyset = self._old_keyset(row)
        with closing(transfer.Opened(self.source, entry, self.requests, keyset, name, digest=True)) as there:
            for _ in there.pieces():
                pass
            if row.sha256 and there.ahead.sha256() != row.sha256:
                raise ChangedError(f"{row.source} is authentic, but not what the manifest says (SHA-256)")
        return {}

    def _rewrap(self, number: int, row: Row, share: Share) -> dict[str, Any]:
        """Wrap an object's data key anew."""
        text, version = self.target.get(row.key + KEY_SUFFIX)
        records = keys.parse_records(text, row.key + KEY_SUFFIX)
        # An earlier attempt may have come so far.
        sources = [*self.old_keys.sources, *self.new_sources]
        wrapped = keys.to_json([keys.rewrap(each, sources, self.new_sources[0]) for each in records])
        if wrapped != text.decode():
            self.target.put(row.key + KEY_SUFFIX, wrapped.encode(), version)
        return {"wrapped": wrapped}

    def _remove(self, number: int, row: Row, share: Share) -> dict[str, Any]:
        """Remove an original, after comparing it with what was made of it byte by byte, as both lie there now."""
        share.take(transfer.memory_of(row.size, part_bytes(row.size)))
        if self.config.command == "decrypt":
            keyset = None
        else:
            keyset = self.new_keys.open(json.loads(row.wrapped)[0]) if row.wrapped else self.new_keys.get(row.key_id)
        with closing(self._there(row.target_entry, keyset)) as there:
            try:
                with closing(self._pieces(row)) as source:
                    equal = transfer.same(there.pieces(), source.pieces())
            except MissingError:  # by an earlier attempt
                return {}
            if not equal or there.ahead.sha256() != row.sha256:
                raise PermanentError(f"{row.key} is not what {row.source} says: the original is kept")
        self.source.remove(row.source_entry)
        return {}
