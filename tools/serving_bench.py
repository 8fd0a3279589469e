#!/usr/bin/env python3
"""Measures loads of encrypted models and copies of encrypted KV blocks on a GPU. Compares the loads with loaders of
unencrypted models, and the copies with plain copies, in the same run.

Prints the rows and stores a record in bench/results/serving. Needs PyTorch, safetensors and cryptography. Parts that
need fastsafetensors, runai_model_streamer, kvikio or transformers are skipped if the package is not installed. The
record lists the skipped parts in `left_out`.

    PYTHONPATH=build/cuda/python python3 tools/serving_bench.py

``--device cpu --gib 0.01`` runs all parts that need no GPU. ``--only kv --only model --loader kvikio`` runs only these
parts and loaders, and stores a record only with ``--output``.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any

sys.path.append(str(Path(__file__).resolve().parent))
import host_scan
import numpy as np
import torch
import warpaes
import warpaes.models
from recording import ROOT, find_gpu, processor, save, stamp
from safetensors.torch import load_file, save_file
from warpaes import kv

SHARDS = 4
#: Llama's shapes: hidden, intermediate, heads, key and value heads, and vocabulary. The small shapes are for CPUs.
LARGE, SMALL = (4096, 14336, 32, 8, 128256), (64, 128, 4, 2, 256)
OPTIONAL = ("fastsafetensors", "runai_model_streamer", "kvikio", "transformers")
PARTS = ("kv", "model", "scan", "outputs")
RECORDS = ROOT / "bench/results/serving"


class Bench:
    """The options and the rows of the record."""

    def __init__(self, given: argparse.Namespace, folder: Path) -> None:
        self.device, self.samples, self.folder = torch.device(given.device), given.samples, folder
        self.on_gpu = self.device.type == "cuda"
        self.clear, self.sealed, self.key = folder / "clear", folder / "sealed", str(folder / "keyset.json")
        self.sizes = LARGE if given.gib >= 1 else SMALL
        self.bytes = int(given.gib * (1 << 30))
        self.blocks, self.block_bytes = given.blocks, given.block_kib << 10
        self.only, self.loader = given.only or PARTS, given.loader.lower()
        self.rows: list[dict[str, Any]] = []
        self.left_out: dict[str, str] = {}

    def add(self, part: str, what: str, **row: Any) -> None:
        self.rows.append({"part": part, "what": what, **row})
        print(f"{part:8} {what:56} {json.dumps(row)}", flush=True)

    def wait(self) -> None:
        if self.on_gpu:
            torch.cuda.synchronize()

    def attempt(self, name: str, work: Callable[[], Any]) -> Any:
        """Return the result of ``work``. A failure is recorded but does not end the run."""
        try:
            return work()
        except Exception as error:
            self.left_out[name] = f"{type(error).__name__}: {error}"[:300]
            print(f"left out: {name}: {self.left_out[name]}", flush=True)
            return None


# ------------------------------------------------------------------------------------------------------------- models


def shapes(bench: Bench) -> dict[str, tuple[int, ...]]:
    """Return the tensor names and shapes of a Llama model of at least the requested size."""
    hidden, wide, heads, keys, vocabulary = bench.sizes
    narrow = hidden // heads * keys
    found: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (vocabulary, hidden),
        "model.norm.weight": (hidden,),
    }
    layers = 0
    while layers < 2 or 2 * sum(int(np.prod(shape)) for shape in found.values()) < bench.bytes:
        layer = f"model.layers.{layers}."
        for name, shape in (
            ("self_attn.q_proj", (hidden, hidden)), ("self_attn.k_proj", (narrow, hidden)),
            ("self_attn.v_proj", (narrow, hidden)), ("self_attn.o_proj", (hidden, hidden)),
            ("mlp.gate_proj", (wide, hidden)), ("mlp.up_proj", (wide, hidden)), ("mlp.down_proj", (hidden, wide)),
            ("input_layernorm", (hidden,)), ("post_attention_layernorm", (hidden,)),
        ):  # fmt: skip
            found[f"{layer}{name}.weight"] = shape
        layers += 1
    return found


def make_model(bench: Bench) -> dict[str, Any]:
    """Write a model of random weights, unencrypted and encrypted, and return its tensors on the device."""
    torch.manual_seed(45)
    tensors = {
        name: torch.randn(shape, dtype=torch.bfloat16, device=bench.device) * 0.02
        for name, shape in shapes(bench).items()
    }
    names, total = sorted(tensors), sum(tensor.nbytes for tensor in tensors.values())
    shards: list[list[str]] = [[] for _ in range(SHARDS)]
    done = 0
    for name in names:
        shards[min(SHARDS - 1, done * SHARDS // total)].append(name)
        done += tensors[name].nbytes
    bench.clear.mkdir()
    index = {}
    for number, shard in enumerate(shards):
        path = f"model-{number + 1:05}-of-{SHARDS:05}.safetensors"
        save_file({name: tensors[name].cpu() for name in shard}, bench.clear / path, {"format": "pt"})
        index |= dict.fromkeys(shard, path)
    (bench.clear / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {"total_size": total}, "weight_map": index})
    )
    hidden, wide, heads, keys, vocabulary = bench.sizes
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": hidden,
        "intermediate_size": wide, "num_attention_heads": heads, "num_key_value_heads": keys, "vocab_size": vocabulary,
        "num_hidden_layers": sum("q_proj" in name for name in names), "tie_word_embeddings": True,
        "torch_dtype": "bfloat16", "max_position_embeddings": 2048, "bos_token_id": 1, "eos_token_id": 2,
    }  # fmt: skip
    (bench.clear / "config.json").write_text(json.dumps(config))
    warpaes.Keyset.generate().save(bench.key)
    begin = time.perf_counter()
    warpaes.models.encrypt(bench.clear, bench.sealed, bench.key)
    bench.add("model", "warpaes model encrypt", bytes=total, seconds=[time.perf_counter() - begin])
    return tensors


def paths(folder: Path) -> list[str]:
    return [str(path) for path in sorted(folder.glob("*.safetensors"))]


def by_safetensors(bench: Bench) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path in paths(bench.clear):
        found |= load_file(path, str(bench.device))
    return found


def by_fastsafetensors(bench: Bench) -> dict[str, Any]:
    from fastsafetensors import fastsafe_open

    device = "cuda:0" if bench.on_gpu else "cpu"
    with fastsafe_open(paths(bench.clear), nogds=True, device=device) as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def by_fastsafetensors_loader(bench: Bench) -> dict[str, Any]:
    """Load as vLLM does with fastsafetensors."""
    from fastsafetensors import ParallelLoader, SingleGroup

    device = "cuda:0" if bench.on_gpu else "cpu"
    loader = ParallelLoader(SingleGroup(), paths(bench.clear), use_tqdm_on_load=False, device=device, nogds=True)
    try:
        return dict(loader.iterate_weights())
    finally:
        loader.close()


def by_runai(bench: Bench) -> dict[str, Any]:
    """Load as vLLM does with Run:ai's streamer, into host memory and from there to the device."""
    from runai_model_streamer import SafetensorsStreamer

    with SafetensorsStreamer() as streamer:
        streamer.stream_files(paths(bench.clear), owned=not bench.on_gpu)
        return {name: tensor.to(bench.device) for name, tensor in streamer.get_tensors()}


