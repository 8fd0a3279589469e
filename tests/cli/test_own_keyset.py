"""Tests files that contain their own keyset: creation, every way to open them, changes in place, and changes by the
storage."""

import json
import os
import re
import unittest

from support import (
    ARGUMENT,
    AUTHENTICATION,
    FORMAT,
    KEYSET,
    NOT_FOUND,
    WARPAES,
    CommandTest,
    data,
    main,
    missing,
)

try:
    import io

    from tink import aead, json_proto_keyset_format, streaming_aead

    aead.register()
    streaming_aead.register()
    MISSING = ""
except ImportError as error:
    MISSING = missing("tink", error)

QUICK = ("--passphrase-seconds", "0")
ROUND = 4096


class OwnKeyset(CommandTest):
    def setUp(self):
        super().setUp()
        self.private("first", b"correct horse\n")
        self.private("second", b"battery staple\n")
        for kek in ("kek", "other"):
            self.private(kek, os.urandom(32).hex().encode())
        self.write("plain", data(9000))

    def encrypt(self, *arguments):
        self.warpaes("encrypt", "-f", "-t", "AES128_GCM_HKDF_4KB", *arguments, "plain")
        return self.read("plain.warpaes")

    def under_all(self):
        return self.encrypt("--passphrase-from", "first", *QUICK, "--to", "kek", "--to", "other")

    def opens(self, *arguments, **options):
        self.assertEqual(self.warpaes("decrypt", *arguments, "plain.warpaes", **options), data(9000))

    def slots(self, content):
        return [json.loads(line) for line in content[21:ROUND].split(b"\n") if line.strip()]


class Opened(OwnKeyset):
    def test_by_any_of_the_passphrase_and_the_keys(self):
        content = self.under_all()
        self.assertTrue(content.startswith(b"warpaes-own-1 004096\n"))
        self.assertEqual(len(self.slots(content)), 3)
        self.opens("--passphrase-from", "first")
        self.opens("--passphrase", "--passphrase-from", "first")
        self.opens("--kek", "kek")
        self.opens("--kek", "other")
        self.opens("-k", "passphrase=first;own:")
        self.opens(env={"WARPAES_KEYSET": "kek=file:kek;own:"})
        self.opens("--passphrase", "--passphrase-from", "first", env={"WARPAES_KEYSET": "nowhere"})
        self.assertEqual(self.warpaes("decrypt", "--kek", "kek", stdin=content), data(9000))
        self.assertEqual(self.warpaes("cat", "--kek", "kek", "-r", "5000:5009", "plain.warpaes"), data(9000)[5000:5010])
        self.assertIn(b"authentic", self.warpaes("verify", "--kek", "kek", "plain.warpaes"))

    def test_only_with_the_associated_data_of_the_key(self):
        self.warpaes("encrypt", "-k", "kek=kek;kek-aad=backup;own:", "plain")
        self.opens("-k", "kek=kek;kek-aad=backup;own:")
        self.refused(AUTHENTICATION, "kek|associated data", "decrypt", "--kek", "kek", "plain.warpaes")

    def test_directories_derive_the_key_once(self):
        os.mkdir(self.path("files"))
        for i in range(20):
            self.write(f"files/{i}", data(100 + i))
        self.warpaes("encrypt", "--passphrase-from", "first", *QUICK, "--output-dir", "out", "files")
        fronts = {self.read(f"out/files/{i}.warpaes")[:ROUND] for i in range(20)}
        self.assertEqual(len(fronts), 1)
        self.warpaes("decrypt", "--passphrase-from", "first", "--output-dir", "back", "out/files")
        for i in range(20):
            self.assertEqual(self.read(f"back/files/{i}"), data(100 + i))

    @unittest.skipIf(MISSING, MISSING)
    def test_by_tink_when_the_front_is_taken_off(self):
        content = self.encrypt("--to", "kek")
        kek = bytes.fromhex(self.read("kek").decode())
        (slot,) = self.slots(content)

        class Kek(aead.Aead):
            def decrypt(self, ciphertext, associated_data):
                from cryptography.hazmat.primitives.ciphers.aead import AESGCM

                return AESGCM(kek).decrypt(ciphertext[:12], ciphertext[12:], associated_data)

            def encrypt(self, plaintext, associated_data):
                raise NotImplementedError

        keyset = json_proto_keyset_format.parse_encrypted(json.dumps(slot), Kek(), b"")
        primitive = keyset.primitive(streaming_aead.StreamingAead)
        with primitive.new_decrypting_stream(io.BytesIO(content[ROUND:]), b"") as stream:
            self.assertEqual(stream.read(), data(9000))


