"""The figures of docs/bulk.md: the newest record of bench/results/bulk."""

from __future__ import annotations

from records import RESULTS, read
from text import commit_of, human_bytes, number, table, with_figures

PAGE = "docs/bulk.md"
#: A record counts as quiet if fewer programs than this waited, per core, while it was measured.
QUIET = 0.5


def figures(record: dict) -> str:
    lines = []
    for row in record["small"]:
        cells = [f"{1 / row[name]:.0f}" for name in ("loop_seconds", "seconds_1", "seconds_2")]
        times = [f"{row['loop_seconds'] / row[name]:.1f}" for name in ("seconds_1", "seconds_2")]
        lines.append([f"{1000 * row['latency']:.0f} ms", cells[0], cells[1], times[0], cells[2], times[1]])
    first = record["small"][0]
    header = ["answers after", "a loop", "one worker", "times as fast", "two workers", "times as fast"]
    large = [
        [row["what"], human_bytes(row["bytes"]), f"{number(row['bytes'] / row['seconds'] / 1e9)} GB/s",
         f"{row['memory'] / (1 << 20):.0f} MiB"]
        for row in record["large"]
    ]  # fmt: skip
    host, versions = record["host"], ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    return "\n\n".join(
        [
            f"Objects of {human_bytes(first['bytes'])} a second, from an object store, encrypted, and back to it: "
            f"{first['objects']:,} by bulk, {first['looped']:,} of them by a loop of pyca/cryptography and boto3.",
            table(header, lines),
            "One large object, and the most memory that the process had, Python and its libraries included:",
            table(["", "bytes", "", "memory"], large),
            scaling(record["workers"]),
            f"*{host['cpu']}, {host['cores']} cores, which the object store (tools/bench_s3.py) shares; Python "
            f"{record['python']}, {versions}; {record['date'][:10]}, {commit_of(record)}. Whole commands, with their "
            "start.*",
        ]
    )


def scaling(workers: dict) -> str:
    """N workers beside N times one. The oldest records have only one and two workers, on all cores and on a disk."""
    if "runs" not in workers:
        one, two = (number(workers["bytes"] / workers[name] / 1e9) for name in ("seconds_1", "seconds_2"))
        return (
            f"{human_bytes(workers['bytes'])} in 16 files: one worker {one} GB/s, with "
            f"{workers['memory_1'] / (1 << 20):.0f} MiB of memory, two {two} GB/s."
        )
    first = workers["runs"][0]
    rows = [
        [run["workers"], f"{number(workers['bytes'] / run['seconds'] / 1e9)} GB/s", f"{run['cpu']:.1f} s",
         f"{first['seconds'] / run['seconds'] / run['workers']:.2f}"]
        for run in workers["runs"]
    ]  # fmt: skip
    header = ["workers, each with a core", "", "processor time", "of so many times one"]
    return f"{human_bytes(workers['bytes'])} in files in {workers['where']}:\n\n{table(header, rows)}"


def render(page: str) -> dict[str, str]:
    folder = RESULTS / "bulk"
    # A record of a busy machine is used only if there is no other. The oldest records do not say whether it was busy.
    records = sorted(
        read(folder) if folder.exists() else [], key=lambda record: (record.get("busy", 0) < QUIET, record["date"])
    )
    none = "There is no record yet: `make bulk-bench` measures the machine it runs on."
    return {PAGE: with_figures(page, figures(records[-1]) if records else none)}
