#!/usr/bin/env python3
"""Tests and measures warpaes on a GPU and stores a record in bench/results.

Builds the cuda preset and runs every test program and the examples with kernels on the hardware. Then measures calls,
batches, kernels, the provider, several GPUs and files (PARTS), and finally runs GPU tests under compute-sanitizer.
After writing the record, fails if a test failed or a sanitizer reported an error.

    tools/gpu_test.py                     runs everything on a machine with a GPU
    tools/gpu_test.py --no-build          uses the programs in build/cuda, built on another machine
    tools/gpu_test.py --cpu               runs the tests and measures the CPU backends, without a GPU

Without a git repository, WARPAES_COMMIT names the commit, and WARPAES_DIRTY=1 marks uncommitted changes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from file_times import time_files
from recording import ROOT, environment_of, find_gpu, machine, rounded, save, stamp

# A sanitizer makes a launch a thousand times slower. These tests cover every kernel, mode and direction, every kind of
# buffer, and short and long messages, but do not repeat work. API errors are not reported, because some tests make
# CUDA calls fail on purpose.
SANITIZED_TESTS = ":".join(
    [
        "*Standards.*/cuda",
        "*MultiBlockMessages/cuda_*",
        "*Message.Counter*/cuda",
        "*Message.Cfb1OfAnyNumberOfBits/cuda",
        "*Message.LongSegmentedMessages/cuda",
        "*ContextTest.InPlaceAcrossBlocks/cuda",
        "cuda/Device.*",
        "cuda/GcmDevice.*",
        "cuda/NumbersDevice.*",
    ]
)
SANITIZERS = {
    "memcheck": (["--tool", "memcheck", "--report-api-errors", "no"], "tests/abi/test_abi", SANITIZED_TESTS),
    # racecheck checks every access to shared memory, so tests with long messages would take too long.
    "racecheck": (["--tool", "racecheck"], "tests/abi/test_abi", f"{SANITIZED_TESTS}:-*WhereverTheBuffersLie*"),
    "memcheck of batches": (
        ["--tool", "memcheck", "--report-api-errors", "no"],
        "tests/simulated/test_batch_cuda",
        "*AllModesAtOnce/device:*SerialMessages/device:*Ghash*/device",
    ),
    "racecheck of batches": (["--tool", "racecheck"], "tests/simulated/test_batch_cuda", "*SerialMessages/device"),
    "memcheck of device.cuh": (["--tool", "memcheck"], "tests/device/test_device_cuh", "*"),
    "racecheck of device.cuh": (["--tool", "racecheck"], "tests/device/test_device_cuh", "*Tables*:*Appendix*:*Warp*"),
}
PARTS = ("tests", "bench", "calls", "batches", "paths", "device", "provider", "gpus", "files", "sanitizers")
# Programs in the build folder, with arguments. They check their own results and exit with status 0 if the results are
# right.
CHECKED_PROGRAMS = (
    "tests/device/random_numbers",
    "tests/device/ggm_tree",
    "tests/device/on_stream",
    "tests/capture/device_threads --runs 3000",
)


def say(text: str) -> None:
    print(f"== {text}", flush=True)


def cuda_version(build: Path) -> str:
    """Return the version of the compiler that created the build."""
    for path in build.glob("CMakeFiles/*/CMakeCUDACompiler.cmake"):
        found = re.search(r'CMAKE_CUDA_COMPILER_VERSION "([\d.]+)"', path.read_text())
        if found:
            return found[1]
    return os.environ.get("WARPAES_CUDA_VERSION", "")


def run_tests(build: Path, environment: dict, scratch: Path) -> list[dict]:
    """Run CHECKED_PROGRAMS and every test program in the build, each in its own process. Programs for the simulated GPU
    and for constant time are skipped."""
    results = []
    for program in sorted(build.glob("tests/*/test_*")):
        if (
            not os.access(program, os.X_OK)
            or program.is_dir()
            or re.search(r"(simt|simulated|constant_time)$", program.name)
        ):
            continue
        report = scratch / f"{program.name}.json"
        report.unlink(missing_ok=True)
        start = time.monotonic()
        done = subprocess.run(
            [program, f"--gtest_output=json:{report}", "--gtest_brief=1"], env=environment, cwd=ROOT, check=False
        )
        counts = {"passed": 0, "failed": 0, "skipped": 0}
        if report.exists():
            for suite in json.loads(report.read_text())["testsuites"]:
                for test in suite["testsuite"]:
                    outcome = "failed" if "failures" in test else test["result"].lower()
                    counts["passed" if outcome == "completed" else outcome] += 1
        elif done.returncode == 0:
            continue  # not a GoogleTest program
        if done.returncode != 0 and counts["failed"] == 0:
            counts["failed"] = 1  # the program crashed
        results.append({"name": program.name, **counts, "seconds": round(time.monotonic() - start, 1)})
        print(results[-1], flush=True)
    for line in CHECKED_PROGRAMS:
        program, *arguments = line.split()
        if not (build / program).exists():
            continue
        start = time.monotonic()
        done = subprocess.run([build / program, *arguments], env=environment, cwd=ROOT, check=False)
        outcome = {0: "passed", 3: "skipped"}.get(done.returncode, "failed")
        counts = {"passed": 0, "failed": 0, "skipped": 0} | {outcome: 1}
        results.append({"name": Path(program).name, **counts, "seconds": round(time.monotonic() - start, 1)})
        print(results[-1], flush=True)
    return results


# Batch cases: number of messages, bytes per message, then further `warpaes bench` options.
BATCHES = (
    "1 1G --mode ctr --direction encrypt",
    "4096 256K --mode ctr --key-bits 128 --direction encrypt",
    "131072 8K --mode ctr --key-bits 128 --direction encrypt",
    "4194304 256 --mode ctr --key-bits 128 --direction encrypt",
    "1000000 1500 --mode ctr --keys one,each --direction encrypt",
    "1000000 1500 --mode gcm --aad 13 --keys one,each",
    "1000000 1500 --mode ccm --aad 13 --keys each --key-bits 128",
    "65536 16K --mode cbc --keys one,each --direction encrypt",
    "65536 16K --mode ctr,gcm --keys one,each --key-bits 128 --direction encrypt",
    "16384 64K --mode ctr,gcm --keys one,each --direction encrypt",
    "1024 1M --mode ctr,gcm --keys one,each --direction encrypt",
    "65536 16K --mode cmac,xts --key-bits 128 --direction encrypt",
)
ARENA_BATCHES = (
    "1000000 1500 --mode gcm --aad 13 --keys one,each",
    "65536 16K --mode ctr,cbc --key-bits 128 --direction encrypt",
)
WIDEST, OTHERS = ("armv8", "") if platform.machine() == "aarch64" else ("vaes", ",aesni")
CPU_BATCHES = (
    f"1024 16K --mode cbc,cfb128,cmac --direction encrypt --backend {WIDEST}{OTHERS}",
    f"100000 1500 --mode gcm,ccm --aad 13 --keys one,each --key-bits 128 --backend {WIDEST}",
)


def run_batch_bench(build: Path, environment: dict, scratch: Path, gpu: bool) -> Iterator[list[dict]]:
    """Run `warpaes bench --messages` in device memory and arenas if there is a GPU, and on one core compared with
    libcrypto. Yield the rows measured so far after each case, because all cases together take minutes."""
    cases = [(case, ["--from", "device"]) for case in BATCHES] + [
        (case, ["--from", "page-locked"]) for case in ARENA_BATCHES
    ]
    cases = [(case, ["--backend", "cuda", *where]) for case, where in cases] if gpu else []
    cases += [(case, ["--from", "pageable"]) for case in CPU_BATCHES]
    rows = []
    for case, where in cases:
        messages, size, *rest = case.split()
        path = scratch / "batches.json"
        command = [build / "cli/warpaes", "bench", "--messages", messages, "--size", size, *rest, *where]
        subprocess.run([*command, "--samples", "7", "-f", "-o", path], env=environment, check=True)
        rows += json.loads(path.read_text())["batches"]
        yield rounded(rows)


def run_mixed_payload(build: Path, environment: dict) -> dict:
    done = subprocess.run(
        [build / "bench/mixed_payload"], env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    print(done.stdout, end="", flush=True)
    return json.loads(done.stdout)["payload"]


def run_device_calls(build: Path, environment: dict) -> list[dict]:
    """Return latencies of blocking calls in microseconds, measured with bench/device_calls."""
    done = subprocess.run(
        [build / "bench/device_calls"], env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    print(done.stdout, flush=True)
    return json.loads(done.stdout)["calls"]


def run_device_bench(build: Path, environment: dict) -> list[dict]:
    """Return the blocks per second that custom kernels process, measured and verified with bench/device_bench."""
    done = subprocess.run(
        [build / "bench/device_bench"], env=environment, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    )
    print(done.stdout, flush=True)
    return json.loads(done.stdout)["device"]


def run_provider_bench(build: Path, environment: dict) -> list[dict]:
    """Return the speed of long updates through OpenSSL's EVP with the provider, measured and verified with
    bench/provider_gpu."""
    done = subprocess.run(
        [build / "bench/provider_gpu", build / "provider"], env=environment, cwd=ROOT, check=False,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    if done.returncode == 3:  # the program has printed the reason
        return []
    done.check_returncode()
    print(done.stdout, flush=True)
    return json.loads(done.stdout)["provider"]


# Options of `warpaes bench` for several GPUs, with the input and output in host memory.
SEVERAL_GPUS = (
    "--mode ctr,gcm --key-bits 128 --direction encrypt --size 4G --segment 4G --from page-locked --device -1",
    "--messages 1000000 --size 1500 --mode gcm --aad 13 --key-bits 128 --from page-locked",
    "--messages 65536 --size 64K --mode ctr --key-bits 128 --from page-locked",
)


def run_several_gpus(build: Path, environment: dict, scratch: Path, count: int) -> list[dict]:
    """Run the same work on one, two, four and all GPUs: first plain copies, then warpaes."""
    rows = []
    for gpus in sorted({1, 2, 4, count} & set(range(1, count + 1))):
        its = environment | {"CUDA_VISIBLE_DEVICES": ",".join(map(str, range(gpus)))}
        done = subprocess.run([build / "bench/copy_bench"], env=its, check=True, stdout=subprocess.PIPE, text=True)
        rows.append({"gpus": gpus, "what": "copies alone", "gb_per_s": json.loads(done.stdout)["copies"]["gb_per_s"]})
        for case in SEVERAL_GPUS:
            path = scratch / "several.json"
            command = [build / "cli/warpaes", "bench", "--backend", "cuda", *case.split(), "--samples", "7"]
            subprocess.run([*command, "-f", "-o", path], env=its, check=True, stdout=subprocess.DEVNULL)
            measured = json.loads(path.read_text())
            for row in measured["bench"] + measured.get("batches", []):
                what = {field: row[field] for field in ("mode", "direction", "key_bits", "bytes")}
                rows.append({"gpus": gpus, **what, "messages": row.get("messages", 1), "gb_per_s": row["gb_per_s"]})
        for row in rows:
            if row["gpus"] == gpus:
                print(row, flush=True)
    return rounded(rows)


def run_sanitizer(tool: str, build: Path, environment: dict, limit: int) -> dict:
    """Run a sanitizer. In the result, `errors` is -1 if the sanitizer did not finish or checked nothing, or if a test
    failed."""
    program = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    options, test, tests = SANITIZERS[tool]
    command = [program, *options, build / test, f"--gtest_filter={tests}"]
    # With this variable, tests repeat their work less often, because launches are slow under a sanitizer.
    environment = environment | {"WARPAES_TEST_SIMULATED": "1"}
    start = time.monotonic()
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=limit)
        text, status = done.stdout + done.stderr, done.returncode
    except subprocess.TimeoutExpired as expired:
        text, status = (expired.stdout or b"").decode(errors="replace"), -1
    # "ERROR SUMMARY: 0 errors", "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)"
    summary = re.search(r"SUMMARY: (\d+) (?:errors|hazards)", text)
    passed = len(re.findall(r"^\[       OK \]", text, re.MULTILINE))
    errors = int(summary[1]) if summary else -1
    if status != 0 or passed == 0:
        print(text[-4000:])
        errors = errors or -1
    return {"tool": tool, "tests": passed, "errors": errors, "seconds": round(time.monotonic() - start, 1)}


def with_rows_again(rows: list[dict], again: list[dict]) -> list[dict]:
    """Return `rows` of `warpaes bench`, with the rows of `again` in place of the rows for the same cases."""
    fields = (
        "backend", "mode", "direction", "key_bits", "bytes", "segment", "data_unit", "memory", "device", "threads",
        "includes",
    )  # fmt: skip

    def case(row: dict) -> tuple:
        return tuple(row.get(field) for field in fields)

    new = {case(row): row for row in again}
    return [new.get(case(row), row) for row in rows]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-build", action="store_true", help="use build/cuda without building it")
    parser.add_argument(
        "--cpu", action="store_true", help="use no GPU: test build/default and measure only the CPU backends"
    )
    parser.add_argument(
        "--sanitizer-limit",
        type=int,
        default=900,
        metavar="SECONDS",
        help="time limit for each sanitizer; 0 skips all sanitizers",
    )
    parser.add_argument(
        "--sanitizer",
        action="append",
        choices=SANITIZERS,
        help="run only this sanitizer, and keep the record's results of the other sanitizers",
    )
    parser.add_argument("--output", type=Path, default=ROOT / "bench/results", help="folder for the record")
    parser.add_argument("--only", choices=PARTS, help="run only this part and merge it --into an earlier record")
    parser.add_argument(
        "--into", type=Path, metavar="RECORD", help="the record to merge into; its other parts are kept"
    )
    parser.add_argument(
        "bench",
        nargs="*",
        help="options for `warpaes bench`, after --; with --only bench, only the rows that these options select are "
        "measured",
    )
    options = parser.parse_args()

    if (options.only is None) != (options.into is None):
        parser.error("--only and --into require each other")
    gpu = None if options.cpu else find_gpu()
    if gpu is None and not options.cpu:
        print("gpu_test: nvidia-smi shows no GPU; --cpu tests and measures without a GPU", file=sys.stderr)
        return 1
    preset = "default" if options.cpu else "cuda"
    build = ROOT / "build" / preset
    if not options.no_build:
        say("building")
        subprocess.run([ROOT / "tools/build", preset], check=True, stdout=subprocess.DEVNULL)
    environment = environment_of(build)
    scratch = build / "gpu_test"
    scratch.mkdir(exist_ok=True)

    say("devices")
    devices = subprocess.run(
        [build / "cli/warpaes", "devices"], env=environment, check=True, capture_output=True, text=True
    ).stdout
    print(devices, end="", flush=True)
    if gpu and not re.search(r"^cuda\S* +yes", devices, re.MULTILINE):
        print("gpu_test: this build cannot use the GPU", file=sys.stderr)
        return 1

    made = stamp()
    parts = [options.only] if options.only else PARTS
    record = json.loads(options.into.read_text()) if options.into else {"schema": 1, "tests": [], "sanitizers": []}
    if "tests" in parts:
        say("tests")
        record["tests"] = [result | made for result in run_tests(build, environment, scratch)]
    if "bench" in parts:
        say("benchmark")
        rows = scratch / "bench.json"
        subprocess.run([build / "cli/warpaes", "bench", "-o", rows, *options.bench], env=environment, check=True)
        measured = json.loads(rows.read_text())
        again = rounded(measured["bench"])
    if "bench" in parts and options.only and options.bench:
        record["bench"] = with_rows_again(record["bench"], [row | made for row in again])
    elif "bench" in parts:
        if gpu:
            gpu = {**gpu, "cuda": cuda_version(build), **{k: v for k, v in measured["gpu"].items() if k != "name"}}
        host = {**measured["host"], "os": f"{platform.system()} {platform.release()}"}
        # These measurements determine the record's commit and date.
        record |= made | {"warpaes": measured["warpaes"], "gpu": gpu, "host": host, "bench": again}
    if "calls" in parts and gpu:
        say("calls")
        record["calls"] = [row | made for row in run_device_calls(build, environment)]
    if "batches" in parts:
        say("batches")
        record["payload"] = run_mixed_payload(build, environment) | made
        for rows in run_batch_bench(build, environment, scratch, gpu is not None):
            record["batches"] = [row | made for row in rows]
            if "gpu" in record:  # the record's file name contains fields that the part "bench" sets
                save(record, machine(record), options.output)
    if "paths" in parts:
        say("paths")
        subprocess.run([ROOT / "tools/path_sweep.py", "--no-build", build], check=True)
    if "device" in parts and gpu:
        say("device.cuh")
        record["device"] = [row | made for row in run_device_bench(build, environment)]
    if "provider" in parts and gpu and (build / "bench/provider_gpu").exists():
        say("the provider for OpenSSL")
        record["provider"] = [row | made for row in run_provider_bench(build, environment)]
    if "gpus" in parts and gpu and gpu["count"] > 1:
        say("several GPUs")
        record["gpus"] = [row | made for row in run_several_gpus(build, environment, scratch, gpu["count"])]
    if "files" in parts:
        say("files")
        record["files"] = [row | made for row in time_files(build, *((8 << 30, 3) if gpu else ()))]
        for row in record["files"]:
            print(row, flush=True)
    path = save(record, machine(record), options.output)
    if "sanitizers" in parts and gpu and options.sanitizer_limit:
        say("compute-sanitizer")
        chosen = options.sanitizer or list(SANITIZERS)
        record["sanitizers"] = [result for result in record["sanitizers"] if result["tool"] not in chosen]
        for tool in chosen:
            record["sanitizers"].append(run_sanitizer(tool, build, environment, options.sanitizer_limit) | made)
            print(record["sanitizers"][-1], flush=True)
            save(record, machine(record), options.output)
    print(f"record: {path}")

    tests = record["tests"]
    failed = sum(test["failed"] for test in tests)
    reported = sum(result["errors"] != 0 for result in record["sanitizers"])
    passed = sum(test["passed"] for test in tests)
    skipped = sum(test["skipped"] for test in tests)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or reported or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
