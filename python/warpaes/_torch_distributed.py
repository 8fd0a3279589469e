"""Encrypted checkpoints of ``torch.distributed.checkpoint``.

Each file is sealed with its name and a random number as associated data. ``.metadata`` has the numbers of all other
files, so that a file that was renamed, exchanged, or taken from another checkpoint under the same key does not open.
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
    """The files of a checkpoint, in a folder of any file system of fsspec."""

    def __init__(self, keyset: Keyset | str, associated_data: bytes, options: dict[str, Any]) -> None:
        if isinstance(keyset, str) and (dataset_place(keyset) is not None or parse(keyset).is_own):
            raise ValueError("keyset: a checkpoint needs one keyset for all files, not own: or the key of datasets")
        self._place, self._keyset = keyset, as_keyset(keyset)
        self._associated_data, self._options = associated_data, options
        self._below: Any = None
        self.numbers: dict[str, str] = {}  #: the random number of each file but ``.metadata``, by its name

    def __getstate__(self) -> dict[str, Any]:
        """Return the place of the keyset, so that another process reads it."""
        if not isinstance(self._place, str) or lasting_keyset_place(self._place) is None:
            raise TypeError(
                "a checkpoint's keyset that is only in this process is not sent to others: give its place, such as a "
                "path or 'env:NAME', which each process reads itself"
            )
        return {**self.__dict__, "_keyset": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Read the keyset again."""
        self.__dict__.update(state)
        self._keyset = as_keyset(self._place)

    def _bound(self, name: str) -> bytes:
        """Return the associated data of a file: label, name, number, and the data of the caller, each with its end."""
        parts = (name.encode(), self.numbers.get(name, "").encode(), self._associated_data)
        return b"".join([_LABEL, *(len(part).to_bytes(8, "big") + part for part in parts)])

    def _open(self, path: str, name: str, mode: str) -> Any:
        if isinstance(self._below, LocalFileSystem):  # without a file object of fsspec's between
            return open(self._below._strip_protocol(path), mode, keyset=self._keyset, associated_data=self._bound(name))
        return WarpaesFileSystem(self._keyset, self._bound(name), self._below).open(path, mode)

    @contextlib.contextmanager
    def create_stream(self, path: str | os.PathLike[str], mode: str) -> Iterator[Any]:
        """Open a file; one that is written appears when the block ends."""
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
        """Choose the file system of a folder."""
        self._below = url_to_fs(os.fspath(path), **self._options)[0]
        return os.fspath(path)

    def rename(self, path: str | os.PathLike[str], new_path: str | os.PathLike[str]) -> None:
        """Rename a file, whose associated data has the name without its partial end."""
        self._below.mv(os.fspath(path), os.fspath(new_path))

    def mkdir(self, path: str | os.PathLike[str]) -> None:
        """Create a folder."""
        self._below.makedirs(os.fspath(path), exist_ok=True)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Return False: PyTorch chooses no storage that needs keys by itself."""
        return False

    def exists(self, path: str | os.PathLike[str]) -> bool:
        """Return whether there is a file."""
        return bool(self._below.exists(os.fspath(path)))

    def rm_file(self, path: str | os.PathLike[str]) -> None:
        """Remove a file."""
        self._below.rm(os.fspath(path))

    def ls(self, path: str | os.PathLike[str]) -> list[str]:
        """Return the paths of a folder's files, as they are now."""
        self._below.invalidate_cache()
        return list(self._below.ls(os.fspath(path), detail=False))


