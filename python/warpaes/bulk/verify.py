"""Verification of a dataset's objects, and a summary of its manifest."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace
from typing import Any

from . import keys, manifest_1
from .dispatch import VERIFY
from .job import Run
from .listing import Refused
from .lock import read_lock
from .manifest import NAME_1, Manifest, ManifestError
from .progress import SHOWN
from .rows import Row
from .storage import FOLDER, GETS, LOCK, MissingError, Storage
from .stores import open_storage


class Verify(Run):
    """Authenticates a dataset's objects, and compares them with the manifest."""

    def _take_part(self, held: contextlib.ExitStack) -> None:
        """Acquire no lock, because nothing is written."""

    def do(self) -> None:
        """Read every object or, with --name, only the named objects."""
        manifest = self._sealed(self.target, "target")
        if manifest is None:
            self._manifest = Manifest.in_memory(self.target, self.listing.rows())
        elif self.options.name:
            self._manifest = Manifest.in_memory(
                self.target, [self._find(manifest, name) for name in sorted(set(self.options.name))]
            )
        elif self.listing.patterns:
            rows = (replace(row, source=row.key) for _, each in manifest.each() for row in each)
            suffix = manifest.job.options.get("suffix") or ""
            self._manifest = Manifest.in_memory(self.target, self.listing.wanted(rows, suffix))
        else:
            self._manifest = manifest
            manifest.read_only = True
        self._read_with(manifest)
        progress = self.progress
        progress.objects, progress.bytes = self.manifest.total("rows"), self.manifest.total("bytes")
        progress.errors = progress.objects - sum(VERIFY.has(shard) for shard in self.manifest.shards)
        for row in self.manifest.failed(SHOWN):
            if not row.is_sealed:
                progress.note_error(row.key, row.error)
        self._dispatch(VERIFY)

    def _find(self, manifest: Manifest, name: str) -> Row:
        row = manifest.find(name.removesuffix(manifest.job.options.get("suffix") or ""))
        if row is None or row.key != name:
            raise Refused(f"--name: the manifest in {self.target.url} does not contain {name!r}")
        return row


def status(url: str, options: dict[str, Any], places: list[str]) -> dict[str, Any]:
    """Return a summary of a target's manifest and its lock. With keys, the manifest is authenticated."""
    storage: Storage = open_storage(url, options)
    holders = [holder for place in places for holder in keys.KeySpec.read(place).holders()]
    for again in range(GETS):
        try:
            return _status(storage, url, holders)
        except ManifestError:
            # A running job may have replaced a shard since the root was read. Without a lock, no job is running.
            if again + 1 == GETS or not Manifest.exists(storage) or (again != 0 and not _is_locked(storage)):
                raise
            time.sleep(0.1 if again else 0)
    raise AssertionError


def _is_locked(storage: Storage) -> bool:
    try:
        storage.get(FOLDER + LOCK)
    except MissingError:
        return False
    return True


def _status(storage: Storage, url: str, holders: list[keys.Holder]) -> dict[str, Any]:
    manifest = Manifest.load(storage, holders or None)
    if manifest is None:
        if manifest_1.exists(storage):
            raise Refused(f"{url}/{NAME_1} is a warpaes 1.0 manifest; `warpaes bulk adopt` converts it")
        raise Refused(f"{url} has no manifest, so it is not a warpaes bulk dataset")
    manifest.read_only = True
    try:
        lock = read_lock(storage.get(FOLDER + LOCK)[0])
    except MissingError:
        lock = None
    job, signer = manifest.job, manifest.signer
    states: dict[str, int] = {}
    for shard in manifest.shards:
        for state, count in shard.states.items():
            states[state] = states.get(state, 0) + count
    return {
        "command": job.command,
        "source": job.source,
        "target": job.target,
        "authentic": signer is not None,
        "encrypted_names": manifest.names is not None,
        "dataset": manifest.dataset,
        "save": manifest.save_number,
        "manifest_key": signer.fingerprint if signer is not None else None,
        "under": str(signer.holder) if signer is not None else None,
        "finished": job.finished,
        "objects": manifest.total("rows"),
        "todo": manifest.total("todo"),
        "states": states,
        "bytes": manifest.total("bytes"),
        "key_ids": [job.key_id] if job.key_id and not job.options.get("envelope") else [],
        "lock": lock,
        "errors": manifest.total("errors"),
        "first_errors": [{"key": row.source or row.key, "error": row.error} for row in manifest.failed(SHOWN)],
    }
