#!/usr/bin/env python3
"""Runs the fault matrix (tests/faults) and stores the outcome of every injected fault in bench/results/robustness.

Runs a set of jobs, and repeats them with faults in every system call: the call fails, transfers less than requested, or
is slow. Also makes each CUDA call of the simulated GPU fail, and stops the command at every system call and at random
moments. Fails if any outcome is wrong.

    tools/fault_matrix.py                 builds the default preset and runs its programs
    tools/fault_matrix.py --build DIR     runs the programs in the build folder DIR
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from recording import ROOT, save, stamp

OUTCOMES = ("completed", "refused", "missed", "wrong")
RESULTS = ROOT / "bench/results/robustness"


def part_of(row: dict) -> str:
    if not row["call"].startswith("cuda"):
        return "system calls"
    return "CUDA calls, GPU requested" if row["work"].endswith("_cuda") else "CUDA calls, GPU chosen"


def summarize(rows: list[dict]) -> list[dict]:
    """Return one row per part and call. Runs without an injected fault do not count."""
    sums: dict[tuple, dict] = {}
    for row in rows:
        if row["call"] == "none":
            continue
        total = sums.setdefault((part_of(row), row["call"]), dict.fromkeys(OUTCOMES, 0))
        for outcome in OUTCOMES:
            total[outcome] += row[outcome]
    return [{"part": part, "call": call, **counts} for (part, call), counts in sorted(sums.items())]


def run_processes(build: Path, moments: int) -> dict:
    environment = os.environ | {
        "WARPAES": str(build / "cli/warpaes"),
        "WARPAES_LIBRARY": str(build / "src/capi/libwarpaes_simulated.so"),
        "WARPAES_FAULT_MOMENTS": str(moments),
    }
    program = ROOT / "tests/faults/test_processes.py"
    with tempfile.NamedTemporaryFile("r") as counts:
        environment["WARPAES_FAULTS_RECORD"] = counts.name
        done = subprocess.run([sys.executable, "-B", program], env=environment, check=False)
        return {"passed": done.returncode == 0, "runs": json.loads(counts.read() or "{}")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, help="use the build in this folder, which must contain the tests")
    parser.add_argument("--moments", type=int, default=100, help="number of random moments per command (%(default)s)")
    arguments = parser.parse_args()
    build = arguments.build
    if build is None:
        build = ROOT / "build/default"
        subprocess.run([ROOT / "tools/build", "default", "test_faults", "warpaes_simulated", "warpaes_cli"], check=True)
    started = stamp()
    with tempfile.NamedTemporaryFile("r") as counts:
        environment = os.environ | {"WARPAES_FAULTS_RECORD": counts.name}
        program = build / "tests/faults/test_faults"
        done = subprocess.run([program, "--gtest_brief=1"], env=environment, check=False)
        rows = json.loads(counts.read())
    processes = run_processes(build.resolve(), arguments.moments)
    summary = summarize(rows)
    totals = {outcome: sum(row[outcome] for row in summary) for outcome in OUTCOMES}
    record = {
        "schema": 1,
        "kind": "faults",
        **started,
        "jobs": len({row["work"] for row in rows}),
        "totals": totals,
        "calls": summary,
        "processes": processes,
    }
    path = save(record, "faults", RESULTS)
    print(f"{path}: {totals}, processes {processes}")
    return 0 if done.returncode == 0 and totals["wrong"] == 0 and processes["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
