"""Objects that are Parquet files. They are encrypted with Parquet modular encryption, so that they stay Parquet files.

A file's key is the object's data key, and its AAD prefix is the object's associated data. Pages are copied without
decoding. A decrypted file always has the layout that `rewritten` produces, regardless of the original layout.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future

from .._typing import Buffer
from ..exceptions import FormatError, InvalidTag
from ..parquet._inspect import verify
from ..parquet._keys import Keys
from ..parquet._rewrite import Encryption, rewritten
from ..parquet._source import Source
from ..parquet._view import PlainView
from .keys import ParquetKey
from .storage import WINDOW, Entry, Storage
from .transfer import AHEAD, check_digest


def encryption(key: ParquetKey, key_id: str, associated: bytes) -> Encryption:
    """Return a file's encryption parameters. Other readers find the key by its ID."""
    return Encryption(key.key, footer_key_metadata=key_id.encode(), aad_prefix=associated)


class StorageFile(io.RawIOBase):
    """A file object for an object in a storage. Windows of the object are fetched ahead, and its digest can be
    computed."""

    def __init__(self, storage: Storage, entry: Entry, threads: Executor, digest: bool) -> None:
        """Store the arguments without reading anything. `digest`: whether sha256() will be called."""
        super().__init__()
        self._storage, self._entry, self._threads = storage, entry, threads
        self._at = 0
        self._count = -(-entry.size // WINDOW)
        self._windows: dict[int, Future[bytes]] = {}  # the most recently used windows, in order of use
        self._digest = hashlib.sha256() if digest else None
        self._digested = 0

    def readable(self) -> bool:
        """Return True, because the object can be read."""
        return True

    def seekable(self) -> bool:
        """Return True, because any position can be read."""
        return True

    def tell(self) -> int:
        """Return the current position."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set the current position."""
        self._at = offset + (0, self._at, self._entry.size)[whence]
        return self._at

    def readinto(self, buffer: Buffer) -> int:
        """Read into a buffer, at most up to the end of a window. Return the number of bytes read."""
        with memoryview(buffer).cast("B") as to:
            index, begin = divmod(self._at, WINDOW)
            if self._at >= self._entry.size or not len(to):
                return 0
            piece = memoryview(self._window(index))[begin : begin + len(to)]
            to[: len(piece)] = piece
            self._at += len(piece)
            return len(piece)

    def _fetch(self, index: int) -> bytes:
        begin = index * WINDOW
        return self._storage.read(self._entry, begin, min(WINDOW, self._entry.size - begin))

    def _window(self, index: int) -> bytes:
        windows = self._windows
        if index in windows:
            windows[index] = windows.pop(index)
        elif self._count == 1:
            windows[index] = Future()
            windows[index].set_result(self._fetch(index))
        else:
            windows[index] = self._threads.submit(self._fetch, index)
        data = windows[index].result()
        for i in range(index + 1, min(index + AHEAD + 1, self._count)):
            if i not in windows:
                windows[i] = self._threads.submit(self._fetch, i)
        if self._digest is not None and index == self._digested:
            self._digest.update(data)
            self._digested += 1
        for i in list(windows)[: max(0, len(windows) - AHEAD - 3)]:
            if i != index:
                windows.pop(i).cancel()
        return data

    def sha256(self) -> str:
        """Read the remaining windows, and return the digest of the complete object."""
        assert self._digest is not None
        while self._digested < self._count:
            self._window(self._digested)
        return self._digest.hexdigest()

    def close(self) -> None:
        """Cancel reads in progress."""
        for window in getattr(self, "_windows", {}).values():
            window.cancel()
        super().close()


def _view(file: StorageFile, key: bytes | None, associated: bytes) -> PlainView:
    """Open an encrypted file with a key, or an unencrypted file without a key."""
    source = Source(file, owned=True, near=True)
    if key is not None:
        return PlainView(source, Keys(key), associated, require_gcm=True)
    return PlainView(source, Keys(None), allow_plaintext=True)


class ParquetFile:
    """The content of an object that is a Parquet file, with the same methods as `Plain` and `Opened`."""

    def __init__(
        self,
        storage: Storage,
        entry: Entry,
        threads: Executor,
        key: ParquetKey | None = None,
        associated: bytes = b"",
        expected: str = "",
        digest: bool = False,
    ) -> None:
        """Read and authenticate the footer. `key` is None for an unencrypted original; see `Opened` for the other
        arguments."""
        self.entry = entry
        self._expected = expected
        self.ahead = StorageFile(storage, entry, threads, digest or bool(expected))
        name = entry.key or storage.name
        try:
            self._view = _refusing(name, lambda: _view(self.ahead, key.key if key else None, associated))
            if key is None and self._view.encrypted:
                raise FormatError(f"{name} is already encrypted; decrypt it first")
        except BaseException:
            self.ahead.close()
            raise

    def pieces(self, encryption: Encryption | None = None) -> Iterator[memoryview]:
        """Yield the file in order, decrypted or encrypted. A piece is valid until the next piece is requested."""
        yield from rewritten(self._view, encryption)
        self._check()

    def verify(self) -> None:
        """Authenticate every module and compare the digest."""
        verify(self._view)
        self._check()

    def _check(self) -> None:
        if self._expected:
            check_digest(self.entry, self.ahead.sha256(), self._expected)

    def close(self) -> None:
        """Cancel reads in progress."""
        self._view.close()


def _refusing(name: str, open_view: Callable[[], PlainView]) -> PlainView:
    """Open a view. Add the object's name to exceptions."""
    try:
        return open_view()
    except FormatError as error:
        raise FormatError(f"{name}: {error}") from None
    except KeyError:
        raise FormatError(f"{name} is already encrypted; decrypt it first") from None
    except ValueError as error:
        raise InvalidTag(f"{name}: {error}") from None
