"""Thrift's compact protocol. Structs are read within strict limits. They are written with all fields, including unknown
fields.

A struct is a dictionary from field numbers to ``(type, value)``. Integers are ``int``, booleans are ``bool``, doubles
and binaries are ``bytes``, and lists are ``List``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..exceptions import FormatError

BOOL_TRUE, BOOL_FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)

Struct = dict[int, tuple[int, Any]]

_MAX_DEPTH = 16


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
    """Reads structs from bytes. The reader never reads past the end, and creates at most one object per byte."""

    def __init__(self, data: bytes | memoryview, what: str, at: int = 0) -> None:
        """Start at an offset. ``what`` is the name of the bytes in error messages."""
        self._data = data
        self._what = what
        self.at = at

    def _refuse(self, why: str) -> FormatError:
        return FormatError(f"{self._what} is damaged at byte {self.at}: {why}")

    def _byte(self) -> int:
        try:
            value = self._data[self.at]
        except IndexError:
            raise self._refuse("it ends too early") from None
        self.at += 1
        return value

    def _varint(self) -> int:
        data, at = self._data, self.at
        value = shift = 0
        try:
            while True:
                byte = data[at]
                at += 1
                value |= (byte & 0x7F) << shift
                if byte < 0x80:
                    break
                shift += 7
                if shift > 63:
                    self.at = at
                    raise self._refuse("a number of more than 64 bits")
        except IndexError:
            self.at = at
            raise self._refuse("it ends too early") from None
        self.at = at
        if value >> 64:
            raise self._refuse("a number has more than 64 bits")
        return value

    def _integer(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _take(self, count: int) -> bytes:
        if count > len(self._data) - self.at:
            raise self._refuse("a value extends past its end")
        self.at += count
        return bytes(self._data[self.at - count : self.at])

    def struct(self, depth: int = 0) -> Struct:
        """Read a struct."""
        if depth > _MAX_DEPTH:
            raise self._refuse("it is nested too deeply")
        fields: Struct = {}
        last = 0
        while head := self._byte():
            kind = head & 0x0F
            last = last + (head >> 4) if head >> 4 else self._integer()
            if not 0 <= last < 1 << 15 or last in fields:
                raise self._refuse("a field whose number is out of range or repeats")
            if I16 <= kind <= I64:  # most values of a footer
                fields[last] = (kind, self._integer())
            elif kind in (BOOL_TRUE, BOOL_FALSE):
                fields[last] = (kind, kind == BOOL_TRUE)
            else:
                fields[last] = (kind, self._value(kind, depth))
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (I16, I32, I64):
            return self._integer()
        if kind == BINARY:
            return self._take(self._varint())
        if kind == STRUCT:
            return self.struct(depth + 1)
        if kind in (LIST, SET):
            return self._list(depth)
        if kind in (BOOL_TRUE, BOOL_FALSE):
            return self._byte() == BOOL_TRUE
        if kind == BYTE:
            return self._byte()
        if kind == DOUBLE:
            return self._take(8)
        if kind == MAP:
            return self._map(depth)
        raise self._refuse("a value has an unknown type")

    def _list(self, depth: int) -> List:
        if depth > _MAX_DEPTH:
            raise self._refuse("it is nested too deeply")
        head = self._byte()
        count = self._varint() if head >> 4 == 15 else head >> 4
        if count > len(self._data) - self.at:
            raise self._refuse("a list is longer than the remaining bytes")
        kind = head & 0x0F
        return List(kind, [self._value(kind, depth + 1) for _ in range(count)])

    def _map(self, depth: int) -> Map:
        if depth > _MAX_DEPTH:
            raise self._refuse("it is nested too deeply")
        count = self._varint()
        if count == 0:
            return Map(0, 0, [])
        head = self._byte()
        if count > len(self._data) - self.at:
            raise self._refuse("a map is longer than the remaining bytes")
        key, value = head >> 4, head & 0x0F
        return Map(key, value, [(self._value(key, depth + 1), self._value(value, depth + 1)) for _ in range(count)])


def _write_varint(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _write_integer(out: bytearray, value: int) -> None:
    _write_varint(out, (value << 1 ^ value >> 63) & (1 << 64) - 1)


def _write_value(out: bytearray, kind: int, value: Any) -> None:
    if kind in (I16, I32, I64):
        _write_integer(out, value)
    elif kind == BINARY:
        _write_varint(out, len(value))
        out += value
    elif kind == STRUCT:
        _write_struct(out, value)
    elif kind in (LIST, SET):
        count = len(value.items)
        out.append(min(count, 15) << 4 | value.type)
        if count >= 15:
            _write_varint(out, count)
        for item in value.items:
            _write_value(out, value.type, item)
    elif kind in (BOOL_TRUE, BOOL_FALSE):
        out.append(BOOL_TRUE if value else BOOL_FALSE)
    elif kind == BYTE:
        out.append(value)
    elif kind == DOUBLE:
        out += value
    else:
        _write_varint(out, len(value.items))
        if value.items:
            out.append(value.key << 4 | value.value)
            for key, item in value.items:
                _write_value(out, value.key, key)
                _write_value(out, value.value, item)


def _write_struct(out: bytearray, fields: Struct) -> None:
    last = 0
    for number in sorted(fields):
        kind, value = fields[number]
        if kind in (BOOL_TRUE, BOOL_FALSE):
            kind = BOOL_TRUE if value else BOOL_FALSE
        if 0 < number - last <= 15:
            out.append(number - last << 4 | kind)
        else:
            out.append(kind)
            _write_integer(out, number)
        last = number
        if I16 <= kind <= I64:
            _write_integer(out, value)
        elif kind not in (BOOL_TRUE, BOOL_FALSE):
            _write_value(out, kind, value)
    out.append(0)


def write(fields: Struct) -> bytes:
    """Return a struct's bytes."""
    out = bytearray()
    _write_struct(out, fields)
    return bytes(out)


def get(fields: Struct, number: int, kind: int, what: str) -> Any:
    """Return the value of a field, or None if the field is absent.

    Raises:
        FormatError: The field has the wrong type.
    """
    found = fields.get(number)
    if found is None:
        return None
    if found[0] != kind:
        raise FormatError(f"{what}: field {number} has the wrong type")
    return found[1]


def need(fields: Struct, number: int, kind: int, what: str) -> Any:
    """Return a field's value.

    Raises:
        FormatError: The field is absent or has the wrong type.
    """
    value = get(fields, number, kind, what)
    if value is None:
        raise FormatError(f"{what}: field {number} is missing")
    return value


def structs(fields: Struct, number: int, what: str) -> list[Struct]:
    """Return the structs in a list field, or [] if the field is absent."""
    value = get(fields, number, LIST, what)
    if value is None or not value.items:
        return []
    if value.type != STRUCT:
        raise FormatError(f"{what}: field {number} has the wrong type")
    items: list[Struct] = value.items
    return items
