"""Tests ranges, streams, terminals, signals, records and memory."""

import json
import os
import pty
import re
import select
import signal
import stat
import subprocess
import time
import unittest

from support import ARGUMENT, IV, KEYS, RANGE, WARPAES, CommandTest, data, wait_until_read

CTR = ("enc", "-aes-128-ctr", "-K", KEYS[128], "-iv", IV)


class Ranges(CommandTest):
    RANGES = (
        (0, 0),
        (0, 15),
        (1, 1),
        (15, 16),
        (16, 31),
        (17, 4095),
        (4096, 4111),
        (65_535, 65_537),
        (0, 99_999),
        (99_990, 99_999),
        (99_999, 99_999),
        (5, None),
        (99_984, None),
    )

    def check(self, plain, *flags):
        self.write("plain", plain)
        self.warpaes("enc", "-e", *flags, "-in", "plain", "-out", "cipher", "-f")
        for first, last in self.RANGES:
            text = f"{first}:{'' if last is None else last}"
            expected = plain[first:] if last is None else plain[first : last + 1]
            for chunk in ("4k", "256k"):
                self.assertEqual(
                    self.warpaes("enc", "-d", *flags, "-in", "cipher", "--range", text, "--chunk", chunk),
                    expected,
                    (flags, text),
                )
            self.warpaes("enc", "-d", *flags, "-in", "cipher", "-out", "part", "-f", "--range", text)
            self.assertEqual(self.read("part"), expected)

    def test_slices_of_the_plaintext(self):
        for mode in ("ecb", "cbc", "cfb", "cfb8", "cfb1", "ctr"):
            iv = () if mode == "ecb" else ("-iv", IV)
            self.check(data(100_000), f"-aes-256-{mode}", "-K", KEYS[256], *iv)

    def test_behind_a_header(self):
        for mode in ("ctr", "cbc"):
            self.check(data(100_000), f"-aes-128-{mode}", "-pbkdf2", "-iter", "10", "-k", "secret")

    def test_padding_is_not_part_of_the_plaintext(self):
        flags = ("enc", "-aes-128-cbc", "-K", KEYS[128], "-iv", IV)
        for length in (1, 15, 16, 17, 100):
            self.write("cipher", self.warpaes(*flags, stdin=data(length)))
            self.assertEqual(self.warpaes(*flags, "-d", "-in", "cipher", "--range", "0:"), data(length))
            self.refused(RANGE, f"byte {length} ", *flags, "-d", "-in", "cipher", "--range", f"0:{length}")

    def test_slices_of_the_ciphertext(self):
        self.write("plain", data(10_000))
        whole = self.warpaes(*CTR, "-in", "plain")
        self.assertEqual(self.warpaes(*CTR, "-in", "plain", "--range", "1000:1999"), whole[1000:2000])

    def test_only_the_blocks_under_the_range_are_read(self):
        with open(self.path("sparse"), "wb") as file:
            file.truncate(1 << 40)
        record = json.loads(
            self.warpaes(*CTR, "-d", "-in", "sparse", "-out", "part", "--range", f"{(1 << 40) - 100}:", "--json")
        )
        self.assertEqual(len(self.read("part")), 100)
        self.assertLess(record["bytes_read"], 200)


