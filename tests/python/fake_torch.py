"""Simulates the parts of PyTorch that warpaes uses, with NumPy arrays and with the library's device memory."""

from __future__ import annotations

import array
import contextlib
import math
import sys
import types
from collections.abc import Iterator
from typing import Any

import warpaes

#: The non-blocking copies and the events, in the order of the calls.
work: list[tuple[Any, ...]] = []


#: The current streams. The last stream belongs to the innermost context.
current: list[Any] = [None]


class Device:
    index = None

    def __init__(self, kind: Any) -> None:
        self.type = getattr(kind, "type", kind)


class DType:
    def __init__(self, itemsize: int) -> None:
        self.itemsize = itemsize


class Tensor:
    """A tensor. `device` is cpu, cuda or another device type."""

    def __init__(self, address: int, nbytes: int, device: str = "cpu", owner: Any = None, **flags: bool) -> None:
        self.address, self.nbytes, self.owner, self.flags = address, nbytes, owner, flags
        self.device = Device(device)
        self.is_cpu, self.is_cuda = device == "cpu", device == "cuda"
        self.requires_grad = flags.get("requires_grad", False)
        self.recorded: list[Any] = []
        #: The stream that was current when the tensor was created.
        self.made_on = current[-1]

    def data_ptr(self) -> int:
        return self.address

    def get_device(self) -> int:
        return 0

    def is_contiguous(self) -> bool:
        return self.owner.flags["C_CONTIGUOUS"] if hasattr(self.owner, "strides") else True

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.owner.shape
        return shape

    def stride(self) -> tuple[int, ...]:
        return tuple(step // self.owner.itemsize for step in self.owner.strides)

    def element_size(self) -> int:
        size: int = self.owner.itemsize
        return size

    def is_conj(self) -> bool:
        return self.flags.get("conj", False)

    def is_neg(self) -> bool:
        return self.flags.get("neg", False)

    def record_stream(self, stream: Any) -> None:
        if not isinstance(stream, Stream):
            raise TypeError("record_stream(): argument 's' must be a Stream")
        self.recorded.append(stream)

    def detach(self) -> Tensor:
        return self

    def is_pinned(self) -> bool:
        return self.flags.get("pinned", False)

    # Operations on one-dimensional byte tensors.

    def reshape(self, length: int) -> Tensor:
        assert length == -1
        return self

    def view(self, dtype: DType) -> Tensor:
        assert self.nbytes % dtype.itemsize == 0
        return self

    def __getitem__(self, part: slice) -> Tensor:
        begin, end, _ = part.indices(self.nbytes)
        return Tensor(self.address + begin, max(0, end - begin), self.device.type, self.owner, **self.flags)

    def copy_(self, other: Tensor, non_blocking: bool = False) -> None:
        if non_blocking:
            work.append(("copy", self.device.type, self.nbytes))
        warpaes.copy(self, other)

    def zero_(self) -> None:
        if self.nbytes:
            warpaes.copy(self, bytes(self.nbytes))

    def cpu(self) -> Tensor:
        made = empty(self.nbytes, dtype=DType(1), pin_memory=True)
        if self.nbytes:
            warpaes.copy(made, self)
        return made

    def numpy(self) -> Any:
        begin = self.address - self.owner.ctypes.data
        return self.owner[begin : begin + self.nbytes]


class Event(int):
    """The number of a step in ``work``."""

    def query(self) -> bool:
        return True


class Stream:
    def __init__(self, pointer: Any = 0) -> None:
        self.cuda_stream = pointer if isinstance(pointer, int) else 0

    def synchronize(self) -> None:
        work.append(("synchronize",))

    def record_event(self) -> Event:
        work.append(("record", len(work)))
        return Event(len(work) - 1)

    def wait_event(self, event: int) -> None:
        work.append(("wait", event))

    def wait_stream(self, stream: Stream) -> None:
        work.append(("wait for a stream",))


class ExternalStream(Stream):
    """A stream that was created outside PyTorch."""

    def __init__(self, pointer: int, device: int) -> None:
        super().__init__(pointer)
        self.device = device


@contextlib.contextmanager
def on_stream(its_stream: Stream) -> Iterator[None]:
    """Make a stream current."""
    current.append(its_stream)
    try:
        yield
    finally:
        current.pop()


def frombuffer(data: Any, *, dtype: DType) -> Tensor:
    made = empty(len(data), dtype=DType(1), pin_memory=True)
    made.owner[:] = memoryview(data)
    return made


def tensor(values: list[int], *, dtype: DType) -> Tensor:
    return frombuffer(array.array("i", values).tobytes(), dtype=dtype)


def cat(tensors: list[Tensor]) -> Tensor:
    made = empty(sum(tensor.nbytes for tensor in tensors), dtype=DType(1), device=tensors[0].device.type)
    at = 0
    for tensor in tensors:
        warpaes.copy(made[at : at + tensor.nbytes], tensor)
        at += tensor.nbytes
    return made


def empty(shape: Any, *, dtype: DType, device: Any = "cpu", pin_memory: bool = False) -> Tensor:
    """Return memory on the library's device, or a NumPy array in pageable or page-locked memory."""
    nbytes = (shape if isinstance(shape, int) else math.prod(shape)) * dtype.itemsize
    if getattr(device, "type", device) == "cuda":
        memory = warpaes.Memory(max(nbytes, 1), "device")
        return Tensor(memory.__cuda_array_interface__["data"][0], nbytes, "cuda", memory)
    import numpy as np

    array: Any = np.frombuffer(warpaes.Memory(max(nbytes, 1)), np.uint8) if pin_memory else np.empty(nbytes, np.uint8)
    return Tensor(array.ctypes.data, nbytes, "cpu", array, pinned=pin_memory)


def install() -> list[int]:
    """Install this module as torch. Return a list that receives the devices whose stream is queried."""
    if "torch" in sys.modules:  # a module is loaded only once, because callers keep its functions
        sys.modules["torch"].asked.clear()
        return sys.modules["torch"].asked
    asked: list[int] = []

    def current_stream(device: int) -> int:
        asked.append(device)
        return 0

    torch: Any = types.ModuleType("torch")
    torch.asked = asked
    torch.Tensor, torch.device, torch.empty = Tensor, Device, empty
    torch.cat, torch.frombuffer, torch.tensor = cat, frombuffer, tensor
    torch.uint8, torch.float32, torch.int32, torch.int64 = DType(1), DType(4), DType(4), DType(8)
    torch.cuda = types.SimpleNamespace(
        current_device=lambda: 0,
        current_stream=lambda device: Stream(0),
        is_current_stream_capturing=lambda: False,
        synchronize=lambda device: work.append(("synchronize",)),
        Stream=Stream,
        stream=on_stream,
        ExternalStream=ExternalStream,
    )
    torch._C = types.SimpleNamespace(_cuda_getCurrentRawStream=current_stream)
    sys.modules["torch"] = torch
    return asked
