"""Generates the figures of docs/bulk.md from the newest record of bench/results/bulk."""

from __future__ import annotations

from records import RESULTS, read
from text import commit_of, human_bytes, number, table, with_figures

PAGE = "docs/bulk.md"
#: A record counts as quiet if fewer than this many programs per core were waiting during the measurement.
QUIET = 0.5


def figures(record: dict) -> str:
    lines = []
    for row in record["small"]:
        cells = [f"{1 / row[name]:.0f}" for name in ("loop_seconds", "seconds_1", "seconds_2")]
        times = [f"{row['loop_seconds'] / row[name]:.1f}" for name in ("seconds_1", "seconds_2")]
        lines.append([f"{1000 * row['latency']:.0f} ms", cells[0], cells[1], times[0], cells[2], times[1]])
    first = record["small"][0]
    header = ["response after", "a loop", "one worker", "times as fast", "two workers", "times as fast"]
    large = [
        [row["what"], human_bytes(row["bytes"]), f"{number(row['bytes'] / row['seconds'] / 1e9)} GB/s",
         f"{row['memory'] / (1 << 20):.0f} MiB"]
        for row in record["large"]
    ]  # fmt: skip
    host, versions = record["host"], ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    return "\n\n".join(
        [
            f"Objects of {human_bytes(first['bytes'])} are read from an object store, encrypted and written back. The "
            f"table shows objects per second. `warpaes bulk` processes {first['objects']:,} objects, and a loop of "
            f"pyca/cryptography and boto3 processes {first['looped']:,} of these objects.",
            table(header, lines),
            "The next table shows the speed for a single large object, and the peak memory of the process, including "
            "Python and its libraries:",
            table(["", "bytes", "speed", "memory"], large),
            scaling(record["workers"]),
            f"*{host['cpu']}, {host['cores']} cores, which the object store (tools/bench_s3.py) shares; Python "
            f"{record['python']}, {versions}; {record['date'][:10]}, {commit_of(record)}. Times are for complete "
            "commands, including their start.*",
        ]
    )


def scaling(workers: dict) -> str:
    """Compare the speed of N workers with N times the speed of one worker. The oldest records contain only the times of
    one and two workers."""
    if "runs" not in workers:
        one, two = (number(workers["bytes"] / workers[name] / 1e9) for name in ("seconds_1", "seconds_2"))
        return (
            f"One worker encrypts {human_bytes(workers['bytes'])} in 16 files at {one} GB/s, with "
            f"{workers['memory_1'] / (1 << 20):.0f} MiB of memory. Two workers encrypt these files at {two} GB/s."
        )
    first = workers["runs"][0]
    rows = [
        [run["workers"], f"{number(workers['bytes'] / run['seconds'] / 1e9)} GB/s", f"{run['cpu']:.1f} s",
         f"{first['seconds'] / run['seconds'] / run['workers']:.2f}"]
        for run in workers["runs"]
    ]  # fmt: skip
    header = ["workers, each with a core", "speed", "processor time", "relative to ideal scaling"]
    return (
        f"The next table shows the speed for {human_bytes(workers['bytes'])} in files in {workers['where']}, by the "
        f"number of workers:\n\n{table(header, rows)}"
    )


def cpu_of(run: dict) -> float:
    return run["user"] + run["system"]


