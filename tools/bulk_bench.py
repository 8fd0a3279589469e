#!/usr/bin/env python3
"""Measures warpaes bulk: many small objects beside a loop of pyca/cryptography and boto3, one large object and the
memory that it takes, and two workers beside one. Prints the table; the record goes to bench/results/bulk.

    PYTHONPATH=build/default/python .venv/tests/bin/python3 tools/bulk_bench.py [--objects N] [--large SIZE]
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
sys.path.append(str(Path(__file__).resolve().parent))
import boto3
import bulk_page
import warpaes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from recording import ROOT, file_for, processor, rounded, stamp
from warpaes.bulk.cli import size

SMALL = 4096


@contextlib.contextmanager
def store(folder: Path, latency: float) -> Iterator[str]:
    """An object store in a process of its own, and its URL."""
    folder.mkdir()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = [sys.executable, str(ROOT / "tools/bench_s3.py"), str(port), str(folder), str(latency)]
    server = subprocess.Popen(program)
    try:
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()
        shutil.rmtree(folder)


def bulk(*arguments: str) -> tuple[float, int]:
    """Seconds of the whole command, from its start, and the most memory that it had."""
    begin = time.perf_counter()
    command = [sys.executable, "-B", "-m", "warpaes", "bulk", *arguments, "-q", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    report = json.loads(process.stdout.read())
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0 and report["errors"] == 0, report
    return time.perf_counter() - begin, usage.ru_maxrss << 10


def small(key: Path, folder: Path, objects: int, looped: int, latency: float) -> dict:
    with store(folder / "store", latency) as url:
        client = boto3.client("s3", endpoint_url=url)
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(16) as threads:

            def fill(i: int) -> None:
                client.put_object(Bucket="bench", Key=f"raw/{i:06}", Body=os.urandom(SMALL))

            list(threads.map(fill, range(objects)))
        cipher = AESGCM(AESGCM.generate_key(256))
        begin = time.perf_counter()
        for i in range(looped):
            data = client.get_object(Bucket="bench", Key=f"raw/{i:06}")["Body"].read()
            nonce = os.urandom(12)
            client.put_object(Bucket="bench", Key=f"loop/{i:06}", Body=nonce + cipher.encrypt(nonce, data, None))
        theirs = (time.perf_counter() - begin) / looped
        rows = {"latency": latency, "objects": objects, "bytes": SMALL, "looped": looped, "loop_seconds": theirs}
        for workers in (1, 2):
            given = ["-k", str(key), "--endpoint-url", url, "--threads", "64", "--workers", str(workers)]
            seconds, memory = bulk("encrypt", *given, "s3://bench/raw", f"s3://bench/sealed{workers}")
            rows[f"seconds_{workers}"] = seconds / objects
            rows[f"memory_{workers}"] = memory
        return rows


def large(key: Path, folder: Path, length: int) -> list[dict]:
    rows = []
    source = folder / "source"
    source.mkdir()
    with open(source / "large", "wb") as file:
        for _ in range(length >> 24):
            file.write(os.urandom(1 << 24))
    for command, origin, target in (
        ("encrypt", source, folder / "sealed"),
        ("decrypt", folder / "sealed", folder / "out"),
    ):
        seconds, memory = bulk(command, "-k", str(key), str(origin), str(target))
        rows.append({"what": f"{command}, files", "bytes": length, "seconds": seconds, "memory": memory})
    shutil.rmtree(folder / "out")
    shutil.rmtree(folder / "sealed")
    with store(folder / "store", 0) as url:
        given = ["-k", str(key), "--endpoint-url", url]
        seconds, memory = bulk("encrypt", *given, str(source), "s3://bench/sealed")
        rows.append({"what": "encrypt, file to object store", "bytes": length, "seconds": seconds, "memory": memory})
        seconds, memory = bulk("verify", *given, "s3://bench/sealed")
        rows.append({"what": "verify, object store", "bytes": length, "seconds": seconds, "memory": memory})
    shutil.rmtree(source)
    return rows


def workers(key: Path, folder: Path) -> dict:
    """Sixteen files of 64 MiB by one worker and by two."""
    source = folder / "source"
    source.mkdir()
    for i in range(16):
        (source / str(i)).write_bytes(os.urandom(64 << 20))
    row = {"bytes": 1 << 30}
    for count in (1, 2):
        seconds = []
        for _ in range(3):
            given = ["-k", str(key), "--workers", str(count)]
            taken, row[f"memory_{count}"] = bulk("encrypt", *given, str(source), str(folder / "out"))
            seconds.append(taken)
            shutil.rmtree(folder / "out")
        row[f"seconds_{count}"] = min(seconds)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--looped", type=int, default=1000, help="how many of them the loop takes")
    parser.add_argument("--latency", type=float, default=0.02, help="of the object store, in seconds")
    parser.add_argument("--large", type=size, default=4 << 30)
    arguments = parser.parse_args()
    os.environ.update(AWS_ACCESS_KEY_ID="x", AWS_SECRET_ACCESS_KEY="x", AWS_DEFAULT_REGION="us-east-1")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory(prefix="bulk-bench-") as name:
        folder = Path(name)
        key = folder / "key.json"
        key.write_bytes(warpaes.Keyset.generate("AES256_GCM_HKDF_1MB").to_json())
        record: dict = {"schema": 1} | stamp()
        record["host"] = {"cpu": processor(), "cores": len(os.sched_getaffinity(0))}
        record["python"] = sys.version.split()[0]
        names = ("boto3", "cryptography", "pyarrow")
        record["versions"] = {each: importlib.metadata.version(each) for each in names}
        record["small"] = [
            small(key, folder, arguments.objects, arguments.looped, latency) for latency in (arguments.latency, 0)
        ]
        record["large"] = large(key, folder, arguments.large)
        record["workers"] = workers(key, folder)
    print(bulk_page.figures(record))
    path = file_for(record, processor(), ROOT / "bench/results/bulk")
    path.write_text(json.dumps(rounded(record), indent=1) + "\n")
    print(f"record: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
