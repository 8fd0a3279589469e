"""Rules for CryptoTensors headers: dtypes, offsets, limits, and the tensor that stops readers without a key."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, TypeVar

from .exceptions import FormatError

CHUNK_BYTES = 2 << 20
MAX_HEADER_BYTES = 100_000_000
_END = 1 << 64

#: The base64 fields of each encrypted tensor in the header.
ENCRYPTION = ("wrapped_key", "key_iv", "key_tag", "base_iv", "tags")

#: For each dtype, its name in NumPy and PyTorch ("" if neither supports it) and its number of bits, in the order of
#: safetensors. In a file, tensors are sorted by dtype in the reverse order.
DTYPES = {
    "BOOL": ("bool", 8),
    "F4": ("float4_e2m1fn_x2", 4),
    "F6_E2M3": ("", 6),
    "F6_E3M2": ("", 6),
    "U8": ("uint8", 8),
    "I8": ("int8", 8),
    "F8_E5M2": ("float8_e5m2", 8),
    "F8_E4M3": ("float8_e4m3fn", 8),
    "F8_E8M0": ("float8_e8m0fnu", 8),
    "F8_E4M3FNUZ": ("float8_e4m3fnuz", 8),
    "F8_E5M2FNUZ": ("float8_e5m2fnuz", 8),
    "I16": ("int16", 16),
    "U16": ("uint16", 16),
    "F16": ("float16", 16),
    "BF16": ("bfloat16", 16),
    "I32": ("int32", 32),
    "U32": ("uint32", 32),
    "F32": ("float32", 32),
    "C64": ("complex64", 64),
    "F64": ("float64", 64),
    "I64": ("int64", 64),
    "U64": ("uint64", 64),
}
NAMES = {name: dtype for dtype, (name, _) in DTYPES.items() if name}
_BITS = {dtype: bits for dtype, (_, bits) in DTYPES.items()}
RANK = {dtype: rank for rank, dtype in enumerate(DTYPES)}

#: The access policy that allows everything.
POLICY = "package model\nallow = true"

#: The name of the empty tensor that stops other readers, and its dtype for each kind of reader to stop. No framework
#: supports F6_E2M3, so a reader of all tensors fails at this tensor. A dtype that safetensors does not support stops
#: any reader that opens the file.
GUARD = "__encrypted__: open this file with warpaes.safetensors or cryptotensors"
GUARDS = {"tensor": "F6_E2M3", "header": "ENCRYPTED_open_with_warpaes"}


def is_guard(name: str, entry: Any) -> bool:
    """Return whether an entry in a header is the tensor that stops other readers."""
    return name == GUARD and entry["dtype"] in GUARDS.values() and entry["shape"] == [0]


@lru_cache(64)
def framework_name(dtype: str, numpy: bool) -> str:
    """Return a framework's name for a dtype. Raise TypeError if the framework does not support the dtype."""
    name = DTYPES[dtype][0]
    if not name:
        raise TypeError(f"neither NumPy nor PyTorch supports the dtype {dtype}")
    if numpy and dtype == "F4":  # in NumPy, the dtype from ml_dtypes stores one number per byte
        raise TypeError("NumPy does not support two numbers per byte; read the tensor with framework='torch'")
    return name


