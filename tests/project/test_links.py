"""Tests that links between documents are valid, on GitHub and in the site, and that the site contains every page and
declaration."""

import posixpath
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/site"))
import headers  # noqa: E402

INCLUDE = ROOT / "include/warpaes"
CODE = re.compile(r"^(```|~~~).*?^\1$|^(?: {4}|\t).*$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")  # the text of a link may span lines


def documents():
    return [ROOT / "README.md", *ROOT.glob("[A-Z]*.md"), *ROOT.glob("docs/*.md"), ROOT / "examples/README.md"]


def without_code(text):
    return re.sub(r"^(?:```|~~~).*?^(?:```|~~~)$", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(path):
    """Return the anchors of a document's headings, as GitHub generates them."""
    found = set()
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", without_code(path.read_text()), re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        number, name = 0, slug
        while name in found:
            number += 1
            name = f"{slug}-{number}"
        found.add(name)
    return found


class Links(unittest.TestCase):
    def test_lead_somewhere(self):
        tracked = set(subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.splitlines())
        seen = 0
        for path in documents():
            for link in LINK.findall(without_code(path.read_text())):
                if re.match(r"[a-z]+:", link):
                    continue
                seen += 1
                name, _, anchor = link.partition("#")
                target = (path.parent / name).resolve() if name else path
                with self.subTest(path=path.name, link=link):
                    self.assertTrue(target.is_file(), "there is no such file, or it is a folder")
                    if tracked:
                        self.assertIn(str(target.relative_to(ROOT)), tracked)
                    if anchor:
                        self.assertIn(anchor, anchors(target))
        self.assertGreater(seen, 50)

    def test_none_is_absolute(self):
        for path in documents():
            for link in LINK.findall(without_code(path.read_text())):
                self.assertNotRegex(link, r"^/|^https?://github\.com/[^/]+/warpaes", path.name)


class Site(unittest.TestCase):
    def test_every_page_has_its_place(self):
        config = (ROOT / "mkdocs.yml").read_text()
        placed = re.findall(r"^\s+- (?:.+: )?([\w/-]+\.md)$", config, re.MULTILINE)
        self.assertEqual(len(placed), len(set(placed)))
        for path in (ROOT / "docs").glob("*.md"):
            self.assertIn(path.name, placed)

    def test_reference_has_every_declaration(self):
        pages = headers.pages(INCLUDE)
        self.assertEqual(
            set(pages), {str(path.relative_to(INCLUDE)) for path in INCLUDE.rglob("*.*") if path.suffix != ".md"}
        )
        functions = 0
        for name in (path.name for path in INCLUDE.glob("*.h")):
            source = (INCLUDE / name).read_text()
            declared = set(re.findall(r"WARPAES_API [^;(]*?\b(warpaes_\w+)\(", source))
            declared |= set(re.findall(r"^} (warpaes_\w+);", source, re.MULTILINE))
            declared |= set(re.findall(r"^#define (WARPAES_\w+_INIT)\b", source, re.MULTILINE))
            functions += len(declared)
            for symbol in declared:
                self.assertIn(f"## `{symbol}` {{ #{symbol} }}", pages[name])
        self.assertGreater(functions, 100)
        for name in ("warpaes.hpp", "batch.hpp", "streams.hpp", "gcm.hpp", "drbg.hpp", "numbers.hpp"):
            for symbol in re.findall(r"^(?:class|struct) (\w+)[^;]*\{", (INCLUDE / name).read_text(), re.MULTILINE):
                if symbol not in ("Calls", "Free", "Caller", "StreamClose"):  # these are in the namespace detail
                    self.assertIn(f"## `{symbol}`", pages[name])

    def test_reference_shows_nothing_private_and_no_bodies(self):
        pages = headers.pages(INCLUDE)
        for name, page in pages.items():
            self.assertNotIn("WARPAES_API ", page, name)
            for code in re.findall(r"^```cpp\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
                self.assertEqual(code.count("{"), code.count("}"), (name, code))
                self.assertNotRegex(code, r"\bprivate:|\bnamespace detail\b")
        for name in ("warpaes.hpp", "batch.hpp", "streams.hpp", "gcm.hpp"):
            self.assertNotRegex(pages[name], r"\breturn \w", name)

    def test_reference_links_to_what_is_there(self):
        pages = headers.pages(INCLUDE)
        count = 0
        for name, page in pages.items():
            for link in LINK.findall(without_code(page)):
                where, _, anchor = link.partition("#")
                target = posixpath.normpath(posixpath.join(posixpath.dirname(name), where)).removesuffix(".md")
                self.assertIn(f"{{ #{anchor} }}", pages[target])
                count += 1
        self.assertGreater(count, 15)

    def test_comments_become_markdown(self):
        text = "Rules:\n - a *b* `c * d` of warpaes_x\n   goes on\n - <e>\n\n  code [1]\n\nEnd."
        wanted = (
            "Rules:\n\n- a \\*b\\* `c * d` of [warpaes_x](p.md#x)\n    goes on\n- &lt;e>\n\n"
            "```cpp\ncode [1]\n```\n\nEnd."
        )
        self.assertEqual(headers.prose(text, {"warpaes_x": "p.md#x"}), wanted)


if __name__ == "__main__":
    unittest.main()
