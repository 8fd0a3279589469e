"""Each part opens the files of each other part, from every kind of place: generated from two lists."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
from collections.abc import Iterator
from random import Random
from typing import Any, ClassVar

import warpaes
from bulk_case import bulk, refusal
from fsspec.implementations.local import LocalFileSystem
from support import needed
from warpaes import Keyset, keysources
from warpaes._keyset_places import MANAGERS
from warpaes.fs import WarpaesFileSystem

WORD = "correct horse"

#: Places of one keyset, and of the keysets in front of files.
PLACES = [
    "clear", "file:clear", "clear:clear", "env:MATRIX_KEYSET", "exec:cat clear", "fd:clear",
    "passphrase=word;locked", "passphrase=env:MATRIX_WORD;env:MATRIX_LOCKED", "passphrase=exec:cat word;file:locked",
    "kek=kek;under", "kek=env:MATRIX_KEK;file:under", "kek=exec:cat kek;under", "kek=kek;kek-aad=backup;; of May;bound",
]  # fmt: skip
OWN = ["passphrase=word;own:", "kek=kek;own:", "kek=env:MATRIX_KEK;kek-aad=x;own:"]


#: A keyset with a passphrase prompt; only for parts whose prompt a program can answer.
ASKED = ["passphrase:locked", "passphrase:env:MATRIX_LOCKED"]


@contextlib.contextmanager
def opened(place: str) -> Iterator[tuple[str, list[int]]]:
    """The place with an open descriptor instead of the name in ``fd:NAME``, and the descriptor."""
    if not place.startswith("fd:"):
        yield place, []
        return
    descriptor = os.open(place.removeprefix("fd:"), os.O_RDONLY)
    try:
        yield f"fd:{descriptor}", [descriptor]
    finally:
        os.close(descriptor)


class Part:
    """Writes the file ``plain`` under the keyset at a place, and reads such a file."""

    own = True  #: opens the keyset in front of a file
    asks = False  #: asks the test for a passphrase

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.text = pathlib.Path(folder, "plain").read_bytes()

    def write(self, place: str, name: str) -> None:
        raise NotImplementedError

    def read(self, place: str, name: str) -> bytes:
        raise NotImplementedError

    def read_all(self, place: str, names: list[str]) -> list[bytes]:
        return [self.read(place, name) for name in names]


class Program(Part):
    def run(self, program: str, verb: str, place: str, *arguments: str) -> bytes:
        with opened(place) as (name, descriptors):
            command = [os.environ[program], verb, *(["-k"] if program == "WARPAES" else []), name, *arguments]
            ran = subprocess.run(command, capture_output=True, pass_fds=descriptors, check=False)
        if ran.returncode != 0:
            raise AssertionError((place, ran.stderr.decode()))
        return ran.stdout


class Command(Program):
    # --no-sync: tests need not survive a power failure.
    def write(self, place: str, name: str) -> None:
        self.run("WARPAES", "encrypt", place, "--no-sync", "-o", name, "plain")

    def read(self, place: str, name: str) -> bytes:
        return self.run("WARPAES", "decrypt", place, "--no-sync", name)


class C(Program):
    own, asks = False, True
    program = "WARPAES_MATRIX_C"

    def write(self, place: str, name: str) -> None:
        self.run(self.program, "write", place, "plain", name)

    def read(self, place: str, name: str) -> bytes:
        return self.run(self.program, "read", place, name)


class Cpp(C):
    program = "WARPAES_MATRIX_CPP"


def asked(place: str) -> Any:
    """The keyset at a place with a prompt, which a function answers."""
    return Keyset.load(place, passphrase=lambda _: WORD) if place.startswith("passphrase:") else place


class Open(Part):
    asks = True

    def write(self, place: str, name: str) -> None:
        with opened(place) as (keyset, _), warpaes.open(name, "wb", keyset=asked(keyset)) as file:
            file.write(self.text)

    def read(self, place: str, name: str) -> bytes:
        with opened(place) as (keyset, _), warpaes.open(name, keyset=asked(keyset)) as file:
            content: bytes = file.read()
        return content


class Fsspec(Part):
    asks = True

    def write(self, place: str, name: str) -> None:
        with opened(place) as (keyset, _):
            files = WarpaesFileSystem(keyset=asked(keyset), fs=LocalFileSystem(), skip_instance_cache=True)
            files.pipe_file(f"{self.folder}/{name}", self.text)

    def read(self, place: str, name: str) -> bytes:
        with opened(place) as (keyset, _):
            files = WarpaesFileSystem(keyset=asked(keyset), fs=LocalFileSystem(), skip_instance_cache=True)
            content: bytes = files.cat_file(f"{self.folder}/{name}")
        return content


class Safetensors(Open):
    """Tensors, by the package safetensors; the text is a file of its format."""

    def write(self, place: str, name: str) -> None:
        tensors = needed("safetensors.numpy").load(self.text)
        with opened(place) as (keyset, _), warpaes.open(name, "wb", keyset=asked(keyset)) as file:
            file.write(needed("safetensors.numpy").save(tensors))

    def read(self, place: str, name: str) -> bytes:
        tensors = needed("safetensors.numpy").load(super().read(place, name))
        content: bytes = needed("safetensors.numpy").save(tensors)
        return content


class Bulk(Part):
    """Folders with one object; if another part reads it, it is bound neither to its name nor to a manifest."""

    own = False

    def write(self, place: str, name: str) -> None:
        with opened(place) as (keyset, _), tempfile.TemporaryDirectory() as folder:
            source, target = f"{folder}/source", f"{folder}/target"
            os.mkdir(source)
            shutil.copy("plain", f"{source}/object")
            if bulk("encrypt", "-k", keyset, "--no-bind-names", source, target)[0] != 0:
                raise AssertionError((place, "bulk encrypt"))
            shutil.move(f"{target}/object", name)

    def read_all(self, place: str, names: list[str]) -> list[bytes]:
        with opened(place) as (keyset, _), tempfile.TemporaryDirectory() as folder:
            source, target = f"{folder}/source", f"{folder}/target"
            os.mkdir(source)
            for name in names:
                shutil.copy(name, source)
            if bulk("decrypt", "-k", keyset, "--no-manifest", "--no-bind-names", source, target)[0] != 0:
                raise AssertionError((place, "bulk decrypt"))
            return [pathlib.Path(target, name).read_bytes() for name in names]


PARTS: dict[str, type[Part]] = {
    "command": Command, "C": C, "C++": Cpp, "open": Open, "fsspec": Fsspec, "safetensors": Safetensors, "bulk": Bulk,
}  # fmt: skip
NEEDED = {"command": "WARPAES", "C": "WARPAES_MATRIX_C", "C++": "WARPAES_MATRIX_CPP"}


class Matrix(unittest.TestCase):
    keysets: ClassVar[dict[str, bytes]] = {}

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        self.folder = holder.name
        os.chdir(self.folder)
        kek = os.urandom(32).hex()
        keyset = Keyset.generate("AES128_GCM_HKDF_4KB")
        with keysources.LocalSource("kek", kek.encode) as source:
            files = {
                "clear": keyset.to_json(),
                "locked": keyset._wrap(WORD.encode(), 0),
                "under": keysources.write_keyset(keyset, source),
                "bound": keysources.write_keyset(keyset, source, b"backup; of May"),
                "kek": kek.encode(),
                "word": WORD.encode(),
            }
        for name, content in files.items():
            pathlib.Path(name).write_bytes(content)
            os.chmod(name, 0o600)
        self.text = needed("safetensors.numpy").save({"tensor": needed("numpy").arange(19000, dtype="f4")})
        pathlib.Path("plain").write_bytes(self.text)
        variables = {
            "MATRIX_KEYSET": files["clear"].decode(),
            "MATRIX_LOCKED": files["locked"].decode(),
            "MATRIX_KEK": kek,
            "MATRIX_WORD": WORD,
        }
        for name, value in variables.items():
            os.environ[name] = value
            self.addCleanup(os.environ.pop, name)

    def parts(self) -> dict[str, Part]:
        there = {name: make for name, make in PARTS.items() if name not in NEEDED or os.environ.get(NEEDED[name])}
        self.assertTrue(os.environ.get("CI") != "true" or there.keys() == PARTS.keys(), "programs were not built")
        return {name: make(self.folder) for name, make in there.items()}

    def test_each_opens_what_each_wrote(self) -> None:
        """Every part writes at each place, and reads the files of every part at each place, each time at another place.

        Each use of a passphrase takes long, so every part reads the files of one part.
        """
        parts, cells, written = self.parts(), 0, {}
        for writer, part in parts.items():
            for i, place in enumerate(PLACES + (ASKED if part.asks else [])):
                written[writer, place] = f"{writer}-{i}"
                part.write(place, written[writer, place])
        for n, (reader, part) in enumerate(parts.items()):
            for i, place in enumerate(PLACES + (ASKED if part.asks else [])):
                writers = list(parts)
                if "passphrase" in place:
                    writers = [writers[(n + i) % len(writers)]]
                names = [written[each, PLACES[(i + shift + 1) % len(PLACES)]] for shift, each in enumerate(writers)]
                for writer, text in zip(writers, part.read_all(place, names), strict=True):
                    with self.subTest(writer=writer, reader=reader, place=place):
                        self.assertEqual(text, self.text)
                        cells += 1
        slow = sum("passphrase" in place for place in PLACES)
        asking = sum(part.asks for part in parts.values())
        fast = len(PLACES) - slow
        self.assertEqual(cells, len(parts) * (len(parts) * fast + slow) + asking * len(ASKED))

    def test_keysets_in_front_of_files(self) -> None:
        """Parts that use one keyset for all files refuse ``own:`` with a sentence about it."""
        parts = self.parts()
        owns = [name for name, part in parts.items() if part.own]
        for i, place in enumerate(OWN):
            for writer in owns:
                parts[writer].write(place, f"{writer}-own-{i}")
                for reader in owns:
                    with self.subTest(writer=writer, reader=reader, place=place):
                        self.assertEqual(parts[reader].read(place, f"{writer}-own-{i}"), self.text)
            for name in parts.keys() & {"C", "C++"}:
                for act, argument in ((parts[name].write, "x"), (parts[name].read, f"open-own-{i}")):
                    with self.assertRaisesRegex(
                        AssertionError, "own: means the keyset at the start of an encrypted file"
                    ):
                        act(place, argument)
            self.assertIn("own:", refusal("decrypt", "-k", place, "--no-manifest", ".", "nowhere"))

    def test_random_text_is_a_place_in_c_and_python_or_in_neither(self) -> None:
        library = ctypes.CDLL(os.environ["WARPAES_SIMULATED"])
        openers = ["kek=kek;", "kek=env:MATRIX_KEK;", "kek-aad=backup;; of May;", "passphrase=none;", "clear:", ""]
        pieces = [
            "kek=", "kek-aad=", "passphrase=", "file:", "env:", "fd:", "own:", "aws-kms:", "evn:", ";", ";;",
            "clear", "under", "bound", "locked", "kek", "word", "MATRIX_KEYSET", "backup;; of May", "x", " ", *openers,
        ]  # fmt: skip
        random, opened = Random(43), 0
        for number in range(3000):
            place = "".join(random.choices(pieces, k=random.randint(1, 7)))
            if number % 3 == 0:  # a valid place, or nearly
                place = "".join(random.choices(openers, k=2)) + random.choice(["clear", "under", "bound"])
            if "passphrase=word" in place and "locked" in place:
                continue  # takes long
            keyset = ctypes.c_void_p()
            status = library.warpaes_keyset_load(place.encode(), None, ctypes.byref(keyset))
            self.assertEqual(bool(keyset), status == 0, place)
            library.warpaes_keyset_destroy(keyset)
            try:
                Keyset.load(place)
            except (OSError, ValueError, warpaes.exceptions.KeysetError, warpaes.exceptions.InvalidUnwrap):
                self.assertNotEqual(status, 0, place)
            else:
                self.assertEqual(status, 0, place)
                opened += 1
        self.assertGreater(opened, 100)

    def test_key_managers_of_python_have_a_sentence_of_their_own_in_c(self) -> None:
        library = ctypes.CDLL(os.environ["WARPAES_SIMULATED"])
        library.warpaes_last_error.restype = ctypes.c_char_p
        for kind in MANAGERS:
            for place in (f"{kind}://key", f"kek={kind}://key;under"):
                self.assertNotEqual(
                    library.warpaes_keyset_load(place.encode(), None, ctypes.byref(ctypes.c_void_p())), 0
                )
                self.assertIn(f"{kind}: keys; use exec:'warpaes keysources open".encode(), library.warpaes_last_error())

    def test_bulk_takes_the_same_places_and_the_variable(self) -> None:
        os.mkdir("source")
        pathlib.Path("source/object").write_bytes(self.text)
        for i, place in enumerate(each for each in PLACES if not each.startswith(("fd:", "clear:"))):
            self.assertEqual(bulk("encrypt", "-k", place, "--no-bind-names", "source", f"to{i}")[0], 0)
            self.assertEqual(Open(self.folder).read(place, f"to{i}/object"), self.text, place)
            os.environ["WARPAES_KEYSET"] = place
            self.addCleanup(os.environ.pop, "WARPAES_KEYSET", None)
            self.assertEqual(bulk("decrypt", f"to{i}", f"back{i}")[0], 0)
            del os.environ["WARPAES_KEYSET"]
            self.assertEqual(pathlib.Path(f"back{i}/object").read_bytes(), self.text)
        self.assertIn("WARPAES_KEYSET", refusal("decrypt", "to0", "nowhere"))


if __name__ == "__main__":
    unittest.main()
