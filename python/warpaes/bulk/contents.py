"""The names in a dataset's manifest."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from .._printable import printable
from .job import Run
from .listing import Refused
from .rows import Row


class Contents(Run):
    """Lists the plaintext names of the objects in a manifest, without accessing the objects."""

    def _take_part(self, held: contextlib.ExitStack) -> None:
        """Acquire no lock, because nothing is written."""

    def do(self) -> None:
        """Read the manifest."""
        manifest = self._manifest = self._load(self.target)
        if manifest is None:
            raise Refused(f"{self.target.url} has no manifest; restore it, or create it with `warpaes bulk adopt`")
        self._check_names(manifest)
        manifest.read_only = True
        self._use_names(manifest.names, "target")

    def _wanted(self) -> Iterator[Row]:
        rows = (row for _, rows in self.manifest.each() for row in rows)
        suffix = self.manifest.job.options.get("suffix") or ""
        patterns = self.listing.patterns
        return (row for row in rows if not patterns or patterns.take(row.key, row.key.removesuffix(suffix)))

    def _report(self) -> dict[str, Any]:
        names = [
            {"name": row.key, "stored": self.target.stored(row.key), "bytes": row.size, "state": row.state}
            for row in self._wanted()
            if row.is_adopted or not (row.error or row.is_sealed)
        ]
        return {
            "command": "list",
            "target": self.target.url,
            "dataset": self.manifest.dataset,
            "save": self.manifest.save_number,
            "encrypted_names": self.manifest.names is not None,
            "names": names,
            "errors": 0,
        }


def lines(report: dict[str, Any]) -> Iterator[str]:
    """Yield the plaintext names."""
    for each in report["names"]:
        yield printable(each["name"])
