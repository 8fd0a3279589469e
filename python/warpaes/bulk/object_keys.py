"""Keys of single objects, which come from a manifest or from the records next to the objects, or are new."""

from __future__ import annotations

import abc
import contextlib
import json
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from ..exceptions import FormatError, InvalidTag, KeysetError
from . import keys, transfer
from .config import BARE, BESIDE, BOUND, Config
from .parquet import ParquetFile
from .rows import Row
from .storage import KEY_SUFFIX, ChangedError, Entry, ExistsError, MissingError, PermanentError, Storage

#: The content of an object, as plaintext or as stored.
Content = transfer.Plain | transfer.Opened | ParquetFile


@dataclass
class OwnKey:
    """An object's own data key: the keyset, the records of this job's attempts, and the records that the new record
    replaces."""

    keyset: keys.DataKey
    records: list[dict[str, Any]]  #: the first is the keyset's record
    old: list[dict[str, Any]]


class ObjectKeys(abc.ABC):
    """Finds and creates the keys of objects. Worker, a subclass, reads the objects of source and target."""

    config: Config
    source: Storage
    target: Storage
    requests: Executor
    old_keys: keys.Keyring
    new_keys: keys.Keyring
    new_sources: list[keys.KeySource]

    @abc.abstractmethod
    def _opened(self, row: Row) -> Content:
        """Open the sealed object of a row."""

    @abc.abstractmethod
    def _there(self, entry: Entry, keyset: keys.DataKey | None) -> Content:
        """Read an object in the target that this job has written."""

    @property
    def _dataset(self) -> Storage:
        """Return the storage that contains the encrypted objects. Objects are bound to their names in this storage."""
        return self.source if self.config.command == "decrypt" else self.target

    def _associated(self, name: str, binding: str) -> bytes:
        # The source may be a single object, which has no name below the root.
        name = self._dataset.stored(name or self.source.name)
        if binding == BOUND:
            return keys.name_data(self.config.dataset, name)
        return name.encode() if binding == BARE else b""

    def _open(
        self, storage: Storage, entry: Entry, key: keys.DataKey, associated: bytes, expected: str, digest: bool = False
    ) -> transfer.Opened | ParquetFile:
        """Open a sealed object. The type of the key determines the format."""
        kind = ParquetFile if isinstance(key, keys.ParquetKey) else transfer.Opened
        return kind(storage, entry, self.requests, key, associated, expected, digest)  # type: ignore[arg-type]

    def _old_keyset(self, row: Row) -> keys.DataKey:
        """Return the key of an object that is in a manifest."""
        if row.wrapped:
            return self.old_keys.open(json.loads(row.wrapped)[0])
        return self.old_keys.get(row.old_key_id if self.config.command == "decrypt" else row.key_id)

    def _own_key(self, row: Row) -> OwnKey:
        """Create an object's own data key, and write its record next to the object.

        Abandoned attempts may still be running and may write the object, so the records of this job's attempts are
        kept. These records and the row's records are authentic; no other records are kept or used.
        """
        name = row.key + KEY_SUFFIX
        place = keys.Place(self.config.dataset, self.target.stored(row.key), self.config.job)
        record, keyset = keys.new_record(self.new_sources[0], self.config.template, place)
        record = keys.signed(record, self.config.record_key)
        known = json.loads(row.wrapped) if row.wrapped and self.config.command == "rekey" else []
        old = [keys.signed(keys.replaced(each), self.config.record_key) for each in known]
        while True:
            found: list[dict[str, Any]] = []
            version = None
            # Anything that is not a small file, such as a link, is neither read nor replaced.
            with contextlib.suppress(MissingError):
                text, version = self.target.get(name, keys.MAX_RECORDS)
                found = self._parsed(text, name)
            earlier = [each for each in found if keys.is_signed(each, self.config.record_key, place)]
            if any(each not in earlier and each not in known for each in found):
                self._check_records(row, name, earlier)
            try:
                self.target.put(name, keys.to_json([record, *earlier, *old]).encode(), version)
            except ExistsError:  # another attempt has written the file
                continue
            return OwnKey(keyset, [record, *earlier], old)

    @staticmethod
    def _parsed(text: bytes, name: str) -> list[dict[str, Any]]:
        try:
            return keys.parse_records(text, name)
        except PermanentError:
            return [{}]  # a placeholder that is not authentic

    def _check_records(self, row: Row, name: str, earlier: list[dict[str, Any]]) -> None:
        """Refuse to replace records that are not authentic if one of them may be the only copy of a key in use.

        This is impossible if the object does not exist, if it is the version in the manifest, or if a different record
        opens it.
        """
        try:
            entry = self.target.stat(row.key)
        except MissingError:
            return
        if self.config.command == "rekey":
            try:
                with closing(self._opened(row)) as there:
                    for _ in there.pieces():
                        pass
                return
            except (ChangedError, InvalidTag, FormatError):
                pass
        for record in earlier:
            try:
                self._there(entry, self.new_keys.open(record)).close()
                return
            except (InvalidTag, FormatError, PermanentError):
                continue
        if self.config.command == "encrypt" and self.config.overwrite:
            return
        mended = "restore the file, or remove both"
        if self.config.command == "encrypt":
            mended = "restore the file, or encrypt the object again with --overwrite"
        raise PermanentError(f"{name} was altered and may have contained the key of {row.key}; {mended}")

    def _key_of(self, row: Row, entry: Entry) -> tuple[keys.DataKey, str, dict[str, Any] | None]:
        """Return an object's key, the key's ID, and the record next to the object that contains the key, or None if
        the key has a different origin.

        Without a manifest, all available keys are tried.
        """
        if row.wrapped != BESIDE and (row.wrapped or row.key_id or row.old_key_id):
            return self._old_keyset(row), row.key_id or row.old_key_id, None
        records = []
        if row.wrapped == BESIDE:
            beside = entry.key + KEY_SUFFIX
            records = keys.parse_records(self.source.get(beside, keys.MAX_RECORDS)[0], beside)
            if self.config.named_dataset:  # another dataset's record may contain a key that other users have
                dataset, name = self.config.named_dataset, self._dataset.stored(entry.key)
                records = [each for each in records if keys.is_of(each, dataset, name)]
        associated = self._associated(entry.key, self.config.old_binding)
        refused: Exception | None = None
        for key_id, open_keyset in self.old_keys.any_of(records):
            try:
                keyset = open_keyset()
                self._open(self.source, entry, keyset, associated, "").close()
            except (InvalidTag, FormatError, KeysetError, PermanentError) as error:
                refused = error if refused is None or isinstance(error, InvalidTag) else refused
                continue
            return keyset, key_id, next((each for each in records if each["key_id"] == key_id), None)
        raise refused or PermanentError("none of the given keys can have encrypted the object; pass its key with -k")

    def _settle(self, row: Row, own: OwnKey | None, key_id: str) -> str:
        """Keep only the record in use and the records that it replaced next to a written object. Return these
        records."""
        if own is None:
            return ""
        kept = [record for record in own.records if record["key_id"] == key_id] + (
            [] if self.config.drop_old_keys else own.old
        )
        text = keys.to_json(kept)
        if len(kept) < len(own.records) + len(own.old):
            name = row.key + KEY_SUFFIX
            self.target.put(name, text.encode(), self.target.stat(name).version)
        return text

    def _put_records(self, key: str, records: list[dict[str, Any]]) -> str:
        """Write an object's records next to the object, replacing any existing records."""
        text = keys.to_json([keys.signed(each, self.config.record_key) for each in records])
        name = key + KEY_SUFFIX
        try:
            version = self.target.stat(name).version
        except MissingError:
            version = None
        self.target.put(name, text.encode(), version)
        return text
