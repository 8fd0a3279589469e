"""The threads of a worker. It uses as many threads for small objects as are needed to keep a processor busy."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from .rows import Row

SMALL = 256 << 10  #: objects up to this size, in bytes, cost more in Python than in the library
LOOK = 0.05  #: seconds between two measurements of processor time
BUSY = 0.8  #: processor seconds per second; at or above this load, another thread does not help

Task = tuple[int, str, Row]


class RowThreads:
    """Processes rows in up to ``most`` threads. If ``nearby`` is true, small objects are at first processed by one
    thread.

    Threads pass the GIL to each other at every system call. If storage responds immediately, as for files in memory or
    in the page cache, several threads process small objects at half the rate of a single thread. Otherwise, the
    processor is idle, and :meth:`adapt` doubles the number of threads for small objects.
    """

    def __init__(self, run: Callable[[int, str, Row], None], most: int, nearby: bool) -> None:
        """Store the arguments without starting a thread. ``run`` processes a row and does not raise. ``nearby``:
        whether storage may respond immediately."""
        self._run, self._most = run, most
        self._small_limit = 1 if nearby else most
        self._small: deque[Task] = deque()
        self._large: deque[Task] = deque()
        self._running_small = self._running = 0
        self._lock = threading.Lock()
        self._executor = ThreadPoolExecutor(most, "row")
        self._looked = (time.monotonic(), time.process_time())

    def submit(self, tasks: list[Task]) -> None:
        """Queue rows. Small rows keep their order, and so do large rows."""
        with self._lock:
            for task in tasks:
                (self._small if 0 <= task[2].size <= SMALL else self._large).append(task)
            self._start()

    def adapt(self) -> None:
        """Allow more threads for small objects if rows wait while the processor is idle. Checks at most once in LOOK
        seconds."""
        now = time.monotonic()
        before, used_before = self._looked
        if now - before < LOOK:
            return
        used = time.process_time()
        self._looked = (now, used)
        with self._lock:
            if self._small and used - used_before < BUSY * (now - before):
                self._small_limit = min(self._most, 2 * self._small_limit)
                self._start()

    @property
    def may_adapt(self) -> bool:
        """Return whether rows wait for a thread that :meth:`adapt` could allow."""
        return bool(self._small) and self._small_limit < self._most

    def close(self) -> None:
        """Discard the rows that have not been started, and wait for the rows in progress."""
        with self._lock:
            self._small.clear()
            self._large.clear()
        self._executor.shutdown()

    def _start(self) -> None:
        """Start threads for rows that may run. The caller holds the lock."""
        while (task := self._next()) is not None:
            self._executor.submit(self._work, *task)

    def _next(self) -> tuple[Task, bool] | None:
        """Return the next row that may run, and whether it counts as small. The caller holds the lock."""
        if self._running == self._most:
            return None
        if self._small and self._running_small < self._small_limit:
            self._running += 1
            self._running_small += 1
            return self._small.popleft(), True
        if self._large:
            self._running += 1
            return self._large.popleft(), False
        return None

    def _work(self, task: Task, small: bool) -> None:
        """Process a row, and then further rows."""
        while True:
            self._run(*task)
            with self._lock:
                self._running -= 1
                self._running_small -= small
                if (following := self._next()) is None:
                    return
            task, small = following
