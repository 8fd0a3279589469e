"""Rules for the conclusions of [G] (lab/claims/statements/gu.json), with its published figures."""

from __future__ import annotations

from record_figures import (
    NO,
    OPEN,
    PARTLY,
    YES,
    MissingError,
    Record,
    again,
    both_ends,
    count,
    everywhere,
    gain,
    not_behind,
    order,
    over,
    same,
    steps,
)

# The paper's sizes (2 KB, 4 KB, … 8 MB), and the figures in Gbit/s from its Table 2 and the last row of its Table 3.
SIZES = [2048 << i for i in range(13)]
CONSTANT = (0.502, 0.998, 1.963, 3.893, 5.364, 7.772, 9.174, 9.801, 7.885, 6.848, 6.019, 6.164, 6.001)
TEXTURE = (0.866, 1.731, 3.471, 4.700, 5.677, 7.028, 7.866, 8.224, 8.528, 8.835, 8.448, 9.015, 9.036)
MAPPED, PAGE_LOCKED = 6.64, 2.29
TABLES = "The lookup tables' memory"
TRANSFERS = "From host memory to host memory, by input size"
BREAKDOWN = "Where the time goes: four threads a block, tables in constant memory"


def schemes(r: Record):
    """The paper's kernels keep their tables in constant memory."""
    names = (
        "1: a thread a block, text moved together",
        "2: four threads a block, no barrier",
        "3: sixteen threads a block, a lookup each",
    )
    return [r.series("G.schemes", "Three schemes, ECB", name) for name in names]


def of_the_paper(series):
    sizes = [x for x in SIZES if x in series.x]
    if not sizes:
        raise MissingError("sizes")
    return sizes


def second_is_best(r: Record):
    one, two, three = schemes(r)
    return not_behind([order(two[x], max(one[x], three[x])) for x in of_the_paper(two)])


def third_is_worse(r: Record):
    _, two, three = schemes(r)
    return everywhere([order(three[x], two[x]) for x in of_the_paper(two)], "behind")


def third_in_groups(r: Record):
    title = "The third scheme by blocks a group"
    four, eight, two = (
        r.series("G.schemes", title, name)
        for name in ("3: 4 blocks a group", "3: 8 blocks a group", "2: four threads a block, no barrier")
    )
    return everywhere([order(max(four[x], eight[x]), two[x]) for x in of_the_paper(two)], "behind")


def no_barrier(r: Record):
    title = "Bytes a thread, by how threads share a block"
    warp = r.series("N.granularity", title, "shared memory, warp waits")["4"]
    return gain(over(warp, r.series("N.granularity", title, "shared memory, thread block waits")["4"]))


def paper_sizes(r: Record, name: str):
    """Return the figures with the tables in one kind of memory, at the paper's sizes up to 8 MB."""
    series = r.series("G.tables", TABLES, name)
    if SIZES[-1] not in series.x:
        raise MissingError("8 MB")
    return {x: series[x] for x in SIZES if x in series.x}


def constant_peak(r: Record):
    at = paper_sizes(r, "constant")
    best = max(at, key=lambda x: at[x][0])
    falls = order(at[best], at[SIZES[-1]]) if best != SIZES[-1] else "even"
    if falls == "unclear":
        return OPEN
    return NO if falls != "ahead" else YES if 128 << 10 <= best <= 512 << 10 else PARTLY


def texture_no_peak(r: Record):
    at = paper_sizes(r, "texture")
    found = order(at[SIZES[-1]], max(at.values(), key=lambda f: f[0]))
    return OPEN if found == "unclear" else NO if found == "behind" else YES


def table_2(r: Record):
    constant, texture = (r.series("G.tables", TABLES, name) for name in ("constant", "texture"))
    places = [(x, c, t) for x, c, t in zip(SIZES, CONSTANT, TEXTURE) if x in constant.x]
    if not places:
        raise MissingError("sizes")
    # "as published" requires the published order at each size
    found = [order(texture[x], constant[x]) for x, _, _ in places]
    kept = [
        "ahead" if o == ("ahead" if t > c else "behind") else o if o == "unclear" else ""
        for o, (_, c, t) in zip(found, places)
    ]
    return everywhere(kept)


def saturates(r: Record):
    at = r.series("G.tables", TABLES, "constant")
    return same(over(at[8 << 20], at[4 << 20]))


def mapped(r: Record):
    """Judge sizes up to 8 MB, because Table 3 ends there."""
    special, plain = (r.series("G.transfers", TRANSFERS, n) for n in ("mapped, write-combined", PLAIN))
    return everywhere([order(special[x], plain[x]) for x in of_the_paper(special)])


PLAIN = "page-locked, one step after the other"


def mapped_gain(r: Record):
    at = [r.series("G.transfers", TRANSFERS, n)[8 << 20] for n in ("mapped, write-combined", PLAIN)]
    return gain(over(*at), MAPPED / PAGE_LOCKED)


def compute(r: Record, at):
    shares = [(x, again(f)) for x, f in r.series("G.breakdown", BREAKDOWN, "compute").pairs() if at(x)]
    if not shares:
        raise MissingError(BREAKDOWN)
    return shares


def compute_is_longest(r: Record):
    """Require that computation is the longest of the three steps at 2 to 32 KB."""
    copies = [r.series("G.breakdown", BREAKDOWN, name) for name in ("copy in", "copy out")]
    shares = compute(r, lambda x: 2048 <= x <= 32768)
    return count([over(f, again(max(c[x] for c in copies))) for x, f in shares], lambda ratio: ratio > 1)


def transfers_begin(r: Record):
    """Require that copies take the largest part of the time at 128 KB, the end of the range."""
    ((_, share),) = compute(r, lambda x: x == 131072)
    return both_ends((100 - share[0], 100 - share[2], 100 - share[1]), steps(lambda x: x > 50, lambda x: x >= 40))


def encryption_share(r: Record):
    ((_, share),) = compute(r, lambda x: x == SIZES[-1])
    return both_ends(share, steps(lambda x: x <= 40, lambda x: x < 50))


RULES = {
    "G.schemes": second_is_best,
    "G.third-scheme": third_is_worse,
    "G.scheme-3-groups": third_in_groups,
    "G.no-barrier": no_barrier,
    "G.constant-peak": constant_peak,
    "G.texture-no-peak": texture_no_peak,
    "G.texture-shape": table_2,
    "G.saturates": saturates,
    "G.mapped": mapped,
    "G.mapped-gain": mapped_gain,
    "G.compute-below-32K": compute_is_longest,
    "G.transfers-from-32K": transfers_begin,
    "G.transfers-above-128K": lambda r: count([f for _, f in compute(r, lambda x: x > 131072)], lambda s: s < 50),
    "G.encryption-25-30": encryption_share,
}
