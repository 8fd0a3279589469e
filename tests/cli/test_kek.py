"""Tests keysets that are encrypted under a key-encryption key (`--kek`): exchange with Tink in both directions, and
every command that uses them."""

import base64
import json
import os
import unittest

from support import (
    ARGUMENT,
    AUTHENTICATION,
    EXISTS,
    KEYS,
    KEYSET,
    NOT_FOUND,
    READ,
    SAME_FILE,
    WARPAES,
    CommandTest,
    data,
    main,
    missing,
)

try:
    import tink
    from tink import aead, json_proto_keyset_format, secret_key_access, streaming_aead

    aead.register()
    streaming_aead.register()
    MISSING = ""
except ImportError as error:
    MISSING = missing("tink", error)

WRONG = "kek: does not open the keyset; the key or the associated data is wrong, or the keyset was altered"
SMALL = ("-t", "AES128_GCM_HKDF_4KB")


def kek_keyset(number, key, prefix="TINK", status="ENABLED"):
    """Return a Tink AEAD key as a keyset."""
    return {
        "keyData": {
            "typeUrl": "type.googleapis.com/google.crypto.tink.AesGcmKey",
            "value": base64.b64encode(bytes([0x1A, len(key)]) + key).decode(),
            "keyMaterialType": "SYMMETRIC",
        },
        "status": status,
        "keyId": number,
        "outputPrefixType": prefix,
    }


def kek_json(primary, *keys):
    return json.dumps({"primaryKeyId": primary, "key": keys}).encode()


class Keks(CommandTest):
    def setUp(self):
        super().setUp()
        self.private("kek", kek_json(5, kek_keyset(5, data(32))))
        self.private("other", KEYS[256].encode() + b"\n")

    def keygen(self, *options, kek="kek", name="keyset"):
        self.warpaes("keygen", *SMALL, "--kek", kek, *options, "-o", name)
        return name

    def sealed(self, *options, kek="kek"):
        return self.warpaes("encrypt", "-k", "keyset", "--kek", kek, *options, stdin=data(9000))

    def assert_encrypted(self, name="keyset"):
        wrapped = json.loads(self.read(name))
        self.assertEqual(set(wrapped), {"encryptedKeyset", "keysetInfo"})
        self.assertEqual(os.stat(self.path(name)).st_mode & 0o777, 0o600)


