"""Tests files that begin with their own keyset: opening them with open, fsspec and the command, and altered files."""

from __future__ import annotations

import io
import os
import pathlib
import pickle
import re
import signal
import subprocess
import tempfile
import threading
import unittest
from typing import Any
from unittest import mock

import warpaes
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem
from warpaes import Keyset, _own_keysets, exceptions
from warpaes._keyset_places import parse
from warpaes._own_keysets import PAGE, OwnKeysets, read_front
from warpaes.fs import WarpaesFileSystem

TEXT = b"some text " * 5000
KEK = "kek=kek;own:"
PASSPHRASE = "passphrase=word;own:"


class Case(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = holder.name
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.folder)
        for name, content in (
            ("kek", os.urandom(32).hex()),
            ("other", os.urandom(32).hex()),
            ("word", "correct horse\n"),
        ):
            pathlib.Path(name).write_text(content)
            os.chmod(name, 0o600)

    def sealed(self, place: str = KEK) -> bytes:
        with warpaes.open("file", "wb", keyset=place) as file:
            file.write(TEXT)
        return pathlib.Path("file").read_bytes()

    def opened(self, source: Any, place: str = KEK, **options: Any) -> bytes:
        with warpaes.open(source, keyset=place, **options) as file:
            content: bytes = file.read()
        return content


class Opens(Case):
    def test_every_source_and_sink(self) -> None:
        content = self.sealed()
        self.assertEqual(self.opened("file"), TEXT)
        self.assertEqual(self.opened(content), TEXT)
        self.assertEqual(self.opened(io.BytesIO(content)), TEXT)
        with open("file", "rb") as file:
            self.assertEqual(self.opened(file), TEXT)
        with subprocess.Popen(["cat", "file"], stdout=subprocess.PIPE) as process:
            self.assertEqual(self.opened(process.stdout), TEXT)
        sink = io.BytesIO()
        with warpaes.open(sink, "wb", keyset=KEK) as out:
            out.write(TEXT)
        self.assertEqual(self.opened(sink), TEXT)
        with warpaes.open("text", "xt", keyset=KEK) as words:
            words.write("Grüße\n")
        with warpaes.open("text", "rt", keyset=KEK) as words:
            self.assertEqual(words.read(), "Grüße\n")

    def test_seeks_and_tells_the_size(self) -> None:
        self.sealed()
        with warpaes.open("file", keyset=KEK) as file:
            self.assertEqual(file.size, len(TEXT))
            file.seek(40000)
            self.assertEqual(file.read(10), TEXT[40000:40010])

    def test_a_passphrase_and_its_cost(self) -> None:
        content = self.sealed(PASSPHRASE)
        self.assertEqual(self.opened("file", PASSPHRASE), TEXT)
        with self.assertRaisesRegex(exceptions.InvalidTag, "the passphrase is wrong"):
            pathlib.Path("bad").write_text("battery staple")
            self.opened("file", "passphrase=bad;own:")
        with self.assertRaisesRegex(
            exceptions.KeysetError, "not encrypted under a key-encryption key; write passphrase:"
        ):
            self.opened("file", KEK)
        end = content.index(b"\n", 21)
        slot = content[21:end]
        for n, words in ((1 << 40, "."), (1 << 24, ".")):
            costly = re.sub(rb'"n":\d+', b'"n":%d' % n, slot)
            altered = content[:21] + costly.ljust(PAGE - 22) + b"\n" + content[PAGE:]
            with self.assertRaisesRegex(exceptions.KeysetError, words):
                self.opened(altered, PASSPHRASE)
        dear = re.sub(rb'"p":1\b', b'"p":6', re.sub(rb'"n":\d+', b'"n":1048576', slot))
        self.assertNotEqual(dear, slot)
        altered = content[:21] + ((dear + b"\n") * 2).ljust(PAGE - 22) + b"\n" + content[PAGE:]
        with self.assertRaisesRegex(exceptions.KeysetError, "the limit is 8192"):
            self.opened(altered, PASSPHRASE)

    def test_exclusive_refuses_before_it_asks(self) -> None:
        self.sealed()
        with (
            mock.patch.object(_own_keysets, "ask_passphrase", side_effect=AssertionError),
            self.assertRaises(FileExistsError),
        ):
            warpaes.open("file", "xb", keyset=PASSPHRASE)

    def test_a_failed_file_leaves_the_old_one(self) -> None:
        before = self.sealed()
        with self.assertRaises(RuntimeError), warpaes.open("file", "wb", keyset=KEK) as file:
            file.write(b"half")
            raise RuntimeError
        self.assertEqual(pathlib.Path("file").read_bytes(), before)
        self.assertEqual(sorted(os.listdir()), ["file", "kek", "other", "word"])


