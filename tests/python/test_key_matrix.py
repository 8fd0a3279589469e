"""Each part opens what each other part has written, from every kind of place: generated from two lists."""

from __future__ import annotations

import os
import pathlib
import subprocess
import tempfile
import unittest
from collections.abc import Callable
from typing import ClassVar

import warpaes
from bulk_case import bulk, refusal
from fsspec.implementations.local import LocalFileSystem
from warpaes import Keyset, keysources
from warpaes.fs import WarpaesFileSystem

TEXT = bytes(range(256)) * 300
WORD = "correct horse"

#: Places of one keyset, and of the keysets in front of files.
PLACES = [
    "clear", "file:clear", "clear:clear", "env:MATRIX_KEYSET", "exec:cat clear", "fd:clear",
    "passphrase=word;locked", "passphrase=env:MATRIX_WORD;env:MATRIX_LOCKED", "passphrase=exec:cat word;file:locked",
    "kek=kek;under", "kek=env:MATRIX_KEK;file:under", "kek=exec:cat kek;under", "kek=kek;kek-aad=backup;; of May;bound",
]  # fmt: skip
OWN = ["passphrase=word;own:", "kek=kek;own:", "kek=env:MATRIX_KEK;kek-aad=x;own:"]


class Command:
    def __init__(self, folder: str) -> None:
        self.command = os.environ.get("WARPAES", "")

    def _run(self, verb: str, place: str, arguments: list[str]) -> bytes:
        descriptor = -1
        if place.startswith("fd:"):
            descriptor = os.open(place.removeprefix("fd:"), os.O_RDONLY)
            place = f"fd:{descriptor}"
        try:
            # --no-sync, because a power failure would not matter. The key is derived once for a process.
            ran = subprocess.run(
                [self.command, verb, "-k", place, "--no-sync", *arguments],
                capture_output=True,
                pass_fds=[descriptor] if descriptor >= 0 else [],
                check=False,
            )
        finally:
            if descriptor >= 0:
                os.close(descriptor)
        if ran.returncode != 0:
            raise AssertionError((place, ran.stderr.decode()))
        return ran.stdout

    def write(self, place: str, name: str) -> None:
        self._run("encrypt", place, ["-o", name, "plain"])

    def read(self, place: str, name: str) -> bytes:
        return self._run("decrypt", place, [name])


def _with_descriptor(place: str, call: Callable[[str], bytes | None]) -> bytes | None:
    if not place.startswith("fd:"):
        return call(place)
    descriptor = os.open(place.removeprefix("fd:"), os.O_RDONLY)
    try:
        return call(f"fd:{descriptor}")
    finally:
        os.close(descriptor)


class Open:
    def __init__(self, folder: str) -> None:
        pass

    def write(self, place: str, name: str) -> None:
        def write(place: str) -> None:
            with warpaes.open(name, "wb", keyset=place) as file:
                file.write(TEXT)

        _with_descriptor(place, write)

    def read(self, place: str, name: str) -> bytes | None:
        def read(place: str) -> bytes:
            with warpaes.open(name, keyset=place) as file:
                content: bytes = file.read()
            return content

        return _with_descriptor(place, read)


class Fsspec:
    def __init__(self, folder: str) -> None:
        self.folder = folder

    def write(self, place: str, name: str) -> None:
        def write(place: str) -> None:
            WarpaesFileSystem(keyset=place, fs=LocalFileSystem()).pipe_file(f"{self.folder}/{name}", TEXT)

        _with_descriptor(place, write)

    def read(self, place: str, name: str) -> bytes | None:
        def read(place: str) -> bytes:
            files = WarpaesFileSystem(keyset=place, fs=LocalFileSystem(), skip_instance_cache=True)
            content: bytes = files.cat_file(f"{self.folder}/{name}")
            return content

        return _with_descriptor(place, read)


PARTS = {"command": Command, "open": Open, "fsspec": Fsspec}


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
        pathlib.Path("plain").write_bytes(TEXT)
        variables = {
            "MATRIX_KEYSET": files["clear"].decode(),
            "MATRIX_LOCKED": files["locked"].decode(),
            "MATRIX_KEK": kek,
            "MATRIX_WORD": WORD,
        }
        for name, value in variables.items():
            os.environ[name] = value
            self.addCleanup(os.environ.pop, name)

    def test_each_opens_what_each_wrote(self) -> None:
        parts = {name: make(self.folder) for name, make in PARTS.items()}
        if not os.environ.get("WARPAES"):
            del parts["command"]
        cells = 0
        for writer, write in parts.items():
            for i, place in enumerate(PLACES + OWN):
                name = f"{writer}-{i}"
                write.write(place, name)
                for reader, read in parts.items():
                    with self.subTest(writer=writer, reader=reader, place=place):
                        self.assertEqual(read.read(place, name), TEXT)
                        cells += 1
        self.assertEqual(cells, len(parts) ** 2 * len(PLACES + OWN))

    def test_each_place_of_a_keyset_opens_what_any_other_wrote(self) -> None:
        part = Open(self.folder)
        for place in PLACES:
            part.write(place, "file")
            for other in ("clear", "kek=kek;under"):
                self.assertEqual(part.read(other, "file"), TEXT, place)
            os.remove("file")

    def test_bulk_takes_the_same_places_and_the_variable(self) -> None:
        os.mkdir("source")
        pathlib.Path("source/object").write_bytes(TEXT)
        for i, place in enumerate(each for each in PLACES if not each.startswith(("fd:", "clear:"))):
            self.assertEqual(bulk("encrypt", "-k", place, "--no-bind-names", "source", f"to{i}")[0], 0)
            self.assertEqual(Open(self.folder).read(place, f"to{i}/object"), TEXT, place)
            os.environ["WARPAES_KEYSET"] = place
            self.addCleanup(os.environ.pop, "WARPAES_KEYSET", None)
            self.assertEqual(bulk("decrypt", f"to{i}", f"back{i}")[0], 0)
            del os.environ["WARPAES_KEYSET"]
            self.assertEqual(pathlib.Path(f"back{i}/object").read_bytes(), TEXT)
        self.assertIn("WARPAES_KEYSET", refusal("decrypt", "to0", "nowhere"))


if __name__ == "__main__":
    unittest.main()
