#!/usr/bin/env python3
"""Makes docs/performance.md, the plots and the figures of README.md and docs/planner.md from bench/results.

report.py          writes them
report.py --check  fails if they are not what the records say
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import planner
import plots

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"

MODES = {
    "ecb": "ECB",
    "cbc": "CBC",
    "cfb128": "CFB128",
    "cfb8": "CFB8",
    "cfb1": "CFB1",
    "ofb": "OFB",
    "ctr": "CTR",
    "xts": "XTS",
    "gcm": "GCM",
    "gmac": "GMAC",
}
ROUNDS = {128: 10, 192: 12, 256: 14}
CPU_BACKENDS = ("libcrypto", "aesni", "vaes")
IDENTITY = ("backend", "mode", "direction", "key_bits", "bytes", "memory", "threads")
PLACES = {"device": "device memory", "page_locked": "page-locked host memory", "pageable": "pageable host memory"}


# ------------------------------------------------------------------------------------------------------------ records


def load(folder: Path = ROOT / "bench/results") -> list[dict]:
    """The newest day's records of each GPU, and of each CPU without one, made one; GPUs first."""
    machines: dict[tuple, list[dict]] = {}
    for path in sorted(folder.glob("*.json")):
        record = json.loads(path.read_text())
        if record["schema"] != 1:
            raise ValueError(f"{path}: schema {record['schema']} is not known here")
        gpu = record["gpu"]
        machines.setdefault((gpu is None, gpu["name"] if gpu else record["host"]["cpu"]), []).append(record)
    return [combine(machines[key]) for key in sorted(machines)]


def with_modes(record: dict) -> dict:
    """The record with modes that say what they were applied to: "gcm/16384" are segments, "xts/512" data units."""
    usual = 4096

    def mode(row: dict) -> str:
        size = row.get("segment") or row.get("data_unit", usual)
        return row["mode"] if size == usual and "segment" not in row else f"{row['mode']}/{size}"

    return record | {"bench": [row | {"mode": mode(row)} for row in record["bench"]]}


def combine(records: list[dict]) -> dict:
    """The newest record with, for every figure, the median over the records of its day, and how many there were."""
    records = sorted(map(with_modes, records), key=lambda record: record["date"])
    newest = records[-1]
    runs = [record for record in records if record["date"][:10] == newest["date"][:10]]
    figures: dict[tuple, list[dict]] = {}
    for record in runs:
        for row in record["bench"]:
            figures.setdefault(tuple(row[field] for field in IDENTITY), []).append(row)
    bench = []
    for row in newest["bench"]:
        rows = figures[tuple(row[field] for field in IDENTITY)]
        combined = dict(row)
        for field in ("gb_per_s", "baseline_gb_per_s"):
            if row[field] is not None:
                combined[field] = statistics.median(other[field] for other in rows)
        speeds = [other["gb_per_s"] for other in rows]
        bench.append(combined | {"lowest": min(speeds), "highest": max(speeds)})
    return newest | {"bench": bench, "runs": runs}


def rows_of(record: dict, **wanted) -> list[dict]:
    return [row for row in record["bench"] if all(row[field] == value for field, value in wanted.items())]


def rate(record: dict, **wanted) -> float | None:
    rows = rows_of(record, **wanted)
    return rows[0]["gb_per_s"] if rows else None


def operations(rows: list[dict]) -> list[tuple[str, str]]:
    """(mode, direction) pairs in the order of MODES, and of sizes from the largest on."""
    return sorted({(row["mode"], row["direction"]) for row in rows}, key=lambda pair: order(*pair))


def order(mode: str, direction: str) -> tuple:
    name, _, size = mode.partition("/")
    return list(MODES).index(name), direction != "encrypt", -int(size) if size else -sys.maxsize


