"""Gives rows to workers, and takes note of what becomes of them."""

from __future__ import annotations

import heapq
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from .manifest import PENDING, Row
from .pool import Pool
from .progress import Progress
from .storage import WINDOW, CredentialsError
from .worker import Config

#: A row that as many workers died with is given to a worker alone, and if they go on dying, it is the row.
SUSPECT = 4
#: Workers that die one after the other, without anything done in between, before the job is given up.
DEATHS_IN_A_ROW = 20


class StoppedError(Exception):
    """The job was given up; what is done is in the manifest."""


class Dispatcher:
    """One pass over rows: each is done, or ends in an error of its own."""

    def __init__(
        self,
        rows: list[Row],
        pool: Pool,
        config: Config,
        progress: Progress,
        attempts: int,
        max_errors: int | None,
        every_while: Callable[[], None],
    ) -> None:
        """`every_while` is called between events: it saves, and looks whether the job may go on."""
        self.rows, self.pool, self.config, self.progress = rows, pool, config, progress
        self.attempts, self.max_errors, self.every_while = attempts, max_errors, every_while
        self._slots: list[set[int]] = [set() for _ in range(pool.size)]
        self._alone: dict[int, int] = {}  # slot: row
        self._failed_with: dict[int, int] = {}
        self._before: dict[int, int] = {}
        self._died_alone: dict[int, int] = {}
        self._deaths_in_a_row = 0

    def run(self, what: str, numbers: list[int], state: str = "", failed: str = "") -> None:
        """Do something to these rows; those that succeed or fail get these states, or keep theirs."""
        size = {n: self.rows[n].size for n in numbers}
        self._before = {n: self.rows[n].attempt for n in numbers}  # of earlier passes and runs
        self._large = deque(sorted((n for n in numbers if size[n] > WINDOW), key=lambda n: -size[n]))
        self._small = deque(n for n in numbers if size[n] <= WINDOW)
        self._suspects: deque[int] = deque()
        self._later: list[tuple[float, int]] = []
        self._what, self._state, self._failed = what, state, failed
        left = set(numbers)
        while left:
            self._give()
            for slot, events in self.pool.poll(0.5):
                if events is None:
                    self._died(slot, left)
                else:
                    for number, event in events:
                        self._note(slot, number, event, left)
            self.progress.in_flight = sum(len(slot) for slot in self._slots)
            self.progress.tell()
            self.every_while()

    # ------------------------------------------------------------------------------------------------------ giving

    def _give(self) -> None:
        now = time.monotonic()
        while self._later and self._later[0][0] <= now:
            number = heapq.heappop(self._later)[1]
            (self._large if self.rows[number].size > WINDOW else self._small).append(number)
        for slot, has in enumerate(self._slots):
            if self._suspects and not has:
                self._alone[slot] = self._suspects.popleft()
                self._submit(slot, [self._alone[slot]])
            elif slot not in self._alone and not (self._suspects and slot < len(self._suspects)):
                self._fill(slot, has)

    def _fill(self, slot: int, has: set[int]) -> None:
        """Let a worker have twice as much as it works on: large ones as its memory allows, small ones beside them."""
        room = 2 * self.config.threads - len(has)
        if room < self.config.threads // 2 and has:
            return
        held = sum(self._memory(number) for number in has if self.rows[number].size > WINDOW)
        chosen: list[int] = []
        # The last ones are shared.
        share = -(-len(self._large) // len(self._slots))
        while len(chosen) < min(room, share) and (
            held == 0 or held + self._memory(self._large[0]) <= self.config.memory
        ):
            chosen.append(self._large.popleft())
            held += self._memory(chosen[-1])
        room -= len(chosen)
        share = -(-len(self._small) // len(self._slots))
        for _ in range(min(room, len(self._small), max(share, 8))):
            chosen.append(self._small.popleft())
        if chosen:
            self._submit(slot, chosen)

    def _memory(self, number: int) -> int:
        return self.config.memory_of(self._what, self.rows[number].size)

    def _submit(self, slot: int, numbers: list[int]) -> None:
        for number in numbers:
            self.rows[number].attempt += 1
        self._slots[slot].update(numbers)
        self.pool.submit(slot, [(number, self._what, self.rows[number]) for number in numbers])

    # ------------------------------------------------------------------------------------------------------- taking

    def _note(self, slot: int, number: int, event: dict[str, Any], left: set[int]) -> None:
        row = self.rows[number]
        if number not in self._slots[slot]:
            return
        if "upload_id" in event:
            row.upload_id = event["upload_id"]
            return
        self._deaths_in_a_row = 0
        self._slots[slot].discard(number)
        if self._alone.get(slot) == number:
            del self._alone[slot]
        if "error" in event:
            failures = row.attempt - self._before[number] - self._failed_with.get(number, 0)
            if event["kind"] == CredentialsError.__name__:
                raise StoppedError(f"{event['error']}; the same command goes on when that is mended")
            if event["final"] or failures >= self.attempts:
                self._fail(number, event["error"], left)
            else:
                self.progress.retries += 1
                heapq.heappush(self._later, (time.monotonic() + min(30.0, 0.5 * 2**failures), number))
            return
        for name, value in event.items():
            if name in Row.__slots__:
                setattr(row, name, value)
        row.error = row.upload_id = ""
        row.state = self._state or row.state
        left.discard(number)
        if self._what == "remove":
            return
        self.progress.adopted += bool(event.get("adopted"))
        if computed_on := event.get("computed_on"):
            self.progress.computed_on[computed_on] += 1
        self.progress.done_objects += 1
        self.progress.run_objects += 1
        self.progress.done_bytes += max(row.size, 0)
        self.progress.run_bytes += max(row.size, 0)

    def _fail(self, number: int, error: str, left: set[int]) -> None:
        row = self.rows[number]
        row.error = error
        row.state = self._failed or row.state
        left.discard(number)
        self.progress.errors += 1
        if self.max_errors is not None and self.progress.errors > self.max_errors:
            raise StoppedError(f"more than {self.max_errors} objects have failed, the last by: {error}")

    def _died(self, slot: int, left: set[int]) -> None:
        """Give what a dead worker had to others. It may have been one of the rows that killed it."""
        self.progress.deaths += 1
        self._deaths_in_a_row += 1
        had, self._slots[slot] = self._slots[slot], set()
        alone = self._alone.pop(slot, None)
        if alone is None and self._deaths_in_a_row > DEATHS_IN_A_ROW:
            raise StoppedError(f"{self._deaths_in_a_row} workers have died one after the other, with nothing done")
        for number in had:
            self._failed_with[number] = self._failed_with.get(number, 0) + 1
            self.progress.retries += 1
            if number == alone:
                self._died_alone[number] = self._died_alone.get(number, 0) + 1
                if self._died_alone[number] >= self.attempts:
                    self._fail(number, f"{self.attempts} workers have died of this object alone", left)
                    continue
            if self._failed_with[number] >= SUSPECT:
                self._suspects.append(number)
            else:
                (self._large if self.rows[number].size > WINDOW else self._small).appendleft(number)


def pending(rows: list[Row]) -> list[int]:
    """Return the numbers of rows that are still to be done."""
    return [number for number, row in enumerate(rows) if row.state == PENDING]
