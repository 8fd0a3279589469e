"""Tests text in place of a raw key, and byte-order marks, wherever the command reads a key."""

import os
import sys

from support import ARGUMENT, KEY_LENGTH, KEYSET, WARPAES, KeyedTest, main

PACKAGE = os.environ.get("WARPAES_PYTHON_PACKAGE")

#: Texts of 16 or 32 bytes that editors, shells and programs may write to a key file.
TEXTS = [
    b"000102030405060708090a0b0c0d0e0\n",  # a truncated hexadecimal key
    b"0001020304050607\n"[:15] + b"\n",
    b"correct horse battery staple xx\n",
    b"hunter2-hunter2\n",
    b"hunter2hunter2!!",
    b"hunter2hunter\r\n\r",
    "Gr\u00fc\u00dfe aus K\u00f6ln".encode()[:15] + b"\n",
    "Passwort f\u00fcr alle\n".encode("latin-1")[:16],
    "\u043f\u0430\u0440\u043e\u043b\u044c 123".encode()[:16],
    "hunter2".encode("utf-16"),
    "hunter2\n".encode("utf-16-le"),
    "hunter2\n".encode("utf-16-be"),
    "\u043f\u0430\u0440 123".encode("utf-16"),
    "hunter2".encode("utf-32"),
    b"hunter2".ljust(32, b"\0"),
    b"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhc=",
]
#: Raw keys that are neither random nor text.
KEYS = [bytes(16), bytes(32), bytes(range(16)), bytes(range(32)), b"\x01" * 16, b"\xff" * 32, bytes(range(128, 144))]

PROGRAM = """
import sys
from warpaes import exceptions
from warpaes.keysources import from_url
try:
    from_url("file:key").wrap(bytes(32))
except exceptions.KeysetError as error:
    sys.exit(str(error))
"""


class Text(KeyedTest):
    def test_text_is_no_raw_key_anywhere(self):
        self.write("plain", b"x")
        for text in TEXTS:
            self.assertIn(len(text), (16, 32), text)
            self.private("key", text)
            for place in ("key", "exec:cat key"):
                for command in (
                    ["encrypt", "-o", "-", "plain"],
                    ["decrypt", "plain"],
                    ["verify", "plain"],
                    ["inspect", "plain"],
                ):
                    self.refused(KEYSET, "not a raw key|--raw", command[0], "-k", place, *command[1:])
            self.refused(KEYSET, "not a raw key", "reencrypt", "-k", "keyset", "--to", "key", "plain")
            self.refused(KEYSET, "not a raw key", "keygen", "--kek", "key", "-o", "new")
            cipher = ("enc", f"-aes-{8 * len(text)}-ctr", "-iv", "00" * 16, "-in", "plain", "-K", "file:key")
            if text.strip().isalnum() and text.strip()[:4] == b"0001":  # here, the number of bytes is wrong
                self.refused(KEY_LENGTH, "hexadecimal digits", *cipher)
            else:
                self.refused(KEYSET, "not a raw key|--raw", *cipher)
            if b"\0" not in text:
                self.refused(
                    KEYSET, "not a raw key", "encrypt", "-k", "env:K", "-o", "-", "plain", env={"K": os.fsdecode(text)}
                )
            # The message does not contain the key.
            said = self.run_command(WARPAES, "encrypt", "-k", "key", "-o", "-", "plain").stderr
            self.assertNotIn(text.strip()[:6], said)

    def test_raw_takes_it(self):
        self.write("plain", b"some text")
        for text in TEXTS:
            self.private("key", text)
            self.warpaes("encrypt", "-f", "--raw", "-k", "key", "-o", "sealed", "plain")
            self.assertEqual(self.warpaes("decrypt", "--raw", "-k", "key", "sealed"), b"some text")
            cipher = ("enc", f"-aes-{8 * len(text)}-ctr", "-iv", "00" * 16, "-K", "file:key", "--raw")
            sealed = self.warpaes(*cipher, stdin=b"some text")
            self.assertEqual(self.warpaes(*cipher, "-d", stdin=sealed), b"some text")
        self.refused(ARGUMENT, "--raw: no key", "encrypt", "--raw", "-k", "keyset", "-o", "-", "plain")
        self.refused(ARGUMENT, "--raw|-K", "enc", "-aes-128-ctr", "--raw", "-pass", "env:PATH", "-in", "plain")
        self.private("key", b"x" * 15)
        self.refused(
            KEY_LENGTH, "15 bytes", "enc", "-aes-128-ctr", "--raw", "-K", "file:key", "-iv", "00" * 16, "-in", "plain"
        )

    def test_keys_that_are_no_text_are_taken(self):
        self.write("plain", b"x")
        for key in [*KEYS, *(os.urandom(32) for _ in range(20))]:
            self.private("key", key)
            self.warpaes("encrypt", "-f", "-k", "key", "-o", "sealed", "plain")

    def test_python_key_sources_refuse_it(self):
        if PACKAGE is None:
            self.skipTest("the Python package is not built; a build with WARPAES_PYTHON=ON runs this test")
        for text in [*TEXTS, *KEYS]:
            self.private("key", text)
            done = self.run_command(sys.executable, "-B", "-c", PROGRAM, env={"PYTHONPATH": PACKAGE})
            self.assertEqual(done.returncode, 1 if text in TEXTS else 0, (text, done.stderr))
            if text in TEXTS:
                self.assertIn(b"file:key: key: is text", done.stderr)


class ByteOrderMarks(KeyedTest):
    MARK = b"\xef\xbb\xbf"

    def test_utf8_marks_are_skipped(self):
        self.write("plain", b"x")
        self.private("bom", self.MARK + self.read("keyset"))
        self.private("hex", self.MARK + b"07" * 32 + b"\r\n")
        self.private("crlf", self.MARK + self.read("keyset").replace(b"\n", b"\r\n"))
        self.warpaes("keygen", "--kek", "hex", "-o", "wrapped")
        self.private("wrapped_bom", self.MARK + self.read("wrapped"))
        for key in ("bom", "crlf", "hex", "env:K"):
            self.warpaes("encrypt", "-k", key, "-o", "-", "plain", env={"K": os.fsdecode(self.MARK + b"07" * 32)})
        self.warpaes("encrypt", "-k", "wrapped_bom", "--kek", "hex", "-o", "-", "plain")
        self.warpaes("keys", "list", "bom")
        self.warpaes("keys", "add", "--primary", "bom")
        self.warpaes("enc", "-aes-256-ctr", "-K", "file:hex", "-iv", "00" * 16, "-in", "plain")

    def test_other_encodings_are_named(self):
        self.write("plain", b"x")
        text = self.read("keyset").decode()
        for encoding, name in (
            ("utf-16", "UTF-16"),
            ("utf-16-le", "UTF-16"),
            ("utf-16-be", "UTF-16"),
            ("utf-32", "UTF-32"),
        ):
            for content in (text, "07" * 32):
                self.private("key", content.encode(encoding))
                self.refused(KEYSET, f"{name}; save it as UTF-8", "encrypt", "-k", "key", "-o", "-", "plain")
            self.refused(KEYSET, f"{name}; save it as UTF-8", "keygen", "--kek", "key", "-o", "new")


if __name__ == "__main__":
    main()
