"""Tests keyset places: the grammar, every way to open and save a keyset, and error messages that do not repeat
secrets."""

from __future__ import annotations

import io
import json
import os
import pathlib
import pickle
import stat
import subprocess
import sys
import unittest
from typing import Any, ClassVar
from unittest import mock

import fsspec
import warpaes
from support import new_folder, under_passphrase
from warpaes import Keyset, _key_files, exceptions, keysources
from warpaes._keyset_places import KeysetPlace, parse
from warpaes.fs import WarpaesFileSystem

SECRET = "correct horse battery"
TEXT = b"some text " * 50


#: Every kind of place for the same keyset, with every kind of place for the key that opens the keyset.
PLACES = [
    "clear", "clear:clear", "file:clear", "clear:file:clear", "exec:cat clear", "env:TEST_KEYSET",
    "passphrase=passphrase;locked", "passphrase=env:TEST_PASSPHRASE;exec:cat locked",
    "passphrase=exec:printf %s '';; cat passphrase;file:locked", "passphrase=file:passphrase;locked",
    "kek=env:TEST_KEK;under", "kek=kek;file:under", "kek=file:kek;under", "kek=exec:true;; cat kek;under",
    "kek=kek;kek-aad=backup;; of May;bound", "kek-aad=backup;; of May;kek=kek;exec:cat bound",
]  # fmt: skip
#: Places that all parts refuse.
REFUSED = [
    "clear:", "kek=env:TEST_KEK;", "kek=;clear", "kek=kek;kek=kek;under", "pasphrase=hunter2;locked",
    "passphrase=hunter2;;", "passphrase=passphrase;kek=kek;under", "passphrase=passphrase;passphrase:locked",
    "kek=kek;clear:under", "passphrase:clear:locked", "kek-aad=hunter2;under", "aws-kms://alias/a", "tpm2:",
    "evn:hunter2", "vault-transit+http://h/m/keys/n", "kek=aws-kmss://hunter2;under", "kek=kek;locked",
    "under", "clear:locked", "clear:under",
    "passphrase=passphrase;under", "passphrase=passphrase;clear", "passphrase:clear", "kek=kek;clear",
    "passphrase=hunter2;locked", "kek=hunter2!;under", "passphrase=env:NONE;locked", "passphrase=hunter;locked",
    "kek=kek;kek-aad=x;bound", "kek=kek;bound", "passphrase:locked", "0f" * 16, "kek=" + "0f" * 16 + ";under",
]  # fmt: skip


def keyset_of(template: str = "AES128_GCM_HKDF_4KB") -> Keyset:
    return Keyset.generate(template)


def list_of(keyset: Keyset) -> list[Any]:
    return list(Keyset.keys(keyset))


class Case(unittest.TestCase):
    made: ClassVar[dict[str, bytes]] = {}  # shared keysets, because each passphrase guess is slow

    def setUp(self) -> None:
        self.folder = new_folder(self)
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(self.folder)
        for patch in (
            mock.patch.object(_key_files, "_secret_variables", set()),
            mock.patch.dict(os.environ, {"TEST_PASSPHRASE": SECRET, "TEST_KEK": "0f" * 32}),
        ):
            patch.start()
            self.addCleanup(patch.stop)
        if not Case.made:
            keyset = keyset_of()
            with keysources.LocalSource("kek", lambda: b"0f" * 32) as source:
                Case.made.update(
                    clear=keyset.to_json(), locked=under_passphrase(keyset, SECRET.encode()),
                    under=keysources.write_keyset(keyset, source),
                    bound=keysources.write_keyset(keyset, source, b"backup; of May"),
                )  # fmt: skip
        for name, content in Case.made.items():
            self.write(name, content)
        self.write("passphrase", SECRET.encode() + b"\r\n")
        self.write("kek", b"0f" * 32)
        os.environ["TEST_KEYSET"] = Case.made["clear"].decode()

    def write(self, name: str, content: bytes) -> pathlib.Path:
        path = self.folder / name
        path.write_bytes(content)
        path.chmod(0o600)
        return path

    def refused(self, place: Any, kind: type[Exception], sentence: str, **options: Any) -> str:
        with self.assertRaisesRegex(kind, sentence) as raised:
            Keyset.load(place, **options)
        for secret in (SECRET, "0f" * 16, "hunter2"):
            self.assertNotIn(secret, str(raised.exception))
        return str(raised.exception)


