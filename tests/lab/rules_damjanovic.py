"""Rules for the conclusions of [D] (lab/claims/statements/damjanovic.json), with its published figures."""

from __future__ import annotations

import contextlib

from record_figures import (
    NO,
    OPEN,
    PARTLY,
    TIE,
    YES,
    MissingError,
    Record,
    again,
    both_ends,
    count,
    everywhere,
    gain,
    order,
    over,
    share,
    steps,
    worse,
)

WAYS = ("encryption", "decryption")
SURFACES = [f"AES-{bits} {way}" for bits in (128, 192, 256) for way in WAYS]
CPP, NI, GPU = "C++ with T-tables", "AES-NI", "CUDA"
BADLY = steps(lambda x: x >= 2, lambda x: x >= 1 + TIE)


CLOSE = 0.85  # "tek neznatno" ("only slightly"), which the lab calls alike in part


def slightly_behind(x: float) -> str:
    return NO if x < 0.5 else YES if CLOSE <= x < 1 + TIE else PARTLY


class Surface:
    """Figures by file size and buffer size, in ascending order."""

    def __init__(self, r: Record, title: str = SURFACES[0]):
        self.of = {n: r.series("D.surfaces", title, n) for n in (CPP, NI, GPU)}
        self.files, self.buffers = len(self.of[GPU].x), len(self.of[GPU].y)

    def at(self, name: str, file: int, buffer: int):
        figure = self.of[name].figures[buffer % self.buffers * self.files + file % self.files]
        if figure is None:
            raise MissingError(f"{name} {file} {buffer}")
        return figure

    def best(self, name: str, file: int):
        """Return the figure for the best buffer."""
        return max((self.at(name, file, b) for b in range(self.buffers)), key=lambda f: f[0])

    def plane(self):
        return [(file, buffer) for buffer in range(self.buffers) for file in range(self.files)]


def loses_badly(at):
    def rule(r: Record):
        s = Surface(r)
        return worse(*(both_ends(over(at(s, n), at(s, GPU)), BADLY) for n in (CPP, NI)))

    return rule


def small_buffers(r: Record):
    """Judge whether the additional seconds of the smallest buffer, compared with the best buffer, grow from the
    shortest file to the longest."""
    s = Surface(r)
    if s.files < 2:
        raise MissingError("longer files")
    lost = []
    for file, length in enumerate(s.of[GPU].x):
        _, slowest, fastest = s.at(GPU, file, 0)
        _, best_low, best_high = s.best(GPU, file)
        lost.append((length / fastest - length / best_low, length / slowest - length / best_high))
    found = [
        "grows" if more[0] > less[1] else "" if more[1] <= less[0] else "unclear" for less, more in zip(lost, lost[1:])
    ]
    return everywhere(found, "grows")


def faster_with_data(r: Record):
    s = Surface(r)
    at = [s.best(GPU, file) for file in range(s.files)]
    return everywhere([order(more, less) for less, more in zip(at, at[1:])])


def large_cpp(r: Record):
    s = Surface(r)
    return gain(over(s.best(GPU, -1), s.best(CPP, -1)))


def aes_ni_faster(r: Record):
    """Both surfaces have the same axes, so a cell has the same file and buffer size in both surfaces."""
    s = Surface(r)
    return everywhere([order(s.at(NI, *cell), s.at(GPU, *cell)) for cell in s.plane()])


def of_aes_ni(r: Record, title: str = SURFACES[0]):
    s = Surface(r, title)
    return over(s.at(GPU, -1, -1), s.at(NI, -1, -1))


def large_aes_ni(r: Record):
    ratio = of_aes_ni(r)
    # "Slightly slower" lies between much slower and faster.
    around = ratio[1] < CLOSE and ratio[2] >= 1 + TIE
    return OPEN if around else both_ends(ratio, slightly_behind)


