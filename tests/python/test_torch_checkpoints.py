#!/usr/bin/env python3
"""Tests checkpoints of torch.save against an attacker who can write to their storage."""

from __future__ import annotations

import io
import multiprocessing
import os
import pathlib
import pickle
import random
import socket
import unittest
import unittest.mock
import warnings
from typing import Any

import warpaes
from support import new_folder, optional
from warpaes.exceptions import FormatError, InvalidTag

HERE = pathlib.Path(__file__).resolve()


class Runs:
    """An object whose pickle creates a file when it is loaded."""

    def __init__(self, mark: pathlib.Path) -> None:
        self.mark = str(mark)

    def __reduce__(self) -> Any:
        return open, (self.mark, "w")


class Fails:
    """An object that cannot be pickled."""

    def __reduce__(self) -> Any:
        raise OSError("no pickle of this")


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.torch = optional("torch")
        import warpaes.torch

        self.ours: Any = warpaes.torch
        self.folder = new_folder(self)
        self.keyset = warpaes.Keyset.generate("AES256_GCM_HKDF_4KB")
        self.place = str(self.folder / "keyset.json")
        self.keyset.save(self.place)
        self.mark = self.folder / "code ran"

    def state(self, seed: int = 0) -> dict[str, Any]:
        self.torch.manual_seed(seed)
        return {
            "w": self.torch.randn(300, 200),
            "b": self.torch.randn(70).to(self.torch.bfloat16),
            "moments": {"m": self.torch.ones(1000), "none": self.torch.zeros(0, 3)},
            "step": 100 + seed,
            "name": "the plain text of a checkpoint",
        }

    def same(self, one: Any, other: Any) -> None:
        self.assertEqual(one.keys(), other.keys())
        for name, value in one.items():
            if isinstance(value, dict):
                self.same(value, other[name])
            elif isinstance(value, self.torch.Tensor):
                self.assertTrue(self.torch.equal(value, other[name]), name)
            else:
                self.assertEqual(value, other[name])


class Files(Case):
    """Tests of ``save`` and ``load``."""

    def save(self, state: Any, name: str = "one.pt", **options: Any) -> pathlib.Path:
        path = self.folder / name
        self.ours.save(state, path, keyset=self.place, **options)
        return path

    def load(self, file: Any, **options: Any) -> Any:
        return self.ours.load(file, **{"keyset": self.keyset, **options})

    def test_places(self) -> None:
        state = self.state()
        path = self.save(state)
        self.assertNotIn(b"plain text", path.read_bytes())
        for file in (path, str(path), f"file://{path}", path.read_bytes(), io.BytesIO(path.read_bytes())):
            self.same(self.load(file), state)
        self.ours.save(state, "memory://torch/one.pt", keyset=self.keyset)
        self.same(self.load("memory://torch/one.pt"), state)
        buffer = io.BytesIO()
        self.ours.save(state, buffer, keyset=self.keyset)
        self.same(self.load(buffer), state)
        old = self.save(state, "old.pt", _use_new_zipfile_serialization=False)
        self.same(self.load(old), state)
        found = self.load(path, map_location="meta")
        self.assertEqual(found["w"].device.type, "meta")

    def test_a_file_that_was_there(self) -> None:
        path = self.save(self.state())
        before = path.read_bytes()
        with self.assertRaisesRegex(OSError, "no pickle of this"):
            self.save({"w": self.torch.ones(100_000), "x": Fails()})
        self.assertEqual(path.read_bytes(), before)
        self.assertEqual(sorted(os.listdir(self.folder)), ["keyset.json", "one.pt"])
        self.save(self.state(1))
        self.assertEqual(self.load(path)["step"], 101)

    def test_objects(self) -> None:
        """By default, only tensors and plain values are loaded. A forged pickle never runs."""
        path = self.save(Runs(self.mark))
        with self.assertRaises(pickle.UnpicklingError):
            self.load(path)
        self.assertFalse(self.mark.exists())
        self.load(path, weights_only=False).close()
        self.assertTrue(self.mark.exists())
        self.mark.unlink()
        clear = self.folder / "clear.pt"
        self.torch.save(Runs(self.mark), clear)
        other = self.folder / "log.warpaes"  # under the same key, with content that an attacker chose
        with warpaes.open(other, "wb", keyset=self.keyset) as file:
            file.write(clear.read_bytes())
        for each in (clear, other):
            with self.assertRaises((FormatError, InvalidTag)):
                self.load(each, weights_only=False)
        self.assertFalse(self.mark.exists())

    def test_associated_data(self) -> None:
        path = self.save(self.state(), associated_data=b"run 7")
        self.same(self.load(path, associated_data=b"run 7"), self.state())
        for wrong in (b"run 8", None, b"torch checkpoint"):
            with self.assertRaises(InvalidTag):
                self.load(path, associated_data=wrong)
        with warpaes.open(self.save(self.state()), keyset=self.keyset, associated_data=b"torch checkpoint") as file:
            self.same(self.torch.load(file), self.state())

    def test_bytes_that_were_changed(self) -> None:
        path = self.save(self.state())
        content = path.read_bytes()
        chosen = random.Random(5)
        for _ in range(60):
            at = chosen.randrange(len(content))
            changed = bytearray(content)
            if at % 3:
                changed[at] ^= 1 << chosen.randrange(8)
            elif at % 2:
                del changed[at:]
            else:
                changed[at:at] = b"x"
            path.write_bytes(changed)
            # A zip archive has its directory at the end, so torch.load may skip bytes between members.
            try:
                self.same(self.load(path), self.state())
                self.assertEqual(len(changed), len(content))
            except (FormatError, InvalidTag) as error:
                self.assertIn("one.pt", str(error))

    def test_bad_input(self) -> None:
        path = self.save(self.state())
        with self.assertRaises(InvalidTag):
            self.load(path, keyset=warpaes.Keyset.generate("AES256_GCM_HKDF_4KB"))
        with self.assertRaisesRegex(ValueError, "mmap"):
            self.load(path, mmap=True)
        with self.assertRaises(FileNotFoundError):
            self.load(self.folder / "none.pt")
        with self.assertRaises(TypeError):
            self.load(io.StringIO())
        end, other = socket.socketpair()
        with end, other.makefile("rb") as file:
            end.sendall(path.read_bytes()[:50_000])
            end.shutdown(socket.SHUT_WR)
            other.close()
            with self.assertRaisesRegex(ValueError, "cannot seek"):
                self.load(file)


