"""C2SP chunked encryption, against an independent decoder (tests/vectors/c2sp.py) and files that it made."""

import json
import os
import sys
import unittest

from support import AUTHENTICATION, CommandTest, data, missing

VECTORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "vectors")
sys.path.insert(0, VECTORS)
import c2sp  # noqa: E402

try:
    from cryptography.exceptions import InvalidTag

    MISSING = ""
except ImportError as error:
    MISSING = missing("cryptography", error)


class C2sp(CommandTest):
    def key(self, key):
        os.chmod(self.write("key", key), 0o600)

    def test_files_made_elsewhere(self):
        with open(os.path.join(VECTORS, "c2sp/vectors.json"), encoding="utf-8") as file:
            vectors = json.load(file)
        self.assertEqual(len(vectors), 12)
        for vector in vectors:
            self.key(bytes.fromhex(vector["key"]))
            path = os.path.join(VECTORS, "c2sp", vector["file"])
            options = ("-k", "key", "--format", vector["template"], "--aad", vector["context"], path)
            expected = c2sp.plaintext(vector["plaintext_bytes"])
            self.assertTrue(self.warpaes("decrypt", *options) == expected, vector["file"])
            if len(expected) > 20:
                part = self.warpaes("decrypt", "-r", f"10:{len(expected) - 11}", *options)
                self.assertTrue(part == expected[10:-10], vector["file"])
            self.refused(AUTHENTICATION, "input", "decrypt", *options[:4], "--aad", "other", path)

    @unittest.skipIf(MISSING, MISSING)
    def test_files_made_here(self):
        for template in c2sp.AEADS:
            for length in (0, 1, 16383, 16384, 16385, 32767, 32768, 500_000):
                self.key(data(32, template.encode()))
                options = ("-k", "key", "--format", template, "--aad", "context")
                file = self.warpaes("encrypt", *options, stdin=data(length))
                self.assertEqual(len(file), 56 + length + 16 * (length // 16384 + 1))
                plain = c2sp.decrypt(template, data(32, template.encode()), b"context", file)
                self.assertTrue(plain == data(length), (template, length))
                self.assertTrue(self.warpaes("decrypt", *options, stdin=file) == data(length), (template, length))

    @unittest.skipIf(MISSING, MISSING)
    def test_the_decoder_refuses_what_the_command_refuses(self):
        template, key = "C2SP_CHUNKED_256", data(32)
        self.key(key)
        options = ("decrypt", "-k", "key", "--format", template)
        good = c2sp.encrypt(template, key, bytes(24), b"", data(40_000))
        self.assertTrue(self.warpaes(*options, stdin=good) == data(40_000))
        flipped = [good[:i] + bytes([good[i] ^ 1]) + good[i + 1 :] for i in (0, 24, 55, 56, 20_000, len(good) - 1)]
        cut = [good[:56], good[: 56 + 16400], good[:-1], good + b"x"]
        for bad in flipped + cut:
            with self.assertRaises((InvalidTag, ValueError)):
                c2sp.decrypt(template, key, b"", bad)
            self.write("bad", bad)
            result = self.run_command(os.environ["WARPAES"], *options, "-o", "out", "bad")
            self.assertIn(result.returncode, (21, AUTHENTICATION), result.stderr)
            self.assertFalse(os.path.exists(self.path("out")))


if __name__ == "__main__":
    unittest.main()
