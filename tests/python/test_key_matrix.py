"""Tests that each part of the project opens the files of every other part, with every kind of place. The cases are
generated from two lists.

There are three matrices: single files, trees with encrypted names, and datasets of `warpaes bulk`.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterator
from random import Random
from typing import Any, ClassVar

import warpaes
from bulk_case import bulk, refusal
from fsspec.implementations.local import LocalFileSystem
from support import needed, under_passphrase
from warpaes import Keyset, keysources
from warpaes._keyset_places import MANAGERS
from warpaes.fs import WarpaesFileSystem
from warpaes.names import EncryptedNames

WORD = "correct horse"

#: Places of the same keyset, and places of the keysets at the start of files.
PLACES = [
    "clear", "file:clear", "clear:clear", "env:MATRIX_KEYSET", "exec:cat clear", "fd:clear",
    "passphrase=word;locked", "passphrase=env:MATRIX_WORD;env:MATRIX_LOCKED", "passphrase=exec:cat word;file:locked",
    "kek=kek;under", "kek=env:MATRIX_KEK;file:under", "kek=exec:cat kek;under", "kek=kek;kek-aad=backup;; of May;bound",
]  # fmt: skip
OWN = ["passphrase=word;own:", "kek=kek;own:", "kek=env:MATRIX_KEK;kek-aad=x;own:"]


#: Places of a key that only wraps the data keys of datasets.
WRAPPING = ["kek", "env:MATRIX_KEK", "exec:cat kek"]
#: The kinds of datasets: their data keys, and their names.
DATASETS = [
    (*envelope, *names)
    for envelope in ((), ("--envelope", "job"), ("--envelope", "object"))
    for names in ((), ("--encrypt-names",))
]
#: The plain path of the file in a tree or a dataset.
NAMED = "a folder/the tensor"

#: Places of a keyset with a passphrase prompt. They are only for parts whose prompt a program can answer.
ASKED = ["passphrase:locked", "passphrase:env:MATRIX_LOCKED"]


@contextlib.contextmanager
def opened(place: str) -> Iterator[tuple[str, list[int]]]:
    """Open NAME of a place ``fd:NAME``, and return the place with the descriptor's number, and the descriptor."""
    if not place.startswith("fd:"):
        yield place, []
        return
    descriptor = os.open(place.removeprefix("fd:"), os.O_RDONLY)
    try:
        yield f"fd:{descriptor}", [descriptor]
    finally:
        os.close(descriptor)


class Part:
    """A part of the project that writes the file ``plain`` under the keyset at a place and reads such files."""

    own = True  #: whether it opens the keyset at the start of a file
    trees = True  #: whether it writes and reads trees whose names are encrypted
    datasets = True  #: whether it reads objects of datasets
    asks = False  #: whether it asks the test for a passphrase

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.text = pathlib.Path(folder, "plain").read_bytes()

    def write(self, place: str, name: str) -> None:
        raise NotImplementedError

    def read(self, place: str, name: str) -> bytes:
        raise NotImplementedError

    def read_all(self, place: str, names: list[str]) -> list[bytes]:
        return [self.read(place, name) for name in names]

    def write_named(self, place: str, root: str) -> None:
        """Write NAMED into a tree with encrypted names."""
        raise NotImplementedError

    def read_named(self, place: str, root: str) -> bytes:
        """Read NAMED in a tree with encrypted names."""
        raise NotImplementedError

    def read_object(self, place: str, dataset: str) -> bytes:
        """Read the object NAMED in a dataset."""
        raise NotImplementedError


class Program(Part):
    def run(self, program: str, verb: str, place: str, *arguments: str) -> bytes:
        with opened(place) as (name, descriptors):
            command = [os.environ[program], verb, *(["-k"] if program == "WARPAES" else []), name, *arguments]
            ran = subprocess.run(command, capture_output=True, pass_fds=descriptors, check=False)
        if ran.returncode != 0:
            raise AssertionError((place, ran.stderr.decode()))
        return ran.stdout


class Command(Program):
    # Uses --no-sync, because the tests' files need not survive a power failure.
    def write(self, place: str, name: str) -> None:
        self.run("WARPAES", "encrypt", place, "--no-sync", "-o", name, "plain")

    def read(self, place: str, name: str) -> bytes:
        return self.run("WARPAES", "decrypt", place, "--no-sync", name)

    def write_named(self, place: str, root: str) -> None:
        self.run("WARPAES", "encrypt", place, "--no-sync", "--encrypt-names", "--output-dir", root, "a folder")

    def read_named(self, place: str, root: str) -> bytes:
        return self.run("WARPAES", "cat", place, "--encrypted-names", "--name", NAMED, root)

    def read_object(self, place: str, dataset: str) -> bytes:
        """Decrypt the dataset with ``warpaes bulk``, which finds the Python package."""
        with opened(place) as (name, descriptors), tempfile.TemporaryDirectory() as folder:
            command = [os.environ["WARPAES"], "bulk", "decrypt", "-q", "-k", name, dataset, folder]
            environment = os.environ | {"WARPAES_PYTHON": sys.executable}
            ran = subprocess.run(command, capture_output=True, pass_fds=descriptors, check=False, env=environment)
            if ran.returncode != 0:
                raise AssertionError((place, ran.stderr.decode()))
            return pathlib.Path(folder, NAMED).read_bytes()


