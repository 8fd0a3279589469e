"""Tests the lab's page: its text and, in a headless Chromium, its drawings on a phone, on a desktop and on paper.
Without a browser, the second part is skipped.

To run it, use `apt-get install chromium` (Debian) or set CHROMIUM=/path/to/chromium. `tools/setup test` does not
install a browser, because a browser is larger than all other packages together. If $SCREENSHOTS names a folder, a PDF
and screenshots of both widths, light and dark, are stored there.
"""

from __future__ import annotations

import copy
import html
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import browser

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
import lab_pages

WARPAES = os.environ["WARPAES"]
SAMPLE = Path(__file__).with_name("sample_record.json")
RECORDS = Path(__file__).parents[2] / "bench/results/lab"
WIDTHS = (390, 768, 1440)


def page_of(record: dict, folder: Path, name: str = "page", others: list[Path] = ()) -> Path:
    source, page = folder / f"{name}.json", folder / f"{name}.html"
    source.write_text(json.dumps(record))
    subprocess.run([WARPAES, "lab", "report", source, *others, "-o", page], check=True, timeout=30)
    return page


def embedded(page: Path, name: str = "record") -> dict:
    (found,) = re.findall(rf'<script type="application/json" id="{name}">(.*?)</script>', page.read_text(), re.S)
    return json.loads(found)


def measured(record: dict) -> dict:
    """Return a record without the papers' sentences and without the verdicts, which the page adds."""
    out = copy.deepcopy(record)
    out["machine"].pop("virtual", None)
    for experiment in out["experiments"]:
        experiment["result"].pop("verdicts")
        for name in ("citation", "title", "question", "load", "clocks", "power", "temperature"):
            experiment.pop(name, None)
    return out


def panels_of(record: dict) -> list[tuple[str, dict]]:
    """Return every panel with its ID in the page."""
    return [
        (f"{experiment['key']}.{i}", panel)
        for experiment in record["experiments"]
        for i, panel in enumerate(experiment["result"]["panels"], 1)
    ]


def figures_of(panel: dict) -> int:
    """Return the number of figures to draw for a panel."""
    log = (panel["z"] if panel["kind"] == "surface" else panel["y"])["scale"] == "log"
    values = [value for series in panel["series"] for value in series["values"]]
    return sum(value is not None and (value > 0 or not log) for value in values)


def plots_of(panel: dict) -> int:
    """Return the number of drawings. A surface has one drawing for each series, and a legend."""
    return len(panel["series"]) + 1 if panel["kind"] == "surface" else 1


def extremes(sample: dict) -> dict:
    """Return a record with values that are difficult to plot, in a separate experiment."""
    record = copy.deepcopy(sample)
    experiment = next(one for one in record["experiments"] if one["status"] == "measured")
    record["machine"].update(gpu=None, cpu="", instructions=[])
    record["options"].update(gpu=-1, disk="", keys=["N", "G.tables"])
    long = "a-name-without-any-place-to-break-it-that-is-longer-than-a-phone-is-wide-and-goes-on-and-on"

    def axis(scale: str, places: list, unit: str = "") -> dict:
        return {"name": "x", "unit": unit, "scale": scale, "labels" if scale == "category" else "values": places}

    def series(values: list, role: str = "measured", spread: list = ()) -> dict:
        return {"name": f"{role} <i>&", "role": role, "values": values, "spread": list(spread)}

    def panel(kind: str, x: dict, y: dict, *rows: dict, z: dict | None = None) -> dict:
        title = f"{kind} {len(experiment['result']['panels'])}"
        out = {"title": title, "kind": kind, "x": x, "y": y, "series": list(rows), "note": ""}
        return {**out, "z": z} if z else out

    experiment["result"]["panels"] = []
    for made in (
        ("bars", axis("category", ["a", long]), axis("linear", []), series([None, None]), series([None, 3], "model")),
        ("bars", axis("category", ["a", "b"]), axis("log", []), series([0, 1e-9], spread=[None, [0, 1e9]])),
        ("bars", axis("category", ["a", "b"]), axis("linear", [], "%"), series([-3, 2]), series([-1, 0], "baseline")),
        ("lines", axis("log", [1, 10], "s"), axis("log", []), series([None, None])),
        ("lines", axis("linear", [5]), axis("linear", []), series([5], spread=[[4, 6]])),
        ("lines", axis("linear", [-1, 0, 1]), axis("log", []), series([1, 0, 5], spread=[[1, 1], None, [0, 9]])),
        ("lines", axis("log", list(range(1, 400))), axis("linear", []), series([x * 1e6 for x in range(1, 400)])),
        (
            "stacked",
            axis("category", ["a", "b"]),
            axis("linear", [], "%"),
            series([None, 120]),
            series([0, 1], "model"),
        ),
        ("surface", axis("category", ["a"]), axis("category", [long]), series([None]), {"z": axis("linear", [])}),
        ("surface", axis("log", [1]), axis("log", [1]), series([7]), {"z": axis("log", [])}),
        ("surface", axis("linear", list(range(40))), axis("linear", [1]), series([1e9] * 40), {"z": axis("log", [])}),
    ):
        *parts, last = made
        keywords = last if "z" in last else {}
        experiment["result"]["panels"].append(panel(*parts, *([] if keywords else [last]), **keywords))
    return record


