#!/usr/bin/env python3
"""Two simulated key-management entities (ETSI GS QKD 014) with a quantum key link, for tests and the demo.

Site A has KME-A and the SAE alice. Site B has KME-B and the SAE bob. mallory has a certificate but no keys. Each side
can fetch a key once. ``kme.py FOLDER`` writes the certificates to FOLDER, prints a line for each KME and serves until
its standard input ends.
"""

from __future__ import annotations

import base64
import http.server
import json
import os
import pathlib
import re
import ssl
import subprocess
import sys
import threading
import uuid
from typing import Any
from urllib.parse import unquote

SITES = {"alice": "KME-A", "bob": "KME-B"}
CURVE = ("ec", "-pkeyopt", "ec_paramgen_curve:P-256")
MIN_SIZE, MAX_SIZE, SIZE, MAX_PER_REQUEST, MAX_COUNT = 128, 1024, 256, 3, 100


def _openssl(folder: pathlib.Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def make_certificates(folder: pathlib.Path) -> None:
    """Create an authority and the certificates kme, alice, bob and mallory that it signs, and other-alice with a
    different authority."""
    for authority in ("ca", "other-ca"):
        _openssl(folder, "req", "-x509", "-newkey", *CURVE, "-nodes", "-days", "30",
                 "-subj", f"/CN={authority}", "-keyout", f"{authority}.key", "-out", f"{authority}.pem",
                 "-addext", "keyUsage=critical,keyCertSign")  # fmt: skip
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    for name, subject, authority in (
        ("kme", "KME", "ca"),
        ("alice", "alice", "ca"),
        ("bob", "bob", "ca"),
        ("mallory", "mallory", "ca"),
        ("other-alice", "alice", "other-ca"),
    ):
        _openssl(folder, "req", "-newkey", *CURVE, "-nodes", "-subj", f"/CN={subject}",
                 "-keyout", f"{name}.key", "-out", f"{name}.csr")  # fmt: skip
        _openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem", "-CAkey", f"{authority}.key",
                 "-CAcreateserial", "-days", "30", "-extfile", "names", "-out", f"{name}.pem")  # fmt: skip


class Link:
    """The shared state of the two KMEs: the available keys, and the keys that the other side has not fetched yet."""

    def __init__(self, stored: int = MAX_COUNT) -> None:
        self.lock = threading.Lock()
        self.stored = stored
        #: Keys by master, slave and key number, until the slave fetches the key or it is revoked.
        self.waiting: dict[tuple[str, str, str], bytes] = {}
        self.handed_out: list[str] = []
        #: A fault to inject. The function is called with the request, and returns a status and a body, or None.
        self.fault: Any = None
        self.requests: list[str] = []

    def revoke(self, key_id: str) -> None:
        """Simulate the end of a key's life."""
        with self.lock:
            self.waiting = {name: key for name, key in self.waiting.items() if name[2] != key_id}

    def take(self, master: str, slave: str, number: int, size: int) -> list[tuple[str, bytes]] | None:
        with self.lock:
            if number > self.stored:
                return None
            self.stored -= number
            keys = [(str(uuid.uuid4()), os.urandom(size // 8)) for _ in range(number)]
            self.waiting |= {(master, slave, key_id): key for key_id, key in keys}
            return keys

    def fetch(self, master: str, slave: str, key_ids: list[str]) -> list[tuple[str, bytes]] | None:
        with self.lock:
            if len(set(key_ids)) != len(key_ids) or any((master, slave, name) not in self.waiting for name in key_ids):
                return None
            self.handed_out += key_ids
            return [(name, self.waiting.pop((master, slave, name))) for name in key_ids]


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Any

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._answer(None)

    def do_POST(self) -> None:
        try:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        except ValueError:
            body = 0
        self._answer(body)

    def _sae(self) -> str:
        subject = dict(pair for item in self.connection.getpeercert()["subject"] for pair in item)
        return str(subject["commonName"])

    def _answer(self, body: Any) -> None:
        link: Link = self.server.link
        link.requests.append(self.path)
        match = re.fullmatch(r"/api/v1/keys/([^/]+)/(status|enc_keys|dec_keys)", self.path)
        fault = link.fault(self.path) if link.fault else None
        if fault is not None:
            status, content = fault
        elif match is None:
            status, content = 404, {"message": "no such path"}
        else:
            status, content = self._carry_out(link, unquote(match[1]), match[2], body)
        sent = content if isinstance(content, bytes) else json.dumps(content).encode()
        cut = status == 0  # the connection ends midway through the response
        self.send_response(200 if cut else status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent) * 2 if cut else len(sent)))
        self.end_headers()
        self.wfile.write(sent)
        self.close_connection = True

    def _carry_out(self, link: Link, peer: str, what: str, body: Any) -> tuple[int, Any]:
        sae = self._sae()
        if SITES.get(sae) != self.server.name:
            return 401, {"message": f"{sae} is no SAE of this site"}
        if peer not in SITES or peer == sae:
            return 400, {"message": f"no keys are shared with {peer}"}
        if what == "status":
            return 200, {
                "source_KME_ID": self.server.name,
                "target_KME_ID": SITES[peer],
                "master_SAE_ID": sae,
                "slave_SAE_ID": peer,
                "key_size": SIZE,
                "stored_key_count": link.stored,
                "max_key_count": MAX_COUNT,
                "max_key_per_request": MAX_PER_REQUEST,
                "max_key_size": MAX_SIZE,
                "min_key_size": MIN_SIZE,
                "max_SAE_ID_count": 0,
            }
        if not isinstance(body, dict):
            return 400, {"message": "the body is not a JSON object"}
        if what == "enc_keys":
            number, size = body.get("number", 1), body.get("size", SIZE)
            if not 1 <= number <= MAX_PER_REQUEST:
                return 400, {"message": "number is more than max_key_per_request"}
            if size % 8 != 0:
                return 400, {"message": "size shall be a multiple of 8"}
            if not MIN_SIZE <= size <= MAX_SIZE:
                return 400, {"message": "size is out of range"}
            keys = link.take(sae, peer, number, size)
            if keys is None:
                return 503, {"message": "not enough keys"}
        else:
            fetched = link.fetch(peer, sae, [entry["key_ID"] for entry in body["key_IDs"]])
            if fetched is None:
                return 400, {"message": "one or more keys specified are not found on KME"}
            keys = fetched
        return 200, {"keys": [{"key_ID": name, "key": base64.b64encode(key).decode()} for name, key in keys]}


class _Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_: Any) -> None:
        """Print nothing, because tests end connections on purpose."""


class Sites:
    """Runs both KMEs until ``close``."""

    def __init__(self, folder: pathlib.Path, stored: int = MAX_COUNT) -> None:
        self.link = Link(stored)
        self.urls: dict[str, str] = {}
        self._servers = []
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(folder / "kme.pem", folder / "kme.key")
        context.load_verify_locations(folder / "ca.pem")
        context.verify_mode = ssl.CERT_REQUIRED
        for sae, name in SITES.items():
            server: Any = _Server(("127.0.0.1", 0), _Handler)
            server.name, server.link = name, self.link
            # The connection's own thread performs the handshake, so that other connections need not wait.
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
            self.urls[sae] = f"https://127.0.0.1:{server.server_address[1]}"
            threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
            self._servers.append(server)

    def close(self) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    make_certificates(folder)
    sites = Sites(folder)
    for sae, url in sites.urls.items():
        print(sae, url, flush=True)
    sys.stdin.read()
    sites.close()


if __name__ == "__main__":
    main()
