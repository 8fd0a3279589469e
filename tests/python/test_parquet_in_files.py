"""Tests encrypted Parquet in regular files, whose pages are read and decrypted in one call."""

from __future__ import annotations

import io
import os
import tempfile
import unittest
import unittest.mock

import support
import test_parquet as files
import warpaes.parquet as wp
from test_parquet import KEY
from warpaes.exceptions import FormatError, InvalidTag

pa = support.needed("pyarrow")


class InFiles:
    """Runs the tests with regular files, whose pages are read and decrypted in one call."""

    def setUp(self):
        super().setUp()
        real = wp.open

        def opened(file, *args, **options):
            if type(file) is not io.BytesIO:
                return real(file, *args, **options)
            in_memory = io.FileIO(os.memfd_create("parquet"), "r+b")  # a regular file that does not need a disk
            try:
                in_memory.write(file.getvalue())
                view = real(in_memory, *args, **options)
            except BaseException:
                in_memory.close()
                raise
            view.own_source()
            return view

        patch = unittest.mock.patch.object(wp, "open", opened)
        patch.start()
        self.addCleanup(patch.stop)
        least = unittest.mock.patch.object(wp._pages, "_LEAST_STREAM", 1)
        least.start()
        self.addCleanup(least.stop)


class WrittenInFiles(InFiles, files.Written):
    """Tests of files that pyarrow writes."""


class ReadsInFiles(InFiles, files.Reads):
    """Every range of the view must contain the same bytes."""


class HostileInFiles(InFiles, files.Hostile):
    """Tests of altered files."""

    def test_all_pages_in_one_call(self):
        """Pages are longer and shorter than the window and are read in pieces of any length."""
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

    def test_parts_of_a_chunk_by_threads(self):
        """The view is the same with threads. The error names an altered page in any part, and no data of the chunk
        remains."""
        values = pa.table({"a": pa.array(range(600_000), pa.int64())})
        for algorithm, dictionary in (("AES_GCM_V1", False), ("AES_GCM_CTR_V1", False), ("AES_GCM_V1", True)):
            data = files.written(
                values,
                {"encryption_algorithm": algorithm},
                use_dictionary=dictionary,
                compression="none",
                data_page_size=100_000,
            )
            with wp._open.open(io.BytesIO(data), KEY) as view:
                whole = view.read()
                chunk, starts = view.footer.chunks[0][0], view.column_pages()[0].starts()
            self.assertGreater(chunk.length, 4 << 20)
            for threads in (1, 2, 3, 4):
                with (
                    unittest.mock.patch.object(wp._pages, "_MOST_THREADS", threads),
                    unittest.mock.patch.object(wp._pages.os, "sched_getaffinity", lambda pid: range(8)),
                ):
                    self.check_parts(data, whole, chunk, starts, dictionary)

    def check_parts(self, data, whole, chunk, starts, dictionary):
        end = chunk.start + chunk.length
        with wp.open(io.BytesIO(data), KEY) as view:
            for begin, stop in ((chunk.start, end), (chunk.start, end - 70_000), (chunk.start + starts[3], end)):
                view.read_at(begin, 9)  # pages are read separately until a page is known to be a CTR page
                self.assertEqual(view.read_at(begin, stop - begin), whole[begin:stop])
            self.assertEqual(view.column_pages()[0].starts(), starts)
        for page in (0, 1, len(starts) // 3, len(starts) // 2, len(starts) - 2):
            altered = bytearray(data)
            altered[chunk.start + starts[page] + 30] ^= 1  # inside the header's module
            with wp.open(io.BytesIO(altered), KEY) as view:
                buffer = bytearray(b"?" * chunk.length)
                view.seek(chunk.start)
                name = "dictionary page" if dictionary and page == 0 else f"page {page - dictionary}"
                with self.assertRaisesRegex(InvalidTag, f"column 0, {name}: the page header"):
                    view.readinto(buffer)
                self.assertEqual(buffer.count(0), len(buffer))
        cut = bytearray(data)
        at = chunk.start + starts[len(starts) // 2]
        cut[at : at + 4] = b"\xff\xff\xff\x7f"
        with wp.open(io.BytesIO(cut), KEY) as view, self.assertRaisesRegex(FormatError, "column 0"):
            view.read_at(chunk.start, chunk.length)

    def test_a_file_that_shrinks(self):
        with tempfile.TemporaryFile(buffering=0) as file:
            file.write(
                files.written(files.hundred_rows(), use_dictionary=False, compression="none", data_page_size=5000)
            )
            with wp.open(file, KEY) as view:
                chunk = view.footer.chunks[0][0]
                file.truncate(chunk.start + chunk.length // 2)
                with self.assertRaisesRegex(OSError, "was truncated"):
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
    support.main_with_arrow()