class Grammar(Case):
    def test_parts(self) -> None:
        for text, parts in (
            ("a", KeysetPlace("a")),
            ("file:a;b", KeysetPlace("file:a;b")),
            ("a=b", KeysetPlace("a=b")),
            ("clear:env:A", KeysetPlace("env:A", clear=True)),
            ("passphrase:a", KeysetPlace("a", asks=True)),
            ("passphrase=fd:3;exec:x;y", KeysetPlace("exec:x;y", passphrase="fd:3")),
            ("kek=exec:a;;b c;;;kek-aad=;d", KeysetPlace("d", kek="exec:a;b c;", kek_aad="")),
            ("kek-aad=x;;;;y;kek=env:A;d", KeysetPlace("d", kek="env:A", kek_aad="x;;y")),
            ("kek=aws-kms://alias/a;env:A", KeysetPlace("env:A", kek="aws-kms://alias/a")),
        ):
            self.assertEqual(parse(text), parts)

    def test_lasting_places_are_the_same(self) -> None:
        for text in ("clear:a", "passphrase=p;;q;exec:x;y", "kek=exec:a;;b;kek-aad=x;;y;env:A", "kek=tpm2:;a"):
            lasting = parse(text).lasting()
            assert lasting is not None
            self.assertEqual(parse(lasting).lasting(), lasting)
        self.assertEqual(parse("passphrase=p;a").lasting(),
                         f"passphrase=file:{self.folder}/p;file:{self.folder}/a")  # fmt: skip
        for text in ("fd:3", "passphrase:a", "passphrase=fd:3;a", "kek=fd:3;a"):
            self.assertIsNone(parse(text).lasting())

    def test_refused(self) -> None:
        for text, sentence in (
            ("", "empty"),
            ("clear:", "empty"),
            ("kek=env:A;", "empty"),
            ("kek=;a", "kek= is empty"),
            ("passphrase=;a", "passphrase= is empty"),
            ("kek=env:A;kek=env:B;a", "kek= is given twice"),
            ("pasphrase=hunter2;a", "unknown pasphrase="),
            ("passphrase=hunter2;;", "must be followed by ';'"),
            ("passphrase=env:A;kek=env:B;a", "cannot be combined"),
            ("passphrase=env:A;passphrase:a", "cannot be combined"),
            ("kek=env:A;clear:a", "cannot be combined"),
            ("passphrase:clear:a", "cannot be combined"),
            ("kek-aad=hunter2;a", "kek-aad= requires kek="),
            ("aws-kms://alias/a", "contains no keysets; write kek=URL"),
            ("tpm2:", "contains no keysets"),
        ):
            self.refused(text, ValueError, sentence)
        for wrong in (None, 7, b"a"):
            self.refused(wrong, TypeError, "must be a string")