class Passphrase(OwnKeyset):
    def test_changes_in_place(self):
        before = self.under_all()
        change = ("keys", "passphrase", *QUICK)
        names = ["first", "second"]
        for _ in range(5):  # more changes than fit unless freed space is reused
            self.warpaes(*change, "--passphrase-from", names[0], "--new-passphrase-from", names[1], "plain.warpaes")
            refusal = ("decrypt", "--passphrase-from", names[0], "plain.warpaes")
            self.refused(AUTHENTICATION, "passphrase: is wrong", *refusal)
            self.opens("--passphrase-from", names[1])
            self.opens("--kek", "other")
            names.reverse()
        after = self.read("plain.warpaes")
        self.assertEqual(after[ROUND:], before[ROUND:], "the ciphertext is unchanged")
        self.assertEqual(len(self.slots(after)), 3)

    def test_stays_when_it_was_wrong(self):
        before = self.under_all()
        change = ("keys", "passphrase", "--passphrase-from", "second", "--new-passphrase-from", "first", *QUICK)
        self.refused(AUTHENTICATION, "passphrase: is wrong", *change, "plain.warpaes")
        self.assertEqual(self.read("plain.warpaes"), before)
        self.refused(ARGUMENT, "--remove", "keys", "passphrase", "--remove", "plain.warpaes")

    def test_is_added_by_a_key(self):
        self.encrypt("--to", "kek")
        self.warpaes("keys", "passphrase", "--kek", "kek", "--new-passphrase-from", "second", *QUICK, "plain.warpaes")
        self.opens("--passphrase-from", "second")
        self.opens("--kek", "kek")

    def test_of_a_sparse_file_of_200_gigabytes(self):
        content = self.under_all()
        with open(self.path("plain.warpaes"), "r+b") as file:
            file.truncate(200 << 30)
        change = ("keys", "passphrase", "--passphrase-from", "first", "--new-passphrase-from", "second", *QUICK)
        self.warpaes(*change, "plain.warpaes")
        with open(self.path("plain.warpaes"), "r+b") as file:
            file.truncate(len(content))
        self.opens("--passphrase-from", "second")

    def test_is_not_taken_from_the_command_line(self):
        for arguments in (["--passphrase=hunter2", "plain"], ["--passphrase", "hunter2"], ["--password", "hunter2"]):
            for command in ("encrypt", "decrypt"):
                result = self.run_command(WARPAES, command, *arguments)
                self.assertIn(result.returncode, (ARGUMENT, NOT_FOUND))
                self.assertNotIn(b"hunter2", result.stderr)


