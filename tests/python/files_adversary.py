"""Tests warpaes.fs, tensor files and encrypted keysets in a folder against an adversary who can write to the folder.

    PYTHONPATH=build/default/python:tests/python python3 tests/python/files_adversary.py --runs 1000 --seed 1

Between any two of the owner's calls, random acts from storage_acts.py change the folder. After each call: a. the call
returned complete content that the owner wrote, or raised a documented exception; b. nothing outside the folder has
changed; c. no file has more permissions than before; d. no temporary file remains.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import os
import pathlib
import random
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import fsspec
import numpy as np
import warpaes
from bulk_case import MEMORY
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from storage_acts import Adversary, Files, Node, Tree
from warpaes import exceptions, keysources, safetensors
from warpaes.fs import WarpaesFileSystem

#: Exceptions that a call may raise for an altered file.
ALLOWED = (
    exceptions.FormatError,
    exceptions.InvalidSignature,
    exceptions.InvalidTag,
    exceptions.InvalidUnwrap,
    exceptions.KeysetError,
    OSError,
)
NAMES = ["n0", "n1", "d/m"]


class BrokenError(Exception):
    """A violated invariant: its letter and a message."""


class FilesAdversary(Adversary):
    ACTS = (
        Adversary.edit,
        Adversary.field,
        Adversary.swap,
        Adversary.copy,
        Adversary.delete,
        Adversary.replay,
        Adversary.roll_back,
        Adversary.forge,
        Adversary.link,
    )
    RARE = (Adversary.mode,)

    def link(self, chance: random.Random) -> str:
        """Replace only files, because a folder that the owner names may be a link."""
        name = chance.choice(self.world.names)
        outside = self.world.outside
        places: list[Node] = [("link", os.fsencode(outside / each), 0) for each in ("secret", "new", "nowhere/x")]
        node = chance.choice([*places, ("folder", b"", 0o755)])
        self.place.set(name, None)
        self.place.set(name, node)
        return f"{node[0]} {os.fsdecode(node[1])} at {name}"

    ACTS = (*ACTS[:-1], link)


class World:
    """A run. The acts use the same attribute names as in the class World in storage_adversary.py."""

    suffix, envelope, may_wrap = "", "", False

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.root = pathlib.Path(tempfile.mkdtemp(dir=MEMORY, prefix="adversary-"))
        self.folder, self.outside = self.root / "folder", self.root / "outside"
        self.folder.mkdir()
        self.outside.mkdir()
        (self.outside / "secret").write_bytes(b"a secret with a different purposer")
        self.place = Files(self.folder)
        self.names = [*NAMES, "t0", "t1", "k0", "k1"]
        self.known = [warpaes.Keyset.generate("AES256_GCM_HKDF_4KB")]
        self.keyset = warpaes.Keyset.generate("AES256_GCM_HKDF_4KB")
        self.bound = self.chance.random() < 0.5
        options = {"associated_data": str.encode} if self.bound else {}
        self.fs = WarpaesFileSystem(keyset=self.keyset, fs=fsspec.filesystem("file"), **options)
        self.written: dict[str, set[bytes]] = {}
        self.tensors: list[dict[str, Any]] = []
        self.keysets: set[bytes] = set()
        key = self.chance.randbytes(32)
        private = Ed25519PrivateKey.from_private_bytes(self.chance.randbytes(32))
        public = base64.b64encode(private.public_key().public_bytes_raw()).decode()
        secret = base64.b64encode(private.private_bytes_raw()).decode()
        self.enc = {"kty": "oct", "alg": "aes256gcm", "k": base64.b64encode(key).decode(), "kid": "e"}
        self.sign = {"kty": "okp", "alg": "ed25519", "d": secret, "x": public, "kid": "s"}
        (self.root / "kek").write_bytes(keysources.generate_kek())
        (self.root / "kek").chmod(0o600)
        self.source = keysources.from_url(f"file:{self.root / 'kek'}")
        self.history: list[Tree] = [{}]
        self.other: Tree = {}
        self.hostile: Tree = {}
        self.log: list[str] = []
        self.adversary = FilesAdversary(self)  # type: ignore[arg-type]

    # ----------------------------------------------------------------------------------------------- the owner's calls

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def write(self) -> None:
        name = self.chance.choice(NAMES)
        content = self.chance.randbytes(self.chance.choice([0, 5, 5000, 20000]))
        self.written.setdefault(name, set()).add(content)
        self.fs.makedirs(self.path("d"), exist_ok=True)
        if self.chance.random() < 0.5:
            self.fs.pipe_file(self.path(name), content)
            return
        with self.fs.open(self.path(name), "wb") as file:
            for begin in range(0, len(content), 3000):
                file.write(content[begin : begin + 3000])

    def read(self) -> None:
        name = self.chance.choice(NAMES)
        how = self.chance.choice(["cat", "open", "get", "range"])
        wanted: Callable[[bytes], bytes] = bytes
        if how == "cat":
            found = self.fs.cat_file(self.path(name))
        elif how == "open":
            with self.fs.open(self.path(name), "rb") as file:
                found = file.read()
        elif how == "range":
            begin, length = self.chance.randrange(6000), self.chance.randrange(1, 6000)
            found = self.fs.cat_file(self.path(name), begin, begin + length)
            wanted = lambda content: content[begin : begin + length]  # noqa: E731
        else:
            target = self.root / "got"
            try:
                self.fs.get_file(self.path(name), str(target))
                if target.is_dir():  # the mode of folders that fsspec creates
                    target.rmdir()
                    raise IsADirectoryError(name)
                found = target.read_bytes()
            except BaseException:
                if target.exists():
                    raise BrokenError("a: get_file left a part of a file that it refused") from None
                raise
            target.unlink()
        every = self.written.get(name, set()) if self.bound else set().union(*self.written.values())
        if found not in {wanted(content) for content in every}:
            raise BrokenError(f"a: {how} of {name} gave {found[:30]!r}")

    def look(self) -> None:
        self.fs.find(self.path(""), detail=True)
        self.fs.ls(self.path(""))

    def save_tensors(self) -> None:
        self.tensors.append(
            {name: np.frombuffer(self.chance.randbytes(4000), np.uint8) for name in self.chance.sample("abc", 2)}
        )
        safetensors.save_file(
            self.tensors[-1], self.path(f"t{self.chance.randrange(2)}"), enc_key=self.enc, sign_key=self.sign
        )

    def load_tensors(self) -> None:
        place = self.path(f"t{self.chance.randrange(2)}")
        found = safetensors.load_file(place, enc_key=self.enc, sign_key=self.sign)
        contents = {name: tensor.tobytes() for name, tensor in found.items()}
        if contents not in [{name: tensor.tobytes() for name, tensor in each.items()} for each in self.tensors]:
            raise BrokenError(f"a: tensors {sorted(contents)} were never saved")

    def save_keyset(self) -> None:
        keyset = warpaes.Keyset.generate("AES256_GCM_HKDF_4KB")
        self.keysets.add(self.normal(keyset))
        place = self.path(f"k{self.chance.randrange(2)}")
        from warpaes._output import Output

        with Output(place, replace=True, secret=True) as file:
            file.write(keysources.write_keyset(keyset, self.source))

    def load_keyset(self) -> None:
        text = pathlib.Path(self.path(f"k{self.chance.randrange(2)}")).read_bytes()
        if self.normal(keysources.read_keyset(text, self.source)) not in self.keysets:
            raise BrokenError("a: the owner did not write this keyset")

    @staticmethod
    def normal(keyset: warpaes.Keyset) -> bytes:
        return json.dumps(json.loads(keyset.to_json()), sort_keys=True).encode()

    # ---------------------------------------------------------------------------------------------------------- a run

    @contextlib.contextmanager
    def checked(self) -> Iterator[None]:
        before, outside = self.place.tree(), Files(self.outside).tree()
        yield
        after = self.place.tree()
        if Files(self.outside).tree() != outside:
            raise BrokenError("b: a file outside the folder was changed")
        for name, (kind, content, mode) in after.items():
            if name.rpartition("/")[2].startswith(".warpaes-") and name not in before:
                raise BrokenError(f"d: {name} remains")
            if name in before and before[name][0] == kind == "file" and mode & ~before[name][2]:
                raise BrokenError(f"c: {name} received the mode {mode:o} instead of {before[name][2]:o}")
            if b"a secret" in content and content != before.get(name, ("", b"", 0))[1]:
                raise BrokenError(f"b: {name} contains the content of a link's target")
        self.history.append(after)

    def play(self) -> str:
        calls = [
            self.write,
            self.read,
            self.look,
            self.save_tensors,
            self.load_tensors,
            self.save_keyset,
            self.load_keyset,
        ]
        try:
            for _ in range(self.chance.randrange(6, 30)):
                for _ in range(self.chance.choice([0, 0, 1, 2])):
                    self.log.append("  he: " + self.adversary.act(self.chance.getrandbits(32)))
                call = self.chance.choice(calls)
                with self.checked():
                    try:
                        call()
                        self.log.append(f"{call.__name__} -> done")
                    except ALLOWED as error:
                        self.log.append(f"{call.__name__} -> {type(error).__name__}: {str(error)[:100]}")
        except BrokenError as broken:
            return str(broken)
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            return f"a: {call.__name__}: {type(error).__name__}: {str(error)[:150]} ({last.filename}:{last.lineno})"
        finally:
            shutil.rmtree(self.root, ignore_errors=True)
        return ""


def one(seed: int) -> tuple[str, list[str]]:
    """Execute one run. Return the violated invariant, if any, and the log."""
    world = World(seed)
    return world.play(), world.log


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", action="store_true", help="print the log of every run")
    arguments = parser.parse_args()
    broken = []
    for seed in range(arguments.seed, arguments.seed + arguments.runs):
        said, log = one(seed)
        if said:
            broken.append(seed)
        if said or arguments.log:
            print(f"seed {seed}: {said}", *log, sep="\n    ", flush=True)
    print(f"{arguments.runs} runs, {len(broken)} broken: {broken}")
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
