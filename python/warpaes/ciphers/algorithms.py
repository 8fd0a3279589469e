"""AES, and the interface that algorithms implement."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, ClassVar, NoReturn

from .._typing import Buffer

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["AES", "AES128", "AES256", "BlockCipherAlgorithm", "CipherAlgorithm"]


class CipherAlgorithm(abc.ABC):
    """An algorithm with a name, a key and the key's size in bits."""

    name: str
    key_size: int
    key: Buffer


class BlockCipherAlgorithm(CipherAlgorithm):
    """A block cipher; ``block_size`` is in bits."""

    block_size: int

    def __copy__(self) -> Self:
        """Return the object itself, because it is immutable."""
        return self

    def __deepcopy__(self, memo: object) -> Self:
        """Return the object itself, because it is immutable."""
        return self

    def __reduce__(self) -> NoReturn:
        """Raise TypeError, because a pickle would contain the key."""
        raise TypeError(
            f"this {type(self).__name__} cannot be pickled, because the pickle would contain its key; "
            f"send the key over a channel that you trust, and create the object in the other process"
        )


def _checked_key(name: str, key: Buffer, sizes: frozenset[int]) -> Buffer:
    try:
        view = memoryview(key)
    except TypeError:
        raise TypeError("key must be bytes") from None
    if view.nbytes * 8 not in sizes:
        raise ValueError(f"Invalid key size ({view.nbytes * 8}) for {name}.")
    return key


class AES(BlockCipherAlgorithm):
    """AES with a key of 128, 192 or 256 bits. For XTS, the key is the concatenation of two keys and has 256 or 512
    bits."""

    name = "AES"
    block_size = 128
    key_sizes: ClassVar[frozenset[int]] = frozenset([128, 192, 256, 512])

    def __init__(self, key: Buffer) -> None:
        """Store a reference to the key of 16, 24, 32 or 64 bytes.

        Raises:
            TypeError: ``key`` is not a buffer.
            ValueError: ``key`` has the wrong length.
        """
        self.key = _checked_key(self.name, key, self.key_sizes)
        self.key_size = memoryview(key).nbytes * 8


class AES128(BlockCipherAlgorithm):
    """AES with a key of 128 bits."""

    name = "AES"
    block_size = 128
    key_size = 128
    key_sizes: ClassVar[frozenset[int]] = frozenset([128])

    def __init__(self, key: Buffer) -> None:
        """Store a reference to the key of 16 bytes.

        Raises:
            TypeError: ``key`` is not a buffer.
            ValueError: ``key`` has the wrong length.
        """
        self.key = _checked_key(self.name, key, self.key_sizes)


class AES256(BlockCipherAlgorithm):
    """AES with a key of 256 bits."""

    name = "AES"
    block_size = 128
    key_size = 256
    key_sizes: ClassVar[frozenset[int]] = frozenset([256])

    def __init__(self, key: Buffer) -> None:
        """Store a reference to the key of 32 bytes.

        Raises:
            TypeError: ``key`` is not a buffer.
            ValueError: ``key`` has the wrong length.
        """
        self.key = _checked_key(self.name, key, self.key_sizes)
