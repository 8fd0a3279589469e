"""Runs the command in every environment: with different standard descriptors, signals, limits, names, links, folders
and users.

After each case, the test checks that the command neither crashed nor hung, that the exit status is documented, that
inputs are unchanged, that outputs are complete or unchanged, that no other file remains, and that no secret is shown.
`--all` runs every case. Without it, as in CI, axes with many cases run a sample. `--only TEXT` runs the cases whose
names contain TEXT.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import os
import sys
import time

import descriptors
import limits
import names
import signals
from world import Template, notice, run_case

import places

#: On axes with many or slow cases, CI runs one of this many cases.
SHARES = {"descriptors": 2, "signals": 3}


def is_chosen(case, everything):
    share = 1 if everything else SHARES.get(case.axis, 1)
    return int.from_bytes(hashlib.sha256(case.name.encode()).digest()[:4], "big") % share == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 1))
    options = parser.parse_args()

    template = Template()
    mounted = places.Mounted(template)
    begun = time.monotonic()
    try:
        modules = (descriptors, signals, limits, names)
        cases = [case for module in modules for case in module.cases()] + list(places.cases(mounted))
        chosen = [
            case for case in cases if is_chosen(case, options.all) and options.only in f"{case.axis}: {case.name}"
        ]
        alone = [case for case in chosen if case.axis == "full"]  # these cases share the same file system
        faults, taken = collections.Counter(), collections.Counter()

        def run(case):
            started = time.monotonic()
            try:
                wrong = run_case(template, case)
            except Exception as error:  # reported as a fault of the case
                wrong = [repr(error)]
            taken[case.axis] += time.monotonic() - started
            for what in wrong:
                notice(f"{case.axis}: {case.name}: {what}")
            faults[case.axis] += bool(wrong)

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(run, [case for case in chosen if case.axis != "full"]))
        for case in alone:
            run(case)
    finally:
        mounted.remove()
        template.remove()

    counts = collections.Counter(case.axis for case in chosen)
    for axis, count in counts.items():
        wrong = f", {faults[axis]} of them wrong" if faults[axis] else ""
        notice(f"{axis:14}{count:6} cases{wrong}, {taken[axis] / count:.3f} s each")
    if not any("MiB" in case.name for case in cases):
        notice("limits memory: not run, because a sanitizer needs more memory; every other build runs this")
    if not mounted.there:
        notice("full not run: cannot mount a small file system; root runs this where mounting is possible")
    if not places.AS_ROOT:
        notice("another user not run: only root can become another user; root on any machine runs these cases")
    wrong = sum(faults.values())
    notice(f"{len(chosen)} of {len(cases)} cases in {time.monotonic() - begun:.0f} s, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
