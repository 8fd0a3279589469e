"""A ``torch.Generator`` that draws numbers from a ``warpaes.Generator``."""

from __future__ import annotations

import ctypes
import hashlib
import os
import weakref
from typing import Any, NoReturn

import torch
from torch import Tensor

from . import random

_STATE_BYTES = 32
_REPLAYED = "a CUDA graph would produce the same numbers at every replay; draw the numbers before the capture"
#: Generators by the address of the C++ generator, because PyTorch passes a different Python object for the same
#: generator to kernels.
_generators: weakref.WeakValueDictionary[int, Generator] = weakref.WeakValueDictionary()

# Layout of c10::GeneratorImpl.
_HEAD_WORDS = 16
_CPU_DEVICE = 0xFF00  # type 0, index -1
_META_DEVICE = 0xFF0E


def _become_custom(generator: torch.Generator) -> None:
    """Make PyTorch's dispatcher forward calls with this generator to the kernels of CustomRNGKeyId.

    PyTorch reserves this dispatch key for third-party generators (PyTorch's Note [CustomRNGKeyId]; torchcsprng used
    it). Only the C++ constructor ``GeneratorImpl(Device device, DispatchKeySet key_set)`` can set the key, which would
    require a C++ extension that is compiled for each PyTorch version. Therefore, this function changes the two adjacent
    members in memory, and the caller checks that the dispatcher and ``torch.Generator.device`` see the change. PyTorch
    has no random kernels for the new device. A call that bypasses the dispatcher therefore fails, and never returns
    numbers from the Mersenne Twister that follows these members in memory.
    """
    cpu, custom = (
        torch._C.DispatchKeySet(torch._C._parse_dispatch_key(name)).raw_repr() for name in ("CPU", "CustomRNGKeyId")
    )
    words = (ctypes.c_uint64 * _HEAD_WORDS).from_address(generator._cdata)
    found = [at for at in range(1, _HEAD_WORDS) if words[at] == cpu and words[at - 1] & 0xFFFF == _CPU_DEVICE]
    if len(found) != 1:
        raise RuntimeError(
            f"warpaes does not support the generators of PyTorch {torch.__version__}; use a different PyTorch version"
        )
    words[found[0] - 1] ^= _CPU_DEVICE ^ _META_DEVICE
    words[found[0]] = custom