class Places(Keks):
    def test_every_form_of_a_key(self):
        key = data(32)
        for name, content in (
            ("raw32", key),
            ("raw16", key[:16]),
            ("hex", key.hex().encode()),
            ("upper", b" " + key[:16].hex().upper().encode() + b"\r\n"),
            ("tink16", kek_json(5, kek_keyset(5, key[:16]))),
            ("crunchy", kek_json(5, kek_keyset(5, key, "CRUNCHY"))),
            ("without_prefix", kek_json(5, kek_keyset(5, key[:16], "RAW"))),
        ):
            self.private(name, content)
            self.keygen("--kek-aad", "Straße", kek=name, name=f"keyset-{name}")
            self.assert_encrypted(f"keyset-{name}")
            common = ("-k", f"keyset-{name}", "--kek", name, "--kek-aad", "Straße")
            sealed = self.warpaes("encrypt", *common, stdin=data(9000))
            self.assertEqual(self.warpaes("decrypt", *common, stdin=sealed), data(9000))
            self.refused(AUTHENTICATION, f"'keyset-{name}' under '{name}': {WRONG}", "verify", *common[:-1], "Strasse")
            self.refused(AUTHENTICATION, WRONG, "verify", *common[:-2], stdin=sealed)
        # These are two representations of the same key.
        self.warpaes("keys", "add", "keyset-raw32", "--kek", "hex", "--kek-aad", "Straße")
        self.refused(AUTHENTICATION, WRONG, "keys", "add", "keyset-raw32", "--kek", "raw16", "--kek-aad", "Straße")

    def test_wherever_keys_are_taken(self):
        self.keygen()
        sealed = self.sealed()
        self.write("notes.warpaes", sealed)
        keys = ("-k", "keyset", "--kek", "kek")
        for command in ("decrypt", "cat"):
            self.assertEqual(self.warpaes(command, *keys, "notes.warpaes"), data(9000))
        self.warpaes("verify", *keys, "notes.warpaes")
        self.assertIn(b"AES128_GCM_HKDF_4KB", self.warpaes("inspect", *keys, "notes.warpaes"))
        for kek in ("env:KEK", "exec:cat kek", 'exec:test -z "${WARPAES_KEYSET+x}" && cat kek'):
            environment = {"KEK": self.read("kek").decode(), "WARPAES_KEYSET": "keyset"}
            opened = self.warpaes("decrypt", "--kek", kek, "notes.warpaes", env=environment)
            self.assertEqual(opened, data(9000))
        with open(self.path("kek"), "rb") as file:
            kek = f"fd:{file.fileno()}"
            opened = self.warpaes("decrypt", *keys[:2], "--kek", kek, stdin=sealed, pass_fds=[file.fileno()])
        self.assertEqual(opened, data(9000))
        # One of the two keysets is not encrypted.
        self.warpaes("keygen", *SMALL, "-o", "new")
        self.warpaes("reencrypt", *keys, "--to", "clear:new", "notes.warpaes")
        self.assertEqual(self.warpaes("decrypt", "-k", "new", "notes.warpaes"), data(9000))
        self.warpaes("reencrypt", "-k", "clear:new", "--to", "keyset", "--kek", "kek", "notes.warpaes")
        self.assertEqual(self.warpaes("decrypt", *keys, "notes.warpaes"), data(9000))

    def test_one_for_several_keysets(self):
        """The key source is read only once. The unencrypted keyset is marked."""
        self.keygen()
        sealed = self.sealed()
        self.keygen(name="another")
        self.warpaes("keygen", *SMALL, "-o", "clear")
        every = ("-k", "another", "-k", "clear:clear", "-k", "keyset")
        reader, writer = os.pipe()
        os.write(writer, self.read("kek"))
        os.close(writer)
        opened = self.warpaes("decrypt", *every, "--kek", f"fd:{reader}", stdin=sealed, pass_fds=[reader])
        os.close(reader)
        self.assertEqual(opened, data(9000))
        once = "exec:test ! -e asked && echo asked >asked && cat kek"
        self.assertEqual(self.warpaes("decrypt", *every, "--kek", once, stdin=sealed), data(9000))

    def test_what_is_none(self):
        self.keygen()
        verify = ("verify", "-k", "keyset", "--kek")
        for content, words in (
            (b"", "neither a keyset"),
            (data(24), "neither a keyset"),
            (data(32).hex().encode() + b"0", "neither a keyset"),
            (kek_json(5, kek_keyset(5, data(24))), "key 5 has 24 bytes"),
            (kek_json(5, kek_keyset(5, data(32), status="DISABLED")), "primary but not enabled"),
            (kek_json(6, kek_keyset(5, data(32))), "key 6, is missing"),
            (self.read("keyset"), "is encrypted itself"),
            (self.warpaes("keygen"), "not an AesGcmKey"),
            (self.read("kek")[:-20], "byte"),
        ):
            self.private("bad", content)
            self.refused(KEYSET, f"'keyset' under 'bad': kek: |{words}", *verify, "bad")
            self.refused(KEYSET, f"'bad': kek: |{words}", "keygen", "--kek", "bad", "-o", "new")
        self.refused(AUTHENTICATION, WRONG, *verify, "other")
        self.refused(ARGUMENT, "--kek: is empty", *verify, "")
        self.refused(ARGUMENT, "--kek: there is no environment variable NOWHERE", *verify, "env:NOWHERE")
        self.refused(NOT_FOUND, "--kek: cannot open 'kex'|did you mean 'kek'?", *verify, "kex")
        self.refused(READ, "--kek exec: 'false'|exit status 1", *verify, "exec:false")
        self.refused(KEYSET, "--kek exec: 'true'|printed nothing", *verify, "exec:true")
        self.refused(KEYSET, "longer than", *verify, "exec:yes")
        self.refused(ARGUMENT, "--kek-aad|--kek", "verify", "-k", "keyset", "--kek-aad", "x")
        self.refused(ARGUMENT, "--kek: standard input", *verify, "fd:0", "-")
        self.refused(ARGUMENT, "--kek: cannot be combined with --passphrase",
                     "keygen", "--kek", "kek", "--passphrase-from", "other", "-o", "new")  # fmt: skip
        self.refused(ARGUMENT, "--kek: the template C2SP_CHUNKED_256 uses raw keys",
                     "keygen", "--kek", "kek", "-t", "C2SP_CHUNKED_256", "-o", "new")  # fmt: skip

    def test_a_keyset_that_is_there_already_is_refused_before_anybody_is_asked(self):
        self.private("keyset", b"mine")
        self.refused(EXISTS, "keyset", "keygen", "--kek", "exec:touch asked; cat kek", "-o", "keyset")
        self.assertEqual(self.read("keyset"), b"mine")

    def test_a_key_in_an_argument_is_refused_and_hidden(self):
        self.keygen(kek="other")
        for key in (KEYS[256], KEYS[128], self.read("kek").decode()):
            for arguments in (("--kek", key), (f"--kek={key}",)):
                for command in (("verify", "-k", "keyset"), ("inspect", "-k", "keyset", "kek"), ("keygen",),
                                ("keys", "list", "keyset"), ("keys", "add", "keyset")):  # fmt: skip
                    result = self.refused(
                        ARGUMENT, "--kek: must be the place of a key, not the key", *command, *arguments
                    )
                    self.assertNotIn(key.encode(), result.stderr)
        opened = self.run_command(WARPAES, "keys", "list", "keyset", "--kek", f"exec:echo {KEYS[256]}")
        self.assertEqual(opened.returncode, 0)
        self.assertIn(b"warning: --kek exec: 'echo", opened.stderr)
        self.assertNotIn(KEYS[256].encode(), opened.stderr)
        # Associated data that looks like a key does not cause a warning.
        self.refused(AUTHENTICATION, WRONG, "keys", "add", "keyset", "--kek", "other", "--kek-aad", KEYS[128])

    def test_a_file_that_others_can_read_is_warned_of(self):
        self.keygen()
        os.chmod(self.path("kek"), 0o644)
        result = self.run_command(WARPAES, "keys", "list", "keyset", "--kek", "kek")
        self.assertEqual(result.returncode, 0)
        self.assertIn(b"'kek' is open to other users", result.stderr)

    def test_no_output_takes_the_place_of_the_key(self):
        self.keygen()
        sealed = self.sealed()
        os.link(self.path("kek"), self.path("same"))
        for output in ("kek", "same"):
            self.refused(SAME_FILE, "'kek', which is needed",
                         "decrypt", "-k", "keyset", "--kek", "kek", "-f", "-o", output, stdin=sealed)  # fmt: skip


