"""The fields of every record that identify it: commit, date and machine."""

from __future__ import annotations

import datetime
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
    """Of now and of the tree as it is."""
    sha, dirty = commit()
    date = f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
    return {"date": date, "commit": sha, "dirty": dirty}


def rounded(value):
    """Five digits say all that there is to say."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value


def machine(record: dict) -> str:
    return record["gpu"]["name"] if record["gpu"] else record["host"]["cpu"]


def file_for(record: dict, name: str, folder: Path) -> Path:
    """Where the record goes, in a folder that exists then; of one name the newest record is the last."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{slug}-{record['date'].replace(':', '')}.json"


def environment_of(build: Path) -> dict:
    """For programs of a build that was made elsewhere: they find its library through this."""
    paths = [str(build / "src/capi"), os.environ.get("LD_LIBRARY_PATH", "")]
    return os.environ | {"LD_LIBRARY_PATH": ":".join(filter(None, paths))}
