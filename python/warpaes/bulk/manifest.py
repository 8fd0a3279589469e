"""The manifest, which lists a dataset's objects and the progress of its job. Only authentic parts are used.

If object names are encrypted, the parts of the manifest that contain names are also encrypted (names.py).

A small root file lists the SHA-256 digests of the shards, which contain the rows. The root ends with an authentication
code, whose key is derived from the manifest key. The root contains the manifest key, wrapped by a key from the command
line and bound to this dataset. A save writes the changed shards and then the root, with a higher save number. Rows are
sorted by plaintext name, so finding an object requires only one shard.
"""

from __future__ import annotations

import base64
import bisect
import hashlib
import hmac
import itertools
import json
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa

from ..exceptions import FormatError, InvalidTag
from .keys import Holder
from .names import LABEL, NamesKey
from .rows import DONE, ERROR, PENDING, REMOVED, SHARD_ROWS, Row, order, pack, unpack
from .storage import FOLDER, CredentialsError, Entry, ExistsError, MissingError, PermanentError, Storage

NAME = FOLDER + "manifest.jsonl"
SHARDS = FOLDER + "shards/"
#: The name of the manifest in warpaes 1.0, which did not authenticate it.
NAME_1 = FOLDER + "manifest.parquet"
FORMAT = "warpaes bulk manifest 2"
#: The format of datasets with encrypted names. The shards, and the root's list of shards and its job, are sealed.
FORMAT_3 = LABEL
#: The prefix of a wrapped manifest key's associated data. The dataset's ID follows the prefix.
KEY_LABEL = b"warpaes bulk manifest key 2 "
#: The maximum size of a root in bytes. The root of a dataset with 100 million objects has 500 KB.
MAX_ROOT = 64 << 20


class ManifestError(PermanentError):
    """A manifest is missing a part, is not authentic, or has an unsupported version."""


class NamesError(ManifestError):
    """The names in a dataset are encrypted, but no key was given to decrypt them."""


@dataclass
class Job:
    """The command that is running, or last ran, on the target."""

    id: str
    command: str
    source: str  #: the origin of the objects
    target: str
    #: The options that a restart must not change.
    options: dict[str, Any] = field(default_factory=dict)
    #: The records of shared data keys (keys.py), by ID.
    keys: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: The ID of the key for new objects of this job; "" if every object has its own key.
    key_id: str = ""
    finished: bool = False
    #: The number of objects' data keys that the key-encryption key has wrapped.
    wraps: int = 0
    #: The IDs of all keyset keys that have ever encrypted objects of this dataset.
    used: list[str] = field(default_factory=list)

    @property
    def is_decrypted(self) -> bool:
        """Whether the target contains plaintext."""
        return self.command == "decrypt"

    def plain_name(self, row: Row) -> str:
        """Return a row's name without the suffix for encrypted objects. Rows are sorted by this name."""
        return row.key if self.is_decrypted else row.key.removesuffix(self.options.get("suffix") or "")


@dataclass
class Shard:
    """A file of rows, as described in the root."""

    sha256: str
    first: str  #: plaintext name of the first row
    rows: int
    states: dict[str, int]
    todo: int  #: number of pending rows
    errors: int  #: number of rows with an error message
    bytes: int  #: total size of the sources
    done_bytes: int

    @property
    def file(self) -> str:
        """The file's path below the target."""
        return f"{SHARDS}{self.sha256[:40]}.parquet"


def _describe(job: Job, rows: list[Row], sha256: str) -> Shard:
    states = Counter(row.state for row in rows)
    return Shard(
        sha256=sha256,
        first=job.plain_name(rows[0]),
        rows=len(rows),
        states=dict(states),
        todo=sum(is_pending(row) for row in rows),
        errors=sum(bool(row.error) for row in rows),
        bytes=sum(max(row.size, 0) for row in rows),
        done_bytes=sum(max(row.size, 0) for row in rows if row.is_sealed),
    )


def is_pending(row: Row) -> bool:
    """Return whether a command must still process a row."""
    return row.state == PENDING or bool(row.todo)