class StorageWriter(FileSystemWriter):
    """Writes encrypted checkpoints of ``torch.distributed.checkpoint``; each rank makes one.

    Give each checkpoint a folder of its own. A save over another checkpoint that is interrupted leaves neither: the old
    ``.metadata`` does not open the new files.
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
        """Write to a folder.

        Args:
            path: The path of the folder, or its URL for fsspec.
            keyset: A Keyset, or its place as for ``Keyset.load``. Its primary key encrypts. The processes of
                ``async_save`` need the place.
            associated_data: Authenticated data that the reader must give again, such as ``b"run 7, step 100"``.
            Without it, a complete older checkpoint under the same keyset in the folder is not detected.
            storage_options: The options of the file system.
            options: Further arguments of ``FileSystemWriter``, such as ``thread_count``.

        Raises:
            ValueError: The keyset is named by ``own:`` or is the key of datasets; or ``serialization_format`` is given.
            KeysetError, OSError: The keyset cannot be read.
        """
        if "serialization_format" in options:
            raise ValueError("serialization_format: encrypted checkpoints have PyTorch's own format: leave it out")
        options["sync_files"] = False  # a file is on the disk before it gets its name
        super().__init__(path, **options)
        self.fs = _Files(keyset, associated_data, storage_options or {})
        self.path = self.fs.init_path(path)
        self._bound = bool(associated_data)

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Begin a save.

        Raises:
            ValueError: Ranks save without coordination, and nothing but ``associated_data`` would bind their files to
                one another.
        """
        super().set_up_storage_writer(is_coordinator, *args, **kwargs)
        if not kwargs.get("use_collectives", True) and not self._bound:
            raise ValueError(
                "associated_data is missing: with use_collectives=False nothing else binds the files of the ranks to "
                "one checkpoint"
            )

    def write_data(self, plan: Any, planner: Any) -> Any:
        """Write this rank's files; their random numbers go to the coordinator with the results.

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
    """Reads the checkpoints of ``StorageWriter``; each rank makes one.

    Values other than tensors are unpickled as PyTorch's planner does it: the holder of the keyset can run code.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        keyset: Keyset | str,
        *,
        associated_data: bytes = b"",
        storage_options: dict[str, Any] | None = None,
    ) -> None:
        """Read a folder.

        Args:
            path: The path of the folder, or its URL for fsspec.
            keyset: A Keyset, or its place as for ``Keyset.load``.
            associated_data: The associated data of the writer.
            storage_options: The options of the file system.

        Raises:
            ValueError: The keyset is named by ``own:`` or is the key of datasets.
            KeysetError, OSError: The keyset cannot be read.
        """
        super().__init__(path)
        self.fs = _Files(keyset, associated_data, storage_options or {})
        self.path = self.fs.init_path(path)

    def read_metadata(self, *args: Any, **kwargs: Any) -> Any:
        """Read ``.metadata``, and check that all files that it names are there.

        Raises:
            InvalidTag: It was altered, is of another folder with other associated data, or no key opens it.
            FileNotFoundError: It, or a file that it names, is missing.
            FormatError: Another writer made it.
        """
        metadata = super().read_metadata(*args, **kwargs)
        numbers: dict[str, str] = {}
        for info in (metadata.storage_data or {}).values():
            number = getattr(info, "warpaes_number", "")
            if not number or numbers.setdefault(info.relative_path, number) != number:
                raise FormatError(f"{self.path}: its {_METADATA} is not one of warpaes.torch.StorageWriter")
        there = {path.rstrip("/").rpartition("/")[2] for path in self.fs.ls(self.path)}
        for name in numbers:
            if name not in there:
                raise FileNotFoundError(f"{self.fs.concat_path(self.path, name)} is missing from the checkpoint")
        self.fs.numbers = numbers
        return metadata

    def prepare_local_plan(self, plan: Any) -> Any:
        """Tell the coordinator which checkpoint this rank reads."""
        text = repr(sorted(self.fs.numbers.items())).encode()
        return dataclasses.replace(super().prepare_local_plan(plan), storage_data=hashlib.sha256(text).hexdigest())

    def prepare_global_plan(self, plans: list[Any]) -> Any:
        """Compare the checkpoints of all ranks.

        Raises:
            InvalidTag: Ranks read different checkpoints, each of them authentic.
        """
        if len({plan.storage_data for plan in plans}) > 1:
            raise InvalidTag(f"{self.path}: the ranks read different checkpoints: its {_METADATA} was replaced")
        return super().prepare_global_plan(plans)
