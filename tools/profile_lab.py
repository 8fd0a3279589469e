#!/usr/bin/env python3
"""Profiles the lab's kernels with Nsight Compute and stores the counts. Covers the thirteen kernels of
N.implementations, the three schemes of G.schemes with tables in constant and in shared memory, and these schemes at
several text lengths with tables in constant memory.

ncu profiles the launches with which an experiment verifies its kernels. N.implementations launches each kernel with up
to three numbers of threads, and the fastest launch is stored. A profile contains instructions, accesses to shared and
constant memory, occupancy, and the reasons for warp stalls. Metrics that the GPU does not support are omitted. The
record goes to bench/results/lab. `make docs` generates docs/lab-profile.md from it and from the lab's newest record.

    tools/profile_lab.py                     runs on a machine with a GPU and ncu
    tools/profile_lab.py --no-build          uses the programs in build/cuda, built on another machine
    tools/profile_lab.py --csv FILE          reads the output of `ncu --csv --page raw` for the thirteen kernels from a
                                             file; --schemes-csv FILE reads the output for the schemes
"""

from __future__ import annotations

import argparse
import csv
import io
import re
import shutil
import subprocess
import sys
from pathlib import Path

from gpu_test import cuda_version
from recording import ROOT, environment_of, find_gpu, save, stamp

KERNELS = 13
LAUNCHES = 3 * KERNELS  # N.implementations verifies each kernel with at most three numbers of threads
TEXT_BYTES = 256 << 20  # the text length in N.implementations
# The first six launches of G.schemes, in this order.
SCHEMES = [(scheme, tables) for tables in ("constant", "shared") for scheme in (1, 2, 3)]
SCHEMES_TEXT_BYTES = 128 << 20
# After these six launches, [G]'s text lengths follow. At each length, the three schemes run with tables in constant
# memory.
SIZES = [(scheme, 2048 << i) for i in range(13) for scheme in (1, 2, 3)]

STALLS = (
    "barrier",
    "branch_resolving",
    "dispatch_stall",
    "drain",
    "imc_miss",
    "lg_throttle",
    "long_scoreboard",
    "math_pipe_throttle",
    "membar",
    "mio_throttle",
    "misc",
    "no_instruction",
    "not_selected",
    "selected",
    "short_scoreboard",
    "sleeping",
    "tex_throttle",
    "wait",
)
# Maps names in the record to metrics.
METRICS = {
    "nanoseconds": "gpu__time_duration.sum",
    "instructions": "smsp__inst_executed.sum",
    "issue_percent": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "alu_percent": "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active",
    "shared_loads": "smsp__inst_executed_op_shared_ld.sum",
    "shared_stores": "smsp__inst_executed_op_shared_st.sum",
    "shared_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "shared_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "shared_percent": "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed",
    "lsu_percent": "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed",
    "constant_requests": "idc__requests.sum",
    "constant_hits": "idc__requests_lookup_hit.sum",
    "constant_misses": "idc__requests_lookup_miss.sum",
    "constant_percent": "idc__request_cycles_active.avg.pct_of_peak_sustained_active",
    "dram_bytes": "dram__bytes.sum",
    "dram_percent": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "occupancy_percent": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "clock_hz": "smsp__cycles_elapsed.avg.per_second",
    "registers": "launch__registers_per_thread",
    "threads": "launch__block_size",
    "blocks": "launch__grid_size",
    "shared_bytes": "launch__shared_mem_per_block",
}
STALL_METRICS = {stall: f"smsp__average_warps_issue_stalled_{stall}_per_issue_active.ratio" for stall in STALLS}


def find_ncu() -> str | None:
    found = shutil.which("ncu") or shutil.which("ncu", path="/usr/local/cuda/bin")
    installed = sorted(Path("/opt/nvidia/nsight-compute").glob("*/ncu"))
    return found or (str(installed[-1]) if installed else None)


def known_metrics(text: str) -> set[str]:
    """Return the names that `ncu --query-metrics` lists, without suffixes such as ".sum"."""
    return set(re.findall(r"^\s*(\w+__\w+)\b", text, re.MULTILINE))


