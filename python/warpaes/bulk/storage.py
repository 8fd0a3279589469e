"""Where objects lie: the little that bulk needs of a file system or an object store, and its guarantees.

Nothing appears under its name before it is complete, and nothing is replaced but the version that the caller names.
"""

from __future__ import annotations

import abc
import contextlib
import fcntl
import os
import stat
import uuid
from collections.abc import Callable, Container, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: Bulk's own folder within a target: manifest, lock and key records.
FOLDER = ".warpaes-bulk/"
LOCK = "lock"
#: What a wrapped key of one object is called, after the object's name.
KEY_SUFFIX = ".warpaes-key"
#: Part of the names of files that are not complete.
PART = ".warpaes-part-"

#: What large objects are read in.
WINDOW = 8 << 20
PARTS_IN_FLIGHT = 3
#: Of a multipart upload to S3.
MAX_PARTS = 10_000
#: How often a small object is read that is replaced all the time, as a manifest by its job.
GETS = 10


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
    """Trying again would not help."""


class CredentialsError(PermanentError):
    """Who asks is not known, or no longer: no object would fare better."""


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


class Upload(abc.ABC):
    """An object that is being written, front to back."""

    @abc.abstractmethod
    def write(self, data: memoryview) -> None:
        """Take the next bytes."""

    @abc.abstractmethod
    def commit(self) -> str:
        """Make the object appear, and return its version."""

    @abc.abstractmethod
    def abort(self) -> None:
        """Leave nothing behind."""


class Storage(abc.ABC):
    """Objects below a root, which may also be one object alone."""

    url: str
    #: Whether objects can be written so that nothing is lost or half there.
    can_write = True
    #: Whether what is there is replaced only while it is the version that was read, whoever else writes.
    can_replace = True
    #: Whether several processes see the same objects.
    is_shared = True

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

    def get(self, key: str) -> tuple[bytes, str]:
        """Return a small object with its version, also if it is replaced meanwhile."""
        for again in range(GETS):
            entry = self.stat(key)
            try:
                return self.read(entry, 0, entry.size), entry.version
            except ChangedError:
                if again + 1 == GETS:
                    raise
        raise AssertionError

    def remove(self, entry: Entry) -> None:
        """Remove this version; what is gone already is no error."""
        raise PermanentError(f"{self.url}: is only read here")

    def sweep(self, keys: Container[str]) -> int:
        """Remove what attempts at these objects have left behind; return how many."""
        raise PermanentError(f"{self.url}: is only read here")

    def check_key(self, key: str) -> None:  # noqa: B027 - most take any name
        """Raise PermanentError if no object can have this name here."""

    def place(self) -> tuple[str, str]:
        """Return which store this is, and where in it, so that two ways of saying it are equal."""
        return "", self.url

    def keeps_versions(self) -> bool:
        """Say whether what is replaced or removed is kept."""
        return False


def is_within(inner: Storage, outer: Storage) -> bool:
    """Say whether a storage lies within another, or is the same."""
    store, place = inner.place()
    other_store, other_place = outer.place()
    return store == other_store and (place.rstrip("/") + "/").startswith(other_place.rstrip("/") + "/")


def is_local(url: str) -> bool:
    """Say whether a URL, or a path, names files."""
    protocol, separator, _ = url.partition("://")
    return not separator or protocol == "file"


def open_storage(url: str, options: dict[str, Any] | None = None) -> Storage:
    """Return the storage that a URL names; a path is local."""
    protocol, separator, rest = url.partition("://")
    if is_local(url):
        return LocalStorage(rest if separator else url)
    if protocol in ("s3", "s3a"):
        from .s3 import S3Storage

        return S3Storage(rest, options or {})
    from .remote import RemoteStorage

    return RemoteStorage(url)


