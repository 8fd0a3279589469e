"""Changes of a dataset's key: re-encryption of the objects (rekey) or of their data keys (rewrap)."""

from __future__ import annotations

import contextlib
import itertools
import json
import secrets
from typing import Any

from . import keys, plan
from .config import BOUND, TEMPLATE
from .dispatch import REKEY, REWRAP
from .job import Run
from .listing import Refused
from .manifest import NAME, Manifest
from .progress import SHOWN
from .rows import Row
from .storage import FOLDER, KEY_SUFFIX, MissingError, PermanentError


class OfTarget(Run):
    """A command that changes a dataset in place."""

    #: Whether an earlier run began this command, so that only the remaining rows must be processed.
    _continues = True

    def _of_target(self) -> Manifest:
        """Return the target's manifest. Refuse a target without a manifest."""
        there = self._loaded(lambda: self._load(self.target))
        if there is None:
            raise Refused(
                f"{self.target.url} has no manifest; restore {NAME}, or create it from the existing "
                f"objects with `warpaes bulk adopt`"
            )
        if there.job.is_decrypted:
            raise Refused(f"{self.target.url} was written by decrypt, so there is nothing to re-encrypt")
        there.is_dry = self.options.dry_run
        self._use_names(there.names, "target")
        return there

    def _try_old_keys(self, there: Manifest, specs: list[keys.KeySpec]) -> None:
        """Refuse keys that do not open any of the dataset's wrapped keys, before anything is changed."""
        records = [record for record in there.job.keys.values() if not record.get("replaced")]
        if not records and there.job.options.get("envelope"):
            rows = (row for _, each in there.each() for row in each if row.is_sealed and row.wrapped)
            records = [json.loads(row.wrapped)[0] for row in itertools.islice(rows, 1)]
        sources = [spec.open() for spec in specs]
        for record in records:
            keys.unwrap(sources, record)

    def _planned(self) -> dict[str, Any]:
        """Return the report of --dry-run."""
        signer = self.manifest.signer
        assert signer is not None
        holders = str(signer.holder), str(self.holders[0])
        return plan.of_target(self.manifest, self.options, holders, self._continues, self._notes())


