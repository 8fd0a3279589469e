"""Finds the keys and the associated data of single objects in their dataset's manifest, for readers."""

from __future__ import annotations

import contextlib
import json
import os
import posixpath
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from fsspec import AbstractFileSystem
from fsspec.implementations.local import LocalFileSystem

from .._fork_lock import ForkLock
from .._keyset_places import DATASET, DatasetPlace
from .._native import Keyset
from .._once import KEPT_SECONDS, Kept
from ..exceptions import InvalidTag, KeysetError
from ..names import EncryptedNames
from . import keys
from .config import BARE, BOUND
from .manifest import NAME, Manifest, ManifestError
from .rows import Row
from .storage import CredentialsError, Entry, MissingError, PermanentError, Storage

#: Maximum number of data keys that are kept, and of shards that are kept for each manifest.
MOST_KEPT, MOST_SHARDS = 1024, 5


class _Folder(Storage):
    """A folder in an fsspec file system, with the operations that are required to read a manifest."""

    def __init__(self, fs: AbstractFileSystem, root: str) -> None:
        super().__init__()
        self.url, self._fs = root, fs

    def list(self, key: str = "") -> Iterator[Entry]:
        raise NotImplementedError

    def stat(self, key: str) -> Entry:
        path = f"{self.url}/{key}"
        self._fs.invalidate_cache(self._fs._parent(path))
        try:
            info = self._fs.info(path)
        except FileNotFoundError:
            raise MissingError(f"{path}: no such file") from None
        if info["type"] != "file":  # reading a pipe would block
            raise ManifestError(f"{path} is not a file; restore it from a copy")
        return Entry(key, int(info["size"]), "")

    def read(self, entry: Entry, offset: int, length: int) -> bytes:
        # Manifests are authenticated, so versions need not be compared.
        return bytes(self._fs.cat_file(f"{self.url}/{entry.key}", start=offset, end=offset + length))


@dataclass
class _Dataset:
    """A manifest that has been read, and its keys. The class is thread-safe."""

    root: str
    manifest: Manifest
    keyring: keys.Keyring
    version: tuple[str, ...]  #: version of the manifest's root in the storage
    shards: Kept[list[Row]] = field(default_factory=lambda: Kept(MOST_SHARDS))

    def find(self, path: str) -> Row | None:
        """Return an object's row if the object exists in the target."""
        manifest, key = self.manifest, path[len(self.root) :].removeprefix("/")
        name = key.removesuffix(manifest.job.options.get("suffix") or "")
        number = manifest.shard_of(name)
        if number < 0:
            return None
        shard = manifest.shards[number]
        rows = self.shards.get(shard.sha256, lambda: manifest.read(shard))
        at = manifest.place_in(rows, name)
        row = rows[at] if at < len(rows) and manifest.job.plain_name(rows[at]) == name else None
        return row if row is not None and row.key == key and row.is_adopted else None

    def associated_data(self, row: Row) -> bytes:
        """Return an object's associated data, or the old associated data if a rekey has not processed the object
        yet."""
        options = self.manifest.job.options
        binding = options.get("binding", BOUND)
        if row.todo == "rekey":
            binding = options.get("old_binding", binding)
        names = self.manifest.names
        name = row.key if names is None else names.names.encrypt(row.key)
        if binding == BOUND:
            return keys.name_data(self.manifest.dataset, name)
        return name.encode() if binding == BARE else b""


@dataclass
class _Refused:
    """A manifest that was refused, and the reason. The manifest is not read again until it is replaced."""

    version: tuple[str, ...]
    sentence: str