def _version(info: os.stat_result) -> str:
    return f"{info.st_ino}-{info.st_size}-{info.st_mtime_ns}"


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Nobody else of warpaes replaces files in this folder meanwhile."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _make_folder(path: Path) -> None:
    """Make a folder and those above it, so that they are still there after a loss of power."""
    if path.is_dir():
        return
    _make_folder(path.parent)
    try:
        path.mkdir(exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise PermanentError(f"{path} is a file, and would have to be a folder: rename one of the two") from None
    _sync_folder(path.parent)


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class LocalStorage(Storage):
    """Files of a local or mounted file system."""

    def __init__(self, path: str) -> None:
        """Take a folder or a file, which need not exist."""
        self.root = Path(path).absolute()
        self.url = str(self.root)

    def place(self) -> tuple[str, str]:
        """Return the path without links."""
        return "", os.path.realpath(self.root)

    def _path(self, key: str) -> Path:
        """Return where an object lies; lists and manifests of others may name what lies elsewhere."""
        if not key:
            return self.root
        if "\0" in key or any(part in ("", ".", "..") for part in key.split("/")):
            raise PermanentError(f"{key!r} cannot be the name of a file: rename the object, or leave it out")
        return self.root / key

    def check_key(self, key: str) -> None:
        """Refuse names that would lie elsewhere or that no file can have."""
        if not key:
            raise PermanentError("an empty name cannot be the name of a file: rename the object, or leave it out")
        self._path(key)
        if any(len(os.fsencode(part)) > 255 - len(PART) - 33 for part in key.split("/")):
            raise PermanentError(f"{key!r} has a part that is too long for the name of a file")

    def list(self, key: str = "") -> Iterator[Entry]:
        """Walk the folder; links to files are followed, links to folders are not."""
        if self.root.is_file():
            yield self.stat("")
            return
        if not self.root.exists():
            raise MissingError(f"{self.url}: no such file or folder")
        for folder, folders, names in os.walk(self.root, onerror=_raise):
            folders.sort()
            for name in sorted(names):
                path = Path(folder) / name
                found = path.relative_to(self.root).as_posix()
                if found.startswith(key) and not _is_part(name) and path.is_file():
                    info = path.stat()
                    yield Entry(found, info.st_size, _version(info))

    def stat(self, key: str) -> Entry:
        """Look at a file."""
        try:
            info = self._path(key).stat()
        except (FileNotFoundError, NotADirectoryError):
            raise MissingError(f"{self._path(key)}: no such file") from None
        if not stat.S_ISREG(info.st_mode):
            raise MissingError(f"{self._path(key)} is not a regular file")
        return Entry(key, info.st_size, _version(info))

    def read(self, entry: Entry, offset: int, length: int) -> bytes:
        """Read from a file that is the same before and after."""
        with self.opened(entry) as descriptor:
            data = os.pread(descriptor, length, offset)
            while len(data) < length and (more := os.pread(descriptor, length - len(data), offset + len(data))):
                data += more
            if len(data) < length:
                raise ChangedError(f"{self._path(entry.key)} has changed since it was listed")
            return data

    @contextlib.contextmanager
    def opened(self, entry: Entry) -> Iterator[int]:
        """Open a file, which must be this version at the beginning, and its name's in the end."""
        path = self._path(entry.key)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise MissingError(f"{path}: no such file") from None

        def check(info: os.stat_result) -> None:
            if _version(info) != entry.version:
                raise ChangedError(f"{path} has changed since it was listed")
            if info.st_size != entry.size:
                raise ChangedError(f"{path} has {info.st_size} bytes, and {entry.size} by the list")

        try:
            check(os.fstat(descriptor))
            try:
                yield descriptor
            finally:  # what has failed meanwhile may have failed for that
                try:
                    check(path.stat())
                except FileNotFoundError:
                    raise ChangedError(f"{path} is gone since it was opened") from None
        finally:
            os.close(descriptor)

    def create(self, key: str, size: int, replace: str | None, attempt: Attempt, threads: Executor) -> Upload:
        """Begin a file under a temporary name."""
        return LocalUpload(self, key, replace, attempt)

    def put(self, key: str, data: bytes, replace: str | None = None) -> str:
        """Write a file."""
        upload = LocalUpload(self, key, replace, Attempt())
        try:
            upload.write(memoryview(data))
            return upload.commit()
        except BaseException:
            upload.abort()
            raise

    def remove(self, entry: Entry) -> None:
        """Remove a file if it is this version."""
        try:
            now = self.stat(entry.key)
        except MissingError:
            return
        if now.version != entry.version:
            raise ChangedError(f"{self._path(entry.key)} has changed, and is not removed")
        self._path(entry.key).unlink()

    def sweep(self, keys: Container[str]) -> int:
        """Remove temporary files, of objects and of what lies beside them."""
        count = 0
        for folder, _, names in os.walk(self.root):
            for name in names:
                if _is_part(name):
                    path = Path(folder) / name
                    key = path.with_name(name.rpartition(PART)[0][1:]).relative_to(self.root).as_posix()
                    own = key.startswith(FOLDER) and key != FOLDER + LOCK  # of the lock one may be in use
                    if key in keys or key.removesuffix(KEY_SUFFIX) in keys or own:
                        path.unlink(missing_ok=True)
                        count += 1
        return count


def _is_part(name: str) -> bool:
    begin, mark, attempt = name.rpartition(PART)
    return bool(mark) and begin.startswith(".") and len(attempt) == 32


def _raise(error: OSError) -> None:
    raise error


class LocalUpload(Upload):
    """A file under a temporary name."""

    def __init__(self, storage: LocalStorage, key: str, replace: str | None, attempt: Attempt) -> None:
        """Create it, empty: what goes into it is written here or to its descriptor."""
        storage.check_key(key)
        self._storage, self._key, self._replace = storage, key, replace
        self._path = storage._path(key)
        _make_folder(self._path.parent)
        self._temporary = self._path.with_name(f".{self._path.name}{PART}{attempt.id}")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self.descriptor = os.open(self._temporary, flags, 0o666)

    def write(self, data: memoryview) -> None:
        """Take the next bytes."""
        while len(data) > 0:
            data = data[os.write(self.descriptor, data) :]

    def commit(self) -> str:
        """Make it durable, and give it its name."""
        os.fsync(self.descriptor)
        os.close(self.descriptor)
        self.descriptor = -1
        version = _version(self._temporary.stat())
        if self._replace is None:
            try:
                os.link(self._temporary, self._path)
            except FileExistsError:
                raise ExistsError(f"{self._path} exists") from None
            self._temporary.unlink()
        else:
            with _locked(self._path.parent):
                try:
                    now = self._storage.stat(self._key).version
                except MissingError:
                    now = ""
                if now != self._replace:
                    raise ExistsError(f"{self._path} has changed, and is not replaced")
                os.replace(self._temporary, self._path)
        _sync_folder(self._path.parent)
        return version

    def abort(self) -> None:
        """Remove it."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
        with contextlib.suppress(FileNotFoundError):
            self._temporary.unlink()
