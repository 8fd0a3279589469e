#!/usr/bin/env python3
"""Tests encrypted tensors that KvikIO reads into device memory, on the simulated GPU with a fake KvikIO.

The fake has the same interface as the wheel kvikio-cu13 26.10. tools/serving_bench.py uses the real KvikIO on a GPU.
"""

from __future__ import annotations

import os
import unittest
import unittest.mock
from typing import Any

import fake_kvikio
import fake_torch
from support import main_on_simulated_gpu, needed
from test_device import Weights, bytes_of
from test_models import Case
from warpaes import exceptions


class Files(Weights):
    """Runs all tests of loading through host memory, and this reader's own tests."""

    def setUp(self) -> None:
        super().setUp()
        fake_kvikio.install()
        from warpaes import _device_reader

        self.module: Any = _device_reader
        for name, value in (("PIECE_BYTES", 1 << 17), ("LANDING_BYTES", 1 << 16), ("MOST_READS", 3), ("_LANDINGS", 2)):
            patch = unittest.mock.patch.object(_device_reader, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def load(self, **options: Any) -> Any:
        before = len(os.listdir("/proc/self/fd"))
        try:
            return super().load(**{"reader": "kvikio"} | options)
        finally:
            self.assertEqual(len(os.listdir("/proc/self/fd")), before)

    def test_ciphertext_lands_in_device_memory_only(self) -> None:
        self.load()
        on_device = [size for name, _, size, cuda in fake_kvikio.reads if cuda and name == str(self.path)]
        self.assertEqual(sum(on_device), sum(tensor.nbytes for tensor in self.tensors.values()))
        self.assertEqual(len(on_device), len(fake_kvikio.reads))
        self.assertLessEqual(max(on_device), 1 << 17)

    def test_reads_are_ahead_and_limited(self) -> None:
        under_way, most = 0, 0
        real_pread, real_get = fake_kvikio.CuFile.pread, fake_kvikio.IOFuture.get

        def pread(*arguments: Any) -> Any:
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            return real_pread(*arguments)

        def get(future: Any) -> int:
            nonlocal under_way
            under_way -= 1
            return real_get(future)

        with (
            unittest.mock.patch.object(fake_kvikio.CuFile, "pread", pread),
            unittest.mock.patch.object(fake_kvikio.IOFuture, "get", get),
        ):
            self.load()
        self.assertEqual((under_way, most), (0, 3))

    def test_a_file_that_is_cut_off_meanwhile(self) -> None:
        with self.safetensors.safe_open(
            self.path, "torch", "cuda", reader="kvikio", allow_clear=True, **self.keys
        ) as file:
            os.truncate(self.path, self.path.stat().st_size - 1)
            with self.assertRaisesRegex(exceptions.FormatError, "was truncated"):
                file.get_tensors()

    def test_a_read_that_fails(self) -> None:
        """When the exception is raised, all reads have ended and all tensors have been wiped."""
        real, pending = fake_kvikio.CuFile.pread, []

        def pread(file: Any, room: Any, size: int, at: int) -> Any:
            future = real(file, room, size, at)
            pending.append(future)
            if len(pending) == 4:
                return fake_kvikio.IOFuture(lambda: (_ for _ in ()).throw(RuntimeError("cuFile: 5016")))
            return future

        from warpaes import _shards

        made: list[Any] = []
        wipe = _shards.Shard.wipe

        def wiped(shard: Any) -> None:
            wipe(shard)
            made.extend(tensor for _, tensor in shard.made)

        with (
            unittest.mock.patch.object(fake_kvikio.CuFile, "pread", pread),
            unittest.mock.patch.object(_shards.Shard, "wipe", wiped),
            self.assertRaisesRegex(RuntimeError, "5016"),
        ):
            self.load()
        self.assertTrue(all(future._result is not None for number, future in enumerate(pending) if number != 3))
        self.assertTrue(made)
        for tensor in made:
            if tensor.nbytes:
                self.assertEqual(bytes_of(tensor.owner, 0, tensor.nbytes), bytes(tensor.nbytes))

    def test_an_interrupted_wait(self) -> None:
        """When the exception is raised, the read that was being waited for has also ended."""
        real, waited = fake_kvikio.IOFuture.get, []

        def get(future: Any) -> int:
            waited.append(future)
            if len(waited) == 1:
                raise KeyboardInterrupt
            return real(future)

        with unittest.mock.patch.object(fake_kvikio.IOFuture, "get", get), self.assertRaises(KeyboardInterrupt):
            self.load()
        self.assertIsNotNone(waited[0]._result)

    def test_no_read_into_memory_that_is_in_use(self) -> None:
        """PyTorch's allocator returns memory that the stream may still use, and a read does not wait for the stream."""
        torch, waits = __import__("torch"), fake_torch.work
        since: list[int] = []

        def empty(*arguments: Any, **named: Any) -> Any:
            since.append(len(waits))
            return fake_torch.empty(*arguments, **named)

        def pread(*arguments: Any) -> Any:
            self.assertIn(("synchronize",), waits[since[-1] :])
            return real(*arguments)

        real = fake_kvikio.CuFile.pread
        with (
            unittest.mock.patch.object(torch, "empty", empty),
            unittest.mock.patch.object(fake_kvikio.CuFile, "pread", pread),
        ):
            self.load()

    def test_one_wait_for_a_group_of_tensors(self) -> None:
        """Groups grow to a limit, and the allocations of a group share a wait."""
        from warpaes import _shards

        waits, found = [], []
        real = _shards.Shard._groups
        for first, most in ((1, 1), (1 << 30, 1 << 30)):
            groups: list[list[str]] = []

            def noted(shard: Any, groups: list[list[str]] = groups) -> Any:
                groups += real(shard)
                return groups

            with (
                unittest.mock.patch.multiple(_shards, FIRST_BYTES=first, MOST_BYTES=most),
                unittest.mock.patch.object(_shards.Shard, "_groups", noted),
            ):
                fake_torch.work.clear()
                self.load()
            waits.append(fake_torch.work.count(("synchronize",)))
            found.append(len(groups))
        self.assertGreater(found[0], 100)
        self.assertEqual((found[1], waits[0] - waits[1]), (1, found[0] - 1))

    def test_groups_grow(self) -> None:
        from warpaes import _shards

        shard = _shards.Shard.__new__(_shards.Shard)
        shard._names, shard.sizes = [str(number) for number in range(20)], [10] * 20
        with unittest.mock.patch.multiple(_shards, FIRST_BYTES=10, MOST_BYTES=40):
            groups = list(shard._groups())
        self.assertEqual([len(group) for group in groups], [1, 2, 4, 4, 4, 4, 1])
        self.assertEqual([name for group in groups for name in group], shard._names)

    def test_on_the_cpu(self) -> None:
        """Without a GPU, the file is read in the same way as any other file."""
        found = self.safetensors.load_file(self.path, reader="kvikio", allow_clear=True, **self.keys)
        for name, tensor in self.tensors.items():
            self.assertEqual(found[name].tobytes(), tensor.tobytes())
        self.assertEqual(fake_kvikio.reads, [])

    def test_urls(self) -> None:
        for url in ("s3://bucket/model", "http://host/model", "https://host/model"):
            fake_kvikio.objects[url] = self.path.read_bytes()
            found = self.safetensors.load_file(url, "torch", "cuda", reader="kvikio", allow_clear=True, **self.keys)
            for name, tensor in self.tensors.items():
                if tensor.nbytes:
                    self.assertEqual(bytes_of(found[name].owner, 0, tensor.nbytes), tensor.tobytes(), name)
        fake_kvikio.objects[url] = self.path.read_bytes()[:-1]
        with self.assertRaisesRegex(exceptions.FormatError, "truncated"):
            self.safetensors.load_file(url, "torch", "cuda", reader="kvikio", allow_clear=True, **self.keys)

    def test_mistakes(self) -> None:
        for words, path, reader in (("reader must be", self.path, "gds"), ("kvikio supports", "ftp://a/b", "kvikio")):
            with self.assertRaisesRegex(ValueError, words):
                self.safetensors.load_file(path, "torch", "cuda", reader=reader, **self.keys)
        with self.assertRaises(FileNotFoundError):
            self.safetensors.load_file(self.path.parent / "none", "torch", "cuda", reader="kvikio", **self.keys)


class Models(Case):
    """Tests of model folders, on a disk and in an object store."""

    def setUp(self) -> None:
        super().setUp()
        fake_torch.install()
        fake_kvikio.install()
        self.expected = self.encrypt()

    def check(self, folder: Any, **options: Any) -> None:
        found = dict(self.models.load(folder, self.keyset, device="cuda", reader="kvikio", **options))
        self.assertEqual(found.keys(), self.expected.keys())
        for name, tensor in found.items():
            if tensor.nbytes:
                self.assertEqual(bytes_of(tensor.owner, 0, tensor.nbytes), self.expected[name].tobytes(), name)

    def test_a_folder(self) -> None:
        self.check(self.target)
        self.assertTrue(fake_kvikio.reads)
        self.assertTrue(all(cuda for _, _, _, cuda in fake_kvikio.reads))
        path = sorted(self.target.glob("model-*.safetensors"))[0]
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        with self.assertRaisesRegex(exceptions.InvalidTag, "layer"):
            self.check(self.target)
        with self.assertRaisesRegex(ValueError, "reader must be"):
            next(self.models.load(self.target, self.keyset, reader="gds"))

    def test_reads_continue_with_the_next_file(self) -> None:
        """The first pieces of the next file are under way when the tensors of a file are yielded, and they have ended
        when the caller stops; the tensors that were not yielded are wiped."""
        from warpaes import _shards

        real, wipe, pending, wiped = fake_kvikio.CuFile.pread, _shards.Shard.wipe, [], []

        def pread(file: Any, room: Any, size: int, at: int) -> Any:
            pending.append((file._name, real(file, room, size, at)))
            return pending[-1][1]

        def wiping(shard: Any) -> None:
            wipe(shard)
            wiped.extend(shard.made)

        with (
            unittest.mock.patch.object(fake_kvikio.CuFile, "pread", pread),
            unittest.mock.patch.object(_shards.Shard, "wipe", wiping),
        ):
            loading = self.models.load(self.target, self.keyset, device="cuda", reader="kvikio")
            name, tensor = next(loading)
            files = list(dict.fromkeys(file for file, _ in pending))
            self.assertGreater(len(files), 1)
            unfinished = [future for _, future in pending if future._result is None]
            self.assertTrue(unfinished)
            loading.close()
        self.assertTrue(all(future._result is not None for _, future in pending))
        self.assertTrue(wiped)
        self.assertNotIn(name, [each for each, _ in wiped])
        self.assertEqual(bytes_of(tensor.owner, 0, tensor.nbytes), self.expected[name].tobytes())
        for each, made in wiped:
            if made.nbytes:
                self.assertEqual(bytes_of(made.owner, 0, made.nbytes), bytes(made.nbytes), each)

    def test_an_object_store(self) -> None:
        needed("fsspec")
        memory = needed("fsspec").filesystem("memory")
        for path in self.target.rglob("*"):
            if path.is_file():
                name = path.relative_to(self.target).as_posix()
                memory.pipe_file(f"/bucket/model/{name}", path.read_bytes())
                fake_kvikio.objects[f"s3://bucket/model/{name}"] = path.read_bytes()
        real = needed("fsspec.core").url_to_fs

        def to_memory(url: str, **_: Any) -> Any:
            return real(url.replace("s3://", "memory://"))

        options = {"endpoint_url": "http://here", "key": "k", "secret": "s"}
        with unittest.mock.patch("fsspec.core.url_to_fs", to_memory):
            self.check("s3://bucket/model", storage_options=options)
            self.assertEqual(fake_kvikio.options[0], {"endpoint": "http://here", "key": "k", "secret": "s"})
            with self.assertRaisesRegex(ValueError, "does not support the option anon"):
                self.check("s3://bucket/model", storage_options={"anon": True})


del Weights, Case  # other programs run these tests

if __name__ == "__main__":
    main_on_simulated_gpu()
