"""Tests the lab's profile. ncu's output becomes a record, and the record becomes a page that explains changes in
rank."""

import copy
import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import lab_pages
import profile_lab
from records import ROOT

METRICS = {
    "gpu__time_duration.sum": ("nsecond", "268,000"),
    "smsp__inst_executed.sum": ("inst", "104,857,600"),
    "smsp__inst_executed_op_shared_ld.sum": ("inst", "20,971,520"),
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum": ("", "73,400,320"),
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": ("", "52,428,800"),
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed": ("%", "93.5"),
    "smsp__issue_active.avg.pct_of_peak_sustained_active": ("%", "41.25"),
    "idc__requests.sum": ("(!) n/a", "n/a"),
    "launch__registers_per_thread": ("register/thread", "32"),
    "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio": ("inst", "1.5"),
    "smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio": ("inst", "9.25"),
    "smsp__average_warps_issue_stalled_selected_per_issue_active.ratio": ("inst", "1.0"),
}
BEFORE = (
    "ID",
    "Process ID",
    "Process Name",
    "Host Name",
    "Kernel Name",
    "Context",
    "Stream",
    "Block Size",
    "Grid Size",
)


def quoted(cells) -> str:
    return ",".join(f'"{cell}"' for cell in cells)


def kernel_name(place: int) -> str:
    return f"void lab::gpu::variant_kernel<(unsigned long){place}>(lab::gpu::Params)"


def raw_page(names: list[str], changed: dict[int, dict[str, str]] | None = None) -> str:
    """Return a page as `ncu --csv --page raw` prints it, between ncu's messages and the program's output."""
    lines = ["==PROF== Connected to process 4711 (/build/cli/warpaes)", "N.implementations: 1 of 1", ""]
    lines.append(quoted([*BEFORE, "Device", "CC", *METRICS]))
    lines.append(quoted([""] * (len(BEFORE) + 2) + [unit for unit, _ in METRICS.values()]))
    for i, name in enumerate(names):
        cells = [i, 4711, "warpaes", "127.0.0.1", name, 1, 7, "(256, 1, 1)", "(16384, 1, 1)", 0, "9.0"]
        values = {metric: value for metric, (_, value) in METRICS.items()} | (changed or {}).get(i, {})
        lines.append(quoted([*cells, *values.values()]))
    return "\n".join(lines) + "\n"


