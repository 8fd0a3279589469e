"""Locks that are unlocked in a child of ``fork``, even if another thread of the parent held them."""

from __future__ import annotations

import os
import threading
import weakref


def ForkLock() -> threading.Lock:  # noqa: N802 (a factory, like threading.Lock)
    """Return a lock for a ``with`` block. The guarded state must be consistent after every statement of the block.

    It is not a class in Python: KeyboardInterrupt in its ``__enter__`` or ``__exit__`` would leave it locked.
    """
    lock = threading.Lock()
    _locks.add(lock)
    return lock


_locks: weakref.WeakSet[threading.Lock] = weakref.WeakSet()


def _after_fork() -> None:
    for lock in _locks:
        lock._at_fork_reinit()  # type: ignore[attr-defined]  # the interpreter's own modules use it


os.register_at_fork(after_in_child=_after_fork)
