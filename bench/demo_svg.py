"""docs/demo.svg: the terminal session that tools/record_demo.py recorded, as an animated or still picture.

The picture contains every line from the beginning, and hides each until its time. Without animation, or if the reader
prefers reduced motion, all lines are visible at once.
"""

from __future__ import annotations

import re
from html import escape

from records import RESULTS, read

PICTURE = "docs/demo.svg"
CELL, LINE, MARGIN = 7.25, 17, 12
#: Seconds per typed character, between a command and its output, and before the next command.
TYPED, BEFORE, AFTER = 0.03, 0.3, 0.9
STYLE = """<style>
.screen { fill: #f6f8fa; stroke: #d0d7de }
text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #24292f }
text { white-space: pre }
.typed { font-weight: 600 } .prompt { fill: #57606a } .wrong { fill: #cf222e; font-weight: 600 }
.now { animation: now .01s backwards } @keyframes now { from, to { visibility: hidden } }
.while { visibility: hidden; animation-name: while } @keyframes while { from, to { visibility: visible } }
@media (prefers-color-scheme: dark) {
  .screen { fill: #0d1117; stroke: #3d444d } text { fill: #e6edf3 } .prompt { fill: #9198a1 } .wrong { fill: #ff7b72 }
}
@media (prefers-reduced-motion: reduce) { .now, .while { animation: none } }
</style>"""
CONTROL = re.compile(r"\r\n|\n|\r|\x1b\[K|\x1b\[([\d;]*)m|[^\r\n\x1b]+|.", re.DOTALL)


class Screen:
    """The lines of a terminal with `columns` columns. It never scrolls: the picture is as high as its lines need."""

    def __init__(self, columns: int):
        self.columns = columns
        #: For each line its versions: the time at which it appears, and its parts, each a text with a class.
        self.lines: list[list[tuple[float, list[tuple[str, str]]]]] = [[]]
        self._parts: list[tuple[str, str]] = []
        self._class, self._fresh = "", False

    def _show(self, when: float) -> None:
        self.lines[-1].append((when, list(self._parts)))

    def _next(self) -> None:
        self.lines.append([])
        self._parts, self._fresh = [], False

    def write(self, when: float, text: str, cls: str | None = None) -> None:
        for found in CONTROL.finditer(text):
            piece = found[0]
            if piece in ("\r\n", "\n"):
                self._show(when)
                self._next()
            elif piece == "\r":
                self._fresh = True
            elif piece == "\x1b[K":
                self._parts = [] if self._fresh else self._parts
                self._fresh = False
            elif piece.startswith("\x1b["):
                self._class = "wrong" if "31" in found[1].split(";") else ""
            elif piece != "\x1b":
                if self._fresh:
                    self._parts, self._fresh = [], False
                while piece:
                    room = self.columns - sum(len(part) for part, _ in self._parts)
                    if room == 0:
                        self._show(when)
                        self._next()
                        continue
                    self._parts.append((piece[:room], self._class if cls is None else cls))
                    piece = piece[room:]
        self._show(when)


def play(record: dict) -> tuple[Screen, float]:
    """Plays the whole recording on a screen; returns the screen and the duration."""
    screen, now = Screen(record["columns"]), 0.5
    for step in record["steps"]:
        screen.write(now, "$ ", "prompt")
        for line in step["command"].splitlines(keepends=True):
            now += TYPED * len(line)
            screen.write(now, line, "typed")
        screen.write(now, "\n")
        now += BEFORE
        for when, text in step["events"]:
            screen.write(now + when, text)
        now += (step["events"][-1][0] if step["events"] else 0) + AFTER
        if screen.lines[-1] and screen.lines[-1][-1][1]:  # output that does not end with a new line
            screen.write(now, "\n")
    return screen, now


def _row(y: float, parts: list[tuple[str, str]], attributes: str) -> str:
    spans = "".join(f'<tspan class="{cls}">{escape(text)}</tspan>' if cls else escape(text) for text, cls in parts)
    return f'<text x="{MARGIN}" y="{y:g}" {attributes}>{spans}</text>'


def draw(record: dict) -> str:
    screen, _ = play(record)
    while screen.lines and not any(parts for _, parts in screen.lines[-1]):
        screen.lines.pop()
    width = round(2 * MARGIN + CELL * record["columns"])
    height = 2 * MARGIN + LINE * len(screen.lines)
    body = []
    for i, versions in enumerate(screen.lines):
        y = MARGIN + LINE * i + 12
        for (when, parts), following in zip(versions, [*versions[1:], None]):
            if not parts or (following and following[0] - when < 0.05):
                continue
            if following is None:
                body.append(_row(y, parts, f'class="now" style="animation-delay:{when:.2f}s"'))
            else:
                lasts = following[0] - when
                style = f"animation-delay:{when:.2f}s;animation-duration:{lasts:.2f}s"
                body.append(_row(y, parts, f'class="while" style="{style}"'))
    said = " ".join(step["command"] for step in record["steps"])
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'role="img" aria-label="{escape(f"A terminal: {said}")}">',
            STYLE,
            f'<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="6" class="screen"/>',
            *body,
            "</svg>\n",
        ]
    )


def render() -> dict[str, str]:
    folder = RESULTS / "demo"
    records = sorted(read(folder) if folder.exists() else [], key=lambda record: record["date"])
    return {PICTURE: draw(records[-1])} if records else {}
