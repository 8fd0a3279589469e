"""Tests unmodified readers without support for encryption through the plain view.

`tools/setup test` installs the readers. Missing readers are skipped.
"""

from __future__ import annotations

import importlib
import io
import itertools
import os
import tempfile
import unittest

import support
import test_parquet as files
import warpaes.parquet as wp
from test_parquet import KEY

pa = support.needed("pyarrow")
pq = support.needed("pyarrow.parquet")
fsspec = support.needed("fsspec")

#: The columns that fastparquet can read. It flattens groups and does not support dates.
FLAT = ["number", "text", "real", "flag"]


def reader(name):
    """Import a reader, or skip the test."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise unittest.SkipTest(f"{name} is not installed: {error}") from None


def layouts():
    """Yield files that pyarrow wrote, with every kind of encryption and every kind of page that readers treat
    differently."""
    for algorithm, plaintext, version, dictionary in itertools.product(
        ("AES_GCM_V1", "AES_GCM_CTR_V1"), (False, True), ("1.0", "2.0"), (True, False)
    ):
        yield (
            f"{algorithm}, plaintext footer {plaintext}, pages {version}, dictionary {dictionary}",
            files.written(
                properties={"encryption_algorithm": algorithm, "plaintext_footer": plaintext},
                data_page_version=version,
                use_dictionary=dictionary,
                data_page_size=600,
                write_batch_size=40,
                row_group_size=220,
                compression="snappy" if dictionary else "none",
                write_page_index=True,
                write_page_checksum=True,
            ),
        )


class OneReader:
    """The requirements for every reader. A reader's class defines `read(view, columns)`, which returns a dictionary
    with the list of values of each column."""

    columns = tuple(files.table().column_names)

    def read(self, data, columns, **options):
        raise NotImplementedError

    def test_all_layouts(self):
        expected = files.table().to_pydict()
        for name, data in layouts():
            with self.subTest(name):
                got = self.read(data, list(self.columns), keys=KEY)
                self.assertEqual(got, {column: expected[column] for column in self.columns})

    def test_column_keys(self):
        expected = files.table().to_pydict()
        for plaintext, bits in ((False, 128), (True, 256)):
            data = files.with_column_keys(plaintext=plaintext, bits=bits)
            got = self.read(data, ["number", "text"], keys=wp.KeyMaterial(files.Kms()))
            self.assertEqual(got, {column: expected[column] for column in ("number", "text")})

    def test_a_missing_key(self):
        """All other columns can be read. The column without a key is omitted, or reading it fails."""
        expected = files.table().to_pydict()
        others = [column for column in self.columns if column not in ("number", "deep")]
        for plaintext in (False, True):
            data = files.with_column_keys(plaintext=plaintext)
            for drop in (True, False) if self.reads_ranges else (True,):
                got = self.read(data, others, keys=files.missing("number"), drop_missing=drop)
                self.assertEqual(got, {column: expected[column] for column in others})
                try:
                    got = self.read(data, ["number"], keys=files.missing("number"), drop_missing=drop)
                except Exception as error:  # each reader raises its own exceptions
                    self.assertIn("number", str(error))
                else:
                    self.assertTrue(drop and got == {}, got)

    def test_an_altered_page(self):
        data = bytearray(files.written(use_dictionary=False, compression="none", data_page_size=600))
        chunk = wp.open(io.BytesIO(data), KEY).footer.chunks[0][0]
        data[chunk.start + chunk.length // 2] ^= 1
        with self.assertRaises(BaseException) as caught:
            self.read(bytes(data), ["number"], keys=KEY)
        self.assertIn("not authentic", str(caught.exception))


class PyArrow(OneReader, unittest.TestCase):
    """Tests pyarrow without its own decryption."""

    reads_ranges = True

    def read(self, data, columns, **options):
        with wp.open(io.BytesIO(data), **options) as view:
            return pq.ParquetFile(view, pre_buffer=False).read(columns=columns).to_pydict()


class DuckDB(OneReader, unittest.TestCase):
    """Tests DuckDB with the fsspec protocol."""

    reads_ranges = True

    @classmethod
    def setUpClass(cls):
        cls.duckdb = reader("duckdb")

    def read(self, data, columns, **options):
        from warpaes.parquet._fs import ParquetFileSystem

        memory = fsspec.filesystem("memory")
        memory.pipe_file("/t.parquet", data)
        with self.duckdb.connect() as connection:
            connection.register_filesystem(ParquetFileSystem(fs=memory, **options))
            names = ", ".join(f'"{column}"' for column in columns)
            rows = connection.sql(f"select {names} from read_parquet('warpaes-parquet:///t.parquet')").fetchall()
        return {column: [row[i] for row in rows] for i, column in enumerate(columns)}


class Polars(OneReader, unittest.TestCase):
    """Tests Polars, which reads whole file objects."""

    reads_ranges = False

    @classmethod
    def setUpClass(cls):
        cls.polars = reader("polars")

    def read(self, data, columns, **options):
        with wp.open(io.BytesIO(data), **options) as view:
            return self.polars.read_parquet(view, columns=columns).select(columns).to_dict(as_series=False)


class DataFusion(OneReader, unittest.TestCase):
    """Tests DataFusion's reader (arrow-rs) on the plain file, and its SQL on a file system."""

    reads_ranges = False

    @classmethod
    def setUpClass(cls):
        cls.datafusion = reader("datafusion")

    def read(self, data, columns, **options):
        with tempfile.TemporaryDirectory() as folder, wp.open(io.BytesIO(data), **options) as view:
            path = os.path.join(folder, "t.parquet")
            with open(path, "wb") as file:
                file.write(view.read())
            context = self.datafusion.SessionContext()
            names = ", ".join(f'"{column}"' for column in columns)
            context.register_parquet("t", path)
            return pa.Table.from_batches(context.sql(f"select {names} from t").collect()).to_pydict()

    def test_over_a_file_system(self):
        from warpaes.parquet._fs import ParquetFileSystem

        dataset = support.needed("pyarrow.dataset")
        memory = fsspec.filesystem("memory")
        memory.pipe_file("/t.parquet", files.written(row_group_size=100))
        context = self.datafusion.SessionContext()
        context.register_dataset("t", dataset.dataset("/t.parquet", filesystem=ParquetFileSystem(KEY, fs=memory)))
        self.assertEqual(context.sql("select sum(number) as s from t where real > 100").to_pylist(), [{"s": 79600}])