def limit(record: dict, mode: str, key_bits: int) -> float | None:
    """What shared memory allows: see LIMIT_TEXT."""
    clock = (record["gpu"] or {}).get("clock_mhz")
    if not clock:
        return None
    name = mode.partition("/")[0]
    if name == "gmac":
        return None
    lookups = 16 * (ROUNDS[key_bits] - (2 if name in ("ctr", "gcm") else 0))
    return record["gpu"]["multiprocessors"] * clock * 1e6 * 32 * 16 / (lookups + 8) / 1e9


# --------------------------------------------------------------------------------------------------------------- text


def human_bytes(n: float) -> str:
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if n >= 1 << shift:
            return f"{n / (1 << shift):g} {unit}"
    return f"{n:g} B"


def number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def operation(mode: str, direction: str) -> str:
    name, _, size = mode.partition("/")
    what = MODES[name] if name in ("ctr", "gmac") else f"{MODES[name]} {direction}ion"
    if not size:
        return what
    return f"{what}, {'segments' if name == 'gcm' else 'data units'} of {human_bytes(int(size))}"


def commit_of(record: dict) -> str:
    return f"commit {record['commit'][:12] or 'unknown'}" + (" with changes" if record["dirty"] else "")


def machine(record: dict) -> str:
    return record["gpu"]["name"] if record["gpu"] else record["host"]["cpu"]


def source(record: dict, gpu: bool) -> str:
    """What a figure must say of itself."""
    host = record["host"]
    if gpu:
        where = f"{record['gpu']['name']}, driver {record['gpu']['driver']}, CUDA {record['gpu']['cuda']}"
    else:
        where = f"{host['cpu']}, {host['cores']} cores, {host['openssl']}"
    runs = len(record["runs"])
    return f"{where}; {record['date'][:10]}, {commit_of(record)}" + (f", median of {runs} runs" if runs > 1 else "")


def caption(record: dict, rows: list[dict]) -> str:
    includes = "; ".join(sorted({row["includes"] for row in rows}))
    return f"*{source(record, rows[0]['backend'] == 'cuda')}. Includes: {includes}.*"


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [
        "| " + " | ".join(header) + " |",
        "|" + "|".join("---" if i == 0 else "--:" for i in range(len(header))) + "|",
    ]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


LIMIT_TEXT = """\
The limit is that of shared memory. A multiprocessor answers 32 lanes a clock, one lookup of four bytes each; a block
takes 16 lookups a round, for CTR and GCM two rounds fewer (counter caching), and reading and writing it takes 8 more
passes: limit = multiprocessors x clock x 32 x 16 bytes / (lookups + 8)."""


def device_section(record: dict) -> list[str]:
    rows = rows_of(record, backend="cuda", memory="device")
    if not rows:
        return []
    largest = max(row["bytes"] for row in rows)
    rows = [row for row in rows if row["bytes"] == largest]
    keys = sorted({row["key_bits"] for row in rows})
    header, lines = ["GB/s"], []
    for key in keys:
        header += [f"AES-{key}", "of the limit"]
    for mode, direction in operations(rows):
        cells = [operation(mode, direction)]
        for key in keys:
            value, most = rate({"bench": rows}, mode=mode, direction=direction, key_bits=key), limit(record, mode, key)
            cells += [number(value), f"{100 * value / most:.0f} %" if value and most else ""]
        lines.append(cells)
    return [
        f"### Device memory, {human_bytes(largest)}",
        table(header, lines),
        caption(record, rows),
        f"![device memory]({plot_name(record, 'device')})",
        LIMIT_TEXT,
    ]


def size_section(record: dict) -> list[str]:
    out = []
    for place, name in PLACES.items():
        rows = rows_of(record, backend="cuda", memory=place)
        if not rows:
            continue
        sizes = sorted({row["bytes"] for row in rows})
        lines = []
        for mode, direction in operations(rows):
            for key in sorted({row["key_bits"] for row in rows}):
                values = [rate({"bench": rows}, mode=mode, direction=direction, key_bits=key, bytes=s) for s in sizes]
                lines.append([f"{operation(mode, direction)}, AES-{key}", *map(number, values)])
        out += [
            f"### By size, {name}",
            table(["GB/s", *map(human_bytes, sizes)], lines),
            caption(record, rows),
        ]
    if out:
        out.append(f"![by size]({plot_name(record, 'sizes')})")
    return out


