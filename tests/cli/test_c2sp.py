"""Tests C2SP chunked encryption with published messages, an independent decoder (tests/vectors/c2sp.py) and its files,
and a different library (the module `cobblestone` in PyPI's `cryptography`)."""

import hashlib
import json
import os
import sys
import unittest
import zlib

from support import AUTHENTICATION, FORMAT, KEYSET, WARPAES, CommandTest, data, main, missing

VECTORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "vectors")
sys.path.insert(0, VECTORS)
import c2sp  # noqa: E402

try:
    from cryptography import cobblestone
    from cryptography.exceptions import InvalidTag

    MISSING = ""
except ImportError as error:
    MISSING = missing("cryptography", error)


LENGTHS = (0, 1, 16383, 16384, 16385, 32767, 32768, 500_000)


def key_of(template):
    return data(c2sp.AEADS[template][1], template.encode())


class C2sp(CommandTest):
    def key(self, key):
        self.private("key", key)

    def test_published_messages(self):
        vectors = json.loads(c2sp.read()["wycheproof_128.json"])["tests"]
        self.assertEqual(len(vectors), 32)
        for vector in vectors:
            self.key(vector["key"].encode())
            message = zlib.decompress(bytes.fromhex(vector["ct"]))
            self.write("context", bytes.fromhex(vector["ctx"]))
            options = ("decrypt", "-k", "key", "--format", "C2SP_CHUNKED_128", "--aad-file", "context")
            if vector["result"] == "valid":
                plain = self.warpaes(*options, stdin=message)
                self.assertEqual(len(plain), vector["msgLength"])
                self.assertEqual(hashlib.sha512(plain).hexdigest(), vector["msgSha512"])
                continue
            self.write("message", message)
            statuses = (KEYSET,) if "InvalidKeySize" in vector["flags"] else (AUTHENTICATION, FORMAT)
            result = self.run_command(WARPAES, *options, "-o", "out", "message")
            self.assertIn(result.returncode, statuses, (vector["comment"], result.stderr))
            self.assertFalse(os.path.exists(self.path("out")))
            piped = self.run_command(WARPAES, *options, stdin=message)
            self.assertIn(piped.returncode, statuses, (vector["comment"], piped.stderr))
            self.assertLessEqual(len(piped.stdout), vector.get("msgLength", 0), vector["comment"])

    @unittest.skipIf(MISSING, MISSING)
    def test_another_library_both_ways(self):
        for template in c2sp.AEADS:
            bits = template[-3:]
            encryptor = getattr(cobblestone, f"Cobblestone{bits}Encryptor")
            decryptor = getattr(cobblestone, f"Cobblestone{bits}Decryptor")
            key = key_of(template)
            self.key(key)
            options = ("-k", "key", "--format", template, "--aad", "context")
            for length in (*LENGTHS, 257 * 16384 + 1):  # the last length makes chunk numbers exceed one byte
                their = encryptor(key, context=b"context")
                theirs = their.update(data(length)) + their.finalize()
                self.assertTrue(self.warpaes("decrypt", *options, stdin=theirs) == data(length), (template, length))
                ours = self.warpaes("encrypt", *options, stdin=data(length))
                their = decryptor(key, context=b"context")
                self.assertTrue(their.update(ours) + their.finalize() == data(length), (template, length))

    @unittest.skipIf(MISSING, MISSING)
    def test_a_new_key_is_one_for_the_other_library(self):
        for template, (_, key_bytes) in c2sp.AEADS.items():
            self.warpaes("keygen", "-t", template, "-o", template)
            key = bytes.fromhex(self.read(template).decode().split()[1])
            self.assertEqual(len(key), key_bytes)
            ours = self.warpaes("encrypt", "-k", template, "--format", template, stdin=b"plain")
            their = getattr(cobblestone, f"Cobblestone{template[-3:]}Decryptor")(key, context=b"")
            self.assertEqual(their.update(ours) + their.finalize(), b"plain")

    def test_files_made_elsewhere(self):
        files = c2sp.read()
        vectors = json.loads(files["vectors.json"])
        self.assertEqual(len(vectors), 12)
        self.assertEqual(len(files), 14)
        for vector in vectors:
            self.key(bytes.fromhex(vector["key"]))
            self.write(path := vector["file"], files[vector["file"]])
            options = ("-k", "key", "--format", vector["template"], "--aad", vector["context"], path)
            expected = c2sp.plaintext(vector["plaintext_bytes"])
            self.assertTrue(self.warpaes("decrypt", *options) == expected, vector["file"])
            if len(expected) > 20:
                part = self.warpaes("decrypt", "-r", f"10:{len(expected) - 11}", *options)
                self.assertTrue(part == expected[10:-10], vector["file"])
            words = (
                "the key or the associated data differ from those of the encryption, or the header was altered, or the "
            )
            words += "file has a different format"
            self.refused(AUTHENTICATION, words, "decrypt", *options[:4], "--aad", "other", path)

    @unittest.skipIf(MISSING, MISSING)
    def test_files_made_here(self):
        for template in c2sp.AEADS:
            for length in LENGTHS:
                self.key(key_of(template))
                options = ("-k", "key", "--format", template, "--aad", "context")
                file = self.warpaes("encrypt", *options, stdin=data(length))
                self.assertEqual(len(file), 56 + length + 16 * (length // 16384 + 1))
                plain = c2sp.decrypt(template, key_of(template), b"context", file)
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
    main()
