"""Code shared by readers and writers of encrypted tensors: pieces of a file, and the threads that process them."""

from __future__ import annotations

import itertools
import os
import struct
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from .exceptions import InvalidTag

TAG_BYTES = 16
MOST_THREADS = 8
#: The maximum number of parts in a piece. It is below IOV_MAX, because one preadv call reads all parts.
MOST_PARTS = 512


def chunks_of(size: int, chunk: int) -> int:
    """Return the number of chunks in ``size`` bytes. An empty tensor has one empty chunk."""
    return max(1, -(-size // chunk))


def nonces(base: bytes, first: int, count: int) -> bytes:
    """Return the concatenated nonces of ``count`` chunks, starting with chunk ``first``."""
    fixed, start = base[:8], struct.unpack(">I", base[8:])[0]
    return b"".join(fixed + struct.pack(">I", start + i & 0xFFFFFFFF) for i in range(first, first + count))


class Tensor(NamedTuple):
    """A tensor's bytes, offset in the file, key, base nonce and tags. If it is not encrypted, the key is empty."""

    name: str
    data: Any
    size: int
    at: int
    key: bytes
    base: bytes
    tags: memoryview


class Part(NamedTuple):
    """Complete chunks of a tensor: bytes ``begin`` to ``end``. ``first`` is the index of the first chunk."""

    tensor: Tensor
    begin: int
    end: int
    first: int
    tags: memoryview

    @property
    def at(self) -> int:
        """The part's offset in the file."""
        return self.tensor.at + self.begin

    @property
    def size(self) -> int:
        """The part's size in bytes."""
        return self.end - self.begin

    @property
    def data(self) -> Any:
        """The part's bytes in memory."""
        return self.tensor.data[self.begin : self.end]

    def refused(self, number: int) -> InvalidTag:
        """Return the InvalidTag for chunk ``number`` of the tensor."""
        return InvalidTag(
            f"{self.tensor.name}: chunk {number} is not authentic: it was altered, or belongs to a different file"
        )


def cut(tensors: Iterable[Tensor], chunk: int, length: int, together: int) -> Iterator[list[Part]]:
    """Divide tensors into pieces: about ``length`` bytes of a long tensor, or about ``together`` bytes of short
    tensors.

    A piece consists of complete chunks, and its parts are adjacent in the file.
    """
    step = max(1, length // chunk) * chunk
    piece: list[Part] = []
    size = end = 0
    for tensor in tensors:
        for begin in range(0, max(tensor.size, 1), step):
            behind = min(begin + step, tensor.size)
            first = begin // chunk
            tags = tensor.tags[TAG_BYTES * first : TAG_BYTES * (first + chunks_of(behind - begin, chunk))]
            part = Part(tensor, begin, behind, first, tags)
            if piece and (size + part.size > together or part.at != end or len(piece) == MOST_PARTS):
                yield piece
                piece, size = [], 0
            piece.append(part)
            size += part.size
            end = part.at + part.size
    if piece:
        yield piece


def workers(useful: int) -> int:
    """Return ``useful``, limited to one thread per processor and to MOST_THREADS."""
    return max(1, min(MOST_THREADS, len(os.sched_getaffinity(0)), useful))


def start(threads: Iterable[threading.Thread], running: list[threading.Thread] | None = None) -> list[threading.Thread]:
    """Start threads and return those that were started. While the interpreter shuts down, it refuses to start threads.

    ``running`` is the list to return. It contains the started threads even if a signal interrupts the call.
    """
    running = [] if running is None else running
    for thread in threads:
        running.append(thread)
        try:
            thread.start()
        except RuntimeError:
            running.pop()
            break
    return running


def share(make_work: Callable[[], Callable[[Any], None]], pieces: Iterable[Any], threads: int) -> None:
    """Process all pieces, on this thread and ``threads - 1`` others. Each thread calls ``make_work`` once for its
    function.

    If pieces fail, the exception of the first failed piece, in the order of ``pieces``, is raised. KeyboardInterrupt
    takes precedence. All threads have ended when the function returns or raises.
    """
    left, numbers = iter(pieces), itertools.count()
    turn = threading.Lock()
    failed: list[tuple[int, BaseException]] = []

    def go() -> None:
        number = -1
        try:
            work = make_work()
            while not failed:
                with turn:
                    number = next(numbers)
                    piece = next(left, None)
                if piece is None:
                    return
                work(piece)
        except BaseException as error:
            failed.append((number, error))

    others: list[threading.Thread] = []
    try:
        start((threading.Thread(target=go, name="warpaes") for _ in range(threads - 1)), others)
        go()
        for thread in others:
            thread.join()
    except BaseException as error:  # for example KeyboardInterrupt; the threads stop after their current pieces
        failed.append((-1, error))
        for thread in others:
            if thread.is_alive():
                thread.join()
    # Threads take pieces in order, so all pieces before the first failed piece have been processed.
    if failed:
        raise min(failed, key=lambda failure: (isinstance(failure[1], Exception), failure[0]))[1]


class Ahead:
    """Threads that perform work in order, ahead of the consumer. The consumer itself performs work that no thread has
    begun."""

    class _Job:
        def __init__(self, work: Callable[[], Any]) -> None:
            self._work: Callable[[], Any] | None = work
            self._lock = threading.Lock()
            self._result: Any = None
            self._error: BaseException | None = None

        def do(self) -> None:
            # A caller that needs the result waits for this lock while another thread performs the work.
            with self._lock:
                work, self._work = self._work, None
                if work is None:
                    return
                try:
                    self._result = work()
                except BaseException as error:
                    self._error = error

        def result(self) -> Any:
            """Perform the work, or wait until a thread has performed it. Return the result or raise the exception."""
            self.do()
            if self._error is not None:
                raise self._error
            return self._result

        def finished(self) -> Any:
            """Return the result of work that has ended. Raise an exception if it failed or never began."""
            if self._result is None:
                raise ValueError("the work has no result")
            return self._result

    def __init__(self, threads: int) -> None:
        """Start the threads."""
        self._jobs: list[Ahead._Job] = []
        self._changed = threading.Condition()
        self._ended = False
        self._threads = start(threading.Thread(target=self._go, name="warpaes") for _ in range(threads))

    def submit(self, work: Callable[[], Any]) -> Ahead._Job:
        """Add work to the queue. Threads begin it after all work that was submitted earlier."""
        job = Ahead._Job(work)
        with self._changed:
            self._jobs.append(job)
            self._changed.notify()
        return job

    def _go(self) -> None:
        while True:
            with self._changed:
                while not self._jobs and not self._ended:
                    self._changed.wait()
                if self._ended:
                    return
                job = self._jobs.pop(0)
            job.do()

    def __enter__(self) -> Ahead:
        """Return this object."""
        return self

    def __exit__(self, *_: object) -> None:
        """Discard work that has not begun, and wait for work in progress."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
