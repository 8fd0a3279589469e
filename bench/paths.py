"""Finds the dips in curves of bench/path_sweep, and writes the section on many short messages in
docs/performance.md."""

from __future__ import annotations

from collections.abc import Sequence

import plots
from records import RESULTS, read
from text import human_bytes, machine, number, operation, slug, stamp, table

FOLDER = RESULTS / "paths"
# A size whose rate is below this fraction of a smaller size's rate is a dip.
DIP = 0.9
KEY = ("place", "way", "mode", "direction", "key_bits", "keys", "forged")


def curves_of(rows: list[dict]) -> dict[tuple, list[tuple[int, float]]]:
    """Return the points (bytes per message, GB/s) of each curve. The fields KEY of a row identify its curve."""
    curves: dict[tuple, list[tuple[int, float]]] = {}
    for row in rows:
        if "error" not in row:
            curves.setdefault(tuple(row[key] for key in KEY), []).append((row["bytes"], row["gb_per_s"]))
    return {key: sorted(points) for key, points in curves.items()}


def dips_of(points: list[tuple[int, float]]) -> list[int]:
    """Return the sizes that are more than a tenth slower than a smaller size."""
    best, found = 0.0, []
    for size, rate in points:
        if rate < DIP * best:
            found.append(size)
        best = max(best, rate)
    return found


def keys_of(keys: str) -> str:
    if keys == "each":
        return "separate keys"
    return "one key" if keys == "1" else f"{keys.rstrip('m')} keys" + (" in turn" if keys.endswith("m") else "")


def name_of(key: tuple) -> str:
    place, way, mode, direction, key_bits, keys, forged = key
    what = f"{operation(mode, direction)}, AES-{key_bits}, {keys_of(keys)}, {place}, {way}"
    return f"{what}, forged" if forged else what


def newest() -> list[dict]:
    """Return the newest record of each machine."""
    return list({machine(record): record for record in read(FOLDER)}.values()) if FOLDER.exists() else []


def paths_section(records: Sequence[dict]) -> list[str]:
    """Return two tables for each machine, with one curve per line and its dips in bold type."""
    out: list[str] = []
    for record in records:
        curves = curves_of(record["paths"])
        if not out:
            out = [
                "## Many short messages",
                "The tables show the speed of every path through the library in GB/s, measured by `make bench` and "
                "`tools/path_sweep.py`. Calls run one at a time, and are timed from the call to the end of the wait. "
                "Batches have 256 MiB in device memory or 64 MiB in pageable memory. GCM has 28 bytes of associated "
                "data per message. All bytes, tags and statuses were compared with libcrypto's. **Bold** figures are "
                "more than a tenth below the figure for a smaller size.",
            ]
        out.append(f"### {machine(record)}, {stamp(record)}")
        for several in (True, False):
            chosen = {key: points for key, points in curves.items() if (key[1] not in ("single", "async")) == several}
            sizes = sorted({size for points in chosen.values() for size, _ in points})
            lines = []
            for key, points in chosen.items():
                rates, dips = dict(points), set(dips_of(points))
                cells = [number(rates.get(size)) for size in sizes]
                lines.append(
                    [name_of(key), *(f"**{cell}**" if size in dips else cell for size, cell in zip(sizes, cells))]
                )
            if lines:
                first = "batches of messages of" if several else "single messages of"
                out.append(table([first, *(human_bytes(size) for size in sizes)], lines))
        if drawn := draw(record):
            out += [f"![Many short messages]({name})" for name in drawn]
    return out


def draw(record: dict) -> dict[str, str]:
    """Plot CTR and GCM encryption by message size, under one key and under 64 keys."""
    place = "device" if record["gpu"] else "pageable"
    curves = curves_of(record["paths"])
    series = []
    for mode in ("ctr", "gcm"):
        for keys in ("1", "64"):
            points = curves.get((place, "submit", mode, "encrypt", 128, keys, False))
            if points:
                series.append((f"{mode.upper()}, {keys_of(keys)}", points))
    if not series:
        return {}
    title = f"Many short messages, AES-128, {place} memory, GB/s by size"
    name = f"{slug(machine(record))}-messages.svg"
    return {name: plots.lines(title, f"{machine(record)}, {stamp(record)}", series, human_bytes)}
