"""Thrift's compact protocol. Structs are read within strict limits. They are written with all fields, including unknown
fields.

A struct is a dictionary from field numbers to ``(type, value)``. Integers are ``int``, booleans are ``bool``, doubles
and binaries are ``bytes``, and lists are ``List``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import _native
from ..exceptions import FormatError

BOOL_TRUE, BOOL_FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)

Struct = dict[int, tuple[int, Any]]


@dataclass(slots=True)
class List:
    """A list or a set, with the type of its elements."""

    type: int
    items: list[Any]


@dataclass(slots=True)
class Map:
    """A map, with the types of its keys and values."""

    key: int
    value: int
    items: list[tuple[Any, Any]]


class Reader:
    """Reads structs from bytes. The reader never reads past the end, and creates at most a few objects per byte."""

    def __init__(self, data: bytes | memoryview, what: str, at: int = 0) -> None:
        """Start at an offset. ``what`` is the name of the bytes in error messages."""
        self._data = data
        self._what = what
        self.at = at

    def struct(self) -> Struct:
        """Read a struct."""
        fields, self.at = _native.thrift_read(self._data, self._what, self.at, List, Map)
        return fields


def write(fields: Struct) -> bytes:
    """Return a struct's bytes."""
    return _native.thrift_write(fields)


def get(fields: Struct, number: int, kind: int, what: object) -> Any:
    """Return the value of a field, or None if the field is absent. ``what`` is the struct's name in error messages.

    Raises:
        FormatError: The field has the wrong type.
    """
    found = fields.get(number)
    if found is None:
        return None
    if found[0] != kind:
        raise FormatError(f"{what}: field {number} has the wrong type")
    return found[1]


def need(fields: Struct, number: int, kind: int, what: object) -> Any:
    """Return a field's value.

    Raises:
        FormatError: The field is absent or has the wrong type.
    """
    value = get(fields, number, kind, what)
    if value is None:
        raise FormatError(f"{what}: field {number} is missing")
    return value


def structs(fields: Struct, number: int, what: object) -> list[Struct]:
    """Return the structs in a list field, or [] if the field is absent."""
    value = get(fields, number, LIST, what)
    if value is None or not value.items:
        return []
    if value.type != STRUCT:
        raise FormatError(f"{what}: field {number} has the wrong type")
    items: list[Struct] = value.items
    return items
