"""Loading of the tensors of an encrypted model folder."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .._native import Keyset
from ..safetensors import _tensors_of, safe_open
from ._folder import Folder
from ._ranks import together


def load(
    folder: str | os.PathLike[str],
    keys: Keyset | str,
    *,
    framework: str = "torch",
    device: Any = "cpu",
    device_map: Mapping[str, Any] | None = None,
    dtype: Any = None,
    rank: int = 0,
    world_size: int = 1,
    wanted: Callable[[str], bool] | None = None,
    subfolder: str | None = None,
    storage_options: dict[str, Any] | None = None,
    reader: str = "threads",
    group: Any = None,
) -> Iterator[tuple[str, Any]]:
    """Yield the tensors of an encrypted model folder, shard by shard. If the device is a GPU, the GPU decrypts the
    tensors.

    The manifest, the names, the unencrypted files and all headers are checked before the first tensor is yielded. Each
    tensor is authenticated before it is yielded. Closing the iterator early closes all files.

    Args:
        folder: The path, or a URL that fsspec opens, such as ``s3://bucket/model``.
        keys: A Keyset, or a location that ``Keyset.load`` accepts.
        framework: ``torch`` or ``numpy``.
        device: The device for PyTorch tensors, such as ``cuda:1``. Each rank names its own device.
        device_map: The device of each module, in place of ``device``: ``{"model.layers.0": 0, "": "cpu"}``. The longest
            module name that begins a tensor's name applies; "" means all other tensors. Several GPUs load in parallel.
        dtype: A PyTorch dtype for floating-point tensors, which are cast on the device. None keeps the stored dtype.
        rank: The number of this process, from 0.
        world_size: The number of processes that share the model. Each process gets every ``world_size``-th tensor.
        wanted: A function that selects tensors by name, in place of ``rank`` and ``world_size``.
        subfolder: The part of the model to read, such as ``vae``, or "" for the folder itself. None reads all parts.
        storage_options: Options for the URL's file system.
        reader: How the ciphertext is read for a GPU. With ``threads``, threads read it into page-locked memory. With
            ``kvikio``, it is read into device memory, from files by GPUDirect Storage if the file system supports
            this, or from s3: and http: URLs.
        group: A ``torch.distributed`` process group. All of its ranks load the model. The ranks wait for one another
            before the first tensor and after the last tensor. If a rank fails or stops, all other ranks raise an
            exception. Do not use the group for any other purpose in between.

    Yields:
        Names and tensors.

    Raises:
        InvalidTag, FormatError, KeysetError, OSError: For the same reasons as ``Folder`` and ``Folder.open``. The
            message names the file and the tensor.
        ValueError: ``rank`` is not below ``world_size``, or ``wanted`` is combined with them; ``device_map`` has no
            device for a tensor, or contains a disk; or a tensor is in two files. The latter happens in a folder of
            pipeline parts; specify a subfolder.
        RuntimeError: Another rank of ``group`` failed or stopped, or has opened a different model or version.
    """
    if not 0 <= rank < world_size:
        raise ValueError(f"rank must be from 0 to world_size - 1, not {rank} of {world_size}")
    if wanted is not None and world_size != 1:
        raise ValueError("wanted already selects the tensors; omit rank and world_size")
    _check_device_map(device_map, framework, device)

    def is_wanted(number: int, name: str) -> bool:
        return wanted(name) if wanted is not None else number % world_size == rank

    def begin() -> _Opened:
        opened = _Opened(
            Folder(folder, keys, storage_options, reader), framework, device if device_map is None else "cpu"
        )
        try:
            opened.choose(subfolder, is_wanted, device_map)
        except BaseException:
            opened.close()
            raise
        return opened

    return together(group, begin, lambda opened: opened.tensors(dtype))


def _check_device_map(device_map: Any, framework: str, device: Any) -> None:
    if device_map is None:
        return
    if not isinstance(device_map, Mapping):
        raise ValueError(
            f"device_map must be a mapping from modules to devices, not {device_map!r:.40}; "
            "accelerate.infer_auto_device_map creates one"
        )
    if framework not in ("torch", "pt") or device != "cpu":
        raise ValueError("device_map already sets the devices; omit device and framework")
    for module, place in device_map.items():
        if place == "disk":
            raise ValueError(
                f"device_map: {module!r:.80} would be unencrypted on the disk; assign it to a device or to the CPU"
            )


def _device_of(name: str, device_map: Mapping[str, Any]) -> Any:
    module = name
    while module not in device_map:
        if not module:
            raise ValueError(f"device_map has no device for {name!r:.80}; add its module, or '' for all other modules")
        module = module.rpartition(".")[0]
    return device_map[module]


def _all_of(file: safe_open, names: list[str], device: Any) -> list[tuple[str, Any]]:
    return list(file._tensors(names, device))


class _Opened:
    """The open files of a folder, and the tensors to read from each file, by device."""

    def __init__(self, folder: Folder, framework: str, device: Any) -> None:
        self._folder, self._framework, self._device = folder, framework, device
        self.identity = folder.identity
        self._files: list[tuple[str, safe_open, dict[Any, list[str]]]] = []

    def choose(
        self, subfolder: str | None, is_wanted: Callable[[int, str], bool], device_map: Mapping[str, Any] | None
    ) -> None:
        """Open the files and choose the tensors to read."""
        seen: set[str] = set()
        for name in self._folder.shards:
            if subfolder is not None and name.rpartition("/")[0] != subfolder:
                continue
            file = self._folder.open(name, self._framework, self._device)
            by_device: dict[Any, list[str]] = {}
            self._files.append((name, file, by_device))
            for tensor in file.offset_keys():
                if tensor in seen:
                    raise ValueError(
                        f"{name}: another file also contains the tensor {tensor!r:.80}; specify a subfolder"
                    )
                if is_wanted(len(seen), tensor):
                    device = self._device if device_map is None else _device_of(tensor, device_map)
                    by_device.setdefault(device, []).append(tensor)
                seen.add(tensor)

    def tensors(self, dtype: Any) -> Iterator[tuple[str, Any]]:
        """Yield the chosen tensors, and close each file after its last tensor."""
        for devices, group in itertools.groupby(self._files, lambda each: list(each[2])):
            files = list(group)
            if len(devices) == 1:
                (device,) = devices
                found = _tensors_of([(file, by_device[device]) for _, file, by_device in files], device)
            else:
                found = (self._to_several(file, by_device) for _, file, by_device in files)
            with contextlib.closing(found):
                for (_, file, _), tensors in zip(files, found):
                    for name, tensor in tensors:
                        if dtype is not None and tensor.is_floating_point():
                            tensor = tensor.to(dtype)
                        yield name, tensor
                    file.close()

    @staticmethod
    def _to_several(file: safe_open, by_device: dict[Any, list[str]]) -> Iterator[tuple[str, Any]]:
        with ThreadPoolExecutor(len(by_device) or 1, "warpaes") as pool:
            begun = [pool.submit(_all_of, file, names, device) for device, names in by_device.items()]
        for each in begun:
            yield from each.result()

    def close(self) -> None:
        """Close all files."""
        for _, file, _ in self._files:
            file.close()
