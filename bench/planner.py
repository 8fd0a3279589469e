"""Describes and plots the planner's choices and the times of all backends, from the records in
bench/results/planner."""

from __future__ import annotations

from html import escape
from pathlib import Path

import plots
from records import RESULTS, read
from text import machine, operation, short_bytes, slug, stamp, with_figures

MODES = {mode: operation(mode, "encrypt") for mode in ("ecb", "ctr", "cbc", "gcm", "xts")}
PLACES = {"host": "pageable memory", "page-locked": "page-locked memory", "device": "device memory"}
KINDS = ("libcrypto", "aesni", "vaes", "cuda", "both")
ARM_KINDS = ("libcrypto", "armv8", "cuda", "both")


def load(folder: Path = RESULTS / "planner") -> list[dict]:
    """Return the newest record of each machine. Machines with a GPU come first."""
    machines: dict[tuple, dict] = {}
    for record in read(folder):
        key = (record["gpu"] is None, hardware(record))
        if key not in machines or machines[key]["date"] < record["date"]:
            machines[key] = record
    return [machines[key] for key in sorted(machines)]


def hardware(record: dict) -> str:
    """Return the names of the GPU and the CPU that the planner chooses between."""
    host = record["host"]
    cpu = f"{host['cpu']}, {host['cores']} cores"
    return f"{record['gpu']['name']} and {cpu}" if record["gpu"] else cpu


def kind(choice: str) -> str:
    return "both" if "+" in choice else choice


def kinds(record: dict) -> tuple[str, ...]:
    on_arm = any(point["measured_s"].get("armv8") is not None for point in record["points"])
    return ARM_KINDS if on_arm else KINDS


def is_good(record: dict, point: dict) -> bool:
    return point["ratio"] is not None and point["ratio"] <= record["good_ratio"]


def share(record: dict, points: list[dict]) -> str:
    good = sum(is_good(record, point) for point in points)
    return f"{good} of {len(points)} ({100 * good / len(points):.1f} %)"


def draw(record: dict) -> str:
    """Draw a panel for each combination of memory kind and mode. A cell stands for a message size and a number of
    messages. Its colour shows the choice."""
    points = [p for p in record["points"] if p["key_bits"] == record["points"][0]["key_bits"]]
    sizes = sorted({p["bytes"] for p in points})
    rows = ["single", *sorted({p["messages"] for p in points if p["batch"]})]
    places = [place for place in PLACES if any(p["from"] == place for p in points)]
    modes = [mode for mode in MODES if any(p["mode"] == mode for p in points)]
    cell, left, top, gap = 15, 118, 96, 34
    width_of = len(sizes) * cell + 22
    height_of = len(rows) * cell + gap
    body = []
    x = 8.0
    for i, name in enumerate(kinds(record)):
        body.append(f'<rect x="{x:g}" y="51" width="10" height="10" class="c{i}"/>')
        body.append(plots.text(x + 15, 60, name))
        x += 15 + 7 * len(name) + 20
    body.append(f'<circle cx="{x + 5:g}" cy="56" r="3.5" class="wrong"/>')
    body.append(plots.text(x + 15, 60, f"more than {record['good_ratio']:g} times the best"))
    for i, place in enumerate(places):
        body.append(plots.text(left + i * width_of, top - 16, PLACES[place], "title"))
        for j, mode in enumerate(modes):
            y0 = top + j * height_of
            for k, row in enumerate(rows):
                y = y0 + (len(rows) - 1 - k) * cell
                if i == 0:
                    body.append(plots.text(left - 6, y + 11, str(row), "note", "end"))
                for point in points:
                    if point["mode"] != mode or point["from"] != place:
                        continue
                    if ("single" if not point["batch"] else point["messages"]) != row:
                        continue
                    at = left + i * width_of + sizes.index(point["bytes"]) * cell
                    body.append(
                        f'<rect x="{at}" y="{y}" width="{cell - 1}" height="{cell - 1}" '
                        f'class="c{kinds(record).index(kind(point["choice"]))}"><title>{escape(title(point))}</title></rect>'
                    )
                    if not is_good(record, point):
                        body.append(f'<circle cx="{at + 7}" cy="{y + 7}" r="3.5" class="wrong"/>')
            if i == 0:
                body.append(plots.text(8, y0 + 11, MODES[mode].split()[0], "title"))
            if j == len(modes) - 1:
                for s, size in enumerate(sizes):
                    if s % 3 == 0:
                        at = left + i * width_of + s * cell
                        body.append(plots.text(at, y0 + len(rows) * cell + 12, short_bytes(size), "note"))
    width, height = left + len(places) * width_of, top + len(modes) * height_of + 4
    note = f"{hardware(record)}; {stamp(record)}. Columns: bytes per message. Rows: number of messages."
    return plots.document(max(width, 560), height, "The planner's choices", note, body)


def title(point: dict) -> str:
    times = ", ".join(
        f"{name} {'not measured' if seconds is None else f'{1e6 * seconds:.4g} us'}"
        for name, seconds in point["measured_s"].items()
    )
    ratio = "" if point["ratio"] is None else f", {point['ratio']:.2f} times the best"
    number = f"{point['messages']} x " if point["batch"] else ""
    return f"{number}{short_bytes(point['bytes'])}: {point['choice']}{ratio}; {times}"


def plot_name(record: dict) -> str:
    return f"planner-{slug(machine(record))}.svg"


def figures(records: list[dict]) -> str:
    """Return the part of docs/planner.md that describes the records."""
    if not records:
        return "There is no record yet. `tools/planner_grid.py` measures this machine."
    out = []
    for record in records:
        calibration = record["calibration"]
        out.append(f"### {hardware(record)}")
        out.append(
            f"{len(record['points'])} points were measured after a calibration of {calibration['seconds']:.0f} s with "
            f"{calibration['measurements']} measurements. The median difference between the model's predictions and "
            f"these measurements is {100 * calibration['median_error']:.1f} %. At "
            f"**{share(record, record['points'])}** of the points, the choice takes at most {record['good_ratio']:g} "
            f"times as long as the best backend. At the worst point, it takes {record['worst_ratio']:.2f} times as "
            "long."
        )
        lines = ["| | " + " | ".join(MODES.values()) + " | all |", "|---|" + "---:|" * (len(MODES) + 1)]
        for place, name in PLACES.items():
            here = [p for p in record["points"] if p["from"] == place]
            if not here:
                continue
            cells = []
            for mode in MODES:
                points = [p for p in here if p["mode"] == mode]
                cells.append(share(record, points) if points else "")
            lines.append(f"| {name} | " + " | ".join(cells) + f" | {share(record, here)} |")
        out.append("\n".join(lines))
        out.append(f"![choices]({plot_name(record)})")
        worst = sorted((p for p in record["points"] if not is_good(record, p)), key=lambda p: -(p["ratio"] or 1e9))[:5]
        if worst:
            out.append("The worst points are:")
            out.append("\n".join(f"- {p['mode']}, {p['from']}, {title(p)}" for p in worst))
        out.append(f"*{hardware(record)}; {stamp(record)}.*")
    return "\n\n".join(out)


def render(records: list[dict], page: str) -> dict[str, str]:
    """Return the path and content of every generated file."""
    files = {"docs/planner.md": with_figures(page, figures(records))}
    return files | {f"docs/{plot_name(record)}": draw(record) for record in records}
