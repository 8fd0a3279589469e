"""Tests that `make demo` builds only the kernels that the engine would choose on this CPU, and at least one set."""

import json
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FLAGS_256 = "fpu ssse3 aes pclmulqdq avx2 vaes vpclmulqdq"
FLAGS_512 = f"{FLAGS_256} avx512f avx512bw avx512vl"
EVERY = ["aesni", "vaes256", "vaes512", "vaes512_gcm", "vaes512_folding"]


@unittest.skipUnless(shutil.which("cmake"), "cmake is not installed; `tools/setup demo` installs it")
class Kernels(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def kernels(self, cpuinfo: str | None) -> list[str]:
        """Return the kernel sets for a machine whose /proc/cpuinfo has this content."""
        if cpuinfo is not None:
            (self.folder / "cpuinfo").write_text(cpuinfo)
        script = self.folder / "script.cmake"
        script.write_text(
            f"cmake_minimum_required(VERSION 3.22)\ninclude({ROOT}/src/cpu/this_cpu.cmake)\nset(sets unset)\n"
            f'kernels_of_cpu(sets {self.folder}/cpuinfo)\nmessage("${{sets}}")\n'
        )
        done = subprocess.run(["cmake", "-P", script], capture_output=True, text=True, check=True)
        return done.stderr.strip().split(";")

    def cpu(self, vendor: str, flags: str) -> list[str]:
        one = f"processor\t: 0\nvendor_id\t: {vendor}\nmodel name\t: a CPU\nflags\t\t: {flags}\n\n"
        return self.kernels(one * 2)

    def test_each_kind_of_cpu(self):
        for vendor, flags, expected in (
            ("GenuineIntel", FLAGS_512, ["vaes512", "vaes512_gcm"]),
            ("AuthenticAMD", FLAGS_512, ["vaes512", "vaes512_folding"]),
            ("GenuineIntel", FLAGS_256, ["vaes256"]),
            ("AuthenticAMD", FLAGS_256, ["vaes256"]),
            ("GenuineIntel", "fpu ssse3 aes pclmulqdq avx2 avx512f avx512bw avx512vl", ["aesni"]),
            ("GenuineIntel", "fpu ssse3 aes pclmulqdq", ["aesni"]),
            ("GenuineIntel", "fpu", EVERY),
        ):
            with self.subTest(vendor=vendor, flags=flags):
                self.assertEqual(self.cpu(vendor, flags), expected)

    def test_every_set_if_the_cpu_is_unknown(self):
        self.assertEqual(self.kernels(None), EVERY)
        self.assertEqual(self.kernels("processor\t: 0\nBogoMIPS\t: 2000\n"), EVERY)

    def test_the_preset_keeps_the_optimization(self):
        presets = json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
        variables = next(p for p in presets if p["name"] == "demo")["cacheVariables"]
        self.assertNotIn("CMAKE_BUILD_TYPE", variables)
        self.assertNotIn("CMAKE_CXX_FLAGS_RELEASE", variables)
        self.assertNotIn("-O", variables["CMAKE_CXX_FLAGS"])

    def test_the_sources_that_it_lacks_exist(self):
        lacking = {}
        for room in ("capi", "engine", "format"):
            rules = (ROOT / f"src/{room}/CMakeLists.txt").read_text()
            lacking[room] = re.search(r"^demo_lacks\(([^)]*)\)", rules, re.MULTILINE)[1].split()
            for name in lacking[room]:
                self.assertTrue((ROOT / f"src/{room}/{name}").is_file(), name)
        self.assertIn("batch.cpp", lacking["capi"])

    def test_no_source_depends_on_it(self):
        """The lists of sources in CMake differ, but no code depends on which build it is part of."""
        sources = [path for room in ("src", "cli", "lab", "include") for path in (ROOT / room).rglob("*.[ch]*")]
        self.assertGreater(len(sources), 500)
        self.assertEqual([path for path in sources if "WARPAES_DEMO" in path.read_text()], [])


if __name__ == "__main__":
    unittest.main()
