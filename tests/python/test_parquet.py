"""Tests encrypted Parquet through the plain view: pyarrow's files, altered files, missing keys, and the number of bytes
read."""

from __future__ import annotations

import base64
import datetime
import importlib
import io
import itertools
import json
import logging
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import tracemalloc
import unittest
import unittest.mock

import support
import warpaes
import warpaes.parquet as wp
from warpaes.exceptions import FormatError, InvalidTag

pa = support.needed("pyarrow")
pq = support.needed("pyarrow.parquet")
pe = support.needed("pyarrow.parquet.encryption")

KEY = b"0123456789012345"
REFUSALS = (InvalidTag, FormatError, ValueError, KeyError)


def table(rows=500):
    days = [datetime.date(2026, 1, 1) + datetime.timedelta(days=i % 60) for i in range(rows)]
    return pa.table(
        {
            "number": pa.array(range(rows), pa.int64()),
            "text": pa.array([None if i % 7 == 0 else f"text {i % 13}" for i in range(rows)]),
            "real": pa.array([i / 3 for i in range(rows)], pa.float64()),
            "flag": pa.array([i % 3 == 0 for i in range(rows)]),
            "day": pa.array(days),
            "list": pa.array([None if i % 5 == 0 else list(range(i % 4)) for i in range(rows)], pa.list_(pa.int32())),
            "deep": pa.array([{"a": i, "b": {"c": str(i)}} for i in range(rows)]),
            "nulls": pa.array([None] * rows, pa.int32()),
        }
    )


def written(what=None, properties=None, **options):
    out = io.BytesIO()
    properties = {} if properties is None else properties
    pq.write_table(
        table() if what is None else what,
        out,
        encryption_properties=pe.create_encryption_properties(KEY, **properties),
        **options,
    )
    return out.getvalue()


def read(data, keys=KEY, **options):
    with wp.open(io.BytesIO(data), keys, **options) as view:
        return pq.read_table(view)


class Kms(pe.KmsClient):
    """Wraps keys with XOR, which is sufficient for tests."""

    def __init__(self, config=None):
        super().__init__()

    def wrap_key(self, key_bytes, master_key_identifier):
        return base64.b64encode(bytes(b ^ 0x5A for b in key_bytes) + master_key_identifier.encode())

    def unwrap_key(self, wrapped_key, master_key_identifier):
        raw = base64.b64decode(wrapped_key)
        return bytes(b ^ 0x5A for b in raw[: -len(master_key_identifier)])


def with_column_keys(double=True, plaintext=False, algorithm="AES_GCM_V1", bits=128, columns=None, **options):
    factory = pe.CryptoFactory(Kms)
    config = pe.EncryptionConfiguration(
        footer_key="foot",
        column_keys=columns or {"one": ["number", "deep.a"], "two": ["list.list.element"]},
        double_wrapping=double,
        plaintext_footer=plaintext,
        encryption_algorithm=algorithm,
        data_key_length_bits=bits,
    )
    properties = factory.file_encryption_properties(pe.KmsConnectionConfig(), config)
    out = io.BytesIO()
    pq.write_table(table(), out, encryption_properties=properties, **options)
    return out.getvalue()


def missing(column):
    """Return all keys except one column's key."""
    ring = wp.KeyMaterial(Kms())
    keep = ring.column
    ring.column = lambda path, metadata: None if path == column else keep(path, metadata)
    return ring


class Written(unittest.TestCase):
    """Tests of files that pyarrow writes."""

    def test_layouts(self):
        expected = table()
        layouts = itertools.product(
            ("AES_GCM_V1", "AES_GCM_CTR_V1"),
            (False, True),
            ({}, {"aad_prefix": b"prefix"}, {"aad_prefix": b"prefix", "store_aad_prefix": False}),
            ("1.0", "2.0"),
            ("none", "snappy", "zstd"),
        )
        for algorithm, plaintext, prefix, version, compression in layouts:
            with self.subTest(f"{algorithm} {plaintext} {prefix} {version} {compression}"):
                data = written(
                    properties={"encryption_algorithm": algorithm, "plaintext_footer": plaintext, **prefix},
                    data_page_version=version,
                    compression=compression,
                    data_page_size=700,
                    write_batch_size=50,
                    row_group_size=230,
                    write_page_index=True,
                    write_page_checksum=True,
                )
                with wp.open(io.BytesIO(data), KEY, prefix.get("aad_prefix")) as view:
                    got = pq.read_table(view, page_checksum_verification=True)
                    self.assertEqual(view.footer.ctr, algorithm == "AES_GCM_CTR_V1")
                self.assertTrue(got.equals(expected))

    def test_encodings(self):
        numbers = pa.table({"a": pa.array(range(3000), pa.int32()), "b": pa.array([f"v{i}" for i in range(3000)])})
        for options in (
            {"use_dictionary": False, "column_encoding": {"a": "DELTA_BINARY_PACKED", "b": "DELTA_BYTE_ARRAY"}},
            {"use_dictionary": False, "column_encoding": {"a": "BYTE_STREAM_SPLIT", "b": "DELTA_LENGTH_BYTE_ARRAY"}},
            {"use_dictionary": ["b"], "dictionary_pagesize_limit": 500},
            {"write_statistics": False},
            {"bloom_filter_options": {"a": True, "b": {"ndv": 100, "fpp": 0.1}}},
            {"compression": "gzip"},
            {"compression": "brotli"},
            {"compression": "lz4"},
            {"flavor": "spark", "version": "1.0"},
        ):
            with self.subTest(options):
                try:
                    data = written(numbers, data_page_size=800, **options)
                except (OSError, NotImplementedError) as error:
                    self.assertIn("encrypt", str(error).lower())  # pyarrow cannot write this file
                    continue
                self.assertTrue(read(data).equals(numbers))

    def test_keys_of_all_lengths(self):
        for length in (16, 24, 32):
            out = io.BytesIO()
            key = bytes(range(length))
            pq.write_table(table(10), out, encryption_properties=pe.create_encryption_properties(key))
            self.assertTrue(read(out.getvalue(), key).equals(table(10)))

    def test_empty_tables(self):
        for what in (table(0), table().slice(0, 1)):
            self.assertTrue(read(written(what)).equals(what))

    def test_column_keys_of_a_kms(self):
        for double, plaintext, algorithm, bits in itertools.product(
            (False, True), (False, True), ("AES_GCM_V1", "AES_GCM_CTR_V1"), (128, 256)
        ):
            with self.subTest(f"{double} {plaintext} {algorithm} {bits}"):
                data = with_column_keys(double=double, plaintext=plaintext, algorithm=algorithm, bits=bits)
                self.assertTrue(read(data, wp.KeyMaterial(Kms())).equals(table()))

    def test_page_index(self):
        data = written(write_page_index=True, data_page_size=500, write_batch_size=20)
        with wp.open(io.BytesIO(data), KEY) as view:
            plain = pq.ParquetFile(view)
            column = plain.metadata.row_group(0).column(0)
            self.assertTrue(column.has_offset_index and column.has_column_index)
            self.assertTrue(plain.read().equals(table()))

    def test_a_file_in_clear(self):
        out = io.BytesIO()
        pq.write_table(table(), out)
        with self.assertRaisesRegex(ValueError, "allow_plaintext"):
            wp.open(io.BytesIO(out.getvalue()), KEY)
        with wp.open(io.BytesIO(out.getvalue()), KEY, allow_plaintext=True) as view:
            self.assertFalse(view.encrypted)
            self.assertTrue(pq.read_table(view).equals(table()))

    def test_paths_and_urls(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "t.parquet")
            with open(path, "wb") as file:
                file.write(written())
            with wp.open(path, KEY) as view:
                self.assertTrue(pq.read_table(view).equals(table()))
            support.needed("fsspec")
            with wp.open(f"file://{path}", lambda metadata: KEY) as view:
                self.assertTrue(pq.read_table(view).equals(table()))