class C(Program):
    own, asks, datasets = False, True, False
    program = "WARPAES_MATRIX_C"

    def write(self, place: str, name: str) -> None:
        self.run(self.program, "write", place, "plain", name)

    def read(self, place: str, name: str) -> bytes:
        return self.run(self.program, "read", place, name)

    def write_named(self, place: str, root: str) -> None:
        self.run(self.program, "write-named", place, "plain", root, *NAMED.split("/"))

    def read_named(self, place: str, root: str) -> bytes:
        return self.run(self.program, "read-named", place, root, *NAMED.split("/"))


class Cpp(C):
    program = "WARPAES_MATRIX_CPP"


def asked(place: str) -> Any:
    """Return the keyset at a place with a prompt, which a function answers. Return any other place unchanged."""
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

    def write_named(self, place: str, root: str) -> None:
        with opened(place) as (name, _):
            keyset = Keyset.load(name)
        names = EncryptedNames(keyset)
        path, bound = pathlib.Path(root, names.encrypt(NAMED)), names.associated_data(NAMED)
        path.parent.mkdir(parents=True)
        with warpaes.open(path, "wb", keyset=keyset, associated_data=bound) as file:
            file.write(self.text)

    def read_named(self, place: str, root: str) -> bytes:
        with opened(place) as (name, _):
            keyset = Keyset.load(name)
        names = EncryptedNames(keyset)
        path, bound = pathlib.Path(root, names.encrypt(NAMED)), names.associated_data(NAMED)
        with warpaes.open(path, keyset=keyset, associated_data=bound) as file:
            content: bytes = file.read()
        return content

    def read_object(self, place: str, dataset: str) -> bytes:
        with opened(place) as (name, _), warpaes.open(f"{dataset}/{NAMED}", keyset=f"dataset:{name}") as file:
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

    def _tree(self, place: str, root: str) -> WarpaesFileSystem:
        root = f"{self.folder}/{root}"
        return WarpaesFileSystem(place, fs=LocalFileSystem(), encrypted_names=root, skip_instance_cache=True)

    def write_named(self, place: str, root: str) -> None:
        with opened(place) as (name, _):
            files = self._tree(name, root)
        files.makedirs(f"{self.folder}/{root}/a folder")
        files.pipe_file(f"{self.folder}/{root}/{NAMED}", self.text)

    def read_named(self, place: str, root: str) -> bytes:
        with opened(place) as (name, _):
            files = self._tree(name, root)
        ((path, content),) = files.cat(files.find(f"{self.folder}/{root}")).items()
        assert path == f"{self.folder}/{root}/{NAMED}", path
        return bytes(content)

    def read_object(self, place: str, dataset: str) -> bytes:
        with opened(place) as (name, _):
            files = WarpaesFileSystem(f"dataset:{name}", fs=LocalFileSystem(), skip_instance_cache=True)
        ((path, content),) = files.cat(files.find(f"{self.folder}/{dataset}")).items()
        assert path == f"{self.folder}/{dataset}/{NAMED}", path
        return bytes(content)


class Safetensors(Open):
    """Encrypted tensors. The text is a file in the format of the package safetensors."""

    def write(self, place: str, name: str) -> None:
        tensors = needed("safetensors.numpy").load(self.text)
        with opened(place) as (keyset, _), warpaes.open(name, "wb", keyset=asked(keyset)) as file:
            file.write(needed("safetensors.numpy").save(tensors))

    def read(self, place: str, name: str) -> bytes:
        return self._parsed(super().read(place, name))

    def read_named(self, place: str, root: str) -> bytes:
        return self._parsed(super().read_named(place, root))

    def read_object(self, place: str, dataset: str) -> bytes:
        return self._parsed(super().read_object(place, dataset))

    @staticmethod
    def _parsed(text: bytes) -> bytes:
        content: bytes = needed("safetensors.numpy").save(needed("safetensors.numpy").load(text))
        return content


class Bulk(Part):
    """Folders with one object. If a different part reads the object, the object is bound neither to its name nor to a
    manifest.

    Only the other parts have trees with encrypted names, because bulk encrypts the names in datasets.
    """

    own = trees = False

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

    @staticmethod
    def write_dataset(place: str, kind: tuple[str, ...], dataset: str) -> None:
        with opened(place) as (keyset, _), tempfile.TemporaryDirectory() as source:
            shutil.copytree("a folder", f"{source}/a folder")
            if bulk("encrypt", "-k", keyset, *kind, source, dataset)[0] != 0:
                raise AssertionError((place, kind))

    def read_object(self, place: str, dataset: str) -> bytes:
        with opened(place) as (keyset, _), tempfile.TemporaryDirectory() as folder:
            if bulk("decrypt", "-k", keyset, dataset, folder)[0] != 0:
                raise AssertionError((place, "bulk decrypt"))
            return pathlib.Path(folder, NAMED).read_bytes()


