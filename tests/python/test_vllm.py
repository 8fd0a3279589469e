#!/usr/bin/env python3
"""Tests the plugin in vLLM itself on a CPU, with vLLM's plugin loader and configuration, Llama, and tensor parallelism.
The steps after loading the weights need vLLM's compiled kernels and do not run.

Machines with vLLM run this test. It was tried with version 0.33.0, from vLLM's wheel for GPUs.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import unittest

from support import optional
from test_models import Case

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

#: Loads a folder with vLLM's own code up to the last weight, and compares each weight with transformers' model.
PROGRAM = """
import sys
import torch
from vllm.config import DeviceConfig, ModelConfig, ParallelConfig, VllmConfig, set_current_vllm_config
from vllm.config.load import LoadConfig
from vllm.distributed import ensure_model_parallel_initialized, init_distributed_environment
from vllm.model_executor.model_loader import get_model_loader
from vllm.plugins import load_general_plugins
from transformers import LlamaForCausalLM

folder, clear, rank, ranks, port = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
load_general_plugins()
extra = {"enable_multithread_load": True, "num_threads": 2} if rank else {}
load = LoadConfig(load_format="warpaes", model_loader_extra_config=extra)
model_config = ModelConfig(model=folder, skip_tokenizer_init=True, dtype="bfloat16", enforce_eager=True)
parallel = ParallelConfig(tensor_parallel_size=ranks, distributed_executor_backend="external_launcher")
config = VllmConfig(
    model_config=model_config, load_config=load, device_config=DeviceConfig("cpu"), parallel_config=parallel
)
loader = get_model_loader(load)
assert type(loader).__name__ == "WarpaesModelLoader", type(loader)
with set_current_vllm_config(config):
    init_distributed_environment(ranks, rank, f"tcp://127.0.0.1:{port}", 0, "gloo")
    ensure_model_parallel_initialized(ranks, 1)
    torch.set_default_dtype(torch.bfloat16)
    model = loader.create_model(vllm_config=config, model_config=model_config)
    loader.load_weights(model, model_config)

whole = LlamaForCausalLM.from_pretrained(clear, dtype=torch.bfloat16).state_dict()


def part(name, dim):
    size = whole[name].shape[dim] // ranks
    return whole[name].narrow(dim, rank * size, size)


compared = 0
for name, found in model.named_parameters():
    if "qkv_proj" in name:
        expected = torch.cat([part(name.replace("qkv_proj", f"{one}_proj"), 0) for one in "qkv"])
    elif "gate_up_proj" in name:
        expected = torch.cat([part(name.replace("gate_up_proj", f"{one}_proj"), 0) for one in ("gate", "up")])
    elif "o_proj" in name or "down_proj" in name:
        expected = part(name, 1)
    elif "embed_tokens" in name or "lm_head" in name:
        expected = part(name, 0)
    else:
        expected = whole[name]
    assert torch.equal(found.data[: expected.shape[0]], expected), name
    compared += 1
print("compared", compared, flush=True)
"""


class Vllm(Case):
    def setUp(self) -> None:
        super().setUp()
        for name in ("vllm", "torch", "transformers"):
            optional(name)
        # Metadata with the entry point of an installed package.
        package = self.folder / "site/warpaes_plugin-0.dist-info"
        package.mkdir(parents=True)
        (package / "METADATA").write_text("Metadata-Version: 2.1\nName: warpaes-plugin\nVersion: 0\n")
        lines = (ROOT / "pyproject.toml").read_text().splitlines()
        at = lines.index('[project.entry-points."vllm.general_plugins"]')
        (package / "entry_points.txt").write_text(f"[vllm.general_plugins]\n{lines[at + 1].replace(chr(34), '')}\n")
        from transformers import LlamaConfig, LlamaForCausalLM

        config = LlamaConfig(
            vocab_size=256, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=128, tie_word_embeddings=False,
        )  # fmt: skip
        model = LlamaForCausalLM(config).to(optional("torch").bfloat16)
        model.save_pretrained(self.source, max_shard_size="100KB")
        self.assertGreater(len(list(self.source.glob("*.safetensors"))), 1)
        self.models.encrypt(self.source, self.target, str(self.key))

    def start(self, rank: int, ranks: int) -> subprocess.Popen[str]:
        paths = [str(self.folder / "site"), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {
            "VLLM_TARGET_DEVICE": "cpu",
            "VLLM_PLUGINS": "warpaes",
            "WARPAES_KEYSET": str(self.key),
            "PYTHONPATH": os.pathsep.join(paths),
            "OMP_NUM_THREADS": "1",
        }
        words = [str(self.target), str(self.source), str(rank), str(ranks), str(20000 + os.getpid() % 20000)]
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *words],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def said(self, ranks: int) -> list[str]:
        """Return the output of the processes of all ranks. Check that no process remains."""
        started = [self.start(rank, ranks) for rank in range(ranks)]
        try:
            return [each.communicate(timeout=1500)[0] for each in started]
        finally:
            for each in started:
                each.kill()
                each.communicate()

    def test_one_rank(self) -> None:
        self.assertIn("compared 15", self.said(1)[0])

    def test_two_ranks(self) -> None:
        """Each rank receives whole tensors, and vLLM selects its slice."""
        for said in self.said(2):
            self.assertIn("compared 15", said)

    def test_an_altered_shard(self) -> None:
        path = sorted(self.target.glob("*.safetensors"))[-1]
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        (said,) = self.said(1)
        self.assertNotIn("compared", said)
        self.assertRegex(said, r"InvalidTag: (model\.|lm_head)\S*: chunk 0")


del Case

if __name__ == "__main__":
    unittest.main()
