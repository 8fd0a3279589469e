"""Storage in a local or mounted file system."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import os
import stat
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path

from .._output import Output
from .beneath import open_beneath
from .storage import (
    FOLDER,
    KEY_SUFFIX,
    LOCK,
    Attempt,
    ChangedError,
    Entry,
    ExistsError,
    MissingError,
    Names,
    PermanentError,
    Storage,
    Upload,
)

#: The part that all names of temporary files contain.
PART = ".warpaes-part-"
#: Maximum length in bytes of a file name and of a path below a root.
MAX_NAME, MAX_PATH = 255, 4095
#: Maximum number of bytes of a file's name that are included in its temporary file's name. eCryptfs accepts names of up
#: to 143 bytes.
KEPT = 143 - len(f".{PART}") - 32
#: Whether the file system's encoding in Python is UTF-8, as in manifests and object stores.
IS_UTF8 = sys.getfilesystemencoding().lower() == "utf-8"

_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_READ_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def _bytes_of(name: str) -> bytes:
    """Return the bytes of a name on disk. Surrogates represent bytes that are not UTF-8."""
    return name.encode(errors="surrogateescape")


def _for_system(name: str) -> str:
    """Return a name in the form that Python's functions accept."""
    return name if IS_UTF8 else os.fsdecode(_bytes_of(name))


def _from_system(name: str) -> str:
    """Return the UTF-8 form of a name that one of Python's functions returned."""
    return name if IS_UTF8 else os.fsencode(name).decode(errors="surrogateescape")


def _temporary(name: str, attempt: str) -> str:
    """Return the name of a file's temporary file, which contains at most the beginning of the file's name."""
    kept = _bytes_of(name)[:KEPT].decode(errors="surrogateescape")
    return f".{kept}{PART}{attempt}"


def _version(info: os.stat_result) -> str:
    return f"{info.st_ino}-{info.st_size}-{info.st_mtime_ns}"


