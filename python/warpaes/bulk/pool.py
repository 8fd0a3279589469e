"""Pools of workers: in this process, in processes on this machine, or as Ray actors in a cluster."""

from __future__ import annotations

import abc
import os
import pickle
import signal
import socket
import threading
from dataclasses import replace
from typing import Any

from .._command import secure_process
from .config import Config
from .metrics import RayGauges, Told
from .rows import Row
from .worker import Worker

Task = tuple[int, str, Row]
Events = list[tuple[int, dict[str, Any]]]


#: Maximum size of an argument that Ray passes without storing it. Ray's limit is 100 KiB for all arguments of a call.
INLINE = 64 << 10


class NoWorkerError(Exception):
    """A worker cannot be created, and a retry would also fail."""


class Pool(abc.ABC):
    """Numbered workers. A dead worker is replaced and reported, and the driver must assign its rows to other
    workers."""

    size: int

    @abc.abstractmethod
    def submit(self, slot: int, tasks: list[Task]) -> None:
        """Assign tasks to a worker."""

    @abc.abstractmethod
    def poll(self, timeout: float) -> list[tuple[int, Events | None]]:
        """Return the workers' reports, with None for a dead worker."""

    @abc.abstractmethod
    def close(self) -> None:
        """Stop the workers, even if they are busy."""


class LocalPool(Pool):
    """One worker in this process."""

    size = 1

    def __init__(self, config: Config) -> None:
        """Start the worker."""
        self._worker = Worker(config)

    def submit(self, slot: int, tasks: list[Task]) -> None:
        """Assign tasks to the worker."""
        self._worker.submit(tasks)

    def poll(self, timeout: float) -> list[tuple[int, Events | None]]:
        """Return finished work."""
        return [(0, self._worker.poll(timeout))]

    def close(self) -> None:
        """Wait until the worker has finished the small objects in progress."""
        self._worker.close()


def _for_one_of(config: Config, size: int) -> Config:
    """Return the configuration for one of several workers. The limit in bytes per second is divided equally among
    them."""
    return replace(config, limit_rate=config.limit_rate / size)


def _serve(pipe: Any, config: Config) -> None:
    """Run a worker in a separate process until the other end of the pipe is closed."""
    secure_process()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        worker = Worker(config)
    except Exception as error:
        pipe.send(str(error) or type(error).__name__)
        os._exit(1)

    def listen() -> None:
        try:
            while True:
                worker.submit(pipe.recv())
        except (EOFError, OSError):
            os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    try:
        while True:
            if events := worker.poll(3600):
                pipe.send(events)
    except OSError:
        os._exit(0)


class ProcessPool(Pool):
    """Workers in processes on this machine."""

    def __init__(self, config: Config, size: int) -> None:
        """Start the processes."""
        self.size = size
        self._config = _for_one_of(config, size)
        import multiprocessing.connection  # most jobs use no other process

        self._context = multiprocessing.get_context("spawn")
        self._wait = multiprocessing.connection.wait
        self._workers = [self._start() for _ in range(size)]

    def _start(self) -> tuple[Any, Any]:
        here, there = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(there, self._config), daemon=True)
        process.start()
        there.close()
        return process, here

    @property
    def processes(self) -> list[int]:
        """Return the process IDs."""
        return [process.pid for process, _ in self._workers]

    def submit(self, slot: int, tasks: list[Task]) -> None:
        """Assign tasks to a worker. If the worker is dead, the next poll reports this."""
        try:
            self._workers[slot][1].send(tasks)
        except OSError:
            return

    def poll(self, timeout: float) -> list[tuple[int, Events | None]]:
        """Return the workers' reports, with None for a dead worker."""
        slots = {pipe: slot for slot, (_, pipe) in enumerate(self._workers)}
        reports: list[tuple[int, Events | None]] = []
        for pipe in self._wait(list(slots), timeout):
            slot = slots[pipe]
            try:
                said = self._workers[slot][1].recv()
                if isinstance(said, str):
                    raise NoWorkerError(said)
                reports.append((slot, said))
            except (EOFError, OSError):
                process, _ = self._workers[slot]
                process.kill()
                process.join()
                self._workers[slot] = self._start()
                reports.append((slot, None))
        return reports

    def close(self) -> None:
        """Kill the processes."""
        for process, pipe in self._workers:
            pipe.close()
            process.kill()
            process.join()