class Streams(CommandTest):
    def test_standard_streams_by_name(self):
        expected = self.warpaes(*CTR, stdin=data(1000))
        self.assertEqual(self.warpaes(*CTR, "-in", "-", "-out", "-", stdin=data(1000)), expected)
        self.assertEqual(self.warpaes(*CTR, "-in", "/dev/stdin", "-out", "/dev/stdout", stdin=data(1000)), expected)

    def test_a_descriptor_is_used_from_where_it_stands(self):
        self.write("in", b"skip" + data(1000))
        with open(self.path("in"), "rb") as source, open(self.path("out"), "wb") as target:
            os.lseek(source.fileno(), 4, os.SEEK_SET)
            os.write(target.fileno(), b"before")
            self.warpaes(*CTR, stdin=source, stdout=target)
            os.write(target.fileno(), b"after")
        self.assertEqual(self.read("out"), b"before" + self.warpaes(*CTR, stdin=data(1000)) + b"after")

    def test_fifo_and_null(self):
        os.mkfifo(self.path("fifo"))
        self.write("in", data(100_000))
        writer = subprocess.Popen(
            [WARPAES, *CTR, "-in", "in", "-out", "fifo"], cwd=self.directory, stderr=subprocess.DEVNULL
        )
        with open(self.path("fifo"), "rb") as fifo:
            content = fifo.read()
        self.assertEqual(writer.wait(), 0)
        self.assertEqual(content, self.warpaes(*CTR, "-in", "in"))
        self.assertTrue(stat.S_ISFIFO(os.stat(self.path("fifo")).st_mode))
        self.warpaes(*CTR, "-in", "in", "-out", "/dev/null")
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))

    def test_files_that_claim_to_be_empty(self):
        with open("/proc/version", "rb") as file:
            expected = file.read()
        cipher = self.warpaes(*CTR, "-in", "/proc/version")
        self.assertEqual(self.warpaes(*CTR, "-d", stdin=cipher), expected)

    def test_slow_pipe(self):
        process = subprocess.Popen(
            [WARPAES, *CTR, "--chunk", "4k"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        for byte in data(500):
            process.stdin.write(bytes([byte]))
            process.stdin.flush()
        output, _ = process.communicate()
        self.assertEqual(output, self.warpaes(*CTR, stdin=data(500)))


class Tables(CommandTest):
    def test_nothing_is_measured_for_a_reader_that_has_gone(self):
        """Measuring all rows would take minutes."""
        run = subprocess.Popen([WARPAES, "bench"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        run.stdout.readline()
        run.stdout.close()
        self.assertEqual(run.wait(timeout=60), -signal.SIGPIPE)
        self.assertEqual(run.stderr.read(), b"")
        run.stderr.close()


class Terminal(CommandTest):
    def on_terminal(self, *arguments, answers=(), stdin=None, stdout=None):
        """Run the command with a separate terminal. Return the exit code and the terminal's output."""
        leader, follower = pty.openpty()

        def take_terminal():
            os.setsid()
            import fcntl
            import termios

            fcntl.ioctl(follower, termios.TIOCSCTTY, 0)

        process = subprocess.Popen(
            [WARPAES, *arguments],
            cwd=self.directory,
            stdin=stdin or follower,
            stdout=stdout or follower,
            stderr=follower,
            preexec_fn=take_terminal,
            pass_fds=(follower,),
        )
        os.close(follower)
        shown = b""
        answers = list(answers)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            ready, _, _ = select.select([leader], [], [], 0.1)
            if ready:
                try:
                    chunk = os.read(leader, 65536)
                except OSError:
                    break
                if not chunk:
                    break
                shown += chunk
                if answers and shown.endswith(b": "):
                    time.sleep(0.1)  # the echo is turned off just after the prompt is printed
                    os.write(leader, answers.pop(0) + b"\n")
        os.close(leader)
        return process.wait(timeout=30), shown

    def test_ciphertext_is_not_for_a_terminal(self):
        code, shown = self.on_terminal(*CTR, "-in", "/dev/null")
        self.assertEqual(code, ARGUMENT)
        self.assertIn(b"not written to a terminal", shown)
        self.write("in", b"data")
        code, shown = self.on_terminal(*CTR, "-in", "in", "-a")
        self.assertEqual(code, 0)

    def test_prompt_twice_for_encryption_and_never_echoed(self):
        self.write("plain", data(1000))
        flags = ("enc", "-aes-128-ctr", "-pbkdf2")
        code, shown = self.on_terminal(*flags, "-in", "plain", "-out", "cipher", answers=[b"hunter2", b"hunter2"])
        self.assertEqual(code, 0, shown)
        self.assertNotIn(b"hunter2", shown)
        self.assertEqual(shown.count(b"passphrase"), 2)
        self.assertEqual(
            self.warpaes(*flags, "-d", "-in", "cipher", "-pass", "env:P", env={"P": "hunter2"}), data(1000)
        )
        code, shown = self.on_terminal(*flags, "-d", "-in", "cipher", "-out", "again", answers=[b"hunter2"])
        self.assertEqual(code, 0, shown)
        self.assertEqual(self.read("again"), data(1000))

    def test_a_key_is_asked_for(self):
        self.write("plain", data(1000))
        code, shown = self.on_terminal(
            *CTR, "-K", "prompt", "-in", "plain", "-out", "out", answers=[KEYS[128].encode()]
        )
        self.assertEqual(code, 0, shown)
        self.assertNotIn(KEYS[128].encode(), shown)
        self.assertEqual(self.read("out"), self.warpaes(*CTR, "-K", KEYS[128], "-in", "plain"))

    def test_prompts_that_differ(self):
        code, shown = self.on_terminal(
            "enc", "-aes-128-ctr", "-pbkdf2", "-in", "/dev/null", "-out", "cipher", answers=[b"one", b"two"]
        )
        self.assertEqual(code, ARGUMENT)
        self.assertIn(b"differ", shown)
        self.assertFalse(os.path.exists(self.path("cipher")))

    def test_progress_is_for_terminals(self):
        process = self.run_command(WARPAES, *CTR, "-K", "env:K", stdin=data(1000), env={"K": KEYS[128]})
        self.assertNotIn(b"GB/s", process.stderr)
        process = self.run_command(WARPAES, *CTR, "--progress", stdin=data(1000))
        self.assertIn(b"GB/s on ", process.stderr)


class Signals(CommandTest):
    def interrupt(self, number):
        process = subprocess.Popen(
            [WARPAES, *CTR, "-out", "out"], cwd=self.directory, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        process.stdin.write(data(1_000_000))
        process.stdin.flush()
        wait_until_read(process.stdin)
        self.assertFalse(os.path.exists(self.path("out")))
        process.send_signal(number)
        self.assertEqual(process.wait(timeout=20), -number)  # a shell shows it as 128 + number
        process.stdin.close()
        self.assertEqual(os.listdir(self.directory), [])

    def test_a_full_pipe_and_a_silent_one_do_not_hold_it_up(self):
        self.write("in", data(1_000_000))
        full = subprocess.Popen(
            [WARPAES, *CTR, "-in", "in"], cwd=self.directory, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        silent = subprocess.Popen(
            [WARPAES, "enc", "-aes-128-ctr", "-pbkdf2", "-d", "-pass", "env:P"],
            env={**os.environ, "P": "secret"},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        select.select([full.stdout], [], [], 20)  # the command has started to write
        time.sleep(0.5)
        for process in (full, silent):
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(timeout=20), -signal.SIGTERM)
        full.stdout.close()
        silent.stdin.close()

    def test_others_do_not_find_their_pipe_changed(self):
        reader, writer = os.pipe()
        self.warpaes(*CTR, stdin=data(100), stdout=writer)
        self.assertTrue(os.get_blocking(writer))
        os.close(reader)
        os.close(writer)

    def test_signals_leave_no_file(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self.interrupt(number)


class Records(CommandTest):
    def test_success_and_failure(self):
        self.write("in", data(1000))
        record = json.loads(self.warpaes(*CTR, "-in", "in", "-out", "out", "--json", "--backend", "libcrypto"))
        self.assertEqual((record["status"], record["backend"], record["device"]), (0, "libcrypto", -1))
        self.assertEqual((record["bytes_read"], record["bytes_written"]), (1000, 1000))
        self.assertFalse(record["counter_wrapped"])
        result = self.run_command(WARPAES, *CTR, "-in", "nowhere", "-out", "out", "--json")
        record = json.loads(result.stdout)
        self.assertEqual(record["status"], result.returncode)
        self.assertIn("nowhere", record["error"])
        result = self.run_command(WARPAES, *CTR, "--json", stdin=data(1000))
        self.assertEqual(len(result.stdout), 1000)  # standard output contains only the data
        self.assertEqual(json.loads(result.stderr.splitlines()[-1])["bytes_written"], 1000)

    def test_a_counter_that_wraps_is_told(self):
        last = "f" * 32
        flags = ("enc", "-aes-128-ctr", "-K", KEYS[128], "-iv", last)
        for length, wrapped in ((16, False), (17, True)):
            result = self.run_command(WARPAES, *flags, stdin=data(length))
            self.assertEqual(result.returncode, 0)
            self.assertEqual(b"continued at 0" in result.stderr, wrapped)

    def test_version_help_devices_selftest(self):
        self.assertRegex(
            self.warpaes("--version").decode(), r"^warpaes \d+\.\d+\.\d+\n(commit .+\n)?with OpenSSL \d.+\n"
        )
        commands = ("encrypt", "decrypt", "verify", "inspect", "keygen", "keys", "enc", "devices", "selftest")
        helps = [["--help"], ["enc", "-help"], ["selftest", "-h"], ["keys", "add", "--help"]]
        for arguments in helps:
            self.assertIn(b"Usage: warpaes", self.warpaes(*arguments))
        for command in (*commands, "cat", "reencrypt"):
            self.assertIn(f"Usage: warpaes {command} ", self.warpaes(command, "--help").decode())
        backends = json.loads(self.warpaes("devices", "--json"))
        for backend in backends:
            self.assertEqual(backend["usable"], backend["reason"] == "")
            self.assertIn(backend["name"], self.warpaes("devices").decode())
        records = json.loads(self.warpaes("selftest", "--json"))
        self.assertEqual([(r["backend"], r["run"]) for r in records], [(b["name"], b["usable"]) for b in backends])
        for record in records:
            if record["run"]:
                self.assertTrue(40 < record["examples"] < 1000, record)
                self.assertEqual(record["wrong"], [])
        self.assertEqual(len({r["examples"] for r in records if r["run"]}), 1, "every backend has the same examples")
        lines = self.warpaes("selftest").decode().splitlines()
        for line, record in zip(lines, records, strict=True):
            name = record["backend"] if record["device"] < 0 else f"{record['backend']}[{record['device']}]"
            examples = record.get("examples")
            outcome = f"{examples} of {examples} passed" if record["run"] else f"not run: {record['reason']}"
            self.assertEqual(line, f"{name:<10}  {outcome}")

    def test_the_help_names_every_exit_code(self):
        codes = re.findall(r"^ +(\d+)  \w", self.warpaes("--help-all").decode(), re.MULTILINE)
        self.assertEqual([int(c) for c in codes], list(range(len(codes))))
        self.assertGreater(len(codes), 20)
        self.assertRegex(self.warpaes("--help-all").decode(), r"\n +128\+N  ended by signal N\n")


class PeakMemory(CommandTest):
    def peak(self, *arguments):
        """Return a command's peak resident set in KiB."""
        process = subprocess.Popen([WARPAES, *arguments], cwd=self.directory, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        return usage.ru_maxrss

    def test_it_does_not_grow_with_the_file(self):
        for size in (1 << 20, 1 << 30):
            with open(self.path("in"), "wb") as file:
                file.truncate(size)  # a sparse file reads as zeros
            for cipher in ("-aes-256-ctr", "-aes-128-cbc"):
                used = self.peak(
                    "enc",
                    cipher,
                    "-K",
                    KEYS[256] if "256" in cipher else KEYS[128],
                    "-iv",
                    IV,
                    "-in",
                    "in",
                    "-out",
                    "/dev/null",
                    "--backend",
                    "libcrypto",
                )
                self.assertLess(used, 128 * 1024)


if __name__ == "__main__":
    unittest.main()
