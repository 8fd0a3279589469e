"""Tests the progress display on a terminal, which is one line and never wraps."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import time

from support import WARPAES, CommandTest, data, main

LINE = re.compile(rb"\r\x1b\[K([^\r\n\x1b]*)")


class Terminal(CommandTest):
    def setUp(self):
        super().setUp()
        self.warpaes("keygen", "-o", "keyset")

    def seen(self, columns, *arguments, pause=0.6):
        """Return the output on a terminal of this width while the input arrives slowly through a pipe."""
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        with subprocess.Popen(
            [WARPAES, *arguments], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=slave, cwd=self.directory
        ) as command:
            os.close(slave)
            piece = data(4 << 20)
            for _ in range(2):
                command.stdin.write(piece)
                command.stdin.flush()
                time.sleep(pause)
            command.stdin.close()
        self.assertEqual(command.returncode, 0)
        return self.shown_on(master)

    @staticmethod
    def shown_on(master):
        shown = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # the other end is closed
                return shown
            if not part:
                return shown
            shown += part

    def test_progress_on_terminals_of_any_width(self):
        for columns in (12, 30, 80, 200):
            with self.subTest(columns):
                shown = self.seen(columns, "encrypt", "-k", "keyset")
                lines = LINE.findall(shown)
                self.assertTrue(any(b"MiB" in line for line in lines), shown)
                self.assertLess(max(map(len, lines)), columns)
                self.assertEqual(lines[-1], b"", "the line is erased at the end")
                self.assertNotIn(b"\n", shown)

    def test_terminals_that_are_no_wider_than_a_column_or_two(self):
        for columns in (1, 2):
            shown = self.seen(columns, "encrypt", "-k", "keyset")
            self.assertLess(max(map(len, LINE.findall(shown))), columns)
            self.assertNotIn(b"\n", shown)

    def test_how_far_a_file_is(self):
        """Progress shows the bytes done, the total bytes, the percentage, the speed and the remaining time. The result
        goes to a slow pipe."""
        with open(self.path("long"), "wb") as file:
            file.truncate(64 << 20)
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
        with subprocess.Popen(
            [WARPAES, "encrypt", "-k", "keyset", "long", "-o", "-"],
            stdout=subprocess.PIPE,
            stderr=slave,
            cwd=self.directory,
        ) as command:
            os.close(slave)
            time.sleep(0.6)
            while command.stdout.read(1 << 20):
                pass
        lines = [line for line in LINE.findall(self.shown_on(master)) if line]
        self.assertTrue(lines)
        for line in lines:
            self.assertRegex(line, rb"^[\d.]+ (?:[KM]i)?B of 64\.00 MiB  [ \d]+ %  [\d.]+ GB/s  \d+:\d\d left$")

    def test_how_far_a_calibration_is(self):
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        with subprocess.Popen(
            [WARPAES, "calibrate", "--quick", "--cpu-only"],
            stdout=subprocess.DEVNULL,
            stderr=slave,
            env=os.environ | {"WARPAES_CALIBRATION": self.path("table")},
        ) as command:
            os.close(slave)
            shown = self.shown_on(master)
        self.assertEqual(command.returncode, 0)
        self.assertRegex(shown, rb"^(\r\d+ of \d+ )+\r\x1b\[K$")

    def test_what_is_said_in_the_end_stands_alone(self):
        shown = self.seen(80, "encrypt", "-k", "keyset", "-v")
        self.assertRegex(shown, rb"MiB[^\r\n]*\r\x1b\[Kstandard input -> standard output: [^\r\n]*\r\n$")

    def test_progress_of_enc_too(self):
        shown = self.seen(40, "enc", "-aes-128-ctr", "-pbkdf2", "-pass", "pass:x")
        self.assertIn(b"MiB", shown)

    def test_no_progress_when_it_is_not_wanted_or_nobody_looks(self):
        self.assertEqual(self.seen(80, "encrypt", "-k", "keyset", "--no-progress"), b"")
        result = self.run_command(WARPAES, "encrypt", "-k", "keyset", stdin=data(1 << 20))
        self.assertEqual((result.returncode, result.stderr), (0, b""))

    def test_progress_where_it_is_asked_for(self):
        result = self.run_command(WARPAES, "encrypt", "-k", "keyset", "--progress", stdin=data(1 << 20))
        self.assertIn(b"MiB in ", result.stderr)


class Colours(CommandTest):
    def said(self, **environment):
        """Return the output of a failing command on a terminal."""
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        with subprocess.Popen(
            [WARPAES, "decrypt", "-k", "nowhere", "x"],
            stderr=slave,
            cwd=self.directory,
            env={k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")} | environment,
        ) as command:
            command.wait()
        os.close(slave)
        return os.read(master, 4096)

    def test_on_terminals_that_have_them(self):
        self.assertTrue(self.said(TERM="xterm").startswith(b"\x1b[1;31mwarpaes:\x1b[0m -k: cannot open"))
        self.assertTrue(self.said(TERM="xterm", NO_COLOR="").startswith(b"\x1b[1;31m"))

    def test_not_where_nobody_wants_them(self):
        for environment in ({"TERM": "xterm", "NO_COLOR": "1"}, {"TERM": "dumb"}, {}):
            self.assertTrue(self.said(**environment).startswith(b"warpaes: -k: cannot open"), environment)


if __name__ == "__main__":
    main()
