"""Tests that `warpaes enc` and `openssl enc` read each other's files and write the same bytes."""

import base64
import itertools
import json
import os
import subprocess
import unittest

from support import (
    ARGUMENT,
    FORMAT,
    IV,
    IV_LENGTH,
    KEY_LENGTH,
    KEYS,
    KEYSET,
    MODES,
    OPENSSL,
    PADDED,
    SAME_FILE,
    WARPAES,
    CommandTest,
    data,
)

LENGTHS = (0, 1, 15, 16, 17, 1000, 300_001)

with_openssl = unittest.skipUnless(
    OPENSSL, "there is no openssl command; a machine where `tools/setup test` has installed it runs this test"
)


@with_openssl
class Interchange(CommandTest):
    def both_ways(self, plain, cipher, *flags, decrypt_flags=None, **options):
        """Check deterministic encryption. Both programs must produce the same ciphertext and decrypt it."""
        decrypt_flags = flags if decrypt_flags is None else decrypt_flags
        theirs = self.openssl("enc", cipher, "-e", *flags, stdin=plain, **options)
        ours = self.warpaes("enc", cipher, "-e", *flags, stdin=plain, **options)
        self.assertEqual(ours, theirs, (cipher, flags, len(plain)))
        self.assertEqual(self.warpaes("enc", cipher, "-d", *decrypt_flags, stdin=theirs, **options), plain)

    def cross(self, plain, cipher, *flags, **options):
        """Check encryption with a random salt. Each program must decrypt the other program's file."""
        theirs = self.openssl("enc", cipher, "-e", *flags, stdin=plain, **options)
        self.assertEqual(self.warpaes("enc", cipher, "-d", *flags, stdin=theirs, **options), plain, flags)
        ours = self.warpaes("enc", cipher, "-e", *flags, stdin=plain, **options)
        self.assertEqual(self.openssl("enc", cipher, "-d", *flags, stdin=ours, **options), plain, flags)
        self.assertEqual(len(ours), len(theirs))

    def test_every_cipher_with_key_and_iv(self):
        for bits in KEYS:
            for mode in MODES:
                for length in LENGTHS:
                    flags = ["-K", KEYS[bits]] + ([] if mode == "ecb" else ["-iv", IV])
                    self.both_ways(data(length), f"-aes-{bits}-{mode}", *flags)

    def test_without_padding(self):
        for mode in PADDED:
            for length in (0, 16, 4096, 300_000):
                iv = [] if mode == "ecb" else ["-iv", IV]
                self.both_ways(data(length), f"-aes-256-{mode}", "-K", KEYS[256], "-nopad", *iv)

    def test_short_names_are_cbc(self):
        for bits in KEYS:
            self.both_ways(data(100), f"-aes{bits}", "-K", KEYS[bits], "-iv", IV)

    def test_every_cipher_with_a_passphrase(self):
        for bits in KEYS:
            for mode in MODES:
                self.cross(data(1000), f"-aes-{bits}-{mode}", "-pbkdf2", "-iter", "10", "-k", "secret")

    def test_every_source_of_the_passphrase(self):
        self.write("pw", b"a passphrase with spaces\nsecond line\n")
        environment = {"PASSPHRASE": "from the environment"}
        for source in (
            ["-k", "secret"],
            ["-pass", "pass:secret"],
            ["-pass", "env:PASSPHRASE"],
            ["-pass", "file:pw"],
            ["-kfile", "pw"],
        ):
            self.cross(data(1000), "-aes-256-ctr", "-pbkdf2", *source, env=environment)

    def test_passphrase_from_a_descriptor(self):
        self.write("pw", b"secret\n")
        self.write("plain", data(1000))

        def on_descriptor(command, *arguments):
            with open(self.path("pw"), "rb") as file:
                return command(
                    "enc",
                    "-aes-128-cbc",
                    "-pbkdf2",
                    "-pass",
                    f"fd:{file.fileno()}",
                    *arguments,
                    pass_fds=(file.fileno(),),
                )

        on_descriptor(self.warpaes, "-in", "plain", "-out", "ours")
        on_descriptor(self.openssl, "-in", "plain", "-out", "theirs")
        self.assertEqual(on_descriptor(self.openssl, "-d", "-in", "ours"), data(1000))
        self.assertEqual(on_descriptor(self.warpaes, "-d", "-in", "theirs"), data(1000))

    def test_passphrase_on_standard_input(self):
        self.write("plain", data(1000))
        flags = ("enc", "-aes-128-cbc", "-pbkdf2", "-pass", "stdin")
        self.warpaes(*flags, "-in", "plain", "-out", "ours", stdin=b"secret\n")
        self.assertEqual(self.openssl(*flags, "-d", "-in", "ours", stdin=b"secret\n"), data(1000))
        # The data may follow the passphrase's line.
        ours = self.warpaes(*flags, stdin=b"secret\n" + data(1000))
        self.write("ours", ours)
        self.assertEqual(self.openssl(*flags, "-d", "-in", "ours", stdin=b"secret\n"), data(1000))

    def test_line_ends_in_passphrase_files(self):
        self.write("dos", b"secret\r\n")
        self.write("bare", b"secret")
        for source in (["-kfile", "dos"], ["-pass", "file:dos"], ["-kfile", "bare"], ["-pass", "file:bare"]):
            self.cross(data(100), "-aes-256-cbc", "-pbkdf2", *source)

    def test_derivations(self):
        for flags in (
            [],
            ["-md", "md5"],
            ["-md", "sha1"],
            ["-pbkdf2"],
            ["-iter", "1234"],
            ["-pbkdf2", "-iter", "7"],
            ["-pbkdf2", "-md", "sha512"],
            ["-iter", "3", "-md", "sha3-256"],
        ):
            for bits in KEYS:
                for mode in ("cbc", "ecb", "ctr"):
                    self.cross(data(100), f"-aes-{bits}-{mode}", *flags, "-k", "secret")

    def test_salts(self):
        for derivation in ([], ["-pbkdf2"]):
            self.both_ways(data(100), "-aes-256-cbc", *derivation, "-k", "secret", "-nosalt")
            self.both_ways(data(100), "-aes-256-cbc", *derivation, "-k", "secret", "-S", "0123456789abcdef")
            self.cross(data(100), "-aes-256-cbc", *derivation, "-k", "secret", "-salt")
            # The last of several options counts.
            self.cross(data(100), "-aes-256-cbc", *derivation, "-k", "secret", "-nosalt", "-salt")
            self.both_ways(data(100), "-aes-256-cbc", *derivation, "-k", "secret", "-salt", "-nosalt")

    def test_key_before_passphrase(self):
        flags = ("-aes-256-cbc", "-K", KEYS[256], "-iv", IV, "-k", "secret", "-pbkdf2")
        for salt in ((), ("-nosalt",)):  # the command does not write files with -nosalt but reads them
            sealed = self.openssl("enc", *flags, *salt, stdin=data(100))
            self.assertEqual(self.warpaes("enc", "-d", *flags, *salt, stdin=sealed), data(100))
        self.both_ways(data(100), "-aes-256-cbc", "-K", KEYS[256], "-k", "secret", "-pbkdf2", "-nosalt")

    def test_base64(self):
        for length in LENGTHS:
            for mode in ("cbc", "ctr"):
                flags = ("-K", KEYS[128], "-iv", IV, "-a")
                self.both_ways(data(length), f"-aes-128-{mode}", *flags)
                self.both_ways(data(length), f"-aes-128-{mode}", *flags, "-A")
                self.both_ways(data(length), f"-aes-128-{mode}", *flags, "-A", decrypt_flags=flags)
        self.cross(data(1000), "-aes-256-cbc", "-base64", "-pbkdf2", "-k", "secret")

    def test_files_and_streams_give_the_same(self):
        plain = data(3_000_017)
        self.write("plain", plain)
        for mode in MODES:
            flags = ["-K", KEYS[128]] + ([] if mode == "ecb" else ["-iv", IV])
            cipher = f"-aes-128-{mode}"
            expected = self.openssl("enc", cipher, *flags, stdin=plain)
            self.assertEqual(self.warpaes("enc", cipher, *flags, "-in", "plain"), expected)
            self.warpaes("enc", cipher, *flags, "-out", f"{mode}.enc", stdin=plain)
            self.assertEqual(self.read(f"{mode}.enc"), expected)
            self.warpaes(
                "enc", cipher, *flags, "-in", "plain", "-out", f"{mode}.enc", "-f", "--chunk", "64k", "--threads", "5"
            )
            self.assertEqual(self.read(f"{mode}.enc"), expected)
            self.assertEqual(self.warpaes("enc", cipher, *flags, "-d", "-in", f"{mode}.enc"), plain)
            with open(self.path("plain"), "rb") as source, open(self.path("redirected"), "wb") as target:
                self.warpaes("enc", cipher, *flags, stdin=source, stdout=target)
            self.assertEqual(self.read("redirected"), expected)

    def test_every_backend_makes_the_same_file(self):
        plain = data(1_000_003)
        expected = self.openssl("enc", "-aes-192-ctr", "-K", KEYS[192], "-iv", IV, stdin=plain)
        backends = [b["name"] for b in json.loads(self.warpaes("devices", "--json")) if b["usable"]]
        self.assertIn("libcrypto", backends)
        for backend in backends:
            flags = ("enc", "-aes-192-ctr", "-K", KEYS[192], "-iv", IV, "--json", "-f", "-out", "out")
            record = json.loads(self.warpaes(*flags, "--backend", backend, stdin=plain))
            self.assertEqual(record["backend"], backend)
            self.assertEqual(self.read("out"), expected)
            record = json.loads(self.warpaes(*flags, stdin=plain, env={"WARPAES_BACKEND": backend}))
            self.assertEqual(record["backend"], backend)


