"""Rules for our own conclusions, [W] (lab/claims/statements/ours.json)."""

from __future__ import annotations

import math

from record_figures import (
    NO,
    PARTLY,
    TIE,
    YES,
    MissingError,
    Record,
    Series,
    again,
    both_ends,
    everywhere,
    gain,
    order,
    over,
    same,
    steps,
)
from rules_gibadullin import THIRTEEN


def w_text_paths(r: Record):
    rates = r.series("H.tables", "Text by memory", "tables in shared memory")
    return same(over(rates["texture"], rates["global memory"]))


def w_text_straight(r: Record):
    straight, staged = (
        r.series("D.memory", "Tables, keys and text by memory", name)["both shared"]
        for name in ("text straight from global memory", "text through shared memory")
    )
    return gain(over(straight, staged))


def w_serial_reaches(r: Record):
    serial, parallel = (
        r.series("H.modes", "Serial beside parallel messages", f"production, {mode}").last()
        for mode in ("CBC (serial)", "CTR (parallel)")
    )
    return both_ends(over(serial, parallel), steps(lambda x: x >= 0.8, lambda x: x >= 0.5))


def w_ofb(r: Record):
    title = "OFB on processors and GPU"
    panel = r.panels("H.modes", title)[0]
    cpu = [Series(panel, s).last() for s in panel["series"] if s["name"].endswith(", all threads")]
    if not cpu:
        raise MissingError("processors")
    return gain(over(r.series("H.modes", title, "GPU, page-locked memory").last(), max(cpu)))


def w_tables(a: tuple[str, str], b: tuple[str, str]):
    def rule(r: Record):
        at = [r.series("N.tables", "Tables by memory and number", name)[place] for name, place in (a, b)]
        return gain(over(*at))

    return rule


def w_shuffles(r: Record):
    title = "Bytes a thread, by how threads share a block"
    shuffled = r.series("N.granularity", title, "registers, shuffled")
    shared = r.series("N.granularity", title, "shared memory, thread block waits")
    return everywhere([order(shuffled[x], shared[x]) for x in ("8", "4", "1")])


def w_texture(r: Record):
    title = "The lookup tables' memory"
    return gain(over(r.series("G.tables", title, "shared").last(), r.series("G.tables", title, "texture").last()))


def w_overlapped(r: Record):
    title = "From host memory to host memory, by input size"
    overlapped = r.series("G.transfers", title, "page-locked, overlapped").last()
    return gain(over(overlapped, r.series("G.transfers", title, "mapped, write-combined").last()))


def w_workers(r: Record):
    """Judge the figures on the disk and in memory for each backend."""
    found = []
    for panel in r.panels("P.pipeline", "A file of "):
        for one in panel["series"]:
            rates = Series(panel, one)
            found.append(order(rates.last(), rates["reader, worker, writer"]))
    return everywhere(found)


def w_reader_writer(r: Record):
    rates = r.series("P.pipeline", "A file of ", "cuda", "on a disk")
    return gain(over(rates["reader, worker, writer"], rates["one thread"]))


def w_parallel_modes(r: Record):
    rates = [f for _, f in r.series("P.modes", "Modes that are parallel", "cuda").pairs()]
    slowest, fastest = (pick(rates, key=lambda f: f[0]) for pick in (min, max))
    return both_ends(again(over(slowest, fastest)), steps(lambda x: x > 0.8, lambda x: x > 0.5))


def w_transfers(r: Record):
    alone = r.series("H.ctr", "CTR, kernel alone", "four tables in shared memory").best()
    copied = r.series("H.ctr", "CTR with transfers", "four tables in shared memory, one step after the other").best()
    return both_ends(over(copied, alone), steps(lambda x: x <= 0.5, lambda x: x <= 0.8))


def places(values):
    """Return mean ranks; rank 1 is the largest value. Neighbours within 1 % share a rank."""
    order_of = sorted(range(len(values)), key=lambda i: -values[i])
    out, group = [0.0] * len(values), []
    for k, i in enumerate(order_of):
        group.append(i)
        if k + 1 == len(order_of) or values[i] > 1.01 * values[order_of[k + 1]]:
            for j in group:
                out[j] = k + 1 - (len(group) - 1) / 2
            group = []
    return out


def w_thirteen_order(r: Record):
    here = [f[0] for f in r.series("N.implementations", "Thirteen implementations", "speed").figures]
    a, b = places(THIRTEEN), places(here)
    mean = (len(a) + 1) / 2
    width = math.sqrt(sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b))
    rho = sum((x - mean) * (y - mean) for x, y in zip(a, b)) / width if width else 0
    low = math.tanh(math.atanh(min(rho, 0.9999)) - 1.96 * math.sqrt(1.06 / (len(a) - 3)))
    return YES if low >= 0.5 else PARTLY if low > 0 else NO