class Rekey(OfTarget):
    """Re-encrypts the objects of a dataset with a new key."""

    def do(self) -> None:
        """Re-encrypt every object, and search for objects that have no row."""
        options = self.options
        there = self._manifest = self._of_target()
        job = there.job
        assert there.signer is not None
        # Only a holder of the new key can have saved this manifest, so holders of only the old key did not choose which
        # rows are finished.
        begun = there.signer.holder is self.holders[0] and job.command == "rekey"
        if begun and (there.total("todo") or self._has_ended(there)):
            if job.options.get("envelope", "") != options.envelope:
                raise Refused(f"this rekey was started with --envelope {job.options.get('envelope')!r}")
            if not self._joins and not options.dry_run:
                if options.drop_missing:
                    self._drop_missing()
                self._again()
        else:
            if job.command != "rekey":  # holders of the old key may have a names key that is wrapped under it
                self._ended(there)
            self._check_rekey(there)
            self._continues = False
            if not options.dry_run:
                self._begin_rekey(there)
        self.config.template = job.options.get("template") or TEMPLATE
        if options.dry_run:
            if not self._continues:
                self.config.template = options.template or self.config.template
            self._check_choice(self.new_specs or self.specs)
            return
        self._choose_key(self.new_specs or self.specs)
        self._write_with(self.new_specs or self.specs)
        self._work(REKEY)
        self._find_unlisted()
        if there.names is not None:
            self.notes.append(
                "the names key stays the same; to change it, decrypt the dataset and encrypt it to a different target"
            )
        if self._joins:
            return
        if job.finished:
            job.options.pop("old_binding", None)
        if job.finished and options.drop_old_keys and not self.progress.errors:
            self._drop_keys()
        self._save()

    def _has_ended(self, there: Manifest) -> bool:
        """Return whether KEY, the old key, does not open any key in use, so that only the search for unlisted objects
        must be repeated."""
        if not self.options.envelope:
            return True  # all objects are under the new key, which differs from KEY
        try:
            self._try_old_keys(there, self.specs)
        except PermanentError:
            return True
        return False

    def _drop_missing(self) -> None:
        """Remove the failed rows of missing objects from the manifest, so that a rekey can finish without them."""

        def is_missing(row: Row) -> bool:
            if row.todo and row.error:
                try:
                    self.target.stat(row.key)
                except MissingError:
                    return True
            return False

        missing = self.manifest.drop(is_missing)
        self.notes += [f"{row.key} is missing and was removed from the manifest" for row in missing[:SHOWN]]
        if len(missing) > SHOWN:
            self.notes.append(f"and {len(missing) - SHOWN} more")

    def _check_rekey(self, there: Manifest) -> None:
        """Refuse a rekey that would not change the dataset's key, or that cannot open the dataset."""
        options, job, holder = self.options, there.job, self.holders[0]
        assert there.signer is not None
        old_template = job.options.get("template")
        if options.template and keys.is_parquet(options.template) != keys.is_parquet(old_template):
            raise Refused(
                f"--template {options.template}: the objects have the template {old_template}, and rekey "
                f"does not change the format; decrypt the objects, and encrypt the result"
            )
        if not options.envelope and not job.options.get("envelope"):
            if there.signer.holder is holder:
                raise Refused(
                    f"all objects in {self.target.url} are already under {holder}; use --new-key, or rotate KEY"
                )
            if holder.key_id in job.used:
                raise Refused(
                    f"{holder}: objects in {self.target.url} were previously under this key, so old copies of them "
                    f"would be accepted; use a new key"
                )
        self._try_old_keys(there, self.specs)

    def _begin_rekey(self, there: Manifest) -> None:
        options, job, holder = self.options, there.job, self.holders[0]
        assert there.signer is not None
        job.id, job.command, job.finished = secrets.token_hex(16), "rekey", False
        # After a rekey has processed its last row, all objects are bound, even if the end of the rekey was not saved.
        old = job.options.get("binding", BOUND)
        if there.total("todo"):
            old = job.options.get("old_binding", old)
        job.options = {
            **job.options,
            "envelope": options.envelope,
            "template": options.template or job.options.get("template") or TEMPLATE,
            "binding": BOUND,
            "old_binding": old,
        }
        job.keys = {key_id: keys.replaced(record) for key_id, record in job.keys.items()}
        self._mark("rekey", lambda row: row.is_sealed)
        job.wraps = job.wraps if there.signer.holder is holder else 0
        there.resign(holder)

    def _find_unlisted(self) -> None:
        """Find objects in the target that have no row and are still under the old key."""
        manifest = self.manifest
        suffix = manifest.job.options.get("suffix") or ""
        in_place = bool(suffix) and manifest.job.source == self.target.url
        for entry in self.target.list():
            key = entry.key
            if key.startswith(FOLDER) or (in_place and not key.endswith((suffix, suffix + KEY_SUFFIX))):
                continue
            own = key.removesuffix(KEY_SUFFIX)
            rows = [manifest.find(name.removesuffix(suffix)) for name in dict.fromkeys((key, own))]
            if not any(row is not None and row.is_sealed and row.key in (key, own) for row in rows):
                self.unlisted.append(key)
        self.unlisted += self.target.strangers
        self.progress.errors += len(self.unlisted)

    def _drop_keys(self) -> None:
        """Remove from the manifest the wrapped data keys that this rekey replaced."""
        job = self.manifest.job
        old = [key_id for key_id, record in job.keys.items() if record.get("job") != job.id]
        for key_id in old:
            del job.keys[key_id]
        self._save()
        for key_id in old:
            with contextlib.suppress(MissingError):
                self.target.remove(self.target.stat(keys.record_name(key_id)))


class Rewrap(OfTarget):
    """Wraps the data keys of a dataset with a new key."""

    def do(self) -> None:
        """Rewrap every data key."""
        there = self._manifest = self._of_target()
        job = there.job
        if not job.options.get("envelope"):
            raise Refused(
                f"a keyset encrypts {self.target.url} directly, so there are no wrapped keys; use rekey to change its "
                "key"
            )
        if not self.new_specs:
            raise Refused("--new-key is missing; pass the key that will wrap the data keys")
        assert there.signer is not None
        todo = bool(there.total("todo"))
        self._continues = todo and there.signer.holder is self.holders[0] and job.command == "rewrap"
        if not self._continues:
            self._ended(there)
        if self.options.dry_run:
            if not self._continues:
                self._try_old_keys(there, [*self.specs, *self.new_specs])
            return
        if not self._continues:
            old = [spec.open() for spec in [*self.specs, *self.new_specs]]
            records, left = keys.rewrap_all(list(job.keys.values()), old, self.holders[0].source)
            job.keys = {record["key_id"]: record for record in records}
            if left:
                self.notes.append(
                    f"{len(left)} wrapped keys, which a rekey has replaced, remain wrapped with their old key"
                )
            job.command, job.finished = "rewrap", False
            self._mark("rewrap", lambda row: row.is_sealed and bool(row.wrapped))
            job.wraps = job.wraps if there.signer.holder is self.holders[0] else 0
            there.resign(self.holders[0])
        else:
            self._again()
        self._write_with(self.new_specs)
        self._work(REWRAP)
