"""The parts of tools/bulk_bench.py that measure files in memory. They do not need an object store.

`local` compares warpaes bulk with cp and with `warpaes encrypt`, which run one process per processor at a time.
`gpus` runs warpaes bulk with the actors of a local Ray cluster. Each actor has a GPU.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import warpaes

OBJECT = 128 << 20
#: The number of measured rounds. An uncounted round runs first, because a first use of memory is slower than later
#: uses.
ROUNDS = 5
#: No round begins after this many seconds, but at least one round is measured.
TIME = 45
KEYS = ("seconds", "user", "system", "faults")


def cores() -> int:
    return len(os.sched_getaffinity(0))


def room(memory: Path) -> int:
    """Return the total size in bytes for which sources, ciphertexts and plaintexts fit in memory together, at most
    8 GiB."""
    fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    available = int(fields["MemAvailable"].split()[0]) << 10
    return min(8 << 30, shutil.disk_usage(memory).free // 4, available // 5)


@contextlib.contextmanager
def sources(memory: Path, total: int, least: int) -> Iterator[tuple[Path, int]]:
    """Create a folder with a key and, in `source`, objects of this total size. Yield the folder and the number of
    objects."""
    total = total or room(memory)
    count = max(least, total // OBJECT // least * least)
    length = min(OBJECT, total // count)
    with tempfile.TemporaryDirectory(prefix="bulk-bench-", dir=memory) as name:
        folder = Path(name)
        (folder / "key.json").write_bytes(warpaes.Keyset.generate("AES256_GCM_HKDF_1MB").to_json())
        (folder / "source").mkdir()
        content = os.urandom(length)
        for i in range(count):
            (folder / "source" / f"{i:04}").write_bytes(content)
        yield folder, count


def measured(work: Callable[[], object]) -> dict:
    """Run `work` and return its elapsed seconds and the processor seconds and page faults of its child processes."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    work()
    seconds, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    taken = [getattr(after, name) - getattr(before, name) for name in ("ru_utime", "ru_stime", "ru_minflt")]
    return dict(zip(KEYS, (seconds, *taken), strict=True))


def bulk(*arguments: str) -> dict:
    command = [sys.executable, "-B", "-m", "warpaes", "bulk", *arguments, "-q", "--json"]
    report: dict = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    assert report["errors"] == 0, report
    return report


def costs() -> dict:
    """Return the processor seconds per byte that SHA-256 and AES-256-GCM take in one thread, with data in the cache."""

    def of(work: Callable[[], object], length: int) -> float:
        taken = []
        for _ in range(5):
            begin = time.process_time()
            for _ in range(64):
                work()
            taken.append((time.process_time() - begin) / 64 / length)
        return statistics.median(taken)

    data = os.urandom(1 << 20)
    cipher = warpaes.aead.AESGCM(warpaes.aead.AESGCM.generate_key(256))
    out, nonce = bytearray(len(data) + 16), os.urandom(12)
    short = memoryview(data)[: 64 << 10]
    return {
        "sha256": of(lambda: hashlib.sha256(data), len(data)),
        "aes": of(lambda: cipher.encrypt_into(nonce, short, None, memoryview(out)[: len(short) + 16]), len(short)),
    }


def local(memory: Path, total: int, workers: list[int]) -> dict:
    """Run the contenders in turns and return the medians of each contender. The first round is not counted."""
    processes = cores()
    command = shutil.which("warpaes", path=Path(warpaes.__file__).parent / "bin")
    with sources(memory, total, processes) as (folder, count):
        key, source, copy = str(folder / "key.json"), folder / "source", folder / "copy"
        sealed, out = folder / "sealed", folder / "out"
        names = sorted(path.name for path in source.iterdir())
        length = sum(path.stat().st_size for path in source.iterdir())
        (folder / "one").mkdir()
        (folder / "one" / "one").write_bytes(b"1")

        def each(before: list[str], *between: str) -> None:
            """Run a process for each file. At most one process per processor runs at a time."""
            copy.mkdir()
            with ThreadPoolExecutor(processes) as threads:
                todo = [[*before, str(source / name), *between, str(copy / name)] for name in names]
                list(threads.map(lambda one: subprocess.run(one, check=True, stderr=subprocess.DEVNULL), todo))

        contenders: dict[str, Callable[[], object]] = {"cp": lambda: each(["cp"])}
        if command is not None:
            contenders["warpaes encrypt"] = lambda: each([command, "encrypt", "-q", "-k", key], "-o")
        for number in workers:
            given = ["-k", key, "--workers", str(number)]
            contenders[f"bulk encrypt, {number}"] = lambda given=given: bulk(
                "encrypt", *given, str(source), str(sealed)
            )
            contenders[f"bulk decrypt, {number}"] = lambda given=given: bulk("decrypt", *given, str(sealed), str(out))
        contenders["start of bulk"] = lambda: bulk("encrypt", "-k", key, str(folder / "one"), str(folder / "started"))

        taken: dict[str, list[dict]] = {name: [] for name in contenders}
        begin = time.monotonic()
        for turn in range(ROUNDS + 1):
            if turn > 1 and time.monotonic() - begin > TIME:
                break
            for name, work in contenders.items():
                got = measured(work)
                if turn > 0:
                    taken[name].append(got)
                for made in (copy, out, folder / "started", *([] if name.startswith("bulk encrypt") else [sealed])):
                    shutil.rmtree(made, ignore_errors=True)
    return {
        "objects": count,
        "bytes": length,
        "processes": processes,
        "costs": costs(),
        "runs": [
            {"what": name, "rounds": len(each)} | {key: statistics.median(one[key] for one in each) for key in KEYS}
            for name, each in taken.items()
        ],
    }


def gpus(memory: Path, total: int, most: int | None, backend: str) -> dict:
    """Measure one to all GPUs, with one actor per GPU. `most` is the number of GPUs announced to Ray, or None for all
    GPUs that Ray finds."""
    import ray

    os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_DEDUP_LOGS="0")
    ray.init(num_gpus=most, num_cpus=cores(), include_dashboard=False, log_to_driver=False)
    there = int(ray.cluster_resources().get("GPU", 0))
    assert there, "Ray found no GPU; use --gpus N to announce GPUs to Ray"
    address = ray.get_runtime_context().gcs_address
    share = max(1, cores() // there)
    runs = []
    with sources(memory, total, 4 * there) as (folder, count):
        few = folder / "few"
        few.mkdir()
        for path in sorted((folder / "source").iterdir())[:there]:
            os.link(path, few / path.name)
        for number in range(1, there + 1):
            given = ["--address", address, "--workers", str(number), "--gpus", "1", "--cpus", str(share)]
            given += ["--backend", backend, "-k", str(folder / "key.json")]
            taken: dict[str, list[float]] = {"few": [], "source": []}
            report: dict = {}
            for _ in range(3):
                for name, seconds in taken.items():
                    begin = time.perf_counter()
                    report = bulk("encrypt", *given, str(folder / name), str(folder / "sealed"))
                    seconds.append(time.perf_counter() - begin)
                    shutil.rmtree(folder / "sealed")
            length = report["run_bytes"]
            fewer = sum(path.stat().st_size for path in few.iterdir())
            start, whole = (min(seconds) for seconds in taken.values())
            run = {"actors": number, "seconds": whole, "computed_on": report["computed_on"]}
            runs.append(run | {"bytes_per_second": (length - fewer) / max(whole - start, 1e-9)})
    ray.shutdown()
    return {"backend": backend, "gpus": there, "objects": count, "bytes": length, "runs": runs}
