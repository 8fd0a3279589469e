"""Tests keysets, and the inspection of files without a key: `warpaes keygen`, `keys` and `inspect`."""

import base64
import contextlib
import fcntl
import json
import os
import shutil
import signal
import stat
import subprocess
import threading
import time
import unittest

from support import (
    ARGUMENT,
    EXISTS,
    FORMAT,
    KEYSET,
    NOT_FOUND,
    OUT_OF_MEMORY,
    TEMPLATES,
    WARPAES,
    WRITE,
    CommandTest,
    as_ordinary_user,
    data,
)

RECORDER = os.environ.get("RECORDED_CALLS_LIBRARY")
TINK = [name for name in TEMPLATES if name.startswith("AES")]


class Keygen(CommandTest):
    def test_every_template(self):
        for name in TINK:
            self.warpaes("keygen", "--template", name, "-o", name)
            keyset = json.loads(self.read(name))
            (key,) = keyset["key"]
            self.assertEqual((key["keyId"], key["status"]), (keyset["primaryKeyId"], "ENABLED"))
            self.assertEqual((key["outputPrefixType"], key["keyData"]["keyMaterialType"]), ("RAW", "SYMMETRIC"))
            value = base64.b64decode(key["keyData"]["value"], validate=True)
            size = 16 if "AES128" in name else 32
            self.assertEqual(value[2 + value[1] :][:2], bytes([0x1A, size]))  # the key follows the parameters
            self.assertEqual(len(value), 4 + value[1] + size)
            listed = json.loads(self.warpaes("keys", "list", name, "--json"))
            self.assertEqual([entry["template"] for entry in listed], [name])
        for name in TEMPLATES:
            self.assertIn(name, self.warpaes("keygen", "--help").decode())

    def test_the_default_is_tinks_largest(self):
        keyset = json.loads(self.warpaes("keygen"))
        self.assertEqual(base64.b64decode(keyset["key"][0]["keyData"]["value"])[:12].hex(), "120808808040102018031a20")

    def test_raw_keys_where_there_are_no_keysets(self):
        for bits in (128, 256):
            made = {self.warpaes("keygen", "-t", f"C2SP_CHUNKED_{bits}") for _ in range(2)}
            self.assertEqual(len(made), 2)
            for text in made:
                self.assertRegex(text.decode(), rf"^C2SP_CHUNKED_{bits} [0-9a-f]{{{bits // 4}}}\n$")
        self.refused(ARGUMENT, "C2SP_CHUNKED_256", "keygen", "-t", "C2SP_CHUNKED")

    def test_keys_are_for_their_owner_and_never_overwritten(self):
        before = os.umask(0)
        self.addCleanup(os.umask, before)
        self.warpaes("keygen", "-o", "keyset")
        self.warpaes("keygen", "-t", "C2SP_CHUNKED_256", "-o", "raw")
        for name in ("keyset", "raw"):
            self.assertEqual(stat.S_IMODE(os.stat(self.path(name)).st_mode), 0o600)
            content = self.read(name)
            self.refused(EXISTS, "never overwritten", "keygen", "-o", name)
            self.assertEqual(self.read(name), content)
        os.symlink("nowhere", self.path("link"))
        self.refused(EXISTS, "never overwritten", "keygen", "-o", "link")
        os.mkdir(self.path("directory"))
        self.refused(EXISTS, "never overwritten", "keygen", "-o", "directory")
        self.refused(WRITE, "nowhere/keyset", "keygen", "-o", "nowhere/keyset")

    def test_a_file_that_others_can_read_is_warned_of(self):
        for template in ("AES256_GCM_HKDF_1MB", "C2SP_CHUNKED_128"):
            for mode, warned in ((0o644, True), (0o660, True), (0o600, False)):
                with open(self.path("keys"), "wb") as file:
                    os.fchmod(file.fileno(), mode)
                    result = self.run_command(WARPAES, "keygen", "-t", template, stdout=file)
                self.assertEqual(result.returncode, 0)
                self.assertNotEqual(self.read("keys"), b"")
                self.assertEqual(f"mode {mode:o}".encode() in result.stderr, warned, result.stderr)
        self.assertNotIn(b"mode", self.run_command(WARPAES, "keygen").stderr)  # the output is a pipe

    def recorded(self, **more):
        # A sanitizer's runtime would have to be loaded first, but these calls do not need it.
        asan = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        return {"LD_PRELOAD": RECORDER, "RECORDED_CALLS": self.path("calls"), "ASAN_OPTIONS": asan, **more}

    @unittest.skipUnless(RECORDER, "CTest sets the path of the library that records calls; `make test` runs this test")
    def test_a_file_of_keys_is_durable_before_it_has_its_name_and_then_the_name(self):
        def calls(*arguments):
            self.write("calls", b"")
            self.warpaes(*arguments, env=self.recorded())
            return self.read("calls").decode().splitlines()

        folder = os.path.realpath(self.directory)
        for arguments in (
            ("keygen", "-o", "keyset"),
            ("keys", "add", "keyset"),
            ("keygen", "-t", TEMPLATES[-1], "-o", "raw"),
        ):
            synced, renamed, settled = calls(*arguments)
            self.assertRegex(synced, rf"^fsync {folder}/\.warpaes-\w+$")
            self.assertRegex(renamed, rf"^rename ({folder}/)?{arguments[-1]}$")
            self.assertEqual(settled, f"fsync {folder}")

    @unittest.skipUnless(RECORDER, "CTest sets the path of the library that records calls; `make test` runs this test")
    def test_a_file_of_keys_on_an_old_file_system(self):
        self.warpaes("keygen", "-o", "keyset", env=self.recorded(OLD_FILE_SYSTEM="1"))
        self.assertIn("link ", self.read("calls").decode())
        self.assertEqual(sorted(os.listdir(self.directory)), ["calls", "keyset"])
        self.assertEqual(os.stat(self.path("keyset")).st_nlink, 1)
        self.warpaes("keys", "list", "keyset")
        self.refused(EXISTS, "never overwritten", "keygen", "-o", "keyset", env=self.recorded(OLD_FILE_SYSTEM="1"))

    @unittest.skipUnless(RECORDER, "CTest sets the path of the library that records calls; `make test` runs this test")
    def test_another_file_is_not_replaced(self):
        """Another user replaces directories above the keyset while the command changes it."""
        for there in ("mv mine was; ln -s victims mine", "mv mine was; cp -r victims mine",
                      "ln -sf ../victims/keyset mine/keyset", "mv victims/keyset mine/keyset"):  # fmt: skip
            with self.subTest(there):
                for folder in ("mine", "victims"):
                    os.mkdir(self.path(folder))
                self.warpaes("keygen", "-o", "mine/keyset")
                self.private("victims/keyset", b"precious")
                result = self.run_command(WARPAES, "keys", "add", "mine/keyset", env=self.recorded(BEFORE_NAME=there))
                if there.startswith("mv mine"):  # the opened folder has not changed
                    self.assertEqual(result.returncode, 0, result.stderr)
                    self.assertEqual(len(json.loads(self.warpaes("keys", "list", "--json", "was/keyset"))), 2)
                    shutil.rmtree(self.path("was"))
                    self.assertEqual(self.read("mine/keyset"), b"precious")
                else:
                    # Between the last check and the rename, another user can replace only the name in this folder.
                    self.assertEqual(result.returncode, 0, result.stderr)
                if os.path.exists(self.path("victims/keyset")):
                    self.assertEqual(self.read("victims/keyset"), b"precious")
                    self.assertEqual(os.listdir(self.path("victims")), ["keyset"])
                if os.path.islink(self.path("mine")):
                    os.unlink(self.path("mine"))
                else:
                    shutil.rmtree(self.path("mine"))
                shutil.rmtree(self.path("victims"))

    @unittest.skipUnless(RECORDER, "CTest sets the path of the library that records calls; `make test` runs this test")
    def test_no_memory_has_a_status_of_its_own(self):
        long = "x" * 120_000
        little = self.recorded(LITTLE_MEMORY="1")
        self.refused(OUT_OF_MEMORY, "out of memory", "verify", "--aad", long, env=little)
        # Any allocation may fail.
        self.warpaes("keygen", "-o", "keyset")
        self.write("plain", data(3_000_000))
        self.warpaes("encrypt", "-k", "keyset", "plain", "-o", "sealed")
        sealed = self.read("sealed")
        enc = ("enc", "-aes-256-cbc", "-a", "-pbkdf2", "-pass", "pass:x", "-in", "plain")
        said = set()
        for arguments in (enc, ("reencrypt", "--force", "-k", "keyset", "sealed")):
            for blocks in range(1, 100):
                result = self.run_command(WARPAES, *arguments, env=self.recorded(LITTLE_MEMORY=str(blocks)))
                if result.returncode == 0:
                    break
                self.assertEqual(result.returncode, OUT_OF_MEMORY, result.stderr)
                self.assertRegex(result.stderr, rb"^warpaes: out of (host )?memory\n$")
                said.add(result.stderr)
                self.assertTrue(self.read("sealed") == sealed)
                self.assertEqual(set(os.listdir(self.directory)) - {"calls"}, {"keyset", "plain", "sealed"})
            self.assertEqual(result.returncode, 0)
        self.assertEqual(said, {b"warpaes: out of memory\n", b"warpaes: out of host memory\n"})

    def test_every_keyset_is_another(self):
        self.assertEqual(len({self.warpaes("keygen") for _ in range(5)}), 5)

    def test_nonsense(self):
        self.refused(ARGUMENT, "AES256_GCM_HKDF_1MB", "keygen", "-t", "AES256_GCM", "-o", "keyset")
        self.refused(ARGUMENT, "--nonsense", "keygen", "--nonsense")


