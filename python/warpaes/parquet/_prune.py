"""Removal of unreadable columns from a footer."""

from __future__ import annotations

from . import _footer, _thrift
from ._footer import Footer
from ._thrift import BINARY, I32, Struct

# FileMetaData, RowGroup, SortingColumn, KeyValue
_KEY_VALUES, _COLUMN_ORDERS = 5, 7
_SORTING_COLUMNS = 4
_SORTED_COLUMN = 1
_KEY = 1
_CHILDREN = 5
#: Keys of the footer's key-value metadata whose values repeat the list of columns.
_LISTS = (b"ARROW:schema", b"pandas")


def drop_missing(footer: Footer) -> None:
    """Remove the columns without a key from the schema and all row groups.

    Raises:
        KeyError: No column has a key.
    """
    missing = {chunk.place.column for row in footer.chunks for chunk in row if chunk.encrypted and chunk.key is None}
    if not missing:
        return
    metadata = footer.metadata
    count = len(footer.chunks[0])
    if len(missing) == count:
        raise KeyError("keys: the file has no column with a key")
    kept = [column for column in range(count) if column not in missing]
    schema = _thrift.structs(metadata, _footer.SCHEMA, "the footer")
    schema[:] = _tree(schema, missing)
    for group in _thrift.structs(metadata, _footer.ROW_GROUPS, "the footer"):
        columns = _thrift.structs(group, _footer.COLUMNS, "row group")
        columns[:] = [columns[column] for column in kept]
        _resort(group, kept)
    footer.chunks = [[row[column] for column in kept] for row in footer.chunks]
    orders = _items(metadata, _COLUMN_ORDERS)
    if len(orders) == count:
        orders[:] = [orders[column] for column in kept]
    pairs = _items(metadata, _KEY_VALUES)
    pairs[:] = [pair for pair in pairs if _thrift.get(pair, _KEY, BINARY, "the footer") not in _LISTS]
    if not pairs:
        metadata.pop(_KEY_VALUES, None)


def _items(struct: Struct, number: int) -> list[Struct]:
    return _thrift.structs(struct, number, "the footer") if number in struct else []


def _tree(elements: list[Struct], missing: set[int]) -> list[Struct]:
    """Return the schema's elements without the given leaves, and without groups that become empty."""
    position = leaf = 0

    def subtree() -> list[Struct]:
        nonlocal position, leaf
        element = elements[position]
        position += 1
        children = _thrift.get(element, _CHILDREN, I32, "the schema") or 0
        if not children and position > 1:
            leaf += 1
            return [] if leaf - 1 in missing else [element]
        below = [one for one in (subtree() for _ in range(children)) if one]
        if not below and position > 1:
            return []
        element[_CHILDREN] = (I32, len(below))
        return [element, *(one for tree in below for one in tree)]

    return subtree()


def _resort(group: Struct, kept: list[int]) -> None:
    """Keep only the sorting columns before the first removed column."""
    sorting = _items(group, _SORTING_COLUMNS)
    for index, one in enumerate(sorting):
        column = _thrift.need(one, _SORTED_COLUMN, I32, "a sorting column")
        if column not in kept:
            del sorting[index:]
            break
        one[_SORTED_COLUMN] = (I32, kept.index(column))
    if not sorting:
        group.pop(_SORTING_COLUMNS, None)
