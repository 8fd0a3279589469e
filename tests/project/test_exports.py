"""Tests that the library exports only the C ABI and loads without a CUDA driver."""

import ctypes
import os
import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = os.environ["WARPAES_LIBRARY"]


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Exports(unittest.TestCase):
    def test_exactly_the_functions_of_the_header(self):
        header = "".join(path.read_text() for path in sorted((ROOT / "include/warpaes").glob("*.h")))
        declared = set(re.findall(r"^WARPAES_API [^;(]*?(warpaes_\w+)\(", header, re.MULTILINE))
        self.assertGreater(len(declared), 20)
        exported = {line.split()[-1] for line in run("nm", "-D", "--defined-only", LIBRARY).splitlines()}
        self.assertEqual(exported, declared)

    def test_the_provider_shows_one_function_and_stays_loaded(self):
        module = Path(os.environ["WARPAES_BUILD"]) / "provider/warpaes.so"
        if not module.exists():
            self.skipTest("built without the provider; a build with WARPAES_PROVIDER=ON runs this test")
        exported = {line.split()[-1] for line in run("nm", "-D", "--defined-only", str(module)).splitlines()}
        self.assertEqual(exported, {"OSSL_provider_init"})
        dynamic = run("readelf", "-d", str(module))
        self.assertNotIn("libwarpaes", dynamic)
        self.assertRegex(dynamic, r"FLAGS_1.*NOW.*NODELETE")

    def test_soname_and_needs(self):
        dynamic = run("readelf", "-d", LIBRARY)
        self.assertIn("soname: [libwarpaes.so.1]", dynamic)
        needed = set(re.findall(r"NEEDED.*\[(.*?)\]", dynamic))
        self.assertTrue(any(name.startswith("libcrypto.so") for name in needed), needed)
        self.assertFalse([name for name in needed if "cuda" in name], needed)

    def test_symbols_are_bound_when_it_is_loaded(self):
        command = Path(os.environ["WARPAES_BUILD"]) / "cli/warpaes"
        for file in [LIBRARY, *([command] if command.exists() else [])]:
            self.assertIn("BIND_NOW", run("readelf", "-d", file), file)
            self.assertIn("GNU_RELRO", run("readelf", "-lW", file), file)

    @unittest.skipIf(
        os.environ.get("WARPAES_SANITIZE"),
        "Python cannot load an instrumented library; the default build (`make test`) runs this test",
    )
    def test_statuses_are_documented_with_their_messages(self):
        library = ctypes.CDLL(LIBRARY)
        library.warpaes_status_message.restype = ctypes.c_char_p
        table = (ROOT / "docs/command-line.md").read_text()
        documented = [(int(n), text) for n, text in re.findall(r"^\| (\d+) \| (.*) \|$", table, re.MULTILINE)]
        header = (ROOT / "include/warpaes/warpaes.h").read_text()
        values = [int(n) for n in re.findall(r"^    WARPAES_(?:OK|ERROR_\w+) = (\d+)", header, re.MULTILINE)]
        self.assertEqual(documented, [(n, library.warpaes_status_message(n).decode()) for n in values])


if __name__ == "__main__":
    unittest.main()