class Loading(Case):
    def test_every_place(self) -> None:
        for place in PLACES:
            loaded = Keyset.load(place)
            self.assertEqual(loaded.to_json(), Case.made["clear"])
            dumped = pickle.dumps(loaded)
            self.assertNotIn(SECRET.encode(), dumped)
            self.assertEqual(pickle.loads(dumped).to_json(), Case.made["clear"])

    def test_open_writes_and_reads_by_place(self) -> None:
        for writes, reads in zip(PLACES, PLACES[1:] + PLACES[:1]):
            with warpaes.open("sealed", "wb", keyset=writes) as file:
                file.write(TEXT)
            with warpaes.open("sealed", keyset=reads) as opened:
                self.assertEqual(opened.read(), TEXT)

    def test_asks(self) -> None:
        asked = []

        def answer(question: str) -> str:
            asked.append(question)
            return SECRET

        loaded = Keyset.load("passphrase:locked", passphrase=answer)
        self.assertEqual(loaded.to_json(), Case.made["clear"])
        self.assertEqual(asked, ["Passphrase of file:locked"])
        with self.assertRaisesRegex(TypeError, "cannot be pickled"):
            pickle.dumps(loaded)

    def test_descriptors(self) -> None:
        with open("passphrase", "rb") as passphrase, open("locked", "rb") as locked:
            loaded = Keyset.load(f"passphrase=fd:{passphrase.fileno()};fd:{locked.fileno()}")
        self.assertEqual(loaded.to_json(), Case.made["clear"])
        with self.assertRaisesRegex(TypeError, "cannot be pickled"):
            pickle.dumps(loaded)

    def test_raw_keys(self) -> None:
        for content, template in (
            (b"5a" * 16 + b"\n", "AES128_GCM_HKDF_1MB"),
            (bytes(range(128, 160)), "AES256_GCM_HKDF_1MB"),
            (b"C2SP_CHUNKED_256 " + b"5a" * 32, "C2SP_CHUNKED_256"),
        ):
            self.write("raw", content)
            self.assertEqual([key["template"] for key in list_of(Keyset.load("raw"))], [template])
        self.write("raw", b"correct horse battery staple!!!!")
        self.assertNotIn("horse", self.refused("raw", exceptions.KeysetError, "raw"))

    def test_not_as_the_place_says(self) -> None:
        for place, sentence in (
            ("locked", "passphrase: before its place"),
            ("kek=kek;locked", "not under the key of kek="),
            ("under", "write kek=PLACE;"),
            ("passphrase=passphrase;under", "write kek=PLACE;"),
            ("clear:locked", "leave clear: out"),
            ("clear:under", "leave clear: out"),
            ("passphrase=passphrase;clear", "another file may have replaced yours"),
            ("passphrase:clear", "another file may have replaced yours"),
            ("kek=kek;clear", "another file may have replaced yours"),
        ):
            self.refused(place, exceptions.KeysetError, sentence)
        self.refused("kek=kek;under", ValueError, "use only one of the two", kek="file:kek")

    def test_nothing_is_repeated_that_may_be_secret(self) -> None:
        for place, kind, sentence in (
            ("0f" * 16, FileNotFoundError, "the file does not exist"),
            ("passphrase=hunter2;locked", FileNotFoundError, "passphrase=: the file does not exist"),
            ("kek=hunter2;under", FileNotFoundError, "kek=: the file does not exist"),
            ("evn:hunter2", ValueError, "'evn:' is not a kind of place"),
            ("kek=aws-kmss://hunter2;under", ValueError, "'aws-kmss:' is not a kind of place"),
            ("passphrase=env:NONE;locked", ValueError, "env:NONE: this environment variable is not set"),
        ):
            self.refused(place, kind, sentence)

    def test_wrong_passphrases_and_keys(self) -> None:
        self.write("hunter", b"hunter2\n")
        self.refused("passphrase=hunter;locked", exceptions.InvalidTag, "passphrase: is wrong")
        self.write("other", b"1e" * 32)
        self.refused("kek=other;under", exceptions.InvalidUnwrap, "the key or the associated data differ")
        self.refused("kek=kek;kek-aad=x;bound", exceptions.InvalidUnwrap, "the key or the associated data differ")
        for content, sentence in ((b"", "empty"), (b"\n", "empty"), (b"hunter2\nhunter2", "more than one line")):
            self.write("hunter", content)
            self.refused("passphrase=hunter;locked", ValueError, sentence)

    def test_a_cost_beyond_the_limits_is_refused_before_the_question(self) -> None:
        keyset = json.loads(Case.made["locked"])
        keyset["keyEncryptionKey"]["n"] = 1 << 30
        self.write("dear", json.dumps(keyset).encode())
        ask = mock.Mock()
        self.refused("passphrase:dear", exceptions.KeysetError, "dear: ", passphrase=ask)
        ask.assert_not_called()

    def test_no_terminal(self) -> None:
        program = "import warpaes; warpaes.Keyset.load('passphrase:locked')"
        ended = subprocess.run([sys.executable, "-c", program], stdin=subprocess.DEVNULL, capture_output=True,
                               start_new_session=True, text=True, check=False)  # fmt: skip
        self.assertIn("there is no terminal for the prompt; write passphrase=PLACE;", ended.stderr)


