"""Measures cuDF on encrypted Parquet through the plain view, compared with cuDF on the unencrypted file and with
pyarrow's decryption followed by a copy to the GPU.

    PYTHONPATH=build/cuda/python python3 bench/parquet_cudf.py [--gib 1] [--times 7]

Prints the rows and stores a record in bench/results/parquet_cudf. Needs a GPU, pylibcudf, kvikio and pyarrow 25 or
later. cuDF is unchanged: its HybridScanReader reads the view's footer and column chunks. All files are in the page
cache. A sample lasts from opening the file until the complete table is in GPU memory. cuDF's samples on the two files
alternate. cuDF also reads the unencrypted file with more threads than its default, and allocates GPU memory in two
ways. The script prints all samples and compares the best median of each contender. It fails unless cuDF reads the
written table from both files.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import importlib.metadata
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import kvikio.defaults
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pylibcudf as plc
import rmm
import warpaes.parquet as wp
from cuda.bindings import runtime as cuda
from pylibcudf.io.experimental import HybridScanReader

sys.path.append(str(Path(__file__).resolve().parent.parent / "tools"))
from recording import ROOT, find_gpu, host, save, stamp

KEY = bytes(range(16))
#: pyarrow's options. In uncompressed files, only the texts use a dictionary, because the numbers are random.
KINDS: dict[str, dict[str, Any]] = {
    "uncompressed": {"compression": "none", "use_dictionary": ["text"]},
    "snappy": {"compression": "snappy"},
    "zstd": {"compression": "zstd"},
    "uncompressed, pages of 64 KiB": {"compression": "none", "use_dictionary": ["text"], "data_page_size": 64 << 10},
}
#: The numbers of threads with which KvikIO reads for cuDF. The default is 4.
THREADS = (4, 8, 16)
#: How cuDF allocates device memory: with cudaMalloc (its default), or from the driver's pool (which its guide advises).
MEMORY = ("cudaMalloc", "pool")


def table(gib: float) -> pa.Table:
    """Return a table of ``gib`` GiB in memory: three columns of integers, three of floats and one of short texts."""
    rows = int(gib * (1 << 30) / 54)
    random = np.random.default_rng(44)
    columns: dict[str, Any] = {f"i{n}": random.integers(0, 1 << 40, rows) for n in range(3)}
    columns |= {f"f{n}": random.random(rows) for n in range(3)}
    columns["text"] = pa.array(np.char.mod("%d", np.arange(1000))).take(pa.array(random.integers(0, 1000, rows)))
    return pa.table(columns)


def options(path: str) -> Any:
    """Return cuDF's options for reading ``path``. HybridScanReader does not open the file."""
    return plc.io.parquet.ParquetReaderOptions.builder(plc.io.SourceInfo([path])).build()


def in_clear(path: str) -> Any:
    """Read an unencrypted file with cuDF."""
    return plc.io.parquet.read_parquet(options(path)).tbl


def through_the_view(path: str) -> Any:
    """Read an encrypted file with cuDF, through the plain view."""
    with wp.open(path, KEY) as view:
        chosen = options(path)
        reader = HybridScanReader(view.footer_bytes, chosen)
        groups = reader.all_row_groups(chosen)
        ranges = [(one.offset, one.size) for one in reader.all_column_chunks_byte_ranges(groups, chosen)]
        return reader.materialize_all_columns(groups, view.to_device(ranges), chosen).tbl


def view_only(path: str) -> Any:
    """Decrypt all column chunks into GPU memory, without decoding."""
    with wp.open(path, KEY) as view:
        return view.column_chunks()


def by_pyarrow(path: str, mapped: bool) -> Any:
    """Decrypt with pyarrow on all cores, and copy to the GPU."""
    keys = pe.create_decryption_properties(KEY)
    return plc.Table.from_arrow(pq.read_table(path, decryption_properties=keys, memory_map=mapped))


def write(whole: pa.Table, folder: str) -> dict[str, tuple[str, str]]:
    """Write each kind of file, unencrypted and encrypted, and return their paths."""
    paths, jobs = {}, []
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for number, (kind, given) in enumerate(KINDS.items()):
            clear, sealed = (os.path.join(folder, f"{number}.{name}") for name in ("clear", "sealed"))
            paths[kind] = clear, sealed
            keys = pe.create_encryption_properties(KEY)
            jobs.append(pool.submit(pq.write_table, whole, clear, **given))
            jobs.append(pool.submit(pq.write_table, whole, sealed, encryption_properties=keys, **given))
        for job in jobs:
            job.result()
    return paths


def timed(call: Callable[[], Any]) -> float:
    """Return the seconds from the start of a call until the GPU has finished its work."""
    begin = time.perf_counter()
    result = call()
    cuda.cudaDeviceSynchronize()
    passed = time.perf_counter() - begin
    del result
    cuda.cudaDeviceSynchronize()
    return passed