class Commands(Case):
    def test_agree_on_every_line_of_a_front(self) -> None:
        """The package refuses each line that the command refuses and skips each line that the command skips."""
        command = os.environ.get("WARPAES")
        if not command:
            self.skipTest("the command is not built (WARPAES)")
        content = self.sealed()
        slot, _, _ = content[21:PAGE].partition(b"\n")
        lines = {
            b'{"encryptedKeyset":"AAAA",}': False,
            b'{"encryptedKeyset":"AAAA"}}': True,
            b'{"encryptedKeyset":NaN}': False,
            b'{"keyEncryptionKey":7,"encryptedKeyset":""}': False,
            b'{"encryptedKeyset":"AAAA","x":{}}': False,
            slot[:-1] + b',"encryptedKeyset":0}': False,
            slot[:-1]: True,
            b'{"encryptedKeyset":"AAAA': True,
            b"{}": True,
            b"[1]": True,
            b'{"keyEncryptionKey":{"kdf":"scrypt"}}': True,
            b"\xff{\0": True,
        }
        for line, opens in lines.items():
            for before, after in ((line, slot), (slot, line)):
                with self.subTest(line=line, first=before == line):
                    altered = content[:21] + (before + b"\n" + after).ljust(PAGE - 22) + b"\n" + content[PAGE:]
                    pathlib.Path("altered").write_bytes(altered)
                    done = subprocess.run([command, "decrypt", "-k", KEK, "altered"], capture_output=True)
                    self.assertEqual(done.returncode == 0, opens, done.stderr)
                    if opens:
                        self.assertEqual(self.opened("altered"), TEXT)
                    else:
                        with self.assertRaises(exceptions.KeysetError):
                            self.opened("altered")

    def test_open_each_others_files(self) -> None:
        command = os.environ.get("WARPAES")
        if not command:
            self.skipTest("the command is not built (WARPAES)")
        self.sealed()
        decrypt = [command, "decrypt", "-k", KEK, "file"]
        self.assertEqual(subprocess.run(decrypt, capture_output=True, check=True).stdout, TEXT)
        encrypt = [command, "encrypt", "--passphrase-from", "word", "--passphrase-seconds", "0", "--to", "kek", "--to",
                   "other", "-o", "made"]  # fmt: skip
        subprocess.run(encrypt, input=TEXT, check=True)
        for place in (KEK, PASSPHRASE, "kek=other;own:"):
            self.assertEqual(self.opened("made", place), TEXT)


class Files(Case):
    def test_of_fsspec(self) -> None:
        for below in (MemoryFileSystem(), LocalFileSystem()):
            root = self.folder + "/tree"
            fs = WarpaesFileSystem(keyset=KEK, fs=below, auto_mkdir=True)
            fs.makedirs(root, exist_ok=True)
            for name in ("a", "b"):
                fs.pipe_file(f"{root}/{name}", TEXT)
            self.assertEqual({entry["size"] for entry in fs.ls(root, detail=True)}, {len(TEXT)})
            self.assertEqual(fs.cat_file(f"{root}/a", start=100, end=120), TEXT[100:120])
            with fs.open(f"{root}/b") as file:
                file.seek(30000)
                self.assertEqual(file.read(5), TEXT[30000:30005])
            fronts = {below.cat_file(f"{root}/{name}")[:PAGE] for name in ("a", "b")}
            self.assertEqual(len(fronts), 1, "one keyset for the files of one object")

    def test_pickled_by_the_place(self) -> None:
        fs = WarpaesFileSystem(keyset=KEK, fs=LocalFileSystem())
        fs.pipe_file(self.folder + "/a", TEXT)
        again = pickle.loads(pickle.dumps(fs))
        os.chdir("/")
        self.assertEqual(again.cat_file(self.folder + "/a"), TEXT)
        with self.assertRaises(TypeError):
            pickle.dumps(WarpaesFileSystem(keyset="passphrase:own:", fs=LocalFileSystem()))


