"""Keys of data: a keyset that everything is encrypted with, or data keys that a key source wraps (envelopes)."""

from __future__ import annotations

import base64
import json
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from .. import keysources
from .._native import Keyset
from .._places import read_secret, shown
from ..exceptions import FormatError, InvalidTag, InvalidUnwrap
from ..keysources._local import StreamingKeys, wraps_keys
from .storage import FOLDER, CredentialsError, PermanentError

#: What binds a wrapped key to its purpose and its id.
LABEL = b"warpaes bulk data key "
#: What -k takes as a key source's URL; everything else is a keyset.
URLS = ("aws-kms", "pkcs11", "tpm2", "vault-transit", "vault-transit+http")


class KeySource(Protocol):
    """What wraps data keys: a key-encryption key, wherever it is kept."""

    name: str

    def wrap(self, data_key: bytes, associated_data: bytes) -> bytes:
        """Encrypt a data key."""

    def unwrap(self, wrapped: bytes, associated_data: bytes) -> bytes:
        """Decrypt it."""


class KeysetSource:
    """A keyset for streaming AEAD as the key-encryption key."""

    def __init__(self, keyset: Keyset, name: str) -> None:
        """Take a keyset; its name is shown and kept in records, without being secret."""
        self.keyset, self.name = keyset, name
        self._keys = StreamingKeys(keyset)

    def wrap(self, data_key: bytes, associated_data: bytes) -> bytes:
        """Encrypt a data key with the primary key."""
        return self._keys.wrap(data_key, associated_data)

    def unwrap(self, wrapped: bytes, associated_data: bytes) -> bytes:
        """Decrypt a data key with whichever key of the keyset it was encrypted with."""
        try:
            return self._keys.unwrap(wrapped, associated_data)
        except (InvalidTag, FormatError):
            raise PermanentError(f"no key of {self.name} has wrapped this data key: give the one that has") from None


class UrlSource:
    """A key source of the package's: a key manager, a token or a TPM. Each worker asks it by itself."""

    def __init__(self, source: keysources.KeySource) -> None:
        """Take it; nobody is asked yet."""
        self._source = source
        self.name = source.name

    def wrap(self, data_key: bytes, associated_data: bytes) -> bytes:
        """Encrypt a data key; what a source refuses is not asked for again."""
        try:
            return self._source.wrap(data_key, associated_data)
        except keysources.DeniedError as error:
            raise CredentialsError(str(error)) from error
        except keysources.UnknownKeyError as error:
            raise PermanentError(str(error)) from error

    def unwrap(self, wrapped: bytes, associated_data: bytes) -> bytes:
        """Decrypt a data key; a source that cannot be reached now may be asked again."""
        try:
            return self._source.unwrap(wrapped, associated_data)
        except keysources.DeniedError as error:
            raise CredentialsError(f"{self.name} does not unwrap this data key: {error}") from error
        except (InvalidUnwrap, keysources.UnknownKeyError) as error:
            raise PermanentError(f"{self.name} does not unwrap this data key: {error}") from error


@dataclass(frozen=True)
class KeySpec:
    """Where a key is kept, as a worker is told: a keyset itself, which has no other way to other machines, or a URL."""

    name: str
    keyset: bytes | None = field(repr=False)  #: for files
    kek: bytes | None = field(default=None, repr=False)  #: a key-encryption key, which encrypts nothing but keys

    @staticmethod
    def read(place: str) -> KeySpec:
        """Read what -k names."""
        kind = place.partition(":")[0]
        if kind in URLS:
            return KeySpec(place, None)
        secret, name = read_secret(place), shown(place)
        return KeySpec(name, None, secret) if wraps_keys(secret) else KeySpec(name, secret)

    def open(self) -> KeySource:
        """Return the source."""
        if self.keyset is not None:
            return KeysetSource(Keyset.parse(self.keyset), self.name)
        if self.kek is not None:
            kek = self.kek
            return UrlSource(keysources.LocalSource(self.name, lambda: kek))
        return UrlSource(keysources.from_url(self.name))


def merged(specs: list[KeySpec]) -> Keyset | None:
    """Return the first keyset with the keys of the others, which only decrypt; None if there are only URLs."""
    keysets = [(spec.name, spec.keyset) for spec in specs if spec.keyset is not None]
    if not keysets:
        return None
    all_of_them = json.loads(Keyset.parse(keysets[0][1]).to_json())
    keys = {key["keyId"]: key for key in all_of_them["key"]}
    for name, keyset in keysets[1:]:
        for key in json.loads(Keyset.parse(keyset).to_json())["key"]:
            if keys.setdefault(key["keyId"], key)["keyData"] != key["keyData"]:
                raise ValueError(f"{name} has another key {key['keyId']} than an earlier keyset: leave one out")
    return Keyset.parse(json.dumps({**all_of_them, "key": list(keys.values())}))


