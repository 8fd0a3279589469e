#!/usr/bin/env python3
"""Checks the sources with clang without generating code, which takes seconds instead of minutes.

    tools/clang.py check [PATH...]    checks that the files compile without a warning
    tools/clang.py tidy [PATH...]     runs clang-tidy, which must find no fault (.clang-tidy)

PATH is a source file or a folder. The default is all files that the preset "clang" compiles.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build/clang"


def configure() -> None:
    BUILD.mkdir(parents=True, exist_ok=True)
    log = BUILD / "configure.log"
    with log.open("w") as out:
        done = subprocess.run(["cmake", "--preset", "clang"], cwd=ROOT, stdout=out, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.exit(log.read_text())
    # Generates headers as the build's targets do, but without building the library that these targets depend on.
    generated, lab = BUILD / "generated", ROOT / "lab"
    (generated / "lab").mkdir(parents=True, exist_ok=True)
    scripts = [[f"-DOUTPUT={generated}/warpaes_commit.hpp", "-P", ROOT / "cmake/commit.cmake"]]
    for call in re.findall(r"^embed\(([^)]*)\)", (lab / "CMakeLists.txt").read_text(), re.MULTILINE):
        header, namespace, folder, *parts = call.split()
        out = [f"-DFROM={lab / folder}", f"-DOUT={generated}/lab/{header}", f"-DNAMESPACE={namespace}"]
        scripts.append([*out, f"-DPARTS={';'.join(parts)}", "-P", lab / "embed.cmake"])
    for arguments in scripts:
        subprocess.run(["cmake", *arguments], cwd=ROOT, check=True)


def commands(paths: list[Path]) -> dict[str, dict]:
    """Return the first compile command of each file below `paths`. Other targets may compile the same file with similar
    commands."""
    found = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        path = Path(entry["file"])
        if path.is_relative_to(BUILD) or path.name == "precompiled.cpp":
            continue
        if any(path.is_relative_to(below) for below in paths):
            found.setdefault(str(path), entry)
    return found


def check(entry: dict) -> list[str]:
    words = shlex.split(entry["command"])
    at = words.index("-o")
    del words[at : at + 2]
    words = [*(word for word in words if word != "-c"), "-fsyntax-only", "-Werror"]
    # Outside src, match g++, whose warnings do not include sign conversions.
    return words if Path(entry["file"]).is_relative_to(ROOT / "src") else [*words, "-Wno-sign-conversion"]


def tidy(entry: dict) -> list[str]:
    return ["clang-tidy", "--quiet", "--warnings-as-errors=*", "-p", str(BUILD), entry["file"]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("check", "tidy"), help="the check to run")
    parser.add_argument("path", nargs="*", type=Path, help="a source file or folder")
    options = parser.parse_args()
    configure()
    files = commands([path.resolve() for path in options.path] or [ROOT])
    if not files:
        sys.exit(f"{', '.join(map(str, options.path))}: no compiled file matches")

    def run(entry: dict) -> bool:
        command = (check if options.what == "check" else tidy)(entry)
        done = subprocess.run(
            command, cwd=entry["directory"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        if done.returncode != 0:
            print(done.stdout, end="", flush=True)
        return done.returncode == 0

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        bad = list(pool.map(run, files.values())).count(False)
    print(f"{len(files)} files, {bad} with findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
