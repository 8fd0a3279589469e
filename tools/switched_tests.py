"""Runs the tests of a tree with mutants (switched_tree.py). Records each test's time and the mutants that it executes,
and runs many tests in one process, with one or several mutants."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

# Time limit in seconds. No test takes this long without a mutant, so a test that exceeds it hangs because of a mutant.
LIMIT = 420
# Filters from CMakeLists.txt for programs that also contain tests of other backends.
FILTERS = {
    "test_abi": "-UnknownGpu.*:*GcmVectors.FromElsewhere*",
    "test_abi_simulated": "*cuda*:Backends.*:EngineTest.*:Plans.*-*GcmVectors.FromElsewhere*",
    "test_abi_batch_simulated": "*cuda*:*AbiBatchDevice*",
    "test_secrets": "-*/cuda",
    "test_streams_simulated": "*cuda*",
    "test_secrets_simulated": "*SecretsTest*cuda",
}
NOT_HERE = "-*soak*:*MonteCarlo*"
# A program that lists the tests in a Python file.
LISTING = """
import importlib, sys, unittest
sys.path.insert(0, "")
def tests(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite): tests(test)
        else: print(test.id().split(".", 1)[1])
tests(unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(sys.argv[1])))
"""
SKIPPED = 77
# Maximum length in characters of the case names passed to a program, because the system limits the length of an
# argument.
MOST_NAMES = 100_000


@dataclass(frozen=True)
class Program:
    """A GoogleTest or unittest program with its cases, or a test that runs as a whole, with the single case ""."""

    name: str
    command: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    folder: Path
    kind: str  # "gtest", "unittest", "whole"

    def with_cases(self, cases: list[str]) -> list[str]:
        if self.kind == "gtest":
            return [*self.command, f"--gtest_filter={':'.join(cases)}"]
        return [*self.command, *cases]


@dataclass
class Case:
    program: Program
    name: str
    seconds: float = 0.0
    reaches: frozenset[int] = frozenset()

    def __str__(self) -> str:
        return f"{self.program.name} {self.name}".rstrip()


@dataclass
class Outcome:
    passed: set[str]
    failed: set[str]


def outcome_of_gtest(output: str) -> Outcome:
    passed = set(re.findall(r"\[       OK \] ([\w/.]+)", output)) | set(
        re.findall(r"\[  SKIPPED \] ([\w/.]+) \(", output)
    )
    failed = set(re.findall(r"\[  FAILED  \] ([\w/.]+)(?:, where| \(\d)", output))
    begun = re.findall(r"\[ RUN      \] ([\w/.]+)", output)
    if begun and begun[-1] not in passed:
        failed.add(begun[-1])  # the case was killed, or it crashed the program
    return Outcome(passed - failed, failed)


def outcome_of_unittest(output: str, cases: list[str]) -> Outcome:
    """Return the results in the output of `-v`. A killed program has printed the name of the running case and the
    results of earlier cases."""
    begun = re.findall(r"^(\w+) \(__main__\.(\w+)(.*?)(?=^\w+ \(__main__\.|\Z)", output, re.MULTILINE | re.DOTALL)
    went = {
        f"{group}.{name}": re.search(r" \.\.\. .*?\b(ok|skipped)\b", rest, re.DOTALL) for name, group, rest in begun
    }
    failed = set()
    for name, group in re.findall(r"^(?:FAIL|ERROR): (\w+) \(__main__\.(\w+)", output, re.MULTILINE):
        failed |= {f"{group}.{name}"} if name.startswith("test") else {c for c in cases if c.split(".")[0] == group}
    if not re.search(r"^Ran \d+ tests? in", output, re.MULTILINE):
        failed |= {case for case, well in went.items() if not well}
    return Outcome({case for case, well in went.items() if well} & set(cases) - failed, failed)


class Tests:
    def __init__(self, build: Path, workplace: Path, jobs: int):
        self.build, self.workplace, self.jobs = build, workplace, jobs
        self.cases: dict[str, Case] = {}
        self.left_out: list[str] = []
        self.listed: list[dict] = []

    def programs(self, tests: Iterable[str]) -> list[Program]:
        """Return the programs for `tests`. A test is a GoogleTest program below build/tests, or a pattern for names of
        ctest's tests, which starts with "^"."""
        found: dict[str, Program] = {}
        for test in tests:
            for program in self.of_ctest(test) if test.startswith("^") else [self.of_gtest(test)]:
                found[program.name] = program
        return list(found.values())

    def of_gtest(self, test: str) -> Program:
        environment = (("WARPAES_TEST_SIMULATED", "1"),) if test.endswith("_simulated") else ()
        return Program(test, (str(self.build / "tests" / test),), environment, self.build, "gtest")

    def of_ctest(self, pattern: str) -> list[Program]:
        if not self.listed:
            command = ["ctest", "--test-dir", self.build, "--show-only=json-v1"]
            shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            self.listed = json.loads(shown)["tests"]
        programs = []
        for test in self.listed:
            if not re.search(pattern, test["name"]) or "command" not in test:
                continue
            properties = {entry["name"]: entry["value"] for entry in test.get("properties", [])}
            environment = tuple(tuple(entry.split("=", 1)) for entry in properties.get("ENVIRONMENT", []))
            command = test["command"]
            kind = "whole"
            if command[-1] == "-v" and command[-2].endswith(".py"):
                kind = "unittest"
            elif Path(command[0]).name.startswith("test_"):
                kind = "gtest"
            folder = Path(properties.get("WORKING_DIRECTORY", self.build))
            programs.append(Program(test["name"], tuple(command), environment, folder, kind))
        return programs

    def list_of(self, program: Program) -> list[str]:
        if program.kind == "whole":
            return [""]
        if program.kind == "unittest":
            file = Path(program.command[-2])
            command = [program.command[0], "-B", "-c", LISTING, file.stem]
            return self.said(program, command, file.parent).split()
        command = [*program.command, "--gtest_list_tests"]
        if not any(part.startswith("--gtest_filter") for part in command):
            command.append(f"--gtest_filter={FILTERS.get(Path(command[0]).name, NOT_HERE)}")
        found, group = [], ""
        for line in self.said(program, command, program.folder).splitlines():
            name = line.split("#")[0].rstrip()
            if re.fullmatch(r"[\w/]+\.", name):
                group = name
            elif re.fullmatch(r"  [\w/]+", name) and "DISABLED_" not in group + name:
                found.append(group + name.strip())
        return found

    def said(self, program: Program, command: list[str], folder: Path) -> str:
        environment = self.environment(program, [])
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(f"left out: {program.name}, whose tests cannot be listed: {done.stderr}", flush=True)
            self.left_out.append(program.name)
            return ""
        return done.stdout

    # The commands that run the tests.

    def environment(self, program: Program, mutants: Iterable[int], reached: str = "") -> dict[str, str]:
        chosen = {"WARPAES_MUTANT": ",".join(map(str, mutants)), "WARPAES_MUTANTS_REACHED": reached}
        return os.environ | dict(program.environment) | chosen

    def run(
        self,
        program: Program,
        cases: list[str],
        mutants: Iterable[int],
        limit: float,
        first: bool = False,
        reached: str = "",
    ) -> Outcome:
        """Run these cases of a program. With `first`, stop at the first failure. Cases that neither passed nor failed
        did not run."""
        command = program.with_cases(cases) if program.kind != "whole" else list(program.command)
        if first and program.kind != "whole":
            command.append("--gtest_fail_fast" if program.kind == "gtest" else "--failfast")
        with tempfile.TemporaryFile("w+", dir=self.workplace, errors="replace") as log:
            process = subprocess.Popen(
                command,
                cwd=program.folder,
                env=self.environment(program, mutants, reached),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            try:
                status = process.wait(timeout=limit)
            except subprocess.TimeoutExpired:
                status = None
            # This call also kills child processes that a test left running.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            log.seek(0)
            output = log.read()
        if program.kind == "whole":
            return Outcome({""}, set()) if status in (0, SKIPPED) else Outcome(set(), {""})
        if status in (0, SKIPPED):
            return Outcome(set(cases), set())
        found = outcome_of_gtest(output) if program.kind == "gtest" else outcome_of_unittest(output, cases)
        found = Outcome(found.passed & set(cases), found.failed & set(cases))
        if not found.failed:
            # The program ended before the first case or after the last case.
            found.failed.add(cases[-1])
            found.passed.discard(cases[-1])
        return found

    def fails(self, case: Case, mutants: Iterable[int]) -> bool:
        return bool(self.run(case.program, [case.name], mutants, self.limit([case])).failed)

    def limit(self, cases: list[Case]) -> float:
        return min(LIMIT, 40 + 8 * sum(case.seconds for case in cases))

    # The mutants that the cases execute.

    def built(self, program: Program) -> int:
        """Return the newest modification time of the program, the shared libraries and the command."""
        made = [path for path in self.build.glob("*.so*") if path.is_file()] + list(self.build.glob("cli/warpaes"))
        made += [Path(part) for part in program.command if part.startswith("/") and Path(part).is_file()]
        return max(path.stat().st_mtime_ns for path in made)

    def look(self, programs: list[Program], known_in: Path) -> None:
        """Run the cases without a mutant, and record each case's time and the mutants that it executes. Failing cases
        are excluded, because a constant-time test may fail if a switch changed the code that it measures."""
        known = json.loads(known_in.read_text()) if known_in.exists() else {}
        lock = threading.Lock()

        def one(case: Case, built: int) -> None:
            with tempfile.NamedTemporaryFile(dir=self.workplace, suffix=".reached") as reached:
                reached.write(bytes(4096))
                reached.flush()
                start = time.monotonic()
                failed = self.run(case.program, [case.name], [], LIMIT, reached=reached.name).failed
                case.seconds = round(time.monotonic() - start, 2)
                numbers = [number for number, byte in enumerate(Path(reached.name).read_bytes()) if byte]
            with lock:
                known[str(case)] = {"built": built, "seconds": case.seconds, "reaches": numbers, "fails": bool(failed)}

        todo: list[tuple[Case, int]] = []
        chosen: list[Case] = []
        with ThreadPoolExecutor(self.jobs) as pool:
            for program, names in zip(programs, pool.map(self.list_of, programs), strict=True):
                built = self.built(program)
                for name in names:
                    case = Case(program, name)
                    chosen.append(case)
                    if known.get(str(case), {"fails": True})["fails"] or known[str(case)]["built"] != built:
                        todo.append((case, built))
            print(f"{len(chosen)} tests; {len(todo)} of them run without a mutant first", flush=True)
            list(pool.map(lambda item: one(*item), todo))
        for case, built in todo:
            if known[str(case)]["fails"]:
                one(case, built)  # the case may fail only while other cases run
        known_in.write_text(json.dumps(known))
        for case in chosen:
            of_it = known[str(case)]
            if of_it["fails"]:
                print(f"excluded: {case} does not pass without a mutant", flush=True)
                self.left_out.append(str(case))
            else:
                case.seconds, case.reaches = of_it["seconds"], frozenset(of_it["reaches"])
                self.cases[str(case)] = case


def batches(cases: list[Case], seconds: float) -> Iterable[list[Case]]:
    """Split the cases of one program, in order, into batches within a time limit. A batch exceeds the limit only if it
    contains a single case."""
    batch: list[Case] = []
    for case in cases:
        names = sum(len(other.name) + 1 for other in batch) + len(case.name)
        if batch and (sum(other.seconds for other in batch) + case.seconds > seconds or names > MOST_NAMES):
            yield batch
            batch = []
        batch.append(case)
    if batch:
        yield batch
