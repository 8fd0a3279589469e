"""The report of --dry-run, which describes a job's effect."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .._printable import printable
from .listing import Options
from .manifest import Manifest
from .progress import SHOWN, human
from .rows import PENDING
from .storage import KEY_SUFFIX, PermanentError, Storage

#: Maximum number of objects that the report names.
NAMED = 1000


def report(manifest: Manifest, options: Options, source: Storage, target: Storage, notes: list[str]) -> dict[str, Any]:
    """Return a report on the pending rows. Names that are invalid in the target are also reported as errors."""
    objects = size = errors = done = unknown = 0
    named: list[dict[str, Any]] = []
    first: list[dict[str, str]] = []
    for _, rows in manifest.each():
        for row in rows:
            error = row.error
            if row.state == PENDING and not error:
                try:
                    target.check_key(row.key)
                    if options.envelope == "object":
                        target.check_key(row.key + KEY_SUFFIX)
                except PermanentError as refused:
                    error = str(refused)
            if error:
                errors += 1
                if len(first) < SHOWN:
                    first.append({"key": row.source or row.key, "error": error})
            elif row.state == PENDING:
                objects, size, unknown = objects + 1, size + max(row.size, 0), unknown + (row.size < 0)
                if len(named) < NAMED:
                    known = row.size if row.size >= 0 else None
                    named.append({"source": row.source or source.name, "target": row.key, "bytes": known})
            else:
                done += 1
    if unknown:
        notes.append(f"{unknown} objects have no size in the list, so the number of bytes does not include them")
    if options.remove_source:
        notes.append("--remove-source would remove the originals at the end")
    return {
        "command": options.command,
        "dry_run": True,
        "source": source.url,
        "target": target.url,
        "objects": objects,
        "bytes": size,
        "done": done,
        "errors": errors,
        "first_errors": first,
        "first_objects": named,
        "notes": notes,
    }


def of_target(
    manifest: Manifest, options: Options, holders: tuple[str, str], continues: bool, notes: list[str]
) -> dict[str, Any]:
    """Return the plan for a rekey or a rewrap.

    `holders` contains the dataset's current key and its next key. `continues`: whether an earlier run has begun the
    job.
    """
    command = options.command
    objects = size = done = wrapped = 0
    for _, rows in manifest.each():
        for row in rows:
            if not row.is_sealed or (command == "rewrap" and not row.wrapped):
                continue
            if continues and row.todo != command:
                done += 1
                continue
            objects, size = objects + 1, size + max(row.size, 0)
            wrapped += len(json.loads(row.wrapped)) if command == "rewrap" else options.envelope == "object"
    if command == "rewrap":
        wrapped += 0 if continues else len(manifest.job.keys)
    elif objects and options.envelope == "job":
        wrapped = 1
    return {
        "command": command,
        "dry_run": True,
        "source": manifest.storage.url,
        "target": manifest.storage.url,
        "objects": objects,
        "bytes": size if command == "rekey" else 0,
        "done": done,
        "errors": 0,
        "first_errors": [],
        "first_objects": [],
        "from_key": holders[0],
        "to_key": holders[1],
        "wrapped_keys": wrapped,
        "notes": notes,
    }


def lines(planned: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the readable report."""
    for each in planned["first_objects"]:
        size = "unknown size" if each["bytes"] is None else human(each["bytes"])
        yield f"  {printable(each['source'])} -> {printable(each['target'])} ({size})"
    if "to_key" in planned:
        yield (
            f"  from {printable(planned['from_key'])} to {printable(planned['to_key'])}, "
            f"{planned['wrapped_keys']} data keys to wrap"
        )
    elif planned["objects"] > len(planned["first_objects"]):
        yield f"  and {planned['objects'] - len(planned['first_objects'])} more"
    yield (
        f"{planned['command']} --dry-run: {planned['objects']} objects to process, {human(planned['bytes'])}; "
        f"{planned['done']} already done, {planned['errors']} errors; nothing was written"
    )
