"""Rules for the conclusions of [P] (lab/claims/statements/paracrypt.json), with its published figures.

The paper's openssl ran without AES instructions, so the comparison of the GPU with openssl uses an openssl without
them.
"""

from __future__ import annotations

from record_figures import (
    NO,
    OPEN,
    PARTLY,
    TIE,
    YES,
    MissingError,
    Record,
    again,
    average,
    both_ends,
    gain,
    order,
    over,
    same,
    steps,
    worse,
)

GPU = "warpaes enc on the GPU"
WITH, WITHOUT = "openssl enc, then fsync", "openssl enc without AES instructions, then fsync"


def files(r: Record, key: str, name: str):
    return r.series(key, "On a disk", name)


def mean_ratio(r: Record, key: str, a: str, b: str, least: float):
    one, other = files(r, key, a), files(r, key, b)
    ratios = [over(one[x], other[x]) for x in one.x if x >= least]
    if not ratios:
        raise MissingError(f"files of {least} bytes")
    return average(ratios)


def large_files(key: str, least: float, published_gain: float):
    return lambda r: gain(mean_ratio(r, key, GPU, WITHOUT, least), 1 + published_gain)


def decryption_less(r: Record):
    ratio = over(
        mean_ratio(r, "P.decryption", GPU, WITHOUT, 125e6),
        mean_ratio(r, "P.encryption", GPU, WITHOUT, 63e6),
    )

    def rule(x):
        return NO if x > 1 / (1 + TIE) else YES if x >= 0.85 else PARTLY

    return both_ends(ratio, rule)


def small_files(r: Record):
    """Accept a record without the slower openssl at 16 KiB, because AES instructions save only 30 µs out of several
    milliseconds."""
    verdicts = []
    for key in ("P.encryption", "P.decryption"):
        try:
            openssl = files(r, key, WITHOUT)
        except MissingError:
            openssl = files(r, key, WITH)
        ratio = over(openssl.first(), files(r, key, GPU).first())
        verdicts.append(both_ends(ratio, steps(lambda x: x > 1.25, lambda x: x > 1 + TIE)))
    return worse(*verdicts)


def delay(r: Record):
    title = "Throughput by size and place"
    gpu = r.series("W.worth", title, "GPU, page-locked memory").first()
    for backend in ("aesni", "armv8"):
        try:
            return gain(over(r.series("W.worth", title, f"{backend}, one thread").first(), gpu))
        except MissingError:
            pass
    raise MissingError("one thread")


def aes_ni(r: Record):
    """Compare with openssl with AES instructions, which is the paper's alternative, and not with warpaes on all
    threads."""
    ratio = mean_ratio(r, "P.encryption", WITH, GPU, 63e6)
    # The ends of a range do not determine the values between them.
    inside = [2 / 3 <= x <= 1.5 for x in ratio]
    if ratio[1] < 2 / 3 and ratio[2] > 1.5:
        return OPEN
    return OPEN if inside[1] != inside[2] else YES if inside[1] else NO


def streams(r: Record):
    rates = r.series("P.streams", "A file of ", "cuda")
    return both_ends(over(rates[4], rates[1]), lambda x: NO if x < 1 + TIE else YES if x <= 1.14 else PARTLY)


def staging(r: Record):
    rates = r.series("P.staging", "A file of ", "cuda", "on a disk")
    return same(over(rates[8 << 20], rates.best()))


def staging_ends(r: Record):
    rates = r.series("P.staging", "A file of ", "cuda", "on a disk")
    ends = [order(rates.best(), rates.first()), order(rates.best(), rates.last())]
    return OPEN if "unclear" in ends else (NO, PARTLY, YES)[ends.count("ahead")]


def host_memory(r: Record, name: str):
    return r.series("P.host_memory", "Copies in and out around the kernel", name)


def one_thread(r: Record):
    speed = r.series("P.threads", "Threads a block of AES", "encryption")
    return gain(over(speed["1"], max(speed[team] for team in ("2", "4", "16"))))


def from_disk_to_disk(*kernels: str):
    """Judge file jobs rather than kernels, because the published differences are between file jobs."""

    def rule(r: Record):
        speed = r.series("P.memory", "From disk to disk, by kernel", "speed")
        figures = [speed[kernel] for kernel in kernels]
        slowest, fastest = min(figures, key=lambda f: f[0]), max(figures, key=lambda f: f[0])
        return both_ends(over(slowest, fastest), steps(lambda x: x >= 0.85, lambda x: x >= 2 / 3))

    return rule


def tables_pay(r: Record):
    title = "Tables by memory and number"
    return gain(
        over(
            r.series("N.tables", title, "4 tables")["shared"],
            r.series("N.tables", title, "S-box, arithmetic")["shared"],
        )
    )


def random_access(r: Record):
    time = r.series("P.random_access", "Time by range", "CTR, a file job with a range")
    part = time.first()[0] / time.last()[0]
    return both_ends(again(part), steps(lambda x: x < 0.1, lambda x: x < 0.5))


def cpu_freed(r: Record):
    title = "Processor seconds a gigabyte"
    openssl = r.series("P.encryption", title, "openssl enc without AES instructions")
    return gain(over(openssl.last(), r.series("P.encryption", title, GPU).last()), 2)


RULES = {
    "P.encryption-large": large_files("P.encryption", 63e6, 0.55),
    "P.decryption-large": large_files("P.decryption", 125e6, 0.50),
    "P.decryption-less": decryption_less,
    "P.small-files": small_files,
    "P.delay": delay,
    "P.aes-ni": aes_ni,
    "P.streams": streams,
    "P.staging": staging,
    "P.staging-ends": staging_ends,
    "P.page-locked": lambda r: gain(over(host_memory(r, "page-locked").last(), host_memory(r, "pageable").last())),
    "P.one-thread": one_thread,
    "P.teams-alike": from_disk_to_disk(*(f"{team} threads a block" for team in ("2", "4", "16")), "1 thread a block"),
    "P.memories": from_disk_to_disk("tables in global memory", "tables in constant memory", "tables in shared memory"),
    "P.tables-pay": tables_pay,
    "P.random-access": random_access,
    "P.cpu-freed": cpu_freed,
}