class InClear(Keks):
    """An encrypted keyset is stored where other users can write. The key that opens the keyset protects it from being
    replaced."""

    def setUp(self):
        super().setUp()
        self.private("word", b"correct horse\n")
        self.keygen()
        self.honest = self.sealed()
        self.warpaes("keygen", *SMALL, "-o", "planted")
        self.write("forged", self.warpaes("encrypt", "-k", "planted", stdin=data(100)))
        self.write("notes", data(100))

    def replacements(self):
        """Return texts that an attacker can substitute for the keyset without knowing its key."""
        clear = self.read("planted")
        yield "clear", clear
        yield "raw bytes", data(32)
        yield "hexadecimal digits", KEYS[256].encode()
        yield "hexadecimal digits with a template", b"C2SP_CHUNKED_256 " + KEYS[256].encode()
        yield "raw bytes that name the member", b'"encryptedKeyset"' + data(15)
        yield "an extra member at the start", clear.replace(b"{", b'{"encryptedKeyset": "", ', 1)
        yield "an extra member at the end", clear.rstrip()[:-1] + b', "encryptedKeyset": "AAAA"}'
        yield "an escaped name", clear.replace(b"primaryKeyId", b"primaryKey\\u0049d")
        yield "empty", b""
        yield "white space", b" \n"
        yield "binary", bytes([0x08, 0x01, 0x12, 0x04]) + data(40)
        yield "key encryption key", self.read("kek")

    def commands(self, place):
        yield "encrypt", "-k", place, "notes"
        yield "encrypt", "-k", place, "-o", "made", "notes"
        yield "decrypt", "-k", place, "forged"
        yield "cat", "-k", place, "forged"
        yield "verify", "-k", place, "forged"
        yield "inspect", "-k", place, "forged"
        yield "reencrypt", "-k", place, "forged"
        yield "reencrypt", "-k", "clear:planted", "--to", place, "-f", "forged"
        yield "keys", "list", "-k", place

    def test_every_command_refuses_what_was_put_in_the_keysets_place(self):
        for name, content in self.replacements():
            self.private("keyset", content)
            for option in (("--kek", "kek"), ("--passphrase-from", "word")):
                for command in self.commands("keyset"):
                    with self.subTest(name=name, command=command):
                        self.assertEqual(self.refused(KEYSET, "", *command, *option).stdout, b"")
                for command in (("keys", "add", "--primary", "keyset"), ("keys", "passphrase", "--remove", "keyset"),
                                ("keys", "passphrase", "--new-passphrase-from", "word", "keyset"),
                                ("keys", "promote", "keyset", "1"), ("keys", "disable", "keyset", "1"),
                                ("keys", "destroy", "keyset", "1"), ("keys", "remove", "keyset", "1")):  # fmt: skip
                    with self.subTest(name=name, command=command):
                        self.refused(KEYSET, "'keyset': ", *command, *option)
                        self.assertEqual(self.read("keyset"), content)

    def test_from_the_environment_and_from_a_program(self):
        environment = {"KEYS": self.read("planted").decode(), "WARPAES_KEYSET": "planted"}
        for place in ("exec:cat planted", "env:KEYS"):
            for command in self.commands(place):
                self.refused(KEYSET, "is not an encrypted keyset", *command, "--kek", "kek", env=environment)
        for command in (("encrypt", "notes"), ("verify", "forged"), ("keys", "list"), ("keys", "add")):
            self.refused(KEYSET, "'planted': is not an", *command, "--passphrase-from", "word", env=environment)

    def test_the_sentence_says_what_to_do(self):
        self.private("keyset", self.read("planted"))
        for option in (("--kek", "kek"), ("--passphrase-from", "word")):
            words = f"'keyset': is not an encrypted keyset, and {option[0]} requires one|Restore|clear:FILE"
            self.refused(KEYSET, words, "encrypt", "-k", "keyset", *option, "notes")

    def test_one_of_several_in_clear(self):
        self.keygen(name="another")
        for keys in (("-k", "planted", "-k", "keyset"), ("-k", "keyset", "-k", "planted"),
                     ("-k", "keyset", "-k", "another", "-k", "planted"),
                     ("-k", "clear:planted", "-k", "planted", "-k", "keyset")):  # fmt: skip
            self.refused(KEYSET, "'planted': is not an encrypted keyset", "encrypt", *keys, "--kek", "kek", "notes")
            self.refused(KEYSET, "'planted': is not an encrypted keyset", "decrypt", *keys, "--kek", "kek", "forged")

    def test_descriptors_and_pipes(self):
        with open(self.path("planted"), "rb") as file:
            self.refused(KEYSET, "is not an encrypted keyset", "encrypt", "-k", f"fd:{file.fileno()}", "--kek", "kek",
                         "notes", pass_fds=[file.fileno()])  # fmt: skip
        self.refused(KEYSET, "is not an encrypted keyset",
                     "encrypt", "-k", "fd:0", "--kek", "kek", "notes", stdin=self.read("planted"))  # fmt: skip
        os.mkfifo(self.path("pipe"))
        writer = os.open(self.path("pipe"), os.O_RDWR)
        os.write(writer, KEYS[256].encode())
        reader = os.open(self.path("pipe"), os.O_RDONLY)
        os.close(writer)
        self.refused(KEYSET, "is not an encrypted keyset",
                     "encrypt", "-k", f"fd:{reader}", "--kek", "kek", "notes", pass_fds=[reader])  # fmt: skip
        os.close(reader)

    def test_keys_in_clear_that_are_meant(self):
        self.private("raw", KEYS[256].encode())
        for place in ("clear:planted", "clear:exec:cat planted", "clear:env:KEYS", "clear:raw"):
            environment = {"KEYS": self.read("planted").decode()}
            common = ("-k", place, "-k", "keyset", "--kek", "kek")
            self.assertEqual(self.warpaes("decrypt", *common, stdin=self.honest, env=environment), data(9000))
            sealed = self.warpaes("encrypt", *common, stdin=data(50), env=environment)
            opened = self.warpaes("decrypt", "-k", place, stdin=sealed, env=environment)  # the first keyset encrypts
            self.assertEqual(opened, data(50))
        self.assertEqual(self.warpaes("decrypt", "forged", env={"WARPAES_KEYSET": "clear:planted"}), data(100))
        self.warpaes("keys", "list", "clear:planted")
        self.warpaes("keys", "add", "--primary", "clear:planted")
        self.warpaes(
            "keys", "passphrase", "clear:planted", "--new-passphrase-from", "word", "--passphrase-seconds", "0"
        )
        self.assertIn(b"encryptedKeyset", self.read("planted"))

    def test_a_mark_that_is_not_true(self):
        for command in (("encrypt", "-k", "clear:keyset", "notes"), ("keys", "list", "clear:keyset"),
                        ("keys", "add", "clear:keyset")):  # fmt: skip
            for option in ((), ("--kek", "kek"), ("--passphrase-from", "word")):
                self.refused(
                    KEYSET, "'keyset': is encrypted, but clear: requires an unencrypted keyset", *command, *option
                )

    def test_an_option_that_would_do_nothing(self):
        for command in (("encrypt", "-k", "clear:planted", "notes"), ("verify", "-k", "clear:planted", "forged"),
                        ("inspect", "-k", "clear:planted", "forged"), ("keys", "list", "clear:planted"),
                        ("reencrypt", "-k", "clear:planted", "--to", "clear:planted", "forged"),
                        ("keys", "add", "clear:planted")):  # fmt: skip
            self.refused(ARGUMENT, "--kek: none of the keysets is encrypted under a key; omit --kek",
                         *command, "--kek", "kek")  # fmt: skip
            self.refused(ARGUMENT, "--passphrase-from: none of the keysets is encrypted under a passphrase; omit this",
                         *command, "--passphrase-from", "word")  # fmt: skip
        both = ("--kek", "kek", "--passphrase-from", "word")
        for command in (("encrypt", "-k", "keyset", "notes"), ("keys", "list", "keyset"), ("keys", "add", "keyset")):
            self.refused(
                ARGUMENT, "--passphrase-from: none of the keysets is encrypted under a passphrase", *command, *both
            )

    def test_options_for_keys_that_are_not_there(self):
        for option in (("--kek", "kek"), ("--passphrase-from", "word"), ("--aad", "x"), ("--aad-file", "word")):
            self.refused(ARGUMENT, f"{option[0]}: requires -k", "inspect", "forged", *option)
        self.warpaes("keygen", *SMALL, "-o", "second")
        self.refused(ARGUMENT, "--template: applies only to raw keys, and no -k is a raw key",
                     "decrypt", "-k", "planted", "-k", "second", *SMALL, "forged")  # fmt: skip
        seconds = ("--passphrase-seconds", "9")
        for command in (("keygen", "-o", "new"), ("keygen", "--kek", "kek", "-o", "new"),
                        ("keys", "passphrase", "--remove", "--kek", "kek", "keyset")):  # fmt: skip
            self.refused(ARGUMENT, "--passphrase-seconds: applies only to a new passphrase", *command, *seconds)

    def test_both_kinds_of_lock(self):
        quick = ("--passphrase-from", "word", "--passphrase-seconds", "0", *SMALL)
        self.warpaes("keygen", *quick, "-o", "locked")
        common = ("-k", "locked", "-k", "keyset", "--kek", "kek")
        self.refused(KEYSET, "'locked': encrypted under a passphrase, not under the key of --kek; also give --pass",
                     "verify", *common, stdin=self.honest)  # fmt: skip
        self.warpaes("verify", *common, "--passphrase-from", "word", stdin=self.honest)
        self.refused(KEYSET, "'locked': encrypted under a passphrase", "keys", "list", "locked", "--kek", "kek")

    def test_a_key_after_the_mark_is_refused_and_hidden(self):
        for place in (f"clear:{KEYS[256]}", f"clear:env:{KEYS[256]}"):
            result = self.refused(ARGUMENT, "-k", "encrypt", "-k", place, "notes")
            self.assertNotIn(KEYS[256].encode(), result.stderr)