def hundred_rows():
    return pa.table({"a": pa.array([bytes([i]) * (i * 97 % 3000) for i in range(100)])})


def hundred_columns():
    columns = {f"c{i}": pa.array([(i * 37 + j * j) % 100_003 for j in range(20_000)]) for i in range(100)}
    return written(pa.table(columns), use_dictionary=False, data_page_size=8192)


class Counting(io.BytesIO):
    """Counts the bytes that are read."""

    count = 0

    def readinto(self, buffer):
        got = super().readinto(buffer)
        self.count += got
        return got

    def read(self, size=-1):
        got = super().read(size)
        self.count += len(got)
        return got


class Reads(unittest.TestCase):
    """Every range of the view must contain the same bytes."""

    def test_any_range(self):
        data = written(data_page_size=300, write_batch_size=20, write_page_index=True, row_group_size=200)
        with wp.open(io.BytesIO(data), KEY) as view:
            whole = view.read()
        self.assertEqual(len(whole), view.size)
        steps = [(i * 7919 % len(whole), 1 + i * 31 % 997) for i in range(400)]
        for one_view in (True, False):
            view = wp.open(io.BytesIO(data), KEY)
            for offset, length in steps:
                if not one_view:
                    view = wp.open(io.BytesIO(data), KEY)
                self.assertEqual(view.read_at(offset, length), whole[offset : offset + length])

    def test_a_read_in_the_middle(self):
        """A page is located with the OffsetIndex, or with two length fields per page, without reading all data before
        it."""
        values = pa.table({"a": pa.array([f"value {i}" for i in range(100_000)])})
        for index in (True, False):
            for dictionary in (True, False):
                data = written(
                    values,
                    data_page_size=4096,
                    write_batch_size=100,
                    write_page_index=index,
                    use_dictionary=dictionary,
                    dictionary_pagesize_limit=5000,
                    compression="none",
                )
                with wp.open(io.BytesIO(data), KEY) as view:
                    whole = view.read()
                file = Counting(data)
                with wp.open(file, KEY) as view:
                    chunk = view.footer.chunks[0][0]
                    self.assertEqual(chunk.dictionary, dictionary)
                    self.assertGreater(chunk.length, 1 << 20)
                    before = file.count
                    at = chunk.start + chunk.length * 9 // 10
                    self.assertEqual(view.read_at(at, 100), whole[at : at + 100])
                    self.assertLess(file.count - before, chunk.length // (20 if index else 9))

    def test_an_index_that_does_not_fit_is_not_used(self):
        """The writer of an index has the key, so a wrong index is possible but not an attack."""
        data = written(data_page_size=300, write_batch_size=20, write_page_index=True)
        with wp.open(io.BytesIO(data), KEY) as view:
            whole = view.read()
        for shift in (-1, 1, 1000):
            view = wp.open(io.BytesIO(data), KEY)
            find = wp._pages._thrift.need

            def wrong(struct, number, kind, what, find=find, shift=shift):
                return find(struct, number, kind, what) + (shift if "offset index" in what and number == 1 else 0)

            wp._pages._thrift.need = wrong
            try:
                self.assertEqual(view.read_at(len(whole) // 2, 99), whole[len(whole) // 2 :][:99])
            finally:
                wp._pages._thrift.need = find

    def test_a_projection_reads_one_column(self):
        data = hundred_columns()

        file = Counting(data)
        with wp.open(file, KEY) as view:
            footer = file.count
            got = pq.ParquetFile(view).read(columns=["c42"])
            chunk = view.footer.chunks[0][42].length
            self.assertLess(footer, len(data) - view.footer.start + 100)
        self.assertEqual(got.column(0).to_pylist()[5], (42 * 37 + 25) % 100_003)
        self.assertLessEqual(file.count - footer, 1.1 * chunk)


def content(span):
    """Return the bytes of a span in any kind of memory."""
    whole = bytearray(len(span.memory))
    warpaes.copy(whole, span.memory)
    return bytes(whole[span.base : span.base + span.size])


class ColumnChunks(unittest.TestCase):
    """Tests of spans for cuDF's HybridScanReader. Without a GPU, the spans lie in host memory but are otherwise the
    same."""

    def setUp(self):
        self.device = "cuda" if any(one["name"] == "cuda" and one["usable"] for one in warpaes.backends()) else "cpu"

    def test_a_child_of_fork(self):
        """A child cannot use the parent's page-locked memory and threads, and its locks may be held during the fork."""
        _device = importlib.import_module("warpaes.parquet._device")
        with wp.open(io.BytesIO(written()), KEY) as view:
            expected = [content(span) for span in view.column_chunks(device="cpu")]
            with _device._staging._lock, _device._threads._lock:
                child = os.fork()
                if child == 0:
                    signal.alarm(20)
                    status = 1
                    try:
                        status = [content(span) for span in view.column_chunks(device="cpu")] != expected
                    finally:
                        os._exit(status)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            self.assertEqual([content(span) for span in view.column_chunks(device="cpu")], expected)

    def test_spans(self):
        for algorithm, dictionary in itertools.product(("AES_GCM_V1", "AES_GCM_CTR_V1"), (True, False)):
            data = written(
                properties={"encryption_algorithm": algorithm},
                use_dictionary=dictionary,
                data_page_size=300,
                write_batch_size=20,
                row_group_size=200,
                write_page_index=True,
            )
            with wp.open(io.BytesIO(data), KEY) as view:
                whole = view.read()
                footer = pq.read_metadata(io.BytesIO(whole))
                # HybridScanReader requires the footer's bytes and, for each chunk, the bytes from its first page on.
                self.assertEqual(whole[-8 - len(view.footer_bytes) : -8], view.footer_bytes)
                expected = []
                for group in range(footer.num_row_groups):
                    for column in range(footer.num_columns):
                        one = footer.row_group(group).column(column)
                        first = one.dictionary_page_offset if one.has_dictionary_page else one.data_page_offset
                        expected.append((first, one.total_compressed_size))
                spans = view.column_chunks(device=self.device)
                self.assertEqual([(span.offset, span.size) for span in spans], expected)
                for span in spans:
                    self.assertEqual(content(span), whole[span.offset : span.offset + span.size])
                    self.assertTrue(span.ptr)
                some = view.column_chunks([1, 0], ["deep", "text"], self.device)
                columns = footer.num_columns
                order = [columns * group + column for group in (1, 0) for column in (1, 6, 7)]
                self.assertEqual([span.offset for span in some], [expected[i][0] for i in order])
                ranges = [(expected[3][0] + 5, 77), (0, 4), (view.size - 8, 8), (10, 0), expected[2]]
                for span, (offset, size) in zip(view.to_device(ranges, self.device), ranges, strict=True):
                    self.assertEqual(content(span), whole[offset : offset + size])

    def test_many_chunks(self):
        """Several threads decrypt, and their staging buffers contain no plaintext afterwards."""
        from warpaes.parquet import _device

        small = unittest.mock.patch.object(_device, "_PIECE_BYTES", 1 << 16)
        small.start()
        self.addCleanup(small.stop)
        _device._staging._free.clear()
        data = hundred_columns()
        with wp.open(io.BytesIO(data), KEY) as view:
            spans = view.column_chunks(device=self.device)
            self.assertEqual(len(spans), 100)
            self.assertEqual(len({id(span.memory) for span in spans}), 1)
            whole = bytearray(len(spans[0].memory))
            warpaes.copy(whole, spans[0].memory)
            for span in spans:
                self.assertEqual(whole[span.base : span.base + span.size], view.read_at(span.offset, span.size))
            self.assertTrue(_device._staging._free)
            staged = b"".join(bytes(memory) for memory in _device._staging._free)
            self.assertLess(staged.count(0), len(staged))
            for pages in view.column_pages():
                for begin, end in itertools.pairwise(pages.starts()):
                    plain = view.read_at(pages.chunk.start + begin, end - begin)
                    for at in (0, len(plain) - 24):  # the header with its statistics, and the text
                        self.assertEqual(staged.find(plain[at : at + 24]), -1)

    def test_pieces(self):
        """The chunk and the page are longer than a staging buffer."""
        from warpaes.parquet import _device

        data = written(hundred_rows(), use_dictionary=False, compression="none", data_page_size=5000)
        keep = _device._PIECE_BYTES
        self.addCleanup(setattr, _device, "_PIECE_BYTES", keep)
        for piece in (1, 100, 5000, 12_345, 1 << 20):
            _device._PIECE_BYTES = piece
            with wp.open(io.BytesIO(data), KEY) as view:
                for span in view.column_chunks(device=self.device):
                    self.assertEqual(content(span), view.read_at(span.offset, span.size))

    def test_refusals(self):
        data = written(data_page_size=300, write_batch_size=20)
        with wp.open(io.BytesIO(data), KEY) as view:
            for wrong, sentence in (
                ({"row_groups": [1]}, "row_groups: there is no row group 1"),
                ({"columns": ["nothing"]}, "columns: the file has no column nothing"),
                ({"device": "tpu"}, "device: must be"),
                ({"device": "cuda:"}, "device: must be"),
            ):
                with self.assertRaisesRegex(ValueError, sentence):
                    view.column_chunks(**{"device": self.device} | wrong)
            with self.assertRaisesRegex(ValueError, "ranges"):
                view.to_device([(view.size, 1)], self.device)
            chunk = view.footer.chunks[0][1]
        altered = bytearray(data)
        altered[chunk.start + chunk.length // 2] ^= 1
        with wp.open(io.BytesIO(altered), KEY) as view:
            with self.assertRaises((InvalidTag, FormatError)):
                view.column_chunks(columns=["text"], device=self.device)
            self.assertEqual(len(view.column_chunks(columns=["number"], device=self.device)), 1)
        renamed = bytearray(data)
        at = data.index(b"\x1c\x1c", wp.open(io.BytesIO(data), KEY).footer.start)
        renamed[at + 1] = 0x2C
        refused = self.assertRaisesRegex(ValueError, "altered to AES_GCM_CTR_V1")
        with wp.open(io.BytesIO(renamed), KEY) as view, refused:
            view.column_chunks(device=self.device)
        with wp.open(io.BytesIO(with_column_keys()), missing("number")) as view:
            with self.assertRaisesRegex(KeyError, "number"):
                view.column_chunks(device=self.device)
            self.assertEqual(len(view.column_chunks(columns=["text"], device=self.device)), 1)


class OnS3(unittest.TestCase):
    """Tests with a file object that reads ranges of an object."""

    def test_a_projection_fetches_one_column(self):
        support.needed("boto3")
        support.needed("moto")
        from s3_here import Here

        data = hundred_columns()
        store = Here()
        self.addCleanup(store.close)
        store.put("t.parquet", data)
        fetched = []

        class Object(io.RawIOBase):
            at = 0

            def readable(self):
                return True

            def seekable(self):
                return True

            def tell(self):
                return self.at

            def seek(self, offset, whence=0):
                self.at = offset + (0, self.at, len(data))[whence]
                return self.at

            def readinto(self, buffer):
                span = f"bytes={self.at}-{self.at + len(buffer) - 1}"
                answer = store.client.get_object(Bucket=store.bucket, Key="t.parquet", Range=span)["Body"].read()
                buffer[: len(answer)] = answer
                self.at += len(answer)
                fetched.append(len(answer))
                return len(answer)

        with wp.open(Object(), KEY) as view:
            footer, requests = sum(fetched), len(fetched)
            chunk = view.footer.chunks[0][42].length
            got = pq.ParquetFile(view).read(columns=["c42"])
            self.assertLess(footer, len(data) - view.footer.start + 100)
        self.assertEqual(got.column(0).to_pylist()[5], (42 * 37 + 25) % 100_003)
        self.assertLessEqual(sum(fetched) - footer, 1.1 * chunk)
        self.assertLessEqual(len(fetched) - requests, 2)


class OverS3fs(unittest.TestCase):
    """Tests of URLs for the fsspec protocol, with s3fs and a moto server."""

    def test_a_projection_fetches_one_column(self):
        s3fs = support.needed("s3fs")
        server = support.needed("moto.server").ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        fsspec = support.needed("fsspec")
        fsspec.register_implementation("warpaes-parquet", "warpaes.parquet._fs.ParquetFileSystem", clobber=True)
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        # moto adds a Server header to each response, so werkzeug must not add one. In Python's development mode,
        # aiohttp refuses duplicate headers.
        once = unittest.mock.patch(
            "werkzeug.serving.WSGIRequestHandler.send_response",
            lambda handler, code, message=None: handler.send_response_only(code, message),
        )
        once.start()
        self.addCleanup(once.stop)
        server.start()
        self.addCleanup(server.stop)
        host, port = server.get_host_and_port()
        options = {
            "key": "test",
            "secret": "test",
            "client_kwargs": {"region_name": "us-east-1"},
            "endpoint_url": f"http://{host}:{port}",
        }
        data = hundred_columns()
        plain = s3fs.S3FileSystem(**options)
        plain.call_s3("create_bucket", Bucket="tables")
        plain.pipe_file("tables/t.parquet", data)
        fetched = []
        real = s3fs.core.S3File._fetch_range

        def counted(file, start, end):
            got = real(file, start, end)
            fetched.append(len(got))
            return got

        s3fs.core.S3File._fetch_range = counted
        self.addCleanup(setattr, s3fs.core.S3File, "_fetch_range", real)
        with wp.open(io.BytesIO(data), KEY) as view:
            footer, chunk = len(data) - view.footer.start, view.footer.chunks[0][42].length
        storage = {"warpaes-parquet": {"keys": KEY}, "s3": options}
        with fsspec.open("warpaes-parquet::s3://tables/t.parquet", **storage) as file:
            got = pq.ParquetFile(file).read(columns=["c42"])
        self.assertEqual(got.column(0).to_pylist()[5], (42 * 37 + 25) % 100_003)
        self.assertLessEqual(sum(fetched), 1.1 * chunk + footer + 100)
        self.assertGreater(sum(fetched), chunk)


class Hostile(unittest.TestCase):
    """Tests of altered files and wrong keys."""

    def setUp(self):
        self.small = pa.table({"a": pa.array(range(40), pa.int64()), "b": pa.array([f"s{i}" for i in range(40)])})

    def whole(self, data, keys=KEY, prefix=None):
        with wp.open(io.BytesIO(data), keys, prefix) as view:
            return view.read()

    def test_every_byte(self):
        for properties in ({}, {"plaintext_footer": True}):
            data = written(self.small, properties, data_page_size=100, write_batch_size=10, write_page_index=True)
            expected = self.whole(data)
            unnoticed = []
            for at in range(len(data)):
                altered = bytearray(data)
                altered[at] ^= 1 << at % 8
                try:
                    if self.whole(bytes(altered)) != expected:
                        self.fail(f"byte {at} changes the view")
                except REFUSALS:
                    continue
                unnoticed.append(at)
            # FileCryptoMetaData lies outside all modules. An unknown field in it has no effect.
            with wp.open(io.BytesIO(data), KEY) as view:
                start = view.footer.start
            self.assertLessEqual(len(unnoticed), 2)
            self.assertTrue(all(start <= at < start + 30 for at in unnoticed) and not (unnoticed and properties))

    def test_truncated_and_appended(self):
        data = written(self.small)
        for end in range(0, len(data), 7):
            with self.assertRaises(REFUSALS):
                self.whole(data[:end])
        for tail in (b"\0", b"PAR1", data[-40:]):
            with self.assertRaises(REFUSALS):
                self.whole(data + tail)

    def test_wrong_key_and_prefix(self):
        data = written(self.small, {"aad_prefix": b"right", "store_aad_prefix": False})
        self.whole(data, prefix=b"right")
        for keys, prefix in ((KEY, b"wrong"), (KEY, None), (KEY[::-1], b"right"), (lambda metadata: None, b"right")):
            with self.assertRaises(REFUSALS):
                self.whole(data, keys, prefix)
        stored = written(self.small, {"aad_prefix": b"right"})
        with self.assertRaisesRegex(ValueError, "differs from the prefix"):
            self.whole(stored, prefix=b"wrong")
        with self.assertRaises(TypeError):
            self.whole(stored, 17)
        with self.assertRaisesRegex(ValueError, "7 bytes"):
            self.whole(stored, b"7 bytes")

    def test_pages_columns_and_row_groups_swapped(self):
        twice = pa.concat_tables([self.small, self.small])
        data = written(
            twice, use_dictionary=False, compression="none", row_group_size=40, data_page_size=80, write_batch_size=10
        )
        with wp.open(io.BytesIO(data), KEY) as view:
            groups = view.footer.chunks
            chunk = groups[0][0]
            pages = wp._pages._native.parquet_walk(
                data[chunk.start : chunk.start + chunk.length], False, False, 0, 0, 0
            )
        self.assertGreater(len(pages), 2)
        size = sum(pages[0])
        self.assertEqual(size, sum(pages[1]))
        places = [
            (chunk.start, chunk.start + size, size),  # two pages
            (chunk.start, groups[1][0].start, chunk.length),  # the same column of two row groups
        ]
        for one, other, length in places:
            altered = bytearray(data)
            altered[one : one + length], altered[other : other + length] = (
                data[other : other + length],
                data[one : one + length],
            )
            with self.assertRaisesRegex(InvalidTag, "row group 0, column 0, page 0"):
                self.whole(bytes(altered))

    def test_footers_swapped(self):
        one, other = written(self.small), written(self.small)
        self.assertEqual(len(one), len(other))
        start = wp.open(io.BytesIO(one), KEY).footer.start
        with self.assertRaises(InvalidTag):
            self.whole(one[:start] + other[start:])

    def test_a_missing_column_key(self):
        for plaintext in (False, True):
            data = with_column_keys(plaintext=plaintext)

            with wp.open(io.BytesIO(data), missing("number")) as view:
                self.assertEqual(view.missing_columns, ["number"])
                others = [name for name in table().column_names if name != "number"]
                self.assertTrue(pq.read_table(view, columns=others).equals(table().select(others)))
                with self.assertRaisesRegex(Exception, r"column 0 \(number\)"):
                    pq.ParquetFile(view, pre_buffer=False).read(columns=["number"])
                # The view cannot contain the missing column, so every kind of read that includes the column is refused.
                for chunk in (row[0] for row in view.footer.chunks):
                    for offset, length in (
                        (chunk.start, 1),
                        (chunk.start - 9, 10),
                        (chunk.start + chunk.length - 1, 9),
                    ):
                        with self.assertRaisesRegex(KeyError, "(number)"):
                            view.read_at(offset, length)
                        view.seek(offset)
                        buffer = bytearray(b"?" * length)
                        with self.assertRaisesRegex(KeyError, "(number)"):
                            view.readinto(buffer)
                        self.assertEqual(buffer, bytes(length))
                with self.assertRaisesRegex(KeyError, "(number)"):
                    view.read_at(0, view.size)

    def test_a_footer_of_nothing_but_structs(self):
        """Parsing an unauthenticated footer must not create objects. Each of these structs would become an object."""
        count = 1 << 20
        many = b"\x19\xfc\x80\x80\x40" + bytes(count)  # a list of empty structs
        signed = written(self.small, {"plaintext_footer": True})
        start = wp.open(io.BytesIO(signed), KEY).footer.start
        algorithm = b"\x7c\x1c\x28\x08" + bytes(8) + b"\0\0\0"
        for footer, magic in (
            (many + algorithm + bytes(28), b"PAR1"),
            (many + b"\0", b"PAR1"),
            (many + b"\0", b"PARE"),
        ):
            data = magic + signed[4:start] + footer + len(footer).to_bytes(4, "little") + magic
            tracemalloc.start()
            try:
                with self.assertRaises((InvalidTag, FormatError, ValueError)) as caught:
                    wp.open(io.BytesIO(data), KEY)
                if magic == b"PAR1":
                    self.assertRegex(str(caught.exception), "not authentic|not encrypted")
                self.assertLess(tracemalloc.get_traced_memory()[1], 8 * len(data))
            finally:
                tracemalloc.stop()

    def test_gcm_renamed_ctr(self):
        data = written(self.small, compression="snappy")
        at = data.index(b"\x1c\x1c", wp.open(io.BytesIO(data), KEY).footer.start)
        renamed = bytearray(data)
        renamed[at + 1] = 0x2C  # AES_GCM_CTR_V1 in the union EncryptionAlgorithm
        with self.assertRaisesRegex(ValueError, "altered to AES_GCM_CTR_V1"):
            self.whole(bytes(renamed))
        with self.assertRaisesRegex(ValueError, "require_gcm"):
            wp.open(io.BytesIO(renamed), KEY, require_gcm=True)
        # The format does not protect the algorithm (docs/parquet.md), so the test also alters every page.
        for row in wp.open(io.BytesIO(data), KEY).footer.chunks:
            for chunk in row:
                renamed[chunk.start + chunk.length - 1] ^= 1
        with wp.open(io.BytesIO(renamed), KEY) as view:
            self.assertTrue(view.footer.ctr)
        with self.assertRaisesRegex(ValueError, "require_gcm"):
            wp.open(io.BytesIO(renamed), KEY, require_gcm=True)

    def test_random_alterations(self):
        """Check that reading an altered file returns the same table or raises a documented exception."""
        import random

        rng = random.Random(44)
        data = written(table(60), data_page_size=200, write_batch_size=10, write_page_index=True)
        expected = self.whole(data)
        for _ in range(600):
            altered = bytearray(data)
            for _ in range(rng.randrange(1, 4)):
                at = rng.choice((rng.randrange(len(data)), rng.randrange(len(data) - 200, len(data))))
                kind = rng.randrange(3)
                if kind == 0:
                    altered[at : at + 1] = rng.randbytes(1)
                elif kind == 1:
                    altered[at : at + 4] = rng.choice((b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f"))
                else:
                    del altered[at : at + rng.randrange(1, 9)]
            try:
                self.assertEqual(self.whole(bytes(altered)), expected)
            except REFUSALS:
                continue


LAYOUT = {
    "data_page_size": 600,
    "write_batch_size": 40,
    "row_group_size": 220,
    "write_page_index": True,
    "bloom_filter_options": {"number": True, "text": True},
}


class Rewritten(unittest.TestCase):
    """pyarrow reads the package's files, including files that were rewritten page by page."""

    def test_written_for_pyarrow(self):
        for algorithm, plaintext, prefix, store, version in itertools.product(
            ("AES_GCM_V1", "AES_GCM_CTR_V1"), (False, True), (b"", b"prefix"), (True, False), ("1.0", "2.0")
        ):
            with self.subTest(f"{algorithm} {plaintext} {prefix} {store} {version}"):
                out = io.BytesIO()
                encryption = wp.Encryption(
                    KEY, algorithm=algorithm, plaintext_footer=plaintext, aad_prefix=prefix, store_aad_prefix=store
                )
                wp.write_table(table(), out, encryption, data_page_version=version, **LAYOUT)
                supplied = prefix if prefix and not store else None
                theirs = pe.create_decryption_properties(KEY, aad_prefix=supplied)
                got = pq.read_table(io.BytesIO(out.getvalue()), decryption_properties=theirs)
                self.assertTrue(got.equals(table()))
                self.assertTrue(read(out.getvalue(), aad_prefix=supplied).equals(table()))

    def test_column_keys_for_pyarrow(self):
        """pyarrow opens column keys only through its CryptoFactory."""
        kms = Kms()
        keys = {"number": b"1" * 16, "deep.b.c": b"2" * 32}

        def material(key, master, footer):
            return json.dumps(
                {
                    "keyMaterialType": "PKMT1",
                    "internalStorage": True,
                    "isFooterKey": footer,
                    **({"kmsInstanceID": "DEFAULT", "kmsInstanceURL": "DEFAULT"} if footer else {}),
                    "masterKeyID": master,
                    "wrappedDEK": kms.wrap_key(key, master).decode(),
                    "doubleWrapping": False,
                }
            ).encode()

        for plaintext in (False, True):
            encryption = wp.Encryption(
                KEY,
                columns=keys,
                footer_key_metadata=material(KEY, "foot", True),
                column_key_metadata={path: material(key, path, False) for path, key in keys.items()},
                plaintext_footer=plaintext,
            )
            out = io.BytesIO()
            wp.write_table(table(), out, encryption, **LAYOUT)
            self.assertTrue(read(out.getvalue(), wp.Keys(KEY, keys)).equals(table()))
            self.assertTrue(read(out.getvalue(), wp.KeyMaterial(kms)).equals(table()))
            factory = pe.CryptoFactory(Kms)
            theirs = factory.file_decryption_properties(pe.KmsConnectionConfig(), pe.DecryptionConfiguration())
            got = pq.ParquetFile(io.BytesIO(out.getvalue()), decryption_properties=theirs).read()
            self.assertTrue(got.equals(table()))

    def test_key_material_that_cannot_be_encoded(self):
        """Key metadata of the footer is not authenticated, and JSON can contain half of a surrogate pair."""
        for field in ("masterKeyID", "wrappedDEK"):
            material = {"keyMaterialType": "PKMT1", "masterKeyID": "foot", "wrappedDEK": "AAAA", field: "\ud800"}
            out = io.BytesIO()
            wp.write_table(table(), out, wp.Encryption(KEY, footer_key_metadata=json.dumps(material).encode()))
            with self.subTest(field), self.assertRaisesRegex(FormatError, f"'{field}' cannot be encoded"):
                read(out.getvalue(), wp.KeyMaterial(Kms()))

    def test_rekeyed_and_decrypted(self):
        other = b"another key, 16B"
        for properties in ({}, {"plaintext_footer": True}, {"algorithm": "AES_GCM_CTR_V1"}):
            first, rekeyed, plain = io.BytesIO(), io.BytesIO(), io.BytesIO()
            wp.write_table(table(), first, wp.Encryption(KEY, **properties), write_page_checksum=True, **LAYOUT)
            steps = []
            with wp.open(first, KEY) as view:
                wp.rewrite(view, rekeyed, wp.Encryption(other), lambda *step, steps=steps: steps.append(step))
            self.assertEqual(steps, sorted(steps))
            self.assertTrue(0.2 < steps[-1][0] / steps[-1][1] <= 1)
            self.assertTrue(read(rekeyed.getvalue(), other).equals(table()))
            with wp.open(io.BytesIO(rekeyed.getvalue()), other) as view:
                wp.rewrite(view, plain, None)
            self.assertTrue(pq.read_table(io.BytesIO(plain.getvalue())).equals(table()))
            clear = io.BytesIO()
            pq.write_table(table(), clear, **LAYOUT)
            self.assertLess(abs(len(plain.getvalue()) - len(clear.getvalue())), 300)  # no filler bytes remain
            index = pq.ParquetFile(io.BytesIO(plain.getvalue())).metadata.row_group(0).column(0)
            self.assertTrue(index.has_offset_index and index.has_column_index)

    def test_refused(self):
        with self.assertRaisesRegex(ValueError, "no column nothing"):
            wp.write_table(table(), io.BytesIO(), wp.Encryption(KEY, columns={"nothing": KEY}))
        for wrong in ({"footer_key": b"short"}, {"footer_key": KEY, "algorithm": "AES"}):
            with self.assertRaises(ValueError):
                wp.Encryption(**wrong)
        self.assertNotIn("0123456789012345", repr(wp.Encryption(KEY, columns={"a": KEY})))

    def test_nothing_half_written(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "t.parquet")
            with self.assertRaises(ValueError):
                wp.write_table(table(), path, wp.Encryption(KEY, columns={"nothing": KEY}))
            self.assertEqual(os.listdir(folder), [])
            wp.write_table(table(), path, wp.Encryption(KEY))
            self.assertEqual(os.listdir(folder), ["t.parquet"])
            self.assertTrue(wp.read_table(path, KEY).equals(table()))
            self.assertEqual(wp.read_table(path, KEY, columns=["real"]).column_names, ["real"])


class Command(unittest.TestCase):
    """Tests of ``warpaes parquet``."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.put("key", KEY.hex().encode())
        self.put("other", b"another key, 16B".hex().encode())
        for name in ("one.parquet", "two.parquet"):
            pq.write_table(table(), self.path(name), **LAYOUT)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def put(self, name, content):
        with open(os.open(self.path(name), os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(content)

    def run_command(self, *arguments, status=0):
        done = subprocess.run(
            [sys.executable, "-B", "-m", "warpaes", "parquet", *arguments],
            capture_output=True,
            text=True,
            cwd=self.folder.name,
            timeout=60,
        )
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout if status == 0 else done.stderr

    def test_there_and_back(self):
        os.mkdir(self.path("out"))
        options = ["--column-key", "number=file:other", "--aad-prefix", "place"]
        self.run_command("encrypt", "-k", "file:key", *options, "-o", "out", "one.parquet", "two.parquet")
        keys = wp.Keys(KEY, {"number": b"another key, 16B"})
        self.assertTrue(wp.read_table(self.path("out/two.parquet"), keys, b"place").equals(table()))
        found = json.loads(self.run_command("inspect", "--json", "-k", "file:key", *options[:2], "out/one.parquet"))
        self.assertEqual((found["rows"], found["columns"]["number"]["key"], found["aad_prefix"]), (500, "own", "place"))
        self.assertIn("AES_GCM_V1", self.run_command("inspect", "out/one.parquet"))
        self.assertIn("footer: plaintext", self.run_command("inspect", "one.parquet"))
        found = json.loads(self.run_command("verify", "--json", "-k", "file:key", "out/one.parquet"))
        self.assertEqual(found["columns_without_key"], ["number"])
        self.run_command(
            "rekey", "-k", "file:key", *options[:2], "--new-key", "file:other", "-o", "new.parquet", "out/one.parquet"
        )
        self.run_command("decrypt", "-k", "file:other", "-o", "plain.parquet", "new.parquet")
        self.assertTrue(pq.read_table(self.path("plain.parquet")).equals(table()))
        self.assertEqual(os.stat(self.path("plain.parquet")).st_mode & 0o777, 0o600)

    def test_refusals(self):
        self.run_command("encrypt", "-k", "file:key", "-o", "enc", "one.parquet")
        for status, *arguments in (
            (16, "verify", "-k", "file:key", "nosuch"),
            (16, "verify", "-k", "file:nosuch", "enc"),
            (22, "verify", "-k", "file:other", "enc"),
            (21, "verify", "-k", "file:key", "key"),
            (2, "verify", "-k", "file:key", "one.parquet"),
            (2, "encrypt", "-k", "file:key", "-o", "x", "enc"),
            (2, "encrypt", "-k", "file:key", "-o", "x", "one.parquet", "two.parquet"),
            (17, "decrypt", "-k", "file:key", "-o", "two.parquet", "enc"),
            (2, "decrypt", "-k", "file:key", "-f", "-o", "enc", "enc"),
            (2, "encrypt", "-k", "file:key", "--column-key", "nosuch=file:key", "-o", "x", "one.parquet"),
        ):
            with self.subTest(arguments):
                before = sorted(os.listdir(self.folder.name))
                self.assertRegex(self.run_command(*arguments, status=status), "^warpaes: ")
                self.assertEqual(sorted(os.listdir(self.folder.name)), before)

    def test_a_folder(self):
        os.makedirs(self.path("in/day=1"))
        os.makedirs(self.path("in/day=2"))
        for name in ("day=1/a.parquet", "day=2/a.parquet", "b.parq"):
            pq.write_table(table(20), self.path(f"in/{name}"))
        self.put("in/_SUCCESS", b"")
        common = ["-r", "-k", "file:key", "--bind-names", "--aad-prefix", "trips"]
        self.assertIn("folder", self.run_command("encrypt", "-k", "file:key", "-o", "out", "in", status=2))
        self.assertIn("is inside", self.run_command("encrypt", *common, "-o", "in/out", "in", status=2))
        said = subprocess.run(
            [sys.executable, "-B", "-m", "warpaes", "parquet", "encrypt", *common, "-o", "out", "in"],
            cwd=self.folder.name, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("1 files were skipped, because they are links or not Parquet files: in/_SUCCESS", said.stderr)
        self.assertTrue(wp.read_table(self.path("out/day=2/a.parquet"), KEY, b"trips/day=2/a.parquet").num_rows)
        self.run_command("verify", *common, "out")
        self.run_command("encrypt", *common, "-o", "out", "in", status=17)
        os.remove(self.path("out/b.parq"))
        before = os.stat(self.path("out/day=1/a.parquet")).st_mtime_ns
        self.run_command("encrypt", *common, "--resume", "-o", "out", "in")
        self.assertEqual(os.stat(self.path("out/day=1/a.parquet")).st_mtime_ns, before)
        self.assertTrue(os.path.exists(self.path("out/b.parq")))
        self.run_command("rekey", *common, "--new-key", "file:other", "--new-aad-prefix", "new", "-o", "new", "out")
        with wp.open(self.path("new/b.parq"), b"another key, 16B", b"new/b.parq") as view:
            self.assertEqual(pq.read_table(view).num_rows, 20)
        # Files of the same dataset under the same key are exchanged.
        os.rename(self.path("out/day=1/a.parquet"), self.path("out/kept"))
        os.rename(self.path("out/day=2/a.parquet"), self.path("out/day=1/a.parquet"))
        os.rename(self.path("out/kept"), self.path("out/day=2/a.parquet"))
        for arguments in (["verify", *common], ["decrypt", *common, "-o", "plain"]):
            self.assertIn("differs from the prefix", self.run_command(*arguments, "out", status=2))
        self.run_command(
            "rekey", *common, "--new-key", "file:other", "--new-aad-prefix", "new", "-o", "x", "out", status=2
        )

    def test_links_below_folders_are_not_followed(self):
        """If links were followed, anyone who can write to the folders could choose the files to read and the location
        of the plaintext."""
        for name in ("in/sub", "elsewhere", "out", "plain"):
            os.makedirs(self.path(name))
        for name in ("in/sub/a.parquet", "other.parquet"):
            pq.write_table(table(20), self.path(name))
        os.symlink("../../other.parquet", self.path("in/sub/link.parquet"))
        os.symlink("../elsewhere", self.path("out/sub"))
        common = ["-r", "-k", "file:key"]
        said = self.run_command("encrypt", *common, "-o", "out", "in", status=20)
        self.assertIn("'out/sub/a.parquet': a folder in the path is a link", said)
        os.unlink(self.path("out/sub"))
        self.run_command("encrypt", *common, "-o", "out", "in")
        self.assertEqual(os.listdir(self.path("out/sub")), ["a.parquet"])
        os.symlink("../elsewhere", self.path("plain/sub"))
        self.assertIn("is a link", self.run_command("decrypt", *common, "-o", "plain", "out", status=20))
        os.rename(self.path("out/sub"), self.path("moved"))
        os.symlink("../moved", self.path("out/sub"))
        self.run_command("verify", *common, "out")  # a link to a folder is not followed
        os.unlink(self.path("out/sub"))
        os.rename(self.path("moved"), self.path("out/sub"))
        # Links are planted after the folder was listed.
        from warpaes.parquet import _trees

        (job,), _ = _trees.jobs([self.path("out")], self.path("new"), True)
        os.rename(self.path("out/sub"), self.path("moved"))
        os.symlink("../moved", self.path("out/sub"))
        with self.assertRaisesRegex(OSError, "is a link"), job.opened():
            pass
        os.unlink(self.path("out/sub"))
        os.makedirs(self.path("out/sub"))
        os.symlink("../../moved/a.parquet", self.path("out/sub/a.parquet"))
        with self.assertRaises(OSError), job.opened():
            pass
        os.unlink(self.path("out/sub/a.parquet"))
        os.mkfifo(self.path("out/sub/a.parquet"))
        with self.assertRaisesRegex(OSError, "not a regular file"), job.opened():
            pass
        self.assertEqual(os.listdir(self.path("elsewhere")), [])

    def test_a_row_group_s_number_of_another_type(self):
        from warpaes.parquet import _thrift

        pq.write_table(table(20), self.path("clear.parquet"))
        with open(self.path("clear.parquet"), "rb") as file:
            data = file.read()
        start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
        for odd in ((_thrift.STRUCT, {}), (_thrift.LIST, _thrift.List(_thrift.I32, [])), (_thrift.BINARY, b"0")):
            metadata = _thrift.Reader(data[start:-8], "the footer").struct()
            _thrift.structs(metadata, 4, "the footer")[0][7] = odd
            text = _thrift.write(metadata)
            self.put("odd.parquet", data[:start] + text + len(text).to_bytes(4, "little") + b"PAR1")
            said = self.run_command("encrypt", "-k", "file:key", "-o", "x", "odd.parquet", status=21)
            self.assertIn("row group 0: field 7 has the wrong type", said)

    def test_a_file_in_clear_is_refused_by_its_name(self):
        pq.write_table(table(20), self.path("clear.parquet"))
        for word in (["verify"], ["decrypt", "-o", "x"], ["rekey", "--new-key", "file:key", "-o", "x"]):
            said = self.run_command(*word, "-k", "file:key", "clear.parquet", status=2)
            self.assertIn("'clear.parquet': is not encrypted\n", said)

    def test_altered(self):
        self.run_command("encrypt", "-k", "file:key", "-o", "enc", "one.parquet")
        with open(self.path("enc"), "r+b") as file:
            file.seek(300)
            byte = file.read(1)
            file.seek(300)
            file.write(bytes([byte[0] ^ 1]))
        for arguments in (["verify", "enc"], ["decrypt", "-o", "x", "enc"]):
            said = self.run_command(arguments[0], "-k", "file:key", *arguments[1:], status=22)
            self.assertRegex(said, "'enc': row group 0, column 0, .*page.* is not authentic")
        self.assertFalse(os.path.exists(self.path("x")))


class FileSystem(unittest.TestCase):
    """Tests of fsspec's protocol warpaes-parquet."""

    @classmethod
    def setUpClass(cls):
        cls.fsspec = support.needed("fsspec")
        # The installed package's entry point does the same.
        name = "warpaes.parquet._fs.ParquetFileSystem"
        cls.fsspec.register_implementation("warpaes-parquet", name, clobber=True)

    def test_a_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("a.parquet", "b.parquet"):
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(written(properties={"aad_prefix": name.encode(), "store_aad_prefix": False}))
            with open(os.path.join(folder, "other.txt"), "w") as file:
                file.write("text")
            fs = self.fsspec.filesystem(
                "warpaes-parquet",
                keys=KEY,
                aad_prefix=lambda path: os.path.basename(path).encode(),
                target_protocol="file",
            )
            self.assertEqual(len(fs.ls(folder)), 3)
            self.assertEqual(fs.info(f"{folder}/other.txt")["size"], 4)
            for name in ("a.parquet", "b.parquet"):
                path = f"{folder}/{name}"
                with fs.open(path) as view:
                    self.assertEqual(fs.size(path), view.size)
                    self.assertTrue(pq.read_table(view).equals(table()))
                self.assertEqual(fs.cat_file(path, -4), b"PAR1")
            both = pq.read_table([f"{folder}/a.parquet", f"{folder}/b.parquet"], filesystem=fs)
            self.assertEqual(both.num_rows, 1000)
            with self.assertRaises(ValueError):
                fs.open(f"{folder}/new", "wb")
            with self.assertRaises(FormatError):
                fs.open(f"{folder}/other.txt")
            self.assertNotIn(KEY, repr(fs.storage_options).encode())
            with self.assertRaisesRegex(TypeError, "env:NAME"):
                pickle.dumps(fs)
            with open(f"{folder}/c.parquet", "wb") as file:
                file.write(written())
            os.environ["PARQUET_TEST_KEY"] = KEY.hex()
            self.addCleanup(os.environ.pop, "PARQUET_TEST_KEY")
            fs = self.fsspec.filesystem("warpaes-parquet", keys="env:PARQUET_TEST_KEY", target_protocol="file")
            again = pickle.loads(pickle.dumps(fs))
            self.assertTrue(pq.read_table(f"{folder}/c.parquet", filesystem=again).equals(table()))

    def test_chained_urls(self):
        memory = self.fsspec.filesystem("memory")
        memory.pipe_file("/t.parquet", written())
        with self.fsspec.open("warpaes-parquet::memory://t.parquet", **{"warpaes-parquet": {"keys": KEY}}) as view:
            self.assertTrue(pq.read_table(view).equals(table()))

    def test_missing_options(self):
        for options in ({}, {"keys": KEY}):
            with self.assertRaisesRegex(ValueError, "missing"):
                self.fsspec.filesystem("warpaes-parquet", **options)


class Iceberg(unittest.TestCase):
    """Tests of the key metadata in manifests."""

    def test_key_metadata(self):
        for key, prefix, length in ((KEY, b"", None), (KEY * 2, b"prefix", 123_456), (KEY, b"p" * 200, None)):
            one = wp.IcebergKeyMetadata(key, prefix, length)
            self.assertEqual(wp.IcebergKeyMetadata.parse(one.to_bytes()), one)
            self.assertNotIn(repr(key), repr(one))

    def test_damaged(self):
        whole = wp.IcebergKeyMetadata(KEY, b"prefix", 5).to_bytes()
        for end in range(len(whole) - 1):
            if whole[:end] and end == len(whole) - 2:
                continue  # the end before the length, which is optional
            with self.assertRaises(FormatError):
                wp.IcebergKeyMetadata.parse(whole[:end])

    def test_streams(self):
        for block, size in itertools.product((1, 16, 1000, 1 << 20), (0, 1, 15, 16, 17, 999, 1000, 1001, 5000)):
            if size > 2000 and block == 1:
                continue
            text = bytes(i * 7 % 251 for i in range(size))
            out = io.BytesIO()
            metadata = wp.write_ags1(text, out, KEY, b"prefix", block)
            sealed = out.getvalue()
            self.assertEqual(metadata.file_length, len(sealed))
            with wp.open_ags1(io.BytesIO(sealed), metadata) as reader:
                self.assertEqual((reader.size, reader.read()), (size, text))
                for offset, length in ((0, 1), (size // 2, 40), (max(size - 3, 0), 10), (size, 1), (1, size)):
                    self.assertEqual(reader.read_at(offset, length), text[offset : offset + length])

    def test_a_stream_by_its_definition(self):
        from warpaes.aead import AESGCM

        out = io.BytesIO()
        wp.write_ags1(b"abcdefg", out, KEY, b"p", 4)
        sealed = out.getvalue()
        self.assertEqual(sealed[:8], b"AGS1\4\0\0\0")
        for number, (block, text) in enumerate(((sealed[8:40], b"abcd"), (sealed[40:], b"efg"))):
            aad = b"p" + number.to_bytes(4, "little")
            self.assertEqual(AESGCM(KEY).decrypt(block[:12], block[12:], aad), text)

    def test_altered_streams(self):
        out = io.BytesIO()
        metadata = wp.write_ags1(bytes(range(100)), out, KEY, b"p", 30)
        sealed = out.getvalue()

        def whole(data, metadata=metadata):
            with wp.open_ags1(io.BytesIO(data), metadata) as reader:
                return reader.read()

        unbound = wp.IcebergKeyMetadata(KEY, b"p")
        for at in range(len(sealed)):
            altered = bytearray(sealed)
            altered[at] ^= 1 << at % 8
            with self.assertRaises((InvalidTag, FormatError)):
                whole(bytes(altered))
        for end in range(len(sealed)):
            with self.assertRaises((InvalidTag, FormatError, ValueError)):
                whole(sealed[:end])
        swapped = sealed[:8] + sealed[66:124] + sealed[8:66] + sealed[124:]
        with self.assertRaisesRegex(InvalidTag, "block 0 "):
            whole(swapped, unbound)
        # Complete blocks are removed from the end. Only the recorded length reveals this.
        self.assertEqual(whole(sealed[: 8 + 58], unbound), bytes(range(30)))
        with self.assertRaisesRegex(ValueError, "according to its key metadata"):
            whole(sealed[: 8 + 58])
        for other in (wp.IcebergKeyMetadata(KEY[::-1], b"p"), wp.IcebergKeyMetadata(KEY, b"q")):
            with self.assertRaises(InvalidTag):
                whole(sealed, other)

    def test_a_file(self):
        data = written(properties={"aad_prefix": b"ice", "store_aad_prefix": False})
        good = wp.IcebergKeyMetadata(KEY, b"ice", len(data))
        self.assertTrue(read(data, good).equals(table()))
        with self.assertRaisesRegex(ValueError, "according to its key metadata"):
            read(data, wp.IcebergKeyMetadata(KEY, b"ice", len(data) + 1))


class Document(unittest.TestCase):
    """Tests of docs/parquet.md."""

    def test_its_blocks_run(self):
        fsspec = support.needed("fsspec")
        fsspec.register_implementation("warpaes-parquet", "warpaes.parquet._fs.ParquetFileSystem", clobber=True)
        page = (pathlib.Path(__file__).resolve().parents[2] / "docs/parquet.md").read_text()
        blocks = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        self.assertEqual(len(blocks), 3)
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                exec(compile("\n".join(blocks), "docs/parquet.md", "exec"), {})
            finally:
                os.chdir(before)


if __name__ == "__main__":
    support.main_with_arrow()
