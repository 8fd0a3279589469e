"""Rules for the conclusions of [N] (lab/claims/statements/gibadullin.json), with its published figures."""

from __future__ import annotations

from record_figures import (
    Record,
    again,
    both_ends,
    ends_behind,
    gain,
    over,
    same,
    steps,
    together,
)

# The throughput of the thirteen implementations in Gbit/s.
THIRTEEN = (5.0, 34.4, 35.2, 21.54, 29.9, 21.7, 26.9, 23.9, 23.4, 25.3, 25.0, 17.1, 2.9)
TITLE = "Thirteen implementations"
CHUNKS = "Throughput with transfers, by number of chunks"
ITS_BEST = "its best: 16 bytes a thread, tables and keys in shared memory"


def thirteen(r: Record):
    figures = r.series("N.implementations", TITLE, "speed").figures
    return lambda *numbers: max(figures[n - 1] for n in numbers)


def published(a: int, b: int) -> float:
    return THIRTEEN[a - 1] / THIRTEEN[b - 1]


def pair(a, b):
    return lambda r: gain(over(thirteen(r)(a), thirteen(r)(b)), published(a, b))


def lead(a, b):
    return lambda r: gain(over(thirteen(r)(a), thirteen(r)(b)))


def ten_times(r: Record):
    figures = r.series("N.implementations", TITLE, "speed").figures
    ratio = over(max(figures), min(figures, key=lambda f: f[0]))
    return both_ends(again(ratio), steps(lambda x: x > 10, lambda x: x > 5))


def layout_8_4(r: Record):
    """The published gain is 50 % with 4 bytes per thread and 12 % with 8 bytes per thread."""
    of = thirteen(r)
    return together(gain(over(of(10), of(12)), 1.5), gain(over(of(7), of(9)), 1.12))


def persistent(r: Record):
    """Compare at 256 MB, which is the paper's length."""
    stays, once = (
        r.series("N.persistent", "By length of the text", name).last()
        for name in ("threads that stay", "a thread a block of text")
    )
    return gain(over(stays, once))


def overlap(r: Record):
    rates = r.series("N.overlap", CHUNKS, ITS_BEST)
    return gain(over(rates[4], rates[1]), 1.68)


def hidden(r: Record):
    share = r.series("N.overlap", "Share of the transfers' time", ITS_BEST)[4][0]
    return both_ends(again(share), steps(lambda x: x >= 65 * 2 / 3, lambda x: x >= 5))


RULES = {
    "N.ten-times": ten_times,
    "N.granularity": lambda r: gain(over(thirteen(r)(2, 3), thirteen(r)(*range(7, 14))), published(3, 7)),
    "N.eight-and-four": lambda r: same(over(thirteen(r)(7, 8, 9), thirteen(r)(10, 11, 12))),
    "N.one-byte": lambda r: gain(over(thirteen(r)(2, 3), thirteen(r)(13)), published(3, 13)),
    "N.constant-tables": pair(2, 1),
    "N.constant-keys": lambda r: same(over(thirteen(r)(3), thirteen(r)(2))),
    "N.constant-keys-8": pair(7, 8),
    "N.constant-keys-4": lead(10, 11),
    "N.four-tables": pair(3, 4),
    "N.registers": lambda r: together(pair(3, 5)(r), pair(3, 6)(r)),
    "N.layout-16": lead(5, 6),
    "N.layout-8-4": layout_8_4,
    "N.persistent": persistent,
    "N.overlap": overlap,
    "N.hidden": hidden,
    "N.chunk-size": lambda r: ends_behind(r.series("N.overlap", CHUNKS, ITS_BEST)),
}