def measured(clear: str, sealed: str, times: int, pyarrow: bool) -> dict[str, list[float]]:
    """Return the seconds of each path. The paths of cuDF take turns, and pyarrow runs after them. The first sample of a
    path does not count."""
    paths: dict[str, Callable[[], Any]] = {f"cuDF in clear, {n} threads": lambda: in_clear(clear) for n in THREADS}
    paths["cuDF through the view"] = lambda: through_the_view(sealed)
    paths["the view only"] = lambda: view_only(sealed)
    seconds: dict[str, list[float]] = {}
    for turn in range(times + 1):
        for number, (name, call) in enumerate(paths.items()):
            if number < len(THREADS):
                kvikio.defaults.set({"num_threads": THREADS[number]})
            passed = timed(call)
            if turn:
                seconds.setdefault(name, []).append(passed)
    if pyarrow:
        for mapped in (False, True):
            name = f"pyarrow decrypts, then a copy{', mapped file' if mapped else ''}"
            seconds[name] = [timed(partial(by_pyarrow, sealed, mapped)) for _ in range(3)][1:]
    return seconds


def use_memory(kind: str) -> None:
    """Select how cuDF allocates device memory."""
    resource = rmm.mr.CudaMemoryResource() if kind == "cudaMalloc" else rmm.mr.CudaAsyncMemoryResource()
    rmm.mr.set_current_device_resource(resource)


def refuse_different(whole: pa.Table, clear: str, sealed: str) -> None:
    """Raise an exception unless cuDF's tables equal the written table."""
    for name, read in {"in clear": in_clear(clear), "through the view": through_the_view(sealed)}.items():
        got = pa.table(read.to_arrow()).rename_columns(whole.column_names)
        if not got.cast(whole.schema).equals(whole):
            raise SystemExit(f"parquet_cudf: the table {name} differs")


def row_of(kind: str, size: int, decoded: int, seconds: dict[str, dict[str, list[float]]]) -> dict[str, Any]:
    """Return the row of a record: all samples, the speed of each contender's best median, and the ratios of the
    medians."""
    medians = {memory: {name: median(one) for name, one in paths.items()} for memory, paths in seconds.items()}

    def best(prefix: str) -> float:
        return min(s for paths in medians.values() for name, s in paths.items() if name.startswith(prefix))

    clear, view, peer = best("cuDF in clear"), best("cuDF through"), best("pyarrow")
    return {
        "kind": kind,
        "bytes": size,
        "decoded": decoded,
        "milliseconds": {
            memory: {name: [round(s * 1e3, 2) for s in one] for name, one in paths.items()}
            for memory, paths in seconds.items()
        },
        "clear_gb_per_s": round(size / clear / 1e9, 2),
        "view_gb_per_s": round(size / view / 1e9, 2),
        "pyarrow_gb_per_s": round(size / peer / 1e9, 2),
        "of_clear": round(clear / view, 3),
        "of_clear_by_default": round(
            medians["cudaMalloc"]["cuDF in clear, 4 threads"] / medians["cudaMalloc"]["cuDF through the view"], 3
        ),
        "times_pyarrow": round(peer / view, 2),
    }


def main() -> int:
    """Measure each kind of file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gib", type=float, default=1.0, help="size of the table in memory, in GiB (default 1)")
    parser.add_argument("--times", type=int, default=7, help="samples of each path (default 7)")
    parser.add_argument(
        "--output", type=Path, default=ROOT / "bench/results/parquet_cudf", help="folder for the record"
    )
    given = parser.parse_args()
    begin = time.perf_counter()
    whole = table(given.gib)
    space = shutil.disk_usage("/dev/shm").free if os.path.isdir("/dev/shm") else 0
    rows = []
    with tempfile.TemporaryDirectory(dir="/dev/shm" if space > 10 * given.gib * (1 << 30) else None) as folder:
        paths = write(whole, folder)
        print(f"files in {folder} after {time.perf_counter() - begin:.1f} s", flush=True)
        for kind, (clear, sealed) in paths.items():
            refuse_different(whole, clear, sealed)
            seconds = {}
            for memory in MEMORY:
                use_memory(memory)
                seconds[memory] = measured(clear, sealed, given.times, pyarrow=memory == MEMORY[-1])
            rows.append(row_of(kind, os.path.getsize(clear), whole.nbytes, seconds))
            print(json.dumps(rows[-1]), flush=True)
    gpu = find_gpu()
    versions = {name: importlib.metadata.version(name) for name in ("pylibcudf-cu13", "libcudf-cu13", "pyarrow")}
    record = {
        "schema": 1, "kind": "parquet_cudf", **stamp(), "gpu": gpu, "host": host(), "versions": versions,
        "seconds": time.perf_counter() - begin, "rows": rows,
    }  # fmt: skip
    print(f"record: {save(record, gpu['name'] if gpu else record['host']['cpu'], given.output)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
