#!/usr/bin/env python3
"""Tests that the file system for fsspec follows fsspec's rules for paths, listings, unreadable files and other file
systems."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import pathlib
import pickle
import unittest
import unittest.mock
import warnings
from typing import Any

import warpaes
from support import needed
from test_fs import Case
from warpaes import exceptions


class Paths(Case):
    def test_path_objects(self) -> None:
        """Every method accepts a pathlib.Path instead of a string."""
        self.files.pipe(str(self.path), b"some text")
        for method, positions in {
            "cat": [],
            "cat_file": [],
            "checksum": [],
            "created": [],
            "du": [],
            "exists": [],
            "find": [],
            "glob": [],
            "head": [3],
            "info": [],
            "isdir": [],
            "isfile": [],
            "lexists": [],
            "ls": [],
            "modified": [],
            "read_block": [2, 3],
            "read_bytes": [],
            "read_text": [],
            "size": [],
            "tail": [3],
            "ukey": [],
        }.items():
            call = getattr(self.files, method)
            self.assertEqual(call(self.path, *positions), call(str(self.path), *positions), method)
        self.assertEqual(list(self.files.walk(self.data)), list(self.files.walk(str(self.data))))
        self.assertEqual(self.files.cat_ranges([self.path], [1], [3]), [b"om"])
        made = self.data / "made" / "here"
        self.files.makedirs(made)
        self.files.pipe(made / "a", b"a")
        with self.files.open(made / "b", "wb") as file:
            file.write(b"b")
        self.files.touch(made / "c")
        self.files.copy(made / "a", made / "d")
        self.files.mv(made / "a", made / "e")
        self.files.get(made / "e", self.got)
        self.assertEqual(self.got.read_bytes(), b"a")
        self.files.put(self.got, made / "f")
        self.files.write_text(made / "g", "g")
        found = {name[-1]: data for name, data in self.files.cat(str(made / "*")).items()}
        self.assertEqual(found, {"b": b"b", "c": b"", "d": b"a", "e": b"a", "f": b"a", "g": b"g"})
        self.files.rm(made / "b")
        self.files.rm_file(made / "c")
        self.files.rm(made.parent, recursive=True)
        self.files.mkdir(made.parent)
        self.files.rmdir(made.parent)
        self.assertEqual(self.files.ls(self.data, detail=False), [str(self.path)])

    def test_urls(self) -> None:
        """A path's URL leads back to the path, through every layer and with each layer's options."""
        options = {"warpaes": {"keyset": self.keyset}, "file": {"auto_mkdir": True}}
        url = f"warpaes::file://{self.data}/new/folder/file"
        with self.fsspec.open(url, "wb", **options) as file:
            file.write(b"text")
        self.assertEqual(self.files.cat(url), b"text")
        one = f"warpaes://file://{self.data}/new/folder/file"
        self.assertEqual(self.files.unstrip_protocol(f"{self.data}/new/folder/file"), one)
        self.assertEqual(self.files.unstrip_protocol(url), one)
        with self.fsspec.open(self.files.unstrip_protocol(url), **options) as file:
            self.assertEqual(file.read(), b"text")
        opened = self.fsspec.open_files(f"warpaes::file://{self.data}/new/*/f*", keyset=self.keyset)
        self.assertEqual([file.path for file in opened], [f"{self.data}/new/folder/file"])
        mapper = self.files.get_mapper(f"{self.data}/new")
        mapper["folder/other"] = b"more"
        self.assertEqual(dict(mapper), {"folder/file": b"text", "folder/other": b"more"})
        del mapper["folder/file"]
        self.assertEqual(list(mapper), ["folder/other"])

    def test_that_equal_ones_are_equal(self) -> None:
        files = self.make(keyset=f"file:{self.key}")
        self.assertEqual(files, pickle.loads(pickle.dumps(files)))
        self.assertNotEqual(files, self.files)

    def test_async_wrapper(self) -> None:
        wrapper = needed("fsspec.implementations.asyn_wrapper").AsyncFileSystemWrapper(self.files)

        async def use() -> list[Any]:
            await wrapper._pipe_file(str(self.path), b"text")
            await wrapper._cp_file(str(self.path), str(self.data / "copy"))
            listed = await wrapper._ls(str(self.data), detail=True)
            return [await wrapper._cat_file(str(self.data / "copy")), sorted(entry["size"] for entry in listed)]

        self.assertEqual(asyncio.run(use()), [b"text", [4, 4]])
        with self.assertRaisesRegex(ValueError, "asynchronous"):
            self.make(keyset=self.keyset, fs=type(wrapper)(self.files.fs, asynchronous=True))


class Files(Case):
    """Tests of files that ``open`` returns and fsspec wraps."""

    def test_compression(self) -> None:
        """The file appears only after the compressor that writes to it is closed."""
        for name, mode, text in (
            ("gzip", "w", "text"),
            ("bz2", "wb", b"bytes"),
            ("lzma", "wt", "text"),
            ("xz", "xb", b"b"),
        ):
            path = str(self.data / f"file.{name}")
            with self.files.open(path, mode, compression=name) as file:
                file.write(text)
                self.assertFalse(os.path.exists(path))
            with self.files.open(path, "rb" if isinstance(text, bytes) else "r", compression=name) as file:
                self.assertEqual(file.read(), text)
            before = self.files.fs.cat(path)
            write = mode.replace("x", "w")
            with self.assertRaises(KeyError), self.files.open(path, write, compression=name) as file:
                file.write(text)
                raise KeyError
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                file = self.files.open(path, write, compression=name)
                file.write(text * 3)
                del file
            self.assertEqual((self.files.fs.cat(path), len(os.listdir(self.data))), (before, 1))
            with self.files.transaction:
                with self.files.open(path, write, compression=name) as file:
                    file.write(text * 2)
                self.assertEqual(self.files.fs.cat(path), before)
            with self.files.open(path, "rb", compression=name) as file:
                self.assertEqual(len(file.read()), 2 * len(text))
            self.files.rm(path)
        self.files.write_text(str(self.data / "a.gz"), "inferred", compression="infer")
        self.files.write_text(str(self.data / "a.txt"), "plain", compression="infer")
        self.assertEqual(self.files.cat(str(self.data / "a.gz"))[:2], b"\x1f\x8b")
        self.assertEqual(self.files.cat(str(self.data / "a.txt")), b"plain")

    def test_caches(self) -> None:
        """fsspec's whole-file caches work on top of the file system."""
        self.files.pipe(str(self.path), bytes(range(256)) * 100)
        for protocol in ("simplecache", "filecache"):
            for _ in range(2):
                url = f"{protocol}::warpaes::file://{self.path}"
                own = {"cache_storage": str(self.folder / protocol)}
                with self.fsspec.open(url, warpaes={"keyset": self.keyset}, **{protocol: own}) as file:
                    file.seek(256)
                    self.assertEqual(file.read(3), b"\0\1\2", protocol)

    def test_pickled_files(self) -> None:
        self.files.pipe(str(self.path), b"some text")
        with self.make(keyset=f"file:{self.key}").open(str(self.path)) as file:
            file.seek(5)
            with pickle.loads(pickle.dumps(file)) as again:
                self.assertEqual((again.tell(), again.read()), (5, b"text"))
        with self.files.open(str(self.path)) as file, self.assertRaisesRegex(TypeError, "keyset='file:PATH'"):
            pickle.dumps(file)


