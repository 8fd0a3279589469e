#!/usr/bin/env python3
"""Tests encrypted model folders in object stores, on several devices and for several ranks, and loads that are
stopped."""

from __future__ import annotations

import importlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import unittest
from typing import Any
from unittest import mock

from support import needed, optional, torchrun
from test_models import REFUSED, Case
from warpaes.exceptions import FormatError, InvalidTag


class Elsewhere(Case):
    """Tests of folders at URLs."""

    def setUp(self) -> None:
        super().setUp()
        self.fsspec = needed("fsspec")

    def upload(self, url: str, options: dict[str, Any] | None = None) -> Any:
        """Copy the encrypted folder to a URL and return the file system."""
        files, root = self.fsspec.core.url_to_fs(url, **(options or {}))
        for path in self.target.rglob("*"):
            if path.is_file():
                files.pipe_file(f"{root}/{path.relative_to(self.target).as_posix()}", path.read_bytes())
        return files

    def same(self, found: dict[str, Any], tensors: dict[str, Any]) -> None:
        self.assertEqual(found.keys(), tensors.keys())
        for name, tensor in tensors.items():
            self.assertEqual(found[name].tobytes(), tensor.tobytes(), name)

    def test_s3(self) -> None:
        for name in ("moto", "boto3", "flask", "s3fs"):
            needed(name)
        from faulty_s3 import Moto

        tensors = self.encrypt()
        moto = Moto()
        self.addCleanup(moto.close)
        options = {"endpoint_url": moto.url, "key": "test", "secret": "test"}
        self.fsspec.filesystem("s3", **options).mkdir("bucket")
        files = self.upload("s3://bucket/models/one", options)
        files.pipe_file("bucket/models/one/adapter/", b"")  # the console marks folders in this way
        for name in (".gitattributes", "adapter/.cache/x.lock"):  # files that a hub's client creates
            files.pipe_file(f"bucket/models/one/{name}", b"x")
        for url in ("s3://bucket/models/one", "s3://bucket/models/one/"):
            found = dict(self.models.load(url, self.keyset, framework="numpy", storage_options=options))
            self.same(found, tensors)
        self.assertEqual(self.models.verify("s3://bucket/models/one", self.keyset, options), len(tensors))
        self.assertEqual(len(self.models.inspect("s3://bucket/models/one", options)["encrypted"]), 4)
        with self.assertRaises(FileNotFoundError):
            self.models.verify("s3://bucket/models/none", self.keyset, options)

    def test_objects_that_were_changed(self) -> None:
        tensors = self.encrypt()
        url = "memory://models/one"
        files = self.upload(url)
        kept = {path: files.cat_file(path) for path in files.find("/models/one")}
        first, second = sorted(path for path in kept if "/model-" in path)[:2]
        config, manifest = "/models/one/config.json", "/models/one/warpaes-model.json"
        changes: list[tuple[dict[str, bytes | None], str]] = [
            ({first: None}, "is missing"),
            ({first: kept[second], second: kept[first]}, "altered or replaced"),
            ({first: kept[first][:-1]}, "bytes"),
            ({first: kept[first] + b"x"}, "bytes"),
            ({first: kept[first].replace(b"[31,17]", b"[17,31]")}, "altered or replaced"),
            ({"/models/one/modeling.py": b"print()"}, "was added"),
            ({config: b'{"model_type": "ant"}'}, "altered"),
            ({manifest: kept[manifest].replace(b"true", b"truE")}, "not the manifest"),
            ({manifest: kept[manifest].replace(b'"bytes": 21', b'"bytes": 22')}, "not authentic"),
        ]
        for change, words in changes:
            for path, content in change.items():
                if content is None:
                    files.rm_file(path)
                else:
                    files.pipe_file(path, content)
            with self.subTest(words), self.assertRaisesRegex(REFUSED, f"memory://.*{words}"):
                next(self.models.load(url, self.keyset, framework="numpy"))
            for path in change:
                if path in kept:
                    files.pipe_file(path, kept[path])
                else:
                    files.rm_file(path)
        self.same(dict(self.models.load(url, self.keyset, framework="numpy")), tensors)
        files.pipe_file(first, kept[first][:-1] + bytes([kept[first][-1] ^ 1]))
        with self.assertRaisesRegex(InvalidTag, "layer"):
            dict(self.models.load(url, self.keyset, framework="numpy"))

    def test_answers_that_are_not_whole(self) -> None:
        """A server may return fewer or more bytes than the requested range."""
        tensors = self.encrypt()
        self.upload("memory://models/one")
        memory: Any = type(self.fsspec.filesystem("memory"))
        real = memory.cat_file

        def load() -> dict[str, Any]:
            return dict(self.models.load("memory://models/one", self.keyset, framework="numpy"))

        def less(files: Any, path: str, start: int | None = None, end: int | None = None) -> bytes:
            return bytes(real(files, path, start, end)[:1000])

        def more(files: Any, path: str, start: int | None = None, end: int | None = None) -> bytes:
            return bytes(real(files, path, start, end)) + b"x"

        def none(files: Any, path: str, start: int | None = None, end: int | None = None) -> bytes:
            return bytes(real(files, path, start, end)) if not start else b""

        with mock.patch.object(memory, "cat_file", less), self.assertRaises(FormatError):
            load()  # the manifest is requested only once
        whole = importlib.import_module("warpaes.models._places").RemotePlace
        manifest = (self.target / "warpaes-model.json").read_bytes()
        with mock.patch.object(whole, "read", lambda *_: manifest):
            with mock.patch.object(memory, "cat_file", less):
                self.same(load(), tensors)
            with mock.patch.object(memory, "cat_file", more), self.assertRaisesRegex(OSError, "more than"):
                load()
            with mock.patch.object(memory, "cat_file", none), self.assertRaisesRegex(FormatError, "truncated"):
                load()

    def test_bad_input(self) -> None:
        self.encrypt()
        with self.assertRaisesRegex(ValueError, "storage_options"):
            self.models.verify(self.target, self.keyset, {"anon": True})
        with self.assertRaises(ValueError):
            self.models.verify("nosuch://bucket/model", self.keyset)


