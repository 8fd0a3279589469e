"""Storage of fetched QKD keys until they have opened a file.

A key-management entity delivers a key only once, and a file in an inbox may name any key. Therefore, a key that did not
open the file that named it is kept for another file.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Iterator

from ._kme import Kme, QkdKey
from ._output import Output
from .exceptions import FormatError

FORMAT = "warpaes-qkd-key-1"
#: The time in seconds for which a key that has not opened a file is kept.
KEPT_SECONDS = 30 * 24 * 3600
LOCK = "lock"
ENDING = ".key"
MOST_BYTES = 1 << 14


def default_folder() -> str:
    """Return the folder of this user's stored keys. Other users cannot write to it, unlike to an inbox.

    Raises:
        ValueError: The user has no home folder.
    """
    state = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):
        state = os.path.expanduser("~/.local/state")
    if not os.path.isabs(state):
        raise ValueError("QKD keys are kept until their files open, but there is no home folder; use --state FOLDER")
    return os.path.join(state, "warpaes", "qkd")


class KeptKeys:
    """The keys that are stored in a folder."""

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        """Create the folder with access only for its owner, or check an existing folder.

        Args:
            folder: The path, or None for the user's default key folder.

        Raises:
            OSError: The folder cannot be created or written to, or other users can access it.
        """
        self.folder = os.path.abspath(folder) if folder is not None else default_folder()
        os.makedirs(os.path.dirname(self.folder), 0o700, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mkdir(self.folder, 0o700)
        self._descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            found = os.fstat(self._descriptor)
            if found.st_uid != os.geteuid() or found.st_mode & 0o077:
                raise PermissionError(
                    13,
                    "contains QKD keys, so only its owner, you, may access it; run `chmod 700`, or use --state",
                    self.folder,
                )
            with self._locked():
                self._wipe_expired()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the folder."""
        os.close(self._descriptor)

    def __enter__(self) -> KeptKeys:
        """Return this object."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the folder."""
        self.close()

    def get(self, kme: Kme, peer: str, key_id: str, check: Callable[[], None] = lambda: None) -> QkdKey:
        """Return a kept key, or request the key from the KME and keep it.

        ``check`` is called before the request to the KME. Its exceptions are raised unchanged.

        Raises:
            FormatError: The file that stores the key is damaged.
            KeySourceError: The KME does not return a key.
        """
        name = self._name(kme, peer, key_id)
        # One process requests the key from the KME. Other processes that need the key find it in the folder.
        with self._locked():
            if (kept := self._read(name, key_id)) is not None:
                return kept
            check()
            with Output(name, secret=True, folder=self._descriptor) as file:
                os.posix_fallocate(file.descriptor, 0, MOST_BYTES)  # so that a key is not lost if the disk is full
                (key,) = kme.keys(peer, [key_id])
                record = {"format": FORMAT, "key_id": key_id, "key": base64.b64encode(key.key).decode()}
                os.ftruncate(file.descriptor, file.write(json.dumps(record).encode() + b"\n"))
            return key

    def wipe(self, kme: Kme, peer: str, key_id: str) -> None:
        """Wipe a key that has opened its file."""
        with self._locked():
            self._wipe(self._name(kme, peer, key_id))

    @staticmethod
    def _name(kme: Kme, peer: str, key_id: str) -> str:
        # Key IDs are arbitrary text, so they cannot be file names.
        return hashlib.sha256(json.dumps([kme.address, peer, key_id]).encode()).hexdigest() + ENDING

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(LOCK, flags, 0o600, dir_fd=self._descriptor)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _read(self, name: str, key_id: str) -> QkdKey | None:
        try:
            descriptor = os.open(
                name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._descriptor
            )
        except FileNotFoundError:
            return None
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(MOST_BYTES)
        try:
            record = json.loads(content)
            if set(record) != {"format", "key_id", "key"} or (record["format"], record["key_id"]) != (FORMAT, key_id):
                raise ValueError
            return QkdKey(key_id, base64.b64decode(record["key"], validate=True))
        except (ValueError, TypeError, RecursionError):
            raise FormatError(
                f"'{os.path.join(self.folder, name)}' does not contain the key '{key_id}'; restore the file, or remove "
                "it"
            ) from None

    def _wipe(self, name: str) -> None:
        """Overwrite and remove a file. On copy-on-write storage, the old bytes may remain."""
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(
                name, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._descriptor
            )
            try:
                os.write(descriptor, bytes(os.fstat(descriptor).st_size))
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.unlink(name, dir_fd=self._descriptor)
            os.fsync(self._descriptor)

    def _wipe_expired(self) -> None:
        """Wipe expired keys and temporary files of killed processes."""
        for name in os.listdir(self._descriptor):
            found = os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)
            ours = name.endswith(ENDING) or name.startswith(".warpaes-")
            if ours and stat.S_ISREG(found.st_mode) and found.st_mtime < time.time() - KEPT_SECONDS:
                self._wipe(name)
