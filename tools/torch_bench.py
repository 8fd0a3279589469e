#!/usr/bin/env python3
"""Compares the Python package with PyTorch's own operations on GPU tensors. Stores a record in bench/results/torch.
Needs PyTorch, safetensors, cryptography and a GPU.

    PYTHONPATH=build/cuda/python python3 tools/torch_bench.py
"""

from __future__ import annotations

import argparse
import base64
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch
import warpaes
import warpaes.torch as ours
from recording import ROOT, find_gpu, save, stamp
from warpaes.aead import AESGCM
from warpaes.ciphers import Cipher, algorithms, modes

BYTES = 1 << 30
SAMPLES = 9
CALLS = 200


def on_gpu(work: Callable[[], object], calls: int = 1) -> float:
    """Return the median time of a call in seconds, by the GPU's clock. Several calls run without waiting between
    them."""
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
    return median(taken[1:])


def waiting(work: Callable[[], object]) -> float:
    """Return the median time in seconds, by the host's clock, of a call and the wait for the device."""
    taken = []
    for _ in range(CALLS):
        begin = time.perf_counter()
        work()
        torch.cuda.synchronize()
        taken.append(time.perf_counter() - begin)
    return median(taken)


def weight_keys() -> dict:
    from cryptography.hazmat.primitives.asymmetric import ed25519

    def text(data: bytes) -> str:
        return base64.b64encode(data).decode()

    private = os.urandom(32)
    public = ed25519.Ed25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()
    return {
        "enc_key": {"kty": "oct", "alg": "aes256gcm", "k": text(os.urandom(32)), "kid": "bench"},
        "sign_key": {"kty": "okp", "alg": "ed25519", "d": text(private), "x": text(public), "kid": "bench"},
    }


def calls_and_rates() -> list[dict]:
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
    rate("torch.ops.warpaes.ctr_, AES-128", lambda: ours.ctr_(key, iv, data))

    generator = warpaes.Generator(bytes(16))
    floats = data.view(torch.float32)
    halves = data.view(torch.bfloat16)
    rate("Generator.fill: bits", lambda: generator.fill(data))
    rate("warpaes.torch.uniform_, float32", lambda: ours.uniform_(floats, generator))
    rate("warpaes.torch.uniform_, bfloat16", lambda: ours.uniform_(halves, generator))
    rate("warpaes.torch.normal_, float32", lambda: ours.normal_(floats, generator))
    secure = ours.Generator(generator)
    rate("uniform_(generator=), float32", lambda: floats.uniform_(generator=secure))
    rate("normal_(generator=), float32", lambda: floats.normal_(generator=secure))
    rate("torch uniform_, float32 (Philox, not secure)", lambda: floats.uniform_())
    rate("torch normal_, float32 (Philox, not secure)", lambda: floats.normal_())

    small = torch.zeros(4096, dtype=torch.uint8, device="cuda")
    other = torch.empty_like(small)
    call("torch add_, 4 KiB", lambda: small.add_(1))
    call("CTR encrypt_into, 4 KiB", lambda: ctr.encrypt_into(small, other))
    call("AESGCM.encrypt_into, 4 KiB", lambda: gcm.encrypt_into(nonce, small, None, other, tag=tag))
    return made


