"""Tests keysets under a passphrase, which is prompted or read from a place, and keysets from other programs."""

import base64
import fcntl
import hashlib
import json
import os
import pty
import re
import signal
import subprocess
import termios
import time
import unittest

from support import (
    ARGUMENT,
    AUTHENTICATION,
    EXISTS,
    KEYSET,
    NOT_FOUND,
    SAME_FILE,
    WARPAES,
    CommandTest,
    data,
    main,
    missing,
)

try:
    import tink
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from tink import aead, json_proto_keyset_format, secret_key_access, streaming_aead

    streaming_aead.register()
    MISSING = ""
except ImportError as error:
    MISSING = missing("tink", error)
    aead = None

QUICK = ("--passphrase-seconds", "0")
WRONG = "passphrase: is wrong, or the keyset was altered"


class Passphrases(CommandTest):
    made = None

    def setUp(self):
        super().setUp()
        self.private("first", b"correct horse\n")
        self.private("second", b"battery staple")

    def keygen(self):
        """Return a keyset under the first passphrase. All tests share it, because each passphrase guess is slow."""
        if Passphrases.made is None:
            keygen = ("keygen", "--passphrase-from", "first", *QUICK, "-t", "AES128_GCM_HKDF_4KB")
            self.warpaes(*keygen, "-o", "keyset")
            Passphrases.made = self.read("keyset")
        self.private("keyset", Passphrases.made)

    def on_a_terminal(self, *arguments, answers, stdin=subprocess.DEVNULL):
        """Run `warpaes` on a separate terminal and answer its prompts with `answers`. Return the exit status, the
        terminal's output, standard output and standard error, and whether an answer was visible."""
        leader, follower = pty.openpty()
        self.addCleanup(os.close, leader)
        with subprocess.Popen(
            [WARPAES, *arguments],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.directory,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(follower, termios.TIOCSCTTY, 0),
        ) as command:
            shown = b""
            for answer in answers:
                asked = len(shown)
                deadline = time.monotonic() + 60
                # Answer only after the prompt has appeared and the echo is off, because earlier input is discarded.
                while b": " not in shown[asked:] or termios.tcgetattr(follower)[3] & termios.ECHO:
                    self.assertLess(time.monotonic(), deadline, shown)
                    self.assertIsNone(command.poll(), shown)
                    os.set_blocking(leader, False)
                    try:
                        shown += os.read(leader, 4096)
                    except BlockingIOError:
                        time.sleep(0.01)
                os.write(leader, answer + b"\n")
            output, said = command.communicate(timeout=60)
        self.assertTrue(termios.tcgetattr(follower)[3] & termios.ECHO, "the echo is on again")
        os.close(follower)
        os.set_blocking(leader, True)
        while True:
            try:
                part = os.read(leader, 4096)
            except OSError:
                break
            if not part:
                break
            shown += part
        for answer in answers:
            for place in (shown, output, said):
                self.assertNotIn(answer, place)
        return command.returncode, shown.decode(), output, said.decode()