PARTS: dict[str, type[Part]] = {
    "command": Command, "C": C, "C++": Cpp, "open": Open, "fsspec": Fsspec, "safetensors": Safetensors, "bulk": Bulk,
}  # fmt: skip
NEEDED = {"command": "WARPAES", "C": "WARPAES_MATRIX_C", "C++": "WARPAES_MATRIX_CPP"}


class Matrix(unittest.TestCase):
    files: ClassVar[dict[str, bytes]] = {}

    @classmethod
    def setUpClass(cls) -> None:
        kek = os.urandom(32).hex()
        keyset = Keyset.generate("AES128_GCM_HKDF_4KB")
        with keysources.LocalSource("kek", kek.encode) as source:
            cls.files = {
                "clear": keyset.to_json(),
                "locked": under_passphrase(keyset, WORD.encode()),
                "under": keysources.write_keyset(keyset, source),
                "bound": keysources.write_keyset(keyset, source, b"backup; of May"),
                "kek": kek.encode(),
                "word": WORD.encode(),
            }

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        self.folder = holder.name
        os.chdir(self.folder)
        for name, content in self.files.items():
            pathlib.Path(name).write_bytes(content)
            os.chmod(name, 0o600)
        self.text = needed("safetensors.numpy").save({"tensor": needed("numpy").arange(19000, dtype="f4")})
        pathlib.Path("plain").write_bytes(self.text)
        os.mkdir("a folder")
        pathlib.Path(NAMED).write_bytes(self.text)
        variables = {
            "MATRIX_KEYSET": self.files["clear"].decode(),
            "MATRIX_LOCKED": self.files["locked"].decode(),
            "MATRIX_KEK": self.files["kek"].decode(),
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
        """Every part writes with each place and reads the files of every part, each time with a different place.

        Every use of a passphrase is slow, so with a passphrase, a part reads the files of only one part.
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

    def test_trees_with_encrypted_names(self) -> None:
        """Every part does the same with trees. A place with a passphrase is used to read the tree of only one part."""
        parts = {name: part for name, part in self.parts().items() if part.trees}
        cells = 0
        for writer, part in parts.items():
            for i, place in enumerate(PLACES):
                part.write_named(place, f"{writer}-tree-{i}")
        for n, (reader, part) in enumerate(parts.items()):
            for i, place in enumerate(PLACES):
                for shift, writer in enumerate(parts):
                    if "passphrase" in place and shift != (n + i) % len(parts):
                        continue
                    with self.subTest(writer=writer, reader=reader, place=place):
                        tree = f"{writer}-tree-{(i + shift + 1) % len(PLACES)}"
                        self.assertEqual(part.read_named(place, tree), self.text)
                        cells += 1
        slow = sum("passphrase" in place for place in PLACES)
        self.assertEqual(cells, len(parts) * (len(parts) * (len(PLACES) - slow) + slow))

    def test_datasets(self) -> None:
        """Every part except C and C++ reads every kind of dataset, even with a place that the writer did not use.

        A place with a passphrase is tested with only one kind of dataset. The command starts Python for each dataset,
        so it reads one dataset for each place.
        """
        parts = {name: part for name, part in self.parts().items() if part.datasets}
        cells, wanted = 0, 0
        for places, kinds in ((PLACES, DATASETS), (WRAPPING, DATASETS[2:])):
            for i, place in enumerate(places):
                few = [kinds[i % len(kinds)]] if "passphrase" in place else kinds
                for k, kind in enumerate(few):
                    dataset = f"dataset-{len(places)}-{i}-{k}"
                    Bulk.write_dataset(place, kind, dataset)
                    for shift, (reader, part) in enumerate(parts.items()):
                        at = place if "passphrase" in place else places[(i + shift + k) % len(places)]
                        at = place if "passphrase" in at else at
                        if reader == "command" and k:
                            continue
                        wanted += 1
                        with self.subTest(reader=reader, place=at, kind=kind):
                            self.assertEqual(part.read_object(at, dataset), self.text)
                            cells += 1
        self.assertEqual(cells, wanted)
        self.assertGreater(cells, 200)

    def test_c_names_the_parts_that_read_datasets(self) -> None:
        parts = self.parts()
        for name in parts.keys() & {"C", "C++"}:
            with self.assertRaisesRegex(AssertionError, "dataset:"):
                parts[name].read("dataset:clear", "plain")

    def test_keysets_in_front_of_files(self) -> None:
        """Parts that use the same keyset for all files refuse ``own:`` with a specific message."""
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
            if number % 3 == 0:  # a valid or almost valid place
                place = "".join(random.choices(openers, k=2)) + random.choice(["clear", "under", "bound"])
            if "passphrase=word" in place and "locked" in place:
                continue  # these places are slow
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
