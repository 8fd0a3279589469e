"""Tensors of an encrypted model folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

from .._native import Keyset
from ._folder import Folder


def load(
    folder: str | os.PathLike[str],
    keys: Keyset | str,
    *,
    framework: str = "torch",
    device: Any = "cpu",
    dtype: Any = None,
    rank: int = 0,
    world_size: int = 1,
    wanted: Callable[[str], bool] | None = None,
    subfolder: str | None = None,
) -> Iterator[tuple[str, Any]]:
    """Yield the tensors of an encrypted model folder, shard after shard. On a GPU, the GPU decrypts.

    Manifest, names, files in clear and all headers are checked before the first tensor is yielded. A tensor is
    authentic when it is yielded.

    Args:
        folder: The path.
        keys: A Keyset, or its place as for ``Keyset.load``.
        framework: ``torch`` or ``numpy``.
        device: The device of PyTorch's tensors, such as ``cuda:1``; each rank names its own.
        dtype: The dtype of PyTorch to which floating-point tensors are cast, on the device; None: as stored.
        rank: The number of this process, from 0.
        world_size: The number of processes that share the model. Each gets every ``world_size``-th tensor.
        wanted: A function that selects tensors by name, instead of ``rank`` and ``world_size``.
        subfolder: The part of the model to read, such as ``vae``, or "" for the folder itself; None: all of them.

    Yields:
        Names and tensors.

    Raises:
        InvalidTag, FormatError, KeysetError, OSError: As for ``Folder`` and ``Folder.open``; the message names file and
            tensor.
        ValueError: ``rank`` is not below ``world_size``, or ``wanted`` is combined with them; a tensor is in two files,
            as those of a pipeline's parts may be: name a subfolder.
    """
    if not 0 <= rank < world_size:
        raise ValueError(f"rank must be 0 to world_size - 1, not {rank} of {world_size}")
    if wanted is not None and world_size != 1:
        raise ValueError("wanted says which tensors are read: leave rank and world_size out")
    return _load(Folder(folder, keys), subfolder, framework, device, dtype, rank, world_size, wanted)


def _load(
    there: Folder,
    subfolder: str | None,
    framework: str,
    device: Any,
    dtype: Any,
    rank: int,
    world_size: int,
    wanted: Callable[[str], bool] | None,
) -> Iterator[tuple[str, Any]]:
    opened = []
    try:
        seen: set[str] = set()
        for name in there.shards:
            if subfolder is not None and name.rpartition("/")[0] != subfolder:
                continue
            opened.append(there.open(name, framework, device))
            for tensor in opened[-1].offset_keys():
                if tensor in seen:
                    raise ValueError(f"{name}: another file has a tensor {tensor!r:.80}, too: name a subfolder")
                seen.add(tensor)
        number = 0
        for file in opened:
            names = []
            for name in file.offset_keys():
                if wanted(name) if wanted is not None else number % world_size == rank:
                    names.append(name)
                number += 1
            for name, tensor in file._tensors(names):
                if dtype is not None and tensor.is_floating_point():
                    tensor = tensor.to(dtype)
                yield name, tensor
            file.close()
    finally:
        for file in opened:
            file.close()
