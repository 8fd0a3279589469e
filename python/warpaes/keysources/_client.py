"""Access to the official clients of key managers, with one client for each process and a time limit for requests."""

from __future__ import annotations

import concurrent.futures
import contextvars
import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from .._fork_lock import ForkLock
from ._source import UnavailableError

#: The time limit in seconds for a request, including its retries and requests for credentials. The timeouts of the
#: official clients restart with every byte that arrives.
MOST_SECONDS = 120.0
#: Maximum number of requests of a source that may continue after the time limit, each in a thread.
MOST_LATE = 4
#: Maximum size of a key manager's answer, which contains a key or a keyset.
MOST_KEY_ANSWER = 64 << 10

Answer = TypeVar("Answer")


class Client:
    """A client that is created at first use, and again in a process created by ``fork``, because connections belong to
    the parent."""

    def __init__(self, name: str, make: Callable[[], Any]) -> None:
        """Store the function that creates clients. ``name`` is the source's name in messages."""
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
        """Call ``request`` with the client and return its result.

        Raises:
            UnavailableError: The request, or too many earlier requests, exceeded the time limit.
        """
        self._late = [thread for thread in self._late if thread.is_alive()]
        if len(self._late) >= MOST_LATE:
            raise UnavailableError(
                f"{self._name}: {len(self._late)} earlier requests are still unanswered; try again later"
            )
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
        """Discard the client. If it belongs to this process, pass it to ``close`` first."""
        with self._lock:
            if self._made is not None and self._process == os.getpid():
                close(self._made)
            self._made = None
