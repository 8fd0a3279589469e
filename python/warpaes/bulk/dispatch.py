"""Assigns rows to workers, shard by shard, and records the results in the manifest."""

from __future__ import annotations

import heapq
import random
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .config import Config
from .lock import Claims
from .manifest import Manifest, Shard
from .pool import Pool
from .progress import Progress
from .rows import DONE, ERROR, PENDING, REMOVED, Row
from .storage import WINDOW, CredentialsError

#: A row that was in progress when this many workers died is processed in a separate worker. If that worker also dies,
#: the row fails.
SUSPECT = 4
#: The number of consecutive deaths of workers without any progress after which the job stops.
DEATHS_IN_A_ROW = 20
#: Maximum number of shards with rows in flight. A shard begins while the last rows of the previous shard are processed.
SHARDS_OPEN = 3
#: Number of low bits of a row's number, which contain the row's position in its shard. The high bits contain the shard.
PLACE_BITS = 32
#: Seconds between checks of other drivers' shards.
WAIT = 1.0


class StoppedError(Exception):
    """The job was stopped; the manifest contains the finished rows."""


@dataclass(frozen=True)
class Task:
    """A task for rows: which rows to process, how to determine whether a shard contains such rows, and the states of
    the rows afterwards."""

    name: str
    wants: Callable[[Row], bool]
    has: Callable[[Shard], int]
    done: str = ""  #: state of rows that succeed; "" leaves it unchanged
    failed: str = ""


def _first(name: str) -> Task:
    return Task(name, lambda row: row.state == PENDING, lambda shard: shard.states.get(PENDING, 0), DONE, ERROR)


def _later(name: str) -> Task:
    return Task(name, lambda row: row.todo == name, lambda shard: shard.todo)


ENCRYPT, DECRYPT = _first("encrypt"), _first("decrypt")
REKEY, REWRAP, ADOPT = _later("rekey"), _later("rewrap"), _later("adopt")
REMOVE = Task("remove", lambda row: row.state == DONE, lambda shard: shard.states.get(DONE, 0), REMOVED)
VERIFY = Task(
    "verify", lambda row: row.is_sealed, lambda shard: shard.states.get(DONE, 0) + shard.states.get(REMOVED, 0)
)


