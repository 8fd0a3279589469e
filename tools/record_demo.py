#!/usr/bin/env python3
"""Runs the README's commands on a terminal and records the session in bench/results/demo. `make docs` draws
docs/demo.svg from the record.

The commands run twice, and the second run is recorded, because the first run fills the page cache.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from recording import ROOT, processor, save, stamp

COLUMNS = 80
#: The commands in order. Only disk.img exists at the start.
STEPS = (
    "warpaes keygen -o keyset.json",
    "warpaes encrypt -k keyset.json disk.img",
    "warpaes verify -k keyset.json disk.img.warpaes",
    "warpaes decrypt -k keyset.json -r 2100000000:2100000020 disk.img.warpaes",
    "printf X | dd of=disk.img.warpaes bs=1 seek=5000 conv=notrunc status=none",
    "warpaes decrypt -k keyset.json -o copy.img disk.img.warpaes",
    "ls",
)


def run_on_terminal(command: str, folder: Path, environment: dict) -> tuple[list, int]:
    """Run a command. Return the pieces of its terminal output, each with the time in seconds, and its exit status."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    start, events = time.monotonic(), []
    with subprocess.Popen(
        ["bash", "-c", command], stdin=slave, stdout=slave, stderr=slave, cwd=folder, env=environment
    ) as process:
        os.close(slave)
        while True:
            if not select.select([master], [], [], 60)[0]:
                process.kill()
                raise RuntimeError(f"no output for a minute: {command}")
            try:
                piece = os.read(master, 65536)
            except OSError:  # no process has the terminal open any longer
                break
            if not piece:
                break
            events.append([round(time.monotonic() - start, 3), piece.decode()])
    os.close(master)
    return events, process.returncode


def session(warpaes: Path, place: Path, size: int) -> list[dict]:
    with tempfile.TemporaryDirectory(dir=place, prefix="warpaes-demo-") as name:
        folder = Path(name)
        with (folder / "disk.img").open("wb") as disk:
            text = b"all work and no play\n" * 50_000
            for _ in range(size // len(text)):
                disk.write(text)
            disk.write(text[: size % len(text)])
        environment = {"PATH": f"{warpaes}:{os.environ['PATH']}", "TERM": "xterm", "HOME": name, "LC_ALL": "C.UTF-8"}
        steps = []
        for command in STEPS:
            events, status = run_on_terminal(command, folder, environment)
            steps.append({"command": command, "status": status, "events": events})
    return steps


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=int, default=2048, help="size of the file in MiB (%(default)s)")
    size = parser.parse_args().mib << 20
    warpaes, place = ROOT / "build/default/cli", Path("/dev/shm")
    if shutil.disk_usage(place).free < 3 * size:
        print(f"{place} has no room for two such files; choose smaller files with --mib", file=sys.stderr)
        return 1
    for _ in range(2):
        steps = session(warpaes, place, size)
    for step in steps:
        print(f"$ {step['command']}\n{''.join(text for _, text in step['events'])}", end="")
    if [step["status"] for step in steps] != [0, 0, 0, 0, 0, 22, 0]:
        raise RuntimeError(f"unexpected exit statuses: {[(step['command'], step['status']) for step in steps]}")
    host = {"cpu": processor(), "cores": len(os.sched_getaffinity(0))}
    record = {"schema": 1} | stamp() | {"host": host, "columns": COLUMNS, "bytes": size, "steps": steps}
    folder = ROOT / "bench/results/demo"
    for old in folder.glob("*.json"):
        old.unlink()
    path = save(record, processor(), folder)
    print(f"record: {path.relative_to(ROOT)}; `make docs` draws it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
