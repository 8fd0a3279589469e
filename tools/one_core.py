#!/usr/bin/env python3
"""Runs bench/one_core, which measures one core with messages of 64 bytes to 64 MiB, compared with ipsec-mb, libcrypto
and memcpy.

Prints the table and stores a record in bench/results/one_core.

    tools/one_core.py [--build FOLDER] [--backend NAME] [options of one_core]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from recording import ROOT, environment_of, processor, save, stamp


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/default", help="folder of the build (%(default)s)")
    parser.add_argument("--backend", default="", help="backend of warpaes (default: the best)")
    arguments, others = parser.parse_known_args()
    backend = ["--backend", arguments.backend] if arguments.backend else []
    with tempfile.TemporaryDirectory() as folder:
        figures = Path(folder) / "figures.json"
        command = [arguments.build / "bench/one_core", *backend, *others, "--json", figures]
        status = subprocess.run(command, env=environment_of(arguments.build), check=False).returncode
        if status != 0:
            return status
        measured = json.loads(figures.read_text())
    record = {"schema": 1} | stamp() | {"host": {"cpu": processor()}, "backend": arguments.backend or "auto"} | measured
    name = f"{processor()} {arguments.backend}".strip()
    path = save(record, name, ROOT / "bench/results/one_core")
    print(f"record: {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
