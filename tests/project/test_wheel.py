"""tools/wheel: what it asks the build for, with CUDA and without."""

import os
import shutil
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Wheel(unittest.TestCase):
    def settings(self, gpu: str) -> list[str]:
        """Runs the script in a folder of its own, where python only writes down its arguments and then fails."""
        with tempfile.TemporaryDirectory() as folder:
            python, setup = Path(folder, ".venv/wheel/bin/python"), Path(folder, "tools/setup")
            for program, text in ((python, 'printf "%s\\n" "$@" >asked\nexit 9'), (setup, "echo /somewhere/nvcc")):
                program.parent.mkdir(parents=True, exist_ok=True)
                program.write_text(f"#!/bin/sh\n{text}\n")
                program.chmod(program.stat().st_mode | stat.S_IXUSR)
            shutil.copy(ROOT / "tools/wheel", Path(folder, "tools"))
            done = subprocess.run([Path(folder, "tools/wheel")], env=os.environ | {"WARPAES_GPU": gpu}, check=False)
            self.assertEqual(done.returncode, 9)
            words = Path(folder, "asked").read_text().splitlines()
            return [words[i + 1] for i, word in enumerate(words) if word == "-C"]

    def test_each_setting_is_given_once(self):
        """pip makes a list of a setting that is given twice, which CMake does not take."""
        for gpu in ("yes", "no"):
            with self.subTest(gpu=gpu):
                settings = self.settings(gpu)
                names = [setting.partition("=")[0] for setting in settings]
                self.assertEqual(sorted(names), sorted(set(names)))
                self.assertIn(f"cmake.define.WARPAES_CUDA={'ON' if gpu == 'yes' else 'OFF'}", settings)
                self.assertEqual("cmake.define.CMAKE_CUDA_COMPILER=/somewhere/nvcc" in settings, gpu == "yes")


if __name__ == "__main__":
    unittest.main()
