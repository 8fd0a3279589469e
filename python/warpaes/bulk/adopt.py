"""Adoption of datasets without an authentic manifest: each object is authenticated, and a manifest is created."""

from __future__ import annotations

import secrets

from .._native import Keyset
from . import keys, manifest_1
from .config import BARE, BESIDE, BOUND, TEMPLATE, UNBOUND
from .dispatch import ADOPT
from .job import Run
from .listing import Refused
from .manifest import NAME, NAME_1, Job, Manifest, Signer
from .rows import PENDING, Row
from .storage import KEY_SUFFIX


class Adopt(Run):
    """Adopts a warpaes 1.0 dataset, or a dataset that has lost its manifest."""

    def do(self) -> None:
        """Authenticate every object, and save a manifest of the authentic objects."""
        options = self.options
        there = self._load(self.target)
        if there is not None and (there.job.command != "adopt" or there.job.finished):
            raise Refused(f"{self.target.url}/{NAME} is already authentic, so there is nothing to adopt")
        old = manifest_1.load(self.target)
        if old is not None and old.command == "decrypt":
            raise Refused(f"{self.target.url} was written by decrypt, so there is nothing to adopt; remove {NAME_1}")
        bound = options.bind_names
        if bound is None and old is not None:
            bound = bool(old.options.get("bind_names"))
        binding = UNBOUND if bound is False else BOUND if options.dataset else BARE
        names = self._names_without_manifest(self.target) if there is None else there.names
        if there is not None:
            self._check_names(there)
        self._use_names(names, "target")
        if there is None:
            rows = self._rows_of_1(old) if old is not None else list(self.listing.rows())
            envelope = str((old.options if old is not None else {}).get("envelope") or "")
            if not envelope:
                envelope = "object" if any(row.wrapped for row in rows) else "job" if self.listing.records else ""
            template, suffix = (str((old.options if old else {}).get(name) or "") for name in ("template", "suffix"))
            kept = {
                "envelope": envelope,
                "template": template or options.template or self._template(rows),
                "suffix": suffix,
                "binding": binding,
            }
            job = Job(secrets.token_hex(16), "adopt", old.source if old else "", self.target.url, kept)
            job.keys = dict(old.keys if old is not None else self.listing.records)
            dataset, holder = options.dataset or secrets.token_hex(16), self.holders[0]
            if names is not None:
                names = names.wrapped(job.id, holder.source, dataset)
            self._manifest = Manifest(self.target, job, Signer.create(dataset, holder), dataset, names)
            sources = [spec.open() for spec in self.specs]
            place = keys.Place(dataset, "", job.id)
            for key_id, record in job.keys.items():
                job.keys[key_id] = keys.rewrap(record, sources, self.holders[0].source, place)
            self.manifest.fill(sorted(rows, key=lambda row: job.plain_name(row).encode()))
            if not envelope:
                job.used = [str(key_id) for key_id in keys.key_ids(keys.merged(self.specs) or Keyset())]
        else:
            self._manifest = there
            self._again()
        if not self.manifest.job.options.get("envelope") and self.specs[0].keyset is None:
            raise Refused(
                f"{self.specs[0].name} only wraps keys, but the objects have no wrapped keys; pass the keyset that "
                "encrypted them"
            )
        self._write_with(self.specs)
        if binding == UNBOUND:
            self.notes.append("the objects are not bound to their names; rekey binds them")
        self._work(ADOPT)
        if self.manifest.job.finished:
            if old is not None:
                self.target.remove(self.target.stat(NAME_1))
            if any(shard.states.get(PENDING) for shard in self.manifest.shards):
                self.manifest.job.command, self.manifest.job.finished = "encrypt", False
                self._save()

    def _template(self, rows: list[Row]) -> str:
        """Return the template of the first object that has its own data key. All objects have the same format."""
        for row in rows:
            if row.wrapped == BESIDE:
                name = row.key + KEY_SUFFIX
                return str(keys.parse_records(self.target.get(name, keys.MAX_RECORDS)[0], name)[0]["template"])
        return TEMPLATE

    def _rows_of_1(self, old: manifest_1.Manifest1) -> list[Row]:
        """Return the rows of an old manifest. Written objects will be checked; all others will be encrypted."""
        rows = []
        for row in old.rows:
            if row.is_sealed:
                row.todo = "adopt"
            else:
                row = Row(row.key, row.source, row.size, row.version)
            rows.append(row)
        return rows
