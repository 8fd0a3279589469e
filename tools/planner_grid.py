#!/usr/bin/env python3
"""Calibrates this machine, measures every backend over the planner's grid, and stores a record of the calibration and
the measurements.

    tools/planner_grid.py                     builds the default preset, with CUDA if there is a GPU
    tools/planner_grid.py --build build/cuda  uses the programs in build/cuda

The record goes to bench/results/planner, and `make docs` generates the figures of docs/planner.md from it. The
calibration of this machine is not changed. Arguments after -- are passed to `warpaes plan --grid`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

from recording import ROOT, environment_of, find_gpu, machine, processor, save, stamp


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, help="use the programs in this build folder")
    parser.add_argument("--output", type=Path, default=ROOT / "bench/results/planner", help="folder for the record")
    parser.add_argument("--quick", action="store_true", help="calibrate with fewer measurements")
    parser.add_argument("grid", nargs="*", help="options for `warpaes plan --grid`, after --")
    options = parser.parse_args()

    build = ROOT / (options.build or "build/default")
    if options.build is None:
        subprocess.run(
            [ROOT / "tools/build", "default", "warpaes_cli", "warpaes_plan_grid"], check=True, stdout=subprocess.DEVNULL
        )
    warpaes = build / "cli/warpaes"
    gpu = find_gpu()
    with tempfile.TemporaryDirectory() as folder:
        environment = environment_of(build) | {"WARPAES_CALIBRATION": f"{folder}/calibration.json"}
        command = [warpaes, "calibrate", "--json", *(["--quick"] if options.quick else [])]
        calibration = json.loads(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout)
        print(f"calibrated in {calibration['seconds']:.1f} s", flush=True)
        costs = json.loads(Path(f"{folder}/calibration.json").read_text())
        grid = Path(folder) / "grid.json"
        # A machine without a GPU has fewer kinds of memory to measure, so a second key length is measured.
        keys = [] if gpu or "--key-bits" in options.grid else ["--key-bits", "128,256"]
        subprocess.run([warpaes, "plan", "--grid", "-o", grid, *keys, *options.grid], env=environment, check=True)
        measured = json.loads(grid.read_text())

    del calibration["path"]
    record = {
        "schema": 1,
        **stamp(),
        "warpaes": measured.pop("warpaes"),
        "gpu": gpu,
        "host": {"cpu": processor(), "cores": len(os.sched_getaffinity(0)), "os": f"Linux {platform.release()}"},
        "calibration": calibration | {field: costs[field] for field in ("threads", "thread_s", "cold_s")},
    }
    record |= measured
    path = save(record, machine(record), options.output)
    print(f"record: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
