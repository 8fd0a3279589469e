"""Tensors like PyTorch's, with any number of dimensions, in host memory. They are NumPy arrays with PyTorch's methods.

``warpaes.vllm`` uses them if PyTorch is not installed.
"""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np


class DType:
    def __init__(self, kind: Any) -> None:
        self.kind = np.dtype(kind)
        self.itemsize = self.kind.itemsize


class Device:
    type = "cpu"


class Tensor:
    device, is_cpu, is_cuda, requires_grad = Device(), True, False, False

    def __init__(self, array: Any) -> None:
        self.array = array
        self.shape, self.nbytes = array.shape, array.nbytes

    def is_contiguous(self) -> bool:
        return bool(self.array.flags["C_CONTIGUOUS"])

    def is_conj(self) -> bool:
        return False

    def is_neg(self) -> bool:
        return False

    def data_ptr(self) -> int:
        address: int = self.array.ctypes.data
        return address

    def element_size(self) -> int:
        size: int = self.array.itemsize
        return size

    def stride(self, dimension: int | None = None) -> Any:
        steps = tuple(step // self.array.itemsize for step in self.array.strides)
        return steps if dimension is None else steps[dimension]

    def storage_offset(self) -> int:
        whole = self.array
        while isinstance(whole.base, np.ndarray):
            whole = whole.base
        offset: int = (self.array.ctypes.data - whole.ctypes.data) // self.array.itemsize
        return offset

    def numpy(self) -> Any:
        return self.array

    def cpu(self) -> Tensor:
        return self

    def to(self, device: Any, non_blocking: bool = False) -> Tensor:
        return self

    def detach(self) -> Tensor:
        return self

    def reshape(self, *shape: int) -> Tensor:
        return Tensor(self.array.reshape(shape))

    def view(self, *kind: Any) -> Tensor:
        """Return a view of the same memory with a different type or shape."""
        made = self.array.view(kind[0].kind) if isinstance(kind[0], DType) else self.array.reshape(kind)
        assert made.size == 0 or np.shares_memory(made, self.array), "a view is not a copy"
        return Tensor(made)

    def as_strided(self, size: tuple[int], stride: tuple[int], begin: int) -> Tensor:
        """Return bytes of the memory that contains this tensor."""
        whole = self.array
        while isinstance(whole.base, np.ndarray):
            whole = whole.base
        return Tensor(whole.reshape(-1)[begin : begin + size[0]])

    def copy_(self, other: Tensor, non_blocking: bool = False) -> None:
        self.array[...] = other.array

    def zero_(self) -> None:
        self.array[...] = 0

    def __int__(self) -> int:
        return int(self.array)

    def __len__(self) -> int:
        return len(self.array)

    @staticmethod
    def _plain(key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        return tuple(part.array if isinstance(part, Tensor) else part for part in parts)

    def __getitem__(self, key: Any) -> Tensor:
        return Tensor(self.array[self._plain(key)])

    def __setitem__(self, key: Any, value: Tensor) -> None:
        self.array[self._plain(key)] = value.array


def empty(shape: Any, *, dtype: DType, device: Any = None, pin_memory: bool = False) -> Tensor:
    """Return memory with arbitrary content."""
    made = np.empty((shape,) if isinstance(shape, int) else shape, dtype.kind)
    made.view(np.uint8).reshape(-1)[:] = 0xA5
    return Tensor(made)


def install() -> None:
    """Install this module as torch."""
    torch: Any = types.ModuleType("torch")
    torch.Tensor, torch.device, torch.dtype, torch.empty = Tensor, Device, DType, empty
    torch.int8, torch.uint8, torch.int32, torch.int64 = map(DType, ("i1", "u1", "i4", "i8"))
    torch.from_numpy = Tensor
    torch.frombuffer = lambda data, *, dtype: Tensor(np.frombuffer(data, dtype.kind))
    torch.tensor = lambda values, *, dtype: Tensor(np.array(values, dtype.kind))
    torch.cat = lambda tensors: Tensor(np.concatenate([each.array for each in tensors]))
    torch.inference_mode = lambda: lambda function: function
    torch.cuda = types.SimpleNamespace(is_available=lambda: False)
    sys.modules["torch"] = torch
