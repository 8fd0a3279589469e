"""The data path of an object: ranges are read ahead, encrypted or decrypted, and written to an upload."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from typing import Literal

from .._native import Keyset, Reader, Writer, _crypt_file
from .local import LocalStorage, LocalUpload
from .storage import PARTS_IN_FLIGHT, WINDOW, Attempt, ChangedError, Entry, Storage, Upload

#: Number of windows to read ahead.
AHEAD = 3
#: Maximum number of bytes that the library's Writer buffers.
WRITER_BYTES = 32 << 20
#: Number of bytes that each of the library's threads buffers: a chunk of input and a chunk of output.
CHUNKS = 5 << 20
#: Maximum number of threads for a file. One thread computes the hash, which takes longer than all other work.
FILE_THREADS = 4


def memory_of(size: int, part: int) -> int:
    """Return the maximum memory for an object in progress: windows, parts and the library's buffers."""
    if size <= WINDOW:
        return 3 * size + (256 << 10)
    return (AHEAD + 4) * WINDOW + (PARTS_IN_FLIGHT + 1) * part + WRITER_BYTES


def memory_of_file(size: int, threads: int) -> int:
    """Return the maximum memory for a file job: the buffers of the library's threads."""
    return min(3 * size + (256 << 10), CHUNKS) * threads


def computed_on(backend: str, device: int) -> str:
    """Return the name of a backend. The name of a GPU includes its number on the machine, even if only one GPU is
    visible to this process."""
    if device < 0:
        return backend
    seen = [each for each in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if each]
    return f"{backend} {seen[device] if device < len(seen) else device}"


