"""Tests the guarantees of encrypted Parquet files, module by module: altered modules, exchanged modules, and footers
from a hostile key holder.

With WARPAES_PARQUET_TESTING=FOLDER, also reads the encrypted files of apache/parquet-testing.
"""

from __future__ import annotations

import base64
import io
import itertools
import os
import pathlib
import random
import tempfile
import tracemalloc
import unittest
import unittest.mock

import support
import test_parquet as files
import warpaes.parquet as wp
from test_parquet import KEY, REFUSALS
from warpaes import _native
from warpaes.aead import AESGCM
from warpaes.exceptions import FormatError, InvalidTag
from warpaes.parquet import _footer, _modules, _rewrite, _thrift
from warpaes.parquet._inspect import verify

pa = support.needed("pyarrow")
pq = support.needed("pyarrow.parquet")
pe = support.needed("pyarrow.parquet.encryption")

OWN = b"a key of a colum"


def small(seed=0):
    """Return three columns of equal bytes, so that modules in different places have the same length."""
    values = [(i * 7 + seed) % 97 for i in range(20)]
    return pa.table({name: pa.array(values, pa.int64()) for name in ("a", "b", "c")})


def encrypted(encryption, what=None, **options):
    out = io.BytesIO()
    layout = {"row_group_size": 10, "data_page_size": 30, "write_batch_size": 5, "write_page_index": True}
    wp.write_table(small() if what is None else what, out, encryption, **layout | options)
    return out.getvalue()


def modules(data, keys=KEY, prefix=None):
    """Return the start, the length and a name for every module outside the footer."""
    found = []
    with wp.open(io.BytesIO(data), keys, prefix) as view:
        ctr = view.footer.ctr
        for chunk in itertools.chain.from_iterable(view.footer.chunks):
            where = f"{chunk.place.row_group}.{chunk.place.path}"
            whole = data[chunk.start : chunk.start + chunk.length]
            at = chunk.start
            pages = _native.parquet_walk(whole, ctr, chunk.dictionary, 0, 0, 0)
            for number, (header, page) in enumerate(pages):
                found += [(at, header, f"{where} header {number}"), (at + header, page, f"{where} page {number}")]
                at += header + page
        for span in view.footer.spans:
            where = f"{span.chunk.place.row_group}.{span.chunk.place.path} {span.kind}"
            if span.kind != _modules.BLOOM_HEADER:
                found.append((span.start, span.length, where))
                continue
            header = 4 + int.from_bytes(data[span.start : span.start + 4], "little")
            found.append((span.start, header, where))
            found.append((span.start + header, span.length - header, f"{where} bits"))
    return found


def whole(data, keys=KEY, prefix=None):
    with wp.open(io.BytesIO(data), keys, prefix) as view:
        return view.read()


VARIANTS = {
    "GCM": wp.Encryption(KEY),
    "GCM, plaintext footer": wp.Encryption(KEY, plaintext_footer=True),
    "column key": wp.Encryption(KEY, columns={"b": OWN}, footer_key_metadata=b"foot"),
    "column key, plaintext footer": wp.Encryption(KEY, columns={"b": OWN}, plaintext_footer=True),
    "stored prefix": wp.Encryption(KEY, aad_prefix=b"prefix"),
    "CTR": wp.Encryption(KEY, algorithm="AES_GCM_CTR_V1"),
}
LAYOUTS = {
    "dictionary": {"bloom_filter_options": {"a": {"ndv": 10, "fpp": 0.2}}},
    "no dictionary, v2": {"use_dictionary": False, "data_page_version": "2.0", "compression": "none"},
}
RING = wp.Keys(KEY, {"b": OWN})