class Devices(Case):
    def test_device_map(self) -> None:
        torch = optional("torch")
        tensors = self.encrypt()
        places = {"layer.0": "meta", "layer.1.2": torch.device("meta"), "": "cpu"}
        found = dict(self.models.load(self.target, self.keyset, device_map=places))
        self.assertEqual(found.keys(), tensors.keys())
        for name, tensor in found.items():
            self.assertEqual(tensor.device.type, "meta" if name.startswith(("layer.0.", "layer.1.2")) else "cpu", name)
            self.assertEqual(tensor.shape, tensors[name].shape)
            if tensor.device.type == "cpu":
                self.assertEqual(tensor.numpy().tobytes(), tensors[name].tobytes())
        part = dict(self.models.load(self.target, self.keyset, device_map={"": "cpu"}, rank=1, world_size=2))
        self.assertEqual(len(part), len(tensors) // 2)

    def test_bad_input(self) -> None:
        optional("torch")
        self.encrypt()
        for options, words in (
            ({"device_map": {"layer.0": "cpu"}}, "no device for 'l"),
            ({"device_map": {"lay": "cpu"}}, "no device for"),
            ({"device_map": {"": "disk"}}, "disk"),
            ({"device_map": "auto"}, "infer_auto_device_map"),
            ({"device_map": {"": "cpu"}, "device": "meta"}, "leave device"),
            ({"device_map": {"": "cpu"}, "framework": "numpy"}, "leave device"),
        ):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                next(self.models.load(self.target, self.keyset, **options))

    def test_transformers_own_map(self) -> None:
        """A device map that accelerate creates for a real model is accepted."""
        torch, accelerate, transformers = (optional(name) for name in ("torch", "accelerate", "transformers"))
        config = transformers.LlamaConfig(
            vocab_size=64, hidden_size=64, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2
        )
        model = transformers.LlamaForCausalLM(config)
        model.save_pretrained(self.source)
        self.models.encrypt(self.source, self.target, self.keyset)
        places = accelerate.infer_auto_device_map(model, max_memory={"cpu": 10**9})
        found = dict(self.models.load(self.target, self.keyset, device_map=places))
        for name, tensor in found.items():
            self.assertTrue(torch.equal(tensor, model.state_dict()[name]), name)


class Stopped(Case):
    """Tests of loads that end before their last tensor."""

    def test_closed_early(self) -> None:
        self.encrypt()
        before, threads = set(os.listdir("/proc/self/fd")), threading.active_count()
        tensors = self.models.load(self.target, self.keyset, framework="numpy")
        next(tensors)
        self.assertGreater(len(os.listdir("/proc/self/fd")), len(before))
        tensors.close()
        self.assertEqual((set(os.listdir("/proc/self/fd")), threading.active_count()), (before, threads))

    def test_what_was_decrypted_before_a_failure_is_wiped(self) -> None:
        self.encrypt()
        path = self.target / "adapter/adapter_model.safetensors"
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        module = importlib.import_module("warpaes._to_host")
        made: list[Any] = []
        real = module._empty

        def empty(*arguments: Any) -> Any:
            array, data = real(*arguments)
            made.append(array)
            return array, data

        with mock.patch.object(module, "_empty", empty), self.assertRaisesRegex(InvalidTag, "lora"):
            dict(self.models.load(self.target, self.keyset, framework="numpy", subfolder="adapter"))
        self.assertEqual([array.shape for array in made], [(3, 300000)])
        self.assertFalse(made[0].any())

    def test_interrupted(self) -> None:
        """Ctrl-C ends a slow load. The load's threads stop after their current piece."""
        self.encrypt()
        program = (
            "import os, sys, threading, time, warpaes.models\n"
            "from warpaes.models import _places\n"
            "real = _places.Ranges.fill\n"
            "def slow(file, at, *rooms):\n"
            "    if sum(room.nbytes for room in rooms) > 5000:\n"
            "        os.write(1, b'reading\\n')\n"  # a single write, because the output of print in two threads may mix
            "        time.sleep(0.5)\n"
            "    real(file, at, *rooms)\n"
            "_places.Ranges.fill = slow\n"
            "warpaes._to_host.PIECE_BYTES = warpaes._to_host.TOGETHER_BYTES = 6000\n"
            "try:\n"
            "    for _ in range(1000): dict(warpaes.models.load(*sys.argv[1:], framework='numpy'))\n"
            "except KeyboardInterrupt:\n"
            "    print('interrupted', threading.active_count(), flush=True)\n"
        )
        child = subprocess.Popen(
            [sys.executable, "-c", program, str(self.target), str(self.key)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        with child.stdout:
            self.assertEqual(child.stdout.readline(), "reading\n")
            child.send_signal(signal.SIGINT)
            self.assertTrue(child.stdout.read().endswith("interrupted 1\n"))
        self.assertEqual(child.wait(60), 0)


RANK = """
import datetime, os, signal, sys, torch.distributed as dist, warpaes.models

folder, keyset, action = sys.argv[1:]
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=240))
rank = dist.get_rank()
group = None if action == "alone" else dist.group.WORLD
if action == "mixed":
    folder += str(rank)
names = []
try:
    for name, _ in warpaes.models.load(folder, keyset, rank=rank, world_size=2, group=group):
        names.append(name)
        if rank == 1 and action == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if rank == 1 and action == "stops":
            break
    print(f"rank {rank} has {len(names)}", flush=True)
except Exception as error:
    print(f"rank {rank} {len(names)} {type(error).__name__} {error}", flush=True)
    if action == "alone":
        raise
if action == "alone":
    dist.barrier()
"""


class Ranks(Case):
    """Tests with two ranks of torchrun over gloo. No rank may hang."""

    def setUp(self) -> None:
        super().setUp()
        optional("torch")
        self.encrypt()

    def run_ranks(self, action: str) -> tuple[int, str]:
        program = self.folder / "rank.py"
        program.write_text(RANK)
        return torchrun(str(program), [str(self.target), str(self.key), action])

    def spoil(self, path: pathlib.Path, at: int) -> None:
        content = bytearray(path.read_bytes())
        content[at] ^= 1
        path.write_bytes(content)

    def test_all_well(self) -> None:
        status, said = self.run_ranks("together")
        self.assertEqual((status, sorted(re.findall("rank . has .*", said))), (0, ["rank 0 has 8", "rank 1 has 8"]))

    def test_a_tensor_of_one_rank(self) -> None:
        """The last byte belongs to the adapter, whose only tensor is loaded by one rank."""
        self.spoil(self.target / "adapter/adapter_model.safetensors", -1)
        status, said = self.run_ranks("together")
        self.assertEqual(status, 0, said)
        self.assertEqual(len(re.findall("InvalidTag lora", said)), 1, said)
        self.assertEqual(len(re.findall("RuntimeError rank . stopped: InvalidTag: lora", said)), 1, said)
        status, said = self.run_ranks("alone")  # torchrun ends the other rank, which is waiting
        self.assertNotEqual(status, 0)
        self.assertEqual(len(re.findall("InvalidTag lora", said)), 1, said)

    def test_a_folder_that_is_refused(self) -> None:
        (self.target / "config.json").write_text("{}")
        status, said = self.run_ranks("together")
        self.assertEqual((status, len(re.findall("rank . 0 InvalidTag .*config.json was altered", said))), (0, 2), said)

    def test_ranks_that_see_two_models(self) -> None:
        """The storage shows each rank a different model, both under the same key."""
        self.target.rename(f"{self.target}0")
        self.models.encrypt(self.source, f"{self.target}1", str(self.key))
        status, said = self.run_ranks("mixed")
        self.assertEqual(
            (status, len(re.findall("rank . 0 RuntimeError rank . has opened another", said))), (0, 2), said
        )

    def test_a_rank_that_is_killed(self) -> None:
        status, said = self.run_ranks("killed")
        self.assertNotEqual(status, 0)
        self.assertNotIn("rank 0 has", said)

    def test_a_rank_that_stops(self) -> None:
        status, said = self.run_ranks("stops")
        self.assertEqual(status, 0, said)
        self.assertRegex(said, "rank 0 8 RuntimeError rank 1 stopped: GeneratorExit")


if __name__ == "__main__":
    unittest.main()
