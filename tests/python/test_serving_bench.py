#!/usr/bin/env python3
"""Tests a small run of tools/serving_bench.py on the CPU, and the page that its record produces."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from support import optional

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tools")]


class ServingBench(unittest.TestCase):
    def test_small(self) -> None:
        for name in ("torch", "safetensors", "numpy", "cryptography"):
            optional(name)
        import serving_page

        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-B", str(ROOT / "tools/serving_bench.py"), "--device", "cpu", "--gib", "0.0001"]
            sizes = ["--samples", "1", "--blocks", "4", "--block-kib", "64"]
            done = subprocess.run(
                [*command, *sizes, "--folder", folder, "--output", f"{folder}/records"], capture_output=True, text=True
            )
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            (path,) = pathlib.Path(folder, "records").glob("*.json")
            record = json.loads(path.read_text())
            self.assertEqual([each.name for each in pathlib.Path(folder).iterdir()], ["records"], "nothing is left")
        self.assertLessEqual(set(record["left_out"].values()), {"not installed"}, record["left_out"])
        what = {(row["part"], row["what"]) for row in record["rows"]}
        self.assertGreaterEqual(
            what,
            {
                ("model", "warpaes.models.load"),
                ("model", "safetensors.torch.load_file, in clear"),
                ("kv", "store: encrypted while copied"),
                ("kv", "fetch: decrypted while copied"),
                ("kv", "bare copy to the host"),
                ("kv", "store of vLLM's chunks, gathered first"),
                ("kv", "fetch of vLLM's chunks, put back"),
            },
        )
        hits = {row["what"]: row["hits"] for row in record["rows"] if row["part"] == "scan"}
        check = hits["check: with a copy of the weights in host memory, reader='threads'"]
        self.assertGreater(check, 5, "the scan finds existing plaintext")
        record["gpu"] = {"name": "A GPU", "driver": "1"}
        page = serving_page.figures(record)
        for text in ("warpaes.models.load", "4 blocks of 64 KiB", "A GPU, driver 1", "of the bare copy"):
            self.assertIn(text, page)


class HostScan(unittest.TestCase):
    def test_finds_what_is_there(self) -> None:
        numpy = optional("numpy")
        import host_scan

        secret = numpy.random.default_rng(1).bytes(1 << 20)
        needles = host_scan.needles_of(secret)
        self.assertEqual(len(needles), 64)
        scan = host_scan.Scan(needles)
        self.assertEqual(scan.hits(secret), 64)
        self.assertEqual(scan.hits(secret[8:]), 63)
        self.assertEqual(scan.hits(bytes(1 << 20)), 0)
        self.assertEqual(scan.hits(needles.tobytes()), 0, "the list does not contain plaintext")
        self.assertGreaterEqual(scan.process()["hits"], 64)
        self.assertGreaterEqual(scan.process([memoryview(secret)])["hits"], 128)


if __name__ == "__main__":
    unittest.main()