def cpu_section(record: dict) -> list[str]:
    out = []
    for backend in CPU_BACKENDS[1:]:
        rows = rows_of(record, backend=backend)
        if not rows:
            continue
        sizes = sorted({row["bytes"] for row in rows})
        lines = []
        for mode, direction in operations(rows):
            for key in sorted({row["key_bits"] for row in rows}):
                cells = [f"{operation(mode, direction)}, AES-{key}"]
                for size in sizes:
                    found = rows_of({"bench": rows}, mode=mode, direction=direction, key_bits=key, bytes=size)
                    if found and found[0]["baseline_gb_per_s"]:
                        ours, theirs = found[0]["gb_per_s"], found[0]["baseline_gb_per_s"]
                        cells.append(f"{number(ours)} / {number(theirs)} = {ours / theirs:.2f}")
                    else:
                        cells.append(number(found[0]["gb_per_s"]) if found else "")
                lines.append(cells)
        threads = ", ".join(str(t) for t in sorted({row["threads"] for row in rows}))
        out += [
            f"### `{backend}` beside libcrypto, {threads} thread{'' if threads == '1' else 's'}",
            "Each cell: GB/s of warpaes / GB/s of libcrypto's EVP in the same run, and their ratio.",
            table(["", *map(human_bytes, sizes)], lines),
            caption(record, rows),
        ]
    if out:
        out.append(f"![CPU]({plot_name(record, 'cpu')})")
    return out


def slower(record: dict) -> list[list[str]]:
    """Table rows: what, where, warpaes there, who is faster, and how fast."""
    found = []
    for row in record["bench"]:
        same = {field: row[field] for field in ("mode", "direction", "key_bits", "bytes")}
        ours, where, faster = row["gb_per_s"], f"`{row['backend']}`", None
        if row["backend"] == "cuda" and row["memory"] != "device":
            where += f", {PLACES[row['memory']]}"
            cpu = [
                (other["gb_per_s"], other["backend"]) for other in rows_of(record, **same) if other["backend"] != "cuda"
            ]
            if cpu and max(cpu)[0] > ours:
                faster = (f"`{max(cpu)[1]}`, one thread", max(cpu)[0])
        elif row["baseline_gb_per_s"] and ours < 0.97 * row["baseline_gb_per_s"]:
            faster = ("libcrypto's EVP", row["baseline_gb_per_s"])
        if faster:
            what = f"{operation(row['mode'], row['direction'])}, AES-{row['key_bits']}, {human_bytes(row['bytes'])}"
            found.append([what, where, number(ours), faster[0], number(faster[1])])
    return found


# What a command is beside: the first word of the others.
BESIDE = {"warpaes enc": ("openssl", "cp", "dd"), "warpaes encrypt": ("Python", "openssl", "cp")}


def beside(rows: list[dict]) -> list[str]:
    out = []
    for ours, others in BESIDE.items():
        seconds = [row["median_s"] for row in rows if f"{row['command']} ".startswith(f"{ours} ")]
        if not seconds:
            continue
        ratios = [
            f"`{row['command']}` {row['median_s'] / seconds[0]:.2f}"
            for other in others
            for row in rows
            if row["command"].split()[0] == other
        ]
        out.append(f"Times as long as `{ours}` take: {', '.join(ratios)}.")
    return out