class EveryByte(unittest.TestCase):
    """Flips every byte of small files once."""

    def test_noticed_or_outside_all_modules(self):
        for (name, encryption), (layout, options) in itertools.product(VARIANTS.items(), LAYOUTS.items()):
            if name.startswith("column key") and layout != "dictionary":
                continue
            with self.subTest(f"{name}, {layout}"):
                self.every_byte(encrypted(encryption, **options), encryption)

    def every_byte(self, data, encryption):
        prefix = encryption.aad_prefix or None
        expected = whole(data, RING, prefix)
        # The format does not authenticate pages with AES_GCM_CTR_V1.
        pages = {
            at
            for begin, length, what in (modules(data, RING, prefix) if encryption.ctr else ())
            if " page " in what
            for at in range(begin + 4, begin + length)
        }
        with wp.open(io.BytesIO(data), RING, prefix) as view:
            start = view.footer.start
        for at in range(len(data)):
            altered = bytearray(data)
            altered[at] ^= 1 << at % 8
            try:
                got = whole(bytes(altered), RING, prefix)
            except REFUSALS:
                continue
            if at in pages:
                continue
            self.assertEqual(got, expected, at)
            # The remaining bytes belong to FileCryptoMetaData, which lies outside all modules, before the footer's
            # module.
            self.assertFalse(encryption.plaintext_footer, at)
            self.assertTrue(start <= at < start + 45, at)

    def test_verify_notices_every_module(self):
        data = encrypted(VARIANTS["column key"], **LAYOUTS["dictionary"])
        with wp.open(io.BytesIO(data), RING) as view:
            self.assertGreater(verify(view), 0)
        for begin, length, what in modules(data, RING):
            for at in (begin, begin + 4, begin + 16, begin + length - 1):
                altered = bytearray(data)
                altered[at] ^= 0x40
                with self.assertRaises(REFUSALS, msg=what), wp.open(io.BytesIO(altered), RING) as view:
                    verify(view)

    def test_sentences_name_the_place(self):
        data = encrypted(VARIANTS["GCM"], **LAYOUTS["no dictionary, v2"])
        for begin, length, what in modules(data):
            if " page " not in what and " header " not in what:
                continue
            group, column = what.split(" ")[0].split(".")
            kind = "page header" if " header " in what else "page"
            altered = bytearray(data)
            altered[begin + length - 1] ^= 1
            place = f"row group {group}, column {'abc'.index(column)}, page {what.split()[-1]}: the {kind} "
            with self.assertRaisesRegex(InvalidTag, place):
                whole(bytes(altered))