def by_runai_device(bench: Bench) -> dict[str, Any]:
    from runai_model_streamer import SafetensorsStreamer

    with SafetensorsStreamer() as streamer:
        streamer.stream_files(paths(bench.clear), device="cuda:0")
        return dict(streamer.get_tensors())


def by_warpaes(bench: Bench, reader: str = "threads") -> dict[str, Any]:
    return dict(warpaes.models.load(bench.sealed, bench.key, device=bench.device, reader=reader))


def by_device_map(bench: Bench) -> dict[str, Any]:
    """Load half of the layers to each of two GPUs."""
    half = sum("q_proj" in name for name in shapes(bench)) // 2
    places = {f"model.layers.{number}": "cuda:0" for number in range(half)} | {"": "cuda:1"}
    return dict(warpaes.models.load(bench.sealed, bench.key, device_map=places))


def by_kvikio(bench: Bench) -> dict[str, Any]:
    """Read the encrypted files into device memory without decryption."""
    import kvikio

    pending, buffers = [], {}
    for path in paths(bench.sealed):
        size = os.path.getsize(path)
        buffers[path] = torch.empty(size, dtype=torch.uint8, device=bench.device)
        file = kvikio.CuFile(path, "r")
        pending += [(file, file.pread(buffers[path], size, 0), size)]
    bench.wait()
    for file, future, size in pending:
        if future.get() != size:
            raise OSError("KvikIO read less than the whole file")
        file.close()
    return buffers