class Dispatcher:
    """One pass over rows. Each row succeeds or fails with an error."""

    def __init__(
        self,
        manifest: Manifest,
        pool: Pool,
        config: Config,
        progress: Progress,
        attempts: int,
        max_errors: int | None,
        every_while: Callable[[], None],
        claims: Claims | None = None,
        waits: bool = True,
    ) -> None:
        """`every_while` is called between events. It saves the manifest and checks whether the job may continue.

        `claims` is set if other drivers work on the same job. `waits`: whether this driver waits for them to end.
        """
        self.manifest, self.pool, self.config, self.progress = manifest, pool, config, progress
        self.attempts, self.max_errors, self.every_while = attempts, max_errors, every_while
        self._slots: list[set[int]] = [set() for _ in range(pool.size)]
        self._alone: dict[int, int] = {}  # slot: row
        self._failed_with: dict[int, int] = {}
        self._before: dict[int, int] = {}
        self._died_alone: dict[int, int] = {}
        self._deaths_in_a_row = 0
        self._large: deque[int] = deque()
        self._small: deque[int] = deque()
        self._suspects: deque[int] = deque()
        self._later: list[tuple[float, int]] = []
        self._left: dict[int, int] = {}  # shard: rows that have not ended
        self._ahead = deque(range(len(manifest.shards)))  # shards
        self._claims, self._waits = claims, waits

    def run(self, task: Task) -> None:
        """Process the rows of a task."""
        self._task = task
        while self._left or self._ahead:
            self._begin_shards()
            self._give()
            if not self._left and self._ahead:
                time.sleep(WAIT)
            for slot, events in self.pool.poll(0.5) if self._left else ():
                if events is None:
                    self._died(slot)
                else:
                    for number, event in events:
                        self._note(slot, number, event)
            self.progress.in_flight = sum(len(slot) for slot in self._slots)
            self.progress.tell()
            self.every_while()

    def _row(self, number: int) -> Row:
        return self.manifest.rows_of(number >> PLACE_BITS)[number & ((1 << PLACE_BITS) - 1)]

    def _begin_shards(self) -> None:
        """Open shards until there are rows for the workers."""
        for _ in range(len(self._ahead)):
            if self._large or self._small or len(self._left) >= SHARDS_OPEN:
                return
            shard = self._ahead.popleft()
            if not self._task.has(self.manifest.shards[shard]):
                continue
            if self._claims is not None and not self._claims.claim(shard):
                if self._waits:
                    self._ahead.append(shard)
                continue
            self.manifest.claim(shard)
            rows = self.manifest.rows_of(shard)
            numbers = [shard << PLACE_BITS | place for place, row in enumerate(rows) if self._task.wants(row)]
            if self.config.names_key:  # otherwise, the storage would see the order of the plaintext names
                random.SystemRandom().shuffle(numbers)
            size = {number: self._row(number).size for number in numbers}
            self._before.update((number, self._row(number).attempt) for number in numbers)  # of earlier runs
            self._large.extend(sorted((n for n in numbers if size[n] > WINDOW), key=lambda n: -size[n]))
            self._small.extend(n for n in numbers if size[n] <= WINDOW)
            self._left[shard] = len(numbers)
            if not numbers:
                self._let_go(shard)

    def _end(self, number: int) -> None:
        """Record that a row has ended, and release its shard after the last row."""
        shard = number >> PLACE_BITS
        self.manifest.change(shard)
        for memory in (self._before, self._failed_with, self._died_alone):
            memory.pop(number, None)
        self._left[shard] -= 1
        if not self._left[shard]:
            self._let_go(shard)

    def _let_go(self, shard: int) -> None:
        del self._left[shard]
        self.manifest.close(shard)
        if self._claims is not None:
            self._claims.release(shard)

    # ------------------------------------------------------------------------------------------------------ giving

    def _give(self) -> None:
        now = time.monotonic()
        while self._later and self._later[0][0] <= now:
            number = heapq.heappop(self._later)[1]
            (self._large if self._row(number).size > WINDOW else self._small).append(number)
        for slot, has in enumerate(self._slots):
            if self._suspects and not has:
                self._alone[slot] = self._suspects.popleft()
                self._submit(slot, [self._alone[slot]])
            elif slot not in self._alone and not (self._suspects and slot < len(self._suspects)):
                self._fill(slot, has)

    def _fill(self, slot: int, has: set[int]) -> None:
        """Assign rows to a worker, up to twice as many as it processes in parallel: as many large rows as its memory
        permits, and small rows."""
        room = 2 * self.config.threads - len(has)
        if room < self.config.threads // 2 and has:
            return
        held = sum(self._memory(number) for number in has if self._row(number).size > WINDOW)
        chosen: list[int] = []
        # The last rows are divided among the workers.
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
        return self.config.memory_of(self._task.name, self._row(number).size)

    def _submit(self, slot: int, numbers: list[int]) -> None:
        for number in numbers:
            self._row(number).attempt += 1
        if self.config.envelope == "object" and self._task.name != "remove":
            self.manifest.job.wraps += len(numbers)
        self._slots[slot].update(numbers)
        self.pool.submit(slot, [(number, self._task.name, self._row(number)) for number in numbers])

    # ------------------------------------------------------------------------------------------------------- taking

    def _note(self, slot: int, number: int, event: dict[str, Any]) -> None:
        if number not in self._slots[slot]:
            return
        row = self._row(number)
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
                raise StoppedError(f"{event['error']}; correct this, and run the same command to continue")
            if event["final"] or failures >= self.attempts:
                self._fail(number, event["error"])
            else:
                self.progress.retries += 1
                heapq.heappush(self._later, (time.monotonic() + min(30.0, 0.5 * 2**failures), number))
            return
        for name, value in event.items():
            if name in Row.__slots__:
                setattr(row, name, value)
        row.error = row.upload_id = ""
        row.state = self._task.done or row.state
        size = max(row.size, 0)
        self._end(number)
        if self._task.name == "remove":
            return
        self.progress.adopted += bool(event.get("adopted"))
        if computed_on := event.get("computed_on"):
            self.progress.computed_on[computed_on] += 1
        self.progress.done_objects += 1
        self.progress.run_objects += 1
        self.progress.done_bytes += size
        self.progress.run_bytes += size

    def _fail(self, number: int, error: str) -> None:
        row = self._row(number)
        row.error = error
        row.state = self._task.failed or row.state
        self.progress.note_error(row.key if self._task.name == "verify" else row.source or row.key, error)
        self._end(number)
        self.progress.errors += 1
        if self.max_errors is not None and self.progress.errors > self.max_errors:
            raise StoppedError(f"more than {self.max_errors} objects have failed; last error: {error}")

    def _died(self, slot: int) -> None:
        """Reassign the rows of a dead worker. One of these rows may have caused its death."""
        self.progress.deaths += 1
        self._deaths_in_a_row += 1
        had, self._slots[slot] = self._slots[slot], set()
        alone = self._alone.pop(slot, None)
        if alone is None and self._deaths_in_a_row > DEATHS_IN_A_ROW:
            raise StoppedError(f"{self._deaths_in_a_row} workers have died in succession without any progress")
        for number in had:
            self._failed_with[number] = self._failed_with.get(number, 0) + 1
            self.progress.retries += 1
            if number == alone:
                self._died_alone[number] = self._died_alone.get(number, 0) + 1
                if self._died_alone[number] >= self.attempts:
                    self._fail(number, f"{self.attempts} workers died while processing only this object")
                    continue
            if self._failed_with[number] >= SUSPECT:
                self._suspects.append(number)
            else:
                (self._large if self._row(number).size > WINDOW else self._small).appendleft(number)
