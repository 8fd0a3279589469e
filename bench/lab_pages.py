"""Makes docs/lab-profile.md, the lab's pages and what README.md and docs/lab.md say of them from bench/results/lab.

A lab's record (`warpaes lab run`) is NAME-DATE.json; its page, docs/lab-NAME.html, is `warpaes lab report`'s, so it is
made where a build has the lab. profile-NAME-DATE.json is tools/profile_lab.py's.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
from pathlib import Path

from records import RESULTS, ROOT, read
from text import number, slug, stamp, table

FOLDER = RESULTS / "lab"
COMMANDS = ("build/default/cli/warpaes-lab", "build/cuda/cli/warpaes-lab")


def name_of(record: dict) -> str:
    return record["machine"]["gpu"]["name"] if record["machine"]["gpu"] else record["machine"]["cpu"]


def load(folder: Path = FOLDER) -> dict[str, tuple[Path, dict]]:
    """The newest record of each machine, and where it is."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        if not path.name.startswith("profile-"):
            record = json.loads(path.read_text())
            name = name_of(record)
            if name not in found or record["date"] > found[name][1]["date"]:
                found[name] = (path, record)
    return found


def load_profiles(folder: Path = FOLDER) -> dict[str, dict]:
    """The newest of each GPU."""
    return {record["gpu"]["name"]: record for record in read(folder, "profile-*.json")}


# ---------------------------------------------------------------------------------------------------- what records say


def result_of(record: dict, key: str) -> dict | None:
    found = [e for e in record["experiments"] if e["key"] == key and e["status"] == "measured"]
    return found[0]["result"] if found else None


def panel_of(record: dict, key: str, title: str) -> dict | None:
    result = result_of(record, key)
    return next((panel for panel in result["panels"] if panel["title"] == title), None) if result else None


def values_of(panel: dict | None, series: str) -> list:
    """None for every place where there is no figure; empty if there is no such series."""
    return next((one["values"] for one in panel["series"] if one["name"] == series), []) if panel else []


def fact_of(record: dict, key: str, name: str) -> float | None:
    result = result_of(record, key)
    return next((fact["value"] for fact in result["facts"] if fact["name"] == name), None) if result else None