def ways(bench: Bench) -> dict[str, Callable[[], dict[str, Any]]]:
    """Return the loaders by name. The names of loaders for unencrypted files end with ", in clear"."""
    found: dict[str, Callable[[], dict[str, Any]]] = {
        "safetensors.torch.load_file, in clear": lambda: by_safetensors(bench),
        "fastsafetensors, fastsafe_open, in clear": lambda: by_fastsafetensors(bench),
        "fastsafetensors, ParallelLoader, in clear": lambda: by_fastsafetensors_loader(bench),
        "runai-model-streamer, in clear": lambda: by_runai(bench),
        "warpaes.models.load": lambda: by_warpaes(bench),
    }
    if bench.on_gpu:
        found["runai-model-streamer, device=, in clear"] = lambda: by_runai_device(bench)
        found["warpaes.models.load, reader='kvikio'"] = lambda: by_warpaes(bench, "kvikio")
        found["KvikIO only, the encrypted bytes"] = lambda: by_kvikio(bench)
    if torch.cuda.device_count() > 1:
        found["warpaes.models.load, device_map of two GPUs"] = lambda: by_device_map(bench)
    missing = tuple(name.replace("_", "-") for name in bench.left_out) + tuple(bench.left_out)
    return {
        what: load
        for what, load in found.items()
        if bench.loader in what.lower() and not any(name in what.lower() for name in missing)
    }


def check(bench: Bench, what: str, found: dict[str, Any], tensors: dict[str, Any]) -> None:
    """Compare the loaded tensors with the original tensors."""
    if what.startswith("KvikIO only"):
        for path, data in found.items():
            if not np.array_equal(np.fromfile(path, np.uint8), data.cpu().numpy()):
                raise ValueError(f"{path}: the bytes differ")
    elif found.keys() != tensors.keys() or not all(
        torch.equal(found[name].to(bench.device), tensor) for name, tensor in tensors.items()
    ):
        raise ValueError("the tensors differ")


def model_loads(bench: Bench, tensors: dict[str, Any]) -> None:
    """Time the loaders in turns with the files in the page cache. Each loader's first result is checked."""
    loaders = ways(bench)

    def once(what: str, compare: bool) -> float:
        if bench.on_gpu:
            torch.cuda.empty_cache()
        bench.wait()
        begin = time.perf_counter()
        found = loaders[what]()
        bench.wait()
        passed = time.perf_counter() - begin
        if compare:
            check(bench, what, found, tensors)
        return passed

    taken: dict[str, list[float]] = {}
    for what in loaders:
        if bench.attempt(what, lambda what=what: once(what, True)) is not None:
            taken[what] = []
    for _ in range(bench.samples):
        for what, seconds in taken.items():
            seconds.append(once(what, False))
    total = sum(tensor.nbytes for tensor in tensors.values())
    for what, seconds in taken.items():
        bench.add("model", what, bytes=total, seconds=seconds, gb_per_s=total / median(seconds) / 1e9)


def outputs(bench: Bench) -> None:
    """Compare the outputs of the model that transformers loads from each folder."""
    from transformers import AutoModelForCausalLM

    def scores(folder: Path) -> Any:
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).to(bench.device).eval()
        with torch.inference_mode():
            return model(torch.arange(1, 33, device=bench.device)[None]).logits

    expected = scores(bench.clear)
    with warpaes.models.unlocked(bench.key):
        found = scores(bench.sealed)
    if not torch.equal(expected, found) or not bool(expected.isfinite().all()):
        raise ValueError("the outputs differ")
    bench.add("model", "transformers, outputs equal to the clear model's", equal=True)


# ---------------------------------------------------------------------------------------------------------- host scan


