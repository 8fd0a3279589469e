"""Tests re-encrypting files in place under a new key, several keys at a time, and plaintext that is written to a
pipe."""

import json
import os
import resource
import shutil
import signal
import subprocess
import time
import unittest

from support import (
    ARGUMENT,
    AUTHENTICATION,
    FORMAT,
    NOT_FOUND,
    RANGE,
    READ,
    WARPAES,
    WRITE,
    CommandTest,
    KeyedTest,
    data,
    main,
)  # fmt: skip

RECORDER = os.environ.get("RECORDED_CALLS_LIBRARY")


class Reencrypt(KeyedTest):
    def key_of(self, path, *keys):
        (record,) = json.loads(self.warpaes("inspect", "--json", *(f"-k{key}" for key in keys or ("keyset",)), path))
        return record["key_id"], record["template"]

    def rotated(self, size=9000):
        """Encrypt a file under an old key, and return the ID of the new key."""
        self.write("plain", data(size))
        self.encrypt("plain")
        os.unlink(self.path("plain"))
        return int(self.warpaes("keys", "add", "-t", "AES256_CTR_HMAC_SHA256_4KB", "--primary", "keyset"))

    def test_with_the_new_primary_in_another_format(self):
        new = self.rotated()
        os.chmod(self.path("plain.warpaes"), 0o640)
        result = self.run_command(WARPAES, "reencrypt", "-k", "keyset", "-v", "plain.warpaes")
        self.assertEqual((result.returncode, result.stdout), (0, b""), result.stderr)
        self.assertIn(b"plain.warpaes: 8.86 KiB", result.stderr)
        self.assertIn(f"key {new}".encode(), result.stderr)
        self.assertEqual(self.key_of("plain.warpaes"), (new, "AES256_CTR_HMAC_SHA256_4KB"))
        self.assertEqual(self.decrypt("plain.warpaes"), data(9000))
        self.assertEqual(os.stat(self.path("plain.warpaes")).st_mode & 0o777, 0o640)
        self.assertEqual(sorted(os.listdir(self.directory)), ["keyset", "plain.warpaes"])
        # Files that already use the key stay unchanged unless the caller requests a new encryption.
        before = self.read("plain.warpaes")
        result = self.run_command(WARPAES, "reencrypt", "-k", "keyset", "plain.warpaes")
        self.assertEqual((result.returncode, result.stderr), (0, b"1 of 1 already had the new key\n"))
        self.assertEqual(self.read("plain.warpaes"), before)
        self.warpaes("reencrypt", "-f", "-k", "keyset", "plain.warpaes")
        self.assertNotEqual(self.read("plain.warpaes"), before)

    def test_with_other_keys(self):
        self.write("plain", data(50_000))
        self.encrypt("--aad", "x", "plain")
        self.warpaes("keygen", "-o", "new")
        self.private("raw", bytes(range(32)))
        common = ("reencrypt", "--aad", "x", "plain.warpaes")
        self.warpaes(*common, "-k", "keyset", "--to", "new")
        self.refused(AUTHENTICATION, "", "decrypt", "-k", "new", "plain.warpaes")
        self.assertEqual(self.warpaes("cat", "-k", "new", "--aad", "x", "plain.warpaes"), data(50_000))
        self.warpaes(*common, "-k", "new", "--to", "raw", "--to-template", "C2SP_CHUNKED_256")
        record = json.loads(
            self.warpaes(*common, "-k", "keyset", "-k", "raw", "-t", "C2SP_CHUNKED_256", "--to", "raw",
                         "--to-template", "C2SP_CHUNKED_256", "--json")
        )  # fmt: skip
        self.assertEqual((record["files"][0]["skipped"], record["files"][0]["input"]), (True, "plain.warpaes"))
        self.refused(ARGUMENT, "--to|keygen", *common, "-k", "raw", "-t", "C2SP_CHUNKED_256")
        self.warpaes(*common, "-k", "raw", "-t", "C2SP_CHUNKED_256", "--to", "keyset")
        self.assertEqual(self.decrypt("--aad", "x", "plain.warpaes"), data(50_000))

    def test_directories_and_what_is_none_of_ours(self):
        os.makedirs(self.path("backup/deep"))
        for name in ("one", "deep/two"):
            self.write(f"backup/{name}", data(100, name.encode()))
            self.encrypt(f"backup/{name}")
        new = int(self.warpaes("keys", "add", "--primary", "keyset"))
        result = self.run_command(WARPAES, "reencrypt", "-k", "keyset", "backup")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"2 files do not look encrypted", result.stderr)
        for name in ("one", "deep/two"):
            self.assertEqual(self.key_of(f"backup/{name}.warpaes")[0], new)
            self.assertEqual(self.read(f"backup/{name}"), data(100, name.encode()))
        self.refused(FORMAT, "", "reencrypt", "-k", "keyset", "backup/one")
        self.refused(NOT_FOUND, "", "reencrypt", "-k", "keyset", "nowhere")
        self.refused(ARGUMENT, "at least one file", "reencrypt", "-k", "keyset")
        self.refused(ARGUMENT, "decrypt | warpaes encrypt", "reencrypt", "-k", "keyset", "-")

    def test_a_link_stays_one(self):
        new = self.rotated()
        os.symlink("plain.warpaes", self.path("link"))
        self.warpaes("reencrypt", "-k", "keyset", "link")
        self.assertTrue(os.path.islink(self.path("link")))
        self.assertEqual(self.key_of("plain.warpaes")[0], new)

    def left_as_it_was(self, status, words, *arguments, **options):
        before = self.read("plain.warpaes"), os.stat(self.path("plain.warpaes")).st_ino
        self.refused(status, words, "reencrypt", *arguments, "plain.warpaes", **options)
        self.assertEqual((self.read("plain.warpaes"), os.stat(self.path("plain.warpaes")).st_ino), before)

    def test_what_is_no_file_is_not_waited_for(self):
        self.warpaes("keygen", "-o", "new.json")
        os.mkfifo(self.path("fifo"))
        for path in ("fifo", "/dev/null"):
            for force in ([], ["-f"]):
                command = ["reencrypt", *force, "-k", "keyset", "--to", "new.json", path]
                self.refused(ARGUMENT, "not a regular file, so it cannot be replaced", *command)
        self.refused(NOT_FOUND, "cannot open 'nothing'", "reencrypt", "-k", "keyset", "nothing")

    def test_after_any_failure_the_file_is_as_it_was(self):
        self.rotated(300_000)
        sealed = self.read("plain.warpaes")
        self.warpaes("keygen", "-o", "other")
        self.left_as_it_was(FORMAT, "", "-k", "other")
        for at in (30, 150_000, 299_000):
            damaged = bytearray(sealed)
            damaged[at] ^= 1
            self.write("plain.warpaes", damaged)
            self.left_as_it_was(AUTHENTICATION, "", "-k", "keyset")
        self.write("plain.warpaes", sealed[:-5000])
        self.left_as_it_was(AUTHENTICATION, "", "-k", "keyset")
        self.write("plain.warpaes", sealed)
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))  # noqa: E731
        self.left_as_it_was(WRITE, "", "-k", "keyset", preexec_fn=limit)
        self.left_as_it_was(NOT_FOUND, "", "-k", "keyset", "--to", "nowhere")
        self.assertEqual(self.decrypt("plain.warpaes"), data(300_000))

    def test_what_is_counted(self):
        """The bytes of a file that stays unchanged are not counted as read."""
        self.rotated(9000)
        sealed = self.read("plain.warpaes")
        self.write("damaged.warpaes", sealed[:-1] + bytes([sealed[-1] ^ 1]))
        command = (WARPAES, "reencrypt", "-k", "keyset", "--json", "plain.warpaes", "damaged.warpaes")
        result = self.run_command(*command)
        self.assertEqual(result.returncode, AUTHENTICATION, result.stderr)
        record = json.loads(result.stdout)
        self.assertEqual([file["status"] for file in record["files"]], [0, AUTHENTICATION])
        self.assertEqual(record["bytes_read"], len(sealed))

    @unittest.skipUnless(
        RECORDER, "CTest sets the path of the library that changes the file; `make test` runs this test"
    )
    def test_what_was_changed_meanwhile_stays(self):
        """A file is changed in place, without changing its length, in the same second."""
        self.rotated()
        os.utime(self.path("plain.warpaes"), ns=(0, 10**18))
        env = {"LD_PRELOAD": RECORDER, "RECORDED_CALLS": self.path("calls"), "CHANGED_MEANWHILE": "plain.warpaes"}
        before = os.stat(self.path("plain.warpaes"))
        words = "was changed while it was read; it was not replaced"
        self.refused(READ, words, "reencrypt", "-k", "keyset", "plain.warpaes", env=env)
        after = os.stat(self.path("plain.warpaes"))
        self.assertEqual((after.st_ino, after.st_size), (before.st_ino, before.st_size))
        self.assertEqual(after.st_mtime_ns - before.st_mtime_ns, 500_000_000)

    def raced(self, *arguments, status=READ, **commands):
        """Run a command while another user changes the targets of names in a folder."""
        environment = {"LD_PRELOAD": RECORDER, "RECORDED_CALLS": self.path("calls")} | commands
        result = self.run_command(WARPAES, *arguments, env=environment)
        self.assertEqual(result.returncode, status, result.stderr)
        return result

    @unittest.skipUnless(
        RECORDER, "CTest sets the path of the library that changes the folder; `make test` runs this test"
    )
    def test_another_file_is_not_replaced(self):
        """The name may lead to a different file at any time, even if it leads to the first file again at the end."""
        self.rotated()
        os.mkdir(self.path("victims"))
        self.write("victims/real", b"precious")
        self.write("mine", b"mine")
        sealed = self.read("plain.warpaes")
        away = {
            "link": ("ln -sfn ../victims/real inbox/x", "ln -sfn real inbox/x"),
            "hard link": ("rm inbox/x; ln victims/real inbox/x", "rm inbox/x; ln -s real inbox/x"),
            "folder": ("mv inbox was; ln -s victims inbox; cp was/x victims", "rm inbox victims/x; mv was inbox"),
            "file": ("mv inbox/real kept; cp mine inbox/real", "mv kept inbox/real"),
            "nothing": ("mv inbox/real kept", "mv kept inbox/real"),
        }
        moments = [("BEFORE_WRITER", "AFTER_WRITER"), ("BEFORE_WRITER", "BEFORE_NAME"), ("BEFORE_WRITER", None)]
        for name, (there, back) in away.items():
            for begin, end in [*moments, ("AFTER_WRITER", None), ("BEFORE_NAME", None)]:
                with self.subTest(name=name, begin=begin, end=end):
                    os.mkdir(self.path("inbox"))
                    self.write("inbox/real", sealed)
                    os.symlink("real", self.path("inbox/x"))
                    commands = {begin: there} | ({end: back} if end else {})
                    environment = {"LD_PRELOAD": RECORDER, "RECORDED_CALLS": self.path("calls")} | commands
                    result = self.run_command(WARPAES, "reencrypt", "-k", "keyset", "inbox/x", env=environment)
                    self.assertEqual(self.read("victims/real"), b"precious")
                    self.assertEqual(self.read("mine"), b"mine")
                    if name == "file" and os.path.exists(self.path("kept")):
                        self.assertEqual(self.read("inbox/real"), b"mine")
                    if begin == "BEFORE_WRITER":
                        self.assertEqual(result.returncode, READ, result.stderr)
                        self.assertIn(b"was changed while it was read; it was not replaced", result.stderr)
                    else:  # the folder is open, so its file is the one that was read, or is unchanged
                        self.assertIn(result.returncode, (0, READ), result.stderr)
                    left = [*os.listdir(self.path("victims")), *os.listdir(self.path("inbox"))]
                    self.assertEqual([file for file in left if file.startswith(".warpaes")], [])
                    for path in ("inbox", "was"):
                        if os.path.islink(self.path(path)):
                            os.unlink(self.path(path))
                        else:
                            shutil.rmtree(self.path(path), ignore_errors=True)
                    for path in ("kept", "victims/x"):
                        if os.path.lexists(self.path(path)):
                            os.unlink(self.path(path))

    @unittest.skipUnless(
        RECORDER, "CTest sets the path of the library that changes the folder; `make test` runs this test"
    )
    def test_a_folder_that_changed_since_it_was_listed_leads_nowhere_else(self):
        """While the command writes the first file, the folder of the second file becomes a link to a different
        folder."""
        self.rotated()
        sealed = self.read("plain.warpaes")
        for name in ("inbox", "inbox/sub", "victims"):
            os.mkdir(self.path(name))
        for name in ("inbox/a.warpaes", "inbox/sub/b.warpaes", "victims/b.warpaes"):
            self.write(name, sealed)
        change = "test -L inbox/sub || { mv inbox/sub was; ln -s ../victims inbox/sub; }"
        environment = {"LD_PRELOAD": RECORDER, "RECORDED_CALLS": self.path("calls"), "BEFORE_WRITER": change}
        result = self.run_command(WARPAES, "reencrypt", "-j", "1", "-k", "keyset", "inbox", env=environment)
        self.assertEqual(result.returncode, NOT_FOUND, result.stderr)
        self.assertIn(b"inbox/sub/b.warpaes", result.stderr)
        self.assertNotEqual(self.read("inbox/a.warpaes"), sealed)
        self.assertEqual(self.read("victims/b.warpaes"), sealed)

    @unittest.skipUnless(
        RECORDER, "CTest sets the path of the library that changes the folder; `make test` runs this test"
    )
    def test_a_result_appears_in_the_folder_that_was_opened(self):
        """The result appears in the opened folder, even if the name leads to a different folder by the time the result
        is complete."""
        self.write("plain", data(9000))
        self.encrypt("plain")
        for flags, victim in (((), None), (("-f",), b"precious")):
            for command, name in (("encrypt", "plain"), ("decrypt", "plain.warpaes")):
                with self.subTest(command=command, flags=flags):
                    for folder in ("victims", "out"):
                        os.mkdir(self.path(folder))
                        if victim is not None:
                            self.write(folder + "/x", victim)
                    self.raced(command, "-k", "keyset", *flags, "-o", "out/x", name, status=0,
                               BEFORE_NAME="mv out was; ln -s victims out")  # fmt: skip
                    if victim is None:
                        self.assertEqual(os.listdir(self.path("victims")), [])
                    else:
                        self.assertEqual(self.read("victims/x"), victim)
                    made = self.read("was/x")
                    self.assertEqual(self.decrypt(stdin=made) if command == "encrypt" else made, data(9000))
                    os.unlink(self.path("out"))
                    shutil.rmtree(self.path("was"))
                    shutil.rmtree(self.path("victims"))

    @unittest.skipUnless(
        RECORDER, "CTest sets the path of the library that changes the folder; `make test` runs this test"
    )
    def test_permissions_and_times_are_for_the_results(self):
        """Files or folders that replace the results before the command ends must not receive the results' permissions
        and times."""
        os.mkdir(self.path("in"))
        self.write("in/x", data(100))
        os.chmod(self.path("in/x"), 0o644)
        os.chmod(self.path("in"), 0o755)
        os.mkdir(self.path("victims"))
        self.private("victims/x.warpaes", b"precious")
        os.chmod(self.path("victims"), 0o700)
        for there in ("mv out/in was; ln -s ../victims out/in", "mv out/in was; mv victims out/in"):
            with self.subTest(there):
                self.raced("encrypt", "-k", "keyset", "--output-dir", "out", "in", status=0, BEFORE_NAME=there)
                if os.path.islink(self.path("out/in")):
                    os.unlink(self.path("out/in"))
                else:
                    os.rename(self.path("out/in"), self.path("victims"))
                self.assertEqual(os.stat(self.path("victims")).st_mode & 0o777, 0o700)
                self.assertEqual(os.stat(self.path("victims/x.warpaes")).st_mode & 0o777, 0o600)
                self.assertEqual(self.read("victims/x.warpaes"), b"precious")
                self.assertEqual(os.stat(self.path("was/x.warpaes")).st_mode & 0o777, 0o644)
                shutil.rmtree(self.path("was"))

    def test_interrupted(self):
        self.rotated(100_000_000)
        ended, untouched = [], 0
        for pause in (0.01, 0.02, 0.04, 0.08, 0.16, 0.32):
            before = os.stat(self.path("plain.warpaes"))
            with subprocess.Popen(
                [
                    WARPAES,
                    "reencrypt",
                    "-f",
                    "--threads",
                    "1",
                    "--backend",
                    "libcrypto",
                    "-k",
                    "keyset",
                    "plain.warpaes",
                ],
                stderr=subprocess.PIPE,
                cwd=self.directory,
            ) as command:
                time.sleep(pause)
                command.send_signal(signal.SIGINT)
                said = command.stderr.read()
            ended.append(command.returncode)
            self.assertIn(command.returncode, (0, -signal.SIGINT), said)
            # Whenever the signal arrives, the file is complete: either the old file or, at the very end, the new file.
            after = os.stat(self.path("plain.warpaes"))
            untouched += (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
            self.assertTrue(self.decrypt("plain.warpaes") == data(100_000_000))
            self.assertEqual(sorted(os.listdir(self.directory)), ["keyset", "plain.warpaes"])
        self.assertIn(-signal.SIGINT, ended)
        self.assertGreater(untouched, 0)

    def test_the_keys_themselves_are_not_replaced(self):
        self.refused(18, "needed", "reencrypt", "-k", "keyset", "-f", "keyset")


class SeveralKeys(KeyedTest):
    def test_the_first_encrypts_and_each_decrypts(self):
        self.warpaes("keygen", "-o", "second")
        self.private("raw", bytes(range(16)))
        self.private("c2sp", b"C2SP_CHUNKED_256 " + b"5a" * 32)
        both = ("-k", "second", "-k", "keyset")
        sealed = self.warpaes("encrypt", *both, stdin=data(5000))
        self.assertEqual(self.warpaes("decrypt", "-k", "second", stdin=sealed), data(5000))
        self.refused(FORMAT, "", "decrypt", "-k", "raw", stdin=sealed)
        every = ("-k", "keyset", "-k", "raw", "-k", "c2sp", "-k", "second")
        for key in ("keyset", "raw", "c2sp", "second"):
            self.write(key + ".sealed", self.warpaes("encrypt", "-k", key, stdin=data(5000)))
            # Decryption also works from a pipe, which cannot be read twice.
            self.assertEqual(self.warpaes("decrypt", *every, stdin=self.read(key + ".sealed")), data(5000))
            record = json.loads(self.warpaes("verify", "--json", *every, key + ".sealed"))
            self.assertEqual(record["files"][0]["key_id"] is None, key in ("raw", "c2sp"))
            (found,) = json.loads(self.warpaes("inspect", "--json", *every, key + ".sealed"))
            self.assertEqual(found["key_id"], record["files"][0]["key_id"])
        self.warpaes("verify", *every, *(key + ".sealed" for key in ("keyset", "raw", "c2sp", "second")))
        self.refused(NOT_FOUND, "-k", "verify", "-k", "keyset", "-k", "nowhere", stdin=sealed)

    def test_dash_k_everywhere(self):
        (key,) = json.loads(self.warpaes("keys", "list", "--json", "-k", "keyset"))
        self.assertEqual(json.loads(self.warpaes("keys", "list", "--json", env={"WARPAES_KEYSET": "keyset"})), [key])
        new = self.warpaes("keys", "add", "-k", "keyset").decode().strip()
        self.warpaes("keys", "promote", "-k", "keyset", new)
        self.warpaes("keys", "disable", str(key["key_id"]), env={"WARPAES_KEYSET": "keyset"})
        self.warpaes("keys", "enable", "keyset", str(key["key_id"]))
        listed = json.loads(self.warpaes("keys", "list", "--json", "keyset"))
        self.assertEqual([key["primary"] for key in listed], [False, True])
        self.refused(ARGUMENT, "KEYSET: missing", "keys", "add")
        self.refused(ARGUMENT, "KEYSET: given twice", "keys", "add", "-k", "keyset", "keyset")
        self.refused(ARGUMENT, "KEYSET: given twice", "keys", "list", "keyset", "keyset")
        self.refused(ARGUMENT, "ID: missing", "keys", "promote")
        self.refused(ARGUMENT, "ID: 'keyset' is not the ID of a key", "keys", "promote", "keyset")
        self.refused(ARGUMENT, "must be a file", "keys", "add", "env:NAME")


class Cat(KeyedTest):
    def test_one_behind_the_other(self):
        for name in ("one", "two"):
            self.write(name, data(9000, name.encode()))
            self.encrypt(name)
        both = data(9000, b"one") + data(9000, b"two")
        cat = ("cat", "-k", "keyset")
        self.assertEqual(self.warpaes(*cat, "one.warpaes", "two.warpaes"), both)
        self.assertEqual(self.warpaes(*cat, "one.warpaes", "-", stdin=self.read("two.warpaes")), both)
        self.assertEqual(self.warpaes(*cat, "-r", "8000:8099", "two.warpaes"), both[17_000:17_100])
        self.refused(ARGUMENT, "--range: requires exactly one FILE", *cat, "-r", "1:2", "one.warpaes", "two.warpaes")
        self.refused(RANGE, "", *cat, "-r", "90000:", "one.warpaes")
        self.refused(ARGUMENT, "at least one file", *cat)
        self.refused(ARGUMENT, "is a directory", *cat, ".")

    def test_nothing_follows_a_gap(self):
        self.write("one", data(9000))
        self.encrypt("one")
        damaged = bytearray(self.read("one.warpaes"))
        damaged[5000] ^= 1
        self.write("damaged", damaged)
        result = self.run_command(WARPAES, "cat", "-k", "keyset", "one.warpaes", "damaged", "one.warpaes")
        self.assertEqual(result.returncode, AUTHENTICATION, result.stderr)
        self.assertTrue(data(9000).startswith(result.stdout[9000:]))
        self.assertLess(len(result.stdout), 18_000)
        self.assertIn(b"'damaged'", result.stderr)


class Manners(KeyedTest):
    def test_quiet_and_verbose(self):
        self.write("plain", data(100))
        os.chmod(self.path("keyset"), 0o644)
        loud = self.run_command(WARPAES, "encrypt", "-k", "keyset", "plain")
        self.assertIn(b"open to other users", loud.stderr)
        quiet = self.run_command(WARPAES, "encrypt", "-q", "-f", "-k", "keyset", "plain")
        self.assertEqual((quiet.returncode, quiet.stderr), (0, b""))
        self.refused(17, "exists", "encrypt", "-q", "-k", "keyset", "plain")
        os.chmod(self.path("keyset"), 0o600)
        told = self.run_command(WARPAES, "decrypt", "-v", "-k", "keyset", "-o", "out", "plain.warpaes")
        self.assertRegex(told.stderr, rb"^plain\.warpaes -> out: \d+ B, key \d+, \w+\n$")
        self.refused(ARGUMENT, "-q: cannot be combined", "encrypt", "-q", "-v", "-k", "keyset", "plain")

    def test_without_waiting_for_the_disk(self):
        self.write("plain", data(100))
        for options in (("--no-sync",), ()):
            with self.subTest(options):
                env = {"LD_PRELOAD": RECORDER, "RECORDED_CALLS": self.path("calls")} if RECORDER else {}
                self.encrypt("-f", *options, "plain", env=env)
                self.warpaes("reencrypt", "-f", *options, "-k", "keyset", "plain.warpaes", env=env)
                self.assertEqual(self.decrypt("plain.warpaes"), data(100))
                if RECORDER:
                    calls = self.read("calls") if os.path.exists(self.path("calls")) else b""
                    self.assertEqual(calls.count(b"fsync"), 0 if options else 4, calls)

    @unittest.skipUnless(shutil.which("tar"), "tar is missing; a machine with tar runs this test")
    def test_as_tar_calls_it(self):
        os.mkdir(self.path("photos"))
        self.write("photos/one", data(1000))
        os.symlink(WARPAES, self.path("warpaes"))
        environment = {"PATH": f"{self.directory}:{os.environ['PATH']}", "WARPAES_KEYSET": self.path("keyset")}
        for how in ("warpaes", "warpaes encrypt -k keyset", "warpaes decrypt"):
            with self.subTest(how):
                self.run_command("tar", "-I", how.replace("decrypt", "encrypt"), "-cf", "a.tar", "photos",
                                 env=environment, check=True)  # fmt: skip
                self.assertNotIn(b"ustar", self.read("a.tar"))
                os.makedirs(self.path("out"), exist_ok=True)
                self.run_command("tar", "-I", how, "-xf", "a.tar", "-C", "out", env=environment, check=True)
                self.assertEqual(self.read("out/photos/one"), data(1000))
                shutil.rmtree(self.path("out"))
        self.refused(ARGUMENT, "no command")


class Version(CommandTest):
    def test_what_it_was_built_of_and_with(self):
        lines = self.warpaes("--version").decode().splitlines()
        self.assertRegex(lines[0], r"^warpaes \d+\.\d+\.\d+$")
        self.assertRegex("\n".join(lines), r"(commit [0-9a-f]{12}(, changed)?\n)?with OpenSSL 3\.\S+, (without )?CUDA")
        self.assertRegex(lines[-1], r"^usable on this machine: ")


class Screens(CommandTest):
    def test_help_is_at_most_a_screen(self):
        commands = (
            "encrypt",
            "decrypt",
            "cat",
            "verify",
            "reencrypt",
            "inspect",
            "keygen",
            "keys",
            "plan",
            "calibrate",
        )
        for command in ((), *((name,) for name in commands)):
            with self.subTest(command):
                lines = self.warpaes(*command, "--help").decode().splitlines()
                self.assertLessEqual(len(lines), 45)
                self.assertLessEqual(max(map(len, lines)), 110)

    def test_all_of_it_has_more(self):
        for command in ((), ("encrypt",), ("decrypt",), ("cat",), ("verify",), ("reencrypt",)):
            self.assertGreater(len(self.warpaes(*command, "--help-all")), len(self.warpaes(*command, "--help")))


if __name__ == "__main__":
    main()
