"""Generates the figures of docs/provider.md from the newest record of each processor in bench/results/provider and
bench/results/server.
"""

from __future__ import annotations

from records import RESULTS, read
from text import commit_of, human_bytes, number, table, with_figures

PAGE = "docs/provider.md"
SAID = {"encrypt": ", encryption", "decrypt": ", decryption", "mac": ""}
SIZES = (16, 64, 256, 1024, 8192, 16384, 65536, 1 << 20)


def ratio(row: dict) -> float:
    return row["default_ns"] / row["warpaes_ns"]


def rows_of(record: dict, calls: str, bits: str) -> list[list[str]]:
    found: dict[tuple, dict[int, dict]] = {}
    for row in record["rows"]:
        if row["calls"] == calls and f"-{bits}-" in row["cipher"]:
            found.setdefault((row["cipher"], row["direction"]), {})[row["bytes"]] = row
    lines = []
    for (cipher, direction), sizes in found.items():
        line = [cipher + SAID[direction]] + [f"{ratio(sizes[n]):.2f}" if n in sizes else "" for n in SIZES]
        # Bytes per nanosecond are the speed in GB/s.
        last = sizes[max(n for n in sizes if n <= 16384)]
        lines.append(line + [number(last["bytes"] / last[f"{who}_ns"]) for who in ("default", "warpaes")])
    return lines


def figures(record: dict) -> str:
    head = ["", *(human_bytes(n) for n in SIZES), "default, 16 KiB, GB/s", "warpaes, 16 KiB, GB/s"]
    lowest = min(record["rows"], key=ratio)
    updates = [row for row in record["rows"] if row["calls"] == "message"]
    worst = min(updates, key=ratio)

    def said(row: dict) -> str:
        return f"{row['cipher']}{SAID[row['direction']]}, {human_bytes(row['bytes'])}: {ratio(row):.2f}"

    host = record["host"]
    return "\n\n".join(
        [
            "The table shows warpaes's speed relative to the default provider, for updates of one stream or messages "
            "under the same key.",
            table(head, rows_of(record, "message", "128") + rows_of(record, "message", "256")),
            "The next table shows the relative speed if every call sets the key:",
            table(head, rows_of(record, "key", "128") + rows_of(record, "key", "256")),
            f"*{host['cpu']}, {host['cores']} cores, OpenSSL {record['openssl']}, {record['kernels']}; "
            f"{record['date'][:10]}, {commit_of(record)}; "
            f"{len(record['rows'])} figures, some for keys of 192 bits. The lowest figure is {said(lowest)}; "
            f"with the key set in advance it is {said(worst)}. Each figure is computed from the shortest of several "
            "samples; the two providers are measured alternately in the same process.*",
        ]
    )


def of_a_server(record: dict) -> str:
    """Return the processor time of nginx."""
    lines = [
        [
            row["cipher"],
            *(number(row[f"{who}_s_per_gb"]) for who in ("default", "warpaes")),
            f"{100 - 100 * row['warpaes_s_per_gb'] / row['default_s_per_gb']:.0f} %",
        ]
        for row in record["rows"]
    ]
    host = record["host"]
    return "\n\n".join(
        [
            "The next table shows the processor time of nginx, in seconds per GB, for sending a large file through "
            "TLS. The time includes reading the file and writing to the socket:",
            table(["", "default", "warpaes", "saved"], lines),
            f"*{host['cpu']}, {host['cores']} cores, nginx {record['nginx']}, OpenSSL {record['openssl']}; "
            f"{record['date'][:10]}, {commit_of(record)}. Each figure is the shortest of {record['samples']} samples; "
            "the servers with the two providers are measured alternately.*",
        ]
    )


def on_a_gpu(record: dict) -> str:
    """Return the figures that `make gpu-test` measured on a GPU."""
    places = ("page-locked", "page-locked, in place", "pageable", "device")
    found: dict[tuple, dict[str, dict]] = {}
    for row in record["provider"]:
        if row["backend"] == "cuda":
            place = row["memory"] + (", in place" if row["in_place"] else "")
            key = (row["cipher"], row["direction"], row["bytes"])
            found.setdefault(key, {})[place] = row
    lines = [
        [f"{cipher}, {direction}ion", human_bytes(size)]
        + [number(rows[place]["gb_per_s"]) if place in rows else "" for place in places]
        for (cipher, direction, size), rows in found.items()
    ]
    about = record["provider"][0]
    return "\n\n".join(
        [
            "The next table shows the speed of long updates with `backend = cuda` in GB/s, by the memory of the "
            "application's buffers:",
            table(["", "update", *places], lines),
            f"*{record['gpu']['name']}; {about['date'][:10]}, {commit_of(about)}; medians of updates of one stream.*",
        ]
    )


def render(page: str) -> dict[str, str]:
    folder = RESULTS / "provider"
    records = sorted(read(folder) if folder.exists() else [], key=lambda record: record["date"])
    folder = RESULTS / "server"
    servers = sorted(read(folder) if folder.exists() else [], key=lambda record: record["date"])
    gpus = [record for record in read(RESULTS) if record.get("provider")]
    none = "There is no record yet. `make provider-bench` measures this machine."
    newest = {record["host"]["cpu"]: record for record in records}
    texts = [figures(record) for record in newest.values()] if newest else [none]
    texts += [of_a_server(record) for record in {record["host"]["cpu"]: record for record in servers}.values()]
    if gpus:
        texts.append(on_a_gpu(max(gpus, key=lambda record: record["provider"][0]["date"])))
    return {PAGE: with_figures(page, "\n\n".join(texts))}
