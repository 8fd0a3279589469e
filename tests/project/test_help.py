"""Tests that every program in tools/ describes itself with --help and has no other effect."""

import importlib.util
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Packages that a program imports before it parses its options, and that the test's interpreter may lack.
NEEDS = {
    "bulk_bench.py": ["warpaes"],
    "generator_bench.py": ["torch", "warpaes"],
    "parquet_bench.py": ["numpy", "pyarrow", "warpaes"],
    "python_bench.py": ["numpy", "cryptography", "warpaes"],
    "serving_bench.py": ["numpy", "torch", "warpaes"],
    "torch_bench.py": ["torch", "warpaes"],
}
#: Matches an option or argument in argparse's list that has no description: the next line is not indented further.
UNDESCRIBED = re.compile(r"^  (\S+(?: [^ ]+)*)\n(?! {4})", re.MULTILINE)


def programs() -> list[Path]:
    found = []
    for path in sorted((ROOT / "tools").iterdir()):
        if path.is_file() and (path.suffix != ".py" or '__name__ == "__main__"' in path.read_text()):
            found.append(path)
    return found


class Help(unittest.TestCase):
    def shown(self, path: Path) -> str:
        python = [sys.executable, "-B"] if path.suffix == ".py" else []
        done = subprocess.run(
            [*python, path, "--help"], capture_output=True, text=True, check=False, timeout=60, stdin=subprocess.DEVNULL
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_every_program_describes_itself_and_its_options(self):
        found = programs()
        self.assertGreater(len(found), 30)
        for path in found:
            with self.subTest(program=path.name):
                missing = [name for name in NEEDS.get(path.name, []) if importlib.util.find_spec(name) is None]
                if missing:
                    self.assertIn("argparse", path.read_text())
                    continue
                text = self.shown(path)
                if path.suffix == ".py":
                    usage, description, *_ = text.split("\n\n")
                    self.assertTrue(usage.startswith(f"usage: {path.name} "))
                    lists = re.split(r"^(?:options|positional arguments):\n", text, flags=re.MULTILINE)[1:]
                    self.assertEqual([hit for part in lists for hit in UNDESCRIBED.findall(part)], [])
                else:
                    description = text
                    self.assertIn(f"\n  tools/{path.name}", re.sub(r"^  .*(?=tools/)", "  ", text, flags=re.MULTILINE))
                self.assertRegex(description, r"\A[A-Z][a-z-]+s ", "begins with a verb")

    def test_an_option_without_a_description_is_found(self):
        text = "  FILE\n  --none NONE\n  --long-name LONG\n                        text\n  --last  text\n"
        self.assertEqual(UNDESCRIBED.findall(text), ["FILE", "--none NONE"])


if __name__ == "__main__":
    unittest.main()
