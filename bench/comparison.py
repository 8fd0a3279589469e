"""Generates the figures of docs/comparison.md and README.md's plot from the newest record of bench/results/compare."""

from __future__ import annotations

import plots
from records import RESULTS, read
from text import commit_of, human_bytes, number, table, with_figures

PAGE = "docs/comparison.md"
PLOT = "docs/one-file.svg"
CIPHERS = {
    "warpaes": "AES-256-GCM",
    "openssl": "AES-256-CTR, not authenticated",
    "age": "ChaCha20-Poly1305",
    "libsodium": "XChaCha20-Poly1305",
    "Tink": "AES-256-GCM",
    "zstd": "compression",
    "cp": "",
    "dd": "",
}


def newest() -> dict | None:
    folder = RESULTS / "compare"
    records = sorted(read(folder) if folder.exists() else [], key=lambda record: record["date"])
    return records[-1] if records else None


def row_of(record: dict, tool: str, what: str) -> dict | None:
    return next((row for row in record["rows"] if (row["tool"], row["what"]) == (tool, what)), None)


def source(record: dict) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items() if name != "warpaes")
    host = record["host"]
    return f"{host['cpu']}, {host['cores']} cores; {versions}; {record['date'][:10]}, {commit_of(record)}"


def others(record: dict) -> str:
    """Return a note if the machine was busy, because other load slows multithreaded programs most."""
    load = record.get("load", 0)
    return f" Other programs were running (a load of {load:.1f} before the measurement)." if load > 0.5 else ""


def milliseconds(seconds: float) -> str:
    return number(1000 * seconds)


def speeds(record: dict) -> str:
    size, lines = record["bytes"], []
    for row in record["rows"]:
        if row["tool"] == "cp" and row["what"] == "decrypt":
            continue
        lines.append(
            [
                f"`{row['command']}`"
                if row["tool"] not in ("libsodium", "Tink")
                else f"{row['tool']}: {row['command']}",
                CIPHERS[row["tool"]],
                f"{row['seconds']:.2f}",
                number(size / row["seconds"] / 1e9),
                f"{row['cpu_s']:.2f}",
                number(row["peak_kib"] / 1024) if row["peak_kib"] else "",
                milliseconds(row["small_s"]) if "small_s" in row else "",
            ]
        )
    head = ["", "", "seconds", "GB/s", "CPU seconds", "peak MiB", f"{human_bytes(record['small_bytes'])}, ms"]
    return table(head, lines)


def better(record: dict) -> list[str]:
    """List the figures of other tools that are better than those of warpaes."""
    said = []
    ours = {what: row_of(record, "warpaes", what) for what in ("encrypt", "decrypt")}
    for field, words in (
        ("seconds", "time"),
        ("cpu_s", "CPU time"),
        ("peak_kib", "memory"),
        ("small_s", f"time for {human_bytes(record['small_bytes'])}"),
    ):
        ahead = [
            f"`{row['command']}`" if row["tool"] not in ("libsodium", "Tink") else f"{row['tool']} ({row['what']}ion)"
            for row in record["rows"]
            if row["tool"] not in ("cp", "dd", "warpaes") and row.get(field) and row[field] < ours[row["what"]][field]
        ]
        if ahead:
            said.append(f"- {words}: {', '.join(ahead)};")
    return [*said[:-1], f"{said[-1][:-1]}."] if said else ["- none."]


def figures(record: dict) -> str:
    return "\n\n".join(
        [
            f"Each command processes {human_bytes(record['bytes'])} of the system's programs, libraries and texts. "
            "Times are from start to exit, with input and output in memory (tmpfs).",
            speeds(record),
            f"*{source(record)}. Times are the shortest of {record['rounds']} rounds. All tools take turns. "
            f"All encrypted data is decrypted and compared.{others(record)}*",
            "In the following figures, other tools are better than warpaes at the same task:",
            "\n".join(better(record)),
            *disk_figures(record),
        ]
    )


def disk_figures(record: dict) -> list[str]:
    """Return the figures for a file on a disk, if the record contains them."""
    if "disk" not in record:
        return []
    size, rows = record["disk"]["bytes"], record["disk"]["rows"]
    least = next(row["seconds"] for row in rows if row["command"] == "fio")
    names = {"fio": "fio, which reads and writes at the same time and computes nothing"}
    lines = [
        [
            names.get(row["command"], f"`{row['command']}`"),
            f"{row['seconds']:.2f}",
            number(size / row["seconds"] / 1e9),
            number(least / row["seconds"]),
        ]
        for row in rows
    ]
    return [
        f"The next table shows the speed for {human_bytes(size)} on that machine's disk. Times run from the start of a "
        "command until its output is on the disk. Before each run, no part of the input is in memory. Figures are "
        f"medians of {record['rounds']} rounds.",
        table(["", "seconds", "GB/s", "relative to fio"], lines),
    ]


TOOLS = {
    "warpaes": "warpaes",
    "openssl": "openssl enc",
    "age": "age",
    "libsodium": "libsodium",
    "Tink": "Tink, Python",
}


def speed_of(record: dict, tool: str) -> float | None:
    """Return the speed of encryption in GB/s, or None if the record does not contain it."""
    row = row_of(record, tool, "encrypt")
    return record["bytes"] / row["seconds"] / 1e9 if row else None


def plot(record: dict) -> str:
    """Draw the encryption speed of each tool, the fastest first."""
    rows = [(name, value, tool == "warpaes") for tool, name in TOOLS.items() if (value := speed_of(record, tool))]
    host = record["host"]
    title = f"Encrypting a file of {human_bytes(record['bytes'])}, GB/s"
    note = f"{host['cores']} cores of {host['cpu']}, {record['date'][:10]}; longer is better"
    return plots.ranking(title, note, sorted(rows, key=lambda row: -row[1]))


def render(page: str) -> dict[str, str]:
    record = newest()
    if record is None:
        return {PAGE: with_figures(page, "There is no record yet. `make compare` measures this machine.")}
    return {PAGE: with_figures(page, figures(record)), PLOT: plot(record)}
