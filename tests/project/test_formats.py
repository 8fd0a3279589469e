"""Tests that adding a format of segments requires only one new file and its name in a list.

The test compiles the file and the list, and links a library with the objects of this build. The command and the Python
package of this build then use the format through this library.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["WARPAES_BUILD"])
FORMATS = "format/segment_formats.hpp"
# Chunks of 1,000 bytes of plaintext, each an AES-GCM message under a key that HKDF derives from a salt.
SOURCE = """
#include "base/kernel_random.hpp"
#include "format/hkdf.hpp"
#include "format/segment_formats.hpp"
#include "format/segments.hpp"

namespace warpaes {
namespace {

constexpr std::size_t salt_bytes = 40, chunk_bytes = 1000;

class ExampleSegments final : public GcmSegments {
public:
    ExampleSegments(const SegmentLayout& layout, std::vector<std::uint8_t> header, std::span<const std::uint8_t> key)
        : GcmSegments(layout, std::move(header), key) {}

private:
    Nonce nonce(std::uint64_t segment, bool last) const override {
        Nonce nonce{};
        for (unsigned i = 0; i < 8; ++i) nonce[i] = static_cast<std::uint8_t>(segment >> (8 * i));
        nonce[11] = last ? 1 : 0;
        return nonce;
    }
};

SegmentLayout example_layout(const StreamParameters& parameters) {
    SegmentLayout layout;
    layout.header_bytes = salt_bytes;
    layout.first_text = layout.text = chunk_bytes;
    layout.tag = parameters.tag_bytes;
    layout.most_segments = std::uint64_t{1} << 40;
    return layout;
}

std::unique_ptr<SegmentCipher> example_cipher(const StreamKey& key, std::span<const std::uint8_t> aad,
                                              std::span<const std::uint8_t> header) {
    std::vector<std::uint8_t> salt(header.begin(), header.end());
    if (header.empty()) {
        salt.resize(salt_bytes);
        fill_from_kernel(salt, "salt");
    }
    const SecretVector derived = hkdf(Hash::sha256, key.key, salt, aad, key.parameters.aes_key_bytes);
    return std::make_unique<ExampleSegments>(example_layout(key.parameters), std::move(salt), derived);
}

constexpr StreamTemplate templates[] = {{"EXAMPLE_128", {&example, 16, chunk_bytes + 16}}};

}  // namespace

constexpr SegmentFormat example{.name = "an example",
                                .tink_type = "",
                                .hmac = false,
                                .marked = false,
                                .commits = false,
                                .cpu_bound = false,
                                .templates = templates,
                                .layout = example_layout,
                                .cipher = example_cipher};

}  // namespace warpaes
"""
PYTHON = """
import sys, warpaes
keyset = warpaes.Keyset.from_raw("EXAMPLE_128", bytes(range(16)))
assert "EXAMPLE_128" in warpaes.Keyset.templates()
with warpaes.open("sealed", keyset=keyset) as file:
    assert file.read(5) == open("plain", "rb").read(5)
    file.seek(2500)
    assert file.read() == open("plain", "rb").read()[2500:]
with warpaes.open("again", "wb", keyset=keyset) as file:
    file.write(open("plain", "rb").read())
