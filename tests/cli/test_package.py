"""Tests commands that are written in Python and that the program runs: with the package, without it, and with a planted
module."""

import os
import sys

from support import NOT_FOUND, WARPAES, CommandTest, main

PACKAGE = os.environ.get("WARPAES_PYTHON_PACKAGE")
COMMANDS = ("bulk", "keysources", "model", "parquet", "qkd")


class Package(CommandTest):
    def there(self):
        if PACKAGE is None:
            self.skipTest("the Python package is not built; a build with the package runs this test")
        return {"WARPAES_PYTHON": sys.executable, "PYTHONPATH": PACKAGE, "COLUMNS": "80"}

    def test_help(self):
        environment = self.there()
        for name in COMMANDS:
            said = self.warpaes(name, "--help", env=environment).decode()
            self.assertTrue(said.startswith(f"usage: warpaes {name}"), said)
            self.assertEqual(self.warpaes("help", name, env=environment).decode(), said)
            for line in said.splitlines():
                self.assertLessEqual(len(line), 80, line)

    def test_work(self):
        environment = self.there()
        self.warpaes("keysources", "new-kek", "-o", "kek", env=environment)
        self.warpaes("keysources", "new", "file:kek", "-o", "keyset", env=environment)
        self.write("plain", b"text")
        self.warpaes("encrypt", "-k", "keyset", "--kek", "kek", "-o", "sealed", "plain")
        opened = f"exec:{WARPAES} keysources open file:kek keyset"
        self.assertEqual(self.warpaes("cat", "-k", opened, "sealed", env=environment), b"text")

    def test_statuses_are_the_package_s(self):
        environment = self.there()
        done = self.run_command(WARPAES, "keysources", "open", "file:kek", "nosuch", env=environment)
        self.assertEqual(done.returncode, NOT_FOUND, done.stderr)
        self.assertEqual(self.run_command(WARPAES, "qkd", "nosuch", env=environment).returncode, 2)

    def test_a_module_in_the_working_directory_is_not_the_package(self):
        environment = self.there()
        os.mkdir(self.path("warpaes"))
        for name in ("warpaes/__init__.py", "argparse.py", "sys.py"):
            self.write(name, b"open('planted', 'w')")
        self.warpaes("qkd", "--help", env=environment)
        self.assertFalse(os.path.exists(self.path("planted")))

    def test_without_the_package(self):
        environment = {"WARPAES_PYTHON": sys.executable, "PYTHONPATH": ""}
        probe = self.run_command(sys.executable, "-P", "-c", "import warpaes", env=environment)
        if probe.returncode == 0:
            self.skipTest("the package is installed for this Python; a different Python runs this test")
        for name in COMMANDS:
            words = f"`warpaes {name}`: requires the Python package|pip install"
            self.assertNotIn(b"Traceback", self.refused(NOT_FOUND, words, name, env=environment).stderr)

    def test_without_python(self):
        for name in COMMANDS:
            environment = {"WARPAES_PYTHON": "/nonexistent/python"}
            self.refused(NOT_FOUND, "/nonexistent/python|WARPAES_PYTHON", name, "--help", env=environment)


if __name__ == "__main__":
    main()
