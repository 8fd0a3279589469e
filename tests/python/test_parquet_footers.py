"""Tests footers of encrypted Parquet files, and Thrift's compact protocol."""

from __future__ import annotations

import io
import unittest
import unittest.mock

import support
import test_parquet as files
import warpaes.parquet as wp
from test_parquet import KEY
from warpaes import _native
from warpaes.exceptions import FormatError
from warpaes.parquet import _footer, _modules, _thrift
from warpaes.parquet._rewrite import Encryption, rewrite

pa = support.needed("pyarrow")
pq = support.needed("pyarrow.parquet")


class Thrift(unittest.TestCase):
    """Tests of Thrift's compact protocol."""

    def test_hostile_structs(self):
        for data in (
            b"",
            b"\x15",
            b"\x15" + b"\xff" * 20,
            b"\x18\xff\xff\xff\xff\x0f",
            b"\x19\xfc\xff\xff\xff\xff\x0f",
            b"\x1c" * 100,
            b"\x19\x19" * 100,
            b"\x1b\xff\xff\x03\x55",
            b"\x1d\x00",
            b"\x15\x02\x05\x02\x02\x00",
        ):
            with self.assertRaises(FormatError):
                _thrift.Reader(data, "it").struct()

    def test_values_that_contain_themselves_are_not_written(self):
        items, pairs = _thrift.List(_thrift.LIST, []), _thrift.Map(_thrift.I32, _thrift.MAP, [])
        items.items.append(items)
        pairs.items.append((1, pairs))
        for fields in ({1: (_thrift.LIST, items)}, {1: (_thrift.MAP, pairs)}):
            with self.assertRaises(RecursionError):
                _thrift.write(fields)

    def test_a_list_that_becomes_shorter_is_not_written(self):
        class Shortening:
            def __init__(self, items):
                self.items = items

            def __bool__(self):
                self.items.clear()
                return True

        items = []
        items += [Shortening(items), True, True]
        with self.assertRaises(IndexError):
            _thrift.write({1: (_thrift.LIST, _thrift.List(_thrift.BOOL_TRUE, items))})

    def test_written_as_read(self):
        fields = {
            1: (_thrift.I32, -5),
            2: (_thrift.BOOL_TRUE, True),
            3: (_thrift.BINARY, b"text"),
            20: (_thrift.LIST, _thrift.List(_thrift.STRUCT, [{7: (_thrift.DOUBLE, bytes(8))}, {}] * 9)),
            21: (_thrift.MAP, _thrift.Map(_thrift.I64, _thrift.BOOL_TRUE, [(1 << 40, True), (-(1 << 63), False)])),
            300: (_thrift.BYTE, 200),
        }
        self.assertEqual(_thrift.Reader(_thrift.write(fields), "it").struct(), fields)

    def test_bytes_of_a_struct(self):
        """The bytes follow Thrift's specification."""
        for fields, text in (
            ({}, "00"),
            ({1: (_thrift.I32, 1), 3: (_thrift.I64, -(1 << 63))}, "1502 26ffffffffffffffffff01 00"),
            ({16: (_thrift.I16, 63), 1: (_thrift.BOOL_FALSE, True)}, "11 f47e 00"),
            ({40: (_thrift.BYTE, 255)}, "0350ff 00"),
            ({1: (_thrift.BINARY, b"ab"), 2: (_thrift.DOUBLE, b"12345678")}, "18026162 173132333435363738 00"),
            ({1: (_thrift.LIST, _thrift.List(_thrift.I32, [0] * 15))}, "19f50f" + 15 * "00" + "00"),
            ({1: (_thrift.SET, _thrift.List(_thrift.BOOL_TRUE, [True, False]))}, "1a210102 00"),
            ({1: (_thrift.STRUCT, {1: (_thrift.I32, -1)})}, "1c150100 00"),
            ({1: (_thrift.MAP, _thrift.Map(0, 0, []))}, "1b00 00"),
            ({1: (_thrift.MAP, _thrift.Map(_thrift.BINARY, _thrift.I32, [(b"k", 2)]))}, "1b018501 6b04 00"),
        ):
            with self.subTest(fields=fields):
                self.assertEqual(_thrift.write(fields), bytes.fromhex(text))
                found = _thrift.Reader(b"?" + bytes.fromhex(text) + b"?", "it", 1)
                read = {number: (kind, value) for number, (kind, value) in found.struct().items()}
                boolean = {number: (2 - value, value) for number, (kind, value) in fields.items() if kind in (1, 2)}
                self.assertEqual(read, fields | boolean)
                self.assertEqual(found.at, 1 + len(bytes.fromhex(text)))

    def test_every_end_and_every_byte(self):
        """A struct that is cut off is refused, and an altered byte is refused or changes the struct."""
        with wp.open(io.BytesIO(files.written(files.table(3), compression="none")), KEY) as view:
            data = view.footer_bytes
        struct = _thrift.Reader(data, "it").struct()
        self.assertEqual(_thrift.write(struct), data)
        for end in range(len(data)):
            with self.assertRaisesRegex(FormatError, "it is damaged at byte"):
                _thrift.Reader(data[:end], "it").struct()
        for at in range(len(data)):
            for change in (1, 0x0F, 0x80, 0xFF):
                altered = bytearray(data)
                altered[at] ^= change
                try:
                    found = _thrift.Reader(altered, "it").struct()
                except FormatError:
                    continue
                self.assertNotEqual((found, len(_thrift.write(found))), (struct, len(data)))

    def test_values_that_cannot_be_written(self):
        deep = {}
        for _ in range(100):
            deep = {1: (_thrift.STRUCT, deep)}
        for fields, error in (
            ({1: (_thrift.I64, 1 << 63)}, OverflowError),
            ({1: (_thrift.I64, "1")}, TypeError),
            ({1: (_thrift.BINARY, "text")}, TypeError),
            ({1: (_thrift.STRUCT, [])}, TypeError),
            ({1: (_thrift.LIST, _thrift.List(_thrift.I32, (1,)))}, TypeError),
            ({1: _thrift.I32}, TypeError),
            ({1: (14, 0)}, ValueError),
            (deep, RecursionError),
        ):
            with self.subTest(fields=str(fields)[:60]), self.assertRaises(error):
                _thrift.write(fields)


