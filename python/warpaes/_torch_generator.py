"""A ``torch.Generator`` whose numbers are those of a ``warpaes.Generator``."""

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
_REPLAYED = "a CUDA graph would make the same numbers at every replay: draw before it is captured"
#: By the address of what PyTorch hands to kernels, where another Python object stands for the same generator.
_generators: weakref.WeakValueDictionary[int, Generator] = weakref.WeakValueDictionary()

# c10::GeneratorImpl
_HEAD_WORDS = 16
_CPU_DEVICE = 0xFF00  # type 0, index -1
_META_DEVICE = 0xFF0E


def _become_custom(generator: torch.Generator) -> None:
    """Make PyTorch's dispatcher take this generator to the kernels of CustomRNGKeyId.

    That key is there for generators of others (PyTorch's Note [CustomRNGKeyId]: torchcsprng's used it), but a generator
    gets it in C++ alone, from ``GeneratorImpl(Device device, DispatchKeySet key_set)``: an extension that everybody
    would compile for their version of PyTorch. These two members are changed here instead, where they are found, side
    by side, and whoever calls this looks whether the dispatcher and ``torch.Generator.device`` have noticed. The device
    is one that no kernel of PyTorch's makes numbers on: should anything go by the dispatcher, it is refused, and does
    not get numbers of the Mersenne Twister that lies behind these members.
    """
    cpu, custom = (
        torch._C.DispatchKeySet(torch._C._parse_dispatch_key(name)).raw_repr() for name in ("CPU", "CustomRNGKeyId")
    )
    words = (ctypes.c_uint64 * _HEAD_WORDS).from_address(generator._cdata)
    found = [at for at in range(1, _HEAD_WORDS) if words[at] == cpu and words[at - 1] & 0xFFFF == _CPU_DEVICE]
    if len(found) != 1:
        raise RuntimeError(f"PyTorch {torch.__version__} has generators that warpaes does not know")
    words[found[0] - 1] ^= _CPU_DEVICE ^ _META_DEVICE
    words[found[0]] = custom


