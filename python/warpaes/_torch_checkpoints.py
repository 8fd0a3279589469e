"""``warpaes.torch.save`` and ``load``, for the checkpoints of ``torch.save`` in sealed files."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any

import torch

from ._native import Keyset
from ._open import open
from ._typing import Buffer

#: The default associated data. With it, no other kind of file under the same keyset is accepted as a checkpoint.
PURPOSE = b"torch checkpoint"


class _Watched(io.BufferedIOBase):
    """A file object that stores its first exception, because PyTorch's reader replaces it by a different exception."""

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
    """Raise the file object's own exception in place of the exception from PyTorch's reader."""
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
    """Save an object like ``torch.save``, but encrypted. The file appears at the path, or replaces an existing file,
    only when it is complete.

    Args:
        obj: The object.
        f: A path, a URL that fsspec opens, or a binary file object; see ``warpaes.open``.
        keyset: A Keyset, or a location that ``Keyset.load`` accepts. Its primary key encrypts.
        associated_data: Authenticated data that must also be passed to ``load``, such as ``b"run 7, step 100"``. It is
            not stored. ``warpaes decrypt --aad "torch checkpoint"`` decrypts files with the default.
        options: Additional arguments for ``torch.save``.

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
        map_location: The device for the tensors, or a function or a dictionary that selects it; see ``torch.load``.
        keyset: A Keyset, or a location that ``Keyset.load`` accepts.
        associated_data: The associated data that was passed to ``save``.
        weights_only: Whether to load only tensors, numbers, strings and containers of these types. False loads any
            object, which runs code that the holder of the keyset may have put into the file.
        options: Additional arguments for ``torch.load``.

    Raises:
        InvalidTag: No key of the keyset opens the file, the file was altered or truncated, or its associated data
            differ.
        pickle.UnpicklingError: The file contains objects of other types, and ``weights_only`` is True.
        ValueError: ``mmap`` is True, or ``f`` cannot seek.
        OSError: The file cannot be read.
    """
    if options.pop("mmap", None):
        raise ValueError(
            "mmap: applies only to unencrypted files; omit it, because an encrypted file is decrypted into memory"
        )
    with open(f, "rb", keyset=keyset, associated_data=associated_data) as file:
        if not file.seekable():
            raise ValueError("f is not seekable, which torch.load requires; pass a path or a BytesIO with the content")
        with watched(file) as watch:
            return torch.load(watch, map_location, weights_only=weights_only, **options)