def batches_section(record: dict) -> list[str]:
    """Many messages at once, by `warpaes bench --messages`, and the mixed payload in its seven orders."""
    rows = record.get("batches", [])
    if not rows:
        return []
    whole = {row["key_bits"]: row["gb_per_s"] for row in rows if row["messages"] == 1 and row["mode"] == "ctr"}
    lines = []
    for row in rows:
        what = f"{operation(row['mode'], row['direction'])}, AES-{row['key_bits']}"
        if row["aad_bytes"]:
            what += f", {row['aad_bytes']} bytes of associated data"
        beside = ""
        if row["baseline_gb_per_s"]:
            beside = f"{row['gb_per_s'] / row['baseline_gb_per_s']:.2f}x libcrypto"
        elif row["mode"] == "ctr" and row["memory"] == "device" and row["keys"] == "one" and row["messages"] > 1:
            beside = f"{100 * (whole[row['key_bits']] / row['gb_per_s'] - 1):.1f} % more time than one message"
        lines.append(
            [
                row["backend"],
                what,
                f"{row['messages']:,} x {human_bytes(row['bytes'])}",
                row["keys"],
                {"arena": "host", "pageable": "host"}.get(row["memory"], row["memory"]),
                number(row["gb_per_s"]),
                beside,
            ]
        )
    out = [
        "### Many messages at once",
        table(["", "", "messages", "keys", "memory", "GB/s", ""], lines),
        f"*{rows[0]['date'][:10]}, {commit_of(rows[0])}. From submitting to the end of the wait: checking, expanding "
        "keys that are of one message alone, transfers (host: page-locked arenas; CPU: one thread, pageable), tags "
        "stored. In device memory four batches are on their way at a time.*",
    ]
    payload = record.get("payload")
    if payload:
        orders = payload["orders"]
        out.append(
            f"A mixed payload ({payload['messages']:,} messages, {payload['bytes']:,} bytes, half of them serial; "
            "after Harrison and Waldron, 2008) in seven orders takes "
            + ", ".join(f"{1e3 * s:.2f}" for s in orders)
            + f" ms: the worst {100 * (max(orders) / min(orders) - 1):.1f} % more than the best."
        )
    return out


def kernels_section(record: dict) -> list[str]:
    """AES in other people's kernels, by bench/device_bench."""
    rows = record.get("device", [])
    if not rows:
        return []
    lines = []
    for row in rows:
        what = f"`{row['kernel']}`, AES-{row['key_bits']}"
        if row["blocks_per_key"]:
            what += f", {row['blocks_per_key']} block{'s' if row['blocks_per_key'] > 1 else ''} a key"
        if row["tables"] in (1, 2):
            what += f", {row['tables']} table{'s' if row['tables'] > 1 else ''}"
        if row["note"]:
            what += f", {row['note']}"
        most = row["limit_blocks_per_s"]
        lines.append(
            [
                what,
                number(row["blocks_per_s"] / 1e9),
                number(16 * row["blocks_per_s"] / 1e9),
                f"{100 * row['blocks_per_s'] / most:.0f} %" if most else "",
                f"{row['lookups']:.0f}" if row["lookups"] else "",
                str(row["registers"]),
            ]
        )
    stamp = f"{record['gpu']['name']}, driver {record['gpu']['driver']}, CUDA {record['gpu']['cuda']}; "
    stamp += f"{rows[0]['date'][:10]}, {commit_of(rows[0])}; {human_bytes(16 * rows[0]['blocks'])} of output"
    return [
        "### In one's own kernels: `warpaes/device.cuh`",
        table(["", "10^9 blocks/s", "GB/s", "of the limit", "lookups a block", "registers"], lines),
        f"*{stamp}. Includes: loading the tables, reading keys or blocks from device memory, storing every block.*",
        "Four tables, and a thread for every key or block, where nothing else is said; `encrypt_planes` is bitsliced. "
        "The limit is that of the lookups alone: multiprocessors x clock x 32 / lookups.",
    ]