def w_occupancy(r: Record):
    warps = r.series("D.occupancy", "Warps that a multiprocessor holds", "the runtime, here")
    speed = r.series("D.occupancy", "What the size of a thread block is worth", "speed")
    most = warps.best()[0]
    half = [speed[x] for x in warps.x if warps[x][0] <= most / 2]
    if not half:
        raise MissingError("half")
    full = [speed[x] for x in warps.x if warps[x][0] == most]
    left = over(*(max(figures, key=lambda f: f[0]) for figures in (half, full)))
    return both_ends(left, steps(lambda x: x < 0.85, lambda x: x < 0.95))


def w_ordering(r: Record):
    ours = [f for _, f in r.series("H.mixing", "Seven orders of the same", "production: the engine orders").pairs()]
    best, worst = (pick(ours, key=lambda f: f[0]) for pick in (max, min))
    return both_ends(over(best, worst), steps(lambda x: x <= 1.05, lambda x: x <= 1.15))


SECRETS = ("text", "key")


def largest_t(r: Record, kernel: str, secrets=SECRETS) -> float:
    facts = {f["name"]: f["value"] for f in r.result("W.leakage")["facts"]}
    found = [facts[name] for what in secrets if (name := f"|t|, {kernel}, {what}") in facts]
    if not found:
        raise MissingError(kernel)
    return max(found)


def silent(*kernels, secrets=SECRETS):
    return lambda r: YES if all(largest_t(r, k, secrets) < 4.5 for k in kernels) else NO


def silent_beside_tables(*kernels):
    """Require that the same tests, with texts and with keys, detect tables in shared memory. Otherwise, the verdict is
    meaningless."""

    def rule(r: Record):
        if any(largest_t(r, "shared memory", (secret,)) <= 10 for secret in SECRETS):
            raise MissingError("control")
        return silent(*kernels)(r)

    return rule


def w_launches(control: str, secret: str, *names: str):
    """Require that the same test detects a leaking kernel, with texts or keys of the same class. Otherwise, the verdict
    is meaningless."""

    def rule(r: Record):
        facts = {f["name"]: f["value"] for f in r.result("W.leakage")["facts"]}
        # Builds without the second control read the two classes of texts from different addresses.
        if "|t|, T-tables' launches, ECB, equal blocks, text" not in facts:
            raise MissingError("control")
        if facts.get(f"|t|, T-tables' launches, {control}, {secret}", 0) <= 10:
            raise MissingError("control")
        return silent(*(f"production's launches, {name}" for name in names), secrets=(secret,))(r)

    return rule


def w_tables_tell(r: Record):
    tell = [largest_t(r, f"{m} memory") > 10 for m in ("constant", "shared", "global", "texture")]
    return YES if all(tell) else PARTLY if any(tell) else NO


def w_contenders(mode: str):
    def rule(r: Record):
        def best(name):
            return r.series("W.contenders", f"Contenders, {mode}", name).best()

        others = max(
            map(best, ("published way: shared tables, one copy", "a copy of the tables for each bank", "bitsliced"))
        )
        return both_ends(over(best("production"), others), steps(lambda x: x >= 1 + TIE, lambda x: x > 1 - TIE))

    return rule


RULES = {
    "W.copies": w_tables(("4 tables", "shared, one copy a bank"), ("4 tables", "shared")),
    "W.s-box": w_tables(("S-box, arithmetic", "shared"), ("4 tables", "shared")),
    "W.shuffles": w_shuffles,
    "W.texture": w_texture,
    "W.overlapped": w_overlapped,
    "W.workers": w_workers,
    "W.occupancy": w_occupancy,
    "W.ordering": w_ordering,
    "W.text-paths": w_text_paths,
    "W.text-straight": w_text_straight,
    "W.serial-reaches": w_serial_reaches,
    "W.ofb": w_ofb,
    "W.tables-tell": w_tables_tell,
    "W.apart-silent": silent_beside_tables("one copy a bank", "bitsliced"),
    "W.production-silent": silent_beside_tables("production's functions"),
    "W.launches-equal": w_launches("ECB, equal blocks", "text", "ECB, equal blocks"),
    "W.launches-texts": w_launches(
        "ECB, equal warps",
        "text",
        *(f"{name}, equal warps" for name in ("ECB", "CTR", "ECB, decryption", "ECB, AES-256")),
    ),
    "W.launches-keys": w_launches("ECB, equal warps", "key", "CTR, equal warps"),
    "W.thirteen-order": w_thirteen_order,
    "W.transfers": w_transfers,
    "W.reader-writer": w_reader_writer,
    "W.parallel-modes": w_parallel_modes,
    "W.contenders-ecb": w_contenders("ECB"),
    "W.contenders-ctr": w_contenders("CTR"),
}
