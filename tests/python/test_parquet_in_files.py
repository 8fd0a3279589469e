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

    def test_several_chunks_in_one_call(self):
        """A range with several complete chunks takes one call, on any number of threads, and damage in any chunk causes
        the same error as in a read of only that chunk."""
        columns = {name: pa.array(range(40_000), pa.int64()) for name in "abc"}
        for algorithm, page in (("AES_GCM_V1", 60_000), ("AES_GCM_V1", 3_000), ("AES_GCM_CTR_V1", 9_000)):
            data = files.written(
                pa.table(columns),
                {"encryption_algorithm": algorithm},
                use_dictionary=False,
                compression="none",
                data_page_size=page,
                write_batch_size=100,
                row_group_size=20_000,
            )
            with wp._open.open(io.BytesIO(data), KEY) as view:
                whole = view.read()
                chunks = [chunk for row in view.footer.chunks for chunk in row]
                starts = [pages.starts() for pages in view.column_pages()]
            for threads in (1, 2, 4):
                with (
                    unittest.mock.patch.object(wp._pages, "_MOST_THREADS", threads),
                    unittest.mock.patch.object(wp._pages.os, "sched_getaffinity", lambda pid: range(8)),
                ):
                    self.check_chunks(data, whole, chunks, starts)

    def check_chunks(self, data, whole, chunks, starts):
        real = wp._pages._native.parquet_read
        with (
            wp.open(io.BytesIO(data), KEY) as view,
            unittest.mock.patch.object(wp._pages._native, "parquet_read", side_effect=real) as calls,
        ):
            for chunk in chunks:  # CTR pages are read separately until a page is known to be a CTR page
                view.read_at(chunk.start, 9)
            calls.reset_mock()
            self.assertEqual(view.read_at(0, view.size), whole)
            self.assertEqual(calls.call_count, 1)
            begin, end = chunks[1].start - 5, chunks[4].start + 7  # parts of the first and the last chunk
            self.assertEqual(view.read_at(begin, end - begin), whole[begin:end])
        for number, page in ((0, 0), (2, 1), (5, len(starts[5]) - 2)):
            chunk, at = chunks[number], chunks[number].start + starts[number][page]
            place = f"row group {number // 3}, column {number % 3}.*page {page}"
            altered, cut = bytearray(data), bytearray(data)
            altered[at + 30] ^= 1
            cut[at : at + 4] = b"\xff\xff\xff\x7f"
            for damaged, error in ((altered, InvalidTag), (cut, FormatError)):
                with self.subTest(place=place, error=error), wp.open(io.BytesIO(damaged), KEY) as view:
                    for one in chunks:
                        if one is not chunk:
                            view.read_at(one.start, 9)
                    buffer = bytearray(b"?" * view.size)
                    with self.assertRaisesRegex(error, place):
                        view.readinto(buffer)
                    self.assertEqual(buffer.count(0), len(buffer))

    def test_short_reads_one_after_another(self):
        """Short reads decrypt a window of pages at a time, and each page once. An altered page is found when the window
        contains it."""
        for algorithm, size in (("AES_GCM_V1", 1000), ("AES_GCM_CTR_V1", 1000), ("AES_GCM_V1", 60_000)):
            data = files.written(
                pa.table({"a": pa.array(range(40_000), pa.int64())}),
                {"encryption_algorithm": algorithm},
                use_dictionary=False,
                compression="none",
                data_page_size=size,
                write_batch_size=100,
            )
            with wp._open.open(io.BytesIO(data), KEY) as view:
                whole = view.read()
                chunk, starts = view.footer.chunks[0][0], view.column_pages()[0].starts()
            end = chunk.start + chunk.length
            real = wp._pages._native.parquet_read
            for length in (1, 999, 1000, 1500, 70_000):
                with (
                    wp.open(io.BytesIO(data), KEY) as view,
                    unittest.mock.patch.object(wp._pages._native, "parquet_read", side_effect=real) as calls,
                ):
                    begin = max(chunk.start, end - 300 * length)
                    got = b"".join(view.read_at(at, length) for at in range(begin, end, length))
                    self.assertEqual(got[: end - begin], whole[begin:end])
                    windows = (end - begin) // wp._source._LOCAL_BYTES + 3
                    if length < 10_000:
                        self.assertLessEqual(calls.call_count, windows)
                    self.assertIsNone(view.column_pages()[0]._kept)
        altered = bytearray(data)
        altered[chunk.start + starts[4] - 3] ^= 1
        with wp.open(io.BytesIO(altered), KEY) as view:
            self.assertEqual(view.read_at(chunk.start, 100), whole[chunk.start : chunk.start + 100])
            for at in range(100, starts[4], 1000):
                try:
                    self.assertEqual(view.read_at(chunk.start + at, 1000), whole[chunk.start + at :][:1000])
                except InvalidTag as error:
                    self.assertIn("row group 0, column 0, page 3", str(error))
                    break
            else:
                self.fail("the altered page was returned")

    def test_a_chunk_whose_key_is_missing(self):
        """Each chunk with a key can be read, and a read that includes the chunk without a key is refused."""
        table = pa.table({name: pa.array(range(5_000), pa.int64()) for name in "abc"})
        keys = {"a": b"a" * 16, "b": b"b" * 16, "c": b"c" * 16}
        file = io.BytesIO()
        wp.write_table(table, file, wp.Encryption(KEY, columns=keys), use_dictionary=False, compression="none")
        del keys["b"]
        with wp.open(file, wp.Keys(KEY, keys)) as view, wp._open.open(file, wp.Keys(KEY, keys)) as expected:
            first, last = view.footer.chunks[0][0], view.footer.chunks[0][2]
            stop = last.start + last.length
            self.assertEqual(view.read_at(first.start, first.length), expected.read_at(first.start, first.length))
            self.assertEqual(view.read_at(last.start, last.length), expected.read_at(last.start, last.length))
            self.assertGreaterEqual(view.footer.chunks[0][1].start, stop)
            with self.assertRaisesRegex(KeyError, "the key of row group 0, column 1"):
                view.read()

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