class Text(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sample = json.loads(SAMPLE.read_text())
        with tempfile.TemporaryDirectory() as folder:
            page = page_of(cls.sample, Path(folder))
            cls.text, cls.shown, cls.summary = page.read_text(), embedded(page), embedded(page, "summary")

    def test_the_sample_has_one_of_everything(self):
        def found(values):
            return set(values)

        panels = [panel for _, panel in panels_of(self.sample)]
        series = [one for panel in panels for one in panel["series"]]
        experiments = self.sample["experiments"]
        self.assertEqual(found(p["kind"] for p in panels), {"bars", "lines", "stacked", "surface"})
        self.assertEqual(found(s["role"] for s in series), {"published", "measured", "baseline", "model"})
        self.assertEqual(found(e["status"] for e in experiments), {"measured", "left_out", "failed", "not_run"})
        verdicts = [v["holds"] for e in experiments for v in e["result"]["verdicts"]]
        self.assertEqual(found(verdicts), {"yes", "partly", "no", "open"})
        self.assertTrue(any(None in s["values"] for s in series))
        self.assertTrue(any(s["spread"] for s in series))

    def test_the_record_is_in_the_page_and_cannot_leave_its_script(self):
        (found,) = re.findall(r'<script type="application/json" id="record">(.*?)</script>', self.text, re.S)
        self.assertEqual(measured(self.shown), measured(self.sample))
        self.assertIn("</script><b>", SAMPLE.read_text())  # the subject of this test
        self.assertIsNone(re.search("[<>&\u2028\u2029]", found))
        self.assertEqual(self.text.count("</script>"), 3)

    def test_verdicts_are_those_of_today_and_readable_without_javascript(self):
        plain = html.unescape(self.text.split('<main id="plain">')[1].split("</main>")[0])
        conclusions = [claim for claim in self.summary["claims"] if claim["kind"] == "conclusion"]
        self.assertGreater(len(conclusions), 60)
        for claim in conclusions:
            self.assertIn(claim["says"], plain)
            self.assertIn(claim["sentence"], plain)
            for name in ("rule", "original", "translation", "place"):
                self.assertIn(claim.get(name, ""), plain)
        for sentence in (*self.summary["findings"], *self.summary["worth"]["sentences"]):
            self.assertIn(sentence, plain)
        said = {v["claim"]: v for e in self.shown["experiments"] for v in e["result"]["verdicts"]}
        for claim in conclusions:
            if claim["id"] in said:
                self.assertEqual(said[claim["id"]]["sentence"], claim["sentence"])

    def test_committed_pages_are_judged_by_todays_rules(self):
        with tempfile.TemporaryDirectory() as folder:
            for page in sorted((RECORDS.parents[2] / "docs").glob("lab-*.html")):
                record = embedded(page)
                others = [
                    path for name, (path, _) in lab_pages.every_machine().items() if name != lab_pages.name_of(record)
                ]
                anew = page_of(record, Path(folder), page.stem, others)
                self.assertEqual(embedded(page, "summary"), embedded(anew, "summary"), "run `make docs`")

    def test_it_needs_nothing_else(self):
        # The links lead to papers. The page loads no other resource.
        links = {source["link"] for source in self.summary["sources"]} - {""}
        self.assertEqual(set(re.findall(r"https?://[^\s\"'<\\]+", self.text)) - links, {"http://www.w3.org/2000/svg"})
        self.assertNotRegex(self.text, r"<link|<img|<iframe|@import|url\(|\bfetch\(|XMLHttpRequest|<script[^>]*\bsrc")
        self.assertIn("default-src 'none'", self.text)

    def test_what_a_document_has(self):
        self.assertTrue(self.text.startswith('<!DOCTYPE html>\n<html lang="en">'))
        self.assertIn('<meta charset="utf-8">', self.text)
        self.assertIn('<meta name="viewport"', self.text)
        self.assertIn("<noscript>", self.text)
        (title,) = re.findall("<title>(.*)</title>", self.text)
        self.assertEqual(title, "warpaes lab: NVIDIA H200, 2026-11-21")

    def test_a_name_of_a_machine_is_no_markup(self):
        record = copy.deepcopy(self.sample)
        record["machine"]["gpu"]["name"] = "</title><b>{{record}}&"
        with tempfile.TemporaryDirectory() as folder:
            text = page_of(record, Path(folder)).read_text()
        (title,) = re.findall("<title>(.*)</title>", text)
        self.assertEqual(html.unescape(title), "warpaes lab: </title><b>{{record}}&, 2026-11-21")

    def test_what_is_no_record_has_no_page(self):
        for name, text in (("no JSON", "{"), ("schema", json.dumps({**self.sample, "schema": 2})), ("list", "[]")):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                source = Path(folder) / "record.json"
                source.write_text(text)
                run = subprocess.run(
                    [WARPAES, "lab", "report", source, "-o", "/dev/null"], capture_output=True, timeout=30
                )
                self.assertNotEqual(run.returncode, 0)
                self.assertIn(b"record.json", run.stderr)


# Makes the browser count in each panel: the drawings, the marks, hidden text, and letters that are too small, cut off
# or overlapping.
COUNT = """(() => {
  const out = {};
  for (const box of document.querySelectorAll("figure.panel")) {
    const plots = [...box.querySelectorAll(".plot > svg")], small = [], cut = [], clashes = [];
    for (const plot of plots) {
      const frame = plot.getBoundingClientRect(), texts = [...plot.querySelectorAll("text")];
      const places = texts.map(text => text.getBoundingClientRect());
      texts.forEach((text, i) => {
        const at = places[i], scale = frame.width / plot.viewBox.baseVal.width;
        const size = parseFloat(text.getAttribute("font-size")) * scale;
        if (size < 9.4) small.push(text.textContent);
        const beside = at.left < frame.left - 2 || at.right > frame.right + 2;
        const beyond = at.top < frame.top - 2 || at.bottom > frame.bottom + 2;
        if (beside || beyond) cut.push(text.textContent);
        texts.slice(0, i).forEach((other, o) => {
          const that = places[o];
          const wide = Math.min(at.right, that.right) - Math.max(at.left, that.left);
          const high = Math.min(at.bottom, that.bottom) - Math.max(at.top, that.top);
          if (wide > 1 && high > 4) clashes.push([other.textContent, text.textContent]);
        });
      });
    }
    out[box.id] = {plots: plots.length, marks: box.querySelectorAll(".plot .mark").length, small, cut, clashes,
      labels: plots.filter(plot => plot.getAttribute("aria-hidden") || plot.getAttribute("aria-label")).length,
      cells: box.querySelectorAll("td:not(.quartiles)").length};
  }
  return out;
})()"""


@unittest.skipUnless(
    browser.find(),
    "needs Chromium; machines that have it run this: apt-get install chromium, or set CHROMIUM=/path/to/chromium",
)
class Drawn(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sample = json.loads(SAMPLE.read_text())
        cls.folder = tempfile.TemporaryDirectory()
        cls.page = page_of(cls.sample, Path(cls.folder.name))
        cls.sample = embedded(cls.page)
        cls.browser = browser.Browser(browser.find())

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    def opened(self, width: int, page: Path | None = None, **how) -> browser.Browser:
        self.browser.problems.clear()
        self.browser.open(page or self.page, width, **how)
        return self.browser

    def unfolded(self, width: int, page: Path | None = None, **how) -> browser.Browser:
        window = self.opened(width, page, **how)
        window.value(
            "document.querySelectorAll('details.more').forEach(details => { details.open = true; }); drawAll()"
        )
        return window

    def well(self, window: browser.Browser, width: int) -> None:
        self.assertEqual(window.problems, [])
        self.assertEqual(window.value("document.documentElement.dataset.errors"), "0")
        self.assertLessEqual(window.value("document.documentElement.scrollWidth"), width)

    def all_drawn(self, record: dict, window: browser.Browser) -> None:
        counted = window.value(COUNT)
        self.assertEqual(list(counted), [name for name, _ in panels_of(record)])
        for name, panel in panels_of(record):
            with self.subTest(name, kind=panel["kind"]):
                places = sum(len(series["values"]) for series in panel["series"])
                one = counted[name]
                self.assertEqual(one["plots"], plots_of(panel))
                self.assertEqual(one["labels"], plots_of(panel))
                dense = any(len(series["values"]) > 60 for series in panel["series"]) and panel["kind"] == "lines"
                self.assertEqual(one["marks"], 1 if dense else figures_of(panel))
                self.assertEqual(one["cells"], places)
                self.assertEqual((one["small"], one["cut"], one["clashes"]), ([], [], []))

    def test_every_figure_is_drawn_and_in_a_table(self):
        for width in WIDTHS:
            with self.subTest(width=width):
                window = self.unfolded(width)
                self.well(window, width)
                self.all_drawn(self.sample, window)

    def test_records_of_the_repository(self):
        """The pages in docs/, which `make docs` generates, contain these records."""
        for source in sorted(RECORDS.glob("*.json")):
            record = json.loads(source.read_text())
            if "experiments" not in record:
                continue  # the file is a profile
            page = page_of(record, Path(self.folder.name), source.stem)
            for width in WIDTHS:
                with self.subTest(source.name, width=width):
                    window = self.unfolded(width, page)
                    self.well(window, width)
                    self.all_drawn(embedded(page), window)

    def test_pages_of_the_repository_are_short_and_begin_with_the_answer(self):
        for source in sorted(RECORDS.glob("*.json")):
            record = json.loads(source.read_text())
            if "experiments" not in record or not record["machine"]["gpu"]:
                continue  # the file is a profile, or a record without a GPU, which has a column but no page in docs
            with self.subTest(source.name):
                window = self.opened(1440, page_of(record, Path(self.folder.name), source.stem))
                screens = window.value("document.documentElement.scrollHeight") / 900
                self.assertLessEqual(screens, 0.9 * len(record["experiments"]))
                places = window.value(
                    "['.worth', '.findings', '.tallies', '.machine', 'main article']"
                    ".map(one => document.querySelector(one).getBoundingClientRect().bottom)"
                )
                self.assertLessEqual(places[0], 900, "the first screen says when the GPU is worth it")
                self.assertEqual(places[3:], sorted(places[3:]))
                self.assertLess(max(places[:3]), places[3])
                self.assertLessEqual(len(re.findall(rb"/Type\s*/Page\b", window.pdf())), 30)

    def test_the_first_screen_answers_in_a_line_each_and_marks_where_lines_cross(self):
        source = max(RECORDS.glob("nvidia-h200-*.json"))
        page = page_of(json.loads(source.read_text()), Path(self.folder.name), "answers")
        worth = embedded(page, "summary")["worth"]
        self.assertGreaterEqual(len(worth["answers"]), 3)
        self.assertGreaterEqual(len(worth["crossings"]), 2)
        for width in (390, 1440):
            window = self.opened(width, page)
            self.well(window, width)
            rows = window.value("[...document.querySelectorAll('.answers tbody tr:not(.note)')].map(r => r.innerText)")
            self.assertEqual(len(rows), len(worth["answers"]))
            for row, answer in zip(rows, worth["answers"]):
                self.assertIn(answer["where"], row.replace("\u00a0", " "))
                for other in answer["against"]:
                    expected = f"from {other['from']} on" if other["from"] else "at no size"
                    self.assertIn(expected, row.replace("\u00a0", " "))
            titles = window.value("[...document.querySelectorAll('.worth .crossing title')].map(t => t.textContent)")
            self.assertEqual(len(titles), len(worth["crossings"]))
            if width == 390:  # the answers come before the chart
                tops = window.value(
                    "['.answers', '.chart'].map(one => document.querySelector(one).getBoundingClientRect().top)"
                )
                self.assertLess(*tops)
        self.assertNotIn("A quick run", window.value("document.querySelector('.from').textContent"))
        record = json.loads(source.read_text())
        record["options"]["quick"] = True
        window = self.opened(390, page_of(record, Path(self.folder.name), "quick"))
        text = window.value("document.querySelector('.from').textContent")
        self.assertIn("A quick run: texts up to 1 GiB.", text, "of the sizes that the record has")
        names = {series["name"] for series in worth["series"]}
        self.assertFalse(
            {n for n in names if n.startswith(("aesni", "vaes", "armv8"))}, "phrases instead of names of backends"
        )

    def test_without_a_gpu_the_first_screen_has_another_machines_answers(self):
        record = copy.deepcopy(self.sample)
        record["machine"]["gpu"] = None
        record["experiments"] = [one for one in record["experiments"] if one["key"] != "W.worth"]
        page = page_of(record, Path(self.folder.name), "no_gpu")
        there = embedded(page, "summary")["worth"]["elsewhere"]
        for width in WIDTHS:
            window = self.opened(width, page)
            self.well(window, width)
            text = window.value("document.querySelector('.regions p').textContent")
            self.assertEqual(text, f"This machine has no GPU. On another machine, {there['machine']}:")
            rows = window.value("document.querySelectorAll('.regions tbody tr:not(.note)').length")
            self.assertEqual(rows, len(there["answers"]))
            self.assertGreaterEqual(rows, 3)

    def test_the_tally_names_the_authors_of_every_paper(self):
        page = page_of(self.sample, Path(self.folder.name), "tally")
        rows = self.opened(1440, page).value(
            "[...document.querySelectorAll('.tallies tbody th')].map(one => one.textContent)"
        )
        self.assertEqual(len(rows), 11)  # nine papers, their sum, and our own conclusions
        for row in rows[:9]:
            self.assertRegex(row, r"^\[[A-Z]\] \w")
        self.assertRegex(page.read_text(), r"<li>\[B\] O\. Hajihassani and others: \d+ hold")

    def test_several_records_are_a_table_of_machines(self):
        others = []
        for name in ("a GPU <b>", "another"):
            record = copy.deepcopy(self.sample)
            record["machine"]["gpu"]["name"] = name
            record["options"]["quick"] = name == "another"
            others.append(Path(self.folder.name, f"{len(others)}.json"))
            others[-1].write_text(json.dumps(record))
        page = page_of(self.sample, Path(self.folder.name), "several", others)
        matrix = embedded(page, "summary")["matrix"]
        for width in WIDTHS:
            window = self.opened(width, page)
            window.value("document.querySelectorAll('.matrix details').forEach(one => { one.open = true; })")
            self.well(window, width)
            rows = window.value(
                "[...document.querySelectorAll('.matrix details tbody tr')].map(r => r.querySelectorAll('td').length)"
            )
            self.assertEqual(rows, [3] * len(matrix["conclusions"]))
            heads = window.value(
                "[...document.querySelectorAll('.matrix details th[scope=col]')].map(h => h.innerText)"
            )
            self.assertRegex(" ".join(heads), r"a GPU <b>[^,]*another[^,]*, quick")
        self.assertIsNone(self.opened(1440).value("document.querySelector('.matrix')"), "one record")

    def test_without_javascript_verdicts_are_there(self):
        other = copy.deepcopy(self.sample)
        other["machine"]["gpu"]["name"] = "another GPU with a name that is as long as names of GPUs are"
        Path(self.folder.name, "other.json").write_text(json.dumps(other))
        page = page_of(self.sample, Path(self.folder.name), "plain", [Path(self.folder.name, "other.json")])
        self.browser.call("Emulation.setScriptExecutionDisabled", value=True)
        try:
            self.browser.problems.clear()
            self.browser.open(page, 390)
            text = self.browser.value("document.body.innerText")
            self.assertIn("The conclusions by machine", text)
            self.assertLessEqual(self.browser.value("document.documentElement.scrollWidth"), 390)
            self.assertIn("When is the GPU worth it here?", text)
            self.assertIn("Four tables beat one", text)
        finally:
            self.browser.call("Emulation.setScriptExecutionDisabled", value=False)

    def test_an_experiment_of_another_build_says_so(self):
        window = self.opened(390)
        lines = "[...document.querySelectorAll('.key-line')].map(p => p.textContent).filter(t => t.includes('commit'))"
        (line,) = window.value(lines)
        self.assertRegex(line, "P.staging.*commit 0123456789ab$")

    def test_extremes(self):
        record = extremes(self.sample)
        page = page_of(record, Path(self.folder.name), "extremes")
        for width in WIDTHS:
            with self.subTest(width=width):
                window = self.unfolded(width, page)
                self.well(window, width)
                self.all_drawn(embedded(page), window)

    def test_a_window_that_changes_is_drawn_anew(self):
        window = self.unfolded(1440)
        window.call("Emulation.setDeviceMetricsOverride", width=390, height=900, deviceScaleFactor=1, mobile=True)
        window.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        self.well(window, 390)
        self.all_drawn(self.sample, window)

    def test_nothing_is_skipped_in_silence(self):
        window = self.unfolded(1440)
        text = window.value("document.body.innerText").replace("\u00a0", " ")
        contents = window.value("document.querySelector('nav').innerText")
        for experiment in self.sample["experiments"]:
            with self.subTest(experiment["key"]):
                self.assertIn(experiment["title"], contents)
                self.assertIn(experiment["question"], text)
                first = experiment["reason"].split("\u2028")[0].strip()
                self.assertGreaterEqual(text.count(first), 2, "a reason appears at the top and in its place")
                for verdict in experiment["result"]["verdicts"]:
                    self.assertIn(verdict["sentence"], text.replace("\u00a0", " "))
                for note in experiment["result"]["notes"]:
                    self.assertIn(note, text)
                for fact in experiment["result"]["facts"]:
                    self.assertIn(fact["name"], text)
        marks = window.value(
            "[...document.querySelectorAll('nav li')].map(li => li.querySelectorAll('[aria-label]').length)"
        )
        self.assertEqual(marks, [len(e["result"]["verdicts"]) for e in self.sample["experiments"]])

    def test_a_reason_that_many_share_is_said_once(self):
        record = copy.deepcopy(self.sample)
        for experiment in record["experiments"]:
            if experiment["status"] in ("measured", "left_out"):
                experiment.update(status="left_out", reason="there is no GPU", seconds=0)
                experiment["result"] = {"panels": [], "facts": [], "verdicts": [], "notes": []}
        keys = [experiment["key"] for experiment in record["experiments"] if experiment["status"] == "left_out"]
        self.assertGreater(len(keys), 2)
        window = self.opened(390, page_of(record, Path(self.folder.name), "shared"))
        self.well(window, 390)
        self.assertEqual(window.value("document.body.innerText").count("there is no GPU"), 1)
        linked = (
            "[...document.querySelectorAll('#others li')].map(li => [...li.querySelectorAll('a')].map(a => a.hash))"
        )
        self.assertIn([f"#{key}" for key in keys], window.value(linked))
        why = "[...document.querySelectorAll('article .callout a')].map(a => a.closest('article').id + a.hash)"
        self.assertEqual(window.value(why), [f"{key}#others" for key in keys])

    def test_the_papers_words_are_there_and_the_end_says_what_was_wrong(self):
        window = self.opened(1440)
        window.value("document.querySelectorAll('details').forEach(details => { details.open = true; })")
        text = window.value("document.body.innerText").replace("\u00a0", " ")
        summary = embedded(self.page, "summary")
        said = {v["claim"] for e in self.sample["experiments"] for v in e["result"]["verdicts"]}
        for claim in summary["claims"]:
            if claim["id"] in said and "original" in claim:
                for name in ("original", "translation", "rule", "limit"):
                    self.assertIn(claim.get(name, ""), text)
        for one in summary["corrections"]:
            self.assertIn(one["was"], text)
        for source in summary["sources"][:-1]:
            self.assertIn(source["reference"], text)
        self.well(window, 1440)

    def test_links_and_names(self):
        window = self.opened(1440)
        missing = (
            "[...document.links].filter(a => a.hash && !document.getElementById(a.hash.slice(1))).map(a => a.href)"
        )
        self.assertEqual(window.value(missing), [])
        names = window.value("[...document.querySelectorAll('[id]')].map(e => e.id)")
        self.assertEqual(sorted(names), sorted(set(names)))
        levels = window.value("[...document.querySelectorAll('main h2, main h3, main h4')].map(h => +h.tagName[1])")
        self.assertTrue(all(after - before <= 1 for before, after in zip(levels, levels[1:])), "no level is skipped")

    def test_by_keyboard(self):
        window = self.opened(1440)
        reached = []
        for _ in range(160):
            window.press("Tab", 9)
            reached.append(
                window.value(
                    "(e => [e.tagName, e.hash || '', getComputedStyle(e).outlineStyle])(document.activeElement)"
                )
            )
            if window.value("document.activeElement.matches('.figures > summary')"):
                break
        self.assertEqual(reached[0][:2], ["A", "#main"])
        self.assertEqual({style for _, _, style in reached}, {"solid"}, "the focused element is visible")
        for experiment in self.sample["experiments"]:
            self.assertIn(f"#{experiment['key']}", [where for _, where, _ in reached])
        window.press("Enter", 13)
        self.assertTrue(window.value("document.activeElement.parentElement.open"))
        window.press("Tab", 9)
        self.assertEqual(window.value("document.activeElement.className"), "scroll")

    def test_tables_scroll_in_boxes_of_their_own(self):
        window = self.opened(390)
        window.value("document.querySelectorAll('details').forEach(details => { details.open = true; })")
        self.well(window, 390)
        self.assertTrue(
            window.value("[...document.querySelectorAll('.scroll')].some(s => s.scrollWidth > s.clientWidth)")
        )

    def test_on_paper_tables_are_open(self):
        window = self.opened(1440)
        closed = "document.querySelectorAll('details:not([open])').length"
        before = window.value(closed)
        window.value("dispatchEvent(new Event('beforeprint'))")
        open_to_all = "document.querySelectorAll('details.figures:not([open])').length"
        hidden = window.value("document.querySelectorAll('details.more:not([open]) details').length")
        self.assertEqual((before > 0, window.value(open_to_all)), (True, hidden))
        window.value("dispatchEvent(new Event('afterprint'))")
        self.assertEqual(window.value(closed), before)
        self.assertTrue(window.pdf().startswith(b"%PDF"))
        self.well(window, 1440)

    def test_a_plot_that_cannot_be_drawn_says_so_and_has_its_table(self):
        spoil = "CanvasRenderingContext2D.prototype.measureText = () => { throw new Error('spoiled') }"
        script = self.browser.call("Page.addScriptToEvaluateOnNewDocument", source=spoil)["identifier"]
        try:
            window = self.unfolded(1440)
            panels = len(panels_of(self.sample))
            self.assertGreaterEqual(int(window.value("document.documentElement.dataset.errors")), panels)
            self.assertGreaterEqual(len(window.problems), panels)
            said = "[...document.querySelectorAll('figure')].map(figure => figure.innerText)"
            self.assertTrue(all("could not be drawn" in text for text in window.value(said)))
            self.assertEqual(window.value("document.querySelectorAll('figure details').length"), panels)
        finally:
            self.browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)

    def test_light_and_dark(self):
        seen = {}
        for width in (390, 1440):
            for dark in (False, True):
                window = self.opened(width, dark=dark)
                self.well(window, width)
                style = "(e => [getComputedStyle(document.documentElement).backgroundColor, getComputedStyle(e).fill])"
                seen[width, dark] = window.value(f"{style}(document.querySelector('.plot text'))")
                self.keep(f"{width}-{'dark' if dark else 'light'}.png", window.screenshot())
        for width in (390, 1440):
            self.assertNotEqual(*(seen[width, dark][0] for dark in (False, True)))
            self.assertNotEqual(*(seen[width, dark][1] for dark in (False, True)))
        self.keep("page.pdf", window.pdf())

    def keep(self, name: str, content: bytes) -> None:
        self.assertGreater(len(content), 10_000, name)
        if os.environ.get("SCREENSHOTS"):
            Path(os.environ["SCREENSHOTS"], name).write_bytes(content)


if __name__ == "__main__":
    unittest.main()
