#!/usr/bin/env python3
"""Checkpoints of torch.save and torch.distributed.checkpoint, and an attacker who can write to their storage."""

from __future__ import annotations

import importlib
import io
import logging
import multiprocessing
import os
import pathlib
import pickle
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock
import warnings
from collections.abc import Callable
from typing import Any

import warpaes
from support import needed, optional
from warpaes.exceptions import FormatError, InvalidTag

HERE = pathlib.Path(__file__).resolve()


class Runs:
    """An object whose pickle leaves a file when it is loaded."""

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
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
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
    """``save`` and ``load``."""

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
        """Only tensors and plain values are loaded by default; a forged pickle never runs."""
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
            # A zip archive has its directory at its end; torch.load may skip bytes between members.
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
    """Save the same checkpoint, in a process of its own."""
    import torch
    import warpaes.torch

    warpaes.torch.save({"w": torch.zeros(20_000)}, path, keyset=place)


class Processes(Case):
    def test_no_iv_twice(self) -> None:
        """Equal checkpoints of the parent and of children of fork and spawn have no salt and no block in common."""
        save_there(str(self.folder / "parent.pt"), self.place)
        for method in ("fork", "spawn"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # fork, with threads of PyTorch
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
            # Of equal plaintexts; under one key and nonce they would have equal blocks.
            new = {content[at : at + 16] for at in range(40, 40 + 16 * 4000, 16)}
            blocks |= new
            count += len(new)
        self.assertEqual((len(salts), len(blocks)), (8, count))

    def test_a_save_that_a_child_goes_on_with(self) -> None:
        """A file that was begun before fork belongs to the parent: the child writes nothing under its IV."""
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


class Distributed(Case):
    """torch.distributed.checkpoint, in one process."""

    def setUp(self) -> None:
        super().setUp()
        import torch.distributed.checkpoint as dcp

        self.dcp: Any = dcp
        self.path = self.folder / "step"
        logging.disable(logging.WARNING)  # PyTorch's, of metadata that it does not find
        self.addCleanup(logging.disable, logging.NOTSET)
        quiet = warnings.catch_warnings()
        quiet.__enter__()
        self.addCleanup(quiet.__exit__, None, None, None)
        warnings.filterwarnings("ignore", "torch.distributed is disabled", UserWarning)
        warnings.filterwarnings("ignore", "Detected an existing checkpoint", UserWarning)

    def begin_group(self) -> None:
        """Begin a process group of this process."""
        distributed = self.torch.distributed
        distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)

    def save(self, path: Any = None, seed: int = 0, keyset: Any = None, **options: Any) -> None:
        options = {"thread_count": 3, **options}
        writer = self.ours.StorageWriter(path or self.path, keyset or self.place, **options)
        self.dcp.save(self.state(seed), storage_writer=writer)

    def load(self, path: Any = None, keyset: Any = None, **options: Any) -> dict[str, Any]:
        target = self.state(9)
        reader = self.ours.StorageReader(path or self.path, keyset or self.keyset, **options)
        self.dcp.load(target, storage_reader=reader)
        return target

    def refused(self, words: str = "", **options: Any) -> None:
        """PyTorch wraps exceptions of any rank; none of the values that are read is another checkpoint's."""
        target = self.state(9)
        with self.assertRaises(self.dcp.CheckpointException) as raised:
            self.dcp.load(
                target, storage_reader=self.ours.StorageReader(self.path, **{"keyset": self.keyset, **options})
            )
        self.assertRegex(str(raised.exception), words)
        self.assertIn(target["step"], (100, 109))
        self.assertFalse(self.mark.exists())

    def test_what_is_saved_comes_back(self) -> None:
        self.save()
        self.same(self.load(), self.state())
        self.save(seed=1)
        self.same(self.load(), self.state(1))
        for path in self.path.iterdir():
            content = path.read_bytes()
            for text in (b"plain text", b"moments", b"storage", b"torch", b"PK\x03\x04"):
                self.assertNotIn(text, content)
        with self.assertRaisesRegex(self.dcp.CheckpointException, "already exists"):
            self.save(overwrite=False)
        plain = self.state(9)
        self.dcp.load({"w": plain["w"]}, storage_reader=self.ours.StorageReader(self.path, self.keyset))
        self.assertTrue(self.torch.equal(plain["w"], self.state(1)["w"]))

    def test_other_file_systems(self) -> None:
        self.save("memory://torch/step")
        self.same(self.load("memory://torch/step"), self.state())
        writer = self.ours.StorageWriter("memory://elsewhere", self.keyset)
        self.dcp.save(self.state(2), storage_writer=writer, checkpoint_id=str(self.folder / "other"))
        self.same(self.load(self.folder / "other"), self.state(2))

    def test_s3(self) -> None:
        for name in ("moto", "boto3", "flask", "s3fs"):
            needed(name)
        from faulty_s3 import Moto

        moto = Moto()
        self.addCleanup(moto.close)
        options = {"endpoint_url": moto.url, "key": "test", "secret": "test"}
        import fsspec

        fsspec.filesystem("s3", **options).mkdir("bucket")
        for seed in (0, 1):
            self.save("s3://bucket/run/step", seed, storage_options=options)
            self.same(self.load("s3://bucket/run/step", storage_options=options), self.state(seed))

    def test_async_save(self) -> None:
        writer = self.ours.StorageWriter(self.path, self.place)
        self.begin_group()
        try:
            self.dcp.async_save(self.state(), storage_writer=writer).result()
        finally:
            self.torch.distributed.destroy_process_group()
        self.same(self.load(), self.state())
        sent = pickle.dumps(writer)
        self.assertNotIn(b"keyData", sent)
        self.dcp.save(self.state(3), storage_writer=pickle.loads(sent))
        self.same(self.load(), self.state(3))
        with self.assertRaisesRegex(TypeError, "give its place"):
            pickle.dumps(self.ours.StorageWriter(self.path, self.keyset))

    def test_files_that_were_changed(self) -> None:
        self.save()
        kept, other = self.folder / "kept", self.folder / "other"
        shutil.copytree(self.path, kept)
        self.save(other, seed=1)
        first, second, third = (self.path / f"__0_{i}.distcp" for i in range(3))
        metadata = self.path / ".metadata"

        def swap(one: pathlib.Path, two: pathlib.Path) -> None:
            one.rename(self.folder / "x")
            two.rename(one)
            (self.folder / "x").rename(two)

        def flip(path: pathlib.Path, at: int) -> None:
            content = bytearray(path.read_bytes())
            content[at] ^= 4
            path.write_bytes(content)

        def in_clear(path: pathlib.Path, content: bytes) -> None:
            path.write_bytes(content)

        changes: list[tuple[Callable[[], Any], str]] = [
            (lambda: first.unlink(), "__0_0.distcp is missing"),
            (lambda: metadata.unlink(), "metadata"),
            (lambda: second.rename(self.path / "__0_7.distcp"), "__0_1.distcp is missing"),
            (lambda: swap(first, second), r"__0_[01].distcp.*not authentic"),
            (lambda: shutil.copy(other / first.name, first), r"__0_0.distcp.*not authentic"),
            (lambda: shutil.copy(other / third.name, third), r"__0_2.distcp.*not authentic"),
            (lambda: shutil.copy(other / ".metadata", metadata), r"distcp.*not authentic"),
            (lambda: shutil.copy(first, metadata), "metadata.*not authentic"),
            (lambda: metadata.rename(self.path / "__0.metadata"), "metadata.*not authentic"),
            (lambda: shutil.copy(metadata, first), r"__0_0.distcp.*not authentic"),
            (lambda: first.write_bytes(first.read_bytes()[:-1]), r"__0_0.distcp.*not authentic"),
            (lambda: first.write_bytes(first.read_bytes() + b"x"), r"__0_0.distcp.*not authentic"),
            (lambda: first.write_bytes(b""), r"__0_0.distcp"),
            (lambda: metadata.write_bytes(metadata.read_bytes()[:-20]), "metadata.*not authentic"),
            (lambda: in_clear(metadata, pickle.dumps(Runs(self.mark))), "metadata"),
            (lambda: in_clear(self.path / "__0.metadata", pickle.dumps(Runs(self.mark))) or metadata.unlink(), ""),
            (lambda: in_clear(first, pickle.dumps(Runs(self.mark))), "__0_0.distcp"),
        ]
        chosen = random.Random(6)
        for path in (first, second, third, metadata):
            size = path.stat().st_size
            changes += [
                (lambda path=path, at=at: flip(path, at), f"{path.name}.*(not authentic|header)")  # type: ignore[misc]
                for at in (0, 20, size - 1, chosen.randrange(min(size, 4096)))
            ]
        for number, (change, words) in enumerate(changes):
            with self.subTest(number):
                change()
                self.refused(f"(?s){words}")
            shutil.rmtree(self.path)
            shutil.copytree(kept, self.path)
        self.same(self.load(), self.state())

    def test_wrong_keys(self) -> None:
        self.save(associated_data=b"step 100")
        self.same(self.load(associated_data=b"step 100"), self.state())
        self.refused("not authentic", associated_data=b"step 200")
        self.refused("not authentic")
        other = warpaes.Keyset.generate("AES256_GCM_HKDF_4KB")
        self.refused("not authentic", keyset=other, associated_data=b"step 100")
        rotated = warpaes.Keyset.load(self.place)
        rotated.rotate()
        self.same(self.load(keyset=rotated, associated_data=b"step 100"), self.state())

    def test_a_checkpoint_in_clear(self) -> None:
        self.dcp.save(self.state(), storage_writer=self.dcp.FileSystemWriter(self.path))
        self.refused("metadata")

    def test_a_metadata_of_another_writer(self) -> None:
        """Under the right key and name, but without the numbers of the files."""
        self.save()
        files = importlib.import_module("warpaes._torch_distributed")._Files(self.keyset, b"", {})
        files.init_path(self.path)
        path = files.concat_path(self.path, ".metadata")
        with files.create_stream(path, "rb") as file:
            metadata = pickle.load(file)
        for info in metadata.storage_data.values():
            del info.warpaes_number
        with files.create_stream(path, "wb") as file:
            pickle.dump(metadata, file)
        self.refused("not one of warpaes")

    def test_bad_input(self) -> None:
        for place in ("passphrase:own:", "dataset:file:x", "aws-kms://alias/x"):
            with self.assertRaisesRegex(ValueError, "keyset"):
                self.ours.StorageWriter(self.path, place)
        with self.assertRaisesRegex(ValueError, "serialization_format"):
            self.ours.StorageWriter(self.path, self.keyset, serialization_format="safetensors")
        writer = self.ours.StorageWriter(self.path, self.keyset)
        with self.assertRaisesRegex(ValueError, "associated_data is missing"):
            writer.set_up_storage_writer(True, rank=0, use_collectives=False)
        (self.folder / "file").write_text("")
        with self.assertRaises(self.dcp.CheckpointException):
            self.save(self.folder / "file" / "step")

    def test_a_thread_that_fails(self) -> None:
        """PyTorch forgets the exceptions of its threads: the save fails, and the old checkpoint stays."""
        self.save()
        before, threads = {path.name for path in self.path.iterdir()}, set(threading.enumerate())
        files = importlib.import_module("warpaes._torch_distributed")._Files
        real = files.create_stream

        def fails(this: Any, path: Any, mode: str) -> Any:
            if mode == "wb" and "__0_2" in str(path):
                raise OSError("a full disk")
            return real(this, path, mode)

        with unittest.mock.patch.object(files, "create_stream", fails), unittest.mock.patch("threading.excepthook"):
            with self.assertRaisesRegex(self.dcp.CheckpointException, "were not written|a full disk"):
                self.save(seed=1)
            for thread in set(threading.enumerate()) - threads:  # PyTorch does not wait for all of them
                thread.join(60)
        self.assertEqual({path.name for path in self.path.iterdir()}, before)
        self.refused("not authentic")  # old metadata, and files of two saves

    def test_ranks_without_coordination(self) -> None:
        writer = self.ours.StorageWriter(self.path, self.place, associated_data=b"step 1")
        self.begin_group()
        try:
            self.dcp.save(self.state(), storage_writer=writer, use_collectives=False)
            self.assertTrue((self.path / "__0.metadata").exists())
            self.same(self.load(associated_data=b"step 1"), self.state())
        finally:
            self.torch.distributed.destroy_process_group()