class Profile(unittest.TestCase):
    def test_kernels_by_their_place_in_the_catalogue(self):
        for name, expected in (
            (kernel_name(0), 1),
            ("void lab::gpu::variant_kernel<12ul>(lab::gpu::Params)", 13),
            ("void variant_kernel<3>(Params)", 4),
            ("_ZN3lab3gpu14variant_kernelILm11EEEvNS0_6ParamsE", 12),
            (kernel_name(13), None),  # a variant, but not one of the thirteen
            ("find_difference(const unsigned char *)", None),
        ):
            with self.subTest(name):
                self.assertEqual(profile_lab.kernel_number(name), expected)

    def test_a_row_a_launch(self):
        names = [kernel_name(3), "find_difference(const unsigned char *)", kernel_name(0), kernel_name(3)]
        kernels = profile_lab.kernels_of(raw_page(names, {3: {"gpu__time_duration.sum": "1"}}))
        self.assertEqual([kernel["number"] for kernel in kernels], [1, 4])
        self.assertEqual(kernels[1]["nanoseconds"], 1, "the fastest launch counts")
        self.assertEqual(kernels[1]["shared_loads"], 20_971_520)
        self.assertEqual(kernels[1]["issue_percent"], 41.25)
        self.assertNotIn("constant_requests", kernels[1], "unavailable metrics are omitted")
        self.assertNotIn("dram_bytes", kernels[1], "metrics that were not requested are omitted")
        self.assertEqual(
            list(kernels[1]["stalls"]), ["short_scoreboard", "wait", "selected"], "the most frequent first"
        )

    def test_a_row_a_metric(self):
        head = quoted([*BEFORE, "Section Name", "Metric Name", "Metric Unit", "Metric Value"])
        rows = [
            quoted([0, 1, "p", "h", kernel_name(1), 1, 7, "", "", "", metric, unit, value])
            for metric, unit, value in (
                ("gpu__time_duration.sum", "usecond", "268.5"),
                ("launch__registers_per_thread", "register/thread", "32"),
            )
        ]
        kernels = profile_lab.kernels_of("\n".join(["==PROF== x", head, *rows]))
        self.assertEqual(kernels, [{"number": 2, "nanoseconds": 268_500, "registers": 32, "stalls": {}}])

    def test_text_that_is_no_profile(self):
        for text in ("", "==ERROR== ERR_NVGPUCTRPERM\n", '"ID"\n'):
            self.assertEqual(profile_lab.kernels_of(text), [])

    def test_only_metrics_that_the_gpu_has_are_asked_for(self):
        listed = "Device NVIDIA H200 (GH100)\n---\nMetric Name   Metric Description\nsmsp__inst_executed   # of\n"
        asked = profile_lab.metrics_to_ask(profile_lab.known_metrics(listed))
        self.assertIn("smsp__inst_executed.sum", asked)
        self.assertIn("launch__registers_per_thread", asked)
        self.assertNotIn("idc__requests.sum", asked)
        for nothing in (set(), {"of__another_kind"}):
            self.assertIn(
                "idc__requests.sum", profile_lab.metrics_to_ask(nothing), "without a list of metrics, all metrics"
            )

    def test_a_record(self):
        gpu = {"name": "NVIDIA H200", "driver": "1", "count": 1, "clock_mhz": 1980}
        for kernels, schemes, status in (
            (range(13), range(40, 85), 0),
            (range(12), range(40, 85), 1),
            (range(13), range(40, 84), 1),
            (range(13), range(40, 46), 1),
            (range(13), (), 1),
        ):
            with (
                tempfile.TemporaryDirectory() as folder,
                mock.patch.object(profile_lab, "find_gpu", return_value=gpu),
                mock.patch.object(
                    sys,
                    "argv",
                    [
                        "profile_lab",
                        "--csv",
                        f"{folder}/ncu.csv",
                        "--schemes-csv",
                        f"{folder}/g.csv",
                        "--output",
                        folder,
                    ],
                ),
            ):
                Path(folder, "ncu.csv").write_text(raw_page([kernel_name(i) for i in kernels]))
                Path(folder, "g.csv").write_text(raw_page([kernel_name(i) for i in schemes]))
                self.assertEqual(profile_lab.main(), status)
                (record,) = lab_pages.load_profiles(Path(folder)).values()
                self.assertEqual(len(record["kernels"]), len(kernels))
                self.assertEqual(record["text_bytes"], 256 << 20)
                found = [(one["scheme"], one["tables"]) for one in record.get("schemes", [])]
                self.assertEqual(found, profile_lab.SCHEMES[: len(schemes)])
                sizes = [(one["scheme"], one["text_bytes"]) for one in record.get("schemes_by_size", [])]
                self.assertEqual(sizes, profile_lab.SIZES[: max(0, len(schemes) - 6)])
                self.assertTrue({"date", "commit", "dirty", "gpu"} <= record.keys())

    def test_without_a_gpu_it_says_so(self):
        with mock.patch.object(profile_lab, "find_gpu", return_value=None), mock.patch.object(sys, "argv", ["x"]):
            self.assertEqual(profile_lab.main(), 1)


LABELS = (
    "16B constant.4 keys.constant registers",
    "16B shared.4 keys.constant registers",
    "16B shared.4 keys.shared registers",
    "16B shared.1 keys.shared registers",
    "16B shared.4 keys.shared SoA",
    "16B shared.4 keys.shared AoS",
    "8B shared.4 keys.constant AoS barrier",
    "8B shared.4 keys.shared AoS barrier",
    "8B shared.4 keys.constant SoA barrier",
    "4B shared.4 keys.constant AoS barrier",
    "4B shared.4 keys.shared AoS barrier",
    "4B shared.4 keys.constant SoA barrier",
    "1B shared.4 keys.shared AoS barrier",
)
SPEEDS = [4.83, 247.6, 238.2, 240.7, 208.3, 151.3, 166.9, 162.9, 167.0, 166.2, 159.2, 95.5, 61.7]
PUBLISHED = [gbit / 8 for gbit in (5.0, 34.4, 35.2, 21.54, 29.9, 21.7, 26.9, 23.9, 23.4, 25.3, 25.0, 17.1, 2.9)]


def experiment(key: str, panels: list[dict], facts: list[dict] = (), verdicts: list[dict] = ()) -> dict:
    result = {"panels": panels, "facts": list(facts), "verdicts": list(verdicts), "notes": []}
    return {"key": key, "status": "measured", "result": result}


