"""Runs every block of code in README.md and in the user documentation unchanged."""

import hashlib
import http.server
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["WARPAES_BUILD"])
LIBRARY = Path(os.environ["WARPAES_LIBRARY"])
CC = os.environ.get("CC") or "cc"
CXX = os.environ.get("CXX") or "c++"
SANITIZE = [f"-fsanitize={os.environ['WARPAES_SANITIZE']}"] if os.environ.get("WARPAES_SANITIZE") else []
TINK = ROOT / ".venv/tests/bin/python3"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INCLUDE = re.compile(r"^#include .*\n", re.MULTILINE)

#: Code that is added before and after a block. The end of the program checks some of the results.
C_BEGIN = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static uint8_t key_bytes[32], nonce[12], data[1000];
int main(void) {
    const size_t size = sizeof data;
"""
C_ENDS = {
    "docs/library.md": "if (result.status != WARPAES_OK || data[0] == 0 && data[1] == 0 && data[2] == 0) return 1;",
    "docs/batches.md": "if (records[0] == 0 && records[1] == 0 && records[2] == 0) return 1;",
}
BATCH = """
    warpaes_engine* engine;
    warpaes_key* key;
    warpaes_engine_create(NULL, &engine);
    warpaes_key_create(key_bytes, 32, &key);
    uint8_t* records = calloc(1000000, 1544);
    for (uint32_t i = 0; i < 1000000; ++i) *(uint32_t*)(records + 1544 * (size_t)i + 1500) = i;
"""
CPP_BEGIN = """
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>
int main() {
"""
SEAL = (
    "std::array<std::uint8_t, 32> key_bytes{};std::vector<std::uint8_t> plaintext(1000);",
    "if (sealed.size() != 1028 || opened != plaintext) return 1;",
)
CPP = {
    "README.md": SEAL,
    "docs/library.md": SEAL,
    "docs/readers.md": (
        'std::string json; { warpaes::Keyset made; made.add("AES128_GCM_HKDF_4KB"); json = made.to_json(); }'
        "std::vector<std::uint8_t> bytes(3000000, 7), output(3000000); const std::uint64_t offset = 0;",
        "if (output != bytes) return 1;",
    ),
    "docs/batches.md": (
        "const warpaes::Engine engine; const warpaes::Key key(std::array<std::uint8_t, 32>{});"
        "std::vector<std::uint8_t> all(1544000000); std::uint8_t* records = all.data();"
        "for (std::uint32_t i = 0; i < 1000000; ++i)"
        "  std::copy_n(reinterpret_cast<const std::uint8_t*>(&i), 4, records + 1544 * std::size_t{i} + 1500);",
        "if (std::count(all.begin(), all.begin() + 1500, 0) > 100) return 1;",
    ),
}


with_command = unittest.skipUnless(
    (BUILD / "cli/warpaes").exists() and shutil.which("openssl"),
    "built without the command, or there is no openssl; the default build (`make test`) runs this test",
)


def blocks(name, language):
    return [text for kind, text in BLOCK.findall((ROOT / name).read_text()) if kind == language]


def python_with(package):
    """Return an interpreter that can import the package: the current interpreter, the interpreter of the tests'
    environment, or an interpreter that an environment variable names."""
    for python in (sys.executable, TINK, os.environ.get(f"PYTHON_WITH_{package.upper()}")):
        if python and Path(python).exists():
            found = subprocess.run([python, "-c", f"import {package}"], capture_output=True, check=False)
            if found.returncode == 0:
                return python
    raise unittest.SkipTest(f"there is no {package}; a machine that has it runs this test")


class Session(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="warpaes-snippets-")
        self.addCleanup(self.temporary.cleanup)
        self.dir = Path(self.temporary.name)

    def run_here(self, *command, **options):
        result = subprocess.run(command, cwd=self.dir, capture_output=True, check=False, timeout=200, **options)
        self.assertEqual(result.returncode, 0, (command, result.stdout, result.stderr))
        return result

    def session(self, lines):
        """Run the lines of a page in a separate shell. tests/project/test_install.py covers `make install`."""
        environment = {
            "PATH": f"{BUILD}/cli:{os.environ['PATH']}",
            "PASSPHRASE": "of the test",
            "HOME": str(self.dir),
            "WARPAES_CALIBRATION": "none",
        }
        lines = [line for line in lines if not line.startswith("make install PREFIX=")]
        self.run_here("bash", "-c", "set -euo pipefail\n" + "\n".join(lines), env=environment)
        # Every command on the page must exist.
        for line in lines:
            words = shlex.split(line, comments=True)
            if words and words[0] == "warpaes":
                self.run_here("warpaes", words[1], "--help", env=environment)

    def prepare_recipes(self):
        for name in ("report.txt", "draft.tmp", ".cache/x"):
            path = self.dir / "documents" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(name)
        (self.dir / "disk.img").write_bytes(hashlib.shake_128(b"disk").digest(2_500_000))
        lines = [line for block in blocks("docs/recipes.md", "sh") for line in block.splitlines()]
        self.assertGreater(len(lines), 15)
        self.session(lines)

    def python_block(self, name):
        (block,) = [text for text in blocks("docs/recipes.md", "python") if text.startswith(f"# {name}\n")]
        (self.dir / name).write_text(block)
        return name

    def run_python(self, name, *arguments, python=sys.executable):
        environment = {**os.environ, "LD_LIBRARY_PATH": str(LIBRARY.parent), "WARPAES_CALIBRATION": "none"}
        return self.run_here(python, "-B", self.python_block(name), *arguments, env=environment).stdout


class Snippets(Session):
    def compile_and_run(self, compiler, suffix, source):
        program = self.dir / "program"
        (self.dir / f"program{suffix}").write_text(source)
        self.run_here(
            *compiler, "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable", "-Wno-parentheses", *SANITIZE,
            f"-I{ROOT}/include", f"program{suffix}", str(LIBRARY), f"-Wl,-rpath,{LIBRARY.parent}", "-o", str(program),
        )  # fmt: skip
        self.run_here(str(program))

    def test_c(self):
        for name, end in C_ENDS.items():
            (block,) = blocks(name, "c")
            before = BATCH if "entry" in block else ""
            source = (
                "#include <warpaes/warpaes.h>\n" + C_BEGIN + before + INCLUDE.sub("", block) + end + "\nreturn 0; }\n"
            )
            with self.subTest(name):
                self.compile_and_run([CC, "-std=gnu99"], ".c", source)

    def test_cpp(self):
        for name, (before, end) in CPP.items():
            (block,) = blocks(name, "cpp")
            includes = "".join(INCLUDE.findall(block)) or "#include <warpaes/batch.hpp>\n"
            source = includes + CPP_BEGIN + before + INCLUDE.sub("", block) + end + "\nreturn 0; }\n"
            with self.subTest(name):
                self.compile_and_run([CXX, "-std=c++20"], ".cpp", source)

    @with_command
    def test_recipes_as_a_session(self):
        self.prepare_recipes()
        content = (self.dir / "disk.img").read_bytes()
        self.assertEqual((self.dir / "block").read_bytes(), content[1_048_576:1_052_672])
        self.assertEqual((self.dir / "restored/documents/report.txt").read_text(), "report.txt")
        names = sorted(str(path.relative_to(self.dir / "files")) for path in (self.dir / "files").rglob("*.warpaes"))
        self.assertEqual(names, ["documents/report.txt.warpaes"])

    @with_command
    @unittest.skipIf(SANITIZE, "Python cannot load a library with sanitizers; the default build runs this test")
    def test_recipes_in_python(self):
        self.prepare_recipes()
        asked = []
        objects = self.dir

        class Ranges(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                content = (objects / self.path[1:]).read_bytes()
                first, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
                part = content[first : last + 1]
                asked.append(len(part))
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
                self.send_header("Content-Length", str(len(part)))
                self.end_headers()
                self.wfile.write(part)

            def log_message(self, *_):
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ranges) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.python_block("sealed.py")
            part = self.run_python("part.py", f"http://127.0.0.1:{server.server_port}/disk.img.warpaes")
            server.shutdown()
        self.assertEqual(part, (self.dir / "disk.img").read_bytes()[1_048_576:1_052_672])
        self.assertLess(sum(asked), 20_000, "only the range and the end are read")
        python = python_with("numpy")
        self.run_here(python, "-c", "import numpy; numpy.save('weights.npy', numpy.arange(1000.0).reshape(10, 100))")
        self.session(["warpaes encrypt -f -k keyset.json weights.npy"])
        self.assertIn(b"(10, 100) 499500.0", self.run_python("arrays.py", python=python))
        for name in ("tensors.py", "records.py"):
            compile((self.dir / self.python_block(name)).read_text(), name, "exec")

    @unittest.skipUnless(
        shutil.which("systemd-analyze"), "there is no systemd-analyze; a machine that has it runs this test"
    )
    def test_units(self):
        units = []
        for block in blocks("docs/recipes.md", "ini"):
            for unit in re.split(r"^(?=# [/~])", block, flags=re.MULTILINE):
                if unit.strip():
                    path = self.dir / unit.splitlines()[0].rpartition("/")[2]
                    # A different test checks that the program exists.
                    path.write_text(re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", unit, flags=re.MULTILINE))
                    units.append(str(path))
        self.assertEqual(len(units), 3)
        result = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", *units], capture_output=True, text=True, timeout=60
        )
        said = [line for line in result.stderr.splitlines() if any(os.path.basename(unit) in line for unit in units)]
        self.assertEqual(said, [])

    def require_tink(self):
        if not TINK.exists() or subprocess.run([TINK, "-c", "import tink"], capture_output=True).returncode != 0:
            if os.environ.get("CI") == "true":
                self.fail("tink is missing, which `tools/setup test` installs")
            self.skipTest("the Python package tink is missing; `tools/setup test` installs it")

    @with_command
    def test_formats_in_python(self):
        self.require_tink()
        block = blocks("docs/formats.md", "python")[0]
        (self.dir / "read.py").write_text(block)
        (self.dir / "notes.txt").write_text("some notes")
        (self.dir / "passphrase").write_text("correct horse\n")
        self.session(
            [
                "warpaes keygen --passphrase-from passphrase -o keyset.json",
                "warpaes encrypt -k keyset.json --passphrase-from passphrase notes.txt",
            ]
        )
        self.assertEqual(self.run_here(TINK, "read.py").stdout, b"some notes")

    @with_command
    def test_encrypted_names_in_python(self):
        self.require_tink()  # the package cryptography depends on Tink
        (self.dir / "list.py").write_text(blocks("docs/formats.md", "python")[1])
        (self.dir / "key").write_bytes(hashlib.shake_128(b"key").digest(32))
        (self.dir / "key").chmod(0o600)
        names = sorted(["in", "in/a", "in/b", "in/b/" + "n" * 255, "in/c", "in/\u00e4 b"])
        for name in ("in", "in/b", "in/c"):
            (self.dir / name).mkdir()
        for name in ("in/a", "in/b/" + "n" * 255, "in/\u00e4 b"):
            (self.dir / name).write_text("text")
        self.session(["warpaes encrypt -k key --encrypt-names --output-dir out in"])
        self.assertEqual(self.run_here(TINK, "list.py", "out").stdout.decode().splitlines(), names)

    @with_command
    def test_tutorial_as_a_session(self):
        lines = [line for block in blocks("docs/tutorial.md", "sh") for line in block.splitlines()]
        self.assertGreater(len(lines), 15)
        self.session(lines)
        self.assertEqual((self.dir / "part").stat().st_size, 100)

    @with_command
    def test_readme_as_a_session(self):
        content = hashlib.shake_128(b"disk").digest(2_500_000)
        (self.dir / "disk.img").write_bytes(content)
        self.session([line for block in blocks("README.md", "sh") for line in block.splitlines()])
        self.assertEqual((self.dir / "copy.img").read_bytes(), content)
        self.assertEqual((self.dir / "part").read_bytes(), content[1_000_000:1_000_100])

    @with_command
    @unittest.skipIf(SANITIZE, "Python cannot load a library with sanitizers; the default build runs this test")
    def test_readme_in_python(self):
        content = hashlib.shake_128(b"disk").digest(2_500_000)
        (self.dir / "disk.img").write_bytes(content)
        self.session(["warpaes keygen -o keyset.json", "warpaes encrypt -k keyset.json disk.img"])
        (block,) = blocks("README.md", "python")
        (self.dir / "read.py").write_text(block + "import sys; sys.stdout.buffer.write(content)\n")
        if not (BUILD / "python/warpaes").exists():
            self.skipTest("built without the Python package; a machine with Python's headers runs this test")
        environment = {**os.environ, "PYTHONPATH": str(BUILD / "python"), "WARPAES_CALIBRATION": "none"}
        read = self.run_here(sys.executable, "-B", "read.py", env=environment)
        self.assertEqual(read.stdout, content[1_000_000:1_000_100])


@with_command
@unittest.skipIf(SANITIZE, "Python cannot load a library with sanitizers; the default build runs this test")
class Torch(Session):
    """Blocks that need PyTorch, which is too large for the tests' environment. $PYTHON_WITH_TORCH names an interpreter
    that can import PyTorch."""

    def test_recipes(self):
        python = python_with("torch")
        self.prepare_recipes()
        self.python_block("sealed.py")
        self.run_here(python, "-c", "import torch; torch.save({'w': torch.ones(3)}, 'model.pt')")
        self.session([f"warpaes encrypt -f -k keyset.json {name}" for name in ("model.pt", "disk.img")])
        self.assertIn(b"['w']", self.run_python("tensors.py", python=python))
        block = (self.dir / self.python_block("records.py")).read_text()
        (self.dir / "records.py").write_text(
            f"{block}\n"
            "records = Records(open('keyset.json', 'rb').read(), 'disk.img.warpaes', 500_000)\n"
            "content = open('disk.img', 'rb').read()\n"
            "for i, record in enumerate(torch.utils.data.DataLoader(records, batch_size=None, num_workers=2)):\n"
            "    assert bytes(record.tolist()) == content[500_000 * i : 500_000 * (i + 1)]\n"
            "assert i == 4\n"
        )
        environment = {**os.environ, "LD_LIBRARY_PATH": str(LIBRARY.parent), "WARPAES_CALIBRATION": "none"}
        self.run_here(python, "-B", "records.py", env=environment)


if __name__ == "__main__":
    sys.exit(unittest.main())