class Signer:
    """The manifest key, and the keys that are derived from it."""

    def __init__(self, dataset: str, holder: Holder, key: bytes, wrapped: bytes) -> None:
        """Derive keys from the manifest key. `wrapped` is the manifest key, wrapped by the holder."""
        self.dataset, self.holder, self.wrapped = dataset, holder, wrapped
        self._root_key = _derived(key, b"root")
        #: The key that authenticates records of data keys.
        self.record_key = _derived(key, b"records")
        #: The fingerprint, which identifies the manifest key without revealing it.
        self.fingerprint = _derived(key, b"fingerprint").hex()[:16]

    @staticmethod
    def create(dataset: str, holder: Holder) -> Signer:
        """Create a manifest key."""
        key = secrets.token_bytes(32)
        return Signer(dataset, holder, key, holder.source.wrap(key, KEY_LABEL + dataset.encode()))

    @staticmethod
    def open(dataset: str, holders: list[Holder], key_id: str, wrapped: bytes) -> Signer | None:
        """Return a root's signer if one of these keys unwraps the root's manifest key."""
        denied: CredentialsError | None = None
        for holder in holders:
            if holder.key_id == key_id:
                try:
                    key = holder.source.unwrap(wrapped, KEY_LABEL + dataset.encode())
                except CredentialsError as error:
                    denied = denied or error
                except PermanentError:
                    continue
                else:
                    if len(key) == 32:
                        return Signer(dataset, holder, key, wrapped)
        if denied is not None:
            raise denied
        return None

    def code(self, text: bytes) -> str:
        """Return the authentication code of a root."""
        return hmac.new(self._root_key, text, "sha256").hexdigest()


def _derived(key: bytes, purpose: bytes) -> bytes:
    return hmac.new(key, FORMAT.encode() + b" " + purpose, "sha256").digest()