def rate(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def of_the_thirteen(record: dict) -> str | None:
    best = fact_of(record, "N.implementations", "best of the thirteen")
    ours = fact_of(record, "N.implementations", "production, ECB, on the same text")
    order = fact_of(record, "N.implementations", "rank correlation of the thirteen, published and here")
    if None in (best, ours, order):
        return None
    return (
        f"Of thirteen kernels of 2010 the fastest did 4.4 GB/s and the fastest here does {rate(best)}, production "
        f"{rate(ours)}; their order then and now have a rank correlation of {order:.2f}."
    )


def of_tables(record: dict) -> str | None:
    panel = panel_of(record, "N.tables", "Tables by memory and number")
    four, s_box = values_of(panel, "4 tables"), values_of(panel, "S-box, arithmetic")
    if not four or None in (four[0], four[1], four[4], s_box[1]):
        return None
    return (
        f"Four T-tables in shared memory do {rate(four[1])} GB/s and in constant memory {rate(four[0])}; the S-box and "
        f"arithmetic do {rate(s_box[1])}, tables with a copy for each bank {rate(four[4])}."
    )


def of_leakage(record: dict) -> str | None:
    result = result_of(record, "W.leakage")
    if not result:
        return None
    t = {fact["name"]: fact["value"] for fact in result["facts"] if fact["name"].startswith("|t|")}
    shared = [value for name, value in t.items() if "shared memory" in name]
    ours = [value for name, value in t.items() if "production" in name]
    if not shared or not ours:
        return None
    return (
        f"T-tables in shared memory tell text and key by their time (|t| {rate(max(shared))}); of production's kernels "
        f"|t| is at most {max(ours):.1f}, where chance ends at 4.5."
    )


def of_serial(record: dict) -> str | None:
    panel = panel_of(record, "H.serial", "Serial modes by number of messages")
    cbc = values_of(panel, "CBC")
    real = [(value, int(count)) for value, count in zip(cbc, panel["x"]["values"]) if value] if panel else []
    if len(real) < 2:
        return None
    (few, least), (many, most) = real[0], max(real)
    return f"CBC encryption does {few:.2g} GB/s with {least:,} messages at once and {rate(many)} with {most:,}."


def of_transfers(record: dict) -> str | None:
    names = ("page-locked, one step after the other", "mapped, write-combined", "page-locked, overlapped")
    rates = [fact_of(record, "G.transfers", f"{name}, at most") for name in names]
    if None in rates:
        return None
    plain, mapped, overlapped = map(rate, rates)
    return (
        f"From host to host, kernels that read and write host memory do {mapped} GB/s, copies one after the other "
        f"{plain}, and copies that overlap {overlapped}."
    )


FINDINGS = (of_the_thirteen, of_tables, of_leakage, of_serial, of_transfers)


def findings(record: dict) -> list[str]:
    return [said for finding in FINDINGS if (said := finding(record))]


def page_name(record: dict) -> str:
    return f"lab-{slug(name_of(record))}.html"


def summary(records: list[dict], profiled: bool, folder: str = "") -> str:
    """Findings of each record, and where its page is. `folder`: of docs, seen from the page that says this."""
    out = []
    for record in records:
        holds = [v["holds"] for e in record["experiments"] for v in e["result"]["verdicts"]]
        effort = "a quick run, " if record["options"]["quick"] else ""
        commit = (
            f"commit {record['commit'][:12] or 'unknown'}{' with changes' if record['commit'].endswith('+') else ''}"
        )
        out.append(
            f"{name_of(record)}, {effort}{record['date'][:10]}, {commit}: of {len(holds)} conclusions "
            f"{holds.count('yes')} hold, {holds.count('partly')} in part, {holds.count('no')} do not "
            f"([every figure, as a page]({folder}{page_name(record)}))."
        )
        out.append("\n".join(f"- {said}" for said in findings(record)))
    if profiled:
        out.append(f"Why the order of the thirteen changed: [the kernels' profile]({folder}lab-profile.md).")
    return "\n\n".join(filter(None, out))


# ------------------------------------------------------------------------------------------------------- the profile

INTRODUCTION = """\
# The thirteen kernels, profiled

Generated from `bench/results/lab` by `bench/report.py`; not for editing.

[N] put thirteen kernels into an order; the lab's `N.implementations` puts them into one again ([lab.md](lab.md)). This
page has both, and what Nsight Compute counts in each kernel (`tools/profile_lab.py`): one launch, clocks as they are.
Counts are for 32 blocks of AES, what a warp does whose threads take a block each. A wavefront is a pass of shared
memory, which answers 32 lanes if no two want different words of one bank; conflicts are the passes beyond the first.
Per cent are of what the unit could do."""

UNITS = {
    "shared_percent": "shared memory",
    "issue_percent": "issuing instructions",
    "constant_percent": "the constant cache",
    "dram_percent": "device memory",
    "alu_percent": "integer arithmetic",
}
WAITS = {
    "barrier": "the thread block's barrier",
    "dispatch_stall": "the dispatcher",
    "drain": "stores at the end",
    "imc_miss": "constant memory",
    "lg_throttle": "the queue to global memory",
    "long_scoreboard": "device memory",
    "math_pipe_throttle": "arithmetic units",
    "mio_throttle": "the queue to shared memory",
    "no_instruction": "instructions to be fetched",
    "short_scoreboard": "shared memory's answers",
    "tex_throttle": "the queue to the texture unit",
    "wait": "fixed latencies",
}
# What may explain a time: counts of which two kernels have different numbers.
COUNTS = {
    "shared_wavefronts": "passes of shared memory",
    "instructions": "instructions",
    "constant_requests": "requests to constant memory",
}


def places(values: list[float]) -> list[int]:
    """1 is the largest."""
    return [1 + sum(other > value for other in values) for value in values]


def waits(kernel: dict) -> list[str]:
    """What warps wait for, the most first; those that are ready or issue do not wait."""
    return [WAITS[stall] for stall in kernel["stalls"] if stall in WAITS]


def for_a_warp(profile: dict, kernel: dict, name: str) -> float | None:
    return kernel[name] / (profile["text_bytes"] / 512) if name in kernel else None


def busiest(kernel: dict) -> list[tuple[float, str]]:
    return sorted(((kernel[name], unit) for name, unit in UNITS.items() if name in kernel), reverse=True)


def how_fast(ratio: float) -> str:
    if ratio >= 2:
        return f"{ratio:.1f} times as fast as"
    return (
        "as fast as"
        if abs(ratio - 1) < 0.015
        else f"{100 * abs(ratio - 1):.0f} % {'faster' if ratio > 1 else 'slower'} than"
    )


def against(kernel: dict, other: dict) -> str:
    """Counts of one beside the other's, and which of them goes with the time."""
    ratios = {said: kernel[name] / other[name] for name, said in COUNTS.items() if kernel.get(name) and other.get(name)}
    if not ratios:
        return ""
    said = ", ".join(f"{ratio:.2f} times the {what}" for what, ratio in ratios.items())
    text = f"It has {said} of {other['number']}"
    if kernel.get("nanoseconds") and other.get("nanoseconds"):
        time = kernel["nanoseconds"] / other["nanoseconds"]
        text += f" and takes {time:.2f} times as long"
        nearest, ratio = min(ratios.items(), key=lambda item: abs(math.log(item[1] / time)))
        if abs(math.log(ratio / time)) < math.log(1.08):
            text += f": its time goes with its {nearest}"
    return text + "."


def moves(labels: list[str], published: list[float], here: list[float], profile: dict) -> list[str]:
    """A line for each kernel whose place changed, beside the one most like it of those with which it changed places."""
    kernels = {kernel["number"]: kernel for kernel in profile["kernels"]}
    out = []
    for i, (before, now) in enumerate(zip(places(published), places(here))):
        if before == now:
            continue
        flipped = [j for j in range(len(here)) if (published[i] - published[j]) * (here[i] - here[j]) < 0 and j != i]
        line = f"**{i + 1}**, from place {before} to {now}."
        if flipped:
            alike = [len(set(labels[i].split()) & set(labels[j].split())) for j in range(len(here))]
            j = max(flipped, key=lambda j: (alike[j], abs(math.log(published[i] / published[j] * here[j] / here[i]))))
            line += (
                f" Published, it is {how_fast(published[i] / published[j])} {j + 1}; here it is "
                f"{how_fast(here[i] / here[j])} it."
            )
            if i + 1 in kernels and j + 1 in kernels:
                line += " " + against(kernels[i + 1], kernels[j + 1])
        if i + 1 in kernels:
            units = busiest(kernels[i + 1])
            if units and units[0][0] >= 80:
                line += f" Its limit is {units[0][1]}, busy {units[0][0]:.0f} % of the time."
            elif units:
                line += f" No unit is busy all the time: {units[0][1]} for {units[0][0]:.0f} %"
                line += f", {units[1][1]} for {units[1][0]:.0f} %." if len(units) > 1 else "."
            if waiting := waits(kernels[i + 1]):
                line += f" Warps wait most for {waiting[0]}."
        out.append(f"- {line.rstrip()}")
    return out


def profile_page(record: dict, profile: dict) -> str:
    panel = panel_of(record, "N.implementations", "Thirteen implementations")
    published, here = values_of(panel, "speed, published"), values_of(panel, "speed")
    kernels = {kernel["number"]: kernel for kernel in profile["kernels"]}
    before, now = places(published), places(here)
    order = [
        [label, f"{8 * p:.3g}", before[i], rate(h), now[i]]
        for i, (label, p, h) in enumerate(zip(panel["x"]["labels"], published, here))
    ]
    counted = []
    for i in range(len(here)):
        kernel = kernels.get(i + 1)
        if not kernel:
            continue
        loads, conflicts = (for_a_warp(profile, kernel, n) for n in ("shared_loads", "shared_conflicts"))
        counted.append(
            [
                i + 1,
                number(for_a_warp(profile, kernel, "instructions")),
                number(loads),
                number(for_a_warp(profile, kernel, "shared_wavefronts")),
                number(conflicts / loads if loads and conflicts is not None else None),
                number(for_a_warp(profile, kernel, "constant_requests")),
                *(number(kernel.get(name)) for name in ("shared_percent", "issue_percent", "constant_percent")),
                number(kernel.get("occupancy_percent")),
                f"{kernel['registers']:.0f}" if "registers" in kernel else "",
                number(for_a_warp(profile, kernel, "dram_bytes")),
                number(kernel["nanoseconds"] / 1e3 if "nanoseconds" in kernel else None),
                ", ".join(waits(kernel)[:2]),
            ]
        )
    gpu = profile["gpu"]
    date = f"{record['date'][:10]}, commit {record['commit'][:12] or 'unknown'}"
    changed = moves(panel["x"]["labels"], published, here, profile)
    return (
        "\n\n".join(
            [
                INTRODUCTION,
                f"## {gpu['name']}",
                table(["implementation", "published, Gbit/s", "place", "here, GB/s", "place"], order),
                f"*Speeds: {date}. Profile: driver {gpu['driver']}, CUDA {gpu['cuda']}; {stamp(profile)}.*",
                "## What the profiler counts",
                table(
                    [
                        "",
                        "instructions",
                        "shared loads",
                        "wavefronts",
                        "conflicts a load",
                        "constant requests",
                        "shared memory, %",
                        "issue, %",
                        "constant cache, %",
                        "occupancy, %",
                        "registers",
                        "DRAM, bytes",
                        "µs",
                        "warps wait for",
                    ],
                    counted,
                ),
                "## Whose place changed",
                "\n".join(changed) if changed else "Nobody's.",
            ]
        )
        + "\n"
    )


# ------------------------------------------------------------------------------------------------------ what is made


def embedded(page: Path) -> dict | None:
    """The record that a page holds."""
    if not page.exists():
        return None
    found = re.search(r'<script type="application/json" id="record">(.*?)</script>', page.read_text(), re.DOTALL)
    return json.loads(found[1]) if found else None


def find_command() -> Path | None:
    named = [Path(os.environ["WARPAES"]).with_name("warpaes-lab")] if "WARPAES" in os.environ else []
    return next((path for path in (*named, *(ROOT / place for place in COMMANDS)) if path.exists()), None)


def write_pages() -> None:
    """With the lab's page as it is today; without the lab pages stay as they are."""
    command = find_command()
    for path, record in load().values():
        page = ROOT / "docs" / page_name(record)
        if command:
            subprocess.run([command, "report", path, "-o", page], check=True, stdout=subprocess.DEVNULL)
        elif embedded(page) != record:
            print(f"{page}: needs the lab; `tools/build default warpaes_lab_program` builds it")


def wrong_pages() -> list[str]:
    """Those that do not hold their record."""
    pages = {page_name(record): record for _, record in load().values()}
    return [f"docs/{name}" for name, record in pages.items() if embedded(ROOT / "docs" / name) != record]


def render(records: list[dict], profiles: dict[str, dict]) -> dict[str, str]:
    """docs/lab-profile.md, if there is a profile of a GPU whose thirteen have been measured."""
    for record in records:
        profile = profiles.get(name_of(record))
        if profile and result_of(record, "N.implementations"):
            return {"docs/lab-profile.md": profile_page(record, profile)}
    return {}
