"""Tests that the figures in the generated documents come from committed records, and that no other page contains
figures."""

import copy
import re
import sys
import unittest
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import bulk_page
import comparison
import demo_svg
import first_screen
import parquet_page
import paths
import planner
import python_page
import records
import report
import robustness
import scale_page
from text import BEGIN, END

ROOT = report.ROOT


def row(backend, memory, size, gb_per_s, **fields):
    return {
        "backend": backend,
        "device": 0 if backend == "cuda" else -1,
        "mode": "ctr",
        "direction": "encrypt",
        "key_bits": 128,
        "bytes": size,
        "memory": memory,
        "threads": 0 if backend == "cuda" else 1,
        "gb_per_s": gb_per_s,
        "baseline_gb_per_s": None,
        "includes": "output stored",
    } | fields


def path(size, gb_per_s, **fields):
    return {
        "mode": "gcm",
        "direction": "encrypt",
        "key_bits": 128,
        "bytes": size,
        "messages": 10,
        "keys": "1",
        "place": "device",
        "way": "submit",
        "forged": False,
        "aad_bytes": 28,
        "gb_per_s": gb_per_s,
    } | fields


CPU_RECORD = {
    "schema": 1,
    "date": "2026-01-02T03:04:05Z",
    "commit": "0123456789abcdef",
    "dirty": False,
    "warpaes": "0.1.0",
    "gpu": None,
    "host": {"cpu": "A <CPU>", "cores": 2, "isa": ["aes"], "os": "Linux", "openssl": "OpenSSL 3.0.0"},
    "tests": [{"name": "a", "passed": 3, "failed": 0, "skipped": 1, "seconds": 1}],
    "sanitizers": [],
    "bench": [
        row("vaes", "pageable", 1 << 20, 30.0, baseline_gb_per_s=10.0),
        row("vaes", "pageable", 1 << 10, 4.0, baseline_gb_per_s=5.0),
    ],
}
GPU_RECORD = CPU_RECORD | {
    "gpu": {"name": "A GPU", "driver": "1.2", "cuda": "13.0", "multiprocessors": 100, "clock_mhz": 1000},
    "bench": [
        *CPU_RECORD["bench"],
        row("cuda", "device", 1 << 20, 50.0),
        row("cuda", "device", 1 << 30, 188.2),
        row("cuda", "pageable", 1 << 20, 2.0),
        row("cuda", "device", 1 << 30, 160.0, mode="gcm"),
        row("cuda", "device", 1 << 30, 120.0, mode="gcm", segment=16384),
        row("cuda", "device", 1 << 30, 140.0, mode="gcm", segment=1 << 20),
        row("cuda", "device", 1 << 30, 900.0, mode="gmac"),
    ],
}
GPU_RECORD["device"] = [
    {
        "kernel": "counter_prg",
        "key_bits": 128,
        "blocks_per_key": 2,
        "tables": 4,
        "note": "",
        "blocks": 1 << 26,
        "blocks_per_s": 1.5e10,
        "lookups": 160,
        "limit_blocks_per_s": 2e10,
        "registers": 56,
        "commit": "fedcba9876543210",
        "dirty": False,
        "date": "2026-01-02T03:05:00Z",
    }
]
GPU_RECORD, CPU_RECORD = records.combine([GPU_RECORD]), records.combine([CPU_RECORD])
README = f"before\n{BEGIN}\nold\n{END}\nafter\n"


