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
from dataclasses import dataclass, field
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
from warpaes.aead import AESGCM

ROWS, WIDE_ROWS, WIDE_COLUMNS = 2_000_000, 40_000, 100
SAMPLES = 12


@dataclass
class Subject:
    """A file and the part of it that is read."""

    table: str = "numbers"
    key_bytes: int = 16
    columns: list[str] | None = None  #: None means all
    options: dict[str, Any] = field(default_factory=dict)


PLAIN = {"compression": "none", "use_dictionary": False}
LONG = PLAIN | {"max_rows_per_page": 1 << 20}  # by default, a page has at most 20,000 rows
WIDE = PLAIN | {"row_group_size": WIDE_ROWS // 4}
SUBJECTS = {
    "numbers, pages of 1 MiB": Subject(options=LONG),
    "numbers, pages of 1 MiB, AES-256": Subject(key_bytes=32, options=LONG),
    "numbers, pages of 160 kB (pyarrow's default)": Subject(options=PLAIN),
    "numbers, pages of 64 KiB": Subject(options=PLAIN | {"data_page_size": 64 << 10}),
    "numbers, pages of 8 KiB": Subject(options=PLAIN | {"data_page_size": 8 << 10, "write_batch_size": 256}),
    "numbers, dictionary": Subject("few values", options={"compression": "none"}),
    "numbers and texts, uncompressed": Subject("all", options=PLAIN),
    "numbers and texts, pyarrow's defaults (snappy)": Subject("all"),
    "numbers and texts, zstd": Subject("all", options={"compression": "zstd"}),
    "100 columns, 4 row groups": Subject("wide", options=WIDE),
    "one of 100 columns, 4 row groups": Subject("wide", columns=["number 50"], options=WIDE),
}


def tables() -> dict[str, pa.Table]:
    random = np.random.default_rng(44)
    everything = pa.table(
        {
            "integer": random.integers(0, 1 << 62, ROWS),
            "real": random.standard_normal(ROWS),
            "text": pa.array(random.integers(0, 1 << 40, ROWS)).cast(pa.string()),
            "kind": random.integers(0, 1000, ROWS),
        }
    )
    few = random.integers(0, 1 << 62, 1000)
    return {
        "all": everything,
        "numbers": everything.select(["integer", "real"]),
        "few values": pa.table({name: random.choice(few, ROWS) for name in ("first", "second")}),
        "wide": pa.table({f"number {i}": random.standard_normal(WIDE_ROWS) for i in range(WIDE_COLUMNS)}),
    }


def paths(folder: Path, number: int) -> tuple[Path, Path]:
    return folder / f"{number}.clear", folder / f"{number}.encrypted"


def write(folder: Path) -> None:
    made = tables()
    for number, subject in enumerate(SUBJECTS.values()):
        table = made[subject.table]
        clear, encrypted = paths(folder, number)
        pq.write_table(table, clear, **subject.options)
        properties = pe.create_encryption_properties(bytes(range(subject.key_bytes)))
        pq.write_table(table, encrypted, encryption_properties=properties, **subject.options)


def ways(folder: Path, number: int, subject: Subject, threads: bool) -> dict[str, Callable[[], Any]]:
    """Return the calls to compare. All readers return the same table."""
    clear, encrypted = map(str, paths(folder, number))
    key, how = bytes(range(subject.key_bytes)), {"columns": subject.columns, "use_threads": threads}

    def decrypted() -> Any:
        properties = pe.create_decryption_properties(key)
        return pq.ParquetFile(encrypted, decryption_properties=properties).read(**how)

    def view() -> Any:
        with wp.open(encrypted, key) as file:
            return pq.ParquetFile(file).read(**how)

    return {"clear": lambda: pq.ParquetFile(clear).read(**how), "pyarrow": decrypted, "view": view}


def necessary(folder: Path, number: int, subject: Subject, size: int) -> dict[str, Callable[[], Any]]:
    """Return the work that no view avoids: pyarrow's read of the plaintext from memory, and a read of the file and a
    decryption of as many bytes in the processor's caches."""
    encrypted, key = paths(folder, number)[1], bytes(range(subject.key_bytes))
    with wp.open(encrypted, key) as file:
        plain = pa.py_buffer(file.read())
    window, cipher, nonce, message = bytearray(256 << 10), AESGCM(key), bytes(12), bytearray(64 << 10)
    sealed = cipher.encrypt(nonce, message, None)

    def read_file() -> None:
        with open(encrypted, "rb", buffering=0) as file:
            for _ in range(0, size, len(window)):
                file.readinto(window)

    def decrypt() -> None:
        for _ in range(0, size, len(message)):
            cipher.decrypt_into(nonce, sealed, None, message)

    return {
        "memory": lambda: pq.ParquetFile(pa.BufferReader(plain)).read(columns=subject.columns, use_threads=False),
        "file": read_file,
        "decrypt": decrypt,
    }


def bytes_read(encrypted: Path, subject: Subject) -> int:
    """Return the number of bytes of the file, or of the column chunks that are read."""
    if subject.columns is None:
        return encrypted.stat().st_size
    with wp.open(encrypted, bytes(range(subject.key_bytes))) as file:
        return sum(one.length for row in file.footer.chunks for one in row if one.place.path in subject.columns)


def measure(folder: Path) -> list[dict]:
    """Measure the readers in turns and return the minimum of each reader's samples: processor time on one core, or
    elapsed time on several cores."""
    cores = len(os.sched_getaffinity(0))
    pa.set_cpu_count(cores)
    pa.set_io_thread_count(cores)
    clock = time.process_time if cores == 1 else time.perf_counter
    rows = []
    for number, (what, subject) in enumerate(SUBJECTS.items()):
        calls = ways(folder, number, subject, cores > 1)
        tables = [call() for call in calls.values()]
        if not all(one.equals(tables[0]) for one in tables):
            raise AssertionError(f"{what}: the tables differ")
        del tables
        size = bytes_read(paths(folder, number)[1], subject)
        if cores == 1:
            calls |= necessary(folder, number, subject, size)
        taken: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(SAMPLES):
            for name, call in calls.items():
                begin = clock()
                kept = call()
                taken[name].append(clock() - begin)
                del kept
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
