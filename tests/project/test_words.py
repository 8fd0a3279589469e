"""The number of phrasings that plain technical English avoids does not rise (tools/words.py)."""

import json
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import words  # noqa: E402


class Words(unittest.TestCase):
    def test_no_pool_exceeds_its_budget(self):
        if not (ROOT / ".git").exists():
            self.skipTest("needs git and a checkout: an archive of the sources does not list its files")
        budgets = json.loads(words.BUDGETS.read_text())
        self.assertEqual(sorted(budgets), sorted(name for name, _ in words.POOLS))
        for pool, count in words.counts(words.everything([])).items():
            with self.subTest(pool):
                self.assertLessEqual(count, budgets[pool], "rewrite new phrasings that `tools/words.py` lists")

    def test_budgets_only_fall(self):
        budgets = {name: 10 for name, _ in words.POOLS}
        lowered = words.lowered(budgets, {"docs": 12, "tests": 4})
        self.assertEqual((lowered["docs"], lowered["tests"], lowered["python"]), (10, 4, 0))

    def test_each_kind_is_found(self):
        bad = {
            "noun clause": "Return the size of what is pending.",
            "whoever": "It belongs to whoever opened it.",
            "speaking things": "The header says which key it needs.",
            "behind, beside": "The tag lies behind the text.",
            "is no": "A seed is no key.",
            "alone": "This is for the CPU alone.",
            "of which": "A file, of which a part is read.",
            "old words": "The page is made anew.",
            "trailing too": "It works on GPUs, too.",
            "fronted": "Of several keys the first encrypts.",
        }
        self.assertEqual(sorted(bad), sorted(words.KINDS))
        for kind, sentence in bad.items():
            with self.subTest(kind):
                self.assertIn(kind, [found for _, found, _ in words.hits_in("a.py", f"# {sentence}\n")])

    def test_plain_sentences_are_not_found(self):
        for sentence in (
            "What is a keyset?",
            "There is no limit.",
            "It leaves them alone.",
            "The result is no longer needed.",
            "Which keys open the file?",
        ):
            self.assertEqual(words.hits_in("a.py", f"# {sentence}\n"), [], sentence)

    def test_texts_of_each_kind_of_file(self):
        bad = "made anew"
        for name, text, line in (
            ("cli/a.cpp", f'int a;\n// One line,\n// {bad}.\nsay("is {bad} here");\n', 2),
            ("src/a.hpp", f"int a;\n/** The text\n * is {bad}. */\n", 2),
            ("a.py", f'x = 1\n"""It is\n{bad}."""\n', 2),
            ("CMakeLists.txt", f"x()\n# It is {bad}.\n", 2),
            ("docs/a.md", f"# A\n\n- It is\n  {bad}.\n", 3),
        ):
            with self.subTest(name):
                self.assertEqual(words.hits_in(name, text)[0][:2], (line, "old words"))
        self.assertEqual(words.hits_in("docs/a.md", f"```sh\n{bad}\n```\n"), [])
        self.assertEqual(words.hits_in("src/a.cpp", f'const char* text = "is {bad} here";\n'), [])


class Subjects(unittest.TestCase):
    """The newest commits have subjects as CONTRIBUTING.md describes."""

    def test_newest_commits(self):
        listed = subprocess.run(
            ["git", "-C", ROOT, "log", "--no-merges", "-n", "5", "--format=%s"], capture_output=True, text=True
        )
        if listed.returncode != 0 or not listed.stdout:
            self.skipTest("needs git and a checkout")
        for subject in listed.stdout.splitlines():
            with self.subTest(subject):
                self.assertLessEqual(len(subject), 72)
                self.assertRegex(subject, r"^[a-z]+(?:, [a-z]+)*: [a-z]")
                self.assertEqual(words.faults_of_subject(subject), [], "reword the subject (CONTRIBUTING.md)")

    def test_each_kind_of_bad_subject_is_found(self):
        bad = {
            "let": "tests: let the storage adversary meet its own nested JSON",
            "noun clause": "bulk: check what was opened",
            "metaphor": "engine: ask CUDA less often in an asynchronous call",
            "no object": "models: copy no file in clear that a link leads to",
            "old words": "docs: measure the page anew, beside two quick runs",
            "no verb": "tests: encrypted names of the command",
            "two changes": "engine: run messages in one place; rename tasks",
        }
        self.assertEqual(sorted(bad), sorted(words.SUBJECT_KINDS))
        for kind, subject in bad.items():
            with self.subTest(kind):
                found = words.faults_of_subject(subject)
                self.assertIn(kind, [fault.partition(":")[0] for fault in found])

    def test_plain_subjects_are_not_found(self):
        for subject in (
            "cpu: keep masked accesses off unmapped pages",
            "bulk: encrypt the names of a dataset's objects",
            "python: embed the version in the extension",
            "tests: check the adversary's nested JSON",
            "cuda: compute E(J0) after the text, and load a block ahead",
        ):
            self.assertEqual(words.faults_of_subject(subject), [], subject)


if __name__ == "__main__":
    sys.exit(unittest.main())
