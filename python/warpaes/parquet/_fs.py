"""The fsspec protocol ``warpaes-parquet``, which shows the encrypted Parquet files of another file system as
unencrypted files."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from fsspec import AbstractFileSystem
from fsspec.implementations.chained import ChainedFileSystem
from fsspec.utils import stringify_path

from .._fs_datasets import DatasetFileSystem
from .._fs_names import LastingArguments, underlying
from .._keyset_places import dataset_place
from .._places import read_key
from ..exceptions import FormatError, InvalidTag, KeysetError
from ._keys import KeyRing, Keys, KeysLike, key_ring
from ._open import open as open_view
from ._view import PlainView

__all__ = ["ParquetFileSystem"]

_STAMPS = ("size", "mtime", "LastModified", "ETag", "etag", "created", "updated")


class ParquetFileSystem(LastingArguments, ChainedFileSystem):  # type: ignore[misc]  # fsspec has no types
    """A read-only file system that shows another file system's encrypted Parquet files under the same paths.

    Sizes are those of the plain views. To find a size, the file's footer is read. The size is cached until the file is
    replaced. If a file is not an encrypted Parquet file, or no key opens it, it is listed with its actual size and
    refused when it is opened. Only the bytes that a read needs are fetched.
    """

    protocol = "warpaes-parquet"
    _secret = "keys"
    cachable = False

    def __init__(
        self,
        keys: KeysLike | str | None = None,
        aad_prefix: bytes | Callable[[str], bytes] | None = None,
        fs: AbstractFileSystem | None = None,
        target_protocol: str | None = None,
        target_options: dict[str, Any] | None = None,
        require_gcm: bool = False,
        drop_missing: bool = False,
        fo: str = "",
        **options: Any,
    ) -> None:
        """Create a file system on top of ``fs``, or on top of a protocol with its options.

        If ``keys`` is a place, the file system can be pickled, as Dask and Ray require. Each process that loads the
        pickle reads the key from the place.

        Args:
            keys: The keys (see ``warpaes.parquet.open``), or the place of a key as text: ``file:PATH``, ``env:NAME`` or
                ``exec:COMMAND``, or ``dataset:`` followed by the key of a ``warpaes bulk`` dataset, or the URL of a key
                manager that stores this key. Required.
            aad_prefix: The AAD prefix of all files, or a function that returns it for a path.
            fs: The underlying file system.
            target_protocol: The protocol of the underlying file system, if ``fs`` is None.
            target_options: Options for that protocol.
            require_gcm: Whether to refuse AES_GCM_CTR_V1.
            drop_missing: Whether to omit columns whose keys are missing.
            fo: Ignored; fsspec passes it for chained URLs.
            options: Additional options for fsspec.

        Raises:
            ValueError: ``keys`` is missing, or the underlying file system is missing or asynchronous.
        """
        super().__init__(**options)
        if keys is None:
            raise ValueError("keys is missing; pass a key, a function of the key metadata, or a place such as env:NAME")
        self._place = keys if isinstance(keys, str) else None
        datasets = dataset_place(keys)
        self._datasets = None
        if datasets is not None:
            if aad_prefix is not None:
                raise ValueError("aad_prefix: not allowed, because the dataset's manifest contains the prefixes")
            from ..bulk.reading import Datasets

            self._datasets = Datasets(datasets, lambda: self.fs.fs)
            self._keys: KeyRing = Keys(None)
        else:
            self._keys = Keys(read_key(keys)) if isinstance(keys, str) else key_ring(keys)
        self._aad_prefix, self._require_gcm, self._drop_missing = aad_prefix, require_gcm, drop_missing
        fs = underlying(fs, target_protocol, target_options)
        found = self._datasets
        self.fs = fs if found is None else DatasetFileSystem(fs, found.names_of, found.refresh)
        self.root_marker = fs.root_marker
        self._sizes: dict[str, tuple[Any, int]] = {}

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        return stringify_path(path).removeprefix("warpaes-parquet::").removeprefix("warpaes-parquet://")

    def _below(self, path: Any) -> Any:
        """Return a path in the form of the underlying file system."""
        return self.fs._strip_protocol(type(self)._strip_protocol(path))

    def _lasting(self) -> Any:
        return self._place

    def __reduce__(self) -> Any:
        """Pickle the arguments with the place of the key."""
        if self._place is None:
            raise TypeError(
                "a file system whose keys exist only in this process cannot be pickled; pass keys='env:NAME'"
            )
        return super().__reduce__()

    def _open(self, path: str, mode: str = "rb", **options: Any) -> PlainView:
        if mode != "rb":
            raise ValueError(f"mode must be rb, not {mode!r}; use warpaes.parquet.write_table to write encrypted files")
        path = self._below(path)
        prefix = self._aad_prefix(path) if callable(self._aad_prefix) else self._aad_prefix
        keys = self._keys
        if self._datasets is not None:
            key, prefix = self._datasets.of_parquet(path)
            keys = Keys(key)
        below = self.fs.open(path, "rb", cache_type="none")
        try:
            view = open_view(below, keys, prefix, self._require_gcm, drop_missing=self._drop_missing)
        except BaseException:
            below.close()
            raise
        view.own_source()
        return view

    def _with_size(self, info: dict[str, Any]) -> dict[str, Any]:
        """Replace a file's size with the size of its view."""
        info = dict(info)
        if info.get("type") != "file":
            return info
        name = info["name"]
        stamp = tuple(str(info.get(key)) for key in _STAMPS)
        if self._sizes.get(name, (None, 0))[0] != stamp:
            try:
                with self._open(name) as view:
                    size = view.size
            except (FormatError, InvalidTag, KeysetError, KeyError, ValueError):
                size = info["size"]
            self._sizes[name] = stamp, size
        info["size"] = self._sizes[name][1]
        return info

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        """Return the name, type and size of a path."""
        return self._with_size(self.fs.info(self._below(path), **options))

    def ls(self, path: str, detail: bool = True, **options: Any) -> list[Any]:
        """List a folder."""
        found = self.fs.ls(self._below(path), detail=True, **options)
        return [self._with_size(one) for one in found] if detail else sorted(one["name"] for one in found)

    def exists(self, path: str, **options: Any) -> bool:
        """Return whether a path exists."""
        return bool(self.fs.exists(self._below(path), **options))

    def isdir(self, path: str) -> bool:
        """Return whether a path is a folder."""
        return bool(self.fs.isdir(self._below(path)))

    def isfile(self, path: str) -> bool:
        """Return whether a path is a file."""
        return bool(self.fs.isfile(self._below(path)))

    def modified(self, path: str) -> datetime.datetime:
        """Return the modification time of a file."""
        when: datetime.datetime = self.fs.modified(self._below(path))
        return when

    def created(self, path: str) -> datetime.datetime:
        """Return the creation time of a file."""
        when: datetime.datetime = self.fs.created(self._below(path))
        return when

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **options: Any) -> bytes:
        """Return the bytes of a file, or of a range of a file."""
        with self._open(path) as view:
            first, last, _ = slice(start, end).indices(view.size)
            return view.read_at(first, max(last - first, 0))
