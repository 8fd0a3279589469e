#!/usr/bin/env python3
"""Do the tests notice? Changes one line at a time, builds what is concerned and runs the tests of that room.

    tools/mutants.py --count 200               so many mutants, spread over the rooms of src, include and cli
    tools/mutants.py src/batch/clashes.cpp     of these files
    tools/mutants.py --room batch --count 20   of this room
    tools/mutants.py --list mutants.json       these: [{"file", "line", "after"}]
    tools/mutants.py --record                  the score to bench/results/robustness

The mutants are universalmutator's (PyPI), one a line, drawn with --seed. What does not compile does not count. The tree
itself is not touched: mutants are built in copies under build/mutants, one a job. A survivor that may live, because it
changes speed alone or nothing at all, gets its reason into the record by hand ("because").
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from recording import ROOT, file_for, output_of, processor, stamp

BUILD = ROOT / "build/mutants"
RESULTS = ROOT / "bench/results/robustness"

# A room's tests, the quickest first: programs of GoogleTest's below build/tests, or names for `ctest -R`.
ENGINE = "batch/test_batch_parts batch/test_batch planner/test_planner hpp/test_hpp"
ABI = "batch/test_abi_batch abi/test_abi"
FILES = "pipeline/test_pipeline streams/test_streams format/test_format"
SIMULATED = "batch/test_abi_batch_simulated simulated/test_batch_simulated simulated/test_gcm_simulated"
COMMAND = "^cli ^faults.processes ^project.exports"
SECRETS = "secrets/test_secrets secrets/test_secrets_simulated"
ROOMS = {
    "src/aes": f"cpu/test_cpu batch/test_batch {ABI} {SIMULATED} {SECRETS} ^constant_time",
    "src/backend": f"{ENGINE} base/test_base cpu/test_cpu {ABI} {SIMULATED} {SECRETS}",
    "src/base": f"base/test_base {ENGINE} {FILES} {ABI} {SECRETS} {COMMAND}",
    "src/batch": f"{ENGINE} {ABI} {SIMULATED} batch/test_batch_faults {SECRETS}",
    "src/calibration": f"planner/test_planner planner/test_planner_simulated {SECRETS} ^cli.plan",
    "src/capi": f"hpp/test_hpp {ABI} {FILES} planner/test_planner {SECRETS} {COMMAND}",
    "src/cpu": f"cpu/test_cpu batch/test_batch {ABI} {SECRETS} ^constant_time",
    "src/cuda": f"{SIMULATED} pipeline/test_pipeline_simulated {SECRETS} batch/test_batch_faults"
    " message/test_message_simulated format/test_format_simulated abi/test_abi_simulated",
    "src/engine": f"{ENGINE} planner/test_planner_simulated {ABI} {FILES} {SIMULATED} {SECRETS} ^cli.plan",
    "src/format": f"{FILES} {SECRETS} faults/test_faults {COMMAND}",
    "src/message": f"hpp/test_hpp {ABI} abi/test_abi_simulated message/test_message_simulated {SIMULATED} {SECRETS}",
    "src/pipeline": f"{FILES} pipeline/test_pipeline_simulated {ABI} {SECRETS} faults/test_faults {COMMAND}",
    "include/warpaes": "hpp/test_hpp streams/test_streams batch/test_abi_batch",
    "cli": f"{COMMAND}",
}
# Lines of declarations alone, of the lab, of benchmarks and of other people's kernels.
NOT_HERE = re.compile(r"include/warpaes/device|include/warpaes/warpaes\.h$|cli/bench")
# Longer than any test takes; a mutant that hangs is noticed too.
LIMIT = 420


def room_of(path: str) -> str:
    return max((room for room in ROOMS if path.startswith(room + "/")), key=len, default="")


def files_of(room: str) -> list[str]:
    names = output_of("git", "ls-files", room).splitlines()
    return [name for name in names if re.search(r"\.(cpp|hpp|cu|cuh)$", name) and not NOT_HERE.search(name)]


def is_code(line: str) -> bool:
    text = line.strip()
    nothing = r"//|/?\*|#|}|using |namespace |static_assert|template|\[\[nodiscard\]\]$|public:|private:"
    return len(text) > 3 and not re.match(nothing, text)


def may_compile(old: str, new: str) -> bool:
    """Rules that know no C++ take the brackets of templates for comparisons."""
    brackets = re.compile(r"\w<[\w:]|>[&*(\s]*\w*[>,(]")
    return len(brackets.findall(old)) == len(brackets.findall(new)) and not re.search(r"<=>|[<>]==|[-+]1\)_t", new)


def mutants_of(file: str, generator: random.Random) -> list[dict]:
    """One for every line that has any, in random order."""
    lines = (ROOT / file).read_text().splitlines()
    by_line: dict[int, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        name = Path(folder) / (Path(file).stem + ".cpp")
        shutil.copy(ROOT / file, name)
        command = [ROOT / ".venv/mutants/bin/mutate", name.name, "--noCheck", "--mutantDir", folder]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        for path in sorted(Path(folder).glob("*.mutant.*")):
            mutated = path.read_text().splitlines()
            if len(mutated) != len(lines):
                continue  # a `break` or `continue` on a line of its own
            for number, (old, new) in enumerate(zip(lines, mutated, strict=True)):
                if old != new and is_code(old) and (may_compile(old, new) or "/*" in new):
                    by_line.setdefault(number, []).append(new)
    chosen = [
        {"file": file, "line": number + 1, "before": lines[number].strip(), "after": generator.choice(sorted(found))}
        for number, found in sorted(by_line.items())
    ]
    generator.shuffle(chosen)
    return chosen


def choose(arguments, generator: random.Random) -> list[list[dict]]:
    """Candidates; of each list the first that compiles is taken."""
    if arguments.list:
        chosen = json.loads(Path(arguments.list).read_text())
        for mutant in chosen:
            mutant["before"] = (ROOT / mutant["file"]).read_text().splitlines()[mutant["line"] - 1].strip()
        return [[mutant] for mutant in chosen]
    if arguments.files:
        share = -(-arguments.count // len(arguments.files))
        return [mutants_of(file, generator)[begin::share] for file in arguments.files for begin in range(share)]
    rooms = [room for room in ROOMS if not arguments.room or room.endswith(arguments.room)]
    sizes = {room: {file: len((ROOT / file).read_text().splitlines()) for file in files_of(room)} for room in rooms}
    total = sum(sum(files.values()) for files in sizes.values())
    slots = []
    for files in sizes.values():
        # By size, but no room is too small to count.
        share = max(8, round(arguments.count * sum(files.values()) / total)) if len(rooms) > 1 else arguments.count
        for file in generator.choices(list(files), weights=list(files.values()), k=share):
            slots.append(mutants_of(file, generator)[:30])
    return slots


class Copy:
    """A copy of the tree with a build of its own."""

    def __init__(self, number: int):
        self.log = BUILD / f"{number}.log"
        self.source = BUILD / str(number)
        self.build = self.source / "build/cpu-only"
        self.source.mkdir(parents=True, exist_ok=True)
        for name in output_of("git", "ls-files").splitlines():
            target = self.source / name
            if not target.exists() or target.read_bytes() != (ROOT / name).read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, target)
        if not (self.source / ".venv").exists():
            (self.source / ".venv").symlink_to(ROOT / ".venv")
        options = {"WARPAES_CMAKE_OPTIONS": "-DWARPAES_LAB=OFF"}
        if not self.run("tools/build", "cpu-only", "warpaes", environment=os.environ | options):
            sys.exit(f"mutants: the tree as it is does not build; see {self.log}")
        listed = subprocess.run(
            ["cmake", "--build", self.build, "--target", "help"], capture_output=True, text=True, check=True
        ).stdout
        self.targets = set(re.findall(r"\b(?:test_|warpaes_)\w+", listed))

    def run(self, *command, limit: int = 3600, environment=None) -> bool:
        with self.log.open("a") as log:
            print("+", *command, file=log, flush=True)
            process = subprocess.Popen(
                [str(part) for part in command],
                cwd=self.source,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            try:
                return process.wait(timeout=limit) == 0
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                process.wait()
                return False

    def tests_of(self, file: str) -> list[str]:
        tests = ROOMS[room_of(file)].split()
        return [test for test in tests if test.startswith("^") or test.split("/")[-1] in self.targets]

    def make(self, test: str) -> bool:
        targets = ["warpaes_cli", "warpaes"] if test.startswith("^") else [test.split("/")[-1]]
        return self.run("cmake", "--build", self.build, "--target", *targets, "-j", "1")

    def passes(self, test: str) -> bool:
        if not self.make(test):
            return False
        if test.startswith("^"):
            options = ["--stop-on-failure", "--timeout", LIMIT]
            return self.run("ctest", "--test-dir", self.build, "-R", test, *options, limit=3 * LIMIT)
        options = ["--gtest_brief=1", "--gtest_fail_fast", "--gtest_filter=-*soak*:*MonteCarlo*"]
        return self.run(self.build / "tests" / test, *options, limit=LIMIT)

    def try_out(self, candidates: list[dict]) -> dict | None:
        """The first candidate that compiles, and the test that noticed it."""
        for mutant in candidates:
            path = self.source / mutant["file"]
            before = path.read_text()
            lines = before.splitlines()
            lines[mutant["line"] - 1] = mutant["after"]
            tests = self.tests_of(mutant["file"])
            start = time.monotonic()
            try:
                path.write_text("\n".join(lines) + "\n")
                if not self.make(tests[0]):
                    continue
                killer = next((test for test in tests if not self.passes(test)), None)
            finally:
                path.write_text(before)
            seconds = round(time.monotonic() - start, 1)
            mutant |= {"after": mutant["after"].strip(), "killed_by": killer, "seconds": seconds}
            print(
                f"{'killed  ' if killer else 'SURVIVED'} {mutant['file']}:{mutant['line']} {mutant['before']}"
                f"  ==>  {mutant['after']}  {killer or ''} {seconds} s",
                flush=True,
            )
            return mutant
        return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--count", type=int, default=20, help="mutants in all")
    parser.add_argument("--room", help="the last part of its name")
    parser.add_argument("--list", metavar="FILE", help="mutants chosen by hand")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=600, help="no new mutant after these")
    parser.add_argument("--record", action="store_true")
    arguments = parser.parse_args()
    started = stamp()
    subprocess.run([ROOT / "tools/setup", "mutants"], check=True)
    generator = random.Random(arguments.seed)
    slots: queue.SimpleQueue = queue.SimpleQueue()
    chosen = choose(arguments, generator)
    generator.shuffle(chosen)
    for slot in chosen:
        slots.put(slot)
    results: list[dict] = []
    end = time.monotonic() + 60 * arguments.minutes

    def work(number: int) -> None:
        copy = Copy(number)
        while time.monotonic() < end and not slots.empty():
            try:
                found = copy.try_out(slots.get_nowait())
            except queue.Empty:
                return
            if found is not None:
                results.append(found)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(arguments.jobs)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    results.sort(key=lambda mutant: (mutant["file"], mutant["line"]))
    survivors = [mutant for mutant in results if mutant["killed_by"] is None]
    print(f"{len(results)} mutants, {len(results) - len(survivors)} killed")
    if arguments.record:
        for mutant in survivors:
            mutant["because"] = ""
        record = {"schema": 1, "kind": "mutants", **started, "cpu": processor(), "seed": arguments.seed}
        record["mutants"] = [{"room": room_of(mutant["file"]), **mutant} for mutant in results]
        path = file_for(record, "mutants", RESULTS)
        path.write_text(json.dumps(record, indent=1) + "\n")
        print(f'record: {path}; say of each survivor that may live why ("because")')
    return 0


if __name__ == "__main__":
    sys.exit(main())
