"""Tests that every bad input causes an exit status, a message that names the cause, and no output file."""

import os
import resource
import subprocess
import unittest

from support import (
    ARGUMENT,
    BACKEND,
    DATA_LENGTH,
    EXISTS,
    FORMAT,
    IV,
    IV_LENGTH,
    KEY_LENGTH,
    KEYS,
    NOT_FOUND,
    PADDING,
    RANGE,
    SAME_FILE,
    WARPAES,
    WRITE,
    CommandTest,
    as_ordinary_user,
    data,
)

CTR = ("enc", "-aes-128-ctr", "-K", KEYS[128], "-iv", IV)
CBC = ("enc", "-aes-128-cbc", "-K", KEYS[128], "-iv", IV)


class CommandLine(CommandTest):
    def test_commands_and_flags(self):
        self.refused(ARGUMENT, "no command")
        self.refused(ARGUMENT, "'frobnicate'|unknown command", "frobnicate")
        self.refused(ARGUMENT, "no cipher", "enc", "-K", KEYS[128])
        self.refused(ARGUMENT, "-aes-256-gcm|use `warpaes encrypt`", "enc", "-aes-256-gcm")
        self.refused(ARGUMENT, "-aes-512-ctr|128, 192 or 256", "enc", "-aes-512-ctr")
        self.refused(ARGUMENT, "-des3|unknown option", "enc", "-des3")
        self.refused(ARGUMENT, "-iv|requires a value", "enc", "-aes-128-ctr", "-iv")
        self.refused(ARGUMENT, "-d|accepts no value", "enc", "-d=1")
        self.refused(ARGUMENT, "'file'|-in", "enc", "-aes-128-ctr", "file")
        self.refused(ARGUMENT, "-iter|'many'", "enc", "-iter", "many")
        self.refused(ARGUMENT, "-iter|from 1 to 2147483647", "enc", "-iter", "0")
        self.refused(ARGUMENT, "-p|does not print keys", "enc", "-p")
        self.refused(ARGUMENT, "'x'", "devices", "x")
        self.refused(ARGUMENT, "'x'", "selftest", "x")

    def test_keys(self):
        self.write("in", b"data")
        base = ("enc", "-aes-128-ctr", "-in", "in", "-out", "out", "-iv", IV)
        self.refused(KEY_LENGTH, "-K|32 hexadecimal digits|not 30", *base, "-K", KEYS[128][:30])
        self.refused(KEY_LENGTH, "-K|not 64", *base, "-K", KEYS[256])
        self.refused(ARGUMENT, "-K|character 3", *base, "-K", "00g" + KEYS[128][3:])
        self.refused(NOT_FOUND, "-K|'nowhere'", *base, "-K", "file:nowhere")
        self.refused(ARGUMENT, "-K|NOT_SET", *base, "-K", "env:NOT_SET")
        self.refused(ARGUMENT, "-K|descriptor", *base, "-K", "fd:x")
        self.refused(ARGUMENT, "no key", *base)
        self.refused(ARGUMENT, "-K|no terminal", *base, "-K", "prompt")
        self.write("short", b"0123")
        self.refused(KEY_LENGTH, "-K|not 4", *base, "-K", "file:short")

    def test_ivs(self):
        base = ("enc", "-aes-128-ctr", "-out", "out", "-K", KEYS[128])
        self.refused(IV_LENGTH, "-iv|missing", *base)
        self.refused(IV_LENGTH, "-iv|not 2", *base, "-iv", "00")
        self.refused(IV_LENGTH, "-iv|not 34", *base, "-iv", IV + "00")
        self.refused(ARGUMENT, "-iv|character 1", *base, "-iv", "x" + IV[1:])

    def test_options_of_keys_that_would_have_no_effect(self):
        """Each option is accepted alone. Together, the command would have to ignore one of them."""
        self.private("pw", b"secret\n")
        key, iv, salt = ("-K", KEYS[128]), ("-iv", IV), ("-S", "0123456789abcdef")
        for mode, flags, words in (
            ("ecb", (*key, *iv), "-iv: ECB has no IV"),
            ("ecb", ("-k", "x", *iv), "-iv: ECB has no IV"),
            ("ctr", (*key, *iv, "-pbkdf2"), "-pbkdf2: applies only to passphrases, but -K is the key itself"),
            ("ctr", (*key, *iv, "-iter", "1000"), "-iter: applies only to passphrases"),
            ("ctr", (*key, *iv, "-md", "sha512"), "-md: applies only to passphrases"),
            ("ctr", (*key, *iv, *salt), "-S: applies only to passphrases"),
            ("ecb", (*key, "-pbkdf2"), "-pbkdf2: applies only to passphrases"),
            ("ctr", ("-k", "x", "-nosalt", *salt), "-S: cannot be combined with -nosalt"),
            ("ctr", ("-k", "x", "-kfile", "pw"), "-k: -kfile already provides the passphrase"),
            ("ctr", ("-kfile", "pw", "-k", "x"), "-k: -kfile already provides the passphrase"),
            ("ctr", ("-pass", "pass:y", "-k", "x"), "-pass: -k already provides the passphrase"),
            ("ctr", ("-pass", "file:pw", "-kfile", "pw"), "-pass: -kfile already provides the passphrase"),
        ):
            for direction in ("-e", "-d"):
                with self.subTest(mode=mode, flags=flags):
                    self.refused(ARGUMENT, words + "|omit it",
                                 "enc", f"-aes-128-{mode}", direction, "-out", "out", *flags)  # fmt: skip
        for mode, flags in (("ctr", (*key, *iv, "-k", "x")), ("cbc", (*key, *iv, "-pass", "pass:x", "-pbkdf2")),
                            ("ecb", (*key, "-kfile", "pw"))):  # fmt: skip
            self.refused(ARGUMENT, "has no effect, because -K is the key itself",
                         "enc", f"-aes-128-{mode}", "-out", "out", *flags)  # fmt: skip
        # Here, -S sets the IV.
        self.warpaes("enc", "-aes-128-ctr", *key, "-kfile", "pw", "-pbkdf2")
        self.warpaes("enc", "-aes-128-ctr", *iv, "-kfile", "pw", "-pbkdf2")

    def test_passphrases(self):
        base = ("enc", "-aes-128-ctr", "-pbkdf2", "-out", "out")
        self.refused(ARGUMENT, "-pass|env:NAME", *base, "-pass", "secret")
        self.refused(ARGUMENT, "-pass|NOT_SET", *base, "-pass", "env:NOT_SET")
        self.refused(NOT_FOUND, "-kfile|'nowhere'", *base, "-kfile", "nowhere")
        self.write("empty", b"\n")
        self.refused(ARGUMENT, "-kfile|'empty'", *base, "-kfile", "empty")
        self.refused(ARGUMENT, "digest|'md17'", *base, "-md", "md17", "-k", "x")
        self.refused(ARGUMENT, "-S|not 4", *base, "-S", "0011", "-k", "x")
        self.refused(ARGUMENT, "-S|character 1", *base, "-S", "zz11223344556677", "-k", "x")

    def test_backends(self):
        self.refused(BACKEND, "backend|'abacus'|libcrypto", *CTR, "-out", "out", "--backend", "abacus")
        self.refused(BACKEND, "'abacus'", *CTR, "-out", "out", env={"WARPAES_BACKEND": "abacus"})
        self.refused(BACKEND, "device|9999", *CTR, "-out", "out", "--device", "9999")
        self.refused(ARGUMENT, "chunk", *CTR, "-out", "out", "--chunk", "1000")
        self.refused(ARGUMENT, "--chunk|'x'", *CTR, "-out", "out", "--chunk", "x")
        if b"cuda" not in self.warpaes("devices") or b"cuda        no" in self.warpaes("devices"):
            self.refused(BACKEND, "'cuda' cannot run on this machine", *CTR, "-out", "out", "--backend", "cuda")


