"""The rules of all verdicts, by the sentences of the papers, with the figures that these published.

This knows nothing of lab/claims, where the same rules stand in the lab's own words.
"""

from __future__ import annotations

import contextlib
import math

from record_figures import (
    NO,
    OPEN,
    PARTLY,
    TIE,
    YES,
    MissingError,
    Record,
    Series,
    again,
    both_ends,
    count,
    everywhere,
    gain,
    not_behind,
    order,
    over,
    same,
    share,
    steps,
    worse,
)
from verdict_rules_ours import RULES as OURS

# Gbit/s of [N]'s thirteen, of [G]'s two tables at 2 KB, 4 KB, … 8 MB.
THIRTEEN = (5.0, 34.4, 35.2, 21.54, 29.9, 21.7, 26.9, 23.9, 23.4, 25.3, 25.0, 17.1, 2.9)
CONSTANT = (0.502, 0.998, 1.963, 3.893, 5.364, 7.772, 9.174, 9.801, 7.885, 6.848, 6.019, 6.164, 6.001)
TEXTURE = (0.866, 1.731, 3.471, 4.700, 5.677, 7.028, 7.866, 8.224, 8.528, 8.835, 8.448, 9.015, 9.036)
SIZES_OF_G = [2048 << i for i in range(13)]

# -------------------------------------------------------------------------------------------------------------- [N]


def thirteen(r: Record):
    figures = r.series("N.implementations", "Thirteen implementations", "speed").figures
    return lambda *numbers: max(figures[n - 1] for n in numbers)


def published(a: int, b: int) -> float:
    return THIRTEEN[a - 1] / THIRTEEN[b - 1]


def pair(a, b):
    return lambda r: gain(over(thirteen(r)(a), thirteen(r)(b)), published(a, b))


def ranks(values):
    """Mean places, 1 the largest; neighbours within 1 % share one."""
    order_of = sorted(range(len(values)), key=lambda i: -values[i])
    out, group = [0.0] * len(values), []
    for k, i in enumerate(order_of):
        group.append(i)
        if k + 1 == len(order_of) or values[i] > 1.01 * values[order_of[k + 1]]:
            for j in group:
                out[j] = k + 1 - (len(group) - 1) / 2
            group = []
    return out


def n_order(r: Record):
    here = [f[0] for f in r.series("N.implementations", "Thirteen implementations", "speed").figures]
    a, b = ranks(THIRTEEN), ranks(here)
    mean = (len(a) + 1) / 2
    width = math.sqrt(sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b))
    rho = sum((x - mean) * (y - mean) for x, y in zip(a, b)) / width if width else 0
    low = math.tanh(math.atanh(min(rho, 0.9999)) - 1.96 * math.sqrt(1.06 / (len(a) - 3)))
    return YES if low >= 0.5 else PARTLY if low > 0 else NO


def n_granularity_order(r: Record):
    of = thirteen(r)
    best = of(2, 3), of(7, 8, 9), of(10, 11, 12), of(13)
    return everywhere([order(a, b) for a, b in zip(best, best[1:])])


def n_constant_keys(r: Record):
    ratio = over(thirteen(r)(2), thirteen(r)(3))
    return same(tuple(min(v, 1) if i else v for i, v in enumerate(ratio)))


def n_registers(r: Record):
    a, b = pair(3, 5)(r), pair(3, 6)(r)
    return OPEN if OPEN in (a, b) else a if a == b else PARTLY


def n_layouts(r: Record):
    of = thirteen(r)
    return everywhere([order(of(5), of(6)), order(of(7), of(9)), order(of(10), of(12))])


def n_persistent(r: Record):
    stays = r.series("N.persistent", "By length of the text", "threads that stay")
    once = r.series("N.persistent", "By length of the text", "a thread a block of text")
    orders = [order(stays[x], once[x]) for x in stays.x]
    return NO if orders[-1] == "behind" else PARTLY if "behind" in orders else YES


ITS_BEST = "its best: 16 bytes a thread, tables and keys in shared memory"


def n_overlap(r: Record):
    rates = r.series("N.overlap", "Throughput with transfers, by number of chunks", ITS_BEST)
    return gain(over(rates[4], rates[1]), 1.68)


def n_hidden(r: Record):
    hidden = r.series("N.overlap", "Share of the transfers' time", ITS_BEST)[4][0]
    return both_ends(again(hidden), steps(lambda x: x >= 65 * 2 / 3, lambda x: x >= 5))


# -------------------------------------------------------------------------------------------------------------- [G]


