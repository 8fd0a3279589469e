"""Tests that any process can load the library with dlopen, even next to copies of the library and if static TLS is
scarce.

The thread-local variables of a library that uses the initial-exec model lie in static TLS. glibc reserves about 1,600
bytes of static TLS for all libraries that a process loads with dlopen.
"""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = Path(os.environ["WARPAES_LIBRARY"])
COMPILER = os.environ.get("CC") or "cc"
# This size is larger than the library's variables and smaller than the space that a plug-in host is likely to leave.
ROOM = 32


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)


@unittest.skipIf(
    os.environ.get("WARPAES_SANITIZE"), "tests the library as it is installed; the default build runs this test"
)
class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.place = Path(cls.folder.name)
        cls.program = cls.place / "client"
        flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-I", ROOT / "include"]
        built = run(COMPILER, *flags, ROOT / "tests/project/tls/client.c", "-o", cls.program, "-ldl", "-pthread")
        assert built.returncode == 0, built.stderr

    def copies(self, count):
        """Return copies with different names. The loader treats files with the same device and inode as the same
        library."""
        made = []
        for i in range(count):
            made.append(self.place / f"libcopy{i}.so")
            shutil.copy(LIBRARY, made[-1])
        return made

    def fillers(self):
        """Return a folder of libraries that use ROOM bytes of static TLS each. There are more libraries than fit in any
        process."""
        folder = self.place / "fillers"
        if folder.exists():
            return folder
        folder.mkdir()
        source = (
            f'__attribute__((tls_model("initial-exec"))) __thread char taken[{ROOM}] = {{1}};\n'
            "char* take(void) { return taken; }\n"
        )
        (self.place / "filler.c").write_text(source)
        flags = ["-shared", "-fPIC", "-nostdlib"]
        subprocess.run([COMPILER, *flags, self.place / "filler.c", "-o", self.place / "filler.so"], check=True)
        for i in range(250):
            shutil.copy(self.place / "filler.so", folder / str(i))
        return folder

    def client(self, *arguments):
        ran = run(self.program, *arguments, env={**os.environ, "WARPAES_CALIBRATION": "none"})
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_copies_in_one_process(self):
        self.client("", LIBRARY, *self.copies(5))

    def test_copies_in_namespaces_of_their_own(self):
        self.client("", LIBRARY, f"+{LIBRARY}", f"+{LIBRARY}")

    def test_a_process_that_has_used_nearly_all_static_tls(self):
        self.client(self.fillers(), LIBRARY)

    def test_the_libraries_variables_are_few_and_small(self):
        headers = run("readelf", "-lWd", LIBRARY)
        self.assertEqual(headers.returncode, 0, headers.stderr)
        if "STATIC_TLS" not in headers.stdout:
            return
        (size,) = re.findall(r"^\s*TLS\s+(?:0x[0-9a-f]+\s+){4}(0x[0-9a-f]+)", headers.stdout, re.MULTILINE)
        self.assertLessEqual(int(size, 16), ROOM)


if __name__ == "__main__":
    unittest.main()
