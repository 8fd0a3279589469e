#!/usr/bin/env python3
"""Measures warpaes bulk. Compares many small objects with a loop of pyca/cryptography and boto3, and N workers on N
cores with one worker on one core. Also measures the time and memory for one large object. Prints a table and stores a
record in bench/results/bulk. The record contains processor times for tools/scale_model.py.

    PYTHONPATH=build/default/python .venv/tests/bin/python3 tools/bulk_bench.py [--objects N] [--large SIZE]
    PYTHONPATH=build/default/python python3 tools/bulk_bench.py --part local [--workers N…] [--bytes SIZE]
    PYTHONPATH=build/default/python python3 tools/bulk_bench.py --part gpus [--gpus N] [--backend NAME] [--bytes SIZE]
    PYTHONPATH=build/default/python python3 tools/bulk_bench.py --part manifest [--rows N…] [--on FOLDER]

`local` and `gpus` write separate records about files in memory (tools/bulk_local.py), and `manifest` writes a
record about manifests without objects (tools/bulk_manifest.py).
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import json
import multiprocessing
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
sys.path.append(str(Path(__file__).resolve().parent))
import bulk_local
import bulk_manifest
import bulk_page
import warpaes
import warpaes.aead
from recording import ROOT, find_gpu, processor, save, stamp
from warpaes.bulk.cli import size

SMALL, THREADS = 4096, 64


class Store:
    def __init__(self, url: str, process: int) -> None:
        self.url, self._process = url, process

    def cpu(self) -> float:
        """Return the processor time in seconds that the store has used since the last call."""
        fields = Path(f"/proc/{self._process}/stat").read_text().rpartition(")")[2].split()
        taken = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        taken, self._before = taken - self._before, taken
        return taken

    _before = 0.0


@contextlib.contextmanager
def store(folder: Path, latency: float) -> Iterator[Store]:
    """Run an object store in a separate process."""
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
        yield Store(f"http://127.0.0.1:{port}", server.pid)
    finally:
        server.kill()
        server.wait()
        shutil.rmtree(folder)


def bulk(*arguments: str, cores: int = 0) -> tuple[float, int, float]:
    """Return the whole command's elapsed seconds, peak memory and processor seconds. `cores` limits the number of cores
    that the command may use; 0 means all."""
    begin = time.perf_counter()
    command = [sys.executable, "-B", "-m", "warpaes", "bulk", *arguments, "-q", "--json"]
    if cores:
        command = ["taskset", "-c", ",".join(map(str, sorted(os.sched_getaffinity(0))[:cores])), *command]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    report = json.loads(process.stdout.read())
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0 and report["errors"] == 0, report
    return time.perf_counter() - begin, usage.ru_maxrss << 10, usage.ru_utime + usage.ru_stime


def start(key: Path, folder: Path) -> dict:
    """Measure a command on one tiny object, which shows the fixed cost of every command."""
    with store(folder / "store", 0) as there:
        source = folder / "source"
        source.mkdir()
        (source / "one").write_bytes(b"1")
        taken = [
            bulk("encrypt", "-k", str(key), "--endpoint-url", there.url, str(source), f"s3://bench/{i}")
            for i in range(3)
        ]
        shutil.rmtree(source)
        return {"seconds": min(each[0] for each in taken), "cpu": min(each[2] for each in taken)}


def driver(rows: int = 20_000) -> float:
    """Measure the driver's processor time in seconds per row, with workers that do nothing."""
    from warpaes.bulk import dispatch, keys, manifest, pool, progress, stores, worker
    from warpaes.bulk.rows import Row

    class Nothing(pool.Pool):
        size = 4

        def __init__(self) -> None:
            self.given: list[tuple[int, list[tuple[int, dict]]]] = []

        def submit(self, slot: int, tasks: list) -> None:
            result = {"key_id": "1", "sha256": "0" * 64, "out_size": 1, "out_version": "1", "adopted": False}
            self.given.append((slot, [(task[0], dict(result)) for task in tasks]))

        def poll(self, timeout: float) -> list:
            given, self.given = self.given, []
            return given

        def close(self) -> None:
            pass

    told = progress.Progress("encrypt", "t", None, None)
    holder = keys.KeySpec("k", warpaes.Keyset.generate("AES256_GCM_HKDF_1MB").to_json()).holders()[0]
    with tempfile.TemporaryDirectory(prefix="bulk-bench-") as name:
        job, signer = manifest.Job("1", "encrypt", "a", "b"), manifest.Signer.create("d", holder)
        there = manifest.Manifest(stores.open_storage(name), job, signer, "d")
        there.fill(Row(f"object {i:06}", f"object {i:06}", 1, "1") for i in range(rows))
        begin = time.process_time()
        config = worker.Config("encrypt", "a", "b")
        dispatch.Dispatcher(there, Nothing(), config, told, 5, None, lambda: None).run(dispatch.ENCRYPT)
        there.save()
        taken = time.process_time() - begin
        assert there.total("done") == rows
    return taken / rows


