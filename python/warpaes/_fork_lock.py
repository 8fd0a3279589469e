"""Locks that are free in a process created by ``fork``, even if another thread of the parent held them."""

from __future__ import annotations

import os
import threading
import weakref


def ForkLock() -> threading.Lock:  # noqa: N802 (a factory, like threading.Lock)
    """Return a lock for a ``with`` block. After every statement in the block, the guarded state must be consistent.

    The lock is not a Python class, because a KeyboardInterrupt in ``__enter__`` or ``__exit__`` would leave it locked.
    """
    lock = threading.Lock()
    _locks.add(lock)
    return lock


_locks: weakref.WeakSet[threading.Lock] = weakref.WeakSet()


def _after_fork() -> None:
    for lock in _locks:
        lock._at_fork_reinit()  # type: ignore[attr-defined]  # Python's own modules also call this method


os.register_at_fork(after_in_child=_after_fork)
