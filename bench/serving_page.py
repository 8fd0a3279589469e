"""Generates the figures of docs/serving.md from the newest record in bench/results/serving that was measured on a
GPU."""

from __future__ import annotations

from statistics import median

from records import RESULTS, read
from text import commit_of, human_bytes, number, table, with_figures

PAGE = "docs/serving.md"
NONE = "There is no record of a GPU yet. `tools/serving_bench.py` measures this machine."


def rows_of(record: dict, part: str) -> list[dict]:
    return [row for row in record["rows"] if row["part"] == part]


def rate(row: dict) -> str:
    return f"{number(row['bytes'] / median(row['seconds']) / 1e9)} GB/s"


def models(record: dict) -> str:
    """Return the table of model loads, compared with the fastest loader of unencrypted files."""
    rows = [row for row in rows_of(record, "model") if "gb_per_s" in row]
    clear = max((row["gb_per_s"] for row in rows if row["what"].endswith("in clear")), default=None)
    lines = []
    for row in rows:
        compared = f"{row['gb_per_s'] / clear:.2f}" if clear else ""
        lines.append([row["what"].replace("in clear", "unencrypted"), rate(row), compared])
    size = f"{rows[0]['bytes'] / 1e9:.1f} GB" if rows else ""
    return table([f"{size} in 4 shards, to the GPU", "speed", "relative to the fastest unencrypted"], lines)


def blocks(record: dict) -> str:
    """Return the table of KV block copies, compared with the plain copy in the same direction."""
    rows = rows_of(record, "kv")
    bare = {way: min((row["us"] for row in rows if f"copy {way} the host" in row["what"]), default=0)
            for way in ("to", "from")}  # fmt: skip
    lines = []
    for row in rows:
        way = "from" if row["what"].startswith(("fetch", "bare copy from")) else "to"
        compared = f"{bare[way] / row['us']:.2f}" if "alone" not in row["what"] and bare[way] else ""
        lines.append([row["what"], f"{number(row['us'])} µs", f"{number(row['gb_per_s'])} GB/s", compared])
    first = rows[0] if rows else {"blocks": 0, "bytes": 0}
    size = human_bytes(first["bytes"] // max(1, first["blocks"]))
    return table([f"{first['blocks']} blocks of {size}", "time", "speed", "relative to the bare copy"], lines)


def scan(record: dict) -> str:
    lines = [
        [row["what"], f"{row['bytes'] / 1e6:.0f} MB", f"{sum(row['unread'].values()) / 1e6:.0f} MB", str(row["hits"])]
        for row in rows_of(record, "scan")
    ]
    return table(["plaintext in the loading process's host memory", "searched", "unreadable", "matches"], lines)


def figures(record: dict) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    about = (
        f"*{record['gpu']['name']}, driver {record['gpu']['driver']}; {record['host']['cores']} cores of "
        f"{record['host']['cpu']}; {versions}; "
        f"{record['date'][:10]}, {commit_of(record)}; `tools/serving_bench.py`. Files are on tmpfs. Loaders take turns "
        "in one process, and figures are medians. The first result of each loader is compared with the written "
        "tensors.*"
    )
    parts = [
        part(record) for part, name in ((models, "model"), (blocks, "kv"), (scan, "scan")) if rows_of(record, name)
    ]
    left = [f"`{name}` ({why})" for name, why in record["left_out"].items()]
    return "\n\n".join([*parts, about, *([f"Omitted: {'; '.join(left)}."] if left else [])])


def newest() -> dict | None:
    """Return the newest record that was measured on a GPU."""
    folder = RESULTS / "serving"
    records = [record for record in (read(folder) if folder.exists() else []) if record["gpu"] is not None]
    return max(records, key=lambda record: record["date"], default=None)


def render(page: str) -> dict[str, str]:
    record = newest()
    return {PAGE: with_figures(page, figures(record) if record else NONE)}
