#!/usr/bin/env python3
"""Generates docs/robustness.md from the records in bench/results/robustness and bench/results/hostile.

robustness.py          writes it
robustness.py --check  fails if the page differs from the records
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from records import RESULTS, ROOT, read
from text import human_bytes, machine, stamp, table

sys.path.append(str(ROOT / "tools"))
import mutant_table

PAGE = ROOT / "docs/robustness.md"

INTRODUCTION = """# Faults and fuzzing

This page describes how warpaes handles failing system calls and CUDA calls, invalid inputs and signals, and lists
the results of the tests. `bench/robustness.py` generates it from `bench/results/robustness` and
`bench/results/hostile`.
"""

FAULTS = """
## The fault matrix

`make faults` runs `tests/faults`. The library performs all I/O through the functions of `src/base/os.hpp`. The tests
link a different implementation of these functions. Any call to it can fail, transfer one byte or half of the request,
reach the end of the file, or be slow. A run without faults counts the calls of a job. The job is then repeated for
every combination of a call and a fault. A fault occurs once, several times, or in every call for the rest of the run.

The jobs encrypt, decrypt and verify files of `openssl enc` and of three formats of authenticated segments. Some jobs
process only a part of a file, and some use readers and writers. Their inputs are files, descriptors, pipes and memory;
their outputs can also be existing files. The jobs run with one thread and with three threads. The CUDA calls of the
simulated GPU fail in the same way, both when the engine chooses the GPU and when the caller requests it.

| outcome | meaning |
|---|---|
| completed | The job succeeded, and every byte is correct. |
| refused | The job returned an error with a message. No new file remains, old files are unchanged, memory is zeroed. |
| missed | The run made fewer calls than the run without faults, so no fault was injected. |
| wrong | Any other outcome. A refusal is also wrong if the engine chose the GPU, because the CPU can finish the job. |

Pipes and descriptors receive only correct bytes, even from a refused job.
"""

PROCESSES = """
These tests run the command as a process. A signal stops the process before every system call and at random moments, and
every GPU call fails once. The output's name never refers to an incomplete file, no temporary file remains (except after
SIGKILL), and existing files are unchanged.
"""

ENVIRONMENT = """
## The command's environment

`make test` also runs a sample of the cases in `tests/cli/environment` and prints the size of the sample.
`tests/cli/environment/test_environment.py --all` runs every case. The command runs

- with standard descriptors that are closed, full, or open in the wrong direction;
- with each signal, sent at several moments;
- with limits on open files, processes, memory, file sizes and time;
- with every umask, with names that are not UTF-8, and with links, FIFOs and devices;
- in folders that it cannot write or read, on a full file system, and while a different user tries to read its files.

After each case the tests check that the command neither crashed nor hung, that its exit status is in
[the list](command-line.md), that inputs are unchanged, that the output is complete or absent, that no other file
remains, and that no output of the command contains a secret.
"""

FUZZING = """
## Fuzzing

`make fuzz` runs the targets in `fuzz/` with libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer. There is a
target for each parser and each part of the C ABI. Every target compares results with libcrypto or with a model, and
therefore finds wrong results as well as crashes. Files are in memory, and the fuzzer decides which system calls fail.
In `batch` and `sequence`, the waiting client does all the work, so an input always has the same effect. The exception
is one input in sixteen, for which the engine's workers help. The corpus is in the repository, and `make test` runs it
without libFuzzer. `tools/fuzz.py --cores` runs all targets at the same time. `tools/fuzz.py --pack` packs the programs
for a machine without clang.

| target | input |
|---|---|
| `message` | one message of any mode (including GCM and XTS), with random unused fields; compared with libcrypto |
| `segments` | batches of GCM segments with any strides and tags, some damaged; compared with libcrypto |
| `context` | any sequence of calls on a context; compared with a model |
| `batch` | batches with offsets in an arena and arbitrary numbers in the entries; every entry compared with libcrypto |
| `sequence` | batches, calls, segments and contexts in any order, with changing keys; compared with libcrypto |
| `sequence_gpu` | the inputs of `sequence` on the simulated GPU, where all calls share a table of keys |
| `keyset` | any text as a keyset, and any operations on a keyset; a keyset is unchanged after it is written and read |
| `enc` | any bytes as an `openssl enc` file; files of warpaes that are damaged, truncated or on failing storage |
| `stream` | any bytes as a file of segments; altered or truncated files, and files with exchanged segments; all jobs |
| `reader` | any sequence of calls on readers and writers, with failing sources and damaged files |
"""


MUTANTS = """
## Do the tests detect changes?

