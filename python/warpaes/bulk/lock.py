"""A lock on a target, by which two jobs notice each other, on whatever machines they run.

Objects are safe without it: what is written depends on what is there. It keeps two jobs from doing each other's work.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import uuid
from types import TracebackType
from typing import Any

from .storage import FOLDER, LOCK, ChangedError, ExistsError, MissingError, Storage

NAME = FOLDER + LOCK
#: How often a holder says that it lives, and for how long nobody needs to hear of it.
BEAT, EXPIRY = 10.0, 60.0


def _boot() -> str:
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()


def _begun(process: int) -> str:
    """Return when a process began, which tells it from a later one of its number; "" if there is none."""
    try:
        with open(f"/proc/{process}/stat") as file:
            state, *rest = file.read().rpartition(")")[2].split()
            return "" if state == "Z" else rest[18]
    except OSError:
        return ""


def _numbers() -> str:
    """Return which processes' numbers are known here: containers of one machine and name may have their own."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


class LockedError(Exception):
    """Another job works on the target."""


class Lock:
    """Held from `with` on; `lost` says that another job has taken it, as one does that hears nothing for a minute."""

    def __init__(self, storage: Storage, command: str, beat: float = BEAT, expiry: float = EXPIRY) -> None:
        """Nothing happens yet."""
        self._storage, self._beat, self._expiry = storage, beat, expiry
        self._mine: dict[str, Any] = {
            "holder": uuid.uuid4().hex,
            "command": command,
            "host": socket.gethostname(),
            "boot": _boot(),
            "numbers": _numbers(),
            "process": os.getpid(),
            "begun": _begun(os.getpid()),
            "beats": 0,
        }
        self._version = ""
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._live, daemon=True)
        self.lost = False

    def _text(self) -> bytes:
        return json.dumps({**self._mine, "since": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}).encode()

    def __enter__(self) -> Lock:
        """Take it: where nobody has it, or whoever had it has died or is silent."""
        silent_since, seen = time.monotonic(), ""
        while True:
            try:
                self._version = self._storage.put(NAME, self._text(), None)
                break
            except ExistsError:
                pass
            try:
                data, version = self._storage.get(NAME)
            except (MissingError, ChangedError):
                continue
            other = read_lock(data)
            if version != seen:
                if seen:
                    raise LockedError(_sentence(self._storage.url, other))
                seen, silent_since = version, time.monotonic()
            here = all(other.get(name) == self._mine[name] for name in ("boot", "host", "numbers"))
            if here and _begun(other["process"]) == other["begun"]:
                raise LockedError(_sentence(self._storage.url, other))
            # Clocks of other machines say nothing: that it does not change while we look does.
            if here or time.monotonic() - silent_since > self._expiry:
                try:
                    self._version = self._storage.put(NAME, self._text(), version)
                    break
                except ExistsError:
                    continue
            time.sleep(self._beat / 4)
        self._thread.start()
        return self

    def _live(self) -> None:
        heard = time.monotonic()
        while not self._end.wait(self._beat):
            self._mine["beats"] += 1
            try:
                self._version = self._storage.put(NAME, self._text(), self._version)
                heard = time.monotonic()
            except ExistsError:
                self.lost = True
                return
            except Exception:
                # Others wait for an expiry since they have looked first, so this is early enough.
                if time.monotonic() - heard > self._expiry * 0.8:
                    self.lost = True
                    return

    def check(self) -> None:
        """Raise LockedError if another job has taken it."""
        if self.lost:
            raise LockedError(f"another job has taken {self._storage.url}, or it cannot be reached: this one ends")

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Give it back."""
        self._end.set()
        self._thread.join()
        if self.lost:
            return
        try:
            entry = self._storage.stat(NAME)
            if entry.version == self._version:
                self._storage.remove(entry)
        except (ChangedError, MissingError):
            return


def read_lock(data: bytes) -> dict[str, Any]:
    """Read another's lock; of what is none it is only known whether it changes."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = {}
    names = ("process", "host", "command", "since", "boot", "numbers", "begun")
    return {name: found.get(name, "?") if isinstance(found, dict) else "?" for name in names}


def _sentence(url: str, other: dict[str, Any]) -> str:
    return (
        f"{url}: process {other['process']} on {other['host']} works on it ({other['command']}, {other['since']}): "
        "wait for its end, or end it"
    )