class Subcommands(Keks):
    def ids(self, *arguments):
        return [key["key_id"] for key in json.loads(self.warpaes("keys", "list", "--json", "keyset", *arguments))]

    def test_what_is_made_says_so(self):
        result = self.run_command(WARPAES, "keygen", "--kek", "kek", "-o", "keyset")
        self.assertIn(b", encrypted under a key-encryption key.\nWritten to 'keyset'.", result.stderr)
        self.assertIn(b"If you lose the key-encryption key", result.stderr)
        self.assertIn(b"encryptedKeyset", self.warpaes("keygen", "--kek", "kek"))

    def test_a_list_needs_no_key(self):
        self.keygen()
        (key,) = json.loads(self.warpaes("keys", "list", "--json", "keyset"))
        self.assertEqual((key["state"], key["primary"], key["template"]), ("enabled", True, ""))
        (key,) = json.loads(self.warpaes("keys", "list", "--json", "keyset", "--kek", "kek"))
        self.assertEqual((key["state"], key["primary"], key["template"]), ("enabled", True, "AES128_GCM_HKDF_4KB"))
        self.refused(AUTHENTICATION, WRONG, "keys", "list", "keyset", "--kek", "other")
        result = self.run_command(WARPAES, "keys", "list", "keyset")
        self.assertIn(b"(under the key)", result.stdout)
        self.assertIn(
            b"Encrypted under a key-encryption key; without it, this list is not authenticated", result.stderr
        )
        # Messages about passphrases appear only for passphrases.
        self.assertIn(b"Encrypted under a key-encryption key\n",
                      self.run_command(WARPAES, "keys", "list", "keyset", "--kek", "kek").stderr)  # fmt: skip

    def test_without_it_the_option_is_named(self):
        self.keygen()
        before = self.read("keyset")
        for command in (("encrypt", "-k", "keyset"), ("keys", "add", "keyset"), ("keys", "passphrase", "keyset"),
                        ("verify", "-k", "keyset", "--passphrase-from", "other")):  # fmt: skip
            self.refused(ARGUMENT, "'keyset': encrypted under a key; give --kek with FILE|keysources open", *command)
        self.assertEqual(self.read("keyset"), before)

    def test_rotation(self):
        """Every change is written under the same key and with the same associated data."""
        self.keygen("--kek-aad", "backup")
        common = ("keyset", "--kek", "kek", "--kek-aad", "backup")
        sealed = self.warpaes("encrypt", "-k", *common, stdin=data(100))
        (old,) = self.ids()
        new = int(self.warpaes("keys", "add", *SMALL, "--primary", *common))
        self.assertEqual(self.ids(), [old, new])
        self.assertEqual(self.warpaes("decrypt", "-k", *common, stdin=sealed), data(100))
        before = self.read("keyset")
        for word, number in (("disable", old), ("enable", old), ("promote", old), ("destroy", new)):
            self.warpaes("keys", word, *common[:1], str(number), *common[1:])
            self.assert_encrypted()
            self.assertNotEqual(self.read("keyset"), before)
            before = self.read("keyset")
            self.assertEqual(self.ids(*common[1:]), [old, new])
        self.warpaes("keys", "remove", *common[:1], str(new), *common[1:])
        self.assert_encrypted()
        self.assertEqual(self.ids(), [old])
        self.assertEqual(self.warpaes("decrypt", "-k", *common, stdin=sealed), data(100))
        before = self.read("keyset")
        for arguments in (("--kek", "other"), ("--kek", "kek"), ("--kek", "kek", "--kek-aad", "Backup")):
            self.refused(AUTHENTICATION, WRONG, "keys", "add", "keyset", *arguments)
        self.assertEqual(self.read("keyset"), before)

    def test_a_key_encryption_key_that_is_rotated(self):
        self.keygen()
        sealed = self.sealed()
        old, new = kek_keyset(5, data(32)), kek_keyset(6, data(16, b"new"))
        self.private("kek", kek_json(6, old, new))
        self.assertEqual(self.warpaes("decrypt", "-k", "keyset", "--kek", "kek", stdin=sealed), data(9000))
        self.warpaes("keys", "add", "keyset", "--kek", "kek")  # the new primary key encrypts the keyset
        self.private("kek", kek_json(6, old | {"status": "DISABLED"}, new))
        self.assertEqual(self.warpaes("decrypt", "-k", "keyset", "--kek", "kek", stdin=sealed), data(9000))
        self.private("kek", kek_json(5, old, new | {"status": "DISABLED"}))
        self.refused(AUTHENTICATION, WRONG, "verify", "-k", "keyset", "--kek", "kek", stdin=sealed)

    def test_a_passphrase_instead(self):
        self.keygen()
        sealed = self.sealed()
        self.private("word", b"correct horse\n")
        change = ("keys", "passphrase", "keyset", "--new-passphrase-from", "word", "--passphrase-seconds", "0")
        result = self.run_command(WARPAES, *change, "--kek", "kek")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"now encrypted under the new passphrase instead of the key-encryption key", result.stderr)
        opened = self.warpaes("decrypt", "-k", "keyset", "--passphrase-from", "word", stdin=sealed)
        self.assertEqual(opened, data(9000))
        both = ("verify", "-k", "keyset", "--kek", "kek")
        self.refused(KEYSET, "encrypted under a passphrase, not under the key of --kek", *both, stdin=sealed)
        self.refused(ARGUMENT, "--kek: none of the keysets is encrypted under a key",
                     *both, "--passphrase-from", "word", stdin=sealed)  # fmt: skip
        result = self.run_command(WARPAES, *change, "--passphrase-from", "word")
        self.assertNotIn(b"key-encryption", result.stderr)

    def test_left_in_clear(self):
        self.keygen()
        sealed = self.sealed()
        result = self.run_command(WARPAES, "keys", "passphrase", "--remove", "keyset", "--kek", "kek")
        self.assertEqual((result.returncode, result.stderr), (0, b"The keyset is now unencrypted\n"))
        self.assertEqual(self.warpaes("decrypt", "-k", "keyset", stdin=sealed), data(9000))
        self.refused(KEYSET, "'keyset': is not an encrypted keyset, and --kek requires one",
                     "keys", "add", "keyset", "--kek", "kek")  # fmt: skip
        self.warpaes("keys", "add", "keyset")
        self.assertIn(b'"key":', self.read("keyset"))

    def test_what_was_altered(self):
        self.keygen()
        good = self.read("keyset")
        wrapped = json.loads(good)
        sealed = bytearray(base64.b64decode(wrapped["encryptedKeyset"]))
        for at in (0, 4, 5, 16, 17, len(sealed) - 1):  # the prefix, the nonce, the text and the tag
            altered = bytearray(sealed)
            altered[at] ^= 1
            self.private(
                "keyset", json.dumps(wrapped | {"encryptedKeyset": base64.b64encode(altered).decode()}).encode()
            )
            self.refused(AUTHENTICATION, WRONG, "verify", "-k", "keyset", "--kek", "kek")
        self.private("keyset", good.replace(b"ENABLED", b"DISABLED"))
        self.refused(KEYSET, "it was altered", "verify", "-k", "keyset", "--kek", "kek")
        for content in (good[:-20], good.replace(b"keysetInfo", b"keysetinfo"), good.replace(b'": "', b'": "%', 1)):
            self.private("keyset", content)
            self.refused(KEYSET, "'keyset': keyset: byte", "verify", "-k", "keyset", "--kek", "kek")


