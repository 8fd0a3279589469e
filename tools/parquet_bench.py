#!/usr/bin/env python3
"""Measures reads of encrypted Parquet through the plain view, compared with pyarrow's own decryption and with reads of
the unencrypted file.

Prints the table and stores a record in bench/results/parquet.

    PYTHONPATH=build/default/python .venv/tests/bin/python3 tools/parquet_bench.py
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
sys.path.append(str(Path(__file__).resolve().parent))
import numpy as np
import parquet_page
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import warpaes.parquet as wp
from recording import ROOT, processor, save, stamp

ROWS = 2_000_000
SAMPLES = 12
NUMBERS = ["integer", "real"]
#: For each file: its columns (None means all), the key length in bytes, and the writer's options.
FILES: dict[str, tuple[list[str] | None, int, dict[str, Any]]] = {
    "numbers, pages of 1 MiB": (NUMBERS, 16, {"compression": "none", "use_dictionary": False}),
    "numbers, pages of 1 MiB, AES-256": (NUMBERS, 32, {"compression": "none", "use_dictionary": False}),
    "numbers, pages of 64 KiB": (
        NUMBERS,
        16,
        {"compression": "none", "use_dictionary": False, "data_page_size": 64 << 10},
    ),
    "numbers, pages of 8 KiB": (
        NUMBERS,
        16,
        {"compression": "none", "use_dictionary": False, "data_page_size": 8 << 10, "write_batch_size": 256},
    ),
    "numbers and texts, uncompressed": (None, 16, {"compression": "none", "use_dictionary": False}),
    "numbers and texts, pyarrow's defaults (snappy)": (None, 16, {}),
    "numbers and texts, zstd": (None, 16, {"compression": "zstd"}),
}


def table() -> pa.Table:
    random = np.random.default_rng(44)
    return pa.table(
        {
            "integer": random.integers(0, 1 << 62, ROWS),
            "real": random.standard_normal(ROWS),
            "text": pa.array(random.integers(0, 1 << 40, ROWS)).cast(pa.string()),
            "kind": random.integers(0, 1000, ROWS),
        }
    )


def paths(folder: Path, number: int) -> tuple[Path, Path]:
    return folder / f"{number}.clear", folder / f"{number}.encrypted"


def write(folder: Path) -> None:
    whole = table()
    for number, (columns, key, options) in enumerate(FILES.values()):
        some = whole if columns is None else whole.select(columns)
        clear, encrypted = paths(folder, number)
        pq.write_table(some, clear, **options)
        properties = pe.create_encryption_properties(bytes(range(key)))
        pq.write_table(some, encrypted, encryption_properties=properties, **options)


def ways(folder: Path, number: int, key: bytes, threads: bool) -> dict[str, Callable[[], Any]]:
    """Return the calls to compare. All calls return the same table."""
    clear, encrypted = map(str, paths(folder, number))

    def decrypted() -> Any:
        properties = pe.create_decryption_properties(key)
        return pq.ParquetFile(encrypted, decryption_properties=properties).read(use_threads=threads)

    def view() -> Any:
        with wp.open(encrypted, key) as file:
            return pq.ParquetFile(file).read(use_threads=threads)

    return {
        "clear": lambda: pq.ParquetFile(clear).read(use_threads=threads),
        "pyarrow": decrypted,
        "view": view,
    }


def measure(folder: Path) -> list[dict]:
    """Measure the readers in turns and return the minimum of each reader's samples: processor time on one core, or
    elapsed time on several cores."""
    cores = len(os.sched_getaffinity(0))
    pa.set_cpu_count(cores)
    pa.set_io_thread_count(cores)
    clock = time.process_time if cores == 1 else time.perf_counter
    rows = []
    for number, (what, (_, key, _)) in enumerate(FILES.items()):
        calls = ways(folder, number, bytes(range(key)), cores > 1)
        tables = [call() for call in calls.values()]
        if not all(one.equals(tables[0]) for one in tables):
            raise AssertionError(f"{what}: the tables differ")
        del tables
        taken: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(SAMPLES):
            for name, call in calls.items():
                begin = clock()
                kept = call()
                taken[name].append(clock() - begin)
                del kept
        size = paths(folder, number)[1].stat().st_size
        seconds = {f"{name}_seconds": min(times) for name, times in taken.items()}
        rows.append({"what": what, "cores": cores, "bytes": size, **seconds})
    return rows


def measured_on(folder: str, cores: set[int]) -> list[dict]:
    done = subprocess.run(
        [sys.executable, "-B", __file__, "--measure", folder],
        check=True,
        stdout=subprocess.PIPE,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )
    rows: list[dict] = json.loads(done.stdout)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    # The program runs itself with this option for each number of cores, because pyarrow sets the size of its pools at
    # startup.
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure)))
        return
    cores = os.sched_getaffinity(0)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        write(Path(folder))
        rows = measured_on(folder, {min(cores)})
        if len(cores) > 1:
            rows += measured_on(folder, set(sorted(cores)[:2]))
    record = {"schema": 1} | stamp() | {"host": {"cpu": processor(), "cores": len(cores)}}
    record |= {"python": sys.version.split()[0], "versions": {"pyarrow": pa.__version__}, "rows": rows}
    print(parquet_page.figures(record))
    path = save(record, processor(), ROOT / "bench/results/parquet")
    print(f"record: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
