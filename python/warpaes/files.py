"""Sealed files as file objects: Tink's streaming AEAD and C2SP's chunked encryption."""

from __future__ import annotations

import codecs
import io
import os
import stat
import sys
import threading
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any, Literal, Union, overload

from ._native import Keyset, Reader, Writer
from ._typing import Buffer

__all__ = ["Keyset", "Reader", "SealedReader", "SealedTextWriter", "SealedWriter", "Writer", "open"]

Path = Union[str, "os.PathLike[str]"]

# Bytes that SealedReader reads ahead, so that small sequential reads seldom call the library.
BUFFER_BYTES = 128 << 10


def _fill(file: Any, buffer: memoryview) -> None:
    """Read until the buffer is full. One read of a file object may return less than requested."""
    at = 0
    while at < len(buffer):
        if hasattr(file, "readinto"):
            got = file.readinto(buffer[at:])
        else:
            data = file.read(len(buffer) - at)
            got = None if data is None else len(data)
            buffer[at : at + len(data or b"")] = data or b""
        if not got:
            raise OSError(f"the file gave {at} of {len(buffer)} bytes: it is shorter than it was, or not ready")
        at += got


def _read_at(file: Any) -> tuple[Callable[[int, memoryview], None], int]:
    """Return a thread-safe function that fills a buffer from an offset of a file object, and the file's size."""
    # The descriptor's bytes are the file's if nothing lies between: gzip.GzipFile gives that of the compressed file.
    plain = type(getattr(file, "raw", file)) is io.FileIO
    if plain and stat.S_ISREG(os.fstat(file.fileno()).st_mode):  # preadv does not use the shared file position
        size = os.fstat(file.fileno()).st_size

        def read_descriptor(offset: int, buffer: memoryview) -> None:
            at = 0
            while at < len(buffer):
                got = os.preadv(file.fileno(), [buffer[at:]], offset + at)
                if got == 0:
                    raise OSError(f"the file ends at byte {offset + at}: it is shorter than it was")
                at += got

        return read_descriptor, size

    lock = threading.Lock()
    size = file.seek(0, io.SEEK_END)
    if size is None:
        size = file.tell()

    def read_object(offset: int, buffer: memoryview) -> None:
        with lock:
            file.seek(offset)
            _fill(file, buffer)

    return read_object, size


def _keeps_no_view(file: Any) -> bool:
    """Whether a file object is one of Python's own, which keep no view of the memory that they read into or write."""
    below = file.raw if type(file) in (io.BufferedReader, io.BufferedWriter, io.BufferedRandom) else file
    return type(below) in (io.FileIO, io.BytesIO)


class _RawReader(io.RawIOBase):
    """The plaintext of a sealed file, unbuffered."""

    def __init__(self, file: Any, keyset: Keyset, associated_data: Buffer | None) -> None:
        super().__init__()
        self._position = 0
        self._again: Callable[[], Reader] | None = None
        self._process = os.getpid()
        if isinstance(file, (str, os.PathLike)):
            path = os.fspath(file)
            kept = None if associated_data is None else bytes(associated_data)
            self._again = lambda: Reader(path, keyset, kept)
            self._reader = self._again()
            self.name = path
        elif hasattr(file, "seek"):
            read_at, size = _read_at(file)
            self._reader = Reader(read_at, keyset, associated_data, size=size, _own=_keeps_no_view(file))
        else:
            self._reader = Reader(file, keyset, associated_data)

    @property
    def reader(self) -> Reader:
        """The reader, for any number of threads. In a child of ``fork``, a path is opened again."""
        if self._process != os.getpid() and self._again is not None:
            self._reader = self._again()
            self._process = os.getpid()
        return self._reader

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        self._check_open()
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._check_open()
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.reader.size}.get(whence)
        if start is None:
            raise ValueError(f"whence must be 0, 1 or 2, not {whence}")
        if start + offset < 0:
            raise ValueError("the position would be before the beginning")
        self._position = start + offset
        return self._position

    def readinto(self, buffer: Any) -> int:
        self._check_open()
        if self._position >= self.reader.size:
            return 0
        got = self.reader.read_into(self._position, buffer)
        self._position += got
        return got

    def readall(self) -> bytes:
        self._check_open()
        rest = self.reader.read(self._position, max(0, self.reader.size - self._position))
        self._position += len(rest)
        return rest

    def close(self) -> None:
        reader = getattr(self, "_reader", None)
        if reader is not None and not self.closed:
            reader.close()
        super().close()

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file")


