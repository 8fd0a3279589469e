"""The storage interface: the operations that bulk requires of a file system or object store, and their guarantees.

An object appears under its name only when it is complete. Only the version that the caller specifies is replaced.
"""

from __future__ import annotations

import abc
import uuid
from collections.abc import Callable, Container, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Protocol

from .attributes import Attributes

#: Bulk's own folder in a target, which contains the manifest, the lock and key records.
FOLDER = ".warpaes-bulk/"
LOCK = "lock"
#: The suffix of the name of an object's side file, which contains its wrapped keys.
KEY_SUFFIX = ".warpaes-key"

#: The size in bytes of reads from large objects.
WINDOW = 8 << 20
PARTS_IN_FLIGHT = 3
#: The maximum number of parts in a multipart upload to S3.
MAX_PARTS = 10_000
#: Maximum number of attempts to read a small object that is often replaced, such as a running job's manifest.
GETS = 10
#: Maximum size of an object that is read in one call. Even shards with the longest names are smaller than this.
MAX_SMALL = 256 << 20


def part_bytes(size: int) -> int:
    """Return the part size for an object of this size: 8 MiB, or more if 10,000 parts are not enough."""
    sealed = size + size // 100  # no format adds more bytes than this
    return max(WINDOW, ((sealed // MAX_PARTS >> 20) + 1) << 20)


class MissingError(Exception):
    """The object does not exist."""


class ChangedError(Exception):
    """The object has changed: it is not the expected version."""


class ExistsError(Exception):
    """The object already exists, or is not the version to replace."""


class PermanentError(Exception):
    """An error that a retry would not change."""


class CredentialsError(PermanentError):
    """The credentials are invalid or expired, so every other object would also fail."""


@dataclass(frozen=True)
class Entry:
    """An object: its name below the root, its size, and a version that changes when the content changes."""

    key: str
    size: int
    version: str


@dataclass
class Attempt:
    """An attempt to write an object. `uploading` is called with the ID of a multipart upload before the first part is
    sent."""

    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    key_id: str = ""
    uploading: Callable[[str], None] = lambda upload_id: None
    #: The permissions of a new file; with None, only its owner can open it. The permissions of a replaced file are
    #: kept.
    mode: int | None = None
    #: Returns the attributes of a new object in an object store. It is called after the first read of the source.
    attributes: Callable[[], Attributes] = dict


class Names(Container[str], Protocol):
    """The names of a job's objects in the target."""

    def has_beginning(self, beginning: str) -> bool:
        """Return whether one of the names has this prefix."""


class Upload(abc.ABC):
    """An object that is being written from front to back."""

    @abc.abstractmethod
    def write(self, data: memoryview) -> None:
        """Write the next bytes."""

    @abc.abstractmethod
    def commit(self) -> str:
        """Make the object appear, and return its version."""

    @abc.abstractmethod
    def abort(self) -> None:
        """Remove all data that was written."""


class Storage(abc.ABC):
    """Objects below a root. The root may also be a single object."""

    url: str
    #: Whether the storage can write objects atomically.
    can_write = True
    #: Whether replacing an object fails if another writer has changed it since it was read.
    can_replace = True
    #: Whether several processes see the same objects.
    is_shared = True
    #: Whether objects have attributes, and whether `read` keeps them for `attributes`.
    has_attributes = collects = False
    #: Whether the names of objects are encrypted in the store.
    hides_names = False

    def __init__(self) -> None:
        """Start with no skipped names."""
        #: The names that `list` skipped, with the reasons, such as "a symbolic link".
        self.left_out: dict[str, str] = {}
        #: The names that `list` skipped because they are not encrypted names of this dataset, with the reasons.
        self.strangers: dict[str, str] = {}

    @abc.abstractmethod
    def list(self, key: str = "") -> Iterator[Entry]:
        """Return all objects below the root whose names begin with `key`."""

    @abc.abstractmethod
    def stat(self, key: str) -> Entry:
        """Return an object's entry. Raise MissingError if the object does not exist."""

    @abc.abstractmethod
    def read(self, entry: Entry, offset: int, length: int) -> bytes:
        """Return exactly this byte range of this version of an object."""

    def create(self, key: str, size: int, replace: str | None, attempt: Attempt, threads: Executor) -> Upload:
        """Begin to write an object of about `size` bytes. The object must not exist, or must be the version
        `replace`."""
        raise PermanentError(f"{self.url}: is read-only here")

    def put(self, key: str, data: bytes, replace: str | None = None) -> str:
        """Write a small object in one call, under the same conditions as `create`, and return its version."""
        raise PermanentError(f"{self.url}: is read-only here")

    def get(self, key: str, most: int = MAX_SMALL) -> tuple[bytes, str]:
        """Return a small object of up to `most` bytes and its version, even if it is replaced during the call."""
        for again in range(GETS):
            entry = self.stat(key)
            if entry.size > most:
                raise PermanentError(
                    f"{self.url}/{key} has {entry.size} bytes, which is more than bulk writes; remove or restore it"
                )
            try:
                return self.read(entry, 0, entry.size), entry.version
            except ChangedError:
                if again + 1 == GETS:
                    raise
        raise AssertionError

    def remove(self, entry: Entry) -> None:
        """Remove this version of an object. A missing object is not an error."""
        raise PermanentError(f"{self.url}: is read-only here")

    def sweep(self, keys: Names) -> int:
        """Remove temporary files or unfinished uploads of these objects, and return the number removed."""
        raise PermanentError(f"{self.url}: is read-only here")

    def mode_of(self, entry: Entry) -> int | None:
        """Return the permissions that a copy of an object should have, or None if objects have no permissions."""
        return None

    def attributes(self, entry: Entry) -> Attributes:
        """Return an object's attributes. They are empty if objects in this storage have no attributes."""
        return {}

    def not_kept(self, replaced: Container[str]) -> Sequence[str]:
        """Return the attributes that copies of objects lose, if this is known before the objects are read.

        `replaced` contains the names of attributes that the command line sets for every copy.
        """
        return []

    def check_key(self, key: str) -> None:  # noqa: B027 - most storages accept any name
        """Raise PermanentError if no object in this storage can have this name."""

    def stored(self, key: str) -> str:
        """Return the name of an object in the store, which differs only if names are encrypted."""
        return key

    @property
    def files(self) -> Storage | None:
        """Return the storage of files that the library's file jobs may read and write directly, or None."""
        return None

    @property
    def name(self) -> str:
        """Return the object's name if the root is a single object."""
        return self.url.rpartition("/")[2]

    def place(self) -> tuple[str, str]:
        """Return the store and the location in the store. The result is equal for equivalent URLs."""
        return "", self.url

    def keeps_versions(self) -> bool:
        """Return whether the store keeps replaced and removed versions."""
        return False


def is_within(inner: Storage, outer: Storage) -> bool:
    """Return whether a storage is inside another storage or equal to it."""
    store, place = inner.place()
    other_store, other_place = outer.place()
    return store == other_store and _with_slash(place).startswith(_with_slash(other_place))


def _with_slash(place: str) -> str:
    return place if place.endswith("/") else place + "/"


def is_local(url: str) -> bool:
    """Return whether a URL or a path names local files."""
    protocol, separator, _ = url.partition("://")
    return not separator or protocol == "file"
