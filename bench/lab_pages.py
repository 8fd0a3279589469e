"""Generates docs/lab-profile.md, the lab's pages, lab/report/elsewhere.json and the figures of docs/lab.md from
bench/results/lab.

`warpaes lab run` writes a record, NAME-DATE.json. `warpaes lab report` generates the record's page, docs/lab-NAME.html.
Without a build of the lab, the pages stay unchanged. tools/profile_lab.py writes profile-NAME-DATE.json.
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


def rank(record: dict) -> tuple:
    """Return a sort key: complete runs rank above quick runs, and newer records above older records."""
    return not record["options"]["quick"], record["date"]


def every_machine(folder: Path = FOLDER) -> dict[str, tuple[Path, dict]]:
    """Return the newest record of each machine, with its path. Machines with a GPU come first, and complete runs before
    quick runs. `folder`/submitted contains records that other users submitted (`warpaes lab submit`)."""
    found = {}
    for path in sorted([*folder.glob("*.json"), *folder.glob("submitted/*.json")]):
        if not path.name.startswith("profile-"):
            record = json.loads(path.read_text())
            name = name_of(record)
            if name not in found or rank(record) > rank(found[name][1]):
                found[name] = (path, record)

    def order(item: tuple[str, tuple[Path, dict]]) -> tuple:
        _, record = item[1]
        return record["machine"]["gpu"] is None, record["options"]["quick"]

    return dict(sorted(found.items(), key=order))


def load(folder: Path = FOLDER) -> dict[str, tuple[Path, dict]]:
    """Return the records that have a page: the records of machines with a GPU that no other user submitted."""
    return {
        name: (path, record)
        for name, (path, record) in every_machine(folder).items()
        if record["machine"]["gpu"] and path.parent == folder
    }


def load_profiles(folder: Path = FOLDER) -> dict[str, dict]:
    """Return the newest profile of each GPU."""
    return {record["gpu"]["name"]: record for record in read(folder, "profile-*.json")}


# ---------------------------------------------------------------------------------------------------- records


def result_of(record: dict, key: str) -> dict | None:
    found = [e for e in record["experiments"] if e["key"] == key and e["status"] == "measured"]
    return found[0]["result"] if found else None


def panel_of(record: dict, key: str, title: str) -> dict | None:
    result = result_of(record, key)
    return next((panel for panel in result["panels"] if panel["title"] == title), None) if result else None


def values_of(panel: dict | None, series: str) -> list:
    """Return the values of a series, with None for missing figures, or an empty list if the series does not exist."""
    return next((one["values"] for one in panel["series"] if one["name"] == series), []) if panel else []


def rate(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def page_name(record: dict) -> str:
    return f"lab-{slug(name_of(record))}.html"


def tally(tallies: list[dict]) -> str:
    """Return a sentence such as "of 64 published conclusions, 32 hold, …; of 13 of our own, …"."""
    theirs, ours = [t for t in tallies if t["paper"] != "W"], [t for t in tallies if t["paper"] == "W"]

    def said(some: list[dict]) -> tuple[int, str]:
        yes, partly, no, open_ = (sum(t[how] for t in some) for how in ("yes", "partly", "no", "open"))
        words = f"{yes} hold, {partly} hold in part, {no} do not hold"
        return yes + partly + no + open_, words + (f", and {open_} are open" if open_ else "")

    (count, words), (own, own_words) = said(theirs), said(ours)
    return f"of {count} published conclusions, {words}" + (f"; of {own} of our own, {own_words}" if own else "")


def summary(records: list[dict], summaries: list[dict | None], profiled: bool) -> str:
    """Return the findings of each record, with a link to its page. `summaries` contains the summary from each record's
    page, or None."""
    out = []
    for record, said in zip(records, summaries):
        effort = "a quick run, " if record["options"]["quick"] else ""
        builds = {e.get("commit", "") for e in record["experiments"] if e["status"] == "measured"} - {record["commit"]}
        commit = (
            f"commit {record['commit'][:12] or 'unknown'}{' with changes' if record['commit'].endswith('+') else ''}"
        )
        if builds:
            commit += f" and, for some experiments, {', '.join(sorted(b[:12] or 'unknown' for b in builds))}"
        if record["machine"].get("virtual"):
            commit += ", a virtual machine"
        where = f"[every figure, as a page]({page_name(record)})"
        counted = f", {tally(said['tallies'])}" if said else ", there are no verdicts"
        out.append(f"On an {name_of(record)} ({effort}{record['date'][:10]}, {commit}){counted} ({where}).")
        if said:
            out.append("\n".join(f"- {finding}" for finding in said["findings"]))
            out.append("The speed of this GPU relative to the CPU depends on the memory that contains the data:")
            out.append("\n".join(f"- {sentence}" for sentence in said["worth"]["sentences"]))
    if profiled:
        out.append("[The kernels' profile](lab-profile.md) explains why the order of the thirteen kernels changed.")
    return "\n\n".join(filter(None, out))


HOLDS = {"yes": "holds", "partly": "in part", "no": "does not hold", "open": "open"}


# Claims that only the profiler can measure.
PROFILED = ("G.fig4",)


def claims_table(summary: dict, profile: dict | None = None) -> str:
    """Return a Markdown table of the claims: the tables, figures and sentences of the papers. A row contains the
    experiment that measures the claim, or the reason why no experiment measures it, and the verdict for each machine.
    `summary` is a page's summary, and `profile` is the profile of the same machine."""
    machines = [record["machine"] for record in summary["matrix"]["records"]]
    holds = {row["id"]: [HOLDS[one] for one in row["holds"]] for row in summary["matrix"]["conclusions"]}
    rows = []
    for claim in summary["claims"]:
        if claim["id"] in PROFILED and profile and profile.get("schemes"):
            where, verdict = "the profiler: [the three schemes](lab-profile.md#the-three-schemes)", "figures"
        elif claim["kind"] == "unmeasured":
            where, verdict = f"not measured: {claim['rule']}", ""
        else:
            where, verdict = f"{claim['experiment']}: {claim['rule']}", "figures"
        rows.append([claim["id"], claim["says"], where, *holds.get(claim["id"], [verdict] * len(machines))])
    cells = [["id", "published", "measured by, and the rule", *machines], *rows]
    escaped = [[str(cell).replace("|", "\\|") for cell in row] for row in cells]
    return table(escaped[0], escaped[1:], ("---", "---"))