def metrics_to_ask(known: set[str]) -> list[str]:
    """Return the metrics to request: the metrics in `known`, or all of them if `known` contains none. Launch metrics
    are constants, which ncu does not list."""
    asked = [*METRICS.values(), *STALL_METRICS.values()]
    listed = [name for name in asked if name.split(".")[0] in known]
    return [name for name in asked if not listed or name.startswith("launch__") or name in listed]


def kernel_number(name: str) -> int | None:
    """Return a kernel's number among the thirteen, counted from 1, or None. The kernel's template argument is its
    position in the catalogue, counted from 0."""
    found = re.search(r"variant_kernel(?:<(?:\([a-z ]+\))?(\d+)[a-zA-Z]*>|ILm(\d+)E)", name)
    place = int(found[1] or found[2]) if found else KERNELS
    return place + 1 if place < KERNELS else None


# Conversion factors by unit. ncu runs with base units, but a report from a file may use other units.
FACTORS = {
    "second": 1e9,
    "msecond": 1e6,
    "usecond": 1e3,
    "s": 1e9,
    "ms": 1e6,
    "us": 1e3,
    "Kbyte": 1e3,
    "Mbyte": 1e6,
    "Gbyte": 1e9,
    "Kbyte/block": 1e3,
    "Mhz": 1e6,
    "MHz": 1e6,
    "Ghz": 1e9,
    "GHz": 1e9,
    "cycle/usecond": 1e6,
    "cycle/nsecond": 1e9,
    "cycle/us": 1e6,
    "cycle/ns": 1e9,
}


def value_of(text: str, unit: str) -> float | None:
    """Convert a text such as "1,234.5" to a number in base units, and "n/a", "" and "(!) n/a" to None."""
    try:
        number = float(text.replace(",", ""))
    except ValueError:
        return None
    return number * FACTORS.get(unit, 1)


def launches(text: str) -> list[tuple[str, dict[str, float]]]:
    """Return the kernel and metrics of every launch in the output of `ncu --csv`. The output contains one row per
    launch and a row of units below the names (--page raw), or one row per metric."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return []
    rows = list(csv.DictReader(io.StringIO("\n".join(line for line in lines[start:] if line.startswith('"')))))
    out: dict[str, tuple[str, dict[str, float]]] = {}
    units: dict[str, str] = {}
    for row in rows:
        if "Metric Name" in row:
            _, metrics = out.setdefault(row["ID"], (row["Kernel Name"], {}))
            cells = [(row["Metric Name"], row["Metric Value"], row["Metric Unit"])]
        elif not row["ID"]:
            units = row
            continue
        else:
            _, metrics = out.setdefault(row["ID"], (row["Kernel Name"], {}))
            cells = [(name, cell, units.get(name, "")) for name, cell in row.items() if name and "__" in name]
        for name, cell, unit in cells:
            number = value_of(cell or "", unit or "")
            if number is not None:
                metrics[name] = number
    return list(out.values())


def profile_of(metrics: dict[str, float]) -> dict:
    """Return a kernel's metrics under the record's names. Missing metrics are omitted."""
    profile = {name: metrics[metric] for name, metric in METRICS.items() if metric in metrics}
    stalls = {stall: metrics[metric] for stall, metric in STALL_METRICS.items() if metric in metrics}
    return profile | {"stalls": dict(sorted(stalls.items(), key=lambda stall: -stall[1]))}


def kernels_of(text: str) -> list[dict]:
    """Return the profile of the fastest launch of each of the thirteen kernels."""
    found: dict[int, dict] = {}
    for name, metrics in launches(text):
        number, profile = kernel_number(name), profile_of(metrics)
        slower = number in found and profile.get("nanoseconds", 0) >= found[number].get("nanoseconds", 0)
        if number and not slower:
            found[number] = {"number": number, **profile}
    return [found[number] for number in sorted(found)]


def schemes_of(text: str) -> list[dict]:
    """Return the profiles of [G]'s schemes. The launch order identifies the schemes."""
    kernels = [metrics for name, metrics in launches(text) if "variant_kernel" in name]
    return [
        {"scheme": scheme, "tables": tables, **profile_of(metrics)}
        for (scheme, tables), metrics in zip(SCHEMES, kernels)
    ]