def g_schemes(r: Record):
    title = "Three schemes, tables in shared memory"
    one, two, three = (
        r.series("G.schemes", title, name)
        for name in (
            "1: a thread a block, text moved together",
            "2: four threads a block, no barrier",
            "3: sixteen threads a block, a lookup each",
        )
    )
    return not_behind([order(two[x], max(one[x], three[x])) for x in SIZES_OF_G if x in two.x])


def g_no_barrier(r: Record):
    title = "Bytes a thread, by how threads share a block"
    warp = r.series("N.granularity", title, "shared memory, warp waits")["4"]
    return gain(over(warp, r.series("N.granularity", title, "shared memory, thread block waits")["4"]))


def g_texture(r: Record):
    constant = r.series("G.tables", "The lookup tables' memory", "constant")
    texture = r.series("G.tables", "The lookup tables' memory", "texture")
    kept = open_ = of = 0
    for x, c, t in zip(SIZES_OF_G, CONSTANT, TEXTURE):
        if x not in constant.x:
            continue
        now = order(texture[x], constant[x])
        of += 1
        open_ += now == "unclear"
        kept += now == ("ahead" if t > c else "behind")
    return share(kept, of) if share(kept, of) == share(kept + open_, of) else OPEN


def g_mapped(r: Record):
    title = "From host memory to host memory, by input size"
    mapped = r.series("G.transfers", title, "mapped, write-combined")
    plain = r.series("G.transfers", title, "page-locked, one step after the other")
    return everywhere([order(mapped[x], plain[x]) for x in mapped.x])


def breakdown(at, as_published):
    def rule(r: Record):
        title = "Where the time goes: four threads a block, tables in constant memory"
        shares = [again(f) for x, f in r.series("G.breakdown", title, "compute").pairs() if at(x)]
        if not shares:
            raise MissingError(title)
        return count(shares, as_published)

    return rule


def g_encryption_share(r: Record):
    title = "Where the time goes: four threads a block, tables in constant memory"
    last = r.series("G.breakdown", title, "compute").last()
    return both_ends(again(last), steps(lambda x: x <= 40, lambda x: x < 50))


# -------------------------------------------------------------------------------------------------------------- [P]

GPU_FILE = "warpaes enc on the GPU"


def files(r: Record, key: str, name: str) -> Series:
    return r.series(key, "On a disk", name)


def large_files(key: str, least: float, published_gain: float):
    def rule(r: Record):
        gpu, openssl = files(r, key, GPU_FILE), files(r, key, "openssl enc, then fsync")
        ratios = [over(gpu[x], openssl[x]) for x in gpu.x if x >= least]
        if not ratios:
            raise MissingError(key)
        return gain(tuple(sum(column) / len(ratios) for column in zip(*ratios)), 1 + published_gain)

    return rule


def p_small(r: Record):
    rule = steps(lambda x: x > 1.25, lambda x: x > 1 + TIE)
    verdicts = {
        both_ends(over(files(r, k, "openssl enc, then fsync").first(), files(r, k, GPU_FILE).first()), rule)
        for k in ("P.encryption", "P.decryption")
    }
    return verdicts.pop() if len(verdicts) == 1 else OPEN


def p_streams(r: Record):
    rates = r.series("P.streams", "A file of ", "cuda")
    return both_ends(over(rates[4], rates[1]), lambda x: NO if x < 1 + TIE else YES if x <= 1.14 else PARTLY)


def p_staging(r: Record):
    rates = r.series("P.staging", "A file of ", "cuda", "on a disk")
    return same(over(rates[8 << 20], rates.best()))


def p_staging_ends(r: Record):
    rates = r.series("P.staging", "A file of ", "cuda", "on a disk")
    ends = [order(rates.best(), rates.first()), order(rates.best(), rates.last())]
    return OPEN if "unclear" in ends else (NO, PARTLY, YES)[ends.count("ahead")]


def p_reader_writer(r: Record):
    rates = r.series("P.pipeline", "A file of ", "cuda", "on a disk")
    return gain(over(rates["reader, worker, writer"], rates["one thread"]))


def p_memories(r: Record):
    panel = r.panels("P.memory", "Tables by memory, keys by memory")[0]
    slowest = min(v for s in panel["series"] for v in s["values"])
    fastest = r.series("P.pipeline", "A file of ", "cuda", "on a disk").best()[0]
    return both_ends(again(slowest / fastest), lambda x: YES if x > 1 else NO)


def p_random_access(r: Record):
    time = r.series("P.random_access", "Time by range", "CTR, a file job with a range")
    part = time.first()[0] / time.last()[0]
    return both_ends(again(part), steps(lambda x: x < 0.1, lambda x: x < 0.5))