class Manifest:
    """The root and the shards of a dataset. Shards are read when they are needed and kept in memory until they are
    closed."""

    def __init__(
        self, storage: Storage, job: Job, signer: Signer | None, dataset: str, names: NamesKey | None = None
    ) -> None:
        """Create a manifest without rows. Without a signer, it is not authenticated and cannot be saved.

        `names` is the names key if names are encrypted, otherwise None.
        """
        self.storage, self.job, self.signer, self.dataset, self.names = storage, job, signer, dataset, names
        self.shards: list[Shard] = []
        self.save_number = 0
        self.version: str | None = None  #: of the root that was last read or saved
        self._open: dict[int, list[Row]] = {}
        self._changed: set[int] = set()
        self._stored: set[str] = set()  #: all stored shard files, including those named in the saved root
        self._nonces: set[str] = set()  #: nonces of saved roots
        #: Whether changes to rows are discarded when a shard is closed.
        self.read_only = False
        #: Whether changes stay in memory and nothing is stored.
        self.is_dry = False
        #: The previous signer during an unfinished rekey or rewrap: its wrapped key, and its authentication code for
        #: the next signer.
        self.predecessor: dict[str, str] = {}
        #: The shards that this driver may change if several drivers share the job, otherwise None.
        self.mine: set[int] | None = None
        self._is_stored = True

    # ----------------------------------------------------------------------------------------------------- reading

    @staticmethod
    def exists(storage: Storage) -> bool:
        """Return whether the target contains a root."""
        try:
            storage.stat(NAME)
        except MissingError:
            return False
        return True

    @staticmethod
    def load(
        storage: Storage,
        holders: list[Holder] | None = None,
        signer: Signer | None = None,
        names: NamesKey | None = None,
    ) -> Manifest | None:
        """Return a target's manifest, or None if it has no manifest.

        Without `holders`, the manifest is not authenticated and may only be displayed. `signer` and `names` come from
        an earlier read, so that key sources are not contacted again.

        Raises:
            ManifestError: The manifest is not authentic.
            NamesError: Names are encrypted, and `holders` is None.
        """
        place = f"{storage.url}/{NAME}"
        try:
            entry = storage.stat(NAME)
            if entry.size > MAX_ROOT:
                raise ManifestError(
                    f"{place} has {entry.size} bytes, which is too long for a manifest; restore it from a copy"
                )
            data, version = storage.get(NAME)
        except MissingError:
            return None
        text, _, code = data.partition(b"\n")
        try:
            root = json.loads(text)
            if root["format"] not in (FORMAT, FORMAT_3):
                raise ManifestError(
                    f"{place} has the unsupported version {root['format']!r:.60}; use the warpaes version that wrote it"
                )
            dataset, held, found = root["dataset"], root["manifest_key"], json.loads(code)["hmac_sha256"]
            texts = (dataset, held["key_id"], held["wrapped"], found)
            if not all(isinstance(each, str) and each.isascii() for each in texts):
                raise ValueError
            if code != _code_line(found):
                raise ValueError
            wrapped = bytes.fromhex(held["wrapped"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            if isinstance(error, ManifestError):
                raise
            raise ManifestError(f"{place} is not a warpaes bulk manifest; restore it from a copy") from None
        if signer is None or (signer.dataset, signer.wrapped) != (dataset, wrapped):
            signer = Signer.open(dataset, holders, held["key_id"], wrapped) if holders is not None else None
        if holders is not None:
            if signer is None:
                by = f"key {held['key_id']}" if held["key_id"] else str(held.get("source"))
                raise ManifestError(
                    f"{place} was not saved under any of the given keys; it names {by!r:.80}; pass that key with -k, "
                    "or restore the manifest"
                )
            if not hmac.compare_digest(signer.code(text).encode(), found.encode()):
                raise ManifestError(f"{place} is not authentic, because it was altered; restore it from a copy")
        if root["format"] != FORMAT:
            root, names = _unsealed(place, root, signer, names)
        try:
            manifest = Manifest(storage, Job(**root["job"]), signer, dataset, names)
            manifest.shards = [Shard(**shard) for shard in root["shards"]]
            manifest.save_number = int(root["save"])
            manifest.predecessor = dict(root["predecessor"])
            _check_types(manifest)
        except (KeyError, TypeError, ValueError, OverflowError):  # OverflowError: an infinite number
            raise ManifestError(f"{place} is not a warpaes bulk manifest; restore it from a copy") from None
        manifest.version = version
        manifest._stored = {shard.file for shard in manifest.shards}
        manifest._nonces = {str(root.get("nonce"))}
        return manifest

    @staticmethod
    def in_memory(storage: Storage, rows: Iterable[Row]) -> Manifest:
        """Return a manifest that contains these rows and is never stored."""
        manifest = Manifest(storage, Job("", "", "", ""), None, "")
        every = list(rows)
        manifest._is_stored, manifest.read_only = False, True
        if every:
            manifest.shards, manifest._open = [_describe(manifest.job, every, "")], {0: every}
        return manifest

    def rows_of(self, number: int) -> list[Row]:
        """Return a shard's rows, which stay in memory until `close`."""
        if number not in self._open:
            self._open[number] = self.read(self.shards[number])
        return self._open[number]

    def read(self, shard: Shard) -> list[Row]:
        """Read a shard's rows. The shard must be authentic."""
        place = f"{self.storage.url}/{shard.file}"
        try:
            data, _ = self.storage.get(shard.file)
        except MissingError:
            raise ManifestError(f"{place} is a part of the manifest and is missing; restore it from a copy") from None
        if hashlib.sha256(data).hexdigest() != shard.sha256:
            raise ManifestError(f"{place} is not authentic, because it was altered; restore it from a copy")
        try:
            return unpack(data if self.names is None else self.names.unseal(data, "shard"))
        except (InvalidTag, FormatError):
            raise ManifestError(
                f"{place} was not encrypted under the dataset's names key; restore it from a copy"
            ) from None
        except (pa.ArrowException, KeyError, TypeError, ValueError) as error:
            raise ManifestError(f"{place} does not contain rows: {error}") from None

    def each(self) -> Iterator[tuple[int, list[Row]]]:
        """Yield each shard's number and rows. Shards that were not in memory are closed again."""
        for number in range(len(self.shards)):
            was_open = number in self._open
            yield number, self.rows_of(number)
            if not was_open:
                self.close(number)

    @property
    def rows(self) -> list[Row]:
        """Return a list of all rows, for small datasets."""
        return [row for _, rows in self.each() for row in rows]

    def find(self, name: str) -> Row | None:
        """Return the row with a plaintext name, from the only shard that can contain it, or None."""
        _, rows, at = self._place_of(name)
        return rows[at] if at < len(rows) and self.job.plain_name(rows[at]) == name else None

    def _place_of(self, name: str) -> tuple[int, list[Row], int]:
        """Return the number of the shard that may contain a plaintext name, the shard's rows, and the index of the
        first row at or after the name."""
        number = self.shard_of(name)
        if number < 0:
            return -1, [], 0
        was_open = number in self._open
        rows = self.rows_of(number)
        at = self.place_in(rows, name)
        if not was_open and len(self._open) > 4:
            self.close(number)
        return number, rows, at

    def shard_of(self, name: str) -> int:
        """Return the number of the shard that may contain a plaintext name, or -1 if no shard can contain it."""
        return bisect.bisect_right(self.shards, order(name), key=lambda shard: order(shard.first)) - 1

    def place_in(self, rows: list[Row], name: str) -> int:
        """Return the index of the first row at or after a plaintext name."""
        return bisect.bisect_left(rows, order(name), key=lambda row: order(self.job.plain_name(row)))

    def __contains__(self, key: object) -> bool:
        """Return whether a row names an object of the target."""
        if not isinstance(key, str):
            return False
        suffix = "" if self.job.is_decrypted else self.job.options.get("suffix") or ""
        row = self.find(key.removesuffix(suffix))
        return row is not None and row.key == key

    def has_beginning(self, beginning: str) -> bool:
        """Return whether the name of any object in the target has this prefix."""
        suffix = "" if self.job.is_decrypted else self.job.options.get("suffix") or ""
        # The prefix may end within the suffix.
        shorter = (beginning[: len(beginning) - n] for n in range(1, len(suffix)) if beginning.endswith(suffix[:n]))
        if any(self.find(name) is not None for name in shorter):
            return True
        number, rows, at = self._place_of(beginning)
        if at < len(rows):
            return rows[at].key.startswith(beginning)
        return number + 1 < len(self.shards) and self.shards[number + 1].first.startswith(beginning)

    # ----------------------------------------------------------------------------------------------------- changing

    def fill(self, rows: Iterable[Row]) -> None:
        """Add the rows of a new manifest, in ascending order of their names."""
        group: list[Row] = []
        for row in rows:
            group.append(row)
            if len(group) == SHARD_ROWS:
                self._append(group)
                group = []
        if group:
            self._append(group)

    def _append(self, rows: list[Row]) -> None:
        number = len(self.shards)
        self.shards.append(_describe(self.job, rows, ""))
        self._open[number] = rows
        self._changed.add(number)
        self.close(number)

    def merge(self, rows: Iterable[Row], join: Any) -> None:
        """Merge the rows of a new listing, which must be in order, into the shards.

        `join(old, new)` updates an old row and returns whether it changed. A shard that grows to twice the normal size
        is split.
        """
        new = iter(rows)
        waiting = next(new, None)  # read before the shards are discarded, because the listing may search them for names
        before, self.shards = self.shards, []
        old = Manifest(self.storage, self.job, self.signer, self.dataset, self.names)
        old.shards = before
        unsaved: set[int] = set()
        if self.is_dry:  # this run's changes exist only in memory
            old._open, self._open = self._open, {}
            unsaved, self._changed = self._changed, set()
        for number in range(len(before)):
            was = old.rows_of(number)
            end = order(before[number + 1].first) if number + 1 < len(before) else None
            names = {self.job.plain_name(row): row for row in was}
            added, changed = [], number in unsaved
            while True:
                row = waiting if waiting is not None else next(new, None)
                waiting = None
                if row is None:
                    break
                name = self.job.plain_name(row)
                if end is not None and order(name) >= end:
                    waiting = row
                    break
                if name in names:
                    changed = join(names[name], row) or changed
                else:
                    added.append(row)
            old.close(number)
            if not added and not changed:
                self.shards.append(before[number])
                continue
            every = sorted(was + added, key=lambda row: order(self.job.plain_name(row)))
            length = len(every) if len(every) < 2 * SHARD_ROWS else SHARD_ROWS
            for begin in range(0, len(every), length):
                self._append(every[begin : begin + length])
        self.fill(itertools.chain([] if waiting is None else [waiting], new))

    def drop(self, wanted: Callable[[Row], bool]) -> list[Row]:
        """Remove and return the rows for which `wanted` returns True. Shards without pending rows are skipped."""
        dropped: list[Row] = []
        for number in reversed(range(len(self.shards))):
            if not self._counted(number).todo:
                continue
            rows = self.rows_of(number)
            kept = [row for row in rows if not wanted(row)]
            if len(kept) < len(rows):
                dropped += [row for row in rows if wanted(row)]
                rows[:] = kept
                self.change(number)
            if kept:
                self.close(number)
            else:
                self._changed.discard(number)
                self._open.pop(number)
                del self.shards[number]
        return dropped

    def change(self, number: int) -> None:
        """Record that a shard's rows were changed."""
        if not self.read_only:
            self._changed.add(number)

    def close(self, number: int) -> None:
        """Store a shard's changes, and release its memory. The root names the new version at the next save.

        A shard of a shared job is saved immediately, so that another driver can claim it.
        """
        if number in self._changed:
            if self.is_dry:
                return
            if self.mine is not None:
                self.save()
            else:
                try:
                    self._store(number)
                except OSError:  # a full disk, for example: the shard stays in memory, and the next save tries again
                    return
        if self.mine is not None:
            self.mine.discard(number)
        if self._is_stored:
            self._open.pop(number, None)

    def _store(self, number: int) -> None:
        rows = self._open[number]
        data = pack(rows) if self.names is None else self.names.seal(pack(rows), "shard")
        shard = _describe(self.job, rows, hashlib.sha256(data).hexdigest())
        self.shards[number] = shard
        self._stored.add(shard.file)
        try:
            self.storage.put(shard.file, data)
        except ExistsError:  # an earlier run stored the shard, or another file has this name
            there, version = self.storage.get(shard.file)
            if there != data:
                self.storage.put(shard.file, data, version)
        self._changed.discard(number)

    def resign(self, holder: Holder) -> None:
        """Use a new manifest key, wrapped by a different key, from the next save onwards."""
        old = self.signer
        self.signer = Signer.create(self.dataset, holder)
        if self.names is not None:
            self.names = self.names.wrapped(self.job.id, holder.source)
        if old is not None:
            code = old.code(self.signer.fingerprint.encode())
            self.predecessor = {"key_id": old.holder.key_id, "wrapped": old.wrapped.hex(), "code": code}

    def succeeds(self, fingerprint: str, holders: list[Holder]) -> bool:
        """Return whether the manifest key with this fingerprint has authenticated the current manifest key as its
        successor."""
        assert self.signer is not None
        try:
            key_id, wrapped = self.predecessor["key_id"], bytes.fromhex(self.predecessor["wrapped"])
            old = Signer.open(self.dataset, holders, key_id, wrapped)
            code = self.predecessor["code"].encode()
        except (KeyError, TypeError, ValueError, AttributeError):
            return False
        if old is None or old.fingerprint != fingerprint:
            return False
        return hmac.compare_digest(old.code(self.signer.fingerprint.encode()).encode(), code)

    def save(self) -> None:
        """Store changes. Replace the root only if it is the version that was last read or saved."""
        for number in sorted(self._changed):
            self._store(number)
        while True:
            try:
                self.version = self.storage.put(NAME, self._root(), self.version)
                break
            except ExistsError:
                if not self._look_again():
                    raise
        self.save_number += 1
        now = {shard.file for shard in self.shards}
        for file in self._stored - now:
            self._remove(file)
        self._stored = now

    def _root(self) -> bytes:
        assert self.signer is not None
        nonce = secrets.token_hex(8)
        self._nonces.add(nonce)
        held = {
            "source": self.signer.holder.name,
            "key_id": self.signer.holder.key_id,
            "wrapped": self.signer.wrapped.hex(),
        }
        content = {"job": asdict(self.job), "shards": [asdict(shard) for shard in self.shards]}
        root = {
            "format": FORMAT if self.names is None else FORMAT_3,
            "dataset": self.dataset,
            "save": self.save_number + 1,
            "nonce": nonce,
            "manifest_key": held,
            "predecessor": {} if self.job.finished else self.predecessor,
            **(content if self.names is None else _sealed(self.names, content)),
        }
        text = json.dumps(root, separators=(",", ":")).encode()
        return text + b"\n" + _code_line(self.signer.code(text))

    def _look_again(self) -> bool:
        """Load a manifest that another driver saved, or that this driver saved without receiving a response. Return
        False if the manifest belongs to another job."""
        assert self.signer is not None
        there = Manifest.load(self.storage, [self.signer.holder], self.signer, self.names)
        if there is None:
            return False
        if not there._nonces & self._nonces:
            if self.mine is None or there.job.id != self.job.id or len(there.shards) != len(self.shards):
                return False
            self.shards = [self.shards[n] if n in self.mine else shard for n, shard in enumerate(there.shards)]
            self.job.keys, self.job.finished = {**there.job.keys, **self.job.keys}, there.job.finished
            self.job.used = sorted({*there.job.used, *self.job.used})
        self.version, self.save_number = there.version, max(there.save_number, self.save_number)
        return True

    def claim(self, number: int) -> None:
        """Begin to change a shard that other drivers may have changed earlier."""
        if self.mine is not None:
            self._open.pop(number, None)
            self.refresh()
            self.mine.add(number)

    def refresh(self) -> None:
        """Load the rows that other drivers of a shared job saved."""
        if self.mine is not None and not self._look_again():
            raise ManifestError(f"{self.storage.url}/{NAME} now belongs to another job, so this job has stopped")

    def _remove(self, file: str) -> None:
        try:
            self.storage.remove(self.storage.stat(file))
        except MissingError:
            return

    def sweep(self) -> None:
        """Remove shards that the root does not name. Runs that ended between the two writes of a save leave such
        shards."""
        now = {shard.file for shard in self.shards}
        for entry in _listed(self.storage, SHARDS):
            if entry.key not in now:
                self._remove(entry.key)

    # ------------------------------------------------------------------------------------------------------ counting

    def total(self, name: str) -> int:
        """Return the sum over all shards of rows, todo, errors, bytes or done_bytes, or the number of rows in a given
        state."""
        if name in (PENDING, DONE, REMOVED, ERROR):
            return sum(self._counted(number).states.get(name, 0) for number in range(len(self.shards)))
        return sum(getattr(self._counted(number), name) for number in range(len(self.shards)))

    def _counted(self, number: int) -> Shard:
        shard = self.shards[number]
        return _describe(self.job, self._open[number], shard.sha256) if number in self._changed else shard

    def failed(self, most: int) -> list[Row]:
        """Return at most `most` rows that have an error."""
        found: list[Row] = []
        for number in range(len(self.shards)):
            if len(found) < most and self._counted(number).errors:
                was_open = number in self._open
                found += [row for row in self.rows_of(number) if row.error]
                if not was_open:
                    self.close(number)
        return found[:most]


def _sealed(names: NamesKey, content: dict[str, Any]) -> dict[str, Any]:
    """Return the sealed part of a root, which contains names, and the record of the names key."""
    sealed = names.seal(json.dumps(content, separators=(",", ":")).encode(), "root")
    return {"names_key": names.record, "sealed": base64.b64encode(sealed).decode()}


def _unsealed(
    place: str, root: dict[str, Any], signer: Signer | None, names: NamesKey | None
) -> tuple[dict[str, Any], NamesKey]:
    """Return an authentic root with its sealed part decrypted, and the names key."""
    if signer is None:
        raise NamesError(f"{place} belongs to a dataset with encrypted names; pass its key with -k")
    try:
        record = root["names_key"]
        if names is None or names.record != record:
            names = NamesKey.open(signer.dataset, record, [signer.holder.source])
        content = json.loads(names.unseal(base64.b64decode(root["sealed"], validate=True), "root"))
        return {**root, "job": content["job"], "shards": content["shards"]}, names
    except (InvalidTag, FormatError, KeyError, TypeError, ValueError):
        raise ManifestError(f"{place} is not a warpaes bulk manifest; restore it from a copy") from None


def _listed(storage: Storage, folder: str) -> list[Entry]:
    try:
        return list(storage.list(folder))
    except MissingError:
        return []


def _code_line(code: str) -> bytes:
    """Return the last line of a root, in the only encoding that is accepted."""
    return json.dumps({"hmac_sha256": code}).encode() + b"\n"


def _check_types(manifest: Manifest) -> None:
    """Raise an exception if a field of an untrusted root has the wrong type."""
    job = manifest.job
    texts = [job.id, job.command, job.source, job.target, job.key_id, *job.used]
    for shard in manifest.shards:
        texts += [shard.sha256, shard.first]
        if not isinstance(shard.states, dict):
            raise TypeError
        numbers = [shard.rows, shard.todo, shard.errors, shard.bytes, shard.done_bytes, *shard.states.values()]
        if not all(isinstance(number, int) for number in numbers) or len(shard.sha256) != 64:
            raise TypeError
    if not all(isinstance(text, str) for text in texts) or not isinstance(job.finished, bool) or job.wraps < 0:
        raise TypeError
    if not isinstance(job.options, dict) or not isinstance(job.keys, dict):
        raise TypeError
    if not all(isinstance(record, dict) for record in job.keys.values()):
        raise TypeError
