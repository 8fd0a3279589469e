"""Generates the figures of README.md's first screen: a plot and three numbers, each from the newest record of its
kind."""

from __future__ import annotations

import comparison
import lab_pages
import serving_page
from text import human_bytes, number

#: The series of W.contenders for warpaes's kernel and for a copy. All other series are other kernels.
OURS, COPY = "production", "copy within the device"
IN_CLEAR = ", in clear"


def speed(value: float) -> str:
    return f"{number(value)} GB/s"


def file_row(record: dict | None) -> list[str] | None:
    """Return the speed of encrypting one file, compared with the two most common tools."""
    ours = comparison.speed_of(record, "warpaes") if record else None
    others = [
        f"{number(value)} for `{name}`"
        for tool, name in (("openssl", "openssl enc"), ("age", "age"))
        if record and (value := comparison.speed_of(record, tool))
    ]
    if not ours or not others:
        return None
    host = record["host"]
    what = f"encrypting a {human_bytes(record['bytes'])} file on tmpfs with {host['cores']} {host['cpu']} cores"
    theirs = " and ".join(others) + " (one core each)"
    return [f"**{speed(ours)}**", what, theirs, "docs/comparison.md#how-fast"]


def device_row(record: dict | None) -> list[str] | None:
    """Return the speed of CTR in device memory, compared with the fastest other kernel of the lab."""
    panel = lab_pages.panel_of(record, "W.contenders", "Contenders, CTR") if record else None
    best = {
        series["name"]: max(value for value in series["values"] if value is not None)
        for series in (panel["series"] if panel else [])
    }
    others = {name: value for name, value in best.items() if name not in (OURS, COPY)}
    if OURS not in best or not others:
        return None
    what = f"for AES-128-CTR on data already in the memory of an {lab_pages.name_of(record)}"
    name = max(others, key=others.__getitem__)
    theirs = f"{number(others[name])} for the lab's fastest other kernel ({name})"
    return [f"**{speed(best[OURS])}**", what, theirs, "docs/lab.md"]


def loading_row(record: dict | None) -> list[str] | None:
    """Return the speed of loading encrypted weights into a GPU, by default and with the fastest option, compared with
    the fastest loader of the same weights unencrypted."""
    rows = [row for row in serving_page.rows_of(record or {"rows": []}, "model") if "gb_per_s" in row]
    ours = [row for row in rows if row["what"].startswith("warpaes.")]
    clear = [row for row in rows if row["what"].endswith(IN_CLEAR)]
    if not ours or not clear:
        return None
    best, other = (max(some, key=lambda row: row["gb_per_s"]) for some in (ours, clear))
    mine, name = ours[0], other["what"].split(",")[0]
    what = f"loading {mine['bytes'] / 1e9:.1f} GB of encrypted weights from tmpfs into an {record['gpu']['name']}"
    if best is not mine:
        what += f" ({number(best['gb_per_s'])} with `{best['what'].split(', ')[1]}`)"
    theirs = f"{number(other['gb_per_s'])} for `{name}` with unencrypted weights"
    return [f"**{speed(mine['gb_per_s'])}**", what, theirs, "docs/serving.md#how-fast"]


def block(lab_record: dict | None, plot: str) -> str:
    """Return the figures. `plot` is the path of the bar chart, or "" if there is no record."""
    rows = [file_row(comparison.newest()), device_row(lab_record), loading_row(serving_page.newest())]
    rows = [row for row in rows if row]
    if not rows:
        return "There is no record yet. `make bench` measures this machine."
    parts = [
        "\n".join(
            f"- {figure} {what}, compared with {others} ([record]({where}))" for figure, what, others, where in rows
        )
    ]
    if plot:
        parts.append(f"![Encryption speed of warpaes, openssl, age, libsodium and Tink on one file]({plot})")
    return "\n\n".join(parts)