def p_aes_ni(r: Record):
    cpu, gpu = files(r, "P.encryption", "warpaes enc"), files(r, "P.encryption", GPU_FILE)
    ratios = [over(cpu[x], gpu[x]) for x in cpu.x if x >= 63e6]
    if not ratios:
        raise MissingError("63 MB")
    ratio = tuple(sum(column) / len(ratios) for column in zip(*ratios))
    return both_ends(ratio, lambda x: NO if x < 2 / 3 else PARTLY if x > 1.5 else YES)


def p_cpu_freed(r: Record):
    gpu = r.series("P.encryption", "Processor seconds a gigabyte", GPU_FILE)
    return gain(over(r.series("P.encryption", "Processor seconds a gigabyte", "openssl enc").last(), gpu.last()), 2)


def host_memory(r: Record):
    title = "Copies in and out around the kernel"
    return r.series("P.host_memory", title, "page-locked"), r.series("P.host_memory", title, "pageable")


def p_modes(r: Record):
    rates = [f for _, f in r.series("P.modes", "Modes that are parallel", "cuda").pairs()]
    slowest, fastest = (pick(rates, key=lambda f: f[0]) for pick in (min, max))
    return both_ends(again(over(slowest, fastest)), steps(lambda x: x > 0.8, lambda x: x > 0.5))


# -------------------------------------------------------------------------------------------------------------- [D]

SURFACES = [f"AES-{bits} {way}" for bits in (128, 192, 256) for way in ("encryption", "decryption")]
BADLY = steps(lambda x: x >= 2, lambda x: x >= 1 + TIE)


class Surface:
    def __init__(self, r: Record, title: str = "AES-128 encryption"):
        self.of = {n: r.series("D.surfaces", title, n) for n in ("C++ with T-tables", "AES-NI", "CUDA")}

    def best(self, name: str, file: int):
        files_of = len(self.of[name].x)
        return max(self.of[name].column(file % files_of), key=lambda f: f[0])

    def smallest_buffer(self, name: str):
        return self.of[name].figures[len(self.of[name].x) - 1]


def d_small(pick):
    def rule(r: Record):
        s = Surface(r)
        return worse(*(both_ends(over(pick(s, n), pick(s, "CUDA")), BADLY) for n in ("C++ with T-tables", "AES-NI")))

    return rule


def d_large_cpp(r: Record):
    s = Surface(r)
    return gain(over(s.best("CUDA", -1), s.best("C++ with T-tables", -1)))


def d_large_ni(r: Record):
    s = Surface(r)
    return both_ends(
        over(s.best("CUDA", -1), s.best("AES-NI", -1)), lambda x: NO if x < 0.5 else YES if x < 1 + TIE else PARTLY
    )


def d_ni_faster(r: Record):
    s = Surface(r)
    return not_behind([order(s.best("AES-NI", i), s.best("CUDA", i)) for i in range(len(s.of["CUDA"].x))])


def d_key_sizes(r: Record):
    least = most = 0
    for title in SURFACES:
        s = Surface(r, title)
        small, buffer, cpp, ni = (
            over(a, b)
            for a, b in (
                (s.best("AES-NI", 0), s.best("CUDA", 0)),
                (s.smallest_buffer("AES-NI"), s.smallest_buffer("CUDA")),
                (s.best("CUDA", -1), s.best("C++ with T-tables", -1)),
                (s.best("CUDA", -1), s.best("AES-NI", -1)),
            )
        )
        # Of each condition the end at which it is hardest to meet, and the one at which it is easiest.
        least += small[1] >= 2 and buffer[1] >= 2 and cpp[1] >= 1 + TIE and ni[1] >= 0.5 and ni[2] < 1.15
        most += small[2] >= 2 and buffer[2] >= 2 and cpp[2] >= 1 + TIE and ni[2] >= 0.5 and ni[1] < 1.15
    return share(least, len(SURFACES)) if share(least, len(SURFACES)) == share(most, len(SURFACES)) else OPEN


def d_cpu_freed(r: Record):
    row = r.series("D.surfaces", "Processor seconds a gigabyte", "largest file and buffer")
    return gain(over(row["AES-NI"], row["CUDA"]), 2)


def d_model(r: Record):
    errors = [r.fact("D.model", "C++ with T-tables: relative absolute error")]
    for name in ("AES-NI", "CUDA"):
        with contextlib.suppress(MissingError):
            errors.append(r.fact("D.model", f"{name}: relative absolute error"))
    return both_ends(again(max(errors)), steps(lambda x: x < 15, lambda x: x < 40))


