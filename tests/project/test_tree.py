"""Tests the repository's files: every program is run, every record is read, and every fuzzer has a corpus. The test
checks the files that git tracks, and is skipped in a tree without git.


"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "fuzz/corpus"), str(ROOT / "tools")]
import archives  # noqa: E402
import recording  # noqa: E402

RESULTS = "bench/results"
PAGES = ("bench/report.py", "bench/robustness.py")
#: Texts by other authors, and texts that are so long that they contain any word.
NO_TEXTS = ("tests/vectors/", RESULTS, "fuzz/corpus/", "docs/lab-", "CHANGELOG.md")


def tracked() -> list[str]:
    """Return the tracked files that exist."""
    git = shutil.which("git")
    done = subprocess.run([git or "false", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True, check=False)
    if done.returncode != 0 or not done.stdout:
        raise unittest.SkipTest("needs git and a checkout: an archive of the sources has no list of tracked files")
    return [name for name in done.stdout.rstrip("\0").split("\0") if (ROOT / name).exists()]


def not_named(files: list[str], texts: dict[str, str]) -> list[str]:
    """Return files whose names, with or without suffix, do not appear in any other file."""
    found = []
    for file in files:
        stem, suffix = os.path.splitext(os.path.basename(file))
        name = re.compile(rf"(?<![\w-]){re.escape(stem)}({re.escape(suffix)})?(?![\w-])")
        if not any(name.search(text) for other, text in texts.items() if other != file):
            found.append(file)
    return found


def kind_of(record: str) -> tuple[str, str]:
    """Return a record's folder, and its name without the date."""
    folder, name = os.path.split(record)
    return folder, re.sub(r"\d{4}-\d\d-\d\dT\d{6}Z\.json$", "", name)


class Programs(unittest.TestCase):
    def test_each_is_run_by_something(self):
        files = [name for name in tracked() if not name.startswith(NO_TEXTS)]
        texts = {name: (ROOT / name).read_text(errors="replace") for name in files}
        programs = [name for name in files if re.match(r"(tools|bench|\.ci|examples)/[^/]*$", name)]
        self.assertGreater(len(programs), 50)
        self.assertEqual(not_named(programs, texts), [], "nothing names these: no target, test, document or program")

    def test_a_program_that_nothing_names_is_found(self):
        texts = {"tools/a.py": "a", "tools/b.py": "import a", "docs/c.md": "not-b.py b_c"}
        self.assertEqual(not_named(["tools/a.py", "tools/b.py"], texts), ["tools/b.py"])


class Records(unittest.TestCase):
    def test_each_is_the_newest_of_its_kind_or_read_by_a_page(self):
        records = [name for name in tracked() if name.startswith(RESULTS) and name.endswith(".json")]
        newest: dict[tuple[str, str], str] = {}
        for record in sorted(records):
            newest[kind_of(record)] = record
        older = [record for record in records if record != newest[kind_of(record)]]
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder)
            for name in ("bench", "docs", "tools", "lab"):
                shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
            shutil.copy(ROOT / "README.md", copy)
            self.assertTrue(self.pages_agree(copy), "run `make docs`")
            for record in older:
                path = copy / record
                content = path.read_bytes()
                path.unlink()
                self.assertFalse(self.pages_agree(copy), f"{record}: a newer record replaces it; delete it")
                path.write_bytes(content)

    def test_each_has_a_line_for_each_row(self):
        for name in tracked():
            if name.startswith(RESULTS) and name.endswith(".json"):
                text = (ROOT / name).read_text()
                self.assertEqual(text, recording.text_of(json.loads(text)) + "\n", f"run `tools/recording.py {name}`")

    @staticmethod
    def pages_agree(root: Path) -> bool:
        runs = [[sys.executable, "-B", root / page, "--check"] for page in PAGES]
        return all(subprocess.run(run, capture_output=True, check=False).returncode == 0 for run in runs)


class Corpora(unittest.TestCase):
    def test_every_fuzzer_has_one(self):
        text = (ROOT / "fuzz/CMakeLists.txt").read_text()
        named = re.findall(r"^ *warpaes_fuzz(?:_file)?_target\((\w+)", text, re.MULTILINE)
        self.assertEqual(sorted(named), archives.targets())
        for target in named:
            self.assertGreater(len(archives.read(target)), 20, target)

    def test_the_same_inputs_give_the_same_archive(self):
        with tempfile.TemporaryDirectory() as folder:
            here, archives.HERE = archives.HERE, Path(folder)
            try:
                archives.write("some", {"b": b"\0\1", "a": b""})
                first = (archives.HERE / "some.tar.xz").read_bytes()
                archives.write("some", {"a": b"", "b": b"\0\1"})
                self.assertEqual((archives.HERE / "some.tar.xz").read_bytes(), first)
                self.assertEqual(archives.read("some"), {"a": b"", "b": b"\0\1"})
                self.assertEqual((archives.unpack("some", archives.HERE / "out") / "b").read_bytes(), b"\0\1")
            finally:
                archives.HERE = here


class Attributes(unittest.TestCase):
    def test_each_pattern_is_of_tracked_files(self):
        files = tracked()
        for line in (ROOT / ".gitattributes").read_text().splitlines():
            if line and not line.startswith("#"):
                pattern = line.split()[0]
                expression = re.escape(pattern).replace(r"\*\*", ".*").replace(r"\*", "[^/]*")
                if "/" not in pattern:
                    expression = f"(.*/)?{expression}"
                self.assertTrue(any(re.fullmatch(expression, name) for name in files), line)


if __name__ == "__main__":
    unittest.main()
