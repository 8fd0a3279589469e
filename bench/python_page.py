"""The figures of docs/python.md: the newest record of bench/results/python."""

from __future__ import annotations

from records import RESULTS, read
from text import commit_of, human_bytes, number, table, with_figures

PAGE = "docs/python.md"


def figures(record: dict) -> str:
    lines = []
    for row in record["rows"]:
        ours, theirs = row["seconds"], row["other_seconds"]
        short = row["bytes"] < 1 << 16
        values = [f"{1e9 * s:.0f} ns" if short else f"{number(row['bytes'] / s / 1e9)} GB/s" for s in (ours, theirs)]
        lines.append(
            [row["what"], human_bytes(row["bytes"]), values[0], values[1], row["other"], f"{theirs / ours:.2f}"]
        )
    host, versions = record["host"], ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    return "\n\n".join(
        [
            table(["", "bytes", "warpaes", "the other", "which is", "times as fast"], lines),
            f"*{host['cpu']}, {host['cores']} cores, Python {record['python']}, {versions}; {record['date'][:10]}, "
            f"{commit_of(record)}. The shortest of samples that both take in turns, in one process; whole calls, with "
            "what they allocate.*",
        ]
    )


def render(page: str) -> dict[str, str]:
    folder = RESULTS / "python"
    records = sorted(read(folder) if folder.exists() else [], key=lambda record: record["date"])
    none = "There is no record yet: `make python-bench` measures the machine it runs on."
    return {PAGE: with_figures(page, figures(records[-1]) if records else none)}
