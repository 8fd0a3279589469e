"""Finds the mutants that the tests detect (switched_tests.py). The quickest tests of a mutant's room first run with
that mutant only. All other tests of all rooms then run with all survivors together, and failing tests run again with
each survivor separately."""

from __future__ import annotations

import bisect
import itertools
import time
from collections.abc import Callable
from threading import Lock

from switched_tests import Case, Program, Tests, batches

# Tests with one mutant at a time run in rounds, the quickest tests first. These are the total times in seconds of the
# tests up to the end of each round, as measured without a mutant.
AT_ONCE = (1, 5, 20)
# Tests run with all survivors in batches, each in one process. This is the maximum total time in seconds of a batch's
# tests, as measured without a mutant.
LONGEST_BATCH = 30


class Judge:
    """`mutants` maps numbers to {"room", "file", "line", "before", "after"}. `results` maps the numbers, as text, to
    outcomes. It contains earlier outcomes and receives new outcomes. `keep` is called after each outcome. No mutant and
    no batch of tests starts after the time `end`."""

    def __init__(
        self, tests: Tests, mutants: dict[int, dict], results: dict[str, dict], end: float, keep: Callable[[], None]
    ):
        self.tests, self.mutants, self.results, self.end, self.keep = tests, mutants, results, end, keep
        self.before = dict(results)
        self.reaching = {n: [case for case in tests.cases.values() if n in case.reaches] for n in mutants}
        self.met: dict[int, set[str]] = {number: set() for number in mutants}
        self.seconds = dict.fromkeys(mutants, 0.0)
        self.killed: set[int] = set()
        self.lock = Lock()

    def kills(self, case: Case, number: int) -> bool:
        """Return whether a test fails with a mutant and passes without the mutant. A test that fails in both cases,
        such as a timed test on a busy machine, has not detected the mutant."""
        start = time.monotonic()
        failed = self.tests.fails(case, [number])
        with self.lock:
            self.seconds[number] += time.monotonic() - start
            self.met[number].add(str(case))
        if failed and self.tests.fails(case, []):
            print(f"also fails without {number}: {case}", flush=True)
            return False
        return failed

    def settle(self, number: int, killer: Case | None) -> None:
        mutant = self.mutants[number]
        with self.lock:
            if number in self.killed:
                return
            open_ = not killer and any(str(case) not in self.met[number] for case in self.reaching[number])
            lives = "LIVES SO FAR" if open_ else "SURVIVED" if self.reaching[number] else "UNSEEN"
            print(
                f"{'killed' if killer else lives} {number} {mutant['file']}:{mutant['line']}  {mutant['before']}"
                f"  ==>  {mutant['after'].strip()}  {killer or ''} {self.seconds[number]:.1f} s",
                flush=True,
            )
            found = {
                **mutant,
                "after": mutant["after"].strip(),
                "killed_by": str(killer) if killer else None,
                "seconds": round(self.seconds[number], 1),
            }
            if open_:
                found["unsettled"] = True
            known = self.before.get(str(number), {})
            if killer:
                self.killed.add(number)
                if known.get("killed_by", "") is None and "unsettled" not in known:
                    found["since"] = True
            elif "because" in known:
                found["because"] = known["because"]
            self.results[str(number)] = found
            self.keep()

    def alone(self, number: int, names: set[str]) -> None:
        """Run the quickest tests of these programs with the mutant. If none of their tests executes the mutant, run
        tests of other programs."""
        if time.monotonic() >= self.end:
            return
        own = [case for case in self.reaching[number] if case.program.name in names] or self.reaching[number]
        own.sort(key=lambda case: case.seconds)
        seconds = list(itertools.accumulate(case.seconds for case in own))
        begin = 0
        for budget in AT_ONCE:
            end = bisect.bisect_right(seconds, budget)
            chosen: dict[str, list[Case]] = {}
            for case in own[begin:end]:
                chosen.setdefault(case.program.name, []).append(case)
            begin = end
            for cases in chosen.values():
                for batch in batches(cases, budget):
                    if killer := self.first_of(batch, number):
                        self.settle(number, killer)
                        return
        self.settle(number, None)

    def first_of(self, batch: list[Case], number: int) -> Case | None:
        """Return the first test in the batch that detects the mutant."""
        while batch:
            start = time.monotonic()
            names = [case.name for case in batch]
            outcome = self.tests.run(batch[0].program, names, [number], self.tests.limit(batch), first=True)
            with self.lock:
                self.seconds[number] += time.monotonic() - start
                self.met[number] |= {str(case) for case in batch if case.name in outcome.passed}
            failed = next((case for case in batch if case.name in outcome.failed), None)
            if failed and not self.tests.fails(failed, []):
                return failed
            batch = [case for case in batch if case.name not in outcome.passed and case is not failed]
        return None

    def together(self, program: Program) -> None:
        """Run the program's tests with all mutants that have survived so far."""
        cases = [case for case in self.tests.cases.values() if case.program.name == program.name]
        for batch in batches(sorted(cases, key=lambda case: case.seconds), LONGEST_BATCH):
            self.all_with(batch)

    def all_with(self, batch: list[Case]) -> None:
        def open_in(case: Case) -> set[int]:
            return {n for n in case.reaches & self.met.keys() - self.killed if str(case) not in self.met[n]}

        while time.monotonic() < self.end and (batch := [case for case in batch if open_in(case)]):
            here = set().union(*(open_in(case) for case in batch))
            names = [case.name for case in batch]
            outcome = self.tests.run(batch[0].program, names, sorted(here), self.tests.limit(batch))
            with self.lock:
                for case in batch:
                    if case.name in outcome.passed:
                        for number in here & case.reaches:
                            self.met[number].add(str(case))
            failed = [case for case in batch if case.name in outcome.failed] or batch[:1]
            if all(case.name in outcome.passed for case in batch):
                return
            for number in sorted(open_in(failed[0])):
                if self.kills(failed[0], number):
                    self.settle(number, failed[0])