RANK = """
import sys, torch, torch.distributed as dist, torch.distributed.checkpoint as dcp, warpaes.torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

action, folder, place = sys.argv[1:]
dist.init_process_group("gloo")
rank, mesh = dist.get_rank(), init_device_mesh("cpu", (2,))
whole = torch.arange(200_000.0).reshape(1000, 200)
state = {"w": distribute_tensor(whole if action == "save" else whole * 0, mesh, [Shard(0)]), "step": 7}
if action == "save":
    dcp.save(state, storage_writer=warpaes.torch.StorageWriter(folder, place))
else:
    state["step"] = 0
    try:
        dcp.load(state, storage_reader=warpaes.torch.StorageReader(folder, place))
        local = state["w"].to_local()
        print(f"rank {rank} read", torch.equal(local, whole[500 * rank : 500 * rank + 500]), state["step"], flush=True)
    except dcp.CheckpointException as error:
        print(f"rank {rank} refused", str(error).replace(chr(10), " "), flush=True)
dist.destroy_process_group()
"""


class Ranks(Case):
    """Two processes of torchrun, over gloo."""

    def run_ranks(self, action: str) -> str:
        program = self.folder / "rank.py"
        program.write_text(RANK)
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(program)]
        done = subprocess.run(
            [*command, action, str(self.folder / "step"), self.place],
            capture_output=True,
            text=True,
            timeout=240,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_two_ranks(self) -> None:
        self.run_ranks("save")
        self.assertEqual(sorted(re.findall("rank . read .*", self.run_ranks("load"))), [
            "rank 0 read True 7", "rank 1 read True 7"])  # fmt: skip
        of_rank_1 = self.folder / "step/__1_0.distcp"
        content = bytearray(of_rank_1.read_bytes())
        content[len(content) // 2] ^= 1
        of_rank_1.write_bytes(content)
        found = self.run_ranks("load")  # both end, also the rank that does not read this file
        self.assertRegex(found, "rank 0 refused .*__1_0.distcp.*not authentic")
        self.assertRegex(found, "rank 1 refused .*__1_0.distcp.*not authentic")


if __name__ == "__main__":
    unittest.main()
