#!/usr/bin/env python3
"""Tests encrypted chunks in vLLM's own tiers and connectors, which vLLM's factories create from the documented
configuration.

Machines with vLLM run this test. It was tried with version 0.33.0 on a CPU.
"""

from __future__ import annotations

import importlib
import json
import pathlib
import time
import types
import unittest
import unittest.mock
from typing import Any

import warpaes
from test_vllm_offload import HAS_VLLM, Case
from warpaes.exceptions import InvalidTag


class Tiers(Case):
    """Tests with vLLM's own tiers, factories and configuration."""

    refs, per_chunk = ((0, 1, 2),), 2

    def setUp(self) -> None:
        if not HAS_VLLM:
            raise unittest.SkipTest("the Python package vllm is not installed; machines that have it run this test")
        super().setUp()
        self.keyset = self.folder / "keyset.json"
        self.keyset.write_bytes(warpaes.Keyset.generate().to_json())
        self.keyset.chmod(0o600)

    def until(self, is_done: Any) -> None:
        """Run the tiers until a condition is true."""
        for _ in range(500):
            self.manager.on_schedule_end(self.base.ScheduleEndContext((), ()))
            if is_done():
                return
            time.sleep(0.02)
        self.fail("not within 10 s")

    def test_the_file_tier(self) -> None:
        """The files of one engine are ciphertext. The next engine loads them, and refuses an altered chunk and a
        renamed chunk."""
        tier = {"type": "fs", "root_dir": str(self.folder / "tier")}
        extra = {"keyset": f"clear:{self.keyset}", "secondary_tiers": [tier]}
        self.start("EncryptedTieringSpec", extra=extra)
        plain = [self.block(0, number) for number in range(4)]
        keys = self.keys("ab")
        self.store(keys, [0, 1, 2, 3], [4], [0])
        files: list[pathlib.Path] = []
        self.until(lambda: len(files := sorted((self.folder / "tier").rglob("*.bin"))) == 2)
        files = sorted((self.folder / "tier").rglob("*.bin"))
        for path in files:
            content = path.read_bytes()
            for pages in plain:
                self.assertFalse(any(page[at : at + 16] in content for page in pages for at in range(0, 480, 16)))
        self.stop()

        def load() -> None:
            self.engine = next(self.engines)
            self.start("EncryptedTieringSpec", extra=extra)
            self.wipe(list(range(32)))
            hit = self.base.LookupResult.HIT
            self.until(lambda: all(self.manager.lookup(key, self.context) is hit for key in keys))
            try:
                self.load(keys, [8, 9, 10, 11], [4], [0])
            finally:
                self.worker.get_finished()
                self.stop()

        load()
        self.assertEqual([self.block(0, number) for number in range(8, 12)], plain)
        first, second = files[0].read_bytes(), files[1].read_bytes()
        files[0].write_bytes(first[:100] + bytes([first[100] ^ 1]) + first[101:])
        with self.assertRaisesRegex(InvalidTag, "1 of the chunks"):
            load()
        files[0].write_bytes(second)
        files[1].write_bytes(first)
        with self.assertRaisesRegex(InvalidTag, "2 of the chunks"):
            load()

    def stop(self) -> None:
        self.worker.shutdown()
        self.manager.shutdown()

    def options(self) -> Any:
        """Return the configuration in the documentation."""
        from vllm.config import KVTransferConfig

        document = (pathlib.Path(__file__).parents[2] / "docs/kv-caches.md").read_text()
        begin = document.index("--kv-transfer-config '") + len("--kv-transfer-config '")
        options = json.loads(document[begin : document.index("'", begin)])
        options["kv_connector_extra_config"]["cpu_bytes_to_use"] = 4 << 20
        return KVTransferConfig(**options)

    def test_vllm_finds_the_classes(self) -> None:
        from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory
        from vllm.v1.kv_offload.factory import OffloadingSpecFactory

        transfer = self.options()
        self.assertIs(KVConnectorFactory.get_connector_class(transfer), self.ours.EncryptedOffloadingConnector)
        self.assertTrue(KVConnectorFactory.supports_hma_config(transfer))
        spec = OffloadingSpecFactory.create_spec(self.config(extra=transfer.kv_connector_extra_config))
        self.assertIsInstance(spec, self.ours.EncryptedOffloadingSpec)
        self.assertTrue(type(spec).build_metric_definitions(transfer.kv_connector_extra_config))

    def connectors(self, names: list[str], blocks: int) -> tuple[Any, Any, Any]:
        """Return the scheduler's and the worker's connector for a small Llama, and its KV cache by layer."""
        from transformers import LlamaConfig
        from vllm.config import CacheConfig, DeviceConfig, ModelConfig, VllmConfig
        from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory
        from vllm.distributed.kv_transfer.kv_connector.v1 import KVConnectorRole
        from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec, KVCacheTensor

        LlamaConfig(
            vocab_size=256, hidden_size=64, intermediate_size=128, num_hidden_layers=len(names), num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=512, architectures=["LlamaForCausalLM"],
        ).save_pretrained(self.folder / "model")  # fmt: skip
        torch = self.torch
        model = ModelConfig(
            model=str(self.folder / "model"), skip_tokenizer_init=True, dtype="bfloat16", enforce_eager=True
        )
        config = VllmConfig(
            model_config=model,
            device_config=DeviceConfig(self.device),
            cache_config=CacheConfig(block_size=16),
            kv_transfer_config=self.options(),
        )
        attention = FullAttentionSpec(block_size=16, num_kv_heads=2, head_size=16, dtype=torch.bfloat16)
        page = attention.page_size_bytes
        whole = KVCacheTensor(len(names) * blocks * page, names, blocks * page, page)
        layout = KVCacheConfig(blocks, [whole], [KVCacheGroupSpec(names, attention)], kv_cache_layout="LBHNC")
        numbers = torch.arange(len(names) * blocks * page // 2, dtype=torch.int16, device=self.device)
        caches = numbers.view(len(names), blocks, page // 2).view(torch.bfloat16)
        made = [
            KVConnectorFactory.create_connector(config, role, layout)
            for role in (KVConnectorRole.SCHEDULER, KVConnectorRole.WORKER)
        ]
        platform = importlib.import_module("vllm.v1.kv_offload.cpu.spec").current_platform
        with unittest.mock.patch.object(type(platform), "is_cuda_alike", lambda self: True):  # vLLM refuses CPUs
            made[1].register_kv_caches(dict(zip(names, caches)))
        return made[0], made[1], caches

    def test_both_connectors(self) -> None:
        """Blocks are stored and loaded. If a chunk is altered, its blocks fail and are not found again."""
        from vllm.distributed.kv_transfer.kv_connector.v1.offloading.common import (
            OffloadingConnectorMetadata,
            TransferJob,
        )

        scheduler, connector, caches = self.connectors(
            ["model.layers.0.self_attn.attn", "model.layers.1.self_attn.attn"], 64
        )
        self.addCleanup(connector.shutdown)
        manager, hit = scheduler.connector_scheduler.manager, self.base.LookupResult.HIT
        manager.on_new_request(self.context)
        keys, plain = self.keys("abc"), caches[:, :3].clone()

        def step(**jobs: Any) -> Any:
            """Run a step of the engine."""
            connector.bind_connector_metadata(OffloadingConnectorMetadata(**{"load_jobs": {}, "store_jobs": {}} | jobs))
            connector.start_load_kv(None)
            connector.wait_for_save()
            connector.connector_worker.worker.wait({1, 2, 3})
            return connector.get_finished(set())

        def load(job: int, blocks: list[int]) -> None:
            source = manager.prepare_load(keys, self.context)
            jobs = {job: TransferJob("request", source, self.transfer(blocks, [3], [0]))}
            self.assertEqual(step(load_jobs=jobs), (set(), {"request"}))
            manager.complete_load(keys, self.context)

        output = manager.prepare_store(keys, self.context)
        step(store_jobs={1: TransferJob("request", self.transfer([0, 1, 2], [3], [0]), output.store_spec)})
        step()
        self.assertEqual(connector.build_connector_worker_meta().completed_jobs, {1: 1})
        manager.complete_store(keys, self.context)
        load(2, [10, 11, 12])
        self.assertTrue(self.torch.equal(caches[:, 10:13].view(self.torch.int16), plain.view(self.torch.int16)))
        self.assertEqual(connector.get_block_ids_with_load_errors(), set())
        connector.connector_worker.worker._bytes[int(output.store_spec.block_ids[1]), 7] ^= 1
        load(3, [20, 21, 22])
        self.assertEqual(connector.get_block_ids_with_load_errors(), {21})
        self.assertEqual(int(caches[:, 21].view(self.torch.int16).abs().sum()), 0)
        self.assertIs(manager.lookup(keys[0], self.context), hit)
        results = types.SimpleNamespace(kv_connector_worker_meta=None, invalid_block_ids={21})
        scheduler.update_connector_output(results)
        self.assertIsNot(manager.lookup(keys[0], self.context), hit)


del Case

if __name__ == "__main__":
    unittest.main()
