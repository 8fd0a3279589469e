"""A lock on a target, by which jobs on different machines detect each other.

Objects are safe without the lock, because writes are conditional. The lock prevents two jobs from doing the same work.
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
#: The path of the locks of shards below bulk's folder.
LOCKS = "locks/"
#: The interval in seconds at which a holder renews its lock, and the age in seconds of a stale lock.
BEAT, EXPIRY = 10.0, 60.0


def _boot() -> str:
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()


def _begun(process: int) -> str:
    """Return a process's start time, which distinguishes it from a later process with the same ID; "" if the process
    does not exist."""
    try:
        with open(f"/proc/{process}/stat") as file:
            state, *rest = file.read().rpartition(")")[2].split()
            return "" if state == "Z" else rest[18]
    except (OSError, ValueError):  # ValueError: the lock does not name a process
        return ""


def _numbers() -> str:
    """Return the namespace of process IDs. Containers with the same machine name may have different namespaces."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


class LockedError(Exception):
    """Another job is working on the target."""


class Lock:
    """A lock that is held within a `with` block. `lost` is set if another job takes the lock, which happens after
    `expiry` seconds without renewal."""

    def __init__(
        self, storage: Storage, command: str, beat: float = BEAT, expiry: float = EXPIRY, name: str = NAME
    ) -> None:
        """Prepare a lock without acquiring it. `name` is the name of the lock object."""
        self._storage, self._beat, self._expiry, self._name = storage, beat, expiry, name
        self._seen, self._silent_since = "", 0.0
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
        """Acquire the lock if it is free, or if its holder has died or does not renew it."""
        while not self.attempt():
            time.sleep(self._beat / 4)
        return self

    def attempt(self) -> bool:
        """Acquire the lock, or raise LockedError if its holder is alive. Return False if it is not known yet whether
        the holder is alive; the caller then calls ``attempt`` again."""
        while True:
            try:
                return self._hold(None)
            except ExistsError:
                pass
            try:
                data, version = self._storage.get(self._name)
            except (MissingError, ChangedError):
                continue
            other = read_lock(data)
            if version != self._seen:
                heard, self._seen, self._silent_since = bool(self._seen), version, time.monotonic()
                if heard:
                    raise LockedError(_sentence(self._storage.url, other))
            here = all(other.get(name) == self._mine[name] for name in ("boot", "host", "numbers"))
            lives = here and isinstance(other["process"], int) and _begun(other["process"]) == other["begun"]
            # Clocks of different machines are not comparable, so a lock is stale if it does not change. An attacker may
            # also have restored an old lock whose process ID now belongs to another process.
            if (lives or not here) and time.monotonic() - self._silent_since <= self._expiry:
                if lives:
                    raise LockedError(_sentence(self._storage.url, other))
                return False
            try:
                return self._hold(version)
            except ExistsError:
                continue

    def watch(self) -> bool:
        """Acquire the lock if it is free or has not been renewed since the first call. Return False while its holder
        may be alive."""
        try:
            return self.attempt()
        except LockedError:
            return False

    def _hold(self, replaces: str | None) -> bool:
        self._version = self._storage.put(self._name, self._text(), replaces)
        self._thread.start()
        return True

    def _live(self) -> None:
        heard = time.monotonic()
        while not self._end.wait(self._beat):
            self._mine["beats"] += 1
            try:
                self._version = self._storage.put(self._name, self._text(), self._version)
                heard = time.monotonic()
            except ExistsError:
                self.lost = True
                return
            except Exception:
                # Other jobs wait for the full expiry time after their first check, so this limit is early enough.
                if time.monotonic() - heard > self._expiry * 0.8:
                    self.lost = True
                    return

    def check(self) -> None:
        """Raise LockedError if another job has taken the lock."""
        if self.lost:
            raise LockedError(
                f"another job has taken the lock on {self._storage.url}, or it cannot be renewed; this job has stopped"
            )

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Release the lock."""
        self.release()

    def release(self) -> None:
        """Release the lock."""
        self._end.set()
        self._thread.join()
        if self.lost:
            return
        try:
            entry = self._storage.stat(self._name)
            if entry.version == self._version:
                self._storage.remove(entry)
        except (ChangedError, MissingError):
            return


def read_lock(data: bytes) -> dict[str, Any]:
    """Read another process's lock. If the lock is unreadable, return placeholders."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = {}
    names = ("process", "host", "command", "since", "boot", "numbers", "begun")
    known = found if isinstance(found, dict) else {}
    return {name: known[name] if isinstance(known.get(name), str | int) else "?" for name in names}


def _sentence(url: str, other: dict[str, Any]) -> str:
    return (
        f"{url}: process {other['process']} on {other['host']} is working on it "
        f"({other['command']}, {other['since']}); wait until it ends, or end it"
    )


class Claims:
    """The shards that this driver processes when several drivers share a job. Each shard has its own lock."""

    def __init__(self, storage: Storage, command: str, beat: float, expiry: float) -> None:
        """Start with no shards."""
        self._storage, self._command, self._times = storage, command, (beat, expiry)
        self._tried: dict[int, Lock] = {}
        self._held: dict[int, Lock] = {}

    def claim(self, shard: int) -> bool:
        """Claim a shard. Return False if another driver has claimed it or has just released it."""
        name = f"{FOLDER}{LOCKS}{shard}"
        lock = self._tried.setdefault(shard, Lock(self._storage, self._command, *self._times, name))
        try:
            if not lock.attempt():
                return False
        except LockedError:
            return False
        self._held[shard] = self._tried.pop(shard)
        return True

    def release(self, shard: int) -> None:
        """Release a shard, so that other drivers can claim it."""
        self._held.pop(shard).release()

    def close(self) -> None:
        """Release all shards, so that other drivers can claim them."""
        for shard in list(self._held):
            self.release(shard)

    def check(self) -> None:
        """Raise LockedError if another driver has taken a shard, because this driver did not renew its lock in time."""
        for lock in self._held.values():
            lock.check()
