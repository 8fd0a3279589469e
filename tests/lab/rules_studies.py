"""Rules for the later studies' conclusions (lab/claims/statements/{jiang,tezcan,hajihassani,lam}.json)."""

from __future__ import annotations

from record_figures import NO, PARTLY, YES, MissingError, Record, Series, gain, over, same

EXPERIMENT = "K.last_round"


def k_key_recovered(r: Record):
    memories = ("constant memory", "shared memory", "global memory", "texture memory")
    right = max(r.fact(EXPERIMENT, f"right bytes, {memory}") for memory in memories)
    return YES if right >= 16 else PARTLY if right >= 8 else NO


def w_attack_fails(r: Record):
    """Check the control: the same attack must recover the whole key from tables in shared memory with a tenth of the
    traces."""
    control = "shared memory"
    if r.fact(EXPERIMENT, f"right bytes, {control}") != 16:
        raise MissingError(control)
    victims = ("production's functions", "bitsliced")
    ranks = [r.fact(EXPERIMENT, f"mean rank, {victim}") for victim in victims]
    if min(ranks) < 127.5 - 3 * 18.5 or any(r.fact(EXPERIMENT, f"right bytes, {victim}") > 1 for victim in victims):
        return NO
    if any(r.fact(EXPERIMENT, f"traces, {v}") < 10 * r.fact(EXPERIMENT, f"traces, {control}") for v in victims):
        raise MissingError(control)
    return YES


BEFORE, ONE_TABLE = "before: four tables, one copy", "[T] one table, a copy for each bank"
CACHED, BITSLICED = "[L] the same, cached first round", "[B] bitsliced"


def designs(r: Record, mode: str) -> Series:
    return r.series("T.designs", "Designs since 2019", mode)


def t_bank_conflicts(r: Record):
    ctr = designs(r, "CTR")
    return gain(over(ctr[ONE_TABLE], ctr[BEFORE]), 2.56)


def t_aes_256(r: Record):
    """Use texts that come from host memory and return to host memory, instead of files and disks."""
    rates = r.series("T.designs", "Speed by key size", "from host to host")
    return same(over(rates["AES-256"], rates["AES-128"]))


def t_over_cpu(r: Record):
    panel = r.panels("W.worth", "Throughput by size and place")[0]
    cpu = [Series(panel, s).best() for s in panel["series"] if s["name"].endswith(", all threads")]
    if not cpu:
        raise MissingError("processors")
    return gain(over(designs(r, "CTR")[ONE_TABLE], max(cpu)))


def b_ctr_ahead(r: Record):
    """The published speeds are 1.47 and 1.38 Tbit/s."""
    return gain(over(designs(r, "CTR")[BITSLICED], designs(r, "ECB")[BITSLICED]), 1.47 / 1.38)


EVALUATIONS = ("F.dpf", "Evaluations of distributed point functions")


def f_chacha(r: Record):
    return gain(over(r.series(*EVALUATIONS, "ChaCha20").last(), r.series(*EVALUATIONS, "AES-128").last()), 1424 / 379)


def w_aes_generator(r: Record):
    return gain(over(r.series(*EVALUATIONS, "AES-128").last(), r.series(*EVALUATIONS, "ChaCha20").last()))


def w_cached_round(r: Record):
    return gain(over(designs(r, "CTR")[CACHED], designs(r, "ECB")[ONE_TABLE]), 160 / 146)


def w_bitsliced_tables(r: Record):
    ctr = designs(r, "CTR")
    return gain(over(ctr[BITSLICED], ctr[ONE_TABLE]))


def w_per_watt(r: Record):
    rates = {x: f[0] for x, f in r.series("T.designs", "Designs since 2019, per watt", "CTR").pairs()}
    if "production" not in rates or len(rates) < 2:
        raise MissingError("per watt")
    share = rates.pop("production") / max(rates.values())
    return YES if share >= 1.05 else PARTLY if share >= 0.95 else NO


RULES = {
    "K.key-recovered": k_key_recovered,
    "T.bank-conflicts": t_bank_conflicts,
    "T.aes-256": t_aes_256,
    "T.over-cpu": t_over_cpu,
    "B.ctr-ahead": b_ctr_ahead,
    "F.chacha": f_chacha,
    "W.aes-generator": w_aes_generator,
    "W.attack-fails": w_attack_fails,
    "W.cached-round": w_cached_round,
    "W.bitsliced-tables": w_bitsliced_tables,
    "W.per-watt": w_per_watt,
}
