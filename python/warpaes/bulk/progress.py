"""Reports on the progress of a job: a line on the terminal, metrics for Prometheus, and a final report."""

from __future__ import annotations

import time
from collections import Counter, deque
from typing import TextIO

from .._printable import printable
from .metrics import MetricsFile, Told

#: Maximum number of errors in a report. The manifest contains all errors.
SHOWN = 20


def human(count: float) -> str:
    """Return a number of bytes with three digits and a unit."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 999.5:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} PB"


def clock(seconds: float) -> str:
    """Return a readable duration."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def open_metrics(place: str, labels: dict[str, str]) -> Told:
    """Parse the value of `--metrics`: a port on this machine, HOST:PORT, or a file."""
    host, _, port = place.rpartition(":")
    if port.isdecimal() and "/" not in host:
        if int(port) > 65535:
            raise ValueError(f"--metrics {place}: the maximum port is 65535; write ./{place} for a file")
        from .metrics_server import MetricsServer  # most jobs have no metrics, and the module loads slowly

        try:
            return MetricsServer(host or "127.0.0.1", int(port), labels)
        except OSError as error:
            raise ValueError(f"--metrics {place}: cannot listen on this address: {error.strerror or error}") from None
    return MetricsFile(place, labels)


class Progress:
    """The counters of a job, which are reported at intervals."""

    def __init__(self, command: str, target: str, file: TextIO | None, metrics: str | None) -> None:
        """Start at zero. `file` is a terminal, a log or None, and `metrics` is a port or a path for Prometheus."""
        self.command, self.target = command, target
        self.objects = self.bytes = 0  #: in the whole job
        self.done_objects = self.done_bytes = 0
        self.run_objects = self.run_bytes = 0  # processed in this run
        self.errors = self.retries = self.deaths = self.adopted = self.in_flight = 0
        self.computed_on: Counter[str] = Counter()  #: objects, by backend and GPU
        self.first_errors: list[dict[str, str]] = []  #: in this run
        self._file = file
        self.labels = {"command": command, "target": target}
        self._told_of: list[Told] = [open_metrics(metrics, self.labels)] if metrics else []
        self._begin = self._told = time.monotonic()
        self._samples: deque[tuple[float, int, int]] = deque([(self._begin, 0, 0)], maxlen=60)
        self._terminal = bool(file and file.isatty())

    @property
    def seconds(self) -> float:
        """Return the elapsed time of the run."""
        return time.monotonic() - self._begin

    def rates(self) -> tuple[float, float]:
        """Return bytes and objects per second since the oldest of the last 60 reports."""
        then, size, objects = self._samples[0]
        seconds = max(time.monotonic() - then, 1e-9)
        return (self.run_bytes - size) / seconds, (self.run_objects - objects) / seconds

    def left(self) -> float | None:
        """Return the estimated remaining seconds: the longer of the estimates by bytes and by objects."""
        by_bytes, by_objects = self.rates()
        bytes_left, objects_left = self.bytes - self.done_bytes, self.objects - self.done_objects - self.errors
        if by_objects <= 0:
            return None
        return max(bytes_left / by_bytes if by_bytes > 0 else 0, objects_left / by_objects, 0)

    def line(self) -> str:
        """Return the job's state in one line."""
        by_bytes, by_objects = self.rates()
        left = self.left()
        text = (
            f"{self.command}: {self.done_objects}/{self.objects} objects, {human(self.done_bytes)} of "
            f"{human(self.bytes)}, {human(by_bytes)}/s, {by_objects:.0f} objects/s"
        )
        text += f", {clock(left)} left" if left is not None else ""
        return text + (f", {self.errors} errors" if self.errors else "")

    def tell(self, last: bool = False) -> None:
        """Report the job's state if the interval has passed or this is the last report."""
        now = time.monotonic()
        interval = 1 if self._terminal else 10
        if now - self._told < interval and not last:
            return
        if last:
            self._samples = deque([(self._begin, 0, 0)])
        self._told = now
        if self._file is not None:
            self._print(self.line(), "" if self._terminal and not last else "\n")
        for told in self._told_of:
            try:
                told.tell(self.values(last), self.line())
            except OSError as error:  # a failed report does not stop the work
                self.say(f"--metrics: {error}")
        self._samples.append((now, self.run_bytes, self.run_objects))

    def _print(self, text: str, end: str) -> None:
        try:
            print(("\r\x1b[K" if self._terminal else "") + printable(text), file=self._file, flush=True, end=end)
        except OSError:  # for example, if a pipe's reader has closed it
            self._file = None

    def say(self, sentence: str) -> None:
        """Print a sentence on a separate line."""
        if self._file is not None:
            self._print(f"{self.command}: {sentence}", "\n")

    def note_error(self, key: str, error: str) -> None:
        """Record an error for the report, unless it already contains enough errors."""
        if len(self.first_errors) < SHOWN:
            self.first_errors.append({"key": key, "error": error})

    def watch(self, told: Told) -> None:
        """Add a receiver of reports."""
        self._told_of.append(told)

    def values(self, last: bool = False) -> dict[str, float]:
        """Return all metrics."""
        by_bytes, by_objects = self.rates()
        left = self.left()
        return {
            "objects": self.objects,
            "bytes": self.bytes,
            "done_objects": self.done_objects,
            "done_bytes": self.done_bytes,
            "errors": self.errors,
            "in_flight": self.in_flight,
            "bytes_per_second": round(by_bytes, 3),
            "objects_per_second": round(by_objects, 3),
            "seconds_left": -1 if left is None else round(left, 3),
            "retries_total": self.retries,
            "worker_deaths_total": self.deaths,
            "finished": int(last),
        }

    def close(self) -> None:
        """Stop reporting."""
        for told in self._told_of:
            told.close()
        self._told_of = []
