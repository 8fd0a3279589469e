"""Encrypted names of a dataset's objects: the dataset's names key, and a storage that maps plaintext to encrypted
names.

The names key is a random streaming AEAD key that belongs to one dataset and never changes. A key given on the command
line wraps the names key. The names key encrypts names as ``warpaes encrypt --encrypt-names`` does (docs/formats.md),
and seals the parts of the manifest that contain names.
"""

from __future__ import annotations

import functools
import json
import secrets
from collections.abc import Container, Iterator, Sequence
from concurrent.futures import Executor
from typing import Any

from .. import _native
from .._native import Keyset
from .._printable import printable
from ..exceptions import FormatError, InvalidTag
from ..names import EncryptedNames
from . import keys
from .around import Around
from .attributes import Attributes
from .storage import FOLDER, KEY_SUFFIX, Attempt, Entry, MissingError, Names, PermanentError, Storage, Upload

TEMPLATE = "AES256_GCM_HKDF_1MB"
#: The prefix of the associated data for sealed parts of a manifest. The kind of part and the dataset's ID follow.
LABEL = "warpaes bulk manifest 3"


class NamesKey:
    """A dataset's names key, and its record, which contains the wrapped key."""

    def __init__(self, dataset: str, key: bytes, record: dict[str, Any]) -> None:
        """Store a key that was created or unwrapped."""
        self.dataset, self.key, self.record = dataset, key, record
        self._keyset = Keyset.from_raw(TEMPLATE, key)

    @staticmethod
    def create(dataset: str, job: str, source: keys.KeySource) -> NamesKey:
        """Create a names key for a new dataset."""
        return NamesKey(dataset, secrets.token_bytes(32), {}).wrapped(job, source)

    @staticmethod
    def open(dataset: str, record: Any, sources: list[keys.KeySource]) -> NamesKey:
        """Return the names key in a record. The record must belong to this dataset.

        Raises:
            PermanentError: The record is invalid, or no source unwraps its key.
        """
        if (
            not keys.is_record(record)
            or not keys.is_of(record, dataset, keys.NAMES_PLACE)
            or record["template"] != TEMPLATE
        ):
            raise PermanentError("the record of the names key is invalid or of another dataset; restore it from a copy")
        key = keys.unwrap(sources, record)
        if len(key) != 32:
            raise PermanentError(f"the names key has {len(key)} bytes, not 32; restore its record from a copy")
        return NamesKey(dataset, key, record)

    def wrapped(self, job: str, source: keys.KeySource, dataset: str = "") -> NamesKey:
        """Return the same key in a new record, wrapped by a source. `dataset` is the new record's dataset, if it
        differs."""
        place = keys.Place(dataset or self.dataset, keys.NAMES_PLACE, job)
        return NamesKey(place.dataset, self.key, keys.record_of(source, TEMPLATE, place, self.key))

    @functools.cached_property
    def names(self) -> EncryptedNames:
        """Return the object that encrypts and decrypts names."""
        return EncryptedNames(self._keyset)

    def _data(self, part: str) -> bytes:
        return f"{LABEL} {part} {self.dataset}".encode()

    def seal(self, data: bytes, part: str) -> bytes:
        """Encrypt a part of the manifest: "root" or "shard"."""
        sealed = bytearray()
        writer = _native.Writer(sealed.extend, self._keyset, self._data(part))
        writer.write(data)
        writer.finish()
        return bytes(sealed)

    def unseal(self, sealed: bytes, part: str) -> bytes:
        """Decrypt a part of the manifest.

        Raises:
            InvalidTag, FormatError: The part is not authentic.
        """
        reader = _native.Reader(sealed, self._keyset, self._data(part))
        try:
            return reader.read(0, reader.size)
        finally:
            reader.close()


def record_in(storage: Storage) -> dict[str, Any] | None:
    """Return the record in a target, or None. The record is not authentic until it is opened."""
    try:
        text, _ = storage.get(keys.NAMES_PLACE, keys.MAX_RECORDS)
    except MissingError:
        return None
    return keys.parse_records(text, f"{storage.url}/{keys.NAMES_PLACE}")[0]


def to_json(record: dict[str, Any]) -> bytes:
    """Return a record as bytes, in the form that is stored in a target."""
    return json.dumps(record).encode()


def with_names(storage: Storage, key: bytes) -> Storage:
    """Wrap a storage whose names are encrypted under a names key, so that its objects have plaintext names. If the key
    is empty, return the storage unchanged."""
    return NamedStorage(storage, EncryptedNames(Keyset.from_raw(TEMPLATE, key))) if key else storage