`tools/mutants.py` changes a line of the sources and runs the tests that execute this line: first the tests of its
folder, then all other tests. Lines are drawn at random, or chosen by a reviewer who looks for gaps in the tests. A draw
contains only lines that no earlier draw contained.

| result | meaning |
|---|---|
| killed | A test failed or hung. |
| since | No test failed when the mutant was drawn, but a later test kills it. |
| may live | The mutant changes only speed, or nothing observable. The record contains the reason. |
| survived | No test failed, although one should. |
"""

FORGED = """
## The cost of a forged message

Anyone can send a forged message. The library decrypts a message before it checks the tag. If the tag is wrong, the
library overwrites the output with zeros. `tools/hostile_cost.py` measures forged and authentic messages alternately,
for every kind of call, every mode with a tag and every format. A forged message of 64 KiB or more should take at most
1.5 times as long as an authentic message. The table lists every case that exceeds this limit. The column "minimum"
contains the lowest possible ratio if decryption precedes the check: the time of the authentic message plus the time to
overwrite its output with zeros, in threads that are already running, divided by the time of the authentic message. If
memory limits the speed of decryption, writing the zeros takes more than half as long as decryption.
"""

RULE = (" --- ", " ---: ")


def faults_text(records: list[dict]) -> str:
    record = records[-1]
    outcomes = ("completed", "refused", "missed", "wrong")
    rows = [
        [
            f"{row['part'].replace('asked for', 'requested')}: `{row['call']}`",
            *(f"{row[outcome]:,}" for outcome in outcomes),
        ]
        for row in record["calls"]
    ]
    rows.append(["**all**", *(f"**{record['totals'][outcome]:,}**" for outcome in outcomes)])
    runs = record["processes"]["runs"]
    processes = [[name.replace("_", " "), f"{runs[name]:,}"] for name in sorted(runs)]
    return (
        f"\n{record['jobs']} jobs; {stamp(record)}.\n\n"
        + table(["call", *outcomes], rows, RULE)
        + "\n"
        + PROCESSES
        + ("" if record["processes"]["passed"] else "\nFailed.\n")
        + "\n"
        + table(["fault", "runs"], processes, RULE)
        + "\n"
    )


def fuzz_text(records: list[dict]) -> str:
    """Return the table of targets. Executions at a target's newest commit are added up. For coverage, the best run
    counts. Findings are open if the target's newest run reported them."""
    targets: dict[str, dict] = {}
    for record in records:
        for run in record["targets"]:
            sums = targets.setdefault(run["target"], {"edges": 0, "features": 0, "commit": ""})
            if sums["commit"] != record["commit"]:
                sums |= {"commit": record["commit"], "executions": 0}
            sums["executions"] += run["executions"]
            sums |= {field: max(sums[field], run[field]) for field in ("edges", "features")}
            sums["findings"] = len(run["findings"])
    rows = [
        [
            f"`{name}`",
            f"{t['executions']:,}",
            t["commit"][:12],
            f"{t['edges']:,}",
            f"{t['features']:,}",
            t["findings"],
        ]
        for name, t in sorted(targets.items())
    ]
    stamps = "; ".join(dict.fromkeys(stamp(record) for record in records))
    columns = ["target", "executions", "at commit", "edges covered", "features", "open findings"]
    found = table(columns, rows, RULE)
    return f"\n{stamps}; {records[-1]['cpu']}.\n\n{found}\n"


