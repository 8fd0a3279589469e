"""Draws SVG plots without a plotting library. The plots follow the reader's light or dark theme, and their files are
identical on every machine."""

from __future__ import annotations

import math
from html import escape

# The colours are readable on white and on GitHub's dark background, and are colour-blind safe (Okabe and Ito).
STYLE = """<style>
text { font: 12px system-ui, sans-serif; fill: #24292f }
.title { font-weight: 600; font-size: 14px }
.note { font-size: 11px; fill: #57606a }
.head, .ours { font-weight: 600 }
.rest { fill: #8c959f }
.axis { stroke: #8c959f; stroke-width: 1 }
.grid { stroke: #8c959f; stroke-opacity: .3 }
.c0 { fill: #0072b2 } .c1 { fill: #e69f00 } .c2 { fill: #009e73 } .c3 { fill: #cc79a7 }
.c4 { fill: #56b4e9 } .wrong { fill: none; stroke: #d55e00; stroke-width: 2 }
.l0 { stroke: #0072b2 } .l1 { stroke: #e69f00 } .l2 { stroke: #009e73 } .l3 { stroke: #cc79a7 }
.line { fill: none; stroke-width: 2 }
.mark { stroke: #24292f; stroke-width: 2 }
.in0 { fill: #ffffff } .in1 { fill: #24292f }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .note { fill: #9198a1 } .mark { stroke: #e6edf3 }
}
</style>"""


def text(x: float, y: float, content: str, cls: str = "", anchor: str = "start") -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{f" class={cls!r}" if cls else ""}>{escape(content)}</text>'
    )


def _mark(x: float, y: float, height: float) -> str:
    return f'<line x1="{x:.1f}" y1="{y:g}" x2="{x:.1f}" y2="{y + height:g}" class="mark"/>'


def document(width: int, height: int, title: str, note: str, body: list[str]) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'role="img" aria-label="{escape(title)}">',
            STYLE,
            text(8, 20, title, "title"),
            text(8, 38, note, "note"),
            *body,
            "</svg>\n",
        ]
    )


def _legend(x: float, y: float, names: list[str]) -> list[str]:
    parts = []
    for i, name in enumerate(names):
        parts.append(f'<rect x="{x:g}" y="{y - 9:g}" width="10" height="10" class="c{i}"/>')
        parts.append(text(x + 15, y, name))
        x += 15 + 7 * len(name) + 20
    return parts


def _value(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _digits(value: float) -> str:
    """Format a value with three significant digits, including trailing zeros."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def bars(title: str, note: str, series: list[str], rows: list[tuple[str, list[float | None]]], limits=None) -> str:
    """Draw a group of horizontal bars per row, with one bar for each of `series`. `limits` contains the values to mark
    in each row. A value is printed inside its bar if there is room, to keep it away from the bar's mark."""
    left, right, bar, gap = 16 + 6.7 * max(len(label) for label, _ in rows), 60, 16, 10
    width = 720
    top = 70 if len(series) > 1 or limits else 52
    values = [v for _, group in rows for v in group if v is not None]
    values += [v for group in limits or [] for v in group if v is not None]
    scale = (width - left - right) / max(values)
    body, y = _legend(left, 60, series) if len(series) > 1 else [], top
    if limits:
        x = left + sum(15 + 7 * len(name) + 20 for name in series) if len(series) > 1 else left
        body += [_mark(x + 4, 50, 12), text(x + 15, 60, "limit")]
    for i, (label, group) in enumerate(rows):
        body.append(text(left - 8, y + len(group) * bar / 2 + 4, label, anchor="end"))
        for j, value in enumerate(group):
            if value is None:
                continue
            end = left + value * scale
            place = f'x="{left:.1f}" y="{y + j * bar:g}" width="{value * scale:.1f}" height="{bar - 2}"'
            body.append(f'<rect {place} class="c{j}"/>')
            if limits and limits[i][j] is not None:
                body.append(_mark(left + limits[i][j] * scale, y + j * bar - 1, bar))
            inside = value * scale > 40 and j < 2
            body.append(
                text(round(end - 5, 1), y + j * bar + 11, _value(value), f"in{j}", "end")
                if inside
                else text(round(end + 5, 1), y + j * bar + 11, _value(value))
            )
        y += len(group) * bar + gap
    return document(width, y, title, note, body)


def ranking(title: str, note: str, rows: list[tuple[str, float, bool]]) -> str:
    """Draw a bar per row, starting at zero, with its value at the right. The plot is narrow enough for a phone.

    A row consists of a name, a value, and whether the value belongs to warpaes.
    """
    width, left, right, row, top = 440, 8 + 7.2 * max(len(name) for name, _, _ in rows), 48, 26, 50
    scale = (width - left - right - 10) / max(value for _, value, _ in rows)
    body = []
    for i, (name, value, ours) in enumerate(rows):
        y = top + row * i
        place = f'x="{left + 8:.1f}" y="{y + 4:g}" width="{value * scale:.1f}" height="{row - 8}"'
        body.append(text(left, y + row / 2 + 4, name, "ours" if ours else "", "end"))
        body.append(f'<rect {place} class="{"c0" if ours else "rest"}"/>')
        body.append(text(round(left + 14 + value * scale, 1), y + row / 2 + 4, _digits(value), "ours" if ours else ""))
    return document(width, top + row * len(rows) + 8, title, note, body)


def lines(title: str, note: str, series: list[tuple[str, list[tuple[float, float]]]], name_x) -> str:
    """Draw lines on two logarithmic axes. A series consists of its name and its points (x, y). `name_x` returns the
    label for an x."""
    width, height, left, right, top, bottom = 720, 320, 60, 40, 76, 34
    xs = sorted({x for _, points in series for x, _ in points})
    ys = [y for _, points in series for _, y in points]
    low, high = math.floor(math.log10(min(ys))), math.ceil(math.log10(max(ys)))
    high = max(high, low + 1)
    span = max(math.log(xs[-1] / xs[0]), 1e-9)

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            left + math.log(x / xs[0]) / span * (width - left - right),
            height - bottom - (math.log10(y) - low) / (high - low) * (height - top - bottom),
        )

    body = _legend(left, 60, [name for name, _ in series])
    for power in range(low, high + 1):
        y = at(xs[0], 10.0**power)[1]
        body.append(f'<line x1="{left}" y1="{y:.1f}" x2="{width - right}" y2="{y:.1f}" class="grid"/>')
        body.append(text(left - 8, round(y + 4, 1), f"{10.0**power:g}", anchor="end"))
    for x in xs:
        body.append(text(round(at(x, 1)[0], 1), height - 12, name_x(x), anchor="middle"))
    for i, (_, points) in enumerate(series):
        path = " ".join("{:.1f},{:.1f}".format(*at(x, y)) for x, y in sorted(points))
        body.append(f'<polyline points="{path}" class="line l{i}"/>')
        for x, y in points:
            body.append('<circle cx="{:.1f}" cy="{:.1f}" r="3" class="c{}"/>'.format(*at(x, y), i))
    return document(width, height, title, note, body)
