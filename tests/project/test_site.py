"""Tests the site that `make site` builds in a headless browser, on a phone and a desktop, light and dark. Without the
site or Chromium, the tests are skipped. If $SCREENSHOTS names a folder, pictures are stored there.
"""

import functools
import http.server
import os
import re
import sys
import threading
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "build/site"
sys.path.insert(0, str(ROOT / "tests/lab"))
import browser  # noqa: E402

PAGES = ("index.html", "tutorial.html", "performance.html", "limits.html", "python.html")
TABS = ("Files", "Library", "Python and GPUs", "Servers", "Data", "Lab and speed", "Trust", "Reference", "Contribute")
#: axe-core, an accessibility checker that `tools/setup site` installs.
AXE = next(ROOT.glob(".venv/site/lib/python3*/site-packages/axe_core_python/axe.min.js"), None)
#: axe-core rules that the theme's own navigation violates, because two landmarks have the same name.
ALLOWED = {"landmark-unique"}
#: The maximum height of the performance page in pixels on a desktop, where its tables are folded.
MAX_HEIGHT = 14000

#: Returns the colours of visible texts and of the nearest opaque backgrounds.
SCRIPT = """(() => {
  const opaque = c => { const m = c.match(/[\\d.]+/g); return m && (m.length < 4 || m[3] == 1); };
  const under = e => { for (; e; e = e.parentElement) {
    const c = getComputedStyle(e).backgroundColor; if (opaque(c)) return c; } return "rgb(255, 255, 255)"; };
  const texts = [...document.querySelectorAll(".md-content p, .md-content li, .md-content td, .md-content h1")];
  return {
    lang: document.documentElement.lang,
    title: document.title,
    headings: document.querySelectorAll("h1").length,
    nameless: [...document.querySelectorAll("img")].filter(i => !i.hasAttribute("alt") || !i.alt).length,
    unnamed: [...document.querySelectorAll(".md-content a")].filter(a => !a.textContent.trim() && !a.title).length,
    broken: [...document.querySelectorAll("img")].filter(i => i.complete && !i.naturalWidth).map(i => i.src),
    width: document.documentElement.scrollWidth,
    height: document.documentElement.scrollHeight,
    tabs: [...document.querySelectorAll(".md-tabs__link")].map(a => a.textContent.trim()),
    toggles: document.querySelectorAll("[data-md-component=palette] input").length,
    footer: (document.querySelector(".md-copyright") || {}).textContent || "",
    colours: texts.filter(t => t.offsetParent).slice(0, 400).map(t =>
      [t.textContent.slice(0, 40), getComputedStyle(t).color, under(t)]),
  };
})()"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Page(str):
    """An address for Browser.open, which expects a path."""

    def resolve(self):
        return self

    def as_uri(self):
        return str(self)


@unittest.skipUnless((SITE / "index.html").exists(), "needs the site; `make site` builds it, as CI does")
class Files(unittest.TestCase):
    def test_search_has_no_sources(self):
        index = (SITE / "search/search_index.json").read_text()
        self.assertIn('"location":"tutorial.html', index)
        for text in ("source/tests/", "source/licenses/", "source/src/"):
            self.assertNotIn(f'"location":"{text}', index)

    def test_pages_name_the_social_card(self):
        for name in PAGES:
            text = (SITE / name).read_text()
            self.assertRegex(text, r'<meta property="og:image" content="https://[^"]+/social-card\.png">', name)
            self.assertEqual(text.count('property="og:title"'), 1, name)
        card = (SITE / "social-card.png").read_bytes()
        self.assertEqual(card[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual((int.from_bytes(card[16:20], "big"), int.from_bytes(card[20:24], "big")), (1200, 630))

    def test_nothing_is_fetched_from_other_hosts(self):
        text = (SITE / "index.html").read_text()
        self.assertEqual(re.findall(r'<(?:script|img|link rel="stylesheet")[^>]+(?:src|href)="https?:[^"]+', text), [])


@unittest.skipUnless(
    browser.find() and (SITE / "index.html").exists(),
    "needs Chromium and the site: apt-get install chromium, make site",
)
class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=SITE))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        cls.addClassCleanup(server.server_close)
        cls.addClassCleanup(server.shutdown)
        cls.address = f"http://127.0.0.1:{server.server_port}"
        cls.browser = browser.Browser(browser.find())
        cls.addClassCleanup(cls.browser.close)

    def look(self, name, width, dark=False):
        self.browser.open(Page(f"{self.address}/{name}"), width, dark=dark)
        found = self.browser.value(SCRIPT)
        if folder := os.environ.get("SCREENSHOTS"):
            shot = f"site-{Path(name).stem}-{width}-{'dark' if dark else 'light'}.png"
            (Path(folder) / shot).write_bytes(self.browser.screenshot())
        return found

    def test_pages_are_accessible(self):
        from test_figures import contrast

        for name in PAGES:
            for width in (390, 1440):
                for dark in (False, True):
                    with self.subTest(name=name, width=width, dark=dark):
                        found = self.look(name, width, dark)
                        self.assertEqual(found["lang"], "en")
                        self.assertIn("warpaes", found["title"])
                        self.assertEqual(found["headings"], 1)
                        self.assertEqual((found["nameless"], found["unnamed"], found["broken"]), (0, 0, []))
                        self.assertLessEqual(found["width"], width, "the page scrolls sideways")
                        for text, colour, under in found["colours"]:
                            self.assertGreaterEqual(contrast(colour, under), 4.5, f"{text!r}: {colour} on {under}")
        self.assertEqual(self.browser.problems, [])

    @unittest.skipUnless(AXE, "needs axe-core; `tools/setup site` installs it")
    def test_axe_finds_nothing(self):
        """Check each page twice: on a desktop with the light theme and on a phone with the dark theme."""
        for name in PAGES:
            for width, dark in ((1440, False), (390, True)):
                with self.subTest(name=name, width=width, dark=dark):
                    self.browser.open(Page(f"{self.address}/{name}"), width, dark=dark)
                    self.browser.value(AXE.read_text() + ";0")
                    found = self.browser.value(
                        """axe.run(document, {resultTypes: ["violations"]}).then(found =>
                            found.violations.flatMap(rule => rule.nodes.map(node => `${rule.id}: ${node.html}`)))"""
                    )
                    self.assertEqual([one for one in found if one.split(":")[0] not in ALLOWED], [])

    def test_tabs_themes_and_footer(self):
        found = self.look("index.html", 1440)
        self.assertEqual(found["tabs"], ["Start", *TABS])
        self.assertEqual(found["toggles"], 3)
        self.assertIn("Apache-2.0", found["footer"])
        version = re.search(r"project\(warpaes VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
        self.assertIn(version, found["footer"])

    def test_tables_of_the_performance_page_are_folded(self):
        self.assertLess(self.look("performance.html", 1440)["height"], MAX_HEIGHT)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "tests/project"))
    unittest.main()