def files_section(record: dict) -> list[str]:
    rows = [row for row in record.get("files", []) if "file_bytes" not in row]
    parts = [row for row in record.get("files", []) if "file_bytes" in row]
    if not rows:
        return []
    cells = [
        [
            f"`{row['command']}`",
            f"{row['median_s']:.3f}",
            number(row["bytes"] / row["median_s"] / 1e9),
            number(row["peak_kib"] / 1024) if row["peak_kib"] else "",
        ]
        for row in rows
    ]
    size = human_bytes(rows[0]["bytes"])
    return [
        f"### Files, {size} on {rows[0]['place']}",
        table(["whole process", "seconds", "GB/s", "peak MiB"], cells),
        f"*{source(record, False)}. Includes: everything from start to exit, reading and writing.*",
        *beside(rows),
        *(
            f"{human_bytes(row['bytes'])} from a random place of {human_bytes(row['file_bytes'])}, `{row['command']}`: "
            f"{1000 * row['median_s']:.1f} ms, median of {row['samples']} new processes, from start to exit."
            for row in parts
        ),
    ]


def slower_section(record: dict) -> list[str]:
    found = slower(record)
    if not found:
        return ["### Where warpaes is slower", "Nowhere in this record."]
    return ["### Where warpaes is slower", table(["", "warpaes", "GB/s", "faster", "GB/s"], found)]


def spread_section(record: dict) -> list[str]:
    """What differs between the runs of a day by more than a tenth."""
    lines = [
        [
            f"{operation(row['mode'], row['direction'])}, AES-{row['key_bits']}, {human_bytes(row['bytes'])}",
            f"`{row['backend']}`, {PLACES[row['memory']]}",
            number(row["lowest"]),
            number(row["highest"]),
        ]
        for row in record["bench"]
        if row["bytes"] >= 1 << 20 and row["highest"] > 1.1 * row["lowest"]
    ]
    if not lines:
        return []
    intro = f"Of {len(record['runs'])} runs on such machines on one day; the rest, from 1 MiB on, is within a tenth."
    return ["### Spread between runs", intro, table(["GB/s", "", "lowest", "highest"], lines)]


def record_section(records: list[dict]) -> list[str]:
    lines = []
    for record in (run for combined in records for run in combined["runs"]):
        tests = [sum(t[outcome] for t in record["tests"]) for outcome in ("passed", "failed", "skipped")]
        sanitizers = (
            ", ".join(
                f"{s['tool']}: {s['errors'] if s['errors'] >= 0 else 'not finished'}" for s in record["sanitizers"]
            )
            or "not run"
        )
        lines.append(
            [
                machine(record),
                record["date"],
                commit_of(record),
                record["warpaes"],
                " / ".join(map(str, tests)),
                sanitizers,
            ]
        )
    return [
        "## Records",
        table(["machine", "date", "commit", "warpaes", "tests passed / failed / skipped", "sanitizer errors"], lines),
    ]


HOW = """\
GB/s are 10^9 bytes of plaintext a second, counted once. Every case stores its whole output, and the first 64 KiB of it
are compared with what libcrypto makes of the same input; of GCM all tags. GMAC hashes associated data and stores
nothing. XTS has data units of 4 KiB where nothing else is said. A figure is the median of its samples, and of the
runs where a day has several; a CPU backend and libcrypto's EVP take their samples in turns, in one process. `make
gpu-test` makes a record, `make docs` this page."""


def performance(records: list[dict]) -> str:
    out = [
        "# Performance",
        "Generated from `bench/results` by `bench/report.py`; not for editing.",
        "## How it is measured",
        HOW,
    ]
    if not records:
        out.append("There is no record yet.")
    for record in records:
        out.append(f"## {machine(record)}")
        for section in (
            device_section,
            size_section,
            batches_section,
            kernels_section,
            cpu_section,
            files_section,
            slower_section,
            spread_section,
        ):
            out += section(record)
    if records:
        out += record_section(records)
    return "\n\n".join(out) + "\n"


# -------------------------------------------------------------------------------------------------------------- plots