# Without a salt, the same passphrase gives the same ciphertext. A single round of derivation keeps the tests fast.
FROM_PASSPHRASE = ("enc", "-aes-256-ctr", "-pbkdf2", "-iter", "1", "-nosalt")


@with_openssl
class Passphrases(CommandTest):
    """Tests lines with passphrases. openssl reads as much of a line as fits in its buffers."""

    def run_both(self, *arguments, **options):
        """Run `warpaes` and `openssl`, and check that both fail or that their bytes are equal. Return the result of
        `warpaes`."""
        theirs = self.run_command(OPENSSL, *arguments, **options)
        ours = self.run_command(WARPAES, *arguments, **options)
        self.assertEqual(ours.returncode == 0, theirs.returncode == 0, (arguments, ours.stderr, theirs.stderr))
        self.assertEqual(ours.stdout, theirs.stdout, (arguments, ours.stderr))
        return ours

    def from_everywhere(self, content):
        """Return the results by the source of the passphrase's line."""
        self.private("pw", content)
        self.write("plain", data(100))
        flags = (*FROM_PASSPHRASE, "-in", "plain")
        results = {source: self.run_both(*flags, *source.split()) for source in ("-kfile pw", "-pass file:pw")}
        for source in ("-kfile -", "-pass stdin"):
            results[source] = self.run_both(*flags, *source.split(), stdin=content)
        return results

    def test_lines_of_every_length(self):
        lengths = (2, 3, 126, 127, 128, 129, 511, 512, 513, 1022, 1023, 1024, 1025, 5000)
        for length, end in itertools.product(lengths, (b"", b"\n", b"\r\n", b"\r\r\n", b"\n\nsecond line\n")):
            line = data(length).hex().encode()[:length]
            for source, result in self.from_everywhere(line + end).items():
                most = 127 if "kfile" in source else 1023
                self.assertEqual(result.returncode, 0, (source, length, end))
                if length > most:
                    self.assertIn(f"the first {most} bytes".encode(), result.stderr, (source, length, end))
                elif length + len(end) < most:
                    self.assertEqual(result.stderr, b"", (source, length, end))

    def test_what_is_hardly_a_line(self):
        contents = [
            b"",
            b"\n",
            b"\r",
            b"\r\n",
            b"x",
            b"x\n",
            b"x\r\n",
            b"\rx\n",
            b"\n\n",
            b"\nsecond\n",
            b" \n",
            b"  \n",
        ]
        contents += [b"\0", b"\0\n", b"\0abc\n", b"a\0b\n", b"ab\0c\n", b"ab\n\0", b"ab\r\0c\n", b"abcdef\0"]
        contents += [b"x" * at + b"\0" + b"y" * 2000 + b"\n" for at in (2, 100, 126, 127, 128, 1022, 1023, 1024)]
        for content in contents:
            for source, result in self.from_everywhere(content).items():
                if result.returncode == 0 and len(content) < 100:
                    nul = b"\0" in content.split(b"\n")[0]
                    told = (
                        f"ends before byte {content.index(0) + 1}, which is a NUL, as in openssl".encode()
                        if nul
                        else b""
                    )
                    self.assertIn(told, result.stderr, (source, content))
                    self.assertEqual(result.stderr == b"", not nul, (source, content))

    def test_what_does_not_fit_stays_on_standard_input(self):
        for length in (10, 126, 127, 128, 1022, 1023, 1024):
            for end in (b"", b"\n"):
                for source in ("-kfile -", "-pass stdin"):
                    line = data(length).hex().encode()[:length]
                    self.run_both(*FROM_PASSPHRASE, *source.split(), stdin=line + end + b"the data")

    def test_descriptors(self):
        self.write("plain", data(100))
        for content in (b"secret\n", b"x", b"\n", data(2000).hex().encode(), b"ab\0c\n"):
            self.private("pw", content)
            results = []
            for command in (OPENSSL, WARPAES):
                with open(self.path("pw"), "rb") as file:
                    where = ("-in", "plain", "-pass", f"fd:{file.fileno()}")
                    results.append(self.run_command(command, *FROM_PASSPHRASE, *where, pass_fds=(file.fileno(),)))
            self.assertEqual(results[0].stdout, results[1].stdout)
            self.assertEqual([r.returncode for r in results], [0, 0])

    def test_a_random_key_as_the_passphrase(self):
        """`openssl rand -hex 64 > k` writes a line with 128 characters."""
        self.private("k", data(64).hex().encode() + b"\n")
        for cipher in ("-aes-256-ctr", "-aes-256-cbc"):
            for derivation in ([], ["-pbkdf2"]):
                for direction in ((OPENSSL, WARPAES), (WARPAES, OPENSSL)):
                    flags = ("enc", cipher, *derivation, "-kfile", "k")
                    sealed = self.run_command(direction[0], *flags, stdin=data(1000)).stdout
                    opened = self.run_command(direction[1], *flags, "-d", stdin=sealed)
                    self.assertEqual((opened.returncode, opened.stdout), (0, data(1000)))

    def test_arguments_and_the_environment_are_taken_whole(self):
        for length in (0, 1, 127, 128, 1023, 1024, 2000):
            text = data(length).hex()[:length]
            for source in (["-k", text], ["-pass", f"pass:{text}"], ["-pass", "env:TEXT"]):
                result = self.run_both(*FROM_PASSPHRASE, *source, stdin=data(100), env={"TEXT": text})
                self.assertEqual(result.returncode, 0)

    def test_the_last_of_several_counts(self):
        self.private("pw", b"from the file\n")
        for sources in (["-k", "x", "-k", "y"], ["-pass", "pass:y", "-pass", "file:pw"]):
            self.run_both(*FROM_PASSPHRASE, *sources, stdin=data(100))

    def test_numbers_of_rounds(self):
        flags = ("enc", "-aes-256-ctr", "-nosalt", "-k", "secret")
        for number in ("1", "2", "0x10", "0X1f", "010", "+5", " 7", "10000", "10001"):
            self.assertEqual(self.run_both(*flags, "-iter", number, stdin=data(100)).returncode, 0, number)
        for number in ("0", "-1", "08", "0x", "", "5 ", "1e3", "x", "2147483648", "99999999999999999999"):
            self.refused(ARGUMENT, "-iter", *flags, "-iter", number, stdin=data(100))
            self.assertNotEqual(self.run_command(OPENSSL, *flags, "-iter", number, stdin=data(100)).returncode, 0)


