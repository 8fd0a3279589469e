"""Random acts of who can write to a storage, between any two commands of warpaes bulk."""

from __future__ import annotations

import unittest

from storage_adversary import plan_of, play, shrunk
from support import needed

RUNS = 200


class Runs(unittest.TestCase):
    def check(self, seeds: range, s3: object = None) -> None:
        for seed in seeds:
            said, log = play(seed, plan_of(seed), s3)
            if said and s3 is None:
                _, said, log = shrunk(seed, plan_of(seed), said[0])
            self.assertEqual(said, "", "\n    ".join([f"seed {seed}:", *log]))

    def test_files(self) -> None:
        self.check(range(RUNS - 20))

    def test_an_object_store(self) -> None:
        for name in ("moto", "boto3", "flask"):
            needed(name)
        from faulty_s3 import Store

        store = Store()
        self.addCleanup(store.close)
        for seed in range(RUNS - 20, RUNS):
            self.check(range(seed, seed + 1), (store.direct, store.moto.url, f"r{seed}"))


if __name__ == "__main__":
    unittest.main()
