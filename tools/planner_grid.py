#!/usr/bin/env python3
"""Calibrates this machine, measures every backend over the planner's grid and stores a record of both.

    tools/planner_grid.py                 builds the default preset, which has CUDA where there is a GPU
    tools/planner_grid.py --build build/cuda   with the programs that lie there, made before

The record goes to bench/results/planner; `make docs` makes docs/planner.md's figures of it. The calibration is kept in
the record's own file, not where the library would look for it. What follows -- goes to `warpaes plan --grid`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from gpu_test import ROOT, commit, find_gpu


def cpu_name() -> str:
    found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1] if found else "unknown"


def rounded(value):
    """Five digits say all that there is to say."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value


def write(record: dict, folder: Path) -> Path:
    machine = record["gpu"]["name"] if record["gpu"] else record["host"]["cpu"]
    slug = re.sub(r"[^a-z0-9]+", "-", machine.lower()).strip("-")
    path = folder / f"{slug}-{record['date'].replace(':', '')}.json"
    points = ",\n".join(f"  {json.dumps(point)}" for point in record["points"])
    head = json.dumps(record | {"points": []}, indent=1)
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(head.replace('"points": []', f'"points": [\n{points}\n ]') + "\n")
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, help="use this build as it is")
    parser.add_argument("--output", type=Path, default=ROOT / "bench/results/planner", help="folder for the record")
    parser.add_argument("--quick", action="store_true", help="a quick calibration")
    parser.add_argument("grid", nargs="*", help="options for `warpaes plan --grid`, after --")
    options = parser.parse_args()

    build = ROOT / (options.build or "build/default")
    if options.build is None:
        subprocess.run([ROOT / "tools/build", "default", "warpaes_cli"], check=True, stdout=subprocess.DEVNULL)
    warpaes = build / "cli/warpaes"
    gpu = find_gpu()
    with tempfile.TemporaryDirectory() as folder:
        # A build that was made elsewhere finds its library through this.
        paths = [str(build / "src/capi"), os.environ.get("LD_LIBRARY_PATH", "")]
        environment = os.environ | {
            "LD_LIBRARY_PATH": ":".join(filter(None, paths)),
            "WARPAES_CALIBRATION": f"{folder}/calibration.json",
        }
        command = [warpaes, "calibrate", "--json", *(["--quick"] if options.quick else [])]
        calibration = json.loads(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout)
        print(f"calibrated in {calibration['seconds']:.1f} s", flush=True)
        costs = json.loads(Path(f"{folder}/calibration.json").read_text())
        grid = Path(folder) / "grid.json"
        # What has no GPU has fewer places; another key length makes up for it.
        keys = [] if gpu or "--key-bits" in options.grid else ["--key-bits", "128,256"]
        subprocess.run([warpaes, "plan", "--grid", "-o", grid, *keys, *options.grid], env=environment, check=True)
        measured = json.loads(grid.read_text())

    sha, dirty = commit()
    del calibration["path"]
    record = {
        "schema": 1,
        "date": f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%dT%H:%M:%SZ}",
        "commit": sha,
        "dirty": dirty,
        "warpaes": measured.pop("warpaes"),
        "gpu": gpu,
        "host": {"cpu": cpu_name(), "cores": len(os.sched_getaffinity(0)), "os": f"Linux {platform.release()}"},
        "calibration": calibration | {field: costs[field] for field in ("threads", "thread_s", "cold_s")},
    }
    path = write(rounded(record | measured), options.output)
    print(f"record: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