class Datasets:
    """Finds the keys of objects by their paths in an fsspec file system. The class is thread-safe.

    Each manifest and each data key is opened only once. Both are kept for ``KEPT_SECONDS``, and at most ``MOST_KEPT``
    data keys of single objects are kept. A thread that waits for the key manager blocks only threads that need the same
    key.
    """

    def __init__(self, place: DatasetPlace, fs: Callable[[], AbstractFileSystem]) -> None:
        """Read the key. A key manager is contacted only when an object's key is needed.

        ``fs`` returns the file system, which may differ in a process created by ``fork``.

        Raises:
            OSError, ValueError: The key cannot be read from the place, or is invalid.
        """
        self._place, self._fs = place, fs
        self._spec = keys.KeySpec.read(place.key)
        self._lock = ForkLock()
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._source = self._spec.open()
        holders = self._spec.holders()
        if len(holders) == 1:  # a single source, so that both uses share its connections and its test
            holders = [replace(holders[0], source=self._source)]
        self._holders = holders
        self._found: Kept[_Dataset | _Refused] = Kept(MOST_KEPT, KEPT_SECONDS)
        self._kept: Kept[keys.DataKey] = Kept(MOST_KEPT, KEPT_SECONDS)

    def of(self, path: str) -> tuple[Keyset, bytes]:
        """Return the keyset and the associated data of an object. Raises the same exceptions as ``key_of``."""
        key, associated = self.key_of(path)
        if not isinstance(key, Keyset):
            raise KeysetError(f"{path} is a Parquet file in its dataset; read it with the protocol warpaes-parquet")
        return key, associated

    def of_parquet(self, path: str) -> tuple[bytes, bytes]:
        """Return the key and the AAD prefix of an object that is a Parquet file. Raises the same exceptions as
        ``key_of``."""
        key, associated = self.key_of(path)
        if not isinstance(key, keys.ParquetKey):
            raise KeysetError(f"{path} is not a Parquet file in its dataset; read it with the protocol warpaes")
        return key.key, associated

    def key_of(self, path: str) -> tuple[keys.DataKey, bytes]:
        """Return the data key and the associated data of an object.

        Raises:
            FileNotFoundError: No folder above the path has a manifest.
            InvalidTag: The manifest is not authentic, belongs to another location, or does not contain the object.
            KeysetError: The key does not open the object's data key.
            KeySourceError, OSError: The key manager or the storage cannot be reached or refuses the request.
        """
        with self._ready():
            return self._of(path)

    def names_of(self, path: str) -> tuple[str, EncryptedNames | None] | None:
        """Return the folder of the dataset that contains a path, and the dataset's names if they are encrypted.

        If no dataset contains the path, return None. Otherwise, raises the same exceptions as ``key_of``.
        """
        with self._ready():
            dataset = self._known(f"{path}/")
            if dataset is None:
                try:
                    dataset = self._opened(*self._root_above(f"{path}/"))
                except FileNotFoundError:
                    return None
            names = dataset.manifest.names
            return dataset.root, None if names is None else names.names

    @contextlib.contextmanager
    def _ready(self) -> Iterator[None]:
        """Prepare this process, and translate exceptions."""
        with self._lock:
            if self._process != os.getpid():  # sessions, tokens and threads that open keys exist only in the parent
                self._begin()
        self._kept.forget_old()
        try:
            yield
        except ManifestError as error:
            raise InvalidTag(str(error)) from None
        except CredentialsError as error:
            raise PermissionError(str(error)) from error
        except PermanentError as error:
            raise KeysetError(str(error)) from None

    def refresh(self, path: str) -> None:
        """Discard an object's manifest if it has been replaced since it was read, because a job may have replaced
        both."""
        dataset = self._known(path)
        if dataset is not None and dataset.version != self._version(dataset.root):
            self._found.forget(dataset.root, dataset)

    def _known(self, path: str) -> _Dataset | None:
        """Return the nearest dataset that has been read, or None."""
        for root in _folders(path):
            found = self._found.kept(root)
            if isinstance(found, _Dataset):
                return found
        return None

    def _version(self, root: str) -> tuple[str, ...]:
        """Return a value that changes when the root of a manifest changes. The value only determines whether the root
        is read again."""
        fs, path = self._fs(), f"{root}/{NAME}"
        fs.invalidate_cache(fs._parent(path))
        try:
            info = fs.info(path)
        except (FileNotFoundError, NotADirectoryError):  # NotADirectoryError: the folder is below a file
            return ()
        return tuple(str(info.get(name)) for name in ("size", "ETag", "mtime", "LastModified", "created", "ino"))

    def _of(self, path: str) -> tuple[keys.DataKey, bytes]:
        dataset, row, refused = self._known(path), None, None
        if dataset is not None:
            try:
                row = dataset.find(path)
            except ManifestError as error:
                refused = error
        # A job may have replaced the manifest, or a nearer folder may contain a manifest. Forged or altered files must
        # not each cause a request to the key manager.
        if row is None or dataset is None:
            root, version = self._root_above(path)
            if dataset is None or (root, version) != (dataset.root, dataset.version):
                dataset = self._opened(root, version)
                row = dataset.find(path)
            elif refused is not None:
                raise refused
        if row is None:
            raise InvalidTag(f"{path} is not an object of its dataset, because the manifest does not contain it")
        return self._keyset(dataset, row), dataset.associated_data(row)

    def _keyset(self, dataset: _Dataset, row: Row) -> keys.DataKey:
        if row.wrapped:
            return self._kept.get(row.wrapped, lambda: dataset.keyring.open(json.loads(row.wrapped)[0]))
        record = dataset.manifest.job.keys.get(row.key_id)
        if record is None:
            return dataset.keyring.get(row.key_id)
        return self._kept.get(json.dumps(record), lambda: dataset.keyring.open(record))

    def _root_above(self, path: str) -> tuple[str, tuple[str, ...]]:
        """Return the nearest folder that contains a manifest, and the manifest's version."""
        for root in _folders(path):
            if version := self._version(root):
                return root, version
        raise FileNotFoundError(f"{path}: no folder above it contains a warpaes bulk manifest")

    def _opened(self, root: str, version: tuple[str, ...]) -> _Dataset:
        found = self._found.get(root, lambda: self._read(root, version), lambda each: each.version == version)
        if isinstance(found, _Refused):
            raise ManifestError(found.sentence)
        return found

    def _read(self, root: str, version: tuple[str, ...]) -> _Dataset | _Refused:
        """Read a folder's manifest, which must be authentic and belong to this location."""
        try:
            manifest = Manifest.load(_Folder(self._fs(), root), self._holders)
            if manifest is None:
                raise ManifestError(f"{root}/{NAME} was removed; restore it from a copy")
            self._check(root, manifest)
        except ManifestError as error:
            return _Refused(version, str(error))
        keyring = keys.Keyring(keys.merged([self._spec]), [self._source], manifest.job.keys)
        return _Dataset(root, manifest, keyring, version)

    def _check(self, root: str, manifest: Manifest) -> None:
        id, pin = self._place.id, self._place.pin
        assert manifest.signer is not None
        if pin is not None and manifest.signer.fingerprint != pin:
            raise ManifestError(f"{root}/{NAME} has the manifest key {manifest.signer.fingerprint}, not {pin}")
        if id is not None and manifest.dataset != id:
            raise ManifestError(f"{root} is the dataset {manifest.dataset}, not {id}")
        if id is None and pin is None and not self._is_at(root, manifest.job.target):
            raise ManifestError(
                f"{root} is the dataset {manifest.dataset}, which was written to {manifest.job.target}; "
                f"if you moved or copied it here and it was not replaced, write "
                f"{DATASET}id={manifest.dataset}; before the key"
            )
        if manifest.job.is_decrypted:
            raise ManifestError(f"{root} was written by decrypt, so its objects are not encrypted")

    def _is_at(self, root: str, target: str) -> bool:
        if isinstance(self._fs(), LocalFileSystem):
            return os.path.realpath(target) == os.path.realpath(root)
        return str(self._fs().unstrip_protocol(root)) == target


def _folders(path: str) -> Iterator[str]:
    """Yield the folders above a path, starting with the nearest."""
    while (parent := posixpath.dirname(path)) not in ("", path):
        path = parent
        yield path
