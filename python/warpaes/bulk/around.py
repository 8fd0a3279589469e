"""Storages around another storage: they change one thing, and pass on everything else."""

from __future__ import annotations

import threading
import time
from collections.abc import Container, Iterator, Sequence
from concurrent.futures import Executor

from .attributes import Attributes
from .storage import Attempt, Entry, Names, Storage, Upload


class Around(Storage):
    """Passes every operation on to another storage."""

    def __init__(self, inner: Storage) -> None:
        """Put a storage around another one."""
        super().__init__()
        self.inner, self.url, self.left_out = inner, inner.url, inner.left_out
        self.can_write, self.can_replace, self.is_shared = inner.can_write, inner.can_replace, inner.is_shared
        self.has_attributes, self.strangers = inner.has_attributes, inner.strangers
        self.hides_names = inner.hides_names

    @property
    def files(self) -> Storage | None:
        """Return the files of the other storage."""
        return self.inner.files

    @property
    def name(self) -> str:
        """Return the name of the other storage, if that is one object."""
        return self.inner.name

    def stored(self, key: str) -> str:
        """Return the name under which an object lies in the store."""
        return self.inner.stored(key)

    def list(self, key: str = "") -> Iterator[Entry]:
        """Return all objects below the root whose names begin with `key`."""
        return self.inner.list(key)

    def stat(self, key: str) -> Entry:
        """Return an object's entry; MissingError if there is none."""
        return self.inner.stat(key)

    def read(self, entry: Entry, offset: int, length: int) -> bytes:
        """Return a range of this version of an object."""
        return self.inner.read(entry, offset, length)

    def create(self, key: str, size: int, replace: str | None, attempt: Attempt, threads: Executor) -> Upload:
        """Begin an object."""
        return self.inner.create(key, size, replace, attempt, threads)

    def put(self, key: str, data: bytes, replace: str | None = None) -> str:
        """Write a small object as a whole."""
        return self.inner.put(key, data, replace)

    def remove(self, entry: Entry) -> None:
        """Remove this version."""
        self.inner.remove(entry)

    def sweep(self, keys: Names) -> int:
        """Remove temporary files or unfinished uploads of these objects."""
        return self.inner.sweep(keys)

    def mode_of(self, entry: Entry) -> int | None:
        """Return the permissions that a copy of an object should have."""
        return self.inner.mode_of(entry)

    def attributes(self, entry: Entry) -> Attributes:
        """Return the attributes of an object."""
        return self.inner.attributes(entry)

    def not_kept(self, replaced: Container[str]) -> Sequence[str]:
        """Return the attributes that copies of these objects lose."""
        return self.inner.not_kept(replaced)

    def check_key(self, key: str) -> None:
        """Raise PermanentError if no object can have this name."""
        self.inner.check_key(key)

    def place(self) -> tuple[str, str]:
        """Return the store and the place in it."""
        return self.inner.place()

    def keeps_versions(self) -> bool:
        """Return whether the store keeps replaced and removed versions."""
        return self.inner.keeps_versions()


class Pace:
    """A limit in bytes a second for all reads of a process together."""

    def __init__(self, rate: float) -> None:
        """Set the limit."""
        self.rate = rate
        self._lock = threading.Lock()
        self._until = 0.0  #: when all bytes that were taken may have come
        self._ended = threading.Event()

    def take(self, count: int) -> None:
        """Wait as long as this many bytes take, after all those that were taken before."""
        with self._lock:
            now = time.monotonic()
            self._until = max(self._until, now) + count / self.rate
            wait = self._until - now
        self._ended.wait(wait)

    def end(self) -> None:
        """Let nobody wait any longer."""
        self._ended.set()


class PacedStorage(Around):
    """Reads no faster than a limit permits."""

    def __init__(self, inner: Storage, pace: Pace) -> None:
        """Limit the reads of a storage. Several storages may share a limit."""
        super().__init__(inner)
        self._pace = pace

    @property
    def files(self) -> None:
        """Return nothing: the library's jobs on files have no limit."""
        return

    def read(self, entry: Entry, offset: int, length: int) -> bytes:
        """Return a range of this version of an object when its bytes may have come."""
        data = self.inner.read(entry, offset, length)
        self._pace.take(len(data))
        return data
