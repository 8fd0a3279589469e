"""Sealed files as file objects: Tink's streaming AEAD and C2SP's chunked encryption."""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any, NoReturn, SupportsIndex, cast

from . import _closing
from ._file_objects import flush, keeps_no_view, why_not_created, write_all
from ._native import Keyset, Reader, Writer
from ._raw_reader import BUFFER_BYTES, RawReader, path_of
from ._typing import Buffer

__all__ = ["Keyset", "Reader", "SealedReader", "SealedTextWriter", "SealedWriter", "Writer"]


_NOT_PICKLED = (
    "an open file cannot be pickled; send its path and the place of its keyset, and open the file in the other process"
)


def _has_buffer(data: Any) -> bool:
    """Return whether ``io`` handles an object: a buffer, or an object that ``io`` rejects."""
    try:
        memoryview(data).release()
    except (TypeError, BufferError):
        return not any(hasattr(data, name) for name in ("data_ptr", "__cuda_array_interface__", "__dlpack__"))
    return True


class SealedReader(io.BufferedReader):
    """The plaintext of a sealed file, as a binary file object. Every byte returned is authentic.

    The file can seek if its source can. A pipe, a socket or the body of an HTTP response is read forward in bounded
    memory. A segment is returned after it has been authenticated, and an empty read means that the end of the file was
    also authenticated. Altered or truncated data raises InvalidTag or FormatError when it is reached.
    """

    def __init__(
        self, file: Any, keyset: Keyset, associated_data: Buffer | None = None, *, _start: int | None = None
    ) -> None:
        """Open a sealed file.

        Args:
            file: A path, a binary file object, or a buffer with the content. A file object that can seek is read from
                its beginning or, if no sealed file begins there, from its current position. Other file objects are read
                from their current position. The caller closes the file object.
            keyset: The keys; see ``Reader``.
            associated_data: The associated data that the writer used, or None.

        Raises:
            InvalidTag: No key of the keyset opens the file, or the file was altered or truncated.
            FormatError: The file is shorter than any sealed file.
            OSError: The file cannot be read.
            TypeError: The file object is a text file, or the argument is not a file object.
        """
        super().__init__(RawReader(file, keyset, associated_data, _start), BUFFER_BYTES)

    @property
    def size(self) -> int:
        """The size of the plaintext in bytes.

        Raises:
            ValueError: The source cannot seek, and its end has not been read.
        """
        return self.reader.size

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer or a tensor from the current position, and return the number of bytes read.

        The result is less than the size of the buffer only at the end of the file.

        Args:
            buffer: A contiguous writable buffer, or a tensor in host or device memory: PyTorch's, or an object with
                ``__cuda_array_interface__`` or ``__dlpack__``. A GPU decrypts whole segments into its memory, and host
                memory receives only the plaintext of segments that are read in part.

        Raises:
            InvalidTag: A segment was altered. If the argument is a tensor, it is wiped.
            io.UnsupportedOperation: The argument is a tensor, and the source cannot seek.
            ValueError: The file is closed.
        """
        return super().readinto(buffer) if _has_buffer(buffer) else self._fill(buffer)

    def readinto1(self, buffer: Any) -> int:
        """Fill a buffer with at most one read of the source, or fill a tensor as ``readinto`` does."""
        return super().readinto1(buffer) if _has_buffer(buffer) else self._fill(buffer)

    def _fill(self, tensor: Any) -> int:
        if not self.seekable():
            raise io.UnsupportedOperation(
                "the source of this file cannot seek; read into host memory, and copy the data with warpaes.copy"
            )
        raw, at = cast(RawReader, self.raw), self.tell()
        got = raw.fill(at, tensor)
        self.seek(at + got)
        return got

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Raise TypeError, because an open file cannot be pickled."""
        raise TypeError(_NOT_PICKLED)

    @property
    def reader(self) -> Reader:
        """The underlying ``Reader``. Any number of threads may read from it at once."""
        raw: Any = self.raw
        reader: Reader = raw.reader
        return reader


