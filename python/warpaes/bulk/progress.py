"""How far a job has come: a line on the terminal, metrics for Prometheus, a report at the end."""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from typing import TextIO


def human(count: float) -> str:
    """Return bytes with three digits and a unit."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 999.5:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} PB"


def clock(seconds: float) -> str:
    """Return a duration as people write it."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


class Progress:
    """Counts, and tells at intervals."""

    def __init__(self, command: str, target: str, file: TextIO | None, metrics: str | None) -> None:
        """`file`: a terminal or a log, or None; `metrics`: a path for the text that Prometheus' exporters read."""
        self.command, self.target = command, target
        self.objects = self.bytes = 0  #: all of them
        self.done_objects = self.done_bytes = 0
        self.run_objects = self.run_bytes = 0  #: of what is done, by this run
        self.errors = self.retries = self.deaths = self.adopted = self.in_flight = 0
        self._file, self._metrics = file, metrics
        self._begin = self._told = time.monotonic()
        self._samples: deque[tuple[float, int, int]] = deque([(self._begin, 0, 0)], maxlen=60)
        self._terminal = bool(file and file.isatty())

    @property
    def seconds(self) -> float:
        """Return how long the run has taken."""
        return time.monotonic() - self._begin

    def rates(self) -> tuple[float, float]:
        """Bytes and objects a second, of the last minute."""
        then, size, objects = self._samples[0]
        seconds = max(time.monotonic() - then, 1e-9)
        return (self.run_bytes - size) / seconds, (self.run_objects - objects) / seconds

    def left(self) -> float | None:
        """Return seconds to go: by bytes or by objects, whichever takes longer."""
        by_bytes, by_objects = self.rates()
        bytes_left, objects_left = self.bytes - self.done_bytes, self.objects - self.done_objects - self.errors
        if by_objects <= 0:
            return None
        return max(bytes_left / by_bytes if by_bytes > 0 else 0, objects_left / by_objects)

    def line(self) -> str:
        """Return the state in one line."""
        by_bytes, by_objects = self.rates()
        left = self.left()
        text = (
            f"{self.command}: {self.done_objects}/{self.objects} objects, {human(self.done_bytes)} of "
            f"{human(self.bytes)}, {human(by_bytes)}/s, {by_objects:.0f} objects/s"
        )
        text += f", {clock(left)} left" if left is not None else ""
        return text + (f", {self.errors} errors" if self.errors else "")

    def tell(self, last: bool = False) -> None:
        """Print and write, if it is time."""
        now = time.monotonic()
        interval = 1 if self._terminal else 10
        if now - self._told < interval and not last:
            return
        if last:
            self._samples = deque([(self._begin, 0, 0)])
        self._told = now
        if self._file is not None:
            print(("\r\x1b[K" if self._terminal else "") + self.line(), file=self._file, flush=True,
                  end="" if self._terminal and not last else "\n")  # fmt: skip
        if self._metrics:
            self._write_metrics(last)
        self._samples.append((now, self.run_bytes, self.run_objects))

    def _write_metrics(self, last: bool) -> None:
        label = '{command="%s",target="%s"}' % (  # noqa: UP031
            self.command,
            self.target.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n"),
        )
        values = {
            "objects": ("gauge", "Objects of the job", self.objects),
            "bytes": ("gauge", "Bytes of the job's sources", self.bytes),
            "done_objects": ("gauge", "Objects that are done", self.done_objects),
            "done_bytes": ("gauge", "Bytes of sources that are done", self.done_bytes),
            "errors": ("gauge", "Objects that have failed", self.errors),
            "in_flight": ("gauge", "Objects that workers have", self.in_flight),
            "retries_total": ("counter", "Objects that were begun again", self.retries),
            "worker_deaths_total": ("counter", "Workers that have died", self.deaths),
            "finished": ("gauge", "1 when the run has ended", int(last)),
        }
        assert self._metrics is not None
        temporary = f"{self._metrics}.{os.getpid()}"
        with open(temporary, "w") as file:
            for name, (kind, sentence, value) in values.items():
                file.write(f"# HELP warpaes_bulk_{name} {sentence}.\n# TYPE warpaes_bulk_{name} {kind}\n")
                file.write(f"warpaes_bulk_{name}{label} {value}\n")
        os.replace(temporary, self._metrics)


def standard_error() -> TextIO:
    """Return where progress goes if nothing else is said."""
    return sys.stderr