class Data(CommandTest):
    def test_lengths_and_padding(self):
        self.refused(DATA_LENGTH, "17 bytes|16-byte blocks", *CBC, "-nopad", "-out", "out", stdin=data(17))
        self.refused(DATA_LENGTH, "33 bytes|16-byte blocks", *CBC, "-d", "-out", "out", stdin=data(33))
        self.refused(DATA_LENGTH, "empty", *CBC, "-d", "-out", "out", stdin=b"")
        self.write("in", data(1_000_001))
        self.refused(DATA_LENGTH, "1000001 bytes", *CBC, "-d", "-in", "in", "-out", "out")
        good = self.warpaes(*CBC, stdin=data(100_000))
        self.refused(PADDING, "padding is wrong", *CBC, "-d", "-out", "out", stdin=good[:-16])
        self.write("in", good[:-1] + bytes([good[-1] ^ 1]))
        self.refused(PADDING, "padding", *CBC, "-d", "-in", "in", "-out", "out")
        result = self.run_command(WARPAES, *CBC, "-d", stdin=good[:-1] + bytes([good[-1] ^ 1]))
        self.assertEqual(result.returncode, PADDING)
        self.assertLess(len(result.stdout), len(good) - 16 + 1)

    def test_foreign_and_truncated_files(self):
        flags = ("enc", "-aes-256-cbc", "-pbkdf2", "-pass", "env:P", "-d", "-out", "out")
        environment = {"P": "secret"}
        self.refused(FORMAT, "Salted__|`openssl enc`, or it is base64", *flags, stdin=data(100), env=environment)
        self.refused(FORMAT, "Salted__", *flags, stdin=b"", env=environment)
        self.refused(FORMAT, "truncated|12", *flags, stdin=b"Salted__0123", env=environment)
        self.refused(FORMAT, "truncated|3", *flags, stdin=b"Sal", env=environment)
        self.refused(DATA_LENGTH, "empty", *flags, stdin=b"Salted__01234567", env=environment)
        self.refused(
            PADDING, "key, passphrase or IV is wrong", *flags, env=environment, stdin=b"Salted__01234567" + data(16)
        )

    def test_base64(self):
        good = self.warpaes(*CBC, "-a", stdin=data(1000))
        self.assertEqual(self.warpaes(*CBC, "-a", "-d", stdin=good), data(1000))
        self.refused(FORMAT, "base64|invalid character", *CBC, "-a", "-d", "-out", "out", stdin=b"%" + good)
        self.refused(FORMAT, "base64|truncated", *CBC, "-a", "-d", "-out", "out", stdin=good[:-3])
        self.refused(FORMAT, "base64|'-'", *CBC, "-a", "-d", "-out", "out", stdin=good[:40] + b"-" + good[40:])
        self.refused(FORMAT, "base64|invalid character", *CBC, "-a", "-d", "-out", "out", stdin=b"QQ==\nQQ==\n")

    def test_ranges(self):
        self.write("in", data(1000))
        base = (*CTR, "-d", "-in", "in", "-out", "out", "--range")
        self.refused(RANGE, "byte 1000|1000 bytes", *base, "0:1000")
        self.refused(RANGE, "byte 1000", *base, "1000:")
        self.refused(RANGE, "range|before", *base, "5:4")
        for text in ("5", "a:b", ":5", "-1:5", "1:2:3", ""):
            self.refused(ARGUMENT, "--range", *base, text)
        self.refused(RANGE, "seek", *CTR, "-d", "-out", "out", "--range", "0:1", stdin=data(100))
        self.refused(RANGE, "base64", *CTR, "-d", "-a", "-in", "in", "-out", "out", "--range", "0:1")
        self.refused(
            RANGE,
            "beginning",
            "enc",
            "-aes-128-ofb",
            "-K",
            KEYS[128],
            "-iv",
            IV,
            "-in",
            "in",
            "-out",
            "out",
            "--range",
            "0:1",
        )
        self.refused(DATA_LENGTH, "1000 bytes", *CBC, "-d", "-in", "in", "-out", "out", "--range", "0:1")


