"""A job from beginning to end: what there is to do, by the manifest; the work; the report."""

from __future__ import annotations

import contextlib
import json
import secrets
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .._native import Keyset
from . import keys
from .dispatch import Dispatcher, StoppedError, pending
from .listing import Listing, Options, Refused
from .lock import Lock, read_lock
from .manifest import DONE, ERROR, NAME, PENDING, REMOVED, Job, Manifest, Row
from .pool import RayPool, make_pool
from .progress import Progress
from .storage import FOLDER, LOCK, ExistsError, MissingError, PermanentError, Storage, is_within, open_storage
from .worker import Config, use_backend

#: Errors that a report names; all of them are in the manifest.
SHOWN = 20
SETTLE = 3.0


def _finished(manifest: Manifest, url: str) -> None:
    job = manifest.job
    if not job.finished and job.command != "rewrap":
        raise Refused(f"{url}: its {job.command} has not ended: run that again first")


class Run:
    """One run of a job, which may be the first or go on with another."""

    def __init__(self, options: Options) -> None:
        """Open storages and keys."""
        self.options = options
        use_backend(options.backend)
        self.source = open_storage(options.source, options.source_options)
        self.target = open_storage(options.target, options.target_options)
        if not self.target.can_write:
            raise Refused(
                f"{options.target}: targets are local file systems, s3:// and the object stores of fsspec, in which an "
                "object appears as a whole"
            )
        if options.command == "rekey" and not self.target.can_replace:
            raise Refused(
                f"{options.target}: rekey replaces objects, which fsspec does without a condition: decrypt it to "
                "another place, and encrypt that"
            )
        if (options.workers > 1 or options.address is not None) and not (
            self.source.is_shared and self.target.is_shared
        ):
            raise Refused("memory:// lies in this process: leave out --workers and --address")
        if options.command in ("encrypt", "decrypt"):
            self._apart()
        self.listing = Listing(options, self.source, self.target)
        self.specs = [keys.KeySpec.read(place) for place in options.key]
        self.new_specs = [keys.KeySpec.read(place) for place in options.new_key]
        if not self.specs:
            raise Refused("-k is missing: a keyset")
        keys.merged(self.specs)  # what is wrong with them is said before workers are started
        keys.merged(self.new_specs)
        self.config = Config(
            command=options.command, source=options.source, target=options.target,
            source_options=options.source_options, target_options=options.target_options,
            key=self.specs, new_key=self.new_specs, template=options.template,
            bind_names=options.bind_names, overwrite=options.overwrite,
            verify=options.verify, drop_old_keys=options.drop_old_keys,
            threads=options.threads, requests=options.requests, memory=options.memory, backend=options.backend,
        )  # fmt: skip
        self.progress = Progress(options.command, self.target.url, options.progress, options.metrics)
        self.swept = 0
        self.begun = self._watched = False
        self.notes: list[str] = []
        self._manifest: Manifest | None = None
        self._saved, self._saving = time.monotonic(), 0.0
        self._check: Callable[[], None] = lambda: None

    @property
    def manifest(self) -> Manifest:
        """Return the manifest, once there is one."""
        assert self._manifest is not None
        return self._manifest

    def run(self) -> dict[str, Any]:
        """Do it; return the report."""
        try:
            if self.options.command == "verify":
                self._verify()
                return self._report()
            with Lock(
                self.target, self.options.command, min(10.0, self.options.lock_expiry / 4), self.options.lock_expiry
            ) as lock:
                self._check = lock.check
                getattr(self, "_" + self.options.command)()
                return self._report()
        finally:
            self.progress.close()

    # -------------------------------------------------------------------------------------------- encrypt, decrypt

    def _encrypt(self) -> None:
        self._transfer()

    def _decrypt(self) -> None:
        self._transfer()

    def _transfer(self) -> None:
        options = self.options
        names = ("envelope", "template", "bind_names", "suffix") if options.command == "encrypt" else ("suffix",)
        kept = {name: getattr(options, name) for name in names}
        there = Manifest.load(self.target)
        sealed = self._sealed() if options.command == "decrypt" else None
        if there is None:
            if options.command == "encrypt" and self.source.place() != self.target.place():
                already = Manifest.load(self.source)
                if already is not None and already.job.command != "decrypt":
                    raise Refused(f"{self.source.url} is an encrypted dataset: rekey gives it another key")
            job = Job(secrets.token_hex(16), options.command, self.source.url, self.target.url, kept)
            self._manifest = Manifest(job, self.listing.rows(sealed))
            self.listing.refuse(self.manifest.rows, options.envelope)
            job.keys.update(self.listing.records)
            if options.command == "encrypt":
                self._choose_key(self.specs)
            self._save()
        else:
            self._same_job(there, kept)
            self._manifest = there
            self._again()
            if options.update:
                self._update(sealed)
            self.listing.refuse(there.rows, options.envelope)
        if options.command == "encrypt":
            self._keep_records()
        self.config.envelope, self.config.key_id = options.envelope, self.manifest.job.key_id
        self.config.records = dict((sealed or self.manifest).job.keys)
        if sealed:
            self.config.bind_names = bool(sealed.job.options.get("bind_names", options.bind_names))
        self._work(options.command)
        if options.remove_source:
            # Before an original goes, the manifest says durably where its copy is.
            rows = self.manifest.rows
            self._dispatch("remove", [number for number, row in enumerate(rows) if row.state == DONE], REMOVED)
            self._save()

    def _apart(self) -> None:
        """See that neither end lies in the other, where a job would take what it makes for what it was given."""
        into, out = is_within(self.target, self.source), is_within(self.source, self.target)
        if into and out:
            if not self.options.suffix:
                raise Refused("source and target are the same: give another target, or --suffix")
        elif into:
            raise Refused(f"{self.target.url} lies in {self.source.url}: give a target outside of the source")
        elif out:
            try:
                self.source.stat("")
            except MissingError:
                sentence = "give a target that does not hold the source"
                raise Refused(f"{self.source.url} lies in {self.target.url}: {sentence}") from None
            if not self.options.suffix and self.source.url.rpartition("/")[0] == self.target.url:
                raise Refused(f"{self.source.url} would become itself: give another target, or --suffix")

    def _same_job(self, there: Manifest, kept: dict[str, Any]) -> None:
        job = there.job
        if (job.command, job.source) != (self.options.command, self.source.url):
            raise Refused(
                f"{self.target.url} has the manifest of another job, {job.command} of {job.source}: take another"
            )
        for name, value in kept.items():
            if job.options.get(name) != value:
                raise Refused(
                    f"this job was begun with --{name.replace('_', '-')} {job.options.get(name)!r}, not {value!r}"
                )

    def _again(self) -> None:
        """Let what has failed be tried once more."""
        for row in self.manifest.rows:
            if row.state == ERROR:
                row.state, row.error, row.attempt = PENDING, "", 0

    def _sealed(self) -> Manifest | None:
        """Return the manifest of what is to be decrypted; without one, keys are found beside the objects."""
        manifest = Manifest.load(self.source)
        if manifest is not None:
            _finished(manifest, self.source.url)
        return manifest

    def _update(self, sealed: Manifest | None) -> None:
        """List once more: what is new is added, what has changed is done again."""
        known = {row.source: row for row in self.manifest.rows}
        for row in self.listing.rows(sealed):
            old = known.get(row.source)
            if old is None:
                self.manifest.rows.append(row)
            elif (old.size, old.version) != (row.size, row.version):
                if old.state in (DONE, REMOVED) and not self.options.overwrite:
                    old.error = f"{row.source} has changed: --overwrite does it again"
                else:
                    old.size, old.version, old.state, old.error, old.attempt = row.size, row.version, PENDING, "", 0
        self.manifest.job.finished = False

    # -------------------------------------------------------------------------------------------------------- keys

    def _choose_key(self, specs: list[keys.KeySpec]) -> None:
        """Decide what new objects are written with, and keep its record beside them."""
        job, options = self.manifest.job, self.options
        if options.envelope == "job":
            record, _ = keys.new_record(specs[0].open(), options.template)
            job.keys[record["key_id"]] = record
            job.key_id = record["key_id"]
        elif options.envelope == "object":
            job.key_id = ""
        elif specs[0].keyset is None:
            raise Refused(f"{specs[0].name} wraps data keys: give --envelope job or object")
        else:
            job.key_id = str(keys.key_ids(Keyset.parse(specs[0].keyset))[0])

    def _keep_records(self, anew: bool = False) -> None:
        """Let the records of shared keys lie beside the objects, too, for who has lost the manifest."""
        for key_id, record in self.manifest.job.keys.items():
            name = keys.record_name(key_id)
            try:
                version = self.target.stat(name).version
                if anew:
                    self.target.put(name, json.dumps(record).encode(), version)
            except MissingError:
                self.target.put(name, json.dumps(record).encode())

    # ------------------------------------------------------------------------------------------------ rekey, rewrap

    def _rekey(self) -> None:
        options = self.options
        there = Manifest.load(self.target)
        if there is None:
            if options.envelope:
                raise Refused(f"{self.target.url} has no manifest, which --envelope needs")
            kept = {"bind_names": options.bind_names}
            job = Job(secrets.token_hex(16), "encrypt", "", self.target.url, kept, finished=True)
            there = Manifest(job, self.listing.rows(None))
            job.keys.update(self.listing.records)
            for row in there.rows:
                row.state, row.out_size, row.out_version = DONE, row.size, row.version
        self._manifest = there
        job = there.job
        if job.command == "decrypt":
            raise Refused(f"{self.target.url} is what a decrypt has made: there is nothing to re-encrypt")
        if job.command == "rekey" and not job.finished:
            if job.options.get("envelope", "") != options.envelope:
                raise Refused(f"this rekey was begun with --envelope {job.options.get('envelope')!r}")
            self._again()
            self.listing.refuse(there.rows, options.envelope)
        else:
            _finished(there, self.target.url)
            if any(row.state not in (DONE, REMOVED) for row in there.rows):
                raise Refused(f"{self.target.url} has objects that were never encrypted: run that again first")
            self._choose_key(self.new_specs or self.specs)
            if {row.key_id for row in there.rows} == {job.key_id} != {""}:
                raise Refused(f"all of {self.target.url} is under the key {job.key_id}: give --new-key, or rotate KEY")
            job.id, job.command, job.finished = secrets.token_hex(16), "rekey", False
            job.options = {**job.options, "envelope": options.envelope, "template": options.template}
            for number, row in enumerate(there.rows):
                there.rows[number] = Row(
                    row.key, row.key, row.out_size, row.out_version, wrapped=row.wrapped, old_key_id=row.key_id
                )
            self.listing.refuse(there.rows, options.envelope)
            self._save()
        self._keep_records()
        self.config.bind_names = bool(job.options.get("bind_names"))
        self.config.envelope, self.config.key_id, self.config.records = options.envelope, job.key_id, dict(job.keys)
        self._work("rekey")
        if options.drop_old_keys and job.finished and not self.progress.errors:
            for key_id in [key_id for key_id in job.keys if key_id != job.key_id]:
                del job.keys[key_id]
                self._save()
                with contextlib.suppress(MissingError):
                    self.target.remove(self.target.stat(keys.record_name(key_id)))

    def _rewrap(self) -> None:
        there = Manifest.load(self.target)
        if there is None:
            raise Refused(
                f"{self.target.url} has no manifest: only what was encrypted with --envelope can be rewrapped"
            )
        _finished(there, self.target.url)
        job = there.job
        numbers = [number for number, row in enumerate(there.rows) if row.wrapped and row.state in (DONE, REMOVED)]
        if not job.keys and not numbers:
            raise Refused(
                f"{self.target.url} is encrypted with a keyset itself, so nothing is wrapped: rekey changes its key"
            )
        if not self.new_specs:
            raise Refused("--new-key is missing: what data keys are to be wrapped with")
        self._manifest = there
        job.command, job.finished = "rewrap", False
        self._save()
        old, new = [spec.open() for spec in [*self.specs, *self.new_specs]], self.new_specs[0].open()
        for key_id, record in job.keys.items():
            job.keys[key_id] = keys.rewrap(record, [*old], new)
        self._save()
        self._keep_records(anew=True)
        self.progress.objects = len(numbers)
        self.progress.bytes = sum(max(there.rows[number].size, 0) for number in numbers)
        self._dispatch("rewrap", numbers)
        job.finished = not self.progress.errors
        self._save()

    # ------------------------------------------------------------------------------------------------------- verify

    def _verify(self) -> None:
        manifest = Manifest.load(self.target)
        if manifest is None:
            rows = self.listing.rows(None)
            manifest = Manifest(Job("", "verify", self.source.url, self.target.url), rows)
            self.config.records = self.listing.records
        else:
            job = manifest.job
            if job.command == "decrypt":
                raise Refused(f"{self.target.url} is what a decrypt has made: verify its source, {job.source}")
            _finished(manifest, self.target.url)
            missing = [row for row in manifest.rows if row.state not in (DONE, REMOVED)]
            manifest.rows = [
                replace(
                    row, source=row.key, size=row.out_size, version=row.out_version, error="", old_key_id=row.key_id
                )
                for row in manifest.rows
                if row.state in (DONE, REMOVED)
            ] + [replace(row, state=ERROR, error=row.error or "it was never encrypted") for row in missing]  # fmt: skip
            self.config.bind_names = bool(job.options.get("bind_names"))
            self.config.records = dict(job.keys)
            self.progress.errors = len(missing)
        self._manifest = manifest
        self.progress.objects = len(manifest.rows)
        self.progress.bytes = sum(row.size for row in manifest.rows)
        numbers = [number for number, row in enumerate(manifest.rows) if row.state != ERROR]
        self._dispatch("verify", numbers, DONE, ERROR)

    # ----------------------------------------------------------------------------------------------------- the work

    def _work(self, what: str) -> None:
        """Do what is pending, and leave no parts behind: neither those of earlier runs nor this one's."""
        rows = self.manifest.rows
        self.progress.objects = len(rows)
        self.progress.bytes = sum(max(row.size, 0) for row in rows)
        done = [row for row in rows if row.state in (DONE, REMOVED)]
        self.progress.done_objects = len(done)
        self.progress.done_bytes = sum(max(row.size, 0) for row in done)
        self.progress.errors = sum(row.state == ERROR for row in rows)
        numbers = pending(rows)
        if not numbers and self.manifest.job.finished:
            return
        self.manifest.job.finished = False
        names = {row.key for row in rows}
        self.swept = self.target.sweep(names)
        try:
            self._dispatch(what, numbers, DONE, ERROR)
        except (KeyboardInterrupt, StoppedError):
            with contextlib.suppress(OSError, PermanentError):  # the next run does it
                self.swept += self.target.sweep(names)
            raise
        if self.progress.deaths:
            time.sleep(SETTLE)  # what a worker has asked for before it died may still be on its way
        self.swept += self.target.sweep(names)
        self.manifest.job.finished = not pending(rows)
        self._save()

    def _dispatch(self, what: str, numbers: list[int], state: str = "", failed: str = "") -> None:
        options = self.options
        if not numbers:
            return
        self.begun = True
        pool = make_pool(self.config, options.workers, options.address, options.cpus, options.gpus)
        if isinstance(pool, RayPool) and not self._watched:
            self.progress.watch(pool.gauges(self.progress.labels))
            self._watched = True
        try:
            dispatcher = Dispatcher(
                self.manifest.rows,
                pool,
                self.config,
                self.progress,
                options.attempts,
                options.max_errors,
                self._every_while,
            )
            dispatcher.run(what, numbers, state, failed)
        except (KeyboardInterrupt, StoppedError):
            if what != "verify":
                try:
                    self._save()
                except (OSError, PermanentError) as error:  # what is done is found and adopted by the next run
                    self.progress.say(f"the manifest could not be saved: {error}")
            raise
        finally:
            pool.close()
            self.progress.in_flight = 0

    def _every_while(self) -> None:
        self._check()
        # A large manifest takes a while to write: a twentieth of the time may go there.
        if self.options.command != "verify" and time.monotonic() - self._saved > max(
            self.options.checkpoint, 20 * self._saving
        ):
            try:
                self._save()
            except OSError as error:
                self.progress.say(f"the manifest could not be saved, which is tried again: {error}")
                self._saved = time.monotonic()

    def _save(self) -> None:
        begin = time.monotonic()
        try:
            self.manifest.save(self.target)
        except ExistsError:
            raise Refused(f"{self.target.url}: another job has written the manifest: this one ends") from None
        self._saved = time.monotonic()
        self._saving = self._saved - begin

    def _report(self) -> dict[str, Any]:
        progress = self.progress
        progress.tell(last=True)
        if self.options.remove_source and self.source.keeps_versions():
            self.notes.append(f"{self.source.url} keeps old versions: the originals are still among them")
        if self.options.command == "rekey" and self.target.keeps_versions():
            self.notes.append(f"{self.target.url} keeps old versions, which the old key opens")
        failed = [row for row in self.manifest.rows if row.error]
        return {
            "command": self.options.command,
            "source": self.source.url,
            "target": self.target.url,
            "manifest": f"{self.target.url}/{NAME}" if self.options.command != "verify" else None,
            "objects": progress.objects,
            "done": progress.done_objects,
            "errors": len(failed),
            "first_errors": [{"key": row.source, "error": row.error} for row in failed[:SHOWN]],
            "bytes": progress.done_bytes,
            "run_objects": progress.run_objects,
            "run_bytes": progress.run_bytes,
            "seconds": round(progress.seconds, 3),
            "bytes_per_second": round(progress.run_bytes / max(progress.seconds, 1e-9)),
            "objects_per_second": round(progress.run_objects / max(progress.seconds, 1e-9), 3),
            "retries": progress.retries,
            "worker_deaths": progress.deaths,
            "adopted": progress.adopted,
            "computed_on": dict(sorted(progress.computed_on.items())),
            "parts_swept": self.swept,
            "notes": self.notes,
        }


def status(url: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return what a target's manifest says, and whether a job works on it."""
    storage: Storage = open_storage(url, options)
    manifest = Manifest.load(storage)
    if manifest is None:
        raise Refused(f"{url} has no manifest: nothing of bulk has been done here")
    states: dict[str, int] = {}
    for row in manifest.rows:
        states[row.state] = states.get(row.state, 0) + 1
    try:
        lock = read_lock(storage.get(FOLDER + LOCK)[0])
    except MissingError:
        lock = None
    failed = [row for row in manifest.rows if row.error]
    return {
        "command": manifest.job.command,
        "source": manifest.job.source,
        "target": manifest.job.target,
        "finished": manifest.job.finished,
        "objects": len(manifest.rows),
        "states": states,
        "bytes": sum(max(row.size, 0) for row in manifest.rows),
        "key_ids": sorted({row.key_id for row in manifest.rows if row.key_id and not row.wrapped}),
        "lock": lock,
        "errors": len(failed),
        "first_errors": [{"key": row.source, "error": row.error} for row in failed[:SHOWN]],
    }
