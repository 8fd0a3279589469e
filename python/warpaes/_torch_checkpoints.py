"""``warpaes.torch.save`` and ``load``: the checkpoints of ``torch.save``, in sealed files."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any

import torch

from ._native import Keyset
from ._open import open
from ._typing import Buffer

#: The associated data of checkpoints, so that no other file under the same keyset is accepted as a checkpoint.
PURPOSE = b"torch checkpoint"


class _Watched(io.BufferedIOBase):
    """A file object that keeps its first exception, because PyTorch's reader raises another one in its place."""

    def __init__(self, file: Any) -> None:
        super().__init__()
        self._file = file
        self.error: BaseException | None = None

    def _call(self, method: str, *arguments: Any) -> Any:
        try:
            return getattr(self._file, method)(*arguments)
        except BaseException as error:
            self.error = self.error or error
            raise

    def read(self, size: int | None = -1) -> Any:
        return self._call("read", -1 if size is None else size)

    def readinto(self, buffer: Any) -> Any:
        return self._call("readinto", buffer)

    def readline(self, size: int | None = -1) -> Any:
        return self._call("readline", -1 if size is None else size)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> Any:
        return self._call("seek", offset, whence)

    def tell(self) -> Any:
        return self._call("tell")

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._file.seekable())


@contextlib.contextmanager
def watched(file: Any) -> Iterator[_Watched]:
    """Raise the file object's own exception in place of the one that PyTorch's reader raises after it."""
    watch = _Watched(file)
    try:
        yield watch
    except BaseException as error:
        if watch.error is not None and watch.error is not error:
            raise watch.error from None
        raise


def save(
    obj: object, f: Any, *, keyset: Keyset | str, associated_data: Buffer | None = PURPOSE, **options: Any
) -> None:
    """Save an object like ``torch.save``, but encrypted. The file appears at the path, or replaces a file, when it is
    complete.

    Args:
        obj: The object.
        f: A path, a URL that fsspec opens, or a binary file object; see ``warpaes.open``.
        keyset: A Keyset, or a location that ``Keyset.load`` accepts. Its primary key encrypts.
        associated_data: Authenticated data that ``load`` must give again, such as ``b"run 7, step 100"``. It is not
            stored. ``warpaes decrypt --aad "torch checkpoint"`` decrypts files of the default.
        options: Further arguments of ``torch.save``.

    Raises:
        KeysetError: The keyset has no primary key.
        OSError: The file cannot be written.
    """
    with open(f, "wb", keyset=keyset, associated_data=associated_data) as file:
        torch.save(obj, file, **options)


def load(
    f: Any,
    map_location: Any = None,
    *,
    keyset: Keyset | str,
    associated_data: Buffer | None = PURPOSE,
    weights_only: bool = True,
    **options: Any,
) -> Any:
    """Load an object that ``save`` has written, like ``torch.load``. Every byte is authenticated before it is
    interpreted.

    Args:
        f: A path, a URL that fsspec opens, a binary file object that can seek, or a buffer; see ``warpaes.open``.
        map_location: The device of the tensors, or a function or a dictionary that chooses it, as for ``torch.load``.
        keyset: A Keyset, or a location that ``Keyset.load`` accepts.
        associated_data: The associated data of ``save``.
        weights_only: Whether to load only tensors, numbers, texts and containers of these. False loads any object, and
            runs code that the holder of the keyset may have put into the file.
        options: Further arguments of ``torch.load``.

    Raises:
        InvalidTag: No key of the keyset opens the file, it was altered or truncated, or its associated data differs.
        pickle.UnpicklingError: The file contains other objects, and ``weights_only`` is True.
        ValueError: ``mmap`` is True, or ``f`` cannot seek.
        OSError: The file cannot be read.
    """
    if options.pop("mmap", None):
        raise ValueError(
            "mmap: applies only to unencrypted files; leave it out, because an encrypted file is decrypted into memory"
        )
    with open(f, "rb", keyset=keyset, associated_data=associated_data) as file:
        if not file.seekable():
            raise ValueError("f is not seekable, which torch.load requires; pass a path or a BytesIO with the content")
        with watched(file) as watch:
            return torch.load(watch, map_location, weights_only=weights_only, **options)
