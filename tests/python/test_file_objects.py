#!/usr/bin/env python3
"""Tests file objects from other packages: streams that cannot seek, unflushed buffers, positions, short and unusual
results, and text."""

from __future__ import annotations

import bz2
import codecs
import contextlib
import fcntl
import gzip
import http.client
import http.server
import io
import lzma
import mmap
import os
import random
import resource
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import warpaes
from support import needed, new_folder
from warpaes import Keyset, exceptions

TEMPLATES = ("AES256_GCM_HKDF_4KB", "AES256_GCM_HKDF_1MB", "AES128_CTR_HMAC_SHA256_4KB", "C2SP_CHUNKED_256")
LENGTHS = (0, 1, 4056, 4057, 16384, 100_003)
TEXT = random.Random(7).randbytes((5 << 20) + 11)


class Case(unittest.TestCase):
    keyset = Keyset.generate(TEMPLATES[0])

    def setUp(self) -> None:
        self.folder = new_folder(self)

    def seal(self, text: bytes, keyset: Keyset | None = None) -> bytes:
        file = io.BytesIO()
        with warpaes.open(file, "wb", keyset=keyset or self.keyset) as writer:
            writer.write(text)
        return file.getvalue()

    def open(self, file: Any, mode: str = "rb", **options: Any) -> Any:
        return warpaes.open(file, mode, keyset=options.pop("keyset", self.keyset), **options)

    def pipe(self, data: bytes, *, pieces: int = 1 << 16) -> io.FileIO:
        """Return the read end of a pipe into which a thread writes."""
        reading, writing = os.pipe()

        def fill() -> None:
            with contextlib.suppress(BrokenPipeError), os.fdopen(writing, "wb", buffering=0) as end:
                for at in range(0, len(data), pieces):
                    rest = memoryview(data)[at : at + pieces]
                    while rest:
                        rest = rest[end.write(rest) :]

        thread = threading.Thread(target=fill)
        thread.start()
        self.addCleanup(thread.join)
        file = os.fdopen(reading, "rb", buffering=0)
        self.addCleanup(file.close)
        return file


class OnlyRead:
    """Like botocore's old StreamingBody: an object whose only method is read()."""

    def __init__(self, data: bytes, most: int = 1 << 30) -> None:
        self.file, self.most = io.BytesIO(data), most

    def read(self, size: int = -1) -> bytes:
        return self.file.read(self.most if size < 0 else min(size, self.most))


class SaysNo(io.BytesIO):
    """An object whose seek() fails."""

    def seekable(self) -> bool:
        return False

    def seek(self, *_: Any) -> int:
        raise io.UnsupportedOperation("seek")


class Lies(io.RawIOBase):
    """An object whose seekable() returns True although it cannot seek."""

    def __init__(self, data: bytes) -> None:
        self.file = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return 0

    def seek(self, *_: Any) -> int:
        raise OSError(29, "Illegal seek")

    def readinto(self, buffer: Any) -> int:
        return self.file.readinto(buffer)


STREAMS: dict[str, Callable[[bytes], Any]] = {
    "only read()": OnlyRead,
    "only read(), one byte per call": lambda data: OnlyRead(data, 1),
    "only read(), 1,000 bytes per call": lambda data: OnlyRead(data, 1000),
    "seekable() is False": SaysNo,
    "seekable() is wrong": Lies,
    "buffered": lambda data: io.BufferedReader(SaysNo(data)),  # type: ignore[arg-type]
    "gzip over a stream": lambda data: gzip.GzipFile(fileobj=SaysNo(gzip.compress(data, 1))),
    "bz2 over a stream": lambda data: bz2.BZ2File(SaysNo(bz2.compress(data, 1))),
    "lzma over a stream": lambda data: lzma.LZMAFile(SaysNo(lzma.compress(data, preset=0))),  # noqa: SIM115
}


def in_zip(data: bytes) -> Any:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", data)
    return zipfile.ZipFile(packed).open("a")


