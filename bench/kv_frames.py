"""Compares KV-cache frames in warpaes with LMCache's serde and with pyca's calls that write into a buffer. The
contenders take turns in one process.

    PYTHONPATH=build/default/python python3 bench/kv_frames.py [--seconds 1] [--json]

Prints the speed of one thread in GB per second of processor time. Each figure is the best of three rounds. LMCache and
pyca are skipped if they are not installed.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import types
from collections.abc import Callable
from typing import Any

from warpaes._kv_frames import Frames, ObjectName

SIZES = (4 << 10, 64 << 10, 1 << 20, 8 << 20, 64 << 20)
SECRET = bytes(32)
NAME = ObjectName(b"hash", "model", 0, 0, "tenant")


def subjects(size: int) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """Return the name of each contender, with its functions that store and load a frame of `size` bytes."""
    plain, out = bytearray(os.urandom(size)), bytearray(size)
    found: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {}
    for version in (1, 2):
        frames, frame = Frames(version, [(0, SECRET)], 16 if version == 1 else 32), bytearray(size + 33)
        found[f"warpaes, frame {version}, AES-{128 * version}"] = (
            lambda frames=frames, frame=frame: frames.seal(plain, frame, NAME),
            lambda frames=frames, frame=frame: frames.open(frame, out, NAME),
        )
    try:
        from lmcache.v1.distributed.api import ObjectKey
        from lmcache.v1.distributed.serde import aesgcm
    except ImportError:
        pass
    else:
        provider = aesgcm.HkdfKeyProvider(SECRET, 16, b"lmcache-l2-aesgcm-v1")
        key = ObjectKey(b"hash", "model", 0, 0, "tenant")
        source, target = (
            types.SimpleNamespace(byte_array=memoryview(plain)),
            types.SimpleNamespace(byte_array=memoryview(bytearray(size + 29))),
        )
        back = types.SimpleNamespace(byte_array=memoryview(out))
        found["LMCache, frame 1, AES-128"] = (
            lambda: aesgcm.AesGcmSerializer(provider).serialize(source, target, key),
            lambda: aesgcm.AesGcmDeserializer(provider).deserialize(target, back, key),
        )
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        pass
    else:
        cipher, sealed, nonce = AESGCM(bytes(16)), bytearray(size + 16), os.urandom(12)
        found["pyca's calls into a buffer, AES-128"] = (
            lambda: cipher.encrypt_into(nonce, plain, None, sealed),
            lambda: cipher.decrypt_into(nonce, sealed, None, out),
        )
    return found


def rate(call: Callable[[], Any], size: int, seconds: float) -> float:
    """Return the speed in GB per second of this thread's processor time."""
    begin, count = time.thread_time(), 0
    while (taken := time.thread_time() - begin) < seconds or count == 0:
        call()
        count += 1
    return size * count / taken / 1e9


def main() -> None:
    """Measure the subjects and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0, help="seconds for each row, in three rounds")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows = []
    for size in SIZES:
        best: dict[tuple[str, str], float] = {}
        every = subjects(size)
        for _ in range(3):
            for name, calls in every.items():
                for what, call in zip(("store", "load"), calls, strict=True):
                    best[name, what] = max(best.get((name, what), 0), rate(call, size, given.seconds / 6))
        for name in every:
            row = {"subject": name, "bytes": size, "store": best[name, "store"], "load": best[name, "load"]}
            rows.append(row)
            if not given.json:
                print(f"{size >> 10:>7} KiB  {name:<38} {row['store']:6.2f} {row['load']:6.2f} GB/s")
    if given.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
