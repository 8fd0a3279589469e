#!/usr/bin/env python3
"""Compares the speed of the provider and of OpenSSL's default provider in one process.

`make provider-bench` builds the provider and runs this program. Stores a record in bench/results/provider.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent))
from recording import ROOT, processor, save, stamp

CONFIG = """openssl_conf = init
[init]
providers = all
[all]
default = one
warpaes = two
[one]
activate = 1
[two]
activate = 1
cbc = yes
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=ROOT / "bench/results/provider", help="folder for the record")
    parser.add_argument(
        "build", nargs="?", type=Path, default=ROOT / "build/default", help="folder of the build (%(default)s)"
    )
    options = parser.parse_args()
    build = options.build
    with tempfile.NamedTemporaryFile("w", suffix=".cnf") as config:
        config.write(CONFIG)
        config.flush()
        command = [build / "bench/provider_speed", build / "provider", config.name]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    rows = []
    for line in lines:
        cipher, direction, calls, size, default, ours = line.split()
        row = {"cipher": cipher, "direction": direction, "calls": calls, "bytes": int(size)}
        rows.append(row | {"default_ns": float(default), "warpaes_ns": float(ours)})
    listed = subprocess.run(
        ["openssl", "list", "-providers", "-verbose", "-provider-path", build / "provider", "-provider", "warpaes"],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    kernels = listed.partition("build info: ")[2].splitlines()[0].partition(", ")[2]
    openssl = subprocess.run(["openssl", "version"], check=True, capture_output=True, text=True).stdout.split()[1]
    host = {"cpu": processor(), "cores": os.cpu_count()}
    record = {"schema": 1, **stamp(), "host": host, "openssl": openssl, "kernels": kernels, "rows": rows}
    path = save(record, host["cpu"], options.output)
    print(path)


if __name__ == "__main__":
    main()
