"""Tests that tools/mutants.py reports which tests of a program failed and which mutants they detected."""

import os
import sys
import tempfile
import textwrap
import time
import unittest
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
if sys.version_info >= (3, 10):
    from judging import Judge
    from switched_tests import Case, Program, Tests, batches, outcome_of_gtest, outcome_of_unittest

#: This program executes all mutants. Test `b` detects mutant 3, mutant 5 ends the program, mutant 6 makes it wait, and
#: `d` detects 7 and 8. `flaky` fails without a mutant when it runs for the second time.
PROGRAM = """
import os, sys, time, unittest
mutants = os.environ["WARPAES_MUTANT"].split(",")
if reached := os.environ["WARPAES_MUTANTS_REACHED"]:
    open(reached, "r+b").write(bytes([0] + 9 * [1]))
class Group(unittest.TestCase):
    def test_a(self): self.assertNotIn("5", mutants)
    def test_b(self): self.assertNotIn("3", mutants)
    def test_c(self):
        if "5" in mutants: os._exit(9)
        if "6" in mutants: time.sleep(100)
    def test_d(self): self.assertFalse({"7", "8"} & set(mutants))
    def test_e(self):
        if "4" in mutants: self.skipTest("nothing to see")
class Other(unittest.TestCase):
    def test_flaky(self):
        seen = sys.argv[0] + ".seen"
        self.assertFalse(os.path.exists(seen))
        open(seen, "w").close()
if __name__ == "__main__": unittest.main()
"""


@unittest.skipIf(sys.version_info < (3, 10), "an older Python")
class Outcomes(unittest.TestCase):
    def test_of_a_program_that_ended_by_itself(self):
        found = outcome_of_gtest(
            textwrap.dedent("""\
            [ RUN      ] All/A.One/x
            [       OK ] All/A.One/x (3 ms)
            [ RUN      ] A.Two
            a.cpp:3: Failure
            [  FAILED  ] A.Two (0 ms)
            [ RUN      ] A.Three
            [  SKIPPED ] A.Three (0 ms)
            [ RUN      ] All/A.Four/y
            [  FAILED  ] All/A.Four/y, where GetParam() = 3 (1 ms)
            [  PASSED  ] 1 test.
            [  FAILED  ] 2 tests, listed below:
            """)
        )
        self.assertEqual(found.passed, {"All/A.One/x", "A.Three"})
        self.assertEqual(found.failed, {"A.Two", "All/A.Four/y"})

    def test_of_a_program_that_was_ended(self):
        found = outcome_of_gtest("[ RUN      ] A.One\n[       OK ] A.One (0 ms)\n[ RUN      ] A.Two\nkilled")
        self.assertEqual((found.passed, found.failed), ({"A.One"}, {"A.Two"}))

    def test_of_pythons_program(self):
        cases = ["A.test_a", "A.test_b", "A.test_c", "B.test_d", "B.test_e"]
        begun = (
            "test_a (__main__.A.test_a) ... ok\ntest_b (__main__.A.test_b)\nWhat it is about. ... FAIL\n"
            "test_c (__main__.A.test_c)\nIt too. ... ok\ntest_d (__main__.B.test_d) ... "
        )
        ended = outcome_of_unittest(begun, cases)
        self.assertEqual((ended.passed, ended.failed), ({"A.test_a", "A.test_c"}, {"A.test_b", "B.test_d"}))
        whole = outcome_of_unittest(
            begun
            + "skipped 'x'\n\n===\nFAIL: test_b (__main__.A.test_b)\nWhat it is about.\n---\nRan 4 tests in 1.0s\n",
            cases,
        )
        self.assertEqual((whole.passed, whole.failed), ({"A.test_a", "A.test_c", "B.test_d"}, {"A.test_b"}))