@contextlib.contextmanager
def _locked(folder: int) -> Iterator[None]:
    """Prevent other warpaes processes and threads from replacing files in this folder."""
    descriptor = os.open(".", _READ_FOLDER, dir_fd=folder)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _sync(folder: int) -> None:
    descriptor = os.open(".", _READ_FOLDER, dir_fd=folder)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _make_root(path: Path) -> None:
    """Create a storage's root and the folders above it durably, so that they survive a power failure."""
    if path.is_dir():
        return
    _make_root(path.parent)
    try:
        path.mkdir(exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise _in_the_way(path) from None
    parent = os.open(path.parent, _FOLDER)
    try:
        _sync(parent)
    finally:
        os.close(parent)


def _in_the_way(path: Path | str) -> PermanentError:
    return PermanentError(f"{path} is a file, but the target needs a folder with this name; rename one of them")


def _kind(mode: int) -> str:
    """Return a description of a file that is not regular."""
    return "a symbolic link" if stat.S_ISLNK(mode) else "a folder" if stat.S_ISDIR(mode) else "not a regular file"


class LocalStorage(Storage):
    """Storage in a local or mounted file system.

    Links in the root's path are followed, because the caller chose the path. Other users may be able to write below the
    root, so every file is opened folder by folder, starting at the root's descriptor. A link that replaces a folder is
    not followed.
    """

    def __init__(self, path: str, follow: bool = False) -> None:
        """Store the path of a folder or a file, which need not exist. If `follow` is true, symbolic links to files are
        followed."""
        super().__init__()
        self.root = Path(path).absolute()
        self.url = str(self.root)
        self.follow = follow
        self._turn = threading.Lock()
        self._root = -1

    def __del__(self) -> None:
        """Close the root's descriptor."""
        if getattr(self, "_root", -1) >= 0:
            os.close(self._root)

    @property
    def files(self) -> LocalStorage:
        """Return this storage."""
        return self

    @property
    def name(self) -> str:
        """Return the last part of the path."""
        return _from_system(self.root.name)

    def place(self) -> tuple[str, str]:
        """Return the path with links resolved."""
        return "", os.path.realpath(self.root)

    def _say(self, key: str) -> str:
        return f"{self.url}/{key}" if key else self.url

    def check_key(self, key: str) -> None:
        """Refuse a name that leads outside the root or that no file can have."""
        if not key:
            raise PermanentError("a file cannot have an empty name; rename the object, or exclude it")
        self._check(key)
        if _is_part(key.rpartition("/")[2]):
            raise PermanentError(f"{key!r} is reserved for bulk's temporary files; rename the object, or exclude it")

    @staticmethod
    @functools.lru_cache(1 << 12)
    def _check(key: str) -> None:
        """Refuse a name that leads outside the root, because lists and foreign manifests may contain any name."""
        try:
            encoded = _bytes_of(key)
        except UnicodeEncodeError:
            encoded = b"\0"
        if b"\0" in encoded or any(part in ("", ".", "..") for part in key.split("/")):
            raise PermanentError(f"{key!r} cannot be the name of a file; rename the object, or exclude it")
        if len(encoded) > MAX_PATH or any(len(part) > MAX_NAME for part in encoded.split(b"/")):
            raise PermanentError(
                f"{key[:40]!r}… ({len(encoded)} bytes) is too long for a file name; rename the object, or exclude it"
            )

    # -------------------------------------------------------------------------------------- the path from the root

    def _top(self, make: bool) -> int:
        """Return the root's descriptor. The root is opened only once, so a folder that later replaces it is not
        used."""
        if self._root < 0:
            with self._turn:
                if self._root < 0:
                    if make:
                        _make_root(self.root)
                    self._root = os.open(self.root, _FOLDER)
        return self._root

    def _folder(self, parts: list[str], make: bool = False) -> int:
        """Open a folder below the root. The caller closes it."""
        top = self._top(make)
        if parts and (descriptor := open_beneath(top, _bytes_of("/".join(parts)), _FOLDER)) >= 0:
            return descriptor
        # Opens folder by folder, to create missing folders or to find the reason for a failure.
        descriptor = os.dup(top)
        path = self.url
        try:
            for part in parts:
                path = f"{path}/{part}"
                inner = self._step(descriptor, part, path, make)
                os.close(descriptor)
                descriptor = inner
        except OSError as error:  # the original error contains only a part of the path
            os.close(descriptor)
            raise OSError(error.errno, error.strerror, path) from None
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _step(self, outer: int, name: str, path: str, make: bool) -> int:
        """Open a folder within another folder."""
        name = _for_system(name)
        try:
            return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=outer)
        except FileNotFoundError:
            if not make:
                raise
        except NotADirectoryError:
            if stat.S_ISLNK(os.stat(name, dir_fd=outer, follow_symlinks=False).st_mode):
                raise self._refused(path, stat.S_IFLNK) from None
            if make:
                raise _in_the_way(path) from None
            raise
        with contextlib.suppress(FileExistsError):  # another thread created it first
            os.mkdir(name, dir_fd=outer)
            _sync(outer)
        return self._step(outer, _from_system(name), path, False)

    @staticmethod
    def _refused(path: str, mode: int) -> PermanentError:
        if stat.S_ISLNK(mode):
            return PermanentError(f"{path} is a symbolic link, which is not followed; replace it by a file or folder")
        return PermanentError(f"{path} is {_kind(mode)}; rename it")

    @contextlib.contextmanager
    def _at(self, key: str) -> Iterator[tuple[int | None, str, bool]]:
        """Yield a file's folder, its name in the folder, and whether a link with this name is followed. The root may be
        a file."""
        try:
            if not key:
                yield None, self.url, True
                return
            self._check(key)
            *folders, name = key.split("/")
            descriptor = self._folder(folders)
            try:
                yield descriptor, _for_system(name), self.follow
            finally:
                os.close(descriptor)
        except (FileNotFoundError, NotADirectoryError):
            raise MissingError(f"{self._say(key)}: no such file") from None

    def _fast(self, key: str, flags: int) -> int:
        """Open a file with one system call, or return -1."""
        if not key or self.follow or self._root < 0:
            return -1
        self._check(key)
        return open_beneath(self._root, _bytes_of(key), flags)

    def _look(self, key: str) -> os.stat_result:
        """Return a regular file's attributes."""
        descriptor = self._fast(key, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        if descriptor >= 0:
            try:
                info = os.fstat(descriptor)
            finally:
                os.close(descriptor)
        else:
            with self._at(key) as (folder, name, follow):
                info = os.stat(name, dir_fd=folder, follow_symlinks=follow)
        if stat.S_ISREG(info.st_mode):
            return info
        if not key:
            raise MissingError(f"{self.url} is not a regular file")
        raise self._refused(self._say(key), info.st_mode)

    # -------------------------------------------------------------------------------------------------- reading

    def list(self, key: str = "") -> Iterator[Entry]:
        """Yield the files below the root. Links to folders are skipped, and so are links to files unless they are
        followed."""
        try:
            is_folder = stat.S_ISDIR(os.stat(self.root).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            raise MissingError(f"{self.url}: no such file or folder") from None
        if not is_folder:
            yield self.stat("")
            return
        for folder, descriptor, names in self._walk(key):
            for name in names:
                found = folder + name
                if not found.startswith(key):
                    continue
                if _is_part(name):
                    self.left_out[found] = "a temporary file of bulk"
                    continue
                name = _for_system(name)
                try:
                    info = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                except FileNotFoundError:  # removed after the folder was read
                    continue
                if self.follow and stat.S_ISLNK(info.st_mode):
                    with contextlib.suppress(OSError):  # a dangling link is skipped
                        info = os.stat(name, dir_fd=descriptor)
                if stat.S_ISREG(info.st_mode):
                    yield Entry(found, info.st_size, _version(info))
                else:
                    self.left_out[found] = "a link to a folder" if stat.S_ISDIR(info.st_mode) else _kind(info.st_mode)

    def _walk(self, key: str = "") -> Iterator[tuple[str, int, Sequence[str]]]:
        """Yield each folder that may contain names that begin with `key`, with its descriptor and its entries except
        folders."""
        folders = [""]
        while folders:
            folder = folders.pop()
            inside = self._folder(folder.split("/")[:-1])
            try:
                descriptor = os.open(".", _READ_FOLDER, dir_fd=inside)
            finally:
                os.close(inside)
            try:
                with os.scandir(descriptor) as found:
                    kinds = sorted((_from_system(each.name), each.is_dir(follow_symlinks=False)) for each in found)
                yield folder, descriptor, [name for name, is_folder in kinds if not is_folder]
            finally:
                os.close(descriptor)
            for name in [name for name, is_folder in reversed(kinds) if is_folder]:
                below = f"{folder}{name}/"
                if len(_bytes_of(below)) > MAX_PATH:
                    self.left_out[below] = "a folder whose path is too long"
                elif below.startswith(key) or key.startswith(below):
                    folders.append(below)

    def stat(self, key: str) -> Entry:
        """Return the entry of a file."""
        info = self._look(key)
        return Entry(key, info.st_size, _version(info))

    def mode_of(self, entry: Entry) -> int | None:
        """Return a file's permissions without the set-user-ID and set-group-ID bits."""
        return self._look(entry.key).st_mode & 0o777

    def read(self, entry: Entry, offset: int, length: int) -> bytes:
        """Read a byte range from a file. Raise ChangedError if the file changes during the read."""
        with self.opened(entry) as descriptor:
            data = os.pread(descriptor, length, offset)
            while len(data) < length and (more := os.pread(descriptor, length - len(data), offset + len(data))):
                data += more
            if len(data) < length:
                raise ChangedError(f"{self._say(entry.key)} has changed since it was listed")
            return data

    def _open(self, key: str) -> int:
        """Open a file for reading, without waiting if a pipe has replaced the file."""
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
        descriptor = self._fast(key, flags | os.O_NOFOLLOW)
        if descriptor >= 0:
            return descriptor
        with self._at(key) as (folder, name, follow):
            try:
                return os.open(name, flags if follow else flags | os.O_NOFOLLOW, dir_fd=folder)
            except OSError as error:
                if error.errno == errno.ELOOP:
                    raise self._refused(self._say(key), stat.S_IFLNK) from None
                if error.errno == errno.ENXIO:
                    raise self._refused(self._say(key), stat.S_IFSOCK) from None
                raise

    @contextlib.contextmanager
    def opened(self, entry: Entry) -> Iterator[int]:
        """Open a file. It must be this version at the beginning of the block, and still have its name at the end."""
        path = self._say(entry.key)

        def check(info: os.stat_result) -> None:
            if _version(info) != entry.version:
                raise ChangedError(f"{path} has changed since it was listed")
            if info.st_size != entry.size:
                raise ChangedError(f"{path} has {info.st_size} bytes, but {entry.size} according to the list")

        descriptor = self._open(entry.key)
        try:
            info = os.fstat(descriptor)
            if not stat.S_ISREG(info.st_mode):
                raise self._refused(path, info.st_mode)
            check(info)
            try:
                yield descriptor
            finally:  # also after an exception, which the change may have caused
                try:
                    check(self._look(entry.key))
                except MissingError:
                    raise ChangedError(f"{path} was removed after it was opened") from None
        finally:
            os.close(descriptor)

    # -------------------------------------------------------------------------------------------------- writing

    def create(self, key: str, size: int, replace: str | None, attempt: Attempt, threads: Executor) -> Upload:
        """Create a file with a temporary name."""
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
            if _version(self._look(entry.key)) != entry.version:
                raise ChangedError(f"{self._say(entry.key)} has changed and was not removed")
            with self._at(entry.key) as (folder, name, _):
                os.unlink(name, dir_fd=folder)
        except MissingError:
            return

    def sweep(self, keys: Names) -> int:
        """Remove temporary files of objects and of their side files."""
        count = 0
        if not self.root.is_dir():
            return count
        for folder, descriptor, names in self._walk():
            for name in filter(_is_part, names):
                key = folder + name.rpartition(PART)[0][1:]
                own = key.startswith(FOLDER) and key != FOLDER + LOCK  # a lock's temporary file may be in use
                if key in keys or key.removesuffix(KEY_SUFFIX) in keys or own or self._is_beginning(key, keys):
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(_for_system(name), dir_fd=descriptor)
                    count += 1
        return count

    @staticmethod
    def _is_beginning(key: str, keys: Names) -> bool:
        """Return whether a temporary file, whose name keeps only the beginning of a name, belongs to one of
        ``keys``."""
        if len(_bytes_of(key.rpartition("/")[2])) < KEPT:
            return False
        ends = (KEY_SUFFIX[:n] for n in range(1, len(KEY_SUFFIX)))  # truncated endings of side-file names
        if any(key.endswith(end) and key.removesuffix(end) in keys for end in ends):
            return True
        return keys.has_beginning(_bytes_of(key).decode(errors="ignore"))  # the last character may be incomplete


def _is_part(name: str) -> bool:
    begin, mark, attempt = name.rpartition(PART)
    return bool(mark) and begin.startswith(".") and len(attempt) == 32


class LocalUpload(Upload):
    """A file that is being written under a temporary name."""

    def __init__(self, storage: LocalStorage, key: str, replace: str | None, attempt: Attempt) -> None:
        """Create an empty temporary file. Data is written through this object or to its descriptor."""
        storage.check_key(key)
        self._storage, self._key, self._replace = storage, key, replace
        *self._folders, name = key.split("/")
        folder = storage._folder(self._folders, make=True)
        try:
            self._within = _identity(folder)
            self._output = Output(
                _for_system(name),
                folder=folder,
                replace=replace is not None,
                secret=True,
                mode=attempt.mode,
                temporary=_for_system(_temporary(name, attempt.id)),
            )
        except FileExistsError:
            raise ExistsError(f"{storage._say(key)} exists") from None
        except OSError as error:
            raise self._failed(error) from None
        finally:
            os.close(folder)
        self._output.path = storage._say(key)  # for error messages

    @property
    def descriptor(self) -> int:
        """Return the descriptor of the temporary file, or -1 after commit or abort."""
        return self._output.descriptor

    def set_mode(self, mode: int) -> None:
        """Set the final permissions of a file that does not replace another file."""
        self._output.mode = mode

    def _failed(self, error: OSError) -> Exception:
        """Return PermanentError if something that is not a regular file has the name. Otherwise, return the error with
        the full path."""
        path = self._storage._say(self._key)
        if error.errno == errno.ELOOP:
            return self._storage._refused(path, stat.S_IFLNK)
        if error.errno in (errno.EISDIR, errno.EINVAL):
            return PermanentError(f"{path}: {error.strerror}")
        return OSError(error.errno, error.strerror, path)

    def write(self, data: memoryview) -> None:
        """Write the next bytes."""
        self._output.write(data)

    def commit(self) -> str:
        """Make the file durable and give it its final name."""
        path = self._storage._say(self._key)
        try:
            folder = self._storage._folder(self._folders)
        except (FileNotFoundError, NotADirectoryError):
            raise ChangedError(f"the folder of {path} was removed while the file was written") from None
        try:
            if _identity(folder) != self._within:
                raise ChangedError(f"the folder of {path} was renamed while the file was written")
            if self._replace is None:
                return _version(self._output.commit())
            os.fsync(self.descriptor)  # slow, so it precedes the lock that other processes wait for
            with _locked(folder):
                try:
                    now = self._storage.stat(self._key).version
                except MissingError:
                    now = ""
                if now != self._replace:
                    raise ExistsError(f"{path} has changed and was not replaced")
                return _version(self._output.commit())
        except FileExistsError:
            raise ExistsError(f"{path} exists") from None
        finally:
            os.close(folder)

    def abort(self) -> None:
        """Remove the temporary file."""
        self._output.abort()


def _identity(descriptor: int) -> tuple[int, int]:
    info = os.fstat(descriptor)
    return info.st_dev, info.st_ino