def sizes_of(text: str) -> list[dict]:
    """Return the profiles of the schemes at [G]'s text lengths, in launch order."""
    kernels = [metrics for name, metrics in launches(text) if "variant_kernel" in name][len(SCHEMES) :]
    return [
        {"scheme": scheme, "text_bytes": size, **profile_of(metrics)} for (scheme, size), metrics in zip(SIZES, kernels)
    ]


def run_ncu(ncu: str, build: Path, limit: int, experiment: str, count: int) -> str:
    """Return ncu's output for the experiment's first `count` launches."""
    environment, scratch = environment_of(build), build / "profile_lab"
    query = subprocess.run(
        [ncu, "--query-metrics"], env=environment, capture_output=True, text=True, check=False, timeout=limit
    )
    names = metrics_to_ask(known_metrics(query.stdout) if query.returncode == 0 else set())
    command = [ncu, "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"]
    # The experiment verifies every kernel before it measures any, in the order of its table.
    command += ["--kernel-name", "regex:variant_kernel", "--launch-count", str(count)]
    command += ["--print-kernel-base", "demangled", "--metrics", ",".join(names)]
    command += [build / "cli/warpaes-lab", "run", experiment, "--quick", "--force", "-o", scratch]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=limit)
    if done.returncode != 0 or not launches(done.stdout):
        print(done.stdout[-4000:], done.stderr[-4000:], file=sys.stderr)
    return done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-build", action="store_true", help="use build/cuda without building it")
    parser.add_argument("--build", type=Path, default=ROOT / "build/cuda", help="build folder to use with --no-build")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="read ncu's output from a file instead of running it")
    parser.add_argument(
        "--schemes-csv", type=Path, metavar="FILE", help="read ncu's output for the three schemes from a file"
    )
    parser.add_argument("--limit", type=int, default=600, metavar="SECONDS", help="time limit for each run of ncu")
    parser.add_argument("--output", type=Path, default=ROOT / "bench/results/lab", help="folder for the record")
    options = parser.parse_args()

    gpu, ncu = find_gpu(), find_ncu()
    if gpu is None or (ncu is None and not options.csv):
        missing = "nvidia-smi shows no GPU" if gpu is None else "ncu is missing; Nsight Compute includes it"
        print(f"profile_lab: {missing}", file=sys.stderr)
        return 1
    build = options.build.resolve()
    if not options.no_build and not options.csv:
        subprocess.run([ROOT / "tools/build", "cuda", "warpaes_lab_program"], check=True, stdout=subprocess.DEVNULL)
    made = stamp()
    if options.csv:
        text = options.csv.read_text()
        of_schemes = options.schemes_csv.read_text() if options.schemes_csv else ""
    else:
        text = run_ncu(ncu, build, options.limit, "N.implementations", LAUNCHES)
        of_schemes = run_ncu(ncu, build, options.limit, "G.schemes", len(SCHEMES) + len(SIZES))
    kernels, schemes, by_size = kernels_of(text), schemes_of(of_schemes), sizes_of(of_schemes)
    if not kernels:
        print("profile_lab: ncu reported none of the thirteen kernels; it may need more privileges", file=sys.stderr)
        return 1
    gpu = {**gpu, "cuda": cuda_version(build)}
    record = {"schema": 1, **made, "gpu": gpu, "text_bytes": TEXT_BYTES, "kernels": kernels}
    if schemes:
        record |= {"schemes_text_bytes": SCHEMES_TEXT_BYTES, "schemes": schemes}
    if by_size:
        record["schemes_by_size"] = by_size
    path = save(record, f"profile {gpu['name']}", options.output)
    print(path)
    absent = sorted(set(range(1, KERNELS + 1)) - {kernel["number"] for kernel in kernels})
    if absent:
        print(f"profile_lab: ncu did not report the kernels {', '.join(map(str, absent))}", file=sys.stderr)
    if len(schemes) < len(SCHEMES):
        print(f"profile_lab: ncu did not report {len(SCHEMES) - len(schemes)} of the schemes' kernels", file=sys.stderr)
    if len(by_size) < len(SIZES):
        print(f"profile_lab: ncu reported {len(by_size)} of {len(SIZES)} launches by text length", file=sys.stderr)
    return 1 if absent or len(schemes) < len(SCHEMES) or len(by_size) < len(SIZES) else 0


if __name__ == "__main__":
    sys.exit(main())
