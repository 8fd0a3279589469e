"""Where objects lie: the little that bulk needs of a file system or an object store, and its guarantees.

Nothing appears under its name before it is complete, and nothing is replaced but the version that the caller names.
"""

from __future__ import annotations

import abc
import uuid
from collections.abc import Callable, Container, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Protocol

from .attributes import Attributes

#: Bulk's own folder within a target: manifest, lock and key records.
FOLDER = ".warpaes-bulk/"
LOCK = "lock"
#: What a wrapped key of one object is called, after the object's name.
KEY_SUFFIX = ".warpaes-key"

#: What large objects are read in.
WINDOW = 8 << 20
PARTS_IN_FLIGHT = 3
#: The size of a part of a multipart upload to S3.
MAX_PARTS = 10_000
#: How often a small object is read that is replaced all the time, as a manifest by its job.
GETS = 10
#: The largest object that is read at once. Shards of the longest names are smaller.
MAX_SMALL = 256 << 20


def part_bytes(size: int) -> int:
    """Return the size of parts for an object of this size: 8 MiB, or what 10,000 parts leave room for."""
    sealed = size + size // 100  # no format adds more
    return max(WINDOW, ((sealed // MAX_PARTS >> 20) + 1) << 20)


class MissingError(Exception):
    """There is no such object."""


class ChangedError(Exception):
    """The object is not the version that was expected."""


class ExistsError(Exception):
    """There is an object already, or another version than the one to be replaced."""


class PermanentError(Exception):
    """An error that another try would not change."""


class CredentialsError(PermanentError):
    """The credentials are not valid, or no longer: every other object would fail too."""


@dataclass(frozen=True)
class Entry:
    """An object: its name below the root, its size, and what changes when its content does."""

    key: str
    size: int
    version: str


@dataclass
class Attempt:
    """One try at writing an object; `uploading` is told the id of a multipart upload before its first part."""

    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    key_id: str = ""
    uploading: Callable[[str], None] = lambda upload_id: None
    #: Permissions of a file that replaces none; None: its owner's only. One that is replaced gives its own.
    mode: int | None = None
    #: Returns the attributes of an object in an object store, once its source was begun to be read.
    attributes: Callable[[], Attributes] = dict


class Names(Container[str], Protocol):
    """The names of a job's objects in the target."""

    def has_beginning(self, beginning: str) -> bool:
        """Return whether one of them begins so."""


class Upload(abc.ABC):
    """An object that is being written, front to back."""

    @abc.abstractmethod
    def write(self, data: memoryview) -> None:
        """Write the next bytes."""

    @abc.abstractmethod
    def commit(self) -> str:
        """Make the object appear, and return its version."""

    @abc.abstractmethod
    def abort(self) -> None:
        """Remove everything that was written."""


class Storage(abc.ABC):
    """Objects below a root, which may also be a single object."""

    url: str
    #: Whether objects can be written so that nothing is lost or half there.
    can_write = True
    #: Whether a replacement fails if another writer has changed the object since it was read.
    can_replace = True
    #: Whether several processes see the same objects.
    is_shared = True
    #: Whether objects have attributes here, and whether `read` keeps them until `attributes` is asked for them.
    has_attributes = collects = False

    def __init__(self) -> None:
        """Start with no names left out."""
        #: Names that `list` has left out, and why: "a symbolic link".
        self.left_out: dict[str, str] = {}

    @abc.abstractmethod
    def list(self, key: str = "") -> Iterator[Entry]:
        """Return all objects below the root whose names begin with `key`."""

    @abc.abstractmethod
    def stat(self, key: str) -> Entry:
        """Return an object's entry; MissingError if there is none."""

    @abc.abstractmethod
    def read(self, entry: Entry, offset: int, length: int) -> bytes:
        """Return exactly these bytes of this version."""

    def create(self, key: str, size: int, replace: str | None, attempt: Attempt, threads: Executor) -> Upload:
        """Begin an object of about `size` bytes, which must not exist, or be of the version `replace`."""
        raise PermanentError(f"{self.url}: is only read here")

    def put(self, key: str, data: bytes, replace: str | None = None) -> str:
        """Write a small object as a whole under the same conditions; return its version."""
        raise PermanentError(f"{self.url}: is only read here")

    def get(self, key: str, most: int = MAX_SMALL) -> tuple[bytes, str]:
        """Return a small object, of up to `most` bytes, with its version, even if it is replaced during the call."""
        for again in range(GETS):
            entry = self.stat(key)
            if entry.size > most:
                raise PermanentError(
                    f"{self.url}/{key} has {entry.size} bytes, more than bulk writes there: remove it, or restore it"
                )
            try:
                return self.read(entry, 0, entry.size), entry.version
            except ChangedError:
                if again + 1 == GETS:
                    raise
        raise AssertionError

    def remove(self, entry: Entry) -> None:
        """Remove this version; a missing object is not an error."""
        raise PermanentError(f"{self.url}: is only read here")

    def sweep(self, keys: Names) -> int:
        """Remove temporary files or unfinished uploads of these objects; return how many."""
        raise PermanentError(f"{self.url}: is only read here")

    def mode_of(self, entry: Entry) -> int | None:
        """Return the permissions that a copy of an object should have; None where objects have none."""
        return None

    def attributes(self, entry: Entry) -> Attributes:
        """Return the attributes of an object; nothing where objects have none."""
        return {}

    def not_kept(self, replaced: Container[str]) -> Sequence[str]:
        """Return what a copy of the objects here does not keep, as far as it is known before they are read.

        `replaced`: names of arguments that the command line gives for every copy.
        """
        return []

    def check_key(self, key: str) -> None:  # noqa: B027 - most take any name
        """Raise PermanentError if no object can have this name here."""

    @property
    def name(self) -> str:
        """Return the object's name, if the root is one object."""
        return self.url.rpartition("/")[2]

    def place(self) -> tuple[str, str]:
        """Return which store this is, and where in it, so that two ways of saying it are equal."""
        return "", self.url

    def keeps_versions(self) -> bool:
        """Return whether the store keeps replaced and removed versions."""
        return False


def is_within(inner: Storage, outer: Storage) -> bool:
    """Say whether a storage lies within another, or is the same."""
    store, place = inner.place()
    other_store, other_place = outer.place()
    return store == other_store and _with_slash(place).startswith(_with_slash(other_place))


def _with_slash(place: str) -> str:
    return place if place.endswith("/") else place + "/"


def is_local(url: str) -> bool:
    """Say whether a URL, or a path, names files."""
    protocol, separator, _ = url.partition("://")
    return not separator or protocol == "file"
