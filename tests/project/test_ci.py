"""Tests that CI's last step lists the skipped tests with their reasons before ctest's closing lines."""

import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / ".ci"))
import tests as ci

ROOT = Path(__file__).resolve().parents[2]

JUNIT = """<testsuite>
  <testcase name="a" status="run"><system-out>x.cpp:1: Skipped
not this one</system-out></testcase>
  <testcase name="b" status="notrun"><skipped message="m"/><system-out>[ RUN      ] b
/tests/device_test.cpp:41: Skipped
needs a GPU (no driver); a build with CUDA runs this

[  SKIPPED ] b (0 ms)</system-out></testcase>
  <testcase name="c" status="notrun"><skipped message="m"/><system-out>device_test.cpp:9: Skipped
needs a GPU (no driver); a build with CUDA runs this</system-out></testcase>
  <testcase name="d" status="notrun"><skipped message="m"/><system-out>test_x (X.test_x) ... ok
test_y (X.test_y) ... skipped 'there is no browser; install chromium'
test_z (X.test_z) ... skipped "it's not for root"</system-out></testcase>
  <testcase name="e" status="notrun"><skipped message="m"/><system-out></system-out></testcase>
  <testcase name="f" status="notrun"><skipped message="m"/><system-out>looking
the vectors are not there; machines that have them run this
</system-out></testcase>
</testsuite>"""


class Ci(unittest.TestCase):
    def test_what_was_skipped_in_one_line(self):
        self.assertEqual(
            ci.skipped_line(JUNIT),
            "Skipped: 5 tests, 1 case of other tests: 2 needs a GPU (no driver), not this one, there is no browser, "
            "it's not for root, no reason given, the vectors are not there",
        )
        self.assertEqual(ci.skipped_line('<testsuite><testcase name="a"/></testsuite>'), "Skipped: nothing")
        partly = "<system-out>test_x (X.test_x) ... skipped 'there is no FUSE; root'\nOK (skipped=1)</system-out>"
        self.assertEqual(
            ci.skipped_line(f'<testsuite><testcase name="a" status="run">{partly}</testcase></testsuite>'),
            "Skipped: 1 case of other tests: there is no FUSE",
        )

    def test_what_steps_took(self):
        steps = ci.read_steps("12.300 1.0 0.25 setup\n60.1 100.5 4.0 the CUDA code compiles\n")
        self.assertEqual(steps, [(12.3, 1.25, "setup"), (60.1, 104.5, "the CUDA code compiles")])
        self.assertEqual(
            ci.table(steps).splitlines(),
            [
                "  min:s   CPU min:s  step",
                "   0:12        0:01  setup",
                "   1:00        1:44  the CUDA code compiles",
                "   1:12        1:46  together",
            ],
        )

    def test_the_workflow_runs_every_step(self):
        """The hosted jobs run the steps of .ci/run, so that both run the same checks."""
        run = (ROOT / ".ci/run").read_text()
        chosen = re.findall(r"^([a-z]+)\) ", run[run.rindex("case ") :], re.MULTILINE)
        whole = re.search(r"^every \| all\)$(.*?);;", run, re.MULTILINE | re.DOTALL)[1]
        self.assertEqual(len(chosen), 7)
        # The first step of `every` installs the tools and builds the site.
        self.assertEqual(whole.count("    step ") + whole.count("    tests\n"), len(chosen))
        workflow = (ROOT / ".github/workflows/ci.yml").read_text()
        self.assertEqual(re.search(r"step: \[(.*)\]", workflow)[1].split(", "), chosen)

    def test_the_summary_comes_last(self):
        names = ["The following tests did not run:\n", "\t7 - b (Skipped)\n"]
        summary = ["100% tests passed, 0 tests failed out of 5\n", "\n", "Total Test time (real) =   2 sec\n", "\n"]
        self.assertEqual(ci.summary_last([*summary, *names]), [*names, *summary])
        self.assertEqual(ci.summary_last(summary), summary)
        self.assertTrue(ci.CLOSING.match(summary[0]))


if __name__ == "__main__":
    unittest.main()
