"""Represents the figures of a lab record with their spread, and compares two figures."""

from __future__ import annotations

YES, PARTLY, NO, OPEN = "yes", "partly", "no", "open"
TIE = 0.015


class MissingError(Exception):
    pass


class Series:
    """A panel's figures (value, low, high) by their position."""

    def __init__(self, panel: dict, series: dict):
        self.x = panel["x"].get("values") or panel["x"].get("labels")
        self.y = panel["y"].get("values", [])
        spread = series["spread"] or [None] * len(series["values"])
        self.figures = [v if v is None else (v, *(s or (v, v))) for v, s in zip(series["values"], spread)]

    def __getitem__(self, place):
        """Return the figure at a position on the axis."""
        if place not in self.x or self.figures[self.x.index(place)] is None:
            raise MissingError(place)
        return self.figures[self.x.index(place)]

    def pairs(self):
        return [(x, f) for x, f in zip(self.x, self.figures) if f is not None]

    def best(self):
        return max(f for f in self.figures if f is not None)

    def last(self):
        return self.pairs()[-1][1]

    def first(self):
        return self.pairs()[0][1]

    def column(self, i: int):
        """Return a column of a surface, which has one figure per y."""
        return self.figures[i :: len(self.x)]


class Record:
    def __init__(self, record: dict):
        self.entries = {e["key"]: e for e in record["experiments"]}
        self.gpu = record["machine"]["gpu"] and record["machine"]["gpu"]["name"]

    def result(self, key: str) -> dict:
        entry = self.entries.get(key)
        if entry is None or entry["status"] != "measured":
            raise MissingError(key)
        return entry["result"]

    def panels(self, key: str, begin: str, end: str = "") -> list[dict]:
        found = [p for p in self.result(key)["panels"] if p["title"].startswith(begin) and p["title"].endswith(end)]
        if not found:
            raise MissingError(f"{key} {begin}")
        return found

    def series(self, key: str, title: str, name: str, end: str = "") -> Series:
        panel = self.panels(key, title, end)[0]
        for series in panel["series"]:
            if series["name"] == name:
                return Series(panel, series)
        raise MissingError(f"{key} {title} {name}")

    def fact(self, key: str, name: str) -> float:
        for fact in self.result(key)["facts"]:
            if fact["name"] == name and fact["value"] is not None:
                return fact["value"]
        raise MissingError(f"{key} {name}")


def over(a, b):
    return a[0] / b[0], a[1] / b[2], a[2] / b[1]


def both_ends(ratio, rule):
    low, high = rule(ratio[1]), rule(ratio[2])
    return low if low == high else OPEN


def again(figure):
    """Return the range to expect from another run: the spread, or 5 % more or less if that range is wider."""
    value, low, high = figure if isinstance(figure, tuple) else (figure,) * 3
    return value, min(low, value / 1.05), max(high, value * 1.05)


def gain(ratio, published=1.0):
    return both_ends(ratio, lambda r: NO if r - 1 < TIE else YES if r - 1 >= (published - 1) * 2 / 3 else PARTLY)


def steps(yes, partly):
    """Return a rule. Its verdict is "yes" if `yes` holds for the ratio, and "in part" if `partly` does."""
    return lambda r: YES if yes(r) else PARTLY if partly(r) else NO


def same(ratio):
    def rule(r):
        apart = max(r, 1 / r) - 1
        return YES if apart <= 0.05 else PARTLY if apart <= 0.15 else NO

    # A range around 1 includes equality, so its limits do not decide the verdict.
    ends, (_, low, high) = both_ends(ratio, rule), ratio
    return OPEN if low < 1 < high and ends != YES else ends


def order(a, b) -> str:
    def of(r):
        return "ahead" if r >= 1 + TIE else "behind" if r <= 1 / (1 + TIE) else "even"

    _, low, high = over(a, b)
    return of(low) if of(low) == of(high) else "unclear"


def share(part: int, of: int) -> str:
    return YES if part == of else PARTLY if 2 * part > of else NO


def everywhere(orders, wanted="ahead"):
    """Require the order `wanted` at all positions. The verdict is open if it depends on positions where the spread
    leaves the order open."""
    least = sum(o == wanted for o in orders)
    most = least + sum(o == "unclear" for o in orders)
    return share(least, len(orders)) if share(least, len(orders)) == share(most, len(orders)) else OPEN


def count(figures, so):
    """Count the positions where `so` holds for a figure, at both limits of its range, and judge by the counts."""
    ends = [{so(low), so(high)} for _, low, high in figures]
    least, most = sum(e == {True} for e in ends), sum(True in e for e in ends)
    return share(least, len(ends)) if share(least, len(ends)) == share(most, len(ends)) else OPEN


def not_behind(orders):
    return share(sum(o != "behind" for o in orders), len(orders))


def worse(a, b):
    return OPEN if OPEN in (a, b) else max((a, b), key=(YES, PARTLY, NO).index)


def together(a: str, b: str) -> str:
    """Combine the verdicts on the two parts of a sentence."""
    return OPEN if OPEN in (a, b) else a if a == b else PARTLY


def average(ratios):
    return tuple(sum(column) / len(ratios) for column in zip(*ratios))


def ends_behind(series: Series) -> str:
    """Return whether both the first and the last figure are below the best figure."""
    best = series.best()
    found = [order(best, series.first()), order(best, series.last())]
    return OPEN if "unclear" in found else (NO, PARTLY, YES)[found.count("ahead")]
