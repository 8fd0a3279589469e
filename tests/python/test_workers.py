#!/usr/bin/env python3
"""Tests that workers of DataLoader, multiprocessing, Ray and torchrun never repeat an IV, a salt or a random number,
and never hang.

Each worker encrypts with its own objects and, if it was forked, with inherited objects. While workers start, the parent
encrypts in a thread.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import pathlib
import sys
import tempfile
import threading
import time
import unittest
from collections.abc import Iterator
from typing import Any

import warpaes
from support import needed, optional, torchrun
from warpaes import random

METHODS = ("fork", "spawn", "forkserver")
#: The number of values that `values` returns.
EACH = 9


class Objects:
    """Objects that encrypt under the same keyset."""

    def __init__(self, place: str) -> None:
        from warpaes._kv_frames import Frames, ObjectName

        self.keyset = warpaes.Keyset.load(place)
        self.frames, self.generator = Frames.of_keyset(self.keyset), random.Generator()
        self.name = ObjectName(b"hash", "model", 0, 0, "tenant")

    def values(self) -> list[bytes]:
        """Encrypt and return the IVs, random numbers, and a file's header, which contains the file's salt and IV
        prefix."""
        found = []
        for _ in range(3):
            frame = bytearray(100 + self.frames.overhead)
            self.frames.seal(bytes(100), frame, self.name)
            found.append(bytes(frame[5:17]))
        for _ in range(3):
            sink = io.BytesIO()
            with warpaes.open(sink, "wb", keyset=self.keyset) as file:
                file.write(bytes(100))
            found.append(sink.getvalue()[:24])
        numbers = bytearray(16)
        for _ in range(3):
            self.generator.fill(numbers)
            found.append(bytes(numbers))
        return found


#: Objects that a forked worker inherits.
inherited: Objects | None = None


def values(place: str) -> list[bytes]:
    """Return the values that this process generates with inherited objects and with its own objects."""
    found = inherited.values() if inherited is not None else []
    return found + Objects(place).values()


class Items:
    """A dataset whose items are the values that a worker generates."""

    def __init__(self, place: str) -> None:
        self.place = place

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> list[bytes]:
        return [*values(self.place), b"process %d" % os.getpid()]


class Workers(unittest.TestCase):
    def setUp(self) -> None:
        needed("cryptography")
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        path = folder / "keyset.json"
        path.write_bytes(warpaes.Keyset.generate("AES256_GCM_HKDF_4KB").to_json())
        path.chmod(0o600)
        self.place = f"clear:{path}"
        self.seen: set[bytes] = set()
        self.processes: set[bytes] = set()

    def take(self, found: list[bytes], count: int) -> None:
        """Check that all of a worker's values are new."""
        self.processes |= {value for value in found if value.startswith(b"process ")}
        made = [value for value in found if not value.startswith(b"process ")]
        self.assertEqual(len(made), count)
        for value in made:
            self.assertNotIn(value, self.seen)
            self.seen.add(value)

    @contextlib.contextmanager
    def busy(self) -> Iterator[None]:
        """Encrypt in a thread with the objects that forked workers inherit."""
        global inherited
        inherited, ends, made = Objects(self.place), threading.Event(), list[list[bytes]]()

        def work() -> None:
            while not ends.is_set():
                made.append(inherited.values())  # type: ignore[union-attr]

        thread = threading.Thread(target=work)
        thread.start()
        try:
            while not made:
                time.sleep(0.01)
            yield
        finally:
            ends.set()
            thread.join()
            inherited = None
        for found in made:
            self.take(found, EACH)

    def test_multiprocessing(self) -> None:
        for method in METHODS:
            with self.subTest(method), self.busy():
                context = multiprocessing.get_context(method)
                with context.Pool(2) as pool:
                    found = pool.map_async(values, [self.place] * 8, chunksize=1).get(timeout=200)
                for each in found:
                    self.take(each, 2 * EACH if method == "fork" else EACH)

    def test_data_loader(self) -> None:
        """Test the workers of two epochs. Each epoch has new workers."""
        data: Any = optional("torch.utils.data")
        for method in METHODS:
            with self.subTest(method), self.busy():
                self.processes.clear()
                loader = data.DataLoader(
                    Items(self.place), batch_size=2, num_workers=2, collate_fn=list, multiprocessing_context=method,
                    timeout=200,
                )  # fmt: skip
                for _ in range(2):
                    for batch in loader:
                        for found in batch:
                            self.take(found, 2 * EACH if method == "fork" else EACH)
                self.assertEqual(len(self.processes), 4)

    def test_ray(self) -> None:
        """Test tasks, and an actor that keeps its objects."""
        ray: Any = optional("ray")
        environment = {"PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])}
        ray.init(
            num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False,
            runtime_env={"env_vars": environment},
        )  # fmt: skip
        try:
            task, actor = ray.remote(values), ray.remote(Objects).remote(self.place)
            found = [task.remote(self.place) for _ in range(6)] + [actor.values.remote() for _ in range(3)]
            for each in ray.get(found, timeout=200):
                self.take(each, EACH)
        finally:
            ray.shutdown()

    def test_torchrun(self) -> None:
        optional("torch.distributed")
        with tempfile.TemporaryDirectory() as folder:
            status, said = torchrun(__file__, ["--worker", self.place, folder])
            self.assertEqual(status, 0, said)
            written = sorted(pathlib.Path(folder).iterdir())
            self.assertEqual(len(written), 2)
            for path in written:
                self.take([bytes.fromhex(line) for line in path.read_text().split()], EACH)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        pathlib.Path(sys.argv[3], os.environ["RANK"]).write_text("\n".join(map(bytes.hex, values(sys.argv[2]))))
    else:
        unittest.main()
