#!/usr/bin/env python3
"""Builds the fuzzers (clang, libFuzzer, AddressSanitizer, UndefinedBehaviorSanitizer) and runs them.

    tools/fuzz.py                        every target for ten seconds
    tools/fuzz.py --runs 10000000 enc    executes one target 10,000,000 times
    tools/fuzz.py --record               writes counts, coverage and findings to bench/results/robustness
    tools/fuzz.py --keep                 adds inputs with new coverage to the archives of fuzz/corpus
    tools/fuzz.py --cores 16 --seconds 580 --record
                                         runs all targets at the same time, slow targets on more cores, until each
                                         target reaches 10,000,000 executions or the number in --runs
    tools/fuzz.py --pack FILE.tar.xz     packs the programs for a machine without clang. Unpack the archive in the root
                                         of the repository there, and run the programs with --no-build. Use `--under
                                         "setarch -R"` if clang 14's AddressSanitizer does not start because of strong
                                         address randomization. Set ASAN_OPTIONS=detect_leaks=0 if the machine does not
                                         permit tracing of processes.

Findings are in build/fuzz/findings. `build/fuzz/fuzz/fuzz_TARGET FILE` reproduces a finding. The run fails if there are
findings.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import lzma
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from pathlib import Path

from recording import ROOT, commit, processor, save, stamp

sys.path.insert(0, str(ROOT / "fuzz/corpus"))
import archives

BUILD = ROOT / "build/fuzz"
RESULTS = ROOT / "bench/results/robustness"
# Limits that keep the corpus in the repository small: inputs per target, and bytes per input.
MOST_FILES, MOST_BYTES = 150, 1024
# The maximum length of an input. A target does not read bytes past this length, and two short sequences find more
# faults than one long sequence.
MOST_READ = {"batch": 512, "sequence": 1024, "sequence_gpu": 1024}
# With --cores: the number of executions per target, and the seconds after which a process yields its core to another
# target.
ENOUGH, PART = 10_000_000, 150


def dictionary(target: str) -> list[str]:
    path = ROOT / f"fuzz/{target}.dict"
    return [f"-dict={path}"] if path.exists() else []


def environment() -> dict:
    """Return the environment for the fuzzers. The stacks of allocations are not recorded, because reproducing a finding
    shows them. Freed memory stays poisoned for a dozen executions."""
    options = ["malloc_context_size=0:quarantine_size_mb=4:allocator_may_return_null=1", os.environ.get("ASAN_OPTIONS")]
    return os.environ | {"ASAN_OPTIONS": ":".join(filter(None, options))}


def last(pattern: str, text: str) -> int:
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def execute(program: Path, target: str, limits: list[str], scratch: Path, under: list[str]) -> dict:
    """Run one libFuzzer process, starting from the corpus and the inputs of the other processes, until `limits` stop it
    or it finds a fault."""
    findings = BUILD / "findings" / target
    findings.mkdir(parents=True, exist_ok=True)
    found = scratch / target
    found.mkdir(parents=True, exist_ok=True)
    command = [
        *under,
        program,
        *limits,
        f"-max_len={MOST_READ.get(target, 4096)}",
        "-timeout=20",
        "-rss_limit_mb=2048",
        "-entropic=0",
        "-print_final_stats=1",
    ]
    command += [f"-artifact_prefix={findings}/", *dictionary(target), found, scratch / "corpus" / target]
    start = time.monotonic()
    # libFuzzer prints a line for every new input. Writes to a file, unlike writes to a pipe, do not wait for a reader.
    with tempfile.TemporaryFile("w+", dir=scratch) as log:
        status = subprocess.run(command, env=environment(), stdout=log, stderr=log, check=False).returncode
        log.seek(0)
        text = log.read()
    new = {Path(path).name for path in re.findall(r"Test unit written to (\S+)", text)}
    result = {
        "target": target,
        "executions": last(r"stat::number_of_executed_units: (\d+)", text) or last(r"#(\d+)\t", text),
        "seconds": round(time.monotonic() - start, 1),
        "edges": last(r"cov: (\d+)", text),
        "features": last(r"ft: (\d+)", text),
        "corpus": last(r"corp: (\d+)", text),
        "findings": sorted(new),
        "ended_well": status == 0,
    }
    print(result, flush=True)
    if status != 0:
        print(text[-3000:], flush=True)
    return result


def run(program: Path, target: str, arguments, scratch: Path) -> dict:
    limits = [f"-runs={arguments.runs or -1}", f"-max_total_time={arguments.seconds}"]
    return execute(program, target, limits, scratch, arguments.under)


def recorded(target: str) -> list[dict]:
    """Return the target's records, with the newest last."""
    records = [json.loads(path.read_text()) for path in sorted(RESULTS.glob("fuzz-*.json"))]
    return [result | record for record in records for result in record["targets"] if result["target"] == target]