class RayWorker:
    """A worker in a Ray actor. Keys are sent in separate calls, because Ray stores the arguments of constructors.

    Ray also stores arguments larger than 100 KiB, and may spill them to disk, so the configuration is sent in pieces.
    """

    def __init__(self) -> None:
        """Create a worker that waits for its configuration."""
        self._made = threading.Event()
        self._lock = threading.Lock()
        self._pieces: dict[int, bytes] = {}

    def open(self, number: int, count: int, piece: bytes) -> None:
        """Store a piece of the configuration. The last piece starts the worker."""
        with self._lock:  # the calls may arrive in any order
            self._pieces[number] = piece
            if len(self._pieces) < count:
                return
            config = pickle.loads(b"".join(self._pieces[i] for i in range(count)))
            self._pieces = {}
        self._worker = Worker(config, socket.gethostname() + " ")
        self._made.set()

    def submit(self, tasks: list[Task]) -> None:
        """Assign rows to the worker."""
        self._made.wait()
        self._worker.submit(tasks)

    def poll(self, timeout: float) -> Events:
        """Return finished work."""
        return self._worker.poll(timeout) if self._made.wait(timeout) else []


def actors_in(resources: dict[str, float], cpus: float, gpus: float) -> int:
    """Return the number of actors that fit in the cluster. Rows of an actor that does not fit would wait forever."""
    rooms = [resources.get("CPU", 1) / max(cpus, 0.01)]
    if gpus > 0:
        rooms.append(resources.get("GPU", 0) / gpus)
    return max(1, int(min(rooms)))


class RayPool(Pool):
    """Ray actors. Each reserves a number of cores and of GPUs, which can be fractions."""

    def __init__(self, config: Config, size: int, address: str, cpus: float, gpus: float) -> None:
        """Join the cluster and start the actors. Ray places the actors, and waits if there are not enough resources."""
        try:
            import ray
        except ModuleNotFoundError as error:
            raise NoWorkerError(
                f"--address requires the package {error.name}; run pip install 'warpaes[ray]'"
            ) from error

        self._ray = ray
        if not ray.is_initialized():
            ray.init(address=address, log_to_driver=False)
        self.size = size or actors_in(ray.cluster_resources(), cpus, gpus)
        # Concurrent calls: a thread submits tasks while another thread waits in poll.
        self._actor = ray.remote(num_cpus=cpus, num_gpus=gpus, max_concurrency=4, scheduling_strategy="SPREAD")(
            RayWorker
        )
        self._config = _for_one_of(config, self.size)
        self._opening: list[Any] = []
        self._workers = [self._start() for _ in range(self.size)]

    def _start(self) -> list[Any]:
        worker = self._actor.remote()
        text = pickle.dumps(self._config)
        pieces = [text[begin : begin + INLINE] for begin in range(0, len(text), INLINE)]
        self._opening += [worker.open.remote(number, len(pieces), piece) for number, piece in enumerate(pieces)]
        return [worker, worker.poll.remote(5)]

    def submit(self, slot: int, tasks: list[Task]) -> None:
        """Assign tasks to an actor."""
        self._workers[slot][0].submit.remote(tasks)

    def poll(self, timeout: float) -> list[tuple[int, Events | None]]:
        """Return the actors' reports, and request further reports."""
        slots = {report: slot for slot, (_, report) in enumerate(self._workers)}
        ready, _ = self._ray.wait(list(slots), num_returns=1, timeout=timeout)
        if ready:
            ready, _ = self._ray.wait(list(slots), num_returns=len(slots), timeout=0)
        if self._opening:
            opened, self._opening = self._ray.wait(self._opening, num_returns=len(self._opening), timeout=0)
            for each in opened:
                try:
                    self._ray.get(each)
                except self._ray.exceptions.RayActorError:
                    continue  # the poll also reports the failure
                except self._ray.exceptions.RayTaskError as error:
                    raise NoWorkerError(str(error.cause or error)) from error
        reports: list[tuple[int, Events | None]] = []
        for report in ready:
            slot = slots[report]
            worker = self._workers[slot]
            try:
                reports.append((slot, self._ray.get(report)))
                worker[1] = worker[0].poll.remote(5)
            except self._ray.exceptions.RayActorError as error:
                if isinstance(error, self._ray.exceptions.ActorDiedError) and "creation task" in str(error):
                    raise NoWorkerError(str(error)) from error
                self._ray.kill(worker[0])  # the actor may be alive but unreachable
                self._workers[slot] = self._start()
                reports.append((slot, None))
        return reports

    def gauges(self, labels: dict[str, str]) -> Told:
        """Return an object that reports progress to the cluster."""
        from ray.util.metrics import Gauge

        return RayGauges(Gauge, labels)

    def close(self) -> None:
        """Kill the actors."""
        for worker, _ in self._workers:
            self._ray.kill(worker)


def make_pool(config: Config, workers: int, address: str | None, cpus: float, gpus: float) -> Pool:
    """Return the pool that the command line requests."""
    if address is not None:
        return RayPool(config, workers, address, cpus, gpus)
    return ProcessPool(config, workers) if workers > 1 else LocalPool(config)
