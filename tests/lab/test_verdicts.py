"""Computes every verdict a second time, from a record's figures and the published figures, by the rule for its
sentence.

The sentences are in lab/claims/statements. verdict_rules.py contains a rule for each sentence, which was written from
the sentence. The figures come from the record itself, and the lab's verdict must agree for every committed record.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from record_figures import NO, OPEN, MissingError, Record
from verdict_rules import RULES

WARPAES = os.environ["WARPAES"]
ROOT = Path(__file__).parents[2]
RECORDS = ROOT / "bench/results/lab"
PAPERS = {
    paper["paper"]: paper
    for path in (ROOT / "lab/claims/statements").glob("*.json")
    for paper in [json.loads(path.read_text())]
    if "paper" in paper
}


def of_whole_runs() -> set[str]:
    return {s["id"] for paper in PAPERS.values() for s in paper["statements"] if s.get("whole_run")}


def recomputed(record: dict) -> dict[str, str]:
    out = {}
    not_judged = of_whole_runs() if record["options"]["quick"] else set()
    for name, rule in RULES.items():
        if name in not_judged:
            out[name] = OPEN
            continue
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
WITHOUT = ["openssl enc without AES instructions", "openssl enc without AES instructions, then fsync"]
KERNELS = [f"{n} threads a block" if n > 1 else "1 thread a block" for n in (1, 2, 4, 16)]
KERNELS += [f"tables in {memory} memory" for memory in ("constant", "shared", "global")]
# Old records do not contain these parts.
DESIGNS = [
    "before: four tables, one copy",
    "[T] one table, a copy for each bank",
    "[L] the same, cached first round",
    "[B] bitsliced",
    "four tables, a copy for each bank",
    "production",
]
MADE = {
    "T.designs": [
        panel("Designs since 2019", DESIGNS, ["ECB", "CTR"]),
        panel("Designs since 2019, per watt", DESIGNS, ["ECB", "CTR"]),
        panel("Speed by key size", ["AES-128", "AES-256"], ["from host to host", DESIGNS[1]]),
    ],
    "P.memory": [panel("From disk to disk, by kernel", KERNELS, ["speed"])],
    "G.schemes": [
        panel(
            "The third scheme by blocks a group",
            [2048, 65536, 8388608, 134217728],
            ["3: 4 blocks a group", "3: 8 blocks a group", "2: four threads a block, no barrier"],
        )
    ],
    "F.dpf": [panel("Evaluations of distributed point functions", [2**14, 2**20], ["AES-128", "ChaCha20"])],
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


def made_attack(generator: random.Random) -> list[dict]:
    """Return the facts of K.last_round for an attack that succeeds on every victim or on no victim."""
    facts = []
    victims = ("shared memory", "constant memory", "global memory", "texture memory")
    for victim in (*victims, "production's functions", "bitsliced"):
        control = victim in victims
        right = generator.choice((16, 16, 10, 2) if control else (0, 1, 1, 2))
        facts += [
            {"name": f"traces, {victim}", "value": 1000 if control else generator.choice((10000, 10000, 9000))},
            {"name": f"right bytes, {victim}", "value": right},
            {"name": f"mean rank, {victim}", "value": generator.choice((60, 90, 130))},
        ]
    return [fact | {"unit": "", "published": None} for fact in facts]


def shaken(record: dict, seed: int) -> dict:
    """Return the record with all judged experiments. Every figure is changed, slightly or greatly."""
    generator = random.Random(seed)
    entries = {e["key"]: e for e in record["experiments"]}
    record["machine"]["gpu"]["name"] = generator.choice(("NVIDIA H200", "NVIDIA GeForce RTX 4090"))
    for key, panels in [*MADE.items(), ("K.last_round", []), ("P.encryption", []), ("P.decryption", [])]:
        if key not in entries:
            entries[key] = {**record["experiments"][0], "key": key, "status": "measured", "load": None}
            entries[key]["result"] = {"panels": [], "facts": [], "verdicts": [], "notes": []}
            record["experiments"].append(entries[key])
        for one in entries[key]["result"]["panels"]:
            if key in ("P.encryption", "P.decryption") and one["title"] != "On a tmpfs":
                named = {series["name"]: series for series in one["series"]}
                for name in WITHOUT:
                    like = "openssl enc, then fsync" if name.endswith("fsync") else "openssl enc"
                    copied = json.loads(json.dumps(named[like])) | {"name": name}
                    copied["values"] = [v and v / 2 for v in copied["values"]]
                    one["series"] += [copied] if name not in named else []
        have = {p["title"] for p in entries[key]["result"]["panels"]}
        entries[key]["result"]["panels"] += [json.loads(json.dumps(p)) for p in panels if p["title"] not in have]
    entries["K.last_round"]["result"]["facts"] = made_attack(random.Random(seed))
    for experiment in record["experiments"]:
        for one in experiment["result"]["panels"]:
            for series in one["series"]:
                width = generator.choice((0.01, 0.1, 0.7, 2.5))
                values = [v if v is None else v * generator.lognormvariate(0, width) for v in series["values"]]
                spread = generator.choice((0, 0.002, 0.02))
                series["values"] = values
                series["spread"] = [v if v is None else sorted((v * (1 - spread), v * (1 + spread))) for v in values]
    return record


class Statements(unittest.TestCase):
    def test_each_conclusion_of_a_paper_quotes_it_and_says_what_it_is_about(self):
        count = 0
        for letter, paper in PAPERS.items():
            self.assertTrue(paper["reference"], letter)
            for row in paper["statements"]:
                with self.subTest(row["id"]):
                    self.assertTrue(row["id"].startswith(f"{letter}."))
                    self.assertEqual(len({"rule", "shown", "why"} & set(row)), 1)
                    self.assertEqual("experiment" in row, "why" not in row)
                    if letter == "W" or "rule" not in row:
                        continue
                    count += 1
                    for name in ("place", "original", "series", "sizes", "condition", "baseline"):
                        self.assertTrue(row[name].strip(), name)
                    self.assertEqual("translation" in row, paper["language"] != "English")
        self.assertGreaterEqual(count, 80)

    def test_each_conclusion_has_a_rule_here(self):
        judged = [row["id"] for paper in PAPERS.values() for row in paper["statements"] if "rule" in row]
        self.assertEqual(len(judged), len(set(judged)))
        self.assertEqual(set(judged), set(RULES))

    def test_quotations_that_are_not_in_the_text_are_found(self):
        sys.path.insert(0, str(ROOT / "tools"))
        import check_quotations

        rows = [
            {"id": "N.a", "says": "", "original": "first part … the T-box is second"},
            {"id": "N.b", "says": "says \u00abof it\u00bb", "original": ""},
        ]
        text = "the first\npart, and that the \u0422-\u042c\u043e\u0445 is sec-\nond. It says of it nothing."
        self.assertEqual(check_quotations.missing({"statements": rows}, text), [])
        self.assertEqual(
            check_quotations.missing({"statements": rows}, text.replace("first", "last").replace("of it", "of them")),
            ["N.a: first part", "N.b: of it"],
        )

    def test_corrections_name_what_was_wrong(self):
        corrections = json.loads((ROOT / "lab/claims/statements/corrections.json").read_text())
        for one in corrections:
            self.assertEqual(set(one), {"of", "was"})
            self.assertTrue(one["was"].endswith("."), one)


class Verdicts(unittest.TestCase):
    def test_the_lab_and_this_agree_on_every_record(self):
        paths = [path for path in sorted(RECORDS.glob("*.json")) if not path.name.startswith("profile-")]
        self.assertTrue(paths)
        for path in paths:
            with self.subTest(path.name):
                self.assertEqual(recomputed(json.loads(path.read_text())), said_by_the_lab(path))

    def test_quick_runs_contradict_no_verdict_of_the_whole_run(self):
        whole = said_by_the_lab(max(RECORDS.glob("nvidia-h200-*.json")))
        paths = list(RECORDS.glob("quick/nvidia-h200-*.json"))
        self.assertEqual(len(paths), 2)
        for path in paths:
            quick = said_by_the_lab(path)
            decided = [name for name in quick if OPEN not in (quick[name], whole[name])]
            self.assertGreater(len(decided), 60)
            self.assertEqual({n: quick[n] for n in decided}, {n: whole[n] for n in decided}, path.name)

    def test_they_agree_whatever_the_figures_are(self):
        path = max(path for path in RECORDS.glob("nvidia-*.json"))
        kinds: dict[str, set[str]] = {}
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(80):
                record = shaken(json.loads(path.read_text()), seed)
                made = Path(folder, "record.json")
                made.write_text(json.dumps(record))
                with self.subTest(seed=seed):
                    ours = recomputed(record)
                    self.assertEqual(ours, said_by_the_lab(made))
                    for name, holds in ours.items():
                        kinds.setdefault(name, set()).add(holds)
        # Changed figures do not affect some verdicts. The calculator and |t| are facts, two machines are in no record,
        # and the other verdicts are too far from any limit or depend on many figures together.
        fixed = {
            "D.calculator",
            "D.combinations",
            "D.both-platforms",
            "D.model",
            "W.tables-tell",
            "W.apart-silent",
            "W.production-silent",
        }
        fixed |= {
            "W.launches-equal",
            "W.launches-texts",
            "W.launches-keys",
            "G.texture-shape",
            "D.aes-ni-faster",
            "D.key-sizes",
        }
        fixed |= {"H.many-threads", "H.serial-counts", "P.random-access", "N.ten-times"}
        self.assertEqual({name for name, found in kinds.items() if len(found) == 1} - fixed, set())

    def test_a_quick_run_is_not_judged_where_sentences_are_about_other_sizes(self):
        path = max(path for path in RECORDS.glob("nvidia-*.json"))
        record = json.loads(path.read_text())
        whole = recomputed(record)
        record["options"]["quick"] = True
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder, "record.json")
            made.write_text(json.dumps(record))
            said = subprocess.run([WARPAES, "lab", "judge", "--json", made], check=True, capture_output=True)
        claims = {c["id"]: c for c in json.loads(said.stdout)["claims"] if c["kind"] == "conclusion"}
        self.assertGreater(len(of_whole_runs()), 30)
        for name, claim in claims.items():
            with self.subTest(name):
                if name in of_whole_runs():
                    self.assertEqual(claim["holds"], OPEN)
                    self.assertRegex(claim["sentence"], "^Not (judged at these sizes|measured in this record)")
                else:
                    self.assertEqual(claim["holds"], whole[name])

    def test_figures_of_another_kind_have_other_verdicts(self):
        """The verdicts that the rules compute must depend on the figures."""
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
