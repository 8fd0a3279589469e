"""Generates the figures of docs/python.md from the newest records of bench/results/python, generator and torch."""

from __future__ import annotations

from records import RESULTS, read
from text import commit_of, human_bytes, number, table, with_figures

PAGE = "docs/python.md"
#: The page lists each call whose unencrypted equivalent is less than this many times as fast as the other library's
#: call.
FAST = 10
#: Fields that contain the times of the same calls without encryption, and their names on the page.
CLEAR = {"clear_seconds": "unencrypted", "clear_all_seconds": "by all cores", "dd_seconds": "dd"}
GENERATOR = (
    "`generator=` on the CPU, compared with PyTorch's own generator, which is not secure (`tools/generator_bench.py`):"
)


def rate(row: dict, name: str) -> str:
    if name not in row:
        return ""
    if row["bytes"] < 1 << 16:
        return f"{1e9 * row[name]:.0f} ns"
    return f"{number(row['bytes'] / row[name] / 1e9)} GB/s"


def figures(record: dict) -> str:
    clear = [name for name in CLEAR if any(name in row for row in record["rows"])]
    names = ["", "bytes", "warpaes", "other library", "name", "times as fast", *(CLEAR[name] for name in clear)]
    lines = []
    for row in record["rows"]:
        ours, theirs = rate(row, "seconds"), rate(row, "other_seconds")
        times = f"{row['other_seconds'] / row['seconds']:.2f}"
        plain = [rate(row, name) for name in clear]
        lines.append([row["what"], human_bytes(row["bytes"]), ours, theirs, row["other"], times, *plain])
    host, versions = record["host"], ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    about = (
        f"*{host['cpu']}, {host['cores']} cores, Python {record['python']}, {versions}; {record['date'][:10]}, "
        f"{commit_of(record)}. Each figure is computed from the shortest of several samples; "
        f"{'all contenders' if clear else 'both libraries'} are measured alternately in one process, in complete calls "
        "with their allocations."
    )
    if clear:
        about += " Paths are on tmpfs. The column "
        about += '"unencrypted" shows Python\'s own calls on the same bytes, in one thread'
        if len(clear) > 1:
            about += (
                '. The column "by all cores" shows reads with `os.preadv`, or copies, by one thread per core, into the '
                'same memory or into large pages. The column "dd" shows `dd bs=1M`, which reads to /dev/null or '
                "writes. For each sample, every call runs twice. Only the second run is measured, because the host of "
                "a virtual machine may have reclaimed free memory, which would slow down the first run"
            )
        about += "."
    return "\n\n".join([table(names, lines), about + "*", *limits(record["rows"])])


def limits(rows: list[dict]) -> list[str]:
    """Return a table of the calls whose unencrypted equivalents are less than FAST times as fast as the other library's
    calls."""
    lines = []
    for row in rows:
        seconds, way = min(((row[name], way) for name, way in CLEAR.items() if name in row), default=(0, ""))
        if seconds and row["other_seconds"] / seconds < FAST:
            most, part = row["other_seconds"] / seconds, seconds / row["seconds"]
            lines.append([row["what"], way, f"{most:.1f}", f"{100 * part:.0f} %"])
    if not lines:
        return []
    return [
        "Each of these calls includes the kernel's page handling and copies. The next table lists the calls whose "
        f"unencrypted equivalents are less than {FAST} times as fast as the other library's calls:",
        table(["", "fastest unencrypted", "times as fast as the other library", "warpaes' share of that rate"], lines),
    ]


def tensors(record: dict) -> str:
    lines = []
    for row in record["rows"]:
        what = row["what"].replace("torch.ops.warpaes ", "torch.ops.warpaes.")  # records before 2026-11-29
        if "gb_per_s" in row:
            lines.append([what, human_bytes(row["bytes"]), f"{number(row['gb_per_s'])} GB/s", ""])
        elif "seconds" in row:
            lines.append([what, human_bytes(row["bytes"]), f"{row['seconds']:.3f} s", ""])
        else:
            waiting, each = (f"{number(row[name])} µs" for name in ("us_waiting", "us_each"))
            lines.append([what, human_bytes(row["bytes"]), waiting, each])
    return "\n\n".join(
        [
            "Tensors on a GPU, compared with PyTorch's own operations:",
            table(["", "bytes", "single call", "each of many"], lines),
            f"*{record['gpu']['name']}, driver {record['gpu']['driver']}, PyTorch {record['torch']}; "
            f"{record['date'][:10]}, {commit_of(record)}; `tools/torch_bench.py`. Figures are medians. Calls on "
            "4 KiB are measured twice: one at a time, waiting for the device after each call, and back to back, "
            "without waiting. Models are loaded from the page cache, alternately unencrypted and encrypted. "
            "Unencrypted and encrypted epochs also alternate. An epoch trains a transformer on records that two forked "
            "workers read, and writes a checkpoint of the given size.*",
        ]
    )


def newest(name: str) -> dict | None:
    folder = RESULTS / name
    return max(read(folder) if folder.exists() else [], key=lambda record: record["date"], default=None)


def render(page: str) -> dict[str, str]:
    none = "There is no record yet. `make python-bench` measures this machine."
    on_cpu, generator, on_gpu = newest("python"), newest("generator"), newest("torch")
    parts = [figures(on_cpu) if on_cpu else none]
    if generator:
        parts += [GENERATOR, figures(generator)]
    parts += [tensors(on_gpu)] if on_gpu else []
    return {PAGE: with_figures(page, "\n\n".join(parts))}