def in_tar_stream(data: bytes) -> Any:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo("a")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    stream = tarfile.open(fileobj=SaysNo(packed.getvalue()), mode="r|")  # noqa: SIM115
    return stream.extractfile(stream.next())  # type: ignore[arg-type]


STREAMS["in a tar that is a stream"] = in_tar_stream
SEEKABLE: dict[str, Callable[[bytes], Any]] = {"BytesIO": io.BytesIO, "in a zip": in_zip}


class Streams(Case):
    def test_every_kind(self) -> None:
        for template in TEMPLATES:
            keyset = Keyset.generate(template)
            for length in LENGTHS:
                sealed = self.seal(TEXT[:length], keyset)
                for name, make in {**STREAMS, **SEEKABLE}.items():
                    if name.endswith("each") and length > 20_000:
                        continue
                    with self.subTest(name, template=template, length=length):
                        source = make(sealed)
                        with self.open(source, keyset=keyset) as file:
                            self.assertEqual(file.seekable(), name in SEEKABLE)
                            self.assertEqual(file.read(), TEXT[:length])
                            self.assertEqual((file.read(), file.size), (b"", length))
                        self.assertFalse(getattr(source, "closed", False))

    def test_pipes_in_pieces(self) -> None:
        for template in TEMPLATES:
            keyset = Keyset.generate(template)
            sealed = self.seal(TEXT, keyset)
            for piece in (100_000, 4096, 1 << 20, (1 << 20) + 1):
                with self.open(self.pipe(sealed), keyset=keyset) as file:
                    self.assertEqual(b"".join(iter(lambda f=file, n=piece: f.read(n), b"")), TEXT)
            with self.open(self.pipe(sealed), keyset=keyset) as file:
                buffer, at = bytearray(300_000), 0
                while got := file.readinto(buffer):
                    self.assertEqual(buffer[:got], TEXT[at : at + got])
                    self.assertEqual(file.tell(), at := at + got)
            self.assertEqual(at, len(TEXT))

    def test_other_calls(self) -> None:
        sealed = self.seal(b"one\ntwo\nthree")
        with self.open(self.pipe(sealed)) as file:
            self.assertEqual(file.peek(3)[:3], b"one")
            self.assertEqual((file.readline(), file.read1(2), list(file)), (b"one\n", b"tw", [b"o\n", b"three"]))
        with self.open(self.pipe(sealed), "rt") as text:
            self.assertEqual(list(text), ["one\n", "two\n", "three"])
        with self.open(self.pipe(sealed)) as file:
            for action in (lambda: file.seek(0), lambda: file.seek(0, 2), lambda: file.size):
                with self.assertRaises((io.UnsupportedOperation, ValueError)):
                    action()
            with self.assertRaisesRegex(ValueError, "next byte is 0"):
                file.reader.read(5, 1)
            self.assertEqual((file.reader.seekable(), file.reader.read(0, 1 << 60)), (False, b"one\ntwo\nthree"))

    def test_a_segment_comes_when_it_is_there(self) -> None:
        """A segment can be read as soon as it and the next byte have arrived."""
        text = TEXT[:20_000]
        sealed = self.seal(text)
        ours, theirs = socket.socketpair()
        with ours, theirs, ours.makefile("rb") as file:
            theirs.sendall(sealed[: 2 * 4096 + 1])
            with self.open(file) as opened:
                read = b""
                while len(read) < 2 * 4080 - 40:
                    read += opened.read1()
                self.assertEqual(read, text[: 2 * 4080 - 40])
                theirs.sendall(sealed[2 * 4096 + 1 :])
                theirs.shutdown(socket.SHUT_WR)
                self.assertEqual(opened.read(), text[2 * 4080 - 40 :])

    def test_bodies_of_http_responses(self) -> None:
        sealed = self.seal(TEXT[:1_000_000])

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.send_response(200)
                if self.path == "/chunked":
                    self.send_header("Transfer-Encoding", "chunked")
                    self.end_headers()
                    for at in range(0, len(sealed), 70_000):
                        part = sealed[at : at + 70_000]
                        self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
                    self.wfile.write(b"0\r\n\r\n")
                else:
                    self.send_header("Content-Length", str(len(sealed)))
                    self.end_headers()
                    self.wfile.write(sealed[: -100 if self.path == "/cut" else None])
                self.close_connection = True

            def log_message(self, *_: Any) -> None:
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            try:
                address = f"http://127.0.0.1:{server.server_port}"
                for path in ("/", "/chunked"):
                    with urllib.request.urlopen(address + path) as body, self.open(body) as file:
                        self.assertEqual(file.read(), TEXT[:1_000_000])
                refused = (exceptions.InvalidTag, exceptions.FormatError, http.client.HTTPException)
                with urllib.request.urlopen(address + "/cut") as body, self.assertRaises(refused):
                    self.open(body).read()
                urllib3 = needed("urllib3")
                body = urllib3.PoolManager().request("GET", address + "/", preload_content=False)
                with self.open(body) as file:
                    self.assertEqual(file.read(), TEXT[:1_000_000])
            finally:
                server.shutdown()
                thread.join()

    def test_the_body_of_an_object(self) -> None:
        StreamingBody = needed("botocore.response").StreamingBody  # noqa: N806
        sealed = self.seal(TEXT[:100_000])
        with self.open(StreamingBody(io.BytesIO(sealed), len(sealed))) as file:
            self.assertEqual(file.read(), TEXT[:100_000])

    def test_paths_of_pipes(self) -> None:
        sealed = self.seal(TEXT[:100_000])
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        thread = threading.Thread(target=lambda: fifo.write_bytes(sealed))
        thread.start()
        with self.open(fifo) as file:
            self.assertEqual((file.seekable(), file.read()), (False, TEXT[:100_000]))
        thread.join()
        (self.folder / "keyset").write_bytes(self.keyset.to_json())
        for source in ("'/dev/stdin'", "sys.stdin.buffer"):
            done = subprocess.run(
                [sys.executable, "-B", "-c", "import sys, warpaes\n"
                 "keyset = warpaes.Keyset.parse(open(sys.argv[1]).read())\n"
                 f"sys.stdout.buffer.write(warpaes.open({source}, keyset=keyset).read())",
                 self.folder / "keyset"], input=sealed, capture_output=True, check=True, timeout=60)  # fmt: skip
            self.assertEqual(done.stdout, TEXT[:100_000])

    def test_a_writer_and_a_reader_at_a_pipe(self) -> None:
        reading, writing = os.pipe()
        texts: list[bytes] = []

        def read() -> None:
            with os.fdopen(reading, "rb") as end, self.open(end) as file:
                texts.append(file.read())

        thread = threading.Thread(target=read)
        thread.start()
        with os.fdopen(writing, "wb") as end, self.open(end, "wb") as file:
            for at in range(0, len(TEXT), 70_000):
                file.write(TEXT[at : at + 70_000])
        thread.join()
        self.assertEqual(texts, [TEXT])

    def test_only_what_is_authentic(self) -> None:
        sealed = self.seal(text := TEXT[:50_000])
        cases: list[tuple[bytes, int]] = [(sealed[:-1], 12), (sealed[: 5 * 4096], 4), (sealed + b"x", 12), (b"", 0)]
        for segment in range(13):
            altered = bytearray(sealed)
            altered[segment * 4096 + 50] ^= 1
            cases.append((bytes(altered), segment))
        for data, segments in cases:
            read = b""
            with self.assertRaises((exceptions.InvalidTag, exceptions.FormatError)):
                file = self.open(OnlyRead(data))
                while piece := file.read1(999):
                    read += piece
            self.assertTrue(text.startswith(read))
            self.assertEqual(len(read), max(0, segments * 4080 - 40), segments)
        with self.assertRaises(exceptions.InvalidTag):
            self.open(self.pipe(sealed), keyset=Keyset.generate(TEMPLATES[0]))
        with self.assertRaises(exceptions.InvalidTag):
            self.open(self.pipe(sealed), associated_data=b"other")

    def test_streams_that_fail(self) -> None:
        sealed = self.seal(TEXT[:100_000])

        class Breaks(OnlyRead):
            def read(self, size: int = -1) -> bytes:
                if self.file.tell() > 50_000:
                    raise ConnectionResetError("the store is gone")
                return super().read(min(size, 10_000))

        with self.open(Breaks(sealed)) as file:
            self.assertEqual(file.read(20_000), TEXT[:20_000])
            with self.assertRaisesRegex(ConnectionResetError, "gone"):
                file.read()
            with self.assertRaises(OSError):
                file.reader.read(file.raw.tell(), 1)

        class Interrupted(OnlyRead):
            def read(self, size: int = -1) -> bytes:
                if self.file.tell() > 50_000:
                    raise KeyboardInterrupt
                return super().read(size)

        with self.open(Interrupted(sealed, 10_000)) as file, self.assertRaises(KeyboardInterrupt):
            file.read()

    def test_a_descriptor_that_does_not_block(self) -> None:
        sealed = self.seal(TEXT[:100_000])
        reading, writing = os.pipe()
        os.set_blocking(reading, False)

        def fill() -> None:
            with os.fdopen(writing, "wb") as end:
                end.write(sealed[:50_000])
                end.flush()
                end.write(sealed[50_000:])

        thread = threading.Thread(target=fill)
        for buffering in (0, -1):
            if buffering:
                reading, writing = os.pipe()
                os.set_blocking(reading, False)
                thread = threading.Thread(target=fill)
            with os.fdopen(reading, "rb", buffering=buffering) as end:
                thread.start()
                with self.open(end) as file:
                    self.assertEqual(file.read(), TEXT[:100_000])
                thread.join()

        class Nothing(io.RawIOBase):
            def readable(self) -> bool:
                return True

            def readinto(self, buffer: Any) -> None:
                return None

        with self.assertRaisesRegex(BlockingIOError, "no data ready"):
            self.open(Nothing())

    def test_a_high_descriptor_that_does_not_block(self) -> None:
        """select() refuses descriptors from 1024 on. Servers with many connections have such descriptors."""
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        if limits[1] != resource.RLIM_INFINITY and limits[1] < 2048:
            self.skipTest("the system allows fewer than 2,048 descriptors")
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(limits[0], 2048), limits[1]))
        sealed = self.seal(TEXT[:1000])
        reading, writing = os.pipe()
        high = fcntl.fcntl(reading, fcntl.F_DUPFD_CLOEXEC, 1500)
        os.close(reading)
        os.set_blocking(high, False)
        waits = threading.Event()

        class Pipe(io.FileIO):
            def readinto(self, buffer: Any) -> Any:
                got = super().readinto(buffer)
                if got is None:
                    waits.set()
                return got

        def fill() -> None:
            waits.wait()
            with os.fdopen(writing, "wb") as end:
                end.write(sealed)

        thread = threading.Thread(target=fill)
        thread.start()
        with Pipe(high, "rb") as end, self.open(end) as file:
            self.assertEqual(file.read(), TEXT[:1000])
        thread.join()

    def test_a_child_of_fork_takes_nothing(self) -> None:
        with self.open(self.pipe(self.seal(b"text"))) as file:
            child = os.fork()
            if child == 0:
                try:
                    file.read()
                except exceptions.Error:
                    os._exit(3)
                os._exit(0)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 3)
            self.assertEqual(file.read(), b"text")


