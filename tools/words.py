#!/usr/bin/env python3
"""Counts phrasings that plain technical English avoids, in comments, docstrings, help texts, messages and pages.

    tools/words.py docs tools    lists them with their lines and kinds (default: all files)
    tools/words.py --count       counts them by pool and kind
    tools/words.py --record      lowers the budgets of tests/project/words.json to the counts; budgets never rise
    tools/words.py --subjects    lists them in the subjects of the newest 150 commits

The rules are patterns, so they miss most bad sentences and flag some good ones. A pool's budget is its number of
remaining hits. project.words fails if a pool exceeds its budget, or if one of the newest subjects has a hit.
"""

from __future__ import annotations

import argparse
import collections
import io
import json
import re
import subprocess
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUDGETS = ROOT / "tests/project/words.json"
#: Each kind: a pattern, and the usual repair.
THINGS = (
    "file page header table record test keyset manifest program library command machine kernel format name object "
    "system compiler device GPU message comment docstring text list"
).replace(" ", "|")
KINDS = {
    "noun clause": (
        r"(?<![.?!:] )(?<!^)\bwhat (?:is|was|are|were|has|had|have|can|could|needs|lies|remains|stands|follows|"
        r"it|they|he|she|one)\b(?![^.]*\?)",
        "name the thing: pending rows, available backends",
    ),
    "whoever": (r"\b(?:whoever|whomever|somebody|nobody|one's|another's)\b", "anyone who; the caller; another process"),
    "speaking things": (
        rf"\b(?:{THINGS})s? (?:says?|knows?|tells?|wants?|asks?)\b",
        "names, contains, reports, returns, does not support",
    ),
    "behind, beside": (r"\b(?:behind|besides?)\b", "past, after, next to, compared with, in addition"),
    "is no": (
        r"(?<!there )(?<!There )\b(?:is|are|was|were|be) (?:no (?!longer|more|less|faster|slower|worse|better|larger|"
        r"need|such|other|way|reason|difference)|none\b)",
        "is not a, are not",
    ),
    "alone": (r"(?<!left)(?<!leave)(?<!it)(?<!them)(?<!stand)(?<!stands) alone\b", "only"),
    "of which": (r"\b(?:of|to|in|by|from|under|over|on) which\b(?![^.]*\?)", "two sentences"),
    "old words": (
        r"\b(?:anew|as ever|now and then|once more|meanwhile|likewise|thereof|thereby|whilst)\b",
        "again; leave out",
    ),
    "trailing too": (r"(?:, too|\btoo)(?=[.;:)])", "also, before the verb"),
    "fronted": (
        r"(?:^|[.:;] )(?:Of (?:a|an|the|several|these|those|all|each|many|two)\b|From [^.,]{3,40} on,)",
        "subject first",
    ),
}
PATTERNS = {kind: re.compile(pattern) for kind, (pattern, _) in KINDS.items()}
#: The same for subjects of commits, which begin with an area and a verb in the imperative (CONTRIBUTING.md).
SUBJECT_KINDS = {
    "let": (r"^[^:]*: let\b", "state the change: allow, support, decrypt"),
    "noun clause": (r"\b(?:what(?:ever)?|whoever|whichever|nobody|somebody)\b", "name the thing"),
    "metaphor": (
        r"^[^:]*: (?:mend|hold|meet|give|bring|want|say|tell|ask|know|play|go|have|leave)\b"
        r"|\b(?:says?|said|knows?|wants?|tells?|asks?|meets?)\b",
        "the field's verb: fix, accept, pass, report, describe, skip",
    ),
    "no object": (r"^[^:]*: \w+ no\b|, (?:and )?(?:\w+ )no \w+$", "do not, stop, without"),
    "old words": (
        r"\b(?:anew|besides?|behind|meanwhile|likewise|alone|too|mend(?:s|ed)?|of (?:its|their) own|by itself|"
        r"as (?:it is|they are))\b",
        "again, compared with, after, only, also, separate",
    ),
    "no verb": (
        r"^[^:]*: (?:an?|the|new|better|simpler|more|less|fewer|some|all|(?!embed|feed|seed|need|exceed)\w+ed|"
        r"(?!bring|ping|string)\w+ing)\b",
        "begin with a verb in the imperative",
    ),
    "two changes": (r";|\. ", "make a commit for each"),
}
SUBJECT_PATTERNS = {kind: re.compile(pattern) for kind, (pattern, _) in SUBJECT_KINDS.items()}
C_SUFFIXES = (".c", ".h", ".cpp", ".hpp", ".cu", ".cuh")
#: Pools by the beginning of the path; the first that fits.
POOLS = (
    ("docs", r"(docs/.*|README|SECURITY|CONTRIBUTING|examples/README)\.?.*\.md$|README\.md$"),
    ("changelog", r"CHANGELOG\.md$"),
    ("help and messages", r"cli/"),
    ("python", r"python/"),
    ("tests", r"(tests|fuzz)/"),
    ("tools", r"(tools|bench|cmake|\.ci|examples|packaging|\.github)/|CMakeLists\.txt$|Makefile$"),
    ("library", r"(src|include|provider|lab)/"),
)
#: Generated, quoted or foreign texts, and this file.
NOT_OURS = re.compile(
    r"tests/vectors/|bench/results/|fuzz/corpus/|licenses/|docs/lab-.*\.html|\.svg$|lab/claims/statements/"
    r"|tests/abi/first/|tests/project/words\.json|tools/words\.py|tests/project/test_words\.py|docs/performance\.md"
    r"|docs/lab\.md|docs/robustness\.md|docs/lab-profile\.md"
)


