#!/usr/bin/env python3
"""Tests that pickles contain the places of keys and never keys. Pickling an object without a place is refused, and
the message contains a hint."""

from __future__ import annotations

import copy
import io
import multiprocessing
import os
import pathlib
import pickle
import sys
import unittest
import unittest.mock
from collections.abc import Callable
from typing import Any

import warpaes
from support import new_folder, set_environment
from warpaes import Generator, Keyset, exceptions, keysources
from warpaes.aead import AESCCM, AESGCM, AESGCMSIV, AESSIV
from warpaes.ciphers import Cipher, algorithms, modes
from warpaes.cmac import CMAC

KEY, NONCE = bytes(range(32)), bytes(12)
KINDS = (AESGCM, AESCCM, AESGCMSIV)
PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


class OwnGenerator(Generator):
    name = "class"


def use(made: Any) -> Any:
    """Use an object with its key. This works in any process."""
    if isinstance(made, Keyset):
        return made.to_json()
    if isinstance(made, Generator):
        return made.position, made.bytes(32)
    return made.encrypt(b"text", None) if isinstance(made, AESSIV) else made.encrypt(NONCE, b"text", None)


def in_worker(made: Any, pipe: Any) -> None:
    pipe.send(use(made))


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = new_folder(self)
        self.keyset = Keyset.generate("AES256_GCM_HKDF_4KB")
        self.write("keyset", self.keyset.to_json())
        self.write("key", KEY)
        self.write("hex", KEY.hex().encode() + b"\n")
        set_environment(self, TEST_KEY=KEY.hex(), TEST_KEYSET=self.keyset.to_json().decode())

    def write(self, name: str, content: bytes) -> pathlib.Path:
        path = self.folder / name
        path.write_bytes(content)
        path.chmod(0o600)
        return path

    def places(self, name: str) -> list[str]:
        variable = "TEST_KEYSET" if name == "keyset" else "TEST_KEY"
        return [f"file:{self.folder / name}", f"env:{variable}", f"exec:cat {self.folder / name}"]


