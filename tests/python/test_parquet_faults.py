"""Tests views of Parquet files with threads, forks, faulty file objects, files that change while they are open, and
damaged footers."""

from __future__ import annotations

import io
import os
import signal
import tempfile
import threading
import unittest

import support
import test_parquet as files
import warpaes.parquet as wp
from test_parquet import KEY
from warpaes.exceptions import FormatError, InvalidTag
from warpaes.parquet import _thrift

pa = support.needed("pyarrow")
pq = support.needed("pyarrow.parquet")


class Faulty(io.RawIOBase):
    """A file object that calls a function before each read."""

    def __init__(self, data, before=None):
        super().__init__()
        self._file, self.before = io.BytesIO(data), before

    def readable(self):
        return True

    def seekable(self):
        return True

    def seek(self, offset, whence=io.SEEK_SET):
        return self._file.seek(offset, whence)

    def tell(self):
        return self._file.tell()

    def readinto(self, buffer):
        if self.before is not None and (count := self.before(buffer)) is not None:
            return count
        return self._file.readinto(buffer)


def in_child(function, seconds=20):
    """Run a function in a child of fork and return the child's wait status."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.alarm(seconds)
            function()
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1]


LITTLE_MEMORY = """
import os, resource
from warpaes import _native
from warpaes.exceptions import InvalidTag

page = (29).to_bytes(4, "little") + bytes(29) + (28).to_bytes(4, "little") + bytes(28)
image = bytearray(16) + bytearray(page * 32_768)
to = bytearray(len(image))
for slack in range(0, 4 << 20, 256 << 10):
    child = os.fork()
    if child == 0:
        with open("/proc/self/statm") as file:
            size = int(file.read().split()[0]) * os.sysconf("SC_PAGESIZE") + slack
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
        try:
            _native.parquet_move(bytes(16), b"", image, to, 0, False, False, 0, 0, 0)
        except MemoryError:
            os._exit(7)
        except InvalidTag:
            os._exit(8)
        os._exit(9)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print({7: "MemoryError", 8: "InvalidTag"}.get(status, status))