@with_openssl
class Differences(CommandTest):
    """Input that openssl accepts but warpaes refuses with a message (docs/command-line.md lists such input)."""

    def test_keys_ivs_and_salts_of_other_lengths(self):
        cipher = ("enc", "-aes-128-cbc")
        for what, status, digits, flags in (
            ("-K", KEY_LENGTH, 32, ("-iv", IV)),
            ("-iv", IV_LENGTH, 32, ("-K", KEYS[128])),
            ("-S", ARGUMENT, 16, ("-pbkdf2", "-k", "x")),
        ):
            for length in (0, 1, 2, digits - 2, digits - 1, digits + 1, digits + 2, 2 * digits):
                text = data(64).hex()[:length]
                words = "pad with zeros" if length < digits else "ignore the rest"
                result = self.refused(status, f"{what}: |{words}", *cipher, *flags, what, text, stdin=b"x")
                if length > 2:
                    self.assertNotIn(text.encode(), result.stderr)
                theirs = self.run_command(OPENSSL, *cipher, *flags, what, text, stdin=b"x")
                self.assertEqual(theirs.returncode, 0, theirs.stderr)

    def test_flags_and_ciphers(self):
        for flag in ("-p", "-P"):
            self.refused(ARGUMENT, f"{flag}: |does not print keys", "enc", "-aes-128-ctr", flag, "-k", "x")
        for cipher in ("-aes-128-cbc-cts", "-AES-256-CBC-CTS"):
            self.refused(ARGUMENT, f"{cipher}: |ciphertext stealing", "enc", cipher, "-K", KEYS[128], "-iv", IV)
        for flag in ("-list", "-ciphers", "-none", "-debug", "-z"):
            self.refused(ARGUMENT, "unknown option", "enc", "-aes-128-ctr", flag, "-k", "x")

    def test_base64(self):
        flags = ("enc", "-d", "-aes-128-ctr", "-K", KEYS[128], "-iv", IV, "-a")
        plain = data(3000)
        sealed = self.openssl("enc", "-aes-128-ctr", "-K", KEYS[128], "-iv", IV, stdin=plain)
        text = base64.b64encode(sealed)

        def lines(length, end=b"\n"):
            return b"".join(text[at : at + length] + end for at in range(0, len(text), length))

        # warpaes agrees with openssl, or accepts input that openssl treats as empty or reads only in part.
        for good in (
            lines(64),
            lines(4),
            lines(76),
            lines(75),
            lines(1),
            lines(64, b"\r\n"),
            lines(64, b" \t\n"),
            b"\n\n" + lines(64),
        ):
            self.assertEqual(self.warpaes(*flags, stdin=good), plain)
            self.assertEqual(self.openssl(*flags, stdin=good), plain)
        for good in (text, text + b"\n", lines(2000)):
            self.assertEqual(self.warpaes(*flags, stdin=good), plain)
            self.assertEqual(self.warpaes(*flags, "-A", stdin=good), plain)
        self.assertEqual(self.openssl(*flags, "-A", stdin=text), plain)
        self.assertEqual(self.openssl(*flags, stdin=text), b"")
        self.assertEqual(self.warpaes(*flags, "-A", stdin=lines(64)), plain)
        self.assertNotEqual(self.run_command(OPENSSL, *flags, "-A", stdin=lines(64)).stdout, plain)
        for words, bad in (
            ("remove lines of other text", b"Here it comes: \n" + lines(64)),
            ("remove lines of other text", b"-----BEGIN-----\n" + lines(64) + b"-----END-----\n"),
            ("remove lines of other text", lines(64) + b"\nThat was it.\n"),
            ("remove lines of other text", lines(64)[:1000] + b"!" + lines(64)[1000:]),
            ("truncated", text[:-3]),
            ("final '='", base64.b64encode(sealed[:100]) + b"\n" + b" " * 70_000 + lines(64)),
        ):
            self.refused(FORMAT, f"base64|{words}", *flags, "-out", "out", stdin=bad)

    def test_what_means_nothing(self):
        flags = ("enc", "-aes-128-ctr", "-K", KEYS[128], "-iv", IV)
        expected = self.openssl(*flags, stdin=data(100))
        for extra in (["-A"], ["-bufsize", "1k"], ["-salt"]):
            self.assertEqual(self.openssl(*flags, *extra, stdin=data(100)), expected)
            self.assertEqual(self.warpaes(*flags, *extra, stdin=data(100)), expected)
        self.assertEqual(self.warpaes(*flags, "-A", "-d", stdin=expected), data(100))
        result = self.run_command(WARPAES, *flags, "-v", stdin=data(100))
        self.assertEqual((result.returncode, result.stdout), (0, expected))
        self.assertIn(b"100 B", result.stderr)