def key_sizes(r: Record):
    """Apply the rule of large_aes_ni to all six surfaces."""
    found = []
    for title in SURFACES:
        _, low, high = of_aes_ni(r, title)
        surely, perhaps = low >= CLOSE and high < 1 + TIE, high >= CLOSE and low < 1 + TIE
        found.append("close" if surely else "unclear" if perhaps else "")
    return everywhere(found, "close")


def same_models(r: Record):
    apart = []
    for way in WAYS:
        base = Surface(r, f"AES-128 {way}")
        for bits in (192, 256):
            s = Surface(r, f"AES-{bits} {way}")
            apart += [over(s.at(GPU, *cell), base.at(GPU, *cell)) for cell in s.plane()]
    return count(apart, lambda x: 1 / 1.15 <= x <= 1.15)


def one_large_transfer(r: Record):
    s = Surface(r)
    return both_ends(over(s.at(GPU, -1, -1), s.at(GPU, -1, 0)), BADLY)


def kernel_is_fast(r: Record):
    """Compute the kernel's share of the time for the largest file from the speeds."""
    kernel = r.series("D.occupancy", "Sixteen thread blocks, and a grid for this GPU", "speed").first()
    share = over(Surface(r).at(GPU, -1, -1), kernel)
    return both_ends(again(share), steps(lambda x: x < 0.25, lambda x: x < 0.5))


def stronger_gpus(r: Record):
    s = Surface(r)
    found = [order(s.at(GPU, -1, b), s.at(NI, -1, b)) for b in range(s.buffers)]
    return YES if "ahead" in found else "open" if "unclear" in found else NO


def cheap(r: Record):
    """Judge only GeForce GPUs, because the paper covers no others."""
    if "GeForce" not in (r.gpu or ""):
        raise MissingError("a GPU of the consumer line")
    s = Surface(r)
    against_cpp = gain(over(s.at(GPU, -1, -1), s.at(CPP, -1, -1)))
    if against_cpp != YES:
        return against_cpp
    return both_ends(of_aes_ni(r), steps(lambda x: x >= CLOSE, lambda x: True))


def both_platforms(r: Record):
    raise MissingError("a record is of one machine")


def cpu_freed(r: Record):
    row = r.series("D.surfaces", "Processor seconds a gigabyte", "largest file and buffer")
    return gain(over(row[NI], row[GPU]), 2)


def model(r: Record):
    errors = [r.fact("D.model", f"{CPP}: relative absolute error")]
    for name in (NI, GPU):
        with contextlib.suppress(MissingError):
            errors.append(r.fact("D.model", f"{name}: relative absolute error"))
    return both_ends(again(max(errors)), steps(lambda x: x < 15, lambda x: x < 40))


def calculator(r: Record):
    ours = r.series("D.occupancy", "Warps that a multiprocessor holds", "calculator, 2.1")
    sizes = (192, 256, 384, 512, 768)
    return share(sum(ours[x][0] == 48 for x in sizes), len(sizes))


def combinations(r: Record):
    speed = [f for _, f in r.series("D.occupancy", "What the size of a thread block is worth", "speed").pairs()]
    best, worst = (pick(speed, key=lambda f: f[0]) for pick in (max, min))
    return both_ends(over(best, worst), steps(lambda x: x >= 1.05, lambda x: x >= 1 + TIE))


RULES = {
    "D.small-data": loses_badly(lambda s, n: s.best(n, 0)),
    "D.small-buffers": small_buffers,
    "D.faster-with-data": faster_with_data,
    "D.large-cpp": large_cpp,
    "D.aes-ni-faster": aes_ni_faster,
    "D.large-aes-ni": large_aes_ni,
    "D.key-sizes": key_sizes,
    "D.same-models": same_models,
    "D.both-platforms": both_platforms,
    "D.one-large-transfer": one_large_transfer,
    "D.kernel-fast": kernel_is_fast,
    "D.stronger-gpus": stronger_gpus,
    "D.cheap": cheap,
    "D.cpu-freed": cpu_freed,
    "D.model": model,
    "D.calculator": calculator,
    "D.combinations": combinations,
}
