"""The files of ``warpaes.fs``: sealed files on top of another file system's file objects."""

from __future__ import annotations

import contextlib
import errno
import io
import os
from collections.abc import Callable
from typing import Any

from ._file_objects import can_seek, check_binary, named, why_not_created, why_not_opened, write_all
from ._native import Keyset, Writer
from ._output import Output
from ._own_keysets import OwnKeysets, read_front
from ._raw_reader import path_of
from ._typing import Buffer
from .exceptions import Error, FormatError, InvalidTag
from .files import SealedReader, SealedWriter

__all__ = ["ClosingReader", "ClosingWriter", "Compressed", "LocalFile", "MemoryFile"]


def _discard(below: Any) -> None:
    try:
        below.close()
    finally:
        below.discard()


class LocalFile:
    """A local file that appears when ``commit`` is called. fsspec's own class writes the file in a different folder and
    then copies it."""

    def __init__(self, path: str, exclusive: bool) -> None:
        self._output = Output(path, replace=not exclusive)
        self.write = self._output.write
        self.discard = self._output.abort

    def close(self) -> None:
        pass

    def commit(self) -> None:
        self._output.commit()


class MemoryFile(io.BytesIO):
    """A file in memory whose bytes ``commit`` passes to a function. fsspec's own files in memory appear as soon as they
    are opened."""

    def __init__(self, publish: Callable[[bytes], Any]) -> None:
        super().__init__()
        self._publish = publish

    def close(self) -> None:
        pass

    def commit(self) -> None:
        self._publish(self.getvalue())
        self.discard()

    def discard(self) -> None:
        super().close()


def _reopen(files: Any, path: str, position: int) -> Any:
    file = files.open(path, "rb")
    file.seek(position)
    return file


class ClosingReader(SealedReader):
    """Decrypts a file object of the underlying file system. ``close`` closes both.

    A pickle contains the path and the position.
    """

    def __init__(
        self, below: Any, keyset: Keyset | OwnKeysets, associated_data: Buffer | None, files: Any, path: str
    ) -> None:
        self._below = below
        self.fs, self.path = files, path
        start = None
        try:
            if isinstance(keyset, OwnKeysets):
                keyset, start = keyset_of(below, keyset)
            super().__init__(below, keyset, associated_data, _start=start)
        except BaseException:
            below.close()
            raise

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _reopen, (self.fs, self.path, self.tell())

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._below.close()


class _OwnReader(SealedReader):
    """Reads a file object that is positioned at the ciphertext after the keyset. Closes the file object only if this
    class opened it."""

    def __init__(
        self, below: Any, keyset: Keyset, associated_data: Buffer | None, start: int | None, own: io.FileIO | None
    ) -> None:
        self._below = own
        try:
            super().__init__(below, keyset, associated_data, _start=start)
        except BaseException:
            if own is not None:
                own.close()
            raise

    def close(self) -> None:
        try:
            super().close()
        finally:
            if self._below is not None:
                self._below.close()


def open_own(file: Any, keysets: OwnKeysets, associated_data: Buffer | None) -> SealedReader:
    """Open a path, a binary file object or a buffer with its own keyset at the start."""
    path = path_of(file)
    opened: io.FileIO | None = None
    if path is not None:
        try:
            opened = file = io.FileIO(path)
        except OSError as error:
            raise why_not_opened(error, path) from None
    elif not hasattr(file, "read"):
        file = io.BytesIO(file)
    try:
        keyset, start = keyset_of(file, keysets)
    except BaseException as error:
        if opened is not None:
            opened.close()
        if path is not None and isinstance(error, (FormatError, InvalidTag)):
            raise named(error, path) from None
        raise
    return _OwnReader(file, keyset, associated_data, start, opened)


def keyset_of(file: Any, keysets: OwnKeysets) -> tuple[Keyset, int | None]:
    """Open the keyset at the start of a file object, and leave the position at the ciphertext.

    Returns:
        The keyset, and the position of the ciphertext if the file object can seek.
    """
    check_binary(file, "read")
    seeks = can_seek(file)
    if seeks:
        file.seek(0)
    front = read_front(lambda size: _read_all(file, size))
    return keysets.open(front), len(front) if seeks else None


