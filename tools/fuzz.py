#!/usr/bin/env python3
"""Builds the fuzzers (clang, libFuzzer, AddressSanitizer, UndefinedBehaviorSanitizer) and runs them.

    tools/fuzz.py                        every target for ten seconds
    tools/fuzz.py --runs 10000000 enc    so many executions of one target
    tools/fuzz.py --record               counts, coverage and findings to bench/results/robustness
    tools/fuzz.py --keep                 adds what covers something new to fuzz/corpus

Findings lie in build/fuzz/findings; `build/fuzz/fuzz/fuzz_TARGET FILE` repeats one. Fails if there are any.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from recording import ROOT, file_for, processor, stamp

CORPUS = ROOT / "fuzz/corpus"
BUILD = ROOT / "build/fuzz"
RESULTS = ROOT / "bench/results/robustness"
# The corpus in the repository stays small.
MOST_FILES, MOST_BYTES = 150, 1024


def targets() -> list[str]:
    return sorted(path.name for path in CORPUS.iterdir() if path.is_dir())


def dictionary(target: str) -> list[str]:
    path = ROOT / f"fuzz/{target}.dict"
    return [f"-dict={path}"] if path.exists() else []


def environment() -> dict:
    return os.environ | {"ASAN_OPTIONS": "malloc_context_size=2:quarantine_size_mb=16:allocator_may_return_null=1"}


def last(pattern: str, text: str) -> int:
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def run(program: Path, target: str, arguments, scratch: Path) -> dict:
    """One process of libFuzzer from the corpus, until its runs or its time are used up or it finds something."""
    findings = BUILD / "findings" / target
    findings.mkdir(parents=True, exist_ok=True)
    found = scratch / target
    found.mkdir(parents=True, exist_ok=True)
    limit = [f"-runs={arguments.runs or -1}", f"-max_total_time={arguments.seconds}"]
    command = [
        program,
        *limit,
        "-max_len=4096",
        "-timeout=20",
        "-rss_limit_mb=2048",
        "-entropic=0",
        "-print_final_stats=1",
    ]
    command += [f"-artifact_prefix={findings}/", *dictionary(target), found, CORPUS / target]
    before = set(findings.iterdir())
    start = time.monotonic()
    # libFuzzer speaks of every new input: a file takes it without waiting for a reader.
    with (scratch / f"{target}.log").open("w+") as log:
        status = subprocess.run(command, env=environment(), stdout=log, stderr=log, check=False).returncode
        log.seek(0)
        text = log.read()
    new = sorted(set(findings.iterdir()) - before)
    result = {
        "target": target,
        "executions": last(r"stat::number_of_executed_units: (\d+)", text) or last(r"#(\d+)\t", text),
        "seconds": round(time.monotonic() - start, 1),
        "edges": last(r"cov: (\d+)", text),
        "features": last(r"ft: (\d+)", text),
        "corpus": last(r"corp: (\d+)", text),
        "findings": [path.name for path in new],
        "ended_well": status == 0,
    }
    print(result, flush=True)
    if status != 0:
        print(text[-3000:], flush=True)
    return result


def keep(program: Path, target: str, scratch: Path) -> None:
    """The fewest small files that cover what the corpus and this run's discoveries cover."""
    small = scratch / f"{target}.small"
    merged = scratch / f"{target}.merged"
    small.mkdir()
    merged.mkdir()
    for folder in (CORPUS / target, scratch / target):
        for path in folder.iterdir():
            if path.stat().st_size <= MOST_BYTES or folder.parent == CORPUS:
                shutil.copy(path, small / path.name)
    subprocess.run([program, "-set_cover_merge=1", merged, small], env=environment(), capture_output=True, check=True)
    room = MOST_FILES - sum(1 for _ in (CORPUS / target).iterdir())
    chosen = [path for path in sorted(merged.iterdir()) if not (CORPUS / target / path.name).exists()]
    for path in chosen[: max(room, 0)]:
        shutil.copy(path, CORPUS / target / path.name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(targets()))
    parser.add_argument("--runs", type=int, default=0, help="executions a target")
    parser.add_argument("--seconds", type=int, help="at most, a target; 10 if --runs is not given")
    parser.add_argument("--jobs", type=int, default=2, help="targets at a time")
    parser.add_argument("--record", action="store_true", help="write what was counted to bench/results/robustness")
    parser.add_argument("--keep", action="store_true", help="add to the corpus")
    parser.add_argument("--no-build", action="store_true", help="use what lies in build/fuzz")
    arguments = parser.parse_args()
    if not arguments.no_build:
        if shutil.which("clang++") is None:
            sys.exit("the fuzzers need clang++ and its libFuzzer (Debian: clang, libclang-rt-14-dev)")
        subprocess.run([ROOT / "tools/build", "fuzz", "fuzzers"], check=True)
    if arguments.seconds is None:
        arguments.seconds = 0 if arguments.runs else 10
    chosen = arguments.targets or targets()
    started = stamp()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        programs = {target: BUILD / f"fuzz/fuzz_{target}" for target in chosen}
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
            "targets": results,
        }
        file_for(record, "fuzz", RESULTS).write_text(json.dumps(record, indent=1) + "\n")
    return 0 if all(result["ended_well"] and not result["findings"] for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