def simple(data):
    return _footer._native.parquet_simple_footer(data, "it", _thrift.List, _thrift.Map)


class Views(unittest.TestCase):
    """A footer whose chunks are all encrypted under its key is converted without being parsed."""

    def opened(self, data, keys=KEY, **options):
        """Open a file, and check that parsing its footer has the same result. Return whether it was parsed."""
        view = wp.open(io.BytesIO(data), keys, **options)
        found = view.footer._metadata is None
        with unittest.mock.patch.object(_footer._native, "parquet_simple_footer", return_value=None):
            parsed = wp.open(io.BytesIO(data), keys, **options)
        self.assertEqual(view.footer_bytes, parsed.footer_bytes)
        self.assertEqual(view.footer.chunks, parsed.footer.chunks)
        self.assertEqual(view.footer.metadata, parsed.footer.metadata)
        self.assertEqual(view.footer.write(), parsed.footer.write())
        self.assertEqual(view.read(), parsed.read())
        return not found

    def test_converted_and_parsed(self):
        table = pa.table({"a": range(500), "b": [f"{i}" for i in range(500)], "c": [[i] for i in range(500)]})
        for parsed, options in (
            (False, {}),
            (False, {"row_group_size": 100, "data_page_size": 300, "compression": "zstd"}),
            (False, {"use_dictionary": False, "store_schema": False}),
            (True, {"write_page_index": True}),
        ):
            for algorithm in ("AES_GCM_V1", "AES_GCM_CTR_V1"):
                for plaintext in (False, True):
                    properties = {"encryption_algorithm": algorithm, "plaintext_footer": plaintext}
                    with self.subTest(options=options, **properties):
                        data = files.written(table, properties, **options)
                        self.assertEqual(
                            self.opened(data), parsed or plaintext
                        )  # pyarrow also writes encrypted metadata

    def test_other_keys_and_unencrypted_columns(self):
        table = pa.table({"a": [1, 2], "b": [3, 4]})
        for columns in ({"a": b"a" * 16}, {"a": b"a" * 16, "b": b"b" * 16}):
            file = io.BytesIO()
            wp.write_table(table, file, wp.Encryption(KEY, columns=columns))
            self.assertTrue(self.opened(file.getvalue(), wp.Keys(KEY, columns)))
        for parsed, options in ((False, {}), (True, {"bloom_filter_options": {"a": True}})):
            file = io.BytesIO()
            wp.write_table(table, file, wp.Encryption(KEY), **options)
            self.assertEqual(self.opened(file.getvalue()), parsed)
        plain = io.BytesIO()
        pq.write_table(table, plain)
        self.assertTrue(self.opened(plain.getvalue(), wp.Keys(None), allow_plaintext=True))

    def footer(self, columns=1, **column):
        """Return a footer with a row group, whose columns have the given fields in addition."""
        meta = {7: (_thrift.I64, 100), 9: (_thrift.I64, 4)}
        one = {2: (_thrift.I64, 0), 3: (_thrift.STRUCT, meta), 8: (_thrift.STRUCT, {1: (_thrift.STRUCT, {})})}
        one |= {int(number.lstrip("f")): field for number, field in column.items()}
        group = {1: (_thrift.LIST, _thrift.List(_thrift.STRUCT, [one] * columns)), 7: (_thrift.I16, 3)}
        return {
            1: (_thrift.I32, 1),
            2: (_thrift.LIST, _thrift.List(_thrift.STRUCT, [{4: (_thrift.BINARY, b"s")}])),
            4: (_thrift.LIST, _thrift.List(_thrift.STRUCT, [group])),
            8: (_thrift.STRUCT, {1: (_thrift.STRUCT, {})}),
            9: (_thrift.BINARY, b"key"),
            12: (_thrift.MAP, _thrift.Map(_thrift.I32, _thrift.BINARY, [(1, b"unknown")])),
        }

    def test_which_footers_are_simple(self):
        footer = self.footer(columns=2)
        plain, schema, groups = simple(_thrift.write(footer))
        self.assertEqual(groups, [(3, [(4, None, 100)] * 2)])
        self.assertEqual(schema, footer[2][1])
        del footer[8], footer[9]
        for column in footer[4][1].items[0][1][1].items:
            column.pop(8, None)
        self.assertEqual(plain, _thrift.write(footer))
        number, empty = (_thrift.I64, 4), (_thrift.STRUCT, {})
        for column in (
            {"f1": (_thrift.BINARY, b"another file")},
            {"f3": empty},
            {"f3": (_thrift.STRUCT, {7: (_thrift.I32, 100), 9: number})},
            {"f3": (_thrift.STRUCT, {7: number, 9: number, 14: number})},
            {"f4": number},
            {"f7": (_thrift.I32, 4)},
            {"f8": empty},
            {"f8": (_thrift.STRUCT, {1: empty, 2: empty})},
            {"f8": (_thrift.STRUCT, {2: empty})},
            {"f8": number},
            {"f9": (_thrift.BINARY, b"encrypted metadata")},
        ):
            with self.subTest(column=column):
                self.assertIsNone(simple(_thrift.write(self.footer(**column))))
        for change in ({2: number}, {4: number}, {300: number}):
            with self.subTest(change=change):
                try:
                    self.assertIsNone(simple(_thrift.write(self.footer() | change)))
                except AssertionError:
                    self.assertEqual(change, {2: number})  # the caller refuses the schema

    def test_altered_footers(self):
        """Each byte of a footer is altered, and the footer is truncated at each length. If such a footer is converted
        without parsing, the result equals the parsed footer."""
        with unittest.mock.patch.object(_footer._native, "parquet_simple_footer", return_value=None) as call:
            wp.open(io.BytesIO(files.written(pa.table({"a": [1, 2, 3], "b": [4, 5, 6]}), row_group_size=2)), KEY)
        written = bytes(call.call_args.args[0])
        self.assertIsNotNone(simple(written))
        for data in (_thrift.write(self.footer()), written):
            texts = [data[:end] for end in range(len(data))]
            for at in range(len(data)):
                for change in (1, 3, 0x10, 0x80, 0xFF):
                    texts.append(data[:at] + bytes([data[at] ^ change]) + data[at + 1 :])
            for text in texts:
                try:
                    struct = _thrift.Reader(text, "it").struct()
                except FormatError:
                    struct = None
                try:
                    found = simple(text)
                except FormatError:
                    self.assertIsNone(struct)
                    continue
                if found is None or struct is None:
                    continue
                struct.pop(8, None)
                struct.pop(9, None)
                positions = []
                for group in _thrift.structs(struct, 4, "it"):
                    columns = _thrift.structs(group, 1, "it")
                    for column in columns:
                        column.pop(8)
                    metas = [column[3][1] for column in columns]
                    values = [tuple(_thrift.get(meta, one, _thrift.I64, "it") for one in (9, 11, 7)) for meta in metas]
                    positions.append((_thrift.get(group, 7, _thrift.I16, "it"), values))
                self.assertEqual(_thrift.Reader(found[0], "it").struct(), struct)
                self.assertEqual(found[2], positions)