class ByPlace(Case):
    def made(self) -> list[Any]:
        found: list[Any] = [Keyset.load(place) for place in self.places("keyset")]
        for name in ("key", "hex"):
            for place in self.places(name):
                found += [kind.load(place) for kind in (*KINDS, AESSIV, Generator)]
        found += [AESCCM.load(self.places("hex")[0], tag_length=8), OwnGenerator.load(self.places("hex")[0], stream=7)]
        return found

    def test_there_and_back(self) -> None:
        for made in self.made():
            for protocol in PROTOCOLS:
                dumped = pickle.dumps(made, protocol)
                for secret in (KEY, KEY.hex().encode(), self.keyset.to_json()[40:90]):
                    self.assertNotIn(secret, dumped)
                again = pickle.loads(dumped)
                self.assertIs(type(again), type(made))
                self.assertEqual(use(again), use(copy.copy(made)))

    def test_it_is_the_key(self) -> None:
        for place in (*self.places("key"), *self.places("hex")):
            for kind in (*KINDS, AESSIV, Generator):
                self.assertEqual(use(kind.load(place)), use(kind(KEY)))
            self.assertEqual(
                AESCCM.load(place, 8).encrypt(NONCE, b"x", None), AESCCM(KEY, 8).encrypt(NONCE, b"x", None)
            )
        for place in self.places("keyset"):
            self.assertEqual(Keyset.load(place).to_json(), self.keyset.to_json())

    def test_processes(self) -> None:
        for method in ("spawn", "forkserver"):
            ways = multiprocessing.get_context(method)
            for made in (Keyset.load(f"file:{self.folder / 'keyset'}"), AESGCM.load("env:TEST_KEY"),
                         Generator.load(f"file:{self.folder / 'hex'}", stream=3)):  # fmt: skip
                here, there = ways.Pipe(duplex=False)
                process = ways.Process(target=in_worker, args=(made, there))
                process.start()
                self.assertEqual(here.recv(), use(made))
                process.join()

    def test_relative_paths(self) -> None:
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(self.folder)
        made = [Keyset.load("file:keyset"), AESGCM.load("file:key"), Generator.load("file:hex")]
        dumped = pickle.dumps(made)
        os.chdir("/")
        self.assertEqual([use(one) for one in pickle.loads(dumped)], [use(one) for one in made])

    def test_a_key_source(self) -> None:
        kek = self.write("kek", keysources.generate_kek())
        with keysources.from_url(f"file:{kek}") as source:
            text = keysources.write_keyset(self.keyset, source)
        encrypted = self.write("encrypted", text if isinstance(text, bytes) else text.encode())
        made = Keyset.load(f"file:{encrypted}", kek=f"file:{kek}")
        self.assertEqual(made.to_json(), self.keyset.to_json())
        self.assertEqual(pickle.loads(pickle.dumps(made)).to_json(), self.keyset.to_json())
        with self.assertRaises(exceptions.KeysetError):
            Keyset.load(f"file:{encrypted}")

    def test_generators(self) -> None:
        made = OwnGenerator.load(f"file:{self.folder / 'key'}", stream=5)
        made.name = "mine"
        made.bytes(48)
        again = pickle.loads(pickle.dumps(made))
        self.assertEqual((type(again), again.name, again.position), (OwnGenerator, "mine", 48))
        self.assertEqual(again.bytes(100), made.bytes(100))
        spawned = pickle.loads(pickle.dumps(made.spawn(9)))
        self.assertEqual(spawned.bytes(32), Generator(KEY, stream=9).bytes(32))
        self.assertEqual(pickle.loads(pickle.dumps(copy.copy(made))).bytes(16), made.bytes(16))

    def test_a_keyset_that_has_changed(self) -> None:
        changes: list[Callable[[Keyset], Any]] = [
            lambda keyset: keyset.rotate(),
            lambda keyset: keyset.add("AES128_GCM_HKDF_4KB"),
        ]
        for change in changes:
            keyset = Keyset.load(f"file:{self.folder / 'keyset'}")
            pickle.dumps(keyset)
            change(keyset)
            with self.assertRaisesRegex(TypeError, "do not change it"):
                pickle.dumps(keyset)

    def test_places_that_are_none(self) -> None:
        text = self.write("text", b"correct horse battery staple!!!!")
        for kind in (*KINDS, AESSIV, Generator, Keyset):
            named = "must be file:PATH, env:NAME"
            for wrong in (KEY.hex(), "", "key", str(self.folder / "key"), "http://x", "pass:x"):
                if kind is Keyset and wrong == str(self.folder / "key"):
                    continue  # this is the path of an existing key
                # For keysets, paths are also places; see test_keyset_places.py.
                expected = (ValueError, FileNotFoundError) if kind is Keyset else ValueError
                with self.assertRaisesRegex(expected, "" if kind is Keyset else named) as raised:  # type: ignore[arg-type]
                    kind.load(wrong)
                self.assertNotIn(KEY.hex(), str(raised.exception))
            with self.assertRaises(FileNotFoundError):
                kind.load(f"file:{self.folder / 'none'}")
            with self.assertRaises(exceptions.KeysetError) as refused:
                kind.load(f"file:{text}")
            self.assertNotIn("horse", str(refused.exception))
            for wrong in (None, 7, KEY):
                with self.assertRaises((TypeError, ValueError)):
                    kind.load(wrong)  # type: ignore[arg-type]
        for content in (KEY[:31], KEY.hex()[:-1].encode(), KEY.hex().encode() * 9, b"", b"\xef\xbb\xbf"):
            path = self.write("wrong", content)
            for kind in (*KINDS, AESSIV, Generator):
                with self.assertRaises((ValueError, exceptions.KeysetError)):
                    kind.load(f"file:{path}")
        marked = self.write("marked", b"\xef\xbb\xbf" + KEY.hex().encode() + b"\r\n")
        self.assertEqual(use(AESGCM.load(f"file:{marked}")), use(AESGCM(KEY)))


