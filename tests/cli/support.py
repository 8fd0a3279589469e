"""Shared code for the tests of the command line. It needs only Python's standard library."""

import array
import fcntl
import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import termios
import time
import unittest

WARPAES = os.environ["WARPAES"]
OPENSSL = shutil.which("openssl")

KEYS = {bits: hashlib.sha512(b"key").digest()[: bits // 8].hex() for bits in (128, 192, 256)}
IV = hashlib.sha512(b"iv").digest()[:16].hex()
MODES = ("ecb", "cbc", "cfb", "cfb8", "cfb1", "ofb", "ctr")
PADDED = ("ecb", "cbc")

# The command's exit statuses, which are values of warpaes_status (include/warpaes/warpaes.h).
INTERNAL, ARGUMENT, KEY_LENGTH, IV_LENGTH, DATA_LENGTH, PADDING = 1, 2, 3, 4, 5, 6
RANGE, BACKEND, OUT_OF_MEMORY, DEVICE, CANCELLED = 9, 10, 11, 13, 15
NOT_FOUND, EXISTS, SAME_FILE, READ, WRITE, FORMAT = 16, 17, 18, 19, 20, 21
AUTHENTICATION, KEYSET = 22, 23

TEMPLATES = [
    f"AES{bits}_{construction}_{segment}"
    for construction in ("GCM_HKDF", "CTR_HMAC_SHA256")
    for bits in (256, 128)
    for segment in ("1MB", "4KB")
] + ["C2SP_CHUNKED_256", "C2SP_CHUNKED_128"]


def data(length, seed=b"data"):
    return hashlib.shake_128(seed).digest(length)


OTHER_USER = 65533


def as_ordinary_user(test):
    """Run a test's commands as a user who is subject to permissions. If the tests run as root, the directory and the
    test's files belong to a different user, who runs the commands.


    """

    @functools.wraps(test)
    def run(self):
        if os.geteuid() == 0:
            self.become_other_user()
        test(self)

    return run


SKIPPED = 77  # CTest reports this status as skipped


def main():
    """Run the program's tests. The exit status reports a skip only if no case ran. The last line contains the number of
    cases."""
    result = unittest.main(exit=False).result
    left = len({case for case, _ in result.skipped})
    print(f"{result.testsRun - left} of {result.testsRun} cases ran", file=sys.stderr)
    sys.exit(1 if not result.wasSuccessful() else SKIPPED if left == result.testsRun else 0)


def wait_until_read(pipe, seconds=20):
    """Wait until the reader at the other end has taken everything."""
    left = array.array("i", [1])
    deadline = time.monotonic() + seconds
    while left[0] != 0 and time.monotonic() < deadline:
        time.sleep(0.005)
        fcntl.ioctl(pipe, termios.FIONREAD, left)


def missing(package, error):
    """Return the reason for skipping a test whose Python package is missing. In CI, where `tools/setup test` has run, a
    missing package is a failure."""
    if os.environ.get("CI") == "true":
        raise RuntimeError(f"the Python package {package} is missing") from error
    return (
        f"the Python package {package} is missing ({error}); a build that was configured after `tools/setup test` had "
        "installed it into .venv/tests runs this test"
    )


class CommandTest(unittest.TestCase):
    """Base class of tests that each run in a new, empty directory, which must have no unexpected files at the end."""

    maxDiff = 2000

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="warpaes-cli-")
        self.addCleanup(shutil.rmtree, self.directory)

    user = None  # the user that runs the commands, or None for the user that runs the tests

    def become_other_user(self):
        copy = tempfile.mkdtemp(prefix="warpaes-bin-")  # other users may not be allowed to enter the build folder
        self.addCleanup(shutil.rmtree, copy)
        os.chmod(copy, 0o755)
        found = subprocess.run(["ldd", WARPAES], capture_output=True, text=True, check=False).stdout
        for library in re.findall(r"=> (\S*libwarpaes\S*)", found):
            shutil.copy(library, copy)
        self.program = shutil.copy(WARPAES, copy)
        self.libraries = copy
        self.user = OTHER_USER
        for root, folders, names in os.walk(self.directory):
            for name in (root, *(os.path.join(root, each) for each in folders + names)):
                os.chown(name, OTHER_USER, OTHER_USER, follow_symlinks=False)

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)
        return self.path(name)

    def private(self, name, content):
        """Write a file with mode 0600, as for keys."""
        os.chmod(self.write(name, content), 0o600)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def run_command(self, *arguments, stdin=b"", env=None, **options):
        environment = {k: v for k, v in os.environ.items() if k not in ("WARPAES_BACKEND", "WARPAES_KEYSET")}
        environment["WARPAES_CALIBRATION"] = "none"
        environment.update(env or {})
        if self.user is not None:
            for root, folders, names in os.walk(self.directory):
                for name in (root, *(os.path.join(root, each) for each in folders + names)):
                    os.chown(name, self.user, self.user, follow_symlinks=False)
            options |= {"user": self.user, "group": self.user, "extra_groups": []}
            environment |= {"LD_LIBRARY_PATH": self.libraries}
            arguments = tuple(self.program if each == WARPAES else each for each in arguments)
        if not isinstance(stdin, bytes):
            options["stdin"] = stdin
        else:
            options["input"] = stdin
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        options.setdefault("cwd", self.directory)
        return subprocess.run(arguments, env=environment, timeout=120, start_new_session=True, **options)

    def warpaes(self, *arguments, **options):
        """Run `warpaes`, check that it succeeds, and return its standard output."""
        result = self.run_command(WARPAES, *arguments, **options)
        self.assertEqual(result.returncode, 0, (arguments, result.stderr))
        return result.stdout

    def openssl(self, *arguments, **options):
        result = self.run_command(OPENSSL, *arguments, **options)
        self.assertEqual(result.returncode, 0, (arguments, result.stderr))
        return result.stdout

    def refused(self, status, words, *arguments, **options):
        """Run `warpaes` and check that it returns this exit status, that the message contains all of `words`, and that
        the directory contains no new file."""
        before = sorted(os.listdir(self.directory))
        result = self.run_command(WARPAES, *arguments, **options)
        message = result.stderr.decode()
        self.assertEqual(result.returncode, status, (arguments, message))
        for word in words.split("|"):
            self.assertIn(word, message, arguments)
        self.assertTrue(message.splitlines()[-1].startswith("warpaes: "), message)
        self.assertEqual(sorted(os.listdir(self.directory)), before)
        return result


class KeyedTest(CommandTest):
    """Tests that use a keyset with small segments."""

    def setUp(self):
        super().setUp()
        self.warpaes("keygen", "-t", "AES128_GCM_HKDF_4KB", "-o", "keyset")

    def encrypt(self, *arguments, **options):
        return self.warpaes("encrypt", "-k", "keyset", *arguments, **options)

    def decrypt(self, *arguments, **options):
        return self.warpaes("decrypt", "-k", "keyset", *arguments, **options)