def blocks_of_c(text: str, strings: bool) -> list[tuple[int, str]]:
    """Return the comments, with consecutive lines joined, and, if `strings` is true, string literals of several
    words."""
    found: list[tuple[int, str]] = []
    last = -1
    pattern = re.compile(r'//[/!]?<? ?([^\n]*)|/\*(.*?)\*/|"((?:[^"\\\n]|\\.)*)"|\'(?:[^\'\\\n]|\\.)\'', re.DOTALL)
    for match in pattern.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match[1] is not None:
            if found and last == line - 1:
                found[-1] = (found[-1][0], f"{found[-1][1]} {match[1].strip()}")
            else:
                found.append((line, match[1].strip()))
            last = line
        elif match[2] is not None:
            found.append((line, re.sub(r"\s*\n\s*\*? ?", " ", match[2]).strip()))
        elif strings and match[3] is not None and match[3].count(" ") > 1:
            found.append((line, match[3].replace("\\n", " ")))
    return found


def blocks_of_python(text: str) -> list[tuple[int, str]]:
    """Return comments, docstrings, and other strings of several words."""
    found: list[tuple[int, str]] = []
    last = -1
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            line = token.start[0]
            if token.type == tokenize.COMMENT:
                said = token.string.lstrip("#: ").strip()
                if found and last == line - 1:
                    found[-1] = (found[-1][0], f"{found[-1][1]} {said}")
                else:
                    found.append((line, said))
                last = line
            elif token.type == tokenize.STRING and token.string.count(" ") > 1:
                found.append((line, " ".join(token.string.strip("rbfu\"'").split())))
    except (tokenize.TokenError, SyntaxError):
        pass
    return found


def blocks_of_lines(text: str) -> list[tuple[int, str]]:
    """Return comments that begin with #, as in shells, CMake, make and YAML. A comment after code is separate."""
    found: list[tuple[int, str]] = []
    last = -1
    for line, content in enumerate(text.splitlines(), 1):
        match = re.match(r"(.*?)(?:^|\s)#+ ?(?!!)(.*)$", content)
        if not match:
            continue
        if not match[1].strip() and found and last == line - 1:
            found[-1] = (found[-1][0], f"{found[-1][1]} {match[2].strip()}")
        else:
            found.append((line, match[2].strip()))
        last = line if not match[1].strip() else -1
    return found