def weights(folder: Path, size: int) -> list[dict]:
    """Time loads of a model of this size to the GPU, alternately from an unencrypted and an encrypted file. Both files
    are in the page cache."""
    import safetensors.torch as plain
    from warpaes import safetensors as encrypted

    keys = weight_keys()
    width = 8192  # a 128 MiB bfloat16 matrix and a vector
    model = {}
    for i in range(size // (2 * width * width)):
        model[f"layer{i}.weight"] = torch.randn(width, width, dtype=torch.bfloat16, device="cuda").cpu()
        model[f"layer{i}.bias"] = torch.randn(width, dtype=torch.bfloat16)
    total = sum(tensor.nbytes for tensor in model.values())
    plain.save_file(model, folder / "plain.safetensors")
    encrypted.save_file(model, folder / "encrypted.cryptotensors", **keys)
    ways: dict[str, Callable[[], dict]] = {
        "safetensors.torch.load_file, in clear": lambda: plain.load_file(folder / "plain.safetensors", "cuda"),
        "warpaes.safetensors.load_file, encrypted": lambda: encrypted.load_file(
            folder / "encrypted.cryptotensors", "torch", "cuda", **keys
        ),
    }
    taken: dict[str, list[float]] = {what: [] for what in ways}
    for _ in range(4):
        for what, load in ways.items():
            torch.cuda.empty_cache()
            torch.cuda.synchronize()
            begin = time.perf_counter()
            loaded = load()
            torch.cuda.synchronize()
            taken[what].append(time.perf_counter() - begin)
            if len(taken[what]) == 1:
                assert all(torch.equal(loaded[name].cpu(), tensor) for name, tensor in model.items())
            del loaded
    made = []
    for what, seconds in taken.items():
        made.append({"what": what, "bytes": total, "gb_per_s": total / median(seconds[1:]) / 1e9})
        print(f"{what:48} {made[-1]['gb_per_s']:8.1f} GB/s", flush=True)
    return made


def training(folder: Path) -> list[dict]:
    """Time epochs with a checkpoint at their end, alternately with unencrypted and with encrypted files. Two forked
    workers read the records."""
    length, records, batch, vocabulary = 256, 2048, 32, 4096
    keyset = warpaes.Keyset.generate("AES256_GCM_HKDF_4KB")  # short segments, because records are read in any order
    for_checkpoints = warpaes.Keyset.generate()
    tokens = torch.randint(0, vocabulary, (records, length), dtype=torch.int32).numpy()
    (folder / "tokens").write_bytes(tokens.tobytes())
    with warpaes.open(folder / "tokens.warpaes", "wb", keyset=keyset) as file:
        file.write(tokens)

    class Records(torch.utils.data.Dataset):
        def __init__(self, encrypted: bool) -> None:
            self.file = warpaes.open(folder / "tokens.warpaes", keyset=keyset) if encrypted else None
            self.plain = os.open(folder / "tokens", os.O_RDONLY)

        def __len__(self) -> int:
            return records

        def __getitem__(self, index: int) -> torch.Tensor:
            row = bytearray(4 * length)
            if self.file is not None:
                self.file.raw.reader.read_into(index * len(row), row)
            else:
                os.preadv(self.plain, [row], index * len(row))
            return torch.frombuffer(row, dtype=torch.int32)

    torch.manual_seed(7)
    layer = torch.nn.TransformerEncoderLayer(1024, 16, 4096, dropout=0.0, batch_first=True, norm_first=True)
    model = torch.nn.Sequential(
        torch.nn.Embedding(vocabulary, 1024),
        torch.nn.TransformerEncoder(layer, 12, enable_nested_tensor=False),
        torch.nn.Linear(1024, vocabulary),
    ).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def epoch(encrypted: bool) -> float:
        loader = torch.utils.data.DataLoader(
            Records(encrypted), batch, shuffle=True, num_workers=2, multiprocessing_context="fork", pin_memory=True
        )
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for rows in loader:
            tokens = rows.cuda(non_blocking=True).long()
            with torch.autocast("cuda", torch.bfloat16):
                scores = model(tokens[:, :-1])
                loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if encrypted:
            with warpaes.open(folder / "checkpoint.warpaes", "wb", keyset=for_checkpoints) as file:
                torch.save(model.state_dict(), file)
        else:
            torch.save(model.state_dict(), folder / "checkpoint")
        torch.cuda.synchronize()
        return time.perf_counter() - begin

    taken: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(6):
        for encrypted, seconds in taken.items():
            seconds.append(epoch(encrypted))
    made = []
    for encrypted, seconds in taken.items():
        what = "an epoch with its checkpoint, " + ("encrypted" if encrypted else "in clear")
        checkpoint = (folder / ("checkpoint.warpaes" if encrypted else "checkpoint")).stat().st_size
        made.append({"what": what, "seconds": median(seconds[1:]), "bytes": checkpoint})
        print(f"{what:48} {made[-1]['seconds']:8.3f} s", flush=True)
    return made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=ROOT / "bench/results/torch", help="folder for the record")
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path("/dev/shm"),
        help="folder for the model's files; it needs space for twice the model's size",
    )
    parser.add_argument("--model", type=int, default=8, metavar="GIB", help="size of the model in GiB (default: 8)")
    options = parser.parse_args()
    rows = calls_and_rates()
    for part in (lambda folder: weights(folder, options.model << 30), training):
        torch.cuda.empty_cache()
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            rows += part(Path(folder))
    record = {"schema": 1, "kind": "torch", **stamp(), "gpu": find_gpu(), "torch": torch.__version__, "rows": rows}
    options.output.mkdir(parents=True, exist_ok=True)
    path = save(record, "torch", options.output)
    print(f"record: {path}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