"""


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.data = files.written(
            pa.table({name: pa.array(range(20_000), pa.int64()) for name in "ab"}),
            use_dictionary=False,
            compression="none",
            data_page_size=9_000,
        )
        with wp.open(io.BytesIO(cls.data), KEY) as view:
            cls.whole = view.read()
            cls.chunk = view.footer.chunks[0][0]
            cls.starts = view.column_pages()[0].starts()

    def test_a_fork_during_a_read(self):
        """A child reads the chunk that a thread of its parent is reading at the moment of the fork."""
        started, go_on = threading.Event(), threading.Event()

        def wait(_):
            if threading.current_thread() is reader:
                started.set()
                go_on.wait()

        file = Faulty(self.data)
        view = wp.open(file, KEY)
        file.before = wait
        reader = threading.Thread(target=view.read_at, args=(self.chunk.start, 20_000))
        reader.start()
        started.wait()
        try:
            status = in_child(lambda: self.assertEqual(view.read_at(0, view.size), self.whole))
        finally:
            go_on.set()
            reader.join()
        self.assertEqual(status, 0)
        self.assertEqual(view.read_at(0, view.size), self.whole)

    def test_faults_of_a_file_object(self):
        """A read raises the file object's exception, or an exception for an invalid result. The next read succeeds."""

        def fail(error):
            raise error

        for fault, expected in (
            (lambda _: fail(RuntimeError("fault")), RuntimeError),
            (lambda _: fail(KeyboardInterrupt()), KeyboardInterrupt),
            (lambda _: 0, OSError),
            (lambda _: -1, OSError),
            (lambda buffer: len(buffer) + 1, OSError),
            (lambda _: 1 << 70, OSError),
            (lambda _: "text", TypeError),
        ):
            file = Faulty(self.data)
            with wp.open(file, KEY) as view:
                for at, length in ((self.chunk.start, 9), (self.chunk.start + self.starts[3], 50_000)):
                    file.before = fault
                    buffer = bytearray(b"?" * length)
                    view.seek(at)
                    with self.assertRaises(expected):
                        view.readinto(buffer)
                    self.assertEqual(buffer.count(0), length)
                    file.before = None
                    self.assertEqual(view.read_at(at, length), self.whole[at : at + length])
                self.assertEqual(view.read_at(0, view.size), self.whole)

    def test_a_file_that_is_replaced(self):
        """After the replacement, pages that were found before have different lengths."""
        other = files.written(
            pa.table({name: pa.array(range(20_000), pa.int64()) for name in "ab"}),
            use_dictionary=False,
            compression="none",
            data_page_size=5_000,
        )
        for length in (9, 9_500, 20_000):
            file = io.BytesIO(self.data)
            with wp.open(file, KEY) as view:
                view.column_pages()[0].starts()
                file.getbuffer()[:] = other[: len(self.data)].ljust(len(self.data), b"\0")
                for start in self.starts[:-1]:
                    with self.assertRaisesRegex((FormatError, InvalidTag), "^row group 0, column 0"):
                        view.read_at(self.chunk.start + start, length)

    def test_gcm_renamed_ctr_is_refused_again(self):
        at = self.data.index(b"\x1c\x1c", wp.open(io.BytesIO(self.data), KEY).footer.start)
        renamed = bytearray(self.data)
        renamed[at + 1] = 0x2C  # AES_GCM_CTR_V1 in the union EncryptionAlgorithm
        with tempfile.TemporaryFile(buffering=0) as local:
            local.write(renamed)
            for file in (io.BytesIO(renamed), local):
                with wp.open(file, KEY) as view:
                    for length in (100, 9_500, 50_000, 100):
                        with self.assertRaisesRegex(ValueError, "altered to AES_GCM_CTR_V1"):
                            view.read_at(self.chunk.start, length)

    def test_closed_during_reads(self):
        """Threads read the same bytes until the view is closed. Afterwards, reads fail, even if the descriptor is
        reused."""
        for _ in range(5):
            with tempfile.NamedTemporaryFile() as local:
                local.write(self.data)
                local.flush()
                view, wrong = wp.open(local.name, KEY), []

                def work(at, view=view, wrong=wrong):
                    try:
                        while view.read_at(at, 30_000) == self.whole[at : at + 30_000]:
                            pass
                        wrong.append("other bytes")
                    except ValueError:  # the file object is closed
                        pass
                    except BaseException as error:
                        wrong.append(error)

                threads = [threading.Thread(target=work, args=(at * 7_001,)) for at in range(4)]
                for thread in threads:
                    thread.start()
                view.close()
                others = [os.open("/dev/zero", os.O_RDONLY) for _ in range(8)]
                for thread in threads:
                    thread.join()
                for other in others:
                    os.close(other)
                self.assertEqual(wrong, [])

    def test_unencrypted_parts_outside_the_file(self):
        """An unencrypted file contains wrong offsets and lengths. Encrypting it fails with an error that names the
        wrong part."""
        table, out = pa.table({"a": range(100)}), io.BytesIO()
        pq.write_table(table, out, write_page_index=True)
        data = out.getvalue()
        length = int.from_bytes(data[-8:-4], "little")
        body = data[-8 - length : -8]
        numbers = (-(1 << 63), -1, 3, len(data), 1 << 31, 1 << 62, (1 << 63) - 1)

        def altered(change, number):
            footer = _thrift.Reader(body, "footer").struct()
            column = _thrift.structs(_thrift.structs(footer, 4, "")[0], 1, "")[0]
            change(column, number)
            text = _thrift.write(footer)
            return io.BytesIO(data[: -8 - length] + text + len(text).to_bytes(4, "little") + b"PAR1")

        def data_page(column, number):
            column[3][1].pop(11, None)
            column[3][1][9] = (_thrift.I64, number)

        def chunk_length(column, number):
            column[3][1][7] = (_thrift.I64, number if number != 3 else -3)

        def index(column, number):
            column[6] = (_thrift.I64, number)

        for change, part in ((data_page, "column chunk"), (chunk_length, "column chunk"), (index, "index")):
            for number in numbers:
                file = altered(change, number)
                expected = f"^row group 0, column 0.*: (the|an) {part} is outside the file's data"
                with (
                    self.subTest(part=part, number=number),
                    wp.open(file, wp.Keys(None), allow_plaintext=True) as view,
                    self.assertRaisesRegex(FormatError, expected),
                ):
                    if part == "column chunk":
                        with self.assertRaisesRegex(FormatError, expected):
                            view.column_chunks(device="cpu")
                    wp.rewrite(view, io.BytesIO(), wp.Encryption(KEY))

    def test_a_negative_offset(self):
        with wp.open(io.BytesIO(self.data), KEY) as view, self.assertRaisesRegex(ValueError, "offset: must not"):
            view.read_at(-1, 10)

    def test_little_memory(self):
        """Allocations that fail while the interpreter's lock is not held must raise MemoryError."""
        # Each allocation changes the size of the address space.
        found = support.run_python(LITTLE_MEMORY, MALLOC_MMAP_THRESHOLD_="65536")
        self.assertEqual(set(found.split()), {"MemoryError", "InvalidTag"})


if __name__ == "__main__":
    support.main_with_arrow()
