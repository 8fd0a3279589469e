#!/usr/bin/env python3
"""Compares the Python package with pyca/cryptography, Tink's library, cryptotensors and NumPy, in one process.

Prints the table and stores a record in bench/results/python.

    PYTHONPATH=build/default/python .venv/tests/bin/python3 tools/python_bench.py
"""

from __future__ import annotations

import argparse
import base64
import importlib.metadata
import io
import mmap
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
sys.path.append(str(Path(__file__).resolve().parent))
import python_page
import warpaes
from recording import ROOT, processor, save, stamp
from warpaes import safetensors
from warpaes.aead import AESGCM

KEY, NONCE = bytes(range(32)), bytes(range(12))
SIZES = (64, 1 << 10, 16 << 10, 1 << 20, 64 << 20)
FILE_BYTES = 1 << 30
MODEL_BYTES = 256 << 20
#: Numbers of tensors in a model of 256 MiB: long tensors, tensors of the largest size that malloc reuses, and short
#: tensors.
MODELS = (8, 512, 4096)
PIECE_BYTES = 1 << 20
SAMPLES = 7
CORES = len(os.sched_getaffinity(0))


def seconds_of(actions: dict, calls: int, samples: int = SAMPLES, *, repeated: bool = False) -> dict:
    """Measure the subjects in turns and return the shortest sample of each subject, because other work on the machine
    only lengthens samples.

    With ``repeated``, each sample follows another call of the same subject, and reuses the pages that this call freed.
    Otherwise, the sample would include the time that a virtual machine's host needs to return reclaimed memory.
    """
    taken: dict = {name: [] for name in actions}
    for _ in range(samples):
        for name, action in actions.items():
            if repeated:
                action()
            begin = time.perf_counter()
            for _ in range(calls):
                action()
            taken[name].append((time.perf_counter() - begin) / calls)
    return {name: min(times) for name, times in taken.items()}


def row(what: str, size: int, other: str, times: dict) -> dict:
    """Return the row of a record. ``times`` contains "ours" and "theirs", and may contain "clear", "clear_all" and "dd"
    for the same bytes without encryption."""
    made = {"what": what, "bytes": size, "other": other, "seconds": times["ours"], "other_seconds": times["theirs"]}
    return made | {f"{name}_seconds": times[name] for name in ("clear", "clear_all", "dd") if name in times}


# --------------------------------------------------------------------------------------------------------- unencrypted


def by_all_cores(size: int, move: Callable[[int, int], None]) -> None:
    """Call ``move(begin, end)`` for every piece of ``size`` bytes, with one thread per core."""
    pieces = iter(range(0, size, PIECE_BYTES))
    turn = threading.Lock()

    def work() -> None:
        while True:
            with turn:
                begin = next(pieces, None)
            if begin is None:
                return
            move(begin, min(begin + PIECE_BYTES, size))

    others = [threading.Thread(target=work) for _ in range(CORES - 1)]
    for thread in others:
        thread.start()
    work()
    for thread in others:
        thread.join()


def large_pages(size: int) -> mmap.mmap:
    """Allocate memory that has not been touched, in large pages if the system supports them."""
    room = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    room.madvise(mmap.MADV_HUGEPAGE)
    return room


def read_by_all_cores(path: str, room: Any, size: int) -> None:
    view = memoryview(room)
    with open(path, "rb", buffering=0) as file:

        def move(begin: int, end: int) -> None:
            assert os.preadv(file.fileno(), [view[begin:end]], begin) == end - begin

        by_all_cores(size, move)


def copy_by_all_cores(data: bytes, room: Any, size: int) -> None:
    import numpy as np  # copies without holding the GIL

    here, there = np.frombuffer(data, np.uint8), np.frombuffer(room, np.uint8)
    by_all_cores(size, lambda begin, end: np.copyto(there[begin:end], here[begin:end]))


def dd(*operands: str) -> None:
    subprocess.run(["dd", "bs=1M", "status=none", *operands], check=True)


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
            ways = {"ours": lambda f=mine, a=arguments: f(*a), "theirs": lambda f=pycas, a=arguments: f(*a)}
            rows.append(row(f"AESGCM.{name}", size, "cryptography", seconds_of(ways, calls)))
    return rows


def read_whole(file: BinaryIO, size: int) -> None:
    assert len(file.read()) == size


def read_in_pieces(file: BinaryIO, size: int) -> None:
    read = 0
    while piece := file.read(1 << 20):
        read += len(piece)
    assert read == size