def plot_name(record: dict, what: str) -> str:
    slug = "".join(c if c.isalnum() else "-" for c in machine(record).lower())
    return f"{'-'.join(filter(None, slug.split('-')))}-{what}.svg"


def draw(record: dict) -> dict[str, str]:
    """File name and content of each plot."""
    out = {}
    rows = rows_of(record, backend="cuda", memory="device")
    if rows:
        largest = max(row["bytes"] for row in rows)
        keys = sorted({row["key_bits"] for row in rows})
        pairs = operations(rows)
        values = [
            (
                operation(m, d),
                [
                    rate(record, backend="cuda", memory="device", bytes=largest, mode=m, direction=d, key_bits=k)
                    for k in keys
                ],
            )
            for m, d in pairs
        ]
        limits = [[limit(record, m, k) for k in keys] for m, _ in pairs]
        out[plot_name(record, "device")] = plots.bars(
            f"{human_bytes(largest)} in device memory, GB/s of plaintext",
            source(record, True),
            [f"AES-{k}" for k in keys],
            values,
            limits if any(any(group) for group in limits) else None,
        )
    series = []
    for place, name in PLACES.items():
        points = [
            (r["bytes"], r["gb_per_s"]) for r in rows_of(record, backend="cuda", memory=place, mode="ctr", key_bits=128)
        ]
        if points:
            series.append((name, points))
    if series:
        out[plot_name(record, "sizes")] = plots.lines(
            "CTR, AES-128, by size and place, GB/s of plaintext", source(record, True), series, human_bytes
        )
    best = next((b for b in reversed(CPU_BACKENDS) if rows_of(record, backend=b)), None)
    rows = [r for r in rows_of(record, backend=best) if r["bytes"] == 1 << 20 and r["baseline_gb_per_s"]]
    if rows:
        out[plot_name(record, "cpu")] = plots.bars(
            f"One thread, 1 MiB, GB/s of plaintext: {best} and libcrypto's EVP",
            source(record, False),
            [best, "libcrypto"],
            [
                (f"{operation(r['mode'], r['direction'])} {r['key_bits']}", [r["gb_per_s"], r["baseline_gb_per_s"]])
                for r in sorted(rows, key=lambda r: (*order(r["mode"], r["direction"]), r["key_bits"]))
            ],
        )
    return out


def readme_block(records: list[dict]) -> str:
    """The plot that says most, and where the rest is."""
    for record in records:
        drawn = draw(record)
        for what in ("device", "cpu"):
            name = plot_name(record, what)
            if name in drawn:
                return f"![throughput](docs/{name})\n\nEvery figure: [docs/performance.md](docs/performance.md)."
    return "No record yet: `make bench` measures the machine it runs on."


def render(records: list[dict], readme: str) -> dict[str, str]:
    """Path and content of everything that is made."""
    before, rest = readme.split(BEGIN)
    _, after = rest.split(END)
    files = {
        "docs/performance.md": performance(records),
        "README.md": f"{before}{BEGIN}\n{readme_block(records)}\n{END}{after}",
    }
    for record in records:
        files |= {f"docs/{name}": text for name, text in draw(record).items()}
    return files


def everything() -> dict[str, str]:
    """The same of what is committed here."""
    files = render(load(), (ROOT / "README.md").read_text())
    return files | planner.render(planner.load(), (ROOT / "docs/planner.md").read_text(), BEGIN, END)


def main() -> int:
    files = everything()
    old = {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.svg")} - files.keys()
    if "--check" in sys.argv[1:]:
        wrong = [
            name for name, text in files.items() if not (ROOT / name).exists() or (ROOT / name).read_text() != text
        ]
        for name in wrong + sorted(old):
            print(f"{name}: not what bench/results says; run `make docs`", file=sys.stderr)
        return 1 if wrong or old else 0
    for name, text in files.items():
        (ROOT / name).write_text(text)
    for name in old:
        (ROOT / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
