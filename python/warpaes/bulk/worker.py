"""A worker, which processes many objects in parallel in bounded memory. If it dies, no state is lost."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import Any

from .. import _native
from .._native import Keyset
from ..exceptions import FormatError, InvalidTag, KeysetError
from . import keys, parquet, transfer
from .around import Pace, PacedStorage
from .attributes import NAMES, Attributes, from_text, of_sealed, to_text
from .config import BESIDE, Config
from .local import LocalStorage
from .names import with_names
from .object_keys import Content, ObjectKeys, OwnKey
from .parquet import ParquetFile
from .row_threads import LOOK, RowThreads
from .rows import DONE, REMOVED, Row
from .storage import (
    WINDOW,
    Attempt,
    ChangedError,
    Entry,
    ExistsError,
    MissingError,
    PermanentError,
)
from .stores import open_storage

#: Errors that a retry would not change.
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
    """Select this process's backend. Call this function before any other operation."""
    if name and name not in _backends:
        _native.configure(backend=name)
        _backends.append(name)


def named_backend(name: str | None) -> str:
    """Return the name of the backend that was requested for this process. A requested backend has no fallback."""
    if not name or not _native._is_gpu(name):
        return name or ""
    gpus = [each["device"] for each in _native.backends() if each["device"] >= 0]
    return transfer.computed_on(name, gpus[0]) if len(gpus) == 1 else name


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0))


class Budget:
    """A limit in bytes for the total of all objects in progress. Requests are granted in order."""

    def __init__(self, size: int) -> None:
        """Set the limit, in bytes."""
        self.size = self.free = size
        self._turn = threading.Lock()
        self._changed = threading.Condition()

    def take(self, wanted: int) -> int:
        """Wait until this many bytes are free, and reserve them. An object larger than the budget reserves all of
        it."""
        wanted = min(wanted, self.size)
        with self._turn, self._changed:
            self._changed.wait_for(lambda: self.free >= wanted)
            self.free -= wanted
        return wanted

    def give(self, taken: int) -> None:
        """Release bytes."""
        with self._changed:
            self.free += taken
            self._changed.notify_all()


class Share:
    """The share of a budget that an object uses."""

    def __init__(self, budget: Budget) -> None:
        """Start with a share of 0 bytes."""
        self._budget, self._taken = budget, 0

    def take(self, wanted: int) -> None:
        """Release the current share, and wait for a share of this many bytes."""
        self.give()
        self._taken = self._budget.take(wanted)

    def give(self) -> None:
        """Release the current share."""
        taken, self._taken = self._taken, 0
        self._budget.give(taken)