class Buffered(Case):
    """Tests of data in a file object's buffer that was read ahead or not yet written."""

    def makers(self) -> Iterator[tuple[str, Any]]:
        yield "TemporaryFile", tempfile.TemporaryFile()  # noqa: SIM115
        yield "NamedTemporaryFile", tempfile.NamedTemporaryFile()  # noqa: SIM115
        yield "SpooledTemporaryFile", tempfile.SpooledTemporaryFile(1 << 20)  # noqa: SIM115
        yield "SpooledTemporaryFile on disk", tempfile.SpooledTemporaryFile(10)  # noqa: SIM115
        yield "BufferedRandom", open(self.folder / "random", "w+b")  # noqa: SIM115
        yield "unbuffered", open(self.folder / "raw", "w+b", buffering=0)  # noqa: SIM115
        yield "a large buffer", open(self.folder / "large", "w+b", buffering=1 << 20)  # noqa: SIM115
        yield "memory", io.BytesIO()

    def test_written_and_then_read(self) -> None:
        for name, file in self.makers():
            with self.subTest(name), file:
                for text in (b"hello", TEXT[:50_000], b"other", b""):
                    file.seek(0)
                    file.truncate()
                    with self.open(file, "wb") as writer:
                        writer.write(text)
                    with self.open(file) as reader:
                        self.assertEqual(reader.read(), text)
                    with self.open(file) as reader:
                        self.assertEqual(reader.read(), text, "a second read, from any position")

    def test_bytes_that_are_not_flushed(self) -> None:
        sealed = self.seal(TEXT[:50_000])
        for name, file in self.makers():
            with self.subTest(name), file:
                file.write(b"HEADER" + sealed[:-100])
                file.write(sealed[-100:])  # these bytes stay in the buffer
                file.seek(6)
                with self.open(file) as reader:
                    self.assertEqual(reader.read(), TEXT[:50_000])

    def test_read_ahead(self) -> None:
        """The position is the file object's position, not its descriptor's, which is further ahead."""
        sealed = self.seal(TEXT[:50_000])
        path = self.folder / "file"
        path.write_bytes(b"HEADER\n" + sealed)
        for buffering in (-1, 0, 1 << 20):
            with open(path, "rb", buffering=buffering) as file:
                self.assertEqual(file.readline(), b"HEADER\n")
                with self.open(file) as reader:
                    self.assertEqual(reader.read(), TEXT[:50_000])
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as pages:
            pages.seek(7)
            with self.open(pages) as reader:
                self.assertEqual(reader.read(), TEXT[:50_000])

    def test_positions(self) -> None:
        sealed = self.seal(b"text")
        for file in (io.BytesIO(sealed), io.BytesIO(b"x" + sealed), io.BytesIO(sealed[1:])):
            for position in (0, 1, 2, len(file.getvalue()), 99_999):
                file.seek(position)
                whole = file.getvalue() == sealed or (len(file.getvalue()) > len(sealed) and position == 1)
                if whole:
                    with self.open(file) as reader:
                        self.assertEqual(reader.read(), b"text")
                else:
                    with self.assertRaises((exceptions.FormatError, exceptions.InvalidTag)):
                        self.open(file)
                    self.assertEqual(file.tell(), position, "as it was")

    def test_written_where_it_stands(self) -> None:
        for name, file in self.makers():
            with self.subTest(name), file:
                file.write(b"HEADER")
                with self.open(file, "wb") as writer:
                    writer.write(b"text")
                file.write(b"END")
                file.seek(0)
                content = file.read()
                self.assertEqual((content[:6], content[-3:]), (b"HEADER", b"END"))
                self.assertEqual(self.open(content[6:-3]).read(), b"text")

    def test_flushed_when_it_is_complete(self) -> None:
        """The sealed file's close reports a full disk. The errors of the underlying close are often ignored."""
        with open(self.folder / "file", "wb") as file:
            with self.open(file, "wb") as writer:
                writer.write(b"text")
            self.assertEqual(self.open(self.folder / "file").read(), b"text")
        if os.path.exists("/dev/full"):
            file = open("/dev/full", "wb")  # noqa: SIM115
            with self.assertRaises(OSError), self.open(file, "wb") as writer:
                writer.write(b"text")
            with contextlib.suppress(OSError):
                file.close()


