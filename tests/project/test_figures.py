"""Tests the figures in README.md and docs/ in a browser, on a phone and a desktop, light and dark.

Without a browser, the tests are skipped. To run them, use `apt-get install chromium` (Debian) or set
CHROMIUM=/path/to/chromium. If $SCREENSHOTS names a folder, pictures of all figures are stored there.
"""

import json
import os
import re
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/lab"))
import browser  # noqa: E402

#: GitHub's background colours. The figures are drawn on them.
BACKGROUNDS = {False: "#ffffff", True: "#0d1117"}
WIDTHS = (390, 1440)
#: The minimum text size in pixels on a phone, for the README's figures and for its terminal with 80 columns.
MINIMUM, TERMINAL_MINIMUM = 8, 7

PAGE = """<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<body style="margin: 16px; background: {background}">{svg}</body>"""

#: Returns each text with its position and the shapes below it.
SCRIPT = """(() => {
  const svg = document.querySelector("svg");
  svg.style.maxWidth = "100%";
  svg.style.height = "auto";
  for (const animation of document.getAnimations()) animation.finish();
  const box = svg.viewBox.baseVal, scale = svg.getBoundingClientRect().width / box.width;
  const shapes = [...svg.querySelectorAll("rect")].map(shape => [shape.getBBox(), getComputedStyle(shape).fill]);
  const texts = [...svg.querySelectorAll("text")].filter(text => getComputedStyle(text).visibility == "visible");
  const spans = texts.flatMap(text => text.children.length ? [text, ...text.children] : [text]);
  return {
    scale, width: document.documentElement.scrollWidth, view: [box.x, box.y, box.width, box.height],
    texts: texts.map(text => {
      const b = text.getBBox(), style = getComputedStyle(text);
      return {text: text.textContent, box: [b.x, b.y, b.width, b.height], size: parseFloat(style.fontSize)};
    }),
    colours: spans.map(text => {
      const b = text.getBBox(), x = b.x + b.width / 2, y = b.y + b.height / 2;
      const under = shapes.filter(([s]) => s.x <= x && x <= s.x + s.width && s.y <= y && y <= s.y + s.height);
      return [text.textContent, getComputedStyle(text).fill, under.length ? under.at(-1)[1] : "none"];
    }),
  };
})()"""


def luminance(colour):
    """Return the WCAG 2 relative luminance of "#rrggbb" or "rgb(r, g, b)"."""
    if colour.startswith("#"):
        channels = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    else:
        channels = [float(channel) for channel in re.findall(r"[\d.]+", colour)[:3]]
    linear = [c / 255 / 12.92 if c <= 10.3 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def overlap(one, other):
    """Return whether two boxes overlap by more than the margins, which contain no letters."""
    across = min(one[0] + one[2], other[0] + other[2]) - max(one[0], other[0])
    down = min(one[1] + one[3], other[1] + other[3]) - max(one[1], other[1])
    return across > 1 and down > 4


class Rules(unittest.TestCase):
    def test_contrast(self):
        self.assertAlmostEqual(contrast("#ffffff", "rgb(0, 0, 0)"), 21)
        self.assertLess(contrast("#ffffff", "#9198a1"), 4.5)

    def test_overlap(self):
        self.assertTrue(overlap([0, 0, 30, 12], [25, 2, 30, 12]))
        self.assertFalse(overlap([0, 0, 30, 12], [30, 0, 30, 12]))


@unittest.skipUnless(
    browser.find(),
    "needs Chromium; machines that have it run this: apt-get install chromium, or set CHROMIUM=/path/to/chromium",
)
class Figures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = browser.Browser(browser.find())
        cls.addClassCleanup(cls.browser.close)
        cls.temporary = tempfile.TemporaryDirectory(prefix="warpaes-figures-")
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.shown = re.findall(r"^!\[.*\]\(docs/([\w-]+\.svg)\)", (ROOT / "README.md").read_text(), re.MULTILINE)

    def drawn(self, path, width, dark):
        page = Path(self.temporary.name) / "page.html"
        page.write_text(PAGE.format(background=BACKGROUNDS[dark], svg=path.read_text()))
        self.browser.open(page, width, dark=dark)
        found = self.browser.value(SCRIPT)
        if folder := os.environ.get("SCREENSHOTS"):
            name = f"{path.stem}-{width}-{'dark' if dark else 'light'}.png"
            (Path(folder) / name).write_bytes(self.browser.screenshot())
        return json.loads(json.dumps(found))

    def check(self, found, path, width, dark):
        x, y, wide, high = found["view"]
        self.assertLessEqual(found["width"], width, "the page scrolls sideways")
        for text in found["texts"]:
            left, top, across, down = text["box"]
            inside = left >= x and top >= y and left + across <= x + wide and top + down <= y + high
            self.assertTrue(inside, f"clipped: {text}")
            if path.name in self.shown and width < 600:
                minimum = TERMINAL_MINIMUM if path.name == "demo.svg" else MINIMUM
                self.assertGreaterEqual(text["size"] * found["scale"], minimum, text)
        boxes = [text for text in found["texts"] if text["text"].strip()]
        for i, one in enumerate(boxes):
            for other in boxes[:i]:
                self.assertFalse(overlap(one["box"], other["box"]), f"overlapping texts: {one}, {other}")
        for text, fill, under in found["colours"]:
            below = BACKGROUNDS[dark] if under == "none" else under
            self.assertGreaterEqual(contrast(fill, below), 4.5, f"{text!r}: {fill} on {below}")

    def test_nothing_is_clipped_or_pale(self):
        paths = sorted((ROOT / "docs").glob("*.svg"))
        self.assertGreater(len(paths), 4)
        self.assertGreaterEqual(len(self.shown), 2)
        for path in paths:
            for width in WIDTHS:
                for dark in BACKGROUNDS:
                    with self.subTest(path=path.name, width=width, dark=dark):
                        found = self.drawn(path, width, dark)
                        self.assertGreater(len(found["texts"]), 5)
                        self.check(found, path, width, dark)
        self.assertEqual(self.browser.problems, [])


if __name__ == "__main__":
    unittest.main()