def together(keysets: list[Keyset]) -> Keyset:
    """Return a keyset of all keys of these, which opens what any of them does; numbers are new."""
    every = [key for keyset in keysets for key in json.loads(keyset.to_json())["key"]]
    numbered = [{**key, "keyId": number} for number, key in enumerate(every, 1)]
    return Keyset.parse(json.dumps({"primaryKeyId": 1, "key": numbered}))


def key_ids(keyset: Keyset) -> list[int]:
    """Return the numbers of a keyset's keys, the primary one first."""
    keys = keyset.keys()
    return [key["key_id"] for key in sorted(keys, key=lambda key: not key["primary"])]


def only(keyset: Keyset, key_id: int) -> Keyset:
    """Return a keyset of this key alone."""
    other = Keyset.parse(keyset.to_json())
    other.promote(key_id)
    for each in key_ids(other)[1:]:
        other.remove(each)
    return other


def new_record(source: KeySource, template: str) -> tuple[dict[str, Any], Keyset]:
    """Make a data key; return its record, which holds it wrapped, and its keyset."""
    data_key = secrets.token_bytes(16 if "128" in template else 32)
    keyset = Keyset.from_raw(template, data_key)
    record = {"key_id": secrets.token_hex(16), "template": template}
    return {**record, **_wrapped(source, record["key_id"], data_key)}, keyset


def _wrapped(source: KeySource, key_id: str, data_key: bytes) -> dict[str, str]:
    wrapped = source.wrap(data_key, LABEL + key_id.encode())
    return {"source": source.name, "wrapped": base64.b64encode(wrapped).decode()}


def unwrap(sources: list[KeySource], record: dict[str, Any]) -> bytes:
    """Return the data key of a record, by whichever source unwraps it."""
    error: Exception | None = None
    for source in sources:
        try:
            return source.unwrap(base64.b64decode(record["wrapped"]), LABEL + record["key_id"].encode())
        except PermanentError as refused:
            error = error or refused
    raise error or PermanentError("there is no key source to unwrap data keys with: give -k")


def rewrap(record: dict[str, Any], old: list[KeySource], new: KeySource) -> dict[str, Any]:
    """Return the record of the same data key, wrapped by another source."""
    return {**record, **_wrapped(new, record["key_id"], unwrap(old, record))}


def parse_records(text: bytes | str, name: str) -> list[dict[str, Any]]:
    """Read records as they lie beside objects; who can write there can write anything."""
    try:
        found = json.loads(text)
        records = found if isinstance(found, list) else [found]
        if records and all(isinstance(each[key], str) for each in records for key in ("key_id", "template", "wrapped")):
            return records
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise PermanentError(f"{name} does not hold wrapped keys: restore it, or remove it if it is an object's")


def record_name(key_id: str) -> str:
    """Return where the record of a key lies that is not an object's own."""
    return f"{FOLDER}keys/{key_id}.json"


def to_json(records: list[dict[str, Any]]) -> str:
    """Return records as they lie beside an object: the first is the one in use."""
    return json.dumps(records)


class Keyring:
    """Opens key records, each once, and hands out keysets."""

    def __init__(self, keyset: Keyset | None, sources: list[KeySource], records: dict[str, dict[str, Any]]) -> None:
        """Take the keyset that encrypts directly, or sources that unwrap, and the records of shared keys."""
        self.keyset, self.sources = keyset, sources
        self.records = dict(records)
        self._opened: dict[str, Keyset] = {}
        self._lock = threading.Lock()

    def open(self, record: dict[str, Any]) -> Keyset:
        """Return the keyset of a record."""
        return Keyset.from_raw(record["template"], unwrap(self.sources, record))

    def any_of(self, records: list[dict[str, Any]]) -> Keyset:
        """Return every key there is, for an object of which nothing says which: its records', shared ones, the keyset.

        A record that lies beside it may be of before a rekey, or of one that has not come to it.
        """
        found: list[Keyset] = []
        refused: PermanentError | None = None
        ways: list[Callable[[], Keyset]] = [partial(self.open, record) for record in records]
        ways += [partial(self.get, key_id) for key_id in self.records]
        for way in ways:
            try:
                found.append(way())
            except PermanentError as error:
                refused = refused or error
        found += [self.keyset] if self.keyset is not None else []
        if not found:
            raise refused or PermanentError("nothing says which key it is encrypted with")
        return together(found)

    def get(self, key_id: str) -> Keyset:
        """Return a shared data key's keyset, or the one key of the keyset that has this number."""
        with self._lock:
            if key_id not in self._opened:
                if key_id in self.records:
                    self._opened[key_id] = self.open(self.records[key_id])
                elif self.keyset is not None and key_id in map(str, key_ids(self.keyset)):
                    self._opened[key_id] = only(self.keyset, int(key_id))
                else:
                    raise PermanentError(f"the key {key_id} is neither in the keyset nor in the manifest")
            return self._opened[key_id]