@unittest.skipIf(sys.version_info < (3, 10), "an older Python")
class Judging(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "several.py").write_text(PROGRAM)
        command = (sys.executable, "-B", str(self.folder / "several.py"), "-v")
        self.program = Program("several", command, (("PATH", os.environ["PATH"]),), self.folder, "unittest")
        self.tests = Tests(self.folder, self.folder, 2)
        self.said = StringIO()
        with redirect_stdout(self.said):
            self.tests.look([self.program], self.folder / "known.json")
        (self.folder / "several.py.seen").unlink(missing_ok=True)
        self.tests.limit = lambda cases: 5
        self.results = {}

    def judge(self, *numbers, seconds=1000.0):
        mutants = {number: {"room": "r", "file": "f", "line": 1, "before": "x", "after": "y"} for number in numbers}
        return Judge(self.tests, mutants, self.results, time.monotonic() + seconds, lambda: None)

    def killers(self):
        return {int(number): found["killed_by"] for number, found in self.results.items()}

    def test_what_each_comes_by_is_looked_at_once(self):
        self.assertEqual(len(self.tests.cases), 6)
        self.assertTrue(all(case.reaches == set(range(1, 10)) for case in self.tests.cases.values()))
        again = Tests(self.folder, self.folder, 2)
        with redirect_stdout(self.said):
            again.look([self.program], self.folder / "known.json")
        self.assertIn("6 tests; 0 of them", self.said.getvalue())

    def test_each_alone(self):
        judge = self.judge(1, 3, 5)
        with redirect_stdout(self.said):
            for number in (1, 3, 5):
                judge.alone(number, {"several"})
        self.assertEqual(self.killers()[3], "several Group.test_b")
        self.assertIn(self.killers()[5], ("several Group.test_a", "several Group.test_c"))
        self.assertIsNone(self.killers()[1])
        self.assertNotIn("unsettled", self.results["1"])

    def test_all_together(self):
        numbers = (1, 2, 3, 4, 5, 6, 7, 8)
        judge = self.judge(*numbers)
        with redirect_stdout(self.said):
            judge.together(self.program)
            for number in numbers:
                judge.settle(number, None)
        killers = self.killers()
        self.assertEqual({number for number in numbers if killers[number] is None}, {1, 2, 4})
        self.assertEqual(killers[3], "several Group.test_b")
        self.assertEqual(killers[6], "several Group.test_c")
        self.assertEqual((killers[7], killers[8]), 2 * ("several Group.test_d",))
        self.assertFalse(any("unsettled" in found for found in self.results.values()))

    def test_a_test_that_fails_by_itself_kills_nothing(self):
        judge = self.judge(9)
        with redirect_stdout(self.said):
            judge.together(self.program)
            (self.folder / "several.py.seen").touch()
            judge.met[9].clear()
            judge.together(self.program)
            judge.settle(9, None)
        self.assertEqual(self.killers(), {9: None})
        self.assertIn("also fails without 9: several Other.test_flaky", self.said.getvalue())

    def test_what_there_was_no_time_for_is_not_settled(self):
        judge = self.judge(1, 3, seconds=0)
        with redirect_stdout(self.said):
            judge.together(self.program)
            judge.settle(3, None)
        self.assertEqual((self.results["3"]["killed_by"], self.results["3"]["unsettled"]), (None, True))

    def test_a_new_test_kills_since(self):
        self.results = {"3": {"killed_by": None}, "7": {"killed_by": None, "unsettled": True}}
        judge = self.judge(3, 7)
        with redirect_stdout(self.said):
            judge.together(self.program)
        self.assertTrue(self.results["3"]["since"])
        self.assertNotIn("since", self.results["7"])

    def test_batches(self):
        cases = [Case(self.program, str(n), seconds) for n, seconds in enumerate((1, 2, 3, 9, 1))]
        self.assertEqual([[c.name for c in batch] for batch in batches(cases, 6)], [["0", "1", "2"], ["3"], ["4"]])


if __name__ == "__main__":
    unittest.main()
