#!/usr/bin/env python3
"""Runs `warpaes bulk` on a dataset, on a Ray cluster in one machine, with every kind of failure.

ray.cluster_utils starts the nodes. moto's S3 server is behind a proxy that injects faults (resets, 503, slow, truncated
and lost responses). Workers and the driver are killed at random. At the end, tink-py, which shares no code with
warpaes, must confirm that every object is correct. No upload remains, the target contains no plaintext, and the
manifest lists all objects. The test runs encrypt, rekey and rewrap.

    cluster_test.py [--objects N] [--largest SIZE] [--kills N] [--rate R] [--nodes N] [--seed N]
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_DEDUP_LOGS="0", PYTHONDONTWRITEBYTECODE="1")

import warpaes
from faulty_s3 import Store
from tink import json_proto_keyset_format, secret_key_access, streaming_aead
from warpaes.bulk import keys, manifest, storage, stores
from warpaes.bulk.cli import size

MEGABYTE = 1 << 20


def sizes_of(count: int, largest: int, generator: random.Random) -> list[int]:
    """Return sizes from 0 to the largest. Most of them are small, as in real datasets, and the sizes include every
    length near a segment or window boundary."""
    around = [
        edge + i for edge in (0, 4096, MEGABYTE, storage.WINDOW) for i in (-57, -41, -40, -1, 0, 1) if edge + i >= 0
    ]
    large = [largest, largest // 2, largest // 4, *(generator.randrange(MEGABYTE, largest // 4) for _ in range(8))]
    sizes = [*around, *large]
    while len(sizes) < count:
        sizes.append(int(2 ** generator.uniform(0, 17)))
    generator.shuffle(sizes)
    return sizes[:count]


def content_of(name: str, length: int) -> bytes:
    """Return the same bytes for the same name, so that tests need not store them."""
    return random.Random(name).randbytes(length)


def processes_below(ancestor: int) -> dict[int, str]:
    """Return all descendants of a process, with their command lines."""
    parents, lines = {}, {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                lines[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
    found = {ancestor}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return {process: lines[process] for process in found - {ancestor} if process in lines}


class Killer(threading.Thread):
    """Kills the processes of actors while a driver runs."""

    def __init__(self, seed: int, interval: float) -> None:
        super().__init__(daemon=True)
        self.random, self.interval = random.Random(seed), interval
        self.active = threading.Event()
        self.kills = 0
        self.start()

    def run(self) -> None:
        while True:
            self.active.wait()
            time.sleep(self.random.uniform(0.3, 1.7) * self.interval)
            workers = [pid for pid, line in processes_below(os.getpid()).items() if line.startswith("ray::RayWorker")]
            if workers and self.active.is_set():
                try:
                    os.kill(self.random.choice(workers), signal.SIGKILL)
                    self.kills += 1
                except ProcessLookupError:
                    continue


class Test:
    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.random = random.Random(arguments.seed)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="cluster-test-"))
        self.key, self.key2 = self.folder / "key.json", self.folder / "key2.json"
        for path in (self.key, self.key2):
            path.write_bytes(warpaes.Keyset.generate("AES256_GCM_HKDF_1MB").to_json())
        self.store = Store(seed=arguments.seed)
        self.direct = stores.open_storage("s3://bucket/sealed", {"endpoint_url": self.store.moto.url})
        self.sizes: dict[str, int] = {}
        self.record_keys: set[bytes] = set()
        self.cluster: Any = None
        self.driver_kills = 0
        self.killer = Killer(arguments.seed, arguments.interval)
        streaming_aead.register()

    def fill(self) -> None:
        for i, length in enumerate(sizes_of(self.arguments.objects, self.arguments.largest, self.random)):
            name = f"{i % 40:02}/object {i:05}.bin"
            self.sizes[name] = length
            self.store.put(f"raw/{name}", content_of(name, length))
        total = sum(self.sizes.values())
        print(f"{len(self.sizes)} objects of 0 to {max(self.sizes.values()):,} B, {total:,} B in all", flush=True)

    def start_cluster(self) -> None:
        from ray.cluster_utils import Cluster

        self.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 100 << 20})
        for _ in range(self.arguments.nodes - 1):
            self.cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
        self.session = self.cluster.head_node.get_session_dir_path()
        print(f"{self.arguments.nodes} nodes at {self.cluster.address}", flush=True)

    # ------------------------------------------------------------------------------------------------------- runs

    def bulk(self, *options: str, kill_driver: bool = False, faulty: bool = True) -> dict[str, Any]:
        """Run the command until it succeeds. If requested, kill the driver once midway."""
        proxy = self.store.proxy
        command = [
            sys.executable,
            "-B",
            "-m",
            "warpaes",
            "bulk",
            *options,
            "--endpoint-url",
            proxy.url,
            "--timeout",
            "15",
        ]
        command += [
            "--json",
            "--address",
            self.cluster.address,
            "--workers",
            str(self.arguments.nodes),
            "--threads",
            "8",
        ]
        command += ["--memory", "160M", "--attempts", "100", "--checkpoint", "2", "--lock-expiry", "20"]
        while True:
            begin, kills = time.monotonic(), self.killer.kills
            proxy.rate = self.arguments.rate if faulty else 0
            if faulty:
                self.killer.active.set()
            with open(self.folder / "driver.log", "w") as log:
                driver = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
                while kill_driver and driver.poll() is None:
                    time.sleep(0.2)
                    if self.is_halfway(options[0]):
                        driver.kill()
                        self.driver_kills += 1
                        kill_driver = False
                        print(f"  driver of {options[0]} killed after {time.monotonic() - begin:.0f} s", flush=True)
                out, _ = driver.communicate(timeout=1500)
            self.killer.active.clear()
            proxy.rate = 0
            if driver.returncode == -signal.SIGKILL:
                continue
            if driver.returncode != 0:
                sys.exit(f"exit status {driver.returncode}\n{out}\n{(self.folder / 'driver.log').read_text()[-3000:]}")
            report: dict[str, Any] = json.loads(out)
            print(
                f"  {options[0]}: {report['run_objects']} objects in {report['seconds']:.0f} s, "
                f"{report['worker_deaths']} workers died ({self.killer.kills - kills} killed), "
                f"{report['retries']} restarted, {report['adopted']} adopted, {report['parts_swept']} uploads swept",
                flush=True,
            )
            return report

    def is_halfway(self, command: str) -> bool:
        """Return whether a job is partly done."""
        try:
            there = manifest.Manifest.load(self.direct)
        except storage.ChangedError:
            return False
        if there is None or there.job.command != command or there.job.finished:
            return False
        return 0.1 < there.total("todo") / there.total("rows") < 0.95

    # ------------------------------------------------------------------------------------------------------- checks

    def tink_of(self, keyset: bytes) -> Any:
        handle = json_proto_keyset_format.parse(keyset.decode(), secret_key_access.TOKEN)
        return handle.primitive(streaming_aead.StreamingAead)

    def data_keyset(self, record: dict[str, Any], key: pathlib.Path) -> bytes:
        """Return a record's data key as a Tink keyset, unwrapped by tink-py."""
        bound = json.dumps([record[name] for name in keys.BOUND], separators=(",", ":"))
        label = keys.RECORD_LABEL + hashlib.sha256(bound.encode()).hexdigest().encode()
        sealed = io.BytesIO(base64.b64decode(record["wrapped"]))
        with self.tink_of(key.read_bytes()).new_decrypting_stream(sealed, label) as stream:
            return warpaes.Keyset.from_raw(record["template"], stream.read()).to_json()

    def check(self, key: pathlib.Path, envelope: str) -> set[str]:
        """Check all conditions after a job and return the digests of all objects."""
        there = manifest.Manifest.load(self.direct, keys.KeySpec.read(str(key)).holders())
        assert there is not None and there.signer is not None and there.job.finished
        self.record_keys.add(there.signer.record_key)
        rows = {row.key: row for row in there.rows}
        assert rows.keys() == self.sizes.keys(), "the manifest does not list all objects"
        names = {name.removeprefix("sealed/") for name in self.store.keys("sealed/")}
        own = {name for name in names if name.startswith(storage.FOLDER) or name.endswith(storage.KEY_SUFFIX)}
        assert names - own == self.sizes.keys(), (names - own) ^ self.sizes.keys()
        assert storage.FOLDER + storage.LOCK not in names, "a lock remains"
        shards = {name for name in names if name.startswith(manifest.SHARDS)}
        assert shards == {shard.file for shard in there.shards}, "a shard is not listed in the manifest"
        assert self.store.uploads() == [], "uploads remain"
        shared = {key_id: self.tink_of(self.data_keyset(record, key)) for key_id, record in there.job.keys.items()}
        direct = self.tink_of(key.read_bytes())
        for name, length in self.sizes.items():
            row, sealed = rows[name], self.store.get(f"sealed/{name}")
            assert row.state == "done" and not row.error and not row.upload_id, row
            assert (row.out_size, row.sha256) == (len(sealed), hashlib.sha256(sealed).hexdigest()), row
            assert row.out_version == self.direct.stat(name).version, row
            primitive = direct
            if envelope == "job":
                primitive = shared[row.key_id]
            elif envelope == "object":
                beside = self.store.get(f"sealed/{name}{storage.KEY_SUFFIX}").decode()
                assert beside == row.wrapped, "an object's record differs from the manifest's"
                record = json.loads(beside)[0]
                assert record["key_id"] == row.key_id
                assert (record["dataset"], record["name"]) == (there.dataset, name)
                primitive = self.tink_of(self.data_keyset(record, key))
            plain = content_of(name, length)
            associated = keys.name_data(there.dataset, name)
            with primitive.new_decrypting_stream(io.BytesIO(sealed), associated) as stream:
                assert stream.read() == plain, f"{name} decrypts to different content"
            for offset in range(0, length - 16, max(1, length // 8)):
                assert plain[offset : offset + 16] not in sealed, f"{name} contains plaintext"
        if envelope == "object":
            assert len({row.key_id for row in there.rows}) == len(rows), "two objects share a data key"
        print(
            f"  {len(rows)} objects are correct according to tink-py, and nothing else remains",
            flush=True,
        )
        return {row.sha256 for row in there.rows}

    def check_ray(self) -> None:
        """Check that Ray's logs and spilled objects do not contain keys."""
        secrets = [json.loads(path.read_text())["key"][0]["keyData"]["value"] for path in (self.key, self.key2)]
        needles = [secret.encode() for secret in secrets] + [base64.b64decode(secret)[-32:] for secret in secrets]
        needles += self.record_keys
        files = [path for path in pathlib.Path(self.session).rglob("*") if path.is_file() and not path.is_symlink()]
        assert len(files) > 10, "Ray's folder was not found"
        for path in files:
            data = path.read_bytes()
            assert not any(needle in data for needle in needles), f"{path} contains a key"
        print(f"{len(files)} Ray files contain no key", flush=True)

    def run(self) -> None:
        self.fill()
        self.start_cluster()
        old, new = ("-k", str(self.key)), ("--new-key", str(self.key2))
        self.bulk("encrypt", *old, "s3://bucket/raw", "s3://bucket/sealed", kill_driver=True)
        before = self.check(self.key, "")
        self.bulk("rekey", *old, *new, "s3://bucket/sealed", kill_driver=True)
        after = self.check(self.key2, "")
        assert not before & after, "an object was not encrypted again"
        self.bulk("rekey", "-k", str(self.key2), "--envelope", "object", "s3://bucket/sealed")
        before = self.check(self.key2, "object")
        self.bulk("rewrap", "-k", str(self.key2), "--new-key", str(self.key), "s3://bucket/sealed")
        assert self.check(self.key, "object") == before, "rewrap changed objects"
        turns = 0
        while self.killer.kills < self.arguments.kills:
            turns += 1
            self.bulk("rekey", *old, "--envelope", "job", "--drop-old-keys", "s3://bucket/sealed")
        if turns:
            self.check(self.key, "job")
        self.bulk("verify", *old, "s3://bucket/sealed", faulty=False)
        self.check_ray()
        counts = ", ".join(f"{count} {name}" for name, count in self.store.proxy.counts.items())
        print(f"{self.killer.kills} workers and {self.driver_kills} drivers killed; faults: {counts}")
        assert self.killer.kills >= self.arguments.kills and self.driver_kills == 2

    def close(self) -> None:
        if self.cluster is not None:
            self.cluster.shutdown()
        self.store.close()
        shutil.rmtree(self.folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=2000)
    parser.add_argument("--largest", type=size, default=200 << 20)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--interval", type=float, default=3, help="approximate seconds between two kills")
    parser.add_argument("--rate", type=float, default=0.5, help="failure rate; at 1, 8 %% of requests fail")
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    begin = time.monotonic()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    test = Test(arguments)
    try:
        test.run()
    finally:
        test.close()
    print(f"passed in {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
