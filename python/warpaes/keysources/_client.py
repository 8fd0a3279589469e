"""Clients of key managers that their makers publish: one for each process, and asked with a limit of time."""

from __future__ import annotations

import concurrent.futures
import contextvars
import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from .._fork_lock import ForkLock
from ._source import UnavailableError

#: Seconds for a request with all its repetitions and what credentials need. The clients' own limits start again with
#: every byte that arrives.
MOST_SECONDS = 120.0
#: Requests of one source that may still wait after their time, each in a thread.
MOST_LATE = 4
#: As long as an answer of a key manager may be: it holds a key or a keyset.
MOST_KEY_ANSWER = 64 << 10

Answer = TypeVar("Answer")


class Client:
    """A client that is made at first use, and again in a child of ``fork``: connections are the parent's."""

    def __init__(self, name: str, make: Callable[[], Any]) -> None:
        """Use ``make`` for clients of the source ``name``."""
        self._name, self._make = name, make
        self._lock = ForkLock()
        self._made: Any = None
        self._process = 0
        self._late: list[threading.Thread] = []

    def get(self) -> Any:
        """Return this process's client."""
        with self._lock:
            if self._made is None or self._process != os.getpid():
                self._made, self._process = self._make(), os.getpid()
            return self._made

    def ask(self, request: Callable[[Any], Answer]) -> Answer:
        """Return what ``request`` returns for the client.

        Raises:
            UnavailableError: It takes too long, or too many earlier ones still do.
        """
        self._late = [thread for thread in self._late if thread.is_alive()]
        if len(self._late) >= MOST_LATE:
            raise UnavailableError(f"{self._name}: {len(self._late)} earlier requests still have no answer")
        future: concurrent.futures.Future[Answer] = concurrent.futures.Future()
        context = contextvars.copy_context()

        def work() -> None:
            try:
                future.set_result(context.run(lambda: request(self.get())))
            except BaseException as error:
                future.set_exception(error)

        thread = threading.Thread(target=work, daemon=True, name="warpaes-key-manager")
        thread.start()
        if not concurrent.futures.wait([future], MOST_SECONDS).done:
            self._late.append(thread)
            raise UnavailableError(f"{self._name}: no complete answer within {MOST_SECONDS:g} s")
        return future.result()

    def close(self, close: Callable[[Any], None]) -> None:
        """Forget the client, after ``close`` if it is this process's."""
        with self._lock:
            if self._made is not None and self._process == os.getpid():
                close(self._made)
            self._made = None
