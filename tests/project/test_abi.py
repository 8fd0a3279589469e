"""Tests that ABI 1 is stable: a client of its first version runs, and every change to the headers' functions and types
is detected.

python3 tests/project/test_abi.py --record     rewrites tests/abi/warpaes.abi after an addition
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
HEADERS = sorted((ROOT / "include/warpaes").glob("*.h"))
DUMP = ROOT / "tests/abi/warpaes.abi"
COMPILER = os.environ.get("CC") or "cc"


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **options)


def dump(to):
    """Describe the declared ABI by compiling a library of pointers to all functions. test_exports.py checks that the
    real library exports these functions."""
    text = "".join(path.read_text() for path in HEADERS)
    names = sorted(set(re.findall(r"^WARPAES_API [^;(]*?(warpaes_\w+)\(", text, re.MULTILINE)))
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "pointers.c", Path(folder) / "libpointers.so"
        # FILE belongs to the C library, so its fields are not recorded.
        lines = ["#define _STDIO_H 1", "typedef struct _IO_FILE FILE;"]
        lines += [f"#include <warpaes/{path.name}>" for path in HEADERS]
        source.write_text("\n".join(lines + [f"__typeof__({name})* pointer_to_{name} = {name};" for name in names]))
        subprocess.run(
            [COMPILER, "-g", "-shared", "-fPIC", "-I", ROOT / "include", source, "-o", library], check=True, cwd=folder
        )
        options = ["--no-show-locs", "--no-corpus-path", "--no-comp-dir-path", "--no-elf-needed"]
        text = run("abidw", *options, library, check=True).stdout
    Path(to).write_text(text.replace(folder, ""))


@unittest.skipIf(
    os.environ.get("WARPAES_SANITIZE"), "tests the library as it is installed; the default build runs this test"
)
class Abi(unittest.TestCase):
    def test_a_client_of_the_first_version_runs(self):
        library = Path(os.environ["WARPAES_LIBRARY"])
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "client"
            first = ROOT / "tests/abi/first"
            flags = ["-Wall", "-Wextra", "-Werror", "-I", first, f"-Wl,-rpath,{library.parent}"]
            built = run(COMPILER, *flags, first / "client.c", library, "-o", program)
            self.assertEqual(built.returncode, 0, built.stderr)
            ran = run(program, folder, env={**os.environ, "WARPAES_CALIBRATION": "none"})
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    @unittest.skipUnless(
        shutil.which("abidiff"), "abidiff is missing; a machine with Debian's package abigail-tools runs this test"
    )
    def test_types_and_functions_are_those_of_the_record(self):
        with tempfile.TemporaryDirectory() as folder:
            now = Path(folder) / "now.abi"
            dump(now)
            diff = run("abidiff", DUMP, now)
        self.assertEqual(
            diff.returncode,
            0,
            f"{diff.stdout}{diff.stderr}\nRecord an addition with {Path(__file__).name} --record. Any other change "
            "would break callers; docs/abi.md lists what may change.",
        )


if __name__ == "__main__":
    dump(DUMP) if sys.argv[1:] == ["--record"] else unittest.main()