class Paths(unittest.TestCase):
    """Measurements by bench/path_sweep."""

    RECORD = CPU_RECORD | {
        "gpu": {"name": "A GPU", "driver": "1.2"},
        "paths": [
            path(256, 100.0),
            path(16384, 400.0),
            path(1024, 359.0, keys="64"),
            path(1024, 300.0),
            path(65536, 361.0),
            path(1048576, 359.0),
            path(64, 5.0, forged=True, direction="decrypt"),
            path(65536, 7.5, way="async", keys="1"),
            {key: value for key, value in path(4096, 0.0).items() if key != "gb_per_s"} | {"error": "no memory"},
        ],
    }

    def test_dips_are_a_tenth_below_a_smaller_size(self):
        curves = paths.curves_of(self.RECORD["paths"])
        points = curves[("device", "submit", "gcm", "encrypt", 128, "1", False)]
        self.assertEqual(points, [(256, 100.0), (1024, 300.0), (16384, 400.0), (65536, 361.0), (1048576, 359.0)])
        self.assertEqual(paths.dips_of(points), [1048576])
        self.assertEqual(paths.dips_of([(1, 1.0)]), [])

    def test_page_and_plot(self):
        page = report.performance([], [self.RECORD])
        self.assertIn("## Many short messages", page)
        self.assertIn("| GCM encryption, AES-128, one key, device, submit |", page)
        self.assertIn("| **359** |", page)
        self.assertIn("GCM decryption, AES-128, one key, device, submit, forged |", page)
        self.assertIn("| single messages of | 64 KiB |", page)
        files = report.render([], [self.RECORD])
        self.assertIn("GCM, 64 keys", files["docs/a-gpu-messages.svg"])
        self.assertIn("](a-gpu-messages.svg)", files["docs/performance.md"])
        self.assertNotIn("Many short messages", report.performance([]))


class Committed(unittest.TestCase):
    def test_documents_are_what_the_records_say(self):
        files = report.everything()
        for name, text in files.items():
            with self.subTest(name):
                self.assertEqual((ROOT / name).read_text(), text, "run `make docs`")
        self.assertEqual({f"docs/{p.name}" for p in (ROOT / "docs").glob("*.svg")}, {n for n in files if "svg" in n})

    def test_robustness_is_what_the_records_say(self):
        self.assertEqual(robustness.PAGE.read_text(), robustness.page(), "run `make docs`")

    def test_runs_of_a_day_give_their_median(self):
        def run(date: str, speed: float) -> dict:
            return copy.deepcopy(CPU_RECORD) | {"date": date, "bench": [row("vaes", "pageable", 1 << 20, speed)]}

        day = "2026-01-02T0"
        combined = records.combine(
            [run(f"{day}3", 20.0), run("2026-01-01T09", 90.0), run(f"{day}1", 10.0), run(f"{day}2", 18.0)]
        )
        self.assertEqual([(r["gb_per_s"], r["lowest"], r["highest"]) for r in combined["bench"]], [(18.0, 10.0, 20.0)])
        self.assertEqual(len(combined["runs"]), 3)
        self.assertIn("| 10.0 | 20.0 |", report.performance([combined]))

    def test_nobody_types_figures(self):
        written = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")]
        for path in written:
            if path.name in ("performance.md", "lab-profile.md"):  # these pages are generated
                continue
            text = re.sub(f"{BEGIN}.*?{END}", "", path.read_text(), flags=re.DOTALL)
            for part in ("claims", "cudf"):
                text = re.sub(f"<!-- {part}: begin -->.*?<!-- {part}: end -->", "", text, flags=re.DOTALL)
            for begin, end in scale_page.MARKS.values() if path.name == "scale.md" else ():
                text = re.sub(f"{begin}.*?{end}", "", text, flags=re.DOTALL)
            self.assertEqual(re.findall(r"[\d.,]+ ?(?:[KMGT]i?B/s|[GT]bit/s|times (?:as fast|faster))", text), [], path)

    def test_the_threat_model_names_tests_that_exist(self):
        text = (ROOT / "docs/threat-model.md").read_text()
        sources = "".join(p.read_text() for p in (ROOT / "tests").rglob("*_test.cpp"))
        named = re.findall(r"`([A-Z]\w+)\.(\w+)`", text)
        self.assertGreater(len(named), 5)
        for suite, test in named:
            self.assertRegex(sources, rf"TEST\w*\({suite}, {test}\)")
        for path in re.findall(r"`(test_\w+)`", text):
            self.assertTrue(any(f"def {path}(" in p.read_text() for p in (ROOT / "tests").rglob("test_*.py")), path)