def stream_rows() -> list[dict]:
    """Measure every read call, from memory and from a path, compared with reading an unencrypted file."""
    from tink import json_proto_keyset_format, secret_key_access, streaming_aead

    streaming_aead.register()
    keyset = warpaes.Keyset.generate("AES256_GCM_HKDF_1MB")
    handle = json_proto_keyset_format.parse(keyset.to_json().decode(), secret_key_access.TOKEN)
    primitive = handle.primitive(streaming_aead.StreamingAead)
    data = os.urandom(FILE_BYTES)
    room = bytearray(data)  # its pages are allocated, as they are for a buffer that is used repeatedly

    def read_into(file: BinaryIO, size: int) -> None:
        at, view = 0, memoryview(room)
        while at < size:
            got = file.readinto(view[at:])
            assert got
            at += got

    ways = {".read()": read_whole, ".read(1 << 20), in a loop": read_in_pieces, ".readinto()": read_into}
    rows = []
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        sealed, clear = f"{folder}/sealed", f"{folder}/clear"
        with warpaes.open(sealed, "wb", keyset=keyset) as file:
            file.write(data)
        Path(clear).write_bytes(data)
        del data
        for place in ("a path", "memory"):
            for name, read in ways.items():
                here = place == "memory"
                source = Path(sealed).read_bytes() if here else sealed
                plain = Path(clear).read_bytes() if here else clear

                def ours(read: Any = read, source: Any = source) -> None:
                    with warpaes.open(source, keyset=keyset) as file:
                        read(file, FILE_BYTES)

                def theirs(read: Any = read, source: Any = source, here: bool = here) -> None:
                    ciphertext = io.BytesIO(source) if here else open(source, "rb")  # noqa: SIM115
                    with primitive.new_decrypting_stream(ciphertext, b"") as stream:
                        read(stream, FILE_BYTES)

                def in_clear(read: Any = read, plain: Any = plain, here: bool = here) -> None:
                    if here and read is read_whole:  # BytesIO returns all of its content without a copy
                        assert len(bytes(memoryview(plain))) == FILE_BYTES
                        return
                    with io.BytesIO(plain) if here else open(plain, "rb") as file:
                        read(file, FILE_BYTES)

                def by_all(read: Any = read, plain: Any = plain, here: bool = here) -> None:
                    to = large_pages(FILE_BYTES) if read is read_whole else room
                    (copy_by_all_cores if here else read_by_all_cores)(plain, to, FILE_BYTES)

                actions = {"ours": ours, "theirs": theirs, "clear": in_clear}
                if read is not read_in_pieces:  # a loop over pieces runs in one thread
                    actions["clear_all"] = by_all
                if not here:
                    actions["dd"] = lambda plain=plain: dd(f"if={plain}", "of=/dev/null")
                what = f"warpaes.open({'bytes' if here else 'path'}){name}"
                rows.append(row(what, FILE_BYTES, "tink", seconds_of(actions, 1, 4, repeated=True)))
                del source, plain
    return rows


def weights_rows() -> list[dict]:
    import cryptotensors
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
    rows = []
    for count in MODELS:
        rows += model_rows(count, keys, save_file, load_file)
    return rows


def model_rows(count: int, keys: dict, save_file: Any, load_file: Any) -> list[dict]:
    """Measure saving and loading of a model with this number of equally sized tensors."""
    import numpy as np

    tensors = {f"layer {i}": np.frombuffer(os.urandom(MODEL_BYTES // count), "f4") for i in range(count)}
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        ours, theirs, clear, other = (f"{folder}/{name}" for name in ("ours", "theirs", "clear", "other"))

        def save_in_clear() -> None:
            with open(clear, "wb", buffering=0) as file:
                for tensor in tensors.values():
                    assert file.write(memoryview(tensor).cast("B")) == tensor.nbytes

        def load_in_clear() -> list:
            loaded = [np.empty_like(tensor) for tensor in tensors.values()]
            with open(clear, "rb", buffering=0) as file:
                for tensor in loaded:
                    assert file.readinto(memoryview(tensor).cast("B")) == tensor.nbytes
            return loaded

        def load_by_all() -> Any:
            room = large_pages(MODEL_BYTES)
            read_by_all_cores(clear, room, MODEL_BYTES)
            return room

        saving = {
            "ours": lambda: safetensors.save_file(tensors, ours, **keys),
            "theirs": lambda: save_file(tensors, theirs, config=keys),
            "clear": save_in_clear,
            "dd": lambda: dd("if=/dev/zero", f"of={other}", f"count={MODEL_BYTES >> 20}"),
        }
        loading = {
            "ours": lambda: safetensors.load_file(ours, **keys),
            "theirs": lambda: load_file(theirs),
            "clear": load_in_clear,
            "clear_all": load_by_all,
            "dd": lambda: dd(f"if={clear}", "of=/dev/null"),
        }
        rows = []
        for name, ways in (("save_file", saving), ("load_file", loading)):
            times = seconds_of(ways, 1, repeated=True)
            rows.append(row(f"safetensors.{name}, {count} tensors, tmpfs", MODEL_BYTES, "cryptotensors", times))
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
        rows.append(row(name, 8 * count, "numpy", seconds_of({"ours": mine, "theirs": numpys}, 1)))
    return rows


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    rows = aead_rows() + stream_rows() + weights_rows() + random_rows()
    versions = {name: importlib.metadata.version(name) for name in sorted({row["other"] for row in rows})}
    host = {"cpu": processor(), "cores": CORES}
    record = {"schema": 1} | stamp() | {"host": host, "python": sys.version.split()[0], "versions": versions}
    record |= {"rows": rows}
    print(python_page.figures(record))
    path = save(record, processor(), ROOT / "bench/results/python")
    print(f"record: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