class SealedReader(io.BufferedReader):
    """The plaintext of a sealed file, as a binary file object with random access. Every byte returned is authentic."""

    def __init__(self, file: Any, keyset: Keyset, associated_data: Buffer | None = None) -> None:
        """Open a sealed file.

        Args:
            file: A path, a file object that can seek, or a buffer. The caller closes the file object.
            keyset: The keys; see ``Reader``.
            associated_data: The associated data that the writer used, or None.

        Raises:
            InvalidTag: No key of the keyset opens the file, or the file was altered or truncated.
            FormatError: The file is shorter than any sealed file.
            OSError: The file cannot be read.
        """
        super().__init__(_RawReader(file, keyset, associated_data), BUFFER_BYTES)

    @property
    def size(self) -> int:
        """The size of the plaintext in bytes."""
        return self.reader.size

    @property
    def reader(self) -> Reader:
        """The underlying ``Reader``, which any number of threads may read from at once."""
        raw: Any = self.raw
        reader: Reader = raw.reader
        return reader


def _handled() -> list[BaseException]:
    """Return the exception that this thread is handling, and those during whose handling it was raised."""
    chain: list[BaseException] = []
    error = sys.exc_info()[1]
    while error is not None and all(error is not one for one in chain):
        chain.append(error)
        error = error.__context__
    return chain


class SealedWriter(io.BufferedIOBase):
    """Writes a sealed file, as a binary file object; for one thread at a time.

    Only ``close`` completes the file, and only if all went well. The file is aborted by an exception that leaves the
    ``with`` block, by ``close`` during the handling of an exception that was raised since the file was opened, and by
    the end of the object, or of a file object around it, without ``close``.
    """

    def __init__(
        self, file: Any, keyset: Keyset, associated_data: Buffer | None = None, *, overwrite: bool = False
    ) -> None:
        """Begin a sealed file.

        Args:
            file: A path, where the file appears when it is complete, or a file object, which the caller closes.
            keyset: The keyset whose primary key encrypts.
            associated_data: Data that the reader must supply too. It is not stored in the file.
            overwrite: Whether to replace a file at the path.

        Raises:
            FileExistsError: There is a file at the path, and ``overwrite`` is False.
            KeysetError: The keyset has no primary key.
        """
        super().__init__()
        self._position = 0
        self._writer: Writer | None = None
        self._unclosed = False
        self._handled = _handled()
        if isinstance(file, (str, os.PathLike)):
            self._writer = Writer(os.fspath(file), keyset, associated_data, overwrite=overwrite)
        else:
            own = _keeps_no_view(file)
            self._writer = Writer(lambda piece: _write_all(file, piece), keyset, associated_data, _own=own)

    def writable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the number of bytes written."""
        return self._position

    def write(self, data: Any) -> int:
        """Write a contiguous buffer, or a tensor in host or device memory; return the number of bytes.

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
        """Seal the last segment and complete the file. A path appears under its name only at this point.

        Wrappers, ``finally`` blocks and ``contextlib.closing`` call ``close`` after an exception as after success. If
        this thread is handling an exception that was raised since the file was opened, the file is aborted instead,
        and that exception is raised again.

        Raises:
            ValueError: A file object around this one went without ``close``, which aborted the file.
        """
        if self._unclosed and self.closed:
            raise ValueError("the file was aborted, because a file object around it was not closed: close or detach it")
        handled = _handled()
        if self._writer is not None and handled and not any(handled[0] is error for error in self._handled):
            self.abort()
            if sys.version_info >= (3, 11):
                handled[0].add_note("The sealed file was aborted: it was closed while this exception was handled.")
            raise handled[0]
        self._end(self._publish)

    def abort(self) -> None:
        """Abort the file: nothing appears at the path, and a file that was already there stays."""
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
        """Complete the file, or leave nothing."""
        try:
            writer.finish()
        except BaseException:
            self._discard(writer)
            raise

    def _discard(self, writer: Writer) -> None:
        """Leave nothing."""
        writer.abort()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the file, or abort it after an exception."""
        if kind is None:
            self.close()
        else:
            self.abort()

    def _dealloc_warn(self, source: Any) -> None:
        """Abort the file: a wrapper of module io calls this when it goes without ``close``, before it closes us."""
        if self._writer is not None:
            warnings.warn(f"{source!r} was not closed, so there is no file", ResourceWarning, stacklevel=2)
            self._unclosed = True
            writer, self._writer = self._writer, None
            self._discard(writer)

    def __del__(self) -> None:
        """Abort a file that was not closed, with a ResourceWarning."""
        if getattr(self, "_writer", None) is not None:
            warnings.warn(f"{self!r} was not closed, so there is no file", ResourceWarning, stacklevel=2, source=self)
            self.abort()


class SealedTextWriter(io.TextIOWrapper):
    """Writes a sealed file of text. It is completed and aborted as a ``SealedWriter`` is."""

    def __init__(
        self, file: SealedWriter, encoding: str | None = None, errors: str | None = None, newline: str | None = None
    ) -> None:
        """Write text to a sealed file; see ``open``."""
        super().__init__(file, encoding, errors, newline)  # type: ignore[arg-type]  # a name is not needed
        self._file = file
        if codecs.lookup(self.encoding).name in ("utf-16", "utf-32"):  # TextIOWrapper does so for files that can seek
            self.write("\ufeff")

    def abort(self) -> None:
        """Abort the file: nothing appears at the path, and a file that was already there stays."""
        self._file.abort()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the file, or abort it after an exception."""
        if kind is None:
            self.close()
        else:
            self.abort()


