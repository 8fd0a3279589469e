#!/usr/bin/env python3
"""Measures the processor time of nginx for TLS, with and without the provider.

`make server-bench` builds the provider and runs this program, which requires nginx and curl. Two servers run at the
same time: one with OpenSSL's default provider and one with warpaes. They alternately send the same file on tmpfs to
curl. Stores a record in bench/results/server.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent))
from recording import ROOT, processor, save, stamp

CIPHERS = {
    "TLS 1.3, AES-128-GCM": ["--tls13-ciphers", "TLS_AES_128_GCM_SHA256"],
    "TLS 1.3, AES-256-GCM": ["--tls13-ciphers", "TLS_AES_256_GCM_SHA384"],
    "TLS 1.2, AES-128-GCM": ["--tls-max", "1.2", "--ciphers", "ECDHE-ECDSA-AES128-GCM-SHA256"],
}
OPENSSL = """openssl_conf = init
[init]
providers = all
{algorithms}
[all]
default = one
{warpaes}
[one]
activate = 1
"""
WARPAES = """[two]
module = {module}
activate = 1
[prefer]
default_properties = ?provider=warpaes
"""
NGINX = """daemon off;
master_process off;
pid {folder}/{name}.pid;
error_log {folder}/{name}.log;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    keepalive_requests 1000000;
    server {{
        listen 127.0.0.1:{port} ssl;
        ssl_certificate {folder}/certificate.pem;
        ssl_certificate_key {folder}/key.pem;
        ssl_protocols TLSv1.2 TLSv1.3;
        root {folder}/files;
    }}
}}
"""


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def serving(folder: Path, name: str, module: Path | None) -> Iterator[tuple[int, int]]:
    """Run nginx as one process. Yield its process ID and its port."""
    config = OPENSSL.format(
        algorithms="alg_section = prefer" if module else "", warpaes="warpaes = two" if module else ""
    )
    (folder / f"{name}.cnf").write_text(config + (WARPAES.format(module=module) if module else ""))
    port = free_port()
    (folder / f"{name}.conf").write_text(NGINX.format(folder=folder, name=name, port=port))
    server = subprocess.Popen(
        ["nginx", "-c", folder / f"{name}.conf", "-p", folder, "-e", folder / f"{name}.log"],
        env=os.environ | {"OPENSSL_CONF": str(folder / f"{name}.cnf")},
    )
    try:
        for _ in range(100):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.05)
        else:
            raise SystemExit(f"nginx does not listen: {(folder / f'{name}.log').read_text()}")
        loaded = "warpaes.so" in Path(f"/proc/{server.pid}/maps").read_text()
        if loaded != (module is not None):
            raise SystemExit(f"{name}: the provider is {'' if loaded else 'not '}loaded")
        yield server.pid, port
    finally:
        server.terminate()
        server.wait()


def processor_seconds(process: int) -> float:
    return int(Path(f"/proc/{process}/schedstat").read_text().split()[0]) / 1e9


def deliver(process: int, port: int, cipher: str, gigabytes: int) -> float:
    """Return nginx's processor time in seconds per GB for a file of 1 GB, sent repeatedly on one connection."""
    before = processor_seconds(process)
    urls = [f"https://127.0.0.1:{port}/file"] * gigabytes
    outputs = [argument for _ in urls for argument in ("-o", "/dev/null")]
    subprocess.run(["curl", "-sS", "-k", "--fail", *CIPHERS[cipher], *outputs, *urls], check=True)
    return (processor_seconds(process) - before) / gigabytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=ROOT / "bench/results/server", help="folder for the record")
    parser.add_argument("--samples", type=int, default=7, help="samples of each server and cipher (%(default)s)")
    parser.add_argument("--gigabytes", type=int, default=2, help="size of a sample in GB (%(default)s)")
    parser.add_argument(
        "build", nargs="?", type=Path, default=ROOT / "build/default", help="folder of the build (%(default)s)"
    )
    options = parser.parse_args()
    for program in ("nginx", "curl", "openssl"):
        if shutil.which(program) is None:
            raise SystemExit(f"{program} is missing: apt-get install {program}")
    module = (options.build / "provider/warpaes.so").resolve()
    rows = []
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        folder = Path(name)
        folder.chmod(0o755)  # if root starts nginx, it runs as another user, which must be able to read this folder
        (folder / "files").mkdir()
        with (folder / "files/file").open("wb") as file:
            file.truncate(10**9)
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", "/CN=localhost", "-keyout", folder / "key.pem", "-out", folder / "certificate.pem"],
            check=True, capture_output=True,
        )  # fmt: skip
        with serving(folder, "default", None) as default, serving(folder, "warpaes", module) as warpaes:
            for cipher in CIPHERS:
                seconds: dict[str, list[float]] = {"default": [], "warpaes": []}
                for sample in range(-1, options.samples):
                    for server, at in (("default", default), ("warpaes", warpaes)):
                        spent = deliver(*at, cipher, options.gigabytes if sample >= 0 else 1)
                        if sample >= 0:
                            seconds[server].append(spent)
                rows.append({"cipher": cipher} | {f"{server}_s_per_gb": min(s) for server, s in seconds.items()})
                print(rows[-1], flush=True)
    versions = {
        program: subprocess.run([program, flag], capture_output=True, text=True)
        for program, flag in (("nginx", "-v"), ("openssl", "version"))
    }
    host = {"cpu": processor(), "cores": os.cpu_count()}
    record = {
        "schema": 1, **stamp(), "host": host, "samples": options.samples,
        "nginx": versions["nginx"].stderr.rpartition("/")[2].strip(),
        "openssl": versions["openssl"].stdout.split()[1], "rows": rows,
    }  # fmt: skip
    print(save(record, host["cpu"], options.output))


if __name__ == "__main__":
    main()