def framework_shape(name: str, entry: Any) -> list[int]:
    """Return the shape of a tensor in PyTorch, where an F4 element contains two numbers."""
    shape: list[int] = entry["shape"]
    if entry["dtype"] != "F4":
        return shape
    if not shape or shape[-1] % 2:
        raise TypeError(f"{name}: PyTorch stores F4 in pairs, but the last dimension of {shape} is odd")
    return [*shape[:-1], shape[-1] // 2]


def check_encryption(encryption: dict[str, Any]) -> None:
    """Check that each encrypted tensor has a wrapped key, and that the fields of the tensor are text."""
    for name, fields in encryption.items():
        if type(fields) is not dict:
            raise FormatError(f"{name}: __encryption__ must contain an object for this tensor")
        for field in ENCRYPTION:
            if type(fields.get(field)) is not str and (field in fields or field in ENCRYPTION[:3]):
                raise FormatError(f"{name}: in __encryption__, {field} must be text")


def check_key(key: Any, what: str) -> None:
    """Check the header's description of a key."""
    if type(key) is not dict or any(
        type(key.get(name, "")) not in (str, type(None)) for name in ("alg", "jku", "kid", "kty")
    ):
        raise FormatError(f"the header's {what} key must be an object whose values are text")


def too_large(shape: list[int]) -> bool:
    """Return whether a shape is so large that NumPy and PyTorch refuse it even for an empty tensor."""
    return 0 in shape and 8 * math.prod(filter(None, shape)) >= 1 << 63


def check(text: bytes | bytearray, metadata: dict[str, str], entries: dict[str, Any], data_bytes: int) -> None:
    """Check the entries of all tensors in a header. The text of the header is required to find duplicate names.

    Raises:
        FormatError: An offset does not match dtype and shape, or offsets are not contiguous up to ``data_bytes``.
        KeyError, TypeError, ValueError: An entry has other fields.
    """
    # Quotes within JSON strings are escaped. The values of metadata are text, and a metadata key may be named dtype.
    count = text.count(b'"dtype":"') - ("dtype" in metadata)
    if any(number != len(entries) for number in (count, text.count(b'"shape":['), text.count(b'"data_offsets":['))):
        raise FormatError("not a CryptoTensors file: the header contains a tensor or a field twice")
    end = 0
    for name, entry in sorted(entries.items(), key=lambda item: item[1]["data_offsets"]):
        first, behind = entry["data_offsets"]
        shape, dtype = entry["shape"], entry["dtype"]
        bits = _BITS.get(dtype, 0 if is_guard(name, entry) else -1) if type(dtype) is str else -1
        if bits < 0 or len(entry) != 3:
            raise FormatError(f"{name}: warpaes does not support the dtype {dtype}, or the entry has unexpected fields")
        for number in (first, behind, *shape):
            if type(number) is not int or number < 0:
                raise FormatError(f"{name}: shape and data_offsets must be nonnegative integers")
        size = math.prod(shape) * bits
        if size == 0 and (max(shape, default=0) >= _END or max(itertools.accumulate(shape, int.__mul__)) >= _END):
            raise FormatError(f"{name}: the shape is too large")
        if 8 * (behind - first) != size:
            raise FormatError(f"{name}: the number of bytes in the file does not match the shape")
        if first != end:
            raise FormatError(f"{name}: data_offsets leave a gap after the previous tensor, or overlap it")
        end = behind
        if end > data_bytes:
            raise FormatError(f"{name}: the data extends past the end of the file, which was truncated")
    if end != data_bytes:
        raise FormatError(f"{data_bytes - end} unauthenticated bytes follow the last tensor; remove them")


Item = TypeVar("Item")


def spread(items: Iterable[tuple[Item, int]]) -> list[Item]:
    """Order pairs (item, bytes) so that, as far as possible, no two empty items share an offset.

    cryptotensors sorts tensors by offset, and sorts tensors with equal offsets randomly. It would therefore accept the
    signature of a file with equal offsets in some processes and reject it in others.
    """
    filled: list[Item] = []
    empty: list[tuple[Item, int]] = []
    for item, size in items:
        if size:
            filled.append(item)
        else:
            empty.append((item, len(filled)))
    none = len(filled) + 1
    follows = list(range(none + 1))  # the first free offset at or after each offset

    def free(place: int) -> int:
        while follows[place] != place:
            follows[place] = follows[follows[place]]
            place = follows[place]
        return place

    at: list[list[Item]] = [[] for _ in range(none)]
    for item, wanted in empty:
        place = free(wanted)
        if place == none:
            place = free(0)
        if place != none:
            follows[place] = place + 1
        at[wanted if place == none else place].append(item)
    ordered: list[Item] = []
    for place, before in enumerate(at):
        ordered += before
        ordered += filled[place : place + 1]
    return ordered
