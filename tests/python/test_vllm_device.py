#!/usr/bin/env python3
"""Tests the plugin for vLLM on the simulated GPU. The GPU decrypts, and vLLM receives tensors in device memory.

This test simulates vLLM with a registry, and with a loader that has the functions in default_loader.py of vLLM 0.33
that the plugin replaces. tests/python/test_vllm.py runs vLLM itself on a CPU.
"""

from __future__ import annotations

import importlib
import os
import pathlib
import sys
import types
from collections.abc import Iterator
from typing import Any
from unittest import mock

import fake_kvikio
import fake_torch
import tomllib
from support import main_on_simulated_gpu
from test_device import bytes_of
from test_models import ROOT, Case
from warpaes.exceptions import FormatError, InvalidTag


class Model(dict[str, Any]):
    """A model whose weights are on a device."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self._device = fake_torch.Device(device)

    def parameters(self) -> Iterator[Any]:
        yield types.SimpleNamespace(device=fake_torch.Device("meta"))
        yield types.SimpleNamespace(device=self._device)


def made_up_vllm(registry: dict[str, Any]) -> list[types.ModuleType]:
    """Return the modules of a fake vLLM whose loaders are registered in a dictionary."""
    loader: Any = types.ModuleType("vllm.model_executor.model_loader")
    default: Any = types.ModuleType("vllm.model_executor.model_loader.default_loader")
    experts: Any = types.ModuleType("vllm.model_executor.model_loader.ep_weight_filter")

    def plain(*_: Any, **__: Any) -> Any:
        raise AssertionError("the weights are read in host memory")

    def plain_by_threads(*_: Any, **__: Any) -> Any:
        raise AssertionError("the weights are read in host memory")

    class DefaultModelLoader:
        local_expert_ids: set[int] | None = None
        strategy: str | None = None

        def __init__(self, load_config: Any) -> None:
            extra = load_config.model_loader_extra_config
            if set(extra) - {"enable_multithread_load", "num_threads", "enable_weights_track"}:
                raise ValueError("Unexpected extra config keys")
            if load_config.load_format != "safetensors":
                raise ValueError(f"Unknown load_format: {load_config.load_format}")
            self.load_config = load_config

        def load_weights(self, model: Model, model_config: Any) -> None:
            files = [str(path) for path in pathlib.Path(model_config.model).glob("*.safetensors")]
            if self.load_config.model_loader_extra_config.get("enable_multithread_load"):
                weights = default.multi_thread_safetensors_weights_iterator(files, False, max_workers=2)
            else:
                weights = default.safetensors_weights_iterator(
                    files,
                    False,
                    self.strategy,
                    local_expert_ids=self.local_expert_ids,
                    safetensors_prefetch_num_threads=8,
                    safetensors_prefetch_block_size=16 << 20,
                )
            model.update(weights)

    default.DefaultModelLoader, default.safetensors_weights_iterator = DefaultModelLoader, plain
    default.multi_thread_safetensors_weights_iterator = plain_by_threads
    experts.should_skip_weight = lambda name, ids: f"layer.{min(ids)}" not in name
    loader.default_loader = default
    loader.register_model_loader = lambda name: lambda kind: registry.setdefault(name, kind)
    return [types.ModuleType("vllm"), types.ModuleType("vllm.model_executor"), loader, default, experts]


class Plugin(Case):
    def setUp(self) -> None:
        super().setUp()
        fake_torch.install()
        torch: Any = sys.modules["torch"]
        torch.load = lambda: None
        sys.modules.setdefault("safetensors.torch", types.ModuleType("safetensors.torch"))  # the real PyTorch is needed
        self.registry: dict[str, Any] = {}
        added = {each.__name__: each for each in made_up_vllm(self.registry)}
        sys.modules.update(added)
        self.default: Any = sys.modules["vllm.model_executor.model_loader.default_loader"]
        self.addCleanup(lambda: [sys.modules.pop(name) for name in added])
        points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
        module, _, function = points["vllm.general_plugins"]["warpaes"].partition(":")
        for _ in range(2):  # vLLM may call the plugin several times
            getattr(importlib.import_module(module), function)()
        self.expected = {name: tensor for name, tensor in self.encrypt().items() if name != "lora"}
        self.place = types.SimpleNamespace(model=str(self.target))

    def loader(self, **extra: Any) -> Any:
        extra = {"keyset": str(self.key)} | extra
        config = types.SimpleNamespace(load_format="warpaes", model_loader_extra_config=extra)
        loader = self.registry["warpaes"](config)
        self.assertEqual((config.load_format, config.model_loader_extra_config), ("warpaes", extra), "unchanged")
        return loader

    def check(self, model: Model, expected: dict[str, Any]) -> None:
        self.assertEqual(model.keys(), expected.keys())
        for name, tensor in expected.items():
            self.assertTrue(model[name].is_cuda)
            if tensor.nbytes:
                self.assertEqual(bytes_of(model[name].owner, 0, tensor.nbytes), tensor.tobytes(), name)

    def test_the_gpu_decrypts(self) -> None:
        before = self.default.safetensors_weights_iterator
        module = importlib.import_module("warpaes.models._vllm")
        for extra in ({}, {"enable_multithread_load": True, "num_threads": 2}, {"reader": "kvikio"}):
            for size in (1 << 30, 3000):
                fake_kvikio.install()
                model = Model("cuda")
                with self.subTest(extra), mock.patch.object(module, "GROUP_BYTES", size):
                    self.loader(**extra).load_weights(model, self.place)
                    self.check(model, self.expected)
                    self.assertEqual(bool(fake_kvikio.reads), "reader" in extra)
        self.assertIs(self.default.safetensors_weights_iterator, before)

    def test_experts_of_other_ranks_are_not_read(self) -> None:
        loader, model = self.loader(), Model("cuda")
        loader.local_expert_ids = {1}
        loader.load_weights(model, self.place)
        self.check(model, {name: tensor for name, tensor in self.expected.items() if name.startswith("layer.1")})

    def test_torchao_is_left_to_vllm(self) -> None:
        loader = self.loader()
        loader.strategy = "torchao"
        with self.assertRaisesRegex(AssertionError, "host memory"):
            loader.load_weights(Model("cuda"), self.place)

    def test_keysets(self) -> None:
        with self.assertRaisesRegex(ValueError, "WARPAES_KEYSET"):
            self.loader(keyset=None)
        with mock.patch.dict(os.environ, WARPAES_KEYSET=str(self.key)):
            self.loader(keyset=None).load_weights(Model("cuda"), self.place)
        with self.assertRaisesRegex(ValueError, "reader must be"):
            self.loader(reader="gds").load_weights(Model("cuda"), self.place)

    def test_refusals(self) -> None:
        """No tensor from an incomplete folder or an altered shard reaches the model."""
        loader, model = self.loader(), Model("cuda")
        path = sorted(self.target.glob("*.safetensors"))[0]
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        with self.assertRaisesRegex(InvalidTag, "layer.0"):
            loader.load_weights(model, self.place)
        path.unlink()
        with self.assertRaisesRegex(FormatError, "is missing"):
            loader.load_weights(model, self.place)
        self.assertEqual(model, {})


del Case

if __name__ == "__main__":
    main_on_simulated_gpu()
