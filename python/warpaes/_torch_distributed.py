"""Encrypted checkpoints for ``torch.distributed.checkpoint``.

Each file is sealed with its name and a random number as associated data. ``.metadata`` contains the numbers of all
other files, so a file that was renamed, swapped, or copied from a different checkpoint under the same key does not
open.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
from collections.abc import Iterator
from typing import Any

from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem
from torch.distributed.checkpoint import FileSystemReader, FileSystemWriter
from torch.distributed.checkpoint.filesystem import FileSystemBase

from ._file_objects import named
from ._keyset_places import as_keyset, dataset_place, lasting_keyset_place, parse
from ._native import Keyset
from ._open import open
from ._torch_checkpoints import watched
from .exceptions import FormatError, InvalidTag
from .fs import WarpaesFileSystem

_LABEL = b"warpaes torch.distributed.checkpoint 1"
_METADATA = ".metadata"
_PARTIAL = ".tmp"


class _Files(FileSystemBase):
    """The files of a checkpoint, in a folder of any fsspec file system."""

    def __init__(self, keyset: Keyset | str, associated_data: bytes, options: dict[str, Any]) -> None:
        if isinstance(keyset, str) and (dataset_place(keyset) is not None or parse(keyset).is_own):
            raise ValueError(
                "keyset: a checkpoint requires one keyset for all files; own: and dataset keys are not supported"
            )
        self._place, self._keyset = keyset, as_keyset(keyset)
        self._associated_data, self._options = associated_data, options
        self._below: Any = None
        self.numbers: dict[str, str] = {}  #: the random number of each file except ``.metadata``, by name

    def __getstate__(self) -> dict[str, Any]:
        """Return the state with the place of the keyset, so that another process can read the keyset."""
        if not isinstance(self._place, str) or lasting_keyset_place(self._place) is None:
            raise TypeError(
                "a keyset that exists only in this process is not sent to other processes; pass its place, such as a "
                "path or 'env:NAME', so that each process reads the keyset itself"
            )
        return {**self.__dict__, "_keyset": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Read the keyset again."""
        self.__dict__.update(state)
        self._keyset = as_keyset(self._place)

    def _bound(self, name: str) -> bytes:
        """Return the associated data of a file: the label, then the name, the number and the caller's data, each after
        its length."""
        parts = (name.encode(), self.numbers.get(name, "").encode(), self._associated_data)
        return b"".join([_LABEL, *(len(part).to_bytes(8, "big") + part for part in parts)])

    def _open(self, path: str, name: str, mode: str) -> Any:
        if isinstance(self._below, LocalFileSystem):  # avoids an fsspec file object in between
            return open(self._below._strip_protocol(path), mode, keyset=self._keyset, associated_data=self._bound(name))
        return WarpaesFileSystem(self._keyset, self._bound(name), self._below).open(path, mode)

    @contextlib.contextmanager
    def create_stream(self, path: str | os.PathLike[str], mode: str) -> Iterator[Any]:
        """Open a file. A new file appears when the block ends."""
        path = os.fspath(path)
        name = path.rpartition("/")[2].removesuffix(_PARTIAL)
        if mode == "wb" and not name.endswith(_METADATA):
            self.numbers[name] = os.urandom(16).hex()
        try:
            with self._open(path, name, mode) as stream:
                if mode == "wb":
                    yield stream
                else:
                    with watched(stream) as watch:
                        yield watch
        except (FormatError, InvalidTag) as error:
            raise named(error, path) from None

    def concat_path(self, path: str | os.PathLike[str], suffix: str) -> str:
        """Return the path of a file in a folder."""
        return f"{os.fspath(path).rstrip('/')}/{suffix}"

    def init_path(self, path: str | os.PathLike[str]) -> str:
        """Set the file system for a folder."""
        self._below = url_to_fs(os.fspath(path), **self._options)[0]
        return os.fspath(path)

    def rename(self, path: str | os.PathLike[str], new_path: str | os.PathLike[str]) -> None:
        """Rename a file, whose associated data already contains the final name."""
        self._below.mv(os.fspath(path), os.fspath(new_path))

    def mkdir(self, path: str | os.PathLike[str]) -> None:
        """Create a folder."""
        self._below.makedirs(os.fspath(path), exist_ok=True)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Return False, because PyTorch must not automatically select a storage that requires keys."""
        return False

    def exists(self, path: str | os.PathLike[str]) -> bool:
        """Return whether a file exists."""
        return bool(self._below.exists(os.fspath(path)))

    def rm_file(self, path: str | os.PathLike[str]) -> None:
        """Remove a file."""
        self._below.rm(os.fspath(path))

    def ls(self, path: str | os.PathLike[str]) -> list[str]:
        """Return the paths of a folder's files. The listing is not taken from a cache."""
        self._below.invalidate_cache()
        return list(self._below.ls(os.fspath(path), detail=False))


