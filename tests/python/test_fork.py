#!/usr/bin/env python3
"""Tests every kind of object in a child process that os.fork or one of multiprocessing's three start methods
creates."""

from __future__ import annotations

import base64
import contextlib
import io
import multiprocessing
import os
import pathlib
import pickle
import signal
import unittest
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import warpaes
from support import needed, new_folder
from warpaes import Keyset
from warpaes._fork_lock import ForkLock
from warpaes.aead import AESCCM, AESGCM, AESGCMSIV, AESSIV
from warpaes.ciphers import Cipher, algorithms, modes
from warpaes.cmac import CMAC

KEY, NONCE, TEXT = bytes(range(32)), bytes(12), bytes(100_003)
AES = algorithms.AES(KEY)
DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md"

# The outcomes of using an object in a child, in the words of docs/python.md.
WORKS = "works"
OPENED_AGAIN = "opened again"
REFUSED = "refused"
OTHER = "other values"
SAME = "same values"
# The outcomes of pickling an object.
NO = "refused"
BY_NAME = "by name"
FUNCTION = "-"


class Row(NamedTuple):
    """A kind of object, with functions that create it in a folder and use it, and the outcomes of using it in a child
    and of pickling it."""

    name: str
    make: Callable[[pathlib.Path], Any]
    use: Callable[[Any], bytes]
    in_child: str
    pickled: str = NO


def loaded(folder: pathlib.Path, kind: Any) -> Any:
    path = folder / "key"
    path.write_bytes(Keyset.generate().to_json() if kind is Keyset else KEY)
    path.chmod(0o600)
    return kind.load(f"file:{path}")


def sealed(folder: pathlib.Path, keyset: Keyset) -> pathlib.Path:
    path = folder / "sealed"
    with warpaes.open(path, "wb", keyset=keyset) as file:
        file.write(TEXT)
    return path


def source(folder: pathlib.Path, kind: str) -> Any:
    keyset = Keyset.generate("AES256_GCM_HKDF_4KB")
    path = sealed(folder, keyset)
    if kind == "Reader":
        return warpaes.Reader(str(path), keyset)
    return warpaes.open(path if kind == "path" else io.BytesIO(path.read_bytes()), keyset=keyset)


def sink(folder: pathlib.Path, kind: str) -> Any:
    keyset = Keyset.generate("AES256_GCM_HKDF_4KB")
    if kind == "Writer":
        return warpaes.Writer(str(folder / "new"), keyset)
    return warpaes.open(folder / "new", "wb", keyset=keyset)


def context(of: Any) -> Callable[[pathlib.Path], Any]:
    return lambda folder: Cipher(AES, of).encryptor()


def mac(folder: pathlib.Path) -> CMAC:
    made = CMAC(AES)
    made.update(b"x")
    return made


def with_update(made: Any) -> bytes:
    found: bytes = made.update(b"x")
    return found


def read_some(reader: Any) -> bytes:
    reader.seek(50_000)
    data: bytes = reader.read(100)
    return data


def file_system(folder: pathlib.Path, named: bool) -> Any:
    needed("fsspec")
    from warpaes.fs import WarpaesFileSystem

    keyset = Keyset.generate("AES256_GCM_HKDF_4KB")
    (folder / "keyset").write_bytes(keyset.to_json())
    made = WarpaesFileSystem(f"file:{folder / 'keyset'}" if named else keyset, target_protocol="file")
    made.test_path = str(sealed(folder, keyset))
    return made


def file_of_a_file_system(folder: pathlib.Path) -> Any:
    return file_system(folder, True).open(str(folder / "new"), "wb")


def from_the_start(generator: Any) -> bytes:
    generator.position = 0
    made: bytes = generator.bytes(32)
    return made


def list_of(made: Any) -> bytes:
    """Use a file system, which may have been pickled and then lacks this module's attributes."""
    return bytes(made.cat_file(os.environ["TEST_SEALED"], 0, 100))