@unittest.skipIf(MISSING, MISSING)
class OfTink(Keks):
    def aead_of(self, kek):
        return json_proto_keyset_format.parse(kek.decode(), secret_key_access.TOKEN).primitive(aead.Aead)

    def keks(self):
        """Yield keys for each of Tink's templates and each prefix."""
        for template in (aead.aead_key_templates.AES128_GCM, aead.aead_key_templates.AES256_GCM,
                         aead.aead_key_templates.AES256_GCM_RAW):  # fmt: skip
            handle = tink.new_keyset_handle(template)
            yield json_proto_keyset_format.serialize(handle, secret_key_access.TOKEN).encode()
        for prefix in ("TINK", "CRUNCHY", "LEGACY", "RAW"):
            yield kek_json(7, kek_keyset(8, data(16)), kek_keyset(7, data(32), prefix))

    def test_tink_opens_what_is_written(self):
        for number, kek in enumerate(self.keks()):
            self.private("kek", kek)
            name = self.keygen("--kek-aad", "backup", name=f"keyset{number}")
            common = ("-k", name, "--kek", "kek", "--kek-aad", "backup")
            sealed = self.warpaes("encrypt", *common, "--aad", "x", stdin=data(9000))
            text = self.read(name).decode()
            handle = json_proto_keyset_format.parse_encrypted(text, self.aead_of(kek), b"backup")
            self.write("sealed", sealed)
            primitive = handle.primitive(streaming_aead.StreamingAead)
            with open(self.path("sealed"), "rb") as file, primitive.new_decrypting_stream(file, b"x") as stream:
                self.assertEqual(stream.read(), data(9000))
            with self.assertRaises(tink.TinkError):
                json_proto_keyset_format.parse_encrypted(text, self.aead_of(kek), b"")

    def test_what_tink_writes_opens(self):
        templates = streaming_aead.streaming_aead_key_templates
        for number, kek in enumerate(self.keks()):
            self.private("kek", kek)
            handle = tink.new_keyset_handle(templates.AES256_CTR_HMAC_SHA256_4KB)
            text = json_proto_keyset_format.serialize_encrypted(handle, self.aead_of(kek), b"backup")
            self.private("theirs", text.encode())
            common = ("theirs", "--kek", "kek", "--kek-aad", "backup")
            sealed = self.warpaes("encrypt", "-k", *common, stdin=data(9000))
            clear = json.loads(json_proto_keyset_format.serialize(handle, secret_key_access.TOKEN))
            (listed,) = json.loads(self.warpaes("keys", "list", "--json", "theirs"))
            self.assertEqual(listed["key_id"], clear["primaryKeyId"])
            # The command changes the keyset. Tink then reads it again.
            new = int(self.warpaes("keys", "add", "--primary", *SMALL, *common))
            self.assertEqual(self.warpaes("decrypt", "-k", *common, stdin=sealed), data(9000))
            again = json_proto_keyset_format.parse_encrypted(self.read("theirs").decode(), self.aead_of(kek), b"backup")
            self.assertEqual(again.keyset_info().primary_key_id, new, number)


if __name__ == "__main__":
    main()