class Unopened(Case):
    """Every method can handle folders that contain files that the keyset does not open."""

    def setUp(self) -> None:
        super().setUp()
        plain = type(self.fsspec.filesystem("file"))

        class Denying(plain):  # type: ignore[misc, valid-type]
            """A file system with a file that can be listed but not read."""

            protocol = "denying"
            cachable = False

            def cat_file(self, path: str, start: Any = None, end: Any = None, **options: Any) -> Any:
                if path.endswith("denied"):
                    raise PermissionError(13, "Permission denied", path)
                return super().cat_file(path, start, end, **options)

        self.files = self.make(keyset=self.keyset, fs=Denying())
        self.tree = self.data / "tree"
        for name in ("a", "denied", "z/b", "z/denied"):
            (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
            self.write(name.encode(), self.tree / name)
        (self.tree / "clear").write_text("unencrypted, and longer than any header of an encrypted file" * 100)
        (self.tree / "short").write_text("x")
        with warpaes.open(self.tree / "foreign", "wb", keyset=warpaes.Keyset.generate("AES256_GCM_HKDF_4KB")) as file:
            file.write(b"foreign")
        cut = bytearray((self.tree / "a").read_bytes())
        (self.tree / "cut").write_bytes(cut[:-1])
        self.sizes: dict[str, int | None] = dict.fromkeys(("clear", "short", "foreign", "cut", "denied", "z/denied"))
        self.sizes |= {"a": 1, "z/b": 3}

    def relative(self, found: dict[str, Any]) -> dict[str, Any]:
        return {os.path.relpath(name, self.tree): value for name, value in found.items()}

    def test_listings(self) -> None:
        found = self.files.find(str(self.tree), detail=True)
        self.assertEqual(self.relative({name: entry["size"] for name, entry in found.items()}), self.sizes)
        self.assertEqual(self.relative(dict.fromkeys(self.files.find(str(self.tree)))).keys(), self.sizes.keys())
        found = self.files.glob(f"{self.tree}/*", detail=True)
        above = {name: size for name, size in self.sizes.items() if "/" not in name}
        sizes = {name: entry["size"] for name, entry in found.items() if entry["type"] == "file"}
        self.assertEqual(self.relative(sizes), above)
        listed = {entry["name"]: entry["size"] for entry in self.files.ls(str(self.tree)) if entry["type"] == "file"}
        self.assertEqual(self.relative(listed), above)
        walked = {
            entry["name"]: entry["size"]
            for _, _, files in self.files.walk(str(self.tree), detail=True, on_error="raise")
            for entry in files.values()
        }
        self.assertEqual(self.relative(walked), self.sizes)
        for name, size in self.sizes.items():
            path = str(self.tree / name)
            self.assertEqual((self.files.size(path), self.files.sizes([path])), (size, [size]))
            self.assertTrue(self.files.exists(path) and self.files.isfile(path))
            self.assertEqual(self.files.du(path), size or 0)
        self.assertEqual(self.files.du(str(self.tree)), 4)
        self.assertEqual(self.relative(self.files.du(str(self.tree), total=False)), {"a": 1, "z/b": 3})

    def test_a_function_of_associated_data_that_fails(self) -> None:
        table = {str(self.path): b"bound"}
        files = self.make(keyset=self.keyset, associated_data=table.__getitem__)
        files.pipe(str(self.path), b"text")
        sizes = {entry["name"]: entry["size"] for entry in files.ls(str(self.data))}
        self.assertEqual(sizes[str(self.path)], 4)
        self.assertEqual(files.du(str(self.data)), 4)
        with self.assertRaises(KeyError):
            files.cat(str(self.tree / "a"))

    def test_reading(self) -> None:
        paths = [str(self.tree / name) for name in self.sizes]
        errors = {
            "clear": exceptions.FormatError,
            "cut": exceptions.InvalidTag,
            "denied": PermissionError,
            "foreign": exceptions.InvalidTag,
            "short": exceptions.FormatError,
            "z/denied": PermissionError,
        }
        found = self.relative(self.files.cat(paths, on_error="return"))
        self.assertEqual({name: data for name, data in found.items() if name not in errors}, {"a": b"a", "z/b": b"z/b"})
        for name, kind in errors.items():
            self.assertIsInstance(found[name], kind, name)
            with self.assertRaises(kind):
                self.files.cat(str(self.tree / name))
        self.assertEqual(self.relative(self.files.cat(paths, on_error="omit")).keys(), {"a", "z/b"})
        ranges = self.files.cat_ranges(paths, 0, 1, on_error="return")
        self.assertEqual([data for data in ranges if isinstance(data, bytes)], [b"a", b"z"])
        with self.assertRaises((exceptions.InvalidTag, exceptions.FormatError, PermissionError)):
            self.files.get(str(self.tree), str(self.got), recursive=True)
        for folder, _, files in os.walk(self.got):
            for name in files:  # a file that exists is complete
                relative = os.path.relpath(os.path.join(folder, name), self.got)
                self.assertEqual(pathlib.Path(folder, name).read_bytes(), relative.encode())

    def test_what_reads_no_content(self) -> None:
        """Copies, moves and removals do not need a key."""
        names = sorted(self.sizes)
        before = {name: (self.tree / name).read_bytes() for name in names}
        self.files.copy(str(self.tree), str(self.data / "copy"), recursive=True)
        self.files.mv(str(self.data / "copy"), str(self.data / "moved"), recursive=True)
        self.assertFalse((self.data / "copy").exists())
        self.assertEqual({name: (self.data / "moved" / name).read_bytes() for name in names}, before)
        self.files.rm(str(self.data / "moved"), recursive=True)
        self.assertEqual(os.listdir(self.data), ["tree"])

    def test_bound_to_paths(self) -> None:
        """Copies and moves that encrypt again stop at a file that does not open, and remove nothing."""
        files = self.make(keyset=self.keyset, associated_data=str.encode)
        tree, target = self.data / "bound", self.data / "target"
        names = ["a", "s/b", "s/t/c"]
        for name in names:
            files.makedirs(str((tree / name).parent), exist_ok=True)
            files.pipe(str(tree / name), name.encode())
        (tree / "empty").mkdir()
        files.copy(str(tree), str(target), recursive=True)
        self.assertEqual([files.cat(str(target / name)) for name in names], [name.encode() for name in names])
        self.assertTrue((target / "empty").is_dir())
        files.mv(str(target), str(self.data / "moved"))
        self.assertFalse(target.exists())
        self.assertEqual([files.cat(str(self.data / "moved" / name)) for name in names], [b"a", b"s/b", b"s/t/c"])
        (tree / "s" / "b").write_bytes(b"not sealed" * 10)
        for call in (
            lambda: files.copy(str(tree), str(target), recursive=True),
            lambda: files.mv(str(tree), str(target)),
        ):
            with self.assertRaises((exceptions.InvalidTag, exceptions.FormatError)):
                call()
            self.assertEqual(files.cat(str(tree / "a")), b"a")
            self.assertEqual(files.cat(str(tree / "s" / "t" / "c")), b"s/t/c")


class Reads(Case):
    """Tests of the number of reads of sealed files."""

    def setUp(self) -> None:
        super().setUp()
        counted = self.counted = [0]

        class Counting(type(self.fsspec.filesystem("memory"))):  # type: ignore[misc]
            protocol = "counting"
            cachable = False

            def cat_file(self, *positions: Any, **options: Any) -> Any:
                counted[0] += 1
                return super().cat_file(*positions, **options)

        self.below = Counting(global_store=False)
        self.files = self.make(keyset=self.keyset, fs=self.below)
        self.files.pipe({f"/d/{i}/{j}": b"x" * i for i in range(4) for j in range(5)})

    def reads(self, call: Any) -> int:
        self.counted[0] = 0
        call()
        return self.counted[0]

    def test_names(self) -> None:
        files = self.files
        for call in (
            lambda: files.find("/d"),
            lambda: files.find("/d", withdirs=True),
            lambda: files.glob("/d/**"),
            lambda: list(files.walk("/d")),
            lambda: files.ls("/d/1", detail=False),
            lambda: files.expand_path("/d", recursive=True),
            lambda: [files.exists("/d/1/1"), files.isfile("/d/1/1"), files.isdir("/d/1/1"), files.ukey("/d/1/1")],
            lambda: files.copy("/d/1", "/e", recursive=True),
            lambda: files.rm("/e", recursive=True),
        ):
            self.assertEqual(self.reads(call), 0)

    def test_sizes(self) -> None:
        """A listing opens each file once, with two reads, and not again until the file is replaced."""
        files = self.files
        calls = {
            "ls": lambda: [files.ls(f"/d/{i}") for i in range(4)],
            "find": lambda: files.find("/d", detail=True),
            "glob": lambda: files.glob("/d/*/*", detail=True),
            "walk": lambda: list(files.walk("/d", detail=True)),
            "du": lambda: files.du("/d"),
            "info": lambda: [files.info(f"/d/{i}/{j}") for i in range(4) for j in range(5)],
            "size": lambda: [files.size(f"/d/{i}/{j}") for i in range(4) for j in range(5)],
        }
        for name, first in calls.items():
            files.invalidate_cache()
            self.assertEqual(self.reads(first), 40, name)
            for other, again in calls.items():
                self.assertEqual(self.reads(again), 0, (name, other))
        self.assertEqual(files.du("/d"), 30)
        self.below.rm("/d/1/1")
        files.pipe("/d/1/1", b"yy")
        self.assertEqual(self.reads(lambda: files.find("/d", detail=True)), 2)
        self.assertEqual(files.du("/d"), 31)

    def test_that_what_is_kept_is_bounded(self) -> None:
        with unittest.mock.patch("warpaes._fs_listing._MAX_SIZES", 7):
            self.assertEqual(self.files.du("/d"), 30)
            self.assertEqual(self.files.du("/d"), 30)
        self.assertEqual(len(self.files._sizes), 7)


class Below(Case):
    """Tests on other file systems with their particular faults."""

    def test_memory_shows_a_file_when_it_is_whole(self) -> None:
        memory = type(self.fsspec.filesystem("memory"))
        for nested in (False, True):
            below = memory(global_store=False, skip_instance_cache=True)
            below.makedirs("/in")
            if nested:
                below = self.fsspec.filesystem("dir", path="/in", fs=below)
            files = self.make(keyset=self.keyset, fs=below)
            files.pipe("/a", b"before")
            with self.assertRaises(KeyError), files.open("/a", "wb") as file:
                file.write(b"half" * 100_000)
                self.assertEqual(files.cat("/a"), b"before")
                raise KeyError
            self.assertEqual(files.cat("/a"), b"before")
            with self.assertRaises(KeyError), files.transaction:
                files.pipe({"/a": b"after", "/b": b"after"})
                raise KeyError
            self.assertEqual((files.cat("/a"), files.exists("/b")), (b"before", False))
            with files.transaction:
                files.pipe({"/a": b"after", "/b": b"after"})
                self.assertEqual((files.cat("/a"), files.exists("/b")), (b"before", False))
            self.assertEqual(
                files.cat(["/a", "/b"]),
                dict.fromkeys((files._strip_protocol("/a"), files._strip_protocol("/b")), b"after"),
            )
            with self.assertRaises(FileExistsError), files.open("/c", "xb") as file:
                below.pipe("/c", b"theirs")
            self.assertEqual(below.cat("/c"), b"theirs")
            files.mkdir("/folder")
            for mode in ("rb", "wb"):
                with self.assertRaises(IsADirectoryError):
                    files.open("/folder", mode)

    def test_two_readers_in_memory(self) -> None:
        """fsspec's file in memory is a single object with a single shared position."""
        files = self.make(keyset=self.keyset, fs=type(self.fsspec.filesystem("memory"))(global_store=False))
        text = os.urandom(1 << 20)
        files.pipe("/a", text)
        with files.open("/a") as first, files.open("/a") as second:
            self.assertEqual(first.read(300_000), text[:300_000])
            self.assertEqual(second.read(), text)
            self.assertEqual(first.read(), text[300_000:])

    def test_writing_to_a_folder(self) -> None:
        """In a transaction, fsspec's local files move into a folder of their name and then have a different path."""
        (self.data / "folder").mkdir()
        below = self.fsspec.filesystem("dir", path=str(self.data), target_protocol="file")
        for files, path in (
            (self.files, str(self.data / "folder")),
            (self.make(keyset=self.keyset, fs=below), "folder"),
        ):
            with self.assertRaises(IsADirectoryError):
                files.pipe(path, b"text")
            with self.assertRaises(IsADirectoryError), files.transaction:
                files.pipe(path, b"text")
            self.assertEqual(os.listdir(self.data / "folder"), [])
            with self.assertRaises(KeyError), files.open(f"{path}/a", "wb") as file:
                file.write(b"half")
                modes = {entry.stat().st_mode & 0o777 for entry in (self.data / "folder").iterdir()}
                raise KeyError
            self.assertEqual((modes, os.listdir(self.data / "folder")), ({0o600}, []))

    def test_moving_onto_a_file_in_a_folder(self) -> None:
        """A local file system refuses such a move, even if the move encrypts again."""
        for options in ({}, {"associated_data": str.encode}):
            files = self.make(keyset=self.keyset, **options)
            (self.data / "folder").mkdir(exist_ok=True)
            files.pipe({f"{self.data}/a": b"1", f"{self.data}/folder/a": b"2"})
            with self.assertRaises(OSError):
                files.mv(f"{self.data}/a", f"{self.data}/folder")
            self.assertEqual((files.cat(f"{self.data}/a"), files.cat(f"{self.data}/folder/a")), (b"1", b"2"))

    def test_nothing_is_left_in_transactions_below(self) -> None:
        below = self.fsspec.filesystem("dir", path=str(self.data), target_protocol="file")
        files = self.make(keyset=self.keyset, fs=below)
        for _ in range(3):
            files.pipe("a", b"text")
        while below is not None:
            transaction = getattr(below, "_transaction", None)
            self.assertFalse(transaction is not None and transaction.files)
            below = getattr(below, "fs", None)
        self.assertEqual(files.cat("a"), b"text")

    def test_listings_that_are_old(self) -> None:
        """A file system with cached listings may return an old size."""
        kept: dict[str, Any] = {}

        class Keeping(type(self.fsspec.filesystem("file"))):  # type: ignore[misc]
            protocol = "keeping"
            cachable = False

            def info(self, path: str, **options: Any) -> Any:
                return kept.setdefault(str(path), super().info(path, **options))

            def invalidate_cache(self, path: Any = None) -> None:
                kept.clear()

        files = self.make(keyset=self.keyset, fs=Keeping())
        for text in (b"first", b"x" * 10_000, b"", b"y" * 5000):
            self.write(text)
            self.assertEqual(files.cat(str(self.path)), text)
            self.assertEqual(files.cat_ranges([str(self.path)], [1], [3]), [text[1:3]])
        self.write(b"other")
        self.alter(50)
        with self.assertRaises(exceptions.InvalidTag):
            files.cat(str(self.path))

    def test_sizes_that_are_not_known(self) -> None:
        class Sizeless(type(self.fsspec.filesystem("file"))):  # type: ignore[misc]
            protocol = "sizeless"
            cachable = False

            def info(self, path: str, **options: Any) -> Any:
                return {**super().info(path, **options), "size": None}

        files = self.make(keyset=self.keyset, fs=Sizeless())
        files.pipe(str(self.path), b"text")
        self.assertEqual(files.cat(str(self.path)), b"text")
        self.assertEqual(files.du(str(self.data)), 4)
        self.assertEqual(files.info(str(self.path))["sealed_size"], None)
        files.get(str(self.path), str(self.got))
        self.assertEqual(self.got.read_bytes(), b"text")

    def test_ranges_that_are_not_kept_to(self) -> None:
        """HTTP servers may respond to a request for a range with the whole file."""
        plain = type(self.fsspec.filesystem("file"))
        requests = []

        class Whole(plain):  # type: ignore[misc, valid-type]
            protocol = "whole"
            cachable = False

            def cat_file(self, path: str, start: Any = None, end: Any = None, **options: Any) -> Any:
                requests.append(path)
                return super().cat_file(path)

        files = self.make(keyset=self.keyset, fs=Whole())
        text = os.urandom(100_000)
        self.write(text)
        self.assertEqual(files.cat(str(self.path)), text)
        self.assertEqual(len(requests), 1)
        self.assertEqual(
            files.cat_ranges([str(self.path)] * 2, [5, 50_000], [9, 50_010]), [text[5:9], text[50_000:50_010]]
        )
        self.assertEqual(files.info(str(self.path))["size"], 100_000)
        self.alter(60_000)
        with self.assertRaises(exceptions.InvalidTag):
            files.cat(str(self.path))

    def test_files_that_are_read_forward(self) -> None:
        class Forward(io.BytesIO):
            def seekable(self) -> bool:
                return False

        class Streaming(type(self.fsspec.filesystem("file"))):  # type: ignore[misc]
            protocol = "streaming"
            cachable = False

            def _open(self, path: str, *positions: Any, **options: Any) -> Any:
                return Forward(pathlib.Path(path).read_bytes())

        text = os.urandom(100_000)
        self.write(text)
        files = self.make(keyset=self.keyset, fs=Streaming())
        files.get(str(self.path), str(self.got))
        self.assertEqual(self.got.read_bytes(), text)
        self.alter(60_000)
        with self.assertRaises(exceptions.InvalidTag):
            files.get(str(self.path), str(self.got))
        self.assertEqual(self.got.read_bytes(), text)

    def test_files_that_go_meanwhile(self) -> None:
        for name in "abc":
            self.write(b"text", self.data / name)

        class Removing(type(self.fsspec.filesystem("file"))):  # type: ignore[misc]
            protocol = "removing"
            cachable = False

            def cat_file(self, path: str, *positions: Any, **options: Any) -> Any:
                if path.endswith("b"):
                    with contextlib.suppress(FileNotFoundError):
                        os.remove(path)
                return super().cat_file(path, *positions, **options)

        files = self.make(keyset=self.keyset, fs=Removing())
        names = [os.path.basename(entry["name"]) for entry in files.ls(str(self.data))]
        self.assertEqual(sorted(names), ["a", "c"])
        with self.assertRaises(FileNotFoundError):
            files.info(str(self.data / "b"))

    def test_local_sources_of_unknown_length(self) -> None:
        """A file in /proc has the size 0, and a source may become shorter while it is read."""
        self.files.put("/proc/version", str(self.path))
        self.assertEqual(self.files.cat(str(self.path)), pathlib.Path("/proc/version").read_bytes())
        source = self.folder / "source"
        source.write_bytes(b"x" * 10_000)
        self.files.blocksize = 1000
        callback = self.fsspec.callbacks.Callback(hooks={"cut": lambda size, value: os.truncate(source, 5000)})
        self.files.put_file(str(source), str(self.path), callback=callback)
        self.assertEqual(self.files.cat(str(self.path)), b"x" * 5000)
        self.files.put_file("/proc/version", str(self.data / "new"), mode="create")
        with self.assertRaises(FileExistsError):
            self.files.put_file("/proc/version", str(self.data / "new"), mode="create")

    def test_callbacks(self) -> None:
        """Callbacks receive the same steps and bytes as from fsspec's own file system."""
        source = self.folder / "source"
        (source / "sub").mkdir(parents=True)
        for name in ("a", "sub/b"):
            (source / name).write_bytes(b"x" * 1234)
        seen: list[tuple[Any, int]] = []

        class Branching(self.fsspec.callbacks.Callback):  # type: ignore[misc, name-defined]
            def branched(self, path_1: str, path_2: str, **options: Any) -> Any:
                child = self.__class__()
                child.close = lambda: seen.append((child.size, child.value))
                return child

        for method, positions in (("put", (str(source), f"{self.data}/")), ("get", (f"{self.data}/", str(self.got)))):
            callback = Branching()
            seen.clear()
            getattr(self.files, method)(*positions, recursive=True, callback=callback)
            self.assertEqual(callback.size, callback.value)
            self.assertEqual([step for step in seen if step[0]], [(1234, 1234)] * 2, method)


class S3(Case):
    """Tests of S3 objects on moto's server."""

    def setUp(self) -> None:
        super().setUp()
        needed("s3fs")
        from faulty_s3 import Store

        self.store = Store()
        self.addCleanup(self.store.close)
        self.options = {"anon": False, "client_kwargs": {"endpoint_url": self.store.moto.url}}
        self.files = self.make(keyset=self.keyset, target_protocol="s3", target_options=self.options)
        self.other = self.fsspec.filesystem("s3", skip_instance_cache=True, **self.options)

    def test_new_objects(self) -> None:
        """Another process's object is not replaced, even if it appears at the last moment."""
        for size in (0, 100, 6 << 20):
            file = self.files.open(f"bucket/x{size}", "xb")
            file.write(bytes(size))
            self.store.put(f"x{size}", b"theirs")
            with (
                unittest.mock.patch.object(type(self.files), "_refuse_existing"),
                self.assertRaises(FileExistsError),
            ):
                file.close()
            self.assertEqual(self.store.get(f"x{size}"), b"theirs")
            with self.assertRaises(FileExistsError):
                self.files.pipe(f"bucket/x{size}", b"ours", mode="create")
        self.assertEqual(self.store.uploads(), [])

    def test_files_that_are_not_completed(self) -> None:
        for size in (0, 100, 12 << 20):
            with self.assertRaises(KeyError), self.files.open("bucket/a", "wb") as file:
                file.write(bytes(size))
                raise KeyError
            with self.assertRaises(KeyError), self.files.transaction:
                self.files.pipe("bucket/a", bytes(size))
                raise KeyError
        self.assertEqual((self.store.keys(), self.store.uploads()), ([], []))
        with self.files.transaction:
            self.files.pipe("bucket/a", bytes(12 << 20))
            self.assertEqual(self.store.keys(), [])
        self.assertEqual(self.files.size("bucket/a"), 12 << 20)

    def test_objects_that_others_replaced(self) -> None:
        """s3fs caches listings with old sizes."""
        self.files.pipe({"bucket/d/a": b"1", "bucket/d/b": b"2"})
        self.assertEqual(self.files.du("bucket/d"), 2)
        self.files.ls("bucket/d")
        self.make(keyset=self.keyset, fs=self.other).pipe("bucket/d/a", b"x" * 9000)
        self.assertEqual(self.files.cat("bucket/d/a"), b"x" * 9000)
        self.assertEqual(self.files.du("bucket/d"), 9001)

    def test_trees(self) -> None:
        """Tests copies and moves of folders whose files are bound to their paths, and sizes next to files that do not
        open."""
        files = self.make(keyset=self.keyset, fs=self.files.fs, associated_data=str.encode)
        files.pipe({"bucket/a/x": b"1", "bucket/a/s/y": b"22"})
        files.copy("bucket/a", "bucket/b", recursive=True)
        files.mv("bucket/b", "bucket/c", recursive=True)
        self.assertEqual(
            (files.cat(["bucket/c/x", "bucket/c/s/y"]), files.find("bucket/b")),
            (
                {"bucket/c/x": b"1", "bucket/c/s/y": b"22"},
                [],
            ),
        )
        self.store.put("c/clear", b"text")
        self.assertEqual(files.du("bucket/c"), 3)
        self.assertEqual(files.du("bucket/c", total=False), {"bucket/c/x": 1, "bucket/c/s/y": 2})
        files.get("bucket/c/s", str(self.got), recursive=True)
        self.assertEqual((self.got / "y").read_bytes(), b"22")

    def test_urls(self) -> None:
        with self.fsspec.open("warpaes::s3://bucket/k", "wb", keyset=self.keyset, s3=self.options) as file:
            file.write(b"text")
        with self.fsspec.open("warpaes::s3://bucket/k", keyset=self.keyset, s3=self.options) as file:
            self.assertEqual(file.read(), b"text")
        one = self.files.unstrip_protocol("bucket/k")
        self.assertEqual(one, "warpaes://s3://bucket/k")
        with self.fsspec.open(one, keyset=self.keyset, s3=self.options) as file:
            self.assertEqual(file.read(), b"text")


if __name__ == "__main__":
    unittest.main()