def local(record: dict) -> str:
    """Return the speed and the processor time of each contender for files in memory."""
    part, host = record["local"], record["host"]
    length, runs, costs = part["bytes"] / 1e9, part["runs"], part["costs"]
    start = next(run for run in runs if run["what"] == "start of bulk")
    copied = next(run for run in runs if run["what"] == "cp")
    sealed = next(run for run in runs if run["what"].startswith("bulk encrypt"))
    rows = [
        [run["what"], f"{number(length / run['seconds'])} GB/s", f"{copied['seconds'] / run['seconds']:.2f}",
         f"{run['user'] / length:.2f} s", f"{run['system'] / length:.2f} s", f"{run['faults'] / length:,.0f}"]
        for run in runs if run is not start
    ]  # fmt: skip
    header = ["", "speed", "relative to cp", "user time per GB", "system time per GB", "page faults per GB"]
    cores, hashed = host["cores"], 1e9 * costs["sha256"]
    steady = (cpu_of(sealed) - cpu_of(start)) / length
    return "\n\n".join(
        [
            f"The next table is for {part['objects']} files of {human_bytes(part['bytes'] // part['objects'])} in "
            "memory, in pages that were allocated before the measurement. `cp` and `warpaes encrypt` run in "
            f"{part['processes']} processes at a time. `warpaes bulk` is one command with the given number of workers:",
            table(header, rows),
            f"For each GB, SHA-256 takes {hashed:.2f} s of processor time and AES {1e9 * costs['aes']:.2f} s. A "
            f"command takes {start['seconds']:.2f} s to start, with {cpu_of(start):.2f} s of processor time. "
            f"Without the start, {cores} cores can encrypt {number(cores / steady)} GB/s; they can hash "
            f"{number(cores / hashed)} GB/s.",
            f"*{host['cpu']}, {cores} cores; medians of {sealed['rounds']} alternating rounds; {record['date'][:10]}, "
            f"{commit_of(record)}. Times are for complete commands, including their start.*",
        ]
    )


def gpus(record: dict) -> str:
    part = record["gpus"]
    rows = [
        [run["actors"], f"{number(run['bytes_per_second'] / 1e9)} GB/s", f"{run['seconds']:.1f} s",
         ", ".join(f"{count} on {name}" for name, count in run["computed_on"].items())]
        for run in part["runs"]
    ]  # fmt: skip
    return (
        f"{part['objects']} files in memory, {human_bytes(part['bytes'])}, `--backend {part['backend']}`:\n\n"
        + table(["actors, each with a GPU", "without the start", "complete command", "objects"], rows)
    )


def manifests(records: list[dict]) -> str:
    """Return the driver's memory and times for manifests, from the newest record for each number of rows."""
    newest_of = {run["rows"]: (run, record) for record in sorted(records, key=lambda record: record["date"])
                 for run in record["manifest"]["runs"]}  # fmt: skip
    rows = [
        [f"{run['rows']:,}", f"{run['memory'] / (1 << 20):.0f} MiB", f"{run['list']:.0f} s", f"{run['save']:.2f} s",
         f"{run['resume']:.2f} s", f"{run['find']:.2f} s", f"{number(run['stored'] / 1e6)} MB",
         f"{number(run['root'] / 1e3)} kB"]
        for _, (run, _) in sorted(newest_of.items())
    ]  # fmt: skip
    header = ["objects", "driver's memory", "first manifest", "a save", "resuming", "finding one object", "manifest",
              "manifest's root"]  # fmt: skip
    record = max((record for _, record in newest_of.values()), key=lambda record: record["date"])
    host = record["host"]
    return "\n\n".join(
        [
            table(header, rows),
            f"*A shard has {record['manifest']['shard_rows']:,} rows. Before each save, all rows of one shard change. "
            f"{host['cpu']}, {host['cores']} cores, files on a disk; {record['date'][:10]}, {commit_of(record)}.*",
        ]
    )


#: For each part of tools/bulk_bench.py, the function that describes its record.
PARTS = {"stores": figures, "local": local, "gpus": gpus, "manifest": lambda record: manifests([record])}


def newest(records: list[dict], part: str) -> dict | None:
    """Return the newest record of a part, preferring records of an idle machine. The earliest records do not contain
    the load."""
    found = [record for record in records if part in record]
    return max(found, key=lambda record: (record.get("busy", 0) < QUIET, record["date"]), default=None)


def render(page: str) -> dict[str, str]:
    folder = RESULTS / "bulk"
    records = read(folder) if folder.exists() else []
    of_stores, of_files = newest(records, "small"), newest(records, "local")
    none = "There is no record yet. `make bulk-bench` measures this machine."
    parts = [figures(of_stores) if of_stores else none, *([local(of_files)] if of_files else [])]
    return {PAGE: with_figures(page, "\n\n".join(parts))}
