"""Tests that the command and Tink's library (PyPI `tink`) read each other's files and keysets."""

import hashlib
import io
import json
import os
import unittest

from support import AUTHENTICATION, TEMPLATES, CommandTest, data, main, missing

try:
    import tink
    from tink import json_proto_keyset_format, secret_key_access, streaming_aead

    streaming_aead.register()
    MISSING = ""
except ImportError as error:
    MISSING = missing("tink", error)

TINK = [name for name in TEMPLATES if name.startswith("AES")]
AAD = "associated data"
MIB = 1 << 20


def lengths(template):
    """Return lengths around the ends of the first segments."""
    tag, header = 16 if "GCM" in template else 32, 24 if "AES128" in template else 40
    segment = 4096 if template.endswith("4KB") else MIB
    first, other = segment - header - tag, segment - tag
    ends = [0, first, first + other] + ([first + 2 * other, first + 9 * other] if segment == 4096 else [])
    return sorted({max(0, end + step) for end in ends for step in (-1, 0, 1)})


class KeepOpen(io.BytesIO):
    """A file that keeps its content when Tink closes it."""

    def close(self):
        pass


@unittest.skipIf(MISSING, MISSING)
class Tink(CommandTest):
    def primitive(self, keyset):
        handle = json_proto_keyset_format.parse(keyset, secret_key_access.TOKEN)
        return handle.primitive(streaming_aead.StreamingAead)

    def encrypt(self, primitive, plain, aad=AAD):
        file = KeepOpen()
        with primitive.new_encrypting_stream(file, aad.encode()) as stream:
            stream.write(plain)
        return file.getvalue()

    def decrypt(self, primitive, cipher, aad=AAD):
        with primitive.new_decrypting_stream(io.BytesIO(cipher), aad.encode()) as stream:
            return stream.read()

    def keyset_of_tink(self, template):
        handle = tink.new_keyset_handle(getattr(streaming_aead.streaming_aead_key_templates, template))
        return json_proto_keyset_format.serialize(handle, secret_key_access.TOKEN)

    def both_ways(self, keyset, plains):
        """Check all of `plains`, which are indexed by name, with one run of the command in each direction."""
        primitive = self.primitive(keyset)
        self.private("keyset", keyset.encode())
        for folder in ("plain", "theirs"):
            os.mkdir(self.path(folder))
        for name, plain in plains.items():
            self.write(f"plain/{name}", plain)
            self.write(f"theirs/{name}.warpaes", self.encrypt(primitive, plain))
        common = ("-k", "keyset", "--aad", AAD, "--output-dir")
        self.warpaes("encrypt", *common, "ours", "plain")
        self.warpaes("decrypt", *common, "decrypted", "theirs")
        for name, plain in plains.items():
            ours = self.read(f"ours/plain/{name}.warpaes")
            self.assertEqual(len(ours), os.stat(self.path(f"theirs/{name}.warpaes")).st_size, name)
            # assertEqual would print a difference of several megabytes.
            self.assertTrue(self.decrypt(primitive, ours) == plain, name)
            self.assertTrue(self.read(f"decrypted/theirs/{name}") == plain, name)

    def test_every_template_around_every_boundary_with_tinks_keys(self):
        for template in TINK:
            with self.subTest(template):
                self.setUp()
                plains = {str(length): data(length) for length in lengths(template)}
                self.both_ways(self.keyset_of_tink(template), plains)

    def test_every_template_with_our_keys(self):
        for template in TINK:
            with self.subTest(template):
                self.setUp()
                keyset = self.warpaes("keygen", "-t", template).decode()
                self.both_ways(keyset, {str(length): data(length) for length in (0, 1, 10_000)})

    def test_large_files(self):
        # The files have a hundred segments and end with a partial or a full segment.
        for template, length in (
            ("AES256_GCM_HKDF_1MB", 100 * MIB),
            ("AES128_CTR_HMAC_SHA256_1MB", 20 * (MIB - 32) - 24),
        ):
            with self.subTest(template):
                self.setUp()
                plain = hashlib.shake_128(b"block").digest(MIB) * (length // MIB + 1)
                self.both_ways(self.keyset_of_tink(template), {"large": plain[:length]})

    def test_ranges_of_tinks_files(self):
        for template in ("AES128_GCM_HKDF_4KB", "AES256_CTR_HMAC_SHA256_4KB"):
            keyset = self.keyset_of_tink(template)
            self.private("keyset", keyset.encode())
            self.write("file", self.encrypt(self.primitive(keyset), data(50_000)))
            for first, last in ((0, 0), (4000, 4100), (12_345, 34_567), (49_999, 49_999)):
                part = self.warpaes("decrypt", "-k", "keyset", "--aad", AAD, "-r", f"{first}:{last}", "file")
                self.assertEqual(part, data(50_000)[first : last + 1])

    def test_a_keyset_that_was_rotated_here(self):
        self.private("keyset", self.keyset_of_tink("AES256_GCM_HKDF_4KB").encode())
        first = json.loads(self.read("keyset"))["primaryKeyId"]
        old = self.encrypt(self.primitive(self.read("keyset").decode()), b"old")
        second = self.warpaes("keys", "add", "--primary", "-t", "AES256_CTR_HMAC_SHA256_1MB", "keyset").decode().strip()
        self.warpaes("keys", "add", "keyset")
        primitive = self.primitive(self.read("keyset").decode())
        self.assertEqual(self.decrypt(primitive, old), b"old")
        new = self.encrypt(primitive, b"new")
        self.assertEqual(new[0], 40)
        for cipher, plain, key in ((old, b"old", first), (new, b"new", int(second))):
            self.write("file", cipher)
            self.assertEqual(self.warpaes("decrypt", "-k", "keyset", "--aad", AAD, "file"), plain)
            record = json.loads(self.warpaes("verify", "-k", "keyset", "--aad", AAD, "--json", "file"))
            self.assertEqual(record["files"][0]["key_id"], key)
        for state in ("disable", "destroy"):
            self.warpaes("keys", state, "keyset", str(first))
            primitive = self.primitive(self.read("keyset").decode())
            self.assertEqual(self.decrypt(primitive, new), b"new")
            with self.assertRaises(tink.TinkError):
                self.decrypt(primitive, old)
            self.write("file", old)
            self.refused(AUTHENTICATION, "key", "decrypt", "-k", "keyset", "--aad", AAD, "file")

    def test_what_tink_refuses_is_refused(self):
        keyset = self.keyset_of_tink("AES256_GCM_HKDF_4KB")
        primitive = self.primitive(keyset)
        self.private("keyset", keyset.encode())
        self.write("plain", data(20_000))
        self.warpaes("encrypt", "-k", "keyset", "--aad", AAD, "-o", "file", "plain")
        good = self.read("file")
        with self.assertRaises(tink.TinkError):
            self.decrypt(primitive, good, "other")
        self.refused(AUTHENTICATION, "not authentic", "decrypt", "-k", "keyset", "--aad", "other", "file")
        for position in (0, 5, 39, 40, 5000, len(good) - 1):
            bad = bytearray(good)
            bad[position] ^= 0x10
            self.write("bad", bad)
            with self.assertRaises(tink.TinkError):
                self.decrypt(primitive, bytes(bad))
            result = self.run_command(os.environ["WARPAES"], "decrypt", "-k", "keyset", "--aad", AAD, "bad")
            self.assertNotEqual(result.returncode, 0)


if __name__ == "__main__":
    main()
