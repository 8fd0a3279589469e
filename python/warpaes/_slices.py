"""Parts of tensors, selected by index with the same restrictions as in safetensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _said(index: Any) -> str:
    """Return an index in safetensors' notation."""
    if not isinstance(index, slice):
        return str(index)
    return f"{'' if index.start is None else index.start}:{'' if index.stop is None else index.stop}"


class Slice:
    """A tensor of an open file. Indexing reads and authenticates the complete tensor."""

    def __init__(self, read: Callable[[], Any], entry: Any) -> None:
        """Store the function that reads the tensor, and its entry in the header."""
        self._read, self._entry = read, entry

    def get_shape(self) -> list[int]:
        """Return the tensor's shape from the header."""
        return list(self._entry["shape"])

    def get_dtype(self) -> str:
        """Return the tensor's dtype as named in the header."""
        dtype: str = self._entry["dtype"]
        return dtype

    def __getitem__(self, index: Any) -> Any:
        """Read the tensor and return a part of it.

        Args:
            index: An integer, a slice of step 1, an ellipsis, an empty list, or a tuple of these.

        Raises:
            IndexError: An index or the end of a slice is outside the tensor, or the index type is not supported.
        """
        indices = index if isinstance(index, tuple) else (index,)
        shape = self.get_shape()
        given = [each for each in indices if each is not Ellipsis]
        if len(given) > len(shape):
            raise IndexError(f"{len(given)} indices for a tensor of {len(shape)} dimensions")
        skipped = len(shape) - len(given)
        number = 0
        for each in indices:
            if each is Ellipsis:
                number += skipped
                continue
            self._check(each, number, shape, indices)
            number += 1
        return self._read()[index]

    @staticmethod
    def _check(index: Any, number: int, shape: list[int], indices: tuple[Any, ...]) -> None:
        size = shape[number]
        if isinstance(index, list):
            if index:
                raise IndexError("Non empty lists are not implemented")
            return
        if isinstance(index, slice):
            if index.step not in (None, 1):
                raise IndexError(f"the step of a slice must be 1, not {index.step}")
            begins = index.start or 0
            outside = begins >= max(size, 1) or (index.stop is not None and index.stop > size)
            wrong = begins if begins >= size else max(0, (index.stop or 0) - 1)
        else:
            if index < -size:
                raise IndexError(f"Invalid index {index} for dimension {number} of size {size}")
            outside, wrong = index >= size, index
        if outside:
            said = ", ".join(map(_said, indices))
            raise IndexError(
                f"Error during slicing [{said}] with shape {shape}: index {wrong} out of bounds for tensor dimension "
                f"#{number} of size {size}"
            )
