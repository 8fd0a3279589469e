"""Tests the contrast of the lab's page in light and dark: at least 4.5 to 1 for text, and 3 to 1 for marks that
represent figures (WCAG 2.2, 1.4.3 and 1.4.11). Colours are defined once, as custom properties at the head of page.css,
and used by name.

Therefore the test checks pairs of colours and needs no browser; test_page.py checks the rendered page. The grid, the
rules between rows and the pale band of a line's quartiles only repeat information from marks, text or the table below.
"""

from __future__ import annotations

import re
import unittest
from pathlib import Path

REPORT = Path(__file__).parents[2] / "lab/report"
CSS = (REPORT / "page.css").read_text()
PLOTS = (REPORT / "plots.js").read_text()

TEXTS = ("ink", "soft", "link", "yes", "partly", "no", "open")
MARKS = (*(f"hue-{i}" for i in range(8)), "hue-grey", "yes", "partly", "no", "open", "soft", "ink", "link")
GROUNDS = ("paper", "raised")
# Elements that may have a pale colour.
DECORATION = {"faint", "grid"}

Colour = tuple[int, int, int]


def parsed(text: str) -> Colour:
    digits = text.lstrip("#")
    if len(digits) == 3:
        digits = "".join(2 * d for d in digits)
    return tuple(int(digits[i : i + 2], 16) for i in (0, 2, 4))


def luminance(colour: Colour) -> float:
    linear = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: Colour, b: Colour) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def palettes() -> dict[str, dict[str, Colour]]:
    """Return the custom properties that are colours, by scheme. The first block defines the light scheme, and the
    second block overrides it for the dark scheme."""
    blocks = re.findall(r":root\s*{(.*?)}", CSS, re.S)
    light, dark = ({name: parsed(c) for name, c in re.findall(r"--([\w-]+):\s*(#\w+)", block)} for block in blocks)
    return {"light": light, "dark": light | dark}


def colours_of_rules() -> list[tuple[str, str]]:
    """Return the property and value of every declaration in the style sheet that sets the colour of text, fills or
    lines."""
    rules = re.sub(r":root\s*{.*?}", "", re.sub(r"/\*.*?\*/", "", CSS, flags=re.S), flags=re.S)
    return re.findall(r"[;{\s](color|fill|stroke|background|border-color|border-left-color)\s*:\s*([^;}]+)", rules)


def heat(share: float, colours: list[Colour]) -> Colour:
    """Mix two colours as plots.js does."""
    at = share * (len(colours) - 1)
    i = min(len(colours) - 2, int(at))
    return tuple(round(a + (b - a) * (at - i)) for a, b in zip(colours[i], colours[i + 1]))


def scale_of(name: str) -> list[Colour]:
    (found,) = re.findall(rf"const {name} =\s*(\[\[.*?\]\]);", PLOTS, re.S)
    return [tuple(map(int, c)) for c in re.findall(r"(\d+), (\d+), (\d+)", found)]


class Contrast(unittest.TestCase):
    def test_the_formula_is_the_standards(self):
        self.assertAlmostEqual(contrast((0, 0, 0), (255, 255, 255)), 21)
        self.assertAlmostEqual(contrast(parsed("#777"), parsed("#fff")), 4.48, 2)

    def test_both_schemes_have_every_colour_of_their_own(self):
        blocks = re.findall(r":root\s*{(.*?)}", CSS, re.S)
        light, dark = (set(re.findall(r"--([\w-]+):\s*#", block)) for block in blocks)
        self.assertEqual(light, dark)
        self.assertEqual(light, {*TEXTS, *MARKS, *GROUNDS} | DECORATION, "an unchecked colour")

    def test_text(self):
        for scheme, colours in palettes().items():
            for text in TEXTS:
                for ground in GROUNDS:
                    with self.subTest(scheme, text=text, ground=ground):
                        self.assertGreaterEqual(contrast(colours[text], colours[ground]), 4.5)

    def test_marks(self):
        for scheme, colours in palettes().items():
            for mark in MARKS:
                with self.subTest(scheme, mark=mark):
                    # Plots, and the signs in the marks of verdicts, have the paper's background. Hatching is drawn on a
                    # hue in the paper's colour.
                    self.assertGreaterEqual(contrast(colours[mark], colours["paper"]), 3)

    def test_rules_name_checked_colours(self):
        plain = {"none", "inherit", "currentColor", "transparent"}
        for name, value in colours_of_rules():
            with self.subTest(f"{name}: {value}"):
                found = re.findall(r"var\(--([\w-]+)\)", value)
                self.assertTrue(found or value.strip() in plain, "a colour that is not defined at the head")
                if name == "color":
                    self.assertFalse(
                        set(found) & (DECORATION | set(GROUNDS)), "text in a colour that is not meant for text"
                    )

    def test_scripts_name_checked_colours(self):
        for path in sorted(REPORT.glob("*.js")):
            literal = set(re.findall(r"[\"'`:](#[0-9a-fA-F]{3,8})\b", path.read_text()))
            self.assertLessEqual(literal, {"#fff", "#000"}, f"{path.name}: these two colours are only for heat maps")

    def test_figures_on_heat_maps(self):
        """The page chooses a readable text colour for every cell of both scales."""
        (limit,) = re.findall(r"< ([\d.]+) \? \"#fff\" : \"#000\"", PLOTS)
        for name in ("HEAT", "RATIO"):
            colours = scale_of(name)
            self.assertGreaterEqual(len(colours), 5)
            for step in range(1001):
                cell = heat(step / 1000, colours)
                r, g, b = ((c / 255) ** 2.2 for c in cell)
                dark = r * 0.2126 + g * 0.7152 + b * 0.0722 < float(limit)
                with self.subTest(name, cell=cell):
                    self.assertGreaterEqual(contrast(cell, (255, 255, 255) if dark else (0, 0, 0)), 4.5)


if __name__ == "__main__":
    unittest.main()