def aes() -> float:
    """Measure the processor time in seconds for encrypting one byte in memory with AES-256-GCM."""
    cipher, data, nonce = warpaes.aead.AESGCM(os.urandom(32)), os.urandom(64 << 20), os.urandom(12)
    cipher.encrypt(nonce, data, None)
    begin = time.process_time()
    for _ in range(4):
        cipher.encrypt(nonce, data, None)
    return (time.process_time() - begin) / 4 / len(data)


def tls() -> float:
    """Measure the processor time in seconds for sending and receiving one byte through TLS in memory."""
    import datetime
    import ssl

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    private, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now = datetime.datetime.now(datetime.timezone.utc)
    made = x509.CertificateBuilder(name, name, private.public_key(), 1, now, now + datetime.timedelta(days=1))
    with tempfile.NamedTemporaryFile() as file:
        file.write(made.sign(private, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        kinds = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        file.write(private.private_bytes(serialization.Encoding.PEM, *kinds))
        file.flush()
        server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        server.load_cert_chain(file.name)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [client.wrap_bio(back, there), server.wrap_bio(there, back, server_side=True)]
    left = set(ends)
    while left:
        for end in list(left):
            with contextlib.suppress(ssl.SSLWantReadError):
                end.do_handshake()
                left.discard(end)
    piece, count, into = os.urandom(1 << 20), 256, bytearray(1 << 20)
    begin = time.process_time()
    for _ in range(count):
        ends[0].write(piece)
        got = 0
        while got < len(piece):
            got += ends[1].read(len(piece) - got, into)
    return (time.process_time() - begin) / count / len(piece)


def small(key: Path, folder: Path, objects: int, looped: int, latency: float) -> dict:
    import boto3
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    with store(folder / "store", latency) as there:
        client = boto3.client("s3", endpoint_url=there.url)
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
        rows["threads"] = THREADS
        for workers in (1, 2):
            given = ["-k", str(key), "--endpoint-url", there.url, "--threads", str(THREADS), "--workers", str(workers)]
            there.cpu()
            seconds, memory, cpu = bulk("encrypt", *given, "s3://bench/raw", f"s3://bench/sealed{workers}")
            rows[f"seconds_{workers}"] = seconds / objects
            rows[f"memory_{workers}"] = memory
            rows[f"cpu_{workers}"] = cpu
            rows[f"store_cpu_{workers}"] = there.cpu()
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
        seconds, memory, cpu = bulk(command, "-k", str(key), str(origin), str(target))
        row = {"what": f"{command}, files", "bytes": length, "seconds": seconds, "memory": memory, "cpu": cpu}
        rows.append(row)
    shutil.rmtree(folder / "out")
    shutil.rmtree(folder / "sealed")
    with store(folder / "store", 0) as there:
        given = ["-k", str(key), "--endpoint-url", there.url]

        def run(what: str, *arguments: str) -> None:
            there.cpu()
            seconds, memory, cpu = bulk(*arguments, *given)
            row = {"what": what, "bytes": length, "seconds": seconds, "memory": memory, "cpu": cpu}
            rows.append(row | {"store_cpu": there.cpu()})

        run("encrypt, file to object store", "encrypt", str(source), "s3://bench/sealed")
        shutil.rmtree(source)
        run("verify, object store", "verify", "s3://bench/sealed")
        # This command also writes the unencrypted objects that the last command encrypts.
        run("decrypt, object store to object store", "decrypt", "s3://bench/sealed", "s3://bench/plain")
        for path in (folder / "store").glob("*sealed*"):
            path.unlink()
        run("encrypt, object store to object store", "encrypt", "s3://bench/plain", "s3://bench/again")
    return rows


def workers(key: Path, folder: Path) -> dict:
    """Measure files of 64 MiB with N workers on N cores, for N up to the number of cores. The files are in memory, if
    they fit, so the speed of the disk does not limit the result."""
    shared = Path("/dev/shm")
    room = shutil.disk_usage(shared).free if shared.is_dir() else 0
    cores = len(os.sched_getaffinity(0))
    counts = sorted({1, cores, *(1 << i for i in range(cores.bit_length()) if 1 << i <= cores)})
    files = 16
    memory = room > 3 * files << 26
    with tempfile.TemporaryDirectory(prefix="bulk-bench-", dir=shared if memory else folder) as name:
        source, out = Path(name, "source"), Path(name, "out")
        source.mkdir()
        for i in range(files):
            (source / str(i)).write_bytes(os.urandom(64 << 20))
        rows = []
        for count in counts:
            best: tuple[float, int, float] = (float("inf"), 0, 0.0)
            for _ in range(3):
                given = ["-k", str(key), "--workers", str(count), str(source), str(out)]
                best = min(best, bulk("encrypt", *given, cores=count))
                shutil.rmtree(out)
            rows.append(dict(zip(("workers", "seconds", "memory", "cpu"), (count, *best), strict=True)))
    return {"bytes": files << 26, "where": "memory" if memory else "files", "runs": rows}


def measure(arguments: argparse.Namespace, record: dict) -> None:
    """Measure small objects and a large object in an object store, and files with one and with several workers."""
    with tempfile.TemporaryDirectory(prefix="bulk-bench-") as name:
        folder = Path(name)
        key = folder / "key.json"
        key.write_bytes(warpaes.Keyset.generate("AES256_GCM_HKDF_1MB").to_json())
        # These functions run in another process, because the measured commands inherit this process's peak memory.
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as elsewhere:
            for name, each in (("aes", aes), ("driver", driver), ("tls", tls)):
                record[name] = elsewhere.submit(each).result()
        record["start"] = start(key, folder)
        names = ("boto3", "cryptography", "pyarrow")
        record["versions"] = {each: importlib.metadata.version(each) for each in names}
        record["small"] = [
            small(key, folder, arguments.objects, arguments.looped, latency) for latency in (arguments.latency, 0)
        ]
        record["large"] = large(key, folder, arguments.large)
        record["workers"] = workers(key, folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--part",
        choices=["stores", "local", "gpus", "manifest"],
        default="stores",
        help="what to measure (%(default)s)",
    )
    parser.add_argument("--objects", type=int, default=10_000, help="number of small objects (%(default)s)")
    parser.add_argument("--looped", type=int, default=1000, help="number of objects for pyca's loop (%(default)s)")
    parser.add_argument("--latency", type=float, default=0.02, help="latency of the object store in seconds")
    parser.add_argument("--large", type=size, default=4 << 30, help="size of the large object (default: 4G)")
    parser.add_argument(
        "--bytes", type=size, default=0, help="total size for local and gpus (default: as much as fits in memory)"
    )
    parser.add_argument("--folder", type=Path, default=Path("/dev/shm"), help="folder in memory for local and gpus")
    parser.add_argument("--workers", type=int, nargs="+", default=[1], help="numbers of workers for local")
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000], help="numbers of rows for manifest")
    parser.add_argument("--on", type=Path, default=Path("/var/tmp"), help="folder for the files of manifest")
    parser.add_argument("--gpus", type=int, help="number of GPUs to announce to Ray (default: all that Ray finds)")
    parser.add_argument("--backend", default="cuda", help="backend for gpus")
    arguments = parser.parse_args()
    os.environ.update(AWS_ACCESS_KEY_ID="x", AWS_SECRET_ACCESS_KEY="x", AWS_DEFAULT_REGION="us-east-1")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    record: dict = {"schema": 1} | stamp()
    record["host"] = {"cpu": processor(), "cores": len(os.sched_getaffinity(0))}
    record["busy"] = os.getloadavg()[0] / record["host"]["cores"]
    record["python"] = sys.version.split()[0]
    if arguments.part == "stores":
        measure(arguments, record)
    elif arguments.part == "local":
        record["local"] = bulk_local.local(arguments.folder, arguments.bytes, arguments.workers)
    elif arguments.part == "manifest":
        record["manifest"] = bulk_manifest.manifests(arguments.rows, arguments.on)
    else:
        record["gpu"] = find_gpu()
        record["gpus"] = bulk_local.gpus(arguments.folder, arguments.bytes, arguments.gpus, arguments.backend)
    print(bulk_page.PARTS[arguments.part](record))
    path = save(record, processor(), ROOT / "bench/results/bulk")
    print(f"record: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