class Exchanges(unittest.TestCase):
    """Tests authentic parts in the wrong places."""

    def refuse(self, data, altered, what, keys=KEY):
        self.assertNotEqual(data, altered)
        with self.assertRaises(REFUSALS, msg=what):
            whole(altered, keys)

    def test_any_two_modules_of_equal_lengths(self):
        """Pages, headers, indexes and Bloom filters are exchanged and copied, also between columns and row groups."""
        kinds = set()
        for layout, options in LAYOUTS.items():
            data = encrypted(VARIANTS["GCM"], **options)
            every = modules(data)
            for (one, length, what), (other, other_length, other_what) in itertools.combinations(every, 2):
                if length != other_length or data[one : one + length] == data[other : other + length]:
                    continue
                kinds.add((what.split(" ", 1)[1].split(" ")[0], what.split(" ")[0] != other_what.split(" ")[0]))
                copied = bytearray(data)
                copied[one : one + length] = data[other : other + length]
                self.refuse(data, bytes(copied), f"{layout}: {what} is {other_what}")
                copied[other : other + length] = data[one : one + length]
                self.refuse(data, bytes(copied), f"{layout}: {what} and {other_what}")
        self.assertLessEqual({(kind, elsewhere) for kind in ("page", "header") for elsewhere in (True, False)}, kinds)

    def test_whole_pages_and_chunks(self):
        """A page with its header is moved before its neighbour, duplicated or omitted. Chunks are replaced with chunks
        of other columns and row groups."""
        data = encrypted(VARIANTS["GCM"], **LAYOUTS["no dictionary, v2"])
        every = modules(data)
        pairs = [
            (header[0], header[1] + page[1], header[2])
            for header, page in itertools.pairwise(every)
            if " header " in header[2]
        ]
        for (one, size, what), (other, other_size, _) in itertools.pairwise(pairs):
            if one + size != other:
                continue
            end = other + other_size
            self.refuse(data, data[:one] + data[other:end] + data[one:other] + data[end:], what)
            if size == other_size:
                self.refuse(data, data[:other] + data[one:other] + data[end:], what)
        with wp.open(io.BytesIO(data), KEY) as view:
            chunks = [(one.start, one.length) for row in view.footer.chunks for one in row]
        for (one, size), (other, other_size) in itertools.combinations(chunks, 2):
            if size == other_size:
                altered = bytearray(data)
                altered[one : one + size] = data[other : other + size]
                altered[other : other + size] = data[one : one + size]
                self.refuse(data, bytes(altered), f"chunks at {one} and {other}")

    def test_parts_of_another_file(self):
        """The key, layout, position and AAD prefix are the same. Only aad_file_unique differs."""
        for name in ("GCM", "stored prefix", "CTR"):
            encryption = VARIANTS[name]
            data, other = encrypted(encryption), encrypted(encryption)
            self.assertEqual(len(data), len(other))
            prefix = encryption.aad_prefix or None
            for begin, length, what in modules(data, KEY, prefix):
                if encryption.ctr and " page " in what:
                    continue
                altered = data[:begin] + other[begin : begin + length] + data[begin + length :]
                self.refuse(data, altered, f"{name}: {what}")
            with wp.open(io.BytesIO(data), KEY, prefix) as view:
                start = view.footer.start
            self.refuse(data, data[:start] + other[start:], name)
            self.refuse(data, other[:start] + data[start:], name)

    def test_columns_metadata(self):
        """A holder of only the footer key exchanges the encrypted metadata of two columns that have their own keys."""
        encryption = wp.Encryption(KEY, columns={"a": OWN, "b": OWN})
        data = encrypted(encryption)
        ring = wp.Keys(KEY, {"a": OWN, "b": OWN})
        whole(data, ring)

        def change(metadata):
            columns = metadata[_footer.ROW_GROUPS][1].items[0][_footer.COLUMNS][1].items
            field = _footer.ENCRYPTED_META_DATA
            columns[0][field], columns[1][field] = columns[1][field], columns[0][field]

        with self.assertRaisesRegex(InvalidTag, r"column 0 \(a\): the column metadata"):
            whole(with_footer(data, change), ring)

    def test_a_whole_file_in_the_place_of_another(self):
        """Only an expected AAD prefix, which is derived from the name, detects this."""
        data = encrypted(wp.Encryption(KEY, aad_prefix=b"table/part-1"))
        whole(data, KEY, b"table/part-1")
        with self.assertRaisesRegex(ValueError, "differs from the prefix"):
            whole(data, KEY, b"table/part-2")


def with_footer(data, change, key=KEY):
    """Return a file with a different footer, created by the holder of the key."""
    with wp.open(io.BytesIO(data), wp.Keys(key, {"a": OWN, "b": OWN})) as view:
        start, aad = view.footer.start, view.footer.aad
    tail = data[start:]
    length = _native.parquet_footer(tail)[-1]
    metadata = _thrift.Reader(_native.parquet_open_footer(key, aad, tail, length), "the footer").struct()
    change(metadata)
    crypto = tail[: len(tail) - 8 - length - _modules.OVERHEAD]
    sealed = crypto + _modules.seal_module(key, aad, _thrift.write(metadata), _modules.FOOTER)
    return data[:start] + sealed + len(sealed).to_bytes(4, "little") + b"PARE"


def group(metadata, index=0):
    return metadata[_footer.ROW_GROUPS][1].items[index]


def column(metadata, index=0):
    return group(metadata)[_footer.COLUMNS][1].items[index]


def meta(metadata, index=0):
    return column(metadata, index)[_footer.META_DATA][1]


