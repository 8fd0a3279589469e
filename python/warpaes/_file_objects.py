"""Reading and writing of sealed files through file objects of other packages, which implement only parts of the
protocol.

A file object that can seek is read at any position. Other file objects, such as a pipe or the body of an HTTP response,
are read forward.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import io
import os
import select
import stat
from collections.abc import Callable
from typing import Any

from ._fork_lock import ForkLock

#: Exceptions that packages raise for unimplemented calls.
_MISSING = (AttributeError, NotImplementedError, io.UnsupportedOperation)

ReadAt = Callable[[int, memoryview], None]


def keeps_no_view(file: Any) -> bool:
    """Return whether a file object belongs to Python's io module, whose file objects keep no view of the caller's
    memory."""
    below = file.raw if type(file) in (io.BufferedReader, io.BufferedWriter, io.BufferedRandom) else file
    return type(below) in (io.FileIO, io.BytesIO)


def check_binary(file: Any, *methods: str) -> None:
    """Check that an argument is a binary file object.

    Raises:
        TypeError: The argument has none of the methods, or is a text file.
    """
    for one in (file, getattr(file, "file", None), getattr(file, "_file", None)):  # tempfile's wrappers contain a file
        if isinstance(one, (io.TextIOBase, codecs.StreamReader, codecs.StreamWriter, codecs.StreamReaderWriter)):
            raise TypeError(f"{_kind(file)} is a text file; open it in a binary mode, or pass its buffer")
    if not any(hasattr(file, method) for method in methods):
        hint = "; pass socket.makefile('rwb')" if hasattr(file, "recv_into") else ""
        hint = "; pass a path, or os.fdopen() of the descriptor" if isinstance(file, int) else hint
        raise TypeError(f"{_kind(file)} is neither a path nor a file object with {methods[0]}(){hint}")


def _kind(file: Any) -> str:
    return f"'{type(file).__module__}.{type(file).__qualname__}'".replace("builtins.", "")


def _inherits(file: Any, question: str, method: str) -> bool:
    """Return whether a file object's class defines ``method`` but inherits ``question`` from IOBase."""
    kind = type(file)
    return getattr(kind, question, None) is getattr(io.IOBase, question) and (
        getattr(kind, method, None) is not getattr(io.IOBase, method, None)
    )


def _below(file: Any) -> Any:
    """Return the file object that one of Python's compressed files or archives reads from, or None."""
    raw = getattr(file, "raw", file)
    if type(raw).__module__ not in ("gzip", "bz2", "lzma", "tarfile"):
        return None
    return getattr(raw, "fileobj", None) or getattr(raw, "_fp", None)


def can_seek(file: Any) -> bool:
    """Return whether a file object can be read at any position."""
    try:
        if not file.seekable() and not _inherits(file, "seekable", "seek"):
            return False
    except _MISSING:
        if not hasattr(file, "seek"):
            return False
    below = _below(file)
    # tarfile's streams can only seek forward, but report that they can seek.
    return below is None or (can_seek(below) and type(below).__name__ != "_Stream")


def position_of(file: Any) -> int:
    """Return the current position of a seekable file object."""
    try:
        at = file.tell()
    except _MISSING:
        at = file.seek(0, io.SEEK_CUR)
    return at if isinstance(at, int) else 0


def read_at(file: Any) -> tuple[ReadAt, int] | None:
    """Return a thread-safe function that fills a buffer from an offset in a file object, and the file's size.

    Return None if the file object cannot seek after all.
    """
    _check_open_for(file, "readable", "reading")
    # The descriptor is used only if no layer between it and the file object changes or buffers the bytes. A write
    # buffer is such a layer, and the descriptor of gzip.GzipFile is that of the compressed file.
    plain = file.raw if type(file) is io.BufferedReader else file
    if type(plain) is io.FileIO and stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return _read_descriptor(file), os.fstat(file.fileno()).st_size

    try:
        size = file.seek(0, io.SEEK_END)
        if size is None:
            size = file.tell()
    except OSError as error:
        if isinstance(error, io.UnsupportedOperation) or error.errno == errno.ESPIPE:
            return None
        raise
    except _MISSING:
        return None
    lock = ForkLock()
    fill = _fill_of(file)

    def read_object(offset: int, buffer: memoryview) -> None:
        with lock:
            file.seek(offset)
            at = 0
            while at < len(buffer):
                got = fill(buffer[at:])
                if not got:
                    raise OSError(
                        f"the file returned {at} of {len(buffer)} bytes; it was truncated, or its data is not ready"
                    )
                at += got

    return read_object, size


def after(read: ReadAt, start: int) -> ReadAt:
    """Return a function that reads at offsets relative to byte ``start`` of a file."""
    return lambda offset, buffer: read(start + offset, buffer)


def _check_open_for(file: Any, question: str, purpose: str) -> None:
    """Check that one of Python's own file objects is open for reading or writing. Other file objects may not report
    this."""
    known = isinstance(file, (io.FileIO, io.BufferedReader, io.BufferedWriter, io.BufferedRandom))
    if known and not getattr(file, question)():
        raise io.UnsupportedOperation(f"{_kind(file)} is not open for {purpose}")