def _read_all(file: Any, size: int) -> bytes:
    pieces = []
    while size and (piece := file.read(size)):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def begin_own(file: Any, keysets: OwnKeysets, associated_data: Buffer | None, *, overwrite: bool) -> SealedWriter:
    """Begin a sealed file with its own keyset at a path, or in a binary file object."""
    path = os.fsdecode(file) if isinstance(file, bytes) else path_of(file)
    if path is None:
        keyset, front = keysets.make()
        write_all(file)(memoryview(front))
        return SealedWriter(file, keyset, associated_data)
    if not overwrite and os.path.lexists(path):  # checked before the prompt for the passphrase
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
    keyset, front = keysets.make()
    try:
        below = LocalFile(path, not overwrite)
    except OSError as error:
        raise why_not_created(error, path) from None
    below.write(front)
    return ClosingWriter(below, keyset, associated_data, None, True)


class Compressed(io.BufferedIOBase):
    """Compresses into a sealed file. Completes or aborts the sealed file, because compressors do not close their
    file."""

    def __init__(self, file: SealedWriter, compressor: Any) -> None:
        super().__init__()
        self._file, self._compressor, self._open = file, compressor, True

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        written: int = self._compressor.write(data)
        return written

    def flush(self) -> None:
        if self._open:
            self._compressor.flush()

    def close(self) -> None:
        if self.closed:
            return
        self._open = False
        try:
            self._compressor.close()
            super().close()
        except BaseException:
            self.abort()
            raise
        self._file.close()

    def abort(self) -> None:
        """Abort the sealed file, so that no file appears."""
        self._open = False
        self._file.abort()
        with contextlib.suppress(Exception):  # the compressor would write its last bytes to a closed file
            self._compressor.close()
        super().close()

    def _dealloc_warn(self, source: Any) -> None:
        self._file._dealloc_warn(source)

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def __del__(self) -> None:
        """Abort a file that was not closed, with a ResourceWarning."""
        if not self.closed:
            self._file._dealloc_warn(self)
            self.abort()


class ClosingWriter(SealedWriter):
    """Writes to a file object of the underlying file system, whose ``commit`` makes the file appear.

    Without ``autocommit``, the file belongs to an fsspec transaction, which calls ``commit`` or ``discard``.
    """

    def __init__(
        self,
        below: Any,
        keyset: Keyset,
        associated_data: Buffer | None,
        check: Callable[[], None] | None,
        autocommit: bool,
    ) -> None:
        self._below = below
        self._check = check
        self._autocommit = autocommit
        self._waits = False
        self._process = os.getpid()
        try:
            super().__init__(below, keyset, associated_data)
        except BaseException:
            _discard(below)
            raise

    def _publish(self, writer: Writer) -> None:
        super()._publish(writer)
        self._waits = True
        if self._autocommit:
            self.commit()

    def _discard(self, writer: Writer) -> None:
        try:
            super()._discard(writer)
        finally:
            self._discard_below()

    def _discard_below(self) -> None:
        """Discard the file. In a process created by ``fork``, do nothing, because the temporary file or upload belongs
        to the parent, which continues."""
        if self._process == os.getpid():
            _discard(self._below)

    def commit(self) -> None:
        """Make a closed file appear. An aborted file does not appear, and a file that is still open is refused."""
        if self._writer is not None:
            self.abort()
            raise ValueError("a file in the transaction was not closed, so it does not appear")
        if self._process != os.getpid():
            raise Error("a file in a transaction belongs to the process that began the transaction")
        if self._waits:
            self._waits = False
            try:
                if self._check is not None:
                    self._check()
                self._below.close()
                self._below.commit()
            except BaseException:
                self._discard_below()
                raise

    def discard(self) -> None:
        """Abort the file or, after ``close``, discard the file that waits for ``commit``."""
        self.abort()
        if self._waits:
            self._waits = False
            self._discard_below()