@unittest.skipUnless(
    os.environ.get("WARPAES"), "WARPAES does not name the command; a build with the command runs this test"
)
class Matrix(Case):
    """Each part of the project writes and reads with each place, and opens the files of the other parts."""

    def command(self, verb: str, place: str, content: bytes) -> bytes:
        command = [os.environ["WARPAES"], verb, "-k", place]
        ended = subprocess.run(command, input=content, capture_output=True, check=False)
        self.assertEqual((ended.returncode, ended.stderr), (0, b""), place)
        return ended.stdout

    def by_variable(self, verb: str, place: str, content: bytes) -> bytes:
        with mock.patch.dict(os.environ, {"WARPAES_KEYSET": place}):
            ended = subprocess.run([os.environ["WARPAES"], verb], input=content, capture_output=True, check=False)
        self.assertEqual((ended.returncode, ended.stderr), (0, b""), place)
        return ended.stdout

    def opened(self, verb: str, place: str, content: bytes) -> bytes:
        if verb == "decrypt":
            with warpaes.open(io.BytesIO(content), keyset=place) as reader:
                return reader.read()
        sealed = io.BytesIO()
        with warpaes.open(sealed, "wb", keyset=place) as writer:
            writer.write(content)
        return sealed.getvalue()

    def through_fsspec(self, verb: str, place: str, content: bytes) -> bytes:
        path = str(self.folder / "through")
        options = {"warpaes": {"keyset": place}}
        if verb == "decrypt":
            pathlib.Path(path).write_bytes(content)
            with fsspec.open(f"warpaes::file://{path}", "rb", **options) as file:
                return bytes(file.read())
        with fsspec.open(f"warpaes::file://{path}", "wb", **options) as file:
            file.write(content)
        return pathlib.Path(path).read_bytes()

    def test_all(self) -> None:
        fsspec.register_implementation("warpaes", WarpaesFileSystem, clobber=True)
        parts = [self.command, self.by_variable, self.opened, self.through_fsspec]
        places = PLACES
        for writes in parts:
            for number, place in enumerate(places):
                sealed = writes("encrypt", place, TEXT)
                for offset, reads in enumerate(parts):
                    self.assertEqual(reads("decrypt", places[(number + offset) % len(places)], sealed), TEXT)

    def test_the_same_is_refused(self) -> None:
        self.write("hunter", b"hunter2\n")
        for place in REFUSED:
            ended = subprocess.run([os.environ["WARPAES"], "encrypt", "-k", place], input=TEXT, capture_output=True,
                                   start_new_session=True, check=False)  # fmt: skip
            self.assertNotEqual(ended.returncode, 0, place)
            self.assertEqual(ended.stdout, b"")
            self.assertRegex(ended.stderr, rb"^warpaes: ")
            for secret in (SECRET, "0f" * 16, "hunter2"):
                self.assertNotIn(secret.encode(), ended.stderr)
            with self.assertRaises(
                (ValueError, OSError, exceptions.InvalidTag, exceptions.InvalidUnwrap, exceptions.Error)
            ) as raised:
                Keyset.load(place)
            self.assertNotIn("hunter2", str(raised.exception))


class Saving(Case):
    def test_every_place(self) -> None:
        keyset = keyset_of("AES256_GCM_HKDF_1MB")
        for number, lock in enumerate(("", "clear:", "kek=env:TEST_KEK;", "kek=kek;kek-aad=backup;",
                                       "passphrase=passphrase;")):  # fmt: skip
            place = f"{lock}new{number}"
            keyset.save(place)
            self.assertEqual(stat.S_IMODE(os.stat(f"new{number}").st_mode), 0o600)
            self.assertEqual(Keyset.load(place).to_json(), keyset.to_json())
            clear = not lock or lock == "clear:"
            self.assertEqual(pathlib.Path(f"new{number}").read_bytes() == keyset.to_json(), clear)
        keyset.save("passphrase:asked", passphrase=lambda question: SECRET)
        self.assertEqual(Keyset.load("passphrase=passphrase;asked").to_json(), keyset.to_json())

    @unittest.skipUnless(
        os.environ.get("WARPAES"), "WARPAES does not name the command; a build with the command runs this test"
    )
    def test_the_command_opens_it(self) -> None:
        keyset = keyset_of()
        keyset.save("passphrase=passphrase;mine")
        with warpaes.open("sealed", "wb", keyset=keyset) as file:
            file.write(TEXT)
        for options in (("-k", "mine", "--passphrase-from", "passphrase"), ("-k", "passphrase=passphrase;mine")):
            ended = subprocess.run(
                [os.environ["WARPAES"], "decrypt", *options, "sealed", "-o", "-"], capture_output=True, check=False
            )
            self.assertEqual((ended.stderr, ended.stdout), (b"", TEXT))

    def test_refused(self) -> None:
        keyset = keyset_of()
        ask = mock.Mock(return_value="")
        with self.assertRaises(FileExistsError):
            keyset.save("passphrase:clear", passphrase=ask)
        ask.assert_not_called()
        for place in ("env:A", "fd:1", "exec:cat"):
            with self.assertRaisesRegex(ValueError, "can be saved only in a file"):
                keyset.save(place)
        with self.assertRaisesRegex(ValueError, "empty"):
            keyset.save("passphrase:new", passphrase=ask)
        with self.assertRaisesRegex(FileNotFoundError, "not shown"):
            keyset.save("kek=hunter2;new")
        with self.assertRaises(exceptions.KeysetError):
            keyset_of("AES128_GCM_HKDF_4KB").__class__.from_raw("C2SP_CHUNKED_256", bytes(32)).save("new")
        self.assertFalse(os.path.exists("new"))
        self.assertEqual(pathlib.Path("clear").read_bytes(), Case.made["clear"])


if __name__ == "__main__":
    unittest.main()
