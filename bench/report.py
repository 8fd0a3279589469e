#!/usr/bin/env python3
"""Generates docs/performance.md, docs/lab-profile.md, the plots, the lab's pages and the figures of README.md,
docs/planner.md, docs/python.md, docs/parquet.md, docs/serving.md, docs/bulk.md, docs/scale.md, docs/provider.md,
docs/comparison.md and docs/lab.md from bench/results.

report.py          writes these files
report.py --check  fails if the files differ from the records
"""

from __future__ import annotations

import re
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import bulk_page
import comparison
import demo_svg
import first_screen
import lab_pages
import parquet_page
import paths
import planner
import plots
import provider_page
import python_page
import scale_page
import serving_page
from batches import batches_section, gpus_section, kernels_section
from records import ROOT, limit, load, operations, order, rate, rows_of
from text import commit_of, gpu_of, human_bytes, machine, number, operation, slug, stamp, table, with_figures

CPU_BACKENDS = ("libcrypto", "aesni", "vaes", "armv8")
PLACES = {"device": "device memory", "page_locked": "page-locked host memory", "pageable": "pageable host memory"}


def source(record: dict, gpu: bool, row: dict | None = None) -> str:
    """Return the source of a figure: hardware, date, commit and number of runs. If `row` has its own date and commit,
    they replace those of the record."""
    host = record["host"]
    where = gpu_of(record) if gpu else f"{host['cpu']}, {host['cores']} cores, {host['openssl']}"
    runs = len(record["runs"])
    return f"{where}; {stamp(record if row is None or 'commit' not in row else row)}" + (
        f", median of {runs} runs" if runs > 1 else ""
    )


#: Complete phrases for the notes in the records.
INCLUDED = {
    "calls back to back on one stream, output stored": "back-to-back calls on one stream, including storing the output",
    "copies both ways, output stored in host memory": "copies both ways, including storing the output in host memory",
    "the whole call, output stored": "the whole call, including storing the output",
    "whole calls, output stored, tags compared on the host": "whole calls, including storing the output and comparing "
    "tags on the host",
    "whole calls, output stored, tags on the host": "whole calls, including storing the output and storing the tags on "
    "the host",
    "whole calls, the tag on the host": "whole calls, including storing the tag on the host",
}


def caption(record: dict, rows: list[dict]) -> str:
    *others, last = sorted({INCLUDED.get(row["includes"], row["includes"]) for row in rows})
    covers = f"Depending on the operation, the times cover {'; '.join(others)}; or" if others else "The times cover"
    later: dict[str, list[str]] = {}
    for row in rows:
        if "commit" in row:
            later.setdefault(stamp(row), []).append(operation(row["mode"], row["direction"]))
    again = "".join(
        f" These operations were measured on {when}: {'; '.join(dict.fromkeys(which))}."
        for when, which in later.items()
    )
    return f"*{source(record, rows[0]['backend'] == 'cuda')}.{again} {covers} {last}.*"


LIMIT_TEXT = """\
Shared memory limits the speed. In each clock cycle, the shared memory of a multiprocessor serves one lookup of four
bytes for each of 32 lanes. A block requires 16 lookups per round; CTR and GCM avoid two rounds by counter caching.
Reading and writing a block requires the time of 8 lookups. The limit is multiprocessors x clock rate x 32 x 16 bytes /
(lookups + 8)."""


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


def calls_section(record: dict) -> list[str]:
    rows = record.get("calls", [])
    if not rows:
        return []
    sizes = sorted({row["bytes"] for row in rows})
    lines = []
    for mode, direction, key in dict.fromkeys((row["call"], row["direction"], row["key_bits"]) for row in rows):
        cells = [f"{operation(mode, direction)}, AES-{key}"]
        for size in sizes:
            found = [
                row
                for row in rows
                if (row["call"], row["direction"], row["key_bits"], row["bytes"]) == (mode, direction, key, size)
            ]
            cells.append(f"{found[0]['us']:.1f} = {found[0]['us'] / found[0]['empty_us']:.2f} x" if found else "")
        lines.append(cells)
    empty = statistics.median(row["empty_us"] for row in rows)
    return [
        "### Latency of a call, device memory",
        "Each cell shows the microseconds from the call to its return with the result, and the ratio of this time to "
        "the time of launching an empty kernel and waiting for its end. The empty kernel was measured with each "
        f"row; its median is {empty:.1f} microseconds.",
        table(["", *map(human_bytes, sizes)], lines),
        f"*{gpu_of(record)}; {stamp(rows[0])}. Data units of XTS are 4 KiB.*",
    ]


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
            f"### `{backend}` compared with libcrypto, {threads} thread{'' if threads == '1' else 's'}",
            "Each cell shows the GB/s of warpaes, the GB/s of libcrypto's EVP in the same run, and their ratio.",
            table(["", *map(human_bytes, sizes)], lines),
            caption(record, rows),
        ]
    if out:
        out.append(f"![CPU]({plot_name(record, 'cpu')})")
    return out


