"""A cache that keeps values for some time. The first thread that needs a value creates it."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from ._fork_lock import ForkLock

#: The time in seconds for which keys opened by a key manager or a passphrase are kept before they are opened again.
KEPT_SECONDS = 900.0

Value = TypeVar("Value")


class _Entry(Generic[Value]):
    def __init__(self) -> None:
        self.ended = threading.Event()
        self.values: list[Value] = []  #: contains the value once it is created
        self.error: Exception | None = None
        self.until = 0.0


class Kept(Generic[Value]):
    """Values by name. Threads that need the same value wait for the thread that creates it. Other threads do not
    wait."""

    def __init__(self, most: int, seconds: float = float("inf")) -> None:
        """Keep at most ``most`` of the most recently used values, each for at most ``seconds``."""
        self._most, self._seconds = most, seconds
        self._lock = ForkLock()
        self._entries: OrderedDict[Hashable, _Entry[Value]] = OrderedDict()
        self._process = os.getpid()
        self._next = float("inf")  #: the time when the first value expires

    def __len__(self) -> int:
        """Return the number of values that are kept or being created."""
        return len(self._entries)

    def get(
        self, name: Hashable, make: Callable[[], Value], is_valid: Callable[[Value], bool] = lambda _: True
    ) -> Value:
        """Return a value.

        If the value is missing, expired or invalid, ``make`` creates it. An exception of ``make`` is raised in every
        thread that waits for the value, and is not kept.
        """
        while True:
            with self._lock:
                self._forget_old()
                entry = self._entries.get(name)
                if entry is not None and entry.values and not is_valid(entry.values[0]):
                    entry = None
                is_mine = entry is None
                if entry is None:
                    entry = self._entries[name] = _Entry()
                self._entries.move_to_end(name)
            if is_mine:
                return self._made(name, entry, make)
            entry.ended.wait()
            if entry.values:
                return entry.values[0]
            if entry.error is not None:
                raise entry.error

    def kept(self, name: Hashable) -> Value | None:
        """Return a value if it is kept, otherwise None."""
        with self._lock:
            self._forget_old()
            entry = self._entries.get(name)
            return entry.values[0] if entry is not None and entry.values else None

    def forget_old(self) -> None:
        """Discard expired values. The other methods also do this."""
        with self._lock:
            self._forget_old()

    def forget(self, name: Hashable, value: Value) -> None:
        """Discard a value unless it has been replaced."""
        with self._lock:
            entry = self._entries.get(name)
            if entry is not None and entry.values and entry.values[0] is value:
                del self._entries[name]

    def _made(self, name: Hashable, entry: _Entry[Value], make: Callable[[], Value]) -> Value:
        try:
            value = make()
        except BaseException as error:
            with self._lock:
                if self._entries.get(name) is entry:
                    del self._entries[name]
            entry.error = error if isinstance(error, Exception) else None
            entry.ended.set()
            raise
        with self._lock:
            entry.values.append(value)
            entry.until = time.monotonic() + self._seconds
            self._next = min(self._next, entry.until)
            self._forget_most()
        entry.ended.set()
        return value

    def _forget_old(self) -> None:
        if self._process != os.getpid():  # the parent's threads that were creating values do not exist in this process
            self._entries = OrderedDict((name, entry) for name, entry in self._entries.items() if entry.values)
            self._process = os.getpid()
        now = time.monotonic()
        if now < self._next:
            return
        for name, entry in list(self._entries.items()):
            if entry.values and entry.until <= now:
                del self._entries[name]
        self._next = min((entry.until for entry in self._entries.values() if entry.values), default=float("inf"))

    def _forget_most(self) -> None:
        made = [name for name, entry in self._entries.items() if entry.values]
        for name in made[: max(len(made) - self._most, 0)]:
            del self._entries[name]
