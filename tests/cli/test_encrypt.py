"""Tests `warpaes encrypt`, `decrypt` and `verify` with files, directories, streams, keys and records."""

import base64
import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import threading
import time
import unittest

from support import (
    ARGUMENT,
    AUTHENTICATION,
    BACKEND,
    CANCELLED,
    EXISTS,
    FORMAT,
    KEY_LENGTH,
    KEYSET,
    NOT_FOUND,
    RANGE,
    SAME_FILE,
    TEMPLATES,
    WARPAES,
    WRITE,
    KeyedTest,
    data,
    wait_until_read,
)

TINK = [name for name in TEMPLATES if name.startswith("AES")]


class RoundTrips(KeyedTest):
    def test_every_template_file_to_file_and_through_pipes(self):
        for template in TEMPLATES:
            with self.subTest(template):
                self.setUp()
                self.warpaes("keygen", "-t", template, "-o", "key")
                how = ("-k", "key", *(["--format", template] if "C2SP" in template else []))
                for length in (0, 1, 5000, 2_500_000):
                    plain = data(length)
                    self.write("plain", plain)
                    self.warpaes("encrypt", *how, "-f", "-o", "cipher", "plain")
                    self.warpaes("decrypt", *how, "-f", "-o", "again", "cipher")
                    self.assertTrue(self.read("again") == plain, length)
                    piped = self.warpaes("encrypt", *how, stdin=plain)
                    self.assertEqual(len(piped), len(self.read("cipher")))
                    self.assertNotEqual(piped, self.read("cipher"))  # the salt differs
                    self.assertTrue(self.warpaes("decrypt", *how, "-", stdin=piped) == plain, length)
                    self.assertIn(b"cipher: authentic", self.warpaes("verify", *how, "cipher"))
                    self.assertIn(b"standard input: authentic", self.warpaes("verify", *how, stdin=piped))

    def test_every_backend_opens_what_the_others_sealed(self):
        backends = [b["name"] for b in json.loads(self.warpaes("devices", "--json")) if b["usable"]]
        for maker in backends:
            self.encrypt("--backend", maker, "-f", "-o", "cipher", stdin=data(300_000))
            for reader in backends:
                out = self.decrypt("--backend", reader, "--threads", "3", "cipher")
                self.assertTrue(out == data(300_000), (maker, reader))
            record = json.loads(
                self.warpaes("verify", "-k", "keyset", "--json", "cipher", env={"WARPAES_BACKEND": maker})
            )
            self.assertEqual(record["files"][0]["backend"], maker)

    def test_ranges(self):
        for template in (
            "AES256_GCM_HKDF_4KB",
            "AES128_CTR_HMAC_SHA256_4KB",
            "AES256_GCM_HKDF_1MB",
            "C2SP_CHUNKED_256",
        ):
            with self.subTest(template):
                self.setUp()
                self.warpaes("keygen", "-t", template, "-o", "key")
                how = ("-k", "key", *(["--format", template] if "C2SP" in template else []))
                plain = data(3_000_000)
                self.warpaes("encrypt", *how, "-o", "cipher", stdin=plain)
                size = len(plain)
                for first, last in (
                    (0, 0),
                    (0, 4095),
                    (4030, 4050),
                    (16_383, 16_384),
                    (1_048_519, 1_048_600),
                    (size - 1, None),
                ):
                    text = f"{first}:{'' if last is None else last}"
                    expected = plain[first:] if last is None else plain[first : last + 1]
                    self.assertTrue(self.warpaes("decrypt", *how, "-r", text, "cipher") == expected, text)
                    self.warpaes("decrypt", *how, "--range", text, "-f", "-o", "part", "cipher")
                    self.assertTrue(self.read("part") == expected, text)
                self.refused(RANGE, f"byte {size}", "decrypt", *how, "-r", f"5:{size}", "cipher")
                for text in ("5", "a:b", "-1:5", ":5"):
                    self.refused(ARGUMENT, "--range", "decrypt", *how, f"-r{text}", "cipher")
                self.refused(RANGE, "range", "decrypt", *how, "-r", "5:4", "cipher")
                cipher = self.read("cipher")
                self.refused(RANGE, "range|needs an input that can seek", "decrypt", *how, "-r", "0:1", stdin=cipher)

    def test_only_the_segments_under_a_range_are_read(self):
        self.encrypt("-o", "cipher", stdin=data(3_000_000))
        record = json.loads(self.decrypt("-r", "1000000:1000009", "--json", "-o", "part", "cipher"))
        self.assertEqual(record["files"][0]["bytes_written"], 10)
        self.assertLess(record["bytes_read"], 20_000)
        content = bytearray(self.read("cipher"))
        content[2_000_000] ^= 1  # outside the range
        self.write("cipher", content)
        self.assertEqual(self.decrypt("-r", "1000000:1000009", "cipher"), data(3_000_000)[1_000_000:1_000_010])

    def test_associated_data(self):
        self.write("aad", b"in a file")
        for options in (["--aad", "in a file"], ["--aad-file", "aad"]):
            cipher = self.encrypt(*options, stdin=b"plain")
            self.assertEqual(self.decrypt("--aad", "in a file", stdin=cipher), b"plain")
            self.assertEqual(self.decrypt("--aad-file", "aad", stdin=cipher), b"plain")
        self.refused(ARGUMENT, "cannot be combined", "encrypt", "-k", "keyset", "--aad", "x", "--aad-file", "aad")
        self.refused(NOT_FOUND, "nowhere", "encrypt", "-k", "keyset", "--aad-file", "nowhere")