PLANNER_RECORD = {
    "schema": 1,
    "date": "2026-01-02T03:04:05Z",
    "commit": "0123456789abcdef",
    "dirty": False,
    "gpu": {"name": "A <GPU>"},
    "host": {"cpu": "A CPU", "cores": 2},
    "calibration": {"seconds": 20.0, "measurements": 400, "median_error": 0.02},
    "good_ratio": 1.1,
    "worst_ratio": 2.0,
    "points": [
        {"mode": "ctr", "key_bits": 128, "bytes": 64, "messages": 1, "batch": False, "from": "host"}
        | {"measured_s": {"vaes": 1e-6, "cuda": None}, "choice": "vaes", "ratio": 1.0},
        {"mode": "ctr", "key_bits": 128, "bytes": 64, "messages": 16, "batch": True, "from": "device"}
        | {"measured_s": {"vaes": 1e-6, "cuda": 2e-6}, "choice": "cuda", "ratio": 2.0},
        {"mode": "gcm", "key_bits": 128, "bytes": 64, "messages": 16, "batch": True, "from": "host"}
        | {"measured_s": {"vaes": 1e-6, "cuda+vaes": 1e-6}, "choice": "cuda+vaes", "ratio": 1.0},
    ],
}


class Planner(unittest.TestCase):
    def test_says_how_many_choices_are_good(self):
        text = planner.figures([PLANNER_RECORD])
        self.assertIn("**2 of 3 (66.7 %)**", text)
        self.assertIn("16 x 64: cuda, 2.00 times the best; vaes 1 us, cuda 2 us", text)
        self.assertIn("no record yet", planner.figures([]))

    def test_is_an_svg_with_a_cell_a_point(self):
        text = planner.draw(PLANNER_RECORD)
        root = ElementTree.fromstring(text)
        self.assertEqual(len(root.findall(".//{*}rect")), len(planner.KINDS) + 3)
        self.assertEqual(len(root.findall(".//{*}circle[@class='wrong']")), 1 + 1)

    def test_keeps_the_rest_of_the_page(self):
        files = planner.render([PLANNER_RECORD], README)
        self.assertEqual(set(files), {"docs/planner.md", "docs/planner-a-gpu.svg"})
        self.assertTrue(files["docs/planner.md"].startswith("before\n"))
        self.assertTrue(files["docs/planner.md"].endswith("\nafter\n"))


def compared(tool: str, what: str, seconds: float, **fields) -> dict:
    row = {"tool": tool, "what": what, "command": f"{tool} {what}", "seconds": seconds, "cpu_s": seconds}
    return row | {"peak_kib": 1024} | fields


COMPARE_RECORD = {
    "schema": 1,
    "date": "2026-01-02T03:04:05Z",
    "commit": "0123456789abcdef",
    "dirty": False,
    "host": {"cpu": "A <CPU>", "cores": 2},
    "versions": {"warpaes": "1.0.0", "age": "1.1.1"},
    "bytes": 1 << 30,
    "small_bytes": 4096,
    "rounds": 5,
    "rows": [
        compared("warpaes", "encrypt", 0.5, small_s=0.004),
        compared("warpaes", "decrypt", 0.5),
        compared("age", "encrypt", 1.0, small_s=0.002),
        compared("age", "decrypt", 0.4, peak_kib=2048),
        compared("cp", "encrypt", 0.2, small_s=0.001),
        compared("cp", "decrypt", 0.2),
    ],
}


class Comparison(unittest.TestCase):
    def test_says_where_others_are_ahead(self):
        self.assertEqual(
            comparison.better(COMPARE_RECORD),
            [
                "- time: `age decrypt`;",
                "- CPU time: `age decrypt`;",
                "- time for 4 KiB: `age encrypt`.",
            ],
        )

    def test_figures(self):
        text = comparison.figures(COMPARE_RECORD)
        self.assertIn("| `warpaes encrypt` | AES-256-GCM | 0.50 | 2.15 | 0.50 | 1.00 | 4.00 |", text)
        self.assertEqual(text.count("`cp "), 1)
        self.assertIn("age 1.1.1; 2026-01-02, commit 0123456789ab. Times are the shortest of 5 rounds", text)
        self.assertNotIn("Other programs", text)
        self.assertIn("(a load of 7.1 before the measurement).*", comparison.figures(COMPARE_RECORD | {"load": 7.06}))

    def test_figures_of_a_disk(self):
        rows = [{"command": "fio", "seconds": 3.0}, {"command": "cp, sync", "seconds": 4.0}]
        text = comparison.figures(COMPARE_RECORD | {"disk": {"bytes": 3 << 30, "rows": rows}})
        self.assertIn("speed for 3 GiB on that machine's disk. Times run from the start", text)
        self.assertIn("computes nothing | 3.00 | 1.07 | 1.00 |\n| `cp, sync` | 4.00 | 0.81 | 0.75 |", text)

    def test_plot_is_linear_and_ranks_the_tools(self):
        record = COMPARE_RECORD | {"rows": [*COMPARE_RECORD["rows"], compared("openssl", "encrypt", 0.25)]}
        root = ElementTree.fromstring(comparison.plot(record))
        said = [item.text for item in root.iter("{http://www.w3.org/2000/svg}text")]
        self.assertEqual([name for name in said if name in comparison.TOOLS.values() or name == "age"],
                         ["openssl enc", "warpaes", "age"])  # fmt: skip
        widths = [float(bar.get("width")) for bar in root.findall("{*}rect")]
        self.assertEqual([round(widths[0] / width, 1) for width in widths], [1, 2, 4])
        self.assertIn("4.29", said)
        self.assertNotIn("0123456789ab", "".join(said))


