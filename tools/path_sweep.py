#!/usr/bin/env python3
"""Measures every path through the library and marks the dips in each curve.

Runs bench/path_sweep over modes, sizes, numbers of keys, kinds of memory and kinds of calls, with authentic and with
forged messages, on a GPU if there is one. Prints one curve per line, from small messages to large messages, and marks
its dips: sizes that are more than a tenth slower than a smaller size. Stores a record in bench/results/paths.

    tools/path_sweep.py                    uses the cuda preset if there is a GPU
    tools/path_sweep.py --no-build BUILD   uses the programs in a build folder
    tools/path_sweep.py --quick            measures a few sizes within seconds, and stores no record

Without a git repository, WARPAES_COMMIT names the commit, and WARPAES_DIRTY=1 marks uncommitted changes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from recording import ROOT, built, environment_of, find_gpu, host, machine, save, stamp

sys.path.insert(0, str(ROOT / "bench"))

from paths import curves_of, dips_of, name_of

SMALL = "64,256,1K,1500,4K,8K,16K,64K,1M"
QUICK = "256,1500,16K"
# Options of bench/path_sweep for each run. {sizes} stands for the sizes of many short messages.
GPU_RUNS = (
    "--mode ctr,gcm --direction encrypt --size {sizes} --keys 1,64,each --way submit",
    "--mode ecb,xts --direction encrypt --size {sizes} --keys 1,64 --way submit",
    "--mode cbc,xts --direction decrypt --size {sizes} --keys 1,64 --way submit",
    "--mode gcm --direction decrypt --size {sizes} --keys 1,64 --way submit --forged 0,1",
    "--mode gcm --size {sizes} --keys 1 --way enqueue,graph",
    "--mode gcm --size {sizes} --keys 1,64 --key-bits 256 --direction encrypt --way submit",
    "--mode ctr,gcm --size 4K,64K,1M,16M,256M --keys 1 --way single,async",
    "--mode gcm --direction decrypt --size 4K,64K,1M,16M,256M --keys 1 --way single,async --forged 1",
)
HOST_RUNS = (
    "--mode ctr,gcm --direction encrypt --size {sizes} --keys 1,64,each --way submit --place pageable --mib 64",
    "--mode ecb,cbc --direction decrypt --size 256,1K,4K,16K,1M --keys 1,each --way submit --place pageable --mib 64",
    "--mode gcm --direction decrypt --size {sizes} --keys 1 --way submit --place pageable --mib 64 --forged 0,1",
    "--mode ctr,gcm --size 64,1500,16K,1M,64M --keys 1 --way single --place pageable",
)


def sweep(build: Path, environment: dict, gpu: bool, quick: bool) -> list[dict]:
    rows = []
    for run in (*(GPU_RUNS if gpu else ()), *HOST_RUNS):
        command = [str(build / "bench/path_sweep"), *run.format(sizes=QUICK if quick else SMALL).split()]
        if quick:
            command += ["--mib", "4", "--seconds", "0.01"]
        done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
        found = json.loads(done.stdout)["paths"]
        show(found)
        rows += found
    return rows


def show(rows: list[dict]) -> None:
    for key, points in curves_of(rows).items():
        values = " ".join(f"{size}:{rate:.4g}" for size, rate in points)
        dips = ", ".join(str(size) for size in dips_of(points))
        print(f"{name_of(key)}: {values}{f'  <- dips at {dips}' if dips else ''}", flush=True)
    for row in rows:
        if "error" in row:
            print(f"{row}  <- failed", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-build", type=Path, metavar="BUILD", help="use the programs in this build folder")
    parser.add_argument(
        "--quick", action="store_true", help="measure few sizes with little memory, and do not store a record"
    )
    options = parser.parse_args()
    gpu = find_gpu()
    build = built(options.no_build, gpu, "path_sweep", "warpaes")
    rows = sweep(build, environment_of(build), gpu is not None, options.quick)
    record = {
        "schema": 1,
        **stamp(),
        "gpu": gpu,
        "host": host(),
        "paths": rows,
    }
    if not options.quick:
        path = save(record, machine(record), ROOT / "bench/results/paths")
        print(f"record: {path.relative_to(ROOT)}")
    return 1 if any("error" in row for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