def fact(name: str, value: float) -> dict:
    return {"name": name, "value": value, "unit": "", "published": None}


def lab_record() -> dict:
    thirteen = {
        "title": "Thirteen implementations",
        "x": {"labels": [f"{i}: {label}" for i, label in enumerate(LABELS, 1)]},
        "series": [{"name": "speed, published", "values": PUBLISHED}, {"name": "speed", "values": SPEEDS}],
    }
    facts = [
        fact("best of the thirteen", 247.6),
        fact("production, ECB, on the same text", 715.2),
        fact("rank correlation of the thirteen, published and here", 0.73),
    ]
    holds = [{"holds": h, "sentence": "."} for h in ("yes", "yes", "partly", "no", "open")]
    return {
        "schema": 1,
        "date": "2026-01-02T03:04:05Z",
        "commit": "0123456789abcdef",
        "options": {"quick": True},
        "machine": {"gpu": {"name": "NVIDIA H200"}, "cpu": "A CPU"},
        "experiments": [experiment("N.implementations", [thirteen], facts, holds)],
    }


def profile() -> dict:
    kernels = profile_lab.kernels_of(
        raw_page([kernel_name(i) for i in range(13)], {3: {"smsp__inst_executed.sum": "115,343,360"}})
    )
    return {
        "date": "2026-01-02T03:04:05Z",
        "commit": "fedcba9876543210",
        "dirty": False,
        "gpu": {"name": "NVIDIA H200", "driver": "580", "cuda": "13.0"},
        "text_bytes": 64 << 20,
        "kernels": kernels,
    }


