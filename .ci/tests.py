#!/usr/bin/env python3
"""Runs `make test` as CI's last step: prints the skipped tests and each step's time before ctest's closing lines.

.ci/tests.py FILE: FILE lists the earlier steps, one per line. A line contains the elapsed seconds, the processor
seconds in user mode and in the kernel, and a name.
"""

from __future__ import annotations

import collections
import re
import resource
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "build/default/junit.xml"
CLOSING = re.compile(r"^\d+% tests passed, ")
#: Matches a skip reason. GoogleTest prints it after the source location, unittest after the test's name.
REASONS = re.compile(r"""^\S+:\d+: Skipped\n(.+)$|\.\.\. skipped ['"](.+)['"]$""", re.MULTILINE)


def reasons_of(output: str) -> list[str]:
    """Return the skip reasons, without the suffixes that name the machines which can run the tests. A program that uses
    another framework prints its reason in its last line."""
    found = [by_gtest or by_unittest for by_gtest, by_unittest in REASONS.findall(output)]
    return [reason.split("; ")[0] for reason in found or output.strip().splitlines()[-1:]]


def skipped_line(junit: str) -> str:
    """Return one line that counts the skipped tests and cases and lists their reasons."""
    count, cases, reasons = 0, 0, collections.Counter()
    for test in ElementTree.fromstring(junit).iter("testcase"):
        output = test.findtext("system-out") or ""
        if test.find("skipped") is not None:
            count += 1
            reasons.update(dict.fromkeys(reasons_of(output) or ["no reason given"], 1))
        elif found := [(gtest or unit).split("; ")[0] for gtest, unit in REASONS.findall(output)]:
            cases += len(found)
            reasons.update(dict.fromkeys(found, 1))
    if count + cases == 0:
        return "Skipped: nothing"
    why = ", ".join(f"{n} {reason}" if n > 1 else reason for reason, n in reasons.most_common())
    tests, others = (
        f"{count} test{'' if count == 1 else 's'}",
        f"{cases} case{'' if cases == 1 else 's'} of other tests",
    )
    return f"Skipped: {', '.join(([tests] if count else []) + ([others] if cases else []))}: {why}"


def table(steps: list[tuple[float, float, str]]) -> str:
    """Return a table of each step's elapsed and processor times."""
    total = (sum(step[0] for step in steps), sum(step[1] for step in steps), "together")
    return "\n".join(
        ["  min:s   CPU min:s  step"]
        + [f"{clock(wall):>7}{clock(cpu):>12}  {name}" for wall, cpu, name in [*steps, total]]
    )


def clock(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole // 60}:{whole % 60:02}"


def used() -> float:
    """Return the processor time in seconds of all children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def read_steps(text: str) -> list[tuple[float, float, str]]:
    steps = []
    for line in text.splitlines():
        wall, user, system, name = line.split(" ", 3)
        steps.append((float(wall), float(user) + float(system), name))
    return steps


def summary_last(closing: list[str]) -> list[str]:
    """Return ctest's closing lines with the names of skipped and failed tests moved before the summary."""
    names = next((i for i, line in enumerate(closing) if line.startswith("The following tests")), len(closing))
    return [*closing[names:], *closing[:names]]


def main() -> int:
    steps = read_steps(Path(sys.argv[1]).read_text())
    RESULTS.unlink(missing_ok=True)
    # This process replaced .ci/run, so RUSAGE_CHILDREN includes the earlier steps.
    begun, before = time.monotonic(), used()
    command = ["make", "test", f"CTEST_OPTIONS=--output-junit {RESULTS}"]
    closing = []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, errors="replace") as tests:
        for line in tests.stdout:
            if closing or CLOSING.match(line):
                closing.append(line)
            else:
                print(line, end="", flush=True)
    steps.append((time.monotonic() - begun, used() - before, "tests and their build"))
    if RESULTS.exists():
        print(skipped_line(RESULTS.read_text()))
    print(f"\n{table(steps)}\n")
    print("".join(summary_last(closing)), end="", flush=True)
    return tests.returncode


if __name__ == "__main__":
    sys.exit(main())
