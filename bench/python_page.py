"""The figures of docs/python.md: the newest records of bench/results/python and bench/results/torch."""

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


def tensors(record: dict) -> str:
    lines = []
    for row in record["rows"]:
        if "gb_per_s" in row:
            lines.append([row["what"], human_bytes(row["bytes"]), f"{number(row['gb_per_s'])} GB/s", ""])
        elif "seconds" in row:
            lines.append([row["what"], human_bytes(row["bytes"]), f"{row['seconds']:.3f} s", ""])
        else:
            waiting, each = (f"{number(row[name])} µs" for name in ("us_waiting", "us_each"))
            lines.append([row["what"], human_bytes(row["bytes"]), waiting, each])
    return "\n\n".join(
        [
            "Tensors of a GPU, beside what PyTorch does itself:",
            table(["", "bytes", "a call", "each of many"], lines),
            f"*{record['gpu']['name']}, driver {record['gpu']['driver']}, PyTorch {record['torch']}; "
            f"{record['date'][:10]}, {commit_of(record)}; `tools/torch_bench.py`. Medians; calls on 4 KiB with a wait "
            "for the device, and one after the other without. Models are loaded from the page cache, in clear and "
            "encrypted in turn; so are epochs: a transformer, two forked workers that read its records, and a "
            "checkpoint, whose bytes are said.*",
        ]
    )


def newest(name: str) -> dict | None:
    folder = RESULTS / name
    return max(read(folder) if folder.exists() else [], key=lambda record: record["date"], default=None)


def render(page: str) -> dict[str, str]:
    none = "There is no record yet: `make python-bench` measures the machine it runs on."
    on_cpu, on_gpu = newest("python"), newest("torch")
    parts = [figures(on_cpu) if on_cpu else none, *([tensors(on_gpu)] if on_gpu else [])]
    return {PAGE: with_figures(page, "\n\n".join(parts))}