def blocks_of_page(text: str) -> list[tuple[int, str]]:
    """Return paragraphs, list items and table rows outside code."""
    text = re.sub(r"^(```|~~~).*?^\1$", lambda m: "\n" * m[0].count("\n"), text, flags=re.MULTILINE | re.DOTALL)
    found, start, lines = [], 0, []
    for line, content in enumerate([*text.splitlines(), ""], 1):
        begins = not content.strip() or re.match(r"\s*(?:[-*] |\d+\. |\||#)", content)
        if begins and lines:
            found.append((start, " ".join(lines)))
            lines = []
        if content.strip():
            start = start if lines else line
            lines.append(re.sub(r"`[^`]*`", "`x`", content.strip()))
    return found


def blocks(path: str, text: str) -> list[tuple[int, str]]:
    """Return the texts of a file, each with the line where it begins."""
    if path.endswith(C_SUFFIXES):
        return blocks_of_c(text, path.startswith("cli/"))
    if path.endswith((".py", ".pyi")):
        return blocks_of_python(text)
    if path.endswith(".md"):
        return blocks_of_page(text)
    if path.endswith((".cmake", "CMakeLists.txt", "Makefile", ".yml", ".yaml", ".toml")) or text.startswith("#!"):
        return blocks_of_lines(text)
    return []


def pool_of(path: str) -> str | None:
    return next((name for name, pattern in POOLS if re.match(pattern, path)), None)


def hits_in(path: str, text: str) -> list[tuple[int, str, str]]:
    """Return the line, the kind and the surrounding words of each hit."""
    found = []
    for line, block in blocks(path, text):
        for kind, pattern in PATTERNS.items():
            for match in pattern.finditer(block):
                around = block[max(0, match.start() - 60) : match.end() + 60]
                found.append((line, kind, around))
    return found


def faults_of_subject(subject: str) -> list[str]:
    """Return the kinds of bad phrasing in a commit's subject, each with its usual repair."""
    return [
        f"{kind}: {SUBJECT_KINDS[kind][1]}" for kind, pattern in SUBJECT_PATTERNS.items() if pattern.search(subject)
    ]


def tracked() -> list[str]:
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True, check=True).stdout
    names = [name for name in listed.rstrip("\0").split("\0") if not NOT_OURS.search(name) and (ROOT / name).is_file()]
    return [name for name in names if pool_of(name)]


def everything(paths: list[str]) -> list[tuple[str, int, str, str]]:
    found = []
    for name in tracked():
        if not paths or name.startswith(tuple(paths)):
            text = (ROOT / name).read_text(errors="replace")
            found += [(name, *hit) for hit in hits_in(name, text)]
    return found


def counts(found: list[tuple[str, int, str, str]]) -> dict[str, int]:
    return dict(sorted(collections.Counter(str(pool_of(path)) for path, _, _, _ in found).items()))


def lowered(budgets: dict[str, int], counted: dict[str, int]) -> dict[str, int]:
    """Return the smaller of budget and count for each pool, or the count for a pool without a budget."""
    return {pool: min(counted.get(pool, 0), budgets.get(pool, counted.get(pool, 0))) for pool, _ in POOLS}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", metavar="PATH", help="only files whose paths start with PATH")
    parser.add_argument("--count", action="store_true", help="print counts by pool and kind")
    parser.add_argument("--record", action="store_true", help="lower the budgets to the counts")
    parser.add_argument("--subjects", action="store_true", help="check the subjects of commits")
    arguments = parser.parse_args()
    if arguments.subjects:
        log = subprocess.run(
            ["git", "-C", ROOT, "log", "--no-merges", "-n", "150", "--format=%s"],
            capture_output=True,
            text=True,
            check=True,
        )
        for subject in log.stdout.splitlines():
            if faults := faults_of_subject(subject):
                print(f"{subject}\n    {'; '.join(faults)}")
        return 0
    found = everything(arguments.paths)
    if arguments.record:
        budgets = json.loads(BUDGETS.read_text()) if BUDGETS.exists() else {}
        BUDGETS.write_text(json.dumps(lowered(budgets, counts(everything([]))), indent=2) + "\n")
        return 0
    if arguments.count:
        table = collections.Counter((str(pool_of(path)), kind) for path, _, kind, _ in found)
        for (pool, kind), number in sorted(table.items()):
            print(f"{pool:<18} {kind:<16} {number:>5}")
        print(counts(found))
        return 0
    for path, line, kind, around in found:
        print(f"{path}:{line}: {kind}: {around}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
