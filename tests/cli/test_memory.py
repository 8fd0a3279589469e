"""Tests that the command leaves no keys or passphrases in its memory."""

import base64
import json
import os
import unittest

from support import ARGUMENT, KEYS, TEMPLATES, WARPAES, CommandTest, data, main

RECORDER = os.environ.get("RECORDED_CALLS_LIBRARY")
# With these settings, freed memory stays in the heap, including large blocks.
HEAP = {"MALLOC_MMAP_THRESHOLD_": "33554432", "MALLOC_TRIM_THRESHOLD_": "33554432"}


@unittest.skipUnless(RECORDER, "CTest sets the path of the library that records calls; `make test` runs this test")
@unittest.skipIf(
    "ASAN_OPTIONS" in os.environ, "AddressSanitizer replaces the command's heap; `make test` runs this test"
)
class Memory(CommandTest):
    def left(self, *arguments, status=0, **options):
        """Return the command's memory at the end of a run."""
        env = {"LD_PRELOAD": RECORDER, "RECORDED_CALLS": self.path("calls"), "MEMORY_LEFT": self.path("memory"), **HEAP}
        result = self.run_command(WARPAES, *arguments, env=env, **options)
        self.assertEqual(result.returncode, status, (arguments, result.stderr))
        memory = self.read("memory")
        self.assertGreater(len(memory), 100_000)
        return memory

    def assert_nothing_left(self, secrets, *arguments, **options):
        memory = self.left(*arguments, **options)
        for what, secret in secrets.items():
            self.assertEqual(memory.count(secret), 0, (what, arguments))

    def secrets_of(self, name):
        """Return every representation of a file's keys that may occur in memory."""
        text = self.read(name)
        if not text.startswith(b"{"):
            digits = text.split()[-1]  # the template's name precedes the digits
            return {"digits": digits, "bytes": bytes.fromhex(digits.decode())}
        found = {}
        for number, key in enumerate(json.loads(text)["key"]):
            value = key["keyData"]["value"]
            found |= {f"base64 {number}": value[-24:].encode(), f"bytes {number}": base64.b64decode(value)[-16:]}
        return found

    def test_nothing_is_left_of_passphrases(self):
        for name, word in (("first", b"correct horse battery"), ("second", b"staple, or another")):
            self.private(name, word + b"\n")
        secrets = {"first": b"correct horse battery", "second": b"staple, or another"}
        quick = ("--passphrase-seconds", "0")
        self.assert_nothing_left(secrets, "keygen", "--passphrase-from", "first", *quick, "-o", "keyset")
        common = ("keyset", "--passphrase-from", "first")
        self.assert_nothing_left(secrets, "keys", "add", *common)
        self.assert_nothing_left(secrets, "encrypt", "-k", *common, "first")
        self.assert_nothing_left(secrets, "keys", "passphrase", *common, "--new-passphrase-from", "second", *quick)
        self.assert_nothing_left(secrets, "verify", "-k", *common, "first.warpaes", status=22)

    def test_nothing_is_left_of_key_encryption_keys(self):
        value = b"\x1a\x20" + data(32)
        entry = {
            "keyData": {
                "typeUrl": "type.googleapis.com/google.crypto.tink.AesGcmKey",
                "value": base64.b64encode(value).decode(),
                "keyMaterialType": "SYMMETRIC",
            },
            "status": "ENABLED",
            "keyId": 5,
            "outputPrefixType": "TINK",
        }
        self.private("tink", json.dumps({"primaryKeyId": 5, "key": [entry]}).encode())
        self.private("hex", KEYS[256].encode())
        secrets = {"digits": KEYS[256].encode(), "bytes": bytes.fromhex(KEYS[256])} | self.secrets_of("tink")
        self.write("plain", data(9000))
        for kek in ("tink", "hex"):
            common = (f"keyset-{kek}", "--kek", kek)
            self.assert_nothing_left(secrets, "keygen", "-o", *common)
            self.assert_nothing_left(secrets, "keys", "add", *common)
            self.assert_nothing_left(secrets, "encrypt", "-k", *common, "-o", f"{kek}.warpaes", "plain")
            self.assert_nothing_left(secrets, "verify", "-k", *common, f"{kek}.warpaes")
        self.assert_nothing_left(secrets, "keys", "add", "keyset-tink", "--kek", "hex", status=22)

    def test_nothing_is_left_of_what_is_encrypted_anew(self):
        self.warpaes("keygen", "-o", "keyset")
        self.write("plain", b"a secret of 32 bytes, many times" * 10_000)
        self.warpaes("encrypt", "-k", "keyset", "plain")
        self.warpaes("keys", "add", "--primary", "keyset")
        secrets = {"text": b"a secret of 32 bytes, many times"} | self.secrets_of("keyset")
        self.assert_nothing_left(secrets, "reencrypt", "-k", "keyset", "plain.warpaes")

    def test_something_would_be_found(self):
        self.assertGreater(self.left("--help").count(b"MEMORY_LEFT="), 0)

    def test_new_keys(self):
        for template in (TEMPLATES[0], TEMPLATES[-1]):
            memory = self.left("keygen", "-t", template, "-o", template)
            for what, secret in self.secrets_of(template).items():
                self.assertEqual(memory.count(secret), 0, (what, template))
        self.warpaes("keygen", "-o", "keyset")
        memory = self.left("keys", "add", "keyset")
        for what, secret in self.secrets_of("keyset").items():
            self.assertEqual(memory.count(secret), 0, what)

    def test_keys_that_files_are_encrypted_with(self):
        self.write("plain", data(100_000))
        for template in (TEMPLATES[0], TEMPLATES[4], TEMPLATES[-1]):
            self.warpaes("keygen", "-t", template, "-o", template)
            secrets = self.secrets_of(template)
            self.assert_nothing_left(secrets, "encrypt", "-k", template, "-f", "-o", "sealed", "plain")
            self.assert_nothing_left(secrets, "decrypt", "-k", template, "-f", "-o", "opened", "sealed")
            self.assertEqual(self.read("opened"), data(100_000))

    def test_enc(self):
        self.write("plain", data(100_000))
        self.write("key", KEYS[256].encode())
        self.write("passphrase", b"correct horse battery staple\n")
        cbc = ("enc", "-aes-256-cbc", "-in", "plain", "-out", "cipher", "-f")
        key = {"digits": KEYS[256].encode(), "bytes": bytes.fromhex(KEYS[256])}
        self.assert_nothing_left(key, *cbc, "-K", "file:key", "-iv", "00" * 16)
        # After the command has read secrets that other processes could have seen, these secrets must not remain in
        # memory either.
        self.assert_nothing_left(key, *cbc, "-K", KEYS[256], "-iv", "00" * 16)
        self.assert_nothing_left(key, "encrypt", "-k", KEYS[256], "-o", "sealed", "plain", status=ARGUMENT)
        passphrase = {"passphrase": b"correct horse battery staple"}
        self.assert_nothing_left(passphrase, *cbc, "-pbkdf2", "-iter", "10", "-pass", "file:passphrase")


if __name__ == "__main__":
    main()
