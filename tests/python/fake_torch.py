"""As much of PyTorch as warpaes asks for, over NumPy's arrays and over the library's own device memory."""

from __future__ import annotations

import sys
import types
from typing import Any


class Device:
    def __init__(self, kind: str) -> None:
        self.type = kind


class Tensor:
    """`device`: cpu, cuda or another kind."""

    def __init__(self, address: int, nbytes: int, device: str = "cpu", owner: Any = None, **flags: bool) -> None:
        self.address, self.nbytes, self.owner, self.flags = address, nbytes, owner, flags
        self.device = Device(device)
        self.is_cpu, self.is_cuda = device == "cpu", device == "cuda"
        self.requires_grad = flags.get("requires_grad", False)
        self.recorded: list[Any] = []

    def data_ptr(self) -> int:
        return self.address

    def get_device(self) -> int:
        return 0

    def is_contiguous(self) -> bool:
        return self.flags.get("contiguous", True)

    def is_conj(self) -> bool:
        return self.flags.get("conj", False)

    def is_neg(self) -> bool:
        return self.flags.get("neg", False)

    def record_stream(self, stream: Any) -> None:
        self.recorded.append(stream)


class Stream:
    def __init__(self, pointer: int) -> None:
        self.cuda_stream = pointer


def install() -> list[int]:
    """Puts it where `import torch` would; returns a list of the devices whose stream was asked for."""
    if "torch" in sys.modules:  # a module is loaded once, and its functions are kept
        sys.modules["torch"].asked.clear()
        return sys.modules["torch"].asked
    asked: list[int] = []

    def current_stream(device: int) -> int:
        asked.append(device)
        return 0

    torch: Any = types.ModuleType("torch")
    torch.asked = asked
    torch.Tensor = Tensor
    torch._C = types.SimpleNamespace(_cuda_getCurrentRawStream=current_stream)
    sys.modules["torch"] = torch
    return asked
