"""Keys for objects: a keyset that encrypts all objects, or data keys that a key source wraps (envelopes).

Associated data separates three uses of a key: encryption of objects (`name_data`), wrapping of data keys
(`_record_data`) and wrapping of the keys that authenticate manifests (manifest.py). It begins with a different text for
each use.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from .. import keysources
from .._keyset_places import MANAGERS, read_keyset_text
from .._native import Keyset
from .._once import Kept
from ..exceptions import FormatError, InvalidTag, InvalidUnwrap
from ..keysources._local import StreamingKeys, wraps_keys
from .storage import FOLDER, CredentialsError, PermanentError

#: The prefix of an object's associated data. The dataset's ID and the object's name follow the prefix.
NAME_LABEL = "warpaes bulk object"
#: The prefix of a wrapped data key's associated data. The digest of the key's binding follows the prefix.
RECORD_LABEL = b"warpaes bulk data key 2 "
#: The prefix in warpaes 1.0, which bound a record only to its own ID. Records with this prefix are read but not
#: written.
RECORD_LABEL_1 = b"warpaes bulk data key "
#: The maximum size of an object's records in bytes. Each attempt adds a record.
MAX_RECORDS = 4 << 20
#: The path of the record of a dataset's names key (names.py). The record is bound to this path as its name. Names that
#: begin with FOLDER are reserved, so no object has this name.
NAMES_PLACE = FOLDER + "names.json"
#: The fields of a record that are bound to its data key.
BOUND = ("dataset", "name", "job", "attempt", "template", "key_id")


class KeySource(Protocol):
    """A key-encryption key, which wraps data keys."""

    name: str

    def wrap(self, data_key: bytes, associated_data: bytes) -> bytes:
        """Encrypt a data key."""

    def unwrap(self, wrapped: bytes, associated_data: bytes) -> bytes:
        """Decrypt a data key."""


class KeysetSource:
    """A streaming AEAD keyset as the key-encryption key."""

    def __init__(self, keyset: Keyset, name: str) -> None:
        """Store a keyset. Its name, which must not be secret, appears in messages and records."""
        self.keyset, self.name = keyset, name
        self._keys = StreamingKeys(keyset)

    def wrap(self, data_key: bytes, associated_data: bytes) -> bytes:
        """Encrypt a data key with the primary key."""
        return self._keys.wrap(data_key, associated_data)

    def unwrap(self, wrapped: bytes, associated_data: bytes) -> bytes:
        """Decrypt a data key with the keyset's key that encrypted it."""
        try:
            return self._keys.unwrap(wrapped, associated_data)
        except (InvalidTag, FormatError):
            raise PermanentError(f"no key in {self.name} wrapped this data key; pass the key that wrapped it") from None


class UrlSource:
    """A key source from `keysources`: a key manager, a token or a TPM. Each worker contacts it separately."""

    def __init__(self, source: keysources.KeySource) -> None:
        """Store a key source. It is not contacted before the first call of ``wrap`` or ``unwrap``."""
        self._source = source
        self.name = source.name

    def wrap(self, data_key: bytes, associated_data: bytes) -> bytes:
        """Encrypt a data key. A refused request is not retried."""
        try:
            return self._source.wrap(data_key, associated_data)
        except (keysources.DeniedError, keysources.ExhaustedError) as error:
            raise CredentialsError(str(error)) from error
        except keysources.UnknownKeyError as error:
            raise PermanentError(str(error)) from error

    def unwrap(self, wrapped: bytes, associated_data: bytes) -> bytes:
        """Decrypt a data key. Requests to an unreachable source may be retried."""
        try:
            return self._source.unwrap(wrapped, associated_data)
        except keysources.DeniedError as error:
            raise CredentialsError(f"{self.name} cannot unwrap this data key: {error}") from error
        except (InvalidUnwrap, keysources.UnknownKeyError) as error:
            raise PermanentError(f"{self.name} cannot unwrap this data key: {error}") from error


