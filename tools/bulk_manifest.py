"""Measures the time and memory that the driver of `warpaes bulk` needs for a manifest with many rows, for
tools/bulk_bench.py.

It creates, saves, loads and searches a manifest in local files, as a job does. It does not encrypt objects.
"""

from __future__ import annotations

import multiprocessing
import resource
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import warpaes
from warpaes.bulk import keys, manifest, rows, stores


def name_of(number: int) -> str:
    """Return the name of an object. The names of successive numbers are in ascending order."""
    return f"raw/2026/{number >> 14:06}/object-{number:010}.bin"


def listed(count: int) -> Iterator[rows.Row]:
    """Yield rows like those from listing an object store."""
    for number in range(count):
        name = name_of(number)
        yield rows.Row(name, name, 65536, f'"{secrets.token_hex(16)}"')


def end(row: rows.Row) -> None:
    """Mark a row as done."""
    row.state, row.attempt, row.key_id, row.sha256 = "done", 1, "123456789", secrets.token_hex(32)
    row.out_size, row.out_version = 65600, f'"{secrets.token_hex(16)}"'


def timed(function: Callable[[], object]) -> float:
    """Return the time in seconds that a function takes."""
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def measure(count: int, folder: str) -> dict:
    """Measure the driver's memory, the size of the manifest, and the times of listing, saving, resuming and finding
    with this many rows."""
    target = stores.open_storage(str(Path(folder, "target")))
    path = Path(folder, "key.json")
    path.write_bytes(warpaes.Keyset.generate("AES256_GCM_HKDF_1MB").to_json())
    holders = keys.KeySpec.read(str(path)).holders()
    dataset = secrets.token_hex(16)
    job = manifest.Job("1", "encrypt", "s3://raw", target.url, {"suffix": ""})
    made = manifest.Manifest(target, job, manifest.Signer.create(dataset, holders[0]), dataset)

    def make() -> None:
        made.fill(listed(count))
        made.save()

    found: dict[str, object] = {"rows": count, "list": timed(make)}

    def save() -> float:
        """Save after all rows of a shard have finished. A job cannot change more of a shard between two saves."""
        number = len(made.shards) // 2
        for row in made.rows_of(number):
            end(row)
        made.change(number)
        seconds = timed(made.save)
        made.close(number)
        return seconds

    found["save"] = sorted(save() for _ in range(5))[2]
    there: list[manifest.Manifest] = []

    def resume() -> None:
        """Load the manifest and the shard with the first row that can be assigned to a worker."""
        loaded = manifest.Manifest.load(target, holders)
        assert loaded is not None
        number = next(number for number, shard in enumerate(loaded.shards) if shard.states.get("pending"))
        assert any(row.state == "pending" for row in loaded.rows_of(number))
        there.append(loaded)

    found["resume"] = timed(resume)

    def find() -> None:
        """Find rows as `verify --name` does."""
        loaded = manifest.Manifest.load(target, holders)
        assert loaded is not None
        row = loaded.find(name_of(count // 3))
        assert row is not None and row.key == name_of(count // 3)

    found["find"] = sorted(timed(find) for _ in range(3))[1]
    found["shards"] = len(made.shards)
    found["root"] = Path(target.url, manifest.NAME).stat().st_size
    found["stored"] = sum(path.stat().st_size for path in Path(target.url, manifest.SHARDS).iterdir())
    found["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    return found


def manifests(counts: list[int], folder: Path) -> dict:
    """Measure each number of rows in a separate process. Its peak memory is the driver's memory."""
    runs = []
    for count in counts:
        with (
            tempfile.TemporaryDirectory(prefix="bulk-manifest-", dir=folder) as name,
            ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as elsewhere,
        ):
            runs.append(elsewhere.submit(measure, count, name).result())
    return {"shard_rows": rows.SHARD_ROWS, "runs": runs}