class Generator(torch.Generator):
    """A ``torch.Generator`` of secure numbers: PyTorch's functions, samplers and data loaders take it as ``generator``.

    It makes tensors of every device: ``uniform_``, ``normal_``, ``random_``, ``bernoulli``, ``exponential_``,
    ``cauchy_``, ``log_normal_``, ``geometric_``, ``normal``, ``multinomial``, ``randperm``, and what PyTorch makes of
    these, as ``rand``, ``randn`` and ``randint``. Others (``poisson``, ``binomial``, gamma and Dirichlet numbers,
    ``rrelu``) raise NotImplementedError. Uniform and normal numbers, integers, ``bernoulli`` and ``randperm`` are the
    same on every device, and those of the source; the others are made of them by PyTorch's functions in float64, whose
    last bits are the device's. docs/python.md has the ranges and bits of all. Wrong arguments raise RuntimeError.

    One draw at a time takes its share of the source, whatever threads ask; a tensor is written to by whoever draws.

    Nothing makes its numbers twice without being told to: it is refused in a child of ``fork``, in a CUDA graph that is
    captured, by ``pickle`` and ``copy``. ``set_state``, ``clone_state`` and ``source.position`` tell it to. In what
    ``torch.compile`` is to compile, functions that draw are to have ``torch.compiler.disable``.
    """

    def __new__(cls, source: random.Generator | None = None, *, device: Any = "cpu") -> Generator:
        made = super().__new__(cls, device="cpu")
        _become_custom(made)  # here, so that no subclass can go by it
        return made  # type: ignore[no-any-return]

    def __init__(self, source: random.Generator | None = None, *, device: Any = "cpu") -> None:
        """Take a source, or None for one of a random key.

        Args:
            source: Where the numbers come from, with its key, stream and position; others may draw from it, too.
            device: What the attribute of this name says to those who look. Numbers are made on the device of the tensor
                that they are for, whatever this is.

        Raises:
            TypeError: The source is no ``warpaes.Generator``.
            RuntimeError: This version of PyTorch has other generators than those that warpaes knows.
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
            raise RuntimeError(f"PyTorch {torch.__version__} did not ask warpaes for numbers")

    @property
    def source(self) -> random.Generator:
        """Where the numbers come from."""
        return self._source

    @property
    def device(self) -> torch.device:
        """What was said when this was made."""
        return self._device

    def get_state(self) -> Tensor:
        """Return the source's position, with a digest of key and stream, in 32 bytes: the key is not in it."""
        state = self._digest() + self._source.position.to_bytes(16, "big")
        return torch.tensor(list(state), dtype=torch.uint8, device="cpu")

    def set_state(self, new_state: Tensor) -> Generator:
        """Go to the position of a state, from where on numbers are the same again; return this generator.

        Raises:
            ValueError: The state of a generator of another key or stream, or of another kind.
        """
        state = bytes(new_state.tolist()) if new_state.dtype == torch.uint8 and new_state.dim() == 1 else b""
        if len(state) != _STATE_BYTES or state[:16] != self._digest():
            raise ValueError("new_state is not one of a warpaes.torch.Generator of this key and stream")
        self._source.position = int.from_bytes(state[16:], "big")
        return self

    def clone_state(self) -> Generator:
        """Return a generator of the same key, stream and position, whose numbers are the same."""
        source = self._source.spawn(self._source._stream)
        source.position = self._source.position
        return type(self)(source, device=self._device)

    def manual_seed(self, seed: int) -> NoReturn:
        """Raise NotImplementedError: a seed of 64 bits is no key."""
        raise NotImplementedError(
            "a seed is no key: warpaes.torch.Generator(warpaes.Generator(key, stream=…)) has numbers that can be made "
            "again, and source.position says from where on"
        )

    def seed(self) -> NoReturn:
        """Raise NotImplementedError: ``Generator()`` makes another of a random key."""
        raise NotImplementedError("it has a key and no seed: warpaes.torch.Generator() makes one of a random key")

    def initial_seed(self) -> NoReturn:
        """Raise NotImplementedError: there is a key, which is not told."""
        raise NotImplementedError("it has a key and no seed, and the key is not told")

    def _has_no_offset(self, *arguments: Any) -> NoReturn:
        """Raise NotImplementedError: ``source.position`` counts the bytes of the key stream."""
        raise NotImplementedError("source.position says where in the key stream it is, and can be set")

    get_offset = set_offset = philox_state = _has_no_offset

    def _is_not_for_graphs(self, *arguments: Any) -> NoReturn:
        """Raise NotImplementedError: a CUDA graph would make the same numbers at every replay."""
        raise NotImplementedError(_REPLAYED)

    graphsafe_get_state = graphsafe_set_state = _is_not_for_graphs

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a warpaes.torch.Generator is neither copied nor pickled: its key would be written, and its numbers made "
            "twice; clone_state() and get_state() say that they do that"
        )

    def __setstate__(self, state: Any) -> NoReturn:
        self.__reduce__()

    def _digest(self) -> bytes:
        source = self._source
        stream = source._stream.to_bytes(8, "big")
        return hashlib.sha256(b"warpaes.torch.Generator" + stream + source._key).digest()[:16]


def source_of(generator: torch.Generator, on_gpu: bool) -> random.Generator:
    """What the generator that a kernel has been given draws from, for a tensor of a GPU or of something else."""
    ours = _generators.get(generator._cdata)
    if ours is None:
        raise TypeError("generator is not, or no longer, a warpaes.torch.Generator")
    ours._reached = True
    if ours._process != os.getpid():
        raise RuntimeError(
            "this generator was made before the fork, and the parent makes the same numbers: make another of a stream "
            "of its own, warpaes.torch.Generator(generator.source.spawn(stream))"
        )
    if on_gpu and torch.cuda.is_current_stream_capturing():
        raise RuntimeError(_REPLAYED)
    return ours._source
