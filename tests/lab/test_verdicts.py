"""Every verdict once more, from the figures of a record and those that were published, by the rule of its sentence.

Rules are written down a second time in verdict_rules.py, figures are read from the record itself, and the two have to
agree, for every record that is kept.
"""

from __future__ import annotations

import json
import os
import subprocess
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


class Verdicts(unittest.TestCase):
    def test_the_lab_and_this_agree_on_every_record(self):
        paths = [path for path in sorted(RECORDS.glob("*.json")) if not path.name.startswith("profile-")]
        self.assertTrue(paths)
        for path in paths:
            with self.subTest(path.name):
                said = subprocess.run([WARPAES, "lab", "judge", "--json", path], check=True, capture_output=True)
                claims = json.loads(said.stdout)["claims"]
                theirs = {c["id"]: c["holds"] for c in claims if c["kind"] == "conclusion"}
                self.assertEqual(recomputed(json.loads(path.read_text())), theirs)

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