class Generator(torch.Generator):
    """A ``torch.Generator`` of cryptographically secure numbers, for every ``generator`` argument in PyTorch.

    PyTorch's functions, samplers and data loaders accept it. It fills tensors on any device. It supports ``uniform_``,
    ``normal_``, ``random_``, ``bernoulli``, ``exponential_``, ``cauchy_``, ``log_normal_``, ``geometric_``, ``normal``,
    ``multinomial``, ``randperm``, and functions built on these, such as ``rand``, ``randn`` and ``randint``. Other
    functions (``poisson``, ``binomial``, gamma and Dirichlet numbers, ``rrelu``) raise NotImplementedError. Invalid
    arguments raise RuntimeError.

    Uniform and normal numbers, integers, ``bernoulli`` and ``randperm`` are identical on every device and equal the
    numbers of the source. PyTorch's functions compute the other numbers from these in float64, so their last bits
    depend on the device. docs/python.md lists the ranges and bits of all functions.

    The class is thread-safe: each draw reserves its part of the source's key stream. Each thread must fill its own
    tensor.

    Numbers repeat only after ``set_state``, ``clone_state`` or a change of ``source.position``. The generator refuses
    to draw in a process created by ``fork`` and during the capture of a CUDA graph, and refuses ``pickle`` and
    ``copy``. Functions that draw numbers must have ``torch.compiler.disable`` where ``torch.compile`` would compile
    them.
    """

    def __new__(cls, source: random.Generator | None = None, *, device: Any = "cpu") -> Generator:
        made = super().__new__(cls, device="cpu")
        _become_custom(made)  # in __new__, so that no subclass can skip it
        return made  # type: ignore[no-any-return]

    def __init__(self, source: random.Generator | None = None, *, device: Any = "cpu") -> None:
        """Create a generator that draws from a source.

        Args:
            source: The ``warpaes.Generator`` with key, stream and position. Other code may also draw from it. None
                creates a new generator with a random key.
            device: The value of the attribute ``device``. It does not affect where numbers are computed, which is
                always the tensor's device.

        Raises:
            TypeError: ``source`` is not a ``warpaes.Generator``.
            RuntimeError: This PyTorch version's generators have an unknown layout.
        """
        if source is not None and not isinstance(source, random.Generator):
            raise TypeError(f"source must be a warpaes.Generator, not {type(source).__name__}")
        self._source = random.Generator() if source is None else source
        self._device = torch.device(device)
        self._process = os.getpid()
        self._reached = False
        _generators[self._cdata] = self
        torch.empty(0, device="cpu").uniform_(generator=self)
        if not self._reached or torch.Generator.device.__get__(self).type != "meta":
            raise RuntimeError(
                f"PyTorch {torch.__version__} did not use warpaes's generator; use a different PyTorch version"
            )

    @property
    def source(self) -> random.Generator:
        """The ``warpaes.Generator`` that supplies the numbers."""
        return self._source

    @property
    def device(self) -> torch.device:
        """The device that was passed to the constructor."""
        return self._device

    def get_state(self) -> Tensor:
        """Return the source's position and a 32-byte digest of its key and stream, which does not reveal the key."""
        state = self._digest() + self._source.position.to_bytes(16, "big")
        return torch.tensor(list(state), dtype=torch.uint8, device="cpu")

    def set_state(self, new_state: Tensor) -> Generator:
        """Set the source to the position in a state, so that its numbers repeat from this position. Return this
        generator.

        Args:
            new_state: The result of ``get_state`` of a generator with the same key and stream.

        Raises:
            ValueError: The state belongs to another key, another stream or another kind of generator.
        """
        state = bytes(new_state.tolist()) if new_state.dtype == torch.uint8 and new_state.dim() == 1 else b""
        if len(state) != _STATE_BYTES or state[:16] != self._digest():
            raise ValueError(
                "new_state must come from get_state() of a warpaes.torch.Generator with the same key and stream"
            )
        self._source.position = int.from_bytes(state[16:], "big")
        return self

    def clone_state(self) -> Generator:
        """Return a generator with the same key, stream and position, which produces the same numbers."""
        source = self._source.spawn(self._source._stream)
        source.position = self._source.position
        return type(self)(source, device=self._device)

    def manual_seed(self, seed: int) -> NoReturn:
        """Raise NotImplementedError, because a 64-bit seed is not a key."""
        raise NotImplementedError(
            "a 64-bit seed is not a key; warpaes.torch.Generator(warpaes.Generator(key, stream=…)) returns "
            "repeatable numbers, and source.position is the position at which they continue"
        )

    def seed(self) -> NoReturn:
        """Raise NotImplementedError. ``Generator()`` creates a generator with a new random key."""
        raise NotImplementedError(
            "the generator has a key and no seed; warpaes.torch.Generator() creates a generator with a random key"
        )

    def initial_seed(self) -> NoReturn:
        """Raise NotImplementedError, because the generator has a key in place of a seed, and does not reveal it."""
        raise NotImplementedError("the generator has a key and no seed, and it does not reveal the key")

    def _has_no_offset(self, *arguments: Any) -> NoReturn:
        """Raise NotImplementedError, because ``source.position`` is the offset in the key stream."""
        raise NotImplementedError("the position in the key stream is source.position, which can be set")

    get_offset = set_offset = philox_state = _has_no_offset

    def _is_not_for_graphs(self, *arguments: Any) -> NoReturn:
        """Raise NotImplementedError, because a CUDA graph would produce the same numbers at every replay."""
        raise NotImplementedError(_REPLAYED)

    graphsafe_get_state = graphsafe_set_state = _is_not_for_graphs

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a warpaes.torch.Generator cannot be copied or pickled, because the copy would contain its key and "
            "repeat its numbers; use clone_state() or get_state()"
        )

    def __setstate__(self, state: Any) -> NoReturn:
        self.__reduce__()

    def _digest(self) -> bytes:
        source = self._source
        stream = source._stream.to_bytes(8, "big")
        return hashlib.sha256(b"warpaes.torch.Generator" + stream + source._key).digest()[:16]


def source_of(generator: torch.Generator, on_gpu: bool) -> random.Generator:
    """Return the source of a generator that a kernel received.

    ``on_gpu`` is true if the tensor to fill is on a GPU.

    Raises:
        TypeError: The generator is not a ``warpaes.torch.Generator``.
        RuntimeError: The generator was created before a fork, or a CUDA graph is being captured.
    """
    ours = _generators.get(generator._cdata)
    if ours is None:
        raise TypeError("generator must be a warpaes.torch.Generator that still exists")
    ours._reached = True
    if ours._process != os.getpid():
        raise RuntimeError(
            "this generator was created before the fork, and the parent produces the same numbers; create a generator "
            "for another stream, warpaes.torch.Generator(generator.source.spawn(stream))"
        )
    if on_gpu and torch.cuda.is_current_stream_capturing():
        raise RuntimeError(_REPLAYED)
    return ours._source
