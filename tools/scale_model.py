#!/usr/bin/env python3
"""Models the cost of running `warpaes bulk` on other machines, from measurements on this machine.

    scale_model.py [--record FILE] [--inputs FILE] [--bytes SIZE] [--object SIZE] [--instance NAME] [--hours N]

Prints the speed of one machine, the resource that limits it, and the number of machines that a dataset needs.
docs/scale.md describes the model, its figures, and its accuracy on the measured machine.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INPUTS = ROOT / "bench/scale/inputs.json"
RECORDS = ROOT / "bench/results/bulk"
#: Constants of bulk: the size of a range or part, the number of concurrent ranges or parts of an object, and the number
#: of concurrent objects per worker.
WINDOW, REQUESTS, THREADS = 8 << 20, 16, 32


@dataclass(frozen=True)
class Costs:
    """The measured processor times in seconds. A worker's time for an object is a constant plus a time per byte."""

    per_object: float
    per_byte: float
    aes: float  #: the share of per_byte that AES takes
    driver: float  #: the driver's time per row
    tls: float = 0.0  #: time for TLS per byte received and sent, not included in per_byte

    def of(self, size: int) -> float:
        """Return the processor time in seconds for an object of this size."""
        return self.per_object + size * (self.per_byte + self.tls)


def has_costs(record: dict) -> bool:
    """Return whether a record contains processor times. The earliest records do not contain them."""
    return "tls" in record


def costs_of(record: dict, tls: bool) -> Costs:
    """Compute the costs from a record of tools/bulk_bench.py."""
    copied = next(row for row in record["large"] if row["what"] == "encrypt, object store to object store")
    small = record["small"][0]
    start = record["start"]["cpu"]
    per_byte = (copied["cpu"] - start) / copied["bytes"]
    per_object = (small["cpu_1"] - start) / small["objects"] - per_byte * small["bytes"]
    return Costs(per_object, per_byte, record["aes"], record["driver"], record["tls"] if tls else 0.0)


@dataclass(frozen=True)
class Limit:
    """The number of objects per second, and the resource that limits it."""

    rate: float
    what: str