class Asked(Passphrases):
    def test_twice_when_it_is_made_and_once_when_it_opens(self):
        self.write("plain", data(9000))
        code, shown, output, said = self.on_a_terminal(
            "keygen", "--passphrase", *QUICK, "-o", "keyset", answers=[b"correct horse", b"correct horse"]
        )
        self.assertEqual((code, output), (0, b""), said)
        self.assertEqual(
            shown.split("\r\n")[:2],
            ["New passphrase of the new keyset: ", "New passphrase of the new keyset (again): "],
        )
        self.assertRegex(
            said, r"A passphrase guess takes \d+\.\d\d s here and 128 MiB \(scrypt, n = 131072, r = 8, p = 1\)"
        )
        self.assertEqual(os.stat(self.path("keyset")).st_mode & 0o777, 0o600)
        code, shown, output, said = self.on_a_terminal("encrypt", "-k", "keyset", "plain", answers=[b"correct horse"])
        self.assertEqual((code, shown, said), (0, "Passphrase of 'keyset': \r\n", ""))
        code, _, output, _ = self.on_a_terminal("decrypt", "-k", "keyset", "plain.warpaes", answers=[b"correct horse"])
        self.assertEqual((code, output), (0, data(9000)))
        # The data may come from standard input, because the prompt uses the terminal directly.
        with open(self.path("plain.warpaes"), "rb") as sealed:
            code, _, output, _ = self.on_a_terminal("decrypt", "-k", "keyset", answers=[b"correct horse"], stdin=sealed)
        self.assertEqual((code, output), (0, data(9000)))
        code, _, output, said = self.on_a_terminal(
            "decrypt", "-k", "keyset", "plain.warpaes", answers=[b"correct hors"]
        )
        self.assertEqual((code, output, said), (AUTHENTICATION, b"", f"warpaes: 'keyset': {WRONG}\n"))

    def test_two_that_differ_make_nothing(self):
        code, _, _, said = self.on_a_terminal(
            "keygen", "--passphrase", *QUICK, "-o", "keyset", answers=[b"correct horse", b"correct hose"]
        )
        self.assertEqual((code, said), (ARGUMENT, "warpaes: prompt: the two entries differ\n"))
        self.assertNotIn("keyset", os.listdir(self.directory))

    def test_nobody_is_asked_for_what_cannot_be(self):
        self.write("there", b"")
        code, shown, _, said = self.on_a_terminal("keygen", "--passphrase", "-o", "there", answers=[])
        self.assertEqual((code, shown), (EXISTS, ""), said)
        self.private("huge", huge().encode())
        code, shown, _, said = self.on_a_terminal("decrypt", "-k", "huge", "there", answers=[])
        self.assertEqual((code, shown), (KEYSET, ""), said)


class Interrupted(Passphrases):
    def test_while_the_key_is_derived(self):
        self.keygen()
        before = self.read("keyset")
        long = ("--passphrase-seconds", "5")
        for command in (
            ("keygen", "--passphrase-from", "first", *long, "-o", "new"),
            ("keys", "passphrase", "keyset", "--passphrase-from", "first", "--new-passphrase-from", "second", *long),
        ):
            with subprocess.Popen([WARPAES, *command], stderr=subprocess.PIPE, cwd=self.directory) as process:
                time.sleep(0.5)
                process.send_signal(signal.SIGINT)
                said = process.stderr.read()
            self.assertEqual(process.returncode, -signal.SIGINT)
            # If this takes more than five seconds on a busy machine, the process ends without a message.
            self.assertIn(said, (b"warpaes: interrupted\n", b""))
        self.assertEqual(self.read("keyset"), before)
        self.assertEqual(sorted(os.listdir(self.directory)), ["first", "keyset", "second"])


def huge():
    return json.dumps(
        {
            "encryptedKeyset": "A" * 80,
            "keyEncryptionKey": {"kdf": "scrypt", "salt": "AAAA", "n": 1 << 23, "r": 8, "p": 1},
        }
    )


