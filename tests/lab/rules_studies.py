"""The rules of the later studies' conclusions (lab/claims/statements/jiang.json)."""

from __future__ import annotations

from record_figures import NO, PARTLY, YES, MissingError, Record

EXPERIMENT = "K.last-round"


def k_key_recovered(r: Record):
    memories = ("constant memory", "shared memory", "global memory", "texture memory")
    right = max(r.fact(EXPERIMENT, f"right bytes, {memory}") for memory in memories)
    return YES if right >= 16 else PARTLY if right >= 8 else NO


def w_attack_fails(r: Record):
    """The control: the same attack gets the whole key of tables in shared memory, with a tenth of the traces."""
    control = "shared memory"
    if r.fact(EXPERIMENT, f"right bytes, {control}") != 16:
        raise MissingError(control)
    for victim in ("production's functions", "bitsliced"):
        if r.fact(EXPERIMENT, f"traces, {victim}") < 10 * r.fact(EXPERIMENT, f"traces, {control}"):
            raise MissingError(victim)
        rank = r.fact(EXPERIMENT, f"mean rank, {victim}")
        if r.fact(EXPERIMENT, f"right bytes, {victim}") > 1 or rank < 127.5 - 3 * 18.5:
            return NO
    return YES


RULES = {"K.key-recovered": k_key_recovered, "W.attack-fails": w_attack_fails}
