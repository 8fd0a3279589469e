"""Random numbers of a key: AES-CTR, at any position, the same on every machine.

Bits are the keystream of AES-CTR under the key, whose first counter block is the stream's number (8 bytes, big-endian)
and 8 zero bytes. Who has the key has all of them: ``Generator()`` takes one from the operating system. Numbers other
than bits need NumPy. How they are made of bits stands in docs/python.md, and does not change.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING, Any

from . import _native
from ._typing import Buffer, Data

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Generator"]

_STREAM_BYTES = 16 << 64

# warpaes_number
_BITS = 0
_UNIFORM = {"float64": 1, "float32": 2, "float16": 3, "bfloat16": 4}
_NORMAL = {"float64": 5, "float32": 6, "float16": 7, "bfloat16": 8}
_INTEGERS = 9

_generators: weakref.WeakSet[Generator] = weakref.WeakSet()


class Generator:
    """Random numbers of a key, from a position on; streams of one key have nothing in common.

    Every number takes as many bytes of the key stream as it is long, from the next multiple of 16 on; integers take 16,
    and normal numbers of 16 bits take 4.
    One thread at a time takes its share; any number may ask. A child of ``fork`` takes another random key, and begins
    anew; of a key that was given it makes the numbers that its parent makes.
    """

    def __init__(self, key: Buffer | None = None, *, stream: int = 0) -> None:
        """Take a key of 16, 24 or 32 bytes, None for a random one, and the number of a stream below 2^64."""
        if not 0 <= stream < 1 << 64:
            raise ValueError("stream must be between 0 and 2^64 - 1")
        self._key = os.urandom(32) if key is None else bytes(key)
        self._random_key = key is None
        if len(self._key) not in (16, 24, 32):
            raise ValueError(f"key must have 16, 24 or 32 bytes, not {len(self._key)}")
        self._stream = stream
        self._position = 0
        self._lock = threading.Lock()
        _generators.add(self)

    @property
    def position(self) -> int:
        """How many bytes of the keystream have been used; a multiple of 16."""
        return self._position

    @position.setter
    def position(self, position: int) -> None:
        if position % 16 or not 0 <= position <= _STREAM_BYTES:
            raise ValueError("position must be a multiple of 16, at most 2^68")
        with self._lock:
            self._position = position

    def spawn(self, stream: int) -> Generator:
        """Return a generator of the same key and another stream, at its beginning."""
        spawned = Generator(self._key, stream=stream)
        spawned._random_key = self._random_key
        return spawned

    def fill(self, buf: Data, *, stream: Any = None) -> None:
        """Fill a buffer or a tensor with bits, in host or device memory; ``stream``: of a GPU, as in AESGCM."""
        self._make(_BITS, buf, stream=stream)

    def _make(
        self,
        kind: int,
        buf: Any,
        first: float = 0.0,
        second: float = 1.0,
        *,
        low: int = 0,
        many: int = 0,
        stream: Any = None,
    ) -> None:
        """Fill a buffer or a tensor with numbers of a kind."""
        _native.numbers(kind, self._key, self._take, buf, first, second, low, many, stream)

    def _take(self, size: int) -> bytes:
        """Return the counter block with which the next bytes begin, and go behind them."""
        with self._lock:
            first = self._position
            if first + size > _STREAM_BYTES:
                raise ValueError("this stream is used up: spawn another")
            self._position = first + (size + 15) // 16 * 16
        return (self._stream << 64 | first // 16).to_bytes(16, "big")

    def bytes(self, length: int) -> bytes:
        """Return random bytes."""
        if length < 0:
            raise ValueError(f"length must be 0 or more, not {length}")
        return _native.bits(self._key, self._take, length)

    def random(self, size: int | tuple[int, ...], dtype: Any = "float64") -> NDArray[Any]:
        """Return numbers in [0, 1): multiples of 2^-53, in float32 of 2^-24, float16 of 2^-11, bfloat16 of 2^-8.

        Args:
            size: How many, or the shape.
            dtype: float64, float32, float16, or bfloat16 where ml_dtypes has given NumPy one.

        Raises:
            TypeError: Another dtype.
            ValueError: The stream is used up.
        """
        return self._floats(_UNIFORM, size, dtype)

    def uniform(
        self, low: float = 0.0, high: float = 1.0, size: int | tuple[int, ...] = 1, dtype: Any = "float64"
    ) -> NDArray[Any]:
        """Return numbers between ``low`` and ``high``: low + (high - low) · random()."""
        return self._floats(_UNIFORM, size, dtype, low, high - low)

    def normal(
        self, mean: float = 0.0, deviation: float = 1.0, size: int | tuple[int, ...] = 1, dtype: Any = "float64"
    ) -> NDArray[Any]:
        """Return normal numbers, by Box and Muller: in float64, or for shorter ones in float32.

        Args:
            mean: Their mean.
            deviation: Their standard deviation.
            size: How many, or the shape.
            dtype: As for ``random``.

        Raises:
            TypeError: Another dtype.
            ValueError: The stream is used up.
        """
        return self._floats(_NORMAL, size, dtype, mean, deviation)

    def _floats(self, kinds: dict[str, int], size: int | tuple[int, ...], dtype: Any, *values: float) -> NDArray[Any]:
        import numpy as np

        kind = np.dtype(dtype)
        if kind.name not in kinds:
            raise TypeError(f"dtype must be float64, float32, float16 or bfloat16, not {kind}")
        out = np.empty(size, kind)
        # A buffer of bfloat16 has no format that others know.
        self._make(kinds[kind.name], out.view("u2") if kind.itemsize == 2 else out, *values)
        return out

    def integers(
        self, low: int, high: int | None = None, size: int | tuple[int, ...] = 1, dtype: Any = "int64"
    ) -> NDArray[Any]:
        """Return integers in [low, high), or with one bound in [0, low); off equal likelihood by less than 2^-64."""
        import numpy as np

        first, end = (0, low) if high is None else (low, high)
        kind = np.dtype(dtype)
        if kind.kind not in "iu":
            raise TypeError(f"dtype must be one of integers, not {kind}")
        limits = np.iinfo(kind)
        if not first < end or first < limits.min or end - 1 > limits.max:
            raise ValueError(f"[{first}, {end}) is empty, or not within {kind}")
        numbers = np.empty(size, "u8")
        self._make(_INTEGERS, numbers, low=first % 2**64, many=(end - first) % 2**64)
        return numbers.astype(kind, copy=False)


def _after_fork() -> None:
    """Nobody else's numbers: the parent goes on with the random keys. A lock may be a thread's that is not here."""
    for generator in _generators:
        generator._lock = threading.Lock()
        if generator._random_key:
            generator._key, generator._position = os.urandom(32), 0


os.register_at_fork(after_in_child=_after_fork)
