"""Compares warpaes.names with the command and a second implementation of encrypted names, and tests warpaes.fs on a
tree with encrypted names."""

from __future__ import annotations

import os
import pathlib
import pickle
import random
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import Any

import warpaes
from support import needed, new_folder
from warpaes import Keyset
from warpaes.exceptions import FormatError, InvalidTag, KeysetError
from warpaes.names import EncryptedNames

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))

COMMAND = os.environ.get("WARPAES", "")
KEY = bytes(range(32))
FILES = {
    "notes.txt": b"notes" * 1000,
    "photos/a.jpg": b"a" * 5000,
    "photos/raw/b.jpg": b"",
    "photos/raw/deep er/[c]*?": b"c",
    "photos/" + "n" * 255: b"n",
    "photos/" + "ä" * 100 + "/k": b"k" * 100,
    "data/-/x.warpaes": b"x",
}


class Names(unittest.TestCase):
    def setUp(self) -> None:
        self.names = EncryptedNames(Keyset.from_raw("AES256_GCM_HKDF_1MB", KEY))

    def test_agree_with_the_documentation(self) -> None:
        needed("cryptography")
        import names_oracle

        draw = random.Random(1)
        for length in (1, 2, 3, 4, 5, 72, 73, 74, 143, 144, 161, 162, 255, 1024):
            path = b"/".join(
                bytes(draw.choice([c for c in range(1, 256) if c != ord("/")]) for _ in range(length)) + b"_"
                if length < 1024
                else b"x" * 1024
                for _ in range(3)
            )
            stored = self.names.encrypt(path)
            self.assertEqual(stored.encode(), names_oracle.encrypt_path(KEY, path))
            self.assertEqual(os.fsencode(self.names.decrypt(stored)), path)
            self.assertEqual(self.names.associated_data(path, b"more"), names_oracle.associated_data(path, b"more"))
            self.assertEqual(self.names.associated_data(path), names_oracle.associated_data(path))

    def test_every_changed_character(self) -> None:
        stored = self.names.encrypt("folder/" + "n" * 100)
        for i in range(len(stored)):
            for other in "0v-/Aé.":
                changed = stored[:i] + other + stored[i + 1 :]
                if changed != stored:
                    with self.assertRaises((InvalidTag, FormatError), msg=changed):
                        self.names.decrypt(changed)
            if i != stored.index("/"):  # the end of the folder's path
                with self.assertRaises((InvalidTag, FormatError)):
                    self.names.decrypt(stored[:i])

    def test_refusals(self) -> None:
        for path in ("", "a//b", "/a", "a/", "..", "a/../b", ".", "a\0b", "x" * 1025):
            with self.assertRaises(ValueError, msg=path):
                self.names.encrypt(path)
        with self.assertRaisesRegex(ValueError, "index: 1 is beyond the last key"):
            self.names.encrypt_name("", "a", 1)
        with self.assertRaisesRegex(FormatError, "does not have the form"):
            self.names.decrypt("")
        with self.assertRaisesRegex(InvalidTag, "no key opens this name in this folder"):
            self.names.decrypt_name("other", self.names.encrypt("a"))
        with self.assertRaises(KeysetError):
            EncryptedNames(Keyset())
        with self.assertRaises(TypeError):
            EncryptedNames(7)  # type: ignore[arg-type]

    def test_keys_of_a_keyset(self) -> None:
        keyset = Keyset.generate()
        old = EncryptedNames(keyset)
        keyset.rotate()
        both = EncryptedNames(keyset)
        self.assertEqual((len(old), len(both)), (1, 2))
        self.assertEqual(both.decrypt(old.encrypt("a/b")), "a/b")
        self.assertEqual(both.encrypt_name("a", "b", 1), old.encrypt_name("a", "b"))
        self.assertEqual(both.decrypt(f"{old.encrypt('a')}/{both.encrypt_name('a', 'b')}"), "a/b")
        with self.assertRaises(InvalidTag):
            old.decrypt(both.encrypt("a/b"))

    def test_pickles_name_the_place_of_the_keyset(self) -> None:
        with self.assertRaises(TypeError):
            pickle.dumps(self.names)
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            file.write(Keyset.generate().to_json())
            file.flush()
            names = EncryptedNames(file.name)
            data = pickle.dumps(names)
            self.assertEqual(pickle.loads(data).encrypt("a"), names.encrypt("a"))
            self.assertIn(file.name.encode(), data)

    def test_in_a_child_of_fork(self) -> None:
        expected = self.names.encrypt("a/b")
        child = os.fork()
        if child == 0:
            os._exit(0 if self.names.encrypt("a/b") == expected else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


class FileSystem(unittest.TestCase):
    def setUp(self) -> None:
        needed("fsspec")
        if not COMMAND:
            self.skipTest("the command was not built")
        self.here = new_folder(self)
        self.keyset = str(self.here / "keyset.json")
        self.command("keygen", "-t", "AES256_GCM_HKDF_4KB", "-o", self.keyset)
        self.tree = str(self.here / "tree")
        for name, content in FILES.items():
            path = self.here / "in" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        (self.here / "in/empty").mkdir()

    def command(self, *arguments: str, status: int = 0) -> str:
        environment = os.environ | {"WARPAES_CALIBRATION": "none"}
        done = subprocess.run(
            [COMMAND, *arguments], cwd=self.here, capture_output=True, text=True, env=environment, timeout=60
        )
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout

    def encrypt(self, *more: str) -> None:
        names = sorted(str(path) for path in (self.here / "in").iterdir())
        self.command("encrypt", "-k", self.keyset, "--encrypt-names", "--output-dir", self.tree, *more, *names)

    def files(self, **options: Any) -> Any:
        from warpaes.fs import WarpaesFileSystem

        return WarpaesFileSystem(self.keyset, target_protocol="file", encrypted_names=self.tree, **options)

    def all_files(self, files: Any) -> dict[str, bytes]:
        return {path[len(self.tree) + 1 :]: files.cat_file(path) for path in files.find(self.tree)}

    def stored(self, plain: str) -> str:
        return f"{self.tree}/{EncryptedNames(self.keyset).encrypt(plain)}"

    def test_reads_what_the_command_wrote(self) -> None:
        self.encrypt()
        files = self.files()
        self.assertEqual(self.all_files(files), FILES)
        self.assertEqual(
            files.ls(self.tree, detail=False), [f"{self.tree}/{n}" for n in ("data", "empty", "notes.txt", "photos")]
        )
        self.assertEqual(
            files.glob(f"{self.tree}/**/*.jpg"), [f"{self.tree}/photos/a.jpg", f"{self.tree}/photos/raw/b.jpg"]
        )
        self.assertEqual(files.info(f"{self.tree}/notes.txt")["size"], 5000)
        self.assertEqual(files.cat_ranges([f"{self.tree}/notes.txt"], 5, 10), [b"notes"])
        self.assertTrue(files.isdir(f"{self.tree}/photos/raw"))
        self.assertFalse(files.exists(f"{self.tree}/photos/none"))
        self.assertFalse(files.exists("/elsewhere"))
        self.assertEqual(sum(map(len, FILES.values())), files.du(self.tree))
        again = pickle.loads(pickle.dumps(files))
        self.assertEqual(again.cat_file(f"{self.tree}/notes.txt"), FILES["notes.txt"])
        import fsspec
        from warpaes.fs import WarpaesFileSystem

        fsspec.register_implementation("warpaes", WarpaesFileSystem, clobber=True)
        with fsspec.open(
            f"warpaes::file://{self.tree}/photos/a.jpg", warpaes={"keyset": self.keyset, "encrypted_names": self.tree}
        ) as file:
            self.assertEqual(file.read(), FILES["photos/a.jpg"])

    def test_the_command_reads_what_it_wrote(self) -> None:
        os.mkdir(self.tree)
        files = self.files(target_options={"auto_mkdir": True})
        for name, content in FILES.items():
            files.pipe_file(f"{self.tree}/{name}", content)
        listed = self.command("list", "-k", self.keyset, self.tree).splitlines()
        self.assertEqual(
            [name for name in listed if not name.endswith("/")],
            sorted(FILES, key=lambda n: [os.fsencode(s) for s in n.split("/")]),
        )
        self.command("decrypt", "-k", self.keyset, "--encrypted-names", "--output-dir", "back", self.tree)
        back = self.here / "back"
        self.assertEqual({str(p.relative_to(back)): p.read_bytes() for p in back.rglob("*") if p.is_file()}, FILES)
        files.rm(f"{self.tree}/photos", recursive=True)
        files.mv(f"{self.tree}/notes.txt", f"{self.tree}/data/moved")
        self.command("verify", "-k", self.keyset, "--encrypted-names", self.tree)
        self.assertEqual(set(self.all_files(self.files())), {"data/-/x.warpaes", "data/moved"})
        files.rm(f"{self.tree}/data", recursive=True)
        self.assertEqual(os.listdir(self.tree), [])

    def test_nothing_is_left_of_long_names(self) -> None:
        os.mkdir(self.tree)
        files = self.files()
        for remove in (files.rm, files.rm_file):
            files.pipe_file(f"{self.tree}/{'n' * 255}", b"n")
            self.assertEqual(len(os.listdir(self.tree)), 1)
            remove(f"{self.tree}/{'n' * 255}")
            self.assertEqual(os.listdir(self.tree), [])
        files.mkdir(f"{self.tree}/{'n' * 255}")
        files.rmdir(f"{self.tree}/{'n' * 255}")
        self.assertEqual(os.listdir(self.tree), [])

    def test_associated_data_of_the_caller(self) -> None:
        self.encrypt("--aad", "more")
        self.assertEqual(self.all_files(self.files(associated_data=b"more")), FILES)
        self.assertEqual(self.all_files(self.files(associated_data=lambda path: b"more")), FILES)
        with self.assertRaises(InvalidTag):
            self.files().cat_file(f"{self.tree}/notes.txt")

    def test_rotation(self) -> None:
        self.encrypt()
        self.command("keys", "add", "--primary", self.keyset)
        files = self.files()
        self.assertEqual(self.all_files(files), FILES)
        files.pipe_file(f"{self.tree}/photos/raw/b.jpg", b"new")  # the file is not moved and keeps its old name
        files.pipe_file(f"{self.tree}/photos/new", b"new")
        expected = FILES | {"photos/raw/b.jpg": b"new", "photos/new": b"new"}
        self.assertEqual(self.all_files(files), expected)
        self.command("reencrypt", "-k", self.keyset, "--encrypted-names", self.tree)
        self.assertEqual(self.all_files(self.files()), expected)
        first = warpaes.Keyset.load(self.keyset).keys()[0]["key_id"]
        self.command("keys", "remove", self.keyset, str(first))
        self.assertEqual(self.all_files(self.files()), expected)

    def test_an_adversary_in_the_storage(self) -> None:
        self.encrypt()
        one, two = self.stored("photos/a.jpg"), self.stored("notes.txt")
        files = self.files()
        shutil.copy(two, one)
        with self.assertRaises(InvalidTag):
            files.cat_file(f"{self.tree}/photos/a.jpg")
        for plant, words in (
            (f"{self.tree}/{os.path.basename(one)}", "no key opens this name"),
            (f"{self.tree}/readme", "does not have the form"),
            (f"{os.path.dirname(one)}/{os.path.basename(two)}", "no key opens this name"),
        ):
            shutil.copy(two, plant)
            with self.assertRaisesRegex((InvalidTag, FormatError), words):
                files.find(self.tree)
            with self.assertRaisesRegex((InvalidTag, FormatError), words):
                files.get(f"{self.tree}/", str(self.here / "got"), recursive=True)
            self.assertFalse((self.here / "got").exists())
            os.unlink(plant)
        raw = os.path.dirname(self.stored("photos/raw/b.jpg"))
        os.rename(raw, f"{self.tree}/{os.path.basename(raw)}")
        with self.assertRaises(InvalidTag):
            files.ls(self.tree)
        self.assertFalse(files.exists(f"{self.tree}/raw"))

    def test_two_entries_of_one_name(self) -> None:
        self.encrypt()
        self.command("keys", "add", "--primary", self.keyset)
        shutil.copytree(self.tree, self.here / "copy")
        self.command("reencrypt", "-k", self.keyset, "--encrypted-names", self.tree)
        shutil.copytree(self.here / "copy", self.tree, dirs_exist_ok=True)
        with self.assertRaisesRegex(FormatError, "two entries have this plaintext name"):
            self.files().ls(self.tree)

    def test_names_that_lead_elsewhere(self) -> None:
        needed("cryptography")
        import names_oracle

        (self.here / "key").write_bytes(KEY)
        keyset = Keyset.from_raw("AES256_GCM_HKDF_1MB", KEY)
        from warpaes.fs import WarpaesFileSystem

        os.mkdir(self.tree)
        files = WarpaesFileSystem(keyset, target_protocol="file", encrypted_names=self.tree)
        for name in (b"..", b".", b"../../evil", b"/evil", b"a\0b"):
            path = f"{self.tree}/{names_oracle.encrypt_name(KEY, b'', name).decode()}"
            pathlib.Path(path).touch()
            with self.assertRaisesRegex(FormatError, "the name in it"):
                files.get(f"{self.tree}/", str(self.here / "got"), recursive=True)
            os.unlink(path)
        with self.assertRaisesRegex(ValueError, "is '.' or '..'"):
            files.pipe_file(f"{self.tree}/../x", b"")
        for path in ("/etc/passwd", "other", f"{self.tree}2/x"):
            with self.assertRaisesRegex(ValueError, "is not in the tree with encrypted names"):
                files.pipe_file(path, b"")

    def test_listings_while_a_file_is_written(self) -> None:
        self.encrypt()
        files = self.files()
        before = files.ls(self.tree, detail=False)
        with files.open(f"{self.tree}/new", "wb") as file:
            file.write(b"x")
            self.assertEqual(len(os.listdir(self.tree)), len(before) + 1)
            self.assertEqual(files.ls(self.tree, detail=False), before)
        self.assertEqual(len(files.ls(self.tree)), len(before) + 1)

    def test_refused_with_keysets_that_are_in_the_files(self) -> None:
        from warpaes.fs import WarpaesFileSystem

        (self.here / "word").write_text("correct horse\n")
        os.chmod(self.here / "word", 0o600)
        with self.assertRaisesRegex(ValueError, "encrypted_names: requires a separate keyset"):
            WarpaesFileSystem(f"passphrase={self.here}/word;own:", target_protocol="file", encrypted_names="/x")


if __name__ == "__main__":
    unittest.main()