class SealedWriter(io.BufferedIOBase):
    """Writes a sealed file, as a binary file object. Only one thread at a time may use the object.

    Only ``close`` completes the file, and only after success. The file is aborted if an exception leaves the ``with``
    block, if ``close`` is called while an exception that was raised since the file was opened is being handled, if the
    object or its wrapper is destroyed without ``close``, or if ``close`` is called by a finalizer or after an exception
    has ended the program. docs/python.md lists the cases that cannot be detected.
    """

    def __init__(
        self, file: Any, keyset: Keyset, associated_data: Buffer | None = None, *, overwrite: bool = False
    ) -> None:
        """Begin a sealed file.

        Args:
            file: A path, where the file appears when it is complete, or a binary file object, which is written from
                its current position and flushed. The caller closes the file object.
            keyset: The keyset whose primary key encrypts.
            associated_data: Data that the reader must also supply. It is not stored in the file.
            overwrite: Whether to replace a file at the path.

        Raises:
            FileExistsError: A file already exists at the path, and ``overwrite`` is False.
            KeysetError: The keyset has no primary key.
            TypeError: The file object is a text file, or the argument is not a file object.
        """
        super().__init__()
        self._position = 0
        self._writer: Writer | None = None
        self._unclosed = False
        self._handled = _closing.handled()
        _closing.watch()
        self._finalizers = _closing.finalizers()
        self._file: Any = None
        path = os.fsdecode(file) if isinstance(file, bytes) else path_of(file)
        if path is not None:
            self._writer = self._begin(path, keyset, associated_data, overwrite)
        else:
            self._writer = Writer(write_all(file), keyset, associated_data, _own=keeps_no_view(file))
            self._file = file

    @staticmethod
    def _begin(path: str, keyset: Keyset, associated_data: Buffer | None, overwrite: bool) -> Writer:
        if not path:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        try:
            return Writer(path, keyset, associated_data, overwrite=overwrite)
        except OSError as error:
            raise why_not_created(error, path) from None

    def writable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the number of bytes written."""
        return self._position

    def write(self, data: Any) -> int:
        """Write a contiguous buffer, or a tensor in host or device memory, and return the number of bytes.

        Raises:
            ValueError: The file is closed.
            OSError: The file cannot be written.
        """
        if self._unclosed and not self.closed:  # the wrapper flushes before it closes this object
            return len(data)
        if self._writer is None:
            raise ValueError("I/O operation on closed file")
        written = self._writer.write(data)
        self._position += written
        return written

    def close(self) -> None:
        """Seal the last segment and complete the file. A file at a path appears under its name only at this point.

        Wrappers, ``finally`` blocks and ``contextlib.closing`` call ``close`` both after success and after an
        exception. If this thread is handling an exception that was raised since the file was opened, the file is
        aborted, and that exception is raised again.

        Raises:
            ValueError: The file was aborted, because a wrapper of this object was destroyed without ``close``.
        """
        if self._unclosed and self.closed:
            raise ValueError("the file was aborted, because its wrapper was not closed; close or detach the wrapper")
        handled = _closing.handled()
        if self._writer is not None and not self._is_of_the_program():
            self._abort_unclosed(self)
        elif self._writer is not None and handled and not any(handled[0] is error for error in self._handled):
            self.abort()
            if sys.version_info >= (3, 11):
                handled[0].add_note(
                    "The encrypted file was aborted, because it was closed while this exception was being handled."
                )
            raise handled[0]
        self._end(self._publish)

    def abort(self) -> None:
        """Abort the file. Nothing appears at the path, and an existing file there stays unchanged."""
        self._end(self._discard)

    def _end(self, end: Callable[[Writer], None]) -> None:
        writer, self._writer = self._writer, None
        self._handled = []
        try:
            if writer is not None:
                end(writer)
        finally:
            super().close()

    def _publish(self, writer: Writer) -> None:
        """Complete the file, or abort it if that fails."""
        try:
            writer.finish()
            if self._file is not None:
                flush(self._file)
        except BaseException:
            self._discard(writer)
            raise

    def _discard(self, writer: Writer) -> None:
        """Abort the file."""
        writer.abort()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the file, or abort it after an exception."""
        if kind is None:
            self.close()
        else:
            self.abort()

    def _is_of_the_program(self) -> bool:
        """Return whether the program itself calls ``close``. A finalizer, or the interpreter after an uncaught
        exception, may also call it."""
        error = _closing.uncaught()
        ended = error is not None and not any(error is one for one in self._handled)
        return not ended and _closing.finalizers() <= self._finalizers

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        """Raise TypeError, because an open file cannot be pickled."""
        raise TypeError(_NOT_PICKLED)

    def _dealloc_warn(self, source: Any) -> None:
        """Abort the file. A wrapper from the ``io`` module calls this method when it is destroyed without ``close``,
        before it closes this object."""
        if self._writer is not None:
            self._abort_unclosed(source)
            self._unclosed = True

    def _abort_unclosed(self, source: Any) -> None:
        """Abort the file, because the program closed neither the file nor its wrapper."""
        warnings.warn(f"{source!r} was not closed and was aborted", ResourceWarning, stacklevel=3)
        writer, self._writer = self._writer, None
        if writer is not None:
            self._discard(writer)

    def __del__(self) -> None:
        """Abort a file that was not closed, with a ResourceWarning."""
        if getattr(self, "_writer", None) is not None:
            warnings.warn(f"{self!r} was not closed and was aborted", ResourceWarning, stacklevel=2, source=self)
            self.abort()


class SealedTextWriter(io.TextIOWrapper):
    """Writes text to a sealed file. The file is completed or aborted as by a ``SealedWriter``."""

    def __init__(
        self, file: SealedWriter, encoding: str | None = None, errors: str | None = None, newline: str | None = None
    ) -> None:
        """Wrap a ``SealedWriter``; see ``open`` for the arguments."""
        super().__init__(file, encoding, errors, newline)  # type: ignore[arg-type]  # a name is not needed
        self._file = file
        # TextIOWrapper writes the byte-order mark only to seekable files.
        if codecs.lookup(self.encoding).name in ("utf-16", "utf-32"):
            self.write("\ufeff")

    def abort(self) -> None:
        """Abort the file. Nothing appears at the path, and an existing file there stays unchanged."""
        self._file.abort()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the file, or abort it after an exception."""
        if kind is None:
            self.close()
        else:
            self.abort()
