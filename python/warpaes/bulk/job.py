"""A job from beginning to end: its rows, by the manifest; the work; the report."""

from __future__ import annotations

import contextlib
import itertools
import json
import secrets
import time
from collections.abc import Callable
from typing import Any

from .._native import Keyset
from .._places import keep_from_programs
from . import keys, manifest_1
from .dispatch import ADOPT, DECRYPT, ENCRYPT, REKEY, REMOVE, REWRAP, VERIFY, WAIT, Dispatcher, StoppedError, Task
from .listing import Listing, Options, Refused
from .lock import Claims, Lock, LockedError, read_lock
from .manifest import NAME, NAME_1, Job, Manifest, ManifestError, Signer
from .pool import RayPool, make_pool
from .progress import SHOWN, Progress
from .rows import ERROR, PENDING, Row
from .storage import (
    FOLDER,
    GETS,
    KEY_SUFFIX,
    LOCK,
    ExistsError,
    MissingError,
    PermanentError,
    Storage,
    is_within,
    open_storage,
)
from .worker import BARE, BOUND, TEMPLATE, UNBOUND, Config, use_backend

SETTLE = 3.0
#: Names in the note on those that a listing has left out.
LEFT_OUT = 5


class Run:
    """One run of a job, which may be the first or continue another."""

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
        if options.no_manifest and (options.pin or options.at_least or options.name):
            raise Refused("--no-manifest: --pin, --at-least and --name need a manifest; leave them out")
        self.listing = Listing(options, self.source, self.target)
        if not options.key:
            raise Refused("-k is missing: a keyset")
        keep_from_programs([*options.key, *options.new_key])
        self.specs = [keys.KeySpec.read(options.key[0], options.keep_key)]
        self.specs += [keys.KeySpec.read(place) for place in options.key[1:]]
        self.new_specs = [keys.KeySpec.read(place) for place in options.new_key]
        keys.merged(self.specs)  # before workers are started: it finds what is wrong with them
        keys.merged(self.new_specs)
        #: Every key that may have saved a manifest, those of --new-key first. The first one of all encrypts or wraps.
        self.holders = [holder for spec in [*self.new_specs, *self.specs] for holder in spec.holders()]
        self.config = Config(
            command=options.command, source=options.source, target=options.target,
            source_options=options.source_options, target_options=options.target_options,
            key=self.specs, new_key=self.new_specs, envelope=options.envelope, template=options.template or TEMPLATE,
            overwrite=options.overwrite, verify=options.verify, drop_old_keys=options.drop_old_keys,
            threads=options.threads, requests=options.requests, memory=options.memory, backend=options.backend,
        )  # fmt: skip
        self.progress = Progress(options.command, self.target.url, options.progress, options.metrics)
        self.swept = 0
        self.begun = self._watched = False
        self.notes: list[str] = []
        self.unlisted: list[str] = []
        self._manifest: Manifest | None = None
        self._saved, self._saving = time.monotonic(), 0.0
        self._check: Callable[[], None] = lambda: None
        self._claims: Claims | None = None  #: with --share
        self._joins = False  #: another driver has begun the job, and will end it

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
            with contextlib.ExitStack() as held:
                self._take_part(held)
                getattr(self, "_" + self.options.command)()
                return self._report()
        finally:
            self.progress.close()

    def _take_part(self, held: contextlib.ExitStack) -> None:
        """Lock the target; with --share, join the driver that has locked it."""
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

    def _loaded(self, load: Callable[[], Manifest | None]) -> Manifest | None:
        """Return the target's manifest; a driver that joins another waits until that has begun the job."""
        options, manifest = self.options, load()
        while self._joins and (manifest is None or manifest.job.finished or manifest.job.command != options.command):
            with (
                contextlib.suppress(LockedError),
                Lock(self.target, options.command, expiry=options.lock_expiry),
            ):
                raise Refused(f"{self.target.url}: the driver to join has ended: run the command again")
            time.sleep(WAIT)
            manifest = load()
        if manifest is not None and self._joins:
            manifest.mine = set()
        return manifest

    # ------------------------------------------------------------------------------------------------- the manifest

    def _load(self, storage: Storage) -> Manifest | None:
        """Return the authentic manifest of an encrypted dataset, no older than --at-least and of the key of --pin."""
        options = self.options
        manifest = Manifest.load(storage, self.holders)
        if manifest is None:
            if options.command != "adopt" and manifest_1.exists(storage):
                raise Refused(
                    f"{storage.url}/{NAME_1} is a manifest of warpaes 1.0, which nothing authenticates: `warpaes bulk "
                    "adopt -k KEY TARGET` checks every object and takes it over"
                )
            if options.pin or options.at_least or (options.dataset and options.command != "adopt"):
                raise Refused(
                    f"{storage.url} has no manifest for --dataset, --pin or --at-least: restore it from a copy"
                )
            return None
        assert manifest.signer is not None
        if options.dataset and manifest.dataset != options.dataset:
            raise Refused(f"{storage.url} is the dataset {manifest.dataset}, not {options.dataset}")
        if not options.dataset and manifest.job.target != storage.url and options.pin is None:
            raise Refused(
                f"{storage.url} is the dataset {manifest.dataset}, which was written to {manifest.job.target}: if it "
                "was moved or copied here, and not exchanged for another one, give its id with --dataset"
            )
        manifest.job.target = storage.url
        ends = manifest.job.command in ("rekey", "rewrap") and manifest.job.command == options.command
        followed = ends and not manifest.job.finished and manifest.succeeds(options.pin or "", self.holders)
        if options.pin and manifest.signer.fingerprint != options.pin and not followed:
            raise Refused(
                f"{storage.url}/{NAME} is under the manifest key {manifest.signer.fingerprint}, not {options.pin}"
            )
        if manifest.save_number < options.at_least:
            raise Refused(
                f"{storage.url}/{NAME} is save {manifest.save_number}, older than --at-least {options.at_least}: "
                "restore the newest one"
            )
        if options.bind_names and manifest.job.options.get("binding") == UNBOUND and not manifest.job.is_decrypted:
            raise Refused(f"--bind-names: the objects of {storage.url} are not bound to their names; rekey binds them")
        return manifest

    def _ended(self, manifest: Manifest) -> None:
        """Refuse what needs a whole dataset, if a job on it has not ended."""
        job = manifest.job
        if not job.finished and job.command != "rewrap":
            raise Refused(f"{manifest.storage.url}: its {job.command} has not ended: run that again first")

    def _sealed(self, storage: Storage) -> Manifest | None:
        """Return the manifest of objects that are decrypted or verified; None with --no-manifest."""
        if self.options.no_manifest:
            return None
        manifest = self._load(storage)
        if manifest is None:
            raise Refused(
                f"{storage.url} has no manifest, so missing, exchanged or old objects are not noticed: restore "
                f"{NAME} and {FOLDER}shards/; --no-manifest takes the objects that lie there"
            )
        if manifest.job.is_decrypted:
            raise Refused(f"{storage.url} was made by decrypt: take its source, {manifest.job.source}")
        self._ended(manifest)
        return manifest

    def _read_with(self, sealed: Manifest | None) -> None:
        """Tell workers how the objects that they read were encrypted."""
        config, options = self.config, self.options
        if sealed is not None:
            config.dataset, config.old_binding = sealed.dataset, sealed.job.options.get("binding", BOUND)
            config.records = dict(sealed.job.keys)
        else:
            config.dataset, config.records = options.dataset, self.listing.records
            bound = BOUND if options.dataset else BARE
            config.old_binding = UNBOUND if options.bind_names is False else bound

    # -------------------------------------------------------------------------------------------- encrypt, decrypt

    def _encrypt(self) -> None:
        options = self.options
        there = self._loaded(lambda: self._load(self.target))
        kept = {"envelope": options.envelope, "suffix": options.suffix}
        if there is None:
            self._refuse_sealed_source()
            kept["template"] = self.config.template
            kept["binding"] = UNBOUND if options.bind_names is False else BOUND
            job = Job(secrets.token_hex(16), "encrypt", self.source.url, self.target.url, kept)
            dataset = secrets.token_hex(16)
            self._manifest = Manifest(self.target, job, Signer.create(dataset, self.holders[0]), dataset)
            self.manifest.fill(self.listing.rows(None))
        else:
            self._same_job(there, kept)
            self._under_primary(there)
            self._manifest = there
            failed = there.total(ERROR)
            if not self._joins:
                self._again()
            if options.update and not self._joins:
                there.merge(self.listing.rows(None), self._join)
            there.job.command = "encrypt"
            if there.job.finished and not failed:  # else objects of failed attempts may be there
                there.job.id = secrets.token_hex(16)
        if self.manifest.total("todo"):
            self._choose_key(self.specs)
        self._write_with(self.specs)
        self._work(ENCRYPT)
        self._remove_source()

    def _refuse_sealed_source(self) -> None:
        """Refuse to encrypt an encrypted dataset. That its manifest is not authenticated here does no harm."""
        if self.source.place() == self.target.place():
            return
        already = Manifest.load(self.source)
        old = manifest_1.load(self.source) if already is None else None
        if (already is not None and not already.job.is_decrypted) or (old is not None and old.command != "decrypt"):
            raise Refused(f"{self.source.url} is an encrypted dataset: rekey gives it another key")

    def _under_primary(self, there: Manifest) -> None:
        """Refuse to encrypt into a dataset that is not under the key that the command line names for that."""
        assert there.signer is not None
        held, primary = there.signer.holder, self.holders[0]
        if held is not primary:
            command = "`warpaes bulk rekey`" if not self.options.envelope else "`warpaes bulk rewrap` or `rekey`"
            keep = f"; --keep-key {held.key_id} continues under the old key" if held.key_id else ""
            raise Refused(
                f"{self.target.url} is under {held}, and -k encrypts with {primary}: {command} puts it under that{keep}"
            )

    def _decrypt(self) -> None:
        options = self.options
        sealed = self._sealed(self.source)
        there = self._loaded(lambda: Manifest.load(self.target, self.holders))
        kept = {"suffix": options.suffix, "dataset": sealed.dataset if sealed is not None else options.dataset}
        if there is None:
            if manifest_1.exists(self.target):
                raise Refused(
                    f"{self.target.url}/{NAME_1} is a manifest of warpaes 1.0, which nothing authenticates: decrypt to "
                    "another place, or remove it"
                )
            job = Job(secrets.token_hex(16), "decrypt", self.source.url, self.target.url, kept)
            dataset = secrets.token_hex(16)
            self._manifest = Manifest(self.target, job, Signer.create(dataset, self.holders[0]), dataset)
            self.manifest.fill(self.listing.rows(sealed))
        else:
            self._same_job(there, kept)
            self._manifest = there
            if not self._joins:
                self._again()
            if options.update and not self._joins:
                there.merge(self.listing.rows(sealed), self._join)
        self._read_with(sealed)
        self._work(DECRYPT)
        self._remove_source()

    def _remove_source(self) -> None:
        if self.options.remove_source and not self._joins:
            # Before an original goes, the manifest durably has its copy.
            self._dispatch(REMOVE)
            self._save()

    def _apart(self) -> None:
        """Refuse a source inside the target or the reverse: the job would read its own output."""
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
        """Refuse to continue another job, or this one with other options."""
        job, decrypts = there.job, self.options.command == "decrypt"
        if job.is_decrypted != decrypts or job.source != self.source.url:
            was = "decrypt" if job.is_decrypted else "encrypt"
            raise Refused(f"{self.target.url} has the manifest of another job, {was} of {job.source}: take another")
        if job.command not in ("encrypt", "decrypt") and not job.finished:
            raise Refused(f"{self.target.url}: its {job.command} has not ended: run that again first")
        if job.options.get("binding") == BARE:
            raise Refused(
                f"the objects of {self.target.url} are bound to their names as by warpaes 1.0: rekey it first"
            )
        if self.options.bind_names is False and job.options.get("binding") == BOUND:
            raise Refused(f"the objects of {self.target.url} are bound to their names: leave out --no-bind-names")
        if self.options.template and self.options.envelope:
            kept = {**kept, "template": self.options.template}
        for name, value in kept.items():
            if job.options.get(name) != value:
                raise Refused(f"this job was begun with --{name} {job.options.get(name)!r}, not {value!r}")
        self.config.template = job.options.get("template") or TEMPLATE

    def _again(self) -> None:
        """Try failed rows again, apart from those that the listing has refused."""
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

    def _join(self, old: Row, new: Row) -> bool:
        """Let a row of a new listing alter that of the manifest; return whether it has."""
        if new.size < 0 or (old.size, old.version, old.old_sha256) == (new.size, new.version, new.old_sha256):
            return False  # the same, or of a list of names, which contains no more
        if old.is_sealed and not self.options.overwrite:
            old.error = f"{new.source} has changed: --overwrite does it again"
            return True
        old.size, old.version, old.state, old.error, old.attempt = new.size, new.version, new.state, new.error, 0
        old.wrapped, old.old_key_id, old.old_sha256 = new.wrapped, new.old_key_id, new.old_sha256
        return True

    # -------------------------------------------------------------------------------------------------------- keys

    def _choose_key(self, specs: list[keys.KeySpec]) -> None:
        """Decide the key of new objects, which only the command line does: no key is used again that was stored."""
        job, options, holder = self.manifest.job, self.options, self.holders[0]
        if options.envelope == "job":
            place = keys.Place(self.manifest.dataset, "", job.id)
            record, _ = keys.new_record(holder.source, self.config.template, place)
            job.keys[record["key_id"]] = record
            job.key_id = record["key_id"]
        elif options.envelope == "object":
            job.key_id = ""
            if specs[0].kek is not None and job.wraps + self.manifest.total("todo") >= 1 << 32:
                raise Refused(
                    f"{specs[0].name} has wrapped {job.wraps} keys of this dataset, of 2^32: rewrap with another"
                )
        elif specs[0].keyset is None:
            raise Refused(f"{specs[0].name} wraps data keys: give --envelope job or object")
        else:
            job.key_id = holder.key_id
            job.used = sorted({*job.used, holder.key_id})

    def _write_with(self, specs: list[keys.KeySpec]) -> None:
        """Tell workers how to encrypt."""
        manifest, config = self.manifest, self.config
        if not manifest.job.options.get("envelope") and specs[0].keyset is None:
            raise Refused(f"{specs[0].name} wraps data keys: give --envelope job or object")
        assert manifest.signer is not None
        for key_id, record in manifest.job.keys.items():
            manifest.job.keys[key_id] = keys.signed(record, manifest.signer.record_key)
        config.dataset, config.job, config.record_key = manifest.dataset, manifest.job.id, manifest.signer.record_key
        config.envelope = manifest.job.options.get("envelope") or ""
        config.key_id, config.records = manifest.job.key_id, dict(manifest.job.keys)
        config.binding = manifest.job.options["binding"]
        config.old_binding = manifest.job.options.get("old_binding", config.binding)

    def _keep_records(self) -> None:
        """Keep the records of shared keys next to the objects, for users who have lost the manifest."""
        if not self.manifest.job.is_decrypted:
            for key_id, record in self.manifest.job.keys.items():
                self._keep_record(key_id, json.dumps(record).encode())

    def _keep_record(self, key_id: str, text: bytes) -> None:
        name = keys.record_name(key_id)
        try:
            there, version = self.target.get(name)
        except MissingError:
            self.target.put(name, text)
        else:
            if there != text:
                self.target.put(name, text, version)

    # ------------------------------------------------------------------------------------------------ rekey, rewrap

    def _of_target(self) -> Manifest:
        """Return the manifest of the target, which rekey and rewrap need."""
        there = self._loaded(lambda: self._load(self.target))
        if there is None:
            raise Refused(
                f"{self.target.url} has no manifest: restore {NAME}, or `warpaes bulk adopt` makes one of the objects "
                "that lie there"
            )
        if there.job.is_decrypted:
            raise Refused(f"{self.target.url} was made by decrypt: there is nothing to re-encrypt")
        return there

    def _rekey(self) -> None:
        options = self.options
        there = self._manifest = self._of_target()
        job = there.job
        assert there.signer is not None
        # Only the new key can have saved this, so a holder of the old one has not decided what is done already.
        begun = there.signer.holder is self.holders[0] and job.command == "rekey"
        if begun and (there.total("todo") or job.options.get("unlisted") or not options.envelope):
            if job.options.get("envelope", "") != options.envelope:
                raise Refused(f"this rekey was begun with --envelope {job.options.get('envelope')!r}")
            if not self._joins:
                if options.drop_missing:
                    self._drop_missing()
                self._again()
        else:
            if job.command != "rekey":  # of one under the old key only that key's holders know
                self._ended(there)
            self._begin_rekey(there)
        self.config.template = job.options["template"]
        self._choose_key(self.new_specs or self.specs)
        self._write_with(self.new_specs or self.specs)
        self._work(REKEY)
        if self._joins:
            return
        self._find_unlisted()
        job.options["unlisted"] = len(self.unlisted)  # if there are any, the same command looks for them again
        if job.finished and not self.progress.errors:
            if options.drop_old_keys:
                self._drop_keys()
            job.options.pop("old_binding", None)
        self._save()

    def _drop_missing(self) -> None:
        """Take failed rows whose objects are gone out of the manifest, so that a rekey can end without them."""

        def is_missing(row: Row) -> bool:
            if row.todo and row.error:
                try:
                    self.target.stat(row.key)
                except MissingError:
                    return True
            return False

        missing = self.manifest.drop(is_missing)
        self.notes += [f"{row.key} is missing, and was taken out of the manifest" for row in missing[:SHOWN]]
        if len(missing) > SHOWN:
            self.notes.append(f"and {len(missing) - SHOWN} more")

    def _begin_rekey(self, there: Manifest) -> None:
        options, job, holder = self.options, there.job, self.holders[0]
        assert there.signer is not None
        if not options.envelope and not job.options.get("envelope"):
            if there.signer.holder is holder:
                raise Refused(f"all of {self.target.url} is under {holder}: give --new-key, or rotate KEY")
            if holder.key_id in job.used:
                raise Refused(
                    f"{holder}: objects of {self.target.url} were under it before, and old copies of them could come "
                    "back: give a new key"
                )
        self._try_old_keys(there)
        job.id, job.command, job.finished = secrets.token_hex(16), "rekey", False
        old = job.options.get("old_binding", job.options.get("binding", BOUND))
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

    def _try_old_keys(self, there: Manifest) -> None:
        """Refuse keys that open none of the dataset's wrapped keys, before anything is changed."""
        records = [record for record in there.job.keys.values() if not record.get("replaced")]
        if not records and there.job.options.get("envelope"):
            rows = (row for _, each in there.each() for row in each if row.is_sealed and row.wrapped)
            records = [json.loads(row.wrapped)[0] for row in itertools.islice(rows, 1)]
        sources = [spec.open() for spec in self.specs]
        for record in records:
            keys.unwrap(sources, record)

    def _mark(self, todo: str, wanted: Callable[[Row], bool]) -> int:
        """Note that a command has to process these rows; return how many."""
        count = 0
        for number, rows in self.manifest.each():
            for row in rows:
                if wanted(row):
                    row.todo, row.error, row.attempt = todo, "" if row.is_sealed else row.error, 0
                    count += 1
            self.manifest.change(number)
        return count

    def _find_unlisted(self) -> None:
        """Find objects of the target that no row has: they are still under the old key."""
        manifest = self.manifest
        suffix = manifest.job.options.get("suffix") or ""
        in_place = bool(suffix) and manifest.job.source == self.target.url
        for entry in self.target.list():
            key = entry.key
            if key.startswith(FOLDER) or (in_place and not key.endswith((suffix, suffix + KEY_SUFFIX))):
                continue
            row = manifest.find(key.removesuffix(suffix))
            if row is None and key.endswith(KEY_SUFFIX):
                row = manifest.find(key.removesuffix(KEY_SUFFIX).removesuffix(suffix))
            if row is None or not row.is_sealed:
                self.unlisted.append(key)
        self.progress.errors += len(self.unlisted)

    def _drop_keys(self) -> None:
        """Forget the wrapped data keys that this rekey has replaced."""
        job = self.manifest.job
        old = [key_id for key_id, record in job.keys.items() if record.get("job") != job.id]
        for key_id in old:
            del job.keys[key_id]
        self._save()
        for key_id in old:
            with contextlib.suppress(MissingError):
                self.target.remove(self.target.stat(keys.record_name(key_id)))

    def _rewrap(self) -> None:
        there = self._manifest = self._of_target()
        job = there.job
        if not job.options.get("envelope"):
            raise Refused(
                f"{self.target.url} is encrypted with a keyset itself, so nothing is wrapped: rekey changes its key"
            )
        if not self.new_specs:
            raise Refused("--new-key is missing: the key that is to wrap the data keys")
        assert there.signer is not None
        if not (there.signer.holder is self.holders[0] and job.command == "rewrap" and there.total("todo")):
            self._ended(there)
            old = [spec.open() for spec in [*self.specs, *self.new_specs]]
            records, left = keys.rewrap_all(list(job.keys.values()), old, self.holders[0].source)
            job.keys = {record["key_id"]: record for record in records}
            if left:
                self.notes.append(f"{len(left)} wrapped keys that a rekey has replaced stay under their old key")
            job.command, job.finished = "rewrap", False
            self._mark("rewrap", lambda row: row.is_sealed and bool(row.wrapped))
            job.wraps = job.wraps if there.signer.holder is self.holders[0] else 0
            there.resign(self.holders[0])
        else:
            self._again()
        self._write_with(self.new_specs)
        self._work(REWRAP)

    # -------------------------------------------------------------------------------------------------------- adopt

    def _adopt(self) -> None:
        """Take over a dataset whose manifest nothing authenticates, or that has none: every object is authenticated."""
        options = self.options
        there = self._load(self.target)
        if there is not None and (there.job.command != "adopt" or there.job.finished):
            raise Refused(f"{self.target.url}/{NAME} is authentic already: there is nothing to adopt")
        old = manifest_1.load(self.target)
        if old is not None and old.command == "decrypt":
            raise Refused(f"{self.target.url} was made by decrypt: there is nothing to adopt; remove {NAME_1}")
        bound = options.bind_names
        if bound is None and old is not None:
            bound = bool(old.options.get("bind_names"))
        binding = UNBOUND if bound is False else BOUND if options.dataset else BARE
        if there is None:
            rows = self._rows_of_1(old) if old is not None else list(self.listing.rows(None))
            envelope = str((old.options if old is not None else {}).get("envelope") or "")
            if not envelope:
                envelope = "object" if any(row.wrapped for row in rows) else "job" if self.listing.records else ""
            template, suffix = (str((old.options if old else {}).get(name) or "") for name in ("template", "suffix"))
            kept = {
                "envelope": envelope,
                "template": template or options.template or TEMPLATE,
                "suffix": suffix,
                "binding": binding,
            }
            job = Job(secrets.token_hex(16), "adopt", old.source if old else "", self.target.url, kept)
            job.keys = dict(old.keys if old is not None else self.listing.records)
            dataset = options.dataset or secrets.token_hex(16)
            self._manifest = Manifest(self.target, job, Signer.create(dataset, self.holders[0]), dataset)
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
                f"{self.specs[0].name} only wraps keys, and the objects have no wrapped keys: give the keyset"
            )
        self._write_with(self.specs)
        if binding == UNBOUND:
            self.notes.append("the objects are not bound to their names: rekey binds them")
        self._work(ADOPT)
        if self.manifest.job.finished:
            if old is not None:
                self.target.remove(self.target.stat(NAME_1))
            if any(shard.states.get(PENDING) for shard in self.manifest.shards):
                self.manifest.job.command, self.manifest.job.finished = "encrypt", False
                self._save()

    def _rows_of_1(self, old: manifest_1.Manifest1) -> list[Row]:
        """Return the rows of an old manifest: written objects are checked, the others remain to be encrypted."""
        rows = []
        for row in old.rows:
            if row.is_sealed:
                row.todo = "adopt"
            else:
                row = Row(row.key, row.source, row.size, row.version)
            rows.append(row)
        return rows

    # ------------------------------------------------------------------------------------------------------- verify

    def _verify(self) -> None:
        manifest = self._sealed(self.target)
        if manifest is None:
            self._manifest = Manifest.in_memory(self.target, self.listing.rows(None))
        elif self.options.name:
            self._manifest = Manifest.in_memory(
                self.target, [self._find(manifest, name) for name in sorted(set(self.options.name))]
            )
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
            raise Refused(f"--name: the manifest of {self.target.url} has no object {name!r}")
        return row

    # ----------------------------------------------------------------------------------------------------- the work

    def _take_shards(self, task: Task) -> None:
        """Process shards of a job that another driver has begun."""
        manifest = self.manifest
        self.progress.objects, self.progress.bytes = manifest.total("rows"), manifest.total("bytes")
        self._save()  # before anything is written under a new key
        self._keep_records()
        self._dispatch(task)

    def _work(self, task: Task) -> None:
        """Process these rows, and leave no parts: neither those of earlier runs nor this one's."""
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
        self._save()  # before anything is written under a new key
        self._keep_records()
        if self._claims is not None:
            manifest.mine = set()
        else:  # which leaves the parts of other drivers
            manifest.sweep()
            self.swept = self.target.sweep(manifest)
        try:
            self._dispatch(task)
        except (KeyboardInterrupt, StoppedError):
            with contextlib.suppress(OSError, PermanentError):  # else the next run does it
                self.swept += self.target.sweep(manifest)
            raise
        if progress.deaths:
            time.sleep(SETTLE)  # requests of a worker that died may still be on their way
        self.swept += self.target.sweep(manifest)
        manifest.refresh()
        manifest.mine = None
        manifest.job.finished = not manifest.total("todo")
        self._save()

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
                except (OSError, PermanentError) as error:  # objects that are done are found by the next run
                    self.progress.say(f"the manifest could not be saved: {error}")
            raise
        finally:
            pool.close()
            self.progress.in_flight = 0

    def _every_while(self) -> None:
        self._check()
        # A save may take a while: a twentieth of the time may go there.
        if not self.manifest.read_only and time.monotonic() - self._saved > max(
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
            self.manifest.save()
        except ExistsError:
            raise Refused(f"{self.target.url}: another job has written the manifest: this one ends") from None
        self._saved = time.monotonic()
        self._saving = self._saved - begin

    def _report(self) -> dict[str, Any]:
        progress, manifest = self.progress, self.manifest
        progress.tell(last=True)
        if self.options.remove_source and self.source.keeps_versions():
            self.notes.append(f"{self.source.url} keeps old versions: the originals are still among them")
        if self.options.command == "rekey" and self.target.keeps_versions():
            self.notes.append(f"{self.target.url} keeps old versions, which the old key opens")
        verifies = self.options.command == "verify"
        if verifies:
            errors, first = progress.errors, progress.first_errors
        else:
            errors = manifest.total("errors") + len(self.unlisted)
            first = [{"key": row.source or row.key, "error": row.error} for row in manifest.failed(SHOWN)]
            sentence = "the manifest does not have this object, so it was left as it is: remove it, or restore the row"
            first += [{"key": key, "error": sentence} for key in self.unlisted]
        if left := self.source.left_out:
            some = ", ".join(f"{name} ({why})" for name, why in list(left.items())[:LEFT_OUT])
            self.notes.append(
                f"left out: {some}" + (f" and {len(left) - LEFT_OUT} more" if len(left) > LEFT_OUT else "")
            )
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
            "notes": self.notes,
        }


def status(url: str, options: dict[str, Any], places: list[str]) -> dict[str, Any]:
    """Return a summary of a target's manifest, authenticated if there are keys, and its lock."""
    storage: Storage = open_storage(url, options)
    holders = [holder for place in places for holder in keys.KeySpec.read(place).holders()]
    for again in range(GETS):
        try:
            return _status(storage, url, holders)
        except ManifestError:
            # A running job may have replaced a shard since the root was read.
            if again + 1 == GETS or not Manifest.exists(storage):
                raise
            time.sleep(0.1)
    raise AssertionError


def _status(storage: Storage, url: str, holders: list[keys.Holder]) -> dict[str, Any]:
    manifest = Manifest.load(storage, holders or None)
    if manifest is None:
        if manifest_1.exists(storage):
            raise Refused(f"{url}/{NAME_1} is a manifest of warpaes 1.0: `warpaes bulk adopt` takes it over")
        raise Refused(f"{url} has no manifest: bulk has done nothing here")
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