class ReadAhead:
    """Reads an object in windows. The next windows are fetched while a window is processed. Can also compute the
    digest."""

    def __init__(self, storage: Storage, entry: Entry, threads: Executor, digest: bool) -> None:
        """Store the arguments without reading anything. `digest`: whether sha256() will be called."""
        self._storage, self._entry, self._threads = storage, entry, threads
        self.count = max(1, -(-entry.size // WINDOW))
        self._windows: dict[int, Future[bytes]] = {}
        self._lock = threading.Lock()
        self._digest = hashlib.sha256() if digest else None
        self._digested = 0

    def _fetch(self, index: int) -> bytes:
        begin = index * WINDOW
        return self._storage.read(self._entry, begin, min(WINDOW, self._entry.size - begin))

    def window(self, index: int) -> bytes:
        """Return a window, and start to read the next windows."""
        if self.count == 1:
            with self._lock:
                if not self._windows:
                    done: Future[bytes] = Future()
                    done.set_result(self._fetch(0))
                    self._windows[0] = done
        with self._lock:
            for i in range(index, min(index + AHEAD + 1, self.count)):
                if i not in self._windows:
                    self._windows[i] = self._threads.submit(self._fetch, i)
            wanted = self._windows[index]
        data = wanted.result()
        with self._lock:
            while (next_one := self._windows.get(self._digested)) is not None and next_one.done():
                if self._digest is not None:
                    self._digest.update(next_one.result())
                self._digested += 1
            # Older windows are kept for a while, because the library's threads may be several windows apart.
            for i in [i for i in self._windows if i < min(index - 2, self._digested)]:
                del self._windows[i]
        return data

    def fill(self, offset: int, buffer: memoryview) -> None:
        """Fill a buffer with the bytes at an offset, for a Reader."""
        at = 0
        while at < len(buffer):
            index, begin = divmod(offset + at, WINDOW)
            piece = memoryview(self.window(index))[begin : begin + len(buffer) - at]
            buffer[at : at + len(piece)] = piece
            at += len(piece)

    def sha256(self) -> str:
        """Read the rest of the object, and return the digest of the complete object."""
        assert self._digest is not None
        while self._digested < self.count:
            self.window(self._digested)
        return self._digest.hexdigest()

    def close(self) -> None:
        """Cancel reads in progress."""
        with self._lock:
            for window in self._windows.values():
                window.cancel()
            self._windows.clear()


class Plain:
    """The unchanged bytes of an object."""

    def __init__(self, storage: Storage, entry: Entry, threads: Executor, digest: bool = False) -> None:
        """Prepare to read an object."""
        self.entry = entry
        self.ahead = ReadAhead(storage, entry, threads, digest)

    def pieces(self) -> Iterator[memoryview]:
        """Yield the windows in order."""
        for index in range(self.ahead.count):
            yield memoryview(self.ahead.window(index))

    def close(self) -> None:
        """Cancel reads in progress."""
        self.ahead.close()


class Opened:
    """The plaintext of a sealed object. Every returned byte is authentic."""

    def __init__(
        self,
        storage: Storage,
        entry: Entry,
        threads: Executor,
        keyset: Keyset,
        associated: bytes,
        expected: str = "",
        digest: bool = False,
    ) -> None:
        """Find the key, and check that the object is not truncated. `expected` is the object's digest in a manifest, or
        ""."""
        self.entry = entry
        self._expected = expected
        self.ahead = ReadAhead(storage, entry, threads, digest or bool(expected))
        try:
            self._reader = Reader(self.ahead.fill, keyset, associated, size=entry.size, _own=True)
        except BaseException:
            self.ahead.close()
            raise

    def pieces(self) -> Iterator[memoryview]:
        """Yield the plaintext in order. A piece is valid until the next piece is requested. At the end, compare the
        digest."""
        size = self._reader.size
        buffer = memoryview(bytearray(min(WINDOW, size)))
        position = 0
        while position < size:
            got = self._reader.read_into(position, buffer[: min(len(buffer), size - position)])
            yield buffer[:got]
            position += got
        buffer[:] = bytes(len(buffer))
        if self._expected:
            check_digest(self.entry, self.ahead.sha256(), self._expected)

    def verify(self) -> None:
        """Authenticate the complete object and compare the digest."""
        for _ in self.pieces():
            pass

    def close(self) -> None:
        """Cancel reads in progress."""
        self._reader.close()
        self.ahead.close()


def check_digest(entry: Entry, digest: str, expected: str) -> None:
    """Raise ChangedError if an authentic object is not the version in the manifest."""
    if digest != expected:
        raise ChangedError(f"{entry.key} is authentic, but differs from the object in the manifest (SHA-256)")


class Out:
    """An upload that counts its content, and computes the digest on request."""

    def __init__(self, upload: Upload, digest: bool) -> None:
        """Wrap an upload that has just begun."""
        self.upload = upload
        self.digest = hashlib.sha256() if digest else None
        self.size = 0

    def write(self, data: memoryview) -> None:
        """Write the next bytes."""
        if self.digest is not None:
            self.digest.update(data)
        self.size += len(data)
        self.upload.write(data)


def write(
    pieces: Iterator[memoryview],
    target: Storage,
    entry: Entry,
    replace: str | None,
    attempt: Attempt,
    threads: Executor,
    keyset: Keyset | None,
    associated: bytes,
    plain: hashlib._Hash | None = None,
    digest: bool = True,
) -> tuple[Entry, str]:
    """Write an object, sealed if there is a keyset, and update the digest `plain` with the plaintext.

    Only the name and the approximate size of `entry` are used. Return the entry of the written object, and its digest
    ("" if `digest` is false).
    """
    out = Out(target.create(entry.key, entry.size, replace, attempt, threads), digest)
    try:
        if keyset is None:
            for piece in pieces:
                out.write(piece)
        else:
            writer = Writer(out.write, keyset, associated, _own=True)
            try:
                for piece in pieces:
                    if plain is not None:
                        plain.update(piece)
                    writer.write(piece)
                writer.finish()
            except BaseException:
                writer.abort()
                raise
        version = out.upload.commit()
    except BaseException:
        out.upload.abort()
        raise
    return Entry(entry.key, out.size, version), out.digest.hexdigest() if out.digest is not None else ""


def crypt_file(
    direction: Literal["encrypt", "decrypt"],
    source: LocalStorage,
    entry: Entry,
    target: LocalStorage,
    key: str,
    replace: str | None,
    attempt: Attempt,
    keyset: Keyset,
    associated: bytes,
    threads: int,
    proceed: Callable[[], bool],
    expected: str,
) -> tuple[Entry, str, str]:
    """Encrypt or decrypt one file into another. The library's threads read, process, hash and write.

    A new file gets the permissions of its source, without the set-user-ID and set-group-ID bits.

    `proceed` is called at intervals and returns whether to continue. `expected` is the digest that a sealed file must
    have, or "". Return the entry of the new file, the digest of the sealed file, and the backend.
    """
    upload = LocalUpload(target, key, replace, attempt)
    try:
        with source.opened(entry) as descriptor:
            upload.set_mode(os.fstat(descriptor).st_mode & 0o777)
            size, digest, backend, device = _crypt_file(
                direction, descriptor, upload.descriptor, keyset, associated, threads, proceed
            )
        if expected:
            check_digest(entry, digest.hex(), expected)
        version = upload.commit()
    except BaseException:
        upload.abort()
        raise
    return Entry(key, size, version), digest.hex(), computed_on(backend, device)


def same(left: Iterator[memoryview], right: Iterator[memoryview]) -> bool:
    """Return whether two sources yield the same bytes, regardless of how they are divided into pieces."""
    a, b = memoryview(b""), memoryview(b"")
    while True:
        # A piece may be overwritten when the next piece is requested, so only consumed pieces are replaced.
        while not a:
            piece = next(left, None)
            if piece is None:
                break
            a = piece
        while not b:
            piece = next(right, None)
            if piece is None:
                break
            b = piece
        length = min(len(a), len(b))
        if length == 0:
            return not a and not b
        if bytes(a[:length]) != bytes(b[:length]):  # comparing memoryviews would be slow
            return False
        a, b = a[length:], b[length:]