class Places(Passphrases):
    def test_a_file_a_descriptor_the_environment(self):
        self.keygen()
        sealed = self.warpaes("encrypt", "-k", "keyset", "--passphrase-from", "first", stdin=data(5000))
        with open(self.path("first"), "rb") as file:
            fd = file.fileno()
            opened = self.warpaes(
                "decrypt", "-k", "keyset", "--passphrase-from", f"fd:{fd}", stdin=sealed, pass_fds=[fd]
            )
            self.assertEqual(opened, data(5000))
        opened = self.warpaes(
            "decrypt", "-k", "env:KEYS", "--passphrase-from", "env:WORD", stdin=sealed,
            env={"WORD": "correct horse", "KEYS": self.read("keyset").decode()},
        )  # fmt: skip
        self.assertEqual(opened, data(5000))
        for content in (b"correct horse", b"correct horse\r\n"):
            self.private("first", content)
            self.warpaes("verify", "-k", "keyset", "--passphrase-from", "first", stdin=sealed)

    def test_a_keyset_that_is_there_already_is_refused_before_anybody_is_asked(self):
        self.private("keyset", b"mine")
        self.refused(EXISTS, "keyset", "keygen", "--passphrase-from", "exec:touch asked; echo word", "-o", "keyset")
        self.assertEqual(self.read("keyset"), b"mine")

    def test_one_for_several_keysets(self):
        """The passphrase source is read only once."""
        self.keygen()
        sealed = self.warpaes("encrypt", "-k", "keyset", "--passphrase-from", "first", stdin=data(5000))
        self.warpaes("keygen", "--passphrase-from", "first", *QUICK, "-t", "AES128_GCM_HKDF_4KB", "-o", "another")
        both = ("-k", "another", "-k", "keyset")
        reader, writer = os.pipe()
        os.write(writer, self.read("first"))
        os.close(writer)
        opened = self.warpaes("decrypt", *both, "--passphrase-from", f"fd:{reader}", stdin=sealed, pass_fds=[reader])
        os.close(reader)
        self.assertEqual(opened, data(5000))
        opened = self.warpaes(
            "decrypt", *both, "--passphrase-from", "exec:test ! -e asked && echo asked >asked && cat first",
            stdin=sealed,
        )  # fmt: skip
        self.assertEqual(opened, data(5000))

    def test_what_is_none(self):
        self.keygen()
        for content, words in (
            (b"", "empty"),
            (b"\n", "empty"),
            (b"a\nb\n", "more than one line"),
            (b"x" * 5000, "longer"),
        ):
            self.private("bad", content)
            self.refused(ARGUMENT, f"--passphrase-from|{words}", "verify", "-k", "keyset", "--passphrase-from", "bad")
        nowhere = "--passphrase-from: there is no environment variable NOWHERE"
        self.refused(ARGUMENT, nowhere, "verify", "-k", "keyset", "--passphrase-from", "env:NOWHERE")
        self.private("bad", b"x")
        self.refused(AUTHENTICATION, WRONG, "verify", "-k", "keyset", "--passphrase-from", "bad")
        self.refused(ARGUMENT, "no terminal for a prompt|--passphrase-from FILE", "verify", "-k", "keyset", stdin=b"")
        os.chmod(self.path("first"), 0o644)
        result = self.run_command(WARPAES, "keys", "list", "--passphrase-from", "first", "keyset")
        self.assertIn(b"'first' is open to other users", result.stderr)
        with open(self.path("first"), "rb") as file:
            place = f"fd:{file.fileno()}"
            verify = ("verify", "-k", "keyset", "--passphrase-from", place)
            result = self.run_command(WARPAES, *verify, stdin=b"", pass_fds=[file.fileno()])
        self.assertIn(f"--passphrase-from {place} is open to other users".encode(), result.stderr)

    def test_one_that_stands_on_the_command_line_is_refused_and_not_repeated(self):
        self.keygen()
        for arguments in (
            ("keygen", "--passphrase", "hunter2", "-o", "new"),
            ("keygen", "--passphrase=hunter2", "-o", "new"),
            ("encrypt", "--passphrase=hunter2", "first"),
            ("decrypt", "--password=hunter2", "first"),
        ):
            result = self.refused(ARGUMENT, "passphrase", *arguments)
            self.assertNotIn(b"hunter2", result.stderr)
        result = self.refused(NOT_FOUND, "place of a passphrase", "keygen", "--passphrase-from", "hunter2", "-o", "new")
        self.assertNotIn(b"hunter2", result.stderr)
        self.refused(ARGUMENT, "no terminal|--passphrase-from", "encrypt", "--passphrase", "first")
        self.refused(
            ARGUMENT,
            "not an option|warpaes keygen --passphrase|warpaes keys passphrase FILE",
            "reencrypt",
            "--passphrase",
            "first",
        )
        self.refused(
            ARGUMENT, "raw keys", "keygen", "--passphrase-from", "first", "-t", "C2SP_CHUNKED_256", "-o", "new"
        )

    def test_no_output_takes_the_place_of_the_passphrase(self):
        self.keygen()
        sealed = self.warpaes("encrypt", "-k", "keyset", "--passphrase-from", "first", stdin=data(10))
        self.refused(
            SAME_FILE, "'first', which is needed",
            "decrypt", "-k", "keyset", "--passphrase-from", "first", "-f", "-o", "first", stdin=sealed,
        )  # fmt: skip

    def test_a_hostile_cost_is_refused_and_not_paid(self):
        self.private("huge", huge().encode())
        for command in (("verify", "-k", "huge"), ("keys", "list", "huge"), ("keys", "add", "huge")):
            self.refused(KEYSET, "'huge'|more than 1024 MiB of memory", *command, "--passphrase-from", "first")


