#!/usr/bin/env python3
"""Measures whether the tests detect mutants. A mutant is one changed line, and the tests that execute this line run.

The quick tests of the line's room run with each mutant separately. All other tests of all rooms run with the surviving
mutants together.

    tools/mutants.py --count 200               200 mutants, spread over the rooms of src, include and cli
    tools/mutants.py --each 5 src/message/*.cpp  five mutants in each of these files; --count adds mutants in all rooms
    tools/mutants.py --count 20 --room batch   20 mutants of this room
    tools/mutants.py --wiping 25               25 mutants, each without a line that overwrites secrets
    tools/mutants.py --list mutants.json       the mutants [{"file", "line", "after"}], in addition to drawn mutants
    tools/mutants.py --again                   the survivors of the last run, with the current tests
    tools/mutants.py --count 200 --draws 3     builds three draws together, with --seed and the next two seeds
    tools/mutants.py --next                    the next of these draws, with the current tests
    tools/mutants.py --record                  writes the score to bench/results/robustness

universalmutator (PyPI) creates the mutants, and --seed determines the draw of one mutant per line. Lines that are
already in a record are skipped. A single build contains all mutants, each with a switch (switches.py), in a copy of the
tree under build/mutants. Lines that cannot have a switch and mutants that do not compile are skipped, and the record
counts them. If a survivor changes only the speed, or nothing, add the reason to the record by hand ("because").
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import mutant_table
import switches
from judging import Judge
from recording import ROOT, output_of, processor, save, stamp
from switched_tests import Tests
from switched_tree import Slot, Tree
from switches import Switch

BUILD = ROOT / "build/mutants"
STATE = BUILD / "state.json"
RESULTS = ROOT / "bench/results/robustness"

# Each room's tests, the quickest first: GoogleTest programs below build/tests, or names for `ctest -R`.
ENGINE = "batch/test_batch_parts batch/test_batch planner/test_planner hpp/test_hpp"
ABI = "batch/test_abi_batch abi/test_abi"
FILES = "pipeline/test_pipeline streams/test_streams format/test_format"
SIMULATED = "batch/test_abi_batch_simulated simulated/test_batch_simulated simulated/test_gcm_simulated"
COMMAND = "^cli ^faults.processes ^project.exports"
SECRETS = "secrets/test_secrets secrets/test_secrets_simulated"
PROVIDER = "provider/test_provider provider/test_provider_simulated ^provider.sequences"
ROOMS = {
    "src/aes": f"cpu/test_cpu batch/test_batch {ABI} {SIMULATED} {SECRETS} ^constant_time",
    "src/backend": f"{ENGINE} base/test_base cpu/test_cpu {ABI} {SIMULATED} {SECRETS} ^constant_time",
    "src/base": f"base/test_base {ENGINE} {FILES} {ABI} {SECRETS} {COMMAND}",
    "src/capi": f"hpp/test_hpp {ABI} abi/test_abi_simulated {FILES} planner/test_planner {SECRETS} {COMMAND}",
    "src/cpu": f"cpu/test_cpu batch/test_batch batch/test_batch_faults {ABI} {PROVIDER} {SECRETS} ^constant_time",
    "src/cuda": f"{SIMULATED} pipeline/test_pipeline_simulated {SECRETS} batch/test_batch_faults"
    " planner/test_planner_simulated planner/test_two_gpus message/test_message_simulated format/test_format_simulated"
    " abi/test_abi_simulated"
    " ^simulated.gcm_ ^simulated.batch_ ^simulated.pipeline_ ^simulated.abi_batch_late ^simulated.late"
    " ^cli.bad_input",
    "src/engine": f"{ENGINE} planner/test_planner_simulated planner/test_two_gpus {ABI} {FILES}"
    f" pipeline/test_pipeline_simulated message/test_message_simulated {SIMULATED} {SECRETS} ^cli.plan",
    "src/engine/calibration": f"planner/test_planner planner/test_planner_simulated {SECRETS} ^cli.plan",
    "src/engine/pipeline": f"{FILES} pipeline/test_pipeline_simulated planner/test_two_gpus {ABI} {SECRETS}"
    f" faults/test_faults {COMMAND}",
    "src/format": f"{FILES} streams/test_streams_simulated streams/test_streams_failure {SECRETS} faults/test_faults"
    f" {COMMAND}",
    "src/message": f"hpp/test_hpp message/test_message {ABI} abi/test_abi_simulated message/test_message_simulated"
    f" {SIMULATED} {SECRETS} planner/test_planner planner/test_planner_simulated",
    "src/message/batch": f"{ENGINE} batch/test_batch_memory {ABI} {SIMULATED} batch/test_batch_faults {SECRETS}",
    "include/warpaes": "hpp/test_hpp hpp/test_hpp_simulated streams/test_streams batch/test_abi_batch",
    "cli": f"{COMMAND}",
}
# Matches the excluded files: the headers for kernels, the C header (declarations only), and the command's benchmarks.
NOT_HERE = re.compile(r"include/warpaes/device|include/warpaes/warpaes\.h$|cli/bench")
# Matches lines that overwrite secrets. Without such a line, a secret remains in memory.
WIPING = re.compile(
    r"((?:\(void\)|check\()?(?:\w|\.|->|::)*\b"
    r"(?:wipe|clear_memory|clear_after_failure|clear_rows|clear_vector_registers|end_clean_stack|explicit_bzero|cudaMemset"
    r"|cudaMemsetAsync)\((?:\{[^{}]*\}|[^{]*)\);|(?:std::)?\bmemset\([^{]*'\*'.*;)"
)


def room_of(path: str) -> str:
    return max((room for room in ROOMS if path.startswith(room + "/")), key=len, default="")


def files_of(room: str) -> list[str]:
    names = output_of("git", "ls-files", room).splitlines()
    here = [name for name in names if room_of(name) == room and not NOT_HERE.search(name)]
    return [name for name in here if re.search(r"\.(cpp|hpp|cu|cuh)$", name)]


def is_code(line: str) -> bool:
    text = line.strip()
    nothing = r"//|/?\*|#|}|using |namespace |static_assert|template|\[\[nodiscard\]\]$|public:|private:"
    return len(text) > 3 and not re.match(nothing, text)


def may_compile(old: str, new: str) -> bool:
    """Return whether a mutant may compile. universalmutator does not parse C++, so it mistakes the brackets of
    templates for comparisons."""
    brackets = re.compile(r"\w<[\w:]|>[&*(\s]*\w*[>,(]")
    return len(brackets.findall(old)) == len(brackets.findall(new)) and not re.search(r"<=>|[<>]==|[-+]1\)_t", new)


def changed(file: str) -> dict[int, list[str]]:
    """Return the mutants of each line in the file."""
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
                continue  # the mutant adds a line with `break` or `continue`
            for number, (old, new) in enumerate(zip(lines, mutated, strict=True)):
                if old != new and is_code(old) and (may_compile(old, new) or "/*" in new):
                    by_line.setdefault(number + 1, []).append(new)
    return by_line


class Draw:
    def __init__(self, seed: int):
        self.generator = random.Random(seed)
        self.known: dict[str, dict[int, list[str]]] = {}
        self.before = mutant_table.drawn(RESULTS)

    def look_at(self, files: list[str]) -> None:
        todo = sorted(set(files) - self.known.keys())
        with ThreadPoolExecutor() as pool:
            self.known |= zip(todo, pool.map(changed, todo), strict=True)

    def of(self, file: str) -> list[dict]:
        """Return one mutant of each line that has mutants and is not in an earlier draw, in random order."""
        lines = (ROOT / file).read_text().splitlines()
        chosen = [
            {
                "file": file,
                "line": number,
                "before": lines[number - 1].strip(),
                "after": self.generator.choice(sorted(found)),
            }
            for number, found in sorted(self.known[file].items())
            if (file, lines[number - 1].strip()) not in self.before
        ]
        self.generator.shuffle(chosen)
        return chosen

    def of_files(self, files: list[str], each: int) -> list[list[dict]]:
        """Return lists of candidates. One mutant of each list is used."""
        self.look_at(files)
        return [self.of(file) for file in files for _ in range(each)]

    def of_rooms(self, rooms: list[str], count: int) -> list[list[dict]]:
        sizes = {room: {file: len((ROOT / file).read_text().splitlines()) for file in files_of(room)} for room in rooms}
        total = sum(sum(files.values()) for files in sizes.values())
        chosen: list[str] = []
        for files in sizes.values():
            # The number depends on the room's size, but is at least eight.
            share = max(8, round(count * sum(files.values()) / total)) if len(rooms) > 1 else count
            chosen += self.generator.choices(list(files), weights=list(files.values()), k=share)
        self.look_at(chosen)
        return [self.of(file) for file in chosen]

    def of_wiping(self, count: int) -> list[list[dict]]:
        """Return `count` lists of mutants that delete a line that overwrites secrets. Each line has one mutant. The
        lists contain more mutants than needed, because some may be skipped."""
        found = []
        for file in (file for room in ROOMS for file in files_of(room)):
            for number, line in enumerate((ROOT / file).read_text().splitlines(), 1):
                if is_code(line) and (file, line.strip()) not in self.before:
                    without = WIPING.search(line) if not re.match(r"\s*(virtual|void|inline) ", line) else None
                    after = (
                        line.replace(without[1], ";") if without else line.replace("clean_stack([&]", "std::invoke([&]")
                    )
                    if after != line:
                        found.append({"file": file, "line": number, "before": line.strip(), "after": after})
        self.generator.shuffle(found)
        return [found[begin::count] for begin in range(count)] if count else []


def choose(arguments, draw: Draw) -> list[list[dict]]:
    chosen = json.loads(Path(arguments.list).read_text()) if arguments.list else []
    for mutant in chosen:
        mutant["before"] = (ROOT / mutant["file"]).read_text().splitlines()[mutant["line"] - 1].strip()
    rooms = [room for room in ROOMS if not arguments.room or room.endswith(arguments.room)]
    lists = [[mutant] for mutant in chosen]
    lists += draw.of_rooms(rooms, arguments.count) if arguments.count else []
    return lists + draw.of_files(arguments.files, arguments.each) + draw.of_wiping(arguments.wiping)


def targets_of(rooms: set[str]) -> list[str]:
    tests = {test for room in rooms for test in ROOMS[room].split()}
    programs = {test.split("/")[-1] for test in tests if not test.startswith("^")}
    if any(test.startswith("^cli") for test in tests):
        programs |= {
            "warpaes_cli",
            "warpaes_plan_grid",
            "warpaes",
            "warpaes_simulated",
            "recorded_calls",
            "warpaes_provider",
        }
    if "^constant_time" in tests:
        programs.add("test_constant_time")
    if "^provider.sequences" in tests:
        programs.add("provider_sequences")
    return sorted(programs)


def store_state(tree: Tree, state: dict) -> None:
    state["slots"] = [
        {
            "number": s.number,
            "mutant": s.mutant,
            "switch": vars(s.ways[0]),
            "line_at": switches.start_of(tree.code(s.mutant["file"]).text, s.mutant["line"]),
        }
        for s in tree.slots
    ]
    state["passed_over"] = tree.passed_over
    # The file is always complete, so the results survive a stopped run.
    part = STATE.with_suffix(".part")
    part.write_text(json.dumps(state, indent=1))
    part.replace(STATE)


def load(tree: Tree, state: dict) -> None:
    """Add the slots of the last run to the tree, with the current positions of their lines. Deleted lines are
    omitted."""
    tree.passed_over = state["passed_over"]
    for saved in state["slots"]:
        mutant, switch = saved["mutant"], Switch(**saved["switch"])
        path = ROOT / mutant["file"]
        text = tree.code(mutant["file"]).text if path.exists() else ""
        lines = [number for number, line in enumerate(text.split("\n"), 1) if line.strip() == mutant["before"]]
        if lines:
            line = min(lines, key=lambda number: abs(number - mutant["line"]))
            moved = switches.start_of(text, line) - saved["line_at"]
            switch.begin, switch.end = switch.begin + moved, switch.end + moved
            if text[switch.begin : switch.end] == switch.before:
                slot = Slot(saved["number"], [{**mutant, "line": line}])
                slot.ways = [switch]
                tree.slots.append(slot)
                continue
        print(f"no longer there: {saved['number']} {mutant['file']}:{mutant['line']} {mutant['before']}", flush=True)


def write_record(state: dict) -> None:
    results = sorted(state["results"].values(), key=lambda mutant: (mutant["file"], mutant["line"]))
    for mutant in results:
        if mutant["killed_by"] is None:
            mutant.setdefault("because", "")
    why = [passed["why"] for passed in state["passed_over"] if passed["slot"] in state["draws"][state["draw"]]]
    record = {"schema": 1, "kind": "mutants", **state["stamp"], "cpu": processor(), "seed": state["seed"]}
    record["passed_over"] = {reason: why.count(reason) for reason in sorted(set(why))}
    if left_out := sorted(state.get("left_out", [])):
        record["left_out"] = left_out
    record["mutants"] = results
    path = save(record, "mutants", RESULTS)
    mutant_table.sum_up(RESULTS)
    print(f'record: {path}; add the reason for each acceptable survivor ("because")')


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE", help="a source file, for --each")
    parser.add_argument("--count", type=int, default=0, help="number of mutants in all rooms together, or in --room")
    parser.add_argument("--room", help="draw mutants only in this room; its name becomes part of the record's name")
    parser.add_argument("--each", type=int, default=1, help="number of mutants in each FILE")
    parser.add_argument(
        "--wiping", type=int, default=0, help="number of mutants that delete a line that overwrites secrets"
    )
    parser.add_argument("--list", metavar="FILE", help="mutants chosen by hand")
    parser.add_argument("--again", action="store_true", help="run the survivors of the last run again")
    parser.add_argument("--draws", type=int, default=1, help="number of draws in one build")
    parser.add_argument("--next", action="store_true", help="run the next draw of the last build")
    parser.add_argument("--seed", type=int, default=1, help="seed of the draw (%(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="number of concurrent tests (%(default)s)")
    parser.add_argument(
        "--minutes", type=float, default=600, help="do not start a mutant after this many minutes (%(default)s)"
    )
    parser.add_argument("--record", action="store_true", help="write the score to bench/results/robustness")
    arguments = parser.parse_args()
    end = time.monotonic() + 60 * arguments.minutes
    # Shells start background jobs with SIGINT ignored. Restore the handler for tests that send SIGINT.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    subprocess.run([ROOT / "tools/setup", "mutants"], check=True)
    BUILD.mkdir(parents=True, exist_ok=True)
    only_record = arguments.record and not (
        arguments.again or arguments.next or arguments.count or arguments.files or arguments.wiping or arguments.list
    )
    if only_record:
        write_record(json.loads(STATE.read_text()))
        return 0
    tree = Tree(BUILD / "tree")
    if arguments.again or arguments.next:
        state = json.loads(STATE.read_text())
        load(tree, state)
        if arguments.next:
            state |= {"stamp": stamp(), "seed": state["seed"] + 1, "draw": state["draw"] + 1, "results": {}}
    else:
        state = {"stamp": stamp(), "seed": arguments.seed, "draw": 0, "draws": [], "results": {}}
        lists: list[list[dict]] = []
        for seed in range(arguments.seed, arguments.seed + arguments.draws):
            before = len(lists)
            lists += choose(arguments, Draw(seed))
            state["draws"].append(list(range(before + 1, len(lists) + 1)))
        tree.take(lists)
        print(f"{len(tree.slots)} mutants of {len(lists)} requested", flush=True)
    tree.write()
    tree.configure()
    tree.make(targets_of(set(ROOMS)), lambda: store_state(tree, state), checked=arguments.again or arguments.next)
    store_state(tree, state)
    drawn = [slot for slot in tree.slots if slot.number in state["draws"][state["draw"]]]
    todo = [slot for slot in drawn if (state["results"].get(str(slot.number)) or {}).get("killed_by") is None]
    tests = Tests(tree.build, BUILD, arguments.jobs)
    programs = tests.programs(test for tests_of_room in ROOMS.values() for test in tests_of_room.split())
    tests.look(programs, BUILD / "tests.json")
    state["left_out"] = tests.left_out
    store_state(tree, state)
    mutants = {slot.number: {"room": room_of(slot.mutant["file"]), **slot.mutant} for slot in todo}
    judge = Judge(tests, mutants, state["results"], end, lambda: store_state(tree, state))
    of_room = {room: {program.name for program in tests.programs(ROOMS[room].split())} for room in ROOMS}
    # The order is random, so the mutants that a stopped run has judged are a fair sample of all rooms.
    fresh = [slot.number for slot in todo if str(slot.number) not in state["results"]]
    random.Random(state["seed"]).shuffle(fresh)
    taken = {program.name: sum(c.seconds for c in tests.cases.values() if c.program is program) for program in programs}
    with ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(lambda number: judge.alone(number, of_room[mutants[number]["room"]]), fresh))
        list(pool.map(judge.together, sorted(programs, key=lambda program: taken[program.name])))
    for number in mutants:
        if str(number) in state["results"]:
            judge.settle(number, None)
    results = state["results"].values()
    print(f"{len(results)} mutants, {sum(mutant['killed_by'] is not None for mutant in results)} killed")
    if arguments.record:
        write_record(state)
    return 0


if __name__ == "__main__":
    sys.exit(main())
