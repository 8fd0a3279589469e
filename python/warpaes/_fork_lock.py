"""Locks that are unlocked in a child of ``fork``, even if another thread of the parent held them."""

from __future__ import annotations

import os
import threading
import weakref
from types import TracebackType


class ForkLock:
    """A lock for a ``with`` block. The guarded state must be consistent after every statement of the block."""

    def __init__(self) -> None:
        """Create the lock, unlocked."""
        self._lock = threading.Lock()
        _locks.add(self)

    def __enter__(self) -> None:
        """Acquire the lock."""
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Open it."""
        self._lock.release()


_locks: weakref.WeakSet[ForkLock] = weakref.WeakSet()


def _after_fork() -> None:
    for lock in _locks:
        lock._lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)