class HostileFooters(unittest.TestCase):
    """A writer with the key may create authentic footers with wrong values."""

    def test_values(self):
        data = encrypted(VARIANTS["GCM"])
        self.assertEqual(whole(with_footer(data, lambda metadata: None)), whole(data))

        def ordinal(value):
            return lambda m: group(m, 1).update({_footer.RG_ORDINAL: (_thrift.I16, value)})

        def of_meta(field, value):
            return lambda m: meta(m).update({field: (_thrift.I64, value)})

        def of_column(field, kind, value):
            return lambda m: column(m).update({field: (kind, value)})

        wrong = {
            "ordinals repeat": ordinal(0),
            "ordinal below 0": ordinal(-1),
            "one column too many": lambda m: group(m)[_footer.COLUMNS][1].items.append(dict(column(m))),
            "one column too few": lambda m: group(m)[_footer.COLUMNS][1].items.pop(),
            "a chunk past the end of the file": of_meta(_footer.COMPRESSED_SIZE, 1 << 40),
            "a chunk of 2^62 bytes": of_meta(_footer.COMPRESSED_SIZE, 1 << 62),
            "a chunk of fewer than 0 bytes": of_meta(_footer.COMPRESSED_SIZE, -5),
            "a chunk before the file": lambda m: meta(m).update(
                {_footer.DATA_OFFSET: (_thrift.I64, -9), _footer.DICTIONARY_OFFSET: (_thrift.I64, -9)}
            ),
            "two chunks at the same position": lambda m: meta(m, 1).update(
                {field: meta(m)[field] for field in (_footer.DATA_OFFSET, _footer.DICTIONARY_OFFSET)}
            ),
            "an index past the end of the file": of_column(_footer.OFFSET_INDEX_OFFSET, _thrift.I64, 1 << 50),
            "an index of 2^31 bytes": of_column(_footer.OFFSET_INDEX_LENGTH, _thrift.I32, (1 << 31) - 1),
            "crypto metadata of an unknown kind": of_column(_footer.CRYPTO, _thrift.STRUCT, {3: (_thrift.STRUCT, {})}),
            "no crypto metadata": of_column(_footer.CRYPTO, _thrift.STRUCT, {}),
            "data in another file": of_column(_footer.FILE_PATH, _thrift.BINARY, b"/etc/passwd"),
            "no metadata": lambda m: column(m).pop(_footer.META_DATA),
        }
        for name, change in wrong.items():
            altered = with_footer(data, change)
            tracemalloc.start()
            try:
                with self.assertRaisesRegex(FormatError, "row group|column|schema|index|overlaps", msg=name):
                    whole(altered)
                self.assertLess(tracemalloc.get_traced_memory()[1], 2 << 20, name)
            finally:
                tracemalloc.stop()

    def test_a_chunk_that_is_too_short(self):
        """The chunk's length truncates the last page, in files and in objects."""
        data = encrypted(VARIANTS["GCM"])
        for less in (1, 20, 100):

            def change(m, less=less):
                size = meta(m)[_footer.COMPRESSED_SIZE][1]
                meta(m)[_footer.COMPRESSED_SIZE] = (_thrift.I64, size - less)

            with self.assertRaisesRegex((FormatError, InvalidTag), r"row group 0, column 0"):
                whole(with_footer(data, change))

    def test_unknown_algorithms(self):
        data = encrypted(VARIANTS["GCM"])
        with wp.open(io.BytesIO(data), KEY) as view:
            start = view.footer.start
        at = data.index(b"\x1c\x1c", start)
        altered = data[: at + 1] + b"\x3c" + data[at + 2 :]  # the third member of the union EncryptionAlgorithm
        with self.assertRaisesRegex(FormatError, "algorithm"):
            whole(altered)

    def test_more_pages_than_ordinals(self):
        plain = io.BytesIO()
        values = pa.table({"a": pa.array(range(32_770), pa.int32())})
        pq.write_table(values, plain, data_page_size=1, write_batch_size=1, use_dictionary=False, compression="none")
        view = wp.open(plain, wp.Keys(None), allow_plaintext=True)
        with self.assertRaisesRegex(FormatError, "more than 32,768 pages"):
            wp.rewrite(view, io.BytesIO(), wp.Encryption(KEY))
        out = io.BytesIO()
        with unittest.mock.patch.object(_rewrite, "_MAX_PAGES", 1 << 16):
            wp.rewrite(wp.open(plain, wp.Keys(None), allow_plaintext=True), out, wp.Encryption(KEY))
        with self.assertRaisesRegex(FormatError, "at most 32,768 data pages"):
            whole(out.getvalue())


