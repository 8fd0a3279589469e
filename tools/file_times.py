"""Times whole processes on files in memory: warpaes, openssl, Tink's Python library and the system's own tools."""

from __future__ import annotations

import filecmp
import os
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from recording import ROOT

RANGE = 4096

TINK = """
import sys
from tink import json_proto_keyset_format, secret_key_access, streaming_aead
streaming_aead.register()
keyset, source, target = sys.argv[1:]
handle = json_proto_keyset_format.parse(open(keyset).read(), secret_key_access.TOKEN)
primitive = handle.primitive(streaming_aead.StreamingAead)
with open(source, "rb") as plain, primitive.new_encrypting_stream(open(target, "wb"), b"") as cipher:
    while chunk := plain.read(1 << 20):
        cipher.write(chunk)
"""


def time_process(command: list) -> float:
    start = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.monotonic() - start


def peak_kib(command: list) -> int | None:
    """Return a command's peak memory in KiB, measured by /usr/bin/time, or None if /usr/bin/time is not installed.
    wait4() would also count this program's memory before exec()."""
    if not Path("/usr/bin/time").exists():
        return None
    done = subprocess.run(["/usr/bin/time", "-f", "%M", *command], capture_output=True, text=True, check=True)
    return int(done.stderr.split()[-1])


def python_with_tink() -> list:
    """Return the start of a command line that encrypts with Tink, or an empty list if Tink is not installed."""
    python = ROOT / ".venv/tests/bin/python3"
    has_tink = python.exists() and subprocess.run([python, "-c", "import tink"], check=False).returncode == 0
    return [python, "-c", TINK] if has_tink else []


def row(command: str, size: int, seconds: list[float], peak: int | None, **fields) -> dict:
    return {
        "command": command,
        "bytes": size,
        "place": "tmpfs",
        "samples": len(seconds),
        "median_s": round(statistics.median(seconds), 5),
        "best_s": round(min(seconds), 5),
        "peak_kib": peak,
    } | fields


def time_ranges(warpaes: Path, keyset: Path, sealed: Path, size: int, rounds: int) -> dict:
    """Time decryptions of a few KiB at random positions of the file. Each decryption runs in a new process, which is
    spawned directly."""
    seconds = []
    with open(os.devnull, "wb") as nowhere:
        actions = [(os.POSIX_SPAWN_DUP2, nowhere.fileno(), 1)]
        for _ in range(rounds):
            first = random.randrange(size - RANGE)
            command = [
                str(part) for part in (warpaes, "decrypt", "-k", keyset, "-r", f"{first}:{first + RANGE - 1}", sealed)
            ]
            start = time.monotonic()
            process = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
            _, status = os.waitpid(process, 0)
            seconds.append(time.monotonic() - start)
            if status != 0:
                raise RuntimeError(f"failed: {command}")
    return row("warpaes decrypt -r", RANGE, seconds, peak_kib([*command, "-o", os.devnull]), file_bytes=size)


def time_files(build: Path, size: int = 1 << 30, rounds: int = 9) -> list[dict]:
    """Time all tools in turns on a file of `size` bytes on tmpfs. Each run creates a new output, and the outputs of the
    last round are checked."""
    folder = Path("/dev/shm")
    if not folder.is_dir() or shutil.disk_usage(folder).free < 4 * size:
        print("skipped: /dev/shm has no room for the files")
        return []
    warpaes = build / "cli/warpaes"
    key, iv = os.urandom(32).hex(), os.urandom(16).hex()
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        source, output, expected, sealed, keyset = (
            Path(scratch) / name for name in ("in", "out", "expected", "sealed", "keyset")
        )
        with source.open("wb") as file:
            for _ in range(size >> 24):
                file.write(os.urandom(1 << 24))
        subprocess.run([warpaes, "keygen", "-o", keyset], stderr=subprocess.DEVNULL, check=True)
        enc = ["enc", "-aes-256-ctr", "-e", "-K", key, "-iv", iv, "-in", source, "-out"]
        # Each name maps to a command line and the file that it creates.
        commands = {
            "openssl enc -aes-256-ctr": (["openssl", *enc, expected], expected),
            "warpaes enc -aes-256-ctr": ([warpaes, *enc, output], output),
            "warpaes encrypt": ([warpaes, "encrypt", "-k", keyset, "-o", sealed, source], sealed),
            "warpaes decrypt": ([warpaes, "decrypt", "-k", keyset, "-o", output, sealed], output),
            "cp": (["cp", source, output], output),
            # A lower bound: dd only allocates new pages for the output, under the file's lock. It does not read a file
            # or encrypt.
            "dd if=/dev/zero bs=512k": (
                ["dd", "if=/dev/zero", "bs=512k", f"count={size >> 19}", f"of={output}"],
                output,
            ),
        }
        if tink := python_with_tink():
            commands["Python tink"] = ([*tink, keyset, source, output], output)
        else:
            print("skipped: .venv/tests does not contain Tink (`tools/setup test`)")
        must_equal = {"warpaes enc -aes-256-ctr": expected, "warpaes decrypt": source}
        times: dict[str, list] = {name: [] for name in commands}
        for turn in range(rounds):
            for name, (command, made) in commands.items():
                made.unlink(missing_ok=True)
                times[name].append(time_process(command))
                if turn != rounds - 1:
                    continue
                if name in must_equal and not filecmp.cmp(made, must_equal[name], shallow=False):
                    raise RuntimeError(f"{name}: wrong output")
                if name == "Python tink":
                    time_process([warpaes, "verify", "-k", keyset, made])
        rows = []
        for name, (command, made) in commands.items():
            made.unlink(missing_ok=True)
            rows.append(row(name, size, times[name], peak_kib(command)))
        output.unlink(missing_ok=True)
        rows.append(time_ranges(warpaes, keyset, sealed, size, 11 * rounds))
    return rows