# ------------------------------------------------------------------------------------------------------- the profile

INTRODUCTION = """\
# The thirteen kernels, profiled

This page is generated from `bench/results/lab` by `bench/report.py`. Do not edit it.

[N] ranks thirteen kernels by speed, and the lab's `N.implementations` ranks them again on a current GPU
([lab.md](lab.md)). This page compares the two rankings. It also lists the counts that Nsight Compute reports for one
launch of each kernel, without fixed clocks (`tools/profile_lab.py`). Counts are per 32 blocks of AES, the work of a
warp whose threads process one block each. A wavefront is one pass through shared memory, which serves all 32 lanes
unless two lanes need different words of the same bank. Such a conflict requires additional passes ("conflicts per
load"). Percentages are relative to the maximum rate of the unit."""

UNITS = {
    "shared_percent": "shared memory",
    "issue_percent": "the issue of instructions",
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
    "no_instruction": "instruction fetches",
    "short_scoreboard": "results from shared memory",
    "tex_throttle": "the queue to the texture unit",
    "wait": "fixed latencies",
}
# Counts that may explain why two kernels take different times.
COUNTS = {
    "shared_wavefronts": "shared-memory passes",
    "instructions": "instructions",
    "constant_requests": "constant-memory requests",
}


def places(values: list[float]) -> list[int]:
    """Return the rank of each value. The largest value has rank 1."""
    return [1 + sum(other > value for other in values) for value in values]


def waits(kernel: dict) -> list[str]:
    """Return the reasons for warp stalls that WAITS describes, the most frequent first."""
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
    """Compare the counts of two kernels. Name the count whose ratio is closest to the ratio of the kernels' times, if
    the two ratios differ by less than 8 %."""
    ratios = {said: kernel[name] / other[name] for name, said in COUNTS.items() if kernel.get(name) and other.get(name)}
    if not ratios:
        return ""
    *most, last = [f"{ratio:{'.2f' if ratio >= 0.01 else '.1g'}} times the {what}" for what, ratio in ratios.items()]
    said = f"{', '.join(most)} and {last}" if most else last
    text = f"Compared with kernel {other['number']}, it requires {said}"
    if kernel.get("nanoseconds") and other.get("nanoseconds"):
        time = kernel["nanoseconds"] / other["nanoseconds"]
        text += f", and takes {time:.2f} times as long"
        nearest, ratio = min(ratios.items(), key=lambda item: abs(math.log(item[1] / time)))
        if abs(math.log(ratio / time)) < math.log(1.08):
            text += f". The number of {nearest} explains this time"
    return text + "."


