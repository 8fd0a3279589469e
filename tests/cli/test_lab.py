"""Tests `warpaes lab`: the list of experiments, interrupted and resumed runs, the page, comparisons, and bad
arguments."""

import json
import os
import signal
import stat
import subprocess
import time
import unittest
from pathlib import Path

from support import ARGUMENT, BACKEND, CANCELLED, EXISTS, FORMAT, NOT_FOUND, WARPAES, WRITE, CommandTest

PAPERS = "NGPDHKTBFW"
ROOT = Path(__file__).resolve().parents[2]


class Lab(CommandTest):
    def lab(self, *arguments, **options):
        return self.warpaes("lab", *arguments, **options).decode()

    def run_quickly(self, *keys, output="out"):
        """Run experiments that need only the CPU."""
        return self.lab("run", *keys, *self.quick(output))

    def quick(self, output):
        return ["--quick", "--no-gpu", "-o", output, "--disk", self.directory]

    def record(self, output="out"):
        return json.loads(self.read(os.path.join(output, "record.json")))

    def test_list(self):
        experiments = json.loads(self.lab("list", "--json"))
        keys = [e["key"] for e in experiments]
        self.assertEqual(len(keys), len(set(keys)))
        self.assertEqual(keys, sorted(keys, key=lambda key: PAPERS.index(key[0])))
        for e in experiments:
            self.assertEqual(e["key"].split(".")[0], e["paper"])
            self.assertTrue(e["question"].endswith("?"), e)
            self.assertIn(e["needs"], ("cpu", "gpu", "either"))
            self.assertGreaterEqual(e["seconds"], e["quick_seconds"])
        lines = self.lab("list").splitlines()
        self.assertEqual([line.split()[0] for line in lines], keys)
        documented = (ROOT / "docs/lab.md").read_text()
        self.assertEqual(
            [
                key
                for key in keys
                if f"| {key} |" not in documented and f"{key}," not in documented and f", {key} |" not in documented
            ],
            [],
        )
        # A complete run takes less than an hour, and three minutes with --quick.
        self.assertLess(sum(e["seconds"] for e in experiments), 3600)
        self.assertLess(sum(e["quick_seconds"] for e in experiments), 180)

    def test_one_experiment(self):
        out = self.run_quickly("p.random")
        self.assertRegex(out, r"(?m)^P\.random_access +measured +[\d.]+ s")
        self.assertIn("A range of an encrypted file costs", out)
        # The end of the output contains the number of conclusions of each paper.
        self.assertRegex(out, r"(?m)^\[P\] +\d+ conclusions: +\d+ hold, +\d+ in part, +\d+ do not, +\d+ open$")
        self.assertRegex(out, r"(?m)^\[W\] .*\(ours\)$")
        record = self.record()
        self.assertEqual(record["schema"], 1)
        self.assertEqual(record["options"]["quick"], True)
        self.assertEqual(record["options"]["keys"], ["p.random"])
        self.assertIsNone(record["machine"]["gpu"])
        self.assertTrue(record["machine"]["cpu"])
        self.assertRegex(record["date"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        (experiment,) = record["experiments"]
        self.assertEqual((experiment["key"], experiment["status"]), ("P.random_access", "measured"))
        (panel,) = experiment["result"]["panels"]
        for series in panel["series"]:
            self.assertEqual(len(series["values"]), len(panel["x"]["values"]))
            for value, (low, high) in zip(series["values"], series["spread"]):
                self.assertTrue(0 < low <= value <= high, series)
        # The page contains the record, and no other file remains.
        self.assertIn(b"P.random_access", self.read("out/report.html"))
        self.assertEqual(sorted(os.listdir(self.path("out"))), ["record.json", "report.html"])
        self.assertEqual(os.listdir(self.directory), ["out"])

        with self.subTest("an existing record is kept"):
            message = self.refused(EXISTS, "out/record.json|--resume|-f", "lab", "run", "-o", "out")
            self.assertEqual(message.stdout, b"")
        with self.subTest("the page again"):
            self.lab("report", "out/record.json", "-o", "page.html")
            self.assertEqual(self.read("page.html"), self.read("out/report.html"))
        with self.subTest("nothing left to resume"):
            before = self.read("out/record.json")
            self.lab("run", "--resume", "-o", "out")
            self.assertEqual(self.read("out/record.json"), before)
            self.lab("run", "--quick", "--resume", "-o", "out")
            slow = json.loads(before)
            slow["options"]["quick"] = False
            self.write("out/record.json", json.dumps(slow).encode())
            self.refused(ARGUMENT, "--quick|-f", "lab", "run", "--quick", "--resume", "-o", "out")
            self.write("out/record.json", before)
        with self.subTest("again, with another build"):
            environment = {"WARPAES_COMMIT": "0123abcd", "WARPAES_DIRTY": "1"}
            self.lab("run", "P.random", "--resume", "-o", "out", env=environment)
            again = self.record()
            self.assertEqual(again["experiments"][0]["commit"], "0123abcd+")
            self.assertEqual(again["commit"], record["commit"])
            self.assertEqual(again["seconds"], again["experiments"][0]["seconds"])
            self.refused(ARGUMENT, "KEY|N.tables", "lab", "run", "N.tables", "--resume", "-o", "out")
        with self.subTest("another machine's record"):
            record["machine"]["cpu"] = "another"
            self.write("out/record.json", json.dumps(record).encode())
            self.refused(ARGUMENT, "--resume|another machine", "lab", "run", "--resume", "-o", "out")

    def test_judge(self):
        self.run_quickly("N")
        text = self.lab("judge", "out/record.json")
        self.assertRegex(text, r"(?m)^open +N\.four-tables: Four tables are 63 %")
        self.assertIn("Not measured in this record: N.implementations was left out", text)
        said = json.loads(self.lab("judge", "out/record.json", "--json"))
        self.assertEqual([t["paper"] for t in said["tallies"]], list(PAPERS))
        kinds = {claim["kind"] for claim in said["claims"]}
        self.assertEqual(kinds, {"conclusion", "figures", "unmeasured"})
        self.assertGreaterEqual(sum(claim["paper"] != "W" for claim in said["claims"]), 87)
        keys = {e["key"] for e in json.loads(self.lab("list", "--json"))}
        for claim in said["claims"]:
            self.assertTrue(claim["experiment"] in keys or (claim["kind"] == "unmeasured" and claim["rule"]), claim)

    def test_where_a_page_goes(self):
        """A link stays a link, FIFOs and devices are written to, and - is standard output. None of these is
        replaced."""
        self.run_quickly("N")
        page = self.lab("report", "out/record.json", "-o", "-")
        self.assertTrue(page.startswith("<!DOCTYPE html>"))
        self.assertFalse(os.path.lexists(self.path("-")))
        # The folder contains links, so that a concurrent build may replace these files.
        os.symlink("/dev/stdout", self.path("stdout"))
        self.assertEqual(self.lab("report", "out/record.json", "-o", "stdout"), page)
        for there in (True, False):
            with self.subTest("a link", leads_to_a_file=there):
                os.makedirs(self.path("elsewhere"), exist_ok=True)
                if there:
                    self.write("elsewhere/page.html", b"before")
                else:
                    os.remove(self.path("elsewhere/page.html"))
                    os.remove(self.path("link.html"))
                os.symlink("elsewhere/page.html", self.path("link.html"))
                self.lab("report", "out/record.json", "-o", "link.html")
                self.assertTrue(os.path.islink(self.path("link.html")))
                self.assertEqual(self.read("elsewhere/page.html").decode(), page)
        with self.subTest("open files"):
            # The descriptor has the same position as in `(echo before; warpaes lab report … -o NAME) > page.html`.
            os.symlink("/dev/fd/1", self.path("link to the descriptor"))
            for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "stdout", "link to the descriptor"):
                with open(self.path("both.html"), "wb") as both:
                    both.write(b"before")
                    both.flush()
                    command = [WARPAES, "lab", "report", "out/record.json", "-o", name]
                    subprocess.run(command, cwd=self.directory, stdout=both, check=True, timeout=60)
                self.assertEqual(self.read("both.html").decode(), "before" + page, name)
        with self.subTest("a name that another user could plant"):
            self.write("victim", b"kept")
            os.symlink("victim", self.path("page.html.new"))
            self.write("page.html", b"before")
            os.chmod(self.path("page.html"), 0o600)
            self.lab("report", "out/record.json", "-o", "page.html")
            self.assertEqual((self.read("victim"), self.read("page.html").decode()), (b"kept", page))
            self.assertEqual(stat.S_IMODE(os.stat(self.path("page.html")).st_mode), 0o600)
        with self.subTest("a link to itself"):
            os.symlink("circle", self.path("circle"))
            self.refused(WRITE, "circle", "lab", "report", "out/record.json", "-o", "circle")
            self.assertTrue(os.path.islink(self.path("circle")))
        with self.subTest("no name"):
            for command in ("report", "submit"):
                self.refused(ARGUMENT, "-o: the name is empty", "lab", command, "out/record.json", "-o", "")
        with self.subTest("a FIFO"):
            os.mkfifo(self.path("fifo"))
            with open(self.path("read"), "wb") as read:
                reader = subprocess.Popen(["cat", self.path("fifo")], stdout=read)
                try:
                    self.lab("report", "out/record.json", "-o", "fifo")
                    self.assertEqual(reader.wait(timeout=60), 0)
                finally:
                    reader.kill()
                    reader.wait()
            self.assertEqual(self.read("read").decode(), page)
            self.assertTrue(stat.S_ISFIFO(os.stat(self.path("fifo")).st_mode))
        with self.subTest("a device"):
            os.symlink("/dev/null", self.path("null"))
            self.lab("report", "out/record.json", "-o", "null")
            self.assertTrue(stat.S_ISCHR(os.stat(self.path("null")).st_mode))
            os.symlink("/dev/full", self.path("full"))
            self.refused(WRITE, "full", "lab", "report", "out/record.json", "-o", "full")
            self.assertTrue(stat.S_ISCHR(os.stat(self.path("full")).st_mode))
        self.assertEqual([name for name in os.listdir(self.directory) if name.endswith(".new")], [])

    def test_a_reader_that_has_read_enough(self):
        self.run_quickly("N")
        for arguments in (["judge", "--json", "out/record.json"], ["report", "out/record.json", "-o", "-"]):
            with self.subTest(arguments[0]):
                reading, writing = os.pipe()
                command = [WARPAES, "lab", *arguments]
                run = subprocess.Popen(command, cwd=self.directory, stdout=writing, stderr=subprocess.PIPE)
                os.close(writing)
                os.read(reading, 100)
                os.close(reading)
                _, said = run.communicate(timeout=60)
                self.assertEqual((said, run.returncode), (b"", -signal.SIGPIPE))

    def test_what_a_killed_run_left_is_removed_by_the_next(self):
        command = [WARPAES, "lab", "run", "P.random_access", *self.quick("killed")]
        run = subprocess.Popen(command, cwd=self.directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 60
        while not list(Path(self.directory).glob("warpaes-lab-*/.lock")):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        run.kill()
        run.communicate(timeout=60)
        left = list(Path(self.directory).glob("warpaes-lab-*"))
        if not left:
            self.skipTest("the run ended before the signal; a slower machine runs this test")
        self.run_quickly("N")
        self.assertEqual(list(Path(self.directory).glob("warpaes-lab-*")), [])

    def test_what_needs_a_gpu_says_so(self):
        out = self.run_quickly("N")
        self.assertIn("left out", out)
        for experiment in self.record()["experiments"]:
            self.assertEqual(experiment["status"], "left_out")
            self.assertIn("--no-gpu", experiment["reason"])

    def test_interrupt_and_resume(self):
        command = [WARPAES, "lab", "run", "P.random_access", "H", *self.quick("out")]
        run = subprocess.Popen(command, cwd=self.directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            deadline = time.monotonic() + 60
            while not os.path.exists(self.path("out/record.json")):
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            run.send_signal(signal.SIGINT)
            out, err = run.communicate(timeout=60)
        finally:
            run.kill()
        self.assertEqual(run.returncode, -signal.SIGINT, err)
        self.assertIn(b"`warpaes lab run --resume -o out` goes on", out)
        states = [e["status"] for e in self.record()["experiments"]]
        self.assertGreater(len(states), 1)
        self.assertEqual(states[-1], "not_run")
        self.assertEqual(os.listdir(self.directory), ["out"])

        out = json.loads(self.lab("run", "--resume", "-o", "out", "--json"))
        self.assertEqual([e["status"] for e in out["experiments"]], ["measured"] + ["left_out"] * (len(states) - 1))
        self.assertEqual(out, self.record())
        self.assertEqual(out["options"]["keys"], ["P.random_access", "H"])
        self.assertGreater(out["seconds"], 0)

    def test_a_run_that_is_to_end_in_time(self):
        # P.random_access runs, because it is the first experiment. P.modes would exceed the remaining time.
        command = [WARPAES, "lab", "run", "P.random_access", "P.modes", *self.quick("out"), "--seconds", "0.5"]
        run = subprocess.run(command, cwd=self.directory, capture_output=True, timeout=60, check=False)
        self.assertEqual(run.returncode, CANCELLED, run.stderr)
        self.assertIn(b"`warpaes lab run --resume -o out` goes on", run.stdout)
        self.assertEqual({e["key"]: e["status"] for e in self.record()["experiments"]}["P.modes"], "not_run")
        self.lab("run", "--resume", "-o", "out", "--seconds", "1000")
        self.assertEqual([e["status"] for e in self.record()["experiments"]], ["measured"] * 2)
        for wrong in ("0", "-1", "x"):
            self.refused(ARGUMENT, "--seconds", "lab", "run", "--seconds", wrong)

    def test_a_quick_run_answers_the_first_question_up_to_256_mib(self):
        self.run_quickly("W.worth")
        (entry,) = self.record()["experiments"]
        if entry["status"] == "left_out":
            self.skipTest(entry["reason"])
        (panel,) = entry["result"]["panels"]
        self.assertEqual(panel["x"]["values"][-1], 256 << 20)

    def test_compare(self):
        series = {"name": "ours", "role": "measured", "values": [2, 4], "spread": [[1.9, 2.1], [3, 5]]}
        published = {"name": "paper", "role": "published", "values": [1, None], "spread": []}
        panel = {
            "title": "By size",
            "kind": "lines",
            "x": {"name": "input", "unit": "B", "scale": "log", "values": [1024, 1536]},
            "y": {"name": "throughput", "unit": "GB/s", "scale": "linear", "values": []},
            "series": [series, published],
            "note": "",
        }
        result = {"panels": [panel], "facts": [], "verdicts": [], "notes": []}
        experiment = {"key": "G.x", "paper": "G", "citation": "", "title": "", "question": "?", "status": "measured"}
        experiment.update(reason="", commit="abc", seconds=1, result=result)
        record = self.lab("run", "N", "--no-gpu", "--quick", "-o", "a", "--json")
        record = json.loads(record)
        record["experiments"] = [experiment]
        self.write("a.json", json.dumps(record).encode())
        series.update(values=[3, 4.1], spread=[[2.9, 3.1], [3, 5]])
        self.write("b.json", json.dumps(record).encode())

        out = json.loads(self.lab("compare", "a.json", "b.json", "--json"))
        self.assertEqual(
            [(f["place"], f["a"], f["b"], f["ratio"], f["differs"]) for f in out["figures"]],
            [("1 KiB", 2, 3, 1.5, True), ("1536 B", 4, 4.1, 4.1 / 4, False)],
        )
        self.assertEqual((out["only_a"], out["only_b"]), (0, 0))
        text = self.lab("compare", "a.json", "b.json")
        self.assertRegex(text, r"ours, 1 KiB +2 +3 GB/s +1\.50 \*\n")
        self.assertRegex(text, r"ours, 1536 B +4 +4\.1 GB/s +1\.02\n")
        self.assertIn("2 figures in both, 1 of them", text)
        self.assertRegex(text, r"^A: .*\d{4}-\d\d-\d\d, --quick, commit .*\nB: ")

    def test_compare_takes_any_number_of_records(self):
        committed = str(next((ROOT / "bench/results/lab").glob("nvidia-h200-*.json")))
        record = json.loads(Path(committed).read_text())
        (entry,) = (e for e in record["experiments"] if e["key"] == "N.implementations")
        (panel,) = (p for p in entry["result"]["panels"] if p["title"] == "Thirteen implementations")
        (series,) = (s for s in panel["series"] if s["name"] == "speed")
        series["values"] = [100] * 13  # all ratios are 1
        series["spread"] = []
        self.write("same.json", json.dumps(record).encode())
        record["experiments"] = []
        self.write("nothing.json", json.dumps(record).encode())

        out = json.loads(self.lab("compare", committed, "same.json", "nothing.json", "--json"))
        self.assertNotIn("figures", out)
        self.assertEqual([r["machine"] for r in out["records"]], ["NVIDIA H200"] * 3)
        rows = {row["id"]: row for row in out["conclusions"]}
        self.assertEqual(rows["N.constant-tables"]["holds"], ["yes", "no", "open"])
        self.assertIs(rows["N.constant-tables"]["agrees"], False)
        judged = json.loads(self.lab("judge", committed, "--json"))["claims"]
        self.assertEqual(
            {c["id"]: c["holds"] for c in judged if c["kind"] == "conclusion"},
            {name: row["holds"][0] for name, row in rows.items()},
        )
        self.assertEqual({row["holds"][2] for row in rows.values()}, {"open"})
        self.assertIsNone(rows["P.streams"]["agrees"] if rows["P.streams"]["holds"][0] == "open" else None)
        text = self.lab("compare", committed, "same.json", "nothing.json")
        self.assertRegex(text, r"(?m)^ +A +B +C *$")
        self.assertRegex(text, r"(?m)^N\.constant-tables +yes +no +open +! ")
        self.assertRegex(text, r"\d+ conclusions; \d+ are decided by two records or more, \d+ of them alike\n$")

        self.lab("report", committed, "same.json", "-o", "page.html")
        page = self.read("page.html").decode()
        self.assertEqual(page.count("The conclusions by machine</h2>"), 1)
        self.assertIn("<tr><td>N.constant-tables</td><td>yes</td><td>no</td></tr>", page)

    def test_submit(self):
        committed = next((ROOT / "bench/results/lab").glob("nvidia-h200-*.json"))
        record = json.loads(committed.read_text())
        self.write("record.json", committed.read_bytes())
        self.assertIn("bench/results/lab/submitted", self.lab("submit", "record.json"))
        (name,) = (n for n in os.listdir(self.directory) if n.startswith("nvidia-h200-20"))
        self.assertRegex(name, r"^nvidia-h200-\d{4}-\d\d-\d\dt\d{6}z\.json$")
        text = self.read(name)
        self.assertLess(len(text), len(committed.read_bytes()) * 2 / 3)
        sent = json.loads(text)
        self.assertEqual((sent["options"]["disk"], sent["options"]["memory"]), ("", ""))
        self.assertEqual(sent["machine"], record["machine"] | {"gpu": sent["machine"]["gpu"]})
        self.assertEqual(self.lab("submit", name, "-o", "-").encode(), text, "a submission of a submission")

        def verdicts(path):
            return {c["id"]: c.get("holds") for c in json.loads(self.lab("judge", path, "--json"))["claims"]}

        self.assertEqual(verdicts(name), verdicts("record.json"))
        before = sorted(os.listdir(self.directory))
        for change, words in (
            ({"commit": record["commit"] + "+"}, "uncommitted changes|stash"),
            ({"commit": ""}, "no known commit|clone"),
            ({"experiments": []}, "no experiment was measured|warpaes lab run"),
            (
                {"experiments": [record["experiments"][0] | {"status": "failed", "reason": "wrong output"}]},
                "N.implementations failed|wrong output|--resume",
            ),
            ({"experiments": [record["experiments"][0] | {"commit": "abc"}]}, "N.implementations|'abc'"),
        ):
            self.write("wrong.json", json.dumps(record | change).encode())
            with self.subTest(words):
                self.refused(FORMAT, f"'wrong.json' cannot be submitted|{words}", "lab", "submit", "wrong.json")
        self.assertEqual(sorted({*os.listdir(self.directory)} - {"wrong.json"}), before)

    def test_submitted_records_are_what_submit_writes(self):
        folder = ROOT / "bench/results/lab/submitted"
        self.assertTrue((folder / "README.md").exists())
        for path in sorted(folder.glob("*.json")):
            with self.subTest(path.name):
                self.assertEqual(self.lab("submit", str(path), "-o", "-"), path.read_text())
                self.lab("submit", str(path))
                self.assertTrue(os.path.exists(self.path(path.name)), "its name is that of a different machine or date")
                self.assertLess(path.stat().st_size, 400_000)

    def test_bad_arguments(self):
        self.write("text", b"text")
        self.write("list.json", b"[1, 2]")
        self.write("empty.json", b"")
        self.write("foreign.json", b'{"schema": 1, "experiments": [], "name": "something else"}')
        self.write("other.json", b'{"schema": 99, "experiments": []}')
        for status, words, arguments in (
            (ARGUMENT, "list, run, report, judge, compare or submit", []),
            (ARGUMENT, "'walk'|warpaes lab --help", ["walk"]),
            (ARGUMENT, "--walk", ["list", "--walk"]),
            (ARGUMENT, "KEY|'X'|warpaes lab list", ["run", "X", "-o", "out"]),
            (ARGUMENT, "KEY|''", ["run", "", "-o", "out"]),
            (ARGUMENT, "--device|--no-gpu", ["run", "--device", "0", "--no-gpu"]),
            (ARGUMENT, "--threads", ["run", "--threads", "0"]),
            (ARGUMENT, "--disk", ["run", "--disk", "absent"]),
            (BACKEND, "--device", ["run", "--device", "1000", "-o", "out"]),
            (NOT_FOUND, "out/record.json", ["run", "--resume", "-o", "out"]),
            (WRITE, "--output|text", ["run", "N", "--no-gpu", "-o", "text/out"]),
            (ARGUMENT, "RECORD", ["report"]),
            (NOT_FOUND, "absent.json", ["report", "absent.json"]),
            (FORMAT, "'text'|not a record", ["report", "text"]),
            (FORMAT, "list.json", ["report", "list.json"]),
            (FORMAT, "other.json|schema", ["report", "other.json"]),
            (FORMAT, "empty", ["report", "empty.json"]),
            (FORMAT, "foreign.json|missing", ["judge", "foreign.json"]),
            (NOT_FOUND, "absent.json", ["judge", "absent.json"]),
            (ARGUMENT, "B", ["compare", "text"]),
            (FORMAT, "text", ["compare", "text", "text"]),
            (ARGUMENT, "RECORD", ["submit"]),
            (NOT_FOUND, "absent.json", ["submit", "absent.json"]),
            (FORMAT, "'text'|not a record", ["submit", "text"]),
        ):
            with self.subTest(arguments=arguments):
                self.refused(status, words, "lab", *arguments)

    def test_help(self):
        for arguments in ([], ["list"], ["run"], ["report"], ["judge"], ["compare"], ["submit"]):
            self.assertIn("Usage: warpaes lab", self.lab(*arguments, "--help"))


if __name__ == "__main__":
    unittest.main()