class Page(unittest.TestCase):
    def test_committed_pages_hold_their_records(self):
        self.assertEqual(lab_pages.wrong_pages(), [], "run `make docs` with a build that has the command")

    def test_why_places_changed(self):
        (page,) = lab_pages.render([lab_record()], {"NVIDIA H200": profile()}).values()
        self.assertIn("| 4: 16B shared.1 keys.shared registers | 21.5 | 10 | 241 | 2 |", page)
        (line,) = [line for line in page.splitlines() if line.startswith("- Kernel **4**")]
        self.assertIn(
            "from rank 10 to rank 2. In the paper, it is 39 % slower than kernel 3; here it is as fast as kernel 3.",
            line,
        )
        self.assertIn(
            "Compared with kernel 3, it requires 1.00 times the shared-memory passes and 1.10 times the instructions",
            line,
        )
        self.assertIn("takes 1.00 times as long. The number of shared-memory passes explains this time.", line)
        self.assertIn(
            "Kernel 4 is limited by shared memory, which is busy 94 % of the time. Warps mostly wait for results from",
            line,
        )
        self.assertNotIn("- Kernel **12**", page, "its rank did not change")
        # 64 MiB contain 131,072 times 32 blocks.
        self.assertIn("| 1 | 800 | 160 | 560 | 2.50 |", page)

    def test_what_the_profiler_did_not_say_is_left_empty(self):
        bare = profile()
        bare["kernels"] = [{"number": number, "stalls": {}} for number in range(1, 13)]
        (page,) = lab_pages.render([lab_record()], {"NVIDIA H200": bare}).values()
        (line,) = [line for line in page.splitlines() if line.startswith("- Kernel **4**")]
        self.assertTrue(line.endswith("here it is as fast as kernel 3."), line)
        self.assertIn("| 12 |  |  |", page)
        idle = profile()
        for kernel in idle["kernels"]:
            kernel["shared_percent"] = 50
        (page,) = lab_pages.render([lab_record()], {"NVIDIA H200": idle}).values()
        self.assertIn(
            "No unit is busy all the time: shared memory is busy 50 % of the time, and the issue of instructions 41 %.",
            page,
        )

    def test_the_schemes_have_their_figure(self):
        studied = profile()
        (page,) = lab_pages.render([lab_record()], {"NVIDIA H200": studied}).values()
        self.assertNotIn("The three schemes", page)
        studied["schemes_text_bytes"] = 128 << 20
        studied["schemes"] = profile_lab.schemes_of(raw_page([kernel_name(i) for i in range(40, 46)]))
        (page,) = lab_pages.render([lab_record()], {"NVIDIA H200": studied}).values()
        # The rate is 104,857,600 instructions in 268,000 ns.
        self.assertIn("| 3: sixteen threads per block, tables in shared memory | 391 | 41.2 |  |  | 93.5 |", page)
        self.assertNotIn("By length", page)
        studied["schemes_by_size"] = profile_lab.sizes_of(raw_page([kernel_name(i) for i in range(40, 85)]))
        (page,) = lab_pages.render([lab_record()], {"NVIDIA H200": studied}).values()
        # The rates are 2,048 and 8,388,608 bytes in 268,000 ns.
        self.assertIn("| 2 KiB | 1: one thread per block | 0.00764 | 391 | 41.2 |  |  |", page)
        self.assertIn("| 8 MiB | 3: sixteen threads per block | 31.3 | 391 | 41.2 |  |  |", page)
        claim = {"id": "G.fig4", "kind": "unmeasured", "says": "s", "experiment": "", "rule": "why"}
        summary = {"claims": [claim], "matrix": {"records": [{"machine": "H"}], "conclusions": []}}
        self.assertIn("not measured: why", lab_pages.claims_table(summary, profile()))
        self.assertIn("lab-profile.md", lab_pages.claims_table(summary, studied))

    def test_limits_that_statements_call_counted_are_the_profilers(self):
        def limit(kernel: dict) -> str:
            return max(lab_pages.UNITS, key=lambda unit: kernel.get(unit, 0))

        self.assertTrue(lab_pages.load_profiles())
        for profiled in lab_pages.load_profiles().values():
            kernels = [limit(kernel) for kernel in profiled["kernels"]]
            self.assertEqual(kernels, ["constant_percent"] + ["shared_percent"] * 12)
            constant = [limit(kernel) for kernel in profiled["schemes"] if kernel["tables"] == "constant"]
            self.assertEqual(constant, ["constant_percent"] * 3)
        said = {}
        for path in (ROOT / "lab/claims/statements").glob("*.json"):
            paper = json.loads(path.read_text())
            for row in paper["statements"] if isinstance(paper, dict) else []:
                if "(counted)" in row.get("limit", ""):
                    said.setdefault(row["limit"], []).append(row["id"])
        self.assertEqual(set(said.pop("the constant cache (counted)")), {"G.schemes", "G.third-scheme"})
        both = said.pop("passes of shared memory, and of the slowest the constant cache (counted)")
        self.assertEqual(set(both), {"N.ten-times", "N.constant-tables"})
        self.assertEqual(list(said), ["passes of shared memory (counted)"])
        self.assertTrue(all(name.startswith("N.") for name in said["passes of shared memory (counted)"]))

    def test_no_page_without_both_records(self):
        self.assertEqual(lab_pages.render([lab_record()], {}), {})
        self.assertEqual(lab_pages.render([lab_record()], {"another": profile()}), {})
        self.assertEqual(lab_pages.render([], {"NVIDIA H200": profile()}), {})

    def test_the_summary_counts_and_links(self):
        said = {
            "findings": ["One.", "Two."],
            "worth": {"sentences": ["From 1 MiB on."]},
            "tallies": [
                {"paper": "N", "yes": 2, "partly": 1, "no": 0, "open": 0},
                {"paper": "H", "yes": 1, "partly": 0, "no": 1, "open": 4},
                {"paper": "W", "yes": 7, "partly": 0, "no": 1, "open": 0},
            ],
            "claims": [],
        }
        text = lab_pages.summary([lab_record()], [said], True)
        self.assertIn("a quick run, 2026-01-02, commit 0123456789ab", text)
        self.assertIn(
            "of 9 published conclusions, 3 hold, 1 hold in part, 1 do not hold, and 4 are open; of 8 of our own, 7",
            text,
        )
        self.assertIn("(lab-nvidia-h200.html)", text)
        self.assertIn("(lab-profile.md)", text)
        self.assertIn("- One.\n- Two.", text)
        self.assertIn("- From 1 MiB on.", text)
        self.assertNotIn("profile", lab_pages.summary([lab_record()], [said], False))
        self.assertNotIn("conclusions", lab_pages.summary([lab_record()], [None], False), "a page of an older lab")
        self.assertEqual(lab_pages.summary([], [], False), "")

    def test_experiments_of_another_build_are_said(self):
        record = lab_record()
        record["experiments"][0]["commit"] = "b414bd85aaaaaaaa"
        self.assertIn("for some experiments, b414bd85aaaa", lab_pages.summary([record], [None], False))

    def test_the_table_has_every_claim_with_its_experiment_or_a_reason(self):
        claims = [
            {
                "id": "N.a",
                "says": "a | b",
                "kind": "conclusion",
                "experiment": "N.x",
                "rule": "yes if so",
                "holds": "no",
            },
            {"id": "N.b", "says": "b", "kind": "figures", "experiment": "N.y", "rule": "a panel"},
            {"id": "N.c", "says": "c", "kind": "unmeasured", "experiment": "", "rule": "no such GPU"},
        ]
        matrix = {
            "records": [{"machine": "A GPU"}, {"machine": "Another"}],
            "conclusions": [{"id": "N.a", "holds": ["no", "open"]}],
        }
        rows = lab_pages.claims_table({"claims": claims, "matrix": matrix}).splitlines()
        self.assertEqual(rows[0], "| id | published | measured by, and the rule | A GPU | Another |")
        self.assertEqual(rows[2], "| N.a | a \\| b | N.x: yes if so | does not hold | open |")
        self.assertEqual(rows[3], "| N.b | b | N.y: a panel | figures | figures |")
        self.assertEqual(rows[4], "| N.c | c | not measured: no such GPU |  |  |")

    def test_each_machine_has_one_record_those_with_a_gpu_first(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "submitted").mkdir()

            def put(name: str, machine: str, date: str, gpu: bool = True) -> None:
                record = lab_record() | {"date": date}
                record["machine"] = {"gpu": {"name": machine} if gpu else None, "cpu": machine}
                Path(folder, name).write_text(json.dumps(record))

            put("a-cpu.json", "a CPU", "2026-01-01", gpu=False)
            put("h200-1.json", "H200", "2026-01-01")
            put("h200-2.json", "H200", "2026-02-01")
            put("submitted/rtx.json", "RTX", "2026-01-05")
            found = lab_pages.every_machine(Path(folder))
            self.assertEqual({n: p.name for n, (p, _) in found.items()}["H200"], "h200-2.json")
            self.assertEqual(list(found)[-1], "a CPU")
            self.assertEqual(set(found), {"H200", "RTX", "a CPU"})
            self.assertEqual(list(lab_pages.load(Path(folder))), ["H200"], "pages for our own records with a GPU")

    def test_the_committed_table_misses_nothing(self):
        text = (ROOT / "docs/lab.md").read_text()
        table = text.split("<!-- claims: begin -->")[1].split("<!-- claims: end -->")[0]
        head, _, *rows = (line.split(" | ") for line in table.strip().splitlines())
        published = [row for row in rows if not row[0].startswith("| W.")]
        self.assertGreaterEqual(len(published), 87)
        for row in rows:
            self.assertEqual(len(row), len(head), row)
            self.assertRegex(row[2], r"^([A-Z]\.[a-z_-]+|not measured|the profiler): .+")

    def test_a_page_holds_its_record_if_what_was_measured_is_the_same(self):
        series = {"name": "speed", "role": "measured", "values": [1], "spread": []}
        one = {"key": "N.a", "status": "measured", "commit": "", "citation": "A", "result": None}
        one["result"] = {"panels": [{"title": "P", "series": [series]}], "facts": [], "verdicts": [], "notes": []}
        record = {"date": "d", "commit": "c", "experiments": [one]}
        other = copy.deepcopy(record)
        other["experiments"][0]["citation"] = "B"
        other["experiments"][0]["result"]["verdicts"] = [{"holds": "yes"}]
        self.assertEqual(lab_pages.measured_part(record), lab_pages.measured_part(other))
        other["experiments"][0]["result"]["panels"][0]["series"][0]["values"] = [2]
        self.assertNotEqual(lab_pages.measured_part(record), lab_pages.measured_part(other))

    def test_the_newest_record_of_a_machine_and_its_page(self):
        with tempfile.TemporaryDirectory() as folder:
            for date in ("2026-01-02", "2026-03-04", "2026-02-03"):
                record = lab_record() | {"date": f"{date}T00:00:00Z"}
                Path(folder, f"nvidia-h200-{date}.json").write_text(json.dumps(record))
            Path(folder, "profile-nvidia-h200-2026-05-05.json").write_text(json.dumps(profile() | {"schema": 1}))
            ((path, record),) = lab_pages.load(Path(folder)).values()
            self.assertEqual(path.name, "nvidia-h200-2026-03-04.json")
            page = Path(folder, "page.html")
            self.assertIsNone(lab_pages.embedded(page))
            page.write_text(f'<script type="application/json" id="record">{json.dumps(record)}</script>')
            self.assertEqual(lab_pages.embedded(page), record)


if __name__ == "__main__":
    unittest.main()
