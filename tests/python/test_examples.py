#!/usr/bin/env python3
"""Runs the examples in examples/python as programs in a separate folder. The examples' assertions check the results."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/python"
NEEDS = {
    "beside_pyca": ["cryptography"],
    "checkpoint": ["torch"],
    "gguf_model": ["gguf", "numpy"],
    "random_numbers": ["numpy"],
    "training": ["numpy", "torch"],
}


class Examples(unittest.TestCase):
    def run_example(self, name: str) -> str:
        for package in NEEDS[name]:
            if importlib.util.find_spec(package) is None:
                self.skipTest(f"the Python package {package} is missing; a machine that has it runs this test")
        with tempfile.TemporaryDirectory(prefix="warpaes-example-") as folder:
            done = subprocess.run(
                [sys.executable, "-B", EXAMPLES / f"{name}.py"],
                cwd=folder,
                env=os.environ | {"WARPAES_CALIBRATION": "none"},
                capture_output=True,
                text=True,
                timeout=250,
            )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_beside_pyca(self) -> None:
        self.assertIn("AESGCM.encrypt of", self.run_example("beside_pyca"))

    def test_checkpoint(self) -> None:
        said = self.run_example("checkpoint")
        self.assertIn("refused: ", said)
        self.assertIn("of step 1", said)

    def test_gguf_model(self) -> None:
        self.assertEqual(self.run_example("gguf_model"), "2 tensors of llama are the same\n")

    def test_random_numbers(self) -> None:
        self.assertIn("pi is about 3.1", self.run_example("random_numbers"))

    def test_training(self) -> None:
        self.assertRegex(self.run_example("training"), r"epoch 4: loss 0\.0")

    def test_each_is_here_and_opens_as_a_notebook(self) -> None:
        self.assertEqual({path.stem for path in EXAMPLES.glob("*.py")}, set(NEEDS))
        for path in EXAMPLES.glob("*.py"):
            cells = re.findall(r"^# %%(?: \[markdown\])?$", path.read_text(), re.MULTILINE)
            self.assertGreater(len(cells), 4, path.name)


if __name__ == "__main__":
    unittest.main()