class Subcommands(Passphrases):
    def ids(self, *arguments):
        return [key["key_id"] for key in json.loads(self.warpaes("keys", "list", "--json", "keyset", *arguments))]

    def test_a_list_needs_no_passphrase(self):
        self.keygen()
        (key,) = json.loads(self.warpaes("keys", "list", "--json", "keyset"))
        self.assertEqual((key["state"], key["primary"], key["template"]), ("enabled", True, ""))
        (key,) = json.loads(self.warpaes("keys", "list", "--json", "keyset", "--passphrase-from", "first"))
        self.assertEqual((key["state"], key["primary"], key["template"]), ("enabled", True, "AES128_GCM_HKDF_4KB"))
        result = self.run_command(WARPAES, "keys", "list", "keyset")
        self.assertIn(b"(under the passphrase)", result.stdout)
        self.assertIn(b"requires 128 MiB (scrypt, n = 131072, r = 8, p = 1)", result.stderr)

    def test_rotation(self):
        self.keygen()
        common = ("keyset", "--passphrase-from", "first")
        sealed = self.warpaes("encrypt", "-k", *common, stdin=data(100))
        (old,) = self.ids()
        before = json.loads(self.read("keyset"))["keyEncryptionKey"]
        new = int(self.warpaes("keys", "add", "-t", "AES128_GCM_HKDF_4KB", "--primary", *common))
        self.assertEqual(self.ids(), [old, new])
        after = json.loads(self.read("keyset"))["keyEncryptionKey"]
        self.assertEqual(after["n"], before["n"])
        self.assertNotEqual(after["salt"], before["salt"])
        self.assertEqual(self.warpaes("decrypt", "-k", *common, stdin=sealed), data(100))
        self.warpaes("keys", "disable", *common[:1], str(old), *common[1:])
        self.refused(AUTHENTICATION, "", "decrypt", "-k", *common, stdin=sealed)
        self.warpaes("keys", "enable", *common[:1], str(old), *common[1:])
        self.warpaes("keys", "promote", *common[:1], str(old), *common[1:])
        self.warpaes("keys", "destroy", *common[:1], str(new), *common[1:])
        self.assertEqual(self.ids(*common[1:]), [old, new])
        self.warpaes("keys", "remove", *common[:1], str(new), *common[1:])
        self.assertEqual(self.ids(), [old])
        before = self.read("keyset")
        self.refused(AUTHENTICATION, WRONG, "keys", "add", "keyset", "--passphrase-from", "second")
        self.assertEqual(self.read("keyset"), before)

    def test_another_passphrase(self):
        self.keygen()
        sealed = self.warpaes("encrypt", "-k", "keyset", "--passphrase-from", "first", stdin=data(100))
        change = ("keys", "passphrase", "keyset", *QUICK, "--new-passphrase-from")
        self.warpaes(*change, "second", "--passphrase-from", "first")
        self.refused(AUTHENTICATION, WRONG, "decrypt", "-k", "keyset", "--passphrase-from", "first", stdin=sealed)
        opened = self.warpaes("decrypt", "-k", "keyset", "--passphrase-from", "second", stdin=sealed)
        self.assertEqual(opened, data(100))
        before = self.read("keyset")
        self.refused(AUTHENTICATION, WRONG, *change, "first", "--passphrase-from", "first")
        self.refused(NOT_FOUND, "--new-passphrase-from", *change, "nowhere", "--passphrase-from", "second")
        both = ("--passphrase-from", "second", "--remove")
        self.refused(ARGUMENT, "--remove: cannot be combined with --new-passphrase-from", *change, "first", *both)
        self.assertEqual(self.read("keyset"), before)
        # The command prompts once for the old passphrase and twice for the new passphrase.
        code, shown, _, said = self.on_a_terminal(
            "keys", "passphrase", *QUICK, "keyset", answers=[b"battery staple", b"third one", b"third one"]
        )
        self.assertEqual(code, 0, said)
        self.assertEqual(re.findall(r"(New p|P)assphrase of 'keyset'", shown), ["P", "New p", "New p"])
        code, _, _, _ = self.on_a_terminal("keys", "passphrase", "--remove", "keyset", answers=[b"third one"])
        self.assertEqual(code, 0)
        self.assertEqual(self.warpaes("decrypt", "-k", "keyset", stdin=sealed), data(100))
        self.refused(ARGUMENT, "has no passphrase", "keys", "passphrase", "--remove", "keyset")
        self.warpaes(*change, "first")
        self.assertEqual(os.stat(self.path("keyset")).st_mode & 0o777, 0o600)
        self.warpaes("decrypt", "-k", "keyset", "--passphrase-from", "first", stdin=sealed)


