"""Files go both ways between `warpaes enc` and `openssl enc`, byte for byte."""

import json
import unittest

from support import IV, KEYS, MODES, OPENSSL, PADDED, WARPAES, CommandTest, data

LENGTHS = (0, 1, 15, 16, 17, 1000, 300_001)


@unittest.skipUnless(
    OPENSSL, "there is no openssl command; a machine on which `tools/setup test` has installed it runs this"
)
class Interchange(CommandTest):
    def both_ways(self, plain, cipher, *flags, decrypt_flags=None, **options):
        """Deterministic encryption: the same ciphertext from both, and each decrypts it."""
        decrypt_flags = flags if decrypt_flags is None else decrypt_flags
        theirs = self.openssl("enc", cipher, "-e", *flags, stdin=plain, **options)
        ours = self.warpaes("enc", cipher, "-e", *flags, stdin=plain, **options)
        self.assertEqual(ours, theirs, (cipher, flags, len(plain)))
        self.assertEqual(self.warpaes("enc", cipher, "-d", *decrypt_flags, stdin=theirs, **options), plain)

    def cross(self, plain, cipher, *flags, **options):
        """Encryption with a random salt: each decrypts the other's."""
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
        # The data may follow the line.
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

    def test_key_before_passphrase(self):
        flags = ("-K", KEYS[256], "-iv", IV, "-k", "secret", "-pbkdf2")
        self.both_ways(data(100), "-aes-256-cbc", *flags, "-nosalt")
        self.cross(data(100), "-aes-256-cbc", *flags)
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


class KeySources(CommandTest):
    def test_every_source_of_the_key(self):
        key = bytes.fromhex(KEYS[256])
        self.write("hex", KEYS[256].upper().encode() + b"\n")
        self.write("raw", key)
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
        for secret in (["-K", KEYS[128], "-iv", IV], ["-k", "x", "-pbkdf2"], ["-pass", "pass:x", "-pbkdf2"]):
            result = self.run_command(WARPAES, "enc", "-aes-128-ctr", *secret, stdin=b"data")
            self.assertEqual(result.returncode, 0)
            self.assertIn(b"can be seen by other processes", result.stderr)


if __name__ == "__main__":
    unittest.main()
