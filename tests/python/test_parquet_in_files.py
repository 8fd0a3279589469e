"""Encrypted Parquet in files on disk: whole pages are read and decrypted in one call."""

from __future__ import annotations

import io
import tempfile
import unittest
import unittest.mock

import test_parquet as files
import warpaes.parquet as wp
from test_parquet import KEY
from warpaes.exceptions import InvalidTag


class InFiles:
    """The same with files on disk, whose pages are read and decrypted in one call."""

    def setUp(self):
        super().setUp()
        real = wp.open

        def opened(file, *args, **options):
            if type(file) is not io.BytesIO:
                return real(file, *args, **options)
            with tempfile.NamedTemporaryFile(buffering=0) as on_disk:
                on_disk.write(file.getvalue())
                return real(on_disk.name, *args, **options)

        patch = unittest.mock.patch.object(wp, "open", opened)
        patch.start()
        self.addCleanup(patch.stop)
        least = unittest.mock.patch.object(wp._pages, "_LEAST_STREAM", 1)
        least.start()
        self.addCleanup(least.stop)


class WrittenInFiles(InFiles, files.Written):
    """Files of pyarrow."""


class ReadsInFiles(InFiles, files.Reads):
    """Any range of the view is the same."""


class HostileInFiles(InFiles, files.Hostile):
    """Someone alters files."""

    def test_all_pages_in_one_call(self):
        """Pages longer and shorter than the window, read in pieces of any length."""
        data = files.written(files.hundred_rows(), use_dictionary=False, compression="none", data_page_size=5000)
        with wp._open.open(io.BytesIO(data), KEY) as view:
            whole = view.read()
        for window in (1, 300, 5000, 1 << 20):
            with unittest.mock.patch.object(wp._source, "_LOCAL_BYTES", window), wp.open(io.BytesIO(data), KEY) as view:
                chunk = view.footer.chunks[0][0]
                end = chunk.start + chunk.length
                with unittest.mock.patch.object(wp._pages.Pages, "_from", side_effect=AssertionError):
                    self.assertEqual(view.read_at(chunk.start, chunk.length), whole[chunk.start : end])
                for length in (100, 4096, 9001):
                    got = b"".join(view.read_at(at, length) for at in range(0, view.size, length))
                    self.assertEqual(got, whole)

    def test_a_file_that_shrinks(self):
        with tempfile.TemporaryFile(buffering=0) as file:
            file.write(
                files.written(files.hundred_rows(), use_dictionary=False, compression="none", data_page_size=5000)
            )
            with wp.open(file, KEY) as view:
                chunk = view.footer.chunks[0][0]
                file.truncate(chunk.start + chunk.length // 2)
                with self.assertRaisesRegex(OSError, "shorter than it was"):
                    view.read_at(chunk.start, chunk.length)

    def test_nothing_is_left_of_an_altered_chunk(self):
        data = bytearray(
            files.written(files.hundred_rows(), use_dictionary=False, compression="none", data_page_size=5000)
        )
        with wp.open(io.BytesIO(data), KEY) as view:
            chunk = view.footer.chunks[0][0]
        data[chunk.start + chunk.length - 5] ^= 1
        with wp.open(io.BytesIO(data), KEY) as view:
            view.seek(chunk.start)
            buffer = bytearray(b"?" * chunk.length)
            with self.assertRaisesRegex(InvalidTag, "row group 0, column 0, page"):
                view.readinto(buffer)
            self.assertEqual(buffer, bytes(chunk.length))


if __name__ == "__main__":
    unittest.main()
