"""Random numbers generated from a key with AES-CTR. Any position can be reached directly, and results are identical on
every machine.

The bits are the AES-CTR key stream under the key. Its first counter block consists of the stream's number (8 bytes,
big-endian) and 8 zero bytes. Anyone who has the key can compute all numbers; ``Generator()`` gets a random key from the
operating system. Numbers other than bits require NumPy. docs/python.md specifies how numbers are derived from the bits.
This mapping does not change.
"""

from __future__ import annotations

import operator
import os
import threading
import weakref
from typing import TYPE_CHECKING, Any

from . import _native
from ._typing import Buffer, Data

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Self

__all__ = ["Generator"]

_STREAM_BYTES = 16 << 64

# Values of warpaes_number.
_BITS = 0
_UNIFORM = {"float64": 1, "float32": 2, "float16": 3, "bfloat16": 4}
_NORMAL = {"float64": 5, "float32": 6, "float16": 7, "bfloat16": 8}
_INTEGERS = 9

_generators: weakref.WeakSet[Generator] = weakref.WeakSet()

# The attributes that a pickle omits or stores differently.
_STATE = ("_key", "_random_key", "_stream", "_position", "_place", "_lock")


def _load(kind: type[Generator], place: str, stream: int, position: int) -> Generator:
    from . import _places

    made = kind.__new__(kind)
    Generator.__init__(made, _places.read_key(place), stream=stream)
    made._place, made._position = place, position
    return made


