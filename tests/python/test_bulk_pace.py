"""Tests --limit-rate of `warpaes bulk`, and --dry-run of rekey and rewrap."""

from __future__ import annotations

import argparse
import json
import pathlib
import threading
import unittest
import unittest.mock
from typing import Any

from bulk_case import Case, StoreCase, bulk, refusal
from warpaes.bulk import around, cli, pool, storage
from warpaes.bulk.config import Config

RATE = 1000


class Clock:
    """A clock that stands still. Every wait ends immediately and is recorded."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        return False

    def __enter__(self) -> Clock:
        clock = self

        class Pace(around.Pace):
            def __init__(self, rate: float) -> None:
                super().__init__(rate)
                self._ended = unittest.mock.Mock(wait=clock.wait)

        self._patches = [
            unittest.mock.patch("warpaes.bulk.worker.Pace", Pace),
            unittest.mock.patch("warpaes.bulk.around.time.monotonic", lambda: 0.0),
        ]
        for patch in self._patches:
            patch.start()
        return self

    def __exit__(self, *ended: Any) -> None:
        for patch in self._patches:
            patch.stop()

    @property
    def bytes(self) -> float:
        """Return the number of bytes that the limit allows before the last wait has ended."""
        return max(self.waits, default=0) * RATE


class Rate(Case):
    def test_every_byte_of_an_object_counts(self) -> None:
        content = self.write([0, 1, 5000, storage.WINDOW + 1])
        total = sum(map(len, content.values()))
        limit = ("--limit-rate", f"{RATE}")
        with Clock() as clock:
            status, report = bulk("encrypt", "-k", self.key, *limit, self.source, self.target)
        self.assertEqual((status, report["errors"]), (0, 0))
        self.assertAlmostEqual(clock.bytes, total, places=3)
        sealed = sum(map(len, self.files(self.target).values()))
        for words in (
            ("verify", "-k", self.key, self.target),
            ("decrypt", "-k", self.key, self.target, self.folder / "back"),
            ("rekey", "-k", self.key, "--new-key", self.key2, self.target),
        ):
            with self.subTest(words[0]), Clock() as clock:
                status, _ = bulk(words[0], *limit, *words[1:])
                self.assertEqual(status, 0)
                self.assertAlmostEqual(clock.bytes, sealed, places=3)
        self.assertEqual(self.files(self.folder / "back"), content)

    def test_what_is_read_again_counts_too(self) -> None:
        content = self.write([5000, 700])
        total = sum(map(len, content.values()))
        with Clock() as clock:
            status, _ = bulk("encrypt", "-k", self.key, "--verify", "--limit-rate", "1000", self.source, self.target)
        self.assertEqual(status, 0)
        self.assertAlmostEqual(clock.bytes, total + sum(map(len, self.files(self.target).values())), places=3)

    def test_without_a_limit_nothing_waits(self) -> None:
        self.write([5000])
        with Clock() as clock:
            bulk("encrypt", "-k", self.key, "--verify", self.source, self.target)
        self.assertEqual(clock.waits, [])

    def test_workers_share_the_limit(self) -> None:
        config = Config("verify", "a", "a", limit_rate=RATE)
        self.assertEqual(pool._for_one_of(config, 4).limit_rate, RATE / 4)
        content = self.write([10, 20])
        status, _ = bulk("encrypt", "-k", self.key, "--workers", "2", "--limit-rate", "1G", self.source, self.target)
        self.assertEqual(status, 0)
        bulk("decrypt", "-k", self.key, self.target, self.folder / "back")
        self.assertEqual(self.files(self.folder / "back"), content)

    def test_an_end_lets_every_reader_go(self) -> None:
        pace = around.Pace(1)
        readers = [threading.Thread(target=pace.take, args=(10**9,), daemon=True) for _ in range(3)]
        for reader in readers:
            reader.start()
        pace.end()
        for reader in readers:
            reader.join(60)
            self.assertFalse(reader.is_alive())

    def test_rates(self) -> None:
        self.assertEqual([cli.rate(text) for text in ("1", "1500", "10k", "1.5M", "2GiB")],
                         [1, 1500, 10 << 10, 3 << 19, 2 << 30])  # fmt: skip
        for text in ("0", "-1", "", "fast", "infg", "0.1", "9" * 400, "8589934592G"):
            with self.subTest(text), self.assertRaises(argparse.ArgumentTypeError):
                cli.rate(text)


class Objects(StoreCase):
    def test_objects_of_a_store(self) -> None:
        content = self.write([0, 5000, storage.WINDOW + 1])
        name = "s3://bucket/" + self.id().rpartition(".")[2]
        more = ("-k", self.key, "--limit-rate", "1000")
        with Clock() as clock:
            self.assertEqual(bulk("encrypt", *more, self.source, name)[0], 0)
        self.assertAlmostEqual(clock.bytes, sum(map(len, content.values())), places=3)
        with Clock() as clock:
            self.assertEqual(bulk("decrypt", *more, name, self.folder / "back")[0], 0)
        self.assertGreater(clock.bytes, sum(map(len, content.values())))
        self.assertEqual(self.files(self.folder / "back"), content)


class DryRuns(Case):
    def everything(self) -> dict[str, tuple[bytes, int]]:
        return {
            str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in self.folder.rglob("*") if path.is_file()
        }

    def dry(self, *words: str | pathlib.Path) -> dict[str, Any]:
        before = self.everything()
        status, report = bulk(words[0], "--dry-run", *words[1:])
        self.assertEqual((status, report["errors"]), (0, 0))
        self.assertEqual(self.everything(), before)
        return report

    def test_rekey(self) -> None:
        content = self.write([0, 10, 5000])
        total = sum(map(len, content.values()))
        for envelope, wrapped in ((), 0), (("--envelope", "job"), 1), (("--envelope", "object"), 3):
            with self.subTest(envelope):
                target = self.folder / f"target{wrapped}"
                bulk("encrypt", "-k", self.key, *envelope, self.source, target)
                words = ("rekey", "-k", self.key, "--new-key", self.key2, *envelope, target)
                report = self.dry(*words)
                self.assertEqual((report["objects"], report["bytes"], report["done"]), (3, total, 0))
                self.assertEqual(report["wrapped_keys"], wrapped)
                self.assertIn("key.json", report["from_key"])
                self.assertIn("key2.json", report["to_key"])
                status, done = bulk(*words)
                self.assertEqual((status, done["run_objects"], done["run_bytes"]), (0, 3, total))

    def test_rewrap(self) -> None:
        self.write([0, 10, 5000])
        for envelope, objects, wrapped in ("job", 0, 1), ("object", 3, 3):
            with self.subTest(envelope):
                target = self.folder / f"target{envelope}"
                bulk("encrypt", "-k", self.key, "--envelope", envelope, self.source, target)
                words = ("rewrap", "-k", self.key, "--new-key", self.key2, target)
                report = self.dry(*words)
                self.assertEqual((report["objects"], report["bytes"], report["wrapped_keys"]), (objects, 0, wrapped))
                self.assertEqual(bulk(*words)[0], 0)

    def test_a_rekey_that_goes_on(self) -> None:
        content = self.write([10, 20, 30])
        bulk("encrypt", "-k", self.key, self.source, self.target)
        victim, kept = self.target / "a/1/o b.20", self.folder / "kept"
        victim.rename(kept)
        words = ("rekey", "-k", self.key, "--new-key", self.key2, self.target)
        self.assertEqual(bulk(*words)[0], 1)
        report = self.dry(*words)
        self.assertEqual((report["objects"], report["bytes"], report["done"]), (1, 20, 2))
        report = self.dry(*words, "--drop-missing")
        self.assertEqual(report["objects"], 1)
        kept.rename(victim)
        self.assertEqual(bulk(*words)[0], 0)
        bulk("decrypt", "-k", self.key2, self.target, self.folder / "back")
        self.assertEqual(self.files(self.folder / "back"), content)

    def test_refusals_are_those_of_the_job(self) -> None:
        self.write([10])
        bulk("encrypt", "-k", self.key, self.source, self.target)
        kek = self.folder / "kek"
        kek.write_bytes(bytes(32))
        kek.chmod(0o600)
        for words, said in (
            (("rekey", "-k", self.key, self.target), "all objects in"),
            (("rekey", "-k", self.key2, "--new-key", self.key2, self.target), "not saved under any of the given keys"),
            (("rekey", "-k", self.key, "--new-key", kek, self.target), "--envelope"),
            (("rewrap", "-k", self.key, "--new-key", self.key2, self.target), "there are no wrapped keys"),
        ):
            with self.subTest(words[0]):
                before = self.everything()
                refused = refusal(*words, "--dry-run")
                self.assertIn(said, refused)
                self.assertEqual(self.everything(), before)
                self.assertIn(said, refusal(*words))

    def test_in_words(self) -> None:
        import contextlib
        import io

        self.write([10])
        bulk("encrypt", "-k", self.key, "--envelope", "object", self.source, self.target)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            words = ["-k", str(self.key), "--new-key", str(self.key2), str(self.target)]
            status = cli.main(["rewrap", "-n", "-q", *words])
        self.assertEqual(status, 0)
        self.assertIn("1 data keys to wrap", out.getvalue())
        self.assertIn("nothing was written", out.getvalue())
        self.assertTrue(json.dumps(out.getvalue()))


if __name__ == "__main__":
    unittest.main()