# ------------------------------------------------------------------------------------------- the format in
# docs/formats.md


def key_of(wrapped, passphrase):
    """Derive the key-encryption key as docs/formats.md describes."""
    how = wrapped["keyEncryptionKey"]
    assert how["kdf"] == "scrypt"
    memory = 128 * how["n"] * how["r"]
    return hashlib.scrypt(
        passphrase, salt=base64.b64decode(how["salt"]), n=how["n"], r=how["r"], p=how["p"], dklen=32,
        maxmem=memory + (1 << 22),
    )  # fmt: skip


class KeyEncryptionKey(aead.Aead if aead else object):
    """An AEAD for Tink. Tink calls it with empty associated data."""

    def __init__(self, key):
        self.cipher = AESGCM(key)

    def decrypt(self, ciphertext, associated_data):
        return self.cipher.decrypt(ciphertext[:12], ciphertext[12:], associated_data)

    def encrypt(self, plaintext, associated_data):
        nonce = os.urandom(12)
        return nonce + self.cipher.encrypt(nonce, plaintext, associated_data)


@unittest.skipIf(MISSING, MISSING)
class OtherPrograms(Passphrases):
    def test_tink_opens_what_is_written(self):
        self.keygen()
        sealed = self.warpaes("encrypt", "-k", "keyset", "--passphrase-from", "first", "--aad", "x", stdin=data(9000))
        wrapped = json.loads(self.read("keyset"))
        key = KeyEncryptionKey(key_of(wrapped, b"correct horse"))
        del wrapped["keyEncryptionKey"]
        handle = json_proto_keyset_format.parse_encrypted(json.dumps(wrapped), key, b"")
        primitive = handle.primitive(streaming_aead.StreamingAead)
        self.write("sealed", sealed)
        with open(self.path("sealed"), "rb") as file, primitive.new_decrypting_stream(file, b"x") as stream:
            self.assertEqual(stream.read(), data(9000))
        wrong = KeyEncryptionKey(key_of(json.loads(self.read("keyset")), b"correct hors"))
        with self.assertRaises((tink.TinkError, InvalidTag)):
            json_proto_keyset_format.parse_encrypted(json.dumps(wrapped), wrong, b"")

    def test_what_tink_writes_opens(self):
        handle = tink.new_keyset_handle(streaming_aead.streaming_aead_key_templates.AES256_CTR_HMAC_SHA256_4KB)
        how = {"kdf": "scrypt", "salt": base64.b64encode(os.urandom(16)).decode(), "n": 4096, "r": 8, "p": 2}
        key = KeyEncryptionKey(key_of({"keyEncryptionKey": how}, "Straße 7".encode()))
        wrapped = json.loads(json_proto_keyset_format.serialize_encrypted(handle, key, b""))
        wrapped["keyEncryptionKey"] = how
        self.private("theirs", json.dumps(wrapped).encode())
        self.private("word", "Straße 7\n".encode())
        common = ("-k", "theirs", "--passphrase-from", "word")
        sealed = self.warpaes("encrypt", *common, stdin=data(9000))
        self.assertEqual(self.warpaes("decrypt", *common, stdin=sealed), data(9000))
        clear = json.loads(json_proto_keyset_format.serialize(handle, secret_key_access.TOKEN))
        (listed,) = json.loads(self.warpaes("keys", "list", "--json", "theirs"))
        self.assertEqual(listed["key_id"], clear["primaryKeyId"])
        # The command writes the keyset with at least the cost of a new keyset.
        self.warpaes("keys", "add", "theirs", "--passphrase-from", "word")
        self.assertEqual(json.loads(self.read("theirs"))["keyEncryptionKey"]["n"], 131072)
        self.assertEqual(self.warpaes("decrypt", *common, stdin=sealed), data(9000))


if __name__ == "__main__":
    main()
