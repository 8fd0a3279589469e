"""Random acts of one who can write to a storage, between any two commands of warpaes bulk."""

from __future__ import annotations

import multiprocessing
import unittest
from concurrent.futures import ProcessPoolExecutor

from storage_adversary import plan_of, play, shrunk
from support import needed

#: Over files and over an object store.
FILES, OBJECTS = range(190), range(190, 200)
#: A run mostly waits: for locks, and for threads of one another.
PROCESSES = 4


def broken(seed: int) -> str:
    """What a run over files breaks, with the acts and commands that it takes."""
    said, log = play(seed, plan_of(seed))
    if said:
        _, said, log = shrunk(seed, plan_of(seed), said[0])
    return "\n    ".join([f"seed {seed}: {said}", *log]) if said else ""


class Runs(unittest.TestCase):
    def test_files(self) -> None:
        with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn")) as processes:
            self.assertEqual([said for said in processes.map(broken, FILES, chunksize=5) if said], [])

    def test_an_object_store(self) -> None:
        for name in ("moto", "boto3", "flask"):
            needed(name)
        from faulty_s3 import Store

        store = Store()
        self.addCleanup(store.close)
        for seed in OBJECTS:
            said, log = play(seed, plan_of(seed), (store.direct, store.moto.url, f"r{seed}"))
            self.assertEqual(said, "", "\n    ".join([f"seed {seed}:", *log]))


if __name__ == "__main__":
    unittest.main()