def _read_descriptor(file: Any) -> ReadAt:
    def read(offset: int, buffer: memoryview) -> None:
        at = 0
        while at < len(buffer):
            got = os.preadv(file.fileno(), [buffer[at:]], offset + at)  # does not use the shared file position
            if got == 0:
                raise OSError(f"the file ends at byte {offset + at}; it was truncated")
            at += got

    return read


def read_next(file: Any) -> Callable[[memoryview], int]:
    """Return a function that reads the next bytes of a file object into a buffer. It returns the number of bytes, or 0
    at the end.

    If the file object supports this, the function waits only for the first byte.
    """
    _check_open_for(file, "readable", "reading")
    fill = _fill_of(file, "readinto1")

    def read(buffer: memoryview) -> int:
        while (got := fill(buffer)) is None:
            _wait(file)
        return got

    return read


def _wait(file: Any) -> None:
    """Wait until a nonblocking file object has data."""
    try:
        descriptor = file.fileno()
    except (OSError, *_MISSING):
        raise BlockingIOError(errno.EAGAIN, f"{_kind(file)} has no data ready, and no descriptor to wait for") from None
    poll = select.poll()  # select() does not support descriptors of 1024 and above
    poll.register(descriptor, select.POLLIN)
    poll.poll()


def _fill_of(file: Any, preferred: str = "readinto") -> Callable[[memoryview], int | None]:
    """Return a function that reads into a buffer, like ``readinto``, with the object's best method."""
    for name in (preferred, "readinto"):
        # readinto1 is used only for Python's own classes, because other classes may implement it like readinto.
        if hasattr(file, name) and (name == "readinto" or isinstance(file, io.BufferedIOBase)):
            return _checked(file, getattr(file, name))
    return _by_read(file)


def _checked(file: Any, readinto: Callable[[memoryview], Any]) -> Callable[[memoryview], int | None]:
    by_read = _by_read(file) if hasattr(file, "read") else None
    use = readinto

    def fill(buffer: memoryview) -> int | None:
        nonlocal use
        got: int | None
        try:
            got = use(buffer)
        except (NotImplementedError, io.UnsupportedOperation):
            if by_read is None or use is by_read:
                raise
            use = by_read
            got = use(buffer)
        if got is not None and not 0 <= got <= len(buffer):
            raise OSError(
                f"{_kind(file)} returned {got} as the number of bytes read into a buffer of {len(buffer)} bytes"
            )
        return got

    return fill


def _by_read(file: Any) -> Callable[[memoryview], int | None]:
    def fill(buffer: memoryview) -> int | None:
        data = file.read(len(buffer))
        if data is None:
            return None
        if isinstance(data, str):
            raise TypeError(f"{_kind(file)} returned text; open it in a binary mode")
        if len(data) > len(buffer):
            raise OSError(f"{_kind(file)} returned {len(data)} bytes, but at most {len(buffer)} were requested")
        buffer[: len(data)] = data
        return len(data)

    return fill


def write_all(file: Any) -> Callable[[memoryview], None]:
    """Return a function that writes all of a buffer to a file object."""
    check_binary(file, "write")
    _check_open_for(file, "writable", "writing")
    raw = isinstance(file, io.RawIOBase)

    def write(piece: memoryview) -> None:
        while len(piece) > 0:
            written = file.write(piece)
            if written is None:
                if raw:  # other objects that return None, such as paramiko's, have written all bytes
                    raise BlockingIOError(errno.EAGAIN, f"{_kind(file)} would block; pass a blocking file object")
                return
            if not 0 < written <= len(piece):
                raise OSError(f"{_kind(file)} returned {written} as the number of bytes written, of {len(piece)}")
            piece = piece[written:]

    return write


def flush(file: Any) -> None:
    """Flush a file object if it supports this, so that a failed write of its buffer raises an exception now and not in
    ``close``."""
    method = getattr(file, "flush", None)
    if method is not None:
        with contextlib.suppress(NotImplementedError, io.UnsupportedOperation):
            method()


def named(error: Exception, path: str) -> Exception:
    """Return the library's error about a file's content, with the file's name added."""
    said = str(error)
    if not said.startswith("input: "):
        return error
    return type(error)(f"'{path}': {said.removeprefix('input: ')}")


def why_not_opened(error: OSError, path: str) -> OSError:
    """Return the operating system's error for a file that could not be read, with errno and path."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as found:
        return found
    try:
        return _of_number(errno.EISDIR, path) if stat.S_ISDIR(os.fstat(descriptor).st_mode) else error
    finally:
        os.close(descriptor)


def why_not_created(error: OSError, path: str) -> OSError:
    """Return the operating system's error for a file that could not be created, with errno and path."""
    if os.path.isdir(path):
        return _of_number(errno.EISDIR, path)
    if isinstance(error, FileExistsError):
        return _of_number(errno.EEXIST, path)
    folder = os.path.dirname(path) or "."
    try:
        if not stat.S_ISDIR(os.stat(folder).st_mode):
            return _of_number(errno.ENOTDIR, path)
    except OSError as found:
        return OSError(found.errno, found.strerror, path)
    return error if os.access(folder, os.W_OK | os.X_OK) else _of_number(errno.EACCES, path)


def _of_number(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
