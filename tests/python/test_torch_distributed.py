#!/usr/bin/env python3
"""Tests checkpoints of torch.distributed.checkpoint against an attacker who can write to their storage."""

from __future__ import annotations

import importlib
import logging
import pathlib
import pickle
import random
import re
import shutil
import threading
import unittest
import unittest.mock
import warnings
from collections.abc import Callable
from typing import Any

import warpaes
from support import needed, torchrun
from test_torch_checkpoints import Case, Runs


class Distributed(Case):
    """Tests of torch.distributed.checkpoint in a single process."""

    def setUp(self) -> None:
        super().setUp()
        import torch.distributed.checkpoint as dcp

        self.dcp: Any = dcp
        self.path = self.folder / "step"
        logging.disable(logging.WARNING)  # hides PyTorch's warnings about missing metadata
        self.addCleanup(logging.disable, logging.NOTSET)
        quiet = warnings.catch_warnings()
        quiet.__enter__()
        self.addCleanup(quiet.__exit__, None, None, None)
        warnings.filterwarnings("ignore", "torch.distributed is disabled", UserWarning)
        warnings.filterwarnings("ignore", "Detected an existing checkpoint", UserWarning)

    def begin_group(self) -> None:
        """Start a process group that contains only this process."""
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
        """Check that loading is refused. PyTorch wraps the exceptions of all ranks. No value that was read may belong
        to a different checkpoint."""
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
        with self.assertRaisesRegex(TypeError, "pass its place"):
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

    def test_mixtures_of_checkpoints(self) -> None:
        """Files from three checkpoints under the same key are mixed at random. A load returns one of the checkpoints or
        is refused."""
        kept = [self.folder / str(seed) for seed in range(3)]
        for seed, path in enumerate(kept):
            self.save(path, seed)
        names = sorted(path.name for path in kept[0].iterdir())
        chosen, loaded = random.Random(8), 0
        for _ in range(60):
            shutil.rmtree(self.path, ignore_errors=True)
            shutil.copytree(chosen.choice(kept), self.path)
            for _ in range(chosen.randrange(4)):
                target = self.path / chosen.choice(names)
                what = chosen.randrange(5)
                if what < 4:
                    source = target.name if what < 3 else chosen.choice(names)
                    shutil.copy(chosen.choice(kept) / source, target)
                else:
                    target.unlink(missing_ok=True)
            found = self.state(9)
            reader = self.ours.StorageReader(self.path, self.keyset)
            try:
                self.dcp.load(found, storage_reader=reader)
            except self.dcp.CheckpointException:
                continue
            loaded += 1
            self.same(found, self.state(found["step"] - 100))
        self.assertGreater(loaded, 3)
        self.assertLess(loaded, 50)

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
        """The metadata has the right key and name but does not contain the numbers of the files."""
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
        self.refused("was not written by warpaes")

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
        """PyTorch drops the exceptions of its threads. The save must still fail, and the old checkpoint must remain."""
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
            for thread in set(threading.enumerate()) - threads:  # PyTorch does not wait for all of its threads
                thread.join(60)
        self.assertEqual({path.name for path in self.path.iterdir()}, before)
        self.refused("not authentic")  # the metadata is old, and the files are from two saves

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
import datetime, os, sys, torch, torch.distributed as dist, torch.distributed.checkpoint as dcp, warpaes.torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

action, folder, place = sys.argv[1:]
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=240))
rank, mesh = dist.get_rank(), init_device_mesh("cpu", (2,))
whole = torch.arange(200_000.0).reshape(1000, 200)
state = {"w": distribute_tensor(whole if action == "save" else whole * 0, mesh, [Shard(0)]), "step": 7}
if action == "mixed":
    folder += str(rank)
if action == "save":
    dcp.save(state, storage_writer=warpaes.torch.StorageWriter(folder, place))
else:
    state["step"] = 0
    try:
        dcp.load(state, storage_reader=warpaes.torch.StorageReader(folder, place))
        local = state["w"].to_local()
        said = f"rank {rank} read {torch.equal(local, whole[500 * rank : 500 * rank + 500])} {state['step']}"
    except dcp.CheckpointException as error:
        said = f"rank {rank} refused {str(error).replace(chr(10), ' ')[-1500:]}"
    os.write(1, said.encode() + b"\\n")  # a longer text would not be written at once
dist.destroy_process_group()
"""


class Ranks(Case):
    """Tests with two processes of torchrun over gloo."""

    def run_ranks(self, action: str) -> str:
        program = self.folder / "rank.py"
        program.write_text(RANK)
        status, said = torchrun(str(program), [action, str(self.folder / "step"), self.place])
        self.assertEqual(status, 0, said)
        return said

    def test_two_ranks(self) -> None:
        self.run_ranks("save")
        self.assertEqual(sorted(re.findall("rank . read .*", self.run_ranks("load"))), [
            "rank 0 read True 7", "rank 1 read True 7"])  # fmt: skip
        kept, other = self.folder / "step0", self.folder / "step1"
        (self.folder / "step").rename(kept)
        self.run_ranks("save")
        shutil.copytree(self.folder / "step", other)
        found = self.run_ranks("mixed")  # each rank reads a different, authentic checkpoint
        self.assertEqual(len(re.findall("rank . refused .*the ranks read different checkpoints", found)), 2, found)
        of_rank_1 = self.folder / "step/__1_0.distcp"
        content = bytearray(of_rank_1.read_bytes())
        content[len(content) // 2] ^= 1
        of_rank_1.write_bytes(content)
        found = self.run_ranks("load")  # both ranks end, including the rank that does not read this file
        self.assertRegex(found, "rank 0 refused .*__1_0.distcp.*not authentic")
        self.assertRegex(found, "rank 1 refused .*__1_0.distcp.*not authentic")


if __name__ == "__main__":
    unittest.main()
