"""Folders of Parquet files: every file in one has an output in another."""

from __future__ import annotations

import concurrent.futures
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass

SUFFIXES = (".parquet", ".parq", ".pq")
#: The native code releases the GIL; more threads would wait for it.
_MOST_THREADS = 4


@dataclass(frozen=True, slots=True)
class Job:
    """A file to process."""

    path: str
    target: str | None
    name: str  #: its path in the folder, with slashes, to which the AAD prefix binds it


def jobs(paths: Iterable[str], output: str | None, recursive: bool) -> tuple[list[Job], list[str]]:
    """Return the files to process, and files of the folders that are not Parquet.

    Raises:
        ValueError: A path is a folder without ``recursive``, or ``output`` is not a folder for several files.
        FileNotFoundError: A folder does not exist.
    """
    given = list(paths)
    found: list[Job] = []
    others: list[str] = []
    for path in given:
        if not os.path.isdir(path):
            found.append(Job(path, _target(output, path, len(given)), os.path.basename(path)))
            continue
        if not recursive:
            raise ValueError(f"'{path}' is a folder: --recursive processes the files in it")
        if output is not None and _is_within(output, path):
            raise ValueError(f"--output: '{output}' lies in '{path}'")
        for folder, below, files in os.walk(path, onerror=_raise):
            below.sort()
            for file in sorted(files):
                whole = os.path.join(folder, file)
                name = os.path.relpath(whole, path)
                if not file.endswith(SUFFIXES) or not os.path.isfile(whole):
                    others.append(whole)
                    continue
                target = None if output is None else os.path.join(output, name)
                found.append(Job(whole, target, name.replace(os.sep, "/")))
    if len({one.target for one in found if one.target is not None}) < sum(one.target is not None for one in found):
        raise ValueError("two of the files have the same name: process their folders into different ones")
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
    """Return the AAD prefix of a file: the text, and with ``bound`` a slash and the file's name after it."""
    if not bound:
        return None if text is None else text.encode()
    return f"{text}/{name}".encode() if text else name.encode()


def each(work: Callable[[Job], None], found: list[Job], threads: int) -> None:
    """Process files, several at a time. The first failure ends it; files in progress are finished."""
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
