#!/usr/bin/env python3
"""Measures the cost of forged messages and files, relative to authentic messages and files of the same length.

Runs bench/hostile_cost, which covers every kind of call and every mode with a tag, on the CPU and, if there is a GPU,
on the GPU. Then runs `warpaes decrypt` and `warpaes verify` on a file of each format, altered in its first or last
segment. Prints a table and stores a record in bench/results/hostile. Exits with status 1 if a forgery of 64 KiB or more
takes more than 1.5 times as long as the authentic message or file, or if a forged file needs more memory than the
authentic file.

    tools/hostile_cost.py                    uses the cuda preset if there is a GPU
    tools/hostile_cost.py --no-build BUILD   uses the programs in a build folder
    tools/hostile_cost.py --library DIR      calls the libwarpaes.so of another build, for comparison

Without a git repository, WARPAES_COMMIT names the commit, and WARPAES_DIRTY=1 marks uncommitted changes.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from recording import ROOT, built, environment_of, find_gpu, host, machine, save, stamp

LIMIT = 1.5
# A smaller difference between the memory for a forged and an authentic file is noise.
MORE_KIB = 4096


def run_calls(build: Path, environment: dict, library: Path | None, seconds: float) -> tuple[list[dict], bool]:
    if library is not None:
        environment = environment | {"LD_PRELOAD": str(library / "libwarpaes.so")}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.json"
        command = [build / "bench/hostile_cost", "--json", path, "--limit", str(LIMIT), "--seconds", str(seconds)]
        done = subprocess.run(command, env=environment, check=False)
        if done.returncode not in (0, 1):
            raise SystemExit("hostile_cost failed")
        return json.loads(path.read_text()), done.returncode == 0


def measured(command: list, environment: dict, refused: bool) -> tuple[float, int]:
    """Run a command and return its elapsed seconds and peak resident memory in KiB. Exit if the command succeeds
    although `refused` is true, or if it fails although `refused` is false."""
    start = time.monotonic()
    process = subprocess.Popen(
        [str(part) for part in command], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if (process.returncode != 0) != refused:
        raise SystemExit(f"exit status {process.returncode}: {command}")
    return seconds, usage.ru_maxrss


def altered(source: Path, target: Path, at: int) -> None:
    shutil.copyfile(source, target)
    with target.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 0x40]))


def run_files(build: Path, environment: dict, size: int, rounds: int) -> tuple[list[dict], bool]:
    """Measure forged and authentic files of every template, on tmpfs if the system has it."""
    warpaes = build / "cli/warpaes"
    help_text = subprocess.run(
        [warpaes, "keygen", "--help"], env=environment, capture_output=True, text=True, check=True
    )
    templates = re.findall(r"^  ((?:AES|C2SP_)\w+)$", help_text.stdout, re.MULTILINE)
    if not templates:
        raise SystemExit("`warpaes keygen --help` does not list a template")
    rows, fine = [], True
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as scratch:
        folder = Path(scratch)
        plain = folder / "plain"
        with plain.open("wb") as file:
            for _ in range(size >> 20):
                file.write(os.urandom(1 << 20))
        for template in templates:
            keyset, sealed, output = folder / "keyset", folder / "sealed", folder / "output"
            for path in (keyset, sealed):
                path.unlink(missing_ok=True)
            subprocess.run(
                [warpaes, "keygen", "-t", template, "-o", keyset],
                env=environment,
                stderr=subprocess.DEVNULL,
                check=True,
            )
            subprocess.run(
                [warpaes, "encrypt", "-k", keyset, "-o", sealed, plain],
                env=environment,
                stderr=subprocess.DEVNULL,
                check=True,
            )
            length = sealed.stat().st_size
            for name, at in (("first segment", 200), ("last segment", length - 100)):
                forged = folder / "forged"
                altered(sealed, forged, at)
                for action in ("decrypt", "verify"):
                    results: dict[Path, list] = {sealed: [], forged: []}
                    for _ in range(rounds):
                        for file, its in results.items():
                            output.unlink(missing_ok=True)
                            command = [warpaes, action, "-k", keyset, *(["-o", output] if action == "decrypt" else [])]
                            its.append(measured([*command, file], environment, file == forged))
                    authentic, wrong = (
                        (statistics.median(s for s, _ in its), max(kib for _, kib in its)) for its in results.values()
                    )
                    row = {
                        "way": f"{action}, {name} altered",
                        "format": template,
                        "bytes": length,
                        "authentic_us": 1e6 * authentic[0],
                        "forged_us": 1e6 * wrong[0],
                        "ratio": wrong[0] / authentic[0],
                        "authentic_kib": authentic[1],
                        "forged_kib": wrong[1],
                    }
                    bad = row["ratio"] > LIMIT or wrong[1] > authentic[1] + MORE_KIB
                    fine = fine and not bad
                    times = f"{1e3 * authentic[0]:9.2f} ms {1e3 * wrong[0]:9.2f} ms {row['ratio']:6.2f}"
                    memory = f"{authentic[1] >> 10:5} MiB {wrong[1] >> 10:5} MiB"
                    note = "  <- too much" if bad else ""
                    print(f"{row['way']:34} {template:28} {length:11} {times} {memory}{note}", flush=True)
                    rows.append(row)
    return rows, fine


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-build", type=Path, metavar="BUILD", help="use the programs in this build folder")
    parser.add_argument("--library", type=Path, metavar="DIR", help="call the libwarpaes.so in this folder")
    parser.add_argument("--mib", type=int, default=256, help="size of the files in MiB (%(default)s)")
    parser.add_argument("--seconds", type=float, default=0.25, help="seconds for each row of calls (%(default)s)")
    parser.add_argument("--no-record", action="store_true", help="do not store a record")
    options = parser.parse_args()
    gpu = find_gpu()
    build = built(options.no_build, gpu, "hostile_cost", "warpaes_cli", "warpaes")
    environment = environment_of(build)
    calls, calls_fine = run_calls(build, environment, options.library, options.seconds)
    files, files_fine = run_files(build, environment, options.mib << 20, 5)
    record = {
        "schema": 1,
        **stamp(),
        "gpu": gpu,
        "host": host(),
        "calls": calls,
        "files": files,
    }
    if not options.no_record and options.library is None:
        path = save(record, machine(record), ROOT / "bench/results/hostile")
        print(f"record: {path.relative_to(ROOT)}")
    return 0 if calls_fine and files_fine else 1


if __name__ == "__main__":
    sys.exit(main())
