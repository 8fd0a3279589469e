"""Runs every Python block in two documentation pages. A block whose packages are missing is skipped.

`python.dataset_readers` runs the blocks that read a dataset in a bucket.
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import tomllib

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["WARPAES_BUILD"])
TEXT = "".join((ROOT / "docs" / name).read_text() for name in ("with-your-tools.md", "serving.md"))
EVERY = re.findall(r"^```python\n# needs: (.*?)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
BLOCKS = [(packages, block) for packages, block in EVERY if "//bucket/trips" not in block]
#: Interpreters that may have the packages: the current interpreter, the tests' environment, and an interpreter that an
#: environment variable names.
PYTHONS = [
    python
    for python in (sys.executable, ROOT / ".venv/tests/bin/python3", os.environ.get("PYTHON_WITH_TOOLS"))
    if python and Path(python).exists()
]
#: The blocks write encrypted files with these suffixes.
ENCRYPTED = (".ckpt", ".csv", ".distcp", ".jsonl", ".npy", ".parquet", ".pt", ".tar")

# A process that has used pyarrow 26 sometimes aborts in its static destructors ("terminate called without an active
# exception"). This also happens without warpaes, in 4 of 60 runs on two busy cores.
LEAVE_AT_ONCE = """
import os
import sys

sys.stdout.flush()
sys.stderr.flush()
os._exit(0)
"""

MAKE_KEYSET = """
import warpaes
import os

os.umask(0o077)
with open("keyset.json", "xb") as file:
    file.write(warpaes.Keyset.generate().to_json())
"""


def interpreter(packages):
    """Return the first interpreter that can import all packages, or None."""
    for python in PYTHONS:
        done = subprocess.run([python, "-c", f"import {packages}"], capture_output=True, check=False)
        if done.returncode == 0:
            return python
    return None


@unittest.skipIf(
    os.environ.get("WARPAES_SANITIZE"), "Python cannot load a library with sanitizers; the default build runs this test"
)
@unittest.skipUnless(
    (BUILD / "python/warpaes").exists(), "needs the Python package; a build with Python's headers runs this test"
)
class WithYourTools(unittest.TestCase):
    def test_every_block_names_its_packages(self):
        self.assertEqual(len(EVERY), TEXT.count("```python\n"))
        self.assertGreaterEqual(len(BLOCKS), 8)


def make(packages, block):
    def test(self):
        python = interpreter(packages)
        if python is None:
            self.skipTest(f"{packages} cannot be imported; PYTHON_WITH_TOOLS names an interpreter that has them")
        with tempfile.TemporaryDirectory(prefix="warpaes-tools-") as folder:
            environment = {**os.environ, "PYTHONPATH": str(BUILD / "python"), "WARPAES_CALIBRATION": "none"}
            environment |= {"HOME": folder, "HF_HUB_OFFLINE": "1"}
            installed = Path(folder) / "warpaes-0.dist-info"  # fsspec finds file systems through entry points
            installed.mkdir()
            (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: warpaes\nVersion: 0\n")
            points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["fsspec.specs"]
            lines = [f"{name} = {value}\n" for name, value in points.items()]
            (installed / "entry_points.txt").write_text("[fsspec.specs]\n" + "".join(lines))
            environment["PYTHONPATH"] += f":{folder}"
            made = [sys.executable, "-B", "-c", MAKE_KEYSET]
            program = block + (LEAVE_AT_ONCE if "pyarrow" in packages else "")
            for command in (made, [python, "-B", "-c", program]):
                done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
                self.assertEqual(done.returncode, 0, f"{block}\n{done.stderr}")
            for path in Path(folder).rglob("*"):
                if (path.is_file() and path.suffix in ENCRYPTED) or path.name == ".metadata":
                    content = path.read_bytes()
                    for text in (b"value", b"torch", b"PK\x03\x04"):
                        self.assertNotIn(text, content, f"{path.name} is not encrypted")

    return test


for number, (packages, block) in enumerate(BLOCKS):
    name = re.sub(r"\W+", "_", packages)
    setattr(WithYourTools, f"test_{number:02}_{name}", make(packages, block))


if __name__ == "__main__":
    unittest.main()
