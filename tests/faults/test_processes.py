"""Stops the command at every system call and at random moments, and runs it with a GPU whose calls fail in turn.

WARPAES_LIBRARY names a library with failing system calls and a simulated GPU.
"""

import collections
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

WARPAES = os.environ["WARPAES"]
LIBRARY = Path(os.environ["WARPAES_LIBRARY"])
ENC = ("enc", "-aes-256-ctr", "-K", "11" * 32, "-iv", "22" * 16)
MOMENTS = int(os.environ.get("WARPAES_FAULT_MOMENTS", "15"))
OLD = b"what was there before"
#: The number of processes by test. If WARPAES_FAULTS_RECORD names a file, these numbers are written to it.
runs = collections.Counter()


def data(length):
    return hashlib.shake_128(b"data").digest(length)


def tearDownModule():
    if "WARPAES_FAULTS_RECORD" in os.environ:
        Path(os.environ["WARPAES_FAULTS_RECORD"]).write_text(json.dumps(runs))


class Processes(unittest.TestCase):
    def setUp(self):
        parent = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.directory = Path(tempfile.mkdtemp(prefix="warpaes-processes-", dir=parent))
        self.addCleanup(shutil.rmtree, self.directory)
        # The loader finds this library before the command's own library, which has the same name.
        libraries = self.directory / "lib"
        libraries.mkdir()
        (libraries / "libwarpaes.so.1").symlink_to(LIBRARY)
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("WARPAES_SIMT", "WARPAES_BACKEND"))
        } | {"LD_LIBRARY_PATH": str(libraries)}
        self.work = self.directory / "work"
        self.work.mkdir()
        self.run_clean("keygen", "-o", self.directory / "keys")

    def run_clean(self, *command):
        done = subprocess.run([WARPAES, *command], env=self.environment, capture_output=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def prepare(self, size):
        """Return the commands to disturb, each with its input and the right output."""
        plain, sealed = self.directory / "plain", self.directory / "sealed"
        plain.write_bytes(data(size))
        keys = ("-k", self.directory / "keys")
        self.run_clean("encrypt", *keys, "-o", sealed, plain)
        expected = self.run_clean(*ENC, "-in", plain)

        def opens(output):
            copy = self.directory / "copy"
            copy.write_bytes(output)
            return self.run_clean("decrypt", *keys, copy) == data(size)

        return [
            ((*ENC, "-in", plain, "-out"), lambda output: output == expected),
            (("encrypt", *keys, plain, "-o"), opens),
            (("decrypt", *keys, sealed, "-o"), lambda output: output == data(size)),
        ]

    def start(self, command, replaces, **environment):
        output = self.work / "out"
        if replaces:
            output.write_bytes(OLD)
        forced = ["--force"] if replaces else []
        return subprocess.Popen(
            [WARPAES, *command, output, *forced],
            env=self.environment | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def look(self, process, is_right, replaces, killed, what):
        """Wait for the process to end and check the remaining files. Return whether the command succeeded."""
        runs[self._testMethodName.removeprefix("test_")] += 1
        error = process.communicate(timeout=60)[1].decode()
        output = self.work / "out"
        names = sorted(path.name for path in self.work.iterdir())
        content = output.read_bytes() if output.exists() else None
        if process.returncode == 0:
            self.assertTrue(content is not None and is_right(content), what)
        elif content != (OLD if replaces else None):
            # The signal arrived after the file had received its name, so the file is complete.
            self.assertTrue(content is not None and is_right(content), (what, process.returncode, error))
        if not killed:
            self.assertEqual(names, ["out"] if content is not None else [], what)
        for path in self.work.iterdir():
            path.unlink()
        return process.returncode == 0

    def at_every_call(self, number):
        for command, is_right in self.prepare(100_000):
            for replaces in (False, True):
                for nth in range(1, 1000):
                    process = self.start(command, replaces, WARPAES_FAULT=f"*:{nth}:raise:{int(number)}")
                    what = (command[0], replaces, nth, number.name)
                    succeeded = self.look(process, is_right, replaces, number == signal.SIGKILL, what)
                    if not succeeded and nth == 1:
                        self.assertIn(process.returncode, (-number, 128 + number), what)
                    if succeeded and nth > 8:
                        break
                else:
                    self.fail("the command did not end")
                self.assertGreater(nth, 8, what)

    def test_sigint_at_every_system_call(self):
        self.at_every_call(signal.SIGINT)

    def test_sigterm_at_every_system_call(self):
        self.at_every_call(signal.SIGTERM)

    def test_sigkill_at_every_system_call(self):
        self.at_every_call(signal.SIGKILL)

    def test_signals_at_random_moments(self):
        seed = int(os.environ.get("WARPAES_FAULT_SEED", random.randrange(1 << 32)))
        print(f"seed {seed}", file=sys.stderr)
        chance = random.Random(seed)
        for command, is_right in self.prepare(30_000_000):
            start = time.monotonic()
            self.look(self.start(command, False), is_right, False, False, command[0])
            duration = time.monotonic() - start
            for _ in range(MOMENTS):
                number = chance.choice((signal.SIGINT, signal.SIGTERM, signal.SIGKILL))
                replaces = chance.random() < 0.3
                process = self.start(command, replaces)
                time.sleep(chance.uniform(0, duration))
                process.send_signal(number)
                self.look(process, is_right, replaces, number == signal.SIGKILL, (command[0], number.name, seed))

    def test_a_record_names_the_gpu(self):
        plain, sealed = self.directory / "plain", self.directory / "sealed"
        plain.write_bytes(data(100_000))
        keys = ("-k", self.directory / "keys", "--json")
        for backend, device in (("cuda", 0), ("libcrypto", -1)):
            record = json.loads(self.run_clean("encrypt", *keys, "--backend", backend, "-f", "-o", sealed, plain))
            self.assertEqual([(f["backend"], f["device"]) for f in record["files"]], [(backend, device)])

    def test_every_cuda_call_of_the_process_fails(self):
        """Make calls fail, starting with the search for devices, which runs once per process."""
        for command, is_right in self.prepare(100_000):
            failures = 0
            for nth in range(1, 200):
                failing = {"WARPAES_SIMT_FAIL": f"*:{nth}:999", "WARPAES_BACKEND": "cuda"}
                process = self.start(command, False, **failing)
                failures += not self.look(process, is_right, False, False, (command[0], nth))
                if process.returncode == 0 and nth > failures + 30:
                    break
            self.assertGreater(failures, 3, command[0])


if __name__ == "__main__":
    unittest.main()
