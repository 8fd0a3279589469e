"""Rewrites records of measurements in the format that this repository stores, with one line per row.

Measuring programs import this module to write records, and to add the fields that identify a record (commit, date,
machine).
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def output_of(*command: str) -> str:
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def find_gpu() -> dict | None:
    names = output_of(
        "nvidia-smi", "--query-gpu=name,driver_version,clocks.max.sm", "--format=csv,noheader,nounits"
    ).splitlines()
    if not names:
        return None
    name, driver, clock = (field.strip() for field in names[0].split(","))
    return {"name": name, "driver": driver, "count": len(names), "clock_mhz": int(clock) if clock.isdigit() else None}


def processor() -> str:
    found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1] if found else platform.machine()


def commit() -> tuple[str, bool]:
    if "WARPAES_COMMIT" in os.environ:
        return os.environ["WARPAES_COMMIT"], os.environ.get("WARPAES_DIRTY") == "1"
    changed = [line for line in output_of("git", "status", "--porcelain").splitlines() if "bench/results/" not in line]
    return output_of("git", "rev-parse", "HEAD"), bool(changed)


def stamp() -> dict:
    """Return the current time, the commit, and whether the tree has uncommitted changes."""
    sha, dirty = commit()
    date = f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
    return {"date": date, "commit": sha, "dirty": dirty}


def rounded(value):
    """Round numbers to five significant digits. No measurement is more precise."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value


def machine(record: dict) -> str:
    return record["gpu"]["name"] if record["gpu"] else record["host"]["cpu"]


def text_of(value, depth: int = 0) -> str:
    """Return a value as JSON. An object or list of at most 600 characters is on one line."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) + depth <= 600 or not value or not isinstance(value, (dict, list)):
        return line
    inner = "\n" + " " * (depth + 1)
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {text_of(item, depth + 1)}" for key, item in value.items()]
        return "{" + inner + f",{inner}".join(parts) + "\n" + " " * depth + "}"
    return "[" + inner + f",{inner}".join(text_of(item, depth + 1) for item in value) + "\n" + " " * depth + "]"


def host() -> dict:
    """Return the description of this machine for a record."""
    return {"cpu": processor(), "cores": os.cpu_count(), "os": f"{platform.system()} {platform.release()}"}


def built(folder: Path | None, gpu: dict | None, *targets: str) -> Path:
    """Return `folder` if it is not None. Otherwise, build the targets and return the folder of the build."""
    if folder is not None:
        return folder
    build = ROOT / "build" / ("cuda" if gpu else "default")
    subprocess.run([ROOT / "tools/build", build.name, *targets], cwd=ROOT, check=True)
    return build


def save(record: dict, name: str, folder: Path) -> Path:
    """Round a record and write it to ``folder``, which is created if necessary. Sorted by file name, the newest record
    of a machine is the last."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{slug}-{record['date'].replace(':', '')}.json"
    path.write_text(text_of(rounded(record)) + "\n")
    return path


def environment_of(build: Path) -> dict:
    """Return the environment for programs of a build, with the path of their library. The build may come from another
    machine."""
    paths = [str(build / "src/capi"), os.environ.get("LD_LIBRARY_PATH", "")]
    return os.environ | {"LD_LIBRARY_PATH": ":".join(filter(None, paths))}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", nargs="+", type=Path, metavar="RECORD", help="a JSON file in bench/results")
    for given in parser.parse_args().records:
        given.write_text(text_of(json.loads(given.read_text())) + "\n")
