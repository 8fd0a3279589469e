#!/usr/bin/env python3
"""Makes docs/robustness.md from the records in bench/results/robustness.

robustness.py          writes it
robustness.py --check  fails if it is not what the records say
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from records import RESULTS, ROOT, read
from text import stamp, table

sys.path.append(str(ROOT / "tools"))
import mutant_table

PAGE = ROOT / "docs/robustness.md"

INTRODUCTION = """# Faults and fuzzing

Generated from `bench/results/robustness` by `bench/robustness.py`; not for editing.
"""

FAULTS = """
## The fault matrix

`tests/faults`, `make faults`. All I/O of the library goes through `src/engine/pipeline/os.hpp`; tests link another
implementation of it, in which any call fails, moves one byte or half of what was asked for, finds the end, or is slow.
A clean run of a job counts its calls; then the job runs again for every call and every fault, the fault once, a few
times, and from there on for good. Jobs: `openssl enc`'s formats and files of authenticated segments (three formats),
encrypted, decrypted, verified, in part, by readers and by writers, between files, over an existing file, between
descriptors, pipes and memory, with one thread and with three. The same with every CUDA call of the simulated GPU, where
the engine chose the GPU and where it was asked for it.

A run may end in two ways. *Completed*: success, with exactly the right bytes. *Refused*: an error with a sentence, no
file under the final name, no temporary file, an existing file as it was, in a pipe or a descriptor nothing that is not
right, in memory zeros. Where the engine chose the GPU, its failure must not be refused: the CPU finishes. *Missed*: the
run made fewer calls than the clean one, so nothing was injected. Everything else is *wrong*.
"""

PROCESSES = """
The command as a process: a signal stops it before every system call and at random moments, and every GPU call fails
once. The final name never holds an incomplete file, no temporary file remains (except after SIGKILL), and existing
files are unchanged.
"""

ENVIRONMENT = """
## The command's environment

`tests/cli/environment`, part of `make test`: the command with standard descriptors that are closed, full or open the
wrong way; with every signal at several moments; under limits of files, processes, memory, file sizes and time; with
every umask, names that are not UTF-8, links, FIFOs and devices; in folders that cannot be written or read and on a full
file system; while another user watches. No abort, no wait without end, an exit status of
[the list](command-line.md), inputs as they were, the output whole or not there, nothing beside it, no secret in any
text. `make test` runs a sample and says of how many; `tests/cli/environment/test_environment.py --all` runs every case.
"""

FUZZING = """
## Fuzzing

`fuzz/`, `make fuzz`: libFuzzer with AddressSanitizer and UndefinedBehaviorSanitizer, a target for each parser and each
part of the C ABI. Every target compares with libcrypto or with a model, not only for crashes. Files lie in memory,
under system calls that fail where the fuzzer says so. In `batch` and `sequence` the waiting client does all work, so
that an input always does the same; the engine's workers help with one input in sixteen. The corpus is in the repository
and runs with the tests, without libFuzzer too. `tools/fuzz.py --cores` runs every target at once, on machines without
clang too.

| target | what it does |
|---|---|
| `message` | one message of any mode and shape, GCM and XTS too, beside libcrypto; fields that mean nothing |
| `segments` | batches of GCM segments, any strides and tags, some damaged, beside libcrypto |
| `context` | any sequence of calls on a context, beside a model |
| `batch` | batches by offsets in an arena, any numbers in the entries, beside libcrypto entry for entry |
| `sequence` | batches, calls, segments and contexts in any order under keys that come and go, beside libcrypto |
| `sequence_gpu` | the same on the simulated GPU, whose table of keys all of them share |
| `keyset` | any text as a keyset; any operations on one; what is written is what was read |
| `enc` | any bytes as a file of `openssl enc`; our own damaged, cut, on failing storage |
| `stream` | any bytes as a file of segments; our own altered, cut, with segments exchanged, by every kind of job |
| `reader` | readers and writers under any sequence of calls, over sources that fail and files that are spoiled |
"""


MUTANTS = """
## Do the tests notice?

`tools/mutants.py`: a line of the sources is changed, drawn at random or chosen by a reader who looks for what tests may
miss, and the tests that come by it are run, of its room and of the others. *Killed*: a test failed or hung. *Since*:
killed by a test that was written because of it; the tests as they were did not notice. *May live*: a survivor that
changes speed alone, or nothing that can be observed; why stands in the record. *Survived*: no test noticed it, and one
should have. A draw is of lines that no draw before had.
"""

RULE = (" --- ", " ---: ")


def faults_text(records: list[dict]) -> str:
    record = records[-1]
    outcomes = ("completed", "refused", "missed", "wrong")
    rows = [
        [f"{row['part']}: `{row['call']}`", *(f"{row[outcome]:,}" for outcome in outcomes)] for row in record["calls"]
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
        + table(["disturbed", "runs"], processes, RULE)
        + "\n"
    )


def fuzz_text(records: list[dict]) -> str:
    """Executions at a target's newest commit add up; of coverage the best run counts. What was found in the newest run
    of a target is open."""
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
    share = f"Of {noticeable} that can be noticed, the tests as they were killed {all_['killed'] / noticeable:.1%},"
    share += f" those of now {1 - all_['survived'] / noticeable:.1%}"
    if chosen := sum("why" in mutant for mutant in record["mutants"]):
        share += f". {chosen} were chosen, the others drawn"
    if left_out := record.get("left_out"):
        share += f". Left out, for with switches in them they failed: {', '.join(f'`{name}`' for name in left_out)}"
    seeds = record["seed"] if isinstance(record["seed"], list) else [record["seed"]]
    drawn = f"seed{'s' if len(seeds) > 1 else ''} {' and '.join(map(str, seeds))}"
    return f"\n{stamp(record)}, {drawn}. {share}.\n\n{found}\n{draws_text()}"


def draws_text() -> str:
    """All earlier draws."""
    draws: dict[tuple, dict] = {}
    for row in mutant_table.read(RESULTS / "robustness"):
        counts = draws.setdefault((row["date"][:10], row["commit"]), dict.fromkeys(mutant_table.OUTCOMES, 0))
        counts[row["outcome"]] += 1
    if not draws:
        return ""
    rows = [[f"{date}, {commit}", sum(counts.values()), *counts.values()] for (date, commit), counts in draws.items()]
    found = table(["draw, commit", "mutants", *mutant_table.OUTCOMES], rows, RULE)
    return f"\nEarlier draws, line by line in `bench/results/robustness/{mutant_table.NAME}`:\n\n{found}\n"


def page() -> str:
    text = INTRODUCTION
    parts = (
        (FAULTS, "faults", lambda records: faults_text(records) + ENVIRONMENT),
        (FUZZING, "fuzz", fuzz_text),
        (MUTANTS, "mutants", mutants_text),
    )
    for introduction, kind, describe in parts:
        records = read(RESULTS / "robustness", f"{kind}-*.json")
        text += introduction + (describe(records) if records else "\nNo record yet.\n")
    return text


def main() -> int:
    text = page()
    if "--check" in sys.argv[1:]:
        if PAGE.read_text() == text:
            return 0
        print(f"{PAGE}: not what bench/results/robustness says; run `make docs`", file=sys.stderr)
        return 1
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
