"""Tests the model in docs/scale.md: the limits of a run, and the page's figures."""

import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import scale_model as model
import scale_page

ROOT = Path(__file__).resolve().parents[2]
INPUTS = json.loads(model.INPUTS.read_text())
COSTS = model.Costs(per_object=1e-3, per_byte=4e-9, aes=2e-10, driver=5e-5)
BIG = {"name": "big", "vcpus": 64, "gigabits": 100, "gpus": "", "dollars_per_hour": 2.0}
RECORD = {
    "schema": 1,
    "date": "2026-01-02T03:04:05Z",
    "commit": "0123456789abcdef",
    "dirty": False,
    "busy": 0.0,
    "host": {"cpu": "A CPU", "cores": 2},
    "start": {"seconds": 1.0, "cpu": 1.0},
    "aes": 2e-10,
    "tls": 7e-10,
    "driver": 5e-5,
    "small": [
        {"latency": latency, "objects": 10_000, "bytes": 4096, "threads": 64}
        | {f"{name}_{n}": value for n in (1, 2) for name, value in
           (("seconds", 0.00125), ("cpu", 11.0), ("store_cpu", 4.0))}
        for latency in (0.02, 0)
    ],
    "large": [
        {"what": "encrypt, files", "bytes": 1 << 30, "seconds": 3.0, "cpu": 4.0},
        {"what": "encrypt, object store to object store", "bytes": 1 << 30, "seconds": 5.0, "cpu": 5.0}
        | {"store_cpu": 3.0},
    ],
}  # fmt: skip


class Model(unittest.TestCase):
    def test_costs_are_what_is_left_without_the_start(self):
        costs = model.costs_of(RECORD, tls=True)
        self.assertAlmostEqual(costs.per_byte * (1 << 30), 4.0)
        self.assertAlmostEqual((costs.per_object + 4096 * costs.per_byte) * 10_000, 10.0)
        self.assertAlmostEqual(costs.tls, RECORD["tls"])

    def limits(self, size, **changed):
        return {limit.what: limit.rate for limit in model.limits_of(size, BIG | changed, INPUTS, COSTS)}

    def test_each_limit_follows_what_it_is_made_of(self):
        for size in (1 << 16, 1 << 23, 1 << 30):
            usual = self.limits(size)
            faster = self.limits(size, gigabits=200)
            self.assertAlmostEqual(faster["network"] / usual["network"], 2)
            self.assertEqual(faster["cores"], usual["cores"])
            wider = self.limits(size, vcpus=128)
            self.assertAlmostEqual(wider["cores"] / usual["cores"], 2)
            self.assertAlmostEqual(wider["latency"] / usual["latency"], 2)
            self.assertLessEqual(usual["network"] * size, 100e9 / 8)

    def test_what_limits_is_the_lowest(self):
        self.assertEqual(model.limit_of(1 << 30, BIG | {"vcpus": 1000}, INPUTS, COSTS).what, "network")
        self.assertEqual(model.limit_of(1 << 30, BIG | {"vcpus": 2}, INPUTS, COSTS).what, "cores")
        far = {**INPUTS, "store": INPUTS["store"] | {"first_byte_seconds": 100}}
        self.assertEqual(model.limit_of(1 << 30, BIG, far, COSTS).what, "latency")

    def test_requests_are_those_of_bulk(self):
        self.assertEqual(model.requests_of(0), (1, 1))
        self.assertEqual(model.requests_of(8 << 20), (1, 1))
        self.assertEqual(model.requests_of((8 << 20) + 1), (2, 4))
        from_bulk = (ROOT / "python/warpaes/bulk/storage.py").read_text()
        self.assertIn("WINDOW = 8 << 20\n", from_bulk)
        self.assertEqual(model.WINDOW, 8 << 20)
        options = (ROOT / "python/warpaes/bulk/config.py").read_text()
        self.assertIn(f"threads: int = {model.THREADS} ", options)
        self.assertIn(f"requests: int = {model.REQUESTS} ", options)

    def test_plans_take_the_time_there_is_or_say_what_does_not_allow_it(self):
        self.assertEqual(model.plan_of(1, 1, BIG, INPUTS, COSTS, 24).machines, 1)
        plan = model.plan_of(10**14, 1 << 30, BIG, INPUTS, COSTS, 0.1)
        self.assertLessEqual(plan.hours, 0.1)
        self.assertGreater(plan.hours * (plan.machines / max(1, plan.machines - 1)), 0.1)
        self.assertAlmostEqual(plan.machine_dollars, plan.machines * plan.hours * 2)
        slow = model.plan_of(10**16, 1 << 16, BIG, INPUTS, COSTS, 24)
        self.assertEqual(slow.what, "store writes")
        self.assertGreater(slow.hours, 24)
        # More machines would only wait, so the plan uses as many machines as the store allows.
        store = INPUTS["prefixes"] * INPUTS["store"]["writes_per_second_and_prefix"]
        one = model.limit_of(1 << 16, BIG, INPUTS, COSTS).rate
        self.assertLess((slow.machines - 1) * one, store)
        self.assertGreaterEqual(slow.machines * one, store)
        self.assertAlmostEqual(slow.hours, -(-(10**16) // (1 << 16)) / store / 3600, places=3)

    def test_what_was_measured_is_predicted(self):
        checks = {check.what: check for check in model.checks_of(RECORD)}
        self.assertEqual(len(checks), 5)  # runs without an object store are excluded
        one = checks["10,000 objects, responses after 0 ms, workers: 1"]
        self.assertAlmostEqual(one.predicted, 1 + 10.0)
        two = checks["10,000 objects, responses after 0 ms, workers: 2"]
        self.assertAlmostEqual(two.predicted, 1 + (10.0 + 4.0) / 2)
        copied = checks["encrypt, object store to object store, 1,024 MiB"]
        self.assertAlmostEqual(copied.predicted, 1 + (4.0 + 3.0) / 2)


class Page(unittest.TestCase):
    def test_figures_come_from_the_record(self):
        page = (ROOT / scale_page.PAGE).read_text()
        (made,) = scale_page.render(page, RECORD).values()
        self.assertIn("| 11.0 s | cores | 12.5 s | 0.88 |", made)
        self.assertIn("A CPU, 2 cores", made)
        other = json.loads(json.dumps(RECORD))
        other["large"][1]["cpu"] *= 3
        self.assertNotEqual(scale_page.render(page, other)[scale_page.PAGE], made)
        (made,) = scale_page.render(page, RECORD | {"busy": 3.0}).values()
        self.assertIn("Other programs used the cores", made)
        self.assertNotIn("| 11.0 s |", made)

    def test_the_inputs_say_where_they_come_from(self):
        for name in INPUTS:
            if name.endswith("_source"):
                self.assertIn(INPUTS[name], scale_page.assumptions(INPUTS), name)
        for name in ("instances", "store", "network", "prefixes", "manifest"):
            self.assertIn(f"{name}_source", INPUTS)


if __name__ == "__main__":
    unittest.main()
