"""Random numbers of a key: AES-CTR, at any position, the same on every machine.

Bits are the keystream of AES-CTR under the key, whose first counter block is the stream's number (8 bytes, big-endian)
and 8 zero bytes. Who has the key has all of them: ``Generator()`` takes one from the operating system. Numbers other
than bits need NumPy. How they are made of bits stands in docs/python.md, and does not change.
"""

from __future__ import annotations

import builtins
import os
import threading
from typing import TYPE_CHECKING, Any

from . import _native
from ._typing import Buffer, Data

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Generator"]

_CTR = 7
_STREAM_BYTES = 16 << 64


class Generator:
    """Random numbers of a key, from a position on; streams of one key have nothing in common.

    Every number takes as many bytes as it is long, from the next multiple of 16 on; integers take 16.
    One thread at a time takes its share; any number may ask.
    """

    def __init__(self, key: Buffer | None = None, *, stream: int = 0) -> None:
        """Take a key of 16, 24 or 32 bytes, None for a random one, and the number of a stream below 2^64."""
        if not 0 <= stream < 1 << 64:
            raise ValueError("stream must be between 0 and 2^64 - 1")
        self._key = os.urandom(32) if key is None else bytes(key)
        if len(self._key) not in (16, 24, 32):
            raise ValueError(f"key must have 16, 24 or 32 bytes, not {len(self._key)}")
        self._stream = stream
        self._position = 0
        self._lock = threading.Lock()

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
        return Generator(self._key, stream=stream)

    def fill(self, buf: Data, *, stream: Any = None) -> None:
        """Fill a buffer or a tensor with bits, in host or device memory; ``stream``: of a GPU, as in AESGCM."""
        counter = self._take(_zero(buf))
        _native.crypt(_CTR, True, self._key, counter, buf, buf, 0, stream)

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
        context = _native.context(_CTR, True, self._key, self._take(length), None, 16)
        out: builtins.bytes = context.update(builtins.bytes(length))
        return out

    def random(self, size: int | tuple[int, ...], dtype: Any = "float64") -> NDArray[Any]:
        """Return numbers in [0, 1): multiples of 2^-53, in float32 of 2^-24, float16 of 2^-11, bfloat16 of 2^-8.

        Args:
            size: How many, or the shape.
            dtype: float64, float32, float16, or bfloat16 where ml_dtypes has given NumPy one.

        Raises:
            TypeError: Another dtype.
            ValueError: The stream is used up.
        """
        import numpy as np

        kind = _float(dtype)
        out = np.empty(size, kind)
        self.fill(out.view("u2") if kind.itemsize == 2 else out)
        _native.shape(kind.name, out.view("u2") if kind.itemsize == 2 else out, 0, 0)
        return out

    def uniform(
        self, low: float = 0.0, high: float = 1.0, size: int | tuple[int, ...] = 1, dtype: Any = "float64"
    ) -> NDArray[Any]:
        """Return numbers between ``low`` and ``high``: low + (high - low) · random()."""
        out = self.random(size, dtype)
        out *= out.dtype.type(high - low)
        out += out.dtype.type(low)
        return out

    def normal(
        self, mean: float = 0.0, deviation: float = 1.0, size: int | tuple[int, ...] = 1, dtype: Any = "float64"
    ) -> NDArray[Any]:
        """Return normal numbers, by Box and Muller in float64, each from 8 bytes of the keystream.

        Args:
            mean: Their mean.
            deviation: Their standard deviation.
            size: How many, or the shape.
            dtype: As for ``random``; what has 16 bits is rounded by way of float32.

        Raises:
            TypeError: Another dtype.
            ValueError: The stream is used up.
        """
        import numpy as np

        kind = _float(dtype)
        shape = (size,) if isinstance(size, int) else size
        count = int(np.prod(shape, dtype=object))
        pairs = np.empty((count + 1) // 2 * 2, "f8")
        self.fill(pairs)
        _native.shape("normal", pairs, 0, 0)
        numbers = pairs[:count].reshape(shape)
        if (mean, deviation) != (0.0, 1.0):
            numbers = numbers * deviation + mean
        if kind.itemsize == 2:
            numbers = numbers.astype("f4")
        return numbers.astype(kind, copy=False)

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
        shape = (size,) if isinstance(size, int) else size
        count = int(np.prod(shape, dtype=object))
        words = np.empty(2 * count, "u8")
        self.fill(words)
        _native.shape("integers", words, first % 2**64, (end - first) % 2**64)
        return words[:count].astype(kind).reshape(shape)


def _float(dtype: Any) -> Any:
    """Return a dtype of NumPy's that numbers can be made in."""
    import numpy as np

    kind = np.dtype(dtype)
    if kind.name not in ("float64", "float32", "float16", "bfloat16"):
        raise TypeError(f"dtype must be float64, float32, float16 or bfloat16, not {kind}")
    return kind


def _zero(buf: Any) -> int:
    """Make a buffer zeros, and return its bytes."""
    if hasattr(buf, "zero_"):  # PyTorch, on whatever device
        buf.zero_()
        return int(buf.nbytes)
    if hasattr(buf, "fill") and hasattr(buf, "nbytes"):  # NumPy and CuPy
        buf.fill(0)
        return int(buf.nbytes)
    if hasattr(buf, "__cuda_array_interface__"):  # memory of the library's own
        zeros = bytearray(len(buf))
        _native.copy(buf, zeros)
        return len(zeros)
    view = memoryview(buf).cast("B")
    view[:] = bytes(len(view))
    return len(view)
