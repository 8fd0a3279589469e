"""Generates the figures of docs/scale.md with tools/scale_model.py, from the newest record of bench/results/bulk and
the model's inputs."""

from __future__ import annotations

import json
import sys

import bulk_page
from bulk_page import QUIET
from records import RESULTS, ROOT, read
from text import commit_of, human_bytes, number, table, with_figures

sys.path.append(str(ROOT / "tools"))
import scale_model as model

PAGE = "docs/scale.md"
PARTS = ("checks", "machines", "plans", "gpu", "inputs", "manifests")
MARKS = {name: (f"<!-- {name}: begin -->", f"<!-- {name}: end -->") for name in PARTS}
NONE = "There is no record with processor times yet. `make bulk-bench` measures this machine."


def dollars(value: float) -> str:
    return f"${value:,.0f}" if value >= 10 else f"${value:.2f}"


def total_of(count: int) -> str:
    return f"{count // 10**15} PB" if count >= 10**15 else f"{count // 10**12} TB"


def checks(record: dict) -> str:
    costs = model.costs_of(record, tls=False)
    rows = [
        [check.what, f"{check.predicted:.1f} s", check.limit, f"{check.measured:.1f} s",
         f"{check.predicted / check.measured:.2f}"]
        for check in model.checks_of(record)
    ]  # fmt: skip
    where = f"{record['host']['cpu']}, {record['host']['cores']} cores, which the object store shares"
    when = f"{record['date'][:10]}, {commit_of(record)}"
    measured = table(["", "predicted", "limited by", "measured", "predicted / measured"], rows)
    if record["busy"] >= QUIET:
        measured = (
            "Other programs used the cores during the measurement. Elapsed times therefore do not test the model, and "
            "only processor times are used. `make bulk-bench` on an idle machine compares both."
        )
    return "\n\n".join(
        [
            f"One worker on that machine takes {1e6 * costs.per_object:.0f} µs of processor time per object and "
            f"{1e9 * costs.per_byte:.2f} ns per byte (including {1e9 * costs.aes:.2f} ns for encryption). TLS, which "
            f"was not used, adds {1e9 * record['tls']:.2f} ns per byte. Starting a command takes "
            f"{record['start']['cpu']:.1f} s, and the driver takes {1e6 * costs.driver:.0f} µs per row.",
            measured,
            f"*{where}; {when}.*",
        ]
    )


def machines(inputs: dict, costs: model.Costs) -> str:
    rows = []
    for instance in inputs["instances"]:
        cells = [f"{instance['name']}{', ' * bool(instance['gpus'])}{instance['gpus']}", instance["vcpus"],
                 f"{instance['gigabits']:g} Gb/s", f"${instance['dollars_per_hour']:.2f}"]  # fmt: skip
        for size in inputs["object_sizes"]:
            one = model.limit_of(size, instance, inputs, costs)
            cells.append(f"{number(one.rate * size / 1e9)}: {one.what}")
        rows.append(cells)
    header = ["", "vCPUs", "network", "per hour", *(f"GB/s at {human_bytes(size)}" for size in inputs["object_sizes"])]
    return table(header, rows)


def plans(inputs: dict, costs: model.Costs) -> str:
    rows = []
    for total in inputs["totals"]:
        for size in inputs["object_sizes"]:
            for instance in inputs["instances"]:
                if instance["gpus"]:
                    continue
                plan = model.plan_of(total, size, instance, inputs, costs, inputs["hours"])
                both = plan.machine_dollars + plan.request_dollars
                rows.append(
                    [f"{total_of(total)} in {human_bytes(size)} objects", instance["name"], f"{plan.machines:,}",
                     f"{plan.hours:,.0f} h", plan.what, f"{plan.jobs:,}", dollars(plan.machine_dollars),
                     dollars(plan.request_dollars), dollars(both / (total / 1e12))]
                )  # fmt: skip
    header = ["", "type", "machines", "time", "limited by", "jobs", "machines cost", "requests cost", "cost per TB"]
    return table(header, rows)


def gpu(inputs: dict, costs: model.Costs) -> str:
    """Compare each rate with the rate that would result if encryption took no time, which is an upper limit for any
    GPU."""
    free = model.Costs(costs.per_object, costs.per_byte - costs.aes, 0.0, costs.driver, costs.tls)
    rows = []
    for instance in inputs["instances"]:
        for size in inputs["object_sizes"][1:]:
            now, then = (model.limit_of(size, instance, inputs, each) for each in (costs, free))
            rows.append(
                [f"{instance['name']}, {human_bytes(size)} objects", f"{number(now.rate * size / 1e9)}: {now.what}",
                 f"{number(then.rate * size / 1e9)}: {then.what}", f"{then.rate / now.rate:.2f}"]
            )  # fmt: skip
    share = costs.aes / (costs.per_byte + costs.tls)
    return "\n\n".join(
        [
            f"Encryption takes {100 * share:.0f} % of a worker's time per byte, including TLS.",
            table(["", "GB/s", "if encryption took no time", "ratio"], rows),
        ]
    )


def assumptions(inputs: dict) -> str:
    store = inputs["store"]
    return "\n".join(
        [
            f"- Machines: {inputs['instances_source']}.",
            f"- {store['name']}: {1000 * store['first_byte_seconds']:.0f} ms to the first byte, "
            f"{store['stream_bytes_per_second'] / 1e6:.0f} MB/s per request, "
            f"{store['writes_per_second_and_prefix']:,} writes and "
            f"{store['reads_per_second_and_prefix']:,} reads per second and prefix, "
            f"${store['dollars_per_1000_writes']} and ${store['dollars_per_1000_reads']} per thousand. "
            f"{inputs['store_source']}.",
            f"- Prefixes: {inputs['prefixes']}, {inputs['prefixes_source']}.",
            f"- Usable share of a network's rate: {100 * inputs['network_share']:.0f} %, {inputs['network_source']}.",
            f"- Rows in a manifest: at most {inputs['manifest_rows']:,}, {inputs['manifest_source']}.",
            "- A vCPU is as fast as a core of the measured machine.",
        ]
    )


def render(page: str, record: dict | None = None) -> dict[str, str]:
    inputs = json.loads(model.INPUTS.read_text())
    record = record or model.newest()
    made = {"inputs": assumptions(inputs)}
    if record is None:
        made |= dict.fromkeys(("checks", "machines", "plans", "gpu"), NONE)
    else:
        costs = model.costs_of(record, tls=True)
        made |= {"checks": checks(record), "machines": machines(inputs, costs), "plans": plans(inputs, costs)}
        made["gpu"] = gpu(inputs, costs)
    of_manifests = [record for record in read(RESULTS / "bulk") if "manifest" in record]
    made["manifests"] = bulk_page.manifests(of_manifests) if of_manifests else NONE
    for name, text in made.items():
        page = with_figures(page, text, MARKS[name])
    return {PAGE: page}