class Keys(KeyedTest):
    def test_every_place_of_a_keyset(self):
        cipher = self.encrypt(stdin=b"plain")
        text = self.read("keyset").decode()
        self.assertEqual(self.warpaes("decrypt", stdin=cipher, env={"WARPAES_KEYSET": "keyset"}), b"plain")
        self.assertEqual(self.warpaes("decrypt", "-k", "env:TEXT", stdin=cipher, env={"TEXT": text}), b"plain")
        both = {"WARPAES_KEYSET": "env:TEXT", "TEXT": text}
        self.assertEqual(self.warpaes("decrypt", stdin=cipher, env=both), b"plain")
        with open(self.path("keyset"), "rb") as file:
            place = f"fd:{file.fileno()}"
            self.assertEqual(self.warpaes("decrypt", "-k", place, stdin=cipher, pass_fds=(file.fileno(),)), b"plain")
        self.write("cipher", cipher)
        self.assertEqual(self.warpaes("decrypt", "-k", "fd:0", "cipher", stdin=text.encode()), b"plain")
        self.refused(ARGUMENT, "both", "decrypt", "-k", "fd:0", stdin=cipher)

    def test_raw_keys(self):
        for bits in (128, 256):
            key = data(bits // 8)
            for content in (key, key.hex().encode(), key.hex().upper().encode() + b"\n"):
                self.private("raw", content)
                cipher = self.warpaes("encrypt", "-k", "raw", stdin=b"plain")
                self.assertEqual(cipher[0], bits // 8 + 8)
                environment = {"KEY": key.hex()}
                out = self.warpaes("decrypt", "-k", "env:KEY", stdin=cipher, env=environment)
                self.assertEqual(out, b"plain")
        cipher = self.warpaes("encrypt", "-k", "raw", "--format", "AES128_CTR_HMAC_SHA256_4KB", stdin=b"plain")
        self.assertEqual((cipher[0], len(cipher)), (24, 24 + 5 + 32))
        how = ("-k", "raw", "--format", "AES128_CTR_HMAC_SHA256_4KB")
        self.assertEqual(self.warpaes("decrypt", *how, stdin=cipher), b"plain")
        self.refused(ARGUMENT, "AES128_GCM_HKDF_4KB", "encrypt", "-k", "raw", "--format", "nonsense")
        self.private("raw", data(16))
        self.refused(KEY_LENGTH, "32 bytes", "encrypt", "-k", "raw", "--format", "C2SP_CHUNKED_256")
        self.private("long", data(32))
        words = "requires 16 bytes, got 32|0.1 accepted 32"
        self.refused(KEY_LENGTH, words, "encrypt", "-k", "long", "--format", "C2SP_CHUNKED_128")
        self.refused(ARGUMENT, "--template", "encrypt", "-k", "keyset", "--format", "AES128_GCM_HKDF_4KB")
        for length in (0, 15, 17, 24, 31, 33, 100):
            self.private("raw", data(length))
            self.refused(KEYSET, "neither a keyset", "encrypt", "-k", "raw")

    def test_no_keys(self):
        self.refused(ARGUMENT, "warpaes keygen -o", "encrypt", stdin=b"plain")
        self.refused(NOT_FOUND, "nowhere", "encrypt", "-k", "nowhere")
        self.refused(ARGUMENT, "environment variable NOTHING", "encrypt", "-k", "env:NOTHING")
        self.refused(ARGUMENT, "number of a descriptor", "encrypt", "-k", "fd:x")

    def test_keys_in_arguments_are_refused(self):
        for key in (data(16).hex(), data(32).hex(), self.read("keyset").decode()):
            result = self.refused(ARGUMENT, "must be the place of a key", "encrypt", "-k", key, stdin=b"plain")
            self.assertNotIn(key.encode(), result.stderr)
            for command in (("keys", "list", "keyset"), ("inspect", "keyset")):
                result = self.refused(ARGUMENT, "must be the place of a key", *command, "-k", key)
                self.assertNotIn(key.encode(), result.stderr)
            result = self.refused(
                ARGUMENT, "WARPAES_KEYSET: must be the place", "encrypt", stdin=b"plain", env={"WARPAES_KEYSET": key}
            )
            self.assertNotIn(key.encode(), result.stderr)

    def test_a_keyset_that_others_can_read_is_warned_of(self):
        os.chmod(self.path("keyset"), 0o604)
        result = self.run_command(WARPAES, "encrypt", "-k", "keyset", stdin=b"plain")
        self.assertEqual(result.returncode, 0)
        self.assertIn(b"mode 604", result.stderr)
        os.chmod(self.path("keyset"), 0o400)
        self.assertEqual(self.run_command(WARPAES, "encrypt", "-k", "keyset", stdin=b"plain").stderr, b"")


class Outputs(KeyedTest):
    def test_existing_outputs_and_the_input_itself(self):
        self.write("in", b"plain")
        self.write("old", b"old")
        os.link(self.path("in"), self.path("hard"))
        self.refused(EXISTS, "'old' exists|with -f", "encrypt", "-k", "keyset", "-o", "old", "in")
        self.assertEqual(self.read("old"), b"old")
        for name in ("in", "hard"):
            self.refused(SAME_FILE, "is the input", "encrypt", "-k", "keyset", "-f", "-o", name, "in")
        self.refused(WRITE, "nowhere/out", "encrypt", "-k", "keyset", "-o", "nowhere/out", "in")
        self.refused(NOT_FOUND, "nowhere", "encrypt", "-k", "keyset", "-o", "out", "nowhere")
        self.encrypt("-f", "-o", "old", "in")
        self.assertEqual(self.decrypt("old"), b"plain")
        with open("/dev/full", "wb") as full:
            self.refused(WRITE, "No space left", "encrypt", "-k", "keyset", "-o", "-", "in", stdout=full)

    def test_a_name_is_given_where_none_is_said(self):
        os.mkdir(self.path("sub"))
        for name in ("in", "sub/in"):
            self.write(name, data(9, name.encode()))
        self.assertEqual(self.encrypt("in"), b"")
        self.assertEqual(self.decrypt("in.warpaes"), data(9, b"in"))
        self.refused(EXISTS, "'in.warpaes' exists|with -f", "encrypt", "-k", "keyset", "in")
        self.encrypt("-f", "in", "sub/in")
        self.assertEqual(self.decrypt("sub/in.warpaes"), data(9, b"sub/in"))
        self.assertEqual(self.decrypt("in.warpaes"), data(9, b"in"))
        self.assertEqual(self.decrypt(stdin=self.encrypt("-o", "-", "in")), data(9, b"in"))
        self.assertEqual(self.decrypt(stdin=self.encrypt(stdin=b"x")), b"x")
        # A result does not replace a file that the command has yet to read.
        self.write("in.warpaes", b"of somebody else")
        self.refused(SAME_FILE, "nothing was done", "encrypt", "-k", "keyset", "-f", "in", "in.warpaes")
        self.assertEqual(self.read("in.warpaes"), b"of somebody else")

    def test_standard_input_is_named(self):
        with open(self.path("empty"), "wb") as only_written:
            self.refused(NOT_FOUND, "standard input", "decrypt", "-k", "keyset", stdin=only_written)

    def test_names_add_no_lines(self):
        """A name with control characters is printed on one line, with the characters escaped."""
        name = "a: authentic\n\x1b[1mb\x7f\x9bé€😀\u202ec\u2066\udc9b\udce2\udc82\udcc3\udced\udca0\udc80"
        shown = (
            "a: authentic\\x0a\\x1b[1mb\\x7f\\x9bé€😀\\xe2\\x80\\xaec\\xe2\\x81\\xa6\\x9b\\xe2\\x82\\xc3\\xed\\xa0\\x80"
        )
        self.encrypt("-o", name, stdin=b"text")
        self.assertEqual(self.warpaes("verify", "-k", "keyset", name).decode(), f"{shown}: authentic\n")
        inspected = self.warpaes("inspect", name).decode().splitlines()
        self.assertEqual(inspected[0], shown)
        missing = f"no {name}"
        for command in ("verify", "decrypt"):
            result = self.refused(NOT_FOUND, f"'no {shown}'", command, "-k", "keyset", missing)
            self.assertEqual(len(result.stderr.splitlines()), 1)
        for command in (("verify", "-k", "keyset"), ("inspect",)):
            result = self.run_command(WARPAES, *command, missing, missing)
            self.assertEqual(len(result.stderr.splitlines()), 3, result.stderr)
            self.assertEqual(result.stderr.decode().count(f"'no {shown}'"), result.stderr.decode().count("'no "))
        os.mkdir(self.path("in"))
        os.symlink("nowhere", self.path(f"in/{name}"))
        result = self.run_command(WARPAES, "verify", "-k", "keyset", "in", name)
        self.assertIn(f"warpaes: warning: 'in/{shown}' is a symbolic link", result.stderr.decode())

    def test_ciphertext_is_not_for_a_terminal(self):
        leader, follower = pty.openpty()
        self.refused(ARGUMENT, "not written to a terminal", "encrypt", "-k", "keyset", stdin=b"plain", stdout=follower)
        os.close(leader)
        os.close(follower)

    def test_records(self):
        self.write("in", data(10_000))
        record = json.loads(self.encrypt("-o", "out", "--json", "in"))
        (file,) = record["files"]
        self.assertEqual((record["status"], record["bytes_read"]), (0, 10_000))
        self.assertEqual((file["input"], file["output"], file["status"]), ("in", "out", 0))
        self.assertEqual(file["bytes_written"], os.stat(self.path("out")).st_size)
        self.assertEqual(file["key_id"], json.loads(self.read("keyset"))["primaryKeyId"])
        result = self.run_command(WARPAES, "decrypt", "-k", "keyset", "--json", "out")
        self.assertTrue(result.stdout == data(10_000))  # standard output contains only the data
        self.assertEqual(json.loads(result.stderr)["files"][0]["bytes_written"], 10_000)
        result = self.run_command(WARPAES, "decrypt", "-k", "keyset", "--json", "-o", "again", "in")
        record = json.loads(result.stdout)
        self.assertEqual(record["status"], result.returncode)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(record["files"][0]["error"], result.stderr.decode())
        result = self.run_command(WARPAES, "encrypt", "-k", "keyset", "--progress", "-o", "again", "in")
        self.assertIn(b"GB/s on ", result.stderr)

    def test_a_device_that_is_not_there(self):
        self.write("in", b"x")
        for action in ("encrypt", "decrypt", "verify"):
            self.refused(BACKEND, "device 99", action, "-k", "keyset", "--device", "99", "in")

    def test_progress_in_a_file_is_lines(self):
        """Without a terminal, progress consists of one line per second without carriage returns."""
        command = [WARPAES, "encrypt", "-k", "keyset", "--progress", "-o", "out", "-"]
        environment = os.environ | {"WARPAES_CALIBRATION": "none"}
        pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
        begin = time.monotonic()
        with subprocess.Popen(command, cwd=self.directory, env=environment, **pipes) as process:
            for _ in range(60):
                process.stdin.write(bytes(1 << 20))
                process.stdin.flush()
                time.sleep(0.01)
            told = process.communicate()[1].decode()
        self.assertEqual(process.returncode, 0)
        self.assertNotRegex(told, "[\r\x1b]")
        lines = told.splitlines()[:-1]  # all lines except the summary
        self.assertGreater(len(lines), 0)
        self.assertLessEqual(len(lines), time.monotonic() - begin + 2)
        for line in lines:
            self.assertRegex(line, r"^[\d.]+ [KM]iB  [\d.]+ GB/s$")

    def test_progress_says_of_how_much(self):
        """The total covers all files whose length is known. A pipe's length is not known."""
        self.write("in", data(3 << 20))
        os.mkfifo(self.path("pipe"))
        command = [WARPAES, "encrypt", "-k", "keyset", "--progress", "--output-dir", "out", "in", "pipe"]
        with subprocess.Popen(command, cwd=self.directory, stderr=subprocess.PIPE) as process:
            with open(self.path("pipe"), "wb") as pipe:
                pipe.write(bytes(1 << 20))
                pipe.flush()
                time.sleep(0.6)
            told = process.communicate()[1].decode()
        self.assertEqual(process.returncode, 0, told)
        self.assertIn("MiB of 3.00 MiB ", told)

    def test_a_fifo_that_nothing_opens_is_not_read_again(self):
        self.write("in", data(9000))
        self.warpaes("encrypt", "-k", "keyset", "in")
        self.warpaes("keygen", "-t", "AES128_GCM_HKDF_4KB", "-o", "other")
        os.mkfifo(self.path("pipe"))
        sealed = self.read("in.warpaes")

        def give():
            with open(self.path("pipe"), "wb") as pipe, contextlib.suppress(BrokenPipeError):
                pipe.write(sealed)

        for status, *command in (
            (AUTHENTICATION, "decrypt", "-k", "other", "-o", "out", "pipe"),
            (AUTHENTICATION, "verify", "-k", "other", "pipe"),
            (AUTHENTICATION, "cat", "-k", "other", "pipe"),
            (FORMAT, "enc", "-d", "-aes-256-cbc", "-pbkdf2", "-pass", "pass:words", "-in", "pipe", "-out", "out"),
        ):
            writer = threading.Thread(target=give)
            writer.start()
            self.refused(status, "", *command)
            writer.join()

    def test_a_file_that_grows_meanwhile_is_warned_of(self):
        self.write("in", data(5_000_000))
        command = [WARPAES, "encrypt", "-k", "keyset", "--threads", "1", "-o", "-", "in"]
        options = {"cwd": self.directory, "env": os.environ | {"WARPAES_CALIBRATION": "none"}, "bufsize": 0}
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options) as p:
            first = p.stdout.read(1)  # the command has started and now waits for a reader
            with open(self.path("in"), "ab") as file:
                file.write(b"more")
            rest, told = p.communicate()
        self.assertEqual(p.returncode, 0, told)
        self.assertRegex(told, rb"'in' grew during the run")
        self.assertTrue(self.decrypt(stdin=first + rest) == data(5_000_000))

    def test_inspect_with_keys_is_exact(self):
        number = self.warpaes("keys", "add", "--primary", "-t", "AES256_CTR_HMAC_SHA256_1MB", "keyset").decode().strip()
        for length in (0, 3_000_000):
            self.encrypt("-f", "-o", "out", stdin=data(length))
            (record,) = json.loads(self.warpaes("inspect", "-k", "keyset", "--json", "out"))
            self.assertEqual(record["key_id"], int(number))
            self.assertEqual(record["template"], "AES256_CTR_HMAC_SHA256_1MB")
            self.assertEqual((record["plaintext_bytes"], record["segments"]), (length, 3 if length else 1))
        self.assertIn(number.encode(), self.warpaes("inspect", "-k", "keyset", "out"))
        self.refused(FORMAT, "'/dev/null'|is not a regular file", "inspect", "/dev/null")
        self.encrypt("-f", "-o", "out", "--aad", "x", stdin=data(100))
        self.refused(AUTHENTICATION, "input", "inspect", "-k", "keyset", "out")
        self.assertIn(b"  100 bytes", self.warpaes("inspect", "-k", "keyset", "--aad", "x", "out"))

    def test_parameters_of_no_template(self):
        # The key is for AES-128, segments of 500 bytes and SHA-1.
        value = base64.b64encode(bytes.fromhex("120708f40310101801" + "1a10") + data(16)).decode()
        text = self.read("keyset").decode()
        self.private("keyset", re.sub('"value": "[^"]*"', f'"value": "{value}"', text).encode())
        self.encrypt("-o", "out", stdin=data(10_000))
        self.assertTrue(self.decrypt("out") == data(10_000))
        (record,) = json.loads(self.warpaes("inspect", "-k", "keyset", "--json", "out"))
        self.assertEqual((record["template"], record["segment_bytes"], record["key_bits"]), (None, 500, 128))
        self.assertEqual((record["plaintext_bytes"], record["segments"]), (10_000, 21))
        self.assertIn(b"AES-128, segments of 500 bytes", self.warpaes("keys", "list", "keyset"))


class Names(KeyedTest):
    """Tests unusual names: names with brackets, empty names, detours over missing folders, and keys as names."""

    def test_brackets_are_part_of_a_name(self):
        self.write("a", b"one")
        self.write("[a]", b"two")
        self.write("[a,b]", b"three")
        for name, content in (("[a]", b"two"), ("[a,b]", b"three")):
            self.encrypt("-f", "-o", "cipher", name)
            self.assertEqual(self.decrypt("cipher"), content)
        self.encrypt("--output-dir", "all", "a", "[a]", "[a,b]")
        self.assertEqual(sorted(os.listdir(self.path("all"))), ["[a,b].warpaes", "[a].warpaes", "a.warpaes"])
        self.refused(AUTHENTICATION, "authentic", "verify", "-k", "keyset", "cipher", "--aad", "[other]")
        self.write("[garbage]", data(100))
        self.assertNotEqual(self.run_command(WARPAES, "verify", "-k", "keyset", "[garbage]").returncode, 0)

    def test_nothing_is_no_name(self):
        self.write("in", b"text")
        self.encrypt("-o", "cipher", "in")
        for arguments in (("-o", "", "cipher"), ("-o", "out", ""), ("--output-dir", "", "cipher")):
            self.refused(ARGUMENT, "empty", "decrypt", "-k", "keyset", *arguments)
        for option in ("-in", "-out"):
            self.refused(ARGUMENT, option, "enc", "-aes-128-ctr", "-pbkdf2", "-pass", "stdin", option, "")

    def test_detours_over_directories_to_be_made(self):
        os.mkdir(self.path("here"))
        self.write("here/a", b"one")
        self.write("here/a.warpaes", b"precious")
        for way in ("new/../here", "new/more/../../here", "here/new/..", "./new/../here"):
            both = ("here/a", "here/a.warpaes")
            self.refused(SAME_FILE, "here", "encrypt", "-k", "keyset", "-f", "--output-dir", way, *both)
            self.assertEqual(self.read("here/a.warpaes"), b"precious")
        self.encrypt("-o", "keyset.warpaes", "here/a")
        os.rename(self.path("keyset"), self.path("here/keyset"))
        before = self.read("here/keyset")
        for way in ("new/../here", "here"):
            command = ("decrypt", "-f", "-k", "here/keyset", "--output-dir", way, "keyset.warpaes")
            self.assertEqual(self.run_command(WARPAES, *command).returncode, SAME_FILE)
            self.assertEqual(self.read("here/keyset"), before)

    def test_a_way_without_end(self):
        self.write("in", b"text")
        self.assertEqual(
            self.run_command(WARPAES, "encrypt", "-k", "keyset", "--output-dir", "q" + "a/" * 20000, "in").returncode,
            WRITE,
        )

    def test_what_looks_like_a_key_is_not_repeated(self):
        secret = data(16, b"secret").hex()
        self.write("in", b"text")
        for command in (
            ("encrypt", "-k", "keyset", "--output-dir", "out", "in", secret),
            ("verify", "-k", "keyset", "in", secret),
            ("verify", "-k", "keyset", "--json", secret),
            ("inspect", "in", secret),
            ("inspect", "--json", secret),
            ("bench", "-k", secret),
        ):
            result = self.run_command(WARPAES, *command)
            self.assertNotEqual(result.returncode, 0, command)
            self.assertNotIn(secret.encode(), result.stdout + result.stderr, command)


class Signals(KeyedTest):
    def start(self, *arguments):
        return subprocess.Popen(
            [WARPAES, *arguments],
            cwd=self.directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def begun(self, content, *arguments):
        """Return a job that has written part of a new file."""
        before = set(os.listdir(self.directory))
        process = self.start(*arguments)
        process.stdin.write(content)
        process.stdin.flush()
        wait_until_read(process.stdin)
        self.assertNotIn("out", os.listdir(self.directory))
        return process, before

    def test_what_can_be_caught_leaves_nothing(self):
        cipher = self.encrypt(stdin=data(1_000_000))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            for action, content in (("encrypt", data(1_000_000)), ("decrypt", cipher[:900_000])):
                process, before = self.begun(content, action, "-k", "keyset", "-o", "out")
                process.send_signal(number)
                self.assertEqual(process.wait(timeout=20), -number)
                process.stdin.close()
                process.stdout.close()
                self.assertEqual(set(os.listdir(self.directory)), before)

    def test_what_is_caught_is_told(self):
        process, _ = self.begun(data(1_000_000), "encrypt", "-k", "keyset", "--json", "-o", "out")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=20), -signal.SIGTERM)
        record = json.loads(process.stdout.read())
        self.assertEqual((record["status"], record["files"][0]["status"]), (CANCELLED, CANCELLED))
        process.stdin.close()
        process.stdout.close()

    def test_what_cannot_leaves_nothing_under_the_name(self):
        process, _ = self.begun(data(1_000_000), "encrypt", "-k", "keyset", "-o", "out")
        process.kill()
        process.wait(timeout=20)
        process.stdin.close()
        process.stdout.close()
        self.assertNotIn("out", os.listdir(self.directory))

    def test_several_files_stop_together(self):
        os.mkdir(self.path("in"))
        for i in range(3):
            self.write(f"in/{i}", b"x")
        os.mkfifo(self.path("pipe"))  # nothing opens the pipe, so the command cannot continue
        process = self.start("encrypt", "-k", "keyset", "--json", "--output-dir", "out", "-j", "1", "pipe", "in")
        deadline = time.monotonic() + 60
        while not os.path.exists(self.path("out/in")) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=20), -signal.SIGINT)
        process.stdin.close()
        record = json.loads(process.stdout.read())
        self.assertEqual([file["status"] for file in record["files"]], [CANCELLED] * 4)
        self.assertEqual(record["files"][3]["error"], "not started")
        process.stdout.close()
        whole = (1 << 30) * 1.001
        for name in os.listdir(self.path("out/in")):
            self.assertRegex(name, r"^\d\.warpaes$")
            self.assertLess(abs(os.stat(self.path(f"out/in/{name}")).st_size - whole), 1e8)


if __name__ == "__main__":
    unittest.main()
