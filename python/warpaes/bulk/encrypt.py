"""Encryption of a source into a dataset, and decryption of a dataset."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterable
from typing import Any

from . import manifest_1
from .config import BARE, BOUND, TEMPLATE, UNBOUND
from .dispatch import DECRYPT, ENCRYPT, REMOVE
from .job import Run
from .keys import NAMES_PLACE
from .listing import Options, Refused
from .manifest import NAME, NAME_1, Job, Manifest, NamesError, Signer
from .names import NamedStorage, NamesKey
from .rows import ERROR, Row
from .storage import MissingError, is_within


class Transfer(Run):
    """A job that copies objects from a source to a target."""

    def __init__(self, options: Options) -> None:
        """Open storages and keys."""
        super().__init__(options)
        self._apart()

    def _take_part(self, held: contextlib.ExitStack) -> None:
        self._find_source()
        super()._take_part(held)

    def _find_source(self) -> None:
        """Raise an exception if the source is missing, before anything is created in the target."""
        if self.source.files is not None:
            next(iter(self.source.list()), None)

    def _say_lost(self, lost: Iterable[str]) -> None:
        """Report the attributes that copies lose, before the work begins. Refuse to remove originals that lose
        attributes without --accept-loss."""
        job = self.manifest.job
        lost = sorted({*job.options.get("lost", []), *lost})
        if not lost:
            return
        job.options["lost"] = lost
        sentence = f"not kept from {self.source.url}: " + "; ".join(lost)
        if self.options.remove_source and not self.options.accept_loss:
            raise Refused(
                f"{sentence}. --remove-source would remove the only copy of these attributes; add --accept-loss to "
                "allow this"
            )
        self.progress.say(sentence)
        self.notes.append(sentence)

    def _remove_source(self) -> None:
        if self.options.remove_source and not self._joins:
            # Before originals are removed, the manifest has durably recorded their copies.
            self._dispatch(REMOVE)
            self._save()

    def _apart(self) -> None:
        """Refuse a source inside the target, or vice versa, because the job would read its own output."""
        into, out = is_within(self.target, self.source), is_within(self.source, self.target)
        if into and out:
            if not self.options.suffix:
                raise Refused("source and target are the same; choose a different target, or add --suffix")
            if self.options.encrypt_names:
                raise Refused("--encrypt-names: source and target are the same; choose a different target")
        elif into:
            raise Refused(f"{self.target.url} is inside {self.source.url}; choose a target outside the source")
        elif out:
            try:
                self.source.stat("")
            except MissingError:
                sentence = "choose a target that does not contain the source"
                raise Refused(f"{self.source.url} is inside {self.target.url}; {sentence}") from None
            if not self.options.suffix and self.source.url.rpartition("/")[0] == self.target.url:
                raise Refused(f"{self.source.url} is also the target; choose a different target, or add --suffix")

    def _same_job(self, there: Manifest, kept: dict[str, Any]) -> None:
        """Refuse to continue a different job, or the same job with different options."""
        job, decrypts = there.job, self.options.command == "decrypt"
        if job.is_decrypted != decrypts or job.source != self.source.url:
            was = "decrypt" if job.is_decrypted else "encrypt"
            raise Refused(
                f"{self.target.url} contains another job's manifest ({was} of {job.source}); choose a different target"
            )
        if job.command not in ("encrypt", "decrypt") and not job.finished:
            raise Refused(f"{self.target.url}: the {job.command} job has not finished; run that command again first")
        if job.options.get("binding") == BARE:
            raise Refused(f"warpaes 1.0 bound the objects in {self.target.url} to their names; run rekey first")
        if self.options.bind_names is False and job.options.get("binding") == BOUND:
            raise Refused(f"the objects in {self.target.url} are bound to their names; omit --no-bind-names")
        if self.options.template and self.options.envelope:
            kept = {**kept, "template": self.options.template}
        for name, value in (("include", self.options.include), ("exclude", self.options.exclude)):
            if (was_given := job.options.get(name, [])) != value and not self.options.update:
                raise Refused(
                    f"this job was started with --{name} {was_given!r}, not {value!r}; use the original value, or "
                    "--update to list the source again with other patterns"
                )
        for name, value in kept.items():
            if job.options.get(name) != value:
                raise Refused(
                    f"this job was started with --{name} {job.options.get(name)!r}, not {value!r}; use that value"
                )
        self.config.template = job.options.get("template") or TEMPLATE

    def _same_names(self, there: Manifest) -> None:
        """Refuse to mix encrypted and unencrypted object names in one dataset."""
        if there.names is not None and not self.options.encrypt_names:
            raise Refused("this job was started with --encrypt-names; add the option")
        if there.names is None and self.options.encrypt_names:
            raise Refused(
                f"--encrypt-names: the names in {self.target.url} are not encrypted; choose a different target"
            )

    def _begin(self, manifest: Manifest) -> None:
        """Use an existing or a new manifest. With --dry-run, the manifest is never stored."""
        self._manifest = manifest
        manifest.is_dry = self.options.dry_run
        for name, value in (("include", self.options.include), ("exclude", self.options.exclude)):
            manifest.job.options.pop(name, None)
            if value:
                manifest.job.options[name] = value

    def _join(self, old: Row, new: Row) -> bool:
        """Update a manifest's row from a new listing. Return whether the row changed."""
        if new.size < 0 or (old.size, old.version, old.old_sha256) == (new.size, new.version, new.old_sha256):
            return False  # unchanged, or from a list that contains only names
        if old.is_sealed and not self.options.overwrite:
            old.error = f"{new.source} has changed; use --overwrite to encrypt it again"
            return True
        old.size, old.version, old.state, old.error, old.attempt = new.size, new.version, new.state, new.error, 0
        old.wrapped, old.old_key_id, old.old_sha256 = new.wrapped, new.old_key_id, new.old_sha256
        return True


