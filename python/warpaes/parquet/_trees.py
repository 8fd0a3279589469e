"""Folders of Parquet files. Each file in a folder gets the same path in the output folder. Links below a folder are not
followed."""

from __future__ import annotations

import concurrent.futures
import contextlib
import errno
import io
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from .._output import Output

SUFFIXES = (".parquet", ".parq", ".pq")
#: Maximum number of threads. Further threads would wait for the GIL, although the native code releases it.
_MOST_THREADS = 4


@dataclass(frozen=True, slots=True)
class Job:
    """A file to process."""

    path: str
    target: str | None
    name: str  #: the path in the folder, with slashes, which the AAD prefix contains
    folder: str | None = None  #: the given folder that contains the file, or None
    output: str | None = None  #: the output folder

    @contextlib.contextmanager
    def opened(self) -> Iterator[str | io.FileIO]:
        """Open the file if it was found in a folder. Otherwise, yield its path."""
        if self.folder is None:
            yield self.path
            return
        with self._named(self.path), _folder_of(self.folder, self.name) as folder:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            file = io.FileIO(os.open(os.path.basename(self.name), flags, dir_fd=folder), "rb")
        with file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OSError(errno.EINVAL, "is not a regular file", self.path)
            yield file

    @contextlib.contextmanager
    def result(self, *, replace: bool, secret: bool) -> Iterator[Output]:
        """Write the result, which appears in the output folder or at the given target."""
        assert self.target is not None
        if self.folder is None or self.output is None:
            with Output(self.target, replace=replace, secret=secret) as output:
                yield output
            return
        os.makedirs(self.output, exist_ok=True)
        with contextlib.ExitStack() as stack:
            with self._named(self.target):
                folder = stack.enter_context(_folder_of(self.output, self.name, make=True))
                name = os.path.basename(self.name)
                output = stack.enter_context(Output(name, replace=replace, secret=secret, folder=folder))
            yield output

    @staticmethod
    @contextlib.contextmanager
    def _named(path: str) -> Iterator[None]:
        """Add the full path to errors."""
        try:
            yield
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from None


_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC


@contextlib.contextmanager
def _folder_of(root: str, name: str, make: bool = False) -> Iterator[int]:
    """Open the folder of a file below a root. ``make``: whether to create missing folders."""
    folder = os.open(root, _FOLDER)
    try:
        for part in name.split("/")[:-1]:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=folder)
            try:
                deeper = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
            except NotADirectoryError:
                raise OSError(errno.ENOTDIR, "a folder in the path is a link, which is not followed") from None
            os.close(folder)
            folder = deeper
        yield folder
    finally:
        os.close(folder)


def jobs(paths: Iterable[str], output: str | None, recursive: bool) -> tuple[list[Job], list[str]]:
    """Return the files to process, and the skipped files in the folders, which are links or not Parquet files.

    Raises:
        ValueError: A path is a folder and ``recursive`` is False; ``output`` is within such a folder, or is not a
            folder although there are several files; or two files would have the same target.
        OSError: A folder cannot be read.
    """
    given = list(paths)
    found: list[Job] = []
    others: list[str] = []
    for path in given:
        if not os.path.isdir(path):
            found.append(Job(path, _target(output, path, len(given)), os.path.basename(path)))
            continue
        if not recursive:
            raise ValueError(f"'{path}' is a folder; use --recursive to process the files in it")
        if output is not None and _is_within(output, path):
            raise ValueError(f"--output: '{output}' is inside '{path}'")
        for folder, below, files in os.walk(path, onerror=_raise):
            below.sort()
            for file in sorted(files):
                whole = os.path.join(folder, file)
                name = os.path.relpath(whole, path)
                if not file.endswith(SUFFIXES) or os.path.islink(whole) or not os.path.isfile(whole):
                    others.append(whole)
                    continue
                target = None if output is None else os.path.join(output, name)
                found.append(Job(whole, target, name.replace(os.sep, "/"), path, output))
    if len({one.target for one in found if one.target is not None}) < sum(one.target is not None for one in found):
        raise ValueError("two of the files have the same name; process their folders into different output folders")
    return found, others


def _raise(error: OSError) -> None:
    raise error


def _is_within(path: str, folder: str) -> bool:
    folder = os.path.realpath(folder)
    return os.path.commonpath([os.path.realpath(path), folder]) == folder


def _target(output: str | None, path: str, count: int) -> str | None:
    if output is None:
        return None
    if os.path.isdir(output):
        return os.path.join(output, os.path.basename(path))
    if count > 1:
        raise ValueError(f"--output: '{output}' must be a directory for several files")
    return output


def prefix(text: str | None, name: str, bound: bool) -> bytes | None:
    """Return a file's AAD prefix: the text and, with ``bound``, a slash and the file's name."""
    if not bound:
        return None if text is None else text.encode()
    return f"{text}/{name}".encode() if text else name.encode()


def each(work: Callable[[Job], None], found: list[Job], threads: int) -> None:
    """Process several files in parallel. After the first failure, only the files in progress are finished."""
    threads = min(threads, _MOST_THREADS, len(found))
    if threads < 2:
        for one in found:
            work(one)
        return
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        pending = [pool.submit(work, one) for one in found]
        try:
            for future in pending:
                future.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