class Refused(Case):
    def test_keys_that_are_given_by_bytes(self) -> None:
        made: list[Any] = [kind(KEY) for kind in (*KINDS, AESSIV, Generator)]
        made += [self.keyset, Keyset(), Keyset.from_raw("C2SP_CHUNKED_256", KEY), Generator()]
        for one in made:
            for protocol in PROTOCOLS:
                with self.assertRaisesRegex(
                    TypeError, "cannot be pickled, because the pickle would contain its key; .*load"
                ):
                    pickle.dumps(one, protocol)
                with self.assertRaises(TypeError):
                    pickle.dumps({"nested": [one]}, protocol)

    def test_algorithms(self) -> None:
        for algorithm in (algorithms.AES(KEY), algorithms.AES128(KEY[:16]), algorithms.AES256(KEY)):
            for one in (algorithm, Cipher(algorithm, modes.CTR(bytes(16)))):
                with self.assertRaisesRegex(TypeError, "the pickle would contain its key"):
                    pickle.dumps(one)
            self.assertEqual(copy.deepcopy([copy.copy(algorithm)])[0].key, algorithm.key)

    def test_descriptors(self) -> None:
        for name, kinds in (("key", (*KINDS, AESSIV, Generator)), ("keyset", (Keyset,))):
            for kind in kinds:
                with open(self.folder / name, "rb") as file:
                    made = kind.load(f"fd:{file.fileno()}")
                with self.assertRaisesRegex(TypeError, "cannot be pickled"):
                    pickle.dumps(made)

    def test_what_belongs_to_the_process(self) -> None:
        mac = CMAC(algorithms.AES(KEY))
        sink = io.BytesIO()
        with warpaes.open(sink, "wb", keyset=self.keyset) as writer:
            opened = warpaes.open
            made: list[Any] = [
                mac,
                Cipher(algorithms.AES(KEY), modes.CTR(bytes(16))).encryptor(),
                Cipher(algorithms.AES(KEY), modes.GCM(NONCE)).encryptor(),
                Cipher(algorithms.AES(KEY), modes.GCM(NONCE)).decryptor(),
                AESGCM(KEY).submit("encrypt", [NONCE], [b"x"]),
                warpaes.Memory(64),
                warpaes.Writer(lambda piece: None, self.keyset),
                writer,
            ]
            for one in made:
                with self.assertRaisesRegex(TypeError, "cannot be pickled"):
                    pickle.dumps(one)
        for one in (opened(sink, keyset=self.keyset), warpaes.Reader(sink.getvalue(), self.keyset)):
            with self.assertRaisesRegex(TypeError, "cannot be pickled"):
                pickle.dumps(one)


class Copies(Case):
    def test_objects_that_do_not_change(self) -> None:
        for kind in (*KINDS, AESSIV):
            made = kind(KEY)
            self.assertIs(copy.copy(made), made)
            self.assertIs(copy.deepcopy({"x": made})["x"], made)

    def test_keysets(self) -> None:
        """A copy is a separate keyset."""
        for make in (copy.copy, copy.deepcopy, lambda of: copy.deepcopy({"x": of})["x"]):
            copied = make(self.keyset)
            self.assertEqual(copied.to_json(), self.keyset.to_json())
            copied.rotate()
            self.assertEqual((len(copied), len(self.keyset)), (2, 1))
        loaded = Keyset.load(f"file:{self.folder / 'keyset'}")
        self.assertEqual(use(pickle.loads(pickle.dumps(copy.copy(loaded)))), use(loaded))
        with self.assertRaises(exceptions.KeysetError):
            copy.copy(Keyset.from_raw("C2SP_CHUNKED_256", KEY))  # a raw key has no JSON form


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    unittest.main()
