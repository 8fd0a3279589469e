"""Installs the project under a temporary prefix and builds examples/ with this installation, using find_package and
pkg-config."""

import os
import re
import shutil
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = os.environ["WARPAES_BUILD"]
CC = os.environ.get("CC") or "cc"
CXX = os.environ.get("CXX") or "c++"
NOT_FOUND = 16  # warpaes_status
#: Examples that are built as users do: the compiler with its options, and the source.
EXAMPLES = (
    ([CC, "-std=gnu99"], "encrypt_file.c"),
    ([CC, "-std=gnu99", "-pthread"], "object_store.c"),
    ([CXX, "-std=c++20"], "random_access.cpp"),
    ([CXX, "-std=c++20"], "encrypt_at_place.cpp"),
    ([CC, "-std=gnu99"], "gguf_info.c"),
)
SANITIZE = [f"-fsanitize={os.environ['WARPAES_SANITIZE']}"] if os.environ.get("WARPAES_SANITIZE") else []


def run(*command, **kwargs):
    result = subprocess.run([str(c) for c in command], capture_output=True, check=False, **kwargs)
    if result.returncode != 0:
        output = (result.stdout + result.stderr).decode(errors="replace")
        raise AssertionError(f"{' '.join(map(str, command))}\n{output}")
    return result.stdout


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="warpaes-install-")
        cls.dir = Path(cls.temporary.name)
        cls.prefix = cls.dir / "prefix"
        run("cmake", "--install", BUILD, "--prefix", cls.prefix)
        # All files must be found under this prefix, even after the prefix was moved.
        cls.prefix = cls.prefix.rename(cls.dir / "moved")
        cls.libdir = next(cls.prefix.rglob("libwarpaes.so")).parent

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def check_examples(self, directory):
        environment = dict(os.environ, LD_LIBRARY_PATH=str(self.libdir))
        key, plain, encrypted = self.dir / "key", self.dir / "plain", self.dir / "encrypted"
        key.write_bytes(bytes(range(32)))
        plain.write_bytes(bytes(i * i % 251 for i in range(3_000_000)))
        run(directory / "encrypt_file", key, plain, encrypted, env=environment)

        written = encrypted.read_bytes()
        decrypted = run(
            *("openssl", "enc", "-d", "-aes-256-ctr", "-K", key.read_bytes().hex(), "-iv", written[:16].hex()),
            input=written[16:],
        )
        self.assertEqual(decrypted, plain.read_bytes())
        part = run(directory / "random_access", key, encrypted, 1_234_567, 321, env=environment)
        self.assertEqual(part, plain.read_bytes()[1_234_567 : 1_234_567 + 321])

        asked = subprocess.run(
            [directory / "object_store", plain, "1234567", "321"], env=environment, capture_output=True, check=True
        )
        self.assertEqual(asked.stdout, plain.read_bytes()[1_234_567 : 1_234_567 + 321])
        # The requests are for the header, the last segment and the requested segment.
        self.assertRegex(asked.stderr, rb"^\d{4} of 30\d{5} bytes fetched in 3 requests")

        # C++ creates a keyset at a place, and C opens it.
        place = f"kek={key};kek-aad=models;{directory}/keyset.json"
        plain.write_bytes(struct.pack("<4sIQQ", b"GGUF", 3, 2, 5) + bytes(100_000))
        run(directory / "encrypt_at_place", place, plain, directory / "model", env=environment)
        info = run(directory / "gguf_info", place, directory / "model", env=environment)
        self.assertEqual(info, b"GGUF 3: 2 tensors, 5 fields, 100024 bytes\n")
        altered = bytearray((directory / "model").read_bytes())
        altered[50] ^= 1
        (directory / "model").write_bytes(altered)
        failed = subprocess.run(
            [directory / "gguf_info", place, directory / "model"], env=environment, capture_output=True
        )
        self.assertEqual((failed.returncode, failed.stdout), (1, b""))
        self.assertIn(b"not authentic", failed.stderr)

        key.write_bytes(b"short")
        failed = subprocess.run(
            [directory / "encrypt_file", key, plain, encrypted], env=environment, capture_output=True
        )
        self.assertEqual(failed.returncode, 1)
        self.assertIn(b"must be 16, 24 or 32 bytes", failed.stderr)

    def test_find_package(self):
        build = self.dir / "by-find-package"
        flags = " ".join(SANITIZE)
        run(
            *("cmake", "-S", ROOT / "examples", "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}"),
            *("-DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF", f"-DCMAKE_C_FLAGS={flags}", f"-DCMAKE_CXX_FLAGS={flags}"),
        )
        run("cmake", "--build", build)
        self.check_examples(build)
        if (build / "device_memory").exists():  # a CUDA toolkit is installed
            run(build / "device_memory", env=dict(os.environ, LD_LIBRARY_PATH=str(self.libdir)))

    def test_find_package_in_a_project_of_c_alone(self):
        source = self.dir / "c-alone"
        source.mkdir()
        (source / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.22)\nproject(c LANGUAGES C)\nfind_package(warpaes 1.0 REQUIRED)\n"
            "add_executable(program program.c)\ntarget_link_libraries(program warpaes::warpaes)\n"
        )
        (source / "program.c").write_text(
            "#include <warpaes/warpaes.h>\nint main(void) { return warpaes_abi_version() != WARPAES_ABI_VERSION; }\n"
        )
        flags = f"-DCMAKE_C_FLAGS={' '.join(SANITIZE)}"
        run("cmake", "-S", source, "-B", source / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}", flags)
        run("cmake", "--build", source / "build")
        run(source / "build/program", env=dict(os.environ, LD_LIBRARY_PATH=str(self.libdir)))

    @unittest.skipUnless(
        shutil.which("pkg-config"),
        "there is no pkg-config; a machine where `tools/setup test` has installed it runs this test",
    )
    def test_pkg_config(self):
        environment = dict(os.environ, PKG_CONFIG_PATH=str(self.libdir / "pkgconfig"))
        flags = run("pkg-config", "--cflags", "--libs", "warpaes", env=environment).decode().split()
        self.assertIn(str(self.libdir), str(Path(next(f for f in flags if f.startswith("-L"))[2:]).resolve()))
        build = self.dir / "by-pkg-config"
        build.mkdir()
        warnings = ["-Wall", "-Wextra", "-Wconversion", "-Werror"]
        for compiler, source in EXAMPLES:
            program = build / Path(source).stem
            run(*compiler, *warnings, *SANITIZE, ROOT / "examples" / source, "-o", program, *flags)
        self.check_examples(build)

    @unittest.skipIf(SANITIZE, "a static library is not built with sanitizers; the default build runs this test")
    @unittest.skipUnless(shutil.which("pkg-config"), "there is no pkg-config; a machine with pkg-config runs this test")
    def test_pkg_config_static(self):
        """A program links the static library, in C, and in C++ with code that defines the same names."""
        environment = dict(os.environ, PKG_CONFIG_PATH=str(self.libdir / "pkgconfig"))
        flags = run("pkg-config", "--static", "--cflags", "--libs", "warpaes", env=environment).decode().split()
        for flag in ("-lcrypto", "-lstdc++"):
            self.assertIn(flag, flags)
        flags = ["-l:libwarpaes.a" if flag == "-lwarpaes" else flag for flag in flags]
        build = self.dir / "static"
        build.mkdir()
        for compiler, source in EXAMPLES:
            program = build / Path(source).stem
            run(*compiler, ROOT / "examples" / source, "-o", program, *flags)
            self.assertNotIn(b"libwarpaes", run("ldd", program))
        self.check_examples(build)
        # Only the C ABI is visible. Inline variables ("u") exist once per program in any case.
        symbols = run("nm", "--defined-only", "--extern-only", "--format=posix", self.libdir / "libwarpaes.a").decode()
        lines = [line.split() for line in symbols.splitlines() if line.count(" ") > 1]
        names = {name for name, kind, *_ in lines if kind != "u"}
        self.assertGreater(len(names), 50)
        self.assertEqual({name for name in names if not name.startswith("warpaes_")}, set())

    def test_header_for_kernels(self):
        """The package contains device.cuh and all headers that it includes, for the user's CUDA compiler."""
        wanted, seen = ["warpaes/device.cuh"], set()
        while wanted:
            header = wanted.pop()
            if header not in seen:
                seen.add(header)
                text = (self.prefix / "include" / header).read_text()
                wanted += re.findall(r"#include <(warpaes/.*)>", text)
        self.assertGreater(len(seen), 4)
        self.assertTrue(all(header.startswith("warpaes/device") for header in seen), seen)

    def test_installed_command(self):
        command = self.prefix / "bin/warpaes"
        if not command.exists():
            self.skipTest(
                "built with WARPAES_CLI=OFF, so without the command; the default build (`make test`) runs this test"
            )
        # The module finds the library in its own folder.
        environment = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
        self.assertIn(b"libcrypto", run(command, "devices", env=environment))

        with self.subTest("files for developers are not installed"):
            self.assertEqual(os.listdir(self.prefix / "bin"), ["warpaes"])
            for arguments, program, remedy in (
                (["lab", "list"], "warpaes-lab", "run `make install-lab`"),
                (
                    ["plan", "--grid"],
                    "warpaes-plan-grid",
                    "build it in build/default/cli with `tools/build default warpaes_plan_grid`",
                ),
            ):
                asked = subprocess.run([command, *arguments], env=environment, capture_output=True, text=True)
                self.assertEqual(asked.returncode, NOT_FOUND)
                self.assertIn(f"warpaes: '{self.prefix}/bin/{program}': not installed; {remedy}", asked.stderr)
        with self.subTest("records of the lab, without kernels"):
            record = next((ROOT / "bench/results/lab").glob("nvidia-*.json"))
            self.assertIn(b"published", run(command, "lab", "judge", "--json", record, env=environment))
            page = run(command, "lab", "report", record, "-o", "-", env=environment)
            self.assertTrue(page.startswith(b"<!DOCTYPE html>"))
            self.assertIn(b"figures in both", run(command, "lab", "compare", record, record, env=environment))
            self.assertEqual(os.listdir(self.prefix / "bin"), ["warpaes"])
        with self.subTest("the lab component"):
            if not (Path(BUILD) / "cli/warpaes-lab").exists():
                self.skipTest("built with WARPAES_LAB=OFF; the default build (`make test`) runs this test")
            run("cmake", "--install", BUILD, "--prefix", self.prefix, "--component", "lab")
            self.assertEqual(sorted(os.listdir(self.prefix / "bin")), ["warpaes", "warpaes-lab"])
            self.assertIn(b"N.implementations", run(command, "lab", "list", env=environment))

    def test_uninstall_removes_what_was_installed_and_nothing_else(self):
        prefix, other, build = self.dir / "a prefix", self.dir / "other", self.dir / "noted"
        build.mkdir()
        manifest = Path(BUILD) / "install_manifest.txt"
        for place in (prefix, other):
            run("cmake", "--install", BUILD, "--prefix", place)
            shutil.copy(manifest, build)
            run(ROOT / "tools/installed", "note", build)
        installed = {path for path in prefix.rglob("*") if not path.is_dir()}
        self.assertGreater(len(installed), 20)
        kept = [prefix / "include/warpaes/mine.h", prefix / "bin/other", prefix / "share/man/man1/other.1"]
        for path in kept:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("somebody else's")
        changed = prefix / "include/warpaes/warpaes.h"
        changed.write_text("of a different version")
        link = next(prefix.rglob("libwarpaes.so"))
        link.unlink()
        link.symlink_to("/elsewhere")
        said = run(ROOT / "tools/installed", "remove", build).decode()
        self.assertIn(f"Kept: {changed}", said)
        left = {path for path in prefix.rglob("*") if not path.is_dir()}
        self.assertEqual(left, {*kept, changed, link})
        self.assertFalse(any(path.is_file() for path in other.rglob("*")), "files remain at an earlier prefix")
        self.assertFalse((other / "include/warpaes").exists())
        self.assertTrue((other / "include").exists())
        self.assertIn(b"There is no record of files", run(ROOT / "tools/installed", "remove", build))

    def test_as_a_subproject(self):
        source = self.dir / "subproject"
        source.mkdir()
        (source / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.22)\n"
            "project(user LANGUAGES C CXX)\n"
            f"add_subdirectory({ROOT} warpaes)\n"
            f"add_executable(user {ROOT}/examples/encrypt_file.c)\n"
            "target_link_libraries(user PRIVATE warpaes::warpaes)\n"
            "if(TARGET warpaes_cli OR TARGET warpaes_simulated)\n"
            '  message(FATAL_ERROR "more than the library")\n'
            "endif()\n"
        )
        run("cmake", "-S", source, "-B", source / "build", "-DWARPAES_CUDA=OFF")


if __name__ == "__main__":
    unittest.main()
