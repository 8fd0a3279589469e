"""The figures of docs/comparison.md and README.md's plot: the newest record of bench/results/compare, and a GPU's."""

from __future__ import annotations

import plots
from records import RESULTS, limit, rate, read
from text import commit_of, human_bytes, number, stamp, table, with_figures

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
    """A note if the machine was not idle: programs with several threads lose most by that."""
    load = record.get("load", 0)
    return f" The machine had other work to do, of a load of {load:.1f} before." if load > 0.5 else ""


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
    head = ["", "", "seconds", "GB/s", "of processors", "peak MiB", f"{human_bytes(record['small_bytes'])}, ms"]
    return table(head, lines)


def better(record: dict) -> list[str]:
    """A list of the figures in which another tool is ahead."""
    said = []
    ours = {what: row_of(record, "warpaes", what) for what in ("encrypt", "decrypt")}
    for field, words in (
        ("seconds", "time"),
        ("cpu_s", "time of processors"),
        ("peak_kib", "memory"),
        ("small_s", f"time for {human_bytes(record['small_bytes'])}"),
    ):
        ahead = [
            f"`{row['command']}`" if row["tool"] not in ("libsodium", "Tink") else f"{row['tool']} ({row['what']}ion)"
            for row in record["rows"]
            if row["tool"] not in ("cp", "dd", "warpaes") and row.get(field) and row[field] < ours[row["what"]][field]
        ]
        if ahead:
            said.append(f"- in {words}: {', '.join(ahead)};")
    return [*said[:-1], f"{said[-1][:-1]}."] if said else ["- in none of these figures."]


def figures(record: dict) -> str:
    return "\n\n".join(
        [
            f"{human_bytes(record['bytes'])} of this system's programs, libraries and texts, from start to exit; what "
            "is read and what is written lie in memory (tmpfs).",
            speeds(record),
            f"*{source(record)}. The shortest of {record['rounds']} rounds in which all take turns; everything that "
            f"was encrypted is decrypted and compared.{others(record)}*",
            "Where another tool is ahead of the same work of warpaes:",
            "\n".join(better(record)),
            *disk_figures(record),
        ]
    )


def disk_figures(record: dict) -> list[str]:
    """The figures of a file on a disk, if the record has them."""
    if "disk" not in record:
        return []
    size, rows = record["disk"]["bytes"], record["disk"]["rows"]
    least = next(row["seconds"] for row in rows if row["command"] == "fio")
    names = {"fio": "fio, which reads and writes at once and computes nothing"}
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
        f"{human_bytes(size)} on that machine's disk: from start until the disk has the output, nothing of the input "
        f"in memory before; medians of {record['rounds']} rounds.",
        table(["", "seconds", "GB/s", "beside fio"], lines),
    ]


def plot(record: dict, gpu: dict | None) -> str:
    """The speed of each tool on the file, in GB/s, and of a GPU on the same segments in memory."""
    size = record["bytes"]

    def of_file(tool: str) -> float | None:
        row = row_of(record, tool, "encrypt")
        return size / row["seconds"] / 1e9 if row else None

    beside, rows = of_file("cp"), []
    names = {
        "openssl": "openssl enc, AES-CTR",
        "Tink": "Tink, in Python",
        "age": "age",
        "libsodium": "libsodium",
        "warpaes": "warpaes",
    }
    groups = [(f"a file, on {record['host']['cpu']}, {record['host']['cores']} cores", [])]
    for tool, name in names.items():
        if value := of_file(tool):
            groups[0][1].append((name, value, beside, tool == "warpaes"))
    notes = [f"{record['date'][:10]}, {commit_of(record)}; mark: cp"]
    if gpu:
        work = {"backend": "cuda", "mode": f"gcm/{1 << 20}", "direction": "encrypt", "key_bits": 256, "bytes": 1 << 30}
        copies = next(
            (row["gb_per_s"] for row in gpu.get("gpus", []) if row.get("what") == "copies alone" and row["gpus"] == 1),
            None,
        )
        for memory, name, most in (
            ("page_locked", "warpaes, host to host", copies),
            ("device", "warpaes, device", limit(gpu, "gcm", 256)),
        ):
            if value := rate(gpu, memory=memory, **work):
                rows.append((name, value, most, True))
        if rows:
            groups.append((f"data in memory, on {gpu['gpu']['name']}", rows))
            notes.append(f"{stamp(gpu)}; marks: copies alone, limit of lookups")
    title = f"{human_bytes(size)} encrypted, GB/s"
    return plots.dots(title, notes, groups)


def render(page: str, gpu: dict | None) -> dict[str, str]:
    record = newest()
    if record is None:
        return {PAGE: with_figures(page, "There is no record yet: `make compare` measures the machine it runs on.")}
    return {PAGE: with_figures(page, figures(record)), PLOT: plot(record, gpu)}