class Odd(Case):
    """Functions that return results that the protocol allows, and results that it does not allow."""

    def test_write_returns_nothing(self) -> None:
        class Sftp:  # like paramiko's file object
            def __init__(self) -> None:
                self.data = bytearray()

            def write(self, data: Any) -> None:
                self.data += data

        file = Sftp()
        with self.open(file, "wb") as writer:
            writer.write(TEXT[:100_000])
        self.assertEqual(self.open(bytes(file.data)).read(), TEXT[:100_000])

    def test_write_takes_little(self) -> None:
        class Little(io.RawIOBase):
            def __init__(self, most: int) -> None:
                self.data, self.most = bytearray(), most

            def write(self, data: Any) -> int:  # type: ignore[override]
                part = bytes(data[: self.most])
                self.data += part
                return len(part)

        for most in (1, 7, 4096):
            file = Little(most)
            with self.open(file, "wb") as writer:
                writer.write(TEXT[:9000])
            self.assertEqual(self.open(bytes(file.data)).read(), TEXT[:9000])

    def test_write_says_what_cannot_be(self) -> None:
        for answer, kind, words in (
            (0, OSError, "returned 0 as the number of bytes written, of"),
            (-1, OSError, "returned -1 as the number of bytes written, of"),
            (1 << 40, OSError, "returned 1099511627776 as the number of bytes written, of"),
            (None, BlockingIOError, "would block"),
        ):

            class Odd(io.RawIOBase):
                def write(self, data: Any, answer: Any = answer) -> Any:
                    return answer

            with self.assertRaisesRegex(kind, words):
                self.open(Odd(), "wb")

    def test_read_says_what_cannot_be(self) -> None:
        sealed = self.seal(b"text")

        class More:
            def read(self, size: int) -> bytes:
                return sealed + bytes(size)

        with self.assertRaisesRegex(OSError, "but at most"):
            self.open(More())
        for answer in (-1, 1 << 40):

            class Odd(io.RawIOBase):
                def readinto(self, buffer: Any, answer: int = answer) -> int:
                    return answer

            with self.assertRaisesRegex(OSError, "as the number of bytes read"):
                self.open(Odd())

    def test_readinto_that_is_not_implemented(self) -> None:
        sealed = self.seal(TEXT[:50_000])

        class Half(io.BytesIO):
            def readinto(self, buffer: Any) -> int:
                raise NotImplementedError

        with self.open(Half(sealed)) as file:
            self.assertEqual(file.read(), TEXT[:50_000])

    def test_seek_without_seekable(self) -> None:
        sealed = self.seal(TEXT[:50_000])

        class Raw(io.RawIOBase):
            file = io.BytesIO(sealed)

            def seek(self, *to: int) -> int:
                return self.file.seek(*to)

            def readinto(self, buffer: Any) -> int:
                return self.file.readinto(buffer)

        with self.open(Raw()) as file:
            self.assertTrue(file.seekable())
            file.seek(40_000)
            self.assertEqual(file.read(), TEXT[40_000:50_000])

    def test_text(self) -> None:
        path = self.folder / "text"
        path.write_bytes(self.seal(b"text"))
        texts = (
            lambda: open(path, "r+"),  # noqa: SIM115
            io.StringIO,
            lambda: tempfile.NamedTemporaryFile("w+"),  # noqa: SIM115
            lambda: tempfile.SpooledTemporaryFile(10, "w+"),  # noqa: SIM115
            lambda: io.TextIOWrapper(io.BytesIO()),
        )
        for make in texts:
            for mode in ("rb", "wb"):
                with (
                    make() as file,
                    self.assertRaisesRegex(TypeError, "is a text file; open it in a binary mode"),
                ):  # type: ignore[attr-defined]
                    self.open(file, mode)
        with codecs.open(str(path), "r+", "latin-1") as file:
            with self.assertRaises(TypeError):
                self.open(file)
            with self.assertRaises(TypeError):
                self.open(file, "wb")
        self.assertEqual(self.open(path).read(), b"text")

    def test_wrong_modes(self) -> None:
        path = self.folder / "file"
        path.write_bytes(self.seal(b"text"))
        for buffering in (-1, 0):
            with open(path, "rb", buffering=buffering) as file, self.assertRaisesRegex(OSError, "not open for writing"):
                self.open(file, "wb")
            file = open(self.folder / "other", "wb", buffering=buffering)  # noqa: SIM115
            with file, self.assertRaisesRegex(OSError, "not open for reading"):
                self.open(file)
        with open(path, "rb") as file:
            pass
        for mode in ("rb", "wb"):
            with self.assertRaises(ValueError):
                self.open(file, mode)

    def test_what_is_no_file_object(self) -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            for mode in ("rb", "wb"):
                with self.assertRaisesRegex(TypeError, "makefile"):
                    self.open(ours, mode)
                with self.assertRaisesRegex(TypeError, "fdopen"):
                    self.open(0, mode)
                for wrong in (None, [], object(), 1.5, len):
                    with self.assertRaises(TypeError):
                        self.open(wrong, mode)

    def test_a_path_in_bytes(self) -> None:
        """Bytes to read are the content of a file, even if they could be a path. The error message mentions this."""
        path = os.fsencode(self.folder / "file")
        self.open(path, "wb").close()
        self.assertEqual(self.open(os.fsdecode(path)).read(), b"")
        with self.assertRaisesRegex(exceptions.FormatError, "fsdecode"):
            self.open(path)

        class Path:
            def __fspath__(self) -> bytes:
                return path

        self.assertEqual(self.open(Path()).read(), b"")