class NamedStorage(Around):
    """A storage that shows objects under their plaintext names.

    The names in the wrapped storage are encrypted, except those of bulk's own files. `strangers` contains the names
    that `list` skipped because they are not names of this dataset, with the reasons.
    """

    def __init__(self, inner: Storage, names: EncryptedNames) -> None:
        """Wrap the root of a tree with encrypted names."""
        super().__init__(inner)
        self._names, self.hides_names = names, True
        self.has_attributes = False  # only the manifest contains the originals' attributes

    @staticmethod
    def _is_own(key: str) -> bool:
        return not key or key.startswith(FOLDER)

    def stored(self, key: str) -> str:
        """Return the encrypted name of an object."""
        if self._is_own(key):
            return key
        try:
            return self._names.encrypt(key)
        except ValueError as error:
            sentence = str(error).removeprefix("name: ")
            raise PermanentError(
                f"{key!r} cannot be encrypted as a name, because a part of it {sentence}; rename the object, or "
                "exclude it"
            ) from None

    def plain(self, stored: str) -> str:
        """Return the plaintext name of an object.

        Raises:
            InvalidTag, FormatError: The name does not belong to this folder of this dataset.
        """
        if self._is_own(stored):
            return stored
        name = self._names.decrypt(stored)
        if self._is_own(name) or self._names.encrypt(name) != stored:
            raise FormatError("stored: is not the canonical form of an encrypted name, or is a name that bulk reserves")
        return name

    def _entry(self, entry: Entry) -> Entry:
        return Entry(self.stored(entry.key), entry.size, entry.version)

    def list(self, key: str = "") -> Iterator[Entry]:
        """Return all objects whose plaintext names begin with `key`, in the order of their encrypted names."""
        for entry in self.inner.list(key if key.startswith(FOLDER) else ""):
            try:
                name = self.plain(entry.key)
            except (InvalidTag, FormatError) as error:
                self.strangers[entry.key] = str(error).removeprefix("stored: ")
                continue
            if name.startswith(key):
                yield Entry(name, entry.size, entry.version)

    def stat(self, key: str) -> Entry:
        """Return an object's entry. Raise MissingError if the object does not exist."""
        found = self.inner.stat(self.stored(key))
        return Entry(key, found.size, found.version)

    def read(self, entry: Entry, offset: int, length: int) -> bytes:
        """Return a byte range of this version of an object."""
        return self.inner.read(self._entry(entry), offset, length)

    def create(self, key: str, size: int, replace: str | None, attempt: Attempt, threads: Executor) -> Upload:
        """Begin to write an object."""
        return self.inner.create(self.stored(key), size, replace, attempt, threads)

    def put(self, key: str, data: bytes, replace: str | None = None) -> str:
        """Write a small object in one call."""
        return self.inner.put(self.stored(key), data, replace)

    def remove(self, entry: Entry) -> None:
        """Remove this version of an object."""
        self.inner.remove(self._entry(entry))

    def sweep(self, keys: Names) -> int:
        """Remove temporary files or unfinished uploads of these objects."""
        return self.inner.sweep(_StoredNames(self, keys))

    def mode_of(self, entry: Entry) -> int | None:
        """Return the permissions that a copy of an object should have."""
        return self.inner.mode_of(self._entry(entry))

    def attributes(self, entry: Entry) -> Attributes:
        """Return no attributes. Encrypted objects do not have the originals' attributes, because these may contain
        names."""
        return {}

    def not_kept(self, replaced: Container[str]) -> Sequence[str]:
        """Return the attributes that copies of objects lose."""
        return self.inner.not_kept(replaced)

    def check_key(self, key: str) -> None:
        """Raise PermanentError if no object can have this name or its encrypted form."""
        stored = self.stored(key)
        try:
            self.inner.check_key(stored)
        except PermanentError as error:
            raise PermanentError(f"{key!r} would have an encrypted name that the storage refuses: {error}") from None


class _StoredNames(Container[str]):
    """The encrypted names of a job's objects and of their records in a target."""

    def __init__(self, storage: NamedStorage, names: Names) -> None:
        self._storage, self._names = storage, names

    def __contains__(self, stored: object) -> bool:
        try:
            name = self._storage.plain(str(stored))
        except (InvalidTag, FormatError):
            return False
        return name in self._names or name.removesuffix(KEY_SUFFIX) in self._names

    def has_beginning(self, beginning: str) -> bool:
        """Return whether a temporary file whose name has this beginning is in a folder of the dataset."""
        folder = beginning.rpartition("/")[0]
        while folder.endswith("-"):  # a part of the same name
            folder = folder.rpartition("/")[0]
        try:
            return not folder or bool(self._storage.plain(folder))
        except (InvalidTag, FormatError):
            return False


def refused_names(storage: Storage) -> Iterator[tuple[str, str]]:
    """Yield each name that a listing skipped because it does not belong to the dataset, with an error message."""
    for stored, reason in storage.strangers.items():
        yield stored, f"{printable(stored)!r} is not an encrypted name in this dataset: {reason}"
