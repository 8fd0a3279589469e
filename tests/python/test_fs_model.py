#!/usr/bin/env python3
"""Tests that random sequences of fsspec calls produce equal results and equal trees on a plain file system and on
sealed files.

`test_fs_model.py SEED…` runs the given sequences and prints the call that differs.
"""

from __future__ import annotations

import pathlib
import random
import shutil
import sys
import tempfile
import unittest
import unittest.mock
from collections.abc import Callable
from typing import Any

import warpaes
from support import needed

SEQUENCES = 40
CALLS = 40
NAMES = ["a", "b", "d", "d/a", "d/b", "d/e", "d/e/f", "g", "g/a", "g/h/a", "a.txt", "d/x.txt", "d/e/.hidden", "é"]
PATTERNS = ["*", "**", "d/*", "*.txt", "d/**", "?", "[ab]", "d/?/*", "**/a", "*/", "nothing*"]
SOURCES = ["f1", "", "/", "sub", "*", "**"]


class Tree:
    """A file system with its root, a folder of local files, and a random source that makes the same choices for two
    such trees."""

    def __init__(self, files: Any, root: str, local: pathlib.Path) -> None:
        self.files, self.root, self.local = files, root, local
        self.choices = random.Random()
        (local / "source" / "sub" / "deep").mkdir(parents=True)
        (local / "source" / "empty").mkdir()
        for name, data in {"f1": b"1", "f2": b"", "sub/f3": b"333", "sub/deep/f4": b"4" * 5000}.items():
            (local / "source" / name).write_bytes(data)
        files.makedirs(root, exist_ok=True)

    def chance(self, share: float) -> bool:
        return self.choices.random() < share

    def pick(self, *values: Any) -> Any:
        return self.choices.choice(values)

    def data(self) -> bytes:
        return self.choices.randbytes(self.pick(0, 0, 1, 5, 100, 4055, 5000))

    def path(self) -> str:
        return f"{self.root}/{self.choices.choice(NAMES)}"

    def slashed(self) -> str:
        return self.path() + ("/" if self.chance(0.15) else "")

    def some(self) -> Any:
        return pathlib.PurePosixPath(self.path()) if self.chance(0.1) else self.slashed()

    def pattern(self) -> str:
        return f"{self.root}/{self.choices.choice(PATTERNS)}"

    def below(self) -> str:
        return str(self.pick(self.root, self.slashed()))

    # The following calls are compared by their results.

    def pipe_file(self) -> None:
        self.files.pipe_file(self.path(), self.data(), mode=self.pick("overwrite", "overwrite", "create"))

    def pipe(self) -> None:
        self.files.pipe(self.path() if self.chance(0.5) else {self.path(): self.data() for _ in range(3)}, self.data())

    def write(self) -> None:
        with self.files.open(self.path(), self.pick("wb", "wb", "xb")) as file:
            for _ in range(3):
                file.write(self.data())

    def write_text(self) -> Any:
        path = self.path()
        self.files.write_text(path, "häl\nlo", encoding="utf-8")
        return self.files.read_text(path, encoding="utf-8")

    def transaction(self) -> None:
        fails = self.chance(0.3)
        try:
            with self.files.transaction:
                for _ in range(2):
                    path = self.path()
                    if not self.files.isdir(path) and self.files.isdir(path.rsplit("/", 1)[0]):
                        with self.files.open(path, "wb") as file:
                            file.write(self.data())
                if fails:
                    raise KeyError
        except KeyError:
            pass

    def cat_file(self) -> Any:
        ranges = [(None, None), (0, 60), (1, None), (50, 6000), (-3, None), (None, 1), (None, -1)]
        return self.files.cat_file(self.slashed(), *self.pick(*ranges))

    def cat(self) -> Any:
        path = self.pick(self.some(), self.pattern(), [self.path() for _ in range(3)])
        return self.files.cat(path, recursive=self.chance(0.2), on_error=self.pick("raise", "omit", "return"))

    def cat_ranges(self) -> Any:
        paths = [self.path() for _ in range(3)]
        return self.files.cat_ranges(paths, [0, 1, 2], [3, None, 10], on_error=self.pick("raise", "return"))

    def read(self) -> Any:
        with self.files.open(self.slashed(), "rb") as file:
            return [file.read(3), file.seek(1), file.read(5), file.seek(0, 2), file.tell()]

    def ends(self) -> Any:
        path = self.slashed()
        return [self.files.head(path, 7), self.files.tail(path, 7)]

    def read_block(self) -> Any:
        path = self.slashed()
        start = 3 if self.files.isfile(path) and self.files.size(path) > 3 else 0
        return self.files.read_block(path, start, 10)

    def ls(self) -> Any:
        entries = self.files.ls(self.pick(self.root, self.some()), detail=self.chance(0.5))
        return sorted(entries, key=lambda entry: entry["name"] if isinstance(entry, dict) else entry)

    def info(self) -> Any:
        return self.files.info(self.some())

    def find(self) -> Any:
        depth, folders, detail = self.pick(None, 1, 2), self.chance(0.5), self.chance(0.5)
        return self.files.find(self.below(), maxdepth=depth, withdirs=folders, detail=detail)

    def glob(self) -> Any:
        return self.files.glob(self.pattern(), detail=self.chance(0.5), maxdepth=self.pick(None, None, 1, 2))

    def walk(self) -> Any:
        options = {"maxdepth": self.pick(None, 1, 2), "topdown": self.chance(0.5), "detail": self.chance(0.5)}
        found = sorted(self.files.walk(self.root, **options), key=lambda step: step[0])
        return [
            (folder, sorted(folders), dict(sorted(files.items())) if options["detail"] else sorted(files))
            for folder, folders, files in found
        ]

    def du(self) -> Any:
        sizes = self.files.du(self.below(), total=False, maxdepth=self.pick(None, 1))
        # In memory, a path may be both a file and a folder.
        return {path: size for path, size in sizes.items() if not self.files.isdir(path)}

    def sizes(self) -> Any:
        return self.files.sizes([path for path in (self.path() for _ in range(2)) if not self.files.isdir(path)])

    def exists(self) -> Any:
        path = self.path()
        return [call(path) for call in (self.files.exists, self.files.lexists, self.files.isdir, self.files.isfile)]

    def ukey(self) -> Any:
        path = self.path()
        return self.files.ukey(path) == self.files.ukey(path)

    def mapper(self) -> Any:
        mapper = self.files.get_mapper(f"{self.root}/d")
        return {name: mapper[name] for name in sorted(mapper)}

    def mkdir(self) -> None:
        self.files.mkdir(self.slashed(), create_parents=self.chance(0.5))

    def makedirs(self) -> None:
        self.files.makedirs(self.slashed(), exist_ok=self.chance(0.5))

    def rmdir(self) -> None:
        self.files.rmdir(self.slashed())

    def rm(self) -> None:
        self.files.rm(self.pick(self.slashed(), [self.path(), self.path()]), recursive=self.chance(0.5))

    def rm_file(self) -> None:
        self.files.rm_file(self.slashed())

    def touch(self) -> None:
        self.files.touch(self.path(), truncate=self.chance(0.7))

    def cp_file(self) -> None:
        source, target = self.path(), self.path()
        if source != target:
            self.files.cp_file(source, target)

    def copy(self) -> None:
        source, target = self.pick(self.slashed(), self.pattern()), self.slashed()
        options = {"recursive": self.chance(0.5), "maxdepth": self.pick(None, None, 1)}
        options["on_error"] = self.pick(None, "raise", "ignore")
        fixed = source.split("*")[0].split("?")[0].split("[")[0].rstrip("/")
        if not target.startswith(fixed):  # copying a folder into itself never ends
            self.files.copy(source, target, **options)

    def mv(self) -> None:
        source, target = self.path(), self.path()
        if not target.startswith(source) and not source.startswith(target):
            self.files.mv(source, target, recursive=self.chance(0.5))

    def put(self) -> None:
        source = f"{self.local}/source/{self.choices.choice(SOURCES)}"
        self.files.put(source, self.slashed(), recursive=self.chance(0.6), maxdepth=self.pick(None, None, 1))

    def put_several(self) -> None:
        sources = [f"{self.local}/source/f1", f"{self.local}/source/f2"]
        target = self.pick(f"{self.root}/g/", f"{self.root}/new/", [f"{self.root}/p", f"{self.root}/q"])
        self.files.put(sources, target)

    def get(self) -> Any:
        target = self.local / f"got{self.choices.randrange(1 << 30)}"
        if self.chance(0.5):
            target.mkdir()
        source, slash = self.pick(self.slashed(), self.pattern()), "/" if self.chance(0.3) else ""
        options = {"recursive": self.chance(0.6), "maxdepth": self.pick(None, None, 1)}
        if any(self.files.isfile(str(parent)) for parent in pathlib.PurePosixPath(source).parents):
            return None  # file systems report a path below a file as missing or as not a folder
        self.files.get(source, f"{target}{slash}", **options)
        found = [target, *sorted(target.rglob("*"))] if target.exists() else []
        return [(str(path.relative_to(self.local)), path.is_file() and path.read_bytes()) for path in found]


