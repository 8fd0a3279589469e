#!/usr/bin/env python3
"""Tests warpaes.fs, the fsspec file system. Files appear only when they are complete and authentic, and no key leaves
the process."""

from __future__ import annotations

import contextlib
import copy
import json
import multiprocessing
import os
import pathlib
import pickle
import random
import unittest
import unittest.mock
import warnings
from typing import Any

import warpaes
from support import needed, new_folder
from warpaes import Keyset, exceptions

TEXT = random.Random(1).randbytes(100_003)


def read(files: Any, path: str) -> bytes:
    content: bytes = files.cat_file(path)
    return content


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.fsspec = needed("fsspec")
        from warpaes.fs import WarpaesFileSystem

        self.fsspec.register_implementation("warpaes", WarpaesFileSystem, clobber=True)
        self.folder = new_folder(self)
        self.keyset = Keyset.generate("AES256_GCM_HKDF_4KB")
        self.key = self.folder / "keyset.json"
        self.key.write_bytes(self.keyset.to_json())
        self.data = self.folder / "data"
        self.data.mkdir()
        self.path = self.data / "file"
        self.got = self.folder / "got"
        self.files = self.make(keyset=self.keyset)
        self.addCleanup(os.umask, os.umask(0o022))

    def make(self, **options: Any) -> Any:
        return self.fsspec.filesystem("warpaes", **{"target_protocol": "file"} | options)

    def write(self, data: bytes = TEXT, path: pathlib.Path | None = None) -> None:
        with warpaes.open(path or self.path, "wb", keyset=self.keyset) as file:
            file.write(data)

    def alter(self, at: int) -> None:
        sealed = bytearray(self.path.read_bytes())
        sealed[at] ^= 1
        self.path.write_bytes(sealed)

    def names(self) -> list[str]:
        return sorted(os.listdir(self.folder))


class Getting(Case):
    def test_what_is_whole(self) -> None:
        self.write()
        self.files.blocksize = 5000
        for get in (self.files.get, self.files.get_file, self.files.download):
            get(str(self.path), str(self.got))
            self.assertEqual(self.got.read_bytes(), TEXT)
            self.assertEqual(self.got.stat().st_mode & 0o777, 0o644)
            self.got.unlink()
        callback = self.fsspec.callbacks.Callback()
        self.files.get_file(str(self.path), str(self.got), callback)
        self.assertEqual((callback.size, callback.value), (len(TEXT), len(TEXT)))
        self.got.unlink()
        self.files.get(str(self.data), str(self.got), recursive=True)
        self.assertEqual((self.got / "file").read_bytes(), TEXT)
        with open(self.folder / "given", "wb") as file:
            self.files.get_file(str(self.path), file)
        self.assertEqual((self.folder / "given").read_bytes(), TEXT)
        self.files.get_file(str(self.path), str(self.folder / "a" / "b" / "c"))
        self.assertEqual((self.folder / "a" / "b" / "c").read_bytes(), TEXT)

    def test_what_is_altered(self) -> None:
        self.write()
        self.alter(70_000)
        self.files.blocksize = 5000
        names = self.names()
        for existing in (False, True):
            if existing:
                self.got.write_bytes(b"before")
                self.got.chmod(0o600)
                names = self.names()
            for get in (self.files.get, self.files.get_file, self.files.download):
                with self.assertRaises(exceptions.InvalidTag):
                    get(str(self.path), str(self.got))
                self.assertEqual(self.names(), names)
        self.assertEqual((self.got.read_bytes(), self.got.stat().st_mode & 0o777), (b"before", 0o600))
        with self.assertRaises(exceptions.InvalidTag):
            self.files.get(str(self.data), str(self.folder / "tree"), recursive=True)
        self.assertEqual(os.listdir(self.folder / "tree"), [])
        with self.assertRaises(exceptions.InvalidTag):
            self.files.cat(str(self.path))

    def test_modes_and_links(self) -> None:
        """Only the owner can read incomplete plaintext, a replaced file keeps its mode, and links are not followed."""
        self.write()
        modes: list[int] = []
        parts: list[str] = []

        def look(size: int | None, value: int, **_: Any) -> None:
            for name in set(self.names()) - {"data", "keyset.json", "got", "other"}:
                parts.append(name)
                modes.append((self.folder / name).stat().st_mode & 0o777)

        self.got.write_bytes(b"before")
        self.got.chmod(0o600)
        self.files.get_file(
            str(self.path), str(self.got), callback=self.fsspec.callbacks.Callback(hooks={"look": look})
        )
        self.assertEqual(set(modes), {0o600})
        self.assertTrue(parts)
        self.assertEqual((self.got.read_bytes(), self.got.stat().st_mode & 0o777), (TEXT, 0o600))
        other = self.folder / "other"
        other.write_bytes(b"before")
        self.got.unlink()
        self.got.symlink_to(other)
        with self.assertRaisesRegex(OSError, "symbolic link"):
            self.files.get_file(str(self.path), str(self.got))
        self.assertEqual(other.read_bytes(), b"before")