class KeySources(CommandTest):
    def test_every_source_of_the_key(self):
        key = bytes.fromhex(KEYS[256])
        self.private("hex", KEYS[256].upper().encode() + b"\n")
        self.private("raw", key)
        flags = ("enc", "-aes-256-ctr", "-iv", IV)
        expected = self.warpaes(*flags, "-K", KEYS[256], stdin=data(100))
        self.assertNotEqual(expected, data(100))
        for source in ("file:hex", "file:raw", "env:KEY"):
            result = self.run_command(WARPAES, *flags, "-K", source, stdin=data(100), env={"KEY": KEYS[256]})
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, expected, b""))
        with open(self.path("raw"), "rb") as file:
            self.assertEqual(
                self.warpaes(*flags, "-K", f"fd:{file.fileno()}", stdin=data(100), pass_fds=(file.fileno(),)), expected
            )

    def test_secrets_on_the_command_line_are_warned_of(self):
        flags = ("enc", "-aes-128-ctr", "-nosalt")
        self.private("key", KEYS[128].encode())
        self.private("pw", b"xyz\n")
        for secret, quietly in (
            (["-K", KEYS[128], "-iv", IV], ["-K", "file:key", "-iv", IV]),
            (["-k", "xyz", "-pbkdf2"], ["-kfile", "pw", "-pbkdf2"]),
            (["-pass", "pass:xyz", "-pbkdf2"], ["-pass", "file:pw", "-pbkdf2"]),
        ):
            result = self.run_command(WARPAES, *flags, *secret, stdin=b"data")
            self.assertEqual(result.returncode, 0)
            self.assertIn(b"can read a secret on the command line", result.stderr)
            silent = self.run_command(WARPAES, *flags, *quietly, stdin=b"data")
            self.assertEqual((silent.returncode, silent.stderr, silent.stdout), (0, b"", result.stdout))
            self.assertEqual(self.warpaes(*flags, "-d", *secret, stdin=result.stdout), b"data")

    def test_secrets_on_the_command_line_are_overwritten_there(self):
        os.mkfifo(self.path("pipe"))
        for secret, hidden in (
            (["-K", KEYS[128], "-iv", IV], KEYS[128]),
            ([f"-K={KEYS[128]}", "-iv", IV], KEYS[128]),
            (["-k", "correct horse", "-pbkdf2"], "correct horse"),
            (["-pass", "pass:correct horse", "-pbkdf2"], "correct horse"),
            # A secret that is not used is still a secret.
            (["-k", "correct horse", "-k", "another", "-pbkdf2"], "correct horse"),
            (["-pass", "pass:correct horse", "-pass", "pass:another", "-pbkdf2"], "correct horse"),
            (["-K", KEYS[128], "-K", "00" * 16, "-iv", IV], KEYS[128]),
        ):
            with subprocess.Popen(
                [WARPAES, "enc", "-aes-128-ctr", *secret, "-in", self.path("pipe")],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            ) as process:
                self.assertIn(
                    b"can read a secret on the command line", process.stderr.readline()
                )  # the command now waits
                with open(f"/proc/{process.pid}/cmdline", "rb") as file:
                    seen = file.read()
                with open(self.path("pipe"), "wb"):
                    pass
                process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0)
            self.assertNotIn(hidden.encode(), seen)
            self.assertIn(b"*" * len(hidden), seen)
            self.assertIn(b"-aes-128-ctr", seen)

    def test_files_that_others_can_read_are_warned_of(self):
        self.write("key", KEYS[128].encode())
        self.write("pw", b"secret\n")
        flags = ("enc", "-aes-128-ctr", "-iv", IV)
        for source in ("-K file:key", "-pbkdf2 -pass file:pw", "-pbkdf2 -kfile pw", "-K fd:{}"):
            for mode, warned in ((0o600, False), (0o640, True), (0o604, True)):
                for name in ("key", "pw"):
                    os.chmod(self.path(name), mode)
                with open(self.path("key"), "rb") as file:
                    words = source.format(file.fileno()).split()
                    result = self.run_command(WARPAES, *flags, *words, stdin=b"x", pass_fds=(file.fileno(),))
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(f"(mode {mode:o})".encode() in result.stderr, warned, (source, result.stderr))

    def test_descriptors_are_numbers(self):
        for number in ("-1", "x", "", "3x", "99999999999"):
            for source in (["-K", f"fd:{number}"], ["-pass", f"fd:{number}"]):
                self.refused(ARGUMENT, "number of a descriptor", "enc", "-aes-128-ctr", "-iv", IV, *source, stdin=b"x")

    def test_digits_are_no_raw_key(self):
        for bits in (128, 192, 256):
            digits = data(bits // 16, b"digits").hex()  # the number of digits equals the number of bytes in the key
            self.private("key", digits.encode())
            flags = ("enc", f"-aes-{bits}-ctr", "-iv", IV)
            for source in (digits, "file:key", "env:KEY"):
                words = f"{bits // 4} hexadecimal digits|not {bits // 8}"
                self.refused(KEY_LENGTH, words, *flags, "-K", source, stdin=b"x", env={"KEY": digits})
        self.private("key", data(8).hex().encode())
        self.refused(KEYSET, "is text, not a raw key|--raw", "encrypt", "-k", "key", stdin=b"x")

    def test_the_output_is_no_file_of_keys(self):
        self.private("key", KEYS[128].encode())
        self.private("pw", b"secret\n")
        self.warpaes("keygen", "-o", "keyset")
        self.write("aad", b"aad")
        for name in ("key", "pw", "keyset", "aad"):
            os.link(self.path(name), self.path(name + ".link"))
            os.symlink(name, self.path(name + ".symlink"))
        enc = ("enc", "-aes-128-ctr", "-iv", IV)
        encrypt = ("encrypt", "-k", "keyset", "--aad-file", "aad")
        before = {name: self.read(name) for name in ("key", "pw", "keyset", "aad")}
        for name, flags in (
            ("key", (*enc, "-K", "file:key")),
            ("pw", (*enc, "-pbkdf2", "-kfile", "pw")),
            ("pw", (*enc, "-pbkdf2", "-pass", "file:pw")),
            ("keyset", encrypt),
            ("aad", encrypt),
        ):
            for output in (name, name + ".link", name + ".symlink", "./" + name):
                out = "-out" if flags[0] == "enc" else "-o"
                self.refused(SAME_FILE, "which is needed to decrypt the result", *flags, "-f", out, output, stdin=b"x")
            with open(self.path(name), "ab") as file:
                self.refused(SAME_FILE, "standard output", *flags, "-f", stdin=b"x", stdout=file)
        self.write("plain", b"plain")
        for source in (("-pass", "stdin"), ("-kfile", "-")):
            with open(self.path("pw"), "rb") as file:
                command = ("enc", "-aes-128-ctr", "-pbkdf2", "-f", "-in", "plain", *source, "-out", "pw")
                self.refused(SAME_FILE, "which is needed to decrypt the result", *command, stdin=file)
        self.warpaes(*encrypt, "-o", "plain.warpaes", "plain")
        decrypt = ("decrypt", "-k", "keyset", "--aad-file", "aad", "-f", "-o", "keyset", "plain.warpaes")
        self.refused(SAME_FILE, "'keyset'", *decrypt)
        os.mkdir(self.path("in"))
        for name in ("good", "keyset"):
            self.write(f"in/{name}.warpaes", self.read("plain.warpaes"))
        os.mkdir(self.path("out"))
        os.link(self.path("keyset"), self.path("out/keyset"))
        flags = ("--aad-file", "aad", "-f", "--output-dir", "out", "in/good.warpaes", "in/keyset.warpaes")
        self.refused(SAME_FILE, "1 of 2 files failed", "decrypt", "-k", "keyset", *flags)
        self.assertEqual(self.read("out/good"), b"plain")
        self.assertEqual({name: self.read(name) for name in before}, before)


class Ranges(CommandTest):
    def test_only_the_blocks_under_a_range_are_read(self):
        self.write("file", data(1000))
        flags = ("enc", "-d", "-aes-128-ctr", "-K", KEYS[128], "-iv", IV, "-in", "file", "-out", "out", "-f", "--json")
        for first, last, blocks in ((0, 0, 1), (0, 15, 1), (15, 16, 2), (16, 31, 1), (32, 63, 2), (500, 500, 1)):
            record = json.loads(self.warpaes(*flags, "--range", f"{first}:{last}"))
            self.assertEqual((record["bytes_read"], record["bytes_written"]), (16 * blocks, last - first + 1))
        record = json.loads(self.warpaes(*flags, "--range", "990:"))
        self.assertEqual((record["bytes_read"], record["bytes_written"]), (1000 - 976, 10))  # the last block is partial


if __name__ == "__main__":
    unittest.main()