CALLED: list[Callable[[Tree], Any]] = [
    call
    for name, call in vars(Tree).items()
    if callable(call)
    and name not in ("__init__", "chance", "pick", "data", "path", "slashed", "some", "pattern", "below")
]


def comparable(value: Any, tree: Tree) -> Any:
    """Return a result without the parts that always differ: roots, times, and sizes of folders."""
    if isinstance(value, dict):
        if "type" in value and "name" in value:
            kept = ("name", "type", "size") if value["type"] == "file" else ("name", "type")
            value = {name: value[name] for name in kept}
        return {comparable(name, tree): comparable(each, tree) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [comparable(each, tree) for each in value]
    if isinstance(value, str):
        return value.replace(tree.root, "ROOT")
    if isinstance(value, (FileExistsError, NotADirectoryError)):
        return NotADirectoryError  # for a path below a file, the error depends on the first call
    return type(value) if isinstance(value, Exception) else value


def outcome(call: Callable[[Tree], Any], tree: Tree, seed: int) -> Any:
    tree.choices.seed(seed)
    try:
        return comparable(call(tree), tree)
    except Exception as error:
        return ("raised", comparable(error, tree))


def content(tree: Tree) -> Any:
    found = tree.files.find(tree.root, withdirs=True, detail=True) if tree.files.exists(tree.root) else {}
    read = {name: tree.files.cat_file(name) if entry["type"] == "file" else None for name, entry in found.items()}
    return comparable(read, tree)


class Model(unittest.TestCase):
    def setUp(self) -> None:
        needed("fsspec")
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.keyset = warpaes.Keyset.generate("AES256_GCM_HKDF_4KB")
        patch = unittest.mock.patch("os.fsync")
        patch.start()
        self.addCleanup(patch.stop)

    def run_one(self, make: Callable[[], Any], roots: list[str], seed: int, names: str | None = None) -> None:
        from warpaes.fs import WarpaesFileSystem

        choices = random.Random(seed)
        plain = Tree(make(), roots[0], self.folder / f"{seed}" / "plain")
        files = WarpaesFileSystem(self.keyset, fs=make(), encrypted_names=names)
        sealed = Tree(files, roots[1], self.folder / f"{seed}" / "sealed")
        for step in range(CALLS):
            call, chosen = choices.choice(CALLED), choices.randrange(1 << 60)
            if names is not None and call in (Tree.mv, Tree.copy):
                continue  # files are encrypted again, and errors differ
            expected, got = outcome(call, plain, chosen), outcome(call, sealed, chosen)
            where = f"seed {seed}, call {step}: {call.__name__}"
            self.assertEqual(got, expected, where)
            self.assertEqual(content(sealed), content(plain), where)

    def test_local(self) -> None:
        from fsspec.implementations.local import LocalFileSystem

        for seed in SEEDS:
            roots = [str(self.folder / f"{seed}" / kind / "root") for kind in ("plain", "sealed")]
            self.run_one(lambda: LocalFileSystem(auto_mkdir=True), roots, seed)

    def test_memory(self) -> None:
        from fsspec.implementations.memory import MemoryFileSystem

        for seed in SEEDS:
            make = lambda: MemoryFileSystem(global_store=False, skip_instance_cache=True)  # noqa: E731
            self.run_one(make, ["/root", "/root"], seed)

    def test_encrypted_names(self) -> None:
        from fsspec.implementations.local import LocalFileSystem

        for seed in SEEDS:
            roots = [str(self.folder / f"{seed}" / kind / "root") for kind in ("plain", "sealed")]
            self.run_one(lambda: LocalFileSystem(auto_mkdir=True), roots, seed, roots[1])


SEEDS = [int(seed) for seed in sys.argv[1:] if seed.isdigit()] or list(range(SEQUENCES))

if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *(word for word in sys.argv[1:] if not word.isdigit())])
