"""Rules for the conclusions of [H] (lab/claims/statements/harrison.json), with its published figures."""

from __future__ import annotations

from record_figures import (
    NO,
    OPEN,
    PARTLY,
    TIE,
    YES,
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
)

READS = "Reads a clock and multiprocessor"
TABLES = "A single table or four"
QUAD, SINGLE = "quad table", "single table, rotations"


def random_reads(r: Record):
    """ "By a large margin" means at least a factor of two."""
    at = r.series("H.reads", READS, "random")
    ratios = [over(at["shared"], at[other]) for other in ("constant", "texture")]
    least = tuple(min(ratio[i] for ratio in ratios) for i in range(3))
    return both_ends(least, steps(lambda x: x >= 2, lambda x: x >= 1 + TIE))


def coherent_reads(r: Record):
    """Compare constant memory with the other two kinds of memory, all with coherent reads."""
    at = r.series("H.reads", READS, "coherent: one word")
    ahead = [order(at["constant"], at[other]) for other in ("shared", "texture")]
    return OPEN if "unclear" in ahead else (NO, PARTLY, YES)[ahead.count("ahead")]


def tables(r: Record, memory: str, kinds=(QUAD, SINGLE)):
    return max(r.series("H.tables", TABLES, kind)[memory] for kind in kinds)


def copies(r: Record):
    """ "Coherent shared" means 16 copies of the same table."""
    ratio = over(tables(r, "shared, one copy a bank", [SINGLE]), tables(r, "shared", [QUAD]))
    return both_ends(ratio, steps(lambda x: x < 1 + TIE, lambda x: x < 1.1))


def global_text(r: Record):
    rates = r.series("H.tables", "Text by memory", "tables in shared memory")
    return gain(over(rates["global memory"], rates["texture"]))


def threads_256(r: Record):
    speed = r.series("P.threads", "Threads a thread block", "encryption")
    ours = speed[256]
    others = max((f for x, f in speed.pairs() if x != 256), key=lambda f: f[0])
    return both_ends(over(others, ours), steps(lambda x: x < 1 + TIE, lambda x: x <= 1.05))


def kernel_alone(r: Record):
    return r.series("H.ctr", "CTR, kernel alone", "four tables in shared memory")


def with_transfers(r: Record):
    return r.series("H.ctr", "CTR with transfers", "four tables in shared memory, one step after the other")


def many_threads(r: Record):
    rates = kernel_alone(r)
    return both_ends(over(rates.first(), rates.best()), steps(lambda x: x < 0.5, lambda x: x < 0.8))


def cpu(r: Record):
    return r.series("D.surfaces", "AES-128 encryption", "C++ with T-tables")


def small_payloads(r: Record):
    """Compare with the CPU's best figure at the smallest size."""
    gpu, surface = with_transfers(r), cpu(r)
    size = gpu.x[0]
    column = [f for f in surface.column(surface.x.index(size)) if f is not None]
    return gain(over(max(column, key=lambda f: f[0]), gpu.first()))


def overhead(*published_costs):
    def rule(r: Record):
        cost = r.series("H.overhead", "Overhead of many messages", "[H]'s model, with transfers")
        here = [(again(cost[blocks][0]), percent) for blocks, percent in published_costs]

        def at(end: int):
            if all(h[end] >= percent * 2 / 3 for h, percent in here):
                return YES
            return PARTLY if any(h[end] >= 5 for h, _ in here) else NO

        return at(1) if at(1) == at(2) else OPEN

    return rule


def grows(shares: list[float]) -> str:
    """Judge whether shares in per cent grow from the fewest messages to the most messages."""
    kept = sum(more >= less - 1 for less, more in zip(shares, shares[1:]))
    return share(kept, len(shares) - 1)


def overhead_grows(r: Record):
    """All points have the same payload, so shorter messages mean more messages."""
    costs = r.series("H.overhead", "Overhead of many messages", "[H]'s model, with transfers").pairs()
    return grows([f[0] for _, f in sorted(costs, reverse=True)])


def striping(r: Record):
    rate = r.series("H.overhead", "Natural and striped threads", "[H]'s model, kernel alone")
    return both_ends(over(rate["natural"], rate["striped"]), steps(lambda x: x <= 1.01, lambda x: x <= 1.05))


def rekeying(r: Record):
    title = "A new key for every message"
    one = r.series("H.rekeying", title, "[H]'s model, one key")
    each = r.series("H.rekeying", title, "[H]'s model, a key each, expanded")
    behind = [order(each[x], one[x]) for x in one.x]
    if everywhere(behind, "behind") != YES:
        return OPEN if "unclear" in behind else NO
    return grows([100 * (1 - each[x][0] / one[x][0]) for x in sorted(one.x, reverse=True)])


def model_in_cbc(r: Record):
    return r.series("H.serial", "CBC encryption: [H]'s model", "[H]'s model")