class Kept(Case):
    """Tests of the keysets of many files that a single object opens."""

    def files(self) -> tuple[OwnKeysets, list[Any]]:
        """Return an object and, for each of three files, a function that opens the file's own keyset."""
        fronts = []
        for _ in range(3):
            content = io.BytesIO(self.sealed())
            fronts.append(read_front(content.read))
        keysets = OwnKeysets(parse(KEK))
        return keysets, [lambda front=front: keysets.open(front) for front in fronts]

    def asked(self, act: Any = lambda _: None) -> list[bytes]:
        """Collect the keysets that are opened with a key."""
        slots: list[bytes] = []
        real = _own_keysets.read_keyset

        def read(slot: bytes, *rest: Any) -> Any:
            slots.append(slot)
            act(slot)
            return real(slot, *rest)

        patch = mock.patch.object(_own_keysets, "read_keyset", read)
        patch.start()
        self.addCleanup(patch.stop)
        return slots

    def test_for_a_time(self) -> None:
        _, files = self.files()
        now = [1000.0]
        clock = mock.patch("time.monotonic", lambda: now[0])
        clock.start()
        self.addCleanup(clock.stop)
        slots = self.asked()
        for seconds, count in ((0, 3), (899, 3), (2, 6)):
            now[0] += seconds
            for _ in range(2):
                for each in files:
                    each()
            self.assertEqual(len(slots), count)

    def test_a_slow_key_manager_holds_up_only_who_needs_it(self) -> None:
        _, (first, second, third) = self.files()
        first()
        waits, goes_on = threading.Event(), threading.Event()

        def wait(_: bytes) -> None:
            if not waits.is_set():
                waits.set()
                goes_on.wait(60)

        slots = self.asked(wait)
        threads = [threading.Thread(target=second) for _ in range(3)]
        for thread in threads:
            thread.start()
        self.assertTrue(waits.wait(60))
        first()
        third()
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            second()
            os._exit(0)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        goes_on.set()
        for thread in threads:
            thread.join()
        self.assertEqual(len(slots), 2)


class Altered(Case):
    """Files that an attacker who can write to the storage has altered."""

    def test_not_a_file_of_its_own_keyset(self) -> None:
        Keyset.generate().save("keyset")
        with warpaes.open("file", "wb", keyset="keyset") as file:
            file.write(TEXT)
        for content in (pathlib.Path("file").read_bytes(), TEXT, b"", b"warpaes-own-1 "):
            with self.assertRaises(exceptions.FormatError):
                self.opened(content)
        self.sealed()
        with self.assertRaises((exceptions.InvalidTag, exceptions.FormatError)):
            self.opened("file", "keyset")

    def test_exchanged_fronts(self) -> None:
        first, second = self.sealed(), self.sealed()
        with self.assertRaises(exceptions.InvalidTag):
            self.opened(second[:PAGE] + first[PAGE:])
        with self.assertRaisesRegex(exceptions.InvalidTag, "kek: cannot open"):
            self.opened(first, "kek=other;own:")

    def test_bytes_and_lengths_of_the_front(self) -> None:
        content = self.sealed()
        end = content.index(b"\n", 21)
        for at in [*range(21), *range(21, end, 11)]:
            altered = bytearray(content)
            altered[at] ^= 1
            with self.assertRaises(
                (exceptions.InvalidTag, exceptions.FormatError, exceptions.KeysetError), msg=str(at)
            ):
                self.opened(bytes(altered))
        for length in (0, 5, 20, 21, 500, PAGE - 1, PAGE, PAGE + 30, len(content) - 1):
            with self.assertRaises((exceptions.InvalidTag, exceptions.FormatError), msg=str(length)):
                self.opened(content[:length])

    def test_a_line_that_is_torn(self) -> None:
        content = bytearray(self.sealed())
        content[PAGE - 200 : PAGE - 100] = b'\n{"encryptedKeyset":"AAA'.ljust(100)
        self.assertEqual(self.opened(bytes(content)), TEXT)


class Refused(Case):
    def test_places(self) -> None:
        for place, words in (
            ("own:", "own: is always encrypted"),
            ("clear:own:", "cannot be combined"),
            ("kek=kek;passphrase:own:", "cannot be combined"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                warpaes.open("file", "wb", keyset=place)
        with self.assertRaisesRegex(ValueError, "own: means the keyset at the start"):
            Keyset.load(KEK)
        with self.assertRaises(ValueError):
            Keyset.generate().save(KEK)


if __name__ == "__main__":
    unittest.main()