class Encrypt(Transfer):
    """Encrypts the objects of a source."""

    def do(self) -> None:
        """Encrypt the pending rows."""
        options = self.options
        there = self._loaded(lambda: self._load(self.target))
        kept = {"envelope": options.envelope, "suffix": options.suffix}
        if there is None:
            self._refuse_sealed_source()
            self._refuse_lost_manifest()
            kept["template"] = self.config.template
            kept["binding"] = UNBOUND if options.bind_names is False else BOUND
            job = Job(secrets.token_hex(16), "encrypt", self.source.url, self.target.url, kept)
            dataset, holder = secrets.token_hex(16), self.holders[0]
            names = NamesKey.create(dataset, job.id, holder.source) if options.encrypt_names else None
            self._begin(Manifest(self.target, job, Signer.create(dataset, holder), dataset, names))
            self._use_names(names, "target")
            self.manifest.fill(self.listing.rows())
        else:
            self._same_job(there, kept)
            self._same_names(there)
            self._under_primary(there)
            self._begin(there)
            self._use_names(there.names, "target")
            failed = there.total(ERROR)
            if not self._joins:
                self._again()
            if options.update and not self._joins:
                there.merge(self.listing.rows(there=there), self._join)
            there.job.command = "encrypt"
            if there.job.finished and not failed:  # otherwise, objects of failed attempts may exist
                there.job.id = secrets.token_hex(16)
        self._say_lost(self.source.not_kept(options.target_options.get("put", {})))
        if options.dry_run:
            return
        if self.manifest.total("todo"):
            self._choose_key(self.specs)
        self._write_with(self.specs)
        self._work(ENCRYPT)
        self._remove_source()

    def _refuse_sealed_source(self) -> None:
        """Refuse to encrypt an encrypted dataset. Its manifest need not be authenticated for this check."""
        if self.source.place() == self.target.place():
            return
        try:
            already = Manifest.load(self.source)
        except NamesError:
            raise Refused(f"{self.source.url} is an encrypted dataset; use rekey to change its key") from None
        old = manifest_1.load(self.source) if already is None else None
        if (already is not None and not already.job.is_decrypted) or (old is not None and old.command != "decrypt"):
            raise Refused(f"{self.source.url} is an encrypted dataset; use rekey to change its key")

    def _refuse_lost_manifest(self) -> None:
        """Refuse to replace a dataset with encrypted names that has lost its manifest, because the record in it may be
        the only copy of its names key."""
        try:
            self.target.stat(NAMES_PLACE)
        except MissingError:
            return
        raise Refused(
            f"{self.target.url} is a dataset with encrypted names that has lost its manifest; restore {NAME} from a "
            "copy, or create it with `warpaes bulk adopt --encrypted-names`. If the dataset is not needed, remove "
            f"{NAMES_PLACE}"
        )

    def _under_primary(self, there: Manifest) -> None:
        """Refuse to encrypt into a dataset whose key is not the primary key given on the command line."""
        assert there.signer is not None
        held, primary = there.signer.holder, self.holders[0]
        if held is not primary:
            command = "`warpaes bulk rekey`" if not self.options.envelope else "`warpaes bulk rewrap` or `rekey`"
            keep = f"; --keep-key {held.key_id} continues with the old key" if held.key_id else ""
            raise Refused(
                f"{self.target.url} is encrypted under {held}, but -k encrypts with {primary}; {command} changes the "
                f"dataset to that key{keep}"
            )


class Decrypt(Transfer):
    """Decrypts the objects of a dataset."""

    def _attributes_lost(self) -> list[str]:
        """Return the attributes of the originals that are not restored, as text."""
        options, source = self.options, self.source
        if isinstance(source, NamedStorage):  # encrypted objects have no attributes
            source = source.inner
        if options.no_manifest and (source.has_attributes or self.target.has_attributes):
            return ["content types, metadata and tags, which only a manifest contains"]
        if self.target.has_attributes or not self.listing.attributes:
            return []
        return [
            f"{', '.join(sorted(self.listing.attributes))} of objects: files do not have these, so only the manifest "
            "contains them"
        ]

    def do(self) -> None:
        """Decrypt the pending rows."""
        options = self.options
        sealed = self._sealed(self.source, "source")
        there = self._loaded(lambda: Manifest.load(self.target, self.holders))
        kept = {"suffix": options.suffix, "dataset": sealed.dataset if sealed is not None else options.dataset}
        if there is None:
            if manifest_1.exists(self.target):
                raise Refused(
                    f"{self.target.url}/{NAME_1} is an unauthenticated warpaes 1.0 manifest; decrypt to "
                    "a different target, or remove the manifest"
                )
            job = Job(secrets.token_hex(16), "decrypt", self.source.url, self.target.url, kept)
            dataset = secrets.token_hex(16)
            self._begin(Manifest(self.target, job, Signer.create(dataset, self.holders[0]), dataset))
            self.manifest.fill(self.listing.rows(sealed))
        else:
            self._same_job(there, kept)
            self._begin(there)
            if not self._joins:
                self._again()
            if options.update and not self._joins:
                there.merge(self.listing.rows(sealed), self._join)
        self._read_with(sealed)
        self._say_lost(self._attributes_lost())
        if options.dry_run:
            return
        self._work(DECRYPT)
        self._remove_source()