class Worker(ObjectKeys):
    """Processes rows in threads, and reports an event for each row: the row's number and the result."""

    def __init__(self, config: Config, host: str = "") -> None:
        """Open the source, the target and the keys. `host` is a prefix for the backend's name in events."""
        self.config, self.host = config, host
        use_backend(config.backend)
        self._pace = Pace(config.limit_rate) if config.limit_rate else None
        self.source = open_storage(config.source, config.source_options)
        self.target = open_storage(config.target, config.target_options)
        self.source.collects = config.command == "encrypt"
        if self._pace is not None:
            self.source, self.target = PacedStorage(self.source, self._pace), PacedStorage(self.target, self._pace)
        if config.command != "encrypt":
            self.source = with_names(self.source, config.names_key)
        if config.command != "decrypt":
            self.target = with_names(self.target, config.names_key)
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
        self._in_hand = 0  #: rows in progress
        self._lock = threading.Lock()
        self._closing = False
        self._events: queue.SimpleQueue[tuple[int, dict[str, Any]]] = queue.SimpleQueue()
        nearby = self.source.files is not None and self.target.files is not None
        self._rows = RowThreads(self._run, config.threads, nearby)
        self.requests = ThreadPoolExecutor(config.requests, "request")

    # ---------------------------------------------------------------------------------------- rows in, events out

    def submit(self, tasks: list[tuple[int, str, Row]]) -> None:
        """Queue rows. Each task consists of the row's number, the operation and the row."""
        with self._lock:
            self._in_hand += len(tasks)
        self._rows.submit(tasks)

    def poll(self, timeout: float) -> list[tuple[int, dict[str, Any]]]:
        """Return the events of finished rows. Wait until at least one row is finished, or until the timeout."""
        events: list[tuple[int, dict[str, Any]]] = []
        end = time.monotonic() + timeout
        while not events:
            self._rows.adapt()
            wait = end - time.monotonic()
            try:
                events.append(self._events.get(timeout=max(0, min(wait, LOOK) if self._rows.may_adapt else wait)))
            except queue.Empty:
                if time.monotonic() >= end:
                    return []
        while not self._events.empty():
            events.append(self._events.get())
        return events

    def close(self) -> None:
        """Stop the worker. Small objects in progress are finished, and large objects are abandoned at their next
        range."""
        self._closing = True
        if self._pace is not None:
            self._pace.end()
        self.requests.shutdown(wait=False, cancel_futures=True)
        self._rows.close()
        self.requests.shutdown()

    def _run(self, number: int, what: str, row: Row) -> None:
        begin, share = time.monotonic(), Share(self.budget)
        try:
            listed = {}
            if row.size < 0:  # the row comes from a list of names
                entry = self.source.stat(row.source)
                row.size, row.version = entry.size, entry.version
                listed = {"size": entry.size, "version": entry.version}
            result = {**listed, **getattr(self, "_" + what)(number, row, share)}
        except Exception as error:
            final = isinstance(error, FINAL)
            said = str(error) or type(error).__name__
            if isinstance(error, InvalidTag):
                said = f"{row.source} is not authentic: the key or the name is wrong, or the object was altered"
            result = {"error": said, "final": final, "kind": type(error).__name__}
        finally:
            share.give()
            with self._lock:
                self._in_hand -= 1
        self._events.put((number, {"seconds": time.monotonic() - begin, **result}))

    # ------------------------------------------------------------------------------------------ the operations on rows

    def _sealed_entry(self, row: Row) -> tuple[Entry, str]:
        """Return a row's sealed object, and the object's digest if it is in a manifest.

        The digest identifies the content. Versions are not compared, because copies and backups have different
        versions.
        """
        decrypts = self.config.command == "decrypt"
        entry, expected = (row.source_entry, row.old_sha256) if decrypts else (row.target_entry, row.sha256)
        if expected and self.source.files is not None:
            entry = self._now(entry)
        return entry, expected

    def _now(self, entry: Entry) -> Entry:
        now = self.source.stat(entry.key)
        if now.size != entry.size:
            raise ChangedError(f"{entry.key} has {now.size} bytes, but {entry.size} according to the manifest")
        return now

    def _opened(self, row: Row) -> transfer.Opened | ParquetFile:
        """Open a row's sealed object."""
        entry, expected = self._sealed_entry(row)

        def opened(entry: Entry) -> transfer.Opened | ParquetFile:
            keyset, _, _ = self._key_of(row, entry)
            associated = self._associated(entry.key, self.config.old_binding)
            return self._open(self.source, entry, keyset, associated, expected)

        try:
            return opened(entry)
        except ChangedError:
            if not expected:
                raise
            return opened(self._now(entry))

    def _content(self, row: Row) -> Content:
        """Return the content of the object to write, as plaintext."""
        if self.config.command == "encrypt":
            if keys.is_parquet(self.config.template):
                return ParquetFile(self.source, row.source_entry, self.requests)
            return transfer.Plain(self.source, row.source_entry, self.requests)
        return self._opened(row)

    def _transform(self, number: int, row: Row, share: Share) -> dict[str, Any]:
        """Encrypt, decrypt or re-encrypt, depending on the command."""
        config = self.config
        computed_on = ""
        self.target.check_key(row.key)
        own = self._own_key(row) if config.command != "decrypt" and config.envelope == "object" else None
        keyset: keys.DataKey | None = None
        key_id = ""
        if own is not None:
            keyset, key_id = own.keyset, own.records[0]["key_id"]
        elif config.command != "decrypt":
            keyset, key_id = self.new_keys.get(config.key_id), config.key_id
        attributes = functools.cache(partial(self._attributes, row)) if self._has_attributes else dict
        attempt = Attempt(
            key_id=key_id,
            attributes=lambda: self._written_attributes(attributes(), keyset is not None),
            uploading=lambda upload: self._events.put((number, {"upload_id": upload})),
            mode=None if config.command == "rekey" or config.by_files else self.source.mode_of(row.source_entry),
        )
        sealed = keyset if not isinstance(keyset, keys.ParquetKey) else None  # its pieces are already encrypted
        plain = hashlib.sha256() if config.verify and sealed is not None else None

        def write(replace: str | None) -> tuple[Entry, str]:
            nonlocal computed_on
            done = self._from_file_to_file(row, replace, attempt, share, keyset) if config.by_files else None
            if done is not None:
                entry, digest, computed_on = done
                return entry, digest
            share.take(config.memory_of(config.command, row.size))
            computed_on = self._named_backend
            with closing(self._content(row)) as source:
                if config.command == "rekey":
                    replace = source.entry.version
                entry, associated = Entry(row.key, row.size, ""), self._associated(row.key, config.binding)
                pieces = self._sealed_pieces(source, keyset, key_id, associated)
                return transfer.write(
                    pieces, self.target, entry, replace, attempt, self.requests, sealed, associated, plain,
                    keyset is not None or config.verify,
                )  # fmt: skip

        adopted = False
        try:
            written, digest = write(None)
        except (ExistsError, ChangedError, MissingError, InvalidTag, FormatError) as error:
            # A rekey that was interrupted may have replaced the object, which is then not authentic under the old key.
            if isinstance(error, (InvalidTag, FormatError)) and config.command != "rekey":
                raise
            share.take(config.memory_of("", row.size))
            found = self._found(row, keyset, own)
            if found is not None:
                (written, digest, key_id), adopted = found, True
            elif isinstance(error, ExistsError) and config.overwrite and config.command != "rekey":
                plain = hashlib.sha256() if plain is not None else None
                written, digest = write(self.target.stat(row.key).version)
            elif isinstance(error, ExistsError) and config.command != "rekey":
                raise ExistsError(f"{error}, and this job did not write it; use --overwrite to replace it") from error
            else:
                raise
        if config.verify and not adopted:
            self._verify_written(row, written, digest, keyset, plain)
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

    @staticmethod
    def _sealed_pieces(
        source: Content, key: keys.DataKey | None, key_id: str, associated: bytes
    ) -> Iterator[memoryview]:
        """Return the pieces to write. If the key is a keyset, a Writer then seals them."""
        if isinstance(key, keys.ParquetKey) and isinstance(source, ParquetFile):
            return source.pieces(parquet.encryption(key, key_id, associated))
        if key is not None and (isinstance(source, ParquetFile) or isinstance(key, keys.ParquetKey)):
            raise FormatError(f"{source.entry.key} does not have the format of the job's template; decrypt it first")
        return source.pieces()

    def _written_attributes(self, attributes: Attributes, sealed: bool) -> Attributes:
        """Return the attributes for a written object. If names are encrypted, the result is empty, because it might
        contain names."""
        if not sealed:
            return attributes
        return {} if self.target.hides_names else of_sealed(attributes)

    def _attributes(self, row: Row) -> Attributes:
        """Return the original's attributes, from the source for encryption and otherwise from the manifest."""
        if self.config.command == "encrypt":
            return self.source.attributes(row.source_entry)
        return from_text(row.attributes)

    def _check_attributes(self, row: Row) -> None:
        """Raise ChangedError if an encrypted object's attributes differ from those in the manifest."""
        expected = of_sealed(from_text(row.attributes))
        if not expected or not self.target.has_attributes:
            return
        found = self.target.attributes(self.target.stat(row.key))
        for name in NAMES:
            if found.get(name) != expected.get(name) and name in expected and name not in self.config.given:
                raise ChangedError(f"{row.key} is authentic, but its {name} differs from the manifest")

    def _from_file_to_file(
        self, row: Row, replace: str | None, attempt: Attempt, share: Share, keyset: keys.DataKey | None
    ) -> tuple[Entry, str, str] | None:
        """Process the object with the library's file job, which needs less memory and does not hold the GIL. Return
        None if the file job cannot process the object."""
        source, target = self.source.files, self.target.files
        assert isinstance(source, LocalStorage) and isinstance(target, LocalStorage)
        with self._lock:
            others = min(self._in_hand, self.config.threads)
        threads = max(1, min(transfer.FILE_THREADS, processors() // others))
        share.take(transfer.memory_of_file(row.size, threads))
        small = row.size <= WINDOW
        if isinstance(keyset, Keyset):
            return transfer.crypt_file(
                "encrypt", source, row.source_entry, target, self.target.stored(row.key), replace, attempt, keyset,
                self._associated(row.key, self.config.binding), threads, lambda: small or not self._closing, "",
            )  # fmt: skip
        entry, expected = self._sealed_entry(row)
        keyset, _, _ = self._key_of(row, entry)
        if not isinstance(keyset, Keyset):
            return None
        stored = Entry(self.source.stored(entry.key), entry.size, entry.version)
        return transfer.crypt_file(
            "decrypt", source, stored, target, row.key, replace, attempt, keyset,
            self._associated(entry.key, self.config.old_binding), threads, lambda: small or not self._closing, expected,
        )  # fmt: skip

    def _there(self, entry: Entry, keyset: keys.DataKey | None) -> Content:
        """Open an object that an attempt of this job has written to the target."""
        if keyset is None:
            return transfer.Plain(self.target, entry, self.requests)
        name = self._associated(entry.key, self.config.binding)
        return self._open(self.target, entry, keyset, name, "", digest=True)

    def _found(self, row: Row, keyset: keys.DataKey | None, own: OwnKey | None) -> tuple[Entry, str, str] | None:
        """If an earlier attempt of this job wrote an object, return the object, its digest and its key's ID.

        The object must open with a key of this job under its name in this dataset, and have the content of the source.
        In a rekey, the source no longer exists, and opening with the key is sufficient, because the key has encrypted
        no other object of this dataset.
        """
        config = self.config
        candidates: list[tuple[str, Callable[[], keys.DataKey]]] = []
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

    def _found_under(self, row: Row, keyset: keys.DataKey | None) -> tuple[Entry, str] | None:
        try:
            entry = self.target.stat(row.key)
            with closing(self._there(entry, keyset)) as there:
                if self.config.command == "rekey":
                    for _ in there.pieces():
                        pass
                else:
                    with closing(self._content(row)) as source:
                        if not transfer.same(there.pieces(), source.pieces()):
                            return None
                return entry, there.ahead.sha256() if keyset is not None else ""
        except (InvalidTag, FormatError, MissingError):
            return None

    def _verify_written(self, row: Row, entry: Entry, digest: str, keyset: keys.DataKey | None, plain: Any) -> None:
        """Read a written object again, and compare its digests with the digests of the written data."""
        if isinstance(keyset, keys.ParquetKey) and self.config.command == "encrypt":
            with closing(self._there(entry, keyset)) as there, closing(self._content(row)) as source:
                if not transfer.same(there.pieces(), source.pieces()) or there.ahead.sha256() != digest:
                    raise PermanentError(f"{entry.key} differs from the data that was written; the storage changed it")
            return
        again = hashlib.sha256()
        with closing(self._there(entry, keyset)) as there:
            for piece in there.pieces():
                again.update(piece)
            written = there.ahead.sha256() if keyset is not None else again.hexdigest()
            if written != digest or (plain is not None and again.digest() != plain.digest()):
                raise PermanentError(f"{entry.key} differs from the data that was written; the storage changed it")

    def _verify(self, number: int, row: Row, share: Share) -> dict[str, Any]:
        """Authenticate an object, and compare it with the manifest."""
        share.take(self.config.memory_of("", row.out_size))
        with closing(self._opened(row)) as there:
            there.verify()
        self._check_attributes(row)
        return {}

    def _adopt(self, number: int, row: Row, share: Share) -> dict[str, Any]:
        """Authenticate an object for a new manifest. If the object has its own data key, bind the key's record to the
        object."""
        share.take(self.config.memory_of("", row.out_size))
        entry = self.target.stat(row.key)
        keyset, key_id, record = self._key_of(row, entry)
        if row.wrapped and row.wrapped != BESIDE:
            record = json.loads(row.wrapped)[0]
        associated = self._associated(row.key, self.config.old_binding)
        with closing(self._open(self.target, entry, keyset, associated, "", digest=True)) as there:
            there.verify()
            digest = there.ahead.sha256()
        if row.sha256 and digest != row.sha256:
            raise ChangedError(f"{row.key} is authentic, but differs from the object in the old manifest (SHA-256)")
        wrapped = ""
        if record is not None:
            place = keys.Place(self.config.dataset, self.target.stored(row.key), self.config.job)
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
        """Wrap an object's data keys with a new key."""
        # An earlier attempt may have finished this step.
        sources = [*self.old_keys.sources, *self.new_sources]
        records, _ = keys.rewrap_all(json.loads(row.wrapped), sources, self.new_sources[0])
        return {"wrapped": self._put_records(row.key, records), "todo": ""}

    def _remove(self, number: int, row: Row, share: Share) -> dict[str, Any]:
        """Remove an original after comparing it byte by byte with its current copy."""
        share.take(self.config.memory_of("", row.size))
        keyset: keys.DataKey | None
        if self.config.command == "decrypt":
            keyset = None
        else:
            keyset = self.new_keys.open(json.loads(row.wrapped)[0]) if row.wrapped else self.new_keys.get(row.key_id)
        # A restored copy has a different version but the same content.
        with closing(self._there(self.target.stat(row.key), keyset)) as there:
            try:
                with closing(self._content(row)) as source:
                    equal = transfer.same(there.pieces(), source.pieces())
            except MissingError:  # an earlier attempt has removed the original
                return {}
            if not equal or (keyset is not None and there.ahead.sha256() != row.sha256):
                raise PermanentError(f"the content of {row.key} differs from {row.source}, so the original is kept")
        self.source.remove(row.source_entry)
        return {}
