"""Storages that wrap another storage. Each changes one aspect and forwards all other operations."""

from __future__ import annotations

import threading
import time
from collections.abc import Container, Iterator, Sequence
from concurrent.futures import Executor

from .attributes import Attributes
from .storage import Attempt, Entry, Names, Storage, Upload


class Around(Storage):
    """Forwards every operation to another storage."""

    def __init__(self, inner: Storage) -> None:
        """Wrap another storage."""
        super().__init__()
        self.inner, self.url, self.left_out = inner, inner.url, inner.left_out
        self.can_write, self.can_replace, self.is_shared = inner.can_write, inner.can_replace, inner.is_shared
        self.has_attributes, self.strangers = inner.has_attributes, inner.strangers
        self.hides_names = inner.hides_names

    @property
    def files(self) -> Storage | None:
        """Return the wrapped storage's file storage, or None."""
        return self.inner.files

    @property
    def name(self) -> str:
        """Return the name of the wrapped storage's object, if the storage is a single object."""
        return self.inner.name

    def stored(self, key: str) -> str:
        """Return the name of an object in the store."""
        return self.inner.stored(key)

    def list(self, key: str = "") -> Iterator[Entry]:
        """Return all objects below the root whose names begin with `key`."""
        return self.inner.list(key)

    def stat(self, key: str) -> Entry:
        """Return an object's entry. Raise MissingError if the object does not exist."""
        return self.inner.stat(key)

    def read(self, entry: Entry, offset: int, length: int) -> bytes:
        """Return a byte range of this version of an object."""
        return self.inner.read(entry, offset, length)

    def create(self, key: str, size: int, replace: str | None, attempt: Attempt, threads: Executor) -> Upload:
        """Begin to write an object."""
        return self.inner.create(key, size, replace, attempt, threads)

    def put(self, key: str, data: bytes, replace: str | None = None) -> str:
        """Write a small object in one call."""
        return self.inner.put(key, data, replace)

    def remove(self, entry: Entry) -> None:
        """Remove this version of an object."""
        self.inner.remove(entry)

    def sweep(self, keys: Names) -> int:
        """Remove temporary files or unfinished uploads of these objects."""
        return self.inner.sweep(keys)

    def mode_of(self, entry: Entry) -> int | None:
        """Return the permissions that a copy of an object should have."""
        return self.inner.mode_of(entry)

    def attributes(self, entry: Entry) -> Attributes:
        """Return an object's attributes."""
        return self.inner.attributes(entry)

    def not_kept(self, replaced: Container[str]) -> Sequence[str]:
        """Return the attributes that copies of objects lose."""
        return self.inner.not_kept(replaced)

    def check_key(self, key: str) -> None:
        """Raise PermanentError if no object can have this name."""
        self.inner.check_key(key)

    def place(self) -> tuple[str, str]:
        """Return the store and the location in it."""
        return self.inner.place()

    def keeps_versions(self) -> bool:
        """Return whether the store keeps replaced and removed versions."""
        return self.inner.keeps_versions()


class Pace:
    """A limit in bytes per second for the total of all reads in a process."""

    def __init__(self, rate: float) -> None:
        """Set the limit in bytes per second."""
        self.rate = rate
        self._lock = threading.Lock()
        self._until = 0.0  #: the time at which the last reserved byte may be read
        self._ended = threading.Event()

    def take(self, count: int) -> None:
        """Reserve this many bytes after the bytes reserved earlier, and wait until they may be read."""
        with self._lock:
            now = time.monotonic()
            self._until = max(self._until, now) + count / self.rate
            wait = self._until - now
        self._ended.wait(wait)

    def end(self) -> None:
        """Wake all waiting threads."""
        self._ended.set()


class PacedStorage(Around):
    """Reads no faster than a limit permits."""

    def __init__(self, inner: Storage, pace: Pace) -> None:
        """Limit the reads from a storage. Several storages may share a limit."""
        super().__init__(inner)
        self._pace = pace

    @property
    def files(self) -> None:
        """Return None, because the library's file jobs do not support the limit."""
        return

    def read(self, entry: Entry, offset: int, length: int) -> bytes:
        """Return a byte range of this version of an object, once the limit permits the read."""
        data = self.inner.read(entry, offset, length)
        self._pace.take(len(data))
        return data