class FirstScreen(unittest.TestCase):
    README = (ROOT / "README.md").read_text()

    @staticmethod
    def lab_record():
        def series(name: str, *values: float | None) -> dict:
            return {"name": name, "values": values}

        panel = {
            "title": "Contenders, CTR",
            "series": [
                series("published way", 1.0, 30.0), series("bitsliced", 2.0, 40.5), series("production", None, 90.0),
                series("copy within the device", 9.0, 200.0),
            ],
        }  # fmt: skip
        experiment = {"key": "W.contenders", "status": "measured", "result": {"panels": [panel]}}
        return {"machine": {"gpu": {"name": "A GPU"}}, "experiments": [experiment]}

    def test_a_file(self):
        self.assertEqual(
            first_screen.file_row(COMPARE_RECORD)[:3],
            [
                "**2.15 GB/s**",
                "encrypting a 1 GiB file on tmpfs with 2 A <CPU> cores",
                "1.07 for `age` (one core each)",
            ],
        )
        self.assertIsNone(first_screen.file_row(None))

    def test_device_memory_against_the_fastest_other_kernel(self):
        row = first_screen.device_row(self.lab_record())
        self.assertEqual((row[0], row[2]), ("**90.0 GB/s**", "40.5 for the lab's fastest other kernel (bitsliced)"))
        self.assertIsNone(first_screen.device_row(None))
        self.assertIsNone(first_screen.device_row({"machine": {}, "experiments": []}))

    def test_weights_against_the_fastest_loader_in_clear(self):
        rows = [
            {"part": "model", "what": "a, in clear", "bytes": 10**10, "gb_per_s": 4.0},
            {"part": "model", "what": "b, parallel, in clear", "bytes": 10**10, "gb_per_s": 30.0},
            {"part": "model", "what": "warpaes.models.load", "bytes": 10**10, "gb_per_s": 20.0},
            {"part": "model", "what": "warpaes.models.load, reader='x'", "bytes": 10**10, "gb_per_s": 25.0},
            {"part": "kv", "what": "warpaes.kv", "bytes": 10**10, "gb_per_s": 90.0},
            {"part": "model", "what": "warpaes model encrypt", "bytes": 10**10, "seconds": [1.0]},
        ]
        row = first_screen.loading_row({"gpu": {"name": "A GPU"}, "rows": rows})
        self.assertEqual((row[0], row[2]), ("**20.0 GB/s**", "30.0 for `b` with unencrypted weights"))
        self.assertIn("10.0 GB of encrypted weights from tmpfs into an A GPU (25.0 with `reader='x'`)", row[1])
        self.assertIsNone(first_screen.loading_row({"gpu": {"name": "A GPU"}, "rows": rows[:1]}))

    def test_readme_is_short_and_shows_three_numbers_without_commits(self):
        self.assertLessEqual(len(self.README.split()), 700)
        self.assertEqual(len(re.findall(r"\*\*[\d.]+ GB/s\*\*", self.README)), 3)
        self.assertNotRegex(self.README, r"commit [0-9a-f]{7}")
        self.assertLess(self.README.index("GB/s"), self.README.index("## Install"))