class Files(CommandTest):
    def test_inputs(self):
        os.mkdir(self.path("dir"))
        self.refused(NOT_FOUND, "'nowhere'|No such file", *CTR, "-in", "nowhere", "-out", "out")
        self.refused(NOT_FOUND, "'dir' is a directory", *CTR, "-in", "dir", "-out", "out")

    @as_ordinary_user
    def test_unreadable_input(self):
        self.write("in", b"data")
        os.chmod(self.path("in"), 0)
        self.refused(NOT_FOUND, "'in'|Permission denied", *CTR, "-in", "in", "-out", "out")

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user; root on any machine runs this test")
    def test_unreadable_input_and_directory_as_somebody_else(self):
        self.write("in", b"data")
        os.chmod(self.path("in"), 0)
        os.chmod(self.directory, 0o755)
        self.write("readable", b"data")
        os.chmod(self.path("readable"), 0o644)
        probe = self.run_command(WARPAES, "--version", user=65534, check=False)
        if probe.returncode != 0:
            self.skipTest(
                "other users may not enter the build directory; root runs this test where they may, such as below /tmp"
            )
        self.refused(NOT_FOUND, "'in'|Permission denied", *CTR, "-in", "in", "-out", "/dev/null", user=65534)
        self.refused(WRITE, "'out'|Permission denied", *CTR, "-in", "readable", "-out", "out", user=65534)

    def test_outputs(self):
        os.mkdir(self.path("dir"))
        self.write("in", b"data")
        self.write("old", b"old")
        base = (*CTR, "-in", "in", "-out")
        self.refused(WRITE, "'dir' is a directory", *base, "dir")
        self.refused(WRITE, "'dir' is a directory", *base, "dir", "-f")
        self.refused(WRITE, "'nowhere'|No such file", *base, "nowhere/out")
        self.refused(EXISTS, "'old' exists", *base, "old")
        self.assertEqual(self.read("old"), b"old")
        self.warpaes(*base, "old", "-f")
        self.assertNotEqual(self.read("old"), b"old")

    def test_same_file(self):
        self.write("in", b"data")
        os.symlink("in", self.path("soft"))
        os.link(self.path("in"), self.path("hard"))
        for name in ("in", "soft", "hard", "./in"):
            self.refused(SAME_FILE, "is the input file", *CTR, "-in", "in", "-out", name, "-f")
        with open(self.path("in"), "ab") as target:
            self.refused(SAME_FILE, "standard output|input", *CTR, "-in", "in", stdout=target)
        self.assertEqual(self.read("in"), b"data")

    def test_full_device(self):
        self.write("in", data(1_000_000))
        self.refused(WRITE, "'/dev/full'|No space left", *CTR, "-in", "in", "-out", "/dev/full")
        with open("/dev/full", "wb") as full:
            self.refused(WRITE, "standard output|No space left", *CTR, "-in", "in", stdout=full)
            self.assertEqual(self.run_command(WARPAES, "--help", stdout=full).returncode, WRITE)

    def test_limit_on_the_size_of_files(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

        self.write("in", data(3_000_000))
        self.refused(WRITE, "'out'|File too large", *CTR, "-in", "in", "-out", "out", preexec_fn=limit)

    def test_full_disk(self):
        os.mkdir(self.path("small"))
        mounted = (
            subprocess.run(
                ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", self.path("small")], stderr=subprocess.DEVNULL
            )
            if os.geteuid() == 0
            else None
        )
        if mounted is None or mounted.returncode != 0:
            self.skipTest("cannot mount a small file system; root runs this test outside containers")
        try:
            self.write("in", data(3_000_000))
            self.refused(WRITE, "'small/out' needs|free; free some", *CTR, "-in", "in", "-out", "small/out")
            self.refused(WRITE, "No space left", *CTR, "-out", "small/out", stdin=data(3_000_000))
            self.assertEqual(os.listdir(self.path("small")), [])
        finally:
            subprocess.run(["umount", self.path("small")], check=True)

    def test_closed_pipe(self):
        self.write("in", data(1_000_000))
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "wb") as pipe:
            self.refused(WRITE, "standard output|Broken pipe|reader", *CTR, "-in", "in", stdout=pipe)


if __name__ == "__main__":
    unittest.main()
