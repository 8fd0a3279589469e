"""Every verdict once more, from the figures of a record and those that were published, by the rule of its sentence.

Rules are written down a second time in verdict_rules.py, figures are read from the record itself, and the two have to
agree, for every record that is kept.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import tempfile
import unittest
from pathlib import Path

from record_figures import NO, OPEN, MissingError, Record
from verdict_rules import RULES

WARPAES = os.environ["WARPAES"]
RECORDS = Path(__file__).parents[2] / "bench/results/lab"


def recomputed(record: dict) -> dict[str, str]:
    out = {}
    for name, rule in RULES.items():
        try:
            out[name] = rule(Record(record))
        except MissingError:
            out[name] = OPEN
    return out


def said_by_the_lab(path: Path) -> dict[str, str]:
    said = subprocess.run([WARPAES, "lab", "judge", "--json", path], check=True, capture_output=True)
    return {c["id"]: c["holds"] for c in json.loads(said.stdout)["claims"] if c["kind"] == "conclusion"}


def panel(title: str, x: list, names: list[str], **axis) -> dict:
    places = {"labels": x} if isinstance(x[0], str) else {"values": x}
    scale = "category" if "labels" in places else "log"
    series = [{"name": n, "role": "measured", "values": [100.0] * len(x), "spread": []} for n in names]
    plain = {"name": "y", "unit": "", "scale": "linear", "values": []}
    kind = "bars" if "labels" in places else "lines"
    x_axis = {"name": "x", "unit": "", "scale": scale, **places}
    return {"title": title, "kind": kind, "x": x_axis, "y": plain, "series": series, "note": "made up"}


MODES = ["ECB", "CTR", "CBC", "CFB", "OFB"]
ALONE_AND_ALL = ["this mode alone", "all modes"]
# What an old record lacks.
MADE = {
    "D.memory": [
        panel(
            "Tables, keys and text by memory",
            ["both shared", "both global"],
            ["text through shared memory", "text straight from global memory"],
        )
    ],
    "H.tables": [
        panel(
            "Text by memory",
            ["global memory", "global memory, read-only path", "texture"],
            ["tables in shared memory", "tables in texture memory"],
        )
    ],
    "H.modes": [
        panel(
            "Serial beside parallel messages of 2,048 blocks",
            [32, 2048],
            ["production, CTR (parallel)", "production, CBC (serial)"],
        ),
        panel(
            "OFB on processors and GPU",
            [32, 2048],
            ["libcrypto, all threads", "vaes, all threads", "GPU, page-locked memory", "GPU, device memory"],
        ),
        panel("Registers a thread, by what the kernel knows", MODES, ALONE_AND_ALL),
        panel("A kernel for one mode, and the one for all", MODES, ALONE_AND_ALL),
    ],
}


def shaken(record: dict, seed: int) -> dict:
    """The record with all experiments that are judged, and every figure another: by a little, or by much."""
    generator = random.Random(seed)
    entries = {e["key"]: e for e in record["experiments"]}
    for key, panels in MADE.items():
        if key not in entries:
            entries[key] = {**record["experiments"][0], "key": key, "status": "measured", "load": None}
            entries[key]["result"] = {"panels": [], "facts": [], "verdicts": [], "notes": []}
            record["experiments"].append(entries[key])
        have = {p["title"] for p in entries[key]["result"]["panels"]}
        entries[key]["result"]["panels"] += [json.loads(json.dumps(p)) for p in panels if p["title"] not in have]
    for experiment in record["experiments"]:
        for one in experiment["result"]["panels"]:
            for series in one["series"]:
                width = generator.choice((0.01, 0.1, 0.7))
                values = [v if v is None else v * generator.lognormvariate(0, width) for v in series["values"]]
                spread = generator.choice((0, 0.002, 0.02))
                series["values"] = values
                series["spread"] = [v if v is None else sorted((v * (1 - spread), v * (1 + spread))) for v in values]
    return record


class Verdicts(unittest.TestCase):
    def test_the_lab_and_this_agree_on_every_record(self):
        paths = [path for path in sorted(RECORDS.glob("*.json")) if not path.name.startswith("profile-")]
        self.assertTrue(paths)
        for path in paths:
            with self.subTest(path.name):
                self.assertEqual(recomputed(json.loads(path.read_text())), said_by_the_lab(path))

    def test_they_agree_whatever_the_figures_are(self):
        path = max(path for path in RECORDS.glob("nvidia-*.json"))
        kinds: dict[str, set[str]] = {}
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(30):
                record = shaken(json.loads(path.read_text()), seed)
                made = Path(folder, "record.json")
                made.write_text(json.dumps(record))
                with self.subTest(seed=seed):
                    ours = recomputed(record)
                    self.assertEqual(ours, said_by_the_lab(made))
                    for name, holds in ours.items():
                        kinds.setdefault(name, set()).add(holds)
        self.assertGreater(sum(len(found) > 1 for found in kinds.values()), 50, "most had more than one verdict")
        for name in ("H.registers", "W.text-paths", "W.text-straight", "W.serial-reaches", "W.ofb"):
            self.assertGreater(len(kinds[name]), 1, name)

    def test_figures_of_another_kind_have_other_verdicts(self):
        """What is recomputed depends on the figures."""
        path = max(path for path in RECORDS.glob("nvidia-*.json"))
        record = json.loads(path.read_text())
        before = recomputed(record)
        for experiment in record["experiments"]:
            for panel in experiment["result"]["panels"]:
                for series in panel["series"]:
                    series["values"] = [v if v is None else 1.0 for v in series["values"]]
                    series["spread"] = []
        after = recomputed(record)
        self.assertEqual(after["N.constant-tables"], NO)
        self.assertGreater(sum(before[name] != after[name] for name in before), 20)


if __name__ == "__main__":
    unittest.main()