def _promoted(name: str, secret: bytes, key_id: str) -> bytes:
    """Return a keyset with a different primary key."""
    try:
        found = json.loads(secret)
        enabled = [str(key["keyId"]) for key in found["key"] if key["status"] == "ENABLED"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ValueError(f"--keep-key: {name} is not a keyset") from None
    if key_id not in enabled:
        raise ValueError(f"--keep-key: {name} has no enabled key with the ID {key_id}")
    return json.dumps({**found, "primaryKeyId": int(key_id)}).encode()


@dataclass(frozen=True)
class KeySpec:
    """A value of -k, as sent to a worker: the text of a keyset or of a key-encryption key, or a URL."""

    name: str
    keyset: bytes | None = field(repr=False)  #: the text of a keyset for files
    kek: bytes | None = field(default=None, repr=False)  #: a key-encryption key, which only encrypts keys

    @staticmethod
    def read(place: str, keep_key: str | None = None) -> KeySpec:
        """Read the key that -k names. `keep_key` is the ID of the key that encrypts in place of the primary key."""
        kind = place.partition(":")[0]
        if kind in MANAGERS:
            if keep_key is not None:
                raise ValueError(f"--keep-key: {place} is not a keyset")
            return KeySpec(place, None)
        name, secret = read_keyset_text(place)
        if keep_key is not None:
            secret = _promoted(name, secret, keep_key)
        return KeySpec(name, None, secret) if wraps_keys(secret) else KeySpec(name, secret)

    def open(self) -> KeySource:
        """Return the key source."""
        if self.keyset is not None:
            return KeysetSource(Keyset.parse(self.keyset), self.name)
        if self.kek is not None:
            kek = self.kek
            return UrlSource(keysources.LocalSource(self.name, lambda: kek))
        return UrlSource(keysources.from_url(self.name))

    def holders(self) -> list[Holder]:
        """Return the enabled keys, with the primary key first. A source whose key cannot be read counts as one key."""
        text = self.keyset or self.kek
        try:
            found = json.loads(text or b"")
            every = [key for key in found["key"] if key["status"] == "ENABLED"]
        except (ValueError, KeyError, TypeError, RecursionError):  # a raw key, or a URL
            return [Holder(self.open(), self.name, "")]
        holders = []
        for key in sorted(every, key=lambda key: bool(key["keyId"] != found["primaryKeyId"])):
            alone = json.dumps({"primaryKeyId": key["keyId"], "key": [key]}).encode()
            spec = replace(self, keyset=alone) if self.keyset is not None else replace(self, kek=alone)
            holders.append(Holder(spec.open(), self.name, str(key["keyId"])))
        return holders


@dataclass(frozen=True)
class Holder:
    """A key that wraps the key of a manifest."""

    source: KeySource
    name: str
    key_id: str  #: the key's ID in its keyset, or "" for keys that are not in a keyset

    def __str__(self) -> str:
        """Return the key's name for messages."""
        return f"the key {self.key_id} of {self.name}" if self.key_id else self.name


def merged(specs: list[KeySpec]) -> Keyset | None:
    """Return the first keyset, with the keys of all other keysets added for decryption. Return None if there are only
    URLs."""
    keysets = [(spec.name, spec.keyset) for spec in specs if spec.keyset is not None]
    if not keysets:
        return None
    all_of_them = json.loads(Keyset.parse(keysets[0][1]).to_json())
    keys = {key["keyId"]: key for key in all_of_them["key"]}
    for name, keyset in keysets[1:]:
        for key in json.loads(Keyset.parse(keyset).to_json())["key"]:
            if keys.setdefault(key["keyId"], key)["keyData"] != key["keyData"]:
                raise ValueError(
                    f"{name} and an earlier keyset have different keys with the ID {key['keyId']}; omit one keyset"
                )
    return Keyset.parse(json.dumps({**all_of_them, "key": list(keys.values())}))


def key_ids(keyset: Keyset) -> list[int]:
    """Return the IDs of a keyset's keys, with the primary key first."""
    every = keyset.keys()
    keys = [key for key in every if key["state"] == "enabled"]
    return [key["key_id"] for key in sorted(keys, key=lambda key: not key["primary"])]


def only(keyset: Keyset, key_id: int) -> Keyset:
    """Return a copy of a keyset that contains only this key."""
    other = Keyset.parse(keyset.to_json())
    other.promote(key_id)
    for each in key_ids(other)[1:]:
        other.remove(each)
    return other


def name_data(dataset: str, name: str) -> bytes:
    """Return an object's associated data."""
    return f"{NAME_LABEL} {dataset} {name}".encode()


#: The data-key templates for Parquet files that stay Parquet files, with their key lengths in bytes.
PARQUET_TEMPLATES = {"AES128_GCM_PARQUET": 16, "AES256_GCM_PARQUET": 32}


def is_parquet(template: str | None) -> bool:
    """Return whether a template is for Parquet files."""
    return template in PARQUET_TEMPLATES


@dataclass(frozen=True)
class ParquetKey:
    """The data key of a Parquet file."""

    key: bytes = field(repr=False)


#: A key that encrypts one or more objects.
DataKey = Keyset | ParquetKey


def _data_key(template: str, data_key: bytes) -> DataKey:
    if not is_parquet(template):
        return Keyset.from_raw(template, data_key)
    if len(data_key) != PARQUET_TEMPLATES[template]:
        raise PermanentError(f"a data key of {len(data_key)} bytes does not match the template {template}")
    return ParquetKey(data_key)


@dataclass(frozen=True)
class Place:
    """The binding of a new data key: a dataset, an object in the dataset ("" for a job's shared key), and a job."""

    dataset: str
    name: str
    job: str


def new_record(source: KeySource, template: str, place: Place) -> tuple[dict[str, Any], DataKey]:
    """Create a data key. Return the key's record, which contains the wrapped key, and the key itself."""
    data_key = secrets.token_bytes(16 if "128" in template else 32)
    return record_of(source, template, place, data_key), _data_key(template, data_key)


def record_of(source: KeySource, template: str, place: Place, data_key: bytes) -> dict[str, Any]:
    """Return the record of a data key, which contains the wrapped key."""
    record = {
        "key_id": secrets.token_hex(16),
        "template": template,
        "dataset": place.dataset,
        "name": place.name,
        "job": place.job,
        "attempt": secrets.token_hex(8),
    }
    return {**record, **_wrapped(source, record, data_key)}


def _record_data(record: dict[str, Any]) -> bytes:
    """Return the associated data for a record's data key."""
    if "dataset" not in record:
        return RECORD_LABEL_1 + str(record["key_id"]).encode()
    bound = json.dumps([record[name] for name in BOUND], separators=(",", ":"))
    return RECORD_LABEL + hashlib.sha256(bound.encode()).hexdigest().encode()


def _wrapped(source: KeySource, record: dict[str, Any], data_key: bytes) -> dict[str, str]:
    wrapped = source.wrap(data_key, _record_data(record))
    return {"source": source.name, "wrapped": base64.b64encode(wrapped).decode()}


def unwrap(sources: list[KeySource], record: dict[str, Any]) -> bytes:
    """Return a record's data key, unwrapped by the first source that can unwrap it."""
    error: Exception | None = None
    for source in sources:
        try:
            return source.unwrap(base64.b64decode(record["wrapped"]), _record_data(record))
        except PermanentError as refused:
            error = error or refused
    raise error or PermanentError("no key source can unwrap the data keys; pass the key with -k")


def refuse_names_key(record: dict[str, Any]) -> None:
    """Refuse a record of a names key where a record of an object's key is required.

    Holders of an old key may still have the names key, so it must not open objects.
    """
    if record.get("name") == NAMES_PLACE:
        raise PermanentError("a record contains the names key, which cannot be an object's key; restore the record")


def rewrap(record: dict[str, Any], old: list[KeySource], new: KeySource, place: Place | None = None) -> dict[str, Any]:
    """Return a record of the same data key, wrapped by a different source. With `place`, the new record is bound to a
    different place.

    Raises:
        PermanentError: No source can unwrap the data key; or `place` is given, and the record contains a names key.
    """
    if place is not None:
        refuse_names_key(record)
    data_key = unwrap(old, record)
    if place is not None:
        attempt = secrets.token_hex(8)
        record = {**record, "dataset": place.dataset, "name": place.name, "job": place.job, "attempt": attempt}
    bare = {name: value for name, value in record.items() if name != "hmac"}
    return {**bare, **_wrapped(new, bare, data_key)}


def rewrap_all(
    records: list[dict[str, Any]], old: list[KeySource], new: KeySource
) -> tuple[list[dict[str, Any]], list[str]]:
    """Rewrap records. Also return the IDs of records that stay unchanged because a rekey replaced them."""
    every, left = [], []
    for record in records:
        try:
            every.append(rewrap(record, old, new))
        except PermanentError:
            if not record.get("replaced"):
                raise
            every.append(record)
            left.append(record["key_id"])
    return every, left


def replaced(record: dict[str, Any]) -> dict[str, Any]:
    """Return the record with a mark that its data key no longer encrypts any object of the dataset."""
    return {**record, "replaced": True}


def signed(record: dict[str, Any], key: bytes) -> dict[str, Any]:
    """Return a record with an authentication code that only jobs of the record's dataset can compute."""
    bare = {name: value for name, value in record.items() if name != "hmac"}
    text = json.dumps(bare, sort_keys=True).encode()
    return {**bare, "hmac": hmac.new(key, text, "sha256").hexdigest()}


def is_signed(record: dict[str, Any], key: bytes, place: Place) -> bool:
    """Return whether a job of this dataset created a record for this place."""
    found = (record.get("dataset"), record.get("name"), record.get("job"))
    if found != (place.dataset, place.name, place.job):
        return False
    return hmac.compare_digest(str(record.get("hmac")).encode(), signed(record, key)["hmac"].encode())


def is_of(record: dict[str, Any], dataset: str, name: str) -> bool:
    """Return whether an unwrapped record belongs to this object of this dataset. The name "" means all objects."""
    return (record.get("dataset"), record.get("name")) == (dataset, name)


def parse_records(text: bytes | str, name: str) -> list[dict[str, Any]]:
    """Parse the records in an object's side file. The records are untrusted, because anyone who can write to the
    storage can write them."""
    try:
        found = json.loads(text)
        records = found if isinstance(found, list) else [found]
        if records and all(is_record(each) for each in records):
            return records
    except (ValueError, TypeError, RecursionError):
        pass
    raise PermanentError(f"{name} does not contain wrapped keys; restore it, or remove it if it belongs to an object")


def is_record(found: Any) -> bool:
    """Return whether an untrusted value is a well-formed record."""
    if not isinstance(found, dict):
        return False
    names = ["key_id", "template", "wrapped", *(BOUND if "dataset" in found else ())]
    known = [*Keyset.templates(), *PARQUET_TEMPLATES]
    if not all(isinstance(found.get(name), str) for name in names) or found["template"] not in known:
        return False
    try:
        base64.b64decode(found["wrapped"], validate=True)
    except ValueError:
        return False
    return str(found["key_id"]).isascii()  # half of a surrogate pair cannot be encoded


def record_name(key_id: str) -> str:
    """Return the path of the record of a shared key."""
    return f"{FOLDER}keys/{key_id}.json"


def to_json(records: list[dict[str, Any]]) -> str:
    """Return the content of an object's side file. The first record is in use."""
    return json.dumps(records)


class Keyring:
    """Opens key records and returns keysets. Each record is opened only once."""

    def __init__(self, keyset: Keyset | None, sources: list[KeySource], records: dict[str, dict[str, Any]]) -> None:
        """Store a keyset that encrypts objects (or sources that unwrap data keys) and the records of shared keys."""
        self.keyset, self.sources = keyset, sources
        self.records = dict(records)
        self._opened: Kept[DataKey] = Kept(1 << 30)

    def open(self, record: dict[str, Any]) -> DataKey:
        """Return a record's data key."""
        refuse_names_key(record)
        return _data_key(record["template"], unwrap(self.sources, record))

    def any_of(self, records: list[dict[str, Any]]) -> list[tuple[str, Callable[[], DataKey]]]:
        """Return all keys, by ID, that may have encrypted an object without a manifest. The keys of the object's
        records come first.

        A record next to the object may be older than a rekey, or may come from a rekey that has not reached the object.
        """
        every: list[tuple[str, Callable[[], DataKey]]] = []
        every += [(str(record["key_id"]), partial(self.open, record)) for record in records]
        shared = [] if self.keyset is None else [str(key_id) for key_id in key_ids(self.keyset)]
        every += [(key_id, partial(self.get, key_id)) for key_id in [*self.records, *shared]]
        return every

    def get(self, key_id: str) -> DataKey:
        """Return the shared data key, or the keyset's key, with this ID."""
        return self._opened.get(key_id, lambda: self._shared(key_id))

    def _shared(self, key_id: str) -> DataKey:
        if key_id in self.records:
            return self.open(self.records[key_id])
        if self.keyset is not None and key_id in map(str, key_ids(self.keyset)):
            return only(self.keyset, int(key_id))
        raise PermanentError(f"the key {key_id} is neither in the keyset nor in the manifest")
