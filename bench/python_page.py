"""The figures of docs/python.md: the newest records of bench/results/python and bench/results/torch."""

from __future__ import annotations

from records import RESULTS, read
from text import commit_of, human_bytes, number, table, with_figures

PAGE = "docs/python.md"
#: Where moving the bytes alone is less than so many times as fast as the others, that is said.
FAST = 5


def rate(row: dict, name: str) -> str:
    if name not in row:
        return ""
    if row["bytes"] < 1 << 16:
        return f"{1e9 * row[name]:.0f} ns"
    return f"{number(row['bytes'] / row[name] / 1e9)} GB/s"


def figures(record: dict) -> str:
    clear = any("clear_seconds" in row for row in record["rows"])
    names = ["", "bytes", "warpaes", "the other", "which is", "times as fast"] + ["in clear"] * clear
    lines = []
    for row in record["rows"]:
        ours, theirs, plain = (rate(row, name) for name in ("seconds", "other_seconds", "clear_seconds"))
        times = f"{row['other_seconds'] / row['seconds']:.2f}"
        lines.append([row["what"], human_bytes(row["bytes"]), ours, theirs, row["other"], times] + [plain] * clear)
    host, versions = record["host"], ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    about = (
        f"*{host['cpu']}, {host['cores']} cores, Python {record['python']}, {versions}; {record['date'][:10]}, "
        f"{commit_of(record)}. The shortest of samples that {'all' if clear else 'both'} take in turns, in one "
        "process; whole calls, with what they allocate."
    )
    if clear:
        about += " Paths are on tmpfs. In clear: the same bytes by the same calls of Python's own, in one thread."
    return "\n\n".join([table(names, lines), about + "*", *limits(record["rows"])])


def limits(rows: list[dict]) -> list[str]:
    """What the same bytes cost in clear is the end of what can be gained."""
    said = []
    for row in rows:
        if row.get("clear_seconds", row["seconds"]) >= row["seconds"]:
            continue
        most = row["other_seconds"] / row["clear_seconds"]
        if most < FAST:
            said.append(f"{row['what']}: {most:.1f} times as fast as {row['other']}")
    if not said:
        return []
    return [
        "The kernel's part, pages and copies of them, is in each of these calls. Alone, in clear and by one thread, "
        f"it is not much faster than the others: {'; '.join(said)}."
    ]


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
