"""Tests tools/wheel: its settings, the oldest glibc that its programs support, and the licenses of the code from other
projects."""

import os
import platform
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Folders that contain system headers or this project's headers.
SYSTEM = {"asm", "linux", "net", "netinet", "sys", "warpaes"}
#: The license text in licenses/ for each other folder of headers.
TEXTS = {"CLI": "CLI11.txt", "fmt": "fmt.txt", "nlohmann": "nlohmann-json.txt", "openssl": "OpenSSL.txt"}


class Wheel(unittest.TestCase):
    def asked(self, gpu: str, failing: str) -> list[str]:
        """Return the arguments that a fake python in a separate folder recorded. The fake fails for one module."""
        with tempfile.TemporaryDirectory() as folder:
            python, setup = Path(folder, ".venv/wheel/bin/python"), Path(folder, "tools/setup")
            fails = f'printf "%s\\n" "$@" >>asked; mkdir -p build/wheel-raw; case "$*" in *{failing}*) exit 9; esac'
            for program, text in ((python, fails), (setup, "echo /somewhere/nvcc")):
                program.parent.mkdir(parents=True, exist_ok=True)
                program.write_text(f"#!/bin/sh\n{text}\n")
                program.chmod(program.stat().st_mode | stat.S_IXUSR)
            shutil.copy(ROOT / "tools/wheel", Path(folder, "tools"))
            done = subprocess.run([Path(folder, "tools/wheel")], env=os.environ | {"WARPAES_GPU": gpu}, check=False)
            self.assertNotEqual(done.returncode, 0)
            return Path(folder, "asked").read_text().splitlines()

    def settings(self, gpu: str) -> list[str]:
        words = self.asked(gpu, "pip")
        return [words[i + 1] for i, word in enumerate(words) if word == "-C"]

    def test_documents_name_the_gpus_that_it_has_code_for(self):
        """The lists in docs/kernels.md and README.md must agree with the list in cmake/cuda.cmake."""
        text = (ROOT / "cmake/cuda.cmake").read_text()
        releases = re.search(r"if\(WARPAES_EVERY_GPU\)\n\s+set\(CMAKE_CUDA_ARCHITECTURES (.*)\)", text)[1]
        built = [f"{number[:-1]}.{number[-1]}" for number in re.findall(r"(\d+)a?-real", releases)]
        self.assertEqual(built[0], "7.5")
        said = r"(?<![\d.])(\d+\.\d)a?(?: \([^)]*\))?(?:,| and) "
        words = " ".join((ROOT / "docs/kernels.md").read_text().split())
        listed = re.match(rf"(?:{said})+(\d+\.\d)", words.partition("Releases have machine code for ")[2])
        self.assertIsNotNone(listed)
        self.assertEqual([*re.findall(said, listed[0] + " "), listed[2]], built)
        self.assertIn(f"compute capability {built[0]} ", (ROOT / "README.md").read_text())

    def test_a_wheel_for_a_newer_glibc_is_refused(self):
        """auditwheel fails if a program needs more than the given platform provides."""
        words = self.asked("no", "auditwheel")
        self.assertIn("cmake.define.WARPAES_OLD_GLIBC=2.28", words)
        self.assertEqual(words[words.index("--plat") + 1], f"manylinux_2_28_{platform.machine()}")

    def test_each_setting_is_given_once(self):
        """pip turns a repeated setting into a list, which CMake does not accept."""
        for gpu in ("yes", "no"):
            with self.subTest(gpu=gpu):
                settings = self.settings(gpu)
                names = [setting.partition("=")[0] for setting in settings]
                self.assertEqual(sorted(names), sorted(set(names)))
                self.assertIn(f"cmake.define.WARPAES_CUDA={'ON' if gpu == 'yes' else 'OFF'}", settings)
                self.assertEqual("cmake.define.CMAKE_CUDA_COMPILER=/somewhere/nvcc" in settings, gpu == "yes")


class OldGlibc(unittest.TestCase):
    """Tests programs that are linked with the libraries from cmake/old_glibc.py."""

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.libraries = cls.folder / "old"
        subprocess.run([sys.executable, "-B", ROOT / "cmake/old_glibc.py", "2.28", cls.libraries], check=True)
        cls.compiler = [os.environ.get("CXX", "c++"), "-std=c++20"]
        cls.compile(ROOT / "cmake/old_glibc.cpp", "-c", "-O1", "-fPIC", "-fvisibility=hidden", "-o", "old.o")

    @classmethod
    def compile(cls, *arguments):
        done = subprocess.run([*cls.compiler, *arguments], cwd=cls.folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(done.stderr)

    def link(self, source: str, *options: str) -> Path:
        Path(self.folder, "program.cpp").write_text(source)
        # The command is not a position-independent executable.
        ours = [
            "-fno-pie",
            "-no-pie",
            "old.o",
            f"-L{self.libraries}",
            "-static-libstdc++",
            "-Wl,--no-as-needed",
            "-lpthread",
            "-ldl",
        ]
        ours += ["-Wl,--wrap=__libc_start_main", "-Wl,--allow-shlib-undefined"]
        self.compile("program.cpp", *ours, *options, "-o", "program")
        return self.folder / "program"

    def check(self, *options: str) -> None:
        program = self.link((ROOT / "tests/project/old_glibc_program.cpp").read_text(), *options)
        self.assertEqual(subprocess.run([program], capture_output=True, text=True, check=False).stdout, "all right\n")
        needed = subprocess.run(["readelf", "-VW", program], capture_output=True, text=True, check=True).stdout
        versions = [tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([\d.]+)", needed)]
        self.assertTrue((2, 2) < max(versions) <= (2, 28), max(versions))
        self.assertNotIn("GLIBCXX", needed)

    def test_what_newer_headers_refer_to_works(self):
        self.check()

    def test_and_where_glibc_does_not_have_it(self):
        self.check("-Wl,--wrap=dlsym")

    def test_what_the_old_glibc_does_not_have_is_named(self):
        with self.assertRaisesRegex(AssertionError, "undefined reference to `close_range'"):
            self.link("#include <unistd.h>\nint main() { return close_range(3, 4, 0); }\n")


class Licenses(unittest.TestCase):
    """The programs are distributed with the licenses of the code from other projects."""

    def used(self, *folders: str) -> set[str]:
        files = [path for folder in folders for path in (ROOT / folder).rglob("*.?pp")]
        texts = [path.read_text() for path in files]
        return {name for text in texts for name in re.findall(r"#include <(\w+)/", text)} - SYSTEM

    def test_each_project_whose_headers_are_used_has_its_text(self):
        self.assertEqual(self.used("src", "cli", "python", "provider", "include"), set(TEXTS))
        for name in TEXTS.values():
            self.assertIn("Copyright", (ROOT / "licenses" / name).read_text())
        self.assertIn('"licenses/*.txt"', (ROOT / "pyproject.toml").read_text())

    def test_a_debian_package_has_those_of_its_command(self):
        """The command's libcrypto is in a separate package."""
        copyright_file = (ROOT / "debian/copyright").read_text()
        for name in self.used("cli") - {"openssl"}:
            self.assertIn(f"Files: licenses/{TEXTS[name]}", copyright_file)


if __name__ == "__main__":
    unittest.main()