class Rotation(CommandTest):
    def setUp(self):
        super().setUp()
        self.warpaes("keygen", "-o", "keyset")
        self.first = json.loads(self.read("keyset"))["primaryKeyId"]

    def add(self, *options):
        return int(self.warpaes("keys", "add", "keyset", *options))

    def listed(self):
        return {
            key["key_id"]: key["state"] + ("*" if key["primary"] else "")
            for key in json.loads(self.warpaes("keys", "list", "keyset", "--json"))
        }

    def test_the_life_of_a_key(self):
        second = self.add("-t", "AES128_CTR_HMAC_SHA256_4KB")
        self.assertEqual(self.listed(), {self.first: "enabled*", second: "enabled"})
        self.warpaes("keys", "promote", "keyset", str(second))
        self.assertEqual(self.listed(), {self.first: "enabled", second: "enabled*"})
        self.warpaes("keys", "disable", "keyset", str(self.first))
        self.assertEqual(self.listed(), {self.first: "disabled", second: "enabled*"})
        self.refused(ARGUMENT, "enable it first", "keys", "promote", "keyset", str(self.first))
        self.warpaes("keys", "enable", "keyset", str(self.first))
        self.assertEqual(self.listed(), {self.first: "enabled", second: "enabled*"})
        secret = json.loads(self.read("keyset"))["key"][0]["keyData"]["value"]
        self.warpaes("keys", "destroy", "keyset", str(self.first))
        self.assertEqual(self.listed(), {self.first: "destroyed", second: "enabled*"})
        self.assertNotIn(secret.encode(), self.read("keyset"))
        self.refused(ARGUMENT, "is destroyed", "keys", "enable", "keyset", str(self.first))
        self.warpaes("keys", "remove", "keyset", str(self.first))
        self.assertEqual(self.listed(), {second: "enabled*"})
        third = self.add("--primary")
        self.assertEqual(self.listed(), {second: "enabled", third: "enabled*"})

    def test_the_primary_stays(self):
        for what in ("disable", "destroy", "remove"):
            before = self.read("keyset")
            self.refused(ARGUMENT, "is the primary", "keys", what, "keyset", str(self.first))
            self.assertEqual(self.read("keyset"), before)
        self.refused(ARGUMENT, "key 1 is not in the keyset", "keys", "promote", "keyset", "1")
        for number in ("-1", "4294967296", "x"):
            self.refused(ARGUMENT, "ID", "keys", "promote", "keyset", number)
        self.refused(ARGUMENT, "raw keys", "keys", "add", "keyset", "-t", "C2SP_CHUNKED_256")
        self.refused(ARGUMENT, "nonsense", "keys", "add", "keyset", "-t", "nonsense")
        self.refused(ARGUMENT, "no action; give one of list, add", "keys")

    def test_secrets_are_not_listed(self):
        secret = json.loads(self.read("keyset"))["key"][0]["keyData"]["value"]
        for options in ([], ["--json"]):
            self.assertNotIn(secret[-12:].encode(), self.warpaes("keys", "list", "keyset", *options))

    def test_the_file_is_replaced_whole_and_stays_its_owners(self):
        os.chmod(self.path("keyset"), 0o644)
        os.mkdir(self.path("elsewhere"))
        os.rename(self.path("keyset"), self.path("elsewhere/keyset"))
        os.symlink("elsewhere/keyset", self.path("keyset"))
        inode = os.stat(self.path("keyset")).st_ino
        self.add()
        self.assertTrue(os.path.islink(self.path("keyset")))
        self.assertNotEqual(os.stat(self.path("keyset")).st_ino, inode)
        self.assertEqual(stat.S_IMODE(os.stat(self.path("keyset")).st_mode), 0o600)
        self.assertEqual(os.listdir(self.path("elsewhere")), ["keyset"])

    def test_changes_at_the_same_time_are_all_made(self):
        numbers = []
        threads = [threading.Thread(target=lambda: numbers.append(self.add())) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(numbers), 12)
        self.assertEqual(set(self.listed()), {self.first, *numbers})
        self.assertEqual(os.listdir(self.directory), ["keyset"])

    def test_interrupted_while_another_changes_it(self):
        """The interrupt arrives before the command reads the keyset, so the command does not report the missing key."""
        before = self.read("keyset")
        with open(self.path("keyset"), "rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            with subprocess.Popen(
                [WARPAES, "keys", "promote", "keyset", "1"], stderr=subprocess.PIPE, cwd=self.directory
            ) as command:
                self.wait_until_opened(command.pid)
                command.send_signal(signal.SIGTERM)
                said = command.stderr.read()
        self.assertEqual(command.returncode, -signal.SIGTERM)
        self.assertEqual(said, b"warpaes: interrupted\n")
        self.assertEqual(self.read("keyset"), before)

    def wait_until_opened(self, process, seconds=20):
        """Wait until the process has opened the keyset, and then until it probably waits for the lock."""
        deadline = time.monotonic() + seconds
        descriptors = f"/proc/{process}/fd"
        while time.monotonic() < deadline:
            with contextlib.suppress(FileNotFoundError):  # the file was closed in the meantime
                if self.path("keyset") in [os.readlink(f"{descriptors}/{fd}") for fd in os.listdir(descriptors)]:
                    break
            time.sleep(0.01)
        time.sleep(0.2)

    @as_ordinary_user
    def test_a_directory_that_cannot_be_written(self):
        os.chmod(self.directory, 0o500)
        self.addCleanup(os.chmod, self.directory, 0o700)
        self.refused(WRITE, "cannot create a temporary file in the folder of", "keys", "add", "keyset")

    def test_a_keyset_that_others_can_read_is_warned_of(self):
        os.chmod(self.path("keyset"), 0o640)
        result = self.run_command(WARPAES, "keys", "list", "keyset")
        self.assertEqual(result.returncode, 0)
        self.assertIn(b"mode 640", result.stderr)

    def test_what_is_no_keyset(self):
        self.refused(NOT_FOUND, "nowhere", "keys", "list", "nowhere")
        self.refused(NOT_FOUND, "nowhere", "keys", "add", "nowhere")
        good = self.read("keyset")
        for content, words in (
            (b"", "neither a keyset"),
            (data(1000), "neither a keyset"),
            (good[:-20], "keyset: byte"),
            (good.replace(b"ENABLED", b"DISABLED"), "primary but not enabled"),
            (good.replace(b"AesGcmHkdfStreaming", b"AesGcm"), "no enabled key for files"),
            (b" " * (1 << 20), "longer than"),
        ):
            path = self.write("bad", content)
            os.chmod(path, 0o600)
            for command in ("list", "add"):
                self.refused(KEYSET, words, "keys", command, "bad")
        self.private("raw", data(32))
        self.refused(ARGUMENT, "raw key", "keys", "list", "raw")
        self.refused(KEYSET, "raw", "keys", "add", "raw")