def weights(folder: pathlib.Path) -> Any:
    np = needed("numpy")
    ed25519 = needed("cryptography.hazmat.primitives.asymmetric.ed25519")
    from warpaes import safetensors

    private = ed25519.Ed25519PrivateKey.from_private_bytes(KEY)

    def text(data: bytes) -> str:
        return base64.b64encode(data).decode()

    keys: dict[str, Any] = {
        "enc_key": {"kty": "oct", "alg": "aes256gcm", "k": text(KEY)},
        "sign_key": {
            "kty": "okp", "alg": "ed25519", "d": text(KEY), "x": text(private.public_key().public_bytes_raw())
        },
    }  # fmt: skip
    safetensors.save_file({"a": np.arange(1000)}, folder / "weights", **keys)
    return safetensors.safe_open(folder / "weights", **keys)


def parquet_view(folder: pathlib.Path) -> Any:
    needed("pyarrow")
    import pyarrow
    from warpaes import parquet

    parquet.write_table(pyarrow.table({"a": range(1000)}), folder / "table", parquet.Encryption(KEY))
    return parquet.open(folder / "table", KEY)


ROWS = [
    Row("`Keyset`", lambda folder: Keyset.generate(), lambda keyset: keyset.to_json(), WORKS),
    *(
        Row(f"`{kind.__name__}`", lambda folder, kind=kind: kind(KEY),
            lambda made: made.encrypt(NONCE, TEXT, None), WORKS)
        for kind in (AESGCM, AESCCM, AESGCMSIV)
    ),
    Row("`Keyset.load(\"file:…\")`", lambda folder: loaded(folder, Keyset),
        lambda keyset: keyset.to_json(), WORKS, BY_NAME),
    Row("`AESGCM.load(\"file:…\")`, and the other AEADs", lambda folder: loaded(folder, AESGCM),
        lambda made: made.encrypt(NONCE, TEXT, None), WORKS, BY_NAME),
    Row("`AESSIV`", lambda folder: AESSIV(KEY), lambda made: made.encrypt(TEXT, None), WORKS),
    Row("`Batch`", lambda folder: AESGCM(KEY).submit("encrypt", [NONCE], [b"x"]),
        lambda batch: batch.result()[0], REFUSED),
    Row("context of `Cipher(…)`: CTR", context(modes.CTR(bytes(16))), with_update, REFUSED),
    Row("context of `Cipher(…)`: GCM", context(modes.GCM(NONCE)), with_update, REFUSED),
    Row("`CMAC`", mac, lambda made: made.finalize(), REFUSED),
    Row("`Reader`", lambda folder: source(folder, "Reader"), lambda reader: reader.read(0, 100), REFUSED),
    Row("`open(path)`", lambda folder: source(folder, "path"), read_some, OPENED_AGAIN),
    Row("`open(file object)`", lambda folder: source(folder, "object"), read_some, REFUSED),
    Row("`Writer`", lambda folder: sink(folder, "Writer"), lambda made: bytes(made.write(b"x")), REFUSED),
    Row('`open(path, "wb")`', lambda folder: sink(folder, "open"), lambda made: bytes(made.write(b"x")), REFUSED),
    Row("`Generator()`", lambda folder: warpaes.Generator(), lambda made: made.bytes(32), OTHER),
    Row("`Generator(key)`", lambda folder: warpaes.Generator(KEY), lambda made: made.bytes(32), SAME),
    Row("`Generator.load(\"file:…\")`", lambda folder: loaded(folder, warpaes.Generator),
        from_the_start, SAME, BY_NAME),
    Row("`generate_key`, `Keyset.generate`", lambda folder: None, lambda _: AESGCM.generate_key(256), OTHER, FUNCTION),
    Row("`WarpaesFileSystem(keyset=Keyset)`", lambda folder: file_system(folder, False), list_of, WORKS),
    Row('`WarpaesFileSystem(keyset="file:…")`', lambda folder: file_system(folder, True), list_of, WORKS, BY_NAME),
    Row("its files for writing", file_of_a_file_system, lambda made: bytes(made.write(b"x")), REFUSED),
    Row("`safetensors.safe_open`", weights, lambda made: made.get_tensor("a").tobytes(), WORKS),
    Row("`warpaes.parquet.open`", parquet_view, lambda view: bytes(view.read_at(0, view.size)), WORKS),
]  # fmt: skip