def requests_of(size: int) -> tuple[int, int]:
    """Return the numbers of reads and of writes for an object of this size."""
    parts = max(1, -(-size // WINDOW))
    return parts, 1 if parts == 1 else parts + 2


def limits_of(size: int, instance: dict, inputs: dict, costs: Costs) -> list[Limit]:
    """Return the limit that each resource of a machine sets, with one worker per core."""
    store, cores = inputs["store"], instance["vcpus"]
    bandwidth = instance["gigabits"] * 1e9 / 8 * inputs["network_share"]
    first, stream = store["first_byte_seconds"], store["stream_bytes_per_second"]
    if size <= WINDOW:
        waiting = cores * THREADS / (2 * (first + size / stream))
    else:
        one = first + WINDOW / stream
        waiting = cores * REQUESTS / 2 * (WINDOW / one) / size
    return [
        Limit(cores / costs.of(size), "cores"),
        Limit(bandwidth / size, "network"),
        Limit(waiting, "latency"),
    ]


def limit_of(size: int, instance: dict, inputs: dict, costs: Costs) -> Limit:
    """Return the lowest of the rates of ``limits_of``."""
    return min(limits_of(size, instance, inputs, costs), key=lambda limit: limit.rate)


@dataclass(frozen=True)
class Plan:
    """A plan to process a dataset, in a given time if possible."""

    machines: int
    hours: float
    what: str  #: the resource that limits the plan
    jobs: int  #: number of jobs, with as many rows per job as a manifest may have
    machine_dollars: float
    request_dollars: float


def plan_of(total: int, size: int, instance: dict, inputs: dict, costs: Costs, hours: float) -> Plan:
    """Return a plan with the number of machines for the given time, or with fewer if the object store or the drivers
    are the bottleneck."""
    store, objects = inputs["store"], math.ceil(total / size)
    one = limit_of(size, instance, inputs, costs)
    reads, writes = requests_of(size)
    jobs = math.ceil(objects / inputs["manifest_rows"])
    shared = [
        Limit(inputs["prefixes"] * store["writes_per_second_and_prefix"] / writes, "store writes"),
        Limit(inputs["prefixes"] * store["reads_per_second_and_prefix"] / reads, "reads of the store"),
        Limit(jobs / costs.driver, "drivers"),
    ]
    most = min(shared, key=lambda limit: limit.rate)
    wanted = objects / (hours * 3600)
    rate, what = (wanted, one.what) if wanted <= most.rate else (most.rate, most.what)
    machines = max(1, math.ceil(rate / one.rate))
    taken = objects / min(machines * one.rate, most.rate) / 3600
    return Plan(
        machines,
        taken,
        what,
        jobs,
        machines * taken * instance["dollars_per_hour"],
        objects * (reads * store["dollars_per_1000_reads"] + writes * store["dollars_per_1000_writes"]) / 1000,
    )


# ------------------------------------------------------------------------------------------- measurements


@dataclass(frozen=True)
class Check:
    """A measured run and the model's prediction for it."""

    what: str
    predicted: float
    measured: float
    limit: str


def checks_of(record: dict) -> list[Check]:
    """Predict a record's runs from the processor time of one worker. In these runs, the object store shares the
    workers' cores."""
    cores, start, costs = record["host"]["cores"], record["start"]["seconds"], costs_of(record, tls=False)
    checks = []

    def check(what: str, measured: float, limits: dict[str, float]) -> None:
        limit = max(limits, key=lambda name: limits[name])
        checks.append(Check(what, start + limits[limit], measured, limit))

    per_object = costs.of(record["small"][0]["bytes"])
    store = record["small"][0]["store_cpu_1"] / record["small"][0]["objects"]
    for row in record["small"]:
        for workers in (1, 2):
            limits = {
                "cores": row["objects"] * max(per_object / min(workers, cores), (per_object + store) / cores),
                "latency": row["objects"] * 2 * row["latency"] / (row["threads"] * workers),
            }
            what = f"{row['objects']:,} objects, responses after {1000 * row['latency']:.0f} ms, workers: {workers}"
            check(what, row[f"seconds_{workers}"] * row["objects"], limits)
    for row in record["large"]:
        if row.get("store_cpu"):
            used = row["cpu"] - record["start"]["cpu"]
            # The object store runs on one thread.
            limits = {"cores": (used + row["store_cpu"]) / cores, "the store": row["store_cpu"]}
            check(f"{row['what']}, {row['bytes'] >> 20:,} MiB", row["seconds"], limits)
    return checks


def newest(folder: Path = RECORDS) -> dict | None:
    """Return the newest record with processor times, preferably from a quiet machine."""
    records = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))] if folder.exists() else []
    return max(
        (record for record in records if has_costs(record)),
        key=lambda record: (record["busy"] < 0.5, record["date"]),
        default=None,
    )


def size(text: str) -> int:
    """Parse a number of bytes, such as 64K, 8M or 1G."""
    shift = {"K": 10, "M": 20, "G": 30}.get(text[-1:].upper(), 0)
    return int(text[:-1] if shift else text) << shift


def main() -> None:
    inputs = json.loads(INPUTS.read_text())
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", type=Path, help="record of tools/bulk_bench.py (default: the newest)")
    parser.add_argument(
        "--inputs", type=Path, default=INPUTS, help="file with machines, prices and latencies (default: %(default)s)"
    )
    parser.add_argument("--bytes", type=float, default=1e14, help="bytes of the dataset (default: %(default).0e)")
    parser.add_argument("--object", type=size, default=8 << 20, help="size of an object (default: 8M)")
    parser.add_argument("--instance", help="one of the machines in the inputs (default: all)")
    parser.add_argument("--hours", type=float, default=inputs["hours"], help="available hours (default: %(default)s)")
    arguments = parser.parse_args()
    inputs = json.loads(arguments.inputs.read_text())
    record = json.loads(arguments.record.read_text()) if arguments.record else newest()
    if record is None or not has_costs(record):
        sys.exit("there is no record with processor times; `make bulk-bench` creates one")
    costs = costs_of(record, tls=True)
    for instance in inputs["instances"]:
        if arguments.instance in (None, instance["name"]):
            one = limit_of(arguments.object, instance, inputs, costs)
            plan = plan_of(int(arguments.bytes), arguments.object, instance, inputs, costs, arguments.hours)
            print(
                f"{instance['name']}: {one.rate * arguments.object / 1e9:.2f} GB/s, {one.rate:.0f} objects/s, "
                f"limited by {one.what}; {plan.machines} of them: {plan.hours:.1f} h, limited by {plan.what}, "
                f"${plan.machine_dollars:,.0f} and ${plan.request_dollars:,.0f} of requests, {plan.jobs} jobs"
            )


if __name__ == "__main__":
    main()