class Reads(Case):
    def test_the_buffer_follows_the_reads(self) -> None:
        """After a seek, only the segment is read. Sequential reads read ahead, with increasing sizes."""
        sealed = self.seal(TEXT)
        asked: list[int] = []

        class Noted(io.BytesIO):
            def readinto(self, buffer: Any) -> int:
                asked.append(len(buffer))
                return super().readinto(buffer)

        with self.open(Noted(sealed)) as file:
            choose = random.Random(3)
            for _ in range(100):
                asked.clear()
                at = choose.randrange(len(TEXT) // 4080 - 1) * 4080 - 40 + choose.randrange(3900)
                file.seek(max(at, 0))
                self.assertEqual(file.read(100), TEXT[max(at, 0) :][:100])
                self.assertLessEqual(sum(asked), 4096)
            file.seek(0)
            asked.clear()
            self.assertEqual(b"".join(iter(lambda: file.read(100), b"")), TEXT)
            self.assertLess(len(asked), 2 * len(TEXT) // (64 << 10))

    def test_any_pattern(self) -> None:
        choose = random.Random(5)
        for template in TEMPLATES:
            keyset = Keyset.generate(template)
            text = TEXT[: choose.randrange(100_000, 3_000_000)]
            plain = io.BytesIO(text)
            with self.open(self.seal(text, keyset), keyset=keyset) as file:
                for _ in range(1500):
                    size = choose.choice([0, 1, 100, 4080, 4096, 5000, 131_071, 131_072, 131_073, 200_000])
                    if choose.random() < 0.3:
                        at = choose.randrange(len(text) + 10)
                        self.assertEqual(file.seek(at), plain.seek(at))
                    name = choose.choice(["read", "read1", "readline", "readinto"])
                    if name == "readinto":
                        ours, theirs = bytearray(size), bytearray(size)
                        self.assertEqual((file.readinto(ours), ours), (plain.readinto(theirs), theirs))
                    elif name == "read1":
                        got = file.read1(size)
                        self.assertTrue(
                            plain.read(len(got)) == got
                            and bool(got) == bool(size and plain.tell() - len(got) < len(text))
                        )
                    else:
                        self.assertEqual(getattr(file, name)(size), getattr(plain, name)(size))
                    self.assertEqual(file.tell(), plain.tell())


if __name__ == "__main__":
    unittest.main()