def row(series, i: int):
    width = len(series.x)
    return [f for f in series.figures[i * width : (i + 1) * width] if f]


def serial_counts(r: Record):
    rates = model_in_cbc(r)
    figures = row(rates, len(rates.y) // 2)
    return both_ends(over(figures[-1], figures[0]), steps(lambda x: x > 4, lambda x: x > 1.5))


def serial_collapse(r: Record):
    rates = model_in_cbc(r)
    longest = row(rates, len(rates.y) - 1)
    best = max(longest, key=lambda f: f[0])
    return both_ends(over(longest[-1], best), steps(lambda x: x < 0.8, lambda x: x <= 1 / (1 + TIE)))


def serial_alike(r: Record):
    modes = [dict(r.series("H.serial", "Serial modes by number of messages", m).pairs()) for m in ("CBC", "OFB", "CFB")]
    at = [[mode[x] for mode in modes] for x in modes[0] if all(x in mode for mode in modes)]
    apart = [over(max(f, key=lambda f: f[0]), min(f, key=lambda f: f[0])) for f in at]
    return count(apart, lambda x: x <= 1.15)


def serial_and_parallel(r: Record):
    modes = ("CBC (serial)", "CTR (parallel)")
    return [r.series("H.modes", "Serial beside parallel messages", f"[H]'s model, {mode}") for mode in modes]


def serial_exceeds(r: Record):
    serial, parallel = serial_and_parallel(r)
    return gain(over(serial.last(), parallel.last()))


def parallel_few(r: Record):
    """Require a factor of two, which is easy to see in a comparison."""
    serial, parallel = serial_and_parallel(r)
    ratio = over(parallel.first(), serial.first())
    return both_ends(ratio, steps(lambda x: x >= 2, lambda x: x >= 1 + TIE))


def stride(r: Record):
    reads = r.series("H.reads", "Reads by the distance of neighbouring threads", "16 bytes a thread")
    return both_ends(over(reads[128], reads.best()), steps(lambda x: x < 0.5, lambda x: x < 0.8))


def orders_of(r: Record):
    figures = r.series("H.mixing", "Seven orders, many times the messages", "[H]'s model, striped threads").figures
    return lambda n: figures[n - 1]


def packed(r: Record):
    """ "Much faster than both" means a factor of two, like "by a large margin" in random_reads."""
    of = orders_of(r)
    ratios = [over(of(3), of(other)) for other in (1, 2)]
    least = tuple(min(ratio[i] for ratio in ratios) for i in range(3))
    return both_ends(least, steps(lambda x: x >= 2, lambda x: x >= 1 + TIE))


def step(better: int, than: int):
    return lambda r: gain(over(orders_of(r)(better), orders_of(r)(than)))


def registers(r: Record):
    title = "Registers a thread, by what the kernel knows"
    alone, mixed = (r.series("H.modes", title, name) for name in ("this mode alone", "all modes"))
    r.series("H.modes", "A kernel for one mode, and the one for all", "all modes")
    return share(sum(mixed[mode][0] > alone[mode][0] for mode in ("ECB", "CTR", "CBC", "CFB", "OFB")), 5)


def page_locked(r: Record):
    title = "Copies in and out around the kernel"
    locked, pageable = (r.series("P.host_memory", title, name) for name in ("page-locked", "pageable"))
    return everywhere([order(locked[x], pageable[x]) for x in locked.x])


RULES = {
    "H.random-reads": random_reads,
    "H.coherent-reads": coherent_reads,
    "H.shared-fastest": lambda r: gain(over(tables(r, "shared"), max(tables(r, "texture"), tables(r, "constant")))),
    "H.quad-table": lambda r: gain(over(tables(r, "shared", [QUAD]), tables(r, "shared", [SINGLE]))),
    "H.copies": copies,
    "H.global-text": global_text,
    "H.threads-256": threads_256,
    "H.many-threads": many_threads,
    "H.over-cpu": lambda r: gain(over(kernel_alone(r).best(), cpu(r).best()), 10),
    "H.over-cpu-transfers": lambda r: gain(over(with_transfers(r).best(), cpu(r).best()), 4),
    "H.page-locked": page_locked,
    "H.overhead-long": overhead((16384, 16), (512, 22)),
    "H.overhead-short": overhead((16, 45)),
    "H.overhead-grows": overhead_grows,
    "H.striping": striping,
    "H.rekeying": rekeying,
    "H.serial-counts": serial_counts,
    "H.parallel-few": parallel_few,
    "H.serial-alike": serial_alike,
    "H.serial-exceeds": serial_exceeds,
    "H.serial-collapse": serial_collapse,
    "H.stride": stride,
    "H.registers": registers,
    "H.mixing-packed": packed,
    "H.mixing-groups": step(5, 4),
    "H.mixing-spread": step(6, 5),
    "H.mixing-size": step(7, 6),
    "H.small-payloads": small_payloads,
}