class Altered(OwnKeyset):
    """Files that an attacker who controls the storage has altered."""

    def refused_as(self, content, status, *words, by=("--passphrase-from", "first")):
        self.write("altered", content)
        self.refused(status, "|".join(words), "decrypt", *by, "-o", "result", "altered")

    def test_a_file_under_another_keyset_is_not_opened_instead(self):
        self.warpaes("keygen", "-o", "keyset")
        self.warpaes("encrypt", "-k", "keyset", "plain")
        self.refused_as(self.read("plain.warpaes"), FORMAT, "does not begin with its own keyset", "-k KEYSET")
        self.refused_as(data(9000), FORMAT, "does not begin with its own keyset")
        self.refused_as(b"", FORMAT, "does not begin with its own keyset")

    def test_a_keyset_is_not_replaced_by_one_in_front(self):
        self.under_all()
        self.warpaes("keygen", "-o", "keyset")
        self.refused(FORMAT, "its own keyset|omit -k", "decrypt", "-k", "keyset", "plain.warpaes")

    def test_fronts_of_two_files_are_not_exchanged(self):
        first, second = self.under_all(), self.under_all()
        self.refused_as(second[:ROUND] + first[ROUND:], AUTHENTICATION, by=("--kek", "kek"))

    def test_every_byte_of_a_slot(self):
        content = self.encrypt("--to", "kek")
        end = content.index(b"\n", 21)
        for at in [*range(21), *range(21, end, 7)]:
            altered = bytearray(content)
            altered[at] ^= 1
            self.write("altered", bytes(altered))
            result = self.run_command(WARPAES, "decrypt", "--kek", "kek", "altered")
            self.assertIn(result.returncode, (AUTHENTICATION, FORMAT, KEYSET), (at, result.stderr))
            self.assertEqual(result.stdout, b"")

    def test_a_cost_beyond_the_bounds_is_refused_before_work(self):
        content = self.encrypt("--passphrase-from", "first", *QUICK)
        slot = content[21 : content.index(b"\n", 21)]
        for n in (1 << 40, 1 << 24):
            costly = re.sub(rb'"n":\d+', b'"n":%d' % n, slot)
            self.refused_as(content[:21] + costly.ljust(ROUND - 22) + b"\n" + content[ROUND:], KEYSET, "keyset")
        # Each slot is within the limits, but the slots together exceed them.
        dear = re.sub(rb'"p":1\b', b'"p":6', re.sub(rb'"n":\d+', b'"n":1048576', slot))
        self.assertNotEqual(dear, slot)
        many = (dear + b"\n") * 2
        self.refused_as(content[:21] + many.ljust(ROUND - 22) + b"\n" + content[ROUND:], KEYSET, "the limit is 8192")

    def test_a_torn_change_leaves_the_file_readable(self):
        content = self.under_all()
        line = b'\n{"encryptedKeyset":"AAAA","keyEncryptionKey":{"n":1},"keysetInfo":{"keyInfo":[{"keyId":7}]}}'
        for length in range(2, len(line)):
            torn = bytearray(content)
            torn[ROUND - 400 : ROUND - 280] = line[:length].ljust(120)
            self.write("plain.warpaes", bytes(torn))
            self.opens("--kek", "kek")
        self.opens("--passphrase-from", "first")

    def test_cut_off(self):
        content = self.under_all()
        for length in (5, 14, 20, 21, 300, ROUND - 1, ROUND, ROUND + 10, len(content) - 1):
            self.write("altered", content[:length])
            result = self.run_command(WARPAES, "decrypt", "--kek", "kek", "altered")
            self.assertIn(result.returncode, (AUTHENTICATION, FORMAT), (length, result.stderr))

    def test_lengths_of_the_first_line(self):
        content = self.under_all()
        for number in (b"000000", b"004095", b"999999", b"065536", b"-04096", b"0x1000"):
            self.refused_as(content[:14] + number + content[20:], FORMAT, by=("--kek", "kek"))


class Refused(OwnKeyset):
    def test_contradictions(self):
        for words, arguments in (
            (["-k", "use only one of them"], ["--passphrase", "-k", "kek"]),
            (["-k", "use only one of them"], ["--to", "kek", "-k", "other"]),
            (["own:", "--passphrase"], ["-k", "own:"]),
            (["clear:", "own:"], ["-k", "clear:own:"]),
            (["own:", "another keyset"], ["-k", "kek=kek;own:", "-k", "kek"]),
            (["--passphrase-seconds"], ["--to", "kek", *QUICK]),
            (["uses raw keys"], ["--to", "kek", "-t", "C2SP_CHUNKED_128"]),
        ):
            self.refused(ARGUMENT, "|".join(words), "encrypt", *arguments, "plain")
        self.refused(ARGUMENT, "own:", "reencrypt", "-k", "kek=kek;own:", "plain")
        self.refused(ARGUMENT, "own:", "keys", "list", "own:")
        self.warpaes("encrypt", "--to", "kek", "plain")
        self.refused(FORMAT, "own keyset|warpaes verify", "inspect", "plain.warpaes")

    def test_a_way_that_the_file_does_not_have(self):
        self.encrypt("--to", "kek")
        self.refused(KEYSET, "passphrase|--kek", "decrypt", "--passphrase-from", "first", "plain.warpaes")
        self.refused(KEYSET, "--kek", "decrypt", "plain.warpaes")
        self.encrypt("--passphrase-from", "first", *QUICK)
        self.refused(KEYSET, "--passphrase", "decrypt", "--kek", "kek", "plain.warpaes")
        self.refused(ARGUMENT, "terminal|--passphrase-from", "decrypt", "plain.warpaes")


if __name__ == "__main__":
    main()
