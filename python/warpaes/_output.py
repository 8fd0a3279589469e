"""Output files that appear under their final names only when they are complete. All Python code in the package writes
files through this module.

Until it is complete, a file has a temporary name in the target's folder, and only its owner can open it. The folder is
opened only once, so a later rename or link cannot redirect the file. A link in the last component of the path is not
followed.

Some file systems do not support links (FAT, object storage, some network mounts). The method for naming a file is
tested on an empty file: ``link`` or, if this fails, ``rename`` over a one-byte file that reserves the name. Without
``rename``, the file has its final name from the beginning, and a warning is logged. A warning is also logged if a file
system refuses or ignores permissions.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import stat
from collections.abc import Callable, Iterator
from types import TracebackType

__all__ = ["Output"]

#: Errors that fchmod returns on a file system without permissions.
_REFUSED = (errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)
#: Errors that fsync returns on a file system that does not support fsync.
_NOT_NEEDED = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EROFS)
#: The functions that name files, by device and by whether the file replaces another file.
_METHODS: dict[tuple[int, bool], Callable[[Output], None]] = {}
_ACCESS_LIST = "system.posix_acl_access"


class Output:
    """A file that is being written.

    A ``with`` block commits the file, or aborts it after an exception. If the object is destroyed without ``commit``,
    no file remains.
    """

    def __init__(
        self,
        target: str | os.PathLike[str],
        *,
        replace: bool = False,
        secret: bool = False,
        mode: int | None = None,
        folder: int | None = None,
        temporary: str | None = None,
    ) -> None:
        """Create an empty temporary file.

        Args:
            target: The path or, if ``folder`` is given, a name within the folder.
            replace: Whether to replace a regular file at the path, whose owner, permissions and access list are kept.
            secret: Whether only the owner can open a new file. Otherwise, the umask determines its permissions.
            mode: The permissions of a new file, in place of ``secret`` and the umask.
            folder: A descriptor of the target's folder, which the caller keeps open until ``commit`` or ``abort``.
            temporary: The temporary name, without a slash. The default is ``.warpaes-`` followed by 16 random digits.

        Raises:
            FileExistsError: A file already exists at the path, and ``replace`` is False.
            OSError: The file cannot be created, or the path is a link, a folder, or a device.
        """
        self.descriptor = -1
        self._process = os.getpid()
        self._folder = -1
        self.path = os.fspath(target)
        parent, self.name = os.path.split(self.path)
        if not self.name or self.name in (".", "..") or (folder is not None and parent):
            raise ValueError(f"{self.path!r} is not a file name")
        self.temporary = temporary or f".warpaes-{os.urandom(8).hex()}"
        self._replace, self._secret = replace, secret
        #: The permissions of a new file, or None if ``secret`` and the umask determine them.
        self.mode = mode
        with self._named():
            flags = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
            self._folder = os.open(parent or ".", flags) if folder is None else os.dup(folder)
            try:
                self._check()
                flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                self.descriptor = os.open(self.temporary, flags, 0o600, dir_fd=self._folder)
                self._publish = self._method(flags)
            except BaseException:
                self.abort() if self.descriptor >= 0 else self._close()
                raise

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Write all of a buffer, and return its length in bytes."""
        left = memoryview(data).cast("B")
        size = len(left)
        with self._named():
            while len(left) > 0:
                left = left[os.write(self.descriptor, left) :]
        return size

    def commit(self) -> os.stat_result:
        """Make the file durable, set its owner and permissions, and give it its final name.

        Return the file's attributes. If this fails, the temporary file is removed and the path is unchanged.

        Raises:
            FileExistsError: A file has appeared at the path, and ``replace`` is False.
            RuntimeError: This process was created by ``fork``, and the file belongs to its parent.
            OSError: The file cannot be completed.
        """
        if self._folder < 0:
            raise ValueError(f"{self.path}: the file was already committed or aborted")
        if self._process != os.getpid():
            raise RuntimeError(f"{self.path}: the file belongs to the process that began it")
        try:
            with self._named():
                self._set_permissions(self._check() if self.temporary != self.name else None)
                _fsync(self.descriptor)
                info = os.fstat(self.descriptor)
                # A mount of object storage stores a file when it is closed, and cannot rename it earlier.
                self._close_file()
                self._publish(self)
        except BaseException:
            self.abort()
            raise
        try:
            with self._named():
                _sync(self._folder)
        finally:
            self._close()
        return info

    def abort(self) -> None:
        """Remove the temporary file. After ``commit``, do nothing."""
        if self._folder < 0:
            return
        try:
            if self._process == os.getpid():
                with contextlib.suppress(OSError):  # the file is gone, or another file has its name
                    os.unlink(self.temporary, dir_fd=self._folder)
        finally:
            self._close()

    def __enter__(self) -> Output:
        """Return this object."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Commit, or abort after an exception."""
        if kind is None:
            self.commit()
        else:
            self.abort()

    def __del__(self) -> None:
        """Abort a file that was neither committed nor aborted."""
        if getattr(self, "_folder", -1) >= 0:
            self.abort()

    def _rename(self, target: str) -> None:
        os.rename(self.temporary, target, src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def _link(self, target: str) -> None:
        where = {"src_dir_fd": self._folder, "dst_dir_fd": self._folder}
        os.link(self.temporary, target, **where, follow_symlinks=False)

    def _method(self, flags: int) -> Callable[[Output], None]:
        """Return the function that gives the file its final name; see the module's docstring.

        The method is tested with empty files, once for each file system, because many files may be written to it.
        """
        where = os.fstat(self._folder).st_dev, self._replace
        if where in _METHODS:
            return _METHODS[where]
        method = self._tried(flags)
        if method is not Output._warn_of_early_name:
            _METHODS[where] = method
        return method

    def _tried(self, flags: int) -> Callable[[Output], None]:
        # Callers recognize temporary files by their names without the last 16 digits.
        other, another = (self.temporary[:-16] + os.urandom(8).hex() for _ in range(2))
        if not self._replace:
            with contextlib.suppress(OSError):
                self._link(other)
                os.unlink(other, dir_fd=self._folder)
                return Output._link_and_unlink
        # The file itself is not used for the test, because object-storage mounts do not handle renamed open files well.
        os.close(os.open(other, flags, 0o600, dir_fd=self._folder))
        try:
            os.rename(other, another, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        except OSError as error:
            os.unlink(other, dir_fd=self._folder)
            if self._replace:
                raise OSError(error.errno, f"its file system cannot rename files: {error.strerror}") from None
        else:
            os.unlink(another, dir_fd=self._folder)
            return Output._rename_over_old if self._replace else Output._rename_over_placeholder
        self._close_file()
        os.unlink(self.temporary, dir_fd=self._folder)
        self.descriptor = os.open(self.name, flags, 0o600, dir_fd=self._folder)
        self.temporary = self.name
        return Output._warn_of_early_name

    def _link_and_unlink(self) -> None:  # link, unlike rename, never replaces a file
        try:
            self._link(self.name)
        except FileExistsError:
            raise
        except OSError:  # a file system that was mounted later may have reused the device number
            return self._rename_over_placeholder()
        os.unlink(self.temporary, dir_fd=self._folder)

    def _rename_over_old(self) -> None:
        self._rename(self.name)

    def _rename_over_placeholder(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self.name, flags, 0o600, dir_fd=self._folder)
        try:
            # A mount of object storage stores a file when it is closed, even over another file with the same name.
            # close() waits until the file is stored only if data was written.
            try:
                os.write(descriptor, b"\0")
            finally:
                os.close(descriptor)
            self._rename(self.name)
        except BaseException:
            os.unlink(self.name, dir_fd=self._folder)
            raise

    def _warn_of_early_name(self) -> None:
        logging.getLogger("warpaes").warning(
            "warpaes: warning: '%s': its name was visible during writing, because the file system cannot rename files",
            self.path,
        )

    def _check(self) -> os.stat_result | None:
        """Return the attributes of the file to replace. Refuse to replace anything except a regular file."""
        try:
            found = os.stat(self.name, dir_fd=self._folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if not self._replace:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        if stat.S_ISLNK(found.st_mode):
            raise OSError(errno.ELOOP, "is a symbolic link, which is not followed; name the file that it points to")
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "is not a regular file and is not replaced")
        return found

    def _set_permissions(self, replaced: os.stat_result | None) -> None:
        if replaced is None:
            mode = self.mode
            if mode is None:
                mode = 0o600 if self._secret else 0o666 & ~_umask()
        else:
            mode = stat.S_IMODE(replaced.st_mode) & 0o777
            kept = self._keep_owner(replaced)
            try:
                listed = self._access_list()
            except OSError:  # an unreadable access list cannot be kept, and it may have denied access
                listed, kept = b"unknown", False
            # Without the group or the access list, the permissions would apply to different users.
            if not self._keep_access_list(listed if kept else None) or not kept:
                mode = mode & 0o700 if listed else (mode & 0o700) | (mode >> 3 & mode & 0o07) * 0o11
        try:
            os.fchmod(self.descriptor, mode)
        except OSError as error:
            if error.errno not in _REFUSED:
                raise
        if (found := stat.S_IMODE(os.fstat(self.descriptor).st_mode) & 0o777) != mode:
            logging.getLogger("warpaes").warning(
                "warpaes: warning: '%s': the file system did not set the permissions %03o; the file has %03o",
                self.path,
                mode,
                found,
            )

    def _keep_owner(self, replaced: os.stat_result) -> bool:
        """Give the file the owner and group of the replaced file. Return whether the group was set."""
        now = os.fstat(self.descriptor)
        if (now.st_uid, now.st_gid) == (replaced.st_uid, replaced.st_gid):
            return True
        for owner in (replaced.st_uid, -1):
            with contextlib.suppress(OSError):
                os.fchown(self.descriptor, owner, replaced.st_gid)
                return True
        return now.st_gid == replaced.st_gid

    def _access_list(self) -> bytes | None:
        """Return the access list of the file to replace, or None."""
        with _without_access_list():
            descriptor = os.open(self.name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._folder)
            try:
                return os.getxattr(f"/proc/self/fd/{descriptor}", _ACCESS_LIST)
            finally:
                os.close(descriptor)
        return None

    def _keep_access_list(self, listed: bytes | None) -> bool:
        """Set an access list, or remove the list inherited from the folder. Return whether this succeeded."""
        try:
            with _without_access_list():
                if listed is not None:
                    os.setxattr(self.descriptor, _ACCESS_LIST, listed)
                else:
                    os.removexattr(self.descriptor, _ACCESS_LIST)
        except OSError:
            return False
        return True

    def _close(self) -> None:
        folder, self._folder = self._folder, -1
        try:
            self._close_file()
        finally:
            if folder >= 0:
                os.close(folder)

    def _close_file(self) -> None:
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        """Add the full path to errors, because calls relative to a folder report only the last component or no path."""
        try:
            yield
        except OSError as error:
            if error.errno is None:
                raise
            raise OSError(error.errno, error.strerror, self.path) from None


@contextlib.contextmanager
def _without_access_list() -> Iterator[None]:
    """Treat a missing access list, or a file system without access lists, as an empty list."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENODATA, errno.EOPNOTSUPP):
            raise


def _sync(folder: int) -> None:
    """Make the names in a folder durable. A folder without read permission cannot be synced."""
    try:
        descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    except PermissionError:
        return
    try:
        _fsync(descriptor)
    finally:
        os.close(descriptor)


def _fsync(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NOT_NEEDED:
            raise


def _umask() -> int:
    """Return the umask. ``os.umask`` can read it only by changing it for all threads."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    return 0o077
