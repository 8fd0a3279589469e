"""Measures how fast cuDF reads encrypted Parquet through the plain view, compared with reading the unencrypted file and
with pyarrow's decryption.

    PYTHONPATH=build/cuda/python bench/parquet_cudf.py [GIGABYTES [TIMES]]

The script needs a GPU, pylibcudf and pyarrow. The files are in the page cache. An unmodified cuDF reads the view's
footer and column chunks with its HybridScanReader. The script fails unless the encrypted and the unencrypted file
contain equal tables. It prints a JSON object for each kind of file.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pylibcudf as plc
import warpaes.parquet as wp
from cuda.bindings import runtime as cuda
from pylibcudf.io.experimental import HybridScanReader

KEY = bytes(range(16))


def table(gigabytes: float) -> pa.Table:
    """Return a table with six columns of integers, floats and short texts."""
    rows = int(gigabytes * 1e9 / 52)
    random = np.random.default_rng(44)
    columns: dict[str, Any] = {f"i{n}": random.integers(0, 1 << 40, rows) for n in range(3)}
    columns |= {f"f{n}": random.random(rows) for n in range(3)}
    columns["text"] = pa.array(np.char.mod("%d", np.arange(1000))).take(pa.array(random.integers(0, 1000, rows)))
    return pa.table(columns)


def options(path: str) -> Any:
    """Return the reader's options. HybridScanReader does not open the file."""
    return plc.io.parquet.ParquetReaderOptions.builder(plc.io.SourceInfo([path])).build()


def in_clear(path: str) -> Any:
    """Read the unencrypted file with cuDF's reader for files."""
    return plc.io.parquet.read_parquet(options(path))


def by_scan(path: str) -> Any:
    """Read the unencrypted file with the reader for bytes, which also reads the view."""
    with wp.open(path, KEY, allow_plaintext=True) as view:
        return scanned(view, path)


def through_the_view(path: str) -> Any:
    """Read an encrypted file."""
    with wp.open(path, KEY) as view:
        return scanned(view, path)


def scanned(view: wp.PlainView, path: str) -> Any:
    """Return the table that cuDF reads from a view."""
    chosen = options(path)
    reader = HybridScanReader(view.footer_bytes, chosen)
    groups = reader.all_row_groups(chosen)
    ranges = [(one.offset, one.size) for one in reader.all_column_chunks_byte_ranges(groups, chosen)]
    return reader.materialize_all_columns(groups, view.to_device(ranges), chosen)


def by_pyarrow(path: str) -> Any:
    """Decrypt with pyarrow and copy the table to the GPU."""
    keys = pe.create_decryption_properties(KEY)
    return plc.Table.from_arrow(pq.ParquetFile(path, decryption_properties=keys).read())


def timed(call: Callable[[], Any], times: int) -> float:
    """Return the best time in seconds, after one uncounted call."""
    best = float("inf")
    for turn in range(times + 1):
        begin = time.perf_counter()
        result = call()
        cuda.cudaDeviceSynchronize()
        passed = time.perf_counter() - begin
        del result
        best = min(best, passed) if turn else best
    return best


def main() -> int:
    """Measure each kind of file."""
    gigabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    times = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    whole = table(gigabytes)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        clear, sealed = os.path.join(folder, "clear.parquet"), os.path.join(folder, "sealed.parquet")
        for kind in (
            {"compression": "none", "use_dictionary": ["text"]},
            {"compression": "snappy"},
            {"compression": "none", "use_dictionary": ["text"], "data_page_size": 64 << 10},
        ):
            pq.write_table(whole, clear, **kind)
            pq.write_table(whole, sealed, encryption_properties=pe.create_encryption_properties(KEY), **kind)
            tables = [pa.table(one.tbl.to_arrow()) for one in (in_clear(clear), through_the_view(sealed))]
            if not tables[0].equals(tables[1]):
                print("parquet_cudf: the tables differ", file=sys.stderr)
                return 1
            del tables
            seconds = {
                "cudf_in_clear": timed(lambda: in_clear(clear), times),
                "cudf_scan_in_clear": timed(lambda: by_scan(clear), times),
                "cudf_through_view": timed(lambda: through_the_view(sealed), times),
                "pyarrow_and_copy": timed(lambda: by_pyarrow(sealed), max(1, times // 2)),
            }
            file_bytes = os.path.getsize(clear)
            rates = {name: round(file_bytes / one / 1e9, 2) for name, one in seconds.items()}
            print(json.dumps({"file": kind, "bytes": file_bytes, "gb_per_s": rates}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
