"""Types for annotations in several modules."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Union

if TYPE_CHECKING and sys.version_info >= (3, 12):
    from collections.abc import Buffer
elif TYPE_CHECKING:
    from typing_extensions import Buffer
else:
    Buffer = Any

#: A buffer, or a tensor: an object with ``__dlpack__`` or ``__cuda_array_interface__``.
Data = Union[Buffer, Any]

__all__ = ["Buffer", "Data"]