def _write_all(file: Any, piece: memoryview) -> None:
    while len(piece) > 0:
        written = file.write(piece)
        if written is None:
            raise BlockingIOError("the file object would block: give one that waits")
        if written <= 0:
            raise OSError("the file object takes no more bytes")
        piece = piece[written:]


@overload
def open(
    file: Any, mode: Literal["r", "rb"] = "rb", *, keyset: Keyset, associated_data: Buffer | None = None
) -> SealedReader: ...
@overload
def open(
    file: Any, mode: Literal["w", "wb", "x", "xb"], *, keyset: Keyset, associated_data: Buffer | None = None
) -> SealedWriter: ...
@overload
def open(
    file: Any,
    mode: Literal["rt"],
    *,
    keyset: Keyset,
    associated_data: Buffer | None = None,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> io.TextIOWrapper: ...
@overload
def open(
    file: Any,
    mode: Literal["wt", "xt"],
    *,
    keyset: Keyset,
    associated_data: Buffer | None = None,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> SealedTextWriter: ...
@overload
def open(
    file: Any,
    mode: str,
    *,
    keyset: Keyset,
    associated_data: Buffer | None = None,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> SealedReader | SealedWriter | io.TextIOWrapper: ...


def open(
    file: Any,
    mode: str = "rb",
    *,
    keyset: Keyset,
    associated_data: Buffer | None = None,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> SealedReader | SealedWriter | io.TextIOWrapper:
    """Open a sealed file.

    Args:
        file: A path or a file object; for reading, also a buffer.
        mode: ``rb`` reads, ``wb`` creates or replaces a file, ``xb`` creates a new one; ``rt``, ``wt`` and ``xt`` do so
            with text. Modes without ``t`` are binary.
        keyset: The keys. A reader tries the enabled keys on the last segment, which also shows that the file is not
            truncated. A writer uses the primary key.
        associated_data: Authenticated data, the same for writer and reader. It is not stored in the file.
        encoding: The encoding of text; by default UTF-8 on every machine.
        errors: The treatment of encoding errors, as for ``io.TextIOWrapper``.
        newline: The treatment of line ends, as for ``io.TextIOWrapper``.

    Returns:
        A SealedReader or a SealedWriter; for text an ``io.TextIOWrapper`` or a SealedTextWriter.

    Raises:
        ValueError: ``mode`` is another one, or a binary mode is combined with an argument for text.
        InvalidTag: Reading: no key of the keyset opens the file, or the file was altered or truncated.
        FileExistsError: ``xb``, ``xt``: there is a file at the path.
        OSError: The file cannot be read or written.
    """
    if mode not in ("r", "w", "x", "rb", "wb", "xb", "rt", "wt", "xt"):
        raise ValueError(f"mode must be rb, wb or xb, or for text rt, wt or xt, not {mode!r}")
    is_text = mode.endswith("t")
    if is_text:  # now, not when a file is begun
        encoding = codecs.lookup(encoding or "utf-8").name
        io.TextIOWrapper(io.BytesIO(), encoding, errors, newline)
    elif encoding is not None or errors is not None or newline is not None:
        raise ValueError(f"encoding, errors and newline are for text: mode {mode[0]}t, not {mode!r}")
    if mode[0] == "r":
        reader = SealedReader(file, keyset, associated_data)
        return io.TextIOWrapper(reader, encoding, errors, newline) if is_text else reader
    writer = SealedWriter(file, keyset, associated_data, overwrite=mode[0] == "w")
    return SealedTextWriter(writer, encoding, errors, newline) if is_text else writer