def save_there(path: str, place: str) -> None:
    """Save the same checkpoint in a separate process."""
    import torch
    import warpaes.torch

    warpaes.torch.save({"w": torch.zeros(20_000)}, path, keyset=place)


class Processes(Case):
    def test_no_iv_twice(self) -> None:
        """Equal checkpoints of the parent and of children of fork and spawn have neither the salt nor any block in
        common."""
        save_there(str(self.folder / "parent.pt"), self.place)
        for method in ("fork", "spawn"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # the process forks while PyTorch's threads run
                context: Any = multiprocessing.get_context(method)
                children = [
                    context.Process(target=save_there, args=(str(self.folder / f"{method}{i}.pt"), self.place))
                    for i in range(3)
                ]
                for child in children:
                    child.start()
            for child in children:
                child.join(120)
                self.assertEqual(child.exitcode, 0)
        save_there(str(self.folder / "again.pt"), self.place)
        found = sorted(self.folder.glob("*.pt"))
        self.assertEqual(len(found), 8)
        salts: set[bytes] = set()
        blocks: set[bytes] = set()
        count = 0
        for path in found:
            content = path.read_bytes()
            salts.add(content[1:40])
            # The plaintexts are equal. Under the same key and nonce, the ciphertexts would have equal blocks.
            new = {content[at : at + 16] for at in range(40, 40 + 16 * 4000, 16)}
            blocks |= new
            count += len(new)
        self.assertEqual((len(salts), len(blocks)), (8, count))

    def test_a_save_that_a_child_goes_on_with(self) -> None:
        """A file that was begun before the fork belongs to the parent. The child must not write under the file's IV."""
        path = self.folder / "one.pt"
        file = warpaes.open(path, "wb", keyset=self.keyset)
        self.torch.save(self.state(), file)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            status = 1
            try:
                file.write(b"x" * 100_000)
            except warpaes.exceptions.Error:
                status = 0
            finally:
                os._exit(status)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        file.close()
        self.same(self.load(path), self.state())

    def load(self, path: pathlib.Path) -> Any:
        return self.ours.load(path, keyset=self.keyset, associated_data=None)


if __name__ == "__main__":
    unittest.main()