class Combinations(unittest.TestCase):
    """With random combinations of pyarrow's options, the result equals that of pyarrow's decryption, including
    checksums and page indexes."""

    def test_equal_to_pyarrow(self):
        rng = random.Random(2026)
        expected = files.table(300)
        for number in range(40):
            options = {
                "compression": rng.choice(["none", "snappy", "zstd", "gzip", "brotli", "lz4"]),
                "data_page_version": rng.choice(["1.0", "2.0"]),
                "use_dictionary": rng.choice([True, False, ["text"]]),
                "data_page_size": rng.choice([100, 1000, 1 << 20]),
                "write_batch_size": rng.choice([7, 64, 1024]),
                "row_group_size": rng.choice([50, 299, 10_000]),
                "write_page_index": rng.choice([True, False]),
                "write_page_checksum": rng.choice([True, False]),
                "write_statistics": rng.choice([True, False, ["number"]]),
            }
            if rng.random() < 0.3:
                options["bloom_filter_options"] = {"text": True}
            if not options["use_dictionary"] and rng.random() < 0.5:
                options["column_encoding"] = {"number": "DELTA_BINARY_PACKED", "real": "BYTE_STREAM_SPLIT"}
            prefix = rng.choice([None, b"prefix"])
            stored = rng.choice([True, False])
            properties = {
                "encryption_algorithm": rng.choice(["AES_GCM_V1", "AES_GCM_CTR_V1"]),
                "plaintext_footer": rng.choice([True, False]),
                **({"aad_prefix": prefix, "store_aad_prefix": stored} if prefix else {}),
            }
            with self.subTest(f"{number}: {options} {properties}"):
                try:
                    data = files.written(expected, properties, **options)
                except OSError as error:  # pyarrow cannot write this file
                    self.assertIn("encrypt", str(error).lower())
                    continue
                theirs = pe.create_decryption_properties(KEY, aad_prefix=None if stored else prefix)
                reference = pq.ParquetFile(io.BytesIO(data), decryption_properties=theirs).read()
                with wp.open(io.BytesIO(data), KEY, prefix) as view:
                    plain = pq.ParquetFile(view, page_checksum_verification=True)
                    self.assertTrue(plain.read().equals(reference))
                    one = plain.metadata.row_group(0).column(0)
                    self.assertEqual(one.has_offset_index, options["write_page_index"])
                # pyarrow also reads the file after warpaes has rewritten it with different options.
                again = io.BytesIO()
                with wp.open(io.BytesIO(data), KEY, prefix) as view:
                    wp.rewrite(view, again, wp.Encryption(OWN, plaintext_footer=rng.choice([True, False])))
                theirs = pe.create_decryption_properties(OWN)
                got = pq.ParquetFile(io.BytesIO(again.getvalue()), decryption_properties=theirs).read()
                self.assertTrue(got.equals(reference))