def moves(labels: list[str], published: list[float], here: list[float], profile: dict) -> list[str]:
    """Return a line for each kernel whose rank changed. The line compares the kernel with another kernel that overtook
    it or that it overtook: of these kernels, the one whose label has the most words in common."""
    kernels = {kernel["number"]: kernel for kernel in profile["kernels"]}
    out = []
    for i, (before, now) in enumerate(zip(places(published), places(here))):
        if before == now:
            continue
        flipped = [j for j in range(len(here)) if (published[i] - published[j]) * (here[i] - here[j]) < 0 and j != i]
        line = f"Kernel **{i + 1}** moves from rank {before} to rank {now}."
        if flipped:
            alike = [len(set(labels[i].split()) & set(labels[j].split())) for j in range(len(here))]
            j = max(flipped, key=lambda j: (alike[j], abs(math.log(published[i] / published[j] * here[j] / here[i]))))
            line += (
                f" In the paper, it is {how_fast(published[i] / published[j])} kernel {j + 1}; here it is "
                f"{how_fast(here[i] / here[j])} kernel {j + 1}."
            )
            if i + 1 in kernels and j + 1 in kernels:
                line += " " + against(kernels[i + 1], kernels[j + 1])
        if i + 1 in kernels:
            units = busiest(kernels[i + 1])
            if units and units[0][0] >= 80:
                line += f" Kernel {i + 1} is limited by {units[0][1]}, which is busy {units[0][0]:.0f} % of the time."
            elif units:
                line += f" No unit is busy all the time: {units[0][1]} is busy {units[0][0]:.0f} %"
                line += f" of the time, and {units[1][1]} {units[1][0]:.0f} %." if len(units) > 1 else " of the time."
            if waiting := waits(kernels[i + 1]):
                line += f" Warps mostly wait for {waiting[0]}."
        out.append(f"- {line.rstrip()}")
    return out


SCHEME_NAMES = {1: "1: one thread per block", 2: "2: four threads per block", 3: "3: sixteen threads per block"}


def schemes_section(profile: dict) -> list[str]:
    """Return the section on [G]'s three schemes, or an empty list if the profile does not contain them."""
    rows = [
        [
            f"{SCHEME_NAMES[kernel['scheme']]}, tables in {kernel['tables']} memory",
            *throughputs(kernel),
            *(number(kernel.get(name)) for name in ("shared_percent", "constant_percent")),
            number(kernel["nanoseconds"] / 1e3 if "nanoseconds" in kernel else None),
            ", ".join(waits(kernel)[:2]),
        ]
        for kernel in profile.get("schemes", [])
    ]
    if not rows:
        return []
    size = profile["schemes_text_bytes"] >> 20
    head = ["scheme", *THROUGHPUTS, "shared memory, %", "constant cache, %", "µs", "warps wait for"]
    by_size = sizes_rows(profile)
    figure = "" if by_size else " [G]'s Fig. 4 shows these figures by input size."
    said = (
        "The table shows the instruction and memory throughput of [G]'s three schemes, each in a single launch of "
        f"AES-128-ECB on {size} MiB.{figure} Instructions are counted per warp."
    )
    out = ["## The three schemes", said, table(head, rows)]
    if by_size:
        head = ["text", "scheme", "GB/s", *THROUGHPUTS]
        said = (
            "As in [G]'s Fig. 4, the table shows the speed and the instruction and device-memory throughput by text "
            "length, for AES-128-ECB with tables in constant memory. The caches were emptied before each launch."
        )
        out += ["### By text length", said, table(head, by_size)]
    return out


THROUGHPUTS = ("instructions, 10^9/s", "issue, %", "device memory, GB/s", "device memory, %")


def throughputs(kernel: dict) -> list[str]:
    """Return a kernel's cells for the columns THROUGHPUTS."""
    time = kernel.get("nanoseconds")

    def by_time(name: str) -> str:
        return number(kernel[name] / time if time and name in kernel else None)

    issue, memory = (number(kernel.get(name)) for name in ("issue_percent", "dram_percent"))
    return [by_time("instructions"), issue, by_time("dram_bytes"), memory]