class NearMisses(CommandTest):
    """No message repeats a text that could be a key or most of a key, wherever the text was passed."""

    def keys(self):
        key = data(32, b"near miss")
        for text in (
            key.hex(),
            key.hex()[:-1],
            key.hex() + "0",
            key[:16].hex()[:-1],
            key[:16].hex() + "f",
            key[:8].hex(),
        ):
            yield from (text, text.upper(), "0x" + text, " " + text, text + "\n")
        yield " ".join(key.hex(" ").split())
        yield key.hex(":")
        for size in (16, 31, 32, 33):
            encoded = base64.b64encode(key[:size]).decode()
            yield from (encoded, encoded.rstrip("="), base64.urlsafe_b64encode(key[:size]).decode())
        yield json.dumps({"primaryKeyId": 1, "key": [key.hex()]})
        yield self.warpaes("keygen").decode()[:-10]

    def test_nobody_repeats_them(self):
        for key in self.keys():
            for arguments in (
                ("encrypt", "-k", key),
                ("encrypt", f"-k{key}"),
                ("encrypt", f"-xk{key}"),
                ("encrypt", f"-fxk{key}"),
                ("encrypt", f"--keys={key}"),
                ("encrypt", "-k", f"env:{key}"),
                ("encrypt", "-k", f"fd:{key}"),
                ("encrypt", "-k", "keyset", "--kek", key),
                ("encrypt", "-k", "keyset", f"--kek={key}"),
                ("encrypt", "-k", "keyset", "--kek", f"env:{key}"),
                ("keygen", "--kek", key),
                ("keygen", "--kek", f"fd:{key}"),
                ("keys", "add", "keyset", "--kek", key),
                ("encrypt", "-K", key),
                ("encrypt", f"--key={key}"),
                ("encrypt", "-k", "keyset", "--format", key),
                ("encrypt", "--device", key),
                ("decrypt", "-r", key, "file"),
                ("inspect", "-k", key, "file"),
                ("keys", "list", key),
                ("keys", "add", key),
                ("keys", "promote", "keyset", key),
                ("keygen", "-t", key),
                ("keygen", key),
                ("enc", "-aes-256-ctr", "-K", key, "-iv", "00"),
                ("enc", "-aes-256-ctr", "-K", f"file:{key}"),
                ("enc", "-aes-256-ctr", "-K", f"env:{key}"),
                ("enc", "-aes-256-ctr", "-K", f"fd:{key}"),
                ("enc", "-aes-256-ctr", "-pass", key),
                ("enc", "-aes-256-ctr", "-pass", f"file:{key}"),
                ("enc", "-aes-256-ctr", "-pass", f"env:{key}"),
                ("enc", "-aes-256-ctr", "-pass", f"fd:{key}"),
                ("enc", "-aes-256-ctr", "-kfile", key),
                ("enc", "-aes-256-ctr", "-iv", key, "-K", "00"),
                ("enc", "-aes-256-ctr", "-S", f"{key}0", "-k", "x"),
                ("enc", "-aes-256-ctr", "-iter", key, "-k", "x"),
                ("enc", "-aes-256-ctr", "-range", key, "-k", "x"),
                ("enc", "-aes-256-ctr", key),
                ("enc", f"-{key}"),
                ("enc", f"-xK{key}"),
                ("enc", "-aes-256-ctr", f"-K{key}"),
                (key,),
            ):
                result = self.run_command(WARPAES, *arguments, stdin=b"plain")
                self.assertNotEqual(result.returncode, 0, arguments)
                self.assertTrue(result.stderr.startswith(b"warpaes: "), (arguments, result.stderr))
                self.assertNotIn(key.strip().encode(), result.stderr + result.stdout, arguments)
            env = {"WARPAES_KEYSET": key}
            self.assertNotIn(key.strip().encode(), self.run_command(WARPAES, "encrypt", stdin=b"", env=env).stderr)
        self.assertEqual(os.listdir(self.directory), [])

    def test_nor_passphrases_at_the_wrong_place(self):
        for arguments in (
            ("-passhunter2",),
            ("-pass:hunter2",),
            ("--passphrase=hunter2",),
            ("-passhunter2=x",),
            ("-khunter2",),
            ("-k:hunter2=x",),
            ("-Khunter2",),
            ("-kfilehunter2",),
            ("-kfile:hunter2",),
            ("-pass", "hunter2"),
            ("-pass=hunter2",),
            ("-pass", "pass:correct", "hunter2"),
            ("-k", "correct", "hunter2"),
            ("-K", "correct", "hunter2"),
            ("pass:hunter2",),
        ):
            result = self.refused(ARGUMENT, "", "enc", "-aes-256-ctr", *arguments)
            self.assertNotIn(b"hunter2", result.stderr + result.stdout, arguments)
        self.refused(ARGUMENT, "-kfile…: unknown option", "enc", "-kfiles")
        self.refused(ARGUMENT, "-inn: unknown option", "enc", "-inn")
        self.refused(ARGUMENT, "'in': unexpected", "enc", "in")

    def test_other_words_are_repeated(self):
        self.warpaes("keygen", "-o", "keyset")
        for name in ("keyset.json", "/home/nobody/my-keys/keyset2025", "1234567", "backup_keyset_of_december_2025"):
            self.refused(NOT_FOUND, f"'{name}'", "encrypt", "-k", name)
        # Messages repeat numbers and texts that are too short for a key. Messages do not repeat the same text with one
        # more character.
        for longest, after in (("ab0123456789cde", "f"), ("2025" * 5 + "123", "4"), ("Ab0-" * 5 + "A", "b")):
            self.refused(NOT_FOUND, f"'{longest}'", "encrypt", "-k", longest)
            result = self.refused(ARGUMENT, "looks like a key", "encrypt", "-k", longest + after)
            self.assertNotIn(longest.encode(), result.stderr)
        digest = data(32).hex()  # treated as a name, because a directory of this name exists
        os.mkdir(self.path("store"))
        self.refused(NOT_FOUND, f"'store/{digest}'", "decrypt", "-k", "keyset", f"store/{digest}")
        self.refused(ARGUMENT, "'AES256_CTR_HMAC_SHA512_1MB'", "keygen", "-t", "AES256_CTR_HMAC_SHA512_1MB")
        self.private(digest, b"neither")
        self.refused(KEYSET, f"'{digest}'", "encrypt", "-k", digest)


