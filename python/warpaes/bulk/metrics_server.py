"""The HTTP server of ``--metrics``. Prometheus reads a job's progress from it."""

from __future__ import annotations

import http.server
import ipaddress
import threading
import urllib.parse
from typing import Any

from .._printable import printable
from .metrics import METRICS, text

#: Maximum number of concurrent requests. Further requests are closed without a response.
MAX_REQUESTS = 16


def _is_loopback(place: str) -> bool:
    """Return whether HOST or HOST:PORT is a literal loopback address or localhost."""
    try:
        host = urllib.parse.urlsplit("//" + place).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, *arguments: Any) -> None:
        self._free = threading.Semaphore(MAX_REQUESTS)
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that have closed their connections."""


class MetricsServer:
    """An HTTP server with /metrics for Prometheus and / for browsers."""

    def __init__(self, host: str, port: int, labels: dict[str, str]) -> None:
        """Start the HTTP server. Raises OSError if the port is not free."""
        self._labels = labels
        self._values: dict[str, float] = dict.fromkeys(METRICS, 0.0)
        self._line = "nothing has been processed yet"
        outer, is_local = self, _is_loopback(host)

        class Handler(http.server.BaseHTTPRequestHandler):
            timeout = 10
            server_version, sys_version = "warpaes", ""

            def do_GET(self) -> None:
                # The owner of a web site can make its host name resolve to this machine's address (DNS rebinding), so
                # that the site's scripts can read this server's responses. Their requests name the site's host.
                if is_local and not _is_loopback(self.headers.get("Host") or "localhost"):
                    self.send_error(403)
                    return
                path = self.path.partition("?")[0]
                if path not in ("/", "/metrics"):
                    self.send_error(404)
                    return
                values, line = outer._values, outer._line
                body = (text(values, outer._labels) if path == "/metrics" else printable(line) + "\n").encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.send_header("X-Content-Type-Options", "nosniff")
                self.send_header("Refresh", "2")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *arguments: Any) -> None:
                """Print nothing, because progress is shown on standard error."""

        self._server = _Server((host, port), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True).start()

    def tell(self, values: dict[str, float], line: str) -> None:
        """Store values for later requests."""
        self._values, self._line = values, line

    def close(self) -> None:
        """Stop the HTTP server."""
        self._server.shutdown()
        self._server.server_close()
