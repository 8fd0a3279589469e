#!/usr/bin/env python3
"""Measures the Python package on tensors of a GPU, beside PyTorch's own operations; the record goes to
bench/results/torch. Needs PyTorch and a GPU.

    PYTHONPATH=build/cuda/python python3 tools/torch_bench.py
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import torch
import warpaes
import warpaes.torch as ours
from recording import ROOT, file_for, find_gpu, rounded, stamp
from warpaes.aead import AESGCM
from warpaes.ciphers import Cipher, algorithms, modes

BYTES = 1 << 30
SAMPLES = 9
CALLS = 200


def on_gpu(work: Callable[[], object], calls: int = 1) -> float:
    """Seconds of a call by the GPU's clock, median of samples: of several, those that follow each other at once."""
    taken = []
    for _ in range(SAMPLES + 1):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        begin.record()
        for _ in range(calls):
            work()
        end.record()
        torch.cuda.synchronize()
        taken.append(begin.elapsed_time(end) / 1e3 / calls)
    return sorted(taken[1:])[SAMPLES // 2]


def waiting(work: Callable[[], object]) -> float:
    """Seconds of a call and a wait for the device, by the host's clock, median of many."""
    taken = []
    for _ in range(CALLS):
        begin = time.perf_counter()
        work()
        torch.cuda.synchronize()
        taken.append(time.perf_counter() - begin)
    return sorted(taken)[CALLS // 2]


def rows() -> list[dict]:
    made: list[dict] = []

    def rate(what: str, work: Callable[[], object]) -> None:
        made.append({"what": what, "bytes": BYTES, "gb_per_s": BYTES / on_gpu(work) / 1e9})
        print(f"{what:48} {made[-1]['gb_per_s']:8.1f} GB/s", flush=True)

    def call(what: str, work: Callable[[], object]) -> None:
        made.append(
            {"what": what, "bytes": 4096, "us_waiting": waiting(work) * 1e6, "us_each": on_gpu(work, 500) * 1e6}
        )
        print(f"{what:48} {made[-1]['us_waiting']:8.1f} us, each of many {made[-1]['us_each']:6.1f}", flush=True)

    gcm, nonce = AESGCM(bytes(16)), bytes(12)
    ctr = Cipher(algorithms.AES(bytes(16)), modes.CTR(bytes(16)))
    tag = torch.empty(16, dtype=torch.uint8, device="cuda")
    status = torch.empty(1, dtype=torch.int32, device="cuda")

    data = torch.zeros(BYTES, dtype=torch.uint8, device="cuda")
    out = torch.empty_like(data)
    rate("AESGCM.encrypt_into, AES-128", lambda: gcm.encrypt_into(nonce, data, None, out, tag=tag))
    rate(
        "AESGCM.decrypt_into with a status",
        lambda: gcm.decrypt_into(nonce, out, None, data, tag=tag, status=status),
    )
    rate("CTR encrypt_into, AES-128", lambda: ctr.encrypt_into(data, out))
    key, iv = torch.zeros(16, dtype=torch.uint8), torch.zeros(16, dtype=torch.uint8)
    rate("torch.ops.warpaes ctr_, AES-128", lambda: ours.ctr_(key, iv, data))

    generator = warpaes.Generator(bytes(16))
    floats = data.view(torch.float32)
    halves = data.view(torch.bfloat16)
    rate("Generator.fill: bits", lambda: generator.fill(data))
    rate("warpaes.torch.uniform_, float32", lambda: ours.uniform_(floats, generator))
    rate("warpaes.torch.uniform_, bfloat16", lambda: ours.uniform_(halves, generator))
    rate("warpaes.torch.normal_, float32", lambda: ours.normal_(floats, generator))
    rate("torch uniform_, float32 (Philox, not secure)", lambda: floats.uniform_())
    rate("torch normal_, float32 (Philox, not secure)", lambda: floats.normal_())

    small = torch.zeros(4096, dtype=torch.uint8, device="cuda")
    other = torch.empty_like(small)
    call("torch add_, 4 KiB", lambda: small.add_(1))
    call("CTR encrypt_into, 4 KiB", lambda: ctr.encrypt_into(small, other))
    call("AESGCM.encrypt_into, 4 KiB", lambda: gcm.encrypt_into(nonce, small, None, other, tag=tag))
    return made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=ROOT / "bench/results/torch", help="folder for the record")
    options = parser.parse_args()
    record = {"schema": 1, "kind": "torch", **stamp(), "gpu": find_gpu(), "torch": torch.__version__, "rows": rows()}
    options.output.mkdir(parents=True, exist_ok=True)
    path = file_for(record, "torch", options.output)
    path.write_text(json.dumps(rounded(record), indent=1) + "\n")
    print(f"record: {path}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