STEP = {
    "command": "warpaes <x>",
    "status": 0,
    "events": [
        [0.1, "\r\x1b[K10 %"],
        [0.5, "\r\x1b[K90 %"],
        [0.9, "\r\x1b[K"],
        [1.0, "\x1b[1;31mno:\x1b[0m b&c\r\n"],
    ],
}
TERMINAL = {"columns": 10, "steps": [STEP, {"command": "ls", "status": 0, "events": [[0.1, "abc"]]}]}


class Recording(unittest.TestCase):
    def test_a_terminal_shows_what_was_last_on_each_line(self):
        lines = demo_svg.play(TERMINAL).lines
        shown = ["".join(text for text, _ in parts) for parts in lines]
        self.assertEqual(shown, ["$ warpaes ", "<x>", "no: b&c", "$ ls", "abc"])
        self.assertEqual(lines[2][0], ("no:", "wrong"))

    def test_picture_is_still(self):
        text = demo_svg.draw(TERMINAL)
        self.assertNotRegex(text, "animation|visibility")
        rows = ["".join(row.itertext()) for row in ElementTree.fromstring(text).findall("{*}text")]
        self.assertEqual(rows, ["$ warpaes ", "<x>", "no: b&c", "$ ls", "abc"])

    def test_committed_one_shows_a_file_that_was_altered_and_refused(self):
        text = "".join(ElementTree.fromstring((ROOT / demo_svg.PICTURE).read_text()).itertext())
        for said in ("warpaes encrypt -k", "is not authentic", "all work and no play"):
            self.assertIn(said, text)


class Text(unittest.TestCase):
    def test_figures_name_their_source(self):
        text = report.performance([GPU_RECORD])
        self.assertIn("A GPU, driver 1.2, CUDA 13.0; 2026-01-02, commit 0123456789ab", text)
        self.assertIn("A <CPU>, 2 cores, OpenSSL 3.0.0; 2026-01-02, commit 0123456789ab", text)
        self.assertIn("3 / 0 / 1", text)

    def test_share_of_the_limit(self):
        # 100 multiprocessors x 1 GHz x 512 bytes / (16 x 8 + 8) = 376.5 GB/s, and 188.2 is half of this.
        self.assertIn("| CTR | 188 | 50 % |", report.performance([GPU_RECORD]))

    def test_several_gpus(self):
        made = {"date": "2026-01-02T03:04:05Z", "commit": "0123456789abcdef", "dirty": False}
        work = {"mode": "ctr", "direction": "encrypt", "key_bits": 128, "bytes": 1 << 32, "messages": 1}
        rows = [
            {"gpus": gpus, **what, "gb_per_s": speed} | made
            for gpus, what, speed in (
                (1, {"what": "copies alone"}, 50.0),
                (1, work, 40.0),
                (2, {"what": "copies alone"}, 90.0),
                (2, work, 72.0),
            )
        ]
        text = report.performance([GPU_RECORD | {"gpus": rows}])
        self.assertRegex(text, r"copies alone +\| +2 \| +90\.0 \| +1\.80x")
        self.assertRegex(text, r"CTR, AES-128, 1 x 4 GiB +\| +2 \| +72\.0 \| +1\.80x \| +80 %")

    def test_batches(self):
        def batch(backend, memory, messages, size, gb_per_s, **fields):
            extra = {"messages": messages, "keys": "one", "aad_bytes": 0, "commit": "fedcba9876543210", "dirty": False}
            return row(backend, memory, size, gb_per_s, **extra, date="2026-01-02T03:05:00Z") | fields

        batches = [
            batch("cuda", "device", 1, 1 << 30, 200.0),
            batch("cuda", "device", 4096, 1 << 18, 160.0),
            batch("vaes", "pageable", 1000, 1500, 3.0, mode="ccm", keys="each", aad_bytes=13, baseline_gb_per_s=1.5),
            batch("cuda", "arena", 65536, 1 << 14, 40.0, mode="cmac"),
        ]
        payload = {"messages": 1000, "bytes": 123456, "orders": [0.001, 0.0011]}
        text = report.performance([GPU_RECORD | {"batches": batches, "payload": payload}])
        for line in (
            "| cuda | CTR, AES-128 | 1 x 1 GiB | one | device | 200 |  |",
            "| cuda | CTR, AES-128 | 4,096 x 256 KiB | one | device | 160 | 25.0 % slower per byte than one message |",
            "| vaes | CCM encryption, AES-128, 13 bytes of associated data "
            "| 1,000 x 1,500 B | each | host | 3.00 | 2.00x libcrypto |",
            "| cuda | CMAC, AES-128 | 65,536 x 16 KiB | one | host | 40.0 |  |",
            "*2026-01-02, commit fedcba987654. The time runs from",
            "takes 1.00, 1.10 ms in its seven orders. The longest time is 10.0 % more than the shortest.",
        ):
            self.assertIn(line, text)
        self.assertNotIn("Many messages", report.performance([GPU_RECORD]))

    def test_kernels_of_ones_own(self):
        text = report.performance([GPU_RECORD])
        self.assertIn("| `counter_prg`, AES-128, 2 blocks per key | 15.0 | 240 | 75 % | 160 | 56 |", text)
        self.assertIn("2026-01-02, commit fedcba987654; 1 GiB of output", text)
        self.assertNotIn("one's own kernels", report.performance([CPU_RECORD]))

    def test_segments_have_rows_of_their_own(self):
        table = report.performance([GPU_RECORD])
        rows = ["GCM encryption", "GCM encryption, segments of 1 MiB", "GCM encryption, segments of 16 KiB", "GMAC"]
        shares = ["160 | 42 %", "140 | 37 %", "120 | 32 %", "900 | "]
        found = [table.index(f"| {name} | {share} |") for name, share in zip(rows, shares, strict=True)]
        self.assertEqual(found, sorted(found))

    def test_says_where_warpaes_is_slower(self):
        self.assertEqual(
            report.slower(GPU_RECORD),
            [
                ["CTR, AES-128, 1 KiB", "`vaes`", "4.00", "libcrypto's EVP", "5.00"],
                ["CTR, AES-128, 1 MiB", "`cuda`, pageable host memory", "2.00", "`vaes`, one thread", "30.0"],
            ],
        )

    def test_says_when_the_tree_was_not_the_commit(self):
        record = copy.deepcopy(CPU_RECORD) | {"dirty": True}
        self.assertIn("commit 0123456789ab with changes", report.performance([record]))

    def test_plots_are_svg(self):
        plots = report.draw(GPU_RECORD)
        self.assertEqual(set(plots), {"a-gpu-device.svg", "a-gpu-sizes.svg", "a-gpu-cpu.svg"})
        for name, text in plots.items():
            self.assertTrue(ElementTree.fromstring(text).tag.endswith("svg"), name)
        self.assertEqual(set(report.draw(CPU_RECORD)), {"a-cpu-cpu.svg"})