assert warpaes.inspect("again", "EXAMPLE_128")["format_name"] == "an example"
"""


def list_with_the_format(text: str) -> str:
    text = re.sub(r"(extern const SegmentFormat c2sp;.*\n)", r"\1extern const SegmentFormat example;\n", text)
    return text.replace("&c2sp}", "&c2sp, &example}")


@unittest.skipUnless(
    (BUILD / "build.ninja").exists(), "the build does not use Ninja; a build with Ninja runs this test"
)
@unittest.skipIf(
    os.environ.get("WARPAES_SANITIZE"), "Python cannot load an instrumented library; the default build runs this"
)
class Formats(unittest.TestCase):
    def run_in(self, folder: Path, *command: str, **options) -> bytes:
        environment = {**os.environ, "LD_LIBRARY_PATH": str(folder), "WARPAES_CALIBRATION": "none"}
        result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=120, **options)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        return result.stdout

    def link(self, folder: Path) -> None:
        library = Path(os.environ["WARPAES_LIBRARY"]).resolve()
        made = subprocess.run(
            ["ninja", "-C", str(BUILD), "-t", "commands", str(library.relative_to(BUILD.resolve()))],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        compile_list = next(line for line in made if "segment_formats.cpp.o -c" in line)
        objects = []
        for source in (ROOT / "src/format/segment_formats.cpp", folder / "example_segments.cpp"):
            objects.append(folder / f"{source.stem}.o")
            command = re.sub(r" -MD -MT \S+ -MF \S+", "", compile_list)
            command = re.sub(r" -o \S+ -c \S+", f" -O0 -o {objects[-1]} -c {source}", command)
            command = command.replace(" -I", f" -I{folder}/src -I", 1)
            self.make(command)
        linked = f"-o {folder}/libwarpaes.so.1 {' '.join(map(str, objects))} "
        command = re.sub(r"-o \S+libwarpaes\.so\S* ", linked, made[-1])
        self.make(command)

    def make(self, command: str) -> None:
        result = subprocess.run(command, shell=True, cwd=BUILD, capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_one_file_and_a_name_make_a_format(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "src/format").mkdir(parents=True)
            (folder / "example_segments.cpp").write_text(SOURCE)
            (folder / "src" / FORMATS).write_text(list_with_the_format((ROOT / "src" / FORMATS).read_text()))
            self.link(folder)
            warpaes = str(BUILD / "cli/warpaes")
            plain = b"".join(b"%07d\n" % i for i in range(1000))
            (folder / "plain").write_bytes(plain)
            (folder / "key").write_bytes(bytes(range(16)))

            self.assertIn(b"\n  EXAMPLE_128\n", self.run_in(folder, warpaes, "keygen", "--help"))
            key = ("-k", "key", "--raw", "--template", "EXAMPLE_128")
            self.run_in(folder, warpaes, "encrypt", *key, "-o", "sealed", "plain")
            self.assertEqual((folder / "sealed").stat().st_size, 40 + len(plain) + 8 * 16)
            self.assertEqual(self.run_in(folder, warpaes, "cat", *key, "sealed"), plain)
            inspected = self.run_in(folder, warpaes, "inspect", "--template", "EXAMPLE_128", "sealed").decode()
            self.assertIn("an example, EXAMPLE_128", inspected)
            self.assertIn("8000 bytes", inspected)
            line = self.run_in(folder, warpaes, "keygen", "--template", "EXAMPLE_128").decode()
            self.assertRegex(line, "^EXAMPLE_128 [0-9a-f]{32}\n$")
            self.run_in(folder, self.python(), str(ROOT / "tools/command_pages.py"), "--warpaes", warpaes, "pages")
            completed = (
                f"source pages/warpaes.bash; COMP_WORDS=({warpaes} encrypt -t EX); COMP_CWORD=3; "
                '_warpaes; echo "${COMPREPLY[@]}"'
            )
            self.assertEqual(self.run_in(folder, "bash", "-c", completed), b"EXAMPLE_128\n")
            self.assertNotEqual(  # this build's own library does not have the format
                subprocess.run([warpaes, "keygen", "--template", "EXAMPLE_128"], capture_output=True).returncode, 0
            )
            if not (BUILD / "python/warpaes").exists():
                return
            environment = {"PYTHONPATH": str(BUILD / "python")}
            os.environ.update(environment)
            self.run_in(folder, self.python(), "-c", PYTHON)
            self.assertEqual(self.run_in(folder, warpaes, "cat", *key, "again"), plain)

    @staticmethod
    def python() -> str:
        own = ROOT / ".venv/tests/bin/python3"
        return str(own) if own.exists() else shutil.which("python3") or sys.executable


if __name__ == "__main__":
    unittest.main()
