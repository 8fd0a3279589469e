#!/usr/bin/env python3
"""Measures whole processes (age, openssl, libsodium, Tink, zstd and warpaes) on a file in memory. Then measures
warpaes, openssl and cp on a file on a disk, and compares them with reads and writes by fio on the same disk.

Prints the tables and stores a record in bench/results/compare. Tools that are not installed are skipped. `tools/setup
bench` installs them.

    tools/compare.py [--mib 1024] [--rounds 5] [--disk FOLDER] [--disk-mib 4096]
"""

from __future__ import annotations

import argparse
import filecmp
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
sys.path.append(str(Path(__file__).resolve().parent))
import comparison
from file_times import TINK, peak_kib, python_with_tink
from recording import ROOT, output_of, processor, save, stamp

TEMPLATE = "AES256_GCM_HKDF_1MB"
SMALL = 4096
TINK_DECRYPT = """
import sys
from tink import json_proto_keyset_format, secret_key_access, streaming_aead
streaming_aead.register()
keyset, source, target = sys.argv[1:]
handle = json_proto_keyset_format.parse(open(keyset).read(), secret_key_access.TOKEN)
primitive = handle.primitive(streaming_aead.StreamingAead)
with primitive.new_decrypting_stream(open(source, "rb"), b"") as cipher, open(target, "wb") as plain:
    while chunk := cipher.read(1 << 20):
        plain.write(chunk)
"""


def make_input(path: Path, size: int) -> None:
    """Fill a file with the system's programs, libraries and texts, because zstd needs data that it can compress. If the
    system is smaller than the file, the data is repeated."""
    left = size
    with path.open("wb") as out:
        while left:
            for folder, folders, names in os.walk("/usr"):
                folders.sort()
                for name in sorted(names):
                    file = Path(folder) / name
                    if left and file.is_file() and not file.is_symlink() and os.access(file, os.R_OK):
                        left -= out.write(file.read_bytes()[:left])


def timed(command: list) -> tuple[float, float]:
    """Run a command and return its elapsed seconds and its processor seconds."""
    with open(os.devnull, "wb") as nowhere:
        start = time.monotonic()
        process = subprocess.Popen([str(part) for part in command], stdout=nowhere, stderr=nowhere)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"exit status {process.returncode}: {command}")
    return seconds, used.ru_utime + used.ru_stime


def build_sodium(folder: Path) -> Path | None:
    program = folder / "sodium_file"
    command = ["cc", "-O2", "-o", program, ROOT / "bench/sodium_file.c", "-lsodium"]
    return program if subprocess.run(command, capture_output=True, check=False).returncode == 0 else None


def version_of(*command: str) -> str:
    found = re.search(r"v?(\d+(?:\.\d+)+\w*)", output_of(*command))
    return found[1] if found else ""