def tried(row: Row, made: Any) -> bytes:
    """Return the result of using an object, or the error."""
    try:
        return b"+" + row.use(made)
    except Exception as error:
        return b"-" + f"{type(error).__name__}: {error}".encode()


def in_fork(row: Row, made: Any) -> bytes:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        found = tried(row, made)
        for end in ("abort", "close"):  # the parent's file stays unchanged, whatever the child does
            with contextlib.suppress(Exception):
                getattr(made, end)()
        os.write(write, found)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        found = pipe.read()
    os.waitpid(child, 0)
    return found


def send(number: int, made: Any, pipe: Any) -> None:
    pipe.send_bytes(tried(ROWS[number], made))


class Children(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = new_folder(self)
        os.environ["TEST_SEALED"] = str(self.folder / "sealed")
        self.addCleanup(os.environ.pop, "TEST_SEALED")

    def in_process(self, method: str, row: Row, made: Any) -> bytes:
        ways = multiprocessing.get_context(method)
        here, there = ways.Pipe(duplex=False)
        process = ways.Process(target=send, args=(ROWS.index(row), made, there))
        process.start()
        there.close()
        found: bytes = here.recv_bytes()
        process.join()
        return found

    def expect(self, row: Row, found: list[bytes], ours: bytes) -> None:
        for one in found:
            if row.in_child in (WORKS, OPENED_AGAIN, SAME):
                self.assertEqual(one, ours)
            elif row.in_child == REFUSED:
                self.assertIn(b"created before fork() and cannot be used in the child process", one)
                self.assertEqual(one[:1], b"-")
            else:
                self.assertEqual(one[:1], b"+")
        if row.in_child == OTHER:
            self.assertEqual(len({*found, ours}), len(found) + 1)
        self.assertEqual(ours[:1], b"+", "the parent's object still works")

    def test_fork(self) -> None:
        for row in ROWS:
            with self.subTest(row.name):
                made = row.make(self.folder)
                found = [in_fork(row, made), in_fork(row, made), self.in_process("fork", row, made)]
                self.expect(row, found, tried(row, made))
                for end in ("finish", "close"):
                    getattr(made, end, lambda: None)()
                if hasattr(made, "finish") or hasattr(made, "abort"):
                    self.assertTrue((self.folder / "new").exists())
                    (self.folder / "new").unlink()

    def test_spawn_and_forkserver(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some files are not closed
            for row in ROWS:
                if row.pickled == FUNCTION:
                    continue
                made = row.make(self.folder)
                with self.subTest(row.name):
                    if row.pickled == NO:
                        for dump in (pickle.dumps, lambda made, row=row: self.in_process("spawn", row, made)):
                            with self.assertRaises(TypeError):
                                dump(made)
                    else:
                        ours = tried(row, made)
                        for method in ("spawn", "forkserver"):
                            self.assertEqual(self.in_process(method, row, made), ours)
                del made

    def test_the_document_has_the_table(self) -> None:
        text = DOCS.read_text()
        for row in ROWS:
            self.assertIn(f"| {row.name} | {row.in_child} | {row.pickled} |", text)

    def test_interrupts(self) -> None:
        """A signal handler raises an exception at any point of a block. The lock must be unlocked afterwards."""

        class Interrupt(BaseException):
            pass

        def interrupt(*_: object) -> None:
            if armed:
                armed.clear()
                raise Interrupt

        lock, armed = ForkLock(), list[int]()
        before = signal.signal(signal.SIGALRM, interrupt)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        self.addCleanup(signal.setitimer, signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
        for _ in range(200):
            try:
                armed.append(1)
                while True:
                    with lock:
                        pass
            except Interrupt:
                self.assertTrue(lock.acquire(blocking=False))
                lock.release()


if __name__ == "__main__":
    unittest.main()