def mutants_text(records: list[dict]) -> str:
    record = records[-1]
    rooms: dict[str, dict] = {}
    for mutant in record["mutants"]:
        for name in (mutant["room"], "**all**"):
            rooms.setdefault(name, dict.fromkeys(mutant_table.OUTCOMES, 0))[mutant_table.outcome_of(mutant)] += 1
    rows = [
        [name if "*" in name else f"`{name}`", sum(counts.values()), *counts.values()]
        for name, counts in sorted(rooms.items(), key=lambda item: ("*" in item[0], item[0]))
    ]
    found = table(["room", "mutants", "killed", "since", "may live", "survived"], rows, RULE)
    all_ = rooms["**all**"]
    noticeable = all_["killed"] + all_["since"] + all_["survived"]
    share = (
        f"The tests killed {all_['killed'] / noticeable:.1%} of {noticeable} noticeable mutants when they were drawn,"
    )
    share += f" and kill {1 - all_['survived'] / noticeable:.1%} now"
    if chosen := sum("why" in mutant for mutant in record["mutants"]):
        share += f". {chosen} mutants were chosen, and the other mutants were drawn"
    if left_out := record.get("left_out"):
        share += (
            f". The following tests were omitted, because they fail in a build that contains switches for mutants: "
            f"{', '.join(f'`{name}`' for name in left_out)}"
        )
    seeds = record["seed"] if isinstance(record["seed"], list) else [record["seed"]]
    drawn = f"seed{'s' if len(seeds) > 1 else ''} {' and '.join(map(str, seeds))}"
    return f"\n{stamp(record)}, {drawn}. {share}.\n\n{found}\n{draws_text()}"


def forged_text(records: list[dict]) -> str:
    """Return the figures on forged messages from the newest record of each machine."""
    parts = []
    for record in {machine(record): record for record in records}.values():
        calls = [row for row in record["calls"] if row["bytes"] >= 65536]
        slow = sorted((row for row in calls if row["ratio"] > 1.5), key=lambda row: -row["ratio"])
        rows = [
            [
                f"{row['mode']}, {row['way']}, {row['backend']}",
                f"{row['messages']} x {human_bytes(row['bytes'])}",
                f"{row['authentic_us']:,.0f}",
                f"{row['forged_us']:,.0f}",
                f"{row['ratio']:.2f}",
                f"{1 + row['zeros_us'] / row['authentic_us']:.2f}" if row.get("zeros_us") else "",
            ]
            for row in slow
        ]
        files = record["files"]
        parts.append(
            f"\n{machine(record)}, {record['host']['cores']} threads of the host; {stamp(record)}. "
            f"In {len(slow)} of {len(calls)} cases, a forged message takes more than 1.5 times as long as an authentic "
            "message. "
            f"In the {len(files)} cases with files, the ratio is at most {max(row['ratio'] for row in files):.2f}.\n"
        )
        if rows:
            columns = ["call", "messages", "authentic, µs", "forged, µs", "ratio", "minimum"]
            parts.append("\n" + table(columns, rows, RULE) + "\n")
    return "".join(parts)


def draws_text() -> str:
    """Return a table that counts the mutants of each earlier draw by their outcome."""
    draws: dict[tuple, dict] = {}
    for row in mutant_table.read(RESULTS / "robustness"):
        counts = draws.setdefault((row["date"][:10], row["commit"]), dict.fromkeys(mutant_table.OUTCOMES, 0))
        counts[row["outcome"]] += 1
    if not draws:
        return ""
    rows = [[f"{date}, {commit}", sum(counts.values()), *counts.values()] for (date, commit), counts in draws.items()]
    found = table(["draw, commit", "mutants", *mutant_table.OUTCOMES], rows, RULE)
    listed = f"`bench/results/robustness/{mutant_table.NAME}` lists their mutants"
    return f"\nThe next table counts earlier draws. {listed}.\n\n{found}\n"


def page() -> str:
    text = INTRODUCTION
    parts = (
        (FAULTS, "robustness/faults-*.json", lambda records: faults_text(records) + ENVIRONMENT),
        (FUZZING, "robustness/fuzz-*.json", fuzz_text),
        (MUTANTS, "robustness/mutants-*.json", mutants_text),
        (FORGED, "hostile/*.json", forged_text),
    )
    for introduction, pattern, describe in parts:
        records = read(RESULTS, pattern)
        text += introduction + (describe(records) if records else "\nNo record yet.\n")
    return text


def main() -> int:
    text = page()
    if "--check" in sys.argv[1:]:
        if PAGE.read_text() == text:
            return 0
        print(f"{PAGE}: differs from bench/results/robustness; run `make docs`", file=sys.stderr)
        return 1
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
