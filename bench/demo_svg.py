"""Draws docs/demo.svg, a picture of the terminal at the end of the session that tools/record_demo.py recorded."""

from __future__ import annotations

import re
from html import escape

from records import RESULTS, read

PICTURE = "docs/demo.svg"
CELL, LINE, MARGIN = 7.25, 17, 8
STYLE = """<style>
.screen { fill: #f6f8fa; stroke: #d0d7de }
text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #24292f }
text { white-space: pre }
.typed { font-weight: 600 } .prompt { fill: #57606a } .wrong { fill: #cf222e; font-weight: 600 }
@media (prefers-color-scheme: dark) {
  .screen { fill: #0d1117; stroke: #3d444d } text { fill: #e6edf3 } .prompt { fill: #9198a1 } .wrong { fill: #ff7b72 }
}
</style>"""
CONTROL = re.compile(r"\r\n|\n|\r|\x1b\[K|\x1b\[([\d;]*)m|[^\r\n\x1b]+|.", re.DOTALL)


class Screen:
    """The lines of a terminal with `columns` columns. The terminal never scrolls: the picture contains all lines."""

    def __init__(self, columns: int):
        self.columns = columns
        #: Each line is a list of parts. A part is a text and its CSS class.
        self.lines: list[list[tuple[str, str]]] = [[]]
        self._class, self._overwrite = "", False

    def write(self, text: str, cls: str | None = None) -> None:
        for found in CONTROL.finditer(text):
            piece = found[0]
            if piece in ("\r\n", "\n"):
                self.lines.append([])
                self._overwrite = False
            elif piece == "\r":
                self._overwrite = True
            elif piece == "\x1b[K":
                if self._overwrite:
                    self.lines[-1] = []
                self._overwrite = False
            elif piece.startswith("\x1b["):
                self._class = "wrong" if "31" in found[1].split(";") else ""
            elif piece != "\x1b":
                if self._overwrite:
                    self.lines[-1], self._overwrite = [], False
                while piece:
                    room = self.columns - sum(len(part) for part, _ in self.lines[-1])
                    if room == 0:
                        self.lines.append([])
                        continue
                    self.lines[-1].append((piece[:room], self._class if cls is None else cls))
                    piece = piece[room:]


def play(record: dict) -> Screen:
    """Return the screen at the end of the recording."""
    screen = Screen(record["columns"])
    for step in record["steps"]:
        screen.write("$ ", "prompt")
        screen.write(step["command"], "typed")
        screen.write("\n")
        for _, text in step["events"]:
            screen.write(text)
        if screen.lines[-1]:  # the output does not end with a newline
            screen.write("\n")
    while screen.lines and not screen.lines[-1]:
        screen.lines.pop()
    return screen


def _row(y: float, parts: list[tuple[str, str]]) -> str:
    spans = "".join(f'<tspan class="{cls}">{escape(text)}</tspan>' if cls else escape(text) for text, cls in parts)
    return f'<text x="{MARGIN}" y="{y:g}">{spans}</text>'


def draw(record: dict) -> str:
    lines = play(record).lines
    width = round(2 * MARGIN + CELL * record["columns"])
    height = 2 * MARGIN + LINE * len(lines)
    body = [_row(MARGIN + LINE * i + 12, parts) for i, parts in enumerate(lines) if parts]
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