def slower(record: dict) -> list[list[str]]:
    """Return a table row for each operation that a competitor performs faster: the operation, warpaes's backend and
    memory, its speed, the competitor, and the competitor's speed."""
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


# The beginning of each warpaes command, and the first words of the commands that it is compared with.
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
        out.append(f"Time relative to `{ours}`: {', '.join(ratios)}.")
    return out


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
        table(["complete process", "seconds", "GB/s", "peak MiB"], cells),
        f"*{source(record, False, rows[0])}. Times are for complete processes, including reading and writing.*",
        *beside(rows),
        *(
            f"`{row['command']}` reads {human_bytes(row['bytes'])} at a random position in a file of "
            f"{human_bytes(row['file_bytes'])} in {1000 * row['median_s']:.1f} ms, from start to exit (median of "
            f"{row['samples']} new processes)."
            for row in parts
        ),
    ]


def slower_section(record: dict) -> list[str]:
    found = slower(record)
    if not found:
        return ["### Where warpaes is slower", "In this record, warpaes is never slower than its competitors."]
    return ["### Where warpaes is slower", table(["", "warpaes", "GB/s", "faster", "GB/s"], found)]


def spread_section(record: dict) -> list[str]:
    """Return the section on figures that differ by more than a tenth between runs of the same day."""
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
    intro = (
        "The table lists figures for 1 MiB or more that differ by more than a tenth between "
        f"{len(record['runs'])} runs on machines of this type on the same day."
    )
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
1 GB/s is 10^9 bytes of plaintext per second. Every case stores its complete output. The first 64 KiB of the output and
all GCM tags are compared with libcrypto's results. GMAC hashes associated data and stores only a tag. Data units of XTS
are 4 KiB unless stated otherwise. A figure is the median of its samples, or the median of the runs' medians if there
were several runs on a day. A CPU backend and libcrypto's EVP are measured alternately in the same process.
`make gpu-test` writes a record, and `make docs` writes this page. There are no figures for the backend `armv8`, because
its kernels have run only in an emulator."""


def performance(records: list[dict], sweeps: Sequence[dict] = ()) -> str:
    """Return the page. `sweeps` contains records of bench/path_sweep."""
    out = [
        "# Performance",
        "This page is generated from `bench/results` by `bench/report.py`. Do not edit it.",
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
            calls_section,
            batches_section,
            gpus_section,
            kernels_section,
            cpu_section,
            files_section,
            slower_section,
            spread_section,
        ):
            out += section(record)
    out += paths.paths_section(sweeps)
    if records:
        out += record_section(records)
    return folded("\n\n".join(out)) + "\n"


def folded(page: str) -> str:
    """Return the page with each table of more than six rows folded. The summary of a folded table is the last heading
    before it."""
    out, heading = [], ""
    for block in page.split("\n\n"):
        if block.startswith("#"):
            heading = block.lstrip("# ")
        if block.startswith("|") and block.count("\n") > 7:
            name = re.sub(r"[`*]", "", heading)
            block = f'<details markdown="1">\n<summary>Table: {name}</summary>\n\n{block}\n\n</details>'
        out.append(block)
    return "\n\n".join(out)


# -------------------------------------------------------------------------------------------------------------- plots


def plot_name(record: dict, what: str) -> str:
    return f"{slug(machine(record))}-{what}.svg"


def one_core(record: dict, key_bits: int, size: int | None = None) -> float | None:
    """Return the speed of libcrypto's CTR on one core of the GPU's host in the same run. If `size` is None, return the
    highest speed of all sizes."""
    rows = [
        row["baseline_gb_per_s"]
        for row in rows_of(record, mode="ctr", key_bits=key_bits)
        if row["backend"] in CPU_BACKENDS and row["baseline_gb_per_s"] and size in (None, row["bytes"])
    ]
    return max(rows, default=None)


def draw(record: dict) -> dict[str, str]:
    """Return the file name and content of each plot."""
    out = {}
    rows = rows_of(record, backend="cuda", memory="device")
    if rows:
        largest = max(row["bytes"] for row in rows)
        keys = sorted({row["key_bits"] for row in rows})
        # GMAC is omitted, because it does not encrypt and its long bar would leave the other bars a fifth of the width.
        pairs = [pair for pair in operations(rows) if pair[0] != "gmac"]
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
        baseline = [one_core(record, k) for k in keys]
        if any(baseline):
            values.append(("CTR, libcrypto, a core of the host", baseline))
            limits.append([None for _ in keys])
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
        sizes = sorted({x for _, points in series for x, _ in points})
        points = [(size, value) for size in sizes if (value := one_core(record, 128, size))]
        if points:
            series.append(("libcrypto, one core", points))
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


def render(records: list[dict], sweeps: Sequence[dict] = ()) -> dict[str, str]:
    """Return the paths and contents of docs/performance.md and its plots. `sweeps` contains records of
    bench/path_sweep."""
    files = {"docs/performance.md": performance(records, sweeps)}
    for record in records:
        files |= {f"docs/{name}": text for name, text in draw(record).items()}
    for record in sweeps:
        files |= {f"docs/{name}": text for name, text in paths.draw(record).items()}
    return files


def everything() -> dict[str, str]:
    """Return the files generated from the committed records."""
    of_lab, studies = [record for _, record in lab_pages.load().values()], lab_pages.load_profiles()
    profile = lab_pages.render(of_lab, studies)
    summaries = [lab_pages.summary_of(record) for record in of_lab]
    beside = lab_pages.summary(of_lab, summaries, bool(profile))
    compared = comparison.render((ROOT / comparison.PAGE).read_text())
    files = render(load(), paths.newest()) | compared
    plot = comparison.PLOT if comparison.PLOT in compared else ""
    screen = first_screen.block(next(iter(of_lab), None), plot)
    files["README.md"] = with_figures((ROOT / "README.md").read_text(), screen)
    files |= python_page.render((ROOT / python_page.PAGE).read_text())
    files |= parquet_page.render((ROOT / parquet_page.PAGE).read_text())
    files |= serving_page.render((ROOT / serving_page.PAGE).read_text())
    files |= bulk_page.render((ROOT / bulk_page.PAGE).read_text())
    files |= scale_page.render((ROOT / scale_page.PAGE).read_text())
    files |= provider_page.render((ROOT / provider_page.PAGE).read_text())
    files |= planner.render(planner.load(), (ROOT / "docs/planner.md").read_text())
    none = "There is no record yet. `warpaes lab run` measures the machine and stores a record."
    page = with_figures((ROOT / "docs/lab.md").read_text(), beside or none)
    for record, summary in list(zip(of_lab, summaries))[:1]:
        if summary:
            marks = "<!-- claims: begin -->", "<!-- claims: end -->"
            page = with_figures(page, lab_pages.claims_table(summary, studies.get(lab_pages.name_of(record))), marks)
    return files | profile | demo_svg.render() | {"docs/lab.md": page}


def main() -> int:
    if "--check" not in sys.argv[1:]:
        lab_pages.write_pages()  # runs first, because the documents quote the pages
    files = everything()
    made = [*(ROOT / "docs").glob("*.svg"), *(ROOT / "docs").glob("lab-profile.md")]
    old = {f"docs/{path.name}" for path in made} - files.keys()
    if "--check" in sys.argv[1:]:
        wrong = [
            name for name, text in files.items() if not (ROOT / name).exists() or (ROOT / name).read_text() != text
        ]
        wrong += lab_pages.wrong_pages()
        for name in wrong + sorted(old):
            print(f"{name}: differs from bench/results; run `make docs`", file=sys.stderr)
        return 1 if wrong or old else 0
    for name, text in files.items():
        (ROOT / name).write_text(text)
    for name in old:
        (ROOT / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