def usual_rate(target: str) -> float:
    """Return the target's executions per second in its newest record, or 1 if there is no record."""
    rates = [result["executions"] / result["seconds"] for result in recorded(target) if result["executions"]]
    return rates[-1] if rates else 1.0


def had(target: str, sha: str) -> int:
    """Return the number of the target's executions in all records of commit `sha` without uncommitted changes."""
    return sum(result["executions"] for result in recorded(target) if result["commit"] == sha and not result["dirty"])


class Together:
    """Run all targets on a number of cores. A free core runs a target that has no core yet, or the target that would
    end last. Executions in this commit's earlier records count."""

    def __init__(self, programs: dict[str, Path], arguments, scratch: Path):
        self.programs, self.scratch, self.under = programs, scratch, arguments.under
        self.end = time.monotonic() + (arguments.seconds or 1e9)
        sha, dirty = commit()
        done = {target: 0 if dirty else had(target, sha) for target in programs}
        self.left = {target: max((arguments.runs or ENOUGH) - done[target], 0) for target in programs}
        self.rates = {target: usual_rate(target) for target in programs}
        self.at_work = dict.fromkeys(programs, 0)
        self.results: dict[str, dict] = {}
        self.lock = threading.Lock()
        cores = sorted(os.sched_getaffinity(0))
        # A process uses little more than one thread. Each process therefore runs on a fixed core, if there are enough.
        can_pin = shutil.which("taskset") is not None and arguments.cores <= len(cores)
        self.cores = cores[: arguments.cores] if can_pin else [None] * arguments.cores

    def run(self) -> list[dict]:
        with concurrent.futures.ThreadPoolExecutor(len(self.cores)) as pool:
            list(pool.map(self.work, self.cores))
            return list(pool.map(self.cover, sorted(self.results)))

    def work(self, core: int | None) -> None:
        while (seconds := int(self.end - time.monotonic())) > 0:
            with self.lock:
                targets = [target for target, left in self.left.items() if left > 0]
                if not targets:
                    return
                target = max(targets, key=self.urgency)
                runs = min(self.left[target], int(self.rates[target] * PART) + 1)
                self.at_work[target] += 1
                self.left[target] -= runs
            limits = [f"-runs={runs}", f"-max_total_time={min(seconds, PART)}"]
            under = self.under if core is None else [*self.under, "taskset", "-c", str(core)]
            part = execute(self.programs[target], target, limits, self.scratch, under)
            with self.lock:
                self.at_work[target] -= 1
                # A target with a finding is not run again, because it would soon reproduce the finding.
                self.left[target] = self.left[target] + runs - part["executions"] if part["ended_well"] else 0
                self.add(part)

    def urgency(self, target: str) -> tuple[bool, float]:
        at_work = self.at_work[target]
        return at_work == 0, self.left[target] / self.rates[target] / (at_work + 1)

    def add(self, part: dict) -> None:
        target = part["target"]
        self.rates[target] = max(part["executions"], 1) / max(part["seconds"], 0.1)
        result = self.results.setdefault(target, part)
        if result is part:
            return
        result["executions"] += part["executions"]
        result["seconds"] = round(result["seconds"] + part["seconds"], 1)
        result["findings"] = sorted({*result["findings"], *part["findings"]})
        result["ended_well"] &= part["ended_well"]

    def cover(self, target: str) -> dict:
        """Return the target's result, with the coverage of all its processes together."""
        all_ = execute(self.programs[target], target, ["-runs=0"], self.scratch, self.under)
        return self.results[target] | {field: all_[field] for field in ("edges", "features", "corpus")}