def d_calculator(r: Record):
    ours = r.series("D.occupancy", "Warps that a multiprocessor holds", "calculator, 2.1")
    sizes = (192, 256, 384, 512, 768)
    return share(sum(ours[x][0] == 48 for x in sizes), len(sizes))


def d_grid(r: Record):
    speed = r.series("D.occupancy", "Sixteen thread blocks, and a grid for this GPU", "speed")
    return same(over(speed.figures[1], speed.figures[0]))


# -------------------------------------------------------------------------------------------------------------- [H]

READS = "Reads a clock and multiprocessor"


def h_random_reads(r: Record):
    random = r.series("H.reads", READS, "random")
    ahead = [order(random["shared"], random[other]) == "ahead" for other in ("constant", "texture")]
    return (NO, PARTLY, YES)[sum(ahead)]


def h_coherent_reads(r: Record):
    coherent = r.series("H.reads", READS, "coherent: one word")["constant"]
    return both_ends(over(coherent, r.series("H.reads", READS, "random")["constant"]), BADLY)


def table_study(r: Record, memory: str, kinds=("quad table", "single table, rotations")):
    return max(r.series("H.tables", "A single table or four", kind)[memory] for kind in kinds)


def h_shared_fastest(r: Record):
    return gain(over(table_study(r, "shared"), max(table_study(r, "texture"), table_study(r, "constant"))))


def h_quad_table(r: Record):
    return gain(over(table_study(r, "shared", ["quad table"]), table_study(r, "shared", ["single table, rotations"])))


def h_copies(r: Record):
    ratio = over(table_study(r, "shared, one copy a bank"), table_study(r, "shared"))
    return both_ends(ratio, steps(lambda x: x < 1 + TIE, lambda x: x < 1.1))


def counter_mode(r: Record):
    alone = r.series("H.ctr", "CTR, kernel alone", "four tables in shared memory").best()
    return alone, r.series(
        "H.ctr", "CTR with transfers", "four tables in shared memory, one step after the other"
    ).best()


def h_transfers(r: Record):
    alone, with_transfers = counter_mode(r)
    return both_ends(over(with_transfers, alone), steps(lambda x: x <= 0.55, lambda x: x <= 0.8))


def over_cpu(which: int, times: float):
    def rule(r: Record):
        return gain(
            over(counter_mode(r)[which], r.series("D.surfaces", "AES-128 encryption", "C++ with T-tables").best()),
            times,
        )

    return rule


def h_overhead(*published_costs):
    def rule(r: Record):
        cost = r.series("H.overhead", "Overhead of many messages", "[H]'s model, with transfers")
        here = [(again(cost[blocks][0]), percent) for blocks, percent in published_costs]

        def at(end: int):
            if all(h[end] >= percent * 2 / 3 for h, percent in here):
                return YES
            return PARTLY if any(h[end] >= 5 for h, _ in here) else NO

        return at(1) if at(1) == at(2) else OPEN

    return rule


def h_striping(r: Record):
    rate = r.series("H.overhead", "Natural and striped threads", "[H]'s model, kernel alone")
    return both_ends(over(rate["natural"], rate["striped"]), steps(lambda x: x <= 1.01, lambda x: x <= 1.05))


def h_rekeying(r: Record):
    one = r.series("H.rekeying", "A new key for every message", "[H]'s model, one key")
    each = r.series("H.rekeying", "A new key for every message", "[H]'s model, a key each, expanded")
    return count([again(over(one[x], each[x])) for x in one.x], lambda x: x > 1.25)


def h_serial_counts(r: Record):
    rates = r.series("H.serial", "CBC encryption: [H]'s model", "[H]'s model")
    row = len(rates.y) // 2
    figures = [f for f in rates.figures[row * len(rates.x) : (row + 1) * len(rates.x)] if f]
    return both_ends(over(figures[-1], figures[0]), steps(lambda x: x > 4, lambda x: x > 1.5))


def h_serial_alike(r: Record):
    modes = [dict(r.series("H.serial", "Serial modes by number of messages", m).pairs()) for m in ("CBC", "OFB", "CFB")]
    at = [[mode[x] for mode in modes] for x in modes[0] if all(x in mode for mode in modes)]
    apart = [over(max(f, key=lambda f: f[0]), min(f, key=lambda f: f[0])) for f in at]
    return count(apart, lambda x: x <= 1.15)


def h_stride(r: Record):
    reads = r.series("H.reads", "Reads by the distance of neighbouring threads", "16 bytes a thread")
    return both_ends(over(reads[128], reads.best()), steps(lambda x: x < 0.5, lambda x: x < 0.8))