class StorageWriter(FileSystemWriter):
    """Writes encrypted checkpoints for ``torch.distributed.checkpoint``. Each rank creates a writer.

    Use a separate folder for each checkpoint. If a save over another checkpoint is interrupted, neither is usable,
    because the new files do not open with the old ``.metadata``.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        keyset: Keyset | str,
        *,
        associated_data: bytes = b"",
        storage_options: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        """Prepare to write to a folder.

        Args:
            path: The path of the folder, or its URL for fsspec.
            keyset: A Keyset, or a location that ``Keyset.load`` accepts. Its primary key encrypts. ``async_save``
                in a separate process requires a location, because a Keyset cannot be pickled.
            associated_data: Authenticated data that must also be passed to the reader, such as ``b"run 7, step 100"``.
                Without it, the reader does not detect that the folder has been replaced by a complete older checkpoint
                under the same keyset.
            storage_options: Options for the file system.
            options: Additional arguments for ``FileSystemWriter``, such as ``thread_count``.

        Raises:
            ValueError: The keyset is named by ``own:`` or is the key of a dataset, or ``serialization_format`` is
                given.
            KeysetError, OSError: The keyset cannot be read.
        """
        if "serialization_format" in options:
            raise ValueError(
                "serialization_format: encrypted checkpoints always have PyTorch's default format; omit it"
            )
        options["sync_files"] = False  # files are always synced to disk before they get their names
        super().__init__(path, **options)
        self.fs = _Files(keyset, associated_data, storage_options or {})
        self.path = self.fs.init_path(path)
        self._bound = bool(associated_data)

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Begin a save.

        Raises:
            ValueError: Ranks save without coordination and without ``associated_data``, so nothing binds their files
                together.
        """
        super().set_up_storage_writer(is_coordinator, *args, **kwargs)
        if not kwargs.get("use_collectives", True) and not self._bound:
            raise ValueError(
                "associated_data is missing: with use_collectives=False, nothing else binds the ranks' files to "
                "one checkpoint"
            )

    def write_data(self, plan: Any, planner: Any) -> Any:
        """Write this rank's files. The coordinator receives the files' random numbers with the results.

        Raises:
            OSError: A file was not written.
        """
        done = super().write_data(plan, planner)
        results = done.wait()
        if len(results) != len(plan.items):
            raise OSError(f"{self.path}: a thread failed, and {len(plan.items) - len(results)} items were not written")
        for result in results:
            result.storage_data.warpaes_number = self.fs.numbers[result.storage_data.relative_path]
        return done


class StorageReader(FileSystemReader):
    """Reads the checkpoints of ``StorageWriter``. Each rank creates a reader.

    PyTorch's planner unpickles values other than tensors, so the holder of the keyset can run code.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        keyset: Keyset | str,
        *,
        associated_data: bytes = b"",
        storage_options: dict[str, Any] | None = None,
    ) -> None:
        """Open a folder for reading.

        Args:
            path: The path of the folder, or its URL for fsspec.
            keyset: A Keyset, or a location that ``Keyset.load`` accepts.
            associated_data: The associated data that was passed to the writer.
            storage_options: Options for the file system.

        Raises:
            ValueError: The keyset is named by ``own:`` or is the key of a dataset.
            KeysetError, OSError: The keyset cannot be read.
        """
        super().__init__(path)
        self.fs = _Files(keyset, associated_data, storage_options or {})
        self.path = self.fs.init_path(path)

    def read_metadata(self, *args: Any, **kwargs: Any) -> Any:
        """Read ``.metadata``, and check that all files that it names exist.

        Raises:
            InvalidTag: ``.metadata`` was altered, its associated data differ, or no key opens it.
            FileNotFoundError: ``.metadata`` or a file that it names is missing.
            FormatError: ``.metadata`` was written by another program.
        """
        metadata = super().read_metadata(*args, **kwargs)
        numbers: dict[str, str] = {}
        for info in (metadata.storage_data or {}).values():
            number = getattr(info, "warpaes_number", "")
            if not number or numbers.setdefault(info.relative_path, number) != number:
                raise FormatError(f"{self.path}: {_METADATA} was not written by warpaes.torch.StorageWriter")
        there = {path.rstrip("/").rpartition("/")[2] for path in self.fs.ls(self.path)}
        for name in numbers:
            if name not in there:
                raise FileNotFoundError(f"{self.fs.concat_path(self.path, name)} is missing from the checkpoint")
        self.fs.numbers = numbers
        return metadata

    def prepare_local_plan(self, plan: Any) -> Any:
        """Add a digest that identifies this rank's checkpoint to the plan for the coordinator."""
        text = repr(sorted(self.fs.numbers.items())).encode()
        return dataclasses.replace(super().prepare_local_plan(plan), storage_data=hashlib.sha256(text).hexdigest())

    def prepare_global_plan(self, plans: list[Any]) -> Any:
        """Compare the checkpoints of all ranks.

        Raises:
            InvalidTag: Ranks read different checkpoints, although each checkpoint is authentic.
        """
        if len({plan.storage_data for plan in plans}) > 1:
            raise InvalidTag(f"{self.path}: the ranks read different checkpoints, because {_METADATA} was replaced")
        return super().prepare_global_plan(plans)