def pack(programs: dict[str, Path], archive: Path) -> None:
    # The programs contain the same code. The dictionary is larger than a program, so this code is compressed only once.
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 1, "dict_size": 64 << 20}]
    with (
        tempfile.TemporaryDirectory() as folder,
        lzma.open(archive, "w", filters=filters) as packed,
        tarfile.open(fileobj=packed, mode="w") as tar,
    ):
        for program in programs.values():
            stripped = Path(folder) / program.name
            subprocess.run(["strip", "-o", stripped, program], check=True)
            tar.add(stripped, program.relative_to(ROOT))
    print(f"{archive}: {archive.stat().st_size / 2**20:.1f} MiB")


def keep(program: Path, target: str, scratch: Path) -> None:
    """Add inputs of at most MOST_BYTES bytes to the corpus, until it reaches the coverage of the corpus and this run's
    small inputs together, or contains MOST_FILES inputs."""
    small = archives.unpack(target, scratch / "small")
    merged = scratch / f"{target}.merged"
    merged.mkdir()
    for path in (scratch / target).iterdir():
        if path.stat().st_size <= MOST_BYTES:
            shutil.copy(path, small / path.name)
    subprocess.run([program, "-set_cover_merge=1", merged, small], env=environment(), capture_output=True, check=True)
    inputs = archives.read(target)
    chosen = [path for path in sorted(merged.iterdir()) if path.name not in inputs]
    for path in chosen[: max(MOST_FILES - len(inputs), 0)]:
        inputs[path.name] = path.read_bytes()
    archives.write(target, inputs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(archives.targets()))
    parser.add_argument("--runs", type=int, default=0, help="executions per target")
    parser.add_argument(
        "--seconds",
        type=int,
        help="maximum time per target, or in total with --cores (default: 10, or no limit with --runs)",
    )
    parser.add_argument("--jobs", type=int, default=2, help="number of concurrent targets")
    parser.add_argument("--cores", type=int, help="run all targets together on this many cores, for --seconds in total")
    parser.add_argument("--pack", type=Path, metavar="FILE", help="only build, and pack the programs into an archive")
    parser.add_argument(
        "--under", type=shlex.split, default=[], metavar="COMMAND", help="command prefix that runs the programs"
    )
    parser.add_argument("--record", action="store_true", help="write the counts to bench/results/robustness")
    parser.add_argument("--keep", action="store_true", help="add new inputs to the corpus")
    parser.add_argument("--no-build", action="store_true", help="use the programs in build/fuzz without building them")
    arguments = parser.parse_args()
    if not arguments.no_build:
        if shutil.which("clang++") is None:
            sys.exit("the fuzzers need clang++ and libFuzzer (Debian: clang, libclang-rt-14-dev)")
        subprocess.run([ROOT / "tools/build", "fuzz", "fuzzers"], check=True)
    if arguments.seconds is None:
        arguments.seconds = 0 if arguments.runs else 10
    chosen = arguments.targets or archives.targets()
    programs = {target: BUILD / f"fuzz/fuzz_{target}" for target in chosen}
    if arguments.pack:
        pack(programs, arguments.pack)
        return 0
    started = stamp()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        for target in chosen:
            archives.unpack(target, scratch / "corpus")
        if arguments.cores:
            results = Together(programs, arguments, scratch).run()
        else:
            with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
                results = list(pool.map(lambda target: run(programs[target], target, arguments, scratch), chosen))
        if arguments.keep:
            for target in chosen:
                keep(programs[target], target, scratch)
    if arguments.record:
        record = {
            "schema": 1,
            "kind": "fuzz",
            **started,
            "cpu": processor(),
            "cores": arguments.cores or arguments.jobs,
            "targets": results,
        }
        save(record, "fuzz", RESULTS)
    return 0 if all(result["ended_well"] and not result["findings"] for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