def tools(folder: Path, warpaes: Path) -> tuple[dict, dict]:
    """Return the tools and their versions. A tool consists of a pair for encryption and a pair for decryption. A pair
    contains the command in printable form, and a function that returns the command for an input and an output."""
    keyset, key, iv = folder / "keyset", os.urandom(32).hex(), os.urandom(16).hex()
    subprocess.run([warpaes, "keygen", "-t", TEMPLATE, "-o", keyset], stderr=subprocess.DEVNULL, check=True)
    found: dict = {}
    versions = {"warpaes": version_of(str(warpaes), "--version"), "openssl": version_of("openssl", "version")}
    found["warpaes"] = (
        ("warpaes encrypt", lambda i, o: [warpaes, "encrypt", "-k", keyset, "-o", o, i]),
        ("warpaes decrypt", lambda i, o: [warpaes, "decrypt", "-k", keyset, "-o", o, i]),
    )
    enc = ["openssl", "enc", "-aes-256-ctr", "-K", key, "-iv", iv]
    found["openssl"] = (
        ("openssl enc -aes-256-ctr", lambda i, o: [*enc, "-e", "-in", i, "-out", o]),
        ("openssl enc -d -aes-256-ctr", lambda i, o: [*enc, "-d", "-in", i, "-out", o]),
    )
    if shutil.which("age"):
        identity = folder / "identity"
        subprocess.run(["age-keygen", "-o", identity], stderr=subprocess.DEVNULL, check=True)
        recipient = output_of("age-keygen", "-y", str(identity))
        versions["age"] = version_of("dpkg-query", "-W", "age") or version_of("age", "--version")
        found["age"] = (
            ("age -r RECIPIENT", lambda i, o: ["age", "-r", recipient, "-o", o, i]),
            ("age -d -i IDENTITY", lambda i, o: ["age", "-d", "-i", identity, "-o", o, i]),
        )
    if sodium := build_sodium(folder):
        (folder / "sodium.key").write_bytes(os.urandom(32))
        versions["libsodium"] = version_of("pkg-config", "--modversion", "libsodium")
        found["libsodium"] = tuple(
            (f"secretstream, {what}", lambda i, o, what=what: [sodium, what, folder / "sodium.key", i, o])
            for what in ("encrypt", "decrypt")
        )
    if python := python_with_tink():
        versions["Tink"] = version_of(str(python[0]), "-m", "pip", "show", "tink")
        found["Tink"] = (
            ("Python, new_encrypting_stream", lambda i, o: [python[0], "-c", TINK, keyset, i, o]),
            ("Python, new_decrypting_stream", lambda i, o: [python[0], "-c", TINK_DECRYPT, keyset, i, o]),
        )
    if shutil.which("zstd"):
        versions["zstd"] = version_of("zstd", "--version")
        found["zstd"] = (
            ("zstd -1 -T0", lambda i, o: ["zstd", "-q", "-1", "-T0", i, "-o", o]),
            ("zstd -d", lambda i, o: ["zstd", "-q", "-d", i, "-o", o]),
        )
    copy = ("cp", lambda i, o: ["cp", i, o])
    found["cp"] = (copy, copy)
    # This contender only allocates new pages for the output, under the file's lock. It does not read or compute.
    zeros = (
        "dd if=/dev/zero",
        lambda i, o: ["dd", "if=/dev/zero", "bs=512k", f"count={Path(i).stat().st_size >> 19}", f"of={o}"],
    )
    found["dd"] = (zeros,)
    return found, versions


def measure(folder: Path, size: int, rounds: int) -> tuple[list[dict], dict]:
    source, small, output = (folder / name for name in ("in", "small", "out"))
    make_input(source, size)
    with source.open("rb") as beginning:
        small.write_bytes(beginning.read(SMALL))
    found, versions = tools(folder, ROOT / "build/default/cli/warpaes")
    taken: dict = {}
    for turn in range(rounds):
        for name, commands in found.items():
            sealed = folder / f"sealed-{name}"
            for (_, command), what, reads, writes in zip(
                commands, ("encrypt", "decrypt"), (source, sealed), (sealed, output)
            ):
                writes.unlink(missing_ok=True)
                taken.setdefault((name, what), []).append(timed(command(reads, writes)))
            if turn == rounds - 1 and len(commands) == 2 and not filecmp.cmp(source, output, shallow=False):
                raise RuntimeError(f"{name}: the decrypted file differs from the original")
            output.unlink(missing_ok=True)
            sealed.unlink(missing_ok=True)
    rows = []
    for name, commands in found.items():
        sealed = folder / "sealed"
        for (written, command), what, reads, writes in zip(
            commands, ("encrypt", "decrypt"), (source, sealed), (sealed, output)
        ):
            writes.unlink(missing_ok=True)
            peak = peak_kib(list(map(str, command(reads, writes))))
            best = min(taken[name, what])
            row = {
                "tool": name,
                "what": what,
                "command": written,
                "seconds": best[0],
                "cpu_s": best[1],
                "peak_kib": peak,
            }
            if what == "encrypt" and name != "dd":
                short = []
                for _ in range(4 * rounds):
                    output.unlink(missing_ok=True)
                    short.append(timed(command(small, output))[0])
                row["small_s"] = min(short)
                output.unlink()
            rows.append(row)
        sealed.unlink(missing_ok=True)
        output.unlink(missing_ok=True)
    return rows, versions