def scanned(bench: Bench) -> None:
    """Run a process that loads the encrypted model and searches its own memory for the weights."""
    needles = np.concatenate([host_scan.needles_of(Path(path).read_bytes()) for path in paths(bench.clear)])
    place = bench.folder / "needles.npy"
    np.save(place, needles)
    for reader in ("threads", "kvikio") if bench.on_gpu else ("threads",):
        command = [sys.executable, __file__, "--scan", str(bench.folder), reader, "--device", str(bench.device)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            bench.left_out[f"host scan, {reader}"] = done.stderr[-300:]
            print(f"left out: host scan, {reader}: {done.stderr[-300:]}", flush=True)
            continue
        for line in done.stdout.splitlines():
            row = json.loads(line)
            bench.add("scan", f"{row.pop('when')}, reader='{reader}'", **row)


def scan_here(folder: Path, reader: str, device: str) -> None:
    """Load the model and search this process's memory for plaintext: while pieces are read, between two tensors, and
    after the load. As a check of the scan, also search while the memory contains a copy of the weights."""
    scan = host_scan.Scan(np.load(folder / "needles.npy"))
    pinned: list[Any] = []
    real_empty, found = torch.empty, []

    def empty(*arguments: Any, **options: Any) -> Any:
        made = real_empty(*arguments, **options)
        if options.get("pin_memory"):
            pinned.append(made)
        return made

    def look(when: str) -> None:
        found.append({"when": when, **scan.process([memoryview(each.numpy()) for each in pinned])})

    torch.empty = empty
    tensors: dict[str, Any] = {}
    module = importlib.import_module("warpaes._to_gpu" if reader == "threads" else "warpaes._device_reader")
    step, owner = ("_fill", module) if reader == "threads" else ("_arrive", module._Load)
    real, calls = getattr(owner, step), [0]

    def counted(*arguments: Any) -> Any:
        result = real(*arguments)
        calls[0] += 1
        if calls[0] == 40:
            look("while pieces are read")
        return result

    setattr(owner, step, counted)
    loading: Iterator[tuple[str, Any]] = warpaes.models.load(
        folder / "sealed", str(folder / "keyset.json"), device=device, reader=reader
    )
    for name, tensor in loading:
        if len(tensors) == 1:
            look("between two tensors")
        tensors[name] = tensor
    look("after the load")
    copy = [tensor.cpu() for tensor in tensors.values()]
    look("check: with a copy of the weights in host memory")
    del copy
    for row in found:
        print(json.dumps(row))


# ---------------------------------------------------------------------------------------------------------- KV blocks


def vllm_chunks(bench: Bench, plain: torch.Tensor) -> dict[str, Callable[[], Any]]:
    """Check transfers of the same blocks as vLLM chunks, and return the transfers to measure. Each chunk contains the
    pages of up to 32 layers. If vLLM is not installed, classes of the tests with the same interface replace it."""
    if importlib.util.find_spec("vllm") is None:
        sys.path.append(str(ROOT / "tests/python"))
        importlib.import_module("made_up_vllm").install()
    base: Any = importlib.import_module("vllm.v1.kv_offload.base")
    from warpaes.vllm import EncryptingWorker

    count, size = plain.shape
    layers = min(32, size // 64)
    pages = [part.contiguous().view(torch.int8) for part in plain.chunk(layers, 1)]
    page = pages[0].shape[1]
    refs = [base.CanonicalKVCacheRef(layer, page) for layer in range(layers)]
    caches = base.CanonicalKVCaches([base.CanonicalKVCacheTensor(each, page) for each in pages], [refs])
    host = torch.empty((count, size + 256), dtype=torch.int8, pin_memory=bench.on_gpu)
    blocks = kv.Blocks(warpaes.Keyset.generate())
    worker = EncryptingWorker(caches, host, 1, blocks, lambda key: kv.ObjectName(key, "model", 0, 0, ""))
    names = [number.to_bytes(8, "big") for number in range(count)]
    chunks = SimpleNamespace(block_ids=np.arange(count), names=names)
    gpu = base.GPULoadStoreSpec(list(range(count)), [count], [0])

    def ended() -> None:
        worker.wait({1})
        worker.get_finished()

    def store() -> None:
        worker.submit_store(1, gpu, chunks)
        ended()

    def load() -> None:
        worker.submit_load(1, chunks, gpu)
        ended()

    store()
    for each in pages:
        each.zero_()
    load()
    if not all(torch.equal(each, part.view(torch.int8)) for each, part in zip(pages, plain.chunk(layers, 1))):
        raise ValueError("the chunks differ after the transfers")
    return {
        "store of vLLM's chunks, gathered first": store,
        "fetch of vLLM's chunks, put back": load,
    }


def kv_blocks(bench: Bench) -> None:
    """Time copies of KV blocks to page-locked memory and back, alternating between plain copies and copies with
    encryption."""
    count, size = bench.blocks, bench.block_bytes
    plain = torch.randint(0, 256, (count, size), dtype=torch.uint8, device=bench.device)
    staging, host = plain.clone(), torch.empty((count, size), dtype=torch.uint8, pin_memory=bench.on_gpu)
    names = [kv.ObjectName(number.to_bytes(8, "big"), "model", 0, 0, f"tenant {number % 4}") for number in range(count)]
    blocks = kv.Blocks(warpaes.Keyset.generate())
    seals = blocks.store(staging, names, host)
    bench.wait()
    words = host.cpu().view(torch.int64).reshape(-1)
    if int((words == plain.cpu().view(torch.int64).reshape(-1)).sum()):
        raise ValueError("plaintext in the host's copy")
    statuses = blocks.fetch(host, seals, names, staging)
    if not torch.equal(staging, plain) or int(statuses.abs().sum()):
        raise ValueError("the blocks differ after the transfers")
    host.reshape(-1)[0] ^= 1
    if blocks.fetch(host, seals, names, staging).tolist() != [kv.NOT_AUTHENTIC, *[0] * (count - 1)]:
        raise ValueError("an altered block was not detected")
    host.reshape(-1)[0] ^= 1

    def encrypt_then_copy() -> None:
        blocks.encrypt(staging, names)
        host.copy_(staging, non_blocking=True)

    def bare_by_block() -> None:
        for number in range(count):
            host[number].copy_(staging[number], non_blocking=True)

    works: dict[str, Callable[[], Any]] = {
        "bare copy to the host": lambda: host.copy_(staging, non_blocking=True),
        "bare copy to the host, block by block": bare_by_block,
        "store: encrypted while copied": lambda: blocks.store(staging, names, host),
        "all encrypted, then copied": encrypt_then_copy,
        "bare copy from the host": lambda: staging.copy_(host, non_blocking=True),
        "fetch: decrypted while copied": lambda: blocks.fetch(host, seals, names, staging),
        "encryption alone": lambda: blocks.encrypt(staging, names),
        **vllm_chunks(bench, plain),
    }
    taken: dict[str, list[float]] = {what: [] for what in works}
    for _ in range(20 * bench.samples + 1):
        for what, work in works.items():
            bench.wait()
            begin = time.perf_counter()
            work()
            bench.wait()
            taken[what].append(time.perf_counter() - begin)
    for what, seconds in taken.items():
        seconds = seconds[1:]
        rate = count * size / median(seconds) / 1e9
        bench.add("kv", what, blocks=count, bytes=count * size, us=median(seconds) * 1e6, gb_per_s=rate)


# --------------------------------------------------------------------------------------------------------------- main


def versions() -> dict[str, str]:
    found = {"torch": torch.__version__}
    for name in ("safetensors", "fastsafetensors", "runai_model_streamer", "kvikio_cu13", "transformers"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", help="PyTorch's name of the device (%(default)s)")
    parser.add_argument("--gib", type=float, default=4.0, help="minimum size of the model in GiB (default: 4)")
    parser.add_argument("--samples", type=int, default=5, help="number of samples per row (%(default)s)")
    parser.add_argument("--blocks", type=int, default=16, help="number of KV blocks (%(default)s)")
    parser.add_argument("--block-kib", type=int, default=8 << 10, help="size of a KV block in KiB (%(default)s)")
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path("/dev/shm"),
        help="folder for the files; it needs space for three times the model's size",
    )
    parser.add_argument("--only", action="append", choices=PARTS, help="run only this part; may be repeated")
    parser.add_argument("--loader", default="", metavar="TEXT", help="run only loaders whose name contains this text")
    parser.add_argument("--output", type=Path, help="folder for the record (default: bench/results/serving)")
    parser.add_argument("--scan", nargs=2, metavar=("FOLDER", "READER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.scan:
        scan_here(Path(given.scan[0]), given.scan[1], given.device)
        return 0
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        bench = Bench(given, Path(folder))
        for name in OPTIONAL:
            if importlib.util.find_spec(name) is None:
                bench.left_out[name] = "not installed"
        if bench.on_gpu and "kvikio" not in bench.left_out:
            bench.attempt("kvikio", lambda: importlib.import_module("kvikio.defaults").set({"num_threads": 16}))
        if "kv" in bench.only:
            bench.attempt("KV blocks", lambda: kv_blocks(bench))
        if bench.only != ["kv"]:
            tensors = bench.attempt("model", lambda: make_model(bench))
            if "model" in bench.only:
                bench.attempt("loads", lambda: model_loads(bench, tensors))
            del tensors
        if "scan" in bench.only:
            bench.attempt("host scan", lambda: scanned(bench))
        if "outputs" in bench.only and "transformers" not in bench.left_out:
            bench.attempt("outputs", lambda: outputs(bench))
    if (given.only or given.loader) and given.output is None:
        print("no record was stored, because some rows were not measured; --output FOLDER stores a record")
        return 0
    host = {"cpu": processor(), "cores": len(os.sched_getaffinity(0))}
    record = {
        "schema": 1, "kind": "serving", **stamp(), "gpu": find_gpu(), "host": host, "versions": versions(),
        "device": given.device, "seconds": time.perf_counter() - begin, "left_out": bench.left_out, "rows": bench.rows,
    }  # fmt: skip
    print(f"record: {save(record, record['gpu']['name'] if record['gpu'] else host['cpu'], given.output or RECORDS)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
