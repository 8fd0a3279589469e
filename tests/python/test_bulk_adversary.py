"""Tests random acts of an attacker who can write to a storage, between commands of `warpaes bulk`."""

from __future__ import annotations

import functools
import multiprocessing
import unittest
from concurrent.futures import ProcessPoolExecutor

from storage_adversary import one
from support import needed

#: The runs are on files, on an object store, and on other kinds of files. `storage_adversary.py --runs N` and
#: `files_adversary.py` execute any number of runs.
FILES, OBJECTS, OTHERS = range(50), range(170, 180), range(50)
#: A run mostly waits for locks and threads, so several runs share a core.
PROCESSES = 4


def broken(over_s3: bool, seed: int) -> str:
    """Return the invariant that a run violates, with the acts and commands that cause it."""
    said, log = one(seed, over_s3)
    return "\n    ".join([f"seed {seed}: {said}", *log]) if said else ""


class Runs(unittest.TestCase):
    def play(self, seeds: range, over_s3: bool) -> None:
        with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn")) as processes:
            every = processes.map(functools.partial(broken, over_s3), seeds, chunksize=5)
            self.assertEqual([said for said in every if said], [])

    def test_files(self) -> None:
        self.play(FILES, False)

    def test_other_files(self) -> None:
        for name in ("numpy", "cryptography"):
            needed(name)
        import files_adversary

        for seed in OTHERS:
            said, log = files_adversary.one(seed)
            self.assertEqual(said, "", "\n    ".join([f"seed {seed}:", *log]))

    def test_an_object_store(self) -> None:
        for name in ("moto", "boto3"):
            needed(name)
        self.play(OBJECTS, True)


if __name__ == "__main__":
    unittest.main()