def tink_file(bits, size, seed=b"file"):
    """Return this many bytes, starting like a Tink file."""
    header = bits // 8 + 8
    return (bytes([header]) + data(size, seed))[:size]


class Inspect(CommandTest):
    def inspect(self, *arguments):
        return json.loads(self.warpaes("inspect", *arguments, "--json"))

    def test_lengths_by_template(self):
        # Computes for each template: the length of the header and of the tag, the bytes of a segment, and the plaintext
        # bytes of the first segment and of later segments.
        for bits in (128, 256):
            header = bits // 8 + 8
            for construction, tag in (("GCM_HKDF", 16), ("CTR_HMAC_SHA256", 32)):
                for name, segment in (("4KB", 4096), ("1MB", 1 << 20)):
                    template = f"AES{bits}_{construction}_{name}"
                    for plain in (0, 1, segment - header - tag, segment - header - tag + 1, 3 * segment):
                        segments = 1
                        while plain > segments * (segment - tag) - header:
                            segments += 1
                        size = header + plain + segments * tag
                        self.write("file", tink_file(bits, size))
                        (record,) = self.inspect("file", "--format", template)
                        self.assertEqual(
                            [record[field] for field in ("plaintext_bytes", "segments", "segment_bytes", "key_bits")],
                            [plain, segments, segment, bits],
                            template,
                        )
                        (record,) = self.inspect("file")
                        self.assertEqual((record["key_bits"], record["segments"]), (bits, None))
                        guesses = {guess["template"]: guess for guess in record["candidates"]}
                        self.assertEqual(guesses[template]["plaintext_bytes"], plain)
                        self.assertLessEqual(set(guesses), {t for t in TINK if f"AES{bits}" in t})
        for name, bits in (("C2SP_CHUNKED_128", 128), ("C2SP_CHUNKED_256", 256)):
            for plain in (0, 1, 16383, 16384, 50000):
                chunks = plain // 16384 + 1
                self.write("file", data(56 + plain + 16 * chunks))
                (record,) = self.inspect("file", "--format", name)
                self.assertEqual((record["plaintext_bytes"], record["segments"]), (plain, chunks))
                self.assertEqual(record["key_bits"], bits)

    def test_text_for_people(self):
        self.write("file", tink_file(256, 1 << 20))
        text = self.warpaes("inspect", "file").decode()
        for words in ("Tink streaming AEAD, AES-256", "1048576 bytes", "do not name their key", "AES256_GCM_HKDF_1MB"):
            self.assertIn(words, text)
        self.assertNotIn("AES128", text)

    def test_files_of_openssl(self):
        self.write("file", b"Salted__" + data(24))
        (record,) = self.inspect("file")
        self.assertEqual((record["format"], record["header_bytes"]), ("openssl enc, with a passphrase", 16))
        self.assertIn(b"openssl enc", self.warpaes("inspect", "file"))

    def test_what_is_none_of_these(self):
        for content in (b"", b"plain text", data(100_000), tink_file(256, 49), tink_file(128, 30)):
            self.write("file", content)
            self.refused(FORMAT, "input: ", "inspect", "file")
        self.write("file", tink_file(256, 4096 + 15))
        self.refused(FORMAT, "input: ", "inspect", "--format", "AES256_GCM_HKDF_4KB", "file")
        self.write("file", tink_file(128, 4096))
        self.refused(FORMAT, "AES256_GCM_HKDF_4KB", "inspect", "--format", "AES256_GCM_HKDF_4KB", "file")
        self.refused(NOT_FOUND, "nowhere", "inspect", "nowhere")
        self.refused(FORMAT, "is a directory; give the files", "inspect", ".")
        self.refused(FORMAT, "not a regular file", "inspect", "/dev/null")
        os.mkfifo(self.path("pipe"))
        self.refused(FORMAT, "not a regular file", "inspect", "pipe")
        self.refused(ARGUMENT, "FILE", "inspect")
        self.refused(ARGUMENT, "nonsense", "inspect", "--format", "nonsense", "file")

    def test_several_files(self):
        self.write("good", tink_file(128, 5000))
        self.write("bad", b"plain")
        result = self.run_command(WARPAES, "inspect", "bad", "good", "nowhere", "--json")
        self.assertEqual(result.returncode, FORMAT)
        self.assertEqual([record["status"] for record in json.loads(result.stdout)], [FORMAT, 0, NOT_FOUND])
        self.assertTrue(result.stdout.startswith(b'[\n  {\n    "'), "output for people")

    def test_a_closed_standard_output_is_an_error(self):
        self.write("good", tink_file(128, 5000))
        with open("/dev/full", "wb") as full:
            # The outputs fit in the buffer or are larger.
            for names in (["good"], ["good"] * 200):
                self.refused(WRITE, "cannot write to |: No space left", "inspect", *names, stdout=full)


class RawKeys(CommandTest):
    def test_a_key_says_what_it_is_for(self):
        for template in ("C2SP_CHUNKED_256", "C2SP_CHUNKED_128"):
            self.warpaes("keygen", "-t", template, "-o", template)
            self.assertTrue(self.read(template).startswith(template.encode() + b" "))
            plain = self.write("plain", data(50_000))
            self.warpaes("encrypt", "-k", template, "-o", f"{template}.file", plain)
            self.assertEqual(self.warpaes("decrypt", "-k", template, f"{template}.file"), data(50_000))
            # If its template is given, the bare key works like the line.
            self.write("bare", self.read(template).split()[1])
            os.chmod(self.path("bare"), 0o600)
            again = self.warpaes("decrypt", "-k", "bare", "--format", template, f"{template}.file")
            self.assertEqual(again, data(50_000))
        self.refused(
            ARGUMENT, "--template|C2SP_CHUNKED_128",
            *("verify", "-k", "C2SP_CHUNKED_128", "--format", "AES128_GCM_HKDF_1MB", "plain"),
        )  # fmt: skip


if __name__ == "__main__":
    unittest.main()