PYTHON_ROW = {"what": "load", "bytes": 10**9, "other": "theirs", "seconds": 0.25, "other_seconds": 1.0}
PYTHON_RECORD = {
    "host": {"cpu": "A", "cores": 2},
    "python": "3",
    "versions": {"theirs": "1"},
    "date": "2026-01-02T00:00:00Z",
    "commit": "0123456789abcdef",
    "dirty": False,
}


class ParquetPage(unittest.TestCase):
    def test_one_core_and_several(self):
        row = {"what": "numbers", "bytes": 10**9, "clear_seconds": 0.25, "pyarrow_seconds": 1.0, "view_seconds": 0.5}
        necessary = {"cores": 1, "memory_seconds": 0.2, "file_seconds": 0.1, "decrypt_seconds": 0.1}
        text = parquet_page.figures(PYTHON_RECORD | {"rows": [row | {"cores": 2}, row | necessary]})
        line = "| numbers | 1,000,000,000 B | 4.00 GB/s | 1.00 GB/s | 2.00 GB/s | 2.00 | 50 % |"
        one, two = text.split("On 2 cores:")
        self.assertIn(line + " 2.50 |\n", one)
        self.assertIn(line + "\n", two)
        self.assertIn("| at most |", one)
        self.assertNotIn("| at most |", two)

    def test_cudf(self):
        pool = {"cuDF in clear, 4 threads": [50, 40, 30], "cuDF in clear, 16 threads": [25], "the view only": [9]}
        pool |= {"cuDF through the view": [50], "pyarrow decrypts": [250], "pyarrow decrypts, mapped": [200]}
        row = {"kind": "numbers", "bytes": 10**9, "milliseconds": {"cudaMalloc": {}, "pool": pool}}
        gpu = {"gpu": {"name": "A GPU", "driver": "580"}}
        text = parquet_page.cudf_figures(PYTHON_RECORD | gpu | {"rows": [row]})
        line = "| numbers | 1,000,000,000 B | 25.0 GB/s | 40.0 GB/s | 20.0 GB/s | 5.00 GB/s | 80 % | 50 % | 4.0 |"
        self.assertIn(line, text)