class Positions(unittest.TestCase):
    """Tests positions and sizes in footers."""

    def altered(self, change):
        """Return a file whose authentic footer has been altered by ``change(columns)``."""
        data = files.written(pa.table({"a": range(500), "b": range(500)}))
        tail = _footer.read_end(lambda offset, length: data[offset : offset + length], len(data))
        *_, stored, unique, _, length = _native.parquet_footer(tail)
        aad = (stored or b"") + (unique or b"")
        meta = _thrift.Reader(_native.parquet_open_footer(KEY, aad, tail, length), "footer").struct()
        change(meta, [column[3][1] for column in meta[4][1].items[0][1][1].items])
        head = tail[: len(tail) - 8 - length - 32]
        footer = head + _modules.seal_module(KEY, aad, _thrift.write(meta), _modules.FOOTER)
        return data[: len(data) - len(tail)] + footer + len(footer).to_bytes(4, "little") + b"PARE"

    def test_the_position_of_hidden_pages_is_not_for_other_chunks(self):
        for length, dictionary in ((-5, None), (1 << 40, None), (-(1 << 62), 1 << 61), (1 << 62, None)):
            with self.subTest(length=length):

                def change(meta, columns, length=length, dictionary=dictionary):
                    columns[0][9], columns[0][7] = (_thrift.I64, 1 << 62), (_thrift.I64, length)
                    if dictionary is not None:
                        columns[0][11] = (_thrift.I64, dictionary)

                with self.assertRaises(FormatError):
                    wp.open(io.BytesIO(self.altered(change)), KEY).read()

    def test_a_schema_that_is_not_a_list(self):
        for kind, value in ((_thrift.BINARY, b"x"), (_thrift.I32, 1), (_thrift.SET, None)):
            with self.subTest(kind=kind):

                def change(meta, columns, kind=kind, value=value):
                    meta[2] = (kind, meta[2][1] if value is None else value)

                with self.assertRaises(FormatError):
                    wp.open(io.BytesIO(self.altered(change)), KEY)

    def test_long_paths_of_many_columns(self):
        """A small schema of nested groups can have paths of gigabytes."""

        def element(name, children=None):
            return {4: (_thrift.BINARY, name), 1 if children is None else 5: (_thrift.I32, children or 1)}

        groups = [element(b"r", 1), *[element(b"n" * 2000, 1)] * 20, element(b"n" * 2000, 4000)]
        schema = _thrift.List(_thrift.STRUCT, groups + [element(b"x")] * 4000)
        fields = {1: (_thrift.I32, 1), 2: (_thrift.LIST, schema), 3: (_thrift.I64, 0)}
        meta = _thrift.write(fields | {4: (_thrift.LIST, _thrift.List(_thrift.STRUCT, []))})
        data = b"PAR1" + meta + len(meta).to_bytes(4, "little") + b"PAR1"
        with self.assertRaisesRegex(FormatError, "paths of its columns"):
            wp.open(io.BytesIO(data), KEY, allow_plaintext=True)

    def test_many_columns_whose_keys_are_missing(self):
        plain, sealed = io.BytesIO(), io.BytesIO()
        pq.write_table(pa.table({f"c{i}": [1, 2, 3] for i in range(80)}), plain)
        columns = {f"c{i}": bytes([i]) * 16 for i in range(1, 80)}
        with wp.open(plain, KEY, allow_plaintext=True) as view:
            rewrite(view, sealed, Encryption(KEY, columns=columns))
        with wp.open(sealed, wp.Keys(KEY)) as view:
            self.assertLess(len(view), 16 << 20)
            self.assertEqual(pq.ParquetFile(view).read(columns=["c0"]).to_pydict(), {"c0": [1, 2, 3]})


if __name__ == "__main__":
    support.main_with_arrow()
