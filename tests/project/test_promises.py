"""Tests that every promise in the headers has tests, which tests/abi/promises.txt lists.

A sentence of a comment in include/warpaes/*.h and *.hpp is a promise if it contains one of the words of PROMISE, which
describe what a call returns, refuses, throws, wipes, keeps or never does. The list contains the sentences of each
header in order. Below each sentence are the tests that fail if the sentence is false (Suite.Name for GoogleTest,
file.py:name for Python, ctest:name for other programs), or "none: " and the reason.

python3 tests/project/test_promises.py --record     adds and removes sentences after a header changes
"""

import difflib
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADERS = sorted([*(ROOT / "include/warpaes").glob("*.h"), *(ROOT / "include/warpaes").glob("*.hpp")])
LIST = ROOT / "tests/abi/promises.txt"
PROMISE = re.compile(
    r"\b(refused?|refuses|WARPAES_ERROR_\w+|returns?|throws?|never|wiped?|wipes|thread-safe|may be NULL|NULL is allowed"
    r"|ignored?|ignores|accepts?|accepted|fails?|cannot|frees|valid until|lives? as long|stays?|compares?|at once|no"
    r"|writes nothing|nothing (?:is|of)|neither|zeroed|copied|succeeds|is const|in order|exactly|constant[- ]time"
    r"|same time|stable)\b",
    re.IGNORECASE,
)
NONE = "none: "


def comments(text: str) -> list[list[str]]:
    """Return the lines of each comment without comment marks."""
    found = []
    for match in re.finditer(r"/\*.*?\*/|(?:^[ \t]*//[^\n]*\n)+|//[^\n]*", text, re.DOTALL | re.MULTILINE):
        lines = match[0].removesuffix("*/").splitlines()
        found.append([re.sub(r"^\s*(?:/\*+<?|//+<?|\*+<?)\s?", "", line).strip() for line in lines])
    return found


def sentences(text: str) -> list[str]:
    """Return the sentences in all comments. Paragraphs end at empty lines and at list items."""
    found = []
    for lines in comments(text):
        paragraphs = [""]
        for line in lines:
            if not line or line.startswith(("- ", "-----")):
                paragraphs.append("")
            if not line.startswith("-----"):
                paragraphs[-1] += " " + line.removeprefix("- ")
        for paragraph in paragraphs:
            found += re.split(r"(?<=[.!?])\)?\s+(?=[A-Z`\"'(])", re.sub(r"\s+", " ", paragraph).strip())
    return [sentence for sentence in found if len(sentence.split()) > 1]


def promises(header: Path) -> list[str]:
    return [sentence for sentence in sentences(header.read_text()) if PROMISE.search(sentence)]


def listed() -> dict[str, list[tuple[str, str]]]:
    """Return each header's sentences and the tests listed below them."""
    found: dict[str, list[tuple[str, str]]] = {}
    now: list[tuple[str, str]] = []
    for line in LIST.read_text().splitlines():
        if line.startswith("== "):
            now = found.setdefault(line.removeprefix("== "), [])
        elif line.startswith("    "):
            now[-1] = (now[-1][0], f"{now[-1][1]} {line.strip()}".strip())
        elif line and not line.startswith("#"):
            now.append((line, ""))
    return found


def known_tests() -> set[str]:
    found = set()
    for path in (ROOT / "tests").rglob("*"):
        if path.suffix in (".cpp", ".cu"):
            pairs = re.findall(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", path.read_text(), re.MULTILINE)
            found |= {f"{suite}.{name}" for suite, name in pairs}
        elif path.name.startswith("test_") and path.suffix == ".py":
            found |= {f"{path.name}:{name}" for name in re.findall(r"def (test_\w+)\(", path.read_text())}
        elif path.name == "CMakeLists.txt":
            found |= {f"ctest:{name}" for name in re.findall(r"add_test\(\s*NAME ([\w.]+\w)", path.read_text())}
    return found


def record() -> None:
    """Rewrite the list and keep the tests of each sentence."""
    known: dict[tuple[str, str], list[str]] = {}
    for header, entries in (listed() if LIST.exists() else {}).items():
        for sentence, tests in entries:
            known.setdefault((header, sentence), []).append(tests)
    lines = [line for line in LIST.read_text().splitlines() if line.startswith("#")] if LIST.exists() else []
    for header in HEADERS:
        lines += ["", f"== {header.name}"]
        for sentence in promises(header):
            tests = known.get((header.name, sentence), [])
            lines += [sentence, "    " + (tests.pop(0) if tests else "")]
    LIST.write_text("\n".join(lines) + "\n")


class Promises(unittest.TestCase):
    maxDiff = None

    def test_the_list_has_the_promises_of_the_headers(self):
        there = listed()
        self.assertEqual(sorted(there), sorted(header.name for header in HEADERS))
        for header in HEADERS:
            now, before = promises(header), [sentence for sentence, _ in there[header.name]]
            difference = "\n".join(difflib.unified_diff(before, now, LIST.name, header.name, lineterm="", n=0))
            self.assertEqual(difference, "", f"{Path(__file__).name} --record, and name the tests of new sentences")
        self.assertGreater(sum(len(entries) for entries in there.values()), 250)

    def test_every_promise_has_tests_that_exist(self):
        known = known_tests()
        for header, entries in listed().items():
            for sentence, tests in entries:
                with self.subTest(header=header, sentence=sentence):
                    if tests.startswith(NONE):
                        self.assertGreater(len(tests), len(NONE) + 10, "without a reason")
                        continue
                    self.assertNotEqual(tests, "", "no test is named")
                    self.assertEqual([name for name in tests.split() if name not in known], [])

    def test_the_library_neither_prints_nor_exits(self):
        calls = re.compile(
            r"\b(?:f?printf|f?puts|putchar|perror|_?exit|_Exit|quick_exit|abort|terminate)\s*\(|\bstd::(?:cout|cerr|clog)\b"
        )
        for path in sorted((ROOT / "src").rglob("*")):
            if path.suffix in (".cpp", ".hpp", ".cu", ".cuh"):
                found = [line for line in path.read_text().splitlines() if calls.search(line.split("//")[0])]
                self.assertEqual(found, [], path.relative_to(ROOT))

    def test_a_few_sentences_are_read_as_they_stand(self):
        text = (
            "/* Rules:\n *  - A call returns. No\n *    more (in `x`). It is so.\n */\n"
            "int a; /**< Wiped when\n            destroyed. */\n/// Throws Error. May be\n/// NULL.\n// ----- no rule\n"
        )
        self.assertEqual(
            [sentence for sentence in sentences(text) if PROMISE.search(sentence)],
            ["A call returns.", "No more (in `x`).", "Wiped when destroyed.", "Throws Error.", "May be NULL."],
        )


if __name__ == "__main__":
    record() if sys.argv[1:] == ["--record"] else unittest.main()