class Putting(Case):
    def test_source_that_fails(self) -> None:
        plain = self.folder / "plain"
        plain.write_bytes(TEXT)
        self.files.put(str(plain), str(self.path))
        self.assertEqual(self.files.cat_file(str(self.path)), TEXT)
        before = self.path.read_bytes()
        self.files.blocksize = 5000
        for name in ("put", "put_file", "upload"):
            write, calls = warpaes.SealedWriter.write, []

            def fails(file: Any, data: Any, write: Any = write, calls: list[int] = calls) -> Any:
                calls.append(1)
                if len(calls) == 3:
                    raise OSError("the disk")
                return write(file, data)

            with unittest.mock.patch.object(warpaes.SealedWriter, "write", fails):  # noqa: SIM117
                with self.assertRaisesRegex(OSError, "the disk"):
                    getattr(self.files, name)(str(plain), str(self.path))
            self.assertEqual((os.listdir(self.data), self.path.read_bytes()), (["file"], before))

    def test_ways_of_opening(self) -> None:
        """An exception in the block of fsspec.open, with text and with compression, leaves the existing file
        unchanged."""
        url = f"warpaes::file://{self.path}"
        for existing in (False, True):
            for mode, data in (("wb", TEXT), ("wt", "half"), ("w", "half")):
                for options in ({}, {"compression": "gzip"}):
                    with (
                        self.assertRaises(KeyError),
                        self.fsspec.open(url, mode, keyset=self.keyset, **options) as file,
                    ):
                        file.write(data)
                        raise KeyError
                with self.assertRaises(KeyError), self.files.open(str(self.path), mode) as file:
                    file.write(data)
                    raise KeyError
                self.assertEqual(os.listdir(self.data), ["file"] if existing else [])
            with self.fsspec.open(url, "wt", keyset=self.keyset, compression="gzip") as file:
                file.write("whole")
            with self.fsspec.open(url, "rt", keyset=self.keyset, compression="gzip") as file:
                self.assertEqual(file.read(), "whole")

    def test_garbage(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for mode, data in (("wb", TEXT), ("wt", "half")):
                file = self.files.open(str(self.path), mode)
                file.write(data)
                del file
                opened = self.fsspec.open(f"warpaes::file://{self.path}", mode, keyset=self.keyset)
                opened.open().write(data)
                del opened
        self.assertEqual(os.listdir(self.data), [])

    def test_local_files_keep_their_mode_and_links_are_not_followed(self) -> None:
        self.write()
        self.path.chmod(0o600)
        for write in (self.files.pipe_file, lambda path, data: self.files.cp_file(str(self.path), path)):
            target = self.data / "target"
            target.write_bytes(b"before")
            target.chmod(0o600)
            write(str(target), TEXT)
            self.assertEqual((self.files.cat_file(str(target)), target.stat().st_mode & 0o777), (TEXT, 0o600))
            target.unlink()
            other = self.folder / "other"
            other.write_bytes(b"before")
            target.symlink_to(other)
            with self.assertRaisesRegex(OSError, "symbolic link"):
                write(str(target), TEXT)
            self.assertEqual(other.read_bytes(), b"before")
            target.unlink()

    def test_copies(self) -> None:
        bound = self.make(keyset=self.keyset, associated_data=lambda path: os.path.basename(path).encode())
        bound.pipe_file(str(self.path), TEXT)
        self.path.write_bytes(bytearray(self.path.read_bytes())[:-1] + b"x")
        for files in (bound,):
            with self.assertRaises(exceptions.InvalidTag):
                files.copy(str(self.path), str(self.data / "copy"))
            with self.assertRaises(exceptions.InvalidTag):
                files.mv(str(self.path), str(self.data / "copy"))
            self.assertEqual(os.listdir(self.data), ["file"])
        self.write()
        with unittest.mock.patch("os.fsync", side_effect=OSError(28, "No space")), self.assertRaises(OSError):
            self.files.copy(str(self.path), str(self.data / "copy"))
        self.assertEqual(os.listdir(self.data), ["file"])
        self.files.copy(str(self.path), str(self.data / "copy"))
        self.assertEqual(self.files.cat_file(str(self.data / "copy")), TEXT)
        made = self.make(keyset=self.keyset, target_options={"auto_mkdir": True})
        made.pipe_file(str(self.data / "a" / "b"), TEXT)
        self.assertEqual(made.cat_file(str(self.data / "a" / "b")), TEXT)


class Transactions(Case):
    def both(self) -> list[tuple[Any, Any, str]]:
        """Return two cases: local files, and a file system with its own commit. A case consists of the file system, a
        function that returns the names of complete files, and a folder."""
        other = self.folder / "other"
        other.mkdir(exist_ok=True)
        below = self.fsspec.filesystem("dir", path=str(other), target_protocol="file")

        def names(folder: pathlib.Path) -> list[str]:
            return sorted(name for name in os.listdir(folder) if not name.startswith("."))

        return [
            (self.files, lambda: names(self.data), str(self.data)),
            (self.make(keyset=self.keyset, fs=below), lambda: names(other), ""),
        ]

    def test_all_or_nothing(self) -> None:
        for files, names, folder in self.both():
            with files.transaction:
                for name in "ab":
                    with files.open(f"{folder}/{name}", "wb") as file:
                        file.write(TEXT)
                    self.assertEqual(names(), [])
            self.assertEqual(names(), ["a", "b"])
            self.assertEqual(files.cat_file(f"{folder}/b"), TEXT)
            with self.assertRaises(KeyError), files.transaction:
                with files.open(f"{folder}/a", "wb") as file:
                    file.write(b"other")
                files.pipe_file(f"{folder}/c", b"other")
                raise KeyError
            self.assertEqual(names(), ["a", "b"])
            self.assertEqual(files.cat_file(f"{folder}/a"), TEXT)
            files.pipe_file(f"{folder}/c", b"later")  # the transaction has ended
            self.assertEqual(names(), ["a", "b", "c"])

    def test_files_that_were_not_completed(self) -> None:
        for files, names, folder in self.both():
            with self.assertRaisesRegex(ValueError, "was not closed"), files.transaction:
                files.pipe_file(f"{folder}/z", TEXT)
                left = files.open(f"{folder}/a", "wb")
                left.write(TEXT)
                files.pipe_file(f"{folder}/b", TEXT)
            self.assertNotIn("a", names())
            self.assertNotIn("b", names())
            self.assertTrue(left.closed)
            with files.transaction:
                with self.assertRaises(KeyError), files.open(f"{folder}/a", "wb") as file:
                    file.write(TEXT)
                    raise KeyError
                files.pipe_file(f"{folder}/b", TEXT)
            self.assertNotIn("a", names())
            self.assertIn("b", names())

    def test_a_child_of_fork_leaves_them_alone(self) -> None:
        for files, names, folder in self.both():
            for end in ("abort", "close", "commit", "discard"):
                with files.transaction:
                    opened = [files.open(f"{folder}/{name}", "wb") for name in "ab"]
                    for file in opened:
                        file.write(TEXT)
                    opened[1].close()
                    child = os.fork()
                    if child == 0:
                        for file in opened:
                            with contextlib.suppress(Exception):
                                getattr(file, end)()
                        os._exit(0)
                    os.waitpid(child, 0)
                    self.assertEqual(names(), [])
                    opened[0].close()
                self.assertEqual(names(), ["a", "b"])
                for name in "ab":
                    self.assertEqual(files.cat_file(f"{folder}/{name}"), TEXT)
                    files.rm_file(f"{folder}/{name}")

    def test_new_files(self) -> None:
        for files, names, folder in self.both():
            with self.assertRaises(FileExistsError), files.transaction:
                with files.open(f"{folder}/a", "xb") as file:
                    file.write(TEXT)
                files.fs.pipe_file(f"{folder}/a", b"theirs")
            self.assertEqual(files.fs.cat_file(f"{folder}/a"), b"theirs")
            self.assertEqual(names(), ["a"])


class Keys(Case):
    def secrets(self) -> list[bytes]:
        """Return the key in every notation."""
        text = self.keyset.to_json()
        value = json.loads(text)["key"][0]["keyData"]["value"]
        return [value.encode(), value[8:40].encode(), b"keyData"]

    def assert_no_key(self, data: bytes) -> None:
        for secret in self.secrets():
            self.assertNotIn(secret, data)

    def test_by_name(self) -> None:
        self.write()
        with unittest.mock.patch.dict(os.environ, {"TEST_KEYSET": self.key.read_text()}):
            for name in (f"file:{self.key}", "env:TEST_KEYSET", f"exec:cat {self.key}"):
                files = self.make(keyset=name)
                for again in (
                    files,
                    pickle.loads(pickle.dumps(files)),
                    copy.copy(files),
                    copy.deepcopy(files),
                    self.fsspec.AbstractFileSystem.from_json(files.to_json()),
                    self.fsspec.AbstractFileSystem.from_dict(files.to_dict()),
                    type(files)(name, target_protocol="file"),
                    pickle.loads(pickle.dumps(type(files)(name, target_protocol="file"))),
                ):
                    self.assertEqual(read(again, str(self.path)), TEXT)
                self.assertIn(name, files.to_json())
                for data in (pickle.dumps(files), files.to_json().encode(), repr(files.storage_options).encode()):
                    self.assert_no_key(data)
            with self.fsspec.open(f"warpaes::file://{self.path}", keyset=f"file:{self.key}") as file:
                self.assertEqual(file.read(), TEXT)

    def test_in_other_processes(self) -> None:
        self.write()
        files = self.make(keyset=f"file:{self.key}")
        for method in ("fork", "spawn", "forkserver"):
            with multiprocessing.get_context(method).Pool(1) as pool:
                self.assertEqual(pool.apply(read, (files, str(self.path))), TEXT, method)

    def test_a_descriptor(self) -> None:
        """A descriptor belongs to this process. In another process, the same number is a different file."""
        self.write()
        with open(self.key, "rb") as file:
            files = self.make(keyset=f"fd:{file.fileno()}")
        self.assertEqual(files.cat_file(str(self.path)), TEXT)
        with self.assertRaisesRegex(TypeError, "keyset='file:PATH'"):
            pickle.dumps(files)

    def test_under_a_key_source(self) -> None:
        from warpaes import keysources

        self.write()
        kek, wrapped = self.folder / "kek", self.folder / "wrapped"
        kek.write_bytes(keysources.generate_kek())
        with keysources.from_url(f"file:{kek}") as source:
            wrapped.write_bytes(keysources.write_keyset(self.keyset, source))
        files = self.make(keyset=f"file:{wrapped}", kek=f"file:{kek}")
        self.assertEqual(pickle.loads(pickle.dumps(files)).cat_file(str(self.path)), TEXT)
        with self.assertRaises(exceptions.KeysetError):  # an unencrypted keyset is in its place
            self.make(keyset=f"file:{self.key}", kek=f"file:{kek}")
        with self.assertRaises(exceptions.KeysetError):
            self.make(keyset=f"file:{wrapped}")
        with self.assertRaisesRegex(ValueError, "kek: allowed only"):  # an option that has no effect
            self.make(keyset=self.keyset, kek=f"file:{kek}")

    def test_in_memory(self) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            text = self.keyset.to_json()
            in_clear = [self.make(keyset=text), self.make(keyset=text.decode())]
            in_clear.append(type(self.files)(text.decode(), target_protocol="file"))
        self.assertEqual([warning.category for warning in caught], [DeprecationWarning] * 3)
        self.write()
        for files in (self.files, *in_clear):
            self.assertEqual(files.cat_file(str(self.path)), TEXT)
            for leave in (
                pickle.dumps,
                copy.copy,
                copy.deepcopy,
                lambda files: files.to_json(),
                lambda files: files.to_dict(),
            ):
                with self.assertRaisesRegex(TypeError, "keyset='file:PATH', 'env:NAME' or 'exec:COMMAND'"):
                    leave(files)
            opened = self.fsspec.core.OpenFile(files, str(self.path))
            with self.assertRaisesRegex(TypeError, "keyset='file:PATH'"):
                pickle.dumps(opened)
            self.assert_no_key((repr(files) + repr(files.storage_options) + repr(files.storage_args)).encode())
            self.assert_no_key(repr(vars(files)).encode())

    def test_names_that_are_none(self) -> None:
        for wrong in ("", "https://x", "File:x"):
            with self.assertRaisesRegex(ValueError, "keyset"):
                self.make(keyset=wrong)
        with self.assertRaisesRegex(FileNotFoundError, "may be a secret"):
            self.make(keyset="keyset.json")
        with self.assertRaises(FileNotFoundError):
            self.make(keyset="file:/none")
        with self.assertRaisesRegex(ValueError, "NO_SUCH"):
            self.make(keyset="env:NO_SUCH")


if __name__ == "__main__":
    unittest.main()
