"""Reads the records in bench/results, combines the records of a day, and looks up figures."""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

from text import MODES, machine

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench/results"
ROUNDS = {128: 10, 192: 12, 256: 14}
IDENTITY = ("backend", "mode", "direction", "key_bits", "bytes", "memory", "threads")


def read(folder: Path, pattern: str = "*.json") -> list[dict]:
    """Return all records, sorted by file name. A file name ends with the date."""
    records = []
    for path in sorted(folder.glob(pattern)):
        record = json.loads(path.read_text())
        if record["schema"] != 1:
            raise ValueError(f"{path}: schema {record['schema']} is not supported")
        records.append(record)
    return records


def load(folder: Path = RESULTS) -> list[dict]:
    """Return the newest day's combined record of each GPU and of each CPU without a GPU. GPUs come first."""
    machines: dict[tuple, list[dict]] = {}
    for record in read(folder):
        machines.setdefault((record["gpu"] is None, machine(record)), []).append(record)
    return [combine(machines[key]) for key in sorted(machines)]


def with_modes(record: dict) -> dict:
    """Return the record with sizes appended to the names of modes: "gcm/16384" for segments, "xts/512" for data
    units."""
    usual = 4096

    def mode(row: dict) -> str:
        size = row.get("segment") or row.get("data_unit", usual)
        return row["mode"] if size == usual and "segment" not in row else f"{row['mode']}/{size}"

    return record | {"bench": [row | {"mode": mode(row)} for row in record["bench"]]}


def combine(records: list[dict]) -> dict:
    """Return the newest record, with the medians of all records of the same day as its figures. Its `runs` contains
    these records."""
    records = sorted(map(with_modes, records), key=lambda record: record["date"])
    newest = records[-1]
    runs = [record for record in records if record["date"][:10] == newest["date"][:10]]
    figures: dict[tuple, list[dict]] = {}
    for record in runs:
        for row in record["bench"]:
            figures.setdefault(tuple(row[field] for field in IDENTITY), []).append(row)
    bench = []
    for row in newest["bench"]:
        rows = figures[tuple(row[field] for field in IDENTITY)]
        combined = dict(row)
        for field in ("gb_per_s", "baseline_gb_per_s"):
            if row[field] is not None:
                combined[field] = statistics.median(other[field] for other in rows)
        speeds = [other["gb_per_s"] for other in rows]
        bench.append(combined | {"lowest": min(speeds), "highest": max(speeds)})
    return newest | {"bench": bench, "runs": runs}


def rows_of(record: dict, **wanted) -> list[dict]:
    return [row for row in record["bench"] if all(row[field] == value for field, value in wanted.items())]


def rate(record: dict, **wanted) -> float | None:
    rows = rows_of(record, **wanted)
    return rows[0]["gb_per_s"] if rows else None


def operations(rows: list[dict]) -> list[tuple[str, str]]:
    """Return the pairs (mode, direction) in the order of MODES. Within a mode, larger sizes come first."""
    return sorted({(row["mode"], row["direction"]) for row in rows}, key=lambda pair: order(*pair))


def order(mode: str, direction: str) -> tuple:
    name, _, size = mode.partition("/")
    return list(MODES).index(name), direction != "encrypt", -int(size) if size else -sys.maxsize


def limit(record: dict, mode: str, key_bits: int) -> float | None:
    """Return the maximum speed that shared memory allows, in GB/s, or None if it does not limit the mode. LIMIT_TEXT in
    report.py explains the formula."""
    clock = (record["gpu"] or {}).get("clock_mhz")
    if not clock:
        return None
    name = mode.partition("/")[0]
    if name == "gmac":
        return None
    lookups = 16 * (ROUNDS[key_bits] - (2 if name in ("ctr", "gcm") else 0))
    return record["gpu"]["multiprocessors"] * clock * 1e6 * 32 * 16 / (lookups + 8) / 1e9