def orders_of(r: Record):
    figures = r.series("H.mixing", "Seven orders, many times the messages", "[H]'s model, striped threads").figures
    return lambda n: figures[n - 1]


def h_packed(r: Record):
    of = orders_of(r)
    found = [order(of(3), of(1)), order(of(3), of(2))]
    return OPEN if "unclear" in found else (NO, PARTLY, YES)[found.count("ahead")]


def step(better: int, than: int):
    return lambda r: gain(over(orders_of(r)(better), orders_of(r)(than)))


def h_registers(r: Record):
    title = "Registers a thread, by what the kernel knows"
    alone, mixed = (r.series("H.modes", title, name) for name in ("this mode alone", "all modes"))
    r.series("H.modes", "A kernel for one mode, and the one for all", "all modes")
    return share(sum(mixed[mode][0] > alone[mode][0] for mode in ("ECB", "CTR", "CBC", "CFB", "OFB")), 5)


RULES = {
    "N.order": n_order,
    "N.granularity": lambda r: gain(over(thirteen(r)(2, 3), thirteen(r)(*range(7, 14))), published(3, 7)),
    "N.granularity-order": n_granularity_order,
    "N.constant-tables": pair(2, 1),
    "N.constant-keys": n_constant_keys,
    "N.constant-keys-8": pair(7, 8),
    "N.constant-keys-4": lambda r: same(over(thirteen(r)(10), thirteen(r)(11))),
    "N.four-tables": pair(3, 4),
    "N.registers": n_registers,
    "N.layouts": n_layouts,
    "N.persistent": n_persistent,
    "N.overlap": n_overlap,
    "N.hidden": n_hidden,
    "G.schemes": g_schemes,
    "G.no-barrier": g_no_barrier,
    "G.texture-shape": g_texture,
    "G.mapped": g_mapped,
    "G.compute-below-32K": breakdown(lambda x: x < 32768, lambda s: s > 50),
    "G.balance-32K-128K": breakdown(lambda x: 32768 <= x <= 131072, lambda s: 30 < s < 70),
    "G.transfers-above-128K": breakdown(lambda x: x > 131072, lambda s: s < 50),
    "G.encryption-25-30": g_encryption_share,
    "P.encryption-large": large_files("P.encryption", 63e6, 0.55),
    "P.decryption-large": large_files("P.decryption", 125e6, 0.50),
    "P.small-files": p_small,
    "P.streams": p_streams,
    "P.staging": p_staging,
    "P.staging-ends": p_staging_ends,
    "P.reader-writer": p_reader_writer,
    "P.memories": p_memories,
    "P.random-access": p_random_access,
    "P.aes-ni": p_aes_ni,
    "P.cpu-freed": p_cpu_freed,
    "P.page-locked": lambda r: gain(over(*(s.last() for s in host_memory(r)))),
    "P.modes": p_modes,
    "D.small-data": d_small(lambda s, n: s.best(n, 0)),
    "D.small-buffers": d_small(lambda s, n: s.smallest_buffer(n)),
    "D.large-cpp": d_large_cpp,
    "D.large-aes-ni": d_large_ni,
    "D.aes-ni-faster": d_ni_faster,
    "D.key-sizes": d_key_sizes,
    "D.cpu-freed": d_cpu_freed,
    "D.model": d_model,
    "D.calculator": d_calculator,
    "D.grid": d_grid,
    "H.random-reads": h_random_reads,
    "H.coherent-reads": h_coherent_reads,
    "H.shared-fastest": h_shared_fastest,
    "H.quad-table": h_quad_table,
    "H.copies": h_copies,
    "H.transfers": h_transfers,
    "H.over-cpu": over_cpu(0, 10),
    "H.over-cpu-transfers": over_cpu(1, 4),
    "H.page-locked": lambda r: everywhere([order(a[x], b[x]) for a, b in [host_memory(r)] for x in a.x]),
    "H.overhead-long": h_overhead((16384, 16), (512, 22)),
    "H.overhead-short": h_overhead((16, 45)),
    "H.striping": h_striping,
    "H.rekeying": h_rekeying,
    "H.serial-counts": h_serial_counts,
    "H.serial-alike": h_serial_alike,
    "H.stride": h_stride,
    "H.registers": h_registers,
    "H.mixing-packed": h_packed,
    "H.mixing-groups": step(5, 4),
    "H.mixing-spread": step(6, 5),
    "H.mixing-size": step(7, 6),
} | OURS