def fio_seconds(folder: Path, source: Path, output: Path) -> float:
    """Measure how long it takes to read one file and write another at the same time, without the page cache, until all
    data is on the disk."""
    size = f"--size={source.stat().st_size}"
    both = ["--direct=1", "--ioengine=io_uring", "--bs=4M", "--iodepth=8", "--output-format=json", size]
    read = ["--name=read", "--rw=read", f"--filename={source}"]
    write = ["--name=write", "--rw=write", "--end_fsync=1", f"--filename={output}"]
    jobs = json.loads(output_of("fio", *both, *read, *write))["jobs"]
    return max(job["read"]["runtime"] + job["write"]["runtime"] for job in jobs) / 1000


def measure_disk(folder: Path, size: int, rounds: int) -> list[dict]:
    """Time commands with an input that is not in the page cache, until the output is on the disk."""
    source, output, sealed, keyset = (folder / name for name in ("in", "out", "sealed", "keyset"))
    warpaes, done = ROOT / "build/default/cli/warpaes", 'exec sync "$1"'
    make_input(source, size)
    subprocess.run([warpaes, "keygen", "-t", TEMPLATE, "-o", keyset], stderr=subprocess.DEVNULL, check=True)
    subprocess.run([warpaes, "encrypt", "-k", keyset, "-o", sealed, source], check=True)
    enc = f"openssl enc -aes-256-ctr -K {os.urandom(32).hex()} -iv {os.urandom(16).hex()}"
    commands = {
        "warpaes encrypt": (source, [warpaes, "encrypt", "-k", keyset, "-o", output, source]),
        "warpaes decrypt": (sealed, [warpaes, "decrypt", "-k", keyset, "-o", output, sealed]),
        "cp, sync": (source, ["sh", "-c", f'cp "$0" "$1" && {done}', source, output]),
        "openssl enc -aes-256-ctr, sync": (source, ["sh", "-c", f'{enc} -in "$0" -out "$1" && {done}', source, output]),
    }
    order = ["fio", *commands]
    taken: dict = {name: [] for name in order}
    for turn in range(rounds + 1):  # the first round is not counted: the hypervisor may have to allocate the pages
        for name in order:
            output.unlink(missing_ok=True)
            os.sync()
            if name == "fio":
                seconds = fio_seconds(folder, source, output)
            else:
                reads, command = commands[name]
                with reads.open("rb") as file:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                seconds, _ = timed(command)
            taken[name] += [seconds] if turn else []
        # A virtual machine's host may still cache pages that the previous commands used, so each round starts with a
        # different command.
        order.append(order.pop(0))
    return [{"command": name, "seconds": statistics.median(times)} for name, times in taken.items()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=int, default=1024, help="size of the file in memory, in MiB (%(default)s)")
    parser.add_argument(
        "--rounds", type=int, default=5, help="number of rounds; all tools run in turn in each round (%(default)s)"
    )
    parser.add_argument("--disk", type=Path, default=ROOT / "build", help="a folder on the disk (%(default)s)")
    parser.add_argument(
        "--disk-mib", type=int, default=4096, help="size of the file on the disk in MiB, or 0 for no file (%(default)s)"
    )
    arguments = parser.parse_args()
    size, place = arguments.mib << 20, Path("/dev/shm")
    if shutil.disk_usage(place).free < 4 * size:
        print(
            f"{place} has no room for three files of {arguments.mib} MiB; choose smaller files with --mib",
            file=sys.stderr,
        )
        return 1
    busy = os.getloadavg()[1]
    with tempfile.TemporaryDirectory(dir=place, prefix="warpaes-compare-") as folder:
        rows, versions = measure(Path(folder), size, arguments.rounds)
    disk = {}
    if arguments.disk_mib and shutil.which("fio") and shutil.disk_usage(arguments.disk).free > arguments.disk_mib << 22:
        with tempfile.TemporaryDirectory(dir=arguments.disk, prefix="warpaes-compare-") as folder:
            disk_rows = measure_disk(Path(folder), arguments.disk_mib << 20, arguments.rounds)
        disk = {"disk": {"bytes": arguments.disk_mib << 20, "rows": disk_rows}}
    host = {"cpu": processor(), "cores": len(os.sched_getaffinity(0))}
    record = {"schema": 1} | stamp() | {"host": host, "versions": versions, "bytes": size, "small_bytes": SMALL}
    record |= {"load": busy, "rounds": arguments.rounds, "template": TEMPLATE} | disk | {"rows": rows}
    print(comparison.figures(record))
    path = save(record, processor(), ROOT / "bench/results/compare")
    print(f"record: {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