class FastParquet(OneReader, unittest.TestCase):
    """Tests fastparquet."""

    reads_ranges = True
    columns = tuple(FLAT)

    @classmethod
    def setUpClass(cls):
        cls.fastparquet = reader("fastparquet")

    def read(self, data, columns, **options):
        with wp.open(io.BytesIO(data), **options) as view:
            frame = self.fastparquet.ParquetFile(view).to_pandas(columns=columns)
        return {
            column: [None if one is None or one != one else one for one in frame[column].tolist()] for column in columns
        }


class Pandas(OneReader, unittest.TestCase):
    """Tests pandas with a file object and with a URL."""

    reads_ranges = True
    columns = tuple(FLAT)

    @classmethod
    def setUpClass(cls):
        cls.pandas = reader("pandas")
        name = "warpaes.parquet._fs.ParquetFileSystem"
        fsspec.register_implementation("warpaes-parquet", name, clobber=True)

    def read(self, data, columns, **options):
        with wp.open(io.BytesIO(data), **options) as view:
            frame = self.pandas.read_parquet(view, columns=columns)
        return {
            column: [None if one is None or one != one else one for one in frame[column].tolist()] for column in columns
        }

    def test_a_chained_url(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "t.parquet")
            with open(path, "wb") as file:
                file.write(files.written())
            frame = self.pandas.read_parquet(
                f"warpaes-parquet::file://{path}", storage_options={"warpaes-parquet": {"keys": KEY}}
            )
        self.assertEqual(frame["number"].tolist(), list(range(500)))


if __name__ == "__main__":
    support.main_with_arrow()