def sizes_rows(profile: dict) -> list[list[str]]:
    """Return the data of [G]'s Fig. 4, with a row for each text length and scheme."""
    rows = []
    for kernel in profile.get("schemes_by_size", []):
        size, time = kernel["text_bytes"], kernel.get("nanoseconds")
        text = f"{size >> 20} MiB" if size >> 20 else f"{size >> 10} KiB"
        speed = rate(size / time) if time else ""
        rows.append([text, SCHEME_NAMES[kernel["scheme"]], speed, *throughputs(kernel)])
    return rows


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
                table(["implementation", "published, Gbit/s", "rank", "here, GB/s", "rank"], order),
                f"*Speeds: {date}. Profile: driver {gpu['driver']}, CUDA {gpu['cuda']}; {stamp(profile)}.*",
                "## Counts of the profiler",
                table(
                    [
                        "",
                        "instructions",
                        "shared loads",
                        "wavefronts",
                        "conflicts per load",
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
                "## Kernels whose rank changed",
                "\n".join(changed) if changed else "No rank changed.",
                *schemes_section(profile),
            ]
        )
        + "\n"
    )


# ------------------------------------------------------------------------------------------------------ output


def embedded(page: Path, name: str = "record") -> dict | None:
    """Return the JSON element `name` of a page, "record" or "summary", or None if the page does not contain it."""
    if not page.exists():
        return None
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page.read_text(), re.DOTALL)
    return json.loads(found[1]) if found else None


def summary_of(record: dict) -> dict | None:
    return embedded(ROOT / "docs" / page_name(record), "summary")


def measured_part(record: dict | None) -> dict | None:
    """Return the part of a record that its page must contain unchanged. Verdicts and published figures are excluded,
    because the lab's current rules determine them."""
    if not record:
        return record
    experiments = [
        {
            "key": e["key"],
            "status": e["status"],
            "commit": e["commit"],
            "panels": [
                {**p, "note": "", "series": [s for s in p["series"] if s["role"] != "published"]}
                for p in e["result"]["panels"]
            ],
            "facts": [f["value"] for f in e["result"]["facts"]],
        }
        for e in record["experiments"]
    ]
    return {"date": record["date"], "commit": record["commit"], "experiments": experiments}


def find_command() -> Path | None:
    named = [Path(os.environ["WARPAES"]).with_name("warpaes-lab")] if "WARPAES" in os.environ else []
    return next((path for path in (*named, *(ROOT / place for place in COMMANDS)) if path.exists()), None)


def in_columns(path: Path) -> list[Path]:
    """Return the paths of a page's records: its own record, and other machines' records for further columns."""
    return [path, *(other for other, _ in every_machine().values() if other != path)]


def write_pages() -> None:
    """Write the pages with the current lab. If the lab is not built, the pages stay unchanged."""
    command = find_command()
    for path, record in load().values():
        page = ROOT / "docs" / page_name(record)
        if command:
            arguments = [command, "report", *in_columns(path), "-o", page]
            subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)
        elif measured_part(embedded(page)) != measured_part(record):
            print(f"{page}: outdated; `tools/build default warpaes_lab_program` builds the lab, which generates it")
    write_elsewhere()


ELSEWHERE = ROOT / "lab/report/elsewhere.json"


def elsewhere() -> dict | None:
    """Return the advice on when a GPU is worthwhile, from the newest complete run with a GPU, or from the newest quick
    run if no run is complete. The lab prints the advice on machines without a GPU."""
    of_gpus = [record for _, record in load().values() if record["machine"]["gpu"] and summary_of(record)]
    if not of_gpus:
        return None
    newest = max(of_gpus, key=rank)
    worth = summary_of(newest)["worth"]
    machine = f"{name_of(newest)}, {newest['date'][:10]}"
    return {"machine": machine, "sentences": worth["sentences"], "answers": worth["answers"]}


def write_elsewhere() -> None:
    if answer := elsewhere():
        ELSEWHERE.write_text(json.dumps(answer, indent=1, ensure_ascii=False) + "\n")


def wrong_pages() -> list[str]:
    """Return the pages that do not contain their record. If all pages are up to date, return
    lab/report/elsewhere.json when that file is outdated."""
    pages = {page_name(record): record for _, record in load().values()}
    wrong = [
        f"docs/{name}"
        for name, record in pages.items()
        if measured_part(embedded(ROOT / "docs" / name)) != measured_part(record) or not summary_of(record)
    ]
    if not wrong and elsewhere() not in (None, json.loads(ELSEWHERE.read_text())):
        wrong.append(str(ELSEWHERE.relative_to(ROOT)))
    return wrong


def render(records: list[dict], profiles: dict[str, dict]) -> dict[str, str]:
    """Return docs/lab-profile.md for the first GPU with a profile and a record of N.implementations."""
    for record in records:
        profile = profiles.get(name_of(record))
        if profile and result_of(record, "N.implementations"):
            return {"docs/lab-profile.md": profile_page(record, profile)}
    return {}
