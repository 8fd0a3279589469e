"""Tests common mistakes and their messages. Each message is one line and names the next step."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from support import (
    ARGUMENT,
    AUTHENTICATION,
    FORMAT,
    INTERNAL,
    NOT_FOUND,
    WARPAES,
    CommandTest,
    data,
    main,
    wait_until_read,
)


class Misspelt(CommandTest):
    def said(self, *arguments):
        result = self.refused(ARGUMENT, "", *arguments)
        lines = result.stderr.decode().splitlines()
        self.assertEqual(len(lines), 1, lines)
        return lines[0]

    def test_commands(self):
        for wrong, right in (("encyrpt", "encrypt"), ("decript", "decrypt"), ("key", "keys"), ("keygn", "keygen")):
            self.assertIn(f"did you mean '{right}'?", self.said(wrong))
        for nothing_like_it in ("frobnicate", "x", "ls"):
            self.assertNotIn("did you mean", self.said(nothing_like_it))

    def test_where_help_is(self):
        for command in ("encrypt", "decrypt", "cat", "verify", "reencrypt", "inspect", "keygen", "plan", "tune"):
            self.assertIn(f"see `warpaes {command} --help`", self.said(command, "--frobnicate"))

    def test_options(self):
        for command in ("encrypt", "decrypt"):
            self.assertIn("did you mean '--output'?", self.said(command, "--ouput", "x"))
            self.assertIn("did you mean '--skip-existing'?", self.said(command, "--skip-exist", "x"))
        self.assertIn("did you mean '--no-progress'?", self.said("verify", "--noprogress"))
        self.assertNotIn("did you mean", self.said("encrypt", "--frobnicate"))
        # A message about two correct options does not contain a suggestion.
        self.assertNotIn("did you mean", self.said("encrypt", "--output", "x", "--output-dir", "y"))

    def test_flags_and_modes_of_enc(self):
        self.assertIn("did you mean '-pbkdf2'?", self.said("enc", "-pkbdf2"))
        self.assertIn("did you mean '--help'?", self.said("encrypt", "--hepl"))
        self.assertIn("did you mean 'ctr'?", self.said("enc", "-aes-256-crt"))

    def test_the_nearest_of_several_and_the_first_of_equals(self):
        # Two transposed letters count as one mistake.
        for name in ("quarrrly.txt", "quarterlx.txt", "quarterlz.txt", "quarteryl.txt", "quartzzly.txt"):
            self.write(name, b"text")
        self.warpaes("keygen", "-o", "keyset")
        said = "cannot open 'quarterly.txt'|did you mean 'quarterlx.txt'?"
        self.refused(NOT_FOUND, said, "encrypt", "-k", "keyset", "quarterly.txt")

    def test_no_secret_is_repeated(self):
        self.assertNotIn("hunter2", self.said("enc", "-passhunter2"))


class Neighbour(CommandTest):
    """`warpaes lab` runs the program warpaes-lab, which is next to warpaes."""

    def setUp(self):
        super().setUp()
        self.program = self.path("warpaes")
        shutil.copy(os.path.realpath(WARPAES), self.program)
        self.lab = self.path("warpaes-lab")

    def refusal(self):
        result = self.run_command(self.program, "lab", "run", "everything")
        return result.returncode, result.stderr.decode()

    def test_none(self):
        status, message = self.refusal()
        self.assertEqual(status, NOT_FOUND)
        self.assertEqual(
            message,
            f"warpaes: '{self.lab}': not installed; run `make install-lab` in the folder where warpaes was built\n",
        )

    def test_one_that_cannot_run(self):
        self.write("warpaes-lab", b"\x7fELF, but no more of it")
        os.chmod(self.lab, 0o755)
        status, message = self.refusal()
        self.assertEqual(status, INTERNAL)
        self.assertEqual(message, f"warpaes: '{self.lab}': cannot be run: Exec format error\n")

    def test_records_need_none(self):
        """Actions that need neither a GPU nor kernels are part of the command itself."""
        record = next((Path(__file__).resolve().parents[2] / "bench/results/lab").glob("nvidia-*.json"))
        for arguments, said in (
            (["judge", record], b"published"),
            (["report", record, "-o", "-"], b"<!DOCTYPE html>"),
            (["compare", record, record], b"figures in both"),
            (["judge", "--help"], b"Usage: warpaes lab judge"),
        ):
            with self.subTest(arguments[0]):
                result = self.run_command(self.program, "lab", *map(str, arguments))
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn(said, result.stdout)

    def test_it_gets_the_arguments(self):
        self.write("warpaes-lab", b'#!/bin/sh\nprintf "%s|" "$@"\nexit 7\n')
        os.chmod(self.lab, 0o755)
        result = self.run_command(self.program, "lab", "run", "a b", "")
        self.assertEqual((result.returncode, result.stdout), (7, b"run|a b||"))


class DisabledKeys(CommandTest):
    def test_the_one_that_opens_a_file_is_named(self):
        self.warpaes("keygen", "-o", "keyset")
        (old,) = json.loads(self.warpaes("keys", "list", "--json", "keyset"))
        self.write("plain", data(3000))
        self.warpaes("encrypt", "-k", "keyset", "plain")
        self.warpaes("keys", "add", "--primary", "keyset")
        self.warpaes("keys", "disable", "keyset", str(old["key_id"]))
        said = f"the disabled key {old['key_id']} opens the file|warpaes keys enable KEYSET {old['key_id']}"
        for command in ("decrypt", "verify"):
            self.refused(AUTHENTICATION, said, command, "-k", "keyset", "plain.warpaes")
        # The hint does not appear for damaged files or wrong associated data.
        self.warpaes("keys", "enable", "keyset", str(old["key_id"]))
        unused = self.warpaes("keys", "add", "keyset").decode().strip()
        self.warpaes("keys", "disable", "keyset", unused)
        sealed = bytearray(self.warpaes("encrypt", "-k", "keyset", stdin=data(3_000_000)))
        sealed[1_500_000] ^= 1
        self.write("damaged", sealed)
        result = self.refused(AUTHENTICATION, "segment 1", "verify", "-k", "keyset", "damaged")
        self.assertNotIn(b"disabled", result.stderr)
        self.warpaes("keys", "disable", "keyset", str(old["key_id"]))
        result = self.refused(AUTHENTICATION, "", "verify", "-k", "keyset", "--aad", "x", "plain.warpaes")
        self.assertNotIn(b"disabled", result.stderr)


class Damage(CommandTest):
    def test_where_it_is_and_that_it_is_not_the_key(self):
        self.warpaes("keygen", "-t", "AES128_GCM_HKDF_4KB", "-o", "keyset")
        self.warpaes("keygen", "-t", "AES128_GCM_HKDF_4KB", "-o", "other")
        sealed = bytearray(self.warpaes("encrypt", "-k", "keyset", stdin=data(30_000)))
        sealed[5 * 4096 + 100] ^= 1
        self.write("damaged", sealed)
        said = "segment 5, at byte 20480, was altered or truncated|opens with this key"
        self.refused(AUTHENTICATION, said, "verify", "-k", "keyset", "damaged")
        self.refused(AUTHENTICATION, "segment 0, at byte 24, is not authentic|key", "verify", "-k", "other", "damaged")


class ForeignFiles(CommandTest):
    def test_what_they_are_is_said(self):
        self.warpaes("keygen", "-o", "keyset")
        for begin, words in (
            (b"Salted__" + data(40), "warpaes enc -d"),
            (b"U2FsdGVkX19" + b"A" * 40, "warpaes enc -d -a"),
            (b"age-encryption.org/v1\n" + data(40), "age -d"),
            (b"-----BEGIN PGP MESSAGE-----\n", "gpg -d"),
            (b"PK\x03\x04" + data(40), "unzip"),
            (b"\x1f\x8b\x08" + data(40), "not encrypted"),
        ):
            self.write("foreign", begin)
            for command in ("decrypt", "verify"):
                self.refused(FORMAT, words, command, "-k", "keyset", "foreign")
        self.write("foreign", b"(" + data(100))
        result = self.refused(AUTHENTICATION, "not authentic", "verify", "-k", "keyset", "foreign")
        self.assertNotIn(b"looks like", result.stderr)


class Interrupted(CommandTest):
    def test_nobody_is_called_a_caller(self):
        self.warpaes("keygen", "-o", "keyset")
        with subprocess.Popen(
            [WARPAES, "encrypt", "-k", "keyset", "-o", "out"],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.directory,
        ) as command:
            command.stdin.write(data(1 << 20))
            command.stdin.flush()
            wait_until_read(command.stdin)
            time.sleep(0.1)
            command.send_signal(signal.SIGINT)
            said = command.stderr.read()
            self.assertEqual(command.wait(), -signal.SIGINT)
        self.assertEqual(said, b"warpaes: interrupted\n")
        self.assertEqual(os.listdir(self.directory), ["keyset"])


if __name__ == "__main__":
    main()