class Written(unittest.TestCase):
    """Tests of files that this package writes."""

    def test_every_module_has_a_nonce_of_its_own(self):
        nonces = []
        for _ in range(3):
            data = encrypted(VARIANTS["column key"], **LAYOUTS["dictionary"])
            nonces += [data[begin + 4 : begin + 16] for begin, _, _ in modules(data, RING)]
        self.assertGreater(len(nonces), 100)
        self.assertEqual(len(set(nonces)), len(nonces))

    def test_the_limit_of_a_key(self):
        with (
            unittest.mock.patch.object(_modules, "MAX_MODULES", 20),
            self.assertRaisesRegex(ValueError, "more than 2.32 modules"),
        ):
            encrypted(VARIANTS["GCM"])

    def test_a_full_disk(self):
        """The file object's error is raised, and the old file at the path is kept."""

        class Full(io.RawIOBase):
            def write(self, data):
                raise OSError(28, "No space left on device")

        with self.assertRaisesRegex(OSError, "No space"):
            wp.write_table(small(), Full(), wp.Encryption(KEY))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "t.parquet")
            wp.write_table(small(), path, wp.Encryption(KEY))
            before = pathlib.Path(path).read_bytes()
            with (
                unittest.mock.patch.object(_rewrite._Writer, "_finish", side_effect=OSError(28, "No space left")),
                self.assertRaisesRegex(OSError, "No space"),
            ):
                wp.write_table(small(1), path, wp.Encryption(KEY))
            self.assertEqual(pathlib.Path(path).read_bytes(), before)
            self.assertEqual(os.listdir(folder), ["t.parquet"])

    def test_tables_without_rows_columns_or_groups(self):
        for table in (small().slice(0, 0), small().select([]), pa.table({"a": pa.array([None, None], pa.null())})):
            out = io.BytesIO()
            wp.write_table(table, out, wp.Encryption(KEY))
            clear = io.BytesIO()
            pq.write_table(table, clear)
            got = wp.read_table(out, KEY)
            self.assertEqual(got.schema, table.schema)
            self.assertTrue(got.equals(pq.ParquetFile(clear).read()))


FOLDER = os.environ.get("WARPAES_PARQUET_TESTING", "")
SHORT = {b"kf": b"0123456789012345", b"kc1": b"1234567890123450", b"kc2": b"1234567890123451"}
LONG = {b"kf": b"01234567890123456789012345678901"}
LONG |= {f"kc{i}".encode(): f"123456789012345678901234567890{11 + i}".encode() for i in range(1, 9)}


class LocalKms:
    """The KMS of parquet-mr's tests. It uses AES-GCM under master keys, with the keys' names as associated data."""

    def unwrap_key(self, wrapped, master):
        data = base64.b64decode(wrapped)
        return AESGCM(SHORT[master.encode()]).decrypt(data[:12], data[12:], master.encode())


@unittest.skipUnless(
    FOLDER, "WARPAES_PARQUET_TESTING does not name a folder with the encrypted files of parquet-testing"
)
class ParquetTesting(unittest.TestCase):
    """Tests of files from parquet-cpp and parquet-mr."""

    def test_every_file(self):
        paths = sorted(pathlib.Path(FOLDER).rglob("*.parquet.encrypted"))
        self.assertGreaterEqual(len(paths), 13)
        tables = {}
        for path in paths:
            keys = (LONG if "aes256" in path.name or "aes256" in str(path.parent) else SHORT).get
            if "external_key_material" in path.name:
                side = path.with_name(f"data__KEY_MATERIAL_FOR_{path.name.removeprefix('data_')}.json")
                side = side if side.exists() else path.parent / f"_KEY_MATERIAL_FOR_{path.name}.json"
                keys = wp.KeyMaterial(LocalKms(), external=side.read_bytes())
            prefix = b"tester" if "disable_aad_storage" in path.name else None
            with wp.open(path, keys, prefix) as view:
                self.assertEqual(view.missing_columns, [])
                tables[path.name] = pq.read_table(view, page_checksum_verification=True)
                self.assertGreater(verify(view), 0)
        by_schema = {}
        for name, table in tables.items():
            self.assertGreaterEqual(table.num_rows, 50, name)
            first = by_schema.setdefault((str(table.schema), table.num_rows), table)
            for one in table.column_names:
                if one != "int96_field":
                    self.assertTrue(first[one].equals(table[one]), f"{name} {one}")


if __name__ == "__main__":
    support.main_with_arrow()