class PythonPage(unittest.TestCase):
    def test_in_clear_stands_beside(self):
        text = python_page.figures(PYTHON_RECORD | {"rows": [PYTHON_ROW | {"clear_seconds": 0.25, "seconds": 0.5}]})
        self.assertIn("| load | 1,000,000,000 B | 2.00 GB/s | 1.00 GB/s | theirs | 2.00 | 4.00 GB/s |", text)
        self.assertIn("| load | unencrypted | 4.0 | 50 % |", text)

    def test_the_fastest_in_clear_is_the_limit(self):
        more = {"seconds": 0.5, "clear_seconds": 0.4, "clear_all_seconds": 0.2, "dd_seconds": 0.25}
        text = python_page.figures(PYTHON_RECORD | {"rows": [PYTHON_ROW | more, PYTHON_ROW | {"what": "other"}]})
        self.assertIn("| name | times as fast | unencrypted | by all cores | dd |", text)
        self.assertIn(
            "| load | 1,000,000,000 B | 2.00 GB/s | 1.00 GB/s | theirs | 2.00 | 2.50 GB/s | 5.00 GB/s | 4.00", text
        )
        self.assertIn("| load | by all cores | 5.0 | 40 % |", text)
        self.assertIn('The column "dd" shows `dd bs=1M`', text)

    def test_what_does_not_limit_is_not_said(self):
        text = python_page.figures(PYTHON_RECORD | {"rows": [PYTHON_ROW | {"clear_seconds": 0.0625}]})
        self.assertIn("| 16.0 GB/s |", text)
        self.assertNotIn("The kernel's part", text)

    def test_records_without_it(self):
        text = python_page.figures(PYTHON_RECORD | {"rows": [PYTHON_ROW]})
        self.assertIn("| load | 1,000,000,000 B | 4.00 GB/s | 1.00 GB/s | theirs | 4.00 |\n", text)
        self.assertNotIn("clear", text)


class Bulk(unittest.TestCase):
    """Records for the parts of tools/bulk_bench.py."""

    def test_files_in_memory(self):
        def run(what, seconds, user, system):
            return {"what": what, "rounds": 5, "seconds": seconds, "user": user, "system": system, "faults": 100.0}

        part = {
            "objects": 4, "bytes": 4 << 28, "processes": 16, "costs": {"sha256": 5e-10, "aes": 1e-10},
            "runs": [
                run("cp", 0.25, 0.0, 0.5), run("bulk encrypt, 1", 1.0, 1.2, 0.6), run("start of bulk", 0.5, 0.3, 0.1)
            ],
        }  # fmt: skip
        record = {
            "date": "2026-01-02T03:04:05Z", "commit": "0123456789abcdef", "dirty": False, "local": part,
            "host": {"cpu": "A CPU", "cores": 16},
        }  # fmt: skip
        text = bulk_page.local(record)
        self.assertIn("| bulk encrypt, 1 | 1.07 GB/s | 0.25 | 1.12 s | 0.56 s | 93 |", text)
        # Encrypting one GB takes (1.8 - 0.4) / 1.07 s.
        self.assertIn("16 cores can encrypt 12.3 GB/s; they can hash 32", text)
        self.assertIs(bulk_page.newest([{"small": [], "date": "2"}, record], "local"), record)
        self.assertIsNone(bulk_page.newest([record], "small"))

    def test_gpus(self):
        runs = [{"actors": 2, "seconds": 3.0, "bytes_per_second": 5e9, "computed_on": {"a cuda 0": 4, "a cuda 1": 4}}]
        text = bulk_page.gpus({"gpus": {"objects": 8, "bytes": 1 << 30, "backend": "cuda", "gpus": 2, "runs": runs}})
        self.assertIn("4 on a cuda 0, 4 on a cuda 1", text)


if __name__ == "__main__":
    unittest.main()