class Generator:
    """A generator of random numbers from a key. Different streams of the same key do not overlap.

    A call uses as many bytes of the key stream as the size of its numbers, rounded up to a multiple of 16. There are
    two exceptions: each integer uses 16 bytes, and each 16-bit normal number uses 4 bytes.

    The class is thread-safe: each call reserves its part of the key stream under a lock. In a process created by
    ``fork``, a generator with a random key gets a new random key and starts at position 0. A generator with a given key
    continues as in the parent, so both processes produce the same numbers. A copy of a generator produces the same
    numbers as the original until a fork.
    """

    def __init__(self, key: Buffer | None = None, *, stream: int = 0) -> None:
        """Create a generator at position 0.

        Args:
            key: 16, 24 or 32 bytes, or None for a random 32-byte key.
            stream: The number of the stream, from 0 to 2^64 - 1.

        Raises:
            ValueError: The key has the wrong length, or ``stream`` is out of range.
        """
        stream = operator.index(stream)  # NumPy integers have at most 64 bits
        if not 0 <= stream < 1 << 64:
            raise ValueError("stream must be between 0 and 2^64 - 1")
        self._key = os.urandom(32) if key is None else bytes(key)
        self._random_key = key is None
        if len(self._key) not in (16, 24, 32):
            raise ValueError(f"key must have 16, 24 or 32 bytes, not {len(self._key)}")
        self._stream = stream
        self._position = 0
        self._place: str | None = None
        self._lock = threading.Lock()
        _generators.add(self)

    @property
    def position(self) -> int:
        """The position in the key stream in bytes, which can be set to any multiple of 16 up to 2^68."""
        return self._position

    @position.setter
    def position(self, position: int) -> None:
        position = operator.index(position)
        if position % 16 or not 0 <= position <= _STREAM_BYTES:
            raise ValueError("position must be a multiple of 16, at most 2^68")
        with self._lock:
            self._position = position

    def spawn(self, stream: int) -> Generator:
        """Return a generator for another stream of the same key, at position 0.

        Args:
            stream: The number of the stream, from 0 to 2^64 - 1.

        Raises:
            ValueError: ``stream`` is out of range.
        """
        spawned = Generator(self._key, stream=stream)
        spawned._random_key = self._random_key
        spawned._place = self._place
        return spawned

    def __copy__(self) -> Self:
        """Return a generator at the same position of the same key stream."""
        copied = type(self).__new__(type(self))
        with self._lock:
            vars(copied).update(vars(self))
        copied._lock = threading.Lock()
        _generators.add(copied)
        return copied

    def __deepcopy__(self, memo: Any) -> Self:
        """Return a generator at the same position of the same key stream."""
        return self.__copy__()

    @classmethod
    def load(cls, place: str, *, stream: int = 0) -> Self:
        """Create a generator with a key that is read from a place. A pickle contains the place, the stream and the
        position.

        Processes that receive a pickle produce the same numbers, so give each process a separate stream (``spawn``).

        Args:
            place: ``file:PATH``, ``env:NAME``, ``fd:NUMBER`` or ``exec:COMMAND``, which contains or prints 16, 24 or 32
                bytes, or their hexadecimal digits. A descriptor can be read only once, so a generator loaded from it
                cannot be pickled.
            stream: The number of the stream, from 0 to 2^64 - 1.

        Raises:
            ValueError: ``place`` is not in one of these forms, or the key has the wrong length.
            KeysetError: The place contains text that is not a key.
            OSError: The place cannot be read.
        """
        from . import _places

        made = cls(_places.read_key(place), stream=stream)
        made._place = _places.lasting_place(place)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the place of the key, the stream and the position. The pickle never contains the key."""
        if self._place is None:
            raise TypeError(
                "this generator cannot be pickled, because the pickle would contain its key; create it "
                "with Generator.load('file:PATH'), 'env:NAME' or 'exec:COMMAND', or send a key and "
                "create Generator(key, stream=n)"
            )
        own = {name: value for name, value in vars(self).items() if name not in _STATE}
        return _load, (type(self), self._place, self._stream, self._position), own or None

    def fill(self, buf: Data, *, stream: Any = None) -> None:
        """Fill a buffer or a tensor with random bits.

        Args:
            buf: A contiguous writable buffer or tensor, in host or device memory.
            stream: The CUDA stream for device memory (see AESGCM), or None for the current stream of the tensor's
                library. The work runs in stream order, and the call does not wait for it.

        Raises:
            ValueError: The rest of the key stream is too short.
            BufferError: ``buf`` is read-only or not contiguous.
        """
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
        """Fill a buffer or a tensor with numbers of one kind. The other arguments are fields of warpaes_numbers."""
        _native.numbers(kind, self._key, self._take, buf, first, second, low, many, stream)

    def _take(self, size: int) -> bytes:
        """Reserve ``size`` bytes of the key stream, rounded up to a multiple of 16. Return their first counter
        block."""
        with self._lock:
            first = self._position
            if first + size > _STREAM_BYTES:
                raise ValueError("this stream is exhausted; use spawn() to create a generator for another stream")
            self._position = first + (size + 15) // 16 * 16
        return (self._stream << 64 | first // 16).to_bytes(16, "big")

    def bytes(self, length: int) -> bytes:
        """Return ``length`` random bytes.

        Raises:
            ValueError: ``length`` is negative, or the rest of the key stream is too short.
        """
        if length < 0:
            raise ValueError(f"length must be at least 0, not {length}")
        return _native.bits(self._key, self._take, length)

    def random(self, size: int | tuple[int, ...], dtype: Any = "float64") -> NDArray[Any]:
        """Return uniform numbers in [0, 1).

        The numbers are multiples of 2^-53 in float64, 2^-24 in float32, 2^-11 in float16 and 2^-8 in bfloat16.

        Args:
            size: The number of values, or the shape of the array.
            dtype: float64, float32, float16, or, if ml_dtypes has added it to NumPy, bfloat16.

        Raises:
            TypeError: ``dtype`` is not supported.
            ValueError: The rest of the key stream is too short.
        """
        return self._floats(_UNIFORM, size, dtype)

    def uniform(
        self, low: float = 0.0, high: float = 1.0, size: int | tuple[int, ...] = 1, dtype: Any = "float64"
    ) -> NDArray[Any]:
        """Return uniform numbers between ``low`` and ``high``: low + (high - low) · random().

        Args:
            low: The lower bound.
            high: The upper bound, which rounding can produce.
            size: The number of values, or the shape of the array.
            dtype: See ``random``.

        Raises:
            TypeError: ``dtype`` is not supported.
            ValueError: The rest of the key stream is too short, or a bound is not finite.
        """
        return self._floats(_UNIFORM, size, dtype, low, high - low)

    def normal(
        self, mean: float = 0.0, deviation: float = 1.0, size: int | tuple[int, ...] = 1, dtype: Any = "float64"
    ) -> NDArray[Any]:
        """Return normally distributed numbers, generated with the Box-Muller transform.

        Numbers are computed in float64 for float64, and in float32 for the other dtypes.

        Args:
            mean: The mean.
            deviation: The standard deviation.
            size: The number of values, or the shape of the array.
            dtype: See ``random``.

        Raises:
            TypeError: ``dtype`` is not supported.
            ValueError: The rest of the key stream is too short, or an argument is not finite.
        """
        return self._floats(_NORMAL, size, dtype, mean, deviation)

    def _floats(self, kinds: dict[str, int], size: int | tuple[int, ...], dtype: Any, *values: float) -> NDArray[Any]:
        import numpy as np

        kind = np.dtype(dtype)
        if kind.name not in kinds:
            raise TypeError(f"dtype must be float64, float32, float16 or bfloat16, not {kind}")
        out = np.empty(size, kind)
        # The buffer protocol has no format character for bfloat16, so the bytes are passed as integers.
        self._make(kinds[kind.name], out.view("u2") if kind.itemsize == 2 else out, *values)
        return out

    def integers(
        self, low: int, high: int | None = None, size: int | tuple[int, ...] = 1, dtype: Any = "int64"
    ) -> NDArray[Any]:
        """Return integers in [low, high) or, if ``high`` is None, in [0, low).

        The probability of each value differs from the ideal by less than 2^-64.

        Args:
            low: The lowest value, or the upper bound if ``high`` is None.
            high: The upper bound, which is excluded.
            size: The number of values, or the shape of the array.
            dtype: The integer dtype of the array.

        Raises:
            TypeError: ``dtype`` is not an integer dtype.
            ValueError: The range is empty or does not fit ``dtype``, or the rest of the key stream is too short.
        """
        import numpy as np

        first, end = (0, operator.index(low)) if high is None else (operator.index(low), operator.index(high))
        kind = np.dtype(dtype)
        if kind.kind not in "iu":
            raise TypeError(f"dtype must be an integer type, not {kind}")
        limits = np.iinfo(kind)
        if not first < end or first < limits.min or end - 1 > limits.max:
            raise ValueError(f"[{first}, {end}) is empty or not within the range of {kind}")
        numbers = np.empty(size, "u8")
        self._make(_INTEGERS, numbers, low=first % 2**64, many=(end - first) % 2**64)
        return numbers.astype(kind, copy=False)


def _after_fork() -> None:
    """In a child of fork, replace the random keys of generators, because the parent continues to use the old keys.

    Locks are also replaced, because a thread that exists only in the parent may hold an old lock.
    """
    for generator in _generators:
        generator._lock = threading.Lock()
        if generator._random_key:
            generator._key, generator._position = os.urandom(32), 0


os.register_at_fork(after_in_child=_after_fork)
