#!/usr/bin/env python3
"""Tests vLLM's KV offloading with chunks that are encrypted before they leave the GPU.

The test uses vLLM and PyTorch if they are installed (vLLM 0.33.0 was tried on a CPU), and otherwise classes with their
interfaces (made_up_vllm.py, array_torch.py). Machines with a GPU and PyTorch run this test on the GPU.
test_vllm_tiers.py tests vLLM's tiers and connectors.
"""

from __future__ import annotations

import importlib
import itertools
import os
import pathlib
import pickle
import tempfile
import time
import types
import unittest
import unittest.mock
from typing import Any

import array_torch
import made_up_vllm
import warpaes
from support import needed
from test_device import text
from warpaes.exceptions import InvalidTag

SCALE = 2 * 256  # bytes in a page of the second tensor
Plain = dict[int, list[bytes]]


def installed(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        return False
    return True


HAS_TORCH = installed("torch")
HAS_VLLM = HAS_TORCH and installed("vllm.v1.kv_offload.config")


class Case(unittest.TestCase):
    """A worker with two groups of layers on three tensors. The last page is padded."""

    pages, used = (1024, SCALE, 1024), (1024, SCALE, 1000)
    refs: tuple[tuple[int, ...], ...] = ((0, 1, 2), (0, 2))
    per_chunk = 4

    def setUp(self) -> None:
        needed("numpy")
        needed("cryptography")
        if not HAS_TORCH:
            array_torch.install()
        if not HAS_VLLM:
            made_up_vllm.install()
        self.torch: Any = importlib.import_module("torch")
        self.base: Any = importlib.import_module("vllm.v1.kv_offload.base")
        self.settings: Any = importlib.import_module("vllm.v1.kv_offload.config")
        self.ours: Any = importlib.import_module("warpaes.vllm")
        self.device = "cuda" if self.torch.cuda.is_available() else "cpu"
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.engines = (f"warpaes-test-{os.getpid()}-{number}-{time.monotonic_ns()}" for number in itertools.count())
        self.engine = next(self.engines)
        environment = {key: value for key, value in os.environ.items() if key != "WARPAES_KEYSET"}
        self.enterContext(unittest.mock.patch.dict(os.environ, environment, clear=True))
        self.context = self.base.ReqContext("request")
        self.enterContext(unittest.mock.patch.object(self.ours, "PART_BYTES", 1 << 16))
        self.enterContext(unittest.mock.patch.object(self.ours, "_all_workers_barrier", lambda: None))

    # The vLLM side: its configuration, KV caches and transfers.

    def config(self, rank: int = 0, world: int = 1, model: str = "org/model", **changes: Any) -> Any:
        made, extra = self.settings, {"cpu_bytes_to_use": 1 << 20} | changes.pop("extra", {})
        options = {
            "groups": tuple(
                made.OffloadingGroupConfig(16, tuple(f"layer {number}" for number in group), at)
                for at, group in enumerate(self.refs)
            ),
            "worker_kv_bytes_per_block": sum(self.pages),
            "enable_kv_cache_events": False,
            "extra_config": extra,
            "engine_id": self.engine,
            "model": made.OffloadingModelConfig(model, "bfloat16", 1024),
            "cache": made.OffloadingCacheConfig(16, self.per_chunk),
            "parallel": made.OffloadingParallelConfig(rank, world, world, 1, 1, 1, 0, 1, None, True),
        }
        return made.OffloadingConfig(**options | changes)

    def caches(self, blocks: int) -> tuple[Any, list[Any]]:
        """Return KV caches with different contents in each block, and their tensors."""
        tensors = []
        for number, size in enumerate(self.pages):
            data = bytearray(text(blocks * size + number)[number:])
            tensor = self.torch.frombuffer(data, dtype=self.torch.int8).view(blocks, size)
            tensors.append(tensor if self.device == "cpu" else tensor.to(self.device))
        made = [self.base.CanonicalKVCacheTensor(tensor, size) for tensor, size in zip(tensors, self.pages)]
        refs = [[self.base.CanonicalKVCacheRef(at, self.used[at]) for at in group] for group in self.refs]
        return self.base.CanonicalKVCaches(made, refs), tensors

    def start(self, kind: str = "EncryptedOffloadingSpec", blocks: int = 32, **options: Any) -> None:
        """Start a scheduler's manager and a worker of the same engine."""
        self.spec = getattr(self.ours, kind)(self.config(**options))
        self.manager = self.spec.get_manager()
        self.manager.on_new_request(self.context)
        self.kv, self.tensors = self.caches(blocks)
        self.worker = self.spec.create_worker(self.kv)
        self.addCleanup(self.worker.shutdown)

    def keys(self, names: str, group: int = 0) -> list[Any]:
        return [self.base.make_offload_key(name.encode() * 32, group) for name in names]

    def transfer(self, blocks: list[int], sizes: list[int], indices: list[int]) -> Any:
        return self.base.GPULoadStoreSpec(blocks, sizes, indices)

    def finish(self, job: int) -> None:
        self.worker.wait({job})
        (result,) = self.worker.get_finished()
        self.assertEqual((result.job_id, result.success), (job, True))
        self.assertGreater(result.transfer_size, 0)

    def store(self, keys: list[Any], *transfer: Any) -> Any:
        output = self.manager.prepare_store(keys, self.context)
        self.assertEqual(output.keys_to_store, keys)
        sent = pickle.loads(pickle.dumps(output.store_spec))  # sent from the scheduler to the worker
        self.assertTrue(self.worker.submit_store(1, self.transfer(*transfer), sent))
        self.finish(1)
        self.manager.complete_store(keys, self.context)
        return output.store_spec.block_ids.tolist()

    def load(self, keys: list[Any], *transfer: Any, **options: Any) -> None:
        spec = pickle.loads(pickle.dumps(self.manager.prepare_load(keys, self.context)))
        self.assertTrue(self.worker.submit_load(2, spec, self.transfer(*transfer), **options))
        self.finish(2)

    def block(self, group: int, number: int) -> list[bytes]:
        """Return the pages of a block in one group, without padding."""
        found = [self.tensors[at][number].cpu().numpy().tobytes() for at in self.refs[group]]
        return [page[: self.used[at]] for page, at in zip(found, self.refs[group])]

    def wipe(self, numbers: list[int]) -> None:
        for tensor in self.tensors:
            for number in numbers:
                tensor[number].zero_()

    def cells(self) -> Any:
        return self.worker._bytes


class Transfers(Case):
    def test_what_was_stored_comes_back(self) -> None:
        """Chunks of both groups are loaded into different blocks."""
        self.start()
        plain = [self.block(0, number) for number in range(8)] + [self.block(1, number) for number in range(8, 12)]
        keys = self.keys("ab") + self.keys("a", 1)
        self.store(keys, list(range(12)), [8, 4], [0, 0])
        self.wipe(list(range(32)))
        for expedited in (False, True):
            self.load(keys, list(range(20, 32)), [8, 4], [0, 0], expedited=expedited)
            found = [self.block(0, number) for number in range(20, 28)]
            found += [self.block(1, number) for number in range(28, 32)]
            self.assertEqual(found, plain)
            self.wipe(list(range(32)))

    def test_host_memory_has_ciphertext_only(self) -> None:
        self.start(extra={"cpu_bytes_to_use": 3 << 14})
        self.store(self.keys("ab"), list(range(8)), [8, 0], [0, 0])
        whole = self.cells().tobytes()
        for number in range(8):
            for page in self.block(0, number):
                for at in range(0, len(page) - 16, 16):
                    self.assertFalse(page[at : at + 16] in whole, (number, at))

    def test_parts(self) -> None:
        """There are more chunks than rows in a buffer, so both buffers are used several times."""
        with unittest.mock.patch.object(self.ours, "PART_BYTES", 2 * self.per_chunk * sum(self.pages)):
            self.start()
            plain = [self.block(0, number) for number in range(28)]
            self.store(self.keys("abcdefg"), list(range(28)), [28, 0], [0, 0])
            self.wipe(list(range(32)))
            order = [*range(12, 16), *range(4), *range(8, 12), *range(4, 8)]
            keys = [self.keys("abcdefg")[number] for number in (3, 0, 2, 1)]
            self.load(keys, list(range(16)), [16, 0], [0, 0])
            self.assertEqual([self.block(0, number) for number in range(16)], [plain[number] for number in order])

    def test_parts_of_chunks(self) -> None:
        """Load the first chunk starting at its third block, and the last chunk up to its second block."""
        self.start()
        plain = [self.block(0, number) for number in range(8)]
        self.store(self.keys("ab"), list(range(8)), [8, 0], [0, 0])
        self.wipe(list(range(32)))
        before = [self.block(0, number) for number in range(32)]
        self.load(self.keys("ab"), [30, 29, 28, 27], [4, 0], [2, 0])
        self.assertEqual([self.block(0, number) for number in (30, 29, 28, 27)], plain[2:6])
        self.assertEqual([self.block(0, number) for number in range(27)], before[:27])
        # With a sliding window, the blocks before the window are not stored.
        kept = [self.block(1, number) for number in (28, 29, 30)]
        self.store(self.keys("c", 1), [28, 29, 30], [0, 3], [0, 5])
        self.load(self.keys("c", 1), [3, 4, 5], [0, 3], [0, 1])
        self.assertEqual([self.block(1, number) for number in (3, 4, 5)], kept)

    def test_pages_of_odd_sizes(self) -> None:
        self.pages, self.used = (1001, 77, 500), (1001, 76, 499)
        self.start()
        plain = [self.block(0, number) for number in range(4)]
        self.store(self.keys("a"), [0, 1, 2, 3], [4, 0], [0, 0])
        self.load(self.keys("a"), [7, 6, 5, 4], [4, 0], [0, 0])
        self.assertEqual([self.block(0, number) for number in (7, 6, 5, 4)], plain)

    def test_what_was_altered(self) -> None:
        """Alter each part of a chunk, exchange two chunks, and load a chunk that was never stored."""
        self.start(extra={"cpu_bytes_to_use": 4 << 20})
        row = self.per_chunk * sum(self.pages)
        a, b, c = self.store(self.keys("abc"), list(range(12)), [12, 0], [0, 0])
        kept = self.cells().copy()
        for place in (0, row // 2, row - 1, row + 4, row + 15, row + 16, row + 31):
            self.cells()[b, place] ^= 1
            with self.assertRaisesRegex(InvalidTag, "1 of the chunks"):
                self.load(self.keys("abc"), list(range(12, 24)), [12, 0], [0, 0])
            self.assertEqual(self.block(0, 15), self.block(0, 3), "others are whole")
            self.assertEqual(self.block(0, 16), [bytes(self.used[at]) for at in self.refs[0]])
            self.worker.get_finished()
            self.cells()[:] = kept
        self.cells()[b, row : row + 4] ^= 1  # the altered bytes only select one of the keys
        self.load(self.keys("abc"), list(range(12, 24)), [12, 0], [0, 0])
        self.assertEqual(self.block(0, 16), self.block(0, 4))
        self.cells()[[a, c]] = kept[[c, a]]
        with self.assertRaisesRegex(InvalidTag, "2 of the chunks"):
            self.load(self.keys("abc"), list(range(12, 24)), [12, 0], [0, 0])
        self.worker.get_finished()
        self.cells()[:] = 0
        with self.assertRaisesRegex(InvalidTag, "3 of the chunks"):
            self.load(self.keys("abc"), list(range(12, 24)), [12, 0], [0, 0])

    def test_names_are_bound(self) -> None:
        """A chunk of a different prompt, group, worker or model under the same keyset is refused."""
        keyset = self.folder / "keyset.json"
        keyset.write_bytes(warpaes.Keyset.generate().to_json())
        keyset.chmod(0o600)
        extra = {"keyset": f"clear:{keyset}"}
        self.start(extra=extra)
        (stored,) = self.store(self.keys("a"), [0, 1, 2, 3], [4, 0], [0, 0])
        kept, plain = self.cells()[stored].copy(), [self.block(0, number) for number in range(4)]
        for names, group, options in (
            ("b", 0, {}),
            ("a", 1, {}),
            ("a", 0, {"rank": 1, "world": 2}),
            ("a", 0, {"model": "org/other"}),
            ("a", 0, {}),
        ):
            self.engine = next(self.engines)
            self.start(extra=extra, **options)
            sizes = [4, 0] if group == 0 else [0, 4]
            (stored,) = self.store(self.keys(names, group), [0, 1, 2, 3], sizes, [0, 0])
            self.cells()[stored] = kept
            arguments = (self.keys(names, group), [8, 9, 10, 11], sizes, [0, 0])
            if (names, group, options) != ("a", 0, {}):
                with self.subTest(names=names, group=group, **options), self.assertRaises(InvalidTag):
                    self.load(*arguments)
            else:  # the same name in a different engine with this keyset
                self.load(*arguments)
                self.assertEqual([self.block(0, number) for number in range(8, 12)], plain)

    def test_a_worker_makes_its_own_key(self) -> None:
        self.start()
        (stored,) = self.store(self.keys("a"), [0, 1, 2, 3], [4, 0], [0, 0])
        kept = self.cells()[stored].copy()
        self.engine = next(self.engines)
        self.start()
        (stored,) = self.store(self.keys("a"), [0, 1, 2, 3], [4, 0], [0, 0])
        self.cells()[stored] = kept
        with self.assertRaises(InvalidTag):
            self.load(self.keys("a"), [4, 5, 6, 7], [4, 0], [0, 0])

    def test_no_iv_twice(self) -> None:
        self.start(extra={"cpu_bytes_to_use": 8 << 20})
        row, seen = self.per_chunk * sum(self.pages), set()
        for number in range(20):
            names = [chr(65 + 4 * number + at) for at in range(4)]
            places = self.store(self.keys("".join(names)), list(range(16)), [16, 0], [0, 0])
            seen |= {self.cells()[place, row + 4 : row + 16].tobytes() for place in places}
        self.assertEqual(len(seen), 80)

    def test_room_for_seals(self) -> None:
        """The scheduler and the workers compute the same sizes. Values that vLLM shares between topologies are not
        shared."""
        self.start(replicated_layout=True)
        width = self.per_chunk * (sum(self.pages) + 256)
        self.assertEqual(self.spec.cpu_page_size_per_worker, width)
        self.assertEqual(self.cells().shape, ((1 << 20) // (-(-width // 4096) * 4096), width))
        self.assertFalse(self.spec.replicated_layout)
        self.assertFalse(self.spec.config.parallel.is_parallelism_agnostic)

    def test_mistakes(self) -> None:
        with self.assertRaisesRegex(ValueError, "canonical_layout"):
            self.ours.EncryptedOffloadingSpec(self.config(canonical_layout=True))
        with self.assertRaisesRegex(ValueError, "WARPAES_KEYSET"):
            self.ours.EncryptedTieringSpec(self.config())
        self.start()
        output = self.manager.prepare_store(self.keys("a"), self.context)
        del output.store_spec.names
        with self.assertRaisesRegex(ValueError, "spec_name"):
            self.worker.submit_store(1, self.transfer([0, 1, 2, 3], [4, 0], [0, 0]), output.store_spec)
        output.store_spec.names = self.keys("a")
        with self.assertRaisesRegex(ValueError, "blocks of 2 chunks, but names 1"):
            self.worker.submit_store(1, self.transfer([0, 1, 2, 3], [4, 0], [1, 0]), output.store_spec)
        blocks = self.ours.kv.Blocks(warpaes.Keyset.generate())
        host = self.torch.empty((1, self.per_chunk * sum(self.pages) + 31), dtype=self.torch.int8)
        with self.assertRaisesRegex(ValueError, "with its seal"):
            self.ours.EncryptingWorker(self.kv, host, self.per_chunk, blocks, lambda key: None)

    def test_an_end_with_transfers(self) -> None:
        self.start()
        output = self.manager.prepare_store(self.keys("a"), self.context)
        self.worker.submit_store(1, self.transfer([0, 1, 2, 3], [4, 0], [0, 0]), output.store_spec)
        self.worker.shutdown()
        self.worker.shutdown()

    def test_an_end_after_a_failed_submission(self) -> None:
        """The first part of a transfer is on a stream, and the second part has failed, so there is no job to wait
        for."""
        self.start()
        done: list[str] = []
        self.worker._store._streams = [types.SimpleNamespace(synchronize=lambda: done.append("wait"))] * 2
        self.worker._store._buffers = [types.SimpleNamespace(zero_=lambda: done.append("wipe"))] * 2
        self.worker._release = lambda: done.append("release")
        self.worker.shutdown()
        self.assertEqual(done, ["wait", "wait", "wipe", "wipe", "release"])


class Connector(Case):
    """Tests of failures that the connector reports. Its other methods are vLLM's."""

    refs = ((0, 1, 2),)

    def connector(self, groups: int = 1) -> Any:
        made = self.ours.EncryptedOffloadingConnector
        connector = made.__new__(made)
        connector._kv_cache_config = types.SimpleNamespace(kv_cache_groups=[None] * groups)
        connector.connector_worker = types.SimpleNamespace(worker=self.worker)
        return connector

    def test_failed_blocks(self) -> None:
        self.start()
        _, b = self.store(self.keys("ab"), list(range(8)), [8], [0])
        self.cells()[b, 5] ^= 1
        connector = self.connector()
        with unittest.mock.patch.object(self.ours.OffloadingConnector, "register_kv_caches"):
            connector.register_kv_caches({})
        self.load(self.keys("ab"), list(range(10, 16)), [6], [2])
        self.assertEqual(connector.get_block_ids_with_load_errors(), {12, 13, 14, 15})
        self.assertEqual(connector.get_block_ids_with_load_errors(), set())
        self.assertEqual(self.block(0, 10), self.block(0, 2), "others are whole")
        self.assertEqual(self.block(0, 12), [bytes(self.used[at]) for at in self.refs[0]])

    def test_after_a_failure_all_chunks_are_forgotten(self) -> None:
        self.start()
        base, connector = self.ours.OffloadingConnector, self.connector()
        for failed in (set(), {3}):
            with (
                unittest.mock.patch.object(base, "update_connector_output") as update,
                unittest.mock.patch.object(base, "reset_cache") as reset,
            ):
                connector.update_connector_output(types.SimpleNamespace(invalid_block_ids=failed))
            update.assert_called_once()
            self.assertEqual(reset.call_count, len(failed))

    def test_several_groups_end_the_engine(self) -> None:
        """For models with several groups, vLLM does not support failures of single blocks."""
        self.start()
        connector = self.connector(groups=2)
        with unittest.mock.patch.object(self.ours.OffloadingConnector, "register_kv_caches"):
            connector.register_kv_caches({})
        self.assertIsNone(self.worker.failed)
        connector.connector_worker.worker = object()
        with (
            unittest.mock.patch.object(self.ours.OffloadingConnector, "register_kv_caches"),
            self.assertRaisesRegex(ValueError, "spec_name must be"),
        ):
            connector.register_kv_caches({})


if __name__ == "__main__":
    unittest.main()
