"""Single objects for readers: their keys and associated data from the manifest of their dataset."""

from __future__ import annotations

import json
import os
import posixpath
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fsspec import AbstractFileSystem
from fsspec.implementations.local import LocalFileSystem

from .._keyset_places import DATASET, DatasetPlace
from .._native import Keyset
from ..exceptions import InvalidTag, KeysetError
from . import keys
from .config import BARE, BOUND
from .manifest import NAME, Manifest, ManifestError
from .rows import Row
from .storage import CredentialsError, Entry, MissingError, PermanentError, Storage

#: Maximum number of objects' data keys that are kept.
MOST_KEPT = 1024


class _Folder(Storage):
    """A folder of an fsspec file system, with the operations to read a manifest."""

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
        if info["type"] != "file":  # reading a pipe would wait
            raise ManifestError(f"{path} is not a file: restore it from a copy")
        return Entry(key, int(info["size"]), "")

    def read(self, entry: Entry, offset: int, length: int) -> bytes:
        # Manifests are authenticated, so their version needs no comparison.
        return bytes(self._fs.cat_file(f"{self.url}/{entry.key}", start=offset, end=offset + length))


@dataclass
class _Dataset:
    """A manifest that was read, and its keys."""

    root: str
    manifest: Manifest
    keyring: keys.Keyring
    version: tuple[str, ...]  #: of the manifest's root in the storage

    def find(self, path: str) -> Row | None:
        """Return the row of an object in the target."""
        name = path[len(self.root) :].removeprefix("/")
        row = self.manifest.find(name.removesuffix(self.manifest.job.options.get("suffix") or ""))
        return row if row is not None and row.key == name and row.is_sealed else None

    def associated_data(self, row: Row) -> bytes:
        """Return an object's associated data; the old ones if a rekey must still process the object."""
        options = self.manifest.job.options
        binding = options.get("binding", BOUND)
        if row.todo == "rekey":
            binding = options.get("old_binding", binding)
        if binding == BOUND:
            return keys.name_data(self.manifest.dataset, row.key)
        return row.key.encode() if binding == BARE else b""


class Datasets:
    """Finds the keys of objects by path in an fsspec file system. Any number of threads may use an object.

    Each manifest and each data key is opened once; up to ``MOST_KEPT`` data keys of single objects are kept.
    """

    def __init__(self, place: DatasetPlace, fs: Callable[[], AbstractFileSystem]) -> None:
        """Read the key. A key manager is first contacted for the first object.

        ``fs`` returns the file system, which may be another one in a child of ``fork``.

        Raises:
            OSError, ValueError: There is no key at the place.
        """
        self._place, self._fs = place, fs
        self._spec = keys.KeySpec.read(place.key)
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[str, _Dataset] = {}
        self._kept: OrderedDict[str, Keyset] = OrderedDict()
        self._process = os.getpid()

    def of(self, path: str) -> tuple[Keyset, bytes]:
        """Return the keyset and the associated data of an object.

        Raises:
            FileNotFoundError: No folder above the path has a manifest.
            InvalidTag: The manifest is not authentic, is of another place, or does not have the object.
            KeysetError: The key does not open the object's data key.
            KeySourceError, OSError: The key manager or the storage cannot be reached, or refuses.
        """
        if self._process != os.getpid():  # sessions and tokens belong to the parent
            self._begin()
        with self._lock:
            try:
                return self._of(path)
            except ManifestError as error:
                raise InvalidTag(str(error)) from None
            except CredentialsError as error:
                raise PermissionError(str(error)) from error
            except PermanentError as error:
                raise KeysetError(str(error)) from None

    def refresh(self, path: str) -> None:
        """Forget the manifest of an object, because a job may have replaced both since it was read."""
        with self._lock:
            for root in _folders(path):
                if root in self._found and self._found[root].version != self._version(root):
                    del self._found[root]

    def _version(self, root: str) -> tuple[str, ...]:
        """Return a value that changes with the root of a manifest. It only determines whether the root is read
        again."""
        fs, path = self._fs(), f"{root}/{NAME}"
        fs.invalidate_cache(fs._parent(path))
        try:
            info = fs.info(path)
        except FileNotFoundError:
            return ()
        return tuple(str(info.get(name)) for name in ("size", "ETag", "mtime", "LastModified", "created", "ino"))

    def _of(self, path: str) -> tuple[Keyset, bytes]:
        known = next((self._found[root] for root in _folders(path) if root in self._found), None)
        row = None
        if known is not None:
            try:
                row = known.find(path)
            except ManifestError:  # a job has replaced the shard
                del self._found[known.root]
                known = None
        dataset = known
        # Planted files must not each cause a request to the key manager.
        if row is None and (known is None or known.version != self._version(known.root)):
            dataset = self._found_above(path)
            row = dataset.find(path)
        if row is None or dataset is None:
            raise InvalidTag(f"{path} is not an object of its dataset: the manifest does not have it")
        return self._keyset(dataset, row), dataset.associated_data(row)

    def _keyset(self, dataset: _Dataset, row: Row) -> Keyset:
        if not row.wrapped:
            return dataset.keyring.get(row.key_id)
        if row.wrapped not in self._kept:
            self._kept[row.wrapped] = dataset.keyring.open(json.loads(row.wrapped)[0])
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(row.wrapped)
        return self._kept[row.wrapped]

    def _found_above(self, path: str) -> _Dataset:
        """Read the manifest of the nearest folder with one, which must be authentic and belong to this place."""
        for root in _folders(path):
            version = self._version(root)
            manifest = Manifest.load(_Folder(self._fs(), root), self._spec.holders())
            if manifest is None:
                continue
            self._check(root, manifest)
            manifest.read_only = True
            keyring = keys.Keyring(keys.merged([self._spec]), [self._spec.open()], manifest.job.keys)
            self._found[root] = _Dataset(root, manifest, keyring, version)
            return self._found[root]
        raise FileNotFoundError(f"{path}: no folder above it has a manifest of warpaes bulk")

    def _check(self, root: str, manifest: Manifest) -> None:
        id, pin = self._place.id, self._place.pin
        assert manifest.signer is not None
        if pin is not None and manifest.signer.fingerprint != pin:
            raise ManifestError(f"{root}/{NAME} is under the manifest key {manifest.signer.fingerprint}, not {pin}")
        if id is not None and manifest.dataset != id:
            raise ManifestError(f"{root} is the dataset {manifest.dataset}, not {id}")
        if id is None and pin is None and not self._is_at(root, manifest.job.target):
            raise ManifestError(
                f"{root} is the dataset {manifest.dataset}, which was written to {manifest.job.target}: if it was "
                f"moved or copied here, and not exchanged for another one, write {DATASET}id={manifest.dataset}; "
                "before the key"
            )
        if manifest.job.is_decrypted:
            raise ManifestError(f"{root} was made by decrypt: its objects are not encrypted")

    def _is_at(self, root: str, target: str) -> bool:
        if isinstance(self._fs(), LocalFileSystem):
            return os.path.realpath(target) == os.path.realpath(root)
        return str(self._fs().unstrip_protocol(root)) == target


def _folders(path: str) -> Iterator[str]:
    """Return the folders above a path, the nearest first."""
    while (parent := posixpath.dirname(path)) not in ("", path):
        path = parent
        yield path
