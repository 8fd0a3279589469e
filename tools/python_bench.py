#!/usr/bin/env python3
"""Measures the Python package beside pyca/cryptography, Tink's library and cryptotensors, in one process.

Prints the table; the record goes to bench/results/python.

    PYTHONPATH=build/default/python .venv/tests/bin/python3 tools/python_bench.py
"""

from __future__ import annotations

import base64
import importlib.metadata
import io
import json
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
sys.path.append(str(Path(__file__).resolve().parent))
import python_page
import warpaes
from recording import ROOT, file_for, processor, rounded, stamp
from warpaes import safetensors
from warpaes.aead import AESGCM

KEY, NONCE = bytes(range(32)), bytes(range(12))
SIZES = (64, 1 << 10, 16 << 10, 1 << 20, 64 << 20)
FILE_BYTES = 256 << 20
SAMPLES = 7


def seconds_of(actions: dict, calls: int, samples: int = SAMPLES) -> dict:
    """The shortest of samples of each, taken in turns: what else the machine does only makes them longer."""
    taken: dict = {name: [] for name in actions}
    for _ in range(samples):
        for name, action in actions.items():
            begin = time.perf_counter()
            for _ in range(calls):
                action()
            taken[name].append((time.perf_counter() - begin) / calls)
    return {name: min(times) for name, times in taken.items()}


def row(what: str, size: int, other: str, ours: float, theirs: float) -> dict:
    return {"what": what, "bytes": size, "other": other, "seconds": ours, "other_seconds": theirs}


def aead_rows() -> list[dict]:
    from cryptography.hazmat.primitives.ciphers import aead

    ours, theirs, rows = AESGCM(KEY), aead.AESGCM(KEY), []
    for size in SIZES:
        data, out = os.urandom(size), bytearray(size + 16)
        sealed = ours.encrypt(NONCE, data, None)
        assert sealed == theirs.encrypt(NONCE, data, None)
        plain = bytearray(size)
        for name, arguments in {
            "encrypt": (NONCE, data, None),
            "encrypt_into": (NONCE, data, None, out),
            "decrypt": (NONCE, sealed, None),
            "decrypt_into": (NONCE, sealed, None, plain),
        }.items():
            mine, pycas = getattr(ours, name), getattr(theirs, name)
            calls = max(1, min(20_000, (64 << 20) // size))
            times = seconds_of({0: lambda f=mine, a=arguments: f(*a), 1: lambda f=pycas, a=arguments: f(*a)}, calls)
            rows.append(row(f"AESGCM.{name}", size, "cryptography", times[0], times[1]))
    return rows


def stream_rows() -> list[dict]:
    from tink import json_proto_keyset_format, secret_key_access, streaming_aead

    streaming_aead.register()
    keyset = warpaes.Keyset.generate("AES256_GCM_HKDF_1MB")
    handle = json_proto_keyset_format.parse(keyset.to_json().decode(), secret_key_access.TOKEN)
    primitive = handle.primitive(streaming_aead.StreamingAead)
    data = os.urandom(FILE_BYTES)
    sealed = io.BytesIO()
    with warpaes.open(sealed, "wb", keyset=keyset) as file:
        file.write(data)
    ciphertext = sealed.getvalue()

    def ours() -> None:
        with warpaes.open(ciphertext, keyset=keyset) as file:
            assert len(file.read()) == FILE_BYTES

    def theirs() -> None:
        with primitive.new_decrypting_stream(io.BytesIO(ciphertext), b"") as stream:
            read = 0
            while piece := stream.read(1 << 20):
                read += len(piece)
            assert read == FILE_BYTES

    times = seconds_of({0: ours, 1: theirs}, 1, 3)
    return [row("warpaes.open, reading from memory", FILE_BYTES, "tink", times[0], times[1])]


def weights_rows() -> list[dict]:
    import cryptotensors
    import numpy as np
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptotensors.numpy import load_file, save_file

    def text(data: bytes) -> str:
        return base64.b64encode(data).decode()

    private = Ed25519PrivateKey.generate()
    sign = {"kty": "okp", "alg": "ed25519", "kid": "s", "d": text(private.private_bytes_raw())}
    keys = {
        "enc_key": {"kty": "oct", "alg": "aes256gcm", "kid": "e", "k": text(KEY)},
        "sign_key": sign | {"x": text(private.public_key().public_bytes_raw())},
    }
    cryptotensors.register_direct_key_provider(keys=list(keys.values()))
    tensors = {str(i): np.frombuffer(os.urandom(FILE_BYTES // 8), "f4") for i in range(8)}
    rows = []
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        ours, theirs = f"{folder}/ours", f"{folder}/theirs"
        saving = {
            0: lambda: safetensors.save_file(tensors, ours, **keys),
            1: lambda: save_file(tensors, theirs, config=keys),
        }
        times = seconds_of(saving, 1, 3)
        rows.append(row("safetensors.save_file, tmpfs", FILE_BYTES, "cryptotensors", times[0], times[1]))
        times = seconds_of({0: lambda: safetensors.load_file(ours, **keys), 1: lambda: load_file(theirs)}, 1, 3)
        rows.append(row("safetensors.load_file, tmpfs", FILE_BYTES, "cryptotensors", times[0], times[1]))
    return rows


def random_rows() -> list[dict]:
    import numpy as np

    ours, theirs, count = warpaes.Generator(KEY), np.random.Generator(np.random.Philox(1)), 4 << 20
    rows = []
    for name, mine, numpys in (
        ("Generator.bytes", lambda: ours.bytes(8 * count), lambda: theirs.bytes(8 * count)),
        ("Generator.random", lambda: ours.random(count), lambda: theirs.random(count)),
        ("Generator.normal", lambda: ours.normal(size=count), lambda: theirs.normal(size=count)),
    ):
        times = seconds_of({0: mine, 1: numpys}, 1)
        rows.append(row(name, 8 * count, "numpy", times[0], times[1]))
    return rows


def main() -> None:
    rows = aead_rows() + stream_rows() + weights_rows() + random_rows()
    versions = {name: importlib.metadata.version(name) for name in sorted({row["other"] for row in rows})}
    host = {"cpu": processor(), "cores": len(os.sched_getaffinity(0))}
    record = {"schema": 1} | stamp() | {"host": host, "python": sys.version.split()[0], "versions": versions}
    record |= {"rows": rounded(rows)}
    print(python_page.figures(record))
    path = file_for(record, processor(), ROOT / "bench/results/python")
    lines = ",\n ".join(json.dumps(row) for row in record.pop("rows"))
    path.write_text(f'{json.dumps(record)[:-1]}, "rows": [\n {lines}\n]}}\n')
    print(f"record: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
