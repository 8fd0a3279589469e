"""Keeps earlier draws of mutants in one table, with a line for each mutant. The newest record stays in a separate
file."""

from __future__ import annotations

import csv
import json
from pathlib import Path

COLUMNS = ("date", "commit", "room", "file", "line", "before", "outcome")
OUTCOMES = ("killed", "since", "may live", "survived")
NAME = "mutants.tsv"


def outcome_of(mutant: dict) -> str:
    """Return the outcome of a mutant in a record. docs/robustness.md explains the outcomes."""
    if mutant["killed_by"]:
        return "since" if mutant.get("since") else "killed"
    return "may live" if mutant["because"] else "survived"


def rows_of(record: dict) -> list[dict]:
    head = {"date": record["date"], "commit": record["commit"][:12]}
    return [
        head | {name: mutant[name] for name in ("room", "file", "line", "before")} | {"outcome": outcome_of(mutant)}
        for mutant in record["mutants"]
    ]


def read(folder: Path) -> list[dict]:
    """Return the rows of earlier draws, oldest first."""
    path = folder / NAME
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file, dialect="excel-tab"))


def drawn(folder: Path) -> set[tuple[str, str]]:
    """Return the file and the line's text for each mutant of all draws, including the draws in records."""
    rows = read(folder)
    for path in folder.glob("mutants-*.json"):
        rows += rows_of(json.loads(path.read_text()))
    return {(row["file"], row["before"]) for row in rows}


def sum_up(folder: Path) -> None:
    """Move all records except the newest to the table."""
    older = sorted(folder.glob("mutants-*.json"))[:-1]
    rows = [row for path in older for row in rows_of(json.loads(path.read_text()))]
    if not rows:
        return
    rows = read(folder) + rows
    part = folder / (NAME + ".part")
    with part.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, dialect="excel-tab", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    part.replace(folder / NAME)
    for path in older:
        path.unlink()
