"""A job from beginning to end: the rows from the manifest, the work and the report."""

from __future__ import annotations

import abc
import contextlib
import json
import time
from collections.abc import Callable
from typing import Any

from .._key_files import keep_from_programs
from . import attributes, keys, manifest_1, plan
from .config import BARE, BOUND, TEMPLATE, UNBOUND, Config
from .dispatch import WAIT, Dispatcher, StoppedError, Task
from .listing import Listing, Options, Refused
from .lock import Claims, Lock, LockedError
from .manifest import NAME, NAME_1, Manifest
from .names import NamedStorage, NamesKey, record_in, to_json
from .pool import RayPool, make_pool
from .progress import SHOWN, Progress
from .rows import ERROR, PENDING, Row
from .storage import (
    FOLDER,
    ExistsError,
    MissingError,
    PermanentError,
    Storage,
)
from .stores import open_storage
from .worker import use_backend

SETTLE = 3.0
#: Maximum number of names in the note about skipped objects.
LEFT_OUT = 5


class Run(abc.ABC):
    """A run of a command, which begins or continues a job. Each command has its own class."""

    def __init__(self, options: Options) -> None:
        """Open storages and keys."""
        self.options = options
        use_backend(options.backend)
        self.source = open_storage(options.source, options.source_options)
        self.target = open_storage(options.target, options.target_options)
        if not self.target.can_write:
            raise Refused(
                f"{options.target}: targets must be local file systems, s3:// or fsspec object stores "
                f"that write objects atomically"
            )
        if options.command == "rekey" and not self.target.can_replace:
            raise Refused(
                f"{options.target}: rekey replaces objects, but fsspec cannot replace them conditionally; "
                f"decrypt the dataset to a different target, and encrypt the result"
            )
        if (options.workers > 1 or options.address is not None) and not (
            self.source.is_shared and self.target.is_shared
        ):
            raise Refused("memory:// exists only in this process; omit --workers and --address")
        if options.no_manifest and (options.pin or options.at_least or options.name):
            raise Refused("--no-manifest: --pin, --at-least and --name require a manifest; omit them")
        if options.name and (options.include or options.exclude):
            raise Refused("--name names the objects; omit --include and --exclude")
        if options.dry_run and (options.share or options.metrics):
            raise Refused("--dry-run writes nothing; omit --share and --metrics")
        self._check_template(options.template)
        self.listing = Listing(options, self.source, self.target)
        if not options.key:
            raise Refused("-k is missing; pass a keyset")
        keep_from_programs([*options.key, *options.new_key])
        self.specs = [keys.KeySpec.read(options.key[0], options.keep_key)]
        self.specs += [keys.KeySpec.read(place) for place in options.key[1:]]
        self.new_specs = [keys.KeySpec.read(place) for place in options.new_key]
        keys.merged(self.specs)  # checks the options before workers start
        keys.merged(self.new_specs)
        #: All keys that a manifest may be encrypted or wrapped with, starting with the keys of --new-key. New manifests
        #: use the first key.
        self.holders = [holder for spec in [*self.new_specs, *self.specs] for holder in spec.holders()]
        self.config = Config(
            command=options.command, named_dataset=options.dataset, source=options.source, target=options.target,
            source_options=options.source_options, target_options=options.target_options,
            key=self.specs, new_key=self.new_specs, envelope=options.envelope, template=options.template or TEMPLATE,
            overwrite=options.overwrite, verify=options.verify, drop_old_keys=options.drop_old_keys,
            threads=options.threads, requests=options.requests, memory=options.memory, backend=options.backend,
            limit_rate=options.limit_rate,
        )  # fmt: skip
        self.progress = Progress(options.command, self.target.url, options.progress, options.metrics)
        self.swept = 0
        self.begun = self._watched = False
        self.notes: list[str] = []
        self.unlisted: list[str] = []
        self._manifest: Manifest | None = None
        self._saved, self._saving = time.monotonic(), 0.0
        self._check: Callable[[], None] = lambda: None
        self._claims: Claims | None = None  #: the shards of this driver, with --share
        self._joins = False  #: another driver has begun the job and will end it

    @property
    def manifest(self) -> Manifest:
        """Return the manifest, which must exist."""
        assert self._manifest is not None
        return self._manifest

    def run(self) -> dict[str, Any]:
        """Run the command, and return its report."""
        try:
            if self.options.dry_run:
                self._find_source()
                self.do()
                return self._planned()
            with contextlib.ExitStack() as held:
                self._take_part(held)
                self.do()
                return self._report()
        finally:
            self.progress.close()

    def _find_source(self) -> None:  # noqa: B027 - only transfers have a source
        """Raise an exception if the source is missing."""

    def _planned(self) -> dict[str, Any]:
        """Return the report of --dry-run."""
        return plan.report(self.manifest, self.options, self.source, self.target, self._notes())

    @abc.abstractmethod
    def do(self) -> None:
        """Process the command's rows."""

    def _take_part(self, held: contextlib.ExitStack) -> None:
        """Lock the target or, with --share, join the driver that has locked it."""
        command, expiry = self.options.command, self.options.lock_expiry
        beat = min(10.0, expiry / 4)
        if self.options.share:
            self._claims = Claims(self.target, command, beat, expiry)
            held.callback(self._claims.close)
        try:
            lock = held.enter_context(Lock(self.target, command, beat, expiry))
        except LockedError:
            if self._claims is None:
                raise
            self._joins = True
            self._check = self._claims.check
        else:
            self._check = lock.check

    def _use_names(self, names: NamesKey | None, end: str) -> None:
        """Access the objects in "source" or "target" by their plaintext names, if their names are encrypted."""
        if names is None:
            return
        self.config.names_key = names.key
        for each in (end,) if self.options.command in ("encrypt", "decrypt") else ("source", "target"):
            storage = NamedStorage(getattr(self, each), names.names)
            setattr(self, each, storage)
            setattr(self.listing, each, storage)

    def _loaded(self, load: Callable[[], Manifest | None]) -> Manifest | None:
        """Return the target's manifest. A driver that joins another driver first waits until that driver has begun the
        job."""
        options, manifest = self.options, load()
        lock = Lock(self.target, options.command, expiry=options.lock_expiry)
        while self._joins and (manifest is None or manifest.job.finished or manifest.job.command != options.command):
            if lock.watch():
                lock.release()
                raise Refused(f"{self.target.url}: the driver that began the job has ended; run the command again")
            time.sleep(WAIT)
            manifest = load()
        if manifest is not None and self._joins:
            manifest.mine = set()
        return manifest

    # ------------------------------------------------------------------------------------------------- the manifest

    def _load(self, storage: Storage) -> Manifest | None:
        """Return a dataset's authentic manifest, or None if it has none. Refuse a manifest that contradicts --dataset,
        --pin, --at-least or --bind-names."""
        options = self.options
        manifest = Manifest.load(storage, self.holders)
        if manifest is None:
            if options.command != "adopt" and manifest_1.exists(storage):
                raise Refused(
                    f"{storage.url}/{NAME_1} is an unauthenticated warpaes 1.0 manifest; "
                    f"`warpaes bulk adopt -k KEY TARGET` checks every object and converts the manifest"
                )
            if options.pin or options.at_least or (options.dataset and options.command != "adopt"):
                raise Refused(
                    f"{storage.url} has no manifest, which --dataset, --pin and --at-least require; restore it from a "
                    "copy"
                )
            return None
        assert manifest.signer is not None
        if options.dataset and manifest.dataset != options.dataset:
            raise Refused(f"{storage.url} is the dataset {manifest.dataset}, not {options.dataset}")
        if not options.dataset and manifest.job.target != storage.url and options.pin is None:
            raise Refused(
                f"{storage.url} is the dataset {manifest.dataset}, which was written to "
                f"{manifest.job.target}; if you moved or copied it here and it was not replaced, pass "
                f"its ID with --dataset"
            )
        manifest.job.target = storage.url
        ends = manifest.job.command in ("rekey", "rewrap") and manifest.job.command == options.command
        followed = ends and not manifest.job.finished and manifest.succeeds(options.pin or "", self.holders)
        if options.pin and manifest.signer.fingerprint != options.pin and not followed:
            raise Refused(f"{storage.url}/{NAME} has the manifest key {manifest.signer.fingerprint}, not {options.pin}")
        if manifest.save_number < options.at_least:
            raise Refused(
                f"{storage.url}/{NAME} is save {manifest.save_number}, older than --at-least {options.at_least}; "
                "restore the newest manifest"
            )
        if options.bind_names and manifest.job.options.get("binding") == UNBOUND and not manifest.job.is_decrypted:
            raise Refused(
                f"--bind-names: the objects in {storage.url} are not bound to their names; run rekey to bind them"
            )
        return manifest

    def _ended(self, manifest: Manifest) -> None:
        """Refuse a command that requires a complete dataset while the dataset's job is unfinished."""
        job = manifest.job
        if not job.finished and job.command != "rewrap":
            raise Refused(
                f"{manifest.storage.url}: the {job.command} job has not finished; run that command again first"
            )

    def _check_names(self, manifest: Manifest) -> None:
        """Refuse a dataset with unencrypted names if --encrypted-names is given."""
        if self.options.encrypted_names and manifest.names is None:
            raise Refused(f"--encrypted-names: the names in {manifest.storage.url} are not encrypted; omit this option")

    def _names_without_manifest(self, storage: Storage) -> NamesKey | None:
        """Return the names key of a dataset without a manifest if --encrypted-names is given, otherwise None."""
        record = record_in(storage)
        if self.options.encrypted_names and record is None:
            raise Refused(f"--encrypted-names: {storage.url}/{keys.NAMES_PLACE} is missing; restore it from a copy")
        if record is None:
            return None
        if not self.options.encrypted_names:
            raise Refused(f"the names in {storage.url} are encrypted; add --encrypted-names")
        dataset = self.options.dataset or str(record.get("dataset"))
        return NamesKey.open(dataset, record, [spec.open() for spec in self.specs])

    def _sealed(self, storage: Storage, end: str) -> Manifest | None:
        """Return the manifest of the objects to decrypt or verify, or None with --no-manifest.

        `end`: whether the storage is the "source" or the "target".
        """
        if self.options.no_manifest:
            self._use_names(self._names_without_manifest(storage), end)
            return None
        manifest = self._load(storage)
        if manifest is None:
            raise Refused(
                f"{storage.url} has no manifest, so missing, swapped or outdated objects would not be detected; "
                f"restore {NAME} and {FOLDER}shards/, or process the existing objects with --no-manifest"
            )
        if manifest.job.is_decrypted:
            raise Refused(f"{storage.url} was written by decrypt; use its source, {manifest.job.source}")
        self._ended(manifest)
        self._check_names(manifest)
        self._use_names(manifest.names, end)
        assert manifest.signer is not None
        held, primary = manifest.signer.holder, self.holders[0]
        if held.key_id and held is not primary:
            self.notes.append(
                f"{storage.url} is encrypted under {held}, not under {primary}; after a rekey, this is a forgery by "
                f"a holder of that key; disable keys that are no longer needed"
            )
        return manifest

    def _read_with(self, sealed: Manifest | None) -> None:
        """Store the encryption of the objects to read in the workers' configuration."""
        config, options = self.config, self.options
        if sealed is not None:
            config.dataset, config.old_binding = sealed.dataset, sealed.job.options.get("binding", BOUND)
            config.records = dict(sealed.job.keys)
            config.given = list(sealed.job.options.get("given", []))
            config.template = sealed.job.options.get("template") or TEMPLATE
        else:
            config.dataset, config.records = options.dataset, self.listing.records
            bound = BOUND if options.dataset else BARE
            config.old_binding = UNBOUND if options.bind_names is False else bound

    def _again(self) -> None:
        """Mark failed rows as pending again, except rows that the listing refused."""
        manifest = self.manifest
        for number, shard in enumerate(manifest.shards):
            if not shard.errors:
                continue
            for row in manifest.rows_of(number):
                if row.error and (row.attempt or row.is_sealed):
                    if row.state == ERROR:
                        row.state = PENDING
                    row.error, row.attempt = "", 0
                    manifest.change(number)
            manifest.close(number)

    # -------------------------------------------------------------------------------------------------------- keys

    def _check_template(self, template: str | None) -> None:
        """Refuse Parquet files under a shared key, because the number of random nonces under one key is limited."""
        if keys.is_parquet(template) and self.options.envelope != "object":
            raise Refused(f"--template {template} requires a separate key for each Parquet file; add --envelope object")

    def _check_choice(self, specs: list[keys.KeySpec]) -> None:
        """Refuse a key that cannot encrypt the objects with these options."""
        self._check_template(self.config.template)
        if not self.options.envelope and specs[0].keyset is None:
            raise Refused(f"{specs[0].name} only wraps data keys; add --envelope job or object")

    def _choose_key(self, specs: list[keys.KeySpec]) -> None:
        """Choose the key for new objects, only from the command line. Stored keys are not reused."""
        job, options, holder = self.manifest.job, self.options, self.holders[0]
        self._check_choice(specs)
        if options.envelope == "job":
            place = keys.Place(self.manifest.dataset, "", job.id)
            record, _ = keys.new_record(holder.source, self.config.template, place)
            job.keys[record["key_id"]] = record
            job.key_id = record["key_id"]
        elif options.envelope == "object":
            job.key_id = ""
            if specs[0].kek is not None and job.wraps + self.manifest.total("todo") >= 1 << 32:
                raise Refused(
                    f"{specs[0].name} has wrapped {job.wraps} keys of this dataset, and the limit is 2^32; rewrap with "
                    "a different key"
                )
        else:
            job.key_id = holder.key_id
            job.used = sorted({*job.used, holder.key_id})

    def _write_with(self, specs: list[keys.KeySpec]) -> None:
        """Store the encryption of new objects in the workers' configuration."""
        manifest, config = self.manifest, self.config
        if not manifest.job.options.get("envelope") and specs[0].keyset is None:
            raise Refused(f"{specs[0].name} only wraps data keys; add --envelope job or object")
        assert manifest.signer is not None
        for key_id, record in manifest.job.keys.items():
            manifest.job.keys[key_id] = keys.signed(record, manifest.signer.record_key)
        config.dataset, config.job, config.record_key = manifest.dataset, manifest.job.id, manifest.signer.record_key
        config.envelope = manifest.job.options.get("envelope") or ""
        config.key_id, config.records = manifest.job.key_id, dict(manifest.job.keys)
        config.binding = manifest.job.options["binding"]
        config.old_binding = manifest.job.options.get("old_binding", config.binding)

    def _keep_records(self) -> None:
        """Store the records of shared keys next to the objects, so that the objects can be decrypted if the manifest is
        lost."""
        if not self.manifest.job.is_decrypted:
            for key_id, record in self.manifest.job.keys.items():
                self._keep_record(keys.record_name(key_id), json.dumps(record).encode())
            if self.manifest.names is not None:
                self._keep_record(keys.NAMES_PLACE, to_json(self.manifest.names.record))

    def _keep_record(self, name: str, text: bytes) -> None:
        try:
            there, version = self.target.get(name)
        except MissingError:
            self.target.put(name, text)
        else:
            if there != text:
                self.target.put(name, text, version)

    def _mark(self, todo: str, wanted: Callable[[Row], bool]) -> int:
        """Mark the rows that a command must process, and return the number of marked rows."""
        count = 0
        for number, rows in self.manifest.each():
            for row in rows:
                if wanted(row):
                    row.todo, row.error, row.attempt = todo, "" if row.is_sealed else row.error, 0
                    count += 1
            self.manifest.change(number)
        return count

    # ----------------------------------------------------------------------------------------------------- the work

    def _take_shards(self, task: Task) -> None:
        """Process shards of a job that another driver began."""
        manifest = self.manifest
        self.progress.objects, self.progress.bytes = manifest.total("rows"), manifest.total("bytes")
        self._save()  # before anything is written under a new key
        self._keep_records()
        self._dispatch(task)
        self._await_end()

    def _await_end(self) -> None:
        """Wait until the driver that began the job ends it, because the job's errors include the errors of all
        drivers."""
        lock = Lock(self.target, self.options.command, expiry=self.options.lock_expiry)
        while not self.manifest.job.finished:
            if lock.watch():
                lock.release()
                self.manifest.refresh()
                if not self.manifest.job.finished and not self.manifest.total("errors"):
                    raise StoppedError(
                        f"{self.target.url}: the driver that began the job ended early; run the command again"
                    )
                return
            time.sleep(WAIT)
            self.manifest.refresh()

    def _work(self, task: Task) -> None:
        """Process the task's rows, and remove incomplete uploads of this run and of earlier runs."""
        if self._joins:
            self._take_shards(task)
            return
        manifest, progress = self.manifest, self.progress
        progress.objects, progress.bytes = manifest.total("rows"), manifest.total("bytes")
        todo = manifest.total("todo")
        progress.errors = manifest.total(ERROR)
        progress.done_objects = max(progress.objects - todo - progress.errors, 0)
        progress.done_bytes = manifest.total("done_bytes") if task.done else 0
        if not todo and manifest.job.finished:
            return
        manifest.job.finished = False
        if self.options.command in ("encrypt", "rekey"):
            self._note_given()
        self._save()  # before anything is written under a new key
        self._keep_records()
        if self._claims is not None:
            manifest.mine = set()
        else:  # uploads of other drivers must not be removed
            manifest.sweep()
            self.swept = self.target.sweep(manifest)
        try:
            self._dispatch(task)
        except (KeyboardInterrupt, StoppedError):
            with contextlib.suppress(OSError, PermanentError):  # if this fails, the next run removes the uploads
                self.swept += self.target.sweep(manifest)
            raise
        if progress.deaths:
            time.sleep(SETTLE)  # a dead worker's requests may still be in flight
        self.swept += self.target.sweep(manifest)
        manifest.refresh()
        manifest.mine = None
        manifest.job.finished = not manifest.total("todo")
        self._save()

    def _note_given(self) -> None:
        """Record the attributes that the command line sets for all objects, so that verify does not compare them."""
        options = self.manifest.job.options
        given = {
            *options.get("given", []),
            *(set(attributes.NAMES) & self.options.target_options.get("put", {}).keys()),
        }
        options.pop("given", None)
        if given:
            options["given"] = sorted(given)

    def _dispatch(self, task: Task) -> None:
        options = self.options
        if not any(task.has(shard) for shard in self.manifest.shards):
            return
        self.begun = True
        pool = make_pool(self.config, options.workers, options.address, options.cpus, options.gpus)
        if isinstance(pool, RayPool) and not self._watched:
            self.progress.watch(pool.gauges(self.progress.labels))
            self._watched = True
        try:
            dispatcher = Dispatcher(
                self.manifest,
                pool,
                self.config,
                self.progress,
                options.attempts,
                options.max_errors,
                self._every_while,
                self._claims,
                not self._joins,
            )
            dispatcher.run(task)
        except (KeyboardInterrupt, StoppedError):
            if not self.manifest.read_only:
                try:
                    self._save()
                except (OSError, PermanentError) as error:  # the next run finds the finished objects
                    self.progress.say(f"the manifest could not be saved: {error}")
            raise
        finally:
            pool.close()
            self.progress.in_flight = 0

    def _every_while(self) -> None:
        self._check()
        # Saving can be slow, so it is limited to a twentieth of the running time.
        if not self.manifest.read_only and time.monotonic() - self._saved > max(
            self.options.checkpoint, 20 * self._saving
        ):
            try:
                self._save()
            except OSError as error:
                self.progress.say(f"the manifest could not be saved and will be saved again later: {error}")
                self._saved = time.monotonic()

    def _save(self) -> None:
        begin = time.monotonic()
        try:
            self.manifest.save()
        except ExistsError:
            raise Refused(f"{self.target.url}: another job has written the manifest, so this job has stopped") from None
        self._saved = time.monotonic()
        self._saving = self._saved - begin

    def _notes(self) -> list[str]:
        """Return the report's notes. The objects must have been listed."""
        if left := self.source.left_out:
            some = ", ".join(f"{name} ({why})" for name, why in list(left.items())[:LEFT_OUT])
            self.notes.append(
                f"skipped: {some}" + (f" and {len(left) - LEFT_OUT} more" if len(left) > LEFT_OUT else "")
            )
        if self.listing.unwanted:
            self.notes.append(f"--include and --exclude skipped {self.listing.unwanted} objects")
        return self.notes

    def _report(self) -> dict[str, Any]:
        progress, manifest = self.progress, self.manifest
        progress.tell(last=True)
        if self.options.remove_source and self.source.keeps_versions():
            self.notes.append(f"{self.source.url} keeps old versions, so the originals still exist there")
        if self.options.command == "rekey" and self.target.keeps_versions():
            self.notes.append(f"{self.target.url} keeps old versions, which the old key can still decrypt")
        verifies = self.options.command == "verify"
        if verifies:
            errors, first = progress.errors, progress.first_errors
        else:
            errors = manifest.total("errors") + len(self.unlisted)
            first = [{"key": row.source or row.key, "error": row.error} for row in manifest.failed(SHOWN)]
            sentence = "the manifest does not contain this object; it is unchanged; remove it, or restore the manifest"
            first += [{"key": key, "error": sentence} for key in self.unlisted]
        signer = manifest.signer
        return {
            "command": self.options.command,
            "source": self.source.url,
            "target": self.target.url,
            "manifest": f"{self.target.url}/{NAME}" if not verifies else None,
            "dataset": manifest.dataset,
            "save": manifest.save_number,
            "manifest_key": signer.fingerprint if signer is not None else None,
            "objects": progress.objects,
            "done": progress.done_objects,
            "errors": errors,
            "first_errors": first[:SHOWN],
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
            "notes": self._notes(),
        }
