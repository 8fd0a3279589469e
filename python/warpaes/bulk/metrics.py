"""A job's metrics for Prometheus and Ray, in a file, on a port or as gauges of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from .._output import Output
from .._printable import printable

PREFIX = "warpaes_bulk_"
#: The type and the description of each metric, by name.
METRICS = {
    "objects": ("gauge", "Objects in the job"),
    "bytes": ("gauge", "Bytes in the job's source objects"),
    "done_objects": ("gauge", "Finished objects"),
    "done_bytes": ("gauge", "Finished bytes of source objects"),
    "errors": ("gauge", "Failed objects"),
    "in_flight": ("gauge", "Objects in progress"),
    "bytes_per_second": ("gauge", "Bytes of source objects per second, in the last minutes"),
    "objects_per_second": ("gauge", "Objects per second, in the last minutes"),
    "seconds_left": ("gauge", "Estimated number of remaining seconds, or -1 if unknown"),
    "retries_total": ("counter", "Restarted objects"),
    "worker_deaths_total": ("counter", "Workers that have died"),
    "finished": ("gauge", "1 when the run has ended"),
}


class Told(Protocol):
    """Receives the progress of a job."""

    def tell(self, values: dict[str, float], line: str) -> None:
        """Report the values of all metrics, and a readable line of text."""

    def close(self) -> None:
        """Stop reporting."""


def text(values: dict[str, float], labels: dict[str, str]) -> str:
    """Return the metrics in Prometheus' text format."""
    quoted = ",".join(
        '%s="%s"' % (name, printable(value).replace("\\", "\\\\").replace('"', '\\"'))  # noqa: UP031
        for name, value in labels.items()
    )
    return "".join(
        f"# HELP {PREFIX}{name} {sentence}.\n# TYPE {PREFIX}{name} {kind}\n{PREFIX}{name}{{{quoted}}} {values[name]}\n"
        for name, (kind, sentence) in METRICS.items()
    )


class MetricsFile:
    """A file for node_exporter's textfile collector, replaced atomically."""

    def __init__(self, path: str, labels: dict[str, str]) -> None:
        """Store the path. The file is written at the first report."""
        self._path, self._labels = path, labels

    def tell(self, values: dict[str, float], line: str) -> None:
        """Replace the file with one that contains the new values."""
        with Output(self._path, replace=True) as file:
            file.write(text(values, self._labels).encode())

    def close(self) -> None:
        """Keep the file, which contains the last values of the run."""


class RayGauges:
    """Metrics of a Ray cluster. Ray's dashboard and its Prometheus endpoints show them."""

    def __init__(self, gauge: Callable[..., Any], labels: dict[str, str]) -> None:
        """Create one gauge for each metric. ``gauge`` is ray.util.metrics.Gauge. The caller must already have joined
        the cluster."""
        self._gauges = {
            name: gauge(PREFIX + name.removesuffix("_total"), description=sentence, tag_keys=tuple(labels))
            for name, (_, sentence) in METRICS.items()
        }
        self._labels = labels

    def tell(self, values: dict[str, float], line: str) -> None:
        """Set the gauges to the new values."""
        for name, gauge in self._gauges.items():
            gauge.set(values[name], self._labels)

    def close(self) -> None:
        """Do nothing, because Ray removes the gauges when the driver ends."""
