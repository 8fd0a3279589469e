"""What Prometheus and Ray are told of a job: a file, a port, gauges of a cluster."""

from __future__ import annotations

import contextlib
import http.server
import os
import threading
from collections.abc import Callable
from typing import Any, Protocol

PREFIX = "warpaes_bulk_"
#: Kind and sentence of each metric, by its name.
METRICS = {
    "objects": ("gauge", "Objects of the job"),
    "bytes": ("gauge", "Bytes of the job's sources"),
    "done_objects": ("gauge", "Objects that are done"),
    "done_bytes": ("gauge", "Bytes of sources that are done"),
    "errors": ("gauge", "Objects that have failed"),
    "in_flight": ("gauge", "Objects that workers have"),
    "bytes_per_second": ("gauge", "Bytes of sources a second, in the last minutes"),
    "objects_per_second": ("gauge", "Objects a second, in the last minutes"),
    "seconds_left": ("gauge", "Seconds to go at that rate; -1: not known"),
    "retries_total": ("counter", "Objects that were begun again"),
    "worker_deaths_total": ("counter", "Workers that have died"),
    "finished": ("gauge", "1 when the run has ended"),
}


class Told(Protocol):
    """Something that is told how far a job has come."""

    def tell(self, values: dict[str, float], line: str) -> None:
        """Take the values of all metrics, and a line for people."""

    def close(self) -> None:
        """End it."""


def text(values: dict[str, float], labels: dict[str, str]) -> str:
    """Return Prometheus' text format."""
    quoted = ",".join(
        '%s="%s"' % (name, value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n"))  # noqa: UP031
        for name, value in labels.items()
    )
    return "".join(
        f"# HELP {PREFIX}{name} {sentence}.\n# TYPE {PREFIX}{name} {kind}\n{PREFIX}{name}{{{quoted}}} {values[name]}\n"
        for name, (kind, sentence) in METRICS.items()
    )


class MetricsFile:
    """A file that is replaced as a whole, for node_exporter's text files."""

    def __init__(self, path: str, labels: dict[str, str]) -> None:
        """Take a path; nothing is written yet."""
        self._path, self._labels = path, labels

    def tell(self, values: dict[str, float], line: str) -> None:
        """Write it."""
        temporary = f"{self._path}.{os.getpid()}"
        try:
            with open(temporary, "w") as file:
                file.write(text(values, self._labels))
            os.replace(temporary, self._path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise

    def close(self) -> None:
        """Keep it: it says how the run has ended."""


class MetricsServer:
    """A port that Prometheus asks at /metrics, and a browser at /."""

    def __init__(self, host: str, port: int, labels: dict[str, str]) -> None:
        """Listen."""
        self._labels = labels
        self._values: dict[str, float] = dict.fromkeys(METRICS, 0.0)
        self._line = "nothing is done yet"
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            timeout = 10

            def do_GET(self) -> None:
                if self.path not in ("/", "/metrics"):
                    self.send_error(404)
                    return
                values, line = outer._values, outer._line
                said = text(values, outer._labels) if self.path == "/metrics" else line + "\n"
                body = said.encode(errors="backslashreplace")
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Refresh", "2")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *arguments: Any) -> None:
                """Say nothing: standard error is the progress's."""

        self._server = http.server.ThreadingHTTPServer((host, port), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True).start()

    def tell(self, values: dict[str, float], line: str) -> None:
        """Say this from now on."""
        self._values, self._line = values, line

    def close(self) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()


class RayGauges:
    """Metrics of a Ray cluster, which its dashboard and its own Prometheus endpoints show."""

    def __init__(self, gauge: Callable[..., Any], labels: dict[str, str]) -> None:
        """Take ray.util.metrics.Gauge, after the cluster was joined."""
        self._gauges = {
            name: gauge(PREFIX + name.removesuffix("_total"), description=sentence, tag_keys=tuple(labels))
            for name, (_, sentence) in METRICS.items()
        }
        self._labels = labels

    def tell(self, values: dict[str, float], line: str) -> None:
        """Set them."""
        for name, gauge in self._gauges.items():
            gauge.set(values[name], self._labels)

    def close(self) -> None:
        """Leave them: they go with the driver."""


def open_metrics(place: str, labels: dict[str, str]) -> Told:
    """Return what `--metrics` names: a port, with a host before it or on this machine alone, or a file."""
    host, _, port = place.rpartition(":")
    if port.isdecimal() and "/" not in host:
        if int(port) > 65535:
            raise ValueError(f"--metrics {place}: ports end at 65535; ./{place} is a file")
        try:
            return MetricsServer(host or "127.0.0.1", int(port), labels)
        except OSError as error:
            raise ValueError(f"--metrics {place}: cannot listen there: {error.strerror or error}") from None
    return MetricsFile(place, labels)
